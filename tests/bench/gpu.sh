#!/bin/bash
# gpu.sh [ITEM...]: runs everything that needs a GPU, in at most ten minutes: checks the back end's results, and measures its speed
# beside PyTorch's. Prints one line per result, with the limit that it must reach, if there is one. Correctness comes first. Each item
# has a time limit, and the next one runs whatever becomes of it. A case that fails is run again in a way that names the kernel.
#     on this machine:             make CUDA=1 all build/release/bin/check-{backends,group} && tests/bench/gpu.sh
#     on a machine without a compiler or our libraries: run tests/bench/gpu-pack here, copy the tree with build/gpu.tar.gz, and run
#                                  tests/bench/gpu.sh there
# Items: units tiny ceilings losses generate writing speed kernels bert xl memory ranks large huge sanitizer. If OUT is set, all that is
# printed also goes to $OUT/gpu.txt, and the times of the kernels to $OUT/kernels.csv.
cd "$(dirname "$0")/../.." || exit 1
ROOT=$PWD
if [ "${1:-}" = --one ]; then # called by the loop at the end of this file
    items=$2
    # what an item runs stays in the item's group of processes, which ends at the item's limit
    timeout() { command timeout --foreground "$@"; }
else
    { [ -e /dev/nvidia0 ] || nvidia-smi -L 2>/dev/null | grep -q GPU; } || { echo 'gpu.sh: SKIP: no GPU'; exit 0; }
    items=${*:-units tiny ceilings losses generate writing speed kernels bert xl memory ranks large huge sanitizer}
    work=$(mktemp -d) began=$EPOCHSECONDS home=$ROOT/build/release
    trap 'rm -rf "$work"' EXIT
    if [ build/gpu.tar.gz -nt build/release/lib/textmill/libtextmill-cuda.so ]; then
        tar -xzf build/gpu.tar.gz -C "$work" && home=$work/gpu || exit 1
    fi
    # cuBLASLt and NCCL come with the toolkit or with PyTorch's packages. PyTorch itself runs without our libraries.
    python=${TEXTMILL_PYTHON:-python3} outside=${LD_LIBRARY_PATH:-}
    packaged=$("$python" -c 'import glob, nvidia; print(*(d for p in nvidia.__path__ for d in glob.glob(p + "/*/lib")), sep=":")' 2>/dev/null)
    export LD_LIBRARY_PATH=$home/lib:/usr/local/cuda/lib64${packaged:+:$packaged}${outside:+:$outside}
    export PATH=$home/bin:$PATH work began home python outside
fi
torch_gpu() { LD_LIBRARY_PATH=$outside timeout "$1" "$python" "$ROOT/tests/bench/torch_gpu.py" "${@:2}"; }
cd "$work" || exit 1
spent() { echo $((EPOCHSECONDS - began)); }
say() { echo "$(printf '%4d s' "$(spent)")  $*"; }
verdict() { if [ "$1" = 0 ]; then say "pass  $2"; else say "FAIL  $2"; fi; }
value() { sed -n "s/^$1=//p" "$2"; }
larger() { awk -v a="${1:-0}" -v b="${2:-0}" 'BEGIN { print (a + 0 > b + 0 ? a : b) }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", b ? a / b : 0 }'; }

losses() { sed -nE 's/.*"step":([0-9]+),"loss":([0-9.]+).*/\1 \2/p' "$1/metrics.jsonl"; }
# difference A B: prints the largest and the mean absolute difference of the losses.
difference() {
    paste <(losses "$1") <(losses "$2") | awk '{ d = $2 - $4; if (d < 0) d = -d; if (d > m) m = d; s += d; n++
        if ($1 != $3) m = 99 } END { printf "%.2e %.2e", n ? m : 99, n ? s / n : 99 }'
}
# near NAME A B MOST MEAN: says whether the losses differ by at most MOST, and on average by at most MEAN.
near() {
    local both
    both=$(difference "$2" "$3")
    awk -v d="$both" -v most="$4" -v mean="$5" 'BEGIN { split(d, x); exit !(x[1] <= most && x[2] <= mean) }'
    verdict $? "$1: |loss - CPU's| at most, on average: $both (limits $4 $5)"
}
# median_rate DIR: tokens per second, median of the run's steps after the first ten.
median_rate() {
    sed -nE 's/.*"tokens_per_second":([0-9.]+).*/\1/p' "$1/metrics.jsonl" | tail -n +11 | sort -n |
        awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}

