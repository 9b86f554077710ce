#include "model/model.h"

#include <math.h>

#include "common/err.h"

static int check_count(const char *name, int64_t value, int64_t most)
{
    if (value < 1 || value > most)
        return err_set("bad model configuration: %s is %lld, must be from 1 to %lld", name,
                       (long long)value, (long long)most);
    return 0;
}

static int check_rate(const char *name, double value)
{
    if (!(value >= 0 && value < 1))
        return err_set("bad model configuration: %s is %g, must be at least 0 and below 1", name,
                       value);
    return 0;
}

int model_check_config(const struct model_config *c)
{
    if (check_count("layers", c->layers, 10000) < 0 ||
        check_count("width", c->width, 1 << 20) < 0 ||
        check_count("heads", c->heads, 1 << 20) < 0 ||
        check_count("inner width", c->inner, 1 << 24) < 0 ||
        check_count("positions", c->positions, 1 << 24) < 0 ||
        check_count("vocabulary", c->vocabulary, 1 << 24) < 0 ||
        check_rate("embedding dropout", c->embedding_dropout) < 0 ||
        check_rate("attention dropout", c->attention_dropout) < 0 ||
        check_rate("residual dropout", c->residual_dropout) < 0)
        return -1;
    if (c->width % c->heads)
        return err_set("bad model configuration: %lld heads do not divide a width of %lld",
                       (long long)c->heads, (long long)c->width);
    if (!(c->epsilon > 0 && c->epsilon < 1))
        return err_set("bad model configuration: epsilon of layer norm is %g, must be above 0 and "
                       "below 1",
                       c->epsilon);
    if (!(c->init_std >= 0 && c->init_std < INFINITY))
        return err_set("bad model configuration: standard deviation of the weights is %g, must be "
                       "at least 0",
                       c->init_std);
    return 0;
}

struct model_cache model_cache_in(const struct model *m, struct ops_array array, int64_t B,
                                  int64_t T)
{
    int64_t numbers[CACHE_PARTS];
    struct model_cache cache = { 0 };
    m->layer_cache(m, B, T, numbers);
    for (int i = 0; i < CACHE_PARTS; array = ops_part(array, numbers[i++]))
        cache.part[i] = array;
    return cache;
}

void model_release(struct model *m)
{
    tensor_release(&m->tensors);
    *m = (struct model){ 0 };
}

double model_flops_per_token(const struct model_config *c, int64_t T, double p)
{
    double L = (double)c->layers, C = (double)c->width, V = (double)c->vocabulary;
    double maps = L * (4 * C * C + 2 * C * (double)c->inner), attention = 12 * L * (double)T * C;
    if (c->kind == MODEL_GPT)
        return 6 * (maps + V * C) + attention / 2;
    if (c->kind == MODEL_BERT_PRETRAINING)
        maps += p * (V * C + (c->bare_head ? 0 : C * C));
    return 6 * maps + attention;
}
