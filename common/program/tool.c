#include "common/program/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/base/linked.h"
#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/files/mapping.h"
#include "common/files/plugin.h"
#include "common/files/temp.h"
#include "common/files/usage.h"
#include "common/program/preset.h"

int64_t tool_threads;
int64_t tool_seed = 1234;
int tool_force;

static struct opts opts;
static struct buf provenance = BUF_INIT;
static struct {
    const char *name;
    uint64_t n;
} counts[16];

static struct file_names operands; /* of the command, which may change its own */
static int configured;             /* 1: an operand was a configuration */
static const struct tool *tool;    /* the running program */

/* Values of the common options. */
static struct {
    int want_help, want_help_all, want_version, verbose, quiet, want_config, progress_on;
    const char *config_path;
} common = { .progress_on = -1 };

enum { HELP_ALL = 256, HELP_TOO = 512 }; /* beside TOOL_ bits: --help-all, shown in help or not */

static const struct {
    unsigned bit; /* TOOL_ or HELP_ bit; 0: every command has it */
    void *to;
    struct opt table[2];
} common_options[] = {
#define ROW(...) .table = { { __VA_ARGS__ } }
    { 0, &common, ROW(.help = "Common options:") },
    { TOOL_CONFIG, &common.config_path,
      ROW('c', "config", OPT_TEXT | OPT_NO_SETTING, 0, "FILE", "read options from a YAML file") },
    { TOOL_CONFIG, &common.want_config,
      ROW(0, "print-config", OPT_FLAG | OPT_NO_SETTING, 0, NULL,
          "print the options in force as YAML and stop") },
    { TOOL_THREADS, &tool_threads,
      ROW('t', "threads", OPT_INT | OPT_OF_RUN | OPT_OF_HOST, 0, "N", "number of threads", 1,
          8192) },
    { TOOL_SEED, &tool_seed,
      ROW(0, "seed", OPT_INT | OPT_FIXED, 0, "N", "seed of all random choices", 0, 9e15) },
    { TOOL_PROGRESS, &common.progress_on,
      ROW(0, "progress", OPT_FLAG | OPT_NO_SETTING, 0, NULL,
          "show progress even if standard error is not a terminal") },
    { TOOL_FORCE, &tool_force,
      ROW(0, "force", OPT_FLAG | OPT_NO_SETTING, 0, NULL, "replace output that is already there") },
    { HELP_ALL, &common.want_help_all,
      ROW(0, "help-all", OPT_FLAG | OPT_NO_SETTING, 0, NULL, "print all options and stop") },
    { HELP_TOO, &common.want_help_all, ROW(0, "help-all", OPT_FLAG | OPT_NO_SETTING) },
    { 0, &common.verbose,
      ROW('v', "verbose", OPT_FLAG | OPT_OF_RUN | OPT_OF_HOST, 0, NULL, "print more messages") },
    { 0, &common.quiet,
      ROW('q', "quiet", OPT_FLAG | OPT_OF_RUN | OPT_OF_HOST, 0, NULL, "print only errors") },
    { 0, &common.want_help,
      ROW('h', "help", OPT_FLAG | OPT_NO_SETTING, 0, NULL, "print this help and stop") },
    { 0, &common.want_version,
      ROW('V', "version", OPT_FLAG | OPT_NO_SETTING, 0, NULL,
          "print the version and stop; with -v also compiler and libraries") },
};

static int has_more(const struct opt *p)
{
    for (; p && (p->name || p->help); p++)
        if (!p->name && p->arg)
            return 1;
    return 0;
}

static void add_options(const struct tool_command *c, void *given)
{
    if (c->options)
        opts_add(&opts, c->options, given);
    const unsigned bits = c->common | (has_more(c->options) ? HELP_ALL : HELP_TOO);
    for (size_t i = 0; i < sizeof common_options / sizeof *common_options; i++)
        if (!common_options[i].bit || (bits & common_options[i].bit))
            opts_add(&opts, common_options[i].table, common_options[i].to);
}

/* ---- help and version -------------------------------------------------------------------- */

