#include "tfrecord/read/bert_rows.h"

#include "tfrecord/formats/example.h"

/* ---- the features of a layout --------------------------------------------------------------- */

/* A feature that identifies each layout. */
static const enum bert_field mark[] = {
    [BERT_PLAIN] = BERT_MASK, [BERT_TF1] = BERT_MASKED, [BERT_PACKED] = BERT_MASK
};

enum { LAYOUTS = sizeof mark / sizeof *mark };

static size_t lengths(const struct bert_shape *s, int from, int to)
{
    size_t sum = 0;
    for (int f = from; f < to; f++)
        sum += bert_field_length(s, f);
    return sum;
}

/* Returns the index of a field's first value in the working memory. There is one array for all
 * fields of type int, and one for all fields of type float. */
static size_t field_offset(const struct bert_shape *s, int f)
{
    return lengths(s, f < BERT_INTS ? 0 : BERT_INTS, f);
}

static const int64_t *ints(const struct bert_rows *r, int f)
{
    return r->values + field_offset(&r->shape, f);
}

static const float *floats(const struct bert_rows *r, int f)
{
    return r->floats + field_offset(&r->shape, f);
}

/* ---- the shape of a record ------------------------------------------------------------------ */

static int find_layout(enum bert_layout *layout, const void *data, size_t n)
{
    struct feature_view f;
    for (int i = 0; i < LAYOUTS; i++) {
        int found = example_find(data, n, bert_names[i][mark[i]], &f);
        if (found < 0)
            return -1;
        *layout = (enum bert_layout)i;
        if (found)
            return 1;
    }
    return 0;
}

int bert_layout_of(enum bert_layout *layout, const void *data, size_t n)
{
    struct feature_view f;
    int found = find_layout(layout, data, n);
    return found > 0 ? example_find(data, n, bert_names[*layout][BERT_LABELS], &f) : found;
}

static int no_layout(const void *data, size_t n)
{
    struct feature_view f;
    int ids = example_find(data, n, bert_names[BERT_PLAIN][BERT_IDS], &f);
    int labels = example_find(data, n, bert_names[BERT_PLAIN][BERT_LABELS], &f);
    if (ids < 0 || labels < 0)
        return -1;
    if (ids && !labels)
        return err_set("is a record of layout gpt, but layout %s, %s or %s is needed",
                       bert_layout_name(BERT_PLAIN), bert_layout_name(BERT_TF1),
                       bert_layout_name(BERT_PACKED));
    return err_set("has none of the features %s, %s and %s, so its layout is unknown",
                   bert_names[0][mark[0]], bert_names[1][mark[1]], bert_names[2][mark[2]]);
}

/* Names of fields of the layout bert that newer programs of TensorFlow give. */
static const char *const newer[BERT_FIELDS] = {
    [BERT_IDS] = "input_word_ids", [BERT_SEGMENTS] = "input_type_ids"
};

enum { LONGEST = 1 << 20, PIECE = 256 };

/* Sets *out to the number of integers in the feature `name`, or else `other`, unless that is NULL.
 * It must be from 1 to LONGEST. Returns 0, or -1 with an error. */
static int length_of(uint32_t *out, const void *data, size_t n, const char *name, const char *other)
{
    struct feature_view f;
    struct feature_reader r;
    int64_t values[PIECE], got, length = 0;
    int found = example_find(data, n, name, &f);
    if (!found && other)
        found = example_find(data, n, other, &f);
    if (found < 0)
        return -1;
    if (!found || f.kind != FEATURE_INTS)
        return err_set(found ? "feature %s is not a list of integers" : "has no feature %s", name);
    feature_open(&r, &f);
    while ((got = feature_ints(&r, values, PIECE)) > 0)
        length += got;
    if (got < 0)
        return -1;
    if (!length || length > LONGEST)
        return err_set("feature %s has %lld values", name, (long long)length);
    *out = (uint32_t)length;
    return 0;
}

