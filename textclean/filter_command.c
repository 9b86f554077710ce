/* filter_command.c - textclean filter: leaves out documents that fail rules. */
#include "textclean/commands.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "textclean/flow.h"
#include "textclean/personal.h"
#include "textclean/rules.h"

struct filter {
    struct flow_options flow;
    const char *sets;
    struct opt_list limits;
    int personal, list;
};

static const struct filter defaults = { .flow = FLOW_DEFAULTS,
                                        .sets = "repetition,gopher,fineweb" };

#define AT(member) offsetof(struct filter, member)
static const struct opt options[] = {
    { 0, "rules", OPT_TEXT, AT(sets), "SET[,SET]",
      "sets of rules, in the order in which they judge: gopher, repetition, c4, fineweb, mc4" },
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
};

struct tools {
    struct rules_tools rules;
    struct buf text;
};

static void tools_init(void *, void *tools)
{
    struct tools *t = tools;
    rules_tools_init(&t->rules);
    buf_init(&t->text);
}

static void tools_release(void *tools)
{
    struct tools *t = tools;
    rules_tools_release(&t->rules);
    buf_release(&t->text);
}

static void change(struct entry *r, const char *text, size_t n)
{
    buf_clear(&r->document.text);
    buf_add(&r->document.text, text, n);
    r->changed = 1;
}

static int judge(void *ctx, void *tools, struct flow_item *item)
{
    const struct run *run = ctx;
    struct tools *t = tools;
    struct entry *r = &item->entry;
    const struct buf *text = &r->document.text;
    item->reason = rules_judge(&run->rules, &t->rules, text->data, text->len, &item->pieces);
    if (item->reason >= 0)
        return 0;
    const struct features *f = &t->rules.features;
    if (f->text != text->data)
        change(r, f->text, f->n);
    if (run->personal && personal_replace(&t->text, text->data, text->len, run->personal))
        change(r, t->text.data, t->text.len);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print_rules(void)
{
    struct buf text = BUF_INIT;
    struct output out;
    rules_print(&text);
    int result = output_open(&out, "-");
    if (!result)
        result = output_end(&out, output_write(&out, text.data, text.len));
    buf_release(&text);
    return result;
}

static int run_filter(int argc, char **argv, void *given_options)
{
    const struct filter *given = given_options;
    struct run run = { .personal = (enum personal_how)given->personal };
    if (given->list)
        return print_rules();
    if (rules_set(&run.rules, given->sets, given->limits.items, given->limits.count) < 0)
        return -1;
    struct flow flow = { .options = &given->flow,
                         .judge = judge,
                         .ctx = &run,
                         .tools_bytes = sizeof(struct tools),
                         .tools_init = tools_init,
                         .tools_release = tools_release,
                         .reasons = run.rules.names,
                         .reason_count = run.rules.count,
                         .piece = "line(s) left out" };
    int result = flow_run(&flow, argc, argv);
    flow_release(&flow);
    return result;
}

const struct tool_command filter_command = {
    .name = "filter",
    .args = "[FILE...]",
    .summary = "Leave out documents that fail rules.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .max_args = -1,
    .run = run_filter,
};
