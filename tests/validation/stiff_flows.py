"""Flows of training with GELU, tanh, penalised and ReLU heads, random ones, in stiff valleys too. None may give up before
10^9. One sent to 10^100 may: along a valley it slows down like 1/t, and steps of 10^8 times what its walls take end where
doubles know a slope no more (flow/implicit_matrix.hpp); then it has come to 10^9 at least and is not called a minimum.
Where a flow has come to rest at a finite minimum the gradient of plain numpy is small.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import program
from program import ProgramTest

FLOWS = int(os.environ.get("STIFF_FLOWS", "100"))
HEADS = ("gelu", "tanh", "penalised", "relu")
UNITS = {  # sigma and its slope
    "gelu": (lambda h: h * normal(h), lambda h: normal(h) + h * np.exp(-h * h / 2) / np.sqrt(2 * np.pi)),
    "tanh": (np.tanh, lambda h: 1 / np.cosh(h) ** 2),
}


def normal(x):
    """The normal distribution's, by Python's own erf."""
    from math import erf
    return np.vectorize(lambda t: 0.5 * (1 + erf(t / np.sqrt(2))))(x)


def problem(seed):
    """Sizes up to 6 inputs of 8 tokens in d = 6, weights of size one half to three."""
    rng = np.random.default_rng([20, seed])
    head = HEADS[seed % 4]
    inputs, tokens, dim, units = rng.integers(1, 7), rng.integers(2, 9), rng.integers(2, 7), rng.integers(2, 6)
    loss = ("logistic", "squared", "exponential")[rng.integers(0, 3)]
    labels = rng.normal(size=inputs)
    data = {"X": rng.normal(size=(inputs, tokens, dim)) * rng.uniform(0.5, 2),
            "Y": labels if loss == "squared" else np.where(labels < 0, -1.0, 1.0),
            "p0": 0.5 * rng.normal(size=dim)}
    if head == "penalised":
        data |= {"v": rng.normal(size=dim), "head": {"lambda": rng.uniform(0.1, 1)}}
    else:
        data |= {"v": rng.normal(size=units),
                 "head": {"U": rng.uniform(0.5, 3) * rng.normal(size=(units, dim)), "b": 0.7 * rng.normal(size=units),
                          "activation": head}}
    return data, loss, int(rng.choice([2, 6, 9, 100]))


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def gradient(data, loss, p):
    """Of the loss with respect to the prompt, and its size before anything cancels."""
    x, y, v, head = data["X"], data["Y"], data["v"], data["head"]
    s = np.exp(x @ p - (x @ p).max(1, keepdims=True))
    s /= s.sum(1, keepdims=True)
    o = np.einsum("nt,ntd->nd", s, x)
    if "lambda" in head:
        f, slope = o @ v - head["lambda"] * (o * o).sum(1), v - 2 * head["lambda"] * o
    else:
        sigma, derivative = UNITS[head["activation"]]
        h = o @ head["U"].T + head["b"]
        f, slope = sigma(h) @ v, (derivative(h) * v) @ head["U"]
    pull = {"logistic": lambda: -y / (1 + np.exp(y * f)), "squared": lambda: f - y,
            "exponential": lambda: -y * np.exp(-y * f)}[loss]()
    g = np.einsum("ntd,nd->nt", x, slope)
    centred = s * (g - (s * g).sum(1, keepdims=True))
    terms = pull[:, None, None] * centred[:, :, None] * x / len(y)
    return terms.sum((0, 1)), np.abs(terms).sum()


class StiffFlows(ProgramTest):
    def test_none_gives_up(self):
        ends = {}
        for seed in range(FLOWS):
            data, loss, time = problem(seed)
            (self.directory / "data.json").write_text(json.dumps(plain(data)))
            with self.subTest(seed=seed, head=HEADS[seed % 4], loss=loss, log10_time=time):
                run = program.attractor("select", self.directory / "data.json", "--optimizer", "flow", "--loss", loss,
                                        "--log10-time", time, "--json")
                answer = run.json
                ends[answer["status"]] = ends.get(answer["status"], 0) + 1
                if answer["status"] == "complete" and run.status == 3:  # every ReLU is dead
                    self.assertIn("nothing moves", run.err)
                    self.assertEqual(answer["p"], list(data["p0"]))
                elif run.status == 3:
                    self.assertGreater(answer["log10_time"], 9, run.err)
                    self.assertFalse(answer["finite_minimum"])
                else:
                    self.assertEqual(run.status, 0, run.err)
                    self.assertEqual(answer["status"], "complete")
                if answer["finite_minimum"] and HEADS[seed % 4] != "relu":
                    slope, size = gradient(data, loss, np.array(answer["p"]))
                    self.assertLess(np.linalg.norm(slope), 1e-6 * max(size, 1e-3))
        print(f"{FLOWS} flows: {ends}")
        self.assertGreater(ends.get("complete", 0), FLOWS // 2)


if __name__ == "__main__":
    program.main()
