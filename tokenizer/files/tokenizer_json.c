/* Reads and writes tokenizer.json, the format of Hugging Face tokenizers. */

#include "common/formats/js.h"
#include "tokenizer/files/encodings.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/model_json.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/decoder.h"
#include "tokenizer/model/wordpiece.h"

/* ---- model --------------------------------------------------------------------------------- */

static int read_affix(char to[AFFIX_MAX], const struct js *model, const char *key, int byte_level)
{
    size_t n;
    const char *text = js_text(js_get(model, key), &n);
    if (!text || !n)
        return 0;
    for (size_t i = 0; i < n && byte_level; i++) /* bytes that the byte alphabet does not change */
        if (text[i] <= ' ' || text[i] > '~')
            return err_set("model.%s '%s' is not supported with ByteLevel", key, text);
    if (n >= AFFIX_MAX)
        return err_set("model.%s of %zu bytes is too long", key, n);
    memcpy(to, text, n + 1);
    return 0;
}

static int read_bpe_options(struct vocabulary *v, const struct js *model)
{
    double dropout;
    if (js_real(js_get(model, "dropout"), &dropout) == 0 && dropout > 0)
        return err_set("model.dropout is not supported");
    v->byte_fallback = js_flag(model, "byte_fallback", 0);
    v->fuse_unknown = js_flag(model, "fuse_unk", 0);
    v->ignore_merges = js_flag(model, "ignore_merges", 0);
    if (read_affix(v->prefix, model, "continuing_subword_prefix", v->byte_level) < 0)
        return -1;
    return read_affix(v->suffix, model, "end_of_word_suffix", v->byte_level);
}

static int lacks_bytes(const struct vocabulary *v)
{
    int64_t byte_ids[256];
    vocabulary_byte_ids(v, byte_ids);
    for (int i = 0; i < 256; i++)
        if (byte_ids[i] < 0)
            return 1;
    return 0;
}

/* Reads the unknown token. If every byte has a token, it is never needed and may be missing. */
static int read_unknown(struct vocabulary *v, const struct js *model)
{
    size_t n;
    const char *name = js_text(js_get(model, "unk_token"), &n);
    const int affixes = *v->prefix || *v->suffix;
    const int complete = v->byte_level && !affixes && !lacks_bytes(v);
    if (v->byte_level && v->byte_fallback && !complete)
        return err_set("model.byte_fallback is not supported with ByteLevel and a vocabulary that "
                       "lacks bytes");
    v->byte_fallback &= !complete; /* no byte falls back */
    if (!name && affixes && v->byte_level)
        return err_set("a model with ByteLevel and '%s%s' needs an unk_token", v->prefix,
                       v->suffix);
    if (!name || complete)
        return 0;
    int64_t id = vocabulary_find(v, name, n);
    if (id < 0 || !v->tokens[id].in_model)
        return err_set("model.unk_token '%s' is not a token of the model", name);
    if (v->byte_level && v->fuse_unknown)
        return err_set("model.fuse_unk is not supported with a vocabulary that lacks bytes");
    v->roles[TOKENIZER_UNKNOWN] = id;
    return 0;
}

/* A tokenizer.json being read. */
struct reading {
    const struct js *root; /* the JSON tree without `parts` */
    const char *text;
    struct model_parts parts;
};

static int read_vocab(struct vocabulary *v, const struct reading *r, const struct js *model)
{
    if (!js_is_object(js_get(model, "vocab")))
        return err_set("model.vocab is not an object");
    return model_vocab_read(v, r->text, &r->parts) < 0 ? -1 : vocabulary_check(v);
}

/* Reads which merges are tied (merge.h): a digit for each merge. Returns 0, or -1 with an error. */
static int read_ties(struct vocabulary *v, const struct js *model)
{
    size_t n = 0;
    const char *ties = js_text(js_get(model, "ties"), &n);
    if (ties && v->byte_level)
        return err_set("model.ties is not supported with ByteLevel");
    if (ties && n != v->merge_count)
        return err_set("model.ties has %zu digits for %zu merges", n, v->merge_count);
    for (size_t i = 0; i < n; i++)
        v->merges[i].tied = ties[i] == '1';
    return 0;
}

