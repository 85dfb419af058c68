#!/usr/bin/env python3
"""Holds the layers of the house: an #include may only point downwards, and stems (a header with its source) form no cycle.

usage: check_layers.py ROOT   exit status 0: all includes allowed; 1: lists those that are not.
"""
import collections
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
    "tokens": ["base", "space"],
    "attention": ["base", "kernels", "space", "tokens"],
    "depth": ["base", "ranks", "kernels", "space", "flow", "tokens", "attention"],
    "training": ["base", "kernels", "space", "solve", "flow", "tokens", "attention"],
    "reductions": ["base", "space", "flow", "attention"],
    "long_context": ["base", "space", "attention"],
    "stability": ["base", "attention"],
    "mean_field": ["base", "space", "flow", "attention", "stability"],
    "noise": ["base", "flow", "attention", "stability", "mean_field"],
    "observe": ["base", "kernels", "space", "solve", "flow", "tokens", "attention", "depth"],
    "models": ["base", "kernels", "space", "tokens", "attention", "reductions", "long_context", "observe"],
    "lab": ["base", "ranks", "space", "solve", "flow", "tokens", "attention", "depth", "training", "observe", "models"],
    "commands": ["base", "ranks", "report", "space", "flow", "tokens", "attention", "depth", "training", "reductions", "long_context",
                 "stability", "mean_field", "noise", "observe", "models", "lab"],
    "text": ["base", "models"],
    "files": ["base", "report", "training", "models", "lab", "commands", "text"],
    "drawing": ["base", "report", "lab", "commands", "files"],
    "study": ["base", "ranks", "lab", "commands", "files"],
    # The public header: values in, values out; no files, figures or command lines.
    "attractor.hpp": ["base", "space", "solve", "flow", "tokens", "attention", "depth", "training", "reductions", "long_context",
                      "stability", "mean_field", "noise", "observe", "models", "lab"],
}
# Tests may look at what stands above the layer they test, never sideways between the two halves.
FORBIDDEN_IN_TESTS = {"depth": ["training"], "training": ["depth"]}

STEM = re.compile(r'^\s*#\s*include\s+"([\w/-]+)\.hpp"', re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"attractor/([a-z_]+)/', re.MULTILINE)
PAPER = re.compile(r'^\s*#\s*include\s+"papers/([a-z]+)/', re.MULTILINE)


def violations(root):
    for path in sorted((root / "attractor").rglob("*")):
        if path.suffix not in (".hpp", ".cpp"):
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


def papers_violations(root):
    """Folders of papers/ do not include each other, and papers/ itself includes none: what several use stands there."""
    for path in sorted((root / "papers").rglob("*.?pp")):
        for target in PAPER.findall(path.read_text(encoding="utf-8")):
            if path.parent != root / "papers" / target:
                yield f"{path}: must not include papers/{target}"


def stems(root):
    """The stems that each stem includes; tests and benchmarks stand outside."""
    includes = collections.defaultdict(set)
    for folder in ("attractor", "papers", "apps"):
        for path in (root / folder).rglob("*.?pp"):
            if path.stem.endswith(("_test", "_bench")):
                continue
            stem = path.relative_to(root).with_suffix("").as_posix().removesuffix("-inl")
            targets = STEM.findall(path.read_text(encoding="utf-8"))
            includes[stem] |= {t.removesuffix("-inl") for t in targets} - {stem}
    return includes


def cycles(includes):
    """Strongly connected sets of more than one stem (Tarjan's algorithm, without recursion)."""
    order, low, stack, waiting = {}, {}, [], set()
    for start in sorted(includes):
        path = [(start, iter(sorted(includes[start])))] if start not in order else []
        while path:
            stem, targets = path[-1]
            if stem not in order:
                order[stem] = low[stem] = len(order)
                stack.append(stem)
                waiting.add(stem)
            for target in targets:
                if target not in order:
                    path.append((target, iter(sorted(includes.get(target, ())))))
                    break
                if target in waiting:
                    low[stem] = min(low[stem], order[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[stem])
                if low[stem] == order[stem]:
                    at = stack.index(stem)
                    component = set(stack[at:])
                    waiting -= component
                    del stack[at:]
                    if len(component) > 1:
                        yield component


def include_cycles(root):
    for cycle in cycles(stems(root)):
        yield "include cycle: " + ", ".join(sorted(cycle))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = [*violations(root), *papers_violations(root), *include_cycles(root)]
    for line in found:
        print(line)
    files = len(list((root / "attractor").rglob("*.?pp")))
    print(f"{files} files, {len(found)} faults")
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
