#include "train/ranks/link.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/files/file.h"

enum { TAG_QUESTION = LINK_TAGS, TAG_ANSWER, TAG_HOST };

static const double ANSWER_SECONDS = 2;    /* time to wait for answers to questions */
static const double SERVE_SECONDS = 0.01;  /* time between two link_serve during a wait */
static const double SPIN_SECONDS = 0.0005; /* time to wait without sleeping */
static const double STOP_SECONDS = 0.3;    /* time to wait after a signal before it is reported */
static const double STOOD_SECONDS = 5;     /* a turn of a wait that takes longer does not count */

static int failed(const struct link *l, const char *doing)
{
    return err_set("%s failed while %s in '%s': %s", l->transport->name, doing, l->status.what,
                   l->transport->error(l->world));
}

/* ---- requests -------------------------------------------------------------------------------- */

int link_message(struct link *l, struct link_request *r, int peer, int tag, void *data,
                 size_t bytes, int receives)
{
    r->peer = peer;
    return l->transport->begin(l->world, &r->handle, peer, tag, data, bytes, receives) < 0
               ? failed(l, receives ? "receiving" : "sending")
               : 0;
}

int link_exchange(struct link *l, struct link_list *list, int peer, int tag, void *data,
                  size_t bytes, int receives)
{
    int result = 0;
    for (size_t i = 0, n; i < bytes && !result; i += n) {
        struct link_request *r = &mem_next(list->all, list->count, list->cap);
        *r = (struct link_request){ 0 };
        n = bytes - i < LINK_MESSAGE ? bytes - i : LINK_MESSAGE;
        result = link_message(l, r, peer, tag, (char *)data + i, n, receives);
    }
    return result;
}

/* Returns 1 if the n requests are done, 0 if not, or -1 with an error. Sets *moved to 1 if this
 * call completed a request, else to 0. */
static int are_done(struct link *l, struct link_request *requests, int n, int *moved)
{
    int open = 0;
    *moved = 0;
    for (int i = 0; i < n; i++) {
        int done = requests[i].handle ? l->transport->test(l->world, requests[i].handle) : 0;
        if (done < 0)
            return failed(l, "waiting");
        if (done > 0)
            requests[i].handle = NULL;
        *moved |= done;
        open |= requests[i].handle != NULL;
    }
    return !open;
}

