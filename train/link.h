/*
 * link.h - messages between ranks, and waiting for them no longer than a time limit.
 *
 * Each rank has a name for the operation that it is in. A rank that waits too long asks all others
 * what they are doing, and fails with a report that names the ranks it waits for, their hosts, and
 * what those ranks do. So every rank must answer questions while it waits (link_wait does) and
 * while it has nothing to do (link_serve).
 *
 * Used by one thread. Functions return -1 with an error when the transport fails or time is up.
 */
#ifndef TEXTMILL_TRAIN_LINK_H
#define TEXTMILL_TRAIN_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "train/transport.h"

enum {
    LINK_NAME = 64,
    LINK_TAGS = TRANSPORT_TAGS - 16
}; /* tags below LINK_TAGS are the caller's */

/* What a rank is doing; sent as it is to ranks that ask. */
struct link_status {
    char what[LINK_NAME]; /* the operation that it is in or, if `idle`, that it finished last */
    int64_t number;       /* of the operation, from 1 */
    int64_t idle;         /* between operations: it computes */
};

struct link {
    const struct transport *transport; /* borrowed */
    void *world;
    int rank, size;
    double timeout; /* seconds; 0: none */
    struct link_status status;
    char (*hosts)[LINK_NAME]; /* [size] */
    const volatile int *stop; /* borrowed; not 0: the process was told to end. NULL: never */
    int stop_said;            /* the report about that was made */
    double served;            /* clock of the last look for questions */
};

/* context: as transport->open. */
int link_open(struct link *l, const struct transport *t, void *context, double timeout);
void link_close(struct link *l);

/* From here on the rank is in the next operation, or between two. */
void link_begin(struct link *l, const char *what);
void link_finish(struct link *l);

struct link_request {
    void *handle; /* NULL: done */
    int peer;
};
int link_send(struct link *l, struct link_request *r, int to, int tag, const void *data,
              size_t bytes);
int link_receive(struct link *l, struct link_request *r, int from, int tag, void *data,
                 size_t bytes);
/* Until all are done. */
int link_wait(struct link *l, struct link_request *requests, int n);

/* Answers the questions of other ranks that have come. */
int link_serve(struct link *l);

#endif
