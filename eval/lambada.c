/*
 * `evaluate lmbd`: the last word of a passage (LAMBADA, Paperno et al. 2016), by two rules.
 *
 * Input: JSON lines, each an object whose "text" is a passage.
 *
 *   word  W is the last word (separated by white space). The context is the text before it, without
 *         white space at its ends. The labels are the tokens that the context with " W" has more
 *         than the context. The passage is right if each label is the model's most probable token
 *         after the context and the labels before it. This is the published rule.
 *   token The label is the last token of the whole passage. It is usually only a part of a word,
 *         so this rule is easier.
 *
 * The tokens with which the vocabulary begins a text stand before the context, as
 * lm-evaluation-harness has them. A passage longer than the model's positions is cut at its
 * beginning. A passage without context (a single word) is counted as skipped and not scored.
 */
#include "eval/lambada.h"

#include "common/formats/js.h"
#include "eval/evaluate_commands.h"
#include "eval/items.h"
#include "eval/report.h"
#include "eval/subject.h"
#include "unicode/whitespace.h"

/* Values of a window's mark: the rules that it is for. */
enum { RULE_WORD = 1, RULE_TOKEN = 2, RULE_BOTH = RULE_WORD | RULE_TOKEN };

struct lambada {
    struct subject subject; /* options */

    /* one file */
    uint64_t passages, skipped, right, tokens_right; /* right by the rule `word`, and `token` */
    uint64_t tokens;                                 /* labels of the rule `word` */
    double nll, squares; /* of the last words: sums of the losses, in nats, and of their squares */
};

static const struct lambada defaults = { .subject = SUBJECT_DEFAULTS };

int lambada_parse(const char *line, size_t n, const char *name, struct buf *text)
{
    SCOPED_JS object = js_parse_line(line, n, name);
    if (!object)
        return -1;
    size_t len;
    const char *s = js_text(js_get(object, "text"), &len);
    if (s)
        buf_add(text, s, len);
    return s ? 0 : err_set("%s: the object has no string \"text\"", name);
}

/* Appends the tokens that the vocabulary puts before a text, and those of text[0..n). */
static int encode(const struct subject *s, const char *text, size_t n, struct ids *out)
{
    tokenizer_begin_text(s->tokenizer, out);
    return encoder_encode(s->encoder, text, n, TOKENIZER_ORDINARY, out);
}

/* Appends the tokens of `context`, then those that follow them in the tokens of "context word",
 * then the tokens of the whole passage. *split and *whole are set to the indices where the second
 * and the third part begin. */
static int encode_passage(struct items *g, struct span text, struct span context, struct span word,
                          size_t *split, size_t *whole)
{
    SCOPED(buf) joined = BUF_INIT;
    SCOPED(ids) all = { 0 };
    const size_t begin = g->ids.count;
    buf_add(&joined, context.s, context.n);
    buf_addc(&joined, ' ');
    buf_add(&joined, word.s, word.n);
    if (encode(g->ctx, context.s, context.n, &g->ids) < 0 ||
        encode(g->ctx, joined.data, joined.len, &all) < 0)
        return -1;
    *split = g->ids.count;
    const size_t own = *split - begin;
    ids_append(&g->ids, all.data + own, all.count > own ? all.count - own : 0);
    *whole = g->ids.count;
    return encode(g->ctx, text.s, text.n, &g->ids);
}

/* Adds the windows of one passage: one window if both rules see the same tokens (the usual case),
 * or else two. Returns 1, 0 if the passage has no context, or -1 with an error. */
static int add_passage(struct items *g, struct span passage)
{
    struct span text = whitespace_strip(passage.s, passage.n);
    struct span word = whitespace_last_word(text.s, text.n);
    struct span context = whitespace_strip(text.s, text.n - word.n);
    if (!context.n)
        return 0;
    size_t begin = g->ids.count, split, whole;
    if (encode_passage(g, text, context, word, &split, &whole) < 0)
        return -1;
    size_t end = g->ids.count;
    const uint32_t *ids = g->ids.data;
    int same = end - whole == whole - begin &&
               !memcmp(ids + begin, ids + whole, (end - whole) * sizeof *ids);
    if (same)
        g->ids.count = whole;
    else if (end - whole > 1 && items_add(g, whole, end, 1, RULE_TOKEN) < 0)
        return -1;
    return items_add(g, begin, whole, (int64_t)(whole - split), same ? RULE_BOTH : RULE_WORD) < 0
               ? -1
               : 1;
}

static int judge(void *ctx, const struct window *w, size_t n)
{
    struct lambada *l = ctx;
    for (; n; n--, w++) {
        if (w->mark & RULE_TOKEN)
            l->tokens_right += (uint64_t)w->last_right;
        if (!(w->mark & RULE_WORD))
            continue;
        l->right += w->right == w->scored;
        l->tokens += (uint64_t)w->scored;
        l->nll += w->loss;
        l->squares += w->loss * w->loss;
    }
    return 0;
}

static int add_line(struct items *g, const char *line, size_t n, const char *name)
{
    struct lambada *l = g->ctx;
    SCOPED(buf) text = BUF_INIT;
    int result = lambada_parse(line, n, name, &text);
    if (!result && (result = add_passage(g, (struct span){ text.data, text.len })) < 0)
        err_in("%s", name);
    l->skipped += result == 0;
    l->passages += result == 1;
    return result;
}

static int score_file(void *options, const char *path)
{
    struct lambada *l = options;
    *l = (struct lambada){ .subject = l->subject };
    if (items_score(path, "passage(s)", &l->subject.scorer, add_line, judge, l) < 0)
        return l->passages || !l->skipped
                   ? -1
                   : err_in("passages of one word, without white space: %" PRIu64, l->skipped);
    const double right = (double)l->right, passages = (double)l->passages;
    struct report r = REPORT_INIT(l->subject.json);
    report_text(&r, "file", path);
    report_count(&r, "passages", l->passages);
    report_count(&r, "skipped", l->skipped);
    report_count(&r, "right", l->right);
    report_mean(&r, "accuracy", right, right, l->passages);
    report_mean(&r, "loss", l->nll, l->squares, l->passages);
    report_real(&r, "perplexity", score_perplexity(l->nll / passages));
    report_real(&r, "tokens_per_word", (double)l->tokens / passages);
    report_count(&r, "token_right", l->tokens_right);
    report_real(&r, "token_accuracy", (double)l->tokens_right / passages);
    tool_count("passage(s)", l->passages);
    return report_print(&r);
}

static int run(int argc, char **argv, void *options)
{
    struct subject *s = options;
    int result = subject_load_tokenizer(s) < 0 ? -1 : subject_open(s, HEAD_NEXT);
    return subject_score(s, result, argc, argv, score_file);
}

static const struct opt options[] = {
    SUBJECT_MODEL, SUBJECT_VOCAB, SUBJECT_COMPUTE, SUBJECT_JSON, { 0 }
};

const struct tool_command lmbd_command = {
    .name = "lmbd",
    .args = "FILE...",
    .summary = "LAMBADA: predict the last word of each passage (JSON lines).",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS,
    .run = run,
};
