#include "wikiprep/sentences/sentence_train.h"

#include <math.h>

#include "common/base/lines.h"
#include "common/base/order.h"
#include "common/files/file.h"
#include "common/files/nameset.h"
#include "wikiprep/sentences/letter.h"
#include "wikiprep/sentences/sentence_model.h"

/* ABBREVIATION_* and OPENER_SCORE are the values of Kiss and Strunk. The other limits are our
 * own. */
#define ABBREVIATION_SCORE  0.3
#define OPENER_SCORE        30.0
#define ABBREVIATION_CHANCE 0.99 /* probability of a period after an abbreviation */
#define ELSEWHERE_MAX       0.05 /* opener: most capitalized uses in mid-sentence, per small one */
#define NUMBERED_MIN        0.5  /* number word: least share of its periods before a number */
#define ORDINAL_MIN         0.2  /* ordinals: least share of "12." before a lower-case word */

enum {
    SEEN_MIN = 5,        /* fewest occurrences of a word in a role to list it there */
    PLAIN_MIN = 5,       /* fewest letters of words that cannot be abbreviations */
    WORDS_MIN = 1000,    /* fewest words to learn from */
    LINE_BYTES = 96,     /* longest line of the model */
    TYPES_MAX = 1 << 22, /* most words in memory; beyond it, words seen once are dropped */
};

struct type {
    uint32_t count, periods; /* occurrences; those with a period */
    uint32_t numbered;       /* those with a period and then a number */
    uint32_t begins;         /* capitalized, after a plain word with a period */
    uint32_t elsewhere;      /* capitalized, with no mark before it */
    uint32_t small;          /* not capitalized */
};

/* What comes before a word: the start of a paragraph, a word without a mark, a plain word with a
 * period, another mark, a small number with a period. */
enum before { AT_BEGIN, MIDDLE, ENDED, MARKED, SMALL_NUMBER };

struct sentence_trainer {
    struct nameset *words;   /* the values are struct type */
    size_t most;             /* limit of words in memory: beyond it, those seen once are dropped */
    uint64_t count, periods; /* words; words with a period */
    uint64_t ends;           /* plain words with a period */
    uint64_t ordinals, small_numbers;
};

/* ---- words ----------------------------------------------------------------------------------- */

/* Drops the words seen once. */
static void drop_rare(struct sentence_trainer *t)
{
    struct nameset *old = t->words;
    t->words = nameset_new(sizeof(struct type));
    for (size_t i = 0; i < nameset_count(old); i++) {
        const struct type *type = nameset_value(old, i);
        const char *word = nameset_at(old, i);
        if (type->count > 1)
            *(struct type *)nameset_put(t->words, word, strlen(word)) = *type;
    }
    while (t->most < 2 * nameset_count(t->words))
        t->most *= 2;
    nameset_free(old);
}

struct sentence_trainer *sentence_trainer_new(void)
{
    struct sentence_trainer *t = mem_zalloc(1, sizeof *t);
    t->words = nameset_new(sizeof(struct type));
    t->most = TYPES_MAX;
    return t;
}

void sentence_trainer_free(struct sentence_trainer *t)
{
    if (!t)
        return;
    nameset_free(t->words);
    free(t);
}

/* ---- text ------------------------------------------------------------------------------------ */

struct token {
    const char *s;
    size_t n; /* without the period after it */
    int letters, digits, periods;
    enum letter_kind first;
    int period;         /* 1: a period follows */
    unsigned separator; /* the mark after the word and period; 0: a space */
    const char *after;
};

/* Reads the next token into *k: a word or number, with the period and the mark after it. Returns 1,
 * or 0 if [s, end) has no token. */
