#include "train/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/files/file.h"
#include "common/files/usage.h"
#include "model/folder/folder.h"
#include "train/defaults.h"
#include "train/saved.h"

const struct settings settings_default = {
    .verify = 1,
    .device = "cpu",
    .layers = 12,
    .width = 768,
    .heads = 12,
    .epsilon = 1e-5,
    .attention_dropout = -1,
    .init_std = 0.02,
    .types = 2,
    .stride = -1,
    .question_tokens = 64,
    .group = 1,
    .learning_rate = -1,
    .minimum_learning_rate = -1,
    .warmup = -1,
    .schedule = "cosine",
    .bias_correction = 1,
    .beta1 = 0.9,
    .beta2 = 0.95,
    .adam_epsilon = 1e-8,
    .momentum = 0.95,
    .weight_decay = 0.1,
    .clip = 1,
    .save = 1,
    .save_every = 500,
    .keep = 2,
    .validate_every = 100,
    .validation_batches = 0,
    .log_every = 10,
    .comm_timeout = 600,
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- tokenizer ------------------------------------------------------------------------------- */

/* Returns 1 if a folder holds a tokenizer's files, 0 if not, or -1 with an error. */
static int has_tokenizer(const char *dir)
{
    static const char *const names[] = { "tokenizer.json", "vocab.json", "vocab.txt" };
    struct buf path = BUF_INIT;
    enum file_kind kind = FILE_NONE;
    int result = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !result && !kind; i++) {
        file_join(&path, dir, names[i]);
        result = file_look(path.data, &kind);
    }
    buf_release(&path);
    return result < 0 ? -1 : kind != FILE_NONE;
}

static int load_tokenizer(struct plan *p, const char *path)
{
    p->tokenizer = tokenizer_load(path);
    return p->tokenizer ? 0 : -1;
}

/* Loads the tokenizer of --vocab or, if that is not given, the one in the model folder to start
 * from. Returns 0, or -1 with an error. */
static int find_tokenizer(struct plan *p)
{
    const struct settings *s = p->settings;
    if (s->vocab)
        return load_tokenizer(p, s->vocab);
    int beside = s->start_from ? has_tokenizer(s->start_from) : 0;
    return beside > 0 ? load_tokenizer(p, s->start_from) : beside;
}

/* If no tokenizer was loaded (find_tokenizer), loads the one that is kept with the data, if there
 * is one. Returns 0, or -1 with an error. */
static int take_tokenizer_of_data(struct plan *p)
{
    if (p->tokenizer || !p->data || !p->data->tokenizer)
        return 0;
    log_info("vocabulary: %s", p->data->tokenizer);
    return load_tokenizer(p, p->data->tokenizer);
}

/* ---- data ------------------------------------------------------------------------------------ */

static int is_generated(const struct settings *s)
{
    for (size_t i = 0; i < s->data.count; i++)
        if (!strcmp(s->data.items[i], "generated"))
            return 1;
    return 0;
}

static int check_checksum(const struct plan *p, const struct samples *d, const char *what)
{
    uint64_t own = p->tokenizer ? tokenizer_checksum(p->tokenizer) : 0;
    if (!p->tokenizer || !d->checksum || d->checksum == own)
        return 0;
    return err_set("vocabularies differ: %s was made with a vocabulary of checksum %016" PRIx64
                   ", but that of the tokenizer is %016" PRIx64,
                   what, d->checksum, own);
}

static struct samples_config samples_config(const struct plan *p)
{
    const struct settings *s = p->settings;
    const int64_t longest = s->positions ? s->positions : p->task->length;
    const int loose = s->loose_length && s->sequence_length && !is_generated(s);
    return (struct samples_config){ .T = loose ? 0 : s->sequence_length,
                                    .longest = loose ? s->sequence_length : longest,
                                    .mask_tokens = s->loose_masks && !is_generated(s)
                                                       ? 0
                                                       : s->mask_tokens,
                                    .seed = p->engine.seed,
                                    .vocabulary = p->settings->vocabulary,
                                    .tokenizer = p->tokenizer,
                                    .documents = s->document_attention,
                                    .google = p->settings->google,
                                    .stride = p->settings->stride,
                                    .question_tokens = p->settings->question_tokens,
                                    .columns = p->settings->columns,
                                    .classes = &p->config.classes };
}

