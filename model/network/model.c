#include "model/network/model.h"

#include <math.h>

#include "model/network/architecture.h"
#include "model/network/layer.h"
#include "model/network/split.h"

static int check_count(const char *name, int64_t value, int64_t most)
{
    if (value < 1 || value > most)
        return err_set("%s is %lld, must be from 1 to %lld", name, (long long)value,
                       (long long)most);
    return 0;
}

static int check_rate(const char *name, double value)
{
    if (!(value >= 0 && value < 1))
        return err_set("%s is %g, must be at least 0 and below 1", name, value);
    return 0;
}

static int check_config(const struct model_config *c)
{
    if (check_count("layers", c->layers, 10000) < 0 ||
        check_count("width", c->width, 1 << 20) < 0 ||
        check_count("heads", c->heads, 1 << 20) < 0 ||
        check_count("inner width", c->inner, 1 << 24) < 0 ||
        check_count("positions", c->positions, 1 << 24) < 0 ||
        check_count("vocabulary", c->vocabulary, 1 << 24) < 0 ||
        check_rate("embedding dropout", c->embedding_dropout) < 0 ||
        check_rate("attention dropout", c->attention_dropout) < 0 ||
        check_rate("residual dropout", c->residual_dropout) < 0 ||
        check_rate("dropout of the head", c->head_dropout) < 0)
        return -1;
    if (c->head == HEAD_CLASSES && !c->classes.count)
        return err_set("there are no classes: 'train --task classify' gives a model some");
    if (!c->head_width && c->width % c->heads)
        return err_set("%lld heads do not divide a width of %lld", (long long)c->heads,
                       (long long)c->width);
    if (c->kv_heads < 0 || (c->kv_heads && c->heads % c->kv_heads))
        return err_set("%lld heads of keys and values do not divide %lld heads",
                       (long long)c->kv_heads, (long long)c->heads);
    if (c->head_width && check_count("width of a head", c->head_width, 1 << 16) < 0)
        return -1;
    if (!(c->epsilon > 0 && c->epsilon < 1))
        return err_set("epsilon of the norms is %g, must be above 0 and below 1", c->epsilon);
    if (!(c->init_std >= 0 && c->init_std < INFINITY))
        return err_set("standard deviation of the weights is %g, must be at least 0", c->init_std);
    return 0;
}

static void set_part(struct model *m, const struct model_config *whole, const struct split *split)
{
    const int ranks = split->ranks[SPLIT_HEADS], rank = split->rank[SPLIT_HEADS];
    m->split = split;
    m->first_head = rank * m->config.heads;
    m->all_heads = whole->heads;
    m->first_word = split_part(whole->vocabulary, ranks, rank).first;
    const int64_t skip = whole->architecture->first_position;
    m->first_place = split_part(whole->positions + skip, ranks, rank).first - skip;
}

int model_init_split(struct model *m, const struct model_config *config, const struct split *split)
{
    *m = (struct model){ 0 };
    if (check_config(config) < 0)
        return err_in("bad model configuration");
    struct model_config c = *config;
    if (!c.architecture)
        c.architecture = architecture_default(c.head);
    if (!c.kv_heads)
        c.kv_heads = c.heads;
    if (!c.head_width)
        c.head_width = c.width / c.heads;
    m->config = c;
    if (split && split_config(&m->config, &c, split) < 0)
        return -1;
    if (split)
        set_part(m, &c, split);
    if (c.architecture->init(m) == 0)
        return 0;
    model_release(m);
    return err_in("bad model configuration");
}

int model_init(struct model *m, const struct model_config *config)
{
    return model_init_split(m, config, NULL);
}

void model_release(struct model *m)
{
    layer_release(m);
    tensor_release(&m->tensors);
    *m = (struct model){ 0 };
}

/* Returns 1 if attention has the same positions, scores and windows with two configurations. */
static int attends_alike(const struct model_config *c, const struct model_config *d)
{
    return c->heads == d->heads && c->kv_heads == d->kv_heads && c->window == d->window &&
           c->local_pause == d->local_pause && c->local_theta == d->local_theta &&
           c->rope_theta == d->rope_theta && c->rope_pause == d->rope_pause &&
           !memcmp(&c->rope_stretch, &d->rope_stretch, sizeof c->rope_stretch) &&
           !memcmp(&c->rope_longer, &d->rope_longer, sizeof c->rope_longer) &&
           c->unscaled == d->unscaled && c->scale_by_layer == d->scale_by_layer;
}

int model_alike(const struct model *a, const struct model *b)
{
    const struct model_config *c = &a->config, *d = &b->config;
    if (c->architecture != d->architecture || c->head != d->head || c->positions != d->positions ||
        c->activation != d->activation || !attends_alike(c, d) ||
        a->tensors.count != b->tensors.count)
        return 0;
    for (size_t i = 0; i < a->tensors.count; i++) {
        const struct tensor *t = &a->tensors.rows[i], *u = &b->tensors.rows[i];
        if (strcmp(t->name, u->name) || t->shape[0] != u->shape[0] || t->shape[1] != u->shape[1])
            return 0;
    }
    return 1;
}

double model_flops_per_token(const struct model_config *c, int64_t T, double p)
{
    const struct layer_widths w = layer_widths(c);
    const double L = (double)c->layers, C = (double)c->width, V = (double)c->vocabulary;
    double maps = L * C * (double)(w.qkv + w.attention + w.first + w.inner);
    double attention = 12 * L * (double)T * (double)w.attention;
    if (c->head == HEAD_NEXT)
        return 6 * (maps + V * C) + attention / 2;
    if (c->head == HEAD_PRETRAINING)
        maps += p * (V * C + (c->bare_head ? 0 : C * C));
    return 6 * maps + attention;
}

int model_is_decoder(const struct model *m, size_t row)
{
    const int decodes = m->config.head == HEAD_NEXT || m->config.head == HEAD_PRETRAINING;
    return decodes && row == (m->tied ? 0 : m->decoder_table);
}

int model_is_map(const struct model *m, size_t row)
{
    const struct tensor *t = &m->tensors.rows[row];
    return t->rank == 2 && t->block > 0 && !model_is_decoder(m, row);
}
