/*
 * train - trains a GPT, a Llama or a BERT from shards of tokens. This file has the options and
 * connects the parts: plan.c makes all decisions before memory is allocated, loop.c runs the
 * training, engine.c runs a step.
 */
#include <sched.h>

#include "common/base/hash.h"
#include "common/base/least.h"
#include "common/base/log.h"
#include "common/base/noun.h"
#include "common/files/file.h"
#include "common/files/plugin.h"
#include "common/files/usage.h"
#include "common/program/preset.h"
#include "common/program/tool.h"
#include "model/compute/ops.h"
#include "model/folder/folder.h"
#include "model/network/architecture.h"
#include "train/checkpoint.h"
#include "train/dry_run.h"
#include "train/foreign.h"
#include "train/loop.h"
#include "train/plan.h"
#include "train/ranks/comm.h"
#include "train/report/origin.h"
#include "train/report/report_command.h"
#include "train/saved.h"
#include "train/stop.h"

#define AT(member) offsetof(struct settings, member)
#define UP         1e15 /* no upper bound */

static const struct opt options[] = {
    { .help = "Most used:" },
    { 0, "data", OPT_LIST | OPT_FREE | OPT_OF_HOST, AT(data), "PATH",
      "training data: a folder or file of TFRecords, a Megatron prefix, a blend as "
      "A:0.7,B:0.3, or \"generated\" for random ids; default: ./shards" },
    { 0, "validation", OPT_LIST | OPT_FREE | OPT_OF_HOST, AT(validation), "PATH",
      "validation data, in the forms of --data except \"generated\"; default: the folder "
      "validation in that of --data" },
    { 'o', "output", OPT_TEXT | OPT_FREE, AT(output), "DIR",
      "model folder, with metrics and checkpoints; default: ./model" },
    { 0, "resume", OPT_FLAG | OPT_OF_RUN, AT(resume), NULL,
      "continue from the latest checkpoint in the output folder" },
    { 0, "layers", OPT_INT | OPT_FIXED, AT(model.layers), "N", "number of transformer layers", 1,
      1e6 },
    { 0, "width", OPT_INT | OPT_FIXED, AT(model.width), "N",
      "width of the residual stream (hidden size)", 1, 1e6 },
    { 0, "heads", OPT_INT | OPT_FIXED, AT(model.heads), "N", "number of attention heads", 1, 1e6 },
    { 0, "sequence-length", OPT_INT | OPT_FIXED, AT(sequence_length), "N",
      "tokens per sequence; 0: as in the data, or else the positions", 0, 1e7 },
    { 0, "steps", OPT_INT, AT(steps), "N", "number of updates; 0: use --epochs", 0, UP },
    { 0, "learning-rate", OPT_REAL, AT(learning_rate), "X",
      "peak learning rate; -1: chosen by the model's size", -1, 1e3 },
    { 0, "global-batch-size", OPT_INT, AT(global_batch_size), "N",
      "sequences per update; 0: one micro-batch", 0, 1e9 },
    { 0, "dry-run", OPT_FLAG | OPT_OF_RUN, AT(dry_run), NULL,
      "print parameter count, floating-point operations and memory, and stop" },
    { 0, "list", OPT_FLAG | OPT_OF_RUN, AT(list_presets), NULL, "list the presets and stop" },

    { .help = "Model:", .arg = OPT_MORE },
    { 0, "task", OPT_CHOICE | OPT_FIXED, AT(task), TASK_WORDS,
      "what to train: a decoder such as a GPT or a Llama, a BERT, a BERT that answers questions, "
      "one that classifies texts, or one that predicts a number for each" },
    { 0, "architecture", OPT_TEXT | OPT_FIXED, AT(architecture), "NAME",
      "model architecture: gpt2, llama, mistral, qwen2, qwen3, smollm3, bert, distilbert, roberta "
      "or modernbert; default: gpt2 or bert, as the task needs" },
    { 0, "inner", OPT_INT | OPT_FIXED, AT(model.inner), "N",
      "width of the MLP's hidden layer; 0: 4 times --width", 0, 1e7 },
    { 0, "positions", OPT_INT | OPT_FIXED, AT(model.positions), "N",
      "number of position embeddings; 0: the sequence length", 0, 1e7 },
    { 0, "vocabulary", OPT_INT | OPT_FIXED, AT(model.vocabulary), "N",
      "vocabulary size; 0: that of the tokenizer, or else of the data", 0, 2147483647 },
    { 0, "epsilon", OPT_REAL, AT(model.epsilon), "X", "epsilon of the layer norms", 1e-12, 1 },
    { 0, "dropout", OPT_REAL, AT(dropout), "P",
      "dropout rate of embeddings, attention and residual branches", 0, 0.99 },
    { 0, "attention-dropout", OPT_REAL, AT(model.attention_dropout), "P",
      "dropout rate of attention alone; -1: as --dropout", -1, 0.99 },
    { 0, "embedding-dropout", OPT_REAL, AT(model.embedding_dropout), "P",
      "dropout rate of embeddings alone; -1: as --dropout", -1, 0.99 },
    { 0, "late-dropout", OPT_FLAG, AT(late_dropout), NULL,
      "dropout rises evenly from 0: update n of N has (n - 1) / N of its rate" },
    { 0, "init-std", OPT_REAL, AT(model.init_std), "X", "standard deviation of the initial weights",
      0, 1 },
    { 0, "zero-ends", OPT_FLAG, AT(model.zero_ends), NULL,
      "start with zeros in the matrices that end residual branches" },
    { 0, "kv-heads", OPT_INT | OPT_FREE, AT(model.kv_heads), "N",
      "Llama: heads of keys and values, which groups of --heads share; 0: as many as --heads", 0,
      1e6 },
    { 0, "head-width", OPT_INT | OPT_FREE, AT(model.head_width), "N",
      "Llama: width of a head; 0: --width divided by --heads", 0, 65536 },
    { 0, "rope-theta", OPT_REAL | OPT_FIXED, AT(model.rope_theta), "X",
      "Llama, ModernBERT: base of the rotary positions; 0: 10000 and 160000", 0, 1e12 },
    { 0, "window", OPT_INT | OPT_FIXED, AT(model.window), "N",
      "mistral: a token attends to itself and the N - 1 tokens before it; 0: to all before it", 0,
      1e9 },
    { 0, "activation", OPT_CHOICE | OPT_FIXED, AT(activation), "auto|gelu_new|gelu|relu|silu",
      "activation of the MLP: GELU in its tanh form or exact, ReLU, SiLU; auto: the "
      "architecture's" },
    { 0, "untied", OPT_FLAG | OPT_FIXED, AT(model.untied), NULL,
      "do not share the output layer's weights with the token embedding" },
    { 0, "types", OPT_INT | OPT_FIXED, AT(model.types), "N", "BERT: number of segment types", 1,
      1e6 },
    { 0, "dropout-first", OPT_FLAG | OPT_FIXED, AT(model.dropout_first), NULL,
      "BERT: apply embedding dropout before the layer norm" },
    { 0, "bare-head", OPT_FLAG | OPT_FIXED, AT(model.bare_head), NULL,
      "BERT: predict words without the head's transform and bias" },
    { 0, "start-from", OPT_TEXT | OPT_FREE, AT(start_from), "PATH",
      "load the weights of this model folder or GGUF file, and start at step 0" },
    { 0, "verify", OPT_FLAG | OPT_OF_RUN, AT(verify), NULL,
      "check the weights of --start-from and --teacher against the checksums that are stored with "
      "them" },

    { 0, "teacher", OPT_TEXT | OPT_OF_HOST, AT(teacher), "PATH",
      "GPT, Llama: learn the next token's probabilities of this model, too (distillation): a model "
      "folder or GGUF file with the same vocabulary" },
    { 0, "teacher-share", OPT_REAL, AT(teacher_share), "X",
      "weight of the teacher's probabilities in what is learned; the text has the rest", 0, 1 },
    { 0, "teacher-dropout", OPT_REAL, AT(teacher_dropout), "P",
      "rate of dropout of the teacher's residual branches; it keeps a teacher that knows the text "
      "by heart from telling it",
      0, 0.95 },

    { .help = "Data:", .arg = OPT_MORE },
    { 0, "vocab", OPT_TEXT | OPT_FREE | OPT_OF_HOST, AT(vocab), "DIR",
      "tokenizer to save with the model; default: the one stored with the data" },
    { 0, "document-attention", OPT_FLAG | OPT_FIXED, AT(samples.documents), NULL,
      "gpt: attention stays inside documents, which begin at end-of-text; positions restart there" },
    { 0, "mask-tokens", OPT_INT | OPT_FIXED, AT(mask_tokens), "N",
      "BERT: maximum number of masked tokens per sequence; 0: as in the data", 0, 1e6 },
    { 0, "style", OPT_CHOICE, AT(samples.google), "hf|google",
      "SQuAD: cut long contexts into windows as Hugging Face or as Google does" },
    { 0, "stride", OPT_INT, AT(samples.stride), "N",
      "SQuAD: tokens shared by two windows (hf) or between their starts (google); -1: a third of "
      "the sequence, at most 128",
      -1, 1e7 },
    { 0, "text-column", OPT_TEXT, AT(samples.columns.text), "NAME",
      "classify: column of the text, by name or, if the file has no names, by number; default: as "
      "in GLUE's files" },
    { 0, "second-column", OPT_TEXT, AT(samples.columns.second), "NAME",
      "classify: column of the second text of a pair" },
    { 0, "label-column", OPT_TEXT, AT(samples.columns.label), "NAME",
      "classify: column of the label" },

    { .help = "Training:", .arg = OPT_MORE },
    { 0, "micro-batch-size", OPT_INT, AT(micro_batch_size), "N",
      "sequences per forward pass; 0: chosen by the model's size", 0, 1e6 },
    { 0, "group", OPT_INT | OPT_FREE, AT(group), "N",
      "micro-batches that pass through each layer together; 0: all of an update", 0, 1e9 },
    { 0, "recompute", OPT_CHOICE | OPT_FREE, AT(recompute), RECOMPUTE_WORDS,
      "activations to compute again in the backward pass, to save memory" },
    { 0, "device", OPT_TEXT | OPT_FREE, AT(device), "cpu|cuda[:N]",
      "where to compute: the CPU, or GPU number N" },
    { 0, "device-memory", OPT_SIZE | OPT_FREE, AT(device_memory), "BYTES",
      "GPU memory that training may use; the rest is kept in the host's memory; 0: all of it" },
    { 0, "precision", OPT_CHOICE, AT(precision), OPS_PRECISION_WORDS,
      "precision of matrix products" },
    { 0, "parameter-precision", OPT_CHOICE, AT(parameter_precision), OPS_PRECISION_WORDS,
      "precision of the stored weights" },
    { 0, "state-precision", OPT_CHOICE, AT(state_precision), OPS_PRECISION_WORDS,
      "precision of the stored optimizer state" },
    { 0, "activation-precision", OPT_CHOICE, AT(activation_precision), OPS_PRECISION_WORDS,
      "precision of the activations stored between layers" },
    { 0, "memmap-dir", OPT_TEXT | OPT_FREE | OPT_OF_HOST, AT(memmap_dir), "DIR",
      "folder for a file that holds what exceeds --memory" },
    { 0, "memory", OPT_SIZE | OPT_FREE, AT(memory), "BYTES",
      "memory that training may use, on a GPU its host's; 0: as little as possible, with --memmap-dir" },
    { 0, "epochs", OPT_REAL, AT(epochs), "X",
      "passes over the training data, if --steps is not given; 0: one", 0, 1e9 },
    { 0, "minimum-learning-rate", OPT_REAL, AT(minimum_learning_rate), "X",
      "learning rate at the end of the schedule; -1: a tenth of the peak", -1, 1e3 },
    { 0, "schedule", OPT_TEXT, AT(schedule), SCHEDULE_WORDS,
      "learning-rate schedule after the warm-up; polynomial:EXPONENT; exponential:X:N multiplies "
      "the rate by exp(-X) after each N updates; wsd:X falls in the last X updates, or in that "
      "share of all; 0:RATE,STEP:RATE,... gives the rate from each step on" },
    { 0, "warmup", OPT_REAL, AT(warmup), "X",
      "updates until the peak learning rate; below 1: share of --steps; -1: chosen by --steps", -1,
      UP },
    { 0, "optimizer", OPT_CHOICE | OPT_FIXED, AT(optimizer.kind), OPTIMIZER_WORDS, "optimizer" },
    { 0, "bias-correction", OPT_FLAG, AT(optimizer.bias_correction), NULL,
      "AdamW, Adam, LAMB: correct the bias of the moments; or --no-bias-correction" },
    { 0, "beta1", OPT_REAL, AT(optimizer.beta1), "X",
      "AdamW, Adam, LAMB: decay rate of the first moment", 0, 0.999999 },
    { 0, "beta2", OPT_REAL, AT(optimizer.beta2), "X",
      "AdamW, Adam, LAMB: decay rate of the second moment", 0, 0.999999999 },
    { 0, "adam-epsilon", OPT_REAL, AT(optimizer.epsilon), "X",
      "AdamW, Adam, LAMB: epsilon in the denominator of the update", 1e-30, 1 },
    { 0, "momentum", OPT_REAL, AT(optimizer.momentum), "X",
      "momentum and Muon: decay rate of the momentum", 0, 0.999999 },
    { 0, "weight-decay", OPT_REAL, AT(optimizer.weight_decay), "X",
      "weight decay; --decay chooses the tensors", 0, 1e3 },
    { 0, "decay", OPT_CHOICE, AT(optimizer.decay_all), DECAY_WORDS,
      "tensors that weight decay applies to: matrices only, or all" },
    { 0, "clip", OPT_REAL, AT(optimizer.clip), "X", "maximum gradient norm; 0: no clipping", 0,
      1e9 },

    { .help = "Several processes:", .arg = OPT_MORE },
    { 0, "tensor-parallel", OPT_TEXT | OPT_OF_RUN, AT(tensor_grid), "N|AxB",
      "ranks that share the heads and matrices of each layer, in one or two dimensions; 0: not "
      "shared" },
    { 0, "sequence-parallel", OPT_FLAG | OPT_OF_RUN, AT(sequence_parallel), NULL,
      "tensor-parallel ranks share the activations between layers, too" },
    { 0, "pipeline-parallel", OPT_TEXT | OPT_OF_RUN, AT(pipeline_grid), "N|NxV",
      "cut the layers into N stages, each on other ranks, and each with V runs of layers, so that "
      "they wait less; 0: one stage" },
    { 0, "ranks", OPT_INT | OPT_OF_RUN, AT(ranks), "N",
      "number of ranks that mpirun or srun starts, with --dry-run those to plan for; ranks that do "
      "not share a model train on different samples; 0: not checked, plan for one model",
      0, 1e6 },
    { 0, "machine", OPT_TEXT | OPT_OF_RUN, AT(machine), "FILE",
      "with --dry-run: also estimate step time from this hardware description (YAML; examples in "
      "configs/machines)" },
    { 0, "leaves", OPT_TEXT, AT(leaf_grid), "N|NxR",
      "number of fixed partial sums of gradients, in R rounds; results are bit-identical for every "
      "number of ranks that divides N; 0: as many as ranks" },
    { 0, "zero", OPT_INT | OPT_FREE, AT(zero), "STAGE",
      "what ranks share; 1: the optimizer state, 2: also gradients, 3: also weights; 0: nothing, "
      "each rank has all of it",
      0, 3 },
    { 0, "exchange", OPT_CHOICE | OPT_FREE, AT(exchange), COMM_WAY_WORDS,
      "how GPUs send to each other: directly, by NCCL, or through the hosts' memory and MPI" },
    { 0, "comm-timeout", OPT_REAL | OPT_FREE, AT(comm_timeout), "SECONDS",
      "end the run when a rank waits longer than this for another; 0: wait for ever", 0, 604800 },

    { .help = "Output:", .arg = OPT_MORE },
    { 0, "save", OPT_FLAG | OPT_OF_RUN, AT(save), NULL,
      "save checkpoints and the model; or --no-save" },
    { 0, "save-every", OPT_INT | OPT_FREE, AT(save_every), "N",
      "updates between checkpoints; 0: none but on a signal", 0, UP },
    { 0, "keep", OPT_INT | OPT_FREE, AT(keep), "N",
      "number of recent checkpoints to keep, beside the best; 0: all", 0, UP },
    { 0, "checkpoint-files", OPT_CHOICE | OPT_FREE, AT(checkpoint_files), SAVED_WORDS,
      "write weights and moments into one file, or one for each block; auto: by size" },
    { 0, "validate-every", OPT_INT | OPT_FREE, AT(validate_every), "N",
      "updates between validations; 0: only at the end", 0, UP },
    { 0, "validation-batches", OPT_INT | OPT_FREE, AT(validation_batches), "N",
      "micro-batches per validation; 0: all validation data", 0, UP },
    { 0, "calibrate", OPT_FLAG | OPT_FREE, AT(calibrate), NULL,
      "GPT, Llama: at the end, multiply the logits by the factor for which the validation loss is "
      "least" },
    { 0, "sample", OPT_TEXT | OPT_FREE, AT(sample), "PROMPT",
      "GPT, Llama: at each validation, write a text that continues this; the report shows it" },
    { 0, "log-every", OPT_INT | OPT_FREE, AT(log_every), "N",
      "updates between log lines; 0: only the first and the last", 0, UP },
    { 0, "profile", OPT_TEXT | OPT_OF_RUN, AT(profile), "FILE",
      "print where time is spent, and write a trace for Perfetto or Chrome" },
    { 0 },
};

