#include "unicode/scripts.h"

#include "unicode/unicode.h"

uint32_t scripts_of(uint32_t code_point)
{
    const struct scripts_run *run = unicode_run(scripts_runs, scripts_run_count, sizeof *run,
                                                code_point);
    return run && code_point - run->first < run->count ? run->script : SCRIPT_COMMON;
}
