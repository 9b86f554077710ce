/* Vocabularies from llama.cpp's keys in GGUF files: what they encode, and errors by name and byte.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/err.h"
#include "common/base/le.h"
#include "common/files/file.h"
#include "common/formats/gguf.h"
#include "generate/export_vocabulary.h"
#include "tests/unit/temp_file.h"
#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

/* A token of a test's vocabulary. */
struct token {
    const char *text;
    float score;
    uint32_t type;
};

static char *path;

static void make_file(void)
{
    path = temp_file("", 0);
}

static void remove_file(void)
{
    drop_file(path);
}

TestSuite(gguf_vocabulary, .init = make_file, .fini = remove_file);

/* ---- files -------------------------------------------------------------------------------- */

static void begin(struct gguf_writer *w, const char *model, const struct token *tokens, int n)
{
    struct buf texts = BUF_INIT, types = BUF_INIT, scores = BUF_INIT;
    for (int i = 0; i < n; i++) {
        gguf_put_text(&texts, tokens[i].text, strlen(tokens[i].text));
        le_add_u32(&types, tokens[i].type);
        le_add_f32(&scores, tokens[i].score);
    }
    gguf_begin(w);
    gguf_add_text(w, "tokenizer.ggml.model", model, strlen(model));
    gguf_add_list(w, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)n, &texts);
    gguf_add_list(w, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)n, &types);
    if (!strcmp(model, "llama"))
        gguf_add_list(w, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)n, &scores);
    buf_release(&texts);
    buf_release(&types);
    buf_release(&scores);
}

/* Writes the file and appends its bytes to `b`. */
static void end(struct gguf_writer *w, struct buf *b)
{
    cr_assert_eq(gguf_create(w, path), 0, "%s", err_get());
    cr_assert_eq(gguf_finish(w), 0, "%s", err_get());
    cr_assert_eq(file_read(path, b), 0, "%s", err_get());
}

/* Reads the vocabulary of a file in memory. Returns 0, or -1 with an error. */
static int read_bytes(struct vocabulary *v, const struct buf *b)
{
    struct gguf g;
    cr_assert_eq(gguf_parse(&g, b->data, b->len, "x.gguf"), 0, "%s", err_get());
    vocabulary_init(v);
    int failed = gguf_vocabulary_read(v, &g);
    if (failed)
        vocabulary_release(v);
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    return failed;
}

static size_t find(const struct buf *b, const char *word)
{
    for (size_t i = 0; i + strlen(word) < b->len; i++)
        if (!memcmp(b->data + i, word, strlen(word)))
            return i;
    cr_assert_fail("no %s", word);
    return 0;
}

/* Replaces *b by a file that export_vocabulary makes of the vocabulary, without the tokenizer.json
 * inside. llama.cpp must read it in no other way than we do. */
