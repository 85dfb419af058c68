"""The training paper's claims as a program can check them, each by its number (2306.13596 and follow-ups), through
`attractor select`. Data: recorded runs and exact solutions in tests/data; theory: docs/theory/selection.md.
"""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import program
from program import ProgramTest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
SINGLE = json.loads((DATA / "selection.json").read_text())
JOINT = json.loads((DATA / "joint.json").read_text())
LOSSES = json.loads((DATA / "losses.json").read_text())
QUERIES = json.loads((DATA / "queries.json").read_text())
PATHS = json.loads((DATA / "paths.json").read_text())


def record(name):
    return next(r for r in SINGLE if r["name"] == name)["problem"]


def cosine(a, b):
    a, b = np.ravel(a), np.ravel(b)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def angle(p):
    return math.atan2(p[1], p[0])


class Claims(ProgramTest):
    def select(self, problem, *arguments, status=0):  # status None: any
        file = self.directory / "data.json"
        file.write_text(json.dumps(problem))
        run = program.attractor("select", file, *arguments, "--json")
        if status is not None:
            self.assertEqual(run.status, status, run.err)
        return run.json

    def example(self, name, *arguments):
        return program.attractor("problem", name, *arguments).json

    def near(self, a, b, tolerance):
        self.assertLess(np.abs(np.subtract(a, b)).max(), tolerance)

    # ---- 1 to 3: the model

    def test_01_training_w_is_training_p(self):
        problem = self.example("authors-like")
        a = np.array([0.7, -0.4, 1.1])
        on_w = self.select({**problem, "p0": a.tolist()}, "--train", "W", "--optimizer", "gd", "--step", 1 / (a @ a),
                           "--steps", 5000)
        start = np.array(problem["W"]) @ a
        on_p = self.select({**problem, "W": np.eye(3).tolist(), "p0": start.tolist()}, "--optimizer", "gd", "--step", 1,
                           "--steps", 5000)
        wa = np.reshape(on_w["W"], (3, 3)) @ a
        self.assertLess(np.linalg.norm(wa - on_p["p"]) / np.linalg.norm(on_p["p"]), 1e-12)

    def test_02_solutions_are_optimal_in_exact_arithmetic(self):
        for entry in SINGLE:
            for svm in entry["att_svm"]:
                answer = self.select(entry["problem"], "--choice", ",".join(map(str, svm["chosen"])), "--exact")
                self.assertTrue(answer["exact"]["proved"])
                self.near(answer["svm"], svm["p"], 1e-12)
        for entry in JOINT:
            problem = {**entry["problem"], "p0": [0, 0]}
            answer = self.select(problem, "--choice", "1,1,1", "--exact")
            self.assertEqual(answer["exact"]["squared_norm"], entry["svm_all_exact"])
            relaxed = self.select(problem, "--choice", "1,1,1", "--relaxed", "2", "--exact")
            self.near(relaxed["svm"], entry["svm_relaxed"], 1e-14)
            self.assertTrue(relaxed["exact"]["proved"])

    def test_03_no_finite_minimiser(self):
        # L > L* at every iterate, far beyond where the difference underflows, and |p| grows.
        last = 0
        for time in (1, 3, 10, 100, 1000):
            answer = self.select(self.example("authors-like"), "--optimizer", "flow", "--log10-time", time)
            self.assertTrue(math.isfinite(answer["log10_excess"]))
            self.assertGreater(answer["p_norm"], last)
            last = answer["p_norm"]
        self.assertLess(answer["log10_excess"], -900)

    # ---- 4, 7, 14: regularisation paths

    def path(self, problem, radii, *arguments):
        return self.select(problem, "--steps", 1, "--optimizer", "gd", "--path", ",".join(map(str, radii)), *arguments,
                           status=None)["path"]

    def check_path(self, problem, rows, *arguments, tolerance=1e-9):
        path = self.path(problem, [r["R"] for r in rows], *arguments)
        for ours, recorded in zip(path, rows, strict=True):
            self.assertAlmostEqual(angle(ours["weights"]), recorded["angle_rad"], delta=tolerance)
            self.assertAlmostEqual(ours["loss"], float(recorded["loss"]), delta=1e-15)
        return path

    def test_04_regularisation_path_ends_at_the_best_tokens(self):
        for name, key in (("single_input_gTrue", "single_input_gTrue:alpha=0"),
                          ("single_input_gFalse", "single_input_gFalse:alpha=0"),
                          ("multi_input_seed0", "multi_input_seed0:alpha=W")):
            with self.subTest(name):
                recorded = PATHS["single"][key]
                self.check_path(record(name), recorded["rows"])
                far = self.path(record(name), [1e2, 1e3, 1e4])
                errors = [abs(angle(p["weights"]) - recorded["svm_angle"]) for p in far]
                self.assertLess(errors[2], 2e-4)
                self.assertTrue(all(a > b or b < 1e-9 for a, b in zip(errors, errors[1:])), errors)

    def test_07_local_regularisation_path(self):
        recorded = PATHS["single"]["single_input_gFalse:alpha=1"]
        rows = recorded["rows"]
        path = self.select(record("single_input_gFalse"), "--choice", "1", "--path", ",".join(str(r["R"]) for r in rows),
                           "--path-cone", 0.05)["path"]
        for ours, row in zip(path, rows, strict=True):
            self.assertAlmostEqual(angle(ours["weights"]), row["angle_rad"], delta=1e-9)
        # A wide cone holds a better token: the path stays at its edge.
        wide = self.select(record("single_input_gFalse"), "--choice", "1", "--path", "100", "--path-cone", 0.5)["path"][0]
        self.assertAlmostEqual(angle(wide["weights"]), 0.5, delta=1e-9)

    def test_14_nonlinear_heads(self):
        # psi = v.x - lambda |x|^2 and a ReLU network; pure selection is optimal on a grid of the simplex.
        tokens = np.array([[1.0, 0.2, 0.9, 0.1], [0.3, 0.9, -0.4, 0.8], [-0.2, -0.5, 0.0, -0.9]])
        w = np.diag([0, 0, 1.0, 1.0])
        heads = {"penalised": {"v": [1, 0, 0, 0], "head": {"lambda": 0.02}},
                 "relu": {"v": [1, -0.3], "head": {"activation": "relu", "U": [[1, 0.3, 0, 0], [-0.5, 1, 0, 0]],
                                                   "b": [0.5, -0.2]}}}
        for name, head in heads.items():
            with self.subTest(name):
                def psi(x):
                    if name == "penalised":
                        return x[0] - 0.02 * x @ x
                    return float(np.dot(head["v"], np.maximum(0, np.array(head["head"]["U"]) @ x + head["head"]["b"])))
                mixtures = [(i / 60, j / 60, 1 - (i + j) / 60) for i in range(61) for j in range(61 - i)]
                best = max(mixtures, key=lambda s: psi(np.array(s) @ tokens))
                self.assertEqual(best, (1, 0, 0))
                problem = {"X": [tokens.tolist()], "Y": [1], "W": w.tolist(), **head}
                path = self.path(problem, [10, 100, 1000])
                errors = [1 - p["cosine_to_svm"] for p in path]
                self.assertLess(errors[2], 1e-5)
                self.assertLess(errors[2], errors[1])

    # ---- 5, 6, 8: where gradient descent goes

    def test_05_global_convergence_with_equal_other_scores(self):
        for name, starts in (("single_input_gTrue", [[0, y, 0] for y in (1, .5, 0, -.5, -1, -1.5)]),
                             ("multi_input_seed0", [[x, 0, 0] for x in (1, .5, 0, -.5, -1, -1.5)])):
            for p0 in starts:
                ngd = self.select({**record(name), "p0": p0}, "--steps", 20000)
                self.assertTrue(ngd["globally_optimal"])
                self.assertTrue(ngd["equal_other_scores"])
                self.assertGreater(ngd["cosine_to_svm"], 0.999999)
        # All six starts of the published picture in one run.
        starts = ";".join(f"0,{y},0" for y in (.5, 0, -.5, -1, -1.5))
        several = self.select({**record("single_input_gFalse"), "p0": [0, 1, 0]}, "--starts", starts)
        self.assertEqual([several["selected"][0]] + [s["selected"][0] for s in several["starts"]], [0, 0, 0, 0, 1, 1])
        norms = {100: 3.16, 200: 3.85, 500: 4.66, 1000: 5.24}  # |p| ~ log t, multi, gd with step 1
        problem = {**record("multi_input_seed0"), "p0": [0, 0, 0]}
        for steps, expected in norms.items():
            gd = self.select(problem, "--optimizer", "gd", "--step", 1, "--steps", steps)
            self.assertAlmostEqual(gd["p_norm"], expected, delta=0.005)
        self.assertAlmostEqual(gd["cosine_to_svm"], 0.985, delta=0.0005)

    def test_06_local_convergence_from_a_cone(self):
        problem = record("single_input_gFalse")
        for p0 in ([0, -1, 0], [0, -1.5, 0]):
            answer = self.select({**problem, "p0": p0}, "--steps", 1000)
            self.assertEqual((answer["selected"], answer["globally_optimal"]), ([1], False))
            self.assertGreater(answer["cosine_to_svm"], 0.9999)
        # Far out, basin edge at atan(0.1) from the local direction (theory B3); inside, the angle never grows.
        for degrees, token in ((-.3, 1), (-.15, 1), (0, 1), (.08, 1), (.12, 0), (.3, 0)):
            start = [300 * math.cos(degrees), 300 * math.sin(degrees), 0]
            answer = self.select({**problem, "p0": start}, "--steps", 12000)
            self.assertEqual(answer["selected"], [token], degrees)
        angles = [abs(angle(self.select({**problem, "p0": [300 * math.cos(.05), 300 * math.sin(.05), 0]}, "--steps",
                                        k)["p"])) for k in (1, 10, 100, 1000, 10000)]
        self.assertEqual(angles, sorted(angles, reverse=True))

    def test_08_other_directions_are_not_limits(self):
        # Token 2 is never locally optimal; token 1 is not when its neighbour scores the same.
        for name, token in (("single_input_gTrue", 1), ("single_input_gTrue", 2), ("single_input_gFalse", 2)):
            with self.subTest(name, token=token):
                problem = record(name)
                svm = self.select(problem, "--choice", token)
                self.assertFalse(svm["locally_optimal"])
                direction = np.array(svm["svm"])
                start = 10 * direction / np.linalg.norm(direction) + [1e-3, 1e-3, 0]
                cosines = [cosine(self.select({**problem, "p0": start.tolist()}, "--steps", k)["p"], direction)
                           for k in (100, 1000, 10000)]
                self.assertLess(cosines[2], 0.5)
                self.assertLess(cosines[2], cosines[0])

    # ---- 9, 10: margins

    def test_09_saturation_rate_is_the_margin(self):
        # ln(L - L*) falls with slope -margin in |p|, at sizes where softmax itself reads 1.
        problem = {**record("multi_input_seed0"), "p0": [0, 0, 0]}
        ends = [self.select(problem, "--loss", "linear", "--optimizer", "flow", "--log10-time", t) for t in (500, 1000)]
        slope = (ends[1]["log10_excess"] - ends[0]["log10_excess"]) * math.log(10) / (ends[1]["p_norm"] - ends[0]["p_norm"])
        self.assertAlmostEqual(-slope / ends[1]["margin"], 1, delta=1e-3)

    def test_10_feasibility(self):
        # n (T - 1) <= d: every choice is feasible. All labels +1: the best tokens are.
        rng = np.random.default_rng(0)
        counts = {}
        for n, tokens, d in ((3, 4, 10), (6, 8, 8), (10, 5, 10), (6, 8, 60)):
            for seed in range(20):
                problem = self.example("random", "--inputs", n, "--tokens", tokens, "--dim", d, "--seed", seed)
                problem = {k: problem[k] for k in ("X", "Y", "v")}
                choice = ",".join(map(str, rng.integers(0, tokens, n)))
                answer = self.select(problem, "--choice", choice, status=None)
                if answer["svm_status"] == "infeasible":
                    self.assertLess(answer["farkas_residual"], 1e-12)
                else:
                    self.assertLessEqual(answer["duality_gap"], 1e-12)
                    counts[n, tokens, d] = counts.get((n, tokens, d), 0) + 1
                best = np.argmax(np.array(problem["X"]) @ problem["v"], axis=1)
                positive = {**problem, "Y": [1] * n}
                self.select(positive, "--choice", ",".join(map(str, best)))
        self.assertEqual(counts[3, 4, 10], 20)  # m = 9 <= d
        self.assertEqual(counts[6, 8, 60], 20)
        self.assertLess(counts.get((6, 8, 8), 0), 10)  # m / d = 5.25
        self.assertLess(counts.get((10, 5, 10), 0), 15)

    # ---- 11 to 13: joint training

    def test_11_12_13_joint_training(self):
        for entry in JOINT:
            tight = entry["name"] == "joint_tight"
            with self.subTest(entry["name"]):
                for k, end in entry["exact"].items():
                    answer = self.select(entry["problem"], "--train", "v,p", "--steps", k)
                    self.near(answer["p"], end["p"], 1e-9)
                    self.near(answer["v"], end["v"], 1e-9)
                for k, end in entry["published"].items():
                    answer = self.select(entry["problem"], "--train", "v,p", "--steps", k, "--optimizer", "published",
                                         "--epsilon", entry["epsilon_p"], "--epsilon-v", entry["epsilon_v"])
                    self.near(answer["p"], end["p"], 1e-5)
                    self.near(answer["v"], end["v"], 1e-5)
                end = self.select(entry["problem"], "--train", "v,p", "--steps", 1000)
                self.assertGreater(end["label_svm"]["cosine"], 0.999997)
                self.near(end["label_svm"]["solution"], entry["v_svm"], 1e-14)
                self.near(end["svm"], entry["svm_all"], 1e-12)
                if tight:
                    self.assertEqual(end["label_svm"]["support_inputs"], [0, 1, 2])
                    self.assertNotIn("relaxed_svm", end)
                    self.assertAlmostEqual(end["cosine_to_svm"], 0.999994, delta=1e-6)
                else:
                    self.assertEqual(end["label_svm"]["support_inputs"], [0, 1])
                    self.near(end["relaxed_svm"]["solution"], entry["svm_relaxed"], 1e-12)
                    self.assertAlmostEqual(end["relaxed_svm"]["cosine"], 0.999995, delta=1e-6)
                    self.assertAlmostEqual(end["cosine_to_svm"], 0.981, delta=1e-3)

    def test_11_12_joint_regularisation_path(self):
        for entry, key in ((JOINT[0], "tight=True"), (JOINT[1], "tight=False")):
            rows = PATHS["joint"][key]["rows"]
            equal = [r for r in rows if r["r"] == r["R"]]
            other = [r for r in rows if r["r"] != r["R"]]
            for group, ratio in ((equal, 1), (other, 0.25)):
                path = self.path(entry["problem"], [r["R"] for r in group], "--train", "v,p", "--path-ratio", ratio)
                for ours, row in zip(path, group, strict=True):
                    with self.subTest(key, r=row["r"], R=row["R"]):
                        self.assertAlmostEqual(angle(ours["weights"]), row["theta_p"], delta=1e-7)
                        self.assertAlmostEqual(angle(ours["v"]), row["theta_v"], delta=1e-7)
                        self.assertAlmostEqual(ours["loss"] / float(row["loss"]), 1, delta=1e-9)

    def test_ratio_law(self):
        # Theory B7: with |v| = c |p| the direction of p maximises min_i [p.(x_ia - x_it) + c (margin_i - Gamma)].
        differences = np.array([[1, 1], [1, -1], [0.5, 1.5]])
        slack = np.array([0, 0, 0.5])
        angles = np.linspace(-1.2, 1.5, 270001)
        for c in (0.25, 1, 4):
            lead = (np.c_[np.cos(angles), np.sin(angles)] @ differences.T + c * slack).min(axis=1)
            point = self.path(JOINT[1]["problem"], [3000], "--train", "v,p", "--path-ratio", c)[0]
            self.assertAlmostEqual(angle(point["weights"]), angles[lead.argmax()], delta=3e-3)

    # ---- 15, 16: losses and rates

    def test_15_the_limit_does_not_depend_on_the_loss(self):
        for run in LOSSES["runs"]:
            with self.subTest(run["loss"], C=run["C"]):
                problem = {"X": [[[0, 0, 0], [1, 1, run["C"]]], [[0, 0, 0], [1, -1, 1]]], "Y": LOSSES["Y"],
                           "v": LOSSES["v"], "W": LOSSES["W"]}
                for k, p in run["exact"].items():
                    answer = self.select(problem, "--loss", run["loss"], "--steps", k)
                    self.near(answer["p"], p, 1e-9 * max(1, np.linalg.norm(p)))
                for k, p in run["published"].items():
                    answer = self.select(problem, "--loss", run["loss"], "--optimizer", "published", "--epsilon",
                                         LOSSES["epsilon"], "--steps", k)
                    self.near(answer["p"], p, 1e-5)
                flow = self.select(problem, "--loss", run["loss"], "--optimizer", "flow", "--log10-time", 2000)
                self.near(flow["svm"], [1, 0, 0], 1e-14)
                self.assertGreater(flow["velocity_cosine_to_svm"], 1 - 1e-9)

    def test_16_rates(self):
        # Normalised descent: |p| = step * t, angle ~ 1/t; descent: |p| ~ |p^mm| ln t, angle ~ 1/ln t.
        problem = self.example("authors-like")
        sines = []
        for steps, expected in ((1000, 0.0097347), (4000, 0.0024266), (16000, 0.00060651)):
            answer = self.select(problem, "--steps", steps)
            sines.append(math.sqrt(1 - answer["cosine_to_svm"] ** 2))
            self.assertAlmostEqual(sines[-1] / expected, 1, delta=1e-4)
            self.assertAlmostEqual(answer["p_norm"] / (0.1 * steps), 1, delta=2e-3)
        ends = [self.select(problem, "--optimizer", "flow", "--log10-time", t / math.log(10)) for t in (200, 400)]
        self.assertAlmostEqual((ends[1]["p_norm"] - ends[0]["p_norm"]) / 200, ends[1]["svm_norm"], delta=1e-4)
        ratio = math.sqrt((1 - ends[0]["cosine_to_svm"]) / (1 - ends[1]["cosine_to_svm"]))
        self.assertAlmostEqual(ratio, 2, delta=0.05)

    # ---- 17: W and (K, Q)

    def test_17_w_goes_to_the_frobenius_solution(self):
        for entry in QUERIES:
            with self.subTest(seed=entry["seed"]):
                problem = {**entry["problem"], "W": np.transpose(entry["W0"]).tolist()}
                for k, length in entry["W"]["norm"].items():
                    answer = self.select(problem, "--train", "W", "--optimizer", "published", "--epsilon",
                                         entry["epsilon"], "--steps", k, status=None)
                    self.assertAlmostEqual(answer["p_norm"], length, delta=1e-9)
                for k, state in entry["W"]["exact"].items():
                    if int(k) >= 100:
                        answer = self.select(problem, "--train", "W", "--steps", k)
                        self.assertAlmostEqual(answer["p_norm"] / state["norm"], 1, delta=1e-9)
                        self.assertAlmostEqual(answer["cosine_to_svm"], state["cos_fro"], delta=1e-9)
                self.assertEqual(answer["selected"], entry["best"])
                self.assertEqual(answer["svm_rank"], entry["fro"]["rank"])
                self.assertAlmostEqual(answer["svm_norm"] / entry["fro"]["norm"], 1, delta=1e-13)
                self.near(answer["svm"], np.ravel(entry["fro"]["W"]), 1e-9)
                self.assertLess(cosine(answer["W"], entry["nuc"]["W"]), 0.91)

    def test_17_kq_goes_to_the_nuclear_solution(self):
        # Beyond step 150 or so the recorded double-precision runs are rounding noise (softmax reads 1); ours agree with
        # the same recursion in 64-bit mantissas (0.98122469 and 0.92529505 at 2000 steps).
        for entry, later in zip(QUERIES, (0.9812246870957, 0.9252950544680), strict=True):
            with self.subTest(seed=entry["seed"]):
                problem = {**entry["problem"], "K": np.transpose(entry["key"]).tolist(),
                           "Q": np.transpose(entry["query"]).tolist()}

                def run(*arguments):
                    return self.select(problem, "--train", "KQ", *arguments)
                published = ("--optimizer", "published", "--epsilon", entry["epsilon"], "--steps")
                for k in ("50", "100"):
                    answer = run(*published, k)
                    self.assertAlmostEqual(answer["p_norm"] / entry["KQ"]["norm"][k], 1, delta=1e-6)
                    w = np.reshape(answer["K"], (10, 10)) @ np.reshape(answer["Q"], (10, 10)).T
                    self.assertAlmostEqual(cosine(w, entry["nuc"]["W"]), entry["KQ"]["cos_nuc"][k], delta=1e-6)
                answer = run(*published, 2000)
                w = np.reshape(answer["K"], (10, 10)) @ np.reshape(answer["Q"], (10, 10)).T
                self.assertAlmostEqual(cosine(w, entry["nuc"]["W"]), later, delta=1e-6)
                self.assertEqual(answer["selected"], entry["best"])
                # Certified nuclear norm: our bounds and the recorded ones overlap; ranks as recorded.
                self.assertLessEqual(answer["duality_gap"], 1e-8)
                self.assertLessEqual(answer["svm_norm"] * (1 - answer["duality_gap"]), entry["nuc"]["upper"])
                self.assertGreaterEqual(answer["svm_norm"], entry["nuc"]["lower"] * (1 - 1e-12))
                self.assertEqual(answer["svm_rank"], entry["nuc"]["rank"])
                self.assertLess(cosine(w, entry["fro"]["W"]), 0.9)

    def test_17_small_factors_find_the_low_rank_direction(self):
        # Theory B9: the nuclear solution has rank one; factors that start small align with it, W with the other.
        x = [[[1, 0, .3], [0, 0, 0]], [[.2, 1, 0], [0, 0, 0]], [[0, .4, 1], [0, 0, 0]]]
        problem = {"X": x, "Y": [1, 1, 1], "v": [1, 1, 1], "z": [[1, .2, 0], [.1, 1, .5], [.6, 0, 1]]}
        small = self.select(problem, "--train", "KQ", "--optimizer", "flow", "--log10-time", 1000, "--init-scale", 0.05)
        large = self.select({**problem, "W": np.zeros((3, 3)).tolist()}, "--train", "W", "--optimizer", "flow",
                            "--log10-time", 1000)
        self.assertAlmostEqual(small["svm_norm"], 1.593094395, delta=1e-8)
        self.assertAlmostEqual(large["svm_norm"], 1.37076619737, delta=1e-11)
        self.assertGreater(small["cosine_to_svm"], 0.999)
        self.assertGreater(large["cosine_to_svm"], 0.99999)
        self.assertAlmostEqual(cosine(large["svm"], small["svm"]), 0.86, delta=0.01)

    # ---- 18: other geometries and steps

    def test_18_mirror_descent_finds_the_lq_margin(self):
        problem = self.example("single-local")
        limits = {}
        for q in (1.5, 2, 3):
            answer = self.select({**problem, "p0": [0.01, 0.01, 0]}, "--mirror", q, "--optimizer", "flow", "--log10-time",
                                 2000)
            self.assertGreater(answer["cosine_to_svm"], 0.9999, q)
            self.assertGreater(answer["velocity_cosine_to_svm"], 0.9999, q)
            self.assertLessEqual(answer["duality_gap"], 1e-10)
            limits[q] = answer["svm"]
        self.assertLess(cosine(limits[1.5], limits[3]), 0.99, "the geometries must differ")

    def test_18_polyak_and_normalised_steps_converge_faster(self):
        problem = {**record("multi_input_seed0"), "p0": [0, 0, 0]}
        gd = self.select(problem, "--optimizer", "gd", "--step", 1, "--steps", 1000)
        ngd = self.select(problem, "--steps", 1000)
        polyak = self.select(problem, "--optimizer", "polyak", "--step", 0.5, "--steps", 1000)
        heavy = self.select(problem, "--optimizer", "gd", "--step", 1, "--momentum", 0.9, "--steps", 1000)
        self.assertGreater(ngd["cosine_to_svm"], gd["cosine_to_svm"])
        self.assertGreater(polyak["cosine_to_svm"], gd["cosine_to_svm"])
        self.assertGreater(heavy["p_norm"], gd["p_norm"])
        self.assertGreater(polyak["p_norm"], 50)

    # ---- Must show 3 and 7

    def test_log_time_reaches_the_limit(self):
        # 10^6 plain steps leave 1 - cosine of 1e-4 to 1e-2; the flow's velocity is there to 1e-9.
        problems = {"single": {**record("single_input_gTrue"), "p0": [0, 0, 0]},
                    "local": {**record("single_input_gFalse"), "p0": [0, -1, 0]},
                    "multi": {**record("multi_input_seed0"), "p0": [0, 0, 0]}}
        for name, problem in problems.items():
            with self.subTest(name):
                plain = self.select(problem, "--optimizer", "gd", "--step", 1, "--steps", 1_000_000)
                flow = self.select(problem, "--optimizer", "flow", "--log10-time", 10000)
                self.assertEqual(plain["selected"], flow["selected"])
                print(f"{name}: 1 - cosine after 10^6 steps {1 - plain['cosine_to_svm']:.2g}, flow to 10^10000: weights "
                      f"{1 - flow['cosine_to_svm']:.2g}, velocity {1 - flow['velocity_cosine_to_svm']:.2g}", file=sys.stderr)
                self.assertGreater(flow["velocity_cosine_to_svm"], 1 - 1e-9)
                self.assertGreater(1 - plain["cosine_to_svm"], 1e-5)
                self.assertLess(1 - flow["cosine_to_svm"], 1e-8)
        for entry in QUERIES:  # the same for W
            problem = {**entry["problem"], "W": np.transpose(entry["W0"]).tolist()}
            plain = self.select(problem, "--train", "W", "--optimizer", "gd", "--step", 1, "--steps", 100_000)
            flow = self.select(problem, "--train", "W", "--optimizer", "flow", "--log10-time", 1000)
            self.assertGreater(flow["velocity_cosine_to_svm"], 1 - 1e-9)
            self.assertGreater(1 - plain["cosine_to_svm"], 1e-2)

    def test_basins_are_those_of_the_locally_optimal_choices(self):
        problems = {"single": self.example("single-local"), "random plane": self.random_plane()}
        for name, problem in problems.items():
            with self.subTest(name):
                answer = self.select(problem, "--basins", "--basins-side", 15, "--local", status=None)
                self.assertTrue(answer["local_choices_complete"])
                local = [c["chosen"] for c in answer["local_choices"]]
                if name != "single":
                    self.assertGreaterEqual(len(local), 3)
                    self.assertGreaterEqual(len(answer["basins"]["limits"]), 3)
                self.assertTrue(answer["basins"]["map"])
                self.assertEqual(answer["basins"]["starts"], 225)
                self.assertEqual(answer["basins"]["unsettled"], 0)
                for limit in answer["basins"]["limits"]:
                    self.assertIn(limit["chosen"], local)

    def random_plane(self):
        # Two inputs of eight random tokens in the plane, random scores as a third coordinate that W does not see.
        rng = np.random.default_rng(0)
        x = np.concatenate([rng.normal(size=(2, 8, 2)), rng.uniform(size=(2, 8, 1))], axis=2)
        return {"X": x.tolist(), "Y": [1, 1], "v": [0, 0, 1], "W": np.diag([1.0, 1, 0]).tolist()}


if __name__ == "__main__":
    program.main()
