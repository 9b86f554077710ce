#!/bin/bash
# textclean.sh [ROUNDS] [WHAT...]: measures textclean on one thread beside datatrove: each set of rules, all sets in one pass, and near
# duplicates, also beside rensa and text-dedup (the peers: only signatures, which are nearly all of their work; ours: both passes). MB/s of
# text in processor time, medians over the rounds, in turn. Ours reads the pages of OpenWebText 12 times, a peer the first 150 pages.
rounds=${1:-3}
[ -d "$DATA/megatron" ] || { echo "textclean: no $DATA/megatron"; exit 0; }
. "$ROOT/tests/bench/lib"
pages=$DATA/megatron/openwebtext-1000.jsonl
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do cat "$pages"; done >web.jsonl
bytes=$("${TEXTMILL_PYTHON:-python3}" -c 'import json, sys; print(sum(len(json.loads(x)["text"].encode()) for x in open(sys.argv[1])))' web.jsonl)
[ $# -gt 1 ] || set -- "$rounds" gopher repetition c4 fineweb all minhash
for what in "${@:2}"; do
    command=(textclean filter -q -t 1 --rules "$what" web.jsonl)
    [ $what != all ] || command=(textclean filter -q -t 1 --rules "repetition,gopher,c4,fineweb,mc4" web.jsonl)
    [ $what != minhash ] || command=(textclean dedup -q -t 1 web.jsonl)
    peers=datatrove
    [ $what != minhash ] || peers='datatrove rensa text-dedup'
    for peer in $peers; do
        : >ours && : >theirs
        for ((r = 0; r < rounds; r++)); do
            cpu_seconds "${command[@]}" | awk -v b="$bytes" '{ print b / $1 / 1e6 }' >>ours
            "$TEXTMILL_PYTHON" "$ROOT/tests/bench/textclean.py" $peer $what "$pages" 150 2>errors-$peer >>theirs
        done
        record "textclean, $what" MB/s "$(median <ours)" $peer "$(median <theirs)"
    done
done
