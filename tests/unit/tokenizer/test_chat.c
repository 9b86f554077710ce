/* The form of conversations is chosen by the vocabulary and the chat template beside it. */
#include "tokenizer/chat.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/files/temp.h"
#include "common/formats/gguf.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tokenizer/model/vocabulary.h"

TestSuite(chat, .init = make_dir, .fini = remove_dir);

enum { CHATML = 2, LLAMA3 = 4, NANOCHAT, TEXT };

/* A vocabulary, and these special tokens behind it. */
static struct tokenizer *make_from(struct tokenizer *t, const char *const *marks, size_t n)
{
    struct vocabulary v;
    const int64_t size = (int64_t)tokenizer_size(t);
    tokenizer_into_vocabulary(t, &v);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(vocabulary_put_special(&v, size + (int64_t)i, marks[i], strlen(marks[i]), 0),
                     0);
    return tokenizer_from_vocabulary(&v);
}

static struct tokenizer *make(const char *const *marks, size_t n)
{
    return make_from(tokenizer_load(NULL), marks, n);
}

static struct tokenizer *chatml(void)
{
    static const char *const marks[] = { "<|im_start|>", "<|im_end|>" };
    return make(marks, 2);
}

/* Appends what the conversation's tokens spell; labels are in brackets. */
static int spell(struct chat *c, const char *line, struct buf *out)
{
    struct encoder *e = encoder_new(c->t);
    struct ids ids = { 0 }, spans = { 0 };
    int result = chat_encode(c, e, line, strlen(line), &ids, &spans);
    for (size_t i = 0, k = 0; i < ids.count && !result; i++) {
        size_t n;
        for (; k < spans.count && spans.data[k] == i; k++)
            buf_addc(out, k % 2 ? ']' : '[');
        const char *s = tokenizer_token(c->t, ids.data[i], &n);
        buf_add(out, s, n);
    }
    ids_release(&ids);
    ids_release(&spans);
    encoder_free(e);
    return result;
}

#define TEMPLATE                                                                                   \
    "{{'<|im_start|>system\\nBe kind.<|im_end|>'}} user assistant <|im_start|><|im_end|>"
#define SAID "{\"prompt\": \"Hi\", \"answer\": \"Yes\"}"

static void expect_spelled(const char *vocabulary, const char *line, const char *expected)
{
    struct tokenizer *t = chatml();
    struct chat c;
    struct buf out = BUF_INIT;
    cr_assert_eq(chat_open(&c, CHAT_AUTO, t, in_dir(vocabulary)), 0, "%s", err_get());
    cr_expect_str_eq(c.name, "chatml");
    c.use = CHAT_ASK;
    cr_expect_eq(spell(&c, line, &out), 0, "%s", err_get());
    cr_expect_str_eq(out.data, expected);
    buf_release(&out);
    chat_close(&c);
    tokenizer_free(t);
}

/* Writes a GGUF file with this template; NULL: with none. */
static void put_gguf(const char *name, const char *template)
{
    struct gguf_writer w;
    gguf_begin(&w);
    if (template)
        gguf_add_text(&w, "tokenizer.chat_template", template, strlen(template));
    cr_assert_eq(gguf_create(&w, in_dir(name)), 0, "%s", err_get());
    cr_assert_eq(gguf_finish(&w), 0, "%s", err_get());
}

Test(chat, a_template_gives_the_systems_message)
{
    static const char alone[] = "<|im_start|>user\nHi<|im_end|>\n"
                                "<|im_start|>assistant\n[Yes<|im_end|>]\n<|im_start|>assistant\n";
    struct buf with = BUF_INIT;
    buf_addf(&with, "<|im_start|>system\nBe kind.<|im_end|>\n%s", alone);
    expect_spelled("vocab.json", SAID, alone);
    put_text(
        "tokenizer_config.json",
        "{\"chat_template\": [{\"name\": \"other\"}, {\"name\": \"default\", \"template\": \"" TEMPLATE
        "\"}]}");
    expect_spelled("vocab.json", SAID, with.data);
    put_text("tokenizer_config.json", "{\"chat_template\": \"" TEMPLATE "\"}");
    expect_spelled("vocab.json", SAID, with.data);
    put_text("chat_template.jinja", "<|im_start|>system\n{{x}}<|im_end|><|im_start|>user");
    expect_spelled("vocab.json", SAID, alone);
    put_gguf("x.gguf", TEMPLATE); /* goes before a file beside it */
    expect_spelled("x.gguf", SAID, with.data);
    put_gguf("x.gguf", NULL);
    expect_spelled("x.gguf", SAID, alone);
    buf_release(&with);
}

