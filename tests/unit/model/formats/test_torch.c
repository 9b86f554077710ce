#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/le.h"
#include "model/formats/pickle.h"
#include "model/formats/torch.h"

/* ---- pickles: what torch.save writes of {"a": a view}, piece by piece ------------------------ */

#define BEGIN "\x80\x02}q\0(X\1\0\0\0aq\1"
#define MAKER "ctorch._utils\n_rebuild_tensor_v2\nq\2("
#define STORAGE                                                                                    \
    "(X\7\0\0\0storageq\3ctorch\nFloatStorage\nq\4X\1\0\0\0000q\5X\3\0\0\0cpuq\6K\6tq\7Q"
#define HOOKS                                                                                      \
    "\x89"                                                                                         \
    "ccollections\nOrderedDict\n)RtRq\x0b"
#define VIEW                                                                                       \
    MAKER STORAGE "K\1K\2K\2\x86K\1K\2\x86" HOOKS /* offset 1, [2,2] by strides 1 and 2            \
                                                   */

static int pass(void *, const struct pickle_tensor *)
{
    return 0;
}

/* Reads a pickle with `piece` in the place of VIEW. words: NULL if it must be read without an
 * error, otherwise words of the expected error. */
static void says(const char *piece, size_t n, const char *words)
{
    struct buf b = BUF_INIT;
    buf_add(&b, BEGIN, sizeof BEGIN - 1);
    buf_add(&b, piece, n);
    buf_adds(&b, "u.");
    int result = pickle_read(b.data, b.len, "f: data.pkl", pass, NULL);
    if (!words)
        cr_assert_eq(result, 0, "%s", err_get());
    else
        cr_assert(result < 0 && strstr(err_get(), words) && strstr(err_get(), "f: data.pkl"),
                  "'%s' is not in: %s", words, result < 0 ? err_get() : "(none)");
    buf_release(&b);
}
#define SAYS(piece, words) says(piece, sizeof piece - 1, words)

static int is_view(void *ctx, const struct pickle_tensor *t)
{
    ++*(int *)ctx;
    cr_assert_str_eq(t->view.name, "a");
    cr_assert_str_eq(t->type, "FloatStorage");
    cr_assert_str_eq(t->key, "0");
    cr_assert(t->storage_elements == 6 && t->offset == 1 && t->view.rank == 2);
    cr_assert(t->view.shape[0] == 2 && t->view.shape[1] == 2 && t->view.stride[0] == 1 &&
              t->view.stride[1] == 2);
    return 0;
}

Test(pickle, reads_a_view)
{
    static const char text[] = BEGIN VIEW "u}X\1\0\0\0v}sb.";
    int count = 0;
    cr_assert_eq(pickle_read(text, sizeof text - 1, "f", is_view, &count), 0, "%s", err_get());
    cr_assert_eq(count, 1);
}

Test(pickle, knows_numbers_of_all_widths)
{
    SAYS(VIEW, NULL);
    SAYS(MAKER STORAGE "J\1\0\0\0M\2\0K\3\x86\x8a\1\1\x8a\x08\2\0\0\0\0\0\0\0\x86" HOOKS, NULL);
    SAYS(MAKER STORAGE "K\1\x8a\0\x85K\1\x85" HOOKS, NULL);
    SAYS(MAKER STORAGE "J\xff\xff\xff\xffK\2\x85K\1\x85" HOOKS,
         "makes something else than a dictionary, tensor or");
    SAYS(MAKER STORAGE "K\1\x8a\1\xff\x85K\1\x85" HOOKS,
         "makes something else than a dictionary, tensor or");
    SAYS(MAKER STORAGE "K\1\x8a\x09\1\1\1\1\1\1\1\1\1\x85K\1\x85" HOOKS,
         "byte 113: an integer beyond 64");
}

