#!/bin/bash
# tinyshakespeare.sh: trains nanoGPT's character-level recipe for CPUs with ours and with PyTorch; prints the validation loss and the
# wall clock time of 2000 steps.
text=$DATA/text/tinyshakespeare.txt
[ -f "$text" ] || { echo "tinyshakespeare: skipped, no $text"; exit 0; }
. "$ROOT/tests/bench/lib"
size=$(wc -c <"$text") cut=$((size * 9 / 10))
head -c $cut "$text" >train.txt && tail -c +$((cut + 1)) "$text" >valid.txt
tokenize train -q --vocab-size 66 --alphabet seen -o vocab "$text" || exit 1
for part in train valid; do
    stride=$([ $part = train ] && echo 8 || echo 64)
    tokenize -q --vocab vocab --format text $part.txt |
        tfwrite -q --sequence-length 64 --stride "$stride" -o $part || exit 1
done
began=$(date +%s.%N)
train "$ROOT/configs/tinyshakespeare-char.yaml" -q --data train --validation valid --vocab vocab -o model >/dev/null || exit 1
seconds=$(echo "$began $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
loss=$(sed -nE 's/.*"validation_loss": *([0-9.]+).*/\1/p' model/metrics.jsonl | tail -1)
read -r their_loss their_seconds < <("$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_char.py" "$text" 2>/dev/null)
record 'tinyshakespeare, 2000 steps, loss' nats "$loss" PyTorch "$their_loss"
record 'tinyshakespeare, 2000 steps' s "$seconds" PyTorch "$their_seconds"
