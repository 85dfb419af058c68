#!/usr/bin/env python3
"""A hostile world around the program: changed files, absurd options, kills, full disks, little memory, closed streams, other locales,
odd names. Says what was tried, refused and delivered, and every failure with the command that repeats it.

usage: hostile.py PROGRAM [--seed N] [--minutes M | --soak] [--only PART]     exit status 1 if anything failed
With a program that sanitizers watch: ATTRACTOR_SANITIZED=1 hostile.py PROGRAM --only weights --soak
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import files  # noqa: E402
import kills  # noqa: E402
import options  # noqa: E402
import resources  # noqa: E402
import surroundings  # noqa: E402

# Each part with its share of the minutes.
PARTS = {files.Files: 0.25, files.Weights: 0.05, options.Options: 0.25, kills.Kills: 0.25, resources.Disk: 0.05, resources.Threads: 0.03, resources.Memory: 0.03,
         surroundings.Streams: 0.03, surroundings.Locale: 0.03, surroundings.Names: 0.03}
WORKERS = 2


def run_part(part, deadline):
    """All cases, or those that are begun before the deadline; in their order, two at a time."""
    found, waiting = [], collections.deque()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for case in part.cases(part.cases_in_soak):
            if time.monotonic() > deadline:
                break
            waiting.append(pool.submit(part.case, case))
            if len(waiting) > WORKERS:
                found.append(waiting.popleft().result())
        found += [w.result() for w in waiting]
    return found


def report(rows):
    print(f"{'part':12} {'tried':>7} {'refused':>8} {'delivered':>10} {'failures':>9} {'seconds':>8}")
    for name, found, seconds in rows:
        failures = [f for f in found if f.fault]
        kinds = collections.Counter(f.kind for f in found if not f.fault)
        print(f"{name:12} {len(found):7} {kinds['refused']:8} {kinds['delivered']:10} {len(failures):9} {seconds:8.0f}")
    wrong = [f for _, found, _ in rows for f in found if f.fault]
    for failure in wrong:
        print(f"\n{failure.fault}\n    {failure.line}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--minutes", type=float, default=5)
    how_long.add_argument("--soak", action="store_true")
    parser.add_argument("--only", choices=[part.name for part in PARTS])
    given = parser.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    root = pathlib.Path(tempfile.mkdtemp(prefix="hostile_"))
    os.environ.pop("OMPI_COMM_WORLD_SIZE", None)
    chosen = {part: share for part, share in PARTS.items() if given.only in (None, part.name)}
    rows = []
    for make, share in chosen.items():
        began = time.monotonic()
        part = make(program, root / make.name, given.seed)
        seconds = float("inf") if given.soak else 60 * given.minutes * share / sum(chosen.values())
        found = run_part(part, began + seconds)
        rows.append((part.name, found, time.monotonic() - began))
        print(f"{part.name}: {len(found)} tried, {sum(bool(f.fault) for f in found)} failures", file=sys.stderr, flush=True)
    status = report(rows)
    if status == 0:
        shutil.rmtree(root, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
