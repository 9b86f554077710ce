/* The test runner of tests/arm64/criterion/criterion.h: check-unit [JOBS [PREFIX]]. Runs each test
 * whose "suite/name" begins with PREFIX in a child process. The last line of the output gives the
 * totals. */
#include <criterion/criterion.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, JOBS_MAX = 64 };

static struct criterion_case *cases;
static int failed_here; /* an expectation of this child's test */

struct totals {
    int passed, failed, skipped;
};

static struct job {
    pid_t pid;
    const struct criterion_case *c;
} jobs[JOBS_MAX];

void criterion_add(struct criterion_case *c)
{
    c->next = cases;
    cases = c;
}

void criterion_check(int passed, int ends, const char *file, int line, const char *what,
                     const char *message, ...)
{
    va_list args;
    if (passed)
        return;
    fprintf(stderr, "%s:%d: %s:", file, line, what);
    va_start(args, message);
    vfprintf(stderr, message, args);
    va_end(args);
    fputc('\n', stderr);
    failed_here = 1;
    if (ends)
        _exit(1);
}

void criterion_skip(void)
{
    _exit(SKIPPED);
}

static const struct criterion_case *suite_of(const struct criterion_case *c)
{
    for (const struct criterion_case *s = cases; s; s = s->next)
        if (!s->run && !strcmp(s->suite, c->suite))
            return s;
    return c;
}

static _Noreturn void run(const struct criterion_case *c)
{
    const struct criterion_case *suite = suite_of(c);
    void (*init)(void) = c->init ? c->init : suite->init;
    void (*fini)(void) = c->fini ? c->fini : suite->fini;
    if (init)
        init();
    c->run();
    if (fini)
        fini();
    fflush(stdout);
    _exit(failed_here);
}

/* Waits for a child, counts its result, and returns the child's job, which is free again. */
static struct job *collect(struct totals *t)
{
    int status;
    pid_t pid = wait(&status);
    struct job *j = jobs;
    while (j->pid != pid)
        j++;
    j->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        t->passed++;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        t->skipped++;
    } else {
        t->failed++;
        printf("FAIL %s/%s\n", j->c->suite, j->c->name);
        fflush(stdout);
    }
    return j;
}

static void start(struct job *j, const struct criterion_case *c)
{
    j->c = c;
    j->pid = fork();
    if (j->pid == 0)
        run(c);
    if (j->pid < 0) {
        perror("fork");
        exit(1);
    }
}

static int chosen(const struct criterion_case *c, const char *prefix)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", c->suite, c->name);
    return c->run && !strncmp(name, prefix, strlen(prefix));
}

int main(int argc, char **argv)
{
    int limit = argc > 1 ? atoi(argv[1]) : 1, running = 0;
    struct totals t = { 0 };
    limit = limit < 1 ? 1 : limit > JOBS_MAX ? JOBS_MAX : limit;
    for (const struct criterion_case *c = cases; c; c = c->next) {
        if (!chosen(c, argc > 2 ? argv[2] : ""))
            continue;
        start(running < limit ? &jobs[running++] : collect(&t), c);
    }
    for (; running; running--)
        collect(&t);
    printf("unit tests: %d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    return t.failed || !t.passed;
}
