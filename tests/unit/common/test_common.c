/* The common library, which every program uses. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/pool.h"
#include "common/base/rng.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/files/mapping.h"
#include "common/files/temp.h"
#include "common/files/usage.h"
#include "common/formats/document.h"
#include "common/formats/js.h"
#include "common/formats/kv.h"
#include "common/formats/stream.h"
#include "common/formats/yaml.h"
#include "common/program/opt.h"
#include "tests/unit/gauss.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "tests/unit/temp_file.h"

Test(err, context_goes_in_front)
{
    cr_expect_eq(err_set("no space"), -1);
    cr_expect_eq(err_in("file '%s'", "a"), -1);
    cr_expect_str_eq(err_get(), "file 'a': no space");
    err_set("again: %s", err_get());
    cr_expect_str_eq(err_get(), "again: file 'a': no space");
    cr_expect_not(err_is_usage());
    err_usage("x");
    cr_expect(err_is_usage());
}

Test(err, what_failed_first_is_kept)
{
    err_usage("first");
    struct err why = err_keep();
    err_in("clearing up");
    cr_expect_eq(err_restore(&why), -1);
    cr_expect_str_eq(err_get(), "first");
    cr_expect(err_is_usage());
}

Test(buf, grows_and_keeps_its_nul)
{
    struct buf b = BUF_INIT;
    cr_expect_str_eq(b.data, "");
    for (int i = 0; i < 1000; i++)
        buf_addf(&b, "%d,", i);
    cr_expect_eq(b.len, 3890);
    cr_expect_eq(strlen(b.data), b.len);
    buf_truncate(&b, 3);
    cr_expect_str_eq(b.data, "0,1");
    buf_adds(&b, " \r\n");
    buf_rtrim(&b);
    cr_expect_str_eq(b.data, "0,1");
    buf_addc(&b, '\0'); /* is no space */
    buf_rtrim(&b);
    cr_expect_eq(b.len, 4);
    buf_release(&b);
    utf8_add(&b, 0xE9);
    utf8_add(&b, 0x20AC);
    utf8_add(&b, 0x1F600);
    utf8_add(&b, 0xD800);
    cr_expect_str_eq(b.data, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD");
    buf_release(&b);
}

Test(buf, utf8_of_every_length)
{
    struct buf b = BUF_INIT;
    static const unsigned code_points[] = { 0x41,  0x7F,   0x80,    0x7FF,
                                            0x800, 0xFFFF, 0x10000, 0x10FFFF };
    for (size_t i = 0; i < sizeof code_points / sizeof *code_points; i++)
        utf8_add(&b, code_points[i]);
    cr_expect_str_eq(b.data, "A\x7F\xC2\x80\u07FF\u0800\uFFFF\U00010000\U0010FFFF");
    buf_clear(&b);
    utf8_add(&b, 0xD800);
    utf8_add(&b, 0x110000);
    cr_expect_str_eq(b.data, "\uFFFD\uFFFD");
    buf_release(&b);
}

/* The expected values are those published by the authors of the algorithm. */
Test(hash, fnv_1a)
{
    cr_expect_eq(hash_more(HASH_START, "", 0), 0xCBF29CE484222325u);
    cr_expect_eq(hash_more(HASH_START, "a", 1), 0xAF63DC4C8601EC8Cu);
    cr_expect_eq(hash_more(HASH_START, "foobar", 6), 0x85944171F73967E8u);
    cr_expect_eq(hash_more(hash_more(HASH_START, "foo", 3), "bar", 3), 0x85944171F73967E8u);
}

/* Values have no length limit: the names in them come from files. */
Test(kv, long_values_stay_whole)
{
    struct kv kv = KV_INIT;
    struct buf path = BUF_INIT, expected = BUF_INIT;
    for (int i = 0; i < 9000; i++)
        buf_addc(&path, 'a' + i % 26);
    buf_addf(&expected, "taken=7 %s", path.data);
    kv_addf(&kv, "source", "taken=%d %s", 7, path.data);
    kv_addf(&kv, "empty", "%s", "");
    cr_expect_str_eq(kv_get(&kv, "source"), expected.data);
    cr_expect_str_eq(kv_get(&kv, "empty"), "");
    kv_release(&kv);
    buf_release(&path);
    buf_release(&expected);
}

Test(kv, round_trip_and_errors)
{
    struct kv kv = KV_INIT;
    const char *text = "a=1\npg=x y\npg=z=w\nempty=\nbelow=-1\nabove=18446744073709551616\n";
    cr_assert_eq(kv_parse(&kv, text, strlen(text)), 0);
    uint64_t v;
    cr_expect(!kv_get_u64(&kv, "a", &v) && v == 1);
    const char *no_numbers[] = { "pg", "empty", "below", "above", "missing" };
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
        cr_expect_eq(kv_get_u64(&kv, no_numbers[i], &v), -1, "%s", no_numbers[i]);
    cr_expect_str_eq(kv_get(&kv, "empty"), "");
    struct buf out = BUF_INIT;
    kv_print(&kv, &out);
    cr_expect_str_eq(out.data, text);
    kv_release(&kv);
    cr_expect_eq(kv_parse(&kv, "a=1\nb\n", 6), -1);
    expect_error("line 2");
    kv_release(&kv);
    buf_release(&out);
}

Test(js, prints_numbers_that_read_back_the_same)
{
    static const char *const texts[] = { "{\"a\": [0.1, 3.7, 2.0, 1e-7], \"b\": \"\\u0000\"}",
                                         "1e22", "0.30000000000000004", "-12" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED_JS root = js_parse(texts[i], strlen(texts[i]), "x");
        SCOPED(buf) out = buf_format("> ");
        js_print(&out, root);
        cr_expect_str_eq(out.data + 2, texts[i]);
    }
}

Test(js, reads_and_names_the_byte)
{
    const char *text = "{\"a\": [1, 2.5, \"x\\u0000y\", true, null]}";
    struct js *root = js_parse(text, strlen(text), "t");
    const struct js *a = js_get(root, "a");
    int64_t i;
    double r;
    int b;
    size_t n;
    cr_expect_eq(js_count(a), 5);
    cr_expect(!js_int(js_at(a, 0), &i) && i == 1);
    cr_expect(!js_real(js_at(a, 1), &r) && r == 2.5);
    cr_expect(!memcmp(js_text(js_at(a, 2), &n), "x\0y", 3) && n == 3);
    cr_expect(!js_bool(js_at(a, 3), &b) && b == 1);
    cr_expect(js_is_null(js_at(a, 4)) && !js_is_null(js_at(a, 9)));
    cr_expect_null(js_text(js_get(js_get(root, "no"), "path"), NULL));
    js_free(root);
    cr_expect_null(js_parse("{\"a\": 1, \"a\": 2}", 16, "dup"));
    expect_error("dup: bad JSON at byte");
    struct buf out = BUF_INIT;
    js_quote(&out, "a\"\\\n\x01\xC3\xA9", 7);
    cr_expect_str_eq(out.data, "\"a\\\"\\\\\\n\\u0001\xC3\xA9\"");
    buf_release(&out);
}

/* Parses `begin`, then `count` times `item`, then `end`. Returns the result, with *y released. */
static int parse_repeated(const char *begin, const char *item, int count, const char *end)
{
    struct buf text = BUF_INIT;
    struct yaml y;
    buf_adds(&text, begin);
    for (int i = 0; i < count; i++)
        buf_addf(&text, item, i);
    buf_adds(&text, end);
    int result = yaml_parse(&y, text.data, text.len, "t.yaml");
    yaml_release(&y);
    buf_release(&text);
    return result;
}

Test(yaml, bounds)
{
    cr_expect_eq(parse_repeated("", "k%d: 1\n", 4096, ""), 0);
    cr_expect_eq(parse_repeated("", "k%d: 1\n", 4097, ""), -1);
    cr_expect_str_eq(err_get(), "t.yaml:4097: more than 4096 keys");
    cr_expect_eq(parse_repeated("a: [", "&a%d 1, ", 1000, "]"), 0);
    cr_expect_eq(parse_repeated("a: [", "&a%d 1, ", 999, "*a0, *a0]"), -1);
    cr_expect_str_eq(err_get(), "t.yaml:1: more than 1000 anchors and aliases");
    cr_expect_eq(parse_repeated("a: ", "[", 15, "]]]]]]]]]]]]]]]"), 0);
    cr_expect_eq(parse_repeated("a: ", "[", 16, "]]]]]]]]]]]]]]]]"), -1);
    cr_expect_str_eq(err_get(), "t.yaml:1: nested too deeply");
    cr_expect_eq(parse_repeated("a: [", "x%d,", 100000, "]"), 0, "a long list is no error");
    cr_expect_eq(parse_repeated("a: [\n", "x%d,", 1, "}"), -1);
    expect_error("t.yaml:2: bad YAML: ");
}

