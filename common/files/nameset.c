#include "common/files/nameset.h"

#include "common/base/hash.h"
#include "common/base/utf8.h"
#include "common/files/file.h"

struct nameset {
    struct buf text; /* the names, each followed by a NUL */
    struct name {
        size_t at, n; /* offset in `text`, and bytes */
    } * names;
    size_t count, names_cap;
    char *values; /* `bytes` bytes for each name */
    size_t bytes;
    uint32_t *places; /* hash table with open addressing: 1 + index in `names`, or 0; cap is a
                         power of two */
    size_t cap;
};

struct nameset *nameset_new(size_t bytes)
{
    struct nameset *set = mem_zalloc(1, sizeof *set);
    set->bytes = bytes;
    buf_init(&set->text);
    set->cap = 16;
    set->places = mem_zalloc(set->cap, sizeof *set->places);
    return set;
}

void nameset_free(struct nameset *set)
{
    if (!set)
        return;
    buf_release(&set->text);
    free(set->names);
    free(set->values);
    free(set->places);
    free(set);
}

/* Returns the name's slot in set->places, or the free slot (0) for it. */
static uint32_t *find(const struct nameset *set, const char *name, size_t n, uint64_t hash)
{
    size_t mask = set->cap - 1, i = hash & mask;
    for (; set->places[i]; i = (i + 1) & mask) {
        const struct name *other = &set->names[set->places[i] - 1];
        if (other->n == n && !memcmp(set->text.data + other->at, name, n))
            break;
    }
    return &set->places[i];
}

static void grow(struct nameset *set)
{
    free(set->places);
    set->cap *= 2;
    set->places = mem_zalloc(set->cap, sizeof *set->places);
    for (size_t i = 0; i < set->count; i++) {
        const char *name = nameset_at(set, i);
        *find(set, name, set->names[i].n, hash_bytes(name, set->names[i].n)) = (uint32_t)i + 1;
    }
}

size_t nameset_add(struct nameset *set, const char *name, size_t n)
{
    if (2 * (set->count + 1) > set->cap)
        grow(set);
    uint32_t *place = find(set, name, n, hash_bytes(name, n));
    if (*place)
        return *place - 1;
    if (set->count == set->names_cap && set->bytes)
        set->values = mem_resize(set->values, 2 * set->count + 1, set->bytes);
    if (set->bytes)
        memset(set->values + set->count * set->bytes, 0, set->bytes);
    mem_next(set->names, set->count, set->names_cap) = (struct name){ set->text.len, n };
    buf_add(&set->text, name, n);
    buf_addc(&set->text, '\0');
    *place = (uint32_t)set->count;
    return set->count - 1;
}

void *nameset_put(struct nameset *set, const char *name, size_t n)
{
    return nameset_value(set, nameset_add(set, name, n));
}

void *nameset_get(const struct nameset *set, const char *name, size_t n)
{
    long i = nameset_find(set, name, n);
    return i >= 0 ? nameset_value(set, (size_t)i) : NULL;
}

int nameset_each(const char *value, int (*add)(void *ctx, const char *name, size_t n), void *ctx)
{
    if (*value != '@')
        return add(ctx, value, strlen(value));
    SCOPED_BY(input_close) struct input in = { 0 };
    if (input_open_soon(&in, value + 1) < 0)
        return -1;
    char *line;
    size_t n, number = 0, names = 0;
    int got, result = 0;
    while (!result && (got = input_line(&in, &line, &n)) > 0) {
        const size_t mark = number++ ? 0 : utf8_mark(line, n);
        line += mark, n -= mark;
        if (memchr(line, '\0', n) || utf8_valid(line, n) < n)
            result = err_set("%s:%zu: not a name: it is not text in UTF-8", value + 1, number);
        while (n && strchr(" \t\r", line[n - 1]))
            n--;
        if (!n || *line == '#' || result)
            continue;
        result = add(ctx, line, n);
        names++;
    }
    return got < 0 || result ? -1 : names ? 0 : err_set("'%s' holds no name", value + 1);
}

size_t nameset_count(const struct nameset *set)
{
    return set->count;
}

const char *nameset_at(const struct nameset *set, size_t i)
{
    return set->text.data + set->names[i].at;
}

void *nameset_value(const struct nameset *set, size_t i)
{
    return set->values + i * set->bytes;
}

long nameset_find(const struct nameset *set, const char *name, size_t n)
{
    return nameset_find_hashed(set, name, n, hash_bytes(name, n));
}

long nameset_find_hashed(const struct nameset *set, const char *name, size_t n, uint64_t hash)
{
    return (long)*find(set, name, n, hash) - 1;
}
