/* Samples for SQuAD: windows of contexts with the positions of the answers. */

#include "squad/squad_windows.h"
#include "tokenizer/tokenizer.h"
#include "train/samples/samples.h"

struct squad_samples {
    struct samples samples; /* first, so that pointers to it and to this struct are equal */
    struct squad squad;
    struct squad_windows windows;
};

static int read_window(const struct samples *s, uint64_t i, struct sequences *out)
{
    const struct squad_windows *w = &((const struct squad_samples *)s)->windows;
    int64_t row = sequences_add(out), at = row * out->T;
    out->lengths[row] = squad_window_row(w, i, out->ids + at, out->segments + at);
    out->starts[row] = (int32_t)w->items[i].start;
    out->ends[row] = (int32_t)w->items[i].end;
    return 0;
}

static void close_squad(struct samples *s)
{
    struct squad_samples *q = (struct squad_samples *)s;
    squad_windows_release(&q->windows);
    squad_release(&q->squad);
}

static uint64_t count_tokens(const struct squad_windows *w)
{
    uint64_t tokens = 0;
    for (size_t i = 0; i < w->count; i++)
        tokens += squad_window_offset(w, i) + w->items[i].count + 1;
    return tokens;
}

/* Appends the size of the data and the number of its irregularities. */
static void describe(const struct samples *s, const char *begins, double, struct buf *out)
{
    const struct squad_samples *q = (const struct squad_samples *)s;
    const struct squad *d = &q->squad;
    const struct squad_windows *w = &q->windows;
    const struct {
        const char *name;
        size_t n;
        int always;
    } counts[] = {
        { "questions", d->question_count, 1 },
        { "windows", w->count, 1 },
        { "unanswerable", d->unanswerable, 0 },
        { "repeated_ids", d->repeated_ids, 0 },
        { "empty_paragraphs", d->empty_paragraphs, 0 },
        { "answers_by_utf16", d->fits[SQUAD_UTF16], 0 },
        { "answers_by_bytes", d->fits[SQUAD_BYTES], 0 },
        { "answers_moved", d->fits[SQUAD_MOVED], 0 },
        { "answers_nowhere", d->fits[SQUAD_NOWHERE], 0 },
        { "dropped_questions", w->dropped_questions, 0 },
        { "cut_questions", w->cut_questions, 0 },
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].always || counts[i].n)
            buf_addf(out, "%s%s=%zu\n", begins, counts[i].name, counts[i].n);
}

static int encode(void *e, struct span text, struct placed *out)
{
    return encoder_encode_places(e, text.s, text.n, TOKENIZER_ORDINARY, out);
}

static int open_file(struct squad_samples *q, const struct samples_config *c, const char *path)
{
    const struct tokenizer *t = c->tokenizer;
    uint32_t length = (uint32_t)(c->T ? c->T : c->usual);
    struct squad_window_rules rules = {
        .google = c->google,
        .length = length,
        .stride = c->stride < 0 ? squad_usual_stride(length) : (uint32_t)c->stride,
        .cls = tokenizer_role(t, TOKENIZER_CLS),
        .sep = tokenizer_role(t, TOKENIZER_SEP),
        .pad = tokenizer_role(t, TOKENIZER_PAD),
    };
    if (squad_read(&q->squad, path) < 0)
        return -1;
    struct encoder *e = encoder_new(t);
    int result = squad_windows_make(&q->windows, &q->squad, &rules, 1, encode, e);
    encoder_free(e);
    if (result < 0)
        return err_in("%s", path);
    return q->windows.count ? 0 : err_set("%s: no question to learn from", path);
}

struct samples *samples_open_squad(const struct samples_config *c, const struct opt_list *paths,
                                   const char *what)
{
    if (samples_check_file(c, paths, what, "SQuAD") < 0)
        return NULL;
    struct squad_samples *q = mem_zalloc(1, sizeof *q);
    q->samples = (struct samples){ .most = 1,
                                   .kind = SEQUENCES_ENCODER,
                                   .read = read_window,
                                   .describe = describe,
                                   .close = close_squad };
    if (open_file(q, c, paths->items[0]) < 0) {
        samples_close(&q->samples);
        return NULL;
    }
    q->samples.T = c->T ? c->T : c->usual;
    q->samples.count = q->windows.count;
    q->samples.tokens = count_tokens(&q->windows);
    q->samples.facts.vocabulary = tokenizer_size(c->tokenizer);
    return &q->samples;
}
