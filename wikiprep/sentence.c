#include "wikiprep/sentence.h"

#include <string.h>

#include "wikiprep/letter.h"
#include "wikiprep/sentence_list.h"

enum {
    NOTE_MAX_BYTES = 48, /* "[citation needed]" */
    OPENING_MAX = 4,     /* quotes and brackets in front of a word */
    SEGMENT_MAX = 3,     /* letters between the periods of an abbreviation: "Ph.D." */
};

/* A mark that may end a sentence, and what is around it. */
struct spot {
    const struct sentence_model *model;
    const char *begin; /* of the sentence */
    const char *mark;
    const char *after;                     /* of all that belongs to the mark */
    const char *next;                      /* behind the spaces after that */
    const char *end;                       /* of the paragraph */
    int dots;                              /* "...": 3; so is one sign for all three */
    int asks;                              /* has a mark other than periods */
    int spaced;                            /* has spaces between its dots: ". . ." */
    int full;                              /* has one that needs no space behind it */
    int quoted, bracketed, squared, noted; /* is closed by " ) ] [12] */
};

/* ---- words ---------------------------------------------------------------------------------- */

struct word {
    const char *s;
    size_t n;
    int letters, digits, periods;
    int longest; /* run of letters between periods */
    struct letter before;
};

/* The word in front of s, with its inner periods. */
static struct word word_before(const char *begin, const char *s)
{
    struct word w = { .s = s };
    int run = 0;
    for (;;) {
        struct letter c = w.before = letter_before(begin, w.s);
        if (!c.len || w.n > SENTENCE_WORD_MAX_BYTES)
            break;
        int counts = letter_is_alphabetic(c.kind) || c.kind == LETTER_DIGIT || c.code == '.' ||
                     c.code == 0xB0 || c.code == 0xBA || c.code == 0xAA; /* n° nº nª */
        if (!counts)
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

/* The word at s: letters, with apostrophes between them. */
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

/* Does the capitalized word at s open sentences, rather than being a name? */
static int is_opener(const struct sentence_model *m, const char *s, const char *end)
{
    size_t n = word_at(s, end);
    if (s + n < end && s[n] == '.' && letter_at(s, end).len == n) /* "A." is an initial */
        return 0;
    if (kinds_of(m, s, n) & SENTENCE_OPENER)
        return 1;
    for (size_t i = 1; i < n; i++) /* "It's", "L'état" */
        if (s[i] == '\'' || !memcmp(s + i, "\xE2\x80\x99", n - i < 3 ? n - i : 3))
            return (kinds_of(m, s, i) & SENTENCE_OPENER) != 0;
    return 0;
}

/* Does the model know the two words as one? */
static int is_pair(const struct sentence_model *m, const struct word *w, const char *s,
                   const char *end)
{
    size_t n = word_at(s, end);
    char pair[SENTENCE_WORD_MAX_BYTES];
    if (w->n + 1 + n > sizeof pair)
        return 0;
    size_t len = letter_lower(pair, w->s, w->n);
    pair[len++] = ' ';
    len += letter_lower(pair + len, s, n);
    return (sentence_model_word(m, pair, len) & SENTENCE_PAIR) != 0;
}

static int is_capitals(const struct word *w)
{
    struct letter c;
    for (const char *s = w->s, *end = s + w->n; s < end; s += c.len)
        if ((c = letter_at(s, end)).kind != LETTER_UPPER)
            return 0;
    return 1;
}

static int is_roman(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("IVXLC", s[i]))
            return 0;
    return n > 0;
}

/* A number behind an abbreviation: digits, or a Roman one; "I" alone is a word if it goes on. */
static int is_number(const char *s, const char *end)
{
    size_t n = word_at(s, end);
    if (!n)
        return letter_at(s, end).kind == LETTER_DIGIT;
    return is_roman(s, n) && !(n == 1 && *s == 'I' && s + 1 < end && s[1] == ' ');
}

/* ---- one mark ------------------------------------------------------------------------------- */

enum verdict { GOES_ON, ENDS, ASK_NEXT };

/* Abbreviations of one letter are known as they are written: "v." is one, "V." an initial. */
static enum verdict judge_letter(const struct spot *p, const struct word *w, const char *next)
{
    if (w->before.code == '\'' || w->before.code == 0x2019) /* "Newton's." */
        return ENDS;
    unsigned kinds = sentence_model_word(p->model, w->s, w->n);
    if (kinds & SENTENCE_TITLE || (kinds & SENTENCE_NUMBER && is_number(next, p->end)))
        return GOES_ON;
    int small = letter_at(w->s, w->s + w->n).kind == LETTER_LOWER; /* a unit or a variable */
    return small && !(kinds & SENTENCE_ABBREVIATION) ? ENDS : ASK_NEXT;
}

/* What the word in front of a period says. */
static enum verdict judge_word(const struct spot *p, const struct word *w, const char *next)
{
    if (w->letters == 1 && !w->periods && !w->digits && letter_at(w->s, p->end).len == w->n)
        return judge_letter(p, w, next);
    unsigned kinds = kinds_of(p->model, w->s, w->n);
    if (is_capitals(w)) /* "MS", "BP" */
        kinds &= ~(unsigned)SENTENCE_TITLE;
    if (kinds & SENTENCE_TITLE || (kinds & SENTENCE_NUMBER && is_number(next, p->end)))
        return GOES_ON;
    int ordinals = sentence_model_has_ordinals(p->model);
    if (w->digits)
        return ordinals && w->digits <= 2 && !w->letters && !w->periods ? ASK_NEXT : ENDS;
    if (w->periods && w->longest <= SEGMENT_MAX && *w->s != '.') /* U.S. a.m. Ph.D. */
        return ASK_NEXT;
    if (ordinals && is_roman(w->s, w->n))
        return ASK_NEXT;
    return kinds & SENTENCE_ABBREVIATION ? ASK_NEXT : ENDS;
}

/* "end.Next": a space that is missing, between a plain word and an opener. */
static int lacks_space(const struct spot *p)
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
           letter_at(p->after + 1, p->end).kind == LETTER_LOWER &&
           is_opener(p->model, p->after, p->end);
}