Test(yaml, sections_lists_anchors_and_merge_keys)
{
    const char *text = "base: &base {layers: 2, width: 8}\n"
                       "model:\n  <<: *base\n  width: 16\n"
                       "data: [a, b]\nholes: ['', a, ~]\nempty: {a: null, b: ~, c: 'null'}\n";
    struct yaml y;
    cr_assert_eq(yaml_parse(&y, text, strlen(text), "t.yaml"), 0, "%s", err_get());
    cr_expect_str_eq(yaml_get(&y, "model.width"), "16");
    cr_expect_str_eq(yaml_get(&y, "model.layers"), "2");
    cr_expect_str_eq(yaml_get(&y, "data"), "a,b");
    cr_expect_str_eq(yaml_get(&y, "holes"), ",a,");
    cr_expect_str_eq(yaml_get(&y, "empty.a"), "");
    cr_expect_str_eq(yaml_get(&y, "empty.b"), "");
    cr_expect_str_eq(yaml_get(&y, "empty.c"), "null");
    cr_expect_null(yaml_get(&y, "none"));
    yaml_release(&y);
    cr_expect_eq(yaml_parse(&y, "a: 1\na: 2\n", 10, "t.yaml"), -1);
    expect_error("t.yaml:2: key 'a' is given twice");
    cr_expect_eq(yaml_parse(&y, "a: [1\n", 6, "t.yaml"), -1);
    expect_error("t.yaml:");
}

Test(yaml, a_key_replaces_all_that_a_merge_key_brings_for_it)
{
    const char *text = ".a: &a {model: {layers: 3, width: 64}, stages: [{n: 1}, {n: 2}], seed: 7}\n"
                       ".b: &b {model: {heads: 4}, modes: 5}\n"
                       "<<: [*a, *b]\nmodel: {layers: 2}\nstages: [{n: 9}]\nmode: 6\n"
                       "nested: {<<: [*a, *b]}\n";
    struct yaml y;
    cr_assert_eq(yaml_parse(&y, text, strlen(text), "t.yaml"), 0, "%s", err_get());
    cr_expect_str_eq(yaml_get(&y, "model.layers"), "2");
    cr_expect_null(yaml_get(&y, "model.width"));
    cr_expect_null(yaml_get(&y, "model.heads"));
    cr_expect_str_eq(yaml_get(&y, "stages.0.n"), "9");
    cr_expect_null(yaml_get(&y, "stages.1.n"));
    cr_expect_str_eq(yaml_get(&y, "seed"), "7");
    cr_expect_str_eq(yaml_get(&y, "mode"), "6");
    cr_expect_str_eq(yaml_get(&y, "modes"), "5");
    cr_expect_str_eq(yaml_get(&y, "nested.model.width"), "64");
    cr_expect_null(yaml_get(&y, "nested.model.heads"));
    cr_expect_str_eq(yaml_get(&y, "nested.stages.1.n"), "2");
    yaml_release(&y);
}

struct given {
    int flag, choice;
    int64_t number, some;
    uint64_t size;
    double real;
    const char *text;
    struct opt_list list;
};

#define AT(member) offsetof(struct given, member)
enum { RED = OPT_ONLY, BLUE = OPT_ONLY << 1 };
static const struct opt table[] = {
    { 'f', "flag", OPT_FLAG | OPT_OF_RUN, AT(flag), NULL, "a flag", 0, 0 },
    { 'n', "number", OPT_INT | OPT_FIXED, AT(number), "N", "a number", 1, 1e6 },
    { 0, "some", OPT_INT | RED | BLUE, AT(some), "N|all", "a number or a word", 0, 1e6 },
    { 0, "size-limit", OPT_SIZE | RED, AT(size), "SIZE", "a size", 0, 0 },
    { 0, "real", OPT_REAL, AT(real), "X", "a real", 0, 0 },
    { 'o', "output", OPT_TEXT, AT(text), "FILE", "a text", 0, 0 },
    { 0, "choice", OPT_CHOICE, AT(choice), "one|two", "a choice", 0, 0 },
    { 0, "list", OPT_LIST, AT(list), "ITEM", "a list", 0, 0 },
    { 0 },
};

static int parse(struct opts *o, const char *line)
{
    static char copy[256];
    static char *argv[32];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    return opts_parse(o, argc, argv);
}

Test(opt, command_line)
{
    struct given given = { .number = 5, .some = 3 };
    struct opts o = { 0 };
    opts_add(&o, table, &given);
    cr_expect_eq(
        parse(&o,
              "x -fn 2K --size_limit=3M y --real 1e-3 -oout --choice two --list a --list b -- -z"),
        3);
    cr_expect(given.flag && given.number == 2000 && given.size == 3 << 20 && given.real == 1e-3 &&
              given.choice == 1);
    cr_expect_str_eq(given.text, "out");
    cr_expect(given.list.count == 2 && opts_find(&o, "flag", 4)->given);
    cr_expect(parse(&o, "--no-flag") == 0 && !given.flag);
    cr_expect(parse(&o, "--some all") == 0 && given.some == OPT_WORD);
    cr_expect(parse(&o, "--some=4K") == 0 && given.some == 4000);
    cr_expect_eq(parse(&o, "--some N"), -1);
    cr_expect_eq(parse(&o, "--some al"), -1);
    expect_error("--some wants a whole number or all, not 'al'");
    cr_expect_eq(parse(&o, "--number all"), -1);
    expect_error("--number wants a whole number, not 'all'");
    cr_expect_eq(parse(&o, "--nmber 3"), -1);
    expect_error("did you mean '--number'");
    cr_expect_eq(parse(&o, "--number 0"), -1);
    expect_error("out of bounds");
    cr_expect_eq(parse(&o, "--number 1000001"), -1);
    cr_expect(parse(&o, "--number 1000000") == 0 && given.number == 1000000);
    cr_expect(parse(&o, "--number 1") == 0 && given.number == 1);
    cr_expect_eq(parse(&o, "--number 1.5"), -1);
    cr_expect_eq(parse(&o, "--number"), -1);
    char blank[] = "--number=5 ", *word = blank;
    cr_expect_eq(opts_parse(&o, 1, &word), -1);
    expect_error("--number wants a whole number, not '5 '");
    cr_expect_eq(parse(&o, "--choice three"), -1);
    cr_expect(parse(&o, "--size-limit 1.5T") == 0 && given.size == 3ull << 39);
    cr_expect_eq(parse(&o, "--size-limit 8GB"), -1);
    expect_error("--size-limit wants a whole number or one such as 8G, not '8GB'");
    cr_expect_eq(parse(&o, "--size-limit -1"), -1);
    cr_expect(err_is_usage());
    opts_release(&o);
}

Test(opt, file_gives_way_to_the_command_line)
{
    struct given given = { .number = 5, .some = 3 };
    struct opts o = { 0 };
    opts_add(&o, table, &given);
    cr_assert_eq(parse(&o, "-n 7"), 0);
    const char *text =
        "section:\n  number: 9\n  real: 2\nsize_limit: 4K\nlist: [p, q]\nsome: all\n";
    struct yaml y;
    cr_assert_eq(yaml_parse(&y, text, strlen(text), "c"), 0);
    cr_assert_eq(opts_load(&o, &y, "c"), 0, "%s", err_get());
    yaml_release(&y);
    cr_expect(given.number == 7 && given.real == 2 && given.size == 4096 && given.list.count == 2);
    struct buf out = BUF_INIT;
    opts_print(&o, 0, &out);
    cr_expect(strstr(out.data, "number: 7\n") && strstr(out.data, "some: all\n") &&
              strstr(out.data, "list: ['p', 'q']\n"));
    buf_clear(&out);
    opts_print(&o, OPT_OF_RUN | OPT_FIXED, &out);
    cr_expect(!strstr(out.data, "number") && !strstr(out.data, "flag") && strstr(out.data, "real"));
    buf_clear(&out);
    opts_help(&o, 1, &out);
    cr_expect(strstr(out.data, "  -n, --number N"));
    yaml_parse(&y, "list: ['', p, '']\n", 18, "c"); /* an empty value is one, too */
    cr_expect_eq(opts_load(&o, &y, "c"), 0, "%s", err_get());
    cr_expect(given.list.count == 3 && !*given.list.items[0] && !*given.list.items[2]);
    yaml_release(&y);
    yaml_parse(&y, "a: 1\nnumbr: 3\n", 14, "c");
    cr_expect_eq(opts_load(&o, &y, "c"), -1);
    expect_error("c:1: unknown key 'a'");
    cr_expect_not(err_is_usage());
    yaml_release(&y);
    buf_release(&out);
    opts_release(&o);
}

/* Sets `out` to `given` as a configuration, and reads that into `y`. */
static void read_back(struct given *given, struct buf *out, struct yaml *y)
{
    struct opts o = { 0 };
    opts_add(&o, table, given);
    buf_clear(out);
    opts_print(&o, 0, out);
    cr_assert_eq(yaml_parse(y, out->data, out->len, "c"), 0, "%s", err_get());
    opts_release(&o);
}

Test(opt, printed_texts_are_read_back)
{
    static const char *const texts[] = { "it's",           "two\nlines\n",
                                         "a\ttab",         "\"quotes\"\r\\",
                                         "a\x7F \u2028 b", "caf\u00E9'\xC2\x85\"\uFFFE" };
    struct given given = { 0 };
    struct yaml y;
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        given.text = texts[i];
        read_back(&given, &out, &y);
        cr_expect_str_eq(yaml_get(&y, "output"), texts[i]);
        yaml_release(&y);
    }
    buf_release(&out);
}

Test(opt, printed_lists_are_read_back)
{
    static const char *const items[] = { "a\\", "b,c", "\\,", "", "\\\\d" };
    enum { N = sizeof items / sizeof *items };
    struct given given = { .number = 5 }, again = { 0 };
    struct opts o = { 0 };
    struct yaml y;
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < N; i++)
        opt_list_add(&given.list, items[i]);
    read_back(&given, &out, &y);
    opts_add(&o, table, &again);
    cr_assert_eq(opts_load(&o, &y, "c"), 0, "%s", err_get());
    cr_assert_eq(again.list.count, N);
    for (size_t i = 0; i < N; i++)
        cr_expect_str_eq(again.list.items[i], items[i]);
    opts_release(&o);
    yaml_release(&y);
    buf_release(&out);
}

