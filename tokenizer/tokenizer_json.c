/* tokenizer.json, the form of Hugging Face tokenizers: read and written. */
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/js.h"
#include "common/mem.h"
#include "tokenizer/files.h"

static int text_is(const struct js *v, const char *word)
{
    const char *s = js_text(v, NULL);
    return s && !strcmp(s, word);
}

static const char *type_of(const struct js *v)
{
    const char *s = js_text(js_get(v, "type"), NULL);
    return s ? s : "?";
}

/* A flag of an object: its value, or `otherwise` when it is absent. */
static int flag(const struct js *object, const char *key, int otherwise)
{
    int value;
    return js_bool(js_get(object, key), &value) < 0 ? otherwise : value;
}

static int is_set(const struct js *v)
{
    return v && !js_is_null(v);
}

/* ---- model --------------------------------------------------------------------------------- */

static int check_model(const struct js *model)
{
    static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    double dropout;
    if (!text_is(js_get(model, "type"), "BPE") && js_get(model, "type"))
        return err_set("model '%s' is not supported: only byte-level BPE and WordPiece are", type_of(model));
    for (size_t i = 0; i < 2; i++) {
        const struct js *affix = js_get(model, affixes[i]);
        if (is_set(affix) && !text_is(affix, ""))
            return err_set("model.%s is not supported", affixes[i]);
    }
    if (js_real(js_get(model, "dropout"), &dropout) == 0 && dropout > 0)
        return err_set("model.dropout is not supported");
    if (flag(model, "byte_fallback", 0))
        return err_set("model.byte_fallback is not supported");
    return 0;
}

/* 1: an added token under the id that the model gives it too; 0: no added token; -1: other id. */
static int is_added(const struct vocabulary *v, int64_t id, const char *token, size_t n)
{
    int64_t added = vocabulary_find(v, token, n);
    if (added < 0 || v->tokens[added].kind != TOKEN_ADDED)
        return 0;
    return added == id ? 1
                       : err_set("model.vocab: '%s' has id %lld, as an added token %lld", token,
                                 (long long)id, (long long)added);
}

/* Names that the byte alphabet does not spell may stand in the model when they are added tokens
 * too, so those come first. */
static int read_vocab(struct vocabulary *v, const struct js *vocab)
{
    struct buf bytes = BUF_INIT;
    int result = js_is_object(vocab) ? 0 : err_set("model.vocab is no object");
    for (void *it = js_first(vocab); it && !result; it = js_next(vocab, it)) {
        size_t n;
        const char *token = js_key(it, &n);
        int64_t id;
        int added = 0;
        buf_clear(&bytes);
        if (js_int(js_value(it), &id) < 0)
            result = err_set("model.vocab: '%s' has no whole number for an id", token);
        else if ((added = is_added(v, id, token, n)) != 0)
            result = added < 0 ? -1 : 0;
        else if (alphabet_decode(&bytes, token, n) < 0)
            result = err_set("model.vocab: '%s' has a character that stands for no byte", token);
        else if (vocabulary_put(v, id, bytes.data, bytes.len, TOKEN_MODEL) < 0)
            result = err_in("model.vocab: '%s'", token);
    }
    buf_release(&bytes);
    return result;
}

static int read_merges(struct vocabulary *v, const struct js *merges)
{
    if (!js_is_array(merges))
        return err_set("model.merges is no array");
    for (size_t i = 0; i < js_count(merges); i++) {
        const struct js *m = js_at(merges, i);
        size_t left_len, right_len;
        const char *left = js_text(m, &left_len), *right = NULL;
        if (left) { /* "left right" */
            right = memchr(left, ' ', left_len);
            if (right) {
                right_len = left_len - (size_t)(++right - left);
                left_len = (size_t)(right - left) - 1;
            }
        } else { /* ["left", "right"] */
            left = js_text(js_at(m, 0), &left_len);
            right = js_count(m) == 2 ? js_text(js_at(m, 1), &right_len) : NULL;
        }
        if (!left || !right || !left_len || !right_len)
            return err_set("model.merges: item %zu is not a pair of tokens", i);
        if (merge_named(v, left, left_len, right, right_len) < 0)
            return err_in("model.merges: item %zu", i);
    }
    return 0;
}

/* An unknown token would stand for bytes without one: fine where there are none. */
static int check_unknown(const struct vocabulary *v, const struct js *model)
{
    int64_t byte_ids[256];
    vocabulary_byte_ids(v, byte_ids);
    for (int i = 0; i < 256 && is_set(js_get(model, "unk_token")); i++)
        if (byte_ids[i] < 0)
            return err_set("model.unk_token is not supported with a vocabulary that lacks byte "
                           "0x%02X",
                           (unsigned)i);
    return 0;
}

