#!/bin/bash
# before.sh [ROUNDS [PART...]]: compares the speed of these programs with that of an earlier version. The two run in turn, on one
# thread; records medians of processor time. Parts: `texts` (extraction, tokens, shards), `evaluation` (GPT-2 small), `steps`
# (training steps of GPT-2 small and BERT base), `shares` (steps of GPT-2 small in bf16, in % of the processor's peak for dot products),
# `memory` (what --dry-run plans). The default is all parts. BEFORE names the folder in which the earlier version was built;
# without it nothing is measured.
rounds=${1:-3}
parts=${*:2}
[ -x "${BEFORE:-/}/bin/train" ] || { echo 'before: skipped, BEFORE names no built tree'; exit 0; }
. "$ROOT/tests/bench/lib"
earlier="textmill $(git -C "$BEFORE" rev-parse --short HEAD)"
text=$DATA/wikitext/wikitext-2.valid.tokens

# The processor time of each program, from a dump to shards.
declare -A work=(
    [extraction]='wikiprep -q -t 1 dump.xml'
    [expanded templates]='wikiprep -q -t 1 --templates templates.xml wiki.xml'
    [GPT-2 tokens]='tokenize -q -t 1 --vocab "$DATA/tokenizers/gpt2-tokenizer.json" text'
    [BERT tokens]='tokenize -q -t 1 --vocab "$DATA/tokenizers/bert-base-uncased-vocab.txt" text'
    [TFRecord shards]='tfwrite -q -o shards tokens'
    [Megatron shards]='mkdir shards && tfwrite -q --layout megatron -o shards/a tokens'
)
texts() {
    local dump=$DATA/wiki/enwiki-p10p30302-shortened.xml.bz2 name
    [ -f "$dump" ] || { echo "before: no $dump"; return; }
    bzip2 -dc "$dump" >once.xml
    times once.xml dump.xml
    times "$DATA/wiki/smallwiki.xml" wiki.xml
    wikiprep -q --templates "$DATA/wiki/smallwiki.xml" --save-templates templates.xml wiki.xml >/dev/null || exit 1
    wikiprep -q dump.xml >some
    for ((r = 0; r < 25; r++)); do cat some; done >text
    tokenize -q --vocab "$DATA/tokenizers/gpt2-tokenizer.json" text >tokens
    for name in "${!work[@]}"; do
        : >a && : >b
        for ((r = 0; r < rounds; r++)); do
            PATH=$ROOT/bin:$PATH cpu_seconds eval "${work[$name]}" >>a
            rm -rf shards
            PATH=$BEFORE/bin:$PATH cpu_seconds eval "${work[$name]}" >>b
            rm -rf shards
        done
        record "$name, one thread" s "$(median <a)" "$earlier" "$(median <b)"
    done
}

# Prints tokens per second. The time is the difference between 6 windows and 2 windows, so that loading the model is not counted.
evaluation() { # TREE PRECISION
    local few many tokens
    few=$(cpu_seconds evaluate_file "$1" "$2" few) && tokens=$(cat tokens) && many=$(cpu_seconds evaluate_file "$1" "$2" many)
    awk -v n=$(($(cat tokens) - tokens)) -v s="$few $many" 'BEGIN { split(s, t, " "); print n / (t[2] - t[1]) }'
}
evaluate_file() {
    "$1/bin/evaluate" wiki -q -t 1 --model model --vocab "$DATA/tokenizers/gpt2-tokenizer.json" --sequence-length 1024 \
        --stride 1024 --precision "$2" --json "$3" | sed -nE 's/.*"tokens": *([0-9]+).*/\1/p' >tokens
}
evaluations() {
    [ -f "$text" ] || { echo "before: no $text"; return; }
    train "$ROOT/configs/gpt2-small.yaml" -q --data generated --vocabulary 50257 --sequence-length 64 --positions 1024 \
        --micro-batch-size 1 --global-batch-size 1 --steps 1 -o model >/dev/null || exit 1
    head -c 10000 "$text" >few
    head -c 38000 "$text" >many
    for precision in f32 bf16; do
        : >a && : >b
        for ((r = 0; r < rounds; r++)); do
            evaluation "$ROOT" $precision >>a
            evaluation "$BEFORE" $precision >>b
        done
        record "GPT-2 small evaluation $precision, one thread" tok/s "$(median <a)" "$earlier" "$(median <b)"
    done
}

halves=(--precision bf16 --parameter-precision bf16 --state-precision bf16 --activation-precision bf16)

# Prints the operations per second of a step, in processor time, in % of the peak for dot products. The peak is measured just
# before and just after the step.
step_share() { # TREE B T
    local options=(gpt2-small "${halves[@]}" --micro-batch-size "$2" --global-batch-size "$2" --sequence-length "$3") peak ms flops
    flops=$(steps_of "${options[@]}" --dry-run | sed -n 's/^flops_per_step=//p')
    peak=$(./peak bf16 1)
    ms=$(step_cpu_ms "$1" "${options[@]}")
    awk -v flops="$flops" -v ms="$ms" -v a="$peak" -v b="$(./peak bf16 1)" 'BEGIN { print flops / (1e4 * ms * (a > b ? a : b)) }'
}
shares() {
    build peak || exit 1
    for shape in '4 64' '1 1024'; do
        read -r B T <<<"$shape"
        : >a && : >b
        for ((r = 0; r < rounds; r++)); do
            step_share "$ROOT" "$B" "$T" >>a
            step_share "$BEFORE" "$B" "$T" >>b
        done
        record "GPT-2 small step bf16 storage B=$B T=$T, one thread, of the dot products' peak" % "$(median <a)" "$earlier" "$(median <b)"
    done
}

steps() {
    local options B T preset precision
    for shape in 'gpt2-small 4 64' 'gpt2-small 4 256' 'gpt2-small 1 1024' 'gpt2-small 4 1024' 'bert-base-128 8 128'; do
        read -r preset B T <<<"$shape"
        for precision in f32 bf16; do
            options=("$preset" --precision "$precision" --micro-batch-size "$B" --global-batch-size "$B" --sequence-length "$T")
            : >a && : >b
            for ((r = 0; r < rounds; r++)); do
                step_cpu_ms "$ROOT" "${options[@]}" >>a
                step_cpu_ms "$BEFORE" "${options[@]}" >>b
            done
            record "$preset step $precision B=$B T=$T, one thread" ms "$(median <a)" "$earlier" "$(median <b)"
        done
    done
}

planned_mib() { # TREE PRESET OPTIONS...
    "$1/bin/train" "$1/configs/$2.yaml" -q --data generated --dry-run "${@:3}" | sed -n 's/^memory_bytes=//p' | awk '{ print $1 / 2^20 }'
}
memory() {
    for preset in gpt2-small bert-base-128; do
        record "$preset, memory planned, f32" MiB "$(planned_mib "$ROOT" $preset)" "$earlier" "$(planned_mib "$BEFORE" $preset)"
        record "$preset, memory planned, bf16 storage" MiB "$(planned_mib "$ROOT" $preset "${halves[@]}")" "$earlier" \
            "$(planned_mib "$BEFORE" $preset "${halves[@]}")"
    done
}

for part in ${parts:-texts evaluation steps shares memory}; do
    case $part in
    texts) texts ;;
    evaluation) evaluations ;;
    steps) steps ;;
    shares) shares ;;
    memory) memory ;;
    *) echo "before: no part '$part'" && exit 2 ;;
    esac
done
