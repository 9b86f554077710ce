#include "eval/squad_command.h"

#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/log.h"
#include "common/prompt.h"
#include "common/tool.h"
#include "common/utf8.h"
#include "eval/squad_model.h"
#include "eval/squad_report.h"
#include "eval/subject.h"
#include "unicode/unicode.h"

enum { RULES_AUTO, RULES_1_1, RULES_2_0 };

static const char *squad_file, *dev_path, *ask_path, *predictions_path, *na_prob_path;
static const char *output_dir = ".";
static int rules, google;
static double na_threshold = 1, null_threshold;
static int64_t length = 384, stride = -1, question_tokens = 64, n_best = 20, answer_tokens = 30;

const struct opt squad_command_options[] = {
    { 0, "dev-file", OPT_TEXT, &dev_path, "FILE",
      "file of questions; the same as giving it as an operand", 0, 0 },
    { 'p', "predictions", OPT_TEXT, &predictions_path, "FILE",
      "score these answers: a JSON object of answers by question id", 0, 0 },
    { 0, "rules", OPT_CHOICE, &rules, "auto|1.1|2.0",
      "SQuAD version whose rules apply; auto: as the data say", 0, 0 },
    { 0, "na-prob", OPT_TEXT, &na_prob_path, "FILE",
      "JSON object with the probability of \"no answer\" by question "
      "id",
      0, 0 },
    { 0, "na-threshold", OPT_REAL, &na_threshold, "P",
      "treat a question as unanswerable above this probability", -1e9, 1e9 },
    SUBJECT_JSON,
    { .help = "Answers of a model:" },
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 'o', "output", OPT_TEXT, &output_dir, "DIR", "folder for predictions.json and other results",
      0, 0 },
    { 0, "ask", OPT_TEXT, &ask_path, "FILE",
      "answer questions from standard input about the text in FILE", 0, 0 },
    { 0, "style", OPT_CHOICE, &google, "hf|google",
      "cut long contexts into windows as Hugging Face or as Google "
      "does",
      0, 0 },
    { 0, "sequence-length", OPT_INT, &length, "N", "tokens per window, question included", 1, 1e9 },
    { 0, "stride", OPT_INT, &stride, "N",
      "tokens shared by two windows (hf) or between their starts "
      "(google); -1: a third of the length, at most 128",
      -1, 1e9 },
    { 0, "question-tokens", OPT_INT, &question_tokens, "N", "cut longer questions to N tokens", 0,
      1e9 },
    { 0, "n-best", OPT_INT, &n_best, "N",
      "number of start and end candidates, and of answers, to "
      "consider",
      1, 1e6 },
    { 0, "answer-tokens", OPT_INT, &answer_tokens, "N", "maximum length of an answer", 1, 1e9 },
    { 0, "null-threshold", OPT_REAL, &null_threshold, "X",
      "SQuAD 2.0: answer \"none\" if its score exceeds the best "
      "answer's by more than this",
      -1e9, 1e9 },
    SUBJECT_BATCH,
    SUBJECT_PRECISION,
    SUBJECT_DEVICE,
    SUBJECT_PRODUCTS,
    { 0 },
};

/* ---- scores ----------------------------------------------------------------------------- */

static int score_predictions(struct squad_score *score, const struct squad *s, int v2,
                             const struct js *predictions, const char *name)
{
    struct js *no_answer = NULL;
    if (na_prob_path && !(no_answer = js_load_any(na_prob_path)))
        return -1;
    int result = v2 ? squad_score_v2(score, s, predictions, name, no_answer, na_threshold)
                    : squad_score_v1(score, s, predictions, name);
    js_free(no_answer);
    return result;
}

/* Begins the report of all that concerns the data; `w`: or NULL. */
static struct report begin_report(const struct squad *s, const struct squad_windows *w)
{
    struct report r = REPORT_INIT(subject.json);
    squad_report_data(&r, squad_file, s);
    if (w)
        squad_report_windows(&r, w);
    tool_count("questions", s->question_count);
    return r;
}

static int print_score(const struct squad *s, const struct squad_windows *w, int v2,
                       const struct js *predictions, const char *name)
{
    struct squad_score score;
    if (score_predictions(&score, s, v2, predictions, name) < 0)
        return -1;
    struct report r = begin_report(s, w);
    report_text(&r, "rules", v2 ? "2.0" : "1.1");
    squad_report_score(&r, &score, v2, na_prob_path != NULL);
    return report_print(&r);
}

/* Answers that were given before. */
static int score_file(const struct squad *s, int v2)
{
    struct js *predictions = js_load_any(predictions_path);
    int result = predictions ? print_score(s, NULL, v2, predictions, predictions_path) : -1;
    js_free(predictions);
    return result;
}

/* ---- answers of a model ----------------------------------------------------------------- */

static struct squad_model squad_model;

static int load_squad_model(void)
{
    if (subject_load_tokenizer() < 0 ||
        squad_model_open(&squad_model, subject.model_dir, subject.device, (int)tool_threads,
                         subject.batch_tokens) < 0 ||
        subject_check(&squad_model.net) < 0)
        return -1;
    int64_t positions = squad_model.net.model.config.positions;
    if (positions < length && !tool_given("sequence-length"))
        length = positions;
    if (length > positions)
        return err_usage("--sequence-length %lld is more than the model's %lld positions",
                         (long long)length, (long long)positions);
    return 0;
}

