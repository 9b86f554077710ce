#include "common/program/opt.h"

#include <errno.h>
#include <strings.h>

#include "common/base/choice.h"
#include "common/base/lines.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"

void opts_add(struct opts *o, const struct opt *table, void *values)
{
    for (; table->name || table->help; table++) {
        o->table = mem_resize(o->table, o->count + 1, sizeof *o->table);
        o->table[o->count++] = (struct opt_bound){ table, (char *)values + table->at };
    }
}

static enum opt_type type_of(const struct opt_bound *p)
{
    return p->row->type & (OPT_FIXED - 1);
}

void opts_release(struct opts *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (type_of(&o->table[i]) == OPT_LIST && o->table[i].row->name) {
            struct opt_list *list = o->table[i].to; /* two options may share one list */
            free(list->items);
            *list = (struct opt_list){ 0 };
        }
    for (size_t i = 0; i < o->kept_count; i++)
        free(o->kept[i]);
    free(o->kept);
    free(o->table);
    *o = (struct opts){ 0 };
}

/* ---- values ----------------------------------------------------------------------------- */

/* A least value of -1 stands for no number, so it is the only one below 0. */
static int in_bounds(const struct opt_bound *p, double v)
{
    const double least = p->row->min == -1 && v != -1 ? 0 : p->row->min;
    return (p->row->min == 0 && p->row->max == 0) || (v >= least && v <= p->row->max);
}

static int out_of_bounds(const struct opt_bound *p, const char *value)
{
    const int word = p->row->min == -1;
    return err_usage("--%s %s is out of bounds (%s%.10g to %.10g)", p->row->name, value,
                     word ? "-1, or " : "", word ? 0 : p->row->min, p->row->max);
}

/* Parses a number that may end in K, M, G or T, powers of `kilo`, into *real and *integer. Integers
 * are parsed as integers, so that 2^53+1 stays exact. Returns 0, 1 if the number is not an integer
 * of 64 bits (then only *real has its value), or -1, without an error set, if s is not a number. */
static int parse_number(const char *s, double kilo, double *real, int64_t *integer)
{
    char *end, *int_end;
    errno = 0;
    *real = strtod(s, &end);
    if (end == s || errno == ERANGE)
        return -1;
    errno = 0;
    *integer = strtoll(s, &int_end, 10);
    int exact = int_end == end && !errno;
    double unit = 1;
    const char letter = (char)(*end & ~0x20); /* in upper case; 0 for a blank */
    const char *units = "KMGT", *u = letter ? strchr(units, letter) : NULL;
    if (u) {
        for (const char *k = units; k <= u; k++)
            unit *= kilo;
        end++;
    }
    if (*end)
        return -1;
    *real *= unit;
    if (exact && !__builtin_mul_overflow(*integer, (int64_t)unit, integer))
        return 0;
    *integer = (int64_t)(*real > -9e18 && *real < 9e18 ? *real : 0);
    return (double)*integer == *real ? 0 : 1; /* 1: a real number, not an integer */
}

static int set_flag(const struct opt_bound *p, const char *value)
{
    static const char *const yes[] = { "true", "yes", "on", "1" };
    static const char *const no[] = { "false", "no", "off", "0" };
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(value, yes[i]) || !strcasecmp(value, no[i])) { /* YAML has True and TRUE */
            *(int *)p->to = !strcasecmp(value, yes[i]);
            return 0;
        }
    }
    return err_usage("--%s wants true or false, not '%s'", p->row->name, value);
}

void opt_list_add(struct opt_list *list, const char *value)
{
    mem_next(list->items, list->count, list->cap) = value;
}

/* Returns the word that a number option also accepts, or NULL. */
static const char *word_of(const struct opt_bound *p)
{
    const char *bar = p->row->arg ? strchr(p->row->arg, '|') : NULL;
    return bar ? bar + 1 : NULL;
}

static int number_wanted(const struct opt_bound *p, const char *value)
{
    const char *word = type_of(p) == OPT_SIZE ? "one such as 8G" : word_of(p);
    return err_usage("--%s wants a whole number%s%s, not '%s'", p->row->name, word ? " or " : "",
                     word ? word : "", value);
}