/* Chooses the output folder, and loads its configuration, so that `train --resume -o DIR` needs no
 * other option. The folder may have had another name when it was written. */
static int load_own_config(struct settings *s)
{
    const char *output = s->output = s->output ? s->output : "model";
    if (!s->resume || tool_configured())
        return 0;
    SCOPED(buf) path = file_path(output, "config.yaml");
    const int kind = file_look(path.data);
    if (kind == FILE_SPECIAL) /* reading a pipe without a writer would block */
        return err_set("cannot read '%s': not a regular file", path.data);
    const int result = kind > 0 ? tool_load_config(path.data) : kind;
    s->output = output;
    return result;
}

/* Checks that the trace can be written at the end of the run. An existing file is replaced only
 * with --force, which cannot be combined with --resume. */
static int profile_may_be_written(const struct settings *s)
{
    struct output probe;
    if (!s->profile)
        return 0;
    if (!s->resume && tool_may_replace(s->profile, NULL, NULL) < 0)
        return -1;
    const int kind = file_look(s->profile);
    if (s->resume && kind == FILE_PLAIN)
        return err_set("'%s' exists: give --profile another name", s->profile);
    if (kind < 0 || kind == FILE_SPECIAL)
        return kind < 0 ? -1 : 0;
    if (output_open(&probe, s->profile) < 0)
        return -1;
    output_abandon(&probe);
    return 0;
}

