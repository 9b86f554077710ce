#!/bin/bash
# train-step.sh [ROUNDS [PRECISION...]]: one step of GPT-2 small (forward, backward, clipping, AdamW), all
# cores, in f32 and with products in bf16: ours and PyTorch's (autocast) in turn, medians over all steps.
rounds=${1:-3}
precisions=${*:2}
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ours() { # precision B T steps
    rm -rf out
    train "$ROOT/configs/gpt2-small.yaml" -q --data generated --precision "$1" --sequence-length "$3" \
        --micro-batch-size "$2" --global-batch-size "$2" --dropout 0 --steps $(($4 + 2)) --save-every 0 --validate-every 0 --log-every 1 \
        --no-save -o out >/dev/null || exit 1
    sed -nE 's/.*"step": *([0-9]+).*"seconds": *([0-9.e+-]+).*/\1 \2/p' out/metrics.jsonl |
        awk '$1 > 2 { print 1000 * $2 }'
}
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_step.py" "$@" 2>/dev/null; }
compare() { # precision B T steps
    : >a && : >b
    for ((r = 0; r < rounds; r++)); do
        ours "$@" >>a
        theirs "$@" >>b
    done
    a=$(median <a) b=$(median <b)
    echo "$a ${b:-0}" | awk -v s="$1 B=$2 T=$3" '{ printf "GPT-2 small step %s: textmill %.0f ms", s, $1
        if ($2 > 0) printf ", PyTorch %.0f ms, ratio %.2fx", $2, $2 / $1; else printf " (PyTorch is not installed)"; print "" }'
}
for precision in ${precisions:-f32 bf16}; do
    for shape in '4 64 8' '4 256 4' '1 1024 4' '4 1024 2'; do compare "$precision" $shape; done
done
