/* The command `tokenize train`: learns a vocabulary. */
#include "tokenizer/tokenize_commands.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/files/output_folder.h"
#include "common/files/temp.h"
#include "common/program/tool.h"
#include "tokenizer/counting.h"
#include "tokenizer/files/files.h"
#include "tokenizer/input/source.h"
#include "tokenizer/learn/learn_unigram.h"
#include "tokenizer/learn/seeds.h"
#include "tokenizer/tokenizer.h"
#include "unicode/unicode.h"

struct learning {
    struct counting_options counting;
    const char *folder_path, *unknown_token;
    int64_t min_word_count;
    int alphabet, byte_fallback;
    struct opt_list special_tokens;
    struct learn_options learn; /* without the special tokens */
};

static const struct learning defaults = {
    .counting = { .memory_bytes = COUNTING_MEMORY },
    .min_word_count = 1,
    .learn = { .vocabulary_size = 30000,
               .min_frequency = 2,
               .coverage = 0.9995,
               .shrinking = 0.75,
               .length_max = 16,
               .seed_count = 1000000 },
};

enum { ALPHABET_AUTO, ALPHABET_BYTES, ALPHABET_SEEN };

#define AT(member) offsetof(struct learning, member)
static const struct opt options[] = {
    { 'o', "output", OPT_TEXT, AT(folder_path), "DIR", "folder for the vocabulary files" },
    { 0, "model", OPT_CHOICE | COUNTING_NEW, AT(counting.model), "bpe|wordpiece|unigram",
      "kind of vocabulary to learn" },
    { 0, "units", OPT_CHOICE | COUNTING_NEW, AT(counting.units), "bytes|characters",
      "BPE: build tokens from bytes or from characters" },
    { 0, "pattern", OPT_CHOICE | COUNTING_NEW, AT(counting.pattern), TOKENIZER_PATTERNS,
      "BPE of bytes: split text as this encoding does; auto: as gpt2" },
    { 0, "from", OPT_TEXT, AT(counting.from), "PATH",
      "extend this vocabulary; its ids stay the same" },
    { 0, "vocab-size", OPT_INT, AT(learn.vocabulary_size), "N",
      "size of the vocabulary, special tokens included", 1, 1 << 24 },
    { 0, "min-frequency", OPT_INT, AT(learn.min_frequency), "N",
      "merge only pairs that occur at least N times", 0, 1e15 },
    { 0, "special", OPT_LIST, AT(special_tokens), "TOKEN",
      "add a special token; '' for none; default: those of the model" },
    { 0, "unknown", OPT_TEXT | COUNTING_NEW, AT(unknown_token), "TOKEN",
      "BPE of characters, Unigram: token for unknown characters; default: [UNK] for BPE, <unk> "
      "for Unigram" },
    { .help = "Alphabet and words" },
    { 0, "alphabet", OPT_CHOICE | COUNTING_NEW, AT(alphabet), "auto|bytes|seen",
      "BPE: start from all 256 bytes, or only from characters in the text; auto: all if --units "
      "bytes" },
    { 0, "alphabet-limit", OPT_INT, AT(learn.alphabet_limit), "N",
      "keep only the N most frequent characters; 0: all", 0, 1 << 24 },
    { 0, "initial-alphabet", OPT_TEXT, AT(learn.initial), "TEXT",
      "characters to include even if the text lacks them" },
    { 0, "case", OPT_CHOICE | COUNTING_NEW, AT(counting.letters), "auto|uncased|cased",
      "WordPiece: keep upper case (cased) or lower it (uncased); auto: uncased" },
    { 0, "counts", OPT_FLAG, AT(counting.counted), NULL,
      "the input is files that tokenize count wrote, not text" },
    { 0, "format", OPT_CHOICE | COUNTING_TEXT, AT(counting.source.format), SOURCE_FORMATS,
      SOURCE_FORMAT_HELP },
    { 0, "field", OPT_TEXT | COUNTING_TEXT, AT(counting.source.fields), "KEY[,KEY]",
      SOURCE_FIELD_HELP },
    { .help = "Unigram" },
    { 0, "character-coverage", OPT_REAL, AT(learn.coverage), "X",
      "Unigram: share of the text whose characters get a token; rarer characters are unknown", 0.5,
      1 },
    { 0, "byte-fallback", OPT_FLAG, AT(byte_fallback), NULL,
      "Unigram: encode unknown characters as their bytes, with 256 more tokens" },
    { 0, "max-piece-length", OPT_INT, AT(learn.length_max), "N",
      "Unigram: longest token, in characters", 1, SEEDS_LENGTH_MAX },
    { 0, "seed-size", OPT_INT, AT(learn.seed_count), "N",
      "Unigram: start with the N substrings of the highest frequency times length", 1, 1 << 26 },
    { 0, "shrinking-factor", OPT_REAL, AT(learn.shrinking), "X",
      "Unigram: keep this share of the tokens in each round of pruning", 0.01, 0.99 },
    { .help = "Memory" },
    { 0, "memory", OPT_SIZE, AT(counting.memory_bytes), "SIZE",
      "memory for counting words; more words go to temporary files", 1 << 16, 1e15 },
    { 0, "temporary-folder", OPT_TEXT, AT(counting.temporary_folder), "DIR",
      "folder for temporary files; default: $TMPDIR or /var/tmp" },
    { 0, "min-word-count", OPT_INT, AT(min_word_count), "N",
      "ignore words that occur fewer than N times", 1, 1e15 },
    { 0 },
};

