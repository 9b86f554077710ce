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
#include "train/cluster.h"
#include "train/defaults.h"
#include "train/program/timeline.h"
#include "train/ranks/reduce.h"
#include "train/saved.h"
#include "train/store/word_table.h"

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
    c.types = uses(p, "types") ? s->types : 0;
    c.dropout_first = s->dropout_first;
    c.bare_head = s->bare_head;
    if (s->activation)
        c.activation = (enum ops_activation)(s->activation - 1);
    return model_init(&p->model, &c) < 0 ? -1 : make_part(p);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static int64_t ranks_of(const struct plan *p)
{
    return larger(p->settings->data_parallel, 1);
}

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
    const int64_t ranks = ranks_of(p), leaves = s->leaves ? s->leaves : ranks;
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
    const int64_t shares = larger(ranks_of(p), s->leaves);
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
                       s->group, leaf,
                       leaf < p->engine.A || ranks_of(p) > 1 ? "a leaf" : "an update");
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

int plan_validation_round(const struct plan *p)
{
    return p->engine.stages > 1 ? 8 * p->engine.stages : 1;
}

/* Returns the bytes of the batch that is trained on, of the one that is read meanwhile, and of the
 * sequences of a round of the validation. */
static uint64_t batch_bytes(const struct plan *p)
{
    const enum sequences_kind kind = p->task->head != HEAD_NEXT        ? SEQUENCES_ENCODER
                                     : p->settings->document_attention ? SEQUENCES_DOCUMENTS
                                                                       : SEQUENCES_PLAIN;
    const struct samples *v = p->validation;
    return 2 * (uint64_t)p->engine.A * sequences_bytes(p->engine.most, p->engine.T, kind) +
           (v ? (uint64_t)plan_validation_round(p) *
                    sequences_bytes(p->engine.B * v->most, p->engine.T, v->kind)
              : 0);
}

/* Returns the floats of scratch memory that a phase needs, for example for the gradients inside a
 * layer, or for the logits of a chunk of rows. */
static int64_t scratch_of(const struct plan *p, enum phase_kind kind)
{
    const int64_t N = p->engine.B * p->engine.T,
                  head = kind == PHASE_HEAD || kind == PHASE_HEAD_EVALUATION;
    const int halves = p->store.half_parameters + 2 * p->store.half_moments;
    switch (kind) {
    case PHASE_LAYER_EVALUATION: return N * layer_scratch_fwd(&p->own);
    case PHASE_UPDATE:
        return optimizer_scratch(&p->optimizer, &p->own.tensors, &p->model.tensors, halves);
    case PHASE_INPUTS:
    case PHASE_GATHER:
    case PHASE_GATHER_TABLE:
    case PHASE_SUM_TABLE:
    case PHASE_SUM: return 0;
    default:
        return phase_is_transfer(kind)
                   ? 0
                   : N * layer_scratch_bwd(&p->own) + (head ? p->needs.loss_floats : 0);
    }
}

static int64_t most_scratch(const struct plan *p, const struct program *list)
{
    int64_t most = 0;
    for (int64_t n = 0; n < list->count; n++)
        most = larger(most, scratch_of(p, list->phases[n].kind));
    return most;
}

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
                                     .group = (int)ranks_of(p) * heads *
                                              split_ranks(&p->own, SPLIT_WIDTH) };
    return ops_needs(p->settings->device, &sizes, &p->needs);
}

/* Returns the bytes of scratch memory: the largest need of any phase, as scratch memory never
 * shrinks; and what the back end needs. */
static uint64_t kernel_bytes(const struct plan *p)
{
    int64_t scratch = most_scratch(p, &p->program);
    struct program evaluation = { 0 };
    if (p->validation)
        program_evaluation(&evaluation,
                           &(struct program_config){ .layers = (int)p->own.config.layers,
                                                     .tied = p->own.tied,
                                                     .head = p->engine.head,
                                                     .stages = p->engine.stages,
                                                     .stage = p->engine.stage,
                                                     .interleave = p->engine.interleave });
    scratch = larger(scratch, most_scratch(p, &evaluation));
    program_release(&evaluation);
    return (uint64_t)scratch * sizeof(float) + p->needs.bytes;
}

