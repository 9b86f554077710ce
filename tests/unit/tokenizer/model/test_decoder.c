/* Decoders: what they make of the names of tokens, step by step and from a table. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "common/formats/js.h"
#include "tokenizer/model/decoder.h"

#define REPLACEMENT "\uFFFD"
#define FALLBACK    "{\"type\":\"ByteFallback\"}"
#define FUSE        "{\"type\":\"Fuse\"}"
#define LOW         "\u2581" /* Metaspace's usual mark */

static struct decoder *parse(const char *text)
{
    struct js *value = js_parse(text, strlen(text), "d");
    cr_assert(value, "%s", err_get());
    struct decoder *d = decoder_new(value);
    js_free(value);
    return d;
}

/* Sets *names to the names up to NULL, and returns their number. */
static size_t list(struct strings *names, const char *const *texts)
{
    size_t n = 0;
    *names = (struct strings)STRINGS_INIT;
    for (; texts[n]; n++) {
        buf_adds(&names->text, texts[n]);
        strings_end(names);
    }
    return n;
}

struct decoded {
    const char *decoder;
    int table; /* whether it can have a table */
    const char *want;
    const char *names[8];
};

static void check(const struct decoded *c)
{
    static const uint32_t ids[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    struct decoder *d = parse(c->decoder);
    struct strings names;
    SCOPED(buf) out = BUF_INIT;
    cr_assert(d, "%s: %s", c->decoder, err_get());
    size_t n = list(&names, c->names);
    cr_expect_eq(decoder_run(d, &names, &out), 0, "%s", err_get());
    cr_expect_str_eq(out.data, c->want, "%s: '%s', not '%s'", c->decoder, out.data, c->want);
    strings_release(&names);
    n = list(&names, c->names);
    struct decoder_table *t = decoder_table_new(d, &names);
    strings_release(&names);
    cr_expect_eq(t != NULL, c->table, "%s", c->decoder);
    if (t) {
        buf_setf(&out, "x");
        cr_expect_eq(decoder_table_run(t, ids, n, &out), n);
        cr_expect_str_eq(out.data + 1, c->want, "%s: table: '%s', not '%s'", c->decoder,
                         out.data + 1, c->want);
    }
    decoder_table_free(t);
    decoder_free(d);
}

Test(decoder, each_kind)
{
    static const struct decoded cases[] = {
        { "null", 1, "a b c", { "a", "b", "c" } },
        { FUSE, 1, "a b", { "a", " b" } },
        /* the byte alphabet: U+0120 is a space, U+00C3 and U+00A9 are the bytes of U+00E9; what is
         * in no alphabet stays */
        { "{\"type\":\"ByteLevel\"}",
          1,
          " a\u00E9x\u4E2D",
          { "\u0120a", "\u00C3", "\u00A9x", "\u4E2D" } },
        { "{\"type\":\"ByteLevel\"}", 1, REPLACEMENT "x" REPLACEMENT, { "\u00C3", "x", "\u00C3" } },
        /* bytes that are no UTF-8 are replaced one by one, but whole runs are looked at */
        { FALLBACK,
          1,
          "\u00E9a" REPLACEMENT REPLACEMENT "<0x0>",
          { "<0xC3>", "<0xA9>", "a", "<0xC3>", "<0xFF>", "<0x0>" } },
        { "{\"type\":\"WordPiece\"}",
          1,
          "##a bc d.n't #",
          { "##a", "b", "##c", "d", ".", "n't", "#" } },
        { "{\"type\":\"WordPiece\",\"cleanup\":false,\"prefix\":\"@\"}",
          1,
          "a ##b c . d",
          { "a", "##b", "c", ".", "d" } },
        { "{\"type\":\"WordPiece\",\"prefix\":\"@\"}", 1, "ab", { "a", "@b" } },
        { "{\"type\":\"Metaspace\",\"replacement\":\"_\"}", 1, "ab c d", { "_a_b", "_c", "_d" } },
        { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}",
          1,
          " a b",
          { "_a", "_b" } },
        { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\"}",
          1,
          " a b",
          { "_a", "_b" } },
        { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\"}",
          1,
          "a b",
          { "_a", "_b" } },
        { "{\"type\":\"BPEDecoder\"}", 0, "a bc", { "a</w>", "b", "c</w>" } },
        { "{\"type\":\"BPEDecoder\",\"suffix\":\"_\"}", 0, "a b", { "a_", "b_" } },
        { "{\"type\":\"Replace\",\"pattern\":{\"String\":\"_\"},\"content\":\" \"}",
          1,
          "a b ",
          { "a_b", "_" } },
        { "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x+\"},\"content\":\"-\"}",
          1,
          "a-b-",
          { "axxb", "x" } },
        { "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":1}",
          1,
          " ab ",
          { "  a ", " ", " b  " } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

#define STRIP(start, stop)                                                                         \
    "{\"type\":\"Strip\",\"content\":\"x\",\"start\":" start ",\"stop\":" stop "}"
#define LIST(steps) "{\"type\":\"Sequence\",\"decoders\":[" steps "]}"

Test(decoder, steps_one_after_the_other)
{
    static const struct decoded cases[] = {
        /* Llama's */
        { LIST("{\"type\":\"Replace\",\"pattern\":{\"String\":\"" LOW
               "\"},\"content\":\"x\"}," FALLBACK "," FUSE "," STRIP("1", "0")),
          1,
          "a\nxxb",
          { LOW "a", "<0x0A>", LOW LOW "b" } },
        { LIST(FALLBACK ",{\"type\":\"Metaspace\",\"replacement\":\"" LOW "\"}"),
          1,
          "a\n b",
          { LOW "a", "<0x0A>", LOW "b" } },
        { LIST(FUSE "," STRIP("2", "2")), 1, "xaxx ", { "xxxa", "xx x" } },
        { LIST(FUSE "," STRIP("2", "2")), 1, "", { "x", "xx" } },
        { LIST(FUSE "," STRIP("0", "1")), 1, "xxax", { "xx", "axx" } },
        { LIST(FUSE "," STRIP("1", "0") "," STRIP("0", "1")), 1, "xax", { "xxax", "x" } },
        { LIST(STRIP("1", "0") "," FUSE), 1, "ab", { "xa", "xb" } },
        { LIST(FUSE "," FUSE), 0, "ab", { "a", "b" } },
        { LIST(FALLBACK ",{\"type\":\"ByteLevel\"}"), 0, "ab", { "a", "b" } },
        { LIST(""), 1, "ab", { "a", "b" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

Test(decoder, tokens_that_are_left_out)
{
    static const uint32_t ids[] = { 0, 1, 2, 3, 9 };
    const char *const texts[] = { "_a", "_b", "_c", "<0x41>", NULL };
    struct strings names;
    SCOPED(buf) out = BUF_INIT;
    struct decoder *d = parse(LIST(FALLBACK ",{\"type\":\"Metaspace\",\"replacement\":\"_\"}"));
    list(&names, texts);
    struct decoder_table *t = decoder_table_new(d, &names);
    strings_release(&names);
    cr_assert(t);
    size_t n;
    cr_expect(!memcmp(decoder_table_text(t, 1, &n), " b", 2) && n == 2);
    cr_expect_eq(decoder_table_run(t, ids, 5, &out), 4); /* 9 is no token */
    cr_expect_eq(out.len, 0);
    decoder_table_leave_out(t, 0);
    cr_expect_null(decoder_table_text(t, 0, &n));
    cr_expect_eq(decoder_table_run(t, ids, 4, &out), 4);
    cr_expect_str_eq(out.data, "b cA"); /* b is now the first */
    decoder_table_free(t);
    decoder_free(d);
}

Test(decoder, that_are_refused)
{
    static const char *const cases[][2] = {
        { "{\"type\":\"Other\"}", "decoder 'Other' is not supported" },
        { LIST(FUSE ",{\"type\":\"Other\"}"), "decoder 'Other' is not supported" },
        { "{\"type\":\"Metaspace\"}", "decoder Metaspace: no replacement" },
        { "{\"type\":\"Strip\",\"start\":1,\"stop\":0}", "decoder Strip: no content" },
        { STRIP("-1", "0"), "decoder Strip: no start or no stop" },
        { STRIP("0", "-1"), "decoder Strip: no start or no stop" },
        { STRIP("1", "null"), "decoder Strip: no start or no stop" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_null(parse(cases[i][0]), "%s", cases[i][0]);
        cr_expect_str_eq(err_get(), cases[i][1]);
    }
}
