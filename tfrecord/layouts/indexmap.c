#include "tfrecord/layouts/indexmap.h"

#include <math.h>

#include "common/base/noun.h"
#include "common/base/pyrandom.h"
#include "common/files/file.h"
#include "tfrecord/formats/npy.h"

/* ---- which documents ---------------------------------------------------------------------- */

static int parse_shares(const char *text, double shares[3])
{
    char *end = (char *)text;
    double sum = 0;
    int n = 0;
    do {
        const char *from = end + (n > 0);
        shares[n] = strtod(from, &end);
        if (end == from || !(shares[n] >= 0) || isinf(shares[n]))
            break;
        sum += shares[n++];
    } while (*end == ',' && n < 3);
    if (*end || n != 3 || !(sum > 0))
        return err_usage("--split %s is not three shares, such as 969,30,1", text);
    for (int i = 0; i < 3; i++)
        shares[i] /= sum;
    return 0;
}

/* Computes the bounds of the parts. */
static void bound_parts(int64_t bounds[4], uint64_t documents, const double shares[3],
                        enum indexmap_rule rule)
{
    double all = (double)documents, sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += shares[i];
        if (rule == INDEXMAP_CORE)
            bounds[i + 1] = (int64_t)rint(sum * all);
        else
            bounds[i + 1] = bounds[i] + (int64_t)(rule == INDEXMAP_CUT ? floor(shares[i] * all)
                                                                       : rint(shares[i] * all));
    }
    int64_t over = bounds[3] - (int64_t)documents;
    for (int i = 1; i < 4 && rule == INDEXMAP_OLDER; i++)
        bounds[i] -= over;
}