/* ---- added tokens -------------------------------------------------------------------------- */

static int read_added(struct vocabulary *v, const struct js *list)
{
    for (size_t i = 0; i < js_count(list); i++) {
        const struct js *item = js_at(list, i);
        size_t n;
        const char *content = js_text(js_get(item, "content"), &n);
        int64_t id;
        if (!content || !n || js_int(js_get(item, "id"), &id) < 0)
            return err_set("added_tokens: item %zu has no content or no id", i);
        if (flag(item, "single_word", 0))
            return err_set("added_tokens: single_word of '%s' is not supported", content);
        if (vocabulary_find(v, content, n) >= 0)
            return err_set("added_tokens: '%s' is there twice", content);
        if (vocabulary_put(v, id, content, n, TOKEN_ADDED) < 0)
            return err_in("added_tokens: '%s'", content);
        vocabulary_add(v, &(struct added_token){
                              .id = (uint32_t)id,
                              .special = flag(item, "special", 0),
                              .lstrip = flag(item, "lstrip", 0),
                              .rstrip = flag(item, "rstrip", 0),
                              .normalized = flag(item, "normalized", 1),
                          });
    }
    return 0;
}

/* ---- pre-tokenization ----------------------------------------------------------------------- */

static int read_split(struct vocabulary *v, const struct js *step)
{
    const struct js *pattern = js_get(step, "pattern");
    size_t n;
    const char *text = js_text(js_get(pattern, "Regex"), &n);
    enum split_kind kind = SPLIT_PATTERN;
    if (!text) {
        text = js_text(js_get(pattern, "String"), &n);
        kind = SPLIT_STRING;
    }
    if (!text)
        return err_set("pre_tokenizer Split without a pattern");
    const char *behavior = js_text(js_get(step, "behavior"), NULL);
    if (!behavior || strcmp(behavior, "Isolated"))
        return err_set("pre_tokenizer Split: behavior '%s' is not supported",
                       behavior ? behavior : "?");
    return splitter_add(&v->splitter, kind, text, n);
}

static int read_pre_tokenizer(struct vocabulary *v, const struct js *step, int *byte_level)
{
    const char *type = type_of(step);
    if (*byte_level)
        return err_set("pre_tokenizer '%s' after ByteLevel is not supported", type);
    if (!strcmp(type, "Sequence")) {
        const struct js *steps = js_get(step, "pretokenizers");
        for (size_t i = 0; i < js_count(steps); i++)
            if (read_pre_tokenizer(v, js_at(steps, i), byte_level) < 0)
                return -1;
        return 0;
    }
    if (!strcmp(type, "Split"))
        return read_split(v, step);
    if (strcmp(type, "ByteLevel"))
        return err_set("pre_tokenizer '%s' is not supported", type);
    *byte_level = 1;
    v->prefix_space = flag(step, "add_prefix_space", 1);
    if (v->prefix_space && v->splitter.count)
        return err_set("pre_tokenizer ByteLevel: add_prefix_space after Split is not supported");
    return flag(step, "use_regex", 1) ? splitter_add(&v->splitter, SPLIT_GPT2, NULL, 0) : 0;
}

static int check_normalizer(const struct js *normalizer)
{
    if (!is_set(normalizer) || (!strcmp(type_of(normalizer), "Sequence") &&
                                !js_count(js_get(normalizer, "normalizers"))))
        return 0;
    return err_set("normalizer '%s' is not supported", type_of(normalizer));
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int read_root(struct vocabulary *v, const struct js *root)
{
    const struct js *model = js_get(root, "model");
    int byte_level = 0;
    if (!js_is_object(model))
        return err_set("no model: not a tokenizer.json");
    if (text_is(js_get(model, "type"), "WordPiece"))
        return read_added(v, js_get(root, "added_tokens")) < 0 ? -1 : wordpiece_json_read(v, root);
    if (check_model(model) < 0 || check_normalizer(js_get(root, "normalizer")) < 0)
        return -1;
    const struct js *pre = js_get(root, "pre_tokenizer");
    if (is_set(pre) && read_pre_tokenizer(v, pre, &byte_level) < 0)
        return -1;
    if (!byte_level)
        return err_set("pre_tokenizer without ByteLevel is not supported");
    if (read_added(v, js_get(root, "added_tokens")) < 0 ||
        read_vocab(v, js_get(model, "vocab")) < 0 || vocabulary_check(v) < 0 ||
        read_merges(v, js_get(model, "merges")) < 0 || check_unknown(v, model) < 0)
        return -1;
    v->ignore_merges = flag(model, "ignore_merges", 0);
    v->end_of_text = vocabulary_find(v, end_of_text_name, strlen(end_of_text_name));
    return 0;
}

int tokenizer_json_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    struct js *root = js_parse(text, n, name);
    if (!root)
        return -1;
    int result = read_root(v, root);
    js_free(root);
    return result < 0 ? err_in("%s", name) : 0;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void print_bool(struct buf *out, const char *key, int value)
{
    buf_addf(out, ", \"%s\": %s", key, value ? "true" : "false");
}

static void print_added(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "  \"added_tokens\": [");
    for (size_t i = 0; i < v->added_count; i++) {
        const struct added_token *a = &v->added[i];
        size_t n = 0;
        const char *content = vocabulary_bytes(v, a->id, &n);
        buf_addf(out, "%s\n    {\"id\": %u, \"content\": ", i ? "," : "", a->id);
        js_quote(out, content, n);
        print_bool(out, "single_word", 0);
        print_bool(out, "lstrip", a->lstrip);
        print_bool(out, "rstrip", a->rstrip);
        print_bool(out, "normalized", a->normalized);
        print_bool(out, "special", a->special);
        buf_addc(out, '}');
    }
    buf_adds(out, v->added_count ? "\n  ],\n" : "],\n");
}

