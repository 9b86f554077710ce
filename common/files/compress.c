#include "common/files/compress.h"

#include <zlib.h>
#include <zstd.h>

#include "common/base/linked.h"

uint32_t compress_crc32(const void *bytes, uint64_t n)
{
    return (uint32_t)crc32_z(0, bytes, (z_size_t)n);
}

LINKED_LIBRARY(zlib, "zlib", zlibVersion())
LINKED_LIBRARY(zstd, "zstd", ZSTD_versionString())

/* ZSTD_WINDOW: logarithm of the largest window, that of zstd --long=31. The library's default, 27,
 * is too little for some published corpora. */
enum { PIECE = 1 << 18, ZSTD_LEVEL = 3, ZSTD_WINDOW = 31, ZLIB_MEMORY = 8, GZIP_BITS = 16 };

static const char *const names[] = { "none", "gzip", "zlib", "zstd" };

const char *compress_name(enum compression how)
{
    return names[how];
}

enum compression compress_recognise(const unsigned char *p, uint64_t n)
{
    /* a file of pzstd begins with a skippable frame */
    if (n >= 4 && (!memcmp(p, "\x28\xB5\x2F\xFD", 4) ||
                   ((p[0] & 0xF0) == 0x50 && !memcmp(p + 1, "\x2A\x4D\x18", 3))))
        return COMPRESS_ZSTD;
    if (n >= 2 && p[0] == 0x1F && p[1] == 0x8B)
        return COMPRESS_GZIP;
    if (n >= 2 && p[0] == 0x78 && (p[0] << 8 | p[1]) % 31 == 0)
        return COMPRESS_ZLIB;
    return COMPRESS_NONE;
}

/* Returns the windowBits argument of zlib: its default window, plus 16 for gzip's frame. */
static int window_bits(enum compression how)
{
    return MAX_WBITS + (how == COMPRESS_GZIP ? GZIP_BITS : 0);
}

static int no_memory(void)
{
    return err_set("out of memory for compression");
}

/* ---- packing ------------------------------------------------------------------------------ */

struct compress {
    enum compression how;
    z_stream z;
    ZSTD_CCtx *zstd;
};

