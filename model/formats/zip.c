#include "model/formats/zip.h"

#include "common/base/le.h"
#include "common/files/compress.h"

/* The marks at the beginning of records, and the bytes of records. */
enum { LOCAL = 0x04034b50, ENTRY = 0x02014b50, END = 0x06054b50 };
enum { END64 = 0x06064b50, LOCATOR = 0x07064b50 };
enum { LOCAL_BYTES = 30, ENTRY_BYTES = 46, END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20 };

enum { COMMENT_MAX = 65535, ENCRYPTED = 1, EXTRA_ZIP64 = 1 };

struct archive {
    const unsigned char *data;
    uint64_t bytes;
    const char *name;
};

/* ---- the directory --------------------------------------------------------------------------- */

struct directory {
    uint64_t offset, bytes, entries;
};

/* Finds the end-of-central-directory record, which is followed only by its comment. Sets *at to the
 * record's offset. */
static int find_end(const struct archive *a, uint64_t *at)
{
    uint64_t least = a->bytes > END_BYTES + COMMENT_MAX ? a->bytes - END_BYTES - COMMENT_MAX : 0;
    for (uint64_t i = a->bytes; i-- > least;) {
        const unsigned char *p = a->data + i;
        if (a->bytes - i >= END_BYTES && le_number(p, 4) == END &&
            le_number(p + 20, 2) == a->bytes - i - END_BYTES) {
            *at = i;
            return 0;
        }
    }
    return err_set("%s: truncated: the end of the zip archive is not in its %llu bytes", a->name,
                   (unsigned long long)a->bytes);
}

static int find_directory(const struct archive *a, struct directory *d)
{
    uint64_t end = 0;
    if (find_end(a, &end) < 0)
        return -1;
    const unsigned char *p = a->data + end;
    *d = (struct directory){ le_number(p + 16, 4), le_number(p + 12, 4), le_number(p + 10, 2) };
    if (end >= LOCATOR_BYTES && le_number(p - LOCATOR_BYTES, 4) == LOCATOR) {
        uint64_t at = le_number(p - LOCATOR_BYTES + 8, 8);
        if (at > end || end - at < END64_BYTES || le_number(a->data + at, 4) != END64)
            return err_set("%s: byte %llu: the end of the zip archive's directory should be here",
                           a->name, (unsigned long long)at);
        p = a->data + at;
        *d = (struct directory){ le_number(p + 48, 8), le_number(p + 40, 8), le_number(p + 32, 8) };
    }
    if (d->offset > end || d->bytes > end - d->offset || d->entries > d->bytes / ENTRY_BYTES)
        return err_set("%s: bad directory: %llu entries in %llu bytes from byte %llu on", a->name,
                       (unsigned long long)d->entries, (unsigned long long)d->bytes,
                       (unsigned long long)d->offset);
    return 0;
}

/* ---- an entry -------------------------------------------------------------------------------- */

/* Replaces *x by the next 8-byte number of the zip64 extra field if *x has the value that marks a
 * number too large for 32 bits. Moves *extra past that number. */
static void widen(uint64_t *x, const unsigned char **extra, const unsigned char *end)
{
    if (*x == UINT32_MAX && end - *extra >= 8) {
        *x = le_number(*extra, 8);
        *extra += 8;
    }
}

/* Sets *bytes, *packed and *local, the sizes and the offset of an entry, from the entry's zip64
 * extra field if their 32-bit fields say that they are there. */
static void read_large(const unsigned char *extra, size_t n, uint64_t *bytes, uint64_t *packed,
                       uint64_t *local)
{
    const unsigned char *end = extra + n;
    while (end - extra >= 4) {
        uint64_t id = le_number(extra, 2), length = le_number(extra + 2, 2);
        extra += 4;
        if (length > (uint64_t)(end - extra))
            return;
        if (id == EXTRA_ZIP64) {
            const unsigned char *p = extra;
            widen(bytes, &p, extra + length);
            widen(packed, &p, extra + length);
            widen(local, &p, extra + length);
            return;
        }
        extra += length;
    }
}

