/* The encoder of tokenizer.h: finds added tokens, cuts other text into pieces and encodes them. */

#include "common/base/utf8.h"
#include "tokenizer/cut/pretokenize.h"
#include "tokenizer/cut/steps.h"
#include "tokenizer/model/added.h"
#include "tokenizer/model/subword.h"
#include "tokenizer/model/vocabulary.h"
#include "tokenizer/model/wordcache.h"
#include "tokenizer/parts.h"
#include "tokenizer/tokenizer.h"

static int encode_unknown(void *ctx, const struct pieces *p, struct ids *out, size_t *ends)
{
    struct encoder *e = ctx;
    return subword_encode_all(e->t->subword, &e->scratch, p, out, ends);
}

struct encoder *encoder_new(const struct tokenizer *t)
{
    struct encoder *e = mem_zalloc(1, sizeof *e);
    e->t = t;
    if (t->v.general)
        e->stepper = stepper_new(&t->v.normalizer, &t->v.pre_tokenizer);
    if (t->normalizer)
        e->words = words_new(t->normalizer);
    else if (!t->v.steps_cut)
        e->split = split_new(&t->v.splitter);
    if (e->split && splitter_scans(&t->v.splitter) && t->v.model == VOCABULARY_BPE && !t->seams &&
        !t->v.prefix_space && !t->v.normalizer.count && !(t->added[0].count && t->added[1].count) &&
        !t->added[!t->added[0].count].overlap)
        e->marks = &t->added[!t->added[0].count];
    e->cache = wordcache_new(encode_unknown, e);
    buf_init(&e->repaired);
    buf_init(&e->prefixed);
    buf_init(&e->normalized);
    return e;
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    split_free(e->split);
    stepper_free(e->stepper);
    words_free(e->words);
    words_free(e->letters);
    subword_scratch_release(&e->scratch);
    wordcache_free(e->cache);
    buf_release(&e->repaired);
    buf_release(&e->prefixed);
    buf_release(&e->normalized);
    free(e);
}

static const char *with_prefix_space(struct encoder *e, const char *text, size_t *n)
{
    if (!e->t->v.prefix_space || !*n || text[0] == ' ')
        return text;
    buf_clear(&e->prefixed);
    buf_addc(&e->prefixed, ' ');
    buf_add(&e->prefixed, text, *n);
    *n += 1;
    return e->prefixed.data;
}

int encoder_cut(struct encoder *e, const char *text, size_t n, int first)
{
    e->scratch.unigram.sum = 0; /* no text is before this one */
    if (e->t->v.steps_cut)
        return stepper_cut(e->stepper, text, n, first, &e->tiles);
    if (e->words) {
        words_begin(e->words, text, n);
        return 0;
    }
    text = with_prefix_space(e, text, &n);
    e->tiles = (struct pieces){
        .text = text, .readable = n, .begins = e->bounds, .ends = e->bounds + 1
    };
    e->bounds[0] = 0;
    split_begin(e->split, text, n);
    return 0;
}

int encoder_next(struct encoder *e, struct pieces *p)
{
    enum { MAX = sizeof e->bounds / sizeof *e->bounds - 1 };
    if (e->words)
        return words_next(e->words, p);
    if (e->t->v.steps_cut) { /* the steps have cut the whole text */
        *p = e->tiles;
        e->tiles.count = 0;
        return p->count > 0;
    }
    e->bounds[0] = e->bounds[e->tiles.count];
    int count = split_next(e->split, e->bounds + 1, MAX);
    e->tiles.count = count > 0 ? (size_t)count : 0;
    *p = e->tiles;
    return count < 0 ? -1 : count > 0;
}

