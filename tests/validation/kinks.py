"""ReLU heads through the command line against plain numpy: the gradient flow passes kinks and stays in valleys, a
minimum is claimed only where gradients all around balance and no neighbour is lower, and the regularisation path is the
least of a random search of the ball.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import program
from program import ProgramTest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


class Relu:
    """Loss and gradient of a prompt, written from the equations."""

    def __init__(self, problem, loss):
        self.x, self.y, self.v = (np.array(problem[k], float) for k in ("X", "Y", "v"))
        self.u = np.array(problem["head"]["U"], float)
        self.b = np.array(problem["head"].get("b", np.zeros(len(self.v))), float)
        self.start = np.array(problem.get("p0", np.zeros(self.x.shape[2])), float)
        self.kind = loss

    def parts(self, p):  # p: k x d
        logits = np.einsum("ntd,kd->knt", self.x, p)
        s = np.exp(logits - logits.max(2, keepdims=True))
        s /= s.sum(2, keepdims=True)
        h = np.einsum("knt,ntd->knd", s, self.x) @ self.u.T + self.b
        return s, h, np.maximum(h, 0) @ self.v

    def loss(self, p):
        f = self.parts(np.atleast_2d(p))[2]
        each = np.logaddexp(0, -self.y * f) if self.kind == "logistic" else (f - self.y) ** 2 / 2
        return each.mean(1)

    def gradient(self, p):
        s, h, f = self.parts(np.atleast_2d(p))
        slope = -self.y / (1 + np.exp(self.y * f)) if self.kind == "logistic" else f - self.y
        g = np.einsum("ntd,knd->knt", self.x, (h > 0) * self.v @ self.u)
        g -= (s * g).sum(2, keepdims=True)
        return np.einsum("kn,knt,ntd->kd", slope / len(self.y), s * g, self.x)

    def descend(self, time, step):
        p = self.start.copy()
        for _ in range(round(time / step)):
            p -= step * self.gradient(p)[0]
        return p


def smallest_of_hull(gradients, rounds=20000):
    """Norm of the nearest point of the hull to 0, from above: weight moves from the worst corner in use to the best one
    (pairwise Frank and Wolfe, which converges geometrically)."""
    weight = np.zeros(len(gradients))
    weight[np.argmin((gradients ** 2).sum(1))] = 1
    z = weight @ gradients
    for _ in range(rounds):
        height = gradients @ z
        best, worst = np.argmin(height), np.argmax(np.where(weight > 0, height, -np.inf))
        step = gradients[worst] - gradients[best]
        if not height[worst] - height[best] > 1e-12 * (z @ z):
            break
        move = min(weight[worst], z @ step / (step @ step))
        weight[worst] -= move
        weight[best] += move
        z = weight @ gradients
    return np.linalg.norm(z)


def least(model, radius, rng):
    """A random search of the ball at all scales, refined around its best points."""
    dim = model.x.shape[2]
    draws = rng.normal(size=(20000, dim))
    lengths = radius * np.where(rng.random(20000) < 0.4, 1, 10 ** (-3 * rng.random(20000)))
    points = draws / np.linalg.norm(draws, axis=1, keepdims=True) * lengths[:, None]
    values = model.loss(points)
    best = np.inf
    for start in np.argsort(values)[:60:5]:
        p, value, size = points[start], values[start], 0.1 * max(0.1, np.linalg.norm(points[start]))
        while size > 1e-11:
            near = p + size * rng.normal(size=(60, dim))
            near *= np.minimum(1, radius / np.linalg.norm(near, axis=1))[:, None]
            found = model.loss(near)
            k = found.argmin()
            if found[k] < value:
                p, value = near[k], found[k]
            else:
                size /= 2
        best = min(best, value)
    return best


def random_problem(seed, inputs, tokens, dim, units, loss):
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=inputs)
    return {"X": rng.normal(size=(inputs, tokens, dim)).tolist(),
            "Y": (labels if loss == "squared" else np.where(labels < 0, -1.0, 1.0)).tolist(),
            "v": rng.normal(size=units).tolist(),
            "head": {"U": (1.5 * rng.normal(size=(units, dim))).tolist(), "b": (0.7 * rng.normal(size=units)).tolist(),
                     "activation": "relu"},
            "p0": (0.5 * rng.normal(size=dim)).tolist()}


class Kinks(ProgramTest):
    def select(self, problem, *arguments):
        (self.directory / "data.json").write_text(json.dumps(problem))
        run = program.attractor("select", self.directory / "data.json", *arguments, "--json")
        self.assertIn(run.status, (0, 3), run.err)
        return run.json

    def check_minimum(self, model, p):
        rng = np.random.default_rng(0)
        p = np.array(p)
        near = p + 1e-6 * rng.normal(size=(20000, len(p)))  # so many, because pieces may be thin wedges
        _, first = np.unique((model.parts(near)[1] > 0).reshape(len(near), -1), axis=0, return_index=True)
        around = model.gradient(near[first])
        self.assertLess(smallest_of_hull(around), 1e-4 * max(1e-3, np.linalg.norm(around, axis=1).max()))
        for size in (1e-5, 1e-4, 5e-4):  # basins between kinks may be small
            near = model.loss(p + size * rng.normal(size=(300, len(p))))
            self.assertGreaterEqual(near.min(), model.loss(p)[0] - 1e-9)

    def test_the_flow_that_stood_still_at_a_kink(self):
        problem = json.loads((DATA / "relu_kink.json").read_text())
        answer = self.select(problem, "--optimizer", "flow", "--log10-time", 3)
        self.assertAlmostEqual(answer["loss"], np.log(2), delta=1e-9)
        self.assertTrue(answer["finite_minimum"])
        self.check_minimum(Relu(problem, "logistic"), answer["p"])

    def test_flows_end_where_small_steps_do_and_minima_are_minima(self):
        minima = 0
        for k in range(20):
            loss = ("logistic", "squared")[k % 2]
            problem = random_problem(k, *((1, 3, 2, 2), (2, 4, 2, 3), (3, 5, 3, 4))[k % 3], loss)
            with self.subTest(k):
                model = Relu(problem, loss)
                answer = self.select(problem, "--optimizer", "flow", "--log10-time", 1.3, "--loss", loss)
                self.assertEqual(answer["status"], "complete")
                reached = model.loss(model.descend(10 ** 1.3, 4e-3))[0]
                self.assertLess(model.loss(answer["p"])[0], reached + 3e-3 * reached + 1e-4)
                if answer["finite_minimum"]:
                    minima += 1
                    self.check_minimum(model, answer["p"])
        self.assertGreaterEqual(minima, 3)

    def test_paths_are_the_least_of_the_ball(self):
        cases = [(json.loads((DATA / "relu_path.json").read_text()), "logistic")]
        cases += [(random_problem(100 + k, 2, 4, 2, 4, loss), loss) for k, loss in enumerate(("logistic", "squared"))]
        radii = (0.5, 2, 10)
        for problem, loss in cases:
            model, rng = Relu(problem, loss), np.random.default_rng(1)
            answer = self.select(problem, "--path", ",".join(map(str, radii)), "--loss", loss)
            for radius, point in zip(radii, answer["path"]):
                with self.subTest(loss, radius=radius):
                    found, length = model.loss(point["weights"])[0], np.linalg.norm(point["weights"])
                    self.assertLessEqual(found, least(model, radius, rng) * (1 + 1e-9) + 1e-13)
                    self.assertLessEqual(length, radius * (1 + 1e-12))
                    self.assertEqual(point["on_boundary"], bool(length > radius * (1 - 1e-9)))
                    self.assertLess(point["residual"], 1e-6)


if __name__ == "__main__":
    program.main()
