/*
 * wikiprep.c - from a Wikipedia dump to text.
 *
 * A pipeline: one thread at a time reads the dump, all clean pages, one at a time writes; in the
 * order of the dump, so that the output does not depend on the number of threads.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/document.h"
#include "common/err.h"
#include "common/file.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/pool.h"
#include "common/tool.h"
#include "common/utf8.h"
#include "wikiprep/classic/classic.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/expand_command.h"
#include "wikiprep/input/dump.h"
#include "wikiprep/input/pages.h"
#include "wikiprep/output/page_json.h"
#include "wikiprep/output/sink.h"
#include "wikiprep/sentences/sentence.h"
#include "wikiprep/sentences/sentence_train.h"
#include "wikiprep/sentences_command.h"
#include "wikiprep/site/disambiguation.h"
#include "wikiprep/site/site.h"
#include "wikiprep/text/template.h"
#include "wikiprep/text/visible.h"
#include "wikiprep/text/wikitext.h"

enum { ITEMS_A_THREAD = 8 };

static const char *output_dir;
static uint64_t file_bytes = 1 << 20;
static uint64_t max_page_bytes = 64 << 20;
static const char *train_path;
static int json, lists = 1, headings = 1, hatnotes;
static const char *field_list = PAGE_JSON_FIELDS;
static struct site_choice choice = { .namespaces = "0" };
static struct opt_list page_names;
static const char *index_path, *part_text;
static uint64_t part_number, part_count; /* 0: the whole dump */
static int64_t min_length;
static int formulas, tables, filter_disambig, redirects, strict, wikiextractor;
static const char *templates_path, *save_path;

static const struct opt options[] = {
    { 'o', "output", OPT_TEXT, &output_dir, "DIR",
      "write a tree of files (DIR/AA/wiki_00, ...) instead of a "
      "stream",
      0, 0 },
    { 'b', "bytes", OPT_SIZE, &file_bytes, "SIZE",
      "largest size of a file in the tree; 0: one article per file", 0, 0 },
    { 0, "json", OPT_FLAG, &json, NULL,
      "write JSON lines, one object per page; --fields chooses the "
      "keys",
      0, 0 },
    { 0, "fields", OPT_TEXT, &field_list, "LIST",
      "keys of each JSON object: id, revid, url, title, text, "
      "redirect, timestamp, namespace, categories",
      0, 0 },
    { 0, "redirects", OPT_FLAG, &redirects, NULL,
      "with --json: write redirect pages too, with their target", 0, 0 },
    { 0, "sentences", OPT_FLAG, &choice.sentences, NULL,
      "write one sentence per line, and a blank line after each "
      "paragraph",
      0, 0 },
    { 0, "sentence-model", OPT_TEXT, &choice.sentence_model, "FILE",
      "more abbreviations and sentence openers, for --sentences", 0, 0 },
    { 0, "train-sentences", OPT_TEXT, &train_path, "FILE",
      "write no text; learn a --sentence-model from the dump into "
      "FILE",
      0, 0 },
    { 0, "language", OPT_TEXT, &choice.language, "CODE",
      "language code of the wiki; overrides what the dump says", 0, 0 },
    { 0, "namespaces", OPT_TEXT, &choice.namespaces, "LIST",
      "namespaces to extract: numbers or names, separated by commas", 0, 0 },
    { 0, "pages", OPT_LIST, &page_names, "TITLE|ID|@FILE",
      "extract only this page, or the pages that FILE lists, one per "
      "line",
      0, 0 },
    { 0, "index", OPT_TEXT, &index_path, "FILE",
      "index file of a multistream dump: read only the parts that "
      "hold --pages",
      0, 0 },
    { 0, "part", OPT_TEXT, &part_text, "K/N",
      "extract only the K-th of N parts of the dump; the parts in order "
      "are the whole",
      0, 0 },
    { 0, "lists", OPT_FLAG, &lists, NULL, "keep list items; --no-lists drops them", 0, 0 },
    { 0, "headings", OPT_FLAG, &headings, NULL, "keep section headings; --no-headings drops them",
      0, 0 },
    { 0, "sections", OPT_TEXT, &choice.sections, "LIST",
      "keep only sections with these headings; \"lead\" is the text "
      "before the first heading",
      0, 0 },
    { 0, "discard-sections", OPT_TEXT, &choice.unwanted_sections, "LIST",
      "drop sections with these headings; \"default\" means "
      "references, external links and similar ones",
      0, 0 },
    { 0, "wikiextractor", OPT_FLAG, &wikiextractor, NULL,
      "write exactly the text that WikiExtractor 3.1.0 writes", 0, 0 },
    { 0, "min-length", OPT_INT, &min_length, "N", "skip pages with fewer than N characters of text",
      0, 1e9 },
    { 0, "filter-disambig", OPT_FLAG, &filter_disambig, NULL, "skip disambiguation pages", 0, 0 },
    { 0, "filter-category", OPT_LIST, &choice.categories, "NAME|@FILE",
      "keep only pages in this category, or in one that FILE lists; "
      "^NAME skips pages in it",
      0, 0 },
    { 0, "math", OPT_CHOICE, &formulas, "drop|tex", "formulas: drop them, or write their TeX", 0,
      0 },
    { 0, "tables", OPT_CHOICE, &tables, "drop|text",
      "tables: drop them, or write each row as a line of text", 0, 0 },
    { 0, "hatnotes", OPT_FLAG, &hatnotes, NULL,
      "keep notes such as \"Main article: Moon\" and \"See also: "
      "Sun\"",
      0, 0 },
    { 0, "templates", OPT_TEXT, &templates_path, "FILE",
      "expand templates, with the template pages of this dump or of "
      "a --save-templates file",
      0, 0 },
    { 0, "save-templates", OPT_TEXT, &save_path, "FILE",
      "write the template pages that --templates found, for later "
      "runs",
      0, 0 },
    { 0, "max-page", OPT_SIZE, &max_page_bytes, "SIZE",
      "skip pages with more wikitext than this, and exit with 1", 1, 1e9 },
    { 0, "strict", OPT_FLAG, &strict, NULL, "stop at the first damage or oversized page", 0, 0 },
    { 0 },
};

