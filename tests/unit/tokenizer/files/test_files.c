/* Vocabulary files: which files are refused and with which errors, and that written files can be
 * read back. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "common/formats/js.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "tokenizer/files/encodings.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/tokenizer.h"

typedef int parser(struct vocabulary *v, const char *text, size_t n, const char *name);

/* Checks that the parser refuses the text with an error that begins with `error`. */
static void refuses(parser *parse, const char *text, const char *error)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(parse(&v, text, strlen(text), "x"), -1, "%s", text);
    cr_assert(!strncmp(err_get(), error, strlen(error)), "'%s', not '%s'", err_get(), error);
    vocabulary_release(&v);
}

Test(files, vocab_json_that_is_none)
{
    refuses(vocab_json_parse, "", "x: bad JSON at byte 0");
    refuses(vocab_json_parse, "{\"a\": 0, \"b\"", "x: bad JSON at byte 12");
    refuses(vocab_json_parse, "{\"a\": 0,\n\"a\": 1}",
            "x: token 'a' at byte 9: ids 0 and 1 are the same token");
    refuses(vocab_json_parse, "[]", "x: not an object of tokens");
    refuses(vocab_json_parse, "{}", "x: the vocabulary is empty");
    refuses(vocab_json_parse, "{\"a\": \"0\"}",
            "x: token 'a' at byte 1: it has no whole number for an id");
    refuses(vocab_json_parse, "{\"a\": 0, \"b\": 0}",
            "x: token 'b' at byte 9: id 0 is given to two tokens");
    refuses(vocab_json_parse, "{\"a\": 0, \"b\": 9999999}",
            "x: token 'b' at byte 9: id 9999999 is too great for a file of this size");
    refuses(vocab_json_parse, "{\"a\": -1}", "x: token 'a' at byte 1: token id -1 is not below");
    refuses(vocab_json_parse, "{\"a\": 99999999999}",
            "x: token 'a' at byte 1: token id 99999999999 is");
    refuses(vocab_json_parse, "{\"a b\": 0}",
            "x: token 'a b' at byte 1: it has a character that is not in the byte");
}

/* A tekken.json for 7 tokens. 3 of them are special. Its list special_tokens has the items
 * `specials`, and its list vocab the items `ranks`. */
#define TEKKEN(specials, ranks)                                                                    \
    "{\"config\": {\"pattern\": \"[a-z]+\", \"default_vocab_size\": 7, "                           \
    "\"default_num_special_tokens\": 3}, \"special_tokens\": [" specials "], \"vocab\": [" ranks   \
    "]}"
#define SPECIAL(name)      "{\"token_str\": \"" name "\"}"
#define RANK(rank, base64) "{\"rank\": " rank ", \"token_bytes\": \"" base64 "\"}"
#define RANKS              RANK("0", "YQ==") "," RANK("1", "Yg==") "," RANK("2", "YWI=") "," RANK("3", "YWJh")

Test(files, tekken_json)
{
    static const struct {
        const char *text, *specials[3];
        int64_t begin, end;
    } cases[] = {
        { TEKKEN(SPECIAL("a b") "," SPECIAL("<s>") "," SPECIAL("</s>"), RANKS),
          { "a b", "<s>", "</s>" },
          1,
          2 },
        { TEKKEN(SPECIAL("</s>") "," SPECIAL("<s>"), RANKS),
          { "</s>", "<s>", "<SPECIAL_2>" },
          1,
          0 },
        { TEKKEN("", RANKS "," RANK("4", "YWI=")), /* rank 4 is beyond the size */
          { "<SPECIAL_0>", "<SPECIAL_1>", "<SPECIAL_2>" },
          -1,
          -1 },
    };
    static const char *const tokens[] = { "a", "b", "ab", "aba" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        struct vocabulary v;
        vocabulary_init(&v);
        cr_assert_eq(tekken_parse(&v, text, strlen(text), "x"), 0, "%s", err_get());
        cr_expect_eq(v.count, 7);
        for (uint32_t id = 0; id < 7; id++) {
            const char *name = id < 3 ? cases[i].specials[id] : tokens[id - 3];
            cr_expect_eq(vocabulary_find(&v, name, strlen(name)), id, "%s", name);
            cr_expect_eq(vocabulary_is_special(&v, id), id < 3, "%s", name);
        }
        cr_expect_eq(v.merge_count, 2);
        cr_expect_eq(v.end_of_text, cases[i].end);
        cr_expect_eq(vocabulary_begin_of_text(&v), cases[i].begin);
        vocabulary_release(&v);
    }
}

Test(files, tekken_json_that_is_none)
{
    refuses(tekken_parse, "{\"config\": {\"default_vocab_size\": 7}}",
            "x: config has no pattern, ");
    refuses(tekken_parse,
            "{\"config\": {\"pattern\": \"a\", \"default_vocab_size\": 2, "
            "\"default_num_special_tokens\": 3}}",
            "x: config: 2 tokens, 3 of them special");
    refuses(tekken_parse, TEKKEN("{\"rank\": 0}", RANKS),
            "x: special_tokens: item 0 has no token_str");
    refuses(tekken_parse,
            TEKKEN(SPECIAL("a") "," SPECIAL("b") "," SPECIAL("c") "," SPECIAL("d"), RANKS),
            "x: special_tokens has 4 special tokens, but default_num_special_tokens is 3");
    refuses(tekken_parse, TEKKEN("", RANK("0", "Y")),
            "x: vocab: item 0 has no rank or no token_bytes in base64");
    refuses(tekken_parse, TEKKEN("", RANK("-1", "YQ==")), "x: vocab: item 0 has no rank");
    refuses(tekken_parse, TEKKEN("", RANKS "," RANK("3", "YWIi")), "x: vocab: item 4: ");
}

