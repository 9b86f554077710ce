#include "tokenizer/cut/automaton.h"

#include "tokenizer/cut/pattern.h"

enum {
    RAW_CLASSES = 64,
    BACK_MAX = 128,
    FORWARD_MAX = PATTERN_STEPS + 1,
    GAP = PATTERN_STEPS, /* pseudo-step: the forward automaton is between two matches */
    END = -1,            /* pseudo-class: the end of the text */
    BEGIN = 1 << 12,     /* flag added to a step: a piece begins */
};

/* A set of steps of the pattern: those from which the rest of the text leads to a match. */
struct alive {
    uint64_t bits[PATTERN_STEPS / 64];
};

struct building {
    const struct pattern *e;
    uint64_t signatures[RAW_CLASSES]; /* for each class, the sets that contain it, as bits */
    int class_count;
    struct alive back[BACK_MAX];
    int back_count;
    int16_t back_to[RAW_CLASSES][BACK_MAX];
    /* forward[class][state][step] is the step after a character of this class; `state` is the
     * backward state after it, `step` the step before it. Only steps that can occur have entries:
     * the start, GAP, and steps after a character. -1: does not occur. */
    int16_t (*forward)[BACK_MAX][FORWARD_MAX];
    uint8_t reached[FORWARD_MAX][BACK_MAX]; /* 1: `forward` has this step and state */
    int covers;
};

static int has(const struct alive *a, int step)
{
    return a->bits[step >> 6] >> (step & 63) & 1;
}

/* ---- classes --------------------------------------------------------------------------------- */

static int find_class(struct building *b, uint64_t signature)
{
    for (int i = 0; i < b->class_count; i++)
        if (b->signatures[i] == signature)
            return i;
    if (b->class_count == RAW_CLASSES)
        return -1;
    b->signatures[b->class_count] = signature;
    return b->class_count++;
}

/* Copies one 64-bit word of each set of the pattern to words[]: its bits for the 64 code points of
 * a block. Returns 1 if every word is all zeroes or all ones, else 0. */
static int load_block(const struct pattern *e, uint32_t block, uint64_t *words)
{
    int uniform = 1;
    for (int i = 0; i < e->set_count; i++) {
        memcpy(&words[i], e->sets[i]->bits + block * 8, 8);
        uniform &= !words[i] || words[i] == UINT64_MAX;
    }
    return uniform;
}

static uint64_t signature_of(const struct pattern *e, const uint64_t *words, int bit)
{
    uint64_t signature = 0;
    for (int i = 0; i < e->set_count; i++)
        signature |= (words[i] >> bit & 1) << i;
    return signature;
}

/* Fills the map from code points to classes. Blocks whose code points all have one class share a
 * row. Returns 0, or -1 if there are too many classes. */
static int make_classes(struct building *b, struct automaton *a)
{
    enum { BLOCKS = 0x110000 / AUTOMATON_BLOCK };
    uint64_t words[PATTERN_SETS];
    size_t cap = RAW_CLASSES;
    a->row_count = RAW_CLASSES;
    a->rows = mem_zalloc(cap, sizeof *a->rows);
    for (int i = 0; i < RAW_CLASSES; i++)
        memset(a->rows[i], i, sizeof *a->rows);
    for (uint32_t block = 0; block < BLOCKS; block++) {
        int uniform = load_block(b->e, block, words), class;
        if (block >= 0xD800 / AUTOMATON_BLOCK && block < 0xE000 / AUTOMATON_BLOCK)
            continue; /* surrogates are no characters */
        if (uniform) {
            if ((class = find_class(b, signature_of(b->e, words, 0))) < 0)
                return -1;
            a->blocks[block] = (uint16_t) class;
            continue;
        }
        mem_grow(a->rows, cap, a->row_count + 1);
        a->blocks[block] = (uint16_t)a->row_count++;
        for (int i = 0; i < AUTOMATON_BLOCK; i++) {
            if ((class = find_class(b, signature_of(b->e, words, i))) < 0)
                return -1;
            a->rows[a->blocks[block]][i] = (uint8_t) class;
        }
    }
    return 0;
}

/* ---- the backward automaton ------------------------------------------------------------------ */