static int make_windows(struct squad_windows *w, const struct squad *s)
{
    const struct squad_window_rules r = {
        .google = google,
        .length = (uint32_t)length,
        .stride = stride < 0 ? squad_usual_stride((uint32_t)length) : (uint32_t)stride,
        .question_tokens = (uint32_t)question_tokens,
    };
    return squad_model_windows(w, s, &r, subject.tokenizer);
}

static struct squad_answer_rules answer_rules(int v2)
{
    return (struct squad_answer_rules){ (uint32_t)n_best, (uint32_t)answer_tokens, v2,
                                        null_threshold };
}

/* Of data without any answer there is no score. */
static int report_answers(const struct squad *s, const struct squad_windows *w, int v2,
                          const struct squad_answers *a)
{
    if (s->unanswerable < s->question_count || v2) {
        struct js *predictions = js_parse(a->predictions.data, a->predictions.len, "predictions");
        int result = predictions ? print_score(s, w, v2, predictions, "predictions") : -1;
        js_free(predictions);
        return result;
    }
    struct report r = begin_report(s, w);
    return report_print(&r);
}

static int answer_questions(const struct squad *s, int v2)
{
    struct squad_windows w;
    struct squad_answers a;
    const struct squad_answer_rules r = answer_rules(v2);
    if (tool_may_replace(output_dir, "predictions.json", "set of answers") < 0 ||
        load_squad_model() < 0 || make_windows(&w, s) < 0)
        return -1;
    squad_answers_init(&a, &r);
    progress_begin("windows", w.count);
    int result = squad_model_answer(&a, &squad_model, &w, progress_to);
    progress_end();
    squad_answers_end(&a);
    if (!result) /* the files last: a report that cannot be written leaves none */
        result = report_answers(s, &w, v2, &a);
    if (!result)
        result = squad_answers_save(&a, output_dir);
    squad_answers_release(&a);
    squad_windows_release(&w);
    return result;
}

/* ---- questions of a person -------------------------------------------------------------- */

static int answer_one(struct squad_text context, const char *question, size_t n)
{
    struct squad s;
    struct squad_windows w;
    struct squad_best best;
    const struct squad_answer_rules r = answer_rules(rules == RULES_2_0);
    size_t valid = utf8_valid(question, n);
    if (valid < n)
        return err_set("the question is not valid UTF-8 at byte %zu", valid);
    squad_ask(&s, context, (struct squad_text){ question, n });
    int result = make_windows(&w, &s);
    if (!result) {
        result = squad_model_best(&best, &squad_model, &r, &w);
        if (!result) {
            struct report report = REPORT_INIT(subject.json);
            squad_report_best(&report, (struct squad_text){ question, n }, &best, r.v2);
            result = report_print(&report);
        }
        squad_windows_release(&w);
    }
    squad_release(&s);
    return result;
}

/* A question a line; at a terminal one that cannot be answered is no reason to stop. */
static int answer_lines(struct squad_text context)
{
    struct prompt *p = prompt_open("evaluate", "Question: ");
    const char *line;
    size_t n, number = 0;
    int more;
    if (!p)
        return -1;
    while ((more = prompt_read(p, &line, &n)) > 0) {
        number++;
        if (!n || answer_one(context, line, n) == 0)
            continue;
        if (!prompt_interactive(p)) {
            more = err_in("<stdin>:%zu", number);
            break;
        }
        log_warn("%s", err_get());
    }
    prompt_close(p);
    return more;
}

static int run_ask(void)
{
    struct buf context = BUF_INIT;
    if (!strcmp(ask_path, "-"))
        return err_usage("--ask needs a file: standard input is for the questions");
    int result = file_read_any(ask_path, &context);
    size_t valid = utf8_valid(context.data, context.len);
    if (!result && valid < context.len)
        result = err_set("%s: not valid UTF-8 at byte %zu", ask_path, valid);
    if (!result)
        result = load_squad_model();
    if (!result)
        result = answer_lines((struct squad_text){ context.data, context.len });
    buf_release(&context);
    return result;
}

/* ---- a file of questions ---------------------------------------------------------------- */

/* The rules 1.1 want an answer to each question, unless there are none at all. */
static int run_squad_file(const struct squad *s)
{
    int v2 = rules == RULES_2_0 || (rules == RULES_AUTO && s->marks_impossible);
    if (na_prob_path && !v2)
        return err_usage("--na-prob applies only to SQuAD 2.0: give --rules 2.0");
    if (!subject.model_dir)
        return score_file(s, v2);
    if (!v2 && s->unanswerable < s->question_count && squad_check_answered(s) < 0)
        return -1;
    return answer_questions(s, v2);
}

static int check_squad(int operands)
{
    if (!predictions_path == !subject.model_dir)
        return err_usage("give either --model or --predictions");
    if (ask_path && !subject.model_dir)
        return err_usage("--ask needs --model");
    if (operands + (dev_path != NULL) + (ask_path != NULL) != 1)
        return err_usage("give one file: FILE, --dev-file FILE or --ask FILE");
    return 0;
}

int squad_command(int argc, char **argv)
{
    struct squad s;
    if (check_squad(argc) < 0)
        return -1;
    squad_file = argc ? argv[0] : dev_path;
    int result = squad_file ? squad_read(&s, squad_file) : run_ask();
    if (!result && squad_file) {
        result = run_squad_file(&s);
        squad_release(&s);
    }
    squad_model_close(&squad_model);
    subject_release();
    return result;
}
