#include "wikiprep/values/unit.h"

#include <ctype.h>
#include <math.h>

static int has_code(const char *codes, struct span s)
{
    for (const char *c = codes; s.n && *c; c += *c == '|') {
        size_t n = 0;
        while (c[n] && c[n] != '|') /* codes are so short that strcspn takes three times as long */
            n++;
        if (n == s.n && !memcmp(c, s.s, n))
            return 1;
        c += n;
    }
    return 0;
}

const struct unit *unit_find(struct span code)
{
    for (size_t i = 0; i < units_count; i++)
        if (has_code(units[i].codes, code))
            return &units[i];
    return NULL;
}

int measure_find(struct span code, struct measure *m)
{
    *m = (struct measure){ 0 };
    for (size_t i = 0; i < unit_pairs_count; i++)
        if (has_code(unit_pairs[i].codes, code))
            m->pair = &unit_pairs[i];
    if (m->pair)
        code = span_of(m->pair->small);
    m->unit = unit_find(code);
    for (size_t i = 0; !m->unit && i < unit_powers_count; i++) {
        size_t n = strlen(unit_powers[i].prefix);
        if (code.n <= n || memcmp(code.s, unit_powers[i].prefix, n) ||
            isdigit((unsigned char)code.s[n]))
            continue;
        m->unit = unit_find((struct span){ code.s + n, code.n - n });
        m->power = &unit_powers[i];
    }
    return m->unit != NULL;
}

double measure_scale(const struct measure *m)
{
    return m->unit->scale * (m->power ? pow(10, m->power->exponent) : 1);
}

double measure_turn(double value, const struct measure *from, const struct measure *to)
{
    double base = (value - from->unit->offset) * measure_scale(from);
    return base / measure_scale(to) + to->unit->offset;
}

const struct unit_pair *unit_pair(const struct unit *large, const struct unit *small)
{
    for (size_t i = 0; i < unit_pairs_count; i++)
        if (unit_find(span_of(unit_pairs[i].large)) == large &&
            unit_find(span_of(unit_pairs[i].small)) == small)
            return &unit_pairs[i];
    return NULL;
}
