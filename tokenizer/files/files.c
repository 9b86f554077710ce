#include "tokenizer/files/files.h"

#include <strings.h>

#include "common/base/lines.h"
#include "common/files/file.h"
#include "common/formats/gguf.h"
#include "common/formats/js.h"
#include "tokenizer/files/encodings.h"

/* Fills `v` with the 256 bytes, in order, and end-of-text; text is cut as GPT-2 does. */
static int put_bytes(struct vocabulary *v)
{
    const struct encoding *gpt2 = encoding_named(TOKENIZER_GPT2);
    int result = 0;
    for (int b = 0; b < 256 && !result; b++)
        result = vocabulary_put(v, b, (char[]){ (char)b }, 1, TOKEN_MODEL);
    return result < 0 || encoding_add_specials(v, gpt2) < 0 ? -1 : encoding_cut(v, gpt2);
}

/* ---- recognising the format ---------------------------------------------------------------- */

/* Sets *out to the path of the file `other` in the folder of `path`. If `path` ends with `name`,
 * which may be NULL, `other` replaces this name and keeps what is before it (NAME-vocab.json). */
static void beside(struct buf *out, const char *path, const char *name, const char *other)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash + 1 - path) : 0;
    buf_set(out, path, name && file_ends_with(path, name) ? strlen(path) - strlen(name) : n);
    buf_adds(out, other);
}

/* Sets *path to the path of the file `name` beside the vocabulary `file`, and *root to its JSON, or
 * to NULL if there is no such file. Returns 0, or -1 with an error. */
static int load_beside(struct js **root, struct buf *path, const char *file, const char *name)
{
    beside(path, file, NULL, name);
    const int there = file_look(path->data);
    *root = there > 0 ? js_load(path->data) : NULL;
    return there && !*root ? -1 : 0;
}

/* Appends to `name` the class of tokenizer or, without one, the type of model that a file beside
 * `path` names, and to `unknown` the error for one that is not known. Returns 0, or -1 with an
 * error. */
static int name_beside(struct buf *name, struct buf *unknown, const char *path)
{
    static const char *const said[][2] = { { "tokenizer_config.json", "tokenizer_class" },
                                           { "config.json", "model_type" } };
    int result = 0;
    for (int i = 0; i < 2 && !result && !name->len; i++) {
        SCOPED(buf) file = BUF_INIT;
        SCOPED_JS root = NULL;
        result = load_beside(&root, &file, path, said[i][0]);
        const char *text = js_text(js_get(root, said[i][1]), NULL);
        buf_adds(name, text ? text : "");
        if (text)
            buf_addf(unknown, "%s '%s' in '%s' is not known here", said[i][1], text, file.data);
    }
    return result;
}

/* Does what Hugging Face's RobertaTokenizer adds to vocab.json and merges.txt. */
static int put_roberta(struct vocabulary *v)
{
    enum { BEGIN, END, NAMES = 5 };
    static const char *const names[NAMES] = { "<s>", "</s>", "<pad>", "<unk>", "<mask>" };
    int64_t ids[NAMES];
    for (int i = 0; i < NAMES; i++) {
        const size_t n = strlen(names[i]);
        ids[i] = vocabulary_find(v, names[i], n);
        if (ids[i] < 0 || vocabulary_put_special(v, ids[i], names[i], n, 1) < 0)
            return err_set("no token '%s', which RoBERTa has", names[i]);
    }
    v->added[v->added_count - 1].lstrip = 1;
    v->end_of_text = ids[END];
    struct buf text = buf_format("{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",%" PRId64
                                 "],\"cls\":[\"<s>\",%" PRId64
                                 "],\"trim_offsets\":true,\"add_prefix_space\":false}",
                                 ids[END], ids[BEGIN]);
    SCOPED_JS post = js_parse(text.data, text.len, "post_processor");
    v->json[POST_PROCESSOR] = buf_detach(&text);
    return post_processor_read(v, post);
}

/* Makes v split text as the user, the tokens themselves or a file beside `path` say, because `path`
 * does not say it. `ranks` 1: it is a file of ranks, without special tokens; adds these, too. */
