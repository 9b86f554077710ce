#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "common/formats/js.h"
#include "tests/unit/golden.h"
#include "tests/unit/look.h"
#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

static struct placed got;

static void encode(struct encoder *e, const char *text, size_t n)
{
    got.ids.count = got.begins.count = got.ends.count = 0;
    cr_assert_eq(encoder_encode_places(e, text, n, TOKENIZER_ORDINARY, &got), 0, "%s", err_get());
    cr_assert(got.ids.count == got.begins.count && got.ids.count == got.ends.count);
}

static void expect_place(size_t i, uint32_t id, uint32_t begin, uint32_t end)
{
    cr_expect(got.ids.data[i] == id && got.begins.data[i] == begin && got.ends.data[i] == end,
              "token %zu: %u at %u-%u, not %u at %u-%u", i, got.ids.data[i], got.begins.data[i],
              got.ends.data[i], id, begin, end);
}

Test(places, in_code_points)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nete\n##s\nx\n,\n";
    char path[] = "/tmp/test-places-XXXXXX/vocab.txt", *slash = strrchr(path, '/');
    *slash = '\0';
    cr_assert(mkdtemp(path));
    *slash = '/';
    cr_assert_eq(file_write(path, words, sizeof words - 1), 0);
    struct tokenizer *t = tokenizer_load(path);
    cr_assert(t, "%s", err_get());
    /* Accents of their own and as marks, a control in a word, letters of four bytes that are
     * unknown. */
    static const char text[] =
        " \xC3\x89te\xCC\x81S, X\xE2\x80\x8B \xF0\x90\x90\x80\xF0\x90\x90\x81 x";
    struct encoder *e = encoder_new(t);
    encode(e, text, sizeof text - 1);
    cr_assert_eq(got.ids.count, 6);
    expect_place(0, 5, 1, 4);
    expect_place(1, 6, 5, 6);
    expect_place(2, 8, 6, 7);
    expect_place(3, 7, 8, 9);
    expect_place(4, 1, 11, 13);
    expect_place(5, 7, 14, 15);
    encoder_free(e);
    tokenizer_free(t);
    *slash = '\0';
    temp_remove(path);
}

/* Compares the ids and places of a text with those in a line {"text", "ids", "offsets"}. `around`
 * ids at each side are special tokens, which are not compared. Returns 1, or 0 if the line is left
 * out: with `around`, texts that contain '[' are, because the names of special tokens are text
 * here. */
static int compare(struct encoder *e, const struct js *v, size_t around)
{
    size_t n;
    const char *text = js_text(js_get(v, "text"), &n);
    if (around && memchr(text, '[', n))
        return 0;
    encode(e, text, n);
    cr_expect_eq(js_count(js_get(v, "ids")), got.ids.count + 2 * around);
    for (size_t i = 0; i < got.ids.count; i++) {
        int64_t id = -1, begin = -1, end = -1;
        const struct js *place = js_at(js_get(v, "offsets"), i + around);
        js_int(js_at(js_get(v, "ids"), i + around), &id);
        js_int(js_at(place, 0), &begin);
        js_int(js_at(place, 1), &end);
        expect_place(i, (uint32_t)id, (uint32_t)begin, (uint32_t)end);
    }
    return 1;
}

static void compare_all(const char *vocabulary, const char *name, size_t around, int at_least)
{
    struct tokenizer *t = golden_tokenizer(vocabulary, 0);
    struct encoder *e = encoder_new(t);
    struct golden g;
    int compared = 0;
    golden_open(&g, name);
    for (const struct js *line; (line = golden_next(&g));)
        compared += compare(e, line, around);
    cr_expect_gt(compared, at_least);
    golden_close(&g, at_least);
    encoder_free(e);
    tokenizer_free(t);
}

Test(places, as_hugging_face_has_them)
{
    compare_all("bert-base-uncased-vocab.txt", "golden_bert_uncased_special.jsonl", 1, 200);
    compare_all("gpt2-tokenizer.json", "golden_gpt2_offsets.jsonl", 0, 400);
    compare_all("gpt2-vocab.json", "golden_gpt2_offsets.jsonl", 0, 400);
}

/* The places of texts with spaces at the sides, and with a space that is put in front of the text.
 * The expected values are those of Hugging Face's tokenizers. */