Test(opt, printed_numbers_are_read_back)
{
    static const double numbers[] = { 0.00123456789012, 6e-4 / 10, 1.0 / 3, 0.1, 2 };
    struct given given = { 0 };
    struct yaml y;
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        given.real = numbers[i];
        read_back(&given, &out, &y);
        cr_expect_eq(strtod(yaml_get(&y, "real"), NULL), numbers[i]);
        yaml_release(&y);
    }
    cr_expect_not_null(strstr(out.data, "real: 2\n"));
    buf_release(&out);
}

Test(opt, flags)
{
    struct given given = { .number = 5 };
    struct opts o = { 0 };
    opts_add(&o, table, &given);
    cr_expect_eq(opts_find(&o, "number", 6)->row->type, OPT_INT | OPT_FIXED);
    cr_expect_eq(opts_find(&o, "size_limit", 10)->row->type, OPT_SIZE | RED);
    cr_expect_null(opts_find(&o, "none", 4));
    cr_assert_eq(parse(&o, "--size-limit 3 --some 4 --number 7"), 0);
    cr_expect_null(opts_misplaced(&o, RED));
    cr_expect_str_eq(opts_misplaced(&o, BLUE), "size-limit");
    cr_expect_str_eq(opts_misplaced(&o, 0), "some");
    opts_release(&o);
}

Test(file, lines_of_any_length_and_offsets)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < 600000; i++)
        buf_addc(&text, 'a');
    buf_adds(&text, "\n\nlast");
    char *path = temp_file(text.data, text.len), *line;
    struct input in;
    size_t n;
    cr_assert_eq(input_open(&in, path), 0);
    cr_expect(input_line(&in, &line, &n) == 1 && n == 600000);
    cr_expect(input_line(&in, &line, &n) == 1 && n == 0 && in.offset == 600002);
    cr_expect(input_line(&in, &line, &n) == 1 && n == 4 && !memcmp(line, "last", 4));
    cr_expect_eq(input_line(&in, &line, &n), 0);
    input_close(&in);
    drop_file(path);
    buf_release(&text);
    cr_expect_eq(input_open(&in, "/nonexistent/x"), -1);
    expect_error("cannot open '/nonexistent/x'");
}

/* Returns the bytes that can be read of a file that has `before` bytes when it is opened and
 * `after` bytes once some were read; or -1 with an error. */
static int64_t read_changed(off_t before, off_t after)
{
    char *path = temp_file("", 0);
    struct input in;
    int64_t n, all = 0;
    cr_assert_eq(truncate(path, before), 0);
    cr_assert_eq(input_open(&in, path), 0, "%s", err_get());
    cr_assert_gt(input_peek(&in, 1), 0);
    cr_assert_eq(truncate(path, after), 0);
    while ((n = input_peek(&in, 1)) > 0) {
        all += n;
        input_skip(&in, (size_t)n);
    }
    input_close(&in);
    drop_file(path);
    return n < 0 ? -1 : all;
}

Test(file, one_that_becomes_shorter_is_not_complete)
{
    enum { LONG = 2000000, SHORT = 1000000 };
    cr_expect_eq(read_changed(LONG, SHORT), -1);
    expect_error("at byte 1000000: the file has become shorter");
    cr_expect_eq(read_changed(LONG, LONG), LONG);
    cr_expect_eq(read_changed(SHORT, LONG), LONG);
}

/* A folder as output must be refused when it is opened. (Devices, pipes and targets of symbolic
 * links are written to and never replaced.) */
Test(file, output_to_a_folder_is_refused_before_the_work)
{
    struct output out;
    cr_expect_eq(output_open(&out, "/tmp"), -1);
    expect_error("cannot create '/tmp': Is a directory");
    output_abandon(&out);
}

Test(file, output_replaces_no_device)
{
    char dir[] = "/tmp/textmill-device-XXXXXX", target[4] = "";
    struct buf fifo = BUF_INIT, link = BUF_INIT, file = BUF_INIT, text = BUF_INIT;
    cr_assert(mkdtemp(dir));
    set_path(&fifo, dir, "fifo");
    set_path(&link, dir, "link");
    set_path(&file, dir, "file");
    cr_assert_eq(mkfifo(fifo.data, 0600), 0);
    int fd = open(fifo.data, O_RDWR);
    cr_assert_eq(file_write(fifo.data, "abc", 3), 0, "%s", err_get());
    cr_expect_eq(read(fd, target, 3), 3);
    cr_expect_str_eq(target, "abc");
    struct stat st;
    cr_expect(!stat(fifo.data, &st) && S_ISFIFO(st.st_mode));
    cr_assert_eq(file_write(file.data, "old", 3), 0);
    cr_assert_eq(symlink("file", link.data), 0);
    cr_assert_eq(file_write(link.data, "new", 3), 0, "%s", err_get());
    cr_expect(!lstat(link.data, &st) && S_ISLNK(st.st_mode));
    cr_expect(file_read(file.data, &text) == 0 && !strcmp(text.data, "new"));
    /* links to a file that does not exist yet make it */
    cr_assert(!unlink(file.data) && file_write(link.data, "newer", 5) == 0, "%s", err_get());
    cr_expect(!lstat(link.data, &st) && S_ISLNK(st.st_mode));
    buf_clear(&text);
    cr_expect(file_read(file.data, &text) == 0 && !strcmp(text.data, "newer"));
    close(fd);
    temp_remove(dir);
    buf_release(&fifo);
    buf_release(&link);
    buf_release(&file);
    buf_release(&text);
}

Test(file, a_file_to_append_to_is_made_and_is_no_link_and_no_pipe)
{
    char dir[] = "/tmp/textmill-append-XXXXXX";
    cr_assert(mkdtemp(dir));
    struct buf path = BUF_INIT, link = BUF_INIT, fifo = BUF_INIT, text = BUF_INIT;
    struct file_log log;
    set_path(&path, dir, "file");
    set_path(&link, dir, "link");
    set_path(&fifo, dir, "fifo");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(file_log_open(&log, path.data), 0, "%s", err_get());
        cr_expect(fcntl(fileno(log.file), F_GETFD) & FD_CLOEXEC);
        cr_expect_eq(file_log_add(&log, i ? "b" : "a", 1), 0);
        cr_expect_eq(file_log_close(&log), 0);
    }
    cr_expect(!file_read(path.data, &text) && text.len == 2 && !memcmp(text.data, "ab", 2));
    cr_assert(!symlink("file", link.data) && !mkfifo(fifo.data, 0600));
    cr_expect_eq(file_log_open(&log, link.data), -1);
    file_log_close(&log);
    cr_expect_eq(file_log_open(&log, fifo.data), -1, "without a reader it would wait");
    file_log_close(&log);
    temp_remove(dir);
    buf_release(&path);
    buf_release(&link);
    buf_release(&fifo);
    buf_release(&text);
}

Test(file, output_appears_when_complete)
{
    char dir[] = "/tmp/textmill-test-XXXXXX";
    cr_assert(mkdtemp(dir));
    struct buf path = BUF_INIT;
    set_path(&path, dir, "out");
    struct output out;
    cr_assert_eq(output_open(&out, path.data), 0);
    for (int i = 0; i < 100000; i++)
        cr_assert_eq(output_write(&out, "0123456789", 10), 0);
    cr_expect_not(look(path.data));
    output_abandon(&out);
    struct file_names names;
    cr_expect(!file_list(&names, dir, "") && names.count == 0);
    cr_assert_eq(file_write(path.data, "x", 1), 0);
    struct file_map map;
    cr_expect(!file_map(&map, path.data) && map.bytes == 1 && map.data[0] == 'x');
    file_unmap(&map);
    cr_expect_eq(temp_remove(dir), 0);
    cr_expect_not(look(dir));
    buf_release(&path);
}

Test(file, an_error_is_not_nothing_there)
{
    char dir[] = "/tmp/textmill-look-XXXXXX";
    struct buf loop = BUF_INIT, under = BUF_INIT;
    struct output out;
    cr_assert(mkdtemp(dir));
    set_path(&loop, dir, "loop");
    set_path(&under, loop.data, "file");
    cr_assert_eq(symlink("loop", loop.data), 0);
    cr_expect_eq(file_look(under.data), -1);
    cr_expect(strstr(err_get(), "cannot access '"));
    cr_expect_eq(output_open(&out, under.data), -1);
    cr_expect_eq(unlink(loop.data), 0);
    cr_expect_eq(file_look(under.data), FILE_NONE);
    cr_assert_eq(file_write(loop.data, "", 0), 0);
    cr_expect_eq(file_look(under.data), FILE_NONE, "below a file there is nothing");
    cr_expect(look(loop.data) == FILE_PLAIN && look(dir) == FILE_FOLDER);
    cr_expect_eq(look("/dev/null"), FILE_SPECIAL);
    temp_remove(dir);
    buf_release(&loop);
    buf_release(&under);
}

