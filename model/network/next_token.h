/*
 * next_token.h - models that predict the next token: the embedding, the layers, and a head of a
 * norm and a decoder. The decoder's table is the embedding's table of words or, if config.untied is
 * set, its own.
 */
#pragma once

#include "model/network/model.h"

/* Adds the tensors of all blocks to the model's table, and sets the functions of the head. */
void next_token_init(struct model *m);
