#!/bin/bash
# tokenize.sh [ROUNDS]: encoding and decoding on one thread, ids in memory, processor time: ours and, in turn,
# tiktoken (GPT-2's byte pairs) and Hugging Face's tokenizers (BERT's WordPiece); medians over the rounds.
# "Cold" is an encoder's first text, "warm" the same text again.
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
compare() { # what, our vocabulary, peer, text
    : >ours && : >theirs
    for ((r = 0; r < rounds; r++)); do
        ./encode "$DATA/tokenizers/$2" "$4" >>ours || exit 1
        "$TEXTMILL_PYTHON" "$ROOT/tests/bench/encode.py" "$3" "$DATA/tokenizers" "$4" >>theirs 2>/dev/null
    done
    echo "$(field cold) $(field warm) $(field decode) $(median <theirs)" |
        awk -v s="$1, $4" -v p="$3" '{ printf "%s: %.0f MB/s cold, %.0f warm, decode %.0f", s, $1, $2, $3
            if ($4 > 0) printf "; %s %.1f, ratio %.1fx cold, %.1fx warm", p, $4, $1 / $4, $2 / $4
            else printf " (%s is not installed)", p; print "" }'
}
for text in english books multilingual; do
    compare 'GPT-2 encoding' gpt2-tokenizer.json tiktoken $text
    compare 'BERT encoding' bert-base-uncased-vocab.txt tokenizers $text
done
