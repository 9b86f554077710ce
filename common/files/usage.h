/*
 * usage.h - the resources that the process has used, and those available to it.
 */
#pragma once

#include "common/base/base.h"

uint64_t usage_peak_bytes(void); /* peak resident memory */

/* Returns the memory that this process may use: the machine's memory, or less if its control groups
 * limit it. */
uint64_t usage_machine_bytes(void);

/* Returns how many of `all` processors this process may keep busy: fewer if its control groups
 * limit processor time, as a container's do. all 0: those that it may run on. */
int usage_cpus(int all);

enum usage_resource { USAGE_MEMORY, USAGE_CPUS };

/* Returns the smallest limit, in bytes or processors (rounded up), of the control groups listed in
 * the file `membership` (/proc/self/cgroup) and of their parent groups. `root` is the folder of the
 * control group file system (/sys/fs/cgroup). Supports versions 1 and 2. UINT64_MAX: no limit, or
 * none can be read. */
uint64_t usage_group_limit(const char *membership, const char *root, enum usage_resource resource);
