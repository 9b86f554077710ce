/* tokenize - text to token streams and back, and vocabularies from text. */

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/formats/stream.h"
#include "common/program/tool.h"
#include "tokenizer/batch.h"
#include "tokenizer/encode_document.h"
#include "tokenizer/id_rows.h"
#include "tokenizer/input/source.h"
#include "tokenizer/tokenize_commands.h"
#include "tokenizer/tokenizer.h"

/* The options of `tokenize` and of `tokenize decode`. */
struct tokenize {
    const char *vocabulary_path, *output_path;
    struct tokenizer_options vocabulary;
    struct source_options source;
    struct encode_options encode;
    int chat, as_ids, skip_special;
};

static const struct tokenize defaults = { .output_path = "-" };

/* Chooses the vocabulary if --vocab does not name one: that of $TEXTMILL_VOCAB, else ./vocab, else
 * bytes (NULL). Logs which. Returns 0, or -1 with an error. */
static int choose_vocabulary(const char **path)
{
    const char *named = getenv("TEXTMILL_VOCAB");
    if (*path)
        return 0;
    if (named && *named) {
        *path = named;
        log_info("vocabulary: '%s', as TEXTMILL_VOCAB says", named);
        return 0;
    }
    const int there = file_look("vocab");
    if (there < 0)
        return -1;
    *path = there ? "vocab" : NULL;
    log_info(
        *path
            ? "vocabulary: './vocab'; --vocab chooses another"
            : "vocabulary: 256 bytes and end-of-text, as there is no './vocab'; --vocab chooses another");
    return 0;
}

/* ---- tokenize -------------------------------------------------------------------------------- */

