#include "generate/export_command.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/gguf.h"
#include "common/js.h"
#include "common/log.h"
#include "common/mem.h"
#include "model/gguf_export.h"
#include "model/stored.h"
#include "tokenizer/tokenizer.h"

struct exporting {
    const char *model_dir, *vocab, *output;
    int format, weights;
    struct tokenizer *tokenizer;
};

enum { GGUF, MAPPED }; /* values of --format */

static const struct exporting defaults = { 0 };

/* ---- the pre-tokenizer --------------------------------------------------------------------- */

/* Patterns of tokenizer.json that llama.cpp knows by name. */
static const struct {
    const char *pattern, *name;
} known[] = {
    { "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      "llama-bpe" },
    { "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      "qwen2" },
    { 0 },
};

static int is_gpt2(const struct js *step)
{
    return js_text_is(js_get(step, "type"), "ByteLevel") && js_flag(step, "use_regex", 1) &&
           !js_flag(step, "add_prefix_space", 1);
}

static const char *name_of_steps(const struct js *steps)
{
    const struct js *first = js_at(steps, 0), *last = js_at(steps, js_count(steps) - 1);
    const struct js *pattern = js_get(js_get(first, "pattern"), "Regex");
    if (js_count(steps) != 2 || !js_text_is(js_get(last, "type"), "ByteLevel"))
        return NULL;
    if (js_text_is(js_get(first, "type"), "Digits") && js_flag(first, "individual_digits", 0) &&
        is_gpt2(last))
        return "smollm";
    for (int i = 0; known[i].name; i++)
        if (js_text_is(js_get(first, "type"), "Split") && js_text_is(pattern, known[i].pattern))
            return known[i].name;
    return NULL;
}

static const char *name_of(const struct js *root)
{
    const struct js *pre = js_get(root, "pre_tokenizer");
    if (is_gpt2(pre))
        return "gpt-2";
    return js_text_is(js_get(pre, "type"), "Sequence") ? name_of_steps(js_get(pre, "pretokenizers"))
                                                       : NULL;
}

/* ---- the vocabulary ------------------------------------------------------------------------ */

enum { NORMAL = 1, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 }; /* llama.cpp's token types */

/* The texts and token types of the ids below `size`. Type 0 means an unused id. */
struct tokens {
    struct {
        const char *text;
        size_t n;
        uint32_t kind;
    } * items;
    int64_t size;
};

static int put_token(struct tokens *t, int64_t id, const char *text, size_t n, uint32_t kind)
{
    if (id < 0 || id >= t->size)
        return err_set("token '%s' has id %lld, but the model has only %lld", text, (long long)id,
                       (long long)t->size);
    t->items[id].text = text;
    t->items[id].n = n;
    t->items[id].kind = kind;
    return 0;
}

static int find_tokens(struct tokens *t, const struct js *root)
{
    const struct js *words = js_get(js_get(root, "model"), "vocab"),
                    *added = js_get(root, "added_tokens");
    int64_t id = -1;
    size_t n;
    for (void *it = js_first(words); it; it = js_next(words, it)) {
        const char *text = js_key(it, &n);
        if (js_int(js_value(it), &id) < 0 || put_token(t, id, text, n, NORMAL) < 0)
            return -1;
    }
    for (size_t i = 0; i < js_count(added); i++) {
        const struct js *one = js_at(added, i);
        const char *text = js_text(js_get(one, "content"), &n);
        uint32_t kind = js_flag(one, "special", 0) ? CONTROL : USER_DEFINED;
        if (js_int(js_get(one, "id"), &id) < 0 || put_token(t, id, text, n, kind) < 0)
            return -1;
    }
    return 0;
}

static void add_tokens(struct gguf_writer *w, const struct tokens *t)
{
    struct buf texts = BUF_INIT, kinds = BUF_INIT, hole = BUF_INIT;
    for (int64_t id = 0; id < t->size; id++) {
        buf_clear(&hole);
        buf_addf(&hole, "[PAD%lld]", (long long)id);
        int used = t->items[id].kind != 0;
        gguf_put_text(&texts, used ? t->items[id].text : hole.data,
                      used ? t->items[id].n : hole.len);
        gguf_put_u32(&kinds, used ? t->items[id].kind : UNUSED);
    }
    gguf_add_list(w, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)t->size, &texts);
    gguf_add_list(w, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)t->size, &kinds);
    buf_release(&texts);
    buf_release(&kinds);
    buf_release(&hole);
}

