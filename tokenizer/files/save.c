/* Writes the vocabulary files of files.h. */
#include <unistd.h>

#include "common/base/base64.h"
#include "common/base/lines.h"
#include "common/base/log.h"
#include "common/files/file.h"
#include "tokenizer/files/encodings.h"
#include "tokenizer/files/files.h"

static void vocab_json_print(const struct vocabulary *v, struct buf *out)
{
    buf_addc(out, '{');
    tokens_print(v, v->count, ", ", out);
    buf_addc(out, '}');
}

static void merges_print(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "#version: 0.2\n");
    for (size_t i = 0; i < v->merge_count; i++) {
        vocabulary_name(v, v->merges[i].left, out);
        buf_addc(out, ' ');
        vocabulary_name(v, v->merges[i].right, out);
        buf_addc(out, '\n');
    }
}

static void role_print(const struct vocabulary *v, const char *role, int64_t id, struct buf *out)
{
    if (id < 0)
        return;
    buf_addf(out, ",\n  \"%s_token\": ", role);
    token_print(v, (uint32_t)id, out);
}

/* Appends how text is cut into BERT's words. */
static void words_print(const struct vocabulary *v, struct buf *out)
{
    buf_addf(out, ",\n  \"do_lower_case\": %s", v->rules.lowercase ? "true" : "false");
    if (v->rules.strip_accents != v->rules.lowercase)
        buf_addf(out, ",\n  \"strip_accents\": %s", v->rules.strip_accents ? "true" : "false");
    if (!v->rules.chinese_chars)
        buf_adds(out, ",\n  \"tokenize_chinese_chars\": false");
}

/* Returns 1 if GPT-2's pattern alone splits text, which is not normalized before, else 0. */
static int splits_as_gpt2(const struct vocabulary *v)
{
    return !v->general && splitter_is_gpt2(&v->splitter);
}

/* Returns 1 if the vocabulary is as Hugging Face's BertTokenizer makes one, else 0. That class adds
 * those of BERT's special tokens that are missing, and puts two of them around each text. */
static int is_bert(const struct vocabulary *v)
{
    return v->model == VOCABULARY_WORDPIECE && !v->general && v->single.count == 3 &&
           v->roles[TOKENIZER_PAD] >= 0 && v->roles[TOKENIZER_MASK] >= 0;
}

/* Appends model_input_names, the inputs that the model takes. Without this key, transformers 4
 * passes segment types to each model: GPT-2 adds embeddings for them, and Llama fails.
 * transformers 5 passes them only if the tokenizer has BERT's class. */
static void inputs_print(const struct vocabulary *v, struct buf *out)
{
    const size_t n = v->pair.count;
    const int own = v->roles[TOKENIZER_SEP] >= 0 && n && v->pair.parts[n - 1].type;
    const int types = v->longest ? v->types > 1 : own;
    buf_addf(out, ",\n  \"model_input_names\": [\"input_ids\", %s\"attention_mask\"]",
             types ? "\"token_type_ids\", " : "");
}

/* Appends the text of tokenizer_config.json to `out`. Hugging Face's GPT2Tokenizer fits only
 * GPT-2's pattern and special tokens; all other vocabularies but BERT's use the class that reads
 * only tokenizer.json. */
static void config_print(const struct vocabulary *v, struct buf *out)
{
    static const char *const roles[TOKENIZER_ROLES] = { "pad", "unk", "cls", "sep", "mask" };
    enum { BERT_LONGEST = 512 }; /* tokens that most models take at a time */
    const int bert = is_bert(v);
    const int gpt2 = splits_as_gpt2(v) && v->end_of_text >= 0 && !v->ignore_merges;
    buf_addf(out, "{\n  \"tokenizer_class\": \"%s\"",
             bert   ? "BertTokenizer"
             : gpt2 ? "GPT2Tokenizer"
                    : "PreTrainedTokenizerFast");
    if (bert) {
        words_print(v, out);
    } else {
        buf_addf(out, ",\n  \"add_prefix_space\": %s", v->prefix_space ? "true" : "false");
        const int64_t unk = vocabulary_find(v, "<unk>", 5); /* RoBERTa's, which no text needs */
        const int special = unk >= 0 && vocabulary_is_special(v, (uint32_t)unk);
        role_print(v, "bos", vocabulary_begin_of_text(v), out);
        role_print(v, "eos", v->end_of_text, out);
        if (v->roles[TOKENIZER_UNKNOWN] < 0)
            role_print(v, "unk", special ? unk : v->end_of_text, out);
    }
    for (int i = 0; i < TOKENIZER_ROLES; i++)
        role_print(v, roles[i], v->roles[i], out);
    if (!bert)
        buf_adds(out, ",\n  \"clean_up_tokenization_spaces\": false");
    inputs_print(v, out);
    if (v->pads_left)
        buf_adds(out, ",\n  \"padding_side\": \"left\"");
    if (bert || v->longest)
        buf_addf(out, ",\n  \"model_max_length\": %lld\n}\n",
                 v->longest ? (long long)v->longest : BERT_LONGEST);
    else /* as transformers says "any" */
        buf_adds(out, ",\n  \"model_max_length\": 1000000000000000019884624838656\n}\n");
}

