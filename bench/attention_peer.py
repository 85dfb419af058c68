"""One velocity evaluation of softmax attention on the sphere beside PyTorch, on the same tokens and in the same run.

    /usr/bin/python3 bench/attention_peer.py PROGRAM [--sizes 4096,16384] [--dims 2,3,16,64,128,512] [--rounds 3]
                                             [--target avx2] [--blas CORE]

PROGRAM is the built bench/attention_timing, told by --target to leave out wider vectors. PyTorch computes what a careful user writes: rows in chunks of 256, or
of 2^20 / n if that is less (larger ones would be new pages every time),
softmax(beta X_I X^T) X, then the tangent part, in float64 and in float32, on one thread, with the OPENBLAS_CORETYPE
and the threads of its BLAS that are found to be best first (peer_blas.py), or those of --blas. "general" multiplies by Q, K
and V first, on both sides; "plain_f32" and "general_f32" are our single precision. The sides alternate; each side's
time is that of its fastest run, in nanoseconds of processor time for each ordered pair. The peak is the highest rate
anyone has reached: multiply-adds in registers, a product of matrices, or we (4d flops a pair; 3d for plain, which takes
each pair once). Shares of it count 4d flops a pair. A table goes to stderr, one
JSON object to stdout. Status 1 if the two sides disagree; no time is ever asserted.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import peer_blas

BETA, REPETITIONS = 9.0, 2
TYPES = ("float64", "float32")
FORMS = {"plain": "float64", "plain_f32": "float32", "general": "float64", "general_f32": "float32"}


def write_problem(directory, count, dim):
    import numpy as np
    random = np.random.default_rng(dim)
    x = random.standard_normal((count, dim))
    (x / np.linalg.norm(x, axis=1, keepdims=True)).tofile(directory / "tokens.f64")
    for name in ("query", "key", "value"):
        (np.eye(dim) + random.standard_normal((dim, dim)) * 0.3 / dim**0.5).tofile(directory / f"{name}.f64")


def ours(program, directory, count, dim, threads, target=()):
    command = [program, directory, str(count), str(dim), str(BETA), str(threads), str(REPETITIONS), *target]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def torch_in_its_own_process(directory, count, dim, blas):
    """A BLAS takes its setting when it is loaded."""
    command = [sys.executable, __file__, "--torch", directory, str(count), str(dim), str(blas["threads"])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env=peer_blas.environment(blas["core"], blas["threads"]))
    return json.loads(done.stdout)


def velocity(torch, x, matrices):
    queries, keys, values = (x @ m.T for m in matrices) if matrices else (x, x, x)
    out = torch.empty_like(x)
    chunk = min(256, 2**20 // len(x))
    for begin in range(0, len(x), chunk):
        rows = slice(begin, begin + chunk)
        a = torch.softmax(BETA * (queries[rows] @ keys.T), dim=1) @ values
        out[rows] = a - (a * x[rows]).sum(1, keepdim=True) * x[rows]
    return out


def run_torch(directory, count, dim, threads):
    import numpy as np
    import torch
    torch.set_num_threads(threads)
    report = {"version": torch.__version__}
    for kind in TYPES:
        read = lambda name: torch.from_numpy(np.fromfile(f"{directory}/{name}.f64").reshape(-1, dim)).to(
            getattr(torch, kind))
        x, matrices = read("tokens"), [read(name) for name in ("query", "key", "value")]
        for name, used in (("plain", None), ("general", matrices)):
            velocity(torch, x[:512], used)
            best = float("inf")
            for _ in range(REPETITIONS):
                begin = time.process_time()
                v = velocity(torch, x, used)
                best = min(best, time.process_time() - begin)
            report[f"{name}_{kind}"] = {"pair_ns": 1e9 * best / count**2, "shown": v[-1, :2].tolist()}
    print(json.dumps(report))


def peaks(runs, dim, blas):
    """The highest rate that anyone has reached, in each type."""
    found = {}
    for kind, bits, lanes in (("float64", "f64", 1), ("float32", "f32", 2)):
        own = [work * dim / mine[form]["pair_ns"] for mine, _ in runs
               for form, work in (("plain", 3), ("general", 4)) for form in (form + ("_f32" if lanes == 2 else ""),)]
        fma = [lanes * mine["peak_gflops"] for mine, _ in runs]
        found[kind] = max(*own, *fma, blas.get(f"gemm_gflops_{bits}", 0))
    return found


def compare(program, directory, count, dim, rounds, blas, target):
    write_problem(directory, count, dim)
    runs = []
    for _ in range(rounds):
        runs.append((ours(program, directory, count, dim, 1, target),
                     torch_in_its_own_process(directory, count, dim, blas)))
    peak = peaks(runs, dim, blas if not target else {})
    result = {"n": count, "d": dim, "torch": runs[0][1]["version"], "peak_gflops": peak}
    for form, own in FORMS.items():
        best = min((mine[form] for mine, _ in runs), key=lambda run: run["pair_ns"])
        entry = {"pair_ns": best["pair_ns"], "peak_fraction": 4 * dim / best["pair_ns"] / peak[own]}
        for kind in TYPES:
            name = f"{form.removesuffix('_f32')}_{kind}"
            peer = min((theirs[name] for _, theirs in runs), key=lambda run: run["pair_ns"])
            entry[kind] = {"pair_ns": peer["pair_ns"], "ratio": peer["pair_ns"] / best["pair_ns"],
                           "difference": max(abs(a - b) for a, b in zip(peer["shown"], best["shown"], strict=True))}
        result[form] = entry
    print_row(result)
    return result


def print_row(result):
    line = f"{result['n']:>7}{result['d']:>5}"
    for form, kind in FORMS.items():
        entry = result[form]
        line += f"{entry['pair_ns']:>10.3f}{entry['peak_fraction']:>6.2f}"
        line += f"{entry[kind]['pair_ns']:>8.2f}{entry[kind]['ratio']:>6.2f}x"
    print(line, file=sys.stderr, flush=True)


def main():
    if sys.argv[1:2] == ["--torch"]:
        return run_torch(sys.argv[2], *map(int, sys.argv[3:]))
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, help="the built bench/attention_timing")
    parser.add_argument("--sizes", type=numbers, default=[4096, 16384])
    parser.add_argument("--dims", type=numbers, default=[2, 3, 16, 64, 128, 512])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", nargs=1, default=[], choices=["avx2"], help="vectors we may use at most")
    parser.add_argument("--blas", help="OPENBLAS_CORETYPE of PyTorch, one thread, or what peer_blas.py has found; "
                                       "otherwise the best one is looked for")
    arguments = parser.parse_args()
    blas = (peer_blas.best() if arguments.blas is None else json.loads(arguments.blas)
            if arguments.blas.startswith("{") else {"core": arguments.blas, "threads": 1})
    print(f"PyTorch with {blas}", file=sys.stderr)
    print("nanoseconds of a pair: n, d; then four times ours, share of peak, PyTorch, ratio: Q = K = V = I in float64 and "
          "in float32, general Q, K, V in float64 and in float32", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="attractor-bench-") as directory:
        results = [compare(arguments.program.resolve(), pathlib.Path(directory), count, dim, arguments.rounds, blas,
                           arguments.target)
                   for count in arguments.sizes for dim in arguments.dims]
    allowed = {"float64": 1e-11, "float32": 1e-5}
    good = all(r[form][kind]["difference"] < allowed[kind] for r in results for form, kind in FORMS.items())
    print(json.dumps({"good": good, "beta": BETA, "blas": blas, "results": results}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
