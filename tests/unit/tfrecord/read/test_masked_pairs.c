/* Samples of a Megatron pair and its map, and arrays of NumPy. tests/data/masked-pairs has a pair,
 * the map that Megatron Core 0.16.1 made of it, and in `samples` the samples of its BERT data set,
 * with the settings of its script pretrain_bert.py, 40 tokens and the seed 77. A line of `samples`:
 * next, tokens, first token of the second part, ids, "labels", and place:label for each masked
 * token. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/le.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tfrecord/formats/npy.h"
#include "tfrecord/read/masked_pairs.h"

enum { LENGTH = 40, VOCABULARY = 30, FIRST_PIECE = 20, SAMPLES = 16, NONE = -100 };

static const char PAIR[] = "tests/data/masked-pairs/sentences@tests/data/masked-pairs/map.npy";

static unsigned char continues[VOCABULARY];
static const struct masked_pairs_recipe recipe = {
    .seed = 77, .vocabulary = VOCABULARY, .cls = 2, .sep = 3, .mask = 4, .continues = continues
};

static uint32_t ids[LENGTH], segments[LENGTH];
static int32_t labels[LENGTH];
static struct bert_row row = { .ids = ids, .segments = segments, .labels = labels };

static void setup(void)
{
    make_dir();
    memset(continues + FIRST_PIECE, 1, VOCABULARY - FIRST_PIECE);
}

TestSuite(masked_pairs, .init = setup, .fini = remove_dir);
TestSuite(npy, .init = setup, .fini = remove_dir);

static void read_sample(struct masked_pairs *p, const struct masked_pairs_recipe *r, uint64_t k)
{
    for (int i = 0; i < LENGTH; i++)
        labels[i] = NONE;
    cr_assert_eq(masked_pairs_read(p, r, k, &row), 0, "%s", err_get());
}

/* ---- samples ------------------------------------------------------------------------------ */

/* Appends the row as a line of `samples`. */
static void print_row(struct buf *out)
{
    uint32_t second = 0;
    while (second < row.length && !segments[second])
        second++;
    buf_addf(out, "%d %u %u", row.next, row.length, second);
    for (uint32_t i = 0; i < row.length; i++)
        buf_addf(out, " %u", ids[i]);
    buf_adds(out, " labels ");
    const char *before = "";
    for (uint32_t i = 0; i < row.length; i++) {
        if (labels[i] == NONE)
            continue;
        buf_addf(out, "%s%u:%d", before, i, labels[i]);
        before = " ";
    }
    buf_addc(out, '\n');
}

Test(masked_pairs, samples_are_those_of_megatron_core)
{
    struct buf want = BUF_INIT, got = BUF_INIT;
    cr_assert_eq(file_read("tests/data/masked-pairs/samples", &want), 0, "%s", err_get());
    struct masked_pairs *p = masked_pairs_open(PAIR);
    cr_assert(p, "%s", err_get());
    cr_assert_eq(masked_pairs_count(p), SAMPLES);
    cr_assert_eq(masked_pairs_target(p), 37);
    cr_assert_float_eq(masked_pairs_epoch(p), SAMPLES / 3.0, 1e-9); /* the map has three epochs */
    for (uint64_t k = 0; k < SAMPLES; k++) {
        read_sample(p, &recipe, k);
        print_row(&got);
    }
    cr_assert_str_eq(got.data, want.data);
    masked_pairs_close(p);
    buf_release(&want);
    buf_release(&got);
}

Test(masked_pairs, the_next_pass_has_the_same_sentences_and_other_masks)
{
    struct masked_pairs *p = masked_pairs_open(PAIR);
    struct masked_pairs_recipe later = recipe;
    struct buf a = BUF_INIT, b = BUF_INIT, first = BUF_INIT;
    later.seed += SAMPLES;
    for (uint64_t k = 0; k < SAMPLES; k++) {
        read_sample(p, &recipe, k);
        print_row(&first);
        read_sample(p, &recipe, SAMPLES + k);
        print_row(&a);
        read_sample(p, &later, k);
        print_row(&b);
    }
    cr_assert_str_eq(a.data, b.data);
    cr_assert(strcmp(a.data, first.data));
    masked_pairs_close(p);
    buf_release(&a);
    buf_release(&b);
    buf_release(&first);
}

