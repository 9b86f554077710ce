#!/bin/bash
# generate.sh [ROUNDS [FOLDER...]]: tokens a second that a model generates, by the type of its weights and the number of
# texts at a time, on one thread, by processor time, since others may load the machine; and as a share of the bound. The
# bound is the lower of two rates: memory gives the weights once a step and the keys and values of each text, at the rate
# at which stream.c reads as many bytes just before; and products take as long as for a token of a prompt. PyTorch is
# the peer where it has the type. Medians of the rounds. A FOLDER is one of a GPT-2; without any it is GPT-2 small with
# random weights.
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
few=8 many=40 # tokens of a text; the difference counts
# value KEY: of the folder's config.json.
value() { sed -nE "s/.*\"$1\": *([0-9]+).*/\1/p" "$folder/config.json"; }
# weights FORM: the bytes that a step reads: the file's but for tables that are looked up.
weights() {
    local tables=$(($(value n_positions) * $(value n_embd) * 4))
    [ "$1" = f32 ] || tables=$((tables + $(value vocab_size) * $(value n_embd) * 4))
    generate export -q --force --model "$folder" --vocab "$vocab" --weights "$1" -o "$1.gguf" || exit 1
    echo $(($(stat -c %s "$1.gguf") - tables))
}
# kept: the bytes of keys and values of a text that a step reads, on average.
kept() { echo $((2 * $(value n_layer) * $(value n_embd) * 4 * (few + many) / 2)); }
# texts FORM N LENGTH [OPTION...]: N texts at a time. No text ends early.
texts() {
    generate --model "$1.gguf" --threads 1 --temperature 0 --logit-bias 50256=-100 --samples "$2" --batch-texts "$2" \
        --length "$3" "${@:4}"
}
# the NUMBER: a prompt of about so many tokens.
the() { printf 'the %.0s' $(seq "$1"); }
# beyond NUMBER MORE LESS: the processor time that MORE takes beyond LESS, both words of a command, by NUMBER.
beyond() {
    local more less
    # shellcheck disable=SC2086  # words are wanted
    more=$(cpu_seconds $2) less=$(cpu_seconds $3)
    awk -v n="$1" -v a="$more" -v b="$less" 'BEGIN { print (a - b) / n }'
}
continue_texts() { texts "$1" "$2" "$3" -q 'The Moon is'; }
read_prompt() { texts "$1" 1 1 -q "$(the "$2")"; }
# torch FORM N: PyTorch's tokens a second; nothing where it is absent, or the form or the model is another one.
torch() {
    [[ $1 = f32 || $1 = bf16 ]] && [ "$(basename "$folder")" = small ] &&
        "${TEXTMILL_PYTHON:-python3}" "$ROOT/tests/bench/torch_generate.py" "$1" "$2" $few $many 2>/dev/null
}
# measure FORM N: a round, to the files a (tokens a second), b (PyTorch's) and shares.
measure() {
    local bytes=$((weights + $2 * $(kept))) rate each prompt
    rate=$(./stream "$bytes" 1)
    prompt=$(beyond 600 "read_prompt $1 700" "read_prompt $1 100")
    each=$(beyond $((many - few)) "continue_texts $1 $2 $many" "continue_texts $1 $2 $few")
    torch "$1" "$2" >>b
    awk -v n="$2" -v each="$each" -v prompt="$prompt" -v bytes="$bytes" -v rate="$rate" 'BEGIN {
        memory = bytes / (1e9 * rate)
        products = n * prompt
        least = memory > products ? memory : products
        print n / each >>"a"
        print 100 * least / each, n / least, (memory > products ? "memory" : "products") >>"shares" }'
}
# said FORM N: what a run of N texts says of itself.
said() {
    texts "$1" "$2" 1 -v 'The Moon is' 2>&1 >/dev/null |
        sed -nE 's/.*wall ([0-9.]+) s.*peak memory ([0-9.]+ [A-Za-z]+).*/first token \1 s after the start, \2 of memory/p'
}
for folder in "${@:2}"; do
    for form in f32 bf16 f16 int8 int4; do
        weights=$(weights $form)
        for n in 1 8 32; do
            : >a && : >b && : >shares
            for ((r = 0; r < rounds; r++)); do measure $form $n; done
            read -r share bound by <<<"$(sort -n shares | awk '{ v[NR] = $0 } END { print v[int((NR + 1) / 2)] }')"
            [[ $form = f32 || $form = bf16 ]] && peer=PyTorch || peer=
            record "$(basename "$folder") generates, $form, $n at a time" tok/s "$(median <a)" "$peer" "$(median <b)" \
                ", $(printf %.0f "$share") % of the bound of $(printf %.0f "$bound") by $by; $(said $form $n)"
        done
        rm -f $form.gguf
    done
done
