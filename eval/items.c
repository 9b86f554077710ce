#include "eval/items.h"

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "unicode/whitespace.h"

/* The number of windows that are scored together: enough to find some of similar length. Fewer if
 * they have many tokens. */
enum { GROUP = 1024, IDS = 1 << 22 };

int items_add(struct items *g, size_t begin, size_t end, int64_t scored, int64_t mark)
{
    int64_t positions = g->scorer->net.model.config.positions, count = (int64_t)(end - begin);
    if (scored > positions)
        return err_set("%lld tokens must be scored, but the model has only %lld positions",
                       (long long)scored, (long long)positions);
    if (count > positions + 1)
        count = positions + 1;
    if (scored < 1 || scored >= count)
        return err_set("a text to score, or the text before it, has no tokens");
    mem_next(g->windows, g->count, g->windows_cap) = (struct window){ .count = count,
                                                                      .scored = scored,
                                                                      .item = g->item,
                                                                      .begin = end - (size_t)count,
                                                                      .mark = mark };
    return 0;
}

int items_flush(struct items *g)
{
    mem_grow(g->losses, g->losses_cap, g->ids.count);
    for (size_t i = 0; i < g->count; i++) {
        struct window *w = &g->windows[i];
        w->ids = g->ids.data + w->begin;
        w->each = g->losses + w->begin + (w->count - w->scored);
    }
    if (g->count && score_windows(g->scorer, g->windows, g->count) < 0)
        return -1;
    for (size_t i = 0, n; i < g->count; i += n) {
        const struct window *w = &g->windows[i];
        for (n = 1; i + n < g->count && w[n].item == w->item; n++)
            ;
        if (g->judge(g->ctx, w, n) < 0)
            return -1;
    }
    g->ids.count = g->count = 0;
    return 0;
}

int items_end(struct items *g)
{
    return g->count < GROUP && g->ids.count < IDS ? 0 : items_flush(g);
}

int64_t items_add_lines(struct items *g, struct input *in, items_add_line add)
{
    SCOPED(buf) name = BUF_INIT;
    char *line;
    size_t n;
    int64_t added = 0;
    int more = 0;
    for (g->item = 1; more >= 0 && (more = input_line(in, &line, &n)) > 0; g->item++) {
        const size_t skip = g->item == 1 ? utf8_mark(line, n) : 0;
        if (!whitespace_strip(line + skip, n - skip).n)
            continue;
        buf_setf(&name, "%s:%llu", in->path, (unsigned long long)g->item);
        int result = add(g, line + skip, n - skip, name.data);
        if (result < 0)
            more = -1;
        else if (items_end(g) < 0)
            more = err_in("%s", in->path);
        added += result == 1;
        progress_to((uint64_t)added);
    }
    if (more == 0 && items_flush(g) < 0)
        more = err_in("%s", in->path);
    return more < 0 ? -1 : added;
}

int items_score(const char *path, const char *unit, struct scorer *scorer, items_add_line add,
                int (*judge)(void *ctx, const struct window *w, size_t n), void *ctx)
{
    SCOPED(items) g = ITEMS_INIT(scorer, judge, ctx);
    SCOPED_BY(input_close) struct input in = { 0 };
    progress_begin(unit, 0);
    int64_t added = input_open_soon(&in, path) < 0 ? -1 : items_add_lines(&g, &in, add);
    progress_end();
    return added ? -(added < 0) : err_set("nothing to score in '%s'", in.path);
}

void items_release(struct items *g)
{
    ids_release(&g->ids);
    free(g->windows);
    free(g->losses);
}
