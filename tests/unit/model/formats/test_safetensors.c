#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/file.h"
#include "model/formats/weights.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

/* Returns a file with this header and `data` bytes 0, 1, 2, ... after it. */
static struct buf file_of(const char *header, int data)
{
    struct buf b = BUF_INIT;
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++)
        buf_addc(&b, (int)(n >> 8 * i & 255));
    buf_adds(&b, header);
    for (int i = 0; i < data; i++)
        buf_addc(&b, i);
    return b;
}

/* Checks that a file with this header and `data` bytes is refused with an error that contains
 * `words`. */
static void refused(const char *header, int data, const char *words)
{
    struct buf b = file_of(header, data);
    struct safetensors s;
    cr_assert_eq(safetensors_parse(&s, b.data, b.len, "f.safetensors"), -1, "accepted: %s", header);
    cr_assert(strstr(err_get(), words) && strstr(err_get(), "f.safetensors"), "%s: '%s'", header,
              err_get());
    buf_release(&b);
}

Test(safetensors, reads_three_widths)
{
    struct buf b = file_of("{\"b\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[8,14]},"
                           "\"__metadata__\":{\"format\":\"pt\"},"
                           "\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                           "\"c\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[14,16]},"
                           "\"d\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[16,16]}}   ",
                           16);
    const float a[2] = { 1.5f, -3e-20f };
    memcpy(b.data + b.len - 16, a, 8);
    memcpy(b.data + b.len - 8, "\x00\x3e\x01\x80\xff\x7b", 6); /* 1.5, -2^-24, 65504 */
    memcpy(b.data + b.len - 2, "\x80\xbf", 2);                 /* -1 */
    struct safetensors s;
    float x[3];
    cr_assert_eq(safetensors_parse(&s, b.data, b.len, "f"), 0, "%s", err_get());
    cr_assert_eq(s.count, 4);
    const struct safetensor *t = safetensors_find(&s, "a");
    cr_assert(t->rank == 2 && t->shape[0] == 1 && t->shape[1] == 2 && t->elements == 2);
    cr_assert_eq(safetensors_read(&s, t, x), 0);
    cr_assert(x[0] == 1.5f && x[1] == -3e-20f);
    cr_assert_eq(safetensors_read(&s, safetensors_find(&s, "b"), x), 0);
    cr_assert(x[0] == 1.5f && x[1] == -0x1p-24f && x[2] == 65504);
    cr_assert_eq(safetensors_find(&s, "c")->rank, 0);
    cr_assert_eq(safetensors_read(&s, safetensors_find(&s, "c"), x), 0);
    cr_assert_eq(x[0], -1);
    cr_assert_eq(safetensors_read(&s, safetensors_find(&s, "d"), x), -1);
    cr_assert(strstr(err_get(), "tensor 'd' is I64"), "%s", err_get());
    cr_assert_null(safetensors_find(&s, "e"));
    s.map = (struct file_map){ 0 }; /* borrowed */
    safetensors_close(&s);
    buf_release(&b);
}

/* Compares every half-precision number with its value by definition. */
Test(safetensors, all_halves)
{
    struct buf b = file_of(
        "{\"h\":{\"dtype\":\"F16\",\"shape\":[65536],\"data_offsets\":[0,131072]}}", 0);
    for (int i = 0; i < 65536; i++) {
        buf_addc(&b, i & 255);
        buf_addc(&b, i >> 8);
    }
    struct safetensors s;
    float *x = malloc(65536 * sizeof *x);
    cr_assert_eq(safetensors_parse(&s, b.data, b.len, "f"), 0);
    cr_assert_eq(safetensors_read(&s, &s.tensors[0], x), 0);
    for (int i = 0; i < 65536; i++) {
        int exponent = i >> 10 & 31, m = i & 1023;
        double value = exponent == 0   ? ldexp(m, -24)
                       : exponent < 31 ? ldexp(1024 + m, exponent - 25)
                       : m             ? NAN
                                       : INFINITY;
        value = i & 0x8000 ? -value : value;
        cr_assert(isnan(value) ? isnan(x[i]) : x[i] == value, "%04x is %g, not %g", i, x[i], value);
        cr_assert(isnan(value) || !signbit(x[i]) == !(i & 0x8000));
    }
    free(x);
    s.map = (struct file_map){ 0 };
    safetensors_close(&s);
    buf_release(&b);
}

#define A "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"

Test(safetensors, refuses_bad_headers)
{
    refused("", 0, "bad JSON");
    refused("[]", 0, "not a JSON object");
    refused("{\"a\":", 0, "bad JSON");
    refused(A "," A "}", 8, "bad JSON");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
            "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}",
            16, "duplicate");
    refused("{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
            "unknown dtype 'F99' of tensor 'a'");
    refused("{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "unknown dtype '' of tensor 'a'");
    refused("{\"a\":5}", 0, "unknown dtype");
    refused("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "bad shape of tensor 'a'");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "bad shape");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,8]}}", 8, "bad shape");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8,
            "bad shape");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}",
            8, "bad shape");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
            "does not fit");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8,
            "shape of tensor 'a' does not fit its 8 bytes");
}

Test(safetensors, refuses_bad_offsets)
{
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "bad data_offsets of tensor 'a'");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8,
            "bad data_offsets");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8,
            "bad data_offsets");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", 8,
            "bad data_offsets");
    refused(A "}", 7, "truncated: tensor 'a' ends at byte 8 of 7");
    refused(A "}", 9, "1 bytes after the last tensor");
    refused("{}", 1, "1 bytes after the last tensor");
    refused(A ",\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9,10]}}", 10,
            "hole before tensor 'b', at byte 9");
    refused(A ",\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[7,8]}}", 8,
            "overlap before tensor 'b', at byte 7");
}

