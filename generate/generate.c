/* generate - text from a model, as it is made. */
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/log.h"
#include "common/prompt.h"
#include "common/tool.h"
#include "common/utf8.h"
#include "generate/generator.h"
#include "model/ops.h"
#include "unicode/unicode.h"

static const char *model_dir, *vocab, *device = "cpu";
static struct opt_list prompts, stops;
static int json, precision, products, echo = 1;
static int asking; /* prompts come from a terminal, and stand between the texts there */
static int64_t samples = 1;
static struct generator g = {
    .length = 128,
    .sampler = { .temperature = 1, .top_k = 40, .top_p = 1, .repetition_penalty = 1 },
};

/* ---- output ------------------------------------------------------------------------------- */

static void print_news(struct generation *one)
{
    size_t n;
    const char *news = text_news(&one->text, &n);
    if (n && !json) {
        fwrite(news, 1, n, stdout);
        fflush(stdout);
    }
}

static void print_json(const struct generation *one, const char *prompt, size_t n)
{
    struct buf line = BUF_INIT, valid = BUF_INIT;
    utf8_repair(&valid, prompt, n);
    buf_adds(&line, "{\"prompt\": ");
    js_quote(&line, valid.data, valid.len);
    buf_adds(&line, ", \"text\": ");
    js_quote(&line, one->text.all.data, one->text.all.len);
    buf_addf(&line, ", \"finish\": \"%s\", \"prompt_tokens\": %zu, \"ids\": [",
             finish_name(one->finish), g.prompt.count);
    for (size_t i = g.prompt.count; i < one->ids.count; i++)
        buf_addf(&line, "%s%u", i > g.prompt.count ? ", " : "", one->ids.data[i]);
    buf_adds(&line, "]}\n");
    fputs(line.data, stdout);
    fflush(stdout);
    buf_release(&line);
    buf_release(&valid);
}

/* The first token comes of the prompt's run; each further one takes a run of its own. */
static void say_latency(const struct generation *one, double seconds)
{
    size_t n = one->ids.count - g.prompt.count;
    double each = seconds / (double)(n > 1 ? n - 1 : 1);
    log_info(
        "prompt: %zu tokens in %.3g ms; generated: %zu tokens, %.3g ms each, %.*f tokens/s (%s)",
        g.prompt.count, 1e3 * g.prompt_seconds, n, 1e3 * each, each > 0.01 ? 2 : 0, 1 / each,
        finish_name(one->finish));
    if (one->finish == FINISH_POSITIONS)
        log_warn(
            "stopped before --length: all %lld positions of the model are used (--slide goes on)",
            (long long)g.model.config.positions);
    tool_count("tokens", n);
}

/* ---- one prompt --------------------------------------------------------------------------- */

static int run_sample(struct generation *one, const char *prompt, size_t n, uint64_t key)
{
    int more = 1;
    double began = log_seconds();
    generation_begin(&g, one, key);
    if (echo && !json)
        fwrite(prompt, 1, n, stdout);
    while (more > 0) {
        more = generation_step(&g, one);
        if (prompt_interrupted && more > 0) {
            one->finish = FINISH_INTERRUPT;
            text_end(&one->text);
            more = 0;
        }
        if (more >= 0)
            print_news(one);
    }
    if (json && !more)
        print_json(one, prompt, n);
    else if (!json)
        puts("");
    fflush(stdout);
    if (!more)
        say_latency(one, log_seconds() - began);
    return more;
}

/* Prompt `number`, in all its samples, each with random numbers that depend on no other's. */
static int run_prompt(const char *prompt, size_t n, uint64_t number)
{
    struct generation one = { 0 };
    uint64_t key = rng_key(rng_key(0, (uint64_t)tool_seed), number);
    int result = generator_prompt(&g, prompt, n);
    for (int64_t i = 0; i < samples && !result; i++) {
        if (!json && (i || (number && !asking)))
            puts("---");
        result = run_sample(&one, prompt, n, rng_key(key, (uint64_t)i));
        if (one.finish == FINISH_INTERRUPT)
            break;
    }
    generation_release(&one);
    return result;
}

/* ---- where prompts come from ---------------------------------------------------------------- */

static int run_lines(void)
{
    struct prompt *p = prompt_open("generate", "Input: ");
    const char *line;
    size_t n;
    uint64_t number = 0;
    int more;
    if (!p)
        return -1;
    asking = prompt_interactive(p);
    while ((more = prompt_read(p, &line, &n)) > 0) {
        if (!n)
            continue;
        if (run_prompt(line, n, number++) == 0)
            continue;
        if (!asking) {
            more = -1;
            break;
        }
        log_warn("%s", err_get()); /* ask again */
    }
    prompt_close(p);
    return more;
}

