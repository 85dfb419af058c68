"""What a user of Python would write, beside the calls of the package that do the same: lines of code and time at equal measured error, in one run.

    PYTHONPATH=build/release/python /usr/bin/python3 bench/python_peer.py [--quick] [--markdown] [--timing FILE]

flows     five flows (beta = 1, 2, 4, 8, 16) of 1024 tokens in dimension 16 to t = 10. Every side takes the coarsest of its settings (tolerance, or
          number of steps) whose worst error of a token, against a run of ours at 1e-12 with adaptive8, is at most 1e-6 in all five.
torch     a loop of Runge-Kutta steps with softmax of PyTorch, as one writes it; scipy: solve_ivp with attention of NumPy.
shift     mean shift of 10^5 points, a mixture of Gaussian clouds, in dimension 8 and 50, from 200 seeds each. scikit-learn's kernel is flat, another
          algorithm: it has the radius whose labels fit the truth best, of eight, on 5000 points (not timed). "rand" compares labels with the truth.
margin    256 x 64 tokens of dimension 128, a choice that can be separated, against cvxopt with its matrices built; error: relative, of the norm,
          against the certified bounds of ours.
call      one velocity of 8 tokens from Python, and by C++ if FILE is the program velocity_timing of the bench preset; two flows on two threads of
          Python, a thread each, against one after the other.
Lines are those of the functions below without their first. Seconds are wall time on all cores, ours best of three, theirs the accepted run.
A table goes to stdout; --markdown also writes it into docs/performance.md. No time is ever asserted; status 1 if a side misses the error.
"""
import argparse
import inspect
import pathlib
import platform
import subprocess
import sys
import threading
import time

import numpy as np

import attractor

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE, MARK = ROOT / "docs/performance.md", "<!-- from Python -->"
BETAS, TARGET = (1, 2, 4, 8, 16), 1e-6
GOALS = """The goals were 5 for PyTorch, 20 for solve_ivp, 10 for mean shift and for cvxopt. solve_ivp misses it: it is adaptive and of the same order as ours, and NumPy has vectors for its
exponentials and two threads of BLAS for its products (how much each of these does was not taken apart). Mean shift misses it from equal seeds: scikit-learn's flat kernel looks at neighbours only,
where ours sums over all points that weigh; with all points as seeds, its default, scikit-learn would take 500 times as long.
"""


# ---- What one writes.

def our_flow(x, beta, end, tolerance):
    return attractor.flow(tokens=x, beta=beta, time=end, tolerance=tolerance, outputs=1).snapshots.positions[-1]


