#!/bin/bash
# learn.sh [MEGABYTES [ROUNDS]]: learns vocabularies of 30,000 tokens, with reading and writing files. First on 12.9 MB of English with
# one thread, in processor time: byte pairs and pairs of characters, ours, Hugging Face's tokenizers and, for bytes, gigabpe in turn,
# medians. Then Unigram, beside SentencePiece, with the nats per byte and the tokens per byte of each result. Then ours on MEGABYTES
# (default: a gigabyte; 0: not) with two threads, in wall clock time, and again with only 8 MiB for counting words, which must give the same
# vocabulary. The text is WikiText-2 and books, repeated, with new words among them (corpus.c). Exits with 1 if the merges differ from
# Hugging Face's or with the memory.
megabytes=${1:-1000} rounds=${2:-3}
[ -d "$DATA/text" ] || { echo "learning: no $DATA"; exit 0; }
. "$ROOT/tests/bench/lib"
build corpus || exit 1
cat "$DATA"/wikitext/wikitext-2.train.tokens "$DATA"/text/{alice,moby_dick,tinyshakespeare,war_and_peace}.txt >base
head -c 12900000 base >small
./corpus "$megabytes" 1 base >large || exit 1
TIMEFORMAT='%U %S' status=0
ours() { tokenize train -q --force --vocab-size 30000 --units "$1" "${@:2}"; }
theirs() { "$TEXTMILL_PYTHON" "$ROOT/tests/bench/learn.py" "$1" "$2" "$3" 2>/dev/null; }
spent() { awk '{ print $1 + $2 }' "$1" | median; } # user and system time
merges() { "$TEXTMILL_PYTHON" -c 'import json, sys; [print(*m) for m in json.load(open(sys.argv[1]))["model"]["merges"]]' "$1"; }
for units in bytes characters; do
    : >time-ours && : >time-theirs && : >time-gigabpe
    for ((r = 0; r < rounds; r++)); do
        { time ours $units -t 1 -o learned small || exit 1; } 2>>time-ours
        theirs $units small theirs >>time-theirs
        [ $units = characters ] || theirs gigabpe small theirs-gigabpe >>time-gigabpe
    done
    record "learning 30,000 tokens of $units from 12.9 MB, one thread" s "$(spent time-ours)" \
        'Hugging Face tokenizers' "$(spent time-theirs)"
    [ $units = characters ] || record "learning 30,000 tokens of bytes from 12.9 MB, one thread" s "$(spent time-ours)" \
        gigabpe "$(spent time-gigabpe)"
    if [ -e theirs ]; then
        cmp <(merges learned/tokenizer.json) <(merges theirs) || { echo "the merges differ" && status=1; }
    fi
done
sed 's/<unk>/one/g' small >plain # SentencePiece would read <unk> as its unknown token
: >time-ours && : >time-theirs
for ((r = 0; r < rounds; r++)); do
    { time tokenize train -q --force --model unigram --vocab-size 30000 -t 1 -o unigram plain || exit 1; } 2>>time-ours
    theirs unigram plain theirs.model >>time-theirs
done
record 'learning 30,000 tokens of Unigram from 12.9 MB, one thread' s "$(spent time-ours)" SentencePiece "$(spent time-theirs)"
if [ -e theirs.model ]; then
    "$TEXTMILL_PYTHON" "$ROOT/tests/bench/unigram.py" plain unigram/tokenizer.json theirs.model 2>/dev/null >fit
    record 'Unigram of 30,000 tokens: nats per byte' nats/B "$(sed -n 's/^ours.*nats=//p' fit)" \
        SentencePiece "$(sed -n 's/^theirs.*nats=//p' fit)"
    record 'Unigram of 30,000 tokens: tokens per byte' tokens/B "$(sed -n 's/^ours.*tokens=\([0-9.]*\).*/\1/p' fit)" \
        SentencePiece "$(sed -n 's/^theirs.*tokens=\([0-9.]*\).*/\1/p' fit)"
fi
[ "$megabytes" != 0 ] || exit $status
TIMEFORMAT=%R
for units in bytes characters; do
    { time tokenize train --force --vocab-size 30000 --units $units -t 2 -o learned large 2>said || exit 1; } 2>wall
    record "learning 30,000 tokens of $units from $megabytes MB, two threads" s "$(tail -1 wall)" '' '' \
        ", $(sed -n 's/.* \([0-9,]* words\).*\(peak .*\)/\1, \2/p' said)"
    ours $units -t 2 --memory 8M -o again large || exit 1
    diff -r learned again || { echo "another vocabulary with words counted in 8 MiB" && status=1; }
done
exit $status
