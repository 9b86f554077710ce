/* Expands {{#invoke:module|function|…}}. This program does not run Lua: a few modules, which are
 * simple and which most templates use, are reimplemented here. */
#include <math.h>

#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/expand/functions.h"
#include "wikiprep/values/expression.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/number.h"

/* One call {{#invoke:module|function|…}}. */
struct module_call {
    struct expander *x;
    struct frame own;           /* the arguments of the #invoke call */
    const struct frame *caller; /* the calling template, with its arguments */
    struct span function;
    const char *text; /* separator of a list, from the module's table row; "": none given */
};

/* Runs m->function: appends its result to x->out and returns 1, or returns 0 if it is unknown. */
typedef int (*module)(struct module_call *m);

/* ---- arguments ------------------------------------------------------------------------------- */

/* Sets *value to the argument `name` of the #invoke call, and counts the work of reading it.
 * Returns 1, or 0 if it was not given. */
static int own(struct module_call *m, struct span name, struct span *value)
{
    int is_there = expand_parameter(m->x, &m->own, name, value);
    expand_pay(m->x, is_there ? value->n : 0);
    return is_there;
}

/* Returns the argument `name`. If there is none, returns the argument at position *place and
 * increments *place; an empty text if there is none there either. Removes marks (expand_state.h),
 * because callers cut or count the text. */
static struct span argument(struct module_call *m, struct span name, int *place)
{
    char number[16];
    struct span value = { "", 0 };
    if (!own(m, name, &value)) {
        snprintf(number, sizeof number, "%d", (*place)++);
        own(m, span_of(number), &value);
    }
    return expand_without_marks(m->x, value);
}

/* Sets *value to the n-th argument of the #invoke call or, if the call has no arguments, of the
 * calling template. Returns 1, or 0 if there is no such argument. */
static int nth(struct module_call *m, int n, struct span *value)
{
    char number[16];
    snprintf(number, sizeof number, "%d", n);
    if (m->own.argument_count)
        return own(m, span_of(number), value);
    return expand_parameter(m->x, m->caller, span_of(number), value);
}

/* Appends a number in Lua's format. */
static void put_number(struct module_call *m, double v)
{
    buf_addf(&m->x->out, "%.14g", v);
}

/* ---- String ---------------------------------------------------------------------------------- */

/* Appends characters first to last of s, counted from 1; negative values count from the end. */
static void put_range(struct module_call *m, struct span s, int64_t first, int64_t last)
{
    int64_t count = (int64_t)utf8_count(s.s, s.n);
    first = first < 0 ? first + count + 1 : first;
    last = last < 0 ? last + count + 1 : last;
    if (first < 1 || first > count || last < 1 || last > count || last < first) {
        expand_error(m->x, "String Module Error: String subset index out of range");
        return;
    }
    size_t begin = utf8_offset(s.s, s.n, (size_t)first - 1);
    size_t end = utf8_offset(s.s, s.n, (size_t)last);
    expand_put(m->x, (struct span){ s.s + begin, end - begin });
}

static void string_sub(struct module_call *m, const struct span *a)
{
    put_range(m, a[0], a[1].n ? number_integer(a[1]) : 1, a[2].n ? number_integer(a[2]) : -1);
}

static void string_sublength(struct module_call *m, const struct span *a)
{
    int64_t first = number_integer(a[1]), length = number_integer(a[2]); /* counted from 0 */
    size_t begin = utf8_offset(a[0].s, a[0].n, first > 0 ? (size_t)first : 0);
    struct span rest = { a[0].s + begin, a[0].n - begin };
    if (a[2].n)
        rest.n = utf8_offset(rest.s, rest.n, length > 0 ? (size_t)length : 0);
    expand_put(m->x, rest);
}

static void string_find(struct module_call *m, const struct span *a)
{
    int64_t start = number_integer(a[2]);
    size_t begin = utf8_offset(a->s, a->n, start > 1 ? (size_t)start - 1 : 0);
    const char *at = a->n && a[1].n ? memmem(a->s + begin, a->n - begin, a[1].s, a[1].n) : NULL;
    buf_addf(&m->x->out, "%zu", at ? utf8_count(a->s, (size_t)(at - a->s)) + 1 : 0);
}

