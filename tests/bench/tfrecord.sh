#!/bin/bash
# tfrecord.sh: records of 1,025 ids, encoded, framed and summed, and read back with all sums checked; one
# thread, processor time, medians of seven; PyPI's tfrecord (which checks no sums) on the same records.
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
libs=$(pkg-config --libs yaml-0.1 jansson)
# shellcheck disable=SC2086  # words are wanted
"${CC:-gcc}" -std=gnu11 -O2 -I"$ROOT" "$ROOT/tests/bench/tfrecord.c" "$ROOT/build/release/libtextmill.a" $libs -lpthread -lm -o bench || exit 1
./bench >ours && ./bench records || exit 1
"$TEXTMILL_PYTHON" "$ROOT/tests/bench/tfrecord_peer.py" records >theirs 2>/dev/null
for side in writing:1 reading:2; do
    a=$(cut -d' ' -f"${side#*:}" ours | median) b=$(cut -d' ' -f"${side#*:}" theirs | median)
    echo "$a ${b:-0}" | awk -v s="${side%:*}" '{ printf "TFRecord %s: textmill %.0f MB/s", s, $1
        if ($2 > 0) printf ", tfrecord %.1f MB/s, ratio %.0fx", $2, $1 / $2; else printf " (PyPI tfrecord is not installed)"; print "" }'
done