static int parse_with_merges(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    static const char vocab[] = "{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"<|endoftext|>\":5}";
    return vocab_json_parse(v, vocab, strlen(vocab), "vocab") < 0 ? -1
                                                                  : merges_parse(v, text, n, name);
}

Test(files, merges_that_are_none)
{
    refuses(parse_with_merges, "a b\nab\n", "x: line 2: not a pair of tokens");
    refuses(parse_with_merges, "#version: 0.2\na  b\n",
            "x: line 2: ' b' is not a token of the vocabulary");
    refuses(parse_with_merges, "a b c\n", "x: line 1: 'b c' is not a token of the vocabulary");
    refuses(parse_with_merges, " a\n", "x: line 1: not a pair of tokens");
    refuses(parse_with_merges, "a z\n", "x: line 1: 'z' is not a token of the vocabulary");
    refuses(parse_with_merges, "a b\nb c\n",
            "x: line 2: the merge of 'b' and 'c' is not a token of the vocabulary");
    refuses(parse_with_merges, "a \xFF\n", "x: line 1: '\xFF' is not a token of the vocabulary");
}

Test(files, merges_in_all_their_spellings)
{
    static const char *const texts[] = {
        "#version: 0.2\na b\nab c\n",
        "a b\nab c\n",
        "a b\r\nab c\r\n",
        "a b\nab c\n\n",
        "a b\nab c",
        "#version: 0.2\r\na b\r\nab c\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct vocabulary v;
        vocabulary_init(&v);
        cr_assert_eq(parse_with_merges(&v, texts[i], strlen(texts[i]), "x"), 0, "%s", err_get());
        cr_assert_eq(v.merge_count, 2);
        cr_assert(v.merges[1].left == 3 && v.merges[1].right == 2 && v.merges[1].id == 4);
        cr_assert_eq(v.end_of_text, 5);
        vocabulary_release(&v);
    }
}

Test(files, ranks_that_are_none)
{
    refuses(tiktoken_parse, "", "x: no tokens");
    refuses(tiktoken_parse, "YQ== 0\nYg= 1\n", "x: line 2: bad base64");
    refuses(tiktoken_parse, "YQ==\n", "x: line 1: bad base64");
    refuses(tiktoken_parse, "YR== 0\n", "x: line 1: bad base64");
    refuses(tiktoken_parse, " 0\n", "x: line 1: bad base64");
    refuses(tiktoken_parse, "YQ== \n", "x: line 1: no rank");
    refuses(tiktoken_parse, "YQ== 0x\n", "x: line 1: no rank");
    refuses(tiktoken_parse, "YQ== 99999999999\n", "x: line 1: no rank");
    refuses(tiktoken_parse, "YQ== 0\nYg== 0\n", "x: line 2: id 0 is given to two tokens");
    refuses(tiktoken_parse, "YQ== 0\nYQ== 1\n", "x: line 2: ids 0 and 1 are the same token");
    refuses(tiktoken_parse, "YQ== 0\nYWJj 1\n", "x: token 1 has a byte that is not a token");
}

static int finish_ranks(struct vocabulary *v, const char *text)
{
    vocabulary_init(v);
    cr_assert_eq(tiktoken_parse(v, text, strlen(text), "x"), 0, "%s", err_get());
    cr_assert_eq(encoding_add_specials(v, encoding_named(TOKENIZER_GPT2)), 0, "%s", err_get());
    return vocabulary_check_full(v);
}

Test(files, ranks_in_any_order_with_end_of_text_in_the_gap)
{
    struct vocabulary v;
    cr_assert_eq(finish_ranks(&v, "YWI= 3\r\nYQ== 0\n\nYg== 1\n"), 0, "%s", err_get());
    cr_assert_eq(v.count, 4);
    cr_assert_eq(v.end_of_text, 2);
    cr_assert_eq(v.merge_count, 1);
    cr_assert_not(v.ignore_merges);
    vocabulary_release(&v);
    cr_assert_eq(finish_ranks(&v, "YQ== 0\nYg== 4\n"), -1);
    cr_assert_str_eq(err_get(), "id 2 has no token, though the vocabulary goes up to 4");
    vocabulary_release(&v);
}

Test(files, special_tokens_of_an_encoding_have_their_ids)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(encoding_add_specials(&v, encoding_named(TOKENIZER_CL100K)), 0, "%s", err_get());
    cr_expect_eq(vocabulary_find(&v, "<|endoftext|>", 13), 100257);
    cr_expect_eq(vocabulary_find(&v, "<|endofprompt|>", 15), 100276);
    cr_expect_eq(v.end_of_text, 100257);
    vocabulary_release(&v);
}