/* Returns the bytes for operations on the embedding that are done in two parts. */
static uint64_t table_bytes(const struct plan *p)
{
    const struct engine_config *e = &p->engine;
    int sums = 0, gathers = 0;
    for (int64_t n = 0; n < p->program.count; n++) {
        sums |= p->program.phases[n].kind == PHASE_SUM_TABLE;
        gathers |= p->program.phases[n].kind == PHASE_GATHER_TABLE;
    }
    if (!(sums || gathers) || ranks_of(p) == 1 || p->own.split || p->store.dir || p->store.offload)
        return 0;
    return word_table_bytes(&p->own.tensors, ranks_of(p) * e->G * e->most * e->T);
}

/* Returns the bytes of the gradients that are being sent between ranks, and of the tensor that a
 * checkpoint puts together. */
static uint64_t communication_bytes(const struct plan *p)
{
    const int moved = p->engine.stages > 1 && p->settings->checkpoint_files == SAVED_ONE;
    const uint64_t tensor = saved_bytes(&p->own.tensors, &p->model.tensors, p->engine.zero > 0,
                                        moved);
    const int ranks = (int)larger(
        ranks_of(p), larger(split_ranks(&p->own, SPLIT_HEADS), split_ranks(&p->own, SPLIT_WIDTH)));
    return (ranks > 1 ? reduce_room_bytes(ranks) : 0) + table_bytes(p) +
           (p->settings->save ? tensor : 0);
}

/* Returns the bytes of memory outside the store. */
static uint64_t other_bytes(const struct plan *p)
{
    return batch_bytes(p) + kernel_bytes(p) + communication_bytes(p);
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
    const uint64_t needed = store_plan_total(&p->stored) + kernel_bytes(p);
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
                                      .ranks = s->zero ? (int)ranks_of(p) : 1,
                                      .zero = (int)s->zero,
                                      .rank = (int)s->rank,
                                      .dir = s->memmap_dir,
                                      .half_parameters = s->parameter_precision == OPS_BF16,
                                      .half_moments = s->state_precision == OPS_BF16,
                                      .half_activations = s->activation_precision == OPS_BF16 };
    const struct timeline_costs costs = costs_of(p);
    p->engine.head = (int)lround(costs.of[PHASE_HEAD] / (3 * costs.of[PHASE_LAYER_FORWARD]));
    engine_program(&p->program, &p->engine, &p->own, p->moments);
    engine_rows(&p->store, &p->engine, &p->own, &p->program);
    if (ask_back_end(p) < 0)
        return -1;
    uint64_t other = on_gpu(p) ? kernel_bytes(p) : other_bytes(p);
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
    *p = (struct plan){ .settings = s, .task = task_of((enum task_kind)s->task) };
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

/* ---- the dry run ----------------------------------------------------------------------------- */

static void put_int(struct buf *out, const char *key, uint64_t value)
{
    buf_addf(out, "%s=%" PRIu64 "\n", key, value);
}

static void print_model(const struct plan *p, struct buf *out)
{
    const struct model_config *c = &p->model.config;
    put_int(out, "layers", (uint64_t)c->layers);
    put_int(out, "width", (uint64_t)c->width);
    put_int(out, "heads", (uint64_t)c->heads);
    if (c->kv_heads != c->heads)
        put_int(out, "kv_heads", (uint64_t)c->kv_heads);
    put_int(out, "inner", (uint64_t)c->inner);
    put_int(out, "positions", (uint64_t)c->positions);
    put_int(out, "vocabulary", (uint64_t)c->vocabulary);
    put_int(out, "parameters", (uint64_t)tensor_parameters(&p->model.tensors));
}

