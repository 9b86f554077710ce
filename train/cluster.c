#include "train/cluster.h"

#include <math.h>

#include "common/formats/yaml.h"

/* The contents of a machine file. */
struct machine {
    double f32_flops, bf16_flops; /* of one rank, per second */
    double reached; /* fraction of these flops that is reached by the matrix products of a step */
    double memory;  /* bytes of a rank */
    double ranks_per_host;
    double host_bandwidth, network_bandwidth; /* bytes per second that a rank sends to ranks of its
                                               * host, and of other hosts */
    double latency;                           /* seconds per operation between ranks */
};

static int read_number(const struct yaml *y, const char *path, const char *key, double least,
                       double *value)
{
    const char *text = yaml_get(y, key);
    char *end;
    if (!text)
        return err_set("%s: '%s' is missing", path, key);
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= least) || *value > 1e30)
        return err_set("%s: %s: '%s' is not a number of at least %g", path, key, text, least);
    return 0;
}

static int load(struct machine *m, const char *path)
{
    const struct {
        const char *key;
        double *value, least;
    } rows[] = {
        { "flops.f32", &m->f32_flops, 1 },
        { "flops.bf16", &m->bf16_flops, 1 },
        { "reached", &m->reached, 1e-6 },
        { "memory", &m->memory, 1 },
        { "ranks-per-host", &m->ranks_per_host, 1 },
        { "bandwidth.host", &m->host_bandwidth, 1 },
        { "bandwidth.network", &m->network_bandwidth, 1 },
        { "latency", &m->latency, 0 },
    };
    const size_t count = sizeof rows / sizeof *rows;
    SCOPED(yaml) y = { 0 };
    if (yaml_load(&y, path) < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = read_number(&y, path, rows[i].key, rows[i].least, rows[i].value);
    for (size_t i = 0; i < y.count && !result; i++) {
        size_t k = 0;
        while (k < count && strcmp(y.items[i].key, rows[k].key) != 0)
            k++;
        if (k == count)
            result = err_set("%s:%d: '%s' is not known in a machine file", path, y.items[i].line,
                             y.items[i].key);
    }
    return result;
}

/* Returns the seconds that the transfers of a rank take in its group. Of the `ranks` shares of an
 * array, a rank sends one to each other host of the group, and the others to ranks of its own host
 * (struct ops_level). */
static double seconds(const struct machine *m, const struct cluster_group *g)
{
    if (g->ranks < 2)
        return 0;
    const double fit = floor(m->ranks_per_host / g->apart); /* how many of them a host has */
    const double local = fmax(1, fmin(fit, g->ranks));
    const double near = 1 - (g->ranks / local - 1) / (g->ranks - 1);
    return g->bytes * (near / m->host_bandwidth + (1 - near) / m->network_bandwidth) +
           g->operations * m->latency;
}

int cluster_estimate(struct buf *out, const char *path, const struct cluster_step *s)
{
    struct machine m;
    if (load(&m, path) < 0)
        return -1;
    const double speed = s->ranks * (s->bf16 ? m.bf16_flops : m.f32_flops);
    const double compute = s->work / (speed * m.reached);
    const double tensor = seconds(&m, &s->heads) + seconds(&m, &s->width);
    const double data = seconds(&m, &s->data), busy = compute + tensor;
    const double step = busy / (1 - s->bubble) + fmax(0, data - busy * s->overlap);
    buf_addf(out, "estimate_memory_share=%.3f\n", s->memory / m.memory);
    buf_addf(out,
             "estimate_compute_seconds=%.4g\nestimate_tensor_seconds=%.4g\n"
             "estimate_data_seconds=%.4g\nestimate_step_seconds=%.4g\n",
             compute, tensor, data, step);
    buf_addf(out, "estimate_tokens_per_second=%.0f\nestimate_mfu=%.4f\n", s->tokens / step,
             s->flops / (speed * step));
    return 0;
}
