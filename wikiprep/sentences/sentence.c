#include "wikiprep/sentences/sentence.h"

#include "common/base/lines.h"
#include "common/base/utf8.h"
#include "wikiprep/sentences/letter.h"
#include "wikiprep/sentences/sentence_list.h"
#include "wikiprep/sentences/sentence_mark.h"

enum {
    SEGMENT_MAX = 3,    /* most letters between periods in an abbreviation: "Ph.D." */
    WHOLE_WORD_MIN = 4, /* fewest letters of a word that cannot be an abbreviation */
    REACH_MAX = 400,    /* most bytes in which the other end of quotes or brackets is looked for */
};

/* ---- words ---------------------------------------------------------------------------------- */

struct word {
    const char *s;
    size_t n;
    int letters, digits, periods;
    int longest; /* longest run of letters */
    struct letter before;
};

/* Returns the word that ends at s: letters, digits and periods. */
static struct word word_before(const char *begin, const char *s)
{
    struct word w = { .s = s };
    int run = 0;
    for (;;) {
        struct letter c = w.before = letter_before(begin, w.s);
        if (!c.len || w.n > SENTENCE_WORD_MAX_BYTES)
            break;
        if (!letter_is_alphabetic(c.kind) && c.kind != LETTER_DIGIT && c.code != '.' &&
            c.code != 0xB0 && c.code != 0xBA && c.code != 0xAA) /* n° nº nª */
            break;
        run = letter_is_alphabetic(c.kind) ? run + 1 : 0;
        w.longest = run > w.longest ? run : w.longest;
        w.letters += letter_is_alphabetic(c.kind);
        w.digits += c.kind == LETTER_DIGIT;
        w.periods += c.code == '.';
        w.s -= c.len;
        w.n += c.len;
    }
    return w;
}

/* Returns the length of the word at s: letters, with apostrophes between them. */
static size_t word_at(const char *s, const char *end)
{
    const char *p = s;
    while (p < end) {
        struct letter c = letter_at(p, end);
        int apostrophe = (c.code == '\'' || c.code == 0x2019) && p > s &&
                         letter_is_alphabetic(letter_at(p + c.len, end).kind);
        if (!letter_is_alphabetic(c.kind) && !apostrophe)
            break;
        p += c.len;
    }
    return (size_t)(p - s);
}

static unsigned kinds_of(const struct sentence_model *m, const char *s, size_t n)
{
    char lower[SENTENCE_WORD_MAX_BYTES];
    if (n > sizeof lower)
        return 0;
    return sentence_model_word(m, lower, letter_lower(lower, s, n));
}

/* Returns 1 if the model says that the capitalized word at s begins sentences, else 0. */
static int is_opener(const struct sentence_mark *p, const char *s)
{
    size_t n = word_at(s, p->end);
    if (s + n < p->end && s[n] == '.' && letter_at(s, p->end).len == n) /* "A." is an initial */
        return 0;
    if (kinds_of(p->model, s, n) & SENTENCE_OPENER)
        return 1;
    for (size_t i = 1; i < n; i++) /* "It's", "L'état" */
        if (s[i] == '\'' || !memcmp(s + i, "\xE2\x80\x99", n - i < 3 ? n - i : 3))
            return (kinds_of(p->model, s, i) & SENTENCE_OPENER) != 0;
    return 0;
}

static int is_capitals(const struct word *w)
{
    struct letter c;
    for (const char *s = w->s, *end = s + w->n; s < end; s += c.len)
        if ((c = letter_at(s, end)).kind != LETTER_UPPER)
            return 0;
    return 1;
}

/* Returns 1 if the model has w and the word at s as a pair, else 0. An initial is "." there, and a
 * capitalized word must follow the pair: "J. Le Goff". */
static int is_pair(const struct sentence_mark *p, const struct word *w, const char *s)
{
    size_t n = word_at(s, p->end), len = 1;
    char pair[SENTENCE_WORD_MAX_BYTES] = ".";
    if (w->n + 1 + n > sizeof pair)
        return 0;
    if (w->letters > 1 || !is_capitals(w))
        len = letter_lower(pair, w->s, w->n);
    else if (letter_at(sentence_mark_skip_spaces(s + n, p->end), p->end).kind != LETTER_UPPER)
        return 0;
    pair[len++] = ' ';
    len += letter_lower(pair + len, s, n);
    return (sentence_model_word(p->model, pair, len) & SENTENCE_PAIR) != 0;
}

