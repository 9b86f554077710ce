/* Reads a manifest of shards. Its file names must be names in its own folder, and it must be the
 * same after it was written and read again. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/files/file.h"
#include "tfrecord/formats/manifest.h"

static void same(const struct manifest *a, const char *path)
{
    struct manifest b;
    int result = manifest_write(&a->kv, path);
    assert(!result && manifest_load(&b, path) == 1);
    assert(b.count == a->count && b.records == a->records && b.checksum == a->checksum);
    for (size_t i = 0; i < a->count; i++) {
        const struct manifest_shard *s = &a->shards[i];
        assert(!strcmp(s->name, b.shards[i].name) && s->bytes == b.shards[i].bytes);
        assert(s->records == b.shards[i].records && s->crc == b.shards[i].crc);
    }
    manifest_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64];
    struct manifest m;
    if (!*path)
        snprintf(path, sizeof path, "/tmp/textmill-fuzz-manifest-%ld", (long)getpid());
    FILE *f = fopen(path, "wb");
    if (!f)
        return 0;
    fwrite(data, 1, size, f);
    fclose(f);
    if (manifest_load(&m, path) > 0) {
        for (size_t i = 0; i < m.count; i++) {
            const char *name = m.shards[i].name;
            assert(*name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
                   strcmp(name, "..") != 0);
            assert(manifest_find(&m, name));
        }
        same(&m, path);
        manifest_release(&m);
    }
    unlink(path);
    return 0;
}
