/* What each task opens: the sequences and the labels of small files. */
#include "train/samples/task.h"

#include <criterion/criterion.h>

#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tfrecord/formats/npy.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/layouts/bert_record.h"

TestSuite(task, .init = make_dir, .fini = remove_dir);

static struct samples *open_file(enum task_kind kind, const struct samples_config *c,
                                 const char *name)
{
    const char *path = in_dir(name);
    return task_of(kind)->open(c, &(struct opt_list){ &path, 1, 1 }, "the data");
}

static void refused(enum task_kind kind, const struct samples_config *c, const char *name,
                    const char *error)
{
    struct samples *s = open_file(kind, c, name);
    cr_expect_null(s, "opened, without '%s'", error);
    expect_error(error);
    samples_close(s);
}

/* Reads all samples, for a model whose vocabulary has so many ids. */
static int read_all(struct samples *s, int64_t ids, struct sequences *out)
{
    int result = 0;
    s->ids = ids;
    sequences_init(out, (int64_t)s->count * s->most, s->T, s->kind);
    for (uint64_t i = 0; i < s->count && !result; i++)
        result = s->read(s, i, out);
    return result;
}

/* ---- gpt ------------------------------------------------------------------------------------- */

enum { IDS = 12, END = 9 };

Test(task, gpt_has_the_next_token_as_label)
{
    static const unsigned char tokens[IDS] = { 1, 2, END, 3, 4, 5, END, 6, 7, 8, END, 0 };
    static const uint32_t ids[] = { 1, 2, END, 3, 4, 5, END, 6, 7, 8 };
    static const int32_t labels[] = { 2, END, 3, 4, 5, END, 6, 7, 8, END };
    static const int64_t lengths[] = { 2, 3, 1, 4 }; /* a document begins with its end-of-text */
    struct tokenizer *t = tokenizer_load("tests/data/finder");
    struct samples_config c[] = { { .T = 5 },
                                  { .usual = 5, .longest = 3 },
                                  { .T = 5, .documents = 1, .tokenizer = t } };
    struct output f;
    tokenizer_want_end_of_text(t, END);
    cr_assert_eq(npy_open(&f, in_dir("x"), "ids", NPY_U32, IDS, 1), 0, "%s", err_get());
    for (int i = 0; i < IDS; i++)
        cr_assert_eq(npy_put(&f, tokens[i], NPY_U32), 0);
    cr_assert_eq(output_end(&f, 0), 0);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct sequences out;
        struct samples *s = open_file(TASK_GPT, &c[i], "x_ids.npy");
        cr_assert(s, "%s", err_get());
        cr_expect(s->count == 2 && s->tokens == 10 && s->T == 5 && !s->mask_tokens);
        cr_assert_eq(read_all(s, 10, &out), 0, "%s", err_get());
        cr_expect_arr_eq(out.ids, ids, sizeof ids);
        cr_expect_arr_eq(out.labels, labels, sizeof labels);
        cr_expect_eq(out.documents, c[i].documents ? 4 : 0);
        if (c[i].documents)
            cr_expect_arr_eq(out.lengths, lengths, sizeof lengths);
        sequences_release(&out);
        cr_expect_eq(read_all(s, END, &out), -1);
        expect_error("x_ids.npy: sequence 0 at byte 128: has id 9, but the vocabulary only has 9");
        sequences_release(&out);
        samples_close(s);
    }
    c[2].tokenizer = NULL;
    refused(TASK_GPT, &c[2], "x_ids.npy", "does not say which id is end-of-text");
    c[0].T = IDS;
    refused(TASK_GPT, &c[0], "x_ids.npy", "has no sequence of 13 tokens");
    tokenizer_free(t);
}

/* ---- bert ------------------------------------------------------------------------------------ */

enum { S = 24, M = 4, VOCABULARY = 30 };

/* Makes the instances of two documents and writes them as records of a layout, two in each record
 * if it is the packed one. */
static void put_records(const char *name, enum bert_layout layout, uint32_t masked,
                        struct instances *all)
{
    static const uint32_t ids[] = { 4, 5, 6, 7, 8, 9, 10, 11 }, ends[] = { 2, 4, 6, 8 };
    const struct instances_recipe recipe = { .sequence_length = S / 2,
                                             .mask_tokens = masked - 1,
                                             .passes = 4,
                                             .mlm = 0.3,
                                             .seed = 7,
                                             .vocabulary = VOCABULARY,
                                             .cls = 1,
                                             .sep = 2,
                                             .mask = 3 };
    const uint32_t each = layout == BERT_PACKED ? 2 : 1;
    struct sentences s = { 0 };
    struct bert_record record;
    SCOPED(buf) message = BUF_INIT, file = BUF_INIT;
    sentences_add(&s, ids, 8, ends, 4);
    sentences_add(&s, ids, 8, ends, 4);
    instances_make(all, &recipe, &s);
    bert_record_init(&record, layout, S, masked, 0);
    for (uint32_t i = 0; i + each <= all->count; i += each) {
        const struct packing_row row = { each, { i, i + 1 } };
        bert_record_encode(&record, all, &row, &message);
        record_frame(&file, message.data, message.len);
    }
    cr_assert_eq(file_write(in_dir(name), file.data, file.len), 0);
    bert_record_release(&record);
    sentences_release(&s);
}

