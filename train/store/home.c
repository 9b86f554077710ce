#include "train/store/home.h"

struct ops_array spot_fetch(const struct spot *s, enum use_mode use)
{
    struct ops_array a = s->home ? s->home->fetch(s->home, s->number, use) : s->array;
    a.type = s->array.type;
    return a;
}

void spot_release(const struct spot *s, enum use_then then)
{
    if (s->home)
        s->home->release(s->home, s->number, then);
}

void spot_expect(const struct spot *s, enum use_mode use)
{
    if (s->home)
        s->home->expect(s->home, s->number, use);
}
