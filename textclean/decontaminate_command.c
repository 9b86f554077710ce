/* decontaminate_command.c - textclean decontaminate: removes texts of test sets from a corpus. */
#include "textclean/commands.h"

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/base/xxh64.h"
#include "common/formats/js.h"
#include "textclean/firsts.h"
#include "textclean/flow.h"
#include "textclean/words.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

enum rule { RULE_CUT, RULE_DROP };
enum { NGRAMS_MOST = 64 }; /* words */

struct decontaminate {
    struct flow_options flow;
    struct opt_list against;
    const char *fields, *matches_path;
    int rule, against_format;
    int64_t ngram, least, margin, shortest, most_pieces;
    uint64_t memory_bytes;
};

/* The numbers are GPT-3's (Brown et al. 2020, appendix C), and for `least` those of Megatron-LM's
 * filter for LAMBADA. */
static const struct decontaminate defaults = { .flow = FLOW_DEFAULTS,
                                               .fields = "text",
                                               .ngram = 13,
                                               .least = 8,
                                               .margin = 200,
                                               .shortest = 200,
                                               .most_pieces = 10,
                                               .memory_bytes = UINT64_C(1) << 30 };

#define AT(member) offsetof(struct decontaminate, member)
static const struct opt options[] = {
    { 0, "against", OPT_LIST, AT(against), "FILE",
      "file or folder with the texts of a test; may be given several times" },
    { 0, "against-format", OPT_CHOICE, AT(against_format), ENTRY_FORMATS,
      "format of the files of --against" },
    { 0, "against-field", OPT_TEXT, AT(fields), "KEY[,KEY]",
      "JSON lines of --against: the strings that, joined, are the text: question,answer" },
    { 0, "rule", OPT_CHOICE, AT(rule), "cut|drop",
      "what becomes of a document with words of a test: cut them out, or leave the document out" },
    { 0, "ngram", OPT_INT, AT(ngram), "N", "words in a row that must be equal", 1, NGRAMS_MOST },
    { 0, "least", OPT_INT, AT(least), "N",
      "a text of a test with fewer words than --ngram is searched whole if it has N at least", 1,
      NGRAMS_MOST },
    { 0, "margin", OPT_INT | OPT_ONLY, AT(margin), "N",
      "characters that are cut out on each side of the words, too", 0, 1e6 },
    { 0, "shortest", OPT_INT | OPT_ONLY, AT(shortest), "N",
      "characters of the shortest piece that stays", 0, 1e6 },
    { 0, "pieces", OPT_INT | OPT_ONLY, AT(most_pieces), "N",
      "leave a document out that is cut into more than N pieces", 1, 1e6 },
    { 0, "memory", OPT_SIZE, AT(memory_bytes), "SIZE", "memory for the words of tests", 1 << 20,
      1e15 },
    { 0, "matches", OPT_TEXT, AT(matches_path), "FILE",
      "write what was found, and in which document and text of a test, to FILE as JSON lines" },
    FLOW_ROWS(struct decontaminate),
    { 0 },
};

enum { REASON_FOUND, REASON_PIECES, REASON_NOTHING_LEFT, REASONS };
static const char *const reasons[REASONS] = { "test-words", "test-pieces", "nothing-left" };

/* ---- runs of words --------------------------------------------------------------------------- */

/* The n-grams of the test sets: all runs of `words` consecutive words. */
struct ngrams {
    size_t words; /* words in a run */
    size_t least; /* a text with fewer than `words` words, but at least `least`, is one run */
    struct firsts firsts;
    uint8_t lengths[NGRAMS_MOST + 1]; /* lengths[n] 1: there are runs of n words */
};

/* A text's words, working memory for one thread. A word is what stands between white space, in
 * lower case, without CCNet's punctuation (UNICODE_IS_CCNET_PUNCTUATION) and without other
 * punctuation (category P). */
struct ngram_words {
    struct ngram_word {
        size_t begin, end; /* bytes of the text */
        uint64_t sum;      /* hash of all words up to this one */
    } * list;
    size_t count, cap;
    struct buf word; /* working memory */
};

static void ngram_words_release(struct ngram_words *w)
{
    free(w->list);
    buf_release(&w->word);
}

static int is_mark(unsigned c)
{
    enum unicode_category category = (enum unicode_category)unicode_of(c)->category;
    return (category >= UNICODE_PC && category <= UNICODE_PO) ||
           unicode_is(c, UNICODE_IS_CCNET_PUNCTUATION);
}

/* Adds the word text[begin..end), unless it is only punctuation. */
static void add_word(struct ngram_words *w, const char *text, size_t begin, size_t end)
{
    unsigned c;
    buf_clear(&w->word);
    for (size_t at = begin, k; at < end; at += k) {
        k = utf8_read(text + at, end - at, &c);
        if (c < 0x80 && (c | 0x20) >= 'a' && (c | 0x20) <= 'z')
            buf_addc(&w->word, (int)(c | 0x20));
        else if (!is_mark(c))
            utf8_add(&w->word, letter_case_lower(c));
    }
    if (!w->word.len)
        return;
    mem_grow(w->list, w->cap, w->count + 1);
    uint64_t before = w->count ? w->list[w->count - 1].sum : 0;
    w->list[w->count++] = (struct ngram_word){
        begin, end, before * WORDS_BASE + xxh64(w->word.data, w->word.len, 0)
    };
}

