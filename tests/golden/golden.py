#!/usr/bin/env python3
"""Runs of every command whose numbers must not change while the house is rebuilt: exit status, JSON and all of result.h5
against recorded hashes. A change that is meant is recorded again with its reason in the CHANGELOG. Not one of the tests of
./check: FFTW takes other codelets on other processors, so hashes hold on the kind of machine that recorded them (AVX2, no
AVX-512); record on yours before you change anything.

usage: golden.py PROGRAM [--record]
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
HASHES = HERE / "hashes.json"
DATA = HERE.parent / "data"
# What differs from run to run, or names the build.
VOLATILE = {"seconds", "wall_seconds", "computing", "version", "threads"}


def runs():
    """name: arguments. DATA stands for tests/data, TOKENS for a file of 30 x 3 unit rows."""
    return {line.split(":", 1)[0]: line.split(":", 1)[1].split() for line in (HERE / "runs.txt").read_text().splitlines()
            if line and not line.startswith("#")}


def without_volatile(value):
    if isinstance(value, dict):
        return {k: without_volatile(v) for k, v in value.items() if k not in VOLATILE}
    return [without_volatile(v) for v in value] if isinstance(value, list) else value


def contents(path):
    """Every dataset and attribute, in the order of their names."""
    with h5py.File(path) as file:
        found = []

        def visit(name, item):
            for key in sorted(item.attrs):
                if key not in VOLATILE:
                    found.append((f"{name}@{key}", str(item.attrs[key])))
            if isinstance(item, h5py.Dataset) and name.split("/")[-1] not in VOLATILE:
                value = np.asarray(item[()])
                found.append((name, value.dtype.str, value.shape, value.tobytes().hex()))

        visit("", file)
        file.visititems(visit)
        return repr(sorted(found, key=lambda entry: entry[0]))


def hash_of(program, arguments, directory):
    directory.mkdir()
    words = [word.replace("DATA", str(DATA)).replace("TOKENS", str(directory.parent / "tokens.npy")) for word in arguments]
    out = directory / "out"
    done = subprocess.run([program, *words, "--json", "--quiet", "--out", out], capture_output=True, text=True, timeout=300)
    text = done.stdout.replace(str(DATA), "DATA").replace(str(directory.parent), "TMP").replace(str(directory), "DIR")
    answer = without_volatile(json.loads(text)) if done.stdout.strip() else None
    digest = hashlib.sha256(f"{done.returncode}{json.dumps(answer, sort_keys=True)}".encode())
    if (out / "result.h5").exists():
        text = contents(out / "result.h5").replace(str(DATA), "DATA").replace(str(directory.parent), "TMP")
        digest.update(text.encode())
    shutil.rmtree(directory)
    return digest.hexdigest()[:24]


def main():
    program, record = sys.argv[1], "--record" in sys.argv
    expected = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    found = {}
    with tempfile.TemporaryDirectory(prefix="attractor-golden-") as root:
        root = pathlib.Path(root)
        rows = np.random.default_rng(1).normal(size=(30, 3))
        np.save(root / "tokens.npy", rows / np.linalg.norm(rows, axis=1, keepdims=True))
        for name, arguments in runs().items():
            found[name] = hash_of(program, arguments, root / name)
    if record:
        HASHES.write_text(json.dumps(found, indent=1) + "\n")
        print(f"recorded {len(found)}")
        return
    changed = [name for name in found if found[name] != expected.get(name)]
    for name in changed:
        print(f"changed: {name}: attractor {' '.join(runs()[name])}")
    assert len(found) >= 30
    sys.exit(1 if changed or set(found) != set(expected) else 0)


if __name__ == "__main__":
    main()
