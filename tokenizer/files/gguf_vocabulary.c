#include "tokenizer/files/gguf_vocabulary.h"

#include <string.h>

#include "common/err.h"
#include "common/gguf.h"
#include "common/js.h"

enum { NORMAL = 1, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 }; /* llama.cpp's types of tokens */

#define BYTES(regex)                                                                                \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":" regex \
    "}"
#define SPLIT(digits)                                                                              \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\""      \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|" digits                 \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},"     \
    "\"behavior\":\"Isolated\",\"invert\":false}," BYTES("false") "]}"

/* The pre-tokenizers that llama.cpp knows by name, with what it does where keys are absent. */
static const struct pre {
    const char *name, *json;
    int begin, whole; /* 1: begins each text with the BOS token; 1: pieces that are tokens do not
                       * merge */
} pres[] = {
    { "gpt-2", BYTES("true"), 0, 0 },
    { "llama-bpe", SPLIT("\\\\p{N}{1,3}"), 1, 1 },
    { "qwen2", SPLIT("\\\\p{N}"), 0, 0 },
    { "smollm",
      "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true}," BYTES(
          "true") "]}",
      0, 0 },
};
enum { PRES = sizeof pres / sizeof *pres };

/* ---- keys --------------------------------------------------------------------------------- */

static const struct gguf_key *list_of(const struct gguf *g, const char *name, enum gguf_form items)
{
    const struct gguf_key *k = gguf_find(g, name);
    if (k && k->form == GGUF_LIST && k->items == items)
        return k;
    err_set(k ? "%s: '%s' is no list of its type" : "%s: no key '%s': give --vocab", g->path, name);
    return NULL;
}

/* Returns the key's text if it is one of two or more known ones; `text` holds it. */
static int read_text(const struct gguf *g, const char *name, struct buf *text)
{
    const struct gguf_key *k = gguf_find(g, name);
    buf_clear(text);
    return k ? gguf_text(g, k, text) : err_set("%s: no key '%s': give --vocab", g->path, name);
}

static const struct pre *find_pre(const struct gguf *g)
{
    const struct pre *found = NULL;
    struct buf text = BUF_INIT;
    int failed = read_text(g, "tokenizer.ggml.model", &text);
    if (!failed && strcmp(text.data, "gpt2") != 0)
        failed = err_set("%s: unsupported tokenizer.ggml.model '%s', only gpt2: give --vocab",
                         g->path, text.data);
    if (!failed)
        failed = read_text(g, "tokenizer.ggml.pre", &text);
    for (int i = 0; i < PRES && !failed && !found; i++)
        if (!strcmp(text.data, pres[i].name))
            found = &pres[i];
    if (!failed && !found)
        err_set("%s: unsupported tokenizer.ggml.pre '%s', only gpt-2, llama-bpe, qwen2 and smollm: "
                "give --vocab",
                g->path, text.data);
    buf_release(&text);
    return found;
}

/* Sets *id to the token that a key names; -1: there is no such key. */
static int read_id(const struct gguf *g, const char *name, uint64_t tokens, int64_t *id)
{
    const struct gguf_key *k = gguf_find(g, name);
    double x = -1;
    if (k && gguf_real(g, k, &x) < 0)
        return -1;
    if (k && !(x >= 0 && x < (double)tokens))
        return err_set("%s: bad %s: %g is none of %llu tokens", g->path, name, x,
                       (unsigned long long)tokens);
    *id = (int64_t)x;
    return 0;
}

/* ---- tokenizer.json ----------------------------------------------------------------------- */

static void put_added(struct buf *out, int64_t id, const char *s, size_t n, int special)
{
    buf_addf(out, "%s{\"id\":%lld,\"content\":", out->len ? "," : "", (long long)id);
    js_quote(out, s, n);
    buf_addf(out,
             ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":%s,"
             "\"special\":%s}",
             special ? "false" : "true", special ? "true" : "false");
}

/* Appends the model's vocabulary and the added tokens. The name of token `begin`, if it is not -1,
 * is copied to `begins`. */
