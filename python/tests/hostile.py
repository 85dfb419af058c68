"""Wrong input of random kinds (types, shapes, values) through every function of the package: no crash, no leak, always a sentence.

usage: hostile.py [COUNT] [SEED]     COUNT calls, 1000 if not given

Each call takes a function, a sound set of arguments for it, and puts something else in the place of one or two of them. What comes
back must be a result (the change may have been harmless) or ValueError, TypeError (a keyword that does not exist), NotDelivered.
The memory of the process must not grow from the second half of the calls to a repetition of it. Meant for a library built with
AddressSanitizer (preset asan), which ends the process on the first fault; the sentences are checked anywhere.
"""
import gc
import math
import resource
import sys
import warnings

import numpy as np

import attractor
from attractor import commands

warnings.filterwarnings("ignore")
RANDOM = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


def unit(n, d):
    x = np.random.default_rng(n * d).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


class Liar:
    """Says it is an array and raises."""
    shape = (3, 3)

    def __array__(self, *args):
        raise RuntimeError("no")


class Odd:
    def __float__(self):
        raise OverflowError("no")

    def __index__(self):
        raise OverflowError("no")

    def __str__(self):
        raise RuntimeError("no")


def rubbish():
    """Something that hardly any parameter takes."""
    kinds = [
        lambda: None, lambda: object(), lambda: Odd(), lambda: Liar(), lambda: [], lambda: {}, lambda: set(), lambda: (), lambda: "",
        lambda: "nonsense", lambda: "\x00", lambda: "\ud800", lambda: b"bytes", lambda: "x" * 10**5, lambda: True, lambda: -1, lambda: 0,
        lambda: 10**30, lambda: -10**400, lambda: 0.5, lambda: math.nan, lambda: math.inf, lambda: -math.inf, lambda: 1e308, lambda: 1e-320,
        lambda: 1 + 2j, lambda: lambda x: x, lambda: len, lambda: np, lambda: np.float16(1.5), lambda: np.bool_(True), lambda: np.complex64(1j),
        lambda: np.datetime64("2020"), lambda: np.empty((0, 3)), lambda: np.empty((3, 0)), lambda: np.full((4, 3), np.nan), lambda: np.zeros((4, 3)),
        lambda: np.ones((4, 3)) * 1e200, lambda: np.ones(3), lambda: np.ones((2, 2, 2, 2)), lambda: np.eye(3) * 1j, lambda: np.array([[object()]]),
        lambda: np.array([["a"]]), lambda: np.broadcast_to(1.0, (10**11, 3)), lambda: np.ma.masked_array(np.eye(3), np.eye(3)),
        lambda: np.eye(3)[::-1, ::-1], lambda: np.eye(3, dtype=">f4"), lambda: np.eye(3, dtype=bool), lambda: np.array(3), lambda: [[1, 2], [3]],
        lambda: [["a"]], lambda: [None], lambda: {"X": 1}, lambda: {1: 2}, lambda: np.random.default_rng(0).normal(size=(5, 4, 3)),
        lambda: np.zeros((3, 3), [("a", float)]), lambda: memoryview(b"abc"), lambda: range(3), lambda: (i for i in range(3)), lambda: Ellipsis,
        lambda: np.random.default_rng(0).integers(-5, 5, size=(6, 2)), lambda: unit(7, 5), lambda: "/nonexistent/file.npy", lambda: "../../..",
    ]
    return kinds[RANDOM.integers(len(kinds))]()