static void print_byte_level(struct buf *out, int prefix_space, int use_regex)
{
    buf_adds(out, "{\"type\": \"ByteLevel\"");
    print_bool(out, "add_prefix_space", prefix_space);
    print_bool(out, "trim_offsets", 1);
    print_bool(out, "use_regex", use_regex);
    buf_addc(out, '}');
}

static void print_pre_tokenizer(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "  \"pre_tokenizer\": ");
    if (splitter_is_gpt2(&v->splitter) || !v->splitter.count) {
        print_byte_level(out, v->prefix_space, v->splitter.count);
        buf_adds(out, ",\n");
        return;
    }
    buf_adds(out, "{\"type\": \"Sequence\", \"pretokenizers\": [");
    for (int i = 0; i < v->splitter.count; i++) {
        const struct split_rule *r = &v->splitter.rules[i];
        const char *text = r->kind == SPLIT_GPT2 ? gpt2_pattern : r->text;
        buf_addf(out, "\n    {\"type\": \"Split\", \"pattern\": {\"%s\": ",
                 r->kind == SPLIT_STRING ? "String" : "Regex");
        js_quote(out, text, r->kind == SPLIT_GPT2 ? strlen(text) : r->len);
        buf_adds(out, "}, \"behavior\": \"Isolated\", \"invert\": false},");
    }
    buf_adds(out, "\n    ");
    print_byte_level(out, 0, 0);
    buf_adds(out, "\n  ]},\n");
}

void token_print(const struct vocabulary *v, uint32_t id, struct buf *out)
{
    struct buf name = BUF_INIT;
    size_t n = 0;
    const char *bytes = vocabulary_bytes(v, id, &n);
    if (v->tokens[id].kind == TOKEN_ADDED)
        buf_add(&name, bytes, n);
    else
        alphabet_encode(&name, bytes, n);
    js_quote(out, name.data, name.len);
    buf_release(&name);
}

static void print_model(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "  \"model\": {\n    \"type\": \"BPE\", \"dropout\": null, "
                  "\"unk_token\": null, \"continuing_subword_prefix\": null,\n"
                  "    \"end_of_word_suffix\": null, \"fuse_unk\": false, "
                  "\"byte_fallback\": false");
    print_bool(out, "ignore_merges", v->ignore_merges);
    buf_adds(out, ",\n    \"vocab\": {");
    for (uint32_t id = 0; id < v->count; id++) {
        buf_adds(out, id ? ",\n      " : "\n      ");
        token_print(v, id, out);
        buf_addf(out, ": %u", id);
    }
    buf_adds(out, "\n    },\n    \"merges\": [");
    for (size_t i = 0; i < v->merge_count; i++) {
        buf_adds(out, i ? ",\n      [" : "\n      [");
        token_print(v, v->merges[i].left, out);
        buf_adds(out, ", ");
        token_print(v, v->merges[i].right, out);
        buf_addc(out, ']');
    }
    buf_adds(out, v->merge_count ? "\n    ]\n  }\n" : "]\n  }\n");
}

void tokenizer_json_print(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
                  "  \"padding\": null,\n");
    print_added(v, out);
    if (v->model == VOCABULARY_WORDPIECE) {
        wordpiece_json_print(v, out);
        buf_adds(out, "}\n");
        return;
    }
    buf_adds(out, "  \"normalizer\": null,\n");
    print_pre_tokenizer(v, out);
    buf_adds(out, "  \"post_processor\": ");
    print_byte_level(out, 1, 1);
    buf_adds(out, ",\n  \"decoder\": ");
    print_byte_level(out, 1, 1);
    buf_adds(out, ",\n");
    print_model(v, out);
    buf_adds(out, "}\n");
}
