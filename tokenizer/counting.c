#include "tokenizer/counting.h"

#include "common/base/choice.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/files/file.h"
#include "common/program/tool.h"
#include "tokenizer/batch.h"
#include "tokenizer/files/encodings.h"
#include "tokenizer/files/files.h"
#include "tokenizer/input/mend.h"
#include "tokenizer/learn/word_file.h"
#include "tokenizer/model/vocabulary.h"

/* ---- how text is cut ------------------------------------------------------------------------- */

int counting_check(const struct counting_options *o)
{
    const int folder = o->temporary_folder ? file_look(o->temporary_folder) : FILE_FOLDER;
    if (folder < 0)
        return -1;
    if (folder != FILE_FOLDER)
        return err_set("--temporary-folder: '%s' is no folder", o->temporary_folder);
    const char *decided = o->from ? tool_misplaced(COUNTING_TEXT) : NULL;
    const char *of_text = o->counted ? tool_misplaced(COUNTING_NEW) : NULL;
    if (decided)
        return err_usage("--%s cannot be used with --from, because that vocabulary decides it",
                         decided);
    if (of_text)
        return err_usage("--%s cannot be used with --counts, because the input is not text",
                         of_text);
    if (tool_given("units") && o->model != VOCABULARY_BPE)
        return err_usage("--units cannot be used with --model %s, which always uses characters",
                         o->model == VOCABULARY_UNIGRAM ? "unigram" : "wordpiece");
    if (o->model != VOCABULARY_WORDPIECE && tool_given("case"))
        return err_usage("--case needs --model wordpiece");
    if (o->pattern && (o->model != VOCABULARY_BPE || o->units != UNITS_BYTES))
        return err_usage("--pattern needs --model bpe and --units bytes");
    return 0;
}

/* Makes *v a vocabulary without tokens, which only defines how text is cut. */
static int frame(const struct counting_options *o, struct vocabulary *v)
{
    vocabulary_init(v);
    if (o->units == UNITS_CHARACTERS)
        return characters_frame(v);
    if (o->model == VOCABULARY_WORDPIECE) {
        wordpiece_frame(v, o->letters == TOKENIZER_CASED);
        return 0;
    }
    if (o->model == VOCABULARY_UNIGRAM)
        return unigram_frame(v);
    return encoding_cut(
        v, encoding_named(o->pattern ? (enum tokenizer_pattern)o->pattern : TOKENIZER_GPT2));
}

struct tokenizer *counting_tokenizer(const struct counting_options *o)
{
    struct vocabulary v;
    if (!o->from)
        return frame(o, &v) < 0 ? NULL : tokenizer_from_vocabulary(&v);
    if (vocabulary_load(&v, o->from, &(struct tokenizer_options){ 0 }) < 0)
        return NULL;
    if (v.model == VOCABULARY_BPE || v.model == VOCABULARY_WORDPIECE)
        return tokenizer_from_vocabulary(&v);
    err_set("'%s' cannot be extended: only BPE and WordPiece are learned", o->from);
    vocabulary_release(&v);
    return NULL;
}

void counting_rules(const struct counting_options *o, const struct tokenizer *t, struct buf *out)
{
    SCOPED(buf) json = BUF_INIT;
    if (o->from) {
        tokenizer_print(t, &json);
        buf_addf(out, "--from %016" PRIx64, hash_more(HASH_START, json.data, json.len));
    } else if (o->model == VOCABULARY_WORDPIECE) {
        buf_addf(out, "--model wordpiece --case %s",
                 o->letters == TOKENIZER_CASED ? "cased" : "uncased");
    } else if (o->model == VOCABULARY_UNIGRAM) {
        buf_adds(out, "--model unigram");
    } else {
        buf_addf(out, "--model bpe --units %s",
                 o->units == UNITS_CHARACTERS ? "characters" : "bytes");
        if (o->pattern > TOKENIZER_GPT2) {
            size_t n;
            const char *pattern = choice_at(TOKENIZER_PATTERNS, (size_t)o->pattern, &n);
            buf_addf(out, " --pattern %.*s", (int)n, pattern);
        }
    }
}

/* ---- texts --------------------------------------------------------------------------------- */

/* What one thread uses to count: its encoder and its table. */
struct counter {
    struct encoder *encoder;
    struct word_counts *words;
};

struct counting {
    const struct counting_options *o;
    const struct tokenizer *t;
    struct source *source;
    uint64_t documents, bytes, replaced;
    struct idle counters;
};

