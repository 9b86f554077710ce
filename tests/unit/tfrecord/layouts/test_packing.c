/* Rows of instances, beside a search through all rows. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/rng.h"
#include "tfrecord/layouts/packing.h"

enum { COUNT = 40, LENGTH = 20 };

struct slow_row {
    struct packing_row row;
    uint32_t room, masked, put; /* put: when the last sequence was put into it */
};

/* The longest goes first; of the rows that can take it, those with the least free space are asked,
 * and of these the newest first. */
static size_t pack_slowly(const struct instance *list, uint32_t most_masked, uint32_t most,
                          struct slow_row *rows)
{
    size_t count = 0;
    uint32_t puts = 0;
    for (uint32_t want = LENGTH; want; want--)
        for (uint32_t i = 0; i < COUNT; i++) {
            if (list[i].length != want)
                continue;
            size_t best = count;
            for (size_t r = 0; r < count; r++) {
                if (rows[r].room < want || rows[r].row.count == most ||
                    rows[r].masked + list[i].masked > most_masked)
                    continue;
                if (best == count || rows[r].room < rows[best].room ||
                    (rows[r].room == rows[best].room && rows[r].put > rows[best].put))
                    best = r;
            }
            if (best == count)
                rows[count++] = (struct slow_row){ .room = LENGTH };
            struct slow_row *row = &rows[best];
            memmove(row->row.members + 1, row->row.members,
                    row->row.count * sizeof *row->row.members);
            row->row.members[0] = i;
            row->row.count++;
            row->room -= want;
            row->masked += list[i].masked;
            row->put = ++puts;
        }
    return count;
}

Test(packing, of_instances_equals_a_search_through_all_rows)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct instance list[COUNT];
        struct slow_row want[COUNT];
        struct packing_row got[COUNT];
        const struct instances all = { .list = list, .count = COUNT };
        const uint32_t most = 1 + (uint32_t)seed % PACKING_MAX;
        const uint32_t masked = 2 + (uint32_t)(seed / PACKING_MAX) % 4;
        for (uint64_t i = 0; i < COUNT; i++)
            list[i] = (struct instance){
                .length = 1 + (uint32_t)(rng_at(seed, i) % LENGTH),
                .masked = (uint32_t)(rng_at(seed + 1000, i) % 3),
            };
        const size_t rows = pack_slowly(list, masked, most, want);
        cr_assert_eq(packing_make(&all, LENGTH, masked, most, got), rows, "seed %d", (int)seed);
        for (size_t r = 0; r < rows; r++) {
            cr_assert_eq(got[r].count, want[r].row.count, "seed %d, row %zu", (int)seed, r);
            for (uint32_t m = 0; m < got[r].count; m++)
                cr_assert_eq(got[r].members[m], want[r].row.members[m], "seed %d, row %zu",
                             (int)seed, r);
        }
    }
}
