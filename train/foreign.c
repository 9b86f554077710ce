#include "train/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/log.h"
#include "common/mem.h"

/* A key of theirs, in small letters and with '-'. `option`: what it is here; `words`: values of
 * theirs and of ours, "theirs=ours ...". Without an option it has no place: `why`, or nothing to
 * say (NULL). */
struct foreign {
    const char *key, *option, *words, *why;
};

#define F32 "sums here are f32, which small gradients do not leave: there is nothing to scale"
#define PLACEMENT "a model is in one memory here, not spread over the memories of many chips"
#define CHIP "it tunes the compiler of one vendor's chip; here there is a processor and no such compiler"
#define PARALLEL "processes, not a key, say how many train together"

static const struct foreign table[] = {
    /* models */
    { "n-layer", "layers", NULL, NULL },
    { "num-hidden-layers", "layers", NULL, NULL },
    { "n-embd", "width", NULL, NULL },
    { "hidden-size", "width", NULL, NULL },
    { "n-head", "heads", NULL, NULL },
    { "num-attention-heads", "heads", NULL, NULL },
    { "n-inner", "inner", NULL, NULL },
    { "intermediate-size", "inner", NULL, NULL },
    { "n-positions", "positions", NULL, NULL },
    { "n-ctx", "positions", NULL, NULL },
    { "max-position-embeddings", "positions", NULL, NULL },
    { "vocab-size", "vocabulary", NULL, NULL },
    { "resid-pdrop", "dropout", NULL, NULL },
    { "embd-pdrop", "dropout", NULL, NULL },
    { "attn-pdrop", "dropout", NULL, NULL },
    { "dropout-prob", "dropout", NULL, NULL },
    { "hidden-dropout-prob", "dropout", NULL, NULL },
    { "attention-probs-dropout-prob", "attention-dropout", NULL, NULL },
    { "type-vocab-size", "types", NULL, NULL },
    { "hidden-act", "gelu", "gelu=exact gelu_new=tanh gelu_pytorch_tanh=tanh", NULL },
    { "use-cls-layer", "bare-head", "true=false false=true", NULL },
    { "layer-norm-epsilon", "epsilon", NULL, NULL },
    { "layer-norm-eps", "epsilon", NULL, NULL },
    { "initializer-range", "init-std", NULL, NULL },
    { "model-type", "task", "gpt2=gpt", NULL },

    /* training */
    { "task", "task", "pretraining=bert", NULL },
    { "max-predictions-per-seq", "mask-tokens", NULL, NULL },
    { "seq-length", "sequence-length", NULL, NULL },
    { "max-len", "sequence-length", NULL, NULL },
    { "batch-size", "micro-batch-size", NULL, NULL },
    { "base-learning-rate", "learning-rate", NULL, NULL },
    { "lr-schedule", "schedule",
      "polynomial_decay=polynomial natural_exponential=exponential", NULL },
    { "lr-warmup", "warmup", NULL, NULL },
    { "optimiser", "optimizer", "lambnobiascorrection=lamb", NULL },
    { "optimiser-epsilon", "adam-epsilon", NULL, NULL },
    { "optimiser-beta1", "beta1", NULL, NULL },
    { "optimiser-beta2", "beta2", NULL, NULL },
    { "use-debiasing", "bias-correction", NULL, NULL },
    { "training-steps", "steps", NULL, NULL },
    { "max-gradient-norm", "clip", NULL, NULL },
    { "train-file", "data", NULL, NULL },
    { "input-files", "data", NULL, NULL },
    { "steps-per-ckpts", "save-every", NULL, NULL },
    { "checkpoint-steps", "save-every", NULL, NULL },
    { "steps-per-logs", "log-every", NULL, NULL },
    { "checkpoint-output-dir", "output", NULL, NULL },
    { "start-from-ckpt", "start-from", NULL, NULL },

    /* of a model's folder, and of no weight */
    { "activation-function", NULL, NULL, NULL },
    { "architectures", NULL, NULL, NULL },
    { "bos-token-id", NULL, NULL, NULL },
    { "eos-token-id", NULL, NULL, NULL },
    { "pad-token-id", NULL, NULL, NULL },
    { "torch-dtype", NULL, NULL, NULL },
    { "dtype", NULL, NULL, NULL },
    { "transformers-version", NULL, NULL, NULL },
    { "use-cache", NULL, NULL, NULL },
    { "summary-activation", NULL, NULL, NULL },
    { "summary-first-dropout", NULL, NULL, NULL },
    { "summary-proj-to-labels", NULL, NULL, NULL },
    { "summary-type", NULL, NULL, NULL },
    { "summary-use-proj", NULL, NULL, NULL },
    { "position-embedding-type", NULL, NULL, NULL },
    { "tie-word-embeddings", NULL, NULL, NULL },
    { "name-suffix", NULL, NULL, NULL },
    { "wandb", NULL, NULL, NULL },
    { "do-train", NULL, NULL, NULL },
    { "duplication-factor", NULL, NULL, NULL },

    /* of a model that is not made here */
    { "use-qkv-bias", NULL, NULL, "queries, keys and values have biases, as other programs expect" },
    { "use-attention-projection-bias", NULL, NULL, "the projection has a bias, as other programs expect" },

    /* of one kind of machine */
    { "loss-scaling", NULL, NULL, F32 },
    { "auto-loss-scaling", NULL, NULL, F32 },
    { "stochastic-rounding", NULL, NULL, "weights and moments here are f32, which loses nothing" },
    { "partials-type", NULL, NULL, "sums here are always f32" },
    { "enable-half-partials", NULL, NULL, "sums here are always f32" },
    { "increase-optimiser-precision", NULL, NULL, "updates here are always f32" },
    { "device-iterations", NULL, NULL, "every update is seen at once: there is no device to wait for" },
    { "batches-per-step", NULL, NULL, "every update is seen at once: there is no device to wait for" },
    { "io-tiles", NULL, NULL, CHIP },
    { "available-memory-proportion", NULL, NULL, CHIP },
    { "matmul-proportion", NULL, NULL, CHIP },
    { "disable-graph-outlining", NULL, NULL, CHIP },
    { "outline-hidden-layers", NULL, NULL, CHIP },
    { "fp-exceptions", NULL, NULL, "a loss that is no number ends the run in any case" },
    { "scheduler", NULL, NULL, CHIP },
    { "max-cross-replica-sum-buffer-size", NULL, NULL, CHIP },
    { "custom-ops", NULL, NULL, CHIP },
    { "executable-cache-dir", NULL, NULL, "nothing is compiled when training starts" },
    { "compile-only", NULL, NULL, "nothing is compiled when training starts; --dry-run plans only" },
    { "pipeline-schedule", NULL, NULL, PLACEMENT },
    { "hidden-layers-per-stage", NULL, NULL, PLACEMENT },
    { "embeddings-placement", NULL, NULL, PLACEMENT },
    { "layers-per-ipu", NULL, NULL, PLACEMENT },
    { "ipus-per-replica", NULL, NULL, PLACEMENT },
    { "offload-weight-update-variables", NULL, NULL, "--memmap-dir says what stays in memory" },
    { "optimizer-state-offchip", NULL, NULL, "--memmap-dir says what stays in memory" },
    { "recomputation-mode", NULL, NULL, "--recompute says what backward computes again" },
    { "xla-recompute", NULL, NULL, "--recompute says what backward computes again" },
    { "logits-matmul-serialization-factor", NULL, NULL, "logits are always made in chunks here" },
    { "embedding-serialization-factor", NULL, NULL, "logits are always made in chunks here" },
    { "reduction-type", NULL, NULL, "the loss here is the mean over the labels of the global batch" },
    { "parallell-io-threads", NULL, NULL, "batches are read ahead by one thread, which suffices" },
    { "data-parallel", NULL, NULL, PARALLEL },
    { "tensor-parallel", NULL, NULL, PARALLEL },
    { "replication-factor", NULL, NULL, PARALLEL },
};

