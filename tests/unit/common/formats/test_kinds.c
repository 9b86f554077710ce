/* Files that are not text: kinds of files that are recognised, and bytes that no text contains. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "common/base/le.h"
#include "common/formats/kinds.h"
#include "tokenizer/input/mend.h"

#define EXPECT_KIND(bytes, part) expect_kind("file", bytes, sizeof(bytes) - 1, part)

static void expect_kind(const char *path, const char *bytes, size_t n, const char *part)
{
    const char *kind = kinds_recognise(path, bytes, n);
    cr_expect(part ? kind && strstr(kind, part) : !kind, "'%s' is %s, not %s", bytes,
              kind ? kind : "text", part ? part : "text");
}

Test(kinds, binary_files_are_recognised)
{
    unsigned char record[16] = { 40 };
    EXPECT_KIND("\x08\0\0\0\0\0\0\0{\"a\":{}}", "safetensors");
    EXPECT_KIND("PARE\x15\x04\x15\x10", "encrypted Parquet");
    EXPECT_KIND("PARE\x2F\0\0\0\x90", "encrypted Parquet");
    EXPECT_KIND("FEA1\0\0", "Feather");
    EXPECT_KIND("PK\x03\x04", "zip");
    EXPECT_KIND("\x1f\x8b\x08", "packed");
    EXPECT_KIND("BZh91AY&SY", "packed");
    EXPECT_KIND("\xfd"
                "7zXZ\0",
                "packed");
    EXPECT_KIND("\x28\xb5\x2f\xfd", "packed");
    EXPECT_KIND("\x93NUMPY\x01", "NumPy");
    EXPECT_KIND("%PDF-1.7\n", "PDF");
    EXPECT_KIND("\x80\x04\x95\x10", "pickle");
    EXPECT_KIND("\x7f"
                "ELF\x02",
                "program");
    EXPECT_KIND("\x89PNG\r\n\x1a\n", "image");
    EXPECT_KIND("\xff\xd8\xff\xe0", "image");
    EXPECT_KIND("WARC/1.0\r\nWARC-Type: conversion\r\n", "web archive");
    EXPECT_KIND("GGUF\x03\0\0\0", "GGUF");
    EXPECT_KIND("\xff\xfeh\0i\0", "UTF-16");
    EXPECT_KIND("00000020textmill=tokens 1\n", "token stream");
    EXPECT_KIND("0000002012345678textmill=tokens 2\n", "token stream");
    le_put_u32(record + 8, crc32c_mask(crc32c(0, record, 8)));
    expect_kind("file", (char *)record, sizeof record, "TFRecord");
}

static void expect_columns(const char *bytes, size_t n, enum columns_kind want)
{
    enum columns_kind kind;
    cr_assert(kinds_columns(bytes, n, &kind), "'%s'", bytes);
    cr_expect_eq(kind, want);
    cr_expect_null(kinds_recognise("file", bytes, n));
}

Test(kinds, files_of_columns_are_recognised)
{
    enum columns_kind kind;
    expect_columns("PAR1\x15\x04\x15", 7, COLUMNS_PARQUET);
    expect_columns("ARROW1\0\0\xff", 9, COLUMNS_ARROW_FILE);
    expect_columns("\xff\xff\xff\xff\x10\0\0\0", 8, COLUMNS_ARROW_STREAM);
    cr_expect_not(kinds_columns("PAR1S is a city", 15, &kind));
    cr_expect_not(kinds_columns("ARROW1", 6, &kind));
}

Test(kinds, json_and_tables_are_recognised_where_it_is_safe)
{
    EXPECT_KIND("[{\"text\": 1}]", "JSON array");
    EXPECT_KIND(" [\n  {\n \"text\"", "JSON array");
    EXPECT_KIND("[\n  \"a text\",\n", "JSON array");
    EXPECT_KIND("[\"a \\\"text\\\"\" ]", "JSON array");
    EXPECT_KIND("[\"a text that goes on behind the bytes that are looked at", "JSON array");
    EXPECT_KIND("{\n  \"text\": \"a\"", "JSON over several lines");
    cr_expect(kinds_is_table("id,text\n1,hello\n", 16, ','));
    cr_expect(kinds_is_table("标题,text\n1,你好\n", 21, ','));
    cr_expect_not(kinds_is_table("id, text\n1,hello\n", 17, ','));
    EXPECT_KIND("\"text\"\tlabel\r\n", "a table");
    expect_kind("a.tsv", "any, thing", 10, "a table");
}

/* For readers of JSON and of tables with tabs. */
Test(kinds, json_and_tables_may_be_wanted)
{
    static const char *const wanted[] = { "[{\"text\": 1}]", "{\n  \"text\": 1", "text\tlabel\n",
                                          "PAR1S is a city", "" };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect_eq(kinds_check("f", wanted[i], strlen(wanted[i])), 0, "%s", wanted[i]);
    cr_expect_eq(kinds_check("f", "PAR1\x15\x04\x15", 7), -1);
    cr_expect_str_eq(err_get(), "f: not text but Parquet or Arrow: JSON lines are wanted");
    cr_expect_eq(kinds_check("f", "version https://git-lfs.github.com/spec/v1", 42), -1);
}

