/*
 * megatron_pair.h - a token stream made into a Megatron pair, which appears when it is complete.
 *
 *     PREFIX.bin, PREFIX.idx      the documents: see megatron.h
 *     PREFIX.tokenizer.json       the vocabulary, if the stream carries it
 *     PREFIX.manifest             written last
 */
#ifndef TEXTMILL_TFRECORD_PUBLISH_MEGATRON_PAIR_H
#define TEXTMILL_TFRECORD_PUBLISH_MEGATRON_PAIR_H

#include <stdint.h>

#include "tfrecord/layouts/intake.h"

struct megatron_pair {
    const char *prefix;                   /* folder and first part of the names; no folder itself */
    int append_eod;                       /* each document ends with end-of-text */
    const char *provenance;               /* of this program, for the manifest */
    int (*may_replace)(const char *path); /* asked for each file, once no other run works there: -1
                                           * with an error to leave all as it is */
    void (*written)(uint64_t documents);  /* told now and then */

    uint64_t sequences; /* made: the result */
};

/* Writes the pair, in place of one that stands there. A sentence is a sequence; without sentences
 * a document is one. -1 also when there is no document, or no end-of-text that is to be appended;
 * then there are no files. */
int megatron_pair_write(struct megatron_pair *p, struct intake *s);

#endif
