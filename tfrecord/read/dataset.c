#include "tfrecord/read/dataset.h"

#include "common/base/hash.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/formats/flat_tokens.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/formats/record_file.h"
#include "tfrecord/publish/stage.h"
#include "tfrecord/read/bert_rows.h"

typedef unsigned long long ull;

static const char FEATURE[] = "input_ids";
/* Features that are 0 where an id is no label; other programs mark padding by the second. */
static const char *const masks[] = { "loss_mask", "attention_mask" };

/* One file of the data set: a TFRecord file, a Megatron pair or a flat file. It holds sequences
 * [first, first + count) of the data set. */
struct source {
    char *path;
    uint64_t first, count;
    struct record_file file; /* TFRecord */
    struct record_index index;
    struct megatron megatron; /* prefix NULL: none */
    struct flat_tokens flat;  /* width 0: none */
};

struct dataset {
    struct source *sources;
    size_t count, cap;
    uint32_t length;       /* 0: records as they are */
    int64_t record_length; /* ids of each TFRecord; 0: none read yet */
    uint64_t sequences;
    struct dataset_facts facts;
    struct manifest beside;   /* of the single file that was opened last */
    uint64_t duplication;     /* of the files that are being opened */
    uint64_t sequence_length; /* from the first manifest that has it; 0: none has it */
    uint64_t tokenizer_crc;   /* of the tokenizer.json that facts.tokenizers has last */
};

/* ---- records ------------------------------------------------------------------------------ */

static int not_an_id(const int64_t *values, uint64_t at)
{
    while (*values >= 0 && *values <= UINT32_MAX) {
        values++;
        at++;
    }
    return err_set("%s[%llu] is %lld, which is not a token id", FEATURE, (ull)at,
                   (long long)*values);
}

/* Reads the first `length` ids of the feature into `ids`. Returns the number of ids that the
 * feature has, or -1 with an error. */
static int64_t take_ids(const struct feature_view *f, uint32_t length, uint32_t *ids)
{
    enum { PIECE = 512 };
    struct feature_reader r;
    int64_t values[PIECE], got;
    uint64_t n = 0;
    feature_open(&r, f);
    while ((got = feature_ints(&r, values, PIECE)) > 0) {
        uint64_t all = 0, take = n < length ? length - n : 0;
        for (int64_t k = 0; k < got; k++)
            all |= (uint64_t)values[k];
        if (all > UINT32_MAX)
            return not_an_id(values, n);
        for (uint64_t k = 0; k < take && k < (uint64_t)got; k++)
            ids[n + k] = (uint32_t)values[k];
        n += (uint64_t)got;
    }
    return got < 0 ? -1 : (int64_t)n;
}

/* Sets labels[t] to ids[t + 1], or to DATASET_IGNORE where the record's mask, if it has one, is 0.
 * The record has n ids. Returns 0, or -1 with an error. */
static int take_labels(const struct record *r, const uint32_t *ids, int64_t n, uint32_t length,
                       int32_t *labels)
{
    struct feature_view f;
    int i = 0, found = 0;
    while (i < 2 && !(found = example_find(r->data, r->bytes, masks[i], &f)))
        i++;
    uint32_t *mask = (uint32_t *)labels; /* first the numbers of the mask */
    for (uint32_t t = 0; t < length && !found; t++)
        mask[t] = 1;
    if (found > 0 && (f.kind != FEATURE_INTS || take_ids(&f, length, mask) != n))
        return err_set("feature %s is not a list of %lld integers", masks[i], (long long)n);
    for (uint32_t t = 0; t + 1 < length && found >= 0; t++) {
        if (mask[t + 1] > 1 && !i)
            return err_set("%s[%u] is %u, neither 0 nor 1", masks[i], t + 1, mask[t + 1]);
        labels[t] = mask[t + 1] ? (int32_t)ids[t + 1] : DATASET_IGNORE;
    }
    return found < 0 ? -1 : 0;
}

