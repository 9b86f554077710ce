/* generate - generates text with a model and prints it token by token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/prompt.h"
#include "common/tool.h"
#include "common/utf8.h"
#include "generate/beams.h"
#include "generate/export_command.h"
#include "generate/generator.h"
#include "generate/prompt_cache.h"
#include "model/ops.h"
#include "model/stored.h"
#include "unicode/unicode.h"

/* The options, and the generator that they set up. */
struct generate {
    const char *model_dir, *vocab, *device, *load_path, *save_path;
    struct opt_list prompts, stops, biases;
    struct sampler_bias *bias_of; /* [biases.count] */
    int json, precision, weights, products, echo, history;
    int asking; /* 1: prompts come from a terminal, which shows them between the texts */
    int64_t samples;
    struct generator g;
    struct beams beams;
};

static const struct generate defaults = {
    .device = "cpu",
    .echo = 1,
    .history = 1,
    .samples = 1,
    .g = { .length = 128,
           .begin = 1,
           .sampler = { .temperature = 1,
                        .top_k = 40,
                        .top_p = 1,
                        .typical_p = 1,
                        .repetition_penalty = 1 } },
    .beams = { .width = 1, .length_penalty = 1 },
};

/* ---- output ------------------------------------------------------------------------------- */

static void print_news(struct generate *given, struct generation *one)
{
    size_t n;
    const char *news = text_news(&one->text, &n);
    if (n && !given->json) {
        fwrite(news, 1, n, stdout);
        fflush(stdout);
    }
}

static void add_token(struct buf *line, const struct generate *given, const struct logprob *p)
{
    struct buf text = BUF_INIT;
    size_t n;
    const char *bytes = tokenizer_token(given->g.tokenizer, p->id, &n);
    if (bytes)
        utf8_repair(&text, bytes, n);
    buf_addf(line, "{\"id\": %u, \"text\": ", p->id);
    js_quote(line, text.data, text.len);
    buf_addf(line, ", \"logprob\": %.9g", p->logprob);
    buf_release(&text);
}

/* Adds the log probability of each token, and those of the most probable tokens in its place. */
static void add_logprobs(struct buf *line, const struct generate *given,
                         const struct generation *one)
{
    size_t width = (size_t)given->g.alternatives + 1;
    buf_adds(line, ", \"logprobs\": [");
    for (size_t i = 0; i < one->logprob_count; i += width) {
        buf_adds(line, i ? ", " : "");
        add_token(line, given, &one->logprobs[i]);
        buf_adds(line, ", \"top\": [");
        for (size_t k = 1; k < width; k++) {
            buf_adds(line, k > 1 ? ", " : "");
            add_token(line, given, &one->logprobs[i + k]);
            buf_addc(line, '}');
        }
        buf_adds(line, "]}");
    }
    buf_addc(line, ']');
}

/* Prints a generation as a JSON line. score: of a text found by beam search, else NULL. */
static void print_json(struct generate *given, const struct generation *one, const char *prompt,
                       size_t n, const double *score)
{
    struct buf line = BUF_INIT, valid = BUF_INIT;
    utf8_repair(&valid, prompt, n);
    buf_adds(&line, "{\"prompt\": ");
    js_quote(&line, valid.data, valid.len);
    buf_adds(&line, ", \"text\": ");
    js_quote(&line, one->text.all.data, one->text.all.len);
    buf_addf(&line, ", \"finish\": \"%s\", \"prompt_tokens\": %zu, \"ids\": [",
             finish_name(one->finish), given->g.prompt.count);
    for (size_t i = given->g.prompt.count; i < one->ids.count; i++)
        buf_addf(&line, "%s%u", i > given->g.prompt.count ? ", " : "", one->ids.data[i]);
    buf_addc(&line, ']');
    if (score)
        buf_addf(&line, ", \"score\": %.9g", *score);
    if (given->g.alternatives)
        add_logprobs(&line, given, one);
    buf_adds(&line, "}\n");
    fputs(line.data, stdout);
    fflush(stdout);
    buf_release(&line);
    buf_release(&valid);
}

