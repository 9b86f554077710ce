/*
 * transport.h - what carries bytes between the ranks of a run: a table of functions.
 *
 * link.c is the only caller. The table of MPI is in a plug-in (mpi/mpi.c); tests have one whose
 * ranks are threads (tests/unit/threads.c). Messages from one rank to another with one tag arrive
 * in the order sent. All calls come from the thread that called `open`.
 */
#ifndef TEXTMILL_TRAIN_TRANSPORT_H
#define TEXTMILL_TRAIN_TRANSPORT_H

#include <stddef.h>

enum {
    TRANSPORT_LAYOUT = 1,  /* of this table; it grows when the table changes (common/plugin.h) */
    TRANSPORT_TAGS = 32767 /* tags are below this */
};

struct transport {
    const char *name; /* "MPI" */

    /* Joins the run; context is the caller's. NULL, with a sentence in `error`. */
    void *(*open)(void *context, int *rank, int *size, char *error, size_t room);
    /* Leaves it: returns when all ranks have called it. */
    void (*close)(void *world);
    /* Ends the processes of all ranks, this one too, with status 1. (Where ranks are threads it
     * returns, and all other calls fail from then on.) */
    void (*end_all)(void *world);

    /* Begin to send or to receive so many bytes, which stay the caller's until `test` says that it
     * is done. -1: failed. */
    int (*send)(void *world, void **request, int to, int tag, const void *data, size_t bytes);
    int (*receive)(void *world, void **request, int from, int tag, void *data, size_t bytes);
    int (*test)(void *world,
                void *request); /* 1: done, and the request is gone; 0: not yet; -1: failed */

    /* Whether a message with that tag waits to be received: 1 and from whom, 0, or -1. */
    int (*probe)(void *world, int tag, int *from);

    const char *(*error)(void *world); /* why the last call failed */
};

#endif
