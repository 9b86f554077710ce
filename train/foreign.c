#include "train/foreign.h"

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/files/nameset.h"
#include "common/program/tool.h"
#include "train/samples/task.h"

extern const char foreign_keys[]; /* foreign.txt */

/* What a line of foreign.txt says of a key. */
struct foreign {
    struct buf line;          /* has the texts */
    const char *option, *why; /* NULL: none */
    const char *words;
    int error, warning; /* 1: that in any file; both 0: a warning in .json files, else an error */
};

#define NO_CORRECTION "lambnobiascorrection" /* names an optimizer and a setting in one word */

/* Keys whose product is the number of micro-batches of an update. */
static const char factors[] =
    "pipeline-depth gradient-accumulation gradient-accumulation-count gradient-accumulation-steps "
    "replicas replication-factor";

/* The translation of one file. */
struct translation {
    struct yaml *y;
    const char *path;
    int pretraining;     /* 1: a file of a TensorFlow 1 trainer, with silent defaults */
    int64_t product;     /* product of the factors; INT64_MAX: that or more */
    int factor_line;     /* line of the last factor; 0: none */
    int no_correction;   /* line that turns bias correction off; 0: none */
    int to_zero;         /* line of a schedule of trainers whose schedules fall to 0; 0: none */
    struct nameset *out; /* reasons to leave out keys; the value is a struct buf, the keys */
};

static const char second_dimension[] = "tensor-parallel-2";

