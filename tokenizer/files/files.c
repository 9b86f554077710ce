#define _GNU_SOURCE /* memmem */
#include "tokenizer/files/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/err.h"
#include "common/file.h"
#include "common/gguf.h"
#include "common/js.h"
#include "common/lines.h"
#include "common/mem.h"
#include "tokenizer/model/alphabet.h"

const char end_of_text_name[] = "<|endoftext|>";

/* ---- merges.txt ---------------------------------------------------------------------------- */

/* Returns the id of the token that files call name[0..n), and appends the token's bytes to `bytes`.
 * Returns -1 with an error if there is no such token. */
static int64_t find_named(const struct vocabulary *v, const char *name, size_t n, struct buf *bytes)
{
    size_t before = bytes->len;
    int64_t id = -1;
    if (!v->byte_level)
        buf_add(bytes, name, n);
    if (!v->byte_level || alphabet_decode(bytes, name, n) == 0)
        id = vocabulary_find(v, bytes->data + before, bytes->len - before);
    return id >= 0 ? id : err_set("'%.*s' is not a token of the vocabulary", (int)n, name);
}

int merge_left(const struct vocabulary *v, struct named_merge *m, const char *name, size_t n)
{
    buf_clear(&m->bytes);
    m->left = find_named(v, name, n, &m->bytes);
    return m->left < 0 ? -1 : 0;
}

int merge_right(struct vocabulary *v, struct named_merge *m, const char *name, size_t n)
{
    size_t middle = m->bytes.len, prefix = strlen(v->prefix);
    int64_t right = find_named(v, name, n, &m->bytes);
    if (right < 0)
        return -1;
    char *behind = m->bytes.data + middle; /* bytes of the right token; drop its prefix */
    size_t len = m->bytes.len - middle, skip = prefix < len ? prefix : len;
    memmove(behind, behind + skip, len - skip);
    int64_t id = vocabulary_find(v, m->bytes.data, m->bytes.len - skip);
    if (id < 0) {
        buf_clear(&m->bytes);
        vocabulary_name(v, (uint32_t)m->left, &m->bytes);
        return err_set("the merge of '%s' and '%.*s' is not a token of the vocabulary",
                       m->bytes.data, (int)n, name);
    }
    vocabulary_merge(v, (uint32_t)m->left, (uint32_t)right, (uint32_t)id);
    return 0;
}

int merges_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    struct named_merge m = { .bytes = BUF_INIT };
    struct lines l = LINES_OF(text, n);
    int result = 0;
    while (!result && lines_next_text(&l)) {
        const char *line = l.line;
        const size_t len = l.len;
        if (!len || (l.number == 1 && len >= 8 && !memcmp(line, "#version", 8)))
            continue;
        const char *space = memchr(line, ' ', len);
        size_t left = space ? (size_t)(space - line) : 0;
        if (!left || left + 1 == len || memchr(space + 1, ' ', len - left - 1))
            result = err_set("%s: line %" PRIu64 " is not a merge of two tokens", name, l.number);
        else if (merge_left(v, &m, line, left) < 0 ||
                 merge_right(v, &m, space + 1, len - left - 1) < 0)
            result = err_in("%s: line %" PRIu64, name, l.number);
    }
    buf_release(&m.bytes);
    return result;
}

/* ---- .tiktoken ----------------------------------------------------------------------------- */

static int put_rank(struct vocabulary *v, const char *line, size_t len, struct buf *bytes)
{
    const char *space = memchr(line, ' ', len);
    size_t digits = space ? len - (size_t)(space - line) - 1 : 0;
    int64_t rank = 0;
    buf_clear(bytes);
    if (!space || base64_decode(bytes, line, (size_t)(space - line)) < 0)
        return err_set("bad base64");
    if (!digits || digits > 9)
        return err_set("no rank");
    for (size_t i = 0; i < digits; i++) {
        if (space[1 + i] < '0' || space[1 + i] > '9')
            return err_set("no rank");
        rank = 10 * rank + (space[1 + i] - '0');
    }
    return vocabulary_put(v, rank, bytes->data, bytes->len, TOKEN_MODEL);
}

/* Rejects well-known files of ranks that were made with another pattern, because the files do not
 * name it. Returns 0, or -1 with an error. */
