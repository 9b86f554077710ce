/*
 * core.h - `evaluate core`: the CORE metric of DataComp-LM (Li et al. 2024, arXiv 2406.11794), by
 * the rules of nanochat's core_eval.py, so that the scores can be compared.
 *
 * A folder has core.yaml, which lists the tasks, eval_meta_data.csv with a score by chance for each
 * task, and the tasks' questions in eval_data/, as JSON lines. This is the folder eval_bundle that
 * nanochat downloads. A task in core.yaml has these keys:
 *
 *     label                   its name
 *     dataset_uri             its file, in eval_data/ or else in the folder itself
 *     num_fewshot             k, the number of examples before each question
 *     icl_task_type           multiple_choice | schema | language_modeling
 *     continuation_delimiter  the text before an answer; a space if it is missing
 *     random_baseline         the score by chance in per cent, if there is no eval_meta_data.csv
 *
 * A question has these keys. The model reads the token that begins a text (framed.h), the k
 * examples with their right answers, and the question:
 *
 *     multiple_choice     query, choices [..], gold           right: the mean loss of the tokens
 *                                                             that differ is least for choice
 * `gold` schema              context_options [..],               the mean loss of the tokens that
 * the continuation, gold                  contexts' ends share is least for `gold`
 *     language_modeling   context, continuation               each token that the question has more
 *                                                             with its continuation than without
 *                                                             it is the most probable one
 *
 * Examples of question i, counted from 0, are Random(1234 + i).sample(others, k) in Python. Text
 * that is longer than the model's positions is cut at its beginning.
 *
 *     centered = (accuracy - baseline) / (1 - baseline)       CORE = mean of it over all tasks
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command core_command;