/* As string_find, but an empty text is at place 1, and a text that is missing at -1. */
static void string_str_find(struct module_call *m, const struct span *a)
{
    const char *at = a[1].n ? memmem(a->s, a->n, a[1].s, a[1].n) : a->s;
    buf_addf(&m->x->out, "%ld", at ? (long)utf8_count(a->s, (size_t)(at - a->s)) + 1 : -1L);
}

static void string_replace(struct module_call *m, const struct span *a)
{
    function_put_replaced(m->x, a[0], a[1], a[2], a[3].n ? number_integer(a[3]) : -1);
}

static void string_repeat(struct module_call *m, const struct span *a)
{
    enum { TIMES_MAX = 10000 };
    int64_t times = number_integer(a[1]);
    for (int64_t i = 0; i < times && i < TIMES_MAX && m->x->out.len < 1 << 20; i++)
        expand_put(m->x, a[0]);
}

static void string_count(struct module_call *m, const struct span *a)
{
    buf_addf(&m->x->out, "%zu", function_count_of(a[0], a[1]));
}

static void string_len(struct module_call *m, const struct span *a)
{
    buf_addf(&m->x->out, "%zu", utf8_count(a->s, a->n));
}

static void string_pos(struct module_call *m, const struct span *a)
{
    int64_t at = number_integer(a[1]);
    put_range(m, a[0], at, at);
}

static void string_endswith(struct module_call *m, const struct span *a)
{
    if (a->n >= a[1].n && !memcmp(a->s + a->n - a[1].n, a[1].s, a[1].n))
        expand_puts(m->x, "yes");
}

static int string(struct module_call *m)
{
    enum { ARGUMENTS_MAX = 5 };
    static const struct {
        const char *name, *arguments; /* if "plain" is false, the call has Lua patterns: unknown */
        void (*run)(struct module_call *m, const struct span *a);
    } functions[] = {
        { "sub", "s|i|j", string_sub },
        { "sublength", "s|i|len", string_sublength },
        { "find", "source|target|start|plain", string_find },
        { "str_find", "source|target", string_str_find },
        { "replace", "source|pattern|replace|count|plain", string_replace },
        { "rep", "source|count", string_repeat },
        { "count", "source|pattern|plain", string_count },
        { "len", "s", string_len },
        { "pos", "target|pos", string_pos },
        { "endswith", "source|pattern", string_endswith },
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!span_is(m->function, functions[i].name))
            continue;
        struct span a[ARGUMENTS_MAX], name;
        int place = 1, count = 0, plain = 1;
        for (const char *list = functions[i].arguments; span_next(&list, '|', &name); count++) {
            a[count] = argument(m, name, &place);
            plain = span_is(name, "plain") ? span_truth(a[count], 1) : 1;
        }
        if (plain)
            functions[i].run(m, a);
        return plain;
    }
    return 0;
}

/* ---- Math ------------------------------------------------------------------------------------ */

/* Reads s, a number or an expression such as "10/4", into *n. Returns 1, or 0 if it is neither. */
static int calculate(struct span s, struct number *n)
{
    SCOPED(buf) result = BUF_INIT;
    return number_read(s, n) ||
           (!expression_evaluate(s, &result, NULL) && number_read(span_of_buf(&result), n));
}

/* Computes the sum ('+'), mean ('/'), maximum ('>') or minimum (any other `how`) of the numbers
 * among the positional arguments. Returns their count; if it is 0, *result is not set. */
static int fold(struct module_call *m, char how, double *result)
{
    struct span s;
    struct number n;
    int count = 0;
    for (int i = 1; nth(m, i, &s); i++) {
        if (!calculate(s, &n))
            continue;
        if (!count++)
            *result = n.value;
        else if (how == '+' || how == '/')
            *result += n.value;
        else if ((how == '>') == (n.value > *result))
            *result = n.value;
    }
    if (count && how == '/')
        *result /= count;
    return count;
}

