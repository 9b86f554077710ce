#include "wikiprep/classic/classic.h"

#include "common/base/choice.h"
#include "common/files/nameset.h"
#include "wikiprep/classic/classic_pass.h"
#include "wikiprep/site/entity.h"

void classic_passed(struct classic *c)
{
    buf_swap(&c->text, &c->next);
    buf_clear(&c->next);
}

void classic_keep(struct classic *c, size_t from, size_t to)
{
    buf_add(&c->next, c->text.data + from, to - from);
}

void classic_finish(struct classic *c, size_t from)
{
    classic_keep(c, from, c->text.len);
    classic_passed(c);
}

void classic_drop_spans(struct classic *c)
{
    size_t done = 0;
    for (size_t i = 0; i < c->spans.count; i++) {
        classic_keep(c, done, c->spans.items[i].begin);
        done = c->spans.items[i].end;
    }
    classic_finish(c, done);
}

void classic_replace(struct classic *c, const char *what, const char *with)
{
    size_t done = 0;
    for (struct range at; span_find_text(&c->text, done, what, &at); done = at.end) {
        classic_keep(c, done, at.begin);
        buf_adds(&c->next, with);
    }
    classic_finish(c, done);
}

/* ---- quotes -------------------------------------------------------------------------------- */

/* Replaces in c->text each pair of `open` and `close`, which is as long, by a pair of `mark`. A
 * pair is on one line if `until` is a line end, and has no '"' inside if `until` is that, with
 * which `close` then begins. */
static void replace_quotes(struct classic *c, const char *open, const char *close, char until,
                           const char *mark)
{
    size_t n = strlen(open), done = 0;
    const char *base = c->text.data, *end = base + c->text.len, *stop = base;
    for (const char *s = base; (s = bytes_find(s, end, open, n));) {
        const char *inside = s + n;
        if (stop && stop < inside) /* else it is still the next one, or there is none */
            stop = memchr(inside, until, (size_t)(end - inside));
        const char *limit = stop && (size_t)(end - stop) > n ? stop + n : end;
        const char *quote = bytes_find(inside, limit, close, n);
        if (!quote) {
            s = !stop ? end : until == '\n' ? stop : s + 1;
            continue;
        }
        classic_keep(c, done, (size_t)(s - base));
        buf_adds(&c->next, mark);
        buf_add(&c->next, inside, (size_t)(quote - inside));
        buf_adds(&c->next, mark);
        s = quote + n;
        done = (size_t)(s - base);
    }
    classic_finish(c, done);
}

static void replace_all_quotes(struct classic *c)
{
    replace_quotes(c, "'''''", "'''''", '\n', "");
    replace_quotes(c, "'''", "'''", '\n', "");
    replace_quotes(c, "''\"", "\"''", '"', "\"");
    replace_quotes(c, "''", "''", '\n', "\"");
    replace_quotes(c, "\"\"", "\"\"", '"', "\"");
    classic_replace(c, "'''", "");
    classic_replace(c, "''", "\"");
}

/* ---- the rest ------------------------------------------------------------------------------ */

static const char switches[] =
    "NOTOC|FORCETOC|TOC|NEWSECTIONLINK|NONEWSECTIONLINK|NOGALLERY|HIDDENCAT|NOCC|NOCONTENTCONVERT|"
    "NOTITLECONVERT|NOTC|START|END|INDEX|NOINDEX|STATICREDIRECT|DISAMBIG|NOEDITSECTION";

static void drop_switches(struct classic *c)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    c->spans.count = 0;
    for (const char *s = c->text.data; (s = strstr(s, "__"));) {
        const size_t begin = (size_t)(s - c->text.data), len = strspn(s + 2, letters);
        const int found = choice_find(switches, s + 2, len) >= 0 && !strncmp(s + 2 + len, "__", 2);
        if (found)
            spans_add(&c->spans, begin, begin + len + 4);
        s += found ? len + 4 : 1;
    }
    classic_drop_spans(c);
}

/* Replaces each element `name` by `word` and a number. Equal elements have the number of the first
 * one. */
static void number_elements(struct classic *c, const char *name, const char *word)
{
    struct nameset *seen = NULL; /* the values are size_t: the numbers */
    size_t count = 0, done = 0;
    struct range open, close;
    for (size_t from = 0; span_find_open(&c->text, from, name, &open); from = close.end) {
        if (!span_find_close(&c->text, open.end, name, &close))
            break;
        seen = seen ? seen : nameset_new(sizeof count);
        size_t *number = nameset_put(seen, c->text.data + open.begin, close.end - open.begin);
        count++;
        *number = *number ? *number : count;
        classic_keep(c, done, open.begin);
        buf_addf(&c->next, "%s_%zu", word, *number);
        done = close.end;
    }
    nameset_free(seen);
    classic_finish(c, done);
}

struct classic *classic_new(void)
{
    struct classic *c = mem_zalloc(1, sizeof *c);
    buf_init(&c->text);
    buf_init(&c->next);
    return c;
}

void classic_free(struct classic *c)
{
    if (!c)
        return;
    buf_release(&c->text);
    buf_release(&c->next);
    free(c->spans.items);
    free(c->open.items);
    free(c);
}

void classic_clean(struct classic *c, const char *title, const char *text, size_t n,
                   struct buf *out)
{
    static const char *const lines[] = { "br", "hr", NULL };
    static const char *const blocks[] = { "p", "center", "h1", "h2", "h3", "h4", NULL };
    c->title = title;
    buf_set(&c->text, text, n);
    buf_clear(&c->next);
    classic_drop_templates(c);
    spans_nested(&c->spans, &c->text, span_find_text, "{|", span_find_text, "|}");
    classic_drop_spans(c);
    classic_replace_addresses(c);
    classic_replace_links(c);
    drop_switches(c);
    classic_protect_code(c);
    replace_all_quotes(c);
    classic_replace_breaks(c, lines, 1, ' ');
    classic_replace_breaks(c, blocks, 0, '\n');
    classic_drop_tags(c);
    classic_drop_elements(c);
    entity_decode(&c->next, c->text.data, c->text.len);
    classic_passed(c);
    number_elements(c, "math", "formula");
    number_elements(c, "code", "codice");
    classic_replace(c, "<<", "«");
    classic_replace(c, ">>", "»");
    classic_tidy(c);
    classic_replace(c, ",,", ",");
    classic_replace(c, ",.", ".");
    classic_write_lines(c, out);
}

/* ---- documents ----------------------------------------------------------------------------- */

void classic_put(struct buf *out, const struct document *d)
{
    buf_addf(out, "<doc id=\"%s\" url=\"%s\" title=\"%s\">\n%s\n\n", d->id.data, d->url.data,
             d->title.data, d->title.data);
    buf_add(out, d->text.data, d->text.len);
    buf_adds(out, "\n\n</doc>\n");
}
