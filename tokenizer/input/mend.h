/*
 * mend.h - handles bytes that are not valid text: bytes that are not UTF-8, and lone surrogates in
 * JSON.
 */
#pragma once

#include "common/base/base.h"

enum mend_rule {
    MEND_FEW,  /* replace them with U+FFFD if they are few; if they are many, the document is not
                  text, which is an error */
    MEND_ALL,  /* replace them with U+FFFD */
    MEND_NONE, /* report an error */
    MEND_FEW_ONLY, /* as MEND_FEW, for commands that have no other rule */
};

#define MEND_RULES "few|replace|error"

/* Returns 0 if the rule allows that `replaced` bytes of a document of n bytes are replaced, else -1
 * with an error. "Few" means up to 100 bytes, or up to one percent. */
int mend_check(enum mend_rule rule, uint64_t replaced, size_t n);

/* Appends the JSON text[0..n) to `out`, with U+FFFD in place of invalid UTF-8 and of escapes of
 * lone surrogates. Returns the number of bytes replaced. */
uint64_t mend_json(struct buf *out, const char *text, size_t n);
