/*
 * benchmark.h - runs the benchmarks of a specification file: shell commands with parameters, whose
 * output is searched for numbers by regular expressions.
 *
 *     gpt2-small:
 *       description: a training step of GPT-2 small
 *       command: train configs/gpt2-small.yaml --data generated --micro-batch-size {batch} ...
 *       parameters:                # every combination of values is a variant; {name} is replaced
 *         batch: [1, 4]
 *         precision: [f32, bf16]
 *       metrics:
 *         throughput:
 *           pattern: '([0-9.]+) tok/s'   # POSIX extended; the first group matches the number
 *           skip: 1                      # number of first matches to leave out (default 0)
 *           reduce: median               # mean, median, min, max or last (default)
 *
 * A name that begins with a dot is not a benchmark. It holds settings that several benchmarks share
 * through YAML anchors. The command runs in a shell. Its standard output and standard error are
 * searched together, line by line. A variant fails when its command fails or when a metric is not
 * found; the other variants still run.
 */
#ifndef TEXTMILL_TRAIN_BENCHMARK_H
#define TEXTMILL_TRAIN_BENCHMARK_H

#include "common/yaml.h"

/* Runs the `count` benchmarks in `names`, or all of the specification if count is 0. Prints one
 * line for each variant, and writes the results to the files `json` and `csv` (NULL: not written).
 * Returns 0, or -1 with an error when a variant failed. */
int benchmark_run(const char *spec_path, char **names, int count, const char *json,
                  const char *csv);

/* Prints the name and the description of each benchmark in the specification, one per line. Returns
 * 0, or -1 with an error. */
int benchmark_list(const char *spec_path);

#endif
