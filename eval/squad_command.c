/* The command `evaluate squad`: answers to questions, and their scores. */
#include "eval/evaluate_commands.h"

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "common/formats/kinds.h"
#include "common/program/prompt.h"
#include "common/program/tool.h"
#include "eval/report.h"
#include "eval/squad_answers.h"
#include "eval/squad_metric.h"
#include "eval/subject.h"

enum { RULES_AUTO, RULES_1_1, RULES_2_0 };
enum { GROUP_BATCHES = 16 }; /* batches whose logits are held at a time */

/* The options of the command, and the model that they name. */
struct answering {
    struct subject subject;
    const char *squad_file; /* the operand, or dev_path; NULL: --ask */
    const char *dev_path, *ask_path, *predictions_path, *na_prob_path, *output_dir;
    int rules, google;
    double na_threshold, null_threshold;
    int64_t stride, n_best, answer_tokens;
    struct ops_array last; /* [rows of the network,2]: logits on the device */
    float *logits;         /* copy of `last` in host memory */
};

static const struct answering defaults = {
    .subject = SUBJECT_DEFAULTS,
    .subject.length = 384,
    .output_dir = ".",
    .na_threshold = 1,
    .stride = -1,
    .n_best = 20,
    .answer_tokens = 30,
};

#define AT(member) offsetof(struct answering, member)
static const struct opt options[] = {
    { 0, "dev-file", OPT_TEXT, AT(dev_path), "FILE",
      "file of questions; the same as giving it as an operand" },
    { 'p', "predictions", OPT_TEXT, AT(predictions_path), "FILE",
      "score these answers: a JSON object of answers by question id" },
    { 0, "rules", OPT_CHOICE, AT(rules), "auto|1.1|2.0",
      "SQuAD version whose rules apply; auto: as the data say" },
    { 0, "na-prob", OPT_TEXT, AT(na_prob_path), "FILE",
      "JSON object with the probability of \"no answer\" by question id" },
    { 0, "na-threshold", OPT_REAL, AT(na_threshold), "P",
      "treat a question as unanswerable above this probability", -1e9, 1e9 },
    SUBJECT_JSON,
    { .help = "Answers of a model:" },
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 'o', "output", OPT_TEXT | SUBJECT_ONLY, AT(output_dir), "DIR",
      "folder for predictions.json and other results" },
    { 0, "ask", OPT_TEXT, AT(ask_path), "FILE",
      "answer questions from standard input about the text in FILE" },
    { 0, "style", OPT_CHOICE | SUBJECT_ONLY, AT(google), "hf|google",
      "cut long contexts into windows as Hugging Face or as Google does" },
    { 0, "sequence-length", OPT_INT | SUBJECT_ONLY, AT(subject.length), "N",
      "tokens per window, question included", 1, 1e9 },
    { 0, "stride", OPT_INT | SUBJECT_ONLY, AT(stride), "N",
      "tokens shared by two windows (hf) or between their starts (google); -1: a third of the "
      "length, at most 128",
      -1, 1e9 },
    { 0, "n-best", OPT_INT | SUBJECT_ONLY, AT(n_best), "N",
      "number of start and end candidates, and of answers, to consider", 1, 1e6 },
    { 0, "answer-tokens", OPT_INT | SUBJECT_ONLY, AT(answer_tokens), "N",
      "maximum length of an answer", 1, 1e9 },
    { 0, "null-threshold", OPT_REAL | SUBJECT_ONLY, AT(null_threshold), "X",
      "SQuAD 2.0: answer \"none\" if its score exceeds the best answer's by more than this", -1e9,
      1e9 },
    SUBJECT_COMPUTE,
    { 0 },
};

/* Refuses options that only the rules of SQuAD 2.0 use. */
static int check_rules(int v2)
{
    static const char *const only_2[] = { "na-prob", "na-threshold", "null-threshold" };
    for (size_t i = 0; !v2 && i < sizeof only_2 / sizeof *only_2; i++)
        if (tool_given(only_2[i]))
            return err_usage("--%s applies only to SQuAD 2.0: give --rules 2.0", only_2[i]);
    return 0;
}

/* ---- scores ----------------------------------------------------------------------------- */

/* Appends a mean, whose name is `prefix` followed by `name`, and its standard error. */
static void report_both(struct report *r, const char *prefix, const char *name, double mean,
                        double error)
{
    char key[32];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    report_exact(r, key, mean);
    snprintf(key, sizeof key, "%s%s_stderr", prefix, name);
    report_real(r, key, error);
}

static void report_figures(struct report *r, const char *prefix, const struct squad_figures *f)
{
    char key[32];
    report_both(r, prefix, "exact", f->exact, f->exact_error);
    report_both(r, prefix, "f1", f->f1, f->f1_error);
    snprintf(key, sizeof key, "%stotal", prefix);
    report_count(r, key, f->total);
}

