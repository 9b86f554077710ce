#include "model/formats/pickle.h"

#include "common/base/le.h"

enum kind { NONE, TRUTH, INTEGER, TEXT, NAME, TUPLE, DICT, STORAGE, TENSOR };

/* A value of the pickle machine. Other values refer to it by its index in machine.values. The
 * members of a TUPLE are cells[first, first + count). A STORAGE or TENSOR keeps the members of the
 * tuple from which it was made. */
struct value {
    enum kind kind;
    uint64_t at; /* byte of the instruction that made it */
    int64_t integer;
    const char *text; /* TEXT; NAME: "module\nname" */
    size_t length;
    size_t first, count;
};

/* A key and its value in a dictionary. */
struct pair {
    uint32_t dict, key, value;
};

enum { NEW_TRUE = 0x88, TUPLE1 = 0x85 }; /* opcodes; after TUPLE1 come those for two and three */
enum { MARK = UINT32_MAX }; /* marks a place on the stack; other entries are value indices */

struct machine {
    const unsigned char *data;
    uint64_t bytes, next, at; /* at: offset of the instruction; next: of the first unread byte */
    const char *name;
    int stopped;
    struct value *values;
    size_t value_count, value_cap;
    uint32_t *cells;
    size_t cell_count, cell_cap;
    uint32_t *stack;
    size_t depth, stack_cap;
    uint32_t *memo; /* value indices; MARK: unused */
    size_t memo_count, memo_cap;
    struct pair *pairs; /* of all dictionaries, in the order of addition */
    size_t pair_count, pair_cap;
};

