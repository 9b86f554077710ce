#include "eval/subject.h"

#include "common/base/log.h"
#include "common/program/tool.h"
#include "model/folder/folder.h"

int subject_load_tokenizer(struct subject *s)
{
    if (!s->vocab && !s->model_dir)
        s->model_dir = SUBJECT_MODEL_DIR;
    const char *path = s->vocab ? s->vocab : s->model_dir;
    if (s->model_dir && folder_check(s->model_dir) < 0)
        return -1;
    s->tokenizer = tokenizer_load(path);
    if (!s->tokenizer)
        return -1;
    s->encoder = encoder_new(s->tokenizer);
    return 0;
}

int subject_encode(const struct tokenizer *t, struct encoder *e, const char *text, size_t n,
                   struct ids *out)
{
    SCOPED(ids) plain = { 0 };
    if (encoder_encode(e, text, n, TOKENIZER_ORDINARY, &plain) < 0)
        return -1;
    tokenizer_assemble(t, &plain, NULL, out, NULL);
    return 0;
}

int64_t subject_start(const struct tokenizer *t)
{
    const int64_t start = tokenizer_begin_of_text(t);
    return start >= 0 ? start
                      : err_set("the vocabulary has no token that begins a text: neither one of "
                                "its post-processor nor bos_token nor end-of-text");
}

int subject_open(struct subject *s, enum model_head head)
{
    const struct tokenizer *t = s->tokenizer;
    struct network *n = &s->scorer.net;
    const struct model_config *c = &n->model.config;
    if (!s->model_dir)
        s->model_dir = SUBJECT_MODEL_DIR;
    if ((s->verify ? folder_verify(s->model_dir, 0, 1) : folder_check(s->model_dir)) < 0 ||
        network_open(n, s->model_dir, head, s->device, (int)tool_threads, stored_type(s->weights),
                     s->batch_tokens) < 0)
        return -1;
    if (t && tokenizer_check_rows(t, s->vocab ? s->vocab : s->model_dir, s->model_dir,
                                  c->vocabulary, head != HEAD_NEXT) < 0)
        return -1;
    ops_set_precision(n->ops, (enum ops_type)s->precision);
    log_detail("%s", ops_describe(n->ops));
    if (head == HEAD_QUESTIONS && c->types == 1) /* one with 0 types does not use types */
        return err_set("%s/config.json: type_vocab_size is %lld, must be at least 2 to tell "
                       "question and context apart",
                       s->model_dir, (long long)c->types);
    /* the length that `squad` has by default may be more than the positions */
    const int usual = head == HEAD_QUESTIONS && !tool_given("sequence-length");
    if (s->length > c->positions && !usual)
        return err_usage("--sequence-length %lld is more than the model's %lld positions",
                         (long long)s->length, (long long)c->positions);
    if (!s->length || s->length > c->positions)
        s->length = c->positions;
    if (head == HEAD_NEXT)
        scorer_init(&s->scorer);
    return 0;
}

int subject_load(struct subject *s)
{
    if (subject_load_tokenizer(s) < 0 || subject_open(s, HEAD_NEXT) < 0)
        return -1;
    s->start = subject_start(s->tokenizer);
    return s->start < 0 ? -1 : 0;
}

void subject_release(struct subject *s)
{
    scorer_release(&s->scorer);
    encoder_free(s->encoder);
    tokenizer_free(s->tokenizer);
}

int subject_score(struct subject *s, int result, int argc, char **argv,
                  int (*score)(void *options, const char *path))
{
    for (int i = 0; i < argc && !result; i++)
        result = score(s, argv[i]);
    subject_release(s);
    return result;
}