/* ---- learning -------------------------------------------------------------------------------- */

enum { UNIGRAM_SPECIAL = 3 };
static const char *const unigram_special[UNIGRAM_SPECIAL] = { "<unk>", "<s>", "</s>" };

static const char *unknown_name(const struct learning *given)
{
    if (given->unknown_token)
        return given->unknown_token;
    return given->counting.model == VOCABULARY_UNIGRAM ? unigram_special[0]
                                                       : bert_role_names[TOKENIZER_UNKNOWN];
}

static int64_t find_special(const struct vocabulary *v, const char *name)
{
    int64_t id = vocabulary_find(v, name, strlen(name));
    return id >= 0 && v->tokens[id].kind == TOKEN_ADDED ? id : -1;
}

/* Sets v->roles and v->end_of_text, the ids of the tokens with a special role. Returns 0, or -1
 * with an error. */
static int name_roles(const struct learning *given, struct vocabulary *v)
{
    if (v->model == VOCABULARY_WORDPIECE) {
        if (bert_roles(v) < 0)
            return -1;
        if (!given->counting.from)
            bert_templates(v);
        return 0;
    }
    if (v->model == VOCABULARY_UNIGRAM)
        v->end_of_text = find_special(v, unigram_special[2]);
    else if (v->end_of_text < 0)
        v->end_of_text = vocabulary_find(v, end_of_text_name, strlen(end_of_text_name));
    if (!v->byte_level && !given->counting.from)
        v->roles[TOKENIZER_UNKNOWN] = find_special(v, unknown_name(given));
    return 0;
}

/* Learns tokens and adds them to `v`. Without --special, a new vocabulary has the special tokens of
 * its model: for BPE the unknown token, and end-of-text (used alone if tokens are bytes). */
static int learn_tokens(const struct learning *given, struct vocabulary *v,
                        const struct counted_words *words)
{
    const char *const of_pairs[] = { unknown_name(given), end_of_text_name };
    const struct opt_list *own = &given->special_tokens;
    const int unigram = v->model == VOCABULARY_UNIGRAM;
    struct learn_options o = given->learn;
    o.threads = (int)tool_threads;
    o.special = own->items;
    o.special_count = own->count == 1 && !*own->items[0] ? 0 : own->count;
    if (!own->count && unigram) {
        o.special = unigram_special;
        o.special_count = UNIGRAM_SPECIAL;
    } else if (!own->count && !v->count && v->model == VOCABULARY_WORDPIECE) {
        o.special = bert_role_names;
        o.special_count = TOKENIZER_ROLES;
    } else if (!own->count && !v->count) {
        o.special = of_pairs + v->byte_level;
        o.special_count = v->byte_level ? 1 : 2;
    }
    v->byte_fallback |= given->byte_fallback;
    return (unigram ? learn_unigram : learn)(v, words, &o);
}

/* Returns 1 for the characters of scripts in which signs of vowels or voicing are marks, or become
 * marks when characters are decomposed: Thaana, N'Ko, Indic scripts, Thai, Lao, Tibetan, Burmese,
 * Khmer, kana; else 0. */
static int has_signs(unsigned c)
{
    return (c >= 0x780 && c < 0x10A0) || (c >= 0x1780 && c < 0x1800) || (c >= 0x3040 && c < 0x3100);
}

/* Checks the words of files of counts: those of texts are UTF-8. Warns if a default, which was not
 * asked for, has cut many words at marks or dropped their marks. Returns 0, or -1 with an error. */
