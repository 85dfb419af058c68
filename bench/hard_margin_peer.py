"""The hard-margin solver beside cvxopt's on the same data in the same run, one thread each (ours also on two).

    /usr/bin/python3 bench/hard_margin_peer.py PROGRAM [--quick|--large] [--directory DIR]

PROGRAM is the built bench/hard_margin_timing. Three kinds of data, all feasible, of unit tokens in random directions
with about d of n(T - 1) constraints tight: "random", each input chooses the token that a hidden direction prefers;
"planted", the chosen token leans towards it; "nearly infeasible", in each input a second token is as far along that
direction as the chosen one, but for a thousandth. The largest shape is solved of each kind. cvxopt.solvers.qp
runs as it comes and with all tolerances at 1e-12; building its matrices is not timed, nor is reading our file. "blas"
names the BLAS it used: install libopenblas0, the reference one is no fair peer. A table goes to stderr, one JSON object
to stdout. --quick leaves the largest shape out and runs two rounds; --large solves n = 10^4, T = 128, d = 512 instead,
ours only: 5.2 GB in DIR.
Status 1 if our own certificate or memory is not what we promise; no time is ever asserted.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for library in ("OPENBLAS", "OMP", "MKL", "BLIS"):  # before NumPy loads it
    os.environ[f"{library}_NUM_THREADS"] = "1"
import numpy as np

SHAPES = [  # (n, T, d), solutions in one round, rounds
    ((6, 8, 10), 20, 5),
    ((64, 32, 64), 5, 5),
    ((256, 64, 128), 1, 5),
    ((1024, 64, 256), 1, 2),
]
LARGE = (10_000, 128, 512)
KINDS = ("random", "planted", "nearly infeasible")
TIGHT = {"abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
HEADER = ("data", "n", "T", "d", "support", "gap", "ours s", "2 thr. s", "cvxopt s", "error", "violation", "ratio", "tight s",
          "error", "violation", "ratio")


def write_problem(directory, shape, seed, kind="random"):
    """X.npy and choice.npy, made input by input, so that memory does not limit their size."""
    inputs, tokens, dim = shape
    random = np.random.default_rng(seed)
    direction = random.standard_normal(dim)
    x = np.lib.format.open_memmap(directory / "X.npy", mode="w+", dtype="<f8", shape=shape)
    choice = np.empty(inputs, dtype=np.int64)
    for i in range(inputs):
        keys = random.standard_normal((tokens, dim))
        if kind == "planted":
            choice[i] = random.integers(tokens)
            keys[choice[i]] += 6 * direction / np.linalg.norm(direction)
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        along = keys @ direction
        choice[i] = along.argmax()
        if kind == "nearly infeasible":
            second = np.argsort(along)[-2]
            keys[second] += (0.999 * along[choice[i]] - along[second]) * direction / (direction @ direction)
        x[i] = keys
    x.flush()
    np.save(directory / "choice.npy", choice)
    return x, choice


def constraints(x, choice):
    """All k_chosen - k_t, t != chosen."""
    inputs, tokens, dim = x.shape
    rows = x[np.arange(inputs), choice][:, None, :] - x
    return rows[np.arange(tokens) != choice[:, None]].reshape(inputs * (tokens - 1), dim)


def ours(program, directory, threads, repeats):
    command = [program, directory / "X.npy", directory / "choice.npy", str(threads), str(repeats)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Peer:
    """min |p|^2 / 2 subject to G p >= 1, as the authors of arXiv 2306.13596 hand it to cvxopt."""

    def __init__(self, rows):
        import cvxopt
        self.solvers = cvxopt.solvers
        dim = rows.shape[1]
        self.problem = (cvxopt.matrix(np.eye(dim)), cvxopt.matrix(0.0, (dim, 1)), cvxopt.matrix(-rows),
                        cvxopt.matrix(-1.0, (len(rows), 1)))

    def solve(self, options, repeats):
        """Seconds of the best solution, and p."""
        self.solvers.options.clear()
        self.solvers.options.update(options, show_progress=False)
        best = np.inf
        for _ in range(repeats):
            begin = time.perf_counter()
            solution = self.solvers.qp(*self.problem)
            best = min(best, time.perf_counter() - begin)
        return best, np.array(solution["x"]).ravel()


def compare(program, directory, shape, kind, repeats, rounds):
    x, choice = write_problem(directory, shape, shape[0], kind)
    rows = constraints(np.asarray(x), choice)
    peer = Peer(rows)
    single, double, default, tight = [], [], [], []
    for _ in range(rounds):
        single.append(ours(program, directory, 1, repeats))
        default.append(peer.solve({}, repeats))
        double.append(ours(program, directory, 2, repeats))
        tight.append(peer.solve(TIGHT, repeats))
    best = min(single, key=lambda run: run["seconds"])
    result = {
        "shape": shape,
        "kind": kind,
        "status": best["status"],
        "support": best["support"],
        "rounds": best["rounds"],
        "ours_seconds": best["seconds"],
        "ours_seconds_2_threads": min(run["seconds"] for run in double),
        "ours_gap": best["relative_gap"],
        "same_on_2_threads": best["p"] == double[0]["p"],
    }
    p = np.array(best["p"])
    for name, runs in (("cvxopt", default), ("cvxopt_tight", tight)):
        seconds, found = min(runs, key=lambda run: run[0])
        result |= {
            f"{name}_seconds": seconds,
            f"{name}_error": np.linalg.norm(found - p) / np.linalg.norm(p),
            f"{name}_violation": max(0.0, 1 - (rows @ found).min()),
            ("ratio" if name == "cvxopt" else "ratio_tight"): seconds / best["seconds"],
        }
    return result


def blas():
    """Files of the BLAS that NumPy and cvxopt use in this process."""
    with open("/proc/self/maps") as maps:
        files = {os.path.realpath(line.split()[-1]) for line in maps if "blas" in line and ".so" in line}
    return sorted(file for file in files if os.path.basename(file).startswith("lib"))


def print_row(result):
    r = result
    cells = [r["kind"].split()[0], *map(str, r["shape"]), str(r["support"]), f"{r['ours_gap']:.0e}", f"{r['ours_seconds']:.3g}",
             f"{r['ours_seconds_2_threads']:.3g}"]
    for name, ratio in (("cvxopt", "ratio"), ("cvxopt_tight", "ratio_tight")):
        cells += [f"{r[name + '_seconds']:.3g}", f"{r[name + '_error']:.0e}", f"{r[name + '_violation']:.0e}",
                  f"{r[ratio]:.0f}x"]
    print_cells(cells)


def print_cells(cells):
    print("".join(f"{cell:>10}" for cell in cells), file=sys.stderr, flush=True)


def compare_all(program, directory, shapes):
    print_cells(HEADER)
    results = []
    for shape, repeats, rounds in shapes:
        for kind in KINDS if shape == shapes[-1][0] else KINDS[:1]:
            results.append(compare(program, directory, shape, kind, repeats, rounds))
            print_row(results[-1])
    good = all(r["status"] == "optimal" and r["ours_gap"] <= 1e-12 and r["same_on_2_threads"] for r in results)
    return {"good": good, "blas": blas(), "shapes": results}


def large(program, directory):
    write_problem(directory, LARGE, seed=LARGE[0])
    runs = [ours(program, directory, threads, 1) for threads in (1, 2, 1, 2)]
    result = {key: runs[0][key] for key in ("status", "relative_gap", "norm", "support", "rounds", "iterations")}
    result |= {"shape": LARGE, "seconds": min(run["seconds"] for run in runs[::2]),
               "seconds_2_threads": min(run["seconds"] for run in runs[1::2]),
               "memory_over_data": max(run["peak_bytes"] / run["data_bytes"] for run in runs),
               "same_on_2_threads": all(run["p"] == runs[0]["p"] for run in runs)}
    for name, value in result.items():
        print(f"{name:>20}  {value}", file=sys.stderr)
    result["good"] = (result["status"] == "optimal" and result["relative_gap"] <= 1e-9 and
                      result["memory_over_data"] <= 2 and result["same_on_2_threads"])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, help="the built bench/hard_margin_timing")
    parser.add_argument("--quick", action="store_true", help="without the largest shape, two rounds")
    parser.add_argument("--large", action="store_true", help="n = 10^4, T = 128, d = 512, ours only")
    parser.add_argument("--directory", help="where the data go for the time being")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attractor-bench-", dir=arguments.directory) as directory:
        problem = arguments.program.resolve(), pathlib.Path(directory)
        quick = [(shape, repeats, 2) for shape, repeats, _ in SHAPES[:-1]]
        report = large(*problem) if arguments.large else compare_all(*problem, quick if arguments.quick else SHAPES)
    print(json.dumps(report))
    return 0 if report["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