static int settle_pattern(struct vocabulary *v, const char *path, const struct tokenizer_options *o,
                          int ranks)
{
    SCOPED(buf) name = BUF_INIT, unknown = BUF_INIT;
    if (!ranks && vocabulary_find(v, "e</w>", 5) >= 0)
        return err_set("'%s' has tokens that end words ('e</w>'): use a tokenizer.json", path);
    const struct encoding *e = o->pattern ? encoding_named(o->pattern) : encoding_of_tokens(v);
    int result = e ? 0 : name_beside(&name, &unknown, path);
    if (!result && !e && !(e = encoding_of_class(name.data)))
        result = err_set("'%s' does not say how text is split, and %s: use a tokenizer.json, or "
                         "tokenize --pattern NAME",
                         path, name.len ? unknown.data : "no file beside it does");
    if (!result && (encoding_cut(v, e) < 0 || (ranks && encoding_add_specials(v, e) < 0) ||
                    (e == encoding_of_class("roberta") && put_roberta(v) < 0)))
        result = err_in("%s", path);
    return result;
}

/* Returns -1 with an error if the file `other` exists beside `path`, else 0. A Marian model has
 * such files; its vocab.json has the ids of the pieces of source.spm and target.spm. */
static int refuse_marian(const char *path, const char *other)
{
    SCOPED(buf) file = file_beside(path, other);
    int result = file_look(file.data);
    if (result > 0)
        result = err_set("'%s' and '%s' are of a Marian model, whose pieces have the ids of its "
                         "vocab.json: this is not supported",
                         path, file.data);
    return result;
}

/* Loads vocab.json from `path`, and the merges.txt that belongs to it. A tokenizer.json beside it
 * has the same tokens and says more, so it is read in place of both. */
static int load_pair(struct vocabulary *v, const char *path, const struct tokenizer_options *o,
                     struct buf *text)
{
    SCOPED(buf) other = BUF_INIT;
    beside(&other, path, "vocab.json", "tokenizer.json");
    int there = o->pattern ? 0 : file_look(other.data);
    if (there > 0)
        return file_read(other.data, text) < 0
                   ? -1
                   : tokenizer_json_parse(v, text->data, text->len, other.data);
    beside(&other, path, "vocab.json", "merges.txt");
    if (!there)
        there = file_look(other.data);
    if (!there && refuse_marian(path, "source.spm") == 0)
        err_set("'%s' has no '%s' beside it", path, other.data);
    SCOPED(buf) merges = BUF_INIT;
    if (there <= 0 || file_read(path, text) < 0 || file_read(other.data, &merges) < 0)
        return -1;
    const int clip = !o->pattern && clip_is(text->data, text->len);
    if ((clip ? clip_parse(v, text, path) : vocab_json_parse(v, text->data, text->len, path)) < 0 ||
        merges_parse(v, merges.data, merges.len, other.data) < 0)
        return -1;
    return clip ? 0 : settle_pattern(v, path, o, 0);
}

/* Returns 1 if the text begins with a line of a token in base64 and its rank, else 0. */
static int is_ranks(const struct buf *text)
{
    static const char base64[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    size_t token = text->len ? strspn(text->data, base64) : 0;
    const char *rank = token && text->data[token] == ' ' ? text->data + token + 1 : "";
    size_t digits = strspn(rank, "0123456789");
    return digits && strchr("\r\n", rank[digits]) != NULL;
}

static int load_ranks(struct vocabulary *v, const char *path, const struct tokenizer_options *o,
                      const struct buf *text)
{
    if (tiktoken_parse(v, text->data, text->len, path) < 0 || settle_pattern(v, path, o, 1) < 0)
        return -1;
    return vocabulary_check_full(v) < 0 ? err_in("%s", path) : 0;
}

/* Returns 1 if some line is "[UNK]", as in every vocabulary of BERT, else 0. */
static int is_vocab_txt(const struct buf *text)
{
    struct lines l = LINES_OF(text->data, text->len);
    while (lines_next_text(&l))
        if (bytes_are(l.line, l.len, "[UNK]"))
            return 1;
    return 0;
}

static int load_gguf(struct vocabulary *v, const char *path)
{
    SCOPED_BY(gguf_close) struct gguf g = { 0 };
    return gguf_open(&g, path) < 0 ? -1 : gguf_vocabulary_read(v, &g);
}

/* Loads the vocabulary file `path`. `read` reads the file; it depends on whether the user named the
 * file or it was found in a folder. Returns 0, or -1 with an error. */
static int load_file(struct vocabulary *v, const char *path, const struct tokenizer_options *o,
                     int (*read)(const char *path, struct buf *out), struct buf *text)
{
    if (file_ends_with(path, "vocab.json"))
        return load_pair(v, path, o, text);
    const int gguf = gguf_is(path);
    if (!gguf && read(path, text) < 0)
        return -1;
    if (!gguf && (file_ends_with(path, ".tiktoken") || is_ranks(text)))
        return load_ranks(v, path, o, text);
    if (o->pattern)
        return err_set("'%s' says itself how text is split: --pattern is for files of ranks "
                       "(.tiktoken), and for vocab.json with merges.txt",
                       path);
    if (gguf)
        return load_gguf(v, path);
    if (file_ends_with(path, ".json"))
        return tekken_is(text->data, text->len)
                   ? tekken_parse(v, text->data, text->len, path)
                   : tokenizer_json_parse(v, text->data, text->len, path);
    if (file_ends_with(path, ".spm") && refuse_marian(path, "vocab.json") < 0)
        return -1;
    if (file_ends_with(path, ".model") || strstr(file_name(path), ".model.v") ||
        file_ends_with(path, ".spm"))
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
    SCOPED(file_names) names = { 0 };
    if (file_list(&names, dir, suffix) < 0)
        return -1;
    if (names.count > 1)
        return err_set("'%s' has several vocabularies: '%s' and '%s'", dir, names.names[0],
                       names.names[1]);
    if (names.count)
        *path = file_path(dir, names.names[0]);
    return names.count > 0;
}

/* Returns -1 with an error if `path`, a .model in a folder, is of a class of transformers that
 * gives the pieces other ids or changes the text before it is cut into them, else 0. */
static int refuse_pieces(const char *path)
{
    static const char *const classes[] = { "albert", "pegasus", "xlnet", "siglip", "cpm" };
    SCOPED(buf) name = BUF_INIT, unknown = BUF_INIT;
    int refused = file_ends_with(path, "/sentencepiece.bpe.model");
    if (name_beside(&name, &unknown, path) < 0)
        return -1;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && name.len; i++)
        refused |= !strncasecmp(name.data, classes[i], strlen(classes[i]));
    return refused ? err_set("transformers gives texts other ids than '%s': use a tokenizer.json, "
                             "or name the file for its own ids",
                             path)
                   : 0;
}