/* A string of a template may hold quotation marks, escapes and braces. */
Test(chat, the_systems_message_is_what_the_templates_string_says)
{
    static const char *const cases[][2] = {
        { "'<|im_start|>system\\nAnswer in \\\\boxed{}.<|im_end|>'", "Answer in \\boxed{}." },
        { "'<|im_start|>system\\nYou\\'re \"kind\".<|im_end|>'", "You're \"kind\"." },
        { "\"<|im_start|>system\nYou're\\n{kind}.<|im_end|>\"", "You're\n{kind}." },
        { "'<|im_start|>system\\n' + x + '<|im_end|>', '<|im_start|>system\\nB.<|im_end|>'", "B." },
        { "x}}<|im_start|>system\nIt's \\n.<|im_end|>{{y", "It's \\n." },
        { "set system_message = 'It\\'s {}.' ", "It's {}." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf template = BUF_INIT, expected = BUF_INIT;
        buf_addf(&template, "{{%s}} user assistant <|im_start|><|im_end|>", cases[i][0]);
        buf_addf(&expected,
                 "<|im_start|>system\n%s<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                 "<|im_start|>assistant\n[Yes<|im_end|>]\n<|im_start|>assistant\n",
                 cases[i][1]);
        put_text("chat_template.jinja", template.data);
        expect_spelled("vocab.json", SAID, expected.data);
        buf_release(&template);
        buf_release(&expected);
    }
}

Test(chat, a_message_of_weight_0_is_no_label)
{
    static const char line[] =
        "{\"messages\": [{\"role\": \"assistant\", \"content\": \"a\", \"weight\": 0},"
        "{\"role\": \"assistant\", \"content\": \"b\", \"weight\": 1}]}";
    expect_spelled("vocab.json", line,
                   "<|im_start|>assistant\na<|im_end|>\n<|im_start|>assistant\n[b<|im_end|>]\n"
                   "<|im_start|>assistant\n");
}

Test(chat, what_is_empty_or_repeated_beside_the_messages_is_not_lost)
{
    static const char line[] =
        "{\"system\": \"S\", \"tools\": [], \"messages\": [{\"role\": \"system\", \"content\": \"S\"},"
        "{\"role\": \"assistant\", \"content\": \"a\", \"tool_calls\": null}]}";
    expect_spelled("vocab.json", line,
                   "<|im_start|>system\nS<|im_end|>\n<|im_start|>assistant\n[a<|im_end|>]\n"
                   "<|im_start|>assistant\n");
}

Test(chat, a_null_is_as_if_it_were_not_there)
{
    static const char line[] = "{\"messages\": null, \"prompt\": \"Hi\", \"answer\": null, "
                               "\"completion\": \"Yes\"}";
    expect_spelled("vocab.json", line,
                   "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n[Yes<|im_end|>]\n"
                   "<|im_start|>assistant\n");
}

static void refuse(int form, struct tokenizer *t, const char *error)
{
    struct chat c;
    cr_expect_eq(chat_open(&c, form, t, in_dir("vocab.json")), -1);
    expect_error(error);
    chat_close(&c);
}

Test(chat, refuses)
{
    struct tokenizer *t = chatml(), *none = make(NULL, 0);
    refuse(CHAT_AUTO, none, "the special tokens of no chat form");
    refuse(LLAMA3, t, "form 'llama3' needs the special token <|start_header_id|>");
    put_text("chat_template.jinja", "<|im_start|>");
    refuse(CHAT_AUTO, t, "lacks <|im_end|>, so it is not of form 'chatml'");
    put_text("chat_template.jinja", "<|im_start|>system\n<|im_end|>{{strftime_now}}");
    refuse(CHAT_AUTO, t, "uses 'strftime_now'");
    temp_remove(in_dir("chat_template.jinja"));
    put_text("tokenizer_config.json", "{");
    refuse(CHAT_AUTO, t, "tokenizer_config.json");
    tokenizer_free(t);
    tokenizer_free(none);
}

/* Phi-4's special tokens absorb the white space around them, as in any other text. */
Test(chat, special_tokens_absorb_white_space)
{
    static const char *const marks[] = { "<|im_start|>", "<|im_sep|>", "<|im_end|>" };
    struct tokenizer *t = make(marks, 3);
    struct vocabulary v;
    struct chat c;
    struct buf out = BUF_INIT;
    tokenizer_into_vocabulary(t, &v);
    for (size_t i = 0; i < v.added_count; i++)
        v.added[i].lstrip = v.added[i].rstrip = 1;
    t = tokenizer_from_vocabulary(&v);
    cr_assert_eq(chat_open(&c, CHAT_AUTO, t, NULL), 0, "%s", err_get());
    cr_expect_str_eq(c.name, "phi4");
    cr_expect_eq(spell(&c, "{\"prompt\": \" Hi\\n\", \"answer\": \"\\n\\u3000Yes Sir\\n\"}", &out),
                 0, "%s", err_get());
    cr_expect_str_eq(out.data, "<|im_start|>user<|im_sep|>Hi<|im_end|>"
                               "<|im_start|>assistant<|im_sep|>[Yes Sir<|im_end|>");
    chat_close(&c);
    tokenizer_free(t);
    buf_release(&out);
}

/* The tokens of WordPiece have less bytes than the text: labels begin where the message does. */
Test(chat, labels_of_a_vocabulary_that_drops_white_space)
{
    static const char *const marks[] = { "<|im_start|>", "<|im_end|>" };
    static const char *const cases[][2] = {
        { "{\"prompt\": \"blue\", \"answer\": \"  red  ball\"}",
          "<|im_start|>[UNK]blue<|im_end|><|im_start|>[UNK][redball<|im_end|>" },
        { "{\"prompt\": \"\", \"answer\": \"\\u00e9t\\u00e9 cup\"}",
          "<|im_start|>[UNK]<|im_end|><|im_start|>[UNK][[UNK]cup<|im_end|>" },
        { "{\"prompt\": \" \", \"answer\": \" \"}",
          "<|im_start|>[UNK]<|im_end|><|im_start|>[UNK][<|im_end|>" },
    };
    struct tokenizer *t = make_from(tokenizer_load("tests/data/finder"), marks, 2);
    struct chat c;
    cr_assert_eq(chat_open(&c, CHAT_AUTO, t, NULL), 0, "%s", err_get());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) out = BUF_INIT;
        cr_expect_eq(spell(&c, cases[i][0], &out), 0, "%s", err_get());
        cr_expect_str_eq(out.data, cases[i][1]);
    }
    chat_close(&c);
    tokenizer_free(t);
    t = tokenizer_load("tests/data/finder"); /* here characters and bytes are not the same */
    tokenizer_want_end_of_text(t, 0);
    SCOPED(buf) out = BUF_INIT;
    cr_assert_eq(chat_open(&c, TEXT, t, NULL), 0, "%s", err_get());
    cr_expect_eq(spell(&c,
                       "{\"prompt\": \"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9 red\", "
                       "\"answer\": \" cup\"}",
                       &out),
                 0, "%s", err_get());
    cr_expect_str_eq(out.data, "[UNK]red[cup[PAD]");
    chat_close(&c);
    tokenizer_free(t);
}