/* Prints a description of the data on one line. */
static void say_data(const struct samples *data, double drawn)
{
    SCOPED(buf) line = BUF_INIT;
    if (data->describe)
        data->describe(data, "", drawn, &line);
    for (char *c = line.data; (c = strchr(c, '\n'));)
        *c = ' ';
    buf_rtrim(&line);
    if (line.len)
        log_info("%s", line.data);
}

/* ---- several ranks --------------------------------------------------------------------------- */

/* Joins the other ranks, if a launcher has started this process as one of several. */
static int open_ranks(struct comm *ranks, const struct settings *s)
{
    const int launched = comm_launched();
    comm_init(ranks);
    if (launched == 1)
        return 0;
    const struct transport *mpi = plugin_open("mpi", TRANSPORT_LAYOUT);
    if (!mpi)
        return err_in("one of %d ranks", launched);
    if (comm_open(ranks, &(struct comm_config){ .transport = mpi,
                                                .timeout_seconds = s->comm_timeout,
                                                .stop = stop_signal() }) < 0)
        return -1;
    if (ranks->size[COMM_WORLD] != launched)
        return err_set("the launcher has started %d ranks, but MPI finds %d: "
                       "do both belong to the same MPI?",
                       launched, ranks->size[COMM_WORLD]);
    if (!comm_is_first(ranks)) { /* the first rank prints for all */
        log_level = -1;
        log_progress = 0;
    }
    return 0;
}

