/* Reads the bytes as hashes of a part of a corpus (textclean dedup --keys), behind a first line
 * that fits the input, with the checksum that they should have; or, if the first byte is odd, as
 * the whole file. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/log.h"
#include "tests/fuzz/file.h"
#include "textclean/commands.h"

static const char HEAD[] = "textmill keys 1 ";

static int dedup(const char *option, const char *file, const char *input)
{
    static const char *const bands[] = { "--bands", "2", "-o", "/dev/null" };
    const struct tool_command *command = &dedup_command;
    char *argv[8] = { (char *)(uintptr_t)option, (char *)(uintptr_t)file }, *given;
    struct opts opts = { 0 };
    given = malloc(command->size);
    memcpy(given, command->defaults, command->size);
    for (int i = 0; i < 4; i++)
        argv[2 + i] = (char *)(uintptr_t)bands[i];
    int argc = strcmp(option, "--keys-to") ? 6 : 4;
    argv[argc++] = (char *)(uintptr_t)input;
    opts_add(&opts, command->options, given);
    argc = opts_parse(&opts, argc, argv);
    assert(argc == 1);
    int result = command->run(argc, argv, given);
    opts_release(&opts);
    free(given);
    return result;
}

/* Returns the first line of a file with hashes of the input, and sets *input to its path. */
static const char *first_line(const char **input)
{
    static const char text[] = "{\"text\": \"one two three four five six seven\"}\n";
    static char head[256], in[128], keys[128];
    *input = in;
    if (*head)
        return head;
    log_level = -1;
    snprintf(in, sizeof in, "%s/in.jsonl", fuzz_folder());
    snprintf(keys, sizeof keys, "%s/keys", fuzz_folder());
    fuzz_put("in.jsonl", text, sizeof text - 1);
    int made = dedup("--keys-to", keys, in);
    assert(!made);
    FILE *f = fopen(keys, "r");
    char *got = f ? fgets(head, sizeof head, f) : NULL;
    assert(got && !strncmp(head, HEAD, sizeof HEAD - 1));
    fclose(f);
    return head;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t at = sizeof HEAD - 1, after = at + 8;
    const char *input, *head = first_line(&input);
    size_t n = size && data[0] % 2 ? 0 : strlen(head);
    uint8_t *copy = malloc(n + size + 1);
    char path[64], digits[9];
    memcpy(copy, head, n);
    if (size)
        memcpy(copy + n, data + 1, size - 1);
    n += size - (size > 0);
    if (n >= after) {
        snprintf(digits, sizeof digits, "%08x",
                 (unsigned)crc32c(crc32c(0, copy, at), copy + after, n - after));
        memcpy(copy + at, digits, 8);
    }
    int fd = fuzz_file(copy, n, path);
    int result = dedup("--keys", path, input);
    assert(result <= 0);
    close(fd);
    free(copy);
    return 0;
}
