#include "tokenizer/cut/origins.h"

#include "common/base/utf8.h"
#include "tokenizer/cut/charsmap.h"
#include "unicode/forms.h"

/* A character that a step writes. change: 0 if it takes the place of the next character of the
 * text; 1 if it is inserted; -k if it takes the place of the next character, and the k characters
 * after that are removed. */
struct put {
    uint32_t point;
    int32_t change;
};

struct puts {
    struct put *items;
    size_t count, cap;
    size_t removed; /* characters that are removed before the first written one */
};

static void add(struct puts *p, uint32_t point, int32_t change)
{
    mem_next(p->items, p->count, p->cap) = (struct put){ point, change };
}

/* Records that the next character of the text is removed: as a change of the character that was
 * written last or, if there is none, in p->removed. */
static void drop(struct puts *p)
{
    if (p->count)
        p->items[p->count - 1].change--;
    else
        p->removed++;
}

static size_t skip(const char *text, size_t n, size_t at)
{
    size_t len = 0;
    if (at < n)
        utf8_get((const unsigned char *)text + at, &len);
    return at + len;
}

/* Sets `origins` to the origins of the bytes of the characters p, which a step wrote for
 * text[0..n). */
static void take_places(const struct puts *p, const char *text, size_t n, struct ids *origins)
{
    char spelled[4];
    size_t at = 0;
    origins->count = 0;
    for (size_t i = 0; i < p->removed; i++)
        at = skip(text, n, at);
    for (size_t i = 0; i < p->count; i++) {
        const struct put *c = &p->items[i];
        size_t from = c->change > 0 ? at - 1 : at; /* at 0: ORIGINS_NONE */
        for (size_t b = utf8_put(spelled, c->point); b; b--)
            ids_add(origins, (uint32_t)from);
        for (int32_t k = c->change; k <= 0; k++)
            at = skip(text, n, at);
    }
}

/* ---- steps that change each character by itself ---------------------------------------------- */

/* Adds to p what a step that changes each character by itself writes for text[0..n). */
static void trace_characters(const struct step *step, const char *text, size_t n, struct puts *p)
{
    SCOPED(buf) out = BUF_INIT;
    for (size_t i = 0, len; i < n; i += len) {
        size_t more;
        utf8_get((const unsigned char *)text + i, &len);
        buf_clear(&out);
        steps_normalize(step, NULL, text + i, len, &out); /* these steps have no pattern */
        if (!out.len)
            drop(p);
        for (size_t k = 0; k < out.len; k += more)
            add(p, utf8_get((const unsigned char *)out.data + k, &more), k > 0);
    }
}

/* ---- normalization forms --------------------------------------------------------------------- */

static void decompose(const char *text, size_t n, int compatible, struct puts *p)
{
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t parts[FORMS_PARTS_MAX];
        size_t count = forms_decompose(parts, utf8_get((const unsigned char *)text + i, &len),
                                       compatible);
        for (size_t k = 0; k < count; k++)
            add(p, parts[k], k > 0);
    }
}

/* The characters of a text that have not been taken yet. Those of one combining class are taken in
 * order, because normalization keeps it. */
struct untaken {
    const struct puts *puts;
    size_t first[256]; /* by class: all of the class before it are taken */
};

/* Takes the first untaken character with the code point `point`. Returns its change. */
static int32_t take(struct untaken *u, uint32_t point)
{
    size_t *first = &u->first[unicode_of(point)->combining], i = *first;
    while (i < u->puts->count && u->puts->items[i].point != point)
        i++;
    if (i == u->puts->count)
        return 0;
    *first = i + 1;
    return u->puts->items[i].change;
}

/* Adds to p the characters of the normalized text. Each of them is made of the characters of the
 * decomposed text that its own decomposition has; normalization may have reordered and composed
 * these. */
static void trace_form(enum form form, const char *text, size_t n, struct puts *p)
{
    struct puts parts = { 0 };
    SCOPED(buf) out = BUF_INIT;
    const int compatible = form == FORM_NFKD || form == FORM_NFKC;
    decompose(text, n, compatible, &parts);
    forms_normalize(&out, text, n, form);
    struct untaken u = { .puts = &parts };
    for (size_t i = 0, len; i < out.len; i += len) {
        uint32_t of[FORMS_PARTS_MAX], point = utf8_get((const unsigned char *)out.data + i, &len);
        size_t count = forms_decompose(of, point, 0);
        int32_t change = 1 - (int32_t)count;
        for (size_t k = 0; k < count; k++)
            change += take(&u, of[k]);
        add(p, point, change);
    }
    free(parts.items);
}

