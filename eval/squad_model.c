#include "eval/squad_model.h"

int squad_model_init(struct squad_model *m, const char *dir)
{
    m->last = ops_buffer(m->net.ops, OPS_F32, 2 * m->net.rows);
    m->logits = mem_alloc(2 * (size_t)m->net.rows * sizeof *m->logits);
    int64_t types = m->net.model.config.types;
    /* a model with 0 types is accepted: it does not use types */
    return types != 1 ? 0
                      : err_set("%s/config.json: type_vocab_size is %lld, must be at least 2 to "
                                "tell question and context apart",
                                dir, (long long)types);
}

void squad_model_close(struct squad_model *m)
{
    ops_buffer_free(m->net.ops, m->last, 2 * m->net.rows);
    free(m->logits);
    network_close(&m->net);
    *m = (struct squad_model){ 0 };
}

static int encode(void *e, struct span text, struct squad_tokens *out)
{
    return encoder_encode_places(e, text.s, text.n, TOKENIZER_ORDINARY, &out->ids, &out->begins,
                                 &out->ends);
}

int squad_model_windows(struct squad_windows *w, const struct squad *s,
                        const struct squad_window_rules *rules, const struct tokenizer *t)
{
    struct encoder *e = encoder_new(t);
    struct squad_window_rules r = *rules;
    r.cls = tokenizer_role(t, TOKENIZER_CLS);
    r.sep = tokenizer_role(t, TOKENIZER_SEP);
    r.pad = tokenizer_role(t, TOKENIZER_PAD);
    int result = squad_windows_make(w, s, &r, 0, encode, e);
    encoder_free(e);
    return result;
}

static uint32_t row_of(const void *windows, size_t i, uint32_t *ids, uint32_t *segments)
{
    return squad_window_row(windows, i, ids, segments);
}

/* Sets starts[] and ends[] to the logits of windows [first, first + count): rules.length floats per
 * window, one window after another. The entries of padding are not written. Ids must be in the
 * model's vocabulary, and windows no longer than its positions. */
static void run_windows(struct squad_model *m, const struct squad_windows *w, size_t first,
                        size_t count, float *starts, float *ends)
{
    const size_t T = w->rules.length;
    for (size_t i = first, next; i < first + count; i = next) {
        struct ops_array x;
        next = network_run_rows(&m->net, &x, (int64_t)T, row_of, w, i, first + count);
        const float *logit = m->logits;
        const int64_t N = m->net.inputs.N;
        forward_logits(&m->net.forward, m->last, x, N);
        ops_download(m->net.ops, m->logits, m->last, 2 * N);
        for (size_t n = 0; n < next - i; n++)
            for (int64_t t = 0; t < m->net.lengths[n]; t++, logit += 2) {
                starts[(i - first + n) * T + (size_t)t] = logit[0];
                ends[(i - first + n) * T + (size_t)t] = logit[1];
            }
    }
}

enum { GROUP_BATCHES = 16 };

/* Forms a group of questions, beginning with question `q`, whose windows fill several batches.
 * Returns the index after the group's last question. */
static size_t group_of(const struct squad_model *m, const struct squad_windows *w, size_t q)
{
    int64_t tokens = 0;
    for (; q < w->squad->question_count && tokens < GROUP_BATCHES * m->net.rows; q++)
        for (size_t i = w->of_question[q]; i < w->of_question[q + 1]; i++)
            tokens += squad_window_offset(w, i) + w->items[i].count + 1;
    return q;
}

int squad_model_answer(struct squad_answers *a, struct squad_model *m,
                       const struct squad_windows *w, void (*progress)(uint64_t done))
{
    const size_t T = w->rules.length;
    SCOPED_MEM float *starts = NULL, *ends = NULL;
    size_t starts_cap = 0, ends_cap = 0;
    int result = 0;
    for (size_t q = 0, next; q < w->squad->question_count && !result; q = next) {
        next = group_of(m, w, q);
        size_t first = w->of_question[q], count = w->of_question[next] - first;
        mem_grow(starts, starts_cap, count * T);
        mem_grow(ends, ends_cap, count * T);
        run_windows(m, w, first, count, starts, ends);
        for (size_t i = q; i < next && !result; i++) {
            size_t at = (w->of_question[i] - first) * T;
            result = squad_answers_add(a, w, i, starts + at, ends + at);
        }
        progress(w->of_question[next]);
    }
    return result;
}

int squad_model_best(struct squad_best *best, struct squad_model *m,
                     const struct squad_answer_rules *rules, const struct squad_windows *w)
{
    size_t floats = w->count * w->rules.length;
    SCOPED_MEM float *starts = mem_alloc(floats * sizeof *starts),
                     *ends = mem_alloc(floats * sizeof *ends);
    run_windows(m, w, 0, w->count, starts, ends);
    return squad_answers_best(best, rules, w, 0, starts, ends);
}
