#include "wikiprep/values/expression.h"

#include <math.h>
#include <strings.h>

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
    NOT_EQUAL,
    LESS,
    GREATER,
    LESS_EQUAL,
    GREATER_EQUAL,
    AND,
    OR,
    PI
};

static const struct {
    const char *name, *synonym;
    int precedence, operands;
} operators[] = {
    [OPEN] = { "(", NULL, -1, 0 },       [NEGATIVE] = { "-", NULL, 10, 1 },
    [POSITIVE] = { "+", NULL, 10, 1 },   [EXPONENT] = { "e", NULL, 10, 2 },
    [NOT] = { "not", NULL, 9, 1 },       [SIN] = { "sin", NULL, 9, 1 },
    [COS] = { "cos", NULL, 9, 1 },       [TAN] = { "tan", NULL, 9, 1 },
    [ASIN] = { "asin", NULL, 9, 1 },     [ACOS] = { "acos", NULL, 9, 1 },
    [ATAN] = { "atan", NULL, 9, 1 },     [EXP] = { "exp", NULL, 9, 1 },
    [LN] = { "ln", NULL, 9, 1 },         [ABS] = { "abs", NULL, 9, 1 },
    [FLOOR] = { "floor", NULL, 9, 1 },   [TRUNC] = { "trunc", NULL, 9, 1 },
    [CEIL] = { "ceil", NULL, 9, 1 },     [SQRT] = { "sqrt", NULL, 9, 1 },
    [POWER] = { "^", NULL, 8, 2 },       [TIMES] = { "*", NULL, 7, 2 },
    [DIVIDE] = { "/", "div", 7, 2 },     [MOD] = { "mod", NULL, 7, 2 },
    [FMOD] = { "fmod", NULL, 7, 2 },     [PLUS] = { "+", NULL, 6, 2 },
    [MINUS] = { "-", NULL, 6, 2 },       [ROUND] = { "round", NULL, 5, 2 },
    [EQUAL] = { "=", NULL, 4, 2 },       [NOT_EQUAL] = { "<>", "!=", 4, 2 },
    [LESS] = { "<", NULL, 4, 2 },        [GREATER] = { ">", NULL, 4, 2 },
    [LESS_EQUAL] = { "<=", NULL, 4, 2 }, [GREATER_EQUAL] = { ">=", NULL, 4, 2 },
    [AND] = { "and", NULL, 3, 2 },       [OR] = { "or", NULL, 2, 2 },
    [PI] = { "pi", NULL, 0, 0 },
};
enum { OPERATORS = sizeof operators / sizeof *operators };

struct machine {
    struct number values[STACK_MAX + 1];
    enum operator waiting[STACK_MAX + 1];
    int value_count, waiting_count;
    int wants_operator; /* 1: the last token was an operand */
    struct buf *out;    /* for the error message */
};

static int fail(struct machine *m, const char *what)
{
    buf_addf(m->out, "Expression error: %s.", what);
    return -1;
}

/* Appends the error message what, name, why and "." to m->out, without "Expression error: " before
 * it. Returns -1. */
static int fail_value(struct machine *m, const char *what, const char *name, const char *why)
{
    buf_addf(m->out, "%s%s%s.", what, name, why);
    return -1;
}

static int fail_operator(struct machine *m, const char *name)
{
    buf_addf(m->out, "Expression error: Unexpected %s operator.", name);
    return -1;
}

static int fail_quoted(struct machine *m, const char *what, const char *name)
{
    buf_addf(m->out, "Expression error: %s \"%s\".", what, name);
    return -1;
}

static int push_value(struct machine *m, double value)
{
    if (m->value_count > STACK_MAX)
        return fail(m, "Stack exhausted");
    m->values[m->value_count++] = (struct number){ value, 0 };
    m->wants_operator = 1;
    return 0;
}

