/* Reads any bytes as the state of a checkpoint with one other file. Pruning reads it, too, and
 * keeps the only checkpoint. */
#include "tests/fuzz/file.h"
#include "train/checkpoint.h"

static void make_checkpoint(char path[128])
{
    static const char config[] = "layers: 1\n";
    snprintf(path, 128, "%s/checkpoints", fuzz_folder());
    mkdir(path, 0700);
    snprintf(path, 128, "%s/checkpoints/step-000001/training", fuzz_folder());
    snprintf(path, 128, "%s/checkpoints/step-000001", fuzz_folder());
    if (mkdir(path, 0700) == 0) {
        char training[160];
        snprintf(training, sizeof training, "%s/training", path);
        mkdir(training, 0700);
        fuzz_put("checkpoints/step-000001/training/config.yaml", config, sizeof config - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[128];
    struct comm alone;
    struct checkpoint c;
    struct buf config = BUF_INIT;
    make_checkpoint(path);
    fuzz_put("checkpoints/step-000001/training/state", data, size);
    comm_init(&alone);
    if (checkpoint_read(path, &alone, &c, &config) == 0)
        assert(config.len == 10 && c.seconds >= 0);
    checkpoint_prune(fuzz_folder(), 1);
    assert(access(path, F_OK) == 0);
    buf_release(&config);
    return 0;
}