static int read_token(const char *s, const char *end, struct token *k)
{
    struct letter c;
    *k = (struct token){ 0 };
    for (; (c = letter_at(s, end)).len; s += c.len)
        if (letter_is_alphabetic(c.kind) || c.kind == LETTER_DIGIT)
            break;
    if (!c.len)
        return 0;
    k->s = s;
    k->first = c.kind;
    for (; (c = letter_at(s, end)).len; s += c.len) {
        int inner = c.code == '.' || c.code == '-' || c.code == '\'' || c.code == 0x2019;
        enum letter_kind next = inner ? letter_at(s + c.len, end).kind : LETTER_OTHER;
        if (!letter_is_alphabetic(c.kind) && c.kind != LETTER_DIGIT &&
            !(inner && (letter_is_alphabetic(next) || next == LETTER_DIGIT)))
            break;
        k->letters += letter_is_alphabetic(c.kind);
        k->digits += c.kind == LETTER_DIGIT;
        k->periods += c.code == '.';
    }
    k->n = (size_t)(s - k->s);
    if (s < end && *s == '.') {
        s++;
        k->period = 1;
    }
    c = letter_at(s, end);
    k->separator = c.kind == LETTER_SPACE ? 0 : c.code;
    k->after = s;
    return 1;
}

/* Returns the kind of k, as what comes before the next word. */
static enum before judge(const struct token *k)
{
    if (k->separator)
        return MARKED;
    if (!k->period)
        return MIDDLE;
    if (k->digits)
        return k->digits <= 2 && !k->letters && !k->periods ? SMALL_NUMBER : MARKED;
    int plain = k->letters >= PLAIN_MIN && !k->periods && k->first != LETTER_UPPER;
    return plain ? ENDED : MARKED;
}

static void add_paragraph(struct sentence_trainer *t, const char *s, const char *end)
{
    enum before before = AT_BEGIN;
    int period = 0;                     /* 1: the last word has a period and then a space */
    char last[SENTENCE_WORD_MAX_BYTES]; /* the last word in lower case */
    size_t last_len = 0;                /* its length; 0: not a word */
    for (struct token k; read_token(s, end, &k); s = k.after) {
        int upper = k.first == LETTER_UPPER;
        const int numbered = period && last_len && k.first == LETTER_DIGIT;
        struct type *type = numbered ? nameset_get(t->words, last, last_len) : NULL;
        if (type) /* else drop_rare() dropped it */
            type->numbered++;
        t->ordinals += before == SMALL_NUMBER && k.first == LETTER_LOWER;
        t->small_numbers += before == SMALL_NUMBER;
        last_len = 0;
        int initial = k.letters == 1 && upper;
        if (k.letters && !k.digits && !initial && k.n <= sizeof last) {
            last_len = letter_lower(last, k.s, k.n);
            if (nameset_count(t->words) >= t->most)
                drop_rare(t);
            type = nameset_put(t->words, last, last_len);
            type->count++;
            type->periods += (uint32_t)k.period;
            type->begins += upper && before == ENDED;
            type->elsewhere += upper && before == MIDDLE;
            type->small += !upper;
        }
        t->count++;
        t->periods += (uint64_t)k.period;
        before = judge(&k);
        t->ends += before == ENDED;
        period = k.period && !k.separator;
    }
}

void sentence_trainer_add(struct sentence_trainer *t, const char *s, size_t n)
{
    struct lines l = LINES_OF(s, n);
    while (lines_next(&l))
        add_paragraph(t, l.line, l.line + l.len);
}

/* ---- the learned model ----------------------------------------------------------------------- */

/* Returns log(p^hits * (1-p)^(n-hits)). */
static double log_binomial(double hits, double n, double p)
{
    if (p <= 0)
        return hits > 0 ? -1e300 : 0;
    if (p >= 1)
        return hits < n ? -1e300 : 0;
    return hits * log(p) + (n - hits) * log(1 - p);
}

