#include "tokenizer/model/wordpiece.h"

#include "tokenizer/cut/trie.h"
#include "tokenizer/model/vocabulary.h"

const char wordpiece_prefix[] = "##";
enum { PREFIX_BYTES = WORDPIECE_PREFIX_BYTES };

struct wordpiece {
    struct trie trie; /* of the tokens, with their ids */
    uint32_t suffix;  /* the node of "##" */
    uint32_t unknown;
    size_t max_chars;
};

struct wordpiece *wordpiece_new(const struct vocabulary *v, uint32_t unknown, size_t max_chars)
{
    struct wordpiece *w = mem_zalloc(1, sizeof *w);
    SCOPED_MEM struct trie_key *keys = mem_alloc(((size_t)v->count + 1) * sizeof *keys);
    size_t count = 0;
    keys[count++] = (struct trie_key){ wordpiece_prefix, PREFIX_BYTES, TRIE_NONE };
    w->unknown = unknown;
    w->max_chars = max_chars;
    for (uint32_t id = 0; id < v->count; id++) {
        size_t n = 0;
        const char *bytes = vocabulary_bytes(v, id, &n);
        if (bytes && n && v->tokens[id].in_model)
            keys[count++] = (struct trie_key){ bytes, n, id };
    }
    trie_init(&w->trie, keys, count);
    for (int i = 0; i < PREFIX_BYTES; i++)
        w->suffix = trie_child(&w->trie, w->suffix, (unsigned char)wordpiece_prefix[i]);
    return w;
}

void wordpiece_free(struct wordpiece *w)
{
    if (!w)
        return;
    trie_release(&w->trie);
    free(w);
}

static int is_too_long(const struct wordpiece *w, const char *word, size_t n)
{
    size_t chars = 0;
    for (size_t i = 0; i < n && n > w->max_chars && chars <= w->max_chars; i++)
        chars += ((unsigned char)word[i] & 0xC0) != 0x80;
    return chars > w->max_chars;
}

/* Cuts a word piece by piece, each as long as possible, and appends the ids to `out`. Returns 1, or
 * 0 if the word cannot be cut. */
static int match(const struct wordpiece *w, const char *word, size_t n, struct ids *out)
{
    for (size_t at = 0, len; at < n; at += len) {
        uint32_t id = trie_longest(&w->trie, at ? w->suffix : TRIE_ROOT, word + at, n - at, &len);
        if (id == TRIE_NONE)
            return 0;
        ids_add(out, id);
    }
    return 1;
}

void wordpiece_encode(const struct wordpiece *w, const char *word, size_t n, struct ids *out)
{
    size_t before = out->count;
    if (is_too_long(w, word, n) || !match(w, word, n, out)) {
        out->count = before;
        ids_add(out, w->unknown);
    }
}
