#include "tokenizer/model/vocabulary.h"

#include "common/base/hash.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/decoder.h"

#define NONE UINT32_MAX

enum { DERIVED_MAX = 1024 }; /* bytes of a token whose merge is derived */
/* A vocabulary of n tokens has at most HOLES_MAX * (n + MANY) ids: otherwise a file of a few bytes
 * could demand much memory. */
enum { HOLES_MAX = 16, MANY = 1 << 14 };

const char end_of_text_name[] = "<|endoftext|>";

void vocabulary_init(struct vocabulary *v)
{
    *v = (struct vocabulary){ .blob = BUF_INIT,
                              .most = VOCABULARY_MAX,
                              .begin_of_text = -1,
                              .end_of_text = -1,
                              .byte_level = 1,
                              .trims_places = 1,
                              .keeps_first_space = 1 };
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        v->roles[i] = -1;
    v->single = (struct template){ { { TEMPLATE_A, 0 } }, 1 };
    v->pair = (struct template){ { { TEMPLATE_A, 0 }, { TEMPLATE_B, 1 } }, 2 };
}

void vocabulary_release(struct vocabulary *v)
{
    free(v->tokens);
    buf_release(&v->blob);
    free(v->slots);
    free(v->merges);
    free(v->scores);
    free(v->added);
    splitter_release(&v->splitter);
    steps_release(&v->normalizer);
    steps_release(&v->pre_tokenizer);
    decoder_free(v->decoder);
    for (int i = 0; i < COMPONENTS; i++)
        free(v->json[i]);
    vocabulary_init(v);
}

/* ---- tokens -------------------------------------------------------------------------------- */

static uint32_t hash_of(const char *bytes, size_t n)
{
    return (uint32_t)hash_bytes(bytes, n);
}

/* Returns the slot with these bytes, or the free slot where they belong. */
static struct vocabulary_slot *find_slot(const struct vocabulary *v, const char *bytes, size_t n,
                                         uint32_t hash)
{
    uint64_t i = hash & v->slot_mask;
    for (; v->slots[i].id != NONE; i = (i + 1) & v->slot_mask) {
        if (v->slots[i].hash != hash)
            continue;
        const struct vocabulary_token *t = &v->tokens[v->slots[i].id];
        if (t->len == n && !memcmp(v->blob.data + t->at, bytes, n))
            break;
    }
    return &v->slots[i];
}

static void grow_slots(struct vocabulary *v)
{
    SCOPED_MEM struct vocabulary_slot *old = v->slots;
    uint64_t old_count = old ? v->slot_mask + 1 : 0, count = old ? 2 * old_count : 1024;
    v->slots = mem_alloc(count * sizeof *v->slots);
    memset(v->slots, 0xFF, count * sizeof *v->slots);
    v->slot_mask = count - 1;
    for (uint64_t i = 0; i < old_count; i++) {
        if (old[i].id == NONE)
            continue;
        uint64_t k = old[i].hash & v->slot_mask;
        while (v->slots[k].id != NONE)
            k = (k + 1) & v->slot_mask;
        v->slots[k] = old[i];
    }
}

/* Returns what find_slot returns, but first makes room for another token. */
static struct vocabulary_slot *take_slot(struct vocabulary *v, const char *bytes, size_t n,
                                         uint32_t hash)
{
    if (4 * (uint64_t)v->slots_used >= 2 * v->slot_mask)
        grow_slots(v);
    return find_slot(v, bytes, n, hash);
}

/* Makes a slot refer to token `id`. */
static void fill_slot(struct vocabulary *v, struct vocabulary_slot *slot, uint32_t hash,
                      uint32_t id)
{
    v->slots_used += slot->id == NONE;
    *slot = (struct vocabulary_slot){ hash, id };
}

int64_t vocabulary_find(const struct vocabulary *v, const char *bytes, size_t n)
{
    uint32_t id = v->slots ? find_slot(v, bytes, n, hash_of(bytes, n))->id : NONE;
    return id == NONE ? -1 : (int64_t)id;
}

int vocabulary_is_special(const struct vocabulary *v, uint32_t id)
{
    const uint32_t added = v->tokens[id].added;
    return added && v->added[added - 1].special;
}

/* Returns a token with this hash, or any other token. */
static const struct vocabulary_token *guess(const struct vocabulary *v, uint32_t hash)
{
    uint32_t id = v->slots[hash & v->slot_mask].id;
    return &v->tokens[id == NONE ? 0 : id];
}

void vocabulary_find_all(const struct vocabulary *v, const struct pieces *p, uint32_t *ids)
{
    for (size_t i = 0; i < p->count; i++) {
        ids[i] = hash_of(p->text + p->begins[i], p->ends[i] - p->begins[i]);
        __builtin_prefetch(&v->slots[ids[i] & v->slot_mask]);
    }
    for (size_t i = 0; i < p->count; i++)
        __builtin_prefetch(guess(v, ids[i]));
    for (size_t i = 0; i < p->count; i++)
        __builtin_prefetch(v->blob.data + guess(v, ids[i])->at);
    for (size_t i = 0; i < p->count; i++)
        ids[i] = find_slot(v, p->text + p->begins[i], p->ends[i] - p->begins[i], ids[i])->id;
}

