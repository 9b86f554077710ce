/*
 * `evaluate core`: the CORE metric of DataComp-LM (Li et al. 2024, arXiv 2406.11794), by
 * the rules of nanochat's core_eval.py, so that the scores can be compared.
 *
 * A folder has core.yaml, which lists the tasks, eval_meta_data.csv with a score by chance for each
 * task, and the tasks' questions in eval_data/, as JSON lines. This is the folder eval_bundle that
 * nanochat downloads. A task in core.yaml has these keys:
 *
 *     label                   its name
 *     dataset_uri             its file, in eval_data/ or else in the folder itself
 *     num_fewshot             k, the number of examples before each question
 *     icl_task_type           multiple_choice | schema | language_modeling
 *     continuation_delimiter  the text before an answer; a space if it is missing
 *     random_baseline         the score by chance in per cent, if there is no eval_meta_data.csv
 *
 * A question has these keys. The model reads the token that begins a text (subject.h), the k
 * examples with their right answers, and the question:
 *
 *     multiple_choice     query, choices [..], gold
 *                         right: choice `gold` has the least mean loss, over the tokens after
 *                         the common beginning of all choices' prompts
 *     schema              context_options [..], continuation, gold
 *                         right: context `gold` has the least mean loss, over the tokens of the
 *                         common end of all contexts' prompts
 *     language_modeling   context, continuation
 *                         right: each token of the continuation is the model's most probable one
 *
 * Examples of question i, counted from 0, are Random(1234 + i).sample(others, k) in Python. Text
 * that is longer than the model's positions is cut at its beginning.
 *
 *     centered = (accuracy - baseline) / (1 - baseline)       CORE = mean of it over all tasks
 */
#include "eval/evaluate_commands.h"

#include <math.h>

#include "common/base/log.h"
#include "common/base/pyrandom.h"
#include "eval/core_tasks.h"
#include "eval/items.h"
#include "eval/report.h"
#include "eval/subject.h"
#include "unicode/whitespace.h"

struct core {
    struct subject subject; /* options */
    int64_t limit, shuffle;

    struct core_tasks tasks;

    /* the task that is scored */
    const struct core_task *task;
    struct core_questions questions;
    uint32_t *picks; /* [task->examples] */
    uint64_t done, right;
};

static const struct core defaults = { .subject = SUBJECT_DEFAULTS, .shuffle = -1 };

/* ---- prompts -------------------------------------------------------------------------------- */

/* Appends prompt `option` of a question; the text after the delimiter only if `answer` is 1. */
static void add_prompt(const struct core *c, const struct js *item, size_t option, int answer,
                       struct buf *out)
{
    core_before(c->task->kind, item, option, out);
    buf_adds(out, c->task->delimiter);
    if (answer)
        core_answer(c->task->kind, item, option, out);
}

/* Appends the examples before question `index`. */
static void add_examples(const struct core *c, uint32_t index, struct buf *out)
{
    struct pyrandom r;
    size_t k = (size_t)c->task->examples;
    pyrandom_seed(&r, 1234 + (uint64_t)index);
    pyrandom_sample(&r, c->picks, k, (uint32_t)c->questions.count - 1);
    for (size_t i = 0; i < k; i++) {
        const struct js *item = c->questions.items[c->picks[i] + (c->picks[i] >= index)];
        add_prompt(c, item, core_gold(c->task->kind, item), 1, out);
        buf_adds(out, "\n\n");
    }
}

/* ---- windows -------------------------------------------------------------------------------- */

/* The token sequences of one question: sequence i is ids[begins[i]..begins[i + 1]). */
struct sequences {
    size_t *begins;
    size_t count, cap;
};

static int add_sequence(struct items *g, struct sequences *s, const char *text, size_t n)
{
    const struct core *c = g->ctx;
    ids_add(&g->ids, (uint32_t)c->subject.start);
    int result = encoder_encode(c->subject.encoder, text, n, TOKENIZER_ORDINARY, &g->ids);
    mem_grow(s->begins, s->cap, s->count + 2);
    s->begins[++s->count] = g->ids.count;
    return result;
}

static size_t length_of(const struct sequences *s, size_t i)
{
    return s->begins[i + 1] - s->begins[i];
}

/* Returns the number of tokens that all sequences have in common at their beginnings or, with
 * `ends` 1, at their ends. */
