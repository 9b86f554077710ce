#include "generate/export_vocabulary.h"

#include "common/base/le.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"

/* llama.cpp's types of tokens */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

/* The texts and types of the ids below `size`. Type 0: the id has no token. */
struct tokens {
    struct token {
        const char *text;
        size_t n;
        uint32_t type;
        float score;
    } * items;
    int64_t size;
    const struct js *model, *words; /* of the tokenizer.json: the model, and its tokens' ids */
};

/* ---- tokens -------------------------------------------------------------------------------- */

static int put_token(struct tokens *t, int64_t id, const char *text, size_t n, uint32_t type)
{
    if (id < 0 || id >= t->size)
        return err_set("token '%s' has id %lld, but the model has only %lld", text, (long long)id,
                       (long long)t->size);
    t->items[id] = (struct token){ text, n, type, 0 };
    return 0;
}

/* Returns the id of a token of the model, or -1. */
static int64_t id_of(const struct tokens *t, const char *name)
{
    int64_t id = -1;
    return name && js_int(js_get(t->words, name), &id) == 0 ? id : -1;
}

static int find_tokens(struct tokens *t, const struct js *root)
{
    const struct js *added = js_get(root, "added_tokens");
    int64_t id = -1;
    size_t n;
    for (void *it = js_first(t->words); it; it = js_next(t->words, it)) {
        const char *text = js_key(it, &n);
        if (js_int(js_value(it), &id) < 0 || put_token(t, id, text, n, NORMAL) < 0)
            return -1;
    }
    for (size_t i = 0; i < js_count(added); i++) {
        const struct js *one = js_at(added, i);
        const char *text = js_text(js_get(one, "content"), &n);
        uint32_t type = js_flag(one, "special", 0) ? CONTROL : USER_DEFINED;
        if (js_int(js_get(one, "id"), &id) < 0 || put_token(t, id, text, n, type) < 0)
            return -1;
    }
    return 0;
}

static void add_tokens(struct gguf_writer *w, const struct tokens *t)
{
    SCOPED(buf) texts = BUF_INIT, types = BUF_INIT, hole = BUF_INIT;
    for (int64_t id = 0; id < t->size; id++) {
        const struct token *token = &t->items[id];
        buf_setf(&hole, "[PAD%lld]", (long long)id);
        gguf_put_text(&texts, token->type ? token->text : hole.data,
                      token->type ? token->n : hole.len);
        le_add_u32(&types, token->type ? token->type : UNUSED);
    }
    gguf_add_list(w, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)t->size, &texts);
    gguf_add_list(w, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)t->size, &types);
}

static void add_text(struct gguf_writer *w, const char *key, const char *text)
{
    gguf_add_text(w, key, text, strlen(text));
}

/* ---- byte-level BPE ------------------------------------------------------------------------ */

/* Sets `text` to the merge ["a", "b"] as "a b", and *left to the length of a in bytes. */
static void put_merge(struct buf *text, size_t *left, const struct js *merge)
{
    size_t n;
    const char *a = js_text(js_at(merge, 0), left), *b = js_text(js_at(merge, 1), &n);
    buf_set(text, a, *left);
    buf_addc(text, ' ');
    buf_add(text, b, n);
}

static const char *add_byte_level(struct gguf_writer *w, struct tokens *t, const struct js *root)
{
    const char *name = tokenizer_gguf_pre(root);
    const struct js *normalizer = js_get(root, "normalizer"), *merges = js_get(t->model, "merges");
    SCOPED(buf) texts = BUF_INIT, one = BUF_INIT;
    add_text(w, "tokenizer.ggml.model", "gpt2");
    add_text(w, "tokenizer.ggml.pre", name ? name : "default");
    add_tokens(w, t);
    for (size_t i = 0, left; i < js_count(merges); i++) {
        put_merge(&one, &left, js_at(merges, i));
        gguf_put_text(&texts, one.data, one.len);
    }
    gguf_add_list(w, "tokenizer.ggml.merges", GGUF_TEXT, js_count(merges), &texts);
    if (!name)
        return "llama.cpp has no name for how this vocabulary cuts a text: it will cut as "
               "'default', which may give other tokens";
    return js_is_set(normalizer)
               ? "llama.cpp will not normalize a text before it cuts it, as this vocabulary does: "
                 "texts that this changes get other tokens"
               : NULL;
}

