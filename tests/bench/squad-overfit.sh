#!/bin/bash
# squad-overfit.sh [QUESTIONS [EPOCHS]]: trains a BERT of two layers, from random weights, until it has memorised the first questions of
# SQuAD's training data. Prints the exact match and F1 on them, and the time. It compares no speeds: it checks that data,
# windows, training, saving, answers and scores work together on real data.
questions=${1:-300} epochs=${2:-40}
[ -d "$DATA/squad" ] || { echo "SQuAD by heart: no $DATA"; exit 0; }
. "$ROOT/tests/bench/lib"
"$TEXTMILL_PYTHON" - "$DATA/squad/train-v1.1.subset44.json" "$questions" >few.json <<'PY' || exit 1
import json
import sys
left, few = int(sys.argv[2]), []
for paragraph in (p for article in json.load(open(sys.argv[1]))["data"] for p in article["paragraphs"]):
    few.append({"context": paragraph["context"], "qas": paragraph["qas"][:left]})
    left -= len(few[-1]["qas"])
    if not left:
        break
json.dump({"version": "1.1", "data": [{"title": "few", "paragraphs": few}]}, sys.stdout)
PY
began=$(date +%s)
train -q --task squad --data few.json --vocab "$DATA/tokenizers/bert-base-uncased-vocab.txt" --layers 2 --width 128 --heads 2 \
    --sequence-length 384 --epsilon 1e-12 --epochs "$epochs" --micro-batch-size 8 --learning-rate 1e-3 --minimum-learning-rate 0 \
    --schedule linear --warmup 0.1 --beta2 0.999 --weight-decay 0 --save-every 0 --seed 1234 -o model || exit 1
f1=$(evaluate squad -q --force --model model few.json | sed -n 's/^f1=//p')
record "SQuAD, F1 on $questions questions learnt by heart" % "$f1" '' '' ", $epochs epochs in $(($(date +%s) - began)) s"
