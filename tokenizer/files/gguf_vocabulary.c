/* Reads vocabularies of GGUF files (files.h). Checked by
 * tests/unit/tokenizer/files/test_gguf_vocabulary.c, tests/fuzz/gguf.c and
 * tests/peers/gguf_files.py. */

#include "common/base/choice.h"
#include "common/base/utf8.h"
#include "common/formats/gguf.h"
#include "common/formats/js.h"
#include "tokenizer/files/encodings.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/sentencepiece.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/wordpiece.h"

#define BYTES(regex)                                                                                \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":" regex \
    "}"

/* Patterns of DeepSeek's tokenizers. Each cuts out what it matches, one after the other. */
#define HAN "[一-龥ࠀ-一가-퟿]+"
static const char *const deepseek_coder[] = { "[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+",
                                              HAN,      "\\p{N}",      NULL };
static const char *const deepseek_llm[] = {
    "[\r\n]",
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁ"
    "Ҋ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕ"
    "ἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ί"
    "ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉ"
    "ⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿ"
    "ﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟"
    "𞤀-𞥃]+",
    "\\s?[!-/:-~！-／：-～‘-‟　-。]+",
    "\\s+$",
    HAN,
    "\\p{N}+",
    NULL
};

/* Pre-tokenizers of llama.cpp by their names, with its defaults for keys that are missing. */
static const struct pre {
    const char *name, *others; /* others: names that mean the same, separated by '|', or NULL */
    enum tokenizer_pattern pattern;
    const char *const *splits; /* in place of the pattern: patterns up to NULL */
    int digits;                /* 1: each digit is a piece of its own */
    int begin, whole; /* begin 1: puts the BOS token before each text; whole 1: does not merge
                         pieces that are tokens */
} pres[] = {
    { .name = "gpt-2", "phi-2|mpt|olmo|gigachat|mellum|exaone4|a.x-4.0", TOKENIZER_GPT2 },
    { .name = "llama-bpe",
      "llama3|llama-v3|falcon3|falcon-h1|pixtral|midm-2.0|lfm2|jina-v5-nano",
      TOKENIZER_LLAMA3,
      .begin = 1,
      .whole = 1 },
    { .name = "qwen2", "deepseek-r1-qwen|kormo|megrez|stablelm2|hunyuan|grok-2", TOKENIZER_QWEN },
    { .name = "qwen35", NULL, TOKENIZER_QWEN35 },
    { .name = "smollm",
      "starcoder|refact|command-r|codeshell|exaone|minerva-7b",
      TOKENIZER_GPT2,
      .digits = 1 },
    { .name = "tekken", NULL, TOKENIZER_TEKKEN, .begin = 1, .whole = 1 },
    { .name = "gpt-4o", "llama4|kanana2|minimax-m2", TOKENIZER_O200K },
    { .name = "deepseek-coder", NULL, TOKENIZER_GPT2, deepseek_coder },
    { .name = "deepseek-llm", NULL, TOKENIZER_GPT2, deepseek_llm },
    { .name = "smaug-bpe", "dbrx|glm4|chatglm-bpe", TOKENIZER_LLAMA3 },
    /* only written: it differs for a text that ends with a line end and spaces */
    { .name = "llama-bpe", NULL, TOKENIZER_CL100K },
};
enum { PRES = sizeof pres / sizeof *pres };

/* ---- keys --------------------------------------------------------------------------------- */

static unsigned long long byte_of(const struct gguf *g, const void *p)
{
    return (unsigned long long)((const unsigned char *)p - g->map.data);
}

static const struct gguf_key *list_of(const struct gguf *g, const char *name, enum gguf_form items)
{
    const struct gguf_key *k = gguf_find(g, name);
    if (k && k->form == GGUF_LIST && k->items == items)
        return k;
    if (k)
        err_set("%s: '%s' is no list of its type, at byte %llu", g->path, name,
                byte_of(g, k->value));
    else
        err_set("%s: no key '%s': give --vocab", g->path, name);
    return NULL;
}

static int read_text(const struct gguf *g, const char *name, struct buf *text)
{
    const struct gguf_key *k = gguf_find(g, name);
    return k ? gguf_text(g, k, text) : err_set("%s: no key '%s': give --vocab", g->path, name);
}

/* Sets *flag to the value of a key, 0 or 1, or to `absent` if there is no such key. */
static int read_flag(const struct gguf *g, const char *name, int absent, int *flag)
{
    double x = absent;
    if (gguf_real(g, name, &x) < 0)
        return -1;
    *flag = x != 0;
    return 0;
}

