/* Samples for GPT: sequences of tokens, each labelled with the next token. */

#include "common/base/least.h"
#include "common/base/log.h"
#include "train/samples/samples.h"

struct gpt_samples {
    struct samples samples; /* first, so that pointers to it and to this struct are equal */
    struct dataset *data;
    int64_t end_of_text; /* divides sequences into documents; -1: they are not divided */
};

_Static_assert((int)DATASET_IGNORE == (int)MODEL_IGNORE, "one number marks a token without label");

/* Adds sample i to *out as a row. The next row overwrites its id T + 1, which is only a label. */
static int read_shards(const struct samples *s, uint64_t i, struct sequences *out)
{
    const struct gpt_samples *g = (const struct gpt_samples *)s;
    int64_t row = sequences_add(out);
    uint32_t *ids = out->ids + row * out->T;
    if (dataset_read(g->data, i, ids, out->labels + row * out->T) < 0 ||
        dataset_check(g->data, i, ids, (uint64_t)s->ids) < 0)
        return -1;
    if (g->end_of_text >= 0)
        sequences_divide(out, row, (uint32_t)g->end_of_text);
    return 0;
}

static void close_gpt(struct samples *s)
{
    dataset_close(((struct gpt_samples *)s)->data);
}

/* Opens the data set as sequences of *T tokens and one label more. If *T is 0, sets it to the
 * length that the data has, at most c->longest, or else to c->usual. Returns NULL with an error. */
static struct dataset *open_sequences(const struct samples_config *c, const struct opt_list *paths,
                                      int64_t *T)
{
    struct dataset *d = dataset_open(paths->items, paths->count, *T ? (uint32_t)*T + 1 : 2);
    if (!d || *T)
        return d;
    *T = (int64_t)dataset_sequence_length(d);
    *T = *T ? smaller(*T, c->longest) : c->usual;
    if (dataset_set_length(d, (uint32_t)*T + 1) == 0)
        return d;
    dataset_close(d);
    return NULL;
}

/* Returns 0, or -1 with an error if the data has no sequence, or its end-of-text is needed and not
 * known. Sets *end_of_text to its id, or to -1 if it is not needed. */
static int check_data(const struct samples_config *c, const struct dataset *d, const char *path,
                      int64_t T, const char *what, int64_t *end_of_text)
{
    *end_of_text = c->documents ? (int64_t)dataset_facts(d)->end_of_text : -1;
    if (!dataset_count(d))
        return err_set("%s in '%s' has no sequence of %u tokens", what, path, (uint32_t)T + 1);
    if (dataset_record_length(d) > (uint64_t)T + 1)
        log_warn("%s in '%s': records have %" PRIu64 " tokens, and only the first %" PRId64
                 " are used: write the shards with --sequence-length %" PRId64,
                 what, path, dataset_record_length(d) - 1, T, T);
    if (c->documents && *end_of_text < 0 && c->tokenizer)
        *end_of_text = tokenizer_end_of_text(c->tokenizer);
    return c->documents && *end_of_text < 0
               ? err_set("%s in '%s' does not say which id is end-of-text, which "
                         "--document-attention needs: give --vocab DIR",
                         what, path)
               : 0;
}

struct samples *samples_open_gpt(const struct samples_config *c, const struct opt_list *paths,
                                 const char *what)
{
    int64_t T = c->T, end_of_text;
    struct dataset *d = open_sequences(c, paths, &T);
    if (!d || check_data(c, d, paths->items[0], T, what, &end_of_text) < 0) {
        dataset_close(d);
        return NULL;
    }
    struct gpt_samples *g = mem_zalloc(1, sizeof *g);
    *g = (struct gpt_samples){ .data = d, .end_of_text = end_of_text };
    g->samples = (struct samples){ .count = dataset_count(d),
                                   .most = 1,
                                   .T = T,
                                   .tokens = dataset_tokens(d),
                                   .facts = *dataset_facts(d),
                                   .kind = c->documents ? SEQUENCES_DOCUMENTS : SEQUENCES_PLAIN,
                                   .read = read_shards,
                                   .close = close_gpt };
    return &g->samples;
}