/* A page on its way. */
struct item {
    struct dump_page page;
    const struct site *site;
    struct wikitext *cleaner;       /* NULL: neither its text nor its categories are wanted */
    struct classic *classic;        /* NULL: the cleaner's text is wanted */
    struct template_page templates; /* what the cleaner's templates know of the page */
    struct expander *expander;      /* NULL: templates are not expanded */
    struct buf expanded;
    int is_cut; /* expansion came to a bound */
    struct document document;
    struct buf text;       /* of the cleaner, when the document's is another */
    struct buf categories; /* a line each */
    struct buf bytes;      /* as written; empty: nothing to write, because of: */
    enum { NO_TEXT, TOO_SHORT, DISAMBIGUATION, CATEGORY, REASONS } reason;
};

struct run {
    char **paths;
    int path_count, next_path;
    struct dump *dump;        /* the one being read */
    pthread_rwlock_t helping; /* held to write while another takes its place */
    const struct site *site;  /* its site, once a page was read */
    struct site **sites;      /* those of the dumps so far */
    size_t site_count, sites_cap;
    struct library *library;    /* NULL: templates are not expanded */
    struct pages *wanted_pages; /* NULL: all */
    struct page_json_layout layout;
    struct sink sink;
    struct sentence_trainer *trainer;                      /* NULL: text is written to the sink */
    uint64_t pages, documents, too_long, bytes, xml_bytes; /* for the last line */
    uint64_t damages, pages_cut, expansions_cut;
    uint64_t not_asked, other_namespaces, other_models, redirects; /* pages left out unread */
    uint64_t left_out[REASONS];
    uint64_t packed_before; /* bytes of the dumps that are done */
};

/* ---- read --------------------------------------------------------------------------------- */

/* Once no thread helps with the one before. */
static void set_dump(struct run *r, struct dump *dump)
{
    pthread_rwlock_wrlock(&r->helping);
    struct dump *before = r->dump;
    r->dump = dump;
    pthread_rwlock_unlock(&r->helping);
    dump_close(before);
}

static int next_dump(struct run *r)
{
    if (r->dump) {
        r->packed_before += dump_packed_bytes(r->dump);
        r->xml_bytes += dump_xml_bytes(r->dump);
        r->pages_cut += dump_pages_cut(r->dump);
        if (dump_trailing(r->dump))
            log_warn(DUMP_TRAILING, r->paths[r->next_path - 1],
                     (unsigned long long)dump_trailing(r->dump));
    }
    set_dump(r, NULL);
    r->site = NULL;
    if (r->next_path == r->path_count)
        return 0;
    const char *path = r->paths[r->next_path++];
    if (!index_path) {
        int threads = (int)tool_threads;
        set_dump(r, part_count
                        ? dump_open_part(path, part_number, part_count, max_page_bytes, threads)
                        : dump_open(path, max_page_bytes, threads));
        return r->dump ? 1 : -1;
    }
    struct unpack_range *ranges;
    size_t count;
    if (pages_locate(r->wanted_pages, index_path, path, &ranges, &count) < 0)
        return -1;
    set_dump(r, dump_open_ranges(path, ranges, count, max_page_bytes, (int)tool_threads));
    return r->dump ? 1 : err_in("'%s' is not the index of '%s'", index_path, path);
}