/* Returns the length of the program name at `text` if a command begins there, else 0. */
static size_t command_name(const char *text, const char *begin)
{
    static const char *const names[] = { "wikiprep", "textclean", "tokenize", "tfwrite",
                                         "train",    "evaluate",  "generate" };
    int starts = text >= begin + 2 && text[-1] == ' ' && (text[-2] == ' ' || text[-2] == '|');
    for (size_t i = 0; i < sizeof names / sizeof *names && starts; i++)
        if (!strncmp(text, names[i], strlen(names[i])) && text[strlen(names[i])] == ' ')
            return strlen(names[i]);
    return 0;
}

/* Appends the examples, with the prefix that this program was installed with. */
static void add_examples(struct buf *out, const struct tool *t)
{
    size_t prefix = strlen(log_program) - strlen(t->name);
    for (const char *p = t->examples; *p; p++) {
        if (command_name(p, t->examples))
            buf_add(out, log_program, prefix);
        buf_addc(out, *p);
    }
}

static void add_usage(struct buf *out, const struct tool_command *c)
{
    buf_addf(out, "%s%s%s%s%s%s\n", log_program, c->name ? " " : "", c->name ? c->name : "",
             c->run ? " [options]" : "", *c->args ? " " : "", c->args);
}

static void print_help(const struct tool *t, const struct tool_command *c)
{
    SCOPED(buf) out = BUF_INIT;
    buf_adds(&out, "usage: ");
    add_usage(&out, c);
    for (size_t i = 1; c == t->commands[0] && t->commands[i]; i++) {
        buf_adds(&out, "       ");
        add_usage(&out, t->commands[i]);
    }
    buf_addc(&out, '\n');
    opts_wrap(&out, 0, 0, c->summary);
    buf_addc(&out, '\n');
    size_t left_out = opts_help(&opts, common.want_help_all, &out);
    if (left_out)
        buf_addf(&out, "\n%zu more options: %s --help-all\n", left_out, log_program);
    if (c == t->commands[0] && t->commands[1])
        buf_addf(&out, "\n'%s COMMAND --help' describes a command.\n", log_program);
    if (c == t->commands[0] && t->examples) {
        buf_adds(&out, "\nExamples:\n");
        add_examples(&out, t);
    }
    fputs(out.data, stdout);
}

static void print_version(const struct tool *t)
{
    printf("%s (textmill) %s\n", log_program, TEXTMILL_VERSION);
    if (!common.verbose)
        return;
    printf("compiler: %s\nflags: %s\n", __VERSION__, TEXTMILL_FLAGS);
    for (const struct linked_library *l = linked_libraries(); l; l = l->next)
        printf("%s %s\n", l->name, l->version());
    if (t->version_detail)
        puts(t->version_detail());
}

/* ---- the last line ------------------------------------------------------------------------ */

void tool_count(const char *name, uint64_t n)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!counts[i].name)
            counts[i].name = name;
        if (counts[i].name == name || !strcmp(counts[i].name, name)) {
            counts[i].n += n;
            return;
        }
    }
}

static void print_last_line(double began)
{
    SCOPED(buf) line = BUF_INIT;
    char text[LOG_COUNTED], bytes[32];
    for (size_t i = 0; i < sizeof counts / sizeof *counts && counts[i].name; i++)
        buf_addf(&line, "%s, ", log_counted(text, counts[i].n, counts[i].name));
    log_info("%swall %.2f s, cpu %.2f s, peak memory %s", line.data, log_seconds() - began,
             (double)clock() / CLOCKS_PER_SEC, log_bytes(bytes, usage_peak_bytes()));
}

/* ---- main --------------------------------------------------------------------------------- */

static const struct tool_command *find_command(const struct tool *t, const char *word)
{
    for (size_t i = 1; t->commands[i] && word; i++)
        if (!strcmp(t->commands[i]->name, word))
            return t->commands[i];
    return t->commands[0];
}

static int is_config(const char *operand)
{
    return file_ends_with(operand, ".yaml") || file_ends_with(operand, ".yml") ||
           file_ends_with(operand, ".json");
}

