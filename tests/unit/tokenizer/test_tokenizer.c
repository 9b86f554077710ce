/* Compares the tokenizer's ids with those of Hugging Face's tokenizers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "tests/unit/golden.h"
#include "tests/unit/look.h"
#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

static void add_hex(struct buf *out, const char *hex)
{
    for (unsigned byte; *hex && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        buf_addc(out, (int)byte);
}

/* Encodes the text of each line of a file and compares the ids. The text is in the key `text` or,
 * as hexadecimal, in `hex`. at_least: the least number of lines that the file must have. */
static void check_file(const char *vocabulary, const char *name, enum tokenizer_special special,
                       int at_least)
{
    struct tokenizer *t = golden_tokenizer(vocabulary, 0);
    struct encoder *e = encoder_new(t);
    struct buf text = BUF_INIT;
    struct ids ids = { 0 };
    struct golden g;
    golden_open(&g, name);
    for (const struct js *line; (line = golden_next(&g));) {
        size_t len = 0;
        const char *s = js_text(js_get(line, "text"), &len);
        buf_clear(&text);
        if (s)
            buf_add(&text, s, len);
        else
            add_hex(&text, js_text(js_get(line, "bytes_hex"), NULL));
        ids.count = 0;
        cr_assert_eq(encoder_encode(e, text.data, text.len, special, &ids), 0, "%s", err_get());
        golden_expect(&g, js_get(line, "ids"), &ids);
    }
    golden_close(&g, at_least);
    ids_release(&ids);
    buf_release(&text);
    encoder_free(e);
    tokenizer_free(t);
}

Test(tokenizer, ordinary_ids_are_hugging_faces)
{
    check_file("gpt2-tokenizer.json", "golden_gpt2.jsonl", TOKENIZER_ORDINARY, 1400);
}

Test(tokenizer, vocab_json_and_merges_give_the_same_ids)
{
    check_file("gpt2-vocab.json", "golden_gpt2.jsonl", TOKENIZER_ORDINARY, 1400);
}

Test(tokenizer, ranks_give_the_same_ids)
{
    check_file("gpt2.tiktoken", "golden_gpt2.jsonl", TOKENIZER_ORDINARY, 1400);
}

Test(tokenizer, ids_of_the_offsets_file)
{
    check_file("gpt2-tokenizer.json", "golden_gpt2_offsets.jsonl", TOKENIZER_ORDINARY, 400);
}

Test(tokenizer, special_tokens_are_recognised_on_demand)
{
    check_file("gpt2-tokenizer.json", "golden_gpt2_special.jsonl", TOKENIZER_SPECIAL, 100);
    check_file("gpt2-vocab.json", "golden_gpt2_special.jsonl", TOKENIZER_SPECIAL, 100);
    check_file("gpt2.tiktoken", "golden_gpt2_special.jsonl", TOKENIZER_SPECIAL, 100);
}

Test(tokenizer, invalid_utf8_is_replaced_as_python_does)
{
    check_file("gpt2-tokenizer.json", "golden_gpt2_invalid_utf8_replace.jsonl", TOKENIZER_ORDINARY,
               100);
}

Test(tokenizer, decoding_gives_the_bytes)
{
    struct tokenizer *t = golden_tokenizer("gpt2-tokenizer.json", 0);
    struct buf want = BUF_INIT, got = BUF_INIT;
    struct ids ids = { 0 };
    struct golden g;
    golden_open(&g, "golden_gpt2_decode.jsonl");
    for (const struct js *line; (line = golden_next(&g));) {
        golden_ids(js_get(line, "ids"), &ids);
        buf_clear(&want);
        buf_clear(&got);
        add_hex(&want, js_text(js_get(line, "bytes_hex"), NULL));
        cr_assert_eq(tokenizer_decode(t, ids.data, ids.count, 0, &got), 0, "%s", err_get());
        cr_assert(got.len == want.len && !memcmp(got.data, want.data, got.len), "line %d",
                  g.number);
    }
    golden_close(&g, 400);
    cr_assert_eq(tokenizer_decode(t, (uint32_t[]){ 50257 }, 1, 0, &got), -1);
    cr_assert(strstr(err_get(), "id 50257"), "%s", err_get());
    ids_release(&ids);
    buf_release(&want);
    buf_release(&got);
    tokenizer_free(t);
}

