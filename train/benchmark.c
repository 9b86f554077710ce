#include "train/benchmark.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/log.h"
#include "common/mem.h"

enum { PARAMETERS = 8, METRICS = 16, VALUES = 64 };

struct metric {
    char *name;
    regex_t pattern;
    const char *reduce;
    long skip;
    double *values;
    size_t count, cap;
};

struct parameter {
    char *name;
    char *values[VALUES];
    int count, at; /* at: the value of the current variant */
};

struct benchmark {
    const char *name, *command;
    struct parameter parameters[PARAMETERS];
    struct metric metrics[METRICS];
    int parameter_count, metric_count;
};

struct results {
    struct output out; /* stdout: a variant's results are written when it is done */
    struct buf json, csv;
};

/* ---- the specification ----------------------------------------------------------------------- */

/* Returns the part of `key` after "NAME.SECTION.", or NULL if it does not begin with that. */
static const char *under(const char *key, const char *name, const char *section)
{
    size_t n = strlen(name), s = strlen(section);
    int is = !strncmp(key, name, n) && key[n] == '.' && !strncmp(key + n + 1, section, s) &&
             key[n + 1 + s] == '.';
    return is ? key + n + 2 + s : NULL;
}

static const char *look_up(const struct yaml *y, const char *name, const char *key)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s.%s", name, key);
    const char *value = yaml_get(y, path.data);
    buf_release(&path);
    return value;
}

static int add_parameter(struct benchmark *b, const char *name, const char *values)
{
    if (b->parameter_count == PARAMETERS)
        return err_set("benchmark '%s' has more than %d parameters", b->name, PARAMETERS);
    struct parameter *p = &b->parameters[b->parameter_count++];
    *p = (struct parameter){ .name = mem_strdup(name) };
    for (const char *v = values; *v || !p->count;) {
        size_t n = strcspn(v, ",");
        if (p->count == VALUES)
            return err_set("parameter '%s' of benchmark '%s' has more than %d values", name,
                           b->name, VALUES);
        p->values[p->count++] = mem_strndup(v, n);
        v += n + (v[n] == ',');
    }
    return 0;
}

static struct metric *metric_of(struct benchmark *b, const char *name, size_t n)
{
    for (int i = 0; i < b->metric_count; i++)
        if (strlen(b->metrics[i].name) == n && !memcmp(b->metrics[i].name, name, n))
            return &b->metrics[i];
    if (b->metric_count == METRICS)
        return NULL;
    struct metric *m = &b->metrics[b->metric_count++];
    *m = (struct metric){ .name = mem_strndup(name, n), .reduce = "last" };
    return m;
}

static int is_reduction(const char *word)
{
    static const char *const words[] = { "mean", "median", "min", "max", "last" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], word))
            return 1;
    return 0;
}

/* Sets one key of a metric, such as "throughput.pattern". Returns 0, or -1 with an error. */
static int set_metric(struct benchmark *b, const char *rest, const char *value)
{
    const char *dot = strchr(rest, '.'), *key = dot ? dot + 1 : "";
    struct metric *m = metric_of(b, rest, dot ? (size_t)(dot - rest) : strlen(rest));
    if (!m)
        return err_set("benchmark '%s' has more than %d metrics", b->name, METRICS);
    if (!strcmp(key, "pattern")) {
        char why[128];
        if (m->pattern.re_nsub)
            return err_set("metric '%s' has two patterns", m->name);
        int failed = regcomp(&m->pattern, value, REG_EXTENDED);
        if (failed) {
            regerror(failed, &m->pattern, why, sizeof why);
            return err_set("bad pattern of metric '%s': %s", m->name, why);
        }
        if (!m->pattern.re_nsub) {
            regfree(&m->pattern);
            m->pattern = (regex_t){ .re_nsub = 0 };
            return err_set("the pattern of metric '%s' has no group ( ) for the number", m->name);
        }
    } else if (!strcmp(key, "skip")) {
        m->skip = strtol(value, NULL, 10);
    } else if (!strcmp(key, "reduce") && is_reduction(value)) {
        m->reduce = value;
    } else {
        return err_set(
            "metric '%s': bad %s '%s': give pattern, skip, or reduce with mean, median, min, max or last",
            m->name, key, value);
    }
    return 0;
}

static void release(struct benchmark *b)
{
    for (int i = 0; i < b->parameter_count; i++) {
        free(b->parameters[i].name);
        for (int v = 0; v < b->parameters[i].count; v++)
            free(b->parameters[i].values[v]);
    }
    for (int i = 0; i < b->metric_count; i++) {
        free(b->metrics[i].name);
        free(b->metrics[i].values);
        if (b->metrics[i].pattern.re_nsub)
            regfree(&b->metrics[i].pattern);
    }
}

