#include "train/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/files/file.h"

enum { WIDTH = 680, HEIGHT = 300, LEFT = 64, RIGHT = 16, TOP = 12, BOTTOM = 40 };
enum { COLUMNS = 300 }; /* intervals of a thinned curve */

static const char style[] =
    "body{font:15px/1.5 system-ui,-apple-system,Segoe UI,Roboto,sans-serif;color:#1f2933;"
    "background:#f5f7fa;margin:0;padding:32px}"
    "main{max-width:1440px;margin:auto}h1{font-size:24px;font-weight:600;margin:0 0 4px}"
    "h2{font-size:15px;font-weight:600;margin:0 0 8px}p.sub{color:#616e7c;margin:0 0 24px}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;"
    "margin-bottom:20px}"
    ".card,.panel{background:#fff;border:1px solid #e4e7eb;border-radius:8px;padding:14px 16px}"
    ".card b{display:block;font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}"
    ".card span{color:#616e7c;font-size:13px}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(480px,1fr));gap:16px;"
    "margin-bottom:16px}"
    "svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:#616e7c}"
    ".key{float:right;font-size:13px;color:#616e7c}.key i{display:inline-block;width:18px;height:3px;"
    "border-radius:2px;margin:0 6px 3px 14px;vertical-align:middle}"
    ".config{columns:3 280px;column-gap:32px}.config div{break-inside:avoid;display:flex;justify-content:"
    "space-between;border-bottom:1px solid #eef1f4;padding:3px 0;font-size:13px}"
    ".config span{color:#616e7c;margin-right:12px}.config b{font-weight:500;text-align:right;"
    "overflow-wrap:anywhere}";

