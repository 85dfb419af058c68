#!/usr/bin/env python3
"""Sweeps through the command line: the same bytes whatever happens on the way, and clear refusals.

usage: sweeps.py PROGRAM
"""
import json
import math
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy

PROGRAM = sys.argv[1]

STUDY = """
name = "Clusters on the circle"
command = "flow"
measure = ["clusters", "mean_cosine", "series.time", "series.mean_cosine"]
replicates = 6
[fixed]
tokens = 96
dim = 2
time = 40
outputs = 5
[grid]
beta = [1, 4, 9, 16, 25, 36]
"""


def run(*arguments, **keywords):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, **keywords)


def succeed(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return done


def result(directory):
    return (directory / "result.h5").read_bytes()


def check_threads_and_shards(root, study, whole):
    for threads in (1, 3):
        succeed("sweep", study, "--out", root / f"threads{threads}", "--threads", threads)
        assert result(root / f"threads{threads}") == whole
    parts = []
    for k in (2, 3, 1):
        part = root / f"part{k}"
        parts.append(part)
        early = run("merge", *parts, "--out", root / "early") if part.name != "part1" and len(parts) > 1 else None
        succeed("sweep", study, "--shard", f"{k}/3", "--out", part)
        if early is not None:
            assert early.returncode == 2 and "no study.toml" in early.stderr, early.stderr
    missing = run("merge", *parts[:2], "--out", root / "missing")
    assert missing.returncode == 2 and "12 of 36 units are missing" in missing.stderr, missing.stderr
    succeed("merge", *parts, "--out", root / "merged")
    assert result(root / "merged") == whole


def check_kills(root, study, whole, kills):
    """Killed at random moments, resumed each time: nothing is lost, nothing repeated."""
    out = root / "killed"
    generator = random.Random(1)
    arguments = ["sweep", str(study), "--out", str(out), "--workers", "2"]
    survived, longest = 0, 0.08
    for _ in range(kills):
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(generator.uniform(0.0, longest))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (out / "summary.json").exists():
            break
        if (out / "study.toml").exists():
            survived += 1
            arguments = ["sweep", "--resume", str(out)]
        else:
            shutil.rmtree(out, ignore_errors=True)
            longest *= 1.2  # a busy machine
    if not (out / "summary.json").exists():
        succeed(*arguments)
    assert result(out) == whole
    units = [line for file in (out / "units").iterdir() for line in file.read_text().splitlines()]
    assert len(units) == 36, len(units)  # none twice
    return survived


def check_interrupt(root, study, whole):
    out = root / "interrupted"
    process = subprocess.Popen([PROGRAM, "sweep", str(study), "--out", str(out), "--threads", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(out.glob("units/*.jsonl")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    if process.returncode == 0:  # it was faster
        return
    assert process.returncode == 130, (process.returncode, messages)
    assert f"attractor sweep --resume {out}" in messages, messages
    succeed("sweep", "--resume", out)
    assert result(out) == whole
    again = run("sweep", "--resume", out)
    assert again.returncode == 2 and "finished run" in again.stderr, again.stderr


def check_failures(root):
    """Units that the numerics cannot deliver are recorded with their reason; the others stand."""
    study = root / "failing.toml"
    study.write_text('command = "flow"\nmeasure = ["clusters"]\n[fixed]\ntokens = 16\ndim = 2\n'
                     'time = 5\nmax-steps = 25\n[grid]\nbeta = [1, 900]\n')
    summary = json.loads(succeed("sweep", study, "--out", root / "failing", "--json").stdout)
    assert summary["failed_count"] == 1, summary["failed_count"]
    assert "too_many_steps" in summary["failures"][0]["reason"], summary["failures"]
    assert summary["points"][1]["clusters_mean"] is not None
    assert summary["points"][0]["clusters_mean"] is None
    nothing = root / "nothing.toml"
    nothing.write_text('command = "flow"\n[fixed]\ntokens = 16\nmax-steps = 1\ntime = 50\n')
    done = run("sweep", nothing, "--out", root / "nothing")
    assert done.returncode == 3 and "every unit failed" in done.stderr, (done.returncode, done.stderr)


def check_stop_rule(root):
    study = root / "stop.toml"
    study.write_text('command = "flow"\nmeasure = ["mean_cosine"]\nreplicates = 64\n[fixed]\ntokens = 16\n'
                     'dim = 2\ntime = 1\n[grid]\nbeta = [0, 9]\n'
                     '[stop]\nmeasure = "mean_cosine"\nhalf_width = 0.02\nround = 8\n')
    summary = json.loads(succeed("sweep", study, "--out", root / "stop", "--json").stdout)
    for point in summary["points"]:
        assert point["replicates"] % 8 == 0
        assert point["replicates"] == 64 or point["mean_cosine_half_width"] <= 0.02, point
    assert min(p["replicates"] for p in summary["points"]) < 64, "the rule never stopped anything"


def check_generated_problems(root):
    """Training, a new problem for each replicate."""
    study = root / "select.toml"
    study.write_text('command = "select"\nmeasure = ["cosine_to_svm"]\nreplicates = 4\n'
                     '[fixed]\ndata = "example:selectable,inputs=4,tokens=5,dim=6"\noptimizer = "flow"\n'
                     '[grid]\nlog10-time = [2, 50]\n')
    done = run("sweep", study, "--out", root / "select", "--json")
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["points"]
    assert points[1]["cosine_to_svm_mean"] > points[0]["cosine_to_svm_mean"], points


def rows(file, angle):
    numpy.save(file, [[1, 0], [math.cos(angle), math.sin(angle)], [-0.6, 0.8]])


def check_changed_files(root):
    """Units that read a file: a sweep never mixes what it was with what it is, nor does a merge."""
    cases = {"flow": '[fixed]\ninit = "file"\ntokens-file = "rows.npy"\ntime = 1\n[grid]\nbeta = [1, 2, 3, 4]\n',
             "meanfield": '[fixed]\nstart = "tokens"\ntokens-file = "rows.npy"\ndim = 2\ntime = 0.1\nform = "labels"\n'
                          '[grid]\nbeta = [1, 2, 3, 4]\n'}
    for command, text in cases.items():
        place = root / f"files-{command}"
        place.mkdir()
        study = place / "study.toml"
        study.write_text(f'command = "{command}"\n' + text)
        rows(place / "rows.npy", 1)
        assert run("sweep", study, "--out", place / "whole", cwd=place).returncode == 0
        for shard in (1, 2):
            done = run("sweep", study, "--shard", f"{shard}/2", "--out", place / f"old{shard}", cwd=place)
            assert done.returncode == 0, done.stderr
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
        assert run("sweep", study, "--out", place / "stopped", cwd=place, preexec_fn=limit).returncode == 2
        journal = place / "stopped/units/process.jsonl"
        journal.write_text("".join(journal.read_text().splitlines(True)[:2]))
        rows(place / "rows.npy", 2)
        resumed = run("sweep", "--resume", place / "stopped", cwd="/")
        assert resumed.returncode == 2 and "rows.npy has changed since the run began" in resumed.stderr, resumed.stderr
        assert resumed.stderr.count("\n") == 1 and len(journal.read_text().splitlines()) == 2
        done = run("sweep", study, "--shard", "2/2", "--out", place / "new2", cwd=place)
        assert done.returncode == 0, done.stderr
        mixed = run("merge", place / "old1", place / "new2", "--out", place / "mixed")
        assert mixed.returncode == 2 and "rows.npy had changed" in mixed.stderr, mixed.stderr
        assert not (place / "mixed").exists()
        succeed("merge", place / "old1", place / "old2", "--out", place / "merged")
        assert result(place / "merged") == result(place / "whole")
        rows(place / "rows.npy", 1)
        done = run("sweep", "--resume", place / "stopped", cwd="/")
        assert done.returncode == 0, done.stderr
        assert result(place / "stopped") == result(place / "whole")
        (place / "rows.npy").unlink()
        missing = run("sweep", study, "--out", place / "missing", cwd=place)
        assert missing.returncode == 2 and "rows.npy: no such file" in missing.stderr, missing.stderr
        assert not (place / "missing").exists()


def check_refusals(root, study):
    cases = [
        ((), "a study is missing"),
        ((study,), "--out is missing"),
        ((root / "none.toml", "--out", root / "x"), "none.toml"),
        ((study, "--out", root / "whole"), "finished run"),
        ((study, "--out", root / "x", "--shard", "3/2"), "i/k with 1 <= i <= k"),
        ((study, "--out", root / "x", "--shard", "a"), "i/k with 1 <= i <= k"),
        (("--resume", root / "nowhere"), "no run to resume"),
        ((study, "--resume", root / "whole"), "give no other"),
        ((study, "--out", root / "x", "--workers", "-1"), "workers"),
    ]
    for arguments, words in cases:
        done = run("sweep", *arguments)
        assert done.returncode == 2 and words in done.stderr, (arguments, done.returncode, done.stderr)
        assert done.stdout == "" and done.stderr.count("\n") == 1, (arguments, done.stderr)
    misspelt = root / "misspelt.toml"
    misspelt.write_text('command = "reduce pair"\nmeasure = ["merge_tim"]\n')
    done = run("sweep", misspelt, "--out", root / "misspelt")
    assert done.returncode == 2 and "no 'merge_tim'" in done.stderr, done.stderr


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="sweeps_"))
    try:
        study = root / "study.toml"
        study.write_text(STUDY)
        succeed("sweep", study, "--out", root / "whole")
        whole = result(root / "whole")
        page = (root / "whole" / "index.html").read_text()
        assert "Clusters on the circle" in page
        check_threads_and_shards(root, study, whole)
        survived = check_kills(root, study, whole, 20)
        assert survived > 0, "every kill came before the sweep had begun"
        check_interrupt(root, study, whole)
        check_failures(root)
        check_stop_rule(root)
        check_generated_problems(root)
        check_changed_files(root)
        check_refusals(root, study)
        print(f"sweeps: all agree; {survived} kills in the middle")
    finally:
        shutil.rmtree(root, ignore_errors=True)


os.environ.pop("OMPI_COMM_WORLD_SIZE", None)
main()
