#include "eval/core_tasks.h"

#include "common/formats/yaml.h"
#include "eval/items.h"
#include "tokenizer/input/csv.h"
#include "unicode/whitespace.h"

/* The keys of a question of each kind, and the type of their values. */
static const struct {
    const char *name, *before, *answer; /* the keys of the texts before and after the delimiter */
    int befores, answers;               /* 1: this key has a list, one text for each prompt */
} kinds[] = {
    [CORE_CHOICE] = { "multiple_choice", "query", "choices", 0, 1 },
    [CORE_SCHEMA] = { "schema", "context_options", "continuation", 1, 0 },
    [CORE_LANGUAGE] = { "language_modeling", "context", "continuation", 0, 0 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- questions ------------------------------------------------------------------------------ */

size_t core_options(enum core_kind kind, const struct js *item)
{
    if (kind == CORE_LANGUAGE)
        return 1;
    return js_count(js_get(item, kinds[kind].befores ? kinds[kind].before : kinds[kind].answer));
}

size_t core_gold(enum core_kind kind, const struct js *item)
{
    int64_t gold = 0;
    if (kind != CORE_LANGUAGE)
        js_int(js_get(item, "gold"), &gold);
    return (size_t)gold;
}

static struct span text_of(const struct js *item, const char *key, int list, size_t option)
{
    struct span s = { NULL, 0 };
    const struct js *value = js_get(item, key);
    s.s = js_text(list ? js_at(value, option) : value, &s.n);
    return s;
}

void core_before(enum core_kind kind, const struct js *item, size_t option, struct buf *out)
{
    struct span s = text_of(item, kinds[kind].before, kinds[kind].befores, option);
    if (kind == CORE_LANGUAGE)
        s = whitespace_strip(s.s, s.n);
    buf_add(out, s.s, s.n);
}

void core_answer(enum core_kind kind, const struct js *item, size_t option, struct buf *out)
{
    struct span s = text_of(item, kinds[kind].answer, kinds[kind].answers, option);
    buf_add(out, s.s, s.n);
}

/* Checks that the value of `key` is a string, or with `list` 1 an array of at least two strings. */
static int check_text(const struct js *item, const char *key, int list)
{
    const struct js *value = js_get(item, key);
    if (!list)
        return js_text(value, NULL) ? 0 : err_set("the object has no string \"%s\"", key);
    if (!js_is_array(value) || js_count(value) < 2)
        return err_set("the object has no array \"%s\" of at least two strings", key);
    for (size_t i = 0; i < js_count(value); i++)
        if (!js_text(js_at(value, i), NULL))
            return err_set("%s[%zu] is no string", key, i);
    return 0;
}

static int check_question(enum core_kind kind, const struct js *item)
{
    int64_t gold, options;
    if (check_text(item, kinds[kind].before, kinds[kind].befores) < 0 ||
        check_text(item, kinds[kind].answer, kinds[kind].answers) < 0)
        return -1;
    options = (int64_t)core_options(kind, item);
    if (kind == CORE_LANGUAGE)
        return 0;
    if (js_int(js_get(item, "gold"), &gold) < 0)
        return err_set("the object has no number \"gold\"");
    return gold >= 0 && gold < options ? 0
                                       : err_set("\"gold\" is %lld, but the answers are 0 to %lld",
                                                 (long long)gold, (long long)options - 1);
}

static int add_question(struct items *g, const char *line, size_t n, const char *name)
{
    struct core_questions *q = g->ctx;
    struct js *item = js_parse_line(line, n, name);
    if (!item)
        return -1;
    mem_next(q->items, q->count, q->cap) = item;
    return check_question(q->kind, item) < 0 ? err_in("%s", name) : 1;
}

int core_questions_read(struct core_questions *q, const struct core_task *task)
{
    SCOPED_BY(input_close) struct input in = { 0 };
    struct items lines = ITEMS_INIT(NULL, NULL, q);
    *q = (struct core_questions){ .kind = task->kind };
    if (input_open_soon(&in, task->path) < 0)
        return err_in("task %s", task->label);
    int result = items_add_lines(&lines, &in, add_question) < 0 ? -1 : 0;
    if (!result && (int64_t)q->count <= task->examples)
        result = err_set("%s: %zu questions are too few for %lld examples before each", task->path,
                         q->count, (long long)task->examples);
    if (result < 0)
        core_questions_release(q);
    return result;
}

void core_questions_release(struct core_questions *q)
{
    for (size_t i = 0; i < q->count; i++)
        js_free(q->items[i]);
    free(q->items);
    *q = (struct core_questions){ 0 };
}

/* ---- the list of tasks ---------------------------------------------------------------------- */

/* Returns the value of a key of task i in core.yaml, or NULL. */
static const char *value(const struct yaml *y, size_t i, const char *key)
{
    SCOPED(buf) name = buf_format("icl_tasks.%zu.%s", i, key);
    return yaml_get(y, name.data);
}

static int read_kind(struct core_task *t, const char *word)
{
    for (int k = 0; k < KINDS; k++)
        if (!strcmp(kinds[k].name, word)) {
            t->kind = (enum core_kind)k;
            return 0;
        }
    return err_set("icl_task_type '%s' is none of multiple_choice, schema, language_modeling",
                   word);
}

/* Sets the baseline of a task from a percentage. Returns 0, or -1 without an error set if the text
 * is no number from 0 to 100. */
static int set_baseline(struct core_task *t, const char *percent)
{
    char *end;
    t->baseline = strtod(percent, &end) / 100;
    return end > percent && !*end && t->baseline >= 0 && t->baseline < 1 ? 0 : -1;
}

/* Fills a task from core.yaml; its baseline is -1 if core.yaml has none. */
static int read_task(struct core_task *t, const struct yaml *y, size_t i, const char *dir)
{
    static const char *const needed[] = { "label", "dataset_uri", "num_fewshot", "icl_task_type" };
    const char *given[4], *delimiter = value(y, i, "continuation_delimiter");
    const char *baseline = value(y, i, "random_baseline");
    for (int k = 0; k < 4; k++)
        if (!(given[k] = value(y, i, needed[k])))
            return err_set("task %zu has no key '%s'", i + 1, needed[k]);
    *t = (struct core_task){ .label = mem_strdup(given[0]),
                             .delimiter = mem_strdup(delimiter ? delimiter : " "),
                             .baseline = -1 };
    SCOPED(buf) path = buf_format("%s/eval_data/%s", dir, given[1]);
    const int there = file_look(path.data);
    if (!there)
        buf_setf(&path, "%s/%s", dir, given[1]);
    t->path = mem_strdup(path.data);
    if (there < 0)
        return -1;
    char *end;
    t->examples = strtoll(given[2], &end, 10);
    if (end == given[2] || (*end && *end != ',') || t->examples < 0 || t->examples > 1000)
        return err_set("task %s: num_fewshot '%s' is no number from 0 to 1000", t->label, given[2]);
    if (baseline && set_baseline(t, baseline) < 0)
        return err_set("task %s: random_baseline '%s' is no number from 0 to 100", t->label,
                       baseline);
    return read_kind(t, given[3]) < 0 ? err_in("task %s", t->label) : 0;
}

/* Sets the baseline of the tasks that have the label in column `task` of the table's row. */
static int take_row(struct core_tasks *t, const struct csv *c, size_t task, size_t baseline)
{
    size_t n, digits;
    if (c->count <= task || c->count <= baseline)
        return err_set("the record has only %zu cells", c->count);
    const char *label = csv_cell(c, task, &n), *s = csv_cell(c, baseline, &digits);
    for (size_t i = 0; i < t->count; i++) {
        if (!bytes_are(label, n, t->tasks[i].label))
            continue;
        char number[32] = { 0 };
        memcpy(number, s, digits < sizeof number ? digits : 0);
        if (set_baseline(&t->tasks[i], number) < 0)
            return err_set("the random baseline of '%s' is no number from 0 to 100",
                           t->tasks[i].label);
    }
    return 0;
}

static int find_column(const struct csv *c, const char *name, size_t *column)
{
    size_t n;
    for (*column = 0; *column < c->count; ++*column) {
        const char *s = csv_cell(c, *column, &n);
        if (bytes_are(s, n, name))
            return 0;
    }
    return err_set("the table has no column '%s'", name);
}

static int read_table(struct core_tasks *t, const char *path)
{
    SCOPED_BY(input_close) struct input in = { 0 };
    struct csv c;
    size_t task = 0, baseline = 0;
    if (input_open_soon(&in, path) < 0)
        return -1;
    csv_open(&c, &in);
    int more = csv_read(&c), result = 0;
    if (more > 0)
        result = find_column(&c, "Eval Task", &task) < 0 ||
                         find_column(&c, "Random baseline", &baseline) < 0
                     ? err_in("%s", path)
                     : 0;
    while (!result && more > 0 && (more = csv_read(&c)) > 0)
        if (take_row(t, &c, task, baseline) < 0)
            result = err_in("%s:%llu", path, (unsigned long long)c.record);
    csv_close(&c);
    return result || more < 0 ? -1 : 0;
}

/* Returns 1 if core.yaml has a task i, else 0. */
static int is_task(const struct yaml *y, size_t i)
{
    SCOPED(buf) name = buf_format("icl_tasks.%zu.", i);
    size_t k = 0;
    while (k < y->count && strncmp(y->items[k].key, name.data, name.len) != 0)
        k++;
    return k < y->count;
}

int core_tasks_read(struct core_tasks *t, const char *dir)
{
    SCOPED(yaml) y = { 0 };
    *t = (struct core_tasks){ 0 };
    SCOPED(buf) path = buf_format("%s/core.yaml", dir);
    int result = yaml_load(&y, path.data);
    for (size_t i = 0; !result && is_task(&y, i); i++) {
        mem_next(t->tasks, t->count, t->cap) = (struct core_task){ 0 };
        if (read_task(&t->tasks[i], &y, i, dir) < 0)
            result = err_in("%s", path.data);
    }
    if (!result && !t->count)
        result = err_set("%s: no list 'icl_tasks' of tasks", path.data);
    buf_setf(&path, "%s/eval_meta_data.csv", dir);
    size_t without = 0;
    while (!result && without < t->count && t->tasks[without].baseline >= 0)
        without++;
    if (!result && without < t->count)
        result = read_table(t, path.data);
    for (size_t i = 0; i < t->count && !result; i++)
        if (t->tasks[i].baseline < 0)
            result = err_set("%s: no random baseline of task '%s'", path.data, t->tasks[i].label);
    if (result)
        core_tasks_release(t);
    return result;
}

void core_tasks_release(struct core_tasks *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->tasks[i].label);
        free(t->tasks[i].path);
        free(t->tasks[i].delimiter);
    }
    free(t->tasks);
    *t = (struct core_tasks){ 0 };
}