/* Micro-batches of an update that are taken one after the other, or at once on several chips. */
static const char *const factors[] = { "pipeline-depth", "gradient-accumulation", "replicas" };

static const struct foreign *find(const char *key)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].key, key))
            return &table[i];
    return NULL;
}

static int is_factor(const char *key)
{
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (!strcmp(factors[i], key))
            return 1;
    return 0;
}

/* The last part of a key, in small letters and with '-'. */
static void plain_key(char out[64], const char *key)
{
    const char *dot = strrchr(key, '.');
    snprintf(out, 64, "%s", dot ? dot + 1 : key);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
}

static void set_text(char **to, const char *text)
{
    char *copy = mem_strdup(text);
    free(*to);
    *to = copy;
}

/* The value in small letters, and by `words`. */
static void translate_word(char **value, const char *words)
{
    for (char *c = *value; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    size_t n = strlen(*value);
    for (const char *w = words; w && *w; w += strcspn(w, " "), w += *w == ' ') {
        size_t theirs = strcspn(w, "="), all = strcspn(w, " ");
        if (theirs != n || memcmp(w, *value, n))
            continue;
        char ours[32];
        snprintf(ours, sizeof ours, "%.*s", (int)(all - theirs - 1), w + theirs + 1);
        set_text(value, ours);
        return;
    }
}

/* What two names of one thing say must be the same; the second goes. 1 when it went. */
static int merge(struct yaml *y, size_t i, const char *path)
{
    const struct yaml_item *b = &y->items[i];
    for (size_t k = 0; k < i; k++) {
        const struct yaml_item *a = &y->items[k];
        if (strcmp(a->key, b->key))
            continue;
        if (strtod(a->value, NULL) != strtod(b->value, NULL) ||
            (strcmp(a->value, b->value) && strtod(a->value, NULL) == 0))
            return err_set("%s:%d: %s is %s here and %s in line %d: it has one value in this program",
                           path, b->line, b->key, b->value, a->value, a->line);
        yaml_remove(y, i);
        return 1;
    }
    return 0;
}

/* Item i, whose key is none of ours: 1 when it went, 0, or -1. */
static int translate(struct yaml *y, size_t i, const char *key, const char *path)
{
    struct yaml_item *item = &y->items[i];
    const struct foreign *f = find(key);
    int null = !strcmp(item->value, "null") || !strcmp(item->value, "~");
    if (!f)
        return 0; /* an option of ours, or unknown: who reads the options says so */
    if (f->option && !null) {
        set_text(&item->key, f->option);
        if (f->words || !strcmp(f->option, "optimizer"))
            translate_word(&item->value, f->words);
        return merge(y, i, path);
    }
    if (f->why && !file_ends_with(path, ".json"))
        return err_set("%s:%d: there is no '%s' here: %s", path, item->line, key, f->why);
    if (f->why)
        log_warn("%s:%d: '%s' is left out: %s", path, item->line, key, f->why);
    yaml_remove(y, i);
    return 1;
}

static void add(struct yaml *y, const char *key, const char *value, int line)
{
    mem_grow(y->items, y->cap, y->count + 1);
    y->items[y->count++] = (struct yaml_item){ mem_strdup(key), mem_strdup(value), line };
}

/* "lr_schedule_by_step": { "0": 1e-5, ... } becomes rates and the custom schedule. */
static void gather_rates(struct yaml *y)
{
    static const char section[] = "lr_schedule_by_step.";
    struct buf rates = BUF_INIT;
    int line = 0;
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
    if (rates.len)
        add(y, "rates", rates.data, line);
    buf_release(&rates);
}

int foreign_translate(struct yaml *y, const char *path)
{
    char key[64], global[32];
    int64_t product = 1, micro = 0;
    int line = 0;
    gather_rates(y);
    for (size_t i = 0; i < y->count;) {
        plain_key(key, y->items[i].key);
        if (is_factor(key)) {
            product *= strtoll(y->items[i].value, NULL, 10);
            line = y->items[i].line;
            yaml_remove(y, i);
            continue;
        }
        int gone = !strncmp(y->items[i].key, "task_specific_params.", 21);
        if (gone)
            yaml_remove(y, i);
        else if ((gone = translate(y, i, key, path)) < 0)
            return -1;
        if (!gone && !strcmp(y->items[i].key, "micro-batch-size"))
            micro = strtoll(y->items[i].value, NULL, 10);
        i += !gone;
    }
    /* who masks words trains a BERT */
    if (yaml_get(y, "mask-tokens") && !yaml_get(y, "task"))
        add(y, "task", "bert", 1);
    if (line && (product < 1 || micro < 1))
        return err_set("%s:%d: micro-batches by the update need a batch size of at least 1", path, line);
    snprintf(global, sizeof global, "%" PRId64, product * micro);
    if (line)
        add(y, "global-batch-size", global, line);
    return 0;
}
