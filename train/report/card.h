/*
 * card.h - README.md of a finished model's folder: the model card that model hubs show.
 */
#pragma once

#include "train/report/metrics.h"
#include "train/report/origin.h"
#include "train/report/page.h"

/* Writes dir/README.md: what the model is, its losses, how it is used, and where it comes from.
 * `generates` is 1 for models that generate text. An existing README.md without this program's mark
 * is the user's, and stays. Returns 0, or -1 with an error. */
int card_write(const char *dir, const struct page_run *p, const struct kv *origin, int generates);
