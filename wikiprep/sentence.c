#include "wikiprep/sentence.h"

#include <stdlib.h>
#include <string.h>

/* ---- characters -------------------------------------------------------------------------- */

enum kind {
    OTHER,
    UPPER,
    LOWER,
    CASELESS, /* a letter of a script without case */
    DIGIT,
    SPACE,
    OPEN,     /* brackets and quotes that open, or may */
    CLOSE,    /* brackets and quotes that close, or may */
    QUOTE,    /* one that does either: " ' */
    END,      /* . ! ? … and those of other scripts */
    FULL_END, /* of a script that has no spaces */
};

struct character {
    unsigned code;
    size_t len;
    enum kind kind;
};

static unsigned decode(const char *s, const char *end, size_t *len)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t n = u[0] < 0x80 ? 1 : u[0] >= 0xF0 ? 4 : u[0] >= 0xE0 ? 3 : u[0] >= 0xC0 ? 2 : 1;
    if (n > (size_t)(end - s))
        n = 1;
    *len = n;
    switch (n) {
    case 2:
        return (u[0] & 0x1Fu) << 6 | (u[1] & 0x3Fu);
    case 3:
        return (u[0] & 0x0Fu) << 12 | (u[1] & 0x3Fu) << 6 | (u[2] & 0x3Fu);
    case 4:
        return (u[0] & 0x07u) << 18 | (u[1] & 0x3Fu) << 12 | (u[2] & 0x3Fu) << 6 | (u[3] & 0x3Fu);
    default:
        return u[0];
    }
}

static int one_of(unsigned c, const unsigned *list)
{
    for (; *list; list++)
        if (*list == c)
            return 1;
    return 0;
}

static enum kind kind_of_ascii(unsigned c)
{
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    if (c >= 'a' && c <= 'z')
        return LOWER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    return c == ' ' || c == '\t'              ? SPACE
           : c == '(' || c == '[' || c == '{' ? OPEN
           : c == ')' || c == ']' || c == '}' ? CLOSE
           : c == '"' || c == '\''            ? QUOTE
           : c == '.' || c == '!' || c == '?' ? END
                                              : OTHER;
}

/* Letters of the alphabets that have case, below U+2000; OTHER for the rest. */
static enum kind kind_of_cased(unsigned c)
{
    if (c >= 0xC0 && c <= 0xFF)
        return c == 0xD7 || c == 0xF7 ? OTHER : c <= 0xDE ? UPPER : LOWER;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) /* pairs that begin odd */
        return c & 1 ? UPPER : LOWER;
    if ((c >= 0x100 && c <= 0x17F) || (c >= 0x460 && c <= 0x52F) || (c >= 0x1E00 && c <= 0x1EFF))
        return c & 1 ? LOWER : UPPER;
    if (c >= 0x370 && c <= 0x3FF)
        return c <= 0x3AB && c != 0x390 ? UPPER : LOWER;
    if (c >= 0x400 && c <= 0x45F)
        return c <= 0x42F ? UPPER : LOWER;
    if (c >= 0x531 && c <= 0x587)
        return c <= 0x556 ? UPPER : LOWER;
    return OTHER;
}

