/*
 * dataset.h - a data set: sequences of equal length from files, accessed by number. train and
 * evaluate read it.
 *
 * Paths are TFRecord files (feature input_ids), folders of *.tfrecord, Megatron prefixes
 * (PREFIX.bin and PREFIX.idx, with or without the ending), files of llm.c that end in .bin, of
 * NumPy that end in .npy, "nanogpt:FILE", shell patterns of these, or "@FILE": a file that names
 * such paths, one per line. A record of a TFRecord file holds one sequence. All records have the
 * same length, which is at least `length`; the sequence is cut to `length`. Anything else is an
 * error, and so are records of the bert layouts, although they have input_ids. The tokens of
 * Megatron, llm.c and nanoGPT files are concatenated; sequence i is tokens [i*(length-1),
 * i*(length-1) + length), so each sequence begins with the last token of the one before.
 *
 * Files are memory-mapped. Records are found by index and read only on request; both CRCs of a
 * record are checked on every read. Compressed files are unpacked when they are opened
 * (record_file.h). Several threads may read at once.
 */
#pragma once

#include "common/files/file.h"

struct dataset;

/* Opens a data set. `length` includes the last label: sequence length + 1. If it is 0, records may
 * be of any kind, and are read by dataset_record; Megatron pairs, which have no records, are then
 * an error. Returns NULL with an error that names the file. */
struct dataset *dataset_open(const char *const *paths, size_t count, uint32_t length);
void dataset_close(struct dataset *d);

/* dataset_sequence_length returns the sequence length that the data was made for: that of the first
 * manifest, or else the length of the records minus 1 for the last label; 0 if the data does not
 * have one, as with Megatron pairs. dataset_set_length changes `length` and must be called before
 * the first read; it returns 0, or -1 with an error if the records are shorter. */
uint64_t dataset_sequence_length(const struct dataset *d);
int dataset_set_length(struct dataset *d, uint32_t length);

uint64_t dataset_count(const struct dataset *d);  /* number of sequences or records */
uint64_t dataset_tokens(const struct dataset *d); /* number of labels: count * (length - 1) */

/* Returns the number of ids per TFRecord, at least `length`; 0 if there are no TFRecords. */
uint64_t dataset_record_length(const struct dataset *d);

/* What the manifests beside the shards say. */
struct dataset_facts {
    uint64_t checksum, vocabulary; /* of the vocabulary: its checksum and size; 0: not known */
    uint64_t content;              /* hash of the files' checksums; 0: not known */
    uint64_t end_of_text;          /* id; UINT64_MAX: not known */
    /* paths of the tokenizer.json of each set, which lies beside its shards; a set with the same
     * file as the set before adds none */
    struct file_names tokenizers;
    /* records in an epoch, after which each document has occurred once: all, for BERT instances
     * divided by the duplication factor. Set only if dataset_open had length 0 */
    double epoch;
};
const struct dataset_facts *dataset_facts(const struct dataset *d);

/* Reads sequence i into ids[0..length), and the label of each position into labels[0..length):
 * the next id, or DATASET_IGNORE where its loss_mask, or else its attention_mask, is 0. The last
 * label is not used. Returns 0, or -1 with an error that names file, record and offset. */
enum { DATASET_IGNORE = -100 };
int dataset_read(struct dataset *d, uint64_t i, uint32_t *ids, int32_t *labels);

/* Checks ids[], which was read from sequence i. Returns 0, or -1 with an error that names file,
 * record and offset if an id is not below `vocabulary`, or if a file of nanoGPT cannot hold all of
 * its ids. dataset_read already checks ids against the vocabulary of the manifest. */
int dataset_check(const struct dataset *d, uint64_t i, const uint32_t *ids, uint64_t vocabulary);

/* Returns the first sequence of the file after the one that contains i; dataset_count for the last
 * file. */
uint64_t dataset_next_file(const struct dataset *d, uint64_t i);

/* Sets *data to record i in mapped memory, and *n to its bytes. Returns 0, or -1 with an error that
 * names file, record and offset. */
int dataset_record(const struct dataset *d, uint64_t i, const void **data, size_t *n);

/* Puts file, record and offset in front of the error about sequence or record i. Returns -1. */
int dataset_where(const struct dataset *d, uint64_t i);
