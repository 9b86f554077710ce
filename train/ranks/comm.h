/*
 * comm.h - communication with the other processes (ranks) of a training run.
 *
 * Ranks form groups. Data-parallel ranks have equal weights and learn from different samples.
 * Tensor-parallel ranks share each layer of the same weights (model/network/split.h) and learn from
 * the same samples. The ranks of a pipeline are its stages: each has other layers of the same
 * weights (program.h), and they, too, learn from the same samples. In a run of one process each
 * group has one member, and no operation sends anything.
 *
 * An operation on a large array is begun first and ended when its result is needed. In between, a
 * separate thread carries out the operations one after the other. All members of a group must begin
 * the same operations in the same order. The name of an operation is for the trace and for the
 * error about a rank that does not respond. Sums are added in a fixed order (reduce.h), so all
 * members get the same bits.
 *
 * Operations may also run directly between GPUs (comm_join_devices). The GPU then does them in a
 * queue of its own, and the thread only watches it. comm_end makes the GPU wait for the end of the
 * operation, and not the caller.
 *
 * When a rank has died, or waits longer than the time limit, no rank can go on: the error is
 * printed and the processes of all ranks end with status 1. So the operations here return no
 * errors.
 */
#pragma once

#include "model/compute/ops.h"
#include "model/compute/ops_exchange.h"
#include "model/network/split.h"
#include "train/ranks/transport.h"

/* COMM_WORLD is all ranks. With T ranks in each tensor-parallel group and pipelines of S stages,
 * rank r of the world is number r % T of its tensor-parallel group (COMM_TENSOR), number r / T % S
 * of its pipeline (COMM_PIPE), and number r / (T S) of its data-parallel group (COMM_DATA). A
 * tensor-parallel group is a grid of T1 x T2 ranks (model/network/split.h): its member q is number
 * q / T2 along the first dimension (COMM_TENSOR1), and number q % T2 along the second
 * (COMM_TENSOR2). COMM_MODEL is all ranks that together hold one copy of the model: its member q is
 * number q % T of its tensor-parallel group and belongs to stage q / T. COMM_HOST is the ranks on
 * the same host, in the order of their numbers. */
enum comm_group {
    COMM_WORLD,
    COMM_HOST,
    COMM_DATA,
    COMM_TENSOR,
    COMM_TENSOR1,
    COMM_TENSOR2,
    COMM_PIPE,
    COMM_MODEL,
    COMM_GROUPS
};

struct comm_counts {
    int64_t operations; /* operations on large arrays */
    uint64_t bytes;     /* bytes that this rank sent in these operations */
    uint64_t direct;    /* those of the bytes that went from device to device */
    double seconds;     /* duration of the operations that were not direct */
    double waited;      /* the part of it that comm_end waited */
};

struct comm {
    int rank[COMM_GROUPS]; /* number of this process in each group */
    int size[COMM_GROUPS];
    struct comm_counts counts[COMM_GROUPS];
    struct comm_thread *thread; /* NULL in a run of one process */
};

struct comm_config {
    const struct transport *transport;
    void *context;    /* context for transport->open */
    const char *host; /* the name of this host; NULL: the system is asked */
    double timeout_seconds;
    const volatile int *stop; /* borrowed; not 0 when this process was told to end. NULL: never */
};

/* ---- life cycle --------------------------------------------------------------------------- */

void comm_init(struct comm *c); /* sets *c up for a run of one process */

/* Returns the number of ranks that the launcher (mpirun, srun) started; 1 without a launcher. */
int comm_launched(void);

/* Joins the other ranks through the transport. All ranks are then in one data-parallel group, in
 * the order of their numbers. Returns 0, or -1 with an error. */
int comm_open(struct comm *c, const struct comm_config *config);
/* Forms the groups again, with pipelines of `pipe` stages and with grids of tensor1 x tensor2 ranks
 * as tensor-parallel groups. The product of the three must divide the number of ranks. No operation
 * may be in progress. */
void comm_regroup(struct comm *c, int pipe, int tensor1, int tensor2);
/* Leaves the run. Returns when all ranks have called it. */
void comm_close(struct comm *c);

/* How large arrays go from the device of one rank to that of another: directly, if a library for
 * that is installed and each rank has a device of its own (ops_group_find), or through the memory
 * of the hosts and the transport. */
