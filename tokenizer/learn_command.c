#include "tokenizer/learn_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/tool.h"
#include "tokenizer/batch.h"
#include "tokenizer/files/files.h"
#include "tokenizer/input/source.h"
#include "tokenizer/learn/learn.h"
#include "tokenizer/model/wordpiece.h"
#include "tokenizer/tokenizer.h"

static const char *fields;
static const char *folder_path, *from_path, *unknown_token, *initial_alphabet, *temporary_folder;
static int model, units, alphabet, letters, format;
static int64_t vocabulary_size = 30000, min_frequency = 2, min_word_count = 1, alphabet_limit;
static uint64_t memory_bytes = (uint64_t)2 << 30;
static struct opt_list special_tokens;

enum { UNITS_BYTES, UNITS_CHARACTERS };
enum { ALPHABET_AUTO, ALPHABET_BYTES, ALPHABET_SEEN };

const struct opt learn_command_options[] = {
    { 'o', "output", OPT_TEXT, &folder_path, "DIR", "folder for the vocabulary files", 0, 0 },
    { 0, "model", OPT_CHOICE, &model, "bpe|wordpiece", "kind of vocabulary to learn", 0, 0 },
    { 0, "units", OPT_CHOICE, &units, "bytes|characters",
      "BPE: build tokens from bytes or from characters", 0, 0 },
    { 0, "from", OPT_TEXT, &from_path, "PATH", "extend this vocabulary; its ids stay the same", 0,
      0 },
    { 0, "vocab-size", OPT_INT, &vocabulary_size, "N",
      "size of the vocabulary, special tokens included", 1, 1 << 24 },
    { 0, "min-frequency", OPT_INT, &min_frequency, "N",
      "merge only pairs that occur at least N times", 0, 1e15 },
    { 0, "special", OPT_LIST, &special_tokens, "TOKEN",
      "add a special token; '' for none; default: those of the model", 0, 0 },
    { 0, "unknown", OPT_TEXT, &unknown_token, "TOKEN",
      "BPE of characters: token for unknown characters; default: "
      "[UNK]",
      0, 0 },
    { 0, NULL, OPT_FLAG, NULL, NULL, "Alphabet and words", 0, 0 },
    { 0, "alphabet", OPT_CHOICE, &alphabet, "auto|bytes|seen",
      "BPE: start from all 256 bytes, or only from characters in the "
      "text; auto: all if --units bytes",
      0, 0 },
    { 0, "alphabet-limit", OPT_INT, &alphabet_limit, "N",
      "keep only the N most frequent characters; 0: all", 0, 1 << 24 },
    { 0, "initial-alphabet", OPT_TEXT, &initial_alphabet, "TEXT",
      "characters to include even if the text lacks them", 0, 0 },
    { 0, "case", OPT_CHOICE, &letters, "auto|uncased|cased",
      "WordPiece: keep upper case (cased) or lower it (uncased); "
      "auto: uncased",
      0, 0 },
    { 0, "format", OPT_CHOICE, &format, SOURCE_FORMATS,
      "format of the input; auto detects documents, JSON lines or "
      "plain text",
      0, 0 },
    { 0, "field", OPT_TEXT, &fields, "KEY[,KEY]",
      "JSON lines: the strings that are a document; outer.inner names an inner one", 0, 0 },
    { 0, NULL, OPT_FLAG, NULL, NULL, "Memory", 0, 0 },
    { 0, "memory", OPT_SIZE, &memory_bytes, "SIZE",
      "memory for counting words; more words go to temporary files", 1 << 16, 1e15 },
    { 0, "temporary-folder", OPT_TEXT, &temporary_folder, "DIR",
      "folder for temporary files; default: $TMPDIR or /var/tmp", 0, 0 },
    { 0, "min-word-count", OPT_INT, &min_word_count, "N",
      "ignore words that occur fewer than N times", 1, 1e15 },
    { 0 },
};

/* ---- counting --------------------------------------------------------------------------------- */

/* One thread's. */
struct counter {
    struct encoder *encoder;
    struct word_counts *words;
};

struct counting {
    const struct tokenizer *t;
    struct source *source;
    int sentences; /* not used, but not to be mixed */
    uint64_t documents;
    struct idle counters;
};