/* ---- tokens ------------------------------------------------------------------------------- */

/* The lists of a vocabulary, which have an item for each id. */
struct listed {
    const struct gguf *g;
    const struct gguf_key *tokens, *types, *scores; /* scores NULL: not in this model */
    int64_t begin, end, unknown;                    /* ids; -1: none */
};

/* Returns the list `name` of items of type `form`, which must be as long as the list of tokens;
 * NULL with an error. `what` names its items in errors. */
static const struct gguf_key *find_parallel(const struct listed *l, const char *name,
                                            enum gguf_form form, const char *what)
{
    const struct gguf_key *k = list_of(l->g, name, form);
    if (!k || k->count == l->tokens->count)
        return k;
    err_set("%s: bad %s: %llu %s of %llu tokens, at byte %llu", l->g->path, name,
            (unsigned long long)k->count, what, (unsigned long long)l->tokens->count,
            byte_of(l->g, k->value));
    return NULL;
}

/* Sets *id to the id that a key names. Without the key, sets it to `absent`, or to -1 if the file
 * has no such id. Returns 0, or -1 with an error. */
static int read_id(const struct listed *l, const char *name, int64_t absent, int64_t *id)
{
    const struct gguf_key *k = gguf_find(l->g, name);
    const uint64_t tokens = l->tokens->count;
    double x = absent < (int64_t)tokens ? (double)absent : -1;
    if (gguf_real(l->g, name, &x) < 0)
        return -1;
    if (k && !(x >= 0 && x < (double)tokens))
        return err_set("%s: bad %s: %g is none of %llu tokens, at byte %llu", l->g->path, name, x,
                       (unsigned long long)tokens, byte_of(l->g, k->value));
    *id = (int64_t)x;
    return 0;
}

/* Sets *l to the lists and the ids of special tokens. `begin`, `end` and `unknown` are the ids to
 * use where the file has no keys of them. Returns 0, or -1 with an error. */
static int find_lists(struct listed *l, const struct gguf *g, int64_t begin, int64_t end,
                      int64_t unknown)
{
    *l = (struct listed){ .g = g };
    return !(l->tokens = list_of(g, "tokenizer.ggml.tokens", GGUF_TEXT)) ||
                   !(l->types = find_parallel(l, "tokenizer.ggml.token_type", GGUF_I32, "types")) ||
                   read_id(l, "tokenizer.ggml.bos_token_id", begin, &l->begin) < 0 ||
                   read_id(l, "tokenizer.ggml.eos_token_id", end, &l->end) < 0
               ? -1
               : read_id(l, "tokenizer.ggml.unknown_token_id", unknown, &l->unknown);
}

struct item {
    int64_t id;
    const char *s; /* s[0..n) in the mapped file */
    size_t n;
    enum sentencepiece_type type;
    double score; /* 0 without scores */
};

/* Calls put(v, token, ctx) for each token that is in use. Returns 0, or -1 with an error that names
 * the token for which `put` failed. */
static int each_token(struct vocabulary *v, const struct listed *l, void *ctx,
                      int (*put)(struct vocabulary *v, const struct item *t, void *ctx))
{
    const unsigned char *at = l->tokens->value;
    for (uint64_t id = 0; id < l->tokens->count; id++) {
        struct item t = { .id = (int64_t)id };
        const int32_t type = gguf_item_i32(l->types, id);
        t.s = gguf_item_text(&at, &t.n);
        t.type = (enum sentencepiece_type)type;
        if (type < SENTENCEPIECE_NORMAL || type > SENTENCEPIECE_BYTE)
            return err_set("%s: bad type %d of token %llu, at byte %llu", l->g->path, type,
                           (unsigned long long)id, byte_of(l->g, l->types->value + 4 * id));
        if (l->scores)
            t.score = gguf_item_f32(l->scores, id);
        if (!(t.score > -1e30 && t.score < 1e30))
            return err_set("%s: bad score %g of token %llu, at byte %llu", l->g->path, t.score,
                           (unsigned long long)id, byte_of(l->g, l->scores->value + 4 * id));
        if (type != SENTENCEPIECE_UNUSED &&
            (utf8_valid(t.s, t.n) != t.n ? err_set("it is not UTF-8") : put(v, &t, ctx)))
            return err_in("%s: token %llu, at byte %llu", l->g->path, (unsigned long long)id,
                          byte_of(l->g, t.s));
    }
    return vocabulary_check(v) < 0 ? err_in("%s", l->g->path) : 0;
}

