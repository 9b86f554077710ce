#!/bin/bash
# squad.sh [ROUNDS [QUESTIONS]]: questions of SQuAD answered by a model of BERT-base's shape (random weights),
# windows of at most 384 tokens, f32, all cores. Ours: the whole run of `evaluate squad`, loading and writing
# included. PyTorch's: the logits alone, padded as the published script has it, and padded least. In turn, medians.
rounds=${1:-3} questions=${2:-48}
[ -d "$DATA/squad" ] || { echo "SQuAD answers: no $DATA"; exit 0; }
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
. "$ROOT/tests/bench/lib"
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_squad.py" "$1" . "$DATA" "$questions" 8 2>/dev/null; }
theirs setup || { echo 'SQuAD answers: PyTorch, which makes the model, is not installed'; exit 0; }
for ((r = 0; r < rounds; r++)); do
    began=$(date +%s%N)
    evaluate squad -q --model model data.json >/dev/null || exit 1
    echo $((($(date +%s%N) - began) / 1000000)) >>ours
    theirs time >>theirs
done
echo "$(median <ours) $(cut -d' ' -f1 theirs | median) $(cut -d' ' -f2 theirs | median)" |
    awk -v n="$questions" '{ a = $1 / 1000
        printf "SQuAD, %d questions, BERT-base, f32: textmill %.2f s; PyTorch padded to 384 %.2f s, ratio %.2fx; ", n, a, $2, $2 / a
        printf "padded least %.2f s, ratio %.2fx\n", $3, $3 / a }'