static int read_bpe(struct vocabulary *v, const struct reading *r, const struct js *model)
{
    if (read_bpe_options(v, model) < 0 || read_vocab(v, r, model) < 0)
        return -1;
    if (!js_is_array(js_get(model, "merges")))
        return err_set("model.merges is not an array");
    if (model_merges_read(v, r->text, &r->parts) < 0 || read_ties(v, model) < 0)
        return -1;
    return read_unknown(v, model);
}

/* ---- added tokens -------------------------------------------------------------------------- */

static void read_properties(struct added_token *a, const struct js *item)
{
    a->special = js_flag(item, "special", 0);
    a->single_word = js_flag(item, "single_word", 0);
    a->lstrip = js_flag(item, "lstrip", 0);
    a->rstrip = js_flag(item, "rstrip", 0);
    a->normalized = js_flag(item, "normalized", 1);
}

/* Adds the added token `content` with the properties of `item`. If the vocabulary has this token
 * under the same id, it stays a token of the model. Returns 0, or -1 with an error. */
static int put_added(struct vocabulary *v, const struct js *item, int64_t id, const char *content,
                     size_t n)
{
    struct added_token a = { .id = (uint32_t)id, .literal = js_flag(item, "literal", 0) };
    const int known = vocabulary_find(v, content, n) == id;
    if (vocabulary_put(v, id, content, n, TOKEN_ADDED) < 0)
        return err_in("'%s'", content);
    if (!known)
        v->tokens[id].in_model = 0; /* model_vocab_read sets it if the model has the token */
    read_properties(&a, item);
    vocabulary_add(v, &a);
    return 0;
}

static int read_added(struct vocabulary *v, const struct js *list)
{
    for (size_t i = 0; i < js_count(list); i++) {
        const struct js *item = js_at(list, i);
        size_t n;
        const char *content = js_text(js_get(item, "content"), &n);
        int64_t id;
        if (!content || !n || js_int(js_get(item, "id"), &id) < 0)
            return err_set("added_tokens: item %zu has no content or no id", i);
        if (vocabulary_find(v, content, n) >= 0)
            return err_set("added_tokens: '%s' occurs twice", content);
        if (put_added(v, item, id, content, n) < 0)
            return err_in("added_tokens");
    }
    return 0;
}

/* Returns the id that Hugging Face gives an added token that the model lacks, after the first n
 * added tokens: the number of the model's tokens or, if that is greater, 1 + the greatest id of
 * these n. */
static int64_t next_id(const struct vocabulary *v, size_t n)
{
    int64_t next = 0;
    for (uint32_t id = 0; id < v->count; id++)
        next += v->tokens[id].in_model;
    for (size_t i = 0; i < n; i++)
        next = v->added[i].id >= next ? (int64_t)v->added[i].id + 1 : next;
    return next;
}

/* Checks that the added tokens have the ids that Hugging Face gives them. */
static int check_added(const struct vocabulary *v)
{
    const int64_t tokens = next_id(v, 0);
    int64_t next = tokens;
    for (size_t i = 0; i < v->added_count; i++) {
        const struct added_token *a = &v->added[i];
        if (a->id != next && !v->tokens[a->id].in_model)
            return err_set("'%.*s' has id %u, but the next id after the %lld tokens before it is "
                           "%lld",
                           (int)a->len, v->blob.data + a->at, a->id, (long long)tokens,
                           (long long)next);
        next = a->id >= next ? (int64_t)a->id + 1 : next;
    }
    return 0;
}

/* Returns the id of the token that tokenizer.json calls `name`, as an added one or as one of the
 * model, or -1. Sets *added to it if it is an added one, else to NULL. In a byte-level vocabulary a
 * name also stands for the bytes that it encodes. vocabulary_find finds one token for each of the
 * two readings. Another added token may have the same bytes, so all are tried after these. */
static int64_t find_named(const struct vocabulary *v, const char *name, struct added_token **added)
{
    SCOPED(buf) bytes = BUF_INIT;
    const int64_t same = vocabulary_find(v, name, strlen(name));
    int64_t id = same;
    if (v->byte_level)
        id = alphabet_decode(&bytes, name, strlen(name)) < 0
                 ? -1
                 : vocabulary_find(v, bytes.data, bytes.len);
    const int64_t ids[] = { same, id };
    for (size_t i = 0; i < 2 + (same >= 0 ? v->added_count : 0); i++) {
        const uint32_t number = i > 1 ? (uint32_t)i - 1 : ids[i] < 0 ? 0 : v->tokens[ids[i]].added;
        *added = number ? &v->added[number - 1] : NULL;
        if (*added && bytes_are(v->blob.data + (*added)->at, (*added)->len, name))
            return (*added)->id;
    }
    *added = NULL;
    return id >= 0 && !v->tokens[id].added ? id : -1;
}

