/* tokenize - text to token streams and back, and vocabularies from text. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/pool.h"
#include "common/stream.h"
#include "common/tool.h"
#include "tokenizer/learn.h"
#include "tokenizer/regex.h"
#include "tokenizer/source.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"
#include "tokenizer/vocabulary.h"

#define FORMATS "auto|documents|jsonl|text|lines|sentences"

static const char *vocabulary_path, *output_path = "-";
static int format, special, as_ids, wrap, rules, letters, refuse_invalid;

/* What goes through a pipeline at once: some documents, and what becomes of them. */
enum { BATCH_BYTES = 256 << 10, BATCH_DOCUMENTS = 4096 };

struct batch {
    struct buf text;
    size_t *ends; /* document i is text[ends[i - 1]..ends[i]) */
    size_t count, ends_cap;
    uint64_t first; /* document's number in the run, from 1 */
    int sentences;
    struct buf out;
    uint64_t tokens;
    struct ids ids, wrapped, types, sentence_ends;
    struct buf repaired;
};

static void batch_free(struct batch *b)
{
    buf_release(&b->text);
    buf_release(&b->out);
    buf_release(&b->repaired);
    ids_release(&b->ids);
    ids_release(&b->wrapped);
    ids_release(&b->types);
    ids_release(&b->sentence_ends);
    free(b->ends);
    free(b);
}

static struct batch *batch_new(void)
{
    struct batch *b = mem_zalloc(1, sizeof *b);
    buf_init(&b->text);
    buf_init(&b->out);
    buf_init(&b->repaired);
    return b;
}

/* Fills a batch: 1, 0 at the end, -1. Documents with and without sentences do not mix. */
static int batch_read(struct batch *b, struct source *source, int *sentences_so_far)
{
    buf_clear(&b->text);
    b->count = 0;
    while (b->text.len < BATCH_BYTES && b->count < BATCH_DOCUMENTS) {
        int sentences, got = source_read(source, &b->text, &sentences);
        if (got < 0)
            return -1;
        if (!got)
            break;
        if (*sentences_so_far >= 0 && sentences != *sentences_so_far)
            return err_set("documents with sentences=%d follow documents with sentences=%d",
                           sentences, *sentences_so_far);
        *sentences_so_far = b->sentences = sentences;
        mem_grow(b->ends, b->ends_cap, b->count + 1);
        b->ends[b->count++] = b->text.len;
    }
    return b->count > 0;
}

/* Runs `p`, which lacks its items, with batches for items. */
static int run_batches(struct pipeline *p)
{
    int threads = (int)tool_threads;
    p->item_count = threads > 1 ? 3 * threads : 1;
    p->items = mem_zalloc((size_t)p->item_count, sizeof *p->items);
    for (int i = 0; i < p->item_count; i++)
        p->items[i] = batch_new();
    int result = pipeline_run(p, threads);
    for (int i = 0; i < p->item_count; i++)
        batch_free(p->items[i]);
    free(p->items);
    return result;
}

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
    pthread_mutex_t lock;
    struct encoder **idle; /* encoders that no thread uses: the last used is taken first */
    int idle_count;
};

static struct encoder *take_encoder(struct encoding *c)
{
    pthread_mutex_lock(&c->lock);
    struct encoder *e = c->idle_count ? c->idle[--c->idle_count] : NULL;
    pthread_mutex_unlock(&c->lock);
    return e ? e : encoder_new(c->t);
}

static void give_encoder(struct encoding *c, struct encoder *e)
{
    pthread_mutex_lock(&c->lock);
    c->idle[c->idle_count++] = e;
    pthread_mutex_unlock(&c->lock);
}

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
        return err_set("cannot place the ends of sentences: a special token swallows space");
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