/* Japanese goes on behind a quotation with a particle: 「はい。」と言った。 */
static int is_particle(const struct spot *p)
{
    static const unsigned particles[] = { 0x3068, 0x306E, 0x3092, 0x304C,
                                          0x306F, 0x306B, 0x3067, 0x3082 };
    unsigned c = p->quoted && p->next == p->after ? letter_at(p->next, p->end).code : 0;
    for (size_t i = 0; i < sizeof particles / sizeof *particles; i++)
        if (c == particles[i])
            return 1;
    return 0;
}

/* With an ellipsis, or a mark that is not a period, in front of the capitalized word or number at
 * s. */
static int ends_loudly(const struct spot *p, const char *s, enum letter_kind next)
{
    if (p->squared) /* "[...] The", "[which?] Moon" */
        return is_opener(p->model, s, p->end);
    if (p->asks) { /* "Yahoo!" */
        struct word w = word_before(p->begin, p->mark);
        int name = p->after == p->mark + 1 && w.n < SENTENCE_WORD_MAX_BYTES &&
                   kinds_of(p->model, w.s, w.n + 1) & SENTENCE_ABBREVIATION;
        return !name || is_opener(p->model, s, p->end);
    }
    if (p->quoted || p->dots != 3)
        return 1;
    int is_i = *s == 'I' && word_at(s, p->end) == 1; /* always capitalized: tells little */
    return next != LETTER_DIGIT && !(is_i && p->spaced) && is_opener(p->model, s, p->end);
}

/* Does the period end a sentence, in front of the capitalized word or number at s? */
static int period_ends(const struct spot *p, const char *s, enum letter_kind next)
{
    struct word w = word_before(p->begin, p->mark);
    if (!p->quoted && sentence_list_is_number(p->begin, p->mark))
        return 0;
    enum verdict v = judge_word(p, &w, s);
    if (v != ASK_NEXT)
        return v == ENDS;
    return next != LETTER_DIGIT && is_opener(p->model, s, p->end) &&
           !is_pair(p->model, &w, s, p->end);
}

static int ends(const struct spot *p)
{
    if (p->next == p->end)
        return 0;
    if (p->full)
        return !is_particle(p);
    if (p->next == p->after)
        return lacks_space(p);
    const char *s = p->next;
    struct letter c = letter_at(s, p->end);
    for (int i = 0; i < OPENING_MAX && (c.kind == LETTER_OPEN || c.kind == LETTER_QUOTE); i++) {
        s += c.len;
        c = letter_at(s, p->end);
    }
    if (c.kind == LETTER_LOWER && letter_at(s + c.len, p->end).kind == LETTER_UPPER)
        c.kind = LETTER_UPPER; /* iPod, eBay */
    switch (c.kind) {
    case LETTER_UPPER:
    case LETTER_CASELESS:
    case LETTER_DIGIT:
        if (p->noted)
            return 1;
        return p->dots == 1 && !p->asks ? period_ends(p, s, c.kind) : ends_loudly(p, s, c.kind);
    case LETTER_OTHER: /* a sign may begin */
        return s == p->next && (c.code >= 0x80 || c.code == '#' || c.code == '$');
    default: return 0;
    }
}

