/* The part of files.h for lists of merges and of ranks, and for the names of tokens in them. */

#include "common/base/base64.h"
#include "common/base/lines.h"
#include "common/formats/js.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/alphabet.h"

void token_print(const struct vocabulary *v, uint32_t id, struct buf *out)
{
    SCOPED(buf) name = BUF_INIT;
    vocabulary_name(v, id, &name);
    js_quote(out, name.data, name.len);
}

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

int merge_joined(struct vocabulary *v, struct named_merge *m, const char *names, size_t n)
{
    const char *space = n ? memchr(names, ' ', n) : NULL;
    const size_t left = space ? (size_t)(space - names) : 0;
    if (!left || left + 1 == n)
        return err_set("not a pair of tokens");
    return merge_left(v, m, names, left) < 0 ? -1 : merge_right(v, m, space + 1, n - left - 1);
}

int merges_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    SCOPED(named_merge) m = { .bytes = BUF_INIT };
    struct lines l = LINES_OF(text, n);
    while (lines_next_text(&l)) {
        if (!l.len || (l.number == 1 && bytes_begin(l.line, l.len, "#version")))
            continue;
        if (merge_joined(v, &m, l.line, l.len) < 0)
            return err_in("%s: line %" PRIu64, name, l.number);
    }
    return 0;
}

/* ---- .tiktoken ----------------------------------------------------------------------------- */

static int put_rank(struct vocabulary *v, const char *line, size_t len, struct buf *bytes)
{
    const char *space = memchr(line, ' ', len);
    size_t digits = space ? len - (size_t)(space - line) - 1 : 0;
    int64_t rank = 0;
    buf_clear(bytes);
    int none = space == line + 1 && *line == '='; /* Whisper's file has a token of no bytes */
    if (!space || (!none && base64_decode(bytes, line, (size_t)(space - line)) < 0))
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

int tiktoken_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    SCOPED(buf) bytes = BUF_INIT;
    struct lines l = LINES_OF(text, n);
    vocabulary_expect(v, n);
    while (lines_next_text(&l))
        if (l.len && put_rank(v, l.line, l.len, &bytes) < 0)
            return err_in("%s: line %" PRIu64, name, l.number);
    if (!v->count)
        return err_set("%s: no tokens", name);
    return vocabulary_derive_merges(v) < 0 ? err_in("%s", name) : 0;
}