static int64_t decode(const struct record *r, uint32_t length, uint32_t *ids)
{
    struct feature_view f;
    int found = example_find(r->data, r->bytes, FEATURE, &f);
    if (found < 0)
        return -1;
    if (!found || f.kind != FEATURE_INTS)
        return err_set(found ? "feature %s is not a list of integers" : "has no feature %s",
                       FEATURE);
    int64_t n = take_ids(&f, length, ids);
    if (n >= 0 && n < length)
        return err_set("has %lld ids, but %u are needed (sequence length %u and the last label): "
                       "give --sequence-length %lld",
                       (long long)n, length, length - 1, (long long)n - 1);
    return n;
}

/* Finds record i of a file and checks its CRCs. Returns 0, or -1 with an error. */
static int find_record(const struct source *s, uint64_t i, struct record *r)
{
    return record_read(&s->file.records, index_at(&s->index, i), r) > 0
               ? 0
               : err_set("%s (tfwrite repair keeps the other records)", err_get());
}

/* Reads the first `length` ids of record i of a file, and their labels unless `labels` is NULL.
 * Returns the number of ids in the record, or -1 with an error. */
static int64_t read_record(const struct source *s, uint64_t i, uint32_t length, uint32_t *ids,
                           int32_t *labels)
{
    struct record r;
    if (find_record(s, i, &r) < 0)
        return -1;
    int64_t n = decode(&r, length, ids);
    return n >= 0 && labels && take_labels(&r, ids, n, length, labels) < 0 ? -1 : n;
}

/* Checks that a record of n ids has as many as the first record of the data set; otherwise, it was
 * cut in another way. Returns 0, or -1 with an error. */
static int check_length(const struct dataset *d, int64_t n)
{
    if (n >= 0 && n != d->record_length)
        return err_set(
            "has %lld ids, but the records before it have %lld: two sequence lengths are mixed",
            (long long)n, (long long)d->record_length);
    return n < 0 ? -1 : 0;
}

/* Checks the first record of a file. One for a BERT has input_ids, too, but some are masked. */
static int check_first(struct dataset *d, const struct source *s)
{
    enum bert_layout layout;
    struct record r;
    SCOPED_MEM uint32_t *ids = mem_alloc(d->length * sizeof *ids);
    const int got = find_record(s, 0, &r);
    const int bert = got < 0 ? -1 : bert_layout_of(&layout, r.data, r.bytes);
    const int64_t n = bert ? -1 : read_record(s, 0, d->length, ids, NULL);
    if (bert > 0)
        err_set("is a record of layout %s, but layout gpt is needed", bert_layout_name(layout));
    if (!d->record_length)
        d->record_length = n;
    return check_length(d, n) < 0 ? record_where(s->path, 0, 0) : 0;
}

/* ---- opening ------------------------------------------------------------------------------ */

static struct source *add_source(struct dataset *d, const char *path)
{
    struct source *s = &mem_next(d->sources, d->count, d->cap);
    *s = (struct source){ .path = mem_strdup(path), .first = d->sequences };
    return s;
}

/* Checks that the manifest names the vocabulary of the manifests before it, or none, and adds what
 * it says to d->facts. Returns 0, or -1 with an error. */
static int take_vocabulary(struct dataset *d, const struct manifest *m, const char *path)
{
    if (m->checksum && d->facts.checksum && m->checksum != d->facts.checksum)
        return err_set("%s: made with another vocabulary (checksum %016llx) than the data before "
                       "it (%016llx)",
                       path, (ull)m->checksum, (ull)d->facts.checksum);
    if (m->checksum)
        d->facts.checksum = m->checksum;
    for (size_t i = 0; i < m->count; i++) {
        d->facts.content = hash_more(d->facts.content, &m->shards[i].crc, sizeof m->shards[i].crc);
        if (m->shards[i].name == m->tokenizer && m->shards[i].crc != d->tokenizer_crc) {
            SCOPED(buf) file = file_beside(path, m->tokenizer);
            file_names_add(&d->facts.tokenizers, file.data);
            d->tokenizer_crc = m->shards[i].crc;
        }
    }
    if (m->vocabulary > d->facts.vocabulary)
        d->facts.vocabulary = m->vocabulary;
    if (kv_get(&m->kv, "end_of_text") &&
        kv_get_u64(&m->kv, "end_of_text", &d->facts.end_of_text) < 0)
        return err_in("%s", path);
    if (kv_get(&m->kv, "duplication_factor") &&
        (kv_get_u64(&m->kv, "duplication_factor", &d->duplication) < 0 || !d->duplication))
        return err_set("%s: duplication_factor is not a number from 1", path);
    if (!d->sequence_length && kv_get(&m->kv, "sequence_length"))
        return kv_get_u64(&m->kv, "sequence_length", &d->sequence_length) < 0 ? err_in("%s", path)
                                                                              : 0;
    return 0;
}

