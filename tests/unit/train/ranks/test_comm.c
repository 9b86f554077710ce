/* Communication of ranks: sums whose order does not depend on the number of ranks, scatters,
 * gathers, and the report about a rank that does not arrive. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "tests/unit/threads.h"
#include "train/ranks/reduce.h"

enum { LEAVES = 8, N = 700001, BIG = 1 << 18 };

/* Sets x[N] to the numbers of leaf `leaf`. Their sizes are so different that each order of
 * additions gives other bits. */
static void fill(float *x, int leaf)
{
    for (int64_t i = 0; i < N; i++) {
        uint64_t bits = rng_at(rng_key(7, (uint64_t)leaf), (uint64_t)i);
        x[i] = (float)((double)(int64_t)bits * 0x1p-63 * (double)(1 << (bits & 15)));
    }
}

/* Adds the leaves from `first` on, as a binary tree: (0 + 1) + (2 + 3) and so on. Writes the sum to
 * x[N]. */
static void sum_leaves(float *x, int first, int count)
{
    if (count == 1) {
        fill(x, first);
        return;
    }
    float *right = mem_alloc(N * sizeof *right);
    sum_leaves(x, first, count / 2);
    sum_leaves(right, first + count / 2, count - count / 2);
    for (int64_t i = 0; i < N; i++)
        x[i] += right[i];
    free(right);
}

struct sums {
    float *want;
    int equal, shares_equal; /* ranks that have found it so */
    pthread_mutex_t lock;
};

static void count(struct sums *s, int *counter, int one)
{
    pthread_mutex_lock(&s->lock);
    *counter += one;
    pthread_mutex_unlock(&s->lock);
}

static struct ops_array own_leaves(struct ops *o, const struct comm *c)
{
    const int each = LEAVES / c->size[COMM_DATA];
    struct ops_array x = ops_buffer(o, OPS_F32, N);
    float *sum = mem_alloc(N * sizeof *sum);
    sum_leaves(sum, c->rank[COMM_DATA] * each, each);
    ops_upload(o, x, sum, N);
    free(sum);
    return x;
}

static void sum_on_rank(void *ctx, struct comm *c)
{
    struct sums *s = ctx;
    struct ops *o = ops_open("cpu", 1);
    struct ops_array x = own_leaves(o, c);
    float *got = mem_alloc(N * sizeof *got);
    comm_end(c, comm_sum_begin(c, o, x, N, "test"));
    ops_download(o, got, x, N);
    count(s, &s->equal, !memcmp(got, s->want, N * sizeof *got));
    ops_buffer_free(o, x);
    free(got);
    ops_free(o);
}

/* Scatters the sums of two arrays at the same time, in shares of different sizes; one share is
 * empty. */
static void share_on_rank(void *ctx, struct comm *c)
{
    struct sums *s = ctx;
    struct ops *o = ops_open("cpu", 1);
    const int R = c->size[COMM_DATA], q = c->rank[COMM_DATA];
    struct ops_array x = own_leaves(o, c), y = own_leaves(o, c);
    float *got = mem_alloc(N * sizeof *got);
    int64_t bounds[LEAVES + 1] = { 0 };
    for (int r = 1; r <= R; r++)
        bounds[r] = r == R ? N : r == 1 ? 0 : (int64_t)N * r / R + r;
    struct comm_work *first = comm_scatter_begin(c, o, x, bounds, "scatter of x");
    struct comm_work *second = comm_scatter_begin(c, o, y, bounds, "scatter of y");
    comm_end(c, second);
    comm_end(c, first);
    ops_download(o, got, x, N);
    int equal = !memcmp(got + bounds[q], s->want + bounds[q],
                        (size_t)(bounds[q + 1] - bounds[q]) * sizeof *got);
    comm_end(c, comm_gather_begin(c, o, y, bounds, "gather of y"));
    ops_download(o, got, y, N);
    count(s, &s->shares_equal, equal && !memcmp(got, s->want, N * sizeof *got));
    ops_buffer_free(o, x);
    ops_buffer_free(o, y);
    free(got);
    ops_free(o);
}

/* Two arrays go round the stages of a pipeline in both directions, while a sum is made. All stages
 * send before they receive, so a send must not wait for its receive. */
