#include "eval/choices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "eval/framed.h"
#include "eval/items.h"
#include "unicode/letter_case.h"
#include "unicode/lower.h"
#include "unicode/whitespace.h"

const char *choices_form_name(enum choices_form form)
{
    static const char *const names[] = {
        "auto", "plain", "hellaswag", "piqa", "arc", "winogrande"
    };
    return names[form];
}

/* ---- a line --------------------------------------------------------------------------------- */

static struct choices_option *add_option(struct choices_question *q)
{
    mem_grow(q->options, q->cap, q->count + 1);
    struct choices_option *o = &q->options[q->count++];
    if (q->count > q->made) {
        *o = (struct choices_option){ BUF_INIT, BUF_INIT, 0 };
        q->made = q->count;
    }
    buf_clear(&o->context);
    buf_clear(&o->ending);
    buf_addc(&o->ending, ' ');
    return o;
}

void choices_release(struct choices_question *q)
{
    for (size_t i = 0; i < q->made; i++) {
        buf_release(&q->options[i].context);
        buf_release(&q->options[i].ending);
    }
    free(q->options);
    *q = (struct choices_question){ 0 };
}

/* Appends the string member `key` of the object to `out`. Returns 0, or -1 with an error if there
 * is no such string. `name` is the file, for errors. */
static int take_text(struct buf *out, const struct js *object, const char *key, const char *name)
{
    size_t n;
    const char *s = js_text(js_get(object, key), &n);
    if (!s)
        return err_set("%s: the object has no string \"%s\"", name, key);
    buf_add(out, s, n);
    return 0;
}

static int take_endings(struct choices_question *q, const struct js *texts, const char *key,
                        const char *name)
{
    if (!js_is_array(texts) || js_count(texts) < 2)
        return err_set("%s: \"%s\" is no array of at least two choices", name, key);
    for (size_t i = 0, n; i < js_count(texts); i++) {
        const char *s = js_text(js_at(texts, i), &n);
        if (!s)
            return err_set("%s: %s[%zu] is no string", name, key, i);
        buf_add(&add_option(q)->ending, s, n);
    }
    return 0;
}

/* Sets q->right from a member that is a number or its digits. `first` is the number of the first
 * choice. Returns 0, or -1 with an error. */
static int take_label(struct choices_question *q, const struct js *object, const char *key,
                      int64_t first, const char *name)
{
    const struct js *v = js_get(object, key);
    int64_t label;
    const char *s = js_text(v, NULL);
    char *end = NULL;
    if (s)
        label = strtoll(s, &end, 10);
    if ((s && (end == s || *end)) || (!s && js_int(v, &label) < 0))
        return err_set("%s: \"%s\" is no number of a choice", name, key);
    if (label < first || label - first >= (int64_t)q->count)
        return err_set("%s: \"%s\" is %lld, but the choices are %lld to %lld", name, key,
                       (long long)label, (long long)first,
                       (long long)(first - 1) + (long long)q->count);
    q->right = (size_t)(label - first);
    return 0;
}

/* Gives all choices the same context. */
static void set_contexts(struct choices_question *q, const struct buf *context)
{
    for (size_t i = 0; i < q->count; i++)
        buf_add(&q->options[i].context, context->data, context->len);
}

static int parse_plain(struct choices_question *q, struct buf *context, const struct js *root,
                       const char *name)
{
    return take_text(context, root, "context", name) < 0 ||
                   take_endings(q, js_get(root, "choices"), "choices", name) < 0
               ? -1
               : take_label(q, root, "label", 0, name);
}

/* Appends s[0..n) as Python's str.capitalize() returns it: the first character in title case, the
 * others in lower case. */
static void capitalize(struct buf *out, const char *s, size_t n)
{
    struct buf lower = BUF_INIT, first = BUF_INIT;
    size_t width = n ? utf8_offset(s, n, 1) : 0;
    letter_case_put(out, s, width, letter_case_title);
    lower_add(&first, s, width);
    lower_add(&lower, s, n); /* a sigma's form depends on what is before it */
    buf_add(out, lower.data + first.len, lower.len - first.len);
    buf_release(&lower);
    buf_release(&first);
}