/* Sets the variable of option p to `value`, which must live longer than the table. */
static int set(const struct opt_bound *p, const char *value)
{
    double real;
    int64_t integer;
    int kind;
    switch (type_of(p)) {
    case OPT_FLAG: return set_flag(p, value);
    case OPT_INT:
        if (word_of(p) && !strcmp(value, word_of(p))) {
            *(int64_t *)p->to = OPT_WORD;
            return 0;
        }
        /* fall through */
    case OPT_SIZE:
        kind = parse_number(value, type_of(p) == OPT_SIZE ? 1024 : 1000, &real, &integer);
        if (kind || (type_of(p) == OPT_SIZE && integer < 0))
            return number_wanted(p, value);
        if (!in_bounds(p, real))
            return out_of_bounds(p, value);
        *(int64_t *)p->to = integer;
        return 0;
    case OPT_REAL:
        if (parse_number(value, 1000, &real, &integer) < 0)
            return err_usage("--%s wants a number, not '%s'", p->row->name, value);
        if (!in_bounds(p, real))
            return out_of_bounds(p, value);
        *(double *)p->to = real;
        return 0;
    case OPT_TEXT: *(const char **)p->to = value; return 0;
    case OPT_CHOICE: {
        int i = choice_find(p->row->arg, value, strlen(value));
        if (i < 0)
            return err_usage("--%s wants %s, not '%s'", p->row->name, p->row->arg, value);
        *(int *)p->to = i;
        return 0;
    }
    case OPT_LIST: opt_list_add(p->to, value); return 0;
    }
    return 0;
}

/* ---- the command line ------------------------------------------------------------------- */

static int same_name(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((a[i] == '_' ? '-' : a[i]) != (b[i] == '_' ? '-' : b[i]))
            return 0;
    return !a[n];
}

struct opt_bound *opts_find(const struct opts *o, const char *name, size_t n)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->table[i].row->name && same_name(o->table[i].row->name, name, n))
            return &o->table[i];
    return NULL;
}

static struct opt_bound *find_letter(const struct opts *o, char letter)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->table[i].row->name && o->table[i].row->letter == letter)
            return &o->table[i];
    return NULL;
}

size_t opt_distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return 64;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t swap = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t edit = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = swap < edit ? swap : edit;
        }
    }
    return row[n];
}

/* Returns 1 if `name` is one of the names, which blanks separate; else 0. */
static int is_one_of(const char *names, const char *name)
{
    for (size_t n; *names; names += n + (names[n] == ' '))
        if (same_name(name, names, n = strcspn(names, " ")))
            return 1;
    return 0;
}

extern const char foreign_options[]; /* foreign.txt, which describes itself */

/* Appends the advice to `out`, unless it begins with "give --OPTION" and this command has no such
 * option. `advice` NULL: there is none. */
static void put_useful(const struct opts *o, const char *advice, struct buf *out)
{
    const char *option = advice && bytes_begin(advice, strlen(advice), "give --") ? advice + 7 : "";
    if (advice && (!*option || opts_find(o, option, strcspn(option, " ,=:"))))
        buf_adds(out, advice);
}

/* Appends what foreign.txt advises for an option, by the rows of one program or by those of "*". */
static void put_advice(const struct opts *o, const char *program, const char *name, struct buf *out)
{
    SCOPED(buf) begin = buf_format("%s: ", program), names = BUF_INIT;
    struct lines l = LINES_OF(foreign_options, strlen(foreign_options));
    while (!out->len && lines_next(&l)) {
        if (!bytes_begin(l.line, l.len, begin.data))
            continue;
        buf_set(&names, l.line + begin.len, l.len - begin.len);
        char *arrow = strstr(names.data, " -> ");
        *arrow = '\0';
        if (is_one_of(names.data, name))
            put_useful(o, arrow + strlen(" -> "), out);
    }
}

/* Sets the error for an unknown option or key: the advice for an option of another program, or else
 * the most similar option. Returns -1. */
static int unknown(const struct opts *o, const char *what, const char *dashes, const char *name,
                   const char *where)
{
    SCOPED(buf) say = BUF_INIT;
    const char *best = NULL;
    if (o->program)
        put_advice(o, o->program, name, &say);
    if (!say.len && o->hint)
        put_useful(o, o->hint(name), &say);
    if (!say.len)
        put_advice(o, "*", name, &say);
    if (say.len)
        return err_usage("%sunknown %s '%s%s': %s", where, what, dashes, name, say.data);
    /* at this distance or more it is no misspelling */
    size_t least = strlen(name) < 6 ? strlen(name) / 2 + 1 : 4;
    for (size_t i = 0; i < o->count; i++) {
        size_t d = o->table[i].row->name ? opt_distance(name, o->table[i].row->name) : 64;
        if (d < least) {
            least = d;
            best = o->table[i].row->name;
        }
    }
    return best ? err_usage("%sunknown %s '%s%s' (did you mean '%s%s'?)", where, what, dashes, name,
                            dashes, best)
                : err_usage("%sunknown %s '%s%s'", where, what, dashes, name);
}

