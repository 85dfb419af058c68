"""All that bench/run measures. Each part is a function (Setting) -> rows; where its program is not built it has none.

The file of `bench/run --json` is one object:
    schema    1
    quick     true for --quick
    good      false if two sides disagreed
    machine   date, commit, cpu, cores, vectors, memory_gb, load, compiler, libraries {name: version}
    limits    fma_gflops_f64, fma_gflops_f32, exp_ns_f64, libm_ns_f64, read_gb_s, read_gb_s_2 (two threads)
    blas      core (OPENBLAS_CORETYPE of all peers; "": as it chooses), threads, gemm_gflops_f64, gemm_gflops_f32 and
              what was tried (peer_blas.py)
    rows      a list of
        part        dense, circle, sphere, moments, batches, mean-shift, training, hard-margin, models or program
        name        what was measured; (part, name) is unique and stays the same from run to run
        unit        ns/pair, ns/token, us/step, s, ms, GF/s, x (times faster), slope
        value       ours, in that unit; for x and slope a number without one
        better      "less", "more" or "near 1": what a good value is
        peer, peer_value, ratio    the fastest other tool, its figure, peer_value / value; where there is one
        peak        share of the measured peak of multiply-adds; dense: counting 4d flops a pair, of the highest rate
                    that anyone has reached in the run (attention_peer.py)
        goal        what we want to reach, as text, and met: true or false; where there is one
On one thread times are processor time, on two wall time, programs wall time.
"""
import dataclasses
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DIMS = (2, 3, 16, 64, 128, 512)
PLAIN_GOALS = {2: 10, 3: 8, 16: 5, 64: 2.5, 128: 2, 512: 1.5}
GENERAL_GOALS = {2: 6, 3: 5, 16: 3, 64: 1.8, 128: 1.5, 512: 1.25}
SINGLE_GOAL = 1.2
BATCH_GOALS = {2: 14, 16: 5.5}


@dataclasses.dataclass
class Setting:
    build: pathlib.Path
    quick: bool
    limits: dict
    blas: dict | None = None
    good: bool = True

    def peer(self, script, program, *options):
        """The JSON object of a bench/*_peer.py; its table goes to stderr. None if the program is not built."""
        if not (self.build / program).exists():
            return None
        command = [sys.executable, HERE / script, self.build / program, *options]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"bench/{script} failed with status {done.returncode}")
        report = json.loads(done.stdout)
        self.good = self.good and done.returncode == 0 and report.get("good", True)
        return report

    def benches(self, pattern, repetitions, seconds):
        """Fewest nanoseconds of each Google Benchmark that matches: {(name, arguments): (ns, counters)}."""
        command = [self.build / "bench/benches", f"--benchmark_filter={pattern}", "--benchmark_format=json",
                   f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}"]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        found = {}
        for run in json.loads(done.stdout or '{"benchmarks": []}')["benchmarks"]:
            if run.get("run_type") == "aggregate" or run.get("error_occurred"):
                continue
            name, *parts = run["run_name"].split("/")
            arguments = tuple(tuple(part.split(":")) for part in parts if ":" in part)
            alone = dict(arguments).get("threads", "1") == "1"
            nanoseconds = to_ns(run["cpu_time" if alone else "real_time"], run["time_unit"])
            if nanoseconds < found.get((name, arguments), (math.inf,))[0]:
                found[name, arguments] = nanoseconds, run
        return found


def to_ns(time_, unit):
    return time_ * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def row(part, name, unit, value, better="less", peer=None, peer_value=None, peak=None, least=None, most=None):
    """`least` and `most` are goals: for the ratio where there is a peer, else for the value."""
    result = {"part": part, "name": name, "unit": unit, "value": value, "better": better}
    judged = value
    if peer is not None:
        judged = peer_value / value
        result |= {"peer": peer, "peer_value": peer_value, "ratio": judged}
    if peak is not None:
        result["peak"] = peak
    if least is not None or most is not None:
        words = [f"at least {least}" if least is not None else "", f"at most {most}" if most is not None else ""]
        result["goal"] = ", ".join(word for word in words if word)
        result["met"] = (least is None or judged >= least) and (most is None or judged <= most)
    return result


# ---- Dense attention.


def dense(setting):
    rows = []
    for size in (4096,) if setting.quick else (4096, 16384):
        report = setting.peer("attention_peer.py", "bench/attention_timing", "--sizes", size, "--dims",
                              ",".join(map(str, DIMS)), "--rounds", 1 if setting.quick else 3 if size < 10**4 else 2,
                              "--blas", json.dumps(setting.blas))
        for result in report["results"] if report else ():
            rows += dense_rows(result, report["results"], setting.limits)
    return rows + dense_threads(setting)