static void print_steps(const struct plan *p, struct buf *out)
{
    double tokens = (double)(plan_samples_per_step(p) * p->engine.T);
    double flops = plan_flops_per_token(p);
    put_int(out, "sequence_length", (uint64_t)p->engine.T);
    if (p->settings->mask_tokens)
        put_int(out, "mask_tokens", (uint64_t)p->settings->mask_tokens);
    put_int(out, "micro_batch_size", (uint64_t)p->engine.B);
    put_int(out, "accumulation", (uint64_t)p->engine.A);
    if (ranks_of(p) > 1)
        put_int(out, "data_parallel", (uint64_t)ranks_of(p));
    put_int(out, "global_batch_size", (uint64_t)plan_samples_per_step(p));
    put_int(out, "tokens_per_step", (uint64_t)tokens);
    buf_addf(out, "learning_rate=%g\nminimum_learning_rate=%g\n", p->settings->learning_rate,
             p->settings->minimum_learning_rate);
    buf_addf(out, "flops_per_token=%.0f\nflops_per_step=%.0f\n", flops, flops * tokens);
    if (!p->steps)
        return;
    put_int(out, "steps", (uint64_t)p->steps);
    put_int(out, "warmup_steps", (uint64_t)p->schedule.warmup);
    buf_addf(out, "tokens=%.0f\nflops=%.6g\n", tokens * (double)p->steps,
             flops * tokens * (double)p->steps);
}

static void print_memory(const struct plan *p, struct buf *out)
{
    const struct store_plan *t = &p->stored;
    uint64_t caches = 0;
    for (int part = 0; part < CACHE_PARTS; part++)
        caches += t->kind_bytes[STORE_CACHE + part];
    put_int(out, "memory_parameters_bytes", t->kind_bytes[STORE_PARAMETERS]);
    put_int(out, "memory_gradients_bytes", t->kind_bytes[STORE_GRADIENTS]);
    put_int(out, "memory_moments_bytes",
            t->kind_bytes[STORE_MOMENT1] + t->kind_bytes[STORE_MOMENT2]);
    if (p->engine.zero > 1)
        put_int(out, "memory_window_bytes", t->gathered_bytes);
    put_int(out, "memory_x_bytes", t->kind_bytes[STORE_X]);
    put_int(out, "memory_dx_bytes", t->kind_bytes[STORE_DX]);
    put_int(out, "memory_layer_caches_bytes", caches);
    if (p->store.dir || p->store.offload) {
        put_int(out, "store_memory_bytes", t->memory_bytes);
        if (p->store.offload)
            put_int(out, "store_host_bytes", t->host_bytes);
        put_int(out, "store_file_bytes", t->file_bytes);
        put_int(out, "store_window_bytes", t->window_bytes);
        put_int(out, "store_read_bytes_per_step", t->read_bytes);
        put_int(out, "store_written_bytes_per_step", t->written_bytes);
    }
    put_int(out, "memory_batches_bytes", batch_bytes(p));
    put_int(out, "memory_kernels_bytes", kernel_bytes(p));
    if (ranks_of(p) > 1)
        put_int(out, "memory_communication_bytes", communication_bytes(p));
    put_int(out, "memory_bytes", store_plan_total(t) + other_bytes(p));
}

/* Returns how many parameters of a block a rank has. */
static double block_parameters(const struct plan *p, int block)
{
    const struct tensor_table *t = &p->own.tensors;
    double n = 0;
    for (size_t i = 0; i < t->count; i++)
        n += t->rows[i].block == block ? (double)tensor_elements(&t->rows[i]) : 0;
    return n;
}

/* Sets *sums to how often the gradients of block `b` are summed over the ranks in an update, and
 * *gathers to how often its parameters are gathered. */
static void count_transfers(const struct plan *p, int b, int64_t *sums, int64_t *gathers)
{
    const int64_t fetched = p->program.moves[STORE_PARAMETERS][b].reads;
    *sums = *gathers = 0;
    for (int64_t n = 0; n < p->program.count; n++) {
        const struct phase *f = &p->program.phases[n];
        *sums += f->block == b && f->kind == PHASE_SUM ? f->turns : 0;
        *gathers += f->block == b && f->kind == PHASE_GATHER ? f->turns : 0;
    }
    *gathers += p->engine.zero > 2 ? fetched : 0;
}

/* Appends to `out` the bytes that a rank sends in an update; it receives as many. Gradients are
 * summed to shares. Then shares are gathered: of the sums or, if ranks share the optimizer's state,
 * of the parameters. */
