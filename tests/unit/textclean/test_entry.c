/* Documents in each format are read, changed, marked and written; other input is refused. */
#include "textclean/entry.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(entry, .init = make_dir, .fini = remove_dir);

#define DOCUMENT "<doc id=\"1\" url=\"u\" title=\"T\">\nT\n\nA &amp; b\n\n</doc>\n"

/* Reads the file `in` and appends its documents to `out`; with `text` or a mark, unless these are
 * NULL. Returns 0, or -1 with an error. */
static int copy(enum entry_format format, const char *field, const char *text, const char *mark,
                struct buf *out)
{
    char *paths[] = { (char *)(uintptr_t)in_dir("in") };
    struct entries s;
    struct entry r;
    entry_init(&r);
    int got = entries_open(&s, paths, 1, format, field);
    while (got >= 0 && (got = entries_read(&s, &r)) > 0) {
        if ((got = entry_parse(&r, s.format, field)) < 0)
            break;
        if (text)
            entry_change(&r, text, strlen(text));
        entry_put(&r, s.format, mark, out);
    }
    entries_close(&s);
    entry_release(&r);
    return got;
}

Test(entry, formats)
{
    static const struct {
        enum entry_format format;
        const char *text, *mark, *in, *out;
    } cases[] = {
        { ENTRY_AUTO, NULL, NULL, "", "" },
        { ENTRY_AUTO, NULL, NULL, "one\n\ntwo", "one\n\ntwo\n" },
        { ENTRY_AUTO, NULL, NULL, "one\n\n", "one\n\n" },
        { ENTRY_AUTO, "new", NULL, "one\n\ntwo", "new\n" },
        { ENTRY_AUTO, "", NULL, "one\n\ntwo", "" },
        { ENTRY_LINES, NULL, NULL, "one\r\n\ntwo", "one\r\n\ntwo\n" },
        { ENTRY_LINES, "a\n\nb", NULL, "one\ntwo\n", "a  b\na  b\n" },
        { ENTRY_TEXT, NULL, NULL, "id,text\n1,a\n", "id,text\n1,a\n" },
        { ENTRY_TEXT, NULL, NULL, "{\n \"a\": 1\n}\n", "{\n \"a\": 1\n}\n" },
        { ENTRY_AUTO, NULL, NULL, DOCUMENT, DOCUMENT },
        { ENTRY_AUTO, NULL, "x", DOCUMENT,
          "<doc id=\"1\" url=\"u\" title=\"T\" textclean=\"x\">\nT\n\nA &amp; b\n\n</doc>\n" },
        { ENTRY_AUTO, NULL, NULL, "{\"a\": {\"text\": \"x\"}}\r\n\n",
          "{\"a\": {\"text\": \"x\"}}\n" },
        { ENTRY_AUTO, "y", "m", "{\"a\": {\"text\": null}, \"textclean\": 1}\n",
          "{\"a\": {\"text\": \"y\"}, \"textclean\": \"m\"}\n" },
        { ENTRY_AUTO, NULL, "m", "{\"a\": {\"text\": NaN}}\n",
          "{\"a\": {\"text\": NaN}, \"textclean\": \"m\"}\n" },
        { ENTRY_AUTO, "y", NULL, "{\"a\": {\"text\": NaN}}\n", "{\"a\": {\"text\": \"y\"}}\n" },
        { ENTRY_AUTO, "y", "m", "{\"textclean\": [], \"a\": {\"text\": \"x\"}}\n",
          "{\"textclean\": \"m\", \"a\": {\"text\": \"y\"}}\n" },
        { ENTRY_JSONL, NULL, "m", "{\"a\": {\"text\": \"x\"}}\n",
          "{\"a\": {\"text\": \"x\"}, \"textclean\": \"m\"}\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = BUF_INIT;
        put_text("in", cases[i].in);
        cr_expect_eq(copy(cases[i].format, "a.text", cases[i].text, cases[i].mark, &out), 0,
                     "case %zu: %s", i, err_get());
        cr_expect_str_eq(out.len ? out.data : "", cases[i].out, "case %zu", i);
        buf_release(&out);
    }
}

Test(entry, refuses)
{
    static const struct {
        enum entry_format format;
        const char *in, *error;
    } cases[] = {
        { ENTRY_AUTO, "\x1F\x8B", "in" },
        { ENTRY_TEXT, "PAR1\x15", "not text but Parquet" },
        { ENTRY_AUTO, "\xFF\xFF\xFF\xFF", "an Arrow file" },
        { ENTRY_AUTO, "id,text\n1,a\n", "not text but a table (CSV)" },
        { ENTRY_AUTO, "{\n \"a\": 1\n}\n", "or --format text" },
        { ENTRY_DOCUMENTS, "text", "all files of a run have one format" },
        { ENTRY_JSONL, "{\"b\": 1}\n", "line 1: no string \"text\"" },
        { ENTRY_JSONL, "{\"text\": 1}\n", "\"text\" is no string" },
        { ENTRY_JSONL, "{\"text\": None}\n", "line 1" },
        { ENTRY_JSONL, "{\"text\": \"\\x\"}\n", "\"text\"" },
        { ENTRY_JSONL, "{\"text\": \"\", \"text\": \"\"}\n", "the text's name occurs twice" },
        { ENTRY_JSONL, "{\"text\": \"\"} 1\n", "text behind the object" },
        { ENTRY_JSONL, "{\"a\" 1}\n", "line 1" },
        { ENTRY_JSONL, "{\"a\": }\n", "line 1" },
        { ENTRY_JSONL, "{\"text\": \"\xFF\"}\n", "byte 10 is not UTF-8" },
        { ENTRY_AUTO,
          "<!-- textmill documents 1 sentences=0 -->\n" DOCUMENT "<!-- end documents=1 -->\n"
          "<!-- textmill documents 1 sentences=1 -->\n" DOCUMENT "<!-- end documents=1 -->\n",
          "documents with and without sentences" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = BUF_INIT;
        put_text("in", cases[i].in);
        cr_expect_eq(copy(cases[i].format, "text", NULL, NULL, &out), -1, "case %zu", i);
        expect_error(cases[i].error);
        buf_release(&out);
    }
}