const char *vocabulary_bytes(const struct vocabulary *v, uint32_t id, size_t *n)
{
    if (id >= v->count || v->tokens[id].kind == TOKEN_HOLE)
        return NULL;
    *n = v->tokens[id].len;
    return v->blob.data + v->tokens[id].at;
}

/* Makes room for ids below `count`. New ids have no token. */
static void grow_tokens(struct vocabulary *v, uint32_t count)
{
    mem_grow(v->tokens, v->tokens_cap, count);
    for (; v->count < count; v->count++)
        v->tokens[v->count] = (struct vocabulary_token){ .kind = TOKEN_HOLE };
}

int vocabulary_put(struct vocabulary *v, int64_t id, const char *bytes, size_t n,
                   enum token_kind kind)
{
    if (id < 0 || id >= VOCABULARY_MAX)
        return err_set("token id %lld is not below %d", (long long)id, VOCABULARY_MAX);
    if (id >= v->most)
        return err_set("id %lld is too great for a file of this size", (long long)id);
    if (n > UINT32_MAX / 2)
        return err_set("token %lld of %zu bytes is too long", (long long)id, n);
    uint32_t hash = hash_of(bytes, n);
    struct vocabulary_slot *slot = take_slot(v, bytes, n, hash);
    if (kind == TOKEN_ADDED && slot->id == (uint32_t)id) {
        v->tokens[id].kind = TOKEN_ADDED;
        return 0;
    }
    if (kind == TOKEN_MODEL && slot->id != NONE && v->tokens[slot->id].kind == TOKEN_MODEL)
        return err_set("ids %u and %lld are the same token", slot->id, (long long)id);
    if (id < v->count && v->tokens[id].kind != TOKEN_HOLE)
        return err_set("id %lld is given to two tokens", (long long)id);
    grow_tokens(v, (uint32_t)id + 1 > v->count ? (uint32_t)id + 1 : v->count);
    v->tokens[id] = (struct vocabulary_token){
        .at = v->blob.len, .len = (uint32_t)n, .kind = kind, .in_model = 1
    };
    buf_add(&v->blob, bytes, n);
    if (slot->id == NONE || kind == TOKEN_MODEL)
        fill_slot(v, slot, hash, (uint32_t)id);
    return 0;
}

void vocabulary_name(const struct vocabulary *v, uint32_t id, struct buf *out)
{
    size_t n = 0;
    const char *bytes = vocabulary_bytes(v, id, &n);
    if (v->tokens[id].kind == TOKEN_ADDED || !v->byte_level)
        buf_add(out, bytes, n);
    else
        alphabet_encode(out, bytes, n);
}

void vocabulary_score(struct vocabulary *v, uint32_t id, double score)
{
    size_t before = v->scores_cap;
    mem_grow(v->scores, v->scores_cap, (size_t)id + 1 > v->count ? (size_t)id + 1 : v->count);
    for (size_t i = before; i < v->scores_cap; i++)
        v->scores[i] = 0;
    v->scores[id] = score;
}

void vocabulary_merge(struct vocabulary *v, uint32_t left, uint32_t right, uint32_t id)
{
    mem_next(v->merges, v->merge_count, v->merges_cap) = (struct bpe_merge){ left, right, id, 0 };
}

void vocabulary_add(struct vocabulary *v, const struct added_token *a)
{
    struct added_token *added = &mem_next(v->added, v->added_count, v->added_cap);
    *added = *a;
    added->at = v->tokens[a->id].at;
    added->len = v->tokens[a->id].len;
    v->tokens[a->id].added = (uint32_t)v->added_count;
}

int vocabulary_put_special(struct vocabulary *v, int64_t id, const char *name, size_t n,
                           int in_model)
{
    if (vocabulary_put(v, id, name, n, TOKEN_ADDED) < 0)
        return -1;
    v->tokens[id].in_model = in_model != 0;
    vocabulary_add(v, &(struct added_token){ .id = (uint32_t)id, .special = 1 });
    return 0;
}

void vocabulary_respell(struct vocabulary *v, uint32_t id, const char *bytes, size_t n)
{
    struct vocabulary_token *t = &v->tokens[id];
    uint32_t hash = hash_of(bytes, n);
    fill_slot(v, take_slot(v, bytes, n, hash), hash, id);
    *t = (struct vocabulary_token){
        .at = v->blob.len, .len = (uint32_t)n, .kind = TOKEN_MODEL, .in_model = 1, .added = t->added
    };
    buf_add(&v->blob, bytes, n);
}

int vocabulary_check(const struct vocabulary *v)
{
    uint32_t tokens = 0;
    if (!v->count)
        return err_set("the vocabulary is empty");
    for (uint32_t id = 0; id < v->count; id++)
        tokens += v->tokens[id].kind != TOKEN_HOLE;
    return v->count / HOLES_MAX > tokens + MANY
               ? err_set("the vocabulary goes up to id %u, but has only %u tokens", v->count - 1,
                         tokens)
               : 0;
}

