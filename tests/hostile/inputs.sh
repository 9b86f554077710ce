# shellcheck shell=bash
# Hostile inputs: files that have no end, that nobody writes, that stand for more than they hold, or that change while they are read.

tiny=(--layers 1 --heads 2 --width 16 --sequence-length 32 --micro-batch-size 2 --global-batch-size 2 --steps 2)

# ---- YAML ---------------------------------------------------------------------------------------

# yaml_is_refused TEXT: the file bad.yaml is refused as a configuration of train and as a machine.
yaml_is_refused() {
    refuses "$1" train -c bad.yaml
    refuses "$1" train bad.yaml
    refuses "$1" train gpt2-small --dry-run --machine bad.yaml
}
# Each line is a list, or a mapping, of the line before it, nine times.
bomb() { # FIRST OPEN CLOSE LEVELS
    local n k
    echo ".a0: &a0 $1"
    for ((n = 1; n <= $4; n++)); do
        printf '.a%d: &a%d %s' $n $n "$2"
        for ((k = 0; k < 9; k++)); do
            [ "$2" = '{' ] && printf 'k%d: ' $k
            printf '*a%d, ' $((n - 1))
        done
        echo "$3"
    done
}
case_yaml_list_bomb() {
    bomb '[x, x, x, x, x, x, x, x, x]' '[' ']' 8 >bad.yaml
    yaml_is_refused 'bad.yaml:1: more than 4194304 bytes of values'
}
case_yaml_empty_list_bomb() {
    bomb '[]' '[' ']' 12 >bad.yaml
    yaml_is_refused 'bad.yaml:1: more than 4194304 bytes of values'
}
case_yaml_mapping_bomb() {
    bomb '{k: 1}' '{' '}' 8 >bad.yaml
    yaml_is_refused 'more than 4096 keys'
}
case_yaml_merge_bomb() {
    local k
    {
        printf '.a: &a {'
        for ((k = 0; k < 2000; k++)); do printf 'k%d: 1, ' $k; done
        printf '}\nb: {<<: ['
        for ((k = 0; k < 900; k++)); do printf '*a, '; done
        echo ']}'
    } >bad.yaml
    yaml_is_refused 'more than 4096 keys'
}
case_yaml_many_anchors() {
    printf '&a%d 1, ' {1..90000} | sed 's/^/.x: [/;s/$/]/' >bad.yaml
    yaml_is_refused 'bad.yaml:1: more than 1000 anchors and aliases'
}
case_yaml_many_keys() {
    printf 'k%d: 1\n' {1..90000} >bad.yaml
    yaml_is_refused 'bad.yaml:4097: more than 4096 keys'
}
case_yaml_deep() {
    local open
    for open in '[' '{a: ' '- ' '? '; do
        printf -- "$open%.0s" {1..20000} | sed 's/^/a:\n  /' >bad.yaml
        yaml_is_refused 'bad.yaml:2: nested too deeply'
    done
}
case_yaml_no_end() {
    ln -s /dev/zero bad.yaml
    yaml_is_refused "cannot read 'bad.yaml': it has more than 1.0 MiB"
    rm bad.yaml && truncate -s 1T bad.yaml
    yaml_is_refused "cannot read 'bad.yaml': it has more than 1.0 MiB"
}
case_yaml_pipe() {
    mkfifo bad.yaml
    refuses "cannot read 'bad.yaml': it is a pipe, and no program writes to it" train -c bad.yaml
    (sleep 0.3 && echo 'layers: 7' >bad.yaml) &
    succeeds train -c bad.yaml --print-config
    check grep -q '^layers: 7' stdout
    wait
}
case_yaml_bases_multiply() {
    local n
    for n in 1 2 3 4 5 6; do printf 'base: [%s]\n' "$(printf "$((n + 1)).yaml, %.0s" {1..9})" >$n.yaml; done
    echo 'layers: 2' >7.yaml
    refuses 'more than 64 base files' train -c 1.yaml --print-config
}

# ---- pipes that nobody writes ---------------------------------------------------------------------

