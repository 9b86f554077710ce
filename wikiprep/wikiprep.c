/*
 * wikiprep.c - converts a Wikipedia dump to text.
 *
 * The work is a pipeline. One thread at a time reads the dump, all threads clean pages, and one
 * thread at a time writes. Pages are written in the order of the dump, so the output does not
 * depend on the number of threads.
 */
#include <pthread.h>

#include "common/base/log.h"
#include "common/base/pool.h"
#include "common/files/file.h"
#include "common/program/tool.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/expand/variant_tables.h"
#include "wikiprep/extract.h"
#include "wikiprep/input/dump.h"
#include "wikiprep/input/dump_files.h"
#include "wikiprep/input/pages.h"
#include "wikiprep/output/page_json.h"
#include "wikiprep/output/sink.h"
#include "wikiprep/sentences/sentence_train.h"
#include "wikiprep/site/language.h"
#include "wikiprep/site/site.h"
#include "wikiprep/wikiprep_commands.h"

enum { ITEMS_A_THREAD = 8 };

/* The values of the command-line options. */
struct wikiprep {
    const char *output_path, *train_path, *field_list, *index_path, *save_path, *part_text;
    uint64_t part_number, part_count; /* 0: the whole dump */
    uint64_t file_bytes, max_page_bytes;
    int json, redirects, strict;
    int tree, rows; /* 1: output_path is a tree of files; a Parquet file */
    struct opt_list page_names, templates;
    struct site_choice choice;
    struct extract_options how;
};

static const struct wikiprep defaults = {
    .file_bytes = 1 << 20,
    .max_page_bytes = 64 << 20,
    .field_list = PAGE_JSON_FIELDS,
    .choice.namespaces = "0",
    .how = { .lists = 1, .headings = 1 },
};

