#include "generate/prompt_cache.h"

#include <math.h>

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "common/files/file.h"
#include "model/compute/stored.h"

static const char magic[] = "TMPROMPT";
enum { VERSION = 1, FIRST = 8, HEAD = 8 + 4 + 4 };

/* ---- numbers -------------------------------------------------------------------------------- */

static void add_reals(struct buf *out, const float *x, int64_t n)
{
    buf_reserve(out, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        le_add_f32(out, x[i]);
}

/* ---- the model's signature ------------------------------------------------------------------ */

/* Sets logits[] to PROMPT_CACHE_LOGITS of the model's logits after the first min(n, FIRST) of the
 * tokens ids[0..n). */
static int sign(struct generator *g, float logits[PROMPT_CACHE_LOGITS], const uint32_t *ids,
                int64_t n)
{
    struct cache alone;
    int64_t V = g->model.config.vocabulary;
    cache_init(&alone, &g->decoder);
    const float *all = cache_forward(&alone, ids, n < FIRST ? n : FIRST);
    for (int64_t i = 0; i < PROMPT_CACHE_LOGITS && all; i++)
        logits[i] = all[i * V / PROMPT_CACHE_LOGITS];
    cache_release(&alone);
    return all ? 0 : -1;
}

/* Returns 1 if the logits a and b agree within a tolerance, else 0. Rounding differs a little
 * between processors. */
static int alike(const float *a, const float *b)
{
    for (int i = 0; i < PROMPT_CACHE_LOGITS; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-4f * fmaxf(1, fabsf(a[i]))))
            return 0;
    return 1;
}

/* ---- writing -------------------------------------------------------------------------------- */

int prompt_cache_save(struct generator *g, const struct start *start, const char *model,
                      const char *path)
{
    SCOPED(buf) out = BUF_INIT;
    float logits[PROMPT_CACHE_LOGITS];
    const int64_t n = start->cache.past.used, numbers = cache_numbers(&start->cache, n);
    if (start->unseen)
        return err_set("cannot write '%s': the prompt has more tokens than the model has positions",
                       path);
    if (sign(g, logits, start->ids.data, n) < 0)
        return -1;
    buf_add(&out, magic, sizeof magic - 1);
    le_add_u32(&out, VERSION);
    le_add_u32(&out, (uint32_t)strlen(model));
    buf_adds(&out, model);
    le_add_u64(&out, tokenizer_checksum(g->tokenizer));
    le_add_u32(&out, (uint32_t)g->model.config.layers);
    le_add_u32(&out, (uint32_t)(numbers / n / g->model.config.layers));
    le_add_u32(&out, (uint32_t)n);
    add_reals(&out, logits, PROMPT_CACHE_LOGITS);
    for (int64_t i = 0; i < n; i++)
        le_add_u32(&out, start->ids.data[i]);
    SCOPED_MEM float *keys = mem_alloc(2 * (size_t)numbers * sizeof *keys);
    cache_get(&start->cache, keys, keys + numbers);
    add_reals(&out, keys, 2 * numbers);
    le_add_u32(&out, crc32c(0, out.data, out.len));
    return file_write(path, out.data, out.len);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Sets the members of *out to the parts after the model's name, which begin at p. Returns the
 * length of these parts in bytes, as the sizes in them give it, or UINT64_MAX if the sizes are
 * impossible. */
static uint64_t set_parts(struct prompt_cache *out, const unsigned char *p)
{
    out->vocabulary = le_u64(p);
    out->layers = le_u32(p + 8);
    out->width = le_u32(p + 12);
    out->tokens = le_u32(p + 16);
    out->logits = p + 20;
    out->ids = out->logits + 4 * PROMPT_CACHE_LOGITS;
    if (out->layers > 1u << 16 || out->width > 1u << 20 || !out->tokens)
        return UINT64_MAX;
    return 20 + 4 * PROMPT_CACHE_LOGITS + 4 * (uint64_t)out->tokens +
           8 * (uint64_t)out->layers * out->width * out->tokens + 4;
}

int prompt_cache_parse(struct prompt_cache *out, const void *bytes, size_t n, const char *name)
{
    const unsigned char *p = bytes;
    if (n < HEAD || memcmp(p, magic, sizeof magic - 1))
        return err_set("'%s' is no prompt cache", name);
    if (le_u32(p + 8) != VERSION)
        return err_set("'%s' is a prompt cache of version %u; this program reads version %d", name,
                       le_u32(p + 8), VERSION);
    uint64_t at = HEAD + (uint64_t)le_u32(p + 12);
    *out = (struct prompt_cache){ .model = (const char *)p + HEAD, .model_bytes = le_u32(p + 12) };
    if (at + 20 + 4 * PROMPT_CACHE_LOGITS > n || set_parts(out, p + at) != n - at)
        return err_set("'%s' is damaged: its %zu bytes are not as many as its head says", name, n);
    uint32_t crc = crc32c(0, p, n - 4);
    if (crc != le_u32(p + n - 4))
        return err_set("'%s' is damaged: its checksum is %08x, not %08x", name, crc,
                       le_u32(p + n - 4));
    out->keys = out->ids + 4 * (uint64_t)out->tokens;
    out->values = out->keys + 4 * (uint64_t)out->layers * out->width * out->tokens;
    return 0;
}

static int other_model(const struct prompt_cache *c, const char *model, const char *path)
{
    return err_set("'%s' was made with the model '%.*s', and does not fit '%s': other weights, or "
                   "other --weights, --precision or --cache-precision",
                   path, (int)(c->model_bytes < 1000 ? c->model_bytes : 1000), c->model, model);
}

/* Checks that g's model and vocabulary made the cache, and adds its tokens to g->saved_ids. Returns
 * 0, or -1 with an error if they did not. */
static int check(struct generator *g, const struct prompt_cache *c, const char *model,
                 const char *path)
{
    const struct model_config *k = &g->model.config;
    float theirs[PROMPT_CACHE_LOGITS], ours[PROMPT_CACHE_LOGITS];
    if (c->layers != k->layers || c->width != k->kv_heads * k->head_width ||
        c->tokens > k->positions)
        return other_model(c, model, path);
    if (c->vocabulary != tokenizer_checksum(g->tokenizer))
        return err_set("'%s' was made with another vocabulary", path);
    for (uint32_t i = 0; i < c->tokens; i++)
        ids_add(&g->saved_ids, le_u32(c->ids + 4 * (size_t)i));
    stored_read(OPS_F32, theirs, c->logits, PROMPT_CACHE_LOGITS);
    if (sign(g, ours, g->saved_ids.data, c->tokens) < 0)
        return err_in("%s", path);
    return alike(theirs, ours) ? 0 : other_model(c, model, path);
}

int prompt_cache_load(struct generator *g, const char *model, const char *path)
{
    SCOPED_BY(file_unmap) struct file_map map = { 0 };
    struct prompt_cache c;
    if (file_map(&map, path) < 0 || prompt_cache_parse(&c, map.data, map.bytes, path) < 0 ||
        check(g, &c, model, path) < 0)
        return -1;
    const int64_t numbers = (int64_t)c.layers * c.width * c.tokens;
    SCOPED_MEM float *keys = mem_alloc(2 * (size_t)numbers * sizeof *keys);
    stored_read(OPS_F32, keys, c.keys, 2 * numbers);
    cache_init(&g->saved, &g->decoder);
    cache_set(&g->saved, c.tokens, keys, keys + numbers);
    return 0;
}
