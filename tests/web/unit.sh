#!/usr/bin/env bash
# unit.sh SOURCE_DIR: the core's unit tests in WebAssembly, under node, without those that ask a shell or take minutes; at least 1150 of them. Status 77 where node or emscripten is missing.
set -euo pipefail
cd "$1"
command -v em++ >/dev/null && command -v node >/dev/null || { echo "skipped: emscripten or node is missing (packages.txt, sections web and npm)"; exit 77; }
[ -d /usr/src/googletest/googletest ] || { echo "skipped: googletest's source is missing (packages.txt, section web-test)"; exit 77; }
cmake --preset wasm >/dev/null
cmake --build --preset wasm --target wasm_unit_tests
report=$(mktemp)
trap 'rm -f "$report"' EXIT
node build/wasm/tests/web/wasm_unit_tests.js --gtest_brief=1 --gtest_filter="-${WASM_UNIT_SKIP:-PlantedClusters.*:TurningBand.*:FlowCommand.*}" | tee "$report"
passed=$(sed -n 's/.*PASSED  \] \([0-9]*\) tests.*/\1/p' "$report")
[ "${passed:-0}" -ge 1150 ] || { echo "only ${passed:-0} tests ran; at least 1150 are wanted"; exit 1; }