static int counting_read(void *ctx, void *item)
{
    struct counting *c = ctx;
    c->sentences = -1;
    return batch_read(item, c->source, &c->sentences);
}

static int put_word(void *ctx, const char *word, size_t n)
{
    return word_counts_add(ctx, word, n, 1);
}

static const char *spill_folder(void)
{
    return temporary_folder ? temporary_folder : file_temporary_folder();
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
        one->words = word_counts_new(memory_bytes / (uint64_t)tool_threads, spill_folder());
    }
    for (size_t i = 0, at = 0; i < b->count && !result; at = b->ends[i++])
        result = encoder_pieces(one->encoder, b->text.data + at, b->ends[i] - at, put_word,
                                one->words);
    idle_give(&c->counters, one);
    return result;
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

static void free_counter(void *item)
{
    struct counter *c = item;
    encoder_free(c->encoder);
    word_counts_free(c->words);
    free(c);
}

static int join_counts(struct counting *c, struct counted_words *out)
{
    size_t count = c->counters.count;
    struct word_counts **tables = mem_alloc((count + 1) * sizeof *tables);
    for (size_t i = 0; i < count; i++) {
        struct counter *one = c->counters.items[i].item;
        tables[i] = one->words;
    }
    int result = word_counts_join(out, tables, count, (uint64_t)min_word_count);
    free(tables);
    return result;
}

static int count_words(const struct tokenizer *t, int argc, char **argv, struct counted_words *out)
{
    const struct source_options how = { .format = (enum source_format)format,
                                        .fields = fields,
                                        .text_by_line = 1 };
    struct counting c = { .t = t, .source = source_open(argv, argc, &how) };
    struct pipeline p = { counting_read, counting_work, counting_write, &c, NULL, 0, NULL };
    idle_init(&c.counters);
    progress_begin("texts", 0);
    int result = c.source ? batch_run(&p, (int)tool_threads) : -1;
    progress_end();
    if (!result)
        result = join_counts(&c, out);
    idle_release(&c.counters, free_counter);
    source_close(c.source);
    return result;
}

/* ---- learning --------------------------------------------------------------------------------- */

/* A vocabulary without tokens, that says how text is cut. */
static int frame(struct vocabulary *v)
{
    vocabulary_init(v);
    if (units == UNITS_CHARACTERS)
        return characters_frame(v);
    if (model == VOCABULARY_WORDPIECE) {
        wordpiece_frame(v, letters == TOKENIZER_CASED);
        return 0;
    }
    return splitter_add(&v->splitter, SPLIT_GPT2, NULL, 0);
}

static struct tokenizer *begin(void)
{
    struct vocabulary v;
    if (from_path && vocabulary_load(&v, from_path, &(struct tokenizer_options){ 0 }) < 0)
        return NULL;
    if (from_path && v.model != VOCABULARY_BPE && v.model != VOCABULARY_WORDPIECE) {
        err_set("'%s' cannot be extended: only BPE and WordPiece are learned", from_path);
        vocabulary_release(&v);
        return NULL;
    }
    if (from_path)
        return tokenizer_from_vocabulary(&v);
    return frame(&v) < 0 ? NULL : tokenizer_from_vocabulary(&v);
}

static const char *unknown_name(void)
{
    return unknown_token ? unknown_token : bert_role_names[TOKENIZER_UNKNOWN];
}

static struct learn_options options_for(const struct vocabulary *v)
{
    static const char *usual[] = { NULL, end_of_text_name };
    usual[0] = unknown_name();
    int wordpiece = v->model == VOCABULARY_WORDPIECE;
    struct learn_options o = {
        .vocabulary_size = (uint32_t)vocabulary_size,
        .min_frequency = (uint64_t)min_frequency,
        .special = special_tokens.items,
        .special_count = special_tokens.count,
        .all_bytes = alphabet != ALPHABET_SEEN, /* of tokens of bytes */
        .initial = initial_alphabet,
        .alphabet_limit = (size_t)alphabet_limit,
    };
    if (special_tokens.count == 1 && !*special_tokens.items[0]) {
        o.special_count = 0;
    } else if (!special_tokens.count && !v->count) {
        o.special = wordpiece ? (const char **)(uintptr_t)bert_role_names : usual + v->byte_level;
        o.special_count = wordpiece ? TOKENIZER_ROLES : v->byte_level ? 1 : 2;
    }
    return o;
}