enum comm_way { COMM_AUTO, COMM_DIRECT, COMM_STAGED };
#define COMM_WAY_WORDS "auto|direct|staged" /* in the order of the enum */

/* Decides how arrays of `o` are sent, and lets the devices of each data-parallel and
 * tensor-parallel group join; call it on all ranks, after comm_regroup. Sends of a pipeline are
 * always staged. Appends a line for the log to `said`, or nothing if arrays are in the hosts'
 * memory or there is one rank. Returns 0, or -1 with an error, on all ranks. With COMM_DIRECT it is
 * an error if the arrays would have to be staged. */
int comm_join_devices(struct comm *c, struct ops *o, enum comm_way way, struct buf *said);
/* Waits for all operations. Call it before ops_free. */
void comm_leave_devices(struct comm *c);

int comm_is_first(const struct comm *c);               /* 1 in the process that logs and saves */
const char *comm_host(const struct comm *c, int rank); /* the name of its host; borrowed */

/* ---- large arrays ------------------------------------------------------------------------- */

/* An operation in progress. Its array must not be used until comm_end. */
struct comm_work;

/* Begins to replace x[n], F32, by its sum over the ranks of the data-parallel group. `what` names x
 * in error messages. Returns NULL if the group has only this rank, so that nothing needs to be
 * done. */
struct comm_work *comm_sum_begin(struct comm *c, struct ops *o, struct ops_array x, int64_t n,
                                 const char *what);
/* Begins a sum as comm_sum_begin does, but each rank gets only its own share of the sum: elements
 * bounds[rank] to bounds[rank+1] - 1 (reduce.h). The other elements of x are undefined afterwards.
 * bounds [size+1] is borrowed until comm_end. */
struct comm_work *comm_scatter_begin(struct comm *c, struct ops *o, struct ops_array x,
                                     const int64_t *bounds, const char *what);
/* Begins to copy each share of x, of any type, from the rank that has it to all others. Returns
 * NULL if comm_sum_begin would. `bounds` is as in comm_scatter_begin. */
struct comm_work *comm_gather_begin(struct comm *c, struct ops *o, struct ops_array x,
                                    const int64_t *bounds, const char *what);
/* Begins to send x[n], of any type, to member `peer` of the group or, with sends 0, to receive x[n]
 * from it. The transfer goes on while later operations run. Arrays that one rank sends to another
 * with the same tag (0 to COMM_TAGS - 1) are received in the order in which they are sent. comm_end
 * must be called for receives with the same tag from the same peer in the order in which they
 * began. */
enum { COMM_TAGS = 64 };
struct comm_work *comm_transfer_begin(struct comm *c, enum comm_group group, int sends, int peer,
                                      int tag, struct ops *o, struct ops_array x, int64_t n,
                                      const char *what);
void comm_end(struct comm *c, struct comm_work *work); /* waits for the end; does nothing on NULL */
void comm_end_of(struct comm *c, struct comm_work **work); /* the same, and sets *work to NULL */

/* Returns the operations of the tensor-parallel group in the form that the functions of a model use
 * (model/network/split.h). They borrow c. Each operation returns when it has ended. */
struct split comm_split(struct comm *c);

/* ---- small values ------------------------------------------------------------------------- */

/* Returns [size][bytes]: the `mine` of each rank of the group, `bytes` bytes each, in the order of
 * the ranks' numbers in the group. The caller frees it. */
void *comm_collect(struct comm *c, enum comm_group group, const void *mine, size_t bytes,
                   const char *what);
/* Returns the texts of all ranks of the world, which begin *room bytes apart. The caller frees it.
 */
char *comm_texts(struct comm *c, const char *text, size_t *room, const char *what);
/* Returns the sum of x over the group, added in the order of the ranks. */
double comm_sum_real(struct comm *c, enum comm_group group, double x);
/* Call it on all ranks of the world. Returns -1 on all of them if `result` is below 0 on any of
 * them, else 0. Each rank then has the error of the first rank that failed, with that rank's name
 * in front unless all ranks failed with the same text. */
int comm_agree(struct comm *c, int result);
/* Returns the largest x of all ranks of the world. */
int comm_most(struct comm *c, int x);

/* Returns the first rank of the world whose value differs from rank 0's, or 0 if all are equal. */
int comm_differs(struct comm *c, uint64_t value);
