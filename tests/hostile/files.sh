# shellcheck shell=bash
# Files and folders of the user's beside and inside an output, neighbours who may write to the same folder, and runs that were killed.

# Commands that write: WRITERS[NAME] writes $OUT in the current folder. "file", "tree" (a folder that appears whole), "set" (files with
# the prefix $OUT) or "folder" says what it makes.
declare -A WRITERS=(
    [tokenize]='file tokenize -q --vocab $VOCAB --format text -o $OUT $TEXT'
    [decode]='file tokenize decode -q --vocab $VOCAB -o $OUT $TOKENS'
    [dedup]='file textclean dedup -q --format lines -o $OUT $TEXT'
    [hashes]='file textclean dedup -q --format lines --keys-to $OUT $TEXT'
    [languages]='file textclean learn-language -q --format lines -o $OUT en=$TEXT it=$TEXT'
    [decontaminate]='file textclean decontaminate -q --against $TEXT --format lines -o $OUT $TEXT'
    [textclean]='file textclean filter -q --rules gopher --format lines -o $OUT $TEXT'
    [count]='file tokenize count -q --format text -o $OUT $TEXT'
    [llmc]='file tfwrite -q --layout llmc -o $OUT $TOKENS'
    [nanogpt]='file tfwrite -q --layout nanogpt -o $OUT $TOKENS'
    [export]='file generate export -q --model $MODEL -o $OUT.gguf'
    [cache]='file generate -q --model $MODEL --prompt a --length 1 --save-prompt-cache $OUT'
    [learn]='folder tokenize train -q --vocab-size 300 --format text -o $OUT $TEXT'
    [tfwrite]='folder tfwrite -q --sequence-length 32 -o $OUT $TOKENS'
    [megatron]='set tfwrite -q --layout megatron -o $OUT $TOKENS'
    [train]='folder train -q --data $SHARDS --vocab $VOCAB --layers 1 --heads 2 --width 16 --sequence-length 32 --micro-batch-size 2 --global-batch-size 2 --steps 2 -o $OUT'
    [wikiprep]='tree wikiprep -q -o $OUT $SAMPLE'
)
# writer NAME: sets COMMAND, an array, and MADE, the name that appears.
writer() {
    OUT=${OUT:-out} VOCAB=$(shared vocab) TEXT=$(shared text) TOKENS=$(shared tokens)
    case $1 in train) SHARDS=$(shared shards) ;; export | cache) MODEL=$(shared model) ;; esac
    eval "COMMAND=(${WRITERS[$1]#* })"
    MADE=$OUT
    case $1 in export) MADE=$OUT.gguf ;; esac
    # the sample is larger than what the bounds of other cases are for
    case $1 in wikiprep) SECONDS_MOST=20 MEGABYTES_MOST=2000 ;; esac
    export OUT VOCAB TEXT TOKENS SHARDS MODEL
}

# keeps_neighbours NAME: whatever lies beside the output and has a similar name stays, with its content. It is nothing that the
# programs make: names of other programs and of dates, links, and unmarked folders with a temporary name.
keeps_neighbours() {
    writer "$1"
    local n
    for n in "$MADE.tmp-20240101" "$MADE.tmp-99999999" "$MADE.tmp-old" "$MADE.tmp" "$MADE.textmill-abcdefghij" "$MADE.textmill-20240101" \
        tfwrite.tmp-99999999 "$MADE~" ; do
        mkdir -p "$n/thesis" && echo mine >"$n/thesis/chapter"
    done
    for n in "$MADE.tmp-1" "$MADE.tmp-99999998" "$MADE.textmill-2024" "$MADE.bak" "$MADE.textmill-ABCDEFGHIJ"; do echo mine >"$n"; done
    mkdir precious && echo mine >precious/file && ln -s precious "$MADE.textmill-linkedlink" && ln precious/file "$MADE.textmill-twonamesxx"
    find . -mindepth 1 | sort >before
    bounded "${COMMAND[@]}"
    [ $STATUS = 0 ] || fail "${COMMAND[*]} : exit status $STATUS"
    while read -r n; do [ -e "$n" ] || fail "removed: $n"; done <before
    [ "$(cat "$MADE.tmp-20240101/thesis/chapter" precious/file)" = $'mine\nmine' ] || fail 'other content'
}

