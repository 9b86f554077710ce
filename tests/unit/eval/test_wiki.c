/* A text is read by each rule and each way to prepare it: its tokens, words, bytes and pages. */
#include "eval/wiki.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/dir.h"
#include "tests/unit/look.h"

static struct tokenizer *tokenizer; /* each byte is a token */
static struct encoder *encoder;

static void begin(void)
{
    make_dir();
    cr_assert((tokenizer = tokenizer_load(NULL)));
    encoder = encoder_new(tokenizer);
}

static void end(void)
{
    encoder_free(encoder);
    tokenizer_free(tokenizer);
    remove_dir();
}

TestSuite(wiki, .init = begin, .fini = end);

static int read_as(struct wiki_text *text, enum wiki_rule rule, enum wiki_detokenizer how)
{
    return wiki_read(text, in_dir("text"), rule, how, tokenizer, encoder);
}

/* The text of all tokens from `from` on. */
static const char *spelled(const struct wiki_text *text, size_t from)
{
    static char out[256];
    size_t n = 0, len;
    for (size_t i = from; i < text->ids.count; i++) {
        const char *s = tokenizer_token(tokenizer, text->ids.data[i], &len);
        memcpy(out + n, s, len);
        n += len;
    }
    out[n] = '\0';
    return out;
}

Test(wiki, prepares)
{
    static const struct {
        enum wiki_rule rule;
        enum wiki_detokenizer how;
        const char *in, *out;
    } cases[] = {
        { WIKI_MEGATRON, WIKI_AUTO, "a , b\n", "a, b\n" },
        { WIKI_MEGATRON, WIKI_NONE, "a , b\n", "a , b\n" },
        { WIKI_MEGATRON, WIKI_PTB, " n't a\n", "n't a\n" },
        { WIKI_STRIDED, WIKI_AUTO, "a , b\n \nc", "a , b\n\n\n\n\nc" },
        { WIKI_STRIDED, WIKI_WIKI, "a , b", "a, b" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wiki_text text;
        put_text("text", cases[i].in);
        cr_assert_eq(read_as(&text, cases[i].rule, cases[i].how), 0, "%s", err_get());
        cr_expect_str_eq(spelled(&text, 0), cases[i].out, "case %zu", i);
        cr_expect(text.count == 1 && text.bytes == strlen(cases[i].in));
        cr_expect(text.tokens == strlen(cases[i].out) && text.ids.count == text.tokens);
        wiki_release(&text);
    }
}

Test(wiki, ratio_of_tokens)
{
    struct wiki_text text;
    put_text("text", "abc de f\n");
    cr_assert_eq(read_as(&text, WIKI_MEGATRON, WIKI_NONE), 0, "%s", err_get());
    cr_expect_eq(text.words, 3);
    cr_expect_eq(wiki_token_ratio(&text), 8 / 2.);
    wiki_release(&text);
}

/* Titles begin pages, sections do not; blank lines before the first title are no page. */
Test(wiki, pages_begin_at_titles)
{
    static const char pages[] = " \n = A = \n a\n = = S = = \n b\n = B = \n c d\n";
    struct wiki_text text;
    put_text("text", pages);
    cr_assert_eq(read_as(&text, WIKI_WORDS, WIKI_AUTO), 0, "%s", err_get());
    cr_assert_eq(text.count, 2);
    cr_expect_eq(text.bytes, strlen(" = A = \n a\n = = S = = \n b") + strlen(" = B = \n c d\n"));
    cr_expect_eq(text.words, 11 + 7);
    cr_expect_eq(text.tokens + 2, text.ids.count);
    cr_expect_eq(text.pages[1].begin, text.pages[0].end);
    cr_expect(strstr(spelled(&text, text.pages[1].begin + 1), "B") &&
              !strchr(spelled(&text, text.pages[1].begin + 1), 'b'));
    wiki_release(&text);
    cr_assert_eq(read_as(&text, WIKI_WORDS, WIKI_NONE), 0, "%s", err_get());
    cr_expect(text.count == 1 && text.bytes == strlen(pages));
    wiki_release(&text);
}

Test(wiki, refuses)
{
    static const struct {
        enum wiki_rule rule;
        const char *in, *error; /* NULL: none */
    } cases[] = {
        { WIKI_WORDS, "", "0 bytes and 0 tokens, at least 1 of each are needed" },
        { WIKI_WORDS, "a", NULL },
        { WIKI_STRIDED, "a", "1 bytes and 1 tokens, at least 2 of each are needed" },
        { WIKI_STRIDED, "ab", NULL },
        { WIKI_MEGATRON, "a", "1 bytes and 1 tokens, at least 2 of each are needed" },
        { WIKI_MEGATRON, "ab", NULL }, /* as in Chinese, without spaces */
        { WIKI_MEGATRON, "a b", NULL },
        { WIKI_MEGATRON, "\xFF", "UTF-8" },
    };
    struct wiki_text text;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_text("text", cases[i].in);
        const int result = read_as(&text, cases[i].rule, WIKI_NONE);
        cr_expect_eq(result, cases[i].error ? -1 : 0, "case %zu", i);
        if (cases[i].error)
            expect_error(cases[i].error);
        if (!result)
            wiki_release(&text);
    }
    cr_expect_eq(wiki_read(&text, in_dir("a.zip"), WIKI_WORDS, WIKI_NONE, tokenizer, encoder), -1);
    expect_error("a.zip");
}

Test(wiki, lines_that_are_no_titles)
{
    struct wiki_text text;
    put_text("text", "x\n = A = = \ny\n = = B = \nz\n=C=\n= =\n = \n==\n= D =\nw\n");
    cr_assert_eq(read_as(&text, WIKI_WORDS, WIKI_AUTO), 0, "%s", err_get());
    cr_assert_eq(text.count, 2);
    cr_expect_eq(text.pages[1].bytes, strlen("= D =\nw\n"));
    wiki_release(&text);
}