Test(file, patterns)
{
    char dir[] = "/tmp/textmill-glob-XXXXXX";
    static const char *const files[] = { "b/x1", "b/x2", "a/x3", "a/y", ".h/x4" };
    struct buf path = BUF_INIT;
    struct file_names found;
    cr_assert(mkdtemp(dir));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        set_path(&path, dir, files[i]);
        buf_truncate(&path, path.len - strlen(strrchr(files[i], '/')));
        cr_assert_eq(file_mkdirs(path.data), 0);
        set_path(&path, dir, files[i]);
        cr_assert_eq(file_write(path.data, "", 0), 0);
    }
    set_path(&path, dir, "*//x[0-9]");
    cr_assert_eq(file_glob(&found, path.data), 0, "%s", err_get());
    cr_assert_eq(found.count, 3);
    for (size_t i = 0; i < 3; i++)
        cr_expect(file_ends_with(found.names[i], (const char *[]){ "a//x3", "b//x1", "b//x2" }[i]));
    file_names_release(&found);
    set_path(&path, dir, "?/z*");
    cr_expect_eq(file_glob(&found, path.data), -1);
    cr_expect(strstr(err_get(), "nothing matches"));
    temp_remove(dir);
    buf_release(&path);
}

Test(file, made_folders_are_removed)
{
    char dir[] = "/tmp/textmill-mkdirs-XXXXXX";
    struct buf path = BUF_INIT;
    int made;
    cr_assert(mkdtemp(dir));
    set_path(&path, dir, "a//b/c/");
    cr_assert_eq(file_mkdirs_count(path.data, &made), 0);
    cr_expect_eq(made, 3);
    cr_expect_eq(file_mkdirs_count(path.data, &made), 0);
    cr_expect_eq(made, 0);
    file_rmdirs(path.data, 2);
    cr_expect_eq(look(path.data), FILE_NONE);
    set_path(&path, dir, "a");
    cr_expect_eq(look(path.data), FILE_FOLDER);
    set_path(&path, dir, "a/x/y");
    cr_assert_eq(file_mkdirs_count(path.data, &made), 0);
    set_path(&path, dir, "a/file");
    cr_assert_eq(file_write(path.data, "", 0), 0);
    set_path(&path, dir, "a/x/y");
    file_rmdirs(path.data, 9); /* stops where something is left */
    set_path(&path, dir, "a/x");
    cr_expect_eq(look(path.data), FILE_NONE);
    set_path(&path, dir, "a/file");
    cr_expect_eq(look(path.data), FILE_PLAIN);
    set_path(&path, dir, "n/m/a-name-that-is-too-long");
    for (int i = 0; i < 300; i++)
        buf_addc(&path, 'x');
    cr_expect_eq(file_mkdirs(path.data), -1);
    set_path(&path, dir, "n");
    cr_expect_eq(look(path.data), FILE_NONE);
    temp_remove(dir);
    buf_release(&path);
}

Test(file, a_set_is_published_whole_or_not_at_all)
{
    char dir[] = "/tmp/textmill-set-XXXXXX";
    struct output set[2];
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct file_names names;
    cr_assert(mkdtemp(dir));
    set_path(&a, dir, "a");
    set_path(&b, dir, "b");
    for (int blocked = 1; blocked >= 0; blocked--) {
        cr_assert_eq(output_open(&set[0], a.data), 0);
        cr_assert_eq(output_open(&set[1], b.data), 0);
        cr_assert(output_write(&set[0], "1", 1) == 0 && output_write(&set[1], "2", 1) == 0);
        cr_assert_eq(blocked ? mkdir(b.data, 0777) : 0, 0);
        cr_expect_eq(output_close_all(set, 2), blocked ? -1 : 0);
        cr_expect_eq(look(a.data), blocked ? FILE_NONE : FILE_PLAIN);
        cr_expect_eq(look(b.data), blocked ? FILE_FOLDER : FILE_PLAIN);
        cr_assert_eq(file_list(&names, dir, ""), 0);
        cr_expect_eq(names.count, blocked ? 1 : 2);
        file_names_release(&names);
        cr_assert_eq(blocked ? rmdir(b.data) : 0, 0);
    }
    temp_remove(dir);
    buf_release(&a);
    buf_release(&b);
}

Test(file, a_set_that_cannot_be_replaced_stays)
{
    static const char *const names[] = { "a", "b", "goes", "last" };
    for (int blocked = 0; blocked < 4; blocked++) {
        char dir[] = "/tmp/textmill-set-XXXXXX";
        struct output set[4];
        struct buf path = BUF_INIT, text = BUF_INIT;
        struct file_names found;
        cr_assert(mkdtemp(dir));
        for (int i = 0; i < 4; i++) {
            set_path(&path, dir, names[i]);
            cr_assert_eq(i == blocked ? 0 : file_write(path.data, "old", 3), 0);
            if (i == 2)
                output_remove(&set[i], path.data);
            else
                cr_assert(output_open(&set[i], path.data) == 0 &&
                          output_write(&set[i], "new", 3) == 0);
            cr_assert_eq(i == blocked ? mkdir(path.data, 0777) : 0, 0);
        }
        cr_expect_eq(output_close_all(set, 4), -1);
        for (int i = 0; i < 4; i++) {
            set_path(&path, dir, names[i]);
            cr_expect_eq(look(path.data), i == blocked ? FILE_FOLDER : FILE_PLAIN);
            buf_clear(&text);
            if (i != blocked) {
                cr_assert_eq(file_read(path.data, &text), 0);
                cr_expect_str_eq(text.data, "old");
            }
        }
        cr_assert_eq(file_list(&found, dir, ""), 0);
        cr_expect_eq(found.count, 4);
        file_names_release(&found);
        temp_remove(dir);
        buf_release(&path);
        buf_release(&text);
    }
}

/* ---- temporaries --------------------------------------------------------------------------- */

/* Starts a process that begins to write `path` and a folder "<path>d", and then ends itself: by the
 * signal `end`, or if that is 0, by exit. */
static void begin_and_end(const char *path, int end)
{
    pid_t id = fork();
    if (!id) {
        struct output out;
        struct buf folder = BUF_INIT, file = BUF_INIT;
        temp_catch_signals();
        buf_addf(&file, "%sd", path);
        if (temp_mkdir(&folder, file.data, "test", TEMP_STAYS_ON_SIGNALS) < 0)
            _exit(3);
        set_path(&file, folder.data, "deep/er");
        if (output_open(&out, path) < 0 || output_write(&out, "x", 1) < 0 ||
            output_flush(&out) < 0 || file_mkdirs(file.data) < 0)
            _exit(3);
        if (end)
            raise(end);
        exit(0);
    }
    int status;
    cr_assert_eq(waitpid(id, &status, 0), id);
    cr_expect(end ? WIFSIGNALED(status) && WTERMSIG(status) == end : status == 0);
}

static size_t count_names(const char *dir)
{
    struct file_names names;
    cr_assert_eq(file_list(&names, dir, ""), 0);
    size_t count = names.count;
    file_names_release(&names);
    return count;
}

/* Makes and drops a folder for `path`, so that what ended runs left of it is removed. */
static void sweep_folders(const char *path)
{
    struct buf temp = BUF_INIT;
    cr_assert_eq(file_write("/tmp/textmill-elsewhere", "", 0),
                 0); /* the names of a folder are cached */
    unlink("/tmp/textmill-elsewhere");
    int fd = temp_mkdir(&temp, path, "test", TEMP_GOES);
    cr_assert_geq(fd, 0);
    cr_expect_eq(temp_drop(temp.data, fd), 0);
    buf_release(&temp);
}

Test(temp, goes_at_exit_on_signals_and_with_the_next_run)
{
    char dir[] = "/tmp/textmill-temp-XXXXXX";
    struct buf path = BUF_INIT;
    struct file_names left;
    cr_assert(mkdtemp(dir));
    set_path(&path, dir, "out");
    begin_and_end(path.data, 0);
    cr_expect_eq(count_names(dir), 0);
    begin_and_end(path.data, SIGTERM);
    cr_expect_eq(count_names(dir), 1, "the folder stays on a signal");
    begin_and_end(path.data, SIGKILL);
    cr_expect_eq(count_names(dir), 2, "the file and the folder; the older folder has gone");

    cr_assert_eq(file_list_left(&left, path.data), 0);
    cr_assert_eq(left.count, 1);
    int held = open(left.names[0], O_RDONLY);
    cr_assert_eq(flock(held, LOCK_EX), 0); /* as another machine's process would */
    cr_assert_eq(file_write(path.data, "y", 1), 0);
    cr_expect_eq(look(left.names[0]), FILE_PLAIN, "locked: somebody is at it");
    close(held);
    cr_assert_eq(file_write("/tmp/textmill-elsewhere", "", 0), 0);
    unlink("/tmp/textmill-elsewhere");
    cr_assert_eq(file_write(path.data, "y", 1), 0);
    cr_expect_eq(look(left.names[0]), FILE_NONE);
    buf_addf(&path, "d");
    sweep_folders(path.data);
    cr_expect_eq(count_names(dir), 1, "out");
    file_names_release(&left);
    temp_remove(dir);
    buf_release(&path);
}