int special_put(struct vocabulary *v, const char *key, const struct js *item, int64_t *id)
{
    struct added_token *a;
    size_t n = 0;
    const char *name = js_text(js_is_object(item) ? js_get(item, "content") : item, &n);
    const int normalized = js_flag(item, "normalized", 0);
    *id = -1;
    if (!name || !n) /* the first Llamas of transformers have "" */
        return 0;
    *id = find_named(v, name, &a);
    if (*id < 0 && !strcmp(key, "eos_token"))
        return err_set("%s: '%s' is not a token of the vocabulary", key, name);
    if (*id < 0 && v->hides) /* Hugging Face adds them to SentencePiece's in other orders */
        return 0;
    if (!a && v->model == VOCABULARY_WORDPIECE && normalized)
        return err_set("%s: '%s' must be in tokenizer.json", key, name);
    if (!a) {
        const struct vocabulary_token *last = &v->tokens[v->count - 1];
        if (*id < 0) /* of many such tokens, only the first one needs the search */
            *id = last->added && !last->in_model ? v->count : next_id(v, v->added_count);
        if (put_added(v, item, *id, name, n) < 0)
            return err_in("%s", key);
        v->added[v->added_count - 1].normalized = normalized;
        v->added[v->added_count - 1].special = 1;
    } else if (!bytes_end(key, strlen(key), "_tokens") && !v->hides) {
        a->special = 1;
    }
    return 0;
}

int added_decoder_read(struct vocabulary *v, const struct js *by_id, int ranks)
{
    const uint32_t count = v->count;
    for (void *it = js_first(by_id); it; it = js_next(by_id, it)) {
        const struct js *item = js_value(it);
        size_t n;
        const char *content = js_text(js_get(item, "content"), &n);
        struct added_token *old;
        char *end;
        const int64_t id = strtoll(js_key(it, NULL), &end, 10);
        if (!content || !n || *end || id < 0)
            return err_set("'%s' is no id or has no content", js_key(it, NULL));
        const int64_t has = find_named(v, content, &old);
        if (has >= 0 && has != id && (old || !ranks))
            return err_set("'%s' has id %lld, but the vocabulary gives it %lld", content,
                           (long long)id, (long long)has);
        if ((v->hides && !old && !js_flag(item, "special", 0)) ||
            (v->model == VOCABULARY_WORDPIECE && !(old && old->normalized) &&
             js_flag(item, "normalized", 1)))
            return err_set("'%s' must be in tokenizer.json", content);
        if (!old && put_added(v, item, id, content, n) < 0)
            return -1;
        if (old && !v->hides) {               /* pieces of SentencePiece say it themselves */
            const int special = old->special; /* it stays so */
            read_properties(old, item);
            old->special |= special;
        }
    }
    /* a file of a few bytes must not demand many ids */
    if (ranks && v->count / 2 <= count && encoding_fill(v, count, v->count) < 0)
        return -1;
    /* without holes, any order is right: Hugging Face sorts these by their ids */
    return js_count(by_id) && vocabulary_hole(v) < v->count ? check_added(v) : 0;
}

/* ---- normalizer, pre-tokenizer and decoder --------------------------------------------------- */

static int normalizes_nothing(const struct js *normalizer)
{
    return !js_is_set(normalizer) || (!strcmp(js_type(normalizer), "Sequence") &&
                                      !js_count(js_get(normalizer, "normalizers")));
}

static void keep(struct vocabulary *v, enum component c, const struct js *value)
{
    struct buf text = BUF_INIT;
    if (value)
        js_print(&text, value);
    else
        buf_adds(&text, "null");
    v->json[c] = buf_detach(&text);
}

/* For text that is normalized or that the splitter cannot cut: keeps the normalizer and the
 * pre-tokenizer as JSON, and reads the normalizer's steps. Returns 0, or -1 with an error. */
