/* Translates configurations of other programs. The result must have option names of this program,
 * and translating it again must change nothing. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "train/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml y;
    if (yaml_parse(&y, (const char *)data, size, "fuzz") < 0)
        return 0;
    if (foreign_translate(&y, "fuzz.json") == 0) {
        size_t count = y.count;
        if (yaml_get(&y, "n_layer") || yaml_get(&y, "pipeline_depth"))
            __builtin_trap();
        if (foreign_translate(&y, "fuzz.json") == 0 && y.count != count)
            __builtin_trap();
    }
    yaml_release(&y);
    return 0;
}
