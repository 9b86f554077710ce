/* The files of weights in a model folder: which are taken, their index, its checksums, and what is
 * removed. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/files/file.h"
#include "model/formats/weights.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(weights_files, .init = make_dir, .fini = remove_dir);

#define FIRST  "w-00001-of-00002.safetensors"
#define SECOND "w-00002-of-00002.safetensors"
#define INDEX  "w.safetensors.index.json"

/* Writes a file of one tensor with one number. Returns the checksum of its bytes. */
static uint32_t put_tensor(const char *name, const struct safetensor *t, float number)
{
    struct safetensors_writer w;
    struct file_map map;
    cr_assert_eq(safetensors_create(&w, in_dir(name), t, 1), 0, "%s", err_get());
    cr_assert_eq(safetensors_write(&w, &number, 1, sizeof number), 0, "%s", err_get());
    cr_assert_eq(safetensors_finish(&w), 0, "%s", err_get());
    cr_assert_eq(file_map(&map, in_dir(name)), 0, "%s", err_get());
    const uint32_t crc = file_map_sum(&map, 0, map.bytes);
    file_unmap(&map);
    return crc;
}

/* Writes two files with the tensors b and a", and their index. Sets crc[2] to their checksums. */
static void put_two(uint32_t crc[2])
{
    struct safetensor t[2] = { safetensors_entry("b", OPS_F32, 1, (int64_t[]){ 1 }),
                               safetensors_entry("a\"", OPS_F32, 1, (int64_t[]){ 1 }) };
    crc[0] = put_tensor(FIRST, &t[0], 1);
    crc[1] = put_tensor(SECOND, &t[1], 2);
    cr_assert_eq(weights_write_index(dir, "w", t, (int[]){ 0, 1 }, 2, crc, 2), 0, "%s", err_get());
    free(t[0].name);
    free(t[1].name);
}

/* Changes the last byte of a file. */
static void damage(const char *name)
{
    SCOPED(buf) b = BUF_INIT;
    cr_assert_eq(file_read(in_dir(name), &b), 0, "%s", err_get());
    b.data[b.len - 1] ^= 1;
    cr_assert_eq(file_write(in_dir(name), b.data, b.len), 0, "%s", err_get());
}

static void open_base(struct weights *w)
{
    cr_assert_eq(weights_open_base(w, dir, "w"), 0, "%s", err_get());
}

Test(weights_files, names_of_files)
{
    char name[WEIGHTS_NAME];
    weights_file_name(name, "model", 0, 0);
    cr_expect_str_eq(name, "model.safetensors");
    weights_file_name(name, "model", 0, 12);
    cr_expect_str_eq(name, "model-00001-of-00012.safetensors");
}

Test(weights_files, the_index_has_the_form_of_transformers)
{
    uint32_t crc[2];
    SCOPED(buf) text = BUF_INIT;
    put_two(crc);
    SCOPED(buf) want = buf_format("{\n  \"metadata\": {\n    \"crc32c\": {\n"
                                  "      \"" FIRST "\": \"%08x\",\n      \"" SECOND "\": \"%08x\"\n"
                                  "    },\n    \"total_size\": 8\n  },\n  \"weight_map\": {\n"
                                  "    \"a\\\"\": \"" SECOND "\",\n    \"b\": \"" FIRST "\"\n"
                                  "  }\n}\n",
                                  crc[0], crc[1]);
    cr_assert_eq(file_read(in_dir(INDEX), &text), 0, "%s", err_get());
    cr_expect_str_eq(text.data, want.data);
}

