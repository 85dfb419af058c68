"""Every option of `attractor flow` alone, and a seeded sample of combinations of all of them: each runs to finite numbers
(status 0), is refused in one sentence (2), or stops with a remedy (3). Nothing crashes, hangs or prints a NaN.
"""
import concurrent.futures
import json
import math
import pathlib
import random
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program

import h5py


COMBINATIONS, DEPTH, SEED = 200, 7, 20231218
SMALL = {"tokens": 7, "dim": 3, "time": 0.4, "outputs": 3, "max-steps": 3000}
MATRICES = ("identity", "gaussian", "goe", "wigner", "orthogonal", "psd", "matrix.h5", "wrong.h5", "missing.npy")
# No value where a flow has no energy law (dissipation), in R^d (energy_ratio), at t = 0 (log10_time), for fixed steps (tolerance_used), away from
# equilibria (perturbation_grows), beyond the range of
# double precision (energy; log_energy has it), and for more tokens than exact-limit.
MAY_BE_NULL = {"dissipation", "log_dissipation", "dissipation_relative_error", "dissipation_relative_unseen", "energy", "energy_ratio",
               "log10_time", "log10_solver_time", "tolerance_used", "perturbation_grows", "log10_growth_rate"}
ONLY_EXACT = {"attention_entropy", "attention_entropy_error", "layer_cosine"}