static enum kind kind_of(unsigned c)
{
    static const unsigned open[] = { 0xA1,   0xAB,   0xBF,   0x2018, 0x201A, 0x201C, 0x201E, 0x2039,
                                     0x3008, 0x300A, 0x300C, 0x300E, 0x3010, 0xFF08, 0 };
    static const unsigned close[] = { 0xBB,   0x2019, 0x201D, 0x203A, 0x3009, 0x300B,
                                      0x300D, 0x300F, 0x3011, 0xFF09, 0 };
    static const unsigned end[] = { 0x589,  0x61F,  0x6D4,  0x964,  0x965,  0x104B, 0x1362, 0x17D4,
                                    0x2026, 0x203C, 0x203D, 0x2047, 0x2048, 0x2049, 0 };
    static const unsigned full_end[] = { 0x3002, 0xFF01, 0xFF1F, 0xFF61, 0 };
    static const unsigned space[] = { 0xA0, 0x2009, 0x202F, 0x3000, 0 };
    if (c < 0x80)
        return kind_of_ascii(c);
    enum kind cased = kind_of_cased(c);
    if (cased != OTHER)
        return cased;
    if (c > 0x3040 && c < 0xFF00)
        return CASELESS; /* Chinese, Japanese, Korean and what is alike */
    if (one_of(c, open))
        return OPEN;
    if (one_of(c, close))
        return CLOSE;
    if (one_of(c, end))
        return END;
    if (one_of(c, full_end))
        return FULL_END;
    if (one_of(c, space))
        return SPACE;
    return (c >= 0x5BE && c < 0x2000) || c >= 0x10000 ? CASELESS : OTHER;
}

static struct character at(const char *s, const char *end)
{
    struct character c = { 0 };
    if (s < end) {
        c.code = decode(s, end, &c.len);
        c.kind = kind_of(c.code);
    }
    return c;
}

static int is_letter(enum kind c)
{
    return c == UPPER || c == LOWER || c == CASELESS;
}

/* The character in front of s; bytes that are no UTF-8 make one, however many. */
static struct character before(const char *begin, const char *s)
{
    if (s == begin)
        return (struct character) { 0 };
    const char *p = s - 1;
    while (p > begin && ((unsigned char)*p & 0xC0) == 0x80)
        p--;
    struct character c = at(p, s);
    c.len = (size_t)(s - p);
    return c;
}

/* ---- abbreviations ----------------------------------------------------------------------- */

/* clang-format off */
/* Sorted, in lower case. Those that something always follows: titles, "see", "born". */
static const char *const never[] = {
    "abb", "abs", "abt", "adj", "adm", "adv", "amb", "apdo", "appx", "assoc", "attn", "av", "ave",
    "bd", "bde", "bgen", "bldg", "blvd", "brig", "bros", "bzw", "ca", "capt", "cdr", "cf", "cfr",
    "cit", "cllr", "cmdr", "col", "comdr", "cpl", "cpt", "dept", "dgl", "dipl", "doz", "dr", "dra",
    "drs", "ed", "eds", "engr", "esp", "evtl", "exc", "excl", "fr", "ft", "geb", "gen", "gest",
    "ggf", "gov", "hon", "hosp", "hr", "hrsg", "incl", "ing", "inkl", "insp", "jg", "kap", "kgl",
    "lat", "lic", "lieut", "lt", "ltcol", "ltgen", "maj", "mdm", "messrs", "mfg", "mgr", "mio",
    "mlle", "mme", "mons", "mr", "mrd", "mrs", "ms", "msgr", "msgt", "mt", "mtn", "mts", "nr",
    "nrs", "núm", "obs", "orig", "pers", "pfc", "phil", "prep", "pres", "prof", "profs", "prov",
    "pseud", "pt", "pte", "pts", "publ", "pvt", "pág", "ref", "refs", "reg", "rep", "reps", "rer",
    "resp", "rev", "revd", "sen", "sens", "sgt", "sog", "sq", "sr", "sra", "st", "ste", "str",
    "supt", "surg", "transl", "univ", "usw", "vgl", "viz", "vs", "zit", "zool", "акад",
    "англ", "г", "гг", "ген", "греч", "др", "им", "лат", "напр", "нем",
    "пр", "проф", "рис", "род", "св", "см", "ст", "стр", "т", "тыс",
    "ул", "фр",
};

/* Those that are abbreviations in front of a number, and else may be words: "no", "art". */
static const char *const numbered[] = {
    "art", "cap", "ch", "chap", "eq", "fig", "figs", "ill", "lit", "max", "min", "no", "nos", "num",
    "op", "p", "pag", "par", "pp", "sec", "sect", "tab", "vol", "vols",
};

