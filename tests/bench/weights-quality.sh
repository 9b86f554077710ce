#!/bin/bash
# weights-quality.sh [STEPS [MODEL VOCAB]]: measures what small types of weights cost in quality. Prints perplexities on the first 1000
# lines of WikiText-2's validation text and the first 1000 passages of LAMBADA. The model is MODEL, or a GPT trained on WikiText-2 with
# the preset wikitext2 for STEPS steps (default: 1000, as in the preset; five minutes on a quiet machine). Also prints, for GPT-2
# small with random weights, how far the probabilities of the next token are from those of f32 (divergence.py).
steps=${1:-1000}
train=$DATA/wikitext/wikitext-2.train.tokens valid=$DATA/wikitext/wikitext-2.valid.tokens
lambada=$DATA/lambada/lambada_test.jsonl gpt2=$DATA/tokenizers/gpt2-tokenizer.json
[ -f "$train" ] && [ -f "$lambada" ] && [ -f "$gpt2" ] || { echo "weights-quality: skipped, no $train, $lambada or $gpt2"; exit 0; }
model=${2:+$(realpath "$2")} vocab=${3:+$(realpath "$3")}
. "$ROOT/tests/bench/lib"
if [ -z "$model" ]; then
    tokenize train -q --vocab-size 8192 --format text -o vocab "$train" || exit 1
    tokenize -q --vocab vocab --format text "$train" | tfwrite -q --sequence-length 128 --stride 64 -o shards || exit 1
    tokenize -q --vocab vocab --format text "$valid" | tfwrite -q --sequence-length 128 -o shards/validation || exit 1
    train "$ROOT/configs/wikitext2.yaml" -q --threads 2 --steps "$steps" --validate-every "$steps" -o model || exit 1
    model=model vocab=vocab
fi
head -n 1000 "$valid" >text && head -n 1000 "$lambada" >passages.jsonl
# Prints the loss of the last training step, and its number.
reached=$(sed -nE 's/.*"step": *([0-9]+).*"loss": *([0-9.]+).*/step \1, training loss \2/p' "$model/metrics.jsonl" | tail -1)
score() { evaluate "$1" -q --threads 2 --model "$model" --vocab "$vocab" --weights "$3" --json "${@:4}" "$2"; }
# perplexity WHAT DATA WEIGHTS...: prints exp of the mean loss.
perplexity() { score "$@" | sed -nE 's/.*"loss": *([0-9.e+-]+).*/\1/p' | awk '{ printf "%.17g\n", exp($1) }'; }
table() {
    local plain small
    plain=$(perplexity "$2" "$3" f32 "${@:4}")
    [ "$plain" ] || exit 1
    for form in bf16 f16 int8 int4; do
        small=$(perplexity "$2" "$3" $form "${@:4}")
        record "$1, $form weights" perplexity "$small" 'f32 weights' "$plain" \
            "$(awk -v a="$small" -v b="$plain" 'BEGIN { printf ", %+.3f %%", 100 * (a / b - 1) }'); $reached"
    done
}
table "WikiText-2, perplexity of a token" wiki text --detokenize none
table "LAMBADA, perplexity of the last word" lmbd passages.jsonl
train "$ROOT/configs/gpt2-small.yaml" -q --data generated --vocabulary 50257 --sequence-length 64 --positions 1024 \
    --micro-batch-size 1 --global-batch-size 1 --steps 1 --threads 2 -o random >/dev/null || exit 1
head -c 20000 "$valid" | tr -s ' \n' '\n\n' | paste -sd '            \n' | head -8 | sed 's/^ *//' >prompts
for form in f32 bf16 f16 int8 int4; do
    generate -q --threads 2 --model random --vocab "$gpt2" --weights $form --length 1 --logprobs 50257 --json <prompts >$form || exit 1
done
for form in bf16 f16 int8 int4; do
    record "random GPT-2 small, divergence of the next token, $form weights" nats \
        "$("$TEXTMILL_PYTHON" "$ROOT/tests/bench/divergence.py" f32 $form)"
done
