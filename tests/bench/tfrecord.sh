#!/bin/bash
# tfrecord.sh: measures records of 1,025 ids on one thread, processor time, medians: encoding, framing and checksums, and reading
# back with all checksums verified. Peers, on the same records: TensorFlow (Python protobufs write, tf.data reads; from the Python that
# TEXTMILL_TF_PYTHON or else TEXTMILL_PYTHON names), and PyPI's tfrecord, which verifies no checksums.
. "$ROOT/tests/bench/lib"
build tfrecord || exit 1
./tfrecord records || exit 1
compare() { # PEER PYTHON NAME
    ./tfrecord >ours || exit 1
    "$2" "$ROOT/tests/bench/tfrecord_peer.py" "$1" records >theirs 2>/dev/null
    for side in writing:1 reading:2; do
        echo "$(cut -d' ' -f"${side#*:}" ours | median) $(cut -d' ' -f"${side#*:}" theirs | median)" |
            { read -r ours theirs && record "TFRecord ${side%:*} beside $3" MB/s "$ours" "$3" "$theirs"; }
    done
}
compare tensorflow "${TEXTMILL_TF_PYTHON:-$TEXTMILL_PYTHON}" TensorFlow
compare tfrecord "$TEXTMILL_PYTHON" 'PyPI tfrecord'