static int check_foreign(const struct vocabulary *v)
{
    static const struct {
        uint32_t count;
        const char *name;
    } known[] = { { 100256, "cl100k_base" }, { 199998, "o200k_base" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (v->count == known[i].count)
            return err_set("%s splits text by another pattern than GPT-2's: name it with "
                           "--pattern, or load its tokenizer.json",
                           known[i].name);
    return 0;
}

/* The patterns and special tokens of encodings, which files of ranks do not contain. */
static const struct encoding {
    enum tokenizer_pattern pattern;
    const char *text; /* the pattern */
    struct {
        const char *name;
        uint32_t id;
    } special[5];
} encodings[] = {
    { TOKENIZER_CL100K,
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      { { "<|endoftext|>", 100257 },
        { "<|fim_prefix|>", 100258 },
        { "<|fim_middle|>", 100259 },
        { "<|fim_suffix|>", 100260 },
        { "<|endofprompt|>", 100276 } } },
    { TOKENIZER_O200K,
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
      "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
      "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      { { "<|endoftext|>", 199999 }, { "<|endofprompt|>", 200018 } } },
    { TOKENIZER_QWEN,
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      { { "<|endoftext|>", 151643 }, { "<|im_start|>", 151644 }, { "<|im_end|>", 151645 } } },
};

static int put_special(struct vocabulary *v, uint32_t id, const char *name)
{
    if (vocabulary_put(v, id, name, strlen(name), TOKEN_ADDED) < 0)
        return -1;
    v->tokens[id].in_model = 0;
    vocabulary_add(v, &(struct added_token){ .id = id, .special = 1 });
    return 0;
}

/* Adds the special tokens of an encoding. Unused ids before them get placeholder names, because
 * every id must have a token. Returns 0, or -1 with an error. */
static int put_specials(struct vocabulary *v, const struct encoding *e)
{
    char name[32];
    for (size_t i = 0; i < 5 && e->special[i].name; i++) {
        while (v->count < e->special[i].id) {
            snprintf(name, sizeof name, "<|unused_%u|>", v->count);
            if (put_special(v, v->count, name) < 0)
                return -1;
        }
        if (put_special(v, e->special[i].id, e->special[i].name) < 0)
            return -1;
    }
    v->end_of_text = e->special[0].id;
    return 0;
}

static const struct encoding *find_encoding(enum tokenizer_pattern pattern)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        if (encodings[i].pattern == pattern)
            return &encodings[i];
    return NULL;
}

static int put_end_of_text(struct vocabulary *v)
{
    uint32_t id = vocabulary_hole(v);
    if (vocabulary_put(v, id, end_of_text_name, strlen(end_of_text_name), TOKEN_ADDED) < 0)
        return -1;
    vocabulary_add(v, &(struct added_token){ .id = id, .special = 1 });
    v->end_of_text = id;
    return 0;
}

/* Makes `v` the 256 bytes, in order, and end-of-text; text is cut as GPT-2 does. Returns 0, or -1
 * with an error. */
static int put_bytes(struct vocabulary *v)
{
    int result = 0;
    for (int b = 0; b < 256 && !result; b++)
        result = vocabulary_put(v, b, (char[]){ (char)b }, 1, TOKEN_MODEL);
    return result < 0 || put_end_of_text(v) < 0 ? -1
                                                : splitter_add(&v->splitter, SPLIT_GPT2, NULL, 0);
}

static int read_ranks(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    struct buf bytes = BUF_INIT;
    struct lines l = LINES_OF(text, n);
    int result = 0;
    while (!result && lines_next_text(&l))
        if (l.len && put_rank(v, l.line, l.len, &bytes) < 0)
            result = err_in("%s: line %" PRIu64, name, l.number);
    buf_release(&bytes);
    if (!result && !v->count)
        result = err_set("%s: no tokens", name);
    return result;
}

int tiktoken_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    if (read_ranks(v, text, n, name) < 0)
        return -1;
    if (check_foreign(v) < 0 || put_end_of_text(v) < 0 || vocabulary_check_full(v) < 0 ||
        vocabulary_derive_merges(v) < 0)
        return err_in("%s", name);
    return 0;
}

/* Parses a file of ranks with the given pattern and its special tokens. Returns 0, or -1 with an
 * error. */
static int parse_ranks_as(struct vocabulary *v, const char *text, size_t n, const char *name,
                          enum tokenizer_pattern pattern)
{
    const struct encoding *e = find_encoding(pattern);
    if (!e) {
        if (tiktoken_parse(v, text, n, name) < 0)
            return -1;
        return splitter_add(&v->splitter, SPLIT_GPT2, NULL, 0);
    }
    if (read_ranks(v, text, n, name) < 0)
        return -1;
    if (vocabulary_check_full(v) < 0 || vocabulary_derive_merges(v) < 0 || put_specials(v, e) < 0)
        return err_in("%s", name);
    return splitter_add(&v->splitter, SPLIT_PATTERN, e->text, strlen(e->text));
}

/* ---- recognising the format ---------------------------------------------------------------- */

typedef int reader(const char *path, struct buf *out);

static int read_text(reader *read, const char *path, struct buf *text)
{
    buf_clear(text);
    return read(path, text) < 0 ? -1 : file_check_pointer(path, text->data, text->len);
}

/* Loads vocab.json from `path`, and the merges.txt that belongs to it. Returns 0, or -1 with an
 * error. */
static int load_pair(struct vocabulary *v, const char *path, struct buf *text)
{
    struct buf merges = BUF_INIT;
    buf_add(&merges, path, strlen(path) - strlen("vocab.json"));
    buf_adds(&merges, "merges.txt");
    enum file_kind kind;
    int result = -1, looked = file_look(merges.data, &kind);
    if (!looked && !kind)
        err_set("'%s' has no '%s' beside it", path, merges.data);
    else if (!looked && read_text(file_read, path, text) == 0 &&
             vocab_json_parse(v, text->data, text->len, path) == 0 &&
             read_text(file_read, merges.data, text) == 0)
        result = merges_parse(v, text->data, text->len, merges.data);
    buf_release(&merges);
    return result < 0 ? -1 : splitter_add(&v->splitter, SPLIT_GPT2, NULL, 0);
}

/* Returns 1 if some line is "[UNK]", as in every vocabulary of BERT, else 0. */
static int is_vocab_txt(const struct buf *text)
{
    static const char line[] = "\n[UNK]";
    const char *at = text->data, *end = text->data + text->len;
    if (text->len >= 5 && !memcmp(at, line + 1, 5) && (text->len == 5 || strchr("\r\n", at[5])))
        return 1;
    while ((at = memmem(at, (size_t)(end - at), line, 6)) && (at += 6) != end)
        if (*at == '\n' || *at == '\r')
            return 1;
    return at == end;
}

static int load_gguf(struct vocabulary *v, const char *path)
{
    struct gguf g;
    if (gguf_open(&g, path) < 0)
        return -1;
    int failed = gguf_vocabulary_read(v, &g);
    gguf_close(&g);
    return failed;
}

/* Loads a file with the function `read`, which depends on whether the user named the file or it was
 * found in a folder. Returns 0, or -1 with an error. */
static int load_file(struct vocabulary *v, const char *path, const struct tokenizer_options *o,
                     reader *read, struct buf *text)
{
    if (o->pattern && !file_ends_with(path, ".tiktoken"))
        return err_set("'%s' says itself how text is split: --pattern is for .tiktoken files",
                       path);
    if (file_ends_with(path, "vocab.json"))
        return load_pair(v, path, text);
    if (gguf_is(path))
        return load_gguf(v, path);
    if (read_text(read, path, text) < 0)
        return -1;
    if (file_ends_with(path, ".json"))
        return tokenizer_json_parse(v, text->data, text->len, path);
    if (file_ends_with(path, ".tiktoken"))
        return parse_ranks_as(v, text->data, text->len, path, o->pattern);
    if (file_ends_with(path, ".model"))
        return sentencepiece_parse(v, text->data, text->len, path);
    if (is_vocab_txt(text))
        return vocab_txt_parse(v, text->data, text->len, path);
    return err_set(
        "'%s' is not a vocabulary: give a tokenizer.json, a vocab.json with its "
        "merges.txt, a .tiktoken file, a .model of SentencePiece, a vocab.txt with a line [UNK], or a folder with "
        "one of them",
        path);
}

/* Sets `path` to the only file in `dir` whose name ends in `suffix`. Returns 1, 0 if there is none,
 * or -1 with an error, also if there are several. */
static int find_one(struct buf *path, const char *dir, const char *suffix)
{
    struct file_names names = { 0 };
    if (file_list(&names, dir, suffix) < 0)
        return -1;
    int found = names.count > 0;
    if (names.count > 1)
        found = err_set("'%s' has several vocabularies: '%s' and '%s'", dir, names.names[0],
                        names.names[1]);
    else if (found)
        file_join(path, dir, names.names[0]);
    file_names_free(&names);
    return found;
}

static int find_in_folder(struct buf *path, const char *dir)
{
    static const char *const names[] = { "tokenizer.json", "vocab.json", "vocab.txt" };
    static const char *const suffixes[] = { "tokenizer.json", "vocab.json", ".tiktoken", ".model",
                                            "vocab.txt" };
    enum file_kind kind;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        file_join(path, dir, names[i]);
        if (file_look(path->data, &kind) < 0)
            return -1;
        if (kind)
            return 0;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        int found = find_one(path, dir, suffixes[i]);
        if (found)
            return found < 0 ? -1 : 0;
    }
    return err_set("'%s' has no vocabulary: neither tokenizer.json nor vocab.json, a .tiktoken "
                   "file or vocab.txt",
                   dir);
}