static const char *keep(struct opts *o, const char *s)
{
    return mem_next(o->kept, o->kept_count, o->kept_cap) = mem_strdup(s);
}

/* Parses one --name[=value]; `arg` is without the "--". `next` is the following argument or NULL.
 * Returns the number of arguments used (1 or 2), or -1 with a usage error. */
static int parse_long(struct opts *o, const char *arg, const char *next)
{
    const char *eq = strchr(arg, '=');
    size_t n = eq ? (size_t)(eq - arg) : strlen(arg);
    struct opt_bound *p = opts_find(o, arg, n);
    const int negated = !p && !eq && !strncmp(arg, "no-", 3);
    if (negated)
        p = opts_find(o, arg + 3, n - 3);
    if (!p || (negated && type_of(p) != OPT_FLAG)) {
        SCOPED_MEM char *name = mem_strndup(arg, n);
        return unknown(o, "option", "--", name, "");
    }
    p->given = 1;
    if (type_of(p) == OPT_FLAG && !eq) {
        *(int *)p->to = !negated;
        return 1;
    }
    if (!eq && !next)
        return err_usage("--%s wants a value", p->row->name);
    return set(p, eq ? eq + 1 : next) < 0 ? -1 : eq ? 1 : 2;
}

/* Parses a group of option letters, `arg`: -qv, -ofile, or -o with the value in the next argument,
 * `next` (NULL: there is none). Returns the number of arguments used, 1 or 2, or -1 with an
 * error. */
static int parse_short(struct opts *o, const char *arg, const char *next)
{
    for (unsigned c; *arg; arg++) {
        struct opt_bound *p = find_letter(o, *arg);
        if (!p)
            return err_usage("unknown option '-%.*s'", (int)utf8_read(arg, strlen(arg), &c), arg);
        p->given = 1;
        if (type_of(p) == OPT_FLAG) {
            *(int *)p->to = 1;
            continue;
        }
        if (!arg[1] && !next)
            return err_usage("-%c wants a value", *arg);
        return set(p, arg[1] ? arg + 1 : next) < 0 ? -1 : arg[1] ? 1 : 2;
    }
    return 1;
}

int opts_parse(struct opts *o, int argc, char **argv)
{
    SCOPED(buf) errors = BUF_INIT; /* of all words, so that a user sees them at once */
    int operands = 0;
    for (int i = 0; i < argc;) {
        char *arg = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        int used = 1;
        if (!strcmp(arg, "--")) {
            while (++i < argc)
                argv[operands++] = argv[i];
            break;
        }
        if (arg[0] == '-' && arg[1] == '-')
            used = parse_long(o, arg + 2, next);
        else if (arg[0] == '-' && arg[1])
            used = parse_short(o, arg + 1, next);
        else
            argv[operands++] = arg;
        if (used < 0)
            buf_addf(&errors, "%s%s", errors.len ? "; " : "", err_get());
        /* a negative number behind what is wrong is its value */
        i += used > 0 ? used : 1 + (next && *next == '-' && strspn(next + 1, "0123456789."));
    }
    return errors.len ? err_usage("%s", errors.data) : operands;
}

const char *opts_misplaced(const struct opts *o, unsigned bit)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->table[i].given && o->table[i].row->type >= OPT_ONLY &&
            !(o->table[i].row->type & bit))
            return o->table[i].row->name;
    return NULL;
}

/* ---- the configuration file -------------------------------------------------------------- */

static void set_list(struct opts *o, const struct opt_bound *p, const char *values, int list)
{
    ((struct opt_list *)p->to)->count = 0;
    for (const char *s = *values ? values : NULL; s; s = *s ? s + 1 : NULL) {
        SCOPED(buf) item = BUF_INIT;
        for (; *s && *s != ','; s++) {
            s += *s == '\\' && (s[1] == ',' || (list && s[1] == '\\'));
            buf_addc(&item, *s);
        }
        opt_list_add(p->to, keep(o, item.data));
    }
}

/* Sets one option from an item of a configuration file. `where` is put in front of errors. An
 * option that was given on the command line keeps its value. Returns 0, or -1 with a usage error.
 */
