#include "tokenizer/model/decoder.h"

#include "common/base/choice.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "tokenizer/cut/regex.h"
#include "tokenizer/cut/steps.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/spellings.h"

/* In the order of decoder_names. */
enum decoder_kind {
    DECODE_FUSE,
    DECODE_BYTE_LEVEL,
    DECODE_BYTE_FALLBACK,
    DECODE_WORDPIECE,
    DECODE_METASPACE,
    DECODE_BPE,
    DECODE_REPLACE,
    DECODE_STRIP,
    DECODE_JOIN, /* no decoder: a space between tokens */
};
static const char decoder_names[] =
    "Fuse|ByteLevel|ByteFallback|WordPiece|Metaspace|BPEDecoder|Replace|Strip";

struct decoding {
    enum decoder_kind kind;
    struct step replace; /* of DECODE_REPLACE */
    struct buf text;     /* the string to search for */
    int keep_first;      /* DECODE_METASPACE: keep the spaces of the first string */
    int cleanup;
    int64_t start, stop; /* DECODE_STRIP: largest number of occurrences removed at each end */
};

struct decoder {
    struct decoding *items;
    size_t count, cap;
};

void strings_release(struct strings *s)
{
    buf_release(&s->text);
    free(s->ends);
    *s = (struct strings)STRINGS_INIT;
}

void strings_end(struct strings *s)
{
    mem_next(s->ends, s->count, s->cap) = s->text.len;
}

void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        step_release(&d->items[i].replace);
        buf_release(&d->items[i].text);
    }
    free(d->items);
    free(d);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Sets `out` to the string object[key], or to `otherwise` if it is missing. Returns 0, or -1 with
 * an error if it is missing and `otherwise` is NULL. */
static int read_text(struct buf *out, const struct js *object, const char *key,
                     const char *otherwise)
{
    size_t n;
    const char *text = js_text(js_get(object, key), &n);
    if (!text && !otherwise)
        return err_set("no %s", key);
    buf_add(out, text ? text : otherwise, text ? n : strlen(otherwise));
    return 0;
}

static int read_strip(struct decoding *d, const struct js *value)
{
    if (read_text(&d->text, value, "content", NULL) < 0)
        return -1;
    if (js_int(js_get(value, "start"), &d->start) < 0 || d->start < 0 ||
        js_int(js_get(value, "stop"), &d->stop) < 0 || d->stop < 0)
        return err_set("no start or no stop");
    return 0;
}

static int read_metaspace(struct decoding *d, const struct js *value)
{
    const char *scheme = js_text(js_get(value, "prepend_scheme"), NULL);
    d->keep_first = scheme ? !strcmp(scheme, "never") : !js_flag(value, "add_prefix_space", 1);
    return read_text(&d->text, value, "replacement", NULL);
}

static int read_fields(struct decoding *d, const struct js *value)
{
    switch (d->kind) {
    case DECODE_WORDPIECE:
        d->cleanup = js_flag(value, "cleanup", 1);
        return read_text(&d->text, value, "prefix", "##");
    case DECODE_METASPACE: return read_metaspace(d, value);
    case DECODE_BPE: return read_text(&d->text, value, "suffix", "</w>");
    case DECODE_REPLACE: return steps_read_replace(&d->replace, value);
    case DECODE_STRIP: return read_strip(d, value);
    default: return 0;
    }
}

static int read_decoder(struct decoder *d, const struct js *value)
{
    const char *type = js_type(value);
    if (!strcmp(type, "Sequence")) {
        const struct js *list = js_get(value, "decoders");
        for (size_t i = 0; i < js_count(list); i++)
            if (read_decoder(d, js_at(list, i)) < 0)
                return -1;
        return 0;
    }
    const int kind = choice_find(decoder_names, type, strlen(type));
    if (kind < 0)
        return err_set("decoder '%s' is not supported", type);
    struct decoding *item = &mem_next(d->items, d->count, d->cap);
    *item = (struct decoding){ .kind = (enum decoder_kind)kind, .text = BUF_INIT };
    return read_fields(item, value) < 0 ? err_in("decoder %s", type) : 0;
}

struct decoder *decoder_new(const struct js *value)
{
    struct decoder *d = mem_zalloc(1, sizeof *d);
    if (!value || js_is_null(value)) {
        mem_next(d->items, d->count, d->cap) = (struct decoding){ .kind = DECODE_JOIN,
                                                                  .text = BUF_INIT };
    } else if (read_decoder(d, value) < 0) {
        decoder_free(d);
        return NULL;
    }
    return d;
}

/* ---- one string ------------------------------------------------------------------------------ */