static void print_communication(const struct plan *p, struct buf *out)
{
    const double ranks = (double)ranks_of(p), others = (ranks - 1) / ranks;
    double bytes = 0;
    int64_t operations = 0, sums, gathers;
    if (ranks_of(p) == 1)
        return;
    for (int b = 0; b < p->model.tensors.blocks; b++) {
        count_transfers(p, b, &sums, &gathers);
        operations += sums + gathers;
        bytes += block_parameters(p, b) * others *
                 (double)((p->engine.zero ? 4 : 8) * sums +
                          (p->store.half_parameters ? 2 : 4) * gathers);
    }
    put_int(out, "leaves", (uint64_t)(p->engine.leaves * ranks_of(p)));
    put_int(out, "zero", (uint64_t)p->settings->zero);
    buf_addf(out, "data_parallel_bytes_per_step=%.0f\n", bytes);
    buf_addf(out, "data_parallel_operations_per_step=%" PRId64 "\n", operations);
}

/* What this stage of a pipeline owns. */
struct owned {
    int embedding, head; /* 1 or 0 */
    int64_t layers;
};

static struct owned owned_by(const struct plan *p)
{
    const int layers = (int)p->model.config.layers, stage = p->engine.stage;
    const int *owners = p->program.owners;
    struct owned own = { .embedding = owners[0] == stage, .head = owners[layers + 1] == stage };
    for (int b = 1; b <= layers; b++)
        own.layers += owners[b] == stage;
    return own;
}

/* Returns how many of the decoder's words a micro-batch predicts. */
static double labels_of(const struct plan *p)
{
    switch (p->own.config.head) {
    case HEAD_NEXT: return (double)(p->engine.B * p->engine.T);
    case HEAD_PRETRAINING: return (double)(p->engine.B * p->settings->mask_tokens);
    default: return 0;
    }
}

/* Returns the bytes that a rank sends in a micro-batch to the ranks that share its layers along
 * SPLIT_HEADS; it receives as many (split.h). They are gathers and scatters of rows (a sum is
 * both), and three numbers per label. */
static double heads_bytes(const struct plan *p)
{
    const struct model_config *c = &p->own.config;
    const struct owned own = owned_by(p);
    const int encoder = c->head != HEAD_NEXT, sequence = split_sequence(&p->own);
    const int64_t again = p->engine.recompute == RECOMPUTE_LAYER       ? 4
                          : p->engine.recompute == RECOMPUTE_ATTENTION ? sequence
                                                                       : 0;
    const double ranks = (double)split_ranks(&p->own, SPLIT_HEADS), C = (double)c->width;
    const double N = (double)(p->engine.B * p->engine.T);
    const double labels = own.head ? labels_of(p) : 0;
    const int64_t rows = own.embedding * (encoder ? 4 : 2) + own.head * (encoder ? 0 : sequence) +
                         own.layers * (8 + 2 * sequence + again);
    return 4 * (ranks - 1) / ranks * ((double)rows * N * C + 2 * labels * (C + 3));
}

/* Returns how many numbers ranks along SPLIT_WIDTH sum for the head: logits; in BERT's pre-training
 * also the outputs of the pooler and of the transform, and half a sum for a gather of the
 * decoder's gradient. */
static double head_sums(const struct plan *p)
{
    const struct model_config *c = &p->own.config;
    const double W = (double)split_width(&p->own), B = (double)p->engine.B, labels = labels_of(p);
    if (c->head == HEAD_QUESTIONS)
        return 2 * B * (double)p->engine.T;
    return labels * (double)c->vocabulary +
           (c->head == HEAD_PRETRAINING ? B * W + (c->bare_head ? 0 : 1.5 * labels * W) : 0);
}

/* Returns how many numbers ranks along SPLIT_WIDTH sum for a layer: inner channels and their
 * gradients. */
static double layer_sums(const struct plan *p)
{
    const struct layer_widths w = layer_widths(&p->own.config);
    const int layer = p->engine.recompute == RECOMPUTE_LAYER;
    const int attention = layer || p->engine.recompute == RECOMPUTE_ATTENTION;
    return (double)(p->engine.B * p->engine.T *
                    (w.qkv * (1 + attention) + w.first * (1 + layer) + w.attention + w.inner));
}

/* Returns how many norms this stage has. A layer has two. Decoders have one in the head, encoders
 * have one in the embedding. */
static int64_t count_norms(const struct plan *p, const struct owned *own)
{
    return 2 * own->layers + (p->own.config.head != HEAD_NEXT ? own->embedding : own->head);
}