/* Those that may end a sentence. */
static const char *const perhaps[] = {
    "al", "approx", "apr", "aug", "avg", "bsc", "cie", "co", "corp", "ctr", "dec", "ecc", "esq",
    "est", "etc", "feb", "fri", "hrs", "ib", "ibid", "inc", "jan", "jr", "jul", "jun", "ltd", "md",
    "mph", "msc", "nov", "oct", "oz", "phd", "plc", "sep", "sept", "sp", "spp", "ssp", "subsp",
    "thu", "thurs", "tue", "tues", "var", "wash", "yr", "yrs",
};
/* clang-format on */

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

#define LISTED(list, word)                                                                         \
    (bsearch(word, list, sizeof list / sizeof *list, sizeof *list, compare) != NULL)

enum abbreviation { NO_ABBREVIATION, MAY_END, NEVER_ENDS };

enum { WORD_MAX_BYTES = 16 };

/* Lower case of the ASCII and two-byte letters that abbreviations are made of. */
static size_t lower_word(char out[WORD_MAX_BYTES + 1], const char *s, size_t n)
{
    if (n > WORD_MAX_BYTES)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        out[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
        if (i && (unsigned char)s[i - 1] == 0xD0 && c >= 0x90 && c <= 0x9F)
            out[i] = (char)(c + 0x20); /* Cyrillic А to П */
    }
    out[n] = '\0';
    return n;
}

/* ---- a period ---------------------------------------------------------------------------- */

static int is_number(struct character c)
{
    return c.kind == DIGIT || (c.code < 0x80 && c.code && strchr("IVXLC", (int)c.code));
}

/* What the word in front of the period at s says; `next` begins what follows. */
static enum abbreviation judge_word(const char *begin, const char *s, const char *next,
                                    const char *end)
{
    const char *word = s;
    int letters = 0, periods = 0, digits = 0;
    for (struct character c; (c = before(begin, word)).len; word -= c.len) {
        if (c.kind == SPACE || c.kind == OPEN || c.kind == QUOTE || c.kind == OTHER)
            break;
        if (c.kind == CLOSE || s - word > 3 * WORD_MAX_BYTES)
            return NO_ABBREVIATION; /* "(x)", a long word, an address */
        letters += is_letter(c.kind);
        periods += c.kind == END;
        digits += c.kind == DIGIT;
    }
    if (digits)
        return NO_ABBREVIATION;
    if (letters == 1 && !periods) /* an initial or a unit; "I" is a word */
        return *word == 'I' ? NO_ABBREVIATION : MAY_END;
    char lower[WORD_MAX_BYTES + 1];
    if (!lower_word(lower, word, (size_t)(s - word)))
        return NO_ABBREVIATION;
    if (periods && letters == periods + 1) /* U.S. a.m. e.g. */
        return !strcmp(lower, "e.g") || !strcmp(lower, "i.e") || !strcmp(lower, "z.b") ||
                       !strcmp(lower, "d.h")
                   ? NEVER_ENDS
                   : MAY_END;
    if (LISTED(never, lower) || (is_number(at(next, end)) && LISTED(numbered, lower)))
        return NEVER_ENDS;
    return LISTED(perhaps, lower) ? MAY_END : NO_ABBREVIATION;
}