/* Reports the scores, by the rules of SQuAD 2.0 if v2 is 1. thresholds 1: `score` has best_exact
 * and best_f1, which are reported, too. */
static void report_score(struct report *r, const struct squad_score *score, int v2, int thresholds)
{
    report_count(r, "missing", score->missing);
    report_count(r, "unknown", score->unknown);
    if (!v2) {
        report_both(r, "", "exact_match", score->all.exact, score->all.exact_error);
        report_both(r, "", "f1", score->all.f1, score->all.f1_error);
        return;
    }
    report_figures(r, "", &score->all);
    if (score->has_answer.total)
        report_figures(r, "HasAns_", &score->has_answer);
    if (score->no_answer.total)
        report_figures(r, "NoAns_", &score->no_answer);
    if (thresholds) {
        report_exact(r, "best_exact", score->best_exact.score);
        report_exact(r, "best_exact_thresh", score->best_exact.threshold);
        report_exact(r, "best_f1", score->best_f1.score);
        report_exact(r, "best_f1_thresh", score->best_f1.threshold);
    }
}

/* Returns a new report with the counts of the data and, if w is not NULL, of the windows. */
static struct report begin_report(struct answering *given, const struct squad *s,
                                  const struct squad_windows *w)
{
    struct report r = REPORT_INIT(given->subject.json);
    report_text(&r, "file", given->squad_file);
    report_count(&r, "paragraphs", s->paragraph_count);
    report_count(&r, "questions", s->question_count);
    report_count(&r, "unanswerable", s->unanswerable);
    report_count(&r, "repeated_ids", s->repeated_ids);
    report_count(&r, "empty_paragraphs", s->empty_paragraphs);
    report_count(&r, "answers_in_place", s->fits[SQUAD_IN_PLACE]);
    report_count(&r, "answers_by_utf16", s->fits[SQUAD_UTF16]);
    report_count(&r, "answers_by_bytes", s->fits[SQUAD_BYTES]);
    report_count(&r, "answers_moved", s->fits[SQUAD_MOVED]);
    report_count(&r, "answers_nowhere", s->fits[SQUAD_NOWHERE]);
    if (w) {
        report_count(&r, "windows", w->count);
        report_count(&r, "cut_questions", w->cut_questions);
    }
    tool_count("question(s)", s->question_count);
    return r;
}

static int print_score(struct answering *given, const struct squad *s,
                       const struct squad_windows *w, int v2, const struct js *predictions,
                       const char *name)
{
    struct squad_score score;
    SCOPED_JS no_answer = NULL;
    if ((given->na_prob_path && !(no_answer = js_load_any(given->na_prob_path))) ||
        squad_score(&score, s, v2, predictions, name, no_answer, given->na_threshold) < 0)
        return -1;
    struct report r = begin_report(given, s, w);
    report_text(&r, "rules", v2 ? "2.0" : "1.1");
    report_score(&r, &score, v2, given->na_prob_path != NULL);
    return report_print(&r);
}

/* ---- answers of a model ----------------------------------------------------------------- */

static int load_model(struct answering *given)
{
    struct subject *s = &given->subject;
    struct network *n = &s->scorer.net;
    if (subject_load_tokenizer(s) < 0 || subject_open(s, HEAD_QUESTIONS) < 0)
        return -1;
    given->last = ops_buffer(n->ops, OPS_F32, 2 * n->rows);
    given->logits = mem_alloc(2 * (size_t)n->rows * sizeof *given->logits);
    return 0;
}

static int encode(void *e, struct span text, struct placed *out)
{
    return encoder_encode_places(e, text.s, text.n, TOKENIZER_ORDINARY, out);
}

static int make_windows(struct answering *given, struct squad_windows *w, const struct squad *s)
{
    const struct tokenizer *t = given->subject.tokenizer;
    const uint32_t length = (uint32_t)given->subject.length;
    const struct squad_window_rules r = {
        .google = given->google,
        .length = length,
        .stride = given->stride < 0 ? squad_usual_stride(length) : (uint32_t)given->stride,
        .cls = tokenizer_role(t, TOKENIZER_CLS),
        .sep = tokenizer_role(t, TOKENIZER_SEP),
        .pad = tokenizer_role(t, TOKENIZER_PAD),
    };
    return squad_windows_make(w, s, &r, 0, encode, given->subject.encoder);
}

static uint32_t row_of(const void *windows, size_t i, uint32_t *ids, uint32_t *segments)
{
    return squad_window_row(windows, i, ids, segments);
}

/* Sets starts[] and ends[] to the logits of windows [first, first + count): rules.length floats per
 * window, one window after another. The entries of padding are not written. Ids must be in the
 * model's vocabulary, and windows no longer than its positions. */
