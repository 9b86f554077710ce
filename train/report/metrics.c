#include "train/report/metrics.h"

#include <math.h>

#include "common/formats/js.h"
#include "train/report/origin.h"

const char *const metrics_times[TIME_KINDS] = { "products", "attention", "loss", "optimizer",
                                                "waiting",  "reading",   "other" };

/* A number of a point, as metrics.jsonl, training.csv and the TensorBoard file have it. */
struct number {
    char name[64];
    const char *format;
    size_t at;    /* its place in struct metrics_point */
    int optional; /* 1: left out if it was not measured */
    char tag[64]; /* for TensorBoard; empty: it has no such number */
};

static const struct number numbers[] = {
    { "loss", "%.10g", offsetof(struct metrics_point, loss), 0, "loss/train" },
    { "learning_rate", "%.10g", offsetof(struct metrics_point, rate), 0, "learning_rate" },
    { "gradient_norm", "%.10g", offsetof(struct metrics_point, norm), 0, "gradient_norm" },
    { "tokens", "%.0f", offsetof(struct metrics_point, tokens), 0, "" },
    { "seconds", "%.6f", offsetof(struct metrics_point, seconds), 0, "" },
    { "elapsed_seconds", "%.3f", offsetof(struct metrics_point, elapsed), 0, "" },
    { "tokens_per_second", "%.1f", offsetof(struct metrics_point, tokens_per_second), 0,
      "tokens_per_second" },
    { "validation_loss", "%.10g", offsetof(struct metrics_point, validation), 1,
      "loss/validation" },
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* Sets *n to number k of a point, first those of `numbers`, then those of the parts of the loss,
 * such as "mlm_loss". Returns its place in p, or NULL after the last. */
static double *number(const struct metrics *m, const struct metrics_point *p, size_t k,
                      struct number *n)
{
    if (k >= NUMBERS + (size_t)m->part_count * METRICS_VALUES)
        return NULL;
    if (k < NUMBERS) {
        *n = numbers[k];
    } else {
        k -= NUMBERS;
        const enum metrics_value v = k % METRICS_VALUES;
        const char *part = m->parts[k / METRICS_VALUES].name,
                   *prefix = v < METRICS_VALIDATION ? "" : "validation_";
        const char *what = v % METRICS_VALIDATION == METRICS_ACCURACY ? "accuracy" : "loss";
        *n = (struct number){ "", "%.10g", offsetof(struct metrics_point, part), 1, "" };
        n->at += k * sizeof(double);
        snprintf(n->name, sizeof n->name, "%s%s_%s", prefix, part, what);
        snprintf(n->tag, sizeof n->tag, "%s/%s%s", what, prefix, part);
    }
    return (double *)((char *)p + n->at);
}

/* ---- reading back ---------------------------------------------------------------------------- */

static double real(const struct js *o, const char *key)
{
    double v;
    return js_real(js_get(o, key), &v) < 0 ? NAN : v;
}

/* Parses one line of metrics.jsonl into *p. Returns 0, or -1 if it is not a complete point, as the
 * last line of a killed run may be. */
static int parse_point(const struct metrics *m, const char *line, size_t length,
                       struct metrics_point *p)
{
    SCOPED_JS o = js_parse(line, length, "metrics");
    struct number n;
    if (!o)
        return -1;
    int result = js_int(js_get(o, "step"), &p->step);
    double *value;
    for (size_t k = 0; (value = number(m, p, k, &n)); k++)
        *value = real(o, n.name);
    const struct js *shares = js_get(o, "shares");
    for (int i = 0; i < TIME_KINDS; i++)
        p->seconds_of[i] = shares ? real(shares, metrics_times[i]) : 0;
    const char *sample = js_text(js_get(o, "sample"), NULL);
    p->sample = sample && !result ? mem_strdup(sample) : NULL;
    return result;
}

/* Finds the parts of the loss by the names of a point's values, such as "mlm_loss". */
static void find_parts(struct metrics *m, const char *line, size_t n)
{
    static const char end[] = "_accuracy";
    SCOPED_JS o = js_parse(line, n, "metrics");
    for (void *it = o ? js_first(o) : NULL; it && m->part_count < METRICS_PARTS;
         it = js_next(o, it)) {
        const char *key = js_key(it, NULL);
        const size_t length = strlen(key), name = length - (sizeof end - 1);
        if (length < sizeof end || strcmp(key + name, end) || !strncmp(key, "validation_", 11))
            continue;
        m->found[m->part_count++].name = mem_strndup(key, name);
    }
}

/* Reads the points up to `step`, and writes their lines to `kept`. With `kept` NULL, also finds the
 * parts of the loss, and a line that is no point is an error. The last line may be cut. */
static int read_points(struct metrics *m, const char *path, int64_t step, struct output *kept)
{
    SCOPED_BY(input_close) struct input in = { 0 };
    struct metrics_point p;
    char *line;
    size_t n;
    int got = input_open_soon(&in, path) < 0 ? -1 : 1;
    while (got > 0 && (got = input_line(&in, &line, &n)) > 0 && in.data + in.begin > line + n) {
        if (!kept && !m->count)
            find_parts(m, line, n);
        const int is_point = parse_point(m, line, n, &p) == 0;
        if (!is_point && !kept)
            return err_set("'%s', line %zu: train did not write this: it has no number \"step\"",
                           path, m->count + 1);
        if (!is_point)
            continue; /* a damaged line is dropped; the lines after it are kept */
        if (p.step > step) {
            free(p.sample);
            break;
        }
        mem_next(m->points, m->count, m->cap) = p;
        got = kept && output_write(kept, line, n + 1) < 0 ? -1 : 1;
    }
    return got < 0 ? -1 : 0;
}

/* Reads the points up to `step` and leaves only their lines in the file. */
static int rewind_to(struct metrics *m, const char *path, int64_t step)
{
    struct output kept = { 0 };
    const int there = file_look(path);
    int result = there < 0 ? -1 : output_open(&kept, path);
    if (!result && there && step > 0)
        result = read_points(m, path, step, &kept);
    return output_end(&kept, result);
}

int metrics_read(struct metrics *m, const char *dir)
{
    SCOPED(buf) path = file_path(dir, "metrics.jsonl");
    m->parts = m->found;
    const int failed = read_points(m, path.data, INT64_MAX, NULL);
    return failed || m->count ? failed : err_set("'%s' has no measurements yet", path.data);
}

/* ---- training.csv ---------------------------------------------------------------------------- */

void metrics_csv_header(const struct metrics *m, struct buf *out)
{
    static const struct metrics_point none;
    struct number n;
    buf_adds(out, "step");
    for (size_t k = 0; number(m, &none, k, &n); k++)
        buf_addf(out, ",%s", n.name);
    buf_addc(out, '\n');
}

void metrics_csv_line(const struct metrics *m, const struct metrics_point *p, struct buf *out)
{
    buf_addf(out, "%lld", (long long)p->step);
    struct number n;
    const double *value;
    for (size_t k = 0; (value = number(m, p, k, &n)); k++) {
        buf_addc(out, ',');
        if (isfinite(*value))
            buf_addf(out, n.format, *value);
    }
    buf_addc(out, '\n');
}

/* ---- opening --------------------------------------------------------------------------------- */

int metrics_open(struct metrics *m, const char *dir, int64_t step, const struct model_part *parts,
                 int count)
{
    *m = (struct metrics){ .parts = parts,
                           .part_count = parts && parts->name ? count : 0,
                           .run = BUF_INIT };
    SCOPED(buf) path = file_path(dir, "metrics.jsonl");
    if (rewind_to(m, path.data, step) < 0 || file_log_open(&m->log, path.data) < 0)
        return -1;
    SCOPED(buf) csv = file_path(dir, "training.csv"), text = BUF_INIT;
    metrics_csv_header(m, &text);
    for (size_t i = 0; i < m->count; i++) /* the points read back */
        metrics_csv_line(m, &m->points[i], &text);
    if (file_write(csv.data, text.data, text.len) < 0 || file_log_open(&m->csv, csv.data) < 0)
        return -1;
    SCOPED(buf) events = file_path(dir, "events.out.tfevents.textmill");
    return event_open(&m->events, events.data, step);
}

int metrics_begin(struct metrics *m, int64_t step, const struct kv *origin, const char *config)
{
    SCOPED(buf) text = BUF_INIT;
    buf_adds(&m->run, ",\"run\":");
    origin_json(origin, &m->run);
    origin_table(origin, 1, &text);
    if (event_write_text(&m->events, step, "run", text.data) < 0)
        return -1; /* TensorBoard knows one set of hyperparameters per folder: */
    return step ? 0 : event_write_settings(&m->events, step, config);
}

/* ---- writing --------------------------------------------------------------------------------- */

void metrics_shares(const struct metrics_point *p, struct buf *out)
{
    double all = 0;
    for (int i = 0; i < TIME_KINDS; i++)
        all += p->seconds_of[i];
    for (int i = 0; i < TIME_KINDS && all > 0; i++)
        buf_addf(out, "%s\"%s\":%.4f%s", i ? "," : ",\"shares\":{", metrics_times[i],
                 p->seconds_of[i] / all, i == TIME_KINDS - 1 ? "}" : "");
}

static int add_line(struct metrics *m, const struct metrics_point *p)
{
    struct number n;
    const double *value;
    SCOPED(buf) line = buf_format("{\"step\":%lld", (long long)p->step);
    for (size_t k = 0; (value = number(m, p, k, &n)); k++) {
        if (n.optional && isnan(*value))
            continue;
        buf_addf(&line, ",\"%s\":", n.name);
        buf_addf(&line, isfinite(*value) ? n.format : "null", *value); /* JSON has no infinity */
    }
    metrics_shares(p, &line);
    if (p->sample) {
        buf_adds(&line, ",\"sample\":");
        js_quote(&line, p->sample, strlen(p->sample));
    }
    buf_addf(&line, "%s}\n", m->run.data);
    buf_clear(&m->run);
    return file_log_add(&m->log, line.data, line.len);
}

static int add_event(struct metrics *m, const struct metrics_point *p)
{
    SCOPED(buf) summary = BUF_INIT;
    struct number n;
    const double *value;
    for (size_t k = 0; (value = number(m, p, k, &n)); k++)
        if (*n.tag && !(n.optional && isnan(*value)))
            event_add(&summary, n.tag, *value);
    return event_write(&m->events, p->step, &summary);
}

int metrics_add(struct metrics *m, const struct metrics_point *p)
{
    SCOPED(buf) csv = BUF_INIT;
    mem_next(m->points, m->count, m->cap) = *p;
    metrics_csv_line(m, p, &csv);
    if (add_line(m, p) < 0 || file_log_add(&m->csv, csv.data, csv.len) < 0 || add_event(m, p) < 0)
        return -1;
    return p->sample ? event_write_text(&m->events, p->step, "sample", p->sample) : 0;
}

int metrics_sync(struct metrics *m)
{
    const int failed = file_log_sync(&m->log) < 0 || file_log_sync(&m->csv) < 0;
    return failed ? -1 : file_log_sync(&m->events);
}

int metrics_close(struct metrics *m)
{
    int result = file_log_close(&m->log);
    result |= file_log_close(&m->csv);
    result |= file_log_close(&m->events);
    buf_release(&m->run);
    for (int i = 0; i < METRICS_PARTS; i++)
        free((char *)m->found[i].name);
    for (size_t i = 0; i < m->count; i++)
        free(m->points[i].sample);
    free(m->points);
    *m = (struct metrics){ 0 };
    return result;
}
