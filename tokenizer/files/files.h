/*
 * files.h - vocabulary files, read and written.
 *
 * tokenizer.json (Hugging Face tokenizers): model BPE, over bytes or over characters, with either
 *   spelling of merges, WordPiece, Unigram and WordLevel; the normalizers, pre-tokenizers and
 * decoders of steps.h and decoder.h; the post-processors TemplateProcessing, BertProcessing and
 * RobertaProcessing; added tokens. truncation and padding say how batches are made and are not
 * used. Whatever would change the ids and is not supported is an error that names it. vocab.json,
 * merges.txt (GPT-2): tokens in the byte alphabet; one merge a line in order of rank, the first
 * line may be "#version: ..." and CR or a blank last line do no harm. The token
 *   "<|endoftext|>" is special.
 * vocab.txt (BERT): a token a line, the line's number is its id. Known by its line "[UNK]".
 * .model (SentencePiece): Unigram or BPE, with the normalizer's precompiled map. Pieces of the user
 *   are added tokens of the normalized text; the names of control tokens and bytes are not text
 *   there, but are tokens here where a text spells them.
 * .tiktoken: a line a token, base64(bytes) SP rank. Ranks are ids; "<|endoftext|>" gets the
 *   least id that the file leaves out (50256 for GPT-2). GPT-2's pattern is taken unless another
 *   one is named, which has its own special tokens.
 *
 * In a folder, tokenizer_config.json's eos_token is the end of a text where it names one.
 */
#ifndef TEXTMILL_TOKENIZER_FILES_FILES_H
#define TEXTMILL_TOKENIZER_FILES_FILES_H

#include "tokenizer/model/vocabulary.h"

struct js;

extern const char end_of_text_name[]; /* "<|endoftext|>" */

/* Any of the forms, or a folder with one: see tokenizer_load. `v` is initialised here, and
 * released again on failure. */
int vocabulary_load(struct vocabulary *v, const char *path, const struct tokenizer_options *o);

/* Each fills an initialised vocabulary from a text; `name` stands in errors. The second takes the
 * tokens of vocab.json, the third adds the merges to them. */
int tokenizer_json_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int vocab_json_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int merges_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int tiktoken_parse(struct vocabulary *v, const char *text, size_t n, const char *name);

/* A .model of SentencePiece. */
int sentencepiece_parse(struct vocabulary *v, const char *text, size_t n, const char *name);

/* The normalizer, pre-tokenizer, post-processor and decoder of a tokenizer.json for a vocabulary of
 * characters. */
int frame_read(struct vocabulary *v, const char *json, size_t n);

/* BERT's vocab.txt; the rules are Hugging Face's, upper case is kept where a token has some. */
int vocab_txt_parse(struct vocabulary *v, const char *text, size_t n, const char *name);

/* A WordPiece vocabulary without tokens, with Hugging Face's rules. */
void wordpiece_frame(struct vocabulary *v, int cased);

/* One for BPE over characters, inside the words that Hugging Face's Whitespace cuts. */
int characters_frame(struct vocabulary *v);

/* Finds [PAD] [UNK] [CLS] [SEP] [MASK] among the tokens; -1 where [UNK] is none. */
int bert_roles(struct vocabulary *v);
void bert_templates(struct vocabulary *v); /* [CLS] A [SEP], [CLS] A [SEP] B [SEP] */

/* The post-processor of tokenizer.json. */
int post_processor_read(struct vocabulary *v, const struct js *post);
void templates_print(const struct vocabulary *v, struct buf *out);
extern const char *const bert_role_names[TOKENIZER_ROLES];
void vocab_txt_print(const struct vocabulary *v, struct buf *out);

/* WordPiece in tokenizer.json: the model; the rest follows where the file has BERT's own. */
int wordpiece_json_read(struct vocabulary *v, const struct js *root);
void wordpiece_json_print_model(const struct vocabulary *v, struct buf *out);
void bert_normalizer_print(const struct vocabulary *v, struct buf *out);
int bert_json_read(struct vocabulary *v, const struct js *normalizer);

/* A merge by two names, as files spell them: the left one, then the right one, which adds the
 * merge. -1: a name is no token, or their join is none. */
struct named_merge {
    struct buf bytes; /* the caller's, BUF_INIT at first and released at the end */
    int64_t left;
};
int merge_left(const struct vocabulary *v, struct named_merge *m, const char *name, size_t n);
int merge_right(struct vocabulary *v, struct named_merge *m, const char *name, size_t n);

/* Appends a token as a JSON string, as files spell it. */
void token_print(const struct vocabulary *v, uint32_t id, struct buf *out);

/* Writes tokenizer.json, tokenizer_config.json, vocab.json, merges.txt and, where ranks alone say
 * the same, vocab.tiktoken into `dir`, which is made if missing. */
int vocabulary_save(const struct vocabulary *v, const char *dir);

/* The text of tokenizer.json, for those who keep it elsewhere. */
void tokenizer_json_print(const struct vocabulary *v, struct buf *out);

#endif
