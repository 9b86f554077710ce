#include "common/formats/js.h"

#include <jansson.h>
#include <pthread.h>

#include "common/base/linked.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/formats/js_scan.h"
#include "common/formats/kinds.h"

LINKED_LIBRARY(jansson, "jansson", JANSSON_VERSION)

static json_t *value(const struct js *v)
{
    return (json_t *)(uintptr_t)v;
}

static struct js *wrap(json_t *v)
{
    return (struct js *)v;
}

/* Lets jansson allocate with mem.h, so the program ends if memory runs out. By itself jansson
 * continues, and some versions abort. Functions that a program gave to jansson before it called our
 * library stay: they free what they allocated. */
static void use_our_memory(void)
{
    json_malloc_t allocate;
    json_free_t release;
    json_get_alloc_funcs(&allocate, &release);
    if (release == free)
        json_set_alloc_funcs(mem_alloc, free);
}

/* Turns `at`, an offset in the text without the cuts, into an offset in the whole text. */
static size_t whole_place(size_t at, const struct js_cut *cuts, size_t count)
{
    for (size_t i = 0; i < count && at > cuts[i].begin; i++)
        at += cuts[i].end - cuts[i].begin;
    return at;
}

static struct js *parse(const char *text, size_t n, const char *name, size_t duplicates,
                        const struct js_cut *cuts, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const size_t flags = duplicates | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    pthread_once(&once, use_our_memory);
    SCOPED(buf) left = BUF_INIT;
    size_t from = 0;
    for (size_t i = 0; i < count; from = cuts[i++].end)
        buf_add(&left, text + from, cuts[i].begin - from);
    if (count)
        buf_add(&left, text + from, n - from);
    const char *json = count ? left.data : text;
    const size_t bytes = count ? left.len : n;
    json_error_t error;
    json_t *root = json_loadb(json, bytes, flags, &error);
    if (!root && json_error_code(&error) == json_error_numeric_overflow)
        root = json_loadb(json, bytes, flags | JSON_DECODE_INT_AS_REAL, &error);
    if (!root && kinds_check(name, text, n) == 0) {
        struct js_scan place;
        js_scan_init(&place, text, n);
        js_scan_error(&place, whole_place((size_t)error.position, cuts, count), error.text);
        err_in("%s", name);
    }
    return wrap(root);
}

struct js *js_parse(const char *text, size_t n, const char *name)
{
    return parse(text, n, name, JSON_REJECT_DUPLICATES, NULL, 0);
}

struct js *js_parse_without(const char *text, size_t n, const struct js_cut *cuts, size_t count,
                            const char *name)
{
    return parse(text, n, name, JSON_REJECT_DUPLICATES, cuts, count);
}

/* Appends the text with null for the words NaN, Infinity and -Infinity outside of strings. Returns
 * their number. */
static size_t put_nulls(struct buf *out, const char *text, size_t n)
{
    static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
    enum { WORDS = sizeof words / sizeof *words };
    size_t found = 0;
    for (size_t i = 0, inside = 0, word, len; i < n; i += len) {
        len = inside && text[i] == '\\' && i + 1 < n ? 2 : 1;
        inside ^= text[i] == '"';
        for (word = 0; word < WORDS; word++)
            if (!inside && bytes_begin(text + i, n - i, words[word]))
                break;
        found += word < WORDS;
        if (word < WORDS)
            len = strlen(words[word]);
        buf_add(out, word < WORDS ? "null" : text + i, word < WORDS ? 4 : len);
    }
    return found;
}

struct js *js_parse_line(const char *text, size_t n, const char *name)
{
    const size_t mark = utf8_mark(text, n);
    text += mark, n -= mark;
    struct js *root = parse(text, n, name, 0, NULL, 0);
    if (root)
        return root;
    struct err why = err_keep();
    SCOPED(buf) nulls = BUF_INIT;
    if (!put_nulls(&nulls, text, n) || !(root = parse(nulls.data, nulls.len, name, 0, NULL, 0)))
        err_restore(&why);
    return root;
}

struct js *js_load(const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    return file_read(path, &text) < 0 ? NULL : js_parse(text.data, text.len, path);
}

struct js *js_load_any(const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    return file_read_any(path, &text) < 0 ? NULL : js_parse_line(text.data, text.len, path);
}

void js_free(struct js *root)
{
    json_decref(value(root));
}