/* Returns the id if a token has it, else -1. */
static int64_t used(const struct vocabulary *v, int64_t id)
{
    return id >= 0 && id < v->count && v->tokens[id].kind != TOKEN_HOLE ? id : -1;
}

static int is_special(const struct item *t)
{
    return t->type == SENTENCEPIECE_CONTROL || t->type == SENTENCEPIECE_UNKNOWN;
}

/* Adds an added token: one that is searched for before a text is split into pieces. */
static int put_added(struct vocabulary *v, const struct item *t)
{
    if (!is_special(t) && t->type != SENTENCEPIECE_USER_DEFINED)
        return err_set("unsupported type %d: give --vocab", (int)t->type);
    /* spaces may also be a token of the model, which spells them in the byte alphabet */
    const int64_t same = vocabulary_find(v, t->s, t->n);
    const int respelled = v->byte_level && alphabet_width(t->s, t->n) > t->n;
    if (!t->n || (same >= 0 && (v->tokens[same].kind == TOKEN_ADDED || !respelled)))
        return err_set(t->n ? "it occurs twice" : "it is empty");
    if (vocabulary_put(v, t->id, t->s, t->n, TOKEN_ADDED) < 0)
        return -1;
    v->tokens[t->id].in_model = 0;
    vocabulary_add(v, &(struct added_token){ .id = (uint32_t)t->id,
                                             .special = is_special(t),
                                             .normalized = !is_special(t) });
    return 0;
}

/* Puts the token l->begin before each text and l->end behind it, as the file's keys say. `begin`: 1
 * if l->begin is put if the file has no key for it. Returns 0, or -1 with an error. */
static int put_around(struct vocabulary *v, const struct listed *l, int begin)
{
    int end;
    if (read_flag(l->g, "tokenizer.ggml.add_bos_token", begin, &begin) < 0 ||
        read_flag(l->g, "tokenizer.ggml.add_eos_token", 0, &end) < 0)
        return -1;
    post_processor_put(v, begin ? used(v, l->begin) : -1, end ? used(v, l->end) : -1);
    return 0;
}

/* ---- gpt2 --------------------------------------------------------------------------------- */

static const struct pre *find_pre(const struct gguf *g)
{
    SCOPED(buf) text = BUF_INIT;
    if (read_text(g, "tokenizer.ggml.pre", &text) < 0)
        return NULL;
    for (int i = 0; i < PRES; i++)
        if (!strcmp(text.data, pres[i].name) ||
            (pres[i].others && choice_find(pres[i].others, text.data, text.len) >= 0))
            return &pres[i];
    err_set("%s: unsupported tokenizer.ggml.pre '%s': give --vocab", g->path, text.data);
    return NULL;
}

/* Appends the pre-tokenizer as JSON. */
static void put_pre(struct buf *out, const struct pre *pre)
{
    const char *const one[] = { encoding_pattern(pre->pattern), NULL };
    const char *const *splits = pre->splits ? pre->splits : one;
    const char *bytes = *splits ? BYTES("false") "]}" : BYTES("true") "]}";
    buf_adds(out, "{\"type\":\"Sequence\",\"pretokenizers\":[");
    if (pre->digits)
        buf_adds(out, "{\"type\":\"Digits\",\"individual_digits\":true},");
    for (; *splits; splits++) {
        buf_adds(out, "{\"type\":\"Split\",\"pattern\":{\"Regex\":");
        js_quote(out, *splits, strlen(*splits));
        buf_adds(out, "},\"behavior\":\"Isolated\",\"invert\":false},");
    }
    buf_adds(out, bytes);
}

static int is_gpt2(const struct js *step)
{
    return !strcmp(js_type(step), "ByteLevel") && js_flag(step, "use_regex", 1) &&
           !js_flag(step, "add_prefix_space", 1);
}