static int read_general(struct vocabulary *v, const struct js *normalizer, const struct js *pre)
{
    v->general = 1;
    keep(v, NORMALIZER, normalizer);
    keep(v, PRE_TOKENIZER, pre);
    return steps_read_normalizer(&v->normalizer, normalizer);
}

static int read_steps(struct vocabulary *v, const struct js *normalizer, const struct js *pre,
                      int *byte_level)
{
    v->steps_cut = 1;
    return read_general(v, normalizer, pre) < 0
               ? -1
               : steps_read_pre_tokenizer(&v->pre_tokenizer, pre, byte_level);
}

static int read_way_without_bytes(struct vocabulary *v, const struct js *normalizer,
                                  const struct js *pre, const char *model)
{
    int byte_level = 0;
    v->byte_level = 0;
    if (read_steps(v, normalizer, pre, &byte_level) < 0)
        return -1;
    return byte_level ? err_set("pre_tokenizer 'ByteLevel' is not supported with %s", model) : 0;
}

/* Reads how text is cut for BPE. With ByteLevel, tokens are byte strings. */
static int read_way_to_bpe(struct vocabulary *v, const struct js *normalizer, const struct js *pre)
{
    int byte_level = 0, plain = 0, splits = js_is_set(pre) ? splits_read(v, pre, &plain) : 0;
    if (splits < 0)
        return -1;
    if (!splits) {
        int result = read_steps(v, normalizer, pre, &byte_level);
        v->byte_level = byte_level;
        return result;
    }
    if (!normalizes_nothing(normalizer))
        return read_general(v, normalizer, pre);
    if (!plain)
        keep(v, PRE_TOKENIZER, pre);
    return 0;
}

static int has_normalized(const struct vocabulary *v)
{
    for (size_t i = 0; i < v->added_count; i++)
        if (v->added[i].normalized)
            return 1;
    return 0;
}

static int read_way_to_wordpiece(struct vocabulary *v, const struct js *normalizer,
                                 const struct js *pre)
{
    wordpiece_frame(v, 0);
    if ((!js_is_set(normalizer) || !strcmp(js_type(normalizer), "BertNormalizer")) &&
        !strcmp(js_type(pre), "BertPreTokenizer") && !has_normalized(v)) {
        v->rules = (struct bert_rules){ 0 };
        if (js_is_set(normalizer))
            v->rules = steps_bert_rules(normalizer);
        return 0;
    }
    return read_way_without_bytes(v, normalizer, pre, "WordPiece");
}

/* Reads the decoder. Joining bytes and joining BERT's words need no steps here: they follow from
 * the other fields. Returns 0, or -1 with an error. */
static int read_decoder(struct vocabulary *v, const struct js *value)
{
    const struct js *prefix = js_get(value, "prefix");
    keep(v, DECODER, value);
    if (v->byte_level && (!js_is_set(value) || !strcmp(js_type(value), "ByteLevel")))
        return 0;
    if (v->model == VOCABULARY_WORDPIECE && !strcmp(js_type(value), "WordPiece") &&
        (!prefix || js_text_is(prefix, wordpiece_prefix))) {
        v->cleanup = js_flag(value, "cleanup", 1);
        return 0;
    }
    return (v->decoder = decoder_new(value)) ? 0 : -1;
}

int frame_read(struct vocabulary *v, const char *json, size_t n)
{
    SCOPED_JS root = js_parse(json, n, "frame");
    int result = root
                     ? read_way_to_bpe(v, js_get(root, "normalizer"), js_get(root, "pre_tokenizer"))
                     : -1;
    if (!result)
        result = post_processor_read(v, js_get(root, "post_processor"));
    if (!result) {
        keep(v, POST_PROCESSOR, js_get(root, "post_processor"));
        result = read_decoder(v, js_get(root, "decoder"));
    }
    return result;
}

int characters_frame(struct vocabulary *v)
{
    static const char frame[] = "{\"pre_tokenizer\":{\"type\":\"Whitespace\"}}";
    return frame_read(v, frame, sizeof frame - 1);
}