/* Sets the error for `word`, which is no command; NULL: no word was given. Returns -1. */
static int unknown_command(const struct tool *t, const char *word)
{
    SCOPED(buf) names = BUF_INIT;
    for (size_t i = 1; t->commands[i]; i++)
        buf_addf(&names, "%s%s", names.len ? ", " : "", t->commands[i]->name);
    if (!word)
        return err_usage("a command is missing: there are %s", names.data);
    return err_usage(*word == '-' ? "a command is missing before '%s': there are %s"
                                  : "unknown command '%s': there are %s",
                     word, names.data);
}

/* Returns 1 if neither the file `word` nor word.idx exists (a Megatron pair has its index there),
 * 0 if one does, or -1 with an error. */
static int is_nowhere(const char *word)
{
    SCOPED(buf) path = buf_format("%s.idx", word);
    int kind = file_look(word);
    if (kind == FILE_NONE)
        kind = file_look(path.data);
    return kind < 0 ? -1 : kind == FILE_NONE;
}

/* Sets the error if `word` is no file but similar to the name of a command. Returns -1 then, else
 * 0. */
static int check_command(const struct tool *t, const char *word)
{
    int result = 0;
    for (size_t i = 1; t->commands[i] && !result; i++)
        if (opt_distance(word, t->commands[i]->name) < 3 && (result = is_nowhere(word)) > 0)
            result = err_usage("'%s' is neither a file nor a command (did you mean '%s'?)", word,
                               t->commands[i]->name);
    return result;
}

/* Sets the error if `word` is no file but similar to a preset's name, or can be nothing else.
 * Returns -1 then, else 0. */
static int check_preset(const char *word)
{
    SCOPED(buf) name = BUF_INIT;
    const int nowhere = is_nowhere(word);
    int result = nowhere > 0 ? preset_similar(&name, word) : nowhere;
    if (!result && name.len)
        result = err_usage("'%s' is neither a file nor a preset (did you mean '%s'?)", word,
                           name.data);
    else if (!result && nowhere && !strpbrk(word, "/:,@"))
        result = err_usage("'%s' is neither a file nor a preset: --list prints the presets", word);
    return result;
}

static int load_config(const char *path, int depth, int preset);

static void set_level(void)
{
    log_level = common.quiet ? -1 : common.verbose;
}

/* Applies the operand if it is a configuration. Returns 1 if so, 0 if not, or -1 with an error. */
static int take_config(const char *operand)
{
    SCOPED(buf) path = BUF_INIT;
    int found = is_config(operand);
    if (found)
        buf_adds(&path, operand);
    else if (!(found = preset_find(&path, operand)))
        found = check_preset(operand);
    if (found > 0 && load_config(path.data, 0, !is_config(operand)) < 0)
        found = -1;
    configured |= found > 0;
    return found;
}

static int run_command(const struct tool_command *c, int argc, char **argv, void *given)
{
    const int is_text = c->run && !(c->common & TOOL_FILE_OPERAND); /* such as a prompt */
    const int late = argc && c == tool->commands[0] && !is_text && find_command(tool, argv[0]) != c
                         ? is_nowhere(argv[0])
                         : 0;
    if (late)
        return late < 0 ? -1 : err_usage("the command '%s' must stand before all options", argv[0]);
    int taken = (c->common & TOOL_CONFIG_OPERAND) && argc ? take_config(argv[0]) : 0;
    if (taken < 0)
        return -1;
    argc -= taken;
    argv += taken;
    if (common.config_path && tool_load_config(common.config_path) < 0)
        return -1;
    if (common.want_config) {
        SCOPED(buf) out = BUF_INIT;
        tool_print_config(0, &out);
        fputs(out.data, stdout);
        return 0;
    }
    if (!c->run)
        return unknown_command(tool, NULL);
    const int most = *c->args != '\0', least = most && *c->args != '[';
    if (argc < least)
        return err_usage("an operand is missing: %s", c->args);
    if (argc > most && !strstr(c->args, "..."))
        return err_usage("too many operands: '%s'", argv[most]);
    const struct opt_bound *output = opts_find(&opts, "output", strlen("output"));
    const char *name = output ? *(const char **)output->to : NULL;
    if (name && !*name)
        return err_usage("the name of an output is empty");
    for (int i = 0; i < argc; i++)
        file_names_add(&operands, argv[i]);
    return c->run(argc, argv, given);
}

