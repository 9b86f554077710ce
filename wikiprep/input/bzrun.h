/*
 * bzrun.h - run lengths in a decoded bzip2 block, and the block's CRC.
 *
 * Four equal bytes are followed by a count of further equal bytes: "aaaa\2" stands for six.
 */
#pragma once

#include "common/base/base.h"

/* Returns the index after the first four equal bytes at or after `from`: that of the repeat count.
 * Returns `count`, the number of bytes, if there are none. */
size_t bzrun_next(const uint8_t *bytes, size_t from, size_t count);

/* Returns the CRC updated with n more bytes (polynomial 0x04C11DB7, highest bit first). The caller
 * starts with all ones and inverts the result. */
uint32_t bzrun_crc(uint32_t crc, const uint8_t *bytes, size_t n);
