#include "tokenizer/cut/dialect.h"

#include <pthread.h>

/* ---- classes --------------------------------------------------------------------------------- */

/* The characters that Oniguruma's \w matches, except some circled letters: word_base inside
 * brackets; lone_word_base outside of brackets, where \w also matches some numbers of Latin-1. */
static const char word_base[] = "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}";
static const char lone_word_base[] =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";

/* A class according to our tables, and how to write it for PCRE2: PCRE2's class and the code
 * points that it lacks. */
struct spelling {
    char *base; /* PCRE2's name of the class, as written inside brackets */
    struct charset ours, theirs;
    int complete; /* PCRE2's class has no code point that ours lacks */
    struct spelling *next;
};

/* Cached classes, kept for the life of the process: PCRE2 needs milliseconds to list a class. */
static struct spelling *spellings;
static pthread_mutex_t spellings_lock = PTHREAD_MUTEX_INITIALIZER;

/* Fills `s` from our tables. Returns 0, or -1 if they do not have the class. */
static int find_ours(struct charset *s, const char *base)
{
    size_t n = strlen(base);
    if (!strcmp(base, word_base) || !strcmp(base, lone_word_base)) {
        charset_word(s, !strcmp(base, word_base));
        return 0;
    }
    return charset_category(s, base + 3, n - 4); /* `base` is like \p{Lu} */
}

/* Returns the cached entry of a class, NULL if there is none yet. */
static struct spelling *cached(const char *base)
{
    struct spelling *s;
    pthread_mutex_lock(&spellings_lock);
    for (s = spellings; s && strcmp(s->base, base) != 0;)
        s = s->next;
    pthread_mutex_unlock(&spellings_lock);
    return s;
}

/* Returns the cached entry of a class, and adds it if needed. Returns NULL if our tables do not
 * have the class; then PCRE2 alone decides what it matches. The lock is not held while an entry
 * is made, as memory may run out: two threads may add the same class, which is harmless. */
static const struct spelling *find_spelling(const char *base, charset_property_fn *theirs)
{
    struct spelling *s = cached(base);
    if (s)
        return s;
    s = mem_zalloc(1, sizeof *s);
    if (find_ours(&s->ours, base) < 0 || theirs(&s->theirs, base) < 0) {
        free(s);
        return NULL;
    }
    s->base = mem_strdup(base);
    s->complete = 1;
    for (size_t i = 0; i < sizeof s->ours.bits; i++)
        s->complete &= !(s->theirs.bits[i] & ~s->ours.bits[i]);
    pthread_mutex_lock(&spellings_lock);
    s->next = spellings;
    spellings = s;
    pthread_mutex_unlock(&spellings_lock);
    return s;
}

/* Appends, as ranges, the code points that are in `set` (in = 1) or not in it (in = 0), except
 * those in `without`. */
static void put_ranges(struct buf *out, const struct charset *set, int in,
                       const struct charset *without)
{
    for (uint32_t c = 0, first; c < UNICODE_LIMIT; c++) {
        first = c;
        while (c < UNICODE_LIMIT && (c < 0xD800 || c >= 0xE000) && charset_has(set, c) == in &&
               !(without && charset_has(without, c)))
            c++;
        if (c > first)
            buf_addf(out, c - first > 1 ? "\\x{%X}-\\x{%X}" : "\\x{%X}", first, c - 1);
    }
}

/* White_Space (PropList.txt) and its complement, written as ranges because PCRE2 knows this name
 * only from version 10.40 on. */
static const char space_ranges[] = "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}"
                                   "\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}";
static const char other_ranges[] = "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{84}\\x{86}-\\x{9F}"
                                   "\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}"
                                   "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}"
                                   "\\x{3001}-\\x{10FFFF}";

static void put_space(struct buf *out, int complement, int inside)
{
    const char *ranges = complement ? other_ranges : space_ranges;
    buf_addf(out, inside ? "%s" : "[%s]", ranges);
}

/* Appends PCRE2's spelling of a class that only PCRE2 knows, or of its complement. */
static void put_their_class(struct buf *out, const char *base, int complement,
                            charset_property_fn *theirs)
{
    SCOPED_MEM struct charset *members = mem_alloc(sizeof *members);
    SCOPED(buf) name = BUF_INIT;
    charset_ask(members, &name, base + 3, strlen(base) - 4, theirs);
    buf_addf(out, "\\%c%s", complement ? 'P' : 'p', name.data + 2);
}

