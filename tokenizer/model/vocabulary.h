/*
 * vocabulary.h - what a vocabulary file says, as plain data: between the files (files.h), the
 * learner (learn.h) and the tokenizer that is compiled from it.
 *
 *     tokens   id -> bytes; ids have no holes once vocabulary_check has passed
 *     merges   pairs of ids and what they become, in order of rank
 *     added    tokens that are cut out of the text before anything else
 *     splitter how the text is cut into pieces
 *
 * tokenizer.json may say all of that in other ways: then there are steps, and a decoder.
 *
 * A WordPiece vocabulary has no merges and no splitter; instead
 *
 *     rules    how the text becomes words
 *     roles    the tokens that stand for something: [UNK], [CLS] ...
 *     single, pair  what is put around a text, and around two
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_VOCABULARY_H
#define TEXTMILL_TOKENIZER_MODEL_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "tokenizer/cut/normalize.h"
#include "tokenizer/cut/pretokenize.h"
#include "tokenizer/cut/steps.h"
#include "tokenizer/model/merge.h"
#include "tokenizer/model/roles.h"

enum { AFFIX_MAX = 32 };           /* bytes of a prefix or suffix, and a NUL */
enum { VOCABULARY_MAX = 1 << 24 }; /* ids; the word cache packs a count above them */

enum token_kind { TOKEN_HOLE, TOKEN_MODEL, TOKEN_ADDED };

struct vocabulary_token {
    size_t at; /* its bytes are blob.data[at..at+len) */
    uint32_t len;
    enum token_kind kind;
    unsigned char in_model; /* it is not an added token alone */
    unsigned char is_added;
};

struct vocabulary_slot {
    uint32_t hash, id; /* of the token's bytes; UINT32_MAX: free */
};

/* As in tokenizer.json. */
struct added_token {
    uint32_t id;
    size_t at; /* its content is blob.data[at..at+len): the token's bytes, where it is no other's
                  too */
    uint32_t len;
    int special;        /* recognised only where the caller asks for special tokens */
    int single_word;    /* not with letters, digits, marks or connectors at its sides */
    int lstrip, rstrip; /* swallows white space before, behind */
    int normalized;     /* looked for after the others, in the normalized text */
    int literal;        /* its content is not normalized for that */
};

enum vocabulary_model {
    VOCABULARY_BPE,
    VOCABULARY_WORDPIECE,
    VOCABULARY_UNIGRAM,
    VOCABULARY_WORDLEVEL, /* a piece is a token, or unknown */
};

/* One part of what a text becomes with its special tokens about it. */
struct template_part {
    int64_t id; /* a token's, or one of the below */
    uint32_t type;
};
enum { TEMPLATE_A = -1, TEMPLATE_B = -2, TEMPLATE_MAX = 16 };

struct template
{
    struct template_part parts[TEMPLATE_MAX];
    size_t count;
};

struct decoder;

/* What a tokenizer.json says beside its model. */
enum component { NORMALIZER, PRE_TOKENIZER, POST_PROCESSOR, DECODER, COMPONENTS };

struct vocabulary {
    enum vocabulary_model model;
    struct vocabulary_token *tokens;
    uint32_t count; /* ids are below this */
    size_t tokens_cap;
    struct buf blob;
    struct vocabulary_slot *slots; /* hash table of ids by bytes */
    uint64_t slot_mask;
    uint32_t slots_used;

    double *scores; /* VOCABULARY_UNIGRAM: of each id, 0 for what the model has not; else NULL */
    size_t scores_cap;
    struct bpe_merge *merges;
    size_t merge_count, merges_cap;
    struct added_token *added;
    size_t added_count, added_cap;

    struct splitter splitter;
    int prefix_space;      /* a text that does not begin with a space gets one */
    int trims_places;      /* the spaces at a token's sides are no part of its place */
    int keeps_first_space; /* but for the first one of a text: it may have been put there */
    int ignore_merges;     /* a piece that is a token is that token, whatever the merges say */
    int byte_level;        /* tokens are of bytes; else of characters, and the below holds */
    char prefix[AFFIX_MAX], suffix[AFFIX_MAX]; /* of tokens behind a piece's first; of its last */
    int fuse_unknown, byte_fallback;           /* see subword.h */
    int64_t end_of_text;                       /* -1: none */

    /* Where the text is changed before it is cut, or neither the splitter nor BERT's rules say how
     * (steps_cut), these do. */
    int general, steps_cut;
    struct steps normalizer, pre_tokenizer;
    struct decoder *decoder; /* NULL: bytes as they are, or BERT's words */
    char *json[COMPONENTS];  /* as the file has it; NULL: follows from the rest */

    struct bert_rules rules;
    uint32_t max_chars;             /* of a word that is cut into pieces; longer ones are unknown */
    int cleanup;                    /* decoding leaves out the space before some punctuation */
    int64_t roles[TOKENIZER_ROLES]; /* ids; -1: none */
    struct template single, pair;
};

void vocabulary_init(struct vocabulary *v);
void vocabulary_release(struct vocabulary *v);

/* -1: id out of bounds or taken, or a model token with the bytes of another. An added token may
 * repeat what the model has under the same id, or the bytes of a model token under its own: then
 * vocabulary_find gives the model's. */
int vocabulary_put(struct vocabulary *v, int64_t id, const char *bytes, size_t n,
                   enum token_kind kind);
int64_t vocabulary_find(const struct vocabulary *v, const char *bytes, size_t n); /* -1: none */
const char *vocabulary_bytes(const struct vocabulary *v, uint32_t id, size_t *n);
/* Appends how files spell it: in the byte alphabet where tokens are of bytes, but for added ones.
 */
void vocabulary_name(const struct vocabulary *v, uint32_t id, struct buf *out);
void vocabulary_score(struct vocabulary *v, uint32_t id, double score);
void vocabulary_merge(struct vocabulary *v, uint32_t left, uint32_t right, uint32_t id);
void vocabulary_add(struct vocabulary *v,
                    const struct added_token *a); /* its content follows from id */

/* The model's token of an id that an added token has too stands for other bytes than that one's. */
void vocabulary_respell(struct vocabulary *v, uint32_t id, const char *bytes, size_t n);

/* -1 if an id below count has no token. */
int vocabulary_check(const struct vocabulary *v);

/* Derives the merges from the ids' order, as a file of ranks means it: each token of two bytes
 * or more is the merge of the two parts to which merging by lower ids reduces it. -1 when a token
 * does not reduce to two. */
int vocabulary_derive_merges(struct vocabulary *v);

/* The id of each byte as a token of the model, -1 for none. */
void vocabulary_byte_ids(const struct vocabulary *v, int64_t byte_ids[256]);

#endif
