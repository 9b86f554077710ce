/*
 * vocabulary.h - the contents of a vocabulary file as plain data. The files (files.h) and the
 * learner (learn.h) produce it; the tokenizer is compiled from it.
 *
 *     tokens   id -> bytes; an id may have no token (a hole)
 *     merges   pairs of ids and the id each pair becomes, in order of rank
 *     added    tokens that are cut out of the text before the rest is split
 *     splitter how the text is cut into pieces
 *
 * A tokenizer.json may describe normalization, cuts and decoding in other ways. Then `normalizer`
 * and `pre_tokenizer` hold lists of steps, and there is a `decoder`.
 *
 * A WordPiece vocabulary has no merges and no splitter. Instead it has
 *
 *     rules    how the text becomes words
 *     roles    the ids of [UNK], [CLS] and the other special tokens
 *     single, pair  the special tokens put around one text, and around two
 */
#pragma once

#include "tokenizer/cut/normalize.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/cut/pretokenize.h"
#include "tokenizer/cut/steps.h"
#include "tokenizer/model/merge.h"
#include "tokenizer/model/roles.h"

enum { AFFIX_MAX = 32 }; /* bytes of a prefix or suffix, including the NUL */
/* Most ids. Greater numbers mark packed pieces (unigram.h); wordcache.c has 24 bits for an id. */
enum { VOCABULARY_MAX = (1 << 24) - 1 };

extern const char end_of_text_name[]; /* "<|endoftext|>" */

enum token_kind { TOKEN_HOLE, TOKEN_MODEL, TOKEN_ADDED };

struct vocabulary_token {
    size_t at; /* the token's bytes are blob.data[at..at+len) */
    uint32_t len;
    enum token_kind kind;
    unsigned char in_model; /* 1: the model has this token, which may be an added token, too */
    uint32_t
        added; /* 1 + its index among the added tokens, which the model may have, too; 0: none */
};

struct vocabulary_slot {
    uint32_t hash, id; /* hash of the token's bytes, and its id; id UINT32_MAX: the slot is free */
};

/* An added token, with the properties that tokenizer.json gives it. */
struct added_token {
    uint32_t id;
    size_t at; /* its spelling is blob.data[at..at+len). These are the bytes of token `id`, unless
                  another token has the same bytes */
    uint32_t len;
    int special;        /* recognised only where the caller asks for special tokens */
    int single_word;    /* matches only if no letter, digit, mark or connector is beside it */
    int lstrip, rstrip; /* also removes white space before it, after it */
    int normalized;     /* searched for in the second pass, in the normalized text */
    int literal;        /* its spelling is not normalized before that search */
    size_t
        item; /* 1 + its index among those of its pass (added.h), 0: none; set by the tokenizer */
};

enum vocabulary_model {
    VOCABULARY_BPE,
    VOCABULARY_WORDPIECE,
    VOCABULARY_UNIGRAM,
    VOCABULARY_WORDLEVEL, /* each piece is one token, or unknown */
};

/* One part of a template: a text, or a special token put around it. */
struct template_part {
    int64_t id; /* id of a special token, or TEMPLATE_A or TEMPLATE_B for a text */
    uint32_t type;
};
enum { TEMPLATE_A = -1, TEMPLATE_B = -2, TEMPLATE_MAX = 16 };

struct template
{
    struct template_part parts[TEMPLATE_MAX];
    size_t count;
};

struct decoder;

/* The parts of a tokenizer.json other than the model. */
enum component { NORMALIZER, PRE_TOKENIZER, POST_PROCESSOR, DECODER, COMPONENTS };

struct vocabulary {
    enum vocabulary_model model;
    struct vocabulary_token *tokens;
    uint32_t count; /* ids are below this */
    uint32_t most;  /* no id may be this or greater */
    size_t tokens_cap;
    struct buf blob;
    struct vocabulary_slot *slots; /* hash table of ids by bytes */
    uint64_t slot_mask;
    uint32_t slots_used;

    double *scores; /* VOCABULARY_UNIGRAM: score of each id, 0 for tokens that are not in the model;
                       other models: NULL */
    size_t scores_cap;
    struct bpe_merge *merges;
    size_t merge_count, merges_cap;
    struct added_token *added;
    size_t added_count, added_cap;

    struct splitter splitter;
    int prefix_space;      /* a space is put before a text that does not begin with one */
    int trims_places;      /* the ranges of tokens in the text (encoder_encode_places) leave out
                            * spaces at a token's sides */
    int keeps_first_space; /* with trims_places: a single space at the beginning of a text, which
                            * may have been added by prefix_space, is not left out */
    int drops;             /* bytes that the vocabulary lacks are left out */
    int ignore_merges;     /* a piece whose bytes are a token becomes that token without merging */
    int64_t longest;       /* tokens of the longest text that the model takes; 0: not known */
    int64_t types;         /* segment types that the model has, if `longest` is known */
    int pads_left;         /* transformers pads the shorter texts of a batch on the left */
    int byte_level; /* tokens are byte strings; otherwise strings of characters, and the fields
                      fuse_unknown and byte_fallback apply */
    /* prefix of each token of a piece but the first; suffix of the last */
    char prefix[AFFIX_MAX], suffix[AFFIX_MAX];
    int fuse_unknown, byte_fallback; /* see subword.h */
    int hides; /* 1 for SentencePiece. VOCABULARY_UNIGRAM then adds scores as floats, and does not
                * find the spellings of special tokens and of byte tokens in a text */
    int64_t begin_of_text, end_of_text; /* as the files name them; -1: none */

