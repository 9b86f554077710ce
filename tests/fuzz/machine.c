/* Reads any bytes as the description of a machine. With one that is accepted, a step takes time. */
#include <math.h>

#include "tests/fuzz/file.h"
#include "train/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cluster_job job = {
        .layers = 8,
        .width = 64,
        .parameters = 1e6,
        .flops_per_token = 6e6,
        .inside = { 192, 64, 256, 256 },
        .sequence_length = 128,
        .micro_batch = 1,
        .global_batch = 32,
        .bf16 = 1,
    };
    static const struct cluster_split split = { 2, 1, 2, 1, 4, 1 };
    char path[64];
    struct cluster_machine m;
    struct cluster_estimate e;
    struct buf text = BUF_INIT;
    int fd = fuzz_file(data, size, path);
    if (cluster_machine_load(&m, path) == 0 && cluster_estimate(&e, &m, &job, &split) == 0) {
        assert(e.step_seconds > 0 && !isnan(e.mfu) && e.ranks == 16);
        cluster_print(&e, &m, &split, &text);
    }
    buf_release(&text);
    close(fd);
    return 0;
}
