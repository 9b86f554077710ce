/* group DEVICE RANKS [LOCAL [MANY]]: lets RANKS processes, each with a device, add arrays and
 * gather them as ops_exchange.h says (ops_group_reduce, ops_group_gather), and compares the bits
 * with plain loops. LOCAL of them are on each host (default: all). With MANY, the arrays are so
 * long that they are added in several pieces. Prints a line for each failure, and exits with 1 if
 * there is any. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "model/compute/backend.h"
#include "model/compute/ops.h"
#include "model/compute/ops_exchange.h"

enum { RANKS_MOST = 8 };

struct test {
    const char *device;
    int rank, ranks, local;
    int64_t bounds[RANKS_MOST + 1];
    struct ops *o;
    struct ops_group *g;
    int failures;
};

/* Numbers of sizes so different that each order of additions gives other bits. */
static float number(int rank, int64_t i)
{
    uint64_t bits = rng_at(rng_key(3, (uint64_t)rank), (uint64_t)i);
    return (float)((double)(int64_t)bits * 0x1p-63 * (double)(1 << (bits & 15)));
}

/* The sum, or the largest, of element i of the ranks from `first` on, as a binary tree. The left
 * branch has the largest power of two that leaves something for the right one. */
static float tree(int first, int count, int64_t i, int most)
{
    int left = 1;
    if (count == 1)
        return number(first, i);
    while (2 * left < count)
        left *= 2;
    float a = tree(first, left, i, most), b = tree(first + left, count - left, i, most);
    return most ? (a > b ? a : b) : a + b;
}

static void expect(struct test *t, int right, const char *what)
{
    if (!right)
        printf("FAIL %s: rank %d of %d: %s\n", t->device, t->rank, t->ranks, what);
    t->failures += !right;
}

static float *own_numbers(const struct test *t, int64_t n)
{
    float *own = mem_alloc((size_t)n * sizeof *own);
    for (int64_t i = 0; i < n; i++)
        own[i] = number(t->rank, i);
    return own;
}

/* Adds, or finds the largest. The sum must wait for the arithmetic before it. */
static void reduce(struct test *t, int most)
{
    const int64_t n = t->bounds[t->ranks], first = t->bounds[t->rank];
    const int64_t end = t->bounds[t->rank + 1];
    struct ops_mark mark = { NULL };
    struct ops_array x = ops_buffer(t->o, OPS_F32, n), y = ops_buffer(t->o, OPS_F32, n);
    float *own = own_numbers(t, n), *got = mem_alloc((size_t)n * sizeof *got);
    int right = 1;
    ops_upload(t->o, y, own, n);
    ops_copy(t->o, x, y, n);
    ops_mark(t->o, OPS_COMPUTE, &mark);
    ops_after(t->o, OPS_COMM, &mark);
    expect(t, !ops_group_reduce(t->o, t->g, most, x, t->bounds), err_get());
    ops_mark(t->o, OPS_COMM, &mark);
    while (!ops_reached(t->o, &mark))
        expect(t, !ops_group_check(t->o, t->g), err_get());
    ops_after(t->o, OPS_COMPUTE, &mark);
    ops_download(t->o, got, x, n);
    for (int64_t i = first; i < end; i++)
        right &= got[i] == tree(0, t->ranks, i, most);
    expect(t, right, most ? "another largest element" : "another sum");
    ops_mark_free(t->o, &mark);
    ops_buffer_free(t->o, x);
    ops_buffer_free(t->o, y);
    free(own);
    free(got);
}

