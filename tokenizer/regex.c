#define _GNU_SOURCE /* memmem */
#include "tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"

enum { JIT_STACK_START = 32 << 10, JIT_STACK_MAX = 16 << 20 };

struct regex {
    pcre2_code *code;
};

struct regex_scratch {
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

/* \s and \S by their Unicode property, in classes too. */
static void translate(struct buf *out, const char *pattern, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (pattern[i] == '\\' && i + 1 < n) {
            char c = pattern[++i];
            if (c == 's' || c == 'S')
                buf_adds(out, c == 's' ? "\\p{White_Space}" : "\\P{White_Space}");
            else
                buf_add(out, pattern + i - 1, 2);
        } else {
            buf_addc(out, pattern[i]);
        }
    }
}

/* An interval that is repeated, as {1,3}+: possessive for PCRE2, a loop around it for Ruby. */
static int has_repeated_interval(const char *pattern, size_t n)
{
    for (size_t i = 2; i + 1 < n; i++) {
        size_t k = i;
        if (pattern[i] != '}' || pattern[i + 1] != '+')
            continue;
        while (k && strchr("0123456789,", pattern[k - 1]))
            k--;
        if (k && k < i && pattern[k - 1] == '{')
            return 1;
    }
    return 0;
}

static int check_dialect(const char *pattern, size_t n)
{
    static const char *const differ[] = { "\\h", "\\H", "&&", "(?m" };
    const char *found = has_repeated_interval(pattern, n) ? "{n,m}+" : NULL;
    for (size_t i = 0; i < sizeof differ / sizeof *differ && !found; i++)
        if (memmem(pattern, n, differ[i], strlen(differ[i])))
            found = differ[i];
    return found ? err_set("pattern '%.*s': %s is not supported", (int)n, pattern, found) : 0;
}

/* \C, half a character, is nothing that Ruby knows. */
static pcre2_code *compile(const struct buf *text, int *code, PCRE2_SIZE *offset)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    pcre2_code *re =
        pcre2_compile((PCRE2_SPTR)text->data, text->len, options, code, offset, context);
    pcre2_compile_context_free(context);
    return re;
}

struct regex *regex_new(const char *pattern, size_t n)
{
    struct buf text = BUF_INIT;
    int code;
    PCRE2_SIZE offset;
    if (check_dialect(pattern, n) < 0)
        return NULL;
    translate(&text, pattern, n);
    pcre2_code *re = compile(&text, &code, &offset);
    if (!re) {
        PCRE2_UCHAR why[128];
        pcre2_get_error_message(code, why, sizeof why);
        err_set("bad pattern '%s' at byte %zu: %s", text.data, (size_t)offset, (char *)why);
        buf_release(&text);
        return NULL;
    }
    buf_release(&text);
    uint32_t empty = 0;
    pcre2_pattern_info(re, PCRE2_INFO_MATCHEMPTY, &empty);
    if (empty) {
        err_set("pattern '%.*s' matches the empty string", (int)n, pattern);
        pcre2_code_free(re);
        return NULL;
    }
    pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* without it, the interpreter: same matches */
    struct regex *r = mem_alloc(sizeof *r);
    r->code = re;
    return r;
}

void regex_free(struct regex *re)
{
    if (!re)
        return;
    pcre2_code_free(re->code);
    free(re);
}

struct regex_scratch *regex_scratch_new(void)
{
    struct regex_scratch *s = mem_alloc(sizeof *s);
    s->match = pcre2_match_data_create(1, NULL);
    s->context = pcre2_match_context_create(NULL);
    s->stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
    if (s->stack)
        pcre2_jit_stack_assign(s->context, NULL, s->stack);
    return s;
}

void regex_scratch_free(struct regex_scratch *s)
{
    if (!s)
        return;
    pcre2_jit_stack_free(s->stack);
    pcre2_match_context_free(s->context);
    pcre2_match_data_free(s->match);
    free(s);
}

int regex_find(const struct regex *re, struct regex_scratch *s, const char *text, size_t n,
               size_t from, size_t *begin, size_t *end)
{
    int got = pcre2_match(re->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, s->match,
                          s->context);
    if (got == PCRE2_ERROR_NOMATCH)
        return 0;
    if (got < 0) {
        PCRE2_UCHAR why[128];
        pcre2_get_error_message(got, why, sizeof why);
        return err_set("cannot match the tokenizer's pattern: %s", (char *)why);
    }
    PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(s->match);
    *begin = bounds[0];
    *end = bounds[1];
    return 1;
}

const char *regex_version(void)
{
    static char text[96];
    char version[64];
    uint32_t jit = 0;
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    pcre2_config(PCRE2_CONFIG_JIT, &jit);
    snprintf(text, sizeof text, "PCRE2 %s%s\n", version, jit ? ", with JIT" : "");
    return text;
}
