/* The part of plan_make for the model: its settings come from the options, the folder to start
 * from, or the architecture. */
#include "train/plan_parts.h"

#include "common/base/least.h"
#include "common/base/log.h"
#include "common/program/tool.h"
#include "model/folder/folder.h"
#include "model/network/architecture.h"

int plan_model_vocabulary(struct plan *p)
{
    /* a preset's vocabulary may be rounded up, for speed, by less than this */
    enum { PADDING = 128 };
    struct settings *s = p->settings;
    int64_t tokenizer = p->tokenizer ? tokenizer_size(p->tokenizer) : 0;
    int64_t data = p->data ? (int64_t)p->data->facts.vocabulary : 0;
    const int64_t needed = tokenizer ? tokenizer : data;
    const int fits = s->model.vocabulary >= needed && s->model.vocabulary - needed < PADDING;
    if (!s->model.vocabulary)
        s->model.vocabulary = needed;
    else if (s->loose_vocabulary && needed && !fits) {
        log_info("vocabulary: %" PRId64 " tokens, not the preset's %" PRId64, needed,
                 s->model.vocabulary);
        s->model.vocabulary = needed;
    }
    if (!s->model.vocabulary)
        return err_set("the vocabulary size is not known: give --vocabulary N or --vocab DIR");
    if (s->model.vocabulary >= tokenizer && s->model.vocabulary >= data)
        return 0;
    SCOPED(buf) hint = BUF_INIT;
    if (!s->start_from)
        buf_addf(&hint, ": give --vocabulary %" PRId64, larger(tokenizer, data));
    if (s->model.vocabulary < tokenizer)
        return err_set("the model has %" PRId64 " token rows, but the tokenizer has %" PRId64
                       " tokens%s",
                       s->model.vocabulary, tokenizer, hint.data);
    return err_set("the model has %" PRId64 " token rows, but the data has ids below %" PRId64 "%s",
                   s->model.vocabulary, data, hint.data);
}

/* Refuses a setting that is given and differs from the value of the model folder. */
static int check(const char *name, int given, double setting, double from_folder)
{
    if (given && (float)setting != (float)from_folder) /* GGUF files have floats */
        return err_set("%s is %g, but the model to start from has %g", name, setting, from_folder);
    return 0;
}

/* Sets *setting to the value from the model folder. Returns 0, or -1 with an error if the user gave
 * another value; `unset` is its value if the user gave none, and 0 means that, too. */
static int take(int64_t *setting, int64_t unset, int64_t from_folder, const char *name)
{
    const int given = *setting != unset || (*setting && tool_given(name));
    if (given && *setting != from_folder)
        return err_set("%s is %" PRId64 ", but the model to start from has %" PRId64, name,
                       *setting, from_folder);
    *setting = from_folder;
    return 0;
}

/* Returns 1 if the architecture uses the setting, else 0. */
static int uses(const struct plan *p, const char *setting)
{
    for (const char *const *word = p->config.architecture->settings; *word; word++)
        if (!strcmp(*word, setting))
            return 1;
    return 0;
}

/* Sets the settings to the values from the model folder. Leaves out those that the architecture or
 * the task does not use: they would be saved in config.yaml, and --resume would refuse them. */