static int is_abbreviation(const struct sentence_trainer *t, const char *word,
                           const struct type *type)
{
    double letters = 0, periods = 0;
    for (const char *s = word, *end = word + strlen(word); s < end;) {
        struct letter c = letter_at(s, end);
        letters += letter_is_alphabetic(c.kind);
        periods += c.code == '.';
        s += c.len;
    }
    double seen = type->periods, n = type->count, chance = (double)t->periods / (double)t->count;
    double likelihood = 2 * (log_binomial(seen, n, ABBREVIATION_CHANCE) -
                             log_binomial(seen, n, chance));
    double score = likelihood * exp(-letters) * (periods + 1) * pow(letters, -(n - seen));
    return type->periods >= SEEN_MIN && score >= ABBREVIATION_SCORE;
}

/* Returns 1 if the word opens sentences, else 0. Compares its share after ends of sentences with
 * its share of all words by Dunning's log-likelihood ratio. */
static int is_opener(const struct sentence_trainer *t, const struct type *type)
{
    double begins = type->begins, ends = (double)t->ends, n = type->count, all = (double)t->count;
    if (type->begins < SEEN_MIN || type->small < SEEN_MIN ||
        type->elsewhere > ELSEWHERE_MAX * type->small || begins / ends <= n / all)
        return 0;
    double p = n / all, p1 = begins / ends, p2 = (n - begins) / (all - ends);
    double ratio = log_binomial(begins, ends, p1) + log_binomial(n - begins, all - ends, p2) -
                   log_binomial(begins, ends, p) - log_binomial(n - begins, all - ends, p);
    return 2 * ratio >= OPENER_SCORE;
}

static unsigned kind_of(const struct sentence_trainer *t, const char *word)
{
    const struct type *type = nameset_get(t->words, word, strlen(word));
    if (is_abbreviation(t, word, type))
        return SENTENCE_ABBREVIATION;
    if (type->numbered >= SEEN_MIN && type->numbered >= NUMBERED_MIN * type->periods)
        return SENTENCE_NUMBER;
    return is_opener(t, type) ? SENTENCE_OPENER : 0;
}

/* Appends lines with the words of one kind, each beginning with the keyword `name`. */
static void put_words(const struct sentence_trainer *t, struct buf *out, const char **words,
                      size_t n, const char *name, unsigned kind)
{
    size_t begin = 0; /* start of the line */
    for (size_t i = 0; i < n; i++) {
        if (kind_of(t, words[i]) != kind)
            continue;
        if (!begin || out->len - begin + strlen(words[i]) >= LINE_BYTES) {
            if (begin)
                buf_addc(out, '\n');
            begin = out->len;
            buf_adds(out, name);
        }
        buf_addc(out, ' ');
        buf_adds(out, words[i]);
    }
    if (begin)
        buf_addc(out, '\n');
}

int sentence_trainer_finish(const struct sentence_trainer *t, struct buf *out)
{
    if (t->count < WORDS_MIN)
        return err_set("cannot learn where sentences end from %llu words: at least %d are needed",
                       (unsigned long long)t->count, WORDS_MIN);
    const size_t count = nameset_count(t->words);
    SCOPED_MEM const char **words = mem_zalloc(count, sizeof *words);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (kind_of(t, nameset_at(t->words, i)))
            words[n++] = nameset_at(t->words, i);
    mem_sort(words, n, order_texts);
    buf_addf(out, "textmill sentences 1\n# learned from %llu words\n",
             (unsigned long long)t->count);
    put_words(t, out, words, n, "abbreviation", SENTENCE_ABBREVIATION);
    put_words(t, out, words, n, "number", SENTENCE_NUMBER);
    put_words(t, out, words, n, "opener", SENTENCE_OPENER);
    if (t->ordinals >= SEEN_MIN && (double)t->ordinals >= ORDINAL_MIN * (double)t->small_numbers)
        buf_adds(out, "ordinals\n");
    return 0;
}

int sentence_trainer_write(const struct sentence_trainer *t, const char *path)
{
    SCOPED(buf) table = BUF_INIT;
    return sentence_trainer_finish(t, &table) < 0 ? -1 : file_write(path, table.data, table.len);
}
