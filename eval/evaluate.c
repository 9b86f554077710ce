/* evaluate - how well a model predicts: WikiText perplexity, LAMBADA, training data, SQuAD. */
#include <math.h>

#include "common/err.h"
#include "common/log.h"
#include "common/tool.h"
#include "eval/lambada.h"
#include "eval/report.h"
#include "eval/shards.h"
#include "eval/squad_command.h"
#include "eval/subject.h"
#include "eval/wiki.h"

static int dry_run, detokenizer = WIKI_WIKI;
static int64_t length, stride = 32, limit;
static struct scorer scorer;

/* Loads the model; sets the length to all it can see unless it was given. */
static int load_model(void)
{
    if (!subject.model_dir)
        return err_usage("no model: give --model DIR");
    if (scorer_init(&scorer, subject.model_dir, subject.device, (int)tool_threads,
                    subject.batch_tokens) < 0 ||
        subject_check(&scorer.net) < 0)
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
    subject_release();
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
    if (wiki_read(&text, path, detokenizer, subject.encoder) < 0)
        return -1;
    struct report r = REPORT_INIT(subject.json);
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
        result = report_print(&r);
    else
        err_in("%s", path);
    report_release(&r);
    tool_count("tokens", text.ids.count);
    wiki_release(&text);
    return result;
}

static int run_wiki(int argc, char **argv)
{
    int result = subject_load_tokenizer();
    if (!result && !dry_run)
        result = load_model() < 0 || check_stride() < 0 ? -1 : 0;
    for (int i = 0; i < argc && !result; i++)
        result = wiki_file(argv[i]);
    unload();
    return result;
}

/* ---- lmbd --------------------------------------------------------------------------------- */

static int report_lambada(const char *path, const struct lambada_score *score)
{
    struct report r = REPORT_INIT(subject.json);
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
    tool_count("passages", score->passages);
    return report_print(&r);
}

static int run_lmbd(int argc, char **argv)
{
    struct lambada_score score;
    int result = subject_load_tokenizer() < 0 || load_model() < 0 ? -1 : 0;
    for (int i = 0; i < argc && !result; i++) {
        progress_begin("passages", 0);
        result = lambada_score(&score, &scorer, subject.encoder, argv[i], progress_to);
        progress_end();
        if (!result)
            result = report_lambada(argv[i], &score);
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
        err_set(
            "vocabulary and model differ: '%s' was made with a vocabulary of %llu tokens, but the model in '%s' has only %lld",
            argv[0], (unsigned long long)ids, subject.model_dir, (long long)known);
    else if (!dataset_count(d))
        err_set("nothing to score in '%s': it holds no sequence of %lld tokens", argv[0],
                (long long)length + 1);
    else
        return d;
    dataset_close(d);
    return NULL;
}

static int report_shards(const struct shards_score *score)
{
    struct report r = REPORT_INIT(subject.json);
    double loss = score->nll / (double)score->targets;
    report_count(&r, "sequences", score->sequences);
    report_count(&r, "tokens", score->targets);
    report_real(&r, "loss", loss);
    report_real(&r, "perplexity", score_perplexity(loss));
    report_real(&r, "accuracy", share(score->right, score->targets));
    tool_count("tokens", score->targets);
    return report_print(&r);
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
        result = report_shards(&score);
    if (d)
        dataset_close(d);
    unload();
    return result;
}

/* ---- options ------------------------------------------------------------------------------ */

static int run_none(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return err_usage("no command: give wiki, lmbd, shards or squad");
}

#define LENGTH                                                                                     \
    {                                                                                              \
        0, "sequence-length", OPT_INT, &length, "N",                                               \
            "maximum number of tokens in a window; 0: as many as the model can take", 0, 1e9       \
    }

static const struct opt wiki_options[] = {
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 0, "detokenize", OPT_CHOICE, &detokenizer, "wiki|ptb|none",
      "undo the word splitting of WikiText or the Penn Treebank", 0, 0 },
    LENGTH,
    { 0, "stride", OPT_INT, &stride, "N", "tokens from the start of one window to the next", 1,
      1e9 },
    SUBJECT_BATCH,
    SUBJECT_PRECISION,
    SUBJECT_DEVICE,
    SUBJECT_PRODUCTS,
    { 0, "dry-run", OPT_FLAG, &dry_run, NULL, "only count tokens and words; needs no model", 0, 0 },
    SUBJECT_JSON,
    { 0 },
};
static const struct opt lmbd_options[] = { SUBJECT_MODEL,     SUBJECT_VOCAB,  SUBJECT_BATCH,
                                           SUBJECT_PRECISION, SUBJECT_DEVICE, SUBJECT_PRODUCTS,
                                           SUBJECT_JSON,      { 0 } };