static int take_from_folder(const struct plan *p)
{
    static const struct {
        size_t at;
        const char *name;
        int some; /* 1: only some architectures use it */
    } counts[] = {
        { CONFIG_AT(layers), "layers", 0 },         { CONFIG_AT(width), "width", 0 },
        { CONFIG_AT(heads), "heads", 0 },           { CONFIG_AT(kv_heads), "kv-heads", 1 },
        { CONFIG_AT(head_width), "head-width", 1 }, { CONFIG_AT(window), "window", 1 },
        { CONFIG_AT(inner), "inner", 0 },           { CONFIG_AT(positions), "positions", 0 },
        { CONFIG_AT(vocabulary), "vocabulary", 0 }, { CONFIG_AT(types), "types", 1 },
    };
    const int masked = p->task->head == HEAD_PRETRAINING;
    struct settings *s = p->settings;
    struct model_config *m = &s->model, c = p->config;
    int64_t untied = m->untied;
    const int bare = c.bare_head && masked;
    if (check("rope-theta", m->rope_theta != 0, m->rope_theta, c.rope_theta) < 0 ||
        check("epsilon", tool_given("epsilon"), m->epsilon, c.epsilon) < 0 ||
        check("dropout-first", tool_given("dropout-first"), m->dropout_first, c.dropout_first) <
            0 ||
        check("bare-head", tool_given("bare-head"), m->bare_head, bare) < 0)
        return -1;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t at = counts[i].at;
        if ((!counts[i].some || uses(p, counts[i].name)) &&
            take((int64_t *)((char *)m + at),
                 *(const int64_t *)((const char *)&settings_default.model + at),
                 *(int64_t *)((char *)&c + at), counts[i].name) < 0)
            return -1;
    }
    if (take(&untied, 0, c.untied, "untied") < 0)
        return -1;
    if (s->activation && s->activation != (int)c.activation + 1)
        return err_set("activation is %s, but the model to start from has %s",
                       architecture_activation((enum ops_activation)(s->activation - 1)),
                       architecture_activation(c.activation));
    s->activation = (int)c.activation + 1;
    m->untied = untied && (masked || p->task->head == HEAD_NEXT);
    m->rope_theta = c.rope_theta;
    m->epsilon = c.epsilon;
    m->dropout_first = c.dropout_first;
    m->bare_head = bare;
    return 0;
}

/* Refuses settings that are given but not used. A row of the table names the model's heads that
 * use a setting. If it names none, the architecture's own list of settings decides. A resumed run
 * may have settings that nobody gave: older versions wrote all defaults into its configuration. */
static int refuse_settings(const struct plan *p)
{
    enum { NEXT = 1 << HEAD_NEXT, MASKED = 1 << HEAD_PRETRAINING, ANSWERS = 1 << HEAD_QUESTIONS };
    enum { CLASSES = 1 << HEAD_CLASSES };
    const struct settings *s = p->settings, *d = &settings_default;
    const struct model_config *m = &s->model;
    const struct {
        const char *name;
        int set, heads;
    } some[] = {
        { "kv-heads", m->kv_heads != 0, 0 },
        { "head-width", m->head_width != 0, 0 },
        { "rope-theta", m->rope_theta != 0, 0 },
        { "window", m->window != 0, 0 },
        { "untied", m->untied, 0 },
        { "untied", m->untied, NEXT | MASKED },
        { "types", m->types != d->model.types, 0 },
        { "dropout-first", m->dropout_first, 0 },
        { "bare-head", m->bare_head, MASKED },
        { "document-attention", s->samples.documents, NEXT },
        { "teacher", s->teacher != NULL, NEXT },
        { "calibrate", s->calibrate, NEXT },
        { "mask-tokens", s->mask_tokens != 0, MASKED },
        { "style", s->samples.google, ANSWERS },
        { "stride", s->samples.stride != d->samples.stride, ANSWERS },
        { "text-column", s->samples.columns.text != NULL, CLASSES },
        { "second-column", s->samples.columns.second != NULL, CLASSES },
        { "label-column", s->samples.columns.label != NULL, CLASSES },
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const int heads = some[i].heads;
        if (some[i].set && (!s->resume || tool_given(some[i].name)) &&
            !(heads ? heads >> p->task->head & 1 : uses(p, some[i].name)))
            return err_set("%s is given, but the %s %s does not use it", some[i].name,
                           heads ? "task" : "architecture",
                           heads ? p->task->name : s->architecture);
    }
    return 0;
}

int plan_model_settle(struct plan *p)
{
    struct settings *s = p->settings;
    const enum model_head head = p->task->head;
    const int numbers = s->task == TASK_REGRESSION;
    const struct architecture *a = architecture_default(head);
    if (s->architecture && !(a = architecture_find(s->architecture, head)))
        return err_in("--task %s", p->task->name); /* another task may have it */
    p->config = (struct model_config){ .architecture = a,
                                       .head = head,
                                       .activation = a->activation };
    if (s->start_from && folder_read_config(&p->config, head, s->start_from) < 0)
        return p->config.architecture ? -1 : err_in("--task %s", p->task->name);
    if (s->start_from && folder_ends(&p->ends, &p->sampling, s->start_from) < 0)
        return -1;
    if (s->architecture && p->config.architecture != a)
        return err_set("architecture is %s, but the model to start from has %s", a->name,
                       p->config.architecture->name);
    s->architecture = p->config.architecture->name;
    if (refuse_settings(p) < 0)
        return -1;
    if (p->config.classes.count && p->config.classes.regression != numbers)
        return err_set("the task is %s, but the model to start from %s: give --task %s",
                       p->task->name, numbers ? "tells classes apart" : "predicts numbers",
                       task_of(numbers ? TASK_CLASSIFY : TASK_REGRESSION)->name);
    if (numbers && !p->config.classes.count)
        labels_set_regression(&p->config.classes);
    return s->start_from ? take_from_folder(p) : 0;
}

