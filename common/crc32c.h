/*
 * crc32c.h - the Castagnoli CRC, and TFRecord's mask over it.
 *
 * Reflected polynomial 0x82F63B78, initial value and final xor 0xFFFFFFFF (RFC 3720, B.4).
 * On x86-64 with SSE4.2 and ARM64 with CRC32 the bytes go in three stripes through the CRC
 * instruction side by side, because each instruction waits three cycles for the one before;
 * carry-less products join the three (Gopal et al., "Fast CRC computation for iSCSI polynomial
 * using CRC32 instruction", Intel, 2011). Elsewhere eight tables take eight bytes a step (Kounavis
 * and Berry, "Novel table lookup-based algorithms for high-performance CRC generation", 2008). Both
 * give the same numbers; which one runs is found out once, when the program starts.
 */
#ifndef TEXTMILL_COMMON_CRC32C_H
#define TEXTMILL_COMMON_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of the bytes that gave `crc`, followed by these. Start from 0. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* What the framing stores: a CRC over data that holds CRCs is weak unless they are disguised. */
static inline uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* The table path, for tests and comparison. */
uint32_t crc32c_portable(uint32_t crc, const void *bytes, size_t n);

/* "sse4.2", "crc32" or "portable". */
const char *crc32c_path(void);

#endif