static int set_key(struct opts *o, const struct yaml_item *item, const char *where)
{
    const char *dot = strrchr(item->key, '.'), *key = dot ? dot + 1 : item->key;
    struct opt_bound *p = opts_find(o, key, strlen(key));
    if (!p)
        return unknown(o, "key", "", key, where);
    if (p->row->type & OPT_NO_SETTING)
        return err_usage("%s'%s' belongs on the command line, as --%s", where, item->key,
                         p->row->name);
    if (p->item && strcmp(p->item->value, item->value) != 0)
        return err_usage("%s'%s' is %s, but '%s' in line %d is %s: both are the option --%s", where,
                         item->key, item->value, p->item->key, p->item->line, p->item->value,
                         p->row->name);
    p->item = item;
    p->from_file = 1 + o->preset;
    if (p->given)
        return 0;
    if (type_of(p) == OPT_LIST)
        set_list(o, p, item->value, item->list);
    else if (set(p, keep(o, item->value)) < 0)
        return err_usage("%s%s", where, err_get());
    return 0;
}

int opts_load(struct opts *o, const struct yaml *y, const char *path)
{
    int result = 0;
    for (size_t i = 0; i < y->count && !result; i++) {
        SCOPED(buf) where = buf_format("%s:%d: ", path, y->items[i].line);
        result = set_key(o, &y->items[i], where.data);
    }
    for (size_t i = 0; i < o->count; i++)
        o->table[i].item = NULL;
    return result < 0 ? err_set("%s", err_get()) : 0; /* an error in the file is no usage error */
}

/* ---- help and values --------------------------------------------------------------------- */

static void put_size(struct buf *out, uint64_t v)
{
    const char *unit = "";
    static const char *const units[] = { "K", "M", "G" };
    for (int i = 0; i < 3 && v && v % 1024 == 0; i++, v /= 1024)
        unit = units[i];
    buf_addf(out, "%llu%s", (unsigned long long)v, unit);
}

static void put_value(struct buf *out, const struct opt_bound *p)
{
    const char *word;
    size_t n;
    switch (type_of(p)) {
    case OPT_FLAG: buf_adds(out, *(int *)p->to ? "true" : "false"); break;
    case OPT_INT:
        if (*(int64_t *)p->to == OPT_WORD && word_of(p))
            buf_adds(out, word_of(p));
        else
            buf_addf(out, "%lld", (long long)*(int64_t *)p->to);
        break;
    case OPT_SIZE: put_size(out, *(uint64_t *)p->to); break;
    case OPT_REAL: buf_add_real(out, *(double *)p->to, 10); break;
    case OPT_TEXT: buf_adds(out, *(const char **)p->to ? *(const char **)p->to : ""); break;
    case OPT_CHOICE:
        word = choice_at(p->row->arg, (size_t) * (int *)p->to, &n);
        buf_add(out, word, n);
        break;
    case OPT_LIST: break; /* put_yaml_list */
    }
}

static int has_default(const struct opt_bound *p)
{
    if (type_of(p) == OPT_FLAG)
        return *(int *)p->to == 1; /* -1: not set; the program decides later */
    return type_of(p) == OPT_TEXT ? *(const char **)p->to != NULL : type_of(p) != OPT_LIST;
}

enum { HELP_COLUMN = 32, HELP_WIDTH = 80 };

/* Returns the length of the next piece that must not be broken: a word, or one of the words
 * separated by '|'. */
static size_t piece(const char *text)
{
    size_t n = strcspn(text, " |");
    return n + (text[n] == '|');
}

void opts_wrap(struct buf *out, size_t column, size_t indent, const char *text)
{
    for (size_t at = column, n; *text; text += n) {
        size_t blanks = strspn(text, " ");
        n = piece(text + blanks);
        if (at > indent && at + blanks + n > HELP_WIDTH) {
            buf_addf(out, "\n%*s", (int)indent, "");
            at = indent;
            text += blanks;
            blanks = 0;
        }
        n += blanks;
        buf_add(out, text, n);
        at += n;
    }
}

/* Appends the left column of the help, "  -o, --output FILE"; if it is too long for the column,
 * ends the line. */
static void put_left(struct buf *out, const struct opt_bound *p)
{
    SCOPED(buf) left = BUF_INIT;
    if (p->row->letter)
        buf_addf(&left, "  -%c, --%s", p->row->letter, p->row->name);
    else
        buf_addf(&left, "      --%s", p->row->name);
    if (type_of(p) != OPT_FLAG)
        buf_addf(&left, " %s", p->row->arg);
    opts_wrap(out, 0, 10, left.data);
    if (left.len < HELP_COLUMN - 2)
        buf_addf(out, "%*s", (int)(HELP_COLUMN - left.len), "");
    else
        buf_addf(out, "\n%*s", HELP_COLUMN, "");
}