/* Words that begin sentences far more often than they are part of a name. */
static int is_starter(const char *s, const char *end)
{
    static const char *const starters[] = {
        "A",     "After", "Although", "An",      "And",   "As",     "At",    "Because", "Before",
        "But",   "By",    "Das",      "Der",     "Die",   "During", "For",   "From",    "He",
        "Her",   "His",   "How",      "However", "I",     "If",     "Il",    "In",      "It",
        "Its",   "La",    "Le",       "Many",    "More",  "Most",   "No",    "On",      "One",
        "Other", "Our",   "She",      "Since",   "Some",  "Such",   "That",  "The",     "Their",
        "There", "These", "They",     "This",    "Those", "Though", "Thus",  "To",      "Under",
        "Until", "Was",   "We",       "What",    "When",  "Where",  "While", "Who",     "Why",
        "With",  "You",   "Your",
    };
    size_t n = 0;
    while (s + n < end && (s[n] | 0x20) >= 'a' && (s[n] | 0x20) <= 'z')
        n++;
    char word[WORD_MAX_BYTES + 1];
    if (!n || n > WORD_MAX_BYTES || (s + n < end && s[n] == '.')) /* "A." is an initial */
        return 0;
    memcpy(word, s, n);
    word[n] = '\0';
    return LISTED(starters, word);
}

/* "1. Item": the number of an item. */
static int is_item_number(const char *begin, const char *s)
{
    size_t digits = 0;
    const char *p = s;
    for (struct character c; (c = before(begin, p)).kind == DIGIT; p -= c.len)
        digits++;
    return digits && digits <= 2 && p == begin;
}

/* Does the mark at s end a sentence, when the next begins at `next`? A space is between. */
static int ends(const char *begin, const char *s, const char *after, const char *next,
                const char *end)
{
    const char *p = next;
    struct character c = at(p, end);
    while (c.kind == OPEN || c.kind == QUOTE) {
        p += c.len;
        c = at(p, end);
    }
    if (c.kind == LOWER || c.kind == END)
        return 0;
    if (c.kind == OTHER && p == next && c.code != '#' && c.code != '$')
        return c.code >= 0x80; /* a dash or comma goes on; a sign may begin */
    int closed = after > s + 1;
    if (*s != '.' || closed)
        return 1;
    if (is_item_number(begin, s))
        return 0;
    enum abbreviation a = judge_word(begin, s, next, end);
    if (a == NEVER_ENDS)
        return 0;
    return a == NO_ABBREVIATION || is_starter(p, end);
}

/* ---- paragraphs -------------------------------------------------------------------------- */

static void add_sentence(struct buf *out, const char *s, const char *end)
{
    while (s < end && *s == ' ')
        s++;
    while (end > s && end[-1] == ' ')
        end--;
    if (s == end)
        return;
    buf_add(out, s, (size_t)(end - s));
    buf_addc(out, '\n');
}

/* Behind the marks, quotes and brackets that follow the mark at s; *full when one needs no space
 * behind it. A straight quote closes if it does not stand behind a space. */
static const char *skip_closing(const char *s, const char *end, int *full)
{
    *full = 0;
    for (;;) {
        struct character c = at(s, end);
        if (c.kind != END && c.kind != FULL_END && c.kind != CLOSE && c.kind != QUOTE)
            return s;
        *full |= c.kind == FULL_END;
        s += c.len;
    }
}

void sentence_split(struct buf *out, const char *s, size_t n)
{
    const char *begin = s, *end = s + n;
    while (s < end) {
        struct character c = at(s, end);
        if (c.kind != END && c.kind != FULL_END) {
            s += c.len;
            continue;
        }
        int full;
        const char *after = skip_closing(s, end, &full), *next = after;
        while (next < end && at(next, end).kind == SPACE)
            next += at(next, end).len;
        int is_end = next < end && (full || (next > after && ends(begin, s, after, next, end)));
        s = after;
        if (is_end) {
            add_sentence(out, begin, after);
            begin = s = next;
        }
    }
    add_sentence(out, begin, end);
}

void sentence_split_text(struct buf *out, const char *s, size_t n)
{
    const char *end = s + n;
    buf_clear(out);
    while (s < end) {
        const char *lf = memchr(s, '\n', (size_t)(end - s));
        const char *line_end = lf ? lf : end;
        sentence_split(out, s, (size_t)(line_end - s));
        if (out->len && out->len > 1 && out->data[out->len - 2] != '\n')
            buf_addc(out, '\n');
        s = line_end + 1;
    }
    buf_rtrim(out);
}
