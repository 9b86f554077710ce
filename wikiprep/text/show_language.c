/* Renderers of foreign words and of pronunciations for show.h. */
#include "wikiprep/text/show.h"

#include "wikiprep/site/language.h"
#include "wikiprep/text/paragraph.h"
#include "wikiprep/values/knowledge.h"

/* ---- languages ----------------------------------------------------------------------------- */

int show_language_name(const struct call *c, struct span code, struct buf *out)
{
    const char *language = language_name(code.s, code.n, c->page->lang);
    buf_adds(out, language ? language : "");
    return language != NULL;
}

/* Returns `text`, or `other` if the wiki is in a language that is not English. */
static const char *english(const struct call *c, const char *text, const char *other)
{
    const char *lang = knowledge_language(c->page->lang);
    return *lang && strcmp(lang, "en") ? other : text;
}

/* Appends "Russian: водка, romanized: vodka, lit. 'little water'". `code` is the language; `from`
 * is the position of the text, 1 or 2, which the transliteration and the translation follow.
 * Returns 1, or 0 if there is no text. */
static int put_named(const struct call *c, struct span code, int from, struct buf *out)
{
    struct span text = call_any(c, from == 1 ? "1|text" : "2|text");
    struct span translit = call_any(c, from == 1 ? "2|translit|t" : "3|translit|t");
    struct span literal = call_any(c, from == 1 ? "3|lit|translation" : "4|lit|translation");
    if (!text.n)
        return 0;
    struct span label = call_any(c, "label|links");
    if (!span_in(label, "none|no") && show_language_name(c, code, out))
        buf_adds(out, out->data[out->len - 1] == '.' ? " " : ": "); /* "англ. Moon" */
    span_put(text, out);
    show_after(english(c, ", romanized: ", ", "), translit, out);
    /* \1 is markup.h's stand-in for an apostrophe */
    if (show_after(english(c, ", lit. \1", ", \1"), literal, out))
        buf_addc(out, 1);
    return 1;
}

/* Shows {{langx|ru|водка}}, or {{lang-ru|водка}}, as "Russian: водка". */
int show_langx(const struct call *c, struct buf *out)
{
    return c->star.n ? put_named(c, c->star, 1, out) : put_named(c, call_any(c, "1|code"), 2, out);
}

/* Shows {{nihongo}} as "English (漢字, rōmaji, note) end". */
int show_nihongo(const struct call *c, struct buf *out)
{
    struct span first = call_at(c, 1);
    struct span inside[] = { call_at(c, 2), call_at(c, 3), call_any(c, "4|extra") };
    int lead = first.n && arguments_yes(&c->a, "lead");
    if (!first.n) { /* without an English name, the reading comes first */
        first = call_at(c, 3);
        inside[1].n = 0;
    }
    if (!first.n)
        return show_span(call_at(c, 2), out);
    span_put(first, out);
    const char *before = " (";
    for (int i = 0; i < 3; i++) {
        if (!inside[i].n)
            continue;
        buf_adds(out, before);
        if (lead && i < 2)
            buf_adds(out, i ? "Hepburn: " : "Japanese: ");
        span_put(inside[i], out);
        before = ", ";
    }
    if (*before == ',')
        buf_addc(out, ')');
    show_after(" ", call_any(c, "5|extra2"), out);
    return 1;
}

/* ---- pronunciation ------------------------------------------------------------------------- */

/* Appends "German pronunciation: [ˈbɛʁliːn]". `code` is the language; `place` is the position of
 * the sound, which may have brackets; the next argument selects the introduction. Returns 1, or 0
 * if there is no sound. */
static int put_pronounced(const struct call *c, struct span code, int place, struct buf *out)
{
    struct span sound = call_at(c, place), how = call_at(c, place + 1);
    int has_how = c->a.count > place; /* an empty argument means no introduction */
    if (!sound.n)
        return 0;
    if (span_is(how, "pron"))
        buf_adds(out, english(c, "pronounced ", ""));
    else if (span_is(how, "local"))
        buf_adds(out, english(c, "locally ", ""));
    else if (!has_how || span_in(how, "lang|lang2"))
        if (show_language_name(c, code, out))
            buf_adds(out, has_how ? ": " : english(c, " pronunciation: ", ": "));
    const int is_bare = !strchr("[/", *sound.s);
    buf_adds(out, is_bare ? "[" : "");
    span_put(sound, out);
    buf_adds(out, is_bare ? "]" : "");
    return 1;
}

/* Shows {{IPA|de|bɛʁ}}, or {{IPA-de|bɛʁ}}. */
int show_ipa(const struct call *c, struct buf *out)
{
    if (c->star.n)
        return put_pronounced(c, c->star, 1, out);
    if (!call_at(c, 2).n || !language_name(call_at(c, 1).s, call_at(c, 1).n, ""))
        return show_span(call_at(c, 1), out);
    return put_pronounced(c, call_at(c, 1), 2, out);
}

/* Appends the gap between two words, or two statements, that s stands for. Returns 1, or 0 if it
 * stands for none. */
static int put_gap(struct span s, struct buf *out)
{
    buf_adds(out, span_is(s, "_") ? " " : span_is(s, ",_") ? ", " : "");
    return span_in(s, "_|,_");
}

/* Shows {{IPAc-en|lang|ˈ|æ|l|_|US}}: labels, then sounds, some of them in the notation of X-SAMPA,
 * in which case matters. */
int show_ipac(const struct call *c, struct buf *out)
{
    const size_t begin = out->len;
    int sounding = 0;
    for (int i = 1; i <= c->a.count; i++) {
        const struct span s = call_at(c, i);
        const char *shown = sounding ? NULL : knowledge_find_code("ipa-labels", "", "", s);
        if (shown) {
            buf_adds(out, shown);
            buf_adds(out, *shown ? " " : "");
            continue;
        }
        if (!sounding)
            buf_addc(out, '/');
        sounding = 1;
        if (put_gap(s, out))
            continue;
        const char sign = s.n == 1 && (unsigned char)*s.s < ' ' ? markup_plain[(int)*s.s] : '\0';
        shown = knowledge_find_code("ipa-sounds", "", "", sign ? (struct span){ &sign, 1 } : s);
        span_put(shown ? span_of(shown) : s, out);
    }
    if (sounding)
        buf_addc(out, '/');
    else
        buf_truncate(out, begin);
    return sounding;
}

/* Shows {{respell|AL|ə|bam|ə}} as "AL-ə-bam-ə". */
int show_respell(const struct call *c, struct buf *out)
{
    int joined = 0;
    for (int i = 1; i <= c->a.count; i++) {
        struct span s = call_at(c, i);
        joined = !put_gap(s, out) && (show_after(joined ? "-" : "", s, out) || joined);
    }
    return joined;
}