/* Sets the number of data-parallel ranks for `all` ranks in total. `but` is a text for the error,
 * which says where the number of all ranks comes from. */
static int share_ranks(struct settings *s, int64_t all, const char *but)
{
    const int64_t model = s->pipeline_parallel * s->tensor_parallel;
    if (all % model && s->pipeline_parallel > 1)
        return err_set("pipeline-parallel x tensor-parallel, %" PRId64 " x %" PRId64
                       ", does not divide the number of ranks: %s",
                       s->pipeline_parallel, s->tensor_parallel, but);
    if (all % model)
        return err_set("tensor-parallel %" PRId64 " does not divide the number of ranks: %s",
                       s->tensor_parallel, but);
    s->data_parallel = all / model;
    return 0;
}

/* Reads the value `text` of an option, A or AxB, into its two numbers; A means Ax1, and NULL and 0
 * mean 1x1. */
static int read_grid(const char *option, const char *text, int64_t *a, int64_t *b)
{
    enum { MOST = 1000000 };
    const int given = text && strcmp(text, "0") != 0;
    char numbers[2][8] = { "1", "1" };
    int end = 0;
    if (given)
        sscanf(text, "%7[0-9]%nx%7[0-9]%n", numbers[0], &end, numbers[1], &end);
    *a = strtoll(numbers[0], NULL, 10);
    *b = strtoll(numbers[1], NULL, 10);
    return given && (!end || text[end] || *a < 1 || *a > MOST || *b < 1 || *b > MOST)
               ? err_usage("--%s '%s' is neither a number nor two numbers like 2x4", option, text)
               : 0;
}