/* The lock of a folder is on its mark, a file: over NFS other hosts do not see locks of folders. */
Test(temp, a_folder_is_held_by_its_mark)
{
    char dir[] = "/tmp/textmill-temp-XXXXXX";
    struct buf path = BUF_INIT, temp = BUF_INIT, mark = BUF_INIT, left = BUF_INIT;
    cr_assert(mkdtemp(dir));
    set_path(&path, dir, "out");
    const int fd = temp_mkdir(&temp, path.data, "test", TEMP_GOES);
    cr_assert_geq(fd, 0);
    set_path(&mark, temp.data, ".textmill-test");
    const int other = open(mark.data, O_RDWR);
    cr_assert_geq(other, 0);
    cr_expect_lt(flock(other, LOCK_EX | LOCK_NB), 0, "another host would take the folder");
    close(other);
    cr_expect_eq(temp_drop(temp.data, fd), 0);
    cr_expect_eq(count_names(dir), 0);

    set_path(&left, dir, "out.textmill-abcdefghij");
    set_path(&mark, left.data, ".textmill-test");
    cr_assert_eq(mkdir(left.data, 0777), 0);
    const int held = open(mark.data, O_RDWR | O_CREAT, 0666);
    cr_assert_eq(flock(held, LOCK_EX), 0); /* as another host's process would */
    sweep_folders(path.data);
    cr_expect_eq(look(mark.data), FILE_PLAIN, "somebody is at it");
    close(held);
    sweep_folders(path.data);
    cr_expect_eq(look(left.data), FILE_NONE);
    temp_remove(dir);
    buf_release(&path);
    buf_release(&temp);
    buf_release(&mark);
    buf_release(&left);
}

/* A name of 250 bytes has no room for a temporary ending. What ended runs left of two such names
 * that only differ at their ends is told apart. */
Test(temp, a_long_name_is_cut)
{
    char dir[] = "/tmp/textmill-temp-XXXXXX", name[251], other[251];
    struct buf path = BUF_INIT, beside = BUF_INIT;
    struct file_names left;
    memset(name, 'x', 250);
    memset(other, 'x', 250);
    name[250] = other[250] = '\0';
    other[249] = 'y';
    cr_assert(mkdtemp(dir));
    set_path(&path, dir, name);
    set_path(&beside, dir, other);
    begin_and_end(path.data, SIGKILL);
    cr_expect_eq(count_names(dir), 2, "a file and a folder");
    cr_assert_eq(file_list_left(&left, path.data), 0);
    cr_expect_eq(left.count, 1);
    file_names_release(&left);
    cr_expect_eq(file_write(beside.data, "y", 1), 0, "%s", err_get());
    cr_expect_eq(count_names(dir), 3);
    cr_expect_eq(file_write(path.data, "y", 1), 0, "%s", err_get());
    cr_expect_eq(count_names(dir), 3, "two files, and the folder");
    temp_remove(dir);
    buf_release(&path);
    buf_release(&beside);
}

/* Moves the files that are left of 0 to MOVED - 1 out of the folder "t" of `arg`. */
enum { MOVED = 3000 };
static void *move_out(void *arg)
{
    char from[100], to[100];
    for (int i = 0; i < MOVED; i++) {
        snprintf(from, sizeof from, "%s/t/%d", (char *)arg, i);
        snprintf(to, sizeof to, "%s/%d", (char *)arg, i);
        rename(from, to);
    }
    return NULL;
}

Test(temp, goes_while_another_thread_moves_its_files_out)
{
    char dir[] = "/tmp/textmill-temp-XXXXXX", folder[100], file[120];
    pthread_t thread;
    cr_assert(mkdtemp(dir));
    snprintf(folder, sizeof folder, "%s/t", dir);
    cr_assert_eq(file_mkdirs(folder), 0);
    for (int i = 0; i < MOVED; i++) {
        snprintf(file, sizeof file, "%s/%d", folder, i);
        close(open(file, O_WRONLY | O_CREAT, 0666));
    }
    cr_assert_eq(pthread_create(&thread, NULL, move_out, dir), 0);
    cr_expect_eq(temp_remove(folder), 0);
    pthread_join(thread, NULL);
    cr_expect_eq(look(folder), FILE_NONE);
    temp_remove(dir);
}

/* What looks like a temporary, but for one thing, is somebody's own. */
Test(temp, only_what_this_program_made_goes)
{
    static const char *const names[] = { "out.tmp-20240101",          "out.textmill-",
                                         "out.textmill-abc",          "out.textmill-ABCDEFGHIJ",
                                         "out.textmill-abcdefghijk",  "out.textmill-abcdefghi1",
                                         "other.textmill-abcdefghij", ".textmill-abcdefghij",
                                         "out.textmill-abcdefghij.x" };
    enum { NAMES = sizeof names / sizeof *names };
    char dir[] = "/tmp/textmill-temp-XXXXXX";
    struct buf path = BUF_INIT, file = BUF_INIT;
    cr_assert(mkdtemp(dir));
    set_path(&path, dir, "out");
    for (int folders = 0; folders <= 1; folders++) {
        for (int i = 0; i < NAMES; i++) {
            set_path(&file, dir, names[i]);
            if (folders)
                cr_assert_eq(file_mkdirs(file.data), 0);
            buf_adds(&file, folders ? "/.textmill-test" : "");
            cr_assert_eq(file_write(file.data, "", 0), 0);
        }
        set_path(&file, dir, "out.textmill-222222222a");
        cr_assert_eq(mkfifo(file.data, 0666), 0);
        set_path(&file, dir,
                 "out.textmill-222222222b"); /* a folder, with the mark of another kind */
        cr_assert_eq(file_mkdirs(file.data), 0);
        buf_adds(&file, "/.textmill-other");
        cr_assert_eq(file_write(file.data, "", 0), 0);
        set_path(&file, dir, "out.textmill-222222222c"); /* a folder without a mark, not empty */
        cr_assert_eq(file_mkdirs(file.data), 0);
        buf_adds(&file, "/mine");
        cr_assert_eq(file_write(file.data, "", 0), 0);
        set_path(&file, dir, "out.textmill-222222222d"); /* a link, and a file with two names */
        cr_assert_eq(symlink("out.tmp-20240101", file.data), 0);
        set_path(&file, dir, "out.textmill-222222222e");
        struct buf twice = BUF_INIT;
        set_path(&twice, dir, "twice");
        cr_assert_eq(file_write(twice.data, "", 0), 0);
        cr_assert_eq(link(twice.data, file.data), 0);
        buf_release(&twice);
        size_t before = count_names(dir);
        sweep_folders(path.data);
        struct output out;
        cr_assert_eq(output_open(&out, path.data), 0, "%s", err_get());
        output_abandon(&out);
        cr_expect_eq(count_names(dir), before, "%zu names of %zu are left", count_names(dir),
                     before);
        temp_remove(dir);
        cr_assert_eq(mkdir(dir, 0777), 0);
    }
    temp_remove(dir);
    buf_release(&path);
    buf_release(&file);
}

/* Each process has its own temporary, whatever its number: the last one to close wins, whole. */
Test(temp, writers_of_one_name_never_share)
{
    char dir[] = "/tmp/textmill-temp-XXXXXX";
    struct buf path = BUF_INIT, text = BUF_INIT;
    struct output a, b;
    cr_assert(mkdtemp(dir));
    set_path(&path, dir, "out");
    cr_assert_eq(output_open(&a, path.data), 0);
    cr_assert_eq(output_open(&b, path.data), 0);
    cr_assert(strcmp(a.temp, b.temp) != 0);
    cr_assert(output_write(&a, "a", 1) == 0 && output_write(&b, "bb", 2) == 0);
    cr_assert_eq(output_close(&b), 0);
    cr_assert_eq(output_close(&a), 0);
    cr_assert_eq(file_read(path.data, &text), 0);
    cr_expect_str_eq(text.data, "a");
    cr_expect_eq(count_names(dir), 1);
    temp_remove(dir);
    buf_release(&path);
    buf_release(&text);
}

/* What was interrupted is not continued through a link, nor if it has another name. */
Test(output, resume_writes_nothing_else)
{
    char dir[] = "/tmp/textmill-temp-XXXXXX";
    struct buf path = BUF_INIT, mine = BUF_INIT, text = BUF_INIT;
    struct output out;
    cr_assert(mkdtemp(dir));
    set_path(&path, dir, "out");
    set_path(&mine, dir, "mine");
    cr_assert_eq(file_write(mine.data, "precious", 8), 0);
    for (int hard = 0; hard <= 1; hard++) {
        cr_assert_eq(hard ? link(mine.data, path.data) : symlink("mine", path.data), 0);
        cr_expect_eq(output_resume(&out, path.data, 3), -1);
        cr_assert_eq(unlink(path.data), 0);
        buf_clear(&text);
        cr_assert_eq(file_read(mine.data, &text), 0);
        cr_expect_str_eq(text.data, "precious");
        cr_expect_eq(count_names(dir), 1);
    }
    cr_assert_eq(output_resume(&out, mine.data, 3), 0, "%s", err_get());
    cr_assert(output_write(&out, "sent", 4) == 0 && output_close(&out) == 0);
    buf_clear(&text);
    cr_assert_eq(file_read(mine.data, &text), 0);
    cr_expect_str_eq(text.data, "present");
    temp_remove(dir);
    buf_release(&path);
    buf_release(&mine);
    buf_release(&text);
}

/* ---- maps --------------------------------------------------------------------------------------- */

Test(mapping, files_are_found_by_address)
{
    char bytes[10000] = "x";
    char *path = temp_file(bytes, sizeof bytes), name[100];
    struct file_map one, two;
    cr_assert(!file_map(&one, path) && !file_map(&two, path));
    snprintf(name, sizeof name, "'%s'", path);
    cr_expect_str_eq(mapping_at(one.data), name);
    cr_expect_str_eq(mapping_at(two.data + sizeof bytes - 1), name);
    cr_expect_null(mapping_at(bytes));
    const void *gone = two.data;
    file_unmap(&two);
    cr_expect_null(mapping_at(gone));
    cr_expect_str_eq(mapping_at(one.data + 5000), name);
    file_unmap(&one);
    unlink(path);
    free(path);
}