static int push_operator(struct machine *m, enum operator op)
{
    if (m->waiting_count > STACK_MAX)
        return fail(m, "Stack exhausted");
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
    int is_integer = 0;
    if ((op == ASIN || op == ACOS) && !(v >= -1 && v <= 1))
        return fail_value(m, "Invalid argument for ", operators[op].name, ": < -1 or > 1");
    if (op == LN && v <= 0)
        return fail_value(m, "Invalid argument for ", "ln", ": <= 0");
    if (op == SQRT && v < 0)
        return fail_value(m, "In ", "sqrt", ": Result is not a number");
    switch (op) {
    case NEGATIVE:
        v = a->is_integer && v == 0 ? 0 : -v;
        is_integer = a->is_integer;
        break;
    case POSITIVE: is_integer = a->is_integer; break;
    case NOT:
        v = v == 0;
        is_integer = 1;
        break;
    case SIN: v = sin(v); break;
    case COS: v = cos(v); break;
    case TAN: v = tan(v); break;
    case ASIN: v = asin(v); break;
    case ACOS: v = acos(v); break;
    case ATAN: v = atan(v); break;
    case EXP: v = exp(v); break;
    case LN: v = log(v); break;
    case ABS:
        v = fabs(v);
        is_integer = a->is_integer;
        break;
    case FLOOR: v = floor(v); break;
    case CEIL: v = ceil(v); break;
    case TRUNC:
        v = to_integer(v) + 0.0;
        is_integer = 1;
        break;
    default: v = sqrt(v); break;
    }
    *a = (struct number){ v, is_integer };
    return 0;
}

/* Returns 1 if v, the result of an operation on two integers, is an integer in PHP, else 0. */
static int fits_integer(double v)
{
    return fabs(v) < 9e15 && v == trunc(v);
}

static int apply_two(struct machine *m, enum operator op, struct number *a, struct number b)
{
    double x = a->value, y = b.value;
    int whole = a->is_integer && b.is_integer, truth = 1;
    double v;
    if ((op == DIVIDE || op == FMOD) && y == 0)
        return fail_value(m, "Division by zero", "", "");
    switch (op) {
    case EXPONENT:
        v = x * pow(10, y);
        truth = 0;
        break;
    case POWER:
        v = pow(x, y);
        truth = 0;
        break;
    case TIMES:
        v = x * y;
        truth = 0;
        break;
    case DIVIDE:
        v = x / y;
        truth = 0;
        break;
    case MOD: {
        int64_t left = to_integer(x), right = to_integer(y);
        if (!right)
            return fail_value(m, "Division by zero", "", "");
        v = right == -1 ? 0 : (double)(left % right);
        break;
    }
    case FMOD:
        v = fmod(x, y);
        truth = whole = 0;
        break;
    case PLUS:
        v = x + y;
        truth = 0;
        break;
    case MINUS:
        v = x - y;
        truth = 0;
        break;
    case ROUND:
        v = number_round(x, fabs(y) < 1000 ? (int)y : y > 0 ? 1000 : -1000);
        truth = whole = 0;
        break;
    case EQUAL: v = x == y; break;
    case NOT_EQUAL: v = x != y; break;
    case LESS: v = x < y; break;
    case GREATER: v = x > y; break;
    case LESS_EQUAL: v = x <= y; break;
    case GREATER_EQUAL: v = x >= y; break;
    case AND: v = x != 0 && y != 0; break;
    default: v = x != 0 || y != 0; break;
    }
    *a = (struct number){ v, truth || (whole && fits_integer(v)) };
    return 0;
}

static int apply(struct machine *m, enum operator op)
{
    int operands = operators[op].operands;
    if (m->value_count < operands) {
        buf_addf(m->out, "Expression error: Missing operand for %s.", operators[op].name);
        return -1;
    }
    struct number *top = &m->values[m->value_count - operands];
    m->value_count -= operands - 1;
    return operands == 1 ? apply_one(m, op, top) : apply_two(m, op, top, top[1]);
}

/* ---- reading ------------------------------------------------------------------------------ */

static int starts(struct span s, const char *word)
{
    return s.n >= strlen(word) && !memcmp(s.s, word, strlen(word));
}

/* Returns the length in bytes of the operator at s in another spelling, HTML or typographic, and
 * sets *as to its usual spelling; returns 0 if there is none. */