static int put_tokens(struct buf *vocab, struct buf *added, struct buf *begins,
                      const struct gguf *g, int64_t begin)
{
    const struct gguf_key *tokens = list_of(g, "tokenizer.ggml.tokens", GGUF_TEXT);
    const struct gguf_key *types = tokens ? list_of(g, "tokenizer.ggml.token_type", GGUF_I32)
                                          : NULL;
    if (!types)
        return -1;
    if (types->count != tokens->count)
        return err_set("%s: %llu types of %llu tokens", g->path, (unsigned long long)types->count,
                       (unsigned long long)tokens->count);
    const unsigned char *at = tokens->value;
    for (uint64_t id = 0; id < tokens->count; id++) {
        size_t n;
        const char *s = gguf_item_text(&at, &n);
        const int32_t type = gguf_item_i32(types, id);
        if ((int64_t)id == begin)
            buf_add(begins, s, n);
        if (type == CONTROL || type == USER_DEFINED) {
            put_added(added, (int64_t)id, s, n, type == CONTROL);
        } else if (type == NORMAL) {
            buf_adds(vocab, vocab->len ? "," : "");
            js_quote(vocab, s, n);
            buf_addf(vocab, ":%llu", (unsigned long long)id);
        } else if (type != UNUSED) {
            return err_set("%s: unsupported type %d of token %llu: give --vocab", g->path, type,
                           (unsigned long long)id);
        }
    }
    return 0;
}

static int put_merges(struct buf *out, const struct gguf *g)
{
    const struct gguf_key *merges = list_of(g, "tokenizer.ggml.merges", GGUF_TEXT);
    const unsigned char *at = merges ? merges->value : NULL;
    for (uint64_t i = 0; merges && i < merges->count; i++) {
        size_t n;
        const char *s = gguf_item_text(&at, &n);
        buf_adds(out, i ? "," : "");
        js_quote(out, s, n);
    }
    return merges ? 0 : -1;
}

/* Appends the post-processor, which puts the token `name` before each text. */
static void put_begin(struct buf *out, int64_t id, const struct buf *name)
{
    struct buf quoted = BUF_INIT;
    js_quote(&quoted, name->data, name->len);
    buf_addf(out,
             "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":%s,"
             "\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
             "\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\","
             "\"type_id\":1}}],\"special_tokens\":{%s:{\"id\":%s,\"ids\":[%lld],\"tokens\":[%s]}}}",
             quoted.data, quoted.data, quoted.data, (long long)id, quoted.data);
    buf_release(&quoted);
}

static int put_json(struct buf *out, const struct gguf *g, int64_t begin)
{
    const struct pre *pre = find_pre(g);
    struct buf vocab = BUF_INIT, added = BUF_INIT, merges = BUF_INIT, begins = BUF_INIT;
    int failed = !pre || put_tokens(&vocab, &added, &begins, g, begin) < 0 ||
                 put_merges(&merges, g) < 0;
    const struct gguf_key *k = gguf_find(g, "tokenizer.ggml.add_bos_token");
    double first = pre && pre->begin;
    if (!failed && k)
        failed = gguf_real(g, k, &first) < 0;
    if (!failed) {
        buf_addf(out, "{\"version\":\"1.0\",\"added_tokens\":[%s],\"normalizer\":null,",
                 added.len ? added.data : "");
        buf_addf(out, "\"pre_tokenizer\":%s,\"post_processor\":", pre->json);
        if (first && begin >= 0)
            put_begin(out, begin, &begins);
        else
            buf_adds(out, "null");
        buf_addf(
            out,
            ",\"decoder\":" BYTES(
                "true") ",\"model\":{\"type\":\"BPE\",\"dropout\":null,"
                        "\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
                        "\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":%s,\"vocab\":{",
            pre->whole ? "true" : "false");
        buf_add(out, vocab.data, vocab.len);
        buf_adds(out, "},\"merges\":[");
        buf_add(out, merges.data, merges.len);
        buf_adds(out, "]}}");
    }
    buf_release(&vocab);
    buf_release(&added);
    buf_release(&merges);
    buf_release(&begins);
    return failed ? -1 : 0;
}

/* Appends what llama.cpp's keys say. */
static int put_keys(struct buf *text, int64_t *end, const struct gguf *g)
{
    const struct gguf_key *tokens = list_of(g, "tokenizer.ggml.tokens", GGUF_TEXT);
    int64_t begin;
    if (!tokens || read_id(g, "tokenizer.ggml.bos_token_id", tokens->count, &begin) < 0 ||
        read_id(g, "tokenizer.ggml.eos_token_id", tokens->count, end) < 0)
        return -1;
    return put_json(text, g, begin);
}

int gguf_vocabulary_json(struct buf *text, int64_t *end, const char *path)
{
    struct gguf g;
    *end = -1;
    if (gguf_open(&g, path) < 0)
        return -1;
    const struct gguf_key *k = gguf_find(&g, "tokenizer.huggingface.json");
    int failed = k ? gguf_text(&g, k, text) : put_keys(text, end, &g);
    gguf_close(&g);
    return failed;
}