Test(pickle, refuses_what_torch_does_not_write)
{
    SAYS("cposix\nsystem\nX\2\0\0\0ls\x85R",
         "byte 14: refers to 'posix.system', which does not belong");
    SAYS("cbuiltins\ngetattr\n", "refers to 'builtins.getattr'");
    SAYS("ctorch.nn\nFloatStorage\n", "refers to 'torch.nn.FloatStorage'");
    SAYS("ctorch\nload\n", "refers to 'torch.load'");
    SAYS("ctorch\nFloatStorage\n)R", "makes something else than a dictionary, tensor or parameter");
    SAYS("ccollections\nOrderedDict\nK\1\x85R", "makes something else than a dictionary");
    SAYS("K\1)R", "byte 17: calls something that is not a name");
    SAYS("\x93", "byte 14: instruction 0x93 does not belong");
    SAYS("i", "byte 14: instruction 0x69");
    SAYS("\x80\x02", "byte 14: unsupported pickle protocol");
    SAYS("K\1", "byte 14: 'a' is not a tensor");
    SAYS("NX\1\0\0\0b", "a key without a value");
    SAYS("h\x09", "byte 14: recalls a value that was never stored");
    SAYS("r\xff\xff\xff\x7f", "a number of a value that is too high");
    SAYS("s", "a mark where a value should be");
    SAYS("NNs", "sets members of something that is not a dictionary");
    SAYS("Rs", "takes more from the stack than there is");
    SAYS("0", "instruction 0x30");
    SAYS("N.", "ends before the last byte");
    SAYS("K\1\x85Q", "an id of something that is not a storage");
    SAYS("X\xff\xff\0\0xyz", "truncated: the instruction at byte 14 goes beyond its 24 bytes");
    SAYS("cposix", "truncated: the instruction at byte 14");
    SAYS("X\2\0\0\0x\0", "a text with a NUL in it");
    SAYS(MAKER "N"
               "K\1K\2\x85K\1\x85" HOOKS,
         "makes something else than a dictionary, tensor");
    SAYS(MAKER STORAGE "K\1K\2K\3\x86K\1\x85" HOOKS,
         "makes something else than a dictionary, tensor");
}

/* ---- archives -------------------------------------------------------------------------------- */

static void put(struct buf *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_addc(b, i < 8 ? (int)(x >> 8 * i & 255) : 0);
}

struct entry {
    const char *name;
    const void *data;
    size_t n;
};

static int large; /* archives have the fields of those of more than 4 GB */

/* Adds two extra fields of an entry: an empty one of another program, and that of zip64, which has
 * both sizes and the offset of the entry in 64 bits each. */
static void put_large(struct buf *b, uint64_t n, uint64_t at)
{
    put(b, 0x9999, 4);
    put(b, 1, 2);
    put(b, 24, 2);
    put(b, n, 8);
    put(b, n, 8);
    put(b, at, 8);
}

/* Returns a ZIP archive with the given entries, stored without compression. */
static struct buf archive_of(const struct entry *entries, int count)
{
    struct buf b = BUF_INIT, directory = BUF_INIT;
    for (int i = 0; i < count; i++) {
        const struct entry *e = &entries[i];
        uint64_t sum = crc32(0, e->data, (unsigned)e->n), at = b.len;
        for (int central = 0; central < 2; central++) {
            struct buf *to = central ? &directory : &b;
            put(to, central ? 0x02014b50 : 0x04034b50, 4);
            put(to, 20, central ? 4 : 2);
            put(to, 0, 8); /* flags, method, time, date */
            put(to, sum, 4);
            int wide = central && large;
            put(to, wide ? UINT32_MAX : e->n, 4);
            put(to, wide ? UINT32_MAX : e->n, 4);
            put(to, strlen(e->name), 2);
            put(to, wide ? 32 : 0, 2);    /* bytes of extra fields */
            put(to, 0, central ? 10 : 0); /* comment, disk, attributes */
            if (central)
                put(to, wide ? UINT32_MAX : at, 4);
            buf_adds(to, e->name);
            if (wide)
                put_large(to, e->n, at);
        }
        buf_add(&b, e->data, e->n);
    }
    uint64_t at = b.len;
    buf_add(&b, directory.data, directory.len);
    if (large) {
        uint64_t end = b.len;
        put(&b, 0x06064b50, 4);
        put(&b, 44, 8); /* bytes that follow */
        put(&b, 0, 12); /* versions, disks */
        put(&b, (uint64_t)count, 8);
        put(&b, (uint64_t)count, 8);
        put(&b, directory.len, 8);
        put(&b, at, 8);
        put(&b, 0x07064b50, 4);
        put(&b, 0, 4);
        put(&b, end, 8);
        put(&b, 1, 4);
    }
    put(&b, 0x06054b50, 4);
    put(&b, 0, 4);
    put(&b, large ? UINT16_MAX : (uint64_t)count, 2);
    put(&b, large ? UINT16_MAX : (uint64_t)count, 2);
    put(&b, large ? UINT32_MAX : directory.len, 4);
    put(&b, large ? UINT32_MAX : at, 4);
    put(&b, 0, 2);
    buf_release(&directory);
    return b;
}