struct compress *compress_new(enum compression how)
{
    struct compress *c = mem_zalloc(1, sizeof *c);
    c->how = how;
    if (how != COMPRESS_ZSTD &&
        deflateInit2(&c->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits(how), ZLIB_MEMORY,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return c;
    if (how == COMPRESS_ZSTD && (c->zstd = ZSTD_createCCtx())) {
        ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
        ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1);
        return c;
    }
    free(c);
    no_memory();
    return NULL;
}

void compress_free(struct compress *c)
{
    if (!c)
        return;
    if (c->how == COMPRESS_ZSTD)
        ZSTD_freeCCtx(c->zstd);
    else
        deflateEnd(&c->z);
    free(c);
}

static void pack_zlib(struct compress *c, const void *bytes, size_t n, int last, struct buf *out)
{
    int result = Z_OK;
    c->z.next_in = (unsigned char *)(uintptr_t)bytes;
    c->z.avail_in = (unsigned)n;
    do {
        buf_reserve(out, PIECE);
        c->z.next_out = (unsigned char *)out->data + out->len;
        c->z.avail_out = PIECE;
        result = deflate(&c->z, last ? Z_FINISH : Z_NO_FLUSH);
        assert(result != Z_STREAM_ERROR);
        out->len += PIECE - c->z.avail_out;
    } while (last ? result != Z_STREAM_END : c->z.avail_out == 0);
}

static void pack_zstd(struct compress *c, const void *bytes, size_t n, int last, struct buf *out)
{
    ZSTD_inBuffer in = { bytes, n, 0 };
    size_t left;
    do {
        buf_reserve(out, PIECE);
        ZSTD_outBuffer to = { out->data + out->len, PIECE, 0 };
        left = ZSTD_compressStream2(c->zstd, &to, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        assert(!ZSTD_isError(left));
        out->len += to.pos;
    } while (last ? left > 0 : in.pos < in.size);
}

static void pack(struct compress *c, const void *bytes, size_t n, int last, struct buf *out)
{
    if (c->how == COMPRESS_ZSTD)
        pack_zstd(c, bytes, n, last, out);
    else
        pack_zlib(c, bytes, n, last, out);
    if (out->cap)
        out->data[out->len] = '\0';
}

void compress_add(struct compress *c, const void *bytes, size_t n, struct buf *out)
{
    for (size_t piece; n; n -= piece, bytes = (const char *)bytes + piece) {
        piece = n < PIECE ? n : PIECE; /* zlib counts in 32 bits */
        pack(c, bytes, piece, 0, out);
    }
}

void compress_end(struct compress *c, struct buf *out)
{
    pack(c, "", 0, 1, out);
}

/* ---- unpacking ---------------------------------------------------------------------------- */

struct compress_reader {
    enum compression how;
    int64_t (*give)(void *ctx, const void **bytes);
    void *ctx;
    const unsigned char *next; /* next unread byte of the input */
    size_t left;
    uint64_t at; /* input bytes consumed so far */
    int ended;   /* the input has ended */
    int whole;   /* a stream has ended, and no other one has begun */
    z_stream z;
    ZSTD_DCtx *zstd;
    const char *fault; /* what is wrong after the bytes that were returned; NULL: nothing */
};

struct compress_reader *compress_reader_new(enum compression how,
                                            int64_t (*give)(void *ctx, const void **bytes),
                                            void *ctx)
{
    struct compress_reader *r = mem_zalloc(1, sizeof *r);
    r->how = how;
    r->give = give;
    r->ctx = ctx;
    if (how == COMPRESS_ZSTD && (r->zstd = ZSTD_createDCtx()))
        ZSTD_DCtx_setParameter(r->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW);
    if (how == COMPRESS_ZSTD ? r->zstd != NULL : inflateInit2(&r->z, window_bits(how)) == Z_OK)
        return r;
    free(r);
    no_memory();
    return NULL;
}

void compress_reader_free(struct compress_reader *r)
{
    if (!r)
        return;
    if (r->how == COMPRESS_ZSTD)
        ZSTD_freeDCtx(r->zstd);
    else
        inflateEnd(&r->z);
    free(r);
}

static int damaged(const struct compress_reader *r)
{
    return err_set("%s stream is damaged at byte %llu: %s", names[r->how],
                   (unsigned long long)r->at, r->fault);
}

/* Checks that another stream may begin with the next byte. */
static int check_next(const struct compress_reader *r)
{
    const unsigned char first = *r->next;
    const int is_zstd = first == 0x28 || (first & 0xF0) == 0x50; /* a frame, a skippable frame */
    if (r->how == COMPRESS_ZSTD ? is_zstd : first == (r->how == COMPRESS_GZIP ? 0x1F : 0x78))
        return 0;
    return err_set("a stream ends at byte %llu, and what follows is no other stream",
                   (unsigned long long)r->at);
}

static void take(struct compress_reader *r, size_t n)
{
    r->next = n ? r->next + n : r->next; /* NULL before the first bytes */
    r->left -= n;
    r->at += n;
}

/* Gets the next packed bytes if all earlier ones are used up. */
static int refill(struct compress_reader *r)
{
    if (r->left || r->ended)
        return 0;
    const void *bytes = NULL;
    int64_t n = r->give(r->ctx, &bytes);
    if (n < 0)
        return -1;
    r->next = bytes;
    r->left = (size_t)n;
    r->ended = !n;
    return 0;
}

/* Each makes one call of a library, which writes up to n unpacked bytes to `bytes`; *got is set to
 * their number. Returns what is wrong with the stream, or NULL. */
static const char *inflate_some(struct compress_reader *r, void *bytes, size_t n, size_t *got)
{
    if (r->whole) /* another stream follows */
        inflateReset(&r->z);
    r->z.next_in = (unsigned char *)(uintptr_t)r->next;
    r->z.avail_in = r->left < PIECE ? (unsigned)r->left : PIECE;
    r->z.next_out = bytes;
    r->z.avail_out = n < PIECE ? (unsigned)n : PIECE;
    unsigned room = r->z.avail_out, there = r->z.avail_in;
    int result = inflate(&r->z, Z_NO_FLUSH);
    r->whole = result == Z_STREAM_END;
    take(r, there - r->z.avail_in);
    *got = room - r->z.avail_out;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        return NULL;
    return r->z.msg ? r->z.msg : "it wants a dictionary";
}

static const char *unzstd_some(struct compress_reader *r, void *bytes, size_t n, size_t *got)
{
    ZSTD_inBuffer in = { r->next, r->left, 0 };
    ZSTD_outBuffer out = { bytes, n, 0 };
    size_t result = ZSTD_decompressStream(r->zstd, &out, &in);
    r->whole = !result;
    take(r, in.pos);
    *got = out.pos;
    return ZSTD_isError(result) ? ZSTD_getErrorName(result) : NULL;
}

int64_t compress_read(struct compress_reader *r, void *bytes, size_t n)
{
    for (size_t got;;) {
        if (r->fault)
            return damaged(r);
        if (refill(r) < 0)
            return -1;
        if (r->whole && r->ended)
            return 0;
        if (r->whole && r->how == COMPRESS_GZIP && !*r->next) { /* padding, as gzip reads it */
            take(r, 1);
            continue;
        }
        if (r->whole && check_next(r) < 0)
            return -1;
        r->fault = (r->how == COMPRESS_ZSTD ? unzstd_some : inflate_some)(r, bytes, n, &got);
        if (got)
            return (int64_t)got;
        if (r->ended && !r->whole && !r->fault)
            return err_set("%s stream is cut short at byte %llu", names[r->how],
                           (unsigned long long)r->at);
    }
}

/* A file in memory, which is passed to the reader as one piece. */
struct memory {
    const unsigned char *data;
    uint64_t n;
};

static int64_t give_memory(void *ctx, const void **bytes)
{
    struct memory *m = ctx;
    int64_t n = (int64_t)m->n;
    *bytes = m->data;
    m->n = 0;
    return n;
}

int compress_unpack(enum compression how, const unsigned char *data, uint64_t n,
                    int (*put)(void *ctx, const void *bytes, size_t n), void *ctx)
{
    struct memory from = { data, n };
    struct compress_reader *r = compress_reader_new(how, give_memory, &from);
    if (!r)
        return -1;
    SCOPED_MEM char *piece = mem_alloc(PIECE);
    int64_t got;
    while ((got = compress_read(r, piece, PIECE)) > 0 && put(ctx, piece, (size_t)got) == 0)
        ;
    compress_reader_free(r);
    return got ? -1 : 0;
}
