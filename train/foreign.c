#include "train/foreign.h"

#include "common/base/log.h"
#include "common/files/file.h"
#include "train/samples/task.h"

/* Keys of other programs, in small letters and with '-', that are treated alike. With `option`,
 * they are that option here, and `words` translates values: "theirs=ours ...". Without `option`
 * there is no such option here: the values in `words` are ignored, and any other value (any value
 * at all, without words) is reported with the reason `why`, or ignored if `why` is NULL. A value in
 * `words` whose `ours` is empty ("theirs=") is reported with `why`, too. */
struct foreign {
    const char *keys, *option, *words, *why;
};

#define NO_HALF                                                                                    \
    "f16 is not supported; use f32, or bf16 with --precision, --parameter-precision and "          \
    "--activation-precision"
#define NO_CORRECTION "lambnobiascorrection" /* names an optimizer and a setting in one word */

/* The reason why a key of a foreign file is refused if it belongs to a kind of model that textmill
 * does not have. The key is an error with any value. */
static const char unmade[] = "textmill has no such model";
static const char not_finite[] = "a loss or gradient that is not finite ends the run";
/* Earlier versions of textmill had options for it. */
static const char whole[] = "LAMB scales each whole tensor by |w|/|x|, without a limit";
/* Earlier versions of textmill had a loss scale, so its keys are left out of any file. */
static const char no_scale[] = "training in f32 or bf16 needs no loss scale";