/* The gathered array goes on to the host in another queue, which must wait for it, too. */
static void gather(struct test *t, enum ops_type type)
{
    const int64_t n = t->bounds[t->ranks];
    struct ops_mark mark = { NULL };
    const size_t each = ops_type_bytes(type), bytes = (size_t)n * each;
    struct ops_array x = ops_buffer(t->o, type, n), host = ops_host_buffer(t->o, (int64_t)bytes);
    unsigned char *own = mem_alloc((size_t)n * each);
    int right = 1;
    memset(own, t->rank + 1, (size_t)n * each);
    ops_upload(t->o, x, own, n);
    ops_mark(t->o, OPS_COMPUTE, &mark);
    ops_after(t->o, OPS_COMM, &mark);
    expect(t, !ops_group_gather(t->o, t->g, x, t->bounds), err_get());
    ops_mark(t->o, OPS_COMM, &mark);
    ops_after(t->o, OPS_OUT, &mark);
    ops_move(t->o, OPS_OUT, host, x, (int64_t)bytes);
    ops_mark(t->o, OPS_OUT, &mark);
    while (!ops_reached(t->o, &mark))
        expect(t, !ops_group_check(t->o, t->g), err_get());
    memcpy(own, ops_map(t->o, host, (int64_t)bytes), bytes);
    for (int q = 0; q < t->ranks; q++)
        for (int64_t i = t->bounds[q]; i < t->bounds[q + 1]; i++)
            right &= own[(size_t)i * each] == q + 1;
    expect(t, right, "another gather");
    ops_mark_free(t->o, &mark);
    ops_buffer_free(t->o, host);
    ops_buffer_free(t->o, x);
    free(own);
}

static int run_rank(struct test *t, const char *id)
{
    t->g = ops_group_join(t->o, id, t->rank, t->ranks, t->local);
    if (!t->g) {
        expect(t, 0, err_get());
        return 1;
    }
    for (int most = 0; most < 2; most++)
        reduce(t, most);
    gather(t, OPS_F32);
    gather(t, OPS_BF16);
    ops_group_leave(t->o, t->g);
    return !!t->failures;
}

/* Runs a rank in a process of its own. Rank 0 writes the identity of the group into `to` for all
 * others. Exits with 77 if the device cannot exchange arrays. */
static void start_rank(struct test t, int from, int to)
{
    char id[OPS_GROUP_ID], name[OPS_DEVICE_NAME];
    int found = -1, result = 1;
    t.o = ops_open_local(t.device, t.rank, 1);
    if (t.o)
        found = ops_group_find(t.o, name);
    if (found <= 0)
        printf("group: %s: %s\n", found ? "error" : "SKIP", err_get());
    else if (!t.rank && ops_group_identify(t.o, id) < 0)
        expect(&t, 0, err_get());
    else if (!t.rank && write(to, id, sizeof id) < 0)
        expect(&t, 0, "no pipe");
    for (int r = 2; r < t.ranks && found > 0 && !t.rank; r++)
        found = write(to, id, sizeof id) < 0 ? -1 : found;
    if (found > 0 && (!t.rank || read(from, id, sizeof id) == sizeof id))
        result = run_rank(&t, id);
    ops_free(t.o);
    exit(found == 0 ? 77 : result);
}

int main(int argc, char **argv)
{
    struct test t = { .device = argc > 2 ? argv[1] : "", .ranks = argc > 2 ? atoi(argv[2]) : 0 };
    const int64_t n = argc > 4 ? OPS_GROUP_ROOM + 3001 : 3001;
    int ends[2], failed = 0, skipped = 0;
    t.local = argc > 3 ? atoi(argv[3]) : t.ranks;
    if (t.ranks < 1 || t.ranks > RANKS_MOST || t.local < 1 || t.ranks % t.local || pipe(ends) < 0) {
        fprintf(stderr, "usage: %s DEVICE RANKS [LOCAL [MANY]]\n", argv[0]);
        return 2;
    }
    for (int q = 1; q <= t.ranks; q++) /* share 0 of three or more is empty */
        t.bounds[q] = q == t.ranks ? n : q == 1 && t.ranks > 2 ? 0 : n * q / t.ranks + q;
    for (t.rank = 0; t.rank < t.ranks; t.rank++)
        if (!fork())
            start_rank(t, ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
    for (int status; wait(&status) > 0;) {
        skipped += WIFEXITED(status) && WEXITSTATUS(status) == 77;
        failed += !WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 77);
    }
    printf("group: %d passed, %d failed, %d skipped\n", t.ranks - failed - skipped, failed,
           skipped);
    return !!failed;
}
