#include "train/stop.h"

#include <errno.h>
#include <signal.h>

#include "common/base/log.h"

static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2, 0 };
struct stopping {
    volatile int signal, count; /* the last signal; number of signals */
    int most, said; /* signals after which the usual handlers act; 1: signals are logged */
    struct sigaction usual[sizeof stops / sizeof *stops]; /* the handlers before the run */
};
static struct stopping stopping;

const char *stop_name(int number)
{
    return number == SIGINT    ? "SIGINT"
           : number == SIGHUP  ? "SIGHUP"
           : number == SIGUSR2 ? "SIGUSR2"
                               : "SIGTERM";
}

const volatile int *stop_signal(void)
{
    return &stopping.signal;
}

const volatile int *stop_count(void)
{
    return &stopping.count;
}

static void on_stop(int number)
{
    const int why = errno, last = stopping.count + 1 >= stopping.most;
    stopping.signal = number;
    if (stopping.said)
        log_in_handler(stop_name(number), ": the run ends after this ",
                       stopping.count ? "micro-batch" : "update",
                       last ? "; another signal ends it at once, without a checkpoint"
                            : "; a second signal ends it after this micro-batch");
    stopping.count++;
    for (int i = 0; stops[i] && last; i++)
        sigaction(stops[i], &stopping.usual[i], NULL);
    signal(SIGUSR2, SIG_IGN); /* it may come twice: from the scheduler and from mpirun */
    errno = why;
}

void stop_catch(int alone, int said)
{
    struct sigaction action = { .sa_handler = on_stop };
    stopping.signal = stopping.count = 0;
    stopping.most = alone ? 2 : 1;
    stopping.said = said && log_level >= 0;
    sigfillset(&action.sa_mask);
    if (alone) /* who reads the messages, as tee, may end at the same Ctrl-C */
        signal(SIGPIPE, SIG_IGN);
    for (int i = 0; stops[i]; i++)
        if (!sigaction(stops[i], NULL, &stopping.usual[i]) &&
            stopping.usual[i].sa_handler != SIG_IGN) /* as nohup and shells ask for */
            sigaction(stops[i], &action, NULL);
}