/* Adds the merges in the form "a b". The file has them in this form or as ["a", "b"]. */
static void add_merges(struct gguf_writer *w, const struct js *merges)
{
    struct buf texts = BUF_INIT, one = BUF_INIT;
    for (size_t i = 0; i < js_count(merges); i++) {
        const struct js *m = js_at(merges, i);
        size_t n = 0;
        const char *text = js_text(m, &n);
        buf_clear(&one);
        if (text)
            buf_add(&one, text, n);
        for (size_t side = 0; side < 2 && !text; side++) {
            const char *part = js_text(js_at(m, side), &n);
            if (side)
                buf_addc(&one, ' ');
            buf_add(&one, part, n);
        }
        gguf_put_text(&texts, one.data, one.len);
    }
    gguf_add_list(w, "tokenizer.ggml.merges", GGUF_TEXT, js_count(merges), &texts);
    buf_release(&texts);
    buf_release(&one);
}

static void add_ids(struct gguf_writer *w, const struct tokenizer *t)
{
    struct ids begin = { 0 };
    int64_t end = tokenizer_end_of_text(t);
    tokenizer_begin_text(t, &begin);
    if (begin.count == 1 || end >= 0)
        gguf_add_u32(w, "tokenizer.ggml.bos_token_id",
                     begin.count == 1 ? begin.data[0] : (uint32_t)end);
    if (end >= 0)
        gguf_add_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)end);
    gguf_add_bool(w, "tokenizer.ggml.add_bos_token", begin.count == 1);
    ids_release(&begin);
}

static int add_vocabulary(struct gguf_writer *w, const struct js *root, int64_t vocabulary)
{
    const struct js *model = js_get(root, "model");
    const char *name = name_of(root);
    struct tokens t = { mem_zalloc((size_t)vocabulary, sizeof *t.items), vocabulary };
    int failed = find_tokens(&t, root);
    if (!failed) {
        gguf_add_text(w, "tokenizer.ggml.model", "gpt2", strlen("gpt2"));
        gguf_add_text(w, "tokenizer.ggml.pre", name ? name : "default",
                      strlen(name ? name : "default"));
        add_tokens(w, &t);
        add_merges(w, js_get(model, "merges"));
    }
    if (!failed && !name)
        log_warn("llama.cpp has no name for how this vocabulary cuts a text: it will cut as "
                 "'default', which may give other tokens");
    free(t.items);
    return failed;
}

/* Adds the vocabulary for llama.cpp, and the whole tokenizer.json, which textmill itself reads. */
static int add_tokenizer(void *ctx, struct gguf_writer *w, int64_t vocabulary)
{
    const struct exporting *e = ctx;
    struct buf text = BUF_INIT;
    tokenizer_print(e->tokenizer, &text);
    struct js *root = js_parse(text.data, text.len, "tokenizer.json");
    const struct js *model = js_get(root, "model");
    int bytes = js_text_is(js_get(model, "type"), "BPE") && !js_flag(model, "byte_fallback", 0);
    int failed = !root ? -1 : bytes ? add_vocabulary(w, root, vocabulary) : 0;
    if (!failed && !bytes)
        log_warn("only textmill will read this vocabulary: GGUF files have byte-level BPE here");
    add_ids(w, e->tokenizer);
    gguf_add_text(w, "tokenizer.huggingface.json", text.data, text.len);
    js_free(root);
    buf_release(&text);
    return failed;
}

/* ---- the command --------------------------------------------------------------------------- */

static int run(int argc, char **argv, void *options_given)
{
    (void)argc, (void)argv;
    struct exporting *e = options_given;
    if (!e->model_dir)
        return err_usage("no model: give --model DIR");
    if (!e->output)
        return err_usage("no output: give --output FILE");
    if (!gguf_is(e->output))
        return err_usage("--output '%s' must end in .gguf", e->output);
    if (tool_may_replace(e->output, NULL, "model") < 0)
        return -1;
    e->tokenizer = tokenizer_load(e->vocab ? e->vocab : e->model_dir);
    const struct gguf_export how = { stored_type(e->weights), e->format == MAPPED,
                                     (int)tool_threads, add_tokenizer, e };
    int result = e->tokenizer ? gguf_export(e->model_dir, e->output, &how) : -1;
    tokenizer_free(e->tokenizer);
    return result;
}

#define AT(member) offsetof(struct exporting, member)

static const struct opt options[] = {
    { 'm', "model", OPT_TEXT, AT(model_dir), "DIR", "model folder", 0, 0 },
    { 0, "vocab", OPT_TEXT, AT(vocab), "PATH", "tokenizer, if it is not in the model folder", 0,
      0 },
    { 'o', "output", OPT_TEXT, AT(output), "FILE", "file to write, NAME.gguf", 0, 0 },
    { 0, "format", OPT_CHOICE, AT(format), "gguf|mapped",
      "form of the file: for all programs, or for textmill alone, which uses it as it is", 0, 0 },
    { 0, "weights", OPT_CHOICE, AT(weights), STORED_WORDS, "type of the weights in the file", 0,
      0 },
    { 0 },
};

const struct tool_command export_command = {
    .name = "export",
    .args = "",
    .summary = "Write a model and its tokenizer as a GGUF file, which llama.cpp reads.",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .common = TOOL_THREADS | TOOL_FORCE,
    .run = run,
};
