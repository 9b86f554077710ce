/*
 * base64.h - base64 with padding (RFC 4648, section 4).
 */
#pragma once

#include "common/base/buf.h"

/* Decodes s[0..n) and appends the bytes to `out`. Returns 0, or -1, without setting an error, if
 * the text is empty or is not valid base64; `out` may then hold the bytes before the fault. */
int base64_decode(struct buf *out, const char *s, size_t n);

/* Appends the base64 text of bytes[0..n), with padding. */
void base64_print(struct buf *out, const char *bytes, size_t n);