Test(tokenizer, all_forms_are_one_vocabulary)
{
    static const char *const forms[] = { "gpt2-tokenizer.json", "gpt2-vocab.json",
                                         "gpt2.tiktoken" };
    uint64_t first = 0;
    for (int i = 0; i < 3; i++) {
        struct tokenizer *t = golden_tokenizer(forms[i], 0);
        cr_assert_eq(tokenizer_size(t), 50257);
        cr_assert_eq(tokenizer_end_of_text(t), 50256);
        cr_assert_eq(tokenizer_find(t, " the", 4), 262);
        cr_assert_eq(tokenizer_find(t, "no such token", 13), -1);
        size_t n = 0;
        cr_assert(!strncmp(tokenizer_token(t, 262, &n), " the", 4) && n == 4);
        cr_assert_null(tokenizer_token(t, 50257, &n));
        first = i ? first : tokenizer_checksum(t);
        cr_assert_eq(tokenizer_checksum(t), first);
        tokenizer_free(t);
    }
}

Test(tokenizer, wikitext_103_has_the_published_number_of_tokens)
{
    struct tokenizer *t = golden_tokenizer("gpt2-vocab.json", 0);
    struct encoder *e = encoder_new(t);
    struct buf path = BUF_INIT, text = BUF_INIT, back = BUF_INIT;
    struct ids ids = { 0 };
    golden_path(&path, "wikitext/wikitext-103.valid.tokens");
    cr_assert_eq(file_read(path.data, &text), 0, "%s", err_get());
    cr_assert_eq(encoder_encode(e, text.data, text.len, TOKENIZER_ORDINARY, &ids), 0);
    cr_assert_eq(ids.count, 249735);
    cr_assert_eq(tokenizer_decode(t, ids.data, ids.count, 0, &back), 0);
    cr_assert(back.len == text.len && !memcmp(back.data, text.data, back.len));
    buf_release(&path);
    buf_release(&text);
    buf_release(&back);
    ids_release(&ids);
    encoder_free(e);
    tokenizer_free(t);
}

/* ---- added tokens ---------------------------------------------------------------------------- */

static const char added_json[] =
    "{\"added_tokens\": ["
    "{\"id\": 3, \"content\": \"\u00E9\", \"normalized\": false},"
    "{\"id\": 4, \"content\": \"TH\u00C9\", \"normalized\": true},"
    "{\"id\": 5, \"content\": \"\u65E5\u00E9\", \"normalized\": false, \"special\": true},"
    "{\"id\": 6, \"content\": \"A b\", \"normalized\": true},"
    "{\"id\": 7, \"content\": \"Ab\", \"normalized\": false}],"
    "\"normalizer\": %s, \"decoder\": {\"type\": \"ByteLevel\"},"
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},"
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"\u0120\": 2}, \"merges\": []}}";

static struct tokenizer *added_tokenizer(const char *normalizer)
{
    struct vocabulary v;
    struct buf text = BUF_INIT;
    vocabulary_init(&v);
    buf_addf(&text, added_json, normalizer);
    cr_assert_eq(tokenizer_json_parse(&v, text.data, text.len, "added"), 0, "%s", err_get());
    buf_release(&text);
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    cr_assert_not_null(t, "%s", err_get());
    return t;
}

/* When the decoder meets an added token, it reads the token's name as characters of the byte
 * alphabet if all of them belong to it, and it uses the normalized name. The expected texts are
 * those of Hugging Face's tokenizers. */
