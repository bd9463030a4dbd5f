#!/bin/bash
# Builds the fuzz targets as OSS-Fuzz and ClusterFuzzLite want them: with their compiler and flags
# ($CXX, $CXXFLAGS), linked with their engine ($LIB_FUZZING_ENGINE), into $OUT, each with its corpus.
set -eu

# All but the canary, which must fail.
targets=(
  buffers_fuzz
  driver_fuzz
  profile_fuzz
  scenario_fuzz
  shared_memory_message_fuzz
)

source=$SRC/tessera
build=$WORK/tessera

# The flags are theirs alone, so the build type is none.
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DTESSERA_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DTESSERA_WERROR=OFF -DTESSERA_BUILD_CUDA=OFF \
  -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_BENCH=OFF -DTESSERA_BUILD_TOOLS=OFF
cmake --build "$build" --target "${targets[@]}"

for target in "${targets[@]}"; do
  cp "$build/bin/$target" "$OUT/"
  [[ ! -f $source/fuzz/$target.options ]] || cp "$source/fuzz/$target.options" "$OUT/"
  (cd "$source/fuzz/corpus/$target" &&
    cmake -E tar cf "$OUT/${target}_seed_corpus.zip" --format=zip .)
done
