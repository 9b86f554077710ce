/* evaluate - measures a model: text, last words, multiple choice, training data, SQuAD. */
#include <math.h>

#include "common/base/least.h"
#include "common/base/log.h"
#include "eval/evaluate_commands.h"
#include "eval/report.h"
#include "eval/subject.h"
#include "eval/wiki.h"
#include "tfrecord/read/dataset.h"

/* The options of a command. */
struct evaluation {
    struct subject subject;
    int dry_run, detokenizer, rule;
    int64_t stride, limit;
};

static const struct evaluation defaults = { .subject = SUBJECT_DEFAULTS };

/* ---- wiki --------------------------------------------------------------------------------- */

/* Checks the stride. If none was given, sets the stride of the rule's authors, or the sequence
 * length if that is shorter. */
static int check_stride(struct evaluation *given)
{
    int64_t usual = given->rule == WIKI_STRIDED ? 512 : 32;
    if (given->rule == WIKI_STRIDED && given->subject.length < 2)
        return err_usage("--rule strided needs a sequence length of at least 2");
    if (!given->stride)
        given->stride = usual < given->subject.length ? usual : given->subject.length;
    return given->stride <= given->subject.length
               ? 0
               : err_usage("--stride %lld is more than the sequence length of %lld",
                           (long long)given->stride, (long long)given->subject.length);
}

/* Returns exp(loss). The loss is limited to 20 for the rule `megatron`, and else to 700, so that a
 * double can hold the result. */
static double perplexity(struct evaluation *given, double loss)
{
    return given->rule == WIKI_MEGATRON ? score_perplexity(loss) : exp(loss < 700 ? loss : 700);
}

static void report_wiki(struct evaluation *given, struct report *r, const struct wiki_text *text,
                        const struct wiki_score *score)
{
    double loss = score->nll / score->weight, bytes = (double)text->bytes;
    report_real(r, "loss", loss);
    report_real(r, "loss_stderr", score_error(score->losses, score->squares, score->scored));
    report_real(r, "perplexity", perplexity(given, loss));
    if (given->rule == WIKI_MEGATRON && text->words > 1)
        report_real(r, "adjusted_perplexity", perplexity(given, loss * wiki_token_ratio(text)));
    if (given->rule == WIKI_WORDS) {
        report_real(r, "word_perplexity", perplexity(given, score->nll / (double)text->words));
        report_real(r, "byte_perplexity", perplexity(given, score->nll / bytes));
    }
    report_real(r, "bits_per_byte", score->nll / log(2) / bytes);
    if (text->count > 1)
        report_real(r, "bits_per_byte_stderr", wiki_bits_error(text));
    report_real(r, "accuracy", (double)score->right / (double)score->scored);
}

static void report_counts(struct evaluation *given, struct report *r, const char *path,
                          const struct wiki_text *text)
{
    static const char *const names[] = { "megatron", "strided", "words" };
    report_text(r, "file", path);
    report_text(r, "rule", names[given->rule]);
    if (given->rule == WIKI_WORDS)
        report_count(r, "documents", text->count);
    report_count(r, "tokens", text->tokens);
    report_count(r, "words", text->words);
    report_count(r, "bytes", text->bytes);
    if (given->rule == WIKI_MEGATRON && text->words > 1)
        report_exact(r, "token_ratio", wiki_token_ratio(text));
}

static int wiki_file(void *options, const char *path)
{
    struct evaluation *given = options;
    struct wiki_text text;
    struct wiki_score score;
    if (wiki_read(&text, path, given->rule, given->detokenizer, given->subject.tokenizer,
                  given->subject.encoder) < 0)
        return -1;
    SCOPED(report) r = REPORT_INIT(given->subject.json);
    report_counts(given, &r, path, &text);
    int result = 0;
    if (!given->dry_run) {
        progress_begin("token(s)", text.tokens);
        result = wiki_score(&score, &given->subject.scorer, &text, given->rule,
                            given->subject.length, given->stride, progress_to);
        progress_end();
        if (!result)
            report_wiki(given, &r, &text, &score);
    }
    result = result < 0 ? err_in("%s", path) : report_print(&r);
    tool_count("token(s)", text.tokens);
    wiki_release(&text);
    return result;
}