static void escape(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (s[i]) {
        case '&': buf_adds(out, "&amp;"); break;
        case '<': buf_adds(out, "&lt;"); break;
        case '>': buf_adds(out, "&gt;"); break;
        case '"': buf_adds(out, "&quot;"); break;
        default: buf_addc(out, s[i]);
        }
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

struct xy {
    double x, y;
};

struct series {
    const char *name, *colour;
    double width;
    int dots;
    struct xy *points;
    size_t count;
};

struct frame {
    double x0, x1, y0, y1, y_step; /* ranges of the data */
};

/* The value of a point that a curve shows. */
enum value {
    LOSS,
    VALIDATION,
    RATE,
    NORM,
    SPEED,
    PARTS
}; /* PARTS + part * METRICS_VALUES + value */

static double value_of(const struct metrics_point *p, enum value v)
{
    switch (v) {
    case LOSS: return p->loss;
    case VALIDATION: return p->validation;
    case RATE: return p->rate;
    case NORM: return p->norm;
    case SPEED: return p->tokens_per_second;
    default: return p->part[(v - PARTS) / METRICS_VALUES][(v - PARTS) % METRICS_VALUES];
    }
}

static void collect(struct series *s, const struct metrics *m, enum value v)
{
    s->points = NULL;
    s->count = 0;
    size_t cap = 0;
    for (size_t i = 0; i < m->count; i++) {
        double y = value_of(&m->points[i], v);
        if (!isfinite(y))
            continue;
        mem_grow(s->points, cap, s->count + 1);
        s->points[s->count++] = (struct xy){ (double)m->points[i].step, y };
    }
}

/* Replaces each value by the mean over a sixtieth of the curve on either side. Near the ends the
 * range is shorter, so that the first and last values do not change. */
static void smooth(struct series *out, const struct series *in)
{
    double *sums = mem_zalloc(in->count + 1, sizeof *sums);
    for (size_t i = 0; i < in->count; i++)
        sums[i + 1] = sums[i] + in->points[i].y;
    out->count = in->count;
    out->points = mem_zalloc(in->count, sizeof *out->points);
    for (size_t i = 0; i < in->count; i++) {
        size_t reach = in->count / 60, right = in->count - 1 - i;
        reach = reach < i ? reach : i;
        reach = reach < right ? reach : right;
        double sum = sums[i + reach + 1] - sums[i - reach];
        out->points[i] = (struct xy){ in->points[i].x, sum / (double)(2 * reach + 1) };
    }
    free(sums);
}

/* Keeps the least and the greatest value of each interval, in the order of x. */
static void thin(struct series *s)
{
    if (s->count <= 2 * COLUMNS)
        return;
    size_t kept = 0;
    for (size_t c = 0; c < COLUMNS; c++) {
        size_t from = s->count * c / COLUMNS, to = s->count * (c + 1) / COLUMNS;
        size_t least = from, most = from;
        for (size_t i = from; i < to; i++) {
            least = s->points[i].y < s->points[least].y ? i : least;
            most = s->points[i].y > s->points[most].y ? i : most;
        }
        struct xy a = s->points[least < most ? least : most];
        struct xy b = s->points[least < most ? most : least];
        s->points[kept++] = a;
        s->points[kept++] = b;
    }
    s->count = kept;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Returns 1, 2 or 5 times a power of ten, such that it divides `span` into about `parts`
 * intervals. */
static double tick_step(double span, int parts)
{
    double raw = span / parts, power = pow(10, floor(log10(raw))), m = raw / power;
    return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

static void put_number(struct buf *out, double v, double step)
{
    double size = fabs(v);
    if (v == 0)
        buf_adds(out, "0");
    else if (size >= 1e6)
        buf_addf(out, "%gM", v / 1e6);
    else if (size >= 1e4)
        buf_addf(out, "%gk", v / 1e3);
    else if (size < 1e-3)
        buf_addf(out, "%.3g", v);
    else
        buf_addf(out, "%.*f", step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0, v);
}

static double place_x(const struct frame *f, double x)
{
    return LEFT + (x - f->x0) / (f->x1 - f->x0) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->y0) / (f->y1 - f->y0) * (HEIGHT - TOP - BOTTOM);
}

/* Returns the ranges of the axes for n curves. The axis of steps ends at the last measured step.
 * from_zero 1: the other axis begins at 0. */
static struct frame frame_of(const struct series *s, size_t n, int from_zero)
{
    struct frame f = { 0, 1, INFINITY, -INFINITY, 1 };
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < s[k].count; i++) {
            f.y0 = fmin(f.y0, s[k].points[i].y);
            f.y1 = fmax(f.y1, s[k].points[i].y);
            f.x1 = fmax(f.x1, s[k].points[i].x);
        }
    if (from_zero)
        f.y0 = fmin(f.y0, 0);
    if (!(f.y1 > f.y0)) { /* all values are equal, or there are none */
        double middle = isfinite(f.y0) ? f.y0 : 0, half = middle ? fabs(middle) * 0.1 : 1;
        f.y0 = middle - half;
        f.y1 = middle + half;
    }
    f.y_step = tick_step(f.y1 - f.y0, 5);
    f.y0 = floor(f.y0 / f.y_step + 1e-9) * f.y_step;
    f.y1 = ceil(f.y1 / f.y_step - 1e-9) * f.y_step;
    return f;
}

static void put_axes(struct buf *out, const struct frame *f)
{
    double step = f->y_step;
    for (int i = 0; f->y0 + i * step <= f->y1 + step * 1e-6; i++) {
        double v = f->y0 + i * step, y = place_y(f, v);
        if (fabs(v) < step * 1e-6)
            v = 0;
        buf_addf(out,
                 "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#e4e7eb\"/>"
                 "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                 LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4);
        put_number(out, v, step);
        buf_adds(out, "</text>");
    }
    step = fmax(1, tick_step(f->x1 - f->x0, 7));
    for (int i = 0; f->x0 + i * step <= f->x1 + step * 1e-6; i++) {
        double v = f->x0 + i * step, x = place_x(f, v);
        buf_addf(out,
                 "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#cbd2d9\"/>"
                 "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                 x, x, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 5, x, HEIGHT - BOTTOM + 18);
        put_number(out, v, step);
        buf_adds(out, "</text>");
    }
    buf_addf(out,
             "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#9aa5b1\"/>"
             "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>",
             LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM, (LEFT + WIDTH - RIGHT) / 2,
             HEIGHT - 4);
}

static void put_series(struct buf *out, const struct frame *f, const struct series *s)
{
    if (!s->count)
        return;
    buf_addf(out,
             "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\""
             " points=\"",
             s->colour, s->width);
    for (size_t i = 0; i < s->count; i++)
        buf_addf(out, "%s%.1f,%.1f", i ? " " : "", place_x(f, s->points[i].x),
                 place_y(f, s->points[i].y));
    buf_adds(out, "\"/>");
    if (!s->dots && s->count > 1)
        return;
    for (size_t i = 0; i < s->count && s->count <= 60; i++)
        buf_addf(out,
                 "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>step %.0f: %.4g"
                 "</title></circle>",
                 place_x(f, s->points[i].x), place_y(f, s->points[i].y), s->colour, s->points[i].x,
                 s->points[i].y);
}

/* Appends a panel with the n curves s[] to `out`, and frees their points. from_zero 1: the vertical
 * axis begins at 0. */
static void put_chart(struct buf *out, const char *title, struct series *s, size_t n, int from_zero)
{
    struct frame f = frame_of(s, n, from_zero);
    buf_adds(out, "<section class=\"panel\"><span class=\"key\">");
    for (size_t k = 0; k < n && n > 1; k++)
        if (s[k].count)
            buf_addf(out, "<i style=\"background:%s\"></i>%s", s[k].colour, s[k].name);
    buf_addf(out, "</span><h2>%s</h2><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">",
             title, WIDTH, HEIGHT, title);
    put_axes(out, &f);
    for (size_t k = 0; k < n; k++) {
        thin(&s[k]);
        put_series(out, &f, &s[k]);
        free(s[k].points);
    }
    buf_adds(out, "</svg></section>\n");
}

/* Writes a panel with one value of each part of the loss, in training and in validation. */
static void put_part_chart(struct buf *out, const char *title, const struct metrics *m,
                           enum metrics_value v)
{
    static const char *const colours[METRICS_PARTS][2] = { { "#1f6fc5", "#e8590c" },
                                                           { "#2b8a3e", "#862e9c" } };
    struct series s[2 * METRICS_PARTS];
    char names[2 * METRICS_PARTS][64];
    size_t n = 0;
    for (int i = 0; i < m->part_count; i++)
        for (int k = 0; k < 2; k++, n++) {
            enum metrics_value value = (enum metrics_value)((int)v + k * METRICS_VALIDATION);
            snprintf(names[n], sizeof names[n], "%s, %s", m->parts[i].name,
                     k ? "validation" : "training");
            s[n] = (struct series){
                .name = names[n], .colour = colours[i][k], .width = 1.5, .dots = k
            };
            collect(&s[n], m, (enum value)(PARTS + i * METRICS_VALUES + (int)value));
        }
    put_chart(out, title, s, n, v == METRICS_ACCURACY);
}

static void put_charts(struct buf *out, const struct metrics *m)
{
    struct series loss[3] = {
        { .name = "training", .colour = "#a9c9ee", .width = 1 },
        { .name = "training, smoothed", .colour = "#1f6fc5", .width = 2 },
        { .name = "validation", .colour = "#e8590c", .width = 2, .dots = 1 }
    };
    collect(&loss[0], m, LOSS);
    smooth(&loss[1], &loss[0]);
    collect(&loss[2], m, VALIDATION);
    put_chart(out, m->part_count ? "Loss (nats, sum of its parts)" : "Loss (nats per token)", loss,
              3, 0);
    if (m->part_count) {
        put_part_chart(out, "Parts of the loss (nats per label)", m, METRICS_LOSS);
        put_part_chart(out, "Share of labels that were right", m, METRICS_ACCURACY);
    }
    static const struct {
        const char *title, *colour;
        enum value value;
    } others[] = { { "Learning rate", "#2b8a3e", RATE },
                   { "Gradient norm, before clipping", "#862e9c", NORM },
                   { "Throughput (tokens per second)", "#0b7285", SPEED } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct series s = { .colour = others[i].colour, .width = 1.5 };
        collect(&s, m, others[i].value);
        put_chart(out, others[i].title, &s, 1, 1);
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void put_card(struct buf *out, const char *value, const char *name)
{
    buf_addf(out, "<div class=\"card\"><b>%s</b><span>%s</span></div>", value, name);
}

static void put_part_cards(struct buf *out, const struct metrics *m, const struct metrics_point *p,
                           enum metrics_value v, const char *of)
{
    for (int i = 0; i < m->part_count; i++)
        buf_addf(out,
                 "<div class=\"card\"><b>%.4f</b><span>%s loss, %s<br>%.1f %% right</span></div>",
                 p->part[i][v + METRICS_LOSS], m->parts[i].name, of,
                 100 * p->part[i][v + METRICS_ACCURACY]);
}

static void put_loss_card(struct buf *out, double loss, const char *name)
{
    buf_addf(out, "<div class=\"card\"><b>%.4f</b><span>%s<br>perplexity %.4g</span></div>", loss,
             name, exp(loss));
}

static void put_losses(struct buf *out, const struct metrics *m, const struct metrics_point *last,
                       const struct metrics_point *validated, const struct metrics_point *best)
{
    if (m->part_count) {
        put_part_cards(out, m, last, METRICS_LOSS, "training");
        if (validated)
            put_part_cards(out, m, validated, METRICS_VALIDATION, "validation");
        return;
    }
    put_loss_card(out, last->loss, "training loss");
    if (validated)
        put_loss_card(out, validated->validation, "validation loss");
    if (best && best != validated)
        put_loss_card(out, best->validation, "best validation loss");
}

static void put_summary(struct buf *out, const struct page *p, const struct metrics *m)
{
    const struct metrics_point *last = &m->points[m->count - 1], *validated = NULL, *best = NULL;
    for (size_t i = 0; i < m->count; i++) {
        if (isnan(m->points[i].validation))
            continue;
        validated = &m->points[i];
        best = !best || validated->validation < best->validation ? validated : best;
    }
    char value[96], count[32];
    buf_adds(out, "<div class=\"cards\">");
    put_losses(out, m, last, validated, best);
    snprintf(value, sizeof value, "%lld of %lld", (long long)last->step, (long long)p->steps);
    put_card(out, value, "updates");
    put_card(out, log_count(count, (uint64_t)p->parameters), "parameters");
    put_card(out, log_count(count, last->tokens), "tokens seen");
    double speed = last->elapsed > 0 ? (double)last->tokens / last->elapsed : 0;
    snprintf(value, sizeof value, "tokens a second<br>%.1f GFLOP/s",
             speed * p->flops_per_token * 1e-9);
    put_card(out, log_count(count, (uint64_t)speed), value);
    long s = lround(last->elapsed);
    snprintf(value, sizeof value, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    put_card(out, value, "training time");
    if (p->peak_bytes)
        put_card(out, log_bytes(count, p->peak_bytes), "peak memory");
    buf_adds(out, "</div>\n");
}

/* Appends a table of lines "NAME: TEXT", each perhaps with "# " before it. */
static void put_lines(struct buf *out, const char *title, const char *lines)
{
    buf_addf(out, "<section class=\"panel\"><h2>%s</h2><div class=\"config\">", title);
    for (const char *line = lines; *line;) {
        line += strspn(line, "# ");
        size_t n = strcspn(line, "\n");
        const char *colon = memchr(line, ':', n);
        if (colon) {
            buf_adds(out, "<div><span>");
            escape(out, line, (size_t)(colon - line));
            buf_adds(out, "</span><b>");
            const char *value = colon + 1 + strspn(colon + 1, " ");
            escape(out, value, value < line + n ? (size_t)(line + n - value) : 0);
            buf_adds(out, "</b></div>");
        }
        line += n + (line[n] == '\n');
    }
    buf_adds(out, "</div></section>\n");
}

int page_write(const char *path, const struct page *p, const struct metrics *m)
{
    if (!m->count)
        return 0;
    struct buf page = BUF_INIT;
    buf_adds(&page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                    "<meta name=\"viewport\" content=\"width=device-width\"><title>");
    escape(&page, p->title, strlen(p->title));
    buf_addf(&page, "</title><style>%s</style></head>\n<body><main><h1>", style);
    escape(&page, p->title, strlen(p->title));
    buf_adds(&page, "</h1><p class=\"sub\">Training run on ");
    escape(&page, p->machine, strlen(p->machine));
    buf_adds(&page, "</p>\n");
    put_summary(&page, p, m);
    buf_adds(&page, "<div class=\"grid\">\n");
    put_charts(&page, m);
    buf_adds(&page, "</div>\n");
    put_lines(&page, "Run", p->about);
    put_lines(&page, "Configuration", p->config);
    buf_adds(&page, "</main></body></html>\n");
    int result = file_write(path, page.data, page.len);
    buf_release(&page);
    return result;
}
