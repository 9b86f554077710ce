#include "common/program/opt_foreign.h"

/* Names of options that several programs of ours have, or that a program without a table of its own
 * has. Where programs of ours have different names, the foreign name has several rows. */
static const struct opt_foreign synonyms[] = {
    { "batch-size", "batch-texts" },
    { "batch-size", "batch-tokens" },
    { "block-size", "sequence-length" },
    { "checkpoint", "model" },
    { "clip-grad", "clip" },
    { "context-length", "sequence-length" },
    { "dtype", "precision" },
    { "embed-dim", "width" },
    { "fp16", "precision" },
    { "bf16", "precision" },
    { "gpu", "device" },
    { "gpus", "device" },
    { "jobs", "threads" },
    { "max-length", "length" },
    { "max-new-tokens", "length" },
    { "max-seq-len", "sequence-length" },
    { "max-seq-length", "sequence-length" },
    { "max-tokens", "length" },
    { "model-name-or-path", "model" },
    { "model-path", "model" },
    { "n-gpu-layers", "device" },
    { "n-predict", "length" },
    { "num-beams", "beams" },
    { "num-epochs", "epochs" },
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
    { "processes", "threads" },
    { "repeat-penalty", "repetition-penalty" },
    { "resume-from-checkpoint", "resume" },
    { "save-interval", "save-every" },
    { "seq-length", "sequence-length" },
    { "start", "prompt" },
    { "temp", "temperature" },
    { "tokenizer", "vocab" },
    { "train-data", "data" },
    { "use-bpe", "vocab" },
    { "vocab-file", "vocab" },
    { "vocab-path", "vocab" },
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
