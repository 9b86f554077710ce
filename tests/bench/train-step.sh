#!/bin/bash
# train-step.sh [ROUNDS [PRECISION...]]: measures one training step of GPT-2 small (forward, backward, clipping, AdamW) on all cores, in
# f32 and with bf16 products. Ours and PyTorch's (autocast) run in turn; medians over all steps. Also prints our share of the processor's
# peak and of OpenBLAS's rate, which are measured before and after each round; median over the rounds.
rounds=${1:-3}
precisions=${*:2}
. "$ROOT/tests/bench/lib"
for precision in ${precisions:-f32 bf16}; do
    for shape in '4 64 8' '4 256 4' '1 1024 4' '4 1024 2'; do
        read -r B T steps <<<"$shape"
        beside_torch "GPT-2 small step $precision B=$B T=$T" "$rounds" "$precision" "gpt2 $precision $shape" gpt2-small \
            --micro-batch-size "$B" --global-batch-size "$B" --sequence-length "$T" --steps $((steps + 2))
    done
done