/* Some file systems, such as FUSE without a page cache, have private maps only. */
Test(mapping, files_that_are_read_have_private_maps)
{
    char *path = temp_file("x", 1), mode[8] = "";
    struct file_map map;
    struct buf maps = BUF_INIT;
    cr_assert(!file_map(&map, path) && !file_read("/proc/self/maps", &maps));
    const char *line = strstr(maps.data, path);
    cr_assert(line);
    while (line > maps.data && line[-1] != '\n')
        line--;
    sscanf(line, "%*s %7s", mode);
    cr_expect_str_eq(mode, "r--p");
    buf_release(&maps);
    file_unmap(&map);
    unlink(path);
    free(path);
}

/* ---- messages and limits --------------------------------------------------------------------- */

Test(err, names_are_tamed)
{
    char out[128], name[1000];
    err_tame(out, sizeof out, "a '\x1b[2J\n\xc2\x9b \xc3\xa9' b");
    cr_expect_str_eq(out, "a '\\x1b[2J\\x0a\\xc2\\x9b \xc3\xa9' b");
    err_tame(out, sizeof out, "\u202e\u2069\u200f\u2010\u061c");
    cr_expect_str_eq(out, "\\xe2\\x80\\xae\\xe2\\x81\\xa9\\xe2\\x80\\x8f\u2010\\xd8\\x9c");
    err_tame(out, 8, "abc\x01\x02");
    cr_expect_str_eq(out, "abc\\x01");
    memset(name, 'x', sizeof name);
    err_set("cannot open '%.999s': %s", name, "why");
    cr_expect_lt(strlen(err_get()), 320);
    cr_expect(file_ends_with(err_get(), "xxx': why") && strstr(err_get(), "xxx...xxx"));
    err_set("cannot open '%.300s': %s", name, "why");
    cr_expect_eq(strlen(err_get()), strlen("cannot open '': why") + 300);
    for (size_t i = 0; i + 3 <= sizeof name; i += 3)
        memcpy(name + i, "ก", 3);
    for (int i = 0; i < 3; i++) { /* whole characters stay */
        err_set("'%.*s%.900s'", i, "aa", name);
        cr_expect_eq(utf8_valid(err_get(), strlen(err_get())), strlen(err_get()), "%s", err_get());
        cr_expect(strstr(err_get(), "กก...กก") && strlen(err_get()) < 300);
    }
}

Test(usage, limits_of_groups_and_of_those_around_them)
{
    char dir[] = "/tmp/textmill-groups-XXXXXX";
    static const struct {
        const char *path, *text;
    } files[] = {
        { "job/memory.max", "max\n" },
        { "job/step/memory.max", "3000000\n" },
        { "job/step/task/memory.max", "5000000\n" },
        { "memory/slurm/memory.limit_in_bytes", "2000000\n" },
        { "memory/slurm/x/memory.limit_in_bytes", "9223372036854771712\n" },
        { "job/cpu.max", "250000 100000\n" },
        { "job/step/cpu.max", "max 100000\n" },
        { "cpu/slurm/cpu.cfs_quota_us", "-1\n" },
        { "cpu/cpu.cfs_quota_us", "50000\n" },
        { "cpu/cpu.cfs_period_us", "25000\n" },
        { "none", "0::/other\n" },
        { "two", "0::/job/step/task\n" },
        { "one", "12:cpuset:/job\n11:cpu,cpuacct:/slurm\n4:memory:/slurm/x\n0::/job/step/task\n" },
        { "outer", "0::/job\n" },
    };
    struct buf path = BUF_INIT;
    cr_assert(mkdtemp(dir));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        set_path(&path, dir, files[i].path);
        char *slash = strrchr(path.data, '/');
        *slash = '\0';
        cr_assert_eq(file_mkdirs(path.data), 0);
        *slash = '/';
        cr_assert_eq(file_write(path.data, files[i].text, strlen(files[i].text)), 0);
    }
    static const char *const names[] = { "none", "two", "one", "outer", "missing" };
    const uint64_t want[] = { UINT64_MAX, 3000000, 2000000, UINT64_MAX, UINT64_MAX };
    const uint64_t cpus[] = { UINT64_MAX, 3, 2, 3, UINT64_MAX };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        set_path(&path, dir, names[i]);
        cr_expect_eq(usage_group_limit(path.data, dir, USAGE_MEMORY), want[i], "%s", names[i]);
        cr_expect_eq(usage_group_limit(path.data, dir, USAGE_CPUS), cpus[i], "%s", names[i]);
    }
    temp_remove(dir);
    buf_release(&path);
}

/* A process that is started by a process with much memory must report its own peak. */
Test(usage, peak_is_the_process_own)
{
    size_t bytes = (size_t)300 << 20;
    char *volatile p = malloc(bytes); /* so that a compiler does not leave it out */
    cr_assert(p);
    memset(p, 1, bytes);
    cr_expect_gt(usage_peak_bytes(), bytes);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t id = fork();
    if (!id) {
        dup2(ends[1], 2);
        const char *bin = getenv("TEXTMILL_BIN");
        char program[4096];
        snprintf(program, sizeof program, "%s/wikiprep", bin ? bin : "bin");
        execl(program, "wikiprep", "sentences", "/dev/null", (char *)NULL);
        _exit(3);
    }
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    char line[256] = "", last[256] = "";
    while (fgets(line, sizeof line, said))
        memcpy(last, line, sizeof last);
    fclose(said);
    waitpid(id, NULL, 0);
    free(p);
    const char *at = strstr(last, "peak memory ");
    cr_expect(at && strtod(at + 12, NULL) < 100, "%s", last);
}

static void count_range(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    unsigned char *seen = ctx;
    for (int64_t i = begin; i < end; i++)
        seen[i]++;
}

static void count_each(void *ctx, int64_t i, int thread)
{
    count_range(ctx, i, i + 1, thread);
}

Test(pool, every_index_once)
{
    for (int threads = 1; threads <= 5; threads += 2) {
        struct pool *p = pool_new(threads);
        for (int64_t n = 0; n < 200; n += 7) {
            unsigned char seen[200] = { 0 };
            pool_for(p, n, 16, count_range, seen);
            pool_each(p, n, count_each, seen);
            for (int64_t i = 0; i < 200; i++)
                cr_assert_eq(seen[i], i < n ? 2 : 0, "%d threads, n %d, i %d", threads, (int)n,
                             (int)i);
        }
        pool_free(p);
    }
}

/* What each thread did: where its piece begins and ends, and how many items it worked on. */
struct shares {
    int64_t begin[4], end[4];
    _Atomic int units[4];
};

static void note_range(void *ctx, int64_t begin, int64_t end, int thread)
{
    struct shares *s = ctx;
    s->begin[thread] = begin;
    s->end[thread] = end;
}

/* Pieces must begin at multiples of the grain, follow each other, and differ by at most one
 * grain. */
Test(pool, pieces_are_whole_grains)
{
    enum { THREADS = 4, GRAIN = 16 };
    struct pool *p = pool_new(THREADS);
    for (int64_t n = GRAIN * THREADS; n < 500; n += 13) {
        struct shares s = { .begin = { 0 } };
        int64_t at = 0, least = n, most = 0;
        pool_for(p, n, GRAIN, note_range, &s);
        for (int t = 0; t < THREADS; t++) {
            int64_t length = s.end[t] - s.begin[t];
            cr_assert_eq(s.begin[t], at, "n %d, thread %d", (int)n, t);
            cr_assert_eq(s.begin[t] % GRAIN, 0);
            at = s.end[t];
            least = length < least ? length : least;
            most = length > most ? length : most;
        }
        cr_assert_eq(at, n);
        cr_assert_leq(most - least, 2 * GRAIN - 1, "n %d",
                      (int)n); /* the last grain may be short */
    }
    pool_free(p);
}

/* Counts the item for its thread. Thread 0 waits at its first item until the other thread has done
 * 99 items. */
static void wait_for_the_rest(void *ctx, int64_t i, int thread)
{
    struct shares *s = ctx;
    (void)i;
    s->units[thread]++;
    while (thread == 0 && s->units[1] < 99)
        sched_yield();
}

/* A thread that has finished its piece must take over items of other threads: here thread 1 does
 * all items but at most one. */
Test(pool, work_that_is_left_is_taken_over, .timeout = 60)
{
    struct pool *p = pool_new(2);
    struct shares s = { .begin = { 0 } };
    pool_each(p, 100, wait_for_the_rest, &s);
    cr_assert_leq(s.units[0], 1);
    cr_assert_eq(s.units[0] + s.units[1], 100);
    pool_free(p);
}

static void *find_stack(void *bytes)
{
    pthread_attr_t own;
    pthread_getattr_np(pthread_self(), &own);
    pthread_attr_getstacksize(&own, bytes);
    pthread_attr_destroy(&own);
    return NULL;
}

/* The stack of a thread does not depend on the system's default, which is 128 KiB with musl. */
Test(pool, threads_have_room_for_deep_recursion)
{
    pthread_attr_t little;
    pthread_t id;
    size_t bytes = 0;
    pthread_attr_init(&little);
    pthread_attr_setstacksize(&little, 128 << 10);
    cr_assert_eq(pthread_setattr_default_np(&little), 0);
    pool_start_thread(&id, find_stack, &bytes);
    pthread_join(id, NULL);
    cr_assert_geq(bytes, 8 << 20);
}

