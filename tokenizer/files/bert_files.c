/* The part of files.h for BERT: vocab.txt, and WordPiece in tokenizer.json. */

#include "common/base/lines.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/wordpiece.h"
#include "unicode/forms.h"
#include "unicode/letter_case.h"

const char *const bert_role_names[TOKENIZER_ROLES] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                       "[MASK]" };

enum { HF_MAX_CHARS = 100 };

/* ---- roles ----------------------------------------------------------------------------------- */

int bert_roles(struct vocabulary *v)
{
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        if (v->roles[i] < 0)
            v->roles[i] = vocabulary_find(v, bert_role_names[i], strlen(bert_role_names[i]));
    return v->roles[TOKENIZER_UNKNOWN] >= 0
               ? 0
               : err_set("no token '%s'", bert_role_names[TOKENIZER_UNKNOWN]);
}

/* ---- vocab.txt ------------------------------------------------------------------------------- */

int bert_is_role(const char *token, size_t n)
{
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        if (bytes_are(token, n, bert_role_names[i]))
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

/* Returns 1 if c is changed when accents are removed: it is or has an accent or a sign, else 0. */
static int has_sign(unsigned c)
{
    uint32_t parts[FORMS_PARTS_MAX];
    return unicode_is(c, UNICODE_IS_NON_SPACING) || forms_decompose(parts, c, 0) > 1;
}

void wordpiece_infer(struct vocabulary *v)
{
    uint32_t capitals = 0, signs = 0; /* tokens that have one */
    int latin = 0;
    for (uint32_t id = 0; id < v->count; id++) {
        size_t n = 0;
        const char *token = vocabulary_bytes(v, id, &n);
        const int named = n > 1 && token[0] == '[' && token[n - 1] == ']';
        int capital = 0, sign = 0;
        unsigned c;
        for (size_t i = 0; i < n && !named;) {
            i += utf8_read(token + i, n - i, &c);
            latin |= c >= 'A' && c <= 'Z';
            capital |= letter_case_lower(c) != c;
            sign |= has_sign(c);
        }
        capitals += (uint32_t)capital;
        signs += (uint32_t)sign;
    }
    wordpiece_frame(v, latin || capitals > v->count / 100);
    v->rules.strip_accents &= signs <= v->count / 100;
}

int vocab_txt_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    struct lines l = LINES_OF(text, n);
    while (lines_next_text(&l)) {
        int64_t id = (int64_t)l.number - 1;
        if (!l.len)
            return err_set("%s: line %" PRIu64 " is empty: each line is a token", name, l.number);
        if (utf8_valid(l.line, l.len) < l.len)
            return err_set("%s: line %" PRIu64 " is not UTF-8", name, l.number);
        if ((bert_is_role(l.line, l.len) ? vocabulary_put_special(v, id, l.line, l.len, 1)
                                         : vocabulary_put(v, id, l.line, l.len, TOKEN_MODEL)) < 0)
            return err_in("%s: line %" PRIu64, name, l.number);
    }
    wordpiece_infer(v);
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

/* ---- tokenizer.json -------------------------------------------------------------------------- */

int wordpiece_json_read(struct vocabulary *v, const struct js *root)
{
    const struct js *model = js_get(root, "model"), *prefix;
    size_t n = 0;
    int64_t max_chars = HF_MAX_CHARS;
    const char *unknown = js_text(js_get(model, "unk_token"), &n);
    prefix = js_get(model, "continuing_subword_prefix");
    if (prefix && !js_text_is(prefix, wordpiece_prefix))
        return err_set("model.continuing_subword_prefix is not '%s'", wordpiece_prefix);
    if (js_get(model, "max_input_chars_per_word") &&
        (js_int(js_get(model, "max_input_chars_per_word"), &max_chars) < 0 || max_chars < 0 ||
         max_chars > UINT32_MAX))
        return err_set("model.max_input_chars_per_word is not a valid number of characters");
    v->max_chars = (uint32_t)max_chars;
    v->roles[TOKENIZER_UNKNOWN] = unknown ? vocabulary_find(v, unknown, n) : -1;
    if (unknown && v->roles[TOKENIZER_UNKNOWN] < 0)
        return err_set("model.unk_token '%s' is not a token", unknown);
    return bert_roles(v);
}

void wordpiece_json_print_model(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "    \"type\": \"WordPiece\", \"unk_token\": ");
    token_print(v, (uint32_t)v->roles[TOKENIZER_UNKNOWN], out);
    buf_addf(out, ",\n    \"continuing_subword_prefix\": \"%s\", \"max_input_chars_per_word\": %u",
             v->prefix, v->max_chars);
}
