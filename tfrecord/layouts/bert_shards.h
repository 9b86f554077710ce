/*
 * bert_shards.h - a token stream with sentences, written as shards of BERT instances.
 *
 * Documents are taken in groups, each of which is made into instances by itself, from the seed
 * on, as a run over it alone would: B comes from a document of the same group, and shuffling
 * stays within it. Without groups all documents are one, as in Google's program. Record i goes to
 * shard i modulo the number of shards. Threads take a group each; the bytes do not depend on them.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_BERT_SHARDS_H
#define TEXTMILL_TFRECORD_LAYOUTS_BERT_SHARDS_H

#include <stdint.h>

#include "common/compress.h"
#include "common/kv.h"
#include "tfrecord/layouts/bert_record.h"
#include "tfrecord/layouts/instances.h"
#include "tfrecord/layouts/intake.h"

struct bert_shards {
    enum bert_layout layout;
    struct instances_recipe recipe; /* but for what is in the vocabulary */
    const char *words;              /* vocab.txt, to mask whole words; NULL: pieces */
    uint64_t group;                 /* documents; 0: all */
    uint32_t shards;
    enum compression compression;
    int allow_empty; /* without a record there is no shard, which else is an error */
    int resume; /* go on with shards that are in the folder: what is there is held to this run */
    int threads;
    void (*written)(uint64_t records); /* told now and then, by one thread at a time */

    uint64_t documents, records, sequences, tokens; /* made: the result */
    uint64_t single; /* documents of one sentence, whose B are all of other documents */
};

/* The share of places in rows that have a token: what packing is for. */
static inline double bert_shards_efficiency(const struct bert_shards *b)
{
    return (double)b->tokens / ((double)b->records * b->recipe.sequence_length);
}

/* Writes data-00000-of-0000N.tfrecord and so on, an index beside each that is not compressed, into
 * `dir`, and adds the shards to the manifest. Holds, for each thread and one more, a group and its
 * instances: about 4 + 8 * passes bytes a token. -1 also when there are fewer records than shards.
 */
int bert_shards_write(struct bert_shards *b, struct intake *s, const char *dir,
                      struct kv *manifest);

#endif
