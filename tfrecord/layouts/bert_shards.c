#include "tfrecord/layouts/bert_shards.h"

#include "common/base/log.h"
#include "common/base/pool.h"
#include "common/base/pyrandom.h"
#include "common/files/file.h"

/* ---- the vocabulary ----------------------------------------------------------------------- */

static int take_special(struct intake *s, const char *name, uint32_t *id)
{
    uint64_t value;
    const struct kv *header = &s->stream.header;
    if (!kv_get(header, name))
        return err_set("%s: its vocabulary has no %s=, which the bert layouts need", s->in.path,
                       name);
    if (kv_get_u64(header, name, &value) < 0)
        return err_in("%s", s->in.path);
    if (value >= s->stream.vocabulary)
        return err_set("%s: %s=%" PRIu64 " is not below vocabulary=%" PRIu64, s->in.path, name,
                       value, s->stream.vocabulary);
    *id = (uint32_t)value;
    return 0;
}

static int take_vocabulary(struct bert_shards *b, struct intake *s, uint32_t *pad)
{
    const char *sentences = kv_get(&s->stream.header, "sentences");
    if (!sentences || strcmp(sentences, "1"))
        return err_set("%s: has no sentences, which the bert layouts need: give wikiprep "
                       "--sentences, or tokenize --format sentences",
                       s->in.path);
    b->recipe.vocabulary = (uint32_t)s->stream.vocabulary;
    if (take_special(s, "pad", pad) < 0 || take_special(s, "cls", &b->recipe.cls) < 0 ||
        take_special(s, "sep", &b->recipe.sep) < 0 || take_special(s, "mask", &b->recipe.mask) < 0)
        return -1;
    return 0;
}

/* Reads a vocabulary with one piece per line. Returns an array, owned by the caller, with one byte
 * per id: 1 if the piece begins with "##", which continues a word, else 0. NULL with an error. */
static unsigned char *load_words(const char *path, uint64_t vocabulary)
{
    SCOPED_BY(input_close) struct input in = { 0 };
    char *line;
    size_t n;
    uint64_t count = 0;
    int result;
    if (input_open_soon(&in, path) < 0)
        return NULL;
    unsigned char *continues = mem_zalloc(vocabulary, 1);
    for (; (result = input_line(&in, &line, &n)) > 0; count++)
        if (count < vocabulary)
            continues[count] = n > 2 && line[0] == '#' && line[1] == '#';
    if (!result && count != vocabulary)
        result = err_set("%s: has %" PRIu64 " lines, but the stream's vocabulary has %" PRIu64
                         " tokens",
                         path, count, vocabulary);
    if (!result)
        return continues;
    free(continues);
    return NULL;
}

/* ---- groups ------------------------------------------------------------------------------- */

struct group {
    struct sentences sentences;
    struct instances instances;
    struct packing_row *rows;
    size_t count, cap; /* of rows */
};

struct job {
    struct bert_shards *b;
    const struct shard_set *set;
    struct intake *s;
    struct record_shard *shards;
    struct bert_record record;
    struct buf message;
    int ended; /* 1: the stream has ended */
};

static int read_group(void *ctx, void *item)
{
    struct job *j = ctx;
    struct group *g = item;
    uint64_t n = 0;
    int more = !j->ended;
    sentences_clear(&g->sentences);
    while (more && (!j->b->group || n < j->b->group) && (more = intake_next(j->s)) > 0) {
        sentences_add(&g->sentences, j->s->ids, j->s->count, j->s->sentence_ends, j->s->sentences);
        n++;
        if (g->sentences.count > UINT32_MAX / 2 / j->b->recipe.passes)
            return err_set("%s: %zu sentences are too many for one group: set a smaller --group",
                           j->s->in.path, g->sentences.count);
    }
    j->ended = !more;
    return more < 0 ? -1 : n > 0;
}

/* Makes the instances and puts them into g->rows, one each or packed. Shuffles packed rows: packing
 * sorts them. */