static int check_pages_found(const struct run *r)
{
    if (!r->wanted_pages)
        return 0;
    return pages_check_found(r->wanted_pages, r->paths[r->path_count - 1]);
}

static int leave_out(uint64_t *count)
{
    ++*count;
    return 0;
}

/* 1, 0, or -1 when the run is to stop. */
static int is_wanted(struct run *r, const struct dump_page *p)
{
    if (r->wanted_pages && !pages_take(r->wanted_pages, p->id.data, p->title.data))
        return leave_out(&r->not_asked);
    if (!site_takes_namespace(r->site, p->ns))
        return leave_out(&r->other_namespaces);
    if (p->model.len && strcmp(p->model.data, "wikitext"))
        return leave_out(&r->other_models);
    if (p->too_long) {
        err_set("cannot read page '%.200s' (id %s): it has more wikitext than "
                "--max-page allows, %llu bytes",
                p->title.data, p->id.data, (unsigned long long)max_page_bytes);
        if (strict)
            return -1;
        log_error("%s", err_get());
        return leave_out(&r->too_long);
    }
    return !p->redirect || redirects ? 1 : leave_out(&r->redirects);
}

/* Learns from the site what its pages need; called when its first page is there. */
static int add_site(struct run *r)
{
    struct site *site = site_new(dump_site(r->dump), &choice);
    if (!site)
        return -1;
    mem_grow(r->sites, r->sites_cap, r->site_count + 1);
    r->sites[r->site_count++] = site;
    r->site = site;
    return 0;
}

/* Of a damaged dump a stream gets all that can be read; a tree, or what is learned, must be whole.
 */
static int pass_damage(struct run *r)
{
    if (strict || output_dir || r->trainer || !dump_resume(r->dump))
        return -1;
    log_error("%s", err_get());
    r->damages++;
    return 0;
}

static int read_page(void *ctx, void *slot)
{
    struct run *r = ctx;
    struct item *item = slot;
    for (;;) {
        int got = r->dump ? dump_read(r->dump, &item->page) : 0;
        if (got < 0) {
            if (pass_damage(r) < 0)
                return -1;
            continue;
        }
        if (!got) {
            if ((got = next_dump(r)) < 0)
                return -1;
            if (!got)
                return check_pages_found(r);
            continue;
        }
        if (!r->site && add_site(r) < 0)
            return -1;
        item->site = r->site;
        r->pages++;
        progress_to(r->packed_before + dump_packed_bytes(r->dump));
        if ((got = is_wanted(r, &item->page)) != 0)
            return got;
    }
}

/* Another thread unpacks ahead. */
static int unpack_ahead(void *ctx)
{
    struct run *r = ctx;
    pthread_rwlock_rdlock(&r->helping);
    int helped = r->dump && dump_help(r->dump);
    pthread_rwlock_unlock(&r->helping);
    return helped;
}

/* ---- work --------------------------------------------------------------------------------- */

/* The page's text with its templates expanded. */
static const struct buf *expand(struct item *item)
{
    const struct dump_page *p = &item->page;
    const struct expand_page page = { p->title.data, p->ns, p->id.data, p->revid.data,
                                      p->timestamp.data };
    item->is_cut = expand_text(item->expander, &page, p->text.data, p->text.len, &item->expanded);
    visible_filter(&item->expanded);
    return &item->expanded;
}

