#include "common/formats/kv.h"

#include <errno.h>

#include "common/base/lines.h"

void kv_release(struct kv *kv)
{
    for (size_t i = 0; i < kv->count; i++) {
        free(kv->pairs[i].key);
        free(kv->pairs[i].value);
    }
    free(kv->pairs);
    *kv = (struct kv)KV_INIT;
}

static void add(struct kv *kv, char *key, char *value)
{
    mem_next(kv->pairs, kv->count, kv->cap) = (struct kv_pair){ key, value };
}

void kv_add(struct kv *kv, const char *key, const char *value)
{
    add(kv, mem_strdup(key), mem_strdup(value));
}

void kv_addf(struct kv *kv, const char *key, const char *format, ...)
{
    struct buf value = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vaddf(&value, format, args);
    va_end(args);
    add(kv, mem_strdup(key), buf_detach(&value));
}

void kv_add_all(struct kv *kv, const struct kv *more)
{
    for (size_t i = 0; i < more->count; i++)
        kv_add(kv, more->pairs[i].key, more->pairs[i].value);
}

const char *kv_get(const struct kv *kv, const char *key)
{
    for (size_t i = 0; i < kv->count; i++)
        if (!strcmp(kv->pairs[i].key, key))
            return kv->pairs[i].value;
    return NULL;
}

const char *kv_difference(const struct kv *a, const struct kv *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const char *other = kv_get(b, a->pairs[i].key);
        if (!other || strcmp(other, a->pairs[i].value))
            return a->pairs[i].key;
    }
    for (size_t i = 0; i < b->count; i++)
        if (!kv_get(a, b->pairs[i].key))
            return b->pairs[i].key;
    return NULL;
}

int kv_get_u64(const struct kv *kv, const char *key, uint64_t *value)
{
    const char *s = kv_get(kv, key);
    if (!s)
        return err_set("'%s' is missing", key);
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    if (errno || end == s || *end || *s == '-')
        return err_set("'%s=%s' is not a number", key, s);
    *value = v;
    return 0;
}

int kv_parse(struct kv *kv, const char *text, size_t n)
{
    struct lines l = LINES_OF(text, n);
    while (lines_next(&l)) {
        if (!l.len)
            continue;
        if (memchr(l.line, '\0', l.len))
            return err_set("line %" PRIu64 " has a NUL byte", l.number);
        const char *eq = memchr(l.line, '=', l.len);
        if (!eq || eq == l.line)
            return err_set("line %" PRIu64 " is not key=value", l.number);
        size_t klen = (size_t)(eq - l.line);
        add(kv, mem_strndup(l.line, klen), mem_strndup(eq + 1, l.len - klen - 1));
    }
    return 0;
}

void kv_print(const struct kv *kv, struct buf *out)
{
    for (size_t i = 0; i < kv->count; i++)
        buf_addf(out, "%s=%s\n", kv->pairs[i].key, kv->pairs[i].value);
}
