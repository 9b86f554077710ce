/* tokenize - text to token streams and back, and vocabularies from text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/log.h"
#include "common/stream.h"
#include "common/tool.h"
#include "common/utf8.h"
#include "tokenizer/batch.h"
#include "tokenizer/id_rows.h"
#include "tokenizer/input/source.h"
#include "tokenizer/learn_command.h"
#include "tokenizer/stats_command.h"
#include "tokenizer/tokenizer.h"
#include "unicode/unicode.h"

static const char *vocabulary_path, *output_path = "-", *fields;
static int format, special, pattern, as_ids, wrap, rules, letters, mend, missing;

/* ---- tokenize --------------------------------------------------------------------------------- */

struct encoding {
    struct source *source;
    struct tokenizer *t;
    struct output out;
    struct stream_writer writer;
    int sentences; /* -1: no document yet */
    int begun;     /* the header is written */
    int width;
    uint64_t read, documents;
    struct idle encoders;
};

static int encoding_read(void *ctx, void *item)
{
    struct encoding *c = ctx;
    struct batch *b = item;
    int got = batch_read(b, c->source, &c->sentences);
    b->first = c->read + 1;
    c->read += b->count;
    return got;
}

/* Where sentences end: behind the first token that reaches past the line end, or line ends, behind
 * a sentence. The tokens' bytes are those of the text, but for a space in front of it. */
static int find_sentences(const struct tokenizer *t, struct batch *b, const char *text, size_t n)
{
    size_t reached = 0, all = 0, token = 0, len;
    for (size_t i = 0; i < b->ids.count; i++)
        if (tokenizer_token(t, b->ids.data[i], &len))
            all += len;
    if (all < n || all > n + 1)
        return err_set(
            "cannot find the ends of sentences: bytes were dropped, or a special token removes spaces");
    b->sentence_ends.count = 0;
    for (size_t at = 0; at < n;) {
        const char *lf = memchr(text + at, '\n', n - at);
        at = lf ? (size_t)(lf - text) : n;
        while (at < n && text[at] == '\n')
            at++;
        for (; token < b->ids.count && reached < at + (all - n); token++)
            if (tokenizer_token(t, b->ids.data[token], &len))
                reached += len;
        ids_add(&b->sentence_ends, (uint32_t)token);
    }
    return 0;
}

/* With WordPiece no token crosses a line end, so each line is encoded by itself. A sentence without
 * any token is none, as in the reference's instances. */
static int encode_lines(struct encoder *e, struct batch *b, const char *text, size_t n)
{
    for (size_t at = 0, next; at < n; at = next) {
        const char *lf = memchr(text + at, '\n', n - at);
        size_t len = lf ? (size_t)(lf - text) - at : n - at, before = b->ids.count;
        next = at + len + 1;
        if (encoder_encode(e, text + at, len, special ? TOKENIZER_SPECIAL : TOKENIZER_ORDINARY,
                           &b->ids) < 0)
            return -1;
        if (b->ids.count > before)
            ids_add(&b->sentence_ends, (uint32_t)b->ids.count);
    }
    return 0;
}

static void print_ids(struct batch *b, const struct ids *ids)
{
    char digits[12];
    for (size_t i = 0; i < ids->count; i++) {
        int n = snprintf(digits, sizeof digits, i ? " %" PRIu32 : "%" PRIu32, ids->data[i]);
        buf_add(&b->out, digits, (size_t)n);
    }
    buf_addc(&b->out, '\n');
}

