#!/bin/bash
# roundtrip.sh [MEGABYTES]: encodes generated text (default: a gigabyte) and decodes the tokens again, with a byte-level vocabulary
# learned from a part of the text and, if it is there, with GPT-2's. Exits with 1 if the bytes differ.
megabytes=${1:-1000}
. "$ROOT/tests/bench/lib"
build roundtrip || exit 1
./roundtrip 2 1 | tokenize train -q --format lines --vocab-size 4000 -o learned || exit 1
status=0
for vocabulary in learned "$DATA/tokenizers/gpt2-tokenizer.json"; do
    [ -e "$vocabulary" ] || { echo "round trip with $(basename "$vocabulary"): it is absent"; continue; }
    begin=$(date +%s%N)
    if ./roundtrip "$megabytes" 2 | tokenize --format lines --vocab "$vocabulary" 2>said |
        tokenize decode -q --vocab "$vocabulary" | cmp - <(./roundtrip "$megabytes" 2); then
        record "round trip of $megabytes MB with $(basename "$vocabulary"), the same bytes" s \
            "$((($(date +%s%N) - begin) / 1000000000))" '' '' ", $(sed -n 's/.* \([0-9,]* tokens\).*/\1/p' said)"
    else
        echo "round trip of $megabytes MB with $(basename "$vocabulary"): other bytes" && status=1
    fi
done
exit $status