static int64_t find_special(const struct vocabulary *v, const char *name)
{
    int64_t id = vocabulary_find(v, name, strlen(name));
    return id >= 0 && v->tokens[id].kind == TOKEN_ADDED ? id : -1;
}

/* What of the tokens has a meaning. */
static int name_roles(struct vocabulary *v)
{
    if (v->model != VOCABULARY_WORDPIECE) {
        if (v->end_of_text < 0)
            v->end_of_text = vocabulary_find(v, end_of_text_name, strlen(end_of_text_name));
        if (!v->byte_level && !from_path)
            v->roles[TOKENIZER_UNKNOWN] = find_special(v, unknown_name());
        return 0;
    }
    if (bert_roles(v) < 0)
        return err_usage("WordPiece needs a special token '%s'",
                         bert_role_names[TOKENIZER_UNKNOWN]);
    if (!from_path)
        bert_templates(v);
    return 0;
}

static int learn_and_save(struct vocabulary *v, const struct counted_words *words)
{
    struct learn_options o = options_for(v);
    if (learn(v, words, &o) < 0 || name_roles(v) < 0)
        return -1;
    if (v->count < o.vocabulary_size)
        log_warn("the text has too few pairs to merge: the vocabulary has %" PRIu32
                 " tokens, not %" PRIu32,
                 v->count, o.vocabulary_size);
    tool_count("words", words->count);
    tool_count("tokens", v->count);
    return vocabulary_save(v, folder_path);
}

static int check_special(void)
{
    int found = !special_tokens.count;
    for (size_t i = 0; i < special_tokens.count; i++) {
        if (!*special_tokens.items[i] && special_tokens.count > 1)
            return err_usage("--special '' means no special tokens: do not give others with it");
        found |= unknown_token && !strcmp(special_tokens.items[i], unknown_token);
    }
    if (unknown_token && units != UNITS_CHARACTERS)
        return err_usage("--unknown needs --units characters");
    if (unknown_token && (!found || !*unknown_token))
        return err_usage("--unknown '%s' is not a special token: add it with --special",
                         unknown_token);
    return 0;
}

static int check_usage(void)
{
    static const char *const decided[] = { "model", "units", "unknown", "case", "alphabet" };
    if (!folder_path)
        return err_usage("--output is missing: name a folder for the vocabulary");
    static const char *const marks[] = { "tokenizer.json", "vocab.json", "vocab.txt" };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (tool_may_replace(folder_path, marks[i], "vocabulary") < 0)
            return -1;
    for (size_t i = 0; i < sizeof decided / sizeof *decided && from_path; i++)
        if (tool_given(decided[i]))
            return err_usage("--%s cannot be used with --from, because that vocabulary decides it",
                             decided[i]);
    if (check_special() < 0)
        return -1;
    if (units == UNITS_CHARACTERS && (model == VOCABULARY_WORDPIECE || alphabet == ALPHABET_BYTES))
        return err_usage(
            "--units characters cannot be used with --model wordpiece, which always uses "
            "characters, or with --alphabet bytes");
    if (model == VOCABULARY_WORDPIECE && alphabet == ALPHABET_BYTES)
        return err_usage("--alphabet bytes cannot be used with WordPiece, which uses characters");
    if (model != VOCABULARY_WORDPIECE && tool_given("case"))
        return err_usage("--case needs --model wordpiece");
    return 0;
}

int learn_command(int argc, char **argv)
{
    struct counted_words words = COUNTED_WORDS_INIT;
    struct vocabulary v;
    if (check_usage() < 0)
        return -1;
    struct tokenizer *t = begin();
    if (!t)
        return -1;
    int result = count_words(t, argc, argv, &words);
    tokenizer_into_vocabulary(t, &v);
    if (!result)
        result = learn_and_save(&v, &words);
    vocabulary_release(&v);
    counted_words_release(&words);
    return result;
}
