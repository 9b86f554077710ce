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

/* How to read what a vocabulary does not say itself; the first and the last are for WordPiece.
 * Zeroes: as found. */
struct tokenizer_options {
    int google_rules; /* Google's reference instead of Hugging Face's: see cut/normalize.h */
    int drop_missing; /* leave out bytes that a byte-level vocabulary lacks: else an error */
    enum { TOKENIZER_CASE_AUTO, TOKENIZER_UNCASED, TOKENIZER_CASED } letters;
};

#endif
