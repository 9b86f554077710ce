#include "tokenizer/files/model_json.h"

#include "common/base/utf8.h"
#include "common/formats/js_scan.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/alphabet.h"

static int check_utf8(const struct js_scan *s)
{
    size_t good = utf8_valid(s->text, s->n);
    return good == s->n ? 0 : js_scan_error(s, good, "not UTF-8");
}

/* ---- where the parts are -------------------------------------------------------------------- */

/* Skips a value. If it begins with `open`, sets *part to the text between its brackets. */
static int find_part(struct js_scan *s, char open, struct js_cut *part)
{
    int opens = js_scan_peek(s) == open;
    size_t begin = s->at + 1;
    if (js_scan_skip(s) < 0)
        return -1;
    if (opens)
        *part = (struct js_cut){ begin, s->at - 1 };
    return 0;
}

/* Finds the parts in the root of the file, or with `in_model` 1 in the root's member "model". */
static int find_parts(struct js_scan *s, struct model_parts *p, int in_model)
{
    const char *key;
    size_t n;
    int more;
    if (js_scan_peek(s) != '{')
        return in_model ? js_scan_skip(s) : 0;
    s->at++;
    for (size_t i = 0; (more = js_scan_next(s, '}', i)) > 0; i++) {
        if (js_scan_key(s, &key, &n) < 0 ||
            (!in_model && bytes_are(key, n, "model")   ? find_parts(s, p, 1)
             : in_model && bytes_are(key, n, "vocab")  ? find_part(s, '{', &p->vocab)
             : in_model && bytes_are(key, n, "merges") ? find_part(s, '[', &p->merges)
                                                       : js_scan_skip(s)) < 0)
            return -1;
    }
    return more;
}

int model_parts_find(struct model_parts *p, const char *text, size_t n)
{
    SCOPED(js_scan) s;
    *p = (struct model_parts){ 0 };
    js_scan_init(&s, text, n);
    return check_utf8(&s) < 0 ? -1 : find_parts(&s, p, 0);
}

size_t model_parts_cuts(const struct model_parts *p, struct js_cut cuts[2])
{
    int merges_first = p->merges.begin < p->vocab.begin;
    cuts[merges_first] = p->vocab;
    cuts[!merges_first] = p->merges;
    return 2;
}

/* Starts a scan after a part's opening bracket; it ends at the closing one. */
static void begin_part(struct js_scan *s, const char *text, const struct js_cut *part)
{
    js_scan_init(s, text, part->end + 1);
    s->at = part->begin;
}

/* ---- tokens --------------------------------------------------------------------------------- */

typedef int put_token(struct vocabulary *v, const char *name, size_t n, int64_t id,
                      struct buf *bytes);

/* Reads the members of the object at s up to its end, and calls `put` for each. */
static int read_tokens(struct vocabulary *v, struct js_scan *s, put_token *put)
{
    SCOPED(buf) bytes = BUF_INIT;
    const char *name;
    size_t n;
    int64_t id;
    int more;
    for (size_t i = 0; (more = js_scan_next(s, '}', i)) > 0; i++) {
        size_t at = s->at;
        if (js_scan_key(s, &name, &n) < 0)
            return -1;
        if ((js_scan_int(s, &id) < 0 ? err_set("it has no whole number for an id")
                                     : put(v, name, n, id, &bytes)) < 0)
            return err_in("token '%.*s' at byte %zu", (int)n, name, at);
    }
    return more;
}

/* Reads the model's entry for a token that is also an added token. `id` is the token's number in
 * the model, `added` its number as an added token; they must be equal. `bytes` are the bytes that
 * the name spells in the model. They may differ from the added token's text: "\u00E9" is two bytes
 * in a text, but the byte 0xE9 in the byte alphabet. Then the token is decoded to the model's
 * bytes, and is still found by the added token's text. Returns 0, or -1 with an error. */
static int read_added_again(struct vocabulary *v, int64_t id, uint32_t added,
                            const struct buf *bytes)
{
    size_t n = 0;
    if (id != added)
        return err_set("it has id %lld, as an added token %u", (long long)id, added);
    if (v->tokens[id].in_model)
        return err_set("it occurs twice");
    v->tokens[id].in_model = 1;
    const char *content = vocabulary_bytes(v, added, &n);
    if (bytes->len && (n != bytes->len || memcmp(content, bytes->data, n) != 0))
        vocabulary_respell(v, added, bytes->data, bytes->len);
    return 0;
}

/* Returns `id` if it is an added token spelled name[0..n), else the id of the token with these
 * bytes, or -1. A model may have runs of spaces both by their own name and in the byte alphabet. */
static int64_t find_added(const struct vocabulary *v, const char *name, size_t n, int64_t id)
{
    size_t len = 0;
    const char *content = id >= 0 && id < v->count ? vocabulary_bytes(v, (uint32_t)id, &len) : NULL;
    int same = content && len == n && !memcmp(content, name, n) && v->tokens[id].added;
    return same ? id : vocabulary_find(v, name, n);
}

