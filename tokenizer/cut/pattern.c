#include "tokenizer/cut/pattern.h"

/* ---- the tree -------------------------------------------------------------------------------- */

enum kind { NOTHING, SET, LOOK, SEQUENCE, CHOICE, REPEAT };
enum greed { GREEDY, LAZY, POSSESSIVE };
enum { NODES_MAX = 512, UNLIMITED = -1, REPEAT_MAX = 64, DEPTH_MAX = 32 };

struct node {
    enum kind kind;
    int set, at_end;
    int left, right; /* children of SEQUENCE and CHOICE; REPEAT uses only left */
    int min, max;
    enum greed greed;
};

struct reader {
    const char *p, *end;
    struct pattern *e;
    charset_property_fn *theirs;
    struct node nodes[NODES_MAX];
    int count, fold, depth;
};

static int node_add(struct reader *r, struct node n)
{
    if (r->count == NODES_MAX)
        return -1;
    r->nodes[r->count] = n;
    return r->count++;
}

/* Adds a set and takes ownership of it. Returns its number, or that of an equal set; -1 if there
 * are too many. */
static int set_add(struct pattern *e, struct charset *s)
{
    for (int i = 0; i < e->set_count; i++)
        if (!memcmp(e->sets[i], s, sizeof *s)) {
            free(s);
            return i;
        }
    if (e->set_count == PATTERN_SETS) {
        free(s);
        return -1;
    }
    e->sets[e->set_count] = s;
    return e->set_count++;
}

/* Adds the complement of a set. Returns its number, or -1 if there are too many sets. */
static int set_invert(struct pattern *e, int set)
{
    struct charset *s = mem_alloc(sizeof *s);
    *s = *e->sets[set];
    charset_invert(s);
    return set_add(e, s);
}

