#include "common/files/usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include "common/base/pool.h"
#include "common/files/file.h"

/* Returns the number after the text `key` in a file of /proc or of the control groups, or 0. */
static uint64_t number_in(const char *path, const char *key)
{
    SCOPED(buf) text = BUF_INIT;
    const char *at = file_read(path, &text) == 0 ? strstr(text.data, key) : NULL;
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Uses VmHWM if it is known, because rusage includes the peak of the process before exec. */
uint64_t usage_peak_bytes(void)
{
    struct rusage use;
    uint64_t peak = number_in("/proc/self/status", "\nVmHWM:");
    getrusage(RUSAGE_SELF, &use);
    return 1024 * (peak ? peak : (uint64_t)use.ru_maxrss);
}

/* A resource that control groups may limit. name: its name in version 1, in /proc/self/cgroup and
 * of its folder. one, two: the files with the limit in versions 1 and 2. The limit of processors
 * is a time per period; version 1 has the period in a file of its own. "max", -1 or no file: no
 * limit. */
static const struct resource {
    const char *name, *one, *period, *two;
} resources[] = {
    [USAGE_MEMORY] = { "memory", "memory.limit_in_bytes", NULL, "memory.max" },
    [USAGE_CPUS] = { "cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max" },
};

/* Returns the limit in the file `name` of a group's folder; 0: none. A time is divided by its
 * period, which is in the file `period` or, if that is NULL, the second number. */
static uint64_t limit_in(const char *folder, const char *name, const char *period)
{
    SCOPED(buf) path = buf_format("%s/%s", folder, name), text = BUF_INIT;
    char *end;
    if (file_read(path.data, &text) < 0)
        return 0;
    long long limit = strtoll(text.data, &end, 10);
    uint64_t each = period ? limit_in(folder, period, NULL) : strtoull(end, NULL, 10);
    return limit <= 0 ? 0 : each ? ((uint64_t)limit + each - 1) / each : (uint64_t)limit;
}

/* Returns the smallest limit of a group and its parent groups, from their folders below `root`;
 * UINT64_MAX if there is none. */
static uint64_t least_limit(const char *root, const char *group, const char *file,
                            const char *period)
{
    uint64_t least = UINT64_MAX;
    SCOPED_MEM char *rest = mem_strdup(group);
    for (char *end = rest + strlen(rest); end; end = strrchr(rest, '/')) {
        *end = '\0';
        SCOPED(buf) path = buf_format("%s%s", root, rest);
        uint64_t limit = limit_in(path.data, file, period);
        if (limit && limit < least)
            least = limit;
    }
    return least;
}

/* Returns the limit of the group that a line of /proc/self/cgroup names, "0::/path" in version 2 or
 * "4:cpu,memory:/path" in version 1; UINT64_MAX if there is none. */
static uint64_t line_limit(const char *line, const char *root, const struct resource *r)
{
    const char *kinds = strchr(line, ':'), *path = kinds ? strchr(kinds + 1, ':') : NULL;
    if (!path)
        return UINT64_MAX;
    SCOPED_MEM char *group = mem_strndup(path + 1, strcspn(path + 1, "\n"));
    if (group[0] == '/' && !group[1])
        group[0] = '\0';
    if (path == kinds + 1)
        return least_limit(root, group, r->two, NULL);
    SCOPED(buf) list = buf_format(",%.*s,", (int)(path - kinds - 1), kinds + 1),
                name = buf_format(",%s,", r->name), mount = buf_format("%s/%s", root, r->name);
    return strstr(list.data, name.data) ? least_limit(mount.data, group, r->one, r->period)
                                        : UINT64_MAX;
}

uint64_t usage_group_limit(const char *membership, const char *root, enum usage_resource resource)
{
    SCOPED(buf) text = BUF_INIT;
    uint64_t least = UINT64_MAX;
    if (file_read(membership, &text) == 0)
        for (const char *line = text.data; line && *line;) {
            uint64_t limit = line_limit(line, root, &resources[resource]);
            least = limit < least ? limit : least;
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
    return least;
}

/* Returns `all`, or less if a control group of this process limits the resource. */
static uint64_t at_most(uint64_t all, enum usage_resource resource)
{
    uint64_t group = usage_group_limit("/proc/self/cgroup", "/sys/fs/cgroup", resource);
    return group < all ? group : all;
}

uint64_t usage_machine_bytes(void)
{
    return at_most((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
                   USAGE_MEMORY);
}

int usage_cpus(int all)
{
    return (int)at_most((uint64_t)(all ? all : pool_cpus()), USAGE_CPUS);
}
