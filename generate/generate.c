/* generate - generates text with a model and prints it token by token. */
#include <unistd.h>

#include "common/base/least.h"
#include "common/base/log.h"
#include "common/base/noun.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/files/usage.h"
#include "common/formats/js.h"
#include "common/program/prompt.h"
#include "common/program/tool.h"
#include "generate/beams.h"
#include "generate/export_command.h"
#include "generate/generator.h"
#include "generate/prompt_cache.h"
#include "model/compute/ops.h"
#include "model/compute/stored.h"

/* Where prompts come from: the option --prompt, then the operands or, without any of these, the
 * lines of stdin. */
struct feed {
    struct opt_list given;
    char **operands;
    size_t operand_count,
        next; /* next: index in the list of the values of --prompt, followed by the operands */
    struct buf text;      /* text of the operand "-" */
    struct prompt *lines; /* lines of stdin; NULL: they are not read */
    uint64_t number;      /* prompts so far */
};

/* One text of the queue. */
struct queued {
    struct queued *next;
    struct buf prompt;
    uint64_t number; /* number of the prompt */
    int64_t sample;  /* number of the text, from 0, among those with this prompt */
    struct generation one;
    double prompt_seconds, began, ended; /* times of log_seconds; ended 0: not yet */
    int shown;                           /* 1: what stands before the text was printed */
};

/* The texts that have begun and are not printed to their end, in the order of the prompts. When a
 * text ends, the next one begins; it stays here until the texts before it have ended, too. */
struct queue {
    struct queued *first, **end; /* end: where the next text is put */
    struct generation **going;   /* [together] */
    int64_t active;              /* number of unfinished texts */

    /* the last prompt, and how many of its texts have not begun yet */
    struct start start;
    struct buf prompt;
    int64_t left;
};

/* The options, and the generator that they set up. */
struct generate {
    const char *model_dir, *vocab, *device, *load_path, *save_path;
    struct opt_list stops, biases;
    struct sampler_bias *bias_of; /* [biases.count] */
    int json, precision, cache_precision, weights, echo, raw, history;
    int64_t samples, together;
    struct feed feed;
    struct queue queue;
    struct generator g;
    struct beams beams;
};

static const struct generate defaults = {
    .model_dir = "model",
    .device = "cpu",
    .echo = 1,
    .history = 1,
    .samples = 1,
    .together = 8,
    .feed = { .text = BUF_INIT },
    .queue = { .prompt = BUF_INIT },
    .g = { .length = 128, .begin = 1, .verify = 1, .sampler = SAMPLER_DEFAULT },
    .beams = { .width = 1, .length_penalty = 1 },
};

/* ---- output ------------------------------------------------------------------------------- */

/* Prints text, or a line of JSON. A terminal gets control characters, other than line ends and
 * tabs, in the form \x1b, in JSON \u001b, so that no text can give it orders. */
static void print_text(const struct generate *given, const char *text, size_t n)
{
    if (given->raw || !isatty(1)) {
        fwrite(text, 1, n, stdout);
        return;
    }
    for (size_t i = 0, width; i < n; i += width) {
        const int plain = text[i] == '\n' || text[i] == '\t';
        const size_t control = plain ? 0 : err_control(text + i, n - i);
        width = control ? control : 1;
        if (!control)
            putchar(text[i]);
        else if (given->json)
            printf("\\u%04x", utf8_get((const unsigned char *)text + i, &width));
        for (size_t k = 0; k < control && !given->json; k++)
            printf("\\x%02x", (unsigned char)text[i + k]);
    }
}

static void print_news(struct generate *given, struct generation *one)
{
    size_t n;
    const char *news = text_news(&one->text, &n);
    if (n && !given->json) {
        print_text(given, news, n);
        fflush(stdout);
    }
}

