#include "unicode/scripts.h"

uint32_t scripts_of(uint32_t code_point)
{
    size_t low = 0, high = scripts_run_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code_point > scripts_runs[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scripts_run_count && code_point >= scripts_runs[low].first
               ? scripts_runs[low].script
               : SCRIPT_COMMON;
}
