#include "tokenizer/cut/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/base/linked.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/dialect.h"
#include "tokenizer/cut/runs.h"

enum { JIT_STACK_START = 32 << 10, JIT_STACK_MAX = 16 << 20 };

struct regex {
    pcre2_code *code;
    int is_runs; /* the pattern is `runs`; PCRE2 is not needed */
    struct runs runs;
};

struct regex_scratch {
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

/* For PCRE2: memory from mem.h, so that compiling never lacks it. */
static void *allocate(PCRE2_SIZE bytes, void *)
{
    return mem_alloc(bytes);
}

static void release(void *p, void *)
{
    free(p);
}

/* Compiles a pattern in PCRE2's syntax. Forbids \C, a single byte of a character, which Ruby does
 * not have. If PCRE2 refuses the pattern, returns NULL and sets *code and *offset to PCRE2's error
 * and its place in the pattern. */
static pcre2_code *compile(const struct buf *text, int *code, PCRE2_SIZE *offset)
{
    pcre2_general_context *general = pcre2_general_context_create(allocate, release, NULL);
    pcre2_compile_context *context = pcre2_compile_context_create(general);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)text->data, text->len, options, code, offset,
                                   context);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    return re;
}

struct regex *regex_new_cut(const char *pattern, size_t n)
{
    SCOPED(buf) text = BUF_INIT;
    int code;
    PCRE2_SIZE offset;
    if (dialect_translate(&text, pattern, n, regex_class) < 0)
        return NULL;
    pcre2_code *re = compile(&text, &code, &offset);
    if (!re) {
        PCRE2_UCHAR why[128];
        pcre2_get_error_message(code, why, sizeof why);
        if (text.len == n)
            err_set("bad pattern '%.*s' at byte %zu: %s", (int)n, pattern, (size_t)offset,
                    (char *)why);
        else
            err_set("bad pattern '%.*s': %s", (int)n, pattern, (char *)why);
        return NULL;
    }
    /* if it is not available, the interpreter finds the same matches */
    pcre2_jit_compile(re, PCRE2_JIT_COMPLETE);
    struct regex *r = mem_alloc(sizeof *r);
    r->code = re;
    r->is_runs = runs_read(&r->runs, pattern, n);
    return r;
}

struct regex *regex_new(const char *pattern, size_t n)
{
    struct regex *r = regex_new_cut(pattern, n);
    uint32_t empty = 0;
    if (r)
        pcre2_pattern_info(r->code, PCRE2_INFO_MATCHEMPTY, &empty);
    if (!empty)
        return r;
    err_set("pattern '%.*s' matches the empty string", (int)n, pattern);
    regex_free(r);
    return NULL;
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
    if (s->stack && s->context)
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

/* Sets *begin and *end to the range of the first match that begins at or after `from`, also an
 * empty one. Returns what pcre2_match returns. */
static int match(const struct regex *re, struct regex_scratch *s, const char *text, size_t n,
                 size_t from, size_t *begin, size_t *end)
{
    uint32_t how = PCRE2_NO_UTF_CHECK;
    int got = pcre2_match(re->code, (PCRE2_SPTR)text, n, from, how, s->match, s->context);
    if (got == PCRE2_ERROR_JIT_STACKLIMIT) { /* the interpreter takes the memory that it needs */
        how |= PCRE2_NO_JIT;
        got = pcre2_match(re->code, (PCRE2_SPTR)text, n, from, how, s->match, s->context);
    }
    if (got >= 0) {
        const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(s->match);
        *begin = bounds[0];
        *end = bounds[1];
    }
    return got;
}

int regex_find(const struct regex *re, struct regex_scratch *s, const char *text, size_t n,
               size_t from, size_t *begin, size_t *end)
{
    size_t len;
    if (re->is_runs)
        return runs_find(&re->runs, text, n, from, begin, end);
    int got = match(re, s, text, n, from, begin, end);
    if (got >= 0 && *end == from && from < n) {
        utf8_get((const unsigned char *)text + from, &len);
        got = match(re, s, text, n, from + len, begin, end);
    }
    if (got == PCRE2_ERROR_NOMATCH)
        return 0;
    if (got >= 0)
        return *end > from;
    PCRE2_UCHAR why[128];
    pcre2_get_error_message(got, why, sizeof why);
    return err_set("cannot match the tokenizer's pattern: %s", (char *)why);
}

int regex_class(struct charset *s, const char *base)
{
    SCOPED(buf) text = buf_format("[%s]+", base), all = BUF_INIT;
    size_t begin, end, len, from = 0;
    int code;
    PCRE2_SIZE offset;
    struct regex re = { .code = compile(&text, &code, &offset) };
    if (!re.code)
        return -1;
    pcre2_jit_compile(re.code, PCRE2_JIT_COMPLETE);
    struct regex_scratch *scratch = regex_scratch_new();
    for (uint32_t c = 0; c < UNICODE_LIMIT; c++)
        if (c < 0xD800 || c >= 0xE000)
            utf8_add(&all, c);
    memset(s, 0, sizeof *s);
    for (; regex_find(&re, scratch, all.data, all.len, from, &begin, &end) > 0; from = end)
        for (size_t i = begin; i < end; i += len) {
            uint32_t c = utf8_get((const unsigned char *)all.data + i, &len);
            s->bits[c >> 3] |= (uint8_t)(1 << (c & 7));
        }
    regex_scratch_free(scratch);
    pcre2_code_free(re.code);
    return 0;
}

static const char *regex_version(void)
{
    static char text[96];
    char version[64];
    uint32_t jit = 0;
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    pcre2_config(PCRE2_CONFIG_JIT, &jit);
    snprintf(text, sizeof text, "%s%s", version, jit ? ", with JIT" : "");
    return text;
}

LINKED_LIBRARY(pcre2, "PCRE2", regex_version())