Test(kinds, text_is_text)
{
    EXPECT_KIND("", NULL);
    EXPECT_KIND("[1] He said", NULL);
    EXPECT_KIND("[", NULL);
    EXPECT_KIND("[\"A song\" playing] Hello", NULL);
    EXPECT_KIND("[\"A song,\" he said", NULL);
    EXPECT_KIND("[[link]] and {curly}", NULL);
    EXPECT_KIND("{\"text\": \"a line\"}\n", NULL);
    EXPECT_KIND("text, more text\n", NULL);
    EXPECT_KIND("PAR1S is a city", NULL);
    EXPECT_KIND("PARENTS and children", NULL);
    EXPECT_KIND("BZh is no word", NULL);
    EXPECT_KIND("WARC/WET is a format", NULL);
    EXPECT_KIND("one,two\n", NULL);
    EXPECT_KIND("text\n", NULL);
    EXPECT_KIND("\xef\xbb\xbfmarked", NULL);
    expect_kind("a.csv.txt", "any", 3, NULL);
}

static void expect_mended(const char *from, const char *to, uint64_t replaced)
{
    struct buf out = BUF_INIT;
    cr_expect_eq(mend_json(&out, from, strlen(from)), replaced, "%s", from);
    cr_expect_str_eq(out.data, to);
    buf_release(&out);
}

Test(mend, lone_surrogates_and_bad_bytes)
{
    expect_mended("{\"a\":\"x\\u00e9\"}", "{\"a\":\"x\\u00e9\"}", 0);
    expect_mended("\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"", 0);
    expect_mended("\"\\uD83Dx\"", "\"\\ufffdx\"", 6);
    expect_mended("\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\"", 12);
    expect_mended("\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"", 6);
    expect_mended("\"\\\\ud83d\"", "\"\\\\ud83d\"", 0); /* a backslash, and letters */
    expect_mended("\"a\xff\xe4\xb8\"", "\"a\xef\xbf\xbd\xef\xbf\xbd\"", 3);
    expect_mended("\"\\ud8", "\"\\ud8", 0);
    /* the first and last of each half, and their neighbours */
    expect_mended("\\ud7ff\\ue000", "\\ud7ff\\ue000", 0);
    expect_mended("\\ud800\\udc00\\udbff\\udfff", "\\ud800\\udc00\\udbff\\udfff", 0);
    expect_mended("\\ud800 \\udbff ", "\\ufffd \\ufffd ", 12);
    expect_mended("\\udc00\\udfff", "\\ufffd\\ufffd", 12);
    expect_mended("\\ud83d\\udbff", "\\ufffd\\ufffd", 12);
    expect_mended("\\ud83d\\ue000", "\\ufffd\\ue000", 6);
    expect_mended("\\udc00\\udc00", "\\ufffd\\ufffd", 12);
}

Test(mend, few_are_a_hundred_or_a_hundredth)
{
    cr_expect_eq(mend_check(MEND_FEW, 100, 100), 0);
    cr_expect_eq(mend_check(MEND_FEW, 101, 10100), 0);
    cr_expect_eq(mend_check(MEND_FEW, 101, 10099), -1);
    cr_expect(strstr(err_get(), "101 of its 10099 bytes are not UTF-8"), "%s", err_get());
    cr_expect_eq(mend_check(MEND_ALL, 101, 101), 0);
    cr_expect_eq(mend_check(MEND_NONE, 0, 101), 0);
    cr_expect_eq(mend_check(MEND_NONE, 1, 101), -1);
}
