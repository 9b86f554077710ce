/* Parses a SQuAD file. The places of answers must be right, however they were given; normalising
 * twice must equal normalising once; the windows must hold every token of their context, and by
 * Google's rule each token must count in exactly one window. */
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "eval/squad_metric.h"
#include "squad/squad_windows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct span context, const struct squad_answer *a)
{
    size_t begin = utf8_offset(context.s, context.n, a->begin);
    if (a->fit != SQUAD_NOWHERE &&
        (begin + a->text.n > context.n ||
         utf8_offset(context.s, context.n, a->end) != begin + a->text.n ||
         memcmp(context.s + begin, a->text.s, a->text.n) != 0))
        abort();
}

static void check_normal(struct span text)
{
    struct buf once = BUF_INIT;
    squad_normalise(&once, text.s, text.n);
    if (once.len && squad_f1(once.data, once.len, once.data, once.len) != 1)
        abort();
    if (memchr(once.data, '.', once.len))
        abort();
    buf_release(&once);
}

/* Encodes each code point as one token. */
static int encode(void *none, struct span text, struct placed *out)
{
    (void)none;
    uint32_t point = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (((unsigned char)text.s[i] & 0xC0) == 0x80)
            continue;
        ids_add(&out->ids, (unsigned char)text.s[i]);
        ids_add(&out->begins, point);
        ids_add(&out->ends, ++point);
    }
    return 0;
}

static void check_answer_place(const struct squad_windows *w, const struct squad_window *item,
                               uint32_t offset)
{
    const struct squad_question *q = &w->squad->questions[item->question];
    if (!item->start && !item->end)
        return;
    const struct squad_answer *a = &w->squad->answers[q->answer];
    if (item->start < offset || item->start > item->end || item->end >= offset + item->count ||
        item->first + item->start - offset != a->begin ||
        item->first + item->end - offset + 1 != a->end)
        abort();
}

static void check_question(const struct squad_windows *w, size_t q)
{
    uint32_t ids[16], segments[16],
        total = (uint32_t)w->contexts[w->squad->questions[q].paragraph].ids.count;
    for (uint32_t t = 0; t < total && w->of_question[q] < w->of_question[q + 1]; t++) {
        int held = 0, counts = 0;
        for (size_t i = w->of_question[q]; i < w->of_question[q + 1]; i++)
            if (t >= w->items[i].first && t < w->items[i].first + w->items[i].count) {
                held++;
                counts += squad_window_counts(w, i, t);
            }
        if (!held || counts != 1)
            abort();
    }
    for (size_t i = w->of_question[q]; i < w->of_question[q + 1]; i++) {
        uint32_t used = squad_window_row(w, i, ids, segments), offset = squad_window_offset(w, i);
        if (used > 16 || used != offset + w->items[i].count + 1 || segments[offset - 1] ||
            !segments[used - 1])
            abort();
        check_answer_place(w, &w->items[i], offset);
    }
}

static void check_windows(const struct squad *s, int google, int training)
{
    const struct squad_window_rules rules = {
        .google = google, .length = 16, .stride = 5, .question_tokens = 6
    };
    struct squad_windows w;
    if (squad_windows_make(&w, s, &rules, training, encode, NULL) < 0)
        abort();
    for (size_t q = 0; q < s->question_count; q++)
        check_question(&w, q);
    squad_windows_release(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct squad s;
    if (squad_parse(&s, (const char *)data, size, "fuzz") < 0)
        return 0;
    for (size_t i = 0; i < s.question_count; i++) {
        const struct squad_question *q = &s.questions[i];
        if (q->same_id > i || strcmp(s.questions[q->same_id].id, q->id) != 0)
            abort();
        check_normal(q->text);
        for (size_t a = 0; a < q->answers; a++)
            check_answer(s.paragraphs[q->paragraph], &s.answers[q->answer + a]);
    }
    check_windows(&s, 0, 1);
    check_windows(&s, 1, 0);
    squad_release(&s);
    return 0;
}
