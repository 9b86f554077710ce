#include "tokenizer/tokenizer.h"

#include <pthread.h>

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/decoder.h"
#include "tokenizer/model/subword.h"
#include "tokenizer/parts.h"

/* ---- the tokenizer --------------------------------------------------------------------------- */

/* Fills t->added. Pass 0 looks for the tokens that are not "normalized". Pass 1 looks for the
 * others, in the spelling that they have after normalization. Returns 0, or -1 with an error. */
static int collect_added(struct tokenizer *t)
{
    struct stepper *s = stepper_new(&t->v.normalizer, &t->v.pre_tokenizer);
    SCOPED(buf) text = BUF_INIT;
    int result = 0, lost;
    for (size_t i = 0; i < t->v.added_count && !result; i++) {
        struct added_token *a = &t->v.added[i];
        struct added_set *set = &t->added[a->normalized];
        const char *content = t->v.blob.data + a->at;
        a->item = 0;
        if (t->v.model == VOCABULARY_UNIGRAM && t->v.hides && !a->special)
            continue; /* the model finds it */
        buf_clear(&text);
        if (a->normalized && !a->literal)
            result = stepper_normalize(s, content, a->len, &text, &lost, NULL);
        else
            buf_add(&text, content, a->len);
        added_put(set, a, text.data, text.len);
        a->item = text.len ? set->count : 0;
    }
    added_finish(&t->added[0]);
    added_finish(&t->added[1]);
    stepper_free(s);
    return result;
}

/* Returns the added token with this id, or NULL if there is none. The item holds the spelling that
 * the encoder searches for; decoding writes the same spelling. */
static const struct added_item *find_item(const struct tokenizer *t, uint32_t id)
{
    const uint32_t added = t->v.tokens[id].added;
    const struct added_token *a = added ? &t->v.added[added - 1] : NULL;
    return a && a->item ? &t->added[a->normalized].items[a->item - 1] : NULL;
}

/* Returns 1 if the token's bytes equal the result of Hugging Face's decoder, else 0. That decoder
 * uses the normalized spelling, and translates it from the byte alphabet if all its characters are
 * in it. */
static int decodes_to_its_bytes(const struct vocabulary *v, const struct added_item *item)
{
    SCOPED(buf) want = BUF_INIT;
    size_t n = 0;
    const char *bytes = vocabulary_bytes(v, item->token.id, &n);
    if (!v->byte_level || alphabet_decode(&want, item->text, item->len) < 0)
        buf_add(&want, item->text, item->len);
    return n == want.len && !memcmp(bytes, want.data, n);
}

/* Adds a decoder of steps if the vocabulary has none and decoded text is not just the tokens'
 * bytes: for WordPiece, and if some added token decodes to other bytes than its own. */
static int settle_decoder(struct tokenizer *t)
{
    static const char *const ways[] = {
        "{\"type\":\"ByteLevel\"}",
        "{\"type\":\"WordPiece\",\"cleanup\":false}",
        "{\"type\":\"WordPiece\",\"cleanup\":true}",
    };
    int words = t->v.model == VOCABULARY_WORDPIECE, same = 1;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->added[pass].count; i++)
            same &= decodes_to_its_bytes(&t->v, &t->added[pass].items[i]);
    if (t->v.decoder || (!words && (same || !t->v.json[DECODER])))
        return 0;
    const char *way = ways[!words ? 0 : t->v.cleanup ? 2 : 1];
    SCOPED_JS value = js_parse(way, strlen(way), "decoder");
    t->v.decoder = decoder_new(value);
    return t->v.decoder ? 0 : -1;
}

struct tokenizer *tokenizer_from_vocabulary(struct vocabulary *v)
{
    struct tokenizer *t = mem_zalloc(1, sizeof *t);
    t->lazy = mem_zalloc(1, sizeof *t->lazy);
    pthread_mutex_init(&t->lazy->lock, NULL);
    t->v = *v;
    vocabulary_init(v);
    if (t->v.model == VOCABULARY_WORDPIECE && !t->v.general)
        t->normalizer = normalizer_new(&t->v.rules);
    t->subword = subword_new(&t->v);
    t->seams = seams_new(&t->v);
    t->checksum = vocabulary_checksum(&t->v);
    if (collect_added(t) < 0 || settle_decoder(t) < 0) {
        tokenizer_free(t);
        return NULL;
    }
    return t;
}

void tokenizer_into_vocabulary(struct tokenizer *t, struct vocabulary *v)
{
    *v = t->v;
    vocabulary_init(&t->v);
    tokenizer_free(t);
}

