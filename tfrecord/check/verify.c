#include "tfrecord/check/verify.h"

#include "common/base/crc32c.h"
#include "common/base/noun.h"
#include "common/files/compress.h"
#include "common/files/file.h"
#include "tfrecord/check/claims.h"
#include "tfrecord/check/repair.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/formats/record_file.h"
#include "tfrecord/publish/stage.h"

/* Counts and reports a file: as good with `line` if `result` is 0, else as bad with the error. */
static void tell(struct verify *v, int result, const char *line)
{
    v->files++;
    v->failed += result < 0;
    result < 0 ? v->bad(err_get()) : (void)v->good(line);
}

static void bad(struct verify *v)
{
    tell(v, -1, NULL);
}

/* Checks the file against its line in the manifest; does nothing if there is none. */
static int check_listing(const struct manifest *m, const char *path, uint64_t records,
                         const struct file_map *map)
{
    const struct manifest_shard *s = m ? manifest_find(m, file_name(path)) : NULL;
    if (!s)
        return 0;
    if (s->bytes != map->bytes || s->records != records)
        return err_set("%s: has %" PRIu64 " records and %" PRIu64
                       " bytes, but its manifest says %" PRIu64 " and %" PRIu64,
                       path, records, map->bytes, s->records, s->bytes);
    uint32_t crc = crc32c(0, map->data, map->bytes);
    if (s->crc != crc)
        return err_set("%s: checksum of the file is %08x, but its manifest says %08x", path, crc,
                       s->crc);
    return 0;
}

static int check_compression(const struct manifest *m, const char *path,
                             const struct record_file *f)
{
    const char *is = compress_name(f->how);
    if (!m || !manifest_find(m, file_name(path)) || !f->packed.bytes)
        return 0;
    const char *said = kv_get(&m->kv, "compression");
    if (!strcmp(said ? said : compress_name(COMPRESS_NONE), is))
        return 0;
    return err_set("%s: compression is %s, but its manifest says %s", path, is,
                   said ? said : "nothing about it");
}

/* ---- TFRecord ----------------------------------------------------------------------------- */

/* Checks the index file of the TFRecord file `path`, which has `bytes` bytes and the records
 * `found`. Returns 1 if the index is correct, 0 if there is no index file, or -1 with an error. */
static int check_index(const struct record_index *found, const char *path, uint64_t bytes)
{
    SCOPED(buf) file = index_path(path);
    SCOPED_BY(index_release) struct record_index said = { 0 };
    int result = file_look(file.data);
    if (result > 0 && index_load(&said, file.data, bytes) < 0)
        result = -1;
    if (result > 0 && said.count != found->count)
        result = err_set("%s: has %" PRIu64 " lines, but the file has %" PRIu64 " records",
                         file.data, said.count, found->count);
    for (uint64_t i = 0; result > 0 && i < said.count; i++)
        if (index_at(&said, i) != index_at(found, i))
            result = err_set("%s: line %" PRIu64 " says byte %" PRIu64
                             ", but the record is at byte %" PRIu64,
                             file.data, i + 1, index_at(&said, i), index_at(found, i));
    return result;
}

/* Reports each bad record of a file, and their number. */
static void tell_bad_records(struct verify *v, const struct file_map *map, const char *path)
{
    struct repair r = { .told = v->bad };
    repair_count(&r, map, path);
    err_set("%s: %" PRIu64 " bad record%s, %" PRIu64 " good: %" PRIu64 " of %" PRIu64
            " bytes lost%s",
            path, r.bad, noun_end(r.bad), r.good, r.lost_bytes, map->bytes,
            r.good ? " (tfwrite repair keeps the others)" : "");
    bad(v);
}

static void tell_good(struct verify *v, const char *path, const struct record_file *f,
                      uint64_t records, int indexed)
{
    SCOPED(buf) line = buf_format("%s: ok, %" PRIu64 " record%s, %" PRIu64 " byte%s", path, records,
                                  noun_end(records), f->records.bytes, noun_end(f->records.bytes));
    if (f->how != COMPRESS_NONE)
        buf_addf(&line, ", %" PRIu64 " as %s", f->packed.bytes, compress_name(f->how));
    buf_adds(&line, indexed ? ", index" : "");
    tell(v, 0, line.data);
}

static void verify_tfrecord(struct verify *v, const char *path, const struct manifest *m)
{
    SCOPED_BY(record_file_close) struct record_file f = { 0 };
    SCOPED_BY(index_release) struct record_index index = { 0 };
    int indexed = -1;
    if (record_file_open(&f, path) < 0) {
        bad(v);
        return;
    }
    if (index_scan(&index, &f.records, path, 1) < 0)
        tell_bad_records(v, &f.records, path);
    else if ((indexed = check_index(&index, path, f.records.bytes)) < 0 ||
             check_listing(m, path, index.count, &f.packed) < 0 ||
             check_compression(m, path, &f) < 0)
        bad(v);
    else
        tell_good(v, path, &f, index.count, indexed);
    v->bytes += f.packed.bytes;
}

/* ---- the vocabulary ----------------------------------------------------------------------- */

/* Checks the size and the checksum of the vocabulary file that manifest m lists, beside the
 * manifest at `path`, and reports it as good or bad. Does nothing if none is listed. */
