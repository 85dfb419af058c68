"""The gradients of every trained part, loss and head against torch.autograd in float64, through `attractor select`.

One step of plain gradient descent with step 1 gives start - end = gradient; with data of order one the subtraction
loses a digit or two. Autograd sees the model as it is written down (2306.13596): f = psi(X^T softmax(X W q)),
psi(o) = <v, sigma(U o + b)> - lambda |o|^2, W = K Q^T if they are trained.
"""
import itertools
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import program
from program import ProgramTest

try:
    import torch
    MISSING = None
except ImportError as error:
    MISSING = f"{error}: install python3-torch to compare with it"

INPUTS, TOKENS, DIM, UNITS, RANK = 5, 4, 3, 6, 2
PARTS = ("p", "W", "KQ", "v", "v,p", "v,W", "v,KQ")
LOSSES = ("linear", "correlation", "logistic", "exponential", "squared")
HEADS = {"linear": {},
         "relu": {"activation": "relu"},
         "gelu": {"activation": "gelu"},
         "softplus": {"activation": "softplus"},
         "penalised": {"lambda": 0.3},
         "tanh network": {"activation": "tanh", "U": (UNITS, DIM), "b": (UNITS,)},
         "penalised mixed network": {"activation": "sin,relu,gelu,tanh,identity,softplus", "lambda": 0.2,
                                     "U": (UNITS, DIM), "b": (UNITS,)}}


def random_problem(seed, head, loss, with_queries):
    """All arrays are standard normal; only the labels of classifying losses are signs."""
    random = np.random.default_rng(seed)
    normal = random.standard_normal
    problem = {"X": normal((INPUTS, TOKENS, DIM)), "W": normal((DIM, DIM)), "K": normal((DIM, RANK)),
               "Q": normal((DIM, RANK)), "v": normal(UNITS if "U" in head else DIM), "p0": normal(DIM),
               "Y": random.choice([-1.0, 1.0], INPUTS) if loss in ("logistic", "exponential") else normal(INPUTS)}
    if with_queries:
        problem["z"] = normal((INPUTS, DIM))
    if head:
        problem["head"] = {key: normal(value) if isinstance(value, tuple) else value for key, value in head.items()}
    return problem


def activate(names, h):
    functions = {"identity": lambda x: x, "relu": torch.relu, "gelu": torch.nn.functional.gelu, "tanh": torch.tanh,
                 "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)), "sin": torch.sin}
    names = names.split(",")
    if len(names) == 1:
        return functions[names[0]](h)
    return torch.stack([functions[name](h[:, k]) for k, name in enumerate(names)], dim=1)


def mean_loss(loss, f, y):
    if loss in ("linear", "correlation"):
        return (-y * f).mean()
    if loss == "logistic":
        return torch.logaddexp(-y * f, torch.zeros_like(f)).mean()
    return torch.exp(-y * f).mean() if loss == "exponential" else ((f - y)**2 / 2).mean()


def tensors(problem):
    return {key: torch.tensor(value, dtype=torch.float64) for key, value in problem.items() if key != "head"}


def names_of(train):
    return [name for part in train.split(",") for name in ({"p": ["p0"], "KQ": ["K", "Q"]}.get(part, [part]))]


def autograd(problem, train, loss):
    """The gradient of each trained array."""
    t = tensors(problem)
    trained = {name: t[name].requires_grad_() for name in names_of(train)}
    w = t["K"] @ t["Q"].T if "K" in trained else t["W"]
    queries = t.get("z", t["p0"].expand(INPUTS, DIM))
    weights = torch.softmax(torch.einsum("itd,id->it", t["X"], queries @ w.T), dim=1)
    o = torch.einsum("it,itd->id", weights, t["X"])
    head = problem.get("head", {})
    h = o @ torch.from_numpy(head["U"]).T + torch.from_numpy(head["b"]) if "U" in head else o
    f = activate(head.get("activation", "identity"), h) @ t["v"] - head.get("lambda", 0.0) * (o * o).sum(1)
    mean_loss(loss, f, t["Y"]).backward()
    return {name: tensor.grad.numpy() for name, tensor in trained.items()}


def to_lists(value):
    if isinstance(value, dict):
        return {key: to_lists(entry) for key, entry in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


@unittest.skipIf(MISSING, MISSING)
class TorchGradients(ProgramTest):
    def descent(self, problem, train, loss):
        """start - end of each trained array after one step of 1."""
        file = self.directory / "data.json"
        file.write_text(json.dumps(to_lists(problem)))
        run = program.attractor("select", file, "--train", train, "--loss", loss, "--optimizer", "gd", "--step", 1,
                                "--steps", 1, "--outputs", 2, "--json")
        # 3: the tokens selected by then may have no max-margin solution, which is of no interest here.
        self.assertIn(run.status, (0, 3), run.err)
        answer = run.json
        self.assertEqual(answer["steps"], 1)
        return {name: problem[name] - np.reshape(answer[name.removesuffix("0")], problem[name].shape)
                for name in names_of(train)}

    def check(self, problem, train, loss):
        expected, found = autograd(problem, train, loss), self.descent(problem, train, loss)
        self.assertEqual(expected.keys(), found.keys())
        for name, gradient in expected.items():
            size = np.linalg.norm(gradient)
            self.assertGreater(size, 1e-4, "too small to be seen after the subtraction")
            error = np.linalg.norm(found[name] - gradient) / size
            self.assertLess(error, 1e-9, name)
            self.worst = max(self.worst, error)

    def check_all(self, with_queries):
        self.worst, count = 0, 0
        for seed, (train, loss, head) in enumerate(itertools.product(PARTS, LOSSES, HEADS)):
            if with_queries and train in ("p", "v,p"):
                continue  # there is no prompt then
            with self.subTest(train=train, loss=loss, head=head):
                self.check(random_problem(seed, HEADS[head], loss, with_queries), train, loss)
                count += 1
        print(f"{count} gradients, largest relative difference {self.worst:.1e}")
        self.assertGreaterEqual(count, 25 * len(HEADS))

    def test_with_the_prompt_as_query(self):
        self.check_all(with_queries=False)

    def test_with_given_queries(self):
        self.check_all(with_queries=True)


if __name__ == "__main__":
    program.main()
