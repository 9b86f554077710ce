#include "common/files/usage.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/files/file.h"

double usage_cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Returns the number after the text `key` in a file of /proc or of the control groups, or 0. */
static uint64_t number_in(const char *path, const char *key)
{
    SCOPED(buf) text = BUF_INIT;
    uint64_t n = 0;
    const char *at = file_read(path, &text) == 0 ? strstr(text.data, key) : NULL;
    if (at)
        n = strtoull(at + strlen(key), NULL, 10);
    return n;
}

/* Uses VmHWM if it is known, because rusage includes the peak of the process before exec. */
uint64_t usage_peak_bytes(void)
{
    struct rusage use;
    uint64_t peak = number_in("/proc/self/status", "\nVmHWM:");
    getrusage(RUSAGE_SELF, &use);
    return 1024 * (peak ? peak : (uint64_t)use.ru_maxrss);
}

/* Returns the smallest limit in bytes of a group and its parent groups, from the files `file` in
 * their folders below `root`; UINT64_MAX if there is none. "max" or a missing file means no
 * limit. */
static uint64_t least_limit(const char *root, const char *group, const char *file)
{
    uint64_t least = UINT64_MAX;
    SCOPED_MEM char *rest = mem_strdup(group);
    SCOPED(buf) path = BUF_INIT;
    for (char *end = rest + strlen(rest); end; end = strrchr(rest, '/')) {
        *end = '\0';
        buf_clear(&path);
        buf_addf(&path, "%s%s/%s", root, rest, file);
        uint64_t bytes = number_in(path.data, "");
        if (bytes && bytes < least)
            least = bytes;
    }
    return least;
}

/* Returns the limit in bytes of the group that a line of /proc/self/cgroup names, "0::/path" in
 * version 2 or "4:cpu,memory:/path" in version 1; UINT64_MAX if there is none. */
static uint64_t line_limit(const char *line, const char *root)
{
    const char *kinds = strchr(line, ':'), *path = kinds ? strchr(kinds + 1, ':') : NULL;
    SCOPED(buf) mount = BUF_INIT;
    if (!path)
        return UINT64_MAX;
    SCOPED_MEM char *list = mem_strndup(kinds + 1, (size_t)(path - kinds - 1));
    SCOPED_MEM char *group = mem_strndup(path + 1, strcspn(path + 1, "\n"));
    if (group[0] == '/' && !group[1])
        group[0] = '\0';
    buf_addf(&mount, "%s/memory", root);
    return !*list                   ? least_limit(root, group, "memory.max")
           : strstr(list, "memory") ? least_limit(mount.data, group, "memory.limit_in_bytes")
                                    : UINT64_MAX;
}

uint64_t usage_group_bytes(const char *membership, const char *root)
{
    SCOPED(buf) text = BUF_INIT;
    uint64_t least = UINT64_MAX;
    if (file_read(membership, &text) == 0)
        for (const char *line = text.data; line && *line;) {
            uint64_t limit = line_limit(line, root);
            least = limit < least ? limit : least;
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
    return least;
}

uint64_t usage_machine_bytes(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t group = usage_group_bytes("/proc/self/cgroup", "/sys/fs/cgroup");
    return group < machine ? group : machine;
}