static const struct foreign table[] = {
    /* models */
    { "n-layer num-hidden-layers", "layers" },
    { "n-embd hidden-size", "width" },
    { "n-head num-attention-heads", "heads" },
    { "num-key-value-heads", "kv-heads" },
    { "head-dim", "head-width" },
    { "sliding-window", "window" },
    { "rms-norm-eps layer-norm-epsilon layer-norm-eps", "epsilon" },
    { "n-inner intermediate-size", "inner" },
    { "n-positions max-position-embeddings max-positional-length", "positions" },
    { "vocab-size", "vocabulary" },
    { "resid-pdrop embd-pdrop dropout-prob hidden-dropout-prob", "dropout" },
    { "attn-pdrop attention-probs-dropout-prob", "attention-dropout" },
    { "type-vocab-size", "types" },
    { "hidden-act activation-function", "activation",
      "gelu_pytorch_tanh=gelu_new gelu_fast=gelu_new swish=silu" },
    { "gelu", "activation", "exact=gelu tanh=gelu_new" },
    { "use-cls-layer", "bare-head", "true=false false=true" },
    { "initializer-range", "init-std" },
    { "model-type", "architecture" },
    { "tie-word-embeddings", "untied", "true=false false=true" },

    /* training */
    { "task", "task", "pretraining=bert" },
    { "max-predictions-per-seq", "mask-tokens" },
    { "seq-length max-len block-size max-seq-length", "sequence-length" },
    { "reset-attention-mask", "document-attention" },
    { "reset-position-ids", NULL, "false",
      "--document-attention restarts positions, too: leave this key out" },
    { "batch-size per-device-train-batch-size", "micro-batch-size" },
    { "base-learning-rate maximum lr", "learning-rate" },
    { "lr-schedule", "schedule", "polynomial_decay=polynomial natural_exponential=exponential" },
    { "lr-warmup lr-warmup-steps warmup-proportion warmup-steps warmup-iters warmup-ratio",
      "warmup" },
    { "optimiser optimizer", "optimizer", NO_CORRECTION "=lamb" },
    { "optimiser-epsilon", "adam-epsilon" },
    { "optimiser-beta1 adam-beta1", "beta1" },
    { "optimiser-beta2 adam-beta2", "beta2" },
    { "use-debiasing", "bias-correction" },
    { "weight-decay-rate", "weight-decay" },
    { "training-steps num-train-steps max-steps max-iters train-iters", "steps" },
    { "num-epochs num-train-epochs", "epochs" },
    { "max-gradient-norm gradient-clipping grad-clip max-grad-norm", "clip" },
    { "random-seed", "seed" },
    { "train-file train-path tfrecord-path data-prefix input-files", "data" },
    { "steps-per-ckpts checkpoint-steps save-per-steps save-steps", "save-every" },
    { "steps-per-logs log-steps logging-steps log-interval", "log-every" },
    { "checkpoint-output-dir checkpoint-path save-model-path save-path output-dir out-dir",
      "output" },
    { "start-from-ckpt init-checkpoint checkpoint-input-dir pretrained-checkpoint "
      "model-name-or-path",
      "start-from" },
    { "resume-training-from-checkpoint resume-from-checkpoint", "resume" },
    { "min-lr", "minimum-learning-rate" },
    { "lr-scheduler-type", "schedule" },
    { "save-total-limit", "keep" },
    { "eval-steps eval-interval", "validate-every" },
    { "eval-iters", "validation-batches" },
    { "tensor-model-parallel-size tensor-parallel-1", "tensor-parallel" },
    { "pipeline-model-parallel-size", "pipeline-parallel" },
    { "gpus num-gpus n-gpu", NULL, NULL,
      "use --device cuda; mpirun or srun starts a rank for each GPU" },
    { "bf16", NULL, "false", "use --precision bf16" },
    { "fp16", NULL, "false", NO_HALF },
    { "overwrite-output-dir", NULL, NULL, "use --force" },
    { "benchmark", NULL, NULL, "run scripts/benchmark" },
    { "single-ipu pipeline-schedule pipeline-stages device-mapping hidden-layers-per-stage "
      "embeddings-placement layers-per-ipu ipus-per-replica",
      NULL, NULL,
      "layers stay together; --pipeline-parallel N cuts them into stages, on ranks that mpirun or "
      "srun starts" },
    { "poptorch-loop device-iterations batches-per-step", NULL, NULL,
      "there is no device whose results are collected later" },
    /* without influence on training */
    { "wandb-name wandb-project wandb-log report-to n-ctx pretraining-tp max-window-layers "
      "layer-types architectures bos-token-id eos-token-id pad-token-id torch-dtype dtype "
      "transformers-version use-cache output-past gradient-checkpointing "
      "reorder-and-upcast-attn classifier-dropout summary-activation summary-first-dropout "
      "summary-proj-to-labels summary-type summary-use-proj directionality pooler-fc-size "
      "pooler-num-attention-heads pooler-num-fc-layers pooler-size-per-head pooler-type "
      "name-or-path name-suffix wandb use-wandb no-logs log-dir steps-per-tensorboard "
      "checkpoint-model do-train do-validation static-mask duplication-factor duplicate-factor "
      "use-qkv-split loss-scale-window" },

    /* properties of models that have one form only here */
    { "position-embedding-type", NULL, "absolute", unmade },
    { "add-cross-attention attention-bias mlp-bias use-sliding-window is-decoder "
      "scale-attn-by-inverse-layer-idx",
      NULL, "false", unmade },
    { "rope-type", NULL, "default", unmade },
    { "rope-scaling", NULL, NULL, unmade },
    { "scale-attn-weights", NULL, "true", unmade },
    { "use-qkv-bias", NULL, "true", "queries, keys and values always have biases" },
    { "use-attention-projection-bias", NULL, "true", "the projection always has a bias" },

    /* for one kind of machine, or one program */
    { "precision", "precision", "32=f32 fp32=f32 16= 16.16= 16.32= fp16=", NO_HALF },
    { "lamb-cap", NULL, "0", whole },
    { "lamb-thirds", NULL, "false", whole },
    { "loss-scaling loss-scale", NULL, "1", no_scale },
    { "auto-loss-scaling", NULL, "false", no_scale },
    { "stochastic-rounding", NULL, NULL,
      "weights and moments in bf16 are always rounded stochastically" },
    { "partials-type enable-half-partials", NULL, NULL, "sums are always computed in f32" },
    { "enable-half-first-order-momentum", NULL, "false",
      "--state-precision bf16 stores both moments as bf16, with stochastic rounding" },
    { "increase-optimiser-precision", NULL, NULL, "updates are always computed in f32" },
    { "io-tiles available-memory-proportion matmul-proportion disable-graph-outlining "
      "outline-hidden-layers no-outlining scheduler max-cross-replica-sum-buffer-size "
      "custom-ops code-load remap-logit",
      NULL, NULL, "it is an option of a compiler for an accelerator" },
    { "fp-exceptions", NULL, NULL, not_finite },
    { "on-divergence", NULL, "stop", not_finite },
    { "executable-cache-dir compile-only", NULL, NULL,
      "nothing is compiled; to plan only, use --dry-run" },
    { "offload-weight-update-variables variable-offloading min-remote-tensor-size "
      "optimizer-state-offchip extended-memory",
      NULL, NULL, "use --memmap-dir and --memory" },
    { "recomputation-mode recompute-checkpoint-layers xla-recompute", NULL, NULL,
      "use --recompute" },
    { "enable-recomputation recompute-checkpoint-every-layer", "recompute",
      "true=layer false=none" },
    { "logits-matmul-serialization-factor embedding-serialization-factor "
      "matmul-serialize-factor enable-sequence-serialized serialized-seq-len",
      NULL, NULL, "logits are always computed in chunks" },
    { "attention-serialisation", NULL, NULL, "attention is always computed in blocks of queries" },
    { "reduction-type", NULL, NULL,
      "the loss is always the mean over the labels of the global batch" },
    { "lr-decay-steps", NULL, NULL, "the schedule ends with the last update: use --steps" },
    { "save-per-epochs", NULL, NULL, "--save-every counts updates" },
    { "restoring", NULL, "false",
      "use --resume to continue from the latest checkpoint in --output" },
    { "restore-dir restore-path", NULL, NULL,
      "use --resume to continue from the latest checkpoint in --output" },
    { "model", NULL, NULL, "give a preset as the first operand; train --list shows them" },
    { "val-num", NULL, NULL, "use --validation with the data" },
    { "dataset", NULL, NULL, "use --data with files, or with the word generated" },
    { "synthetic-data generated-data", NULL, "false", "use --data generated" },
    { "packed-data packing-factor max-sequences-per-pack", NULL, NULL,
      "the records of the data show whether they are packed" },
    { "parallell-io-threads parallel-io-threads num-workers dataloader-workers async-dataloader",
      NULL, NULL, "batches are always read ahead by one thread" },
    { "tensor-parallel-2", NULL, NULL, "give both numbers as --tensor-parallel AxB" },
    { "replicated-tensor-sharding", "zero", "true=1 false=0" },
    { "rts-activations", "sequence-parallel" },
};