static void run_windows(struct answering *given, const struct squad_windows *w, size_t first,
                        size_t count, float *starts, float *ends)
{
    struct network *net = &given->subject.scorer.net;
    const size_t T = w->rules.length;
    for (size_t i = first, next; i < first + count; i = next) {
        struct ops_array x;
        next = network_run_rows(net, &x, (int64_t)T, row_of, w, i, first + count);
        const float *logit = given->logits;
        const int64_t N = net->inputs.N;
        forward_logits(&net->forward, given->last, x, N);
        ops_download(net->ops, given->logits, given->last, 2 * N);
        for (size_t n = 0; n < next - i; n++)
            for (int64_t t = 0; t < net->lengths[n]; t++, logit += 2) {
                starts[(i - first + n) * T + (size_t)t] = logit[0];
                ends[(i - first + n) * T + (size_t)t] = logit[1];
            }
    }
}

static struct squad_answer_rules answer_rules(struct answering *given, int v2)
{
    return (struct squad_answer_rules){ (uint32_t)given->n_best, (uint32_t)given->answer_tokens, v2,
                                        given->null_threshold };
}

/* Reports the scores of the answers, by the rules of SQuAD 2.0 if v2 is 1, else 1.1. By the rules
 * of 1.1, data without any answers has no scores. */
static int report_answers(struct answering *given, const struct squad *s,
                          const struct squad_windows *w, int v2, const struct squad_answers *a)
{
    if (s->answer_count || v2) {
        SCOPED_JS predictions = js_parse(a->predictions.data, a->predictions.len, "predictions");
        return predictions ? print_score(given, s, w, v2, predictions, "predictions") : -1;
    }
    struct report r = begin_report(given, s, w);
    return report_print(&r);
}

/* Forms a group of questions, beginning with question `q`, whose windows fill several batches.
 * Returns the index after the group's last question. */
static size_t group_of(const struct answering *given, const struct squad_windows *w, size_t q)
{
    int64_t tokens = 0, most = GROUP_BATCHES * given->subject.batch_tokens;
    for (; q < w->squad->question_count && tokens < most; q++)
        for (size_t i = w->of_question[q]; i < w->of_question[q + 1]; i++)
            tokens += squad_window_offset(w, i) + w->items[i].count + 1;
    return q;
}

/* Answers all questions of w and adds the answers to *a. */
static int add_answers(struct answering *given, const struct squad_windows *w,
                       struct squad_answers *a)
{
    const size_t T = w->rules.length;
    SCOPED_MEM float *starts = NULL, *ends = NULL;
    size_t starts_cap = 0, ends_cap = 0;
    int result = 0;
    progress_begin("window(s)", w->count);
    for (size_t q = 0, next; q < w->squad->question_count && !result; q = next) {
        next = group_of(given, w, q);
        size_t first = w->of_question[q], count = w->of_question[next] - first;
        mem_grow(starts, starts_cap, count * T);
        mem_grow(ends, ends_cap, count * T);
        run_windows(given, w, first, count, starts, ends);
        for (size_t i = q; i < next && !result; i++) {
            size_t at = (w->of_question[i] - first) * T;
            result = squad_answers_add(a, w, i, starts + at, ends + at);
        }
        progress_to(w->of_question[next]);
    }
    progress_end();
    return result;
}

static int answer_questions(struct answering *given, const struct squad *s, int v2)
{
    SCOPED(squad_windows) w = { 0 };
    SCOPED(squad_answers) a = { 0 };
    const struct squad_answer_rules r = answer_rules(given, v2);
    if (tool_may_replace(given->output_dir, "predictions.json", "set of answers") < 0 ||
        load_model(given) < 0 || make_windows(given, &w, s) < 0)
        return -1;
    squad_answers_init(&a, &r);
    if (squad_answers_open(&a, given->output_dir) < 0 || add_answers(given, &w, &a) < 0)
        return -1;
    squad_answers_end(&a);
    /* the files are written last: if the report cannot be printed, there are none */
    return report_answers(given, s, &w, v2, &a) < 0 ? -1 : squad_answers_save(&a);
}

/* ---- questions of a person -------------------------------------------------------------- */

/* Reports a question and its answer. odds 1: the null odds are reported, too. */
static void report_best(struct report *r, struct span question, const struct squad_best *best,
                        int odds)
{
    report_text_n(r, "question", question.s, question.n);
    report_text_n(r, "answer", best->text.s, best->text.n);
    report_count(r, "begin", best->begin);
    report_count(r, "end", best->end);
    report_real(r, "score", best->score);
    report_real(r, "probability", best->probability);
    if (odds)
        report_real(r, "null_odds", best->null_odds);
}

