#!/bin/bash
# tokenize.sh [ROUNDS]: encoding and decoding on one thread, ids in memory, processor time: ours and, in turn,
# tiktoken (GPT-2's byte pairs), Hugging Face's tokenizers and TensorFlow Text's FastWordPiece (BERT's, from raw
# text; from the Python that TEXTMILL_TF_PYTHON names); medians over the rounds. "Cold" is an encoder's first text,
# "warm" the same text again. Then the programs, wall clock, from a file of lines: tokenize with two threads beside
# one, with tfwrite behind it beside alone, and decode.
rounds=${1:-3}
[ -d "$DATA/tokenizers" ] || { echo "GPT-2 and BERT encoding: no $DATA"; exit 0; }
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
# shellcheck disable=SC2046
${CC:-cc} -O2 -I"$ROOT" "$ROOT/tests/bench/encode.c" "$ROOT/build/release/libtextmill.a" -o encode \
    $(pkg-config --libs libarchive libxml-2.0 libpcre2-8 yaml-0.1 jansson) -lpthread -lm || exit 1
cat "$DATA"/wikitext/wikitext-2.train.tokens >english
cat "$DATA"/text/{alice,moby_dick,tinyshakespeare,war_and_peace}.txt >books
cat "$DATA"/text/multilingual.txt >multilingual
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
field() { sed -n "s/.*$1=\([0-9.]*\).*/\1/p" ours | median; }
compare() { # what, our vocabulary, text, peers
    : >ours && rm -f theirs-*
    for ((r = 0; r < rounds; r++)); do
        ./encode "$DATA/tokenizers/$2" "$3" >>ours || exit 1
        for peer in "${@:4}"; do
            python=$TEXTMILL_PYTHON
            [ "$peer" != tensorflow-text ] || python=${TEXTMILL_TF_PYTHON:-$TEXTMILL_PYTHON}
            "$python" "$ROOT/tests/bench/encode.py" "$peer" "$DATA/tokenizers" "$3" >>"theirs-$peer" 2>/dev/null
        done
    done
    for peer in "${@:4}"; do
        echo "$(field cold) $(field warm) $(field decode) $(median <"theirs-$peer")" |
            awk -v s="$1, $3" -v p="$peer" '{ printf "%s: %.0f MB/s cold, %.0f warm, decode %.0f", s, $1, $2, $3
                if ($4 > 0) printf "; %s %.1f, ratio %.1fx cold, %.1fx warm", p, $4, $1 / $4, $2 / $4
                else printf " (%s is not installed)", p; print "" }'
    done
}
for text in english books multilingual; do
    compare 'GPT-2 encoding' gpt2-tokenizer.json $text tiktoken
    compare 'BERT encoding' bert-base-uncased-vocab.txt $text tokenizers tensorflow-text
done

for ((i = 0; i < 20; i++)); do cat english; done >long
TIMEFORMAT=%R
gpt2="$DATA/tokenizers/gpt2-tokenizer.json"
one() { tokenize -q -t 1 --format lines --vocab "$gpt2" -o "${1:-/dev/null}" long; }
two() { tokenize -q -t 2 --format lines --vocab "$gpt2" -o /dev/null long; }
pipe() { one - | tfwrite -q --force -o shards; }
decode() { tokenize decode -q --vocab "$gpt2" -o /dev/null stream; }
one stream
for ((r = 0; r < rounds; r++)); do
    for what in one two pipe decode; do { time $what; } 2>>"time-$what"; done
done
megabytes=$(($(stat -c %s long) / 1000000))
for what in two pipe decode; do
    echo "$megabytes $(median <time-one) $(median <time-$what)" | awk -v what=$what '{
        if (what == "decode") printf "tokenize decode, %d MB: %.0f MB/s\n", $1, $1 / $3
        else printf "tokenize, %d MB: %.0f MB/s with one thread, %.0f %s, ratio %.2fx\n", $1, $1 / $2, $1 / $3,
            what == "two" ? "with two" : "with tfwrite behind it", $2 / $3 }'
done
