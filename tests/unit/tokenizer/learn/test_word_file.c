/* Files of counted words: what is written comes back, and what is damaged is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tokenizer/learn/word_file.h"

TestSuite(word_file, .init = make_dir, .fini = remove_dir);

#define HEAD "textmill=words 1\ncut=R\n\n"
enum { HEAD_BYTES = sizeof HEAD - 1 };

static void write_words(struct word_counts **tables, size_t count, uint64_t words)
{
    struct output out;
    uint64_t got = 0;
    cr_assert_eq(output_open(&out, in_dir("words")), 0, "%s", err_get());
    cr_assert_eq(word_file_write(&out, "R", tables, count, &got), 0, "%s", err_get());
    cr_assert_eq(output_close(&out), 0, "%s", err_get());
    cr_expect_eq(got, words);
}

/* Reads the file twice into one table, and returns its words. */
static struct counted_words read_twice(uint64_t words)
{
    struct word_counts *w = word_counts_new(0, NULL);
    struct counted_words list = COUNTED_WORDS_INIT;
    uint64_t got = 0;
    for (int i = 0; i < 2; i++)
        cr_assert_eq(word_file_read(in_dir("words"), "R", w, &got), 0, "%s", err_get());
    cr_expect_eq(got, 2 * words);
    cr_assert_eq(word_counts_join(&list, &w, 1, 1), 0, "%s", err_get());
    cr_expect_eq(list.count, words);
    word_counts_free(w);
    return list;
}

/* The words of all tables are added up and written in order of their bytes. */
Test(word_file, words_come_back)
{
    static const char rows[] = "\2\1\0x\1\1a\1\5b\2\xff\xff\xff\xff\xff\xff\xff\x07\xc3\xa9\0\0";
    struct word_counts *tables[2] = { word_counts_new(0, NULL), word_counts_new(0, NULL) };
    SCOPED(buf) want = BUF_INIT, got = BUF_INIT;
    word_counts_add(tables[0], "b", 1, 2);
    word_counts_add(tables[0], "a", 1, 1);
    word_counts_add(tables[1], "\0x", 2, 1);
    word_counts_add(tables[1], "\xc3\xa9", 2, (1ull << 52) - 1);
    word_counts_add(tables[1], "b", 1, 3);
    write_words(tables, 2, 4);
    buf_adds(&want, HEAD);
    buf_add(&want, rows, sizeof rows - 1);
    le_add_u32(&want, crc32c(0, want.data, want.len));
    cr_assert_eq(file_read(in_dir("words"), &got), 0, "%s", err_get());
    cr_expect(got.len == want.len && !memcmp(got.data, want.data, want.len));
    struct counted_words list = read_twice(4);
    for (size_t i = 0; i < list.count; i++) {
        const struct counted_word *w = &list.words[i];
        const char *s = list.bytes.data + w->at;
        const uint64_t count = *s == 'b' ? 5 : *s == '\xc3' ? (1ull << 52) - 1 : 1;
        cr_expect(w->len == (*s == 'a' || *s == 'b' ? 1 : 2) && w->count == 2 * count);
    }
    counted_words_release(&list);
    for (int i = 0; i < 2; i++)
        word_counts_free(tables[i]);
}

/* More bytes than are written at a time. */
Test(word_file, many_words)
{
    enum { WORDS = 20000 };
    struct word_counts *w = word_counts_new(0, NULL);
    char word[16];
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++) {
        snprintf(word, sizeof word, "%d", i);
        word_counts_add(w, word, strlen(word), (uint64_t)i + 1);
    }
    write_words(&w, 1, WORDS);
    struct counted_words list = read_twice(WORDS);
    for (size_t i = 0; i < list.count; i++)
        sum += list.words[i].count;
    cr_expect_eq(sum, (uint64_t)WORDS * (WORDS + 1)); /* each of 1 to WORDS twice */
    counted_words_release(&list);
    word_counts_free(w);
}

static void refused(const void *bytes, size_t n, const char *rules, const char *error)
{
    struct word_counts *w = word_counts_new(0, NULL);
    uint64_t words = 0;
    cr_assert_eq(file_write(in_dir("words"), bytes, n), 0, "%s", err_get());
    cr_expect_eq(word_file_read(in_dir("words"), rules, w, &words), -1, "not: %s", error);
    expect_error(error);
    word_counts_free(w);
}

static void head_refused(const char *text, const char *rules, const char *error)
{
    refused(text, strlen(text), rules, error);
}

Test(word_file, heads_that_are_refused)
{
    static const char foreign[] = "/words' is not a file of counted words";
    struct word_counts *w = word_counts_new(0, NULL);
    uint64_t words = 0;
    head_refused("", "R", "' is not a file of counted words of version 1");
    head_refused("textmill=words 1", "R", "' is not a file of counted words of version 1");
    head_refused("textmill=words 10\n", "R", "' is not a file of counted words of version 1");
    head_refused("textmill=words 2\ncut=R\n\n", "R", foreign);
    head_refused("textmill=words 1\nhow=R\n\n", "R", foreign);
    head_refused("textmill=words 1\ncut=R\n", "R", foreign);
    head_refused("textmill=words 1\ncut=R", "R", foreign);
    head_refused("textmill=words 1\ncut=R\nx\n", "R", foreign);
    head_refused(HEAD, "Q", "/words' was counted with 'R', not with 'Q'");
    head_refused(HEAD, "RR", "was counted with 'R', not with 'RR'");
    cr_expect_eq(word_file_read(in_dir("none"), "R", w, &words), -1);
    expect_error("/none'");
    word_counts_free(w);
}

/* Refuses these rows after a right head. sum 1: their checksum follows, and then `more`. */
static void rows_refused(const char *rows, size_t n, int sum, const char *more, const char *error)
{
    SCOPED(buf) b = BUF_INIT;
    buf_adds(&b, HEAD);
    buf_add(&b, rows, n);
    if (sum)
        le_add_u32(&b, crc32c(0, b.data, b.len));
    buf_adds(&b, more);
    refused(b.data, b.len, "R", error);
}

Test(word_file, rows_that_are_refused)
{
    rows_refused("", 0, 0, "", "/words: at byte 24: the file is cut off");
    rows_refused("\5\1ab", 4, 0, "", "/words: at byte 24: the file is cut off");
    rows_refused("\1\1a", 3, 0, "", "/words: at byte 27: the file is cut off");
    rows_refused("\1\0a\0\0", 5, 1, "", "/words: at byte 24: not a row of a word");
    rows_refused("\1\x80\x80\x80\x80\x80\x80\x80\x10"
                 "a\0\0",
                 12, 1, "", "at byte 24: not a row of a word"); /* 2^53 */
    rows_refused("\1\1b\1\1a\0\0", 8, 1, "", "/words: at byte 27: the words are not in order");
    rows_refused("\1\1a\1\1a\0\0", 8, 1, "", "at byte 27: the words are not in order");
    rows_refused("\1\1a\0\0", 5, 0, "xyz", "/words: at byte 29: the file is cut off");
    rows_refused("\1\1a\0\0", 5, 0, "wxyz", "/words: at byte 29: the checksum is wrong");
    rows_refused("\1\1a\0\0", 5, 1, "x", "/words: at byte 29: bytes follow the end");
}
