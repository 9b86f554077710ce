#include "wikiprep/text/structure.h"

#include "common/base/lines.h"
#include "common/formats/js.h"
#include "wikiprep/site/names.h"
#include "wikiprep/text/arguments.h"
#include "wikiprep/text/paragraph.h"

enum { CALL_MAX = 400 }; /* arguments of a call; further ones are left out */

void structure_item(struct buf *list)
{
    if (list->len)
        buf_adds(list, ", ");
}

void structure_category(struct buf *lines, const char *s, size_t n, int capital)
{
    enum { SEARCHED_MAX = 1 << 16 }; /* keeps the time linear */
    const size_t begin = lines->len;
    names_add_title(lines, s, n, capital);
    int there = lines->len == begin;
    buf_addc(lines, '\n');
    const char *at = lines->data, *line = at + begin;
    const size_t len = lines->len - begin;
    for (; begin < SEARCHED_MAX && !there && (at = bytes_find(at, line, line, len)); at += len)
        there = at == lines->data || at[-1] == '\n';
    if (there)
        buf_truncate(lines, begin);
}

void structure_coordinates(struct buf *json, const double at[2])
{
    const int is_on_map = at[0] >= -90 && at[0] <= 90 && at[1] >= -180 && at[1] <= 360;
    if (is_on_map && !json->len)
        buf_addf(json, "{\"latitude\": %.8g, \"longitude\": %.8g}", at[0], at[1]);
}

void structure_plain(struct buf *out, struct span marked, int is_list)
{
    SCOPED(buf) line = BUF_INIT;
    struct lines l = LINES_OF(marked.s, marked.n);
    while (lines_next(&l)) {
        const char *end = l.line + l.len;
        const char *s = is_list ? span_past(span_past(l.line, end, " "), end, "*#:;") : l.line;
        is_list = 1;
        buf_clear(&line);
        paragraph_unquote(&line, s, end);
        paragraph_write(out, line.data, line.data + line.len, PARAGRAPH_ALL);
    }
    buf_rtrim(out);
}

void structure_text(struct buf *json, struct span marked)
{
    SCOPED(buf) plain = BUF_INIT;
    structure_plain(&plain, marked, 0);
    js_quote(json, plain.data, plain.len);
}

void structure_pair(struct buf *list, const char *key, struct span value, const char *key2,
                    struct span value2)
{
    structure_item(list);
    buf_addf(list, "{\"%s\": ", key);
    structure_text(list, value);
    buf_addf(list, ", \"%s\": ", key2);
    structure_text(list, value2);
    buf_addc(list, '}');
}

int structure_is_named(const struct wikitext_call *call, size_t least)
{
    size_t count = 0;
    struct span name, value;
    int number;
    for (size_t i = 0; i < call->count && count < least; i++)
        count += arguments_split(call->arguments[i], &name, &value) && name.n && value.n &&
                 !span_number(name, &number);
    return count == least;
}

/* Returns 1 if the value of this argument may be a list, else 0: it begins a line, has several
 * lines, or has a space after list signs at its start. "#FFF" and "#1" are no lists. */
static int is_list(struct span argument, struct span value)
{
    const char *end = value.s + value.n, *s = span_past(value.s, end, "*#:;");
    return memchr(argument.s, '\n', (size_t)(end - argument.s)) || (s < end && *s == ' ');
}

/* Returns 1 if an argument in [from, to) has the same name, else 0: only the last one counts.
 * `place` is the number of those without a name before them. */
static int is_repeated(const struct wikitext_call *call, size_t from, size_t to, int place,
                       struct span name)
{
    struct span other, value;
    int number = 0;
    span_number(name, &number);
    for (; from < to; from++) {
        const int is_named = arguments_split(call->arguments[from], &other, &value) && other.n;
        if (is_named ? span_equal(other, name) : ++place == number)
            return 1;
    }
    return 0;
}

void structure_call(struct buf *list, const struct wikitext_call *call)
{
    SCOPED(buf) plain = BUF_INIT;
    int place = 0;
    const char *before = "";
    size_t count = call->count < CALL_MAX ? call->count : CALL_MAX;
    structure_item(list);
    buf_adds(list, "{\"name\": ");
    structure_text(list, span_trim(call->name));
    buf_adds(list, ", \"values\": {");
    for (size_t i = 0; i < count; i++) {
        struct span name, value;
        char number[16];
        if (!arguments_split(call->arguments[i], &name, &value) || !name.n) {
            value = call->arguments[i];
            snprintf(number, sizeof number, "%d", ++place);
            name = span_of(number);
        }
        buf_clear(&plain);
        if (!is_repeated(call, i + 1, count, place, name))
            structure_plain(&plain, value, is_list(call->arguments[i], value));
        if (!plain.len)
            continue;
        buf_adds(list, before);
        structure_text(list, name);
        buf_adds(list, ": ");
        js_quote(list, plain.data, plain.len);
        before = ", ";
    }
    buf_adds(list, "}}");
}
