#include "wikiprep/sentence.h"

#include <stdlib.h>
#include <string.h>

/* ---- characters -------------------------------------------------------------------------- */

enum class {
    OTHER,
    UPPER,
    LOWER,
    CASELESS, /* a letter of a script without case */
    DIGIT,
    SPACE,
    OPEN,  /* brackets and quotes that open, or may */
    CLOSE, /* brackets and quotes that close, or may */
    QUOTE, /* one that does either: " ' */
    END,   /* . ! ? … and those of other scripts */
    FULL_END, /* of a script that has no spaces */
};

struct character {
    unsigned code;
    size_t len;
    enum class class;
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

static enum class class_of_ascii(unsigned c)
{
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    if (c >= 'a' && c <= 'z')
        return LOWER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    switch (c) {
    case ' ': case '\t':
        return SPACE;
    case '(': case '[': case '{':
        return OPEN;
    case ')': case ']': case '}':
        return CLOSE;
    case '"': case '\'':
        return QUOTE;
    case '.': case '!': case '?':
        return END;
    default:
        return OTHER;
    }
}

static enum class class_of(unsigned c)
{
    if (c < 0x80)
        return class_of_ascii(c);
    if (c < 0xC0)
        return c == 0xA0 ? SPACE : c == 0xAB ? OPEN : c == 0xBB ? CLOSE : c == 0xA1 || c == 0xBF ? OPEN : OTHER;
    if (c <= 0xDE)
        return c == 0xD7 ? OTHER : UPPER;
    if (c <= 0xFF)
        return c == 0xF7 ? OTHER : LOWER;
    if (c <= 0x17F) /* Latin Extended-A: pairs, in two phases */
        return (c >= 0x139 && c <= 0x148) || c >= 0x179 ? (c & 1 ? UPPER : LOWER)
                                                        : (c & 1 ? LOWER : UPPER);
    if (c >= 0x370 && c <= 0x3FF)
        return c <= 0x3AB && c != 0x390 ? UPPER : LOWER;
    if (c >= 0x400 && c <= 0x42F)
        return UPPER;
    if (c >= 0x430 && c <= 0x45F)
        return LOWER;
    if (c >= 0x460 && c <= 0x52F)
        return c & 1 ? LOWER : UPPER;
    if (c >= 0x531 && c <= 0x556)
        return UPPER;
    if (c >= 0x561 && c <= 0x587)
        return LOWER;
    if (c >= 0x1E00 && c <= 0x1EFF)
        return c & 1 ? LOWER : UPPER;
    switch (c) {
    case 0x2018: case 0x201C: case 0x201E: case 0x201A: case 0x2039:
    case 0x300C: case 0x300E: case 0x300A: case 0x3008: case 0x3010: case 0xFF08:
        return OPEN;
    case 0x2019: case 0x201D: case 0x203A:
    case 0x300D: case 0x300F: case 0x300B: case 0x3009: case 0x3011: case 0xFF09:
        return CLOSE;
    case 0x2026: case 0x203D: case 0x203C: case 0x2047: case 0x2048: case 0x2049:
    case 0x0589: case 0x061F: case 0x06D4: case 0x0964: case 0x0965: case 0x1362: case 0x104B:
    case 0x17D4:
        return END;
    case 0x3002: case 0xFF01: case 0xFF1F: case 0xFF61:
        return FULL_END;
    case 0x2009: case 0x202F: case 0x3000:
        return SPACE;
    }
    if ((c >= 0x5BE && c < 0x1E00) || (c >= 0x1F00 && c < 0x2000) || c >= 0x3040)
        return c >= 0xFF10 && c <= 0xFF19 ? DIGIT : CASELESS;
    return OTHER;
}

static struct character at(const char *s, const char *end)
{
    struct character c = { 0 };
    if (s < end) {
        c.code = decode(s, end, &c.len);
        c.class = class_of(c.code);
    }
    return c;
}

static int is_letter(enum class c)
{
    return c == UPPER || c == LOWER || c == CASELESS;
}

/* The character in front of s. */
static struct character before(const char *begin, const char *s, const char *end)
{
    if (s == begin)
        return (struct character){ 0 };
    const char *p = s - 1;
    while (p > begin && ((unsigned char)*p & 0xC0) == 0x80)
        p--;
    return at(p, end);
}

/* ---- abbreviations ----------------------------------------------------------------------- */

/* Those that something always follows: titles, "see", "number", "page", "volume". Lower case. */
static const char *const never[] = {
    "abb", "abs", "abt", "adj", "adm", "adv", "amb", "apdo", "appx", "art", "assoc", "attn", "av",
    "ave", "bd", "bd", "bde", "bgen", "bldg", "blvd", "brig", "bros", "bzw", "c", "ca", "cap", "capt", "cdr",
    "cf", "cfr", "cit", "cmdr", "cmsgt", "col", "comdr", "comp", "cpl", "cpt", "cllr", "dept", "dez",
    "dgl", "dipl", "dir", "doct", "doz", "dr", "dra", "drs", "ed", "eds", "eg", "engr", "ens", "esp",
    "eq", "ev", "evtl", "ex", "exc", "excl", "fig", "figs", "fr", "ft", "geb", "gem", "gen", "gest",
    "ggf", "gov", "hist", "hl", "hon", "hosp", "hr", "hrsg", "ie", "ill", "incl", "ing", "inkl",
    "insp", "jg", "kap", "kgl", "lat", "lic", "lieut", "lit", "lt", "ltcol", "ltgen", "maj", "max", "mdm", "med",
    "messrs", "mfg", "mgr", "min", "mio", "mlle", "mm", "mme", "mons", "mr", "mrd", "mrs", "ms",
    "msgr", "msgt", "mt", "mtn", "mts", "muhs", "näml", "no", "nos", "nr", "nrs", "num", "núm", "obs", "op",
    "orig", "päd", "pag", "pág", "pers", "pfc", "phil", "pl", "pls", "pp", "prep", "pres", "prof",
    "profs", "prov", "pseud", "pt", "pte", "pts", "publ", "pvt", "ref", "refs", "reg", "rep", "reps",
    "resp", "ret", "rev", "revd", "rer", "rd", "sec", "sen", "sens", "sgt", "sig", "sog", "sq", "sr", "sra", "ss", "st",
    "ste", "str", "supt", "surg", "tab", "trans", "transl", "univ", "usw", "vgl", "vd", "viz", "vol",
    "vols", "vs", "wg", "wm", "zit", "zool", "z",
    "г", "гг", "др", "им", "рис", "см", "стр", "ст", "т", "тыс", "ул", "напр", "пр", "род", "англ",
    "нем", "лат", "фр", "греч", "проф", "акад", "ген", "св",
};

/* Those that may end a sentence. */
static const char *const perhaps[] = {
    "al", "approx", "apr", "aug", "avg", "bc", "bce", "bsc", "ce", "cie", "co", "corp", "ctr", "dec", "ecc", "esq",
    "est", "etc", "feb", "fri", "hrs", "ib", "ibid", "inc", "jan", "jr", "jul", "jun", "ltd",
    "mar", "mass", "md", "mi", "mon", "mph", "msc", "nov", "oct", "oz", "phd", "plc", "sat", "sep", "sept",
    "sp", "spp", "subsp", "ssp", "sun", "thu", "thurs", "tue", "tues", "var", "wed", "wash", "yr", "yrs",
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The tables are small, and looked into only behind a period; still, sort them once. */
static int listed(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (!compare(&word, &list[i]))
            return 1;
    return 0;
}

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

/* What the word in front of the period at s says. */
static enum abbreviation judge_word(const char *begin, const char *s, const char *end)
{
    const char *word = s;
    int letters = 0, periods = 0, digits = 0;
    for (struct character c; (c = before(begin, word, end)).len; word -= c.len) {
        if (c.class == SPACE || c.class == OPEN || c.class == QUOTE || c.code == '-' || c.code == '/' ||
            c.code == 0x2013 || c.code == 0x2014 || c.code == 0x2019)
            break;
        if (s - word > 3 * WORD_MAX_BYTES)
            return NO_ABBREVIATION; /* a long word or an address */
        letters += is_letter(c.class);
        periods += c.code == '.';
        digits += c.class == DIGIT;
    }
    struct character first = at(word, end);
    if (letters == 1 && !digits && !periods) /* an initial; "I" is a word */
        return first.class == UPPER && first.code != 'I' ? NEVER_ENDS
               : first.class == LOWER                    ? NEVER_ENDS
                                                         : NO_ABBREVIATION;
    if (periods && letters == periods + 1 && !digits) /* U.S. i.e. a.m. z.B. */
        return first.class == UPPER ? MAY_END
               : s - word == 3 && (!memcmp(word, "e.g", 3) || !memcmp(word, "i.e", 3) ||
                                   !memcmp(word, "z.B", 3) || !memcmp(word, "d.h", 3))
                   ? NEVER_ENDS
                   : MAY_END;
    char lower[WORD_MAX_BYTES + 1];
    if (!lower_word(lower, word, (size_t)(s - word)) || digits)
        return NO_ABBREVIATION;
    if (listed(never, sizeof never / sizeof *never, lower))
        return NEVER_ENDS;
    return listed(perhaps, sizeof perhaps / sizeof *perhaps, lower) ? MAY_END : NO_ABBREVIATION;
}

/* Words that begin sentences far more often than they are part of a name. */
static int is_starter(const char *s, const char *end)
{
    static const char *const starters[] = {
        "A", "After", "Although", "An", "And", "As", "At", "Because", "Before", "But", "By", "Der",
        "Die", "Das", "During", "For", "From", "He", "Her", "His", "How", "However", "I", "If",
        "Il", "In", "It", "Its", "La", "Le", "Many", "More", "Most", "No", "On", "One", "Other",
        "Our", "She", "Since", "Some", "Such", "That", "The", "Their", "There", "These", "They",
        "This", "Those", "Though", "Thus", "To", "Under", "Until", "Was", "We", "What", "When",
        "Where", "While", "Who", "Why", "With", "You", "Your",
    };
    size_t n = 0;
    while (s + n < end && ((s[n] | 0x20) >= 'a') && ((s[n] | 0x20) <= 'z'))
        n++;
    char word[WORD_MAX_BYTES + 1];
    if (!n || n > WORD_MAX_BYTES)
        return 0;
    memcpy(word, s, n);
    word[n] = '\0';
    return listed(starters, sizeof starters / sizeof *starters, word);
}

/* "3. Oktober", "12. století": a number with a period is an ordinal in many languages; in front
 * of a capital it is one when it is short and a month or name may follow. */
static int is_ordinal(const char *begin, const char *s, const char *end)
{
    size_t digits = 0;
    const char *p = s;
    for (struct character c; (c = before(begin, p, end)).class == DIGIT; p -= c.len)
        digits++;
    return digits && digits <= 2 && p == begin; /* "1. Item": a list's number */
}

/* Does the mark at s end a sentence, when the next begins at `next`? A space is between. */
static int ends(const char *begin, const char *s, const char *after, const char *next,
                const char *end)
{
    const char *p = next;
    struct character c = at(p, end);
    while (c.class == OPEN || c.class == QUOTE) {
        p += c.len;
        c = at(p, end);
    }
    if (c.class == LOWER)
        return 0;
    if (c.class == OTHER && p == next && c.code != '#' && c.code != '$')
        return c.code >= 0x80; /* a dash or comma goes on; a sign may begin */
    int closed = after > s + 1;
    if (*s != '.' || closed)
        return 1;
    if (is_ordinal(begin, s, end))
        return 0;
    enum abbreviation a = judge_word(begin, s, end);
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
        if (c.class != END && c.class != FULL_END && c.class != CLOSE && c.class != QUOTE)
            return s;
        *full |= c.class == FULL_END;
        s += c.len;
    }
}

void sentence_split(struct buf *out, const char *s, size_t n)
{
    const char *begin = s, *end = s + n;
    while (s < end) {
        struct character c = at(s, end);
        if (c.class != END && c.class != FULL_END) {
            s += c.len;
            continue;
        }
        int full;
        const char *after = skip_closing(s, end, &full), *next = after;
        while (next < end && at(next, end).class == SPACE)
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