static void check_sequence(const struct sequences *out, int64_t row, const struct instances *all)
{
    const struct instance *x = &all->list[row];
    uint32_t m = 0;
    cr_expect_eq(out->lengths[row], x->length);
    cr_expect_eq(out->classes[row], (int32_t)x->random);
    for (uint32_t i = 0; i < S; i++) {
        const int masked = m < x->masked && instance_positions(all, x)[m] == i;
        cr_expect_eq(out->labels[row * S + i],
                     masked ? (int32_t)instance_labels(all, x)[m++] : MODEL_IGNORE);
        if (i < x->length)
            cr_expect_eq(out->ids[row * S + i], instance_tokens(all, x)[i]);
        cr_expect_eq(out->segments[row * S + i], i >= x->second && i < x->length);
    }
}

Test(task, bert_has_the_sequences_of_all_records)
{
    static const enum bert_layout layouts[] = { BERT_PLAIN, BERT_PACKED };
    for (int i = 0; i < 2; i++) {
        struct instances all = { 0 };
        struct sequences out;
        put_records("x", layouts[i], M, &all);
        struct samples *s = open_file(TASK_BERT, &(struct samples_config){ 0 }, "x");
        cr_assert(s, "%s", err_get());
        const int64_t each = i ? 2 : 1, count = (int64_t)s->count * each;
        cr_assert(count > 4 && count <= (int64_t)all.count && (int64_t)all.count < count + each);
        cr_expect(s->T == S && s->mask_tokens == M && s->tokens == s->count * S &&
                  s->most == (i ? PACKING_MAX : 1));
        cr_assert_eq(read_all(s, VOCABULARY, &out), 0, "%s", err_get());
        cr_assert_eq(out.count, count);
        for (int64_t row = 0; row < count; row++)
            check_sequence(&out, row, &all);
        sequences_release(&out);
        cr_expect_eq(read_all(s, 5, &out), -1);
        expect_error("x: record 0 at byte 0: has id ");
        sequences_release(&out);
        samples_close(s);
        instances_release(&all);
    }
}

/* A file of another kind is found before training begins, and named. */
Test(task, bert_refuses_records_of_other_kinds)
{
    static const struct {
        enum bert_layout layout;
        uint32_t masked;
        const char *error;
    } second[] = {
        { BERT_TF1, M,
          "b.tfrecord: record 0 at byte 0: has the layout bert-tf1, but the records "
          "before it have bert" },
        { BERT_PLAIN, M + 1,
          "b.tfrecord: record 0 at byte 0: has sequences of 24 tokens with 5 "
          "masked, but sequence-length is 24 and mask-tokens 4" },
    };
    struct instances all = { 0 };
    cr_assert_eq(file_mkdirs(in_dir("f")), 0);
    put_text("f/a.tfrecord", "");
    refused(TASK_BERT, &(struct samples_config){ 0 }, "f", "f' has no record");
    put_records("f/a.tfrecord", BERT_PLAIN, M, &all);
    refused(TASK_BERT, &(struct samples_config){ .T = S + 1 }, "f", "sequence-length is 25");
    for (int i = 0; i < 2; i++) {
        put_records("f/b.tfrecord", second[i].layout, second[i].masked, &all);
        refused(TASK_BERT, &(struct samples_config){ 0 }, "f", second[i].error);
    }
    instances_release(&all);
}

/* ---- classify -------------------------------------------------------------------------------- */

Test(task, classify_has_texts_with_classes)
{
    /* tests/data/finder: [PAD] 0, [CLS] 2, [SEP] 3, red 5, blue 6, ball 9, cup 10 */
    static const uint32_t ids[] = { 2, 5, 9, 5, 3, 2, 6, 3, 0, 0 };
    struct tokenizer *t = tokenizer_load("tests/data/finder");
    struct samples_config c = { .T = 5, .tokenizer = t, .classes = &(struct labels){ 0 } };
    struct sequences out;
    SCOPED(buf) said = BUF_INIT;
    put_text("x", "sentence\tlabel\nred ball red ball\tb\nred\t-\ncup\t-\nblue\ta\ncup\n");
    struct samples *s = open_file(TASK_CLASSIFY, &c, "x");
    cr_assert(s, "%s", err_get());
    cr_expect(s->count == 2 && s->tokens == 8 && s->classes->count == 2);
    cr_assert_eq(read_all(s, 11, &out), 0, "%s", err_get());
    cr_expect_arr_eq(out.ids, ids, sizeof ids);
    cr_expect(out.lengths[0] == 5 && out.lengths[1] == 3);
    cr_expect(out.classes[0] == 1 && out.classes[1] == 0);
    s->describe(s, "x_", 0, &said);
    cr_expect_str_eq(said.data, "x_classes=2\nx_cut=1\nx_unlabelled=2\nx_broken=1\n");
    sequences_release(&out);
    samples_close(s);
    c.tokenizer = NULL;
    refused(TASK_CLASSIFY, &c, "x", "no tokenizer for the data: give --vocab");
    tokenizer_free(t);
}