enum { NOT_CLASSIC = OPT_ONLY }; /* cannot be used with --wikiextractor */
#define AT(member) offsetof(struct wikiprep, member)
static const struct opt options[] = {
    { 'o', "output", OPT_TEXT, AT(output_path), "PATH",
      "write a folder with a tree of files (AA/wiki_00, ...) instead of a stream; a name in "
      ".txt: one file; in .jsonl: one file of JSON lines; in .parquet: one Parquet file" },
    { 'b', "bytes", OPT_SIZE, AT(file_bytes), "SIZE",
      "largest size of a file in the tree; 0: one article per file" },
    { 0, "json", OPT_FLAG, AT(json), NULL,
      "write JSON lines, one object per page; --fields chooses the keys" },
    { 0, "fields", OPT_TEXT, AT(field_list), "LIST",
      "keys of each JSON object, or columns of the Parquet file: id, revid, url, title, text, "
      "redirect, timestamp, namespace, categories, sections, infoboxes, tables, links, "
      "external_links, captions, references, description, wikidata, coordinates" },
    { 0, "format", OPT_CHOICE | NOT_CLASSIC, AT(how.markdown), "text|markdown",
      "plain text, or Markdown with headings, lists, quotations, tables, code and formulas" },
    { 0, "redirects", OPT_FLAG, AT(redirects), NULL,
      "with --json: write redirect pages too, with their target" },
    { 0, "sentences", OPT_FLAG | NOT_CLASSIC, AT(choice.sentences), NULL,
      "write one sentence per line, and a blank line after each paragraph" },
    { 0, "sentence-model", OPT_TEXT, AT(choice.sentence_model), "FILE",
      "more abbreviations and sentence openers, for --sentences" },
    { 0, "train-sentences", OPT_TEXT | NOT_CLASSIC, AT(train_path), "FILE",
      "write no text; learn a --sentence-model from the dump into FILE" },
    { 0, "language", OPT_TEXT, AT(choice.language), "CODE",
      "language code of the wiki; overrides what the dump says" },
    { 0, "variant", OPT_TEXT | NOT_CLASSIC, AT(choice.variant), "CODE",
      "show pages in this variant of the language, such as zh-tw or sr-el, as MediaWiki converts "
      "them; --templates names the dump that has the wiki's tables" },
    { 0, "namespaces", OPT_TEXT, AT(choice.namespaces), "LIST",
      "namespaces to extract: numbers or names, separated by commas" },
    { 0, "pages", OPT_LIST, AT(page_names), "TITLE|ID|@FILE",
      "extract only this page, or the pages that FILE lists, one per line" },
    { 0, "index", OPT_TEXT, AT(index_path), "FILE",
      "index file of a multistream dump: read only the parts that hold --pages" },
    { 0, "part", OPT_TEXT, AT(part_text), "K/N",
      "extract only the K-th of N parts of the files; the parts in order are the whole" },
    { 0, "lists", OPT_FLAG | NOT_CLASSIC, AT(how.lists), NULL,
      "keep list items; --no-lists drops them" },
    { 0, "headings", OPT_FLAG | NOT_CLASSIC, AT(how.headings), NULL,
      "keep section headings; --no-headings drops them" },
    { 0, "sections", OPT_TEXT | NOT_CLASSIC, AT(choice.sections), "LIST",
      "keep only sections with these headings; \"lead\" is the text before the first heading" },
    { 0, "discard-sections", OPT_TEXT | NOT_CLASSIC, AT(choice.unwanted_sections), "LIST",
      "drop sections with these headings; \"default\" means references, external links and "
      "similar ones" },
    { 0, "wikiextractor", OPT_FLAG, AT(how.classic), NULL,
      "write exactly the text that WikiExtractor 3.1.0 writes" },
    { 0, "min-length", OPT_INT, AT(how.min_length), "N",
      "skip pages with fewer than N characters of text", 0, 1e9 },
    { 0, "filter-disambig", OPT_FLAG, AT(how.filter_disambiguation), NULL,
      "skip disambiguation pages" },
    { 0, "filter-category", OPT_LIST, AT(choice.categories), "NAME|@FILE",
      "keep only pages in this category, or in one that FILE lists; ^NAME skips pages in it" },
    { 0, "math", OPT_CHOICE | NOT_CLASSIC, AT(how.formulas), "drop|tex",
      "formulas: drop them, or write their TeX" },
    { 0, "code", OPT_CHOICE | NOT_CLASSIC, AT(how.code), "drop|keep",
      "blocks of code: drop them, or write their lines" },
    { 0, "tables", OPT_CHOICE | NOT_CLASSIC, AT(how.tables), "drop|text",
      "tables: drop them, or write each row as a line of text" },
    { 0, "hatnotes", OPT_FLAG | NOT_CLASSIC, AT(how.hatnotes), NULL,
      "keep notes such as \"Main article: Moon\" and \"See also: Sun\"" },
    { 0, "templates", OPT_LIST, AT(templates), "FILE",
      "expand templates, with the template pages of this dump or --save-templates file; repeatable" },
    { 0, "save-templates", OPT_TEXT, AT(save_path), "FILE",
      "write the template pages that --templates found, for later runs" },
    { 0, "max-page", OPT_SIZE, AT(max_page_bytes), "SIZE",
      "skip pages with more wikitext than this, and exit with 1", 1, 1e9 },
    { 0, "strict", OPT_FLAG, AT(strict), NULL, "stop at the first damage or oversized page" },
    { 0 },
};

/* A page in the pipeline. */
struct item {
    struct dump_page page;
    const struct site *site;
    struct extract *extract;
    enum extract_result result;
};

