#!/bin/bash
# evaluate.sh [ROUNDS]: tokens per second of WikiText perplexity with GPT-2 small, non-overlapping windows of 1,024 tokens, all
# cores, in f32 and with bf16 products. Ours and PyTorch's run in turn; medians. Our time is the difference between 12 windows and
# 2 windows, so that loading the model is not counted. PyTorch's time is that of the forward passes alone.
rounds=${1:-3}
text=$DATA/wikitext/wikitext-2.valid.tokens
[ -f "$text" ] || { echo "evaluate: skipped, no $text"; exit 0; }
. "$ROOT/tests/bench/lib"
train "$ROOT/configs/gpt2-small.yaml" -q --data generated --vocabulary 50257 --sequence-length 64 --positions 1024 --micro-batch-size 1 \
    --global-batch-size 1 --steps 1 -o model >/dev/null || exit 1
head -c 10000 "$text" >few
head -c 69000 "$text" >many
seconds() { # precision file
    local began
    began=$(date +%s.%N)
    tokens=$(evaluate wiki -q --model model --vocab "$DATA/tokenizers/gpt2-tokenizer.json" --sequence-length 1024 --stride 1024 \
        --precision "$1" --json "$2" | sed -nE 's/.*"tokens": *([0-9]+).*/\1/p')
    echo "$began $(date +%s.%N)" | awk '{ printf "%.3f\n", $2 - $1 }'
}
for precision in f32 bf16; do
    : >a && : >b
    for ((r = 0; r < rounds; r++)); do
        seconds $precision few >f && few=$tokens && seconds $precision many >m
        paste f m | awk -v n=$((tokens - few)) '{ print n / ($2 - $1) }' >>a
        "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_evaluate.py" $precision 2>/dev/null >>b
    done
    record "GPT-2 small evaluation $precision" tok/s "$(median <a)" PyTorch "$(median <b)"
done