int bert_shape_of(struct bert_shape *s, const void *data, size_t n)
{
    uint32_t labels;
    *s = (struct bert_shape){ .sequences = 1 };
    int found = find_layout(&s->layout, data, n);
    if (found <= 0)
        return found ? -1 : no_layout(data, n);
    const char *const *name = bert_names[s->layout];
    if (length_of(&s->sequence_length, data, n, name[BERT_IDS], newer[BERT_IDS]) < 0 ||
        length_of(&labels, data, n, name[BERT_LABELS], NULL) < 0 ||
        (s->layout == BERT_PACKED && length_of(&s->sequences, data, n, name[BERT_NEXT], NULL) < 0))
        return -1;
    if (labels < s->sequences)
        return err_set("has room for %u predictions, but for %u sequences", labels, s->sequences);
    s->mask_tokens = labels - (s->sequences - 1);
    return 0;
}

int bert_shape_check_same(const struct bert_shape *is, const struct bert_shape *first)
{
    if (is->layout != first->layout)
        return err_set("has the layout %s, but the records before it have %s",
                       bert_layout_name(is->layout), bert_layout_name(first->layout));
    if (is->sequences != first->sequences)
        return err_set("has room for %u sequences, but the records before it for %u", is->sequences,
                       first->sequences);
    return 0;
}

void bert_rows_init(struct bert_rows *r, const struct bert_shape *shape)
{
    *r = (struct bert_rows){ .shape = *shape };
    r->values = mem_alloc(lengths(shape, 0, BERT_INTS) * sizeof *r->values);
    r->floats = mem_alloc(lengths(shape, BERT_INTS, BERT_FIELDS) * sizeof *r->floats);
}

void bert_rows_release(struct bert_rows *r)
{
    free(r->values);
    free(r->floats);
    *r = (struct bert_rows){ 0 };
}

/* ---- the values ------------------------------------------------------------------------------ */

/* Reads a field's values; their number must match the shape. Returns 0, or -1 with an error. */
static int take_values(struct bert_rows *r, int field, const struct feature_view *f)
{
    const char *name = bert_names[r->shape.layout][field];
    size_t at = field_offset(&r->shape, field), want = bert_field_length(&r->shape, field);
    size_t have = 0;
    int64_t n = 1;
    struct feature_reader reader;
    if (f->kind != (field < BERT_INTS ? FEATURE_INTS : FEATURE_FLOATS))
        return err_set("feature %s is not a list of %s", name,
                       field < BERT_INTS ? "integers" : "floats");
    feature_open(&reader, f);
    for (; n > 0 && have<want; have += n> 0 ? (size_t)n : 0)
        n = field < BERT_INTS ? feature_ints(&reader, r->values + at + have, want - have)
                              : feature_floats(&reader, r->floats + at + have, want - have);
    int64_t more[1];
    float real[1];
    if (have == want)
        n = field < BERT_INTS ? feature_ints(&reader, more, 1) : feature_floats(&reader, real, 1);
    if (n < 0)
        return -1;
    return have == want && !n ? 0
                              : err_set("feature %s has %s than %zu values", name,
                                        have < want ? "fewer" : "more", want);
}

static int field_of(const char *const *name, const struct feature_view *f)
{
    for (int i = 0; i < BERT_FIELDS; i++)
        if (name[i] && (bytes_are(f->name, f->name_len, name[i]) ||
                        (newer[i] && bytes_are(f->name, f->name_len, newer[i]))))
            return i;
    return -1;
}

