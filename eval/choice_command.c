/*
 * `evaluate choice`: multiple choice by likelihood. The model chooses the most
 * probable ending of a text.
 *
 * Input: the JSON lines of choices.h. All lines of a file have the same form.
 *
 * The context is encoded alone, and with the choice. The tokens that the second encoding has more
 * are those of the choice, to which white space at the end of the context belongs. If the context
 * is empty, the token that begins a text (subject.h) takes its place. A sequence longer than the
 * model's positions is cut at its beginning.
 *
 *     acc       the right choice has the largest sum of log p
 *     acc_norm  it has the largest sum of log p / characters of the choice
 *
 * Of choices with equal scores the first counts. Before the context is the form's description, and
 * then k examples from another file: contexts with their right choices, each followed by an empty
 * line. If the form has a description, they are the first k with the same one. If not, Random(1234)
 * in Python, seeded once for a file, gives each question sample(examples, k). These are the rules
 * of lm-evaluation-harness, so that the scores can be compared.
 */
#include "eval/evaluate_commands.h"

#include <math.h>

#include "common/base/pyrandom.h"
#include "common/files/file.h"
#include "eval/choices.h"
#include "eval/items.h"
#include "eval/report.h"
#include "eval/subject.h"
#include "unicode/whitespace.h"

struct example {
    struct buf description, text; /* the text ends in an empty line */
};

struct choice {
    struct subject subject; /* options */
    int asked;              /* AUTO: each line shows its form */
    int64_t shots;          /* examples before each question */
    const char *examples_path;

    struct example *examples;
    size_t count, cap;
    uint32_t *picks;                  /* [shots] */
    int form;                         /* of all lines so far; AUTO: there was none */
    struct choices_question question; /* working memory */

    /* one file */
    struct pyrandom random;
    uint64_t questions, right, right_norm; /* by acc and acc_norm */
};

static const struct choice defaults = { .subject = SUBJECT_DEFAULTS };

/* ---- examples ------------------------------------------------------------------------------- */

/* Sets c->question from a line. */
static int parse(struct choice *c, const char *line, size_t n, const char *name)
{
    int form = c->asked;
    if (choices_parse(&c->question, &form, line, n, name) < 0)
        return -1;
    if (c->form != CHOICES_AUTO && c->form != form)
        return err_set("%s: a question of the form %s, but %s are of the form %s", name,
                       choices_forms[form].name, c->shots ? "the examples" : "those before",
                       choices_forms[c->form].name);
    c->form = form;
    return 0;
}

static int add_example(struct items *g, const char *line, size_t n, const char *name)
{
    struct choice *c = g->ctx;
    const struct choices_question *q = &c->question;
    if (parse(c, line, n, name) < 0)
        return -1;
    struct example *e = &mem_next(c->examples, c->count, c->cap);
    *e = (struct example){ BUF_INIT, BUF_INIT };
    buf_add(&e->description, q->description.data, q->description.len);
    buf_add(&e->text, q->options[q->right].context.data, q->options[q->right].context.len);
    buf_add(&e->text, q->options[q->right].ending.data, q->options[q->right].ending.len);
    buf_adds(&e->text, "\n\n");
    return 1;
}

static int read_examples(struct choice *c)
{
    int result = items_score(c->examples_path, "example(s)", NULL, add_example, NULL, c);
    if (result < 0)
        err_in("--examples");
    else if (c->count < (size_t)c->shots)
        result = err_set("'%s' has only %zu example(s), but --shots is %lld", c->examples_path,
                         c->count, (long long)c->shots);
    c->picks = mem_alloc((size_t)c->shots * sizeof *c->picks);
    return result;
}