struct run {
    const struct wikiprep *given;
    struct file_names in, templates;
    size_t next_path;         /* index in `in` of the next file */
    struct dump *dump;        /* the dump being read */
    pthread_rwlock_t helping; /* write-locked while `dump` is replaced */
    const struct site *site;  /* site of `dump`; NULL before its first page */
    int exports;           /* number of the export in `dump` that `site` belongs to (dump_counts) */
    struct dump_site wiki; /* the data from which the last site was made */
    struct site **sites;   /* sites of all wikis so far */
    size_t site_count, sites_cap;
    struct library *library;    /* NULL: templates are not expanded */
    struct pages *wanted_pages; /* NULL: all */
    struct sink sink;
    struct sentence_trainer *trainer;                      /* NULL: text is written to the sink */
    uint64_t pages, documents, too_long, bytes, xml_bytes; /* for the final report */
    uint64_t damages, pages_cut, expansions_cut;
    uint64_t not_asked, other_namespaces, other_models,
        redirects; /* pages left out before extraction */
    uint64_t left_out[EXTRACT_RESULTS];
    uint64_t part_begin, part_end; /* for --part: its range in the bytes of all files together */
    uint64_t bytes_before;         /* for --part: bytes of the files opened or passed over so far */
    uint64_t packed_before;        /* compressed bytes of the finished dumps */
};

/* ---- read --------------------------------------------------------------------------------- */

/* Waits until no thread is in unpack_ahead, replaces r->dump by `dump`, and closes the old one. */
static void set_dump(struct run *r, struct dump *dump)
{
    pthread_rwlock_wrlock(&r->helping);
    struct dump *before = r->dump;
    r->dump = dump;
    pthread_rwlock_unlock(&r->helping);
    dump_close(before);
}

/* Opens the bytes of the file at `path` that are in the range of --part. Returns 1, 0 if there are
 * none and other files are given, or -1 with an error. */
static int open_part(struct run *r, const char *path)
{
    uint64_t size, at = r->bytes_before;
    if (file_size(path, &size) < 0)
        return -1;
    r->bytes_before += size;
    uint64_t begin = at < r->part_begin ? r->part_begin - at : 0;
    uint64_t end = at + size < r->part_end ? size : r->part_end > at ? r->part_end - at : 0;
    if (begin >= end && r->in.count > 1)
        return 0;
    set_dump(r, dump_open_part(path, begin, end, r->given->max_page_bytes, (int)tool_threads));
    return r->dump ? 1 : -1;
}

static int next_dump(struct run *r)
{
    if (r->dump) {
        r->packed_before += dump_packed_bytes(r->dump);
        r->xml_bytes += dump_counts(r->dump)->xml_bytes;
        r->pages_cut += dump_counts(r->dump)->pages_cut;
    }
    set_dump(r, NULL);
    r->site = NULL;
    if (r->next_path == r->in.count)
        return 0;
    const char *path = r->in.names[r->next_path++];
    const struct wikiprep *how = r->given;
    if (how->part_count) {
        int opened = open_part(r, path);
        return opened ? opened : next_dump(r);
    }
    if (!how->index_path) {
        set_dump(r, dump_open(path, how->max_page_bytes, (int)tool_threads));
        return r->dump ? 1 : -1;
    }
    struct unpack_range *ranges;
    size_t count;
    if (pages_locate(r->wanted_pages, how->index_path, path, &ranges, &count) < 0)
        return -1;
    set_dump(r, dump_open_ranges(path, ranges, count, how->max_page_bytes, (int)tool_threads));
    return r->dump ? 1 : err_in("'%s' is not the index of '%s'", how->index_path, path);
}

static int leave_out(uint64_t *count)
{
    ++*count;
    return 0;
}

/* Returns 1 if the page is to be extracted, 0 if not, or -1 with an error if the run must stop. */
static int is_wanted(struct run *r, const struct dump_page *p)
{
    if (r->wanted_pages && !pages_take(r->wanted_pages, p->id.data, p->title.data))
        return leave_out(&r->not_asked);
    if (!site_takes_namespace(r->site, p->ns))
        return leave_out(&r->other_namespaces);
    int is_html = !strcmp(p->model.data, "html");
    if (is_html && r->given->how.classic)
        return err_set("--wikiextractor reads wikitext, not HTML such as page '%.200s'",
                       p->title.data);
    if (p->model.len && !is_html && strcmp(p->model.data, "wikitext") && !dump_page_is_scan(p))
        return leave_out(&r->other_models);
    if (p->too_long) {
        err_set("cannot read page '%.200s' (id %s): it has more wikitext than "
                "--max-page allows, %llu bytes",
                p->title.data, p->id.data, (unsigned long long)r->given->max_page_bytes);
        if (r->given->strict)
            return -1;
        log_error("%s", err_get());
        return leave_out(&r->too_long);
    }
    return !p->redirect || r->given->redirects ? 1 : leave_out(&r->redirects);
}

