/* How a document is encoded: ids, frames, ends of sentences, and which documents are refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "tokenizer/encode_document.h"
#include "tokenizer/files/files.h"

static struct batch *batch_new(void)
{
    static const struct batch none;
    struct batch *b = mem_alloc(sizeof *b);
    *b = none;
    buf_init(&b->out);
    buf_init(&b->repaired);
    return b;
}

static void batch_free(struct batch *b)
{
    buf_release(&b->out);
    buf_release(&b->repaired);
    ids_release(&b->ids);
    ids_release(&b->wrapped);
    ids_release(&b->sentence_ends);
    free(b);
}

static struct tokenizer *load(void)
{
    struct tokenizer *t = tokenizer_load("tests/data/finder");
    cr_assert(t, "%s", err_get());
    return t;
}

/* Encodes text[n] into the batch b. Returns 0, or -1 with an error. The result is in b->out. */
static int encode(const struct encode_options *how, struct batch *b, const char *text, size_t n)
{
    struct encoder *e = encoder_new(how->t);
    int result = encode_document(how, e, b, 7, text, n);
    encoder_free(e);
    return result;
}

static size_t lines_of_ids(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == ' ';
    return count;
}

Test(encode_document, ids)
{
    struct tokenizer *t = load();
    struct batch *b = batch_new();
    struct encode_options how = { .t = t, .width = 2, .as_ids = 1 };
    cr_assert_eq(encode(&how, b, "a b", 3), 0, "%s", err_get());
    size_t plain = lines_of_ids(b->out.data);
    cr_expect_eq(b->tokens, plain);
    cr_expect_eq(b->out.data[b->out.len - 1], '\n');
    buf_clear(&b->out);
    how.wrap = 1;
    cr_assert_eq(encode(&how, b, "a b", 3), 0);
    cr_expect_eq(lines_of_ids(b->out.data), plain + 2); /* [CLS] and [SEP] */
    batch_free(b);
    tokenizer_free(t);
}

Test(encode_document, ends_of_sentences)
{
    struct tokenizer *t = load();
    struct batch *b = batch_new();
    struct encode_options how = { .t = t, .width = 2 };
    b->sentences = 1;
    cr_assert_eq(encode(&how, b, "a b\na\n", 6), 0, "%s", err_get());
    cr_expect_eq(b->sentence_ends.count, 2);
    cr_expect_eq(b->sentence_ends.data[1], b->ids.count);
    cr_expect_eq(b->sentence_ends.data[0], b->ids.count - 1);
    batch_free(b);
    tokenizer_free(t);
}

/* Ids, and where sentences end, of "a b\nb\n" where tokens do not tile the text. */
Test(encode_document, a_document_of_sentences_has_one_prefix)
{
    static const struct {
        const char *json;
        uint32_t count, ids[8], ends[2];
    } cases[] = {
        /* Llama 2: a prefix, and a token for the line end */
        { "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":"
          "\"\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}]},"
          "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"merges\":[],\"vocab\":{\"<0x0A>\":0,"
          "\"\u2581\":1,\"a\":2,\"b\":3}}}",
          7,
          { 1, 2, 1, 3, 0, 3, 0 },
          { 5, 7 } },
        /* T5: a line end becomes a space, which begins the next word */
        { "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Nmt\"},{\"type\":"
          "\"Strip\",\"strip_left\":true,\"strip_right\":true}]},\"pre_tokenizer\":{\"type\":"
          "\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"first\",\"split\":true},"
          "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",-9],[\"\u2581a\",-1],"
          "[\"\u2581b\",-1]]}}",
          3,
          { 1, 2, 2 },
          { 2, 3 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vocabulary v;
        vocabulary_init(&v);
        cr_assert_eq(tokenizer_json_parse(&v, cases[i].json, strlen(cases[i].json), "x"), 0, "%s",
                     err_get());
        struct tokenizer *t = tokenizer_from_vocabulary(&v);
        struct batch *b = batch_new();
        struct encode_options how = { .t = t, .width = 2 };
        b->sentences = 1;
        cr_assert_eq(encode(&how, b, "a b\nb\n", 6), 0, "%s", err_get());
        cr_assert_eq(b->ids.count, cases[i].count, "case %zu: %zu", i, b->ids.count);
        cr_expect_arr_eq(b->ids.data, cases[i].ids, cases[i].count * sizeof(uint32_t));
        cr_assert_eq(b->sentence_ends.count, 2);
        cr_expect_arr_eq(b->sentence_ends.data, cases[i].ends, sizeof cases[i].ends);
        batch_free(b);
        tokenizer_free(t);
    }
}

Test(encode_document, what_is_not_text)
{
    struct tokenizer *t = load();
    struct batch *b = batch_new();
    struct encode_options how = { .t = t, .width = 2, .mend = MEND_NONE };
    cr_expect_eq(encode(&how, b, "a \xFF", 3), -1);
    cr_expect(strstr(err_get(), "document 7") && strstr(err_get(), "byte 2"), "%s", err_get());
    how.mend = MEND_ALL;
    cr_expect_eq(encode(&how, b, "a \xFF", 3), 0);
    cr_expect_eq(b->replaced, 1);
    batch_free(b);
    tokenizer_free(t);
}
