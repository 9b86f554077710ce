/* Parses a line of multiple choice in each of its forms. */
#include <stdlib.h>

#include "common/base/utf8.h"
#include "eval/choices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices_question q = { 0 };
    for (int i = CHOICES_AUTO; i < CHOICES_FORMS; i++) {
        int form = i;
        if (choices_parse(&q, &form, (const char *)data, size, "fuzz:1") < 0)
            continue;
        if (q.count < 2 || q.right >= q.count)
            abort();
        for (size_t k = 0; k < q.count; k++) {
            const struct buf *e = &q.options[k].ending;
            if (e->len < 2 || !q.options[k].characters || utf8_valid(e->data, e->len) != e->len)
                abort(); /* a blank and a choice, of whole characters */
        }
    }
    choices_release(&q);
    return 0;
}