int unigram_frame(struct vocabulary *v)
{
    static const char frame[] =
        "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
        "{\"type\":\"Nmt\"},{\"type\":\"NFKC\"},"
        "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true},"
        "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}]},"
        "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
        "\"prepend_scheme\":\"always\",\"split\":true},\"post_processor\":null,"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},"
        "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
        "\"prepend_scheme\":\"always\",\"split\":true}]}}";
    v->byte_level = 0;
    v->model = VOCABULARY_UNIGRAM;
    return frame_read(v, frame, sizeof frame - 1);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int read_unigram(struct vocabulary *v, const struct js *model)
{
    const struct js *unknown = js_get(model, "unk_id");
    int64_t id = -1;
    v->byte_fallback = js_flag(model, "byte_fallback", 0);
    v->hides = js_flag(model, "hides_special", 0);
    if (!js_is_array(js_get(model, "vocab")) || !js_count(js_get(model, "vocab")))
        return err_set("model.vocab is not a list of tokens and scores");
    if (model_pieces_read(v, js_get(model, "vocab")) < 0 || vocabulary_check(v) < 0)
        return -1;
    if (js_is_set(unknown) && (js_int(unknown, &id) < 0 || id < 0 || id >= v->count))
        return err_set("model.unk_id is not a token of the model");
    v->roles[TOKENIZER_UNKNOWN] = id;
    return 0;
}

static int read_wordlevel(struct vocabulary *v, const struct reading *r, const struct js *model)
{
    size_t n;
    const char *name = js_text(js_get(model, "unk_token"), &n);
    if (read_vocab(v, r, model) < 0)
        return -1;
    v->roles[TOKENIZER_UNKNOWN] = name ? vocabulary_find(v, name, n) : -1;
    return 0;
}

/* Returns the type of the model. If the file does not name it, as in older versions, a field that
 * only one of the models has decides, as for Hugging Face's tokenizers. */
static const char *model_type(const struct js *model)
{
    if (js_is_set(js_get(model, "type")))
        return js_type(model);
    return js_get(model, "merges")                      ? "BPE"
           : js_is_array(js_get(model, "vocab"))        ? "Unigram"
           : js_get(model, "continuing_subword_prefix") ? "WordPiece"
                                                        : "WordLevel";
}

static int read_model(struct vocabulary *v, const struct reading *r, const struct js *model)
{
    const struct js *normalizer = js_get(r->root, "normalizer"),
                    *pre = js_get(r->root, "pre_tokenizer");
    const char *type = model_type(model);
    if (!strcmp(type, "WordPiece")) {
        if (read_way_to_wordpiece(v, normalizer, pre) < 0 || read_vocab(v, r, model) < 0)
            return -1;
        return wordpiece_json_read(v, r->root);
    }
    if (!strcmp(type, "Unigram") || !strcmp(type, "WordLevel")) {
        int words = !strcmp(type, "WordLevel");
        v->model = words ? VOCABULARY_WORDLEVEL : VOCABULARY_UNIGRAM;
        if (read_way_without_bytes(v, normalizer, pre, type) < 0)
            return -1;
        return words ? read_wordlevel(v, r, model) : read_unigram(v, model);
    }
    if (strcmp(type, "BPE") != 0)
        return err_set("model '%s' is not supported: BPE, WordPiece, Unigram and WordLevel are",
                       type);
    return read_way_to_bpe(v, normalizer, pre) < 0 ? -1 : read_bpe(v, r, model);
}

static int read_root(struct vocabulary *v, const struct reading *r)
{
    const struct js *root = r->root, *model = js_get(root, "model");
    const struct js *post = js_get(root, "post_processor");
    if (!js_is_object(model))
        return err_set("it has no \"model\", so it is not a tokenizer.json");
    if (read_added(v, js_get(root, "added_tokens")) < 0 || read_model(v, r, model) < 0)
        return -1;
    if (check_added(v) < 0)
        return err_in("added_tokens");
    if (post_processor_read(v, post) < 0)
        return -1;
    if (v->model != VOCABULARY_WORDPIECE)
        v->end_of_text = vocabulary_find(v, end_of_text_name, strlen(end_of_text_name));
    keep(v, POST_PROCESSOR, post);
    return read_decoder(v, js_get(root, "decoder"));
}