static int check_words(const struct counting_options *o, const struct vocabulary *v,
                       const struct counted_words *words)
{
    uint64_t all = 0, marks = 0;
    for (size_t i = 0; i < words->count; i++) {
        const struct counted_word *w = &words->words[i];
        const char *s = words->bytes.data + w->at;
        unsigned first = 0;
        if (!v->byte_level && utf8_valid(s, w->len) < w->len)
            return err_set("the counts have a word that is not UTF-8");
        if (w->len && utf8_read(s, w->len, &first) > 1 &&
            (v->byte_level ? unicode_is(first, UNICODE_IS_MARK) : has_signs(first)))
            marks += w->count;
        all += w->count;
    }
    const int uncased = v->model == VOCABULARY_WORDPIECE && !o->letters;
    if (!o->from && !o->pattern && (v->byte_level || uncased) && marks > all / 20)
        log_warn("the text has many combining marks, and %s",
                 uncased ? "an uncased vocabulary drops them: --case cased keeps them"
                         : "GPT-2's words end at each: --pattern qwen35 keeps them in the word");
    return 0;
}

/* Checks that files can be written in the folder, and that it has no vocabulary, also none of other
 * programs, or one that may be replaced. Files that an interrupted run left without tokenizer.json,
 * which it writes last, may be replaced. */
static int may_replace(const char *folder)
{
    static const char *const marks[] = { "tokenizer.json", "vocab.json", "vocab.txt" };
    SCOPED(buf) last = file_path(folder, marks[0]);
    const size_t count = temp_left(last.data) ? 1 : sizeof marks / sizeof *marks;
    for (size_t i = 0; i < count; i++)
        if (tool_may_replace(folder, marks[i], "vocabulary") < 0)
            return -1;
    int made;
    if (file_mkdirs_count(folder, &made) < 0)
        return -1;
    const int can = access(folder, W_OK), why = errno;
    file_rmdirs(folder, made);
    return can < 0 ? err_set("cannot write to '%s': %s", folder, strerror(why)) : 0;
}

/* Saves the vocabulary in its folder. `lock` is the folder's, or -1 if there was no folder when the
 * run began: then it is made and locked now, and checked again, since another run may have put a
 * vocabulary there. */
static int save(const char *folder, const struct vocabulary *v, int lock)
{
    int made = 0;
    if (lock < 0 && file_mkdirs_count(folder, &made) < 0)
        return -1;
    if ((lock < 0 && (output_folder_lock(folder, &lock) < 0 || may_replace(folder) < 0)) ||
        vocabulary_save(v, folder) < 0) {
        file_rmdirs(folder, made);
        return -1;
    }
    return 0;
}

static int learn_and_save(const struct learning *given, struct vocabulary *v,
                          const struct counted_words *words, int lock)
{
    int pieces = v->model == VOCABULARY_UNIGRAM;
    if (!words->count)
        return err_set("nothing to learn: the text is empty, or --min-word-count leaves no word");
    if (check_words(&given->counting, v, words) < 0 || learn_tokens(given, v, words) < 0 ||
        name_roles(given, v) < 0)
        return -1;
    if (v->count < given->learn.vocabulary_size)
        log_warn("the text has too few %s: the vocabulary has %" PRIu32 " tokens, not %" PRId64,
                 pieces ? "different substrings" : "pairs to merge", v->count,
                 given->learn.vocabulary_size);
    tool_count("different word(s)", words->count);
    tool_count("token(s)", v->count);
    return save(given->folder_path, v, lock);
}

/* Checks that the special tokens include the one for what is unknown, if the model must have it, or
 * if --unknown names it. Returns 0, or -1 with a usage error. */
static int check_special(const struct learning *given)
{
    const int pieces = given->counting.model == VOCABULARY_UNIGRAM;
    const int wordpiece = given->counting.model == VOCABULARY_WORDPIECE;
    const char *unknown = wordpiece ? bert_role_names[TOKENIZER_UNKNOWN] : unknown_name(given);
    const struct opt_list *own = &given->special_tokens;
    int found = !own->count && !pieces;
    for (size_t i = 0; i < UNIGRAM_SPECIAL && !own->count; i++)
        found |= !strcmp(unigram_special[i], unknown);
    for (size_t i = 0; i < own->count; i++) {
        if (!*own->items[i] && own->count > 1)
            return err_usage("--special '' means no special tokens: do not give others with it");
        if (utf8_valid(own->items[i], strlen(own->items[i])) < strlen(own->items[i]))
            return err_usage("--special is not UTF-8");
        found |= !strcmp(own->items[i], unknown);
    }
    if (given->unknown_token && given->counting.units != UNITS_CHARACTERS && !pieces)
        return err_usage("--unknown needs --units characters or --model unigram");
    if (given->unknown_token && (!found || !*unknown))
        return err_usage("--unknown '%s' is not a special token: add it with --special", unknown);
    if (found || !(wordpiece || pieces))
        return 0;
    /* Hugging Face's Unigram needs it for each unknown character, also if that becomes bytes */
    return err_usage("%s needs a special token '%s'", pieces ? "Unigram" : "WordPiece", unknown);
}

