#include "common/base/log.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/noun.h"
#include "common/base/scope.h"

int log_level;
int log_progress = -1;

const char *log_program = "textmill";
static int line_shown; /* a progress line stands on the terminal */

static void clear_line(void)
{
    if (line_shown)
        fputs("\r\033[K", stderr);
    line_shown = 0;
}

/* Prints a message. A long one goes to allocated memory, or is cut if there is none. */
static void say(const char *kind, const char *format, va_list args)
{
    char text[2048], tame[sizeof text];
    va_list again;
    va_copy(again, args);
    const size_t n = (size_t)vsnprintf(text, sizeof text, format, args);
    const size_t room = 4 * n + 1; /* err_tame makes at most four bytes of one */
    SCOPED_MEM char *whole = n < sizeof text ? NULL : malloc(n + 1 + room);
    if (whole) {
        vsnprintf(whole, n + 1, format, again);
        err_tame(whole + n + 1, room, whole);
    } else {
        err_tame(tame, sizeof tame, text);
    }
    va_end(again);
    clear_line();
    fprintf(stderr, "%s: %s%s\n", log_program, kind, whole ? whole + n + 1 : tame);
}

#define LOG_FUNCTION(function, level, kind)                                                        \
    void function(const char *format, ...)                                                         \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        if (log_level >= (level))                                                                  \
            say(kind, format, args);                                                               \
        va_end(args);                                                                              \
    }

LOG_FUNCTION(log_error, -1, "error: ")
LOG_FUNCTION(log_warn, 0, "warning: ")
LOG_FUNCTION(log_info, 0, "")
LOG_FUNCTION(log_detail, 1, "")

void log_in_handler(const char *kind, const char *first, const char *second, const char *third)
{
    const char *const parts[] = {
        line_shown ? "\r\033[K" : "", log_program, ": ", kind, first, second, third, "\n"
    };
    struct iovec io[sizeof parts / sizeof *parts];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        io[i] = (struct iovec){ (void *)(uintptr_t)parts[i], strlen(parts[i]) };
    if (writev(2, io, sizeof parts / sizeof *parts) < 0)
        return; /* there is nowhere to say so */
}

void log_exit(int status)
{
    fflush(stdout);
    quick_exit(status);
}

void log_fatal(const char *format, ...)
{
    static atomic_int ending;
    va_list args;
    while (atomic_exchange(&ending, 1))
        pause(); /* another thread is already ending the program */
    va_start(args, format);
    say("error: ", format, args);
    va_end(args);
    log_exit(1);
}

char *log_count(char text[32], uint64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

char *log_counted(char text[LOG_COUNTED], uint64_t n, const char *noun)
{
    char count[32];
    const char *end = strstr(noun, "(s)");
    int stem = (int)(end ? end - noun : (ptrdiff_t)strlen(noun));
    snprintf(text, LOG_COUNTED, "%s %.*s%s%s", log_count(count, n), stem, noun,
             end ? noun_end(n) : "", end ? end + strlen("(s)") : "");
    return text;
}

char *log_bytes(char text[32], uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double v = (double)bytes;
    int u = 0;
    for (; v >= 1024 && u < 4; u++)
        v /= 1024;
    snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return text;
}

char *log_time(char text[32], double seconds)
{
    long n = lround(seconds);
    if (n < 3600)
        snprintf(text, 32, "%ld:%02ld", n / 60, n % 60);
    else
        snprintf(text, 32, "%ld:%02ld:%02ld", n / 3600, n / 60 % 60, n % 60);
    return text;
}

double log_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- progress --------------------------------------------------------------------------- */

static struct {
    const char *unit;
    uint64_t total;
    double began, shown;
    int on;
} progress;

static volatile sig_atomic_t requested;

void progress_begin(const char *unit, uint64_t total)
{
    progress.unit = unit;
    progress.total = total;
    progress.began = log_seconds();
    progress.shown = progress.began + 0.8; /* so that the first line comes after 1 s */
    progress.on = log_progress < 0 ? log_level >= 0 && isatty(2) : log_progress;
}

static void show(uint64_t done)
{
    char count[LOG_COUNTED], rate[32], left[32];
    double elapsed = progress.shown - progress.began;
    double per_second = elapsed > 0 ? (double)done / elapsed : 0;
    log_counted(count, done, progress.unit);
    log_count(rate, (uint64_t)per_second);
    if (progress.total && done && done <= progress.total) {
        log_time(left, (double)(progress.total - done) / per_second);
        progress_line("%s, %s/s, %.1f %%, %s left", count, rate,
                      100.0 * (double)done / (double)progress.total, left);
    } else {
        progress_line("%s, %s/s", count, rate);
    }
}

void progress_line(const char *format, ...)
{
    va_list args;
    clear_line();
    fprintf(stderr, "%s: ", log_program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    line_shown = progress.on;
    fputs(progress.on ? "" : "\n", stderr);
    fflush(stderr);
}

int progress_due(void)
{
    if (!requested && !progress.on)
        return 0;
    double now = log_seconds();
    if (!requested && now - progress.shown < 0.2)
        return 0;
    requested = 0;
    progress.shown = now;
    return 1;
}

void progress_to(uint64_t done)
{
    if (progress_due())
        show(done);
}

void progress_end(void)
{
    clear_line();
    fflush(stderr);
    progress.on = 0;
}

void progress_request(int)
{
    requested = 1;
}