static int find_in_folder(struct buf *path, const char *dir)
{
    static const char *const names[] = { "tokenizer.json", "tekken.json", "vocab.json",
                                         "vocab.txt" };
    static const char *const suffixes[] = { "tokenizer.json", "vocab.json", ".tiktoken",
                                            ".model",         ".model.v3",  "vocab.txt" };
    const int first = file_first(dir, names, 4);
    int found = first < 0 ? -1 : first < 4;
    if (found > 0)
        *path = file_path(dir, names[first]);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !found; i++)
        found = find_one(path, dir, suffixes[i]);
    if (found > 0 && file_ends_with(path->data, ".model") && refuse_pieces(path->data) < 0)
        return -1;
    if (found)
        return found < 0 ? -1 : 0;
    if ((found = find_one(path, dir, ".gguf")))
        return found < 0 ? -1 : err_set("'%s' has no vocabulary: give '%s'", dir, path->data);
    return err_set("'%s' has no vocabulary: no tokenizer.json, tekken.json, vocab.json, vocab.txt, "
                   "file in .tiktoken or .model",
                   dir);
}

/* A file beside a vocabulary that names tokens: its JSON, or NULL, and its path. Values of
 * special_tokens_map.json go before those of tokenizer_config.json. */
struct naming {
    const struct js *root;
    const char *path;
};
enum { MAP, CONFIG };

static int put_special(struct vocabulary *v, const struct naming *in, const char *key,
                       const struct js *item, int64_t *id)
{
    return special_put(v, key, item, id) < 0 ? err_in("%s", in->path) : 0;
}

/* Puts the tokens of a list, or of an object of names. */
static int put_specials(struct vocabulary *v, const struct naming *in, const char *key)
{
    const struct js *some = js_get(in->root, key);
    int64_t id;
    int result = 0;
    for (size_t i = 0; js_is_array(some) && i < js_count(some) && !result; i++)
        result = put_special(v, in, key, js_at(some, i), &id);
    for (void *it = js_first(some); it && !result; it = js_next(some, it))
        result = put_special(v, in, js_key(it, NULL), js_value(it), &id);
    return result;
}

/* Reads which tokens the files name, in the order in which transformers adds those that the
 * vocabulary lacks. Only the one that ends a text is not added. */
