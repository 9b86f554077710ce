/*
 * subject.h - the model and the tokenizer that `evaluate` examines, and the options that name them.
 * All commands share these options: each command's options struct begins with a struct subject.
 */
#pragma once

#include "common/program/opt.h"
#include "eval/score.h"
#include "model/compute/stored.h"
#include "tokenizer/tokenizer.h"

struct subject {
    /* options */
    const char *model_dir, *vocab; /* vocab NULL: the tokenizer is in the model folder */
    const char *device;            /* as ops_open takes it */
    int precision, weights, json;  /* weights: index of a word of STORED_WORDS
                                    * (stored_type) */
    int verify;                    /* 1: the checksums of the weights are checked */
    int64_t batch_tokens;
    int64_t length; /* --sequence-length; 0: the model's positions, which subject_open sets */

    struct tokenizer *tokenizer; /* set by subject_load_tokenizer, as is the encoder */
    struct encoder *encoder;
    struct scorer scorer; /* set by subject_open: `net` and, if it is a decoder, the rest */
    int64_t start;        /* subject_start of the tokenizer; set by subject_load */
};

/* The model if none is named: the folder that train writes by default. */
#define SUBJECT_MODEL_DIR "model"

#define SUBJECT_DEFAULTS                                                                           \
    {                                                                                              \
        .batch_tokens = 4096, .device = "cpu", .verify = 1                                         \
    }

/* Marks the options that have no effect without --model, for tool_misplaced. */
enum { SUBJECT_ONLY = OPT_ONLY };

/* clang-format off */
#define SUBJECT_ROW(name, type, member, arg, help, least, most)                                    \
    { 0, name, type, offsetof(struct subject, member), arg, help, least, most }
#define SUBJECT_MODEL                                                                              \
    { 'm', "model", OPT_TEXT, offsetof(struct subject, model_dir), "DIR",                          \
      "model folder or GGUF file; default: ./model", 0, 0 }
#define SUBJECT_VOCAB                                                                              \
    SUBJECT_ROW("vocab", OPT_TEXT | SUBJECT_ONLY, vocab, "PATH",                                   \
                "tokenizer, if it is not in the model folder", 0, 0)
#define SUBJECT_JSON                                                                               \
    SUBJECT_ROW("json", OPT_FLAG, json, NULL, "print scores as JSON, one object per line", 0, 0)
/* Five options: how the model is loaded, and how it computes. */
#define SUBJECT_COMPUTE                                                                            \
    SUBJECT_ROW("batch-tokens", OPT_INT | SUBJECT_ONLY, batch_tokens, "N",                         \
                "tokens to run through the model at a time", 1, 1e9),                              \
    SUBJECT_ROW("precision", OPT_CHOICE | SUBJECT_ONLY, precision, OPS_PRECISION_WORDS,            \
                "precision of matrix products", 0, 0),                                             \
    SUBJECT_ROW("weights", OPT_CHOICE | SUBJECT_ONLY, weights, STORED_WORDS,                       \
                "type in which the weights are kept in memory; on a GPU auto, f32 or bf16", 0, 0), \
    SUBJECT_ROW("device", OPT_TEXT | SUBJECT_ONLY, device, "cpu|cuda[:N]",                         \
                "where to compute: the CPU, or GPU number N", 0, 0),                               \
    SUBJECT_ROW("verify", OPT_FLAG | SUBJECT_ONLY, verify, NULL,                                   \
                "check the weights against the checksums that are stored with them", 0, 0)
#define SUBJECT_LENGTH(help) SUBJECT_ROW("sequence-length", OPT_INT, length, "N", help, 0, 1e9)
/* clang-format on */

/* Loads the tokenizer from `vocab` or, if that is NULL, from `model_dir`, and makes the encoder. If
 * both are NULL, sets `model_dir` to its default. Returns 0, or -1 with an error. */
int subject_load_tokenizer(struct subject *s);

/* Appends the ids of text[0..n) and of the special tokens that the vocabulary puts around a text
 * (Llama: <s>; GPT-2: none) to `out`, like Hugging Face's tokenizers. Returns 0, or -1 with an
 * error if the text cannot be encoded. */
int subject_encode(const struct tokenizer *t, struct encoder *e, const char *text, size_t n,
                   struct ids *out);

/* Returns the token that is put before a text to predict the text's first token, as
 * lm-evaluation-harness chooses it (tokenizer_begin_of_text). Returns -1 with an error if there is
 * none. */
int64_t subject_start(const struct tokenizer *t);

/* Loads the tokenizer and the model as a decoder that scores text. Returns 0, or -1 with an
 * error. */
int subject_load(struct subject *s);

/* Loads the model with the head `head`, as the options say; first checks the folder, and, unless
 * the options forbid it, its weights (folder_verify). A tokenizer that was loaded before must not
 * have more tokens than the model's vocabulary, nor a given length be more than the model's
 * positions. Returns 0, or -1 with an error. */
int subject_open(struct subject *s, enum model_head head);

void subject_release(struct subject *s);

/* Ends a command. If `result` is 0, calls score(s, path) for each path in argv until one fails; *s
 * is the first member of the struct that `score` expects. Then releases *s. Returns 0, or -1 with
 * an error. */
int subject_score(struct subject *s, int result, int argc, char **argv,
                  int (*score)(void *options, const char *path));
