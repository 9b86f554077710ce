/* Reads any bytes as a tf.Example. They must give an error or JSON lines, and examples that can be
 * shown must be writable again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tfrecord/check/listing.h"
#include "tfrecord/formats/example.h"

/* Checks that reading in small pieces and in large ones gives as many values. */
static void read_in_pieces(const struct feature_view *f)
{
    enum { LARGE = 64 };
    static const size_t sizes[] = { 1, 3, LARGE };
    int64_t totals[3] = { 0 }, values[LARGE], n = 0;
    float floats[LARGE];
    for (int i = 0; i < 3; i++) {
        struct feature_reader r;
        feature_open(&r, f);
        do {
            n = f->kind == FEATURE_INTS ? feature_ints(&r, values, sizes[i])
                                        : feature_floats(&r, floats, sizes[i]);
            totals[i] += n > 0 ? n : 0;
        } while (n > 0);
        totals[i] = n < 0 ? -1 : totals[i];
    }
    assert(totals[0] == totals[1] && totals[1] == totals[2]);
}

/* Checks that integers that are written again are read as the same. */
static void write_again(const struct feature_view *f)
{
    enum { MOST = 256 };
    static int64_t values[MOST], again[MOST];
    struct feature_reader r;
    struct feature_view found;
    struct buf message = BUF_INIT;
    feature_open(&r, f);
    int64_t n = feature_ints(&r, values, MOST);
    if (n < 0)
        return;
    struct feature feature = { "x", FEATURE_INTS, values, (size_t)n };
    example_encode(&message, &feature, 1);
    int there = example_find(message.data, message.len, "x", &found);
    assert(there == 1 && found.kind == FEATURE_INTS);
    feature_open(&r, &found);
    int64_t m = feature_ints(&r, again, MOST);
    assert(m == n && !memcmp(values, again, (size_t)n * sizeof *values));
    buf_release(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf line = BUF_INIT;
    struct example_reader r;
    struct feature_view f;
    if (listing_example(&line, data, size) < 0)
        assert(line.len == 0);
    else
        assert(line.len >= 3 && line.data[0] == '{' && line.data[line.len - 1] == '\n');
    for (example_open(&r, data, size); example_next(&r, &f) > 0;) {
        if (f.kind == FEATURE_INTS || f.kind == FEATURE_FLOATS)
            read_in_pieces(&f);
        if (f.kind == FEATURE_INTS)
            write_again(&f);
    }
    example_find(data, size, "input_ids", &f);
    buf_release(&line);
    return 0;
}