/* Warns if the site's language lacks data, unless `before` (NULL: none) has the same language. */
static void doubt_language(const struct site *site, const struct site *before)
{
    SCOPED(buf) doubt = BUF_INIT;
    if ((!before || strcmp(before->lang, site->lang)) && language_lacks_data(site->lang, &doubt))
        log_warn("%s", doubt.data);
}

/* Reads the wiki's conversion tables (variant_tables.h) for --variant. Warns if there are none. */
static void take_tables(const struct run *r, struct site *site)
{
    struct variants *v = site->variants;
    if (v && v->chosen && !(r->library && variant_tables_read(r->library, v)) && !v->own)
        log_warn("no table of words for --variant %s: only the words that pages mark are "
                 "converted; a dump with the page MediaWiki:Conversiontable/%.*s has them: name it "
                 "with --templates",
                 r->given->choice.variant, (int)v->codes[v->chosen].n, v->codes[v->chosen].s);
}

/* Sets r->site for the current export: the last site if it is the same wiki, else a new one. Call
 * it when the first page of the export was read. Returns 0, or -1 with an error. */
static int add_site(struct run *r)
{
    const struct dump_site *wiki = dump_site(r->dump);
    r->exports = dump_counts(r->dump)->exports;
    if (r->site_count && dump_site_equal(wiki, &r->wiki)) {
        r->site = r->sites[r->site_count - 1];
        return 0;
    }
    dump_site_release(&r->wiki);
    dump_site_copy(&r->wiki, wiki);
    struct site *site = site_new(wiki, &r->given->choice);
    if (!site)
        return -1;
    take_tables(r, site);
    doubt_language(site, r->site_count ? r->sites[r->site_count - 1] : NULL);
    mem_next(r->sites, r->site_count, r->sites_cap) = site;
    r->site = site;
    return 0;
}

/* Handles damage in the dump. Skips it and returns 0 if the output is a stream. Returns -1 with the
 * error set if reading cannot resume, or for --strict, --output or --train-sentences. */
static int pass_damage(struct run *r)
{
    if (r->given->strict || r->given->output_path || r->trainer || !dump_resume(r->dump))
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
            if ((got = next_dump(r)) > 0)
                continue;
            if (!got && r->wanted_pages)
                got = pages_check_found(r->wanted_pages, r->in.names[r->in.count - 1]);
            return got;
        }
        if ((!r->site || r->exports != dump_counts(r->dump)->exports) && add_site(r) < 0)
            return -1;
        item->site = r->site;
        r->pages++;
        progress_to(r->packed_before + dump_packed_bytes(r->dump));
        if ((got = is_wanted(r, &item->page)) != 0)
            return got;
    }
}

/* Decompresses ahead, on a thread that does not read. Returns 1, or 0 if there is nothing to do
 * now. */
static int unpack_ahead(void *ctx)
{
    struct run *r = ctx;
    pthread_rwlock_rdlock(&r->helping);
    int helped = r->dump && dump_help(r->dump);
    pthread_rwlock_unlock(&r->helping);
    return helped;
}

/* ---- work --------------------------------------------------------------------------------- */

static int extract_item(void *, void *slot)
{
    struct item *item = slot;
    item->result = extract_page(item->extract, item->site, &item->page);
    return 0;
}

/* ---- write -------------------------------------------------------------------------------- */

