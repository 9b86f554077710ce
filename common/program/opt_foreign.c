#include "common/program/opt_foreign.h"

/* Where programs of ours have different names, the foreign name has several rows. */
static const struct opt_foreign synonyms[] = {
    { "batch-size", "micro-batch-size" },
    { "batch-size", "batch-texts" },
    { "batch-size", "batch-tokens" },
    { "block-size", "sequence-length" },
    { "checkpoint", "model" },
    { "clip-grad", "clip" },
    { "context-length", "sequence-length" },
    { "dataset", "data" },
    { "dtype", "precision" },
    { "embed-dim", "width" },
    { "eval-interval", "validate-every" },
    { "eval-iters", "validation-batches" },
    { "eval-steps", "validate-every" },
    { "fp16", "precision" },
    { "bf16", "precision" },
    { "gpu", "device" },
    { "gpus", "device" },
    { "grad-clip", "clip" },
    { "gradient-accumulation-steps", "global-batch-size" },
    { "hidden-size", "width" },
    { "jobs", "threads" },
    { "log-interval", "log-every" },
    { "logging-steps", "log-every" },
    { "lr", "learning-rate" },
    { "max-grad-norm", "clip" },
    { "max-iters", "steps" },
    { "max-length", "length" },
    { "max-new-tokens", "length" },
    { "max-seq-len", "sequence-length" },
    { "max-seq-length", "sequence-length" },
    { "max-steps", "steps" },
    { "max-tokens", "length" },
    { "min-lr", "minimum-learning-rate" },
    { "model-name-or-path", "model" },
    { "model-path", "model" },
    { "n-embd", "width" },
    { "n-gpu-layers", "device" },
    { "n-head", "heads" },
    { "n-layer", "layers" },
    { "n-predict", "length" },
    { "num-attention-heads", "heads" },
    { "num-beams", "beams" },
    { "num-epochs", "epochs" },
    { "num-hidden-layers", "layers" },
    { "num-layers", "layers" },
    { "num-return-sequences", "samples" },
    { "num-samples", "samples" },
    { "num-train-epochs", "epochs" },
    { "num-workers", "threads" },
    { "out-dir", "output" },
    { "out-file", "output" },
    { "output-dir", "output" },
    { "output-file", "output" },
    { "output-file-path", "output" },
    { "per-device-train-batch-size", "micro-batch-size" },
    { "processes", "threads" },
    { "repeat-penalty", "repetition-penalty" },
    { "resume-from-checkpoint", "resume" },
    { "save-interval", "save-every" },
    { "save-steps", "save-every" },
    { "seq-length", "sequence-length" },
    { "start", "prompt" },
    { "temp", "temperature" },
    { "tokenizer", "vocab" },
    { "train-data", "data" },
    { "train-iters", "steps" },
    { "use-bpe", "vocab" },
    { "vocab-file", "vocab" },
    { "vocab-path", "vocab" },
    { "warmup-iters", "warmup" },
    { "warmup-steps", "warmup" },
    { 0 },
};

const char *opt_foreign(const struct opt_foreign *table, const char *name)
{
    for (; table->name; table++) {
        const char *a = table->name, *b = name;
        while (*a && *a == (*b == '_' ? '-' : *b)) {
            a++;
            b++;
        }
        if (!*a && !*b)
            return table->say;
    }
    return NULL;
}

const char *opt_synonym(const char *foreign, size_t n)
{
    for (const struct opt_foreign *row = synonyms; row->name; row++) {
        const struct opt_foreign one[] = { *row, { 0 } };
        const char *ours = opt_foreign(one, foreign);
        if (ours && !n--)
            return ours;
    }
    return NULL;
}
