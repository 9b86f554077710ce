#include "train/comm.h"

#include <assert.h>

void comm_init(struct comm *c)
{
    *c = (struct comm){ .rank = { 0, 0 }, .size = { 1, 1 } };
}

int comm_is_first(const struct comm *c)
{
    return !c->rank[COMM_DATA] && !c->rank[COMM_TENSOR];
}

void comm_sum(struct comm *c, enum comm_group group, struct ops_array x, int64_t n)
{
    assert(c->size[group] == 1); /* the sum over one member is what stands in x */
    (void)c, (void)group, (void)x, (void)n;
}

double comm_sum_real(struct comm *c, enum comm_group group, double x)
{
    assert(c->size[group] == 1);
    (void)c, (void)group;
    return x;
}