static int bad(const struct machine *m, const char *what)
{
    return err_set("%s: byte %llu: %s", m->name, (unsigned long long)m->at, what);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the next n bytes. Returns a pointer to them, or NULL with an error if fewer remain. */
static const unsigned char *take(struct machine *m, uint64_t n)
{
    if (n > m->bytes - m->next) {
        err_set("%s: truncated: the instruction at byte %llu goes beyond its %llu bytes", m->name,
                (unsigned long long)m->at, (unsigned long long)m->bytes);
        return NULL;
    }
    m->next += n;
    return m->data + m->next - n;
}

static int take_number(struct machine *m, int bytes, uint64_t *x)
{
    const unsigned char *p = take(m, (uint64_t)bytes);
    *x = p ? le_number(p, bytes) : 0;
    return p ? 0 : -1;
}

/* ---- the stack ------------------------------------------------------------------------------- */

static int push_number(struct machine *m, uint32_t number)
{
    mem_next(m->stack, m->depth, m->stack_cap) = number;
    return 0;
}

static int push(struct machine *m, struct value v)
{
    v.at = m->at;
    mem_next(m->values, m->value_count, m->value_cap) = v;
    return push_number(m, (uint32_t)m->value_count - 1);
}

/* Returns the value `below` places below the top of the stack. Returns NULL with an error if the
 * stack has too few values above its last mark. */
static struct value *peek(struct machine *m, size_t below)
{
    for (size_t i = 0; i <= below; i++)
        if (i >= m->depth || m->stack[m->depth - 1 - i] == MARK) {
            bad(m, "takes more from the stack than there is");
            return NULL;
        }
    return &m->values[m->stack[m->depth - 1 - below]];
}

/* Returns the number of values above the last mark, or -1 with an error if there is no mark. */
static int64_t above_mark(struct machine *m)
{
    for (size_t i = m->depth; i-- > 0;)
        if (m->stack[i] == MARK)
            return (int64_t)(m->depth - 1 - i);
    return bad(m, "no mark on the stack");
}

/* ---- instructions: each gets the number behind its code -------------------------------------- */

typedef int instruction(struct machine *m, uint64_t x);

static int protocol(struct machine *m, uint64_t x)
{
    return x == 2 && m->at == 0 ? 0 : bad(m, "unsupported pickle protocol, only torch's own, 2");
}

/* Pushes what the opcode says: None, True, False, or an empty dictionary. */
static int push_constant(struct machine *m, uint64_t)
{
    const unsigned char code = m->data[m->at];
    return push(m, (struct value){ .kind = code == 'N'   ? NONE
                                           : code == '}' ? DICT
                                                         : TRUTH,
                                   .integer = code == NEW_TRUE });
}

/* Pushes an integer of one, two or four bytes. Only one of four bytes has a sign. */
static int push_integer(struct machine *m, uint64_t x)
{
    return push(m, (struct value){ .kind = INTEGER, .integer = (int32_t)(uint32_t)x });
}

/* Pushes an integer that is stored in the next x bytes, little-endian, in two's complement. */
static int push_long(struct machine *m, uint64_t x)
{
    if (x > 8)
        return bad(m, "an integer beyond 64 bits");
    uint64_t magnitude;
    if (take_number(m, (int)x, &magnitude) < 0)
        return -1;
    int unused = 64 - 8 * (int)x;
    int64_t value = x ? (int64_t)(magnitude << unused) >> unused : 0;
    return push(m, (struct value){ .kind = INTEGER, .integer = value });
}

static int push_text(struct machine *m, uint64_t x)
{
    const char *text = (const char *)take(m, x);
    if (!text)
        return -1;
    if (memchr(text, 0, x))
        return bad(m, "a text with a NUL in it");
    return push(m, (struct value){ .kind = TEXT, .text = text, .length = x });
}

static int push_mark(struct machine *m, uint64_t)
{
    return push_number(m, MARK);
}

/* Replaces the top `count` values of the stack by a tuple of them. */
static int make_tuple(struct machine *m, size_t count)
{
    if (count && !peek(m, count - 1))
        return -1;
    struct value v = { .kind = TUPLE, .first = m->cell_count, .count = count };
    mem_grow(m->cells, m->cell_cap, m->cell_count + count);
    if (count)
        memcpy(m->cells + m->cell_count, m->stack + m->depth - count, count * sizeof *m->cells);
    m->cell_count += count;
    m->depth -= count;
    return push(m, v);
}

/* Replaces the top zero to three values of the stack by a tuple of them. The instruction's opcode
 * gives the number. */
static int tuple_of_few(struct machine *m, uint64_t)
{
    unsigned code = m->data[m->at];
    return make_tuple(m, code == ')' ? 0 : code - TUPLE1 + 1);
}

static int tuple_to_mark(struct machine *m, uint64_t)
{
    int64_t count = above_mark(m);
    if (count < 0 || make_tuple(m, (size_t)count) < 0)
        return -1;
    m->depth--; /* the tuple replaces the mark */
    m->stack[m->depth - 1] = m->stack[m->depth];
    return 0;
}

static int put_memo(struct machine *m, uint64_t x)
{
    if (!peek(m, 0))
        return -1;
    if (x >= m->bytes) /* memo numbers count from 0, and each takes at least two bytes */
        return bad(m, "a number of a value that is too high");
    mem_grow(m->memo, m->memo_cap, x + 1);
    while (m->memo_count <= x)
        m->memo[m->memo_count++] = MARK;
    m->memo[x] = m->stack[m->depth - 1];
    return 0;
}

static int get_memo(struct machine *m, uint64_t x)
{
    if (x >= m->memo_count || m->memo[x] == MARK)
        return bad(m, "recalls a value that was never stored");
    return push_number(m, m->memo[x]);
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Moves the top `count` key-value pairs of the stack into the dictionary below them. `marks` is the
 * number of marks between the dictionary and the pairs: 0 or 1. */
static int set_pairs(struct machine *m, size_t count, size_t marks)
{
    if (m->depth < 2 * count + marks + 1)
        return bad(m, "takes more from the stack than there is");
    const uint32_t *pairs = m->stack + m->depth - 2 * count;
    uint32_t dict = pairs[-1 - (ptrdiff_t)marks];
    if (dict == MARK || m->values[dict].kind != DICT)
        return bad(m, "sets members of something that is not a dictionary");
    mem_grow(m->pairs, m->pair_cap, m->pair_count + count);
    for (size_t i = 0; i < count; i++) {
        if (pairs[2 * i] == MARK || pairs[2 * i + 1] == MARK)
            return bad(m, "a mark where a value should be");
        m->pairs[m->pair_count++] = (struct pair){ dict, pairs[2 * i], pairs[2 * i + 1] };
    }
    m->depth -= 2 * count + marks;
    return 0;
}

static int set_item(struct machine *m, uint64_t)
{
    return set_pairs(m, 1, 0);
}

static int set_items(struct machine *m, uint64_t)
{
    int64_t count = above_mark(m);
    if (count < 0)
        return -1;
    return count % 2 ? bad(m, "a key without a value") : set_pairs(m, (size_t)count / 2, 1);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Drops the attributes that the pickle sets on a dictionary: module versions, never needed here. */
static int build(struct machine *m, uint64_t)
{
    const struct value *state = peek(m, 0), *object = state ? peek(m, 1) : NULL;
    if (!object)
        return -1;
    if (state->kind != DICT || object->kind != DICT)
        return bad(m, "sets attributes of something that is not a dictionary");
    m->depth--;
    return 0;
}

/* ---- names and what is made of them ---------------------------------------------------------- */

static const char ordered_dict[] = "collections\nOrderedDict";
static const char tensor_maker[] = "torch._utils\n_rebuild_tensor_v2";
static const char parameter_maker[] = "torch._utils\n_rebuild_parameter";
static const char storage_begin[] = "torch\n", storage_end[] = "Storage";

static int is_text(const struct value *v, const char *text)
{
    return bytes_are(v->text, v->length, text);
}

static int is_storage_class(const struct value *v)
{
    return v->kind == NAME && bytes_begin(v->text, v->length, storage_begin) &&
           bytes_end(v->text, v->length, storage_end) && !memchr(v->text, '.', v->length);
}

static int push_name(struct machine *m, uint64_t)
{
    const unsigned char *begin = m->data + m->next, *end = begin;
    for (int lines = 0; lines < 2; lines++, end++)
        if (!(end = memchr(end, '\n', m->bytes - (uint64_t)(end - m->data))))
            return take(m, m->bytes - m->next + 1) ? 0 : -1;
    m->next = (uint64_t)(end - m->data);
    struct value v = { .kind = NAME,
                       .text = (const char *)begin,
                       .length = (size_t)(end - begin) - 1 };
    if (is_text(&v, ordered_dict) || is_text(&v, tensor_maker) || is_text(&v, parameter_maker) ||
        is_storage_class(&v))
        return push(m, v);
    int module = (int)strcspn(v.text, "\n"), rest = (int)v.length - module - 1;
    return err_set(
        "%s: byte %llu: refers to '%.*s.%.*s', which does not belong in a dictionary of tensors",
        m->name, (unsigned long long)m->at, module < 100 ? module : 100, v.text,
        rest < 100 ? rest : 100, v.text + module + 1);
}

static const struct value *member(const struct machine *m, const struct value *v, size_t i)
{
    return &m->values[m->cells[v->first + i]];
}

/* Returns 1 if the members of a tuple have these kinds, one letter per member: - None, n
 * name, t text, i integer, p tuple, b truth, d dictionary, s storage, x tensor. Else returns 0. */
static int has_members(const struct machine *m, const struct value *v, const char *kinds)
{
    static const char letters[] = {
        [NONE] = '-',  [TRUTH] = 'b', [INTEGER] = 'i', [TEXT] = 't',  [NAME] = 'n',
        [TUPLE] = 'p', [DICT] = 'd',  [STORAGE] = 's', [TENSOR] = 'x'
    };
    if (v->kind != TUPLE || v->count != strlen(kinds))
        return 0;
    for (size_t i = 0; i < v->count; i++)
        if (letters[member(m, v, i)->kind] != kinds[i])
            return 0;
    return 1;
}

static int persistent(struct machine *m, uint64_t)
{
    struct value *id = peek(m, 0);
    if (!id)
        return -1;
    if (!has_members(m, id, "tntti") || !is_text(member(m, id, 0), "storage") ||
        !is_storage_class(member(m, id, 1)) || member(m, id, 4)->integer < 0)
        return bad(m, "an id of something that is not a storage");
    struct value v = *id;
    v.kind = STORAGE;
    m->depth--;
    return push(m, v);
}

static int sizes_fit(const struct machine *m, const struct value *sizes)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (member(m, sizes, i)->kind != INTEGER || member(m, sizes, i)->integer < 0)
            return 0;
    return sizes->count <= SAFETENSORS_RANK;
}

static int is_view(const struct machine *m, const struct value *v)
{
    return has_members(m, v, "sippbd") && member(m, v, 1)->integer >= 0 &&
           sizes_fit(m, member(m, v, 2)) && sizes_fit(m, member(m, v, 3)) &&
           member(m, v, 2)->count == member(m, v, 3)->count;
}

static int reduce(struct machine *m, uint64_t)
{
    const struct value *arguments = peek(m, 0), *name = arguments ? peek(m, 1) : NULL;
    if (!name)
        return -1;
    struct value v = *arguments;
    if (name->kind != NAME)
        return bad(m, "calls something that is not a name");
    if (is_text(name, ordered_dict) && has_members(m, &v, ""))
        v.kind = DICT;
    else if (is_text(name, tensor_maker) && is_view(m, &v))
        v.kind = TENSOR;
    else if (is_text(name, parameter_maker) && has_members(m, &v, "xbd"))
        v = *member(m, &v, 0);
    else
        return bad(m, "makes something else than a dictionary, tensor or parameter");
    m->depth -= 2;
    return push(m, v);
}

static int stop(struct machine *m, uint64_t)
{
    m->stopped = 1;
    if (m->next != m->bytes)
        return bad(m, "ends before the last byte");
    return m->depth != 1 || m->stack[0] == MARK ? bad(m, "leaves not one value on the stack") : 0;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static const struct {
    instruction *run;
    int number; /* bytes of the argument after the opcode */
} instructions[256] = {
    [0x80] = { protocol, 1 },
    ['.'] = { stop, 0 },
    ['N'] = { push_constant, 0 },
    [NEW_TRUE] = { push_constant, 0 },
    [0x89] = { push_constant, 0 },
    ['K'] = { push_integer, 1 },
    ['M'] = { push_integer, 2 },
    ['J'] = { push_integer, 4 },
    [0x8a] = { push_long, 1 },
    ['X'] = { push_text, 4 },
    ['c'] = { push_name, 0 },
    ['('] = { push_mark, 0 },
    [')'] = { tuple_of_few, 0 },
    [TUPLE1] = { tuple_of_few, 0 },
    [TUPLE1 + 1] = { tuple_of_few, 0 },
    [TUPLE1 + 2] = { tuple_of_few, 0 },
    ['t'] = { tuple_to_mark, 0 },
    ['}'] = { push_constant, 0 },
    ['s'] = { set_item, 0 },
    ['u'] = { set_items, 0 },
    ['b'] = { build, 0 },
    ['q'] = { put_memo, 1 },
    ['r'] = { put_memo, 4 },
    ['h'] = { get_memo, 1 },
    ['j'] = { get_memo, 4 },
    ['Q'] = { persistent, 0 },
    ['R'] = { reduce, 0 },
};

static int run(struct machine *m)
{
    while (!m->stopped) {
        uint64_t code, x = 0;
        m->at = m->next;
        if (take_number(m, 1, &code) < 0)
            return -1;
        if (!instructions[code].run)
            return err_set(
                "%s: byte %llu: instruction 0x%02x does not belong in a dictionary of tensors",
                m->name, (unsigned long long)m->at, (unsigned)code);
        if (take_number(m, instructions[code].number, &x) < 0 || instructions[code].run(m, x) < 0)
            return -1;
    }
    return 0;
}

/* ---- the result ------------------------------------------------------------------------------ */

typedef int adder(void *ctx, const struct pickle_tensor *t);

static int give_tensor(const struct machine *m, const struct value *name, const struct value *v,
                       adder *add, void *ctx)
{
    const struct value *storage = member(m, v, 0), *type = member(m, storage, 1);
    const struct value *key = member(m, storage, 2), *shape = member(m, v, 2);
    size_t begin = sizeof storage_begin - 1;
    SCOPED_MEM char *own_name = mem_strndup(name->text, name->length);
    SCOPED_MEM char *own_type = mem_strndup(type->text + begin, type->length - begin);
    SCOPED_MEM char *own_key = mem_strndup(key->text, key->length);
    struct pickle_tensor t = { .view = { .name = own_name, .rank = (int)shape->count },
                               .offset = member(m, v, 1)->integer,
                               .type = own_type,
                               .key = own_key,
                               .storage_elements = member(m, storage, 4)->integer };
    for (size_t i = 0; i < shape->count; i++) {
        t.view.shape[i] = member(m, shape, i)->integer;
        t.view.stride[i] = member(m, member(m, v, 3), i)->integer;
    }
    return add(ctx, &t);
}

/* Calls `add` for each member of the dictionary that is left on the stack. */
static int give(struct machine *m, adder *add, void *ctx)
{
    if (m->values[m->stack[0]].kind != DICT)
        return bad(m, "makes no dictionary");
    for (size_t i = 0; i < m->pair_count; i++) {
        const struct pair *pair = &m->pairs[i];
        if (pair->dict != m->stack[0])
            continue;
        const struct value *key = &m->values[pair->key], *v = &m->values[pair->value];
        m->at = key->at;
        if (key->kind != TEXT)
            return bad(m, "a key that is not text");
        m->at = v->at;
        if (v->kind != TENSOR)
            return err_set("%s: byte %llu: '%.*s' is not a tensor", m->name,
                           (unsigned long long)m->at, (int)(key->length < 100 ? key->length : 100),
                           key->text);
        if (give_tensor(m, key, v, add, ctx) < 0)
            return -1;
    }
    return 0;
}

int pickle_read(const void *bytes, uint64_t n, const char *name, adder *add, void *ctx)
{
    struct machine m = { .data = bytes, .bytes = n, .name = name };
    int failed = run(&m) < 0 || give(&m, add, ctx) < 0;
    free(m.values);
    free(m.cells);
    free(m.stack);
    free(m.memo);
    free(m.pairs);
    return failed ? -1 : 0;
}
