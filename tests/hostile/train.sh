# shellcheck shell=bash
# Training: what a resumed run is told.

make_run() { # two updates
    train -q -t 1 --layers 1 --heads 2 --width 16 --vocabulary 50 --sequence-length 8 --micro-batch-size 2 --global-batch-size 4 \
        --data generated --steps 2 -o run
}
# resumes VALUE...: `train --resume` with these words ends well, or with one line of error.
resumes() {
    rm -rf run && cp -r "$(shared run)" run
    bounded train -q -t 1 --resume -o run "$@"
    case $STATUS in
    0) ;;
    1 | 2) [ "$(grep -c 'error: ' stderr)" = 1 ] || fail "$* : $(grep -c 'error: ' stderr) lines of error" ;;
    *) fail "$* : exit status $STATUS" ;;
    esac
    [ -e run/checkpoints/step-000002/model.safetensors ] || [ $STATUS = 0 ] || fail "$* : the checkpoint is gone"
}
# values_of PLACEHOLDER: prints values to try, one a line.
values_of() {
    case $1 in
    '') echo ;;
    N | X | P | SECONDS | STAGE | BYTES) printf '0\n1\n3\n0.5\n100\n' ;;
    'N|AxB') printf '1\n2x2\n' ;;
    'X|auto') printf 'auto\n8\n' ;;
    'cpu|cuda[:N]') printf 'cpu\ncuda:0\n' ;;
    *'|'*) tr '|' '\n' <<<"$1" ;;
    STEP:RATE) echo 0:1e-3 ;;
    KEY=VALUE) echo steps=1 ;;
    *) printf 'nothing\n.\n' ;;
    esac
}
# The options are those of the table, as --help-all prints it. None crashes a resumed run, and none loses its checkpoint.
case_every_option_of_a_resumed_run() {
    local option value tried=0
    while read -r option value; do
        case $option in --output | --config | --help* | --threads) continue ;; esac
        while IFS= read -r value; do
            # shellcheck disable=SC2086
            resumes $option ${value:+"$value"}
            tried=$((tried + 1))
        done < <(values_of "$value")
    done < <(train --help-all | sed -nE 's/^  (-.,|   ) (--[a-z0-9-]+) ?([^ ]*).*/\2 \3/p')
    [ $tried -ge 250 ] || fail "only $tried values"
}
case_fewer_steps_than_are_saved() {
    cp -r "$(shared run)" run
    refuses 'steps is 1, but step 2 is saved already: give --steps with a larger number' train -q --resume --steps 1 -o run
    succeeds train --resume -o run
    check grep -q 'all 2 updates are done: --steps with a larger number goes on' stderr
}
case_a_resumed_run_whose_learning_rate_rises() {
    cp -r "$(shared run)" run
    succeeds train --resume --steps 20 -o run
    check grep -q 'warning: after step 2 the learning rate is .*, above the .* of the run before' stderr
    rm -r run && cp -r "$(shared run)" run
    succeeds train --resume --steps 20 --learning-rate 1e-4 --minimum-learning-rate 1e-5 -o run
    check [ "$(grep -c "warning: after step" stderr)" = 0 ]
}
# A checkpoint that was computed with another arithmetic goes on with a warning, one that does not say which without.
case_a_run_that_goes_on_with_other_kernels() {
    cp -r "$(shared run)" run
    local state=run/checkpoints/step-000002/training/state
    check grep -q '^arithmetic=' $state
    sed -i 's/^arithmetic=.*/arithmetic=AMX/' $state
    succeeds train --resume -o run
    check grep -q 'warning: the checkpoint was computed with AMX arithmetic, and this run goes on with' stderr
    sed -i '/^arithmetic=/d; /^next_rate=/d' $state
    succeeds train --resume -o run
    check [ "$(grep -c warning: stderr)" = 0 ]
}