static void pass_on_rank(void *ctx, struct comm *c)
{
    enum { TAG_UP = 3, TAG_DOWN };
    struct ops *o = ops_open("cpu", 1);
    comm_regroup(c, c->size[COMM_WORLD] / 2, 1, 1);
    const int S = c->size[COMM_PIPE], s = c->rank[COMM_PIPE];
    const int up = (s + 1) % S, down = (s + S - 1) % S;
    struct ops_array own = own_leaves(o, c),
                     from[2] = { ops_buffer(o, OPS_F32, N), ops_buffer(o, OPS_F32, N) };
    float tag = (float)s, got[2];
    ops_upload(o, own, &tag, 1);
    struct comm_work *sent[] = {
        comm_transfer_begin(c, COMM_PIPE, 1, up, TAG_UP, o, own, N, "up"),
        comm_transfer_begin(c, COMM_PIPE, 1, down, TAG_DOWN, o, own, N, "down"),
    };
    const double sum = comm_sum_real(c, COMM_WORLD, 1);
    struct comm_work *received[] = {
        comm_transfer_begin(c, COMM_PIPE, 0, up, TAG_DOWN, o, from[0], N, "down"),
        comm_transfer_begin(c, COMM_PIPE, 0, down, TAG_UP, o, from[1], N, "up"),
    };
    for (int i = 0; i < 2; i++) {
        comm_end(c, received[i]);
        comm_end(c, sent[i]);
        ops_download(o, &got[i], from[i], 1);
    }
    count(ctx, &((struct sums *)ctx)->equal,
          sum == 2 * S && got[0] == (float)up && got[1] == (float)down);
    for (int i = 0; i < 2; i++)
        ops_buffer_free(o, from[i]);
    ops_buffer_free(o, own);
    ops_free(o);
}

Test(comm, stages_send_and_receive_in_both_directions)
{
    struct sums s = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct threads *w = threads_new(8);
    threads_run(w, pass_on_rank, &s);
    cr_assert_eq(s.equal, 8);
    threads_free(w);
}

/* Two stages, each of two tensor-parallel ranks. */
static void group_on_rank(void *ctx, struct comm *c)
{
    comm_regroup(c, 2, 2, 1);
    const int r = c->rank[COMM_WORLD];
    count(ctx, &((struct sums *)ctx)->equal,
          c->size[COMM_DATA] == 2 && c->size[COMM_PIPE] == 2 && c->size[COMM_TENSOR] == 2 &&
              c->size[COMM_MODEL] == 4 && c->rank[COMM_TENSOR] == r % 2 &&
              c->rank[COMM_PIPE] == r / 2 % 2 && c->rank[COMM_DATA] == r / 4 &&
              c->rank[COMM_MODEL] == r % 4 && comm_sum_real(c, COMM_PIPE, r) == 2 * (r & ~2) + 2 &&
              comm_sum_real(c, COMM_DATA, r) == 2 * (r & ~4) + 4 &&
              comm_sum_real(c, COMM_MODEL, r) == 4 * (r & ~3) + 6);
}

Test(comm, ranks_form_groups_of_three_kinds)
{
    struct sums s = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct threads *w = threads_new(8);
    threads_run(w, group_on_rank, &s);
    cr_assert_eq(s.equal, 8);
    threads_free(w);
}

Test(comm, sums_have_the_same_bits_on_any_number_of_ranks)
{
    struct sums s = { .want = mem_alloc(N * sizeof(float)), .lock = PTHREAD_MUTEX_INITIALIZER };
    sum_leaves(s.want, 0, LEAVES);
    for (int ranks = 1; ranks <= LEAVES; ranks *= 2) {
        struct threads *w = threads_new(ranks);
        s.equal = s.shares_equal = 0;
        threads_run(w, sum_on_rank, &s);
        cr_assert_eq(s.equal, ranks, "%d ranks: only %d have the sum", ranks, s.equal);
        threads_run(w, share_on_rank, &s);
        cr_assert_eq(s.shares_equal, ranks, "%d ranks: only %d have their share", ranks,
                     s.shares_equal);
        threads_free(w);
    }
    free(s.want);
}

/* Hosts with 1, 2, 4 and 8 ranks; of hosts with 3 ranks, or 6, only the first can be full. A host
 * sends as much as one rank of a ring of hosts would. */
Test(comm, sums_over_hosts_have_the_same_bits_and_few_bytes)
{
    struct sums s = { .want = mem_alloc(N * sizeof(float)), .lock = PTHREAD_MUTEX_INITIALIZER };
    sum_leaves(s.want, 0, LEAVES);
    for (int local = 1; local <= LEAVES; local++) {
        struct threads *w = threads_new(LEAVES);
        const double hosts = LEAVES / local;
        threads_set_hosts(w, local);
        threads_run(w, sum_on_rank, &s);
        cr_assert_eq(s.equal, LEAVES, "%d ranks of a host: only %d have the sum", local, s.equal);
        const double sent = (double)threads_sent(w) / hosts;
        if (LEAVES % local == 0)
            cr_assert_leq(sent, 2 * (hosts - 1) / hosts * N * sizeof(float) * 1.01);
        threads_run(w, share_on_rank, &s);
        cr_assert_eq(s.shares_equal, LEAVES, "%d ranks of a host: only %d have their share", local,
                     s.shares_equal);
        s.equal = s.shares_equal = 0;
        threads_free(w);
    }
    free(s.want);
}