/* Replaces each `from` in the text by `to`, from left to right, without overlap. */
static void replace(struct buf *text, const char *from, const char *to)
{
    struct buf out = BUF_INIT;
    const char *at = text->data, *end = at + text->len, *hit;
    while ((hit = bytes_find(at, end, from, strlen(from)))) {
        buf_add(&out, at, (size_t)(hit - at));
        buf_adds(&out, to);
        at = hit + strlen(from);
    }
    buf_add(&out, at, (size_t)(end - at));
    buf_release(text);
    *text = out;
}

/* Removes each pair of brackets and the text in it, if both brackets are on one line. */
static void drop_brackets(struct buf *text)
{
    size_t kept = 0, i = 0;
    while (i < text->len) {
        const char *open = text->data + i, *close = NULL;
        if (*open == '[')
            close = memchr(open, ']', text->len - i);
        if (close && !memchr(open, '\n', (size_t)(close - open)))
            i += (size_t)(close + 1 - open);
        else
            text->data[kept++] = text->data[i++];
    }
    buf_truncate(text, kept);
}

/* Removes from the text the white space at both ends and the marks that HellaSwag's source,
 * WikiHow, left. */
static void clean(struct buf *text)
{
    struct span inner = whitespace_strip(text->data, text->len);
    struct buf stripped = BUF_INIT;
    buf_add(&stripped, inner.s, inner.n);
    buf_release(text);
    *text = stripped;
    replace(text, " [title]", ". ");
    drop_brackets(text);
    replace(text, "  ", " ");
}

static int parse_hellaswag(struct choices_question *q, struct buf *context, const struct js *root,
                           const char *name)
{
    struct buf second = BUF_INIT;
    int result = take_text(context, root, "activity_label", name);
    buf_adds(context, ": ");
    if (!result)
        result = take_text(context, root, "ctx_a", name);
    buf_addc(context, ' ');
    if (!result)
        result = take_text(&second, root, "ctx_b", name);
    capitalize(context, second.data, second.len);
    buf_release(&second);
    clean(context);
    if (result < 0 || take_endings(q, js_get(root, "endings"), "endings", name) < 0)
        return -1;
    for (size_t i = 0; i < q->count; i++) {
        struct buf ending = BUF_INIT;
        buf_add(&ending, q->options[i].ending.data + 1, q->options[i].ending.len - 1);
        clean(&ending);
        buf_truncate(&q->options[i].ending, 1);
        buf_add(&q->options[i].ending, ending.data, ending.len);
        buf_release(&ending);
    }
    return take_label(q, root, "label", 0, name);
}

static int take_question(struct buf *context, const struct js *root, const char *key,
                         const char *name)
{
    buf_adds(context, "Question: ");
    int result = take_text(context, root, key, name);
    buf_adds(context, "\nAnswer:");
    return result;
}

static int parse_piqa(struct choices_question *q, struct buf *context, const struct js *root,
                      const char *name)
{
    return take_question(context, root, "goal", name) < 0 ||
                   take_text(&add_option(q)->ending, root, "sol1", name) < 0 ||
                   take_text(&add_option(q)->ending, root, "sol2", name) < 0
               ? -1
               : take_label(q, root, "label", 0, name);
}

static int parse_arc(struct choices_question *q, struct buf *context, const struct js *root,
                     const char *name)
{
    const struct js *choices = js_get(root, "choices"), *labels = js_get(choices, "label");
    const char *answer = js_text(js_get(root, "answerKey"), NULL);
    if (take_question(context, root, "question", name) < 0 ||
        take_endings(q, js_get(choices, "text"), "choices.text", name) < 0)
        return -1;
    if (!answer)
        return err_set("%s: the object has no string \"answerKey\"", name);
    if (js_count(labels) != q->count)
        return err_set("%s: choices.label and choices.text differ in length", name);
    for (q->right = 0; q->right < q->count; q->right++)
        if (js_text_is(js_at(labels, q->right), answer))
            return 0;
    return err_set("%s: \"answerKey\" is '%s', which is not in choices.label", name, answer);
}