# killed_is_cleared NAME: what a killed run left goes with the next run, and nothing else.
killed_is_cleared() {
    writer "$1"
    local pid left
    mkfifo gate
    exec 5<>gate
    case $1 in
    wikiprep) COMMAND=(wikiprep -q -o "$OUT" -) ;;
    *) COMMAND=("${COMMAND[@]/#$TOKENS/gate}") COMMAND=("${COMMAND[@]/#$TEXT/gate}") ;;
    esac
    "${COMMAND[@]}" <gate >/dev/null 2>&1 5>&- &
    pid=$!
    case $1 in wikiprep) head -c 60000 "$SAMPLE" >&5 ;; textclean | dedup | hashes | tokenize | count) head -c 20000 "$TEXT" >&5 ;; *) head -c 20000 "$TOKENS" >&5 ;; esac
    for _ in $(seq 100); do
        left=$(find . -name '*.textmill-*' -o -name '*.tmp-*' | head -1)
        [ -z "$left" ] || break
        sleep 0.05
    done
    kill -KILL $pid
    wait $pid 2>/dev/null
    exec 5>&-
    [ "$left" ] || skip 'writes nothing before the end of its input'
    rm gate
    writer "$1"
    succeeds "${COMMAND[@]}"
    left=$(find . -name '*.tmp-*' | head -1)
    [ -z "$left" ] || fail "left behind: $left"
}

# keeps_folders_in_the_way NAME FILE...: a folder of the user's that has the name of a file of the output stays.
keeps_folders_in_the_way() {
    local name=$1 file
    shift
    for file; do
        mkdir -p "out/$file" && echo mine >"out/$file/chapter"
        writer "$name"
        bounded "${COMMAND[@]}"
        [ $STATUS = 1 ] || fail "$file: exit status $STATUS, not 1"
        [ "$(cat "out/$file/chapter" 2>&1)" = mine ] || fail "removed: out/$file/chapter"
        no_temporary_files
        rm -r out
    done
}

