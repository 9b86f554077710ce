/* Reads any bytes as a dump, compressed or not. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/err.h"
#include "wikiprep/input/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    int fd = memfd_create("dump", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct dump *d = dump_open(path, 1 << 12, 1);
    struct dump_page page = DUMP_PAGE_INIT;
    int got = d ? 1 : -1;
    while (got > 0 || (d && got < 0 && dump_resume(d)))
        got = dump_read(d, &page);
    if (got < 0 && !*err_get())
        abort(); /* an error without words */
    dump_page_release(&page);
    dump_close(d);
    close(fd);
    return 0;
}
