#include "tokenizer/learn_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "common/tool.h"
#include "tokenizer/counting.h"
#include "tokenizer/files/files.h"
#include "tokenizer/input/source.h"
#include "tokenizer/learn/learn.h"

#include "tokenizer/tokenizer.h"

static const char *folder_path, *unknown_token, *initial_alphabet;
static int alphabet;
static int64_t vocabulary_size = 30000, min_frequency = 2, min_word_count = 1, alphabet_limit;
static struct opt_list special_tokens;

enum { ALPHABET_AUTO, ALPHABET_BYTES, ALPHABET_SEEN };

const struct opt learn_command_options[] = {
    { 'o', "output", OPT_TEXT, &folder_path, "DIR", "folder for the vocabulary files", 0, 0 },
    { 0, "model", OPT_CHOICE, &counting_options.model, "bpe|wordpiece",
      "kind of vocabulary to learn", 0, 0 },
    { 0, "units", OPT_CHOICE, &counting_options.units, "bytes|characters",
      "BPE: build tokens from bytes or from characters", 0, 0 },
    { 0, "from", OPT_TEXT, &counting_options.from, "PATH",
      "extend this vocabulary; its ids stay the same", 0, 0 },
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
    { 0, "case", OPT_CHOICE, &counting_options.letters, "auto|uncased|cased",
      "WordPiece: keep upper case (cased) or lower it (uncased); "
      "auto: uncased",
      0, 0 },
    { 0, "counts", OPT_FLAG, &counting_options.counted, NULL,
      "the input is files that tokenize count wrote, not text", 0, 0 },
    { 0, "format", OPT_CHOICE, &counting_options.format, SOURCE_FORMATS,
      "format of the input; auto detects documents, JSON lines or "
      "plain text",
      0, 0 },
    { 0, "field", OPT_TEXT, &counting_options.fields, "KEY[,KEY]",
      "JSON lines: the strings that are a document; outer.inner names an inner one", 0, 0 },
    { 0, NULL, OPT_FLAG, NULL, NULL, "Memory", 0, 0 },
    { 0, "memory", OPT_SIZE, &counting_options.memory_bytes, "SIZE",
      "memory for counting words; more words go to temporary files", 1 << 16, 1e15 },
    { 0, "temporary-folder", OPT_TEXT, &counting_options.temporary_folder, "DIR",
      "folder for temporary files; default: $TMPDIR or /var/tmp", 0, 0 },
    { 0, "min-word-count", OPT_INT, &min_word_count, "N",
      "ignore words that occur fewer than N times", 1, 1e15 },
    { 0 },
};

/* ---- learning --------------------------------------------------------------------------------- */

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
        if (!v->byte_level && !counting_options.from)
            v->roles[TOKENIZER_UNKNOWN] = find_special(v, unknown_name());
        return 0;
    }
    if (bert_roles(v) < 0)
        return err_usage("WordPiece needs a special token '%s'",
                         bert_role_names[TOKENIZER_UNKNOWN]);
    if (!counting_options.from)
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
    if (unknown_token && counting_options.units != UNITS_CHARACTERS)
        return err_usage("--unknown needs --units characters");
    if (unknown_token && (!found || !*unknown_token))
        return err_usage("--unknown '%s' is not a special token: add it with --special",
                         unknown_token);
    return 0;
}

static int check_usage(void)
{
    static const char *const decided[] = { "unknown", "alphabet" };
    if (!folder_path)
        return err_usage("--output is missing: name a folder for the vocabulary");
    static const char *const marks[] = { "tokenizer.json", "vocab.json", "vocab.txt" };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (tool_may_replace(folder_path, marks[i], "vocabulary") < 0)
            return -1;
    for (size_t i = 0; i < sizeof decided / sizeof *decided && counting_options.from; i++)
        if (tool_given(decided[i]))
            return err_usage("--%s cannot be used with --from, because that vocabulary decides it",
                             decided[i]);
    if (counting_check() < 0 || check_special() < 0)
        return -1;
    if (alphabet == ALPHABET_BYTES && (counting_options.units == UNITS_CHARACTERS ||
                                       counting_options.model == VOCABULARY_WORDPIECE))
        return err_usage(
            "--alphabet bytes cannot be used with --units characters or WordPiece, which "
            "use characters");
    return 0;
}

int learn_command(int argc, char **argv)
{
    struct counting_tables counted;
    struct counted_words words = COUNTED_WORDS_INIT;
    struct vocabulary v;
    if (check_usage() < 0)
        return -1;
    struct tokenizer *t = counting_tokenizer();
    if (!t)
        return -1;
    int result = counting_run(&counted, t, argc, argv);
    if (!result)
        result = word_counts_join(&words, counted.tables, counted.count, (uint64_t)min_word_count);
    counting_release(&counted);
    tokenizer_into_vocabulary(t, &v);
    if (!result)
        result = learn_and_save(&v, &words);
    vocabulary_release(&v);
    counted_words_release(&words);
    return result;
}
