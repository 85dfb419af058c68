#!/usr/bin/env python3
"""The verdicts of the catalogue: all are reached, and every one of them changes if all logits are a tenth too small.

usage: verdicts.py PROGRAM BROKEN_PROGRAM [--right SUMMARY.JSON] [ID ...]   without ids: the whole catalogue; entries whose data
are not there are skipped, by name. --right: verdicts of the right program, as `reproduce all --quick --out` leaves them.
"""
import json
import os
import pathlib
import subprocess
import sys

import mutate


def reproduce(program, identifier, wrong=(), by=0.0, most_seconds=1800):
    """What the entry says; by the broken program: with these of mutate.names() wrong. None where it takes longer than that."""
    environment = dict(os.environ, ATTRACTOR_WRONG=",".join(wrong), ATTRACTOR_WRONG_BY=str(by))
    try:
        done = subprocess.run([program, "reproduce", identifier, "--quick", "--json"], capture_output=True, text=True,
                              timeout=most_seconds, env=environment)
    except subprocess.TimeoutExpired:
        return None
    assert done.returncode in (0, 3), (identifier, done.returncode, done.stderr)
    return json.loads(done.stdout)[0]


def good_checks(entry):
    return {c["check"] for c in entry["checks"] if c["agrees"]}


def main():
    program, broken, *chosen = sys.argv[1:]
    listed = json.loads(subprocess.run([program, "reproduce", "--list", "--json"], capture_output=True, text=True,
                                       check=True).stdout)
    known = {}
    if chosen[:1] == ["--right"]:
        known = {e["id"]: e for e in json.loads(pathlib.Path(chosen[1]).read_text())["entries"]}
        chosen = chosen[2:]
    unmoved = []
    for identifier in chosen or [e["id"] for e in listed]:
        right = known.get(identifier) or reproduce(program, identifier)
        if right and right["state"] == "skipped":  # needs what tools/models fetches
            print(f"SKIPPED {identifier}: {right['verdict']}", flush=True)
            continue
        wrong = reproduce(broken, identifier, [name for name in mutate.names() if name.endswith("-logits")], -0.1)
        assert right and wrong, f"{identifier} takes more than half an hour"
        assert not right["failed"] and right["checks"], right["verdict"]
        lost = good_checks(right) - good_checks(wrong)
        print(f"{identifier}: {right['verdict'][:60]}; broken: {len(lost)} checks lost")
        if wrong["agrees"] or (not wrong["failed"] and not lost):
            unmoved.append(identifier)
    assert not unmoved, f"verdicts that a broken kernel does not change: {unmoved}"


if __name__ == "__main__":
    main()