static const struct opt shards_options[] = {
    SUBJECT_MODEL,
    LENGTH,
    { 0, "limit", OPT_INT, &limit, "N", "maximum number of sequences to score; 0: all", 0, 9e15 },
    SUBJECT_BATCH,
    SUBJECT_PRECISION,
    SUBJECT_DEVICE,
    SUBJECT_PRODUCTS,
    SUBJECT_JSON,
    { 0 },
};

static const struct tool_command commands[] = {
    { NULL, "COMMAND", "Measure how well a model predicts text.", NULL, 0, 0, 0, run_none },
    { "wiki", "FILE...", "Perplexity of texts, a token and a word, by a sliding window.",
      wiki_options, TOOL_THREADS | TOOL_PROGRESS, 1, -1, run_wiki },
    { "lmbd", "FILE...", "LAMBADA: predict the last word of each passage (JSON lines).",
      lmbd_options, TOOL_THREADS | TOOL_PROGRESS, 1, -1, run_lmbd },
    { "shards", "DATA...", "Loss over training data: TFRecord shards or Megatron files.",
      shards_options, TOOL_THREADS | TOOL_PROGRESS, 1, -1, run_shards },
    { "squad", "[FILE]", "SQuAD: answer questions about texts; exact match and F1, 1.1 and 2.0.",
      squad_command_options, TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE, 0, 1, squad_command },
    { 0 },
};

/* Options of other programs. */
static const char *foreign(const char *option)
{
    static const struct opt_foreign table[] = {
        { "task", "give a command: wiki, lmbd, shards or squad" },
        { "valid-data", "the files are operands" },
        { "predict-file", "the file of questions is an operand" },
        { "model-name-or-path", "give --model" },
        { "pretrained-checkpoint", "give --model" },
        { "checkpoint-input-dir", "give --model" },
        { "init-checkpoint", "give --model" },
        { "tokenizer-type", "the model folder holds its tokenizer, or give --vocab" },
        { "vocab-file", "give --vocab" },
        { "seq-length", "give --sequence-length" },
        { "max-seq-length", "give --sequence-length" },
        { "overlapping-eval", "give --stride" },
        { "doc-stride", "give --stride" },
        { "max-query-length", "give --question-tokens" },
        { "max-answer-length", "give --answer-tokens" },
        { "n-best-size", "give --n-best" },
        { "null-score-diff-threshold", "give --null-threshold" },
        { "version-2-with-negative", "give --rules 2.0" },
        { "na-prob-file", "give --na-prob" },
        { "na-prob-thresh", "give --na-threshold" },
        { "out-file", "the scores go to stdout; --json prints them as JSON" },
        { "output-dir", "give --output" },
        { "strict-lambada", "evaluate lmbd always scores the whole last word" },
        { "eod-mask-loss", "every token of the text counts" },
        { "batch-size", "give --batch-tokens" },
        { "log-interval", "give --progress" },
        { "fp16", "give --precision bf16" },
        { 0 },
    };
    return opt_foreign(table, option);
}

static const struct tool tool = {
    .foreign = foreign,
    .name = "evaluate",
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