static int math_round(struct module_call *m)
{
    int place = 1;
    struct number value;
    struct span given = argument(m, span_of("value"), &place);
    double power = pow(10, (double)number_integer(argument(m, span_of("precision"), &place)));
    if (calculate(given, &value))
        put_number(m, floor(value.value * power + 0.5) / power);
    else
        expand_error(m->x, "Formatting error: Round input appears non-numeric");
    return 1;
}

static int math(struct module_call *m)
{
    const int place = span_place(m->function, "max|min|sum|average");
    struct span first;
    struct number a;
    double v = 0;
    if (place >= 0) {
        if (fold(m, "><+/"[place], &v))
            put_number(m, v);
        return 1;
    }
    if (span_is(m->function, "round"))
        return math_round(m);
    if (!span_in(m->function, "abs|order") || !nth(m, 1, &first) || !calculate(first, &a))
        return 0;
    put_number(m, span_is(m->function, "abs") ? fabs(a.value)
                  : a.value != 0              ? floor(log10(fabs(a.value)))
                                              : 0);
    return 1;
}

/* ---- lists and choices ----------------------------------------------------------------------- */

static int if_empty(struct module_call *m)
{
    struct span s;
    for (int i = 1; i <= 20; i++)
        if (nth(m, i, &s) && (s = span_trim_space(s)).n) {
            expand_put(m->x, s);
            break;
        }
    return 1;
}

/* Sets *value to the trimmed argument `name` of the #invoke call or, if it is missing or blank
 * there, of the template's call. Returns 1, or 0 without setting *value if both calls lack it. */
static int merged(struct module_call *m, const char *name, struct span *value)
{
    const struct frame *calls[] = { &m->own, m->caller };
    struct span s;
    for (int i = 0; i < 2; i++)
        if (expand_parameter(m->x, calls[i], span_of(name), &s) && (s = span_trim_space(s)).n) {
            *value = s;
            return 1;
        }
    return 0;
}

/* Appends the arguments that are not blank, each between `before` and `after`, with `separator`
 * between them, and `conjunction` before the last one. */
static void join(struct module_call *m, const char *before, const char *after,
                 struct span separator, struct span conjunction)
{
    enum { ITEMS_MAX = 500 };
    struct span items[ITEMS_MAX];
    char number[16];
    int count = 0;
    for (int i = 1; i <= ITEMS_MAX && !m->x->failed && expand_pay(m->x, WORK_NODE / 2); i++) {
        snprintf(number, sizeof number, "%d", i);
        count += merged(m, number, &items[count]);
    }
    for (int i = 0; i < count; i++) {
        if (i)
            expand_put(m->x, i + 1 < count ? separator : conjunction);
        expand_puts(m->x, before);
        expand_put(m->x, items[i]);
        expand_puts(m->x, after);
    }
}

static int separated(struct module_call *m)
{
    const char *text = *m->text                        ? m->text
                       : span_is(m->function, "br")    ? "<br />"
                       : span_is(m->function, "comma") ? ", "
                                                       : "";
    struct span separator = span_of(text), conjunction;
    if (!separator.n)
        merged(m, "separator", &separator);
    if (!merged(m, "conjunction", &conjunction))
        conjunction = separator;
    join(m, "", "", separator, conjunction);
    return 1;
}

static int unbulleted(struct module_call *m)
{
    size_t mark = m->x->out.len;
    expand_puts(m->x, "<div class=\"plainlist\"><ul>");
    size_t begin = m->x->out.len;
    join(m, "<li>", "</li>", span_of(""), span_of(""));
    if (m->x->out.len > begin)
        expand_puts(m->x, "</ul></div>");
    else
        buf_truncate(&m->x->out, mark);
    return 1;
}

/* Modules String2 and Ustring: change the case of the first argument, trim it, or count its
 * characters. Returns 1, or 0 for an unknown function. */
