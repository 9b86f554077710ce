/* SentencePiece's vocabularies, and its .model files: a protocol buffers message with pieces,
 * trainer and normalizer specs. */
#include "tokenizer/files/sentencepiece.h"

#include "common/base/base64.h"
#include "common/base/le.h"
#include "common/base/protobuf.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "tokenizer/files/files.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Bytes of the longest piece: SentencePiece learns at most 512 characters. To find the merges of a
 * piece, and to search for it in a text, takes time that grows with the square of its length. */
enum { PIECE_MAX = 512 * 4 };

int sentencepiece_put(struct sentencepiece *m, int64_t id, const char *bytes, size_t n,
                      double score, enum sentencepiece_type type)
{
    struct vocabulary *v = m->v;
    const int user = type == SENTENCEPIECE_USER_DEFINED;
    const int added = type == SENTENCEPIECE_UNKNOWN || type == SENTENCEPIECE_CONTROL || user;
    if (type < SENTENCEPIECE_NORMAL || type > SENTENCEPIECE_BYTE || type == SENTENCEPIECE_UNUSED ||
        !(score > -1e30 && score < 1e30))
        return err_set("its type or score is not supported");
    if (!n || utf8_valid(bytes, n) != n)
        return err_set("it is no text");
    if (n > PIECE_MAX)
        return err_set("it is longer than %d bytes", PIECE_MAX);
    if (vocabulary_find(v, bytes, n) >= 0)
        return err_set("it occurs twice");
    if (vocabulary_put(v, id, bytes, n, added ? TOKEN_ADDED : TOKEN_MODEL) < 0)
        return -1;
    vocabulary_score(v, (uint32_t)id, score);
    if (added)
        vocabulary_add(
            v, &(struct added_token){
                   .id = (uint32_t)id, .special = !user, .normalized = user, .literal = user });
    if (user && n > 1 && (*bytes == ' ' || bytes[n - 1] == ' ' || memmem(bytes, n, "  ", 2)))
        m->spaced = (uint32_t)id + 1;
    if (type == SENTENCEPIECE_UNKNOWN)
        v->roles[TOKENIZER_UNKNOWN] = id;
    if (m->types_cap <= (size_t)id) { /* ids without a piece have type 0 */
        const size_t cap = m->types_cap;
        mem_grow(m->types, m->types_cap, (size_t)id + 1);
        memset(m->types + cap, 0, m->types_cap - cap);
    }
    m->types[id] = (uint8_t)type;
    return 0;
}

/* ---- normalizer and decoder, as JSON of tokenizer.json --------------------------------------- */

/* Appends the step that adds a space to each text, if its place is before the map (early 1) or
 * after it (0). It is before the map, which may leave nothing of a text, unless the spaces at that
 * end are removed after the map. */
static void put_space(const struct sentencepiece *m, int early, struct buf *out)
{
    if (m->dummy_prefix && early == (m->suffix || (m->charsmap_bytes && !m->remove_extra)))
        buf_addf(out, "{\"type\":\"%s\",\"%s\":\"%s\"},", m->suffix ? "Append" : "Prepend",
                 m->suffix ? "append" : "prepend", early || m->keeps_spaces ? " " : "\u2581");
}

/* Adds the list of the user-defined pieces, which the map keeps as they are. */
static void put_kept(const struct sentencepiece *m, struct buf *out)
{
    const char *before = ",\"keep\":[";
    for (uint32_t id = 0; id < m->v->count && id < m->types_cap; id++) {
        size_t n;
        const char *bytes = vocabulary_bytes(m->v, id, &n);
        if (m->types[id] != SENTENCEPIECE_USER_DEFINED)
            continue;
        buf_adds(out, before);
        js_quote(out, bytes, n);
        before = ",";
    }
    if (*before == ',' && !before[1])
        buf_addc(out, ']');
}