item_ceilings() {
    torch_gpu 40 ceilings >ceilings 2>&1
    say "$(value device ceilings): copy $(value copy_bytes_per_second ceilings) B/s, 8192^3 $(value product_flops ceilings) FLOP/s"
}

# explain CASE: runs a case again so that a failure names its kernel, and the access of memory if compute-sanitizer is here.
explain() {
    CUDA_LAUNCH_BLOCKING=1 timeout 30 check-backends --only "$1" cuda 2>&1 </dev/null | grep -E 'FAIL|error' | head -5 | while read -r line; do say "      $line"; done
    command -v compute-sanitizer >/dev/null || return
    timeout 40 compute-sanitizer --tool memcheck check-backends --only "$1" cuda 2>&1 </dev/null | grep -E '=========' | head -8 |
        while read -r line; do say "      $line"; done
}

# Each operation beside the CPU's, twice, with the same bits. A process for each case, because an error of a kernel ends the process.
item_units() {
    local status good=0 all=0
    say "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -1)"
    while read -r case; do
        timeout 60 check-backends --only "$case" cuda cuda >check.out 2>&1 </dev/null
        status=$? all=$((all + 1))
        [ $status = 0 ] && good=$((good + 1)) && continue
        verdict $status "$case: status $status: $(tail -1 check.out)"
        grep -E 'FAIL' check.out | head -6
        explain "$case"
    done < <(check-backends --list)
    [ $good = $all ]
    verdict $? "every operation beside the CPU's, twice: $good of $all cases"
}

# Tiny models: training, resuming, arrays in the host's memory, texts and answers, as on the CPU.
item_tiny() {
    TEXTMILL_BIN=$home/bin "$ROOT/tests/backends/train" cuda 2>&1 | tee tiny.out
    verdict "${PIPESTATUS[0]}" "tiny models as on the CPU: $(tail -1 tiny.out)"
}

item_sanitizer() {
    command -v compute-sanitizer >/dev/null || { say 'skip  compute-sanitizer is not here'; return; }
    local status
    for tool in memcheck racecheck; do
        for case in attentions norms 'many tokens' losses; do
            timeout 60 compute-sanitizer --tool $tool --error-exitcode 9 check-backends --only "$case" cuda >sanitizer 2>&1
            status=$?
            if [ $status = 124 ]; then say "skip  $tool: $case: not done after 60 s"; else
                verdict $status "$tool: $case: $(grep -E 'SUMMARY' sanitizer | head -1)"
            fi
        done
    done
}

# run NAME OPTION...: trains and keeps the loss of each step.
run() {
    local name=$1
    shift
    timeout 240 train -q "$@" --data generated --log-every 1 -o "$name" >"$name.log" 2>&1 || say "FAIL  $name: $(tail -1 "$name.log")"
}