static size_t common_tokens(const struct items *g, const struct sequences *s, int ends)
{
    size_t least = SIZE_MAX, n = 0;
    for (size_t i = 0; i < s->count; i++)
        least = length_of(s, i) < least ? length_of(s, i) : least;
    for (; n < least; n++)
        for (size_t i = 1; i < s->count; i++) {
            const uint32_t *first = g->ids.data + (ends ? s->begins[1] - 1 - n : s->begins[0] + n);
            const uint32_t *other = g->ids.data +
                                    (ends ? s->begins[i + 1] - 1 - n : s->begins[i] + n);
            if (*first != *other)
                return n;
        }
    return n;
}

/* Adds sequence i as a window whose last `scored` tokens are scored. A window of n tokens needs n
 * positions here, as in core_eval.py. */
static int add_window(struct items *g, const struct sequences *s, size_t i, size_t scored)
{
    size_t positions = (size_t)g->scorer->net.model.config.positions, n = length_of(s, i);
    if (n > positions)
        n = positions;
    if (scored >= n)
        return err_set("an answer of %zu tokens does not fit the model's %zu positions", scored,
                       positions);
    return items_add(g, s->begins[i + 1] - n, s->begins[i + 1], (int64_t)scored, (int64_t)i);
}

/* Makes the sequences of a question with choices or contexts. */
static int add_options(struct items *g, struct sequences *s, const struct js *item,
                       struct buf *text)
{
    const struct core *c = g->ctx;
    size_t examples = text->len;
    int result = 0;
    for (size_t i = 0; i < core_options(c->task->kind, item) && !result; i++) {
        buf_truncate(text, examples);
        add_prompt(c, item, i, 1, text);
        result = add_sequence(g, s, text->data, text->len);
    }
    return result;
}

/* Makes two sequences: the prompt without its continuation, stripped, and the whole prompt. */
static int add_continuation(struct items *g, struct sequences *s, const struct js *item,
                            struct buf *text)
{
    const struct core *c = g->ctx;
    add_prompt(c, item, 0, 0, text);
    struct span without = whitespace_strip(text->data, text->len);
    if (add_sequence(g, s, without.s, without.n) < 0)
        return -1;
    core_answer(c->task->kind, item, 0, text);
    return add_sequence(g, s, text->data, text->len);
}

static int judge_question(struct core *c, uint64_t index, size_t chosen, int right)
{
    c->done++;
    c->right += (uint64_t)right;
    if (!c->subject.json)
        return 0;
    struct report r = REPORT_INIT(1);
    report_text(&r, "task", c->task->label);
    report_count(&r, "question", index);
    if (c->task->kind != CORE_LANGUAGE)
        report_count(&r, "chosen", chosen);
    report_count(&r, "right", (uint64_t)right);
    return report_print(&r);
}

/* Adds the windows of the sequences. The tokens after their common beginning are scored, or of a
 * schema those of their common end. A sequence without such tokens has no window. If all sequences
 * are equal, there is no window, and the question is judged at once. */
static int add_windows(struct items *g, const struct sequences *s)
{
    struct core *c = g->ctx;
    enum core_kind kind = c->task->kind;
    size_t shared = common_tokens(g, s, kind == CORE_SCHEMA), added = 0;
    for (size_t i = kind == CORE_LANGUAGE; i < s->count; i++) {
        size_t scored = kind == CORE_SCHEMA ? shared : length_of(s, i) - shared;
        if (scored == length_of(s, i))
            scored = 0;
        if (scored && add_window(g, s, i, scored) < 0)
            return -1;
        added += scored > 0;
    }
    if (added)
        return 0;
    if (kind == CORE_LANGUAGE)
        return err_set("the continuation has no token");
    return judge_question(c, g->item, 0, core_gold(kind, c->questions.items[g->item]) == 0);
}

static int add_question(struct items *g, struct sequences *s, uint32_t index)
{
    struct core *c = g->ctx;
    const struct js *item = c->questions.items[index];
    SCOPED(buf) text = BUF_INIT;
    g->item = index;
    mem_grow(s->begins, s->cap, 1);
    s->begins[0] = g->ids.count;
    s->count = 0;
    add_examples(c, index, &text);
    int result = c->task->kind == CORE_LANGUAGE ? add_continuation(g, s, item, &text)
                                                : add_options(g, s, item, &text);
    return result < 0 || add_windows(g, s) < 0 ? -1 : 0;
}

/* ---- verdicts ------------------------------------------------------------------------------- */

/* Judges a question by the windows of its options: the least mean loss wins, of equal ones the
 * first. As in Python's min(), the first option wins if it has no loss. */