/* Sets the number of data-parallel ranks and forms the groups. With --dry-run, the number is that
 * of the options. */
static int count_ranks(struct comm *ranks, struct settings *s)
{
    const int started = ranks->size[COMM_WORLD];
    int64_t heads;
    char but[80];
    if (read_grid("tensor-parallel", s->tensor_grid, &heads, &s->tensor_width) < 0 ||
        read_grid("pipeline-parallel", s->pipeline_grid, &s->pipeline_parallel,
                  &s->pipeline_interleave) < 0 ||
        read_grid("leaves", s->leaf_grid, &s->leaves, &s->leaf_rounds) < 0)
        return -1;
    s->leaves = s->leaf_grid && strcmp(s->leaf_grid, "0") ? s->leaves : 0;
    s->tensor_parallel = heads * s->tensor_width;
    if (s->pipeline_parallel > 1 && !tool_given("group"))
        s->group = 0;
    if (s->dry_run && started == 1) {
        snprintf(but, sizeof but, "ranks is %" PRId64, s->ranks);
        return s->ranks ? share_ranks(s, s->ranks, but) : 0;
    }
    snprintf(but, sizeof but,
             started == 1 ? "1 process was started: use mpirun or srun" : "%d ranks were started",
             started);
    if (s->ranks && s->ranks != started)
        return err_set("ranks is %" PRId64 ", but %s", s->ranks, but);
    if (share_ranks(s, started, but) < 0)
        return -1;
    comm_regroup(ranks, (int)s->pipeline_parallel, (int)(s->tensor_parallel / s->tensor_width),
                 (int)s->tensor_width);
    s->rank = ranks->rank[COMM_DATA];
    s->stage = ranks->rank[COMM_PIPE];
    s->split = comm_split(ranks);
    return 0;
}

static uint64_t hash_data(const struct samples *d)
{
    const uint64_t facts[] = { d->count,         d->tokens, d->facts.checksum, d->facts.vocabulary,
                               d->facts.content, d->blend };
    return hash_bytes(facts, sizeof facts);
}

static void print_data(const struct samples *d, struct buf *out)
{
    buf_addf(out, "%" PRIu64 " sequences, %" PRIu64 " tokens, checksum %016" PRIx64 "\n", d->count,
             d->tokens, hash_data(d));
}

/* Sets the error that rank `other` has another `what` than rank 0: the first line of its `text`
 * that differs, and that of rank 0. Call it on all ranks. Returns -1. */
static int name_difference(struct comm *ranks, int other, const char *what, const char *text)
{
    size_t room, n[2];
    SCOPED_MEM char *all = comm_texts(ranks, text, &room, "the difference");
    const char *line[] = { all, all + (size_t)other * room };
    for (;;) {
        for (int i = 0; i < 2; i++)
            n[i] = strcspn(line[i], "\n");
        if (n[0] != n[1] || memcmp(line[0], line[1], n[0]) != 0 || !line[0][n[0]])
            break;
        line[0] += n[0] + 1;
        line[1] += n[1] + 1;
    }
    return err_set("rank %d on %s has another %s than rank 0 on %s: '%.*s', not '%.*s'", other,
                   comm_host(ranks, other), what, comm_host(ranks, 0), (int)n[1], line[1],
                   (int)n[0], line[0]);
}

/* Returns the number of this rank's threads: that of --threads or, so that ranks of one host do not
 * take processors from each other, the rank's part of those that they may use together. Call it on
 * all ranks. */
static int count_threads(struct comm *ranks)
{
    const int size = ranks->size[COMM_HOST];
    const int64_t all = (int64_t)comm_sum_real(ranks, COMM_HOST, (double)tool_threads);
    cpu_set_t set[8] = { 0 }; /* as in pool_cpus */
    sched_getaffinity(0, sizeof set, set);
    SCOPED_MEM cpu_set_t *sets = comm_collect(ranks, COMM_HOST, set, sizeof set,
                                              "processors of a host");
    for (int i = 0; i < 8 * size; i++)
        CPU_OR(&set[i % 8], &set[i % 8], &sets[i]);
    const int64_t part = tool_threads * usage_cpus(CPU_COUNT_S(sizeof set, set)) / all;
    const int own = (int)(tool_set("threads") ? tool_threads
                                              : larger(1, smaller(part, tool_threads)));
    if (ranks->size[COMM_WORLD] > 1) /* one thread: perhaps mpirun has tied ranks to cores */
        log_info("%d ranks; those on %s have %d thread%s each", ranks->size[COMM_WORLD],
                 comm_host(ranks, 0), own, noun_end((uint64_t)own));
    return own;
}

