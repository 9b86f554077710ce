#include "wikiprep/expand/preprocess.h"

#include <ctype.h>

#include "wikiprep/text/tag.h"

enum {
    HEADING_MAX = 6,
    NODES_MAX = 1000000, /* limit on nodes plus parts of open elements */
};

/* A list of nodes under construction: one part of an open element. The parts of a template call are
 * its title and its arguments. */
struct part {
    uint32_t head, tail;           /* first and last node; only those after '=', if there is one */
    uint32_t name_head, name_tail; /* first and last node before '=' */
    uint32_t equals;               /* position of '=' in the source */
    uint32_t pipe;                 /* position of the pipe that begins the part */
    uint8_t has_equals;
};

/* An element that is not closed yet. */
struct open {
    char sign; /* '{', '[', '-' for "-{", '\n' for a heading */
    uint8_t line_start;
    uint32_t count; /* number of its opening characters not yet matched */
    uint32_t start; /* position of the first opening character */
    size_t first_part;
};

struct preprocessor {
    struct tree *tree;
    const char *s;
    size_t n, i;
    enum preprocess_mode mode;
    struct open *stack;
    size_t depth, stack_cap;
    struct part *parts; /* the part of the page, then the parts of all open elements */
    size_t part_count, parts_cap;
    int variants; /* "-{" is markup */
    int no_comment_close, fake_line_start;
    /* 1: text up to the next <onlyinclude> is skipped. 0: inside <onlyinclude>. -1: the page does
     * not use it. */
    int find_only;
    const char **unclosed; /* per row of tag_rows, for tag_find_close */
};

/* ---- nodes ------------------------------------------------------------------------------- */

static struct part *part(struct preprocessor *p)
{
    return &p->parts[p->part_count - 1];
}

static void push_part(struct preprocessor *p, size_t pipe)
{
    mem_next(p->parts, p->part_count, p->parts_cap) = (struct part){ .pipe = (uint32_t)pipe };
}

static uint32_t new_node(struct preprocessor *p, enum node_kind kind, size_t begin, size_t end)
{
    struct tree *t = p->tree;
    mem_next(t->nodes, t->count, t->cap) = (struct node){ .kind = (uint8_t)kind,
                                                          .begin = (uint32_t)begin,
                                                          .end = (uint32_t)end };
    return (uint32_t)t->count - 1;
}

static void append_list(struct preprocessor *p, struct part *to, uint32_t head, uint32_t tail)
{
    if (!head)
        return;
    if (to->tail)
        p->tree->nodes[to->tail].next = head;
    else
        to->head = head;
    to->tail = tail;
}

static void add_node(struct preprocessor *p, uint32_t node)
{
    append_list(p, part(p), node, node);
}

static void add_text(struct preprocessor *p, size_t begin, size_t end)
{
    struct node *last = part(p)->tail ? &p->tree->nodes[part(p)->tail] : NULL;
    if (begin == end)
        return;
    if (last && last->kind == NODE_TEXT && last->end == begin)
        last->end = (uint32_t)end;
    else
        add_node(p, new_node(p, NODE_TEXT, begin, end));
}

/* Adds the next n bytes as text, and moves past them. */
static void take_text(struct preprocessor *p, size_t n)
{
    add_text(p, p->i, p->i + n);
    p->i += n;
}

/* ---- open elements --------------------------------------------------------------------------- */

static struct open *top(struct preprocessor *p)
{
    return p->depth ? &p->stack[p->depth - 1] : NULL;
}

static void push(struct preprocessor *p, struct open o)
{
    o.first_part = p->part_count;
    mem_next(p->stack, p->depth, p->stack_cap) = o;
    push_part(p, o.start);
}

/* Removes the top element and appends its content to the enclosing part: its first `signs` opening
 * characters as text, then the nodes of its parts, with pipes between the parts. */
static void break_top(struct preprocessor *p, uint32_t signs)
{
    struct open o = *top(p);
    size_t first = o.first_part, last = p->part_count;
    p->depth--;
    p->part_count = first; /* the parts stay readable after this position */
    add_text(p, o.start, o.start + signs);
    for (size_t i = first; i < last; i++) {
        struct part piece = p->parts[i];
        if (i > first)
            add_text(p, piece.pipe, piece.pipe + 1);
        append_list(p, part(p), piece.name_head, piece.name_tail);
        if (piece.has_equals)
            add_text(p, piece.equals, piece.equals + 1);
        append_list(p, part(p), piece.head, piece.tail);
    }
}

/* ---- headings ---------------------------------------------------------------------------- */

