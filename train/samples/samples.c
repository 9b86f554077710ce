#include "train/samples/samples.h"

void sequences_init(struct sequences *s, int64_t room, int64_t T, enum sequences_kind kind)
{
    size_t rows = (size_t)room, tokens = rows * (size_t)T;
    *s = (struct sequences){ .T = T, .room = room, .kind = kind };
    s->ids = mem_zalloc(tokens + 1, sizeof *s->ids);
    s->labels = mem_zalloc(tokens + 1, sizeof *s->labels);
    if (kind != SEQUENCES_PLAIN)
        s->lengths = mem_zalloc(kind == SEQUENCES_DOCUMENTS ? tokens : rows, sizeof *s->lengths);
    if (kind != SEQUENCES_ENCODER)
        return;
    s->segments = mem_zalloc(tokens, sizeof *s->segments);
    s->classes = mem_zalloc(rows, sizeof *s->classes);
    s->starts = mem_zalloc(rows, sizeof *s->starts);
    s->ends = mem_zalloc(rows, sizeof *s->ends);
    s->values = mem_zalloc(rows, sizeof *s->values);
}

void sequences_release(struct sequences *s)
{
    free(s->ids);
    free(s->labels);
    free(s->lengths);
    free(s->segments);
    free(s->classes);
    free(s->starts);
    free(s->ends);
    free(s->values);
    *s = (struct sequences){ 0 };
}

void sequences_clear(struct sequences *s)
{
    s->count = s->documents = 0;
}

uint64_t sequences_bytes(int64_t room, int64_t T, enum sequences_kind kind)
{
    uint64_t rows = (uint64_t)room, tokens = rows * (uint64_t)T, words = 2 * tokens;
    if (kind == SEQUENCES_ENCODER)
        words += tokens + 6 * rows;
    if (kind == SEQUENCES_DOCUMENTS)
        words += 2 * tokens;
    return words * sizeof(uint32_t);
}

int64_t sequences_add(struct sequences *s)
{
    assert(s->count < s->room);
    int64_t row = s->count++;
    if (s->kind != SEQUENCES_ENCODER)
        return row;
    s->lengths[row] = s->T;
    s->classes[row] = s->starts[row] = s->ends[row] = MODEL_IGNORE;
    for (int64_t t = row * s->T; t < (row + 1) * s->T; t++) {
        s->segments[t] = 0;
        s->labels[t] = MODEL_IGNORE;
    }
    return row;
}

void sequences_divide(struct sequences *s, int64_t row, uint32_t end_of_text)
{
    const uint32_t *ids = s->ids + row * s->T;
    int32_t *labels = s->labels + row * s->T;
    int64_t begin = 0;
    for (int64_t t = 0; t < s->T; t++) {
        if (ids[t] != end_of_text)
            continue;
        if (labels[t] == (int32_t)end_of_text)
            labels[t] = MODEL_IGNORE;
        if (t > begin)
            s->lengths[s->documents++] = t - begin;
        begin = t;
    }
    s->lengths[s->documents++] = s->T - begin;
}

struct batch sequences_batch(const struct sequences *s)
{
    const int joined = s->kind == SEQUENCES_DOCUMENTS;
    return (struct batch){ .B = joined ? s->documents : s->count,
                           .T = s->T,
                           .ids = s->ids,
                           .labels = s->labels,
                           .lengths = s->lengths,
                           .joined = joined,
                           .segments = s->segments,
                           .classes = s->classes,
                           .starts = s->starts,
                           .ends = s->ends,
                           .values = s->values };
}

int64_t sequences_tokens(const struct sequences *s)
{
    int64_t tokens = s->kind == SEQUENCES_ENCODER ? 0 : s->count * s->T;
    for (int64_t i = 0; i < s->count && s->kind == SEQUENCES_ENCODER; i++)
        tokens += s->lengths[i];
    return tokens;
}

int samples_check_file(const struct samples_config *c, const struct opt_list *paths,
                       const char *what, const char *kind)
{
    if (!c->tokenizer)
        return err_set("no tokenizer for %s: give --vocab", what);
    return paths->count == 1 ? 0
                             : err_set("%s must be one %s file, not %zu", what, kind, paths->count);
}

double samples_epoch(const struct samples *s)
{
    return s->epoch > 0 ? s->epoch : (double)s->count;
}

void samples_close(struct samples *s)
{
    if (s && s->close)
        s->close(s);
    free(s);
}
