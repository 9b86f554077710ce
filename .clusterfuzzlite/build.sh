#!/bin/bash
# build.sh: builds the fuzz targets for OSS-Fuzz and ClusterFuzzLite, which set CC, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE and OUT. Their
# runners lack the libraries, so these go beside the targets.
set -eu
targets=$(basename -s .c tests/fuzz/*.c | grep -vx 'replay\|mutate')
make -s -j"$(nproc)" O=build/oss MODE=fuzz MODE_fuzz="$CFLAGS" FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    LDFLAGS="$CXXFLAGS -Wl,-rpath,\\\$\$ORIGIN/lib" $(printf 'build/oss/fuzz/bin/fuzz-%s ' $targets)
mkdir -p "$OUT/lib"
for target in $targets; do
    cp "build/oss/fuzz/bin/fuzz-$target" "$OUT/"
    ldd "$OUT/fuzz-$target" | awk '$2 == "=>" && $3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread)\.so/ { print $3 }' | xargs cp -n -t "$OUT/lib"
    (cd tests/fuzz/corpus && zip -q -r -j "$OUT/fuzz-${target}_seed_corpus.zip" "$target")
done