/* The page's text into the item's document; 0 when the page is left out. */
static int clean_text(struct item *item)
{
    const struct dump_page *p = &item->page;
    const struct site *site = item->site;
    struct buf *text = choice.sentences || item->classic ? &item->text : &item->document.text;
    item->is_cut = 0;
    item->reason = DISAMBIGUATION;
    if (filter_disambig && disambiguation_page(p->text.data, p->text.len))
        return 0;
    item->templates.lang = site->lang;
    item->templates.title = p->title.data;
    item->templates.date = p->timestamp.data;
    const struct buf *source = item->expander ? expand(item) : &p->text;
    if (item->cleaner) {
        wikitext_set_names(item->cleaner, site->names);
        wikitext_set_sections(item->cleaner, site->wanted, site->unwanted);
        wikitext_clean(item->cleaner, source->data, source->len, text);
    }
    item->reason = CATEGORY;
    if (!site_takes_categories(site, item->categories.data))
        return 0;
    if (p->redirect) {
        buf_clear(&item->document.text);
        return 1;
    }
    if (item->classic) {
        text = &item->document.text;
        classic_clean(item->classic, p->title.data, source->data, source->len, text);
    }
    item->reason = text->len ? TOO_SHORT : NO_TEXT;
    if (!text->len && !item->classic)
        return 0;
    if (min_length && (int64_t)utf8_count(text->data, text->len) < min_length)
        return 0;
    if (choice.sentences)
        sentence_split_text(item->site->model, &item->document.text, text->data, text->len);
    return 1;
}

static int clean_page(void *ctx, void *slot)
{
    const struct run *r = ctx;
    struct item *item = slot;
    struct document *d = &item->document;
    const struct dump_page *p = &item->page;
    buf_clear(&item->bytes);
    if (!clean_text(item))
        return 0;
    if (r->trainer) {
        buf_add(&item->bytes, d->text.data, d->text.len);
        return 0;
    }
    buf_clear(&d->id);
    buf_clear(&d->url);
    buf_clear(&d->title);
    buf_add(&d->id, p->id.data, p->id.len);
    if (item->classic)
        classic_put_title(&d->title, p->title.data, p->title.len);
    else
        buf_add(&d->title, p->title.data, p->title.len);
    buf_addf(&d->url, "%s?curid=%s", item->site->base, p->id.data);
    if (json)
        page_json_put(&item->bytes, &r->layout, d, p, item->categories.data);
    else if (item->classic)
        classic_put(&item->bytes, d);
    else
        document_put(&item->bytes, d);
    return 0;
}

/* ---- write -------------------------------------------------------------------------------- */

static int write_page(void *ctx, void *slot)
{
    struct run *r = ctx;
    const struct item *item = slot;
    if (item->is_cut) {
        log_warn("page '%.200s' (id %s): " EXPAND_CUT, item->page.title.data, item->page.id.data);
        r->expansions_cut++;
    }
    if (!item->bytes.len) {
        r->left_out[item->reason]++;
        return 0;
    }
    r->documents++;
    r->bytes += item->bytes.len;
    if (r->trainer) {
        sentence_trainer_add(r->trainer, item->bytes.data, item->bytes.len);
        return 0;
    }
    return sink_write(&r->sink, &item->bytes);
}

/* ---- run ---------------------------------------------------------------------------------- */

static struct item *new_item(const struct run *r)
{
    struct item *item = mem_zalloc(1, sizeof *item);
    const struct wikitext_options how = { .no_lists = !lists,
                                          .no_headings = !headings,
                                          .formulas = formulas,
                                          .tables = tables,
                                          .render = template_render,
                                          .render_ctx = &item->templates,
                                          .categories = &item->categories };
    item->templates.hatnotes = hatnotes;
    item->page = (struct dump_page)DUMP_PAGE_INIT;
    item->document = (struct document)DOCUMENT_INIT;
    if (!wikiextractor || choice.categories.count || (json && page_json_has_categories(&r->layout)))
        item->cleaner = wikitext_new(NULL, &how);
    buf_init(&item->text);
    buf_init(&item->categories);
    buf_init(&item->bytes);
    buf_init(&item->expanded);
    if (wikiextractor)
        item->classic = classic_new();
    if (r->library)
        item->expander = expander_new(
            r->library, &(struct expand_options){ template_choose, &item->templates });
    return item;
}

static void free_item(struct item *item)
{
    dump_page_release(&item->page);
    document_release(&item->document);
    wikitext_free(item->cleaner);
    classic_free(item->classic);
    expander_free(item->expander);
    buf_release(&item->expanded);
    buf_release(&item->text);
    buf_release(&item->categories);
    buf_release(&item->bytes);
    free(item);
}

static int run_pipeline(struct run *r)
{
    int threads = (int)tool_threads, count = threads * ITEMS_A_THREAD;
    struct item **items = mem_zalloc((size_t)count, sizeof *items);
    for (int i = 0; i < count; i++)
        items[i] = new_item(r);
    struct pipeline p = { .read = read_page,
                          .work = clean_page,
                          .write = write_page,
                          .help = unpack_ahead,
                          .ctx = r,
                          .items = (void **)items,
                          .item_count = count };
    int result = pipeline_run(&p, threads);
    for (int i = 0; i < count; i++)
        free_item(items[i]);
    free(items);
    return result;
}

