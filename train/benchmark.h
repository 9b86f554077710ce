/*
 * benchmark.h - named benchmarks from a specification: commands, their variants, and the figures
 * that regular expressions find in what they print.
 *
 *     gpt2-small:
 *       description: a training step of GPT-2 small
 *       command: train configs/gpt2-small.yaml --data generated --micro-batch-size {batch} ...
 *       parameters:                # every combination is a variant; {name} stands for a value
 *         batch: [1, 4]
 *         precision: [f32, bf16]
 *       metrics:
 *         throughput:
 *           pattern: '([0-9.]+) tok/s'   # POSIX extended; what the first group matched, a number
 *           skip: 1                      # leave out the first matches (default 0)
 *           reduce: median               # mean, median, min, max or last (default)
 *
 * What begins with a dot is no benchmark, but a place for what several share by YAML's anchors.
 * The command runs in a shell; standard output and standard error are searched line by line, in
 * the order in which they came. A command that fails, or a metric that is never found, is an
 * error of its variant; the others are still run.
 */
#ifndef TEXTMILL_TRAIN_BENCHMARK_H
#define TEXTMILL_TRAIN_BENCHMARK_H

#include "common/yaml.h"

/* Runs the benchmarks named, or all of the specification where there are none, prints a line for
 * each variant, and writes the results to `json` and `csv` (NULL: not). -1 when one failed. */
int benchmark_run(const char *spec_path, char **names, int count, const char *json,
                  const char *csv);

/* The names and descriptions in the specification, one a line, on stdout. */
int benchmark_list(const char *spec_path);

#endif