static int read_tokens(struct vocabulary *v, const struct naming files[])
{
    static const char *const lists[] = { "extra_special_tokens", "additional_special_tokens" };
    int64_t unknown = 0, id; /* the model says it itself */
    const struct {
        const char *key;
        int64_t *id;
    } tokens[] = { { "bos_token", &v->begin_of_text },
                   { "eos_token", &v->end_of_text },
                   { "unk_token", &unknown },
                   { "sep_token", &v->roles[TOKENIZER_SEP] },
                   { "pad_token", &v->roles[TOKENIZER_PAD] },
                   { "cls_token", &v->roles[TOKENIZER_CLS] },
                   { "mask_token", &v->roles[TOKENIZER_MASK] } };
    enum { TOKENS = sizeof tokens / sizeof *tokens };
    for (int i = 0; i < TOKENS; i++) {
        const char *key = tokens[i].key;
        const struct naming *in = &files[js_is_set(js_get(files[MAP].root, key)) ? MAP : CONFIG];
        if (put_special(v, in, key, js_get(in->root, key), &id) < 0)
            return -1;
        *tokens[i].id = id >= 0 ? id : *tokens[i].id;
    }
    for (int f = CONFIG; f >= MAP; f--) /* "image_token" and others */
        for (void *it = js_first(files[f].root); it; it = js_next(files[f].root, it)) {
            const char *key = js_key(it, NULL);
            int i = 0;
            while (i < TOKENS && strcmp(key, tokens[i].key))
                i++;
            if (i == TOKENS && file_ends_with(key, "_token") && js_text(js_value(it), NULL) &&
                put_special(v, &files[f], key, js_value(it), &id) < 0)
                return -1;
        }
    for (int i = 0; i < 4; i++) { /* the first list that names tokens */
        const struct naming *in = &files[i < 2 ? CONFIG : MAP];
        if (js_count(js_get(in->root, lists[i % 2])))
            return put_specials(v, in, lists[i % 2]);
    }
    return 0;
}

/* Returns 1 if the root of a tokenizer_config.json names this class of tokenizers, else 0. */
static int is_class(const struct js *root, const char *name)
{
    const char *class = js_text(js_get(root, "tokenizer_class"), NULL);
    return class && bytes_are(class, class_bytes(class), name);
}

/* Reads how a tokenizer_config.json cuts text into BERT's words. whole: 1 beside tokenizer.json. */
static int read_words(struct vocabulary *v, const struct js *root, int whole)
{
    int is;
    if (js_get(root, "word_tokenizer_type") || is_class(root, "BertJapaneseTokenizer") ||
        is_class(root, "RoFormerTokenizer"))
        return err_set("its words are cut by a dictionary, which is not supported");
    if (!whole && js_bool(js_get(root, "do_basic_tokenize"), &is) == 0 && !is)
        return err_set("do_basic_tokenize false is not supported");
    if (js_get(root, "tokenizer_class")) /* its own rules, not those of tokenizer.json */
        v->rules.lowercase = v->rules.strip_accents = v->rules.chinese_chars = 1;
    if (js_bool(js_get(root, "do_lower_case"), &is) == 0)
        v->rules.lowercase = v->rules.strip_accents = is;
    v->rules.strip_accents = js_flag(root, "strip_accents", v->rules.strip_accents);
    v->rules.chinese_chars = js_flag(root, "tokenize_chinese_chars", v->rules.chinese_chars);
    return 0;
}

/* Adds the tokens that an added_tokens.json has more than v. Those that one of the other files
 * names are special. Returns 0, or -1 with an error. */
static int put_added_json(struct vocabulary *v, const struct js *root, const struct js *config,
                          const struct js *map)
{
    SCOPED(buf) by_id = BUF_INIT, quoted = BUF_INIT, names = BUF_INIT;
    if (config)
        js_print(&names, config);
    if (map)
        js_print(&names, map);
    for (void *it = js_first(root); it; it = js_next(root, it)) {
        size_t n;
        const char *name = js_key(it, &n);
        int64_t id;
        if (js_int(js_value(it), &id) < 0)
            return err_set("'%s' has no id", name);
        if (vocabulary_find(v, name, n) == id && id >= 0 && v->tokens[id].added)
            continue;
        buf_clear(&quoted);
        js_quote(&quoted, name, n);
        const int special = strstr(names.data, quoted.data) != NULL;
        buf_addf(&by_id, "%c\"%" PRId64 "\":{\"content\":%s,\"special\":%s,\"normalized\":%s}",
                 by_id.len ? ',' : '{', id, quoted.data, special ? "true" : "false",
                 special ? "false" : "true");
    }
    buf_adds(&by_id, by_id.len ? "}" : "{}");
    SCOPED_JS tokens = js_parse(by_id.data, by_id.len, "added_tokens.json");
    return tokens ? added_decoder_read(v, tokens, 0) : -1;
}

