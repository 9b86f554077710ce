/* evaluate - how well a model predicts: WikiText perplexity, LAMBADA, training data, SQuAD. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/log.h"
#include "common/prompt.h"
#include "common/tool.h"
#include "model/ops.h"
#include "eval/lambada.h"
#include "eval/report.h"
#include "eval/shards.h"
#include "eval/squad_model.h"
#include "eval/squad_report.h"
#include "eval/wiki.h"
#include "tokenizer/unicode.h"

static const char *model_dir, *vocab;
static int json, dry_run, precision, detokenizer = WIKI_WIKI;
static const char *squad_file, *dev_path, *ask_path, *predictions_path, *na_prob_path;
static const char *output_dir = ".";
static int rules, google;
static double na_threshold = 1, null_threshold;
static int64_t squad_length = 384, squad_stride = 128, question_tokens = 64;
static int64_t n_best = 20, answer_tokens = 30;
static int64_t length, stride = 32, batch_tokens = 4096, limit;

/* ---- what the commands share -------------------------------------------------------------- */

static struct tokenizer *tokenizer;
static struct encoder *encoder;
static struct scorer scorer;

static int load_tokenizer(void)
{
    const char *path = vocab ? vocab : model_dir;
    if (!path)
        return err_usage("--model is wanted");
    tokenizer = tokenizer_load(path);
    if (!tokenizer)
        return -1;
    encoder = encoder_new(tokenizer);
    return 0;
}

/* That it knows the tokens; and sets how it computes. */
static int check_model(struct network *n)
{
    int64_t known = n->model.config.vocabulary;
    if (tokenizer && tokenizer_size(tokenizer) > known)
        return err_set("vocabulary and model differ: '%s' has %u tokens, '%s' knows %lld",
                       vocab ? vocab : model_dir, tokenizer_size(tokenizer), model_dir,
                       (long long)known);
    ops_set_precision(n->ops, (enum ops_precision)precision);
    log_detail("%s", ops_describe(n->ops));
    return 0;
}

static int load_model(void)
{
    if (!model_dir)
        return err_usage("--model is wanted");
    if (scorer_init(&scorer, model_dir, (int)tool_threads, batch_tokens) < 0 ||
        check_model(&scorer.net) < 0)
        return -1;
    const struct model_config *c = &scorer.net.model.config;
    if (length > c->positions)
        return err_usage("--sequence-length %lld is more than the model's %lld positions",
                         (long long)length, (long long)c->positions);
    if (!length)
        length = c->positions;
    return 0;
}

static void unload(void)
{
    scorer_release(&scorer);
    encoder_free(encoder);
    tokenizer_free(tokenizer);
}

/* Prints and releases a report; an empty line between two of them. */
static void print_report(struct report *r)
{
    static int printed;
    if (printed++ && !json)
        putchar('\n');
    fputs(report_end(r), stdout);
    fflush(stdout);
    report_release(r);
}

static double share(uint64_t part, uint64_t all)
{
    return (double)part / (double)all;
}

/* ---- wiki --------------------------------------------------------------------------------- */

static int check_stride(void)
{
    if (stride > length && !tool_given("stride"))
        stride = length;
    return stride <= length ? 0
                            : err_usage("--stride %lld is more than the sequence length of %lld",
                                        (long long)stride, (long long)length);
}

static void report_wiki(struct report *r, const struct wiki_text *text,
                        const struct wiki_score *score)
{
    double loss = score->nll / (double)score->targets, ratio = wiki_token_ratio(text);
    report_real(r, "loss", loss);
    report_real(r, "perplexity", score_perplexity(loss));
    report_real(r, "adjusted_perplexity", score_perplexity(loss * ratio));
    report_real(r, "bits_per_byte", score->nll / log(2) / (double)text->bytes);
    report_real(r, "accuracy", share(score->right, score->targets));
}

