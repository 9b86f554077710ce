/* Configurations of other programs: what their keys and values become here, and what is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "train/foreign.h"

static struct yaml yaml;

static void be_quiet(void)
{
    log_level = -1; /* without the warnings */
}

TestSuite(foreign, .init = be_quiet);

static int translate(const char *text, const char *path)
{
    cr_assert_eq(yaml_parse(&yaml, text, strlen(text), path), 0, "%s", err_get());
    return foreign_translate(&yaml, path);
}

/* Checks that the text becomes these keys and values, in this order. */
static void gives(const char *text, const char *path, const char *want)
{
    SCOPED(buf) got = BUF_INIT;
    cr_assert_eq(translate(text, path), 0, "%s: %s", text, err_get());
    for (size_t i = 0; i < yaml.count; i++)
        buf_addf(&got, "%s%s=%s", i ? " " : "", yaml.items[i].key, yaml.items[i].value);
    cr_expect_str_eq(got.len ? got.data : "", want, "%s: %s", text, got.len ? got.data : "");
    yaml_release(&yaml);
}

static void refused(const char *text, const char *path, const char *error)
{
    cr_expect_eq(translate(text, path), -1, "%s", text);
    cr_expect_str_eq(err_get(), error);
    yaml_release(&yaml);
}

static void expect_value(const char *key, const char *want)
{
    const char *got = yaml_get(&yaml, key);
    cr_expect(want ? got && !strcmp(got, want) : !got, "%s is %s", key, got ? got : "not there");
}

Test(foreign, keys_and_values)
{
    gives("n_layer: 2\n_name_or_path: x\nmodel:\n  hidden_size: 64\nid2label:\n  0: a\n"
          "label2id:\n  a: 0\ntask_specific_params:\n  x: 1\nn_inner: null\n",
          "c.yaml", "layers=2 width=64");
    gives("hidden_act: GELU_fast\n", "c.yaml", "activation=gelu_new");
    gives("hidden_act: Mish\n", "c.yaml", "activation=mish");
    gives("output_dir: Here\n", "c.yaml", "output=Here");
    gives("tie_word_embeddings: True\n", "c.yaml", "untied=false");
    gives("bf16: true\n", "c.yaml", "precision=bf16");
    gives("resid_pdrop: 0.1\nhidden_dropout_prob: 1e-1\n", "c.yaml", "dropout=0.1");
    gives("optimiser: LAMBNoBiasCorrection\n", "c.yaml", "optimizer=lamb bias-correction=false");
    gives("optimiser: LAMBNoBiasCorrection\nuse_debiasing: true\n", "c.yaml",
          "optimizer=lamb bias-correction=true");
    gives("tensor_parallel_1: 4\ntensor_parallel_2: 2\n", "c.yaml", "tensor-parallel=4x2");
    gives("tensor_parallel_2: 2\n", "c.yaml", "tensor-parallel=1x2");
    gives("layers: 2\nanything: x\n", "c.yaml", "layers=2 anything=x"); /* for the next reader */
}

/* Those of the scripts that train a BERT to answer questions. What is for answers alone says
 * nothing. */
Test(foreign, questions)
{
    gives(
        "{model_name_or_path: m, train_file: t.json, max_seq_length: 384, doc_stride: 128, pad_to_max_length: true,"
        " version_2_with_negative: true, n_best_size: 20, max_answer_length: 30, null_score_diff_threshold: 0.5,"
        " preprocessing_num_workers: 4, do_lower_case: true, dataset_name: squad}",
        "c.json", "start-from=m data=t.json sequence-length=384 stride=128");
    gives(
        "train_batch_size: 32\nnum_warmup_steps: 100\nsave_checkpoints_steps: 1000\ninput_file: x\n",
        "c.yaml", "global-batch-size=32 warmup=100 save-every=1000 data=x");
    refused("dataset_name: squad\n", "c.yaml",
            "c.yaml:1: unsupported key 'dataset-name': give --data with the file");
}

