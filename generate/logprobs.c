#include "generate/logprobs.h"

#include <math.h>

double logprobs_sum(const float *logits, int64_t V)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < V; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int64_t i = 0; i < V; i++)
        sum += exp(logits[i] - most);
    return most + log(sum);
}

/* Inserts into the sorted out[0..have). Few tokens get past the first comparison, so this is
 * fast. */
void logprobs_top(struct logprob *out, int64_t n, const float *logits, int64_t V, double sum)
{
    for (int64_t i = 0, have = 0; i < V && n; i++) {
        double value = logits[i] - sum;
        int64_t at = have;
        if (have == n && !(value > out[n - 1].logprob))
            continue;
        while (at && value > out[at - 1].logprob)
            at--;
        have += have < n;
        memmove(out + at + 1, out + at, (size_t)(have - at - 1) * sizeof *out);
        out[at] = (struct logprob){ (uint32_t)i, value };
    }
}