nobody="it is a pipe, and no program writes to it"
case_pipe_vocabulary() {
    mkfifo pipe && ln -s pipe pipe.tiktoken
    refuses "cannot read 'pipe': $nobody" tokenize --vocab pipe --ids "$(shared text)"
    refuses "cannot read 'pipe.tiktoken': $nobody" tokenize --vocab pipe.tiktoken --ids "$(shared text)"
}
case_pipe_vocabulary_of_others() {
    mkfifo pipe
    refuses "cannot read 'pipe': $nobody" train --data "$(shared shards)" --vocab pipe "${tiny[@]}" -o made
    check test ! -e made
    refuses "cannot read 'pipe': $nobody" generate --model "$(shared model)" --vocab pipe -n 2 a
}
case_pipe_model() {
    mkfifo pipe
    refuses "'pipe' is not a model" generate --model pipe -n 2 a
    refuses "'pipe' is not a model" generate export --model pipe -o made.gguf
    refuses "'pipe' is not a model" evaluate wiki --model pipe "$(shared text)"
    check test ! -e made.gguf
}
case_pipe_in_model_folder() {
    local name
    for name in config.json model.safetensors tokenizer.json tokenizer_config.json; do
        cp -r "$(shared model)" model && rm model/$name && mkfifo model/$name
        refuses "cannot read 'model/$name': not a regular file" generate --model model -n 2 a
        rm -r model
    done
}
case_pipe_counts() {
    mkfifo pipe
    refuses "cannot read 'pipe': $nobody" tokenize train --counts --vocab-size 400 -o made pipe
    check test ! -e made
}
case_pipe_data_of_evaluations() {
    mkfifo pipe
    local model
    model=$(shared model)
    refuses "cannot read 'pipe': $nobody" evaluate wiki --model "$model" pipe
    refuses "cannot read 'pipe': $nobody" evaluate lmbd --model "$model" pipe
    refuses "cannot read 'pipe': $nobody" evaluate choice --model "$model" pipe
    refuses "cannot read 'pipe': $nobody" evaluate squad --predictions pipe pipe
}
case_pipe_lists_of_wikiprep() {
    mkfifo pipe
    refuses "cannot read 'pipe': $nobody" wikiprep --pages @pipe "$SAMPLE"
    refuses "cannot read 'pipe': $nobody" wikiprep --filter-category @pipe "$SAMPLE"
    refuses "cannot read 'pipe': $nobody" wikiprep sentences --sentence-model pipe "$(shared text)"
}
# A pipe whose writer is slow, or silent at first, is read as a file.
case_pipe_with_a_writer() {
    mkfifo pipe.json
    (exec >pipe.json && sleep 2.5 && cat "$(shared vocab)/tokenizer.json") &
    succeeds tokenize --vocab pipe.json --ids "$(shared text)"
    cp stdout from_pipe
    succeeds tokenize --vocab "$(shared vocab)/tokenizer.json" --ids "$(shared text)"
    check cmp stdout from_pipe
    wait
}

# ---- files without an end -------------------------------------------------------------------------