int encoder_put(struct encoder *e, const struct pieces *p, struct ids *out)
{
    const struct unigram *u = subword_unigram(e->t->subword);
    size_t failed, from = out->count;
    if (wordcache_encode(e->cache, p, out, &failed) < 0)
        return err_in("at byte %zu of the text", p->begins[failed]);
    int got = u ? unigram_settle(u, &e->scratch.unigram, out, from) : 1;
    if (got)
        return got < 0 ? -1 : 0;
    if (p->count == 1)
        return unigram_encode_next(u, &e->scratch.unigram, p->text + *p->begins,
                                   *p->ends - *p->begins, out);
    const struct pieces half = pieces_of(p, 0, p->count / 2),
                        rest = pieces_of(p, p->count / 2, p->count);
    return encoder_put(e, &half, out) < 0 ? -1 : encoder_put(e, &rest, out);
}

/* Appends the ids of pieces to `out`, after cutting the pieces into smaller parts (seams.h). */
static int encode_parts(struct encoder *e, const struct pieces *p, struct ids *out)
{
    enum { MAX = sizeof e->bounds / sizeof *e->bounds };
    size_t begins[MAX], count = 0;
    struct pieces parts = { p->text, p->readable, begins, e->bounds, 0, NULL };
    for (size_t i = 0; i < p->count; i++)
        for (size_t at = p->begins[i]; at < p->ends[i]; at = e->bounds[count - 1]) {
            if (count == MAX) {
                parts.count = count;
                if (encoder_put(e, &parts, out) < 0)
                    return -1;
                count = 0;
            }
            size_t more = seams_cut(e->t->seams, p->text, p->ends[i], at, e->bounds + count,
                                    MAX - count);
            for (size_t k = 0; k < more; k++)
                begins[count + k] = k ? e->bounds[count + k - 1] : at;
            count += more;
        }
    parts.count = count;
    return encoder_put(e, &parts, out);
}

static int give_pieces(const struct encoder *e, const struct pieces *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (e->take(e->taker, p->text + p->begins[i], p->ends[i] - p->begins[i]) < 0)
            return -1;
    return 0;
}

/* Appends the ids of a normalized text without added tokens to `out`, or gives its pieces to
 * e->take. `first` is as for encoder_cut. Returns 0, or -1 with an error. */
static int encode_plain(struct encoder *e, const char *text, size_t n, int first, struct ids *out)
{
    struct pieces p;
    int got = encoder_cut(e, text, n, first);
    while (!got && (got = encoder_next(e, &p)) > 0)
        got = e->take       ? give_pieces(e, &p)
              : e->t->seams ? encode_parts(e, &p, out)
                            : encoder_put(e, &p, out);
    return got;
}

int encoder_normalize(struct encoder *e, const char **text, size_t *n, int *first,
                      struct ids *origins)
{
    int lost;
    if (origins) {
        origins->count = 0;
        ids_add_range(origins, 0, *n);
    }
    if (!e->stepper || (!origins && stepper_leaves(e->stepper, *text, *n)))
        return 0;
    buf_clear(&e->normalized);
    if (stepper_normalize(e->stepper, *text, *n, &e->normalized, &lost, origins) < 0)
        return -1;
    *text = e->normalized.data;
    *n = e->normalized.len;
    *first &= !lost;
    return 0;
}

/* Appends the ids of the text to `out`. Passes 0 and 1 find the added tokens of t->added[pass], and
 * give the text between them to the next pass; pass 1 normalizes its text first. Pass 2 encodes.
 * `first` is as for encoder_cut. Returns 0, or -1 with an error. */
static int encode_pass(struct encoder *e, const char *text, size_t n,
                       enum tokenizer_special special, int pass, int first, struct ids *out)
{
    if (pass == 1 && encoder_normalize(e, &text, &n, &first, NULL) < 0)
        return -1;
    if (pass == 2)
        return encode_plain(e, text, n, first, out);
    struct added_walk w = { .text = text, .n = n };
    while (added_next(&e->t->added[pass], &w, special == TOKENIZER_SPECIAL)) {
        if (w.done < w.begin && encode_pass(e, text + w.done, w.begin - w.done, special, pass + 1,
                                            first && !w.done, out) < 0)
            return -1;
        ids_add(out, w.id);
        w.done = w.end;
    }
    return w.done < n
               ? encode_pass(e, text + w.done, n - w.done, special, pass + 1, first && !w.done, out)
               : 0;
}

