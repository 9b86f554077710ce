/* Reads JSON with the scanner and as a tree: both must give the same values, or both must refuse
 * it. The scanner does not know numbers with fraction or exponent, nor words, and does not notice
 * keys that occur twice; texts with these may differ. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "common/formats/js_scan.h"
#include "common/formats/kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH_MAX = 64 };

static int foreign; /* the text has what only one of them takes */

static void same_text(const struct js *tree, const char *text, size_t n)
{
    size_t len;
    const char *want = js_text(tree, &len);
    assert(!tree || (want && len == n && !memcmp(want, text, n)));
}

static int walk(struct js_scan *s, const struct js *tree, int depth);

static int walk_inside(struct js_scan *s, const struct js *tree, int depth, char close)
{
    size_t i = 0;
    int more;
    void *it = close == '}' ? js_first(tree) : NULL;
    assert(!tree || (close == '}' ? js_is_object(tree) : js_is_array(tree)));
    for (; (more = js_scan_next(s, close, i)) > 0; i++) {
        const char *key;
        size_t n, len;
        if (close == '}') {
            if (js_scan_key(s, &key, &n) < 0)
                return -1;
            foreign |= memchr(key, '\0', n) != NULL;
            assert(!tree || it);
            const char *want = tree ? js_key(it, &len) : NULL;
            assert(!want || (len == n && !memcmp(want, key, n)));
        }
        if (walk(s, !tree ? NULL : close == '}' ? js_value(it) : js_at(tree, i), depth + 1) < 0)
            return -1;
        it = tree && it ? js_next(tree, it) : NULL;
    }
    assert(more < 0 || !tree || js_count(tree) == i);
    return more;
}

static int walk_one(struct js_scan *s, const struct js *tree, int depth)
{
    int c = js_scan_peek(s);
    const char *text;
    size_t n;
    int64_t value, want;
    if (c == '"') {
        if (js_scan_text(s, &text, &n) < 0)
            return -1;
        same_text(tree, text, n);
        return 0;
    }
    if (c == '{' || c == '[') {
        js_scan_mark(s, (char)c);
        return walk_inside(s, tree, depth, c == '{' ? '}' : ']');
    }
    if (js_scan_int(s, &value) < 0) {
        foreign = 1;
        return -1;
    }
    if (tree && js_int(tree, &want) < 0) /* a real: another number is beyond 64 bits */
        foreign = 1;
    else
        assert(!tree || want == value);
    return 0;
}

static int walk(struct js_scan *s, const struct js *tree, int depth)
{
    struct js_scan skip;
    js_scan_peek(s);
    js_scan_init(&skip, s->text, s->n);
    skip.at = s->at;
    foreign |= depth > DEPTH_MAX;
    if (depth > DEPTH_MAX || walk_one(s, tree, depth) < 0)
        return -1;
    int failed = js_scan_skip(&skip);
    assert(!failed && skip.at >= s->at);
    assert(skip.at == s->at || s->text[s->at] != ',');
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct js_scan s;
    if (utf8_valid(text, size) != size || memchr(text, 0, size)) /* the tree ends at a NUL */
        return 0;
    struct js *tree = js_parse(text, size, "x");
    int twice = !tree && strstr(err_get(), "duplicate") != NULL;
    js_scan_init(&s, text, size);
    foreign = kinds_check("x", text, size) < 0; /* then that is the tree's error */
    int failed = walk(&s, tree, 0) < 0 || js_scan_peek(&s) >= 0;
    assert(foreign || twice || failed == !tree);
    js_scan_release(&s);
    js_free(tree);
    return 0;
}
