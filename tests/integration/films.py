#!/usr/bin/env python3
"""Films: every token of an animated SVG is where result.h5 says, frame by frame; GIF and WebM where ffmpeg is.

usage: films.py PROGRAM
"""
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import h5py

PROGRAM = sys.argv[1]
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def succeed(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, (arguments, done.stderr)


def numbers(text):
    return [float(item) for item in text.split(";")]


def check_circle(root):
    succeed("flow", "--tokens", 12, "--dim", 2, "--beta", 4, "--time", 6, "--snapshots", 7, "--out", root / "run")
    succeed("film", root / "run", "--out", root / "film.svg", "--seconds", 3)
    with h5py.File(root / "run" / "result.h5") as file:
        positions = file["snapshots/positions"][:]
    tokens = [c for c in ElementTree.parse(root / "film.svg").iter(SVG + "circle") if c.find(SVG + "animate") is not None]
    assert len(tokens) == 12, len(tokens)
    for i, token in enumerate(tokens):
        tracks = {a.get("attributeName"): a for a in token.findall(SVG + "animate")}
        times = numbers(tracks["cx"].get("keyTimes"))
        assert len(times) == len(positions) + 1 and times[0] == 0 and times[-1] == 1
        assert times == sorted(times) and math.isclose(times[-2], 3 / 4, rel_tol=1e-4), times
        x, y = numbers(tracks["cx"].get("values")), numbers(tracks["cy"].get("values"))
        for k, frame in enumerate(positions):
            assert abs(x[k] - (240 + 200 * frame[i][0])) < 0.02, (i, k)
            assert abs(y[k] - (240 - 200 * frame[i][1])) < 0.02, (i, k)


def check_other_formats(root):
    for kind, magic in (("gif", b"GIF8"), ("webm", b"\x1a\x45\xdf\xa3")):
        done = run("film", root / "run", "--out", root / f"film.{kind}", "--quiet")
        if shutil.which("ffmpeg"):
            assert done.returncode == 0, done.stderr
            assert (root / f"film.{kind}").read_bytes().startswith(magic)
        else:
            assert done.returncode == 2 and "install ffmpeg" in done.stderr, done.stderr


def check_refusals(root):
    (root / "empty").mkdir()
    for arguments, words in [
        ((), "a run is missing"),
        ((root / "run",), "--out is missing"),
        ((root / "run", "--out", root / "film.mp4"), "must end in .svg, .gif or .webm"),
        ((root / "empty", "--out", root / "x.svg"), "result.h5"),
        ((root / "run", "--out", root / "x.svg", "--seconds", 0), "seconds"),
    ]:
        done = run("film", *arguments)
        assert done.returncode == 2 and words in done.stderr, (arguments, done.returncode, done.stderr)
        assert not (root / "x.svg").exists()


def check_hostile_files(root):
    """Files that say what cannot be."""
    for name, place, value, words in (("nan", "positions", math.nan, "position nan"),
                                      ("label", "clusters", 4e9, "allowed: 0 to 11")):
        file = root / f"{name}.h5"
        shutil.copy(root / "run" / "result.h5", file)
        with h5py.File(file, "r+") as hostile:
            data = hostile[f"snapshots/{place}"][:]
            data.flat[3] = value
            del hostile[f"snapshots/{place}"]
            hostile[f"snapshots/{place}"] = data
        done = run("film", file, "--out", root / "x.svg")
        assert done.returncode == 2 and words in done.stderr, (name, done.returncode, done.stderr)


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="films_"))
    try:
        check_circle(root)
        check_other_formats(root)
        check_refusals(root)
        check_hostile_files(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
