#include "wikiprep/text/paragraph.h"

#include "common/base/utf8.h"
#include "wikiprep/values/marks.h"

/* Characters with a meaning in the second pass; the index is the byte that stands for each. */
const char markup_plain[32] = { [1] = '\'', [2] = '=', [3] = '*', [4] = '#',  [5] = ':',
                                [6] = ';',  [7] = '|', [8] = '{', [11] = '}', [12] = '-' };

char paragraph_sign(char c)
{
    static const char stand_in[256] = { ['\''] = 1, ['='] = 2, ['*'] = 3, ['#'] = 4,  [':'] = 5,
                                        [';'] = 6,  ['|'] = 7, ['{'] = 8, ['}'] = 11, ['-'] = 12 };
    char sign = stand_in[(unsigned char)c];
    return sign ? sign : c;
}

void paragraph_put(struct buf *out, unsigned c)
{
    if (c >= 0x20 && c < 128)
        buf_addc(out, paragraph_sign((char)c));
    else if (c == 0xA0 || c == '\n' || c == '\t' || c == '\r')
        buf_addc(out, ' ');
    else if (c >= 0x20)
        utf8_add(out, c);
}

/* ---- quotes: '' and ''' ------------------------------------------------------------------- */

static size_t quotes_at(const char *s, const char *end)
{
    return (size_t)(span_past(s, end, "'") - s);
}

/* Returns the ''' that stands for an apostrophe and '', or NULL. As in MediaWiki's doQuotes, there
 * is one if the numbers of italic and bold marks are both odd. It is the first one after a word of
 * one letter, else after a longer word, else after a space. */
static const char *find_apostrophe(const char *s, const char *end)
{
    const char *after_letter = NULL, *after_word = NULL, *after_space = NULL;
    size_t bolds = 0, italics = 0;
    const char *begin = s;
    while ((s = memchr(s, '\'', (size_t)(end - s)))) {
        size_t n = quotes_at(s, end);
        bolds += n == 3 || n == 4 || n >= 5;
        italics += n == 2 || n >= 5;
        if (n == 3 || n == 4) {
            const char *quote = s + (n - 3);
            char before = quote > begin ? quote[-1] : '\0';
            char before2 = quote - 1 > begin ? quote[-2] : '\0';
            if (before == ' ')
                after_space = after_space ? after_space : quote;
            else if (before2 == ' ')
                after_letter = after_letter ? after_letter : quote;
            else
                after_word = after_word ? after_word : quote;
        }
        s += n;
    }
    if (!(bolds & 1) || !(italics & 1))
        return NULL;
    return after_letter ? after_letter : after_word ? after_word : after_space;
}

void paragraph_unquote(struct buf *out, const char *s, const char *end)
{
    if (!bytes_find(s, end, "''", 2)) {
        buf_add(out, s, (size_t)(end - s));
        return;
    }
    const char *apostrophe = find_apostrophe(s, end);
    while (s < end) {
        const char *quote = span_until(s, end, '\'');
        buf_add(out, s, (size_t)(quote - s));
        size_t n = quotes_at(quote, end);
        int is_apostrophe = apostrophe && apostrophe >= quote && apostrophe < quote + n;
        if (n == 1 || n == 4 || n > 5 ||
            is_apostrophe) /* MediaWiki keeps n - 5 of them; here at most one */
            buf_addc(out, '\'');
        s = quote + n;
    }
}

/* ---- one line of output -------------------------------------------------------------------- */

struct writer {
    struct buf *out;
    int flags;    /* PARAGRAPH_ALL ... */
    size_t begin; /* offset of the line in out */
    int space;    /* 1: write a space before the next character */
    int hole;     /* 1: a MARKUP_HOLE came just before */
    int in_aside; /* 1: between two MARKUP_ASIDE */
    int in_code;  /* 1: between two MARKUP_CODE */
    int is_open;  /* 1: in the line, a MARKUP_CODE that begins code has no end yet */
    size_t open;  /* offset of the last one in out */
    int says;     /* 1: the line has a letter, a digit or code before `judged` */
    size_t judged;
};

static int ends_with_one(const struct writer *w, const char *ascii, const char *const *wide)
{
    const struct span line = { w->out->data + w->begin, w->out->len - w->begin };
    for (; line.n && *wide; wide++)
        if (bytes_end(line.s, line.n, *wide))
            return (int)strlen(*wide);
    return line.n && strchr(ascii, line.s[line.n - 1]);
}

