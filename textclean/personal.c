#include "textclean/personal.h"

#include <ctype.h>

#include "common/base/utf8.h"
#include "unicode/unicode.h"

/* ---- mail ------------------------------------------------------------------------------------ */

static int is_alnum(char c)
{
    return isalnum((unsigned char)c); /* the locale is C */
}

static int is_local(char c)
{
    return is_alnum(c) || (c && strchr("!#$%&'*+/=?^_`{|}~-", c));
}

/* Returns where the address whose @ is text[at] begins, not before `least`; `at` if none is
 * there. */
static size_t local_begin(const char *text, size_t least, size_t at)
{
    size_t begin = at, found = at;
    for (; begin > least; begin--) {
        char c = text[begin - 1];
        if (!is_local(c) && !(c == '.' && begin < at && is_local(text[begin])))
            break;
        if (c == '.' && (begin - 1 == least || !is_local(text[begin - 2])))
            break;
        /* the address begins at the border of a word */
        unsigned before;
        utf8_last(text, begin - 1, &before);
        if (c != '.' && (is_alnum(c) || c == '_') != unicode_is(before, UNICODE_IS_WORD))
            found = begin - 1;
    }
    return found;
}

/* Returns the end of the host at text[at], which has at least one point; `at` if none is there. */
static size_t host_end(const char *text, size_t n, size_t at)
{
    size_t end = at, parts = 0;
    for (size_t i = at;;) {
        size_t from = i;
        while (i < n && (is_alnum(text[i]) || (text[i] == '-' && i > from)))
            i++;
        size_t part = i;
        while (part > from && text[part - 1] == '-')
            part--;
        if (part == from)
            break;
        parts++;
        end = part;
        if (part < i || i >= n || text[i] != '.')
            break;
        i++;
    }
    return parts > 1 ? end : at;
}

/* ---- IPv4 ------------------------------------------------------------------------------------ */

/* Reads a number up to 255 of up to three digits at s[0..n), the longest one. Returns the number of
 * its digits. */
static size_t read_octet(const char *s, size_t n, unsigned *value)
{
    size_t k = 0;
    for (*value = 0; k < 3 && k < n && isdigit((unsigned char)s[k]); k++) {
        unsigned next = 10 * *value + (unsigned)(s[k] - '0');
        if (next > 255)
            break;
        *value = next;
    }
    return k;
}

static int is_special(uint32_t a)
{
    static const struct {
        uint32_t first;
        int bits;
    } nets[] = {
        { 0x00000000, 8 },  { 0x0A000000, 8 },  { 0x64400000, 10 }, { 0x7F000000, 8 },
        { 0xA9FE0000, 16 }, { 0xAC100000, 12 }, { 0xC0000000, 24 }, { 0xC0000200, 24 },
        { 0xC0A80000, 16 }, { 0xC6120000, 15 }, { 0xC6336400, 24 }, { 0xCB007100, 24 },
        { 0xF0000000, 4 },
    };
    if (a == 0xC0000009 || a == 0xC000000A)
        return 0;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if ((a ^ nets[i].first) >> (32 - nets[i].bits) == 0)
            return 1;
    return 0;
}

/* Returns the end of the IPv4 address at text[at], or `at` if none is there. Sets *is_public to
 * whether it is a public one. */
static size_t ip_end(const char *text, size_t n, size_t at, int *is_public)
{
    uint32_t address = 0;
    size_t i = at;
    int zeros = 0;
    for (int part = 0; part < 4; part++) {
        unsigned value;
        size_t k = read_octet(text + i, n - i, &value);
        zeros |= k > 1 && text[i] == '0';
        i += k;
        if (!k || (part < 3 && (i >= n || text[i++] != '.')))
            return at;
        address = address << 8 | value;
    }
    *is_public = !zeros && !is_special(address);
    return i;
}

/* ---- replacing ------------------------------------------------------------------------------- */

static const char *const mails[] = { "email@example.com", "firstname.lastname@example.org" };
static const char *const ips[] = { "22.214.171.124", "126.96.36.199",  "188.8.131.52",
                                   "184.108.40.206", "220.127.116.11", "18.104.22.168" };

/* Appends text[0..n) to *out with its addresses of mail replaced. Returns their number. */
static size_t replace_mail(struct buf *out, const char *text, size_t n, enum personal_how how)
{
    size_t count = 0, done = 0;
    const char *mark = text;
    while ((mark = memchr(mark, '@', n - (size_t)(mark - text)))) {
        size_t at = (size_t)(mark - text), begin = local_begin(text, done, at);
        size_t end = begin < at ? host_end(text, n, at + 1) : at + 1;
        mark++;
        if (begin == at || end == at + 1)
            continue;
        buf_add(out, text + done, begin - done);
        buf_adds(out, how == PERSONAL_TAG ? "<EMAIL>" : mails[count % 2]);
        count++;
        done = end;
        mark = text + end;
    }
    buf_add(out, text + done, n - done);
    return count;
}

static size_t replace_ips(struct buf *out, const char *text, size_t n, enum personal_how how)
{
    size_t count = 0, done = 0;
    for (size_t at = 0; at < n;) {
        const char *point = memchr(text + at, '.', n - at);
        int is_public = 0;
        if (!point)
            break;
        size_t first = (size_t)(point - text), end, begin = first;
        while (begin > at && first - begin < 3 && isdigit((unsigned char)text[begin - 1]))
            begin--;
        for (; begin < first && (end = ip_end(text, n, begin, &is_public)) == begin; begin++)
            ;
        at = begin < first ? end : first + 1;
        if (begin == first || !is_public)
            continue;
        buf_add(out, text + done, begin - done);
        buf_adds(out, how == PERSONAL_TAG ? "<IP>" : ips[count % 6]);
        count++;
        done = at;
    }
    buf_add(out, text + done, n - done);
    return count;
}

size_t personal_replace(struct buf *out, const char *text, size_t n, enum personal_how how)
{
    SCOPED(buf) mailed = BUF_INIT;
    size_t count = memchr(text, '@', n) ? replace_mail(&mailed, text, n, how) : 0;
    buf_clear(out);
    count += replace_ips(out, count ? mailed.data : text, count ? mailed.len : n, how);
    if (!count)
        buf_clear(out);
    return count;
}
