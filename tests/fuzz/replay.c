/* Runs a fuzz target on files, as libFuzzer's main does, without libFuzzer. */
#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    struct buf input = BUF_INIT;
    for (int i = 1; i < argc; i++) {
        buf_clear(&input);
        if (file_read(argv[i], &input) < 0) {
            fprintf(stderr, "%s\n", err_get());
            return 1;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)input.data, input.len);
    }
    buf_release(&input);
    return 0;
}
