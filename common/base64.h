/*
 * base64.h - base64 with padding (RFC 4648, section 4).
 */
#ifndef TEXTMILL_COMMON_BASE64_H
#define TEXTMILL_COMMON_BASE64_H

#include "common/buf.h"

/* Appends the bytes; -1 for anything else (no error set), also for no characters at all. */
int base64_decode(struct buf *out, const char *s, size_t n);
void base64_print(struct buf *out, const char *bytes, size_t n);

#endif