static int read_benchmark(struct benchmark *b, const struct yaml *y, const char *name)
{
    *b = (struct benchmark){ .name = name, .command = look_up(y, name, "command") };
    if (!b->command)
        return err_set("benchmark '%s' has no command", name);
    for (size_t i = 0; i < y->count; i++) {
        const struct yaml_item *item = &y->items[i];
        const char *parameter = under(item->key, name, "parameters");
        const char *metric = under(item->key, name, "metrics");
        if ((parameter && add_parameter(b, parameter, item->value) < 0) ||
            (metric && set_metric(b, metric, item->value) < 0))
            return -1;
    }
    for (int i = 0; i < b->metric_count; i++)
        if (!b->metrics[i].pattern.re_nsub)
            return err_set("metric '%s' has no pattern", b->metrics[i].name);
    return 0;
}

/* ---- a variant ------------------------------------------------------------------------------- */

/* Appends the command with each {name} replaced by the parameter's value. Other braces are left to
 * the shell. */
static void substitute(const struct benchmark *b, struct buf *out)
{
    for (const char *s = b->command; *s;) {
        const struct parameter *found = NULL;
        for (int i = 0; *s == '{' && i < b->parameter_count && !found; i++) {
            size_t n = strlen(b->parameters[i].name);
            if (!strncmp(s + 1, b->parameters[i].name, n) && s[n + 1] == '}')
                found = &b->parameters[i];
        }
        if (found) {
            buf_adds(out, found->values[found->at]);
            s += strlen(found->name) + 2;
        } else {
            buf_addc(out, *s++);
        }
    }
}

/* Sets the parameters to their next combination of values. Returns 1, or 0 after the last one. */
static int next_variant(struct benchmark *b)
{
    for (int i = b->parameter_count; i-- > 0;) {
        if (++b->parameters[i].at < b->parameters[i].count)
            return 1;
        b->parameters[i].at = 0;
    }
    return 0;
}

