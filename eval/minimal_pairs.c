/*
 * `evaluate pairs`: minimal pairs. The model prefers the sentence that it finds
 * more probable.
 *
 * Input: JSON lines. Each object has a good and a bad sentence, as strings under two keys; the
 * usual ones are those of BLiMP (Warstadt et al. 2020). A sentence is scored after the token that
 * begins a text (subject.h), with a space before it, as lm-evaluation-harness scores BLiMP, or
 * without, as it scores the data sets of other languages:
 *
 *     right  the sum of log p of the good sentence's tokens is not less than that of the bad one's
 *
 * A sentence with more tokens than the model has positions is refused.
 */
#include "eval/evaluate_commands.h"

#include "common/formats/js.h"
#include "eval/items.h"
#include "eval/report.h"
#include "eval/subject.h"

struct pairs {
    struct subject subject; /* options */
    const char *good, *bad; /* keys */
    int space;              /* 1: one is put before a sentence */

    uint64_t count, right; /* of one file */
    double sum;            /* of the shares of right pairs in all files so far */
};

static const struct pairs defaults = {
    .subject = SUBJECT_DEFAULTS,
    .good = "sentence_good",
    .bad = "sentence_bad",
    .space = 1,
};

/* Adds the sentence under `key` as a window. */
static int add_sentence(struct items *g, const struct js *object, const char *key)
{
    const struct pairs *p = g->ctx;
    SCOPED(buf) text = BUF_INIT;
    size_t n, begin = g->ids.count;
    const char *s = js_text(js_get(object, key), &n);
    if (!s)
        return err_set("the object has no string \"%s\"", key);
    if (p->space)
        buf_addc(&text, ' ');
    buf_add(&text, s, n);
    ids_add(&g->ids, (uint32_t)p->subject.start);
    int result = encoder_encode(p->subject.encoder, text.data, text.len, TOKENIZER_ORDINARY,
                                &g->ids);
    int64_t scored = (int64_t)(g->ids.count - begin) - 1;
    if (!result && !scored)
        return err_set("\"%s\" has no token", key);
    return result < 0 ? -1 : items_add(g, begin, g->ids.count, scored, 0);
}

static int add_line(struct items *g, const char *line, size_t n, const char *name)
{
    const struct pairs *p = g->ctx;
    SCOPED_JS object = js_parse_line(line, n, name);
    if (!object)
        return -1;
    return add_sentence(g, object, p->good) < 0 || add_sentence(g, object, p->bad) < 0
               ? err_in("%s", name)
               : 1;
}

static int judge(void *ctx, const struct window *w, size_t)
{
    struct pairs *p = ctx;
    int right = w[0].loss <= w[1].loss;
    p->count++;
    p->right += (uint64_t)right;
    if (!p->subject.json)
        return 0;
    struct report r = REPORT_INIT(1);
    report_count(&r, "line", w[0].item);
    report_count(&r, "right", (uint64_t)right);
    report_real(&r, "good_logprob", -w[0].loss);
    report_real(&r, "bad_logprob", -w[1].loss);
    return report_print(&r);
}

/* Scores a file, prints its figures and adds the share of right pairs to the sum. */
static int score_file(void *options, const char *path)
{
    struct pairs *p = options;
    p->count = p->right = 0;
    if (items_score(path, "pair(s)", &p->subject.scorer, add_line, judge, p) < 0)
        return -1;
    const double right = (double)p->right;
    struct report r = REPORT_INIT(p->subject.json);
    report_text(&r, "file", path);
    report_count(&r, "pairs", p->count);
    report_count(&r, "right", p->right);
    report_mean(&r, "accuracy", right, right, p->count);
    p->sum += right / (double)p->count;
    tool_count("pair(s)", p->count);
    return report_print(&r);
}

static int report_files(const struct pairs *p, int files)
{
    struct report r = REPORT_INIT(p->subject.json);
    report_count(&r, "files", (uint64_t)files);
    report_real(&r, "mean_accuracy", p->sum / files);
    return report_print(&r);
}

static int run(int argc, char **argv, void *options)
{
    struct pairs *p = options;
    int result = subject_score(&p->subject, subject_load(&p->subject), argc, argv, score_file);
    return !result && argc > 1 ? report_files(p, argc) : result;
}

static const struct opt options[] = {
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 0, "good", OPT_TEXT, offsetof(struct pairs, good), "KEY",
      "key of the sentence that should be more probable" },
    { 0, "bad", OPT_TEXT, offsetof(struct pairs, bad), "KEY",
      "key of the sentence that should be less probable" },
    { 0, "space", OPT_FLAG, offsetof(struct pairs, space), NULL,
      "put a space before a sentence, as for BLiMP" },
    SUBJECT_COMPUTE,
    SUBJECT_JSON,
    { 0 },
};

const struct tool_command minimal_pairs_command = {
    .name = "pairs",
    .args = "FILE...",
    .summary = "Minimal pairs, as BLiMP's: which of two sentences is more probable.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS,
    .run = run,
};