Test(comm, a_stack_of_sums_is_a_tree)
{
    const int merges[] = { 0, 1, 0, 2, 0, 1, 0, 3 };
    for (int k = 0; k < 8; k++)
        cr_assert_eq(reduce_merges(k, k == 7), merges[k]);
    cr_assert_eq(reduce_merges(0, 1), 0);
    cr_assert_eq(reduce_merges(2, 1), 1); /* of three: the last with the sum of two */
    cr_assert_eq(reduce_merges(6, 1), 2);
}

static void small_things(void *ctx, struct comm *c)
{
    struct sums *s = ctx;
    const int R = c->size[COMM_WORLD], q = c->rank[COMM_WORLD];
    int mine = 10 * q, right = 1;
    size_t room;
    char text[] = "rank 1, to which others add ...";
    text[20 + q] = 0;
    SCOPED_MEM int *all = comm_collect(c, COMM_WORLD, &mine, sizeof mine, "numbers");
    SCOPED_MEM char *texts = comm_texts(c, text, &room, "texts");
    for (int r = 0; r < R; r++)
        right &= strlen(texts + (size_t)r * room) == (size_t)(20 + r);
    for (int r = 0; r < R; r++)
        right &= all[r] == 10 * r;
    right &= comm_sum_real(c, COMM_DATA, q + 1) == R * (R + 1) / 2.0;
    right &= comm_agree(c, 0) == 0 && comm_most(c, q) == R - 1;
    const int failed = q == R - 1 ? err_set("%0600d: disk is full", 0) : 0; /* after a long name */
    right &= comm_agree(c, failed) == -1;
    right &= !!strstr(err_get(), "disk is full") && !strncmp(err_get(), "rank", 4) == (R > 1);
    right &= comm_differs(c, 5) == 0 && comm_differs(c, q == R - 1 ? 6 : 5) == R - 1;
    right &= comm_is_first(c) == !q;
    count(s, &s->equal, right);
}

Test(comm, ranks_agree)
{
    for (int ranks = 1; ranks <= 5; ranks++) {
        struct sums s = { .lock = PTHREAD_MUTEX_INITIALIZER };
        struct threads *w = threads_new(ranks);
        threads_run(w, small_things, &s);
        cr_assert_eq(s.equal, ranks);
        threads_free(w);
    }
}

/* Of eight ranks, hosts have three, three and two. */
static void sum_of_host(void *ctx, struct comm *c)
{
    struct sums *s = ctx;
    const int q = c->rank[COMM_WORLD], first = q / 3 * 3;
    const double sum = comm_sum_real(c, COMM_HOST, q + 1);
    count(s, &s->equal,
          c->rank[COMM_HOST] == q - first && c->size[COMM_HOST] == (first < 6 ? 3 : 2) &&
              sum == (first < 6 ? 3 * first + 6 : 15));
}

Test(comm, hosts_are_groups)
{
    struct sums s = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct threads *w = threads_new(8);
    threads_set_hosts(w, 3);
    threads_run(w, sum_of_host, &s);
    cr_assert_eq(s.equal, 8);
    threads_free(w);
}

struct reports {
    pthread_mutex_t lock;
    char text[4096];
};

static void keep_report(void *ctx, const char *error)
{
    struct reports *r = ctx;
    pthread_mutex_lock(&r->lock);
    strncat(r->text, error, sizeof r->text - strlen(r->text) - 2);
    strcat(r->text, "\n");
    pthread_mutex_unlock(&r->lock);
}

/* What each rank does in the test of the time limit: rank 2 waits for 4 seconds between two
 * exchanges. */
static void come_late(void *ctx, struct comm *c)
{
    (void)ctx;
    const int mine = 0;
    free(comm_collect(c, COMM_WORLD, &mine, sizeof mine, "the step before"));
    if (c->rank[COMM_WORLD] == 2)
        usleep(4000000);
    free(comm_collect(c, COMM_WORLD, &mine, sizeof mine, "layer 5 gradients"));
}

Test(comm, a_rank_that_does_not_come_is_named)
{
    struct reports r = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct threads *w = threads_new(3);
    threads_set_timeout(w, 1.5, keep_report, &r);
    threads_run(w, come_late, NULL);
    *strchr(r.text, '\n') = '\0'; /* the first report; then the run has ended */
    cr_assert(strstr(r.text, "'layer 5 gradients', for rank 2 on "), "%s", r.text);
    cr_assert(strstr(r.text, "computes after operation 2, 'the step before'"), "%s", r.text);
    cr_assert_not(strstr(r.text, "does not answer"), "%s", r.text);
    threads_free(w);
}

