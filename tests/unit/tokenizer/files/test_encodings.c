/* The patterns and special tokens of well-known vocabularies. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "tokenizer/files/encodings.h"
#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

static int put_piece(void *ctx, const char *piece, size_t n)
{
    struct buf *out = ctx;
    buf_add(out, piece, n);
    buf_addc(out, '|');
    return 0;
}

/* Returns the text, cut as the encoding does, with a '|' after each piece. */
static struct buf cut_by(enum tokenizer_pattern pattern, const char *text)
{
    struct vocabulary v;
    struct buf got = BUF_INIT;
    vocabulary_init(&v);
    for (int b = 0; b < 256; b++)
        cr_assert_eq(vocabulary_put(&v, b, (char[]){ (char)b }, 1, TOKEN_MODEL), 0);
    cr_assert_eq(encoding_cut(&v, encoding_named(pattern)), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    cr_assert(t, "%s", err_get());
    struct encoder *e = encoder_new(t);
    cr_assert_eq(encoder_pieces(e, text, strlen(text), put_piece, &got), 0, "%s", err_get());
    encoder_free(e);
    tokenizer_free(t);
    return got;
}

#define HAN    "\u4E2D\u6587"
#define ACUTE  "\u0301"
#define DIGITS "1|2|3|4|5|"

/* Apart and together: capital letters and an apostrophe, three digits, slashes, a slash after a
 * line end, capital letters inside a word, Chinese characters, an accent (which NFC joins with its
 * letter), and white space at the end. */
Test(encodings, each_cuts_text_as_its_own_program)
{
    static const char text[] = "I'VE 12345 x/y;/\n/b caB " HAN "c x" ACUTE "y e" ACUTE
                               " don't  \n  ";
    static const struct {
        enum tokenizer_pattern pattern;
        const char *pieces;
    } cases[] = {
        { TOKENIZER_GPT2, "I|'|VE| 12345| x|/|y|;/|\n|/|b| caB| " HAN "c| x|" ACUTE "|y| e|" ACUTE
                          "| don|'t|  \n  |" },
        { TOKENIZER_CL100K, "I|'VE| |123|45| x|/y|;/\n|/b| caB| " HAN "c| x|" ACUTE "y| e|" ACUTE
                            "| don|'t|  \n  |" },
        { TOKENIZER_O200K,
          "I'VE| |123|45| x|/y|;/\n/|b| ca|B| " HAN "c| x" ACUTE "y| e" ACUTE "| don't|  \n|  |" },
        { TOKENIZER_QWEN,
          "I|'VE| |" DIGITS " x|/y|;/\n|/b| caB| " HAN "c| x|" ACUTE "y| \u00E9| don|'t|  \n|  |" },
        { TOKENIZER_QWEN35,
          "I|'VE| |" DIGITS " x|/y|;/\n|/b| caB| " HAN "c| x" ACUTE "y| \u00E9| don|'t|  \n|  |" },
        { TOKENIZER_LLAMA3, "I|'VE| |123|45| x|/y|;/\n|/b| caB| " HAN "c| x|" ACUTE "y| e|" ACUTE
                            "| don|'t|  \n|  |" },
        { TOKENIZER_LLAMA4,
          "I'VE| |123|45| x|/y|;/\n/|b| ca|B| " HAN "c| x" ACUTE "y| e" ACUTE "| don't|  \n|  |" },
        { TOKENIZER_KIMI, "I'VE| |123|45| x|/y|;/\n|/b| ca|B| |" HAN "|c| x" ACUTE "y| e" ACUTE
                          "| don't|  \n|  |" },
        { TOKENIZER_TEKKEN, "I|'VE| |" DIGITS " x|/y|;/\n/|b| ca|B| " HAN "c| x" ACUTE "y| e" ACUTE
                            "| don|'t|  \n|  |" },
        { TOKENIZER_GLM, "I|'VE| |123|45| x|/y|;/\n|/b| caB| " HAN "c| x|" ACUTE "y| e|" ACUTE
                         "| don|'t|  \n|  |" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf got = cut_by(cases[i].pattern, text);
        cr_expect_str_eq(got.data, cases[i].pieces, "%zu: %s", i, got.data);
        cr_expect_eq(!encoding_pattern(cases[i].pattern), cases[i].pattern == TOKENIZER_GPT2);
        buf_release(&got);
    }
}

Test(encodings, classes_and_models_have_names)
{
    static const struct {
        const char *name;
        enum tokenizer_pattern pattern;
    } known[] = { { "GPT2Tokenizer", TOKENIZER_GPT2 },
                  { "GPT2TokenizerFast", TOKENIZER_GPT2 },
                  { "gpt2", TOKENIZER_GPT2 },
                  { "Qwen2TokenizerFast", TOKENIZER_QWEN },
                  { "qwen2", TOKENIZER_QWEN },
                  { "TikTokenTokenizer", TOKENIZER_KIMI },
                  { "ChatGLM4Tokenizer", TOKENIZER_GLM } };
    static const char *const unknown[] = {
        NULL, "", "Fast", "GPT2", "qwen2Fast", "LlamaTokenizer"
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        cr_expect_eq(encoding_of_class(known[i].name), encoding_named(known[i].pattern), "%s",
                     known[i].name);
    cr_expect(encoding_of_class("CodeGenTokenizerFast") && encoding_of_class("codegen"));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_expect_null(encoding_of_class(unknown[i]), "%zu", i);
    cr_expect_null(encoding_named(TOKENIZER_AUTO));
}

/* The special tokens have their published ids. An id below the last of them that neither a token of
 * the file nor a special token has gets a name of its own. */
Test(encodings, special_tokens_have_their_ids)
{
    static const struct {
        enum tokenizer_pattern pattern;
        uint32_t tokens, all;
        int64_t end;
        const char *last;
    } cases[] = {
        { TOKENIZER_CL100K, 100256, 100277, 100257, "<|endofprompt|>" },
        { TOKENIZER_O200K, 199998, 200019, 199999, "<|endofprompt|>" },
        { TOKENIZER_QWEN, 151643, 151646, 151643, "<|im_end|>" },
        { TOKENIZER_LLAMA3, 128000, 128256, 128001, "<|reserved_special_token_245|>" },
        { TOKENIZER_LLAMA4, 200000, 200093, 200001, "<|patch|>" },
        { TOKENIZER_KIMI, 163584, 163587, 163585, "<|im_end|>" },
        { TOKENIZER_GLM, 151329, 151330, 151329, "<|endoftext|>" },
        { TOKENIZER_QWEN35, 7, 7, -1, NULL },
        { TOKENIZER_TEKKEN, 7, 7, -1, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vocabulary v;
        vocabulary_init(&v);
        cr_assert_eq(vocabulary_put(&v, cases[i].tokens - 1, "a", 1, TOKEN_MODEL), 0);
        cr_assert_eq(encoding_add_specials(&v, encoding_named(cases[i].pattern)), 0, "%s",
                     err_get());
        cr_expect(v.count == cases[i].all && v.end_of_text == cases[i].end, "%zu", i);
        for (uint32_t id = cases[i].tokens; id < v.count; id++)
            cr_expect(vocabulary_is_special(&v, id), "%zu: %u", i, id);
        if (cases[i].last)
            cr_expect_eq(vocabulary_find(&v, cases[i].last, strlen(cases[i].last)), v.count - 1);
        vocabulary_release(&v);
    }
}

Test(encodings, special_tokens_whose_ids_are_taken)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(vocabulary_put(&v, 100257, "a", 1, TOKEN_MODEL), 0);
    cr_expect_eq(encoding_add_specials(&v, encoding_named(TOKENIZER_CL100K)), -1);
    cr_expect_str_eq(err_get(), "id 100257 is given to two tokens");
    vocabulary_release(&v);
}

Test(encodings, ids_without_a_token_get_names)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(vocabulary_put(&v, 0, "a", 1, TOKEN_MODEL), 0);
    cr_assert_eq(vocabulary_put(&v, 3, "b", 1, TOKEN_MODEL), 0);
    cr_assert_eq(encoding_fill(&v, 2, 6), 0);
    cr_expect_eq(vocabulary_hole(&v), 1);
    cr_expect_eq(vocabulary_find(&v, "b", 1), 3);
    cr_expect(v.count == 6 && vocabulary_find(&v, "<|unused_2|>", 12) == 2 &&
              vocabulary_find(&v, "<|unused_5|>", 12) == 5);
    cr_expect(vocabulary_is_special(&v, 4) && !vocabulary_is_special(&v, 3));
    vocabulary_release(&v);
}
