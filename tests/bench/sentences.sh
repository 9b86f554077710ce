#!/bin/bash
# sentences.sh: where sentences end: precision, recall and F1 of boundaries in prose of Wikipedia, how many of
# the rules of English hold, and MB/s on one thread (processor time), beside BlingFire, Punkt and pySBD in the
# same run. sentences.py says what is counted.
[ -d "$DATA/squad" ] || { echo "sentences: skipped, no $DATA/squad"; exit 0; }
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
. "$ROOT/tests/bench/lib"
build sentences || exit 1
"$TEXTMILL_PYTHON" "$ROOT/tests/bench/sentences.py" ./sentences "$DATA"