/* Reads what a tokenizer_config.json says of how a text is split and of what stands around it. */
static int read_config(struct vocabulary *v, const struct js *root, int whole)
{
    const int words = v->model == VOCABULARY_WORDPIECE && !v->general &&
                      !is_class(root, "PreTrainedTokenizer") &&
                      !is_class(root, "TokenizersBackend"); /* the same, in transformers 5 */
    const int ends = is_class(root, "T5Tokenizer") || js_flag(root, "add_eos_token", 0);
    v->pads_left = js_text_is(js_get(root, "padding_side"), "left");
    if (js_flag(root, "split_special_tokens", 0))
        return err_set("split_special_tokens true is not supported: remove it; special tokens in a "
                       "text are only found where you ask for them");
    if (words && read_words(v, root, whole) < 0)
        return -1;
    if (!whole && v->model == VOCABULARY_WORDPIECE)
        bert_templates(v); /* [CLS] and [SEP] may have other names */
    if (!whole || (v->single.count < 2 && is_class(root, "LlamaTokenizer")))
        post_processor_put(v, js_flag(root, "add_bos_token", 0) ? vocabulary_begin_of_text(v) : -1,
                           ends ? v->end_of_text : -1);
    if ((!whole || is_class(root, "GPT2Tokenizer")) && splitter_is_gpt2(&v->splitter))
        v->prefix_space = js_flag(root, "add_prefix_space", 0);
    return 0;
}

/* Reads tokenizer_config.json, special_tokens_map.json and added_tokens.json beside the vocabulary
 * `file`, if they exist (files.h). Returns 0, or -1 with an error. */
static int load_config(struct vocabulary *v, const char *file, const struct tokenizer_options *o)
{
    SCOPED(buf) path = BUF_INIT, names = BUF_INIT, more = BUF_INIT;
    SCOPED_JS root = NULL, *map = NULL, *added = NULL;
    beside(&path, file, "vocab.json", "tokenizer.json");
    const int there = file_look(path.data);
    const int whole = (there && !o->pattern) || file_ends_with(file, "tokenizer.json");
    const int ranks = v->byte_level && !file_ends_with(file, ".json");
    int result = there < 0 ? -1 : load_beside(&root, &path, file, "tokenizer_config.json");
    const struct js *by_id = js_get(root, "added_tokens_decoder");
    if (!result && !by_id)
        result = load_beside(&map, &names, file, "special_tokens_map.json");
    if (!result && !by_id)
        result = load_beside(&added, &more, file, "added_tokens.json");
    if (!result && added_decoder_read(v, by_id, ranks) < 0) {
        err_in("added_tokens_decoder");
        result = err_in("%s", path.data);
    }
    if (!result && added && put_added_json(v, added, root, map) < 0)
        result = err_in("%s", more.data);
    if (!result)
        result = read_tokens(v, (struct naming[]){ { map, names.data }, { root, path.data } });
    if (!result && root && read_config(v, root, whole) < 0)
        result = err_in("%s", path.data);
    return result;
}

/* Changes the rules of v as the options ask. In Google's reference, strip_accents equals lowercase,
 * and words may be longer. Returns 0, or -1 with an error if v is not a WordPiece vocabulary. */
static int apply_options(struct vocabulary *v, const struct tokenizer_options *o, const char *path)
{
    enum { GOOGLE_MAX_CHARS = 200 };
    v->drops = o->drop_missing;
    if (!o->google_rules && o->letters == TOKENIZER_CASE_AUTO)
        return 0;
    const char *option = o->google_rules ? "rules" : "case";
    if (v->model != VOCABULARY_WORDPIECE)
        return err_set("'%s' is not a WordPiece vocabulary: --%s is for those only", path, option);
    if (v->general) /* its steps, not v->rules, decide */
        return err_set(
            "'%s' has another normalizer or other words than BERT, so --%s has no effect", path,
            option);
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
    SCOPED(buf) text = BUF_INIT, file = BUF_INIT;
    vocabulary_init(v);
    const int kind = path ? file_look(path) : FILE_NONE, folder = kind == FILE_FOLDER;
    int result = kind < 0 ? -1 : 0;
    if (path && kind == FILE_NONE && strcmp(path, "-"))
        return err_set("there is no vocabulary '%s': 'tokenize train' makes one, and "
                       "'scripts/model-download' fetches published ones",
                       path);
    if (folder)
        result = find_in_folder(&file, path);
    else
        buf_adds(&file, path ? path : "(bytes)");
    if (!result && !path)
        result = o->pattern ? err_set("--pattern is for .tiktoken files") : put_bytes(v);
    else if (!result)
        result = load_file(v, file.data, o, folder ? file_read : file_read_any, &text);
    if (!result && (folder || file_ends_with(file.data, "vocab.json") ||
                    !strcmp(file_name(file.data), "tokenizer.json")))
        result = load_config(v, file.data, o);
    if (!result)
        result = apply_options(v, o, file.data);
    if (result < 0)
        vocabulary_release(v);
    return result;
}
