/* languages_command.c - the commands "language", "quality" and those that learn their models. */
#include "textclean/commands.h"

#include <math.h>

#include "common/base/log.h"
#include "common/base/order.h"
#include "common/files/paths.h"
#include "textclean/flow.h"
#include "textclean/languages.h"

/* Values of the options of the four commands, each of which has some of them. */
struct given {
    struct flow_options flow;
    const char *model_path, *codes; /* codes, share: the values of --keep */
    double share, threshold;
    struct opt_list good, bad;
};

static const struct given defaults = { .flow = FLOW_DEFAULTS };
static const struct given learn_defaults = { .flow = { .field = "text" } };
#define AT(member) offsetof(struct given, member)

/* Opens a model: of kinds of text if `exact` is 1, else of languages. `keeps` 1: --keep is given.
 * Returns 0, or -1 with an error; languages_close is allowed even then. */
static int open_model(struct languages *m, const struct given *given, int exact, int keeps)
{
    const char *learner = exact ? "learn-quality" : "learn-language";
    if (!given->model_path)
        return err_usage("--model is missing: give a file that textclean %s wrote", learner);
    if (!keeps && given->threshold <= 0 && !given->flow.mark)
        return err_usage("nothing to do: give --keep, --threshold or --mark");
    int result = languages_open(m, given->model_path);
    if (!result && m->exact != exact)
        result = err_set("%s: a model of %s: %s writes others", given->model_path,
                         exact ? "languages" : "quality", learner);
    return result;
}

/* ---- language -------------------------------------------------------------------------------- */

static const struct opt language_options[] = {
    { 0, "model", OPT_TEXT, AT(model_path), "FILE", "the model that learn-language wrote" },
    { 0, "keep", OPT_TEXT, AT(codes), "CODE[,CODE]",
      "languages that stay; without it, all of the model" },
    { 0, "threshold", OPT_REAL, AT(threshold), "X",
      "leave documents out whose language has a lower score", 0, 1 },
    FLOW_ROWS(struct given),
    { 0 },
};

struct judging {
    struct languages model;
    int kept[LANGUAGES_MOST];
    const char *reasons[LANGUAGES_MOST + 1]; /* names of the languages, and "unsure" */
    double threshold;
};

static int judge(void *ctx, void *tools, struct flow_item *item)
{
    const struct judging *j = ctx;
    const struct buf *text = &item->entry.document.text;
    double score;
    int found = languages_judge(&j->model, tools, text->data, text->len, &score);
    snprintf(item->mark, sizeof item->mark, "%s %.3f",
             found < 0 ? "und" : languages_name(&j->model, (size_t)found), score);
    if (found < 0 || score < j->threshold)
        item->reason = (int)j->model.count;
    else if (!j->kept[found])
        item->reason = found;
    return 0;
}

static int no_language(const struct languages *m, const char *code, int n)
{
    SCOPED(buf) names = BUF_INIT;
    for (size_t i = 0; i < m->count; i++)
        buf_addf(&names, " %s", languages_name(m, i));
    return err_usage("--keep: the model has no language '%.*s'; it has%s", n, code, names.data);
}

/* Sets which languages are kept: those of the list, separated by commas; NULL: all. */
static int set_kept(struct judging *j, const char *list)
{
    const struct languages *m = &j->model;
    for (size_t i = 0; i < m->count; i++) {
        j->reasons[i] = languages_name(m, i);
        j->kept[i] = !list;
    }
    j->reasons[m->count] = "unsure";
    for (size_t n; list; list = list[n] ? list + n + 1 : NULL) {
        size_t i = 0;
        n = strcspn(list, ",");
        while (i < m->count && !bytes_are(list, n, j->reasons[i]))
            i++;
        if (i == m->count)
            return no_language(m, list, (int)n);
        j->kept[i] = 1;
    }
    return 0;
}

static int run_language(int argc, char **argv, void *given_options)
{
    const struct given *given = given_options;
    struct judging j = { .threshold = given->threshold };
    int result = open_model(&j.model, given, 0, given->codes != NULL);
    if (!result)
        result = set_kept(&j, given->codes);
    struct flow flow = { .options = &given->flow,
                         .judge = judge,
                         .ctx = &j,
                         .tools_bytes = sizeof(struct languages_runs),
                         .reasons = j.reasons,
                         .reason_count = j.model.count + 1 };
    if (!result)
        result = flow_run(&flow, argc, argv);
    languages_close(&j.model);
    return result;
}

