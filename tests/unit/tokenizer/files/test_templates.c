/* The special tokens around texts: post-processors that are read, refused and written. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "tokenizer/files/files.h"

/* Reads a tokenizer.json with this post-processor. */
static int read_post(struct vocabulary *v, const char *post)
{
    SCOPED(buf) text = buf_format(
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"post_processor\":%s,"
        "\"model\":{\"type\":\"BPE\",\"vocab\":{\"<s>\":0,\"</s>\":1,\"<pad>\":2,\"<mask>\":3},"
        "\"merges\":[]}}",
        post);
    vocabulary_init(v);
    return tokenizer_json_parse(v, text.data, text.len, "x");
}

static void refused(const char *post, const char *error)
{
    struct vocabulary v;
    cr_expect_eq(read_post(&v, post), -1, "%s", post);
    cr_expect_str_eq(err_get(), error);
    vocabulary_release(&v);
}

/* Checks the parts of a template: ids or A or B, each with its type. */
static void expect_template(const struct template *t, const char *want)
{
    SCOPED(buf) got = BUF_INIT;
    for (size_t i = 0; i < t->count; i++) {
        const struct template_part *p = &t->parts[i];
        buf_adds(&got, i ? " " : "");
        if (p->id < 0)
            buf_addc(&got, p->id == TEMPLATE_A ? 'A' : 'B');
        else
            buf_addf(&got, "%d", (int)p->id);
        buf_addf(&got, ":%u", p->type);
    }
    cr_expect_str_eq(got.len ? got.data : "", want);
}

#define TEMPLATE(parts) "{\"type\":\"TemplateProcessing\",\"single\":[" parts "]}"
#define TEXT(name)      "{\"Sequence\":{\"id\":\"" name "\",\"type_id\":0}}"
#define TOKEN           "{\"SpecialToken\":{\"id\":\"q\",\"type_id\":2}}"
#define WITH(parts, ids)                                                                           \
    "{\"type\":\"TemplateProcessing\",\"single\":[" parts                                          \
    "],\"special_tokens\":{\"q\":{\"ids\":[" ids "]}}}"
#define FOUR(x) x "," x "," x "," x

Test(templates, of_bert_and_roberta)
{
    struct vocabulary v;
    cr_assert_eq(read_post(&v, "{\"type\":\"BertProcessing\",\"sep\":[\"</s>\",1],"
                               "\"cls\":[\"<s>\",0]}"),
                 0, "%s", err_get());
    expect_template(&v.single, "0:0 A:0 1:0");
    expect_template(&v.pair, "0:0 A:0 1:0 B:1 1:1");
    cr_expect(v.roles[TOKENIZER_MASK] == -1 && !v.trims_places);
    vocabulary_release(&v);
    cr_assert_eq(read_post(&v, "{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",1],"
                               "\"cls\":[\"<s>\",0],\"add_prefix_space\":false}"),
                 0, "%s", err_get());
    expect_template(&v.single, "0:0 A:0 1:0");
    expect_template(&v.pair, "0:0 A:0 1:0 1:0 B:0 1:0");
    cr_expect(v.roles[TOKENIZER_CLS] == 0 && v.roles[TOKENIZER_SEP] == 1);
    cr_expect(v.roles[TOKENIZER_PAD] == 2 && v.roles[TOKENIZER_MASK] == 3);
    cr_expect(v.trims_places && !v.keeps_first_space);
    vocabulary_release(&v);
}

Test(templates, steps_one_after_the_other)
{
    struct vocabulary v;
    cr_assert_eq(read_post(&v, "{\"type\":\"Sequence\",\"processors\":["
                               "{\"type\":\"ByteLevel\",\"trim_offsets\":false},"
                               "{\"type\":\"TemplateProcessing\",\"single\":[" TOKEN
                               "," TEXT("A") "],\"pair\":[" TEXT("B") "," TOKEN "," TEXT(
                                   "A") "],"
                                        "\"special_tokens\":{\"q\":{\"ids\":[3,2]}}}]}"),
                 0, "%s", err_get());
    expect_template(&v.single, "3:2 2:2 A:0");
    expect_template(&v.pair, "B:0 3:2 2:2 A:0");
    cr_expect_not(v.trims_places);
    vocabulary_release(&v);
    cr_assert_eq(read_post(&v, "{\"type\":\"ByteLevel\"}"), 0, "%s", err_get());
    expect_template(&v.single, "A:0");
    expect_template(&v.pair, "A:0 B:1");
    cr_expect(v.trims_places && v.keeps_first_space);
    vocabulary_release(&v);
}

