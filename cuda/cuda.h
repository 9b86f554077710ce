/*
 * cuda.h - the GPU back end: its struct ops, and the functions that its files share.
 *
 *     gpu.c         the table of functions; operations that launch several kernels
 *     products.c    matrix products, by cuBLASLt
 *     device.c      memory, copies and streams, by CUDA's runtime
 *     group.c       exchanges with the devices of other processes, by NCCL
 *     *.cu          kernels (kernel.h); a function declared here launches each
 *
 * Operations go into one stream, in the order of the calls; copies by ops_move go into two others,
 * one for each direction, and exchanges into a fourth (queues in model/compute/ops_exchange.h). The
 * addresses of arrays are device addresses: the host may do arithmetic with them, but must not read
 * or write there.
 *
 * A step of generation (ops_repeat) is recorded as a CUDA graph when it comes for the second time
 * with the same arguments; from then on one launch repeats it. What differs from token to token is
 * in device memory: the tokens, their positions, and the table of the texts' keys and values
 * (struct cuda_past). While a step is recorded, nothing runs; device memory cannot be allocated or
 * freed, and nothing can be copied from or to the host. If a function must do that, it ends the
 * recording (device_unrecord); the step then runs without one, and is recorded when it comes again.
 *
 * The kernels also compile as C: tests/emulate runs them on the host, thread by thread, for tests
 * without a GPU. That folder also replaces CUDA's runtime, cuBLASLt and NCCL, so that the host's
 * code is the same.
 */
#pragma once

#include "model/compute/backend.h"

/* A device buffer that grows when needed and is reused. */
struct cuda_room {
    char *address;
    int64_t bytes;
};

enum cuda_rooms {
    ROOM_A, /* operands of a product, converted to its precision */
    ROOM_B,
    ROOM_BIAS,
    ROOM_PRODUCT, /* a product that is then added to the result */
    ROOM_SUMS,    /* partial sums over rows or elements */
    ROOM_WORK,    /* scratch of an operation with several kernels */
    ROOM_NORM,    /* one number */
    ROOM_ROWS,    /* first rows and lengths of the sequences */
    ROOM_PASTS,   /* struct cuda_past of each sequence */
    ROOM_ANGLES,  /* cosines and sines of rotary positions */
    ROOM_FREQUENCIES,
    ROOM_GROUP, /* received by an exchange: only queue OPS_COMM uses it */
    CUDA_ROOMS
};

/* A small table that the host fills and kernels read. It is uploaded only if it has changed. */
struct cuda_table {
    char *next, *last; /* host memory: the table being filled, and a copy of the device's table */
    size_t bytes, room;
};

/* The keys and values of a text, for kernels: struct ops_past with addresses that they can use. */
struct cuda_past {
    char *keys, *values;
    int64_t room, used;
};

/* A step of generation that has run: what determines its work (ops_repeat), and its recording. */
struct cuda_step {
    void (*step)(void *context);
    void *context;
    int64_t B, room; /* room: the largest of the pasts' rooms; it sets the size of grids */
    enum ops_type precision;
    void *recording; /* NULL: it has run once, and the next time is recorded */
};
enum { CUDA_STEPS = 16 };

struct ops {
    OPS_COMMON
    void *device;   /* data of device.c */
    void *products; /* data of products.c */
    void *group;    /* data of group.c */
    struct cuda_room rooms[CUDA_ROOMS];
    struct cuda_table sequences, pasts;
    struct cuda_step steps[CUDA_STEPS];
    int next_step, no_recordings; /* next_step: index of the next new step */
    double angles_base;
    struct ops_stretch angles_stretch;
    int64_t angles_HS, angles_places;
};

static inline size_t cuda_bytes(enum ops_type type, int64_t n)
{
    return (size_t)n * ops_type_bytes(type);
}

/* Returns the buffer `which` with room for n elements. If it grows, its contents are lost. */
struct ops_array cuda_room(struct ops *o, enum cuda_rooms which, enum ops_type type, int64_t n);
/* Uploads the keys and values of B texts. Returns them as struct cuda_past [B] on the device. */
struct ops_array cuda_pasts(struct ops *o, const struct ops_past *past, int64_t B);
/* Drops all recordings of steps, because memory that they use is freed or changes. */
void cuda_forget_steps(struct ops *o);

/* ---- device.c ----------------------------------------------------------------------------- */

/* Errors of the device while it computes end the program (log_fatal), because the contents of its
 * arrays are lost. The last checkpoint remains. */
int device_count(void);                     /* -1 with an error if there is none */
int device_open(struct ops *o, int number); /* sets o->device and o->name; -1 with an error */
void device_close(struct ops *o);           /* waits for all work */
uint64_t device_free_bytes(const struct ops *o);
size_t device_shared(const struct ops *o);       /* most bytes of shared memory of a block */
char *device_alloc(struct ops *o, size_t bytes); /* zeroed; ends the program if memory runs out */
void device_free(struct ops *o, char *address);  /* device memory, or a host buffer */

/* device_borrow returns host memory that belongs to the device, for the caller to fill. device_send
 * uploads it and takes it back, without waiting for the copy; device_return only takes it back. */
