#include "wikiprep/values/expression.h"

#include <math.h>

#include "common/base/utf8.h"

enum { STACK_MAX = 100 };

enum operator{
    NONE,
    OPEN,
    NEGATIVE,
    POSITIVE,
    EXPONENT,
    NOT,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    EXP,
    LN,
    ABS,
    FLOOR,
    TRUNC,
    CEIL,
    SQRT,
    POWER,
    TIMES,
    DIVIDE,
    MOD,
    FMOD,
    PLUS,
    MINUS,
    ROUND,
    EQUAL,
    LESS,
    GREATER,
    NOT_EQUAL,
    LESS_EQUAL,
    GREATER_EQUAL,
    AND,
    OR,
    PI
};

/* Where one name begins with another ("<=" with "<"), the longer comes later: on_sign searches from
 * the end. */
static const struct {
    const char *name, *synonym;
    int precedence, operands;
    double (*function)(double); /* NULL: apply_one and apply_two compute it */
} operators[] = {
    [OPEN] = { "(", NULL, -1, 0, NULL },       [NEGATIVE] = { "-", NULL, 10, 1, NULL },
    [POSITIVE] = { "+", NULL, 10, 1, NULL },   [EXPONENT] = { "e", NULL, 10, 2, NULL },
    [NOT] = { "not", NULL, 9, 1, NULL },       [SIN] = { "sin", NULL, 9, 1, sin },
    [COS] = { "cos", NULL, 9, 1, cos },        [TAN] = { "tan", NULL, 9, 1, tan },
    [ASIN] = { "asin", NULL, 9, 1, asin },     [ACOS] = { "acos", NULL, 9, 1, acos },
    [ATAN] = { "atan", NULL, 9, 1, atan },     [EXP] = { "exp", NULL, 9, 1, exp },
    [LN] = { "ln", NULL, 9, 1, log },          [ABS] = { "abs", NULL, 9, 1, fabs },
    [FLOOR] = { "floor", NULL, 9, 1, floor },  [TRUNC] = { "trunc", NULL, 9, 1, NULL },
    [CEIL] = { "ceil", NULL, 9, 1, ceil },     [SQRT] = { "sqrt", NULL, 9, 1, sqrt },
    [POWER] = { "^", NULL, 8, 2, NULL },       [TIMES] = { "*", NULL, 7, 2, NULL },
    [DIVIDE] = { "/", "div", 7, 2, NULL },     [MOD] = { "mod", NULL, 7, 2, NULL },
    [FMOD] = { "fmod", NULL, 7, 2, NULL },     [PLUS] = { "+", NULL, 6, 2, NULL },
    [MINUS] = { "-", NULL, 6, 2, NULL },       [ROUND] = { "round", NULL, 5, 2, NULL },
    [EQUAL] = { "=", NULL, 4, 2, NULL },       [LESS] = { "<", NULL, 4, 2, NULL },
    [GREATER] = { ">", NULL, 4, 2, NULL },     [NOT_EQUAL] = { "<>", "!=", 4, 2, NULL },
    [LESS_EQUAL] = { "<=", NULL, 4, 2, NULL }, [GREATER_EQUAL] = { ">=", NULL, 4, 2, NULL },
    [AND] = { "and", NULL, 3, 2, NULL },       [OR] = { "or", NULL, 2, 2, NULL },
    [PI] = { "pi", NULL, 0, 0, NULL },
};
enum { OPERATORS = sizeof operators / sizeof *operators };

struct machine {
    struct number values[STACK_MAX + 1];
    enum operator waiting[STACK_MAX + 1];
    int value_count, waiting_count;
    int wants_operator; /* 1: the last token was an operand */
    struct buf *out;    /* for the error message */
};

/* Appends the error message to m->out. Returns -1. */
static int __attribute__((format(printf, 2, 3))) fail(struct machine *m, const char *why, ...)
{
    va_list values;
    va_start(values, why);
    buf_vaddf(m->out, why, values);
    va_end(values);
    return -1;
}

static int fail_operator(struct machine *m, const char *name)
{
    return fail(m, "Expression error: Unexpected %s operator.", name);
}

static int push_value(struct machine *m, double value)
{
    if (m->value_count > STACK_MAX)
        return fail(m, "Expression error: Stack exhausted.");
    m->values[m->value_count++] = (struct number){ .value = value };
    m->wants_operator = 1;
    return 0;
}

