"""Where training and depth meet (docs/theory/bridge.md), through `attractor bridge`: the norm of trained attention is an
inverse temperature. Truths: the solvable case of one useful token, the max-margin slope, numpy's softmax, `attractor flow`.
"""
import json
import math
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

import program

ROUNDING = 1e-12


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def mean_entropy(logits):
    weights = softmax(logits)
    return float(-(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1).mean())


def solvable(tokens):
    """e_1 has score 1. The others have score 0 and differ, because equal keys are refused, along e_2 in pairs +-c: their
    pulls on p_2 cancel to the last bit, p_2 stays 0, and their logits stay 0."""
    pairs = [[0, sign * k / 1024] for k in range(1, (tokens - 2) // 2 + 1) for sign in (1, -1)]
    return {"X": [[[1, 0], [0, 0], *pairs]], "Y": [1], "v": [1, 0]}


class Bridge(program.ProgramTest):
    def write(self, problem, name="data.json"):
        file = self.directory / name
        file.write_text(json.dumps(problem))
        return file

    def example(self, name, *arguments):
        return program.attractor("problem", name, *arguments).json

    def bridge(self, problem, *arguments):
        run = program.attractor("bridge", self.write(problem), *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json  # fails if there is anything but JSON

    def assert_bound(self, answer):
        for c in answer["checkpoints"]:
            self.assertGreaterEqual(c["softmax_min"], c["bound"] * (1 - ROUNDING))
            self.assertAlmostEqual(c["bound"], 1 / (1 + (answer["problem_tokens"] - 1) *
                                                    math.exp(-c["norm"] * c["margin"])), delta=ROUNDING)

    # ---- Training: u = |p| obeys u' = s (1 - s), s = 1 / (1 + (T - 1) e^-u)

    def test_half_the_attention_after_a_time_of_order_t(self):
        recorded = {10: 13.28333804356, 100: 108.1801386902, 1000: 1012.812508556}
        for tokens, moment in recorded.items():
            with self.subTest(T=tokens):
                closed_form = tokens - tokens / (tokens - 1) + 2 * math.log(tokens - 1)
                self.assertAlmostEqual(moment / closed_form, 1, delta=1e-12)
                answer = self.bridge(solvable(tokens), "--loss", "linear", "--log10-time", math.log10(closed_form),
                                     "--train-tolerance", 1e-13, "--tokens", 2, "--checkpoints", 3)
                end = answer["checkpoints"][-1]
                self.assertAlmostEqual(end["softmax_min"], 0.5, delta=1e-10)
                self.assertAlmostEqual(end["bound"], 0.5, delta=1e-10)
                self.assertAlmostEqual(end["norm"], math.log(tokens - 1), delta=1e-9)
                self.assertAlmostEqual(answer["transition_norm"], math.log(tokens - 1), delta=1e-12)
                self.assertAlmostEqual(answer["svm_norm"], 1, delta=1e-12)
                self.assert_bound(answer)
                on_the_way = self.bridge(solvable(tokens), "--loss", "linear", "--log10-time", 6, "--tokens", 2)
                self.assertAlmostEqual(on_the_way["half_log_time"], math.log(closed_form), delta=1e-8)
                self.assertAlmostEqual(on_the_way["transition_log_time"], math.log(closed_form), delta=1e-8)

    def test_logarithmic_growth_after_it(self):
        for log10, u in ((4, 13.79272191), (6, 18.41049459)):
            file = self.write(solvable(100))
            run = program.attractor("select", file, "--loss", "linear", "--optimizer", "flow", "--log10-time", log10,
                                    "--tolerance", 1e-13, "--json")
            self.assertEqual(run.status, 0, run.err)
            self.assertAlmostEqual(run.json["p_norm"] / u, 1, delta=1e-9)
            self.assertEqual(run.json["p"][1], 0)
            answer = self.bridge(solvable(100), "--loss", "linear", "--log10-time", log10, "--train-tolerance", 1e-13,
                                 "--tokens", 2)
            self.assertAlmostEqual(answer["checkpoints"][-1]["norm"] / u, 1, delta=1e-9)

    def test_slope_is_the_norm_of_the_max_margin_solution(self):
        for loss in ("linear", "logistic", "exponential"):
            answer = self.bridge(self.example("authors-like"), "--loss", loss, "--log10-time", 100)
            self.assertAlmostEqual(answer["svm_norm"], 0.7351361561944, delta=1e-12)
            self.assertAlmostEqual(answer["slope"], answer["svm_norm"], delta=1e-3)
            self.assertAlmostEqual(answer["transition_norm"], answer["svm_norm"] * math.log(6), delta=1e-12)
            self.assert_bound(answer)
            times = [c["log_time"] for c in answer["checkpoints"]]
            self.assertLess(np.ptp(np.diff(times)), 1e-9, "evenly in ln t")
            self.assertAlmostEqual(times[-1], 100 * math.log(10), delta=1e-9)

    def test_selected_weight_never_falls_below_the_bound(self):
        for seed in range(5):
            problem = self.example("multi", "--seed", seed)
            self.assert_bound(self.bridge(problem, "--checkpoints", 40, "--log10-time", 5, "--tokens", 2))
            problem = self.example("self-attention", "--seed", seed)
            self.assert_bound(self.bridge(problem, "--train", "W", "--checkpoints", 40, "--log10-time", 5, "--tokens", 2))

    # ---- Depth

    def test_depth_uses_the_attention_of_training(self):
        # Weights and entropies from the stored p, W and tokens, by the definitions.
        for name, train in (("authors-like", "p"), ("self-attention", "W")):
            with self.subTest(train):
                problem, out = self.example(name), self.directory / train
                answer = self.bridge(problem, "--train", train, "--out", out)
                x, d = np.array(problem["X"]), len(problem["X"][0][0])
                with h5py.File(out / "result.h5") as f:
                    start, weights = f["tokens/start"][:], f["checkpoints/weights"][:]
                    chosen = f["training/selected"][:]
                for c, w in zip(answer["checkpoints"], weights, strict=True):
                    self.assertAlmostEqual(np.linalg.norm(w) / c["norm"], 1, delta=ROUNDING)
                    if train == "p":
                        keys = x @ np.array(problem.get("W", np.eye(d)))
                        attention, logits = softmax(keys @ w), np.linalg.norm(w) * start @ start.T
                    else:
                        attention = softmax(np.einsum("ita,ab,ib->it", x, w.reshape(d, d), np.array(problem["z"])))
                        logits = np.einsum("ja,ab,ib->ij", start, w.reshape(d, d), start)
                    smallest = attention[np.arange(len(x)), chosen].min()
                    self.assertAlmostEqual(c["softmax_min"] / smallest, 1, delta=1e-10)
                    self.assertAlmostEqual(c["attention_entropy"], mean_entropy(logits), delta=1e-10)

    def test_every_checkpoint_is_an_attention_flow(self):
        answer = self.bridge(self.example("authors-like"), "--tokens", 40, "--seed", 3, "--time", 15, "--checkpoints", 5)
        for c in answer["checkpoints"]:
            flow = self.answer("--beta", repr(c["norm"]), "--tokens", 40, "--seed", 3, "--time", 15)
            for key in ("clusters", "mean_cosine", "energy_ratio"):
                self.assertEqual(c[key], flow[key], key)

    def test_cooling_narrows_attention_and_keeps_more_clusters(self):
        for seed in range(4):
            for dim in (2, 3):
                answer = self.bridge(self.example("authors-like"), "--log10-time", 60, "--checkpoints", 4, "--tokens", 128,
                                     "--dim", dim, "--seed", seed)
                rows = answer["checkpoints"]
                for before, after in zip(rows, rows[1:]):
                    self.assertGreater(after["norm"] / before["norm"], 1.3)
                    self.assertLess(after["attention_entropy"], before["attention_entropy"])
                    self.assertGreaterEqual(after["clusters"], before["clusters"])
                self.assertGreater(rows[-1]["clusters"], rows[0]["clusters"])

    # ---- The command

    def test_bad_input(self):
        data = self.write(self.example("authors-like"))
        cases = (((), "the problem is missing"), (("nowhere.json",), "nowhere.json"),
                 ((data, "--train", "v"), "train"), ((data, "--loss", "squared"), "loss"),
                 ((data, "--checkpoints", 1), "checkpoints"), ((data, "--dim", 1), "dim = 1"),
                 ((data, "--time", 0), "time"), ((data, "--tokens-from", "problem", "--tokens", 5), "tokens is used by tokens-from random only"),
                 ((data, "--train", "W"), ""), ((data, "--resume", "x"), "--resume"), ((data, "--out", data), "directory"))
        self.assert_refused(cases, "bridge")

    def test_result_depends_on_the_parameters_only(self):
        data = self.write(self.example("authors-like"))
        for threads in (1, 2):
            run = program.attractor("bridge", data, "--threads", threads, "--out", self.directory / str(threads))
            self.assertEqual(run.status, 0, run.err)
            self.assertIn("transition to selection", run.out)
        for file in ("result.h5", "index.html"):
            one, two = ((self.directory / str(threads) / file).read_bytes() for threads in (1, 2))
            self.assertEqual(one, two, file)
        stored = json.loads((self.directory / "1" / "summary.json").read_text())
        self.assertEqual(stored["status"], "complete")
        again = program.attractor("bridge", data, "--out", self.directory / "1")
        self.assertEqual(again.status, 2)
        self.assertIn("finished run", again.err)

    def test_interrupted(self):
        data, out = self.write(self.example("authors-like")), self.directory / "out"
        command = [program.PROGRAM, "bridge", str(data), "--tokens", "20000", "--quiet", "--out", str(out)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (out / "run.toml").exists():
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        printed, complaint = process.communicate(timeout=60)
        self.assertEqual((process.returncode, printed), (130, ""), complaint)
        self.assertIn(f"--resume {out}", complaint)
        self.assertTrue((out / "run.toml").exists())


if __name__ == "__main__":
    program.main()
