/* filter_command.c - textclean filter: leaves out documents that fail rules. */
#include "textclean/commands.h"

#include "common/base/choice.h"
#include "common/base/log.h"
#include "textclean/flow.h"
#include "textclean/personal.h"
#include "textclean/rules.h"

/* Values of the options of filter and learn-filter. */
struct filter {
    struct flow_options flow;
    const char *sets, *thresholds_path;
    struct opt_list limits;
    int personal, list;
    double tail;
};

static const struct filter defaults = { .flow = FLOW_DEFAULTS,
                                        .sets = "repetition,gopher,fineweb",
                                        .tail = 0.1 };

#define AT(member) offsetof(struct filter, member)
static const struct opt options[] = {
    { 0, "rules", OPT_TEXT, AT(sets), "SET[,SET]",
      "sets of rules, in the order in which they judge: gopher, repetition, c4, fineweb, mc4" },
    { 0, "thresholds", OPT_TEXT, AT(thresholds_path), "FILE",
      "take limits from FILE, which learn-filter wrote; --limit wins over it" },
    { 0, "limit", OPT_LIST, AT(limits), "RULE=X", "change the limit of a rule; RULE=off drops it" },
    { 0, "list", OPT_FLAG, AT(list), NULL, "print all rules with their limits, and stop" },
    { 0, "personal", OPT_CHOICE, AT(personal), PERSONAL_HOW,
      "addresses of mail and public IPv4 addresses: keep them, replace them by fixed ones, or by "
      "<EMAIL> and <IP>" },
    FLOW_ROWS(struct filter),
    { 0 },
};

/* ---- a document ------------------------------------------------------------------------------ */

struct run {
    struct rules rules;
    enum personal_how personal;
    int mark; /* documents that fail stay, too */
};

static int judge(void *ctx, void *tools, struct flow_item *item)
{
    const struct run *run = ctx;
    struct rules_tools *t = tools;
    struct entry *r = &item->entry;
    const struct buf *text = &r->document.text;
    item->reason = rules_judge(&run->rules, t, text->data, text->len, &item->pieces);
    const int passed = item->reason < 0;
    if (!passed) /* no lines of it are left out, but all of it or, with --mark, nothing */
        item->pieces = 0;
    if (passed && t->features.text != text->data)
        entry_change(r, t->features.text, t->features.n);
    if ((passed || run->mark) && run->personal &&
        personal_replace(&t->personal, text->data, text->len, run->personal))
        entry_change(r, t->personal.data, t->personal.len);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_filter(int argc, char **argv, void *given_options)
{
    const struct filter *given = given_options;
    struct run run = { .personal = (enum personal_how)given->personal, .mark = given->flow.mark };
    const int all = given->list && !tool_given("rules");
    if (rules_set(&run.rules, all ? "gopher,repetition,c4,fineweb,mc4" : given->sets,
                  given->thresholds_path, given->limits.items, given->limits.count) < 0)
        return -1;
    if (given->list) {
        SCOPED(buf) text = BUF_INIT;
        rules_print(&run.rules, &text);
        return file_write("-", text.data, text.len);
    }
    for (size_t i = 0; i < given->limits.count; i++) {
        const char *limit = given->limits.items[i];
        const int n = (int)strcspn(limit, "-");
        if (!choice_listed(given->sets, limit, (size_t)n))
            log_warn("--limit %s is not used: --rules does not name %.*s", limit, n, limit);
    }
    struct flow flow = { .options = &given->flow,
                         .judge = judge,
                         .ctx = &run,
                         .tools_bytes = sizeof(struct rules_tools),
                         .tools_init = rules_tools_init,
                         .tools_release = rules_tools_release,
                         .reasons = run.rules.names,
                         .reason_count = run.rules.count,
                         .piece = "line(s) left out" };
    const int result = flow_run(&flow, argc, argv);
    if (!result && flow.read && !flow.kept && !given->thresholds_path)
        log_warn("no document passes; the limits were found for English: learn-filter learns those "
                 "of another language");
    return result;
}

const struct tool_command filter_command = {
    .name = "filter",
    .args = "[FILE...]",
    .summary = "Leave out documents that fail rules.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_filter,
};

/* ---- learn-filter ---------------------------------------------------------------------------- */

static const struct opt learn_options[] = {
    { 0, "rules", OPT_TEXT, AT(sets), "SET[,SET]",
      "sets of rules whose limits are learned: gopher, repetition, fineweb" },
    { 0, "tail", OPT_REAL, AT(tail), "X",
      "share of the documents that each rule may leave out with its limit", 0, 0.5 },
    { 'o', "output", OPT_TEXT, AT(flow.output_path), "FILE",
      "output file, for filter --thresholds; - is standard output" },
    FLOW_INPUT_ROWS(struct filter),
    { 0 },
};

/* The values of every `step`-th document, one row each. When there are SAMPLES rows, every second
 * one is dropped, so that they come from all documents. */
struct learning {
    struct rules rules;
    double *rows;
    size_t count, cap, step;
};
enum { SAMPLES = 1 << 17 };

static int measure(void *ctx, void *tools, struct flow_item *item)
{
    const struct learning *l = ctx;
    struct rules_tools *t = tools;
    const struct buf *text = &item->entry.document.text;
    item->result = mem_alloc(l->rules.count * sizeof(double));
    rules_measure(&l->rules, t, text->data, text->len, item->result);
    return 0;
}

static int add_row(void *ctx, struct flow_item *item)
{
    struct learning *l = ctx;
    const size_t n = l->rules.count;
    if ((item->entry.number - 1) % l->step == 0) {
        mem_grow(l->rows, l->cap, (l->count + 1) * n);
        memcpy(l->rows + l->count++ * n, item->result, n * sizeof(double));
    }
    if (l->count == SAMPLES) {
        for (size_t i = 0; i < SAMPLES / 2; i++)
            memcpy(l->rows + i * n, l->rows + 2 * i * n, n * sizeof(double));
        l->count = SAMPLES / 2;
        l->step *= 2;
    }
    return 0;
}

static int run_learn(int argc, char **argv, void *given_options)
{
    const struct filter *given = given_options;
    struct learning l = { .step = 1 };
    if (rules_set(&l.rules, given->sets, NULL, NULL, 0) < 0)
        return -1;
    struct flow flow = { .options = &given->flow,
                         .judge = measure,
                         .settle = add_row,
                         .forget = free,
                         .ctx = &l,
                         .tools_bytes = sizeof(struct rules_tools),
                         .tools_init = rules_tools_init,
                         .tools_release = rules_tools_release,
                         .silent = 1 };
    int result = flow_run(&flow, argc, argv);
    SCOPED(buf) text = buf_format("# limits of textclean filter, from %" PRIu64 " document(s)\n",
                                  flow.read);
    if (!result && !rules_learn(l.rows, l.count, given->tail, &text))
        result = err_set("nothing to learn: no documents, or sets of rules without shares");
    if (!result && !(result = file_write(given->flow.output_path, text.data, text.len)))
        tool_count("document(s)", flow.read);
    free(l.rows);
    return result;
}

const struct tool_command learn_filter_command = {
    .name = "learn-filter",
    .args = "[FILE...]",
    .summary = "Learn limits of rules from good texts, such as a wiki.",
    TOOL_OPTIONS(learn_options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_learn,
};
