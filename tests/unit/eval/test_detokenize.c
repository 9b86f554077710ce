#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/rng.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "eval/detokenize.h"
#include "eval/wiki.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "unicode/whitespace.h"

struct example {
    const char *before, *after;
};

static void check(void (*rules)(struct buf *), const struct example *e)
{
    for (; e->before; e++) {
        struct buf text = BUF_INIT;
        buf_adds(&text, e->before);
        rules(&text);
        cr_expect_str_eq(text.data, e->after, "'%s' became '%s', not '%s'", e->before, text.data,
                         e->after);
        buf_release(&text);
    }
}

/* The expected texts are what CPython makes of the examples with the original rules. */
Test(detokenize, wiki)
{
    check(detokenize_wiki,
          (const struct example[]){
              { "", "" },
              { "the dogs ' tails", "the dogs' tails" },
              { "1 @,@ 500 @.@ 5 a @-@ b", "1,500.5 a-b" },
              { "a @-@ @-@ b", "a-@-@ b" }, /* the blank between is used up */
              { "x : y ; z . w ! v ? u , t", "x: y; z. w! v? u, t" },
              { "a . . b", "a. . b" },
              { "60 cm ( 24 in )", "60 cm (24 in)" },
              { "( )", "()" },
              { "( a ( b ) c )", "(a ( b) c )" },
              { "( open", "( open" },
              { ") ( x )", ") (x)" },
              { "[ \n a \t]{ b }", "[a]{b}" },
              { "say \" yes \" or \" no \" .", "say \"yes\" or \"no\" ." },
              { "a \" b \" c \" d", "a \"b\" c \" d" },
              { "it ' s ' x", "it's' x" },
              { "John 's cat", "John's cat" },
              { "= = = = H = = = =", "==== H ====" },
              { " = = = H = = = \n", " === H ===\n" },
              { "= = = = =", "=====" },
              { "12 ° C", "12°C" },
              { " \n = A = \n \n b", "\n= A =\n\nb" },
              { "N N N", "N 1 N" },
              { "a\xC2\xA0(\xC2\xA0x\xE3\x80\x80)", "a\xC2\xA0(x)" },
              { "(\xE2\x80\x8Bx )", "(\xE2\x80\x8Bx)" }, /* U+200B is no white space */
              { "in ' 90 s '", "in '90 s'" },
              { "\xFF ( \xFE )", "\xFF (\xFE)" },
              { NULL, NULL } });
}

Test(detokenize, ptb)
{
    check(detokenize_ptb, (const struct example[]){ { "", "" },
                                                    { " it 's n't \n so \n", " it'sn't\nso\n" },
                                                    { "do n't", "don't" },
                                                    { "at $ N a # N b", "at $1 a #1 b" },
                                                    { NULL, NULL } });
}

/* A NUL character must not end the text. */
Test(detokenize, nul)
{
    struct buf text = BUF_INIT;
    buf_add(&text, "a\0 , b", 6);
    detokenize_wiki(&text);
    cr_expect_eq(text.len, 5);
    cr_expect(!memcmp(text.data, "a\0, b", 5));
    buf_release(&text);
}

static const char *data_path(const char *name, struct buf *path)
{
    const char *dir = getenv("TEXTMILL_DATA");
    set_path(path, dir ? dir : "../shared/data", name);
    if (!look(path->data))
        cr_skip_test("no %s", path->data);
    return path->data;
}

/* The expected sizes are those of the original Python code's output. */
Test(detokenize, wikitext_sizes)
{
    static const struct {
        const char *name;
        size_t bytes;
    } files[] = { { "wikitext/wikitext-103.valid.tokens", 1098989 },
                  { "wikitext/wikitext-2.valid.tokens", 1078379 } };
    struct buf path = BUF_INIT, text = BUF_INIT;
    for (int i = 0; i < 2; i++) {
        buf_clear(&text);
        cr_assert_eq(file_read(data_path(files[i].name, &path), &text), 0);
        cr_expect_eq(wiki_words(text.data, text.len), 217642);
        detokenize_wiki(&text);
        cr_expect_eq(text.len, files[i].bytes);
    }
    buf_release(&path);
    buf_release(&text);
}

/* Texts for which a simple search takes quadratic time: many opening brackets without a closing
 * one, and long runs of blanks. */
Test(detokenize, linear, .timeout = 20)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < 1 << 20; i++)
        buf_adds(&text, i % 2 ? "( " : "[ { ");
    size_t before = text.len;
    detokenize_wiki(&text);
    cr_expect_eq(text.len, before);
    buf_clear(&text);
    for (int i = 0; i < 1 << 20; i++)
        buf_adds(&text, "= ");
    buf_adds(&text, "(");
    for (int i = 0; i < 1 << 20; i++)
        buf_adds(&text, " ");
    detokenize_wiki(&text);
    cr_expect_gt(text.len, (size_t)1 << 20);
    buf_release(&text);
}

Test(whitespace, every_code_point)
{
    static const unsigned spaces[] = { 0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x1C,
                                       0x1D,   0x1E,   0x1F,   0x20,   0x85,   0xA0,
                                       0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                       0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
                                       0x2028, 0x2029, 0x202F, 0x205F, 0x3000 };
    struct buf c = BUF_INIT;
    size_t next = 0, count = sizeof spaces / sizeof *spaces;
    for (unsigned p = 0; p < 0x110000; p++) {
        int is = next < count && spaces[next] == p;
        next += (size_t)is;
        if (p >= 0xD800 && p < 0xE000)
            continue;
        buf_clear(&c);
        utf8_add(&c, p);
        size_t width = is ? c.len : 0;
        if (whitespace_at(c.data, c.len) != width || whitespace_before(c.data, c.len) != width)
            cr_assert_fail("U+%04X", p);
    }
    cr_expect_eq(next, count);
    buf_release(&c);
}

static void expect_span(struct span got, const char *want)
{
    cr_expect(got.n == strlen(want) && !memcmp(got.s, want, got.n), "'%.*s', not '%s'", (int)got.n,
              got.s, want);
}

Test(whitespace, strip_and_last_word)
{
    expect_span(whitespace_strip(" \n a b\xE2\x80\xA9", 9), "a b");
    expect_span(whitespace_strip("  ", 2), "");
    expect_span(whitespace_strip("", 0), "");
    expect_span(whitespace_last_word("one two\xC2\xA0three \n", 16), "three");
    expect_span(whitespace_last_word("one", 3), "one");
    expect_span(whitespace_last_word(" ", 1), "");
}

Test(wiki, words)
{
    cr_expect_eq(wiki_words("", 0), 1);
    cr_expect_eq(wiki_words(" \n = A = \n", 10), 3);
    cr_expect_eq(wiki_words("a  b", 4), 3); /* split(" ") gives an empty piece */
    cr_expect_eq(wiki_words("a \n b", 5), 3);
}
