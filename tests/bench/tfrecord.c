/* tfrecord: encodes, frames, checksums and reads back records of 1,025 token ids in memory, in one
 * thread. Prints the speed of writing and of reading, in MB of file per second of processor time.
 * With a file name, also writes the file, for other programs to read. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/pyrandom.h"
#include "common/files/file.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/formats/record.h"

enum {
    IDS = 1025,
    RECORDS = 4096,
    DISTINCT = 64
}; /* ids stay in the cache, as those just made do */

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Draws ids of a vocabulary of 50,257, small ones more often, as in text: most have two or three
 * bytes, some one. */
static void draw(struct pyrandom *r, int64_t *ids)
{
    for (int i = 0; i < IDS; i++) {
        double x = pyrandom_real(r);
        ids[i] = (int64_t)(x * x * 50257);
    }
}

static void write_all(struct buf *file, const int64_t *ids)
{
    struct buf message = BUF_INIT;
    buf_clear(file);
    for (int i = 0; i < RECORDS; i++) {
        struct feature f = { "input_ids", FEATURE_INTS, ids + (size_t)(i % DISTINCT) * IDS, IDS };
        buf_clear(&message);
        example_encode(&message, &f, 1);
        record_frame(file, message.data, message.len);
    }
    buf_release(&message);
}

/* Returns the sum of all ids, so that each must be read. */
static int64_t read_all(const struct buf *file)
{
    struct file_map map = { (const unsigned char *)file->data, file->len };
    struct record r;
    struct feature_view view;
    struct feature_reader values;
    static int64_t ids[IDS];
    int64_t sum = 0;
    for (uint64_t at = 0; record_read(&map, at, &r) > 0; at = record_end(&r)) {
        if (example_find(r.data, r.bytes, "input_ids", &view) <= 0)
            exit(1);
        feature_open(&values, &view);
        int64_t n = feature_ints(&values, ids, IDS);
        for (int64_t i = 0; i < n; i++)
            sum += ids[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct pyrandom r;
    struct buf file = BUF_INIT;
    int64_t *ids = malloc(sizeof *ids * IDS * DISTINCT), sum = 0;
    pyrandom_seed(&r, 1);
    for (size_t i = 0; i < DISTINCT; i++)
        draw(&r, ids + i * IDS);
    for (size_t i = 0; i < (size_t)IDS * RECORDS; i++)
        sum += ids[i % ((size_t)IDS * DISTINCT)];
    write_all(&file, ids);
    if (argc > 1)
        return file_write(argv[1], file.data, file.len) < 0;
    for (int round = 0; round < 7; round++) {
        double a = cpu();
        write_all(&file, ids);
        double b = cpu();
        if (read_all(&file) != sum)
            return 1;
        double c = cpu(), mb = 1e-6 * (double)file.len;
        printf("%.0f %.0f\n", mb / (b - a), mb / (c - b));
    }
    buf_release(&file);
    free(ids);
    return 0;
}