static int encode_document(struct encoding *c, struct encoder *e, struct batch *b,
                           const char *text, size_t n)
{
    int by_line = b->sentences && !as_ids && tokenizer_is_wordpiece(c->t);
    b->ids.count = b->sentence_ends.count = 0;
    if (b->sentences && !as_ids && !by_line) {
        buf_clear(&b->repaired);
        encoder_repair(&b->repaired, text, n);
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
    return stream_frame(&b->out, c->width, b->ids.data, b->ids.count, b->sentence_ends.data,
                        b->sentence_ends.count);
}

/* --invalid error: refuses what is not UTF-8. */
static int check_text(const char *text, size_t n, uint64_t number)
{
    size_t good = refuse_invalid ? utf8_valid(text, n) : n;
    return good == n ? 0
                     : err_set("document %" PRIu64 ": byte %zu of its text is not UTF-8 (0x%02X)",
                               number, good, (unsigned char)text[good]);
}

static int encoding_work(void *ctx, void *item)
{
    struct encoding *c = ctx;
    struct batch *b = item;
    struct encoder *e = take_encoder(c);
    int result = 0;
    buf_clear(&b->out);
    b->tokens = 0;
    for (size_t i = 0, at = 0; i < b->count && !result; at = b->ends[i++]) {
        result = check_text(b->text.data + at, b->ends[i] - at, b->first + i);
        if (!result)
            result = encode_document(c, e, b, b->text.data + at, b->ends[i] - at);
    }
    give_encoder(c, e);
    return result;
}

static int write_header(struct encoding *c)
{
    static const char *const roles[TOKENIZER_ROLES] = { "pad", "unk", "cls", "sep", "mask" };
    struct kv header = KV_INIT;
    if (c->begun++ || as_ids)
        return 0;
    kv_add(&header, "textmill", "tokens 1");
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
    int result = stream_begin(&c->writer, &c->out, &header);
    kv_release(&header);
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
    progress_to(c->documents);
    return output_write(&c->out, b->out.data, b->out.len);
}

static int encode_all(struct encoding *c)
{
    struct pipeline p = { encoding_read, encoding_work, encoding_write, c, NULL, 0 };
    progress_begin("documents", 0);
    if (run_batches(&p) < 0 || write_header(c) < 0)
        return -1;
    progress_end();
    return as_ids ? 0 : stream_end(&c->writer);
}

static int run_tokenize(int argc, char **argv)
{
    struct encoding c = { .sentences = -1 };
    if (!vocabulary_path)
        return err_usage("--vocab is wanted: a vocabulary file, or a folder with one");
    if (wrap && !as_ids)
        return err_usage("--wrap goes with --ids: a token stream has no special tokens");
    if (!strcmp(output_path, "-") && !as_ids && tool_binary_stdout() < 0)
        return -1;
    struct tokenizer_options how = { .google_rules = rules, .letters = (unsigned)letters };
    if (!(c.t = tokenizer_load_with(vocabulary_path, &how)))
        return -1;
    c.width = tokenizer_size(c.t) <= 1 << 16 ? 2 : 4;
    c.idle = mem_zalloc((size_t)tool_threads, sizeof *c.idle);
    pthread_mutex_init(&c.lock, NULL);
    c.source = source_open(argv, argc, (enum source_format)format, 0);
    int result = c.source ? output_open(&c.out, output_path) : -1;
    if (!result) {
        result = encode_all(&c);
        if (result < 0)
            output_abandon(&c.out);
        else
            result = output_close(&c.out);
    }
    while (c.idle_count)
        encoder_free(c.idle[--c.idle_count]);
    free(c.idle);
    pthread_mutex_destroy(&c.lock);
    stream_writer_release(&c.writer);
    source_close(c.source);
    tokenizer_free(c.t);
    return result;
}

/* ---- tokenize train --------------------------------------------------------------------------- */

static const char *folder_path;
static int64_t vocabulary_size = 30000, min_frequency = 2;
static struct opt_list special_tokens;
static int alphabet;

struct counting {
    struct source *source;
    int sentences; /* not used, but not to be mixed */
    uint64_t documents;
    pthread_mutex_t lock;
    struct word_counts **idle;
    int idle_count;
};

static int counting_read(void *ctx, void *item)
{
    struct counting *c = ctx;
    c->sentences = -1;
    return batch_read(item, c->source, &c->sentences);
}

static int counting_work(void *ctx, void *item)
{
    struct counting *c = ctx;
    struct batch *b = item;
    pthread_mutex_lock(&c->lock);
    struct word_counts *w = c->idle_count ? c->idle[--c->idle_count] : NULL;
    pthread_mutex_unlock(&c->lock);
    if (!w)
        w = word_counts_new();
    for (size_t i = 0, at = 0; i < b->count; at = b->ends[i++])
        word_counts_add(w, b->text.data + at, b->ends[i] - at);
    pthread_mutex_lock(&c->lock);
    c->idle[c->idle_count++] = w;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

static int counting_write(void *ctx, void *item)
{
    struct counting *c = ctx;
    struct batch *b = item;
    c->documents += b->count;
    tool_count("texts", b->count);
    tool_count("bytes", b->text.len);
    progress_to(c->documents);
    return 0;
}

/* The counts of all threads together; freed by the caller. */
static struct word_counts *join_counts(struct counting *c)
{
    struct word_counts *all = c->idle_count ? c->idle[--c->idle_count] : word_counts_new();
    while (c->idle_count) {
        struct word_counts *w = c->idle[--c->idle_count];
        word_counts_merge(all, w);
        word_counts_free(w);
    }
    return all;
}

static int learn_and_save(const struct word_counts *words)
{
    static const char *end_of_text = "<|endoftext|>";
    struct learn_options o = {
        .vocabulary_size = (uint32_t)vocabulary_size,
        .min_frequency = (uint64_t)min_frequency,
        .special = special_tokens.count ? special_tokens.items : &end_of_text,
        .special_count = special_tokens.count ? special_tokens.count : 1,
        .seen_bytes_only = alphabet,
    };
    if (special_tokens.count == 1 && !*special_tokens.items[0])
        o.special_count = 0;
    struct vocabulary v;
    if (learn(&v, words, &o) < 0)
        return -1;
    if (v.count < o.vocabulary_size)
        log_warn("the text gives %" PRIu32 " tokens, not %" PRIu32, v.count, o.vocabulary_size);
    tool_count("words", word_counts_words(words));
    tool_count("tokens", v.count);
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    int result = tokenizer_save(t, folder_path);
    tokenizer_free(t);
    return result;
}

static int run_train(int argc, char **argv)
{
    if (!folder_path)
        return err_usage("--output is wanted: the folder for the vocabulary");
    for (size_t i = 0; i < special_tokens.count; i++)
        if (!*special_tokens.items[i] && special_tokens.count > 1)
            return err_usage("--special '' means none, and stands alone");
    struct counting c = { .idle = mem_zalloc((size_t)tool_threads, sizeof *c.idle) };
    struct pipeline p = { counting_read, counting_work, counting_write, &c, NULL, 0 };
    pthread_mutex_init(&c.lock, NULL);
    c.source = source_open(argv, argc, (enum source_format)format, 1);
    progress_begin("texts", 0);
    int result = c.source ? run_batches(&p) : -1;
    progress_end();
    struct word_counts *words = join_counts(&c);
    if (!result)
        result = learn_and_save(words);
    word_counts_free(words);
    source_close(c.source);
    free(c.idle);
    pthread_mutex_destroy(&c.lock);
    return result;
}

/* ---- tokenize decode -------------------------------------------------------------------------- */

static int skip_special;

/* One line of decimal ids. */
static int parse_ids(struct ids *ids, const char *line, size_t n, uint64_t number)
{
    ids->count = 0;
    for (size_t i = 0; i < n;) {
        uint64_t id = 0;
        size_t begin = i;
        for (; i < n && line[i] >= '0' && line[i] <= '9' && id <= UINT32_MAX; i++)
            id = 10 * id + (uint64_t)(line[i] - '0');
        if (i > begin && id <= UINT32_MAX)
            ids_add(ids, (uint32_t)id);
        if (i < n && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
            i++;
        else if (i < n)
            return err_set("line %" PRIu64 " is not a list of ids", number);
    }
    return 0;
}

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

static int decode_lines(struct input *in, struct output *out, const struct tokenizer *t)
{
    struct ids ids = { 0 };
    struct buf text = BUF_INIT;
    char *line;
    size_t n;
    int got;
    for (uint64_t number = 1; (got = input_line(in, &line, &n)) > 0; number++) {
        if (parse_ids(&ids, line, n, number) < 0)
            got = err_in("%s", in->path);
        else if (write_text(out, t, ids.data, ids.count, &text) < 0)
            got = err_in("%s: line %" PRIu64, in->path, number);
        if (got < 0)
            break;
    }
    ids_release(&ids);
    buf_release(&text);
    return got;
}

static int check_vocabulary(const struct stream_reader *r, const struct tokenizer *t)
{
    char ours[17];
    const char *theirs = kv_get(&r->header, "checksum");
    snprintf(ours, sizeof ours, "%016" PRIx64, tokenizer_checksum(t));
    if (theirs && strcmp(theirs, ours))
        return err_set("%s: made with another vocabulary: checksum %s, not %s", r->in->path,
                       theirs, ours);
    return 0;
}

static int decode_stream(struct input *in, struct output *out, const struct tokenizer *t)
{
    struct stream_reader r;
    struct buf text = BUF_INIT;
    int got = stream_open(&r, in);
    if (!got)
        got = check_vocabulary(&r, t);
    if (!got)
        while ((got = stream_read(&r)) > 0)
            if (write_text(out, t, r.document.ids, r.document.count, &text) < 0) {
                got = err_in("%s: document %" PRIu64, in->path, r.documents - 1);
                break;
            }
    stream_reader_release(&r);
    buf_release(&text);
    return got;
}

static int run_decode(int argc, char **argv)
{
    const char *path = argc ? argv[0] : "-";
    struct input in;
    struct output out;
    if (!vocabulary_path)
        return err_usage("--vocab is wanted: a vocabulary file, or a folder with one");
    if (!strcmp(path, "-") && !as_ids && tool_binary_stdin() < 0)
        return -1;
    struct tokenizer *t = tokenizer_load(vocabulary_path);
    if (!t || input_open(&in, path) < 0) {
        tokenizer_free(t);
        return -1;
    }
    int result = output_open(&out, output_path);
    if (!result) {
        result = as_ids ? decode_lines(&in, &out, t) : decode_stream(&in, &out, t);
        if (result < 0)
            output_abandon(&out);
        else
            result = output_close(&out);
    }
    input_close(&in);
    tokenizer_free(t);
    return result;
}

/* ---- main --------------------------------------------------------------------------------------- */

static const struct opt tokenize_options[] = {
    { 0, "vocab", OPT_TEXT, &vocabulary_path, "PATH", "vocabulary: a file, or a folder with one", 0, 0 },
    { 'o', "output", OPT_TEXT, &output_path, "FILE", "where to write; - is stdout", 0, 0 },
    { 0, "format", OPT_CHOICE, &format, FORMATS, "what the input is", 0, 0 },
    { 0, "special", OPT_FLAG, &special, NULL, "recognise special tokens in the text", 0, 0 },
    { 0, "invalid", OPT_CHOICE, &refuse_invalid, "replace|error", "what bytes that are not UTF-8 are", 0, 0 },
    { 0, "rules", OPT_CHOICE, &rules, "hf|google", "WordPiece: whose rules make words of text", 0, 0 },
    { 0, "case", OPT_CHOICE, &letters, "auto|uncased|cased", "WordPiece: what the vocabulary is", 0, 0 },
    { 0, "wrap", OPT_FLAG, &wrap, NULL, "with --ids: put [CLS] and [SEP] about each document", 0, 0 },
    { 0, "ids", OPT_FLAG, &as_ids, NULL, "write a line of decimal ids a document", 0, 0 },
    { 0 },
};

static const struct opt train_options[] = {
    { 'o', "output", OPT_TEXT, &folder_path, "DIR", "folder for the vocabulary's files", 0, 0 },
    { 0, "vocab-size", OPT_INT, &vocabulary_size, "N", "tokens, all told", 1, 1 << 24 },
    { 0, "min-frequency", OPT_INT, &min_frequency, "N", "merge pairs that occur so often", 0, 1e15 },
    { 0, "special", OPT_LIST, &special_tokens, "TOKEN",
      "special token, <|endoftext|> if none is given; '' for none", 0, 0 },
    { 0, "alphabet", OPT_CHOICE, &alphabet, "bytes|seen", "all bytes, or those in the text", 0, 0 },
    { 0, "format", OPT_CHOICE, &format, FORMATS, "what the input is", 0, 0 },
    { 0 },
};

static const struct opt decode_options[] = {
    { 0, "vocab", OPT_TEXT, &vocabulary_path, "PATH", "vocabulary: a file, or a folder with one", 0, 0 },
    { 'o', "output", OPT_TEXT, &output_path, "FILE", "where to write; - is stdout", 0, 0 },
    { 0, "skip-special", OPT_FLAG, &skip_special, NULL, "leave special tokens out", 0, 0 },
    { 0, "ids", OPT_FLAG, &as_ids, NULL, "read lines of decimal ids, not a token stream", 0, 0 },
    { 0 },
};

static const struct tool_command commands[] = {
    { NULL, "[FILE...]", "Turns documents into a stream of token ids.", tokenize_options,
      TOOL_THREADS | TOOL_PROGRESS, 0, -1, run_tokenize },
    { "train", "[FILE...]", "Learns a byte-level BPE vocabulary from text.", train_options,
      TOOL_THREADS | TOOL_PROGRESS, 0, -1, run_train },
    { "decode", "[FILE]", "Turns a stream of token ids into text, a line end after each document.",
      decode_options, 0, 0, 1, run_decode },
    { 0 },
};

static const struct tool tool = {
    .name = "tokenize",
    .summary = "text to tokens",
    .examples = "  wikiprep dump.xml.bz2 | tokenize --vocab gpt2/ | tfwrite -o shards/\n"
                "  tokenize train -o vocab/ --vocab-size 8000 texts/\n"
                "  echo 'The Moon.' | tokenize --vocab vocab/ --ids\n",
    .commands = commands,
    .version_detail = regex_version,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