# endless TEXT COMMAND...: the word ENDLESS of the command is, in turn, a device that gives zeros, a link to another one, and a pipe.
endless() {
    local text=$1 file
    shift
    ln -sf /dev/full full
    for file in /dev/zero full; do refuses "$text" "${@/ENDLESS/$file}"; done
}
most='it has more than 64.0 MiB'
case_endless_vocabulary() {
    endless "$most" tokenize --vocab ENDLESS --ids "$(shared text)"
    endless "$most" generate --model "$(shared model)" --vocab ENDLESS -n 2 a
    endless "$most" train --data "$(shared shards)" --vocab ENDLESS "${tiny[@]}" -o made
    local name
    for name in tiktoken json txt model; do
        ln -s /dev/zero in.$name
        refuses "$most" tokenize --vocab in.$name --ids "$(shared text)"
    done
}
case_endless_model() {
    endless "is not a model" generate --model ENDLESS -n 2 a
    endless "is not a model" evaluate wiki --model ENDLESS "$(shared text)"
}
case_endless_json() {
    endless "$most" evaluate squad --model "$(shared model)" ENDLESS
    echo '{"version": "1.1", "data": []}' >squad.json
    endless "$most" evaluate squad --predictions ENDLESS squad.json
    endless "$most" wikiprep sentences --sentence-model ENDLESS "$(shared text)"
}
case_endless_text() {
    endless "$most" evaluate wiki --model "$(shared model)" ENDLESS
    endless "$most" evaluate squad --model "$(shared model)" --ask ENDLESS
}
line='the line at byte 0 is longer than 104857600 bytes'
case_endless_line_of_a_list() {
    endless "$line" evaluate lmbd --model "$(shared model)" ENDLESS
    endless "$line" evaluate choice --model "$(shared model)" ENDLESS
    endless "$line" wikiprep --pages @ENDLESS "$SAMPLE"
}
case_endless_line_of_text() {
    endless "$line" tokenize train --vocab-size 400 -o made ENDLESS
    endless "$line" tokenize --vocab "$(shared vocab)" --format lines -o made ENDLESS
    endless "$line" wikiprep sentences ENDLESS
    check test ! -e made
}
# A small packed file may hold a line of any length.
case_endless_line_of_a_packed_file() {
    head -c 110000000 /dev/zero | tr '\0' x | gzip -1 >line.gz
    SECONDS_MOST=20 MEGABYTES_MOST=600
    refuses "line.gz: $line" tokenize --vocab "$(shared vocab)" --format lines -o made line.gz
    check test ! -e made
}
case_replacements_that_grow() {
    local step='{"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"}' steps
    steps=$(printf "$step, %.0s" {1..12})
    echo "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}," \
        "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [${steps%, }]}}" >grows.json
    echo aaaa >in
    refuses "the normalizer's replacements make" tokenize --vocab grows.json --ids -o made in
    check test ! -e made
}
case_endless_pipe() {
    refuses "$line" bash -c 'yes x | tr -d "\n" | tokenize train --vocab-size 400 -o made'
    refuses "cannot read '<stdin>': it has more than 64.0 MiB" bash -c 'yes x | generate --model "$0" -' "$(shared model)"
}
case_huge_file() {
    truncate -s 1T huge && ln -s huge huge.json
    local huge="cannot read 'huge': it has more than 4.0 GiB"
    refuses "$huge" tokenize --vocab huge --ids "$(shared text)"
    refuses "$huge" evaluate squad --predictions huge huge
    refuses "$huge" evaluate wiki --model "$(shared model)" huge
    refuses "$huge" wikiprep sentences --sentence-model huge "$(shared text)"
    mkdir model && cp "$(shared model)"/* model 2>/dev/null
    truncate -s 1T model/config.json
    refuses "cannot read 'model/config.json': it has more than 4.0 GiB" generate --model model -n 2 a
}

# ---- mapped files that become shorter ------------------------------------------------------------

shorter='it became shorter meanwhile, or its disk failed'
wait_for() {
    local n
    for ((n = 0; n < 300; n++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    kill $!
    fail "never: $*"
}
# Makes weights of several pages.
make_wide_model() {
    train -q --data "$(shared shards)" --vocab "$(shared vocab)" --layers 2 --heads 2 --width 128 --sequence-length 32 \
        --micro-batch-size 2 --global-batch-size 2 --steps 1 -o wide_model
}
case_shards_cut_under_train() {
    cp -r "$(shared shards)" shards
    train -q --data shards --vocab "$(shared vocab)" "${tiny[@]}" --warmup 0 --steps 1000000 --save-every 50 -o made 2>stderr >stdout &
    wait_for compgen -G 'made/checkpoints/step-*/training/state'
    for file in shards/*.tfrecord; do : >"$file"; done
    wait $!
    [ $? = 1 ] || fail 'not exit status 1'
    [ "$(grep -c '' stderr)" = 1 ] || fail 'not one line'
    check grep -q "^train: error: cannot read 'shards/.*tfrecord': $shorter" stderr
    no_temporary_files
    cp "$(shared shards)"/*.tfrecord shards
    local last
    last=$(ls made/checkpoints | tail -1)
    succeeds train --resume -o made --steps $((10#${last#step-} + 2))
}
# The program has mapped the file NAME, and waits, twice in a tenth of a second: it has loaded the file and reads stdin.
waits_with() { # PID NAME
    local k
    for k in 1 2; do
        grep -q "$2" "/proc/$1/maps" && grep -q '^State:.S' "/proc/$1/status" || return 1
        [ $k = 2 ] || sleep 0.1
    done
}
# cut_under NAME PROGRAM...: the program waits for a line of stdin; the file NAME is emptied; then the line comes.
cut_under() {
    local name=$1
    shift
    mkfifo lines
    "$@" <lines >stdout 2>stderr &
    local program=$!
    exec 7>lines
    wait_for waits_with $program "$name"
    : >"$name"
    echo '{"text": "the moon is the moon"}' >&7
    exec 7>&-
    wait $program
    [ $? = 1 ] || fail "$* : not exit status 1"
    check grep -q "^${1##*/}: error: cannot read '$name': $shorter" stderr
    [ "$(grep -c '' stderr)" = 1 ] || fail 'not one line'
}
case_gguf_cut_under_generate() {
    generate export -q --model "$(shared wide_model)" --format mapped --weights int8 -o model.gguf || fail export
    cut_under model.gguf generate --model model.gguf -n 4
}
case_gguf_cut_under_evaluate() {
    generate export -q --model "$(shared wide_model)" --format mapped --weights bf16 -o model.gguf || fail export
    cut_under model.gguf evaluate lmbd --model model.gguf -
}

