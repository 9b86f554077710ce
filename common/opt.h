/*
 * opt.h - one option table feeds the command line, the configuration file, help and bounds.
 *
 *     struct given {
 *         const char *output;
 *         int64_t steps;
 *     };
 *     static const struct given defaults = { "-", 1000 };
 *     static const struct opt options[] = {
 *         { 'o', "output", OPT_TEXT, offsetof(struct given, output), "FILE", "where to write" },
 *         { 0, "steps", OPT_INT, offsetof(struct given, steps), "N", "optimizer steps", 1, 1e9 },
 *         { 0 },
 *     };
 *     struct given given = defaults;
 *     opts_add(&opts, options, &given);
 *
 * The default is what the struct holds before parsing; help prints it. In a configuration
 * file the key is the option's name, with '_' or '-'; sections only group keys for the reader.
 * Numbers take K, M, G: powers of 1000 for OPT_INT, of 1024 for OPT_SIZE.
 */
#ifndef TEXTMILL_COMMON_OPT_H
#define TEXTMILL_COMMON_OPT_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/yaml.h"

#define OPT_WORD INT64_MAX /* the value of an OPT_INT that is given as a word */

enum opt_type {
    OPT_FLAG,   /* int: --name is 1, --no-name 0; in a file true or false */
    OPT_INT,    /* int64_t */
    OPT_SIZE,   /* uint64_t, bytes */
    OPT_REAL,   /* double */
    OPT_TEXT,   /* const char *; NULL: none */
    OPT_CHOICE, /* int: the index of the word in `arg`, which is "one|two|three" */
    OPT_LIST,   /* struct opt_list: may be given more than once; in a file a list */
};

/* Flags of an option's type: when its value counts. */
enum {
    OPT_FIXED = 16,       /* a run that is resumed must have the same value */
    OPT_FREE = 32,        /* a run that is resumed may have another value; without these two flags
                           * it may, too, but is told */
    OPT_OF_HOST = 64,     /* the ranks of one run may have different values */
    OPT_OF_RUN = 128,     /* says how this one run is started: not kept with what it makes */
    OPT_NO_SETTING = 256, /* not in a configuration, such as --help */
    OPT_ONLY = 1 << 16    /* this bit and those above it: a program's own, of what an option is
                           * for; see opts_misplaced */
};

struct opt_list {
    const char **items;
    size_t count, cap;
};

void opt_list_add(struct opt_list *list, const char *value); /* borrowed */

struct opt {
    char letter;      /* 0: none */
    const char *name; /* NULL with help: a heading; NULL without: the table's end */
    unsigned type;    /* an opt_type, perhaps with flags: OPT_INT | OPT_FIXED */
    size_t at;        /* where the value is in the struct that the options fill: offsetof */
    const char *arg;  /* what stands for the value in help; the words of OPT_CHOICE; "N|all": an
                       * OPT_INT also takes the word, which is OPT_WORD; of a heading
                       * OPT_MORE: the options below it are shown by --help-all alone */
    const char *help;
    double min, max; /* bounds of a number; both 0: none */
};

#define OPT_MORE "more"

/* An option and its value. */
struct opt_bound {
    const struct opt *row; /* borrowed */
    void *to;
    int given; /* on the command line */
};

/* Tables in use. */
struct opts {
    struct opt_bound *table; /* in the order of help */
    size_t count;
    const char *(*foreign)(const char *name); /* see struct tool; NULL: none */
    char **kept;                              /* strings that came from files */
    size_t kept_count, kept_cap;
};

/* What options of other programs are called here, by their names; ends with a name NULL. */
struct opt_foreign {
    const char *name, *say;
};
/* What to say of such an option, or NULL; '_' counts as '-'. */
const char *opt_foreign(const struct opt_foreign *table, const char *name);

void opts_init(struct opts *o);
void opts_add(struct opts *o, const struct opt *table, void *values); /* both borrowed */
void opts_release(struct opts *o);

/* Parses argv[0..argc) (no program name), moves operands to its front, returns how many there
 * are, or -1 with a usage error. "--" ends options; "-" is an operand. */
int opts_parse(struct opts *o, int argc, char **argv);

/* Sets one option as a configuration file would; `where` goes in front of an error. An option
 * that was given on the command line keeps its value. */
int opts_set(struct opts *o, const char *key, const char *value, const char *where);

/* Sets all keys of a file. Unknown keys are errors that name the nearest option. */
int opts_load(struct opts *o, const struct yaml *y, const char *path);

/* 1 when the option was given on the command line. */
int opts_given(const struct opts *o, const char *name);

/* The flags of an option; 0 where there is no such option. */
unsigned opts_flags(const struct opts *o, const char *name);

/* The name of the first option that was given on the command line and is for something, but not
 * for this, a bit from OPT_ONLY on; or NULL. */
const char *opts_misplaced(const struct opts *o, unsigned bit);

/* Lines of at most 80 columns. opts_wrap: text that begins at a column, broken at blanks and behind
 * '|', further lines indented. */
/* Without `all` the options below a heading with OPT_MORE are left out. Returns how many were. */
size_t opts_help(const struct opts *o, int all, struct buf *out);
void opts_wrap(struct buf *out, size_t column, size_t indent, const char *text);

/* The values in force, as YAML, without options that have one of the flags. */
void opts_print(const struct opts *o, unsigned without, struct buf *out);

#endif
