#include "common/compress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "common/err.h"
#include "common/linked.h"
#include "common/mem.h"

uint32_t compress_crc32(const void *bytes, uint64_t n)
{
    return (uint32_t)crc32_z(0, bytes, (z_size_t)n);
}

LINKED_LIBRARY(zlib, "zlib", zlibVersion())
LINKED_LIBRARY(zstd, "zstd", ZSTD_versionString())

enum { PIECE = 1 << 18, ZSTD_LEVEL = 3, ZLIB_MEMORY = 8, GZIP_BITS = 16 };

static const char *const names[] = { "none", "gzip", "zlib", "zstd" };

const char *compress_name(enum compression how)
{
    return names[how];
}

enum compression compress_recognise(const unsigned char *p, uint64_t n)
{
    if (n >= 4 && !memcmp(p, "\x28\xB5\x2F\xFD", 4))
        return COMPRESS_ZSTD;
    if (n >= 2 && p[0] == 0x1F && p[1] == 0x8B)
        return COMPRESS_GZIP;
    if (n >= 2 && p[0] == 0x78 && (p[0] << 8 | p[1]) % 31 == 0)
        return COMPRESS_ZLIB;
    return COMPRESS_NONE;
}

/* zlib's own window, and what makes it write or want gzip's frame. */
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

struct unpacking {
    enum compression how;
    const unsigned char *data;
    uint64_t bytes, at; /* taken so far */
    int (*put)(void *ctx, const void *bytes, size_t n);
    void *ctx;
    char *piece;
};

static int damaged(const struct unpacking *u, const char *why)
{
    return err_set("%s stream is damaged at byte %llu: %s", names[u->how],
                   (unsigned long long)u->at, why);
}

static int cut_short(const struct unpacking *u)
{
    return err_set("%s stream is cut short at byte %llu", names[u->how],
                   (unsigned long long)u->bytes);
}

static int unpack_zlib(struct unpacking *u, z_stream *z)
{
    int result = Z_OK;
    while (u->at < u->bytes) {
        uint64_t left = u->bytes - u->at;
        z->next_in = (unsigned char *)(uintptr_t)(u->data + u->at);
        z->avail_in = left < PIECE ? (unsigned)left : PIECE;
        z->next_out = (unsigned char *)u->piece;
        z->avail_out = PIECE;
        if (result == Z_STREAM_END) /* another one follows */
            inflateReset(z);
        result = inflate(z, Z_NO_FLUSH);
        u->at = (uint64_t)(z->next_in - u->data);
        size_t n = PIECE - z->avail_out;
        if (n && u->put(u->ctx, u->piece, n) < 0)
            return -1;
        if (result != Z_OK && result != Z_STREAM_END)
            return damaged(u, z->msg ? z->msg : "it wants a dictionary");
    }
    while (result == Z_OK) { /* what is taken, and not yet given */
        z->next_out = (unsigned char *)u->piece;
        z->avail_out = PIECE;
        result = inflate(z, Z_NO_FLUSH);
        size_t n = PIECE - z->avail_out;
        if (n && u->put(u->ctx, u->piece, n) < 0)
            return -1;
    }
    return result == Z_STREAM_END ? 0 : cut_short(u);
}

static int unpack_zstd(struct unpacking *u, ZSTD_DCtx *context)
{
    ZSTD_inBuffer in = { u->data, u->bytes, 0 };
    ZSTD_outBuffer out;
    size_t left;
    do { /* to the end of the data, and of what is inside the context */
        out = (ZSTD_outBuffer){ u->piece, PIECE, 0 };
        left = ZSTD_decompressStream(context, &out, &in);
        u->at = in.pos;
        if (out.pos && u->put(u->ctx, u->piece, out.pos) < 0)
            return -1;
        if (ZSTD_isError(left))
            return damaged(u, ZSTD_getErrorName(left));
    } while (in.pos < in.size || (left && out.pos == out.size));
    return left ? cut_short(u) : 0;
}

int compress_unpack(enum compression how, const unsigned char *data, uint64_t n,
                    int (*put)(void *ctx, const void *bytes, size_t n), void *ctx)
{
    struct unpacking u = { how, data, n, 0, put, ctx, mem_alloc(PIECE) };
    ZSTD_DCtx *context = how == COMPRESS_ZSTD ? ZSTD_createDCtx() : NULL;
    z_stream z = { 0 };
    int result;
    if (how == COMPRESS_ZSTD)
        result = context ? unpack_zstd(&u, context) : no_memory();
    else
        result = inflateInit2(&z, window_bits(how)) == Z_OK ? unpack_zlib(&u, &z) : no_memory();
    ZSTD_freeDCtx(context);
    inflateEnd(&z);
    free(u.piece);
    return result;
}
