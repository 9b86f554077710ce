/* Reads any bytes as the index of a multistream dump. The result must be an error, or ranges in
 * order and inside the dump. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/err.h"
#include "wikiprep/input/pages.h"

enum { DUMP_BYTES = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char index[32], dump[32];
    const char *wanted[] = { "Moon", "12", "A & B" };
    const struct opt_list values = { wanted, 1 + size % 3, 3 };
    int fds[2] = { memfd_create("index", 0), memfd_create("dump", 0) };
    if (fds[0] < 0 || write(fds[0], data, size) != (ssize_t)size || ftruncate(fds[1], DUMP_BYTES))
        abort();
    snprintf(index, sizeof index, "/proc/self/fd/%d", fds[0]);
    snprintf(dump, sizeof dump, "/proc/self/fd/%d", fds[1]);
    struct pages *p = pages_new(&values);
    struct unpack_range *ranges;
    size_t count;
    if (pages_locate(p, index, dump, &ranges, &count) < 0) {
        if (!*err_get())
            abort(); /* an error without words */
    } else {
        for (size_t i = 0; i < count; i++)
            if (ranges[i].begin >= ranges[i].end || ranges[i].end > DUMP_BYTES ||
                (i && ranges[i].begin < ranges[i - 1].end))
                abort();
        free(ranges);
    }
    pages_free(p);
    close(fds[0]);
    close(fds[1]);
    return 0;
}
