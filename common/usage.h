/*
 * usage.h - what the process has taken so far, and what there is to take.
 */
#ifndef TEXTMILL_USAGE_H
#define TEXTMILL_USAGE_H

#include <stdint.h>

double usage_cpu_seconds(void);  /* of all threads, in user and kernel */
uint64_t usage_peak_bytes(void); /* the most memory that was resident */

/* Memory that processes may have here: the machine's, or what the control group leaves of it. */
uint64_t usage_machine_bytes(void);

#endif