const char *gguf_pre_tokenizer(const struct js *root)
{
    const struct js *value = js_get(root, "pre_tokenizer"), *steps = js_get(value, "pretokenizers");
    const struct js *first = js_at(steps, 0), *last = js_at(steps, 1);
    const struct js *regex = js_get(js_get(first, "pattern"), "Regex");
    const char *kind = js_count(steps) == 2 ? js_type(first) : "";
    const int digits = !strcmp(kind, "Digits") && js_flag(first, "individual_digits", 0);
    const int split = !strcmp(kind, "Split") && !strcmp(js_type(last), "ByteLevel");
    const int whole = js_flag(js_get(root, "model"), "ignore_merges", 0);
    const char *name = NULL;
    for (int i = 0; i < PRES; i++) {
        const char *pattern = encoding_pattern(pres[i].pattern);
        if (!pres[i].splits &&
            (pattern ? split && js_text_is(regex, pattern)
                     : is_gpt2(digits ? last : value) && pres[i].digits == digits) &&
            (!name || pres[i].whole == whole))
            name = pres[i].name;
    }
    return name;
}

/* Adds a token of byte-level BPE. `bytes` is working memory. */
static int put_byte_level(struct vocabulary *v, const struct item *t, void *bytes)
{
    struct buf *b = bytes;
    if (t->type != SENTENCEPIECE_NORMAL)
        return put_added(v, t);
    buf_clear(b);
    if (alphabet_decode(b, t->s, t->n) < 0)
        return err_set("it has a character that is not in the byte alphabet");
    return vocabulary_put(v, t->id, b->data, b->len, TOKEN_MODEL);
}

static int read_merges(struct vocabulary *v, const struct gguf *g)
{
    const struct gguf_key *merges = list_of(g, "tokenizer.ggml.merges", GGUF_TEXT);
    const unsigned char *at = merges ? merges->value : NULL;
    SCOPED(named_merge) m = { .bytes = BUF_INIT };
    for (uint64_t i = 0; merges && i < merges->count; i++) {
        size_t n;
        const char *s = gguf_item_text(&at, &n);
        if (merge_joined(v, &m, s, n) < 0)
            return err_in("%s: merge %llu, at byte %llu", g->path, (unsigned long long)i,
                          byte_of(g, s));
    }
    return merges ? 0 : -1;
}

static int frame_byte_level(struct vocabulary *v, const struct listed *l, const struct pre *pre)
{
    SCOPED(buf) frame = buf_format("{\"pre_tokenizer\":");
    put_pre(&frame, pre);
    buf_adds(&frame, ",\"decoder\":" BYTES("true") "}");
    v->ignore_merges = pre->whole;
    return frame_read(v, frame.data, frame.len) < 0 ? err_in("%s", l->g->path)
                                                    : put_around(v, l, pre->begin);
}

static int read_byte_level(struct vocabulary *v, const struct gguf *g)
{
    struct listed l;
    SCOPED(buf) bytes = BUF_INIT;
    const struct pre *pre = find_pre(g);
    return !pre || find_lists(&l, g, -1, -1, -1) < 0 ||
                   each_token(v, &l, &bytes, put_byte_level) < 0 || read_merges(v, g) < 0
               ? -1
               : frame_byte_level(v, &l, pre);
}

/* ---- llama -------------------------------------------------------------------------------- */

static int put_piece(struct vocabulary *v, const struct item *t, void *pieces)
{
    v->byte_fallback |= t->type == SENTENCEPIECE_BYTE;
    return sentencepiece_put(pieces, t->id, t->s, t->n, t->score, t->type);
}

static int finish_pieces(struct vocabulary *v, const struct listed *l, struct sentencepiece *m)
{
    if (v->roles[TOKENIZER_UNKNOWN] < 0)
        v->roles[TOKENIZER_UNKNOWN] = used(v, l->unknown);
    if (v->roles[TOKENIZER_UNKNOWN] < 0 && !v->byte_fallback)
        return err_set("%s: no token for unknown characters, of type 2 or 6: give --vocab",
                       l->g->path);
    if (read_flag(l->g, "tokenizer.ggml.add_space_prefix", 1, &m->dummy_prefix) < 0)
        return -1;
    v->end_of_text = used(v, l->end);
    return sentencepiece_finish(m) < 0 ? err_in("%s", l->g->path) : put_around(v, l, 1);
}

static int read_pieces(struct vocabulary *v, const struct gguf *g)
{
    struct listed l;
    SCOPED(sentencepiece) m = { .v = v, .model = SENTENCEPIECE_BPE };
    if (find_lists(&l, g, 1, 2, 0) < 0 ||
        !(l.scores = find_parallel(&l, "tokenizer.ggml.scores", GGUF_F32, "scores")))
        return -1;
    v->byte_level = 0;
    return each_token(v, &l, &m, put_piece) < 0 ? -1 : finish_pieces(v, &l, &m);
}

