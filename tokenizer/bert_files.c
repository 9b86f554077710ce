/* BERT's part of files.h: vocab.txt, and WordPiece in tokenizer.json. */
#include <inttypes.h>
#include <string.h>

#include "common/err.h"
#include "common/js.h"
#include "tokenizer/files.h"
#include "tokenizer/wordpiece.h"

const char *const bert_role_names[TOKENIZER_ROLES] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                       "[MASK]" };

enum { HF_MAX_CHARS = 100 };

static int text_is(const struct js *v, const char *word)
{
    const char *s = js_text(v, NULL);
    return s && !strcmp(s, word);
}

static int flag(const struct js *object, const char *key, int otherwise)
{
    int value;
    return js_bool(js_get(object, key), &value) < 0 ? otherwise : value;
}

static const char *type_of(const struct js *v)
{
    const char *s = js_text(js_get(v, "type"), NULL);
    return s ? s : "?";
}

/* ---- roles and templates --------------------------------------------------------------------- */

int bert_roles(struct vocabulary *v)
{
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        if (v->roles[i] < 0)
            v->roles[i] = vocabulary_find(v, bert_role_names[i], strlen(bert_role_names[i]));
    return v->roles[TOKENIZER_UNKNOWN] >= 0
               ? 0
               : err_set("no token '%s'", bert_role_names[TOKENIZER_UNKNOWN]);
}

static void add_part(struct template *t, int64_t id, uint32_t type)
{
    t->parts[t->count++] = (struct template_part){ id, type };
}

static void fill_templates(struct vocabulary *v, int64_t cls, int64_t sep)
{
    v->single.count = v->pair.count = 0;
    add_part(&v->single, cls, 0);
    add_part(&v->single, TEMPLATE_A, 0);
    add_part(&v->single, sep, 0);
    v->pair = v->single;
    add_part(&v->pair, TEMPLATE_B, 1);
    add_part(&v->pair, sep, 1);
}

void bert_templates(struct vocabulary *v)
{
    if (v->roles[TOKENIZER_CLS] >= 0 && v->roles[TOKENIZER_SEP] >= 0)
        fill_templates(v, v->roles[TOKENIZER_CLS], v->roles[TOKENIZER_SEP]);
}

/* ---- vocab.txt ------------------------------------------------------------------------------- */

static int is_role(const char *token, size_t n)
{
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        if (n == strlen(bert_role_names[i]) && !memcmp(token, bert_role_names[i], n))
            return 1;
    return 0;
}

/* An uncased vocabulary has no capital letter of ASCII but in names such as [CLS]. */
static int has_capitals(const char *token, size_t n)
{
    if (n > 1 && token[0] == '[' && token[n - 1] == ']')
        return 0;
    for (size_t i = 0; i < n; i++)
        if (token[i] >= 'A' && token[i] <= 'Z')
            return 1;
    return 0;
}

void wordpiece_frame(struct vocabulary *v, int cased)
{
    v->model = VOCABULARY_WORDPIECE;
    v->byte_level = 0;
    memcpy(v->prefix, wordpiece_prefix, strlen(wordpiece_prefix) + 1);
    v->rules = (struct bert_rules){ 1, 1, !cased, !cased, 0 };
    v->max_chars = HF_MAX_CHARS;
    v->cleanup = 1;
}

int vocab_txt_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    int cased = 0;
    int64_t id = 0;
    for (size_t at = 0, next; at < n; at = next, id++) {
        const char *line = text + at, *lf = memchr(line, '\n', n - at);
        size_t len = lf ? (size_t)(lf - line) : n - at;
        next = at + len + 1;
        while (len && line[len - 1] == '\r')
            len--;
        if (!len)
            return err_set("%s: line %" PRId64 " is empty: each line is a token", name, id + 1);
        int special = is_role(line, len);
        if (vocabulary_put(v, id, line, len, special ? TOKEN_ADDED : TOKEN_MODEL) < 0)
            return err_in("%s: line %" PRId64, name, id + 1);
        if (special)
            vocabulary_add(v, &(struct added_token){ .id = (uint32_t)id, .special = 1 });
        cased |= has_capitals(line, len);
    }
    wordpiece_frame(v, cased);
    if (bert_roles(v) < 0)
        return err_in("%s", name);
    bert_templates(v);
    return 0;
}

void vocab_txt_print(const struct vocabulary *v, struct buf *out)
{
    for (uint32_t id = 0; id < v->count; id++) {
        size_t n = 0;
        const char *bytes = vocabulary_bytes(v, id, &n);
        buf_add(out, bytes, n);
        buf_addc(out, '\n');
    }
}

/* ---- tokenizer.json, read -------------------------------------------------------------------- */

