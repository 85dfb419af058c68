#!/usr/bin/env bash
# package_test.sh SOURCE_DIR GALLERY [BUILD_DIR]: makes the Debian packages, asks lintian, and installs them on a bare Debian 12, where the program must run, draw, and be
# explained by man, an example be built against the library, and the site be made (with the catalogue of GALLERY). Exit status 77 if only the last part could not be tried.
set -euo pipefail
source=$1 gallery=$2
[ -f "$gallery/summary.json" ] || { echo "package_test.sh: no catalogue in $gallery" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=${3:-$work/build}
# Compiled in half the time of the real ones, for one kind of vector: here they are installed and used, not measured.
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DATTRACTOR_TESTS=OFF -DATTRACTOR_FFT=kissfft \
  -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DCMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC \
  -DCMAKE_INSTALL_PREFIX=/usr -DATTRACTOR_ZSH_COMPLETIONS=share/zsh/vendor-completions >"$work/log"
cmake --build "$build" --target attractor manual >"$work/log" || { tail -n 30 "$work/log" >&2; exit 1; }
(cd "$build" && cpack -G DEB -B "$work/packages" >"$work/log") || { tail -n 30 "$work/log" >&2; exit 1; }
program=$(ls "$work"/packages/attractor_*.deb) library=$(ls "$work"/packages/libattractor-dev_*.deb)
lintian --allow-root --fail-on error "$program" "$library"
! dpkg-deb -f "$program" Depends | grep -i fftw || { echo "the package links FFTW"; exit 1; }
# A build with FFTW makes no package.
cmake -S "$source" -B "$work/fftw" -G Ninja -DATTRACTOR_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr >"$work/log"
! (cd "$work/fftw" && cpack -G DEB >"$work/log" 2>&1) && grep -q GPL "$work/log" || { echo "a package with FFTW was made"; exit 1; }

# minimal images leave manual pages out: here they are wanted.
cat >"$work/use.sh" <<'USE'
set -euo pipefail
rm -f /etc/dpkg/dpkg.cfg.d/*docker* /etc/dpkg/dpkg.cfg.d/excludes
apt-get install -yq ./attractor_*.deb >/dev/null
cd /tmp
attractor --version
attractor flow --tokens 64 --dim 3 --beta 40 --seed 7 --time inf --figures svg,pdf --out collapse | grep -F "1.5821e+30"
test -s collapse/figures/tokens.svg -a -s collapse/figures/energy.pdf    # rsvg-convert came with it
attractor reproduce every-engine --quick | grep -F "agrees:"
attractor cluster /usr/share/doc/attractor/examples/data/points.npy --bandwidth 0.5 | head -n 1 | grep -F "3 clusters"
man -P cat attractor-flow | grep -F -e --merge-radius >/dev/null
bash -c 'source /usr/share/bash-completion/completions/attractor; complete -p attractor' >/dev/null
! ldd /usr/bin/attractor | grep -i fftw
cd /work
apt-get install -yq --no-install-recommends ./libattractor-dev_*.deb cmake ninja-build g++ >/dev/null
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(mine CXX)' 'set(CMAKE_CXX_STANDARD 20)' 'find_package(attractor 0.1 REQUIRED)' \
  'add_executable(first_flow first_flow.cpp)' 'target_link_libraries(first_flow PRIVATE attractor::attractor)' >CMakeLists.txt
cmake -S . -B build -G Ninja >/dev/null
cmake --build build >/dev/null
build/first_flow
echo "the packages work on a bare Debian $(cat /etc/debian_version)"
project/tools/site --program /usr/bin/attractor --gallery gallery | tail -n 3
test -s project/build/site/html/reference/attractor-flow.html -a -s project/build/site/html/catalogue/index.html
USE
mkdir "$work/project"
cp -r "$gallery" "$work/gallery"
git -C "$source" archive HEAD | tar -x -C "$work/project"
"$here/bare_debian.sh" "man-db" "$program" "$library" "$work/use.sh" "$source/examples/first_flow.cpp" "$work/project" "$work/gallery" -- bash use.sh
