/*
 * js.h - JSON, read through jansson (RFC 8259; duplicate keys are errors, \u0000 is allowed).
 *
 * If a text has an integer that does not fit 64 bits (Hugging Face writes 1e30 as an integer), all
 * its integers are read as reals, and js_int refuses them.
 *
 * Values belong to the tree and live until js_free of its root. A lookup that fails returns NULL,
 * and every accessor accepts NULL, so lookups can be chained without checks.
 */
#pragma once

#include "common/base/base.h"

struct js;

/* Parses text[0..n). Returns the root, which the caller frees with js_free, or NULL with an error
 * that contains `name`, the line and the byte offset. The text is not needed afterwards. */
struct js *js_parse(const char *text, size_t n, const char *name);
/* Parses JSON, such as a line, that another program may have written, as Python does: if a key
 * occurs twice, the last value takes the place of the first. NaN, Infinity and -Infinity are
 * null. A byte order mark before it is left out. */
struct js *js_parse_line(const char *text, size_t n, const char *name);
/* js_load parses a regular file, as file_read reads it, by js_parse; js_load_any a file that the
 * user gave, as file_read_any reads it, by js_parse_line. */
struct js *js_load(const char *path);
struct js *js_load_any(const char *path);
void js_free(struct js *root); /* NULL is allowed */

/* SCOPED_JS root = js_load(path); declares a root that js_free frees at the end of its scope. */
#define SCOPED_JS __attribute__((cleanup(js_free_scoped))) struct js *
static inline void js_free_scoped(struct js **root)
{
    js_free(*root);
}

/* Parses a text as js_parse does, but leaves out the `count` parts cuts[], which the caller reads
 * with js_scan.h. A cut is the part [begin, end) of the text; cuts are in ascending order. Lines
 * and offsets in errors are those of the whole text. */
struct js_cut {
    size_t begin, end;
};
struct js *js_parse_without(const char *text, size_t n, const struct js_cut *cuts, size_t count,
                            const char *name);

int js_is_object(const struct js *v);
int js_is_array(const struct js *v);
int js_is_null(const struct js *v); /* 1 for JSON null, 0 for a missing value */
int js_is_set(const struct js *v);  /* 0 for JSON null and a missing value, else 1 */

const struct js *js_get(const struct js *object, const char *key);
const struct js *js_at(const struct js *array, size_t i);
size_t js_count(const struct js *v); /* elements of an array, members of an object, else 0 */

/* Walks an object in the file's order: for (void *it = js_first(o); it; it = js_next(o, it)). */
void *js_first(const struct js *object);
void *js_next(const struct js *object, void *it);
const char *js_key(void *it, size_t *len); /* len may be NULL */
const struct js *js_value(void *it);

const char *js_text(const struct js *v, size_t *len); /* NULL if no string; len may be NULL */
int js_real(const struct js *v, double *out);         /* 0, or -1 if no number */
int js_int(const struct js *v, int64_t *out);         /* 0, or -1 if no integer */
int js_bool(const struct js *v, int *out);            /* 0, or -1 if neither true nor false */

const char *js_type(const struct js *object); /* its member "type"; "?" if that is no string */
int js_text_is(const struct js *v, const char *word); /* 1 if v is the string `word` */
/* Returns 1 if the member `key` is true, 0 if it is false, and `otherwise` if it is missing or not
 * a boolean. */
int js_flag(const struct js *object, const char *key, int otherwise);

/* Appends the value as JSON text, in one line. Its numbers have as few digits as all of them need
 * to read back the same: 15 to 17. */
void js_print(struct buf *out, const struct js *v);

/* Appends s[0..n) as a JSON string with its quotes; bytes of valid UTF-8 stay as they are. */
void js_quote(struct buf *out, const char *s, size_t n);