/* Appends the help of option i, "  -o, --output FILE    what it does [its default]". */
static void put_option(struct buf *out, const struct opts *o, size_t i)
{
    const struct opt_bound *p = &o->table[i];
    SCOPED(buf) right = BUF_INIT;
    buf_adds(&right, p->row->help);
    if (has_default(p) && !p->given) {
        buf_adds(&right, " [");
        put_value(&right, p);
        buf_adds(&right, "]");
    }
    put_left(out, p);
    opts_wrap(out, HELP_COLUMN, HELP_COLUMN, right.data);
    buf_addc(out, '\n');
}

size_t opts_help(const struct opts *o, int all, struct buf *out)
{
    size_t left_out = 0;
    int shown = 1;
    if (o->count && o->table[0].row->name)
        buf_adds(out, "\nOptions:\n");
    for (size_t i = 0; i < o->count; i++) {
        const struct opt_bound *p = &o->table[i];
        if (!p->row->name) {
            shown = all || !p->row->arg;
            if (shown)
                buf_addf(out, "\n%s\n", p->row->help);
        } else if (!p->row->help) {
            continue;
        } else if (shown) {
            put_option(out, o, i);
        } else {
            left_out++;
        }
    }
    return left_out;
}

int opt_is_kept(unsigned c)
{
    return c < 0xA0 ? c == '\t' || (c >= ' ' && c < 0x7F)
                    : c != 0x2028 && c != 0x2029 && c != 0xFFFE && c != 0xFFFF;
}

/* Appends a text in single quotes or, if YAML does not keep all of it there, in double quotes, with
 * escapes. */
static void put_yaml_text(struct buf *out, const char *s)
{
    SCOPED(buf) json = BUF_INIT;
    const size_t n = strlen(s);
    size_t kept = 0, k;
    unsigned c;
    while (kept < n && (k = utf8_read(s + kept, n - kept, &c)) && opt_is_kept(c))
        kept += k;
    if (kept < n)
        js_quote(&json, s, n);
    for (size_t i = 0; i < json.len; i += k) {
        k = utf8_read(json.data + i, json.len - i, &c);
        if (opt_is_kept(c))
            buf_add(out, json.data + i, k);
        else
            buf_addf(out, "\\u%04x", c);
    }
    if (kept < n)
        return;
    buf_addc(out, '\'');
    for (; *s; s++)
        buf_adds(out, (char[]){ *s, *s == '\'' ? '\'' : '\0', '\0' });
    buf_addc(out, '\'');
}

static void put_yaml_list(struct buf *out, const struct opt_list *list)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        buf_adds(out, i ? ", " : "");
        put_yaml_text(out, list->items[i]);
    }
    buf_addc(out, ']');
}

const char *const *opt_texts(const struct opt_bound *p, size_t *count)
{
    const struct opt_list *list = p->to;
    const int is_list = type_of(p) == OPT_LIST;
    *count = is_list ? list->count : type_of(p) == OPT_TEXT && *(const char **)p->to;
    return is_list ? list->items : p->to;
}

/* Returns 1 if YAML can hold the option's value: all of its texts are UTF-8. */
static int is_printable(const struct opt_bound *p)
{
    size_t count;
    const char *const *texts = opt_texts(p, &count);
    for (size_t i = 0; i < count; i++)
        if (utf8_valid(texts[i], strlen(texts[i])) < strlen(texts[i]))
            return 0;
    return 1;
}

void opts_print(const struct opts *o, unsigned without, struct buf *out)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct opt_bound *p = &o->table[i];
        if (!p->row->name || (p->row->type & without) ||
            (type_of(p) == OPT_TEXT && !*(const char **)p->to) ||
            (type_of(p) == OPT_LIST && !((struct opt_list *)p->to)->count && !p->given &&
             !p->from_file) ||
            !is_printable(p))
            continue;
        buf_addf(out, "%s: ", p->row->name);
        if (type_of(p) == OPT_TEXT)
            put_yaml_text(out, *(const char **)p->to);
        else if (type_of(p) == OPT_LIST)
            put_yaml_list(out, p->to);
        else
            put_value(out, p);
        buf_addc(out, '\n');
    }
}
