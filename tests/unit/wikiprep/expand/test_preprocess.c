/* Wikitext as a tree, and {{convert}}. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "wikiprep/expand/preprocess.h"
#include "wikiprep/text/show.h"

/* ---- trees ----------------------------------------------------------------------------------- */

/* Appends a tree as text: calls as (a|b), parameters as <a|b>, tags as [...], texts as they are.
 * first: the first node. */
static void put(struct buf *out, const struct tree *t, uint32_t first)
{
    for (uint32_t i = first; i; i = t->nodes[i].next) {
        const struct node *n = &t->nodes[i];
        const char *begin = n->kind == NODE_CALL ? "(" : n->kind == NODE_PARAMETER ? "<" : "";
        const char *end = n->kind == NODE_CALL ? ")" : n->kind == NODE_PARAMETER ? ">" : "";
        buf_adds(out, begin);
        if (n->kind == NODE_TEXT || n->kind == NODE_TAG)
            for (uint32_t k = n->begin; k < n->end; k++)
                buf_addc(out, n->kind == NODE_TAG && t->source[k] == '<' ? '[' : t->source[k]);
        else if (n->kind == NODE_PART && n->flags & NODE_NAMED) {
            put(out, t, n->begin);
            buf_addc(out, '=');
            put(out, t, n->child);
        } else
            put(out, t, n->child);
        buf_adds(out, end);
        if (n->kind == NODE_PART && n->next)
            buf_addc(out, '|');
    }
}

static void check(const char *source, enum preprocess_mode mode, const char *want)
{
    struct preprocessor *p = preprocessor_new(0);
    struct tree tree = { 0 };
    struct buf out = BUF_INIT;
    preprocess(p, &tree, source, strlen(source), mode);
    buf_adds(&out, "");
    put(&out, &tree, tree.nodes[0].child);
    cr_expect_str_eq(out.data, want, "%s: %s", source, out.data);
    cr_expect_not(tree.is_cut);
    buf_release(&out);
    tree_release(&tree);
    preprocessor_free(p);
}

Test(preprocess, calls_and_parameters)
{
    check("a {{b|c|d=e}} f", PREPROCESS_PAGE, "a (b|c|d=e) f");
    check("{{{x|y}}}", PREPROCESS_PAGE, "<x|y>");
    check("{{{{{x}}}}}", PREPROCESS_PAGE, "(<x>)");
    check("{{a|{{b|{{{c}}}}}}}", PREPROCESS_PAGE, "(a|(b|<c>))");
    check("{{a|[[b|c]]}}", PREPROCESS_PAGE, "(a|[[b|c]])"); /* the link's pipe parts nothing */
}

Test(preprocess, what_is_not_closed_is_text)
{
    check("{{a|b", PREPROCESS_PAGE, "{{a|b");
    check("a}} {{b}}", PREPROCESS_PAGE, "a}} (b)");
    check("{a}", PREPROCESS_PAGE, "{a}");
    check("[[a {{b]] c}}", PREPROCESS_PAGE, "[[a (b]] c)");
}

Test(preprocess, comments_and_tags)
{
    check("a<!-- {{b}} -->c", PREPROCESS_PAGE, "ac");
    check("<nowiki>{{a}}</nowiki>{{b}}", PREPROCESS_PAGE, "[nowiki>{{a}}[/nowiki>(b)");
}

Test(preprocess, parts_of_a_template)
{
    const char *source = "a<noinclude>b</noinclude><includeonly>c</includeonly>";
    check(source, PREPROCESS_PAGE, "ab");
    check(source, PREPROCESS_INCLUDED, "ac");
    check("a<onlyinclude>b</onlyinclude>c", PREPROCESS_INCLUDED, "b");
}

/* ---- convert --------------------------------------------------------------------------------- */

static void check_convert(int abbreviated, const char *list, const char *want)
{
    struct span arguments[8];
    struct wikitext_call call = { span_of("convert"), arguments, 0, 0 };
    for (const char *s = list; *s; s += strcspn(s, "|") + (s[strcspn(s, "|")] == '|'))
        arguments[call.count++] = (struct span){ s, strcspn(s, "|") };
    struct call c = { .page = &(struct template_page){ .lang = "en" }, .n = abbreviated };
    struct buf out = BUF_INIT;
    arguments_read(&c.a, &call);
    cr_expect_eq(show_convert(&c, &out), *want != '\0', "%s", list);
    cr_expect_str_eq(out.data, want, "%s: %s", list, out.data);
    buf_release(&out);
}

Test(convert, values)
{
    check_convert(0, "5|mi|km", "5 miles (8.0 km)");
    check_convert(1, "5|mi|km", "5 mi (8.0 km)");
    check_convert(0, "1|mi|km", "1 mile (1.6 km)");
    check_convert(0, "100|km|mi|abbr=on", "100 km (62 mi)");
    check_convert(0, "1,500|ft|m|0", "1,500 feet (457 m)");
    check_convert(0, "32|F|C", "32 °F (0 °C)");
    check_convert(0, "6|ft|1|in|m", "6 feet 1 inch (1.85 m)");
    check_convert(0, "5|to|10|km|mi", "5 to 10 kilometres (3.1 to 6.2 mi)");
}

Test(convert, what_is_not_known)
{
    check_convert(0, "mi|km", "");
    check_convert(0, "5|zorkmid", "5 zorkmid");
}