/* Returns how often the moments of norms are gathered in a micro-batch: for each norm in the
 * forward, and for those that are computed again. Decoders have a norm before attention, encoders
 * have one after it, and one in the embedding that is always computed again. */
static double norm_gathers(const struct plan *p, const struct owned *own)
{
    const int encoder = p->own.config.head != HEAD_NEXT;
    const int again = p->engine.recompute == RECOMPUTE_LAYER       ? 2
                      : p->engine.recompute == RECOMPUTE_ATTENTION ? !encoder
                                                                   : 0;
    return (double)(count_norms(p, own) + encoder * own->embedding + own->layers * again);
}

/* Returns the bytes that a rank sends in a micro-batch along SPLIT_WIDTH: sums of the layers and of
 * the head; the moments of each norm's rows, and in the backward two sums for each of these rows.
 */
static double width_bytes(const struct plan *p)
{
    const struct owned own = owned_by(p);
    const double ranks = (double)split_ranks(&p->own, SPLIT_WIDTH);
    const double rows = (double)split_most_rows(&p->own, p->engine.B * p->engine.T);
    const double sums = (double)own.layers * layer_sums(p) + (own.head ? head_sums(p) : 0) +
                        2 * rows * (double)count_norms(p, &own);
    const int means = p->own.config.head != HEAD_NEXT ||
                      p->own.tensors.rows[p->own.first_head_row].biased;
    const double moments = (means ? 2 : 1) * rows * norm_gathers(p, &own);
    return 4 * (ranks - 1) * (2 * sums / ranks + moments);
}

/* Returns the bytes that a rank of this stage sends in an update to the ranks that share its
 * layers, along both dimensions. */
static double tensor_parallel_bytes(const struct plan *p)
{
    return (double)p->engine.A * (heads_bytes(p) + width_bytes(p));
}

/* Appends to `out` what a rank sends to the ranks that share its layers. */
static void print_tensor_parallel(const struct plan *p, struct buf *out)
{
    const int heads = split_ranks(&p->own, SPLIT_HEADS), width = split_ranks(&p->own, SPLIT_WIDTH);
    const double A = (double)p->engine.A;
    if (!p->own.split)
        return;
    put_int(out, "tensor_parallel", (uint64_t)(heads * width));
    if (split_sequence(&p->own))
        put_int(out, "sequence_parallel", 1);
    if (width > 1) {
        buf_addf(out, "tensor_parallel_grid=%dx%d\n", heads, width);
        buf_addf(out, "tensor1_bytes_per_step=%.0f\n", A * heads_bytes(p));
        buf_addf(out, "tensor2_bytes_per_step=%.0f\n", A * width_bytes(p));
    }
    buf_addf(out, "tensor_parallel_bytes_per_step=%.0f\n", tensor_parallel_bytes(p));
}

/* ---- pipelines ------------------------------------------------------------------------------- */

/* Returns the bytes that a rank of this stage sends to other stages in an update, if no micro-batch
 * has padding. */
static double sent_bytes(const struct plan *p)
{
    double bytes = 0;
    for (int64_t n = 0; n < p->program.count; n++) {
        const struct phase *f = &p->program.phases[n];
        const struct use *u = &f->uses[0];
        if (!phase_is_transfer(f->kind) || u->mode != MODE_READ)
            continue;
        const int half = u->kind == STORE_PARAMETERS  ? p->store.half_parameters
                         : u->kind == STORE_GRADIENTS ? 0
                                                      : p->store.half_activations;
        const int64_t numbers = u->kind < STORE_BLOCKS ? p->own.tensors.block_size[f->block]
                                                       : p->store.row[u->kind];
        bytes += (double)(f->turns * numbers * (half ? 2 : 4)) / (u->own ? p->store.ranks : 1);
    }
    return bytes;
}

/* Returns the plan of another stage; only its program must be released. Its sizes are
 * right; its checks are left out. */
static struct plan plan_of_stage(const struct plan *p, int stage)
{
    struct plan q = *p;
    q.engine.stage = stage;
    engine_program(&q.program, &q.engine, &q.own, q.moments);
    engine_rows(&q.store, &q.engine, &q.own, &q.program);
    store_plan(&q.stored, &q.own.tensors, &q.store);
    return q;
}

