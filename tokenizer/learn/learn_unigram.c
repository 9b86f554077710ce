#include "tokenizer/learn/learn_unigram.h"

#include "common/base/order.h"
#include "common/base/utf8.h"
#include "tokenizer/learn/em.h"
#include "tokenizer/learn/seeds.h"
#include "tokenizer/learn/segments.h"

enum { STEPS_PER_ROUND = 2 };
static const double more_than_wanted = 1.1, rare_step = 0.0001;

/* Removes pieces until `wanted` remain. Returns the smallest score of those that occur. */
static double shrink(struct seeds *p, const struct segments *s, double wanted,
                     const struct learn_options *o, struct pool *pool)
{
    struct em *e = em_new(s, p, pool, o->threads);
    double least = 0;
    for (;;) {
        for (int i = 0; i < STEPS_PER_ROUND; i++)
            least = em_step(e);
        if ((double)p->count <= wanted || p->count == s->alphabet_count)
            break;
        double size = o->shrinking * (double)p->count;
        em_prune(e, (size_t)(size > wanted ? size : wanted));
    }
    em_free(e);
    return least;
}

/* ---- the vocabulary ------------------------------------------------------------------------- */

static int put_piece(struct vocabulary *v, const struct seeds *p, const struct segments *s,
                     const struct order_rank *f)
{
    SCOPED(buf) name = BUF_INIT;
    for (uint32_t i = 0; i < p->items[f->item].length; i++)
        utf8_add(&name, s->text[p->at[f->item] + i]);
    if (vocabulary_find(v, name.data, name.len) >= 0)
        return err_set("special token '%s' is also a learned token: choose another name",
                       name.data);
    if (vocabulary_put(v, v->count, name.data, name.len, TOKEN_MODEL) < 0)
        return -1;
    vocabulary_score(v, v->count - 1, f->rank);
    return 0;
}

/* Returns a new list of all p->count pieces, the most probable ones first. Scores below `least`, of
 * characters that hardly occur as pieces, become values a little above `least`, each different. */
static struct order_rank *ranked(const struct seeds *p, double least)
{
    struct order_rank *all = mem_alloc((p->count + 1) * sizeof *all);
    double more = 0;
    for (size_t i = 0; i < p->count; i++) {
        all[i] = (struct order_rank){ p->items[i].score, (uint32_t)i };
        if (all[i].rank < least) {
            all[i].rank = least + more;
            more += rare_step;
        }
    }
    mem_sort(all, p->count, order_ranks);
    return all;
}

/* Adds the characters and the most probable of the other pieces, `wanted` in all. */
static int put_pieces(struct vocabulary *v, const struct seeds *p, const struct segments *s,
                      size_t wanted, double least)
{
    SCOPED_MEM struct order_rank *all = ranked(p, least);
    size_t others = wanted - s->alphabet_count;
    int result = 0;
    for (size_t i = 0; i < p->count && !result; i++) {
        int character = p->items[all[i].item].length == 1;
        if (!character && !others)
            continue;
        others -= !character;
        result = put_piece(v, p, s, &all[i]);
    }
    return result;
}

/* Adds the special tokens and the byte tokens, with score 0. Returns 0, or -1 with an error. */
static int put_fixed(struct vocabulary *v, const struct learn_options *o)
{
    char name[8];
    if (learn_special(v, o->special, o->special_count) < 0)
        return -1;
    for (int b = 0; b < 256 && v->byte_fallback; b++) {
        int n = snprintf(name, sizeof name, "<0x%02X>", b);
        if (vocabulary_put(v, v->count, name, (size_t)n, TOKEN_MODEL) < 0)
            return -1;
    }
    for (uint32_t id = 0; id < v->count; id++)
        vocabulary_score(v, id, 0);
    return 0;
}

static int learn_pieces(struct vocabulary *v, const struct segments *s,
                        const struct learn_options *o)
{
    SCOPED(seeds) pieces = { 0 };
    uint32_t fixed = v->count;
    if (fixed + s->alphabet_count > (size_t)o->vocabulary_size)
        return err_set("a vocabulary of %" PRId64 " tokens is too small: special tokens%s and "
                       "alphabet need %zu",
                       o->vocabulary_size, v->byte_fallback ? ", bytes" : "",
                       fixed + s->alphabet_count);
    struct pool *pool = pool_new(o->threads);
    seeds_find(&pieces, s, (uint32_t)o->length_max, (size_t)o->seed_count, pool);
    double least = shrink(&pieces, s, more_than_wanted * (double)o->vocabulary_size, o, pool);
    pool_free(pool);
    return put_pieces(v, &pieces, s, (size_t)o->vocabulary_size - fixed, least);
}

int learn_unigram(struct vocabulary *v, const struct counted_words *words,
                  const struct learn_options *o)
{
    SCOPED(segments) s = { 0 };
    return segments_cut(&s, words, o->coverage) < 0 || put_fixed(v, o) < 0 ? -1
                                                                           : learn_pieces(v, &s, o);
}