static void put_normalizer(const struct sentencepiece *m, struct buf *out)
{
    const char *space = m->keeps_spaces ? " " : "\u2581";
    const int added = m->suffix && m->dummy_prefix; /* the last space of the text stays */
    buf_adds(out, "{\"type\":\"Sequence\",\"normalizers\":[");
    put_space(m, 1, out);
    if (m->charsmap_bytes) {
        buf_adds(out,
                 "{\"type\":\"Precompiled\",\"match\":\"longest\",\"precompiled_charsmap\":\"");
        base64_print(out, (const char *)m->charsmap, m->charsmap_bytes);
        buf_adds(out, "\"");
        put_kept(m, out);
        buf_adds(out, "},");
    }
    if (m->remove_extra)
        buf_addf(out,
                 "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"%s[ %s]+%s\"},"
                 "\"content\":\"\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},"
                 "\"content\":\" \"},",
                 added ? "\\\\A {2,}\\\\z|\\\\A +(?! *\\\\z)|" : "\\\\A +|", space,
                 added ? "(?= \\\\z)" : "\\\\z");
    put_space(m, 0, out);
    buf_addf(out, "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"%s\"}]}",
             space);
}

static int put_frame(const struct sentencepiece *m)
{
    SCOPED(buf) text = buf_format("{\"pre_tokenizer\":null,\"normalizer\":");
    put_normalizer(m, &text);
    buf_adds(&text, ",\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
                    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\u2581\"},\"content\":\" \"},"
                    "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}");
    if (m->dummy_prefix || m->remove_extra)
        buf_addf(&text, ",{\"type\":\"Strip\",\"content\":\" \",\"start\":%d,\"stop\":0}",
                 m->remove_extra ? INT32_MAX : 1);
    buf_adds(&text, "]}}");
    return frame_read(m->v, text.data, text.len);
}

/* ---- merges ---------------------------------------------------------------------------------- */

struct ranked {
    struct bpe_merge merge;
    double score;
};

/* Orders merges for qsort: by score, highest first, then by id and left token. */
static int compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->merge.id != y->merge.id)
        return x->merge.id < y->merge.id ? -1 : 1;
    return x->merge.left < y->merge.left ? -1 : x->merge.left > y->merge.left;
}

/* Adds a merge for each division of each piece into two pieces. */
static void put_merges(const struct sentencepiece *m)
{
    struct vocabulary *v = m->v;
    SCOPED_MEM struct ranked *all = NULL;
    size_t count = 0, cap = 0, n = 0, len;
    for (uint32_t id = 0; id < v->count; id++) {
        const char *bytes = vocabulary_bytes(v, id, &n);
        for (size_t i = 0; i < n && m->types[id] == SENTENCEPIECE_NORMAL; i += len) {
            utf8_get((const unsigned char *)bytes + i, &len);
            int64_t left = i ? vocabulary_find(v, bytes, i) : -1;
            int64_t right = left >= 0 ? vocabulary_find(v, bytes + i, n - i) : -1;
            if (right < 0 || m->types[left] != SENTENCEPIECE_NORMAL ||
                m->types[right] != SENTENCEPIECE_NORMAL)
                continue;
            mem_next(all, count, cap) = (struct ranked){ { (uint32_t)left, (uint32_t)right, id, 0 },
                                                         v->scores[id] };
        }
    }
    mem_sort(all, count, compare);
    for (size_t i = 0; i < count; i++) {
        vocabulary_merge(v, all[i].merge.left, all[i].merge.right, all[i].merge.id);
        v->merges[v->merge_count - 1].tied = i && all[i].score == all[i - 1].score;
    }
}

int sentencepiece_finish(struct sentencepiece *m)
{
    struct vocabulary *v = m->v;
    v->model = m->model == SENTENCEPIECE_BPE ? VOCABULARY_BPE : VOCABULARY_UNIGRAM;
    v->fuse_unknown = v->hides = 1;
    if (m->spaced && m->remove_extra)
        return err_set("piece %u keeps spaces that texts lose: not supported", m->spaced - 1);
    if (put_frame(m) < 0)
        return -1;
    if (m->model == SENTENCEPIECE_BPE)
        put_merges(m);
    return 0;
}

void sentencepiece_release(struct sentencepiece *m)
{
    free(m->types);
}

/* ---- the file -------------------------------------------------------------------------------- */

enum { PIECES = 1, TRAINER = 2, NORMALIZER_SPEC = 3 }; /* fields of the model */
enum { PIECE = 1, SCORE = 2, TYPE = 3 };               /* of a piece */
enum { MODEL_TYPE = 3, WHITESPACE_AS_SUFFIX = 24, BYTE_FALLBACK = 35, EOS_PIECE = 47 };
enum { CHARSMAP = 2, DUMMY_PREFIX = 3, REMOVE_EXTRA = 4, ESCAPE = 5 };