/* Whisper's file has a token of no bytes. */
Test(files, ranks_with_a_token_of_no_bytes)
{
    struct vocabulary v;
    cr_assert_eq(finish_ranks(&v, "YQ== 0\n= 1\n"), 0, "%s", err_get());
    cr_assert_eq(v.end_of_text, 2);
    vocabulary_release(&v);
}

/* "abc" ranks before "ab" and "bc", so merging does not make it of its own bytes. tiktoken looks up
 * whole pieces, and merges any two neighbours that are a token. */
Test(files, ranks_that_merging_does_not_reach)
{
    static const char text[] = "YQ== 0\nYg== 1\nYw== 2\nYWJj 3\nYWI= 4\nYmM= 5\n";
    struct vocabulary v;
    cr_assert_eq(finish_ranks(&v, text), 0, "%s", err_get());
    cr_assert(v.ignore_merges);
    cr_assert_eq(v.merge_count, 4);
    cr_assert(v.merges[0].id == 3 && v.merges[1].id == 3);
    vocabulary_release(&v);
}

/* ---- tokenizer.json -------------------------------------------------------------------------- */

#define BYTE_LEVEL                "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define MODEL                     "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"
#define FILE_OF(pre, model, more) "{\"pre_tokenizer\":" pre ",\"model\":" model more "}"

