/*
 * roles.h - what a vocabulary's special tokens are for, and how its files are read.
 *
 * The callers of tokenizer.h choose these, and everything below it knows them.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_ROLES_H
#define TEXTMILL_TOKENIZER_MODEL_ROLES_H

/* What BERT's special tokens are for. */
enum tokenizer_role {
    TOKENIZER_PAD,
    TOKENIZER_UNKNOWN,
    TOKENIZER_CLS,
    TOKENIZER_SEP,
    TOKENIZER_MASK,
    TOKENIZER_ROLES,
};

/* How the encoding of a file of ranks splits text. */
#define TOKENIZER_PATTERNS "gpt2|cl100k|o200k|qwen"
enum tokenizer_pattern { TOKENIZER_GPT2, TOKENIZER_CL100K, TOKENIZER_O200K, TOKENIZER_QWEN };

/* How to read what a vocabulary does not say itself; google_rules and letters are for WordPiece,
 * pattern is for .tiktoken files. Zeroes: as found. */
struct tokenizer_options {
    int google_rules; /* Google's reference instead of Hugging Face's: see cut/normalize.h */
    int drop_missing; /* leave out bytes that a byte-level vocabulary lacks: else an error */
    enum { TOKENIZER_CASE_AUTO, TOKENIZER_UNCASED, TOKENIZER_CASED } letters;
    enum tokenizer_pattern pattern;
};

#endif