static int write_page(void *ctx, void *slot)
{
    struct run *r = ctx;
    const struct item *item = slot;
    const struct buf *bytes = &item->extract->bytes;
    if (item->extract->is_cut) {
        log_warn("page '%.200s' (id %s): " EXPAND_CUT, item->page.title.data, item->page.id.data);
        r->expansions_cut++;
    }
    if (item->result != EXTRACT_WRITTEN) {
        r->left_out[item->result]++;
        return 0;
    }
    r->documents++;
    r->bytes += item->extract->document.text.len;
    if (r->trainer) {
        sentence_trainer_add(r->trainer, bytes->data, bytes->len);
        return 0;
    }
    return sink_write(&r->sink, bytes);
}

/* ---- run ---------------------------------------------------------------------------------- */

static int run_pipeline(struct run *r)
{
    int threads = (int)tool_threads, count = threads * ITEMS_A_THREAD;
    SCOPED_MEM struct item *items = mem_zalloc((size_t)count, sizeof *items);
    SCOPED_MEM void **slots = mem_zalloc((size_t)count, sizeof *slots);
    for (int i = 0; i < count; i++) {
        items[i] = (struct item){ .page = DUMP_PAGE_INIT, .extract = extract_new(&r->given->how) };
        slots[i] = &items[i];
    }
    struct pipeline p = { .read = read_page,
                          .work = extract_item,
                          .write = write_page,
                          .help = unpack_ahead,
                          .ctx = r,
                          .items = slots,
                          .item_count = count };
    int result = pipeline_run(&p, threads);
    for (int i = 0; i < count; i++) {
        dump_page_release(&items[i].page);
        extract_free(items[i].extract);
    }
    return result;
}

static void report(const struct run *r)
{
    const struct {
        const char *name;
        uint64_t count;
    } left_out[] = {
        { "page(s) not asked for", r->not_asked },
        { "page(s) of other namespaces left out", r->other_namespaces },
        { "page(s) without wikitext left out", r->other_models },
        { "redirect(s) left out", r->redirects },
        { "empty page(s) left out", r->left_out[EXTRACT_NO_TEXT] },
        { "short page(s) left out", r->left_out[EXTRACT_TOO_SHORT] },
        { "disambiguation page(s) left out", r->left_out[EXTRACT_DISAMBIGUATION] },
        { "page(s) of other categories left out", r->left_out[EXTRACT_CATEGORY] },
        { "long page(s) left out", r->too_long },
        { "page(s) cut by damage", r->pages_cut },
        { "page(s) with templates beyond the limits", r->expansions_cut },
    };
    if (!r->documents && r->left_out[EXTRACT_NO_TEXT])
        log_warn("no page has text: 'stub' dumps leave it out, 'pages-articles' dumps have it");
    tool_count("byte(s) of XML", r->xml_bytes);
    tool_count("page(s)", r->pages);
    tool_count("document(s)", r->documents);
    tool_count("byte(s) of text", r->bytes);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (left_out[i].count)
            tool_count(left_out[i].name, left_out[i].count);
}

static int read_library(struct run *r)
{
    const struct opt_list *given = &r->given->templates;
    for (size_t i = 0; i < given->count; i++)
        if (dump_files_add(&r->templates, given->items[i]) < 0)
            return -1;
    progress_begin("byte(s) of templates read", dump_files_bytes(&r->templates));
    r->library = library_read(&r->templates, r->given->choice.language, (int)tool_threads,
                              r->given->save_path);
    progress_end();
    return r->library ? 0 : -1;
}

/* Returns 0, or -1 with a usage error if the output `path` is a file that is read. */
static int check_input(const struct run *r, const char *path)
{
    return tool_is_no_input(path, (const char *const *)r->in.names, r->in.count);
}

/* Checks that the outputs differ, and that existing output may be replaced. */
static int check_output(const struct run *r)
{
    const struct wikiprep *given = r->given;
    const char *const output = given->output_path ? given->output_path : given->train_path;
    if ((output && check_input(r, output) < 0) ||
        (given->save_path && check_input(r, given->save_path) < 0))
        return -1;
    int recovered = given->tree ? output_folder_recover(output) : 0;
    if (recovered > 0)
        log_warn("'%s' has its tree of documents again: a run was killed while it replaced it",
                 output);
    if (recovered < 0 || (output && tool_may_replace(output, given->tree ? "manifest" : NULL,
                                                     "tree of documents") < 0))
        return -1;
    if (!given->save_path)
        return 0;
    if (!strcmp(given->save_path, output ? output : "-"))
        return err_usage("'%s' is the file of two outputs", given->save_path);
    return tool_may_replace(given->save_path, NULL, NULL);
}