/* Opens a heading if '=' is at p->i, the start of a line (after a '\n', or the text's start). */
static void on_line_start(struct preprocessor *p)
{
    size_t count = 0;
    while (count < HEADING_MAX && p->i + count < p->n && p->s[p->i + count] == '=')
        count++;
    const struct open *o = top(p);
    int named = o && o->sign == '{' && p->part_count - o->first_part > 1 && !part(p)->has_equals;
    if (!count || (count == 1 && named))
        return; /* not a heading, or an argument key=value */
    push(p, (struct open){ .sign = '\n', .start = (uint32_t)p->i, .count = (uint32_t)count });
    take_text(p, count);
}

/* ---- tags -------------------------------------------------------------------------------- */

/* Returns the tag whose name is at p->s[at] if its content is not parsed, else NULL. */
static const struct tag_row *find_tag(const struct preprocessor *p, size_t at)
{
    const char *end = p->s + p->n, *after;
    const struct tag_row *tag = tag_find(p->s + at, end, &after);
    int ends = after < end &&
               (isspace((unsigned char)*after) || *after == '>' || span_begins(after, end, "/>"));
    return tag && tag->is_opaque && ends ? tag : NULL;
}

static int is(const struct tag_row *tag, const char *name)
{
    return !strcmp(tag->name, name);
}

static size_t comment_end(struct preprocessor *p, size_t at)
{
    return (size_t)(tag_comment_end(p->s + at, p->s + p->n, &p->no_comment_close) - p->s);
}

/* Skips a comment. If only comments and blanks are on its line, the whole line is dropped. */
static void on_comment(struct preprocessor *p)
{
    const char *s = p->s;
    size_t end = comment_end(p, p->i), begin = p->i, line = end;
    while (begin && (s[begin - 1] == ' ' || s[begin - 1] == '\t'))
        begin--;
    int may_have_line = begin && s[begin - 1] == '\n';
    while (may_have_line) {
        line = (size_t)(span_past(s + line, s + p->n, " \t") - s);
        if (!span_begins(s + line, s + p->n, "<!--"))
            break;
        line = comment_end(p, line);
    }
    if (may_have_line && line < p->n && s[line] == '\n') {
        struct node *last = part(p)->tail ? &p->tree->nodes[part(p)->tail] : NULL;
        if (last && last->kind == NODE_TEXT && last->end == p->i &&
            last->end - last->begin >= p->i - begin)
            last->end = (uint32_t)begin;
        end = line + 1;
        p->fake_line_start = 1;
    }
    p->i = end;
}

static void add_tag(struct preprocessor *p, const struct tag_row *tag, size_t begin, size_t inner,
                    size_t inner_end, size_t end)
{
    uint32_t content = new_node(p, NODE_TEXT, inner, inner_end);
    uint32_t node = new_node(p, NODE_TAG, begin, end);
    p->tree->nodes[node].child = content;
    if (tag->kind == TAG_REF)
        p->tree->nodes[node].flags = NODE_REFERENCE;
    if (is(tag, "pages"))
        p->tree->nodes[node].flags = NODE_BOOK;
    if (tag->kind == TAG_POEM ||
        (tag->kind == TAG_PRE && tag_is_wikitext(p->s + begin, p->s + inner)))
        p->tree->nodes[node].flags = NODE_WIKITEXT;
    add_node(p, node);
}

/* Handles a known tag at p->i: <name ...> or, with `closing` 1, </name>. Moves p->i past the text
 * that it has handled. */
static void on_known_tag(struct preprocessor *p, const struct tag_row *tag, int closing)
{
    int included = p->mode == PREPROCESS_INCLUDED;
    size_t begin = p->i, name_end = begin + 1 + (size_t)closing + strlen(tag->name);
    const char *end = p->s + p->n, *gt = tag_end(p->s + name_end, end);
    int includes = is(tag, "includeonly"), excludes = is(tag, "noinclude");
    int is_mark = included ? includes : excludes || is(tag, "onlyinclude");
    int broken = gt == end || *gt != '>';
    if (broken || (closing && !is_mark)) {
        take_text(p, 1);
        return;
    }
    size_t open_end = (size_t)(gt - p->s) + 1, inner_end = open_end;
    p->i = open_end;
    if (is_mark) /* only the tag is dropped */
        return;
    int hidden = included ? excludes : includes;
    if (gt[-1] != '/') {
        const char *after = end, *close = tag_find_close(gt + 1, end, tag->name, &after,
                                                         &p->unclosed[tag - tag_rows]);
        if (!close && !(included && excludes)) {
            add_text(p, begin, open_end);
            return;
        }
        inner_end = close ? (size_t)(close - p->s) : p->n;
        p->i = (size_t)(after - p->s);
    }
    int is_edge = is(tag, "section") && p->i == open_end; /* <section begin=…/> shows nothing */
    if (!hidden && !is_edge)
        add_tag(p, tag, begin, open_end, inner_end, p->i);
}