/* Replaces the words by those of text[0..n). */
static void set_words(struct ngram_words *w, const char *text, size_t n)
{
    w->count = 0;
    for (size_t at = 0, k; at < n; at += k)
        if (!(k = whitespace_at(text + at, n - at))) {
            k = whitespace_word(text + at, n - at);
            add_word(w, text, at, at + k);
        }
}

/* Returns the key of the run of n words from `first` on; p is words_power(n). */
static struct key key_of(const struct ngram_words *w, size_t first, size_t n, uint64_t p)
{
    uint64_t before = first ? w->list[first - 1].sum : 0;
    uint64_t h = w->list[first + n - 1].sum - before * p;
    return (struct key){ (h ^ h >> 32) * XXH64_2, n };
}

/* Adds the runs of the words of text number `source`. Returns their number, or -1 with an error if
 * they do not fit the memory. */
static int64_t add_runs(struct ngrams *g, const struct ngram_words *w, uint64_t source)
{
    size_t n = w->count < g->words ? w->count : g->words;
    uint64_t p = words_power(n), first;
    if (!n || (n < g->words && n < g->least))
        return 0;
    g->lengths[n] = 1;
    for (size_t i = 0; i + n <= w->count; i++) {
        struct key key = key_of(w, i, n, p);
        if (firsts_add(&g->firsts, &key, source, &first) < 0)
            return err_set("the words of the tests do not fit --memory: give more");
    }
    return (int64_t)(w->count - n + 1);
}

/* Finds the next run from word *at on. Returns 1, and sets *at to its first word, *words to its
 * number of words, and *source to the first text that has it; 0 if there is none. */
static int find_run(const struct ngrams *g, const struct ngram_words *w, size_t *at, size_t *words,
                    uint64_t *source)
{
    uint64_t powers[NGRAMS_MOST + 1];
    for (size_t n = 0; n <= g->words; n++)
        powers[n] = g->lengths[n] ? words_power(n) : 0;
    for (; *at < w->count; ++*at)
        for (size_t n = g->words; n; n--) {
            if (!g->lengths[n] || *at + n > w->count)
                continue;
            struct key key = key_of(w, *at, n, powers[n]);
            if (firsts_find(&g->firsts, &key, source)) {
                *words = n;
                return 1;
            }
        }
    return 0;
}

/* ---- texts of tests -------------------------------------------------------------------------- */

struct run {
    const struct decontaminate *given;
    struct ngrams ngrams;
    struct output *matches; /* for --matches */
};

/* Sets *text to the strings of the fields, joined by blanks. */
static int join_fields(struct entry *e, enum entry_format format, const char *fields,
                       struct buf *text)
{
    buf_clear(text);
    for (const char *field = fields;; field++) {
        size_t n = strcspn(field, ",");
        SCOPED_MEM char *name = mem_strndup(field, n);
        if (entry_parse(e, format, name) < 0)
            return -1;
        buf_addc(text, ' ');
        buf_add(text, e->document.text.data, e->document.text.len);
        field += n;
        if (!*field || format != ENTRY_JSONL)
            return 0;
    }
}

static int read_tests(struct run *r, struct entries *source, struct entry *e)
{
    SCOPED(ngram_words) words = { .word = BUF_INIT };
    SCOPED(buf) text = BUF_INIT;
    const struct ngrams *g = &r->ngrams;
    const size_t least = g->least < g->words ? g->least : g->words;
    int64_t added = 0, more;
    uint64_t missed = 0;
    int got;
    while ((got = entries_read(source, e)) > 0) {
        if (join_fields(e, source->format, r->given->fields, &text) < 0)
            return -1;
        set_words(&words, text.data, text.len);
        if ((more = add_runs(&r->ngrams, &words, e->number)) < 0)
            return -1;
        added += more;
        missed += !more;
    }
    if (missed && added) /* as in Chinese or Thai, whose words have no blanks between them */
        log_warn("texts of --against with fewer than %zu words between blanks are not searched: "
                 "%" PRIu64 " of %" PRIu64 "; --least N searches those of N words",
                 least, missed, e->number);
    return got || added ? got : err_set("--against has no text of %zu words or more", least);
}

static int open_tests(struct run *r)
{
    SCOPED_BY(entries_close) struct entries source = { 0 };
    SCOPED(entry) e;
    const struct opt_list *list = &r->given->against;
    entry_init(&e);
    return entries_open(&source, (char *const *)list->items, (int)list->count,
                        (enum entry_format)r->given->against_format, r->given->fields) < 0
               ? -1
               : read_tests(r, &source, &e);
}

/* ---- a document ------------------------------------------------------------------------------ */

struct tools {
    struct ngram_words words;
    struct buf left, lines; /* lines: of --matches */
};