/* Appends PCRE2's spelling of the class `base` or, with `complement` 1, of its complement. `inside`
 * 1: for a place inside of brackets, else outside. */
static void put_class(struct buf *out, const char *base, int complement, int inside,
                      charset_property_fn *theirs)
{
    const struct spelling *s = find_spelling(base, theirs);
    int whole = complement && inside; /* in brackets a complement needs ranges */
    if (!s) {
        put_their_class(out, base, complement, theirs);
        return;
    }
    if (!inside)
        buf_adds(out, complement ? "[^" : "[");
    if (s->complete && !whole)
        buf_adds(out, base);
    put_ranges(out, &s->ours, !whole, s->complete && !whole ? &s->theirs : NULL);
    if (!inside)
        buf_addc(out, ']');
}

/* ---- the dialect ----------------------------------------------------------------------------- */

/* Appends PCRE2's spelling of \b, the border between a word character and another one, or with
 * `complement` 1 of \B. */
static void put_boundary(struct buf *out, int complement, charset_property_fn *theirs)
{
    SCOPED(buf) word = BUF_INIT;
    put_class(&word, lone_word_base, 0, 0, theirs);
    buf_addf(out,
             complement ? "(?:(?<=%s)(?=%s)|(?<!%s)(?!%s))" : "(?:(?<=%s)(?!%s)|(?<!%s)(?=%s))",
             word.data, word.data, word.data, word.data);
}

/* Translates \p{...} or \P{...} at p[0..n), where ^ means the complement. `inside` 1: it stands in
 * a bracketed class. Returns the number of bytes read; 0 if the closing brace is missing. */
static size_t put_property(struct buf *out, const char *p, size_t n, int inside,
                           charset_property_fn *theirs)
{
    const char *end = n > 2 && p[2] == '{' ? memchr(p, '}', n) : NULL;
    int caret = end && p[3] == '^';
    if (!end)
        return 0;
    SCOPED(buf) name = buf_format("\\p{%.*s}", (int)(end - p - 3 - caret), p + 3 + caret);
    if (!strcmp(name.data, "\\p{White_Space}"))
        put_space(out, (p[1] == 'P') != caret, inside);
    else
        put_class(out, name.data, (p[1] == 'P') != caret, inside, theirs);
    return (size_t)(end - p) + 1;
}

/* Translates \uHHHH at p[0..n). Returns the number of bytes read, 0 if it is no such escape. */
static size_t put_code_point(struct buf *out, const char *p, size_t n)
{
    size_t digits = n > 2 ? strspn(p + 2, "0123456789abcdefABCDEF") : 0;
    if (digits < 4)
        return 0;
    buf_addf(out, "\\x{%.4s}", p + 2);
    return 6;
}

/* Translates the escape at p[0..n), n > 1. `inside` 1: it stands in a bracketed class. Returns the
 * number of bytes read. */
static size_t put_escape(struct buf *out, const char *p, size_t n, int inside,
                         charset_property_fn *theirs)
{
    size_t used = 2;
    char c = p[1];
    if (c == 's' || c == 'S')
        put_space(out, c == 'S', inside);
    else if (c == 'd' || c == 'D')
        put_class(out, "\\p{Nd}", c == 'D', inside, theirs);
    else if (c == 'w' || c == 'W')
        put_class(out, inside ? word_base : lone_word_base, c == 'W', inside, theirs);
    else if ((c == 'b' || c == 'B') && !inside)
        put_boundary(out, c == 'B', theirs);
    else if (c == 'h')
        buf_adds(out, inside ? "0-9a-fA-F" : "[0-9a-fA-F]");
    else if (c == 'H')
        buf_adds(out, inside ? "\\x{0}-\\x{2F}\\x{3A}-\\x{40}G-`g-\\x{10FFFF}" : "[^0-9a-fA-F]");
    else if (c == 'v') /* for PCRE2 a class of line ends */
        buf_adds(out, "\\x{B}");
    else if (c == 'p' || c == 'P')
        used = put_property(out, p, n, inside, theirs);
    else
        used = c == 'u' ? put_code_point(out, p, n) : 0;
    if (!used)
        buf_add(out, p, 2);
    return used ? used : 2;
}

