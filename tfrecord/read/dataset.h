/*
 * dataset.h - sequences of equal length out of shards, by number: what train and evaluate read.
 *
 * Paths are TFRecord files (feature input_ids), folders of *.tfrecord, Megatron prefixes
 * (PREFIX.bin and PREFIX.idx, with or without the ending), files of llm.c that end in .bin,
 * "nanogpt:FILE", shell patterns of these, or "@FILE": a file that names such paths, one per line.
 * TFRecord: one sequence a record, cut to `length`; shorter ones are errors, and so are records of
 * two lengths and rows of the bert layouts, which have input_ids too. Megatron, llm.c and nanoGPT:
 * all tokens end to end, sequence i being tokens [i*(length-1), i*(length-1) + length), so that
 * each begins with the last token of the one before.
 *
 * Files are memory-mapped and found by index; nothing is read before it is asked for, and both
 * CRCs of a record are checked on every read. Compressed files are unpacked when they are opened
 * (record_file.h). Reading is safe from several threads.
 */
#ifndef TEXTMILL_TFRECORD_READ_DATASET_H
#define TEXTMILL_TFRECORD_READ_DATASET_H

#include <stddef.h>
#include <stdint.h>

struct dataset;

/* `length` counts the label too: sequence length + 1. NULL with an error that names the file. */
struct dataset *dataset_open(const char *const *paths, size_t count, uint32_t length);

/* Of records of any kind; Megatron pairs have none. */
struct dataset *dataset_open_records(const char *const *paths, size_t count);
void dataset_close(struct dataset *d);

/* The sequence length that the data was made for: the first manifest's, or else that of the records
 * without their last label; 0 if the data has none, as a Megatron pair. dataset_set_length changes
 * `length` and must come before the first read; it returns -1 if the records are shorter. */
uint64_t dataset_sequence_length(const struct dataset *d);
int dataset_set_length(struct dataset *d, uint32_t length);

uint64_t dataset_count(const struct dataset *d);  /* sequences, or records */
uint64_t dataset_tokens(const struct dataset *d); /* count * (length - 1): labels to learn from */

/* How many ids each TFRecord has, which is `length` or more; 0: there is none. */
uint64_t dataset_record_length(const struct dataset *d);

/* Of the vocabulary that made the data, from the manifest beside the shards; 0: not known. */
uint64_t dataset_checksum(const struct dataset *d);
uint64_t dataset_vocabulary(const struct dataset *d);

/* Records of an epoch, in which each document comes once: all, but of BERT's instances those over
 * the duplication factor that their manifest says. Of dataset_open_records. */
double dataset_epoch(const struct dataset *d);

/* The tokenizer.json beside the shards, as their manifest says; NULL: none. Owned by d. */
const char *dataset_tokenizer(const struct dataset *d);

/* Fills ids[0..length). -1 with file, record and offset. */
int dataset_read(struct dataset *d, uint64_t i, uint32_t *ids);

/* -1, with the same, when one of the ids that were read is not below `vocabulary`; the manifest's
 * is checked when reading. */
int dataset_check(const struct dataset *d, uint64_t i, const uint32_t *ids, uint64_t vocabulary);

/* The first one behind the file that i is in; the last file's is dataset_count. */
uint64_t dataset_next_file(const struct dataset *d, uint64_t i);

/* Record i, where it stands. -1 with file, record and offset. */
int dataset_record(const struct dataset *d, uint64_t i, const void **data, size_t *n);

/* Puts file, record and offset in front of the error about sequence or record i. Returns -1. */
int dataset_where(const struct dataset *d, uint64_t i);

#endif