/* Logs the times per token. The first token needs only the prompt's run; each further one needs a
 * run of its own. */
static void say_latency(struct generate *given, const struct generation *one, double seconds)
{
    size_t n = one->ids.count - given->g.prompt.count;
    double each = seconds / (double)(n > 1 ? n - 1 : 1);
    log_info(
        "prompt: %zu tokens in %.3g ms; generated: %zu tokens, %.3g ms each, %.*f tokens/s (%s)",
        given->g.prompt.count, 1e3 * given->g.prompt_seconds, n, 1e3 * each, each > 0.01 ? 2 : 0,
        1 / each, finish_name(one->finish));
    if (one->finish == FINISH_POSITIONS)
        log_warn(
            "stopped before --length: all %lld positions of the model are used (--slide goes on)",
            (long long)given->g.model.config.positions);
    tool_count("tokens", n);
}

/* ---- one prompt --------------------------------------------------------------------------- */

static int run_sample(struct generate *given, struct generation *one, const char *prompt, size_t n,
                      uint64_t key)
{
    int more = 1;
    double began = log_seconds();
    generation_begin(&given->g, one, key);
    if (given->echo && !given->json)
        fwrite(prompt, 1, n, stdout);
    while (more > 0) {
        more = generation_step(&given->g, one);
        if (prompt_interrupted && more > 0) {
            one->finish = FINISH_INTERRUPT;
            text_end(&one->text);
            more = 0;
        }
        if (more >= 0)
            print_news(given, one);
    }
    if (given->json && !more)
        print_json(given, one, prompt, n, NULL);
    else if (!given->json)
        puts("");
    fflush(stdout);
    if (!more)
        say_latency(given, one, log_seconds() - began);
    return more;
}

/* Prints the best texts of a beam search. */
static int run_beams(struct generate *given, const char *prompt, size_t n)
{
    struct generation one = { 0 };
    double began = log_seconds();
    int more = 1;
    beams_begin(&given->beams, &given->g);
    while (more > 0 && !prompt_interrupted)
        more = beams_step(&given->beams);
    int64_t count = given->beams.result_count ? given->beams.result_count : 1;
    for (int64_t i = 0; i < given->samples && i < count && more >= 0; i++) {
        double score = beams_take(&given->beams, i, &one);
        if (given->json) {
            print_json(given, &one, prompt, n, &score);
        } else {
            if (i)
                puts("---");
            fwrite(prompt, 1, given->echo ? n : 0, stdout);
            print_news(given, &one);
            puts("");
        }
        if (!i)
            say_latency(given, &one, log_seconds() - began);
    }
    fflush(stdout);
    generation_release(&one);
    beams_release(&given->beams);
    return more < 0 ? -1 : 0;
}

/* Generates all samples for prompt `number`. The random numbers of a sample do not depend on other
 * prompts or samples. */
static int run_prompt(struct generate *given, const char *prompt, size_t n, uint64_t number)
{
    struct generation one = { 0 };
    uint64_t key = rng_key(rng_key(0, (uint64_t)tool_seed), number);
    int result = generator_prompt(&given->g, prompt, n);
    if (!result && !number && given->save_path)
        result = prompt_cache_save(&given->g, given->model_dir, given->save_path);
    if (!result && given->beams.width > 1) {
        if (!given->json && number && !given->asking)
            puts("---");
        return run_beams(given, prompt, n);
    }
    for (int64_t i = 0; i < given->samples && !result; i++) {
        if (!given->json && (i || (number && !given->asking)))
            puts("---");
        result = run_sample(given, &one, prompt, n, rng_key(key, (uint64_t)i));
        if (one.finish == FINISH_INTERRUPT)
            break;
    }
    generation_release(&one);
    return result;
}