/* ---- paragraphs -------------------------------------------------------------------------------
 */

/* Bytes that begin the marks of letter.h: END and FULL_END; '?' stands for the model's as well. */
static const unsigned char may_mark[256] = {
    ['.'] = 1,  ['!'] = 1,  ['?'] = 1,  [';'] = 1,  [0xCD] = 1, [0xD6] = 1, [0xD8] = 1,
    [0xDB] = 1, [0xE0] = 1, [0xE1] = 1, [0xE2] = 1, [0xE3] = 1, [0xEF] = 1,
};

/* " . . ." goes on: a period with a space before and none of a word behind. */
static size_t spaced_dot(const char *s, const char *end)
{
    if (end - s < 2 || s[0] != ' ' || s[1] != '.')
        return 0;
    struct letter c = letter_at(s + 2, end);
    return letter_is_alphabetic(c.kind) || c.kind == LETTER_DIGIT ? 0 : 2;
}

/* "[12]", "[citation needed]": its bytes. */
static size_t note_bytes(const char *s, const char *end)
{
    size_t max = end - s < NOTE_MAX_BYTES ? (size_t)(end - s) : NOTE_MAX_BYTES;
    const char *close = *s == '[' ? memchr(s, ']', max) : NULL;
    return close ? (size_t)(close + 1 - s) : 0;
}

/* Reads the mark at p->mark, and the marks, quotes, brackets and notes that follow it. */
static void read_mark(struct spot *p)
{
    const char *s = p->mark;
    p->dots = p->asks = p->spaced = p->full = p->quoted = p->bracketed = p->squared = p->noted = 0;
    for (;;) {
        struct letter c = letter_at(s, p->end);
        size_t more = 0;
        int closed = p->quoted || p->bracketed || p->squared || p->noted;
        if (c.code == '.' || c.code == 0x2026)
            p->dots += c.code == '.' ? 1 : 3;
        else if (c.kind == LETTER_END || (s == p->mark && c.kind == LETTER_DASH))
            p->asks = 1;
        else if (c.kind == LETTER_FULL_END)
            p->full = 1;
        else if (c.code == ')' || c.code == ']')
            *(c.code == ')' ? &p->bracketed : &p->squared) = 1;
        else if (c.kind == LETTER_CLOSE || c.kind == LETTER_QUOTE)
            p->quoted = 1;
        else if (c.len && (more = note_bytes(s, p->end)))
            p->noted = 1;
        else if (!closed && p->dots && (more = spaced_dot(s, p->end))) {
            p->dots++;
            p->spaced = 1;
        } else
            break;
        s += more ? more : c.len;
    }
    p->after = s;
}

static const char *skip_spaces(const char *s, const char *end)
{
    for (struct letter c; (c = letter_at(s, end)).kind == LETTER_SPACE; s += c.len)
        ;
    return s;
}

static void add_sentence(struct buf *out, const char *s, const char *end)
{
    s = skip_spaces(s, end);
    while (end > s && end[-1] == ' ')
        end--;
    if (s == end)
        return;
    buf_add(out, s, (size_t)(end - s));
    buf_addc(out, '\n');
}

static void split(const struct sentence_model *m, struct buf *out, const char *s, const char *end)
{
    struct spot p = { .model = m, .begin = s, .end = end };
    while (s < p.end) {
        if (!may_mark[(unsigned char)*s]) {
            s++;
            continue;
        }
        struct letter c = letter_at(s, p.end);
        if (c.kind != LETTER_END && c.kind != LETTER_FULL_END && !sentence_model_asks(m, c.code)) {
            s += c.len;
            continue;
        }
        p.mark = s;
        read_mark(&p);
        p.next = skip_spaces(p.after, p.end);
        s = p.after;
        if (ends(&p)) {
            add_sentence(out, p.begin, p.after);
            p.begin = s = p.next;
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
    const char *end = s + n;
    buf_clear(out);
    while (s < end) {
        const char *lf = memchr(s, '\n', (size_t)(end - s));
        const char *line_end = lf ? lf : end;
        sentence_split(m, out, s, (size_t)(line_end - s));
        if (out->len > 1 && out->data[out->len - 2] != '\n')
            buf_addc(out, '\n');
        s = line_end + 1;
    }
    buf_rtrim(out);
}
