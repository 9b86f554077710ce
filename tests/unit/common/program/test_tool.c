/* The frame of all programs: commands, configurations, outputs, exit status. Each case is a process
 * of its own, because a program reads its command line once. */
#include "common/program/tool.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/dir.h"
#include "tests/unit/look.h"

/* ---- a program "mill" of the commands grind and sift, and a program "press" without any -------- */

struct given {
    int64_t n, m;
    const char *output, *log;
};

static const struct given defaults = { .n = 1, .m = 2 };
static const struct opt options[] = {
    { .help = "Options:" },
    { 'n', "number", OPT_INT, offsetof(struct given, n), "N", "a number", 0, 9 },
    { 'm', "more", OPT_INT, offsetof(struct given, m), "N", "another", 0, 0 },
    { 'o', "output", OPT_TEXT, offsetof(struct given, output), "FILE", "where to write", 0, 0 },
    { 0, "log", OPT_TEXT, offsetof(struct given, log), "FILE", "where to write more", 0, 0 },
    { 0 },
};

static int run(int argc, char **argv, void *arg)
{
    const struct given *g = arg;
    if (g->output && tool_may_replace(g->output, NULL, NULL) < 0)
        return -1;
    printf("%d %d", (int)g->n, (int)g->m);
    for (int i = 0; i < argc; i++)
        printf("|%s", argv[i]);
    printf("\n%s\n", tool_provenance());
    tool_count("stone(s)", (uint64_t)argc);
    return 0;
}

enum { COMMON = TOOL_THREADS | TOOL_CONFIG | TOOL_FORCE };

static const struct tool_command none = { .args = "", .summary = "Mills." };
static const struct tool_command grind = { "grind",          "FILE...",
                                           "Grinds.",        TOOL_OPTIONS(options, defaults),
                                           .common = COMMON, .run = run };
static const struct tool_command sift = { "sift",
                                          "[FILE]",
                                          "Sifts.",
                                          TOOL_OPTIONS(options, defaults),
                                          .common = COMMON | TOOL_CONFIG_OPERAND,
                                          .run = run };
static const struct tool_command press = { NULL,
                                           "[FILE]",
                                           "Presses.",
                                           TOOL_OPTIONS(options, defaults),
                                           .common = COMMON | TOOL_CONFIG_OPERAND |
                                                     TOOL_FILE_OPERAND,
                                           .run = run };
static const struct tool mill = {
    .name = "mill", .commands = (const struct tool_command *const[]){ &none, &grind, &sift, NULL }
};
static const struct tool presser = {
    .name = "press", .commands = (const struct tool_command *const[]){ &press, &sift, NULL }
};

/* ---- processes ----------------------------------------------------------------------------- */

static struct buf printed = BUF_INIT, messages = BUF_INIT;

/* Runs the program with the words of `line`, which '~' separates, in the folder of the test. Sets
 * `printed` and `messages`. Returns its exit status. */
static int start(const struct tool *t, const char *line)
{
    int status;
    const pid_t child = fork();
    if (!child) {
        char *words[16] = { (char *)(uintptr_t)t->name }, *copy = mem_strdup(line);
        int count = 1;
        while (*line && (words[count] = strsep(&copy, "~")))
            count++;
        if (chdir(dir) < 0 || !freopen("out", "w", stdout) || !freopen("err", "w", stderr))
            _exit(99);
        status = tool_main(t, count, words);
        fflush(NULL);
        _exit(status);
    }
    cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    buf_clear(&printed);
    buf_clear(&messages);
    cr_assert(!file_read(in_dir("out"), &printed) && !file_read(in_dir("err"), &messages));
    return WEXITSTATUS(status);
}

TestSuite(tool, .init = make_dir, .fini = remove_dir);

