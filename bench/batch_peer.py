"""Layers of 2048 systems of 32 tokens beside PyTorch: x <- normalise(x + 0.1 attention(x)), float64, the step that
published phase diagrams iterate, in the same run on one thread and on two.

    /usr/bin/python3 bench/batch_peer.py PROGRAM [--rounds N]

PROGRAM is the built bench/benches; its batch_layers and batch_diagram are timed. PyTorch makes the step in three ways:
    published    as arXiv 2312.10794 does it: one operation a line, with the copies
    softmax      scaled and added in place
    exponential  no softmax but e^{beta (<x,y> - 1)}, which cannot overflow on the sphere; divided by its sum afterwards
Both sides start from the same tokens, system k of 2048 with beta = 9 (k + 1) / 2048. Rates are system steps a second in
the best of several rounds that alternate; on one thread by CPU time, as the machine may be shared. "diagram" is a whole
diagram with starts and 200 outputs, whose steps are still divided by those of PyTorch without any. A table goes to
stderr, one JSON object to stdout. Status 1 if the two sides do not reach the same tokens; no time is ever asserted.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

SYSTEMS, TOKENS, STEP, STEPS = 2048, 32, 0.1, 10
DIMS, THREADS = (2, 16, 128), (1, 2)
WAYS = ("published", "softmax", "exponential")


def ours(program):
    """Rates and checks by (name, d, threads)."""
    command = [program, "--benchmark_filter=batch_layers/.*steps:10|batch_diagram", "--benchmark_format=json"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["benchmarks"]
    found = {}
    for row in rows:
        name, *arguments = row["name"].split("/")
        values = dict(argument.split(":") for argument in arguments if ":" in argument)
        key = name, int(values["d"]), int(values["threads"])
        seconds = row["cpu_time"] if key[2] == 1 else row["real_time"]
        rate = row["systems"] * row["real_time"] / seconds  # the counter goes by the clock on the wall
        found[key] = {"rate": rate, "check": row.get("check")}
    return found


def torch_in_its_own_process(threads):
    """A BLAS takes the number of its threads when it is loaded."""
    environment = os.environ | {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL", "BLIS")}
    command = [sys.executable, __file__, "--torch", str(threads)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def start(torch, dim):
    k = torch.arange(SYSTEMS * TOKENS * dim)
    x = torch.sin((k * k % 9973).double()).reshape(SYSTEMS, TOKENS, dim)
    beta = 9 * torch.arange(1, SYSTEMS + 1, dtype=torch.float64) / SYSTEMS
    return x / x.norm(dim=2, keepdim=True), beta.reshape(-1, 1, 1)


def published(torch, x, beta):
    copy = x.clone()
    weights = torch.matmul(copy, x.transpose(1, 2))
    weights *= beta
    weights = torch.nn.functional.softmax(weights, dim=2)
    moved = torch.matmul(weights, x)
    moved *= STEP
    moved += x
    return torch.nn.functional.normalize(moved, dim=2)


def softmax(torch, x, beta):
    weights = torch.softmax(torch.bmm(x, x.transpose(1, 2)).mul_(beta), dim=2)
    return unit(torch, torch.baddbmm(x, weights, x, alpha=STEP))


def exponential(torch, x, beta):
    weights = torch.bmm(x * beta, x.transpose(1, 2)).sub_(beta).exp_()
    return unit(torch, torch.bmm(weights, x).mul_(STEP / weights.sum(2, keepdim=True)).add_(x))


def unit(torch, x):
    return x.div_(torch.linalg.norm(x, dim=2, keepdim=True))


def run_torch(threads):
    import torch
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    report = {"version": torch.__version__, "runs": []}
    for dim in DIMS:
        first, beta = start(torch, dim)
        for way in WAYS:
            step = globals()[way]
            step(torch, first, beta)
            best = float("inf")
            for _ in range(3):
                x, begin = first, clock()
                for _ in range(STEPS):
                    x = step(torch, x, beta)
                best = min(best, clock() - begin)
            report["runs"].append({"d": dim, "way": way, "rate": SYSTEMS * STEPS / best,
                                   "check": x[:, :, 0].square().mean().item()})
    print(json.dumps(report))


def best_of(old, new):
    return new if old is None or new["rate"] > old["rate"] else old


def compare(program, rounds):
    best, versions = {}, set()
    for _ in range(rounds):
        for key, run in ours(program).items():
            best[key] = best_of(best.get(key), run)
        for threads in THREADS:
            report = torch_in_its_own_process(threads)
            versions.add(report["version"])
            for run in report["runs"]:
                key = run["way"], run["d"], threads
                best[key] = best_of(best.get(key), run)
    print(f"{'d':>5}{'threads':>8}{'layers':>10}{'diagram':>10}"
          + "".join(f"{way:>13}{'ratio':>7}" for way in WAYS) + "   (thousand system steps a second)", file=sys.stderr)
    rows = [row_of(best, dim, threads) for threads in THREADS for dim in DIMS]
    return {"torch": sorted(versions), "systems": SYSTEMS, "tokens": TOKENS,
            "good": all(row["difference"] < 1e-9 for row in rows), "rows": rows}


def row_of(best, dim, threads):
    layers, diagram = best["batch_layers", dim, threads], best["batch_diagram", dim, threads]
    row = {"d": dim, "threads": threads, "layers": layers["rate"], "diagram": diagram["rate"], "difference": 0.0}
    cells = [f"{dim:>5}{threads:>8}{layers['rate'] / 1e3:>10.1f}{diagram['rate'] / 1e3:>10.1f}"]
    for way in WAYS:
        peer = best[way, dim, threads]
        ratio = layers["rate"] / peer["rate"]
        row[way] = {"rate": peer["rate"], "ratio": ratio, "diagram_ratio": diagram["rate"] / peer["rate"]}
        row["difference"] = max(row["difference"], abs(peer["check"] - layers["check"]))
        cells.append(f"{peer['rate'] / 1e3:>13.1f}{ratio:>6.1f}x")
    row["ratio"] = min(row[way]["ratio"] for way in WAYS)
    print("".join(cells), file=sys.stderr, flush=True)
    return row


def main():
    if sys.argv[1:2] == ["--torch"]:
        return run_torch(int(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, help="the built bench/benches")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side runs (best of)")
    arguments = parser.parse_args()
    report = compare(arguments.program.resolve(), arguments.rounds)
    print(json.dumps(report))
    return 0 if report["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