/* ---- where prompts come from ---------------------------------------------------------------- */

static int run_lines(struct generate *given)
{
    struct prompt *p = prompt_open("generate", "Input: ", given->history);
    const char *line;
    size_t n;
    uint64_t number = 0;
    int more;
    if (!p)
        return -1;
    given->asking = prompt_interactive(p);
    while ((more = prompt_read(p, &line, &n)) > 0) {
        if (!n)
            continue;
        if (run_prompt(given, line, n, number++) == 0)
            continue;
        if (!given->asking) {
            more = -1;
            break;
        }
        log_warn("%s", err_get()); /* ask again */
    }
    if (prompt_close(p) < 0)
        log_warn("%s", err_get());
    return more;
}

/* Runs the prompt of an operand. "-" means that all of stdin is one prompt, without its last line
 * end. */
static int run_operand(struct generate *given, const char *prompt, uint64_t number)
{
    struct buf text = BUF_INIT;
    int result = 0;
    if (strcmp(prompt, "-")) {
        buf_adds(&text, prompt);
    } else {
        result = file_read_any("-", &text);
        if (text.len && text.data[text.len - 1] == '\n')
            buf_truncate(&text, text.len - 1);
    }
    if (!result)
        result = run_prompt(given, text.data, text.len, number);
    buf_release(&text);
    return result;
}

/* Refuses options that have no effect in a beam search. */
static int check_beams(const struct generate *given)
{
    static const char *const useless[] = { "temperature", "top-k", "top-p", "min-p",
                                           "typical-p",   "seed",  "slide", "logprobs" };
    if (given->beams.width == 1)
        return tool_given("length-penalty") ? err_usage("--length-penalty needs --beams") : 0;
    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++)
        if (tool_given(useless[i]))
            return err_usage("--%s has no meaning with --beams", useless[i]);
    if (given->samples > given->beams.width)
        return err_usage("--samples %lld is more than the %lld texts that --beams keeps",
                         (long long)given->samples, (long long)given->beams.width);
    return 0;
}

static int check_options(struct generate *given)
{
    if (ops_check_device(given->device) < 0)
        return -1;
    if (!given->model_dir)
        return err_usage("no model: give --model DIR");
    if (given->g.sampler.top_p <= 0)
        return err_usage("--top-p must be above 0");
    if (given->g.sampler.typical_p <= 0)
        return err_usage("--typical-p must be above 0");
    if (given->g.sampler.repetition_penalty <= 0)
        return err_usage("--repetition-penalty must be above 0");
    if (given->save_path && tool_may_replace(given->save_path, NULL, NULL) < 0)
        return -1;
    if (given->g.alternatives && !given->json)
        return err_usage("--logprobs needs --json");
    for (size_t i = 0; i < given->stops.count; i++)
        if (!*given->stops.items[i])
            return err_usage("--stop must not be empty");
    return check_beams(given);
}

static int parse_biases(struct generate *given)
{
    const struct opt_list *list = &given->biases;
    given->bias_of = mem_zalloc(list->count + 1, sizeof *given->bias_of);
    given->g.sampler.biases = given->bias_of;
    given->g.sampler.bias_count = list->count;
    for (size_t i = 0; i < list->count; i++)
        if (sampler_bias_parse(&given->bias_of[i], list->items[i]) < 0)
            return err_usage("--logit-bias '%s': %s", list->items[i], err_get());
    return 0;
}

/* Checks that the tokens of --logit-bias are in the vocabulary, and that it has as many tokens as
 * --logprobs asks for. */
static int check_tokens(const struct generate *given)
{
    uint32_t known = tokenizer_size(given->g.tokenizer);
    if (given->g.alternatives > known)
        return err_set("--logprobs %lld: the vocabulary has only %u tokens",
                       (long long)given->g.alternatives, known);
    for (size_t i = 0; i < given->biases.count; i++)
        if (given->bias_of[i].id >= known)
            return err_set("--logit-bias '%s': the vocabulary has only %u tokens",
                           given->biases.items[i], known);
    return 0;
}