static int encode_document(struct encoding *c, struct encoder *e, struct batch *b, uint64_t number,
                           const char *text, size_t n)
{
    int by_line = b->sentences && !as_ids && !tokenizer_tiles(c->t);
    b->ids.count = b->sentence_ends.count = 0;
    if (b->sentences && !as_ids && !by_line) {
        buf_clear(&b->repaired);
        b->replaced += encoder_repair(&b->repaired, text, n);
        text = b->repaired.data;
        n = b->repaired.len;
    }
    if (by_line ? encode_lines(e, b, text, n) < 0
                : encoder_encode(e, text, n, special ? TOKENIZER_SPECIAL : TOKENIZER_ORDINARY,
                                 &b->ids) < 0)
        return -1;
    b->tokens += b->ids.count;
    if (as_ids) {
        b->wrapped.count = b->types.count = 0;
        if (wrap)
            tokenizer_assemble(c->t, &b->ids, NULL, &b->wrapped, &b->types);
        print_ids(b, wrap ? &b->wrapped : &b->ids);
        return 0;
    }
    if (b->sentences && !by_line && find_sentences(c->t, b, text, n) < 0)
        return -1;
    return stream_frame(&b->out, number, c->width, b->ids.data, b->ids.count, b->sentence_ends.data,
                        b->sentence_ends.count);
}

/* --invalid error: refuses what is not UTF-8, and says where it is. */
static int check_text(const char *text, size_t n, uint64_t number)
{
    size_t good = mend == MEND_NONE ? utf8_valid(text, n) : n;
    return good == n ? 0
                     : err_set("document %" PRIu64 ": byte %zu of its text is not UTF-8 (0x%02X)",
                               number, good, (unsigned char)text[good]);
}

/* A document: checked, encoded, and checked for how much of it was replaced. */
static int work_document(struct encoding *c, struct encoder *e, struct batch *b, uint64_t number,
                         const char *text, size_t n)
{
    uint64_t before = encoder_replaced(e), repaired = b->replaced;
    if (check_text(text, n, number) < 0 || encode_document(c, e, b, number, text, n) < 0)
        return -1;
    b->replaced += encoder_replaced(e) - before;
    if (mend_check((enum mend_rule)mend, b->replaced - repaired, n) < 0)
        return err_in("document %" PRIu64, number);
    return 0;
}

static int encoding_work(void *ctx, void *item)
{
    struct encoding *c = ctx;
    struct batch *b = item;
    struct encoder *e = idle_take(&c->encoders);
    int result = 0;
    if (!e)
        e = encoder_new(c->t);
    buf_clear(&b->out);
    b->tokens = 0;
    for (size_t i = 0, at = 0; i < b->count && !result; at = b->ends[i++]) {
        result = work_document(c, e, b, b->first + i, b->text.data + at, b->ends[i] - at);
    }
    idle_give(&c->encoders, e);
    return result;
}

static int write_header(struct encoding *c)
{
    static const char *const roles[TOKENIZER_ROLES] = { "pad", "unk", "cls", "sep", "mask" };
    struct kv header = KV_INIT;
    struct buf tokenizer = BUF_INIT;
    if (c->begun++ || as_ids)
        return 0;
    kv_add(&header, "dtype", c->width == 2 ? "u16" : "u32");
    kv_addf(&header, "vocabulary", "%" PRIu32, tokenizer_size(c->t));
    kv_addf(&header, "checksum", "%016" PRIx64, tokenizer_checksum(c->t));
    if (tokenizer_end_of_text(c->t) >= 0)
        kv_addf(&header, "end_of_text", "%" PRId64, tokenizer_end_of_text(c->t));
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        if (tokenizer_role(c->t, (enum tokenizer_role)i) >= 0)
            kv_addf(&header, roles[i], "%" PRId64, tokenizer_role(c->t, (enum tokenizer_role)i));
    kv_addf(&header, "sentences", "%d", c->sentences > 0);
    kv_add(&header, "pg", tool_provenance());
    tokenizer_print(c->t, &tokenizer);
    int result = stream_begin(&c->writer, &c->out, &header, &tokenizer);
    kv_release(&header);
    buf_release(&tokenizer);
    return result;
}

static int encoding_write(void *ctx, void *item)
{
    struct encoding *c = ctx;
    struct batch *b = item;
    if (write_header(c) < 0)
        return -1;
    c->documents += b->count;
    tool_count("documents", b->count);
    tool_count("tokens", b->tokens);
    tool_count("bytes", b->text.len);
    if (b->replaced)
        tool_count("bytes replaced", b->replaced);
    progress_to(c->documents);
    return output_write(&c->out, b->out.data, b->out.len);
}

