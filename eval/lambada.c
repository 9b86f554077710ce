#include "eval/lambada.h"

#include "common/formats/js.h"
#include "eval/items.h"
#include "unicode/whitespace.h"

/* Values of a window's mark: the rules that it is for. */
enum { RULE_WORD = 1, RULE_TOKEN = 2, RULE_BOTH = RULE_WORD | RULE_TOKEN };

struct lambada {
    struct lambada_score *score;
    const struct tokenizer *tokenizer;
    struct encoder *encoder;
};

int lambada_parse(const char *line, size_t n, const char *name, struct buf *text)
{
    SCOPED_JS object = js_parse_line(line, n, name);
    if (!object)
        return -1;
    size_t len;
    const char *s = js_text(js_get(object, "text"), &len);
    if (s)
        buf_add(text, s, len);
    return s ? 0 : err_set("%s: the object has no string \"text\"", name);
}

/* Appends the tokens that the vocabulary puts before a text, and those of s[0..n). */
static int encode(const struct lambada *l, const char *s, size_t n, struct ids *out)
{
    tokenizer_begin_text(l->tokenizer, out);
    return encoder_encode(l->encoder, s, n, TOKENIZER_ORDINARY, out);
}

/* Appends the tokens of `context`, then those that follow them in the tokens of "context word",
 * then the tokens of the whole passage. *split and *whole are set to the indices where the second
 * and the third part begin. */
static int encode_passage(struct items *g, struct span text, struct span context, struct span word,
                          size_t *split, size_t *whole)
{
    SCOPED(buf) joined = BUF_INIT;
    SCOPED(ids) all = { 0 };
    const size_t begin = g->ids.count;
    buf_add(&joined, context.s, context.n);
    buf_addc(&joined, ' ');
    buf_add(&joined, word.s, word.n);
    if (encode(g->ctx, context.s, context.n, &g->ids) < 0 ||
        encode(g->ctx, joined.data, joined.len, &all) < 0)
        return -1;
    *split = g->ids.count;
    const size_t own = *split - begin;
    ids_append(&g->ids, all.data + own, all.count > own ? all.count - own : 0);
    *whole = g->ids.count;
    return encode(g->ctx, text.s, text.n, &g->ids);
}

/* Adds the windows of one passage: one window if both rules see the same tokens (the usual case),
 * or else two. Returns 1, 0 if the passage has no context, or -1 with an error. */
static int add_passage(struct items *g, struct span passage)
{
    struct span text = whitespace_strip(passage.s, passage.n);
    struct span word = whitespace_last_word(text.s, text.n);
    struct span context = whitespace_strip(text.s, text.n - word.n);
    if (!context.n)
        return 0;
    size_t begin = g->ids.count, split, whole;
    if (encode_passage(g, text, context, word, &split, &whole) < 0)
        return -1;
    size_t end = g->ids.count;
    const uint32_t *ids = g->ids.data;
    int same = end - whole == whole - begin &&
               !memcmp(ids + begin, ids + whole, (end - whole) * sizeof *ids);
    if (same)
        g->ids.count = whole;
    else if (end - whole > 1 && items_add(g, whole, end, 1, RULE_TOKEN) < 0)
        return -1;
    return items_add(g, begin, whole, (int64_t)(whole - split), same ? RULE_BOTH : RULE_WORD) < 0
               ? -1
               : 1;
}

static int judge(void *ctx, const struct window *w, size_t n)
{
    struct lambada_score *score = ((struct lambada *)ctx)->score;
    for (; n; n--, w++) {
        if (w->mark & RULE_TOKEN)
            score->tokens_right += (uint64_t)w->last_right;
        if (!(w->mark & RULE_WORD))
            continue;
        score->words_right += w->right == w->scored;
        score->word_tokens += (uint64_t)w->scored;
        score->word_nll += w->loss;
        score->word_squares += w->loss * w->loss;
    }
    return 0;
}

static int add_line(struct items *g, const char *line, size_t n, const char *name)
{
    struct lambada *l = g->ctx;
    SCOPED(buf) text = BUF_INIT;
    int result = lambada_parse(line, n, name, &text);
    if (!result && (result = add_passage(g, (struct span){ text.data, text.len })) < 0)
        err_in("%s", name);
    l->score->skipped += result == 0;
    l->score->passages += result == 1;
    return result;
}

int lambada_score(struct lambada_score *score, struct scorer *s, const struct tokenizer *t,
                  struct encoder *e, const char *path)
{
    *score = (struct lambada_score){ 0 };
    struct lambada l = { score, t, e };
    return items_score(path, "passage(s)", s, add_line, judge, &l);
}