/* "-": all of stdin is one prompt; the line end that closes it is not part of it. */
static int run_operand(const char *prompt, uint64_t number)
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
        result = run_prompt(text.data, text.len, number);
    buf_release(&text);
    return result;
}

static int check_options(void)
{
    if (ops_check_device(device) < 0)
        return -1;
    if (!model_dir)
        return err_usage("no model: give --model DIR");
    if (g.sampler.top_p <= 0)
        return err_usage("--top-p must be above 0");
    if (g.sampler.repetition_penalty <= 0)
        return err_usage("--repetition-penalty must be above 0");
    for (size_t i = 0; i < stops.count; i++)
        if (!*stops.items[i])
            return err_usage("--stop must not be empty");
    return 0;
}

static int run(int argc, char **argv)
{
    if (check_options() < 0)
        return -1;
    g.stops = stops.items;
    g.stop_count = stops.count;
    int result = generator_load(&g, model_dir, vocab, device, (int)tool_threads);
    uint64_t number = 0;
    if (!result) {
        ops_set_precision(g.ops, (enum ops_type)precision);
        result = ops_set_products(g.ops, (enum ops_products)products);
        log_detail("%s", ops_describe(g.ops));
    }
    for (size_t i = 0; i < prompts.count && !result; i++)
        result = run_prompt(prompts.items[i], strlen(prompts.items[i]), number++);
    for (int i = 0; i < argc && !result; i++)
        result = run_operand(argv[i], number++);
    if (!result && !number)
        result = run_lines();
    generator_release(&g);
    return result;
}

/* ---- options ------------------------------------------------------------------------------ */

static const struct opt options[] = {
    { 'm', "model", OPT_TEXT, &model_dir, "DIR", "model folder", 0, 0 },
    { 0, "vocab", OPT_TEXT, &vocab, "PATH", "tokenizer, if it is not in the model folder", 0, 0 },
    { 'p', "prompt", OPT_LIST, &prompts, "TEXT",
      "text to continue; the same as giving it as an operand", 0, 0 },
    { 'n', "length", OPT_INT, &g.length, "N", "maximum number of tokens to generate", 1, 1e9 },
    { 0, "samples", OPT_INT, &samples, "N", "number of texts to generate per prompt", 1, 1e9 },
    { 0, "stop", OPT_LIST, &stops, "TEXT", "stop before this text", 0, 0 },
    { 0, "slide", OPT_FLAG, &g.slide, NULL,
      "continue beyond the model's positions by dropping the oldest "
      "tokens",
      0, 0 },
    { 0, "echo", OPT_FLAG, &echo, NULL, "print the prompt before the generated text", 0, 0 },
    { 0, "json", OPT_FLAG, &json, NULL, "print JSON, one object per text", 0, 0 },
    { 0, "device", OPT_TEXT, &device, "cpu|cuda[:N]", "where to compute: the CPU, or GPU number N",
      0, 0 },
    { 0, "precision", OPT_CHOICE, &precision, OPS_PRECISION_WORDS,
      "precision of the matrix products that process the prompt", 0, 0 },
    { 0, "products", OPT_CHOICE, &products, OPS_PRODUCTS_WORDS,
      "f32 matrix products: our own code or OpenBLAS", 0, 0 },
    { 0, NULL, OPT_FLAG, NULL, NULL, "Choice of the next token:", 0, 0 },
    { 'T', "temperature", OPT_REAL, &g.sampler.temperature, "X",
      "randomness: below 1 favours likely tokens; 0 always takes the "
      "likeliest",
      0, 1e6 },
    { 'k', "top-k", OPT_INT, &g.sampler.top_k, "N",
      "choose among the N likeliest tokens; 0: among all", 0, 1e9 },
    { 0, "top-p", OPT_REAL, &g.sampler.top_p, "X",
      "choose among the likeliest tokens that together reach "
      "probability X",
      0, 1 },
    { 0, "repetition-penalty", OPT_REAL, &g.sampler.repetition_penalty, "X",
      "values above 1 make tokens that occurred before less likely", 0, 1e6 },
    { 0 },
};

static const struct tool_command commands[] = {
    { NULL, "[PROMPT...]", "Continue a text. Without PROMPT each line of stdin is one.", options,
      TOOL_THREADS | TOOL_SEED, 0, -1, run },
    { 0 },
};

/* Options of other programs. */
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