static int open_data(struct plan *p, struct samples **out, const struct opt_list *paths,
                     const char *what)
{
    struct samples_config c = samples_config(p);
    *out = samples_open_blend(p->task->open, &c, paths, what);
    return *out ? 0 : -1;
}

/* Checks that the sequence length and other lengths that were given fit together. Returns 0, or -1
 * with an error. */
static int check_length(const struct plan *p)
{
    const struct settings *s = p->settings;
    if (s->positions && s->sequence_length > s->positions)
        return err_set("sequence-length %" PRId64 " is more than the model's positions, %" PRId64,
                       s->sequence_length, s->positions);
    if (s->sequence_length && s->mask_tokens > s->sequence_length)
        return err_set("mask-tokens %" PRId64 " is more than sequence-length %" PRId64,
                       s->mask_tokens, s->sequence_length);
    return 0;
}

/* Sets a sequence length that is not given: that of the data, or else the positions, or else the
 * task's default. Returns 0, or -1 with an error. */
static int settle_length(struct plan *p)
{
    struct settings *s = p->settings;
    if ((!s->sequence_length || s->loose_length) && p->data) {
        s->sequence_length = p->data->T;
        log_info("sequence length: %" PRId64, s->sequence_length);
    }
    if (s->loose_masks && p->data)
        s->mask_tokens = p->data->mask_tokens;
    s->loose_length = s->loose_masks = 0; /* the validation data must have the same */
    if (!s->sequence_length)
        s->sequence_length = s->positions ? s->positions : p->task->length;
    if (!s->positions)
        s->positions = s->sequence_length;
    p->engine.T = s->sequence_length;
    return check_length(p);
}

/* Sets the classes of the model: those of the folder, or of the training data. Returns 0, or -1
 * with an error. */
static int settle_classes(struct plan *p)
{
    struct labels *c = &p->config.classes;
    if (p->data && !p->data->classes)
        return err_set("the data must be one file, not a blend");
    if (p->data)
        *c = *p->data->classes;
    else if (!c->count && (labels_add(c, "0", 1) < 0 || labels_add(c, "1", 1) < 0))
        return -1;
    return 0;
}

static int open_all_data(struct plan *p, int want_data)
{
    static const char training[] = "the data", validation[] = "the validation data";
    const struct settings *s = p->settings;
    if (is_generated(s) && s->data.count > 1)
        return err_set("generated data cannot be mixed with files");
    if (is_generated(s) && s->document_attention)
        return err_usage("--document-attention cannot be used with generated data, which has no "
                         "documents");
    if (!s->data.count && want_data)
        return err_usage("no data: give --data PATH or --data generated");
    if (s->data.count && !is_generated(s) && open_data(p, &p->data, &s->data, training) < 0)
        return -1;
    if ((p->task->head == HEAD_CLASSES && settle_classes(p) < 0) || settle_length(p) < 0 ||
        take_tokenizer_of_data(p) < 0)
        return -1;
    if (s->validation.count && open_data(p, &p->validation, &s->validation, validation) < 0)
        return -1;
    return (p->data && check_checksum(p, p->data, training) < 0) ||
                   (p->validation && check_checksum(p, p->validation, validation) < 0)
               ? -1
               : 0;
}

/* Makes the samples of generated data, and sets the size of the vocabulary against which all ids
 * are checked. That size must be known. Returns 0, or -1 with an error. */
static int make_data(struct plan *p)
{
    struct settings *s = p->settings;
    if (!s->mask_tokens && p->data)
        s->mask_tokens = p->data->mask_tokens;
    else if (!s->mask_tokens)
        s->mask_tokens = (int64_t)ceil(p->task->masked * (double)p->engine.T);
    struct samples_config c = samples_config(p);
    if (is_generated(s) && !(p->data = p->task->make(&c)))
        return -1;
    struct samples *all[] = { p->data, p->validation };
    for (int i = 0; i < 2; i++) {
        if (!all[i])
            continue;
        all[i]->ids = s->vocabulary;
        p->engine.most = larger(p->engine.most, p->engine.B * all[i]->most);
    }
    return 0;
}

