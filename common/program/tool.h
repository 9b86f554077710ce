/*
 * tool.h - common parts of all programs: commands, common options, help, exit status, the summary
 * line.
 *
 *     int main(int argc, char **argv) { return tool_main(&tool, argc, argv); }
 *
 * Exit status: 0 done, 1 failed, 2 wrong usage. stdout carries results only. The last line on
 * stderr is a summary: what was done, wall and processor time and peak memory (not with -q).
 *
 * A program that is installed under a name with a prefix uses that name in messages and help.
 */
#pragma once

#include "common/program/opt.h"

/* The common options of a command, in addition to -h -V -v -q. */
enum {
    TOOL_THREADS = 1,  /* -t/--threads */
    TOOL_SEED = 2,     /* --seed */
    TOOL_CONFIG = 4,   /* -c/--config, --print-config */
    TOOL_PROGRESS = 8, /* --progress, --no-progress */
    TOOL_FORCE = 32,   /* --force: see tool_may_replace */
    /* a first operand that ends in .yaml, .yml or .json, or names a preset (preset.h), is read as a
     * configuration before that of --config, and not passed to the command */
    TOOL_CONFIG_OPERAND = 16,
    /* of a command without name: the first operand is a file. If there is no such file, and the
     * word is similar to the name of a command or a preset, the error says so. */
    TOOL_FILE_OPERAND = 64,
};

struct tool_command {
    const char *name; /* NULL: the program itself */
    /* operands as the usage line shows them: "", "FILE", "[FILE]", "FILE..." or "[FILE...]". A run
     * with fewer or more is an error. */
    const char *args;
    const char *summary;       /* one sentence */
    const struct opt *options; /* NULL: none */
    const void *defaults;      /* default values: initial content of the struct that options fill */
    size_t size;               /* bytes of that struct */
    unsigned common;           /* TOOL_ bits */

    /* Runs the command; NULL: the program needs the name of another command. Returns 0, or -1 with
     * the error set. `given` is a copy of the defaults with the given options applied. */
    int (*run)(int argc, char **argv, void *given);
};
/* Sets the options of a command and the default values of the struct that they fill. */
#define TOOL_OPTIONS(table, values)                                                                \
    .options = (table), .defaults = &(values), .size = sizeof(values)

struct tool {
    const char *name;
    const char *examples; /* shown at the end of --help; may be NULL */
    /* ends with NULL; a command without name comes first */
    const struct tool_command *const *commands;
    /* Returns a hint for an option of another program that foreign.txt lacks, or NULL; may be NULL.
     * The hint is added to the error message. */
    const char *(*hint)(const char *option);
    const char *(*version_detail)(void); /* text of one more line for -V -v; may be NULL */

    /* Turns another program's configuration keys into options of this one; may be NULL. Returns 0,
     * or -1 with an error. */
    int (*translate)(struct yaml *y, const char *path);
};

int tool_main(const struct tool *t, int argc, char **argv); /* returns the exit status */

/* Values of the common options; set before `run` is called. */
extern int64_t tool_threads; /* default: the number of processors that this process may use */
extern int64_t tool_seed;    /* default 1234 */
extern int tool_force;       /* --force */

/* Checks whether output may be written; a program calls it before its work. Without `mark` (NULL),
 * the output is the file `path` ("-", devices and pipes are always allowed). With `mark`, it is the
 * folder `path`, which holds finished output if it has a file called `mark`. Returns 0, or -1 with
 * an error if finished output exists and --force was not given, or if the file is an operand of the
 * command or the value of another option. `what` names the output in the error: "vocabulary". */
int tool_may_replace(const char *path, const char *mark, const char *what);

/* Returns -1 with an error if the output `path` is one of the `count` files `inputs`, which it
 * would replace; else 0. tool_may_replace compares the operands and the values of options; call
 * this for the files in a folder that is an operand. */
int tool_is_no_input(const char *path, const char *const *inputs, size_t count);

/* Applies a configuration file to the options not given on the command line. Its key "base" names
 * one or several files or presets to apply before it; the file's own values take precedence.
 * Sections whose name begins with a dot are ignored; they hold values that others share with YAML
 * anchors. Returns 0, or -1 with an error. */
int tool_load_config(const char *path);

/* Appends the current options as YAML, except those that have OPT_NO_SETTING or one of the flags
 * `without` (opt.h). */
void tool_print_config(unsigned without, struct buf *out);
int tool_given(const char *option);       /* 1: it is on the command line */
int tool_set(const char *option);         /* 1: it is there or in a configuration file */
int tool_only_preset(const char *option); /* 1: a preset has set it, and nothing after that */
unsigned tool_flags(const char *option);  /* OPT_FREE: perhaps an earlier version had it */
const char *tool_misplaced(unsigned bit); /* as opts_misplaced */
int tool_configured(void);                /* 1: a configuration file was given */

/* Adds n to the counter `name` of the summary line. A name is a noun as for log_counted (log.h),
 * "page(s) left out". There may be 16 names, which are borrowed; more are ignored. */
void tool_count(const char *name, uint64_t n);

/* Returns "program version command-line" for pg= lines, without the options that do not affect the
 * result: output, threads, messages, --force and --resume. */
const char *tool_provenance(void);

/* Return 0, or -1 with a usage error if stdin or stdout, which carries binary data, is a
 * terminal. */
int tool_binary_stdin(void);
int tool_binary_stdout(void);