/* Opens a TFRecord file. Finds its records with the index file if that fits the file, else by
 * reading the lengths in the file. Returns 0, or -1 with an error. */
static int open_tfrecord(struct dataset *d, const char *path)
{
    struct source *s = add_source(d, path);
    if (record_file_open(&s->file, path) < 0)
        return -1;
    SCOPED(buf) index = index_path(path);
    int result = index_load(&s->index, index.data, s->file.records.bytes);
    if (result < 0)
        result = index_scan(&s->index, &s->file.records, path, 0);
    s->count = s->index.count;
    d->sequences += s->count;
    d->facts.epoch += (double)s->count / (double)d->duplication;
    return !result && s->count && d->length ? check_first(d, s) : result;
}

/* Returns 1 if a source is one stream of token ids, else 0. */
static int is_run(const struct source *s)
{
    return s->megatron.prefix || s->flat.width;
}

static uint64_t run_sequences(const struct dataset *d, const struct source *s)
{
    uint64_t tokens = s->megatron.prefix ? s->megatron.tokens : s->flat.tokens;
    return tokens ? (tokens - 1) / (d->length - 1) : 0;
}

static int open_flat(struct dataset *d, const char *path)
{
    if (!d->length)
        return err_set("%s: has ids back to back, but TFRecord files are needed", path);
    struct source *s = add_source(d, path);
    if (flat_tokens_open(&s->flat, path) < 0)
        return -1;
    d->sequences += s->count = run_sequences(d, s);
    return 0;
}

static int open_megatron(struct dataset *d, const char *prefix)
{
    if (!d->length)
        return err_set("%s: is a Megatron pair, but TFRecord files are needed", prefix);
    struct source *s = add_source(d, prefix);
    SCOPED(manifest) m = { 0 };
    SCOPED(buf) path = buf_format("%s.manifest", prefix);
    const int there = megatron_open(&s->megatron, prefix) < 0 ? -1 : manifest_load(&m, path.data);
    if (there < 0 || (there && take_vocabulary(d, &m, path.data) < 0))
        return -1;
    d->sequences += s->count = run_sequences(d, s);
    return 0;
}

static int open_folder(struct dataset *d, const char *dir)
{
    SCOPED(file_names) files = { 0 };
    SCOPED(manifest) m = { 0 };
    if (file_list(&files, dir, ".tfrecord") < 0)
        return -1;
    SCOPED(buf) path = file_path(dir, "manifest");
    const int there = manifest_load(&m, path.data);
    if (there < 0 ||
        (there ? take_vocabulary(d, &m, path.data) < 0 ||
                     manifest_check_names(&m, dir, &files) < 0 || manifest_check_sizes(&m, dir) < 0
               : stage_check_finished(dir) < 0))
        return -1;
    const int is_empty = kv_get(&m.kv, "records") && !m.records; /* tfwrite --allow-empty */
    if (!files.count && !is_empty)
        return err_set("%s: no *.tfrecord in this folder: name files, as '%s/*.bin'", dir, dir);
    int result = 0;
    for (size_t i = 0; i < files.count && !result; i++) {
        SCOPED(buf) file = file_path(dir, files.names[i]);
        result = open_tfrecord(d, file.data);
    }
    return result;
}