static int letters(struct module_call *m)
{
    struct buf *out = &m->x->out;
    struct span s = { "", 0 };
    unsigned c;
    nth(m, 1, &s);
    s = span_trim_space(s);
    size_t first = s.n ? utf8_read(s.s, s.n, &c) : 0;
    if (span_in(m->function, "lower|upper")) {
        letter_case_put(out, s.s, s.n,
                        span_is(m->function, "lower") ? letter_case_lower : letter_case_upper);
    } else if (span_in(m->function, "sentence|ucfirst")) {
        letter_case_put(out, s.s, first, letter_case_title);
        if (span_is(m->function, "sentence"))
            letter_case_put(out, s.s + first, s.n - first, letter_case_lower);
        else
            expand_put(m->x, (struct span){ s.s + first, s.n - first });
    } else if (span_is(m->function, "trim")) {
        expand_put(m->x, s);
    } else if (span_is(m->function, "len")) {
        buf_addf(out, "%zu", utf8_count(s.s, s.n));
    } else {
        return 0;
    }
    return 1;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    module run;
    const char *text; /* module_call.text */
} modules[] = {
    { "string", string, "" },
    { "math", math, "" },
    { "if empty", if_empty, "" },
    { "separated entries", separated, "" },
    { "br separated entries", separated, "<br />" },
    { "comma separated entries", separated, ", " },
    { "unbulleted list", unbulleted, "" },
    { "string2", letters, "" },
    { "ustring", letters, "" },
    { "trim", letters, "" },
};

static void put_script_error(struct expander *x, const char *why)
{
    x->special++;
    buf_addf(&x->out,
             "<strong class=\"error\"><span class=\"scribunto-error\" "
             "id=\"mw-scribunto-error-%u\">Script error: ",
             x->script_errors++);
    expand_put_html(x, span_of(why));
    expand_puts(x, "</span></strong>");
}

/* Returns the name of a template that shows the same as the module's function; "" if the function
 * shows nothing; NULL if that is not known. */
static const char *shown_by(struct span name, struct span function)
{
    SCOPED(buf) key = BUF_INIT;
    letter_case_put(&key, name.s, name.n, letter_case_lower);
    size_t n = key.len;
    buf_addc(&key, '/');
    buf_add(&key, function.s, function.n);
    const char *shown = knowledge_find("modules", "", key.data);
    buf_truncate(&key, n);
    return shown ? shown : knowledge_find("modules", "", key.data);
}

/* Appends, instead of the module's output, a call of a template that shows the same. Returns 1, or
 * 0 if no such template is known, or if the calling template has a rendering of its own. */
static int leave_module(struct module_call *m, const struct function_call *c, struct span name)
{
    struct span given, code = { "", 0 };
    const char *shown = shown_by(name, m->function);
    if (!shown || (*shown && c->frame->page && expand_is_rendered(m->x, c->frame->page, &given)))
        return 0;
    if (!*shown)
        return 1;
    SCOPED(buf) template = BUF_INIT;
    size_t before = strcspn(shown, "*");
    buf_add(&template, shown, before);
    if (shown[before] && own(m, span_of("code"), &code)) /* replaces the '*' of "lang-*" */
        span_put(expand_without_marks(m->x, code), &template);
    expand_leave(m->x, c->frame, c->tree, span_of_buf(&template), m->own.first, c->frame);
    return 1;
}

void function_invoke(struct expander *x, struct function_call *c)
{
    struct span name = c->first;
    struct module_call m = { .x = x, .caller = c->frame };
    m.own = (struct frame){ .caller = c->frame, .caller_tree = c->tree };
    if (c->count < 2) {
        put_script_error(x, "You must specify a function to call.");
        return;
    }
    m.function = expand_value(x, c, 1);
    if (c->count > 2)
        expand_set_arguments(x, &m.own, (uint32_t)(c->parts[2] - c->tree->nodes));
    size_t mark = x->out.len;
    int is_there = 0;
    for (size_t i = 0; i < sizeof modules / sizeof *modules && !x->failed; i++) {
        if (!span_is(name, modules[i].name))
            continue;
        is_there = 1;
        m.text = modules[i].text;
        if (modules[i].run(&m))
            return;
    }
    buf_truncate(&x->out, mark);
    if (x->failed || leave_module(&m, c, name))
        return;
    if (is_there || expand_find_page(x, name, LIBRARY_MODULES)) {
        expand_fail(x, c->frame);
    } else if (!expand_give_up(x, c->frame)) {
        SCOPED(buf) why = buf_format("No such module \"%.*s\".", (int)name.n, name.s);
        put_script_error(x, why.data);
    }
}
