/*
 * ops_exchange.h - moves arrays between a device and the host's memory while the device computes,
 * and between the devices of several processes.
 */
#pragma once

#include "model/compute/ops.h"

/* ---- queues ------------------------------------------------------------------------------- */

/* Allocates host memory (U8, zeroed) that the device can copy from and to while it computes. The
 * functions of ops.h accept such an array, ops_buffer_free too. */
struct ops_array ops_host_buffer(struct ops *o, int64_t bytes);

/* Work runs in the order of the calls, except copies by ops_move and the exchanges of devices
 * (below), which have their own queues. ops_mark records the current end of queue q in *m, which
 * keeps only the last record. After ops_after, later calls for queue q wait until the work before
 * the mark is done. A zeroed mark makes nothing wait. */
enum ops_queue { OPS_COMPUTE, OPS_IN, OPS_OUT, OPS_COMM, OPS_QUEUES };
struct ops_mark {
    void *event; /* only the back end may use it */
};
void ops_mark(struct ops *o, enum ops_queue q, struct ops_mark *m);
void ops_mark_free(struct ops *o, struct ops_mark *m);
void ops_after(struct ops *o, enum ops_queue q, const struct ops_mark *m);
/* Returns 1 if the work before the mark is done, else 0; 1 for a zeroed mark. For any thread. */
int ops_reached(struct ops *o, const struct ops_mark *m);
/* Copies n bytes from array `from` to array `to`, in queue OPS_IN or OPS_OUT. One of them
 * is from ops_host_buffer, the other one is on the device. */
void ops_move(struct ops *o, enum ops_queue q, struct ops_array to, struct ops_array from,
              int64_t n);

/* Returns the array's n elements in host memory, as ops_map does, but does not wait: they are there
 * when *arrived is reached. The array must not change before that. ops_unmap or, if nothing was
 * changed, ops_unmap_unchanged follows. */
void *ops_map_later(struct ops *o, struct ops_array a, int64_t n, struct ops_mark *arrived);
void ops_unmap_unchanged(struct ops *o, struct ops_array a, void *mapped);

/* ---- levels ------------------------------------------------------------------------------- */

/* The two levels of the exchanges of a group: within a host, and between hosts. Members are
 * numbered host by host, `local` on each. An array has a share for each member. To sum an array,
 * the members of each host first add all its shares among themselves; then members with the same
 * place on their hosts add these sums. So a number crosses the network once for each host, not for
 * each member. To gather the shares, the levels come in reverse order. `local` is a power of two,
 * or the size of the group. Then the sum is the same binary tree over the members as without
 * levels.
 *
 * A level has the members `member`, `member` + step, ... and the shares `share`, `share` + step,
 * ..., `size` each; this process is number `rank` of them. */
struct ops_level {
    int size, rank, step, member, share;
};

static inline int ops_level_member(const struct ops_level *l, int q)
{
    return l->member + q * l->step;
}

/* Returns a pointer to the first bound of share q of the level in `bounds`, those of all shares. */
static inline const int64_t *ops_level_share(const struct ops_level *l, const int64_t *bounds,
                                             int q)
{
    return bounds + l->share + q * l->step;
}

/* Returns the level of the members of this host, with the shares of host `host`. */
static inline struct ops_level ops_level_within(int rank, int local, int host)
{
    return (struct ops_level){ local, rank % local, 1, rank - rank % local, host * local };
}

/* Returns the level of the members at this one's place on each host, each with its own share. */
static inline struct ops_level ops_level_between(int rank, int size, int local)
{
    return (struct ops_level){ size / local, rank / local, local, rank % local, rank % local };
}

/* ---- exchanges of devices ----------------------------------------------------------------- */

/* A group of processes, the members, whose devices exchange arrays without going through the memory
 * of their hosts. On GPUs, NCCL does it. Exchanges run in queue OPS_COMM. All members of a group
 * must call the same exchanges in the same order. */
struct ops_group;

enum { OPS_DEVICE_NAME = 64, OPS_GROUP_ID = 128 };

/* Finds out if this context's device can exchange arrays with others. If it can, returns 1 and sets
 * name[] to a name that no other device of this kind has. If it cannot, returns 0 with an error
 * message that says why. Returns -1 with an error if the library for exchanges cannot be used. */
int ops_group_find(struct ops *o, char name[OPS_DEVICE_NAME]);
/* Sets id[] to the identity of a new group, for all its members. Returns 0, or -1 with an error. */
int ops_group_identify(struct ops *o, char id[OPS_GROUP_ID]);
/* Joins a group as member `rank` of `size`; `local` is as in struct ops_level. Waits for the other
 * members. Returns NULL with an error. */
struct ops_group *ops_group_join(struct ops *o, const char id[OPS_GROUP_ID], int rank, int size,
                                 int local);
void ops_group_leave(struct ops *o, struct ops_group *g); /* fine on NULL */
/* Returns 1 if the array is in the device's memory, from where it can be exchanged, else 0. */
int ops_group_takes(const struct ops *o, struct ops_array x);

/* Begins to replace this member's share of x, F32, by its sum over the members, or by the largest
 * element if `most` is 1. Share q is elements bounds[q] to bounds[q+1] - 1. The sum is a binary
 * tree over the members, neighbours first: (0 + 1) + (2 + 3). The other shares are undefined
 * afterwards. Returns 0, or -1 with an error. */
int ops_group_reduce(struct ops *o, struct ops_group *g, int most, struct ops_array x,
                     const int64_t *bounds);
/* Begins to copy each share of x, of any type, from its member to all others. Returns 0, or -1 with
 * an error. */
int ops_group_gather(struct ops *o, struct ops_group *g, struct ops_array x, const int64_t *bounds);
/* Returns -1 with an error if an exchange has failed since it began, else 0. For any thread. */
int ops_group_check(const struct ops *o, struct ops_group *g);
