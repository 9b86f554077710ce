/*
 * protobuf.h - reads the fields of a message in the binary format of protocol buffers; varints.
 *
 *     struct protobuf_field f;
 *     for (const unsigned char *p = begin; (more = protobuf_next(&p, end, &f)) > 0;)
 *         ... field f.number, the bytes [f.data, f.end)
 *
 * Format: https://protobuf.dev/programming-guides/encoding
 */
#pragma once

#include "common/base/buf.h"

enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_64 = 1,
    PROTOBUF_BYTES = 2, /* bytes, text, a message, or packed scalars */
    PROTOBUF_32 = 5,
};
enum { PROTOBUF_VARINT_MAX = 10 }; /* bytes of a varint at most */

struct protobuf_field {
    uint64_t number;
    enum protobuf_wire wire;
    uint64_t value;                  /* of PROTOBUF_VARINT */
    const unsigned char *data, *end; /* the value's bytes, without their length; borrowed */
};

/* Reads the varint at p into *v. Returns the position after it, or NULL if it is cut off at `end`
 * or too long. */
static inline const unsigned char *protobuf_varint(const unsigned char *p, const unsigned char *end,
                                                   uint64_t *v)
{
    *v = 0;
    for (int i = 0; i < PROTOBUF_VARINT_MAX && p < end; i++, p++) {
        *v |= (uint64_t)(*p & 0x7F) << (7 * i);
        if (*p < 0x80)
            return p + 1;
    }
    return NULL;
}

/* Returns the number of bytes of the shortest varint of v, which protobuf_add_varint appends. */
static inline size_t protobuf_varint_bytes(uint64_t v)
{
    return (size_t)((63 - __builtin_clzll(v | 1)) * 9 + 73) / 64;
}

static inline void protobuf_add_varint(struct buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_addc(out, (int)(v & 0x7F) | 0x80);
    buf_addc(out, (int)v);
}

/* Reads the next field from [*p, end) into *f and moves *p past it. Returns 1, 0 at the end, or -1,
 * without an error set, if the message is malformed. Groups, an old form of messages, count as
 * malformed. */
static inline int protobuf_next(const unsigned char **p, const unsigned char *end,
                                struct protobuf_field *f)
{
    uint64_t tag, n = 0;
    if (*p == end)
        return 0;
    const unsigned char *at = protobuf_varint(*p, end, &tag);
    if (!at || !(tag >> 3))
        return -1;
    f->number = tag >> 3;
    f->wire = (enum protobuf_wire)(tag & 7);
    f->value = 0;
    f->data = at;
    switch (f->wire) {
    case PROTOBUF_VARINT:
        at = protobuf_varint(at, end, &f->value);
        n = at ? (uint64_t)(at - f->data) : UINT64_MAX;
        break;
    case PROTOBUF_BYTES: f->data = protobuf_varint(at, end, &n); break;
    case PROTOBUF_64: n = 8; break;
    case PROTOBUF_32: n = 4; break;
    default: return -1;
    }
    if (!f->data || n > (uint64_t)(end - f->data))
        return -1;
    *p = f->end = f->data + n;
    return 1;
}