Test(templates, that_are_refused)
{
    static const char most[] = "x: post_processor: a template of more than 16 parts";
    static const char no_part[] = "x: post_processor: part 0 of a template has no id or type_id";
    static const char bad_id[] = "x: post_processor: special token 'q' has an invalid id";
    struct vocabulary v;
    cr_expect_eq(read_post(&v, TEMPLATE(FOUR(FOUR(TEXT("A"))))), 0, "%s", err_get());
    vocabulary_release(&v);
    refused(TEMPLATE(FOUR(FOUR(TEXT("A"))) "," TEXT("A")), most);
    refused(WITH(TOKEN, FOUR(FOUR("1")) ",1"), most);
    refused(TEMPLATE("{\"Sequence\":{\"id\":\"A\"}}"), no_part);
    refused(TEMPLATE("{\"Sequence\":{\"id\":\"A\",\"type_id\":-1}}"), no_part);
    refused(TEMPLATE("{\"Sequence\":{\"id\":\"A\",\"type_id\":4294967296}}"), no_part);
    refused(TEMPLATE("{\"Other\":{\"id\":\"A\",\"type_id\":0}}"), no_part);
    refused(TEMPLATE(TOKEN), "x: post_processor: special token 'q' has no ids");
    refused(WITH(TOKEN, ""), "x: post_processor: special token 'q' has no ids");
    refused(WITH(TOKEN, "\"1\""), bad_id);
    refused(WITH(TOKEN, "1,-1"), bad_id);
    refused(WITH(TOKEN, "4"), "x: post_processor: id 4 is not in the vocabulary");
    refused("{\"type\":\"BertProcessing\",\"cls\":[\"<s>\",0]}",
            "x: post_processor: no cls or no sep");
    refused("{\"type\":\"BertProcessing\",\"cls\":[\"<s>\",-1],\"sep\":[\"<s>\",0]}",
            "x: post_processor: no cls or no sep");
    refused("{\"type\":\"BertProcessing\",\"cls\":[\"<s>\",0],\"sep\":[\"<s>\",-1]}",
            "x: post_processor: no cls or no sep");
    refused(
        "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE(TEXT("A")) "," TEMPLATE(TEXT("A")) "]}",
        "x: post_processor: more than one adds special tokens");
    refused("{}", "x: post_processor '?' is not supported");
}

Test(templates, the_token_that_begins_a_text)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_expect_eq(vocabulary_begin_of_text(&v), -1);
    v.end_of_text = 5;
    cr_assert_eq(vocabulary_put(&v, 0, "<s>", 3, TOKEN_MODEL), 0);
    cr_expect_eq(vocabulary_begin_of_text(&v), 5);
    v.hides = 1;
    cr_expect_eq(vocabulary_begin_of_text(&v), 5); /* <s> is an ordinary token */
    vocabulary_release(&v);
    vocabulary_init(&v);
    v.end_of_text = 5;
    cr_assert_eq(vocabulary_put_special(&v, 2, "<s>", 3, 1), 0);
    cr_expect_eq(vocabulary_begin_of_text(&v), 5); /* no model of SentencePiece */
    v.model = VOCABULARY_UNIGRAM;
    cr_expect_eq(vocabulary_begin_of_text(&v), 2);
    v.begin_of_text = 7;
    cr_expect_eq(vocabulary_begin_of_text(&v), 7);
    v.single = (struct template){ { { 9, 0 }, { TEMPLATE_A, 0 } }, 2 };
    cr_expect_eq(vocabulary_begin_of_text(&v), 9);
    vocabulary_release(&v);
}

/* A text, A or B, with a token before it and one behind it. */
#define AROUND(begin, text, end, type)                                                             \
    "{\"SpecialToken\": {\"id\": \"" begin "\", \"type_id\": " type "}}, "                         \
    "{\"Sequence\": {\"id\": \"" text "\", \"type_id\": " type "}}, "                              \
    "{\"SpecialToken\": {\"id\": \"" end "\", \"type_id\": " type "}}"

/* Llama's class of transformers also puts its tokens around each text of a pair. */
#define TEMPLATES(begin, end)                                                                      \
    "{\"type\": \"TemplateProcessing\",\n    \"single\": [" AROUND(                                \
        begin, "A", end, "0") "],\n"                                                               \
                              "    \"pair\": [" AROUND(begin, "A", end, "0") ", " AROUND(          \
                                  begin, "B", end, "1") "],\n"                                     \
                                                        "    \"special_tokens\": {"

Test(templates, are_written)
{
    struct vocabulary v;
    cr_assert_eq(read_post(&v, "null"), 0, "%s", err_get());
    post_processor_put(&v, -1, -1);
    cr_expect_str_eq(v.json[POST_PROCESSOR], "null");
    post_processor_put(&v, 0, 1);
    cr_expect_str_eq(
        v.json[POST_PROCESSOR],
        TEMPLATES("<s>",
                  "</s>") "\"<s>\": {\"id\": \"<s>\", \"ids\": [0], \"tokens\": [\"<s>\"]}, "
                          "\"</s>\": {\"id\": \"</s>\", \"ids\": [1], \"tokens\": [\"</s>\"]}}}");
    post_processor_put(&v, 1, 1);
    cr_expect_str_eq(
        v.json[POST_PROCESSOR],
        TEMPLATES("</s>",
                  "</s>") "\"</s>\": {\"id\": \"</s>\", \"ids\": [1], \"tokens\": [\"</s>\"]}}}");
    cr_expect_not(v.trims_places);
    post_processor_put(&v, -1, 1);
    expect_template(&v.single, "A:0 1:0");
    expect_template(&v.pair, "A:0 1:0 B:1 1:1");
    vocabulary_release(&v);
}
