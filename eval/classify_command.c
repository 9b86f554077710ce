/* The command `evaluate classify`: classes of texts, with GLUE's scores. */
#include "eval/evaluate_commands.h"

#include <math.h>

#include "classify/classify.h"
#include "common/base/log.h"
#include "common/files/file.h"
#include "eval/class_scores.h"
#include "eval/report.h"
#include "eval/score.h"
#include "eval/subject.h"

/* The options of the command, and the model that they name. */
struct classifying {
    struct subject subject;
    const char *output;
    struct classify_columns columns;
};

static const struct classifying defaults = { .subject = SUBJECT_DEFAULTS };

#define AT(member) offsetof(struct classifying, member)
static const struct opt options[] = {
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 'o', "output", OPT_TEXT, AT(output), "FILE",
      "write the predictions as a table: the number of the text, from 0 on, and its class" },
    { 0, "text-column", OPT_TEXT, AT(columns.text), "NAME",
      "column of the text, by name or, if the file has no names, by number; default: as in GLUE's "
      "files" },
    { 0, "second-column", OPT_TEXT, AT(columns.second), "NAME",
      "column of the second text of a pair" },
    { 0, "label-column", OPT_TEXT, AT(columns.label), "NAME", "column of the label" },
    SUBJECT_LENGTH("most tokens of a text or a pair; 0: as many as the model can take"),
    SUBJECT_COMPUTE,
    SUBJECT_JSON,
    { 0 },
};

/* What the model says about each text. */
struct said {
    int32_t *classes;
    double *values; /* of a regression, or the logit of the class */
};

static uint32_t row_of(const void *texts, size_t i, uint32_t *ids, uint32_t *segments)
{
    return classify_row(texts, i, ids, segments);
}

/* Sets the predictions of `count` texts from their logits. */
static int decide(struct said *said, const float *logits, size_t first, size_t count, int64_t K)
{
    for (size_t i = first; i < first + count; i++, logits += K) {
        int32_t best = 0;
        for (int32_t k = 0; k < K; k++) {
            if (!isfinite(logits[k]))
                return err_set("text %zu: a logit is %g: the model's weights are damaged or its "
                               "training diverged",
                               i, (double)logits[k]);
            best = logits[k] > logits[best] ? k : best;
        }
        said->classes[i] = best;
        said->values[i] = logits[best];
    }
    return 0;
}

/* Runs the model over all texts. */
static int predict(struct classifying *given, struct said *said, const struct classify *c)
{
    struct network *n = &given->subject.scorer.net;
    const int64_t K = c->classes.count, C = n->model.config.width;
    struct ops_array x, firsts = ops_buffer(n->ops, OPS_F32, n->rows * C),
                        logits = ops_buffer(n->ops, OPS_F32, n->rows * K);
    SCOPED_MEM float *copy = mem_alloc((size_t)(n->rows * K) * sizeof *copy);
    int result = 0;
    progress_begin("text(s)", c->count);
    for (size_t i = 0, next; i < c->count && !result; i = next) {
        next = network_run_rows(n, &x, given->subject.length, row_of, c, i, c->count);
        const int64_t count = (int64_t)(next - i);
        for (int64_t k = 0, at = 0; k < count; at += n->lengths[k++])
            ops_copy(n->ops, ops_part(firsts, k * C), ops_part(x, at * C), C);
        forward_logits(&n->forward, logits, firsts, count);
        ops_download(n->ops, copy, logits, count * K);
        result = decide(said, copy, i, next - i, K);
        progress_to(next);
    }
    progress_end();
    ops_buffer_free(n->ops, firsts);
    ops_buffer_free(n->ops, logits);
    return result;
}

/* ---- results ------------------------------------------------------------------------------ */