/* Returns the number of words, starting at `word` in argv, that form an option without effect on
 * the result: output path, number of threads, messages. Output files must not contain them. */
static int words_without_effect(const char *word)
{
    static const char *const flags[] = { "--quiet",       "--verbose", "--progress",
                                         "--no-progress", "--force",   "--resume" };
    static const char *const values[] = { "--threads", "--output" };
    if (word[0] == '-' && word[1] != '-') { /* letters, perhaps several, and a value */
        const size_t plain = 1 + strspn(word + 1, "qv");
        const char letter = word[plain];
        return letter == 't' || letter == 'o' ? 1 + !word[plain + 1] : !letter && plain > 1;
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(word, flags[i]))
            return 1;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const size_t n = strlen(values[i]);
        if (!strncmp(word, values[i], n) && (!word[n] || word[n] == '='))
            return 1 + !word[n];
    }
    return 0;
}

static void set_provenance(const struct tool *t, int argc, char **argv)
{
    static const char special[] = " \t\n\"'$&()*;<>?[\\]`{|}~#!"; /* to a shell */
    SCOPED(buf) line = buf_format("%s %s", t->name, TEXTMILL_VERSION);
    for (int i = 1, skip; i < argc; i += skip ? skip : 1) {
        const size_t n = strlen(argv[i]), plain = n && strcspn(argv[i], special) == n;
        if ((skip = words_without_effect(argv[i])))
            continue;
        buf_adds(&line, plain ? " " : " '");
        buf_add_replaced(&line, argv[i], n, "'", 1, "'\\''", 4);
        buf_adds(&line, plain ? "" : "'");
    }
    utf8_repair(&provenance, line.data, line.len); /* JSON and YAML must be UTF-8 */
    unsigned c;
    for (size_t i = 0, k; i < provenance.len; i += k) {
        k = utf8_read(provenance.data + i, provenance.len - i, &c);
        memset(provenance.data + i, ' ', opt_is_kept(c) ? 0 : k);
    }
}

static int finish_stdout(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (!errno &&
        write(1, "\n", 1) >= 0) /* a write failed before; writing again gives the reason */
        errno = EIO;
    return err_set("cannot write '<stdout>': %s", strerror(errno));
}

/* Takes the descriptors 0 to 2 that are closed, so that no file gets one of them and messages or
 * results are never written into it. Reading from 0 and writing to 1 then fail, as when closed. */
static void hold_standard_descriptors(void)
{
    static const int modes[] = { O_WRONLY, O_RDONLY, O_WRONLY };
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            log_fatal("cannot open '/dev/null' in the place of descriptor %d, which is closed", fd);
}

/* What happened on SIGBUS before on_bus was set. */
static struct sigaction other_bus;

/* Ends the program if an access to a mapped file failed. All else is left to other_bus. */
static void on_bus(int number, siginfo_t *info, void *)
{
    static atomic_int ending;
    const char *file = mapping_at(info->si_addr);
    if (!file) {
        sigaction(number, &other_bus, NULL);
        raise(number);
        return;
    }
    while (atomic_exchange(&ending, 1))
        pause(); /* another thread is already ending the program */
    log_in_handler("error: ", "cannot read ", file,
                   ": it became shorter meanwhile, or its disk failed");
    temp_remove_all();
    _exit(1);
}

/* Lets the program open as many files as the system allows; the usual limit is 1,024. Shards are
 * open at once, and so are the temporary files of each thread. */
static void raise_limit_of_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files); /* a failure shows when a file is opened */
    }
}