/* Appends a line about the weights in `path`, unless it is NULL. */
static int print_weights(const char *path, struct buf *out)
{
    uint64_t hash;
    if (!path)
        return 0;
    if (folder_hash_ends(&hash, path) < 0)
        return -1;
    buf_addf(out, "weights of checksum %016" PRIx64 "\n", hash);
    return 0;
}

/* Checks that all ranks have the same program, configuration, data, vocabulary and models.
 * Otherwise they would wait for each other, or train wrongly. A resumed run may lack the model that
 * it started from. */
static int compare_ranks(struct comm *ranks, const struct plan *p)
{
    struct {
        const char *what;
        struct buf text;
    } same[] = {
        { "program version", BUF_INIT },     { "configuration", BUF_INIT },
        { "training data", BUF_INIT },       { "validation data", BUF_INIT },
        { "vocabulary", BUF_INIT },          { "teacher", BUF_INIT },
        { "model to start from", BUF_INIT },
    };
    const struct settings *s = p->settings;
    const char *version = strchr(tool_provenance(), ' ') + 1;
    buf_add(&same[0].text, version, strcspn(version, " "));
    tool_print_config(OPT_OF_HOST, &same[1].text);
    print_data(p->data, &same[2].text);
    if (p->validation)
        print_data(p->validation, &same[3].text);
    buf_addf(&same[4].text, "checksum %016" PRIx64 "\n",
             p->tokenizer ? tokenizer_checksum(p->tokenizer) : p->data->facts.checksum);
    const int failed = ranks->size[COMM_WORLD] > 1 &&
                       (print_weights(s->teacher, &same[5].text) < 0 ||
                        print_weights(s->resume ? NULL : s->start_from, &same[6].text) < 0);
    int result = comm_agree(ranks, -failed);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const int other = result ? 0
                                 : comm_differs(ranks,
                                                hash_bytes(same[i].text.data, same[i].text.len));
        if (other)
            result = name_difference(ranks, other, same[i].what, same[i].text.data);
        buf_release(&same[i].text);
    }
    return result;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* Appends the facts that say where the run comes from, as far as they are known here. */
static void describe_run(const struct plan *p, struct kv *facts)
{
    const char *command = tool_provenance(), *version = command + strcspn(command, " ") + 1;
    const size_t n = strcspn(version, " +"), rest = strcspn(version, " ");
    kv_addf(facts, "command", "%.*s%s", (int)(version - command) - 1, command, version + rest);
    kv_addf(facts, "version", "%.*s", (int)n, version);
    if (rest > n)
        kv_addf(facts, "commit", "%.*s", (int)(rest - n - 1), version + n + 1);
    origin_add_machine(facts);
    kv_addf(facts, "data", "checksum %016" PRIx64 ", %" PRIu64 " sequences", hash_data(p->data),
            p->data->count);
    if (p->tokenizer)
        kv_addf(facts, "vocabulary", "checksum %016" PRIx64, tokenizer_checksum(p->tokenizer));
}

static int train(struct plan *p, struct comm *ranks)
{
    const struct settings *s = p->settings;
    SCOPED(buf) config = BUF_INIT;
    SCOPED(kv) origin = KV_INIT;
    tool_print_config(OPT_OF_RUN, &config);
    describe_run(p, &origin);
    if (!p->tokenizer && p->data->count)
        log_warn(
            "the model is saved without a tokenizer: there is none with the data, and --vocab is not given");
    if (p->tokenizer && p->config.architecture->own_cuts && !s->start_from)
        log_warn("for a %s transformers 5 cuts texts in its own way: use PreTrainedTokenizerFast",
                 p->config.architecture->title);
    say_data(p->data, (double)(p->steps * s->global_batch_size));
    /* a rate that changes in jumps may have one after the last update */
    const enum schedule_kind kind = p->schedule.kind;
    const int64_t end = p->steps - (kind == SCHEDULE_EXPONENTIAL || kind == SCHEDULE_RATES);
    log_info("learning rate %g, at the end %g; warm-up of %" PRId64 " update%s; %" PRId64
             " sequence%s per update, %" PRId64 " per micro-batch",
             p->schedule.peak, schedule_rate(&p->schedule, end), p->schedule.warmup,
             noun_end((uint64_t)p->schedule.warmup), s->global_batch_size,
             noun_end((uint64_t)s->global_batch_size), s->micro_batch_size);
    return compare_ranks(ranks, p) < 0
               ? -1
               : loop_run(p, config.data, &origin, count_threads(ranks), ranks);
}

static int print_plan(const struct plan *p)
{
    SCOPED(buf) out = BUF_INIT;
    if (dry_run_print(p, &out) < 0)
        return -1;
    if (log_level > 0) {
        program_print(&p->program, &out);
        buf_adds(&out, "each layer:\n");
        layer_print(&p->model, &out);
    }
    fputs(out.data, stdout);
    return 0;
}

/* Adds the operands to --data. If that is not given, they replace the configuration's data. Returns
 * 0; -1 with an error if one is a configuration or, with --resume, the folder of a run. */
static int take_data(struct settings *s, char **operands, int count)
{
    if (count && !tool_given("data"))
        s->data.count = 0; /* these come from the configuration */
    for (int i = 0; i < count; i++) {
        SCOPED(buf) run = file_path(operands[i], "checkpoints");
        const int kind = s->resume ? file_look(run.data) : FILE_NONE;
        if (kind < 0)
            return -1;
        if (kind == FILE_FOLDER)
            return err_usage("'%s' is no data but a run: give it to --output", operands[i]);
        if (file_ends_with(operands[i], ".yaml") || file_ends_with(operands[i], ".yml") ||
            (file_ends_with(operands[i], ".json") && s->task <= TASK_BERT)) /* others read JSON */
            return err_usage("'%s' is no data but a configuration: give it to -c", operands[i]);
        if (file_ends_with(operands[i], ".py"))
            return err_usage("'%s' is no data: its settings are options here", operands[i]);
        opt_list_add(&s->data, operands[i]);
    }
    return 0;
}