static void tools_init(void *, void *tools)
{
    *(struct tools *)tools = (struct tools){ { .word = BUF_INIT }, BUF_INIT, BUF_INIT };
}

static void tools_release(void *tools)
{
    struct tools *t = tools;
    ngram_words_release(&t->words);
    buf_release(&t->left);
    buf_release(&t->lines);
}

static void report_match(struct buf *lines, const struct flow_item *item, size_t begin, size_t end,
                         uint64_t source)
{
    SCOPED(buf) valid = BUF_INIT;
    utf8_repair(&valid, item->entry.document.text.data + begin, end - begin);
    buf_addf(lines,
             "{\"document\": %" PRIu64 ", \"against\": %" PRIu64 ", \"text\": ", item->entry.number,
             source);
    js_quote(lines, valid.data, valid.len);
    buf_adds(lines, "}\n");
}

/* Returns the offset `chars` characters before text[at]. */
static size_t before(const struct buf *text, size_t at, int64_t chars)
{
    while (chars > 0 && at)
        chars -= ((unsigned char)text->data[--at] & 0xC0) != 0x80;
    return at;
}

/* Appends the piece text[begin..end) to `left` if it is long enough. */
static void keep_piece(const struct run *r, struct buf *left, const struct buf *text, size_t begin,
                       size_t end)
{
    struct span piece = whitespace_strip(text->data + begin, end > begin ? end - begin : 0);
    if (!piece.n || utf8_count(piece.s, piece.n) < (size_t)r->given->shortest)
        return;
    buf_adds(left, left->len ? "\n\n" : "");
    buf_add(left, piece.s, piece.n);
}

static int judge(void *ctx, void *tools, struct flow_item *item)
{
    const struct run *r = ctx;
    struct tools *t = tools;
    struct buf *text = &item->entry.document.text;
    size_t done = 0, words;
    uint64_t source;
    int64_t pieces = 0;
    buf_clear(&t->left);
    set_words(&t->words, text->data, text->len);
    for (size_t at = 0; find_run(&r->ngrams, &t->words, &at, &words, &source); at += words) {
        size_t begin = t->words.list[at].begin, end = t->words.list[at + words - 1].end;
        if (r->given->matches_path)
            report_match(&t->lines, item, begin, end, source);
        item->pieces++;
        size_t from = before(text, begin, r->given->margin);
        pieces += from > done;
        keep_piece(r, &t->left, text, done, from);
        done = end + utf8_offset(text->data + end, text->len - end, (size_t)r->given->margin);
    }
    if (!item->pieces)
        return 0;
    item->result = t->lines.len ? buf_detach(&t->lines) : NULL;
    pieces += done < text->len;
    keep_piece(r, &t->left, text, done, text->len);
    if (r->given->rule == RULE_DROP) {
        item->reason = REASON_FOUND;
    } else if (pieces > r->given->most_pieces) {
        item->reason = REASON_PIECES;
    } else if (!t->left.len) {
        item->reason = REASON_NOTHING_LEFT;
    } else {
        entry_change(&item->entry, t->left.data, t->left.len);
    }
    return 0;
}

static int settle(void *ctx, struct flow_item *item)
{
    struct run *r = ctx;
    return item->result ? output_write(r->matches, item->result, strlen(item->result)) : 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_flow(struct run *r, int argc, char **argv)
{
    struct flow flow = { .options = &r->given->flow,
                         .judge = judge,
                         .settle = r->given->matches_path ? settle : NULL,
                         .forget = free,
                         .ctx = r,
                         .tools_bytes = sizeof(struct tools),
                         .tools_init = tools_init,
                         .tools_release = tools_release,
                         .reasons = reasons,
                         .reason_count = REASONS,
                         .piece = "place(s) with words of tests",
                         .report_path = r->given->matches_path };
    r->matches = &flow.report;
    return flow_run(&flow, argc, argv);
}

static int run_decontaminate(int argc, char **argv, void *given_options)
{
    struct run r = { .given = given_options };
    const struct decontaminate *given = r.given;
    if (!given->against.count)
        return err_usage("--against is missing: give the files of a test");
    const char *other = given->rule == RULE_CUT ? NULL : tool_misplaced(0);
    if (other)
        return err_usage("--%s is for --rule cut", other);
    for (size_t i = 0; i < given->against.count; i++)
        for (int k = 0; k < argc + !argc; k++)
            if (!strcmp(given->against.items[i], "-") && (!argc || !strcmp(argv[k], "-")))
                return err_usage("standard input cannot be both test and corpus");
    r.ngrams.words = (size_t)given->ngram;
    r.ngrams.least = (size_t)given->least;
    firsts_init(&r.ngrams.firsts, given->memory_bytes, 0);
    const int result = open_tests(&r) < 0 || run_flow(&r, argc, argv) < 0 ? -1 : 0;
    firsts_release(&r.ngrams.firsts);
    return result;
}

const struct tool_command decontaminate_command = {
    .name = "decontaminate",
    .args = "[FILE...]",
    .summary = "Remove the texts of tests from documents.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_decontaminate,
};
