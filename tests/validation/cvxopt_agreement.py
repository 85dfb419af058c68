"""The Att-SVM of a given choice (attractor select --choice) against solvers of other people: cvxopt's interior-point QP
for the solution, SciPy's HiGHS LP for whether there is one.

200 random problems with planted or random choices, with and without W. Agreement with cvxopt means 1e-7 of the norm, on
which it can be relied; our own gap and constraints are held to rounding.
"""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import program
from program import ProgramTest

try:
    import cvxopt
    from scipy.optimize import linprog
    MISSING = None
except ImportError as error:
    MISSING = f"{error}: install python3-cvxopt and python3-scipy to compare with them"

PROBLEMS = 200


def random_problem(seed):
    """A problem, its keys, a choice, and whether the choice was planted (feasible by construction)."""
    random = np.random.default_rng(seed)
    inputs, tokens, dim = (int(random.integers(*span)) for span in ((1, 13), (2, 9), (2, 21)))
    x = random.standard_normal((inputs, tokens, dim))
    w = random.standard_normal((dim, dim)) if seed % 4 >= 2 else None
    keys = x if w is None else x @ w
    planted = seed % 2 == 0
    choice = (keys @ random.standard_normal(dim)).argmax(1) if planted else random.integers(0, tokens, inputs)
    problem = {"X": x.tolist(), "Y": [1] * inputs, "v": random.standard_normal(dim).tolist()}
    return problem | ({} if w is None else {"W": w.tolist()}), keys, choice, planted


def constraints(keys, choice):
    """All k_chosen - k_t, t != chosen."""
    inputs, tokens, dim = keys.shape
    rows = keys[np.arange(inputs), choice][:, None, :] - keys
    return rows[np.arange(tokens) != choice[:, None]].reshape(inputs * (tokens - 1), dim)


def largest_margin(rows):
    """max t with G p >= t and |p_a| <= 1, by HiGHS: positive if the choice is feasible, else 0."""
    count, dim = rows.shape
    answer = linprog(np.append(np.zeros(dim), -1.0), A_ub=np.column_stack([-rows, np.ones(count)]),
                     b_ub=np.zeros(count), bounds=[(-1, 1)] * dim + [(0, None)], method="highs")
    if answer.status != 0:
        raise RuntimeError(answer.message)
    return answer.x[-1]


def peer_solution(rows):
    """argmin |p| subject to G p >= 1, for feasible rows, by cvxopt. At 1e-12 it often stops short of its own mark, with
    status unknown, at points that are as good as the others; so the status is not asked for."""
    count, dim = rows.shape
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    answer = cvxopt.solvers.qp(cvxopt.matrix(np.eye(dim)), cvxopt.matrix(0.0, (dim, 1)), cvxopt.matrix(-rows),
                               cvxopt.matrix(-1.0, (count, 1)), options=options)
    return np.array(answer["x"]).ravel()


def peer_status(rows):
    """Whether some p has G p >= 1, as cvxopt's LP says; its QP cannot tell."""
    count, dim = rows.shape
    answer = cvxopt.solvers.lp(cvxopt.matrix(0.0, (dim, 1)), cvxopt.matrix(-rows), cvxopt.matrix(-1.0, (count, 1)),
                               options={"show_progress": False})
    return answer["status"]


@unittest.skipIf(MISSING, MISSING)
class CvxoptAgreement(ProgramTest):
    def solved(self, problem, choice, status):
        (self.directory / "data.json").write_text(json.dumps(problem))
        run = program.attractor("select", self.directory / "data.json", "--choice", ",".join(map(str, choice)),
                                "--json")
        self.assertEqual(run.status, status, run.err)
        return run.json

    def check_feasible(self, rows, answer):
        self.assertEqual(answer["svm_status"], "optimal")
        self.assertLessEqual(answer["duality_gap"], 1e-12)
        p = np.array(answer["svm"])
        self.assertLessEqual(abs(np.linalg.norm(p) / answer["svm_norm"] - 1), 1e-14)
        sizes = np.linalg.norm(rows, axis=1) * answer["svm_norm"]
        self.assertGreaterEqual(((rows @ p - 1) / sizes).min(), -1e-14)
        peer = peer_solution(rows)
        self.assertLessEqual(abs(np.linalg.norm(peer) / answer["svm_norm"] - 1), 1e-7)
        # |q - p|^2 <= |q|^2 - |p|^2 for feasible q: a relative gap of 1e-12 leaves 1e-6.
        self.assertLessEqual(np.linalg.norm(peer - p), 1e-6 * answer["svm_norm"])

    def check_infeasible(self, rows, answer):
        self.assertEqual((answer["svm_status"], answer["svm"], answer["svm_norm"]), ("infeasible", None, None))
        self.assertLess(answer["farkas_residual"], 1e-14)
        self.assertEqual(peer_status(rows), "primal infeasible")

    def test_random_problems(self):
        feasible = infeasible = 0
        for seed in range(PROBLEMS):
            problem, keys, choice, planted = random_problem(seed)
            rows = constraints(keys, choice)
            margin = largest_margin(rows)
            with self.subTest(seed=seed, shape=keys.shape, margin=margin):
                self.assertTrue(margin > 1e-7 or (margin < 1e-12 and not planted), "HiGHS is in doubt")
                if margin > 0:
                    self.check_feasible(rows, self.solved(problem, choice, 0))
                    feasible += 1
                else:
                    self.check_infeasible(rows, self.solved(problem, choice, 3))
                    infeasible += 1
        print(f"{feasible} feasible, {infeasible} infeasible")
        self.assertEqual(feasible + infeasible, PROBLEMS)
        self.assertGreaterEqual(feasible, 100)
        self.assertGreaterEqual(infeasible, 30)


if __name__ == "__main__":
    program.main()