/* Sets e->offset to the first byte of the entry's data, after the local header at offset local. */
static int find_bytes(const struct archive *a, struct zip_entry *e, uint64_t local)
{
    if (local > a->bytes || a->bytes - local < LOCAL_BYTES ||
        le_number(a->data + local, 4) != LOCAL)
        return err_set("%s: byte %llu: entry '%s' should begin here", a->name,
                       (unsigned long long)local, e->name);
    const unsigned char *p = a->data + local;
    e->offset = local + LOCAL_BYTES + le_number(p + 26, 2) + le_number(p + 28, 2);
    if (e->offset > a->bytes || e->bytes > a->bytes - e->offset)
        return err_set(
            "%s: truncated: entry '%s' has %llu bytes from byte %llu on, but the file has %llu",
            a->name, e->name, (unsigned long long)e->bytes, (unsigned long long)e->offset,
            (unsigned long long)a->bytes);
    return 0;
}

/* Reads the entry of the central directory at offset *at into *e, and moves *at past it. */
static int read_entry(const struct archive *a, struct zip_entry *e, uint64_t *at, uint64_t end)
{
    const unsigned char *p = a->data + *at;
    uint64_t left = end - *at;
    if (left < ENTRY_BYTES || le_number(p, 4) != ENTRY)
        return err_set("%s: byte %llu: an entry of the directory should begin here", a->name,
                       (unsigned long long)*at);
    uint64_t name = le_number(p + 28, 2), extra = le_number(p + 30, 2),
             comment = le_number(p + 32, 2);
    if (name + extra + comment > left - ENTRY_BYTES)
        return err_set("%s: byte %llu: truncated entry of the directory", a->name,
                       (unsigned long long)*at);
    uint64_t packed = le_number(p + 20, 4), local = le_number(p + 42, 4);
    e->name = mem_strndup((const char *)p + ENTRY_BYTES, name);
    e->crc = (uint32_t)le_number(p + 16, 4);
    e->bytes = le_number(p + 24, 4);
    read_large(p + ENTRY_BYTES + name, extra, &e->bytes, &packed, &local);
    if (le_number(p + 8, 2) & ENCRYPTED || le_number(p + 10, 2) || packed != e->bytes)
        return err_set("%s: byte %llu: entry '%s' is compressed or encrypted", a->name,
                       (unsigned long long)*at, e->name);
    *at += ENTRY_BYTES + name + extra + comment;
    return find_bytes(a, e, local);
}

int zip_open(struct zip *z, const void *bytes, uint64_t n, const char *name)
{
    struct archive a = { bytes, n, name };
    struct directory d;
    *z = (struct zip){ 0 };
    if (find_directory(&a, &d) < 0)
        return -1;
    uint64_t at = d.offset, all = 0;
    for (uint64_t i = 0; i < d.entries; i++) {
        struct zip_entry *e = &mem_next(z->entries, z->count, z->cap);
        *e = (struct zip_entry){ 0 };
        int failed = read_entry(&a, e, &at, d.offset + d.bytes);
        all += e->bytes;
        if (!failed && all > n)
            failed = err_set("%s: entry '%s' overlaps another one", name, e->name);
        if (failed) {
            zip_close(z);
            return -1;
        }
    }
    return 0;
}

void zip_close(struct zip *z)
{
    for (size_t i = 0; i < z->count; i++)
        free(z->entries[i].name);
    free(z->entries);
    *z = (struct zip){ 0 };
}

const struct zip_entry *zip_find(const struct zip *z, const char *name)
{
    for (size_t i = 0; i < z->count; i++)
        if (!strcmp(z->entries[i].name, name))
            return &z->entries[i];
    return NULL;
}

/* ---- checksums ------------------------------------------------------------------------------- */

int zip_check(const struct zip_entry *e, const void *bytes, const char *name)
{
    uint32_t crc = compress_crc32((const unsigned char *)bytes + e->offset, e->bytes);
    if (crc == e->crc)
        return 0;
    return err_set("%s: entry '%s', from byte %llu on, is damaged: its checksum is %08x and should "
                   "be %08x",
                   name, e->name, (unsigned long long)e->offset, crc, e->crc);
}