static int parse_winogrande(struct choices_question *q, struct buf *sentence, const struct js *root,
                            const char *name)
{
    static const char *const keys[] = { "option1", "option2" };
    if (take_text(sentence, root, "sentence", name) < 0)
        return -1;
    const char *blank = memchr(sentence->data, '_', sentence->len);
    if (!blank)
        return err_set("%s: \"sentence\" has no '_'", name);
    size_t before = (size_t)(blank - sentence->data);
    struct span rest = whitespace_strip(blank + 1, sentence->len - before - 1);
    if (!rest.n)
        return err_set("%s: \"sentence\" has nothing behind its '_'", name);
    for (int i = 0; i < 2; i++) {
        struct choices_option *o = add_option(q);
        buf_add(&o->context, sentence->data, before);
        if (take_text(&o->context, root, keys[i], name) < 0)
            return -1;
        buf_add(&o->ending, rest.s, rest.n);
    }
    return take_label(q, root, "answer", 1, name);
}

/* The keys of each form: first the one that no other form has, and last those that are not read. */
static const char *const form_keys[] = {
    [CHOICES_PLAIN] = "context, choices, label, id",
    [CHOICES_HELLASWAG] = "endings, activity_label, ctx_a, ctx_b, label, ctx, ind, source_id, "
                          "split, split_type",
    [CHOICES_PIQA] = "goal, sol1, sol2, label, id",
    [CHOICES_ARC] = "answerKey, question, choices, id",
    [CHOICES_WINOGRANDE] = "sentence, option1, option2, answer, qID",
};

/* Returns 1 if `key` is one of the words of a list like "a, b, c", else 0. */
static int is_listed(const char *list, const char *key)
{
    const size_t n = strlen(key);
    for (const char *w = list; *w; w += strcspn(w, ","), w += strspn(w, ", "))
        if (!strncmp(w, key, n) && (w[n] == ',' || !w[n]))
            return 1;
    return 0;
}

/* Sets *form to the form of an object: it has a key that only one form has, and no key that this
 * form does not have, as the similar form of another data set does. Returns 0, or -1 with an
 * error. */
static int find_form(enum choices_form *form, const struct js *root, const char *name)
{
    char key[32];
    for (*form = CHOICES_PLAIN; *form <= CHOICES_WINOGRANDE; ++*form) {
        snprintf(key, sizeof key, "%.*s", (int)strcspn(form_keys[*form], ","), form_keys[*form]);
        if (js_get(root, key))
            break;
    }
    if (*form > CHOICES_WINOGRANDE)
        return err_set("%s: unknown question format: expected one of the keys context, endings, "
                       "goal, answerKey, sentence",
                       name);
    for (void *it = js_first(root); it; it = js_next(root, it))
        if (!is_listed(form_keys[*form], js_key(it, NULL)))
            return err_set("%s: unknown question format: it has the key %s, but the keys of %s are "
                           "%s: give --form %s if it is one nevertheless",
                           name, js_key(it, NULL), choices_form_name(*form), form_keys[*form],
                           choices_form_name(*form));
    return 0;
}

static int parse_object(struct choices_question *q, enum choices_form *form, const struct js *root,
                        const char *name)
{
    static int (*const parsers[])(struct choices_question *, struct buf *, const struct js *,
                                  const char *) = { NULL,       parse_plain, parse_hellaswag,
                                                    parse_piqa, parse_arc,   parse_winogrande };
    struct buf context = BUF_INIT;
    if (*form == CHOICES_AUTO && find_form(form, root, name) < 0)
        return -1;
    q->count = 0;
    int result = parsers[*form](q, &context, root, name);
    if (!result && *form != CHOICES_WINOGRANDE)
        set_contexts(q, &context);
    for (size_t i = 0; i < q->count && !result; i++) {
        struct choices_option *o = &q->options[i];
        o->characters = utf8_count(o->ending.data + 1, o->ending.len - 1);
        if (!o->characters)
            result = err_set("%s: choice %zu is empty", name, i);
    }
    buf_release(&context);
    return result;
}

int choices_parse(struct choices_question *q, enum choices_form *form, const char *line, size_t n,
                  const char *name)
{
    struct js *root = js_parse(line, n, name);
    if (!root)
        return -1;
    int result = parse_object(q, form, root, name);
    js_free(root);
    return result;
}

/* ---- windows -------------------------------------------------------------------------------- */