static int make_group(void *ctx, void *item)
{
    const struct bert_shards *b = ((struct job *)ctx)->b;
    struct group *g = item;
    struct instances *all = &g->instances;
    const struct instances_recipe *r = &b->recipe;
    instances_make(all, r, &g->sentences);
    mem_grow(g->rows, g->cap, all->count);
    g->count = all->count;
    if (b->layout != BERT_PACKED) {
        for (uint32_t i = 0; i < all->count; i++)
            g->rows[i] = (struct packing_row){ 1, { i } };
        return 0;
    }
    struct pyrandom random;
    g->count = packing_make(all, r->sequence_length, r->mask_tokens + PACKING_MAX - 1, PACKING_MAX,
                            g->rows);
    pyrandom_seed(&random, r->seed);
    pyrandom_shuffle(&random, g->rows, g->count, sizeof *g->rows, pyrandom_below);
    return 0;
}

static int write_group(void *ctx, void *item)
{
    struct job *j = ctx;
    struct group *g = item;
    struct bert_shards *b = j->b;
    const struct sentences *s = &g->sentences;
    b->documents += s->document_count;
    for (size_t d = 0; d < s->document_count; d++)
        b->single += s->documents[d + 1] - s->documents[d] == 1;
    b->sequences += g->instances.count;
    for (size_t i = 0; i < g->instances.count; i++)
        b->tokens += g->instances.list[i].length;
    for (size_t i = 0; i < g->count; i++, b->records++) {
        bert_record_encode(&j->record, &g->instances, &g->rows[i], &j->message);
        if (record_shard_put(&j->shards[b->records % j->set->count], j->message.data,
                             j->message.len))
            return -1;
        progress_to(b->records);
    }
    return 0;
}

/* ---- the run ------------------------------------------------------------------------------ */

static int run_groups(struct job *j)
{
    int n = j->b->group ? j->set->threads + 1 : 1;
    SCOPED_MEM struct group *groups = mem_zalloc((size_t)n, sizeof *groups);
    SCOPED_MEM void **items = mem_zalloc((size_t)n, sizeof *items);
    for (int i = 0; i < n; i++)
        items[i] = &groups[i];
    struct pipeline p = { read_group, make_group, write_group, j, items, n, NULL };
    int result = pipeline_run(&p, j->set->threads);
    for (int i = 0; i < n; i++) {
        sentences_release(&groups[i].sentences);
        instances_release(&groups[i].instances);
        free(groups[i].rows);
    }
    return result;
}

static int write_shards(struct job *j, struct kv *manifest)
{
    const struct bert_shards *b = j->b;
    const uint32_t shards = j->set->count;
    int result = 0;
    for (uint32_t i = 0; i < shards && !result; i++)
        result = record_shard_open(&j->shards[i], j->set, i);
    if (!result)
        result = run_groups(j);
    int empty = j->set->allow_empty && !b->records;
    if (!result && b->records < shards && !empty)
        result = err_set("%s: %" PRIu64 " records are too few for %u shards", j->s->in.path,
                         b->records, shards);
    for (uint32_t i = 0; i < shards && !result && !empty; i++)
        result = record_shard_close(&j->shards[i], manifest);
    for (uint32_t i = 0; i < shards; i++)
        record_shard_release(&j->shards[i]);
    return result;
}

int bert_shards_write(struct bert_shards *b, const struct shard_set *set, struct intake *s,
                      struct kv *manifest)
{
    struct job j = { .b = b, .set = set, .s = s, .message = BUF_INIT };
    SCOPED_MEM unsigned char *continues = NULL;
    uint32_t pad;
    if (take_vocabulary(b, s, &pad) < 0 ||
        (b->words && !(continues = load_words(b->words, s->stream.vocabulary))))
        return -1;
    b->recipe.continues = continues;
    bert_record_init(&j.record, b->layout, b->recipe.sequence_length, b->recipe.mask_tokens, pad);
    j.shards = mem_zalloc(set->count, sizeof *j.shards);
    int result = write_shards(&j, manifest);
    bert_record_release(&j.record);
    buf_release(&j.message);
    free(j.shards);
    return result;
}
