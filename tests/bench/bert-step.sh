#!/bin/bash
# bert-step.sh [ROUNDS [PRECISION...]]: measures one pre-training step of BERT base (forward, backward, clipping, AdamW) on eight full
# rows of 128 tokens, 20 of them predicted, on all cores, in f32 and with bf16 products. Ours and PyTorch's (autocast) run in turn;
# medians over all steps. Also prints our share of the processor's peak and of OpenBLAS's rate, which are measured before and after
# each round; median over the rounds.
rounds=${1:-3}
precisions=${*:2}
. "$ROOT/tests/bench/lib"
for precision in ${precisions:-f32 bf16}; do
    beside_torch "BERT base step $precision B=8 T=128" "$rounds" "$precision" "bert $precision 8 128 4 20" bert-base-128 \
        --micro-batch-size 8 --global-batch-size 8 --steps 6
done