void vocabulary_expect(struct vocabulary *v, size_t bytes)
{
    enum { TOKEN_BYTES = 4 }; /* of the shortest token and its id in a file */
    if (bytes / TOKEN_BYTES < VOCABULARY_MAX / HOLES_MAX - MANY)
        v->most = HOLES_MAX * ((uint32_t)(bytes / TOKEN_BYTES) + MANY);
}

uint32_t vocabulary_hole(const struct vocabulary *v)
{
    uint32_t id = 0;
    while (id < v->count && v->tokens[id].kind != TOKEN_HOLE)
        id++;
    return id;
}

int vocabulary_check_full(const struct vocabulary *v)
{
    uint32_t hole = vocabulary_hole(v);
    if (vocabulary_check(v) < 0)
        return -1;
    return hole < v->count ? err_set("id %u has no token, though the vocabulary goes up to %u",
                                     hole, v->count - 1)
                           : 0;
}

void vocabulary_byte_ids(const struct vocabulary *v, int64_t byte_ids[256])
{
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        int64_t id = vocabulary_find(v, &c, 1);
        byte_ids[i] = id >= 0 && v->tokens[id].in_model ? id : -1;
    }
}

void vocabulary_fallback_ids(const struct vocabulary *v, int64_t byte_ids[256])
{
    for (int i = 0; i < 256; i++) {
        char name[8];
        int n = snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        byte_ids[i] = v->byte_fallback ? vocabulary_find(v, name, (size_t)n) : -1;
    }
}

uint64_t vocabulary_checksum(const struct vocabulary *v)
{
    uint64_t h = HASH_START;
    for (uint32_t id = 0; id < v->count; id++) {
        const struct vocabulary_token *t = &v->tokens[id];
        const uint8_t len[] = { t->len & 0xFF, t->len >> 8 & 0xFF, t->len >> 16 & 0xFF,
                                t->len >> 24 };
        h = hash_more(h, len, sizeof len);
        h = hash_more(h, v->blob.data + t->at, t->len);
    }
    return h;
}

/* ---- merges from ranks --------------------------------------------------------------------- */

/* Reduces bytes[0..n) by merging the neighbours whose joined token has the least id below
 * `limit`, leftmost first. ends[k] is where part k ends. Returns the number of parts. */
static size_t reduce(const struct vocabulary *v, const char *bytes, size_t n, int64_t limit,
                     size_t *ends)
{
    size_t parts = n;
    for (size_t i = 0; i < n; i++)
        ends[i] = i + 1;
    for (;;) {
        int64_t least = limit;
        size_t at = 0;
        for (size_t i = 0; i + 1 < parts; i++) {
            size_t begin = i ? ends[i - 1] : 0;
            int64_t id = vocabulary_find(v, bytes + begin, ends[i + 1] - begin);
            if (id >= 0 && id < least && v->tokens[id].kind == TOKEN_MODEL) {
                least = id;
                at = i;
            }
        }
        if (least == limit)
            return parts;
        memmove(ends + at, ends + at + 1, (parts - at - 1) * sizeof *ends);
        parts--;
    }
}

/* Adds the merge of token `id`'s first `left` bytes and its other bytes, if both are tokens. */
static void merge_at(struct vocabulary *v, uint32_t id, size_t left)
{
    const struct vocabulary_token *t = &v->tokens[id];
    const char *bytes = v->blob.data + t->at;
    int64_t first = vocabulary_find(v, bytes, left),
            second = vocabulary_find(v, bytes + left, t->len - left);
    if (first >= 0 && second >= 0)
        vocabulary_merge(v, (uint32_t)first, (uint32_t)second, id);
}

/* For a token that merging in the order of ranks does not make from its own bytes: adds a merge for
 * each pair of tokens that together spell it. So it is found if a piece of text is this token, or
 * if the merges before it leave such a pair. */
static void merge_everywhere(struct vocabulary *v, uint32_t id)
{
    v->ignore_merges = 1;
    for (size_t left = 1; left < v->tokens[id].len; left++)
        merge_at(v, id, left);
}

int vocabulary_derive_merges(struct vocabulary *v)
{
    SCOPED_MEM size_t *ends = NULL;
    size_t cap = 0;
    v->merge_count = 0;
    for (uint32_t id = 0; id < v->count; id++) {
        const struct vocabulary_token *t = &v->tokens[id];
        if (t->kind != TOKEN_MODEL || t->len < 2)
            continue;
        const char *bytes = v->blob.data + t->at;
        mem_grow(ends, cap, t->len);
        if (t->len > DERIVED_MAX)
            return err_set("token %u of %u bytes is too long", id, t->len);
        size_t parts = reduce(v, bytes, t->len, id, ends);
        for (size_t i = 0; i < t->len; i++)
            if (vocabulary_find(v, bytes + i, 1) < 0)
                return err_set("token %u has a byte that is not a token", id);
        if (parts == 2)
            merge_at(v, id, ends[0]);
        else
            merge_everywhere(v, id);
    }
    return 0;
}
