#include "wikiprep/site/variant.h"

#include "wikiprep/values/knowledge.h"

int variants_has(const char *lang)
{
    return knowledge_find("variants", "", lang) != NULL;
}

const char *variants_name(struct span code)
{
    const char *name = knowledge_find_code("variant-names", "", "", code);
    name = name ? name : knowledge_find_code("own-names", "", "", code);
    return name ? name : "";
}

/* Adds the letters that the language's file has for the chosen variant; sets v->own, v->alien. */
static void add_letters(struct variants *v, const char *lang)
{
    struct span code = v->codes[v->chosen], letter;
    const char *letters = knowledge_find_code("variant-letters", lang, "", code);
    while (letters && span_next(&letters, '|', &letter)) {
        const char *end = letter.s + letter.n, *gap = span_until(letter.s, end, ' ');
        replacements_put(v->words,
                         (struct word){ span_between(letter.s, gap), span_between(gap + 1, end) });
    }
    v->own = knowledge_find_code("variant-letters", lang, "own-", code);
    for (int i = 0; v->own && i < v->count; i++) {
        const char *other = knowledge_find_code("variant-letters", lang, "own-", v->codes[i]);
        v->alien = other && other != v->own ? other : v->alien;
    }
}

static void add_fallbacks(const struct variants *v, struct span code, signed char *to)
{
    const char *choices = knowledge_find_code("variant-fallbacks", "", "", code);
    for (struct span choice; choices && span_next(&choices, ' ', &choice);)
        *to++ = (signed char)span_place(choice, v->list);
    *to = -1;
}

struct variants *variants_new(const char *lang, const char *code)
{
    const char *list = knowledge_find("variants", "", lang);
    if (!list) {
        err_set("--variant %s: the language '%s' has no variants", code, lang);
        return NULL;
    }
    struct variants *v = mem_zalloc(1, sizeof *v);
    SCOPED(buf) known = BUF_INIT;
    v->list = list;
    v->words = replacements_new();
    for (struct span names; span_next(&list, '|', &names); v->count++) {
        struct span *own = &v->codes[v->count];
        *own = span_between(names.s, span_until(names.s, names.s + names.n, ' '));
        add_fallbacks(v, *own, v->fallbacks[v->count]);
        buf_addf(&known, "%s%.*s", v->count ? ", " : "", (int)own->n, own->s);
    }
    v->chosen = code ? span_place(span_of(code), v->list) : 0;
    if (v->chosen < 0) {
        err_set("--variant %s: the language '%s' has these variants: %s", code, lang, known.data);
        variants_free(v);
        return NULL;
    }
    const char *base = knowledge_find_code("variant-bases", "", "", v->codes[v->chosen]);
    v->base = span_of(base ? base : "");
    add_letters(v, lang);
    return v;
}

void variants_free(struct variants *v)
{
    if (!v)
        return;
    replacements_free(v->words);
    free(v);
}