static int in_set(const struct building *b, const struct pattern_step *s, int class)
{
    return class == END ? s->at_end : (int)(b->signatures[class] >> s->set & 1);
}

/* Returns 1 if a step leads to a match when the next character has this class, else 0. `behind` has
 * the steps that lead to a match after the character. */
static int leads(const struct building *b, int step, int class, const struct alive *behind)
{
    const struct pattern_step *s = &b->e->steps[step];
    switch (s->op) {
    case PATTERN_MATCH: return 1;
    case PATTERN_TAKE: return class != END && in_set(b, s, class) && has(behind, s->next);
    case PATTERN_LOOK: return in_set(b, s, class) && leads(b, s->next, class, behind);
    default: return leads(b, s->next, class, behind) || leads(b, s->other, class, behind);
    }
}

/* Returns the number of the backward state before a character of this class; `behind` is the state
 * after it. Returns -1, without an error set, if there are too many states. */
static int step_back(struct building *b, int class, const struct alive *behind)
{
    struct alive now = { { 0 } };
    for (int i = 0; i < b->e->count; i++) {
        int entered = i == b->e->start;
        for (int k = 0; k < b->e->count && !entered; k++)
            entered = b->e->steps[k].op == PATTERN_TAKE && b->e->steps[k].next == i;
        if (entered && leads(b, i, class, behind))
            now.bits[i >> 6] |= (uint64_t)1 << (i & 63);
    }
    for (int i = 0; i < b->back_count; i++)
        if (!memcmp(&b->back[i], &now, sizeof now))
            return i;
    if (b->back_count == BACK_MAX)
        return -1;
    b->back[b->back_count] = now;
    return b->back_count++;
}

static int make_back(struct building *b)
{
    static const struct alive none;
    if (step_back(b, END, &none) < 0)
        return -1;
    for (int i = 0; i < b->back_count; i++)
        for (int c = 0; c < b->class_count; c++) {
            struct alive behind = b->back[i];
            int to = step_back(b, c, &behind);
            if (to < 0)
                return -1;
            b->back_to[c][i] = (int16_t)to;
        }
    return 0;
}

/* ---- the forward automaton ------------------------------------------------------------------- */

/* Follows forks and lookaheads from `step`, always the first branch that leads to a match. Returns
 * the PATTERN_TAKE or PATTERN_MATCH step reached. */
static int choose(const struct building *b, int step, int class, const struct alive *behind)
{
    const struct pattern_step *s = &b->e->steps[step];
    for (; s->op == PATTERN_FORK || s->op == PATTERN_LOOK; s = &b->e->steps[step])
        step = s->op == PATTERN_LOOK || leads(b, s->next, class, behind) ? s->next : s->other;
    return step;
}

/* Returns the state of the forward automaton after a character: the number of a step of the
 * pattern, or GAP (between two matches). `step` is the state before the character. `behind` has the
 * steps that lead to a match after the character. The result includes BEGIN if a piece begins at
 * the character. */
static int step_forward(struct building *b, int step, int class, const struct alive *behind)
{
    int starts = leads(b, b->e->start, class, behind), begins = 0;
    if (step != GAP) {
        step = choose(b, step, class, behind);
        begins = b->e->steps[step].op == PATTERN_MATCH ? BEGIN : 0;
    }
    if (step != GAP && !begins)
        return b->e->steps[step].next;
    if (!starts) {
        b->covers = 0;
        return GAP | begins;
    }
    return b->e->steps[choose(b, b->e->start, class, behind)].next | BEGIN;
}

/* Records that the forward automaton can be at `step` where the backward state is `state`, and does
 * so for all that can follow. Does nothing if this was done before. */
static void reach(struct building *b, int step, int state)
{
    if (b->reached[step][state])
        return;
    b->reached[step][state] = 1;
    for (int c = 0; c < b->class_count; c++)
        for (int behind = 0; behind < b->back_count; behind++)
            if (b->back_to[c][behind] == state) {
                int to = step_forward(b, step, c, &b->back[behind]);
                b->forward[c][behind][step] = (int16_t)to;
                reach(b, to & ~BEGIN, behind);
            }
}

