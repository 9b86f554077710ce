#include "wikiprep/expand/library.h"

#include <strings.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/order.h"
#include "common/base/pool.h"
#include "common/files/file.h"
#include "common/files/nameset.h"
#include "common/files/spill.h"
#include "common/formats/document.h"
#include "wikiprep/site/language.h"

enum {
    HELD_MAX = 16 << 20,   /* bytes of page texts in memory; more go to a file (spill.h) */
    OTHERS_MAX = 16 << 20, /* total bytes of kept pages that are not is_callable */
    REDIRECTS_MAX = 2,
    PAGE_MAX_BYTES = 8 << 20, /* MediaWiki's own limit is 2 MiB */
    MEMOS_MAX_BYTES = 64 << 20,
    MEMO_MAX_BYTES = 1 << 16,
};

struct library {
    struct library_facts facts;
    struct nameset *pages; /* the keys are from set_key, the values struct library_page */
    struct spill texts;
    uint64_t *known; /* hashes of the titles of all pages, sorted */
    size_t known_count, known_cap;
    uint64_t other_bytes; /* bytes of pages that are not is_callable, kept or not */
    _Atomic uint64_t memo_bytes;
};

static uint64_t hash(int ns, const char *s, size_t n)
{
    return hash_fold(hash_more(HASH_START ^ (unsigned)ns, s, n));
}

/* Sets *key to the key of the title in `pages`: the bytes of its namespace, then its text. */
static void set_key(struct buf *key, const struct title *t)
{
    buf_set(key, &t->ns, sizeof t->ns);
    buf_add(key, t->text.data, t->text.len);
}

static struct library_page *page_at(const struct library *l, size_t i)
{
    return nameset_value(l->pages, i);
}

/* ---- pages as they are read -------------------------------------------------------------- */

/* Returns the page's title without its namespace. */
static struct title own_title(const struct library *l, const struct dump_page *p)
{
    struct title t = TITLE_INIT;
    const char *s = p->title.data;
    const char *colon = p->ns ? strchr(s, ':') : NULL;
    s = colon ? colon + 1 : s;
    if (!title_read(&t, &l->facts.site, s, strlen(s), p->ns) || t.ns != p->ns)
        buf_set(&t.text, s, strlen(s)); /* "Template:Wikipedia:x": not in namespace Wikipedia */
    t.ns = p->ns;
    return t;
}

/* Returns 1 if the page may be needed to expand or convert others: a template, a module, a page of
 * a scanned book, a page with include tags or named sections, or a table of variant_tables.h. Else
 * returns 0. */
static int is_callable(const struct dump_page *p)
{
    static const char *const marks[] = { "<onlyinclude>", "<includeonly>", "<noinclude>",
                                         "<section begin" };
    if (p->ns == LIBRARY_TEMPLATES || p->ns == LIBRARY_MODULES || dump_page_is_scan(p) ||
        (p->ns == LIBRARY_MESSAGES && strstr(p->title.data, ":Conversiontable/")))
        return 1;
    for (const char *s = p->text.data; (s = strchr(s, '<')); s++)
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (!strncasecmp(s, marks[i], strlen(marks[i])))
                return 1;
    return 0;
}

/* Returns 1 if the page is kept, else 0. Callable pages are kept. Other pages are kept while the
 * texts of all of them together have at most OTHERS_MAX bytes, which is enough for all pages of a
 * small wiki. */
static int is_kept(struct library *l, const struct dump_page *p)
{
    if (is_callable(p))
        return 1;
    l->other_bytes += p->text.len;
    return l->other_bytes <= OTHERS_MAX;
}

static void take_date(struct library *l, const struct buf *date)
{
    if (strcmp(date->data, l->facts.date.data) > 0)
        buf_set(&l->facts.date, date->data, date->len);
}

static int add_page(struct library *l, const struct dump_page *p)
{
    struct title t = own_title(l, p);
    mem_next(l->known, l->known_count, l->known_cap) = hash(t.ns, t.text.data, t.text.len);
    l->facts.pages++;
    l->facts.articles += p->ns == 0 && !p->redirect;
    take_date(l, &p->timestamp);
    if (dump_page_is_scan(p))
        l->facts.books = p->ns;
    int result = 0;
    if (is_kept(l, p)) {
        SCOPED(buf) key = BUF_INIT;
        set_key(&key, &t);
        struct library_page *page = nameset_put(l->pages, key.data, key.len);
        page->ns = p->ns; /* a later page with the same title replaces an earlier one */
        page->at = l->texts.bytes;
        page->n = p->text.len;
        page->bit = UINT64_C(1) << (hash(t.ns, t.text.data, t.text.len) & 63);
        result = spill_add(&l->texts, p->text.data, p->text.len);
    }
    buf_release(&t.text);
    return result;
}