Test(weights_files, checksums_of_an_index)
{
    uint32_t crc[2];
    struct weights w;
    const struct safetensors *file;
    float number;
    put_two(crc);
    open_base(&w);
    cr_assert_eq(w.count, 2);
    const struct safetensor *t = weights_find(&w, "a\"", &file);
    cr_assert(t && safetensors_read(file, t, &number) == 0);
    cr_expect_eq(number, 2);
    cr_expect_eq(weights_check(&w, 0, 1), 0, "%s", err_get());
    weights_close(&w);
    damage(FIRST); /* the second of the index, because a" comes before b */
    open_base(&w);
    cr_expect_eq(weights_check(&w, 0, 2), 0, "%s", err_get());
    cr_expect_eq(weights_check(&w, 1, 2), -1);
    SCOPED(buf) says = buf_format("%s' is damaged or from another folder: its checksum is ", FIRST);
    expect_error(says.data);
    buf_setf(&says, ", but the index says %08x", crc[0]);
    expect_error(says.data);
    weights_close(&w);
    /* Without a checksum in the index, that in the file is compared. */
    put_text(INDEX, "{\"metadata\":{\"crc32c\":{\"" SECOND "\":\"00000000\"}},"
                    "\"weight_map\":{\"b\":\"" FIRST "\"}}");
    open_base(&w);
    cr_expect_eq(weights_check(&w, 0, 1), -1);
    expect_error(FIRST "' is damaged: ");
    weights_close(&w);
}

Test(weights_files, checksums_that_are_none)
{
    static const char *const bad[] = { "", "1234567", "123456789", "1234567g" };
    struct weights w;
    uint32_t crc[2];
    put_two(crc);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SCOPED(buf) text = buf_format("{\"metadata\":{\"crc32c\":{\"" FIRST "\":\"%s\"}},"
                                      "\"weight_map\":{\"b\":\"" FIRST "\"}}",
                                      bad[i]);
        put_text(INDEX, text.data);
        cr_expect_eq(weights_open_base(&w, dir, "w"), -1, "%s", bad[i]);
        expect_error("w.safetensors: ");
        expect_error(INDEX ": bad crc32c of '");
    }
}

Test(weights_files, one_file_goes_before_an_index)
{
    struct weights w;
    uint32_t crc[2];
    struct safetensor t = safetensors_entry("c", OPS_F32, 1, (int64_t[]){ 1 });
    const struct safetensors *file;
    cr_expect_eq(weights_open_base(&w, dir, "w"), -1);
    expect_error("w.safetensors: no such file, and no index, in '");
    put_two(crc);
    put_tensor("w.safetensors", &t, 3);
    open_base(&w);
    cr_expect(w.count == 1 && weights_find(&w, "c", &file) && !weights_find(&w, "b", &file));
    weights_close(&w);
    free(t.name);
}

Test(weights_files, folders_with_other_formats)
{
    static const char *const others[][2] = {
        { "adapter_model.bin", "merge it into its model with peft's merge_and_unload" },
        { "adapter_model.safetensors", "merge it into its model with peft's merge_and_unload" },
        { "flax_model.msgpack", "convert it with transformers (from_pretrained, then "
                                "save_pretrained)" },
        { "tf_model.h5", "convert it with transformers (from_pretrained, then save_pretrained)" },
    };
    struct weights w;
    cr_expect_eq(weights_open(&w, dir), -1);
    expect_error("no model.safetensors, no pytorch_model.bin and no index of either in '");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        SCOPED(buf) only = buf_format("', only %s: %s", others[i][0], others[i][1]);
        put_text(others[i][0], "x"); /* goes before those that are there already */
        cr_expect_eq(weights_open(&w, dir), -1);
        expect_error(only.data);
    }
}

/* Only what weights_file_name names is removed. */
Test(weights_files, what_is_removed)
{
    static const char *const names[] = { INDEX,
                                         FIRST,
                                         SECOND,
                                         "w.safetensors",
                                         "v-00001-of-00002.safetensors",
                                         "w-00001-of-00002.safetensors.safetensors",
                                         "w-00001.safetensors",
                                         "w-x.safetensors" };
    for (int one = 0; one < 2; one++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            put_text(names[i], "x");
        cr_assert_eq(weights_remove(dir, "w", one), 0, "%s", err_get());
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            cr_expect_eq(look(in_dir(names[i])) == FILE_PLAIN, i > 3 || (i == 3 && !one), "%s",
                         names[i]);
    }
}