/* ---- replacements ---------------------------------------------------------------------------- */

/* Records that the characters `old` are replaced by `new`. The first new characters take the places
 * of old ones. If there are more new than old ones, the rest is inserted; if there are fewer, the
 * last one removes the rest of the old ones. */
static void replace(struct puts *p, const char *old, size_t old_bytes, const char *new,
                    size_t new_bytes)
{
    size_t places = utf8_count(old, old_bytes), written = utf8_count(new, new_bytes), k = 0;
    for (size_t i = 0, len; i < new_bytes; i += len, k++)
        add(p, utf8_get((const unsigned char *)new + i, &len), k >= places);
    if (places > written && p->count)
        p->items[p->count - 1].change -= (int32_t)(places - written);
}

/* Sets `origins` to the origins of the text that STEP_REPLACE makes of text[0..n). A replacement
 * counts as inserted after the last byte of the text that it replaces. Returns 0, or -1 with an
 * error. */
static int trace_replace(const struct step *step, struct regex_scratch *scratch, const char *text,
                         size_t n, struct ids *origins)
{
    size_t done = 0, begin, end;
    int got = 0;
    origins->count = 0;
    while (done < n && (got = steps_find(step, scratch, text, n, done, &begin, &end)) > 0) {
        ids_add_range(origins, done, begin);
        for (size_t i = 0; i < step->content_len; i++)
            ids_add(origins, (uint32_t)end - 1);
        done = end;
    }
    ids_add_range(origins, done, n);
    return got < 0 ? -1 : 0;
}

static void put_replaced(void *ctx, const char *old, size_t old_bytes, const char *new)
{
    replace(ctx, old, old_bytes, new ? new : old, new ? strlen(new) : old_bytes);
}

/* Sets `origins` to the origins of the text that STEP_PREPEND or STEP_APPEND makes of a text of n
 * bytes. The inserted text has the origin of the first byte, or of the last one. */
static void trace_inserted(const struct step *step, size_t n, struct ids *origins)
{
    const size_t more = n ? step->content_len : 0, front = step->kind == STEP_PREPEND ? more : 0;
    origins->count = 0;
    for (size_t i = 0; i < n + more; i++)
        ids_add(origins, (uint32_t)(i < front ? 0 : i - front < n ? i - front : n - 1));
}

static void trace_strip(const struct step *step, const char *text, size_t n, struct ids *origins)
{
    size_t begin = 0, end = n;
    steps_strip(step, text, n, &begin, &end);
    origins->count = 0;
    ids_add_range(origins, begin, end);
}

/* Sets origins[i] to the position in text[0..n) from which byte i of the step's result comes.
 * Returns 0, or -1 with an error. */
static int trace_step(const struct step *step, struct regex_scratch *scratch, const char *text,
                      size_t n, struct ids *origins)
{
    struct puts p = { 0 };
    int result = 0;
    switch (step->kind) {
    case STEP_REPLACE: return trace_replace(step, scratch, text, n, origins);
    case STEP_PREPEND:
    case STEP_APPEND: trace_inserted(step, n, origins); return 0;
    case STEP_STRIP: trace_strip(step, text, n, origins); return 0;
    case STEP_NFD:
    case STEP_NFKD:
    case STEP_NFC:
    case STEP_NFKC:
        trace_form((enum form)(FORM_NFD + (int)(step->kind - STEP_NFD)), text, n, &p);
        break;
    case STEP_PRECOMPILED:
        result = charsmap_trace(step->map, step->regex, scratch, text, n, put_replaced, &p);
        break;
    default: trace_characters(step, text, n, &p);
    }
    if (!result)
        take_places(&p, text, n, origins);
    free(p.items);
    return result;
}

/* ---- the text before all steps ---------------------------------------------------------------- */

int origins_follow(struct ids *origins, const struct step *step, struct regex_scratch *scratch,
                   const char *text, size_t n, size_t made)
{
    SCOPED(ids) before = *origins;
    *origins = (struct ids){ 0 };
    if (trace_step(step, scratch, text, n, origins) < 0)
        return -1;
    if (origins->count != made)
        return err_set("cannot find the offsets of the tokens in the text");
    for (size_t i = 0; i < made; i++)
        if (origins->data[i] != (uint32_t)ORIGINS_NONE)
            origins->data[i] = before.data[origins->data[i]];
    return 0;
}