/* ---- bert --------------------------------------------------------------------------------- */

static const char mark[] = "\u2581"; /* begins a token that begins a word */

/* Returns 1 if the token's name is like [CLS], else 0. Such names have no mark. */
static int is_bracketed(const struct item *t)
{
    return t->n > 2 && t->s[0] == '[' && t->s[t->n - 1] == ']';
}

/* Adds a token of WordPiece. `name` is working memory. */
static int put_word(struct vocabulary *v, const struct item *t, void *name)
{
    struct buf *b = name;
    const size_t skip = bytes_begin(t->s, t->n, mark) ? strlen(mark) : 0;
    if (bert_is_role(t->s, t->n)) { /* a normal token in some files */
        struct item special = *t;
        special.type = SENTENCEPIECE_CONTROL;
        return put_added(v, &special);
    }
    if (t->type != SENTENCEPIECE_NORMAL)
        return put_added(v, t);
    buf_clear(b);
    if (!skip && !is_bracketed(t))
        buf_adds(b, wordpiece_prefix);
    buf_add(b, t->s + skip, t->n - skip);
    return vocabulary_put(v, t->id, b->data, b->len, TOKEN_MODEL);
}

static int finish_words(struct vocabulary *v, const struct listed *l)
{
    static const char *const roles[] = { "padding", "unknown", "bos", "seperator", "mask" };
    char key[64];
    wordpiece_infer(v);
    for (int i = 0; i < TOKENIZER_ROLES; i++) {
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", roles[i]);
        if (read_id(l, key, -1, &v->roles[i]) < 0)
            return -1;
        v->roles[i] = used(v, v->roles[i]);
    }
    if (bert_roles(v) < 0)
        return err_in("%s", l->g->path);
    bert_templates(v);
    return 0;
}

static int read_words(struct vocabulary *v, const struct gguf *g)
{
    struct listed l;
    SCOPED(buf) name = BUF_INIT;
    v->byte_level = 0;
    if (find_lists(&l, g, -1, -1, -1) < 0 || each_token(v, &l, &name, put_word) < 0)
        return -1;
    return finish_words(v, &l);
}

/* ---- all ---------------------------------------------------------------------------------- */

static const struct {
    const char *model;
    int (*read)(struct vocabulary *v, const struct gguf *g);
} models[] = { { "gpt2", read_byte_level }, { "llama", read_pieces }, { "bert", read_words } };
enum { MODELS = sizeof models / sizeof *models };

static int read_keys(struct vocabulary *v, const struct gguf *g)
{
    SCOPED(buf) model = BUF_INIT;
    if (read_text(g, "tokenizer.ggml.model", &model) < 0)
        return -1;
    for (int i = 0; i < MODELS; i++)
        if (!strcmp(model.data, models[i].model))
            return models[i].read(v, g);
    return err_set("%s: unsupported tokenizer.ggml.model '%s', only gpt2, llama and bert: "
                   "give --vocab",
                   g->path, model.data);
}

/* Reads from GGUF's keys which tokens begin, end and fill texts: the vocabulary may not tell it. */
static int read_ids(struct vocabulary *v, const struct gguf *g)
{
    const struct {
        const char *key;
        int64_t *id;
    } tokens[] = { { "tokenizer.ggml.bos_token_id", &v->begin_of_text },
                   { "tokenizer.ggml.eos_token_id", &v->end_of_text },
                   { "tokenizer.ggml.padding_token_id", &v->roles[TOKENIZER_PAD] } };
    for (int i = 0; i < 3 && v->model != VOCABULARY_WORDPIECE; i++) {
        double id = -1;
        if (gguf_real(g, tokens[i].key, &id) < 0)
            return -1;
        if (id >= 0 && id < v->count)
            *tokens[i].id = used(v, (int64_t)id);
    }
    return 0;
}

int gguf_vocabulary_read(struct vocabulary *v, const struct gguf *g)
{
    const struct gguf_key *k = gguf_find(g, "tokenizer.huggingface.json");
    SCOPED(buf) text = BUF_INIT;
    int failed = k ? gguf_text(g, k, &text) : read_keys(v, g);
    if (k && !failed)
        failed = tokenizer_json_parse(v, text.data, text.len, g->path);
    return failed ? -1 : read_ids(v, g);
}