static int encode_all(struct encoding *c)
{
    struct pipeline p = { encoding_read, encoding_work, encoding_write, c, NULL, 0, NULL };
    progress_begin("documents", 0);
    if (batch_run(&p, (int)tool_threads) < 0 || write_header(c) < 0)
        return -1;
    progress_end();
    if (source_returns(c->source))
        log_warn("%" PRIu64 " of the lines ended with CR LF: the CR was removed with the line end",
                 source_returns(c->source));
    return as_ids ? 0 : stream_end(&c->writer, c->documents);
}

static void free_encoder(void *e)
{
    encoder_free(e);
}

static int run_tokenize(int argc, char **argv)
{
    struct encoding c = { .sentences = -1 };
    if (!vocabulary_path)
        return err_usage("--vocab is missing: name a vocabulary file, or a folder with one");
    if (wrap && !as_ids)
        return err_usage("--wrap needs --ids: a token stream has no special tokens");
    if (!strcmp(output_path, "-") && !as_ids && tool_binary_stdout() < 0)
        return -1;
    if (tool_may_replace(output_path, NULL, NULL) < 0)
        return -1;
    struct tokenizer_options how = { .google_rules = rules,
                                     .letters = (unsigned)letters,
                                     .drop_missing = missing,
                                     .pattern = (enum tokenizer_pattern)pattern };
    const struct source_options source = { .format = (enum source_format)format,
                                           .fields = fields,
                                           .mend = (enum mend_rule)mend };
    if (!(c.t = tokenizer_load_with(vocabulary_path, &how)))
        return -1;
    c.width = tokenizer_size(c.t) <= 1 << 16 ? 2 : 4;
    idle_init(&c.encoders);
    c.source = source_open(argv, argc, &source);
    int result = c.source ? output_open(&c.out, output_path) : -1;
    if (!result) {
        result = encode_all(&c);
        if (result < 0)
            output_abandon(&c.out);
        else
            result = output_close(&c.out);
    }
    idle_release(&c.encoders, free_encoder);
    stream_writer_release(&c.writer);
    source_close(c.source);
    tokenizer_free(c.t);
    return result;
}

/* ---- tokenize decode -------------------------------------------------------------------------- */

static int skip_special;

static int write_text(struct output *out, const struct tokenizer *t, const uint32_t *ids, size_t n,
                      struct buf *text)
{
    buf_clear(text);
    if ((skip_special ? tokenizer_decode_text : tokenizer_decode)(t, ids, n, text) < 0)
        return -1;
    buf_addc(text, '\n');
    tool_count("documents", 1);
    tool_count("tokens", n);
    return output_write(out, text->data, text->len);
}

static int decode_rows(struct id_rows *rows, struct output *out, const struct tokenizer *t)
{
    struct buf text = BUF_INIT;
    int got;
    while ((got = id_rows_next(rows)) > 0)
        if (write_text(out, t, rows->ids, rows->count, &text) < 0) {
            got = id_rows_where(rows);
            break;
        }
    buf_release(&text);
    return got;
}

static int run_decode(int argc, char **argv)
{
    const char *path = argc ? argv[0] : "-";
    struct id_rows rows;
    struct output out;
    if (!vocabulary_path)
        return err_usage("--vocab is missing: name a vocabulary file, or a folder with one");
    if ((!strcmp(path, "-") && !as_ids && tool_binary_stdin() < 0) ||
        tool_may_replace(output_path, NULL, NULL) < 0)
        return -1;
    struct tokenizer_options how = { .pattern = (enum tokenizer_pattern)pattern };
    struct tokenizer *t = tokenizer_load_with(vocabulary_path, &how);
    if (!t || id_rows_open(&rows, path, as_ids, t) < 0) {
        tokenizer_free(t);
        return -1;
    }
    int result = output_open(&out, output_path);
    if (!result) {
        result = decode_rows(&rows, &out, t);
        if (result < 0)
            output_abandon(&out);
        else
            result = output_close(&out);
    }
    id_rows_close(&rows);
    tokenizer_free(t);
    return result;
}

/* ---- main --------------------------------------------------------------------------------------- */