/* Builds the forward automaton. A text begins as if a match had just ended: step 0 is the match. */
static void make_forward(struct building *b)
{
    size_t bytes = (size_t)b->class_count * sizeof *b->forward;
    b->forward = memset(mem_alloc(bytes), 0xFF, bytes);
    b->covers = 1;
    for (int i = 0; i < b->back_count; i++)
        reach(b, 0, i);
}

/* ---- merging equal states and classes -------------------------------------------------------- */

/* Merges items (states or classes) whose rows do not differ. -1 in a row is compatible with any
 * value. The first `plain` columns are compared as values. The other columns name items, perhaps
 * with BEGIN; they agree if these items can be merged, too. */
struct merging {
    int count, columns, plain;
    int16_t *rows;  /* row of each item; merged items share the row that combines them */
    int16_t *group; /* the item that represents the group of each item */
};

static void merging_init(struct merging *m, int count, int plain, int others)
{
    *m = (struct merging){ .count = count, .columns = plain + others, .plain = plain };
    size_t cells = (size_t)count * (size_t)m->columns;
    m->rows = memset(mem_alloc(cells * sizeof *m->rows), 0xFF, cells * sizeof *m->rows);
    m->group = mem_alloc((size_t)count * sizeof *m->group);
    for (int i = 0; i < count; i++)
        m->group[i] = (int16_t)i;
}

static void merging_release(struct merging *m)
{
    free(m->rows);
    free(m->group);
}

static int16_t *row_of(const struct merging *m, int thing)
{
    return m->rows + (size_t)thing * (size_t)m->columns;
}

/* Merges two items, and the items that must then be merged, too. Returns 0, or -1 if that is
 * impossible. */
static int unite(struct merging *m, int x, int y)
{
    x = m->group[x];
    y = m->group[y];
    if (x == y)
        return 0;
    if (y < x)
        return unite(m, y, x);
    for (int i = 0; i < m->count; i++)
        if (m->group[i] == y)
            m->group[i] = (int16_t)x;
    const int16_t *from = row_of(m, y);
    for (int i = 0; i < m->columns; i++) {
        int16_t *to = row_of(m, m->group[x]); /* a merge below may have put x into another group */
        if (from[i] < 0 || to[i] == from[i])
            continue;
        if (to[i] < 0)
            to[i] = from[i];
        else if (i < m->plain || ((to[i] ^ from[i]) & BEGIN) ||
                 unite(m, to[i] & ~BEGIN, from[i] & ~BEGIN) < 0)
            return -1;
    }
    return 0;
}

enum { MERGE_BYTES = 1 << 26 }; /* tables copied; the patterns of published models copy some MB */

/* Puts each item into the group of the first item that it is compatible with, until MERGE_BYTES of
 * tables are copied: with more groups, the automaton may be too large. Sets number[i] to the group
 * of item i, and first[k] to the item that represents group k. Returns the number of groups. */
static int merge_all(struct merging *m, int16_t *number, int16_t *first)
{
    size_t cells = (size_t)m->count * (size_t)m->columns * sizeof *m->rows;
    size_t groups = (size_t)m->count * sizeof *m->group;
    SCOPED_MEM int16_t *rows = mem_alloc(cells), *group = mem_alloc(groups);
    int count = 0;
    size_t work = 0;
    for (int i = 0; i < m->count; i++)
        for (int k = 0; k < i && m->group[i] == i && work < MERGE_BYTES; k++) {
            if (m->group[k] != k)
                continue;
            work += cells;
            memcpy(rows, m->rows, cells);
            memcpy(group, m->group, groups);
            if (unite(m, k, i) < 0) {
                memcpy(m->rows, rows, cells);
                memcpy(m->group, group, groups);
            }
        }
    for (int i = 0; i < m->count; i++) {
        number[i] = m->group[i] == i ? (int16_t)count : number[m->group[i]];
        if (m->group[i] == i)
            first[count++] = (int16_t)i;
    }
    return count;
}

/* The automata's states and classes after merging. */
struct small {
    int steps, backs, classes;
    int16_t step_number[FORWARD_MAX], back_number[BACK_MAX], class_number[RAW_CLASSES];
    int16_t back_first[BACK_MAX], class_first[RAW_CLASSES];
    struct merging step, back, class;
};