/* Appends to `out` the ids of a text that contains `count` added tokens: e->given has their ids,
 * e->cuts where each begins and ends. */
static int encode_marked(struct encoder *e, const char *text, size_t n, size_t count,
                         struct ids *out)
{
    size_t begins[sizeof e->bounds / sizeof *e->bounds], ends[sizeof begins / sizeof *begins];
    size_t mark = 0;
    int got = encoder_cut(e, text, n, 1);
    split_also_at(e->split, e->cuts, 2 * count);
    for (struct pieces p; !got && (got = encoder_next(e, &p)) > 0;) {
        struct pieces all = { text, n, begins, ends, 0, e->given + mark };
        for (size_t i = 0; i < p.count; i++) {
            size_t in_token = mark < count && p.ends[i] > e->cuts[2 * mark];
            if (in_token && p.ends[i] < e->cuts[2 * mark + 1])
                continue;
            mark += in_token; /* the piece is the last one of the token */
            begins[all.count] = in_token ? p.ends[i] : p.begins[i];
            ends[all.count++] = p.ends[i];
        }
        got = encoder_put(e, &all, out);
    }
    return got;
}

/* As encode_pass, for an encoder with `marks`: cuts the whole text at once, also at its added
 * tokens. Where these are close together, this is faster than to encode the text between two of
 * them at a time. */
static int encode_all(struct encoder *e, const char *text, size_t n, enum tokenizer_special special,
                      struct ids *out)
{
    enum { MAX = sizeof e->given / sizeof *e->given };
    struct added_walk w = { .text = text, .n = n };
    int more = 1;
    for (size_t from = 0, count = 0; more; from = w.done, count = 0) {
        while (count < MAX && (more = added_next(e->marks, &w, special == TOKENIZER_SPECIAL))) {
            e->cuts[2 * count] = w.begin - from;
            e->cuts[2 * count + 1] = w.end - from;
            e->given[count++] = w.id;
            w.done = w.end;
        }
        size_t size = (more ? w.done : n) - from;
        if ((count ? encode_marked(e, text + from, size, count, out)
                   : encode_plain(e, text + from, size, 1, out)) < 0)
            return -1;
    }
    return 0;
}

/* If the text has invalid UTF-8, sets *text and *n to a copy in which it is replaced. Returns 0, or
 * -1 with an error if the text is too long. */
static int check_text(struct encoder *e, const char **text, size_t *n)
{
    if (utf8_valid(*text, *n) != *n) {
        buf_clear(&e->repaired);
        e->replaced += utf8_repair(&e->repaired, *text, *n);
        *text = e->repaired.data;
        *n = e->repaired.len;
    }
    if (e->words && *n > WORDS_MAX)
        return err_set("a document of %zu bytes is too long for WordPiece", *n);
    return 0;
}

int encoder_encode(struct encoder *e, const char *text, size_t n, enum tokenizer_special special,
                   struct ids *out)
{
    if (check_text(e, &text, &n) < 0)
        return -1;
    return e->marks ? encode_all(e, text, n, special, out)
                    : encode_pass(e, text, n, special, 0, 1, out);
}

int encoder_pieces(struct encoder *e, const char *text, size_t n,
                   int (*put)(void *ctx, const char *piece, size_t n), void *ctx)
{
    SCOPED(ids) found = { 0 };
    e->take = put;
    e->taker = ctx;
    const int result = check_text(e, &text, &n) < 0
                           ? -1
                           : encode_pass(e, text, n, TOKENIZER_ORDINARY, 0, 1, &found);
    e->take = NULL;
    return result;
}

uint64_t encoder_replaced(const struct encoder *e)
{
    return e->replaced;
}
