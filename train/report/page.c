#include "train/report/page.h"

#include <math.h>

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/formats/js.h"

extern const char report_page[]; /* page.html */

enum {
    INTERVALS = 150, /* of a curve with many points */
    SAMPLES = 24     /* texts that are shown at most */
};

/* ---- points ---------------------------------------------------------------------------------- */

/* Returns the loss of each point as a mean over a sixtieth of the curve on either side. Near the
 * ends the range is shorter, so that the first and last values do not change. Values that are no
 * numbers do not count. The caller frees the array. */
static double *smooth(const struct metrics *m)
{
    double *out = mem_zalloc(m->count, sizeof *out);
    SCOPED_MEM double *sums = mem_zalloc(m->count + 1, sizeof *sums);
    SCOPED_MEM size_t *counts = mem_zalloc(m->count + 1, sizeof *counts);
    for (size_t i = 0; i < m->count; i++) {
        const int there = isfinite(m->points[i].loss);
        sums[i + 1] = sums[i] + (there ? m->points[i].loss : 0);
        counts[i + 1] = counts[i] + (size_t)there;
    }
    for (size_t i = 0; i < m->count; i++) {
        size_t reach = m->count / 60, right = m->count - 1 - i;
        reach = reach < i ? reach : i;
        reach = reach < right ? reach : right;
        out[i] = (sums[i + reach + 1] - sums[i - reach]) /
                 (double)(counts[i + reach + 1] - counts[i - reach]);
    }
    return out;
}

/* Marks those of the points [from, to), an interval, that the page shows. */
static void choose(const struct metrics *m, size_t from, size_t to, unsigned char *chosen)
{
    const struct metrics_point *p = m->points;
    size_t least = from, most = from, steepest = from, validated = to;
    for (size_t i = from; i < to; i++) {
        least = p[i].loss < p[least].loss || isnan(p[least].loss) ? i : least;
        most = p[i].loss > p[most].loss || isnan(p[most].loss) ? i : most;
        steepest = p[i].norm > p[steepest].norm ? i : steepest;
        if (!isnan(p[i].validation) &&
            (validated == to || p[i].validation < p[validated].validation))
            validated = i;
    }
    chosen[least] = chosen[most] = chosen[steepest] = 1;
    if (validated < to)
        chosen[validated] = 1;
}

/* Appends the points that the page shows, as the lines of a training.csv with one more column. */
static void put_points(struct buf *out, const struct metrics *m)
{
    SCOPED_MEM unsigned char *chosen = mem_zalloc(m->count, 1);
    SCOPED_MEM double *means = smooth(m);
    const size_t intervals = m->count < 4 * INTERVALS ? m->count : INTERVALS;
    for (size_t i = 0; i < intervals; i++)
        choose(m, m->count * i / intervals, m->count * (i + 1) / intervals, chosen);
    chosen[m->count - 1] = 1;
    for (size_t i = m->count; i--;) /* the last validation is the run's result */
        if (!isnan(m->points[i].validation)) {
            chosen[i] = 1;
            break;
        }
    metrics_csv_header(m, out);
    buf_rtrim(out);
    buf_adds(out, ",smooth_loss\n");
    for (size_t i = 0; i < m->count; i++)
        if (chosen[i]) {
            metrics_csv_line(m, &m->points[i], out);
            buf_rtrim(out);
            buf_addf(out, isfinite(means[i]) ? ",%.6g\n" : ",\n", means[i]);
        }
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Appends a member. Scripts in HTML end at the first "</script", so "<" is written by its number.
 */
static void put_text(struct buf *out, const char *name, const char *text)
{
    SCOPED(buf) quoted = BUF_INIT;
    js_quote(&quoted, text, strlen(text));
    buf_addf(out, ",\"%s\":", name);
    buf_add_replaced(out, quoted.data, quoted.len, "<", 1, "\\u003c", 6);
}

/* Appends the texts that the model wrote, each with its step: of many the first, the last, and some
 * between them. */
static void put_samples(struct buf *out, const struct metrics *m)
{
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < m->count; i++)
        count += m->points[i].sample != NULL;
    buf_adds(out, ",\"samples\":[");
    for (size_t i = 0, k = 0; i < m->count; i++) {
        const struct metrics_point *p = &m->points[i];
        if (!p->sample ||
            (k++ * (SAMPLES - 1) / (count > SAMPLES ? count - 1 : SAMPLES - 1)) < shown)
            continue;
        buf_addf(out, "%s{\"step\":%" PRId64, shown++ ? "," : "", p->step);
        put_text(out, "text", p->sample);
        buf_addc(out, '}');
    }
    buf_addc(out, ']');
}