static int run_wiki(int argc, char **argv, void *options)
{
    struct evaluation *given = options;
    if (given->rule == WIKI_WORDS && given->stride)
        return err_usage("--stride has no meaning with --rule words: its windows do not overlap");
    int result = subject_load_tokenizer(&given->subject);
    if (!result && !given->dry_run)
        result = subject_open(&given->subject, HEAD_NEXT) < 0 || check_stride(given) < 0 ? -1 : 0;
    return subject_score(&given->subject, result, argc, argv, wiki_file);
}

/* ---- shards ------------------------------------------------------------------------------- */

struct shards_score {
    uint64_t sequences, targets, right;
    double nll, squares; /* sums of the targets' losses, in nats, and of the losses' squares */
};

static struct dataset *open_data(struct evaluation *given, int argc, char **argv)
{
    struct dataset *d = dataset_open((const char *const *)argv, (size_t)argc,
                                     (uint32_t)given->subject.length + 1);
    if (!d)
        return NULL;
    uint64_t ids = dataset_facts(d)->vocabulary;
    int64_t known = given->subject.scorer.net.model.config.vocabulary;
    if (ids > (uint64_t)known)
        err_set(
            "vocabulary and model differ: '%s' was made with a vocabulary of %llu tokens, but the "
            "model in '%s' has only %lld",
            argv[0], (unsigned long long)ids, given->subject.model_dir, (long long)known);
    else if (!dataset_count(d))
        err_set("nothing to score in '%s': it holds no sequence of %lld tokens", argv[0],
                (long long)given->subject.length + 1);
    else
        return d;
    dataset_close(d);
    return NULL;
}

/* Scores the first `sequences` sequences of d. Each token that is a label is predicted from the
 * tokens before it in its sequence. Returns 0, or -1 with an error, also if no token is a label. */
static int score_shards(struct shards_score *score, struct scorer *s, struct dataset *d,
                        int64_t length, uint64_t sequences)
{
    uint64_t vocabulary = (uint64_t)s->net.model.config.vocabulary;
    uint64_t group = (uint64_t)larger(1, s->net.batch / length); /* sequences in a batch */
    SCOPED_MEM uint32_t *ids = mem_zalloc(group * (uint64_t)(length + 1), sizeof *ids);
    SCOPED_MEM int32_t *labels = mem_zalloc(group * (uint64_t)length + 1, sizeof *labels);
    SCOPED_MEM struct window *w = mem_zalloc(group, sizeof *w);
    int result = 0;
    *score = (struct shards_score){ 0 };
    while (!result && score->sequences < sequences) {
        uint64_t n = sequences - score->sequences < group ? sequences - score->sequences : group;
        for (uint64_t i = 0; i < n && !result; i++) {
            uint32_t *at = ids + i * (uint64_t)(length + 1);
            int32_t *own = labels + i * (uint64_t)length;
            w[i] = (struct window){
                .ids = at, .count = length + 1, .scored = length, .labels = own
            };
            result = dataset_read(d, score->sequences + i, at, own) < 0
                         ? -1
                         : dataset_check(d, score->sequences + i, at, vocabulary);
        }
        if (!result && score_windows(s, w, n) < 0)
            result = err_in("sequence %llu or one soon after it",
                            (unsigned long long)score->sequences);
        for (uint64_t i = 0; i < n && !result; i++) {
            score->nll += w[i].loss;
            score->squares += w[i].squares;
            score->right += (uint64_t)w[i].right;
            score->targets += (uint64_t)w[i].targets;
        }
        score->sequences += n;
        progress_to(score->sequences * (uint64_t)length);
    }
    if (!result && !score->targets)
        return err_set("no token of the %llu sequence(s) is a label: nothing to score",
                       (unsigned long long)score->sequences);
    return result;
}

