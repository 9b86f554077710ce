/* The command `tokenize stats`: how a vocabulary fits texts. */
#include "tokenizer/tokenize_commands.h"

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/program/tool.h"
#include "tokenizer/batch.h"
#include "tokenizer/id_rows.h"
#include "tokenizer/input/source.h"
#include "tokenizer/tokenizer.h"
#include "unicode/unicode.h"

struct counted {
    const char *vocabulary_path, *output_path;
    struct tokenizer_options vocabulary;
    struct source_options source;
    int special, from_tokens, from_ids;
};

static const struct counted defaults = { .output_path = "-" };

#define AT(member) offsetof(struct counted, member)
static const struct opt options[] = {
    { 0, "vocab", OPT_TEXT, AT(vocabulary_path), "PATH",
      "vocabulary: a file, or a folder that holds one" },
    { 'o', "output", OPT_TEXT, AT(output_path), "FILE", "output file; - is standard output" },
    { 0, "format", OPT_CHOICE, AT(source.format), SOURCE_FORMATS, SOURCE_FORMAT_HELP },
    { 0, "field", OPT_TEXT, AT(source.fields), "KEY[,KEY]", SOURCE_FIELD_HELP },
    { 0, "tokens", OPT_FLAG, AT(from_tokens), NULL, "the input is token streams, not text" },
    { 0, "ids", OPT_FLAG, AT(from_ids), NULL, "the input is lines of decimal ids, not text" },
    { 0, "special", OPT_FLAG, AT(special), NULL,
      "recognize special tokens, such as <|endoftext|>, in the text" },
    { 0, "pattern", OPT_CHOICE, AT(vocabulary.pattern), TOKENIZER_PATTERNS,
      "how text is split, for files that do not say it: ranks (.tiktoken), vocab.json" },
    { 0, "missing", OPT_CHOICE, AT(vocabulary.drop_missing), "error|drop",
      "bytes that the vocabulary lacks: fail, or drop them as Hugging Face does" },
    { 0, "rules", OPT_CHOICE, AT(vocabulary.google_rules), "hf|google",
      "WordPiece: follow Hugging Face's or Google's rules for splitting words" },
    { 0, "case", OPT_CHOICE, AT(vocabulary.letters), "auto|uncased|cased",
      "WordPiece: whether the vocabulary is lower case; auto: as its files say" },
    { 0 },
};

enum { LENGTHS = 40 }; /* classes of document lengths, by powers of two: 0, 1, 2-3, 4-7, ... */

struct stats {
    const struct counted *given;
    const struct tokenizer *t;
    struct source *source;
    struct idle encoders;
    uint64_t documents, bytes, characters, words, tokens, longest;
    uint64_t lengths[LENGTHS];
    uint64_t *uses; /* number of occurrences of each id */
};

static int stats_read(void *ctx, void *item)
{
    struct stats *s = ctx;
    return batch_read(item, s->source, NULL);
}

/* Encodes the documents of a batch into b->ids. Stores the end of each document's ids in
 * b->sentence_ends. Returns 0, or -1 with an error. */
static int stats_work(void *ctx, void *item)
{
    struct stats *s = ctx;
    struct batch *b = item;
    struct encoder *e = idle_encoder(&s->encoders, s->t);
    const uint64_t before = encoder_replaced(e);
    int result = 0;
    b->ids.count = b->sentence_ends.count = 0;
    for (size_t i = 0, at = 0; i < b->count && !result; at = b->ends[i++]) {
        result = encoder_encode(e, b->text.data + at, b->ends[i] - at,
                                s->given->special ? TOKENIZER_SPECIAL : TOKENIZER_ORDINARY,
                                &b->ids);
        if (result < 0)
            err_in("%s", b->files[i]);
        ids_add(&b->sentence_ends, (uint32_t)b->ids.count);
    }
    b->replaced += encoder_replaced(e) - before;
    idle_give(&s->encoders, e);
    return result;
}

/* Counts characters, and words, which are separated by white space. */
static void count_text(struct stats *s, const char *text, size_t n)
{
    const uint8_t *classes = unicode_classes();
    SCOPED(buf) repaired = BUF_INIT;
    int inside = 0;
    size_t len;
    if (utf8_valid(text, n) != n) {
        utf8_repair(&repaired, text, n);
        text = repaired.data;
        n = repaired.len;
    }
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)text + i, &len);
        int space = unicode_class(classes, c) == UNICODE_SPACE;
        s->characters++;
        s->words += !space && !inside;
        inside = !space;
    }
}

/* Counts a document of n bytes and its ids. */
static void count(struct stats *s, const char *text, size_t n, const uint32_t *ids, size_t tokens)
{
    const int bits = tokens ? 64 - __builtin_clzll(tokens) : 0;
    count_text(s, text, n);
    s->lengths[bits < LENGTHS ? bits : LENGTHS - 1]++;
    s->longest = tokens > s->longest ? tokens : s->longest;
    for (size_t i = 0; i < tokens; i++)
        s->uses[ids[i]]++;
    s->documents++;
    s->bytes += n;
    s->tokens += tokens;
    tool_count("document(s)", 1);
    tool_count("token(s)", tokens);
    progress_to(s->documents);
}