static int answer_one(struct answering *given, struct span context, const char *question, size_t n)
{
    SCOPED(squad) s = { 0 };
    SCOPED(squad_windows) w = { 0 };
    struct squad_best best;
    const struct squad_answer_rules r = answer_rules(given, given->rules == RULES_2_0);
    size_t valid = utf8_valid(question, n);
    if (valid < n)
        return err_set("the question is not valid UTF-8 at byte %zu", valid);
    squad_ask(&s, context, (struct span){ question, n });
    if (make_windows(given, &w, &s) < 0)
        return -1;
    SCOPED_MEM float *starts = mem_alloc(2 * w.count * w.rules.length * sizeof *starts);
    float *ends = starts + w.count * w.rules.length;
    run_windows(given, &w, 0, w.count, starts, ends);
    if (squad_answers_best(&best, &r, &w, 0, starts, ends) < 0)
        return -1;
    struct report report = REPORT_INIT(given->subject.json);
    report_best(&report, (struct span){ question, n }, &best, r.v2);
    return report_print(&report);
}

/* Answers one question per line. At a terminal, a question that cannot be answered does not end the
 * program. */
static int answer_lines(struct answering *given, struct span context)
{
    struct prompt *p = prompt_open("evaluate", "Question: ", 0);
    const char *line;
    size_t n;
    int more;
    if (!p)
        return -1;
    while ((more = prompt_read(p, &line, &n)) > 0)
        if (n && answer_one(given, context, line, n) < 0 && prompt_failed(p) < 0) {
            more = -1;
            break;
        }
    prompt_close(p);
    return more;
}

static int run_ask(struct answering *given)
{
    SCOPED(buf) context = BUF_INIT;
    if (!strcmp(given->ask_path, "-"))
        return err_usage("--ask needs a file: standard input is for the questions");
    return check_rules(given->rules == RULES_2_0) < 0 ||
                   file_read_any(given->ask_path, &context) < 0 ||
                   kinds_check_whole(given->ask_path, &context) < 0 || load_model(given) < 0
               ? -1
               : answer_lines(given, (struct span){ context.data, context.len });
}

/* ---- a file of questions ---------------------------------------------------------------- */

/* Answers the questions of a file, or scores the given predictions. With the rules of 1.1, either
 * all questions of the file have gold answers, or none has. */
static int run_squad_file(struct answering *given, const struct squad *s)
{
    int v2 = given->rules == RULES_2_0 || (given->rules == RULES_AUTO && s->marks_impossible);
    if (check_rules(v2) < 0)
        return -1;
    if (!given->subject.model_dir) {
        const char *path = given->predictions_path;
        SCOPED_JS predictions = js_load_any(path);
        return predictions ? print_score(given, s, NULL, v2, predictions, path) : -1;
    }
    if (!v2 && s->answer_count && squad_check_answered(s) < 0)
        return -1;
    return answer_questions(given, s, v2);
}

static int check_squad(struct answering *given, int operands)
{
    if (given->predictions_path && given->subject.model_dir)
        return err_usage("give either --model or --predictions");
    if (given->predictions_path && given->ask_path)
        return err_usage("--ask cannot be used with --predictions: it needs a model");
    if (!given->predictions_path && !given->subject.model_dir)
        given->subject.model_dir = SUBJECT_MODEL_DIR;
    const char *other = given->subject.model_dir ? NULL : tool_misplaced(0);
    if (other)
        return err_usage("--%s cannot be used with --predictions: no model is run", other);
    if (operands + (given->dev_path != NULL) + (given->ask_path != NULL) != 1)
        return err_usage("give one file: FILE, --dev-file FILE or --ask FILE");
    static const char *const of_file[] = { "output", "na-prob", "na-threshold" };
    for (size_t i = 0; given->ask_path && i < sizeof of_file / sizeof *of_file; i++)
        if (tool_given(of_file[i]))
            return err_usage("--%s cannot be used with --ask, which has no scores and no files",
                             of_file[i]);
    return given->na_prob_path || !tool_given("na-threshold")
               ? 0
               : err_usage("--na-threshold needs --na-prob");
}

static int run(int argc, char **argv, void *options_given)
{
    struct answering *given = options_given;
    struct squad s;
    if (check_squad(given, argc) < 0)
        return -1;
    given->squad_file = argc ? argv[0] : given->dev_path;
    int result = given->squad_file ? squad_read(&s, given->squad_file) : run_ask(given);
    if (!result && given->squad_file) {
        result = run_squad_file(given, &s);
        squad_release(&s);
    }
    ops_buffer_free(given->subject.scorer.net.ops, given->last);
    free(given->logits);
    subject_release(&given->subject);
    return result;
}

const struct tool_command squad_command = {
    .name = "squad",
    .args = "[FILE]",
    .summary = "SQuAD: answer questions about texts; exact match and F1, 1.1 and 2.0.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run,
};