Test(places, of_bytes_with_spaces_about_them)
{
    static const struct {
        int put_in_front;
        const char *post, *text;
        uint32_t count, places[8][2];
    } cases[] = {
        { 0, "null", " a\u00E9 ", 4, { { 0, 2 }, { 2, 3 }, { 2, 3 }, { 3, 4 } } },
        { 0,
          "{\"type\":\"ByteLevel\"}",
          " a\u00E9 ",
          4,
          { { 0, 2 }, { 2, 3 }, { 2, 3 }, { 4, 4 } } },
        { 0, "{\"type\":\"ByteLevel\"}", " a ", 1, { { 0, 2 } } },
        { 0, "{\"type\":\"ByteLevel\"}", "   a ", 2, { { 2, 2 }, { 3, 4 } } },
        { 0, "{\"type\":\"ByteLevel\"}", "   ", 2, { { 2, 2 }, { 3, 3 } } },
        { 0, "{\"type\":\"ByteLevel\"}", " ", 1, { { 0, 0 } } },
        { 0, "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", " a ", 1, { { 1, 2 } } },
        { 0, "{\"type\":\"ByteLevel\",\"trim_offsets\":false}", " a ", 1, { { 0, 3 } } },
        { 1, "{\"type\":\"ByteLevel\"}", "a ", 1, { { 0, 1 } } },
        { 1, "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", "a ", 1, { { 1, 1 } } },
        { 1, "{\"type\":\"ByteLevel\"}", "\n ", 3, { { 0, 0 }, { 0, 1 }, { 2, 2 } } },
        { 1, "null", "\n ", 3, { { 0, 1 }, { 0, 1 }, { 1, 2 } } },
    };
    struct buf json = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vocabulary v;
        vocabulary_init(&v);
        buf_clear(&json);
        buf_addf(
            &json,
            "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":false,\"add_prefix_space\":%s},"
            "\"post_processor\":%s,\"model\":{\"vocab\":{\"a\":0,\"\u0120\":1,\"\u0120\u0120\":2,"
            "\"\u0120a\":3,\"\u00C3\":4,\"\u00A9\":5,\"\u010A\":6,\"\u0120a\u0120\":7},"
            "\"merges\":[\"\u0120 \u0120\",\"\u0120 a\",\"\u0120a \u0120\"]}}",
            cases[i].put_in_front ? "true" : "false", cases[i].post);
        cr_assert_eq(tokenizer_json_parse(&v, json.data, json.len, "x"), 0, "%s", err_get());
        struct tokenizer *t = tokenizer_from_vocabulary(&v);
        struct encoder *e = encoder_new(t);
        encode(e, cases[i].text, strlen(cases[i].text));
        cr_expect_eq(got.ids.count, cases[i].count, "case %zu: %zu tokens", i, got.ids.count);
        for (uint32_t k = 0; k < cases[i].count; k++)
            expect_place(k, got.ids.data[k], cases[i].places[k][0], cases[i].places[k][1]);
        encoder_free(e);
        tokenizer_free(t);
    }
    buf_release(&json);
}

Test(places, many_marks_take_linear_time, .timeout = 60)
{
    enum { PAIRS = 500000 };
    static const char json[] = "{\"normalizer\":{\"type\":\"NFD\"},\"model\":{\"vocab\":"
                               "{\"\u0301\":0,\"\u0323\":1},\"merges\":[]}}";
    struct buf text = BUF_INIT;
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, json, sizeof json - 1, "x"), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    struct encoder *e = encoder_new(t);
    for (int i = 0; i < PAIRS; i++)
        buf_adds(&text, "\u0301\u0323"); /* the second goes before all of the first */
    encode(e, text.data, text.len);
    cr_assert_eq(got.ids.count, 2 * PAIRS);
    expect_place(0, 1, 0, 1);
    expect_place(PAIRS - 1, 1, PAIRS - 1, PAIRS);
    expect_place(2 * PAIRS - 1, 0, 2 * PAIRS - 1, 2 * PAIRS);
    buf_release(&text);
    encoder_free(e);
    tokenizer_free(t);
}

/* Ids and places of what the model does not know, of prefixes and of white space, as Hugging Face's
 * tokenizers give them. */