static int is_roman(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("IVXLC", s[i]))
            return 0;
    return n > 0;
}

/* Returns 1 if a number (digits or a Roman number) is at s, else 0. "I" with a space after it is a
 * word. */
static int is_number(const char *s, const char *end)
{
    size_t n = word_at(s, end);
    if (!n)
        return letter_at(s, end).kind == LETTER_DIGIT;
    return is_roman(s, n) && !(n == 1 && *s == 'I' && s + 1 < end && s[1] == ' ');
}

static int is_capitalized(const struct sentence_mark *p, const struct word *w)
{
    return letter_at(w->s, p->end).kind == LETTER_UPPER;
}

/* Returns 1 if the word ends in a vowel, else 0. Abbreviations seldom do, because words are
 * shortened before a vowel. */
static int ends_in_vowel(const struct word *w)
{
    static const char vowels[] = "aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýÿāăąēėęěīıōőœūůűąę"
                                 "αεηιουωάέήίόύώаеёиоуыэюяіїє";
    char lower[SENTENCE_WORD_MAX_BYTES + 1];
    if (w->n >= sizeof lower)
        return 1;
    size_t n = letter_lower(lower, w->s, w->n);
    struct letter last = letter_before(lower, lower + n);
    lower[n] = '\0';
    return strstr(vowels, lower + n - last.len) != NULL;
}

/* Returns 1 if the word w before a period is not an abbreviation, else 0. The word at s, in lower
 * case, follows the period. */
static int is_whole(const struct sentence_mark *p, const struct word *w, const char *s)
{
    if (!w->n) /* no word: "(…).", or a period after a space in tokenized text, which ends no
                  abbreviation */
        return w->before.kind == LETTER_CLOSE || w->before.kind == LETTER_QUOTE ||
               (w->before.kind == LETTER_SPACE && is_opener(p, s));
    if (w->letters < 2 || w->digits || w->periods)
        return 0;
    unsigned kinds = kinds_of(p->model, w->s, w->n);
    if (kinds & (SENTENCE_TITLE | SENTENCE_NUMBER | SENTENCE_ABBREVIATION))
        return 0;
    if (kinds & SENTENCE_OPENER)
        return 1;
    return w->letters >= WHOLE_WORD_MIN &&
           (ends_in_vowel(w) || (!is_capitalized(p, w) && is_opener(p, s)));
}

/* ---- one mark ------------------------------------------------------------------------------- */

enum verdict { GOES_ON, ENDS, ASK_NEXT };

/* Returns 1 if the letter w is the last of several, as in "the cases A and B", or the number of a
 * word, as in "day B"; 0 for an initial: "I met J. Smith", "a J. Pérez". "And" is an opener. */
static int is_counted(const struct sentence_mark *p, const struct word *w)
{
    struct word last = word_before(p->begin, w->s - w->before.len);
    struct word other = word_before(p->begin, last.s - last.before.len);
    unsigned kinds = is_capitalized(p, &last) ? 0 : kinds_of(p->model, last.s, last.n);
    int listed = kinds & SENTENCE_OPENER && other.letters == 1 && !other.periods &&
                 other.s > sentence_mark_skip_open(p->begin, p->end) && is_capitalized(p, &other);
    return listed || (kinds & SENTENCE_NUMBER && last.letters > 2);
}

/* Decides for a single letter w before a period whether the sentence ends; ASK_NEXT leaves this to
 * the word after it. The letter's case matters: "v." is an abbreviation, "V." an initial. */
