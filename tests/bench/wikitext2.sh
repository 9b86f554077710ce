#!/bin/bash
# wikitext2.sh: trains a small GPT on WikiText-2 from scratch (configs/wikitext2.yaml); prints the perplexity per word of the validation
# text and the wall clock time of training. The training text is seen one and a half times.
train=$DATA/wikitext/wikitext-2.train.tokens valid=$DATA/wikitext/wikitext-2.valid.tokens
[ -f "$train" ] || { echo "wikitext2: skipped, no $train"; exit 0; }
. "$ROOT/tests/bench/lib"
tokenize train -q --vocab-size 8192 --format text -o vocab "$train" || exit 1
tokenize -q --vocab vocab --format text "$train" | tfwrite -q --sequence-length 128 --stride 64 -o shards || exit 1
tokenize -q --vocab vocab --format text "$valid" | tfwrite -q --sequence-length 128 -o shards/validation || exit 1
began=$(date +%s.%N)
train "$ROOT/configs/wikitext2.yaml" -q "$@" -o model || exit 1
seconds=$(echo "$began $(date +%s.%N)" | awk '{ printf "%.0f", $2 - $1 }')
tokens=$(sed -nE 's/.*"tokens": *([0-9]+).*/\1/p' model/metrics.jsonl | tail -1)
perplexity=$(evaluate wiki -q --model model --detokenize none --json "$valid" | sed -nE 's/.*"adjusted_perplexity": *([0-9.]+).*/\1/p')
record 'WikiText-2 from nothing, perplexity of a word' perplexity "$perplexity" '' '' ", $tokens tokens in $seconds s"
