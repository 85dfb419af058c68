#!/usr/bin/env bash
# unit.sh SOURCE_DIR built: builds the core's unit tests in WebAssembly, all but those that ask a shell or take minutes.
# unit.sh SOURCE_DIR PART PARTS: runs one of so many parts of them under node; at least 1150 in all. Status 77 where node or emscripten is missing.
set -euo pipefail
cd "$1"
command -v em++ >/dev/null && command -v node >/dev/null || { echo "skipped: emscripten or node is missing (packages.txt, sections web and npm)"; exit 77; }
[ -d /usr/src/googletest/googletest ] || { echo "skipped: googletest's source is missing (packages.txt, section web-test)"; exit 77; }
if [ "$2" = built ]; then
  cmake --preset wasm >/dev/null
  cmake --build --preset wasm --target wasm_unit_tests
  exit
fi
report=$(mktemp)
trap 'rm -f "$report"' EXIT
export GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$(($2 - 1))
skipped=${WASM_UNIT_SKIP:-PlantedClusters.*:TurningBand.*:FlowCommand.*}
node build/wasm/tests/web/wasm_unit_tests.js --gtest_brief=1 --gtest_filter="-$skipped" | tee "$report"
passed=$(sed -n 's/.*PASSED  \] \([0-9]*\) tests.*/\1/p' "$report")
least=$((1150 / $3))
[ "${passed:-0}" -ge $least ] || { echo "only ${passed:-0} tests ran; at least $least are wanted"; exit 1; }
