/*
 * files.h - reads and writes vocabulary files.
 *
 * tokenizer.json (Hugging Face tokenizers): the models BPE (over bytes or characters, with both
 * spellings of merges), WordPiece, Unigram and WordLevel; the normalizers, pre-tokenizers and
 * decoders of steps.h and decoder.h; the post-processors TemplateProcessing, BertProcessing,
 * RobertaProcessing and ByteLevel; added tokens. The fields truncation and padding concern batches
 * and are ignored. Any other unsupported value that would change the ids is an error that names
 * it.
 *
 * vocab.json and merges.txt: tokens in the byte alphabet, and one merge per line in order of rank.
 * The first line may be "#version: ...". CR at line ends and a blank last line are allowed. The
 * token "<|endoftext|>" is special. The files do not say how text is split. That comes from the
 * options, from a tokenizer.json beside them (then read instead) or from encodings.h.
 *
 * vocab.txt (BERT): one token per line; the line number, from 0, is the id. The format is
 * recognised by its line "[UNK]".
 *
 * .model, .spm (SentencePiece): Unigram or BPE, with the normalizer's precompiled map. User-defined
 * pieces become added tokens that are searched for in the normalized text. SentencePiece never
 * produces control tokens from text that spells their names; this module does if asked for special
 * tokens.
 *
 * .tiktoken, and any file with such a first line: one token per line, as base64(bytes), a space and
 * the rank. Ranks are ids. Pattern and special tokens are those of the options or of encodings.h.
 *
 * tekken.json (Mistral): ranks, the pattern, and special tokens, whose ids come first.
 *
 * .gguf: the tokenizer.json inside the file or, in files of other programs, llama.cpp's keys
 * tokenizer.ggml.* (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "Tokenizer").
 * tokenizer.ggml.model says which keys there are besides tokens and token_type:
 *
 *     gpt2   byte-level BPE: merges, and the name of a pre-tokenizer that gguf_vocabulary.c has
 *     llama  BPE of SentencePiece: scores, add_space_prefix. Tokens of type BYTE, such as <0x0A>,
 *            stand for the bytes of characters that have no token.
 *     bert   WordPiece: tokens that begin a word begin with U+2581; the others have no "##". Text
 *            keeps its upper case and its accents by wordpiece_infer.
 *
 * In a folder and beside a vocab.json or tokenizer.json, tokenizer_config.json has the options of
 * BERT's words, and may name tokens: eos_token (end-of-text), bos_token, pad_token, cls_token,
 * sep_token, mask_token, other keys that end in _token, and lists. All of them are special.
 * Those that the vocabulary lacks get the ids that Hugging Face gives them, except eos_token: the
 * vocabulary must have it. The object added_tokens_decoder adds tokens and changes the properties
 * of others; ids that contradict the vocabulary are an error. Without it, special_tokens_map.json
 * names tokens, too, and added_tokens.json adds tokens, which are special if another file names
 * them. Without a tokenizer.json, the keys add_bos_token, add_eos_token and add_prefix_space say
 * what is put around a text. With one, add_prefix_space is used only for the class GPT2Tokenizer.
 * The other two keys are used only for LlamaTokenizer, and only if the tokenizer.json puts no
 * tokens around a text. transformers 4 does the same.
 */
#pragma once

#include "tokenizer/model/vocabulary.h"

struct js;

/* Loads a vocabulary in any of these formats, or from a folder with one: see tokenizer_load; `path`
 * NULL: the vocabulary of the 256 bytes. Initialises `v`, and releases it again on failure. Returns
 * 0, or -1 with an error. */
int vocabulary_load(struct vocabulary *v, const char *path, const struct tokenizer_options *o);

/* Each function parses text[0..n) into an initialised vocabulary; error messages use `name`.
 * vocab_json_parse reads the tokens of a vocab.json, clip_parse those of CLIP's, and merges_parse
 * adds the merges to them. tiktoken_parse reads a file of ranks. Of these, only clip_parse sets how
 * text is cut. Returns 0, or -1 with an error. */
int tokenizer_json_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int vocab_json_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int merges_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int tiktoken_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int tekken_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
int clip_parse(struct vocabulary *v, const struct buf *tokens, const char *name);

/* Return 1 if text[0..n), read from a JSON file, is a tekken.json or CLIP's vocab.json, else 0. */
int tekken_is(const char *text, size_t n);
int clip_is(const char *text, size_t n);

/* Reads `value`, the JSON of a pre-tokenizer, into v->splitter and v->prefix_space, and returns 1.
 * Returns 0, without a change of v, if it is not one that only cuts byte-level text, or -1 with an
 * error for a bad pattern. If the result is 1, sets *plain to 1 if the two fields describe the
 * whole value, else to 0. */
int splits_read(struct vocabulary *v, const struct js *value, int *plain);

/* Adds the tokens of by_id, the "added_tokens_decoder" of a tokenizer_config.json, an object whose
 * keys are ids. `ranks` 1: v is from a file of ranks (.tiktoken); then ids that by_id skips become
 * unused special tokens. Returns 0, or -1 with an error. */
int added_decoder_read(struct vocabulary *v, const struct js *by_id, int ranks);

/* Puts the token that `item`, a string or an object with its "content", names as the `key` of a
 * tokenizer_config.json or special_tokens_map.json, and sets *id to its id, or to -1 without a
 * name. It becomes special, unless it is an added one and the key a list. A token that the
 * vocabulary lacks gets the id that Hugging Face gives it, but that of eos_token is an error, and
 * beside a model of SentencePiece it stays text. Returns 0, or -1 with an error. */
int special_put(struct vocabulary *v, const char *key, const struct js *item, int64_t *id);

