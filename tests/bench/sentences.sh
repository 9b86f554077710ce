#!/bin/bash
# sentences.sh: measures how well sentence ends are found, beside BlingFire, Punkt, pySBD and ICU (those that are installed), in the
# same run. On prose of Wikipedia: precision, recall and F1 of the boundaries, how many of the rules of English hold, and MB/s on one
# thread (processor time). On treebanks of many languages, if $DATA/sentences exists: F1. sentences.py describes how each is counted.
[ -d "$DATA/squad" ] || { echo "sentences: skipped, no $DATA/squad"; exit 0; }
. "$ROOT/tests/bench/lib"
build sentences || exit 1
"$TEXTMILL_PYTHON" "$ROOT/tests/bench/sentences.py" ./sentences "$DATA"