static void on_angle(struct preprocessor *p)
{
    size_t left = p->n - p->i;
    const struct tag_row *tag;
    int closing = left > 1 && p->s[p->i + 1] == '/';
    int included = p->mode == PREPROCESS_INCLUDED;
    if (bytes_begin(p->s + p->i, left, "<!--"))
        on_comment(p);
    else if (included && p->find_only >= 0 && bytes_begin(p->s + p->i, left, "</onlyinclude>"))
        p->find_only = 1;
    else if (left > 1 + (size_t)closing && (tag = find_tag(p, p->i + 1 + (size_t)closing)) &&
             !(included && is(tag, "onlyinclude")))
        on_known_tag(p, tag, closing);
    else
        take_text(p, 1);
}

/* ---- braces and brackets ----------------------------------------------------------------- */

static void on_open(struct preprocessor *p)
{
    char sign = p->s[p->i];
    size_t count = 1;
    while (p->i + count < p->n && p->s[p->i + count] == sign)
        count++;
    if (count < 2) {
        take_text(p, count);
        return;
    }
    int line_start = p->i && p->s[p->i - 1] == '\n';
    push(p, (struct open){ .sign = sign,
                           .line_start = (uint8_t)line_start,
                           .start = (uint32_t)p->i,
                           .count = (uint32_t)count });
    p->i += count;
}

/* Makes a call or a parameter from the parts of the top element, removes these parts, and returns
 * the new node. */
static uint32_t close_parts(struct preprocessor *p, enum node_kind kind, size_t end)
{
    const struct open *o = top(p);
    uint32_t call = new_node(p, kind, 0, end), before = 0;
    for (size_t i = o->first_part; i < p->part_count; i++) {
        struct part piece = p->parts[i];
        uint32_t node = new_node(p, NODE_PART, 0, 0);
        p->tree->nodes[node].child = piece.head;
        if (piece.has_equals) {
            p->tree->nodes[node].flags = NODE_NAMED;
            p->tree->nodes[node].begin = piece.name_head;
        }
        if (before)
            p->tree->nodes[before].next = node;
        else
            p->tree->nodes[call].child = node;
        before = node;
    }
    p->part_count = o->first_part;
    return call;
}

/* Turns the top element into a call (`matched` 2) or a parameter (3): its innermost `matched`
 * braces are closed. Outer braces stay open; a single one becomes text. */
static void close_braces(struct preprocessor *p, size_t matched)
{
    uint32_t call = close_parts(p, matched == 3 ? NODE_PARAMETER : NODE_CALL, p->i + matched);
    struct open o = *top(p);
    p->depth--;
    p->i += matched;
    o.count -= (uint32_t)matched;
    struct node *node = &p->tree->nodes[call];
    node->begin = o.start + o.count;
    if (o.line_start && !o.count)
        node->flags = NODE_LINE_START;
    if (o.count >= 2)
        push(p, o);
    else if (o.count)
        add_text(p, o.start, o.start + o.count);
    add_node(p, call);
}

/* Closes the top element's inner two brackets. A link becomes text; outer brackets stay open. */
static void close_link(struct preprocessor *p)
{
    struct open o = *top(p);
    struct part inside = p->parts[o.first_part];
    p->depth--;
    p->part_count = o.first_part;
    o.count -= 2;
    size_t inner = o.start + o.count;
    if (o.count >= 2)
        push(p, o);
    else
        add_text(p, o.start, inner);
    add_text(p, inner, inner + 2);
    append_list(p, part(p), inside.head, inside.tail);
    take_text(p, 2);
}

static void on_close(struct preprocessor *p)
{
    struct open *o = top(p);
    char close = p->s[p->i];
    size_t count = 0;
    while (count < o->count && p->i + count < p->n && p->s[p->i + count] == close)
        count++;
    if (count < 2)
        take_text(p, count);
    else if (close == '}')
        close_braces(p, count > 3 ? 3 : count);
    else
        close_link(p);
}

/* Handles "-{" and "}-". Text such as "-{zh-hans:one;zh-hant:two}-" stays text, but a pipe in it
 * does not separate arguments of a call around it. Returns 1, or 0 if neither is at p->i. */
static int on_variant(struct preprocessor *p)
{
    const char *s = p->s + p->i;
    size_t left = p->n - p->i;
    const struct open *o = top(p);
    if (left > 1 && s[0] == '-' && s[1] == '{' && !(left > 2 && s[2] == '{')) {
        push(p, (struct open){ .sign = '-', .start = (uint32_t)p->i, .count = 2 });
        p->i += 2;
    } else if (left > 1 && s[0] == '}' && s[1] == '-' && o && o->sign == '-') {
        break_top(p, 2);
        take_text(p, 2);
    } else {
        return 0;
    }
    return 1;
}

