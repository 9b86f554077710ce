#include "tests/unit/golden.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"

const char *golden_path(struct buf *path, const char *name)
{
    const char *root = getenv("TEXTMILL_DATA");
    set_path(path, root ? root : "../shared/data", name);
    return path->data;
}

static const char *in_tokenizers(struct buf *path, const char *name)
{
    struct buf file = BUF_INIT;
    buf_addf(&file, "tokenizers/%s", name);
    golden_path(path, file.data);
    buf_release(&file);
    return path->data;
}

struct tokenizer *golden_tokenizer(const char *name, int google)
{
    struct buf path = BUF_INIT;
    struct tokenizer_options how = { .google_rules = google };
    if (file_ends_with(name, "vocab.json")) /* read it, not the tokenizer.json beside it */
        how.pattern = TOKENIZER_GPT2;
    if (!look(in_tokenizers(&path, name))) {
        buf_release(&path);
        cr_skip_test("%s is absent", name);
    }
    struct tokenizer *t = tokenizer_load_with(path.data, &how);
    cr_assert_not_null(t, "%s", err_get());
    buf_release(&path);
    return t;
}

void golden_open(struct golden *g, const char *name)
{
    struct buf path = BUF_INIT;
    *g = (struct golden){ .name = name };
    cr_assert_eq(input_open(&g->in, in_tokenizers(&path, name)), 0, "%s", err_get());
    buf_release(&path);
}

const struct js *golden_next(struct golden *g)
{
    char *line;
    size_t n;
    js_free(g->line);
    g->line = NULL;
    if (input_line(&g->in, &line, &n) <= 0)
        return NULL;
    g->number++;
    g->line = js_parse(line, n, g->name);
    cr_assert(g->line, "%s", err_get());
    return g->line;
}

void golden_close(struct golden *g, int at_least)
{
    cr_assert_geq(g->number, at_least);
    js_free(g->line);
    input_close(&g->in);
}

void golden_ids(const struct js *list, struct ids *ids)
{
    ids->count = 0;
    for (size_t i = 0; i < js_count(list); i++) {
        int64_t id = -1;
        js_int(js_at(list, i), &id);
        ids_add(ids, (uint32_t)id);
    }
}

void golden_expect(const struct golden *g, const struct js *list, const struct ids *ids)
{
    cr_assert_eq(js_count(list), ids->count, "%s line %d: %zu ids, not %zu", g->name, g->number,
                 ids->count, js_count(list));
    for (size_t i = 0; i < ids->count; i++) {
        int64_t id = -1;
        js_int(js_at(list, i), &id);
        cr_assert_eq(id, ids->data[i], "%s line %d: id %zu is %u", g->name, g->number, i,
                     ids->data[i]);
    }
}