static enum verdict judge_letter(const struct sentence_mark *p, const struct word *w,
                                 const char *next)
{
    struct letter outer = letter_before(p->begin, w->s - w->before.len);
    int spelled = w->before.code == '-' && letter_at(w->s, p->end).kind == LETTER_CASELESS;
    int in_acronym = (spelled || w->before.code == '"' || w->before.code == 0x5F4) &&
                     letter_is_alphabetic(outer.kind);                /* Hebrew: AB"C, A-B-C */
    int clipped = w->before.code == '\'' || w->before.code == 0x2019; /* "Newton's." */
    if (clipped || in_acronym || is_counted(p, w))
        return ENDS;
    unsigned kinds = sentence_model_word(p->model, w->s, w->n);
    if (kinds & SENTENCE_TITLE || (kinds & SENTENCE_NUMBER && is_number(next, p->end)))
        return GOES_ON;
    int small = letter_at(w->s, w->s + w->n).kind == LETTER_LOWER; /* a unit or variable */
    return small && !(kinds & SENTENCE_ABBREVIATION) ? ENDS : ASK_NEXT;
}

/* Returns the end of the number at s, which has at most DIGITS_MAX digits, or NULL if there is
 * none. `many` 1: several numbers may be joined, "2,3" or "4–6". */
static const char *number_end(const char *s, const char *end, int many)
{
    enum { DIGITS_MAX = 3 };
    const char *last = NULL;
    for (int joins = 1; joins;) {
        const char *begin = s;
        while (s < end && *s >= '0' && *s <= '9')
            s++;
        if (s == begin || s - begin > DIGITS_MAX)
            break;
        last = s;
        struct letter c = letter_at(s, end);
        joins = many && (c.code == ',' || c.code == '-' || c.code == 0x2013);
        s += c.len;
    }
    return last;
}

/* Decides from the word w before a period whether the sentence ends; ASK_NEXT leaves this to the
 * word at `next`, after the period. */
static enum verdict judge_word(const struct sentence_mark *p, const struct word *w,
                               const char *next)
{
    if (w->letters == 1 && !w->periods && !w->digits && letter_at(w->s, p->end).len == w->n)
        return judge_letter(p, w, next);
    unsigned kinds = kinds_of(p->model, w->s, w->n);
    if (is_capitals(w)) /* "MS" is a title only if listed as "MS" */
        kinds = (kinds & ~(unsigned)SENTENCE_TITLE) | sentence_model_word(p->model, w->s, w->n);
    if (kinds & SENTENCE_TITLE || (kinds & SENTENCE_NUMBER && is_number(next, p->end)))
        return GOES_ON;
    int ordinals = p->model->marks.ordinals;
    const char *number = number_end(next, p->end, 0); /* "1990. 5. 3.", not "1990. 1. FC Köln" */
    int date = w->digits == 4 && number && letter_at(number, p->end).code == '.' &&
               number_end(sentence_mark_skip_spaces(number + 1, p->end), p->end, 0);
    if (w->digits)
        return ordinals && (w->digits <= 2 || date) && !w->letters && !w->periods ? ASK_NEXT : ENDS;
    if (w->periods && w->longest <= SEGMENT_MAX && *w->s != '.') /* U.S. a.m. Ph.D. */
        return ASK_NEXT;
    if (ordinals && is_roman(w->s, w->n))
        return ASK_NEXT;
    return kinds & SENTENCE_ABBREVIATION ? ASK_NEXT : ENDS;
}

/* Returns 1 for text such as "end.Next", which lacks a space between a plain lower-case word and an
 * opener; else 0. */
static int lacks_space(const struct sentence_mark *p)
{
    if (p->dots != 1 || p->asks || p->after != p->mark + 1)
        return 0;
    struct word w = word_before(p->begin, p->mark);
    if (w.periods || w.digits || w.letters < 2 || letter_at(w.s, p->end).kind != LETTER_LOWER ||
        (w.before.len && w.before.kind != LETTER_SPACE))
        return 0;
    size_t n = word_at(p->after, p->end);
    return n > 1 && p->after + n < p->end && p->after[n] == ' ' &&
           letter_at(p->after, p->end).kind == LETTER_UPPER &&
           letter_at(p->after + 1, p->end).kind == LETTER_LOWER && is_opener(p, p->after);
}

/* Returns 1 if a comma or a Japanese particle follows the mark, else 0. They continue the sentence
 * after a quotation, “好！”，他说。 or 「はい。」と言った。, or a name. */
