#include "common/program/opt_foreign.h"

/* Foreign names of options that several of our programs have, or whose program has no table. If our
 * programs have different names, the foreign name is in several rows. */
static const struct opt_foreign synonyms[] = {
    { "batch-size", "batch-texts" },
    { "batch-size", "batch-tokens" },
    { "num-beams", "beams" },
    { "clip-grad", "clip" },
    { "train-data", "data" },
    { "gpu gpus n-gpu-layers", "device" },
    { "num-epochs num-train-epochs", "epochs" },
    { "num-layers", "layers" },
    { "max-length max-new-tokens max-tokens n-predict", "length" },
    { "checkpoint model-name-or-path model-path", "model" },
    { "out-dir out-file output-dir output-file output-file-path", "output" },
    { "dtype fp16 bf16", "precision" },
    { "start", "prompt" },
    { "repeat-penalty", "repetition-penalty" },
    { "resume-from-checkpoint", "resume" },
    { "num-return-sequences num-samples", "samples" },
    { "save-interval", "save-every" },
    { "block-size context-length max-seq-len max-seq-length seq-length", "sequence-length" },
    { "temp", "temperature" },
    { "jobs num-workers processes", "threads" },
    { "tokenizer use-bpe vocab-file vocab-path", "vocab" },
    { "embed-dim", "width" },
    { 0 },
};

/* Returns 1 if `name` is one of the names, which blanks separate; else 0. '_' and '-' are equal. */
static int is_one_of(const char *names, const char *name)
{
    for (const char *b = name; *names; b = name) {
        for (; *names && *names == (*b == '_' ? '-' : *b); names++)
            b++;
        size_t rest = strcspn(names, " ");
        if (!rest && !*b)
            return 1;
        names += rest + (names[rest] == ' ');
    }
    return 0;
}

const char *opt_foreign(const struct opt_foreign *table, const char *name)
{
    while (table->names && !is_one_of(table->names, name))
        table++;
    return table->say;
}

const char *opt_synonym(const char *foreign, size_t n)
{
    const struct opt_foreign *row = synonyms;
    while (row->names && (!is_one_of(row->names, foreign) || n--))
        row++;
    return row->say;
}
