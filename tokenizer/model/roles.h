/*
 * roles.h - the roles of special tokens, and options for reading vocabulary files.
 *
 * Both the callers of tokenizer.h and the modules below it use these types.
 */
#pragma once

/* The roles of BERT's special tokens: [PAD], [UNK], [CLS], [SEP], [MASK]. */
enum tokenizer_role {
    TOKENIZER_PAD,
    TOKENIZER_UNKNOWN,
    TOKENIZER_CLS,
    TOKENIZER_SEP,
    TOKENIZER_MASK,
    TOKENIZER_ROLES,
};

/* Which pattern splits text for a file that does not name one: a file of ranks, or vocab.json with
 * merges.txt. TOKENIZER_AUTO: the tokens, or the files beside it, say which. */
#define TOKENIZER_PATTERNS "auto|gpt2|cl100k|o200k|qwen|qwen35|llama3|llama4|kimi|tekken|glm"
enum tokenizer_pattern {
    TOKENIZER_AUTO,
    TOKENIZER_GPT2,
    TOKENIZER_CL100K,
    TOKENIZER_O200K,
    TOKENIZER_QWEN,
    TOKENIZER_QWEN35,
    TOKENIZER_LLAMA3,
    TOKENIZER_LLAMA4,
    TOKENIZER_KIMI,
    TOKENIZER_TEKKEN,
    TOKENIZER_GLM,
};

/* Options for properties that a vocabulary file does not state. google_rules and letters are for
 * WordPiece; pattern is for files that name none. They are errors with other vocabularies. If all
 * are zero, the files decide. */
struct tokenizer_options {
    int google_rules; /* Google's reference instead of Hugging Face's: see cut/normalize.h */
    int drop_missing; /* leave out bytes that a byte-level vocabulary lacks; otherwise they are an
                         error */
    enum { TOKENIZER_CASE_AUTO, TOKENIZER_UNCASED, TOKENIZER_CASED } letters;
    enum tokenizer_pattern pattern;
};
