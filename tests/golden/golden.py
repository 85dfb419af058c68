#!/usr/bin/env python3
"""Runs of every command whose numbers must not change while the house is rebuilt: exit status, JSON and all of result.h5
against recorded hashes. A change that is meant is recorded again with its reason in the CHANGELOG. Not one of the tests of
./check: FFTW takes other codelets on other processors, so hashes hold on the kind of machine that recorded them (AVX2, no
AVX-512); record on yours before you change anything.

usage: golden.py PROGRAM [--record | --against OTHER_PROGRAM]   (--against: says what of which run differs)
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
    """Every dataset and attribute: name to value."""
    found = {}

    def visit(name, item):
        for key in item.attrs:
            if key not in VOLATILE:
                found[f"{name}@{key}"] = str(item.attrs[key])
        if isinstance(item, h5py.Dataset) and name.split("/")[-1] not in VOLATILE:
            value = np.asarray(item[()])
            found[name] = (value.dtype.str, value.shape, value.tobytes().hex())

    with h5py.File(path) as file:
        visit("", file)
        file.visititems(visit)
    return found


def outcome(program, arguments, directory):
    """Exit status, JSON and arrays of a run, free of what differs from place to place."""
    directory.mkdir()
    words = [word.replace("DATA", str(DATA)).replace("TOKENS", str(directory.parent / "tokens.npy")) for word in arguments]
    out = directory / "out"
    done = subprocess.run([program, *words, "--json", "--quiet", "--out", out], capture_output=True, text=True, timeout=600)

    def placeless(value):
        text = json.dumps(value).replace(str(DATA), "DATA").replace(str(directory.parent), "TMP").replace(str(directory), "DIR")
        return json.loads(text)

    answer = placeless(without_volatile(json.loads(done.stdout))) if done.stdout.strip() else None
    arrays = placeless(contents(out / "result.h5")) if (out / "result.h5").exists() else {}
    shutil.rmtree(directory)
    return {"status": done.returncode, "json": answer, "arrays": arrays}


def hash_of(part):
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:24]


def differences(old, new):
    """What of the old run is gone or another in the new one, and what is new."""
    for part in ("json", "arrays"):
        before, after = old[part] or {}, new[part] or {}
        for key in before:
            if key not in after:
                yield f"{part}: {key} is gone"
            elif before[key] != after[key]:
                yield f"{part}: {key} changed: {str(before[key])[:60]} -> {str(after[key])[:60]}"
        if added := sorted(set(after) - set(before)):
            yield f"{part}: new: {', '.join(added)}"
    if old["status"] != new["status"]:
        yield f"status {old['status']} -> {new['status']}"


def main():
    program, record = sys.argv[1], "--record" in sys.argv
    other = sys.argv[sys.argv.index("--against") + 1] if "--against" in sys.argv else None
    expected = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    found = {}
    with tempfile.TemporaryDirectory(prefix="attractor-golden-") as root:
        root = pathlib.Path(root)
        rows = np.random.default_rng(1).normal(size=(30, 3))
        np.save(root / "tokens.npy", rows / np.linalg.norm(rows, axis=1, keepdims=True))
        for name, arguments in runs().items():
            result = outcome(program, arguments, root / name)
            if other:
                for line in differences(outcome(other, arguments, root / name), result):
                    print(f"{name}: {line}")
            found[name] = {part: hash_of(result[part]) for part in result}
    if other:
        return
    if record:
        HASHES.write_text(json.dumps(found, indent=1) + "\n")
        print(f"recorded {len(found)}")
        return
    changed = [name for name in found if found[name] != expected.get(name)]
    for name in changed:
        parts = [part for part in found[name] if found[name][part] != expected.get(name, {}).get(part)]
        print(f"changed: {name} ({', '.join(parts)}): attractor {' '.join(runs()[name])}")
    assert len(found) >= 30
    sys.exit(1 if changed or set(found) != set(expected) else 0)


if __name__ == "__main__":
    main()
