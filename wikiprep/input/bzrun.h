/*
 * bzrun.h - the bytes of a bzip2 block: runs in them, and their checksum.
 *
 * Four equal bytes are followed by a count of more of the same: "aaaa\2" stands for six.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BZRUN_H
#define TEXTMILL_WIKIPREP_INPUT_BZRUN_H

#include <stddef.h>
#include <stdint.h>

/* Where the first four equal bytes at or after `from` end, and their count stands; `count` when
 * there are none. */
size_t bzrun_next(const uint8_t *bytes, size_t from, size_t count);

/* The CRC of more bytes (polynomial 0x04C11DB7, highest bit first; begins with all ones and ends
 * inverted, which the caller does). */
uint32_t bzrun_crc(uint32_t crc, const uint8_t *bytes, size_t n);

/* The same without the instructions that not all processors have. */
uint32_t bzrun_crc_portable(uint32_t crc, const uint8_t *bytes, size_t n);

#endif
