#include "common/usage.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/file.h"

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

double usage_cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return seconds(use.ru_utime) + seconds(use.ru_stime);
}

uint64_t usage_peak_bytes(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (uint64_t)use.ru_maxrss * 1024;
}

/* Of cgroups 2, as a container sees its own; "max" or no such file: no limit. */
static uint64_t group_bytes(void)
{
    static const char path[] = "/sys/fs/cgroup/memory.max";
    struct buf text = BUF_INIT;
    uint64_t bytes = 0;
    if (file_read(path, &text) == 0)
        bytes = strtoull(text.data, NULL, 10);
    buf_release(&text);
    return bytes ? bytes : UINT64_MAX;
}

uint64_t usage_machine_bytes(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t group = group_bytes();
    return group < machine ? group : machine;
}