static int make_part(struct plan *p)
{
    const struct settings *s = p->settings;
    const int64_t width = s->tensor_width, heads = s->tensor_parallel / width;
    if (heads == 1 && s->sequence_parallel)
        return err_set("sequence-parallel is given, but tensor-parallel is 1%s",
                       width > 1 ? " along the dimension that it divides" : "");
    if (s->tensor_parallel == 1)
        return model_init(&p->own, &p->model.config);
    p->split = s->split.exchange ? s->split : (struct split){ .ranks = { (int)heads, (int)width } };
    p->split.sequence = s->sequence_parallel;
    return model_init_split(&p->own, &p->model.config, &p->split);
}

/* Refuses a RoBERTa's vocabulary if the padding token is not token 1. transformers computes
 * positions by that id, so any other token 1 would have other positions there than here. */
static int check_padding(const struct plan *p)
{
    const int id = p->config.architecture->first_position - 1;
    const int64_t pad = p->tokenizer ? tokenizer_role(p->tokenizer, TOKENIZER_PAD) : id;
    size_t n = 0;
    if (id < 0 || pad == id || (pad < 0 && tokenizer_is_special(p->tokenizer, (uint32_t)id)))
        return 0;
    const char *token = tokenizer_token(p->tokenizer, (uint32_t)id, &n);
    return err_set("a %s needs a vocabulary whose token %d is the padding, and here it is '%.*s': "
                   "give another --vocab, or --architecture bert",
                   p->config.architecture->title, id, (int)n, token ? token : "");
}

int plan_model_make(struct plan *p)
{
    struct settings *s = p->settings;
    struct model_config *m = &s->model, c = s->start_from ? p->config : *m;
    if (!m->inner)
        c.inner = m->inner = 4 * m->width;
    c.architecture = p->config.architecture;
    c.head = p->config.head;
    c.classes = p->config.classes;
    c.positions = m->positions;
    c.vocabulary = m->vocabulary;
    c.embedding_dropout = c.residual_dropout = c.head_dropout = s->dropout;
    if (m->embedding_dropout >= 0)
        c.embedding_dropout = m->embedding_dropout;
    c.attention_dropout = m->attention_dropout < 0 ? s->dropout : m->attention_dropout;
    c.init_std = m->init_std;
    c.zero_ends = m->zero_ends;
    c.types = uses(p, "types") ? m->types : p->config.types;
    c.activation = s->activation ? (enum ops_activation)(s->activation - 1) : p->config.activation;
    return check_padding(p) < 0 || model_init(&p->model, &c) < 0 ? -1 : make_part(p);
}

int plan_model_teacher(struct plan *p)
{
    const struct settings *s = p->settings;
    struct model_config c = { 0 };
    if (!s->teacher)
        return 0;
    if (p->own.split)
        return err_set("--teacher goes without --tensor-parallel");
    if (folder_read_config(&c, HEAD_NEXT, s->teacher) < 0 || model_init(&p->teacher, &c) < 0)
        return -1;
    if (c.vocabulary != s->model.vocabulary)
        return err_set("the teacher '%s' has %" PRId64 " token rows, but the model has %" PRId64
                       ": both need the same vocabulary, and as many rows (--vocabulary)",
                       s->teacher, c.vocabulary, s->model.vocabulary);
    if (c.positions < p->engine.T)
        return err_set("the teacher '%s' takes %" PRId64 " tokens, but the sequences have %" PRId64,
                       s->teacher, c.positions, p->engine.T);
    return 0;
}