# The rates of learning are low and rise slowly. With few tokens a step the presets' rates are too high: differences of rounding grow
# from 1e-7 in the first step to 0.1 after 50 (f32).
item_losses() {
    local rate="--learning-rate 1e-4 --warmup 10"
    local gpt="gpt2-small --micro-batch-size 4 --global-batch-size 4 --sequence-length 256 --steps 50 $rate"
    local bert="bert-base-128 --micro-batch-size 4 --global-batch-size 4 --steps 20 --no-save $rate"
    local threads=$((($(nproc) * 3 + 3) / 4)) # of the CPU's runs: some are left for the GPU's
    # shellcheck disable=SC2086  # words are wanted
    {
        {
            run cpu $gpt --device cpu --threads $threads --no-save
            run bert-cpu $bert --device cpu --threads $threads
        } &
        run f32 $gpt --device cuda --save-every 25
        run again $gpt --device cuda
        run bf16 $gpt --device cuda --precision bf16 --no-save
        run half $gpt --device cuda --precision bf16 --activation-precision bf16 --no-save
        run bert-f32 $bert --device cuda
        run bert-bf16 $bert --device cuda --precision bf16
        wait
    }
    near 'GPT-2 small, 50 steps, f32' cpu f32 2e-4 2e-4
    near 'GPT-2 small, 50 steps, bf16' cpu bf16 1e-2 2e-3
    near 'GPT-2 small, 50 steps, bf16 activations' cpu half 1e-2 2e-3
    near 'BERT base, 20 steps, f32' bert-cpu bert-f32 2e-4 2e-4
    near 'BERT base, 20 steps, bf16' bert-cpu bert-bf16 1e-2 2e-3
    cmp -s f32/model.safetensors again/model.safetensors
    verdict $? 'two runs end with the same bits'
    rm -rf resumed && cp -r f32 resumed && rm -r resumed/checkpoints/*50 resumed/model.safetensors
    train -q --resume -o resumed >resumed.log 2>&1 && cmp -s f32/model.safetensors resumed/model.safetensors
    verdict $? 'a resumed run ends with the same bits'
}

# ranked NAME RANKS OPTION...: a training on several ranks; sets $rate to its tokens a second. "exchange" lines go to NAME.log.
ranked() {
    local name=$1 ranks=$2
    shift 2
    timeout 100 mpirun -np "$ranks" train gpt2-small --data generated --micro-batch-size 4 --global-batch-size 32 --leaves 8 \
        --sequence-length 256 --steps 20 --log-every 1 "$@" -o "$name" >"$name.log" 2>&1 || return 1
    rate=$(median_rate "$name")
}

# One GPU is enough for an exchange of one rank by NCCL, and for two ranks that share it, by MPI. The rest needs two.
item_ranks() {
    local gpus alone rate way
    gpus=$(nvidia-smi -L | grep -c GPU)
    timeout 40 check-group cuda 1 >group.out 2>&1
    verdict $? "exchange of one GPU by NCCL: $(tail -1 group.out)"
    if [ "$gpus" -ge 2 ]; then
        for ranks in 2 "$gpus"; do
            timeout 100 check-group cuda "$ranks" "$ranks" many >group.out 2>&1
            verdict $? "exchanges of $ranks GPUs by NCCL: $(tail -1 group.out)"
        done
    else
        say 'skip  exchanges of several GPUs, and their speed: this machine has one'
    fi
    if ! command -v mpirun >/dev/null || [ ! -e "$home/lib/textmill/libtextmill-mpi.so" ]; then
        say 'skip  training on several ranks: mpirun or the plug-in for MPI is not here'
        return
    fi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    ranked one 1 --device cuda:0 || say "FAIL  one rank: $(tail -1 one.log)"
    alone=$rate
    ranked shared 2 --device cuda:0 && cmp -s one/model.safetensors shared/model.safetensors
    verdict $? "two ranks on one GPU have the bytes of one rank: $(grep -m1 exchange shared.log)"
    [ "$gpus" -ge 2 ] || return
    for way in direct staged; do
        for zero in 0 3; do
            ranked "$way-$zero" 2 --device cuda --exchange $way --zero $zero && cmp -s one/model.safetensors "$way-$zero/model.safetensors"
            verdict $? "two GPUs, $way, ZeRO $zero: the bytes of one; $rate tok/s: $(ratio "$rate" "$alone") of one GPU"
        done
    done
}

item_generate() {
    local model=$home/successor
    [ -d "$model" ] || model=$ROOT/tests/data/successor
    local same=0 prompt
    for prompt in a b c d e f g h i j k l m n o p q r s t; do
        for d in cpu cuda; do
            generate -q --model "$model" --temperature 0 --length 64 --json --device $d "the $prompt" >"ids.$d" 2>&1
        done
        cmp -s ids.cpu ids.cuda && same=$((same + 1))
    done
    [ $same = 20 ]
    verdict $? "greedy texts equal to the CPU's: $same of 20"
    printf 'ab cd ef gh the quick brown fox' >text
    for d in cpu cuda; do evaluate wiki -q --model "$model" --detokenize none --device $d text >"score.$d" 2>&1; done
    cmp -s <(sed -E 's/(\.[0-9]{4})[0-9]+/\1/g' score.cpu) <(sed -E 's/(\.[0-9]{4})[0-9]+/\1/g' score.cuda)
    verdict $? "evaluate wiki equal to 4 decimals: $(grep perplexity score.cuda | head -1)"
}

# The speed of one text at a time, where the GPU reads all weights for each token, in f32 and in bf16. -v would say that steps run
# without CUDA graphs.
item_writing() {
    local vocab=$home/successor type
    [ -d "$vocab" ] || vocab=$ROOT/tests/data/successor
    timeout 40 train -q gpt2-small --data generated --micro-batch-size 1 --global-batch-size 1 --sequence-length 32 --steps 1 \
        --device cuda -o writer >writer.log 2>&1 || say "FAIL  training: $(tail -1 writer.log)"
    for type in f32 bf16; do writes $type; done
}

# writes TYPE: measures a text with weights of this type. Only f32 has a limit.
writes() {
    local type=$1 must=0 rate bytes
    [ "$type" = f32 ] && must=2000
    timeout 30 generate -v --model writer --vocab "$vocab" --weights "$type" --temperature 0 --logit-bias 29=-1e6 --length 512 --device cuda \
        'the a' >writer.text 2>writer.log # token 29 would end the text
    rate=$(sed -nE 's/.* ([0-9.]+) tokens\/s.*/\1/p' writer.log)
    bytes=$(stat -c %s writer/model.safetensors) # in f32
    [ "$type" = bf16 ] && bytes=$((bytes / 2))
    awk -v r="${rate:-0}" -v must=$must 'BEGIN { exit !(r > must) }' && ! grep -q 'without CUDA graphs' writer.log
    verdict $? "GPT-2 124M writes ${rate:-0} tok/s with $type weights$([ $must = 0 ] || echo ", must $must"); reads weights at $(awk -v r="$rate" -v b="$bytes" \
        -v c="$(value copy_bytes_per_second ceilings 2>/dev/null)" 'BEGIN { printf "%.2f", c ? r * b / c : 0 }') of the copy's speed \
$(grep -E 'error|without CUDA graphs' writer.log | head -1)"
}