int tokenizer_json_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    struct reading r = { .text = text };
    struct js_cut cuts[2];
    vocabulary_expect(v, n);
    if (model_parts_find(&r.parts, text, n) < 0)
        return err_in("%s", name);
    SCOPED_JS root = js_parse_without(text, n, cuts, model_parts_cuts(&r.parts, cuts), name);
    if (!root)
        return -1;
    r.root = root;
    int result = read_root(v, &r);
    return result < 0 ? err_in("%s", name) : 0;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void print_bool(struct buf *out, const char *key, int value)
{
    buf_addf(out, ", \"%s\": %s", key, value ? "true" : "false");
}

/* Appends the added tokens in the order of their ids, as check_added wants them. */
static void print_added(const struct vocabulary *v, struct buf *out)
{
    const char *before = "";
    buf_adds(out, "  \"added_tokens\": [");
    for (uint32_t id = 0; id < v->count; id++) {
        if (!v->tokens[id].added)
            continue;
        const struct added_token *a = &v->added[v->tokens[id].added - 1];
        buf_addf(out, "%s\n    {\"id\": %u, \"content\": ", before, id);
        before = ",";
        js_quote(out, v->blob.data + a->at, a->len);
        print_bool(out, "single_word", a->single_word);
        print_bool(out, "lstrip", a->lstrip);
        print_bool(out, "rstrip", a->rstrip);
        print_bool(out, "normalized", a->normalized);
        print_bool(out, "special", a->special);
        if (a->literal) /* only for SentencePiece; other programs do not know the key */
            print_bool(out, "literal", 1);
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
    if (v->model == VOCABULARY_WORDPIECE) {
        buf_adds(out, "{\"type\": \"BertPreTokenizer\"}");
        return;
    }
    if (splitter_is_gpt2(&v->splitter) || !v->splitter.count) {
        print_byte_level(out, v->prefix_space, v->splitter.count);
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
    buf_adds(out, "\n  ]}");
}

static void print_affix(struct buf *out, const char *key, const char *affix)
{
    buf_addf(out, ", \"%s\": ", key);
    if (*affix)
        js_quote(out, affix, strlen(affix));
    else
        buf_adds(out, "null");
}

static void print_unknown(const struct vocabulary *v, const char *none, struct buf *out)
{
    if (v->roles[TOKENIZER_UNKNOWN] >= 0)
        token_print(v, (uint32_t)v->roles[TOKENIZER_UNKNOWN], out);
    else
        buf_adds(out, none);
}

static void print_bpe(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "    \"type\": \"BPE\", \"dropout\": null, \"unk_token\": ");
    print_unknown(v, "null", out);
    print_affix(out, "continuing_subword_prefix", v->prefix);
    print_affix(out, "end_of_word_suffix", v->suffix);
    print_bool(out, "fuse_unk", v->fuse_unknown);
    print_bool(out, "byte_fallback", v->byte_fallback);
    print_bool(out, "ignore_merges", v->ignore_merges);
}

static void print_merges(const struct vocabulary *v, struct buf *out)
{
    uint32_t tied = 0;
    buf_adds(out, ",\n    \"merges\": [");
    for (size_t i = 0; i < v->merge_count; i++) {
        buf_adds(out, i ? ",\n      [" : "\n      [");
        token_print(v, v->merges[i].left, out);
        buf_adds(out, ", ");
        token_print(v, v->merges[i].right, out);
        buf_addc(out, ']');
    }
    buf_adds(out, v->merge_count ? "\n    ]" : "]");
    for (size_t i = 0; i < v->merge_count; i++)
        tied |= v->merges[i].tied;
    buf_adds(out, tied ? ",\n    \"ties\": \"" : ""); /* only for SentencePiece, as hides_special */
    for (size_t i = 0; i < v->merge_count && tied; i++)
        buf_addc(out, v->merges[i].tied ? '1' : '0');
    buf_adds(out, tied ? "\"" : "");
}

static void print_wordlevel(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "    \"type\": \"WordLevel\", \"unk_token\": ");
    print_unknown(v, "\"\"", out);
}

/* Appends the members of a Unigram model, as JSON: the tokens with their scores. The tokens of the
 * model come first. */