/* Keys whose product is the number of micro-batches of an update. */
static const char factors[] =
    "pipeline-depth gradient-accumulation gradient-accumulation-count gradient-accumulation-steps "
    "replicas replication-factor";

/* Defaults of the trainers on TensorFlow 1, for files with the task "pretraining". */
static const char *const silent[][2] = {
    { "layers", "12" },
    { "width", "768" },
    { "heads", "12" },
    { "positions", "512" },
    { "vocabulary", "31528" },
    { "types", "16" },
    { "epsilon", "1e-3" },
    { "activation", "gelu_new" },
    { "bare-head", "true" },
    { "dropout", "0.1" },
    { "attention-dropout", "0.1" },
    { "sequence-length", "128" },
    { "mask-tokens", "20" },
    { "optimizer", "sgd" },
    { "momentum", "0.984375" },
    { "beta2", "0.999" },
    { "adam-epsilon", "1e-4" },
    { "bias-correction", "false" },
    { "schedule", "exponential" },
    { "learning-rate", "2e-5" },
    { "minimum-learning-rate", "0" },
    { "warmup", "0" },
    { "clip", "0" },
    { "weight-decay", "0" },
    { "save-every", "10" },
    { "log-every", "1" },
};

/* Keys of one file that are left out for one reason. */
struct left_out {
    const char *why;
    struct buf keys;
};

