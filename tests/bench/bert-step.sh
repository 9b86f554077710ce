#!/bin/bash
# bert-step.sh [ROUNDS [PRECISION...]]: one step of pre-training BERT base (forward, backward, clipping,
# AdamW) on eight full rows of 128 tokens, 20 of them predicted, all cores, in f32 and with products in
# bf16: ours and PyTorch's (autocast) in turn, medians over all steps.
rounds=${1:-3}
precisions=${*:2}
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
. "$ROOT/tests/bench/lib"
ours() { steps_ms bert-base-128 --precision "$1" --micro-batch-size 8 --global-batch-size 8 --steps 6; }
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_step.py" bert "$1" 8 128 4 20 2>/dev/null; }
for precision in ${precisions:-f32 bf16}; do
    : >a && : >b
    for ((r = 0; r < rounds; r++)); do
        ours "$precision" >>a
        theirs "$precision" >>b
    done
    ratio "BERT base step $precision B=8 T=128" ms "$(median <a)" PyTorch "$(median <b)"
done
