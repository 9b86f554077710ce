#include "wikiprep/text/arguments.h"

enum { GIVEN_MAX = 200 };

static void place(struct arguments *a, int at, struct span value)
{
    mem_grow(a->at, a->at_cap, at + 3);
    while (a->count < at)
        a->at[++a->count] = (struct span){ "", 0 };
    a->at[at] = value;
}

int arguments_split(struct span argument, struct span *key, struct span *value)
{
    const char *end = argument.s + argument.n, *equals = span_until(argument.s, end, '=');
    while (end - equals > 1 && equals[1] == '=' && equals > argument.s && equals[-1] == '\n')
        equals = span_until(span_until(equals, end, '\n'), end, '=');
    *key = span_trim(span_between(argument.s, equals));
    *value = span_trim(equals < end ? span_between(equals + 1, end) : argument);
    return equals < end;
}

void arguments_read(struct arguments *a, const struct wikitext_call *call)
{
    int next = 1;
    *a = (struct arguments){ 0 };
    for (size_t i = 0; i < call->count; i++) {
        struct span key, value;
        int at = next;
        if (!arguments_split(call->arguments[i], &key, &value)) {
            next++;
            place(a, at, value);
        } else if (!span_number(key, &at)) {
            mem_next(a->named, a->named_count, a->named_cap) = (struct named_argument){ key,
                                                                                        value };
        } else if (at >= 1 && (at <= GIVEN_MAX || (size_t)at <= call->count)) {
            place(a, at, value);
        }
    }
}

void arguments_release(struct arguments *a)
{
    free(a->at);
    free(a->named);
}

struct span arguments_at(const struct arguments *a, int at)
{
    return at >= 1 && at <= a->count ? a->at[at] : (struct span){ "", 0 };
}

struct span arguments_any(const struct arguments *a, const char *keys)
{
    for (struct span key; span_next(&keys, '|', &key);) {
        int at;
        if (span_number(key, &at) && arguments_at(a, at).n)
            return arguments_at(a, at);
        for (int i = a->named_count; i-- > 0;)
            if (a->named[i].value.n && span_equal(a->named[i].key, key))
                return a->named[i].value;
    }
    return (struct span){ "", 0 };
}

int arguments_yes(const struct arguments *a, const char *key)
{
    return span_truth(arguments_any(a, key), 0);
}
