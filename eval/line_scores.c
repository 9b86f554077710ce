/*
 * `evaluate lines`: the probability of each line of a text, and of its second half.
 *
 * A line is one sequence: the token that begins a text (subject.h), then the line's tokens. A
 * sequence is cut after `length` tokens, the first one included.
 *
 *     bits              - sum of log2 p of the line's tokens
 *     second_half_bits  the same sum, of the tokens of the line's second half only
 *
 * The second half is that of Goldfish's evaluation (Chang et al. 2024, arXiv 2408.10441): let k be
 * the number of tokens of the first floor(n / 2) of the line's n code points, encoded alone. Then
 * the second half is what follows the line's first k tokens. An unknown token counts
 * log2(vocabulary), because its text is not known.
 *
 * Bits per byte and per character are those of all lines with fewer than `length` tokens, because
 * the bytes of a line that was cut are not all scored.
 */
#include "eval/evaluate_commands.h"

#include <math.h>

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/formats/kinds.h"
#include "eval/items.h"
#include "eval/report.h"
#include "eval/subject.h"

/* A sum over lines, in bits, and the sum of the squares. */
struct bits {
    double sum, squares;
};

struct lines {
    struct subject subject; /* options */
    int halves;

    int64_t unknown; /* token id; -1: there is no such token */

    /* figures of one file */
    uint64_t lines, cut, tokens, unknowns;
    struct bits whole, second;
    uint64_t bytes, characters; /* of the lines that are shorter than `length`, and their bits */
    double shorter;
};

static const struct lines defaults = { .subject = SUBJECT_DEFAULTS };

static void count(struct bits *b, double bits)
{
    b->sum += bits;
    b->squares += bits * bits;
}

/* Returns the number of tokens of the line's first half, encoded alone, or -1 with an error. */
static int64_t first_half(struct lines *l, const char *line, size_t n)
{
    SCOPED(ids) ids = { 0 };
    size_t half = utf8_offset(line, n, utf8_count(line, n) / 2);
    int result = encoder_encode(l->subject.encoder, line, half, TOKENIZER_ORDINARY, &ids);
    return result < 0 ? -1 : (int64_t)ids.count;
}

/* Adds a line as a window whose mark is the number of tokens before the second half. */
static int add_text(struct items *g, const char *line, size_t n)
{
    struct lines *l = g->ctx;
    size_t begin = g->ids.count, valid = utf8_valid(line, n);
    if (valid < n)
        return err_set("not valid UTF-8 at byte %zu", valid);
    ids_add(&g->ids, (uint32_t)l->subject.start);
    if (encoder_encode(l->subject.encoder, line, n, TOKENIZER_ORDINARY, &g->ids) < 0)
        return -1;
    if (g->ids.count - begin > (size_t)l->subject.length) {
        g->ids.count = begin + (size_t)l->subject.length;
        l->cut++;
    }
    int64_t scored = (int64_t)(g->ids.count - begin) - 1;
    int64_t before = l->halves && scored ? first_half(l, line, n) : 0;
    if (before < 0 || !scored)
        return (int)before;
    if (items_add(g, begin, g->ids.count, scored, before) < 0)
        return -1;
    l->lines++;
    l->tokens += (uint64_t)scored;
    if (scored + 1 < l->subject.length) {
        l->bytes += n;
        l->characters += utf8_count(line, n);
    }
    return 1;
}

static int add_line(struct items *g, const char *line, size_t n, const char *name)
{
    if (g->item == 1 && kinds_check(name, line, n) < 0)
        return -1;
    if (g->item == 1 && kinds_is_jsonl(line, n))
        log_warn("%s: its JSON is scored as text, with keys and quotes", name);
    int result = add_text(g, line, n - (line[n - 1] == '\r'));
    return result < 0 ? err_in("%s", name) : result;
}

static int judge(void *ctx, const struct window *w, size_t)
{
    struct lines *l = ctx;
    double whole = 0, second = 0, lost = log2((double)tokenizer_size(l->subject.tokenizer));
    const uint32_t *ids = w->ids + w->count - w->scored;
    for (int64_t i = 0; i < w->scored; i++) {
        int known = ids[i] != l->unknown;
        double bits = known ? w->each[i] / log(2) : lost;
        l->unknowns += (uint64_t)!known;
        whole += bits;
        second += i < w->mark ? 0 : bits;
    }
    count(&l->whole, whole);
    count(&l->second, second);
    l->shorter += w->count < l->subject.length ? whole : 0;
    if (!l->subject.json)
        return 0;
    struct report r = REPORT_INIT(1);
    report_count(&r, "line", w->item);
    report_count(&r, "tokens", (uint64_t)w->scored);
    report_real(&r, "bits", whole);
    if (l->halves)
        report_real(&r, "second_half_bits", second);
    return report_print(&r);
}

static int report_file(const struct lines *l, const char *path)
{
    struct report r = REPORT_INIT(l->subject.json);
    report_text(&r, "file", path);
    report_count(&r, "lines", l->lines);
    report_count(&r, "cut", l->cut);
    report_count(&r, "tokens", l->tokens);
    report_count(&r, "unknown", l->unknowns);
    report_count(&r, "bytes", l->bytes);
    report_count(&r, "characters", l->characters);
    report_mean(&r, "bits", l->whole.sum, l->whole.squares, l->lines);
    if (l->halves)
        report_mean(&r, "second_half_bits", l->second.sum, l->second.squares, l->lines);
    if (l->bytes) {
        report_real(&r, "bits_per_byte", l->shorter / (double)l->bytes);
        report_real(&r, "bits_per_character", l->shorter / (double)l->characters);
    }
    tool_count("line(s)", l->lines);
    return report_print(&r);
}

static int score_file(void *options, const char *path)
{
    struct lines *l = options;
    l->lines = l->cut = l->tokens = l->unknowns = l->bytes = l->characters = 0;
    l->whole = l->second = (struct bits){ 0 };
    l->shorter = 0;
    return items_score(path, "line(s)", &l->subject.scorer, add_line, judge, l) < 0
               ? -1
               : report_file(l, path);
}

static int run(int argc, char **argv, void *options)
{
    struct lines *l = options;
    int result = subject_load(&l->subject);
    if (!result)
        l->unknown = tokenizer_role(l->subject.tokenizer, TOKENIZER_UNKNOWN);
    return subject_score(&l->subject, result, argc, argv, score_file);
}

static const struct opt options[] = {
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 0, "second-half", OPT_FLAG, offsetof(struct lines, halves), NULL,
      "also print the bits of each line's second half, given its first half" },
    SUBJECT_LENGTH("cut a line after this many tokens; 0: after as many as the model can take"),
    SUBJECT_COMPUTE,
    SUBJECT_JSON,
    { 0 },
};

const struct tool_command line_scores_command = {
    .name = "lines",
    .args = "FILE...",
    .summary = "Print how many bits the model needs for a line of text; --json prints each line.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS,
    .run = run,
};