Test(tokenizer, added_tokens_decode_by_their_names)
{
    static const struct {
        uint32_t ids[3];
        size_t count;
        const char *plain, *lower, *without_special;
    } cases[] = {
        { { 0, 3, 1 }, 3, "a\uFFFDb", "a\uFFFDb", "a\uFFFDb" },
        { { 4 }, 1, "TH\uFFFD", "th\uFFFD", "th\uFFFD" },
        { { 5, 2, 0 }, 3, "\u65E5\u00E9 a", "\u65E5\u00E9 a", " a" },
        { { 6, 7 }, 2, "A bAb", "a bAb", "a bAb" },
        { { 0, 1 }, 2, "ab", "ab", "ab" },
    };
    struct tokenizer *plain = added_tokenizer("null"),
                     *lower = added_tokenizer("{\"type\": \"Lowercase\"}");
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&out);
        cr_assert_eq(tokenizer_decode(plain, cases[i].ids, cases[i].count, 0, &out), 0);
        cr_assert_str_eq(out.data, cases[i].plain, "case %zu: '%s'", i, out.data);
        buf_clear(&out);
        cr_assert_eq(tokenizer_decode(lower, cases[i].ids, cases[i].count, 0, &out), 0);
        cr_assert_str_eq(out.data, cases[i].lower, "case %zu: '%s'", i, out.data);
        buf_clear(&out);
        cr_assert_eq(tokenizer_decode(lower, cases[i].ids, cases[i].count, 1, &out), 0);
        cr_assert_str_eq(out.data, cases[i].without_special, "case %zu: '%s'", i, out.data);
    }
    buf_release(&out);
    tokenizer_free(plain);
    tokenizer_free(lower);
}

/* Bytes without a token become the unknown token. The name of the unknown token in a text is
 * ordinary text. */
Test(tokenizer, the_unknown_tokens_name_is_text)
{
    static const char json[] =
        "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false},"
        "\"model\": {\"type\": \"BPE\", \"unk_token\": \"<u>\", \"merges\": [\"<u> u\"],"
        "\"vocab\": {\"<\": 0, \"u\": 1, \">\": 2, \"<u>\": 3, \"<u>u\": 4}}}";
    static const struct {
        const char *text;
        uint32_t ids[6];
        size_t count;
    } cases[] = { { "<u>", { 0, 1, 2 }, 3 },
                  { "<u>u", { 0, 1, 2, 1 }, 4 },
                  { "z", { 3 }, 1 },
                  { "zu<", { 4, 0 }, 2 } };
    struct vocabulary v;
    struct ids ids = { 0 };
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, json, strlen(json), "unknown"), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    struct encoder *e = encoder_new(t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ids.count = 0;
        cr_assert_eq(
            encoder_encode(e, cases[i].text, strlen(cases[i].text), TOKENIZER_ORDINARY, &ids), 0);
        cr_assert_eq(ids.count, cases[i].count, "case %zu: %zu ids", i, ids.count);
        cr_assert_arr_eq(ids.data, cases[i].ids, ids.count * sizeof *ids.data, "case %zu", i);
    }
    ids_release(&ids);
    encoder_free(e);
    tokenizer_free(t);
}

/* ---- small vocabularies ---------------------------------------------------------------------- */

static struct tokenizer *tokenizer_of(const char *json)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, json, strlen(json), "small"), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    cr_assert_not_null(t, "%s", err_get());
    return t;
}

/* If several added tokens match at the same place, the longest must be taken, whatever their
 * order. */
Test(tokenizer, the_longest_added_token_is_taken)
{
    struct tokenizer *t = tokenizer_of(
        "{\"added_tokens\": [{\"id\": 3, \"content\": \"<a\"}, {\"id\": 4, \"content\": \"<aab\"},"
        "{\"id\": 5, \"content\": \"<aa\"}],"
        "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},"
        "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"<\": 2}, \"merges\": []}}");
    static const char text[] = "<ab<aab<aaa<b";
    static const uint32_t want[] = { 3, 1, 4, 5, 0, 2, 1 };
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    cr_assert_eq(encoder_encode(e, text, sizeof text - 1, TOKENIZER_ORDINARY, &ids), 0);
    cr_assert_eq(ids.count, sizeof want / sizeof *want);
    cr_assert_arr_eq(ids.data, want, sizeof want);
    ids_release(&ids);
    encoder_free(e);
    tokenizer_free(t);
}

/* "-" with "--" and "--" with "-" have equal scores. Behind "x" the second one gets the greater sum
 * by rounding, as in Hugging Face's tokenizers, which add up from the beginning of the piece. */