/* ---- BPE of SentencePiece ------------------------------------------------------------------ */

static const char space[] = "\u2581";

/* Returns 1 for names such as <0x0A>, else 0. */
static int is_byte(const struct token *t)
{
    static const char digits[] = "0123456789ABCDEF";
    return t->n == 6 && !memcmp(t->text, "<0x", 3) && t->text[5] == '>' &&
           strchr(digits, t->text[3]) && strchr(digits, t->text[4]);
}

/* Returns 1 if the step does nothing but write spaces as U+2581, else 0. */
static int writes_spaces(const struct js *step)
{
    return !strcmp(js_type(step), "Replace") &&
           js_text_is(js_get(js_get(step, "pattern"), "String"), " ") &&
           js_text_is(js_get(step, "content"), space);
}

static const char normalizes[] =
    "llama.cpp has no key for how this vocabulary normalizes a text: it "
    "will only replace spaces, which may give other tokens";

/* Compares how text becomes pieces. llama.cpp writes spaces as U+2581 and, with add_space_prefix,
 * puts one before each text. Sets *prefix to 1 if the vocabulary puts one before texts, else to 0.
 * Returns NULL if llama.cpp makes the same pieces, else the warning. */
static const char *doubt_of_text(const struct js *root, int *prefix)
{
    const struct js *pre = js_get(root, "pre_tokenizer"), *normalizer = js_get(root, "normalizer");
    const struct js *steps = js_get(normalizer, "normalizers");
    const struct js *scheme = js_get(pre, "prepend_scheme");
    const size_t n = steps ? js_count(steps) : 1;
    *prefix = 0;
    if (!js_is_set(normalizer)) {
        *prefix = scheme ? !js_text_is(scheme, "never") : js_flag(pre, "add_prefix_space", 1);
        if (strcmp(js_type(pre), "Metaspace") || js_flag(pre, "split", 1) ||
            !js_text_is(js_get(pre, "replacement"), space))
            return normalizes;
        return *prefix ? "llama.cpp puts a space before each text, and this vocabulary only before "
                         "texts that do not begin with one: the others may get other tokens there"
                       : NULL;
    }
    if (js_is_set(pre))
        return normalizes;
    *prefix = n == 2 && !strcmp(js_type(js_at(steps, 0)), "Prepend") &&
              js_text_is(js_get(js_at(steps, 0), "prepend"), space);
    return n == (size_t)*prefix + 1 && writes_spaces(steps ? js_at(steps, n - 1) : normalizer)
               ? NULL
               : normalizes;
}

/* Returns the number of ways to cut the token into two tokens that can be merged. */
static size_t cuts_of(const struct tokens *t, const struct token *token)
{
    SCOPED(buf) part = BUF_INIT;
    size_t count = 0, len;
    for (size_t i = 0; i < token->n; i += len) {
        utf8_get((const unsigned char *)token->text + i, &len);
        buf_set(&part, token->text, i);
        const int64_t left = i ? id_of(t, part.data) : -1;
        const int64_t right = left >= 0 ? id_of(t, token->text + i) : -1;
        count += right >= 0 && t->items[left].type == NORMAL && t->items[right].type == NORMAL;
    }
    return count;
}

/* Sets each token's score to minus the rank of its first merge (ties share one), and lowest if no
 * merge makes it. Returns 1 if merging by score gives the same as the list, else 0: each token's
 * merges must be consecutive, and include every way to cut it into two tokens. */
