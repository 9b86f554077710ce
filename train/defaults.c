#include "train/defaults.h"

#include <math.h>

#include "common/base/least.h"

enum { LEAST_TOKENS = 2048, MOST_TOKENS = 4096, PARAMETERS_A_TOKEN = 4000 };

/* Returns the rate rounded to two digits, as a person would write it. */
static double round_rate(double rate)
{
    double unit = pow(10, floor(log10(rate)) - 1);
    return round(rate / unit) * unit;
}

double defaults_learning_rate(int64_t parameters, int encoder, int trained)
{
    const double rate = fmin(6e-4 * pow(124e6 / (double)parameters, 0.25), 3e-3);
    return round_rate(rate / (encoder ? 2 : 1) / (trained ? 10 : 1));
}

int64_t defaults_micro_batch(int64_t parameters, int64_t sequence_length, int64_t global_batch)
{
    int64_t tokens = smaller(larger(parameters / PARAMETERS_A_TOKEN, LEAST_TOKENS), MOST_TOKENS);
    int64_t sequences = larger((tokens + sequence_length / 2) / sequence_length, 1);
    if (global_batch)
        sequences = smaller(sequences, global_batch);
    while (global_batch % sequences)
        sequences--;
    return sequences;
}

int64_t defaults_warmup(int64_t steps)
{
    return smaller(larger(steps / 100, 100), steps / 10);
}