int indexmap_split(struct indexmap *x, uint64_t documents, const char *text, int part,
                   enum indexmap_rule rule)
{
    double shares[3];
    int64_t bounds[4] = { 0 };
    if (parse_shares(text, shares) < 0)
        return -1;
    bound_parts(bounds, documents, shares, rule);
    if (rule == INDEXMAP_CUT && part < 2 && shares[2] == 0)
        /* with two parts, the second gets the remaining documents */
        bounds[2] = (int64_t)documents;
    x->first = (uint64_t)bounds[part];
    x->end = (uint64_t)bounds[part + 1];
    if (bounds[part] < 0 || bounds[part] >= bounds[part + 1])
        return err_set("the split %s of %" PRIu64 " document%s leaves no document for this part",
                       text, documents, noun_end(documents));
    return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

static int put_map(struct output *f, const char *name, const char *map, enum npy_type type,
                   const uint32_t *values, uint64_t n)
{
    int result = npy_open(f, name, map, type, n, 1);
    for (uint64_t i = 0; i < n && !result; i++)
        result = npy_put(f, values[i], type);
    return result;
}

/* ---- the maps ----------------------------------------------------------------------------- */

static uint64_t tokens_of(const struct megatron *m, uint64_t document)
{
    uint64_t first;
    return megatron_sequence(m, document, &first);
}

/* Computes the numbers of epochs and samples, and if the last epoch is shuffled separately. Sets
 * *before to the samples before it then, else to all. Returns 0, or -1 with an error. */
static int plan(struct indexmap *x, const struct megatron *m, uint64_t *before)
{
    uint64_t epoch = 0, length = x->sequence_length, documents = x->end - x->first;
    for (uint64_t d = x->first; d < x->end; d++)
        epoch += tokens_of(m, d);
    if (!epoch)
        return err_set("%s.idx: documents %" PRIu64 " to %" PRIu64 " have no tokens", m->prefix,
                       x->first, x->end);
    if (x->samples)
        x->epochs = (x->samples * length + epoch) / epoch; /* >= samples * length + 1 tokens */
    if (documents > INT32_MAX / x->epochs || (x->epochs * epoch - 1) / length > UINT32_MAX - 2)
        return err_set("%s.idx: %" PRIu64 " epoch%s of %" PRIu64 " tokens: too many for index maps "
                       "of 32 bits; give fewer, or a larger --sequence-length",
                       m->prefix, x->epochs, noun_end(x->epochs), epoch);
    x->made = (x->epochs * epoch - 1) / length;
    if (!x->made)
        return err_set("%s.idx: %" PRIu64 " tokens are too few for a sample of %u and a label",
                       m->prefix, x->epochs * epoch, x->sequence_length);
    *before = x->made;
    x->apart = 0;
    if (x->samples && x->epochs > 1) {
        uint64_t all_but_last = ((x->epochs - 1) * epoch - 1) / length;
        uint64_t each = (epoch - 1) / length;
        x->apart = x->samples - all_but_last < (uint64_t)(0.80 * (double)each);
        if (x->apart)
            *before = all_but_last;
    }
    return 0;
}

static void fill_documents(const struct indexmap *x, uint32_t *out, uint64_t epochs)
{
    for (uint64_t e = 0; e < epochs; e++)
        for (uint64_t d = x->first; d < x->end; d++)
            *out++ = (uint32_t)d;
}

static void order_documents(const struct indexmap *x, struct pyrandom *r, uint32_t *out)
{
    uint64_t n = x->end - x->first, epochs = x->epochs - (uint64_t)x->apart;
    fill_documents(x, out, epochs);
    pyrandom_shuffle(r, out, n * epochs, sizeof *out, pyrandom_below_numpy);
    if (x->apart) {
        fill_documents(x, out + n * epochs, 1);
        pyrandom_shuffle(r, out + n * epochs, n, sizeof *out, pyrandom_below_numpy);
    }
}

static int put_samples(struct output *f, const struct indexmap *x, const struct megatron *m,
                       const char *name, const uint32_t *documents)
{
    const enum npy_type type = x->wide ? NPY_I64 : NPY_I32;
    uint64_t place = 0, offset = 0;
    if (npy_open(f, name, "sample_idx", type, x->made + 1, 2) < 0)
        return -1;
    for (uint64_t i = 0;; i++) {
        if (npy_put(f, place, type) < 0 || npy_put(f, offset, type) < 0)
            return -1;
        if (i == x->made)
            return 0;
        uint64_t want = (uint64_t)x->sequence_length + 1, left;
        while ((left = tokens_of(m, documents[place]) - offset) < want) {
            want -= left;
            offset = 0;
            place++;
        }
        offset += want - 1; /* the next sample begins with the last token of this one */
    }
}

static int put_order(struct output *f, const struct indexmap *x, struct pyrandom *r,
                     const char *name, uint64_t before)
{
    SCOPED_MEM uint32_t *order = mem_zalloc(x->made, sizeof *order);
    for (uint64_t i = 0; i < x->made; i++)
        order[i] = (uint32_t)i;
    pyrandom_shuffle(r, order, before, sizeof *order, pyrandom_below_numpy);
    pyrandom_shuffle(r, order + before, x->made - before, sizeof *order, pyrandom_below_numpy);
    return put_map(f, name, "shuffle_idx", NPY_U32, order, x->made);
}

void indexmap_name(struct buf *out, const struct indexmap *x, const char *prefix, int part)
{
    static const char *const parts[] = { "train", "valid", "test" };
    if (x->samples)
        buf_addf(out, "%s_%s_indexmap_%" PRIu64 "ns_%usl_%us", prefix, parts[part], x->samples,
                 x->sequence_length, x->seed);
    else
        buf_addf(out, "%s_indexmap_%" PRIu64 "ns_%usl_%us", prefix, x->epochs, x->sequence_length,
                 x->seed);
}

int indexmap_write(struct indexmap *x, const struct megatron *m, const char *name)
{
    struct output maps[3] = { { 0 }, { 0 }, { 0 } };
    struct pyrandom r;
    uint64_t before = 0;
    if (plan(x, m, &before) < 0)
        return -1;
    uint64_t n = x->epochs * (x->end - x->first);
    SCOPED_MEM uint32_t *documents = mem_zalloc(n, sizeof *documents);
    pyrandom_seed_numpy(&r, x->seed);
    order_documents(x, &r, documents);
    const int failed = put_map(&maps[0], name, "doc_idx", NPY_I32, documents, n) < 0 ||
                       put_samples(&maps[1], x, m, name, documents) < 0 ||
                       put_order(&maps[2], x, &r, name, before) < 0;
    return output_end_all(maps, 3, failed ? -1 : 0);
}
