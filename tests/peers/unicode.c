/* unicode RULE: applies a rule of unicode/ for tests/peers/unicode.py. For each code point that
 * UTF-8 can encode, in rising order, writes a byte with the length of the result, and the
 * result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/charset.h"
#include "unicode/forms.h"
#include "unicode/letter_case.h"
#include "unicode/whitespace.h"

static const char *rule;
static struct charset set;

static int is(const char *name)
{
    return !strcmp(rule, name);
}

/* Appends the character itself if it is in a set (has), else nothing. */
static void put_if(struct buf *out, const char *s, size_t n, int has)
{
    if (has)
        buf_add(out, s, n);
}

static void apply(struct buf *out, uint32_t c, const char *s, size_t n)
{
    static const char *const names[] = { "nfd", "nfkd", "nfc", "nfkc" };
    for (int i = 0; i < 4; i++)
        if (is(names[i])) {
            forms_normalize(out, s, n, (enum form)i);
            return;
        }
    if (is("lower"))
        letter_case_put(out, s, n, letter_case_lower_new);
    else if (is("strip-marks"))
        forms_drop(out, s, n, UNICODE_IS_MARK);
    else if (is("nmt"))
        forms_nmt(out, s, n);
    else if (is("str.lower"))
        letter_case_put(out, s, n, letter_case_lower);
    else if (is("str.isspace"))
        put_if(out, s, n, whitespace_at(s, n) == n);
    else if (is("upper") || is("lower-one"))
        letter_case_put(out, s, n, is("upper") ? letter_case_upper : letter_case_lower);
    else
        put_if(out, s, n, charset_has(&set, c));
}

static int choose_set(void)
{
    if (is("\\w"))
        charset_word(&set, 0);
    else if (is("[\\w]"))
        charset_word(&set, 1);
    else if (is("\\s"))
        charset_space(&set);
    else if (strlen(rule) <= 2)
        return charset_category(&set, rule, strlen(rule));
    return 0;
}

int main(int argc, char **argv)
{
    struct buf out = BUF_INIT;
    char utf8[4];
    rule = argc == 2 ? argv[1] : "";
    if (argc != 2 || choose_set() < 0)
        return 2;
    for (uint32_t c = 0; c < UNICODE_LIMIT; c++) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        buf_clear(&out);
        apply(&out, c, utf8, utf8_put(utf8, c));
        putchar((int)out.len);
        fwrite(out.data, 1, out.len, stdout);
    }
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
