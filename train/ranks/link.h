/*
 * link.h - messages between ranks, with a time limit for waiting.
 *
 * Each rank keeps a name for its current operation. A rank that has waited too long asks all other
 * ranks for their operations. It then fails with a report that names the ranks that it waits for,
 * their hosts, and their operations. So each rank must answer questions while it waits (link_wait
 * does this) and while it has no operation (link_serve).
 *
 * A link is used by one thread. Functions return -1 with an error when the transport fails or the
 * time limit is reached.
 */
#pragma once

#include "train/ranks/transport.h"

enum {
    LINK_NAME = 64,                 /* bytes of a name, with its NUL; longer names are cut */
    LINK_TAGS = TRANSPORT_TAGS - 16 /* the caller may use tags below this */
};

/* The current operation of a rank. The struct is sent as it is to ranks that ask. */
struct link_status {
    char what[LINK_NAME]; /* name of the current operation or, if `idle`, of the last one */
    int64_t number;       /* number of that operation, from 1 */
    int64_t idle;         /* 1: the rank is between operations and computes */
};

struct link {
    const struct transport *transport; /* borrowed */
    void *world;
    int rank, size;
    double timeout; /* seconds; 0: none */
    struct link_status status;
    char (*hosts)[LINK_NAME]; /* [size]: names; behind each, what tells hosts of one name apart */
    const volatile int *stop; /* borrowed; not 0 when this process was told to end. NULL: never */
    int stop_said;            /* 1: the message that this process was told to end was printed */
    double served;            /* time of the last link_serve */
    char question;            /* the last question that was received */
    void **kept;              /* [kept_count]: memory of link_keep */
    size_t kept_count, kept_cap;
};

/* Opens the transport (`context` is passed to transport->open) and exchanges the names of the
 * hosts. `host` is this one's; NULL: the name that the system gives. `timeout` is in seconds; 0:
 * none. Returns 0, or -1 with an error. */
int link_open(struct link *l, const struct transport *t, void *context, const char *host,
              double timeout);
void link_close(struct link *l);

/* Start and end the next operation of this rank, with the name `what`. */
void link_begin(struct link *l, const char *what);
void link_finish(struct link *l);

struct link_request {
    void *handle; /* NULL: done */
    int peer;
};
/* Begins to send data[bytes] to rank `peer` or, with `receives` 1, to receive it from there, and
 * sets *r to the request. `data` must stay valid until link_wait returns. Messages from one rank to
 * another with the same tag are received in order. Returns 0, or -1 with an error. */
int link_message(struct link *l, struct link_request *r, int peer, int tag, void *data,
                 size_t bytes, int receives);

/* Does the same in messages of at most LINK_MESSAGE bytes: MPI counts the bytes of a message by an
 * int. Appends the requests to *list, whose memory the caller frees. */
enum { LINK_MESSAGE = 1 << 26 };
struct link_list {
    struct link_request *all;
    size_t count, cap;
};
int link_exchange(struct link *l, struct link_list *list, int peer, int tag, void *data,
                  size_t bytes, int receives);

/* Waits until all n requests are done. Returns 0, or -1 with an error. */
int link_wait(struct link *l, struct link_request *requests, int n);

/* Takes over memory from malloc after link_wait failed for requests that use it: the transport may
 * use it until it is closed. link_close frees it. */
void link_keep(struct link *l, void *memory);

/* Waits until reached(ctx) returns 1 (0: not yet, -1: error), for work that ranks do together
 * without the transport. Answers questions meanwhile, as link_wait does, and has the same time
 * limit. The error of a timeout names the ranks peers[n]; without peers there is no limit. Returns
 * 0, or -1 with an error. */
int link_watch(struct link *l, const int *peers, int n, int (*reached)(void *ctx), void *ctx);

/* Answers the other ranks that have asked what this rank is doing, if any. Returns 0, or -1 with an
 * error. */
int link_serve(struct link *l);
