#!/usr/bin/env python3
"""One thing one per cent wrong at a time, in each engine: which entries of the catalogue notice.

usage: mutations.py PROGRAM BROKEN_PROGRAM [--right SUMMARY.JSON] [--entries ID,...] [MUTATION ...]
Prints which entries lost a check to which mutation (mutate.py). Without --entries: those of ENTRIES.
"""
import argparse
import concurrent.futures
import json
import pathlib

import mutate
import verdicts

# A few seconds each. every-engine holds each engine against sums in plain loops.
ENTRIES = ["every-engine", "two-cluster-lifetime", "pairing", "gradient-flow-energy", "kuramoto", "normalisation-rates", "attention-sink", "twisted-states",
           "weighted-rearrangement", "single-input-global", "planted-beta"]
MOST_SECONDS = 120  # what is wrong may take for ever


def lost_checks(broken, identifier, mutation, right):
    wrong = verdicts.reproduce(broken, identifier, [mutation], 0.01, MOST_SECONDS)
    if wrong is None:
        return 0
    return len(verdicts.good_checks(right) - verdicts.good_checks(wrong)) + (1 if wrong["failed"] else 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("broken")
    parser.add_argument("--right", type=pathlib.Path)
    parser.add_argument("--entries", type=lambda text: text.split(","), default=ENTRIES)
    parser.add_argument("mutations", nargs="*")
    given = parser.parse_intermixed_args()
    known = {e["id"]: e for e in json.loads(given.right.read_text())["entries"]} if given.right else {}
    right = {i: known.get(i) or verdicts.reproduce(given.program, i) for i in given.entries}
    assert not any(entry["failed"] for entry in right.values()), "an entry failed without any mutation"
    unnoticed = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for mutation in given.mutations or mutate.names():
            lost = pool.map(lambda i: lost_checks(given.broken, i, mutation, right[i]), given.entries)
            noticed = [f"{i} ({count})" for i, count in zip(given.entries, lost) if count]
            print(f"{mutation:17} {', '.join(noticed) or 'unnoticed'}", flush=True)
            if not noticed:
                unnoticed.append(mutation)
    assert not unnoticed, f"no entry notices {unnoticed}"


main()