struct tokenizer *tokenizer_load_with(const char *path, const struct tokenizer_options *o)
{
    struct vocabulary v;
    return vocabulary_load(&v, path, o) < 0 ? NULL : tokenizer_from_vocabulary(&v);
}

struct tokenizer *tokenizer_load(const char *path)
{
    return tokenizer_load_with(path, &(struct tokenizer_options){ 0 });
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t)
        return;
    added_release(&t->added[0]);
    added_release(&t->added[1]);
    decoder_table_free(t->lazy->table);
    pthread_mutex_destroy(&t->lazy->lock);
    free(t->lazy);
    subword_free(t->subword);
    seams_free(t->seams);
    normalizer_free(t->normalizer);
    vocabulary_release(&t->v);
    free(t);
}

int tokenizer_save(const struct tokenizer *t, int64_t longest, int64_t types, const char *dir)
{
    struct vocabulary v = t->v; /* its parts are borrowed */
    v.longest = longest;
    v.types = types;
    return vocabulary_save(&v, dir);
}

const char *tokenizer_gguf_pre(const struct js *root)
{
    return gguf_pre_tokenizer(root);
}

void tokenizer_print(const struct tokenizer *t, struct buf *out)
{
    tokenizer_json_print(&t->v, out);
}

uint32_t tokenizer_size(const struct tokenizer *t)
{
    return t->v.count;
}

int tokenizer_check_rows(const struct tokenizer *t, const char *from, const char *dir, int64_t rows,
                         int all)
{
    const int64_t size = t->v.count;
    int64_t needed = size;
    while (needed > rows && !all && !t->v.tokens[needed - 1].in_model)
        needed--;
    if (needed > rows)
        return err_set(
            "vocabulary and model differ: '%s' has %lld tokens, but the model in '%s' has only %lld",
            from, (long long)size, dir, (long long)rows);
    if (size > rows)
        log_info("the model in '%s' has only %lld of the %lld tokens of '%s'", dir, (long long)rows,
                 (long long)size, from);
    return 0;
}

int64_t tokenizer_end_of_text(const struct tokenizer *t)
{
    return t->v.end_of_text;
}

int64_t tokenizer_begin_of_text(const struct tokenizer *t)
{
    return vocabulary_begin_of_text(&t->v);
}

void tokenizer_want_end_of_text(struct tokenizer *t, int64_t id)
{
    if (t->v.end_of_text < 0)
        t->v.end_of_text = id;
}

uint64_t tokenizer_checksum(const struct tokenizer *t)
{
    return t->checksum;
}

const char *tokenizer_token(const struct tokenizer *t, uint32_t id, size_t *len)
{
    return vocabulary_bytes(&t->v, id, len);
}

int64_t tokenizer_find(const struct tokenizer *t, const char *bytes, size_t n)
{
    return vocabulary_find(&t->v, bytes, n);
}

int tokenizer_tiles(const struct tokenizer *t)
{
    return t->v.byte_level && !t->v.general && !*t->v.prefix && !*t->v.suffix;
}

int64_t tokenizer_role(const struct tokenizer *t, enum tokenizer_role role)
{
    return t->v.roles[role];
}

/* ---- decoding -------------------------------------------------------------------------------- */

int tokenizer_is_special(const struct tokenizer *t, uint32_t id)
{
    return id < t->v.count && vocabulary_is_special(&t->v, id);
}

static int bad_id(const struct tokenizer *t, uint32_t id, size_t place)
{
    return err_set("id %u at position %zu is not in the vocabulary of %u tokens", id, place,
                   t->v.count);
}

/* Appends the name that the decoder's steps get for a token: an added token's spelling, or the name
 * in files (vocabulary_name). */
static void decoder_name(const struct tokenizer *t, uint32_t id, struct buf *name)
{
    const struct added_item *item = find_item(t, id);
    if (item)
        buf_add(name, item->text, item->len);
    else
        vocabulary_name(&t->v, id, name);
}

/* Appends the input of the decoder's steps: the token's name or, without steps, its bytes. */
static void put_name(const struct tokenizer *t, uint32_t id, struct buf *name)
{
    size_t n;
    const char *bytes = vocabulary_bytes(&t->v, id, &n);
    if (t->v.decoder && bytes)
        decoder_name(t, id, name);
    else if (bytes)
        buf_add(name, bytes, n);
}

static struct decoder_table *make_table(const struct tokenizer *t)
{
    SCOPED(strings) names = STRINGS_INIT;
    for (uint32_t id = 0; id < t->v.count; id++) {
        put_name(t, id, &names.text);
        strings_end(&names);
    }
    struct decoder_table *table = decoder_table_new(t->v.decoder, &names);
    for (uint32_t id = 0; id < t->v.count && table; id++)
        if (t->v.tokens[id].kind == TOKEN_HOLE)
            decoder_table_leave_out(table, id);
    return table;
}