Test(safetensors, refuses_bad_lengths)
{
    struct safetensors s;
    cr_assert_eq(safetensors_parse(&s, "abc", 3, "f"), -1);
    cr_assert(strstr(err_get(), "f: truncated: its 3 bytes"));
    cr_assert_eq(safetensors_parse(&s, "\x0a\0\0\0\0\0\0\0{}", 10, "f"), -1);
    cr_assert(strstr(err_get(), "truncated: header of 10 bytes in a file of 10"), "%s", err_get());
    cr_assert_eq(safetensors_parse(&s, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "f"), -1);
    cr_assert(strstr(err_get(), "bad header length 18446744073709551615"), "%s", err_get());
    cr_assert_eq(safetensors_open(&s, "/nonexistent/f.safetensors"), -1);
    cr_assert(strstr(err_get(), "/nonexistent/f.safetensors"));
}

/* ---- files -------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *header, int data)
{
    struct buf b = file_of(header, data);
    cr_assert_eq(file_write(in_dir(name), b.data, b.len), 0);
    buf_release(&b);
}

static void write_index(const char *text)
{
    cr_assert_eq(file_write(in_dir("model.safetensors.index.json"), text, strlen(text)), 0);
}

Test(safetensors, writes_what_it_reads, .init = make_dir, .fini = remove_dir)
{
    struct safetensor t[2] = { safetensors_entry("x \"y\"", OPS_F32, 2, (int64_t[]){ 2, 3 }),
                               safetensors_entry("z", OPS_F32, 1, (int64_t[]){ 1 }) };
    const float data[7] = { 1, 2, 3, 4, 5, 6, 7 };
    struct safetensors_writer w;
    cr_assert_eq(safetensors_create(&w, in_dir("f"), t, 2), 0);
    cr_assert_eq(safetensors_write(&w, data, 4, sizeof *data), 0);
    cr_assert_not(look(in_dir("f")));
    cr_assert_eq(safetensors_write(&w, data + 4, 3, sizeof *data), 0);
    cr_assert_eq(safetensors_finish(&w), 0);
    struct safetensors s;
    float x[6];
    cr_assert_eq(safetensors_open(&s, in_dir("f")), 0, "%s", err_get());
    cr_assert_eq(s.count, 2);
    cr_assert_eq(s.tensors[0].offset % 8, 0);
    cr_assert_eq(safetensors_read(&s, safetensors_find(&s, "x \"y\""), x), 0);
    cr_assert_eq(0, memcmp(x, data, sizeof x));
    cr_assert_eq(safetensors_read(&s, safetensors_find(&s, "z"), x), 0);
    cr_assert_eq(x[0], 7);
    safetensors_close(&s);
    cr_assert_eq(safetensors_create(&w, in_dir("g"), t, 2), 0);
    safetensors_abandon(&w);
    cr_assert_not(look(in_dir("g")));
    free(t[0].name);
    free(t[1].name);
}

static const char one[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
static const char two[] = "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";

static void folder_refused(const char *index, const char *words)
{
    struct weights set;
    write_index(index);
    cr_assert_eq(weights_open(&set, dir), -1, "accepted: %s", index);
    cr_assert(strstr(err_get(), words), "%s", err_get());
}

Test(safetensors, split_files, .init = make_dir, .fini = remove_dir)
{
    struct weights set;
    const struct safetensors *file;
    cr_assert_eq(weights_open(&set, dir), -1);
    cr_assert(strstr(err_get(), "no model.safetensors"), "%s", err_get());
    write_file("1.safetensors", one, 1);
    write_file("2.safetensors", two, 1);
    write_index("{\"weight_map\":{\"b\":\"2.safetensors\",\"a\":\"1.safetensors\"}}");
    cr_assert_eq(weights_open(&set, dir), 0, "%s", err_get());
    cr_assert_eq(set.count, 2);
    cr_assert_not_null(weights_find(&set, "a", &file));
    cr_assert(strstr(file->path, "1.safetensors"));
    cr_assert_not_null(weights_find(&set, "b", &file));
    cr_assert_null(weights_find(&set, "c", &file));
    weights_close(&set);
    folder_refused("{}", "no weight_map");
    folder_refused("{\"weight_map\":{}}", "no weight_map, or no tensor in it");
    folder_refused("{\"weight_map\":{\"a\":\"2.safetensors\"}}", "no tensor 'a'");
    folder_refused("{\"weight_map\":{\"a\":\"3.safetensors\"}}", "3.safetensors");
    folder_refused("{\"weight_map\":{\"a\":\"../1.safetensors\"}}", "bad file name of tensor 'a'");
    folder_refused("{\"weight_map\":{\"a\":7}}", "bad file name of tensor 'a'");
    write_file("3.safetensors",
               "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
               "\"c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
               2);
    folder_refused("{\"weight_map\":{\"a\":\"3.safetensors\"}}",
                   "hold 2 tensors, but the index lists 1");
    write_file("model.safetensors", two, 1); /* goes before the index */
    cr_assert_eq(weights_open(&set, dir), 0, "%s", err_get());
    cr_assert_eq(set.count, 1);
    weights_close(&set);
}