static _Atomic pthread_t second;
static atomic_int held;

static void note_second(void *ctx, int thread)
{
    (void)ctx;
    if (thread == 1)
        second = pthread_self();
    while (thread == 0 && !second)
        sched_yield();
}

static void hold(int number)
{
    (void)number;
    held = 1;
    while (held == 1)
        usleep(100);
}

/* A thread that is stopped between two loops, as by a system with too few processors, stops no
 * loop. */
Test(pool, nothing_waits_for_a_thread_that_does_not_run, .timeout = 60)
{
    struct pool *p = pool_new(2);
    signal(SIGUSR1, hold);
    pool_run(p, note_second, NULL);
    pthread_kill(second, SIGUSR1);
    while (!held)
        usleep(100);
    for (int64_t n = 100; n < 200; n++) {
        unsigned char seen[200] = { 0 };
        pool_for(p, n, 16, count_range, seen);
        pool_each(p, n, count_each, seen);
        for (int64_t i = 0; i < n; i++)
            cr_assert_eq(seen[i], 2);
    }
    held = 2;
    pool_free(p);
}

struct squares {
    int next, limit, fail_at;
    struct buf out;
};

static int read_number(void *ctx, void *item)
{
    struct squares *s = ctx;
    *(int *)item = s->next++;
    return *(int *)item < s->limit;
}

static int square(void *ctx, void *item)
{
    struct squares *s = ctx;
    int *v = item;
    if (*v == s->fail_at)
        return err_set("item %d is bad", *v);
    if (*v % 3 == 0)
        usleep(200); /* finish out of order */
    *v *= *v;
    return 0;
}

static int print_number(void *ctx, void *item)
{
    buf_addf(&((struct squares *)ctx)->out, "%d ", *(int *)item);
    return 0;
}

static int run_squares(struct squares *s, int threads)
{
    int storage[8];
    void *items[8];
    for (int i = 0; i < 8; i++)
        items[i] = &storage[i];
    struct pipeline p = { read_number, square, print_number, s, items, 8, NULL };
    return pipeline_run(&p, threads);
}

Test(pipeline, order_does_not_depend_on_threads)
{
    struct buf first = BUF_INIT;
    for (int threads = 1; threads <= 4; threads++) {
        struct squares s = { .limit = 200, .fail_at = -1 };
        buf_init(&s.out);
        cr_assert_eq(run_squares(&s, threads), 0);
        if (threads == 1)
            buf_adds(&first, s.out.data);
        cr_expect_str_eq(s.out.data, first.data);
        buf_release(&s.out);
    }
    buf_release(&first);
}

/* An item can be read only after another thread has helped. */
struct helped {
    _Atomic int items, helps;
};

static int read_when_helped(void *ctx, void *item)
{
    struct helped *h = ctx;
    (void)item;
    for (int ms = 0; h->helps <= h->items && ms < 5000; ms++)
        usleep(1000);
    if (h->helps <= h->items)
        return err_set("nobody helped with item %d", h->items);
    return h->items++ < 20;
}

static int do_nothing(void *ctx, void *item)
{
    (void)ctx, (void)item;
    return 0;
}

static int help_once_an_item(void *ctx)
{
    struct helped *h = ctx;
    int helps = h->helps;
    return helps <= h->items && atomic_compare_exchange_strong(&h->helps, &helps, helps + 1);
}

Test(pipeline, threads_without_an_item_help)
{
    for (int threads = 2; threads <= 4; threads++) {
        int storage[4];
        void *items[4] = { &storage[0], &storage[1], &storage[2], &storage[3] };
        struct helped h = { 0 };
        struct pipeline p = { read_when_helped, do_nothing, do_nothing, &h, items, 4,
                              help_once_an_item };
        cr_expect_eq(pipeline_run(&p, threads), 0, "%d threads: %s", threads, err_get());
        cr_expect_eq(h.items, 21);
    }
}

Test(pipeline, what_precedes_an_error_is_written)
{
    for (int threads = 1; threads <= 4; threads++) {
        struct squares s = { .limit = 200, .fail_at = 5 };
        buf_init(&s.out);
        cr_assert_eq(run_squares(&s, threads), -1);
        cr_expect_str_eq(err_get(), "item 5 is bad");
        cr_expect_str_eq(s.out.data, "0 1 4 9 16 ");
        buf_release(&s.out);
    }
}