/* Returns the decoder's table, or NULL if it cannot have one. Makes the table at the first call.
 * The lock is not held while the table is made. */
static const struct decoder_table *decoder_table(const struct tokenizer *t)
{
    struct tokenizer_lazy *lazy = t->lazy;
    pthread_mutex_lock(&lazy->lock);
    int tried = lazy->tried;
    pthread_mutex_unlock(&lazy->lock);
    if (tried)
        return lazy->table;
    struct decoder_table *made = make_table(t);
    pthread_mutex_lock(&lazy->lock);
    if (!lazy->tried) {
        lazy->table = made;
        lazy->tried = 1;
        made = NULL;
    }
    pthread_mutex_unlock(&lazy->lock);
    decoder_table_free(made);
    return lazy->table;
}

const char *tokenizer_text(const struct tokenizer *t, uint32_t id, size_t *len)
{
    const struct decoder_table *table = t->v.decoder && id < t->v.count ? decoder_table(t) : NULL;
    return table ? decoder_table_text(table, id, len) : tokenizer_token(t, id, len);
}

/* Decodes by running the steps of the vocabulary's decoder. Returns 0, or -1 with an error. */
static int decode_steps(const struct tokenizer *t, const uint32_t *ids, size_t n, struct buf *out)
{
    SCOPED(strings) names = STRINGS_INIT;
    for (size_t i = 0; i < n; i++) {
        decoder_name(t, ids[i], &names.text);
        strings_end(&names);
    }
    return decoder_run(t->v.decoder, &names, out);
}

/* Decodes without the ids that are left out. `table` may be NULL. */
static int decode_kept(const struct tokenizer *t, const struct decoder_table *table,
                       const uint32_t *ids, size_t n, int skip, struct buf *out)
{
    SCOPED(ids) kept = { 0 };
    int result = 0;
    for (size_t i = 0; i < n && !result; i++) {
        if (ids[i] >= t->v.count)
            result = bad_id(t, ids[i], i);
        else if (t->v.tokens[ids[i]].kind != TOKEN_HOLE &&
                 !(skip && vocabulary_is_special(&t->v, ids[i])))
            ids_add(&kept, ids[i]);
    }
    if (!result && table)
        decoder_table_run(table, kept.data, kept.count, out);
    else if (!result)
        result = decode_steps(t, kept.data, kept.count, out);
    return result;
}

int tokenizer_decode(const struct tokenizer *t, const uint32_t *ids, size_t n, int skip,
                     struct buf *out)
{
    const struct decoder_table *table = decoder_table(t);
    if (!table || skip)
        return decode_kept(t, table, ids, n, skip, out);
    size_t done = decoder_table_run(table, ids, n, out);
    return done < n ? bad_id(t, ids[done], done) : 0;
}

/* ---- special tokens about a text ------------------------------------------------------------- */

void tokenizer_begin_text(const struct tokenizer *t, struct ids *out)
{
    const struct template *form = &t->v.single;
    for (size_t i = 0; i < form->count && form->parts[i].id != TEMPLATE_A; i++)
        ids_add(out, (uint32_t)form->parts[i].id);
}

void tokenizer_assemble(const struct tokenizer *t, const struct ids *a, const struct ids *b,
                        struct ids *out, struct ids *types)
{
    const struct template *form = b ? &t->v.pair : &t->v.single;
    for (size_t i = 0; i < form->count; i++) {
        const struct template_part *p = &form->parts[i];
        uint32_t token = (uint32_t)p->id;
        const struct ids one = { &token, 1, 1 };
        const struct ids *ids = p->id == TEMPLATE_A ? a : p->id == TEMPLATE_B ? b : &one;
        ids_append(out, ids->data, ids->count);
        for (size_t k = 0; k < ids->count && types; k++)
            ids_add(types, p->type);
    }
}

void tokenizer_assemble_places(const struct tokenizer *t, const struct placed *a,
                               struct placed *out)
{
    for (size_t i = 0; i < t->v.single.count; i++) {
        const int64_t id = t->v.single.parts[i].id;
        uint32_t token = (uint32_t)id, nowhere = 0;
        const struct placed one = { { &token, 1, 1 }, { &nowhere, 1, 1 }, { &nowhere, 1, 1 } };
        const struct placed *p = id == TEMPLATE_A ? a : &one;
        ids_append(&out->ids, p->ids.data, p->ids.count);
        ids_append(&out->begins, p->begins.data, p->begins.count);
        ids_append(&out->ends, p->ends.data, p->ends.count);
    }
}
