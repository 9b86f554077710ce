/* Reads any bytes as the description of a machine. With one that is accepted, a step takes time. */
#include "tests/fuzz/file.h"
#include "train/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cluster_step step = {
        .ranks = 16,
        .memory = 1e9,
        .tokens = 4096,
        .flops = 1e13,
        .work = 1.3e13,
        .bf16 = 1,
        .bubble = 0.1,
        .overlap = 0.5,
        .heads = { 2, 1, 1e9, 64 },
        .width = { 2, 2, 1e9, 64 },
        .data = { 4, 4, 1e9, 24 },
    };
    char path[64];
    struct buf text = BUF_INIT;
    int fd = fuzz_file(data, size, path);
    if (cluster_estimate(&text, path, &step) == 0)
        assert(!strstr(text.data, "step_seconds=0\n") && !strstr(text.data, "=-") &&
               !strstr(text.data, "nan"));
    buf_release(&text);
    close(fd);
    return 0;
}
