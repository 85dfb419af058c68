#!/usr/bin/env bash
# lab.sh SOURCE_DIR BUILD_DIR PART: a part of the tests of the browser lab: built (builds it into BUILD_DIR/lab), golden, browser, hostile, clicks (LAB_MINUTES).
# Status 77, with a sentence, where something is missing. Pictures of the pages are left in BUILD_DIR/lab-pictures.
set -euo pipefail
source=$1 build=$(cd "$2" && pwd) part=$3
lab=$build/lab pictures=$build/lab-pictures
skip() { echo "skipped: $1"; exit 77; }
command -v em++ >/dev/null && command -v node >/dev/null && command -v npm >/dev/null || skip "emscripten, node or npm is missing (packages.txt, sections web and npm)"
if [ "$part" = built ] || [ ! -f "$lab/index.html" ]; then
  "$source/tools/build_lab" "$lab" || exit $?
  grep -q 'registry\|"resolved"' "$source/web/package-lock.json" && { echo "package-lock.json names a registry"; exit 1; }
fi
case $part in
  built) ;;
  golden) node "$source/tests/web/golden.mjs" "$build/web/lab_repeat" "$source/build/wasm/lab" ;;
  clicks) node "$source/tests/web/clicks.mjs" "$lab" "$pictures" "${LAB_MINUTES:-2}" ;;
  browser) node "$source/tests/web/browser.mjs" "$lab" "$pictures" "$build/attractor" ;;
  hostile) node "$source/tests/web/hostile.mjs" "$lab" "$pictures" ;;
  *) echo "lab.sh: no part '$part'" >&2; exit 2 ;;
esac