/* Returns a product, or INT64_MAX if it overflows: the range of the option then refuses it. */
static int64_t product_of(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Sets `out` to the last part of a key, in small letters, with '-' for '_', without leading '_'. */
static void plain_key(char out[64], const char *key)
{
    const char *dot = strrchr(key, '.'), *last = dot ? dot + 1 : key;
    snprintf(out, 64, "%s", last + strspn(last, "_"));
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
}

static void set_text(char **to, const char *text)
{
    char *copy = mem_strdup(text);
    free(*to);
    *to = copy;
}

/* Looks for `value` among the words of "theirs theirs=ours ...". If it is one, returns 1 and sets
 * `to` to the text `ours`, or to the value itself if the word has no '='. Else returns 0. */
static int find_word(const char *words, const char *value, char to[64])
{
    size_t n = strlen(value);
    for (const char *w = words; w && *w; w += strcspn(w, " "), w += *w == ' ') {
        size_t theirs = strcspn(w, "= "), all = strcspn(w, " ");
        if (theirs != n || memcmp(w, value, n))
            continue;
        snprintf(to, 64, "%.*s", w[theirs] == '=' ? (int)(all - theirs - 1) : (int)n,
                 w + (w[theirs] == '=' ? theirs + 1 : 0));
        return 1;
    }
    return 0;
}

static int is_factor(const char *key)
{
    char found[64];
    return find_word(factors, key, found);
}

/* Sets the members of *f from what follows " -> " in a line of foreign.txt. Changes that text. */
static void take_parts(struct foreign *f, char *text)
{
    char *mark = strchr(text, '!');
    f->error = mark && mark[1] == '!';
    f->warning = mark && mark[1] == '?';
    f->why = mark ? strchr(mark, ' ') + 1 : NULL;
    if (mark)
        mark[-1] = '\0';
    char *end = text + strcspn(text, " ");
    f->words = *end ? end + 1 : end;
    *end = '\0';
    f->option = strcmp(text, "-") ? text : NULL;
}

/* Sets *f to the line of a key. Returns 1, or 0 if there is none. */
static int find(struct foreign *f, const char *key)
{
    char found[64];
    for (const char *p = foreign_keys; *p; p += strcspn(p, "\n") + 1) {
        buf_set(&f->line, p, strcspn(p, "\n"));
        char *arrow = *p == '#' ? NULL : strstr(f->line.data, " -> ");
        if (!arrow)
            continue;
        *arrow = '\0';
        if (find_word(f->line.data, key, found)) {
            take_parts(f, arrow + 4);
            return 1;
        }
    }
    return 0;
}

/* Merges item i with an earlier item of the same key. Returns 1 if item i was removed, 0 if there
 * is no other item, or -1 with an error if their values differ. */
static int merge(struct yaml *y, size_t i, const char *path)
{
    const struct yaml_item *b = &y->items[i], *a = yaml_find(y, b->key);
    char *end, *other;
    if (a == b)
        return 0;
    if (strtod(a->value, &end) != strtod(b->value, &other) ||
        ((*end || *other) && strcmp(a->value, b->value))) /* texts, such as false */
        return err_set("%s:%d: %s is %s here but %s in line %d: textmill has one option for both",
                       path, b->line, b->key, b->value, a->value, a->line);
    yaml_remove(y, i);
    return 1;
}

/* Handles item i, which has no equivalent here. If *f or the file's name makes it a warning (struct
 * foreign), removes it, notes its key and the reason, and returns 1. Else returns -1 with an error.
 */
static int leave_out(struct translation *t, size_t i, const char *key, const struct foreign *f)
{
    const struct yaml_item *item = &t->y->items[i];
    if (f->error)
        return err_set("%s:%d: unsupported value of '%s', %s: %s", t->path, item->line, key,
                       item->value, f->why);
    if (!file_ends_with(t->path, ".json") && !f->warning)
        return err_set("%s:%d: unsupported key '%s': %s", t->path, item->line, key, f->why);
    struct buf *keys = nameset_put(t->out, f->why, strlen(f->why));
    buf_addf(keys, "%s%s", keys->len ? ", " : "", key);
    yaml_remove(t->y, i);
    return 1;
}

/* Translates item i, whose key is in the table. Returns 1 if it was removed, 0 if not, or -1 with
 * an error. */
static int translate(struct translation *t, size_t i, const char *key, const struct foreign *f)
{
    struct yaml_item *item = &t->y->items[i];
    char word[64];
    int none = !*item->value;
    if (!none && *f->words)
        for (char *c = item->value; *c; c++)
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    int known = !none && find_word(f->words, item->value, word);
    if (known && !*word) /* a word without an equivalent here */
        return leave_out(t, i, key, f);
    if (f->option && !none) {
        if (!strcmp(item->value, NO_CORRECTION))
            t->no_correction = item->line;
        set_text(&item->key, f->option);
        if (known)
            set_text(&item->value, word);
        return merge(t->y, i, t->path);
    }
    if (!none && !known && f->why)
        return leave_out(t, i, key, f);
    yaml_remove(t->y, i);
    return 1;
}

/* Translates item i. Returns 1 if it was removed, 0 if not, or -1 with an error. */
static int take(struct translation *t, size_t i)
{
    static const char sections[] = "task_specific_params id2label label2id auto_map transformers "
                                   "sentence_transformers";
    struct yaml_item *item = &t->y->items[i];
    char key[64], found[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(item->key, "."), item->key);
    if (strchr(item->key, '.') && find_word(sections, key, found)) {
        yaml_remove(t->y, i);
        return 1;
    }
    plain_key(key, item->key);
    if (is_factor(key)) {
        t->product = product_of(t->product, strtoll(item->value, NULL, 10));
        t->factor_line = item->line;
        yaml_remove(t->y, i);
        return 1;
    }
    if (t->pretraining && !strcmp(key, "epsilon")) /* not that of layer norms */
        snprintf(key, sizeof key, "adam-epsilon");
    if (file_ends_with(item->key, "sliding_attention.rope_theta")) /* the other one is rope-theta */
        snprintf(key, sizeof key, "local-rope-theta");
    if (!strcmp(key, "lr-scheduler-type") || !strcmp(key, "lr-schedule"))
        t->to_zero = item->line;
    struct foreign f = { .line = BUF_INIT };
    int result = 0;
    if (strcmp(key, second_dimension) && find(&f, key)) /* see join_grid */
        result = translate(t, i, key, &f);
    else
        set_text(&item->key, key); /* ours, or unknown: the parser of options reports it */
    buf_release(&f.line);
    return result;
}

static void add(struct yaml *y, const char *key, const char *value, int line)
{
    mem_next(y->items, y->count, y->cap) = (struct yaml_item){ mem_strdup(key), mem_strdup(value),
                                                               line, 0 };
}

/* Turns "lr_schedule_by_step": { "0": 1e-5, ... } into rates, if the schedule uses them. */
static void gather_rates(struct yaml *y)
{
    static const char section[] = "lr_schedule_by_step.";
    const char *schedule = yaml_get(y, "lr_schedule");
    int looks = !schedule || !strcmp(schedule, "custom"), line = 0;
    SCOPED(buf) rates = BUF_INIT;
    for (size_t i = 0; i < y->count;) {
        if (strncmp(y->items[i].key, section, sizeof section - 1)) {
            i++;
            continue;
        }
        line = line ? line : y->items[i].line;
        buf_addf(&rates, "%s%s:%s", rates.len ? "," : "", y->items[i].key + sizeof section - 1,
                 y->items[i].value);
        yaml_remove(y, i);
    }
    if (rates.len && looks)
        add(y, "rates", rates.data, line);
}

/* Drops keys that have no effect:
 * - sliding_window, if use_sliding_window is false (Qwen);
 * - gelu of a GPT: version 0.1.0 wrote this key for each model and used it for BERT alone;
 * - max_steps if it is 0 or less, else num_train_epochs; the same for warmup_steps and warmup_ratio
 *   (Hugging Face's TrainingArguments). */
static void drop_replaced(struct yaml *y)
{
    static const char *const pairs[][2] = { { "max_steps", "num_train_epochs" },
                                            { "warmup_steps", "warmup_ratio" } };
    const char *used = yaml_get(y, "use_sliding_window"), *task = yaml_get(y, "task");
    if (used && !strcmp(used, "false"))
        yaml_drop(y, "sliding_window");
    if (task && !strcmp(task, "gpt"))
        yaml_drop(y, "gelu");
    for (int i = 0; i < 2; i++) {
        const char *steps = yaml_get(y, pairs[i][0]), *other = yaml_get(y, pairs[i][1]);
        if (steps && other && *other)
            yaml_drop(y, pairs[i][strtod(steps, NULL) > 0]);
    }
}

/* Fits the config.json of a RoBERTa to the options: its number of positions counts two that no
 * token has, and there is no option for its one type of segments. */
static void fit_roberta(struct yaml *y)
{
    const char *name = yaml_get(y, "model_type"), *types = yaml_get(y, "type_vocab_size");
    const struct architecture *a = architecture_find(name ? name : "", HEAD_PRETRAINING);
    struct yaml_item *positions = yaml_find(y, "max_position_embeddings");
    if (!a || !a->first_position)
        return;
    if (positions) {
        SCOPED(buf) text = buf_format("%lld",
                                      strtoll(positions->value, NULL, 10) - a->first_position);
        set_text(&positions->value, text.data);
    }
    if (types && !strcmp(types, "1"))
        yaml_drop(y, "type_vocab_size");
}

/* Sets the global batch to the product of the micro-batch size and the factors. */
static int multiply(const struct translation *t)
{
    const char *micro = yaml_get(t->y, "micro-batch-size");
    int64_t size = micro ? strtoll(micro, NULL, 10) : 0;
    char global[32];
    if (!t->factor_line)
        return 0;
    if (t->product < 1 || size < 1)
        return err_set("%s:%d: gradient accumulation needs a batch size of at least 1", t->path,
                       t->factor_line);
    snprintf(global, sizeof global, "%" PRId64, product_of(t->product, size));
    add(t->y, "global-batch-size", global, t->factor_line);
    return 0;
}

static void set_default(struct yaml *y, const char *key, const char *value, int line)
{
    if (!yaml_get(y, key))
        add(y, key, value, line);
}

/* Joins the two dimensions of tensor parallelism into one value such as 2x4. */
static void join_grid(struct yaml *y)
{
    const char *first = yaml_get(y, "tensor-parallel"), *second = yaml_get(y, second_dimension);
    if (!second)
        return;
    SCOPED(buf) grid = buf_format("%sx%s", first ? first : "1", second);
    set_default(y, "tensor-parallel", "1", 1);
    set_text(&yaml_find(y, "tensor-parallel")->value, grid.data);
    yaml_drop(y, second_dimension);
}

/* Joins a schedule and its numbers, which other trainers and earlier versions of textmill give in
 * keys of their own, into a value of --schedule. Numbers of other schedules have no effect. */
static void join_schedule(struct yaml *y)
{
    static const struct {
        const char *schedule, *key, *number;
    } parts[] = { { "polynomial", "power", "1" },
                  { "exponential", "decay-rate", "0.05" },
                  { "exponential", "decay-steps", "500" },
                  { "wsd", "cooldown", "0.2" },
                  { "custom", "rates", "" } };
    const char *name = yaml_get(y, "schedule");
    SCOPED(buf) text = BUF_INIT;
    if (!name)
        return;
    int custom = !strcmp(name, "custom"), joined = custom;
    buf_adds(&text, custom ? "" : name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *number = yaml_get(y, parts[i].key);
        if (!strcmp(name, parts[i].schedule)) {
            joined |= number != NULL;
            buf_addf(&text, "%s%s", custom ? "" : ":", number ? number : parts[i].number);
        }
        yaml_drop(y, parts[i].key);
    }
    if (joined) /* else the name alone is the value */
        set_text(&yaml_find(y, "schedule")->value, text.data);
}

/* Adds settings that a file of another program implies without naming them. */
static void fill_in(const struct translation *t)
{
    struct yaml *y = t->y;
    join_grid(y);
    if (t->no_correction)
        set_default(y, "bias-correction", "false", t->no_correction);
    if (t->to_zero)
        set_default(y, "minimum-learning-rate", "0", t->to_zero);
    const int tasked = tool_set("task"); /* by a file that this one begins with, such as `base` */
    const char *name = tasked ? NULL : yaml_get(y, "architecture");
    for (size_t i = 0; name && architecture_at(i); i++)
        if (!strcmp(architecture_at(i)->name, name))
            set_default(y, "task", task_for(architecture_at(i))->name, 1);
    if (!tasked && (yaml_get(y, "mask-tokens") || yaml_get(y, "types"))) /* only a BERT's */
        set_default(y, "task", "bert", 1);
    for (const char *p = foreign_keys; (p = strstr(p, "\n= ")) && t->pretraining; p++) {
        char key[64], value[64];
        if (sscanf(p, "\n= %63s %63s", key, value) == 2)
            set_default(y, key, value, 1);
    }
    join_schedule(y);
    if (t->pretraining && !yaml_get(y, "steps"))
        set_default(y, "epochs", "300", 1);
    if (t->pretraining && !strcmp(yaml_get(y, "optimizer"), "lamb"))
        set_default(y, "decay", "all", 1); /* in those programs, lamb decays all tensors */
    if (t->pretraining)
        set_text(&yaml_find(y, "activation")->value, "gelu_new"); /* they have only this form */
    static const char *const spans[] = { "steps", "epochs" };
    for (int k = 0; k < 2; k++) /* the one replaces the other of a file that was read before */
        if (yaml_get(y, spans[k]) && strtod(yaml_get(y, spans[k]), NULL) > 0)
            set_default(y, spans[!k], "0", 1);
    static const char *const parts[] = { "attention-dropout", "embedding-dropout" };
    for (int k = 0; k < 2; k++) {
        const char *dropout = yaml_get(y, "dropout"), *part = yaml_get(y, parts[k]);
        if (dropout && part && strtod(dropout, NULL) == strtod(part, NULL) &&
            (t->pretraining || file_ends_with(t->path, ".json"))) /* else it is the user's own */
            yaml_drop(y, parts[k]); /* so that --dropout changes both */
    }
}

/* Prints one warning for each reason. */
static void say_left_out(struct translation *t)
{
    for (size_t i = 0; i < nameset_count(t->out); i++) {
        struct buf *keys = nameset_value(t->out, i);
        log_warn("%s: ignored %s: %s", t->path, keys->data, nameset_at(t->out, i));
        buf_release(keys);
    }
    nameset_free(t->out);
}

const char *foreign_option(const char *name)
{
    static char say[256];
    struct foreign f = { .line = BUF_INIT };
    char key[64];
    plain_key(key, name);
    if (is_factor(key))
        return "use --global-batch-size, the number of sequences per update";
    const int found = find(&f, key);
    const char *why = f.why ? f.why : "it has no effect on training";
    snprintf(say, sizeof say, "%s%s", f.option ? "give --" : "", f.option ? f.option : why);
    buf_release(&f.line);
    return found ? say : NULL;
}

int foreign_translate(struct yaml *y, const char *path)
{
    const char *task = yaml_get(y, "task");
    struct translation t = { .y = y,
                             .path = path,
                             .product = 1,
                             .pretraining = task && !strcmp(task, "pretraining"),
                             .out = nameset_new(sizeof(struct buf)) };
    int result = 0;
    gather_rates(y);
    drop_replaced(y);
    fit_roberta(y);
    for (size_t i = 0; i < y->count && result >= 0; i += result == 0)
        result = take(&t, i);
    say_left_out(&t);
    if (result < 0 || multiply(&t) < 0)
        return -1;
    fill_in(&t);
    return 0;
}
