/* roundtrip MEGABYTES SEED: prints lines of text of many kinds; the same seed gives the same
 * lines. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/rng.h"
#include "common/base/utf8.h"

enum { WORDS = 1 << 16, LINE_MAX_BYTES = 4000 };

/* Ranges of code points from which runs of characters are drawn. */
static const unsigned scripts[][2] = {
    { 'a', 'z' },       { 'A', 'Z' },       { '0', '9' },         { ' ', '~' },
    { 0x00, 0x1F },     { 0x80, 0x24F },    { 0x370, 0x3FF },     { 0x400, 0x45F },
    { 0x5D0, 0x5EA },   { 0x620, 0x652 },   { 0x900, 0x97F },     { 0xE01, 0xE5B },
    { 0x1E00, 0x1FFF }, { 0x2000, 0x206F }, { 0x2190, 0x27BF },   { 0x3000, 0x30FF },
    { 0x4E00, 0x9FFF }, { 0xAC00, 0xD7A3 }, { 0x1F300, 0x1F6FF }, { 0x20, 0x10FFFF },
};
enum { SCRIPTS = sizeof scripts / sizeof *scripts };

static void add_run(struct buf *line, struct rng *r, unsigned script, uint64_t n)
{
    const unsigned *s = scripts[script];
    for (; n; n--) {
        unsigned c = s[0] + (unsigned)rng_below(r, s[1] - s[0] + 1);
        utf8_add(line, c == '\n' || c == '\r' ? ' ' : c);
    }
}

/* Adds a word. Words with lower numbers are drawn more often. */
static void add_word(struct buf *line, struct rng *r)
{
    uint64_t number = rng_below(r, 1 + rng_below(r, 1 + rng_below(r, WORDS)));
    struct rng word = { rng_key(1, number), 0 };
    buf_addc(line, ' ');
    add_run(line, &word, (unsigned)rng_below(&word, 12), 1 + rng_below(&word, 9));
}

static void make_line(struct buf *line, struct rng *r)
{
    uint64_t until = rng_below(r, LINE_MAX_BYTES);
    buf_clear(line);
    while (line->len < until) {
        uint64_t what = rng_below(r, 64);
        if (what < 56)
            add_word(line, r);
        else if (what < 63)
            add_run(line, r, (unsigned)rng_below(r, SCRIPTS), rng_below(r, 100));
        else
            for (uint64_t n = rng_below(r, 400), c = ' ' + rng_below(r, 95); n; n--)
                buf_addc(line, (int)c);
    }
    buf_addc(line, '\n');
}

int main(int argc, char **argv)
{
    struct buf line = BUF_INIT;
    struct rng r = { rng_key(0, argc > 2 ? strtoull(argv[2], NULL, 10) : 0), 0 };
    size_t left = argc > 1 ? (size_t)1000000 * strtoull(argv[1], NULL, 10) : 0;
    while (left) {
        make_line(&line, &r);
        if (fwrite(line.data, 1, line.len, stdout) != line.len)
            return 1;
        left -= line.len < left ? line.len : left;
    }
    buf_release(&line);
    return fflush(stdout) != 0;
}
