#include "wikiprep/site/site.h"

#include <limits.h>

#include "common/files/nameset.h"
#include "wikiprep/site/language.h"

/* ---- namespaces -------------------------------------------------------------------------- */

static void name_namespaces(struct names *names, const struct dump_site *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        int key = dump->namespaces[i].key;
        enum names_kind kind = key == 6 ? NAMES_FILE : key == 14 ? NAMES_CATEGORY : NAMES_PAGE;
        names_add(names, span_of(dump->namespaces[i].name), kind);
    }
}

static int choose_namespaces(struct site *s, const struct dump_site *dump, const char *list)
{
    for (const char *word = list; word;) {
        size_t n = strcspn(word, ",");
        char *end;
        const long long number = strtoll(word, &end, 10); /* too large: LLONG_MIN or LLONG_MAX */
        int is_number = end == word + n && n && number >= INT_MIN && number <= INT_MAX;
        int key = is_number ? (int)number : 0;
        if (!is_number && !dump_namespace(dump, word, n, &key))
            return err_set("--namespaces: the wiki has no namespace '%.*s'", (int)n, word);
        mem_next(s->namespaces, s->namespace_count, s->namespaces_cap) = key;
        word = word[n] ? word + n + 1 : NULL;
    }
    return 0;
}

int site_takes_namespace(const struct site *s, int key)
{
    int takes = !s->namespaces;
    for (size_t i = 0; i < s->namespace_count; i++)
        takes |= s->namespaces[i] == key;
    return takes;
}

/* ---- categories -------------------------------------------------------------------------- */

static int add_category(void *ctx, const char *name, size_t n)
{
    struct site *s = ctx;
    struct nameset **set = *name == '^' ? &s->unwanted_categories : &s->categories;
    size_t skip = *name == '^';
    const char *colon = memchr(name, ':', n);
    if (colon && names_find(s->names, name + skip, (size_t)(colon - name) - skip) == NAMES_CATEGORY)
        skip = (size_t)(colon + 1 - name);
    if (!*set)
        *set = nameset_new(0);
    SCOPED(buf) title = BUF_INIT;
    names_add_title(&title, name + skip, n - skip, names_capital(s->names));
    nameset_add(*set, title.data, title.len);
    return 0;
}

int site_takes_categories(const struct site *s, const char *lines)
{
    int takes = !s->categories;
    for (struct span name; span_next(&lines, '\n', &name);) {
        if (s->unwanted_categories && nameset_find(s->unwanted_categories, name.s, name.n) >= 0)
            return 0;
        takes = takes || nameset_find(s->categories, name.s, name.n) >= 0;
    }
    return takes;
}

/* ---- creation and release ---------------------------------------------------------------- */

/* Returns a description of the dump for one line of the manifest, owned by the caller. */
static char *describe(const struct dump_site *dump, const char *lang)
{
    struct buf about = buf_format("%s (%s) %s", dump->name.data, lang, dump->base.data);
    for (size_t i = 0; i < about.len; i++)
        if ((unsigned char)about.data[i] < ' ')
            about.data[i] = ' ';
    return buf_detach(&about);
}

struct site *site_new(const struct dump_site *dump, const struct site_choice *choice)
{
    struct site *s = mem_zalloc(1, sizeof *s);
    const char *slash = strrchr(dump->base.data, '/');
    s->base = mem_strndup(dump->base.data, slash ? (size_t)(slash - dump->base.data) : 0);
    const char *lang = choice->language ? choice->language : dump->lang.data;
    s->lang = mem_strndup(lang, language_known(lang));
    s->about = describe(dump, s->lang);
    s->names = names_new(dump->capital);
    name_namespaces(s->names, dump);
    if (choice->sections)
        s->wanted = language_sections(choice->sections, s->lang);
    if (choice->unwanted_sections)
        s->unwanted = language_sections(choice->unwanted_sections, s->lang);
    if (choice->sentences)
        s->model = sentence_model_new(s->lang);
    int failed = choose_namespaces(s, dump, choice->namespaces);
    if (!failed && (choice->variant || variants_has(s->lang)))
        failed = !(s->variants = variants_new(s->lang, choice->variant));
    for (size_t i = 0; i < choice->categories.count && !failed; i++)
        failed = nameset_each(choice->categories.items[i], add_category, s);
    if (!failed && s->model && choice->sentence_model)
        failed = sentence_model_read(s->model, choice->sentence_model);
    if (failed) {
        site_free(s);
        return NULL;
    }
    return s;
}

void site_free(struct site *s)
{
    if (!s)
        return;
    names_free(s->names);
    free(s->lang);
    free(s->base);
    free(s->about);
    free(s->wanted);
    free(s->unwanted);
    sentence_model_free(s->model);
    variants_free(s->variants);
    free(s->namespaces);
    nameset_free(s->categories);
    nameset_free(s->unwanted_categories);
    free(s);
}
