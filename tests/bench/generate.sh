#!/bin/bash
# generate.sh [ROUNDS [FOLDER...]]: tokens a second that a model generates alone, by the type of its weights, on one
# thread, by processor time, since others may load the machine; and as a share of the bound, at which memory gives the
# weights and the keys and values: the same bytes are read by stream.c just before. Medians of the rounds. A FOLDER is
# one of a GPT-2; without any it is GPT-2 small with random weights.
rounds=${1:-3}
ROOM=$(mktemp -d)
cd "$ROOM" || exit 1
trap 'rm -rf "$ROOM"' EXIT
. "$ROOT/tests/bench/lib"
vocab=$DATA/tokenizers/gpt2-tokenizer.json
[ -f "$vocab" ] || { echo "generate: skipped, no $vocab"; exit 0; }
build stream || exit 1
if [ $# -lt 2 ]; then
    train "$ROOT/configs/gpt2-small.yaml" -q --data generated --vocabulary 50257 --sequence-length 64 --positions 1024 \
        --micro-batch-size 1 --global-batch-size 1 --steps 1 --threads 2 -o small >/dev/null || exit 1
    set -- "$rounds" small
fi
few=8 many=72
# value KEY: of the folder's config.json.
value() { sed -nE "s/.*\"$1\": *([0-9]+).*/\1/p" "$folder/config.json"; }
# bytes FORM: what a token reads: the file's but for tables that are looked up, and the keys and values of half the text.
bytes() {
    local tables=$(($(value n_positions) * $(value n_embd) * 4))
    [ "$1" = f32 ] || tables=$((tables + $(value vocab_size) * $(value n_embd) * 4))
    generate export -q --force --model "$folder" --vocab "$vocab" --weights "$1" -o "$1.gguf" || exit 1
    echo $(($(stat -c %s "$1.gguf") - tables + 2 * $(value n_layer) * $(value n_embd) * 4 * (few + many) / 2))
}
text() { generate -q --model "$1.gguf" --threads 1 --temperature 0 --length "$2" 'The Moon is'; }
for folder in "${@:2}"; do
    for form in f32 bf16 f16 int8 int4; do
        bytes=$(bytes $form)
        : >a && : >shares
        for ((r = 0; r < rounds; r++)); do
            rate=$(./stream "$bytes" 1)
            each=$(echo "$(cpu_seconds text $form $many) $(cpu_seconds text $form $few)" |
                awk -v n=$((many - few)) '{ print ($1 - $2) / n }')
            awk -v each="$each" 'BEGIN { print 1 / each }' >>a
            awk -v each="$each" -v rate="$rate" -v bytes="$bytes" 'BEGIN { print 100 * bytes / (1e9 * rate) / each }' >>shares
        done
        first=$(generate -v --model $form.gguf --temperature 0 --length 1 'The Moon is' 2>&1 >/dev/null |
            sed -nE 's/.*wall ([0-9.]+) s.*peak memory ([0-9.]+ [A-Za-z]+).*/first token \1 s after the start, \2 of memory/p')
        record "$(basename "$folder") generates, $form" tok/s "$(median <a)" '' '' \
            ", $(printf %.0f "$(median <shares)") % of the bound for $((bytes / 1000000)) MB; $first"
        rm -f $form.gguf
    done
done