static int judge(void *ctx, const struct window *w, size_t n)
{
    struct core *c = ctx;
    if (c->task->kind == CORE_LANGUAGE)
        return judge_question(c, w->item, 0, w->right == w->scored);
    size_t best = 0;
    for (size_t i = 1; i < n && !w[0].mark; i++)
        if (w[i].loss / (double)w[i].scored < w[best].loss / (double)w[best].scored)
            best = i;
    size_t chosen = w[0].mark ? 0 : (size_t)w[best].mark;
    return judge_question(c, w->item, chosen,
                          chosen == core_gold(c->task->kind, c->questions.items[w->item]));
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* Brings the questions into the order of Python's Random(seed).shuffle, if a seed was given. Keeps
 * only the first ones if a limit was given. */
static int arrange(struct core *c)
{
    struct core_questions *q = &c->questions;
    if (c->shuffle >= 0) {
        struct pyrandom r;
        pyrandom_seed(&r, (uint64_t)c->shuffle);
        pyrandom_shuffle(&r, q->items, q->count, sizeof *q->items, pyrandom_below);
    }
    while (c->limit && q->count > (size_t)c->limit)
        js_free(q->items[--q->count]);
    return (int64_t)q->count > c->task->examples
               ? 0
               : err_usage("--limit %lld leaves too few questions for the %lld examples of task %s",
                           (long long)c->limit, (long long)c->task->examples, c->task->label);
}

static int score_questions(struct core *c)
{
    SCOPED(items) g = ITEMS_INIT(&c->subject.scorer, judge, c);
    struct sequences s = { 0 };
    int result = 0;
    c->done = c->right = 0;
    c->picks = mem_alloc((size_t)(c->task->examples + 1) * sizeof *c->picks);
    progress_begin("question(s)", c->questions.count);
    for (uint32_t i = 0; i < c->questions.count && !result; i++) {
        if (add_question(&g, &s, i) < 0)
            result = err_in("%s: question %u", c->task->path, i);
        else
            result = items_end(&g);
        progress_to(c->done);
    }
    if (!result)
        result = items_flush(&g);
    progress_end();
    free(c->picks);
    free(s.begins);
    return result;
}

/* Prints the figures of a task, and adds its centred accuracy to *sum. */
static int report_task(struct core *c, double *sum)
{
    const struct core_task *t = c->task;
    double right = (double)c->right, accuracy = right / (double)c->done;
    double centered = (accuracy - t->baseline) / (1 - t->baseline);
    struct report r = REPORT_INIT(c->subject.json);
    report_text(&r, "task", t->label);
    report_count(&r, "examples", (uint64_t)t->examples);
    report_count(&r, "questions", c->done);
    report_count(&r, "right", c->right);
    report_mean(&r, "accuracy", right, right, c->done);
    report_real(&r, "baseline", t->baseline);
    report_real(&r, "centered", centered);
    *sum += centered;
    tool_count("question(s)", c->done);
    return report_print(&r);
}

static int score_task(struct core *c, double *sum)
{
    if (core_questions_read(&c->questions, c->task) < 0)
        return -1;
    int result = arrange(c) < 0 || score_questions(c) < 0 ? -1 : report_task(c, sum);
    core_questions_release(&c->questions);
    return result;
}

static int run(int, char **argv, void *options)
{
    struct core *c = options;
    double sum = 0;
    int result = core_tasks_read(&c->tasks, argv[0]) < 0 ? -1 : subject_load(&c->subject);
    for (size_t i = 0; i < c->tasks.count && !result; i++) {
        c->task = &c->tasks.tasks[i];
        result = score_task(c, &sum);
    }
    if (!result) {
        struct report r = REPORT_INIT(c->subject.json);
        report_count(&r, "tasks", c->tasks.count);
        report_real(&r, "core", sum / (double)c->tasks.count);
        result = report_print(&r);
    }
    core_tasks_release(&c->tasks);
    subject_release(&c->subject);
    return result;
}

static const struct opt options[] = {
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 0, "shuffle", OPT_INT, offsetof(struct core, shuffle), "SEED",
      "shuffle each task's questions first, as Python does with this seed; nanochat uses 1337; -1: "
      "do not shuffle",
      -1, 4294967295.0 },
    { 0, "limit", OPT_INT, offsetof(struct core, limit), "N",
      "use only the first N questions of each task; 0: all", 0, 1e9 },
    SUBJECT_COMPUTE,
    SUBJECT_JSON,
    { 0 },
};

const struct tool_command core_command = {
    .name = "core",
    .args = "DIR",
    .summary = "CORE: many tasks with examples in the prompt, as DataComp-LM and nanochat score.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS,
    .run = run,
};
