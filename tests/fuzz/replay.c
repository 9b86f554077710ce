/* Runs a fuzz target on files, as libFuzzer's main does, without libFuzzer. */
#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    struct buf input = BUF_INIT;
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb"); /* file_read refuses some files of the corpora */
        if (!f) {
            perror(argv[i]);
            return 1;
        }
        buf_clear(&input);
        for (int c; (c = getc(f)) != EOF;)
            buf_addc(&input, (char)c);
        fclose(f);
        LLVMFuzzerTestOneInput((const uint8_t *)input.data, input.len);
    }
    buf_release(&input);
    return 0;
}