Test(foreign, the_global_batch_is_a_product)
{
    gives("micro_batch_size: 2\ngradient_accumulation: 4\nreplication_factor: 8\n", "c.yaml",
          "micro-batch-size=2 global-batch-size=64");
    gives("batch_size: 3\nreplicas: 2\n", "c.yaml", "micro-batch-size=3 global-batch-size=6");
    gives("batch_size: 1\nreplicas: 9999999999\npipeline_depth: 9999999999\n", "c.yaml",
          "micro-batch-size=1 global-batch-size=9223372036854775807");
    refused("pipeline_depth: 4\n", "c.yaml",
            "c.yaml:1: gradient accumulation needs a batch size of at least 1");
    refused("batch_size: 2\nreplicas: 0\n", "c.yaml",
            "c.yaml:2: gradient accumulation needs a batch size of at least 1");
}

Test(foreign, schedules)
{
    gives("lr_schedule: Polynomial_Decay\npower: 2\n", "c.yaml",
          "schedule=polynomial:2 minimum-learning-rate=0");
    gives("schedule: exponential\ndecay-rate: 0.1\n", "c.yaml", "schedule=exponential:0.1:500");
    gives("schedule: exponential\ndecay-steps: 7\n", "c.yaml", "schedule=exponential:0.05:7");
    gives("schedule: cosine\npower: 2\n", "c.yaml", "schedule=cosine");
    gives("schedule: wsd\n", "c.yaml", "schedule=wsd");
    gives("schedule: wsd\ncooldown: 0.3\n", "c.yaml", "schedule=wsd:0.3");
    gives("lr_schedule: custom\nlr_schedule_by_step:\n  0: 1e-5\n  10: 2e-5\n", "c.yaml",
          "schedule=0:1e-5,10:2e-5 minimum-learning-rate=0");
    gives("lr_schedule: cosine\nlr_schedule_by_step:\n  0: 1e-5\n", "c.yaml",
          "schedule=cosine minimum-learning-rate=0");
    gives("lr_schedule: cosine\nlr_scheduler_type: cosine\nmin_lr: 1e-6\n", "c.yaml",
          "schedule=cosine minimum-learning-rate=1e-6");
}

/* What another key makes ineffective, as in transformers. */
Test(foreign, keys_that_are_replaced)
{
    gives("max_steps: 100\nnum_train_epochs: 3\n", "c.yaml", "steps=100 epochs=0");
    gives("max_steps: -1\nnum_train_epochs: 3\n", "c.yaml", "epochs=3 steps=0");
    gives("warmup_steps: 0\nwarmup_ratio: 0.1\n", "c.yaml", "warmup=0.1");
    gives("warmup_steps: 10\nwarmup_ratio: 0.1\n", "c.yaml", "warmup=10");
    gives("warmup_steps: 0\nwarmup_ratio: null\n", "c.yaml", "warmup=0");
    gives("use_sliding_window: false\nsliding_window: 4096\n", "c.yaml", "");
    gives("sliding_window: 4096\n", "c.yaml", "window=4096");
    /* in a file of the user's own each rate counts; else one of three equal ones changes all */
    gives("resid_pdrop: 0.1\nattn_pdrop: 0.1\nembd_pdrop: 0.2\n", "c.yaml",
          "dropout=0.1 attention-dropout=0.1 embedding-dropout=0.2");
    gives("{resid_pdrop: 0.1, attn_pdrop: 0.1, embd_pdrop: 0.2}", "c.json",
          "dropout=0.1 embedding-dropout=0.2");
}

/* RoBERTa counts two positions that no token has. */
Test(foreign, models)
{
    gives("{model_type: roberta, max_position_embeddings: 514, type_vocab_size: 1}", "c.json",
          "architecture=roberta positions=512 task=bert");
    gives("{model_type: roberta, type_vocab_size: 2}", "c.json",
          "architecture=roberta types=2 task=bert");
    gives("{model_type: bert, max_position_embeddings: 512, type_vocab_size: 1}", "c.json",
          "architecture=bert positions=512 types=1 task=bert");
    gives("{model_type: gpt2}", "c.json", "architecture=gpt2 task=gpt");
    gives("{type_vocab_size: 2}", "c.json", "types=2 task=bert");
    gives("{max_predictions_per_seq: 20}", "c.json", "mask-tokens=20 task=bert");
}