# beside NAME MUST KIND LAYERS WIDTH HEADS B T PRESET OPTION...: runs ours and PyTorch's in turn, twice; medians.
beside() {
    local name=$1 must=$2 kind=$3 layers=$4 width=$5 heads=$6 B=$7 T=$8 best=0 peer=0 rate
    shift 8
    for _ in 1 2; do
        timeout 100 train -q "$@" --data generated --micro-batch-size "$B" --global-batch-size "$B" --sequence-length "$T" \
            --precision bf16 --activation-precision bf16 --dropout 0 --steps 40 --log-every 1 --no-save --device cuda \
            --force -o speed >speed.log 2>&1 || { say "FAIL  $name: $(tail -1 speed.log)"; return; }
        rate=$(median_rate speed)
        best=$(larger "$best" "$rate")
        torch_gpu 150 "$kind" "$layers" "$width" "$heads" "$B" "$T" 30 >peer.log 2>&1
        rate=$(value torch_tokens_per_second peer.log)
        peer=$(larger "$peer" "$rate")
        [ "$(spent)" -gt 480 ] && break
    done
    local flops
    flops=$(train -q "$@" --dry-run --sequence-length "$T" --micro-batch-size "$B" --global-batch-size "$B" |
        sed -n 's/^flops_per_token=//p')
    say "$name: $best tok/s, must $must; PyTorch $peer: $(ratio "$best" "$peer"); of the 8192^3 product \
$(awk -v r="$best" -v f="${flops:-0}" -v p="$(value product_flops ceilings 2>/dev/null)" 'BEGIN { printf "%.3f", p ? r * f / p : 0 }')"
}

item_speed() {
    beside 'GPT-2 124M, B 64 T 1024' 470000 gpt 12 768 12 64 1024 gpt2-small
}

item_bert() {
    beside 'BERT large s128 B 256' 263000 bert 24 1024 16 256 128 bert-large-128 --mask-tokens 20
}

item_xl() {
    beside 'GPT-2 XL, B 8 T 1024' 46000 gpt 48 1600 25 8 1024 gpt2-xl --recompute none
}

