#!/bin/bash
# bert-packed.sh [ROUNDS]: compares rows that hold one sequence with packed rows that hold several; half of the sequences are short.
# Prints how many rows packing saves, and how much training time (configs/bert-small.yaml) with micro-batches of 16 rows and of one
# row. The two run in turn; medians. Padding costs no arithmetic in either layout. Packing saves updates of the weights, and it makes
# the matrix products of a single row large enough to run at full rate.
rounds=${1:-3}
text=$DATA/wikitext/wikitext-2.valid.tokens
[ -f "$text" ] || { echo "bert-packed: skipped, no $text"; exit 0; }
. "$ROOT/tests/bench/lib"
sed -E '/^ = [^=]/ { s/.*//; b }; /^ *$|^ =/ d; s/ +$//; s/ ([.!?]) /\1\n/g; s/ ([.!?])$/\1/' "$text" >text.txt
tokenize train -q --model wordpiece --vocab-size 4096 --format sentences -o vocab text.txt || exit 1
value() { sed -n "s/^$2=//p" "$1/manifest"; }
shards() { # LAYOUT LENGTH
    tokenize -q --vocab vocab --format sentences text.txt |
        tfwrite -q --layout "$1" --sequence-length "$2" --mask-tokens $(($2 * 20 / 128)) --duplication-factor 4 \
            --short-sequence-probability 0.5 -o "$1-$2" || exit 1
}
run() { # LAYOUT LENGTH ROWS STEPS
    rm -rf model
    train "$ROOT/configs/bert-small.yaml" -q --data "$1-$2" --vocab vocab --positions "$2" --sequence-length "$2" \
        --mask-tokens $(($2 * 20 / 128)) --micro-batch-size "$3" --global-batch-size "$3" --steps "$4" --validate-every 0 \
        --no-save -o model >/dev/null || exit 1
    sed -nE 's/.*"tokens_per_second": *([0-9.]+).*/\1/p' model/metrics.jsonl | tail -1 >>"$1-$2-$3.rate"
}
for length in 128 512; do
    shards bert $length
    shards bert-packed $length
    rows=$(value bert-$length records) packed=$(value bert-packed-$length records)
    for batch in 16 1; do
        steps=$((64 * 128 / length * (batch > 1 ? 1 : 8)))
        for ((r = 0; r < rounds; r++)); do
            run bert $length $batch $steps
            run bert-packed $length $batch $((steps * packed / rows))
        done
        record "BERT small, packed rows of $length, steps of $batch" tok/s "$(median <bert-packed-$length-$batch.rate)" \
            'textmill, unpacked' "$(median <bert-$length-$batch.rate)" \
            "$(echo "$rows $packed" | awk '{ printf ", %.2f sequences in a row", $1 / $2 }')"
    done
done
