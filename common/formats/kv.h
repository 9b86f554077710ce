/*
 * kv.h - key=value lines: the format of stream headers, manifests and shard lists.
 *
 * Each line has one pair. A key may occur more than once (pg= lines). Keys contain no '=', no line
 * end and no NUL; values contain no line end and no NUL: the caller sees to that. The order is
 * kept. Empty lines are skipped.
 */
#pragma once

#include "common/base/base.h"

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

/* Append pairs; keys and values are copied. */
void kv_add(struct kv *kv, const char *key, const char *value);
void kv_addf(struct kv *kv, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void kv_add_all(struct kv *kv, const struct kv *more);

const char *kv_get(const struct kv *kv, const char *key); /* the first value of the key, or NULL */
/* Returns the first key whose value is not the same in both lists, or that one lacks; else NULL. */
const char *kv_difference(const struct kv *a, const struct kv *b);
/* Sets *value to the first value of the key, a decimal number. Returns 0, or -1 with an error if
 * the key is missing or its value is no such number. */
int kv_get_u64(const struct kv *kv, const char *key, uint64_t *value);

/* Parses the key=value lines text[0..n) and appends their pairs to *kv. Returns 0, or -1 with an
 * error that names the line. */
int kv_parse(struct kv *kv, const char *text, size_t n);
void kv_print(const struct kv *kv, struct buf *out); /* appends the lines */
