#include "train/report/metrics.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "train/report/origin.h"

static const char *const prefixes[METRICS_VALUES] = { "", "", "validation_", "validation_" };

const char *const metrics_times[TIME_KINDS] = { "products", "attention", "loss", "optimizer",
                                                "waiting",  "reading",   "other" };

static int is_accuracy(enum metrics_value v)
{
    return v % METRICS_VALIDATION == METRICS_ACCURACY;
}

/* Sets `out` to the name that value v of part i of the loss has in metrics.jsonl, such as
 * "mlm_loss". */
static void put_name(char out[64], const struct metrics *m, int i, enum metrics_value v)
{
    snprintf(out, 64, "%s%s_%s", prefixes[v], m->parts[i].name,
             is_accuracy(v) ? "accuracy" : "loss");
}

static void put_tag(char out[64], const struct metrics *m, int i, enum metrics_value v)
{
    snprintf(out, 64, "%s/%s%s", is_accuracy(v) ? "accuracy" : "loss", prefixes[v],
             m->parts[i].name);
}

/* Adds a point, whose sample is taken. */
static void keep(struct metrics *m, const struct metrics_point *p)
{
    mem_grow(m->points, m->cap, m->count + 1);
    m->points[m->count++] = *p;
}

/* ---- reading back ---------------------------------------------------------------------------- */

static double real(const struct js *o, const char *key)
{
    double v;
    return js_real(js_get(o, key), &v) < 0 ? NAN : v;
}

static void parse_parts(const struct metrics *m, const struct js *o, struct metrics_point *p)
{
    char name[64];
    for (int i = 0; i < METRICS_PARTS; i++)
        for (int v = 0; v < METRICS_VALUES; v++) {
            p->part[i][v] = NAN;
            if (i >= m->part_count)
                continue;
            put_name(name, m, i, (enum metrics_value)v);
            p->part[i][v] = real(o, name);
        }
}

/* Parses one line of metrics.jsonl into *p. Returns 0, or -1 if it is not a complete point, as the
 * last line of a killed run may be. */
static int parse_point(const struct metrics *m, const char *line, size_t n, struct metrics_point *p)
{
    SCOPED_JS o = js_parse(line, n, "metrics");
    int64_t tokens = 0;
    if (!o)
        return -1;
    int result = js_int(js_get(o, "step"), &p->step);
    js_int(js_get(o, "tokens"), &tokens);
    p->loss = real(o, "loss");
    p->validation = real(o, "validation_loss");
    p->rate = real(o, "learning_rate");
    p->norm = real(o, "gradient_norm");
    p->tokens = (uint64_t)tokens;
    p->seconds = real(o, "seconds");
    p->elapsed = real(o, "elapsed_seconds");
    p->tokens_per_second = real(o, "tokens_per_second");
    parse_parts(m, o, p);
    const struct js *shares = js_get(o, "shares");
    for (int i = 0; i < TIME_KINDS; i++)
        p->seconds_of[i] = shares ? real(shares, metrics_times[i]) : 0;
    const char *sample = js_text(js_get(o, "sample"), NULL);
    p->sample = sample && !result ? mem_strdup(sample) : NULL;
    return result;
}

