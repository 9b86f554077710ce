#include "tokenizer/model/added.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "unicode/forms.h"
#include "unicode/unicode.h"

void added_put(struct added_set *s, const struct added_token *token, const char *text, size_t n)
{
    if (!n)
        return;
    s->items = mem_resize(s->items, s->count + 1, sizeof *s->items);
    s->all_special = (s->count == 0 || s->all_special) && token->special;
    s->items[s->count++] = (struct added_item){ *token, mem_strndup(text, n), n };
    s->first[(unsigned char)text[0]] = 1;
}

void added_release(struct added_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].text);
    free(s->items);
    *s = (struct added_set){ 0 };
}

/* The longest one that stands at w->at, or NULL. */
static const struct added_item *find_at(const struct added_set *s, const struct added_walk *w)
{
    const struct added_item *best = NULL;
    if (!s->first[(unsigned char)w->text[w->at]])
        return NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct added_item *item = &s->items[i];
        if ((!best || item->len > best->len) && item->len <= w->n - w->at &&
            !memcmp(item->text, w->text + w->at, item->len))
            best = item;
    }
    return best;
}

/* Where the character before `at` begins; at > 0. */
static size_t before(const struct added_walk *w, size_t at)
{
    for (at--; at && ((unsigned char)w->text[at] & 0xC0) == 0x80;)
        at--;
    return at;
}

static int is_at(const struct added_walk *w, size_t at, unsigned bits, size_t *len)
{
    return forms_is(utf8_get((const unsigned char *)w->text + at, len), bits);
}

static int is_single(const struct added_walk *w)
{
    size_t len;
    return !(w->begin && is_at(w, before(w, w->begin), FORMS_WORD, &len)) &&
           !(w->end < w->n && is_at(w, w->end, FORMS_WORD, &len));
}

static void take_spaces(struct added_walk *w, const struct added_token *token)
{
    size_t len;
    while (token->lstrip && w->begin > w->done && is_at(w, before(w, w->begin), FORMS_SPACE, &len))
        w->begin = before(w, w->begin);
    while (token->rstrip && w->end < w->n && is_at(w, w->end, FORMS_SPACE, &len))
        w->end += len;
}

int added_next(const struct added_set *s, struct added_walk *w, int special)
{
    if (!s->count || (s->all_special && !special))
        return 0;
    while (w->at < w->n) {
        const struct added_item *item = find_at(s, w);
        if (!item) {
            w->at++;
            continue;
        }
        w->begin = w->at;
        w->end = w->at += item->len;
        if ((item->token.special && !special) || (item->token.single_word && !is_single(w)))
            continue;
        take_spaces(w, &item->token);
        w->id = item->token.id;
        return 1;
    }
    return 0;
}