static int report_shards(struct evaluation *given, const struct shards_score *score)
{
    struct report r = REPORT_INIT(given->subject.json);
    report_count(&r, "sequences", score->sequences);
    report_count(&r, "tokens", score->targets);
    report_mean(&r, "loss", score->nll, score->squares, score->targets);
    report_real(&r, "perplexity", score_perplexity(score->nll / (double)score->targets));
    report_real(&r, "accuracy", (double)score->right / (double)score->targets);
    tool_count("token(s)", score->targets);
    return report_print(&r);
}

static int run_shards(int argc, char **argv, void *options)
{
    struct evaluation *given = options;
    struct shards_score score;
    struct dataset *d = NULL;
    int result = subject_open(&given->subject, HEAD_NEXT) < 0 || !(d = open_data(given, argc, argv))
                     ? -1
                     : 0;
    if (!result) {
        uint64_t n = dataset_count(d);
        if (given->limit && (uint64_t)given->limit < n)
            n = (uint64_t)given->limit;
        progress_begin("token(s)", n * (uint64_t)given->subject.length);
        result = score_shards(&score, &given->subject.scorer, d, given->subject.length, n);
        progress_end();
    }
    if (!result)
        result = report_shards(given, &score);
    dataset_close(d);
    subject_release(&given->subject);
    return result;
}

/* ---- options ------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct evaluation, member)
#define LENGTH                                                                                     \
    SUBJECT_LENGTH("maximum number of tokens in a window; 0: as many as the model can take")

static const struct opt wiki_options[] = {
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 0, "rule", OPT_CHOICE, AT(rule), WIKI_RULE_WORDS,
      "how to compute perplexity: as Megatron-LM, with the stride of Hugging Face's guide, or per "
      "word as lm-evaluation-harness" },
    { 0, "detokenize", OPT_CHOICE, AT(detokenizer), WIKI_DETOKENIZER_WORDS,
      "how to prepare a text: undo the word splitting of WikiText or the Penn Treebank, join "
      "lines as Hugging Face's guide does, or change nothing; auto: as --rule does" },
    LENGTH,
    { 0, "stride", OPT_INT, AT(stride), "N",
      "tokens from the start of one window to the next; 0: as the rule has it", 0, 1e9 },
    SUBJECT_COMPUTE,
    { 0, "dry-run", OPT_FLAG, AT(dry_run), NULL, "only count tokens and words; needs no model" },
    SUBJECT_JSON,
    { 0 },
};
static const struct opt shards_options[] = {
    SUBJECT_MODEL,
    LENGTH,
    { 0, "limit", OPT_INT, AT(limit), "N", "maximum number of sequences to score; 0: all", 0,
      9e15 },
    SUBJECT_COMPUTE,
    SUBJECT_JSON,
    { 0 },
};

static const struct tool_command none_command = {
    .args = "COMMAND",
    .summary = "Measure how well a model predicts text.",
};
static const struct tool_command wiki_command = {
    .name = "wiki",
    .args = "FILE...",
    .summary =
        "Print the perplexity of texts per token, per word and per byte, by a published rule.",
    TOOL_OPTIONS(wiki_options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS,
    .run = run_wiki,
};
static const struct tool_command shards_command = {
    .name = "shards",
    .args = "DATA...",
    .summary = "Loss over training data: TFRecord shards or Megatron files.",
    TOOL_OPTIONS(shards_options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS,
    .run = run_shards,
};

static const struct tool_command *const commands[] = {
    &none_command,        &wiki_command,          &lmbd_command, &choice_command,
    &line_scores_command, &minimal_pairs_command, &core_command, &shards_command,
    &squad_command,       &classify_command,      NULL,
};

static const struct tool tool = {
    .name = "evaluate",
    .examples = "  evaluate wiki --model model wiki.test.tokens\n"
                "  evaluate lmbd --model model lambada_test.jsonl\n"
                "  evaluate choice --model model hellaswag_val.jsonl\n"
                "  evaluate shards --model model shards/validation\n"
                "  evaluate squad --model model dev-v1.1.json\n"
                "  evaluate classify --model model -o predictions.tsv dev.tsv\n"
                "  evaluate squad --predictions predictions.json dev-v1.1.json\n"
                "  evaluate squad --model model --ask context.txt           asks for questions\n",
    .commands = commands,
    .version_detail = ops_kernels,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
