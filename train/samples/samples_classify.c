/* Samples for classes: texts with labels. */

#include "train/samples/samples.h"

struct classify_samples {
    struct samples samples; /* first, so that pointers to it and to this struct are equal */
    struct classify texts;
};

static int read_text(const struct samples *s, uint64_t i, struct sequences *out)
{
    const struct classify *c = &((const struct classify_samples *)s)->texts;
    int64_t row = sequences_add(out), at = row * out->T;
    out->lengths[row] = classify_row(c, i, out->ids + at, out->segments + at);
    out->classes[row] = c->texts[i].label;
    out->values[row] = c->texts[i].value;
    return 0;
}

static void close_texts(struct samples *s)
{
    classify_release(&((struct classify_samples *)s)->texts);
}

static void describe(const struct samples *s, const char *begins, double, struct buf *out)
{
    const struct classify *c = &((const struct classify_samples *)s)->texts;
    const char *const names[] = { "classes", "cut", "unlabelled", "broken" };
    const size_t counts[] = { (size_t)c->classes.count, c->cut, c->unlabelled, c->broken };
    for (int i = 0; i < 4; i++)
        if (counts[i])
            buf_addf(out, "%s%s=%zu\n", begins, names[i], counts[i]);
}

struct samples *samples_open_classify(const struct samples_config *c, const struct opt_list *paths,
                                      const char *what)
{
    if (samples_check_file(c, paths, what, "labelled") < 0)
        return NULL;
    struct classify_samples *q = mem_zalloc(1, sizeof *q);
    q->samples = (struct samples){ .most = 1,
                                   .kind = SEQUENCES_ENCODER,
                                   .read = read_text,
                                   .describe = describe,
                                   .close = close_texts,
                                   .T = c->T ? c->T : c->usual,
                                   .classes = &q->texts.classes,
                                   .facts.vocabulary = tokenizer_size(c->tokenizer) };
    if (classify_read(&q->texts, paths->items[0], &c->columns, c->classes, c->tokenizer,
                      (uint32_t)q->samples.T, 1) < 0) {
        free(q);
        return NULL;
    }
    q->samples.count = q->texts.count;
    q->samples.tokens = q->texts.ids.count;
    return &q->samples;
}
