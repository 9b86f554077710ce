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
 * WikiText (each rule is applied to the whole text before the next one):
 *      1. "s '" -> "s'"
 *      2. " @-@ " -> "-"; the same for , and .
 *      3. " : " -> ": "; the same for ; . ! ? ,
 *      4. ( x ) -> (x); the same for [], {}, "" and '': white space after an opener and before
 *         the next closer is removed, also if they are on different lines
 *      5. "= = = =" -> "====", "= = =" -> "===", "= =" -> "=="
 *      6. " ° " -> "°"
 *      7. " \n" -> "\n", "\n " -> "\n"
 *      8. " N " -> " 1 "
 *      9. " 's" -> "'s"
 * Treebank: " '" -> "'", " \n" -> "\n", "\n " -> "\n", " n't" -> "n't", " N " -> "1 ",
 *      "$ 1" -> "$1", "# 1" -> "#1".
 *
 * The functions change the text in place, in linear time. Bytes that are not valid UTF-8 are
 * copied.
 */
#pragma once

#include "common/base/base.h"

void detokenize_wiki(struct buf *text);
void detokenize_ptb(struct buf *text);