static void begin(const struct tool *t, int argc, char **argv)
{
    const struct sigaction bus = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
    const char *called = file_name(argc ? argv[0] : "");
    hold_standard_descriptors();
    raise_limit_of_files();
    log_program = file_ends_with(called, t->name) ? called : t->name;
    signal(SIGUSR1, progress_request);
    temp_catch_signals();
    sigaction(SIGBUS, &bus, &other_bus);
    tool_threads = usage_cpus(0);
    tool = t;
    set_provenance(t, argc, argv);
}

/* Reads the command line, from the first word after the command on. Returns the number of operands,
 * or -1 with an error: for a program of commands it names the command that was perhaps meant. */
static int parse(const struct tool *t, const struct tool_command *c, int argc, char **argv)
{
    const int skip = c->name ? 2 : 1, unnamed = c == t->commands[0] && argc > 1;
    const char *first = argc > 1 ? argv[1] : NULL; /* parsing moves operands */
    const int word = unnamed && first[0] != '-';
    int n = 0;
    opts.program = t->name;
    opts.hint = t->hint;
    if (word && !c->options)
        n = unknown_command(t, first);
    else if (word && (c->common & TOOL_FILE_OPERAND))
        n = check_command(t, first);
    if (!n)
        n = opts_parse(&opts, argc - skip, argv + skip);
    if (n < 0 && unnamed && !word && !c->options)
        unknown_command(t, first);
    set_level();
    log_progress = common.progress_on;
    return n;
}

int tool_main(const struct tool *t, int argc, char **argv)
{
    const double began = log_seconds();
    begin(t, argc, argv);
    const struct tool_command *c = find_command(t, argc > 1 ? argv[1] : NULL);
    SCOPED_MEM void *given = mem_zalloc(1, c->size + 1);
    if (c->size)
        memcpy(given, c->defaults, c->size);
    add_options(c, given);
    const int n = parse(t, c, argc, argv);
    const int help = n >= 0 && (common.want_help || common.want_help_all);
    const int answered = help || (n >= 0 && common.want_version);
    int result = n < 0 ? -1 : 0;
    if (answered)
        help ? print_help(t, c) : print_version(t);
    else if (!result)
        result = run_command(c, n, argv + (c->name ? 2 : 1), given);
    progress_end();
    if (!result)
        result = finish_stdout();
    if (result < 0)
        log_error("%s%s", err_get(), err_is_usage() ? " (see --help)" : "");
    else if (!answered && !common.want_config)
        print_last_line(began);
    opts_release(&opts);
    file_names_release(&operands);
    buf_release(&provenance);
    const int status = !result ? 0 : err_is_usage() ? 2 : 1;
    if (status && plugin_opened())
        log_exit(status);
    return status;
}

/* ---- configuration files -------------------------------------------------------------------- */

enum { BASES = 8, FILES = 64 }; /* most levels of nested base files, and most files in all */

/* Applies the files that the key `base` of the configuration file `path` names, in order; their
 * paths are relative to its folder, or names of presets. They are applied before the file itself.
 * `depth`: number of files above it; 0: the user named it. `preset`: 1: it belongs to a preset. */
static int load_bases(const char *path, const struct yaml_item *base, int depth, int preset)
{
    int result = 0;
    if (depth == BASES)
        return err_set("%s:%d: too many nested base files: do they form a circle?", path,
                       base->line);
    for (const char *name = base->value; *name && !result; name += *name == ',') {
        SCOPED(buf) file = file_beside(*name == '/' ? "" : path, ""), preset_path = BUF_INIT;
        const size_t at = file.len;
        for (; *name && (*name != ',' || !base->list); name++) {
            name += base->list && *name == '\\';
            buf_addc(&file, *name);
        }
        const int found = file_look(file.data) == FILE_PLAIN
                              ? 0
                              : preset_find(&preset_path, file.data + at);
        const char *next = found ? preset_path.data : file.data;
        result = found < 0 ? -1 : load_config(next, depth + 1, found || preset);
    }
    return result < 0 && !depth ? err_in("%s:%d: base", path, base->line) : result;
}

