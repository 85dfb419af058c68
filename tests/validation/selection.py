"""Prompt training through the command line against recorded runs (tests/data/selection.json) and the theory (B2, B3,
B5b): exact-arithmetic trajectories, the authors' scheme, certified max-margin directions, limits really reached.

The records are the published experiments re-run with PyTorch and in log-domain arithmetic; iterate k is the value after
k updates.
"""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import program
from program import ProgramTest

RECORDS = json.loads((pathlib.Path(__file__).resolve().parents[1] / "data" / "selection.json").read_text())


class SelectTest(ProgramTest):
    def select(self, problem, *arguments, status=0):
        (self.directory / "data.json").write_text(json.dumps(problem))
        run = program.attractor("select", self.directory / "data.json", *arguments, "--json")
        self.assertEqual(run.status, status, run.err)
        return run.json if run.out else None


class Selection(SelectTest):
    def each_run(self, check):
        for record in RECORDS:
            for run in record["runs"]:
                with self.subTest(record["name"], p0=run["p0"]):
                    check(record, run, {**record["problem"], "p0": run["p0"]})

    def test_exact_normalised_descent(self):
        def check(_, run, problem):
            for k, p in run["exact"].items():
                if int(k) > 0:
                    answer = self.select(problem, "--optimizer", "ngd", "--step", 0.1, "--steps", k)
                    self.assertLess(np.abs(np.subtract(answer["p"], p)).max(), 1e-9)
            answer = self.select(problem, "--optimizer", "ngd", "--step", 0.1, "--steps", 20000)
            self.assertLess(np.abs(np.subtract(answer["p"], run["exact_20000"])).max(), 1e-9 * 2000)

        self.each_run(check)

    def test_the_authors_scheme(self):
        def check(record, run, problem):
            for k, p in run["published"].items():
                answer = self.select(problem, "--optimizer", "published", "--epsilon", record["epsilon"], "--step", 0.1,
                                     "--steps", k)
                self.assertLess(np.abs(np.subtract(answer["p"], p)).max(), 1e-5)

        self.each_run(check)

    def test_plain_gradient_descent(self):
        checked = []

        def check(_, run, problem):
            for k, p in run.get("gd", {}).items():
                answer = self.select(problem, "--optimizer", "gd", "--step", 1, "--steps", k)
                self.assertLess(np.abs(np.subtract(answer["p"], p)).max(), 1e-9)
                checked.append(k)

        self.each_run(check)
        self.assertGreater(len(checked), 10)

    def test_max_margin_directions_are_the_exact_ones(self):
        def check(record, run, problem):
            answer = self.select(problem, "--optimizer", "ngd", "--steps", 1000)
            exact = next(s for s in record["att_svm"] if s["chosen"] == answer["selected"])
            self.assertLess(np.abs(np.subtract(answer["svm"], exact["p"])).max(), 1e-12)
            self.assertLessEqual(answer["duality_gap"], 1e-12)
            self.assertEqual(answer["locally_optimal"], exact["locally_optimal"])
            self.assertEqual(answer["globally_optimal"], exact["globally_optimal"])
            self.assertTrue(answer["locally_optimal"], "training converges to locally optimal choices only")

        self.each_run(check)

    def test_the_flow_reaches_the_limit_that_descent_does_not(self):
        def check(_, run, problem):
            flow = self.select(problem, "--optimizer", "flow", "--log10-time", 1000)
            self.assertGreater(flow["velocity_cosine_to_svm"], 1 - 1e-9)
            descent = self.select(problem, "--optimizer", "gd", "--step", 0.1, "--steps", 100_000)
            self.assertEqual(flow["selected"], descent["selected"])
            self.assertLess(descent["velocity_cosine_to_svm"], flow["velocity_cosine_to_svm"])
            self.assertLess(descent["cosine_to_svm"], flow["cosine_to_svm"])

        self.each_run(check)

    def test_flow_and_descent_agree_where_both_can_go(self):
        # Euler with step h is within O(h) of the flow at t = 100.
        problem = {**RECORDS[2]["problem"], "p0": [0, 0, 0]}
        flow = self.select(problem, "--optimizer", "flow", "--log10-time", 2, "--tolerance", 1e-12)["p"]
        errors = [np.abs(np.subtract(self.select(problem, "--optimizer", "gd", "--step", 100 / n, "--steps", n)["p"], flow)).max()
                  for n in (1000, 4000)]
        self.assertAlmostEqual(math.log(errors[0] / errors[1]) / math.log(4), 1, delta=0.1)

    def test_saturation_is_reported(self):
        problem = {**RECORDS[2]["problem"], "p0": [0, 0, 0]}
        answer = self.select(problem, "--optimizer", "gd", "--step", 1e6, "--steps", 1000)
        self.assertTrue(answer["saturated"])
        self.assertLess(answer["steps"], 1000)
        self.assertFalse(self.select(problem, "--optimizer", "ngd", "--step", 1e6, "--steps", 1000)["saturated"])

    def test_saturation_slope_is_the_margin(self):
        # 1 - s <= C e^{-margin |p|}: here p and margin of the single-input problem along the flow.
        problem = {**RECORDS[0]["problem"], "p0": [0, 0, 0]}
        points = [self.select(problem, "--optimizer", "ngd", "--steps", k) for k in (60, 120)]
        slope = (math.log(1 - points[1]["softmax_min"]) - math.log(1 - points[0]["softmax_min"])) / (
            points[1]["p_norm"] - points[0]["p_norm"])
        self.assertAlmostEqual(-slope / points[1]["margin"], 1, delta=0.05)

    def test_counterexample_for_several_inputs(self):
        # Equal non-optimal scores, yet the flow from 0 selects (2, 0, 0) (theory B5b).
        keys = [[[math.sin(1 + 2 * i + 5 * t + 3 * a + i * t + t * a + i * a * a) for a in range(6)] for t in range(4)]
                for i in range(3)]
        x = [[keys[i][t] + [1.0 if t == 0 else 0.5] for t in range(4)] for i in range(3)]
        w = np.diag([1.0] * 6 + [0.0]).tolist()
        answer = self.select({"X": x, "Y": [1, 1, 1], "v": [0] * 6 + [1], "W": w}, "--optimizer", "flow", "--log10-time",
                             200 / math.log(10))
        self.assertEqual(answer["selected"], [2, 0, 0])
        self.assertTrue(answer["locally_optimal"])
        self.assertFalse(answer["globally_optimal"])
        self.assertAlmostEqual(answer["svm_norm"], 0.7407530046134, delta=1e-12)
        self.assertAlmostEqual(answer["cosine_to_svm"], 0.999714, delta=1e-6)