/* Reads tokenizer_config.json in the folder `dir`, if it exists: it may name another end-of-text
 * token. If the vocabulary comes from a vocab.txt (from_txt 1), it also says whether text becomes
 * lower case. Returns 0, or -1 with an error. */
static int load_config(struct vocabulary *v, const char *dir, int from_txt)
{
    struct buf path = BUF_INIT;
    struct js *root = NULL;
    enum file_kind kind;
    file_join(&path, dir, "tokenizer_config.json");
    int result = file_look(path.data, &kind);
    if (!result && kind) {
        root = js_load(path.data);
        const struct js *eos = js_get(root, "eos_token");
        size_t n;
        const char *name = js_text(js_is_object(eos) ? js_get(eos, "content") : eos, &n);
        int64_t id = name ? vocabulary_find(v, name, n) : -1;
        if (!root)
            result = -1;
        else if (name && id < 0)
            result = err_set("%s: eos_token '%s' is not a token of the vocabulary", path.data,
                             name);
        else if (name)
            v->end_of_text = id;
        int lowercase;
        if (from_txt && js_bool(js_get(root, "do_lower_case"), &lowercase) == 0)
            v->rules.lowercase = v->rules.strip_accents = lowercase;
    }
    js_free(root);
    buf_release(&path);
    return result;
}