static const char *const wide_open[] = { "（", "「", "『", "【", "《", "〈", "〔", "［", NULL };
static const char *const wide_close[] = { "）", "」", "』", "】", "》", "〉", "〕", "］", NULL };
static const char *const wide_comma[] = { "、", "，", "；", "：", "،", "؛", "፣",
                                          "፤",  "፥",  "၊",  "՝",  "߸", NULL };
static const char *const wide_stop[] = { "。", "।", "۔", "።", "။", "។", "։", NULL };

/* Returns the length of the sign at s, one of `ascii` or of `wide`, or 0. */
static int starts_with_one(const char *s, const char *end, const char *ascii,
                           const char *const *wide)
{
    for (; *wide; wide++)
        if (span_begins(s, end, *wide))
            return (int)strlen(*wide);
    return strchr(ascii, *s) != NULL;
}

static int ends_open(const struct writer *w)
{
    return ends_with_one(w, "([", wide_open);
}

static int ends_comma(const struct writer *w)
{
    return ends_with_one(w, ",;:", wide_comma);
}

static void trim(struct writer *w)
{
    while (w->out->len > w->begin && w->out->data[w->out->len - 1] == ' ')
        buf_truncate(w->out, w->out->len - 1);
}

static void drop_commas(struct writer *w)
{
    for (int n; (n = ends_comma(w)); trim(w))
        buf_truncate(w->out, w->out->len - (size_t)n);
}

/* Returns 1 for white space and marker bytes that stand for no character (markup_plain), else 0. */
static int ends_word(char c)
{
    return (unsigned char)c <= ' ' && !markup_plain[(unsigned char)c % 32];
}

/* Repairs spaces and punctuation around a hole, before the character at s is written: changes the
 * end of the output if necessary, and returns the number of bytes at s to leave out. */
static int repair(struct writer *w, const char *s, const char *end)
{
    int n;
    if (span_begins(s, end, "\u200E") || span_begins(s, end, "\u200F")) /* belongs to the hole */
        return (int)strlen("\u200E");
    if ((n = starts_with_one(s, end, ")]", wide_close))) {
        drop_commas(w);
        int open = ends_open(w);
        if (!open) {
            w->space = w->hole = 0;
            return 0;
        }
        buf_truncate(w->out, w->out->len - (size_t)open); /* remove the empty "()" */
        w->space = w->out->len > w->begin && w->out->data[w->out->len - 1] == ' ';
        trim(w);
        return n;
    }
    if ((n = starts_with_one(s, end, ",;:", wide_comma))) {
        if (ends_open(w) || ends_comma(w) || w->out->len == w->begin) {
            w->space = 0;
            return n;
        }
        w->space = w->hole = 0;
        return 0;
    }
    n = starts_with_one(s, end, ".", wide_stop);
    if (n > 1 || (n && (s + 1 == end || ends_word(s[1])))) {
        drop_commas(w);
        w->space = 0;
        /* in "Inc.。" the dot belongs to the word: both stay */
        w->hole = w->out->len == w->begin || ends_with_one(w, n > 1 ? "" : ".", wide_stop);
        return w->hole ? n : 0;
    }
    if (ends_open(w))
        w->space = 0;
    w->hole = 0;
    return 0;
}

/* Returns 1 if the text has an ASCII letter or digit, or a character that is not ASCII, else 0. */
static int says_something(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return 1;
    }
    return 0;
}

/* Sets w->says if the output since the last call has code, a letter or a digit, and is no aside. */
static void judge(struct writer *w)
{
    size_t from = w->judged < w->begin ? w->begin : w->judged;
    if (!w->in_aside && from < w->out->len)
        w->says |= w->in_code || says_something(w->out->data + from, w->out->len - from);
    w->judged = w->out->len;
}

/* Handles a MARKUP_CODE in Markdown. Code directly after code continues it. */
static void put_code_mark(struct writer *w)
{
    size_t n = w->out->len;
    w->is_open = !w->is_open;
    if (n > w->begin && w->out->data[n - 1] == MARKUP_CODE) {
        buf_truncate(w->out, n - 1);
    } else {
        w->open = w->is_open ? n : w->open;
        buf_addc(w->out, MARKUP_CODE);
    }
}

/* Removes the mark of code that does not end in its line. */
static void drop_code_mark(struct writer *w)
{
    if (!w->is_open)
        return;
    char *s = w->out->data + w->open, *after = s + 1;
    judge(w);
    w->is_open = 0;
    after += *after == ' ' && (w->open == w->begin || s[-1] == ' ');
    buf_cut(w->out, w->open, (size_t)(after - w->out->data));
    w->judged = w->out->len;
}

