# shellcheck shell=bash
# Hostile file names and neighbours of the scripts.

# Each name is a command, an option, a pattern or another character that means something to some program.
hostile_names() {
    printf '%s\0' 'a b' "it's" '$(touch ran)' '`touch ran`' ';touch ran;' '& touch ran #' $'new\nline' $'touch\tran' '-rf' --help '*' '"' \
        '\' '{}' '{out}' '%20' 'a+b' 'a_b' 日本語.xml 한국어.xml é è $'\xff' $'\x1b[31m' '.hidden'
}
corpus() { "$ROOT/scripts/corpus" "$@" 2>&1; }

# same_files LIST OUT: OUT has one part for each name of LIST, with the bytes of that file.
same_files() {
    local name
    [ "$(find "$2" -mindepth 1 -maxdepth 1 -type f | wc -l)" = "$(tr -cd '\0' <"$1" | wc -c)" ] || fail "$2: not one part for each name"
    while IFS= read -r -d '' name; do cat "./$name"; done <"$1" | sort >want
    find "$2" -maxdepth 1 -type f -exec cat {} + | sort | cmp - want || fail "$2: other bytes"
    [ ! -e ran ] || fail 'a file name was run'
}
case_corpus_runs_no_file_name() {
    hostile_names >names
    while IFS= read -r -d '' name; do printf '%s|' "$name" | tr '\n' N >"./$name" && echo >>"./$name"; done <names
    local locale
    for locale in C C.UTF-8; do
        LC_ALL=$locale corpus -0 -j 4 -o $locale names 'cat {} >{out}' >log || fail "$(cat log)"
        same_files names $locale
    done
    check diff -r C C.UTF-8
    LC_ALL=C grep -azv '[[:cntrl:]]' names | tr '\0' '\n' >lines && tr '\n' '\0' <lines >names
    corpus -j 4 -o lines-of lines 'cat <{} | cat >{out}' >log || fail "$(cat log)"
    same_files names lines-of
    if command -v parallel >/dev/null; then
        echo '2/:' >hosts
        corpus --hosts hosts -0 -o hosted names 'cat {} >{out}' >log || fail "$(cat log)"
        same_files names hosted
    fi
    # Quotes around {} would end those that the script writes.
    for command in "cat '{}' >{out}" 'cat {} >"{out}"' "bash -c 'cat {}' >{out}"; do
        corpus -0 -o quoted names "$command" >log && fail "quotes are accepted: $command"
        check grep -q 'in quotes' log
    done
}
# Called by a relative name, by who exports CDPATH, with which `cd` prints the folder.
case_corpus_cdpath() {
    mkdir scripts && cp "$ROOT/scripts/corpus" scripts && echo a >parts
    CDPATH=. scripts/corpus -o made parts 'echo {} >{out}' 2>log || fail "$(cat log)"
}
case_corpus_names_differ() {
    local long n
    printf -v long '語%.0s' {1..80}
    printf '%s\n' x/y x_y 'x y' x.y x%2Fy x+y $'x\ty' 'x,y' 日 本 é è /é ё "$long" "${long}x" "${long}y" "${long%語}" .x %2Ex x '~x' >lines
    n=$(wc -l <lines)
    corpus -j 4 -o made lines 'printf "%%s\n" {} >{out}' >log || fail "$(cat log)"
    [ "$(find made -mindepth 1 -maxdepth 1 -type f | wc -l)" = "$n" ] || fail "not $n parts: $(ls -A made)"
    corpus -j 4 -o made lines 'false {} {out}' | grep -q "$n were done" || fail 'a part is not known again'
}
case_corpus_empty_part() {
    printf 'a\n\nb\n' >lines
    refuses "part 2 of 'lines' is empty" "$ROOT/scripts/corpus" -o made lines 'echo {} >{out}'
    printf 'a\n\t\nb\n' >lines
    refuses "part 2 of 'lines' is empty" "$ROOT/scripts/corpus" -o made lines 'echo {} >{out}'
    printf 'a\0b\0\0' >zeros
    refuses "part 3 of 'zeros' is empty" "$ROOT/scripts/corpus" -0 -o made zeros 'echo {} >{out}'
    check test -z "$(ls made)"
}

# until COMMAND...: waits until a command succeeds.
until_() {
    local n
    for ((n = 0; n < 600; n++)); do
        "$@" 2>/dev/null && return
        sleep 0.05
    done
    fail "never: $*"
}
waiting='echo {} >>runs; while [ ! -e go ] && [ -e runs ]; do sleep 0.05; done; echo {} >{out}'
once_each() { [ "$(sort runs)" = "$(sort parts)" ] || fail "parts were made twice: $(sort runs | uniq -d | head -3)"; }
case_corpus_two_calls_at_once() {
    printf '%s\n' a b c d >parts && : >runs
    corpus -j 2 -o made parts "$waiting" >first &
    until_ test -s runs
    corpus -j 2 -o made parts "$waiting" >second &
    until_ grep -q "another call makes parts of 'made'" second
    touch go
    wait
    once_each
    grep -q '4 parts: 0 were done, 4 made' first || fail "$(cat first)"
    grep -q '4 parts: 4 were done, 0 made' second || fail "$(cat second)"
}
# A call whose main process was killed goes on; the next call waits, and makes what is left.
case_corpus_killed_main() {
    printf '%s\n' a b >parts && : >runs
    "$ROOT/scripts/corpus" -o made parts "$waiting" 2>first &
    until_ test -s runs
    kill -9 $!
    wait $! 2>/dev/null
    corpus -o made parts "$waiting" >second &
    until_ grep -q 'another call' second
    touch go
    wait
    once_each
}
# A call that was killed with all its processes blocks nobody, and what it made by halves is removed.
case_corpus_killed_group() {
    printf '%s\n' a b >parts && : >runs
    setsid "$ROOT/scripts/corpus" -o made parts "touch {out}; $waiting" 2>first &
    until_ test -s runs
    kill -9 -- -$!
    wait $! 2>/dev/null
    until_ flock -n made/.logs/.lock true # the group dies when the system comes to it
    touch go && : >runs
    SECONDS_MOST=10 succeeds "$ROOT/scripts/corpus" -o made parts "$waiting"
    ! grep -q 'another call' stderr || fail 'a dead call blocks'
    once_each
    check test "$(ls -A made | tr '\n' ' ')" = '.logs a b '
}

# A stand-in for Slurm, with its limit of an array's indexes and its patterns in names of files.
stand_in_for_slurm() { # MAXARRAYSIZE
    mkdir slurm
    cat >slurm/sbatch <<'SBATCH'
#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in
    --array=1-*) last=${1#--array=1-} ;;
    --output=*) output=${1#--output=} ;;
    --wait) ;;
    *) break ;;
    esac
    shift
