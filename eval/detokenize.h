/*
 * detokenize.h - undoes the word tokenization of WikiText and of the Penn Treebank, so that a
 * model that learned ordinary text can be asked for its probability.
 *
 * The rules and their order are those with which the published GPT-2 scores were made
 * (Megatron-LM's zero-shot detokenizers). Two of their properties look like slips and are kept,
 * for the scores rest on them: quotes pair off over the whole text, apostrophes included, and
 * " N " becomes " 1 ". A third, a pattern for decades ("' 90s") written with slashes around it,
 * matched nothing and is left out.
 *
 * WikiText, each rule over the whole text before the next:
 *      1. "s '" -> "s'"
 *      2. " @-@ " -> "-", and so for , and .
 *      3. " : " -> ": ", and so for ; . ! ? ,
 *      4. ( x ) -> (x), and so for [], {}, "" and '': an opener and the next closer lose the
 *         white space inside them, be it on other lines
 *      5. "= = = =" -> "====", "= = =" -> "===", "= =" -> "=="
 *      6. " ° " -> "°"
 *      7. " \n" -> "\n", "\n " -> "\n"
 *      8. " N " -> " 1 "
 *      9. " 's" -> "'s"
 * Treebank: " '" -> "'", " \n" -> "\n", "\n " -> "\n", " n't" -> "n't", " N " -> "1 ",
 *      "$ 1" -> "$1", "# 1" -> "#1".
 *
 * Time is linear in the text. Bytes that are no UTF-8 pass through.
 */
#ifndef TEXTMILL_EVAL_DETOKENIZE_H
#define TEXTMILL_EVAL_DETOKENIZE_H

#include "common/buf.h"

void detokenize_wiki(struct buf *text);
void detokenize_ptb(struct buf *text);

#endif