/* ---- .tiktoken ----------------------------------------------------------------------------- */

static void tiktoken_print(const struct vocabulary *v, struct buf *out)
{
    for (uint32_t id = 0; id < v->count; id++)
        if (v->tokens[id].kind == TOKEN_MODEL) {
            size_t n = 0;
            const char *bytes = vocabulary_bytes(v, id, &n);
            base64_print(out, bytes, n);
            buf_addf(out, " %u\n", id);
        }
}

/* Returns 1 if a file of ranks describes the whole vocabulary, else 0. Parsing the file's `text`
 * must give the same tokens, merges and end-of-text. */
static int tiktoken_says_all(const struct vocabulary *v, const struct buf *text)
{
    SCOPED(vocabulary) again;
    vocabulary_init(&again);
    return splits_as_gpt2(v) && !v->prefix_space && !v->ignore_merges &&
           tiktoken_parse(&again, text->data, text->len, "vocab.tiktoken") == 0 &&
           encoding_add_specials(&again, encoding_named(TOKENIZER_GPT2)) == 0 &&
           again.count == v->count && again.end_of_text == v->end_of_text &&
           again.added_count == v->added_count && again.merge_count == v->merge_count &&
           (!v->merge_count ||
            !memcmp(again.merges, v->merges, v->merge_count * sizeof *v->merges));
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Returns 1 if the vocabulary cuts text in the usual way of its model (GPT-2's for BPE, BERT's for
 * WordPiece), else 0. Readers of vocab.json, merges.txt and vocab.txt assume that, because these
 * files do not say how text is cut. */
static int cuts_as_usual(const struct vocabulary *v, const struct buf *)
{
    return v->model == VOCABULARY_BPE ? splits_as_gpt2(v) : !v->general;
}

/* Returns 1 if vocab.txt can describe the vocabulary, else 0. The line numbers are the ids, so each
 * id must have a token, without a line end in it. */
static int fits_lines(const struct vocabulary *v, const struct buf *text)
{
    struct lines l = LINES_OF(text->data, text->len);
    while (lines_next(&l))
        ;
    return cuts_as_usual(v, text) && vocabulary_hole(v) == v->count && l.number == v->count &&
           !memchr(text->data, '\r', text->len);
}

static const struct file_form {
    const char *name;
    void (*print)(const struct vocabulary *v, struct buf *out);
    int (*fits)(const struct vocabulary *v, const struct buf *text); /* NULL: always */
    unsigned models; /* bit set of the models with this file */
} forms[] = {
    /* written first: it says how the text of the others is split */
    { "tokenizer_config.json", config_print, NULL, ~0u },
    { "vocab.tiktoken", tiktoken_print, tiktoken_says_all, 1 << VOCABULARY_BPE },
    { "vocab.json", vocab_json_print, cuts_as_usual, 1 << VOCABULARY_BPE },
    { "merges.txt", merges_print, cuts_as_usual, 1 << VOCABULARY_BPE },
    { "vocab.txt", vocab_txt_print, fits_lines, 1 << VOCABULARY_WORDPIECE },
    /* written last: if it exists, all files exist */
    { "tokenizer.json", tokenizer_json_print, NULL, ~0u },
};
enum { FORMS = sizeof forms / sizeof *forms };

/* Appends the form's text to `text`. Returns 1, or 0 if the vocabulary does not have this form. */
static int form_print(const struct file_form *form, const struct vocabulary *v, struct buf *text)
{
    if (!(form->models >> v->model & 1))
        return 0;
    form->print(v, text);
    return !form->fits || form->fits(v, text);
}

/* Returns 1 if `is` is what this program writes into the form's file for the vocabulary of the
 * tokenizer.json in `path`, 0 if not, or -1 with an error. */
static int is_of(const struct file_form *form, const char *path, const struct buf *is)
{
    SCOPED(vocabulary) old;
    SCOPED(buf) json = BUF_INIT, was = BUF_INIT;
    vocabulary_init(&old);
    return file_read(path, &json) < 0
               ? -1
               : tokenizer_json_parse(&old, json.data, json.len, path) == 0 &&
                     form_print(form, &old, &was) && is->len == was.len &&
                     !memcmp(is->data, was.data, is->len);
}

/* Returns 1 if the file `path` is what this program writes for the older vocabulary in `dir`, or
 * for one that a killed run was replacing, so it may be removed; 0 if not, or if there is no such
 * file; -1 with an error. */
static int is_old(const struct file_form *form, const char *dir, const char *path)
{
    SCOPED(file_names) jsons = { 0 };
    SCOPED(buf) is = BUF_INIT, json = file_path(dir, "tokenizer.json");
    const int kind = file_look(path), older = file_look(json.data);
    if (kind != FILE_PLAIN || older < 0)
        return kind < 0 || older < 0 ? -1 : 0;
    int result = file_read(path, &is) < 0 ? -1 : file_list_left(&jsons, json.data);
    if (older == FILE_PLAIN)
        file_names_add(&jsons, json.data);
    for (size_t i = 0; i < jsons.count && !result; i++)
        result = is_of(form, jsons.names[i], &is);
    if (!result)
        log_warn("'%s' is no file of this vocabulary; it stays", path);
    return result;
}

/* Returns 1 if the file `path` has this text and no killed run left a temporary file for it, 0 if
 * not, or -1 with an error. */
static int has_text(const char *path, const struct buf *text)
{
    SCOPED(buf) is = BUF_INIT;
    SCOPED(file_names) left = { 0 };
    uint64_t bytes;
    const int kind = file_look(path);
    if (kind != FILE_PLAIN)
        return kind < 0 ? -1 : 0;
    if (file_size(path, &bytes) < 0 || file_list_left(&left, path) < 0)
        return -1;
    if (left.count || bytes != text->len)
        return 0;
    return file_read(path, &is) < 0 ? -1
                                    : is.len == text->len && !memcmp(is.data, text->data, is.len);
}

/* What becomes of a form's file: it stays as it is, changes, is removed, or is not there. */
enum fate { STAYS, CHANGES, GOES, NONE };

/* Appends the form's text, if the vocabulary has this form, and sets *fate. An older vocabulary's
 * file of a form that this one does not have goes. Returns 0, or -1 with an error. */
static int decide(const struct file_form *form, const struct vocabulary *v, const char *dir,
                  struct buf *text, enum fate *fate)
{
    SCOPED(buf) path = file_path(dir, form->name);
    const int written = form_print(form, v, text);
    const int found = written ? has_text(path.data, text) : is_old(form, dir, path.data);
    *fate = written ? (found ? STAYS : CHANGES) : found ? GOES : NONE;
    return found < 0 ? -1 : 0;
}

/* Sets `out` to write the form's text, or with GOES to remove its file. Returns 1, or -1 with an
 * error: then there is nothing to close. */
static int put_form(const struct file_form *form, const struct buf *text, enum fate fate,
                    const char *dir, struct output *out)
{
    SCOPED(buf) path = file_path(dir, form->name);
    if (fate == GOES)
        output_remove(out, path.data);
    else if (output_open(out, path.data) < 0)
        return -1;
    else if (output_write(out, text->data, text->len) < 0) {
        output_abandon(out);
        return -1;
    }
    return 1;
}

int vocabulary_save(const struct vocabulary *v, const char *dir)
{
    struct output outs[FORMS];
    struct buf texts[FORMS];
    enum fate fates[FORMS];
    int made, result = file_mkdirs_count(dir, &made), last = FORMS - 1, changes = 0;
    size_t count = 0;
    for (int i = 0; i < FORMS; i++)
        buf_init(&texts[i]);
    for (int i = 0; i < FORMS && !result; i++) {
        result = decide(&forms[i], v, dir, &texts[i], &fates[i]);
        if (fates[i] == CHANGES || fates[i] == GOES) {
            last = i;
            changes += fates[i]; /* a removal needs a file that is written */
        }
    }
    /* While a set is replaced, it is not there, and a training may read the vocabulary from the
     * same folder. So a file that alone changes is replaced alone. */
    for (int i = changes > 1 ? 0 : last; i < FORMS && result >= 0; i++) {
        if (fates[i] != NONE && (changes > 1 || i == last))
            result = put_form(&forms[i], &texts[i], fates[i], dir, &outs[count]);
        count += result > 0;
        result = result < 0 ? -1 : 0;
    }
    result = output_end_all(outs, count, result);
    for (int i = 0; i < FORMS; i++)
        buf_release(&texts[i]);
    if (result < 0)
        file_rmdirs(dir, made);
    return result;
}
