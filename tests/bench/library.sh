#!/bin/bash
# library.sh: measures libtextmill-tokenizer from C and from Python with GPT-2's vocabulary, wall clock time, on one thread and on all.
# Encodes lines of English in one call, encodes them with one call per line, and decodes the ids of all lines; the best of five
# rounds. tiktoken and Hugging Face's tokenizers, called from Python, are the peers of both languages, in the same run.
[ -d "$DATA/tokenizers" ] || { echo "the tokenizer's library: no $DATA"; exit 0; }
. "$ROOT/tests/bench/lib"
build library || exit 1
cat "$DATA"/wikitext/wikitext-2.train.tokens >english
"$TEXTMILL_PYTHON" -m pip install -q --no-deps --no-build-isolation --target package "$ROOT/python" 2>/dev/null
field() { sed -n "s/$2.* *\<$3=\([0-9.]*\).*/\1/p" "$1"; } # FILE LINE NAME
rows() { # WHAT OF-C LINE-OF-PYTHON THREADS
    local peer
    for peer in tiktoken tokenizers; do
        record "$1 from C, english, threads: $4" MB/s "$(field c '' "$2")" $peer "$(field python "$3" $peer)"
        [ ! -s python ] || [ -z "$(field python "$3" textmill)" ] ||
            record "$1 from Python, english, threads: $4" MB/s "$(field python "$3" textmill)" $peer "$(field python "$3" $peer)"
    done
    [ -z "$(field python "$3" textmill)" ] ||
        record "$1 from Python, english, threads: $4" MB/s "$(field python "$3" textmill)" 'the C library' "$(field c '' "$2")"
}
all=$(nproc) counts=1
[ "$all" = 1 ] || counts="1 $all"
for threads in $counts; do
    ./library "$DATA/tokenizers/gpt2-tokenizer.json" english "$threads" >c || exit 1
    "$TEXTMILL_PYTHON" "$ROOT/tests/bench/library.py" "$DATA/tokenizers" english package "$threads" >python 2>errors ||
        grep -q ModuleNotFoundError errors || { cat errors && exit 1; }
    rows 'GPT-2 encoding' batch batch "$threads"
    rows 'GPT-2 decoding' decode decode "$threads"
    # tiktoken and tokenizers use one thread for a single text
    if [ "$threads" = 1 ]; then rows 'GPT-2 encoding line by line' lines lines 1; else
        record "GPT-2 encoding line by line from C, english, threads: $threads" MB/s "$(field c '' lines)"
    fi
done