static int load_config(const char *path, int depth, int preset)
{
    static int files;
    SCOPED(yaml) y = { 0 };
    if (++files > FILES)
        return err_set("'%s': more than %d base files", path, FILES);
    if (yaml_load(&y, path) < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < y.count && !result;) {
        if (!strcmp(y.items[i].key, "base"))
            result = load_bases(path, &y.items[i], depth, preset);
        if (!strcmp(y.items[i].key, "base") || y.items[i].key[0] == '.')
            yaml_remove(&y, i);
        else
            i++;
    }
    opts.preset = preset;
    if (result < 0 || (tool->translate && tool->translate(&y, path) < 0) ||
        opts_load(&opts, &y, path) < 0)
        return -1;
    set_level();
    return 0;
}

int tool_load_config(const char *path)
{
    return load_config(path, 0, 0);
}

void tool_print_config(unsigned without, struct buf *out)
{
    opts_print(&opts, without | OPT_NO_SETTING, out);
}

int tool_is_no_input(const char *path, const char *const *inputs, size_t count)
{
    int same = 0;
    for (size_t i = 0; i < count && strcmp(path, "-") && !same; i++)
        same = file_same(path, inputs[i]);
    return same > 0 ? err_usage("'%s' is input and output", path) : same;
}

/* Returns -1 with an error if another option names the file of the output `path`, else 0. */
static int check_options(const char *path)
{
    int same = 0;
    for (size_t i = 0, count; i < opts.count; i++) {
        const struct opt *row = opts.table[i].row;
        const char *arg = row->name && row->arg ? row->arg : "";
        if (strcmp(arg, "FILE") && strcmp(arg, "PATH") && strcmp(arg, "DIR"))
            continue;
        const char *const *texts = opt_texts(&opts.table[i], &count);
        for (size_t k = 0; k < count && !same; k++)
            same = texts[k] == path ? 0 : file_same(texts[k], path);
        if (same)
            return same < 0
                       ? -1
                       : err_usage("'%s' is an output, and --%s names it, too", path, row->name);
    }
    return 0;
}

int tool_may_replace(const char *path, const char *mark, const char *what)
{
    if (!*path)
        return err_usage("the name of an output is empty");
    if (!mark && strcmp(path, "-") &&
        (tool_is_no_input(path, (const char *const *)operands.names, operands.count) < 0 ||
         check_options(path) < 0))
        return -1;
    SCOPED(buf) file = file_path(path, mark ? mark : "");
    const int kind = tool_force || !strcmp(path, "-") ? FILE_NONE
                                                      : file_look(mark ? file.data : path);
    if (kind <= 0 || kind == FILE_SPECIAL || (!mark && kind == FILE_FOLDER))
        return kind < 0 ? -1 : 0;
    return mark ? err_set("'%s' holds a finished %s (--force replaces it)", path, what)
                : err_set("'%s' exists (--force replaces it)", path);
}

int tool_configured(void)
{
    return configured || common.config_path;
}

int tool_given(const char *option)
{
    const struct opt_bound *p = opts_find(&opts, option, strlen(option));
    return p && p->given;
}

int tool_set(const char *option)
{
    const struct opt_bound *p = opts_find(&opts, option, strlen(option));
    return p && (p->given || p->from_file);
}

int tool_only_preset(const char *option)
{
    const struct opt_bound *p = opts_find(&opts, option, strlen(option));
    return p && !p->given && p->from_file > 1;
}

unsigned tool_flags(const char *option)
{
    const struct opt_bound *p = opts_find(&opts, option, strlen(option));
    return p ? p->row->type & ~(unsigned)(OPT_FIXED - 1) : OPT_FREE;
}

const char *tool_misplaced(unsigned bit)
{
    return opts_misplaced(&opts, bit);
}

const char *tool_provenance(void)
{
    return provenance.data;
}

int tool_binary_stdin(void)
{
    return isatty(0) ? err_usage("refusing to read binary from a terminal") : 0;
}

int tool_binary_stdout(void)
{
    return isatty(1) ? err_usage("refusing to write binary to a terminal") : 0;
}
