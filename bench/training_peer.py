"""Training the prompt p beside PyTorch: normalised gradient descent on the same data from the same start, in the same
run, each side on one thread and on two.

    /usr/bin/python3 bench/training_peer.py PROGRAM [--quick] [--rounds N] [--directory DIR]

PROGRAM is the built bench/training_timing. PyTorch runs four models, each in float64 and in float32:
    notebook  softmax(X W p) differentiated in full, with W and v requiring gradients, as the authors of
              arXiv 2306.13596 do it
    careful   nothing frozen is differentiated, and the keys X W are computed once
    scores    the scores X v are computed once as well, which only a fixed linear head allows: two passes over the keys
    written   the same with the gradient written out by hand, without the graph: the strongest form we know
Ours runs with X stored as doubles and as floats (--precision single), each against each.
Seconds are those of one step in the best of several runs; data and setting up are not timed. "bandwidth" is the share
of the time that a plain sum over X takes on the same threads: 1 would mean that nothing but reading X takes time.
"blas" names the BLAS of NumPy and PyTorch: install libopenblas0, the reference one is no fair peer. A table goes to
stderr, one JSON object to stdout. --quick leaves the largest shape out. Status 1 if the two sides do not reach the same
p, or ours depends on the threads; no time is ever asserted.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SHAPES = [  # (n, T, d), steps of one run, runs of PyTorch in one round
    ((3, 7, 3), 1000, 3),
    ((64, 64, 64), 50, 3),
    ((512, 128, 128), 5, 1),
]
STEP, ROUNDS, THREADS, SHOWN = 0.01, 3, (1, 2), 16
MODELS = ("notebook", "careful", "scores", "written")
STORED = ("double", "single")
TYPES = ("float64", "float32")


def write_problem(directory, shape):
    """Random unit tokens, random W and v, and p0 = 0."""
    import numpy as np
    inputs, tokens, dim = shape
    random = np.random.default_rng(inputs)
    x = random.standard_normal(shape)
    np.save(directory / "X.npy", x / np.linalg.norm(x, axis=2, keepdims=True))
    np.save(directory / "Y.npy", random.choice([-1.0, 1.0], inputs))
    np.save(directory / "v.npy", random.standard_normal(dim))
    np.save(directory / "W.npy", random.standard_normal((dim, dim)) / dim**0.5)


def ours(program, directory, threads, steps, stored):
    command = [program, directory, "ngd", "logistic", str(steps), str(STEP), str(threads), stored]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def torch_in_its_own_process(directory, threads, steps, runs):
    """A BLAS takes the number of its threads when it is loaded."""
    environment = os.environ | {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL", "BLIS")}
    command = [sys.executable, __file__, "--torch", directory, str(threads), str(steps), str(runs)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def output_of(torch, model, arrays):
    """The parameters that require a gradient, and p -> f, the outputs of all inputs."""
    x, w, v = arrays["X"], arrays["W"], arrays["v"]
    if model == "notebook":
        w, v = (a.clone().requires_grad_() for a in (w, v))
        return [w, v], lambda p: (torch.softmax(x @ w @ p, dim=1).unsqueeze(1) @ x).squeeze(1) @ v
    keys, scores = x @ w, x @ v
    if model == "careful":
        return [], lambda p: (torch.softmax(keys @ p, dim=1).unsqueeze(1) @ x).squeeze(1) @ v
    return [], lambda p: (torch.softmax(keys @ p, dim=1) * scores).sum(1)


def descend_written(torch, arrays, steps):
    """The gradient in closed form: sum_i l'_i sum_t s_it (g_it - f_i) k_it, two products with the keys."""
    keys, scores, y = arrays["X"] @ arrays["W"], arrays["X"] @ arrays["v"], arrays["Y"]
    rows, p = keys.reshape(-1, keys.shape[-1]), torch.zeros_like(arrays["v"])
    with torch.no_grad():
        begin = time.perf_counter()
        for _ in range(steps):
            s = torch.softmax((rows @ p).view(scores.shape), dim=1)
            f = (s * scores).sum(1, keepdim=True)
            slope = y * torch.sigmoid(-y * f[:, 0])
            move = (s * (scores - f) * slope[:, None]).view(-1) @ rows
            p += STEP * move / move.norm()
    return (time.perf_counter() - begin) / steps, p.tolist()


def descend(torch, model, arrays, steps):
    """Seconds of one step, and p after all of them."""
    if model == "written":
        return descend_written(torch, arrays, steps)
    others, output = output_of(torch, model, arrays)
    y = arrays["Y"]
    p = torch.zeros_like(arrays["v"]).requires_grad_()
    begin = time.perf_counter()
    for _ in range(steps):
        loss = torch.nn.functional.softplus(-y * output(p)).mean()
        loss.backward()
        with torch.no_grad():
            p -= STEP * p.grad / p.grad.norm()
        for parameter in (p, *others):
            parameter.grad = None
    return (time.perf_counter() - begin) / steps, p.detach().tolist()