static void add_token(struct buf *line, const struct generate *given, const struct order_rank *p)
{
    SCOPED(buf) text = BUF_INIT;
    size_t n;
    const char *bytes = tokenizer_text(given->g.tokenizer, p->item, &n);
    if (bytes)
        utf8_repair(&text, bytes, n);
    buf_addf(line, "{\"id\": %u, \"text\": ", p->item);
    js_quote(line, text.data, text.len);
    buf_addf(line, ", \"logprob\": %.9g", p->rank);
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

/* Prints a generation as a JSON line. `score` points to the score of a text found by beam search;
 * NULL for other texts. */
static void print_json(struct generate *given, const struct generation *one, const char *prompt,
                       size_t n, const double *score)
{
    SCOPED(buf) line = BUF_INIT;
    buf_adds(&line, "{\"prompt\": ");
    js_quote(&line, prompt, n);
    buf_adds(&line, ", \"text\": ");
    js_quote(&line, one->text.all.data, one->text.all.len);
    buf_addf(&line, ", \"finish\": \"%s\", \"prompt_tokens\": %zu, \"ids\": [",
             finish_name(one->finish), one->prompt);
    for (size_t i = one->prompt; i < one->ids.count; i++)
        buf_addf(&line, "%s%u", i > one->prompt ? ", " : "", one->ids.data[i]);
    buf_addc(&line, ']');
    if (score)
        buf_addf(&line, ", \"score\": %.9g", *score);
    if (given->g.alternatives)
        add_logprobs(&line, given, one);
    buf_adds(&line, "}\n");
    print_text(given, line.data, line.len);
}

/* Prints what stands before text number `sample` of prompt number `number`, such as the prompt. */
static void print_head(const struct generate *given, uint64_t number, int64_t sample,
                       const char *prompt, size_t n)
{
    if (given->json)
        return;
    if (sample || (number && !prompt_interactive(given->feed.lines))) /* which shows prompts */
        puts("---");
    if (given->echo)
        print_text(given, prompt, n);
}

/* Prints what follows a text, and counts its tokens; score as in print_json. */
static void print_end(struct generate *given, const struct generation *one, const char *prompt,
                      size_t n, const double *score)
{
    if (given->json)
        print_json(given, one, prompt, n, score);
    else
        puts("");
    fflush(stdout);
    tool_count("token(s)", one->ids.count - one->prompt);
}

/* Logs the times per token. All texts that are generated together share them. The first token of a
 * text needs only the prompt's run; each further token needs a run of its own. */
static void say_latency(struct generate *given, const struct generation *one, double prompt_seconds,
                        double seconds)
{
    size_t n = one->ids.count - one->prompt;
    double each = seconds / (double)(n > 1 ? n - 1 : 1);
    log_info(
        "prompt: %zu token%s in %.3g ms; generated: %zu token%s, %.3g ms each, %.*f tokens/s (%s)",
        one->prompt, noun_end(one->prompt), 1e3 * prompt_seconds, n, noun_end(n), 1e3 * each,
        each > 0.01 ? 2 : 0, 1 / each, finish_name(one->finish));
    if (one->finish == FINISH_POSITIONS)
        log_warn(
            "stopped before --length: all %lld positions of the model are used (--slide goes on)",
            (long long)given->g.model.config.positions);
}

/* ---- where prompts come from ---------------------------------------------------------------- */

/* Sets *text and *n to the text of an operand. "-" means all of stdin, without a byte order mark
 * and its last line end. Returns 1, or -1 with an error. */
static int feed_operand(struct feed *f, const char *operand, const char **text, size_t *n)
{
    *text = operand;
    *n = strlen(operand);
    if (strcmp(operand, "-"))
        return 1;
    buf_clear(&f->text);
    if (file_read_any("-", &f->text) < 0)
        return -1;
    const size_t mark = utf8_mark(f->text.data, f->text.len);
    *text = f->text.data + mark;
    *n = f->text.len - mark;
    for (const char *end = "\n\r"; *end; end++)
        *n -= *n && (*text)[*n - 1] == *end;
    return 1;
}

enum { LATER = 2 };

/* Sets *text and *n to the next line of stdin that is not empty. Returns 1, 0 at the end, -1 with
 * an error, or LATER if no line has arrived yet and `wait` is 0; with `wait` 1 it waits. */
static int feed_line(struct feed *f, int wait, const char **text, size_t *n)
{
    int more;
    do {
        if (!wait && !prompt_ready(f->lines))
            return LATER;
        more = prompt_read(f->lines, text, n);
    } while (more > 0 && !*n);
    return more;
}

/* Sets *text and *n to the next prompt, from the operands or from stdin. Returns 1, 0 at the end,
 * -1 with an error, or, if `wait` is 0, LATER if no prompt has arrived yet. */
static int feed_next(struct feed *f, int wait, const char **text, size_t *n)
{
    if (ferror(stdout)) /* nobody would read another text; the end of the program says why */
        return 0;
    if (f->lines)
        return feed_line(f, wait, text, n);
    const size_t i = f->next++;
    if (i >= f->given.count + f->operand_count)
        return 0;
    if (i >= f->given.count)
        return feed_operand(f, f->operands[i - f->given.count], text, n);
    *text = f->given.items[i];
    *n = strlen(*text);
    return 1;
}

static int feed_open(struct feed *f, int argc, char **argv, int history)
{
    f->operands = argv;
    f->operand_count = (size_t)argc;
    for (int i = 0, dashes = 0; i < argc; i++)
        if (!strcmp(argv[i], "-") && dashes++)
            return err_usage("standard input cannot be read twice");
    if (f->given.count || argc)
        return 0;
    f->lines = prompt_open("generate", "Input: ", history);
    return f->lines ? 0 : -1;
}

/* ---- texts, several at a time --------------------------------------------------------------- */

/* Saves the first prompt that the model has read. */
static int save_first(struct generate *given, const struct start *start)
{
    const char *path = given->save_path;
    given->save_path = NULL;
    return path ? prompt_cache_save(&given->g, start, given->model_dir, path) : 0;
}

/* Warns if the prompt spells special tokens, as the form of a chat does, and they are not read as
 * such. */
static void look_for_special(const struct generate *given)
{
    SCOPED(ids) plain = { 0 }, special = { 0 };
    const struct buf *p = &given->queue.prompt;
    struct encoder *e = given->g.encoder;
    if (encoder_encode(e, p->data, p->len, TOKENIZER_ORDINARY, &plain) == 0 &&
        encoder_encode(e, p->data, p->len, TOKENIZER_SPECIAL, &special) == 0 &&
        plain.count != special.count)
        log_warn("the prompt spells special tokens, which are ordinary text; --special reads them "
                 "as tokens");
}

/* Runs the next prompt through the model; later steps begin its texts. Returns as feed_next does.
 * At a terminal, it only prints the error of an unusable prompt, and returns 1. */
static int add_prompt(struct generate *given)
{
    const char *text;
    size_t n;
    struct feed *f = &given->feed;
    struct queue *q = &given->queue;
    int more = feed_next(f, !q->active, &text, &n);
    if (more != 1)
        return more;
    f->number++;
    buf_clear(&q->prompt);
    const size_t replaced = utf8_repair(&q->prompt, text, n);
    if (replaced)
        log_warn("prompt %" PRIu64 ": %zu of its %zu bytes are not UTF-8 and are read as U+FFFD",
                 f->number, replaced, n);
    if (f->number == 1 && !given->g.special) /* the first prompt tells what the others are like */
        look_for_special(given);
    if (generator_prompt(&given->g, &q->start, q->prompt.data, q->prompt.len) < 0)
        return prompt_failed(f->lines);
    if (save_first(given, &q->start) < 0)
        return -1;
    q->left = given->samples;
    return 1;
}

/* Begins the next text of the prompt. */
static int begin_text(struct generate *given)
{
    struct queue *q = &given->queue;
    struct queued *t = mem_zalloc(1, sizeof *t);
    buf_init(&t->prompt);
    buf_add(&t->prompt, q->prompt.data, q->prompt.len);
    t->number = given->feed.number - 1;
    t->sample = given->samples - q->left--;
    t->prompt_seconds = q->start.seconds;
    t->began = log_seconds();
    *q->end = t;
    q->end = &t->next;
    q->active++;
    /* the random numbers do not depend on other prompts, nor those of a sample on other samples */
    const uint64_t key = rng_key(rng_key(0, (uint64_t)tool_seed), t->number);
    return generation_begin(&given->g, &t->one, &q->start, rng_key(key, (uint64_t)t->sample),
                            !q->left);
}

/* Sets the times at which texts ended, and q->active to the number of the others. */
static void count_active(struct queue *q)
{
    q->active = 0;
    for (struct queued *t = q->first; t; t = t->next) {
        if (t->one.finish && !t->ended)
            t->ended = log_seconds();
        q->active += !t->one.finish;
    }
}

/* Generates one token for each unfinished text, and begins texts of the last prompt until as many
 * are unfinished as are generated together. Returns 1 if there are texts that are unfinished or
 * have not begun, 0 if not, or -1 with an error. */
static int step_texts(struct generate *given)
{
    struct queue *q = &given->queue;
    int64_t going = 0;
    for (struct queued *t = q->first; t; t = t->next)
        if (!t->one.finish)
            q->going[going++] = &t->one;
    if (generator_step(&given->g, q->going, going) < 0)
        return -1;
    count_active(q);
    /* a text may end with its first token: at most so many end before they are printed */
    for (int64_t i = 0; i < given->together && q->left && q->active < given->together; i++) {
        if (begin_text(given) < 0)
            return -1;
        count_active(q);
    }
    return q->active > 0 || q->left;
}

/* Ends all texts that have begun; the others will not begin. */
static void interrupt_texts(struct queue *q)
{
    for (struct queued *t = q->first; t; t = t->next)
        if (!t->one.finish)
            generation_end(&t->one, FINISH_INTERRUPT);
    q->left = 0;
    count_active(q);
}

/* Takes the first text out of the queue. */
static void drop_text(struct queue *q)
{
    struct queued *t = q->first;
    q->first = t->next;
    if (!q->first)
        q->end = &q->first;
    generation_release(&t->one);
    buf_release(&t->prompt);
    free(t);
}

/* Prints the new part of the first text in the queue and, while that text is finished, of the next
 * one. */
static void print_queue(struct generate *given)
{
    for (struct queued *t; (t = given->queue.first); drop_text(&given->queue)) {
        if (!t->shown++)
            print_head(given, t->number, t->sample, t->prompt.data, t->prompt.len);
        print_news(given, &t->one);
        if (!t->one.finish)
            return;
        print_end(given, &t->one, t->prompt.data, t->prompt.len, NULL);
        say_latency(given, &t->one, t->prompt_seconds, t->ended - t->began);
    }
}

/* Generates and prints the texts of all prompts. After an error, the texts of the earlier prompts
 * are still completed. */
static int run_texts(struct generate *given)
{
    struct queue *q = &given->queue;
    int more = 1, unfinished = 1;
    q->end = &q->first;
    q->going = mem_zalloc((size_t)given->together, sizeof *q->going);
    while (unfinished > 0 || more == 1) {
        int got = more;
        while (got == 1 && !q->left && q->active < given->together)
            got = add_prompt(given);
        more = got == LATER ? more : got;
        unfinished = step_texts(given);
        if (unfinished < 0)
            return -1;
        if (prompt_interrupted || ferror(stdout))
            interrupt_texts(q);
        print_queue(given);
    }
    return more;
}

/* ---- beam search ---------------------------------------------------------------------------- */

/* Prints the best texts of a beam search. */
static int print_beams(struct generate *given)
{
    const struct queue *q = &given->queue;
    struct generation one = { 0 };
    double began = log_seconds();
    int more = 1;
    beams_begin(&given->beams, &given->g, &q->start);
    while (more > 0 && !prompt_interrupted)
        more = beams_step(&given->beams);
    int64_t count = given->beams.result_count ? given->beams.result_count : 1;
    for (int64_t i = 0; i < given->samples && i < count && more >= 0; i++) {
        double score = beams_take(&given->beams, i, &one);
        print_head(given, given->feed.number - 1, i, q->prompt.data, q->prompt.len);
        print_news(given, &one);
        print_end(given, &one, q->prompt.data, q->prompt.len, &score);
        if (!i)
            say_latency(given, &one, q->start.seconds, log_seconds() - began);
    }
    generation_release(&one);
    beams_release(&given->beams);
    return more < 0 ? -1 : 0;
}

static int run_beams(struct generate *given)
{
    struct queue *q = &given->queue;
    int more;
    for (; (more = add_prompt(given)) > 0; q->left = 0)
        if (q->left && print_beams(given) < 0 && prompt_failed(given->feed.lines) < 0)
            return -1;
    return more;
}

/* ---- the run -------------------------------------------------------------------------------- */

/* Ways to choose tokens. An option that only some ways use has their bits in its type. */
enum {
    BY_CHANCE = OPT_ONLY,
    BY_RANK = OPT_ONLY << 1, /* the likeliest token is taken */
    TOKEN_BY_TOKEN = BY_CHANCE | BY_RANK,
    BY_BEAMS = OPT_ONLY << 2
};

/* Refuses options that have no effect with the way in which tokens are chosen. --seed is allowed
 * with --temperature 0, where it changes nothing. Returns 0, or -1 with a usage error. */
static int check_choice(const struct generate *given)
{
    const int beams = given->beams.width > 1, likeliest = given->g.sampler.temperature == 0;
    const char *other = tool_misplaced(beams ? BY_BEAMS : TOKEN_BY_TOKEN);
    if (other || (beams && tool_given("seed")))
        return err_usage(beams ? "--%s has no meaning with --beams" : "--%s needs --beams",
                         other ? other : "seed");
    if (!beams && likeliest && (other = tool_misplaced(BY_RANK)))
        return err_usage("--%s has no effect with --temperature 0, which takes the likeliest token",
                         other);
    if (beams && given->samples > given->beams.width)
        return err_usage("--samples %lld is more than the %lld texts that --beams keeps",
                         (long long)given->samples, (long long)given->beams.width);
    return 0;
}

static int check_options(struct generate *given)
{
    if (ops_check_device(given->device) < 0)
        return -1;
    if (given->g.sampler.top_p <= 0)
        return err_usage("--top-p must be above 0");
    if (given->g.sampler.typical_p <= 0)
        return err_usage("--typical-p must be above 0");
    if (given->save_path && !strcmp(given->save_path, "-"))
        return err_usage("--save-prompt-cache needs a file: standard output is for the texts");
    if (given->save_path && tool_may_replace(given->save_path, NULL, NULL) < 0)
        return -1;
    const struct sampler *s = &given->g.sampler;
    if (s->window && s->repetition_penalty == 1 && !s->presence && !s->frequency)
        return err_usage("--repetition-window has no effect without a penalty: give "
                         "--repetition-penalty, --presence-penalty or --frequency-penalty");
    if (given->g.alternatives && !given->json)
        return err_usage("--logprobs needs --json");
    if (given->json && (given->raw || (given->echo && tool_given("echo"))))
        return err_usage("--%s has no effect with --json", given->raw ? "raw" : "echo");
    for (size_t i = 0; i < given->stops.count; i++)
        if (!*given->stops.items[i])
            return err_usage("--stop must not be empty");
    return check_choice(given);
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
    uint32_t known = given->g.known;
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
    given->g.stops = given->stops.items;
    given->g.stop_count = given->stops.count;
    given->g.cached = (enum ops_type)given->cache_precision;
    /* threads wait for each other in each layer: with more than run at once, all would wait */
    const int threads = (int)smaller(tool_threads, usage_cpus(0));
    int result = check_options(given) < 0 || parse_biases(given) < 0 ||
                         generator_load(&given->g, given->model_dir, given->vocab, given->device,
                                        threads, stored_type(given->weights)) < 0
                     ? -1
                     : check_tokens(given);
    if (!result) {
        ops_set_precision(given->g.ops, (enum ops_type)given->precision);
        log_detail("%s", ops_describe(given->g.ops));
        result = (given->load_path &&
                  prompt_cache_load(&given->g, given->model_dir, given->load_path) < 0)
                     ? -1
                     : feed_open(&given->feed, argc, argv, given->history);
    }
    if (!result) {
        result = given->beams.width > 1 ? run_beams(given) : run_texts(given);
        if (!result && given->save_path)
            result = err_set("no prompt: '%s' is not written", given->save_path);
        while (given->queue.first)
            drop_text(&given->queue);
        start_release(&given->queue.start);
        buf_release(&given->queue.prompt);
        free(given->queue.going);
        if (prompt_close(given->feed.lines) < 0)
            log_warn("%s", err_get());
        buf_release(&given->feed.text);
    }
    generator_release(&given->g);
    free(given->bias_of);
    return result;
}

/* ---- options ------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct generate, member)
static const struct opt options[] = {
    { 'm', "model", OPT_TEXT, AT(model_dir), "DIR", "model folder, or a GGUF file" },
    { 0, "vocab", OPT_TEXT, AT(vocab), "PATH", "tokenizer, if it is not in the model folder" },
    { 'p', "prompt", OPT_LIST, AT(feed.given), "TEXT",
      "text to continue; the same as giving it as an operand" },
    { 'n', "length", OPT_INT, AT(g.length), "N", "maximum number of tokens to generate", 1, 1e9 },
    { 0, "samples", OPT_INT, AT(samples), "N", "number of texts to generate per prompt", 1, 1e9 },
    { 0, "batch-texts", OPT_INT | TOKEN_BY_TOKEN, AT(together), "N",
      "number of texts to generate at a time: samples of a prompt, and prompts", 1, 10000 },
    { 0, "stop", OPT_LIST, AT(stops), "TEXT", "stop before this text" },
    { 0, "begin", OPT_FLAG, AT(g.begin), NULL,
      "put the vocabulary's begin-of-text token, if it has one, before the prompt" },
    { 0, "beams", OPT_INT, AT(beams.width), "N",
      "beam search: keep the N most probable texts at each step; 1: choose token by token", 1,
      1000 },
    { 0, "length-penalty", OPT_REAL | BY_BEAMS, AT(beams.length_penalty), "X",
      "with --beams: divide a text's log probability by its tokens to the power of X", -10, 10 },
    { 0, "slide", OPT_FLAG | TOKEN_BY_TOKEN, AT(g.slide), NULL,
      "continue beyond the model's positions by dropping the oldest tokens" },
    { 0, "prompt-cache", OPT_TEXT, AT(load_path), "FILE",
      "read the keys and values of a prompt's beginning from a file of --save-prompt-cache" },
    { 0, "save-prompt-cache", OPT_TEXT, AT(save_path), "FILE",
      "save the keys and values of the first prompt, for --prompt-cache" },
    { 0, "special", OPT_FLAG, AT(g.special), NULL,
      "read names of special tokens in a prompt, such as <|endoftext|>, as these tokens" },
    { 0, "echo", OPT_FLAG, AT(echo), NULL, "print the prompt before the generated text" },
    { 0, "raw", OPT_FLAG, AT(raw), NULL,
      "print control characters of the text as they are at a terminal, too" },
    { 0, "json", OPT_FLAG, AT(json), NULL, "print JSON, one object per text" },
    { 0, "logprobs", OPT_INT | TOKEN_BY_TOKEN, AT(g.alternatives), "N",
      "with --json: log probability of each token, and of the N likeliest in its place; 0: none", 0,
      1e5 },
    { 0, "history", OPT_FLAG, AT(history), NULL,
      "keep the prompts typed at a terminal for the next run" },
    { 0, "device", OPT_TEXT, AT(device), "cpu|cuda[:N]",
      "where to compute: the CPU, or GPU number N" },
    { 0, "precision", OPT_CHOICE, AT(precision), OPS_PRECISION_WORDS,
      "precision of the matrix products that process the prompt" },
    { 0, "cache-precision", OPT_CHOICE, AT(cache_precision), OPS_PRECISION_WORDS,
      "precision of the keys and values that are kept of a text" },
    { 0, "weights", OPT_CHOICE, AT(weights), STORED_WORDS,
      "type in which the weights are kept in memory; on a GPU auto, f32 or bf16" },
    { 0, "verify", OPT_FLAG, AT(g.verify), NULL,
      "check the weights against the checksums that are stored with them" },
    { .help = "Choice of the next token:" },
    { 'T', "temperature", OPT_REAL | TOKEN_BY_TOKEN, AT(g.sampler.temperature), "X",
      "randomness: below 1 favours likely tokens; 0 always takes the likeliest", 0, 1e6 },
    { 'k', "top-k", OPT_INT | BY_CHANCE, AT(g.sampler.top_k), "N",
      "choose among the N likeliest tokens; 0: among all", 0, 1e9 },
    { 0, "top-p", OPT_REAL | BY_CHANCE, AT(g.sampler.top_p), "X",
      "choose among the likeliest tokens that together reach probability X", 0, 1 },
    { 0, "min-p", OPT_REAL | BY_CHANCE, AT(g.sampler.min_p), "X",
      "choose among the tokens at least X times as probable as the likeliest", 0, 1 },
    { 0, "typical-p", OPT_REAL | BY_CHANCE, AT(g.sampler.typical_p), "X",
      "choose among the tokens of most typical surprise that together reach probability X", 0, 1 },
    { 0, "logit-bias", OPT_LIST, AT(biases), "ID=X",
      "add X to the logit of token number ID; may be given more than once" },
    { 0, "repetition-penalty", OPT_REAL, AT(g.sampler.repetition_penalty), "X",
      "values above 1 make tokens that occurred before less likely", 1e-6, 1e6 },
    { 0, "presence-penalty", OPT_REAL, AT(g.sampler.presence), "X",
      "subtract X from the logit of each token that was generated before", -1e6, 1e6 },
    { 0, "frequency-penalty", OPT_REAL, AT(g.sampler.frequency), "X",
      "subtract X from a token's logit for each time it was generated before", -1e6, 1e6 },
    { 0, "repetition-window", OPT_INT, AT(g.sampler.window), "N",
      "the penalties look at the last N tokens of the text; 0: at all of them", 0, 1e9 },
    { 0 },
};

static const struct tool_command generate = {
    .args = "[PROMPT...]",
    .summary = "Continue a text. Without a PROMPT, each line of standard input is one.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_SEED | TOOL_FORCE,
    .run = run,
};

static const struct tool_command *const commands[] = { &generate, &export_command, NULL };

static const struct tool tool = {
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
