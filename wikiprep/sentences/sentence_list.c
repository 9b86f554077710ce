#include "wikiprep/sentences/sentence_list.h"

#include "unicode/unicode.h"
#include "wikiprep/sentences/sentence_mark.h"

struct item {
    unsigned bullet; /* 0: none */
    int is_letter;
    unsigned number;   /* the number, or the code of the letter */
    const char *close; /* . ) .) */
    int close_bytes;
};

static const char *read_bullet(const char *s, const char *end, unsigned *bullet)
{
    struct letter c = letter_at(s, end);
    *bullet = c.code == 0x2022 || c.code == 0x2043 ? c.code : 0; /* bullet, hyphen bullet */
    return *bullet ? sentence_mark_skip_spaces(s + c.len, end) : s;
}

static const char *read_number(const char *s, const char *end, struct item *item)
{
    enum { DIGITS_MAX = 3 };
    const char *begin = s;
    int digits = 0;
    item->number = 0;
    for (struct letter c; digits < DIGITS_MAX && unicode_digit((c = letter_at(s, end)).code) >= 0;
         digits++, s += c.len)
        item->number = 10 * item->number + (unsigned)unicode_digit(c.code);
    item->is_letter = s == begin && s < end && *s >= 'a' && *s <= 'z';
    if (item->is_letter)
        item->number = (unsigned char)*s++;
    return s > begin ? s : NULL;
}

static int read_item(const char *s, const char *end, struct item *item)
{
    s = read_number(read_bullet(s, end, &item->bullet), end, item);
    if (!s)
        return 0;
    item->close = s;
    while (s < end && (*s == '.' || *s == ')'))
        s++;
    item->close_bytes = (int)(s - item->close);
    return item->close_bytes > 0 && item->close_bytes <= 2 && s < end && *s == ' ' &&
           letter_at(sentence_mark_skip_spaces(s, end), end).kind == LETTER_UPPER;
}

static int follows(const struct item *next, const struct item *item)
{
    return next->number == item->number + 1 && next->is_letter == item->is_letter &&
           next->bullet == item->bullet && next->close_bytes == item->close_bytes &&
           !memcmp(next->close, item->close, (size_t)item->close_bytes);
}

const char *sentence_list_next(const char *s, const char *end)
{
    struct item item, next;
    if (!read_item(s, end, &item))
        return end;
    while ((s = memchr(s, ' ', (size_t)(end - s))) && ++s < end)
        if (read_item(s, end, &next) && follows(&next, &item))
            return s;
    return end;
}

int sentence_list_is_number(const char *s, const char *end)
{
    struct item item;
    s = sentence_mark_skip_spaces(s, end);
    s = read_bullet(s, end, &item.bullet);
    if (s < end && ((end - s == 1 && *s >= 'A' && *s <= 'Z') || s + strspn(s, "IVXLC") == end))
        return 1; /* "A. Item", "II. Item" */
    return read_number(s, end, &item) == end;
}
