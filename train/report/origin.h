/*
 * origin.h - where a run comes from: a list of facts such as its command, date and host.
 *
 * They are printed as the first lines of config.yaml, "# NAME: TEXT", in the report, in
 * metrics.jsonl, in the TensorBoard file and, without hosts, in the model card. A resumed run keeps
 * the facts of the runs before it. It adds those that have changed, as "NAME, from step N".
 */
#pragma once

#include "common/formats/kv.h"

/* Returns the seconds since 1970, or the environment's SOURCE_DATE_EPOCH if it is set. */
int64_t origin_now(void);

/* Appends the date (origin_now), the host and the processor's name to *facts, as far as the system
 * tells them. */
void origin_add_machine(struct kv *facts);

/* Returns 1 if the file `path` is not there, or has the text `mark` that this program writes into
 * it; 0: it is the user's; -1 with an error. */
int origin_may_replace(const char *path, const char *mark);

/* Puts the facts of earlier runs, which are at the beginning of the config.yaml `path`, in front of
 * *facts, those of the run that goes on after step `step`. If the file has none, or is not there,
 * *facts stays as it is. Returns 0, or -1 with an error. */
int origin_resume(struct kv *facts, const char *path, int64_t step);

void origin_print(const struct kv *facts, struct buf *out); /* appends lines "# NAME: TEXT" */
/* Appends a Markdown table; with `hosts` 0 it has no names of hosts. */
void origin_table(const struct kv *facts, int hosts, struct buf *out);
void origin_json(const struct kv *facts, struct buf *out); /* appends an object */
