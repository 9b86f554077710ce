#!/bin/bash
# train-step.sh [ROUNDS]: one step of GPT-2 small (forward, backward, clipping, AdamW), f32, all cores:
# ours and PyTorch's in turn, medians over all steps.
rounds=${1:-3}
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ours() { # B T steps
    rm -rf out
    train "$ROOT/configs/gpt2-small.yaml" -q --data generated --sequence-length "$2" --micro-batch-size "$1" \
        --global-batch-size "$1" --dropout 0 --steps $(($3 + 2)) --save-every 0 --validate-every 0 --log-every 1 \
        --no-save -o out >/dev/null || exit 1
    sed -nE 's/.*"step": *([0-9]+).*"seconds": *([0-9.e+-]+).*/\1 \2/p' out/metrics.jsonl |
        awk '$1 > 2 { print 1000 * $2 }'
}
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_step.py" "$@" 2>/dev/null; }
for shape in '4 64 8' '4 256 4' '1 1024 4'; do
    read -r B T steps <<<"$shape"
    : >a && : >b
    for ((r = 0; r < rounds; r++)); do
        ours "$B" "$T" "$steps" >>a
        theirs "$B" "$T" "$steps" >>b
    done
    a=$(median <a) b=$(median <b)
    echo "$a ${b:-0}" | awk -v s="B=$B T=$T" '{ printf "GPT-2 small step %s: textmill %.0f ms", s, $1
        if ($2 > 0) printf ", PyTorch %.0f ms, ratio %.2fx", $2, $2 / $1; else printf " (PyTorch is not installed)"; print "" }'
done
