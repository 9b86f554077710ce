/*
 * crc32c.h - the Castagnoli CRC, and TFRecord's mask over it.
 *
 * Reflected polynomial 0x82F63B78, initial value and final xor 0xFFFFFFFF (RFC 3720, B.4). On
 * x86-64 with SSE4.2 and on ARM64 with CRC32, the code uses the CRC instruction. This instruction
 * has a latency of three cycles, so the data is cut into three stripes that are computed in
 * parallel; carry-less products combine their results (Gopal et al., "Fast CRC computation for
 * iSCSI polynomial using CRC32 instruction", Intel, 2011). On other processors, eight tables
 * process eight bytes per step (Kounavis and Berry, "Novel table lookup-based algorithms for
 * high-performance CRC generation", 2008). Both methods give the same result. The program chooses
 * one when it starts.
 */
#pragma once

#include "common/base/std.h"

/* Continues a CRC: returns the CRC of the bytes already summed in `crc` followed by bytes[0..n).
 * The first call passes crc = 0. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* Returns the masked CRC that TFRecord files store. A CRC over data that itself contains CRCs is
 * weak, so the stored ones are masked. */
static inline uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* Returns the same as crc32c, but uses only tables; for tests and benchmarks. */
uint32_t crc32c_portable(uint32_t crc, const void *bytes, size_t n);

/* Returns the method in use: "sse4.2", "crc32" or "portable". */
const char *crc32c_path(void);