static void verify_tokenizer(struct verify *v, const char *path, const struct manifest *m)
{
    SCOPED_BY(file_unmap) struct file_map map = { 0 };
    if (!m->tokenizer)
        return;
    SCOPED(buf) file = file_beside(path, m->tokenizer);
    const int result = file_map(&map, file.data) < 0 ? -1 : check_listing(m, file.data, 0, &map);
    SCOPED(buf) line = buf_format("%s: ok, %" PRIu64 " byte%s", file.data, map.bytes,
                                  noun_end(map.bytes));
    tell(v, result, line.data);
    v->bytes += map.bytes;
}

/* ---- Megatron ----------------------------------------------------------------------------- */

static int check_pair(const struct megatron *pair, const char *prefix, const struct manifest *m)
{
    SCOPED(buf) bin = buf_format("%s.bin", prefix), idx = buf_format("%s.idx", prefix),
                manifest = buf_format("%s.manifest", prefix);
    if (check_listing(m, bin.data, pair->sequences, &pair->bin) < 0 ||
        check_listing(m, idx.data, pair->sequences, &pair->idx) < 0)
        return -1;
    return m ? claims_check_pair(m, manifest.data, pair) : 0;
}

static void verify_megatron(struct verify *v, const char *prefix)
{
    SCOPED_BY(megatron_close) struct megatron pair = { 0 };
    SCOPED(manifest) m = { 0 };
    SCOPED(buf) path = buf_format("%s.manifest", prefix);
    const int there = manifest_load(&m, path.data);
    if (there < 0 || megatron_open(&pair, prefix) < 0) {
        bad(v);
        return;
    }
    const int result = check_pair(&pair, prefix, there ? &m : NULL);
    SCOPED(buf) line = buf_format("%s.bin: ok, %" PRIu64 " sequence%s, %" PRIu64
                                  " document%s, %" PRIu64 " token%s, %" PRIu64 " byte%s",
                                  prefix, pair.sequences, noun_end(pair.sequences), pair.documents,
                                  noun_end(pair.documents), pair.tokens, noun_end(pair.tokens),
                                  pair.bin.bytes, noun_end(pair.bin.bytes));
    tell(v, result, line.data);
    v->bytes += pair.bin.bytes;
    verify_tokenizer(v, prefix, &m);
}

/* ---- folders ------------------------------------------------------------------------------ */

/* Checks that each listed file exists, each file is listed, and the numbers of records add up. */
static int check_manifest(const struct manifest *m, const char *path, const char *dir,
                          const struct file_names *files)
{
    uint64_t records = 0;
    for (size_t i = 0; i < m->count; i++)
        records += m->shards[i].records;
    if (manifest_check_names(m, dir, files) < 0)
        return -1;
    return records == m->records
               ? 0
               : err_set("%s: says %" PRIu64 " records, but its files have %" PRIu64, path,
                         m->records, records);
}

/* Checks what the manifest says about the content of the files (claims.h), and reports the manifest
 * as good or bad. Called last, if its files are good. */
static void verify_claims(struct verify *v, const struct manifest *m, const char *path,
                          const char *dir)
{
    SCOPED(buf) line = buf_format("%s: ok, %zu file%s, %" PRIu64 " record%s", path, m->count,
                                  noun_end(m->count), m->records, noun_end(m->records));
    tell(v, claims_check_shards(m, path, dir), line.data);
}

static void verify_shards(struct verify *v, const char *dir, const struct file_names *files)
{
    SCOPED(buf) path = file_path(dir, "manifest");
    SCOPED(manifest) m = { 0 };
    int there = manifest_load(&m, path.data);
    int listed = there > 0 && check_manifest(&m, path.data, dir, files) == 0;
    if ((there > 0 && !listed) || there < 0 || (!there && stage_check_finished(dir) < 0))
        bad(v);
    uint64_t failed = v->failed;
    verify_tokenizer(v, path.data, &m);
    for (size_t i = 0; i < files->count; i++) {
        SCOPED(buf) file = file_path(dir, files->names[i]);
        verify_tfrecord(v, file.data, there > 0 ? &m : NULL);
    }
    if (listed && v->failed == failed)
        verify_claims(v, &m, path.data, dir);
}

static void verify_folder(struct verify *v, const char *dir)
{
    SCOPED(file_names) shards = { 0 }, pairs = { 0 };
    SCOPED(buf) part = file_path(dir, "validation");
    uint64_t before = v->files;
    if (file_list(&shards, dir, ".tfrecord") < 0 || file_list(&pairs, dir, ".idx") < 0) {
        bad(v);
        return;
    }
    verify_shards(v, dir, &shards);
    for (size_t i = 0; i < pairs.count; i++) {
        SCOPED(buf) path = file_path(dir, pairs.names[i]);
        buf_truncate(&path, path.len - 4);
        verify_megatron(v, path.data);
    }
    const int kind = file_look(part.data);
    if (kind < 0)
        bad(v);
    else if (kind == FILE_FOLDER)
        verify_folder(v, part.data);
    if (v->files == before) {
        err_set("%s: no *.tfrecord and no *.idx in this folder", dir);
        bad(v);
    }
}

void verify_path(struct verify *v, const char *path)
{
    SCOPED(buf) prefix = BUF_INIT;
    const int kind = file_look(path), pair = kind < 0 ? -1 : megatron_prefix(&prefix, path);
    if (kind == FILE_FOLDER) {
        verify_folder(v, path);
    } else if (pair < 0) {
        bad(v);
    } else if (pair) {
        verify_megatron(v, prefix.data);
    } else {
        const int there = manifest_load_beside(&v->beside, path);
        if (there < 0)
            bad(v);
        else
            verify_tfrecord(v, path, there ? &v->beside : NULL);
    }
}
