/*
 * example.h - tf.Example, the protocol buffer inside most TFRecords.
 *
 *     Example  { 1: Features }
 *     Features { 1: map entry { 1: name, 2: Feature }, repeated }
 *     Feature  { one of 1: BytesList, 2: FloatList, 3: Int64List }
 *     a list   { 1: the values, repeated; numbers packed into one field, or each in its own }
 *
 * The writer puts names in byte order and packs numbers, so equal features give equal bytes. The
 * reader accepts fields in any order, packed, unpacked or both, and skips unknown fields. If two
 * features have the same name, the last one counts, as in any protocol buffer map. A Feature with
 * lists of two kinds is an error, and so is malformed data. Wire format:
 * https://protobuf.dev/programming-guides/encoding/
 */
#pragma once

#include "common/base/base.h"

/* Kinds of values; the numbers are those of Feature's fields. */
enum feature_kind { FEATURE_NONE, FEATURE_BYTES, FEATURE_FLOATS, FEATURE_INTS };

/* ---- writing ------------------------------------------------------------------------------ */

struct feature_text {
    const char *data;
    size_t len;
};

struct feature {
    const char *name; /* names must differ */
    enum feature_kind kind;
    const void *values; /* struct feature_text, float or int64_t; NULL for FEATURE_NONE */
    size_t count;
};

/* Appends the features as an Example message. They may be in any order. */
void example_encode(struct buf *out, const struct feature *features, size_t n);

/* ---- reading ------------------------------------------------------------------------------ */

/* A feature of a record. It points into the record's memory; nothing is copied. */
struct feature_view {
    const char *name; /* not NUL-terminated */
    size_t name_len;
    enum feature_kind kind;
    const unsigned char *data, *end; /* the Feature message */
};

struct example_reader {
    const unsigned char *p, *end;         /* rest of the Example */
    const unsigned char *features, *last; /* rest of the Features in it */
};

void example_open(struct example_reader *r, const void *data, size_t n);

/* Sets *f to the next feature. Returns 1, 0 at the end, or -1 with an error. */
int example_next(struct example_reader *r, struct feature_view *f);

/* Finds the feature called `name` in the tf.Example data[0..n) and sets *f. Returns 1, 0 if there
 * is none, or -1 with an error. */
int example_find(const void *data, size_t n, const char *name, struct feature_view *f);

/* Reads a feature's values in pieces, with the function for its kind (f->kind). */
struct feature_reader {
    const unsigned char *p, *end;       /* rest of the Feature */
    const unsigned char *list, *last;   /* rest of the list in it */
    const unsigned char *run, *run_end; /* rest of the packed values, or of the single value */
    enum feature_kind kind;
};

void feature_open(struct feature_reader *r, const struct feature_view *f);

/* Read up to `max` further values, max > 0. Return the number of values read, 0 at the end, or -1
 * with an error. */
int64_t feature_ints(struct feature_reader *r, int64_t *values, size_t max);
int64_t feature_floats(struct feature_reader *r, float *values, size_t max);

/* Sets *value to the next text, inside the record. Returns 1, 0 at the end, or -1 with an error. */
int feature_bytes(struct feature_reader *r, struct feature_text *value);