def dense_rows(result, results, limits):
    n, d = result["n"], result["d"]
    rows = []
    for form, goals in (("plain", PLAIN_GOALS), ("general", GENERAL_GOALS)):
        for ours, peer, bits in ((form, "float64", 64), (f"{form}_f32", "float32", 32)):
            entry = result.get(ours)
            if entry is None:
                continue
            most = max(limits[f"fma_gflops_f{bits}"], *(other["peak_gflops"][peer] for other in results))
            peak = 4 * d / entry["pair_ns"] / most
            rows.append(row("dense", f"f{bits} {form} n={n} d={d}", "ns/pair", entry["pair_ns"],
                            peer=f"PyTorch {peer}", peer_value=entry[peer]["pair_ns"], peak=peak,
                            least=goals[d] if bits == 64 else SINGLE_GOAL))
    return rows


def dense_threads(setting):
    """One thread and two in turn, best of each, on tokens of their own."""
    import attention_peer
    program = setting.build / "bench/attention_timing"
    if not program.exists():
        return []
    rows = []
    for n, d in ((4096, 3), (4096, 64)) if setting.quick else [(n, d) for n in (4096, 16384) for d in (2, 3, 16, 64)]:
        with tempfile.TemporaryDirectory(prefix="attractor-bench-") as directory:
            attention_peer.write_problem(pathlib.Path(directory), n, d)
            command = [program, directory, str(n), str(d), "9"]
            runs = [(threads, json.loads(subprocess.run([*command, str(threads), "5"], check=True, capture_output=True,
                                                        text=True).stdout))
                    for _ in range(2 if setting.quick else 5) for threads in (1, 2)]
        for form in ("plain", "general"):
            one, two = (min(run[form]["pair_ns"] for count, run in runs if count == k) for k in (1, 2))
            rows.append(row("dense", f"f64 {form} n={n} d={d} two threads", "x", one / two, "more", least=1.8))
    return rows


# ---- Linear engines.


def circle(setting):
    found = setting.benches("^circle/", 3 if setting.quick else 9, 0.05 if setting.quick else 0.2)
    most = lambda a: 3 if a["digits"] == "10" and a["threads"] == "1" else None
    return token_rows("circle", found, most, (0.95, 1.05))


def sphere(setting):
    found = setting.benches("^sphere", 2 if setting.quick else 5, 0.05 if setting.quick else 0.2)

    def most(a):
        if a.get("n") != "1000000" or float(a.get("beta", "1e9")) > 100:
            return None
        return {"7": 40, "11": 100}.get(a.get("digits"))

    return token_rows("sphere", found, most, (None, 1.1))


def moments(setting):
    """Times of dense rows grow like n^2: one size, whatever beta, stands for all."""
    repetitions, seconds = (1, 0.05) if setting.quick else (3, 0.2)
    found = setting.benches("^moments/", repetitions, seconds)
    dense = {}
    for (_, arguments), (nanoseconds, _) in setting.benches("^moments_dense/", repetitions, seconds).items():
        a = dict(arguments)
        dense[a["dim"]] = nanoseconds / float(a["n"]) ** 2
    rows = token_rows("moments", found, lambda a: None, (None, 1.05))
    for (_, arguments), (nanoseconds, run) in found.items():
        a = dict(arguments)
        if a["threads"] != "1" or a["n"] != "100000":
            continue
        label = " ".join(f"{key}={value}" for key, value in arguments)
        rows.append(row("moments", f"{label} against dense", "x", dense[a["dim"]] * float(a["n"]) ** 2 / nanoseconds,
                        "more", least=1))
        share = 6 * run["features"] * float(a["n"]) / nanoseconds / setting.limits["fma_gflops_f64"]
        rows.append(row("moments", f"{label} share of the peak", "x", share, "more"))
    return rows


def token_rows(part, found, most, slopes):
    """Nanoseconds of a token, the slope of time against n, and what a second thread brings."""
    rows, times = [], {}
    for (name, arguments), (nanoseconds, _) in found.items():
        a = dict(arguments)
        if "n" not in a:
            continue
        label = " ".join(f"{key}={value}" for key, value in arguments)
        if name != part:
            label = f"{name} {label}"
        rows.append(row(part, label, "ns/token", nanoseconds / float(a["n"]), most=most(a)))
        rest = (name, *((k, v) for k, v in arguments if k not in ("n", "threads")))
        times[rest, float(a["n"]), a.get("threads", "1")] = nanoseconds
    for rest in dict.fromkeys(key[0] for key in times):
        rows += scaling_rows(part, rest, times, slopes)
    return rows


