#include "wikiprep/site/variant.h"

#include "wikiprep/site/language.h"
#include "wikiprep/values/knowledge.h"

enum { KEY_MAX = 24 };

/* Returns the value of the row PREFIX CODE of a section, or NULL. */
static const char *row(const char *section, const char *lang, const char *prefix, struct span code)
{
    char key[KEY_MAX];
    int n = snprintf(key, sizeof key, "%s%.*s", prefix, (int)code.n, code.s);
    return n < KEY_MAX ? knowledge_find(section, lang, key) : NULL;
}

int variants_has(const char *lang)
{
    return knowledge_find("variants", "", lang) != NULL;
}

/* Returns the item of a list, without the item's other names. */
static struct span item(const char *list, int place)
{
    for (; place; place--)
        list += strcspn(list, "|") + 1;
    return (struct span){ list, strcspn(list, "| ") };
}

struct span variants_code(const struct variants *v, int variant)
{
    return item(v->list, variant);
}

int variants_find(const struct variants *v, struct span code)
{
    return code.n ? span_place(code, v->list) : -1;
}

int variants_fallback(const struct variants *v, int variant, int fallback)
{
    const char *s = row("variant-fallbacks", "", "", variants_code(v, variant));
    for (; s && fallback; fallback--)
        s = (s = strchr(s, ' ')) ? s + 1 : NULL;
    return s ? variants_find(v, (struct span){ s, strcspn(s, " ") }) : -1;
}

struct span variants_base(const struct variants *v)
{
    const char *base = row("variant-bases", "", "", variants_code(v, v->chosen));
    return span_of(base ? base : "");
}

const char *variants_name(struct span code)
{
    const char *name = row("variant-names", "", "", code);
    name = name ? name : language_own_name(code.s, code.n);
    return name ? name : "";
}

/* Adds the letters that the language's file has for the chosen variant. */
static void add_letters(struct variants *v, const char *lang)
{
    struct span code = variants_code(v, v->chosen);
    const char *letters = row("variant-letters", lang, "", code);
    for (const char *s = letters ? letters : ""; *s; s += *s == '|') {
        size_t from = strcspn(s, " "), n = strcspn(s, "|");
        replacements_put(v->words, (struct word){ { s, from }, { s + from + 1, n - from - 1 } });
        s += n;
    }
    v->own = row("variant-letters", lang, "own-", code);
    for (int i = 0; v->own && i < v->count; i++) {
        const char *other = row("variant-letters", lang, "own-", variants_code(v, i));
        v->alien = other && other != v->own ? other : v->alien;
    }
}

struct variants *variants_new(const char *lang, const char *code)
{
    const char *list = knowledge_find("variants", "", lang);
    if (!list) {
        err_set("--variant %s: the language '%s' has no variants", code, lang);
        return NULL;
    }
    struct variants *v = mem_zalloc(1, sizeof *v);
    v->list = list;
    for (v->count = 1; (list = strchr(list, '|')); list++)
        v->count++;
    v->words = replacements_new();
    v->chosen = code ? variants_find(v, span_of(code)) : 0;
    if (v->chosen >= 0) {
        add_letters(v, lang);
        return v;
    }
    SCOPED(buf) known = BUF_INIT;
    for (int i = 0; i < v->count; i++)
        buf_addf(&known, "%s%.*s", i ? ", " : "", (int)variants_code(v, i).n,
                 variants_code(v, i).s);
    variants_free(v);
    err_set("--variant %s: the language '%s' has these variants: %s", code, lang, known.data);
    return NULL;
}

void variants_free(struct variants *v)
{
    if (!v)
        return;
    replacements_free(v->words);
    free(v);
}
