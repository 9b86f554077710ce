/* Adds bytes in pieces, as tokens do, with a stop text. The output must be valid UTF-8 at every
 * moment, and the same however the bytes were divided. The first byte controls the division. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "generate/text.h"
#include "unicode/unicode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STOPS = 5 };
static const char *const stops[STOPS] = { "\n\n", "aabcd", "\xC3\xA9", "bc", "abc" };

static void run(const uint8_t *data, size_t size, unsigned cuts, struct buf *out)
{
    struct text t;
    size_t n;
    const char *news;
    text_init(&t, stops, STOPS);
    for (size_t at = 0, piece; at < size; at += piece) {
        cuts = cuts * 1103515245u + 12345u;
        piece = 1 + (cuts >> 16) % 5;
        if (piece > size - at)
            piece = size - at;
        text_add(&t, (const char *)data + at, piece);
        news = text_news(&t, &n);
        if (utf8_valid(news, n) != n)
            abort();
        buf_add(out, news, n);
    }
    text_end(&t);
    news = text_news(&t, &n);
    buf_add(out, news, n);
    text_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf one = BUF_INIT, two = BUF_INIT;
    if (size) {
        run(data + 1, size - 1, data[0], &one);
        run(data + 1, size - 1, data[0] + 100u, &two);
        if (one.len != two.len || memcmp(one.data, two.data, one.len))
            abort();
        for (int i = 0; i < STOPS; i++)
            if (memmem(one.data, one.len, stops[i], strlen(stops[i])))
                abort();
    }
    buf_release(&one);
    buf_release(&two);
    return 0;
}