static int read_normalizer(struct vocabulary *v, const struct js *n)
{
    if (!n || js_is_null(n)) {
        v->rules = (struct bert_rules){ 0 };
        return 0;
    }
    if (!text_is(js_get(n, "type"), "BertNormalizer"))
        return err_set("normalizer '%s' is not supported with WordPiece", type_of(n));
    v->rules.clean_text = flag(n, "clean_text", 1);
    v->rules.chinese_chars = flag(n, "handle_chinese_chars", 1);
    v->rules.lowercase = flag(n, "lowercase", 1);
    v->rules.strip_accents = flag(n, "strip_accents", v->rules.lowercase);
    return 0;
}

static int read_vocab(struct vocabulary *v, const struct js *vocab)
{
    if (!js_is_object(vocab))
        return err_set("model.vocab is no object");
    for (void *it = js_first(vocab); it; it = js_next(vocab, it)) {
        size_t n;
        const char *token = js_key(it, &n);
        int64_t id, have = vocabulary_find(v, token, n);
        if (js_int(js_value(it), &id) < 0)
            return err_set("model.vocab: '%s' has no whole number for an id", token);
        if (have >= 0 && have != id)
            return err_set("model.vocab: '%s' has id %" PRId64 ", as an added token %" PRId64,
                           token, id, have);
        if (have < 0 && vocabulary_put(v, id, token, n, TOKEN_MODEL) < 0)
            return err_in("model.vocab: '%s'", token);
    }
    return 0;
}

/* A list of {"SpecialToken": {"id", "type_id"}} and {"Sequence": {"id": "A"|"B", "type_id"}}. */
static int read_template(struct template *t, const struct js *list, const struct js *tokens)
{
    t->count = 0;
    for (size_t i = 0; i < js_count(list); i++) {
        const struct js *special = js_get(js_at(list, i), "SpecialToken");
        const struct js *part = special ? special : js_get(js_at(list, i), "Sequence");
        const char *name = js_text(js_get(part, "id"), NULL);
        int64_t id = TEMPLATE_A, type = 0;
        if (!name || js_int(js_get(part, "type_id"), &type) < 0 || type < 0 || type > UINT32_MAX)
            return err_set("post_processor: part %zu of a template has no id or type_id", i);
        const struct js *ids = js_get(js_get(tokens, name), "ids");
        if (special && (js_count(ids) != 1 || js_int(js_at(ids, 0), &id) < 0 || id < 0))
            return err_set("post_processor: special token '%s' is not one id", name);
        if (!special)
            id = strcmp(name, "B") ? TEMPLATE_A : TEMPLATE_B;
        if (t->count == TEMPLATE_MAX)
            return err_set("post_processor: a template of more than %d parts", TEMPLATE_MAX);
        add_part(t, id, (uint32_t)type);
    }
    return 0;
}

static int check_template(const struct vocabulary *v, const struct template *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->parts[i].id >= (int64_t)v->count)
            return err_set("post_processor: id %" PRId64 " is not in the vocabulary",
                           t->parts[i].id);
    return 0;
}

static int read_post_processor(struct vocabulary *v, const struct js *post)
{
    if (!post || js_is_null(post))
        return 0;
    if (text_is(js_get(post, "type"), "BertProcessing")) {
        int64_t cls, sep;
        if (js_int(js_at(js_get(post, "cls"), 1), &cls) < 0 || cls < 0 ||
            js_int(js_at(js_get(post, "sep"), 1), &sep) < 0 || sep < 0)
            return err_set("post_processor BertProcessing without cls or sep");
        fill_templates(v, cls, sep);
    } else if (text_is(js_get(post, "type"), "TemplateProcessing")) {
        const struct js *tokens = js_get(post, "special_tokens");
        if (read_template(&v->single, js_get(post, "single"), tokens) < 0 ||
            read_template(&v->pair, js_get(post, "pair"), tokens) < 0)
            return -1;
    } else {
        return err_set("post_processor '%s' is not supported with WordPiece", type_of(post));
    }
    return check_template(v, &v->single) < 0 ? -1 : check_template(v, &v->pair);
}