/* The system's message is put before the user's, and only there. */
Test(chat, nanochat)
{
    static const char *const marks[] = { "<|bos|>", "<|user_start|>", "<|user_end|>",
                                         "<|assistant_start|>", "<|assistant_end|>" };
    static const char *const cases[][2] = {
        { "system", "the last message is the system's" },
        { "assistant", "message 2: it follows one of the system" },
        { "tool", "message 2: role \"tool\" is none of" },
    };
    struct tokenizer *t = make(marks, 5);
    struct chat c;
    struct buf out = BUF_INIT, line = BUF_INIT;
    cr_assert_eq(chat_open(&c, CHAT_AUTO, t, NULL), 0, "%s", err_get());
    cr_expect_str_eq(c.name, "nanochat");
    for (int i = 0; i < 3; i++) {
        buf_clear(&line);
        buf_addf(&line,
                 "{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"%s\", "
                 "\"content\": \"x\"}]}",
                 cases[i][0]);
        cr_expect_eq(spell(&c, line.data, &out), -1);
        expect_error(cases[i][1]);
    }
    cr_expect_eq(
        spell(&c,
              "{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": "
              "\"user\", \"content\": \"u\"}, {\"role\": \"assistant\", \"content\": \"a\"}]}",
              &out),
        0, "%s", err_get());
    cr_expect_str_eq(out.data, "<|bos|><|user_start|>S\n\nu<|user_end|><|assistant_start|>[a"
                               "<|assistant_end|>");
    chat_close(&c);
    tokenizer_free(t);
    buf_release(&out);
    buf_release(&line);
}