static int wiki_file(const char *path)
{
    struct wiki_text text;
    struct wiki_score score;
    if (wiki_read(&text, path, detokenizer, encoder) < 0)
        return -1;
    struct report r = REPORT_INIT(json);
    report_text(&r, "file", path);
    report_count(&r, "tokens", text.ids.count);
    report_count(&r, "words", text.words);
    report_count(&r, "bytes", text.bytes);
    report_exact(&r, "token_ratio", wiki_token_ratio(&text));
    int result = 0;
    if (!dry_run) {
        progress_begin("tokens", text.ids.count - 1);
        result = wiki_score(&score, &scorer, &text, length, stride, progress_to);
        progress_end();
    }
    if (!result && !dry_run)
        report_wiki(&r, &text, &score);
    if (!result)
        print_report(&r);
    else
        err_in("%s", path);
    report_release(&r);
    tool_count("tokens", text.ids.count);
    wiki_release(&text);
    return result;
}

static int run_wiki(int argc, char **argv)
{
    int result = load_tokenizer();
    if (!result && !dry_run)
        result = load_model() < 0 || check_stride() < 0 ? -1 : 0;
    for (int i = 0; i < argc && !result; i++)
        result = wiki_file(argv[i]);
    unload();
    return result;
}

/* ---- lmbd --------------------------------------------------------------------------------- */

static void report_lambada(const char *path, const struct lambada_score *score)
{
    struct report r = REPORT_INIT(json);
    double nll = score->word_nll / (double)score->passages;
    report_text(&r, "file", path);
    report_count(&r, "passages", score->passages);
    report_count(&r, "skipped", score->skipped);
    report_count(&r, "right", score->words_right);
    report_real(&r, "accuracy", share(score->words_right, score->passages));
    report_real(&r, "loss", nll);
    report_real(&r, "perplexity", score_perplexity(nll));
    report_real(&r, "tokens_per_word", share(score->word_tokens, score->passages));
    report_count(&r, "token_right", score->tokens_right);
    report_real(&r, "token_accuracy", share(score->tokens_right, score->passages));
    print_report(&r);
    tool_count("passages", score->passages);
}

static int run_lmbd(int argc, char **argv)
{
    struct lambada_score score;
    int result = load_tokenizer() < 0 || load_model() < 0 ? -1 : 0;
    for (int i = 0; i < argc && !result; i++) {
        progress_begin("passages", 0);
        result = lambada_score(&score, &scorer, encoder, argv[i], progress_to);
        progress_end();
        if (!result)
            report_lambada(argv[i], &score);
    }
    unload();
    return result;
}

/* ---- shards ------------------------------------------------------------------------------- */

static struct dataset *open_data(int argc, char **argv)
{
    struct dataset *d = dataset_open((const char *const *)argv, (size_t)argc, (uint32_t)length + 1);
    if (!d)
        return NULL;
    uint64_t ids = dataset_vocabulary(d);
    int64_t known = scorer.net.model.config.vocabulary;
    if (ids > (uint64_t)known)
        err_set("vocabulary and model differ: '%s' was made with %llu tokens, '%s' knows %lld",
                argv[0], (unsigned long long)ids, model_dir, (long long)known);
    else if (!dataset_count(d))
        err_set("nothing to score in '%s': no sequence of %lld tokens", argv[0],
                (long long)length + 1);
    else
        return d;
    dataset_close(d);
    return NULL;
}

static void report_shards(const struct shards_score *score)
{
    struct report r = REPORT_INIT(json);
    double loss = score->nll / (double)score->targets;
    report_count(&r, "sequences", score->sequences);
    report_count(&r, "tokens", score->targets);
    report_real(&r, "loss", loss);
    report_real(&r, "perplexity", score_perplexity(loss));
    report_real(&r, "accuracy", share(score->right, score->targets));
    print_report(&r);
    tool_count("tokens", score->targets);
}

