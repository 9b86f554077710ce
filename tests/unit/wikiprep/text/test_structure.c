/* Parts of a page that are written as JSON: template calls, links and coordinates; and categories.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "wikiprep/text/structure.h"

enum { ARGUMENTS_MAX = 8 };

/* Returns the call of "name|argument|...", whose parts point into `text`. */
static struct wikitext_call split(const char *text, struct span arguments[ARGUMENTS_MAX])
{
    const char *end = text + strlen(text), *next = span_until(text, end, '|');
    struct wikitext_call call = { .name = span_between(text, next), .arguments = arguments };
    for (const char *s = next; s < end; s = next) {
        next = span_until(s + 1, end, '|');
        arguments[call.count++] = span_between(s + 1, next);
    }
    return call;
}

Test(structure, calls)
{
    static const char *const cases[][2] = {
        { " Infobox\n", "{\"name\": \"Infobox\", \"values\": {}}" },
        { "A|x = 1 |y=|z= a\"b ",
          "{\"name\": \"A\", \"values\": {\"x\": \"1\", \"z\": \"a\\\"b\"}}" },
        { "A|a|x=b|c| |3=d",
          "{\"name\": \"A\", \"values\": {\"1\": \"a\", \"x\": \"b\", \"2\": \"c\", \"3\": \"d\"}}" },
        { "A|x=a|x=b|c|1=d|y=1|z=2",
          "{\"name\": \"A\", \"values\": {\"x\": \"b\", \"1\": \"d\", \"y\": \"1\", \"z\": \"2\"}}" },
        { "A|x=\n* a\n* b\n|y=#1|z=* c|#FFF",
          "{\"name\": \"A\", \"values\": {\"x\": \"a\\nb\", \"y\": \"#1\", \"z\": \"c\", \"1\": \"#FFF\"}}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span arguments[ARGUMENTS_MAX];
        const struct wikitext_call call = split(cases[i][0], arguments);
        SCOPED(buf) list = BUF_INIT;
        structure_call(&list, &call);
        cr_expect_str_eq(list.data, cases[i][1], "%s: %s", cases[i][0], list.data);
        structure_call(&list, &call);
        cr_expect_eq(list.len, 2 * strlen(cases[i][1]) + 2, "%s", list.data);
    }
}

Test(structure, names_of_arguments_are_counted)
{
    struct span arguments[ARGUMENTS_MAX];
    const struct wikitext_call call = split("A|x=1|2=b|c|y=|=d|z=e", arguments);
    for (size_t least = 0; least < 4; least++)
        cr_expect_eq(structure_is_named(&call, least), least <= 2, "%zu", least);
}

Test(structure, pairs)
{
    SCOPED(buf) list = BUF_INIT;
    structure_pair(&list, "target", span_of("a\\b"), "label", span_of("* c\nd "));
    structure_pair(&list, "file", span_of(""), "text", span_of("e"));
    cr_expect_str_eq(
        list.data,
        "{\"target\": \"a\\\\b\", \"label\": \"* c\\nd\"}, {\"file\": \"\", \"text\": \"e\"}");
}

Test(structure, categories_once)
{
    static const char *const titles[] = {
        "moon", "Moons", "Moon", "oon", "", "moon  of_x", "Moons"
    };
    SCOPED(buf) lines = BUF_INIT;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        structure_category(&lines, titles[i], strlen(titles[i]), 1);
    cr_expect_str_eq(lines.data, "Moon\nMoons\nOon\nMoon of x\n", "%s", lines.data);
}

Test(structure, coordinates_on_the_map)
{
    static const double off[][2] = { { 90.5, 0 }, { -91, 0 }, { 0, 361 }, { 0, -181 } };
    static const double on[][2] = { { -90, 360 }, { 90, -180 } };
    SCOPED(buf) json = BUF_INIT;
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        structure_coordinates(&json, off[i]);
    cr_expect_eq(json.len, 0);
    structure_coordinates(&json, on[0]);
    structure_coordinates(&json, on[1]); /* the first ones stay */
    cr_expect_str_eq(json.data, "{\"latitude\": -90, \"longitude\": 360}");
    buf_clear(&json);
    structure_coordinates(&json, on[1]);
    cr_expect_str_eq(json.data, "{\"latitude\": 90, \"longitude\": -180}");
}
