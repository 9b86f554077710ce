#!/bin/bash
# train-step.sh [ROUNDS [PRECISION...]]: one step of GPT-2 small (forward, backward, clipping, AdamW), all
# cores, in f32 and with products in bf16: ours and PyTorch's (autocast) in turn, medians over all steps.
rounds=${1:-3}
precisions=${*:2}
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
. "$ROOT/tests/bench/lib"
ours() { # precision B T steps
    steps_ms gpt2-small --precision "$1" --micro-batch-size "$2" --global-batch-size "$2" --sequence-length "$3" --steps $(($4 + 2))
}
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_step.py" gpt2 "$@" 2>/dev/null; }
compare() { # precision B T steps
    : >a && : >b
    for ((r = 0; r < rounds; r++)); do
        ours "$@" >>a
        theirs "$@" >>b
    done
    ratio "GPT-2 small step $1 B=$2 T=$3" ms "$(median <a)" PyTorch "$(median <b)"
}
for precision in ${precisions:-f32 bf16}; do
    for shape in '4 64 8' '4 256 4' '1 1024 4' '4 1024 2'; do compare "$precision" $shape; done
done
