/*
 * golden.h - tokenizers of the data folder, and files of JSON lines that say which ids others give
 * for a text. Tests are skipped where there is no such folder.
 */
#pragma once

#include "common/base/buf.h"
#include "common/base/ids.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "tokenizer/tokenizer.h"

/* Sets *path to the path of NAME in the data folder, and returns its text. */
const char *golden_path(struct buf *path, const char *name);

/* Loads the tokenizer tokenizers/NAME, with Google's rules if `google` is 1. */
struct tokenizer *golden_tokenizer(const char *name, int google);

/* A file of JSON lines. golden_next returns the next line, or NULL at the end; it is valid until
 * the next call. golden_close checks that the file has at least `at_least` lines. */
struct golden {
    const char *name;
    struct input in;
    int number; /* of the line, from 1 */
    struct js *line;
};
void golden_open(struct golden *g, const char *name);
const struct js *golden_next(struct golden *g);
void golden_close(struct golden *g, int at_least);

/* Sets `ids` to the ids of a JSON array. */
void golden_ids(const struct js *list, struct ids *ids);

/* Checks that `ids` are those of a JSON array of the current line. */
void golden_expect(const struct golden *g, const struct js *list, const struct ids *ids);
