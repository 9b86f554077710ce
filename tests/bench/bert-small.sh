#!/bin/bash
# bert-small.sh [STEPS]: trains configs/bert-small.yaml on the text of WikiText-2, first in rows of one sequence, then in packed
# rows with the same sequences. Prints losses and accuracies on the validation text and the time of each. Each takes 15 minutes
# on two cores; fewer STEPS take less. Padding costs no arithmetic in either layout, so packing saves time only because it fills
# micro-batches better.
steps=${1:-8500}
text=$DATA/wikitext
[ -f "$text/wikitext-2.train.tokens" ] || { echo "bert-small: skipped, no $text"; exit 0; }
. "$ROOT/tests/bench/lib"
# Each article becomes a document and each sentence a line; section headings are left out. If each paragraph were a document, many
# documents would have one sentence. The next sentence would then always be a false one, and the model would learn that.
sentences() { sed -E '/^ = [^=]/ { s/.*//; b }; /^ *$|^ =/ d; s/ +$//; s/ ([.!?]) /\1\n/g; s/ ([.!?])$/\1/' "$1"; }
sentences "$text/wikitext-2.train.tokens" >train.txt
sentences "$text/wikitext-2.valid.tokens" >valid.txt
tokenize train -q --model wordpiece --vocab-size 4096 --format sentences -o vocab train.txt || exit 1
shards() { # FILE OPTIONS...
    tokenize -q --vocab vocab --format sentences "$1.txt" | tfwrite -q --sequence-length 128 --mask-tokens 20 "${@:2}" || exit 1
}
shards valid --layout bert --duplication-factor 1 -o valid
shards train --layout bert --duplication-factor 10 -o rows
shards train --layout bert-packed --duplication-factor 10 -o packed
records() { sed -n 's/^records=//p' "$1/manifest"; }
value() { sed -nE "s/.*\"$2\": *([0-9.]+).*/\1/p" "$1/metrics.jsonl" | tail -1; }
run() { # LAYOUT STEPS
    local began end
    began=$(date +%s.%N)
    train "$ROOT/configs/bert-small.yaml" -q --data "$1" --validation valid --vocab vocab --steps "$2" -o "model-$1" >/dev/null || exit 1
    end=$(date +%s.%N)
    seconds=$(echo "$began $end" | awk '{ printf "%.1f", $2 - $1 }')
    record "BERT small on WikiText-2, $1, loss of masked words" nats "$(value "model-$1" validation_mlm_loss)"
    record "BERT small on WikiText-2, $1, next sentence" % "$(value "model-$1" validation_nsp_accuracy | awk '{ print 100 * $1 }')"
}
run rows "$steps"
unpacked=$seconds
run packed $((steps * $(records packed) / $(records rows)))
record 'BERT small on WikiText-2, packed rows' s "$seconds" 'textmill, unpacked' "$unpacked"