static int run_shards(int argc, char **argv)
{
    struct shards_score score;
    struct dataset *d = NULL;
    int result = load_model();
    if (!result && !(d = open_data(argc, argv)))
        result = -1;
    if (!result) {
        uint64_t n = dataset_count(d);
        if (limit && (uint64_t)limit < n)
            n = (uint64_t)limit;
        progress_begin("tokens", n * (uint64_t)length);
        result = shards_score(&score, &scorer, d, length, n, progress_to);
        progress_end();
    }
    if (!result)
        report_shards(&score);
    if (d)
        dataset_close(d);
    unload();
    return result;
}

/* ---- squad -------------------------------------------------------------------------------- */

enum { RULES_AUTO, RULES_1_1, RULES_2_0 };

static int score_predictions(struct squad_score *score, const struct squad *s, int v2,
                             const struct js *predictions, const char *name)
{
    struct js *no_answer = NULL;
    if (na_prob_path && !(no_answer = js_load_last(na_prob_path)))
        return -1;
    int result = v2 ? squad_score_v2(score, s, predictions, name, no_answer, na_threshold)
                    : squad_score_v1(score, s, predictions, name);
    js_free(no_answer);
    return result;
}

/* Begins the report of all that concerns the data; `w`: or NULL. */
static struct report begin_report(const struct squad *s, const struct squad_windows *w)
{
    struct report r = REPORT_INIT(json);
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
    print_report(&r);
    return 0;
}

/* Answers that were given before. */
static int score_file(const struct squad *s, int v2)
{
    struct js *predictions = js_load_last(predictions_path);
    int result = predictions ? print_score(s, NULL, v2, predictions, predictions_path) : -1;
    js_free(predictions);
    return result;
}

/* ---- squad: answers of a model ------------------------------------------------------------ */

static struct squad_model squad_model;

static int load_squad_model(void)
{
    if (load_tokenizer() < 0 ||
        squad_model_open(&squad_model, model_dir, (int)tool_threads, batch_tokens) < 0 ||
        check_model(&squad_model.net) < 0)
        return -1;
    int64_t positions = squad_model.net.model.config.positions;
    if (positions < squad_length && !tool_given("sequence-length"))
        squad_length = positions;
    if (squad_length > positions)
        return err_usage("--sequence-length %lld is more than the model's %lld positions",
                         (long long)squad_length, (long long)positions);
    return 0;
}

static int make_windows(struct squad_windows *w, const struct squad *s)
{
    const struct squad_window_rules r = {
        .google = google, .length = (uint32_t)squad_length, .stride = (uint32_t)squad_stride,
        .question_tokens = (uint32_t)question_tokens,
    };
    return squad_model_windows(w, s, &r, tokenizer);
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
    print_report(&r);
    return 0;
}

static int answer_questions(const struct squad *s, int v2)
{
    struct squad_windows w;
    struct squad_answers a;
    const struct squad_answer_rules r = answer_rules(v2);
    if (load_squad_model() < 0 || make_windows(&w, s) < 0)
        return -1;
    squad_answers_init(&a, &r);
    progress_begin("windows", w.count);
    int result = squad_model_answer(&a, &squad_model, &w, progress_to);
    progress_end();
    squad_answers_end(&a);
    if (!result)
        result = squad_answers_save(&a, output_dir);
    if (!result)
        result = report_answers(s, &w, v2, &a);
    squad_answers_release(&a);
    squad_windows_release(&w);
    return result;
}

/* ---- squad: questions of a person --------------------------------------------------------- */

