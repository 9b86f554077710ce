#include "wikiprep/sentences/sentence_mark.h"

enum {
    NOTE_MAX_BYTES = 48, /* "[citation needed]" */
    OPENING_MAX = 4,     /* most quotes and brackets before a word */
};

const char *sentence_mark_skip_spaces(const char *s, const char *end)
{
    for (struct letter c; (c = letter_at(s, end)).kind == LETTER_SPACE; s += c.len)
        ;
    return s;
}

/* ---- quotes and brackets -------------------------------------------------------------------- */

/* Returns 1 for quotes that open in one language and close in another, else 0. */
static int is_two_faced(unsigned c)
{
    return c == 0xAB || c == 0xBB || c == 0x2018 || c == 0x2019 || c == 0x201C || c == 0x201D ||
           c == 0x2039 || c == 0x203A;
}

static int begins_word(const char *s, const char *end)
{
    enum letter_kind k = letter_at(s, end).kind;
    return letter_is_alphabetic(k) || k == LETTER_DIGIT;
}

static int is_alone(const char *s, const char *end)
{
    struct letter c = letter_at(s, end);
    return !c.len || c.kind == LETTER_SPACE;
}

/* Returns 1 if the first two bytes at s are equal, as in typewriter quotes ,, and '', else 0. */
static int is_twice(const char *s, const char *end)
{
    return end - s >= 2 && s[0] == s[1];
}

/* Returns 1 if c, directly after a mark, closes a quotation, else 0. `after` is the position after
 * c. */
static int closes(struct letter c, const char *after, const char *end)
{
    if (c.kind == LETTER_CLOSE || c.kind == LETTER_QUOTE)
        return 1;
    return is_two_faced(c.code) && letter_at(after, end).kind != LETTER_OPEN &&
           !begins_word(after, end);
}

/* Returns 1 if the `"` at s is a closing quote, which an odd number of `"` precedes, else 0. */
static int closes_pair(struct sentence_mark *p, const char *s)
{
    while ((p->counted = memchr(p->counted, '"', (size_t)(s - p->counted)))) {
        p->open_quotes++;
        p->counted++;
    }
    p->counted = s;
    return p->open_quotes % 2;
}

const char *sentence_mark_skip_open(const char *s, const char *end)
{
    for (int i = 0; i < OPENING_MAX; i++) {
        struct letter c = letter_at(s, end);
        int low = c.code == ',' && is_twice(s, end);
        int opens = low || c.kind == LETTER_OPEN || c.kind == LETTER_QUOTE ||
                    (is_two_faced(c.code) && begins_word(s + c.len, end));
        if (!opens)
            break;
        s += low ? 2 : c.len;
        if (low || c.kind == LETTER_QUOTE || is_two_faced(c.code)) /* French, tokenized text */
            s = sentence_mark_skip_spaces(s, end);
    }
    return s;
}

/* ---- reference marks ------------------------------------------------------------------------ */

/* Returns the length in bytes of the note at s, "[12]" or "[citation needed]"; 0 if there is
 * none. */
static size_t note_bytes(const char *s, const char *end)
{
    size_t max = end - s < NOTE_MAX_BYTES ? (size_t)(end - s) : NOTE_MAX_BYTES;
    const char *close = s < end && *s == '[' ? memchr(s, ']', max) : NULL;
    return close ? (size_t)(close + 1 - s) : 0;
}

/* Returns the length of a note that follows a space, or 0. It ends in a digit ("[12]", "[note 3]"),
 * is one lower-case letter ("[b]"), or ends in " needed]". Other brackets after a space, "[The]"
 * and "[...]", may begin a sentence. */
static size_t spaced_note_bytes(const char *s, const char *end)
{
    size_t n = note_bytes(s, end);
    if (n < 3 || !is_alone(s + n, end))
        return 0;
    char last = s[n - 2];
    int complaint = n > 8 && !memcmp(s + n - 8, " needed]", 8);
    return (last >= '0' && last <= '9') || (n == 3 && last >= 'a' && last <= 'z') || complaint ? n
                                                                                               : 0;
}