static int open_pattern(struct dataset *d, const char *pattern, size_t bare);
static int open_list(struct dataset *d, const char *path);

static int open_path(struct dataset *d, const char *path)
{
    d->duplication = 1;
    if (*path == '@')
        return open_list(d, path + 1);
    static const char nanogpt[] = "nanogpt:";
    const size_t bare = strncmp(path, nanogpt, sizeof nanogpt - 1) ? 0 : sizeof nanogpt - 1;
    const int kind = file_look(path + bare);
    if (kind < 0)
        return -1;
    if (!kind && strpbrk(path, "*?["))
        return open_pattern(d, path, bare);
    const int flat = file_ends_with(path, ".bin") || file_ends_with(path, ".npy");
    const int head = flat && kind == FILE_PLAIN ? flat_tokens_has_head(path + bare) : 0;
    if (bare || head)
        return head < 0 ? -1 : open_flat(d, path + bare);
    if (kind == FILE_FOLDER)
        return open_folder(d, path);
    SCOPED(buf) prefix = BUF_INIT;
    const int pair = megatron_prefix(&prefix, path);
    const char *last = d->count ? d->sources[d->count - 1].path : "";
    if (pair > 0 && file_ends_with(path, ".idx") && !strcmp(last, prefix.data))
        return 0; /* a pattern matches both files of a pair, .bin first */
    if (pair)
        return pair < 0 ? -1 : open_megatron(d, prefix.data);
    /* a single file: the manifest beside it is used if it lists the file */
    const struct manifest *m = &d->beside;
    if (manifest_load_beside(&d->beside, path) < 0 ||
        (manifest_find(m, file_name(path)) && take_vocabulary(d, m, m->path) < 0))
        return -1;
    return open_tfrecord(d, path);
}

/* Opens all paths that match a pattern, sorted by name. Its first `bare` characters, those of
 * "nanogpt:" or none, are no part of the names. Returns 0, or -1 with an error. */
static int open_pattern(struct dataset *d, const char *pattern, size_t bare)
{
    SCOPED(file_names) found = { 0 };
    int result = file_glob(&found, pattern + bare);
    for (size_t i = 0; i < found.count && !result; i++) {
        SCOPED(buf) path = buf_format("%.*s%s", (int)bare, pattern, found.names[i]);
        result = open_path(d, path.data);
    }
    return result;
}

/* Opens the paths that a file names, one per line. Lists inside lists are an error, because they
 * could be endless. Returns 0, or -1 with an error. */
static int open_list(struct dataset *d, const char *path)
{
    SCOPED_BY(input_close) struct input in = { 0 };
    SCOPED(buf) item = BUF_INIT;
    char *line;
    size_t n;
    int got = input_open(&in, path) < 0 ? -1 : 1;
    for (size_t skip = 3; got > 0 && (got = input_line(&in, &line, &n)) > 0; skip = 0) {
        skip = skip ? utf8_mark(line, n) : 0;
        n -= n && line[n - 1] == '\r';
        buf_set(&item, line + skip, n - skip);
        if (*item.data == '@')
            got = err_set("%s: '%s' is another list", path, item.data);
        else if (item.len && open_path(d, item.data) < 0)
            got = err_in("%s", path);
    }
    return got;
}

struct dataset *dataset_open(const char *const *paths, size_t count, uint32_t length)
{
    assert(length != 1);
    struct dataset *d = mem_zalloc(1, sizeof *d);
    d->length = length;
    d->facts.end_of_text = d->tokenizer_crc = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (open_path(d, paths[i]) < 0) {
            dataset_close(d);
            return NULL;
        }
    }
    return d;
}

void dataset_close(struct dataset *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        struct source *s = &d->sources[i];
        free(s->path);
        record_file_close(&s->file);
        index_release(&s->index);
        megatron_close(&s->megatron);
        flat_tokens_close(&s->flat);
    }
    manifest_release(&d->beside);
    free(d->sources);
    file_names_release(&d->facts.tokenizers);
    free(d);
}