/* Reports the scores of the texts that have a label, and keeps only their predictions. */
static void report_scores(struct report *r, const struct classify *c, struct said *said)
{
    SCOPED_MEM int32_t *labels = mem_alloc(c->count * sizeof *labels);
    SCOPED_MEM double *truth = mem_alloc(c->count * sizeof *truth);
    struct class_scores s;
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->texts[i].label >= 0) {
            labels[n] = c->texts[i].label;
            truth[n] = c->texts[i].value;
            said->classes[n] = said->classes[i];
            said->values[n++] = said->values[i];
        }
    const double pearson = class_pearson(truth, said->values, n); /* nan: all are equal */
    if (c->classes.regression && !isnan(pearson)) {
        report_exact(r, "pearson", pearson);
        report_exact(r, "spearman", class_spearman(truth, said->values, n));
    } else if (n && !c->classes.regression) {
        class_scores(&s, labels, said->classes, n, c->classes.count);
        report_exact(r, "accuracy", s.accuracy);
        report_real(r, "accuracy_stderr",
                    score_error(s.accuracy * (double)n, s.accuracy * (double)n, n));
        report_exact(r, c->classes.count == 2 ? "f1" : "f1_macro", s.f1);
        report_exact(r, "matthews", s.matthews);
    }
}

static void print_predictions(struct buf *out, const struct classify *c, const struct said *said)
{
    buf_adds(out, "index\tprediction\n");
    for (size_t i = 0; i < c->count; i++) {
        buf_addf(out, "%zu\t", i);
        if (c->classes.regression)
            report_digits(out, said->values[i]);
        else
            buf_adds(out, labels_bare(labels_name(&c->classes, said->classes[i])));
        buf_addc(out, '\n');
    }
}

static int classify_texts(struct classifying *given, const char *path, const struct classify *c,
                          struct output *out)
{
    SCOPED_MEM int32_t *classes = mem_alloc(c->count * sizeof *classes);
    SCOPED_MEM double *values = mem_alloc(c->count * sizeof *values);
    struct said said = { classes, values };
    struct report r = REPORT_INIT(given->subject.json);
    SCOPED(buf) table = BUF_INIT;
    if (predict(given, &said, c) < 0)
        return -1;
    print_predictions(&table, c, &said);
    report_text(&r, "file", path);
    report_count(&r, "texts", c->count);
    report_count(&r, "unlabelled", c->unlabelled);
    report_count(&r, "cut", c->cut);
    report_scores(&r, c, &said);
    tool_count("text(s)", c->count);
    const int result = report_print(&r);
    return result || !given->output ? result : output_write(out, table.data, table.len);
}

/* Returns -1 with an error if a class has a name that a table cannot hold, else 0. */
static int check_names(const struct labels *classes)
{
    for (int64_t i = 0; i < classes->count; i++)
        if (strpbrk(labels_name(classes, i), "\t\r\n"))
            return err_set(
                "--output: the table cannot hold the class '%s', whose name has a tab or "
                "a line end",
                labels_name(classes, i));
    return 0;
}

static int run(int, char **argv, void *options_given)
{
    struct classifying *given = options_given;
    struct subject *s = &given->subject;
    struct classify c;
    struct output out = { 0 }; /* opened first: it must not fail after hours */
    int result = (given->output && (tool_may_replace(given->output, NULL, NULL) < 0 ||
                                    output_open(&out, given->output) < 0)) ||
                         subject_load_tokenizer(s) < 0 || subject_open(s, HEAD_CLASSES) < 0 ||
                         (given->output && check_names(&s->scorer.net.model.config.classes) < 0) ||
                         classify_read(&c, argv[0], &given->columns,
                                       &s->scorer.net.model.config.classes, s->tokenizer,
                                       (uint32_t)s->length, 0) < 0
                     ? -1
                     : 0;
    if (!result) {
        result = classify_texts(given, argv[0], &c, &out);
        classify_release(&c);
    }
    subject_release(s);
    return given->output ? output_end(&out, result) : result;
}

const struct tool_command classify_command = {
    .name = "classify",
    .args = "FILE",
    .summary = "GLUE, MNLI: classes of texts; accuracy, F1, Matthews, Pearson, Spearman.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run,
};
