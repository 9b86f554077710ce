#!/bin/bash
# [VOCABULARIES=DIR] tokenize.sh [ROUNDS]: measures encoding and decoding on one thread, ids in memory, processor time; medians over the
# rounds. Ours runs in turn with tiktoken (GPT-2's byte pairs), and with Hugging Face's tokenizers and TensorFlow Text's FastWordPiece
# (BERT's vocabulary, from raw text; TEXTMILL_TF_PYTHON names the Python that has it). "Cold" is the first text of an encoder, "warm" is
# the same text again. Then GPT-2's vocabulary and each tokenizer.json and .model in VOCABULARIES (tests/peers/patterns.py DIR makes
# some), on prose and on C code, beside gigatoken, Hugging Face's tokenizers and SentencePiece. Then the programs on lines of text, wall
# clock time, with loading the vocabulary: tokenize with one thread and with two, beside tiktoken on the same lines; two processes that
# share the lines; from a file and from a pipe; with tfwrite behind it; and decoding.
rounds=${1:-3}
[ -d "$DATA/tokenizers" ] || { echo "GPT-2 and BERT encoding: no $DATA"; exit 0; }
. "$ROOT/tests/bench/lib"
build encode || exit 1
cat "$DATA"/wikitext/wikitext-2.train.tokens >english
cat "$DATA"/text/{alice,moby_dick,tinyshakespeare,war_and_peace}.txt >books
cat "$DATA"/text/multilingual.txt >multilingual
field() { sed -n "s/.*$2=\([0-9.]*\).*/\1/p" "$1" | median; } # FILE FIELD: the field's median over the lines of a file
encode_peer() { # PEER TEXT THREADS
    local python=$TEXTMILL_PYTHON
    [ "$1" != tensorflow-text ] || python=${TEXTMILL_TF_PYTHON:-$TEXTMILL_PYTHON}
    "$python" "$ROOT/tests/bench/encode.py" "$1" "$DATA/tokenizers" "$2" ${3:+"$3"} 2>"errors-$1"
}
compare() { # WHAT VOCABULARY TEXT PEER...
    rm -f ours theirs-*
    for ((r = 0; r < rounds; r++)); do
        ./encode "$DATA/tokenizers/$2" "$3" >>ours || exit 1
        for peer in "${@:4}"; do encode_peer "$peer" "$3" >>"theirs-$peer"; done
    done
    for peer in "${@:4}"; do
        record "$1, $3, cold" MB/s "$(field ours cold)" "$peer" "$(field "theirs-$peer" encode)"
        record "$1, $3, warm" MB/s "$(field ours warm)" "$peer" "$(field "theirs-$peer" encode)"
        record "$1, $3, decoding" MB/s "$(field ours decode)" "$peer" "$(field "theirs-$peer" decode)"
    done
}
for text in english books multilingual; do
    compare 'GPT-2 encoding' gpt2-tokenizer.json $text tiktoken
    compare 'BERT encoding' bert-base-uncased-vocab.txt $text tokenizers tensorflow-text
done

cat "$ROOT"/*/*.c "$ROOT"/*/*/*.c >code
each_vocabulary() { # FILE TEXT PEER: PEER is the program that reads only this kind of file
    rm -f ours theirs theirs-gigatoken
    for ((r = 0; r < rounds; r++)); do
        ./encode "$1" "$2" >>ours || return
        encode_with gigatoken "$1" "$2" >>theirs-gigatoken
        encode_with "$3" "$1" "$2" >>theirs
    done
    local name=${1##*/}
    record "$name, $2, cold" MB/s "$(field ours cold)" gigatoken "$(field theirs-gigatoken encode)"
    record "$name, $2, warm" MB/s "$(field ours warm)" gigatoken "$(field theirs-gigatoken warm)"
    record "$name, $2, decoding" MB/s "$(field ours decode)" gigatoken "$(field theirs-gigatoken decode)"
    record "$name, $2, cold" MB/s "$(field ours cold)" "$3" "$(field theirs encode)"
    record "$name, $2, decoding" MB/s "$(field ours decode)" "$3" "$(field theirs decode)"
}
encode_with() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/encode.py" "$@" 2>"errors-$1"; }
for text in english books multilingual code; do
    for vocabulary in "$DATA/tokenizers/gpt2-tokenizer.json" "$VOCABULARIES"/*.json; do
        [ ! -f "$vocabulary" ] || each_vocabulary "$vocabulary" $text tokenizers
    done
    for vocabulary in "$VOCABULARIES"/*.model; do
        [ ! -f "$vocabulary" ] || each_vocabulary "$vocabulary" $text sentencepiece
    done
done

for ((i = 0; i < 20; i++)); do cat english; done >long
TIMEFORMAT=%R
gpt2="$DATA/tokenizers/gpt2-tokenizer.json" files=(long long long long)
encode() { tokenize -q --force -t "$1" --format lines --vocab "$gpt2" -o "$2" "${@:3}"; }
one() { encode 1 /dev/null "${files[@]}"; }
two() { encode 2 /dev/null "${files[@]}"; }
halves() { encode 1 /dev/null "${files[@]:2}" & encode 1 /dev/null "${files[@]:2}"; wait; }
pipe() { cat "${files[@]}" | encode 1 /dev/null; }
tfwrite_behind() { encode 1 - "${files[@]}" | tfwrite -q -o shards; }
decode() { tokenize decode -q --vocab "$gpt2" -o /dev/null stream; }
encode 2 stream "${files[@]}"
for ((r = 0; r < rounds; r++)); do
    for what in one two halves pipe tfwrite_behind decode; do
        rm -rf shards
        { time $what; } 2>>"time-$what"
    done
    for threads in '' 1 2; do encode_peer tiktoken english $threads >>"tiktoken-$threads"; done
done
row() { # WHAT HOW PEER PEERS-MB/S
    record "$1" MB/s "$(rate "$2")" "$3" "$4"
}
rate() { echo "$megabytes $(median <"time-$1")" | awk '{ print $1 / $2 }'; }
megabytes=$((4 * $(stat -c %s long) / 1000000))
row 'tokenize, one thread' one tiktoken "$(field tiktoken-1 encode)"
row 'tokenize, two threads' two 'tiktoken, two' "$(field tiktoken-2 encode)"
row 'tokenize, two threads' two 'tokenize, one' "$(rate one)"
row 'tokenize, two threads' two 'two processes, half the text each' "$(rate halves)"
row 'tokenize from a pipe, one thread' pipe 'from a file' "$(rate one)"
row 'tokenize | tfwrite, one thread' tfwrite_behind 'tokenize alone' "$(rate one)"
row 'tokenize decode' decode tiktoken "$(field tiktoken- decode)"
