/* Megatron's index maps: the parts of a split, how many epochs and samples there are, and that the
 * maps fit together. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/le.h"
#include "common/files/file.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tfrecord/layouts/indexmap.h"

/* Checks the bounds of the three parts. A part without documents is an error. */
static void splits(enum indexmap_rule rule, uint64_t documents, const char *shares, uint64_t second,
                   uint64_t third, uint64_t end)
{
    const uint64_t bounds[] = { 0, second, third, end };
    for (int part = 0; part < 3; part++) {
        struct indexmap x = { 0 };
        const int empty = bounds[part] == bounds[part + 1];
        cr_expect_eq(indexmap_split(&x, documents, shares, part, rule), -empty, "%s, part %d",
                     shares, part);
        cr_expect(empty || (x.first == bounds[part] && x.end == bounds[part + 1]),
                  "%s of %d, part %d: %d to %d", shares, (int)documents, part, (int)x.first,
                  (int)x.end);
        if (empty)
            expect_error("leaves no document for this part");
    }
}

Test(indexmap, parts_of_a_split)
{
    splits(INDEXMAP_CORE, 10, "1,1,1", 3, 7, 10);
    splits(INDEXMAP_CORE, 5, "1,1,0", 2, 5, 5); /* 2.5 to even */
    splits(INDEXMAP_CORE, 1000, "969,30,1", 969, 999, 1000);
    splits(INDEXMAP_OLDER, 10, "1,1,1", 4, 7, 10); /* 3 each, moved by 1 */
    splits(INDEXMAP_OLDER, 5, "1,1,0", 3, 5, 5);   /* 2, 2 and 0, moved by 1 */
    splits(INDEXMAP_OLDER, 2, "1,1,1", 0, 1, 2);   /* 1 each, moved by -1 */
    splits(INDEXMAP_CUT, 10, "1,1,1", 3, 6, 9);
    splits(INDEXMAP_CUT, 5, "1,1,0", 2, 5, 5); /* the second part gets the rest */
    splits(INDEXMAP_CUT, 100, "0.5,0.25,0.25", 50, 75, 100);
}

Test(indexmap, splits_that_are_refused)
{
    static const char *const bad[] = { "",       "1",     "1,2",     "1,2,3,4", "1,2,3,", "1,x,2",
                                       "1,-1,1", "0,0,0", "1,inf,1", "1,2,nan", "1,2,3x" };
    struct indexmap x;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SCOPED(buf) error = buf_format("--split %s is not three shares, such as 969,30,1", bad[i]);
        cr_expect_eq(indexmap_split(&x, 10, bad[i], 0, INDEXMAP_CORE), -1, "%s", bad[i]);
        cr_expect_str_eq(err_get(), error.data);
        cr_expect(err_is_usage());
    }
    cr_expect_eq(indexmap_split(&x, 1, "0,0,1", 1, INDEXMAP_CORE), -1);
    cr_expect_str_eq(err_get(), "the split 0,0,1 of 1 document leaves no document for this part");
    cr_expect_eq(indexmap_split(&x, 2, "0,0,1", 1, INDEXMAP_CORE), -1);
    cr_expect_str_eq(err_get(), "the split 0,0,1 of 2 documents leaves no document for this part");
}

Test(indexmap, names)
{
    struct indexmap x = { .sequence_length = 8, .seed = 5, .samples = 3, .epochs = 2 };
    SCOPED(buf) name = BUF_INIT;
    indexmap_name(&name, &x, "p", 1);
    cr_expect_str_eq(name.data, "p_valid_indexmap_3ns_8sl_5s");
    x.samples = 0;
    buf_clear(&name);
    indexmap_name(&name, &x, "p", 1);
    cr_expect_str_eq(name.data, "p_indexmap_2ns_8sl_5s");
}

/* ---- maps --------------------------------------------------------------------------------- */

TestSuite(indexmap_files, .init = make_dir, .fini = remove_dir);

enum { DOCUMENTS = 5, TOKENS = 21, LENGTH = 5, HEADER = 128 };
static const uint32_t sizes[DOCUMENTS] = { 10, 3, 0, 1, 7 };

static void open_pair(struct megatron *m)
{
    struct megatron_writer w;
    uint32_t ids[TOKENS] = { 0 };
    cr_assert_eq(megatron_create(&w, dir, "m", 100), 0, "%s", err_get());
    for (int i = 0; i < DOCUMENTS; i++) {
        cr_assert_eq(megatron_add(&w, ids, sizes[i]), 0, "%s", err_get());
        megatron_end_document(&w);
    }
    cr_assert_eq(megatron_finish(&w), 0, "%s", err_get());
    megatron_release(&w);
    cr_assert_eq(megatron_open(m, in_dir("m")), 0, "%s", err_get());
    cr_assert(m->sequences == DOCUMENTS && m->tokens == TOKENS);
}

/* Reads the numbers of a map of 32 bits. Sets *n to how many there are. */
static void read_map(const char *name, uint32_t *out, size_t *n)
{
    SCOPED(buf) b = BUF_INIT;
    cr_assert_eq(file_read(in_dir(name), &b), 0, "%s", err_get());
    cr_assert(b.len >= HEADER && !memcmp(b.data, "\x93NUMPY\1\0\x76\0", 10));
    *n = (b.len - HEADER) / 4;
    cr_assert_leq(*n, 512);
    for (size_t i = 0; i < *n; i++)
        out[i] = le_u32((const unsigned char *)b.data + HEADER + 4 * i);
}

