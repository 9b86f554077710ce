#include "eval/framed.h"

#include "common/base/base.h"

int framed_encode(const struct tokenizer *t, struct encoder *e, const char *text, size_t n,
                  struct ids *out)
{
    SCOPED(ids) plain = { 0 };
    if (encoder_encode(e, text, n, TOKENIZER_ORDINARY, &plain) < 0)
        return -1;
    tokenizer_assemble(t, &plain, NULL, out, NULL);
    return 0;
}

int64_t framed_start(const struct tokenizer *t)
{
    SCOPED(ids) begin = { 0 };
    tokenizer_begin_text(t, &begin);
    int64_t start = begin.count ? begin.data[0] : tokenizer_end_of_text(t);
    return start >= 0 ? start
                      : err_set("the vocabulary has no token that begins a text: neither one of "
                                "its post-processor nor end-of-text");
}