    /* general 1: the steps `normalizer` and `pre_tokenizer` are used. steps_cut 1: the steps also
     * cut the text, because neither the splitter nor BERT's rules can. */
    int general, steps_cut;
    struct steps normalizer, pre_tokenizer;
    struct decoder *decoder; /* NULL: tokens are joined as bytes or, with WordPiece, as words */
    char *json[COMPONENTS];  /* JSON text of each component in the file; NULL: it follows from the
                                other fields */

    struct bert_rules rules;
    uint32_t max_chars; /* characters of a word; longer words become the unknown token */
    int cleanup;        /* decoding leaves out the space before some punctuation */
    int64_t roles[TOKENIZER_ROLES]; /* ids; -1: none */
    struct template single, pair;
};

void vocabulary_init(struct vocabulary *v);
void vocabulary_release(struct vocabulary *v);

/* Adds a token with the id `id` and the bytes bytes[0..n). Returns 0, or -1 with an error if the id
 * is out of bounds or taken, or if it is a model token with the bytes of another model token. An
 * added token may have the id and the bytes of a model token, or its bytes with another id;
 * vocabulary_find then returns the id of the model token. Sets in_model of each new token, also of
 * an added one: the caller clears it if the model does not have that token. */
int vocabulary_put(struct vocabulary *v, int64_t id, const char *bytes, size_t n,
                   enum token_kind kind);
int64_t vocabulary_find(const struct vocabulary *v, const char *bytes, size_t n); /* -1: none */
/* Sets ids[i] to the id that vocabulary_find returns for piece i, UINT32_MAX for none. Faster for
 * many pieces, because memory is prefetched for all of them at once. */
void vocabulary_find_all(const struct vocabulary *v, const struct pieces *p, uint32_t *ids);

/* Returns 1 if token `id`, which is below v->count, is an added one and special, else 0. */
int vocabulary_is_special(const struct vocabulary *v, uint32_t id);

/* Returns the bytes of a token, which are not NUL-terminated, and sets *n to their number. Returns
 * NULL if id is out of range or has no token. */
const char *vocabulary_bytes(const struct vocabulary *v, uint32_t id, size_t *n);
/* Appends the spelling of a token in files to `out`. If tokens are byte strings, it is in the byte
 * alphabet (alphabet.h), except for added tokens, which are spelled as they are. */
void vocabulary_name(const struct vocabulary *v, uint32_t id, struct buf *out);
void vocabulary_score(struct vocabulary *v, uint32_t id, double score); /* sets a token's score */

/* Adds a merge with the next rank: the tokens `left` and `right` become `id`. */
void vocabulary_merge(struct vocabulary *v, uint32_t left, uint32_t right, uint32_t id);

/* Adds the added token *a, with the spelling of token a->id. */
void vocabulary_add(struct vocabulary *v, const struct added_token *a);

/* Adds a special token with the name name[0..n), which the model has, too, if in_model is 1.
 * Returns 0, or -1 with an error as vocabulary_put. */
int vocabulary_put_special(struct vocabulary *v, int64_t id, const char *name, size_t n,
                           int in_model);

/* Sets the bytes of token `id` to bytes[0..n) and makes it a model token. Call it for an added
 * token that the model spells with other bytes: decoding then gives the model's bytes, while the
 * added token keeps the spelling that is searched for in texts. */
void vocabulary_respell(struct vocabulary *v, uint32_t id, const char *bytes, size_t n);

/* From now on, refuses ids that are far greater than the number of tokens that a file of `bytes`
 * bytes can have (vocabulary_check): they would take much memory. */
void vocabulary_expect(struct vocabulary *v, size_t bytes);
/* Returns 0, or -1 with an error if there are no tokens, or far fewer tokens than ids. */
int vocabulary_check(const struct vocabulary *v);
/* Returns 0, or -1 with an error if there are no tokens, or if an id below v->count has none. */
int vocabulary_check_full(const struct vocabulary *v);
/* Returns the first id below v->count that has no token, or v->count if each of them has one. */
uint32_t vocabulary_hole(const struct vocabulary *v);

/* Returns a hash of all tokens: of the length of each (4 bytes, little-endian) and its bytes. */
uint64_t vocabulary_checksum(const struct vocabulary *v);

/* Derives the merges from the order of ids, as a .tiktoken file of ranks requires. Each token of
 * two bytes or more is the merge of the two parts that remain when its bytes are merged with lower
 * ids only. If not two parts remain, a merge is added for each pair of tokens that spell it, and
 * ignore_merges is set, because tiktoken looks up whole pieces first. Returns 0, or -1 with an
 * error if a token is too long or has a byte that is not a token. */
int vocabulary_derive_merges(struct vocabulary *v);

/* Sets byte_ids[b] to the id of the model's token that is byte b, or to -1 if there is none. */
void vocabulary_byte_ids(const struct vocabulary *v, int64_t byte_ids[256]);

/* As vocabulary_byte_ids, for tokens named like <0x0A>. Without byte_fallback, sets all to -1. */
void vocabulary_fallback_ids(const struct vocabulary *v, int64_t byte_ids[256]);