static int stats_write(void *ctx, void *item)
{
    struct stats *s = ctx;
    struct batch *b = item;
    for (size_t i = 0, at = 0, first = 0; i < b->count; first = b->sentence_ends.data[i++]) {
        count(s, b->text.data + at, b->ends[i] - at, b->ids.data + first,
              b->sentence_ends.data[i] - first);
        at = b->ends[i];
    }
    tool_count("byte(s)", b->text.len);
    if (b->replaced)
        tool_count("byte(s) replaced", b->replaced);
    return 0;
}

/* ---- ids, and the text that they decode to --------------------------------------------------- */

static int count_row(struct stats *s, const struct id_rows *rows, struct buf *text)
{
    buf_clear(text);
    if (tokenizer_decode(s->t, rows->ids, rows->count, 0, text) < 0)
        return id_rows_where(rows);
    count(s, text->data, text->len, rows->ids, rows->count);
    return 0;
}

static int count_rows(struct stats *s, const char *path)
{
    struct id_rows rows;
    SCOPED(buf) text = BUF_INIT;
    int got;
    if ((!strcmp(path, "-") && !s->given->from_ids && tool_binary_stdin() < 0) ||
        id_rows_open(&rows, path, s->given->from_ids, s->t) < 0)
        return -1;
    while ((got = id_rows_next(&rows)) > 0 && (got = count_row(s, &rows, &text)) == 0)
        ;
    id_rows_close(&rows);
    return got;
}

static int count_files(struct stats *s, int argc, char **argv)
{
    int result = argc ? 0 : count_rows(s, "-");
    for (int i = 0; i < argc && !result; i++)
        result = count_rows(s, argv[i]);
    return result;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void put_ratio(struct buf *out, const char *name, uint64_t a, uint64_t b)
{
    if (b)
        buf_addf(out, "%s=%.4f\n", name, (double)a / (double)b);
}

static void print(const struct stats *s, struct buf *out)
{
    int64_t unknown = tokenizer_role(s->t, TOKENIZER_UNKNOWN);
    uint64_t used = 0, unknowns = unknown < 0 ? 0 : s->uses[unknown];
    for (uint32_t id = 0; id < tokenizer_size(s->t); id++)
        used += s->uses[id] > 0;
    buf_addf(out,
             "documents=%" PRIu64 "\nbytes=%" PRIu64 "\ncharacters=%" PRIu64 "\nwords=%" PRIu64
             "\ntokens=%" PRIu64 "\n",
             s->documents, s->bytes, s->characters, s->words, s->tokens);
    put_ratio(out, "tokens_per_word", s->tokens, s->words);
    put_ratio(out, "bytes_per_token", s->bytes, s->tokens);
    put_ratio(out, "characters_per_token", s->characters, s->tokens);
    put_ratio(out, "tokens_per_document", s->tokens, s->documents);
    if (unknown >= 0) {
        buf_addf(out, "unknown=%" PRIu64 "\n", unknowns);
        put_ratio(out, "unknown_share", unknowns, s->tokens);
    }
    buf_addf(out, "vocabulary=%" PRIu32 "\nvocabulary_used=%" PRIu64 "\nlongest=%" PRIu64 "\n",
             tokenizer_size(s->t), used, s->longest);
    for (int i = 0; i < LENGTHS; i++) {
        uint64_t first = i ? (uint64_t)1 << (i - 1) : 0, last = i ? 2 * first - 1 : 0;
        if (s->lengths[i])
            buf_addf(out, "length_%" PRIu64 "-%" PRIu64 "=%" PRIu64 "\n", first, last,
                     s->lengths[i]);
    }
}

static int count_texts(struct stats *s, int argc, char **argv)
{
    struct pipeline p = { stats_read, stats_work, stats_write, s, NULL, 0, NULL };
    s->source = source_open(argv, argc, &s->given->source);
    idle_init(&s->encoders);
    int result = s->source ? batch_run(&p, (int)tool_threads) : -1;
    idle_release_encoders(&s->encoders);
    source_close(s->source);
    return result;
}

static int run(int argc, char **argv, void *options_given)
{
    struct counted *given = options_given;
    struct stats s = { .given = given };
    struct output out;
    SCOPED(buf) text = BUF_INIT;
    if (!given->vocabulary_path)
        return err_usage("--vocab is missing: name a vocabulary file, or a folder with one");
    if (given->from_tokens + given->from_ids +
            (given->special || tool_given("format") || tool_given("field")) >
        1)
        return err_usage(
            "--tokens and --ids cannot be used together, or with --format, --field or --special");
    given->source.output = given->output_path;
    if (tool_may_replace(given->output_path, NULL, NULL) < 0)
        return -1;
    SCOPED_TOKENIZER t = tokenizer_load_with(given->vocabulary_path, &given->vocabulary);
    if (!t || output_open(&out, given->output_path) < 0)
        return -1;
    s.t = t;
    SCOPED_MEM uint64_t *uses = s.uses = mem_zalloc((size_t)tokenizer_size(t) + 1, sizeof *uses);
    progress_begin("document(s)", 0);
    int result = (given->from_tokens || given->from_ids ? count_files : count_texts)(&s, argc,
                                                                                     argv);
    progress_end();
    print(&s, &text);
    return output_end(&out, result < 0 ? -1 : output_write(&out, text.data, text.len));
}

const struct tool_command stats_command = {
    .name = "stats",
    .args = "[FILE...]",
    .summary = "Say how a vocabulary fits text.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run,
};
