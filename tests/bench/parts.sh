#!/bin/bash
# parts.sh [ROUNDS]: measures what it costs to divide a dump into parts, and what several tasks at a time gain. The 16 parts of a
# dump of 400 MB beside the whole, in processor time. Four tasks, each on its own core, beside one task on one core, in quarters of the
# dump per second. The memory of a task: that of its largest program. The sides alternate; medians.
rounds=${1:-3}
source=$DATA/wiki/smallwiki.xml
[ -f "$source" ] || { echo "parts: skipped, no $source"; exit 0; }
. "$ROOT/tests/bench/lib"
TIMEFORMAT='%R %U %S'
first=$(grep -n -m1 '<page>' "$source" | cut -d: -f1)
{
    head -n $((first - 1)) "$source"
    for _ in {1..110}; do tail -n +"$first" "$source" | sed '$d'; done
    echo '</mediawiki>'
} | bzip2 >dump.xml.bz2
wikiprep -q -t 1 "$source" | tokenize train -q --vocab-size 2000 -o vocab

whole() { wikiprep -q -t "$1" dump.xml.bz2 >/dev/null; }
parts() { for ((k = 1; k <= 16; k++)); do wikiprep -q -t "$1" --part $k/16 dump.xml.bz2 >/dev/null; done; }
task() { # NUMBER CORE: takes a quarter of the dump through the whole pipe
    # shellcheck disable=SC2016  # words of the inner shell
    taskset -c "$2" bash -c 'wikiprep -t 1 --part $0/4 dump.xml.bz2 2>>peak.$0 | tokenize -t 1 --vocab vocab 2>>peak.$0 |
        tfwrite -t 1 --force -o set.$0 2>>peak.$0' "$1"
}
four() {
    for n in 1 2 3 4; do task $n $((n - 1)) & done
    wait
}
for ((r = 0; r < rounds; r++)); do
    for t in 1 2; do
        { time whole $t; } 2>>whole.$t
        { time parts $t; } 2>>parts.$t
    done
    { time task 1 0; } 2>>one
    { time four; } 2>>four
done
processor() { awk '{ print $2 + $3 }' "$1" | median; }
wall() { awk '{ print $1 }' "$1" | median; }
for t in 1 2; do
    record "16 parts of a dump, $t threads" s "$(processor parts.$t)" 'the whole' "$(processor whole.$t)" ', processor time'
done
record 'four tasks on four cores' tasks/s "$(awk -v s="$(wall four)" 'BEGIN { print 4 / s }')" 'one task on one core' \
    "$(awk -v s="$(wall one)" 'BEGIN { print 1 / s }')" "$(awk -v a="$(processor four)" -v b="$(processor one)" \
    'BEGIN { printf ", %.2f s and %.2f s of processor time", a, b }')"
record 'memory of a task' MiB "$(sed -n 's/.*peak memory \([0-9.]*\) MiB.*/\1/p' peak.* | sort -n | tail -1)"
