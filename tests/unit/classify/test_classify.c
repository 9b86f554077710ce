#include <criterion/criterion.h>

#include "classify/classify.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(classify, .init = make_dir, .fini = remove_dir);

/* tests/data/finder has the words [CLS] 2, [SEP] 3, red 5, blue 6, old 7, small 8, ball 9, cup 10
 */

static struct classify c;

/* Reads a text as a file; length: of a row. */
static int read(const char *text, struct classify_columns names, const struct labels *classes,
                uint32_t length, int training)
{
    struct tokenizer *t = tokenizer_load("tests/data/finder");
    cr_assert(t, "%s", err_get());
    put_text("file", text);
    const int result = classify_read(
        &c, in_dir("file"), &names, classes ? classes : &(struct labels){ 0 }, t, length, training);
    tokenizer_free(t);
    return result;
}

static void expect_row(size_t i, const char *want)
{
    uint32_t ids[16], segments[16];
    struct buf said = BUF_INIT;
    const uint32_t n = classify_row(&c, i, ids, segments);
    for (uint32_t j = 0; j < n; j++)
        buf_addf(&said, "%u/%u ", ids[j], segments[j]);
    cr_expect_str_eq(said.data, want);
    buf_release(&said);
}

Test(classify, a_table_has_names_in_its_first_line)
{
    static const char text[] = "\xEF\xBB\xBFx\tlabel\tsentence2\tsentence1\r\n"
                               "0\tyes\tblue\tred ball\r\n"
                               "0\t-\tblue\tred ball\n"
                               "0\tno\tcup\r\n"
                               "0\tno\tsmall\told cup\n";
    cr_assert_eq(read(text, (struct classify_columns){ 0 }, NULL, 16, 1), 0, "%s", err_get());
    cr_expect(c.count == 2 && c.unlabelled == 1 && c.broken == 1 && c.cut == 0);
    cr_expect_str_eq(labels_name(&c.classes, 0), "no");
    cr_expect(c.texts[0].label == 1 && c.texts[1].label == 0);
    expect_row(0, "2/0 5/0 9/0 3/0 6/1 3/1 ");
    expect_row(1, "2/0 7/0 10/0 3/0 8/1 3/1 ");
    const struct labels classes = c.classes;
    classify_release(&c);
    cr_expect_eq(read(text, (struct classify_columns){ 0 }, &classes, 16, 0), -1);
    expect_error("file:4: there is no column or text 'sentence1'");
    cr_expect_eq(
        read("sentence\tlabel\nred\tmaybe\n", (struct classify_columns){ 0 }, &classes, 16, 0), -1);
    expect_error("file:2: the label 'maybe' is none of the model's classes, such as 'no'");
}

Test(classify, columns_may_have_numbers_or_be_keys_of_json)
{
    const struct classify_columns numbers = { "3", NULL, "1" };
    cr_assert_eq(read("10\tx\tred\n9\tx\tblue\n-1\tx\told\n", numbers, NULL, 16, 0), 0, "%s",
                 err_get());
    cr_expect(c.count == 3 && c.unlabelled == 1 && c.texts[0].label == 1 && c.texts[1].label == 0 &&
              c.texts[2].label == CLASSIFY_UNLABELLED);
    expect_row(2, "2/0 7/0 3/0 ");
    classify_release(&c);
    static const char json[] = "{\"text\": \"red\", \"score\": 2.5}\n{\"text\": \"cup\", "
                               "\"score\": \"-1\"}\n";
    struct labels one = { 0 };
    labels_set_regression(&one);
    cr_assert_eq(read(json, (struct classify_columns){ 0 }, &one, 16, 1), 0, "%s", err_get());
    cr_expect(c.count == 2 && c.texts[0].value == 2.5F && c.texts[1].value == -1.0F);
    expect_row(1, "2/0 10/0 3/0 ");
    classify_release(&c);
    cr_expect_eq(read("{\"text\": \"red\", \"score\": \"much\"}\n", (struct classify_columns){ 0 },
                      &one, 16, 1),
                 -1);
    expect_error("file:1: the label 'much' is not a number");
    cr_expect_eq(read("{\"words\": \"red\"}\n", (struct classify_columns){ 0 }, NULL, 16, 1), -1);
    expect_error("file:1: nothing has a usual name");
    cr_expect_eq(read("text\nred\n", (struct classify_columns){ .label = "wish" }, NULL, 16, 1),
                 -1);
    expect_error("file:1: there is no column or key 'wish' between tabs");
    cr_expect_eq(read("label\tx\ttext\n1\t0\tred\n", numbers, NULL, 16, 1), -1);
    expect_error("file:1: 'label' is the name of a column: give names, not numbers");
}

