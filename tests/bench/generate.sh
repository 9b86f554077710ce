#!/bin/bash
# generate.sh [ROUNDS [MODEL...]]: measures generation on all cores of a quiet machine, with each type of weights, for 1, 8 and 32
# texts at a time. Models, with random weights: gpt2-small, gpt2-xl, llama-1b (1.1 billion parameters). Prints tokens per second and
# their share of a bound, the seconds to the first token when the file is in memory, and the memory used. The bound is the lower of
# two rates. The first is that of memory: each step reads the weights once, and the keys and values of each text; stream.c measures
# just before how fast that many bytes (at most 2 GB) are read. The second is that of matrix products: the rate of a long prompt, which
# computes the output layer only once. Peers, if installed: PyTorch for the types that it has, and, in turns with ours, llama.cpp
# (llama-cpp-python in the Python that TEXTMILL_LLAMA_PYTHON names) with the same weights as GGUF. Medians of the rounds. With f32 and
# int4 it also prints tokens per second of one text by number of threads. Files are in memory (/dev/shm): GPT-2 XL needs 10 GB there and
# 8 GB besides.
rounds=${1:-3}
# shellcheck disable=SC2034  # lib reads it
room=/dev/shm
. "$ROOT/tests/bench/lib"
vocab=$DATA/tokenizers/gpt2-tokenizer.json
[ -f "$vocab" ] || { echo "generate: skipped, no $vocab"; exit 0; }
build stream || exit 1
cores=$(nproc) python=${TEXTMILL_PYTHON:-python3}
length=25 few=4 prompt=512 # tokens: of a text; PyTorch's first ones, which are not counted; of a long prompt
declare -A bits=([f32]=32 [bf16]=16 [f16]=16 [int8]=8.5 [int4]=4.5)
# texts FORM N LENGTH THREADS PROMPT: runs generate for N texts and prints its report. No text ends early.
texts() {
    generate --model "$1.gguf" --threads "$4" --temperature 0 --logit-bias 50256=-100 --samples "$2" --batch-texts "$2" \
        --length "$3" -v "$5" 2>said >/dev/null && cat said
}
# rate N: tokens per second of N texts, from the report of a run. All texts take the same number of steps. The last text is the one
# that waited for no other text to begin.
rate() {
    sed -nE 's/.*generated: [0-9]+ tokens, ([0-9.e+-]+) ms each.*/\1/p' | tail -1 |
        awk -v n="$1" '{ print 1000 * n / $1 }'
}
# prompt_rate FORM: tokens per second of a long prompt.
prompt_rate() {
    texts "$1" 1 1 "$cores" "$(printf 'the %.0s' $(seq $prompt))" |
        sed -nE 's/.*prompt: ([0-9]+) tokens in ([0-9.e+-]+) ms.*/\1 \2/p' | awk '{ print 1000 * $1 / $2 }'
}
# step_bytes FORM N: the bytes that a step of N texts reads.
step_bytes() {
    awk -v bits="${bits[$1]}" -v last="${bits[${1/int4/int8}]}" -v maps="$maps" -v output="$output" -v fine="$fine" -v texts="$2" \
        -v kept=$((layers * kept * 4 * (length / 2 + 3))) 'BEGIN { printf "%.0f", (maps * bits + fine * (last - bits) + output * last) / 8 + texts * kept }'
}
# bounds BYTES GB_PER_S PROMPT_RATE N: the tokens per second that memory and products allow: the lower one first, and its name.
bounds() {
    awk -v bytes="$1" -v speed="$2" -v prompt="$3" -v n="$4" -v maps="$maps" -v output="$output" 'BEGIN {
        memory = n * 1e9 * speed / bytes
        products = prompt * maps / (maps + output)
        print (memory < products ? memory " memory" : products " products") }'
}
# measure FORM N: one round; appends to the files `a` (tokens per second) and `shares`.
measure() {
    local bytes speed ours bound by
    bytes=$(step_bytes "$1" "$2")
    speed=$(./stream "$((bytes < 2000000000 ? bytes : 2000000000))" "$cores")
    read -r bound by <<<"$(bounds "$bytes" "$speed" "$(median <prompts)" "$2")"
    ours=$(texts "$1" "$2" $length "$cores" 'The Moon is' | rate "$2")
    echo "$ours" >>a
    awk -v ours="$ours" -v bound="$bound" -v more="$by $speed" 'BEGIN { print 100 * ours / bound, bound, more }' >>shares
}
# torch FORM: writes PyTorch's tokens per second of 1, 8 and 32 texts to the files by-torch-N. Writes none if PyTorch is not installed or
# lacks the type.
torch() {
    local n
    rm -f by-torch*
    [[ $1 = f32 || $1 = bf16 ]] || return
    "$python" "$ROOT/tests/bench/torch_generate.py" "$model" "$1" $few $length 1 8 32 2>/dev/null >by-torch
    for n in 1 8 32; do sed -n "$((n == 1 ? 1 : n == 8 ? 2 : 3))p" by-torch >by-torch-$n; done
}
# llama N: prints llama.cpp's tokens per second of N texts with the weights of peer.gguf, if there is this file.
llama() {
    [ ! -f peer.gguf ] ||
        "${TEXTMILL_LLAMA_PYTHON:-$python}" "$ROOT/tests/bench/llama_generate.py" peer.gguf "$cores" $few $length "$1" 2>/dev/null
}
# start_of FORM: prints the seconds of a run of one token, and its memory in MiB.
start_of() {
    texts "$1" 1 1 "$cores" 'The Moon is' | sed -nE 's/.*wall ([0-9.]+) s.*peak memory ([0-9.]+) ([A-Za-z]+).*/\1 \2 \3/p' |
        awk '{ print $1, $3 == "GiB" ? 1024 * $2 : $2 }'
}
form_rows() {
    local form=$1 n share bound by speed r
    : >prompts && : >starts
    for ((r = 0; r < rounds; r++)); do
        prompt_rate "$form" >>prompts
        start_of "$form" >>starts
    done
    torch "$form"
    for n in 1 8 32; do
        : >a && : >shares && : >by-llama
        for ((r = 0; r < rounds; r++)); do measure "$form" $n && llama $n >>by-llama; done
        read -r share bound by speed <<<"$(sort -n shares | awk '{ v[NR] = $0 } END { print v[int((NR + 1) / 2)] }')"
        record "$model generates, $form, $n at a time" tok/s "$(median <a)" "the bound by $by" "$bound" \
            ", $(printf %.0f "$share") %, $speed GB/s"
        [ ! -s by-torch-$n ] || record "$model generates, $form, $n at a time" tok/s "$(median <a)" PyTorch "$(cat by-torch-$n)"
        [ ! -s by-llama ] || record "$model generates, $form, $n at a time" tok/s "$(median <a)" llama.cpp "$(median <by-llama)"
    done
    record "$model, $form: prompt" tok/s "$(median <prompts)"
    record "$model, $form: first token" s "$(median <starts | cut -d' ' -f1)"
    record "$model, $form: memory" MiB "$(median <starts | cut -d' ' -f2)"
}
# thread_rows FORM: tokens per second of one text by number of threads, up to twice the number of cores.
thread_rows() {
    local t r
    for ((t = 1; t <= 2 * cores; t = t < cores && 2 * t > cores ? cores : 2 * t)); do
        for ((r = 0; r < rounds; r++)); do texts "$1" 1 $((3 * length)) $t 'The Moon is' | rate 1; done >a
        record "$model generates, $1, $t threads" tok/s "$(median <a)"
    done
}
[ $# -gt 1 ] || set -- "$rounds" gpt2-small gpt2-xl llama-1b
for model in "${@:2}"; do
    read -r maps output layers kept fine <<<"$("$python" "$ROOT/tests/bench/random_model.py" "$model" "$model")"
    [ "$maps" ] || exit 1
    for form in f32 bf16 f16 int8 int4; do
        if "${TEXTMILL_LLAMA_PYTHON:-$python}" -c 'import llama_cpp' 2>/dev/null; then
            generate export -q --model "$model" --vocab "$vocab" --weights $form --format gguf -o peer.gguf || exit 1
        fi
        generate export -q --model "$model" --vocab "$vocab" --weights $form --format mapped -o $form.gguf || exit 1
        form_rows $form
        [[ $form = f32 || $form = int4 ]] && thread_rows $form
        rm -f $form.gguf peer.gguf
    done
    rm -rf "$model"
done
