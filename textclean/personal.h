/*
 * personal.h - replaces addresses that may lead to a person: of mail, and public ones of IPv4.
 *
 * An address of mail is one as RFC 5322 writes it, without comments and quotes. An IPv4 address is
 * four numbers up to 255; those of private, local, shared, reserved and documentation networks stay
 * (IANA's registry of special-purpose addresses, as Python's ipaddress.is_global reads it).
 */
#pragma once

#include "common/base/base.h"

enum personal_how {
    PERSONAL_KEEP,
    PERSONAL_REPLACE, /* by two addresses of mail, and six of IPv4, in turn, as FineWeb does */
    PERSONAL_TAG,     /* by <EMAIL> and <IP> */
};
#define PERSONAL_HOW "keep|replace|tag"

/* Sets *out to text[0..n) with its addresses replaced. Returns their number; 0: *out is empty. */
size_t personal_replace(struct buf *out, const char *text, size_t n, enum personal_how how);
