#!/bin/bash
# sentences.sh: where sentences end: precision, recall and F1 of boundaries in prose of Wikipedia, how many of
# the rules of English hold, and MB/s on one thread (processor time), beside BlingFire, Punkt and pySBD in the
# same run. sentences.py says what is counted.
[ -d "$DATA/squad" ] || { echo "sentences: skipped, no $DATA/squad"; exit 0; }
program=$(mktemp)
trap 'rm -f "$program"' EXIT
# shellcheck disable=SC2046
${CC:-cc} -O2 -I"$ROOT" "$ROOT/tests/bench/sentences.c" "$ROOT/build/release/libtextmill.a" -o "$program" \
    $(pkg-config --libs libarchive libxml-2.0 libpcre2-8 yaml-0.1 jansson) -lpthread -lm || exit 1
"$TEXTMILL_PYTHON" sentences.py "$program" "$DATA"