static int is_particle(const struct sentence_mark *p)
{
    const char *particles = p->quoted ? "，、のをとがはにでも" : "，、のを"; /* begin no word */
    return p->end - p->after >= 3 && memmem(particles, strlen(particles), p->after, 3);
}

/* Returns 1 if the mark is "!" or "?" in Chinese or Japanese text, which needs no space after it;
 * else 0. */
static int asks_without_space(const struct sentence_mark *p)
{
    const unsigned before = letter_before(p->begin, p->mark).code;
    return p->asks && before >= 0x3040 && before <= 0x9FFF && /* Chinese or kana */
           !is_particle(p) && letter_at(p->after, p->end).kind != LETTER_DASH;
}

/* Returns 1 if a mark other than a period ends a sentence before the capitalized word or number at
 * s, else 0. `dashed` 1: a dash is between them. */
static int question_ends(const struct sentence_mark *p, const char *s, int dashed)
{
    struct word w = word_before(p->begin, p->mark);
    int name = p->after == p->mark + 1 && w.n < SENTENCE_WORD_MAX_BYTES && /* "Yahoo!" */
               kinds_of(p->model, w.s, w.n + 1) & SENTENCE_ABBREVIATION;
    int title = dashed && is_capitalized(p, &w); /* "Help! – The Beatles" */
    return !(name || title) || is_opener(p, s);
}

/* Returns 1 if an ellipsis ends a sentence before the word or number at s, else 0. It does directly
 * after a word of several letters. In titles ("I Am... Anna"), after a space, and in ". . .", only
 * before an opener (sentence.h). */
static int ellipsis_ends(const struct sentence_mark *p, const char *s, enum letter_kind next)
{
    struct word w = word_before(p->begin, p->mark);
    struct word last = word_before(p->begin, w.s - w.before.len);
    int title = is_capitalized(p, &w) && w.s > sentence_mark_skip_open(p->begin, p->end) &&
                (next == LETTER_DIGIT || is_capitalized(p, &last));
    int joined = w.letters > 1 || (!w.n && w.before.kind == LETTER_CLOSE);
    if (joined && !title && !p->spaced)
        return 1;
    int is_i = *s == 'I' && word_at(s, p->end) == 1; /* "I" is always capitalized */
    return next != LETTER_DIGIT && !(is_i && p->spaced) && is_opener(p, s);
}

/* Returns 1 if a period ends a sentence before the capitalized word or number at s, else 0. */
static int period_ends(const struct sentence_mark *p, const char *s, enum letter_kind next)
{
    struct word w = word_before(p->begin, p->mark);
    if (!p->quoted && sentence_list_is_number(p->begin, p->mark))
        return 0;
    enum verdict v = judge_word(p, &w, s);
    if (v != ASK_NEXT)
        return v == ENDS;
    return next != LETTER_DIGIT && is_opener(p, s) && !is_pair(p, &w, s);
}

/* Returns the position after the dashes at s and the spaces after them. */
static const char *skip_dash(const char *s, const char *end)
{
    for (struct letter c;
         (c = letter_at(s, end)).code == '-' || (c.code >= 0x2010 && c.code <= 0x2015);)
        s += c.len;
    return sentence_mark_skip_spaces(s, end);
}

/* Returns 1 if the mark is inside round brackets, "(… next year. — The editor)", else 0. */
static int is_inside_bracket(const struct sentence_mark *p)
{
    const char *begin = p->after - p->begin > REACH_MAX ? p->after - REACH_MAX : p->begin;
    for (const char *s = p->after; s > begin; s--)
        if (s[-1] == '(' || s[-1] == ')')
            return s[-1] == '(';
    return 0;
}

/* Returns 1 if the word at s, after a dash, is a place or an initial, else 0. Bibliographies have
 * such words: "Titel. – Wien: Gerold", "Название. — М. : Наука". */
static int is_imprint(const char *s, const char *end)
{
    const char *after = s + word_at(s, end);
    int initial = after < end && *after == '.' && s + letter_at(s, end).len == after;
    return initial || (after < end && *after == ':');
}

/* Returns 1 if a sentence begins at p->next with a lower-case letter, else 0. It does not after a
 * single "!", which ends many names and titles. */
