#include "train/step/loss_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"

static const double FIRST = 65536, GREATEST = 0x1p126; /* GREATEST: its inverse is a normal float */

int loss_scale_parse(struct loss_scale *s, const char *text, int64_t window)
{
    char *end;
    int automatic = !strcmp(text, "auto");
    double scale = automatic ? FIRST : strtod(text, &end);
    if (!automatic && (end == text || *end || !(scale > 0 && scale <= GREATEST)))
        return err_set("loss-scale '%s' is neither auto nor a number above 0", text);
    *s = (struct loss_scale){ .scale = scale, .automatic = automatic, .window = window };
    return 0;
}

void loss_scale_passed(struct loss_scale *s)
{
    if (!s->automatic || ++s->good < s->window)
        return;
    s->good = 0;
    s->scale = fmin(2 * s->scale, GREATEST);
}

int loss_scale_overflowed(struct loss_scale *s)
{
    if (!s->automatic || s->scale <= 1)
        return 0;
    s->good = 0;
    s->scale /= 2;
    return 1;
}