int js_is_object(const struct js *v)
{
    return json_is_object(value(v));
}

int js_is_array(const struct js *v)
{
    return json_is_array(value(v));
}

int js_is_set(const struct js *v)
{
    return v && !js_is_null(v);
}

const char *js_type(const struct js *object)
{
    const char *s = js_text(js_get(object, "type"), NULL);
    return s ? s : "?";
}

int js_is_null(const struct js *v)
{
    return json_is_null(value(v));
}

const struct js *js_get(const struct js *object, const char *key)
{
    return wrap(json_object_get(value(object), key));
}

const struct js *js_at(const struct js *array, size_t i)
{
    return wrap(json_array_get(value(array), i));
}

size_t js_count(const struct js *v)
{
    return js_is_array(v) ? json_array_size(value(v)) : json_object_size(value(v));
}

void *js_first(const struct js *object)
{
    return json_object_iter(value(object));
}

void *js_next(const struct js *object, void *it)
{
    return json_object_iter_next(value(object), it);
}

const char *js_key(void *it, size_t *len)
{
    const char *key = json_object_iter_key(it);
    if (len)
        *len = strlen(key); /* jansson refuses NUL in keys */
    return key;
}

const struct js *js_value(void *it)
{
    return wrap(json_object_iter_value(it));
}

const char *js_text(const struct js *v, size_t *len)
{
    if (!json_is_string(value(v)))
        return NULL;
    if (len)
        *len = json_string_length(value(v));
    return json_string_value(value(v));
}

int js_real(const struct js *v, double *out)
{
    if (!json_is_number(value(v)))
        return -1;
    *out = json_number_value(value(v));
    return 0;
}

int js_int(const struct js *v, int64_t *out)
{
    if (!json_is_integer(value(v)))
        return -1;
    *out = json_integer_value(value(v));
    return 0;
}

int js_bool(const struct js *v, int *out)
{
    if (!json_is_boolean(value(v)))
        return -1;
    *out = json_is_true(value(v));
    return 0;
}

int js_text_is(const struct js *v, const char *word)
{
    const char *text = js_text(v, NULL);
    return text && !strcmp(text, word);
}

int js_flag(const struct js *object, const char *key, int otherwise)
{
    int flag;
    return js_bool(js_get(object, key), &flag) < 0 ? otherwise : flag;
}

static int add_text(const char *text, size_t n, void *out)
{
    buf_add(out, text, n);
    return 0;
}

void js_print(struct buf *out, const struct js *v)
{
    enum { LEAST = 15, MOST = 17 }; /* digits that keep a decimal number, and a double */
    const size_t before = out->len, flags = JSON_ALLOW_NUL | JSON_DECODE_ANY;
    for (size_t digits = LEAST, same = 0; !same; digits++) {
        buf_truncate(out, before);
        json_dump_callback(value(v), add_text, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        json_t *again = json_loadb(out->data + before, out->len - before, flags, NULL);
        same = digits == MOST || json_equal(again, value(v));
        json_decref(again);
    }
}

/* Returns 1 if none of the 8 bytes at s is a control character, a quote or a backslash; 0 if one
 * may be. */
static int is_plain(const char *s)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = 0x80 * ones;
    uint64_t x;
    memcpy(&x, s, sizeof x);
    uint64_t quote = x ^ '"' * ones, slash = x ^ '\\' * ones;
    return !(((x - 0x20 * ones) | (quote - ones) | (slash - ones)) & ~x & high);
}

void js_quote(struct buf *out, const char *s, size_t n)
{
    static const char *const named[] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\n'] = "\\n", ['\r'] = "\\r",
        ['\t'] = "\\t", ['\b'] = "\\b",  ['\f'] = "\\f"
    };
    buf_addc(out, '"');
    size_t plain = 0; /* start of the bytes not yet copied */
    for (size_t i = 0; i < n; i++) {
        while (i + 8 < n && is_plain(s + i))
            i += 8;
        unsigned char c = (unsigned char)s[i];
        const char *name = c < sizeof named / sizeof *named ? named[c] : NULL;
        if (!name && c >= 0x20)
            continue;
        buf_add(out, s + plain, i - plain);
        if (name)
            buf_adds(out, name);
        else
            buf_addf(out, "\\u%04x", c);
        plain = i + 1;
    }
    buf_add(out, plain < n ? s + plain : "", n - plain); /* s may be NULL if n is 0 */
    buf_addc(out, '"');
}