/* Checks that list[0..n) has each number below `below` `times` times. */
static void expect_each(const uint32_t *list, size_t n, uint32_t below, uint32_t times)
{
    uint32_t seen[64] = { 0 };
    cr_assert_eq(n, (size_t)below * times);
    for (size_t i = 0; i < n; i++) {
        cr_assert_lt(list[i], below);
        seen[list[i]]++;
    }
    for (uint32_t k = 0; k < below; k++)
        cr_expect_eq(seen[k], times, "%u: %u times", k, seen[k]);
}

Test(indexmap_files, maps_fit_together)
{
    static const struct {
        uint64_t samples, epochs; /* wanted */
        uint64_t needs, made;     /* epochs and samples of these */
        int apart;
    } cases[] = {
        { 1, 0, 1, 4, 0 },  /* all samples of the epoch are made */
        { 4, 0, 1, 4, 0 },  /* 4 * 5 + 1 tokens: all of one epoch */
        { 5, 0, 2, 8, 1 },  /* 1 of the 4 samples of the second epoch are used */
        { 6, 0, 2, 8, 1 },  /* 2 are less than 80 % of 4, rounded down */
        { 7, 0, 2, 8, 0 },  /* 3 are not */
        { 9, 0, 3, 12, 1 }, /* 8 are of the first two epochs */
        { 0, 3, 3, 12, 0 }, /* epochs are asked for: all are shuffled together */
    };
    struct megatron m;
    open_pair(&m);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t documents[512], samples[512], order[512];
        size_t n;
        struct indexmap x = { .end = DOCUMENTS,
                              .sequence_length = LENGTH,
                              .seed = 3,
                              .samples = cases[i].samples,
                              .epochs = cases[i].epochs };
        cr_assert_eq(indexmap_write(&x, &m, in_dir("x")), 0, "%s", err_get());
        cr_expect(
            x.epochs == cases[i].needs && x.made == cases[i].made && x.apart == cases[i].apart,
            "case %zu: %d epochs, %d samples, apart %d", i, (int)x.epochs, (int)x.made, x.apart);
        read_map("x_doc_idx.npy", documents, &n);
        expect_each(documents, n, DOCUMENTS, (uint32_t)x.epochs);
        if (x.apart) /* the last epoch comes last */
            expect_each(documents + n - DOCUMENTS, DOCUMENTS, DOCUMENTS, 1);
        const size_t places = n;
        read_map("x_sample_idx.npy", samples, &n);
        cr_assert_eq(n, 2 * (x.made + 1));
        for (size_t s = 0; s <= x.made; s++) { /* sample s begins at token 5 s of all */
            uint64_t at = samples[2 * s + 1];
            cr_assert_lt(samples[2 * s], places);
            if (s) /* the first document may be empty */
                cr_expect_lt(at, sizes[documents[samples[2 * s]]], "sample %zu", s);
            for (size_t d = 0; d < samples[2 * s]; d++)
                at += sizes[documents[d]];
            cr_expect_eq(at, s * LENGTH, "sample %zu begins at token %d", s, (int)at);
        }
        read_map("x_shuffle_idx.npy", order, &n);
        expect_each(order, n, (uint32_t)x.made, 1);
        const size_t before = x.apart ? ((x.epochs - 1) * TOKENS - 1) / LENGTH : x.made;
        expect_each(order, before, (uint32_t)before, 1);
    }
    megatron_close(&m);
}

Test(indexmap_files, what_is_refused)
{
    struct megatron m;
    struct indexmap x = { .end = DOCUMENTS, .sequence_length = TOKENS, .epochs = 1 };
    open_pair(&m);
    cr_expect_eq(indexmap_write(&x, &m, in_dir("x")), -1);
    expect_error("m.idx: 21 tokens are too few for a sample of 21 and a label");
    x.first = 2; /* no tokens */
    x.end = 3;
    cr_expect_eq(indexmap_write(&x, &m, in_dir("x")), -1);
    expect_error("m.idx: documents 2 to 3 have no tokens");
    x.end = DOCUMENTS;
    x.sequence_length = 1;
    x.epochs = INT32_MAX / 3 + 1;
    cr_expect_eq(indexmap_write(&x, &m, in_dir("x")), -1);
    expect_error("m.idx: 715827883 epochs of 8 tokens: too many for index maps of "
                 "32 bits; give fewer, or a larger --sequence-length");
    cr_expect_not(look(in_dir("x_doc_idx.npy")));
    const unsigned char most[] = "\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f", at[24] = "";
    const struct megatron large = {
        .prefix = (char *)"l", .sizes = most, .pointers = at, .width = 2
    };
    struct indexmap samples = { .end = 3, .sequence_length = 1, .epochs = 1 };
    cr_expect_eq(indexmap_write(&samples, &large, in_dir("l")), -1);
    expect_error("l.idx: 1 epoch of 6442450941 tokens: too many");
    x.epochs = 1;
    x.wide = 1; /* places and offsets have 8 bytes */
    cr_assert_eq(indexmap_write(&x, &m, in_dir("x")), 0, "%s", err_get());
    uint64_t bytes;
    cr_assert_eq(file_size(in_dir("x_sample_idx.npy"), &bytes), 0);
    cr_expect(x.made == 7 && bytes == HEADER + 8 * 2 * 8);
    megatron_close(&m);
}
