#include "eval/detokenize.h"

#include "unicode/whitespace.h"

struct rule {
    const char *from, *to;
};

/* Replaces each rule's `from` by its `to`, from left to right without overlap, like Python's
 * str.replace(). `spare` is scratch. */
static void replace_all(struct buf *text, struct buf *spare, const struct rule *r)
{
    for (; r->from; r++) {
        buf_clear(spare);
        buf_add_replaced(spare, text->data, text->len, r->from, strlen(r->from), r->to,
                         strlen(r->to));
        buf_swap(text, spare);
    }
}

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
    static const struct rule before[] = {
        { "s '", "s'" }, { " @-@ ", "-" }, { " @,@ ", "," }, { " @.@ ", "." },
        { " : ", ": " }, { " ; ", "; " },  { " . ", ". " },  { " ! ", "! " },
        { " ? ", "? " }, { " , ", ", " },  { NULL, NULL },
    };
    static const char pairs[][2] = {
        { '(', ')' }, { '[', ']' }, { '{', '}' }, { '"', '"' }, { '\'', '\'' },
    };
    static const struct rule after[] = {
        { "= = = =", "====" }, { "= = =", "===" }, { "= =", "==" }, { " ° ", "°" }, { " \n", "\n" },
        { "\n ", "\n" },       { " N ", " 1 " },   { " 's", "'s" }, { NULL, NULL },
    };
    SCOPED(buf) spare = BUF_INIT;
    replace_all(text, &spare, before);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        tighten(text, &spare, pairs[i][0], pairs[i][1]);
    replace_all(text, &spare, after);
}

void detokenize_ptb(struct buf *text)
{
    static const struct rule rules[] = {
        { " '", "'" },   { " \n", "\n" }, { "\n ", "\n" }, { " n't", "n't" },
        { " N ", "1 " }, { "$ 1", "$1" }, { "# 1", "#1" }, { NULL, NULL },
    };
    SCOPED(buf) spare = BUF_INIT;
    replace_all(text, &spare, rules);
}