# The time of each kernel in one step of GPT-2 124M, in milliseconds. Times add up to less than the step takes, because the profiler
# lets the card rest between kernels.
item_kernels() {
    command -v ncu >/dev/null || { say 'skip  ncu is not here'; return; }
    local file=${OUT:-$work}/kernels.csv
    timeout 60 ncu --clock-control none --metrics gpu__time_duration.sum --csv --log-file "$file" train -q gpt2-small --data generated \
        --micro-batch-size 64 --global-batch-size 64 --precision bf16 --activation-precision bf16 --dropout 0 --steps 2 --no-save \
        --device cuda --force -o kernels >kernels.log 2>&1 || { say "FAIL  ncu: $(tail -1 kernels.log)"; return; }
    "$python" - "$file" <<'PYTHON' | while read -r line; do say "$line"; done
import collections, csv, re, sys
rows = list(csv.DictReader(l for l in open(sys.argv[1]) if l.startswith('"')))
names = [re.sub(r"[(<].*", "", r["Kernel Name"]) for r in rows]
starts = [i for i, n in enumerate(names) if n == "embed"]  # once a step
times, counts = collections.Counter(), collections.Counter()
for r, n in list(zip(rows, names))[starts[1]:]:
    times[n] += float(r["Metric Value"].replace(",", "")) / 1e6
    counts[n] += 1
print(f"kernels of a step: {sum(counts.values())} launches, {sum(times.values()):.1f} ms")
for n, t in times.most_common(24):
    print(f"{t:8.2f} ms {counts[n]:4d} x {n[:60]}")
PYTHON
}

item_large() {
    timeout 120 train -q gpt3-2.7b --data generated --micro-batch-size 2 --global-batch-size 2 --precision bf16 \
        --parameter-precision bf16 --state-precision bf16 --activation-precision bf16 --steps 20 --log-every 1 --no-save \
        --device cuda -o large >large.log 2>&1
    verdict $? "GPT-3 2.7B, 20 steps: $(median_rate large 2>/dev/null) tok/s $(tail -1 large.log)"
}

# The memory that a training takes at most, beside the plan's.
item_memory() {
    local sizes="gpt2-small --micro-batch-size 32 --global-batch-size 32 --precision bf16 --activation-precision bf16 --dropout 0"
    local before most=0 now planned
    before=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -1)
    # shellcheck disable=SC2086  # words are wanted
    planned=$(train $sizes --device cuda --dry-run 2>memory.plan | sed -n "s/^memory_bytes=//p")
    # shellcheck disable=SC2086
    timeout 40 train -q $sizes --device cuda --data generated --steps 12 --no-save -o memory >memory.log 2>&1 &
    while kill -0 $! 2>/dev/null; do
        now=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -1)
        [ "$now" -gt "$most" ] && most=$now
        sleep 0.3
    done
    wait $! && [ $((most - before)) -le $(((planned >> 20) * 11 / 10 + 600)) ]
    verdict $? "memory: $((most - before)) MiB, planned $((planned >> 20)) MiB (10 % and CUDA's own 600 MiB more at most) $(tail -1 memory.log)"
}

# A model that does not fit onto the card.
item_huge() {
    train -q gpt3-2.7b --layers 32 --width 4096 --heads 32 --data generated --micro-batch-size 1 --global-batch-size 1 --precision bf16 \
        --parameter-precision bf16 --state-precision bf16 --activation-precision bf16 --steps 3 --log-every 1 --no-save \
        --device cuda --device-memory 20G -o huge >huge.log 2>&1
    verdict $? "GPT-3 6.7B in host memory, 3 steps: $(sed -nE 's/.*"tokens_per_second":([0-9.]+).*/\1/p' huge/metrics.jsonl | tail -1) tok/s $(tail -1 huge.log)"
}

if [ "${1:-}" = --one ]; then
    "item_$items"
    exit
fi
declare -A limit=([units]=150 [tiny]=150 [ceilings]=40 [losses]=150 [generate]=80 [writing]=80 [speed]=120 [kernels]=70 [bert]=150 [xl]=240 [memory]=50 [ranks]=80 [large]=90 [huge]=120
    [sanitizer]=120)
for item in $items; do
    left=$((580 - $(spent)))
    [ $left -ge 10 ] || { say "skip  $item: no time is left"; continue; }
    [ "$left" -lt "${limit[$item]:-60}" ] || left=${limit[$item]:-60}
    timeout -k 5 "$left" "$ROOT/tests/bench/gpu.sh" --one "$item" </dev/null 2>&1
    [ $? != 124 ] || say "FAIL  $item: not done after $left s"
done | tee "${OUT:-$work}/gpu.txt"