/* Cleans up the text as BERT does. */
static void clean_up_spaces(struct buf *text)
{
    static const char *const pairs[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },     { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },   { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    buf_replace_all(text, pairs, sizeof pairs / sizeof *pairs);
}

static void decode_wordpiece(const struct decoding *d, const char *text, size_t n, int first,
                             struct buf *out)
{
    SCOPED(buf) word = BUF_INIT;
    int continues = !first && n >= d->text.len && !memcmp(text, d->text.data, d->text.len);
    if (!first && !continues)
        buf_addc(&word, ' ');
    buf_add(&word, text + (continues ? d->text.len : 0), n - (continues ? d->text.len : 0));
    if (d->cleanup)
        clean_up_spaces(&word);
    buf_add(out, word.data, word.len);
}

static int replace(const struct step *step, const char *text, size_t n, struct buf *out)
{
    struct regex_scratch *scratch = step->regex ? regex_scratch_new() : NULL;
    int result = steps_replace(step, scratch, text, n, out);
    regex_scratch_free(scratch);
    return result;
}

/* Strips the text in `out` from byte `at` on. */
static void strip(const struct decoding *d, struct buf *out, size_t at)
{
    const size_t len = d->text.len;
    size_t begin = at, end = out->len;
    for (int64_t i = 0; i < d->start && len && end - begin >= len; i++, begin += len)
        if (memcmp(out->data + begin, d->text.data, len) != 0)
            break;
    for (int64_t i = 0; i < d->stop && len && end - begin >= len; i++, end -= len)
        if (memcmp(out->data + end - len, d->text.data, len) != 0)
            break;
    buf_truncate(out, end);
    buf_cut(out, at, begin);
}

/* Appends the result of a step for string i of `count`. Returns 0, or -1 with an error. */
static int decode_one(const struct decoding *d, const char *text, size_t n, size_t i, size_t count,
                      struct buf *out)
{
    switch (d->kind) {
    case DECODE_JOIN:
        if (i)
            buf_addc(out, ' ');
        buf_add(out, text, n);
        return 0;
    case DECODE_WORDPIECE: decode_wordpiece(d, text, n, !i, out); return 0;
    case DECODE_METASPACE: {
        int gone = !i && !d->keep_first;
        buf_add_replaced(out, text, n, d->text.data, d->text.len, " ", !gone);
        return 0;
    }
    case DECODE_BPE:
        buf_add_replaced(out, text, n, d->text.data, d->text.len, " ", i + 1 < count);
        return 0;
    case DECODE_REPLACE: return replace(&d->replace, text, n, out);
    default:
        buf_add(out, text, n);
        strip(d, out, out->len - n);
        return 0;
    }
}

/* ---- all strings ----------------------------------------------------------------------------- */

/* Joins all strings. DECODE_BYTE_LEVEL translates strings in the byte alphabet to bytes. */
static void fuse(const struct decoding *d, const struct strings *from, struct strings *to)
{
    SCOPED(buf) bytes = BUF_INIT;
    size_t begin = 0;
    for (size_t i = 0; i < from->count; begin = from->ends[i++]) {
        const char *text = from->text.data + begin;
        size_t n = from->ends[i] - begin;
        if (d->kind == DECODE_FUSE || alphabet_decode(&bytes, text, n) < 0)
            buf_add(&bytes, text, n);
    }
    if (d->kind == DECODE_FUSE)
        buf_add(&to->text, bytes.data, bytes.len);
    else
        utf8_repair(&to->text, bytes.data, bytes.len);
    strings_end(to);
}

/* Appends a run of bytes; if it is not valid UTF-8, appends one U+FFFD for each byte. */
static void put_row(struct buf *bytes, struct buf *out)
{
    int valid = utf8_valid(bytes->data, bytes->len) == bytes->len;
    if (valid)
        buf_add(out, bytes->data, bytes->len);
    for (size_t i = 0; i < bytes->len && !valid; i++)
        buf_adds(out, "\xEF\xBF\xBD");
    buf_clear(bytes);
}

static void put_bytes(struct buf *bytes, struct strings *to)
{
    size_t count = utf8_valid(bytes->data, bytes->len) == bytes->len ? 1 : bytes->len;
    size_t begin = to->text.len, n = bytes->len;
    if (!n)
        return;
    put_row(bytes, &to->text);
    for (size_t i = 1; i <= count; i++)
        mem_next(to->ends, to->count, to->cap) = begin + (to->text.len - begin) / count * i;
}

static void fall_back(const struct strings *from, struct strings *to)
{
    SCOPED(buf) bytes = BUF_INIT;
    size_t begin = 0;
    for (size_t i = 0; i < from->count; begin = from->ends[i++]) {
        const char *text = from->text.data + begin;
        size_t n = from->ends[i] - begin;
        int byte = alphabet_named(text, n);
        if (byte >= 0) {
            buf_addc(&bytes, byte);
            continue;
        }
        put_bytes(&bytes, to);
        buf_add(&to->text, text, n);
        strings_end(to);
    }
    put_bytes(&bytes, to);
}

static int decode_step(const struct decoding *d, const struct strings *from, struct strings *to)
{
    if (d->kind == DECODE_FUSE || d->kind == DECODE_BYTE_LEVEL) {
        fuse(d, from, to);
        return 0;
    }
    if (d->kind == DECODE_BYTE_FALLBACK) {
        fall_back(from, to);
        return 0;
    }
    size_t begin = 0;
    for (size_t i = 0; i < from->count; begin = from->ends[i++]) {
        if (decode_one(d, from->text.data + begin, from->ends[i] - begin, i, from->count,
                       &to->text) < 0)
            return -1;
        strings_end(to);
    }
    return 0;
}

int decoder_run(const struct decoder *d, struct strings *names, struct buf *out)
{
    SCOPED(strings) next = STRINGS_INIT;
    int result = 0;
    for (size_t i = 0; i < d->count && !result; i++) {
        buf_clear(&next.text);
        next.count = 0;
        result = decode_step(&d->items[i], names, &next);
        struct strings spare = *names;
        *names = next;
        next = spare;
    }
    if (!result)
        buf_add(out, names->text.data, names->text.len);
    return result;
}

/* ---- a table of tokens ----------------------------------------------------------------------- */

struct decoder_table {
    const struct decoder *d; /* NULL: the strings are joined as they are */
    struct spellings inner;  /* the decoded texts of the tokens, except at the beginning */
    struct spellings begins; /* the same at the beginning, if they differ there */
    struct spellings *first; /* the one of the two that is for the beginning */
    int repairs;             /* the joined bytes are made valid UTF-8 */
    size_t strips;           /* steps from here on are DECODE_STRIP, of the joined text */
};

/* Returns 1 if the step's result for a string depends only on the string and on whether it is the
 * first, else 0. */
static int is_alone(const struct decoding *d)
{
    return d->kind == DECODE_JOIN || d->kind == DECODE_WORDPIECE || d->kind == DECODE_METASPACE ||
           d->kind == DECODE_REPLACE || d->kind == DECODE_STRIP;
}

static int is_at(const struct decoder *d, size_t i, enum decoder_kind kind)
{
    return i < d->count && d->items[i].kind == kind;
}

/* Applies the decoder's first `steps` steps to a name, as if it were the string with index `place`
 * of several. The name is in `now`, and so is the result; `next` is working memory. */
static int become(const struct decoder *d, size_t steps, size_t place, struct buf *now,
                  struct buf *next)
{
    for (size_t k = 0; k < steps; k++) {
        buf_clear(next);
        if (decode_one(&d->items[k], now->data, now->len, place, place + 2, next) < 0)
            return -1;
        buf_swap(now, next);
    }
    return 0;
}

/* Stores the decoded text of token `id`. falls_back 1: names such as <0x0A> stand for bytes.
 * is_alphabet 1: the text is in the byte alphabet, and its bytes are stored. Returns 0, or -1 if
 * the text is too long for the table. */
static int put_text(struct spellings *to, size_t id, const struct buf *text, int falls_back,
                    int is_alphabet)
{
    SCOPED(buf) bytes = BUF_INIT;
    int byte = falls_back ? alphabet_named(text->data, text->len) : -1, result = 0;
    if (byte >= 0)
        to->items[id] = (struct spelling){ { (char)byte }, SPELLING_BYTE };
    else if (is_alphabet && alphabet_decode(&bytes, text->data, text->len) == 0)
        result = spellings_set(to, id, bytes.data, bytes.len);
    else
        result = spellings_set(to, id, text->data, text->len);
    return result;
}

static int fill(struct spellings *to, const struct decoder_table *t, const struct strings *names,
                size_t steps, size_t place, int falls_back)
{
    SCOPED(buf) now = BUF_INIT, next = BUF_INIT;
    int result = 0;
    for (size_t i = 0, begin = 0; i < names->count && !result; begin = names->ends[i++]) {
        buf_set(&now, names->text.data + begin, names->ends[i] - begin);
        result = become(t->d, steps, place, &now, &next);
        if (!result)
            result = put_text(to, i, &now, falls_back, t->repairs);
    }
    return result;
}

struct decoder_table *decoder_table_new(const struct decoder *d, struct strings *names)
{
    static const struct decoder joining = { NULL, 0, 0 };
    d = d ? d : &joining;
    /* a Metaspace changes no names of bytes, so it may also follow a ByteFallback */
    const int behind = d->count == 2 && is_at(d, 0, DECODE_BYTE_FALLBACK) &&
                       is_at(d, 1, DECODE_METASPACE);
    size_t alone = behind ? 2 : 0, at;
    while (alone < d->count && is_alone(&d->items[alone]))
        alone++;
    int falls_back = behind || is_at(d, alone, DECODE_BYTE_FALLBACK);
    at = alone + (size_t)(falls_back && !behind);
    int repairs = is_at(d, at, DECODE_BYTE_LEVEL), joins = repairs || is_at(d, at, DECODE_FUSE);
    at += (size_t)joins;
    size_t strips = at;
    while (joins && is_at(d, at, DECODE_STRIP))
        at++;
    if (at < d->count || (falls_back && repairs))
        return NULL;
    struct decoder_table *t = mem_zalloc(1, sizeof *t);
    *t = (struct decoder_table){ .d = d, .repairs = repairs, .strips = strips };
    t->first = alone ? &t->begins : &t->inner;
    spellings_init(&t->inner, names->count);
    spellings_init(&t->begins, alone ? names->count : 0);
    if (fill(&t->inner, t, names, alone, 1, falls_back) == 0 &&
        (!alone || fill(&t->begins, t, names, alone, 0, falls_back) == 0))
        return t;
    decoder_table_free(t);
    return NULL;
}

void decoder_table_leave_out(struct decoder_table *t, uint32_t id)
{
    t->first->items[id].len = t->inner.items[id].len = SPELLING_HOLE;
}

const char *decoder_table_text(const struct decoder_table *t, uint32_t id, size_t *n)
{
    return spellings_get(&t->inner, id, n);
}

void decoder_table_free(struct decoder_table *t)
{
    if (!t)
        return;
    spellings_release(&t->begins);
    spellings_release(&t->inner);
    free(t);
}

/* Appends the texts of a run of byte tokens and holes: of `ids` from `i` on. The entry of ids[i] is
 * in *s; those of the others are in t->inner. Returns the index of the first id after the run. */
static size_t put_bytes_of(const struct decoder_table *t, const struct spellings *s,
                           const uint32_t *ids, size_t i, size_t n, struct buf *out)
{
    SCOPED(buf) row = BUF_INIT;
    for (; i < n && ids[i] < s->count && s->items[ids[i]].len >= SPELLING_BYTE; s = &t->inner) {
        const struct spelling *item = &s->items[ids[i++]];
        if (item->len == SPELLING_BYTE)
            buf_addc(&row, item->text[0]);
    }
    if (row.len)
        put_row(&row, out);
    return i;
}

/* Appends the texts of the tokens. Returns n, or the index of the first id beyond the table. */
static size_t put_texts(const struct decoder_table *t, const uint32_t *ids, size_t n,
                        struct buf *out)
{
    size_t first = 0; /* index of the first id that is no hole */
    while (first < n && ids[first] < t->first->count &&
           t->first->items[ids[first]].len == SPELLING_HOLE)
        first++;
    for (size_t i = first; i < n;) {
        const struct spellings *s = i == first ? t->first : &t->inner;
        size_t end = i == first ? first + 1 : n;
        i += spellings_put(s, ids + i, end - i, out);
        if (i == end)
            continue;
        if (ids[i] >= s->count)
            return i;
        i = put_bytes_of(t, s, ids, i, n, out);
    }
    return n;
}

/* Makes the bytes from out->data[at] on valid UTF-8. */
static void repair(struct buf *out, size_t at)
{
    SCOPED(buf) bad = BUF_INIT;
    at += utf8_valid(out->data + at, out->len - at);
    if (at == out->len)
        return;
    buf_add(&bad, out->data + at, out->len - at);
    buf_truncate(out, at);
    utf8_repair(out, bad.data, bad.len);
}

size_t decoder_table_run(const struct decoder_table *t, const uint32_t *ids, size_t n,
                         struct buf *out)
{
    size_t begin = out->len, done = put_texts(t, ids, n, out);
    if (done < n) {
        buf_truncate(out, begin);
        return done;
    }
    if (t->repairs)
        repair(out, begin);
    for (size_t i = t->strips; i < t->d->count; i++)
        strip(&t->d->items[i], out, begin);
    return n;
}
