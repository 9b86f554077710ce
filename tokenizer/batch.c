#include "tokenizer/batch.h"

/* Both limits are small, because at the end threads wait for the last batch. */
enum { BATCH_BYTES = 1 << 20, BATCH_DOCUMENTS = 1 << 14 };

static void batch_free(struct batch *b)
{
    buf_release(&b->text);
    buf_release(&b->out);
    buf_release(&b->repaired);
    ids_release(&b->ids);
    ids_release(&b->wrapped);
    ids_release(&b->sentence_ends);
    free(b->ends);
    free(b->files);
    free(b);
}

int batch_read(struct batch *b, struct source *source, int *sentences_so_far)
{
    buf_clear(&b->text);
    b->count = 0;
    b->replaced = source_counts(source)->replaced;
    while (b->text.len < BATCH_BYTES && b->count < BATCH_DOCUMENTS) {
        int sentences, got = source_read(source, &b->text, &sentences);
        if (got < 0)
            return -1;
        if (got && sentences_so_far && *sentences_so_far >= 0 && sentences != *sentences_so_far)
            return err_set(
                "the input mixes documents with and without sentences: sentences=%d follows sentences=%d",
                sentences, *sentences_so_far);
        /* if there is no document at all, the files still tell whether they have sentences */
        if (sentences_so_far && (got || *sentences_so_far < 0))
            *sentences_so_far = sentences;
        if (!got)
            break;
        b->sentences = sentences;
        mem_grow(b->ends, b->ends_cap, b->count + 1);
        mem_grow(b->files, b->files_cap, b->count + 1);
        b->files[b->count] = source_file(source);
        b->ends[b->count++] = b->text.len;
    }
    b->replaced = source_counts(source)->replaced - b->replaced;
    return b->count > 0;
}

int batch_run(struct pipeline *p, int threads)
{
    p->item_count = threads > 1 ? 3 * threads : 1;
    p->items = mem_zalloc((size_t)p->item_count, sizeof *p->items);
    for (int i = 0; i < p->item_count; i++) {
        struct batch *b = p->items[i] = mem_alloc(sizeof *b);
        *b = (struct batch){ .text = BUF_INIT, .out = BUF_INIT, .repaired = BUF_INIT };
    }
    int result = pipeline_run(p, threads);
    for (int i = 0; i < p->item_count; i++)
        batch_free(p->items[i]);
    free(p->items);
    return result;
}

/* ---- idle ------------------------------------------------------------------------------------ */

void idle_init(struct idle *i)
{
    *i = (struct idle){ 0 };
    pthread_mutex_init(&i->lock, NULL);
}

void idle_release(struct idle *i, void (*release)(void *item))
{
    while (i->count)
        release(i->items[--i->count].item);
    free(i->items);
    pthread_mutex_destroy(&i->lock);
}

void *idle_take(struct idle *i)
{
    void *item = NULL;
    pthread_mutex_lock(&i->lock);
    if (i->count) {
        size_t k = i->count - 1;
        while (k && !pthread_equal(i->items[k].last, pthread_self()))
            k--;
        item = i->items[k].item;
        i->items[k] = i->items[--i->count];
    }
    pthread_mutex_unlock(&i->lock);
    return item;
}

void idle_give(struct idle *i, void *item)
{
    pthread_mutex_lock(&i->lock);
    mem_next(i->items, i->count, i->cap) = (struct idle_item){ item, pthread_self() };
    pthread_mutex_unlock(&i->lock);
}

struct encoder *idle_encoder(struct idle *i, const struct tokenizer *t)
{
    struct encoder *e = idle_take(i);
    return e ? e : encoder_new(t);
}

static void free_encoder(void *e)
{
    encoder_free(e);
}

void idle_release_encoders(struct idle *i)
{
    idle_release(i, free_encoder);
}