static int run(int argc, char **argv, void *options_given)
{
    struct generate *given = options_given;
    if (check_options(given) < 0 || parse_biases(given) < 0)
        return -1;
    given->g.stops = given->stops.items;
    given->g.stop_count = given->stops.count;
    int result = generator_load(&given->g, given->model_dir, given->vocab, given->device,
                                (int)tool_threads, stored_type(given->weights));
    if (!result)
        result = check_tokens(given);
    uint64_t number = 0;
    if (!result) {
        ops_set_precision(given->g.ops, (enum ops_type)given->precision);
        result = ops_set_products(given->g.ops, (enum ops_products)given->products);
        log_detail("%s", ops_describe(given->g.ops));
    }
    if (!result && given->load_path)
        result = prompt_cache_load(&given->g, given->model_dir, given->load_path);
    for (size_t i = 0; i < given->prompts.count && !result; i++)
        result = run_prompt(given, given->prompts.items[i], strlen(given->prompts.items[i]),
                            number++);
    for (int i = 0; i < argc && !result; i++)
        result = run_operand(given, argv[i], number++);
    if (!result && !number)
        result = run_lines(given);
    generator_release(&given->g);
    free(given->bias_of);
    return result;
}

/* ---- options ------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct generate, member)
static const struct opt options[] = {
    { 'm', "model", OPT_TEXT, AT(model_dir), "DIR", "model folder, or a GGUF file", 0, 0 },
    { 0, "vocab", OPT_TEXT, AT(vocab), "PATH", "tokenizer, if it is not in the model folder", 0,
      0 },
    { 'p', "prompt", OPT_LIST, AT(prompts), "TEXT",
      "text to continue; the same as giving it as an operand", 0, 0 },
    { 'n', "length", OPT_INT, AT(g.length), "N", "maximum number of tokens to generate", 1, 1e9 },
    { 0, "samples", OPT_INT, AT(samples), "N", "number of texts to generate per prompt", 1, 1e9 },
    { 0, "stop", OPT_LIST, AT(stops), "TEXT", "stop before this text", 0, 0 },
    { 0, "begin", OPT_FLAG, AT(g.begin), NULL,
      "put the vocabulary's begin-of-text token, if it has one, before the prompt", 0, 0 },
    { 0, "beams", OPT_INT, AT(beams.width), "N",
      "beam search: keep the N most probable texts at each step; 1: choose token by token", 1,
      1000 },
    { 0, "length-penalty", OPT_REAL, AT(beams.length_penalty), "X",
      "with --beams: divide a text's log probability by its tokens to the power of X", -100, 100 },
    { 0, "slide", OPT_FLAG, AT(g.slide), NULL,
      "continue beyond the model's positions by dropping the oldest "
      "tokens",
      0, 0 },
    { 0, "prompt-cache", OPT_TEXT, AT(load_path), "FILE",
      "do not compute what a prompt begins with if it is in this file", 0, 0 },
    { 0, "save-prompt-cache", OPT_TEXT, AT(save_path), "FILE",
      "write what was computed of the first prompt into this file", 0, 0 },
    { 0, "special", OPT_FLAG, AT(g.special), NULL,
      "spellings of special tokens in a prompt, such as <|endoftext|>, are these tokens", 0, 0 },
    { 0, "echo", OPT_FLAG, AT(echo), NULL, "print the prompt before the generated text", 0, 0 },
    { 0, "json", OPT_FLAG, AT(json), NULL, "print JSON, one object per text", 0, 0 },
    { 0, "logprobs", OPT_INT, AT(g.alternatives), "N",
      "with --json: log probability of each token, and of the N likeliest in its place; 0: none", 0,
      1e5 },
    { 0, "history", OPT_FLAG, AT(history), NULL,
      "keep the prompts typed at a terminal for the next run", 0, 0 },
    { 0, "device", OPT_TEXT, AT(device), "cpu|cuda[:N]",
      "where to compute: the CPU, or GPU number N", 0, 0 },
    { 0, "precision", OPT_CHOICE, AT(precision), OPS_PRECISION_WORDS,
      "precision of the matrix products that process the prompt", 0, 0 },
    { 0, "weights", OPT_CHOICE, AT(weights), STORED_WORDS,
      "type in which the weights are kept in memory", 0, 0 },
    { 0, "products", OPT_CHOICE, AT(products), OPS_PRODUCTS_WORDS,
      "f32 matrix products: our own code or OpenBLAS", 0, 0 },
    { .help = "Choice of the next token:" },
    { 'T', "temperature", OPT_REAL, AT(g.sampler.temperature), "X",
      "randomness: below 1 favours likely tokens; 0 always takes the "
      "likeliest",
      0, 1e6 },
    { 'k', "top-k", OPT_INT, AT(g.sampler.top_k), "N",
      "choose among the N likeliest tokens; 0: among all", 0, 1e9 },
    { 0, "top-p", OPT_REAL, AT(g.sampler.top_p), "X",
      "choose among the likeliest tokens that together reach "
      "probability X",
      0, 1 },
    { 0, "min-p", OPT_REAL, AT(g.sampler.min_p), "X",
      "choose among the tokens at least X times as probable as the likeliest", 0, 1 },
    { 0, "typical-p", OPT_REAL, AT(g.sampler.typical_p), "X",
      "choose among the tokens of most typical surprise that together reach probability X", 0, 1 },
    { 0, "logit-bias", OPT_LIST, AT(biases), "ID=X",
      "add X to the logit of token number ID; may be given more than once", 0, 0 },
    { 0, "repetition-penalty", OPT_REAL, AT(g.sampler.repetition_penalty), "X",
      "values above 1 make tokens that occurred before less likely", 0, 1e6 },
    { 0, "presence-penalty", OPT_REAL, AT(g.sampler.presence), "X",
      "subtract X from the logit of each token that was generated before", -1e6, 1e6 },
    { 0, "frequency-penalty", OPT_REAL, AT(g.sampler.frequency), "X",
      "subtract X from a token's logit for each time it was generated before", -1e6, 1e6 },
    { 0, "repetition-window", OPT_INT, AT(g.sampler.window), "N",
      "the penalties look at the last N tokens of the text; 0: at all", 0, 1e9 },
    { 0 },
};

static const struct tool_command generate = {
    .args = "[PROMPT...]",
    .summary = "Continue a text. Without PROMPT each line of stdin is one.",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .common = TOOL_THREADS | TOOL_SEED | TOOL_FORCE,
    .max_args = -1,
    .run = run,
};

static const struct tool_command *const commands[] = { &generate, &export_command, NULL };

/* Returns the advice for an option of a similar program, or NULL. */
static const char *foreign(const char *option)
{
    static const struct opt_foreign table[] = {
        { "model-name-or-path", "give --model" },
        { "tokenizer-type", "the model folder holds its tokenizer, or give --vocab" },
        { "topk", "give --top-k" },
        { "input-len", "a prompt of any length is taken" },
        { "output-len", "give --length" },
        { "max-new-tokens", "give --length" },
        { "stop-token", "give --stop" },
        { "save-samples-path", "the text goes to stdout" },
        { "fp16", "give --precision bf16" },
        { 0 },
    };
    return opt_foreign(table, option);
}

static const struct tool tool = {
    .foreign = foreign,
    .name = "generate",
    .examples = "  generate --model model --prompt 'The Moon is'\n"
                "  generate --model model --temperature 0 --length 20 'The Moon is'\n"
                "  generate --model model                        asks for prompts\n",
    .commands = commands,
    .version_detail = ops_kernels,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
