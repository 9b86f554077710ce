/* BERT's vocab.txt, and WordPiece in tokenizer.json: what is read, refused and written. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "tokenizer/files/files.h"

typedef int parser(struct vocabulary *v, const char *text, size_t n, const char *name);

static void refused(parser *parse, const char *text, const char *error)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_expect_eq(parse(&v, text, strlen(text), "x"), -1, "%s", text);
    cr_expect_str_eq(err_get(), error);
    vocabulary_release(&v);
}

static void read_txt(struct vocabulary *v, const char *text)
{
    vocabulary_init(v);
    cr_assert_eq(vocab_txt_parse(v, text, strlen(text), "x"), 0, "%s", err_get());
}

Test(bert_files, vocab_txt_with_all_roles)
{
    static const char text[] = "[PAD]\n[CLS]\na\n[UNK]\n[SEP]\n[MASK]\n##B\n";
    struct vocabulary v;
    struct buf out = BUF_INIT;
    read_txt(&v, text);
    cr_expect(v.roles[TOKENIZER_PAD] == 0 && v.roles[TOKENIZER_CLS] == 1);
    cr_expect(v.roles[TOKENIZER_UNKNOWN] == 3 && v.roles[TOKENIZER_SEP] == 4);
    cr_expect_eq(v.roles[TOKENIZER_MASK], 5);
    for (uint32_t id = 0; id < v.count; id++)
        cr_expect_eq(vocabulary_is_special(&v, id), id != 2 && id != 6, "%u", id);
    cr_expect(v.model == VOCABULARY_WORDPIECE && !v.byte_level && v.max_chars == 100);
    cr_expect(!v.rules.lowercase && !v.rules.strip_accents, "B is a capital letter");
    cr_expect(v.single.count == 3 && v.single.parts[0].id == 1 && v.single.parts[2].id == 4);
    cr_expect(v.pair.count == 5 && v.pair.parts[2].type == 0 && v.pair.parts[3].type == 1 &&
              v.pair.parts[4].id == 4 && v.pair.parts[4].type == 1);
    vocab_txt_print(&v, &out);
    cr_expect_str_eq(out.data, text);
    buf_release(&out);
    vocabulary_release(&v);
}

/* Names in brackets are no words: their capital letters do not count. */
Test(bert_files, vocab_txt_in_small_letters)
{
    struct vocabulary v;
    read_txt(&v, "[UNK]\r\n[unused1]\r\n[A]\r\n[\r\na\r\n");
    cr_expect(v.rules.lowercase && v.rules.strip_accents);
    cr_expect_eq(v.roles[TOKENIZER_CLS], -1);
    cr_expect(v.single.count == 1 && v.pair.count == 2); /* no [CLS] around texts */
    cr_expect(v.count == 5 && vocabulary_find(&v, "a", 1) == 4);
    vocabulary_release(&v);
    read_txt(&v, "[UNK]\n[A\n");
    cr_expect_not(v.rules.lowercase);
    vocabulary_release(&v);
    read_txt(&v, "[UNK]\nZ\n");
    cr_expect_not(v.rules.lowercase);
    vocabulary_release(&v);
}

/* Tokens have signs, or capitals that are not Latin: text keeps these. */
Test(bert_files, vocab_txt_with_signs)
{
    static const struct {
        const char *text;
        int lowercase;
    } rows[] = { { "[UNK]\nमें\n", 1 },  { "[UNK]\nที่\n", 1 },   { "[UNK]\n한국\n", 1 },
                 { "[UNK]\nが\n", 1 }, { "[UNK]\nМир\n", 0 }, { "[UNK]\nfür\n", 1 } };
    struct vocabulary v;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_txt(&v, rows[i].text);
        cr_expect(v.rules.lowercase == rows[i].lowercase && !v.rules.strip_accents, "%s",
                  rows[i].text);
        vocabulary_release(&v);
    }
    SCOPED(buf) text = BUF_INIT; /* one token in a hundred may be a stray */
    buf_adds(&text, "[UNK]\nが\n");
    for (int i = 0; i < 98; i++)
        buf_addf(&text, "か%d\n", i);
    read_txt(&v, text.data);
    cr_expect(v.rules.lowercase && v.rules.strip_accents);
    vocabulary_release(&v);
}

Test(bert_files, vocab_txt_that_is_none)
{
    refused(vocab_txt_parse, "[UNK]\n\na\n", "x: line 2 is empty: each line is a token");
    refused(vocab_txt_parse, "[UNK]\n\xC3\n", "x: line 2 is not UTF-8");
    refused(vocab_txt_parse, "[UNK]\na\na\n", "x: line 3: ids 1 and 2 are the same token");
    refused(vocab_txt_parse, "a\nb\n", "x: no token '[UNK]'");
}

#define WORDPIECE(vocab, more)                                                                     \
    "{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\","        \
    "\"vocab\":{" vocab "}" more "}}"
#define UNK "\"[UNK]\":0"

Test(bert_files, wordpiece_that_is_refused)
{
    static const char *const cases[][2] = {
        { WORDPIECE(UNK, ",\"continuing_subword_prefix\":\"@@\""),
          "x: model.continuing_subword_prefix is not '##'" },
        { WORDPIECE(UNK, ",\"max_input_chars_per_word\":-1"),
          "x: model.max_input_chars_per_word is not a valid number of characters" },
        { WORDPIECE(UNK, ",\"max_input_chars_per_word\":\"1\""),
          "x: model.max_input_chars_per_word is not a valid number of characters" },
        { WORDPIECE(UNK, ",\"max_input_chars_per_word\":4294967296"),
          "x: model.max_input_chars_per_word is not a valid number of characters" },
        { WORDPIECE(UNK, ",\"unk_token\":\"u\""), "x: model.unk_token 'u' is not a token" },
        { WORDPIECE("\"a\":0", ""), "x: no token '[UNK]'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(tokenizer_json_parse, cases[i][0], cases[i][1]);
}

Test(bert_files, wordpiece_with_its_own_settings)
{
    static const char text[] = WORDPIECE(
        "\"u\":0,\"[MASK]\":1",
        ",\"unk_token\":\"u\",\"max_input_chars_per_word\":7,\"continuing_subword_prefix\":\"##\"");
    struct vocabulary v;
    struct buf out = BUF_INIT;
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, text, strlen(text), "x"), 0, "%s", err_get());
    cr_expect(v.max_chars == 7 && v.roles[TOKENIZER_UNKNOWN] == 0 && v.roles[TOKENIZER_MASK] == 1);
    wordpiece_json_print_model(&v, &out);
    cr_expect_str_eq(out.data, "    \"type\": \"WordPiece\", \"unk_token\": \"u\",\n"
                               "    \"continuing_subword_prefix\": \"##\", "
                               "\"max_input_chars_per_word\": 7");
    buf_release(&out);
    vocabulary_release(&v);
}