static int print_presets(void)
{
    SCOPED(buf) out = BUF_INIT;
    int result = preset_list(&out);
    if (!result)
        fputs(out.data, stdout);
    return result;
}

/* Rejects options of the command line that the schedule, the optimizer or the data do not use. A
 * file may hold them, because its settings serve several command lines. Returns 0, or -1 with a
 * usage error. */
static int check_useful(const struct settings *s)
{
    static const char *const no_custom = "has no effect with a --schedule of rates",
                             *const no_sgd = "has no effect with --optimizer sgd or momentum",
                             *const no_init =
                                 "has no effect with --start-from, which loads all weights";
    const int custom = schedule_is_rates(s->schedule), constant = !strcmp(s->schedule, "constant"),
              momentum = s->optimizer.kind == OPTIMIZER_MOMENTUM,
              moments = s->optimizer.kind != OPTIMIZER_SGD && !momentum;
    const struct {
        const char *option;
        int used;
        const char *problem;
    } rules[] = {
        { "learning-rate", !custom, no_custom },
        { "warmup", !custom, no_custom },
        { "minimum-learning-rate", !custom && !constant,
          "has no effect with a --schedule that is constant or of rates" },
        { "beta1", moments, no_sgd },
        { "beta2", moments, no_sgd },
        { "adam-epsilon", moments, no_sgd },
        { "bias-correction", moments, no_sgd },
        { "momentum", momentum || s->optimizer.kind == OPTIMIZER_MUON,
          "needs --optimizer momentum or muon" },
        { "state-precision", s->optimizer.kind != OPTIMIZER_SGD || !s->state_precision,
          "has no effect with --optimizer sgd, which has no state" },
        { "decay", s->optimizer.weight_decay > 0, "has no effect with --weight-decay 0" },
        { "late-dropout",
          !s->late_dropout || s->dropout > 0 || s->model.attention_dropout > 0 ||
              s->model.embedding_dropout > 0,
          "needs --dropout" },
        { "validate-every", s->validation.count || !s->validate_every, "needs --validation" },
        { "validation-batches", s->validation.count || !s->validation_batches,
          "needs --validation" },
        { "sample", s->validation.count || !s->sample, "needs --validation" },
        { "calibrate", s->validation.count || !s->calibrate, "needs --validation" },
        { "calibrate", s->save || !s->calibrate, "has no effect with --no-save" },
        { "calibrate", !s->parameter_precision || !s->calibrate,
          "needs --parameter-precision f32" },
        { "teacher-share", s->teacher != NULL, "needs --teacher" },
        { "teacher-dropout", s->teacher != NULL, "needs --teacher" },
        { "machine", s->dry_run || !s->machine, "needs --dry-run" },
        { "profile", !s->dry_run || !s->profile, "has no effect with --dry-run" },
        { "zero-ends", !s->start_from || !s->model.zero_ends, no_init },
        { "init-std", !s->start_from || s->task != TASK_GPT, no_init }, /* a BERT may lack a head */
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (tool_given(rules[i].option) && !rules[i].used)
            return err_usage("--%s %s", rules[i].option, rules[i].problem);
    return 0;
}

/* Without other data, chooses ./shards, where tfwrite writes by default. */
static int choose_data(struct settings *s)
{
    if (s->resume && !s->data.count && !tool_configured()) /* the folder may be misspelt */
        return err_set("'%s' holds no run that names its data: give --output another folder, or "
                       "--data",
                       s->output);
    const int kind = s->data.count || s->dry_run ? FILE_NONE : file_look("shards");
    if (kind == FILE_FOLDER) {
        opt_list_add(&s->data, "shards");
        log_info("data: './shards'; --data chooses other data");
    }
    return kind < 0 ? -1 : 0;
}

/* Returns 1 if a resumed run's validation data is not where choose_validation found it. */
static int is_validation_lost(const struct settings *s)
{
    return s->resume && !tool_given("validation") && s->validation.count == 1 &&
           file_ends_with(s->validation.items[0], "/validation") &&
           file_look(s->validation.items[0]) == FILE_NONE;
}

/* If the validation data is not set, or that of a resumed run has moved, chooses the folder
 * `validation` in the folder of the data, where tfwrite writes what it holds out. Sets *path to its
 * name, which *s borrows. */
static int choose_validation(struct settings *s, struct buf *path)
{
    if ((tool_set("validation") && !is_validation_lost(s)) || s->data.count != 1 ||
        !strcmp(s->data.items[0], "generated"))
        return 0;
    *path = file_path(s->data.items[0], "validation");
    const int kind = file_look(path->data);
    if (kind == FILE_FOLDER) {
        s->validation.count = 0;
        opt_list_add(&s->validation, path->data);
        log_info("validation data: '%s'; --validation '' for none", path->data);
    }
    return kind < 0 ? -1 : 0;
}

/* A resumed run needs only the shape of the model that it started from. If that model is gone or
 * was removed from the settings, or the vocabulary is gone, chooses the newest checkpoint in its
 * place. Sets *path to its name, which *s borrows. */
static int choose_base(struct settings *s, struct buf *path)
{
    const int base = s->start_from ? file_look(s->start_from) == FILE_NONE
                                   : tool_given("start-from");
    const int vocab = s->vocab && file_look(s->vocab) == FILE_NONE;
    if (!s->resume || !(base || vocab))
        return 0;
    const int failed = checkpoint_newest(s->output, path);
    if (failed || !path->len)
        return failed;
    log_info("%s%s%s from '%s'", base ? "the shape of the model" : "", base && vocab ? " and " : "",
             vocab ? "the vocabulary" : "", path->data);
    s->start_from = base ? path->data : s->start_from;
    s->vocab = vocab ? path->data : s->vocab;
    return 0;
}

/* Completes and checks the settings that the options gave. *s borrows *validation and *base. */
static int settle(struct settings *s, struct comm *ranks, struct buf *validation, struct buf *base,
                  int argc, char **argv)
{
    struct classify_columns *c = &s->samples.columns;
    const char **const texts[] = { &s->vocab,       &s->start_from,    &s->architecture,
                                   &s->memmap_dir,  &s->teacher,       &s->sample,
                                   &s->tensor_grid, &s->pipeline_grid, &s->leaf_grid,
                                   &s->profile,     &s->machine,       &c->text,
                                   &c->second,      &c->label };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i] && !**texts[i]) /* an empty value removes that of a file */
            *texts[i] = NULL;
    if (s->validation.count == 1 && !*s->validation.items[0])
        s->validation.count = 0;
    s->force = tool_force;
    s->loose_vocabulary = !s->start_from && tool_only_preset("vocabulary");
    if (s->start_from && tool_only_preset("vocabulary"))
        s->model.vocabulary = 0; /* that of the model to start from */
    s->loose_length = tool_only_preset("sequence-length");
    s->loose_masks = tool_only_preset("mask-tokens");
    if (s->force && s->resume)
        return err_usage(
            "--force starts a new run and --resume continues the old one: give only one of them");
    if (choose_base(s, base) < 0 || take_data(s, argv, argc) < 0)
        return -1;
    if (choose_data(s) < 0 || choose_validation(s, validation) < 0 ||
        (comm_is_first(ranks) && profile_may_be_written(s) < 0))
        return -1;
    if (tool_given("epochs") && !tool_given("steps")) /* the command line overrides the file */
        s->steps = 0;
    if (tool_given("steps") && !tool_given("epochs"))
        s->epochs = 0;
    return check_useful(s) < 0 || ops_check_device(s->device) < 0 ? -1 : count_ranks(ranks, s);
}

