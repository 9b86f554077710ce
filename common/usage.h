/*
 * usage.h - what the process has taken so far, and what there is to take.
 */
#ifndef TEXTMILL_COMMON_USAGE_H
#define TEXTMILL_COMMON_USAGE_H

#include <stdint.h>

double usage_cpu_seconds(void);  /* of all threads, in user and kernel */
uint64_t usage_peak_bytes(void); /* the most memory that was resident */

/* Memory that this process may have: the machine's, or what its control groups leave of it. */
uint64_t usage_machine_bytes(void);

/* The least limit of the groups that `membership` names, as /proc/self/cgroup does, and of those
 * around them, down to `root`, as /sys/fs/cgroup: cgroups of version 2 and of version 1.
 * UINT64_MAX: none. */
uint64_t usage_group_bytes(const char *membership, const char *root);

#endif
