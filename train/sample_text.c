#include "train/sample_text.h"

#include "generate/generator.h"

int sample_text(const struct plan *p, struct store *s, int64_t length, const volatile int *stop,
                struct buf *out)
{
    const char *prompt = p->settings->sample;
    const uint64_t key = rng_key(rng_key(rng_key(0, p->engine.seed), 0), 0); /* as in generate */
    const int count = p->own.tensors.blocks;
    SCOPED_MEM struct ops_array *blocks = mem_zalloc((size_t)count, sizeof *blocks);
    struct generator g = { .sampler = SAMPLER_DEFAULT, .length = length, .begin = 1, .slide = 1 };
    SCOPED(start) start = { 0 };
    struct generation one = { 0 }, *texts[] = { &one };
    for (int i = 0; i < count; i++)
        blocks[i] = store_fetch(s, STORE_PARAMETERS, i, MODE_READ);
    generator_open(&g, p->tokenizer, s->ops, &p->own, blocks);
    int result = generator_prompt(&g, &start, prompt, strlen(prompt));
    if (!result)
        result = generation_begin(&g, &one, &start, key, 1);
    while (!result && !one.finish && *stop < 2)
        result = generator_step(&g, texts, 1);
    buf_clear(out); /* a NUL, which would end the text, becomes U+FFFD */
    buf_add_replaced(out, one.text.all.data, one.text.all.len, "", 1, "\xEF\xBF\xBD", 3);
    generation_release(&one);
    generator_release(&g);
    for (int i = 0; i < count; i++)
        store_release(s, STORE_PARAMETERS, i);
    return result < 0 ? err_in("sample") : 0;
}