/* Returns 0, or -1 with a usage error if a value of the option is empty. */
static int check_names(const struct opt_list *names, const char *option)
{
    for (size_t i = 0; i < names->count; i++)
        if (!*names->items[i])
            return err_usage("--%s: the name is empty", option);
    return 0;
}

static int check_part(struct run *r, struct wikiprep *given)
{
    enum { PARTS_MAX = 1000000 };
    int end = 0;
    if (!given->part_text)
        return 0;
    if (sscanf(given->part_text, "%7" SCNu64 "/%7" SCNu64 "%n", &given->part_number,
               &given->part_count, &end) != 2 ||
        given->part_text[end] || given->part_number < 1 || given->part_number > given->part_count ||
        given->part_count > PARTS_MAX)
        return err_usage("--part %s is not a part such as 3/16", given->part_text);
    if (given->page_names.count)
        return err_usage("--part cannot be used with --pages");
    uint64_t all = 0, size;
    for (size_t i = 0; i < r->in.count; i++, all += size) {
        if (!strcmp(r->in.names[i], "-"))
            return err_usage("--part needs files, not standard input");
        if (file_size(r->in.names[i], &size) < 0)
            return -1;
    }
    unsigned __int128 wide = all;
    r->part_begin = (uint64_t)(wide * (given->part_number - 1) / given->part_count);
    r->part_end = (uint64_t)(wide * given->part_number / given->part_count);
    return 0;
}

/* Turns on tables, code and formulas for Markdown, unless an option for them is given. Returns 0,
 * or -1 with a usage error. */
static int check_format(struct wikiprep *given)
{
    if (given->how.markdown && (given->choice.sentences || given->train_path))
        return err_usage("--format markdown cannot be used with sentences: a sentence is one line");
    given->how.tables |= given->how.markdown && !tool_given("tables");
    given->how.code |= given->how.markdown && !tool_given("code");
    given->how.formulas |= given->how.markdown && !tool_given("math");
    return 0;
}

static int check_options(struct run *r, struct wikiprep *given)
{
    if (given->output_path && !strcmp(given->output_path, "-"))
        given->output_path = NULL;
    const char *path = given->output_path;
    given->rows = path && file_ends_with(path, ".parquet");
    given->json |= path && file_ends_with(path, ".jsonl");
    given->tree = path && !given->rows && !file_ends_with(path, ".jsonl") &&
                  !file_ends_with(path, ".txt");
    if (tool_given("bytes") && !given->tree)
        return err_usage(
            "--bytes needs --output with a folder: it limits the size of the files there");
    if (given->json && given->rows)
        return err_usage("--json cannot be used with a Parquet file as --output");
    if (tool_given("fields") && !given->json && !given->rows)
        return err_usage("--fields needs --json, or a Parquet file as --output");
    if (given->redirects && !given->json)
        return err_usage("--redirects needs --json: redirects have no text");
    if (given->choice.sentence_model && !given->choice.sentences)
        return err_usage("--sentence-model needs --sentences");
    if (given->train_path && (given->output_path || given->json || given->choice.sentences))
        return err_usage(
            "--train-sentences cannot be used with --output, --json or --sentences: it "
            "writes no text");
    if (given->save_path && !given->templates.count)
        return err_usage("--save-templates needs --templates");
    if (given->index_path &&
        (!given->page_names.count || r->in.count != 1 || !strcmp(r->in.names[0], "-")))
        return err_usage("--index needs --pages and exactly one FILE, not standard input");
    if (given->page_names.count && !tool_given("namespaces"))
        given->choice.namespaces = NULL;
    if (dump_files_check_stdin(&given->templates, r->in.names, r->in.count) < 0 ||
        check_names(&given->page_names, "pages") < 0 ||
        check_names(&given->templates, "templates") < 0 ||
        check_names(&given->choice.categories, "filter-category") < 0 || check_part(r, given) < 0)
        return -1;
    const char *misplaced = given->how.classic ? tool_misplaced(0) : NULL;
    if (misplaced)
        return err_usage("--wikiextractor cannot be used with --%s", misplaced);
    if (given->rows && !tool_given("fields"))
        given->field_list = PAGE_JSON_ROW_FIELDS;
    if (check_output(r) < 0 || page_json_layout_parse(&given->how.layout, given->field_list) < 0)
        return -1;
    return check_format(given);
}

