/*
 * transport.h - a table of functions that send bytes between the ranks of a run.
 *
 * Only link.c calls them. The table for MPI is in a plug-in (mpi/mpi.c); tests have a table whose
 * ranks are threads (tests/unit/threads.c). Messages from one rank to another with the same tag
 * arrive in the order in which they were sent. All calls come from the thread that called `open`.
 */
#pragma once

#include "common/base/base.h"

enum {
    TRANSPORT_LAYOUT = 2, /* version of this table, raised at each change (common/files/plugin.h) */
    TRANSPORT_TAGS = 32767 /* tags are below this */
};

struct transport {
    const char *name; /* "MPI" */

    /* Joins the run, sets *rank and *size, and returns the `world` that the other functions take.
     * `context` comes from the caller. On failure returns NULL and writes a message to `error`,
     * which has `room` bytes. */
    void *(*open)(void *context, int *rank, int *size, char *error, size_t room);
    /* Leaves the run. Returns when all ranks have called it. */
    void (*close)(void *world);
    /* Ends the processes of all ranks, including this one, with status 1. If ranks are threads, it
     * returns, and all later calls fail. */
    void (*end_all)(void *world);

    /* Begins to send `bytes` bytes, which it does not change, to rank `peer` or, with `receives` 1,
     * to receive them from there, and sets *request. `data` must stay valid until `test` returns 1
     * for the request. Returns 0, or -1 on failure. */
    int (*begin)(void *world, void **request, int peer, int tag, void *data, size_t bytes,
                 int receives);
    /* Returns 1 if the request is done, and frees it; 0 if it is not done yet; -1 on failure. */
    int (*test)(void *world, void *request);

    /* Looks for a message with the tag `tag` that has arrived. Returns 1 and sets *from to its
     * sender, 0 if there is none, -1 on failure. */
    int (*probe)(void *world, int tag, int *from);

    const char *(*error)(void *world); /* why the last call failed */
};
