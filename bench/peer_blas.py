"""The BLAS of the peers at its best: OpenBLAS does not know every processor, and a kernel chosen wrongly costs half.

    /usr/bin/python3 bench/peer_blas.py

tries each OPENBLAS_CORETYPE (those the processor cannot run fail and are left out) with one thread and with all of
them, on the products that attention is made of, and prints one JSON object: the setting that takes least processor
time, and its rates in GF/s. A setting that the environment brings along is one of those tried, not the rule.
"""
import json
import os
import subprocess
import sys
import time

CORES = ("", "Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids")  # "": as OpenBLAS chooses
SHAPES = ((1024, 1024, 1024), (256, 128, 4096), (256, 4096, 128))  # rows, summed, columns
REPETITIONS = 5


def environment(core, threads=1):
    """What a process needs that uses this setting; threads are counted when the library is loaded."""
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    counts = {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL", "BLIS")}
    return kept | counts | ({"OPENBLAS_CORETYPE": core} if core else {})


def rates(torch, threads):
    """GF/s of processor time: of all shapes together, and of the best one, in each type."""
    torch.set_num_threads(threads)
    found = {}
    for kind, bits in ((torch.float64, "f64"), (torch.float32, "f32")):
        seconds, flops, most = 0.0, 0.0, 0.0
        for rows, depth, columns in SHAPES:
            a, b = torch.rand(rows, depth, dtype=kind), torch.rand(depth, columns, dtype=kind)
            out = torch.empty(rows, columns, dtype=kind)
            best = float("inf")
            for _ in range(REPETITIONS + 1):  # the first one warms up
                begin = time.process_time()
                torch.mm(a, b, out=out)
                best = min(best, time.process_time() - begin)
            work = 2e-9 * rows * depth * columns
            seconds, flops, most = seconds + best, flops + work, max(most, work / best)
        found |= {f"all_gflops_{bits}": flops / seconds, f"gemm_gflops_{bits}": most}
    return found


def best():
    """{core, threads, all_gflops_*, gemm_gflops_*, tried}; None where there is no PyTorch."""
    tried = []
    for core in CORES:
        for threads in sorted({1, len(os.sched_getaffinity(0))}):
            done = subprocess.run([sys.executable, __file__, "--rates", str(threads)], capture_output=True, text=True,
                                  env=environment(core, threads))
            if done.returncode == 0:
                tried.append({"core": core, "threads": threads} | json.loads(done.stdout))
    if not tried:
        return None
    score = lambda run: run["all_gflops_f64"] + run["all_gflops_f32"] / 2
    chosen = max(tried, key=score)
    peaks = {name: max(run[name] for run in tried) for name in ("gemm_gflops_f64", "gemm_gflops_f32")}
    return chosen | peaks | {"tried": {f"{run['core'] or 'own choice'} x {run['threads']}": round(score(run), 1)
                                       for run in tried}}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rates"]:
        import torch
        print(json.dumps(rates(torch, int(sys.argv[2]))))
    else:
        print(json.dumps(best(), indent=1))
