/*
 * zip.h - the entries of a zip archive in memory that are stored, not compressed: where each one's
 * bytes stand.
 *
 * The directory at the archive's end counts; of what stands in front of an entry's bytes only its
 * length does. Archives and entries beyond 4 GiB (zip64) are read. Format: PKWARE's APPNOTE.TXT
 * 6.3.9. Checked by tests/unit/test_torch.c and tests/fuzz/torch.c.
 */
#ifndef TEXTMILL_MODEL_ZIP_H
#define TEXTMILL_MODEL_ZIP_H

#include <stddef.h>
#include <stdint.h>

struct zip_entry {
    char *name;
    uint64_t offset, bytes; /* in the archive */
    uint32_t crc;
};

struct zip {
    struct zip_entry *entries; /* in the directory's order */
    size_t count, cap;
};

/* `name` stands in errors. A directory that is torn, entries that are compressed, encrypted, or not
 * within the archive are errors that name the entry and the byte; nothing is to be closed then. */
int zip_open(struct zip *z, const void *bytes, uint64_t n, const char *name);
void zip_close(struct zip *z); /* fine on a zeroed struct */

const struct zip_entry *zip_find(const struct zip *z, const char *name); /* NULL: none */

/* Compares the sum of an entry's bytes with its checksum. `bytes`, `name`: as zip_open had them. */
int zip_check(const struct zip_entry *e, const void *bytes, const char *name);

#endif