/* ---- the model ------------------------------------------------------------------------------- */

static int vocabulary(struct plan *p)
{
    enum {
        PADDING = 128
    }; /* a preset's vocabulary may be rounded up, for speed, by less than this */
    struct settings *s = p->settings;
    int64_t tokenizer = p->tokenizer ? tokenizer_size(p->tokenizer) : 0;
    int64_t data = p->data ? (int64_t)p->data->vocabulary : 0;
    const int64_t needed = tokenizer ? tokenizer : data;
    const int fits = s->vocabulary >= needed && s->vocabulary - needed < PADDING;
    if (!s->vocabulary)
        s->vocabulary = needed;
    else if (s->loose_vocabulary && needed && !fits) {
        log_info("vocabulary: %" PRId64 " tokens, not the preset's %" PRId64, needed,
                 s->vocabulary);
        s->vocabulary = needed;
    }
    if (!s->vocabulary)
        return err_set("the vocabulary size is not known: give --vocabulary N or --vocab DIR");
    if (s->vocabulary < tokenizer)
        return err_set("the model has %" PRId64 " token rows, but the tokenizer has %" PRId64
                       " tokens: give --vocabulary %" PRId64,
                       s->vocabulary, tokenizer, tokenizer);
    if (s->vocabulary < data)
        return err_set("the model has %" PRId64 " token rows, but the data has ids below %" PRId64
                       ": give --vocabulary %" PRId64,
                       s->vocabulary, data, data);
    return 0;
}

/* Sets *setting to the value from the model folder. Returns 0, or -1 with an error if the user gave
 * another value; `unset` is its value if the user gave none. */
static int take(int64_t *setting, int64_t unset, int64_t from_folder, const char *name)
{
    if (*setting != unset && *setting != from_folder)
        return err_set("%s is %" PRId64 ", but the model to start from has %" PRId64, name,
                       *setting, from_folder);
    *setting = from_folder;
    return 0;
}