Test(tokenizer, rounding_decides_between_equal_scores_of_unigram)
{
    struct tokenizer *t = tokenizer_of(
        "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"?\", -20.0], [\"x\", -2.9],"
        "[\"-\", -7.4], [\"--\", -4.3]]}}");
    static const uint32_t want[] = { 1, 3, 2 };
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    cr_assert_eq(encoder_encode(e, "x---", 4, TOKENIZER_ORDINARY, &ids), 0);
    cr_assert_eq(ids.count, sizeof want / sizeof *want);
    cr_assert_arr_eq(ids.data, want, sizeof want);
    ids_release(&ids);
    encoder_free(e);
    tokenizer_free(t);
}

/* The texts that decoders of each kind give for the tokens "xxaxxx", "b" and "xxb". The expected
 * texts are those of Hugging Face's tokenizers. */
Test(tokenizer, decoders_of_each_kind)
{
    static const char *const cases[][2] = {
        { "{\"type\": \"Strip\", \"content\": \"x\", \"start\": 1, \"stop\": 2}", "xaxbxb" },
        { "{\"type\": \"Strip\", \"content\": \"x\", \"start\": 3, \"stop\": 0}", "axxxbb" },
        { "{\"type\": \"Replace\", \"pattern\": {\"String\": \"xx\"}, \"content\": \"y\"}",
          "yayxbyb" },
        { "{\"type\": \"BPEDecoder\", \"suffix\": \"xx\"}", " a xbb" },
        { "{\"type\": \"Metaspace\", \"replacement\": \"x\"}", "ab  b" },
        { "{\"type\": \"WordPiece\", \"prefix\": \"x\", \"cleanup\": false}", "xxaxxx bxb" },
        { "{\"type\": \"Fuse\"}", "xxaxxxbxxb" },
    };
    static const uint32_t ids[] = { 2, 1, 3 };
    struct buf json = BUF_INIT, out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&json);
        buf_clear(&out);
        buf_addf(
            &json,
            "{\"decoder\": %s, \"pre_tokenizer\": null, \"model\": {\"type\": \"BPE\", \"vocab\":"
            "{\"x\": 0, \"b\": 1, \"xxaxxx\": 2, \"xxb\": 3}, \"merges\": []}}",
            cases[i][0]);
        struct tokenizer *t = tokenizer_of(json.data);
        cr_expect_eq(tokenizer_decode(t, ids, 3, 0, &out), 0);
        cr_expect_str_eq(out.data, cases[i][1], "%s: '%s'", cases[i][0], out.data);
        tokenizer_free(t);
    }
    buf_release(&json);
    buf_release(&out);
}

/* The special tokens around one text and around a pair of texts, and the token type ids. The
 * expected values are those of Hugging Face's tokenizers. */
Test(tokenizer, pairs_have_their_marks_and_types)
{
    static const struct {
        const char *post;
        uint32_t single[4], pair[8], types[8];
        size_t count; /* of the pair */
    } cases[] = {
        { "{\"type\": \"BertProcessing\", \"sep\": [\"s\", 3], \"cls\": [\"c\", 2]}",
          { 2, 0, 3 },
          { 2, 0, 3, 1, 3 },
          { 0, 0, 0, 1, 1 },
          5 },
        { "{\"type\": \"RobertaProcessing\", \"sep\": [\"s\", 3], \"cls\": [\"c\", 2],"
          "\"trim_offsets\": true, \"add_prefix_space\": false}",
          { 2, 0, 3 },
          { 2, 0, 3, 3, 1, 3 },
          { 0, 0, 0, 0, 0, 0 },
          6 },
        { "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"c\", \"type_id\": 0}},"
          "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, {\"SpecialToken\": {\"id\": \"s\", \"type_id\": 0}}],"
          "\"pair\": [{\"Sequence\": {\"id\": \"B\", \"type_id\": 2}}, {\"SpecialToken\": {\"id\": \"s\", \"type_id\": 1}},"
          "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"special_tokens\": {"
          "\"c\": {\"id\": \"c\", \"ids\": [2], \"tokens\": [\"c\"]}, \"s\": {\"id\": \"s\", \"ids\": [3], \"tokens\": [\"s\"]}}}",
          { 2, 0, 3 },
          { 1, 3, 0 },
          { 2, 1, 0 },
          3 },
    };
    struct ids a = { 0 }, b = { 0 }, ids = { 0 }, types = { 0 };
    struct buf json = BUF_INIT;
    ids_add(&a, 0);
    ids_add(&b, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&json);
        buf_addf(&json,
                 "{\"post_processor\": %s, \"pre_tokenizer\": null, \"model\": {\"type\": \"BPE\","
                 "\"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"s\": 3}, \"merges\": []}}",
                 cases[i].post);
        struct tokenizer *t = tokenizer_of(json.data);
        ids.count = types.count = 0;
        tokenizer_assemble(t, &a, NULL, &ids, &types);
        cr_assert(ids.count == 3 && types.count == 3, "case %zu", i);
        cr_expect_arr_eq(ids.data, cases[i].single, 3 * sizeof *ids.data, "case %zu", i);
        ids.count = types.count = 0;
        tokenizer_begin_text(t, &ids);
        cr_expect(ids.count == 1 && ids.data[0] == cases[i].single[0], "case %zu", i);
        ids.count = 0;
        tokenizer_assemble(t, &a, &b, &ids, &types);
        cr_assert(ids.count == cases[i].count && types.count == ids.count, "case %zu", i);
        cr_expect_arr_eq(ids.data, cases[i].pair, ids.count * sizeof *ids.data, "case %zu", i);
        cr_expect_arr_eq(types.data, cases[i].types, ids.count * sizeof *ids.data, "case %zu", i);
        tokenizer_free(t);
    }
    ids_release(&a);
    ids_release(&b);
    ids_release(&ids);
    ids_release(&types);
    buf_release(&json);
}

