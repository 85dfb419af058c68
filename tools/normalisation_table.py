#!/usr/bin/env python3
"""Runs every normalisation scheme and writes what it found into docs/theory/normalisation.md and its picture.

usage: normalisation_table.py PROGRAM [ROOT]   needs python3-h5py and gnuplot; about ten seconds.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

BEGIN, END = "<!-- table: begin (tools/normalisation_table.py) -->", "<!-- table: end -->"
EIGHT = ("--tokens", 8, "--dim", 8, "--beta", 2)
ORTHOGONAL, RANDOM = ("--init", "equiangular", *EIGHT), ("--init", "uniform", "--seed", 0, *EIGHT)
OWN = {"mix": ("--switch-time", 1), "ngpt": ("--alpha", 1), "deepnorm": ("--deepnorm-scale", 2)}

# How 1 - cosine ends: its form with exponent p, p, the end of the run, and the variable that ln(1 - cosine) is linear in.
POWER = ("tᵖ", lambda t: np.log(t))
EXPONENTIAL = ("e^{pt}", lambda t: t)
STRETCHED = ("e^{p√(1+t)}", lambda t: np.sqrt(1 + t))
LAWS = {"post": (EXPONENTIAL, -2, 30), "pre": (POWER, -2, 1e8), "mix": (POWER, -2, 1e8), "peri": (POWER, -2, 1e8),
        "sandwich": (POWER, -2, 1e8), "ngpt": (EXPONENTIAL, -2, 30), "ln-scaling": (POWER, -1, 1e10),
        "damped-post": (STRETCHED, -4, 255), "deepnorm": (EXPONENTIAL, -1, 60)}
DECADES = 4  # of time for powers, the last ones; the others are fitted while 1e-12 < 1 - cosine < 1e-4

CURVES = {"post": "#22262b", "ngpt": "#8a8f98", "deepnorm": "#cc79a7", "damped-post": "#d55e00", "mix": "#009e73",
          "peri": "#e69f00", "pre": "#0072b2", "ln-scaling": "#56b4e9"}
K = 3.734953426363  # K(8, 2), docs/theory/reductions.md
TITLES = {"peri": "peri, sandwich"}
FIGURE = """
set encoding utf8
set terminal svg size 920,400 dynamic rounded enhanced background rgb 'white' font 'DejaVu Sans,12' name 'normalisation'
set minussign
set multiplot layout 1,2
set logscale xy
set format xy '10^{%L}'
set border 3 lc rgb '#6b7280'
set tics nomirror textcolor rgb '#374151'
set mxtics 1
set mytics 1
set grid lc rgb '#e5e7eb' lt 1
set xlabel 'depth t'
set xrange [0.02:1e4]
set title "{/:Bold How far from one direction}"
set ylabel '1 − mean cosine'
set yrange [1e-10:2]
set key bottom left Left reverse samplen 1 font ',10'
"""


def flow(program, *arguments):
    """(JSON, series, directions at the end) of a run."""
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory) / "run"
        command = [program, "flow", *map(str, arguments), "--merge-radius", "off", "--snapshots", "2", "--json", "--out", out]
        # Without PATH the run draws no figures, which nobody would see.
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": ""})
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        with h5py.File(out / "result.h5") as f:
            series = {name: data[:] for name, data in f["series"].items()}
            return json.loads(done.stdout), series, f["snapshots/positions"][-1]


def fitted(program, scheme, start):
    law, _, end = LAWS[scheme]
    spacing = ("log", 100) if law is POWER else ("linear", 500)
    _, s, _ = flow(program, "--norm", scheme, *OWN.get(scheme, ()), *start, "--tolerance", 1e-12, "--time", end,
                   "--output-spacing", spacing[0], "--outputs", spacing[1])
    t, gap = s["time"], s["one_minus_mean_cosine"]
    late = t >= end * 10.0 ** -DECADES if law is POWER else (gap < 1e-4) & (gap > 1e-12)
    return np.polyfit(law[1](t[late]), np.log(gap[late]), 1)[0]


def order(program, scheme):
    """Of layers with step h against the flow, in the directions of random tokens."""
    task = ("--norm", scheme, *OWN.get(scheme, ()), *RANDOM, "--time", 2, "--outputs", 1)
    truth = flow(program, *task, "--tolerance", 1e-12)[2]
    coarse, fine = (np.abs(flow(program, *task, "--stepper", "layers", "--step", h)[2] - truth).max()
                    for h in (2 ** -9, 2 ** -11))
    return math.log(coarse / fine, 4)


def row(program, scheme):
    own = ("--norm", scheme, *OWN.get(scheme, ()), *ORTHOGONAL)
    early, late = (flow(program, *own, "--time", t, "--tolerance", 1e-12)[0] for t in (5, 20))
    layers = flow(program, *own, "--stepper", "layers", "--step", 1, "--time", 20)[0]
    law, exponent, _ = LAWS[scheme]
    cells = (f"{early['mean_cosine']:.6f}", f"{late['one_minus_mean_cosine']:.2e}", f"{late['mean_norm']:.4f}",
             f"{layers['one_minus_mean_cosine']:.2e}".replace("0.00e+00", "0"), law[0], str(exponent),
             *(f"{fitted(program, scheme, start):.4f}" for start in (ORTHOGONAL, RANDOM)), f"{order(program, scheme):.3f}")
    return f"| {scheme} | " + " | ".join(cell.replace("-", "−") for cell in cells) + " |"


def table(program):
    head = ("scheme", "γ(5)", "1−γ(20)", "r(20)", "1−γ, 20 layers", "law of 1−γ", "p", "p fitted, orthogonal",
            "p fitted, random", "order of layers")
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *(row(program, scheme) for scheme in LAWS)])


def picture(program):
    data, gaps, norms = "", [], []
    for k, (scheme, colour) in enumerate(CURVES.items()):
        _, s, _ = flow(program, "--norm", scheme, *OWN.get(scheme, ()), *ORTHOGONAL, "--tolerance", 1e-12, "--time", 1e4,
                       "--output-spacing", "log", "--outputs", 200)
        points = (point for point in zip(s["time"], s["one_minus_mean_cosine"], s["mean_norm"])
                  if point[0] >= 0.01 and point[1] > 1e-11)
        data += f"$d{k} << EOD\n" + "".join(f"{t:.6g} {gap:.6g} {r:.6g}\n" for t, gap, r in points) + "EOD\n"
        style = f"with lines lw 2 lc rgb '{colour}'"
        gaps.append(f"$d{k} using 1:2 {style} title '{TITLES.get(scheme, scheme)}'")
        if s["mean_norm"][-1] > 1.5:
            norms.append(f"$d{k} using 1:3 {style} title '{TITLES.get(scheme, scheme)}'")
    dashed = "with lines lw 1.5 lc rgb '#22262b' dt 3"
    gaps.append(f"[1e2:1e4] {K}/x**2 {dashed} title 'K/t², K/4t', [1e2:1e4] {K}/(4*x) {dashed} notitle")
    norms.append(f"1 with lines lw 2 lc rgb '{CURVES['post']}' title 'all others'")
    script = data + FIGURE + "plot " + ", ".join(gaps) + """
set title "{/:Bold How long tokens become}"
set ylabel 'mean length r'
set yrange [0.5:2e4]
set key top left Left reverse
plot """ + ", ".join(norms) + "\nunset multiplot\n"
    done = subprocess.run(["gnuplot", "-d"], input=script, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode != 0 or not done.stdout:
        sys.exit(done.stderr.strip() or "gnuplot drew nothing")
    return done.stdout.replace('"DejaVu Sans"', '"DejaVu Sans, Verdana, sans-serif"')


def main():
    if len(sys.argv) not in (2, 3) or not os.access(sys.argv[1], os.X_OK):
        sys.exit(__doc__)
    program = str(pathlib.Path(sys.argv[1]).resolve())
    docs = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else pathlib.Path(__file__).resolve().parents[1]) / "docs"
    page = docs / "theory" / "normalisation.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{table(program)}\n\n{END}{after}")
    (docs / "pictures" / "normalisation.svg").write_text(picture(program))


if __name__ == "__main__":
    main()