class BadProblems(SelectTest):
    def refused(self, problem, *says):
        text = problem if isinstance(problem, str) else json.dumps(problem)
        (self.directory / "data.json").write_text(text)
        run = program.attractor("select", self.directory / "data.json", "--json")
        self.assertEqual((run.status, run.out), (2, ""))
        self.assertEqual(len(run.err.splitlines()), 1)
        for word in says:
            self.assertIn(word, run.err)

    def test_are_refused_with_a_sentence(self):
        good = {"X": [[[1, 2], [3, 4]]], "Y": [1], "v": [0, 1]}
        self.refused("{", "not a JSON object")
        self.refused({"X": good["X"], "Y": [1]}, "v is missing")
        self.refused({**good, "X": [[[1, 2]]]}, "at least 2")
        self.refused({**good, "X": [[[1, 2], [3]]]}, "X")
        self.refused({**good, "Y": [1, 1]}, "Y")
        self.refused({**good, "Y": [0]}, "label of input 0")
        self.refused({**good, "v": [1]}, "v")
        self.refused('{"X": [[[1, 2], [3, NaN]]], "Y": [1], "v": [0, 1]}', "JSON")
        self.refused({**good, "X": [[[1, 2], [1, 2]]]}, "tokens 0 and 1", "the same")
        self.refused({**good, "W": [[0, 0], [0, 0]]}, "rank-deficient")

    def test_an_impossible_choice_is_status_3_with_a_certificate(self):
        # All scores are equal, so p stays 0 and every weight is the same; the first token lies between the others.
        problem = {"X": [[[0, 0], [-1, 0], [1, 0]]], "Y": [1], "v": [0, 1]}
        answer = self.select(problem, "--steps", 3, status=3)
        self.assertEqual((answer["svm_status"], answer["margin"]), ("infeasible", None))
        self.assertLess(answer["farkas_residual"], 1e-15)


if __name__ == "__main__":
    program.main()
