#!/bin/bash
# tfrecord.sh: records of 1,025 ids, encoded, framed and summed, and read back with all sums checked; one thread,
# processor time, medians; on the same records TensorFlow (Python protobufs to write, tf.data to read, from the
# Python that TEXTMILL_TF_PYTHON names, else TEXTMILL_PYTHON) and PyPI's tfrecord, which checks no sums.
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
. "$ROOT/tests/bench/lib"
build tfrecord || exit 1
./tfrecord records || exit 1
compare() { # peer, Python, name
    ./tfrecord >ours || exit 1
    "$2" "$ROOT/tests/bench/tfrecord_peer.py" "$1" records >theirs 2>/dev/null
    for side in writing:1 reading:2; do
        echo "$(cut -d' ' -f"${side#*:}" ours | median) $(cut -d' ' -f"${side#*:}" theirs | median)" |
            { read -r ours theirs && record "TFRecord ${side%:*} beside $3" MB/s "$ours" "$3" "$theirs"; }
    done
}
compare tensorflow "${TEXTMILL_TF_PYTHON:-$TEXTMILL_PYTHON}" TensorFlow
compare tfrecord "$TEXTMILL_PYTHON" 'PyPI tfrecord'
