/*
 * bert_shards.h - writes a token stream with sentences as shards of BERT instances.
 *
 * Documents are processed in groups. Each group is made into instances independently, starting from
 * the seed, as if it were the whole input: the second part of a pair comes from a document of the
 * same group, and shuffling stays within the group. Without groups all documents form one, as in
 * Google's program. Record i goes to shard i modulo the number of shards. Each thread processes one
 * group at a time; the output does not depend on the number of threads.
 */
#pragma once

#include "common/formats/kv.h"
#include "tfrecord/layouts/bert_record.h"
#include "tfrecord/layouts/instances.h"
#include "tfrecord/layouts/intake.h"
#include "tfrecord/layouts/record_shard.h"

struct bert_shards {
    enum bert_layout layout;
    struct instances_recipe recipe; /* without the fields that come from the vocabulary */
    const char *words;              /* path of vocab.txt, to mask whole words; NULL: mask pieces */
    uint64_t group;                 /* documents per group; 0: all */

    uint64_t documents, records, sequences, tokens; /* results: numbers written */
    /* result: documents of one sentence, whose second part always comes from another document */
    uint64_t single;
};

/* Returns the share of the positions in all records that hold a token, not padding. Packing
 * increases it. */
static inline double bert_shards_efficiency(const struct bert_shards *b)
{
    return (double)b->tokens / ((double)b->records * b->recipe.sequence_length);
}

/* Writes data-00000-of-0000N.tfrecord and so on into set->dir, each with its index if it is not
 * compressed, and adds the shards to the manifest. Holds one group more than threads, with its
 * instances: about 4 + 8 * passes bytes per token. Returns 0, or -1 with an error, also if there
 * are fewer records than shards. */
int bert_shards_write(struct bert_shards *b, const struct shard_set *set, struct intake *s,
                      struct kv *manifest);