static void search(struct benchmark *b, const char *line)
{
    for (int i = 0; i < b->metric_count; i++) {
        struct metric *m = &b->metrics[i];
        regmatch_t at[2];
        char digits[64], *to = digits, *end;
        if (regexec(&m->pattern, line, 2, at, 0) || at[1].rm_so < 0)
            continue;
        for (regoff_t k = at[1].rm_so; k < at[1].rm_eo && to < digits + sizeof digits - 1; k++)
            if (line[k] != ',') /* separates thousands */
                *to++ = line[k];
        *to = '\0';
        double value = strtod(digits, &end);
        if (end == digits)
            continue;
        mem_grow(m->values, m->cap, m->count + 1);
        m->values[m->count++] = value;
    }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double reduce(const struct metric *m)
{
    size_t skip = (size_t)(m->skip > 0 ? m->skip : 0);
    if (m->count <= skip)
        return NAN;
    double *v = m->values + skip, sum = 0, last = v[m->count - skip - 1];
    size_t n = m->count - skip;
    if (!strcmp(m->reduce, "last"))
        return last;
    qsort(v, n, sizeof *v, rising);
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    if (!strcmp(m->reduce, "mean"))
        return sum / (double)n;
    if (!strcmp(m->reduce, "median"))
        return (v[(n - 1) / 2] + v[n / 2]) / 2;
    return !strcmp(m->reduce, "min") ? v[0] : v[n - 1];
}

static int run_command(struct benchmark *b, const char *command)
{
    struct buf shell = BUF_INIT;
    char *line = NULL;
    size_t room = 0;
    buf_addf(&shell, "exec 2>&1\n%s", command);
    FILE *pipe = popen(shell.data, "r");
    buf_release(&shell);
    if (!pipe)
        return err_set("cannot start a shell");
    while (getline(&line, &room, pipe) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        log_detail("%s: %s", b->name, line);
        search(b, line);
    }
    free(line);
    int status = pclose(pipe);
    if (status)
        return err_set("benchmark '%s': its command ended with %s %d: %s", b->name,
                       WIFSIGNALED(status) ? "signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), command);
    return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static void put_parameters(const struct benchmark *b, struct buf *plain, struct buf *json)
{
    for (int i = 0; i < b->parameter_count; i++) {
        const struct parameter *p = &b->parameters[i];
        buf_addf(plain, "%s%s=%s", i ? " " : "", p->name, p->values[p->at]);
        buf_adds(json, i ? ", " : "");
        js_quote(json, p->name, strlen(p->name));
        buf_adds(json, ": ");
        js_quote(json, p->values[p->at], strlen(p->values[p->at]));
    }
}

/* Reads the metrics of the variant that has run, and writes its line of results. Returns 0, or -1
 * with an error if a metric was not found. */
static int report(struct benchmark *b, struct results *r, double seconds)
{
    struct buf plain = BUF_INIT, parameters = BUF_INIT, metrics = BUF_INIT, line = BUF_INIT;
    int result = 0;
    put_parameters(b, &plain, &parameters);
    buf_addf(&line, "%s%s%s", b->name, plain.len ? " " : "", plain.data);
    for (int i = 0; i < b->metric_count; i++) {
        struct metric *m = &b->metrics[i];
        double value = reduce(m);
        if (isnan(value)) {
            result = err_set("benchmark '%s': metric '%s' is not in the output of its command",
                             b->name, m->name);
            continue;
        }
        buf_addf(&line, " %s=%.6g", m->name, value);
        buf_adds(&metrics, metrics.len ? ", " : "");
        js_quote(&metrics, m->name, strlen(m->name));
        buf_addf(&metrics, ": %.6g", value);
        buf_addf(&r->csv, "%s,%s,%s,%.6g\n", b->name, plain.data, m->name, value);
    }
    buf_addc(&line, '\n');
    if (output_write(&r->out, line.data, line.len) < 0 || output_flush(&r->out) < 0)
        result = -1;
    buf_addf(&r->json,
             "%s  {\"benchmark\": \"%s\", \"parameters\": {%s}, \"metrics\": {%s}, "
             "\"seconds\": %.3f}",
             r->json.len ? ",\n" : "", b->name, parameters.data, metrics.data, seconds);
    buf_release(&plain);
    buf_release(&parameters);
    buf_release(&metrics);
    buf_release(&line);
    return result;
}

/* Runs all variants of a benchmark. Returns 0, or -1 if one failed; the error of each is
 * printed. */
static int run_benchmark(struct benchmark *b, struct results *r)
{
    int failed = 0;
    do {
        struct buf command = BUF_INIT;
        for (int i = 0; i < b->metric_count; i++)
            b->metrics[i].count = 0;
        substitute(b, &command);
        double began = log_seconds();
        if (run_command(b, command.data) < 0 || report(b, r, log_seconds() - began) < 0) {
            log_error("%s", err_get());
            failed = 1;
        }
        buf_release(&command);
    } while (next_variant(b));
    return failed ? -1 : 0;
}

static int write_results(const struct results *r, const char *json, const char *csv)
{
    struct buf text = BUF_INIT;
    int result = 0;
    buf_addf(&text, "[\n%s\n]\n", r->json.data);
    if (json)
        result = file_write(json, text.data, text.len);
    buf_clear(&text);
    buf_addf(&text, "benchmark,parameters,metric,value\n%s", r->csv.data);
    if (!result && csv)
        result = file_write(csv, text.data, text.len);
    buf_release(&text);
    return result;
}

/* ---- all benchmarks -------------------------------------------------------------------------- */

/* Sets *name, the name of a benchmark or "", to the name of the next one in the file, and *i to
 * its first item. Skips names that begin with a dot, which only hold settings for YAML anchors.
 * Returns 1, or 0 if there are no more. */
static int next_name(const struct yaml *y, size_t *i, struct buf *name)
{
    for (; *i < y->count; (*i)++) {
        const char *key = y->items[*i].key;
        size_t n = strcspn(key, ".");
        if (!n || (name->len == n && !memcmp(name->data, key, n)))
            continue;
        buf_clear(name);
        buf_add(name, key, n);
        return 1;
    }
    return 0;
}

static int wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return 1;
    return !count;
}

static int check_names(const struct yaml *y, const char *path, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (!look_up(y, names[i], "command"))
            return err_set("there is no benchmark '%s' in '%s'", names[i], path);
    return 0;
}

int benchmark_run(const char *spec_path, char **names, int count, const char *json, const char *csv)
{
    struct yaml y;
    struct results r = { .json = BUF_INIT, .csv = BUF_INIT };
    struct buf name = BUF_INIT;
    if (yaml_load(&y, spec_path) < 0 || output_open(&r.out, "-") < 0)
        return -1;
    int result = check_names(&y, spec_path, names, count), failed = 0;
    for (size_t i = 0; !result && next_name(&y, &i, &name); i++) {
        struct benchmark b;
        if (!wanted(name.data, names, count))
            continue;
        result = read_benchmark(&b, &y, name.data);
        if (!result)
            failed += run_benchmark(&b, &r) < 0;
        else
            err_in("'%s'", spec_path);
        release(&b);
    }
    if (!result)
        result = write_results(&r, json, csv);
    buf_release(&r.json);
    buf_release(&r.csv);
    buf_release(&name);
    yaml_release(&y);
    if (output_close(&r.out) < 0)
        result = -1;
    return !result && failed ? err_set("%d of the benchmarks failed", failed) : result;
}

int benchmark_list(const char *spec_path)
{
    struct yaml y;
    struct buf text = BUF_INIT;
    struct buf name = BUF_INIT;
    if (yaml_load(&y, spec_path) < 0)
        return -1;
    for (size_t i = 0; next_name(&y, &i, &name); i++) {
        const char *what = look_up(&y, name.data, "description");
        buf_addf(&text, "%s%s%s\n", name.data, what ? "\t" : "", what ? what : "");
    }
    buf_release(&name);
    yaml_release(&y);
    int result = file_write("-", text.data, text.len);
    buf_release(&text);
    return result;
}