/* A text is cut at once and not part by part where only added tokens divide it; a piece must not
 * depend on what is behind the token, nor on the number of tokens. */
Test(tokenizer, parts_between_added_tokens_have_the_ids_that_they_have_alone)
{
    enum { PARTS = 3000, ADDED = 9 };
    struct tokenizer *t = tokenizer_of(
        "{\"added_tokens\": [{\"id\": 9, \"content\": \"<s>\", \"special\": true, \"normalized\": false}],"
        "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"behavior\": \"Isolated\","
        "\"invert\": false, \"pattern\": {\"Regex\": \" ?[ab]+|\\\\s+(?!\\\\S)|\\\\s+\"}}, {\"type\": \"ByteLevel\","
        "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}]}, \"model\": {\"type\": \"BPE\", \"vocab\":"
        "{\"a\": 0, \"b\": 1, \"Ġ\": 2, \"aa\": 3, \"ab\": 4, \"Ġa\": 5, \"Ġab\": 6, \"ĠĠ\": 7, \"bab\": 8},"
        "\"merges\": [\"Ġ Ġ\", \"a b\", \"Ġ a\", \"a a\", \"Ġ ab\", \"b ab\"]}}");
    struct encoder *e = encoder_new(t), *alone = encoder_new(t);
    struct rng r = { rng_key(0, 3), 0 };
    struct ids want = { 0 }, got = { 0 };
    struct buf text = BUF_INIT, part = BUF_INIT;
    for (int i = 0; i < PARTS; i++) {
        buf_clear(&part);
        for (size_t n = rng_below(&r, rng_below(&r, 30) ? 9 : 3000); n > 0; n--)
            buf_addc(&part, "ab  "[rng_below(&r, 4)]);
        buf_add(&text, part.data, part.len);
        cr_assert_eq(encoder_encode(alone, part.data, part.len, TOKENIZER_ORDINARY, &want), 0);
        if (rng_below(&r, 900)) {
            buf_adds(&text, "<s>");
            ids_add(&want, ADDED);
            continue;
        }
        cr_assert_eq(encoder_encode(e, text.data, text.len, TOKENIZER_SPECIAL, &got), 0);
        buf_clear(&text);
    }
    cr_assert_eq(encoder_encode(e, text.data, text.len, TOKENIZER_SPECIAL, &got), 0);
    cr_assert_eq(got.count, want.count);
    cr_expect_arr_eq(got.data, want.data, want.count * sizeof *want.data);
    encoder_free(e);
    encoder_free(alone);
    tokenizer_free(t);
    ids_release(&want);
    ids_release(&got);
    buf_release(&text);
    buf_release(&part);
}