static int take_fields(struct bert_rows *r, const void *data, size_t n)
{
    const char *const *name = bert_names[r->shape.layout];
    struct example_reader reader;
    struct feature_view f;
    unsigned taken = 0;
    int more;
    example_open(&reader, data, n);
    while ((more = example_next(&reader, &f)) > 0) {
        int field = field_of(name, &f);
        if (field >= 0 && take_values(r, field, &f) < 0)
            return -1;
        if (field >= 0)
            taken |= 1u << field;
    }
    for (int i = 0; i < BERT_FIELDS && !more; i++)
        if (name[i] && !(taken >> i & 1))
            return err_set("has no feature %s", name[i]);
    return more;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const uint32_t no_token = UINT32_MAX; /* value in ids: this place is not filled yet */

static int bad_value(const struct bert_rows *r, int field, size_t at)
{
    return err_set("feature %s has the invalid value %lld at index %zu",
                   bert_names[r->shape.layout][field], (long long)ints(r, field)[at], at);
}

static int is_id(int64_t id)
{
    return id >= 0 && id <= INT32_MAX;
}

/* Puts the token of slot j at position `place` of the row, which must be free. */
static int put_token(const struct bert_rows *r, struct bert_row *row, size_t j, int64_t place)
{
    int64_t id = ints(r, BERT_IDS)[j], segment = ints(r, BERT_SEGMENTS)[j];
    if (!is_id(id))
        return bad_value(r, BERT_IDS, j);
    if (segment != 0 && segment != 1)
        return bad_value(r, BERT_SEGMENTS, j);
    if (place < 0 || place >= r->shape.sequence_length || row->ids[place] != no_token)
        return bad_value(r, BERT_PLACES, j);
    row->ids[place] = (uint32_t)id;
    row->segments[place] = (uint32_t)segment;
    if (place >= row->length)
        row->length = (uint32_t)place + 1;
    return 0;
}

/* Sets label i, which must belong to a token of the row. Returns 0, or -1 with an error. */
static int put_label(const struct bert_rows *r, struct bert_row *row, size_t i, int64_t place)
{
    int64_t label = ints(r, BERT_LABELS)[i];
    if (!is_id(label))
        return bad_value(r, BERT_LABELS, i);
    if (place < 0 || place >= row->length)
        return bad_value(r, BERT_POSITIONS, i);
    row->labels[place] = (int32_t)label;
    return 0;
}

static int put_next(const struct bert_rows *r, struct bert_row *row, size_t i)
{
    int64_t next = ints(r, BERT_NEXT)[i];
    row->next = (int)next;
    return next == 0 || next == 1 ? 0 : bad_value(r, BERT_NEXT, i);
}

static int read_plain(const struct bert_rows *r, struct bert_row *row)
{
    const int64_t *mask = ints(r, BERT_MASK);
    size_t S = r->shape.sequence_length, n = 0;
    while (n < S && mask[n] == 1)
        n++;
    for (size_t j = n; j < S; j++)
        if (mask[j])
            return bad_value(r, BERT_MASK, j);
    if (!n)
        return err_set("the row has no token");
    for (size_t j = 0; j < n; j++)
        if (put_token(r, row, j, (int64_t)j) < 0)
            return -1;
    for (size_t i = 0; i < r->shape.mask_tokens; i++)
        if (floats(r, BERT_WEIGHTS)[i] > 0 && put_label(r, row, i, ints(r, BERT_POSITIONS)[i]) < 0)
            return -1;
    return put_next(r, row, 0) < 0 ? -1 : 1;
}

/* Reads a record of bert-tf1: the slots before m, and from M to the end. An empty position before
 * the last token had [PAD], whose id is in each unused slot. Returns 1, the number of sequences, or
 * -1 with an error. */
static int read_tf1(const struct bert_rows *r, struct bert_row *row)
{
    int64_t S = r->shape.sequence_length, M = r->shape.mask_tokens;
    int64_t m = *ints(r, BERT_MASKED), end = *ints(r, BERT_END);
    if (m < 0 || m > M)
        return bad_value(r, BERT_MASKED, 0);
    if (end < M || end > S)
        return bad_value(r, BERT_END, 0);
    for (int64_t j = 0; j < end; j++)
        if ((j < m || j >= M) && put_token(r, row, (size_t)j, ints(r, BERT_PLACES)[j]) < 0)
            return -1;
    if (!row->length)
        return err_set("the row has no token");
    for (int64_t i = 0; i < m; i++)
        if (put_label(r, row, (size_t)i, ints(r, BERT_PLACES)[i]) < 0)
            return -1;
    int64_t pad = m < M ? m : end;
    for (uint32_t i = 0; i < row->length; i++) {
        if (row->ids[i] != no_token)
            continue;
        if (!is_id(ints(r, BERT_IDS)[pad]))
            return bad_value(r, BERT_IDS, (size_t)pad);
        row->ids[i] = (uint32_t)ints(r, BERT_IDS)[pad];
        row->segments[i] = i ? row->segments[i - 1] : 0;
    }
    return put_next(r, row, 0) < 0 ? -1 : 1;
}

/* Puts each token of a packed row into its sequence. The mask holds the sequence's number from 1,
 * or 0 for none. Returns the number of sequences, or -1 with an error. */
static int put_packed_tokens(const struct bert_rows *r, struct bert_row *rows)
{
    int64_t K = r->shape.sequences, count = 0;
    const int64_t *mask = ints(r, BERT_MASK);
    for (size_t j = 0; j < r->shape.sequence_length; j++) {
        if (mask[j] < 0 || mask[j] > K)
            return bad_value(r, BERT_MASK, j);
        if (mask[j] && put_token(r, &rows[mask[j] - 1], j, ints(r, BERT_PLACES)[j]) < 0)
            return -1;
        count = mask[j] > count ? mask[j] : count;
    }
    for (int64_t k = 0; k < count; k++) {
        if (!rows[k].length)
            return err_set("the row has no token of sequence %lld", (long long)k + 1);
        for (uint32_t i = 0; i < rows[k].length; i++)
            if (rows[k].ids[i] == no_token)
                return err_set("the row has no token %u of sequence %lld", i, (long long)k + 1);
    }
    return count ? (int)count : err_set("the row has no token");
}

static int read_packed(const struct bert_rows *r, struct bert_row *rows)
{
    int count = put_packed_tokens(r, rows);
    const float *of = floats(r, BERT_WEIGHTS);
    if (count < 0)
        return -1;
    for (size_t i = 0; i < bert_field_length(&r->shape, BERT_LABELS); i++) {
        int64_t at = ints(r, BERT_POSITIONS)[i];
        if (of[i] == 0)
            continue;
        if (at < 0 || at >= r->shape.sequence_length || ints(r, BERT_MASK)[at] < 1 ||
            of[i] != (float)ints(r, BERT_MASK)[at])
            return bad_value(r, BERT_POSITIONS, i);
        if (put_label(r, &rows[ints(r, BERT_MASK)[at] - 1], i, ints(r, BERT_PLACES)[at]) < 0)
            return -1;
    }
    for (int k = 0; k < count; k++) { /* taken from the end, in the order of their [CLS] */
        size_t at = r->shape.sequences - 1 - (size_t)k;
        if (floats(r, BERT_PRESENT)[at] != 1)
            return err_set("feature %s has the invalid value %g at index %zu",
                           bert_names[BERT_PACKED][BERT_PRESENT],
                           (double)floats(r, BERT_PRESENT)[at], at);
        if (put_next(r, &rows[k], at) < 0)
            return -1;
    }
    return count;
}

int bert_rows_read(struct bert_rows *r, const void *data, size_t n, struct bert_row *rows)
{
    if (take_fields(r, data, n) < 0)
        return -1;
    for (uint32_t k = 0; k < r->shape.sequences; k++) {
        rows[k].length = 0;
        for (uint32_t i = 0; i < r->shape.sequence_length; i++)
            rows[k].ids[i] = no_token;
    }
    if (r->shape.layout == BERT_PACKED)
        return read_packed(r, rows);
    return r->shape.layout == BERT_TF1 ? read_tf1(r, rows) : read_plain(r, rows);
}

int bert_row_check(const struct bert_row *row, uint64_t vocabulary)
{
    for (uint32_t i = 0; i < row->length; i++) {
        const int64_t id = row->ids[i], label = row->labels[i], most = id > label ? id : label;
        if ((uint64_t)most >= vocabulary)
            return err_set("has id %" PRId64 ", but the vocabulary only has %" PRIu64, most,
                           vocabulary);
    }
    return 0;
}