static int finish(struct run *r, int result)
{
    SCOPED(kv) more = KV_INIT;
    if (!result && r->damages)
        result = err_set("the output is incomplete: damaged parts of the input skipped: %llu "
                         "(named above)",
                         (unsigned long long)r->damages);
    for (size_t i = 0; i < r->site_count; i++)
        kv_add(&more, "site", r->sites[i]->about);
    kv_add(&more, "pg", tool_provenance());
    if (r->trainer)
        result = result ? result : sentence_trainer_write(r->trainer, r->given->train_path);
    else if (!result)
        result = sink_close(&r->sink, &more);
    else
        sink_abandon(&r->sink);
    sentence_trainer_free(r->trainer);
    dump_close(r->dump);
    for (size_t i = 0; i < r->site_count; i++)
        site_free(r->sites[i]);
    free(r->sites);
    dump_site_release(&r->wiki);
    library_free(r->library);
    pages_free(r->wanted_pages);
    if (!result && r->too_long)
        result = err_set("pages skipped: %llu (named above); all others were written",
                         (unsigned long long)r->too_long);
    return result;
}

static int run_inputs(struct run *r, struct wikiprep *given)
{
    if (check_options(r, given) < 0)
        return -1;
    if (given->templates.count && read_library(r) < 0)
        return -1;
    given->how.library = r->library;
    given->how.sentences = given->choice.sentences;
    given->how.filter_categories = given->choice.categories.count > 0;
    given->how.format = given->train_path    ? SINK_TEXT
                        : given->rows        ? SINK_ROWS
                        : given->json        ? SINK_JSON
                        : given->how.classic ? SINK_CLASSIC
                                             : SINK_DOCUMENTS;
    if (given->page_names.count && !(r->wanted_pages = pages_new(&given->page_names)))
        return finish(r, -1);
    uint64_t bytes = dump_files_bytes(&r->in);
    progress_begin("byte(s) read", given->part_count ? bytes / given->part_count : bytes);
    int result = 0;
    if (given->train_path)
        r->trainer = sentence_trainer_new();
    else if (given->rows)
        result = sink_open_rows(&r->sink, given->output_path, &given->how.layout);
    else
        result = sink_open(&r->sink, given->output_path ? given->output_path : "-", given->tree,
                           given->file_bytes, given->how.format, given->choice.sentences);
    if (!result)
        result = run_pipeline(r);
    progress_end();
    report(r);
    return finish(r, result);
}

static int run(int argc, char **argv, void *given)
{
    struct run r = { .given = given, .helping = PTHREAD_RWLOCK_INITIALIZER };
    int result = argc ? 0 : tool_binary_stdin();
    for (int i = 0; i < (argc ? argc : 1) && !result; i++)
        result = dump_files_add(&r.in, argc ? argv[i] : "-");
    if (!result)
        result = run_inputs(&r, given);
    file_names_release(&r.in);
    file_names_release(&r.templates);
    return result;
}

static const struct tool_command wikiprep = {
    .args = "[FILE...]",
    .summary = "Turn MediaWiki XML dumps, packed or not, into text.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_FILE_OPERAND | TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run,
};

static const struct tool_command *const commands[] = { &wikiprep, &expand_command,
                                                       &sentences_command, NULL };

static const struct tool tool = {
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