static int push_operator(struct machine *m, enum operator op)
{
    if (m->waiting_count > STACK_MAX)
        return fail(m, "Expression error: Stack exhausted.");
    m->waiting[m->waiting_count++] = op;
    return 0;
}

/* ---- operations --------------------------------------------------------------------------- */

/* Converts as PHP's (int) does: values that are too large are taken modulo 2^64. */
static int64_t to_integer(double v)
{
    if (!isfinite(v))
        return 0;
    double rest = fmod(trunc(v), 0x1p64);
    return (int64_t)(rest < 0 ? -(uint64_t)-rest : (uint64_t)rest);
}

static int apply_one(struct machine *m, enum operator op, struct number *a)
{
    double v = a->value;
    int is_integer = a->is_integer && (op == NEGATIVE || op == POSITIVE || op == ABS);
    if ((op == ASIN || op == ACOS) && !(v >= -1 && v <= 1))
        return fail(m, "Invalid argument for %s: < -1 or > 1.", operators[op].name);
    if (op == LN && v <= 0)
        return fail(m, "Invalid argument for ln: <= 0.");
    if (op == SQRT && v < 0)
        return fail(m, "In sqrt: Result is not a number.");
    if (operators[op].function) {
        v = operators[op].function(v);
    } else if (op == NEGATIVE) {
        v = is_integer && v == 0 ? 0 : -v;
    } else if (op == NOT || op == TRUNC) {
        v = op == NOT ? v == 0 : to_integer(v) + 0.0;
        is_integer = 1;
    }
    *a = (struct number){ .value = v, .is_integer = is_integer };
    return 0;
}

static int apply_two(struct machine *m, enum operator op, struct number *a, struct number b)
{
    double x = a->value, y = b.value, v;
    int whole = a->is_integer && b.is_integer && op != FMOD && op != ROUND;
    int64_t left = to_integer(x), right = to_integer(y);
    if (((op == DIVIDE || op == FMOD) && y == 0) || (op == MOD && !right))
        return fail(m, "Division by zero.");
    switch (op) {
    case EXPONENT: v = x * pow(10, y); break;
    case POWER: v = pow(x, y); break;
    case TIMES: v = x * y; break;
    case DIVIDE: v = x / y; break;
    case MOD: v = right == -1 ? 0 : (double)(left % right); break;
    case FMOD: v = fmod(x, y); break;
    case PLUS: v = x + y; break;
    case MINUS: v = x - y; break;
    case ROUND: v = number_round(x, fabs(y) < 1000 ? (int)y : y > 0 ? 1000 : -1000); break;
    case EQUAL: v = x == y; break;
    case NOT_EQUAL: v = x != y; break;
    case LESS: v = x < y; break;
    case GREATER: v = x > y; break;
    case LESS_EQUAL: v = x <= y; break;
    case GREATER_EQUAL: v = x >= y; break;
    case AND: v = x != 0 && y != 0; break;
    default: v = x != 0 || y != 0; break;
    }
    whole &= fabs(v) < 9e15 && v == trunc(v); /* then the result is an integer in PHP, too */
    *a = (struct number){ .value = v, .is_integer = op == MOD || op >= EQUAL || whole };
    return 0;
}

