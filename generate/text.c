#include "generate/text.h"

#include "common/base/utf8.h"

void text_init(struct text *t, const char *const *stops, size_t stop_count)
{
    *t = (struct text){ .stops = stops, .stop_count = stop_count };
    buf_init(&t->all);
    buf_init(&t->raw);
}

void text_copy(struct text *to, const struct text *from)
{
    text_release(to);
    *to = *from;
    buf_init(&to->all);
    buf_init(&to->raw);
    buf_add(&to->all, from->all.data, from->all.len);
    buf_add(&to->raw, from->raw.data, from->raw.len);
}

void text_release(struct text *t)
{
    buf_release(&t->all);
    buf_release(&t->raw);
}

/* ---- characters --------------------------------------------------------------------------- */

/* Returns 1 if s[0..n), n <= 3, is the beginning of a valid character and lacks only continuation
 * bytes. Each range that a lead byte allows for the second byte holds 0x80 or 0xBF, so one of the
 * two completes it. */
static int is_unfinished(const char *s, size_t n)
{
    char low[6], high[6];
    memset(low, 0x80, sizeof low);
    memset(high, 0xBF, sizeof high);
    memcpy(low, s, n);
    memcpy(high, s, n);
    return utf8_valid(low, sizeof low) > n || utf8_valid(high, sizeof high) > n;
}

/* Returns the number of bytes at the end that begin a character but do not complete it. */
static size_t unfinished(const char *s, size_t n)
{
    for (size_t tail = 1; tail <= 3 && tail <= n; tail++)
        if (((unsigned char)s[n - tail] & 0xC0) != 0x80)
            return is_unfinished(s + n - tail, tail) ? tail : 0;
    return 0;
}

/* ---- stop texts --------------------------------------------------------------------------- */

/* Cuts the text before the stop text that is complete first (of those that end at the same byte,
 * the longest). The result does not depend on how the text was split into pieces. The text before
 * `from` has already been searched. */
static void find_stop(struct text *t, size_t from)
{
    size_t best_begin = 0, best_end = SIZE_MAX;
    for (size_t i = 0; i < t->stop_count; i++) {
        size_t width = strlen(t->stops[i]), begin = from >= width ? from - width + 1 : 0;
        char *hit = memmem(t->all.data + begin, t->all.len - begin, t->stops[i], width);
        if (!hit)
            continue;
        begin = (size_t)(hit - t->all.data);
        if (begin + width < best_end || (begin + width == best_end && begin < best_begin)) {
            best_begin = begin;
            best_end = begin + width;
        }
    }
    if (best_end == SIZE_MAX)
        return;
    t->stopped = 1;
    buf_truncate(&t->all, best_begin);
}

/* Returns the length of the longest suffix of the text that is a prefix of a stop text. */
static size_t maybe_stop(const struct text *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->stop_count; i++) {
        size_t width = strlen(t->stops[i]);
        for (size_t n = width - 1; n > most; n--)
            if (n <= t->all.len && !memcmp(t->all.data + t->all.len - n, t->stops[i], n))
                most = n;
    }
    return most;
}

/* ---- flow --------------------------------------------------------------------------------- */

void text_add(struct text *t, const char *bytes, size_t n)
{
    if (t->stopped)
        return;
    size_t searched = t->all.len;
    buf_add(&t->raw, bytes, n);
    size_t tail = unfinished(t->raw.data, t->raw.len), whole = t->raw.len - tail;
    utf8_repair(&t->all, t->raw.data, whole);
    memmove(t->raw.data, t->raw.data + whole, tail);
    buf_truncate(&t->raw, tail);
    find_stop(t, searched);
}

void text_end(struct text *t)
{
    if (!t->stopped)
        utf8_repair(&t->all, t->raw.data, t->raw.len);
    buf_clear(&t->raw);
    t->stop_count = 0;
}

const char *text_news(struct text *t, size_t *n)
{
    const char *news = t->all.data + t->told;
    size_t certain = t->all.len - (t->stopped ? 0 : maybe_stop(t));
    *n = certain > t->told ? certain - t->told : 0;
    t->told += *n;
    return news;
}