def scaling_rows(part, rest, times, slopes):
    label = " ".join([rest[0] if rest[0] != part else "", *(f"{k}={v}" for k, v in rest[1:])]).strip()
    rows = []
    sizes = sorted(n for r, n, threads in times if r == rest and threads == "1")
    if len(sizes) > 1 and sizes[-1] >= 10 * sizes[0]:
        small, large = sizes[0], sizes[-1]
        slope = math.log(times[rest, large, "1"] / times[rest, small, "1"]) / math.log(large / small)
        rows.append(row(part, f"{label} slope from n={small:.0f} to {large:.0f}", "slope", slope, "near 1",
                        least=slopes[0], most=slopes[1]))
    for r, n, threads in times:
        if r == rest and threads == "2" and (rest, n, "1") in times:
            rows.append(row(part, f"{label} n={n:.0f} two threads", "x",
                            times[rest, n, "1"] / times[rest, n, "2"], "more"))
    return rows


# ---- Batches, and the solvers.


def batches(setting):
    report = setting.peer("batch_peer.py", "bench/benches", "--rounds", 1 if setting.quick else 3)
    rows, alone = [], {}
    for entry in report["rows"] if report else ():
        d, threads = entry["d"], entry["threads"]
        name = f"n=32 2048 systems d={d}" + (" two threads" if threads == 2 else "")
        best = min(1e6 / entry[way]["rate"] for way in ("published", "softmax", "exponential"))
        rows.append(row("batches", name, "us/step", 1e6 / entry["layers"], peer="PyTorch, best of three forms",
                        peer_value=best, least=BATCH_GOALS.get(d) if threads == 1 else None))
        alone[d, threads] = entry["layers"]
        if threads == 2:
            rows.append(row("batches", f"d={d} gain of two threads", "x", alone[d, 2] / alone[d, 1], "more", least=1.8))
    return rows


def mean_shift(setting):
    report = setting.peer("mean_shift_peer.py", "attractor", *(["--small"] if setting.quick else []))
    rows = []
    for case in report["cases"] if report else ():
        name = f"{case['name']} n={case['points']} d={case['dim']} {case['seeds']} seeds two threads"
        rows.append(row("mean-shift", name, "s", case["ours"], peer="NumPy, same algorithm", peer_value=case["numpy"]))
        rows.append(row("mean-shift", name + " (scikit-learn)", "s", case["ours"],
                        peer="scikit-learn MeanShift, best radius", peer_value=case["tuned"]))
    return rows


def training(setting):
    options = ["--quick", "--rounds", 1] if setting.quick else []
    report = setting.peer("training_peer.py", "bench/training_timing", *options)
    rows = []
    for shape in report["shapes"] if report else ():
        for threads, entry in shape["threads"].items():
            name = "x".join(map(str, shape["shape"])) + (" two threads" if threads in (2, "2") else "")
            best = min(entry[f"{model}_float64"]["seconds"] for model in ("notebook", "careful", "scores", "written"))
            rows.append(row("training", name, "us/step", 1e6 * entry["seconds"], peer="PyTorch, best of four models",
                            peer_value=1e6 * best))
    return rows


def hard_margin(setting):
    report = setting.peer("hard_margin_peer.py", "bench/hard_margin_timing", *(["--quick"] if setting.quick else []))
    name = lambda shape: "x".join(map(str, shape["shape"])) + ("" if shape["kind"] == "random" else ", " + shape["kind"])
    return [row("hard-margin", name(shape), "s", shape["ours_seconds"], peer="cvxopt", peer_value=shape["cvxopt_seconds"],
                least=20 if shape["shape"] == [1024, 64, 256] else None) for shape in (report["shapes"] if report else ())]


# ---- The program.


def wall(command, runs):
    best = math.inf
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - begin)
    return best


def processor(command, runs):
    """Least processor time of a command."""
    best = math.inf
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall(command, 1)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def default_outputs(attractor, quick):
    """What observing costs: a run with default outputs over the same with one."""
    cases = [("circle", "--dim 2 --beta 9 --time 10 --tokens", 100_000), ("circle", "--dim 2 --beta 9 --time 10 --tokens", 1_000_000),
             ("sphere", "--dim 3 --beta 9 --time 10 --tokens", 100_000), ("sphere", "--dim 3 --beta 9 --time 3 --tokens", 1_000_000),
             ("d = 4", "--dim 4 --beta 9 --time 3 --tokens", 20_000), ("d = 16", "--dim 16 --beta 9 --time 3 --tokens", 20_000)]
    rows = []
    for where, options, tokens in cases:
        if quick and tokens > 100_000:
            continue
        command = [attractor, "flow", "--threads", 1, *options.split(), tokens]
        one = wall([*command, "--outputs", 1], 1)
        usual = wall(command, 1)
        rows += [row("program", f"{tokens:,} tokens, {where}: default outputs over one", "x", usual / one, most=1.25),
                 row("program", f"{tokens:,} tokens, {where}, to its end", "s", usual)]
    return rows


