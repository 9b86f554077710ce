#include "eval/lambada.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/mem.h"
#include "unicode/whitespace.h"

/* Passages scored at a time: enough to batch windows of similar length together. */
enum { GROUP = 256 };

enum rule { RULE_WORD = 1, RULE_TOKEN = 2, RULE_BOTH = 3 };

struct group {
    struct ids ids; /* the tokens of all windows, one after another */
    struct window windows[2 * GROUP];
    size_t begins[2 * GROUP]; /* the indices of the windows' first tokens in ids */
    enum rule rules[2 * GROUP];
    size_t count, passages;
};

int lambada_parse(const char *line, size_t n, const char *name, struct buf *text)
{
    struct js *object = js_parse(line, n, name);
    if (!object)
        return -1;
    size_t len;
    const char *s = js_text(js_get(object, "text"), &len);
    if (s)
        buf_add(text, s, len);
    js_free(object);
    return s ? 0 : err_set("%s: the object has no string \"text\"", name);
}

/* Adds ids[begin..end) of the group as a window. A window longer than the model's positions is cut
 * at its beginning. Returns 0, or -1 with an error. */
static int add_window(struct group *g, size_t begin, size_t end, int64_t scored, int64_t positions,
                      enum rule rule)
{
    int64_t count = (int64_t)(end - begin), most = positions + 1;
    if (scored > positions)
        return err_set("the last word has %lld tokens, more than the model's %lld positions",
                       (long long)scored, (long long)positions);
    if (count > most)
        count = most;
    g->windows[g->count] = (struct window){ .count = count, .scored = scored };
    g->begins[g->count] = end - (size_t)count;
    g->rules[g->count++] = rule;
    return 0;
}

/* Appends the tokens of `context`, then those of " word", then those of the whole passage. *split
 * and *whole are set to the indices where the second and the third part begin. Returns 0, or -1
 * with an error. */
static int encode_passage(struct group *g, struct encoder *e, struct span text, struct span context,
                          struct span word, size_t *split, size_t *whole)
{
    struct buf label = BUF_INIT;
    buf_addc(&label, ' ');
    buf_add(&label, word.s, word.n);
    int result = encoder_encode(e, context.s, context.n, TOKENIZER_ORDINARY, &g->ids);
    *split = g->ids.count;
    if (!result)
        result = encoder_encode(e, label.data, label.len, TOKENIZER_ORDINARY, &g->ids);
    *whole = g->ids.count;
    if (!result)
        result = encoder_encode(e, text.s, text.n, TOKENIZER_ORDINARY, &g->ids);
    buf_release(&label);
    return result;
}

/* Adds the windows of one passage: one window if both rules see the same tokens (the usual case),
 * or else two. Returns 1, 0 if the passage has no context, or -1 with an error. */
static int add_passage(struct group *g, struct encoder *e, struct span passage, int64_t positions)
{
    struct span text = whitespace_strip(passage.s, passage.n);
    struct span word = whitespace_last_word(text.s, text.n);
    struct span context = whitespace_strip(text.s, text.n - word.n);
    if (!context.n)
        return 0;
    size_t begin = g->ids.count, split, whole;
    if (encode_passage(g, e, text, context, word, &split, &whole) < 0)
        return -1;
    size_t end = g->ids.count;
    const uint32_t *ids = g->ids.data;
    int same = end - whole == whole - begin &&
               !memcmp(ids + begin, ids + whole, (end - whole) * sizeof *ids);
    if (same)
        g->ids.count = whole;
    else if (end - whole > 1 && add_window(g, whole, end, 1, positions, RULE_TOKEN) < 0)
        return -1;
    int result = add_window(g, begin, whole, (int64_t)(whole - split), positions,
                            same ? RULE_BOTH : RULE_WORD);
    return result < 0 ? -1 : 1;
}

static int score_group(struct lambada_score *score, struct scorer *s, struct group *g,
                       const char *path)
{
    for (size_t i = 0; i < g->count; i++)
        g->windows[i].ids = g->ids.data + g->begins[i];
    if (score_windows(s, g->windows, g->count) < 0)
        return err_in("%s", path);
    for (size_t i = 0; i < g->count; i++) {
        const struct window *w = &g->windows[i];
        if (g->rules[i] & RULE_TOKEN)
            score->tokens_right += (uint64_t)w->last_right;
        if (!(g->rules[i] & RULE_WORD))
            continue;
        score->words_right += w->right == w->scored;
        score->word_tokens += (uint64_t)w->scored;
        score->word_nll += w->loss;
        score->word_squares += w->loss * w->loss;
    }
    score->passages += g->passages;
    g->ids.count = g->count = g->passages = 0;
    return 0;
}

/* Adds the passage of one line to the group. Blank lines are skipped. Returns 0, or -1 with an
 * error. */
static int read_passage(struct lambada_score *score, struct group *g, struct encoder *e,
                        int64_t positions, const char *line, size_t n, const char *name)
{
    struct buf text = BUF_INIT;
    int result = 0;
    if (whitespace_strip(line, n).n) {
        result = lambada_parse(line, n, name, &text);
        if (!result) {
            result = add_passage(g, e, (struct span){ text.data, text.len }, positions);
            if (result < 0)
                err_in("%s", name);
            score->skipped += result == 0;
            g->passages += result == 1;
        }
    }
    buf_release(&text);
    return result < 0 ? -1 : 0;
}

int lambada_score(struct lambada_score *score, struct scorer *s, struct encoder *e,
                  const char *path, void (*progress)(uint64_t done))
{
    struct input in;
    struct buf name = BUF_INIT;
    char *line;
    size_t n;
    int more;
    *score = (struct lambada_score){ 0 };
    if (input_open(&in, path) < 0)
        return -1;
    struct group *g = mem_zalloc(1, sizeof *g);
    for (uint64_t number = 1; (more = input_line(&in, &line, &n)) > 0; number++) {
        buf_clear(&name);
        buf_addf(&name, "%s:%llu", in.path, (unsigned long long)number);
        if (read_passage(score, g, e, s->net.model.config.positions, line, n, name.data) < 0 ||
            (g->passages == GROUP && score_group(score, s, g, in.path) < 0)) {
            more = -1;
            break;
        }
        progress(score->passages);
    }
    if (!more && g->count)
        more = score_group(score, s, g, in.path);
    if (!more && !score->passages)
        more = err_set("nothing to score in '%s'", in.path);
    ids_release(&g->ids);
    free(g);
    buf_release(&name);
    input_close(&in);
    return more < 0 ? -1 : 0;
}