Test(classify, a_class_of_the_model_may_be_minus_one)
{
    struct labels signs = { 0 };
    cr_assert_eq(labels_add(&signs, "-1", 2) | labels_add(&signs, "1", 1), 0);
    cr_assert_eq(read("text\tlabel\nred\t-1\nblue\t1\nold\t-\n", (struct classify_columns){ 0 },
                      &signs, 16, 0),
                 0, "%s", err_get());
    cr_expect(c.unlabelled == 1 && c.texts[0].label == 0 && c.texts[1].label == 1 &&
              c.texts[2].label == CLASSIFY_UNLABELLED);
    classify_release(&c);
}

Test(classify, a_text_in_another_encoding_is_refused)
{
    static const char latin[] = "sentence1\tsentence2\nred\tol\xE9\n";
    cr_expect_eq(read(latin, (struct classify_columns){ 0 }, NULL, 16, 0), -1);
    expect_error("file:2: not valid UTF-8 at byte 2 of a text");
}

Test(classify, the_first_text_of_json_may_have_no_label)
{
    static const char json[] = "{\"text\": \"red\", \"label\": null}\n{\"text\": \"cup\"}\n"
                               "{\"text\": \"no\", \"text\": \"old\", \"label\": NaN}\n"
                               "{\"text\": \"blue\", \"label\": \"yes\"}\n \t\r\n";
    static const struct classify_columns names[] = { { 0 }, { .label = "label" } };
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(read(json, names[i], NULL, 16, 1), 0, "%s", err_get());
        cr_expect(c.count == 1 && c.unlabelled == 3 && c.texts[0].label == 0);
        cr_expect_str_eq(labels_name(&c.classes, 0), "yes");
        classify_release(&c);
    }
}

Test(classify, a_label_is_one_string_or_number)
{
    static const char *const labels[] = { "[0, 1]", "[]", "{\"a\": 1}" };
    for (size_t i = 0; i < 3; i++) {
        struct buf text = buf_format("{\"text\": \"red\", \"label\": %s}\n", labels[i]);
        cr_expect_eq(read(text.data, (struct classify_columns){ 0 }, NULL, 16, 1), -1);
        expect_error("file:1: 'label' is no string or number");
        buf_release(&text);
    }
}

Test(classify, a_file_without_labels_says_why)
{
    static const struct {
        const char *text;
        struct classify_columns names;
        const char *error;
    } files[] = {
        { "text\tmood\nred\tyes\n", { 0 }, "no text with a label: give --label-column" },
        { "{\"text\": \"red\", \"mood\": 1}\n", { 0 }, "a label: give --label-column" },
        { "red\tyes\n", { "1", NULL, "3" }, "no text with a label: lines have too few columns" },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cr_expect_eq(read(files[i].text, files[i].names, NULL, 16, 1), -1);
        expect_error(files[i].error);
    }
}

Test(classify, blank_lines_before_the_first_say_nothing)
{
    static const char *const files[] = { "\n \t\n{\"text\": \"red\", \"label\": \"yes\"}\n",
                                         "\r\ntext\tlabel\n\nred\tyes\n" };
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(read(files[i], (struct classify_columns){ 0 }, NULL, 16, 1), 0, "%s",
                     err_get());
        cr_expect_eq(c.count, 1);
        classify_release(&c);
    }
    cr_expect_eq(read("\n\n", (struct classify_columns){ 0 }, NULL, 16, 1), -1);
    expect_error("no text with a label");
}

Test(classify, the_longer_text_loses_its_last_tokens_first)
{
    static const char text[] = "text_a\ttext_b\nred blue old small\tball\nred blue old\tball cup "
                               "ball cup\nred\tball cup\n";
    cr_assert_eq(read(text, (struct classify_columns){ 0 }, NULL, 6, 0), 0, "%s", err_get());
    cr_expect_eq(c.cut, 2);
    expect_row(0, "2/0 5/0 6/0 3/0 9/1 3/1 ");
    expect_row(1, "2/0 5/0 3/0 9/1 10/1 3/1 ");
    expect_row(2, "2/0 5/0 3/0 9/1 10/1 3/1 ");
    classify_release(&c);
    cr_expect_eq(read(text, (struct classify_columns){ 0 }, NULL, 2, 0), -1);
    expect_error("a sequence length of 2 has no room for a text");
}