/* Bytes of all inputs, or 0 when one does not say. */
static uint64_t input_bytes(int argc, char **argv)
{
    uint64_t sum = 0;
    for (int i = 0; i < argc; i++) {
        struct stat st;
        if (!strcmp(argv[i], "-") || stat(argv[i], &st) < 0 || !S_ISREG(st.st_mode))
            return 0;
        sum += (uint64_t)st.st_size;
    }
    return sum;
}

static void report(const struct run *r)
{
    const struct {
        const char *name;
        uint64_t count;
    } left_out[] = {
        { "pages not asked for", r->not_asked },
        { "pages of other namespaces left out", r->other_namespaces },
        { "pages that are no wikitext left out", r->other_models },
        { "redirects left out", r->redirects },
        { "empty pages left out", r->left_out[NO_TEXT] },
        { "short pages left out", r->left_out[TOO_SHORT] },
        { "disambiguation pages left out", r->left_out[DISAMBIGUATION] },
        { "pages of other categories left out", r->left_out[CATEGORY] },
        { "long pages left out", r->too_long },
        { "pages cut by damage", r->pages_cut },
        { "pages with templates beyond the limits", r->expansions_cut },
    };
    tool_count("bytes of XML", r->xml_bytes);
    tool_count("pages", r->pages);
    tool_count("documents", r->documents);
    tool_count("bytes of text", r->bytes);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (left_out[i].count)
            tool_count(left_out[i].name, left_out[i].count);
}

static int read_library(struct run *r)
{
    for (int i = 0; i < r->path_count; i++)
        if (!strcmp(templates_path, "-") && !strcmp(r->paths[i], "-"))
            return err_usage("standard input cannot be read twice: name a file for --templates");
    progress_begin("bytes of templates read", input_bytes(1, (char **)&templates_path));
    r->library = library_read(templates_path, choice.language, (int)tool_threads, save_path);
    progress_end();
    if (r->library && library_trailing(r->library))
        log_warn(DUMP_TRAILING, templates_path, (unsigned long long)library_trailing(r->library));
    return r->library ? 0 : -1;
}

/* WikiExtractor's text has no choices. */
static int check_wikiextractor(void)
{
    static const char *const choices[] = {
        "sentences", "lists",    "headings",         "sections",       "tables",
        "math",      "hatnotes", "discard-sections", "train-sentences"
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices && wikiextractor; i++)
        if (tool_given(choices[i]))
            return err_usage("--wikiextractor cannot be used with --%s", choices[i]);
    return 0;
}

/* Finished output that is in the way. */
static int check_output(void)
{
    int recovered = output_dir ? sink_recover(output_dir) : 0;
    if (recovered > 0)
        log_warn("'%s' has its tree of documents again: a run was killed while it replaced it",
                 output_dir);
    if (recovered < 0 ||
        (output_dir && tool_may_replace(output_dir, "manifest", "tree of documents") < 0) ||
        (save_path && tool_may_replace(save_path, NULL, NULL) < 0) ||
        (train_path && tool_may_replace(train_path, NULL, NULL) < 0))
        return -1;
    return 0;
}

static int check_part(const struct run *r)
{
    enum { PARTS_MAX = 1000000 };
    int end = 0;
    if (!part_text)
        return 0;
    if (sscanf(part_text, "%7" SCNu64 "/%7" SCNu64 "%n", &part_number, &part_count, &end) != 2 ||
        part_text[end] || part_number < 1 || part_number > part_count || part_count > PARTS_MAX)
        return err_usage("--part %s is not a part such as 3/16", part_text);
    if (r->path_count != 1 || !strcmp(r->paths[0], "-"))
        return err_usage("--part needs exactly one FILE, not standard input");
    if (page_names.count)
        return err_usage("--part cannot be used with --pages");
    return 0;
}