/* Changes the rules of v as the options ask. In Google's reference, strip_accents equals lowercase,
 * and words may be longer. Returns 0, or -1 with an error if v is not a WordPiece vocabulary. */
static int apply_options(struct vocabulary *v, const struct tokenizer_options *o, const char *path)
{
    enum { GOOGLE_MAX_CHARS = 200 };
    if (!o->google_rules && o->letters == TOKENIZER_CASE_AUTO)
        return 0;
    if (v->model != VOCABULARY_WORDPIECE)
        return err_set("'%s' is not a WordPiece vocabulary: --%s is for those only", path,
                       o->google_rules ? "rules" : "case");
    if (o->letters != TOKENIZER_CASE_AUTO)
        v->rules.lowercase = v->rules.strip_accents = o->letters == TOKENIZER_UNCASED;
    if (o->google_rules) {
        v->rules = (struct bert_rules){ 1, 1, v->rules.lowercase, v->rules.lowercase, 1 };
        v->max_chars = GOOGLE_MAX_CHARS;
    }
    return 0;
}

int vocabulary_load(struct vocabulary *v, const char *path, const struct tokenizer_options *o)
{
    struct buf text = BUF_INIT, file = BUF_INIT;
    vocabulary_init(v);
    buf_adds(&file, path ? path : "(bytes)");
    enum file_kind kind = FILE_NONE;
    int result = path ? file_look(path, &kind) : 0, folder = kind == FILE_FOLDER;
    if (!result && folder)
        result = find_in_folder(&file, path);
    if (!result && !path)
        result = o->pattern ? err_set("--pattern is for .tiktoken files") : put_bytes(v);
    else if (!result)
        result = load_file(v, file.data, o, folder ? file_read : file_read_any, &text);
    if (!result && folder)
        result = load_config(v, path, file_ends_with(file.data, "vocab.txt"));
    if (!result)
        result = apply_options(v, o, file.data);
    buf_release(&text);
    buf_release(&file);
    if (result < 0)
        vocabulary_release(v);
    return result;
}
