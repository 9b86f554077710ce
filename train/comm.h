/*
 * comm.h - the other processes (ranks) of a run, as training sees them.
 *
 * Ranks stand in groups. Data parallel ranks have equal weights and learn from other samples;
 * tensor parallel ranks share each layer of the same weights (model/split.h) and learn from the
 * same samples. In a run of one process each group has one member, and every operation here does
 * nothing.
 *
 * Operations on large arrays are begun, and ended when the result is needed; a thread of their own
 * does them meanwhile, one after the other. All members of a group must begin the same operations
 * in the same order. What they are is named for the trace and for the report about a rank that does
 * not come. Sums have one order (reduce.h) and leave the same bits on every member.
 *
 * When a rank has died, or waits longer than the time limit, no rank can go on: the error is
 * printed and the processes of all ranks end with status 1. So no function here fails in the middle
 * of a run.
 */
#ifndef TEXTMILL_TRAIN_COMM_H
#define TEXTMILL_TRAIN_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "model/ops.h"
#include "model/split.h"
#include "train/transport.h"

/* Rank r of the world is number r % tensor of its tensor group, and r / tensor of its data group.
 */
enum comm_group { COMM_WORLD, COMM_DATA, COMM_TENSOR, COMM_GROUPS };

struct comm_counts {
    int64_t operations; /* on large arrays */
    uint64_t bytes;     /* sent by this rank in them */
    double seconds;     /* that they took */
    double waited;      /* of these, in comm_end */
};

struct comm {
    int rank[COMM_GROUPS]; /* of this process in the group */
    int size[COMM_GROUPS];
    struct comm_counts counts[COMM_GROUPS];
    struct comm_thread *thread; /* NULL: one process */
};

struct comm_config {
    const struct transport *transport;
    void *context; /* of its open */
    double timeout_seconds;
    const volatile int *stop; /* borrowed; not 0 when this process was told to end. NULL: never */

    /* Instead of printing the error and ending all processes; NULL: not. The operation and all
     * later ones then do nothing. */
    void (*failed)(void *ctx, const char *error);
    void *failed_ctx;
};

/* ---- life cycle --------------------------------------------------------------------------- */

void comm_init(struct comm *c); /* a run of one process */

/* How many ranks the launcher (mpirun, srun) says that it has started; 1 without one. */
int comm_launched(void);

/* Joins the ranks of the transport; all of them stand in the data group, in their order. */
int comm_open(struct comm *c, const struct comm_config *config);
/* Forms the groups again, with so many ranks in a tensor group, which divide the world's. Nothing
 * may be begun. */
void comm_regroup(struct comm *c, int tensor);
/* Leaves when all ranks have come here. */
void comm_close(struct comm *c);

int comm_is_first(const struct comm *c); /* 1 in the process that logs and saves */
const char *comm_host(const struct comm *c, int rank);

/* ---- large arrays ------------------------------------------------------------------------- */

/* An operation that was begun. Its array is nobody's until comm_end. */
struct comm_work;

/* x[n], F32, becomes the sum over the group. NULL where there is nothing to do. */
struct comm_work *comm_sum_begin(struct comm *c, enum comm_group group, struct ops *o,
                                 struct ops_array x, int64_t n, const char *what);
/* As comm_sum_begin, of this rank's share alone (reduce.h); the rest of x means nothing afterwards.
 * bounds [size+1] is borrowed until the end, as below. */
struct comm_work *comm_scatter_begin(struct comm *c, enum comm_group group, struct ops *o,
                                     struct ops_array x, const int64_t *bounds, const char *what);
/* x, of any type, gets each share from its rank. */
struct comm_work *comm_gather_begin(struct comm *c, enum comm_group group, struct ops *o,
                                    struct ops_array x, const int64_t *bounds, const char *what);
void comm_end(struct comm *c, struct comm_work *work); /* fine on NULL */

/* The tensor group as a model's functions see it; c is borrowed. They wait for each operation. */
struct split comm_split(struct comm *c);

/* ---- small things ------------------------------------------------------------------------- */

/* all[size][bytes]: `mine` of each member. */
void comm_collect(struct comm *c, enum comm_group group, void *all, const void *mine, size_t bytes,
                  const char *what);
/* The sum by rank, from 0 on. */
double comm_sum_real(struct comm *c, enum comm_group group, double x);
/* -1 when `result` is below 0 on any rank of the world. Then each rank has the error of the first
 * of those that failed, with its name in front unless all ranks failed. */
int comm_agree(struct comm *c, int result);
/* The largest on any rank of the world. */
int comm_most(struct comm *c, int x);

/* The first rank of the world that has another value of it than rank 0; 0: none. */
int comm_differs(struct comm *c, uint64_t value);

#endif