Test(masked_pairs, no_more_masked_tokens_than_the_recipe_allows)
{
    struct masked_pairs *p = masked_pairs_open(PAIR);
    struct masked_pairs_recipe few = recipe;
    few.mask_tokens = 2;
    cr_assert_eq(masked_pairs_most(37), 5);
    cr_assert_eq(masked_pairs_most(125), 18);
    cr_assert_eq(masked_pairs_most(6), 0);
    int most = 0;
    for (uint64_t k = 0; k < SAMPLES; k++) {
        int masked = 0;
        read_sample(p, &few, k);
        for (uint32_t i = 0; i < row.length; i++)
            masked += labels[i] != NONE;
        most = masked > most ? masked : most;
    }
    cr_assert_eq(most, 2);
    masked_pairs_close(p);
}

/* ---- errors ------------------------------------------------------------------------------- */

/* Writes a map of one row. Returns the pair with this map. */
static const char *put_map(const char *name, uint32_t first, uint32_t end, uint32_t target)
{
    static struct buf path = BUF_INIT;
    struct buf prefix = BUF_INIT;
    struct output f = { 0 };
    file_join(&prefix, dir, name);
    cr_assert_eq(npy_open(&f, prefix.data, "map", NPY_U32, 1, 3), 0);
    npy_put(&f, first, NPY_U32);
    npy_put(&f, end, NPY_U32);
    npy_put(&f, target, NPY_U32);
    cr_assert_eq(output_close(&f), 0);
    buf_clear(&path);
    buf_addf(&path, "tests/data/masked-pairs/sentences@%s_map.npy", prefix.data);
    buf_release(&prefix);
    return path.data;
}

