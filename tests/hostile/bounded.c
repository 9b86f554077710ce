/* bounded.c - runs a command with bounds on its processor time and memory. */
/*
 * bounded SECONDS MEGABYTES COMMAND [ARG...]: runs COMMAND and exits with its status. It exits with
 * 125 and one line on stderr if the command uses more processor time or more resident memory than
 * that, if a signal ends it, or if it runs 20 seconds by the clock, and so perhaps for ever. The
 * memory is that of the largest process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLOCK_SECONDS = 20, OUT_OF_BOUNDS = 125 };

static pid_t child;

static void on_alarm(int number)
{
    (void)number;
    kill(-child, SIGKILL);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return OUT_OF_BOUNDS;
    const double seconds = atof(argv[1]);
    const long megabytes = atol(argv[2]);
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        execvp(argv[3], argv + 3);
        fprintf(stderr, "bounded: cannot run '%s': %s\n", argv[3], strerror(errno));
        _exit(127);
    }
    setpgid(child, child);
    signal(SIGALRM, on_alarm);
    alarm(CLOCK_SECONDS);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    const double ran = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    if (WIFSIGNALED(status))
        fprintf(stderr, "bounded: signal %d ended the command after %.2f s of processor time\n",
                WTERMSIG(status), ran);
    if (ran > seconds)
        fprintf(stderr, "bounded: %.2f s of processor time\n", ran);
    if (used.ru_maxrss / 1024 > megabytes)
        fprintf(stderr, "bounded: %ld MB of memory\n", used.ru_maxrss / 1024);
    if (WIFSIGNALED(status) || ran > seconds || used.ru_maxrss / 1024 > megabytes)
        return OUT_OF_BOUNDS;
    return WEXITSTATUS(status);
}