static int take_from_folder(const struct plan *p)
{
    struct settings *s = p->settings;
    const struct settings *d = &settings_default;
    const struct model_config *c = &p->config;
    int64_t activation = s->activation, untied = s->untied;
    if (s->rope_theta && s->rope_theta != c->rope_theta)
        return err_set("rope-theta is %g, but the model to start from has %g", s->rope_theta,
                       c->rope_theta);
    s->rope_theta = c->rope_theta;
    if (take(&s->layers, d->layers, c->layers, "layers") < 0 ||
        take(&s->width, d->width, c->width, "width") < 0 ||
        take(&s->heads, d->heads, c->heads, "heads") < 0 ||
        take(&s->kv_heads, d->kv_heads, c->kv_heads, "kv-heads") < 0 ||
        take(&s->head_width, d->head_width, c->head_width, "head-width") < 0 ||
        take(&s->inner, d->inner, c->inner, "inner") < 0 ||
        take(&s->positions, d->positions, c->positions, "positions") < 0 ||
        take(&s->vocabulary, d->vocabulary, c->vocabulary, "vocabulary") < 0 ||
        take(&activation, 0, c->activation + 1, "activation") < 0 ||
        take(&untied, 0, c->untied, "untied") < 0 ||
        (c->types && take(&s->types, d->types, c->types, "types") < 0))
        return -1;
    s->activation = (int)activation;
    s->untied = (int)untied;
    s->epsilon = c->epsilon;
    s->dropout_first = c->dropout_first;
    s->bare_head = c->bare_head;
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

/* Refuses settings that are given but not used. Returns 0, or -1 with an error. */
static int refuse_settings(const struct plan *p)
{
    const struct settings *s = p->settings, *d = &settings_default;
    const enum model_head head = p->task->head;
    const struct {
        const char *name;
        int set, has;
        const char *by, *by_name; /* the setting whose value decides, and its value */
    } some[] = {
        { "kv-heads", s->kv_heads != 0, uses(p, "kv-heads"), "architecture", s->architecture },
        { "head-width", s->head_width != 0, uses(p, "head-width"), "architecture",
          s->architecture },
        { "rope-theta", s->rope_theta != 0, uses(p, "rope-theta"), "architecture",
          s->architecture },
        { "untied", s->untied, uses(p, "untied"), "architecture", s->architecture },
        { "untied", s->untied, head == HEAD_NEXT || head == HEAD_PRETRAINING, "task",
          p->task->name },
        { "types", s->types != d->types, uses(p, "types"), "architecture", s->architecture },
        { "dropout-first", s->dropout_first, uses(p, "dropout-first"), "architecture",
          s->architecture },
        { "bare-head", s->bare_head, head == HEAD_PRETRAINING, "task", p->task->name },
        { "document-attention", s->document_attention, head == HEAD_NEXT, "task", p->task->name },
        { "mask-tokens", s->mask_tokens != 0, head == HEAD_PRETRAINING, "task", p->task->name },
        { "style", s->google, head == HEAD_QUESTIONS, "task", p->task->name },
        { "stride", s->stride != d->stride, head == HEAD_QUESTIONS, "task", p->task->name },
        { "question-tokens", s->question_tokens != d->question_tokens, head == HEAD_QUESTIONS,
          "task", p->task->name },
        { "text-column", s->columns.text != NULL, head == HEAD_CLASSES, "task", p->task->name },
        { "second-column", s->columns.second != NULL, head == HEAD_CLASSES, "task", p->task->name },
        { "label-column", s->columns.label != NULL, head == HEAD_CLASSES, "task", p->task->name },
        { "regression", s->regression, head == HEAD_CLASSES, "task", p->task->name },
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (some[i].set && !some[i].has)
            return err_set("%s is given, but the %s %s does not use it", some[i].name, some[i].by,
                           some[i].by_name);
    return 0;
}

/* Sets the architecture and the configuration to begin with: that of the model folder, or the
 * defaults of the architecture. Returns 0, or -1 with an error. */
static int settle_architecture(struct plan *p)
{
    struct settings *s = p->settings;
    const enum model_head head = p->task->head;
    const struct architecture *a = architecture_default(head);
    if (s->architecture && !(a = architecture_find(s->architecture, head)))
        return -1;
    p->config = (struct model_config){ .architecture = a,
                                       .head = head,
                                       .activation = a->activation };
    if (s->start_from && folder_read_config(&p->config, head, s->start_from) < 0)
        return -1;
    if (s->architecture && p->config.architecture != a)
        return err_set("architecture is %s, but the model to start from has %s", a->name,
                       p->config.architecture->name);
    s->architecture = p->config.architecture->name;
    if (refuse_settings(p) < 0)
        return -1;
    if (s->regression && p->config.classes.count && !p->config.classes.regression)
        return err_set("regression is given, but the model to start from tells classes apart");
    if (s->regression)
        labels_set_regression(&p->config.classes);
    s->regression = p->config.classes.regression;
    return s->start_from ? take_from_folder(p) : 0;
}

/* Makes this rank's part of the model. Returns 0, or -1 with an error. */
static int make_part(struct plan *p)
{
    const struct settings *s = p->settings;
    const int64_t width = larger(s->tensor_width, 1), heads = s->tensor_parallel / width;
    if (heads <= 1 && s->sequence_parallel)
        return err_set("sequence-parallel is given, but tensor-parallel is 1%s",
                       width > 1 ? " along the dimension that it divides" : "");
    if (s->tensor_parallel <= 1)
        return model_init(&p->own, &p->model.config);
    p->split = s->split.sum ? s->split : (struct split){ .ranks = { (int)heads, (int)width } };
    p->split.sequence = s->sequence_parallel;
    return model_init_split(&p->own, &p->model.config, &p->split);
}

static int make_model(struct plan *p)
{
    struct settings *s = p->settings;
    struct model_config c = p->config;
    if (!s->inner)
        s->inner = 4 * s->width;
    c.layers = s->layers;
    c.width = s->width;
    c.heads = s->heads;
    c.kv_heads = s->kv_heads;
    c.head_width = s->head_width;
    c.rope_theta = s->rope_theta;
    c.inner = s->inner;
    c.positions = s->positions;
    c.vocabulary = s->vocabulary;
    c.epsilon = s->epsilon;
    c.embedding_dropout = c.residual_dropout = c.head_dropout = s->dropout;
    c.attention_dropout = s->attention_dropout < 0 ? s->dropout : s->attention_dropout;
    c.init_std = s->init_std;
    c.untied = s->untied;
    if (uses(p, "types"))
        c.types = s->types;
    c.dropout_first = s->dropout_first;
    c.bare_head = s->bare_head;
    if (s->activation)
        c.activation = (enum ops_activation)(s->activation - 1);
    return model_init(&p->model, &c) < 0 ? -1 : make_part(p);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static int64_t stages_of(const struct plan *p)
{
    return larger(p->settings->pipeline_parallel, 1);
}

/* Returns the number of runs of layers that each stage of a pipeline has. */
static int64_t pieces_of(const struct plan *p)
{
    return larger(p->settings->pipeline_interleave, 1);
}

/* Checks that the model can be cut into the stages of a pipeline, and that the other options go
 * with one. Returns 0, or -1 with an error. */
static int check_pipeline(const struct plan *p)
{
    const struct settings *s = p->settings;
    const int64_t pieces = pieces_of(p);
    if (stages_of(p) == 1)
        return pieces == 1 ? 0
                           : err_set("pipeline-parallel is 1x%" PRId64
                                     ": only several stages can have several runs of layers",
                                     pieces);
    if (pieces > 1 && stages_of(p) * pieces > p->model.config.layers)
        return err_set("%" PRId64 " layers cannot be cut into %" PRId64
                       " pipeline stages with %" PRId64 " runs of layers each",
                       p->model.config.layers, stages_of(p), pieces);
    if (stages_of(p) > p->model.config.layers)
        return err_set("%" PRId64 " layers cannot be cut into %" PRId64 " pipeline stages",
                       p->model.config.layers, stages_of(p));
    if (s->memmap_dir || s->device_memory)
        return err_usage("--pipeline-parallel keeps all arrays in memory: it goes without %s",
                         s->memmap_dir ? "--memmap-dir" : "--device-memory");
    return 0;
}

/* Divides the `all` micro-batches of an update among ranks and leaves. Returns 0, or -1 with an
 * error. */
static int share_micro_batches(struct plan *p, int64_t all)
{
    const struct settings *s = p->settings;
    const int64_t ranks = p->ranks, leaves = s->leaves ? s->leaves : ranks;
    if (all % ranks)
        return err_set("global-batch-size %" PRId64 " = micro-batch-size %" PRId64 " x %" PRId64
                       " micro-batches cannot be shared by %" PRId64 " data-parallel ranks",
                       s->global_batch_size, s->micro_batch_size, all, ranks);
    if (leaves & (leaves - 1) && s->leaves)
        return err_set("leaves %" PRId64 " is not a power of two", leaves);
    if (leaves % ranks)
        return err_set("leaves %" PRId64 " is not a multiple of the %" PRId64
                       " data-parallel ranks",
                       leaves, ranks);
    if (all % leaves)
        return err_set("global-batch-size %" PRId64 " = micro-batch-size %" PRId64 " x %" PRId64
                       " micro-batches is not a multiple of leaves %" PRId64,
                       s->global_batch_size, s->micro_batch_size, all, leaves);
    p->engine.A = all / ranks;
    p->engine.leaves = (int)(leaves / ranks);
    p->engine.zero = ranks > 1 ? (int)s->zero : 0;
    p->engine.stages = (int)stages_of(p);
    p->engine.stage = (int)s->stage;
    p->engine.interleave = (int)pieces_of(p);
    if (pieces_of(p) > 1 && all / leaves % stages_of(p))
        return err_set("pipeline-parallel is %" PRId64 "x%" PRId64 ", but the %" PRId64
                       " micro-batches of a leaf are not a multiple of %" PRId64 " pipeline stages",
                       stages_of(p), pieces_of(p), all / leaves, stages_of(p));
    return 0;
}

static int batch_arithmetic(struct plan *p)
{
    struct settings *s = p->settings;
    const int64_t shares = larger(p->ranks, s->leaves);
    if (!s->micro_batch_size) {
        s->micro_batch_size = defaults_micro_batch(tensor_parameters(&p->model.tensors),
                                                   p->engine.T, s->global_batch_size);
        if (!s->global_batch_size && p->data && p->data->count) /* an epoch has an update */
            s->micro_batch_size = larger(
                1, smaller(s->micro_batch_size, (int64_t)samples_epoch(p->data) / shares));
    }
    if (!s->global_batch_size)
        s->global_batch_size = s->micro_batch_size * shares;
    if (s->global_batch_size % s->micro_batch_size)
        return err_set("global-batch-size %" PRId64
                       " is not a multiple of micro-batch-size %" PRId64,
                       s->global_batch_size, s->micro_batch_size);
    p->engine.B = p->engine.most = s->micro_batch_size;
    const int sharing = split_ranks(&p->own, SPLIT_HEADS);
    if (split_sequence(&p->own) && p->engine.B * p->engine.T < sharing)
        return err_set("%" PRId64
                       " tokens of a micro-batch are too few for %d tensor-parallel ranks",
                       p->engine.B * p->engine.T, sharing);
    if (share_micro_batches(p, s->global_batch_size / s->micro_batch_size) < 0)
        return -1;
    const int64_t leaf = p->engine.A / p->engine.leaves;
    if (stages_of(p) > 1 && s->group && s->group != leaf)
        return err_set("group %" PRId64 " is given, but in a pipeline the group is the leaf, of "
                       "%" PRId64 " micro-batches: give --group 0",
                       s->group, leaf);
    if (s->group > leaf)
        return err_set("group %" PRId64 " is more than the %" PRId64 " micro-batches of %s",
                       s->group, leaf, leaf < p->engine.A || p->ranks > 1 ? "a leaf" : "an update");
    p->engine.G = s->group ? s->group : leaf;
    return 0;
}

static int count_steps(struct plan *p, int want_data)
{
    struct settings *s = p->settings;
    if (s->steps && s->epochs > 0)
        return err_set("steps %" PRId64 " and epochs %g are both given: give one of them", s->steps,
                       s->epochs);
    p->steps = s->steps;
    if (p->steps)
        return 0;
    if (!p->data || !p->data->count)
        return want_data ? err_set("generated data has no epochs: give --steps N") : 0;
    double epochs = s->epochs > 0 ? s->epochs : 1, n = samples_epoch(p->data);
    p->steps = (int64_t)floor(epochs * n / (double)s->global_batch_size);
    if (!p->steps)
        return err_set("%g epochs of %.0f sequences are less than one global batch of %" PRId64
                       ": give --steps N",
                       epochs, n, s->global_batch_size);
    s->steps = p->steps;
    s->epochs = 0;
    return 0;
}

/* Sets the learning rates and the warm-up that are not given. */
static void choose_rates(struct plan *p)
{
    struct settings *s = p->settings;
    if (s->learning_rate < 0)
        s->learning_rate = defaults_learning_rate(tensor_parameters(&p->model.tensors),
                                                  p->task->head != HEAD_NEXT, !!s->start_from);
    if (s->minimum_learning_rate < 0)
        s->minimum_learning_rate = s->learning_rate / 10;
    if (s->warmup < 0)
        s->warmup = (double)defaults_warmup(p->steps);
}

static int make_optimizer(struct plan *p)
{
    const struct settings *s = p->settings;
    p->optimizer = (struct optimizer){
        .kind = (enum optimizer_kind)s->optimizer,
        .bias_correction = s->bias_correction,
        .beta1 = s->beta1,
        .beta2 = s->beta2,
        .epsilon = s->adam_epsilon,
        .momentum = s->momentum,
        .weight_decay = s->weight_decay,
        .clip = s->clip,
        .lamb_cap = s->lamb_cap,
        .lamb_thirds = s->lamb_thirds,
        .decay_all = s->decay_all,
        .seed = p->engine.seed,
    };
    p->moments = optimizer_moments(p->optimizer.kind, &p->own.tensors);
    p->whole = optimizer_whole(p->optimizer.kind, &p->own.tensors);
    if (p->optimizer.kind == OPTIMIZER_SCHEDULE_FREE && !(s->beta1 > 0))
        return err_set("the optimizer schedule-free needs a beta1 above 0");
    return 0;
}

static int make_schedule(struct plan *p)
{
    const struct settings *s = p->settings;
    return schedule_init(&p->schedule, s->schedule, s->learning_rate, s->minimum_learning_rate,
                         p->steps, p->steps ? s->warmup : 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int on_gpu(const struct plan *p)
{
    return strncmp(p->settings->device, "cpu", 3) != 0;
}

/* Asks the back end what it needs. Returns 0, or -1 with an error. */
static int ask_back_end(struct plan *p)
{
    const struct model_config *c = &p->own.config;
    const int heads = split_ranks(&p->own, SPLIT_HEADS);
    const struct ops_sizes sizes = { .precision = (enum ops_type)p->settings->precision,
                                     .N = p->engine.B * p->engine.T,
                                     .C = c->width,
                                     .wide = larger(c->inner, 3 * c->width),
                                     .V = c->vocabulary,
                                     .shares = heads,
                                     .group = (int)p->ranks * heads *
                                              split_ranks(&p->own, SPLIT_WIDTH) };
    return ops_needs(p->settings->device, &sizes, &p->needs);
}

static int too_small(const struct plan *p, uint64_t needed)
{
    char limit[32], need[32];
    uint64_t given = on_gpu(p) ? p->settings->device_memory : p->settings->memory;
    return err_set("training takes %s, which is more than %s %s%s", log_bytes(need, needed),
                   on_gpu(p) ? "--device-memory" : "--memory", log_bytes(limit, given),
                   p->store.dir || on_gpu(p) ? "" : ": give --memmap-dir, or --recompute layer");
}

/* Checks that the machine has enough memory, since the kernel would kill the run otherwise. With
 * --memory the user has decided. Returns 0, or -1 with an error. */
static int check_machine(const struct plan *p, uint64_t needed)
{
    uint64_t machine = usage_machine_bytes();
    char need[32], has[32];
    if (p->settings->memory || needed <= machine)
        return 0;
    return err_set(
        "training takes %s, but this machine has only %s of memory: give %s, or a smaller --micro-batch-size",
        log_bytes(need, needed), log_bytes(has, machine),
        p->store.dir ? "--recompute layer" : "--memmap-dir DIR, --recompute layer");
}

int plan_check_device(const struct plan *p, const struct ops *o)
{
    const uint64_t needed = store_plan_total(&p->stored) + p->other.kernels;
    const uint64_t has = ops_free_bytes(o);
    char text[2][32];
    if (needed <= has)
        return 0;
    return err_set(
        "training takes %s of the GPU's memory, but only %s are free: give --device-memory or a smaller --micro-batch-size",
        log_bytes(text[0], needed), log_bytes(text[1], has));
}

/* Returns the times of phases relative to each other, by their arithmetic: a backward pass takes
 * twice that of a forward pass. Recomputed attention takes a quarter of a layer's. */
static struct timeline_costs costs_of(const struct plan *p)
{
    const double masked = (double)p->settings->mask_tokens / (double)p->engine.T;
    struct model_config c = p->model.config;
    struct timeline_costs costs = { { 0 } };
    const double all = plan_flops_per_token(p), layers = (double)c.layers;
    c.layers = 0;
    const double head = model_flops_per_token(&c, p->engine.T, masked);
    costs.of[PHASE_HEAD] = head;
    costs.of[PHASE_LAYER_FORWARD] = costs.of[PHASE_LAYER_AGAIN] = (all - head) / layers / 3;
    costs.of[PHASE_ATTENTION_AGAIN] = costs.of[PHASE_LAYER_FORWARD] / 4;
    costs.of[PHASE_LAYER_BACKWARD] = 2 * costs.of[PHASE_LAYER_FORWARD];
    return costs;
}

static int plan_store(struct plan *p, int to_run)
{
    const struct settings *s = p->settings;
    if (on_gpu(p) && (s->memmap_dir || s->memory) && !s->device_memory)
        return err_usage("on a GPU, --memory and --memmap-dir need --device-memory");
    if (!on_gpu(p) && s->device_memory)
        return err_usage("--device-memory is for --device cuda");
    uint64_t limit = on_gpu(p) ? s->device_memory : s->memory;
    p->store = (struct store_config){ .moments = p->moments,
                                      .whole = p->whole,
                                      .split = p->own.split,
                                      .unsplit = &p->model.tensors,
                                      .ranks = s->zero ? (int)p->ranks : 1,
                                      .zero = (int)s->zero,
                                      .rank = (int)s->rank,
                                      .dir = s->memmap_dir,
                                      .half_parameters = s->parameter_precision == OPS_BF16,
                                      .half_moments = s->state_precision == OPS_BF16,
                                      .half_activations = s->activation_precision == OPS_BF16 };
    p->costs = costs_of(p);
    p->engine.head = (int)lround(p->costs.of[PHASE_HEAD] / (3 * p->costs.of[PHASE_LAYER_FORWARD]));
    engine_program(&p->program, &p->engine, &p->own, p->moments);
    engine_rows(&p->store, &p->engine, &p->own, &p->program);
    if (ask_back_end(p) < 0)
        return -1;
    plan_measure(&p->other, p);
    const struct plan_memory *m = &p->other;
    const uint64_t other = m->kernels + (on_gpu(p) ? 0 : m->batches + m->communication);
    p->store.offload = on_gpu(p) && limit;
    if (limit && limit <= other)
        return too_small(p, other);
    if (limit)
        p->store.memory_bytes = limit - other;
    if (on_gpu(p))
        p->store.host_bytes = s->memory;
    if (store_plan(&p->stored, &p->own.tensors, &p->store) < 0)
        return -1;
    uint64_t all = store_plan_total(&p->stored) + other;
    if (limit && all > limit)
        return too_small(p, all);
    return to_run ? check_machine(p, on_gpu(p) ? p->stored.host_bytes : all) : 0;
}

static void choose_files(const struct plan *p, struct settings *s)
{
    const uint64_t width = s->parameter_precision == OPS_BF16 ? 2 : 4;
    if (s->checkpoint_files == SAVED_AUTO)
        s->checkpoint_files = (int)saved_choice(width *
                                                (uint64_t)tensor_parameters(&p->model.tensors));
}

int plan_make(struct plan *p, struct settings *s, uint64_t seed, int want_data)
{
    *p = (struct plan){ .settings = s,
                        .task = task_of((enum task_kind)s->task),
                        .ranks = larger(s->data_parallel, 1) };
    p->engine.seed = seed;
    p->engine.recompute = (enum recompute)s->recompute;
    if (settle_architecture(p) < 0)
        return -1;
    if (check_length(p) < 0 || find_tokenizer(p) < 0 || open_all_data(p, want_data) < 0 ||
        vocabulary(p) < 0 || make_model(p) < 0 || check_pipeline(p) < 0 ||
        batch_arithmetic(p) < 0 || make_data(p) < 0 || count_steps(p, want_data) < 0)
        return -1;
    choose_rates(p);
    choose_files(p, s);
    return make_optimizer(p) < 0 || plan_store(p, want_data) < 0 ? -1 : make_schedule(p);
}

void plan_release(struct plan *p)
{
    model_release(&p->model);
    model_release(&p->own);
    schedule_release(&p->schedule);
    program_release(&p->program);
    free(p->moments);
    free(p->whole);
    if (p->tokenizer)
        tokenizer_free(p->tokenizer);
    samples_close(p->data);
    samples_close(p->validation);
    *p = (struct plan){ 0 };
}

int64_t plan_samples_per_step(const struct plan *p)
{
    return p->settings->global_batch_size;
}

double plan_flops_per_token(const struct plan *p)
{
    double predicted = (double)p->settings->mask_tokens / (double)p->engine.T;
    return model_flops_per_token(&p->model.config, p->engine.T, predicted);
}
