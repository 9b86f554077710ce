/*
 * kv.h - key=value lines: the format of stream headers, manifests and shard lists.
 *
 * Each line has one pair. A key may occur more than once (pg= lines). Keys contain no '=', no line
 * end and no NUL; values contain no line end and no NUL. The order is kept.
 */
#ifndef TEXTMILL_COMMON_KV_H
#define TEXTMILL_COMMON_KV_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct kv_pair {
    char *key, *value;
};

struct kv {
    struct kv_pair *pairs;
    size_t count, cap;
};

#define KV_INIT                                                                                    \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

void kv_release(struct kv *kv);
void kv_add(struct kv *kv, const char *key, const char *value);
void kv_addf(struct kv *kv, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void kv_add_all(struct kv *kv, const struct kv *more);

const char *kv_get(const struct kv *kv, const char *key); /* the first value of the key, or NULL */
int kv_get_u64(const struct kv *kv, const char *key, uint64_t *value); /* -1: absent or no number */

/* Parses text[0..n). Returns 0, or -1 with an error that names the line. */
int kv_parse(struct kv *kv, const char *text, size_t n);
void kv_print(const struct kv *kv, struct buf *out);

#endif