static int read_piece(struct sentencepiece *m, const unsigned char *p, const unsigned char *end)
{
    struct protobuf_field f, text = { .data = p, .end = p };
    double score = 0;
    enum sentencepiece_type type = SENTENCEPIECE_NORMAL;
    int got;
    while ((got = protobuf_next(&p, end, &f)) > 0) {
        if (f.number == PIECE && f.wire == PROTOBUF_BYTES)
            text = f;
        else if (f.number == SCORE && f.wire == PROTOBUF_32)
            score = le_f32(f.data);
        else if (f.number == TYPE && f.wire == PROTOBUF_VARINT)
            type = (enum sentencepiece_type)f.value;
    }
    if (got < 0)
        return err_set("damaged");
    return sentencepiece_put(m, m->v->count, (const char *)text.data,
                             (size_t)(text.end - text.data), score, type);
}

static int read_spec(struct sentencepiece *m, const unsigned char *p, const unsigned char *end,
                     int normalizer)
{
    struct protobuf_field f;
    int got;
    while ((got = protobuf_next(&p, end, &f)) > 0) {
        if (normalizer && f.number == CHARSMAP && f.wire == PROTOBUF_BYTES) {
            m->charsmap = f.data;
            m->charsmap_bytes = (size_t)(f.end - f.data);
        } else if (!normalizer && f.number == EOS_PIECE && f.wire == PROTOBUF_BYTES) {
            m->end = (const char *)f.data;
            m->end_bytes = (size_t)(f.end - f.data);
        } else if (f.wire != PROTOBUF_VARINT) {
            continue;
        } else if (normalizer && f.number == DUMMY_PREFIX) {
            m->dummy_prefix = f.value != 0;
        } else if (normalizer && f.number == REMOVE_EXTRA) {
            m->remove_extra = f.value != 0;
        } else if (normalizer && f.number == ESCAPE) {
            m->keeps_spaces = !f.value;
        } else if (!normalizer && f.number == MODEL_TYPE) {
            m->model = (enum sentencepiece_model)f.value;
        } else if (!normalizer && f.number == WHITESPACE_AS_SUFFIX) {
            m->suffix = f.value != 0;
        } else if (!normalizer && f.number == BYTE_FALLBACK) {
            m->v->byte_fallback = f.value != 0;
        }
    }
    return got < 0 ? err_set("damaged") : 0;
}

static int read_fields(struct sentencepiece *m, const unsigned char *p, const unsigned char *end)
{
    struct protobuf_field f;
    int got;
    while ((got = protobuf_next(&p, end, &f)) > 0) {
        if (f.wire != PROTOBUF_BYTES)
            continue;
        if (f.number == PIECES && read_piece(m, f.data, f.end) < 0)
            return err_in("piece %u", m->v->count);
        if ((f.number == TRAINER || f.number == NORMALIZER_SPEC) &&
            read_spec(m, f.data, f.end, f.number == NORMALIZER_SPEC) < 0)
            return -1;
    }
    if (got < 0)
        return err_set("the file is damaged or cut off, or no model of SentencePiece");
    if (m->model != SENTENCEPIECE_UNIGRAM && m->model != SENTENCEPIECE_BPE)
        return err_set("its model is neither Unigram nor BPE");
    return m->suffix && m->keeps_spaces ? err_set("spaces as suffixes are not supported") : 0;
}

int sentencepiece_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    SCOPED(sentencepiece) m = {
        .v = v,
        .model = SENTENCEPIECE_UNIGRAM,
        .dummy_prefix = 1,
        .remove_extra = 1,
        .end = "</s>",
        .end_bytes = 4,
    };
    const unsigned char *p = (const unsigned char *)text;
    int result = read_fields(&m, p, p + n) < 0 ? -1 : vocabulary_check_full(v);
    if (!result && v->roles[TOKENIZER_UNKNOWN] < 0)
        result = err_set("it has no unknown token");
    if (result < 0 || sentencepiece_finish(&m) < 0)
        return err_in("%s", name);
    const int64_t end = vocabulary_find(v, m.end, m.end_bytes);
    v->end_of_text = end >= 0 && m.types[end] == SENTENCEPIECE_CONTROL ? end : -1;
    return 0;
}