static void on_equals(struct preprocessor *p)
{
    struct part *to = part(p);
    to->name_head = to->head;
    to->name_tail = to->tail;
    to->head = to->tail = 0;
    to->has_equals = 1;
    to->equals = (uint32_t)p->i++;
}

/* ---- the walk ---------------------------------------------------------------------------- */

/* Bytes that may be markup, depending on the open elements. */
static const uint8_t special[256] = {
    [PREPROCESS_DROPPED] = 1,
    ['['] = 1,
    [']'] = 1,
    ['{'] = 1,
    ['}'] = 1,
    ['<'] = 1,
    ['|'] = 1,
    ['='] = 1,
    ['-'] = 1,
    ['\n'] = 1,
};

/* Appends the text up to the next special byte. */
static void skip_text(struct preprocessor *p)
{
    size_t i = p->i;
    while (i < p->n && !special[(unsigned char)p->s[i]])
        i++;
    take_text(p, i - p->i);
}

static void on_sign(struct preprocessor *p)
{
    const struct open *o = top(p);
    char c = p->s[p->i], sign = o ? o->sign : 0;
    int in_call = sign == '{';
    if (p->variants && (c == '-' || c == '}') && on_variant(p))
        return;
    if (c == PREPROCESS_DROPPED) {
        p->i++;
    } else if (c == '<') {
        on_angle(p);
    } else if (c == '\n') {
        if (sign == '\n') {
            break_top(p, 0); /* a heading, closed or not, is text; its line's end comes next */
        } else {
            take_text(p, 1);
            on_line_start(p);
        }
    } else if (c == '|' && in_call) {
        push_part(p, p->i++);
    } else if (c == '=' && in_call && p->part_count - o->first_part > 1 && !part(p)->has_equals) {
        on_equals(p);
    } else if ((c == '}' && in_call) || (c == ']' && sign == '[')) {
        on_close(p);
    } else if (c == '{' || c == '[') {
        on_open(p);
    } else {
        take_text(p, 1);
    }
}

/* Moves p->i after the next <onlyinclude>. Returns 1, or 0 if there is none. */
static int find_only(struct preprocessor *p)
{
    static const char mark[] = "<onlyinclude>";
    const char *at = memmem(p->s + p->i, p->n - p->i, mark, sizeof mark - 1);
    if (!at)
        return 0;
    p->i = (size_t)(at - p->s) + sizeof mark - 1;
    p->find_only = 0;
    return 1;
}

static void walk(struct preprocessor *p)
{
    if (p->find_only < 0)
        on_line_start(p);
    while (p->i < p->n && p->tree->count + p->part_count < NODES_MAX) {
        if (p->find_only > 0 && !find_only(p)) {
            p->i = p->n;
            break;
        }
        if (p->fake_line_start) {
            p->fake_line_start = 0;
            on_line_start(p);
        }
        skip_text(p);
        if (p->i < p->n)
            on_sign(p);
    }
    while (p->depth)
        break_top(p, top(p)->sign == '\n' ? 0 : top(p)->count);
    const char *rest = p->s + p->i, *dropped = memchr(rest, PREPROCESS_DROPPED, p->n - p->i);
    p->tree->is_cut = p->i < p->n;
    add_text(p, p->i, dropped ? (size_t)(dropped - p->s) : p->n);
}

void preprocess(struct preprocessor *p, struct tree *tree, const char *source, size_t n,
                enum preprocess_mode mode)
{
    p->tree = tree;
    p->s = tree->source = source;
    p->n = n;
    p->i = 0;
    p->mode = mode;
    p->depth = p->part_count = tree->count = 0;
    p->no_comment_close = p->fake_line_start = 0;
    memset(p->unclosed, 0, tag_rows_count * sizeof *p->unclosed);
    int only = mode == PREPROCESS_INCLUDED && memmem(source, n, "<onlyinclude>", 13) &&
               memmem(source, n, "</onlyinclude>", 14);
    p->find_only = only ? 1 : -1;
    new_node(p, NODE_PART, 0, n);
    push_part(p, 0);
    walk(p);
    tree->nodes[0].child = part(p)->head;
}

struct preprocessor *preprocessor_new(int variants)
{
    struct preprocessor *p = mem_zalloc(1, sizeof *p);
    p->unclosed = mem_zalloc(tag_rows_count, sizeof *p->unclosed);
    p->variants = variants;
    return p;
}

void preprocessor_free(struct preprocessor *p)
{
    if (!p)
        return;
    free(p->stack);
    free(p->parts);
    free(p->unclosed);
    free(p);
}

void tree_release(struct tree *tree)
{
    free(tree->nodes);
    tree->nodes = NULL;
    tree->count = tree->cap = 0;
}