# links NAME: 3,000 links of another user, under the names that a program could use, lead nowhere. What they point to stays.
is_root() { [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip 'needs root'; }
as_other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
writes_through_no_link() {
    is_root
    writer "$1"
    chmod 755 . && mkdir -m 777 shared && echo secret >secret && chmod 600 secret
    local here=$PWD
    # Each program that starts now has one of the next process numbers.
    as_other perl -e 'chdir "$ARGV[0]/shared" or exit 1; for ($i = $$; $i < $$ + 3000; $i++) { symlink "$ARGV[0]/secret", "$ARGV[1].tmp-$i" or exit 1 }' \
        "$here" "$MADE" ||
        skip 'another user may not write here'
    cd shared || exit 1
    bounded "${COMMAND[@]}"
    [ "$(cat ../secret)" = secret ] || fail 'written through a link'
    [ $STATUS = 0 ] || fail "${COMMAND[*]} : exit status $STATUS"
    [ -e "$MADE" ] || [ -e "$MADE.idx" ] || fail 'nothing was written'
    [ "$(find . -type l | wc -l)" = 3000 ] || fail 'a link of another user was removed'
    [ -z "$(find . -maxdepth 1 ! -type l ! -uid 0 ! -name .)" ] || fail "not the user's own: $(find . -maxdepth 1 ! -type l ! -uid 0 | head -3)"
}

# two_namespaces: two programs with one process number, in two process namespaces, write one output at the same time.
two_namespaces() {
    unshare -p -f true 2>/dev/null || skip 'may not make process namespaces'
    slowly() { for _ in 1 2 3; do yes "$1 $1" | head -n "$2" && sleep 0.3; done; }
    (slowly alpha 2000 | unshare -p -f tokenize count -q --format text -o out - 2>first) &
    (slowly beta 3000 | unshare -p -f tokenize count -q --format text -o out - 2>second) &
    wait
    slowly alpha 2000 | tokenize count -q --format text -o want.a -
    slowly beta 3000 | tokenize count -q --format text -o want.b -
    cmp -s out want.a || cmp -s out want.b || fail 'the output is of neither program'
    [ ! -s first ] && [ ! -s second ] || fail "$(cat first second)"
    no_temporary_files
}
case_one_process_number_in_two_namespaces() { two_namespaces; }

for name in "${!WRITERS[@]}"; do
    eval "case_neighbours_stay_$name() { keeps_neighbours $name; }
        case_planted_links_$name() { writes_through_no_link $name; }
        case_umask_$name() { follows_umask $name; }"
done
for name in textclean dedup hashes tokenize count llmc nanogpt tfwrite megatron wikiprep; do
    eval "case_killed_$name() { killed_is_cleared $name; }"
done

# follows_umask NAME: new files and folders have the modes that the user's umask leaves.
follows_umask() {
    writer "$1"
    local other
    umask 027
    mkdir work && cd work || exit 1
    bounded "${COMMAND[@]}"
    [ $STATUS = 0 ] || fail "${COMMAND[*]} : exit status $STATUS"
    other=$(find . ! -name stdout ! -name stderr ! -name . \( -type d ! -perm 750 -o -type f ! -perm 640 \) | head -3)
    [ -z "$other" ] || fail "other modes: $(ls -ld $other)"
}

case_folders_in_the_way_of_a_vocabulary() { keeps_folders_in_the_way learn vocab.json merges.txt tokenizer.json tokenizer_config.json; }
case_folders_in_the_way_of_shards() { keeps_folders_in_the_way tfwrite manifest tokenizer.json data-00000-of-00001.tfrecord; }
case_folders_in_the_way_of_a_model() { keeps_folders_in_the_way train config.json model.safetensors metrics.jsonl; }

case_file_of_the_users_in_a_tree() {
    writer wikiprep
    succeeds "${COMMAND[@]}"
    for file in notes AA/notes .hidden AA/wiki_00.txt; do
        echo mine >"out/$file"
        refuses "out/$file" "${COMMAND[@]}" --force
        [ "$(cat "out/$file")" = mine ] || fail "changed: $file"
        rm "out/$file"
    done
    succeeds "${COMMAND[@]}" --force
}
case_prefix_of_two_lines() {
    refuses "the name of 'sets/two\x0alines' has a line feed" tfwrite -q --layout megatron -o $'sets/two\nlines' "$(shared tokens)"
    [ ! -e sets ] || fail 'sets is there'
}
case_file_of_the_users_in_a_folder_of_shards() {
    writer tfwrite
    for file in tokenizer.json data-00000-of-00001.index old.tfrecord; do
        mkdir -p out && echo mine >"out/$file"
        refuses "$file" "${COMMAND[@]}"
        [ "$(cat "out/$file")" = mine ] || fail "changed: $file"
        rm -r out
    done
}
case_file_of_the_users_in_a_checkpoint() {
    writer train
    succeeds "${COMMAND[@]}"
    echo mine >out/checkpoints/step-000002/notes
    mkdir -p out/checkpoints/step-000001/thesis
    refuses 'step-00000' "${COMMAND[@]}" --force
    [ -s out/checkpoints/step-000002/notes ] && [ -d out/checkpoints/step-000001/thesis ] || fail 'removed'
    # pruning passes them by
    bounded "${COMMAND[@]}" --resume --steps 5 --save-every 1 --keep 1
    [ $STATUS = 0 ] || fail 'does not resume'
    [ -s out/checkpoints/step-000002/notes ] && [ -d out/checkpoints/step-000001/thesis ] || fail 'pruned'
    [ ! -e out/checkpoints/step-000003 ] && [ -e out/checkpoints/step-000005 ] || fail "not pruned: $(ls out/checkpoints)"
}
case_vocabulary_of_another_kind_stays() {
    writer learn
    mkdir out && echo '[UNK]' >out/vocab.txt
    bounded "${COMMAND[@]/#-q/--force}" # without -q, for the warning
    [ $STATUS = 0 ] || fail 'does not train'
    [ "$(cat out/vocab.txt)" = '[UNK]' ] || fail 'removed: vocab.txt'
    check grep -q 'vocab.txt' stderr
    rm out/vocab.txt
    # its own old files go
    succeeds tokenize train -q --force --model wordpiece --vocab-size 300 --format text -o out "$TEXT"
    [ ! -e out/merges.txt ] && [ -e out/vocab.txt ] || fail 'files of two vocabularies'
}
case_link_of_another_user() {
    is_root
    writer tokenize
    chmod 755 . && mkdir -m 777 shared && echo secret >secret
    as_other ln -s "$PWD/secret" shared/out && as_other ln -s "$PWD" shared/folder || skip 'another user may not write here'
    OUT=shared/out writer tokenize
    refuses 'another user' "${COMMAND[@]}" --force
    [ "$(cat secret)" = secret ] || fail 'written through a link'
    OUT=shared/folder writer tfwrite
    refuses 'another user' "${COMMAND[@]}"
    [ ! -e manifest ] || fail 'written through a link'
}
case_own_link_is_followed() {
    writer tokenize
    mkdir there && ln -s there/file out
    : >there/file
    succeeds "${COMMAND[@]}" --force
    [ -L out ] && [ -s there/file ] || fail 'the link was replaced'
}
case_marked_folder_of_another_user_stays() {
    is_root
    writer wikiprep
    chmod 755 . && mkdir -m 777 shared
    as_other mkdir -p shared/out.textmill-abcdefghij/mine && as_other touch shared/out.textmill-abcdefghij/.textmill-tree ||
        skip 'another user may not write here'
    cd shared || exit 1
    bounded "${COMMAND[@]}"
    [ $STATUS = 0 ] || fail "exit status $STATUS"
    [ -d out.textmill-abcdefghij/mine ] || fail 'removed'
}
case_logs_of_a_run_follow_no_link() {
    writer train
    mkdir out && echo mine >mine && ln -s ../mine out/events.out.tfevents.textmill
    bounded "${COMMAND[@]}"
    [ $STATUS = 1 ] && [ "$(cat mine)" = mine ] || fail 'written through a link'
}
case_planted_file_gives_no_owner() {
    is_root
    writer tokenize
    chmod 755 . && mkdir -m 777 shared
    as_other bash -c 'cd shared && for ((i = $$; i < $$ + 1000; i++)); do : >out.tmp-$i; done; chmod 666 out.tmp-*' || skip 'another user may not write here'
    cd shared || exit 1
    bounded "${COMMAND[@]}"
    [ $STATUS = 0 ] && [ "$(stat -c %u out)" = 0 ] || fail "the output belongs to $(stat -c %u out)"
}
case_resume_at_the_end_prunes() {
    writer train
    succeeds "${COMMAND[@]}" --steps 4 --save-every 1 --keep 9
    [ "$(ls out/checkpoints | wc -l)" = 4 ] || fail 'not four checkpoints'
    mkdir -p out/checkpoints/step-000009.textmill-abcdefghij/old && : >out/checkpoints/step-000009.textmill-abcdefghij/.textmill-checkpoint
    succeeds "${COMMAND[@]}" --steps 4 --save-every 1 --keep 1 --resume
    [ "$(ls out/checkpoints)" = step-000004 ] || fail "not pruned: $(ls out/checkpoints)"
}
