/*
 * queue.h - the queues of an emulated device (streams of CUDA's runtime). Work is added and runs
 * later, in the order in which it was added.
 *
 * With device 0, work runs when something waits for it, no earlier: a result that is read too soon,
 * or a wait of another queue that is missing, gives other numbers. With device 1, all queues but
 * the first run at once: a queue that writes before another has read does so. With device 2, the
 * first runs at once, and the others as late as possible. Devices 3, 4, ... repeat this.
 *
 * While a queue is captured, work that is added goes into a graph instead, and does not run.
 */
#pragma once

#include <stddef.h>

struct emulated_queue {
    /* Adds work. run(work) goes on with it, without waiting for anything, and returns 1 if it is
     * done, else 0; then it is called again. `bytes`: the size of *work if a copy of it can be run
     * again, so that it can be captured; else 0. */
    void (*add)(struct emulated_queue *q, int (*run)(void *work), void *work, size_t bytes);
    char *(*memory)(char *address); /* returns what a device address stands for */

    int device, early; /* early: work runs at once */
    struct emulated_work *first, **end;
    long added, done;
    struct emulated_graph *captured; /* NULL: it is not captured */
    int captured_wrongly;            /* 1: the capture has failed */
    struct emulated_queue *next;     /* of the device */
};

/* Counts a call of a library that uses the device. Returns 1 if the device is lost (runtime.c). */
int emulated_lost(void);
int emulated_planted(const char *kind); /* 1: TEXTMILL_EMULATED plants this fault */
void emulated_count_product(void);
