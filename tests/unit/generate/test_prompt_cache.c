/* Keys and values that were saved are read by the model that made them, and by no other. */
#include "generate/prompt_cache.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "common/files/temp.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

static const char model[] = "tests/data/successor";
static struct generator generator;

static void begin(void)
{
    make_dir();
    cr_assert_eq(generator_load(&generator, model, NULL, "cpu", 1, OPS_F32), 0, "%s", err_get());
}

static void end(void)
{
    generator_release(&generator);
    remove_dir();
}

TestSuite(prompt_cache, .init = begin, .fini = end);

static void save(const char *prompt)
{
    struct start start = { 0 };
    cr_assert_eq(generator_prompt(&generator, &start, prompt, strlen(prompt)), 0, "%s", err_get());
    cr_assert_eq(prompt_cache_save(&generator, &start, model, in_dir("cache")), 0, "%s", err_get());
    start_release(&start);
}

static int load(void)
{
    return prompt_cache_load(&generator, model, in_dir("cache"));
}

Test(prompt_cache, is_read_again)
{
    save("abc");
    cr_assert_eq(load(), 0, "%s", err_get());
    cr_expect(generator.saved_ids.count == 3 && generator.saved.past.used == 3);
}

/* Sets four bytes of the file, so far behind the model's name, and its checksum. */
static void change(size_t at, uint32_t value, int mended)
{
    struct buf file = BUF_INIT;
    save("abc");
    cr_assert_eq(file_read(in_dir("cache"), &file), 0);
    unsigned char *p = (unsigned char *)file.data;
    le_put_u32(p + 16 + strlen(model) + at, value);
    if (mended)
        le_put_u32(p + file.len - 4, crc32c(0, p, file.len - 4));
    cr_assert_eq(file_write(in_dir("cache"), file.data, file.len), 0);
    buf_release(&file);
}

Test(prompt_cache, refuses)
{
    static const struct {
        size_t at;
        uint32_t value;
        int mended;
        const char *error;
    } cases[] = {
        { 0, 1, 0, "is damaged: its checksum" },
        { 0, 1, 1, "another vocabulary" },
        { 8, 1u << 30, 1, "bytes are not as many as its head says" },
        { 12, 1, 1, "bytes are not as many as its head says" },
        { 20, 0x40000000, 1, "was made with the model 'tests/data/successor', and does not fit" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change(cases[i].at, cases[i].value, cases[i].mended);
        cr_expect_eq(load(), -1, "case %zu", i);
        expect_error(cases[i].error);
    }
    temp_remove(in_dir("cache"));
    cr_expect_eq(load(), -1);
    expect_error("cache");
}