OPTIONS = {
    "dynamics": ("sa", "usa", "hardmax", "sinkhorn", "linear", "relu", "radial"),
    "kernel": ("gaussian", "laplace", "cauchy", "epanechnikov", "indicator"),
    "space": ("sphere", "euclidean", "attracted", "rescaled"),
    "beta": (-20, -1, 0, 0.5, 3, 60, 1e6),
    "noise": (0, 0.1, 1e6),
    "common-noise": (0, 0.3, 1e6),
    "noise-kind": ("additive", "multiplicative"), "noise-axes": ("axes.h5", "matrix.h5"), "noise-substeps": (1, 5),
    "query": MATRICES, "key": MATRICES, "value": (*MATRICES, "qk", "minus-qk"), "output": MATRICES,
    "heads": (1, 2, 5), "rank": (0, 1, 2, 9), "redraw": (0, 0.1, 0.15, 7),
    "mask": ("full", "causal"), "window": (0, 1, 3, 1000), "distance-bias": (0, 0.3, 1e9),
    "self": ("include", "exclude", "remove-own-value"), "sink-mass": (1e-12, 1, 5, 1e12), "sink-fixed": ("",),
    "qk-norm": ("none", "l2", "rms"), "query-gain": ("gain.h5", "matrix.h5"), "key-gain": ("gain.h5", "missing.npy"),
    "rope": ("none", "pairs", "halves"), "rope-base": (1.5, 1e4, 1e12), "rope-frequency": (-1e6, 0, 0.3), "rope-scaling": ("none", "linear", "ntk", "dynamic", "llama3", "yarn"),
    "rope-factor": (1, 3, 1e6), "rope-trained": (0, 4, 1e9),
    "norm": ("post", "pre", "mix", "peri", "sandwich", "ngpt", "ln-scaling", "damped-post", "deepnorm", "branch", "sqrt-scaling"),
    "alpha": (0.2, 1, 1e6), "alpha-power": (0, 0.5, 10), "switch-time": (0, 0.2, 0.25, 9),
    "deepnorm-scale": (1e-3, 1, 1e6), "gain": ("gain.h5", "matrix.h5"),
    "feed-forward-in": ("in.h5", "gain.h5"), "feed-forward-bias": ("bias.h5", "matrix.h5"), "feed-forward-out": ("out.h5", "missing.npy"),
    "feed-forward": ("none", "relu", "gelu"), "width": (0, 1, 9), "strength": (-1e6, -1, 0, 0.5, 1e6),
    "init": ("uniform", "hemisphere", "cap", "equiangular", "clusters", "circle", "angles", "file"),
    "tokens": (1, 2, 7, 30), "dim": (2, 3, 8), "seed": (0, 7, 2 ** 64 - 1), "rho": (-1, 0, 0.3, 1),
    "cap-angle": (1e-9, 0.5, math.pi), "centres": (1, 3, 99), "spread": (0, 0.1, math.pi), "mode": (0, 2, 50),
    "amplitude": (-10, 0, 0.5), "phase": (-10, 1), "angles": ("0", "0,1,2.5", "0,0,0"), "tokens-file": ("tokens.h5", "gain.h5"),
    "time": (0, 0.4, 1.1, "inf"), "log10-time": (-400, -0.5, 0.1), "stepper": ("auto", "adaptive", "adaptive3", "adaptive8", "layers", "euler", "rk4", "euler-maruyama"),
    "engine": ("auto", "auto", "dense", "circle", "sphere", "moments", "clumps"), "accuracy": (1e-12, 1e-4), "precision": ("double", "single"), "step": (0.05, 0.1, 5), "tolerance": (1e-14, 1e-8, 0.1), "max-steps": (1, 3000), "merge-radius": ("auto", "off", 1e-12, 0.01),
    "outputs": (1, 3, 40), "output-spacing": ("auto", "linear", "log", "steps"), "snapshots": ("auto", 2, 5),
    "cluster-cosine": ("auto", 0.5, 0.99999), "pair-threshold": (-1, 0.5, 1), "exact-limit": ("auto", 1, 4096),
    "threads": (0, 1, 2), "verify": ("",), "quiet": ("",),
}
# What an option needs beside it: mostly given together, since the refusals of a lone one are all alike.
BESIDE = {
    "kernel": {"dynamics": "radial"}, "noise-kind": {"noise": 0.1, "stepper": None}, "noise-axes": {"noise": 0.1, "noise-kind": None, "stepper": None},
    "noise-substeps": {"noise": 0.1, "stepper": None}, "rank": {"query": "gaussian", "key": "orthogonal"},
    "redraw": {"value": "gaussian"}, "alpha": {"norm": "ngpt"}, "alpha-power": {"norm": "ngpt"},
    "switch-time": {"norm": "mix"}, "sink-mass": {"mask": "causal"}, "sink-fixed": {"mask": "causal"}, "rope": {"dim": 8}, "rope-base": {"rope": "pairs", "dim": 8},
    "rope-frequency": {"rope": "halves", "dim": 2}, "rope-scaling": {"rope": "pairs", "dim": 8}, "rope-factor": {"rope": "halves", "rope-scaling": "ntk", "dim": 8},
    "rope-trained": {"rope": "pairs", "rope-scaling": "yarn", "dim": 8}, "deepnorm-scale": {"norm": "deepnorm"}, "width": {"feed-forward": "gelu"},
    "strength": {"feed-forward": "relu"}, "rho": {"init": "equiangular", "tokens": 3}, "cap-angle": {"init": "cap"},
    "centres": {"init": "clusters"}, "spread": {"init": "clusters"}, "mode": {"init": "circle"},
    "amplitude": {"init": "circle"}, "phase": {"init": "circle"}, "angles": {"init": "angles", "tokens": None},
    "tokens-file": {"init": "file", "tokens": None}, "log10-time": {"time": None},
    "feed-forward-in": {"feed-forward": "relu", "feed-forward-out": "out.h5"}, "feed-forward-out": {"feed-forward": "gelu", "feed-forward-in": "in.h5"},
    "feed-forward-bias": {"feed-forward": "relu", "feed-forward-in": "in.h5", "feed-forward-out": "out.h5"}, "step": {"stepper": "layers"},
}
# How a run is kept and continued is tested in runs.py; --json is always on here.
ELSEWHERE = {"help", "out", "overwrite", "resume", "config", "checkpoint-seconds", "json", "figures", "no-figures"}


def command(options):
    """The arguments; None: left out, "": a flag."""
    options = {**SMALL, **options}
    return [f"--{name}={value}" if value != "" else f"--{name}" for name, value in options.items() if value is not None]