static int counting_read(void *ctx, void *item)
{
    struct counting *c = ctx;
    return batch_read(item, c->source, NULL);
}

static int put_word(void *ctx, const char *word, size_t n)
{
    return word_counts_add(ctx, word, n, 1);
}

static const char *spill_folder(const struct counting_options *o)
{
    return o->temporary_folder ? o->temporary_folder : file_temporary_folder();
}

static int counting_work(void *ctx, void *item)
{
    struct counting *c = ctx;
    struct batch *b = item;
    struct counter *one = idle_take(&c->counters);
    int result = 0;
    if (!one) {
        one = mem_alloc(sizeof *one);
        one->encoder = encoder_new(c->t);
        one->words = word_counts_new(c->o->memory_bytes / (uint64_t)tool_threads,
                                     spill_folder(c->o));
    }
    const uint64_t before = encoder_replaced(one->encoder);
    for (size_t i = 0, at = 0; i < b->count && !result; at = b->ends[i++]) {
        result = encoder_pieces(one->encoder, b->text.data + at, b->ends[i] - at, put_word,
                                one->words);
        if (result < 0)
            err_in("%s", b->files[i]);
    }
    b->replaced += encoder_replaced(one->encoder) - before;
    idle_give(&c->counters, one);
    return result;
}

static int counting_write(void *ctx, void *item)
{
    struct counting *c = ctx;
    struct batch *b = item;
    c->documents += b->count;
    tool_count("text(s)", b->count);
    c->bytes += b->text.len;
    c->replaced += b->replaced;
    tool_count("byte(s)", b->text.len);
    if (b->replaced)
        tool_count("byte(s) replaced", b->replaced);
    progress_to(c->documents);
    return 0;
}

static void free_counter(void *item)
{
    SCOPED_MEM struct counter *c = item;
    encoder_free(c->encoder);
    word_counts_free(c->words);
}

static int count_texts(const struct counting_options *o, struct counting_tables *out,
                       const struct tokenizer *t, int argc, char **argv)
{
    struct source_options how = o->source;
    how.text_by_line = 1;
    struct counting c = { .o = o, .t = t, .source = source_open(argv, argc, &how) };
    struct pipeline p = { counting_read, counting_work, counting_write, &c, NULL, 0, NULL };
    idle_init(&c.counters);
    progress_begin("text(s)", 0);
    int result = c.source ? batch_run(&p, (int)tool_threads) : -1;
    progress_end();
    if (!result && mend_check(MEND_FEW_ONLY, c.replaced, c.bytes) < 0)
        result = err_in("'%s'%s", argc ? argv[0] : "<stdin>", argc > 1 ? " and other files" : "");
    out->count = c.counters.count;
    out->tables = mem_alloc((out->count + 1) * sizeof(struct word_counts *));
    for (size_t i = 0; i < out->count; i++) {
        struct counter *one = c.counters.items[i].item;
        out->tables[i] = one->words;
        one->words = NULL;
    }
    idle_release(&c.counters, free_counter);
    source_close(c.source);
    return result;
}

/* ---- files of counts ------------------------------------------------------------------------- */

static int add_files(const struct counting_options *o, struct counting_tables *out,
                     const struct tokenizer *t, int argc, char **argv)
{
    SCOPED(buf) rules = BUF_INIT;
    uint64_t words = 0;
    const int count = argc ? argc : 1;
    int result = 0;
    counting_rules(o, t, &rules);
    out->tables = mem_alloc(sizeof(struct word_counts *));
    out->tables[out->count++] = word_counts_new(o->memory_bytes, spill_folder(o));
    progress_begin("file(s)", (uint64_t)count);
    for (int i = 0; i < count && !result; i++) {
        result = word_file_read(argc ? argv[i] : "-", rules.data, out->tables[0], &words);
        progress_to((uint64_t)i + 1);
    }
    progress_end();
    tool_count("file(s)", (uint64_t)count);
    tool_count("row(s)", words);
    return result;
}

int counting_run(const struct counting_options *o, struct counting_tables *out,
                 const struct tokenizer *t, int argc, char **argv)
{
    *out = (struct counting_tables){ 0 };
    return (o->counted ? add_files : count_texts)(o, out, t, argc, argv);
}

void counting_release(struct counting_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        word_counts_free(tables->tables[i]);
    free(tables->tables);
    *tables = (struct counting_tables){ 0 };
}