Test(files, tokenizer_json_that_is_not_supported)
{
    static const char *const cases[][2] = {
        { "{}", "x: it has no \"model\", so it is not a tokenizer.json" },
        { "{\"model\":{\"vocab\":{\"a\":0},\n\"merges\":[\"a b\"]},\"x\":tru}",
          "x: bad JSON at byte 52 (line 2)" },
        { "{\"merges\":1,\"model\":{\"merges\":[],\"vocab\":{\"a\":0 \"b\":1}}}",
          "x: model.vocab: bad JSON at byte 48: ',' expected" },
        { "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"\\ud800\"]}}",
          "x: model.merges: item 0 at byte 36: bad JSON at byte 37: no escape" },
        { "{\"model\":{\"vocab\":{\"a\":0}", "x: bad JSON at byte 25: ',' expected" },
        { "{\"model\":{\"vocab\":{\"a\":0,\"\xFF\":1}}}", "x: bad JSON at byte 26: not UTF-8" },
        { "{\"model\":{\"vocab\":{},\"vocab\":{\"a\":0}}}", "x: bad JSON at byte 28: duplicate" },
        { "{\"model\":{\"type\":\"Bigram\"}}", "x: model 'Bigram' is not supported" },
        { FILE_OF("{\"type\":\"UnicodeScripts\"}", MODEL, ""),
          "x: pre_tokenizer 'UnicodeScripts' is not supported" },
        { FILE_OF("{\"type\":\"Metaspace\",\"replacement\":\"--\"}", MODEL, ""),
          "x: pre_tokenizer Metaspace: the replacement is not one character" },
        { FILE_OF("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}",
                  MODEL, ""),
          "x: pre_tokenizer Metaspace: prepend_scheme 'last' is not supported" },
        { FILE_OF("{\"type\":\"Sequence\",\"pretokenizers\":[" BYTE_LEVEL
                  ",{\"type\":\"Whitespace\"}]}",
                  MODEL, ""),
          "x: pre_tokenizer 'Whitespace' after ByteLevel is not supported" },
        { FILE_OF("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Moved\"}",
                  MODEL, ""),
          "x: pre_tokenizer Split: behavior 'Moved' is not supported" },
        { FILE_OF("{\"type\":\"Split\",\"pattern\":{\"String\":\"\"},\"behavior\":\"Contiguous\"}",
                  MODEL, ""),
          "x: pre_tokenizer Split: the pattern is empty" },
        { FILE_OF("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},\"behavior\":\"Isolated\"}",
                  MODEL, ""),
          "x: pre_tokenizer Split: bad pattern '(' at byte 1" },
        { FILE_OF("{\"type\":\"Split\",\"behavior\":\"Isolated\"}", MODEL, ""),
          "x: pre_tokenizer Split: no pattern" },
        { FILE_OF(BYTE_LEVEL, MODEL, ",\"normalizer\":{\"type\":\"Other\"}"),
          "x: normalizer 'Other' is not supported" },
        { FILE_OF(
              BYTE_LEVEL, MODEL,
              ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a*\"},\"content\":\"\"}"),
          "x: normalizer Replace: pattern 'a*' matches the empty string" },
        { FILE_OF(BYTE_LEVEL, MODEL, ",\"normalizer\":{\"type\":\"Prepend\"}"),
          "x: normalizer Prepend: no content" },
        { FILE_OF(BYTE_LEVEL, MODEL, ",\"decoder\":{\"type\":\"Magic\"}"),
          "x: decoder 'Magic' is not supported" },
        { FILE_OF(BYTE_LEVEL, MODEL,
                  ",\"decoder\":{\"type\":\"Strip\",\"content\":\" \",\"start\":-1}"),
          "x: decoder Strip: no start or no stop" },
        { FILE_OF(BYTE_LEVEL, MODEL, ",\"post_processor\":{\"type\":\"Magic\"}"),
          "x: post_processor 'Magic' is not supported" },
        { FILE_OF(
              BYTE_LEVEL, MODEL,
              ",\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"b\",1],\"cls\":[\"c\",9]}"),
          "x: post_processor: id 9 is not in the vocabulary" },
        { FILE_OF(BYTE_LEVEL, MODEL,
                  ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":"
                  "[{\"Sequence\":{\"id\":\"B\",\"type_id\":0}}]}"),
          "x: post_processor: the template of a single text has a second text" },
        { FILE_OF(BYTE_LEVEL, "{\"type\":\"BPE\",\"dropout\":0.1}", ""),
          "x: model.dropout is not supported" },
        { FILE_OF(BYTE_LEVEL, "{\"byte_fallback\":true,\"vocab\":{\"a\":0},\"merges\":[]}", ""),
          "x: model.byte_fallback is not" },
        { FILE_OF(BYTE_LEVEL, "{\"type\":\"BPE\",\"end_of_word_suffix\":\"< >\"}", ""),
          "x: model.end_of_word_suffix '< >' is not supported" },
        { FILE_OF(BYTE_LEVEL, "{\"vocab\":{\"a\":0,\"b\":1},\"merges\":[[\"a\",\"b\"]]}", ""),
          "x: model.merges: item 0 at byte 104: the merge of 'a' and 'b' is not a token of the vocabulary" },
        { FILE_OF(BYTE_LEVEL, "{\"vocab\":{\"a\":0},\"merges\":[\"a\"]}", ""),
          "x: model.merges: item 0 at byte 98: not a pair of tokens" },
        { FILE_OF(BYTE_LEVEL, "{\"vocab\":{\"a\":0,\"aa\":1},\"merges\":[[\"a\",\"a\",\"c\"]]}",
                  ""),
          "x: model.merges: item 0 at byte 105: not a pair of tokens" },
        { FILE_OF(BYTE_LEVEL, "{\"vocab\":{\"a\":0},\"merges\":{}}", ""),
          "x: model.merges is not an array" },
        { FILE_OF(BYTE_LEVEL, "{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}", ""),
          "x: model.vocab: token 'b' at byte 87: id 0 is given to two tokens" },
        { FILE_OF(BYTE_LEVEL, "{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"u\"}", ""),
          "x: model.unk_token 'u' is not a token of the model" },
        { FILE_OF(BYTE_LEVEL,
                  "{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"a\",\"fuse_unk\":true}", ""),
          "x: model.fuse_unk is not supported with a vocabulary that lacks bytes" },
        { FILE_OF("null",
                  "{\"vocab\":{\"a\":0},\"merges\":[],"
                  "\"continuing_subword_prefix\":\"01234567890123456789012345678901\"}",
                  ""),
          "x: model.continuing_subword_prefix of 32 bytes is too long" },
        { FILE_OF(BYTE_LEVEL, MODEL, ",\"added_tokens\":[{\"id\":3,\"content\":\"\"}]"),
          "x: added_tokens: item 0 has no content or no id" },
        { FILE_OF(BYTE_LEVEL, MODEL, ",\"added_tokens\":[{\"id\":4,\"content\":\"x\"}]"),
          "x: added_tokens: 'x' has id 4, but the next id after the 3 tokens before it is 3" },
        { FILE_OF(BYTE_LEVEL, MODEL,
                  ",\"added_tokens\":[{\"id\":4,\"content\":\"y\"},{\"id\":3,\"content\":\"x\"}]"),
          "x: added_tokens: 'y' has id 4, but the next id after the 3 tokens before it is 3" },
        { FILE_OF(BYTE_LEVEL, MODEL, ",\"added_tokens\":[{\"id\":3,\"content\":\"ab\"}]"),
          "x: model.vocab: token 'ab' at byte 106: it has id 2, as an added token 3" },
        { FILE_OF(BYTE_LEVEL, MODEL,
                  ",\"added_tokens\":[{\"id\":3,\"content\":\"x\"},{\"id\":4,\"content\":\"x\"}]"),
          "x: added_tokens: 'x' occurs twice" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(tokenizer_json_parse, cases[i][0], cases[i][1]);
}

/* Some files of byte-level vocabularies have byte_fallback, to which no byte comes. */
Test(files, byte_fallback_is_without_effect_if_all_bytes_are_tokens)
{
    struct vocabulary v;
    struct buf text = buf_format("{\"pre_tokenizer\":" BYTE_LEVEL
                                 ",\"model\":{\"byte_fallback\":true,\"merges\":[],\"vocab\":{"),
               name = BUF_INIT;
    for (int b = 0; b < 256; b++) {
        buf_clear(&name);
        alphabet_encode(&name, (char[]){ (char)b }, 1);
        buf_adds(&text, b ? "," : "");
        js_quote(&text, name.data, name.len);
        buf_addf(&text, ":%d", b);
    }
    buf_adds(&text, "}}}");
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, text.data, text.len, "x"), 0, "%s", err_get());
    cr_expect(!v.byte_fallback && v.byte_level);
    vocabulary_release(&v);
    buf_release(&text);
    buf_release(&name);
}