/* Sets picks[] to the indices of the examples before a question. */
static int pick_examples(struct choice *c)
{
    const struct buf *own = &c->question.description;
    int64_t found = 0;
    if (!own->len) {
        pyrandom_sample(&c->random, c->picks, (size_t)c->shots, (uint32_t)c->count);
        return 0;
    }
    for (uint32_t i = 0; i < c->count && found < c->shots; i++) {
        const struct buf *other = &c->examples[i].description;
        if (other->len == own->len && !memcmp(other->data, own->data, own->len))
            c->picks[found++] = i;
    }
    return found == c->shots
               ? 0
               : err_set("'%s' has only %lld example(s) of the question's subject, but --shots is "
                         "%lld",
                         c->examples_path, (long long)found, (long long)c->shots);
}

/* ---- windows -------------------------------------------------------------------------------- */

/* Appends the ids of head and context to g->ids, and those that follow them if the ending is
 * encoded, too. Sets *from to the index in g->ids of the ending's first id. */
static int encode_option(struct items *g, const struct buf *head, const struct choices_option *o,
                         size_t *from)
{
    const struct choice *c = g->ctx;
    const struct tokenizer *t = c->subject.tokenizer;
    struct encoder *e = c->subject.encoder;
    SCOPED(ids) all = { 0 };
    SCOPED(buf) whole = BUF_INIT;
    size_t begin = g->ids.count, own, width;
    buf_add(&whole, head->data, head->len);
    buf_add(&whole, o->context.data, o->context.len);
    own = whole.len;
    while ((width = whitespace_before(whole.data, own)))
        own -= width;
    buf_add(&whole, o->ending.data, o->ending.len);
    if (own) {
        if (subject_encode(t, e, whole.data, own, &g->ids) < 0 ||
            subject_encode(t, e, whole.data, whole.len, &all) < 0)
            return -1;
        *from = g->ids.count;
        own = *from - begin;
        ids_append(&g->ids, all.data + own, all.count > own ? all.count - own : 0);
        return 0;
    }
    const int64_t start = subject_start(t);
    if (start < 0)
        return -1;
    ids_add(&g->ids, (uint32_t)start);
    *from = begin + 1;
    return encoder_encode(e, whole.data, whole.len, TOKENIZER_ORDINARY, &g->ids);
}

/* Adds the window of a choice. Its mark is the number of characters of the choice, which is
 * negative for the right one. */
static int add_option(struct items *g, const struct buf *head, const struct choices_option *o,
                      int right)
{
    size_t begin = g->ids.count, from;
    if (encode_option(g, head, o, &from) < 0)
        return -1;
    int64_t scored = (int64_t)g->ids.count - (int64_t)from;
    if (scored < 1)
        return err_set("a choice has no tokens of its own: its context's last token takes it in");
    const int64_t characters = (int64_t)o->characters;
    return items_add(g, begin, g->ids.count, scored, right ? -characters : characters);
}

static int add_question(struct items *g)
{
    struct choice *c = g->ctx;
    const struct choices_question *q = &c->question;
    SCOPED(buf) head = BUF_INIT;
    int result = c->shots ? pick_examples(c) : 0;
    buf_add(&head, q->description.data, q->description.len);
    for (int64_t i = 0; i < c->shots && !result; i++)
        buf_add(&head, c->examples[c->picks[i]].text.data, c->examples[c->picks[i]].text.len);
    for (size_t i = 0; i < q->count && !result; i++)
        result = add_option(g, &head, &q->options[i], i == q->right);
    return result;
}

static int add_line(struct items *g, const char *line, size_t n, const char *name)
{
    if (parse(g->ctx, line, n, name) < 0)
        return -1;
    return add_question(g) < 0 ? err_in("%s", name) : 1;
}

/* ---- verdicts ------------------------------------------------------------------------------- */

/* Returns the index of the likeliest of n options: by log p, or by log p per character. */
static size_t likeliest(const struct window *w, size_t n, int per_character)
{
    size_t best = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double p = -w[i].loss;
        if (per_character)
            p /= (double)llabs(w[i].mark);
        if (p > most) {
            most = p;
            best = i;
        }
    }
    return best;
}