static void print_stage(const struct plan *q, struct buf *out)
{
    const int stage = q->engine.stage;
    buf_addf(out, "stage_%d_layers=%" PRId64 "\n", stage, owned_by(q).layers);
    buf_addf(out, "stage_%d_memory_bytes=%" PRIu64 "\n", stage,
             store_plan_total(&q->stored) + other_bytes(q));
    buf_addf(out, "stage_%d_sent_bytes_per_step=%.0f\n", stage, sent_bytes(q));
    if (q->own.split)
        buf_addf(out, "stage_%d_tensor_parallel_bytes_per_step=%.0f\n", stage,
                 tensor_parallel_bytes(q));
}

/* Appends to `out` the memory and the transfers of each stage, and the share of the time that
 * stages wait for each other. */
static void print_pipeline(const struct plan *p, struct buf *out)
{
    const int stages = p->engine.stages;
    const struct timeline_costs costs = costs_of(p);
    struct timeline t;
    if (stages < 2)
        return;
    struct program *programs = mem_zalloc((size_t)stages, sizeof *programs);
    put_int(out, "pipeline_parallel", (uint64_t)stages);
    if (p->engine.interleave > 1)
        put_int(out, "pipeline_interleave", (uint64_t)p->engine.interleave);
    for (int s = 0; s < stages; s++) {
        const struct plan q = plan_of_stage(p, s);
        programs[s] = q.program;
        print_stage(&q, out);
    }
    if (!timeline_run(&t, programs, stages, &costs))
        buf_addf(out, "pipeline_bubble=%.4f\n", 1 - t.busy / (t.length * stages));
    for (int s = 0; s < stages; s++)
        program_release(&programs[s]);
    free(programs);
}

/* Prints the estimate for a cluster (cluster.h). Returns 0, or -1 with an error. */
static int print_estimate(const struct plan *p, struct buf *out)
{
    const struct settings *s = p->settings;
    struct cluster_machine machine;
    struct cluster_estimate estimate;
    const struct cluster_split split = { .tensor1 = split_ranks(&p->own, SPLIT_HEADS),
                                         .tensor2 = split_ranks(&p->own, SPLIT_WIDTH),
                                         .pipeline = stages_of(p),
                                         .interleave = pieces_of(p),
                                         .data = ranks_of(p),
                                         .zero = s->zero };
    const struct cluster_job job = { .layers = (double)p->model.config.layers,
                                     .width = (double)p->model.config.width,
                                     .inside = layer_widths(&p->model.config),
                                     .parameters = (double)tensor_parameters(&p->model.tensors),
                                     .flops_per_token = plan_flops_per_token(p),
                                     .sequence_length = p->engine.T,
                                     .micro_batch = p->engine.B,
                                     .global_batch = plan_samples_per_step(p),
                                     .bf16 = s->precision == OPS_BF16,
                                     .recompute = p->engine.recompute == RECOMPUTE_LAYER };
    if (!s->machine)
        return 0;
    if (cluster_machine_load(&machine, s->machine) < 0 ||
        cluster_estimate(&estimate, &machine, &job, &split) < 0)
        return -1;
    cluster_print(&estimate, &machine, &split, out);
    return 0;
}

static void print_data(const struct samples *s, const char *begins, double drawn, struct buf *out)
{
    buf_addf(out, "%ssequences=%" PRIu64 "\n%stokens=%" PRIu64 "\n", begins, s->count, begins,
             s->tokens);
    if (s->describe)
        s->describe(s, begins, drawn, out);
}

int plan_print(const struct plan *p, struct buf *out)
{
    print_model(p, out);
    print_steps(p, out);
    print_memory(p, out);
    print_communication(p, out);
    print_tensor_parallel(p, out);
    print_pipeline(p, out);
    if (p->data && p->data->count)
        print_data(p->data, "training_", (double)(p->steps * plan_samples_per_step(p)), out);
    if (p->data && p->data->count && p->steps)
        buf_addf(out, "epochs=%.4f\n",
                 (double)p->steps * (double)plan_samples_per_step(p) / samples_epoch(p->data));
    if (p->validation)
        print_data(p->validation, "validation_", (double)p->validation->count, out);
    return print_estimate(p, out);
}