def combination(draw):
    case = {}
    for name in draw.sample(sorted(OPTIONS), draw.randint(2, DEPTH)):
        needs = BESIDE.get(name, {}) if draw.random() < 0.9 else {}
        if name not in case and not any(n in case and case[n] != value for n, value in needs.items()):
            case[name] = draw.choice(OPTIONS[name])
            case.update(needs)
    return case


def no_constant(word):
    raise ValueError(f"{word} in JSON")


class Combinations(program.ProgramTest):
    def setUp(self):
        super().setUp()
        files = {"matrix": [[0.5, -0.2, 0.1], [0.3, 0.9, 0.0], [-0.4, 0.2, -0.7]], "wrong": [[1.0, 2.0, 3.0]],
                 "in": [[0.1 * (i - j) for j in range(3)] for i in range(12)], "bias": [0.05 * i for i in range(12)],
                 "out": [[0.1 * (i + j) - 0.5 for j in range(12)] for i in range(3)], "gain": [1.0, 0.5, -2.0], "axes": [1.0, 0.0, 2.0], "tokens": [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.3, 0.3, 0.3], [0.0, -1.0, 0.5]]}
        for name, rows in files.items():
            with h5py.File(self.directory / f"{name}.h5", "w") as f:
                f["x"] = rows

    def fault(self, numbered):
        """What is wrong with this run, or None; and its status. Every fourth run is kept, to look at its positions."""
        number, options = numbered
        out = ["--out", f"out{number}"] if number % 4 == 0 else []
        try:
            run = program.flow(*command(options), *out, "--json", cwd=self.directory, timeout=20)
        except subprocess.TimeoutExpired:
            return "no end within 20 s", None
        return self.judge(run, *out[1:]), run.status

    def judge(self, run, out=None):
        if run.status == 2:
            if run.out or not re.fullmatch(r"attractor: [^\n]+\n", run.err):
                return f"not refused in one sentence: {run.out[:80]!r} {run.err!r}"
            return None
        if run.status not in (0, 3):
            return f"status {run.status}: {run.err!r}"
        if run.status == 3 and not re.search(r"attractor: [^\n]+[:;] [^\n]+\n$", run.err):
            return f"no remedy: {run.err!r}"
        try:
            answer = json.loads(run.out, parse_constant=no_constant)
        except ValueError as error:
            return f"{error}: {run.out[:80]!r}"
        for name, value in answer.items():
            limit = answer["parameters"]["exact-limit"]
            sampled = limit != "auto" and answer["tokens"] > limit
            if value is None and name not in MAY_BE_NULL and not (sampled and name in ONLY_EXACT):
                return f"{name} is null (status {run.status})"
            if isinstance(value, float) and not math.isfinite(value):
                return f"{name} is {value}"
        if out and run.status == 0:
            with h5py.File(self.directory / out / "result.h5") as f:
                if not all(math.isfinite(x) for x in f["snapshots/positions"][:].ravel().tolist()):
                    return "positions are not finite"
        return None

    def run_all(self, cases, **at_least):
        """Fails with the exact commands of all that went wrong; `at_least` says how many of each status must occur."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(self.fault, enumerate(cases)))
        faults = [f"attractor flow {shlex.join(command(case))}\n    {fault}"
                  for case, (fault, _) in zip(cases, found) if fault]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))
        for status, least in at_least.items():
            count = sum(str(s) == status[1:] for _, s in found)
            self.assertGreaterEqual(count, least, f"{count} runs of status {status[1:]}: the sample tests little")

    def test_no_option_is_left_out(self):
        named = set(re.findall(r"^  (?:-\w,)?--([a-z0-9-]+)", program.flow("--help-all").out, re.M))
        self.assertEqual(named, set(OPTIONS) | ELSEWHERE)

    def test_every_value_alone(self):
        cases = [{name: value} for name, values in OPTIONS.items() for value in values]
        self.run_all(cases, s0=120, s2=20)

    def test_combinations(self):
        draw = random.Random(SEED)
        cases = [combination(draw) for _ in range(COMBINATIONS)]
        self.run_all(cases, s0=COMBINATIONS // 3, s2=COMBINATIONS // 5)


if __name__ == "__main__":
    program.main()