static void export(struct buf *b, int64_t size)
{
    struct vocabulary v;
    struct gguf_writer w;
    const char *doubt;
    cr_assert_eq(read_bytes(&v, b), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    gguf_begin(&w);
    cr_assert_eq(export_vocabulary(&w, t, size, &doubt), 0, "%s", err_get());
    cr_expect_null(doubt, "%s", doubt);
    tokenizer_free(t);
    buf_clear(b);
    end(&w, b);
    memcpy(b->data + find(b, "tokenizer.huggingface.json"), "unused", 6);
}

/* The file's tokenizer must encode `text`, with its special tokens, as `want`, a list of ids. */
static void expect(const struct buf *b, const char *text, const char *want)
{
    struct vocabulary v;
    struct ids ids = { 0 }, all = { 0 }, types = { 0 };
    struct buf found = BUF_INIT;
    cr_assert_eq(read_bytes(&v, b), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    struct encoder *e = encoder_new(t);
    cr_assert_eq(encoder_encode(e, text, strlen(text), TOKENIZER_ORDINARY, &ids), 0);
    tokenizer_assemble(t, &ids, NULL, &all, &types);
    for (size_t i = 0; i < all.count; i++)
        buf_addf(&found, "%s%u", i ? " " : "", all.data[i]);
    cr_expect_str_eq(found.data ? found.data : "", want, "'%s': %s, not %s", text, found.data,
                     want);
    encoder_free(e);
    tokenizer_free(t);
    ids_release(&ids);
    ids_release(&all);
    ids_release(&types);
    buf_release(&found);
}

/* Overwrites n bytes from byte `at`. The file must then be refused with `words`, in which "%zu" is
 * the byte `named`. */
static void refused(const struct buf *whole, size_t at, const char *bytes, size_t n,
                    const char *words, size_t named)
{
    struct vocabulary v;
    struct buf b = BUF_INIT, want = BUF_INIT;
    buf_add(&b, whole->data, whole->len);
    memcpy(b.data + at, bytes, n);
    buf_addf(&want, "x.gguf: %s", words);
    if (named)
        buf_addf(&want, ", at byte %zu", named);
    cr_assert_eq(read_bytes(&v, &b), -1, "no error: %s", words);
    cr_expect(strstr(err_get(), want.data), "'%s' lacks '%s'", err_get(), want.data);
    buf_release(&b);
    buf_release(&want);
}

/* ---- llama -------------------------------------------------------------------------------- */

enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

static const struct token pieces[] = {
    { "<unk>", 0, UNKNOWN },  { "<s>", 0, CONTROL },      { "</s>", 0, CONTROL },
    { "<0x0A>", 0, BYTE },    { "<0xC3>", 0, BYTE },      { "<0xA9>", 0, BYTE },
    { "ab", -1, NORMAL },     { "bc", 0, NORMAL },        { "\u2581ab", -2, NORMAL },
    { "\u2581", -9, NORMAL }, { "a", -9, NORMAL },        { "b", -9, NORMAL },
    { "c", -9, NORMAL },      { "[x]", 0, USER_DEFINED }, { "[PAD14]", 0, UNUSED },
};
enum { PIECES = sizeof pieces / sizeof *pieces };

Test(gguf_vocabulary, llama)
{
    struct gguf_writer w;
    struct buf b = BUF_INIT;
    begin(&w, "llama", pieces, PIECES);
    end(&w, &b);
    /* <s>, then: the pair with the highest score first; a character without token is its bytes */
    for (int again = 0; again < 2; again++) {
        expect(&b, "ab abc", "1 8 9 10 7");
        expect(&b, "c\nc\u00e9", "1 9 12 3 12 4 5");
        expect(&b, "a[x]b", "1 9 10 13 11");
        export(&b, PIECES + 1);
    }
    static const char key[] = "tokenizer.ggml.token_type";
    const unsigned char *types = (unsigned char *)b.data + find(&b, key) + strlen(key) +
                                 16; /* after forms and count */
    for (int i = 0; i < PIECES; i++)
        cr_expect_eq(le_u32(types + 4 * i), pieces[i].type, "token %d", i);
    buf_release(&b);
}

Test(gguf_vocabulary, llama_without_begin_and_space)
{
    struct gguf_writer w;
    struct buf b = BUF_INIT;
    begin(&w, "llama", pieces, PIECES);
    gguf_add_bool(&w, "tokenizer.ggml.add_bos_token", 0);
    gguf_add_bool(&w, "tokenizer.ggml.add_space_prefix", 0);
    end(&w, &b);
    expect(&b, "ab abc", "6 9 10 7");
    export(&b, PIECES);
    expect(&b, "ab abc", "6 9 10 7");
    buf_release(&b);
}

Test(gguf_vocabulary, llama_with_end)
{
    for (int begins = 0; begins < 2; begins++) {
        struct gguf_writer w;
        struct buf b = BUF_INIT;
        const char *want = begins ? "1 8 9 10 7 2" : "8 9 10 7 2";
        begin(&w, "llama", pieces, PIECES);
        gguf_add_bool(&w, "tokenizer.ggml.add_bos_token", begins);
        gguf_add_bool(&w, "tokenizer.ggml.add_eos_token", 1);
        end(&w, &b);
        expect(&b, "ab abc", want);
        export(&b, PIECES);
        expect(&b, "ab abc", want);
        buf_release(&b);
    }
}

Test(gguf_vocabulary, of_equal_scores_the_leftmost_pair_comes_first)
{
    struct gguf_writer w;
    struct buf b = BUF_INIT;
    struct token tied[PIECES];
    memcpy(tied, pieces, sizeof pieces);
    tied[6] = pieces[7];
    tied[7] = (struct token){ "ab", 0, NORMAL };
    begin(&w, "llama", tied, PIECES);
    gguf_add_bool(&w, "tokenizer.ggml.add_bos_token", 0);
    gguf_add_bool(&w, "tokenizer.ggml.add_space_prefix", 0);
    end(&w, &b);
    for (int again = 0; again < 2; again++) {
        expect(&b, "abc", "7 12");
        export(&b, PIECES);
    }
    buf_release(&b);
}

Test(gguf_vocabulary, llama_refused)
{
    struct gguf_writer w;
    struct buf b = BUF_INIT;
    begin(&w, "llama", pieces, PIECES);
    gguf_add_u32(&w, "tokenizer.ggml.eos_token_id", 2);
    end(&w, &b);
    const size_t list = 4 + 4 + 8, /* from a key's end to its first item: types, and a count */
        types = find(&b, "tokenizer.ggml.token_type") + strlen("tokenizer.ggml.token_type") + list,
                 scores = find(&b, "tokenizer.ggml.scores") + strlen("tokenizer.ggml.scores") +
                          list,
                 eos = find(&b, "tokenizer.ggml.eos_token_id") +
                       strlen("tokenizer.ggml.eos_token_id") + 4;
    refused(&b, types + 4 * 6, "\7", 1, "bad type 7 of token 6", types + 4 * 6);
    refused(&b, types + 4 * 6, "\0", 1, "bad type 0 of token 6", types + 4 * 6);
    refused(&b, scores + 4 * 7 + 2, "\xc0\x7f", 2, "bad score nan of token 7", scores + 4 * 7);
    refused(&b, eos, "\x63", 1, "bad tokenizer.ggml.eos_token_id: 99 is none of 15 tokens", eos);
    refused(&b, find(&b, "bc"), "ab", 2, "token 7, at byte", 0);
    refused(&b, find(&b, "bc"), "b\xff", 2, "token 7, at byte", 0);
    refused(&b, find(&b, "tokenizer.ggml.scores"), "T", 1, "no key 'tokenizer.ggml.scores'", 0);
    refused(&b, find(&b, "tokenizer.ggml.tokens"), "T", 1, "no key 'tokenizer.ggml.tokens'", 0);
    buf_release(&b);
}

/* Lists that are shorter than the list of tokens. */
Test(gguf_vocabulary, counts_that_differ)
{
    struct gguf_writer w;
    struct buf b = BUF_INIT, few = BUF_INIT;
    begin(&w, "llama", pieces, PIECES);
    for (int i = 0; i < 3; i++)
        le_add_f32(&few, 0);
    memcpy(w.keys.data + find(&w.keys, "tokenizer.ggml.scores"), "unused", 6);
    gguf_add_list(&w, "tokenizer.ggml.scores", GGUF_F32, 3, &few);
    end(&w, &b);
    const size_t at = find(&b, "tokenizer.ggml.scores") + 21 + 4 + 4 + 8;
    refused(&b, 0, "GGUF", 4, "bad tokenizer.ggml.scores: 3 scores of 15 tokens", at);
    buf_release(&few);
    buf_release(&b);
}

/* ---- bert --------------------------------------------------------------------------------- */

static const struct token words[] = {
    { "[PAD]", 0, CONTROL },    { "[UNK]", 0, CONTROL },  { "[CLS]", 0, NORMAL },
    { "[SEP]", 0, CONTROL },    { "[MASK]", 0, CONTROL }, { "\u2581moon", 0, NORMAL },
    { "\u2581m", 0, NORMAL },   { "o", 0, NORMAL },       { "on", 0, NORMAL },
    { "\u2581caf", 0, NORMAL }, { "e", 0, NORMAL },       { "[unused11]", 0, NORMAL },
};

Test(gguf_vocabulary, bert)
{
    struct gguf_writer w;
    struct buf b = BUF_INIT;
    begin(&w, "bert", words, sizeof words / sizeof *words);
    end(&w, &b);
    expect(&b, "Moon mon \u20ac caf\u00e9", "2 5 6 8 1 9 10 3");
    refused(&b, find(&b, "[UNK]"), "[UNX]", 5, "no token '[UNK]'", 0);
    refused(&b, find(&b, "bert"), "berd", 4, "unsupported tokenizer.ggml.model 'berd'", 0);
    export(&b, sizeof words / sizeof *words);
    expect(&b, "Moon mon \u20ac caf\u00e9", "2 5 6 8 1 9 10 3");
    buf_release(&b);
}

/* A token with a capital letter: the text keeps its case. */
Test(gguf_vocabulary, cased_bert)
{
    struct gguf_writer w;
    struct buf b = BUF_INIT;
    struct token cased[sizeof words / sizeof *words];
    memcpy(cased, words, sizeof words);
    cased[6].text = "\u2581M";
    begin(&w, "bert", cased, sizeof words / sizeof *words);
    end(&w, &b);
    expect(&b, "Moon moon", "2 6 7 8 5 3");
    struct vocabulary v;
    struct gguf_writer w2;
    const char *doubt;
    cr_assert_eq(read_bytes(&v, &b), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    gguf_begin(&w2);
    cr_assert_eq(export_vocabulary(&w2, t, 12, &doubt), 0, "%s", err_get());
    cr_expect(doubt && strstr(doubt, "lower case"), "%s", doubt);
    cr_assert_eq(gguf_create(&w2, path), 0, "%s", err_get());
    gguf_abandon(&w2);
    tokenizer_free(t);
    buf_release(&b);
}

/* ---- gpt2 --------------------------------------------------------------------------------- */

Test(gguf_vocabulary, merges_refused)
{
    static const struct token letters[] = {
        { "a", 0, NORMAL }, { "b", 0, NORMAL }, { "ab", 0, NORMAL }, { "<|endoftext|>", 0, CONTROL }
    };
    struct gguf_writer w;
    struct buf b = BUF_INIT, merges = BUF_INIT;
    begin(&w, "gpt2", letters, 4);
    gguf_add_text(&w, "tokenizer.ggml.pre", "gpt-2", 5);
    gguf_put_text(&merges, "a b", 3);
    gguf_add_list(&w, "tokenizer.ggml.merges", GGUF_TEXT, 1, &merges);
    end(&w, &b);
    expect(&b, "abba", "2 1 0");
    export(&b, 4);
    expect(&b, "abba", "2 1 0");
    const size_t merge = find(&b, "a b");
    refused(&b, merge, "b a", 3, "merge 0", merge);
    refused(&b, merge, "a c", 3, "merge 0", merge);
    refused(&b, merge, "abb", 3, "merge 0", merge);
    refused(&b, find(&b, "tokenizer.ggml.merges"), "T", 1, "no key 'tokenizer.ggml.merges'", 0);
    buf_release(&merges);
    buf_release(&b);
}

/* OLMo has runs of spaces as tokens of the model, in the byte alphabet, and as added tokens. */
Test(gguf_vocabulary, spaces_in_both_spellings)
{
    static const struct token tokens[] = { { "  ", 0, USER_DEFINED },
                                           { "a", 0, NORMAL },
                                           { "\u0120", 0, NORMAL },
                                           { "\u0120\u0120", 0, NORMAL },
                                           { "\u0120\u0120\u0120", 0, NORMAL },
                                           { "   ", 0, USER_DEFINED },
                                           { "\u0120a", 0, NORMAL },
                                           { "<|pax|>", 0, USER_DEFINED },
                                           { "<|pad|>", 0, CONTROL } };
    struct gguf_writer w;
    struct buf b = BUF_INIT, merges = BUF_INIT;
    gguf_put_text(&merges, "\u0120 \u0120", 5);
    gguf_put_text(&merges, "\u0120 a", 4);
    begin(&w, "gpt2", tokens, 9);
    gguf_add_text(&w, "tokenizer.ggml.pre", "olmo", 4);
    gguf_add_list(&w, "tokenizer.ggml.merges", GGUF_TEXT, 2, &merges);
    end(&w, &b);
    expect(&b, "a a  a   a", "1 6 0 1 5 1");
    refused(&b, find(&b, "<|pax|>"), "<|pad|>", 7, "token 8", 0);
    buf_release(&merges);
    buf_release(&b);
}

/* Writes a GGUF file of seven tokens with pre-tokenizer `pre` and merges "1 1" and `merge`. */
static void make_pre(struct buf *out, const struct token *tokens, const char *pre,
                     const char *merge)
{
    struct gguf_writer w;
    SCOPED(buf) merges = BUF_INIT;
    begin(&w, "gpt2", tokens, 7);
    gguf_add_text(&w, "tokenizer.ggml.pre", pre, strlen(pre));
    gguf_put_text(&merges, "1 1", 3);
    gguf_put_text(&merges, merge, strlen(merge));
    gguf_add_list(&w, "tokenizer.ggml.merges", GGUF_TEXT, 2, &merges);
    end(&w, out);
}

/* A letter with a combining mark and four digits. The pre-tokenizer decides which merges are inside
 * a piece. An export keeps its name. */
Test(gguf_vocabulary, pre_tokenizers)
{
    static const struct token tokens[] = {
        { "<|endoftext|>", 0, CONTROL }, { "a", 0, NORMAL },      { "1", 0, NORMAL },
        { "\u00CC", 0, NORMAL },         { "\u00A9", 0, NORMAL }, { "11", 0, NORMAL },
        { "a\u00CC", 0, NORMAL },
    };
    static const char text[] = "a\xCC\xA9\x31\x31\x31\x31";
    static const char *const want[][3] = {
        /* the name, the ids, another name after an export */
        { "gpt-2", "1 3 4 5 5" },
        { "llama-bpe", "1 3 4 5 2 2" },
        { "qwen2", "1 3 4 2 2 2 2" },
        { "qwen35", "6 4 2 2 2 2" },
        { "smollm", "1 3 4 2 2 2 2" },
        { "tekken", "6 4 2 2 2 2" },
        { "gpt-4o", "6 4 5 2 2" },
        { "deepseek-r1-qwen", "1 3 4 2 2 2 2", "qwen2" },
        { "falcon3", "1 3 4 5 2 2", "llama-bpe" },
        { "lfm2", "1 3 4 5 2 2", "llama-bpe" },
        { "smaug-bpe", "1 3 4 5 2 2" }, /* as llama-bpe, but it merges pieces that are tokens */
        { "chatglm-bpe", "1 3 4 5 2 2", "smaug-bpe" },
        { "phi-2", "1 3 4 5 5", "gpt-2" },
        { "a.x-4.0", "1 3 4 5 5", "gpt-2" },
        { "jina-v5-nano", "1 3 4 5 2 2", "llama-bpe" },
        { "kanana2", "6 4 5 2 2", "gpt-4o" },
        { "stablelm2", "1 3 4 2 2 2 2", "qwen2" },
        { "starcoder", "1 3 4 2 2 2 2", "smollm" },
        { "command-r", "1 3 4 2 2 2 2", "smollm" },
        { "llama4", "6 4 5 2 2", "gpt-4o" },
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct buf b = BUF_INIT;
        make_pre(&b, tokens, want[i][0], "a \u00CC");
        expect(&b, text, want[i][1]);
        export(&b, 7);
        expect(&b, text, want[i][1]);
        find(&b, want[i][want[i][2] ? 2 : 0]);
        buf_release(&b);
    }
}

/* Characters of Chinese are pieces of their own; digits, too, in one of the two. The ids of the
 * published vocabularies were compared with those of Hugging Face by hand. */
Test(gguf_vocabulary, patterns_of_deepseek)
{
    static const struct token tokens[] = {
        { "a", 0, NORMAL },      { "1", 0, NORMAL },      { "\u00E4", 0, NORMAL },
        { "\u00B8", 0, NORMAL }, { "\u0143", 0, NORMAL }, { "\u0143a", 0, NORMAL },
        { "11", 0, NORMAL },
    };
    static const char text[] = "中a11";
    static const char *const want[][2] = { { "gpt-2", "2 3 5 6" },
                                           { "deepseek-coder", "2 3 4 0 1 1" },
                                           { "deepseek-llm", "2 3 4 0 6" } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct buf b = BUF_INIT;
        make_pre(&b, tokens, want[i][0], "\u0143 a");
        expect(&b, text, want[i][1]);
        buf_release(&b);
    }
}

Test(gguf_vocabulary, first_id_ends_a_text)
{
    static const struct token letters[] = { { "<|endoftext|>", 0, CONTROL }, { "a", 0, NORMAL } };
    struct gguf_writer w;
    struct gguf g;
    struct buf b = BUF_INIT, merges = BUF_INIT;
    double id = -1;
    begin(&w, "gpt2", letters, 2);
    gguf_add_text(&w, "tokenizer.ggml.pre", "gpt-2", 5);
    gguf_add_list(&w, "tokenizer.ggml.merges", GGUF_TEXT, 0, &merges);
    gguf_add_u32(&w, "tokenizer.ggml.eos_token_id", 0);
    end(&w, &b);
    export(&b, 2);
    cr_assert_eq(gguf_parse(&g, b.data, b.len, "x.gguf"), 0, "%s", err_get());
    cr_assert_eq(gguf_real(&g, "tokenizer.ggml.bos_token_id", &id), 0);
    cr_expect_eq(id, 0);
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    buf_release(&b);
}

/* They are kept, so that a model with this vocabulary is saved with them. */
Test(gguf_vocabulary, tokens_that_begin_and_fill_texts)
{
    static const struct token letters[] = {
        { "<s>", 0, CONTROL }, { "</s>", 0, CONTROL }, { "<pad>", 0, CONTROL }, { "a", 0, NORMAL }
    };
    struct gguf_writer w;
    struct vocabulary v;
    struct buf b = BUF_INIT, merges = BUF_INIT;
    begin(&w, "gpt2", letters, 4);
    gguf_add_text(&w, "tokenizer.ggml.pre", "gpt-2", 5);
    gguf_add_list(&w, "tokenizer.ggml.merges", GGUF_TEXT, 0, &merges);
    gguf_add_u32(&w, "tokenizer.ggml.bos_token_id", 0);
    gguf_add_u32(&w, "tokenizer.ggml.eos_token_id", 1);
    gguf_add_u32(&w, "tokenizer.ggml.padding_token_id", 2);
    end(&w, &b);
    cr_assert_eq(read_bytes(&v, &b), 0, "%s", err_get());
    cr_expect_eq(vocabulary_begin_of_text(&v), 0);
    cr_expect_eq(v.end_of_text, 1);
    cr_expect_eq(v.roles[TOKENIZER_PAD], 2);
    vocabulary_release(&v);
    buf_release(&b);
}

/* The tokenizer.json of the file's vocabulary must contain `part`. */
static void expect_json(const struct buf *b, const char *part)
{
    struct vocabulary v;
    struct buf json = BUF_INIT;
    cr_assert_eq(read_bytes(&v, b), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    tokenizer_print(t, &json);
    cr_expect(strstr(json.data, part), "'%s' lacks '%s'", json.data, part);
    tokenizer_free(t);
    buf_release(&json);
}

/* Hugging Face's tokenizers give an added token that the model lacks an id after the model's. */
Test(gguf_vocabulary, special_tokens_before_others_are_tokens_of_the_model)
{
    static const struct token letters[] = { { "<|endoftext|>", 0, CONTROL }, { "a", 0, NORMAL } };
    struct gguf_writer w;
    struct buf b = BUF_INIT, merges = BUF_INIT;
    begin(&w, "gpt2", letters, 2);
    gguf_add_text(&w, "tokenizer.ggml.pre", "gpt-2", 5);
    gguf_add_list(&w, "tokenizer.ggml.merges", GGUF_TEXT, 0, &merges);
    end(&w, &b);
    expect_json(&b, "\"<|endoftext|>\": 0,");
    buf_clear(&b);
    begin(&w, "bert", words, sizeof words / sizeof *words);
    end(&w, &b);
    expect_json(&b, "\"[PAD]\": 0,");
    buf_release(&b);
}

/* ---- what llama.cpp does in another way ------------------------------------------------------ */

/* Exporting a tokenizer.json with this normalizer and model must give a warning that contains
 * `warning`, or none if that is NULL. */
static void doubted(const char *normalizer, const char *model, const char *warning)
{
    struct vocabulary v;
    struct gguf_writer w;
    struct buf text = BUF_INIT;
    const char *doubt;
    vocabulary_init(&v);
    buf_addf(&text,
             "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true}],"
             "\"normalizer\":%s,\"model\":%s}",
             normalizer, model);
    cr_assert_eq(tokenizer_json_parse(&v, text.data, text.len, "x"), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    gguf_begin(&w);
    cr_assert_eq(export_vocabulary(&w, t, 9, &doubt), 0, "%s", err_get());
    cr_expect(warning ? doubt && strstr(doubt, warning) : !doubt, "'%s' lacks '%s'",
              doubt ? doubt : "", warning ? warning : "");
    gguf_create(&w, path);
    gguf_abandon(&w);
    tokenizer_free(t);
    buf_release(&text);
}

#define PLAIN "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}"
#define PAIRS(merges)                                                                              \
    "{\"type\":\"BPE\",\"byte_fallback\":true,\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0,"     \
    "\"<0x0A>\":1,\"a\":2,\"b\":3,\"ab\":4,\"ba\":5,\"aba\":6},\"merges\":[" merges "]}"

Test(gguf_vocabulary, doubts)
{
    doubted(PLAIN, PAIRS("\"a b\",\"b a\",\"ab a\",\"a ba\""), NULL);
    doubted(PLAIN, PAIRS("\"a b\",\"b a\",\"ab a\""), "merges any two tokens");
    doubted(PLAIN, PAIRS("\"a b\",\"ab a\",\"b a\",\"a ba\""), "merges any two tokens");
    doubted("null,\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
            "\"prepend_scheme\":\"never\",\"split\":false}",
            PAIRS("\"a b\",\"b a\",\"ab a\",\"a ba\""), NULL);
    doubted("null,\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
            "\"prepend_scheme\":\"first\",\"split\":false}",
            PAIRS("\"a b\",\"b a\",\"ab a\",\"a ba\""), "puts a space before each text");
    doubted("{\"type\":\"NFC\"}", PAIRS("\"a b\",\"b a\",\"ab a\",\"a ba\""), "normalizes");
    doubted(PLAIN, "{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"a\",-1]]}",
            "no keys for such a vocabulary");
}