/* The translation of one file. */
struct translation {
    struct yaml *y;
    const char *path;
    int pretraining;   /* 1: a file of a TensorFlow 1 trainer, see `silent` */
    int64_t product;   /* product of the factors; INT64_MAX: that or more */
    int factor_line;   /* line of the last factor; 0: none */
    int no_correction; /* line that turns bias correction off; 0: none */
    struct left_out *out;
    size_t out_count, out_cap;
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
    const char *dot = strrchr(key, '.');
    key = dot ? dot + 1 : key;
    snprintf(out, 64, "%s", key + strspn(key, "_"));
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
 * `to` to the text `ours`, or to the value itself if the word has no equals sign. Else returns
 * 0. */
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

static const struct foreign *find(const char *key)
{
    char found[64];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (find_word(table[i].keys, key, found))
            return &table[i];
    return NULL;
}

/* Merges item i with an earlier item of the same key. Returns 1 if item i was removed, 0 if there
 * is no other item, or -1 with an error if their values differ. */
static int merge(struct yaml *y, size_t i, const char *path)
{
    const struct yaml_item *b = &y->items[i];
    for (size_t k = 0; k < i; k++) {
        const struct yaml_item *a = &y->items[k];
        if (strcmp(a->key, b->key))
            continue;
        if (strtod(a->value, NULL) != strtod(b->value, NULL) ||
            (strcmp(a->value, b->value) && strtod(a->value, NULL) == 0))
            return err_set(
                "%s:%d: %s is %s here but %s in line %d: textmill has one option for both", path,
                b->line, b->key, b->value, a->value, a->line);
        yaml_remove(y, i);
        return 1;
    }
    return 0;
}

/* Leaves out item i, which has no equivalent here: returns 1 with a note for a warning if the file
 * is .json or the key is that of a loss scale, else -1 with an error. Keys of unknown models are
 * always an error. */
static int leave_out(struct translation *t, size_t i, const char *key, const char *why)
{
    const struct yaml_item *item = &t->y->items[i];
    size_t k = 0;
    if (why == unmade)
        return err_set("%s:%d: unsupported value of '%s', %s: %s", t->path, item->line, key,
                       item->value, why);
    if (!file_ends_with(t->path, ".json") && why != no_scale)
        return err_set("%s:%d: unsupported key '%s': %s", t->path, item->line, key, why);
    while (k < t->out_count && strcmp(t->out[k].why, why))
        k++;
    if (k == t->out_count) {
        mem_grow(t->out, t->out_cap, t->out_count + 1);
        t->out[t->out_count++] = (struct left_out){ .why = why, .keys = BUF_INIT };
    }
    buf_addf(&t->out[k].keys, "%s%s", t->out[k].keys.len ? ", " : "", key);
    yaml_remove(t->y, i);
    return 1;
}

/* Translates item i, whose key is in the table. Returns 1 if it was removed, 0 if not, or -1 with
 * an error. */
static int translate(struct translation *t, size_t i, const char *key, const struct foreign *f)
{
    struct yaml_item *item = &t->y->items[i];
    char word[64];
    int none = !*item->value || !strcmp(item->value, "null") || !strcmp(item->value, "~");
    if (!none && f->words)
        for (char *c = item->value; *c; c++)
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    int known = !none && find_word(f->words, item->value, word);
    if (known && !*word) /* a word without an equivalent here */
        return leave_out(t, i, key, f->why);
    if (f->option && !none) {
        if (!strcmp(item->value, NO_CORRECTION))
            t->no_correction = item->line;
        set_text(&item->key, f->option);
        if (known)
            set_text(&item->value, word);
        return merge(t->y, i, t->path);
    }
    if (!none && !known && f->why)
        return leave_out(t, i, key, f->why);
    yaml_remove(t->y, i);
    return 1;
}

/* Translates item i. Returns 1 if it was removed, 0 if not, or -1 with an error. */
static int take(struct translation *t, size_t i)
{
    struct yaml_item *item = &t->y->items[i];
    char key[64];
    if (!strncmp(item->key, "task_specific_params.", 21)) {
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
    const struct foreign *f = strcmp(key, second_dimension) ? find(key) : NULL; /* see join_grid */
    if (f)
        return translate(t, i, key, f);
    set_text(&item->key, key); /* our option, or unknown: its reader reports that */
    return 0;
}

static void add(struct yaml *y, const char *key, const char *value, int line)
{
    mem_grow(y->items, y->cap, y->count + 1);
    y->items[y->count++] = (struct yaml_item){ mem_strdup(key), mem_strdup(value), line };
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

/* Sets the global batch to the product of the micro-batch size and the factors. Returns 0, or -1
 * with an error. */
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
    SCOPED(buf) grid = BUF_INIT;
    if (!second)
        return;
    buf_addf(&grid, "%sx%s", first ? first : "1", second);
    set_default(y, "tensor-parallel", "1", 1);
    for (size_t i = 0; i < y->count; i++)
        if (!strcmp(y->items[i].key, "tensor-parallel"))
            set_text(&y->items[i].value, grid.data);
        else if (!strcmp(y->items[i].key, second_dimension))
            yaml_remove(y, i--);
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
    const int custom = !strcmp(name, "custom");
    buf_adds(&text, custom ? "" : name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *number = yaml_get(y, parts[i].key);
        if (!strcmp(name, parts[i].schedule))
            buf_addf(&text, "%s%s", custom ? "" : ":", number ? number : parts[i].number);
    }
    for (size_t i = 0; i < y->count; i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            if (!strcmp(y->items[i].key, parts[k].key)) {
                yaml_remove(y, i--);
                break;
            }
    for (size_t i = 0; i < y->count; i++)
        if (!strcmp(y->items[i].key, "schedule"))
            set_text(&y->items[i].value, text.data);
}

/* Adds settings that a file of another program implies without naming them. */
static void fill_in(const struct translation *t)
{
    struct yaml *y = t->y;
    join_grid(y);
    if (t->no_correction)
        set_default(y, "bias-correction", "false", t->no_correction);
    const char *name = yaml_get(y, "architecture");
    for (size_t i = 0; name && architecture_at(i); i++)
        if (!strcmp(architecture_at(i)->name, name))
            set_default(y, "task", task_for(architecture_at(i))->name, 1);
    if (yaml_get(y, "mask-tokens") || yaml_get(y, "types")) /* only a BERT has them */
        set_default(y, "task", "bert", 1);
    for (size_t i = 0; i < sizeof silent / sizeof *silent && t->pretraining; i++)
        set_default(y, silent[i][0], silent[i][1], 1);
    join_schedule(y);
    if (t->pretraining && !yaml_get(y, "steps"))
        set_default(y, "epochs", "300", 1);
    if (t->pretraining && !strcmp(yaml_get(y, "optimizer"), "lamb"))
        set_default(y, "decay", "all", 1); /* only their adamw exempts some tensors from decay */
    const char *dropout = yaml_get(y, "dropout"), *attention = yaml_get(y, "attention-dropout");
    for (size_t i = 0; i < y->count; i++) {
        struct yaml_item *item = &y->items[i];
        if (t->pretraining && !strcmp(item->key, "activation"))
            set_text(&item->value, "gelu_new"); /* the only form that they have, for any name */
        if (dropout && attention && !strcmp(item->key, "attention-dropout") &&
            strtod(dropout, NULL) == strtod(attention, NULL))
            yaml_remove(y, i--); /* equal to --dropout, so that this option changes both */
    }
}

/* Prints one warning for each reason. */
static void say_left_out(struct translation *t)
{
    for (size_t i = 0; i < t->out_count; i++) {
        log_warn("%s: ignored %s: %s", t->path, t->out[i].keys.data, t->out[i].why);
        buf_release(&t->out[i].keys);
    }
    free(t->out);
}

const char *foreign_option(const char *name)
{
    static char say[128];
    char key[64];
    plain_key(key, name);
    const struct foreign *f = find(key);
    if (is_factor(key))
        return "use --global-batch-size, the number of sequences per update";
    if (!f)
        return NULL;
    if (!f->option)
        return f->why ? f->why : "it has no effect on training";
    snprintf(say, sizeof say, "give --%s", f->option);
    return say;
}

int foreign_translate(struct yaml *y, const char *path)
{
    const char *task = yaml_get(y, "task");
    struct translation t = {
        .y = y, .path = path, .product = 1, .pretraining = task && !strcmp(task, "pretraining")
    };
    int result = 0;
    gather_rates(y);
    for (size_t i = 0; i < y->count && result >= 0; i += result == 0)
        result = take(&t, i);
    say_left_out(&t);
    if (result < 0 || multiply(&t) < 0)
        return -1;
    fill_in(&t);
    return 0;
}