static void round_trip(const char *text)
{
    struct vocabulary v, again;
    struct buf first = BUF_INIT, second = BUF_INIT;
    vocabulary_init(&v);
    vocabulary_init(&again);
    cr_assert_eq(tokenizer_json_parse(&v, text, strlen(text), "x"), 0, "%s", err_get());
    tokenizer_json_print(&v, &first);
    cr_assert_eq(tokenizer_json_parse(&again, first.data, first.len, "y"), 0, "%s", err_get());
    tokenizer_json_print(&again, &second);
    cr_assert_str_eq(first.data, second.data);
    cr_assert_eq(again.count, v.count);
    cr_assert_eq(again.added_count, v.added_count);
    cr_assert_eq(again.splitter.count, v.splitter.count);
    for (int i = 0; i < v.splitter.count; i++)
        cr_assert_eq(again.splitter.rules[i].kind, v.splitter.rules[i].kind);
    cr_assert(again.prefix_space == v.prefix_space && again.ignore_merges == v.ignore_merges);
    vocabulary_release(&v);
    vocabulary_release(&again);
    buf_release(&first);
    buf_release(&second);
}

Test(files, tokenizer_json_comes_back)
{
    round_trip(FILE_OF(BYTE_LEVEL, MODEL, ""));
    round_trip(FILE_OF("{\"type\":\"ByteLevel\"}", MODEL, ",\"normalizer\":null"));
    round_trip(
        FILE_OF("{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":false}", MODEL,
                ",\"added_tokens\":[{\"id\":3,\"content\":\"<\\\"x\\u0001>\",\"lstrip\":true,"
                "\"special\":true,\"normalized\":false}]"));
    round_trip(FILE_OF(
        "{\"type\":\"Sequence\",\"pretokenizers\":["
        "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\d|\\\\s+\"},"
        "\"behavior\":\"Isolated\"},"
        "{\"type\":\"Split\",\"pattern\":{\"String\":\"ab\"},\"behavior\":\"Isolated\"}," BYTE_LEVEL
        "]}",
        "{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[[\"a\",\"b\"]],"
        "\"ignore_merges\":true}",
        ""));
    round_trip(FILE_OF(
        BYTE_LEVEL,
        "{\"vocab\":{\"a\":0,\"##b\":1,\"ab\":2,\"?\":3},\"unk_token\":\"?\",\"merges\":[[\"a\",\"##b\"]],"
        "\"continuing_subword_prefix\":\"##\",\"end_of_word_suffix\":null}",
        ""));
    round_trip(FILE_OF("{\"type\":\"BertPreTokenizer\"}",
                       "{\"type\":\"WordPiece\",\"vocab\":{\"?\":0,\"a\":1},\"unk_token\":\"?\"}",
                       ""));
}

static int put_piece(void *ctx, const char *piece, size_t n)
{
    struct buf *out = ctx;
    buf_add(out, piece, n);
    buf_addc(out, '|');
    return 0;
}

#define SPLIT(pattern, more)                                                                       \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" pattern "\"},\"behavior\":" more "}"
#define LIST(steps)        "{\"type\":\"Sequence\",\"pretokenizers\":[" steps "]}"
#define AT_EACH            "{\"type\":\"Split\",\"pattern\":{\"String\":\"\"},\"behavior\":\"Isolated\"}"
#define DIGITS(individual) "{\"type\":\"Digits\",\"individual_digits\":" individual "}"

