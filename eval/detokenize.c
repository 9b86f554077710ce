#include "eval/detokenize.h"

#include "unicode/whitespace.h"

/* Removes the white space after each `open` character and before the next `close` character, which
 * may be on another line. `spare` is scratch. */
static void tighten(struct buf *text, struct buf *spare, char open, char close)
{
    const char *at = text->data, *end = text->data + text->len, *left, *right;
    buf_clear(spare);
    while ((left = memchr(at, open, (size_t)(end - at))) &&
           (right = memchr(left + 1, close, (size_t)(end - left - 1)))) {
        struct span inner = whitespace_strip(left + 1, (size_t)(right - left - 1));
        buf_add(spare, at, (size_t)(left + 1 - at));
        buf_add(spare, inner.s, inner.n);
        buf_addc(spare, close);
        at = right + 1;
    }
    buf_add(spare, at, (size_t)(end - at));
    buf_swap(text, spare);
}

void detokenize_wiki(struct buf *text)
{
    static const char *const before[][2] = {
        { "s '", "s'" }, { " @-@ ", "-" }, { " @,@ ", "," }, { " @.@ ", "." }, { " : ", ": " },
        { " ; ", "; " }, { " . ", ". " },  { " ! ", "! " },  { " ? ", "? " },  { " , ", ", " },
    };
    static const char pairs[][2] = {
        { '(', ')' }, { '[', ']' }, { '{', '}' }, { '"', '"' }, { '\'', '\'' },
    };
    static const char *const after[][2] = {
        { "= = = =", "====" }, { "= = =", "===" }, { "= =", "==" },  { " ° ", "°" },
        { " \n", "\n" },       { "\n ", "\n" },    { " N ", " 1 " }, { " 's", "'s" },
    };
    SCOPED(buf) spare = BUF_INIT;
    buf_replace_all(text, before, sizeof before / sizeof *before);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        tighten(text, &spare, pairs[i][0], pairs[i][1]);
    buf_replace_all(text, after, sizeof after / sizeof *after);
}

void detokenize_ptb(struct buf *text)
{
    static const char *const rules[][2] = {
        { " '", "'" },   { " \n", "\n" }, { "\n ", "\n" }, { " n't", "n't" },
        { " N ", "1 " }, { "$ 1", "$1" }, { "# 1", "#1" },
    };
    buf_replace_all(text, rules, sizeof rules / sizeof *rules);
}