static const struct opt tokenize_options[] = {
    { 0, "vocab", OPT_TEXT, &vocabulary_path, "PATH",
      "vocabulary: a file, or a folder that holds one", 0, 0 },
    { 'o', "output", OPT_TEXT, &output_path, "FILE", "output file; - is standard output", 0, 0 },
    { 0, "format", OPT_CHOICE, &format, SOURCE_FORMATS,
      "format of the input; auto detects documents, JSON lines or "
      "plain text",
      0, 0 },
    { 0, "field", OPT_TEXT, &fields, "KEY[,KEY]",
      "JSON lines: the strings that are a document; outer.inner names an inner one", 0, 0 },
    { 0, "special", OPT_FLAG, &special, NULL,
      "recognize special tokens, such as <|endoftext|>, in the text", 0, 0 },
    { 0, "invalid", OPT_CHOICE, &mend, MEND_RULES,
      "bytes that are not UTF-8: replace a few and fail on many, replace all, or fail", 0, 0 },
    { 0, "pattern", OPT_CHOICE, &pattern, TOKENIZER_PATTERNS,
      "how the encoding of a .tiktoken file splits text", 0, 0 },
    { 0, "missing", OPT_CHOICE, &missing, "error|drop",
      "bytes that the vocabulary lacks: fail, or drop them as Hugging Face does", 0, 0 },
    { 0, "rules", OPT_CHOICE, &rules, "hf|google",
      "WordPiece: follow Hugging Face's or Google's rules for "
      "splitting words",
      0, 0 },
    { 0, "case", OPT_CHOICE, &letters, "auto|uncased|cased",
      "WordPiece: whether the vocabulary is lower case; auto: as its "
      "files say",
      0, 0 },
    { 0, "wrap", OPT_FLAG, &wrap, NULL, "with --ids: put [CLS] and [SEP] around each document", 0,
      0 },
    { 0, "ids", OPT_FLAG, &as_ids, NULL, "write decimal ids, one line per document", 0, 0 },
    { 0 },
};

static const struct opt decode_options[] = {
    { 0, "vocab", OPT_TEXT, &vocabulary_path, "PATH",
      "vocabulary: a file, or a folder that holds one", 0, 0 },
    { 'o', "output", OPT_TEXT, &output_path, "FILE", "output file; - is standard output", 0, 0 },
    { 0, "pattern", OPT_CHOICE, &pattern, TOKENIZER_PATTERNS,
      "how the encoding of a .tiktoken file splits text", 0, 0 },
    { 0, "skip-special", OPT_FLAG, &skip_special, NULL, "leave out special tokens", 0, 0 },
    { 0, "ids", OPT_FLAG, &as_ids, NULL, "read lines of decimal ids instead of a token stream", 0,
      0 },
    { 0 },
};

static const struct tool_command commands[] = {
    { NULL, "[FILE...]", "Turn documents into a stream of token ids.", tokenize_options,
      TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE, 0, -1, run_tokenize },
    { "train", "[FILE...]", "Learn a vocabulary from text.", learn_command_options,
      TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE, 0, -1, learn_command },
    { "stats", "[FILE...]", "Say how a vocabulary fits text.", stats_command_options,
      TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE, 0, -1, stats_command },
    { "decode", "[FILE]", "Turn a stream of token ids into text, a line end after each document.",
      decode_options, TOOL_FORCE, 0, 1, run_decode },
    { 0 },
};

/* Options of other programs. */
static const char *foreign(const char *option)
{
    static const struct opt_foreign table[] = {
        { "vocab-file", "give --vocab" },
        { "model", "give --vocab" },
        { "do-lower-case", "give --case uncased" },
        { "input-file", "the files are operands" },
        { "input-files", "the files are operands" },
        { "output-file", "give --output" },
        { 0 },
    };
    return opt_foreign(table, option);
}

static const struct tool tool = {
    .foreign = foreign,
    .name = "tokenize",
    .examples = "  wikiprep dump.xml.bz2 | tokenize --vocab gpt2/ | tfwrite -o shards/\n"
                "  tokenize train -o vocab/ --vocab-size 8000 texts/\n"
                "  echo 'The Moon.' | tokenize --vocab vocab/ --ids\n",
    .commands = commands,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
