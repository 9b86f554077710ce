/*
 * stream.h - the queue of exchanges of an emulated device, as the library sees it that stands in
 * the place of NCCL (nccl/nccl.c).
 *
 * Work is added and runs later, in the order in which it was added, when a thread waits for it or
 * asks if it is done.
 */
#ifndef TEXTMILL_EMULATE_STREAM_H
#define TEXTMILL_EMULATE_STREAM_H

struct emulated_stream {
    /* Adds work. run(work) goes on with it, without waiting for anything, and returns 1 if it is
     * done, else 0. */
    void (*add)(struct emulated_stream *s, int (*run)(void *work), void *work);
    char *(*memory)(char *address); /* returns what a device address stands for */
};

#endif
