#include "unicode/scripts.h"

uint32_t scripts_of(uint32_t code_point)
{
    size_t low = 0, high = scripts_run_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (scripts_runs[middle].first <= code_point)
            low = middle + 1;
        else
            high = middle;
    }
    const struct scripts_run *run = scripts_runs + low - 1; /* the last not beginning after it */
    return low && code_point - run->first < run->count ? run->script : SCRIPT_COMMON;
}