/* ---- saving: an export of the callable pages ----------------------------------------------- */

static void put_element(struct buf *out, const char *before, const char *text, const char *after)
{
    buf_adds(out, before);
    document_escape(out, text, strlen(text), 1);
    buf_adds(out, after);
}

static int save_begin(struct output *out, const struct dump_site *site)
{
    SCOPED(buf) b = BUF_INIT;
    put_element(&b, "<mediawiki version=\"0.10\" xml:lang=\"", site->lang.data,
                "\">\n<siteinfo>\n");
    put_element(&b, "<sitename>", site->name.data, "</sitename>\n");
    put_element(&b, "<base>", site->base.data, "</base>\n");
    buf_addf(&b, "<case>%s</case>\n<namespaces>\n",
             site->capital ? "first-letter" : "case-sensitive");
    for (size_t i = 0; i < site->count; i++) {
        buf_addf(&b, "<namespace key=\"%d\">", site->namespaces[i].key);
        put_element(&b, "", site->namespaces[i].name, "</namespace>\n");
    }
    buf_adds(&b, "</namespaces>\n</siteinfo>\n");
    return output_write(out, b.data, b.len);
}

/* Writes the end of the export, with the date, which is known only after the last page. */
static int save_end(struct output *out, const char *date)
{
    SCOPED(buf) b = BUF_INIT;
    put_element(&b, "<siteinfo>\n<date>", date, "</date>\n</siteinfo>\n</mediawiki>\n");
    return output_write(out, b.data, b.len);
}

static int save_page(struct output *out, const struct dump_page *p)
{
    SCOPED(buf) b = BUF_INIT;
    put_element(&b, "<page>\n<title>", p->title.data, "</title>\n");
    buf_addf(&b, "<ns>%d</ns>\n", p->ns);
    put_element(&b, "<id>", p->id.data, "</id>\n<revision>\n");
    put_element(&b, "<id>", p->revid.data, "</id>\n");
    put_element(&b, "<timestamp>", p->timestamp.data, "</timestamp>\n");
    put_element(&b, "<model>", p->model.len ? p->model.data : "wikitext", "</model>\n");
    put_element(&b, "<text xml:space=\"preserve\">", p->text.data,
                "</text>\n</revision>\n</page>\n");
    return output_write(out, b.data, b.len);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int finish(struct library *l)
{
    if (spill_finish(&l->texts) < 0)
        return -1;
    for (size_t i = 0; i < nameset_count(l->pages); i++) {
        page_at(l, i)->title = nameset_at(l->pages, i) + sizeof page_at(l, i)->ns;
        page_at(l, i)->text = l->texts.data + page_at(l, i)->at;
    }
    mem_sort(l->known, l->known_count, order_numbers);
    return 0;
}

/* The state of library_read, for all files. */
struct reading {
    struct library *l;
    const char *language; /* replaces that of the export; NULL: keep it */
    struct output *save;  /* the file of --save-templates; NULL: none */
    int has_site;         /* the library has the site data of the first export */
    struct dump *dump;    /* the current file */
    uint64_t before;      /* compressed bytes of the files before it */
};

/* Copies the site data of the dump into the library, and writes the first lines of the file of
 * --save-templates. Call it after the first page was read. */
static int take_site(struct reading *r)
{
    struct dump_site *site = &r->l->facts.site;
    const char *lang = r->language ? r->language : dump_site(r->dump)->lang.data;
    r->has_site = 1;
    dump_site_copy(site, dump_site(r->dump));
    buf_setf(&site->lang, "%.*s", (int)language_known(lang), lang);
    return r->save ? save_begin(r->save, site) : 0;
}

static int read_page(void *ctx, void *page)
{
    return dump_read(((struct reading *)ctx)->dump, page);
}

/* Calls add_page for the page. If is_callable, also writes it to the --save-templates file. */
static int take_page(void *ctx, void *item)
{
    struct reading *r = ctx;
    const struct dump_page *page = item;
    if (!r->has_site && take_site(r) < 0)
        return -1;
    progress_to(r->before + dump_packed_bytes(r->dump));
    if (page->too_long) {
        log_warn("page '%.200s' has more than %d bytes: it is not used as a template",
                 page->title.data, PAGE_MAX_BYTES);
        return 0;
    }
    if (r->save && is_callable(page) && save_page(r->save, page) < 0)
        return -1;
    return add_page(r->l, page);
}

static int unpack_ahead(void *ctx)
{
    return dump_help(((struct reading *)ctx)->dump);
}

/* Adds the pages of one file to the library. */
static int read_file(struct reading *r, const char *path, int threads)
{
    SCOPED(dump_page) page = DUMP_PAGE_INIT;
    void *items[] = { &page };
    const struct pipeline p = { .read = read_page,
                                .write = take_page,
                                .help = unpack_ahead,
                                .ctx = r,
                                .items = items,
                                .item_count = 1 };
    r->dump = dump_open(path, PAGE_MAX_BYTES, threads);
    if (!r->dump)
        return -1;
    int result = pipeline_run(&p, threads);
    if (!result && !r->has_site)
        result = take_site(r);
    take_date(r->l, &dump_site(r->dump)->date);
    r->before += dump_packed_bytes(r->dump);
    dump_close(r->dump);
    return result;
}

struct library *library_read(const struct file_names *from, const char *language, int threads,
                             const char *save)
{
    struct library *l = mem_zalloc(1, sizeof *l);
    struct output out = { 0 };
    struct reading r = { .l = l, .language = language, .save = save ? &out : NULL };
    buf_init(&l->facts.date);
    l->pages = nameset_new(sizeof(struct library_page));
    spill_init(&l->texts, HELD_MAX);
    dump_site_release(&l->facts.site); /* makes it empty */
    int result = save ? output_open(&out, save) : 0;
    for (size_t i = 0; !result && i < from->count; i++)
        result = read_file(&r, from->names[i], threads);
    if (!result && save)
        result = save_end(&out, l->facts.date.data);
    if (!result)
        result = finish(l);
    if (save)
        result = output_end(&out, result);
    l->facts.magic = magic_new(l->facts.site.lang.data);
    if (!result)
        return l;
    library_free(l);
    return NULL;
}

void library_free(struct library *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < nameset_count(l->pages); i++) {
        SCOPED_MEM struct tree *tree = (struct tree *)atomic_load(&page_at(l, i)->tree);
        if (tree)
            tree_release(tree);
        free((void *)atomic_load(&page_at(l, i)->memo));
    }
    dump_site_release(&l->facts.site);
    nameset_free(l->facts.magic);
    buf_release(&l->facts.date);
    spill_release(&l->texts);
    nameset_free(l->pages);
    free(l->known);
    free(l);
}