def training_program(attractor):
    """`select` on 512 x 128 x 128 numbers, a hundred steps, reading and certificate included."""
    import numpy as np
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="attractor-bench-") as directory:
        for name, value in (("X", random.standard_normal((512, 128, 128))), ("Y", random.choice([-1.0, 1.0], 512)),
                            ("v", random.standard_normal(128))):
            np.save(f"{directory}/{name}.npy", value)
        return wall([attractor, "select", directory, "--steps", 100, "--threads", 1], 2)


def program(setting):
    attractor = setting.build / "attractor"
    if not attractor.exists():
        return []
    small = [attractor, "flow", "--tokens", 64, "--dim", 3]
    rows = [row("program", "attractor flow --tokens 64 --dim 3, start to end", "ms", 1e3 * wall(small, 20), most=50)]
    with tempfile.TemporaryDirectory(prefix="attractor-bench-") as directory:
        pages = iter(range(10))
        page = min(processor([*small, "--out", f"{directory}/{next(pages)}"], 1) for _ in range(5))
    rows.append(row("program", "the same with its page, processor time", "s", page, most=0.15))
    for power in (3, 5, 6):
        rows.append(row("program", f"64 tokens in d = 3 until they are one, beta = 10^{power}", "s",
                        wall([*small, "--time", "inf", "--beta", f"1e{power}"], 1), most=5))
    rows.append(row("program", "attractor select, 512x128x128, a hundred steps", "s", training_program(attractor)))
    rows += default_outputs(attractor, setting.quick)
    if not setting.quick:
        clumps = "--init clusters --centres 50 --spread 1e-4 --tokens 100000 --dim 64 --beta 16 --time 30 --engine clumps --accuracy 1e-8"
        rows.append(row("program", "100,000 tokens in fifty clumps, d = 64, engine clumps, until they are fifty", "s",
                        wall([attractor, "flow", *clumps.split(), "--outputs", 1, "--snapshots", 2], 1), most=120))
        rows.append(row("program", "attractor reproduce all --quick", "s", wall([attractor, "reproduce", "all", "--quick"], 1),
                        most=600))
    long = [(2, 10, 50, 60), (3, 30, 20, 600)] if not setting.quick else []
    for dim, beta, end, most in long:
        options = f"--tokens 1000000 --dim {dim} --beta {beta} --time {end} --tolerance 1e-6 --outputs 1"
        if dim == 3 and "sphere" not in help_of(attractor):
            continue
        rows.append(row("program", f"attractor flow {options}", "s", wall([attractor, "flow", *options.split()], 1),
                        most=most))
    return rows


def help_of(attractor):
    """What --engine can be."""
    lines = subprocess.run([attractor, "flow", "--help"], capture_output=True, text=True).stdout.splitlines()
    return " ".join(line for line in lines if "engine" in line or "circle" in line)


# ---- Trained models.


def models(setting):
    """A forward pass of MiniLM's shape on 128 tokens: products, attention and the whole, best of several runs."""
    program = setting.build / "bench/model_timing"
    if not program.exists():
        return []
    time_ = lambda threads: json.loads(subprocess.run([program, str(threads), "10" if setting.quick else "40"], check=True,
                                                      capture_output=True, text=True).stdout)
    runs = [time_(1) for _ in range(1 if setting.quick else 3)]
    two = min((time_(2) for _ in range(1 if setting.quick else 3)), key=lambda run: run["observed_ms"])
    most = lambda of: max(of(run) for run in runs)
    peak = most(lambda run: run["fma_gflops_f32"])
    rows = []
    for k, product in enumerate(runs[0]["products"]):
        ours, eigen = (most(lambda run: run["products"][k][side]) for side in ("ours", "eigen"))
        rows.append(row("models", f"product {product['shape']}", "GF/s", ours, "more", peak=ours / peak))
        rows.append(row("models", f"product {product['shape']}, Eigen", "GF/s", eigen, "more", peak=eigen / peak))
    for name, words in (("attention_layer", "attention block"), ("attention_heads", "attention heads alone")):
        value = most(lambda run: run[name])
        rows.append(row("models", words, "GF/s", value, "more", peak=value / peak))
    rows.append(row("models", "pass of six layers", "ms", min(run["pass_ms"] for run in runs)))
    rows.append(row("models", "pass with all observables, two threads", "ms", two["observed_ms"], most=2000))
    return rows


PARTS = {"dense": dense, "circle": circle, "sphere": sphere, "moments": moments, "batches": batches,
         "mean-shift": mean_shift, "training": training, "hard-margin": hard_margin, "models": models, "program": program}
