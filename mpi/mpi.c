/*
 * mpi.c - plug-in for messages by MPI: a transport (train/ranks/transport.h) that uses
 * point-to-point calls.
 *
 * MPI's own sums are not used, because their order may differ between its algorithms
 * (train/ranks/reduce.h). The plug-in is built with mpicc if that is installed. It is opened only
 * by a process that a launcher has started as one of several.
 */
#include <mpi.h>

#include "common/files/plugin.h"
#include "train/ranks/transport.h"

struct world {
    MPI_Comm ranks;
    char error[MPI_MAX_ERROR_STRING + 1];
};

static int check(struct world *w, int code)
{
    int length = 0;
    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, w->error, &length);
    w->error[length] = '\0';
    return -1;
}

/* Open MPI's flags for TCP. Ranks send to each other at the same time. By default Open MPI
 * requests the data of a long message by a separate message, which waits behind the data sent in
 * the other direction. The two directions then take turns, at half the speed. */
static const char tcp_flags[] = "OMPI_MCA_btl_tcp_flags";

/* Starts MPI, creates a separate communicator that returns errors, and sets *rank and *size to its
 * rank and number of ranks. All MPI calls come from the calling thread. Returns 0, or -1 with
 * w->error set. */
static int join(struct world *w, int *rank, int *size)
{
    int level, begun;
    if (check(w, MPI_Initialized(&begun)) < 0)
        return -1;
    setenv(tcp_flags, "9", 0); /* SEND (1) and SEND_INPLACE (8) */
    if (!begun && check(w, MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)) < 0)
        return -1;
    if (!begun && level < MPI_THREAD_FUNNELED) {
        snprintf(w->error, sizeof w->error,
                 "the MPI library cannot be used by programs with threads");
        return -1;
    }
    if (check(w, MPI_Comm_dup(MPI_COMM_WORLD, &w->ranks)) < 0 ||
        check(w, MPI_Comm_set_errhandler(w->ranks, MPI_ERRORS_RETURN)) < 0 ||
        check(w, MPI_Comm_rank(w->ranks, rank)) < 0)
        return -1;
    return check(w, MPI_Comm_size(w->ranks, size));
}

static void *open_world(void *, int *rank, int *size, char *error, size_t room)
{
    struct world *w = calloc(1, sizeof *w);
    if (!w) {
        snprintf(error, room, "out of memory");
    } else if (join(w, rank, size) < 0) {
        snprintf(error, room, "%s", w->error);
        free(w);
        w = NULL;
    }
    return w;
}

static void close_world(void *world)
{
    struct world *w = world;
    MPI_Comm_free(&w->ranks);
    MPI_Finalize();
    free(w);
}

static void end_all(void *world)
{
    struct world *w = world;
    fflush(NULL);
    MPI_Abort(w->ranks, 1);
}

static int begin(void *world, void **request, int peer, int tag, void *data, size_t bytes,
                 int receives)
{
    struct world *w = world;
    MPI_Request *r = malloc(sizeof *r);
    *request = r;
    if (!r)
        snprintf(w->error, sizeof w->error, "out of memory");
    else if (!check(w, receives ? MPI_Irecv(data, (int)bytes, MPI_BYTE, peer, tag, w->ranks, r)
                                : MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, w->ranks, r)))
        return 0;
    free(r);
    *request = NULL;
    return -1;
}

static int test(void *world, void *request)
{
    MPI_Request *r = request;
    int done = 0;
    if (check(world, MPI_Test(r, &done, MPI_STATUS_IGNORE)) < 0)
        return -1;
    if (done)
        free(r);
    return done;
}

static int probe(void *world, int tag, int *from)
{
    struct world *w = world;
    MPI_Status status;
    int there = 0;
    if (check(w, MPI_Iprobe(MPI_ANY_SOURCE, tag, w->ranks, &there, &status)) < 0)
        return -1;
    if (there)
        *from = status.MPI_SOURCE;
    return there;
}

static const char *error(void *world)
{
    return ((struct world *)world)->error;
}

const struct transport mpi_transport = {
    .name = "MPI",
    .open = open_world,
    .close = close_world,
    .end_all = end_all,
    .begin = begin,
    .test = test,
    .probe = probe,
    .error = error,
};

__attribute__((visibility("default")))
const struct plugin textmill_plugin = { TRANSPORT_LAYOUT, &mpi_transport };