static void pause_after(double waited)
{
    static const struct timespec nap = { .tv_nsec = 50000 };
    if (waited < SPIN_SECONDS)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* Does what link_message does, and waits for it, but at most ANSWER_SECONDS. The caller can do
 * without the message. */
static int try_message(struct link *l, int peer, int tag, void *data, size_t bytes, int receives)
{
    const double began = log_seconds();
    struct link_request r;
    int moved, result = link_message(l, &r, peer, tag, data, bytes, receives);
    while (!result && !are_done(l, &r, 1, &moved) && log_seconds() - began < ANSWER_SECONDS)
        pause_after(log_seconds() - began);
    return result;
}

/* ---- questions and answers ------------------------------------------------------------------- */

int link_serve(struct link *l)
{
    int from, there;
    l->served = log_seconds();
    while ((there = l->transport->probe(l->world, TAG_QUESTION, &from)) > 0)
        if (try_message(l, from, TAG_QUESTION, &l->question, 1, 1) < 0 ||
            try_message(l, from, TAG_ANSWER, &l->status, sizeof l->status, 0) < 0)
            return -1;
    return there < 0 ? failed(l, "looking for messages") : 0;
}

/* Asks all other ranks for their status. For each rank r that answers in time, sets status[r] to
 * the answer and answered[r] to 1. */
static int ask(struct link *l, struct link_status *status, unsigned char *answered)
{
    static const char question = '?';
    SCOPED_MEM struct link_request *sent = mem_zalloc((size_t)l->size, sizeof *sent);
    double began = log_seconds();
    int count = 1, from, result = 0;
    for (int r = 0; r < l->size && !result; r++)
        if (r != l->rank)
            result = link_message(l, &sent[r], r, TAG_QUESTION, (void *)(uintptr_t)&question, 1, 0);
    while (!result && count < l->size && log_seconds() - began < ANSWER_SECONDS) {
        result = link_serve(l);
        if (!result && l->transport->probe(l->world, TAG_ANSWER, &from) > 0) {
            result = try_message(l, from, TAG_ANSWER, &status[from], sizeof *status, 1);
            count += !answered[from];
            answered[from] = 1;
        }
        pause_after(1);
    }
    return result; /* the transport may still use `question`, which is static; the run ends now */
}

static void describe(struct buf *out, const struct link *l, int r, const struct link_status *s,
                     int answered)
{
    buf_addf(out, "; rank %d on %s ", r, l->hosts[r]);
    if (!answered)
        buf_adds(out, "does not answer");
    else if (s->idle)
        buf_addf(out, "computes after operation %lld, '%s'", (long long)s->number, s->what);
    else
        buf_addf(out, "is in operation %lld, '%s'", (long long)s->number, s->what);
}

/* Appends the names of the ranks that this rank waits for. */
static void name_peers(struct buf *out, const struct link *l, const struct link_request *requests,
                       int n)
{
    for (int r = 0, named = 0; r < l->size; r++) {
        int waited = 0;
        for (int i = 0; i < n; i++)
            waited |= requests[i].handle && requests[i].peer == r;
        if (waited)
            buf_addf(out, "%s rank %d on %s", named++ ? "," : "", r, l->hosts[r]);
    }
}

/* Sets the error of a wait that took too long. It names the ranks that this rank waits for, and the
 * status of the ranks that are in another operation or do not answer. Returns -1. */
static int report(struct link *l, const struct link_request *requests, int n, double waited)
{
    struct link_status *status = mem_zalloc((size_t)l->size, sizeof *status);
    SCOPED_MEM unsigned char *answered = mem_zalloc((size_t)l->size, 1);
    SCOPED(buf) text = buf_format("rank %d on %s waited %.1f seconds in operation %lld, '%s', for",
                                  l->rank, l->hosts[l->rank], waited, (long long)l->status.number,
                                  l->status.what);
    name_peers(&text, l, requests, n);
    if (ask(l, status, answered) < 0)
        memset(answered, 0, (size_t)l->size);
    for (int r = 0; r < l->size; r++) {
        status[r].what[LINK_NAME - 1] = '\0';
        if (r != l->rank && (!answered[r] || status[r].number != l->status.number))
            describe(&text, l, r, &status[r], answered[r]);
    }
    err_set("%s", text.data);
    link_keep(l, status);
    return -1;
}

/* Once this process was told to stop, and has waited STOP_SECONDS since, prints which ranks it
 * waits for; only the first time. *since is the time when this function first found that it was
 * told to stop; 0: not yet. A launcher ends all ranks when one has died, and this message tells
 * which one it was. */
static void say_stopped(struct link *l, const struct link_request *requests, int n, double *since)
{
    SCOPED(buf) text = BUF_INIT;
    double now = log_seconds();
    if (!l->stop || !*l->stop || l->stop_said)
        return;
    *since = *since > 0 ? *since : now;
    if (now - *since < STOP_SECONDS)
        return;
    l->stop_said = 1;
    name_peers(&text, l, requests, n);
    log_warn("told to stop while rank %d on %s waits in '%s' for%s", l->rank, l->hosts[l->rank],
             l->status.what, text.data);
}

/* Waits for the n requests. They are done when `reached` says so; NULL: when the transport does. */
static int wait_for(struct link *l, struct link_request *requests, int n, int (*reached)(void *ctx),
                    void *ctx)
{
    double began = log_seconds(), moved_at = began, turned = began, stopped = 0;
    int done, moved = 0;
    while (!(done = reached ? reached(ctx) : are_done(l, requests, n, &moved))) {
        double now = log_seconds();
        if (now - turned > STOOD_SECONDS) /* perhaps a scheduler had stopped all ranks */
            moved_at += now - turned;
        turned = now;
        moved_at = moved ? now : moved_at;
        if (now - l->served > SERVE_SECONDS && link_serve(l) < 0)
            return -1;
        if (n && l->timeout > 0 && now - moved_at > l->timeout)
            return report(l, requests, n, now - moved_at);
        if (n)
            say_stopped(l, requests, n, &stopped);
        pause_after(now - moved_at);
    }
    return done < 0 ? -1 : 0;
}

int link_wait(struct link *l, struct link_request *requests, int n)
{
    return wait_for(l, requests, n, NULL, NULL);
}

int link_watch(struct link *l, const int *peers, int n, int (*reached)(void *ctx), void *ctx)
{
    SCOPED_MEM struct link_request *requests = mem_zalloc((size_t)n, sizeof *requests);
    for (int i = 0; i < n; i++) /* name_peers names the peers of requests that are not done */
        requests[i] = (struct link_request){ peers[i] == l->rank ? NULL : requests, peers[i] };
    return wait_for(l, requests, n, reached, ctx);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static int exchange_hosts(struct link *l, const char *host)
{
    SCOPED_MEM struct link_request *r = mem_zalloc(2 * (size_t)l->size, sizeof *r);
    SCOPED(buf) boot = BUF_INIT;
    char *own = l->hosts[l->rank];
    int result = 0;
    if (host)
        snprintf(own, LINK_NAME, "%s", host);
    else
        gethostname(own, LINK_NAME - 1);
    if (!host && file_read("/proc/sys/kernel/random/boot_id", &boot) == 0)
        snprintf(own + strlen(own) + 1, LINK_NAME - 1 - strlen(own), "%s", boot.data);
    for (int i = 0; i < l->size && !result; i++)
        if (i != l->rank &&
            !(result = link_message(l, &r[2 * i], i, TAG_HOST, l->hosts[i], LINK_NAME, 1)))
            result = link_message(l, &r[2 * i + 1], i, TAG_HOST, own, LINK_NAME, 0);
    return result ? result : link_wait(l, r, 2 * l->size);
}

int link_open(struct link *l, const struct transport *t, void *context, const char *host,
              double timeout)
{
    char error[512];
    *l = (struct link){ .transport = t, .timeout = timeout, .served = log_seconds() };
    l->world = t->open(context, &l->rank, &l->size, error, sizeof error);
    if (!l->world)
        return err_set("cannot start %s: %s", t->name, error);
    l->hosts = mem_zalloc((size_t)l->size, sizeof *l->hosts);
    link_begin(l, "start");
    int result = exchange_hosts(l, host);
    link_finish(l);
    return result;
}

void link_keep(struct link *l, void *memory)
{
    mem_next(l->kept, l->kept_count, l->kept_cap) = memory;
}

void link_close(struct link *l)
{
    if (l->world)
        l->transport->close(l->world);
    for (size_t i = 0; i < l->kept_count; i++)
        free(l->kept[i]);
    free(l->kept);
    free(l->hosts);
    *l = (struct link){ 0 };
}

void link_begin(struct link *l, const char *what)
{
    snprintf(l->status.what, sizeof l->status.what, "%s", what);
    l->status.number++;
    l->status.idle = 0;
}

void link_finish(struct link *l)
{
    l->status.idle = 1;
}