static void merge_steps(const struct building *b, struct small *s)
{
    int16_t used[FORWARD_MAX], place[FORWARD_MAX], number[FORWARD_MAX], first[FORWARD_MAX];
    int count = 0; /* of the steps that occur in the forward automaton, used[] */
    for (int i = 0; i < FORWARD_MAX; i++)
        if (memchr(b->reached[i], 1, (size_t)b->back_count)) {
            place[i] = (int16_t)count;
            used[count++] = (int16_t)i;
        }
    merging_init(&s->step, count, 0, b->class_count * b->back_count);
    for (int i = 0; i < count; i++)
        for (int c = 0; c < b->class_count; c++)
            for (int k = 0; k < b->back_count; k++) {
                int to = b->forward[c][k][used[i]];
                if (to >= 0)
                    row_of(&s->step,
                           i)[c * b->back_count + k] = (int16_t)(place[to & ~BEGIN] | (to & BEGIN));
            }
    s->steps = merge_all(&s->step, number, first);
    for (int i = 0; i < count; i++)
        s->step_number[used[i]] = number[i];
}

/* Sets row[] for a class and a backward state: row[i] is the forward step after step i, with the
 * flag BEGIN if a piece begins there. */
static void put_targets(const struct building *b, const struct small *s, int class, int behind,
                        int16_t *row)
{
    for (int i = 0; i < FORWARD_MAX; i++) {
        int to = b->forward[class][behind][i];
        if (to >= 0)
            row[s->step_number[i]] = (int16_t)(s->step_number[to & ~BEGIN] | (to & BEGIN));
    }
}

static void merge_backs(const struct building *b, struct small *s)
{
    merging_init(&s->back, b->back_count, b->class_count * s->steps, b->class_count);
    for (int k = 0; k < b->back_count; k++)
        for (int c = 0; c < b->class_count; c++) {
            put_targets(b, s, c, k, row_of(&s->back, k) + c * s->steps);
            row_of(&s->back, k)[s->back.plain + c] = b->back_to[c][k];
        }
    s->backs = merge_all(&s->back, s->back_number, s->back_first);
}