static int answer_one(struct squad_text context, const char *question, size_t n)
{
    struct squad s;
    struct squad_windows w;
    struct squad_best best;
    const struct squad_answer_rules r = answer_rules(rules == RULES_2_0);
    size_t valid = utf8_valid(question, n);
    if (valid < n)
        return err_set("no UTF-8 at byte %zu of the question", valid);
    squad_ask(&s, context, (struct squad_text){ question, n });
    int result = make_windows(&w, &s);
    if (!result) {
        result = squad_model_best(&best, &squad_model, &r, &w);
        if (!result) {
            struct report report = REPORT_INIT(json);
            squad_report_best(&report, (struct squad_text){ question, n }, &best, r.v2);
            print_report(&report);
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
    if (prompt_interactive(p))
        fputc('\n', stderr);
    prompt_close(p);
    return more;
}

static int run_ask(void)
{
    struct buf context = BUF_INIT;
    if (!strcmp(ask_path, "-"))
        return err_usage("--ask wants a file: stdin is for the questions");
    int result = file_read(ask_path, &context);
    size_t valid = utf8_valid(context.data, context.len);
    if (!result && valid < context.len)
        result = err_set("%s: no UTF-8 at byte %zu", ask_path, valid);
    if (!result)
        result = load_squad_model();
    if (!result)
        result = answer_lines((struct squad_text){ context.data, context.len });
    buf_release(&context);
    return result;
}

/* ---- squad: a file of questions ------------------------------------------------------------ */

/* The rules 1.1 want an answer to each question, unless there are none at all. */
static int run_squad_file(const struct squad *s)
{
    int v2 = rules == RULES_2_0 || (rules == RULES_AUTO && s->marks_impossible);
    if (na_prob_path && !v2)
        return err_usage("--na-prob is for SQuAD 2.0 (--rules 2.0)");
    if (!model_dir)
        return score_file(s, v2);
    if (!v2 && s->unanswerable < s->question_count && squad_check_answered(s) < 0)
        return -1;
    return answer_questions(s, v2);
}

static int check_squad(int operands)
{
    if (!predictions_path == !model_dir)
        return err_usage("either --predictions or --model is wanted");
    if (ask_path && !model_dir)
        return err_usage("--ask wants a --model");
    if (operands + (dev_path != NULL) + (ask_path != NULL) != 1)
        return err_usage("one file is wanted: FILE, --dev-file FILE or --ask FILE");
    return 0;
}

static int run_squad(int argc, char **argv)
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
    unload();
    return result;
}

/* ---- options ------------------------------------------------------------------------------ */

static int run_none(int argc, char **argv)
{
    return argc ? err_usage("unknown command '%s': wiki, lmbd, shards or squad is wanted", argv[0])
                : err_usage("a command is wanted: wiki, lmbd, shards or squad");
}

#define MODEL                                                                                      \
    { 'm', "model", OPT_TEXT, &model_dir, "DIR", "the model's folder", 0, 0 }
#define VOCAB                                                                                      \
    { 0, "vocab", OPT_TEXT, &vocab, "PATH", "the tokenizer, if not in the model's folder", 0, 0 }
#define LENGTH                                                                                     \
    { 0, "sequence-length", OPT_INT, &length, "N", "tokens the model sees at most; 0: all it can", \
      0, 1e9 }
#define BATCH                                                                                      \
    { 0, "batch-tokens", OPT_INT, &batch_tokens, "N", "tokens run at a time", 1, 1e9 }
#define PRECISION                                                                                  \
    { 0, "precision", OPT_CHOICE, &precision, OPS_PRECISION_WORDS,                                 \
      "of the factors in matrix products", 0, 0 }
#define JSON                                                                                       \
    { 0, "json", OPT_FLAG, &json, NULL, "print JSON, an object a line", 0, 0 }

static const struct opt wiki_options[] = {
    MODEL,
    VOCAB,
    { 0, "detokenize", OPT_CHOICE, &detokenizer, "wiki|ptb|none",
      "undo the word tokenization of WikiText or the Treebank", 0, 0 },
    LENGTH,
    { 0, "stride", OPT_INT, &stride, "N", "tokens from a window's start to the next", 1, 1e9 },
    BATCH,
    PRECISION,
    { 0, "dry-run", OPT_FLAG, &dry_run, NULL, "count tokens and words only; needs no model", 0, 0 },
    JSON,
    { 0 },
};
static const struct opt lmbd_options[] = { MODEL, VOCAB, BATCH, PRECISION, JSON, { 0 } };
static const struct opt shards_options[] = {
    MODEL,
    LENGTH,
    { 0, "limit", OPT_INT, &limit, "N", "sequences to score at most; 0: all", 0, 9e15 },
    BATCH,
    PRECISION,
    JSON,
    { 0 },
};
static const struct opt squad_options[] = {
    { 0, "dev-file", OPT_TEXT, &dev_path, "FILE", "the questions, as an operand", 0, 0 },
    { 'p', "predictions", OPT_TEXT, &predictions_path, "FILE", "answers by id (JSON)", 0, 0 },
    { 0, "rules", OPT_CHOICE, &rules, "auto|1.1|2.0", "whose figures; auto: by the data", 0, 0 },
    { 0, "na-prob", OPT_TEXT, &na_prob_path, "FILE", "probability of no answer, by id (JSON)", 0,
      0 },
    { 0, "na-threshold", OPT_REAL, &na_threshold, "P", "above it a question counts as unanswered",
      -1e9, 1e9 },
    JSON,
    { .help = "Answers of a model:" },
    MODEL,
    VOCAB,
    { 'o', "output", OPT_TEXT, &output_dir, "DIR", "where to write predictions.json and others", 0,
      0 },
    { 0, "ask", OPT_TEXT, &ask_path, "FILE", "answer questions from stdin about this text", 0, 0 },
    { 0, "style", OPT_CHOICE, &google, "hf|google", "how a context is cut into windows", 0, 0 },
    { 0, "sequence-length", OPT_INT, &squad_length, "N", "tokens of a window", 1, 1e9 },
    { 0, "stride", OPT_INT, &squad_stride, "N",
      "tokens that windows share (hf), or from one's start to the next's (google)", 0, 1e9 },
    { 0, "question-tokens", OPT_INT, &question_tokens, "N", "a long question is cut to as many", 0,
      1e9 },
    { 0, "n-best", OPT_INT, &n_best, "N", "starts, ends and answers to look at", 1, 1e6 },
    { 0, "answer-tokens", OPT_INT, &answer_tokens, "N", "longest answer", 1, 1e9 },
    { 0, "null-threshold", OPT_REAL, &null_threshold, "X",
      "2.0: no answer where it scores so much more than the best text", -1e9, 1e9 },
    BATCH,
    PRECISION,
    { 0 },
};

static const struct tool_command commands[] = {
    { NULL, "COMMAND", "Measure how well a model predicts text.", NULL, 0, 0, -1, run_none },
    { "wiki", "FILE...", "Perplexity of texts, a token and a word, by a sliding window.",
      wiki_options, TOOL_THREADS | TOOL_PROGRESS, 1, -1, run_wiki },
    { "lmbd", "FILE...", "LAMBADA: predict the last word of each passage (JSON lines).",
      lmbd_options, TOOL_THREADS | TOOL_PROGRESS, 1, -1, run_lmbd },
    { "shards", "DATA...", "Loss over training data: TFRecord shards or Megatron files.",
      shards_options, TOOL_THREADS | TOOL_PROGRESS, 1, -1, run_shards },
    { "squad", "[FILE]", "SQuAD: answer questions about texts; exact match and F1, 1.1 and 2.0.",
      squad_options, TOOL_THREADS | TOOL_PROGRESS, 0, 1, run_squad },
    { 0 },
};

static const struct tool tool = {
    .name = "evaluate",
    .summary = "how well a model predicts",
    .examples = "  evaluate wiki --model model wiki.test.tokens\n"
                "  evaluate lmbd --model model lambada_test.jsonl\n"
                "  evaluate shards --model model shards/validation\n"
                "  evaluate squad --model model dev-v1.1.json\n"
                "  evaluate squad --predictions predictions.json dev-v1.1.json\n"
                "  evaluate squad --model model --ask context.txt           asks for questions\n",
    .commands = commands,
    .version_detail = ops_kernels,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