# ---- programs that resist ------------------------------------------------------------------------

case_programs_are_hardened() {
    command -v readelf >/dev/null || skip 'no readelf'
    grep -q -- '-O2 -g' <(tokenize -V -v) || skip 'not a release build'
    local program
    for program in wikiprep tokenize tfwrite train evaluate generate; do
        readelf -d "$BIN/$program" >dynamic && readelf -Ws --dyn-syms "$BIN/$program" >symbols || fail readelf
        grep -q BIND_NOW dynamic || fail "$program is not bound at its start"
        grep -q __stack_chk_fail symbols || fail "$program has no guards on its stack"
        grep -q '__[a-z]*_chk@' symbols || fail "$program does not check the sizes of buffers"
    done
}
# A package does not hold the folder that it was built in.
case_no_folder_of_the_build() {
    type ${CC:-gcc} >/dev/null 2>&1 || skip 'no compiler'
    ${MAKE:-make} -s -C "$ROOT" O="$PWD/made" CFLAGS="-ffile-prefix-map=$PWD/secret=. -g0" \
        "$PWD/made/release/obj/common/program/tool.o" >log 2>&1 || fail "$(head -3 log)"
    check grep -q std=gnu11 made/release/obj/common/program/tool.o
    ! grep -q secret made/release/obj/common/program/tool.o || fail 'the folder is in tool.o'
}

# ---- terminals ------------------------------------------------------------------------------------

case_directions_in_messages() {
    local mark
    for mark in $'\u202a' $'\u202e' $'\u2066' $'\u2069' $'\u200e' $'\u200f' $'\u061c' $'\u009b' $'\x1b'; do
        refuses '\x' wikiprep "a${mark}gpj.exe"
        ! grep -qF "$mark" stderr || fail "$(printf %q "$mark") is in the message"
        refuses '\x' tokenize --vocab "a${mark}b" "$(shared text)"
        ! grep -qF "$mark" stderr || fail "$(printf %q "$mark") is in the message"
    done
    refuses "'日本/é'" wikiprep '日本/é'
}
# The text that a terminal gets.
on_terminal() { script -qec "$*" /dev/null </dev/null; }
case_generated_controls_at_a_terminal() {
    command -v script >/dev/null || skip 'no script(1)'
    local model prompt=$'\e]0;x\a\u009b31m\u202eab\tc'
    model=$(shared model)
    printf '%s' "$prompt" >prompt
    generate -q --model "$model" -n 1 --seed 1 --vocab "$(shared vocab)" - <prompt >plain || fail generate
    check grep -qF "$prompt" plain
    on_terminal "generate -q --model $model -n 1 --seed 1 - <prompt" >shown || fail "$(cat shown)"
    check grep -qF '\x1b]0;x\x07\xc2\x9b31m\xe2\x80\xaeab'$'\tc' shown
    ! LC_ALL=C grep -q $'\e\|\a\|\xc2\x9b' shown || fail 'the terminal gets control characters'
    on_terminal "generate -q --raw --model $model -n 1 --seed 1 - <prompt" >raw || fail "$(cat raw)"
    check grep -qF "$prompt" raw
    on_terminal "generate -q --json --model $model -n 1 --seed 1 - <prompt" >json || fail "$(cat json)"
    check grep -qF '"\u001b]0;x\u0007\u009b31m\u202eab\tc"' json
    ! LC_ALL=C grep -q $'\xc2\x9b' json || fail 'the terminal gets control characters in JSON'
    # A token that the model chooses.
    local id
    id=$(printf '\e' | tokenize --vocab "$(shared vocab)" --format text --ids | cut -d ' ' -f 1)
    on_terminal "generate -q --no-echo --model $model -n 3 --logit-bias $id=1000 --temperature 0 a" >token || fail "$(cat token)"
    check grep -qF '\x1b\x1b\x1b' token
}

