#include "squad/squad_windows.h"

enum { MARKS = 3 }; /* special tokens of a row: [CLS] [SEP] [SEP] */

/* ---- windows of a question ------------------------------------------------------------------ */

/* Returns the smallest number of context tokens per window for which each window begins later than
 * the window before it. */
static uint32_t least_room(const struct squad_window_rules *r)
{
    return r->google ? 1 : r->stride + 1;
}

static int check_rules(const struct squad_window_rules *r)
{
    if (r->cls < 0 || r->sep < 0 || r->pad < 0)
        return err_set("the vocabulary has no [%s]", r->cls < 0   ? "CLS"
                                                     : r->sep < 0 ? "SEP"
                                                                  : "PAD");
    if (r->google && !r->stride)
        return err_set("the stride leaves no tokens between the starts of two windows");
    return 0;
}

/* Checks that the row of question q, after it was cut, has room for context. */
static int check_room(const struct squad_windows *w, size_t q)
{
    const struct squad_window_rules *r = &w->rules;
    uint64_t wanted = (uint64_t)w->questions[q].ids.count + MARKS + least_room(r);
    if (wanted <= r->length)
        return 0;
    return err_set("sequence length %u is too short for question '%s': its %zu tokens and a stride "
                   "of %u need at least %llu",
                   r->length, w->squad->questions[q].id, w->questions[q].ids.count, r->stride,
                   (unsigned long long)wanted);
}

static void cut_question(struct squad_windows *w, struct placed *question)
{
    const struct squad_window_rules *r = &w->rules;
    uint64_t wanted = (uint64_t)question->ids.count + MARKS + least_room(r);
    if (question->ids.count <= r->question_tokens || (!r->google && wanted <= r->length))
        return;
    question->ids.count = r->question_tokens;
    w->cut_questions++;
}

/* Sets the answer's position in the window, whose context tokens begin at `offset` in the row. */
static void place_answer(struct squad_window *window, const struct placed *context,
                         const struct squad_answer *a, uint32_t offset)
{
    uint32_t start = window->first, stop = window->first + window->count, end = stop;
    if (!window->count || a->fit == SQUAD_NOWHERE || context->begins.data[start] > a->begin ||
        context->ends.data[stop - 1] < a->end)
        return;
    while (start + 1 < stop && context->begins.data[start + 1] <= a->begin)
        start++;
    while (end > window->first + 1 && context->ends.data[end - 2] >= a->end)
        end--;
    window->start = start - window->first + offset;
    window->end = end - 1 - window->first + offset;
}

static void add_windows(struct squad_windows *w, size_t q)
{
    const struct squad_window_rules *r = &w->rules;
    const struct squad_question *question = &w->squad->questions[q];
    const struct placed *context = &w->contexts[question->paragraph];
    uint32_t offset = (uint32_t)w->questions[q].ids.count + MARKS - 1,
             room = r->length - offset - 1;
    uint32_t step = r->google ? (r->stride < room ? r->stride : room) : room - r->stride;
    uint32_t total = (uint32_t)context->ids.count;
    for (uint32_t first = 0;; first += step) {
        uint32_t count = total - first < room ? total - first : room;
        struct squad_window *window = &mem_next(w->items, w->count, w->cap);
        *window = (struct squad_window){ .question = q, .first = first, .count = count };
        if (question->answerable)
            place_answer(window, context, &w->squad->answers[question->answer], offset);
        if (first + count == total)
            break;
    }
}

static int make(struct squad_windows *w, int training, squad_encode *encode, void *encoder)
{
    const struct squad *s = w->squad;
    for (size_t p = 0; p < s->paragraph_count; p++)
        if (encode(encoder, s->paragraphs[p], &w->contexts[p]) < 0)
            return -1;
    for (size_t q = 0; q < s->question_count; q++) {
        const struct squad_question *question = &s->questions[q];
        w->of_question[q] = w->count;
        if (training && question->answerable && s->answers[question->answer].fit == SQUAD_NOWHERE) {
            w->dropped_questions++;
            continue;
        }
        if (encode(encoder, question->text, &w->questions[q]) < 0)
            return err_in("question '%s'", question->id);
        cut_question(w, &w->questions[q]);
        if (check_room(w, q) < 0)
            return -1;
        add_windows(w, q);
    }
    w->of_question[s->question_count] = w->count;
    return 0;
}

uint32_t squad_usual_stride(uint32_t length)
{
    return length / 3 < 128 ? length / 3 : 128;
}

int squad_windows_make(struct squad_windows *w, const struct squad *s,
                       const struct squad_window_rules *rules, int training, squad_encode *encode,
                       void *encoder)
{
    *w = (struct squad_windows){ .rules = *rules, .squad = s };
    if (!rules->question_tokens)
        w->rules.question_tokens = rules->length / 2 < 64 ? rules->length / 2 : 64;
    if (check_rules(rules) < 0)
        return -1;
    w->contexts = mem_zalloc(s->paragraph_count, sizeof *w->contexts);
    w->questions = mem_zalloc(s->question_count, sizeof *w->questions);
    w->of_question = mem_zalloc(s->question_count + 1, sizeof *w->of_question);
    if (make(w, training, encode, encoder) == 0)
        return 0;
    squad_windows_release(w);
    return -1;
}

void squad_windows_release(struct squad_windows *w)
{
    for (size_t p = 0; w->contexts && p < w->squad->paragraph_count; p++)
        placed_release(&w->contexts[p]);
    for (size_t q = 0; w->questions && q < w->squad->question_count; q++)
        placed_release(&w->questions[q]);
    free(w->contexts);
    free(w->questions);
    free(w->items);
    free(w->of_question);
    *w = (struct squad_windows){ 0 };
}

/* ---- a window ------------------------------------------------------------------------------- */

uint32_t squad_window_offset(const struct squad_windows *w, size_t window)
{
    return (uint32_t)w->questions[w->items[window].question].ids.count + MARKS - 1;
}

uint32_t squad_window_row(const struct squad_windows *w, size_t window, uint32_t *ids,
                          uint32_t *segments)
{
    const struct squad_window *item = &w->items[window];
    const struct placed *question = &w->questions[item->question];
    const struct placed *context = &w->contexts[w->squad->questions[item->question].paragraph];
    uint32_t offset = squad_window_offset(w, window), used = offset + item->count + 1;
    ids[0] = (uint32_t)w->rules.cls;
    if (question->ids.count)
        memcpy(ids + 1, question->ids.data, question->ids.count * sizeof *ids);
    ids[offset - 1] = (uint32_t)w->rules.sep;
    if (item->count)
        memcpy(ids + offset, context->ids.data + item->first, item->count * sizeof *ids);
    ids[used - 1] = (uint32_t)w->rules.sep;
    for (uint32_t i = used; i < w->rules.length; i++)
        ids[i] = (uint32_t)w->rules.pad;
    for (uint32_t i = 0; i < w->rules.length; i++)
        segments[i] = i >= offset && i < used;
    return used;
}

int squad_window_counts(const struct squad_windows *w, size_t window, uint32_t token)
{
    size_t q = w->items[window].question, best = window;
    double best_score = -1;
    for (size_t i = w->of_question[q]; i < w->of_question[q + 1]; i++) {
        const struct squad_window *item = &w->items[i];
        if (token < item->first || token >= item->first + item->count)
            continue;
        uint32_t left = token - item->first, right = item->count - 1 - left;
        double score = (left < right ? left : right) + .01 * item->count;
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best == window;
}