static int check_options(struct run *r)
{
    if (output_dir && !strcmp(output_dir, "-"))
        output_dir = NULL;
    if (tool_given("bytes") && !output_dir)
        return err_usage("--bytes needs --output: it limits the size of the files there");
    if (tool_given("fields") && !json)
        return err_usage("--fields needs --json");
    if (redirects && !json)
        return err_usage("--redirects needs --json: redirects have no text");
    if (choice.sentence_model && !choice.sentences)
        return err_usage("--sentence-model needs --sentences");
    if (train_path && (output_dir || json || choice.sentences))
        return err_usage(
            "--train-sentences cannot be used with --output, --json or --sentences: it "
            "writes no text");
    if (save_path && !templates_path)
        return err_usage("--save-templates needs --templates");
    if (index_path && (!page_names.count || r->path_count != 1 || !strcmp(r->paths[0], "-")))
        return err_usage("--index needs --pages and exactly one FILE, not standard input");
    if (page_names.count && !tool_given("namespaces"))
        choice.namespaces = NULL;
    if (check_part(r) < 0 || check_wikiextractor() < 0 || check_output() < 0)
        return -1;
    return page_json_layout_parse(&r->layout, field_list);
}

static int finish(struct run *r, int result)
{
    struct kv more = KV_INIT;
    if (!result && r->damages)
        result = err_set("the output is incomplete: damaged parts of the input skipped: %llu "
                         "(named above)",
                         (unsigned long long)r->damages);
    for (size_t i = 0; i < r->site_count; i++)
        kv_add(&more, "site", r->sites[i]->about);
    kv_add(&more, "pg", tool_provenance());
    if (r->trainer)
        result = result ? result : sentence_trainer_write(r->trainer, train_path);
    else if (!result)
        result = sink_close(&r->sink, &more);
    else
        sink_abandon(&r->sink);
    sentence_trainer_free(r->trainer);
    kv_release(&more);
    dump_close(r->dump);
    for (size_t i = 0; i < r->site_count; i++)
        site_free(r->sites[i]);
    free(r->sites);
    library_free(r->library);
    pages_free(r->wanted_pages);
    if (!result && r->too_long)
        result = err_set("pages skipped: %llu (named above); all others were written",
                         (unsigned long long)r->too_long);
    return result;
}

static int run(int argc, char **argv)
{
    static char dash[] = "-", *standard_input[] = { dash };
    struct run r = { .paths = argc ? argv : standard_input,
                     .path_count = argc ? argc : 1,
                     .helping = PTHREAD_RWLOCK_INITIALIZER };
    if (check_options(&r) < 0 || (!argc && tool_binary_stdin() < 0))
        return -1;
    if (templates_path && read_library(&r) < 0)
        return -1;
    if (page_names.count && !(r.wanted_pages = pages_new(&page_names)))
        return -1;
    uint64_t bytes = input_bytes(r.path_count, r.paths);
    progress_begin("bytes read", part_count ? bytes / part_count : bytes);
    int result = 0;
    if (train_path)
        r.trainer = sentence_trainer_new();
    else
        result = sink_open(&r.sink, output_dir, file_bytes,
                           json            ? SINK_JSON
                           : wikiextractor ? SINK_CLASSIC
                                           : SINK_DOCUMENTS,
                           choice.sentences);
    if (!result)
        result = run_pipeline(&r);
    progress_end();
    report(&r);
    return finish(&r, result);
}

static const struct tool_command commands[] = {
    { NULL, "[FILE...]", "Turn MediaWiki XML dumps, packed or not, into text.", options,
      TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE, 0, -1, run },
    { "expand", "[FILE]", "Print wikitext with its templates expanded.", expand_command_options,
      TOOL_THREADS, 0, 1, expand_command },
    { "sentences", "[FILE...]", "Split plain text, a paragraph a line, into sentences.",
      sentences_command_options, TOOL_FORCE, 0, -1, sentences_command },
    { 0 },
};

/* Options of other programs. */
static const char *foreign(const char *option)
{
    static const struct opt_foreign table[] = {
        { "input-file-path", "the files are operands" },
        { "input-file", "the files are operands" },
        { "output-file-path", "give --output" },
        { "output-file", "give --output" },
        { "max-len", "all lines are read; for a small sample name a few pages: --pages" },
        { "small-files", "all lines are read; for a small sample name a few pages: --pages" },
        { 0 },
    };
    return opt_foreign(table, option);
}

static const struct tool tool = {
    .foreign = foreign,
    .name = "wikiprep",
    .examples = "  wikiprep enwiki.xml.bz2 | tokenize --vocab gpt2 | tfwrite -o shards/\n"
                "  wikiprep -o text -b 100M enwiki.xml.bz2\n"
                "  wikiprep --json --sentences dewiki.xml.7z > de.jsonl\n",
    .commands = commands,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
