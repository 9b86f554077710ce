#include "eval/report.h"

#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "eval/score.h"

static void add_key(struct report *r, const char *key)
{
    if (r->json) {
        buf_adds(&r->text, r->text.len ? ", " : "{");
        js_quote(&r->text, key, strlen(key));
        buf_adds(&r->text, ": ");
    } else {
        buf_addf(&r->text, "%s%s=", r->text.len ? "\n" : "", key);
    }
}

void report_text(struct report *r, const char *key, const char *value)
{
    report_text_n(r, key, value, strlen(value));
}

void report_text_n(struct report *r, const char *key, const char *value, size_t n)
{
    add_key(r, key);
    if (r->json) {
        SCOPED(buf) valid = BUF_INIT;
        utf8_repair(&valid, value, n); /* a file's name may have any bytes */
        js_quote(&r->text, valid.data, valid.len);
        return;
    }
    for (size_t i = 0; i < n; i++)
        buf_addc(&r->text, value[i] == '\n' || value[i] == '\r' ? ' ' : value[i]);
}

void report_count(struct report *r, const char *key, uint64_t value)
{
    add_key(r, key);
    buf_addf(&r->text, "%llu", (unsigned long long)value);
}

void report_digits(struct buf *out, double value)
{
    buf_add_real(out, value, 15);
}

void report_real(struct report *r, const char *key, double value)
{
    add_key(r, key);
    if (r->json)
        report_digits(&r->text, value);
    else
        buf_addf(&r->text, "%.6g", value);
}

void report_exact(struct report *r, const char *key, double value)
{
    add_key(r, key);
    report_digits(&r->text, value);
}

void report_mean(struct report *r, const char *key, double sum, double squares, uint64_t n)
{
    char error[40];
    snprintf(error, sizeof error, "%s_stderr", key);
    report_real(r, key, sum / (double)n);
    report_real(r, error, score_error(sum, squares, n));
}

void report_reals(struct report *r, const char *key, const double *values, size_t n)
{
    add_key(r, key);
    for (size_t i = 0; i < n; i++) {
        buf_adds(&r->text, i ? ", " : "[");
        report_digits(&r->text, values[i]);
    }
    buf_addc(&r->text, ']');
}

const char *report_end(struct report *r)
{
    buf_adds(&r->text, r->json ? "}\n" : "\n");
    return r->text.data;
}

int report_print(struct report *r)
{
    static int printed;
    int result = printed++ && !r->json ? file_write("-", "\n", 1) : 0;
    report_end(r);
    if (!result)
        result = file_write("-", r->text.data, r->text.len);
    report_release(r);
    return result;
}

void report_release(struct report *r)
{
    buf_release(&r->text);
}
