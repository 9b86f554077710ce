#include "eval/subject.h"

#include "common/err.h"
#include "common/log.h"
#include "model/folder/folder.h"

int subject_load_tokenizer(struct subject *s)
{
    const char *path = s->vocab ? s->vocab : s->model_dir;
    if (!path)
        return err_usage("no model: give --model DIR");
    if (s->model_dir && folder_check(s->model_dir) < 0)
        return -1;
    s->tokenizer = tokenizer_load(path);
    if (!s->tokenizer)
        return -1;
    s->encoder = encoder_new(s->tokenizer);
    return 0;
}

int subject_check(const struct subject *s, struct network *n)
{
    const struct tokenizer *t = s->tokenizer;
    int64_t known = n->model.config.vocabulary;
    if (t && tokenizer_size(t) > known)
        return err_set(
            "vocabulary and model differ: '%s' has %u tokens, but the model in '%s' has only %lld",
            s->vocab ? s->vocab : s->model_dir, tokenizer_size(t), s->model_dir, (long long)known);
    ops_set_precision(n->ops, (enum ops_type)s->precision);
    if (ops_set_products(n->ops, (enum ops_products)s->products) < 0)
        return -1;
    log_detail("%s", ops_describe(n->ops));
    return 0;
}

void subject_release(struct subject *s)
{
    encoder_free(s->encoder);
    tokenizer_free(s->tokenizer);
}