def command_calls():
    """Every command with quick settings."""
    x = unit(12, 3)
    quick = {
        "flow": dict(tokens=8, dim=3, beta=2.0, time=0.5, outputs=2), "select": dict(data="example:multi", steps=5),
        "bridge": dict(data="example:authors-like", log10_time=1, tokens=4, time=0.1, dim=2), "reduce equiangular": dict(beta=2.0, tokens=8),
        "reduce pair": dict(beta=4.0), "reduce clusters": dict(beta=9.0), "stability": dict(dim=2, beta=4.0),
        "context": dict(tokens=1024, rho=0.5), "forecast": dict(depth=4, beta=4.0, tokens=64), "meanfield": dict(beta=2.0, time=0.1, outputs=2),
        "stationary": dict(beta=2.0), "phase": dict(dim=2, beta=[1.0, 2.0], replicates=64, time=1.0, outputs=2), "cluster": dict(points=x, bandwidth=0.5),
        "compare": dict(first=attractor.flow(tokens=4, time=0.1), second=attractor.flow(tokens=4, time=0.1)), "measure": dict(tokens=x, beta=2.0),
        "architect": dict(depth=8, beta=4.0, context=1024), "inspect": dict(states=np.random.default_rng(1).normal(size=(3, 6, 4))),
    }
    for command in commands.REGISTRY:
        place = attractor
        for part in command["name"].split():
            place = getattr(place, commands.python_name(part))
        names = [commands.python_name(p["name"]) for p in command["parameters"] if not p["name"].endswith("-out")]
        # Numbers that are allowed and take hours are no test of what is refused.
        slow = {"tokens", "dim", "steps", "replicates", "outputs", "time", "log10_time", "max_steps", "heads", "modes", "snapshots", "width",
                "seeds", "iterations", "basins_side", "basins_samples", "local_limit", "path_starts", "depth", "layers", "noise_substeps",
                "rank", "inputs", "checkpoints", "noise", "common_noise", "accuracy", "tolerance", "step", "stepper", "window", "exact_limit"}
        yield command["name"], place, quick[command["name"]], [n for n in names if n not in slow], [n for n in names if n in slow]


def block_calls():
    x, keys = unit(12, 3), np.random.default_rng(2).normal(size=(4, 3, 5))
    yield "velocity", attractor.velocity, dict(x=x, beta=2.0, masses=np.ones(12), engine="dense", dynamics="sa", space="sphere",
                                               accuracy=1e-9, precision="double", log_unit=0.0, out=np.empty_like(x))
    yield "attention", attractor.attention, dict(x=x, query=np.eye(3), key=np.eye(3), value=np.eye(3), beta=1.0, rule="sa", mask="full", window=3,
                                                 distance_bias=0.1, output=np.eye(3), kernel="gaussian")
    yield "energy", attractor.energy, dict(x=x, beta=2.0, masses=np.ones(12), seed=1, exact_limit=100)
    yield "clusters", attractor.clusters, dict(x=x, cosine=0.9)
    yield "clusters", attractor.clusters, dict(x=x, radius=0.9)
    yield "hard_margin", attractor.hard_margin, dict(keys=keys, choice=[0, 1, 2, 0], relaxed=[1], tolerance=1e-9)
    yield "nuclear_margin", attractor.nuclear_margin, dict(tokens=keys, queries=keys[:, 0], choice=[0, 1, 2, 0], tolerance=1e-6)
    yield "equiangular", lambda time, cosine, **k: (attractor.equiangular(**k).cosine(time), attractor.equiangular(**k).log_time(cosine)), dict(
        tokens=8, beta=2.0, cosine0=0.1, norm="post", dynamics="sa", time=[1.0], cosine=[0.5])
    yield "Flow", lambda points, drift, space, observe, **k: attractor.Flow(drift, space).run(points, observe=observe, **k), dict(
        points=x, drift=lambda x: -x, space="euclidean", observe={"a": lambda x: x.mean()}, tolerance=1e-6, stepper="adaptive", outputs=3, at=[0.0, 0.2],
        time=0.5, rest=1e-6, output_spacing=None)
    yield "Simulation", lambda count, until, **k: attractor.Simulation(**k).step(count).run_until(until), dict(
        tokens=8, beta=2.0, count=2, until=1.0, mask="full", norm="post", seed=1, init="uniform")
    yield "problem", lambda name, **k: attractor.problem(name, **k), dict(name="multi", seed=1, noise=0.1)
    yield "sweep", attractor.sweep, dict(command="flow", measure=["clusters"], fixed={"tokens": 4, "time": 0.1}, grid={"beta": [1.0]}, replicates=1,
                                         stop=None, figure=[])
    yield "reproduce", attractor.reproduce, dict(id="pairing", quick=True)
    yield "merge", attractor.merge, dict(parts=["a"], out="/nonexistent/b")
    yield "load", attractor.load, dict(directory="/nonexistent")
    yield "set_threads", attractor.set_threads, dict(count=2)
    from attractor.estimators import AttentionSVC, BlurringMeanShift, MeanShift
    y = np.arange(12) % 2
    yield "MeanShift", lambda X, **k: MeanShift(**k).fit(X).predict(X), dict(X=x, bandwidth=0.5, space="euclidean", seeds=5, tolerance=1e-6, merge=0.1,
                                                                            max_iter=100, random_state=1)
    yield "BlurringMeanShift", lambda X, **k: BlurringMeanShift(**k).fit(X), dict(X=x, bandwidth=0.5, space="sphere", tolerance=1e-3, merge=0.1, max_iter=50)
    yield "AttentionSVC", lambda X, y, **k: AttentionSVC(**k).fit(X, y).predict(X), dict(X=np.random.default_rng(3).normal(size=(12, 3, 4)), y=y, steps=5,
                                                                                        step=0.1, loss="logistic", optimizer="ngd", head=None)