struct encoding {
    struct source *source;
    struct chat chat; /* if documents are conversations */
    struct encode_options how;
    struct output out;
    int sentences; /* whether documents have sentences; -1: no document was read yet */
    int begun;     /* the header has been written */
    uint64_t read, documents, bytes, replaced;
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

static int encoding_work(void *ctx, void *item)
{
    struct encoding *c = ctx;
    struct batch *b = item;
    struct encoder *e = idle_encoder(&c->encoders, c->how.t);
    int result = 0;
    buf_clear(&b->out);
    b->tokens = 0;
    for (size_t i = 0, at = 0; i < b->count && !result; at = b->ends[i++]) {
        result = encode_document(&c->how, e, b, b->first + i, b->text.data + at, b->ends[i] - at);
        if (result < 0)
            err_in("%s", b->files[i]);
    }
    idle_give(&c->encoders, e);
    return result;
}

static int write_header(struct encoding *c)
{
    static const char *const roles[TOKENIZER_ROLES] = { "pad", "unk", "cls", "sep", "mask" };
    SCOPED(kv) header = KV_INIT;
    SCOPED(buf) tokenizer = BUF_INIT;
    if (c->begun++ || c->how.as_ids)
        return 0;
    kv_add(&header, "dtype", c->how.width == 2 ? "u16" : "u32");
    kv_addf(&header, "vocabulary", "%" PRIu32, tokenizer_size(c->how.t));
    kv_addf(&header, "checksum", "%016" PRIx64, tokenizer_checksum(c->how.t));
    const int64_t end = c->how.chat ? c->chat.end_of_text : tokenizer_end_of_text(c->how.t);
    if (end >= 0)
        kv_addf(&header, "end_of_text", "%" PRId64, end);
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        if (tokenizer_role(c->how.t, (enum tokenizer_role)i) >= 0)
            kv_addf(&header, roles[i], "%" PRId64,
                    tokenizer_role(c->how.t, (enum tokenizer_role)i));
    kv_addf(&header, "sentences", "%d", c->sentences > 0);
    if (c->how.chat)
        kv_add(&header, "spans", "1");
    kv_add(&header, "pg", tool_provenance());
    tokenizer_print(c->how.t, &tokenizer);
    return stream_begin(&c->out, &header, &tokenizer);
}

/* Warns if the text spells the end-of-text token, as files do that have several texts in one, and
 * it is not read as the token, as Unigram reads it. */
static void look_for_marks(struct encoding *c, const struct buf *text)
{
    SCOPED(ids) ids = { 0 };
    size_t n = 0;
    const int64_t id = tokenizer_end_of_text(c->how.t);
    const char *name = id < 0 ? NULL : tokenizer_token(c->how.t, (uint32_t)id, &n);
    if (!name || !bytes_find(text->data, text->data + text->len, name, n))
        return;
    struct encoder *e = idle_encoder(&c->encoders, c->how.t);
    int read = encoder_encode(e, name, n, TOKENIZER_ORDINARY, &ids) < 0;
    for (size_t i = 0; i < ids.count; i++)
        read |= ids.data[i] == id;
    idle_give(&c->encoders, e);
    if (!read)
        log_warn("the text spells %.*s, which is ordinary text; --special reads it as the token",
                 (int)n, name);
}

static int encoding_write(void *ctx, void *item)
{
    struct encoding *c = ctx;
    struct batch *b = item;
    if (write_header(c) < 0)
        return -1;
    if (!c->documents && !c->how.special && !c->how.chat) /* a look at the first texts is enough */
        look_for_marks(c, &b->text);
    c->documents += b->count;
    c->bytes += b->text.len;
    c->replaced += b->replaced;
    tool_count("document(s)", b->count);
    tool_count("token(s)", b->tokens);
    tool_count("byte(s)", b->text.len);
    if (b->replaced)
        tool_count("byte(s) replaced", b->replaced);
    progress_to(c->documents);
    return output_write(&c->out, b->out.data, b->out.len);
}

static int encode_all(struct encoding *c)
{
    struct pipeline p = { encoding_read, encoding_work, encoding_write, c, NULL, 0, NULL };
    progress_begin("document(s)", 0);
    tool_count("document(s)", 0); /* said even if there is none */
    if (batch_run(&p, (int)tool_threads) < 0 || write_header(c) < 0)
        return -1;
    progress_end();
    if (mend_check(c->how.mend, c->replaced, c->bytes) < 0) /* a few in each of many documents */
        log_warn("the input: %s", err_get());
    const struct source_counts *n = source_counts(c->source);
    if (n->returns)
        log_warn("%" PRIu64 " of the lines ended with CR LF: the CR was removed with the line end",
                 n->returns);
    if (n->empty)
        log_warn(
            "records of tables or JSON lines that have no text, and so are empty documents: %" PRIu64,
            n->empty);
    return c->how.as_ids ? 0 : stream_end(&c->out, c->documents);
}

static int run_tokenize(int argc, char **argv, void *options)
{
    const struct tokenize *given = options;
    struct encoding c = { .sentences = -1 };
    const char *vocabulary = given->vocabulary_path;
    if (given->encode.wrap && !given->as_ids)
        return err_usage("--wrap needs --ids: a token stream has no special tokens");
    if (given->encode.offsets && !given->as_ids)
        return err_usage("--offsets needs --ids: a token stream has no offsets");
    static const char *const unused[] = { "format", "field", "special", "wrap", "offsets" };
    for (size_t i = 0; i < sizeof unused / sizeof *unused && given->chat; i++)
        if (tool_given(unused[i]))
            return err_usage("--%s cannot be used with --chat", unused[i]);
    if (!strcmp(given->output_path, "-") && !given->as_ids && tool_binary_stdout() < 0)
        return -1;
    if (tool_may_replace(given->output_path, NULL, NULL) < 0 || choose_vocabulary(&vocabulary) < 0)
        return -1;
    struct source_options source = given->source;
    source.output = given->output_path;
    source.objects = given->chat != CHAT_NONE;
    if (source.objects)
        source.format = SOURCE_LINES;
    SCOPED_TOKENIZER t = tokenizer_load_with(vocabulary, &given->vocabulary);
    if (!t)
        return -1;
    int result = given->chat && chat_open(&c.chat, given->chat, t, vocabulary) < 0 ? -1 : 0;
    if (result < 0)
        err_in("--chat");
    else if (given->chat == CHAT_AUTO)
        log_info("conversations are written as '%s'", c.chat.name);
    c.how = given->encode;
    c.how.t = t;
    c.how.chat = given->chat ? &c.chat : NULL;
    c.how.width = tokenizer_size(t) <= 1 << 16 ? 2 : 4;
    c.how.as_ids = given->as_ids;
    c.how.mend = source.mend;
    idle_init(&c.encoders);
    c.source = result ? NULL : source_open(argv, argc, &source);
    result = c.source ? output_open(&c.out, given->output_path) : -1;
    if (!result)
        result = output_end(&c.out, encode_all(&c));
    idle_release_encoders(&c.encoders);
    source_close(c.source);
    chat_close(&c.chat);
    return result;
}

/* ---- tokenize decode ------------------------------------------------------------------------- */

static int write_text(const struct tokenize *given, struct output *out, const struct tokenizer *t,
                      const uint32_t *ids, size_t n, struct buf *text)
{
    buf_clear(text);
    if (tokenizer_decode(t, ids, n, given->skip_special, text) < 0)
        return -1;
    buf_addc(text, '\n');
    tool_count("document(s)", 1);
    tool_count("token(s)", n);
    return output_write(out, text->data, text->len);
}

static int run_decode(int argc, char **argv, void *options)
{
    const struct tokenize *given = options;
    const char *path = argc ? argv[0] : "-";
    SCOPED(buf) text = BUF_INIT;
    struct id_rows rows;
    struct output out;
    const char *vocabulary = given->vocabulary_path;
    if ((!strcmp(path, "-") && !given->as_ids && tool_binary_stdin() < 0) ||
        tool_may_replace(given->output_path, NULL, NULL) < 0 || choose_vocabulary(&vocabulary) < 0)
        return -1;
    SCOPED_TOKENIZER t = tokenizer_load_with(vocabulary, &given->vocabulary);
    if (!t || id_rows_open(&rows, path, given->as_ids, t) < 0)
        return -1;
    int got = output_open(&out, given->output_path);
    if (!got) {
        while ((got = id_rows_next(&rows)) > 0 &&
               write_text(given, &out, t, rows.ids, rows.count, &text) == 0)
            ;
        got = output_end(&out, got > 0 ? id_rows_where(&rows) : got);
    }
    id_rows_close(&rows);
    return got;
}

/* ---- main ------------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct tokenize, member)
static const struct opt tokenize_options[] = {
    { 0, "vocab", OPT_TEXT, AT(vocabulary_path), "PATH",
      "vocabulary: a file, or a folder that holds one; default: $TEXTMILL_VOCAB, ./vocab, or "
      "else bytes" },
    { 'o', "output", OPT_TEXT, AT(output_path), "FILE", "output file; - is standard output" },
    { 0, "format", OPT_CHOICE, AT(source.format), SOURCE_FORMATS, SOURCE_FORMAT_HELP },
    { 0, "field", OPT_TEXT, AT(source.fields), "KEY[,KEY]", SOURCE_FIELD_HELP },
    { 0, "chat", OPT_CHOICE, AT(chat), CHAT_FORMS,
      "each line is JSON with \"messages\", or \"prompt\" and \"answer\": write it in this form, and "
      "mark what the assistant says as the only labels" },
    { 0, "special", OPT_FLAG, AT(encode.special), NULL,
      "recognize special tokens, such as <|endoftext|>, in the text" },
    { 0, "invalid", OPT_CHOICE, AT(source.mend), MEND_RULES,
      "bytes that are not UTF-8: replace a few and fail on many, replace all, or fail" },
    { 0, "pattern", OPT_CHOICE, AT(vocabulary.pattern), TOKENIZER_PATTERNS,
      "how text is split, for files that do not say it: ranks (.tiktoken), vocab.json" },
    { 0, "missing", OPT_CHOICE, AT(vocabulary.drop_missing), "error|drop",
      "bytes that the vocabulary lacks: fail, or drop them as Hugging Face does" },
    { 0, "rules", OPT_CHOICE, AT(vocabulary.google_rules), "hf|google",
      "WordPiece: follow Hugging Face's or Google's rules for splitting words" },
    { 0, "case", OPT_CHOICE, AT(vocabulary.letters), "auto|uncased|cased",
      "WordPiece: whether the vocabulary is lower case; auto: as its files say" },
    { 0, "wrap", OPT_FLAG, AT(encode.wrap), NULL,
      "with --ids: put special tokens, such as [CLS] and [SEP], around each document" },
    { 0, "ids", OPT_FLAG, AT(as_ids), NULL, "write decimal ids, one line per document" },
    { 0, "offsets", OPT_CHOICE, AT(encode.offsets), ENCODE_OFFSETS,
      "with --ids: write JSON lines with ids and where in the text each token is" },
    { 0 },
};

static const struct opt decode_options[] = {
    { 0, "vocab", OPT_TEXT, AT(vocabulary_path), "PATH",
      "vocabulary: a file, or a folder that holds one; default: $TEXTMILL_VOCAB, ./vocab, or "
      "else bytes" },
    { 'o', "output", OPT_TEXT, AT(output_path), "FILE", "output file; - is standard output" },
    { 0, "pattern", OPT_CHOICE, AT(vocabulary.pattern), TOKENIZER_PATTERNS,
      "how text is split, for files that do not say it: ranks (.tiktoken), vocab.json" },
    { 0, "skip-special", OPT_FLAG, AT(skip_special), NULL, "leave out special tokens" },
    { 0, "ids", OPT_FLAG, AT(as_ids), NULL, "read lines of decimal ids instead of a token stream" },
    { 0 },
};

static const struct tool_command tokenize = {
    .args = "[FILE...]",
    .summary = "Turn documents into a stream of token ids.",
    TOOL_OPTIONS(tokenize_options, defaults),
    .common = TOOL_FILE_OPERAND | TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_tokenize,
};

static const struct tool_command decode = {
    .name = "decode",
    .args = "[FILE]",
    .summary = "Turn a stream of token ids into text, a line end after each document.",
    TOOL_OPTIONS(decode_options, defaults),
    .common = TOOL_FORCE,
    .run = run_decode,
};

static const struct tool_command *const commands[] = {
    &tokenize, &learn_command, &count_command, &stats_command, &decode, NULL,
};

static const struct tool tool = {
    .name = "tokenize",
    .examples = "  tokenize train -o vocab/ --vocab-size 8000 texts/\n"
                "  wikiprep dump.xml.bz2 | tokenize --vocab vocab/ | tfwrite -o shards/\n"
                "  echo 'The Moon.' | tokenize --vocab vocab/ --ids\n",
    .commands = commands,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