static void merge_classes(const struct building *b, struct small *s)
{
    merging_init(&s->class, b->class_count, s->backs * (s->steps + 1), 0);
    for (int c = 0; c < b->class_count; c++)
        for (int k = 0; k < s->backs; k++) {
            const int16_t *back = row_of(&s->back, s->back_first[k]);
            int16_t *row = row_of(&s->class, c) + k * (s->steps + 1);
            memcpy(row, back + c * s->steps, (size_t)s->steps * sizeof *row);
            row[s->steps] = s->back_number[back[s->back.plain + c]];
        }
    s->classes = merge_all(&s->class, s->class_number, s->class_first);
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* Returns the symbol whose row in a->forward is `row`, and adds it if it is new. Returns -1,
 * without an error set, if there are too many symbols. */
static int find_symbol(struct automaton *a, const uint8_t *row)
{
    for (int i = 0; i < a->symbol_count; i++)
        if (!memcmp(a->forward[i], row, sizeof a->forward[i]))
            return i;
    if (a->symbol_count == AUTOMATON_SYMBOLS)
        return -1;
    memcpy(a->forward[a->symbol_count], row, sizeof a->forward[0]);
    return a->symbol_count++;
}

static int put_class(struct automaton *a, const struct small *s, int class)
{
    const int16_t *row = row_of(&s->class, s->class_first[class]);
    for (int k = 0; k < s->backs; k++, row += s->steps + 1) {
        uint8_t forward[AUTOMATON_STATES] = { 0 };
        for (int i = 0; i < s->steps; i++)
            if (row[i] >= 0)
                forward[i] = (uint8_t)((row[i] & ~BEGIN) | (row[i] & BEGIN ? AUTOMATON_BEGIN : 0));
        int symbol = find_symbol(a, forward);
        if (symbol < 0)
            return -1;
        a->back[class][k] = (uint8_t)row[s->steps];
        a->symbols[class][k] = (uint8_t)symbol;
    }
    return 0;
}

/* Adds the class of the bytes after a character's first byte. They leave all states unchanged.
 * Returns 0, or -1, without an error set, if there are too many symbols. */
static int put_tail(struct automaton *a)
{
    uint8_t same[AUTOMATON_STATES];
    for (int i = 0; i < AUTOMATON_STATES; i++)
        same[i] = (uint8_t)i;
    int symbol = find_symbol(a, same);
    for (int i = 0; i < AUTOMATON_STATES; i++) {
        a->back[a->tail][i] = (uint8_t)i;
        a->symbols[a->tail][i] = (uint8_t)symbol;
    }
    return symbol < 0 ? -1 : 0;
}

/* Adds the entries for places where a piece must begin. Before such a place the backward automaton
 * is in its state at the end of a text. At such a place the forward automaton goes on as at the
 * beginning of a text, whatever its state was. */
static void put_cuts(struct automaton *a)
{
    for (int c = 0; c < AUTOMATON_CLASSES; c++)
        for (int i = 0; i < AUTOMATON_STATES; i++) {
            a->back[c | AUTOMATON_CUT][i] = a->back_end;
            a->symbols[c | AUTOMATON_CUT][i] = a->symbols[c][i] | AUTOMATON_SYMBOLS;
        }
    for (int i = 0; i < AUTOMATON_SYMBOLS; i++)
        memset(a->forward[i | AUTOMATON_SYMBOLS], a->forward[i][a->start], AUTOMATON_STATES);
}

static void put_map(struct automaton *a, const struct building *b, const struct small *s)
{
    for (size_t i = 0; i < a->row_count; i++)
        for (int k = 0; k < AUTOMATON_BLOCK; k++) {
            int class = a->rows[i][k];
            a->rows[i][k] = class < b->class_count ? (uint8_t)s->class_number[class] : 0;
        }
    for (int c = 0; c < 256; c++)
        a->bytes[c] = c < 0x80 ? automaton_class(a, (uint32_t)c) : a->tail;
}

static int takes_ascii(const struct pattern *e)
{
    for (int i = 0; i < e->count; i++)
        for (uint32_t c = 0; c < 0x80 && e->steps[i].op == PATTERN_TAKE; c++)
            if (charset_has(e->sets[e->steps[i].set], c))
                return 1;
    return 0;
}

static int put_tables(struct automaton *a, const struct building *b, const struct small *s)
{
    if (s->steps > AUTOMATON_STATES || s->backs > AUTOMATON_STATES ||
        s->classes >= AUTOMATON_CLASSES)
        return -1;
    a->back_count = s->backs;
    a->covers = b->covers;
    a->skips_ascii = !takes_ascii(b->e);
    a->tail = (uint8_t)s->classes;
    a->back_end = (uint8_t)s->back_number[0];
    a->start = (uint8_t)s->step_number[0];
    for (int c = 0; c < s->classes; c++)
        if (put_class(a, s, c) < 0)
            return -1;
    if (put_tail(a) < 0)
        return -1;
    put_map(a, b, s);
    put_cuts(a);
    return 0;
}

static int build(struct automaton *a, struct building *b)
{
    if (make_classes(b, a) < 0 || make_back(b) < 0)
        return -1;
    make_forward(b);
    SCOPED_MEM struct small *s = mem_zalloc(1, sizeof *s);
    merge_steps(b, s);
    merge_backs(b, s);
    merge_classes(b, s);
    const int result = put_tables(a, b, s);
    merging_release(&s->step);
    merging_release(&s->back);
    merging_release(&s->class);
    return result;
}

struct automaton *automaton_new(const char *pattern, size_t n, charset_property_fn *theirs)
{
    struct pattern *e = pattern_new(pattern, n, theirs);
    if (!e)
        return NULL;
    SCOPED_MEM struct building *b = mem_zalloc(1, sizeof *b);
    struct automaton *a = mem_aligned(1, sizeof *a);
    memset(a, 0, sizeof *a);
    b->e = e;
    int result = build(a, b);
    free(b->forward);
    pattern_free(e);
    if (result < 0) {
        automaton_free(a);
        return NULL;
    }
    return a;
}

void automaton_of_bytes(struct automaton *a, const uint32_t points[256])
{
    a->of_bytes = 1;
    a->skips_ascii = 0;
    for (int i = 0; i < 256; i++)
        a->bytes[i] = automaton_class(a, points[i]);
}

void automaton_free(struct automaton *a)
{
    if (!a)
        return;
    free(a->rows);
    free(a);
}