Test(rng, sequence_equals_random_access_and_is_even)
{
    struct rng r = { rng_key(0, 42), 0 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < 1000; i++)
        cr_assert_eq(rng_next(&r), rng_at(rng_key(0, 42), i));
    for (int i = 0; i < 100000; i++) {
        double x = rng_normal(&r);
        sum += x;
        squares += x * x;
    }
    cr_expect_float_eq(sum / 1e5, 0, 0.02);
    cr_expect_float_eq(squares / 1e5, 1, 0.03);
    int counts[7] = { 0 };
    for (int i = 0; i < 70000; i++)
        counts[rng_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        cr_expect(counts[i] > 9500 && counts[i] < 10500);
}

static void put_document(struct output *out, uint64_t number, const uint32_t *ids, size_t n,
                         const uint32_t *sentence_ends, size_t sentences)
{
    struct buf frame = BUF_INIT;
    cr_assert_eq(stream_frame(&frame, number, 2, ids, n, sentence_ends, sentences), 0);
    cr_assert_eq(output_write(out, frame.data, frame.len), 0);
    buf_release(&frame);
}

/* Returns a token stream of two documents with a vocabulary of 300. The first document has the
 * tokens 1, 2 and `third`. */
static struct buf token_stream_with(uint32_t third, int end)
{
    char *path = temp_file("", 0);
    struct output out;
    struct kv header = KV_INIT;
    const char *text = "dtype=u16\nvocabulary=300\n";
    kv_parse(&header, text, strlen(text));
    output_open(&out, path);
    cr_assert_eq(stream_begin(&out, &header, NULL), 0);
    put_document(&out, 1, (uint32_t[]){ 1, 2, third }, 3, (uint32_t[]){ 2, 3 }, 2);
    put_document(&out, 2, NULL, 0, NULL, 0);
    if (end)
        stream_end(&out, 2);
    cr_assert_eq(output_close(&out), 0);
    struct buf bytes = BUF_INIT;
    file_read(path, &bytes);
    kv_release(&header);
    drop_file(path);
    return bytes;
}

static struct buf token_stream(int end)
{
    return token_stream_with(299, end);
}

/* Reads a token stream to its end. Returns the number of documents, or -1 with an error. */
static int read_tokens(const struct buf *bytes)
{
    char *path = temp_file(bytes->data, bytes->len);
    struct input in;
    struct stream_reader r;
    int got = -1, n = 0;
    input_open(&in, path);
    if (!stream_open(&r, &in))
        while ((got = stream_read(&r)) > 0)
            if (++n == 1)
                cr_expect(r.document.count == 3 && r.document.ids[2] == 299 &&
                          r.document.sentences == 2 && r.document.sentence_ends[0] == 2);
    stream_reader_release(&r);
    input_close(&in);
    drop_file(path);
    return got < 0 ? -1 : n;
}

Test(stream, round_trip)
{
    struct buf bytes = token_stream(1);
    cr_expect_eq(read_tokens(&bytes), 2);
    buf_release(&bytes);
}

Test(stream, a_document_that_is_too_long_says_what_to_do)
{
    struct buf frame = BUF_INIT;
    cr_expect_eq(stream_frame(&frame, 1, 4, NULL, STREAM_FRAME_MAX / 4, NULL, 0), -1);
    cr_expect(strstr(err_get(), "268435456 tokens is too long"), "%s", err_get());
    cr_expect(strstr(err_get(), "--format lines"), "%s", err_get());
    buf_release(&frame);
}

Test(stream, carries_a_vocabulary)
{
    char *path = temp_file("", 0);
    struct buf json = BUF_INIT;
    struct output out;
    struct input in;
    struct stream_reader r;
    struct kv header = KV_INIT;
    const char *text = "textmill=tokens 1\ndtype=u16\nvocabulary=300\n";
    kv_parse(&header, text, strlen(text));
    buf_adds(&json, "{ \"model\": 1 }\n");
    output_open(&out, path);
    cr_assert_eq(stream_begin(&out, &header, &json), 0);
    put_document(&out, 1, (uint32_t[]){ 7 }, 1, NULL, 0);
    stream_end(&out, 1);
    cr_assert_eq(output_close(&out), 0);
    input_open(&in, path);
    cr_assert_eq(stream_open(&r, &in), 0, "%s", err_get());
    cr_expect_str_eq(r.tokenizer.data, json.data);
    cr_expect_eq(stream_read(&r), 1);
    cr_expect_eq(r.document.ids[0], 7);
    cr_expect_eq(stream_read(&r), 0);
    stream_reader_release(&r);
    input_close(&in);
    kv_release(&header);
    buf_release(&json);
    drop_file(path);
}

Test(stream, any_cut_is_an_error)
{
    struct buf bytes = token_stream(1);
    for (size_t n = 0; n < bytes.len; n++) {
        struct buf cut = { bytes.data, n, 0 };
        cr_assert_eq(read_tokens(&cut), -1, "cut at %zu of %zu", n, bytes.len);
    }
    buf_release(&bytes);
}

Test(stream, any_flipped_bit_is_an_error)
{
    struct buf bytes = token_stream(1);
    for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        cr_assert_eq(read_tokens(&bytes), -1, "byte %zu, bit %zu", bit / 8, bit % 8);
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    cr_expect_eq(read_tokens(&bytes), 2);
    buf_release(&bytes);
}

/* A stream of valid frames in which one is missing or repeated must be an error. */
Test(stream, a_lost_or_doubled_frame_is_an_error)
{
    enum { HEAD = 16, FIRST = HEAD + 4 + 2 * 4 + 3 * 2, SECOND = HEAD + 4 };
    struct buf bytes = token_stream(1), other = BUF_INIT;
    size_t header = bytes.len - HEAD - SECOND - FIRST;
    const char *first = bytes.data + header, *end = bytes.data + bytes.len - HEAD;
    buf_add(&other, bytes.data, header + FIRST);
    buf_add(&other, end, HEAD);
    cr_expect_eq(read_tokens(&other), -1);
    expect_error("the checksum of the frame at byte");
    buf_clear(&other);
    buf_add(&other, bytes.data, header + FIRST);
    buf_add(&other, first, (size_t)(bytes.data + bytes.len - first));
    cr_expect_eq(read_tokens(&other), -1);
    expect_error("the checksum of the frame at byte");
    buf_release(&bytes);
    buf_release(&other);
}

/* Returns a stream of version 1, whose frames are lengths and payloads. */
static struct buf old_stream(const char *kind)
{
    struct buf header = BUF_INIT, out = BUF_INIT;
    buf_addf(&header, "textmill=%s\ndtype=u16\nvocabulary=300\n", kind);
    buf_addf(&out, "%08zx%s", header.len, header.data);
    buf_adds(&out, "00000012");
    buf_add(&out, "\2\0\0\0\2\0\0\0\3\0\0\0\1\0\2\0\x2B\1", 18);
    buf_adds(&out, "00000000");
    buf_release(&header);
    return out;
}

Test(stream, version_1_is_read)
{
    struct buf bytes = old_stream("tokens 1");
    cr_expect_eq(read_tokens(&bytes), 1);
    buf_release(&bytes);
    bytes = old_stream("tokens 2"); /* without checksums */
    cr_expect_eq(read_tokens(&bytes), -1);
    expect_error("a stream of 'tokens 2', not a token stream of version 1");
    buf_release(&bytes);
}

Test(stream, wrong_kind_and_wrong_ids)
{
    struct buf bytes = old_stream("pages 1");
    cr_expect_eq(read_tokens(&bytes), -1);
    expect_error("a stream of 'pages 1', not a token stream of version 1");
    buf_release(&bytes);
    struct buf prose = BUF_INIT;
    buf_adds(&prose, "<doc id=\"1\">");
    cr_expect_eq(read_tokens(&prose), -1);
    expect_error("not a token stream");
    buf_release(&prose);
    struct buf beyond = token_stream_with(300, 1);
    cr_expect_eq(read_tokens(&beyond), -1);
    expect_error("token 2 has id 300, vocabulary has 300");
    buf_release(&beyond);
}

static struct buf document_stream(void)
{
    struct document d = DOCUMENT_INIT;
    struct buf out = BUF_INIT;
    document_put_begin(&out, 1);
    buf_adds(&d.id, "12");
    buf_adds(&d.title, "A \"b\" & <c>");
    buf_adds(&d.text, "One < two.\n\n</doc> is text; so is <doc>.");
    document_put(&out, &d);
    buf_clear(&d.text);
    document_put(&out, &d);
    document_put_end(&out, 2);
    document_release(&d);
    return out;
}

static int read_documents(const struct buf *bytes)
{
    char *path = temp_file(bytes->data, bytes->len);
    struct input in;
    struct document_reader r;
    struct document d = DOCUMENT_INIT;
    int got, n = 0;
    input_open(&in, path);
    document_open(&r, &in);
    while ((got = document_read(&r, &d)) > 0)
        if (++n == 1) {
            cr_expect_str_eq(d.title.data, "A \"b\" & <c>");
            cr_expect_str_eq(d.text.data, "One < two.\n\n</doc> is text; so is <doc>.");
            cr_expect(r.sentences && !strcmp(d.id.data, "12"));
        }
    document_release(&d);
    input_close(&in);
    drop_file(path);
    return got < 0 ? -1 : n;
}

/* Reads the first document of the text. */
static void read_first(struct document *d, const char *text)
{
    char *path = temp_file(text, strlen(text));
    struct input in;
    struct document_reader r;
    input_open(&in, path);
    document_open(&r, &in);
    cr_expect_eq(document_read(&r, d), 1);
    input_close(&in);
    drop_file(path);
}

Test(document, first_line_is_text_unless_it_is_the_title)
{
    static const struct {
        const char *document, *text;
    } cases[] = {
        { "<doc id=\"1\" title=\"T &amp; U\">\nT &amp; U\n\nA.\nB.\n</doc>\n", "A.\nB." },
        { "<doc id=\"2\" title=\"T &amp; U\">\nT &amp; U\nA.\n</doc>\n", "A." },
        { "<doc id=\"3\">\nT\n\nA.\n</doc>\n", "A." },
        { "<doc id=\"4\" title=\"T\">\nA.\nB.\n</doc>\n", "A.\nB." },
        { "<doc id=\"5\">\nA.\n</doc>\n", "A." },
        { "<doc id=\"6\" title=\"T\">\nT\n</doc>\n", "" },
        { "<doc id=\"7\" title=\"T\">\r\nT\r\n\r\nA.\r\nB.\r\n</doc>\r\n", "A.\nB." },
        { "<doc id=\"8\" title=\"T\">\nT\n\nA.\r\nB.\n</doc>\n", "A.\r\nB." },
        { "<doc id=\"9\" title=\"T\">\nA.\n\nB.\n</doc>\n", "A.\n\nB." },
        { "<doc id=\"10\" title=\"\"T\" U\">\n\"T\" U\n\nA.\n</doc>\n", "A." },
        { "<doc id=\"11\" title=\"T&#x27;s\">\nT's\n\nA.\n</doc>\n", "A." },
        { "<doc id=\"12\" title=\"T\">\n\n\nA.\n</doc>\n", "A." },
        { "<doc id=\"13\" title=\"T\">\nT is A.\n\nB.\n</doc>\n", "T is A.\n\nB." },
        { "<doc id=\"14\" title=\"The \"T\"\">\nThe \"T\"\n\nA.\n</doc>\n", "A." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct document d = DOCUMENT_INIT;
        read_first(&d, cases[i].document);
        cr_expect_str_eq(d.text.data, cases[i].text);
        document_release(&d);
    }
}

/* WikiExtractor writes quotation marks in attributes as they are. */
Test(document, a_title_is_whole_in_its_line)
{
    static const char *const cases[][2] = {
        { "<doc id=\"1\" title=\"\"T\" (U)\">\n\"T\" (U)\n\nA.\n</doc>\n", "\"T\" (U)" },
        { "<doc id=\"2\" title=\"T&#x27;s\">\nT's &amp; U\n\nA.\n</doc>\n", "T's & U" },
        { "<doc id=\"3\">\nT\n\nA.\n</doc>\n", "T" },
        { "<doc id=\"4\" title=\"T\">\nA.\n\nB.\n</doc>\n", "T" },
        { "<doc id=\"5\" title=\"T\">\n\n\nA.\n</doc>\n", "T" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct document d = DOCUMENT_INIT;
        read_first(&d, cases[i][0]);
        cr_expect_str_eq(d.title.data, cases[i][1]);
        document_release(&d);
    }
}

Test(document, round_trip_and_cuts)
{
    struct buf bytes = document_stream();
    cr_expect_eq(read_documents(&bytes), 2);
    size_t first = strcspn(bytes.data, "\n") + 1;
    for (size_t n = first; n < bytes.len - 5; n++) { /* "-->" and LF may lack */
        struct buf cut = { bytes.data, n, 0 };
        cr_assert_eq(read_documents(&cut), -1, "cut at %zu of %zu", n, bytes.len);
    }
    buf_release(&bytes);
}

/* A message may list many files. */
Test(log, long_messages_stay_whole)
{
    struct buf text = BUF_INIT, expected = BUF_INIT;
    for (int i = 0; i < 9000; i++)
        buf_addc(&text, 'a' + i % 26);
    buf_addf(&expected, "textmill: %s, and %s\n", text.data, text.data);
    cr_redirect_stderr();
    log_info("%s, and %s", text.data, text.data);
    fflush(stderr);
    cr_assert_stderr_eq_str(expected.data);
    buf_release(&text);
    buf_release(&expected);
}

Test(log, numbers_for_people)
{
    char text[32];
    cr_expect_str_eq(log_count(text, 1234567), "1,234,567");
    cr_expect_str_eq(log_count(text, 12), "12");
    cr_expect_str_eq(log_bytes(text, 1536), "1.5 KiB");
}

Test(log, nouns_after_counts)
{
    char text[LOG_COUNTED];
    cr_expect_str_eq(log_counted(text, 0, "page(s)"), "0 pages");
    cr_expect_str_eq(log_counted(text, 1, "empty page(s) left out"), "1 empty page left out");
    cr_expect_str_eq(log_counted(text, 1234, "empty page(s) left out"),
                     "1,234 empty pages left out");
}
