#!/bin/bash
# MEGABYTES=10000 learn-large.sh [TOKENS]: learns a vocabulary of 100,000 tokens from 10 GB of text on all processors; prints wall
# clock time and memory. It needs 10 GB of disk in $TMPDIR and about ten minutes, so without MEGABYTES it does nothing. The text is the
# same as in learn.sh: WikiText-2 and books, repeated, with new words among them (corpus.c). Exits with 1 if the vocabulary is
# smaller than ordered or the program takes more than 8 GiB.
#     MEGABYTES=10000 tests/bench/run learn-large
megabytes=${MEGABYTES:-} tokens=${1:-100000}
[ "$megabytes" ] || { echo 'learn-large: skipped, MEGABYTES does not give the size of the text'; exit 0; }
[ -d "$DATA/text" ] || { echo "learning from a large text: no $DATA"; exit 0; }
. "$ROOT/tests/bench/lib"
build corpus || exit 1
cat "$DATA"/wikitext/wikitext-2.train.tokens "$DATA"/text/{alice,moby_dick,tinyshakespeare,war_and_peace}.txt >base
./corpus "$megabytes" 1 base >large || exit 1
threads=$(nproc) TIMEFORMAT=%R
{ time tokenize train --vocab-size "$tokens" -t "$threads" -o learned large 2>said || { cat said && exit 1; }; } 2>wall
peak=$(awk '/peak memory/ { sub(/.*peak memory /, ""); print int($1 * ($2 == "GiB" ? 1024 : 1)) }' said) # MiB
record "learning $tokens tokens of bytes from $megabytes MB, threads: $threads" s "$(tail -1 wall)" '' '' \
    ", $(sed -n 's/.* \([0-9,]* words\).*\(peak .*\)/\1, \2/p' said)"
record "memory for learning $tokens tokens of bytes from $megabytes MB" MiB "$peak"
learned=$("$TEXTMILL_PYTHON" -c 'import json; print(len(json.load(open("learned/vocab.json"))))')
[ "$learned" = "$tokens" ] || { echo "$learned tokens are learned, not $tokens" && exit 1; }
[ "$peak" -lt 8192 ] || { echo "$peak MiB are more than 8 GiB" && exit 1; }