uint64_t dataset_sequence_length(const struct dataset *d)
{
    uint64_t of_records = d->record_length ? (uint64_t)d->record_length - 1 : 0;
    return d->sequence_length ? d->sequence_length : of_records;
}

int dataset_set_length(struct dataset *d, uint32_t length)
{
    assert(length >= 2);
    d->length = length;
    d->sequences = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct source *s = &d->sources[i];
        s->first = d->sequences;
        if (is_run(s))
            s->count = run_sequences(d, s);
        else if (s->count && check_first(d, s) < 0)
            return -1;
        d->sequences += s->count;
    }
    return 0;
}

uint64_t dataset_count(const struct dataset *d)
{
    return d->sequences;
}

uint64_t dataset_tokens(const struct dataset *d)
{
    return d->sequences * (d->length - 1);
}

uint64_t dataset_record_length(const struct dataset *d)
{
    return (uint64_t)d->record_length;
}

const struct dataset_facts *dataset_facts(const struct dataset *d)
{
    return &d->facts;
}

/* ---- reading ------------------------------------------------------------------------------ */

static const struct source *find_source(const struct dataset *d, uint64_t i)
{
    size_t low = 0, high = d->count; /* the answer is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->sources[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    return &d->sources[low];
}

int dataset_where(const struct dataset *d, uint64_t i)
{
    const struct source *s = find_source(d, i);
    i -= s->first;
    if (s->flat.width)
        return err_in("%s: sequence %llu at byte %llu", s->path, (ull)i,
                      (ull)(s->flat.begin + i * (d->length - 1) * (uint64_t)s->flat.width));
    if (s->megatron.prefix)
        return err_in("%s.bin: sequence %llu at byte %llu", s->path, (ull)i,
                      (ull)i * (d->length - 1) * (ull)s->megatron.width);
    return record_where(s->path, i, index_at(&s->index, i));
}

int dataset_read(struct dataset *d, uint64_t i, uint32_t *ids, int32_t *labels)
{
    assert(i < d->sequences);
    const struct source *s = find_source(d, i);
    uint64_t first = (i - s->first) * (d->length - 1);
    if (s->megatron.prefix && megatron_read(&s->megatron, first, d->length, ids) < 0)
        return -1; /* the error names the token */
    if (s->flat.width)
        flat_tokens_read(&s->flat, first, d->length, ids);
    for (uint32_t t = 1; t < d->length && is_run(s); t++)
        labels[t - 1] = (int32_t)ids[t];
    if (!is_run(s) && check_length(d, read_record(s, i - s->first, d->length, ids, labels)) < 0)
        return dataset_where(d, i);
    return d->facts.vocabulary ? dataset_check(d, i, ids, d->facts.vocabulary) : 0;
}

int dataset_check(const struct dataset *d, uint64_t i, const uint32_t *ids, uint64_t vocabulary)
{
    const struct flat_tokens *flat = &find_source(d, i)->flat;
    uint32_t most = 0;
    for (uint32_t k = 0; k < d->length; k++)
        most = ids[k] > most ? ids[k] : most;
    if (vocabulary > 65536 && flat->width && !flat->begin)
        err_set("has 16-bit ids, but the vocabulary has %llu: give .npy, llm.c or Megatron files",
                (ull)vocabulary);
    else if (most < vocabulary)
        return 0;
    else
        err_set("has id %u, but the vocabulary only has %llu", most, (ull)vocabulary);
    return dataset_where(d, i);
}

uint64_t dataset_next_file(const struct dataset *d, uint64_t i)
{
    const struct source *s = find_source(d, i);
    return s->first + s->count;
}

int dataset_record(const struct dataset *d, uint64_t i, const void **data, size_t *n)
{
    assert(i < d->sequences);
    const struct source *s = find_source(d, i);
    struct record r;
    if (find_record(s, i - s->first, &r) < 0)
        return dataset_where(d, i);
    *data = r.data;
    *n = r.bytes;
    return 0;
}
