/*
 * model_json.h - reads the long parts of a model in JSON: the tokens {"token": id, ...} and the
 * merges.
 *
 * These parts are most of a tokenizer.json and all of a vocab.json. They are read directly from
 * the text (js_scan.h), without building a JSON tree. That halves the loading time. Token names
 * are in the byte alphabet if the vocabulary is byte-level.
 */
#ifndef TEXTMILL_TOKENIZER_FILES_MODEL_JSON_H
#define TEXTMILL_TOKENIZER_FILES_MODEL_JSON_H

#include <stddef.h>

#include "common/js.h"
#include "tokenizer/model/vocabulary.h"

/* The text ranges of model.vocab, an object, and of model.merges, a list, between their brackets.
 * A range is empty if the file lacks the value. */
struct model_parts {
    struct js_cut vocab, merges;
};

/* Finds the parts in the text of a tokenizer.json. Returns -1 if the text is not UTF-8 or is not
 * JSON of this form. */
int model_parts_find(struct model_parts *p, const char *text, size_t n);

/* Writes the ranges in the order that js_parse_without needs. Returns their number. */
size_t model_parts_cuts(const struct model_parts *p, struct js_cut cuts[2]);

/* Reads the tokens. Added tokens must have been read before: a name that the byte alphabet cannot
 * spell is accepted only if it is an added token. Returns -1 with an error. */
int model_vocab_read(struct vocabulary *v, const char *text, const struct model_parts *p);

/* Reads Unigram's model.vocab, a list of [token, score]; ids count from 0. Returns -1 with an
 * error. */
int model_pieces_read(struct vocabulary *v, const struct js *list);

/* Reads the merges, in either spelling: "left right" or ["left", "right"]. Returns -1 with an
 * error. */
int model_merges_read(struct vocabulary *v, const char *text, const struct model_parts *p);

#endif
