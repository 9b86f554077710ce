/*
 * opt.h - options: one table defines the command line, the configuration file, the help text and
 * the bounds.
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
 * An option's default is the value in the struct before parsing; help prints it. In a configuration
 * file, the key is the option's name, with '_' or '-'; sections only group keys for the reader.
 * Numbers may end in K, M, G or T: powers of 1000 for OPT_INT and OPT_REAL, of 1024 for
 * OPT_SIZE.
 */
#pragma once

#include "common/formats/yaml.h"

#define OPT_WORD INT64_MAX /* value of an OPT_INT that was given as a word, see `arg` */

enum opt_type {
    OPT_FLAG,   /* int: --name is 1, --no-name 0; in a file true or false */
    OPT_INT,    /* int64_t */
    OPT_SIZE,   /* uint64_t, bytes */
    OPT_REAL,   /* double */
    OPT_TEXT,   /* const char *; NULL: none */
    OPT_CHOICE, /* int: the index of the word in `arg`, which is "one|two|three" */
    /* struct opt_list: on the command line each use adds a value; in a file a list, or values
     * separated by commas ("\," is a comma in a value), which replace all earlier ones */
    OPT_LIST,
};

/* Flags of an option's type: they say whether runs that belong together may have different values,
 * and where the option may be set. */
enum {
    OPT_FIXED = 16, /* a resumed run must have the same value */
    /* a resumed run may have another value. If an option has neither flag, it may, too, but the
     * user is told. */
    OPT_FREE = 32,
    OPT_OF_HOST = 64,     /* the ranks of one run may have different values */
    OPT_OF_RUN = 128,     /* says how this one run is started; not stored with the run's output */
    OPT_NO_SETTING = 256, /* not allowed in a configuration file; for example --help */
    /* this bit and the higher ones are defined by each program. Each stands for a purpose for which
     * an option can be used; see opts_misplaced */
    OPT_ONLY = 1 << 16
};

struct opt_list {
    const char **items; /* borrowed strings; opts_release frees the array */
    size_t count, cap;
};

void opt_list_add(struct opt_list *list, const char *value); /* borrowed */

struct opt {
    char letter; /* 0: none */
    /* NULL with `help` set: the row is a heading; NULL without `help`: the table's end */
    const char *name;
    unsigned type; /* an opt_type, perhaps with flags: OPT_INT | OPT_FIXED */
    size_t at;     /* offset of the value in the struct that the options fill (offsetof) */
    /* The placeholder of the value in help. OPT_CHOICE: the allowed words. OPT_INT: with "N|all",
     * the word "all" is allowed, too, and gives OPT_WORD. Heading: OPT_MORE means that only
     * --help-all shows the options below it. */
    const char *arg;
    const char *help; /* of an option: NULL if help does not show it */
    double min, max;  /* bounds of a number; both 0: no bounds */
};

/* A row of an option table may leave out its last members, which are then 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define OPT_MORE "more"

/* An option and the place of its value. */
struct opt_bound {
    const struct opt *row; /* borrowed */
    void *to;
    int given;                    /* 1: given on the command line */
    int from_file;                /* 1: given in a configuration file; 2: only in a preset */
    const struct yaml_item *item; /* the item of the file being read that gave it; NULL: none */
};

/* All option tables in use. */
struct opts {
    struct opt_bound *table; /* in the order of help */
    size_t count;
    int preset;                            /* 1: the configuration file that is read is a preset */
    const char *program;                   /* its name in foreign.txt; may be NULL */
    const char *(*hint)(const char *name); /* for unknown options, see struct tool; may be NULL */
    char **kept;                           /* strings read from configuration files; owned */
    size_t kept_count, kept_cap;
};

/* Returns the Levenshtein distance of two words in bytes; 64 if `b` has 64 bytes or more. */
size_t opt_distance(const char *a, const char *b);

void opts_add(struct opts *o, const struct opt *table, void *values); /* both borrowed */
void opts_release(struct opts *o);

/* Parses argv[0..argc), which has no program name. Moves the operands to the front of argv and
 * returns their number, or -1 with a usage error that names all wrong words. "--" ends the options;
 * "-" is an operand. */
int opts_parse(struct opts *o, int argc, char **argv);

/* Sets the options from all keys of a configuration file. Returns 0, or -1 with an error; for an
 * unknown key, the error names the most similar option. Keys of several sections that give one
 * option several values are an error, too. */
int opts_load(struct opts *o, const struct yaml *y, const char *path);

/* Returns the option name[0..n), where '_' and '-' are equal; NULL if there is none. */
struct opt_bound *opts_find(const struct opts *o, const char *name, size_t n);

/* Returns the texts of an option's value, and sets *count: 0 if it has none. */
const char *const *opt_texts(const struct opt_bound *p, size_t *count);

/* Returns the name of the first option on the command line that is not for the purpose `bit`: it
 * has a purpose (OPT_ONLY or a higher bit), but not this one. NULL if there is none. */
const char *opts_misplaced(const struct opts *o, unsigned bit);

/* Append text in lines of at most 80 columns. opts_help appends the help of all options; with `all`
 * 0 it leaves out the options below headings with OPT_MORE. It returns the number of options left
 * out. opts_wrap appends `text`, which begins at column `column`; it breaks lines at blanks and
 * after '|', and indents further lines by `indent` columns. */
size_t opts_help(const struct opts *o, int all, struct buf *out);
void opts_wrap(struct buf *out, size_t column, size_t indent, const char *text);

/* Appends the current values as YAML, without the options that have one of the flags `without`.
 * Leaves out empty lists that were not given, and options with a text that is not UTF-8. */
void opts_print(const struct opts *o, unsigned without, struct buf *out);

/* Returns 1 if YAML keeps the character in quotes, else 0: it turns line ends, also U+0085, U+2028
 * and U+2029, into blanks, and allows no other control characters but tabs. A comment has the same
 * characters. */
int opt_is_kept(unsigned c);