/* Combinations of pre-tokenizers must cut as Hugging Face's tokenizers do. */
Test(files, pre_tokenizers_around_byte_level)
{
    static const char *const cases[][3] = {
        /* Falcon: digits are looked for in the byte alphabet, where byte B2 is a number */
        { LIST("{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}," BYTE_LEVEL
               "," DIGITS("false") "," SPLIT("[0-9][0-9][0-9]", "\"Isolated\"")),
          "a1234, (b)?!\xE2\xB2\x80", "a|123|4|,| |(|b|)?!|\xE2|\xB2|\x80|" },
        { LIST(DIGITS("true") "," BYTE_LEVEL), "it's 12 \xC2\xB2", "it|'s| |1|2| |\xC2\xB2|" },
        { LIST("{\"type\":\"Punctuation\"}," BYTE_LEVEL), "a?! b", "a|?|!| b|" },
        /* what is no match is removed: there is none */
        { LIST(SPLIT(
              "\\\\w+|\\\\W",
              "\"Removed\",\"invert\":true") ",{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"),
          "ab, c", "ab|,| |c|" },
        /* what is no match is removed: only steps do that */
        { LIST(SPLIT("\\\\w+", "\"Removed\",\"invert\":true") "," BYTE_LEVEL), "ab, c", "ab|c|" },
        { BYTE_LEVEL, "e\xCC\x81 x", "\xC3\xA9| x|" },
        { LIST(AT_EACH ",{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"),
          "ab\xC3\xA9 c", "a|b|\xC3\xA9| |c|" },
        { LIST("{\"type\":\"WhitespaceSplit\"}," AT_EACH "," BYTE_LEVEL), "ab\xC3\xA9 c",
          "a|b|\xC3\xA9|c|" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = BUF_INIT, got = BUF_INIT;
        struct vocabulary v;
        buf_addf(&text, "{\"normalizer\":%s,\"pre_tokenizer\":%s,\"model\":%s}",
                 i == 5 ? "{\"type\":\"NFC\"}" : "null", cases[i][0], MODEL);
        vocabulary_init(&v);
        cr_assert_eq(tokenizer_json_parse(&v, text.data, text.len, "x"), 0, "%s", err_get());
        struct tokenizer *t = tokenizer_from_vocabulary(&v);
        struct encoder *e = encoder_new(t);
        cr_assert_eq(encoder_pieces(e, cases[i][1], strlen(cases[i][1]), put_piece, &got), 0);
        cr_expect_str_eq(got.data, cases[i][2], "%zu: %s", i, got.data);
        encoder_free(e);
        tokenizer_free(t);
        buf_release(&text);
        buf_release(&got);
    }
}

/* ---- folders --------------------------------------------------------------------------------- */

static void same_text(const char *a, const char *b)
{
    struct buf x = BUF_INIT, y = BUF_INIT;
    cr_assert_eq(file_read(a, &x), 0, "%s", err_get());
    cr_assert_eq(file_read(b, &y), 0, "%s", err_get());
    cr_assert(x.len == y.len && !memcmp(x.data, y.data, x.len), "'%s' differs from '%s'", a, b);
    buf_release(&x);
    buf_release(&y);
}

/* The files written for GPT-2 must be those that its authors, Hugging Face and tiktoken publish. */
Test(files, gpt2_is_written_as_published)
{
    const char *root = getenv("TEXTMILL_DATA");
    char dir[] = "/tmp/test-files-XXXXXX";
    static const char *const pairs[][2] = { { "merges.txt", "tokenizers/gpt2-merges.txt" },
                                            { "vocab.tiktoken", "tokenizers/gpt2.tiktoken" } };
    static const char *const forms[] = { "", "vocab.json", "vocab.tiktoken", "tokenizer.json" };
    struct buf path = BUF_INIT, other = BUF_INIT;
    root = root ? root : "../shared/data";
    set_path(&path, root, "tokenizers/gpt2-vocab.json");
    if (!look(path.data))
        cr_skip_test("%s is absent", path.data);
    struct tokenizer *t = tokenizer_load(path.data);
    cr_assert_not_null(t, "%s", err_get());
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(tokenizer_save(t, 77, 0, dir), 0, "%s", err_get());
    for (size_t i = 0; i < 2; i++) {
        set_path(&path, dir, pairs[i][0]);
        set_path(&other, root, pairs[i][1]);
        same_text(path.data, other.data);
    }
    for (size_t i = 0; i < 4; i++) {
        set_path(&path, dir, forms[i]);
        struct tokenizer *again = tokenizer_load(path.data);
        cr_assert_not_null(again, "%s", err_get());
        cr_assert_eq(tokenizer_checksum(again), tokenizer_checksum(t));
        cr_assert_eq(tokenizer_end_of_text(again), 50256);
        tokenizer_free(again);
    }
    tokenizer_free(t);
    temp_remove(dir);
    buf_release(&path);
    buf_release(&other);
}

/* A vocab.tiktoken has only ranks, which cannot say that two merges give the same token. Such a
 * vocabulary must not be written as a vocab.tiktoken. */
Test(files, ranks_are_written_only_where_they_say_all)
{
    static const char text[] = FILE_OF(
        BYTE_LEVEL,
        "{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"ba\":3,\"aba\":4},"
        "\"merges\":[\"a b\",\"b a\",\"ab a\",\"a ba\"]}",
        ",\"added_tokens\":[{\"id\":5,\"content\":\"<|endoftext|>\",\"special\":true}]");
    char dir[] = "/tmp/test-files-XXXXXX";
    struct vocabulary v;
    struct buf path = BUF_INIT;
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, text, strlen(text), "x"), 0, "%s", err_get());
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(vocabulary_save(&v, dir), 0, "%s", err_get());
    set_path(&path, dir, "vocab.tiktoken");
    cr_assert(!look(path.data));
    set_path(&path, dir, "tokenizer.json");
    cr_assert(look(path.data));
    v.merge_count = 3; /* without the second way to make "aba" they do */
    cr_assert_eq(vocabulary_save(&v, dir), 0, "%s", err_get());
    set_path(&path, dir, "vocab.tiktoken");
    cr_assert(look(path.data));
    vocabulary_merge(&v, 0, 3, 4);
    cr_assert_eq(vocabulary_save(&v, dir), 0, "%s", err_get());
    cr_assert(!look(path.data), "what an earlier vocabulary left is gone");
    vocabulary_release(&v);
    temp_remove(dir);
    buf_release(&path);
}

static void refuses_path(const char *dir, const char *name, const char *error)
{
    struct buf path = BUF_INIT;
    set_path(&path, dir, name);
    cr_assert_null(tokenizer_load(path.data));
    cr_assert(strstr(err_get(), error), "'%s', not '%s'", err_get(), error);
    buf_release(&path);
}

static void put(const char *dir, const char *name, const char *text)
{
    struct buf path = BUF_INIT;
    set_path(&path, dir, name);
    cr_assert_eq(file_write(path.data, text, strlen(text)), 0, "%s", err_get());
    buf_release(&path);
}