static int apply(struct machine *m, enum operator op)
{
    int operands = operators[op].operands;
    if (m->value_count < operands)
        return fail(m, "Expression error: Missing operand for %s.", operators[op].name);
    struct number *top = &m->values[m->value_count - operands];
    m->value_count -= operands - 1;
    return operands == 1 ? apply_one(m, op, top) : apply_two(m, op, top, top[1]);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Replaces operators spelled as HTML, and a typographic minus, by their ASCII spellings. */
static void respell(struct buf *s)
{
    static const char *const signs[][2] = {
        { "&lt;", "<" },
        { "&gt;", ">" },
        { "&minus;", "-" },
        { "−", "-" },
    };
    buf_replace_all(s, signs, sizeof signs / sizeof *signs);
}

static enum operator find_word(struct span s)
{
    for (int op = OPEN; op < OPERATORS; op++)
        if (span_is(s, operators[op].name) ||
            (operators[op].synonym && span_is(s, operators[op].synonym)))
            return (enum operator)op;
    return NONE;
}

static int on_binary(struct machine *m, enum operator op, const char *name)
{
    if (!m->wants_operator)
        return fail_operator(m, name);
    while (m->waiting_count &&
           operators[op].precedence <= operators[m->waiting[m->waiting_count - 1]].precedence)
        if (apply(m, m->waiting[--m->waiting_count]) < 0)
            return -1;
    m->wants_operator = 0;
    return push_operator(m, op);
}

static int on_word(struct machine *m, struct span s)
{
    enum { NAME_MAX_BYTES = 31 };
    enum operator op = find_word(s);
    if (op == NONE)
        return fail(m, "Expression error: Unrecognized word \"%.*s\".",
                    (int)(s.n < NAME_MAX_BYTES ? s.n : NAME_MAX_BYTES), s.s);
    if (op == PI && m->wants_operator)
        return fail(m, "Expression error: Unexpected number.");
    if (op == PI)
        return push_value(m, M_PI);
    if (op == EXPONENT && !m->wants_operator)
        return push_value(m, exp(1));
    if (operators[op].operands == 2)
        return on_binary(m, op, operators[op].name);
    if (m->wants_operator)
        return fail_operator(m, operators[op].name);
    return push_operator(m, op);
}

static int on_close(struct machine *m)
{
    while (m->waiting_count && m->waiting[m->waiting_count - 1] != OPEN)
        if (apply(m, m->waiting[--m->waiting_count]) < 0)
            return -1;
    if (!m->waiting_count)
        return fail(m, "Expression error: Unexpected closing bracket.");
    m->waiting_count--;
    m->wants_operator = 1;
    return 0;
}

/* Handles an operator or bracket of one or two characters. Returns its length in bytes, or -1 with
 * the error appended to m->out. */
static int on_sign(struct machine *m, struct span s)
{
    if (*s.s == '(')
        return m->wants_operator ? fail_operator(m, "(") : push_operator(m, OPEN) ? -1 : 1;
    if (*s.s == ')')
        return on_close(m) ? -1 : 1;
    if (!m->wants_operator && (*s.s == '+' || *s.s == '-'))
        return push_operator(m, *s.s == '+' ? POSITIVE : NEGATIVE) ? -1 : 1;
    for (int op = OPERATORS - 1; op > EXPONENT; op--) {
        const char *names[] = { operators[op].name, operators[op].synonym };
        for (int i = 0; i < 2; i++)
            if (names[i] && bytes_begin(s.s, s.n, names[i]))
                return on_binary(m, (enum operator)op, names[i]) ? -1 : (int)strlen(names[i]);
    }
    unsigned c;
    const int n = (int)utf8_read(s.s, s.n, &c);
    return fail(m, "Expression error: Unrecognized punctuation character \"%.*s\".", n, s.s);
}

static int on_number(struct machine *m, struct span s)
{
    SCOPED(buf) text = BUF_INIT;
    if (m->wants_operator)
        return fail(m, "Expression error: Unexpected number.");
    const char *end = s.s + s.n, *point = span_until(s.s, end, '.');
    if (point < end) /* a second point ends the number */
        end = span_until(point + 1, end, '.');
    span_put(span_between(s.s, end), &text);
    return push_value(m, strtod(text.data, NULL));
}

static int read_all(struct machine *m, struct span s)
{
    for (const char *p = s.s, *end = p + s.n; (p = span_past(p, end, " \t\r\n")) < end;) {
        const char *number = span_past(p, end, "0123456789."), *word = p;
        while (word < end && (*word | 0x20) >= 'a' && (*word | 0x20) <= 'z')
            word++;
        const int sign = number > p ? on_number(m, span_between(p, number))
                         : word > p ? on_word(m, span_between(p, word))
                                    : on_sign(m, span_between(p, end));
        if (sign < 0)
            return -1;
        p = (number > p ? number : word) + sign;
    }
    while (m->waiting_count) {
        enum operator op = m->waiting[--m->waiting_count];
        if (op == OPEN)
            return fail(m, "Expression error: Unclosed bracket.");
        if (apply(m, op) < 0)
            return -1;
    }
    return 0;
}

int expression_evaluate(struct span s, struct buf *out, int *truth)
{
    struct machine m;
    SCOPED(buf) plain = BUF_INIT;
    m.value_count = m.waiting_count = m.wants_operator = 0;
    m.out = out;
    span_put(s, &plain);
    respell(&plain);
    int result = read_all(&m, span_of_buf(&plain));
    if (truth)
        *truth = !result && m.value_count && (m.value_count > 1 || m.values[0].value != 0);
    for (int i = 0; i < m.value_count && !result; i++) {
        if (i)
            buf_adds(out, "<br />\n");
        number_put(m.values[i], out);
    }
    return result;
}