static size_t respelled(struct span s, const char **as)
{
    static const char *const signs[][2] = {
        { "&lt;", "<" },
        { "&gt;", ">" },
        { "&minus;", "-" },
        { "−", "-" },
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (starts(s, signs[i][0])) {
            *as = signs[i][1];
            return strlen(signs[i][0]);
        }
    return 0;
}

static enum operator find_word(const char *word, size_t n)
{
    for (int op = 0; op < OPERATORS; op++) {
        const char *names[] = { operators[op].name, operators[op].synonym };
        for (int i = 0; i < 2; i++)
            if (names[i] && strlen(names[i]) == n && !strncasecmp(names[i], word, n))
                return (enum operator)op;
    }
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

static int on_word(struct machine *m, const char *s, size_t n)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)(n < 31 ? n : 31), s);
    enum operator op = find_word(s, n);
    if (op == NONE)
        return fail_quoted(m, "Unrecognized word", name);
    if (op == PI && m->wants_operator)
        return fail(m, "Unexpected number");
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
        return fail(m, "Unexpected closing bracket");
    m->waiting_count--;
    m->wants_operator = 1;
    return 0;
}

/* Handles an operator or bracket of one or two characters. Returns its length in bytes, or -1 with
 * the error appended to m->out. */
static int on_sign(struct machine *m, struct span s)
{
    static const struct {
        const char *sign;
        enum operator op;
    } signs[] = {
        { "<=", LESS_EQUAL }, { ">=", GREATER_EQUAL }, { "<>", NOT_EQUAL }, { "!=", NOT_EQUAL },
        { "+", PLUS },        { "-", MINUS },          { "*", TIMES },      { "/", DIVIDE },
        { "^", POWER },       { "=", EQUAL },          { "<", LESS },       { ">", GREATER },
    };
    if (*s.s == '(')
        return m->wants_operator ? fail_operator(m, "(") : push_operator(m, OPEN) ? -1 : 1;
    if (*s.s == ')')
        return on_close(m) ? -1 : 1;
    if (!m->wants_operator && (*s.s == '+' || *s.s == '-'))
        return push_operator(m, *s.s == '+' ? POSITIVE : NEGATIVE) ? -1 : 1;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (starts(s, signs[i].sign))
            return on_binary(m, signs[i].op, signs[i].sign) ? -1 : (int)strlen(signs[i].sign);
    char sign[8] = "";
    unsigned c;
    size_t n = utf8_read(s.s, s.n, &c);
    memcpy(sign, s.s, n);
    return fail_quoted(m, "Unrecognized punctuation character", sign);
}

static int on_number(struct machine *m, struct span s, size_t n)
{
    char text[64];
    if (m->wants_operator)
        return fail(m, "Unexpected number");
    size_t used = 0, points = 0;
    for (size_t i = 0; i < n && used + 1 < sizeof text; i++) { /* a second point ends the number */
        points += s.s[i] == '.';
        if (points > 1)
            break;
        text[used++] = s.s[i];
    }
    text[used] = '\0';
    double value = 0;
    sscanf(text, "%lf", &value);
    return push_value(m, value);
}

static int read_all(struct machine *m, struct span s)
{
    for (size_t n; s.n; s.s += n, s.n -= n) {
        if ((n = strspn((char[]){ *s.s, '\0' }, " \t\r\n")))
            continue;
        while (n < s.n && ((s.s[n] >= '0' && s.s[n] <= '9') || s.s[n] == '.'))
            n++;
        if (n) {
            if (on_number(m, s, n) < 0)
                return -1;
            continue;
        }
        while (n < s.n && (s.s[n] | 0x20) >= 'a' && (s.s[n] | 0x20) <= 'z')
            n++;
        if (n) {
            if (on_word(m, s.s, n) < 0)
                return -1;
            continue;
        }
        int used = on_sign(m, s);
        if (used < 0)
            return -1;
        n = (size_t)used;
    }
    while (m->waiting_count) {
        enum operator op = m->waiting[--m->waiting_count];
        if (op == OPEN)
            return fail(m, "Unclosed bracket");
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
    for (size_t i = 0, n; i < s.n; i += n) {
        const char *as;
        n = respelled((struct span){ s.s + i, s.n - i }, &as);
        buf_addc(&plain, n ? *as : s.s[i]);
        n += !n;
    }
    int result = read_all(&m, (struct span){ plain.data, plain.len });
    if (truth)
        *truth = !result && m.value_count && (m.value_count > 1 || m.values[0].value != 0);
    for (int i = 0; i < m.value_count && !result; i++) {
        if (i)
            buf_adds(out, "<br />\n");
        number_put(m.values[i], out);
    }
    return result;
}