Test(files, folders_and_names)
{
    static const char vocab[] = "{\"a\":0,\"b\":1,\"ab\":2}";
    char dir[] = "/tmp/test-files-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    refuses_path(dir, "", "has no vocabulary: no tokenizer.json, tekken.json, vocab.json, ");
    put(dir, "z.gguf", "");
    refuses_path(dir, "", "has no vocabulary: give '/tmp/test-files-");
    refuses_path(dir, "none.json", "none.json'");
    put(dir, "a-vocab.json", vocab);
    refuses_path(dir, "", "has no '");
    put(dir, "a-merges.txt", "a b\n");
    refuses_path(dir, "", "does not say how text is split");
    put(dir, "config.json", "{\"model_type\": \"gpt2\"}");
    struct tokenizer *t = tokenizer_load(dir);
    cr_assert_not_null(t, "%s", err_get());
    cr_assert_eq(tokenizer_end_of_text(t), -1);
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    cr_assert_eq(encoder_encode(e, "abba", 4, TOKENIZER_ORDINARY, &ids), 0);
    cr_assert(ids.count == 3 && ids.data[0] == 2 && ids.data[1] == 1 && ids.data[2] == 0);
    cr_assert_eq(encoder_encode(e, "abc", 3, TOKENIZER_ORDINARY, &ids), -1);
    cr_assert(strstr(err_get(), "no token for byte 0x63"), "%s", err_get());
    encoder_free(e);
    tokenizer_free(t);
    ids_release(&ids);
    put(dir, "tokenizer_config.json", "{\"eos_token\": {\"content\": \"ab\"}}");
    t = tokenizer_load(dir);
    cr_assert_not_null(t, "%s", err_get());
    cr_assert_eq(tokenizer_end_of_text(t), 2);
    tokenizer_free(t);
    put(dir, "tokenizer_config.json", "{\"eos_token\": \"abc\"}");
    refuses_path(dir, "",
                 "tokenizer_config.json: eos_token: 'abc' is not a token of the vocabulary");
    put(dir, "special_tokens_map.json",
        "{\"eos_token\": \"b\", \"pad_token\": {\"content\": \"a\"}}");
    t = tokenizer_load(dir); /* the map's goes first */
    cr_assert_not_null(t, "%s", err_get());
    cr_assert_eq(tokenizer_end_of_text(t), 1);
    tokenizer_free(t);
    for (int decoder = 0; decoder < 2; decoder++) {
        put(dir, "tokenizer_config.json",
            decoder ? "{\"eos_token\": \"ab\", \"added_tokens_decoder\": {}}"
                    : "{\"eos_token\": \"\"}");
        t = tokenizer_load(dir);
        cr_assert_not_null(t, "%s", err_get());
        cr_expect_eq(tokenizer_end_of_text(t), decoder ? 2 : 1);
        cr_expect_eq(tokenizer_role(t, TOKENIZER_PAD), decoder ? -1 : 0);
        tokenizer_free(t);
    }
    put(dir, "special_tokens_map.json", "{\"eos_token\": \"c\"}");
    put(dir, "tokenizer_config.json", "{}");
    refuses_path(dir, "", "special_tokens_map.json: eos_token: 'c' is not a token");
    put(dir, "special_tokens_map.json",
        "{\"additional_special_tokens\": [\"<|x|>\"], \"pad_token\": {\"content\": \"<|pad|>\"}}");
    put(dir, "added_tokens.json", "{\"<|pad|>\": 4, \"<|x|>\": 3, \"ab\": 2}");
    t = tokenizer_load(dir);
    cr_assert_not_null(t, "%s", err_get());
    cr_expect_eq(tokenizer_size(t), 5);
    cr_expect(tokenizer_is_special(t, 3) && tokenizer_role(t, TOKENIZER_PAD) == 4);
    tokenizer_free(t);
    put(dir, "added_tokens.json", "{\"<|x|>\": 3, \"more\": 4}");
    t = tokenizer_load(dir);
    cr_assert_not_null(t, "%s", err_get());
    cr_expect(tokenizer_size(t) == 6 && !tokenizer_is_special(t, 4) && tokenizer_is_special(t, 5));
    tokenizer_free(t);
    put(dir, "added_tokens.json", "{\"<|x|>\": \"3\"}");
    refuses_path(dir, "", "added_tokens.json: '<|x|>' has no id");
    put(dir, "added_tokens.json", "{}");
    put(dir, "b-vocab.json", vocab);
    refuses_path(dir, "", "has several vocabularies");
    put(dir, "x.txt", vocab);
    refuses_path(dir, "x.txt", "is not a vocabulary");
    put(dir, "x-vocab.json", "{\"e</w>\":0}");
    put(dir, "x-merges.txt", "\n");
    refuses_path(dir, "x-vocab.json", "has tokens that end words");
    put(dir, "source.spm", "");
    put(dir, "vocab.json", vocab);
    refuses_path(dir, "source.spm", "are of a Marian model");
    put(dir, "big.tiktoken", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    refuses_path(dir, "big.tiktoken", "is a git-lfs pointer");
    temp_remove(dir);
}

/* All classes of transformers with a file of this name count the ids of XLM-RoBERTa. Pegasus' are
 * 103 greater than SentencePiece's; ALBERT's and XLNet's text changes first. */
Test(files, pieces_with_other_ids)
{
    char dir[] = "/tmp/test-files-XXXXXX", other[] = "/tmp/test-files-XXXXXX";
    cr_assert_not_null(mkdtemp(other));
    put(other, "sentencepiece.bpe.model", "");
    refuses_path(other, "", "sentencepiece.bpe.model': use a tokenizer.json");
    refuses_path(other, "sentencepiece.bpe.model", "the vocabulary is empty");
    temp_remove(other);
    cr_assert_not_null(mkdtemp(dir));
    put(dir, "spiece.model", "");
    put(dir, "config.json", "{\"model_type\": \"albert\"}");
    refuses_path(dir, "", "spiece.model': use a tokenizer.json");
    put(dir, "tokenizer_config.json", "{\"tokenizer_class\": \"PegasusTokenizerFast\"}");
    refuses_path(dir, "", "spiece.model': use a tokenizer.json");
    refuses_path(dir, "spiece.model", "the vocabulary is empty");
    put(dir, "tokenizer_config.json", "{\"tokenizer_class\": \"CpmTokenizer\"}");
    refuses_path(dir, "", "spiece.model': use a tokenizer.json");
    put(dir, "tokenizer_config.json", "{\"tokenizer_class\": \"T5Tokenizer\"}");
    refuses_path(dir, "", "the vocabulary is empty");
    temp_remove(dir);
}

/* The only vocabulary among the files that Mistral's own programs need. */
Test(files, folder_of_a_later_version)
{
    char dir[] = "/tmp/test-files-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    put(dir, "tokenizer.model.v3", "");
    refuses_path(dir, "", "tokenizer.model.v3: the vocabulary is empty");
    temp_remove(dir);
}

/* The tokenizer_config.json beside a vocab.txt says how its words are cut; added_tokens.json may
 * only repeat its tokens. */
Test(files, words_of_vocab_txt)
{
    static const char *const refused[][3] = {
        { "tokenizer_config.json", "{\"word_tokenizer_type\": \"mecab\"}", "cut by a dictionary" },
        { "tokenizer_config.json", "{\"tokenizer_class\": \"RoFormerTokenizer\"}", "dictionary" },
        { "tokenizer_config.json", "{\"do_basic_tokenize\": false}", "is not supported" },
        { "tokenizer_config.json", "{", "bad JSON" },
        { "added_tokens.json", "{\"[UNK]\": 1}", "[UNK]" },
        { "vocab.txt", "[UNK]\n\xC3", "line 2 is not UTF-8" },
    };
    char dir[] = "/tmp/test-files-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    put(dir, "vocab.txt", "[PAD]\nA\na\n[UNK]");
    put(dir, "added_tokens.json", "{\"[UNK]\": 3}");
    for (int lowers = 0; lowers < 2; lowers++) {
        put(dir, "tokenizer_config.json",
            lowers ? "{\"do_lower_case\": true, \"strip_accents\": true}"
                   : "{\"do_lower_case\": false}");
        struct tokenizer *t = tokenizer_load(dir);
        cr_assert_not_null(t, "%s", err_get());
        struct encoder *e = encoder_new(t);
        struct ids ids = { 0 };
        cr_assert_eq(encoder_encode(e, "A", 1, TOKENIZER_ORDINARY, &ids), 0, "%s", err_get());
        cr_expect(ids.count == 1 && ids.data[0] == (lowers ? 2 : 1));
        ids_release(&ids);
        encoder_free(e);
        tokenizer_free(t);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        put(dir, "tokenizer_config.json", "{}");
        put(dir, refused[i][0], refused[i][1]);
        refuses_path(dir, "", refused[i][2]);
    }
    temp_remove(dir);
}

/* CLIP's two files do not say that text is in lower case, that its words end with </w>, nor which
 * tokens stand around it. */
Test(files, clip_of_two_files)
{
#define CLIP(end)                                                                                  \
    "{\"h\": 0, \"i\": 1, \"i</w>\": 2, \"hi</w>\": 3, \"h</w>\": 4, \"1</w>\": 5, "               \
    "\"<|startoftext|>\": 6, \"" end "\": 7}"
    static const uint32_t want[] = { 6, 3, 4, 5, 5, 7, 2, 7 }; /* no token has a z: <|endoftext|> */
    static const char text[] = " HI\t\n h11zI";
    char dir[] = "/tmp/test-files-XXXXXX";
    struct ids ids = { 0 }, whole = { 0 };
    cr_assert_not_null(mkdtemp(dir));
    put(dir, "merges.txt", "#version: 0.2\nh i</w>\n");
    put(dir, "vocab.json", CLIP("<|end|>"));
    refuses_path(dir, "", "has no ids of '<|startoftext|>' and '<|endoftext|>', which CLIP puts");
    put(dir, "vocab.json", CLIP("<|endoftext|>"));
    struct tokenizer *t = tokenizer_load(dir);
    cr_assert_not_null(t, "%s", err_get());
    struct encoder *e = encoder_new(t);
    cr_assert_eq(encoder_encode(e, text, sizeof text - 1, TOKENIZER_ORDINARY, &ids), 0, "%s",
                 err_get());
    tokenizer_assemble(t, &ids, NULL, &whole, NULL);
    cr_expect_eq(whole.count, sizeof want / sizeof *want);
    cr_expect_arr_eq(whole.data, want, sizeof want);
    ids_release(&ids);
    ids_release(&whole);
    encoder_free(e);
    tokenizer_free(t);
    temp_remove(dir);
}