Test(places, of_what_the_model_leaves_out_or_joins)
{
#define LEVEL(trims)                                                                               \
    "{\"type\":\"ByteLevel\",\"use_regex\":false,\"add_prefix_space\":false,"                      \
    "\"trim_offsets\":" trims "}"
#define SPACE(left, right)                                                                         \
    "\"added_tokens\":[{\"id\":2,\"content\":\" \",\"normalized\":false,\"lstrip\":" left          \
    ",\"rstrip\":" right "}],"
    static const struct {
        const char *json, *text;
        uint32_t count, tokens[9][3];
    } cases[] = {
        { "\"model\":{\"vocab\":{\"S\":0,\"a\":1,\"@@b\":2},\"unk_token\":\"a\",\"merges\":[],"
          "\"continuing_subword_prefix\":\"@@\"}",
          "Sab",
          3,
          { { 0, 0, 1 }, { 1, 1, 2 }, { 2, 2, 3 } } },
        { "\"model\":{\"vocab\":{\"##x\":0},\"merges\":[],\"continuing_subword_prefix\":\"##\"}",
          "\u00E9xx",
          2,
          { { 0, 0, 1 }, { 0, 0, 1 } } },
        { "\"model\":{\"vocab\":{\"u\":0,\"<0xC3>\":1,\"<0xA9>\":2},\"unk_token\":\"u\",\"merges\":[],"
          "\"byte_fallback\":true,\"continuing_subword_prefix\":\"##########\"}",
          "\u00E9",
          2,
          { { 1, 0, 1 }, { 2, 0, 1 } } },
        { "\"model\":{\"vocab\":{\"?\":0,\"u\":1,\"?u\":2},\"unk_token\":\"?u\",\"merges\":[],"
          "\"fuse_unk\":true}",
          "S\u00E9?uSx",
          4,
          { { 2, 0, 2 }, { 0, 2, 3 }, { 1, 3, 4 }, { 2, 4, 6 } } },
        { "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",-1],[\"<\",-2],"
          "[\"a\",-2]]}",
          "\u00E9<unk>\u00E9a<unk>",
          3,
          { { 0, 0, 7 }, { 2, 7, 8 }, { 0, 8, 13 } } },
        { "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\\n\":0},\"unk_token\":\"\\n\"},"
          "\"post_processor\":" LEVEL("true"),
          "\n",
          1,
          { { 0, 1, 1 } } },
        { "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",-1]]},"
          "\"post_processor\":" LEVEL("true"),
          "\n",
          1,
          { { 0, 1, 1 } } },
        { "\"model\":{\"vocab\":{\"\u0120\":0},\"merges\":[]},\"pre_tokenizer\":" LEVEL(
              "true") ","
                      "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[" LEVEL(
                          "true") "," LEVEL("false") "]}",
          " ",
          1,
          { { 0, 1, 1 } } },
        { "\"model\":{\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]},\"pre_tokenizer\":" LEVEL(
              "true") ","
                      "\"added_tokens\":[{\"id\":1,\"content\":\"b\",\"special\":true,\"normalized\":false}]",
          "ab",
          2,
          { { 0, 0, 1 }, { 1, 1, 2 } } },
        { SPACE("true", "true") "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"b\":1},"
                                "\"unk_token\":\"a\"}",
          "a   b",
          3,
          { { 0, 0, 1 }, { 2, 1, 4 }, { 1, 4, 5 } } },
        { SPACE("false", "true") "\"model\":{\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]},"
                                 "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
                                 "{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":"
                                 "{\"Regex\":\"[a-z]|[^a-z]\"}}," LEVEL("true") "]}",
          "a   b",
          5,
          { { 0, 0, 1 }, { 2, 1, 4 }, { 2, 2, 4 }, { 2, 3, 4 }, { 1, 4, 5 } } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vocabulary v;
        struct buf json = buf_format("{%s}", cases[i].json);
        struct ids plain = { 0 };
        vocabulary_init(&v);
        cr_assert_eq(tokenizer_json_parse(&v, json.data, json.len, "x"), 0, "%s", err_get());
        struct tokenizer *t = tokenizer_from_vocabulary(&v);
        struct encoder *e = encoder_new(t);
        encode(e, cases[i].text, strlen(cases[i].text));
        cr_expect_eq(got.ids.count, cases[i].count, "case %zu: %zu tokens", i, got.ids.count);
        for (uint32_t k = 0; k < cases[i].count && k < got.ids.count; k++)
            expect_place(k, cases[i].tokens[k][0], cases[i].tokens[k][1], cases[i].tokens[k][2]);
        encoder_encode(e, cases[i].text, strlen(cases[i].text), TOKENIZER_ORDINARY, &plain);
        cr_expect_eq(plain.count, got.ids.count, "case %zu: %zu tokens", i, plain.count);
        cr_expect_arr_eq(plain.data, got.ids.data, plain.count * sizeof *plain.data);
        ids_release(&plain);
        encoder_free(e);
        tokenizer_free(t);
        buf_release(&json);
    }
}