Test(tool, refusals)
{
    static const struct {
        const struct tool *t;
        const char *line;
        int status;
        const char *error;
    } cases[] = {
        { &mill, "", 2, "mill: error: a command is missing: there are grind, sift (see --help)\n" },
        { &mill, "grin~a", 2, "unknown command 'grin': there are grind, sift" },
        { &mill, "-n~3~grind", 2, "a command is missing before '-n': there are grind, sift" },
        { &mill, "-q~grind~a", 2, "the command 'grind' must stand before all options" },
        { &mill, "grind", 2, "an operand is missing: FILE..." },
        { &mill, "grind~-o~~a", 2, "the name of an output is empty" },
        { &mill, "grind~-n~10~a", 2, "10" },
        { &mill, "sift~a~b~c", 2, "too many operands: 'b'" },
        { &mill, "sift~bert-tine", 2,
          "'bert-tine' is neither a file nor a preset (did you mean 'bert-tiny'?)" },
        { &mill, "sift~no-such", 2,
          "'no-such' is neither a file nor a preset: --list prints the presets" },
        { &mill, "sift~no.yaml", 1, "no.yaml" },
        { &mill, "sift~circle.yml", 1,
          "error: circle.yml:2: base: circle.yml:2: too many nested base files" },
        { &mill, "sift~-c~unknown.yaml", 1, "unknown.yaml:1" },
        { &presser, "sifd", 2, "'sifd' is neither a file nor a command (did you mean 'sift'?)" },
        { &presser, "-n~2~sift", 2, "the command 'sift' must stand before all options" },
        { &mill, "grind~b~-o~a", 1, "'a' exists (--force replaces it)" },
        { &mill, "grind~a~-o~./a~--force", 2, "'./a' is input and output" },
        { &mill, "grind~b~-o~a~--log~./a~--force", 2, "'a' is an output, and --log names it, too" },
    };
    put_text("a", "");
    put_text("circle.yml", "number: 3\nbase: circle.yml\n");
    put_text("unknown.yaml", "nmber: 3\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(start(cases[i].t, cases[i].line), cases[i].status, "%s", cases[i].line);
        cr_expect(strstr(messages.data, cases[i].error), "%s: %s", cases[i].line, messages.data);
        cr_expect_eq(printed.len, 0, "%s: %s", cases[i].line, printed.data);
    }
}

Test(tool, runs)
{
    static const struct {
        const struct tool *t;
        const char *line, *printed; /* its first line */
    } cases[] = {
        { &mill, "grind~a~-n~3~b", "3 2|a|b" },
        { &mill, "sift", "1 2" },
        { &presser, "sift~a", "1 2|a" },
        { &presser, "a~-n~0", "0 2|a" },
        { &presser, "--~sift", "1 2|sift" },
        { &presser, "shift", "1 2|shift" },          /* a file, though it is similar to a command */
        { &mill, "sift~main.yaml~a", "5 7|a" },      /* its base gives both */
        { &mill, "sift~main.yaml~-n~9~a", "9 7|a" }, /* the command line wins */
        { &mill, "sift~main.yaml~-c~last.json~a", "5 8|a" },
        { &mill, "grind~main.yaml", "1 2|main.yaml" }, /* takes no configuration as operand */
        { &mill, "grind~b~-o~a~--force", "1 2|b" },
        { &mill, "grind~b~-o~-", "1 2|b" },
        { &mill, "grind~b~-o~/dev/null", "1 2|b" },
    };
    put_text("a", "");
    put_text("sift", "");
    put_text("shift", "");
    put_text("base.yaml", ".x: &seven 7\nnumber: 4\nmore: *seven\n");
    put_text("main.yaml", "base: base.yaml\nnumber: 5\n");
    put_text("last.json", "{\"more\": 8}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(start(cases[i].t, cases[i].line), 0, "%s: %s", cases[i].line, messages.data);
        printed.data[strcspn(printed.data, "\n")] = '\0';
        cr_expect_str_eq(printed.data, cases[i].printed, "%s: %s", cases[i].line, printed.data);
        cr_expect(strstr(messages.data, "wall "), "%s", messages.data);
    }
    cr_expect_eq(start(&mill, "grind~a"), 0);
    cr_expect(strstr(messages.data, "mill: 1 stone, wall "), "%s", messages.data);
    cr_expect_eq(start(&mill, "grind~a~-q"), 0);
    cr_expect_eq(messages.len, 0, "%s", messages.data);
}

/* The line for pg= has what affects the result, as a shell would take it. */
Test(tool, provenance)
{
    static const char *const cases[][2] = {
        { "grind~a", "grind a" },
        { "grind~a b~it's~$x~\\", "grind 'a b' 'it'\\''s' '$x' '\\'" },
        { "grind~-t~2~-o~x~a~-qv~--force~-n~3", "grind a -n 3" },
        { "grind~--threads=2~--threads~2~--output=x~a~-vo~x~-t2~--number=3", "grind a --number=3" },
        { "grind~-m~-1~--~-", "grind -m -1 -- -" },
        { "grind~\xFF\t\n~a", "grind '\uFFFD\t ' a" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(start(&mill, cases[i][0]), 0, "%s: %s", cases[i][0], messages.data);
        const char *line = strstr(printed.data, "\nmill "); /* its version follows */
        line = line ? line + strcspn(line, "g") : "";
        cr_expect(!strncmp(line, cases[i][1], strlen(cases[i][1])) &&
                      !strcmp(line + strlen(cases[i][1]), "\n"),
                  "%s: %s", cases[i][0], line);
    }
}