int wordpiece_json_read(struct vocabulary *v, const struct js *root)
{
    const struct js *model = js_get(root, "model"), *prefix, *decoder = js_get(root, "decoder");
    size_t n = 0;
    int64_t max_chars = HF_MAX_CHARS;
    const char *unknown = js_text(js_get(model, "unk_token"), &n);
    v->model = VOCABULARY_WORDPIECE;
    v->byte_level = 0;
    memcpy(v->prefix, wordpiece_prefix, strlen(wordpiece_prefix) + 1);
    prefix = js_get(model, "continuing_subword_prefix");
    if (prefix && !text_is(prefix, wordpiece_prefix))
        return err_set("model.continuing_subword_prefix is not '%s'", wordpiece_prefix);
    if (!text_is(js_get(js_get(root, "pre_tokenizer"), "type"), "BertPreTokenizer"))
        return err_set("pre_tokenizer '%s' is not supported with WordPiece",
                       type_of(js_get(root, "pre_tokenizer")));
    if (js_get(model, "max_input_chars_per_word") &&
        (js_int(js_get(model, "max_input_chars_per_word"), &max_chars) < 0 || max_chars < 0 ||
         max_chars > UINT32_MAX))
        return err_set("model.max_input_chars_per_word is no number of characters");
    for (size_t i = 0; i < v->added_count; i++)
        if (v->added[i].normalized && v->added[i].special == 0)
            return err_set("added_tokens: a normalized token is not supported with WordPiece");
    if (read_normalizer(v, js_get(root, "normalizer")) < 0 ||
        read_vocab(v, js_get(model, "vocab")) < 0)
        return -1;
    v->max_chars = (uint32_t)max_chars;
    v->cleanup = flag(decoder, "cleanup", 1);
    v->roles[TOKENIZER_UNKNOWN] = unknown ? vocabulary_find(v, unknown, n) : -1;
    if (unknown && v->roles[TOKENIZER_UNKNOWN] < 0)
        return err_set("model.unk_token '%s' is no token", unknown);
    return vocabulary_check(v) < 0 || bert_roles(v) < 0
               ? -1
               : read_post_processor(v, js_get(root, "post_processor"));
}

/* ---- tokenizer.json, written ------------------------------------------------------------------ */

static const char *truth(int value)
{
    return value ? "true" : "false";
}

static void print_name(const struct vocabulary *v, int64_t id, struct buf *out)
{
    size_t n = 0;
    const char *bytes = vocabulary_bytes(v, (uint32_t)id, &n);
    js_quote(out, bytes, n);
}

static void print_template(const struct vocabulary *v, const struct template *t, struct buf *out)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < t->count; i++) {
        const struct template_part *p = &t->parts[i];
        buf_adds(out, i ? ", " : "");
        if (p->id >= 0) {
            buf_adds(out, "{\"SpecialToken\": {\"id\": ");
            print_name(v, p->id, out);
        } else {
            buf_addf(out, "{\"Sequence\": {\"id\": \"%c\"", p->id == TEMPLATE_A ? 'A' : 'B');
        }
        buf_addf(out, ", \"type_id\": %u}}", p->type);
    }
    buf_addc(out, ']');
}

static void print_template_tokens(const struct vocabulary *v, struct buf *out)
{
    int printed = 0;
    for (size_t i = 0; i < v->pair.count; i++) {
        int64_t id = v->pair.parts[i].id;
        int before = id < 0;
        for (size_t k = 0; k < i; k++)
            before |= v->pair.parts[k].id == id;
        if (before)
            continue;
        buf_adds(out, printed++ ? ", " : "");
        print_name(v, id, out);
        buf_adds(out, ": {\"id\": ");
        print_name(v, id, out);
        buf_addf(out, ", \"ids\": [%u], \"tokens\": [", (uint32_t)id);
        print_name(v, id, out);
        buf_adds(out, "]}");
    }
}

void wordpiece_json_print(const struct vocabulary *v, struct buf *out)
{
    buf_addf(out,
             "  \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": %s, "
             "\"handle_chinese_chars\": %s, \"strip_accents\": %s, \"lowercase\": %s},\n",
             truth(v->rules.clean_text), truth(v->rules.chinese_chars),
             truth(v->rules.strip_accents), truth(v->rules.lowercase));
    buf_adds(out, "  \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},\n"
                  "  \"post_processor\": {\"type\": \"TemplateProcessing\",\n    \"single\": ");
    print_template(v, &v->single, out);
    buf_adds(out, ",\n    \"pair\": ");
    print_template(v, &v->pair, out);
    buf_adds(out, ",\n    \"special_tokens\": {");
    print_template_tokens(v, out);
    buf_addf(out,
             "}},\n  \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"%s\", "
             "\"cleanup\": %s},\n  \"model\": {\n    \"type\": \"WordPiece\", \"unk_token\": ",
             wordpiece_prefix, truth(v->cleanup));
    print_name(v, v->roles[TOKENIZER_UNKNOWN], out);
    buf_addf(out,
             ",\n    \"continuing_subword_prefix\": \"%s\", \"max_input_chars_per_word\": %u,\n"
             "    \"vocab\": {",
             wordpiece_prefix, v->max_chars);
    for (uint32_t id = 0; id < v->count; id++) {
        buf_adds(out, id ? ",\n      " : "\n      ");
        print_name(v, id, out);
        buf_addf(out, ": %u", id);
    }
    buf_adds(out, "\n    }\n  }\n");
}
