/* Which documents `textclean quality` and `textclean language` keep. */
#include <sys/stat.h>

#include "common/base/log.h"
#include "tests/unit/command.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "textclean/commands.h"

static void setup(void)
{
    make_dir();
    log_level = -1;
    tool_threads = 1;
    tool_force = 1;
}

TestSuite(languages_command, .init = setup, .fini = remove_dir);

#define LINE(text) "{\"text\": \"" text "\"}\n"

/* Runs a command with a line in which @ stands for the folder. */
static int run(const struct tool_command *c, const char *line)
{
    SCOPED(buf) whole = BUF_INIT;
    buf_add_replaced(&whole, line, strlen(line), "@", 1, dir, strlen(dir));
    return run_command(c, whole.data);
}

static void learn(void)
{
    put_text("good", LINE("the cat sat on the mat and the dog sat by the door"));
    put_text("bad", LINE("xqz kqz wqq zzx qqk xzq wkx qzx"));
    cr_assert_eq(run(&learn_quality_command, "--good @/good --bad @/bad -o @/model"), 0, "%s",
                 err_get());
}

#define BEST  "the cat and the dog"
#define GOOD  "the mat xqz and the door"
#define POOR  "the xqz kqz wqq"
#define WORST "zzx qqk xzq"

/* The share is of the documents, rounded up, and no number is below a threshold that is given. */
Test(languages_command, keeps_the_best)
{
    static const char *const cases[][2] = {
        { "--keep 1", LINE(POOR) LINE(BEST) LINE(WORST) LINE("") LINE(GOOD) },
        { "--keep 0.8", LINE(POOR) LINE(BEST) LINE(WORST) LINE(GOOD) },
        { "--keep 0.61", LINE(POOR) LINE(BEST) LINE(WORST) LINE(GOOD) },
        { "--keep 0.6", LINE(POOR) LINE(BEST) LINE(GOOD) },
        { "--keep 0.01", LINE(BEST) },
        { "--keep 1 --threshold 0.5", LINE(BEST) LINE(GOOD) },
        { "--threshold 0.5", LINE(BEST) LINE(GOOD) },
    };
    learn();
    put_text("in", LINE(POOR) LINE(BEST) LINE(WORST) LINE("") LINE(GOOD));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) line = buf_format("%s --model @/model -o @/out @/in", cases[i][0]);
        cr_assert_eq(run(&quality_command, line.data), 0, "%s", err_get());
        expect_contents(in_dir("out"), cases[i][1]);
    }
}

Test(languages_command, quality_refuses)
{
    static const char *const cases[][2] = {
        { "--keep 0.5 @/pipe", "--keep reads the documents twice: name files" },
        { "--keep 0.5 @/broken", "broken: line 2: " },
        { "@/in", "nothing to do: give --keep, --threshold or --mark" },
        { "--keep 0.5 --model @/in @/in", "in: " },
    };
    learn();
    put_text("in", LINE("a"));
    put_text("broken", LINE("a") "{\n");
    cr_assert_eq(mkfifo(in_dir("pipe"), 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) line = buf_format("--model @/model -o @/out %s", cases[i][0]);
        cr_expect_eq(run(&quality_command, line.data), -1);
        expect_error(cases[i][1]);
        expect_contents(in_dir("out"), NULL);
    }
}

Test(languages_command, language_keeps_those_of_the_list)
{
    static const char *const cases[][2] = {
        { "--keep en", LINE("the door") },
        { "--keep it,en", LINE("il cane") LINE("the door") },
        { "--threshold 0.5", LINE("il cane") LINE("das Haus") LINE("the door") },
        { "--mark", "{\"text\": \"1\", \"textclean\": \"und 0.000\"}\n" },
    };
    put_text("en", LINE("the cat sat on the mat and the dog sat by the door"));
    put_text("it", LINE("il gatto dorme sul tappeto e il cane dorme alla porta"));
    put_text("de", LINE("das Haus und der Hund, das Tor und die Katze"));
    put_text("in", LINE("il cane") LINE("das Haus") LINE("the door") LINE("1") LINE("\u0416"));
    put_text("1", LINE("1"));
    cr_assert_eq(run(&learn_language_command, "-o @/model en=@/en it=@/it de=@/de"), 0, "%s",
                 err_get());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) line = buf_format("%s --model @/model -o @/out %s", cases[i][0],
                                      i < 3 ? "@/in" : "@/1");
        cr_assert_eq(run(&language_command, line.data), 0, "%s", err_get());
        expect_contents(in_dir("out"), cases[i][1]);
    }
    cr_expect_eq(run(&language_command, "--keep en,fr --model @/model -o @/out @/in"), -1);
    expect_error("--keep: the model has no language 'fr'; it has de en it");
    cr_expect_eq(run(&quality_command, "--keep 0.5 --model @/model -o @/out @/in"), -1);
    expect_error("a model of languages: learn-quality writes others");
}