/* Parses text[0..n), a SentencePiece .model file, into an initialised vocabulary; error messages
 * use `name`. Returns 0, or -1 with an error. */
int sentencepiece_parse(struct vocabulary *v, const char *text, size_t n, const char *name);

/* Reads the vocabulary that a GGUF file holds into *v. Returns 0, or -1 with an error. Errors name
 * the file, and the byte of a value that is wrong. */
struct gguf;
int gguf_vocabulary_read(struct vocabulary *v, const struct gguf *g);

/* Returns llama.cpp's name for how a tokenizer.json, `root`, cuts a text and whether it merges
 * pieces that are tokens; without one, a name for the first alone; NULL if there is none. */
const char *gguf_pre_tokenizer(const struct js *root);

/* Reads the normalizer, pre-tokenizer, post-processor and decoder from the text json[0..n) of a
 * tokenizer.json into `v`. The post-processor's ids must be in the vocabulary. Returns 0, or -1
 * with an error. */
int frame_read(struct vocabulary *v, const char *json, size_t n);

/* Parses BERT's vocab.txt. The normalization rules are Hugging Face's. Text keeps its upper case
 * and its accents by wordpiece_infer. Returns 0, or -1 with an error. */
int vocab_txt_parse(struct vocabulary *v, const char *text, size_t n, const char *name);

/* Makes `v` a WordPiece vocabulary with Hugging Face's rules; its tokens stay. `cased`: upper case
 * is kept. */
void wordpiece_frame(struct vocabulary *v, int cased);

/* As wordpiece_frame, but infers from the tokens what text keeps. It keeps its upper case if a
 * token has an ASCII capital letter, or more than 1 % of the tokens have another capital. It keeps
 * its accents if it keeps its upper case, or if more than 1 % of the tokens have an accent, a vowel
 * sign or Hangul. Names such as [CLS] do not count. */
void wordpiece_infer(struct vocabulary *v);

/* Makes `v` a vocabulary without tokens for BPE over characters, inside the words that Hugging
 * Face's Whitespace pre-tokenizer cuts. Returns 0, or -1 with an error. */
int characters_frame(struct vocabulary *v);

/* Makes `v` a Unigram vocabulary without tokens. Text is normalized as SentencePiece does by
 * default: NFKC, white space becomes a space, one space between words. Words begin with U+2581.
 * Returns 0, or -1 with an error. */
int unigram_frame(struct vocabulary *v);

/* Returns the token that begins a text: the one that is put before it; or else the one that the
 * files name, SentencePiece's <s>, or the token that ends a text. -1: none. */
int64_t vocabulary_begin_of_text(const struct vocabulary *v);

/* Sets v->roles to the ids of [PAD] [UNK] [CLS] [SEP] [MASK]. Returns 0, or -1 with an error if
 * there is no [UNK]. */
int bert_roles(struct vocabulary *v);

/* Sets v->single to [CLS] A [SEP], and v->pair to [CLS] A [SEP] B [SEP]. */
void bert_templates(struct vocabulary *v);

/* post_processor_read reads the post-processor of a tokenizer.json into v->single and v->pair, and
 * returns -1 with an error if it is not supported. post_processor_put makes the one that puts the
 * token `begin` before and `end` after each text, also of a pair; -1 is no token.
 * templates_print appends the templates v->single and v->pair to `out` as JSON; v->pair may have no
 * special token that v->single lacks. */
void post_processor_put(struct vocabulary *v, int64_t begin, int64_t end);
int post_processor_read(struct vocabulary *v, const struct js *post);
void templates_print(const struct vocabulary *v, struct buf *out);
extern const char *const bert_role_names[TOKENIZER_ROLES];
int bert_is_role(const char *token, size_t n); /* 1: it is one of these names */
void vocab_txt_print(const struct vocabulary *v, struct buf *out);

/* wordpiece_json_read reads WordPiece's model in a tokenizer.json; returns 0, or -1 with an error.
 * wordpiece_json_print_model appends it as JSON. */
int wordpiece_json_read(struct vocabulary *v, const struct js *root);
void wordpiece_json_print_model(const struct vocabulary *v, struct buf *out);

/* A merge that files spell as two names. Call merge_left with the left name, then merge_right with
 * the right name, which adds the merge. Both return 0, or -1 with an error if a name is not a
 * token; merge_right also if the joined name is not a token. merge_joined does both for two names
 * with a space between them. */
struct named_merge {
    struct buf bytes; /* the caller sets it to BUF_INIT */
    int64_t left;
};
static inline void named_merge_release(struct named_merge *m)
{
    buf_release(&m->bytes);
}
int merge_joined(struct vocabulary *v, struct named_merge *m, const char *names, size_t n);
int merge_left(const struct vocabulary *v, struct named_merge *m, const char *name, size_t n);
int merge_right(struct vocabulary *v, struct named_merge *m, const char *name, size_t n);

/* Appends the name of token `id` as a JSON string, spelled as in tokenizer.json. */
void token_print(const struct vocabulary *v, uint32_t id, struct buf *out);

/* Appends the tokens with ids below `end` as members of a JSON object, with `between` in between.
 */
void tokens_print(const struct vocabulary *v, uint32_t end, const char *between, struct buf *out);

/* Writes tokenizer.json, tokenizer_config.json, vocab.json, merges.txt and, if ranks alone describe
 * the merges, vocab.tiktoken into the folder `dir`, as one set (output_close_all). Creates the
 * folder if it is missing. Removes files of an older vocabulary that this program has written and
 * the new one does not have. Returns 0, or -1 with an error. */
int vocabulary_save(const struct vocabulary *v, const char *dir);

/* Appends the text of a tokenizer.json for `v` to `out`. */
void tokenizer_json_print(const struct vocabulary *v, struct buf *out);