/* Returns the length of the emoticon at s, ":)", ";-)" or ":D"; 0 if there is none. */
static size_t emoticon_bytes(const char *s, const char *end)
{
    if (end - s < 2 || (*s != ':' && *s != ';' && *s != '='))
        return 0;
    const char *mouth = s + (s[1] == '-' ? 2 : 1), *p = mouth;
    while (p < end && *p == *mouth)
        p++;
    int found = p > mouth && memchr(")(DPp", *mouth, 5) && is_alone(p, end);
    return found ? (size_t)(p - s) : 0;
}

/* ---- the mark ------------------------------------------------------------------------------- */

/* Returns 2, the length of " .", if s begins with it and no word follows directly, as in the
 * ellipsis " . . ."; else 0. */
static size_t spaced_dot(const char *s, const char *end)
{
    if (end - s < 2 || s[0] != ' ' || s[1] != '.')
        return 0;
    return begins_word(s + 2, end) ? 0 : 2;
}

/* Adds to the mark a closing quote, bracket or note after a space: "Oui. » Puis", "text. [12]
 * Then"; in Tibetan the second mark of a pair. Returns the number of bytes, with the space; 0 if
 * nothing was added. */
static size_t take_spaced(struct sentence_mark *p, const char *space)
{
    const char *s = sentence_mark_skip_spaces(space, p->end);
    struct letter c = letter_at(s, p->end);
    size_t note = c.code == '[' ? spaced_note_bytes(s, p->end) : emoticon_bytes(s, p->end);
    int twice = c.code == '\'' && is_twice(s, p->end);
    c.len += (size_t)twice;
    if (s == space || (!note && c.code != 0xF0D && !is_alone(s + c.len, p->end)))
        return 0;
    if (note)
        p->noted = 1;
    else if (c.code == 0xF0D)
        p->full = 1;
    else if (c.code == ')')
        p->bracketed = 1;
    else if (c.code == 0xBB || c.code == 0x201D || twice || (c.code == '"' && closes_pair(p, s)))
        p->quoted = 1;
    else
        return 0;
    return (size_t)(s - space) + (note ? note : c.len);
}

/* Adds the character or note at s to the mark. Returns its length in bytes, or 0 if it does not
 * belong to the mark. */
static size_t take(struct sentence_mark *p, const char *s)
{
    struct letter c = letter_at(s, p->end);
    const int has_closed = p->quoted || p->bracketed || p->squared || p->noted;
    size_t more;
    if (c.code == '.' || c.code == 0x6D4 || c.code == 0x2026) /* 0x6D4: the period of Urdu */
        p->dots += c.code == 0x2026 ? 3 : 1;
    else if (c.kind == LETTER_FULL_END)
        p->full = 1;
    else if (c.kind == LETTER_END || s == p->mark)
        p->asks = 1;
    else if (c.code == ')' || c.code == 0xFF09)
        p->bracketed = 1;
    else if (c.code == ']')
        p->squared = 1;
    else if (closes(c, s + c.len, p->end))
        p->quoted = 1;
    else if ((more = note_bytes(s, p->end))) {
        p->noted = 1;
        return more;
    } else if (!has_closed && p->dots && (more = spaced_dot(s, p->end))) {
        p->dots++;
        p->spaced = 1;
        return more;
    } else if (c.code != 0x200E && c.code != 0x200F) /* marks of direction */
        return c.kind == LETTER_SPACE ? take_spaced(p, s) : 0;
    return c.len;
}

void sentence_mark_read(struct sentence_mark *p)
{
    p->dots = p->asks = p->spaced = p->full = p->quoted = p->bracketed = p->squared = p->noted = 0;
    if (!p->counted)
        p->counted = p->text;
    p->after = p->mark;
    for (size_t n; p->after < p->end && (n = take(p, p->after)) > 0;)
        p->after += n;
    p->next = sentence_mark_skip_spaces(p->after, p->end);
}
