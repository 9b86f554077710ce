/*
 * zip.h - finds the uncompressed entries of a zip archive in memory.
 *
 * Names, sizes and checksums come from the directory at the archive's end; the header before an
 * entry's bytes is used only to find where the bytes begin. Archives and entries beyond 4 GiB
 * (zip64) are supported. Format: PKWARE's APPNOTE.TXT 6.3.9. Checked by
 * tests/unit/model/formats/test_torch.c and tests/fuzz/torch.c.
 */
#pragma once

#include "common/base/base.h"

struct zip_entry {
    char *name;
    uint64_t offset, bytes; /* in the archive */
    uint32_t crc;
};

struct zip {
    struct zip_entry *entries; /* in the directory's order */
    size_t count, cap;
};

/* Reads the directory of an archive bytes[n], which is borrowed. Error messages begin with `name`.
 * Returns 0, or -1 with an error that names the entry and the byte if the directory is damaged, or
 * an entry is compressed, encrypted or outside the archive, or if all entries together have more
 * bytes than the archive; then there is nothing to close. */
int zip_open(struct zip *z, const void *bytes, uint64_t n, const char *name);
void zip_close(struct zip *z); /* fine on a zeroed struct */

const struct zip_entry *zip_find(const struct zip *z, const char *name); /* NULL: none */

/* Verifies the checksum of an entry's bytes. `bytes`, `name`: as for zip_open. Returns 0, or -1
 * with an error. */
int zip_check(const struct zip_entry *e, const void *bytes, const char *name);
