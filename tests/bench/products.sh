#!/bin/bash
# products.sh [ROUNDS [KERNELS...]]: measures one step of GPT-2 small in f32, with our own matrix products and with OpenBLAS's in turn;
# medians over all steps. Runs once for each name in KERNELS (avx512-bf16 avx2); OpenBLAS is told to use the same instructions. With
# ONE_THREAD=1 it measures the processor time of one thread, for a machine with other load; medians over the rounds.
rounds=${1:-3}
kernels=${*:2}
. "$ROOT/tests/bench/lib"
for TEXTMILL_KERNELS in ${kernels:-avx512-bf16 avx2}; do
    export TEXTMILL_KERNELS
    for shape in '4 64 8' '1 1024 4'; do
        read -r B T steps <<<"$shape"
        options=(gpt2-small --micro-batch-size "$B" --global-batch-size "$B" --sequence-length "$T" --steps $((steps + 2)))
        : >own && : >openblas
        for ((r = 0; r < rounds; r++)); do
            for TEXTMILL_PRODUCTS in own openblas; do
                export TEXTMILL_PRODUCTS
                if [ "${ONE_THREAD:-}" ]; then
                    step_cpu_ms "$ROOT" "${options[@]}" >>"./$TEXTMILL_PRODUCTS"
                else
                    steps_ms "${options[@]}" >>"./$TEXTMILL_PRODUCTS"
                fi
            done
        done
        record "GPT-2 small step f32 B=$B T=$T, $TEXTMILL_KERNELS${ONE_THREAD:+, one thread}" ms "$(median <own)" OpenBLAS "$(median <openblas)"
    done
done