done
[ "$last" -lt "$(cat "${0%/*}/size")" ] || { echo 'sbatch: error: Batch job submission failed: Invalid job array specification' >&2 && exit 1; }
echo "$last" >"${0%/*}/tasks"
for ((k = 1; k <= last; k++)); do SLURM_ARRAY_TASK_ID=$k "$@" >"${output//%a/$k}" 2>&1 </dev/null || status=1; done
exit ${status:-0}
SBATCH
    printf '#!/bin/sh\necho "MaxArraySize            = $(cat "${0%%/*}/size")"\n' >slurm/scontrol
    echo "$1" >slurm/size
    chmod +x slurm/*
    export PATH="$PWD/slurm:$PATH"
}
case_corpus_more_parts_than_an_array_has() {
    stand_in_for_slurm 5
    printf '%s\n' {1..11} '$(touch ran)' >parts
    corpus --slurm -o made parts 'if [ {} = 7 ]; then false; else echo {} >{out}; fi' >log && fail 'a part that fails is not told'
    grep -q "part '7' failed" log && grep -q '11 made in .*, 1 failed' log || fail "$(cat log)"
    corpus --slurm -o made parts 'echo {} >{out}' >log || fail "$(cat log)"
    check test "$(cat slurm/tasks)" = 1
    cat made/* | sort | cmp - <(sort parts) || fail 'other parts'
}
# 10,000 parts with the limit of a Slurm that does not say it. The work of a part begins with a lock on its log, and the stand-in for
# that counts: so the choice of parts is the script's own, and nothing is made.
case_corpus_ten_thousand_parts() {
    stand_in_for_slurm 1001
    rm slurm/scontrol
    export COUNTED=$PWD/counted
    flock() { [ "$1" != 8 ] || { echo "${words[*]}" >>"$COUNTED" && false; }; }
    export -f flock
    printf '%s\n' {1..10000} >parts
    corpus --slurm -o made parts 'false {} {out}' >log && fail 'something was made'
    grep -q '10000 parts: 0 were done, 0 made in .*, 10000 failed' log || fail "$(tail -1 log)"
    check test "$(cat slurm/tasks)" = 1000
    sort counted | cmp - <(sort parts) || fail "not once each: $(sort counted | uniq -d | head -3)"
}

# Who asks a script for help, or gives one an argument that it does not have, gets its first lines, and nothing else happens.
case_scripts_asked_for_help() {
    local name
    mkdir empty && cd empty || fail "no folder"
    for name in benchmark corpus language model-download wikipedia-download; do
        WIKIPEDIA_DUMPS=file:///none "$ROOT/scripts/$name" --help >../said || fail "$name: status $?"
        check grep -q "^$name " ../said
    done
    for name in demo test release wikipedia-download; do
        set -- --help
        [ $name != wikipedia-download ] || set --
        timeout 5 "$ROOT/scripts/$name" "$@" >/dev/null 2>../said
        [ $? = 2 ] || fail "$name $*: it runs"
        check grep -q "^$name[: ]" ../said
    done
    check test -z "$(ls -A)"
}
# All is compiled, but a program is not linked, as after a missing library.
case_demo_links() {
    mkdir scripts only && cp "$ROOT/scripts/demo" scripts
    printf '#!/bin/sh\n' | tee scripts/install-deps >only/make
    echo 'case $* in *demo) echo runs ;; *) echo cc -o bin/train train.o ;; esac' >>only/make
    chmod +x scripts/install-deps only/make
    PATH=$PWD/only:$PATH scripts/demo >said || fail "status $?"
    check grep -qx runs said
}
# awk_without_comma FOLDER: puts an awk there that refuses to work where numbers may have a decimal comma, as mawk writes it.
awk_without_comma() {
    printf '#!/bin/sh\ncase ${LC_ALL:-} in C*) exec %s "$@" ;; esac\necho "a decimal comma" >&2\nexit 1\n' "$(command -v awk)" >"$1/awk"
    chmod +x "$1/awk"
}
# stand_in_for_programs: puts the real wikiprep, and stand-ins that make what scripts/language looks for, into bin/.
stand_in_for_programs() {
    mkdir bin
    awk_without_comma bin
    cat >bin/train <<'STAND_IN'
#!/bin/sh
for last; do :; done
case ${0##*/} in
tokenize) [ "$last" != vocab.part ] || { cat >/dev/null && mkdir "$last" && : >"$last/tokenizer.json"; } ;;
tfwrite) mkdir "$last" && printf 'tokens=1000\nvocabulary=300\n' >"$last/manifest" ;;
train) mkdir -p -- "$last" && : >"./$last/model.safetensors" && echo 'speed: 9 tok/s' >&2 ;;
esac
STAND_IN
    chmod +x bin/train
    local name
    for name in tokenize tfwrite evaluate generate; do ln -s train bin/$name; done
    ln -s "$BIN/wikiprep" bin/wikiprep
}
case_language() {
    local name
    stand_in_for_programs
    mkdir dumps
    for name in '$(touch ran).xml.bz2' "it's.xml.bz2" 'text.txt' -q 'a b'; do
        cp "$SAMPLE" "dumps/$name"
        (cd dumps && LC_ALL=de_DE.UTF-8 TEXTMILL_BIN=$PWD/../bin "$ROOT/scripts/language" en --dump "./$name" -o "$PWD/../out of $name" >../log 2>&1) || fail "$name: $(tail -1 log)"
        check cmp "$SAMPLE" "dumps/$name"
        check grep -q 'sha256 of model' "out of $name/README.md"
        check grep -q 'tokens of a vocabulary of 300,' "out of $name/README.md"
        eval "set -- $(sed -n 's/.*; try: //p' log)" # the last line is a command that can be copied
        check test "$#" = 3 -a -e "$3/model.safetensors"
    done
    [ -z "$(find . -name ran)" ] || fail 'a file name was run'
}
# stood_in ARGUMENT...: runs the script with the stand-ins, as in a terminal, and sets STATUS.
stood_in() {
    TEXTMILL_BIN=$PWD/bin env --default-signal=INT "$ROOT/scripts/language" "$@" >log 2>&1
    STATUS=$?
}
# train ends with 0 after a Ctrl-C. The speed of a trial that was stopped is not that of the machine.
case_language_is_stopped() {
    stand_in_for_programs
    sed -i '3i [ "$last" != trial ] || kill -INT $PPID' bin/train
    stood_in en --dump "$SAMPLE" -o out
    [ $STATUS = 130 ] || fail "status $STATUS: $(tail -1 log)"
    check grep -q 'stopped; the same call goes on' log
    check test ! -e out/plan -a ! -e out/plan.part
}
# A model that the machine has no memory for is not planned. The words of Chinese are not cut as those of Japanese, although both have
# the same full stop. Three phrases may be more than a model reads: then a text begins with a few letters.
case_language_little_memory() {
    local n
    stand_in_for_programs
    sed -i '3i case "$*" in *"--width 320"*) echo "train: error: training takes 907 MiB" >\&2; exit 1 ;; esac' bin/train
    echo '<!-- textmill documents 1 sentences=0 -->' >text
    for n in {1..20}; do
        printf '<doc id="%d" title="%d">\n' "$n" "$n" && yes '這是一句、也是一句。' | head -5400 && echo '</doc>'
    done >>text
    echo '<!-- end documents=20 -->' >>text
    rm bin/wikiprep && printf '#!/bin/sh\ncat "%s/text"\n' "$PWD" >bin/wikiprep && chmod +x bin/wikiprep
    stood_in zh --dump text -o out
    [ $STATUS = 0 ] || fail "$(tail -1 log)"
    check grep -q '^8 x 320: too large for this machine: .* takes 907 MiB$' log
    check grep -q '^4 256 ' out/plan
    check test ! -e out/trial.log -a ! -e out/trial
    grep -q 'LC_ALL=C sed' log && fail 'it is taken for Japanese'
    for n in {1..6}; do printf 'ក%.0s' {1..50} && printf ' '; done >out/held-out.txt
    stood_in zh --dump text -o out
    check grep -q -- '-- កកកកកក | tee' log
}
# A download that had hardly begun has gone on since the last call.
case_language_dump_grows() {
    stand_in_for_programs
    bzcat "$SAMPLE" | head -c 50000 >dump
    stood_in en --dump dump -o out
    [ $STATUS = 1 ] || fail "status $STATUS"
    check grep -q 'too little to learn from' log
    echo short >out/text.txt # as an earlier version left it
    stood_in en --dump dump -o out
    [ $STATUS = 1 ] || fail "status $STATUS"
    check grep -q 'too little to learn from' log
    bzcat "$SAMPLE" >dump
    stood_in en --dump dump -o out
    [ $STATUS = 0 ] || fail "$(tail -1 log)"
    check test "$(stat -c %s out/text.txt)" -ge 100000
}
# Other hours are another plan, before the training, and an error after it.
case_language_other_hours() {
    local hours
    stand_in_for_programs
    for hours in 2 3 4; do
        stood_in en --dump "$SAMPLE" -o out --hours $hours
        [ $STATUS = 0 ] || fail "$(tail -1 log)"
        check test "$(sed -n 2p out/plan)" = $hours
        rm -rf model && mv out/model model
        [ $hours != 3 ] || sed -i 2d out/plan # an earlier version did not write the hours
    done
    mv model out
    stood_in en --dump "$SAMPLE" -o out
    [ $STATUS = 0 ] || fail "$(tail -1 log)"
    stood_in en --dump "$SAMPLE" -o out --hours 5
    [ $STATUS = 1 ] || fail "status $STATUS"
    check grep -q "has a training of --hours 4; name another folder" log
    sed -i 2d out/plan
    stood_in en --dump "$SAMPLE" -o out --hours 5
    [ $STATUS = 0 ] || fail "$(tail -1 log)"
}
# Called by a link, or installed beside the programs, which are not in the PATH, it finds what it needs.
case_language_elsewhere() {
    local script
    mkdir -p in/share/textmill/scripts in/bin mine && touch mine/file
    cp "$ROOT/scripts/language" in/share/textmill/scripts
    ln -s "$BIN/wikiprep" in/bin
    ln -s in/share/textmill/scripts/language link
    for script in in/share/textmill/scripts/language ./link; do
        env -u TEXTMILL_BIN PATH=/usr/bin:/bin $script el --dump "$SAMPLE" -o mine >said 2>&1 && fail 'it runs'
        grep -q 'holds other files' said || fail "$(cat said)"
    done
}
# Tools such as BusyBox's are told from those of GNU before anything is made.
case_scripts_without_gnu() {
    local tool
    mkdir only
    for tool in tr mkdir rm grep sed cat; do ln -s "$(command -v $tool)" only/; done
    printf '#!/bin/sh\nexit 1\n' | tee only/wget >only/realpath && chmod +x only/wget only/realpath
    refuses 'neither curl nor GNU wget' env PATH="$PWD/only" "$ROOT/scripts/wikipedia-download" made xx
    refuses 'neither curl nor GNU wget' env PATH="$PWD/only" "$ROOT/scripts/model-download" gpt2
    refuses 'of GNU are needed' env PATH="$PWD/only:$PATH" "$ROOT/scripts/language" xx -o made
    succeeds env PATH="$PWD/only:$PATH" "$ROOT/scripts/language" --help
    rm only/realpath only/sed && printf '#!/bin/sh\ncat\n' >only/sed && chmod +x only/sed # it does not know \x2F
    refuses 'of GNU are needed' env PATH="$PWD/only:$PATH" "$ROOT/scripts/language" xx -o made
    check test ! -e made
}
# NixOS has no other path of bash that is known.
case_scripts_find_bash() { check test -z "$(head -qn 1 "$ROOT"/scripts/* | grep '^#!/bin/bash')"; }
# `cd` looks in the folders of CDPATH first: a script would work on what is beside the user's own scripts/.
case_scripts_with_cdpath() {
    mkdir -p scripts packaging recipes
    (cd "$ROOT" && CDPATH=$OLDPWD bash scripts/make-recipes Makefile "$OLDPWD/recipes") >said 2>&1 || fail "$(cat said)"
    check grep -q '^Version: ' recipes/textmill.spec
    check test -z "$(grep -l 'cd "$(dirname "$0")' "$ROOT"/scripts/*)"
}
# A clone made on Windows has the same bytes, for WSL and for Docker.
case_scripts_cloned_on_windows() {
    command -v git >/dev/null || skip 'no git'
    git init -q source && cp "$ROOT/.gitattributes" "$ROOT/scripts/test" source && git -C source add -A || fail 'no source'
    git -C source -c user.name=a -c user.email=a@b commit -qm a && git clone -q -c core.autocrlf=true source made || fail 'no clone'
    check cmp "$ROOT/scripts/test" made/test
}
# `make clean` in the folder of a package removes nothing elsewhere.
case_deb_elsewhere() {
    command -v git >/dev/null || skip 'no git'
    git init -q source && cp "$ROOT/Makefile" source && git -C source add -A && git -C source -c user.name=a -c user.email=a@b commit -qm a
    mkdir only && printf '#!/bin/sh\nmake -s clean && touch "%s/built"\n' "$PWD" >only/dpkg-buildpackage && chmod +x only/dpkg-buildpackage
    mkdir -p made/release && touch made/release/mine
    PATH=$PWD/only:$PATH make -s -C source O="$PWD/made" deb >log 2>&1 || fail "$(tail -3 log)"
    check test -e built -a -e made/release/mine -a -d made/deb
}
# Whichever of the two downloads says why it cannot.
case_downloads_tell_why() {
    local tool name
    export WIKIPEDIA_DUMPS=http://127.0.0.1:9 MODEL_HUB=http://127.0.0.1:9 no_proxy=127.0.0.1
    for tool in curl wget; do
        command -v $tool >/dev/null || continue
        rm -rf only && mkdir only
        for name in sh printf tr mkdir rm rmdir flock sed cat $tool; do ln -s "$(command -v $name)" only/; done
        PATH=$PWD/only "$ROOT/scripts/wikipedia-download" made xx 2>said && fail 'nothing is there'
        check grep -qE 'error: cannot fetch .*[Cc]onnect' said
        PATH=$PWD/only "$ROOT/scripts/model-download" gpt2 2>said && fail 'nothing is there'
        check grep -q '[Cc]onnect' said
    done
}
# Two downloads at once would append to one file. The second one is refused, and removes nothing of the first.
case_downloads_two_at_once() {
    mkdir made
    export WIKIPEDIA_DUMPS=file:///none MODEL_HUB=file:///none
    refuses "another call downloads xxwiki into 'made'" flock made/.xxwiki-lock "$ROOT/scripts/wikipedia-download" made xx
    refuses "another call downloads into 'made'" flock made/.model-lock "$ROOT/scripts/model-download" owner/name made
    check test -e made/.xxwiki-lock -a -e made/.model-lock
}
# A model whose licence nobody has accepted here: another call would not help.
case_model_download_licence() {
    mkdir bin && cat >bin/curl <<'STAND_IN'
#!/bin/sh
this=
for word; do file=$this this=$word; done
case $this in */tree/main) ;; *) printf 401 && exit 22 ;; esac
printf '[{"type":"file","oid":"%040d","path":"config.json"},{"type":"file","oid":"%040d","path":"model.safetensors"}]' 0 0 >"$file"
STAND_IN
    chmod +x bin/curl
    refuses 'licence' env PATH="$PWD/bin:$PATH" "$ROOT/scripts/model-download" owner/gated made
    check test ! -e made
}
# A program that fails gives no line of figures.
case_benchmark_fails() {
    mkdir bin
    printf '#!/bin/sh\nfor last; do :; done\nmkdir -p "$last"\necho "step 1 9 tok/s"\nexit 7\n' >bin/train
    chmod +x bin/train
    PATH=$PWD/bin:$PATH "$ROOT/scripts/benchmark" gpt2-small >figures 2>said && fail 'status 0'
    check test "$(grep -c '' figures)" = 1
    awk_without_comma bin && sed -i 's/^exit 7/echo "step 2 8 tok\/s"/' bin/train
    LC_ALL=de_DE.UTF-8 PATH=$PWD/bin:$PATH "$ROOT/scripts/benchmark" gpt2-small >figures 2>said || fail "$(cat said)"
    check grep -qx 'gpt2-small,f32,256,4,8' figures
}
case_hold_out() {
    wikiprep -q "$SAMPLE" >documents
    local name
    for name in 'a\nb' '$(touch ran)' -x /dev/stderr; do
        "$ROOT/scripts/hold-out" 10 "$name" <documents >kept 2>told || fail "$name: $(cat told)"
        case $name in /dev/*) check cmp told 'a\nb' ;; *) check grep -q . "./$name" ;; esac
    done
    [ ! -e ran ] || fail 'a file name was run'
    for n in 0 x -1 ''; do
        refuses 'hold-out' "$ROOT/scripts/hold-out" "$n" file
        refuses 'hold-out' "$ROOT/scripts/hold-out" 10 file "$n"
    done
    wikiprep -q --json "$SAMPLE" >lines.jsonl # of these it would hold out none
    refuses 'no <doc ...> begins line 1' sh -c '"$0" 10 made <lines.jsonl' "$ROOT/scripts/hold-out"
    check test ! -e made -a ! -s stdout
    # Documents that are cut keep all their lines; the end mark counts them.
    wikiprep -q "$SAMPLE" | "$ROOT/scripts/hold-out" 10 whole >long
    wikiprep -q "$SAMPLE" | "$ROOT/scripts/hold-out" 10 held 1000 >cut
    check cmp whole held
    check cmp <(grep -v '^<\|^$' long | sort -u) <(grep -v '^<\|^$' cut | sort -u)
    check test "$(grep -c '^<doc ' cut)" -gt "$(grep -c '^<doc ' long)"
    check grep -q "^<!-- end documents=$(grep -c '^<doc ' cut) -->" cut
}
case_make_dump() {
    mkdir 'a $(touch ran)' && cp "$ROOT/tests/data/encyclopedia/"*.wiki 'a $(touch ran)'
    "$ROOT/scripts/make-dump" "$ROOT/tests/data/encyclopedia" >want && "$ROOT/scripts/make-dump" 'a $(touch ran)' | cmp - want || fail 'another dump'
    mkdir one
    set -- "$ROOT/tests/data/encyclopedia/"*.wiki
    cp "$1" 'one/a page
of two lines.wiki'
    "$ROOT/scripts/make-dump" one >dump && check test "$(grep -c '<page>' dump)" = 1
    ln -s nowhere one/gone.wiki
    ! "$ROOT/scripts/make-dump" one >dump 2>/dev/null || fail 'a page is missing without an error'
    [ ! -e ran ] || fail 'a file name was run'
}
case_wikipedia_download() {
    command -v curl >/dev/null || skip 'no curl'
    local files=server/enwiki/20250101 latest=server/enwiki/latest name dir
    mkdir -p $files $latest
    for name in pages-articles-multistream-index.txt.bz2 pages-articles-multistream.xml.bz2; do
        cp "$SAMPLE" "$files/enwiki-20250101-$name"
        (cd $files && sha1sum "enwiki-20250101-$name") >>$latest/enwiki-latest-sha1sums.txt
    done
    for dir in 'a\nb' '$(touch ran)' -x $'two\nlines' ' x '; do
        WIKIPEDIA_DUMPS=file://$PWD/server "$ROOT/scripts/wikipedia-download" "$dir" >log 2>&1 || fail "$dir: $(cat log)"
        check cmp "$SAMPLE" "./$dir/enwiki-20250101-pages-articles-multistream.xml.bz2"
    done
    [ ! -e ran ] || fail 'a file name was run'
}
