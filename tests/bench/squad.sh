#!/bin/bash
# squad.sh [ROUNDS [QUESTIONS]]: measures answering questions of SQuAD with a model of BERT base's size (random weights), windows of at
# most 384 tokens, f32, all cores. Ours is the whole run of `evaluate squad`, with loading and writing. PyTorch's is the logits
# alone, with the padding of the published script, and with the least padding. They run in turn; medians.
rounds=${1:-3} questions=${2:-48}
[ -d "$DATA/squad" ] || { echo "SQuAD answers: no $DATA"; exit 0; }
. "$ROOT/tests/bench/lib"
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/torch_squad.py" "$1" . "$DATA" "$questions" 8 2>/dev/null; }
theirs setup || { echo 'SQuAD answers: PyTorch, which makes the model, is not installed'; exit 0; }
for ((r = 0; r < rounds; r++)); do
    began=$(date +%s%N)
    evaluate squad -q --force --model model data.json >/dev/null || exit 1
    echo $((($(date +%s%N) - began) / 1000000)) >>ours
    theirs time >>theirs
done
seconds=$(median <ours | awk '{ print $1 / 1000 }')
record "SQuAD, $questions questions, BERT-base, f32" s "$seconds" 'PyTorch, padded to 384' "$(cut -d' ' -f1 theirs | median)"
record "SQuAD, $questions questions, BERT-base, f32, least padding" s "$seconds" 'PyTorch, padded least' "$(cut -d' ' -f2 theirs | median)"