/* Rejects options that have no effect on the model. Returns 0, or -1 with a usage error. */
static int check_model(const struct learning *given)
{
    static const char *const of_pairs[] = { "min-frequency", "alphabet", "alphabet-limit",
                                            "initial-alphabet", NULL };
    static const char *const of_unigram[] = { "character-coverage", "byte-fallback",
                                              "max-piece-length",   "seed-size",
                                              "shrinking-factor",   NULL };
    const struct counting_options *c = &given->counting;
    int unigram = c->model == VOCABULARY_UNIGRAM;
    for (const char *const *name = unigram ? of_pairs : of_unigram; *name; name++)
        if (tool_given(*name))
            return err_usage("--%s %s --model unigram", *name,
                             unigram ? "cannot be used with" : "needs");
    return 0;
}

/* Rejects --special tokens that `from` has (NULL: there is none). Returns 0, or -1 with a usage
 * error. */
static int check_new(const struct learning *given, const struct tokenizer *from)
{
    const struct opt_list *own = &given->special_tokens;
    for (size_t i = 0; i < own->count && from; i++)
        if (tokenizer_find(from, own->items[i], strlen(own->items[i])) >= 0)
            return err_usage("--special '%s': the vocabulary of --from has this token already",
                             own->items[i]);
    return 0;
}

/* Sets given->learn.all_bytes, by the vocabulary `from` unless it is NULL, and rejects options that
 * have no effect on an alphabet of all bytes. Returns 0, or -1 with a usage error. */
static int settle_alphabet(struct learning *given, const struct tokenizer *from)
{
    static const char *const of_part[] = { "alphabet-limit", "initial-alphabet" };
    const struct counting_options *c = &given->counting;
    int all = from || (c->model == VOCABULARY_BPE && c->units == UNITS_BYTES &&
                       given->alphabet != ALPHABET_SEEN);
    for (int byte = 0; byte < 256 && from && all; byte++)
        all = tokenizer_find(from, (const char[]){ (char)byte }, 1) >= 0;
    given->learn.all_bytes = all;
    for (int i = 0; i < 2 && all; i++)
        if (tool_given(of_part[i]))
            return err_usage(from ? "--%s cannot be used with --from: the alphabet of that "
                                    "vocabulary is all bytes"
                                  : "--%s needs --alphabet seen or --units characters: otherwise "
                                    "the alphabet is all bytes",
                             of_part[i]);
    return 0;
}

/* Checks the options, and sets *lock to that of the folder, which is held until the program ends,
 * or to -1 if there is no folder yet. */
static int check_usage(const struct learning *given, int *lock)
{
    const char *initial = given->learn.initial;
    if (!given->folder_path)
        return err_usage("--output is missing: name a folder for the vocabulary");
    if (output_folder_lock(given->folder_path, lock) < 0 || may_replace(given->folder_path) < 0 ||
        counting_check(&given->counting) < 0 || check_special(given) < 0 || check_model(given) < 0)
        return -1;
    if (initial && utf8_valid(initial, strlen(initial)) < strlen(initial))
        return err_usage("--initial-alphabet is not UTF-8");
    if (given->alphabet == ALPHABET_BYTES && (given->counting.units == UNITS_CHARACTERS ||
                                              given->counting.model == VOCABULARY_WORDPIECE))
        return err_usage(
            "--alphabet bytes cannot be used with --units characters or WordPiece, which "
            "use characters");
    return 0;
}

static int run(int argc, char **argv, void *options_given)
{
    struct learning *given = options_given;
    SCOPED_BY(counting_release) struct counting_tables counted = { 0 };
    SCOPED(counted_words) words = COUNTED_WORDS_INIT;
    struct vocabulary v;
    int lock;
    if (check_usage(given, &lock) < 0)
        return -1;
    struct tokenizer *t = counting_tokenizer(&given->counting);
    if (!t)
        return -1;
    const struct tokenizer *from = given->counting.from ? t : NULL;
    int result = check_new(given, from) < 0 || settle_alphabet(given, from) < 0 ||
                         counting_run(&given->counting, &counted, t, argc, argv) < 0
                     ? -1
                     : word_counts_join(&words, counted.tables, counted.count,
                                        (uint64_t)given->min_word_count);
    tokenizer_into_vocabulary(t, &v);
    if (!result)
        result = learn_and_save(given, &v, &words, lock);
    vocabulary_release(&v);
    return result;
}

const struct tool_command learn_command = {
    .name = "train",
    .args = "[FILE...]",
    .summary = "Learn a vocabulary from text.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run,
};