struct choices {
    struct choices_score *score;
    enum choices_form asked; /* AUTO: each line shows its form */
    const struct tokenizer *tokenizer;
    struct encoder *encoder;
    struct choices_question question; /* working memory */
};

/* Appends the ids of context and ending to g->ids. Sets *from to the index in g->ids of the
 * ending's first id. Returns 0, or -1 with an error. */
static int encode_option(struct items *g, const struct choices_option *o, size_t *from)
{
    const struct choices *c = g->ctx;
    struct ids context = { 0 };
    struct buf whole = BUF_INIT;
    size_t begin = g->ids.count, own = o->context.len, width;
    while ((width = whitespace_before(o->context.data, own)))
        own -= width;
    buf_add(&whole, o->context.data, o->context.len);
    buf_add(&whole, o->ending.data, o->ending.len);
    int result = 0;
    if (own) {
        result = framed_encode(c->tokenizer, c->encoder, o->context.data, own, &context);
        if (!result)
            result = framed_encode(c->tokenizer, c->encoder, whole.data, whole.len, &g->ids);
        *from = begin + context.count;
    } else {
        int64_t start = framed_start(c->tokenizer);
        result = start < 0 ? -1 : 0;
        ids_add(&g->ids, (uint32_t)start);
        *from = begin + 1;
        if (!result)
            result = encoder_encode(c->encoder, whole.data, whole.len, TOKENIZER_ORDINARY, &g->ids);
    }
    ids_release(&context);
    buf_release(&whole);
    return result;
}

/* Adds the windows of a question: their item is the line, and their mark the number of characters
 * of the choice, which is negative for the right one. */
static int add_question(struct items *g, const struct choices_question *q)
{
    for (size_t i = 0; i < q->count; i++) {
        size_t begin = g->ids.count, from;
        if (encode_option(g, &q->options[i], &from) < 0)
            return -1;
        int64_t scored = (int64_t)g->ids.count - (int64_t)from;
        if (scored < 1)
            return err_set(
                "a choice has no tokens of its own: its context's last token takes it in");
        struct window *w = items_add(g, begin, g->ids.count, scored);
        if (!w)
            return -1;
        int64_t characters = (int64_t)q->options[i].characters;
        w->item = g->line;
        w->mark = i == q->right ? -characters : characters;
    }
    return 0;
}

/* Returns the index of the likeliest of n options: by log p, or by log p per character. */
static size_t likeliest(const struct window *w, size_t n, int per_character)
{
    size_t best = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double p = -w[i].loss;
        if (per_character)
            p /= (double)llabs(w[i].mark);
        if (p > most) {
            most = p;
            best = i;
        }
    }
    return best;
}

static int judge(void *ctx, const struct items *g)
{
    struct choices_score *score = ((struct choices *)ctx)->score;
    for (size_t i = 0, n; i < g->count; i += n) {
        const struct window *w = &g->windows[i];
        for (n = 1; i + n < g->count && w[n].item == w->item; n++)
            ;
        score->right += w[likeliest(w, n, 0)].mark < 0;
        score->right_norm += w[likeliest(w, n, 1)].mark < 0;
        score->questions++;
    }
    return 0;
}

static int add_line(struct items *g, const char *line, size_t n, const char *name)
{
    struct choices *c = g->ctx;
    enum choices_form form = c->asked, before = c->score->form;
    if (choices_parse(&c->question, &form, line, n, name) < 0)
        return -1;
    if (before != CHOICES_AUTO && before != form)
        return err_set("%s: a question of the form %s, but those before are of the form %s", name,
                       choices_form_name(form), choices_form_name(before));
    c->score->form = form;
    return add_question(g, &c->question) < 0 ? err_in("%s", name) : 1;
}

int choices_score(struct choices_score *score, struct scorer *s, const struct tokenizer *t,
                  struct encoder *e, const char *path, enum choices_form form,
                  void (*progress)(uint64_t done))
{
    *score = (struct choices_score){ .form = form };
    struct choices c = { .score = score, .asked = form, .tokenizer = t, .encoder = e };
    struct items g = ITEMS_INIT(s, judge, &c);
    int result = items_each_line(&g, path, add_line, progress);
    items_release(&g);
    choices_release(&c.question);
    return result;
}
