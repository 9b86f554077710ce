/*
 * model_json.h - reads the long parts of a model in JSON: the tokens {"token": id, ...} and the
 * merges.
 *
 * These parts are most of a tokenizer.json and all of a vocab.json. They are read directly from
 * the text (js_scan.h), without building a JSON tree. That halves the loading time. Token names
 * are in the byte alphabet if the vocabulary is byte-level.
 */
#pragma once

#include "common/formats/js.h"
#include "tokenizer/model/vocabulary.h"

/* The ranges of the text that hold model.vocab, an object, and model.merges, a list, without the
 * brackets. A range is empty if the file does not have the value. */
struct model_parts {
    struct js_cut vocab, merges;
};

/* Finds the parts in the text of a tokenizer.json. Returns 0, or -1 if the text is not UTF-8 or is
 * not JSON of this form. */
int model_parts_find(struct model_parts *p, const char *text, size_t n);

/* Copies the two ranges to cuts[], in the order of the text, which js_parse_without needs. Returns
 * their number, 2. */
size_t model_parts_cuts(const struct model_parts *p, struct js_cut cuts[2]);

/* Reads model.vocab of `text` into v. The added tokens must have been read before: a name that the
 * byte alphabet cannot spell is accepted only if it is an added token. Returns 0, or -1 with an
 * error. */
int model_vocab_read(struct vocabulary *v, const char *text, const struct model_parts *p);

/* Reads the model.vocab of a Unigram model, a list of [token, score], into v; ids count from 0.
 * Returns 0, or -1 with an error. */
int model_pieces_read(struct vocabulary *v, const struct js *list);

/* Reads model.merges of `text` into v. A merge may be spelled "left right" or ["left", "right"].
 * Returns 0, or -1 with an error. */
int model_merges_read(struct vocabulary *v, const char *text, const struct model_parts *p);
