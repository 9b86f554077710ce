/*
 * tool.h - what all programs share: commands, common options, help, exit status, the last line.
 *
 *     int main(int argc, char **argv) { return tool_main(&tool, argc, argv); }
 *
 * Exit status: 0 done, 1 failed, 2 wrong usage. stdout carries results only; the last line on
 * stderr says what was done, wall and processor time and peak memory (not with -q).
 *
 * A program that is installed with a prefix to its name calls itself so in messages and help.
 */
#ifndef TEXTMILL_COMMON_TOOL_H
#define TEXTMILL_COMMON_TOOL_H

#include <stdint.h>

#include "common/opt.h"

/* The common options a command takes, beside -h -V -v -q. */
enum {
    TOOL_THREADS = 1,         /* -t/--threads */
    TOOL_SEED = 2,            /* --seed */
    TOOL_CONFIG = 4,          /* -c/--config, --set, --print-config */
    TOOL_PROGRESS = 8,        /* --progress, --no-progress */
    TOOL_FORCE = 32,          /* --force: see tool_may_replace */
    TOOL_CONFIG_OPERAND = 16, /* a first operand that ends in .yaml, .yml or .json, or names a
                               * preset (preset.h), is a configuration: read before --set, and not
                               * passed on */
};

struct tool_command {
    const char *name;    /* NULL: the program itself */
    const char *args;    /* operands as in usage: "[FILE...]" */
    const char *summary; /* one sentence */
    const struct opt *options;
    const void *defaults;   /* the struct that the options fill, as it is before */
    size_t size;            /* its bytes */
    unsigned common;        /* TOOL_ bits */
    int min_args, max_args; /* operands; max -1: any number */

    /* 0, or -1 with the error set. `given`: a copy of the defaults with what the options say. */
    int (*run)(int argc, char **argv, void *given);
};

struct tool {
    const char *name;
    const char *examples;                       /* shown at the end of --help; may be NULL */
    const struct tool_command *const *commands; /* ends with NULL; the one without name first */
    const char *(*foreign)(
        const char *option);             /* what another program's option is called here:
                                          * goes into the error; NULL where none or unknown */
    const char *(*version_detail)(void); /* one more line for -V -v; may be NULL */

    /* Turns foreign keys of a configuration file into options; may be NULL. --set comes here, too.
     */
    int (*translate)(struct yaml *y, const char *path);
};

int tool_main(const struct tool *t, int argc, char **argv);

/* In force once run is called. */
extern int64_t tool_threads; /* default: the processors there are */
extern int64_t tool_seed;    /* default 1234 */
extern int tool_force;       /* --force */

/* Finished output is replaced with --force only: -1 with an error where something stands in the
 * way, to be asked before the work. The file `path` ("-", devices and pipes are never in the way),
 * or with `mark` the folder `path`, in which a file of that name tells that it is finished: `what`,
 * "vocabulary". */
int tool_may_replace(const char *path, const char *mark, const char *what);

/* Applies a configuration file, for options not given on the command line. Its "base" names one
 * or several files to apply before it, which it may contradict; a section whose name begins with a
 * dot is left out: a place for what others share by YAML's anchors. */
int tool_load_config(const char *path);

/* The options in force, as YAML, without those that have one of the flags of opt.h. */
void tool_print_config(unsigned without, struct buf *out);
int tool_given(const char *option);
unsigned tool_flags(const char *option);  /* as opts_flags */
const char *tool_misplaced(unsigned bit); /* as opts_misplaced */
int tool_configured(void);                /* by a file or by --set */

/* Adds to a counter of the last line; at most 12 names, borrowed. */
void tool_count(const char *name, uint64_t n);

/* "program version command-line", for pg= lines; without the options that no result depends on:
 * output, threads, messages, --force and --resume. */
const char *tool_provenance(void);

/* Refuses binary from or to a terminal: -1 with a usage error. */
int tool_binary_stdin(void);
int tool_binary_stdout(void);

#endif