static int set_scores(struct tokens *t, const struct js *merges)
{
    SCOPED(buf) text = BUF_INIT;
    SCOPED_MEM size_t *ways = mem_zalloc((size_t)t->size, sizeof *ways);
    int64_t before = -1;
    const char *ties = js_text(js_get(t->model, "ties"), NULL); /* a digit for each merge */
    int made = 0, same = 1;
    for (size_t i = 0; i < js_count(merges); i++) {
        size_t left;
        made += i && !(ties && ties[i] == '1');
        put_merge(&text, &left, js_at(merges, i));
        memmove(text.data + left, text.data + left + 1, text.len - left); /* and the NUL */
        const int64_t id = id_of(t, text.data);
        if (id < 0)
            continue; /* the tokenizer was loaded, so each merge makes a token */
        if (id != before && !ways[id])
            t->items[id].score = (float)-made;
        same &= id == before || !ways[id];
        ways[id]++;
        before = id;
    }
    for (int64_t id = 0; id < t->size; id++)
        if (t->items[id].type == NORMAL) {
            same &= cuts_of(t, &t->items[id]) == ways[id];
            if (!ways[id])
                t->items[id].score = (float)(-made - 1);
        }
    return same;
}

static const char *add_pieces(struct gguf_writer *w, struct tokens *t, const struct js *root)
{
    const int64_t unknown = id_of(t, js_text(js_get(t->model, "unk_token"), NULL));
    SCOPED(buf) scores = BUF_INIT;
    int prefix;
    for (int64_t id = 0; id < t->size; id++)
        if (t->items[id].type == NORMAL && is_byte(&t->items[id]))
            t->items[id].type = BYTE;
    if (unknown >= 0)
        t->items[unknown].type = UNKNOWN;
    const char *doubt = doubt_of_text(root, &prefix);
    if (!set_scores(t, js_get(t->model, "merges")) && !doubt)
        doubt = "llama.cpp merges any two tokens whose joined text is a token, and this vocabulary "
                "only those in its list: texts may get other tokens there";
    add_text(w, "tokenizer.ggml.model", "llama");
    add_text(w, "tokenizer.ggml.pre", "default");
    add_tokens(w, t);
    for (int64_t id = 0; id < t->size; id++)
        le_add_f32(&scores, t->items[id].score);
    gguf_add_list(w, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)t->size, &scores);
    gguf_add_bool(w, "tokenizer.ggml.add_space_prefix", prefix);
    return doubt;
}

/* ---- WordPiece ----------------------------------------------------------------------------- */

/* Puts U+2581 before the tokens that begin a word, and removes "##" from the others. `texts` gets
 * the new texts, into which t->items then point. */
static void respell(struct tokens *t, struct buf *texts)
{
    size_t at = 0;
    for (int64_t id = 0; id < t->size; id++) {
        const struct token *token = &t->items[id];
        const size_t skip = token->n >= 2 && !memcmp(token->text, "##", 2) ? 2 : 0;
        if (token->type == NORMAL) {
            buf_adds(texts, skip ? "" : space);
            buf_add(texts, token->text + skip, token->n - skip);
        } else if (token->type) {
            buf_add(texts, token->text, token->n);
        }
        t->items[id].n = texts->len - at;
        at = texts->len;
    }
    at = 0;
    for (int64_t id = 0; id < t->size; at += t->items[id++].n)
        t->items[id].text = texts->data + at;
}

static const char *add_words(struct gguf_writer *w, struct tokens *t, const struct js *root)
{
    const struct js *normalizer = js_get(root, "normalizer");
    const int lower = js_flag(normalizer, "lowercase", 1);
    SCOPED(buf) texts = BUF_INIT;
    add_text(w, "tokenizer.ggml.model", "bert");
    add_text(w, "tokenizer.ggml.pre", "default");
    respell(t, &texts);
    add_tokens(w, t);
    return !strcmp(js_type(normalizer), "BertNormalizer") && lower &&
                   js_flag(normalizer, "strip_accents", lower) &&
                   js_flag(normalizer, "handle_chinese_chars", 1) &&
                   !strcmp(js_type(js_get(root, "pre_tokenizer")), "BertPreTokenizer")
               ? NULL
               : "llama.cpp makes each text for WordPiece lower case without accents: this "
                 "vocabulary does not, so texts may get other tokens there";
}

