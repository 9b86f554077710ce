/*
 * unicode.h - the general category of a character, and the sets that it belongs to.
 *
 * Each property has the Unicode version of the program that a tokenizer is compared with. The
 * tables of a regular expression library have another version (PCRE2 10.42: Unicode 14, which has
 * 9,392 letters and digits fewer than Unicode 16). unicode/data/properties.txt lists the versions;
 * scripts/make-unicode generates the tables from it.
 *
 * The lookup has two stages: code point / 16 selects a block, and the block's 16 bytes are indices
 * of records.
 */
#pragma once

#include "common/base/base.h"

enum { UNICODE_LIMIT = 0x110000 };

/* General categories. UNICODE_CN is for unassigned code points. */
enum unicode_category {
    UNICODE_LU,
    UNICODE_LL,
    UNICODE_LT,
    UNICODE_LM,
    UNICODE_LO,
    UNICODE_MN,
    UNICODE_MC,
    UNICODE_ME,
    UNICODE_ND,
    UNICODE_NL,
    UNICODE_NO,
    UNICODE_PC,
    UNICODE_PD,
    UNICODE_PS,
    UNICODE_PE,
    UNICODE_PI,
    UNICODE_PF,
    UNICODE_PO,
    UNICODE_SM,
    UNICODE_SC,
    UNICODE_SK,
    UNICODE_SO,
    UNICODE_ZS,
    UNICODE_ZL,
    UNICODE_ZP,
    UNICODE_CC,
    UNICODE_CF,
    UNICODE_CO,
    UNICODE_CN,
};

/* Sets of characters, one bit each. The GOOGLE sets follow Google's reference implementation of
 * BERT; the sets before them follow Hugging Face's tokenizers. */
enum {
    UNICODE_IS_SPACE = 1 << 0,       /* White_Space characters */
    UNICODE_IS_PUNCTUATION = 1 << 1, /* as BERT defines it */
    UNICODE_IS_NUMBER = 1 << 2,      /* category N */
    UNICODE_IS_WORD = 1 << 3,        /* letters, marks, digits, connectors: \w */
    UNICODE_IS_MARK = 1 << 4,        /* category M */
    UNICODE_IS_NON_SPACING = 1 << 5, /* category Mn */
    UNICODE_IS_CONTROL = 1 << 6,     /* category C, as in BertNormalizer */
    UNICODE_IS_GOOGLE_PUNCTUATION = 1 << 7,
    UNICODE_IS_GOOGLE_NON_SPACING = 1 << 8,
    UNICODE_IS_GOOGLE_CONTROL = 1 << 9,
    UNICODE_IS_CASED = 1 << 10,
    UNICODE_IS_CASE_IGNORABLE = 1 << 11,
    UNICODE_IS_REGEX_WORD = 1 << 12,        /* Oniguruma's \w inside brackets */
    UNICODE_IS_SENTENCE_TERMINAL = 1 << 13, /* a sentence may end with it */
    UNICODE_IS_CCNET_PUNCTUATION = 1 << 14, /* filters of corpora count it as punctuation */
    UNICODE_IS_SPACY_MARK = 1 << 15,        /* beyond ASCII; see textclean/chunk.h */
    UNICODE_IS_SPACY_QUOTE = 1 << 16,       /* the same */
    UNICODE_IS_COMBINING = 1 << 17,         /* combining or google_combining is not 0 */
};

struct unicode_record {
    uint8_t category, combining, google_combining; /* canonical combining classes */
    uint32_t is;
};

extern const struct unicode_record unicode_records[256];
extern const uint16_t unicode_blocks[UNICODE_LIMIT / 16];
extern const unsigned char unicode_entries[];

static inline const struct unicode_record *unicode_of(uint32_t code_point)
{
    return unicode_records +
           unicode_entries[unicode_blocks[code_point >> 4] * 16 + (code_point & 15)];
}

/* Returns 1 if the code point is in any of these sets. */
static inline int unicode_is(uint32_t code_point, unsigned sets)
{
    return (unicode_of(code_point)->is & sets) != 0;
}

/* Returns the value of a decimal digit, of any script; -1 if it is none. */
int unicode_digit(uint32_t code_point);

/* Returns the first code point from `from` on that is in any of these sets; UNICODE_LIMIT: none. */
uint32_t unicode_next(unsigned sets, uint32_t from);

/* Returns the last of `count` runs that begins at c or before; NULL: none. The runs, of `bytes`
 * bytes each, begin with their first code point, a uint32_t, and are in rising order. */
static inline const void *unicode_run(const void *runs, size_t count, size_t bytes, uint32_t c)
{
    const char *list = runs;
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        uint32_t first;
        memcpy(&first, list + middle * bytes, sizeof first);
        if (first <= c)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? list + (low - 1) * bytes : NULL;
}

/* ---- scripts: Latin, Greek, Han and so on ---------------------------------------------------- */

enum {
    UNICODE_COMMON,    /* digits, punctuation, symbols and other characters of all scripts */
    UNICODE_INHERITED, /* marks that have the script of the character before */
};

/* A run of `count` code points of one script. */
struct unicode_script_run {
    uint32_t first, count, script;
};
extern const struct unicode_script_run unicode_script_runs[]; /* in order of code points */
extern const size_t unicode_script_run_count;

/* Returns the number of the code point's script: one of these, or one from 2 on. Hiragana and
 * Katakana count as Han, as in SentencePiece, because Japanese words mix them. */
uint32_t unicode_script(uint32_t code_point);

/* ---- the classes that GPT-2's pattern asks for ----------------------------------------------- */

enum unicode_class {
    UNICODE_OTHER,  /* none of the others: punctuation, symbols, marks, controls */
    UNICODE_LETTER, /* \p{L} */
    UNICODE_NUMBER, /* \p{N} */
    UNICODE_SPACE,  /* \p{White_Space} */
};

/* Returns a table with two bits per code point, four code points per byte (272 KiB). The first call
 * makes it. */
const uint8_t *unicode_classes(void);

static inline enum unicode_class unicode_class(const uint8_t *classes, uint32_t code_point)
{
    return (enum unicode_class)(classes[code_point >> 2] >> (code_point & 3) * 2 & 3);
}
