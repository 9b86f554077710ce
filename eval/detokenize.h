/*
 * detokenize.h - undoes the word tokenization of WikiText and of the Penn Treebank, so that a
 * model trained on ordinary text can score it.
 *
 * The rules and their order are those of Megatron-LM's zero-shot detokenizers, with which the
 * published GPT-2 scores were made. Two of them look like mistakes but are kept, because the scores
 * depend on them: quotes (and apostrophes) are paired over the whole text, and " N " becomes " 1 ".
 * A third mistake is left out: the pattern for decades ("' 90s") is written with slashes around it
 * and never matches.
 *
 * The rules are tables in detokenize.c. Each is applied to the whole text before the next one. The
 * functions change the text in place, in linear time. Bytes that are not valid UTF-8 are copied.
 */
#pragma once

#include "common/base/base.h"

void detokenize_wiki(struct buf *text);
void detokenize_ptb(struct buf *text);
