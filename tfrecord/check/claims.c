#include "tfrecord/check/claims.h"

#include "tfrecord/layouts/windows.h"
#include "tfrecord/read/bert_rows.h"
#include "tfrecord/read/dataset.h"

static int differs(const char *path, const char *key, const char *said, const char *found)
{
    return err_set("%s: %s=%s, but its files have %s", path, key, said ? said : "(missing)", found);
}

/* Checks that the manifest has the key `key` with the value `found`. */
static int check_number(const struct manifest *m, const char *path, const char *key, uint64_t found)
{
    char text[24];
    uint64_t said;
    if (kv_get_u64(&m->kv, key, &said) < 0)
        return err_in("%s", path);
    snprintf(text, sizeof text, "%" PRIu64, found);
    return said == found ? 0 : differs(path, key, kv_get(&m->kv, key), text);
}

/* As check_number, for a share that is written with four digits after the point. */
static int check_share(const struct manifest *m, const char *path, const char *key, double found)
{
    char text[32];
    const char *said = kv_get(&m->kv, key);
    snprintf(text, sizeof text, "%.4f", found);
    return said && !strcmp(said, text) ? 0 : differs(path, key, said, text);
}

static int want_number(const struct manifest *m, const char *path, const char *key, uint64_t low,
                       uint64_t high, uint64_t *value)
{
    if (kv_get_u64(&m->kv, key, value) < 0)
        return err_in("%s", path);
    if (*value < low || *value > high)
        return err_set("%s: %s=%" PRIu64 " is not between %" PRIu64 " and %" PRIu64, path, key,
                       *value, low, high);
    return 0;
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

static int check_vocabulary(const struct manifest *m, const char *path)
{
    const char *checksum = kv_get(&m->kv, "checksum");
    uint64_t end;
    if (checksum && (strlen(checksum) != 16 || strspn(checksum, "0123456789abcdef") != 16))
        return err_set("%s: checksum=%s is not 16 digits", path, checksum);
    if (!kv_get(&m->kv, "end_of_text"))
        return 0;
    if (!m->vocabulary)
        return err_set("%s: end_of_text is given, but vocabulary is not", path);
    return want_number(m, path, "end_of_text", 0, m->vocabulary - 1, &end);
}

/* ---- sets that were merged ------------------------------------------------------------------- */

/* Sets *n to the number after "<key>=" in a set's line. Returns 0, or -1, without an error set, if
 * there is none. */
static int number_in(const char *line, const char *key, uint64_t *n)
{
    size_t len = strlen(key);
    for (const char *p = line; p; p = (p = strchr(p, ' ')) ? p + 1 : NULL)
        if (!strncmp(p, key, len) && p[len] == '=')
            return sscanf(p + len + 1, "%" SCNu64, n) == 1 ? 0 : -1;
    return -1;
}

/* Checks that the numbers in the manifest's set= lines (merge_sets.h) add up to the manifest's
 * totals. Returns 0, or -1 with an error. */
static int check_sets(const struct manifest *m, const char *path)
{
    static const char *const keys[] = { "documents", "sequences", "tokens",
                                        "records",   "filled",    "cut_documents" };
    for (size_t k = 0; k < sizeof keys / sizeof *keys && kv_get(&m->kv, "set"); k++) {
        uint64_t sum = 0, n;
        if (!kv_get(&m->kv, keys[k]))
            continue;
        for (size_t i = 0; i < m->kv.count; i++) {
            const struct kv_pair *p = &m->kv.pairs[i];
            if (!strcmp(p->key, "set") && number_in(p->value, keys[k], &n) < 0)
                return err_set("%s: set=%s does not say %s", path, p->value, keys[k]);
            sum += strcmp(p->key, "set") ? 0 : n;
        }
        if (kv_get_u64(&m->kv, keys[k], &n) < 0)
            return err_in("%s", path);
        if (sum != n)
            return err_set("%s: %s=%" PRIu64 ", but its sets have %" PRIu64, path, keys[k], n, sum);
    }
    return 0;
}

/* Returns 1 if the data set is a blend, else 0. Its tokens and sequences do not follow from those
 * of its sources. */
static int is_blend(const struct manifest *m)
{
    return kv_get(&m->kv, "source") != NULL;
}

/* ---- layout gpt ------------------------------------------------------------------------------ */

/* Returns the number of records of `tokens` tokens or, for merged sets, the sum over the sets. */
static uint64_t count_windows(const struct manifest *m, const struct windows *w, uint64_t tokens)
{
    uint64_t sum = 0, n;
    if (!kv_get(&m->kv, "set"))
        return windows_count(w, tokens);
    for (size_t i = 0; i < m->kv.count; i++)
        if (!strcmp(m->kv.pairs[i].key, "set") &&
            number_in(m->kv.pairs[i].value, "tokens", &n) == 0)
            sum += windows_count(w, n);
    return sum;
}

static int check_windows(const struct manifest *m, const char *path, uint64_t records,
                         uint32_t length)
{
    struct windows w = { .sequence_length = length };
    const char *remainder = kv_get(&m->kv, "remainder");
    uint64_t tokens;
    if (want_number(m, path, "stride", 1, INT64_MAX, &w.stride) < 0 ||
        want_number(m, path, "tokens", 0, INT64_MAX, &tokens) < 0)
        return -1;
    w.pad = remainder && !strcmp(remainder, "pad");
    if (!w.pad && (!remainder || strcmp(remainder, "drop") != 0))
        return err_set("%s: remainder=%s is neither drop nor pad", path,
                       remainder ? remainder : "(missing)");
    uint64_t made = count_windows(m, &w, tokens);
    return made == records ? 0
                           : err_set("%s: %" PRIu64 " tokens give %" PRIu64
                                     " records, but its files have %" PRIu64,
                                     path, tokens, made, records);
}

static int check_gpt(const struct manifest *m, const char *path, const char *dir)
{
    uint64_t length;
    if (want_number(m, path, "sequence_length", 1, 1 << 24, &length) < 0)
        return -1;
    struct dataset *d = dataset_open(&dir, 1, (uint32_t)length + 1);
    if (!d)
        return -1;
    SCOPED_MEM uint32_t *ids = mem_alloc(((size_t)length + 2) * sizeof *ids);
    SCOPED_MEM int32_t *labels = mem_alloc(((size_t)length + 2) * sizeof *labels);
    uint64_t n = dataset_count(d);
    int result = 0;
    for (uint64_t i = 0; i < n && !result; i++)
        result = dataset_read(d, i, ids, labels);
    if (!result && n && dataset_record_length(d) != length + 1)
        result = err_set("%s: sequence_length=%" PRIu64 ", but its records have %" PRIu64 " ids",
                         path, length, dataset_record_length(d));
    dataset_close(d);
    if (result < 0)
        return -1;
    return is_blend(m) || kv_get(&m->kv, "pack") ? check_number(m, path, "records", n)
                                                 : check_windows(m, path, n, (uint32_t)length);
}

/* ---- layouts bert, bert-tf1, bert-packed ----------------------------------------------------- */

struct rows {
    struct bert_shape shape; /* from the manifest, except `sequences` */
    struct bert_rows reader;
    struct bert_row *rows;
    uint32_t *ids;
    int32_t *labels;
    uint64_t sequences, tokens; /* read so far */
};

static void make_rows(struct rows *r)
{
    size_t length = r->shape.sequence_length, n = r->shape.sequences;
    bert_rows_init(&r->reader, &r->shape);
    r->rows = mem_zalloc(n, sizeof *r->rows);
    r->ids = mem_zalloc(2 * n * length, sizeof *r->ids);
    r->labels = mem_zalloc(n * length, sizeof *r->labels);
    for (size_t k = 0; k < n; k++) {
        r->rows[k].ids = r->ids + 2 * k * length;
        r->rows[k].segments = r->rows[k].ids + length;
        r->rows[k].labels = r->labels + k * length;
    }
}

static void rows_release(struct rows *r)
{
    bert_rows_release(&r->reader);
    free(r->rows);
    free(r->ids);
    free(r->labels);
}

static int check_shape(const struct rows *r, const struct bert_shape *is)
{
    if (is->layout == r->shape.layout && is->sequence_length == r->shape.sequence_length &&
        is->mask_tokens == r->shape.mask_tokens)
        return 0;
    return err_set("is of layout %s, sequence_length %u and mask_tokens %u, but its manifest says "
                   "%s, %u and %u",
                   bert_layout_name(is->layout), is->sequence_length, is->mask_tokens,
                   bert_layout_name(r->shape.layout), r->shape.sequence_length,
                   r->shape.mask_tokens);
}

static int check_record(struct rows *r, const void *data, size_t n, uint64_t vocabulary)
{
    struct bert_shape is;
    if (bert_shape_of(&is, data, n) < 0 || check_shape(r, &is) < 0)
        return -1;
    if (!r->rows) {
        r->shape.sequences = is.sequences;
        make_rows(r);
    }
    if (bert_shape_check_same(&is, &r->shape) < 0)
        return -1;
    memset(r->labels, 0, (size_t)is.sequences * is.sequence_length * sizeof *r->labels);
    int count = bert_rows_read(&r->reader, data, n, r->rows);
    for (int k = 0; k < count; k++, r->sequences++) {
        r->tokens += r->rows[k].length;
        if (vocabulary && bert_row_check(&r->rows[k], vocabulary) < 0)
            return -1;
    }
    return count < 0 ? -1 : 0;
}

static int check_rows(const struct manifest *m, const char *path, const struct rows *r,
                      uint64_t records)
{
    if (is_blend(m))
        return check_number(m, path, "records", records);
    if (check_number(m, path, "sequences", r->sequences) < 0 ||
        check_number(m, path, "tokens", r->tokens) < 0)
        return -1;
    if (r->shape.layout != BERT_PACKED || !records)
        return 0;
    double places = (double)records * r->shape.sequence_length;
    return check_share(m, path, "efficiency", (double)r->tokens / places) < 0
               ? -1
               : check_share(m, path, "packing_factor", (double)r->sequences / (double)records);
}

static int check_bert(const struct manifest *m, const char *path, const char *dir,
                      enum bert_layout layout)
{
    SCOPED(rows) r = { .shape = { .layout = layout } };
    uint64_t length, mask_tokens;
    if (want_number(m, path, "sequence_length", 1, 1 << 24, &length) < 0 ||
        want_number(m, path, "mask_tokens", 1, length, &mask_tokens) < 0)
        return -1;
    r.shape.sequence_length = (uint32_t)length;
    r.shape.mask_tokens = (uint32_t)mask_tokens;
    struct dataset *d = dataset_open(&dir, 1, 0);
    if (!d)
        return -1;
    int result = 0;
    for (uint64_t i = 0; i < dataset_count(d) && !result; i++) {
        const void *data;
        size_t n;
        result = dataset_record(d, i, &data, &n);
        if (!result && check_record(&r, data, n, m->vocabulary) < 0)
            result = dataset_where(d, i);
    }
    if (!result)
        result = check_rows(m, path, &r, dataset_count(d));
    dataset_close(d);
    return result;
}

/* ---- all ------------------------------------------------------------------------------------- */

int claims_check_shards(const struct manifest *m, const char *path, const char *dir)
{
    const char *layout = kv_get(&m->kv, "layout");
    if (check_vocabulary(m, path) < 0 || check_sets(m, path) < 0)
        return -1;
    if (layout && !strcmp(layout, "gpt"))
        return check_gpt(m, path, dir);
    for (int i = 0; i <= BERT_PACKED; i++)
        if (layout && !strcmp(layout, bert_layout_name((enum bert_layout)i)))
            return check_bert(m, path, dir, (enum bert_layout)i);
    return err_set("%s: layout=%s is not a layout of shards", path, layout ? layout : "(missing)");
}

int claims_check_pair(const struct manifest *m, const char *path, const struct megatron *pair)
{
    enum { PIECE = 4096 };
    const char *layout = kv_get(&m->kv, "layout");
    uint32_t ids[PIECE];
    if (!layout || strcmp(layout, "megatron") != 0)
        return differs(path, "layout", layout, "megatron");
    if (check_vocabulary(m, path) < 0 || check_sets(m, path) < 0 ||
        check_number(m, path, "documents", pair->documents) < 0 ||
        check_number(m, path, "tokens", pair->tokens) < 0 ||
        check_number(m, path, "records", pair->sequences) < 0)
        return -1;
    for (uint64_t at = 0, n; at < pair->tokens && m->vocabulary; at += n) {
        n = pair->tokens - at < PIECE ? pair->tokens - at : PIECE;
        if (megatron_read(pair, at, (size_t)n, ids) < 0)
            return -1;
        for (uint64_t i = 0; i < n; i++)
            if (ids[i] >= m->vocabulary)
                return err_set("%s: token %" PRIu64
                               " has id %u, but the vocabulary only has %" PRIu64,
                               path, at + i, ids[i], m->vocabulary);
    }
    return 0;
}
