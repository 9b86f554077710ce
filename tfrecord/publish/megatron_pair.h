/*
 * megatron_pair.h - writes a token stream as a Megatron pair, which appears only when it is
 * complete.
 *
 *     PREFIX.bin, PREFIX.idx      the documents: see megatron.h
 *     PREFIX.tokenizer.json       the vocabulary, if the stream carries it
 *     PREFIX.manifest             written last
 */
#pragma once

#include "tfrecord/layouts/intake.h"

struct megatron_pair {
    const char *prefix;     /* folder and start of the file names; must not name a folder */
    int append_eod;         /* 1: end each document with end-of-text */
    const char *provenance; /* this program's pg= line for the manifest */
    /* Called for each output file, after other runs have been excluded. Returns 0, or -1 with an
     * error if the file may not be replaced; then nothing changes. */
    int (*may_replace)(const char *path);

    uint64_t sequences; /* result: number of sequences */
};

/* Writes the pair and replaces an existing one. Each sentence is written as a sequence; without
 * sentences, each document is. Returns 0, or -1 with an error; then no files appear. It is also an
 * error if there is no document, or if end-of-text is wanted and the vocabulary has none. */
int megatron_pair_write(struct megatron_pair *p, struct intake *s);