# ---- pages --------------------------------------------------------------------------------------

# Words for a variant of Chinese, each of which fits the text up to its last letter.
case_variant_words_that_nearly_fit() {
    local n a
    {
        echo '<mediawiki xml:lang="zh"><page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><text>'
        for n in {1..62}; do printf -v a "%${n}s" '' && echo "-{H|${a// /a}b=>zh-tw:c;}-"; done
        head -c 1000000 /dev/zero | tr '\0' a
        echo '</text></revision></page></mediawiki>'
    } >page.xml
    succeeds wikiprep --variant zh-tw page.xml
    check test "$(grep -o 'a*' stdout | head -1 | wc -c)" = 1000001
}

# Each tensor of a pickle names an entry of its archive.
case_many_tensors_of_torch() {
    mkdir model && cp "$(shared model)"/*.json model
    python3 - <<'END' || skip 'no python3'
import struct, zipfile
count = 20000
text = lambda s: b"X" + struct.pack("<I", len(s)) + s.encode()
storage = lambda i: b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(str(i)) + text("cpu") + b"K\0tQ"
tensor = lambda i: text("t%d" % i) + b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage(i) + b"K\0K\0\x85K\1\x85\x89ccollections\nOrderedDict\n)RtR"
with zipfile.ZipFile("model/pytorch_model.bin", "w") as z:
    z.writestr("a/data.pkl", b"\x80\2}(" + b"".join(tensor(i) for i in range(count)) + b"u.")
    for i in reversed(range(count)):
        z.writestr("a/data/%d" % i, b"")
END
    refuses "no tensor 'wte.weight'" generate --model model -n 2 a
}

page() { printf '<mediawiki><page><title>A</title><ns>0</ns><id>1</id><revision><text>' && cat && echo '</text></revision></page></mediawiki>'; }

# Each closing tag of a page is looked for once.
case_many_tags() {
    { yes 'a&lt;pre>b&lt;/pre>' || :; } | head -50000 | page >lines.xml
    { { yes '&lt;poem>' || :; } | head -50000 | tr -d '\n' && echo '&lt;/poem>'; } | page >poem.xml
    { { yes '&lt;pre>' || :; } | head -50000 | tr -d '\n' && printf '\n\n&lt;pre>&lt;/pre>\n'; } | page >again.xml
    for page in lines poem again; do succeeds wikiprep -q $page.xml && succeeds wikiprep -q --templates $page.xml $page.xml; done
}

# The end of a long line, or that there is no quotation mark, is found once.
case_many_quotes() {
    { yes "'''a''b" || :; } | head -400000 | tr -d '\n' | page >page.xml
    succeeds wikiprep --wikiextractor page.xml
}

# The manifest beside them is read once.
case_many_shards() {
    mkdir many
    seq -f 'many/%g.tfrecord' 3000 | xargs touch
    {
        printf 'textmill=shards 1\nrecords=0\n'
        seq -f 'shard=%g.tfrecord records=0 bytes=0 crc32c=00000000' 3000
    } >many/manifest
    succeeds bash -c 'exec tfwrite verify many/*.tfrecord'
    refuses 'has no sequence of 9 tokens' train --data 'many/*.tfrecord' --layers 1 --heads 2 --width 16 --sequence-length 8 \
        --vocabulary 257 --dry-run
}