static int judge(void *ctx, const struct window *w, size_t n)
{
    struct choice *c = ctx;
    size_t chosen = likeliest(w, n, 0), by_character = likeliest(w, n, 1);
    c->right += w[chosen].mark < 0;
    c->right_norm += w[by_character].mark < 0;
    c->questions++;
    if (!c->subject.json)
        return 0;
    struct report r = REPORT_INIT(1);
    report_count(&r, "line", w->item);
    report_count(&r, "chosen", chosen);
    report_count(&r, "right", w[chosen].mark < 0);
    if (choices_forms[c->form].norm) {
        report_count(&r, "chosen_norm", by_character);
        report_count(&r, "right_norm", w[by_character].mark < 0);
    }
    SCOPED_MEM double *logprobs = mem_alloc(n * sizeof *logprobs);
    for (size_t i = 0; i < n; i++)
        logprobs[i] = -w[i].loss;
    report_reals(&r, "logprobs", logprobs, n);
    return report_print(&r);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int report_file(const struct choice *c, const char *path)
{
    struct report r = REPORT_INIT(c->subject.json);
    report_text(&r, "file", path);
    report_text(&r, "form", choices_forms[c->form].name);
    if (c->shots)
        report_count(&r, "shots", (uint64_t)c->shots);
    report_count(&r, "questions", c->questions);
    report_count(&r, "right", c->right);
    report_mean(&r, "acc", (double)c->right, (double)c->right, c->questions);
    if (choices_forms[c->form].norm)
        report_mean(&r, "acc_norm", (double)c->right_norm, (double)c->right_norm, c->questions);
    tool_count("question(s)", c->questions);
    return report_print(&r);
}

static int score_file(void *options, const char *path)
{
    struct choice *c = options;
    c->questions = c->right = c->right_norm = 0;
    c->form = c->shots ? c->form : CHOICES_AUTO;
    pyrandom_seed(&c->random, 1234);
    return items_score(path, "question(s)", &c->subject.scorer, add_line, judge, c) < 0
               ? -1
               : report_file(c, path);
}

static int check_options(const struct choice *c, int argc, char **argv)
{
    if (!c->shots != !c->examples_path)
        return err_usage("--shots N and --examples FILE need each other");
    for (int i = 0, same; i < argc && c->shots; i++)
        if ((same = file_same(argv[i], c->examples_path)))
            return same < 0 ? -1
                            : err_usage("'%s' is scored, too: its questions would see their "
                                        "answers; give --examples another file",
                                        argv[i]);
    return 0;
}

static int run(int argc, char **argv, void *options)
{
    struct choice *c = options;
    int result = check_options(c, argc, argv) < 0 || (c->shots && read_examples(c) < 0) ||
                         subject_load_tokenizer(&c->subject) < 0 ||
                         subject_open(&c->subject, HEAD_NEXT) < 0
                     ? -1
                     : 0;
    result = subject_score(&c->subject, result, argc, argv, score_file);
    for (size_t i = 0; i < c->count; i++) {
        buf_release(&c->examples[i].description);
        buf_release(&c->examples[i].text);
    }
    free(c->examples);
    free(c->picks);
    choices_release(&c->question);
    return result;
}

static const struct opt options[] = {
    SUBJECT_MODEL,
    SUBJECT_VOCAB,
    { 0, "form", OPT_CHOICE, offsetof(struct choice, asked), CHOICES_FORM_WORDS,
      "keys that a question has; auto: as its first line has them" },
    { 0, "shots", OPT_INT, offsetof(struct choice, shots), "N",
      "put N examples with their answers before each question", 0, 1000 },
    { 0, "examples", OPT_TEXT, offsetof(struct choice, examples_path), "FILE",
      "take the examples for --shots from this file of questions" },
    SUBJECT_COMPUTE,
    SUBJECT_JSON,
    { 0 },
};

const struct tool_command choice_command = {
    .name = "choice",
    .args = "FILE...",
    .summary = "Multiple choice by likelihood: MMLU, HellaSwag, ARC, BoolQ and like JSON lines.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS,
    .run = run,
};
