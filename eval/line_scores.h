/*
 * line_scores.h - `evaluate lines`: the probability of each line of a text, and of its second half.
 *
 * A line is one sequence: the token that begins a text (framed.h), then the line's tokens. A
 * sequence is cut after `length` tokens, that one included.
 *
 *     bits              - sum of log2 p of the line's tokens
 *     second_half_bits  the same sum, of the tokens of the line's second half only
 *
 * The second half is that of Goldfish's evaluation (Chang et al. 2024, arXiv 2408.10441): let k be
 * the number of tokens of the first floor(n / 2) of the line's n code points, encoded alone. Then
 * the second half is what follows the line's first k tokens. An unknown token counts
 * log2(vocabulary), because its text is not known.
 *
 * Bits per byte and per character are those of all lines with fewer than `length` tokens, because
 * the bytes of a line that was cut are not all scored.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command line_scores_command;
