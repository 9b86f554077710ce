/* A SQuAD file: places of answers are right, however they were given; normalising is done once. */
#include <stdlib.h>
#include <string.h>

#include "eval/squad_metric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct squad_text context, const struct squad_answer *a)
{
    size_t begin = squad_bytes(context.s, context.n, a->begin);
    if (a->fit != SQUAD_NOWHERE && (begin + a->text.n > context.n ||
                                    squad_bytes(context.s, context.n, a->end) != begin + a->text.n ||
                                    memcmp(context.s + begin, a->text.s, a->text.n) != 0))
        abort();
}

static void check_normal(struct squad_text text)
{
    struct buf once = BUF_INIT;
    squad_normalise(&once, text.s, text.n);
    if (once.len && squad_f1(once.data, once.len, once.data, once.len) != 1)
        abort();
    if (memchr(once.data, '.', once.len))
        abort();
    buf_release(&once);
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
            check_answer(s.paragraphs[q->paragraph].context, &s.answers[q->answer + a]);
    }
    squad_release(&s);
    return 0;
}