static void print_unigram(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "    \"type\": \"Unigram\", \"unk_id\": ");
    if (v->roles[TOKENIZER_UNKNOWN] >= 0)
        buf_addf(out, "%lld", (long long)v->roles[TOKENIZER_UNKNOWN]);
    else
        buf_adds(out, "null");
    print_bool(out, "byte_fallback", v->byte_fallback);
    if (v->hides) /* only for SentencePiece; other programs do not know the key */
        print_bool(out, "hides_special", 1);
    buf_adds(out, ",\n    \"vocab\": [");
    for (uint32_t id = 0; id < v->count && v->tokens[id].in_model; id++) {
        buf_adds(out, id ? ",\n      [" : "\n      [");
        token_print(v, id, out);
        buf_addf(out, ", %.17g]", v->scores[id]);
    }
    buf_adds(out, "\n    ]");
}

void tokens_print(const struct vocabulary *v, uint32_t end, const char *between, struct buf *out)
{
    const char *before = "";
    for (uint32_t id = 0; id < end; id++)
        if (v->tokens[id].kind != TOKEN_HOLE) {
            buf_adds(out, before);
            token_print(v, id, out);
            buf_addf(out, ": %u", id);
            before = between;
        }
}

/* Appends the tokens up to the last one of the model, also added ones that the model lacks: else
 * these would get ids after those of the model from Hugging Face. */
static void print_vocab(const struct vocabulary *v, struct buf *out)
{
    uint32_t end = v->count;
    while (end && !v->tokens[end - 1].in_model)
        end--;
    buf_adds(out, ",\n    \"vocab\": {\n      ");
    tokens_print(v, end, ",\n      ", out);
    buf_adds(out, "\n    }");
}

static void print_model(const struct vocabulary *v, struct buf *out)
{
    static void (*const prints[])(const struct vocabulary *v, struct buf *out) = {
        [VOCABULARY_BPE] = print_bpe,
        [VOCABULARY_WORDPIECE] = wordpiece_json_print_model,
        [VOCABULARY_UNIGRAM] = print_unigram,
        [VOCABULARY_WORDLEVEL] = print_wordlevel,
    };
    buf_adds(out, "{\n");
    prints[v->model](v, out);
    if (v->model != VOCABULARY_UNIGRAM)
        print_vocab(v, out);
    if (v->model == VOCABULARY_BPE)
        print_merges(v, out);
    buf_adds(out, "\n  }\n");
}

static void print_normalizer(const struct vocabulary *v, struct buf *out)
{
    if (v->model != VOCABULARY_WORDPIECE) {
        buf_adds(out, "null");
        return;
    }
    buf_adds(out, "{\"type\": \"BertNormalizer\"");
    print_bool(out, "clean_text", v->rules.clean_text);
    print_bool(out, "handle_chinese_chars", v->rules.chinese_chars);
    print_bool(out, "strip_accents", v->rules.strip_accents);
    print_bool(out, "lowercase", v->rules.lowercase);
    buf_addc(out, '}');
}

static void print_post_processor(const struct vocabulary *v, struct buf *out)
{
    if (v->model == VOCABULARY_WORDPIECE)
        templates_print(v, out);
    else
        print_byte_level(out, 1, 1);
}

static void print_decoder(const struct vocabulary *v, struct buf *out)
{
    if (v->model != VOCABULARY_WORDPIECE) {
        print_byte_level(out, 1, 1);
        return;
    }
    buf_addf(out, "{\"type\": \"WordPiece\", \"prefix\": \"%s\"", wordpiece_prefix);
    print_bool(out, "cleanup", v->cleanup);
    buf_addc(out, '}');
}

void tokenizer_json_print(const struct vocabulary *v, struct buf *out)
{
    static const struct {
        const char *name;
        void (*print)(const struct vocabulary *v, struct buf *out); /* used if no JSON was kept */
    } components[COMPONENTS] = {
        [NORMALIZER] = { "normalizer", print_normalizer },
        [PRE_TOKENIZER] = { "pre_tokenizer", print_pre_tokenizer },
        [POST_PROCESSOR] = { "post_processor", print_post_processor },
        [DECODER] = { "decoder", print_decoder },
    };
    buf_adds(out, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
                  "  \"padding\": null,\n");
    print_added(v, out);
    for (int i = 0; i < COMPONENTS; i++) {
        buf_addf(out, "  \"%s\": ", components[i].name);
        if (v->json[i])
            buf_adds(out, v->json[i]);
        else
            components[i].print(v, out);
        buf_adds(out, ",\n");
    }
    buf_adds(out, "  \"model\": ");
    print_model(v, out);
    buf_adds(out, "}\n");
}
