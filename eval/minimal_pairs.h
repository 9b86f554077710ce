/*
 * minimal_pairs.h - `evaluate pairs`: minimal pairs. The model prefers the sentence that it finds
 * more probable.
 *
 * Input: JSON lines. Each object has a good and a bad sentence, as strings under two keys; the
 * usual ones are those of BLiMP (Warstadt et al. 2020). A sentence is scored after the token that
 * begins a text (framed.h), with a space before it, as lm-evaluation-harness scores BLiMP:
 *
 *     right  the sum of log p of the good sentence's tokens is not less than that of the bad one's
 *
 * A sentence longer than the model's positions is cut at its beginning.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command minimal_pairs_command;