def run_torch(directory, threads, steps, runs):
    import numpy as np
    import torch
    torch.set_num_threads(threads)
    report = {"version": torch.__version__}
    for kind in TYPES:
        arrays = {name: torch.from_numpy(np.load(f"{directory}/{name}.npy")).to(getattr(torch, kind))
                  for name in "XYvW"}
        for model in MODELS:
            descend(torch, model, arrays, 1)
            report[f"{model}_{kind}"] = min(descend(torch, model, arrays, steps) for _ in range(runs))
    report["blas"] = blas()
    print(json.dumps(report))


def blas():
    """Files of the BLAS that NumPy and PyTorch use in this process."""
    with open("/proc/self/maps") as maps:
        files = {os.path.realpath(line.split()[-1]) for line in maps if "blas" in line and ".so" in line}
    return sorted(file for file in files if os.path.basename(file).startswith("lib"))


def difference(p, run):
    """Of the numbers that both sides show, relative to |p|."""
    size = min(len(p), SHOWN)
    return max(abs(a - b) for a, b in zip(p[:size], run["p"], strict=True)) / run["p_norm"]


def compare(program, directory, shape, steps, runs, rounds):
    write_problem(directory, shape)
    our_runs, torch_runs = {(k, s): [] for k in THREADS for s in STORED}, {k: [] for k in THREADS}
    for _ in range(rounds):
        for threads in THREADS:
            for stored in STORED:
                our_runs[threads, stored].append(ours(program, directory, threads, steps, stored))
            torch_runs[threads].append(torch_in_its_own_process(directory, threads, steps, runs))
    of = {stored: [run for threads in THREADS for run in our_runs[threads, stored]] for stored in STORED}
    result = {"shape": shape, "steps": steps, "status": of["double"][0]["status"],
              "same_on_any_threads": all(run["p"] == runs[0]["p"] for runs in of.values() for run in runs),
              "threads": {}}
    for threads in THREADS:
        best, single = (min(our_runs[threads, stored], key=lambda run: run["seconds"]) for stored in STORED)
        entry = {key: best[key] for key in ("seconds", "sum_gigabytes_per_second", "bandwidth_fraction", "peak_bytes")}
        entry["single"] = {key: single[key] for key in ("seconds", "bandwidth_fraction", "peak_bytes")}
        entry["single"]["difference"] = difference(single["p"], best)
        for name in (f"{model}_{kind}" for kind in TYPES for model in MODELS):
            seconds, p = min(run[name] for run in torch_runs[threads])
            entry[name] = {"seconds": seconds, "ratio": seconds / best["seconds"],
                           "ratio_single": seconds / single["seconds"], "difference": difference(p, best)}
        result["threads"][threads] = entry
        print_row(shape, threads, entry)
    result["torch"] = {key: torch_runs[1][0][key] for key in ("version", "blas")}
    return result


def print_row(shape, threads, entry):
    cells = ["x".join(map(str, shape)), str(threads), f"{1e6 * entry['seconds']:.4g}",
             f"{entry['bandwidth_fraction']:.2f}", f"{1e6 * entry['single']['seconds']:.4g}"]
    for name in (f"{model}_{kind}" for kind in TYPES for model in MODELS):
        model = entry[name]
        cells += [f"{1e6 * model['seconds']:.4g}", f"{model['ratio']:.1f}x", f"{model['ratio_single']:.1f}x"]
    print_cells(cells)


def print_cells(cells):
    print(f"{cells[0]:>12}{cells[1]:>4}" + "".join(f"{cell:>10}" for cell in cells[2:]), file=sys.stderr, flush=True)


def compare_all(program, directory, shapes, rounds):
    names = (cell for kind in ("64", "32") for model in MODELS for cell in (model + kind, "ratio", "to single"))
    print_cells(["microseconds", "thr.", "ours", "bandwidth", "single", *names])
    results = []
    for shape, steps, runs in shapes:
        results.append(compare(program, directory, shape, steps, runs, rounds))
    good = all(r["status"] == "complete" and r["same_on_any_threads"] for r in results)
    good = good and all(entry[f"{model}_float64"]["difference"] < 1e-9
                        for r in results for entry in r["threads"].values() for model in MODELS)
    return {"good": good, "shapes": results}


def main():
    if sys.argv[1:2] == ["--torch"]:
        return run_torch(sys.argv[2], *map(int, sys.argv[3:]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, help="the built bench/training_timing")
    parser.add_argument("--quick", action="store_true", help="without the largest shape")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each side runs (best of)")
    parser.add_argument("--directory", help="where the data go for the time being")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attractor-bench-", dir=arguments.directory) as directory:
        report = compare_all(arguments.program.resolve(), pathlib.Path(directory),
                             SHAPES[:-1] if arguments.quick else SHAPES, arguments.rounds)
    print(json.dumps(report))
    return 0 if report["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
