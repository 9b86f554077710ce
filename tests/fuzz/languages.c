/* Maps the bytes as a model of languages, with the checksum that they should have, and judges
 * texts. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "tests/fuzz/file.h"
#include "textclean/languages.h"

static const char HEAD[] = "textmill languages 1 ";

static void judge(const struct languages *m)
{
    static const char *const texts[] = { "", "The Moon", "\xff\xe6\x9c\x88 \xd0\x96\xcc\x81 1" };
    static struct languages_runs runs;
    double score;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int found = languages_judge(m, &runs, texts[i], strlen(texts[i]), &score);
        assert(found >= -1 && found < (int)m->count && score >= 0 && score <= 1);
        assert(found < 0 || strlen(languages_name(m, (size_t)found)) < LANGUAGES_NAME);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t at = sizeof HEAD - 1, after = at + FILE_SUM_DIGITS;
    uint8_t *copy = malloc(size + 1);
    char path[64], digits[FILE_SUM_DIGITS + 1];
    struct languages m;
    memcpy(copy, data, size);
    if (size >= after) {
        snprintf(digits, sizeof digits, "%08x",
                 (unsigned)crc32c(crc32c(0, copy, at), copy + after, size - after));
        memcpy(copy + at, digits, FILE_SUM_DIGITS);
    }
    int fd = fuzz_file(copy, size, path);
    if (languages_open(&m, path) == 0)
        judge(&m);
    languages_close(&m);
    close(fd);
    free(copy);
    return 0;
}
