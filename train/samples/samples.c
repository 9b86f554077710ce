#include "train/samples/samples.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/mem.h"

void sequences_init(struct sequences *s, int64_t room, int64_t T, int encoder)
{
    size_t rows = (size_t)room, tokens = rows * (size_t)T;
    *s = (struct sequences){ .T = T, .room = room };
    s->ids = mem_zalloc(tokens + 1, sizeof *s->ids);
    s->labels = mem_zalloc(tokens, sizeof *s->labels);
    if (!encoder)
        return;
    s->segments = mem_zalloc(tokens, sizeof *s->segments);
    s->lengths = mem_zalloc(rows, sizeof *s->lengths);
    s->next = mem_zalloc(rows, sizeof *s->next);
    s->starts = mem_zalloc(rows, sizeof *s->starts);
    s->ends = mem_zalloc(rows, sizeof *s->ends);
}

void sequences_release(struct sequences *s)
{
    free(s->ids);
    free(s->labels);
    free(s->segments);
    free(s->lengths);
    free(s->next);
    free(s->starts);
    free(s->ends);
    *s = (struct sequences){ 0 };
}

uint64_t sequences_bytes(int64_t room, int64_t T, int encoder)
{
    uint64_t rows = (uint64_t)room, tokens = rows * (uint64_t)T, words = 2 * tokens;
    if (encoder)
        words += tokens + 5 * rows;
    return words * sizeof(uint32_t);
}

int64_t sequences_add(struct sequences *s)
{
    assert(s->count < s->room);
    int64_t row = s->count++;
    if (!s->lengths)
        return row;
    s->lengths[row] = s->T;
    s->next[row] = s->starts[row] = s->ends[row] = MODEL_IGNORE;
    for (int64_t t = row * s->T; t < (row + 1) * s->T; t++) {
        s->segments[t] = 0;
        s->labels[t] = MODEL_IGNORE;
    }
    return row;
}

struct batch sequences_batch(const struct sequences *s)
{
    return (struct batch){ .B = s->count,
                           .T = s->T,
                           .ids = s->ids,
                           .labels = s->labels,
                           .segments = s->segments,
                           .lengths = s->lengths,
                           .next = s->next,
                           .starts = s->starts,
                           .ends = s->ends };
}

int64_t sequences_tokens(const struct sequences *s)
{
    int64_t tokens = s->lengths ? 0 : s->count * s->T;
    for (int64_t i = 0; i < s->count && s->lengths; i++)
        tokens += s->lengths[i];
    return tokens;
}

double samples_epoch(const struct samples *s)
{
    return s->epoch > 0 ? s->epoch : (double)s->count;
}

void samples_close(struct samples *s)
{
    if (s)
        s->close(s);
}
