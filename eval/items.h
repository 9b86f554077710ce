/*
 * items.h - scores the items of a file, for example questions, many at a time.
 *
 * The caller adds the windows (score.h) of each item. Many items are scored together, so that
 * windows of similar length share a batch. Then the caller's `judge` reads their results. If each
 * item is a line of a file, items_score does all of this.
 */
#pragma once

#include "common/base/ids.h"
#include "common/files/file.h"
#include "eval/score.h"

struct items {
    struct scorer *scorer; /* borrowed */
    /* Called for each item, in order, when its windows w[0..n) have their results. Returns 0, or -1
     * with an error. */
    int (*judge)(void *ctx, const struct window *w, size_t n);
    void *ctx;
    /* The caller appends the tokens of an item's windows here, and may remove them again. */
    struct ids ids;
    struct window *windows; /* their `each` is set before `judge` is called */
    size_t count, windows_cap;
    float *losses; /* for each token in ids, its loss if a window scores it */
    size_t losses_cap;
    uint64_t item; /* number of the item to be added; items_score sets the line's number, from 1 */
};
#define ITEMS_INIT(scorer, judge, ctx)                                                             \
    {                                                                                              \
        scorer, judge, ctx, { 0 }, NULL, 0, 0, NULL, 0, 0                                          \
    }

/* Adds the window ids[begin..end) of item g->item, whose last `scored` tokens are scored. `mark` is
 * kept in it for the caller. A window longer than the model's positions is cut at its beginning.
 * Returns 0, or -1 with an error if the scored tokens are more than the positions, or none is
 * scored, or none is before them. */
int items_add(struct items *g, size_t begin, size_t end, int64_t scored, int64_t mark);

/* Ends an item: if there are many windows or tokens, scores and judges them. items_flush does this
 * for any number. Both return 0, or -1 with an error. */
int items_end(struct items *g);
int items_flush(struct items *g);

/* Adds the item of one line. `name` is the file with the line's number. Returns 1, 0 if the item is
 * not scored, or -1 with an error that names the line. */
typedef int (*items_add_line)(struct items *g, const char *line, size_t n, const char *name);

/* Calls `add` for each line of the open input that is not blank, and scores all items. Returns the
 * number of items that are scored, or -1 with an error. */
int64_t items_add_lines(struct items *g, struct input *in, items_add_line add);

/* Calls items_add_lines for `path` ("-": stdin), and shows progress in `unit`, such as "line(s)".
 * scorer NULL: `add` adds no windows. Returns 0, or -1 with an error, also if nothing was added. */
int items_score(const char *path, const char *unit, struct scorer *scorer, items_add_line add,
                int (*judge)(void *ctx, const struct window *w, size_t n), void *ctx);

void items_release(struct items *g);