static int run_on_ranks(struct comm *ranks, struct settings *s, int argc, char **argv)
{
    SCOPED(plan) p = { 0 };
    SCOPED(buf) validation = BUF_INIT, base = BUF_INIT;
    const int failed = settle(s, ranks, &validation, &base, argc, argv) < 0 ||
                       plan_make(&p, s, (uint64_t)tool_seed, !s->dry_run) < 0;
    if (comm_agree(ranks, -failed) < 0)
        return -1;
    if (s->dry_run)
        return comm_is_first(ranks) ? print_plan(&p) : 0;
    const double own = (double)(plan_on_gpu(&p) ? p.stored.host_bytes : plan_bytes(&p));
    const int result = plan_check_machine(&p, (uint64_t)comm_sum_real(ranks, COMM_HOST, own));
    return comm_agree(ranks, result) < 0 ? -1 : train(&p, ranks);
}

static int run(int argc, char **argv, void *given)
{
    struct settings *s = given;
    struct comm ranks;
    if (s->list_presets)
        return print_presets();
    const int loaded = load_own_config(s); /* it has the ranks' time limit */
    const struct err why = err_keep();
    if (open_ranks(&ranks, s) < 0)
        return -1;
    int result = comm_agree(&ranks, loaded < 0 ? err_restore(&why) : 0) < 0
                     ? -1
                     : run_on_ranks(&ranks, s, argc, argv);
    if (result < 0 &&
        ranks.size[COMM_WORLD] > 1) { /* print now: a launcher ends all when one fails */
        if (comm_is_first(&ranks))
            log_error("%s%s", err_get(), err_is_usage() ? " (see --help)" : "");
        log_level = -2;
    }
    comm_close(&ranks);
    return result;
}

static const struct tool_command train_command = {
    .args = "[PRESET|CONFIG.yaml] [DATA...]",
    .summary = "Train a GPT, a Llama or a BERT on shards of tokens.",
    TOOL_OPTIONS(options, settings_default),
    .common = TOOL_FILE_OPERAND | TOOL_THREADS | TOOL_SEED | TOOL_CONFIG | TOOL_PROGRESS |
              TOOL_CONFIG_OPERAND | TOOL_FORCE,
    .run = run,
};

static const struct tool_command *const commands[] = { &train_command, &report_command, NULL };

static const struct tool tool = {
    .name = "train",
    .examples = "  train --data shards --vocab vocab --layers 4 --width 128 --heads 4 \\\n"
                "      --sequence-length 64 --steps 1000 -o model\n"
                "  train --resume -o model\n"
                "  train report model other-model\n"
                "  train --list\n"
                "  train gpt3-175b --dry-run\n",
    .commands = commands,
    .translate = foreign_translate,
    .hint = foreign_option,
    .version_detail = ops_kernels,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