def torch_flow(x, beta, end, steps):
    import torch

    def velocity(x):
        a = torch.softmax(beta * (x @ x.T), dim=1) @ x
        return a - (a * x).sum(1, keepdim=True) * x

    x, h = torch.from_numpy(x), end / steps
    for _ in range(steps):
        k1 = velocity(x)
        k2 = velocity(x + h / 2 * k1)
        k3 = velocity(x + h / 2 * k2)
        k4 = velocity(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        x = x / x.norm(dim=1, keepdim=True)
    return x.numpy()


def scipy_flow(x, beta, end, tolerance):
    from scipy.integrate import solve_ivp

    def velocity(t, y):
        z = y.reshape(x.shape)
        logits = beta * z @ z.T
        weights = np.exp(logits - logits.max(1, keepdims=True))
        a = weights @ z / weights.sum(1, keepdims=True)
        return (a - (a * z).sum(1, keepdims=True) * z).ravel()

    y = solve_ivp(velocity, (0, end), x.ravel(), rtol=tolerance, atol=tolerance).y[:, -1].reshape(x.shape)
    return y / np.linalg.norm(y, axis=1, keepdims=True)


def our_shift(x, bandwidth, seeds):
    return attractor.MeanShift(bandwidth=bandwidth, seeds=seeds).fit(x).labels_


def sklearn_shift(x, bandwidth, seeds):
    from sklearn.cluster import MeanShift
    return MeanShift(bandwidth=bandwidth, seeds=x[:seeds], n_jobs=-1).fit(x).labels_


def our_margin(keys, choice):
    return attractor.hard_margin(keys, choice).norm


def cvxopt_margin(keys, choice):
    from cvxopt import matrix, solvers
    solvers.options["show_progress"] = False
    inputs, tokens, dim = keys.shape
    rows = [keys[i, t] - keys[i, choice[i]] for i in range(inputs) for t in range(tokens) if t != choice[i]]
    done = solvers.qp(matrix(np.eye(dim)), matrix(np.zeros(dim)), matrix(np.array(rows)), matrix(-np.ones(len(rows))))
    return float(np.linalg.norm(np.array(done["x"])))


# ---- Measuring.

def lines(function):
    return len([line for line in inspect.getsource(function).split("\n")[1:] if line.strip()])


def timed(function, *arguments, repeat=1):
    best, result = np.inf, None
    for _ in range(repeat):
        begin = time.perf_counter()
        result = function(*arguments)
        best = min(best, time.perf_counter() - begin)
    return best, result


def accepted(function, x, end, exact, settings, repeat=1):
    """(seconds for all betas, worst error, setting) of the first setting that is good enough in all of them."""
    for setting in settings:
        seconds = worst = 0
        for beta in BETAS:
            took, got = timed(function, x, beta, end, setting, repeat=repeat)
            seconds, worst = seconds + took, max(worst, np.abs(got - exact[beta]).max())
            if worst > TARGET:
                break
        else:
            return seconds, worst, setting
    sys.exit(f"{function.__name__}: no setting reaches an error of {TARGET}")


def flows(quick):
    n, dim, end = (256, 16, 4) if quick else (1024, 16, 10)
    x = np.random.default_rng(1).standard_normal((n, dim))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    exact = {b: attractor.flow(tokens=x, beta=b, time=end, tolerance=1e-12, stepper="adaptive8", outputs=1).snapshots.positions[-1] for b in BETAS}
    finer = [10.0**-k for k in range(4, 13)]
    ours = accepted(our_flow, x, end, exact, finer, repeat=3)
    rows = []
    for peer, settings in ((torch_flow, [10 * 2**k for k in range(10)]), (scipy_flow, finer)):
        theirs = accepted(peer, x, end, exact, settings)
        rows.append((f"five flows, n = {n}, d = {dim}, t = {end}: {'PyTorch, RK4' if peer is torch_flow else 'solve_ivp, NumPy'}", lines(our_flow),
                     lines(peer), ours[0], theirs[0], f"{ours[1]:.0e} and {theirs[1]:.0e} ({ours[2]:g}, {theirs[2]:g})"))
    return rows


def mixture(points, dim):
    random = np.random.default_rng(dim)
    cloud = random.integers(12, size=points)
    return 4 * random.standard_normal((12, dim))[cloud] + random.standard_normal((points, dim)), cloud


def shifts(quick):
    from sklearn.metrics import adjusted_rand_score as rand
    rows, seeds = [], 200
    for dim in (8, 50):
        x, truth = mixture(10**4 if quick else 10**5, dim)
        h = attractor.MeanShift(seeds=50).fit(x).bandwidth_
        radii = h * np.geomspace(1, 1.2 * (dim + 2) ** 0.5, 8)
        scores = [rand(truth[:5000], sklearn_shift(x[:5000], r, 100)) for r in radii]
        ours, theirs = timed(our_shift, x, h, seeds, repeat=3), timed(sklearn_shift, x, radii[int(np.argmax(scores))], seeds)
        rows.append((f"mean shift, {len(x)} points, d = {dim}: scikit-learn", lines(our_shift), lines(sklearn_shift), ours[0], theirs[0],
                     f"rand {rand(truth, ours[1]):.3f} and {rand(truth, theirs[1]):.3f}"))
    return rows


def margins(quick):
    shape = (64, 32, 64) if quick else (256, 64, 128)
    random = np.random.default_rng(2)
    keys = random.standard_normal(shape)
    direction = random.standard_normal(shape[2])
    choice = (keys @ direction).argmax(1)
    ours, theirs = timed(our_margin, keys, choice, repeat=3), timed(cvxopt_margin, keys, choice)
    m = attractor.hard_margin(keys, choice)
    middle = (m.lower + m.upper) / 2
    return [("hard margin, {} x {} tokens, d = {}: cvxopt".format(*shape), lines(our_margin), lines(cvxopt_margin), ours[0], theirs[0],
             f"{abs(ours[1] - middle) / middle:.0e} and {abs(theirs[1] - middle) / middle:.0e}")]


def overhead():
    """Microseconds of a call of velocity from Python."""
    x = np.random.default_rng(3).standard_normal((8, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    count = 20000
    return 1e6 * min(timed(lambda: [attractor.velocity(x, beta=4.0) for _ in range(count)])[0] for _ in range(5)) / count


def together():
    """How much faster two flows are on two threads of Python than one after the other."""
    attractor.set_threads(1)
    run = lambda: attractor.flow(tokens=1500, dim=64, beta=8, time=2, outputs=1, seed=1, stepper="rk4", step=0.05)
    best = 0
    for _ in range(3):
        one, _ = timed(lambda: (run(), run()))
        begin = time.perf_counter()
        threads = [threading.Thread(target=run) for _ in range(2)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        best = max(best, one / (time.perf_counter() - begin))
    attractor.set_threads(0)
    return best


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--timing", type=pathlib.Path)
    given = parser.parse_args()
    rows = flows(given.quick) + shifts(given.quick) + margins(given.quick)
    inside = subprocess.run([given.timing], capture_output=True, text=True, check=True).stdout.strip() + " µs from C++" if given.timing else "not measured from C++"
    text = "| | lines, ours | theirs | s, ours | theirs | ratio | error, ours and theirs |\n|---|---|---|---|---|---|---|\n"
    text += "".join(f"| {name} | {a} | {b} | {s:.3g} | {t:.3g} | {t / s:.1f} | {error} |\n" for name, a, b, s, t, error in rows)
    text += (f"\nOne velocity of 8 tokens: {overhead():.2f} µs from Python, {inside}. Two flows on two threads of Python: {together():.2f} times as fast as one after "
             "the other.\n\n" + GOALS)
    print(text)
    if given.markdown:
        head = PAGE.read_text(encoding="utf-8").split(MARK)[0].rstrip()
        words = (f"Measured on {time.strftime('%Y-%m-%d')} by `bench/python_peer.py --markdown` on {processor()}, two cores: what a user would write, and the call that does the same, "
                 "at equal measured error (in parentheses the tolerances or numbers of steps that give it). How: the head of that file.")
        PAGE.write_text(f"{head}\n\n{MARK}\n## From Python\n\n{words}\n\n{text}", encoding="utf-8")


main()
