#include "common/files/packed.h"

#include "common/base/le.h"
#include "common/files/archived.h"
#include "common/files/compress.h"

enum { LOOK = 13 };

/* ---- recognising ---------------------------------------------------------------------------- */

/* Returns 1 if the bytes are the header of an lzma stream with the usual properties, else 0: 0x5D,
 * the size of the dictionary, which is a multiple of 4 KiB, and the size of the text or -1. */
static int is_lzma(const unsigned char *s, size_t n)
{
    return n >= LOOK && !memcmp(s, "\x5D\0", 2) && !(le_u32(s + 1) % 4096) && le_u32(s + 1) &&
           (le_u64(s + 5) == UINT64_MAX || le_u64(s + 5) < (uint64_t)1 << 38);
}

/* Returns 1 if libarchive must unpack the file, else 0. For bzip2, checks also the first block, or
 * the end of an empty stream. */
static int is_archived(const unsigned char *s, size_t n)
{
    const int bzip2 = n >= 10 && !memcmp(s, "BZh", 3) &&
                      (!memcmp(s + 4, "1AY&SY", 6) ||
                       !memcmp(s + 4, "\x17\x72\x45\x38\x50\x90", 6));
    return bzip2 || is_lzma(s, n) || (n >= 6 && !memcmp(s, "\xFD\x37zXZ", 6)) ||
           (n >= 4 && !memcmp(s, "\x04\x22\x4D\x18", 4));
}

size_t packed_name(const char *path)
{
    static const char *const endings[] = { ".gz", ".zst", ".bz2", ".xz", ".lzma", ".lz4" };
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (file_ends_with(path, endings[i]))
            return n - strlen(endings[i]);
    return n;
}

/* ---- unpacking ------------------------------------------------------------------------------ */

/* Sets *bytes to all buffered bytes of the file, which stay valid until the next call. Returns
 * their number, 0 at the end, or -1 with an error. */
static int64_t give(void *ctx, const void **bytes)
{
    struct input *in = ctx;
    int64_t n = input_peek(in, 1);
    if (n <= 0)
        return n;
    *bytes = in->data + in->begin;
    input_skip(in, (size_t)n);
    return n;
}

static int64_t pull(void *from, void *bytes, size_t n)
{
    struct packed *p = from;
    if (p->archived)
        return archived_read(p->archived, bytes, n);
    int64_t got = compress_read(p->reader, bytes, n);
    return got < 0 ? err_in("cannot unpack '%s'", p->file.path) : got;
}

/* Starts a decompressor if the first bytes show that the file is compressed. A plain file named
 * like a compressed one is an error: it was cut short near its beginning, or is another file. */
static int begin(struct packed *p)
{
    int64_t n = input_peek(&p->file, LOOK);
    if (n < 0)
        return -1;
    const unsigned char *s = (const unsigned char *)p->file.data + p->file.begin;
    enum compression how = compress_recognise(s, (uint64_t)n);
    if (how == COMPRESS_GZIP || how == COMPRESS_ZSTD) {
        p->reader = compress_reader_new(how, give, &p->file);
        p->is_packed = 1;
    } else if (is_archived(s, (size_t)n)) {
        const struct archived_source from = { give, NULL, &p->file };
        p->archived = archived_open(p->file.path, &from, ARCHIVED_STREAM);
        p->is_packed = 1;
    }
    if (!p->is_packed && packed_name(p->file.path) < strlen(p->file.path))
        return err_set("cannot unpack '%s': it does not begin as a packed file", p->file.path);
    return p->is_packed && !p->reader && !p->archived ? -1 : 0;
}

int packed_open(struct packed *p, struct input *in, const char *path)
{
    *p = (struct packed){ 0 };
    if (input_open(&p->file, path) < 0)
        return -1;
    if (begin(p) < 0) {
        input_close(&p->file);
        return -1;
    }
    if (p->is_packed) {
        input_open_pulled(in, p->file.path, pull, p);
    } else {
        *in = p->file;
        p->file = (struct input){ 0 };
    }
    return 0;
}

void packed_close(struct packed *p, struct input *in)
{
    input_close(in);
    compress_reader_free(p->reader);
    archived_close(p->archived);
    if (p->is_packed)
        input_close(&p->file);
    *p = (struct packed){ 0 };
}