/* There are two ranks. Rank 1 begins its scatter only when that of rank 0 has failed. */
struct late {
    sem_t failed, sent;
    int right, changed; /* changed: bytes of other memory that were written */
};

static void say_failed(void *ctx, const char *error)
{
    struct late *l = ctx;
    if (!strstr(error, "'numbers', for rank 1 on "))
        return; /* rank 1 itself, which has found that the run has ended */
    const size_t bytes = reduce_room_bytes(2);
    char *other = mem_zalloc(bytes, 1);
    l->right++;
    sem_post(&l->failed);
    sem_wait(&l->sent);
    for (size_t i = 0; i < bytes; i++)
        l->changed += other[i] != 0;
    free(other);
}

static void scatter_late(void *ctx, struct comm *c)
{
    struct late *l = ctx;
    struct ops *o = ops_open("cpu", 1);
    const int64_t bounds[] = { 0, BIG, 2 * BIG };
    struct ops_array x = ops_buffer(o, OPS_F32, 2 * BIG);
    float *numbers = ops_fill(o, x, 2 * BIG);
    for (int i = 0; i < 2 * BIG; i++)
        numbers[i] = 1;
    ops_unmap(o, x, 2 * BIG, numbers);
    if (c->rank[COMM_WORLD])
        sem_wait(&l->failed);
    struct comm_work *w = comm_scatter_begin(c, o, x, bounds, "numbers");
    if (c->rank[COMM_WORLD]) {
        usleep(200000); /* until its first messages are sent */
        sem_post(&l->sent);
    }
    comm_end(c, w);
    ops_buffer_free(o, x);
    ops_free(o);
}

/* A rank that gives up waiting has receives that another rank may still complete. Their memory must
 * be there until the run ends. If a scatter frees it, the next block of that size is in the same
 * place. */
Test(comm, what_a_failed_scatter_receives_has_its_memory)
{
    struct late l = { .right = 0 };
    sem_init(&l.failed, 0, 0);
    sem_init(&l.sent, 0, 0);
    struct threads *w = threads_new(2);
    threads_set_timeout(w, 0.5, say_failed, &l);
    threads_run(w, scatter_late, &l);
    cr_assert_eq(l.right, 1);
    cr_assert_eq(l.changed, 0, "%d bytes were received into freed memory", l.changed);
    threads_free(w);
}

/* ---- messages ---------------------------------------------------------------------------------- */

/* A transport that only notes the messages. */
struct noted {
    size_t count, bytes, most;
    const char *end; /* of the last message */
};

static int note(void *world, void **request, int, int, void *data, size_t bytes, int)
{
    struct noted *n = world;
    if (n->count++)
        cr_assert_eq((const char *)data, n->end);
    n->end = (const char *)data + bytes;
    n->bytes += bytes;
    n->most = bytes > n->most ? bytes : n->most;
    *request = n;
    return 0;
}

/* MPI counts the bytes of a message by an int. */
Test(comm, an_array_of_gigabytes_goes_in_messages_that_mpi_can_count)
{
    static char data;
    const size_t bytes = (3ULL << 30) + 5;
    const struct transport noting = { .begin = note };
    struct noted n = { 0 };
    struct link l = { .transport = &noting, .world = &n };
    struct link_list messages = { 0 };
    cr_assert_eq(link_exchange(&l, &messages, 1, 7, &data, bytes, 0), 0);
    cr_expect_eq(n.bytes, bytes);
    cr_expect(n.most <= LINK_MESSAGE && n.count == 49 && messages.count == n.count);
    free(messages.all);
}

Test(comm, one_process_needs_no_other)
{
    struct comm c;
    struct ops *o = ops_open("cpu", 1);
    const int64_t bounds[] = { 0, 3 };
    float x[] = { 1, 2, 3 };
    struct ops_array a = ops_host_array(x, OPS_F32);
    comm_init(&c);
    comm_end(&c, comm_sum_begin(&c, o, a, 3, ""));
    comm_end(&c, comm_scatter_begin(&c, o, a, bounds, ""));
    comm_end(&c, comm_gather_begin(&c, o, a, bounds, ""));
    cr_assert(x[0] == 1 && x[1] == 2 && x[2] == 3);
    cr_assert_eq(comm_sum_real(&c, COMM_DATA, 4.5), 4.5);
    cr_assert(comm_agree(&c, -1) == -1 && !comm_agree(&c, 0));
    comm_close(&c);
    ops_free(o);
}