static int put_model_token(struct vocabulary *v, const char *name, size_t n, int64_t id,
                           struct buf *bytes)
{
    int64_t added = find_added(v, name, n, id);
    buf_clear(bytes);
    int spelled = !v->byte_level || alphabet_decode(bytes, name, n) == 0;
    if (!v->byte_level)
        buf_add(bytes, name, n);
    if (added >= 0 && v->tokens[added].kind == TOKEN_ADDED)
        return read_added_again(v, id, (uint32_t)added, bytes);
    if (!spelled)
        return err_set("it has a character that is not in the byte alphabet");
    return vocabulary_put(v, id, bytes->data, bytes->len, TOKEN_MODEL);
}

int model_vocab_read(struct vocabulary *v, const char *text, const struct model_parts *p)
{
    SCOPED(js_scan) s;
    begin_part(&s, text, &p->vocab);
    return read_tokens(v, &s, put_model_token) < 0 ? err_in("model.vocab") : 0;
}

int model_pieces_read(struct vocabulary *v, const struct js *list)
{
    SCOPED(buf) bytes = BUF_INIT;
    int result = 0;
    for (size_t i = 0; i < js_count(list) && !result; i++) {
        const struct js *piece = js_at(list, i);
        size_t n;
        double score;
        const char *name = js_text(js_at(piece, 0), &n);
        if (js_count(piece) != 2 || !name || js_real(js_at(piece, 1), &score) < 0)
            result = err_set("not a token and its score");
        else if ((result = put_model_token(v, name, n, (int64_t)i, &bytes)) == 0)
            vocabulary_score(v, (uint32_t)i, score);
        if (result < 0)
            err_in("item %zu", i);
    }
    for (uint32_t id = (uint32_t)js_count(list); id < v->count && !result; id++)
        vocabulary_score(v, id, 0); /* added tokens */
    return result < 0 ? err_in("model.vocab") : 0;
}

/* ---- vocab.json ----------------------------------------------------------------------------- */

/* Adds a token with a name in the byte alphabet, or the end-of-text token. */
static int put_plain_token(struct vocabulary *v, const char *name, size_t n, int64_t id,
                           struct buf *bytes)
{
    if (bytes_are(name, n, end_of_text_name)) {
        if (v->end_of_text >= 0)
            return err_set("it occurs twice");
        v->end_of_text = id;
        return vocabulary_put_special(v, id, name, n, 1);
    }
    return put_model_token(v, name, n, id, bytes);
}

static int read_vocab_json(struct vocabulary *v, struct js_scan *s)
{
    if (check_utf8(s) < 0)
        return -1;
    if (js_scan_peek(s) >= 0 && js_scan_peek(s) != '{')
        return err_set("not an object of tokens");
    if (js_scan_mark(s, '{') < 0 || read_tokens(v, s, put_plain_token) < 0)
        return -1;
    return js_scan_peek(s) < 0 ? vocabulary_check(v)
                               : js_scan_error(s, s->at, "more behind the object's end");
}

int vocab_json_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    SCOPED(js_scan) s;
    js_scan_init(&s, text, n);
    vocabulary_expect(v, n);
    return read_vocab_json(v, &s) < 0 ? err_in("%s", name) : 0;
}

/* ---- merges --------------------------------------------------------------------------------- */

/* Reads a merge of the form "left right" and adds it to v; *m is working memory. */
static int read_joined(struct vocabulary *v, struct js_scan *s, struct named_merge *m)
{
    const char *names;
    size_t n;
    return js_scan_text(s, &names, &n) < 0 ? -1 : merge_joined(v, m, names, n);
}

/* Reads a merge of the form ["left", "right"] and adds it to v; *m is working memory. */
static int read_pair(struct vocabulary *v, struct js_scan *s, struct named_merge *m)
{
    const char *name;
    size_t n, count = 0;
    int more = js_scan_mark(s, '[');
    for (; !more && (more = js_scan_next(s, ']', count)) > 0; count++) {
        if (js_scan_text(s, &name, &n) < 0)
            return -1;
        if (!n || count == 2)
            return err_set("not a pair of tokens");
        more = count ? merge_right(v, m, name, n) : merge_left(v, m, name, n);
    }
    return more < 0 || count == 2 ? more : err_set("not a pair of tokens");
}

int model_merges_read(struct vocabulary *v, const char *text, const struct model_parts *p)
{
    SCOPED(js_scan) s;
    SCOPED(named_merge) m = { .bytes = BUF_INIT };
    int more;
    begin_part(&s, text, &p->merges);
    for (size_t i = 0; (more = js_scan_next(&s, ']', i)) > 0; i++) {
        int c = js_scan_peek(&s);
        size_t at = s.at;
        more = c == '"'   ? read_joined(v, &s, &m)
               : c == '[' ? read_pair(v, &s, &m)
                          : err_set("not a pair of tokens");
        if (more < 0) {
            err_in("item %zu at byte %zu", i, at);
            break;
        }
    }
    return more < 0 ? err_in("model.merges") : 0;
}
