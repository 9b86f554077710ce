/* Input: patterns of a splitter, one per line, then a NUL and a text. The pieces must cover the
 * text, none may be empty, and they must be the same when taken one at a time. If a single pattern
 * has an automaton, the pieces must be those of PCRE2. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tokenizer/cut/pretokenize.h"
#include "tokenizer/cut/regex.h"
#include "unicode/unicode.h"

enum { MOST = 1 << 12 };

/* Writes the ends of the pieces and returns their number; -1 if a pattern takes too much time or
 * memory. */
static int cut(struct split_walk *s, const char *text, size_t n, int at_once, size_t *ends)
{
    int count = 0, got;
    split_begin(s, text, n);
    while ((got = split_next(s, ends + count, at_once)) > 0)
        count += got;
    return got < 0 ? -1 : count;
}

static void compare(const struct regex *re, const char *text, size_t n, const size_t *ends,
                    int count)
{
    struct regex_scratch *scratch = regex_scratch_new();
    size_t begin, end, at = 0;
    int i = 0, got = 1;
    while (at < n && (got = regex_find(re, scratch, text, n, at, &begin, &end)) > 0) {
        assert(begin == at || (i < count && ends[i++] == begin));
        assert(i < count && ends[i++] == end);
        at = end;
    }
    assert(got < 0 || i + (at < n) == count);
    regex_scratch_free(scratch);
}

static void check(const struct splitter *rules, const char *text, size_t n)
{
    static size_t ends[2][MOST + 64];
    struct split_walk *s = split_new(rules);
    int all = cut(s, text, n, 64, ends[0]), single = cut(s, text, n, 1, ends[1]);
    assert(all == single);
    assert(all <= 0 || !memcmp(ends[0], ends[1], (size_t)all * sizeof **ends));
    for (int i = 0; i < all; i++)
        assert(ends[0][i] > (i ? ends[0][i - 1] : 0));
    assert(all < 0 || (all ? ends[0][all - 1] == n : !n));
    if (rules->count == 1 && splitter_scans(rules) && rules->rules[0].regex)
        compare(rules->rules[0].regex, text, n, ends[0], all);
    split_free(s);
}

/* Reads the rules, one per line: a string if the line begins with '=', else a pattern. Returns -1
 * if one of them is not valid. */
static int read_rules(struct splitter *rules, const char *text, size_t n)
{
    for (size_t at = 0, len; at < n; at += len + 1) {
        const char *line = text + at, *end = memchr(line, '\n', n - at);
        len = end ? (size_t)(end - line) : n - at;
        int is_string = len && *line == '=';
        if (splitter_add(rules, is_string ? SPLIT_STRING : SPLIT_PATTERN, line + is_string,
                         len - (size_t)is_string) < 0)
            return -1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
    struct splitter rules = { 0 };
    struct buf text = BUF_INIT;
    size_t n = nul ? (size_t)(nul - data) : 0;
    if (nul && utf8_valid((const char *)data, n) == n &&
        read_rules(&rules, (const char *)data, n) == 0) {
        utf8_repair(&text, (const char *)nul + 1, size - n - 1);
        if (text.len <= MOST)
            check(&rules, text.data, text.len);
    }
    splitter_release(&rules);
    buf_release(&text);
    return 0;
}
