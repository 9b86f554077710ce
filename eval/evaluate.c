/* evaluate - how well a model predicts: WikiText perplexity, LAMBADA, training data, SQuAD. */
#include <math.h>
#include <stdio.h>

#include "common/err.h"
#include "common/log.h"
#include "common/tool.h"
#include "model/ops.h"
#include "eval/lambada.h"
#include "eval/report.h"
#include "eval/shards.h"
#include "eval/squad_metric.h"
#include "eval/wiki.h"

static const char *model_dir, *vocab;
static int json, dry_run, precision, detokenizer = WIKI_WIKI;
static const char *predictions_path, *na_prob_path;
static int rules;
static double na_threshold = 1;
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

static int load_model(void)
{
    if (!model_dir)
        return err_usage("--model is wanted");
    if (scorer_init(&scorer, model_dir, (int)tool_threads, batch_tokens) < 0)
        return -1;
    const struct model_config *c = &scorer.model.config;
    if (tokenizer && tokenizer_size(tokenizer) > c->vocabulary)
        return err_set("vocabulary and model differ: '%s' has %u tokens, '%s' knows %lld",
                       vocab ? vocab : model_dir, tokenizer_size(tokenizer), model_dir,
                       (long long)c->vocabulary);
    if (length > c->positions)
        return err_usage("--sequence-length %lld is more than the model's %lld positions",
                         (long long)length, (long long)c->positions);
    if (!length)
        length = c->positions;
    ops_set_precision(scorer.ops, (enum ops_precision)precision);
    log_detail("%s", ops_describe(scorer.ops));
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
    int64_t known = scorer.model.config.vocabulary;
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

static void report_figures(struct report *r, const char *prefix, const struct squad_figures *f)
{
    char key[32];
    snprintf(key, sizeof key, "%sexact", prefix);
    report_exact(r, key, f->exact);
    snprintf(key, sizeof key, "%sf1", prefix);
    report_exact(r, key, f->f1);
    snprintf(key, sizeof key, "%stotal", prefix);
    report_count(r, key, f->total);
}

static void report_squad_data(struct report *r, const char *path, const struct squad *s)
{
    report_text(r, "file", path);
    report_count(r, "paragraphs", s->paragraph_count);
    report_count(r, "questions", s->question_count);
    report_count(r, "unanswerable", s->unanswerable);
    report_count(r, "repeated_ids", s->repeated_ids);
    report_count(r, "empty_paragraphs", s->empty_paragraphs);
    report_count(r, "answers_in_place", s->fits[SQUAD_IN_PLACE]);
    report_count(r, "answers_by_utf16", s->fits[SQUAD_UTF16]);
    report_count(r, "answers_by_bytes", s->fits[SQUAD_BYTES]);
    report_count(r, "answers_moved", s->fits[SQUAD_MOVED]);
    report_count(r, "answers_nowhere", s->fits[SQUAD_NOWHERE]);
    tool_count("questions", s->question_count);
}

static void report_squad(struct report *r, const struct squad_score *score, int v2)
{
    report_count(r, "missing", score->missing);
    report_count(r, "unknown", score->unknown);
    if (!v2) {
        report_exact(r, "exact_match", score->all.exact);
        report_exact(r, "f1", score->all.f1);
        return;
    }
    report_figures(r, "", &score->all);
    if (score->has_answer.total)
        report_figures(r, "HasAns_", &score->has_answer);
    if (score->no_answer.total)
        report_figures(r, "NoAns_", &score->no_answer);
    if (na_prob_path) {
        report_exact(r, "best_exact", score->best_exact.score);
        report_exact(r, "best_exact_thresh", score->best_exact.threshold);
        report_exact(r, "best_f1", score->best_f1.score);
        report_exact(r, "best_f1_thresh", score->best_f1.threshold);
    }
}

static int score_predictions(struct squad_score *score, const struct squad *s, int v2)
{
    struct js *predictions = js_load(predictions_path), *no_answer = NULL;
    int result = predictions ? 0 : -1;
    if (!result && na_prob_path && !(no_answer = js_load(na_prob_path)))
        result = -1;
    if (!result && v2)
        result = squad_score_v2(score, s, predictions, predictions_path, no_answer, na_threshold);
    else if (!result)
        result = squad_score_v1(score, s, predictions, predictions_path);
    js_free(predictions);
    js_free(no_answer);
    return result;
}

static int run_squad(int argc, char **argv)
{
    (void)argc;
    struct squad s;
    struct squad_score score;
    if (!predictions_path)
        return err_usage("--predictions is wanted");
    if (squad_read(&s, argv[0]) < 0)
        return -1;
    int v2 = rules == RULES_2_0 || (rules == RULES_AUTO && s.marks_impossible);
    int result = na_prob_path && !v2 ? err_usage("--na-prob is for SQuAD 2.0 (--rules 2.0)")
                                     : score_predictions(&score, &s, v2);
    if (!result) {
        struct report r = REPORT_INIT(json);
        report_squad_data(&r, argv[0], &s);
        report_text(&r, "rules", v2 ? "2.0" : "1.1");
        report_squad(&r, &score, v2);
        print_report(&r);
    }
    squad_release(&s);
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
    { 'p', "predictions", OPT_TEXT, &predictions_path, "FILE", "answers by id (JSON)", 0, 0 },
    { 0, "rules", OPT_CHOICE, &rules, "auto|1.1|2.0", "whose figures; auto: by the data", 0, 0 },
    { 0, "na-prob", OPT_TEXT, &na_prob_path, "FILE", "probability of no answer, by id (JSON)", 0,
      0 },
    { 0, "na-threshold", OPT_REAL, &na_threshold, "P", "above it a question counts as unanswered",
      -1e9, 1e9 },
    JSON,
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
    { "squad", "FILE", "SQuAD: exact match and F1 of predicted answers, 1.1 and 2.0.",
      squad_options, 0, 1, 1, run_squad },
    { 0 },
};

static const struct tool tool = {
    .name = "evaluate",
    .summary = "how well a model predicts",
    .examples = "  evaluate wiki --model model wiki.test.tokens\n"
                "  evaluate lmbd --model model lambada_test.jsonl\n"
                "  evaluate shards --model model shards/validation\n"
                "  evaluate squad --predictions predictions.json dev-v1.1.json\n",
    .commands = commands,
    .version_detail = ops_kernels,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