static const float numbers[6] = { 0, 1, 2, 3, 4, 5 };

/* Reads the tensor "a" from an archive with the pickle list[n] and the byte order `order`. Writes
 * its values to `out` and their number to *elements. Returns 0, or -1 with an error. */
static int read_view_in(const char *order, float *out, int64_t *elements, const char *list,
                        size_t n)
{
    const struct entry entries[] = { { "m/data.pkl", list, n },
                                     { "m/byteorder", order, strlen(order) },
                                     { "m/data/0", numbers, sizeof numbers } };
    struct buf b = archive_of(entries, 3);
    struct safetensors s;
    int result = torch_parse(&s, b.data, b.len, "f");
    if (!result) {
        const struct safetensor *t = safetensors_find(&s, "a");
        *elements = t->elements;
        result = safetensors_read(&s, t, out);
        s.map = (struct file_map){ 0 };
        safetensors_close(&s);
    }
    buf_release(&b);
    return result;
}

static int read_view(float *out, int64_t *elements, const char *list, size_t n)
{
    return read_view_in("little", out, elements, list, n);
}

static void view_is(const char *list, size_t n, const char *want)
{
    float x[6];
    int64_t elements;
    char got[7];
    cr_assert_eq(read_view(x, &elements, list, n), 0, "%s", err_get());
    for (int64_t i = 0; i < elements; i++)
        got[i] = (char)('0' + (int)x[i]);
    got[elements] = 0;
    cr_assert_str_eq(got, want);
}
#define VIEW_IS(sizes, want)                                                                       \
    view_is(BEGIN MAKER STORAGE sizes HOOKS "u.", sizeof BEGIN MAKER STORAGE sizes HOOKS "u." - 1, \
            want)

Test(torch, reads_views_of_every_form)
{
    VIEW_IS("K\0K\2K\3\x86K\3K\1\x86", "012345");
    VIEW_IS("K\0K\3K\2\x86K\1K\3\x86", "031425"); /* transposed */
    VIEW_IS("K\1K\2\x85K\2\x85", "13");           /* every second */
    VIEW_IS("K\2K\4\x85K\1\x85", "2345");
    VIEW_IS("K\5))", "5");
    VIEW_IS("K\0K\0K\3\x86K\3K\1\x86", "");
    VIEW_IS("K\0K\1K\6\x86K\7K\1\x86", "012345"); /* the stride of a single one is not taken */
    VIEW_IS("K\0K\2K\1K\3\x87K\1K\1K\2\x87", "024135");
}

Test(torch, reads_archives_of_many_gigabytes)
{
    large = 1;
    VIEW_IS("K\0K\2K\3\x86K\3K\1\x86", "012345");
}