static int begins_small(const struct sentence_mark *p)
{
    struct word w = word_before(p->begin, p->mark);
    if (p->quoted || p->bracketed || p->squared || p->noted ||
        (p->dots && (p->asks || p->dots > 1)))
        return 0;
    if (p->dots)
        return is_whole(p, &w, p->next);
    if (w.n ? w.letters < 2 || is_capitalized(p, &w) : w.before.kind != LETTER_SPACE)
        return 0;
    return p->after - p->mark > 1 || (*p->mark != '!' && is_opener(p, p->next));
}

/* Returns 1 if the word is too long for an abbreviation, or is a known opener. Else returns 0. */
static int is_plain_word(const struct sentence_mark *p, const struct word *w)
{
    return w->letters > 1 && !w->digits && !w->periods &&
           (w->letters >= WHOLE_WORD_MIN || kinds_of(p->model, w->s, w->n) & SENTENCE_OPENER);
}

/* Adds to the mark, by moving p->after and p->next, a note that is printed as a bare number between
 * a sentence and a capitalized opener: "… of their rights. 4 Even though …", or in papers "… of
 * their rights.2,3 Even though …". */
static void take_number(struct sentence_mark *p)
{
    int joined = p->after == p->next;
    const char *s = number_end(p->next, p->end, joined);
    struct word w = word_before(p->begin, p->mark);
    if (!s || s == p->end || *s != ' ' || (joined && !is_plain_word(p, &w)))
        return;
    const char *next = sentence_mark_skip_spaces(s, p->end);
    if (letter_at(next, p->end).kind != LETTER_UPPER || !is_opener(p, next) ||
        (p->dots && (p->dots > 1 || judge_word(p, &w, p->next) != ENDS)))
        return;
    p->noted = 1;
    p->after = s;
    p->next = next;
}

/* Returns 1 if the mark ends a sentence, else 0. The next word begins at s, with a character of the
 * kind `next`: an upper-case letter, a digit, a letter without case or a symbol. `dashed` 1: a dash
 * stands before it. */
static int ends_before(const struct sentence_mark *p, const char *s, enum letter_kind next,
                       int dashed)
{
    if (p->noted)
        return 1;
    if (p->squared || (dashed && p->quoted)) /* "[...] The", "[which?] Moon"; "I came." – Caesar */
        return is_opener(p, s);
    if (p->asks)
        return question_ends(p, s, dashed) &&
               !(next == LETTER_DIGIT && s > p->next && s[-1] == '(') && /* "Who? (1966)" */
               !(next == LETTER_CASELESS && p->after[-1] == ')' && *p->begin != '(');
    if (p->dots == 1)
        return period_ends(p, s, next);
    return p->quoted || p->dots != 3 || ellipsis_ends(p, s, next);
}

static int is_hangul(unsigned c)
{
    return c >= 0xAC00 && c <= 0xD7A3;
}

