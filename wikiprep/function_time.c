#include <string.h>

#include "wikiprep/calendar.h"
#include "wikiprep/functions.h"
#include "wikiprep/moment.h"

/* The library's date, which is always now. */
static struct moment now(const struct expander *x)
{
    static const struct moment epoch = { 1970, 1, 1, 0, 0, 0 };
    const char *date = library_date(x->library);
    struct moment m;
    return moment_read((struct span) { date, strlen(date) }, &epoch, &m) ? m : epoch;
}

void function_put_time(struct expander *x, const char *format, const char *timestamp)
{
    struct moment today = now(x), m;
    if (moment_read((struct span) { timestamp, strlen(timestamp) }, &today, &m))
        moment_format(&m, (struct span) { format, strlen(format) }, x->site->lang.data, &x->out);
}

/* {{#time:format|date|language}} */
int function_time(struct expander *x, const struct function_call *c, int which)
{
    (void)which;
    struct span date = expand_value(x, c, 1), lang = expand_value(x, c, 2);
    struct moment today = now(x), m = today;
    char clock[] = "00:00 ....";
    int is_year = date.n == 4 && strspn(date.s, "0123456789") >= 4;
    if (is_year) {
        memcpy(clock + 6, date.s, 4);
        date = (struct span) { clock, sizeof clock - 1 };
    }
    if (date.n && !moment_read(date, &today, &m))
        expand_error(x, "Error: Invalid time.");
    else if (m.year < 0)
        expand_error(x, "Error: #time only supports years from 0.");
    else if (m.year > 9999)
        expand_error(x, "Error: #time only supports years up to 9999.");
    else {
        const char *code = arena_copy(&x->arena, lang.s, lang.n);
        moment_format(&m, c->first, calendar_has(code) ? code : x->site->lang.data, &x->out);
    }
    return 1;
}
