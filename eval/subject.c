#include "eval/subject.h"

#include "common/err.h"
#include "common/log.h"

struct subject subject = { .batch_tokens = 4096, .device = "cpu" };

int subject_load_tokenizer(void)
{
    const char *path = subject.vocab ? subject.vocab : subject.model_dir;
    if (!path)
        return err_usage("no model: give --model DIR");
    subject.tokenizer = tokenizer_load(path);
    if (!subject.tokenizer)
        return -1;
    subject.encoder = encoder_new(subject.tokenizer);
    return 0;
}

int subject_check(struct network *n)
{
    const struct tokenizer *t = subject.tokenizer;
    int64_t known = n->model.config.vocabulary;
    if (t && tokenizer_size(t) > known)
        return err_set(
            "vocabulary and model differ: '%s' has %u tokens, but the model in '%s' has only %lld",
            subject.vocab ? subject.vocab : subject.model_dir, tokenizer_size(t), subject.model_dir,
            (long long)known);
    ops_set_precision(n->ops, (enum ops_type)subject.precision);
    if (ops_set_products(n->ops, (enum ops_products)subject.products) < 0)
        return -1;
    log_detail("%s", ops_describe(n->ops));
    return 0;
}

void subject_release(void)
{
    encoder_free(subject.encoder);
    tokenizer_free(subject.tokenizer);
}