/* Reads the points up to `step` and leaves only their lines in the file. */
static int rewind_to(struct metrics *m, int64_t step)
{
    SCOPED(buf) text = BUF_INIT, kept = BUF_INIT;
    enum file_kind kind;
    if (file_look(m->path, &kind) < 0 || (step > 0 && kind && file_read(m->path, &text) < 0))
        return -1;
    for (char *line = text.data, *lf; (lf = strchr(line, '\n')); line = lf + 1) {
        struct metrics_point p;
        if (parse_point(m, line, (size_t)(lf - line), &p) < 0)
            break;
        if (p.step > step) {
            free(p.sample);
            break;
        }
        keep(m, &p);
        buf_add(&kept, line, (size_t)(lf - line) + 1);
    }
    return file_write(m->path, kept.data, kept.len);
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

int metrics_read(struct metrics *m, const char *dir)
{
    SCOPED(buf) path = BUF_INIT, text = BUF_INIT;
    file_join(&path, dir, "metrics.jsonl");
    int result = file_read(path.data, &text);
    m->parts = m->found;
    int number = 1;
    for (char *line = text.data, *lf; !result && (lf = strchr(line, '\n')); line = lf + 1) {
        struct metrics_point p;
        if (!m->count)
            find_parts(m, line, (size_t)(lf - line));
        if (parse_point(m, line, (size_t)(lf - line), &p) < 0)
            result = err_set("'%s', line %d: train did not write this: it has no number \"step\"",
                             path.data, number);
        else
            keep(m, &p);
        number++;
    }
    if (!result && !m->count)
        result = err_set("'%s' has no measurements yet", path.data);
    return result;
}

/* ---- training.csv ---------------------------------------------------------------------------- */

void metrics_csv_header(const struct metrics *m, struct buf *out)
{
    char name[64];
    buf_adds(out, "step,loss,learning_rate,gradient_norm,tokens,seconds,elapsed_seconds,"
                  "tokens_per_second,validation_loss");
    for (int i = 0; i < m->part_count; i++)
        for (int v = 0; v < METRICS_VALUES; v++) {
            put_name(name, m, i, (enum metrics_value)v);
            buf_addf(out, ",%s", name);
        }
    buf_addc(out, '\n');
}

static void put_field(struct buf *out, double value)
{
    buf_addc(out, ',');
    if (isfinite(value))
        buf_addf(out, "%.10g", value);
}

void metrics_csv_line(const struct metrics *m, const struct metrics_point *p, struct buf *out)
{
    buf_addf(out, "%lld", (long long)p->step);
    put_field(out, p->loss);
    put_field(out, p->rate);
    put_field(out, p->norm);
    buf_addf(out, ",%llu,%.6f,%.3f,%.1f", (unsigned long long)p->tokens, p->seconds, p->elapsed,
             p->tokens_per_second);
    put_field(out, p->validation);
    for (int i = 0; i < m->part_count; i++)
        for (int v = 0; v < METRICS_VALUES; v++)
            put_field(out, p->part[i][v]);
    buf_addc(out, '\n');
}

/* Writes the table's header and the points read back from metrics.jsonl. */
static int begin_csv(struct metrics *m)
{
    SCOPED(buf) text = BUF_INIT;
    metrics_csv_header(m, &text);
    for (size_t i = 0; i < m->count; i++)
        metrics_csv_line(m, &m->points[i], &text);
    return file_write(m->csv_path, text.data, text.len);
}

/* ---- opening --------------------------------------------------------------------------------- */

int metrics_open(struct metrics *m, const char *dir, int64_t step, const struct model_part *parts,
                 int count)
{
    *m = (struct metrics){ .parts = parts,
                           .part_count = parts && parts->name ? count : 0,
                           .run = BUF_INIT };
    SCOPED(buf) path = BUF_INIT;
    file_join(&path, dir, "metrics.jsonl");
    m->path = mem_strdup(path.data);
    file_join(&path, dir, "training.csv");
    m->csv_path = mem_strdup(path.data);
    int result = rewind_to(m, step);
    if (!result && !(m->file = file_append(m->path)))
        result = -1;
    if (!result)
        result = begin_csv(m);
    if (!result && !(m->csv = file_append(m->csv_path)))
        result = -1;
    file_join(&path, dir, "events.out.tfevents.textmill");
    if (!result)
        result = event_open(&m->events, path.data, step);
    return result;
}

int metrics_begin(struct metrics *m, int64_t step, const struct kv *origin, const char *config)
{
    SCOPED(buf) text = BUF_INIT;
    buf_adds(&m->run, ",\"run\":");
    origin_json(origin, &m->run);
    origin_table(origin, 1, &text);
    int result = event_write_text(&m->events, step, "run", text.data);
    if (!result && !step) /* TensorBoard knows one set of hyperparameters per folder */
        result = event_write_settings(&m->events, step, config);
    return result;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes a number as JSON to `text` and returns it. JSON has no infinity and no NaN: these become
 * null. */
static const char *put_real(char text[32], double value)
{
    snprintf(text, 32, isfinite(value) ? "%.10g" : "null", value);
    return text;
}

static int flush(FILE *file, const char *path)
{
    if (fflush(file) || ferror(file))
        return err_set("cannot write '%s': %s", path, strerror(errno));
    return 0;
}

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
    char name[64], loss[32], norm[32];
    fprintf(m->file,
            "{\"step\":%lld,\"loss\":%s,\"learning_rate\":%.10g,\"gradient_norm\":%s,"
            "\"tokens\":%llu,\"seconds\":%.6f,\"elapsed_seconds\":%.3f,\"tokens_per_second\":%.1f",
            (long long)p->step, put_real(loss, p->loss), p->rate, put_real(norm, p->norm),
            (unsigned long long)p->tokens, p->seconds, p->elapsed, p->tokens_per_second);
    if (!isnan(p->validation))
        fprintf(m->file, ",\"validation_loss\":%.10g", p->validation);
    for (int i = 0; i < m->part_count; i++)
        for (int v = 0; v < METRICS_VALUES; v++) {
            put_name(name, m, i, (enum metrics_value)v);
            if (!isnan(p->part[i][v]))
                fprintf(m->file, ",\"%s\":%.10g", name, p->part[i][v]);
        }
    SCOPED(buf) rest = BUF_INIT;
    metrics_shares(p, &rest);
    if (p->sample) {
        buf_adds(&rest, ",\"sample\":");
        js_quote(&rest, p->sample, strlen(p->sample));
    }
    fprintf(m->file, "%s%s}\n", rest.data, m->run.data);
    buf_clear(&m->run);
    return flush(m->file, m->path);
}

static int add_csv_line(struct metrics *m, const struct metrics_point *p)
{
    SCOPED(buf) line = BUF_INIT;
    metrics_csv_line(m, p, &line);
    fputs(line.data, m->csv);
    return flush(m->csv, m->csv_path);
}

static int add_event(struct metrics *m, const struct metrics_point *p)
{
    enum { MOST = 5 + METRICS_PARTS * METRICS_VALUES };
    char tags[MOST][64];
    size_t n = 4;
    struct event_scalar scalars[MOST] = {
        { "loss/train", p->loss },
        { "learning_rate", p->rate },
        { "gradient_norm", p->norm },
        { "tokens_per_second", p->tokens_per_second },
    };
    if (!isnan(p->validation))
        scalars[n++] = (struct event_scalar){ "loss/validation", p->validation };
    for (int i = 0; i < m->part_count; i++)
        for (int v = 0; v < METRICS_VALUES; v++) {
            if (isnan(p->part[i][v]))
                continue;
            put_tag(tags[n], m, i, (enum metrics_value)v);
            scalars[n] = (struct event_scalar){ tags[n], p->part[i][v] };
            n++;
        }
    return event_write(&m->events, p->step, scalars, n);
}

int metrics_add(struct metrics *m, const struct metrics_point *p)
{
    keep(m, p);
    if (add_line(m, p) < 0 || add_csv_line(m, p) < 0 || add_event(m, p) < 0)
        return -1;
    return p->sample ? event_write_text(&m->events, p->step, "sample", p->sample) : 0;
}

static int sync_file(FILE *file, const char *path)
{
    if (fflush(file) || AGAIN(fsync(fileno(file))) < 0)
        return err_set("cannot write '%s': %s", path, strerror(errno));
    return 0;
}

int metrics_sync(struct metrics *m)
{
    if (sync_file(m->file, m->path) < 0 || sync_file(m->csv, m->csv_path) < 0)
        return -1;
    return event_sync(&m->events);
}

/* Syncs and closes the file, if it is open. */
static int close_file(FILE *file, const char *path)
{
    if (!file)
        return 0;
    int result = sync_file(file, path);
    return fclose(file) ? err_set("cannot close '%s': %s", path, strerror(errno)) : result;
}

int metrics_close(struct metrics *m)
{
    int result = close_file(m->file, m->path);
    if (close_file(m->csv, m->csv_path) < 0)
        result = -1;
    if (event_close(&m->events) < 0)
        result = -1;
    if (m->path)
        buf_release(&m->run);
    for (int i = 0; i < METRICS_PARTS; i++)
        free((char *)m->found[i].name);
    for (size_t i = 0; i < m->count; i++)
        free(m->points[i].sample);
    free(m->points);
    free(m->path);
    free(m->csv_path);
    *m = (struct metrics){ 0 };
    return result;
}