/* ---- asking ---------------------------------------------------------------------------------- */

const struct library_facts *library_facts(const struct library *l)
{
    return &l->facts;
}

static struct library_page *find(const struct library *l, const struct title *t)
{
    SCOPED(buf) key = BUF_INIT;
    set_key(&key, t);
    return nameset_get(l->pages, key.data, key.len);
}

struct library_page *library_find(const struct library *l, const struct title *t)
{
    struct library_page *page = find(l, t);
    struct title to = TITLE_INIT;
    struct span name;
    for (int i = 0; i < REDIRECTS_MAX && page; i++) {
        int is_redirect = dump_redirect((struct span){ page->text, page->n }, &name) &&
                          title_read(&to, &l->facts.site, name.s, name.n, 0);
        struct library_page *target = is_redirect ? find(l, &to) : NULL;
        if (!target)
            break;
        page = target;
    }
    buf_release(&to.text);
    return page;
}

int library_exists(const struct library *l, const struct title *t)
{
    uint64_t key = hash(t->ns, t->text.data, t->text.len);
    return l->known_count &&
           bsearch(&key, l->known, l->known_count, sizeof key, order_numbers) != NULL;
}

const struct tree *library_tree(struct library_page *page, struct preprocessor *p)
{
    const struct tree *there = atomic_load_explicit(&page->tree, memory_order_acquire);
    if (there)
        return there;
    struct tree *tree = mem_zalloc(1, sizeof *tree);
    preprocess(p, tree, page->text, page->n, PREPROCESS_INCLUDED);
    tree->nodes = mem_resize(tree->nodes, tree->count, sizeof *tree->nodes);
    tree->cap = tree->count;
    if (atomic_compare_exchange_strong(&page->tree, &there, tree))
        return tree;
    tree_release(tree);
    free(tree);
    return there;
}

void library_remember(struct library *l, struct library_page *page, struct library_memo memo)
{
    if (memo.n > MEMO_MAX_BYTES || atomic_load(&page->memo) ||
        atomic_fetch_add(&l->memo_bytes, memo.n + sizeof memo) > MEMOS_MAX_BYTES)
        return;
    struct library_memo *kept = mem_alloc(sizeof *kept + memo.n);
    *kept = memo;
    if (memo.n)
        memcpy(kept + 1, memo.text, memo.n);
    kept->text = (const char *)(kept + 1);
    const struct library_memo *none = NULL;
    if (!atomic_compare_exchange_strong(&page->memo, &none, kept))
        free(kept);
}