/* A file of a TensorFlow 1 trainer does what that trainer does without a word. */
Test(foreign, defaults_of_a_trainer_of_bert)
{
    static const struct {
        const char *more, *steps, *epochs, *decay;
    } cases[] = { { "\"optimiser\": \"LAMB\"", "0", "300", "all" },
                  { "\"steps\": 7, \"optimiser\": \"Adam\"", "7", "0", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) text = buf_format(
            "{\"task\": \"pretraining\", \"epsilon\": 1e-6, \"hidden_act\": \"gelu\", %s}",
            cases[i].more);
        cr_assert_eq(translate(text.data, "c.json"), 0, "%s", err_get());
        expect_value("task", "bert");
        expect_value("layers", "12");
        expect_value("epsilon", "1e-3");
        expect_value("adam-epsilon", "1e-6");
        expect_value("activation", "gelu_new"); /* its only form */
        expect_value("steps", cases[i].steps);
        expect_value("epochs", cases[i].epochs);
        expect_value("decay", cases[i].decay);
        yaml_release(&yaml);
    }
}

Test(foreign, what_is_refused_or_left_out)
{
    refused("hidden_dropout_prob: 0.1\nresid_pdrop: 0.2\n", "c.yaml",
            "c.yaml:2: dropout is 0.2 here but 0.1 in line 1: textmill has one option for both");
    refused("lr_schedule: cosine\nlr_scheduler_type: linear\n", "c.yaml",
            "c.yaml:2: schedule is linear here but cosine in line 1: textmill has one option for "
            "both");
    refused("eval_strategy: epoch\n", "c.yaml",
            "c.yaml:1: unsupported key 'eval-strategy': --validate-every counts updates");
    gives("eval_strategy: steps\n", "c.yaml", "");
    gives("{eval_strategy: epoch, compile_only: true, executable_cache_dir: x}", "c.json", "");
    gives("loss_scale: auto\n", "c.yaml", ""); /* a warning in any file */
    refused("max_sequence_length: 512\n", "c.yaml",
            "c.yaml:1: unsupported key 'max-sequence-length': give --sequence-length or "
            "--positions");
    gives("{max_sequence_length: 2048}", "c.json", ""); /* of some models, beside the positions */
    refused("lr_scheduler_kwargs: '{\"num_cycles\": 2}'\n", "c.yaml",
            "c.yaml:1: unsupported key 'lr-scheduler-kwargs': give --schedule with its numbers, "
            "and --minimum-learning-rate");
    gives("lr_scheduler_kwargs: '{}'\n", "c.yaml", "");
    refused("{adafactor: true}", "c.json",
            "c.json:1: unsupported value of 'adafactor', true: give adamw");
    refused("use_sliding_window: true\n", "c.yaml",
            "c.yaml:1: unsupported value of 'use-sliding-window', true: only --start-from has such "
            "models");
    refused("optimizer: Schedule-Free\n", "c.yaml",
            "c.yaml:1: unsupported value of 'optimizer', schedule-free: give adamw, perhaps with "
            "--schedule wsd");
}

Test(foreign, options_of_other_programs)
{
    static const char *const known[][2] = {
        { "lr", "give --learning-rate" },
        { "batch-size", "give --micro-batch-size" },
        { "_Max_Steps", "give --steps" },
        { "gradient_accumulation", "use --global-batch-size, the number of sequences per update" },
        { "adafactor", "give adamw" },
        { "wandb-name", "it has no effect on training" },
        { "max-sequence-length", "give --sequence-length or --positions" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *got = foreign_option(known[i][0]);
        cr_expect(got && !strcmp(got, known[i][1]), "%s: %s", known[i][0], got ? got : "unknown");
    }
    cr_expect_null(foreign_option("layerz"));
    cr_expect_null(foreign_option("layers")); /* ours */
}