Test(masked_pairs, maps_of_other_pairs)
{
    static const struct {
        uint32_t first, end, target;
        const char *says;
    } bad[] = {
        { 5, 21, 37,
          "row 0: has sentences 5 to 21, but tests/data/masked-pairs/sentences.idx has 20" },
        { 5, 5, 37, "row 0: has sentences 5 to 5, but" },
        { 5, 4, 37, "row 0: has sentences 5 to 4, but" },
        { 5, 6, 37, "row 0: has one sentence" },
        { 1, 3, 37, "row 0: has sentences 1 to 3, which are of two documents" },
        { 2, 12, 37, "which are of two documents" },
        { 2, 4, 1, "row 0: has the target length 1" },
        { 2, 4, UINT32_MAX, "row 0: has the target length 4294967295" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_null(masked_pairs_open(put_map("bad", bad[i].first, bad[i].end, bad[i].target)));
        expect_error(bad[i].says);
    }
    struct masked_pairs *p = masked_pairs_open(put_map("good", 2, 11, 37));
    cr_assert(p, "%s", err_get());
    masked_pairs_close(p);
}

Test(masked_pairs, files_that_are_not_there_or_something_else)
{
    cr_expect_null(
        masked_pairs_open("tests/data/masked-pairs/none@tests/data/masked-pairs/map.npy"));
    expect_error("cannot open 'tests/data/masked-pairs/none.idx'");
    cr_expect_null(masked_pairs_open("tests/data/masked-pairs/sentences@none.npy"));
    expect_error("cannot open 'none.npy'");
    cr_expect(!masked_pairs_named("@list.npy") && !masked_pairs_named("a@b.npz"));
    cr_expect(!masked_pairs_named(".npy") && masked_pairs_named("a@b@c.npy"));
}

Test(masked_pairs, ids_that_the_vocabulary_has_not)
{
    struct masked_pairs *p = masked_pairs_open(PAIR);
    struct masked_pairs_recipe small = recipe;
    small.vocabulary = 29;
    int result = 0;
    for (uint64_t k = 0; k < SAMPLES && !result; k++)
        result = masked_pairs_read(p, &small, k, &row);
    cr_assert_eq(result, -1);
    expect_error("sentences.bin: token ");
    expect_error(" is 29, but the vocabulary has only 29 tokens");
    masked_pairs_close(p);
}

/* ---- arrays of NumPy ---------------------------------------------------------------------- */

/* Parses a file of format version `version` with this header and `bytes` bytes after it. */
static int parse(struct npy *a, int version, const char *header, size_t bytes)
{
    static struct buf file = BUF_INIT;
    char length[4];
    le_put_u32(length, (uint32_t)strlen(header));
    buf_clear(&file);
    buf_addf(&file, "\x93NUMPY%c", version);
    buf_addc(&file, '\0');
    buf_add(&file, length, version == 1 ? 2 : 4);
    buf_adds(&file, header);
    for (size_t i = 0; i < bytes; i++)
        buf_addc(&file, (char)(i + 1));
    *a = (struct npy){ 0 };
    return npy_parse(a, (const unsigned char *)file.data, file.len);
}

Test(npy, arrays_of_every_version)
{
    struct npy a;
    for (int version = 1; version <= 3; version++) {
        cr_assert_eq(
            parse(&a, version, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }\n", 24),
            0, "%s", err_get());
        cr_assert(a.rows == 2 && a.columns == 3 && a.width == 4);
        cr_assert_eq(npy_at(&a, 1, 2), 0x18171615);
    }
    cr_assert_eq(parse(&a, 1, "{'descr':'<u8','fortran_order':False,'shape':(3,)}", 24), 0);
    cr_assert(a.rows == 3 && a.columns == 1 && a.width == 8);
    cr_assert_eq(npy_at(&a, 1, 0), 0x100F0E0D0C0B0A09);
    cr_assert_eq(parse(&a, 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (0, 3), }", 0), 0);
    cr_assert_eq(a.rows, 0);
}

Test(npy, damaged_arrays)
{
    static const struct {
        int version;
        const char *header;
        size_t bytes;
        const char *says;
    } bad[] = {
        { 4, "{'descr': '<u4', 'fortran_order': False, 'shape': (2,)}", 8, "version 4" },
        { 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", 8, "not u32 or u64" },
        { 1, "{'descr': '>u4', 'fortran_order': False, 'shape': (2,)}", 8, "not u32 or u64" },
        { 1, "{'fortran_order': False, 'shape': (2,)}", 8, "not u32 or u64" },
        { 1, "{'descr': '<u4', 'fortran_order': True, 'shape': (2,)}", 8, "row after row" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': ()}", 8, "no shape" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 2, 1)}", 8, "no shape" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (-2,)}", 8, "no shape" },
        { 1, "{'descr': '<u4', 'fortran_order': False}", 8, "no shape" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (3,)}", 8, "3 x 1 numbers of 4" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2,)}", 9, "but 9 bytes follow" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 0)}", 8, "2 x 0 numbers" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", 0,
          "4611686018427387904 x 4 numbers" },
        { 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8,
          "18446744073709551615 x 1" },
    };
    struct npy a;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(parse(&a, bad[i].version, bad[i].header, bad[i].bytes), -1);
        expect_error(bad[i].says);
    }
    static const unsigned char cut[] = "\x93NUMPY\x01\x00\xff\x00{'descr'";
    cr_expect_eq(npy_parse(&a, cut, sizeof cut - 1), -1);
    expect_error("cut short: the header has 255 bytes");
    cr_expect_eq(npy_parse(&a, cut, 5), -1);
    expect_error("not an array of NumPy");
}
