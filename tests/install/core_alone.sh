#!/usr/bin/env bash
# core_alone.sh SOURCE_DIR: attractor_core and the examples, built and run where HDF5, GMP, MPI, FFTW, TOML, zlib and utf8proc cannot be
# included (their headers are traps that stop the compiler), and linked with none of them.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for header in hdf5.h gmp.h gmpxx.h mpi.h fftw3.h toml++/toml.h zlib.h utf8proc.h; do
  mkdir -p "$(dirname "$work/traps/$header")"
  echo "#error \"attractor_core must not include $header\"" >"$work/traps/$header"
done
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DATTRACTOR_CORE_ONLY=ON \
  -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DATTRACTOR_FFT=kissfft -DATTRACTOR_GMP=OFF -DCMAKE_CXX_FLAGS="-I$work/traps -DHWY_COMPILE_ONLY_STATIC" \
  -DCMAKE_C_FLAGS="-I$work/traps" >/dev/null
cmake --build "$work/build"
for example in "$source"/examples/*.cpp; do
  program=$work/build/examples/$(basename "$example" .cpp)
  "$program" >/dev/null || { echo "$program failed"; exit 1; }
  ! ldd "$program" | grep -E 'hdf5|gmp|mpi|fftw|libz|utf8proc' || { echo "$program links one of them"; exit 1; }
done
echo "the core stands alone"