void *device_borrow(struct ops *o, size_t bytes);
void device_return(struct ops *o, void *borrowed);
void device_send(struct ops *o, char *to, void *borrowed, size_t bytes);
int device_is_host(const struct ops *o, const char *address); /* 1: a host buffer */
/* Functions of the back end's table (backend.h), described in ops.h and ops_exchange.h. They accept
 * host buffers, too. */
OPS_TYPE(upload) device_upload;
OPS_TYPE(download) device_download;
OPS_TYPE(host_buffer) device_host_buffer;
OPS_TYPE(mark) device_mark;
OPS_TYPE(mark_free) device_mark_free;
OPS_TYPE(after) device_after;
OPS_TYPE(reached) device_reached;
OPS_TYPE(move) device_move;
OPS_TYPE(finish) device_finish;
void device_launched(struct ops *o, const char *kernel); /* reports errors of the launch */
/* Records the work of step(context) in queue OPS_COMPUTE, without running it. Returns 0 and sets
 * *recording; NULL if device_unrecord ended it. Returns -1 with an error if CUDA fails. */
int device_record(struct ops *o, void (*step)(void *context), void *context, void **recording);
/* Ends the recording and drops it. Returns 1, or 0 if there is none. */
int device_unrecord(struct ops *o);
void device_repeat(struct ops *o, void *recording); /* adds its work to queue OPS_COMPUTE */
void device_forget(struct ops *o, void *recording);
/* Selects the queue into which kernels, uploads and zeroing go. It is OPS_COMPUTE, except inside
 * the functions of group.c. */
void device_select(struct ops *o, enum ops_queue q);
void *device_stream(const struct ops *o); /* the selected queue, as NCCL takes it */
void device_identify(const struct ops *o, char name[OPS_DEVICE_NAME]); /* ops_group_find */

/* ---- group.c ------------------------------------------------------------------------------ */

#define GROUP_OPERATION(name) OPS_TYPE(name) name;
OPS_EXCHANGES(GROUP_OPERATION)

/* ---- products.c --------------------------------------------------------------------------- */

int products_open(struct ops *o); /* -1 with an error */
void products_close(struct ops *o);
/* Computes C[M,N] = A B + base + bias. A and B have the same type, C has theirs or is F32. base and
 * bias have the type of C and may be OPS_NONE; base may be C. `inner` is OPS_NONE, or an array with
 * C's type and rows: it gets this result, and C gets the tanh form of GELU of it. Returns 1, or 0
 * if the library does not have this product. */
int products_multiply(struct ops *o, const struct ops_matmul *p, struct ops_array inner);

/* ---- kernels ------------------------------------------------------------------------------ */

/* The functions of the table (model/compute/backend.h). */
#define CUDA_OPERATION(name) OPS_TYPE(name) cuda_##name;
OPS_OPERATIONS(CUDA_OPERATION)

/* elementwise.cu */
/* y = base + mask * x; base may be OPS_NONE. */
void cuda_residual(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                   int64_t n, struct ops_dropout drop);
/* y[r,i] = x[r,i] + base[r,i] + bias[i] for rows of n elements. Rows of x are ldx elements apart,
 * rows of y and base y.ld. base and bias may be OPS_NONE. */
void cuda_add_rows(struct ops *o, struct ops_matrix y, struct ops_array x, int64_t ldx,
                   struct ops_array base, struct ops_array bias, int64_t rows, int64_t n);
/* Copies `rows` rows of n numbers from x to y, where they follow each other without gaps. */
void cuda_copy_rows(struct ops *o, struct ops_array y, struct ops_matrix x, int64_t rows,
                    int64_t n);

/* sums.cu */
/* Sets *sum, F64, to the sum of the squares of x. */
void cuda_all_squares(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n);
/* Sets to[n], F32, to the column sums of x[rows,n], or adds them to it (struct ops_gradient). Rows
 * of x are ld elements apart. */
void cuda_column_sums(struct ops *o, struct ops_gradient to, struct ops_array x, int64_t ld,
                      int64_t rows, int64_t n);
/* Sets to[n], F32, to the sum of the rows of parts[count,n], or adds it. The rows are ld elements
 * apart and are added in order. */
void cuda_add_parts(struct ops *o, struct ops_gradient to, struct ops_array parts, int64_t ld,
                    int64_t count, int64_t n);

/* Sets each element of to[n] to its sum (`most` 1: its maximum) over `count` arrays, joined as a
 * binary tree (ops_group_reduce). Array `own` is to[n] itself; array k begins at element k * ld of
 * `others`. All are F32. */
void cuda_add_tree(struct ops *o, struct ops_array to, struct ops_array others, int64_t ld, int own,
                   int count, int64_t n, int most);

/* attention.cu and attention_mma.cu */
char *cuda_address(struct ops_array a); /* the address that a kernel uses */

/* loss.cu */
void cuda_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t ld,
                        int64_t V, struct ops_array labels, int64_t n, struct ops_array gradient,
                        double scale);
/* Returns the first row and the length of each sequence on the device: I64 [B,2]. */
struct ops_array cuda_sequences(struct ops *o, const struct ops_rows *rows);
