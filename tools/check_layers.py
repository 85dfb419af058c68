#!/usr/bin/env python3
"""Holds the layers of the house: an #include may only point downwards.

usage: check_layers.py ROOT   exit status 0: all includes allowed; 1: lists those that are not.
"""
import pathlib
import re
import sys

# Each layer and what it may include, besides itself (docs/architecture.md draws it).
BELOW = {
    "base": [],
    "ranks": ["base"],
    "kernels": ["base"],
    "report": ["base"],
    "space": ["base", "kernels"],
    "solve": ["base", "kernels"],
    "flow": ["base", "space"],
    "tokens": ["base", "space", "report"],
    "attention": ["base", "kernels", "space", "tokens"],
    "depth": ["base", "ranks", "kernels", "space", "flow", "tokens", "attention"],
    "meanfield": ["base", "space", "solve", "flow", "tokens", "attention", "depth"],
    "training": ["base", "kernels", "report", "space", "solve", "flow", "tokens", "attention"],
    "observe": ["base", "space", "solve", "flow", "tokens", "attention", "depth", "meanfield", "training"],
    "experiment": ["base", "ranks", "report", "space", "solve", "flow", "tokens", "attention", "depth", "meanfield",
                   "training", "observe"],
}
# Tests may look at what stands above the layer they test, never sideways between the two halves.
FORBIDDEN_IN_TESTS = {"depth": ["training"], "training": ["depth"]}

INCLUDE = re.compile(r'^\s*#\s*include\s+"attractor/([a-z]+)/', re.MULTILINE)


def violations(root):
    for path in sorted((root / "attractor").rglob("*")):
        if path.suffix not in (".hpp", ".cpp") or path.parent == root / "attractor":
            continue
        layer = path.relative_to(root / "attractor").parts[0]
        if layer not in BELOW:
            yield f"{path}: folder {layer} is no layer of the house"
            continue
        is_test = path.stem.endswith(("_test", "_bench"))
        for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if is_test:
                allowed = target not in FORBIDDEN_IN_TESTS.get(layer, [])
            else:
                allowed = target == layer or target in BELOW[layer]
            if not allowed:
                yield f"{path}: {layer} must not include {target}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(violations(root))
    for line in found:
        print(line)
    files = len(list((root / "attractor").rglob("*.?pp")))
    print(f"{files} files, {len(found)} includes against the layers")
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