const struct tool_command language_command = {
    .name = "language",
    .args = "[FILE...]",
    .summary = "Keep documents in some languages, or mark each with its language.",
    TOOL_OPTIONS(language_options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_language,
};

/* ---- quality --------------------------------------------------------------------------------- */

static const struct opt quality_options[] = {
    { 0, "model", OPT_TEXT, AT(model_path), "FILE", "the model that learn-quality wrote" },
    { 0, "keep", OPT_REAL, AT(share), "X",
      "keep this share of the documents, those with the highest scores; files are read twice", 0,
      1 },
    { 0, "threshold", OPT_REAL, AT(threshold), "X", "leave documents out that have a lower score",
      0, 1 },
    FLOW_ROWS(struct given),
    { 0 },
};

struct scoring {
    struct languages model;
    double threshold, *scores;
    size_t count, cap;
};

/* Sets the document's score: that of the language `good`, or 0 for a text without letters. */
static int judge_quality(void *ctx, void *tools, struct flow_item *item)
{
    const struct scoring *s = ctx;
    const struct buf *text = &item->entry.document.text;
    double score, *result = item->result = mem_alloc(sizeof *result);
    int found = languages_judge(&s->model, tools, text->data, text->len, &score);
    *result = found < 0 ? 0 : found ? score : 1 - score;
    snprintf(item->mark, sizeof item->mark, "%.3f", *result);
    if (*result < s->threshold)
        item->reason = 0;
    return 0;
}

static int add_score(void *ctx, struct flow_item *item)
{
    struct scoring *s = ctx;
    mem_next(s->scores, s->count, s->cap) = *(double *)item->result;
    return 0;
}

/* Finds the highest threshold that at least the share `keep` of the documents reaches. */
static int find_threshold(struct scoring *s, const struct flow *flow, double keep, int argc,
                          char **argv)
{
    int twice;
    struct flow first = *flow;
    first.silent = 1;
    first.settle = add_score;
    if (paths_can_read_twice(argv, argc, &twice) < 0)
        return -1;
    if (!twice)
        return err_usage("--keep reads the documents twice: name files, or give --threshold");
    int result = flow_run(&first, argc, argv);
    if (!result && s->count) {
        qsort(s->scores, s->count, sizeof *s->scores, order_reals);
        /* 0.07 * 100 is above 7 in binary */
        size_t kept = (size_t)ceil(keep * (double)s->count * (1 - 1e-12));
        s->threshold = fmax(s->threshold, s->scores[s->count - kept]);
    }
    return result;
}

static int run_quality(int argc, char **argv, void *given_options)
{
    static const char *const reasons[] = { "low-quality" };
    const struct given *given = given_options;
    struct scoring s = { .threshold = given->threshold };
    struct flow flow = { .options = &given->flow,
                         .judge = judge_quality,
                         .forget = free,
                         .ctx = &s,
                         .tools_bytes = sizeof(struct languages_runs),
                         .reasons = reasons,
                         .reason_count = 1 };
    int result = open_model(&s.model, given, 1, given->share > 0);
    if (!result && given->share > 0)
        result = find_threshold(&s, &flow, given->share, argc, argv);
    flow.least = s.count;
    if (!result)
        result = flow_run(&flow, argc, argv);
    languages_close(&s.model);
    free(s.scores);
    return result;
}

const struct tool_command quality_command = {
    .name = "quality",
    .args = "[FILE...]",
    .summary = "Keep documents that are like good ones, or mark each with its score.",
    TOOL_OPTIONS(quality_options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_quality,
};

/* ---- learn-language -------------------------------------------------------------------------- */

static const struct opt learn_quality_options[] = {
    { 0, "good", OPT_LIST, AT(good), "FILE", "file or folder with good texts; may be given again" },
    { 0, "bad", OPT_LIST, AT(bad), "FILE", "file or folder with bad texts; may be given again" },
    { 'o', "output", OPT_TEXT, AT(flow.output_path), "FILE", "the file for the model" },
    FLOW_INPUT_ROWS(struct given),
    { 0 },
};

struct learning {
    struct languages_counts counts;
    size_t language;
};

static int count_runs(void *ctx, void *tools, struct flow_item *item)
{
    struct learning *l = ctx;
    const struct buf *text = &item->entry.document.text;
    languages_count(&l->counts, l->language, tools, text->data, text->len);
    return 0;
}

/* Counts the texts of a path. */
static int learn_one(struct learning *l, const struct flow_options *given, char *path)
{
    char text[LOG_COUNTED];
    struct flow flow = { .options = given,
                         .judge = count_runs,
                         .ctx = l,
                         .tools_bytes = sizeof(struct languages_runs),
                         .silent = 1 };
    int result = flow_run(&flow, 1, &path);
    if (!result)
        log_info("%s: %s", l->counts.names[l->language],
                 log_counted(text, flow.read, "document(s)"));
    return result;
}

/* Splits CODE=PATH at its first '='. Returns 0, or -1 with an error. */
static int divide(char *arg, char **path)
{
    char *equal = strchr(arg, '=');
    if (!equal || !equal[1] || !languages_is_name(arg, (size_t)(equal - arg)))
        return err_usage(
            "'%s' is not CODE=PATH, with a code of at most %d letters, digits, - and _", arg,
            LANGUAGES_NAME - 1);
    *equal = 0;
    *path = equal + 1;
    return 0;
}

/* Learns the languages names[] and writes the model. paths[i] has texts in language argv[i]. */
static int learn_and_write(const struct given *learn, int argc, char **argv, char **paths,
                           const char **names, size_t languages)
{
    const struct flow_options *given = &learn->flow;
    struct learning l = { .language = 0 };
    struct output out;
    if (tool_may_replace(given->output_path, NULL, NULL) < 0 ||
        output_open(&out, given->output_path) < 0)
        return -1;
    languages_counts_init(&l.counts, names, languages);
    l.counts.exact = learn->good.count > 0; /* texts by quality */
    int result = out.temp ? 0
                          : err_usage("'%s' is no place for a model, which is mapped: name a file",
                                      given->output_path);
    for (int i = 0; i < argc && !result; i++) {
        for (l.language = 0; strcmp(names[l.language], argv[i]);)
            l.language++;
        result = learn_one(&l, given, paths[i]);
    }
    if (!result)
        result = languages_write(&l.counts, &out);
    languages_counts_release(&l.counts);
    return output_end(&out, result);
}

static int run_learn(int argc, char **argv, void *given_options)
{
    const struct given *given = given_options;
    SCOPED_MEM char **paths = mem_alloc(((size_t)argc + 1) * sizeof *paths);
    SCOPED_MEM const char **names = mem_alloc(((size_t)argc + 1) * sizeof *names);
    size_t languages = 0;
    if (!given->flow.output_path)
        return err_usage("-o is missing: name the file of the model");
    for (int i = 0; i < argc; i++) {
        if (divide(argv[i], &paths[i]) < 0)
            return -1;
        names[i] = argv[i];
    }
    qsort(names, (size_t)argc, sizeof *names, order_texts);
    for (int i = 0; i < argc; i++)
        if (!i || strcmp(names[i], names[languages - 1]))
            names[languages++] = names[i];
    if (languages < 2 || languages > LANGUAGES_MOST)
        return err_usage("%zu language(s) given: a model has 2 to %d; give CODE=PATH for each",
                         languages, LANGUAGES_MOST);
    return learn_and_write(given, argc, argv, paths, names, languages);
}

const struct tool_command learn_language_command = {
    .name = "learn-language",
    .args = "CODE=PATH...",
    .summary = "Learn a model of languages from texts of each.",
    TOOL_OPTIONS(learn_quality_options + 2, learn_defaults), /* without --good, --bad */
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_learn,
};

/* ---- learn-quality --------------------------------------------------------------------------- */

static int run_learn_quality(int, char **, void *given_options)
{
    const char *names[] = { "bad", "good" };
    const struct given *given = given_options;
    const struct opt_list *lists[] = { &given->bad, &given->good };
    const size_t count = given->bad.count + given->good.count;
    SCOPED_MEM char **paths = mem_alloc((count + 1) * sizeof *paths);
    SCOPED_MEM char **labels = mem_alloc((count + 1) * sizeof *labels);
    size_t n = 0;
    if (!given->flow.output_path || !given->good.count || !given->bad.count)
        return err_usage("-o, --good or --bad is missing: name the model and both kinds of texts");
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < lists[i]->count; k++) {
            labels[n] = (char *)(uintptr_t)names[i];
            paths[n++] = (char *)(uintptr_t)lists[i]->items[k];
        }
    return learn_and_write(given, (int)count, labels, paths, names, 2);
}

const struct tool_command learn_quality_command = {
    .name = "learn-quality",
    .args = "",
    .summary = "Learn a model of quality from good and bad texts.",
    TOOL_OPTIONS(learn_quality_options, learn_defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_learn_quality,
};