static void end_of_line(struct writer *w)
{
    drop_code_mark(w);
    if (w->hole)
        drop_commas(w);
    trim(w);
    judge(w);
    if (w->says || (w->flags & PARAGRAPH_ALL && w->out->len > w->begin))
        buf_addc(w->out, '\n');
    else
        buf_truncate(w->out, w->begin);
    w->begin = w->judged = w->out->len;
    w->space = w->hole = w->says = w->in_aside = 0;
}

static int is_plain(char c)
{
    return (unsigned char)c > 0x20 && (unsigned char)c != 0xC2;
}

typedef unsigned char row __attribute__((vector_size(16)));

/* Returns 1 if each of the 16 bytes at s is plain (is_plain), or is a space before a plain byte.
 * Else returns 0. Reads a 17th byte. */
static int are_plain(const char *s)
{
    row a, b;
    memcpy(&a, s, sizeof a);
    memcpy(&b, s + 1, sizeof b);
    row plain = (row)(a > 0x20) & (row)(a != 0xC2);
    row space = (row)(a == 0x20) & (row)(b > 0x20) & (row)(b != 0xC2);
    uint64_t both[2];
    plain |= space;
    memcpy(both, &plain, sizeof both);
    return (both[0] & both[1]) == UINT64_MAX;
}

/* Returns the length of the run at s that can be copied unchanged. It has no control bytes, no 0xC2
 * (with which U+00A0 begins), and no space before one of these or before another space. */
static size_t plain_run(const char *s, const char *end)
{
    const char *p = s;
    while (end - p > (ptrdiff_t)sizeof(row) && are_plain(p))
        p += sizeof(row);
    while (p < end && (is_plain(*p) || (*p == ' ' && p + 1 < end && is_plain(p[1]))))
        p++;
    return (size_t)(p - s);
}

static const char *write_one(struct writer *w, const char *s, const char *end)
{
    if (w->hole) {
        int skip = repair(w, s, end);
        if (skip)
            return s + skip;
    }
    if (w->space && w->out->len > w->begin)
        buf_addc(w->out, ' ');
    w->space = 0;
    size_t n = plain_run(s, end); /* s is not a space here */
    if (n) {
        buf_add(w->out, s, n);
        return s + n;
    }
    unsigned char c = (unsigned char)*s;
    buf_addc(w->out, c < 0x20 ? markup_plain[c] : c);
    return s + 1;
}

/* Handles the mark for Markdown at s. Returns the position after it. */
static const char *on_mark(struct writer *w, const char *s, const char *end)
{
    int markdown = w->flags & PARAGRAPH_MARKDOWN;
    const char *after = *s == MARKUP_BLOCK ? memchr(s + 1, MARKUP_BLOCK, (size_t)(end - s - 1)) : s;
    after = after ? after + 1 : end;
    if (*s == MARKUP_CODE || *s == MARKUP_FORMULA) {
        judge(w);
        w->in_code ^= *s == MARKUP_CODE;
        if (markdown && w->space && w->out->len > w->begin)
            buf_addc(w->out, ' ');
        w->space &= !markdown;
        if (markdown && *s == MARKUP_CODE)
            put_code_mark(w);
        else if (markdown)
            buf_addc(w->out, *s);
        w->judged = w->out->len;
        return after;
    }
    end_of_line(w);
    if (markdown) {
        buf_add(w->out, s, (size_t)(after - s));
        buf_addc(w->out, '\n');
        w->begin = w->judged = w->out->len;
    }
    return after;
}

void paragraph_write(struct buf *out, const char *s, const char *end, int flags)
{
    struct writer w = { .out = out, .flags = flags, .begin = out->len, .judged = out->len };
    while (s < end) {
        unsigned char c = (unsigned char)*s;
        if (c == ' ' || c == '\t') {
            w.space = 1;
            s++;
        } else if (c == 0xC2 && s + 1 < end && (unsigned char)s[1] == 0xA0) {
            w.space = 1;
            s += 2;
        } else if (c >= MARKUP_CODE && c <= MARKUP_QUOTE_END) {
            s = on_mark(&w, s, end);
        } else if (c < 0x20 && !markup_plain[c]) {
            if (c == MARKUP_HOLE) {
                w.hole = 1;
            } else if (c == MARKUP_ASIDE) {
                judge(&w);
                w.in_aside = !w.in_aside;
            } else if (c == MARKUP_RULE) {
                s = memchr(s + 1, MARKUP_RULE, (size_t)(end - s - 1));
                s = s ? s : end - 1;
            } else if (c != MARKUP_EMPTY && c != MARKUP_LINKED && c != MARKUP_FIXED) {
                end_of_line(&w);
            }
            s++;
        } else {
            s = write_one(&w, s, end);
        }
    }
    end_of_line(&w);
}