static void put_run(struct buf *out, const struct page_run *r)
{
    SCOPED(buf) points = BUF_INIT;
    put_points(&points, r->metrics);
    buf_addf(out,
             "{\"steps\":%" PRId64 ",\"parameters\":%" PRId64 ",\"flops\":%.10g,\"memory\":%" PRIu64
             ",\"running\":%s",
             r->steps, r->parameters, r->flops_per_token, r->peak_bytes,
             r->running ? "true" : "false");
    put_text(out, "name", r->name);
    put_text(out, "title", r->title);
    put_text(out, "machine", r->machine);
    put_text(out, "about", r->about);
    put_text(out, "config", r->config);
    put_text(out, "points", points.data);
    put_samples(out, r->metrics);
    metrics_shares(&r->metrics->points[r->metrics->count - 1], out);
    buf_addc(out, '}');
}

int page_write(const char *path, const struct page_run *runs, size_t count)
{
    static const char mark[] = "@DATA@";
    const char *data = strstr(report_page, mark);
    SCOPED(buf) page = BUF_INIT;
    for (size_t i = 0; i < count; i++)
        if (!runs[i].metrics->count)
            return 0;
    buf_add(&page, report_page, (size_t)(data - report_page));
    buf_addf(&page, "{\"written\":%" PRId64 ",\"runs\":[\n", origin_now());
    for (size_t i = 0; i < count; i++) {
        buf_adds(&page, i ? ",\n" : "");
        put_run(&page, &runs[i]);
    }
    buf_adds(&page, "]}");
    buf_adds(&page, data + strlen(mark));
    return file_write(path, page.data, page.len);
}

/* ---- the model card -------------------------------------------------------------------------- */

static const char card_mark[] =
    "<!-- train writes this file anew as long as this line is in it. -->";

static void print_losses(struct buf *out, const struct page_run *p)
{
    const struct metrics *m = p->metrics;
    const char *unit = strstr(p->config, "task: regression\n") ? "" : " nats";
    const struct metrics_point *last = m->count ? &m->points[m->count - 1] : NULL;
    if (last && isfinite(last->loss))
        buf_addf(out, "- training loss at the end: %.4f%s\n", last->loss, unit);
    if (last && isfinite(last->validation))
        buf_addf(out, "- validation loss at the end: %.4f%s\n", last->validation, unit);
}

int page_write_card(const char *dir, const struct page_run *p, const struct kv *origin,
                    int generates)
{
    SCOPED(buf) path = file_path(dir, "README.md"), text = BUF_INIT;
    char parameters[32], tokens[32];
    const int free = origin_may_replace(path.data, card_mark);
    if (free < 0)
        return -1;
    if (!free)
        log_info("'%s' stays: it was not written by train", path.data);
    buf_addf(&text, "---\nlibrary_name: transformers\n%stags:\n- textmill\n---\n%s\n\n# %s\n\n",
             generates ? "pipeline_tag: text-generation\n" : "", card_mark, p->title);
    buf_addf(&text, "- parameters: %s\n- updates: %lld\n- tokens seen: %s\n",
             log_count(parameters, (uint64_t)p->parameters), (long long)p->steps,
             log_count(tokens,
                       p->metrics->count ? p->metrics->points[p->metrics->count - 1].tokens : 0));
    print_losses(&text, p);
    if (p->calibrated.factor > 0)
        buf_addf(&text, "- then the logits were multiplied by %.4f: validation loss %.4f nats\n",
                 p->calibrated.factor, p->calibrated.loss);
    if (generates)
        buf_adds(&text, "\n## Use\n\n```sh\ngenerate --model . 'A text to continue'\n```\n\n"
                        "```python\nfrom transformers import pipeline\n\n"
                        "print(pipeline('text-generation', '.')('A text to continue'))\n```\n");
    buf_adds(&text, "\n## Where it comes from\n\n");
    origin_table(origin, 0, &text);
    return free ? file_write(path.data, text.data, text.len) : 0;
}
