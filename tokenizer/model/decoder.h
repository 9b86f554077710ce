/*
 * decoder.h - runs the decoders of tokenizer.json, which turn the names of tokens into text.
 *
 * A decoder is a list of steps. Each step turns a list of strings into another list of strings, as
 * in Hugging Face's decoders. At the end the strings are joined. If the file has no decoder, a
 * space is put between tokens.
 */
#pragma once

#include "common/base/base.h"

struct js;
struct decoder;

/* Makes a decoder from its JSON value, which may be null. Returns NULL with an error if the
 * decoder is not supported. */
struct decoder *decoder_new(const struct js *value);
void decoder_free(struct decoder *d);

/* A list of strings in one buffer: string i is text.data[ends[i - 1]..ends[i]). */
struct strings {
    struct buf text;
    size_t *ends, count, cap;
};
#define STRINGS_INIT                                                                               \
    {                                                                                              \
        BUF_INIT, NULL, 0, 0                                                                       \
    }
void strings_release(struct strings *s);
void strings_end(struct strings *s); /* ends the string that was appended to s->text */

/* Decodes the tokens `names` and appends the text. The function overwrites `names`. Returns 0, or
 * -1 with an error if a pattern needs too much memory or time. */
int decoder_run(const struct decoder *d, struct strings *names, struct buf *out);

/* A table of the decoded text of each token. It is possible only if each step before the strings
 * are joined looks at one string alone and at whether it is the first. Decoding with a table is
 * about a hundred times as fast. */
struct decoder_table;

/* Makes the table. `names` has the names of all ids, in the order of ids; the function overwrites
 * it. `d` NULL: there are no steps, and the names are the texts. Returns NULL if the decoder's
 * steps do not allow a table, or if a pattern needs too much memory or time. */
struct decoder_table *decoder_table_new(const struct decoder *d, struct strings *names);
void decoder_table_free(struct decoder_table *t);

/* From now on, decoding ignores this id. */
void decoder_table_leave_out(struct decoder_table *t, uint32_t id);

/* Returns what a token adds to the text of others before it, and sets *n to its length in bytes;
 * NULL if the id is left out. */
const char *decoder_table_text(const struct decoder_table *t, uint32_t id, size_t *n);

/* Appends the text of n ids, as decoder_run does; but a Metaspace after a ByteFallback does not
 * replace what byte tokens spell. Returns n. If one of the ids has no name, returns the index of
 * the first one and appends nothing. */
size_t decoder_table_run(const struct decoder_table *t, const uint32_t *ids, size_t n,
                         struct buf *out);
