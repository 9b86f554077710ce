#!/bin/bash
# bert-step.sh [ROUNDS [PRECISION...]]: one step of pre-training BERT base (forward, backward, clipping,
# AdamW) on eight full rows of 128 tokens, 20 of them predicted, all cores, in f32 and with products in
# bf16: ours and PyTorch's (autocast) in turn, medians over all steps.
rounds=${1:-3}
precisions=${*:2}
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ours() { # precision steps
    rm -rf out
    train "$ROOT/configs/bert-base-128.yaml" -q --data generated --precision "$1" --micro-batch-size 8 \
        --global-batch-size 8 --dropout 0 --steps $(($2 + 2)) --save-every 0 --validate-every 0 --log-every 1 \
        --no-save -o out >/dev/null || exit 1
    sed -nE 's/.*"step": *([0-9]+).*"seconds": *([0-9.e+-]+).*/\1 \2/p' out/metrics.jsonl |
        awk '$1 > 2 { print 1000 * $2 }'
}
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_bert.py" "$1" 8 128 20 "$2" 2>/dev/null; }
for precision in ${precisions:-f32 bf16}; do
    : >a && : >b
    for ((r = 0; r < rounds; r++)); do
        ours "$precision" 4 >>a
        theirs "$precision" 4 >>b
    done
    a=$(median <a) b=$(median <b)
    echo "$a ${b:-0}" | awk -v s="$precision B=8 T=128" '{ printf "BERT base step %s: textmill %.0f ms", s, $1
        if ($2 > 0) printf ", PyTorch %.0f ms, ratio %.2fx", $2, $2 / $1; else printf " (PyTorch is not installed)"; print "" }'
done