/* Returns what the pattern has of operators after an interval that mean something else in PCRE2, or
 * NULL. {1,3}+ is "possessive" for PCRE2, and {3}? is the same as {3}; Ruby repeats the interval,
 * or makes it optional. The digits of \x{12} are no interval. */
static const char *foreign_interval(const char *pattern, size_t n)
{
    for (size_t i = 2; i + 1 < n; i++) {
        size_t k = i;
        if (pattern[i] != '}' || (pattern[i + 1] != '+' && pattern[i + 1] != '?'))
            continue;
        while (k && strchr("0123456789,", pattern[k - 1]))
            k--;
        if (k < 1 || k == i || pattern[k - 1] != '{' ||
            (k > 2 && pattern[k - 2] == 'x' && pattern[k - 3] == '\\'))
            continue;
        if (pattern[i + 1] == '+')
            return "{n,m}+";
        if (!memchr(pattern + k, ',', i - k))
            return "{n}?";
    }
    return NULL;
}

/* Returns 1 if the pattern has an option m, as in (?im), else 0. */
static int has_option_m(const char *pattern, size_t n)
{
    const char *p = pattern;
    while ((p = memmem(p, n - (size_t)(p - pattern), "(?", 2))) {
        p += 2 + strspn(p + 2, "ix-");
        if (*p == 'm')
            return 1;
    }
    return 0;
}

/* Returns 1 if a property stands without braces, as in \pL, which Ruby reads as the letters pL. */
static int has_bare_property(const char *pattern, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (pattern[i] == '\\' && (pattern[++i] | 0x20) == 'p' &&
            (i + 1 == n || pattern[i + 1] != '{'))
            return 1;
    return 0;
}

static int check_dialect(const char *pattern, size_t n)
{
    const char *found = foreign_interval(pattern, n);
    if (!found && has_option_m(pattern, n))
        found = "(?m";
    if (!found && has_bare_property(pattern, n))
        found = "\\p without {}";
    return found ? err_set("pattern '%.*s': %s is not supported", (int)n, pattern, found) : 0;
}

/* Translates a class at p[0..n) with inner classes or && into ranges. Returns the number of bytes
 * read; 0 if it is not such a class. */
static size_t put_nested(struct buf *out, const char *p, size_t n, charset_property_fn *theirs)
{
    SCOPED_MEM struct charset *s = mem_alloc(sizeof *s);
    int nested;
    size_t used = charset_parse(s, p, n, theirs, &nested), before;
    if (used && nested) {
        buf_addc(out, '[');
        before = out->len;
        put_ranges(out, s, 1, NULL);
        buf_adds(out, out->len > before ? "]" : "^\\x{0}-\\x{10FFFF}]");
    }
    return nested ? used : 0;
}

int dialect_translate(struct buf *out, const char *pattern, size_t n, charset_property_fn *theirs)
{
    int inside = 0;
    if (check_dialect(pattern, n) < 0)
        return -1;
    for (size_t i = 0; i < n;) {
        if (pattern[i] == '\\' && i + 1 < n) {
            i += put_escape(out, pattern + i, n - i, inside, theirs);
            continue;
        }
        if (!inside && n - i > 2 && pattern[i] == '{' && pattern[i + 1] == ',' &&
            (unsigned)(pattern[i + 2] - '0') < 10) {
            buf_adds(out, "{0"); /* older versions of PCRE2 read {,3} as text */
            i++;
        }
        size_t used = pattern[i] == '[' && !inside ? put_nested(out, pattern + i, n - i, theirs)
                                                   : 0;
        i += used;
        if (used)
            continue;
        if (pattern[i] == '[' && inside)
            return err_set("pattern '%.*s': a class in a class is not supported", (int)n, pattern);
        if (inside && n - i > 1 && !memcmp(pattern + i, "&&", 2))
            return err_set("pattern '%.*s': && is not supported", (int)n, pattern);
        if (pattern[i] == '[')
            inside = 1;
        else if (pattern[i] == ']')
            inside = 0;
        buf_addc(out, pattern[i++]);
    }
    return 0;
}