/* Returns 1 if a form of the Korean "so", "say" or "be" is at s, as after a quotation; else 0. */
static int says_in_korean(const char *s, const char *end)
{
    static const char *const forms[] = { "라고", "라는", "라며", "라면서", "이라",
                                         "하고", "하며", "하는", "하면서" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if ((size_t)(end - s) >= strlen(forms[i]) && !memcmp(s, forms[i], strlen(forms[i])))
            return 1;
    return 0;
}

/* Returns 1 if the words after a quotation report speech, else 0: “好。”他说。 Only scripts without
 * case are looked at. Except in Korean, the sentence must begin with the quotation. */
static int reports_speech(const struct sentence_mark *p)
{
    struct letter c = letter_at(p->next, p->end);
    if (!p->quoted || p->after[-1] == '.' || c.kind != LETTER_CASELESS)
        return 0;
    const char *s = sentence_mark_skip_spaces(p->begin, p->end);
    return is_hangul(c.code) ? says_in_korean(p->next, p->end)
                             : sentence_mark_skip_open(s, p->end) > s;
}

/* Returns 1 if a capitalized word is at s: also "iPod", or "'s Avonds", which begins a sentence in
 * Dutch. The letter at s is c. */
static int is_capitalized_at(const struct sentence_mark *p, const char *s, struct letter c)
{
    if (c.kind != LETTER_LOWER)
        return c.kind == LETTER_UPPER;
    int clipped = letter_before(p->next, s).code == '\'' ||
                  letter_before(p->next, s).code == 0x2019;
    int gap = clipped && letter_at(s + c.len, p->end).code == ' ';
    return letter_at(s + c.len + gap, p->end).kind == LETTER_UPPER;
}

/* Returns 1 if the mark is inside quotes after which its sentence goes on, else 0. After « » it
 * goes on with a lower-case word: «I came. I saw» was all he wrote. After Korean quotes it goes on
 * with letters joined to them, or with a form of "say". */
static int is_inside_quotes(const struct sentence_mark *p)
{
    const char *s = p->next, *end = p->end - s > REACH_MAX ? s + REACH_MAX : p->end;
    if (!p->quoted && is_hangul(letter_at(s, end).code)) {
        const char *quote = memchr(s, '"', (size_t)(end - s));
        const char *curly = bytes_find(s, end, "\xE2\x80\x9D", 3);
        quote = curly && (!quote || curly < quote) ? curly + 2 : quote;
        return quote && quote[-1] != ' ' && quote[-1] != '(' &&
               (is_hangul(letter_at(quote + 1, end).code) ||
                says_in_korean(sentence_mark_skip_spaces(quote + 1, end), end));
    }
    for (int open = p->guillemets; open > 0 && (s = memchr(s, 0xC2, (size_t)(end - s)));) {
        struct letter c = letter_at(s, end);
        s += c.len;
        open += (c.code == 0xAB) - (c.code == 0xBB);
        if (!open)
            return s < end && *s == ' ' &&
                   letter_at(sentence_mark_skip_spaces(s, end), end).kind == LETTER_LOWER;
    }
    return 0;
}

/* Returns 1 for a bracket or quotation mark of Chinese and Japanese that opens, -1 for one that
 * closes; 0 for other characters. */
static int wide_bracket(unsigned c)
{
    const int is_one = (c >= 0x3008 && c <= 0x3011) || (c | 1) == 0x3015 || (c | 1) == 0xFF09 ||
                       (c | 1) == 0x201D || (c | 1) == ')';
    return !is_one ? 0 : c & 1 ? -1 : 1;
}

/* Returns 1 if the sentence goes on after the mark, else 0. It goes on if the mark is inside such
 * brackets, as in （？－1234年）, or if it is a question or exclamation mark before a bracket that
 * closes, as in 《谁？》和. */
static int is_inside_wide(const struct sentence_mark *p)
{
    const char *s = p->after - p->begin > REACH_MAX ? p->after - REACH_MAX : p->begin;
    const char *end = p->end - p->after > REACH_MAX ? p->after + REACH_MAX : p->end;
    const unsigned last = letter_before(p->begin, p->after).code;
    int open = 0;
    for (unsigned c; s < p->after || (open && s < end);) {
        s += utf8_read(s, (size_t)(end - s), &c);
        open += open || wide_bracket(c) > 0 ? wide_bracket(c) : 0;
    }
    if (s > p->after)
        return !open;
    /* reports_speech and is_particle decide after closing quotation marks */
    return wide_bracket(last) < 0 && last > 0x201D && last != 0x300D && last != 0x300F &&
           letter_at(p->mark, p->end).code != 0x3002 &&
           wide_bracket(letter_at(p->begin, p->end).code) < 1;
}

/* Returns 1 if the number of a verse is between the mark and another danda, "॥१.२॥"; else 0. */
static int is_verse_number(const struct sentence_mark *p)
{
    const char *s = p->next, *end = p->end;
    struct letter c;
    while ((c = letter_at(s, end)).kind == LETTER_DIGIT || c.kind == LETTER_DASH || c.code == '.')
        s += c.len;
    unsigned mark = letter_at(sentence_mark_skip_spaces(s, end), end).code;
    return s > p->next && (mark == 0x964 || mark == 0x965);
}

static int ends(const struct sentence_mark *p)
{
    if (p->next == p->end || reports_speech(p) || is_inside_quotes(p))
        return 0;
    if (letter_at(p->mark, p->end).code >= 0x3000 && is_inside_wide(p))
        return 0;
    if (p->full) /* "។ល។" is "etc." in Khmer */
        return !is_particle(p) && !is_verse_number(p) &&
               !bytes_begin(p->after, (size_t)(p->end - p->after), "ល។");
    if (p->next == p->after)
        return lacks_space(p) || (asks_without_space(p) && !is_inside_wide(p));
    const char *dash = skip_dash(p->next, p->end);
    int dashed = dash > p->next;
    const char *s = sentence_mark_skip_open(dash, p->end);
    struct letter c = letter_at(s, p->end);
    if (is_capitalized_at(p, s, c))
        c.kind = LETTER_UPPER;
    if (dashed && (is_imprint(s, p->end) || is_inside_bracket(p)))
        return 0;
    if (c.kind == LETTER_UPPER ||
        (!dashed && (c.kind == LETTER_CASELESS || c.kind == LETTER_DIGIT)))
        return ends_before(p, s, c.kind, dashed);
    if (s != p->next)
        return 0;
    int sign = c.kind == LETTER_OTHER && (c.code >= 0x80 || c.code == '#' || c.code == '$');
    return sign ? ends_before(p, s, c.kind, 0) : c.kind == LETTER_LOWER && begins_small(p);
}

/* ---- paragraphs ----------------------------------------------------------------------------- */

static void add_sentence(struct buf *out, const char *s, const char *end)
{
    s = sentence_mark_skip_spaces(s, end);
    while (end > s && end[-1] == ' ')
        end--;
    if (s == end)
        return;
    buf_add(out, s, (size_t)(end - s));
    buf_addc(out, '\n');
}

/* Returns 1 if the character at s may end a sentence in this language, else 0. */
static int is_mark(const struct sentence_model *m, const char *s, struct letter c, const char *end)
{
    const struct sentence_marks *marks = &m->marks;
    if (c.code < 128 && marks->pauses[c.code])
        return letter_at(s + c.len, end).code == c.code; /* "..." is not a pause */
    return c.kind == LETTER_END || c.kind == LETTER_FULL_END ||
           (c.code < 128 && marks->ends[c.code]);
}

/* Returns the position of the next byte that may begin a mark, or `end`. Tests four bytes at a
 * time, because most of the splitting time is spent here. */
static const char *skip_plain(const unsigned char *may_mark, const char *text, const char *end)
{
    const unsigned char *s = (const unsigned char *)text, *stop = (const unsigned char *)end;
    while (stop - s >= 4 && !(may_mark[s[0]] | may_mark[s[1]] | may_mark[s[2]] | may_mark[s[3]]))
        s += 4;
    while (s < stop && !may_mark[*s])
        s++;
    return (const char *)s;
}

static void split(const struct sentence_model *m, struct buf *out, const char *s, const char *end)
{
    const unsigned char *may_mark = m->marks.first_bytes;
    struct sentence_mark p = { .model = m, .text = s, .begin = s, .end = end };
    while ((s = skip_plain(may_mark, s, end)) < end) {
        struct letter c = letter_at(s, end);
        if (!is_mark(m, s, c, end)) {
            p.guillemets += (c.code == 0xAB) - (c.code == 0xBB);
            s += c.len;
            continue;
        }
        p.mark = s;
        sentence_mark_read(&p);
        take_number(&p);
        s = p.after;
        p.guillemets = p.quoted ? 0 : p.guillemets;
        if (ends(&p)) {
            add_sentence(out, p.begin, p.after);
            p.begin = s = p.next;
            p.guillemets = 0;
        }
    }
    add_sentence(out, p.begin, p.end);
}

void sentence_split(const struct sentence_model *m, struct buf *out, const char *s, size_t n)
{
    const char *end = s + n;
    while (s < end) {
        const char *next = sentence_list_next(s, end);
        split(m, out, s, next);
        s = next;
    }
}

void sentence_split_text(const struct sentence_model *m, struct buf *out, const char *s, size_t n)
{
    struct lines l = LINES_OF(s, n);
    buf_clear(out);
    while (lines_next(&l)) {
        sentence_split(m, out, l.line, l.len);
        if (out->len > 1 && out->data[out->len - 2] != '\n')
            buf_addc(out, '\n');
    }
    buf_rtrim(out);
}
