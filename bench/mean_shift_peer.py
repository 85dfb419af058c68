"""Mean shift beside scikit-learn's MeanShift and a plain NumPy one, on the same points in the same run, two threads each.

    /usr/bin/python3 bench/mean_shift_peer.py PROGRAM [--small] [--directory DIR]

PROGRAM is the built attractor. Points: mixtures of Gaussian clouds, 10^5 in dimension 50 and in the plane (--small:
10^4), and scikit-learn's digits (1797 images, dimension 64), which come with it. The bandwidth h is that of
`attractor cluster --bandwidth auto`.
    numpy   the same algorithm: Gaussian kernel, same h, the same number of seeds, matrix products, steps below 1e-9 h.
            Its modes must be ours.
    flat    scikit-learn with radius h. Its kernel is flat, so it is another algorithm: in high dimension no two points
            are that near and every seed stays where it is, which finds nothing.
    tuned   scikit-learn with the radius that suits it best: of eight between h and 1.2 h sqrt(d + 2), tried on 5000 points
            (not timed), the one whose labels agree best with the truth. (Equal variance, h sqrt(d + 2), is often too wide.)
    binned  tuned with bin_seeding=True, which chooses its own seeds; left out where there would be more than MOST of them.
"rand" is the adjusted Rand index with the truth: 1 for the same clusters, 0 for chance. A ratio says something only where
the peer's is comparable with ours. With all points as seeds, its default, scikit-learn takes points / seeds as long:
"tuned_all_points" is that product, not a measurement.
Ours runs with as many seeds as the peers and again with the default of 2000. Seconds are wall time of one run, ours the
mean of two, before and after the peers, with reading the file and starting the program; "load" is that of the machine.
"blas" names NumPy's: install libopenblas0, the reference one is no fair peer.
A table goes to stderr, one JSON object to stdout. Status 1 if modes differ, or ours depend on the threads; no time is
ever asserted.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

THREADS, MOST = 2, 500
for library in ("OPENBLAS", "OMP", "MKL", "BLIS"):  # before NumPy loads it
    os.environ[f"{library}_NUM_THREADS"] = str(THREADS)
import numpy as np


def mixture(points, dim, clouds, spread):
    """Clouds of unequal sizes and widths."""
    random = np.random.default_rng(dim)
    centres = spread * random.standard_normal((clouds, dim))
    share = random.random(clouds) + 0.3
    cloud = random.choice(clouds, points, p=share / share.sum())
    width = np.where(cloud % 2, 1.3, 0.7)[:, None]
    return centres[cloud] + width * random.standard_normal((points, dim)), cloud


def digits():
    from sklearn.datasets import load_digits
    return load_digits(return_X_y=True)


def timed(function, *arguments, **options):
    begin = time.perf_counter()
    result = function(*arguments, **options)
    return time.perf_counter() - begin, result


def ours(program, directory, seeds, bandwidth, threads):
    command = [program, "cluster", directory / "points.npy", "--seeds", seeds, "--bandwidth", bandwidth,
               "--threads", threads, "--modes-out", directory / "modes.npy", "--labels-out",
               directory / "labels.npy", "--json", "--quiet"]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout), np.load(directory / "modes.npy"), np.load(directory / "labels.npy")


def numpy_mean_shift(x, starts, h):
    """Ends of all ascents, those that have arrived left in peace."""
    at, squares = starts.copy(), (x * x).sum(1)
    climbing = np.arange(len(at))
    while len(climbing):
        y = at[climbing]
        logits = (y @ x.T - squares / 2) / h**2
        weights = np.exp(logits - logits.max(1, keepdims=True))
        new = weights @ x / weights.sum(1, keepdims=True)
        at[climbing] = new
        climbing = climbing[np.linalg.norm(new - y, axis=1) > 1e-9 * h]
    return at


def seeds_for_numpy(x, modes, seeds):
    """The point nearest to each mode of ours, the largest clusters first, then random ones."""
    near = [int(((x - mode) ** 2).sum(1).argmin()) for mode in modes[:seeds]]
    others = np.random.default_rng(0).permutation(len(x))
    return np.array(near + [i for i in others if i not in near][: seeds - len(near)])


def distances(a, b):
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(2))


def sklearn_fit(x, radius, **options):
    from sklearn.cluster import MeanShift
    return MeanShift(bandwidth=radius, n_jobs=THREADS, **options).fit(x)


def blas():
    with open("/proc/self/maps") as maps:
        files = {os.path.realpath(line.split()[-1]) for line in maps if "blas" in line and ".so" in line}
    return sorted(file for file in files if os.path.basename(file).startswith("lib"))


def best_radius(x, truth, h):
    """Found on some of the points, with 100 seeds."""
    from sklearn.metrics import adjusted_rand_score
    some = np.random.default_rng(1).permutation(len(x))[:5000]
    radii = h * np.geomspace(1, 1.2 * (x.shape[1] + 2) ** 0.5, 8)
    scores = [adjusted_rand_score(truth[some], sklearn_fit(x[some], radius, seeds=x[some[:100]]).labels_)
              for radius in radii]
    return float(radii[int(np.argmax(scores))])


def compare(program, directory, name, data, seeds):
    from sklearn.cluster import get_bin_seeds
    from sklearn.metrics import adjusted_rand_score as rand
    x, truth = data
    np.save(directory / "points.npy", x)
    n, dim = x.shape
    h = ours(program, directory, min(seeds, 50), "auto", THREADS)[0]["bandwidth"]
    entry = {"name": name, "points": n, "dim": dim, "bandwidth": h, "seeds": seeds}

    entry["ours"], (summary, modes, labels) = timed(ours, program, directory, seeds, h, THREADS)
    entry["ours_default_seeds"], (full, all_modes, full_labels) = timed(ours, program, directory, 2000, h, THREADS)
    alone = ours(program, directory, seeds, h, 1)
    entry["same_on_any_threads"] = bool(np.array_equal(modes, alone[1]) and np.array_equal(labels, alone[2]))
    entry["clusters"], entry["clusters_default_seeds"] = summary["clusters"], full["clusters"]
    entry["iterations"] = summary["iterations"]

    starts = x[seeds_for_numpy(x, all_modes, seeds)]
    entry["numpy"], ends = timed(numpy_mean_shift, x, starts, h)
    gap = distances(ends, all_modes) / h
    entry["our_modes_that_are_ends"] = float((gap.min(0)[:seeds] < 1e-4).mean())
    entry["ends_that_are_our_modes"] = float((gap.min(1) < 1e-4).mean())  # an outlier may be a mode that we did not seed
    entry["largest_difference"] = float(gap.min(0)[:seeds].max())
    entry["same_modes"] = entry["our_modes_that_are_ends"] == 1 and entry["ends_that_are_our_modes"] >= 0.95

    entry["radius"] = best_radius(x, truth, h)
    entry["rand"] = {"ours": rand(truth, labels), "ours_default_seeds": rand(truth, full_labels)}
    drawn = x[np.random.default_rng(2).permutation(n)[:seeds]]  # at random, as ours are
    runs = {"flat": (h, {"seeds": drawn}), "tuned": (entry["radius"], {"seeds": drawn}),
            "binned": (entry["radius"], {"bin_seeding": True})}
    entry["bins"] = len(get_bin_seeds(x, entry["radius"]))
    for peer, (radius, options) in runs.items():
        if peer == "binned" and entry["bins"] > MOST:
            continue
        entry[peer], fitted = timed(sklearn_fit, x, radius, **options)
        entry[f"{peer}_clusters"], entry["rand"][peer] = len(fitted.cluster_centers_), rand(truth, fitted.labels_)
    entry["tuned_all_points"] = entry["tuned"] * n / seeds
    after = timed(ours, program, directory, seeds, h, THREADS)[0]
    entry["ours_each"], entry["load"] = [entry["ours"], after], os.getloadavg()[0]
    entry["ours"] = (entry["ours"] + after) / 2
    entry["ratio"] = {peer: entry[peer] / entry["ours"] for peer in ("numpy", "flat", "tuned", "binned") if peer in entry}
    print_row(entry)
    return entry


def print_row(entry):
    cells = [f"{entry['name']:>8}{entry['points']:>8}{entry['dim']:>4}{entry['seeds']:>6}{entry['clusters']:>9}",
             f"{entry['ours']:>9.2f}{entry['ours_default_seeds']:>9.2f}"]
    for peer in ("numpy", "flat", "tuned", "binned"):
        cells.append(f"{entry[peer]:>9.2f}{entry['ratio'][peer]:>7.1f}x" if peer in entry else f"{'-':>9}{'-':>8}")
    print("".join(cells), file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, help="the built attractor")
    parser.add_argument("--small", action="store_true", help="10^4 points")
    parser.add_argument("--directory", help="where the data go for the time being")
    arguments = parser.parse_args()
    points = 10_000 if arguments.small else 100_000
    print(f"{'points':>8}{'n':>8}{'d':>4}{'seeds':>6}{'clusters':>9}{'ours s':>9}{'2000':>9}" +
          "".join(f"{peer:>9}{'ratio':>8}" for peer in ("numpy", "flat", "tuned", "binned")), file=sys.stderr)
    cases = [("clouds", mixture(points, 50, 20, 2.0), 200), ("plane", mixture(points, 2, 12, 5.0), 100),
             ("digits", digits(), 200)]
    with tempfile.TemporaryDirectory(prefix="attractor-bench-", dir=arguments.directory) as directory:
        results = [compare(arguments.program.resolve(), pathlib.Path(directory), *case) for case in cases]
    import sklearn
    good = all(r["same_modes"] and r["same_on_any_threads"] for r in results)
    print(json.dumps({"good": good, "sklearn": sklearn.__version__, "blas": blas(), "cases": results}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
