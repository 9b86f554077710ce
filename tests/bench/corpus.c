/* corpus MEGABYTES SEED FILE: writes the lines of a text over and over. As in natural text, new
 * words never end: one word in forty is replaced by the first half of that word and the second half
 * of another one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/files/file.h"

struct word {
    size_t at, len;
};

struct words {
    struct word *items;
    size_t count, cap;
};

static int is_space(char c)
{
    return c == ' ' || c == '\n';
}

static void find_words(struct words *w, const char *text, size_t n)
{
    for (size_t i = 0, end; i < n; i = end + 1) {
        for (end = i; end < n && !is_space(text[end]); end++)
            ;
        if (end == i)
            continue;
        mem_grow(w->items, w->cap, w->count + 1);
        w->items[w->count++] = (struct word){ i, end - i };
    }
}

/* Returns the number of bytes in the first half of a word, in whole characters. */
static size_t half(const char *word, size_t n)
{
    size_t at = (n + 1) / 2;
    while (at < n && ((unsigned char)word[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* Appends the text once more, with new words. */
static void add_text(struct buf *out, const struct buf *text, const struct words *w, struct rng *r)
{
    size_t done = 0;
    buf_clear(out);
    for (size_t i = 0; i < w->count; i++) {
        if (rng_below(r, 40))
            continue;
        const struct word *a = &w->items[i], *b = &w->items[rng_below(r, w->count)];
        const char *first = text->data + a->at, *second = text->data + b->at;
        size_t cut = half(second, b->len);
        buf_add(out, text->data + done, a->at - done);
        buf_add(out, first, half(first, a->len));
        buf_add(out, second + cut, b->len - cut);
        done = a->at + a->len;
    }
    buf_add(out, text->data + done, text->len - done);
}

int main(int argc, char **argv)
{
    struct buf text = BUF_INIT, out = BUF_INIT;
    struct words words = { 0 };
    if (argc != 4 || file_read(argv[3], &text) < 0) {
        fprintf(stderr, "corpus: %s\n", argc == 4 ? err_get() : "MEGABYTES SEED FILE");
        return 1;
    }
    struct rng r = { rng_key(0, strtoull(argv[2], NULL, 10)), 0 };
    size_t left = (size_t)1000000 * strtoull(argv[1], NULL, 10);
    find_words(&words, text.data, text.len);
    while (left && words.count) {
        add_text(&out, &text, &words, &r);
        size_t n = out.len < left ? out.len : left;
        if (fwrite(out.data, 1, n, stdout) != n)
            return 1;
        left -= n;
    }
    free(words.items);
    buf_release(&text);
    buf_release(&out);
    return fflush(stdout) != 0;
}
