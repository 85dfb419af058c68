#!/usr/bin/env python3
"""Sweeps over ranks: the bytes of one process on 1, 2 and 4 ranks, and after 20 kills in the middle.

usage: sweeps.py PROGRAM
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]

STUDY = """
command = "flow"
measure = ["clusters", "mean_cosine"]
replicates = 5
[fixed]
tokens = 400
dim = 3
time = 12
outputs = 2
[grid]
beta = [1, 4, 9, 16, 25, 36, 49, 64]
"""


def command(ranks, *arguments):
    return [*MPIRUN, str(ranks), PROGRAM, *map(str, arguments)]


def succeed(ranks, *arguments):
    done = subprocess.run(command(ranks, *arguments), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)


def children(pid):
    """Processes of the program below mpirun."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if parent == pid:
            found.append(int(entry.name))
    return found


def kill_somebody(process, generator):
    """One rank, or all at once: what a crash and a power cut look like."""
    ranks = children(process.pid)
    victims = ranks if generator.random() < 0.3 or not ranks else [generator.choice(ranks)]
    for victim in [*victims, *([process.pid] if len(victims) != 1 else [])]:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for survivor in ranks:
        try:
            os.kill(survivor, signal.SIGKILL)
        except ProcessLookupError:
            pass


def check_kills(root, study, whole):
    out = root / "killed"
    arguments = ["sweep", study, "--out", out]
    generator = random.Random(3)
    middle = 0
    for _ in range(20):
        process = subprocess.Popen(command(2, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(generator.uniform(0.3, 1.2))
        kill_somebody(process, generator)
        if (out / "summary.json").exists():
            break
        if (out / "study.toml").exists():
            middle += 1
            arguments = ["sweep", "--resume", out]
        else:
            shutil.rmtree(out, ignore_errors=True)
    if not (out / "summary.json").exists():
        succeed(2, *arguments)
    assert (out / "result.h5").read_bytes() == whole
    assert middle > 0, "no kill hit the middle of the sweep"
    return middle


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="mpi_sweeps_"))
    try:
        study = root / "study.toml"
        study.write_text(STUDY)
        single = subprocess.run([PROGRAM, "sweep", study, "--out", root / "single"], capture_output=True, text=True,
                                timeout=300)
        assert single.returncode == 0, single.stderr
        whole = (root / "single" / "result.h5").read_bytes()
        for ranks in (1, 2, 4):
            succeed(ranks, "sweep", study, "--out", root / f"ranks{ranks}")
            assert (root / f"ranks{ranks}" / "result.h5").read_bytes() == whole, ranks
        refused = subprocess.run(command(2, "sweep", study, "--out", root / "single"), capture_output=True, text=True,
                                 timeout=60)
        assert refused.returncode != 0 and "finished run" in refused.stderr, refused.stderr
        middle = check_kills(root, study, whole)
        print(f"sweeps on ranks: all agree; {middle} kills in the middle")
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
