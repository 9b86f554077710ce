/* The writing side of files.h, except tokenizer.json. */
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "tokenizer/files.h"

static void vocab_json_print(const struct vocabulary *v, struct buf *out)
{
    buf_addc(out, '{');
    for (uint32_t id = 0; id < v->count; id++) {
        buf_adds(out, id ? ", " : "");
        token_print(v, id, out);
        buf_addf(out, ": %u", id);
    }
    buf_addc(out, '}');
}

static void name_print(const struct vocabulary *v, uint32_t id, struct buf *out)
{
    size_t n = 0;
    const char *bytes = vocabulary_bytes(v, id, &n);
    alphabet_encode(out, bytes, n);
}

static void merges_print(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "#version: 0.2\n");
    for (size_t i = 0; i < v->merge_count; i++) {
        name_print(v, v->merges[i].left, out);
        buf_addc(out, ' ');
        name_print(v, v->merges[i].right, out);
        buf_addc(out, '\n');
    }
}

/* Hugging Face's GPT2Tokenizer is this pattern with these special tokens; whatever else goes by
 * tokenizer.json alone. */
static void config_print(const struct vocabulary *v, struct buf *out)
{
    int gpt2 = splitter_is_gpt2(&v->splitter) && v->end_of_text >= 0 && !v->ignore_merges;
    buf_addf(out, "{\n  \"tokenizer_class\": \"%s\",\n  \"add_prefix_space\": %s",
             gpt2 ? "GPT2Tokenizer" : "PreTrainedTokenizerFast",
             v->prefix_space ? "true" : "false");
    static const char *const roles[] = { "bos_token", "eos_token", "unk_token" };
    for (size_t i = 0; i < 3 && v->end_of_text >= 0; i++) {
        buf_addf(out, ",\n  \"%s\": ", roles[i]);
        token_print(v, (uint32_t)v->end_of_text, out);
    }
    buf_adds(out, ",\n  \"clean_up_tokenization_spaces\": false,\n"
                  "  \"model_max_length\": 1000000000000000019884624838656\n}\n");
}

/* ---- .tiktoken ----------------------------------------------------------------------------- */

static void base64_print(struct buf *out, const char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = (unsigned)p[i] << 16;
        bits |= i + 1 < n ? (unsigned)p[i + 1] << 8 : 0;
        bits |= i + 2 < n ? p[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            buf_addc(out, i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63]);
    }
}

static void tiktoken_print(const struct vocabulary *v, struct buf *out)
{
    for (uint32_t id = 0; id < v->count; id++) {
        if (v->tokens[id].kind != TOKEN_MODEL)
            continue;
        size_t n = 0;
        const char *bytes = vocabulary_bytes(v, id, &n);
        base64_print(out, bytes, n);
        buf_addf(out, " %u\n", id);
    }
}

/* Ranks alone say the same when reading the text gives the same tokens, merges and end-of-text. */
static int tiktoken_says_all(const struct vocabulary *v, const struct buf *text)
{
    struct vocabulary again;
    vocabulary_init(&again);
    int same = splitter_is_gpt2(&v->splitter) && !v->prefix_space && !v->ignore_merges &&
               tiktoken_parse(&again, text->data, text->len, "vocab.tiktoken") == 0 &&
               again.count == v->count && again.end_of_text == v->end_of_text &&
               again.added_count == v->added_count && again.merge_count == v->merge_count &&
               (!v->merge_count ||
                !memcmp(again.merges, v->merges, v->merge_count * sizeof *v->merges));
    vocabulary_release(&again);
    return same;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int write_file(const char *dir, const char *name, const struct buf *text)
{
    struct buf path = BUF_INIT;
    file_join(&path, dir, name);
    int result = file_write(path.data, text->data, text->len);
    buf_release(&path);
    return result;
}

int vocabulary_save(const struct vocabulary *v, const char *dir)
{
    static const struct {
        const char *name;
        void (*print)(const struct vocabulary *v, struct buf *out);
    } forms[] = {
        { "vocab.json", vocab_json_print },
        { "merges.txt", merges_print },
        { "tokenizer_config.json", config_print },
        { "tokenizer.json", tokenizer_json_print }, /* last: a folder that has it is complete */
    };
    struct buf text = BUF_INIT;
    int result = file_mkdirs(dir);
    if (!result) {
        tiktoken_print(v, &text);
        if (tiktoken_says_all(v, &text))
            result = write_file(dir, "vocab.tiktoken", &text);
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !result; i++) {
        buf_clear(&text);
        forms[i].print(v, &text);
        result = write_file(dir, forms[i].name, &text);
    }
    buf_release(&text);
    return result;
}
