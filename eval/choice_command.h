/*
 * choice_command.h - `evaluate choice`: multiple choice by likelihood. The model chooses the most
 * probable ending of a text.
 *
 * Input: the JSON lines of choices.h. All lines of a file have the same form.
 *
 * Context and choice are encoded together. The tokens after those of the context alone belong to
 * the choice; so does white space at the end of the context. If the context is empty, the token
 * that begins a text (framed.h) takes its place. A sequence longer than the model's positions is
 * cut at its beginning.
 *
 *     acc       the right choice has the largest sum of log p
 *     acc_norm  it has the largest sum of log p / characters of the choice
 *
 * Of choices with equal scores the first counts. Before the context is the form's description, and
 * then k examples from another file: contexts with their right choices, each with an empty line
 * behind it. If the form has a description, they are the first k with the same one. If not,
 * Random(1234) in Python, seeded once for a file, gives each question sample(examples, k). These
 * are the rules of lm-evaluation-harness, so that the scores can be compared.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command choice_command;
