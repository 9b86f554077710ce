#include "tokenizer/input/mend.h"

#include "common/base/utf8.h"

enum { FEW_BYTES = 100, FEW_SHARE = 100 };

int mend_check(enum mend_rule rule, uint64_t replaced, size_t n)
{
    if (!replaced || rule == MEND_ALL)
        return 0;
    if (rule != MEND_NONE && (replaced <= FEW_BYTES || replaced <= n / FEW_SHARE))
        return 0;
    return err_set("%" PRIu64 " of its %zu bytes are not UTF-8%s", replaced, n,
                   rule == MEND_NONE       ? ""
                   : rule == MEND_FEW_ONLY ? ": is it text, and in that encoding?"
                                           : ": is it text, and in that encoding? (--invalid "
                                             "replace takes it)");
}

/* Returns the code of the escape \uHHHH at p[0..n), or -1 if it is none. */
static int32_t escape_at(const char *p, size_t n)
{
    return n >= 6 && p[0] == '\\' && p[1] == 'u' ? hex_value(p + 2, 4, 4) : -1;
}

uint64_t mend_json(struct buf *out, const char *text, size_t n)
{
    enum { ESCAPE = 6 };
    SCOPED(buf) valid = BUF_INIT;
    uint64_t replaced = utf8_repair(&valid, text, n);
    for (size_t i = 0; i < valid.len;) {
        const char *p = valid.data + i;
        size_t left = valid.len - i, take = *p == '\\' && left > 1 ? 2 : 1;
        int32_t code = escape_at(p, left);
        if (code >= 0)
            take = ESCAPE;
        if (code >= 0xD800 && code < 0xDC00) {
            int32_t low = escape_at(p + ESCAPE, left - ESCAPE);
            take += low >= 0xDC00 && low < 0xE000 ? ESCAPE : 0;
        }
        if (code >= 0xD800 && code < 0xE000 && take == ESCAPE) {
            buf_adds(out, "\\ufffd");
            replaced += ESCAPE;
        } else {
            buf_add(out, p, take);
        }
        i += take;
    }
    return replaced;
}