static void view_refused(const char *list, size_t n, const char *words)
{
    float x[6];
    int64_t elements;
    cr_assert_eq(read_view(x, &elements, list, n), -1);
    cr_assert(strstr(err_get(), words), "%s", err_get());
}
#define VIEW_REFUSED(sizes, words)                                                                 \
    view_refused(BEGIN MAKER STORAGE sizes HOOKS "u.",                                             \
                 sizeof BEGIN MAKER STORAGE sizes HOOKS "u." - 1, words)

Test(torch, refuses_views_beyond_their_storage)
{
    VIEW_REFUSED("K\1K\2K\3\x86K\3K\1\x86", "tensor 'a' goes beyond the 6 elements of its storage");
    VIEW_REFUSED("K\7))", "goes beyond the 6");
    VIEW_REFUSED("K\0K\7\x85K\0\x85", "has 7 elements, its storage 6");
    VIEW_REFUSED("K\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\2\x86K\1K\1\x86", "goes beyond");
    VIEW_REFUSED("K\0K\2\x85\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85", "goes beyond");
    view_refused(BEGIN VIEW "X\1\0\0\0ah\x0bu.", sizeof BEGIN VIEW "X\1\0\0\0ah\x0bu." - 1,
                 "tensor 'a' is there twice");
}

Test(torch, refuses_another_byte_order)
{
    static const char list[] = BEGIN MAKER STORAGE "K\0K\6\x85K\1\x85" HOOKS "u.";
    float x[6];
    int64_t elements;
    cr_assert_eq(read_view_in("little", x, &elements, list, sizeof list - 1), 0, "%s", err_get());
    cr_assert_eq(read_view_in("big", x, &elements, list, sizeof list - 1), -1);
    cr_assert(strstr(err_get(), "'m/byteorder' is not 'little'"), "%s", err_get());
}

/* If many entries named the same bytes, their checksums would take hours. The second entry here
 * names the bytes of the first. */
Test(torch, refuses_entries_that_overlap)
{
    static const char zeros[2000];
    const struct entry entries[] = { { "m/data.pkl", zeros, sizeof zeros },
                                     { "m/data/0", zeros, 0 } };
    struct buf b = archive_of(entries, 2);
    struct safetensors s;
    const unsigned char *end = (const unsigned char *)b.data + b.len - 22;
    char *first = b.data + le_u32(end + 16), *second = first + 46 + 10;
    memcpy(second + 16, first + 16, 12); /* the checksum and both sizes */
    memcpy(second + 42, first + 42, 4);  /* the place */
    cr_assert_eq(torch_parse(&s, b.data, b.len, "f"), -1);
    cr_assert_str_eq(err_get(), "f: entry 'm/data/0' overlaps another one");
    buf_release(&b);
}

/* Changes each byte of an archive: the file must be refused, or the byte has no meaning. A file
 * that is cut anywhere must be refused. */
Test(torch, survives_damage)
{
    static const char list[] = BEGIN MAKER STORAGE "K\0K\2K\3\x86K\3K\1\x86" HOOKS "u.";
    const struct entry entries[] = { { "m/data.pkl", list, sizeof list - 1 },
                                     { "m/data/0", numbers, sizeof numbers } };
    struct buf b = archive_of(entries, 2);
    struct safetensors s;
    float x[6];
    int accepted = 0;
    for (size_t i = 0; i < b.len; i++) {
        b.data[i] ^= 0x41;
        if (torch_parse(&s, b.data, b.len, "f") == 0) {
            accepted++;
            cr_assert_eq(safetensors_read(&s, safetensors_find(&s, "a"), x), 0);
            cr_assert_arr_eq(x, numbers, sizeof numbers);
            s.map = (struct file_map){ 0 };
            safetensors_close(&s);
        }
        b.data[i] ^= 0x41;
    }
    cr_assert_leq(accepted,
                  120); /* bytes of times, versions, attributes, and sums in front of entries */
    for (size_t n = 0; n < b.len; n++)
        cr_assert_eq(torch_parse(&s, b.data, n, "f"), -1, "cut to %zu", n);
    buf_release(&b);
}
