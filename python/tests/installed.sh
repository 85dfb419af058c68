#!/usr/bin/env bash
# Installs the package from the clone by pip, as the README says, in a new environment that sees Debian's packages, and makes a wheel;
# nothing is fetched. installed.sh BUILD PYTHON
set -euo pipefail
build=$1 python=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv --system-site-packages "$place/venv"
cd "$root"
ATTRACTOR_BUILD=$build PIP_NO_INDEX=1 "$place/venv/bin/pip" install --quiet --disable-pip-version-check .
cd "$place"
env -u PYTHONPATH "$place/venv/bin/python" -c '
import attractor
assert "site-packages" in attractor.__file__, attractor.__file__
r = attractor.flow(tokens=16, dim=3, beta=9, time=float("inf"))
assert r.clusters == 1 and len(r.linkage) == 15
print(r)'
cd "$root"
ATTRACTOR_BUILD=$build "$python" -m build --wheel --no-isolation --outdir "$place/wheel" . >/dev/null
ls "$place"/wheel/attractor-*.whl