/* ---- all ----------------------------------------------------------------------------------- */

static int has_byte_level(const struct js *root)
{
    const struct js *pre = js_get(root, "pre_tokenizer"), *steps = js_get(pre, "pretokenizers");
    for (size_t i = 0; i < js_count(steps); i++)
        if (!strcmp(js_type(js_at(steps, i)), "ByteLevel"))
            return 1;
    return !strcmp(js_type(pre), "ByteLevel");
}

static int add_keys(struct gguf_writer *w, const struct js *root, int64_t vocabulary,
                    const char **doubt)
{
    const struct js *model = js_get(root, "model");
    const int pairs = !strcmp(js_type(model), "BPE");
    const char *(*add)(struct gguf_writer * w, struct tokens * t,
                       const struct js *root) = pairs && has_byte_level(root) ? add_byte_level
                                                : pairs && js_flag(model, "byte_fallback", 0)
                                                    ? add_pieces
                                                : !strcmp(js_type(model), "WordPiece") ? add_words
                                                                                       : NULL;
    struct tokens t = { .size = vocabulary, .model = model, .words = js_get(model, "vocab") };
    *doubt = "llama.cpp has no keys for such a vocabulary: only textmill will read it";
    if (!add)
        return 0;
    t.items = mem_zalloc((size_t)vocabulary, sizeof *t.items);
    int failed = find_tokens(&t, root);
    if (!failed)
        *doubt = add(w, &t, root);
    free(t.items);
    return failed;
}

/* Adds the id of a token, if there is one. */
static void add_id(struct gguf_writer *w, const char *key, int64_t id)
{
    if (id >= 0)
        gguf_add_u32(w, key, (uint32_t)id);
}

/* "seperator" is llama.cpp's spelling. */
static void add_ids(struct gguf_writer *w, const struct tokenizer *t)
{
    const struct ids none = { 0 };
    SCOPED(ids) begin = { 0 }, all = { 0 };
    const int64_t end = tokenizer_end_of_text(t);
    tokenizer_begin_text(t, &begin);
    tokenizer_assemble(t, &none, NULL, &all, NULL);
    add_id(w, "tokenizer.ggml.bos_token_id", tokenizer_begin_of_text(t));
    add_id(w, "tokenizer.ggml.eos_token_id", end);
    gguf_add_bool(w, "tokenizer.ggml.add_bos_token", begin.count == 1);
    gguf_add_bool(w, "tokenizer.ggml.add_eos_token",
                  end >= 0 && all.count > begin.count && all.data[all.count - 1] == end);
    add_id(w, "tokenizer.ggml.unknown_token_id", tokenizer_role(t, TOKENIZER_UNKNOWN));
    add_id(w, "tokenizer.ggml.padding_token_id", tokenizer_role(t, TOKENIZER_PAD));
    add_id(w, "tokenizer.ggml.seperator_token_id", tokenizer_role(t, TOKENIZER_SEP));
    add_id(w, "tokenizer.ggml.mask_token_id", tokenizer_role(t, TOKENIZER_MASK));
}

int export_vocabulary(struct gguf_writer *w, const struct tokenizer *t, int64_t vocabulary,
                      const char **doubt)
{
    SCOPED(buf) text = BUF_INIT;
    tokenizer_print(t, &text);
    SCOPED_JS root = js_parse(text.data, text.len, "tokenizer.json");
    int failed = root ? add_keys(w, root, vocabulary, doubt) : -1;
    add_ids(w, t);
    gguf_add_text(w, "tokenizer.huggingface.json", text.data, text.len);
    return failed;
}
