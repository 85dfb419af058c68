#!/usr/bin/env bash
# hostile_asan.sh PYTHON LIBRARIES: hostile.py with these libraries of AddressSanitizer loaded first: no crash, and no leak with a frame of ours. The interpreter and NumPy
# free little of their own at the end; that is not ours to mend.
set -euo pipefail
report=$(mktemp)
trap 'rm -f "$report"' EXIT
LD_PRELOAD=$2 ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=0 LSAN_OPTIONS=exitcode=0 "$1" python/tests/hostile.py 2>"$report" || {
  cat "$report" >&2
  exit 1
}
if grep -q 'attractor::\|_core\.cpython' "$report"; then
  cat "$report" >&2
  exit 1
fi