static int may_be_empty(const struct reader *r, int node)
{
    const struct node *n = &r->nodes[node];
    switch (n->kind) {
    case SET: return 0;
    case SEQUENCE: return may_be_empty(r, n->left) && may_be_empty(r, n->right);
    case CHOICE: return may_be_empty(r, n->left) || may_be_empty(r, n->right);
    case REPEAT: return !n->min || may_be_empty(r, n->left);
    default: return 1;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_choice(struct reader *r);

static int begins(const struct reader *r, const char *with)
{
    return bytes_begin(r->p, (size_t)(r->end - r->p), with);
}

static int skip(struct reader *r, const char *text)
{
    int found = begins(r, text);
    r->p += found ? strlen(text) : 0;
    return found;
}

/* Returns 1 if one of `characters` comes next, else 0. A NUL in a pattern is none of them. */
static int begins_one(const struct reader *r, const char *characters)
{
    return r->p < r->end && *r->p && strchr(characters, *r->p);
}

/* Reads a set of characters at r->p and adds it. Returns its number, or -1 if it cannot be read. */
static int read_set(struct reader *r)
{
    struct charset *s = mem_zalloc(1, sizeof *s);
    int nested;
    if (*r->p == '.') { /* any character except a line end */
        charset_add(s, '\n', '\n');
        charset_invert(s);
        r->p++;
    } else {
        size_t used = charset_parse(s, r->p, (size_t)(r->end - r->p), r->theirs, &nested);
        if (!used || (r->fold && charset_fold(s) < 0)) {
            free(s);
            return -1;
        }
        r->p += used;
    }
    return set_add(r->e, s);
}

/* Reads $ (`line` 1) or \z (`line` 0) as a lookahead: the set of characters that may follow.
 * Returns the number of the new node, or -1, without an error set, on failure. */
static int read_end(struct reader *r, int line)
{
    struct charset *s = mem_zalloc(1, sizeof *s);
    if (line)
        charset_add(s, '\n', '\n');
    int set = set_add(r->e, s);
    return set < 0 ? -1 : node_add(r, (struct node){ .kind = LOOK, .set = set, .at_end = 1 });
}

/* Reads the rest of a lookahead after (?= or, with `negated` 1, after (?!: one set and the bracket.
 * Returns the number of the new node, or -1, without an error set, on failure. */
static int read_look(struct reader *r, int negated)
{
    int set = r->p < r->end && !begins_one(r, "()|*+?{^$") ? read_set(r) : -1;
    if (set < 0 || !skip(r, ")"))
        return -1;
    if (negated && (set = set_invert(r->e, set)) < 0)
        return -1;
    return node_add(r, (struct node){ .kind = LOOK, .set = set, .at_end = negated });
}

static int read_group(struct reader *r)
{
    int fold = r->fold, node;
    if (skip(r, "(?="))
        return read_look(r, 0);
    if (skip(r, "(?!"))
        return read_look(r, 1);
    if (skip(r, "(?i:"))
        r->fold = 1;
    else if (!skip(r, "(?:") && (begins(r, "(?") || !skip(r, "(")))
        return -1;
    if (r->depth++ == DEPTH_MAX)
        return -1;
    node = read_choice(r);
    r->depth--;
    r->fold = fold;
    /* a choice of which two branches may be empty leads to what follows in two ways, and 40 of them
     * in 2^40 */
    if (node >= 0 && r->nodes[node].kind == CHOICE && may_be_empty(r, node))
        return -1;
    return node >= 0 && skip(r, ")") ? node : -1;
}

static int read_atom(struct reader *r)
{
    if (*r->p == '(')
        return read_group(r);
    if (skip(r, "$"))
        return read_end(r, 1);
    if (skip(r, "\\z"))
        return read_end(r, 0);
    if (begins_one(r, "*+?{^"))
        return -1;
    int set = read_set(r);
    return set < 0 ? -1 : node_add(r, (struct node){ .kind = SET, .set = set });
}

static int read_number(struct reader *r, int *number)
{
    const char *from = r->p;
    for (*number = 0; r->p < r->end && *r->p >= '0' && *r->p <= '9' && *number <= REPEAT_MAX;
         r->p++)
        *number = *number * 10 + (*r->p - '0');
    return r->p > from && *number <= REPEAT_MAX;
}

/* Reads {n}, {n,} or {n,m} into n->min and n->max. Returns 0, or -1, without an error set, if it is
 * malformed. */
static int read_interval(struct reader *r, struct node *n)
{
    if (!read_number(r, &n->min))
        return -1;
    n->max = n->min;
    if (skip(r, ",")) {
        n->max = UNLIMITED;
        if (!begins(r, "}") && !read_number(r, &n->max))
            return -1;
    }
    return skip(r, "}") && (n->max == UNLIMITED || (n->max >= n->min && n->max)) ? 0 : -1;
}

/* Reads the repetition operators after `node`. Intervals followed by an operator are not supported:
 * in Ruby {n}+ repeats the interval, and {n}? makes it optional. Returns the number of the node
 * that holds the result, or -1, without an error set, on failure. */
static int read_repeats(struct reader *r, int node)
{
    while (node >= 0 && begins_one(r, "*+?{")) {
        struct node n = { .kind = REPEAT, .left = node, .max = UNLIMITED };
        int interval = *r->p == '{';
        if (may_be_empty(r, node))
            return -1;
        n.min = *r->p == '+';
        n.max = *r->p == '?' ? 1 : UNLIMITED;
        r->p++;
        if (interval && read_interval(r, &n) < 0)
            return -1;
        if (interval && begins_one(r, "+?*"))
            return -1;
        if (skip(r, "?"))
            n.greed = LAZY;
        else if (skip(r, "+"))
            n.greed = POSSESSIVE;
        if (n.greed == POSSESSIVE && r->nodes[node].kind != SET)
            return -1;
        node = node_add(r, n);
    }
    return node;
}

static int read_sequence(struct reader *r)
{
    int all = node_add(r, (struct node){ .kind = NOTHING });
    while (all >= 0 && r->p < r->end && *r->p != '|' && *r->p != ')') {
        int next = read_repeats(r, read_atom(r));
        all = next < 0 ? -1
                       : node_add(r, (struct node){ .kind = SEQUENCE, .left = all, .right = next });
    }
    return all;
}

static int read_choice(struct reader *r)
{
    int all = read_sequence(r);
    while (all >= 0 && skip(r, "|")) {
        int next = read_sequence(r);
        all = next < 0 ? -1
                       : node_add(r, (struct node){ .kind = CHOICE, .left = all, .right = next });
    }
    return all;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int step_add(struct pattern *e, struct pattern_step s)
{
    if (e->count == PATTERN_STEPS)
        return -1;
    e->steps[e->count] = s;
    return e->count++;
}

static int compile(struct reader *r, int node, int next);

/* Adds a fork that tries `one` first, or `two` first if `lazy` is set. Returns the number of the
 * new step, or -1 on failure. */
static int fork_to(struct reader *r, int one, int two, int lazy)
{
    if (one < 0 || two < 0)
        return -1;
    return step_add(r->e, (struct pattern_step){ .op = PATTERN_FORK,
                                                 .next = lazy ? two : one,
                                                 .other = lazy ? one : two });
}

/* Returns the step that a repetition goes to when it ends before its maximum: `next` or, for a
 * possessive repetition, a new lookahead before `next`, which requires that no further repetition
 * is possible. Returns -1 on failure. */
static int leave(struct reader *r, const struct node *n, int next)
{
    if (n->greed != POSSESSIVE)
        return next;
    int set = set_invert(r->e, r->nodes[n->left].set);
    return set < 0 ? -1
                   : step_add(r->e, (struct pattern_step){ PATTERN_LOOK, .set = set, .at_end = 1,
                                                           .next = next });
}

static int compile_loop(struct reader *r, const struct node *n, int next)
{
    int fork = step_add(r->e, (struct pattern_step){ .op = PATTERN_FORK });
    int out = leave(r, n, next), body = fork < 0 ? -1 : compile(r, n->left, fork);
    if (fork < 0 || body < 0 || out < 0)
        return -1;
    r->e->steps[fork].next = n->greed == LAZY ? out : body;
    r->e->steps[fork].other = n->greed == LAZY ? body : out;
    return fork;
}

/* Compiles a repetition that is followed by the step `next`, from the last copy to the first,
 * because each step needs the step after it. Returns the number of the first step, or -1 on
 * failure. */
static int compile_repeat(struct reader *r, const struct node *n, int next)
{
    int at = next;
    if (n->max == UNLIMITED) {
        at = compile_loop(r, n, next);
    } else {
        for (int i = n->min; i < n->max && at >= 0; i++)
            at = fork_to(r, compile(r, n->left, at), leave(r, n, next), n->greed == LAZY);
    }
    for (int i = 0; i < n->min && at >= 0; i++)
        at = compile(r, n->left, at);
    return at;
}

/* Compiles a node before the step `next`. Returns its first step, or -1 if there are too many. */
static int compile(struct reader *r, int node, int next)
{
    const struct node *n = &r->nodes[node];
    if (next < 0)
        return -1;
    switch (n->kind) {
    case NOTHING: return next;
    case SET:
        return step_add(r->e, (struct pattern_step){ PATTERN_TAKE, .set = n->set, .next = next });
    case LOOK:
        return step_add(r->e, (struct pattern_step){ PATTERN_LOOK, .set = n->set,
                                                     .at_end = n->at_end, .next = next });
    case SEQUENCE: return compile(r, n->left, compile(r, n->right, next));
    case CHOICE: return fork_to(r, compile(r, n->left, next), compile(r, n->right, next), 0);
    default: return compile_repeat(r, n, next);
    }
}

struct pattern *pattern_new(const char *text, size_t n, charset_property_fn *theirs)
{
    SCOPED_MEM struct reader *r = mem_zalloc(1, sizeof *r);
    struct pattern *e = mem_zalloc(1, sizeof *e);
    r->p = text;
    r->end = text + n;
    r->theirs = theirs;
    r->e = e;
    int root = read_choice(r);
    if (root >= 0 && r->p == r->end && !may_be_empty(r, root))
        e->start = compile(r, root, step_add(e, (struct pattern_step){ PATTERN_MATCH }));
    else
        e->start = -1;
    if (e->start < 0) {
        pattern_free(e);
        return NULL;
    }
    return e;
}

void pattern_free(struct pattern *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->set_count; i++)
        free(e->sets[i]);
    free(e);
}