CALLS = [(n, f, g, [*g, *p], s) for n, f, g, p, s in command_calls()] + [(n, f, g, [*g], []) for n, f, g in block_calls()]
HARMLESS = {"reproduce": {"quick"}, "Simulation": {"until", "count"}, "sweep": {"replicates"}, "flow": set()}


def refuses_or_answers(name, function, arguments):
    """The class of what came; a fault is a word."""
    try:
        function(**arguments)
        return "answered"
    except (ValueError, TypeError, attractor.NotDelivered) as error:
        words = str(error)
        sound = words.strip() and "incompatible function arguments" not in words and "Traceback" not in words
        return type(error).__name__ if sound else f"no sentence: {type(error).__name__}: {words[:200]!r}"
    except Exception as error:
        # What an object of the caller raised itself goes on; so do the errors of Python's own open().
        own = str(error) == "no" or isinstance(error, OSError)
        return "its own" if own else f"{type(error).__name__}: {error}"


def attempt(calls):
    seen, faults = {}, []
    for name, function, given, places, numbers in calls:
        arguments = dict(given)
        chosen = RANDOM.choice(len(places), size=min(len(places), int(RANDOM.integers(1, 3))), replace=False)
        for k in chosen:
            if places[k] not in HARMLESS.get(name, ()):
                arguments[places[k]] = rubbish()
        for place in numbers:  # these get what no number can be
            if RANDOM.random() < 0.1:
                arguments[place] = [object(), "nonsense", -1, math.nan, [1, 2], {}, b"1", 1j][RANDOM.integers(8)]
        came = refuses_or_answers(name, function, arguments)
        seen[came.split(":")[0]] = seen.get(came.split(":")[0], 0) + 1
        if ":" in came:
            changed = {k: repr(v)[:60] for k, v in arguments.items() if k not in given or v is not given[k]}
            faults.append(f"{name}({changed}) -> {came}")
    return seen, faults


def memory():
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    picked = [CALLS[k % len(CALLS)] for k in RANDOM.permutation(COUNT)]
    seen, faults = attempt(picked)
    print(f"{COUNT} calls of {len(CALLS)} functions: {seen}")
    for fault in faults[:20]:
        print("FAULT", fault)
    # A leak grows with repetition; what is reserved once (pools, caches) does not. Wrong arrays of a megabyte, a thousand times.
    wrong = np.full((2**17, 1), np.nan)
    for _ in range(50):
        refuses_or_answers("velocity", attractor.velocity, dict(x=wrong))
    before = memory()
    for _ in range(1000):
        refuses_or_answers("velocity", attractor.velocity, dict(x=wrong))
        refuses_or_answers("cluster", attractor.cluster, dict(points=wrong))
    grown = (memory() - before) / 1024
    print(f"peak memory grew by {grown:.1f} MB in 2000 refused calls with 1 MB each")
    if grown > 100:  # a leak of one array a call would be 1000 MB or more
        faults.append("memory grows")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
