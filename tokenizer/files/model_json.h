/*
 * model_json.h - the long parts of a model in JSON: {"token": id, ...} and the list of merges.
 *
 * They are most of a tokenizer.json, and all of a vocab.json, and are read as they stand in the
 * text (js_scan.h), without a tree: that halves the time until the first token. Names are in the
 * byte alphabet where the vocabulary is of bytes.
 */
#ifndef TEXTMILL_TOKENIZER_FILES_MODEL_JSON_H
#define TEXTMILL_TOKENIZER_FILES_MODEL_JSON_H

#include <stddef.h>

#include "common/js.h"
#include "tokenizer/model/vocabulary.h"

/* Between the brackets of model.vocab, an object, and of model.merges, a list; nothing where the
 * file has no such thing. */
struct model_parts {
    struct js_cut vocab, merges;
};

/* Finds them in a tokenizer.json. -1: the text is not UTF-8, or has no such form. */
int model_parts_find(struct model_parts *p, const char *text, size_t n);

/* The cuts for js_parse_without, in their order; how many there are. */
size_t model_parts_cuts(const struct model_parts *p, struct js_cut cuts[2]);

/* The tokens, of which added ones are known already: names that the byte alphabet does not spell
 * may stand in the model too when they are added tokens. */
int model_vocab_read(struct vocabulary *v, const char *text, const struct model_parts *p);

/* Unigram's model.vocab, a list of [token, score]; ids count from 0. */
int model_pieces_read(struct vocabulary *v, const struct js *list);

/* The merges, of either spelling: "left right" or ["left", "right"]. */
int model_merges_read(struct vocabulary *v, const char *text, const struct model_parts *p);

#endif
