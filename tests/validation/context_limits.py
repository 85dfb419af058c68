"""Long context (theory: one attention layer on n tokens of cosine rho, beta = gamma ln n), through `attractor context`.
Truths: recorded reference values (13 digits, mpmath), the textbook layer in plain Python, limits, and the recipes' papers.
"""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program

DIGITS = 6e-13  # half a unit of the thirteenth digit

LENGTHS = (1e2, 1e3, 1e4, 1e6, 1e9, 1e12)
REFERENCE = {  # rho = 0.5; backward norm: d = n, |x| = 1
    1.5: {
        "p0": (0.2420923626368, 0.1511078508658, 0.09091735612328, 0.03065345974554, 0.005591967314395, 0.0009990009990020),
        "cos": (0.9483652633637, 0.9779420734232, 0.9918188592321, 0.9990613077421, 0.9999687308905, 0.9999990019980),
        "ratio": (0.3082080888664, 0.2009417935334, 0.1222333861771, 0.04137918914164, 0.007551709380100, 0.001349124786526),
        "residual": (0.7253658181895, 0.7515676489309, 0.7707398286299, 0.7901634486892, 0.7982095836607, 0.7996802878212),
        "gain": (0.3213556803180, 0.2100377422121, 0.1279151341159, 0.04332879545650, 0.007908110963412, 0.001412800055210),
        "eta": (0.08142648010968, 0.02522543198658, 0.008484376257575, 0.0009412461304131, 3.127126433372e-5, 9.980040356073e-7),
    },
    2.0: {
        "p0": (0.5025125628141, 0.5002501250625, 0.5000250012501, 0.5000002500001, 0.5000000002500, 0.5000000000002),
        "cos": (0.8027967806841, 0.8002799679808, 0.8000279996800, 0.8000002800000, 0.8000000002800, 0.8000000000003),
        "ratio": (0.6100331440998, 0.6140525725045, 0.6144537298362, 0.6144978484635, 0.6144982936518, 0.6144982940970),
        "residual": (0.6417806892991, 0.6401776467949, 0.6400177604679, 0.6400001776000, 0.6400000001776, 0.6400000000002),
        "gain": (0.6280178648986, 0.6320127087634, 0.6324112591028, 0.6324550893147, 0.6324555315910, 0.6324555320332),
        "eta": (0.2892772901936, 0.2560921984043, 0.2508663639518, 0.2500148494747, 0.2500000266225, 0.2500000000414),
    },
    2.5: {
        "p0": (0.7615766379265, 0.8491486468754, 0.9090991736289, 0.9693465996821, 0.9944080326967, 0.9990009990010),
        "cos": (0.6353623171984, 0.5811940232650, 0.5475160623246, 0.5155615249719, 0.5028038010589, 0.5004997500001),
        "ratio": (0.8425522993562, 0.9077572038859, 0.9467204868008, 0.9827500752464, 0.9969054666397, 0.9994488549114),
        "residual": (0.5643591847522, 0.5392074154572, 0.5232456755117, 0.5077220853933, 0.5013999462021, 0.5002498126249),
        "gain": (0.8539762090382, 0.9152114255570, 0.9512979950314, 0.9843154728319, 0.9971922572314, 0.9995001250624),
        "eta": (0.6097664392331, 0.7241252067714, 0.8267015689684, 0.9396335469655, 0.9888473349447, 0.9980029960041),
    },
}


def textbook(n, rho, beta, residual=0):
    """Weights of a row, entropy and cosine of two outputs of n explicit tokens sqrt(rho) e_0 + sqrt(1-rho) e_i."""
    tokens = [[math.sqrt(rho)] + [math.sqrt(1 - rho) * (i == j) for j in range(n)] for i in range(n)]
    outputs, own, entropy = [], [], []
    for x in tokens:
        logits = [beta * sum(a * b for a, b in zip(x, y)) for y in tokens]
        weights = [math.exp(l - max(logits)) for l in logits]
        weights = [w / sum(weights) for w in weights]
        own.append(max(weights))
        entropy.append(-sum(w * math.log(w) for w in weights))
        outputs.append([residual * a + sum(w * y[k] for w, y in zip(weights, tokens)) for k, a in enumerate(x)])
    dot = [sum(a * b for a, b in zip(outputs[i], outputs[j])) for i, j in ((0, 1), (0, 0), (1, 1))]
    return own[0], entropy[0], dot[0] / math.sqrt(dot[1] * dot[2])


class ContextLimits(program.ProgramTest):
    def context(self, *arguments):
        run = program.attractor("context", *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json

    def layer(self, tokens, rho, gamma, *more):
        return self.context("--tokens", repr(tokens), "--rho", repr(rho), "--gamma", repr(gamma), *more)

    def assert_close(self, value, truth, relative, what=""):
        self.assertLessEqual(abs(value - truth), relative * abs(truth), f"{what}: {value} instead of {truth}")

    # ---- Recorded values

    def test_reference_table(self):
        keys = {"p0": "self_weight", "cos": "output_cosine", "ratio": "angle_ratio", "gain": "normalised_gain",
                "eta": "backward_norm"}
        for gamma, rows in REFERENCE.items():
            for k, n in enumerate(LENGTHS):
                alone = self.layer(n, 0.5, gamma)
                for row, key in keys.items():
                    self.assert_close(alone[key], rows[row][k], DIGITS, f"n = {n}, gamma = {gamma}, {key}")
                residual = self.layer(n, 0.5, gamma, "--residual", 1)
                self.assert_close(residual["output_cosine"], rows["residual"][k], DIGITS, f"n = {n}, residual")
                self.assertEqual(alone["critical_gamma"], 2)
                inside = 0.1 <= rows["p0"][k] <= 0.9
                self.assertEqual(alone["phase"] == "critical", inside)

    def test_slope_width_and_scaling(self):
        for n, slope in ((1e6, 5.060965321), (1e12, 9.481926757), (1e100, 74.32272298)):
            self.assert_close(self.layer(n, 0.5, 2.0)["slope"], slope, 1e-9)
        for n, width in ((1e2, 1.908485018879), (1e6, 0.6361616729595), (1e12, 0.3180808364798)):
            self.assert_close(self.layer(n, 0.5, 2.0)["width_gamma"], width, DIGITS)
        self.assert_close(self.layer(1e12, 0.5, 2.05)["output_cosine"], 0.6926446587739, DIGITS)

    def test_depth_runs_away(self):
        recorded = {2.5: (0.4844384750281, 0.4581743976023, 0.3966725589040, 0.1274305336504, 9.475529152369e-10),
                    2.0: (0.1999997200000, 1.564048758374e-8)}
        for gamma, gaps in recorded.items():
            answer = self.layer(1e6, 0.5, gamma, "--layers", len(gaps))
            for row, gap in zip(answer["layers"], gaps, strict=True):
                self.assert_close(row["output_gap"], gap, 1e-12, f"layer {row['layer']}")
            self.assertEqual(answer["collapse_layer"], len(gaps))
        # Far above criticality the stack keeps its tokens for long.
        self.assertIsNone(self.layer(1e6, 0.5, 8.0, "--layers", 100)["collapse_layer"])

    def test_critical_cosines(self):
        for rho, alone, residual in ((0.1, 0.3076923076923, 0.1649484536082), (0.3, 0.6315789473684, 0.4324324324324),
                                     (0.9, 0.9729729729730, 0.9411764705882)):
            for a, truth in ((0, alone), (1, residual)):
                answer = self.layer(1e30, rho, 1 / (1 - rho), "--residual", a)
                self.assert_close(answer["output_cosine"], truth, 1e-12)
                limits = {row["phase"]: row for row in answer["limits"]}
                self.assert_close(limits["critical"]["output_cosine"], truth, 1e-12)
                self.assertEqual(answer["phase"], "critical")

    # ---- Against the definition

    def test_small_contexts_by_the_definition(self):
        for n, rho, gamma, a in ((2, 0.3, 1.0, 0), (7, 0.3, 1.4, 0), (12, 0.0, 0.5, 0), (20, 0.6, 3.0, 1), (9, 0.9, 0.2, 0.5)):
            own, entropy, cosine = textbook(n, rho, gamma * math.log(n), a)
            answer = self.layer(n, rho, gamma, "--residual", a)
            self.assertAlmostEqual(answer["self_weight"], own, delta=1e-13)
            self.assertAlmostEqual(answer["attention_entropy"], entropy, delta=1e-13)
            self.assertAlmostEqual(answer["output_cosine"], cosine, delta=1e-13)

    def test_limits_are_reached(self):
        for rho in (0.25, 0.5, 0.75):
            for factor, phase in ((0.8, "collapse"), (1.0, "critical"), (1.2, "identity")):
                answer = self.layer(1e200, rho, factor / (1 - rho))
                limit = {"collapse": 1, "critical": 4 * rho / (1 + 3 * rho), "identity": rho}[phase]
                self.assertEqual(answer["phase"], phase)
                self.assertAlmostEqual(answer["output_cosine"], limit, delta=1e-12)
                self.assertAlmostEqual(answer["limit_output_cosine"], limit, delta=1e-15)
                self.assertAlmostEqual(answer["self_weight"], {"collapse": 0, "critical": 0.5, "identity": 1}[phase],
                                       delta=1e-12)

    def test_orthogonal_tokens_switch_at_one_half(self):
        for gamma, cosine, phase in ((0.4, 1, "collapse"), (0.5, 0.5, "critical"), (0.6, 0, "identity")):
            answer = self.layer(1e200, 0.0, gamma)
            self.assertAlmostEqual(answer["output_cosine"], cosine, delta=1e-12)
            self.assertEqual(answer["phase"], phase)
            self.assertLess(answer["self_weight"], 1e-12)
            self.assertEqual(len(answer["remarks"]), 1)

    # ---- Random tokens

    def test_random_tokens_agree_within_the_sampling_error(self):
        for n, rho, gamma, a, dim in ((1000, 0.5, 2.0, 0, 256), (3000, 0.5, 1.5, 0, 128), (1000, 0.3, 2.0, 1, 64)):
            answer = self.layer(n, rho, gamma, "--residual", a, "--simulate", "--dim", dim, "--replicates", 16)
            for row in answer["simulation"]:
                self.assertGreater(row["standard_error"], 0)
                self.assertLess(abs(row["z"]), 4, row)
            # The correction of the dimension matters: without it the means would be many errors off.
            weight = answer["simulation"][0]
            self.assertGreater(abs(weight["mean"] - weight["closed_form"]), 20 * weight["standard_error"])

    def test_high_dimensions_give_the_closed_form(self):
        answer = self.layer(200, 0.5, 2.0, "--simulate", "--dim", 32768, "--rows", 16, "--replicates", 4)
        for row in answer["simulation"][:2]:
            self.assertLess(abs(row["mean"] - row["closed_form"]), 4 * row["standard_error"] + 2e-4, row)
        exact = self.layer(100000, 0.5, 2.0, "--simulate", "--exact")
        for row in exact["simulation"]:
            self.assertLess(abs(row["difference"]), 1e-9, row)

    def test_result_depends_on_the_parameters_only(self):
        runs = [self.layer(3000, 0.5, 2.0, "--simulate", "--dim", 33, "--threads", t)["simulation"] for t in (1, 2)]
        self.assertEqual(*runs)

    # ---- Advice

    def test_advice(self):
        for n, trained, rho in ((131072, 8192, 0.6), (1e6, 4096, 0.3), (1024, 8192, 0.5)):
            answer = self.context("--advise", "--tokens", n, "--rho", rho, "--trained-tokens", trained)
            recipes = {row["recipe"]: row for row in answer["recipes"]}
            beta0 = math.log(trained) / (1 - rho)
            longer = n > trained
            scales = {"critical": math.log(n) / (1 - rho), "constant": beta0,
                      "log n (SSMax)": math.log(n) / (1 - rho),
                      "log n beyond training (Qwen)": math.log(max(n, trained)) / (1 - rho),
                      "YaRN": beta0 * (0.1 * math.log(n / trained) + 1) ** 2 if longer else beta0}
            self.assertEqual(set(scales), set(recipes))
            for name, beta in scales.items():
                row = recipes[name]
                self.assert_close(row["beta"], beta, 1e-13, name)
                self.assert_close(row["gamma"], beta / math.log(n), 1e-13, name)
                self.assert_close(row["self_weight"], 1 / (1 + (n - 1) * math.exp(-beta * (1 - rho))), 1e-12, name)
            self.assert_close(answer["multiplier"], math.log(n) / math.log(trained), 1e-13)

    # ---- The command

    def test_map(self):
        answer = self.layer(1e12, 0.5, 2.0, "--map")
        lengths = sorted({row["tokens"] for row in answer["map"]})
        self.assertEqual(lengths, [1e2, 1e4, 1e8, 1e12])
        here = [row for row in answer["map"] if row["tokens"] == 1e12 and abs(row["rho"] - 0.5) < 1e-12]
        ratios = [row["angle_ratio"] for row in sorted(here, key=lambda row: row["gamma"])]
        self.assertEqual(ratios, sorted(ratios))
        at = [row["angle_ratio"] for row in here if row["gamma"] == 2]
        self.assert_close(at[0], 0.6144982940970, 1e-11)

    def test_page_and_text(self):
        run = program.attractor("context", "--advise", "--tokens", 131072, "--rho", 0.6, "--out", self.directory / "page")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("multiply the attention logits by 1.308", " ".join(run.out.split()))
        stored = json.loads((self.directory / "page" / "summary.json").read_text())
        self.assertEqual(len(stored["recipes"]), 5)
        self.assertIn("YaRN", (self.directory / "page" / "index.html").read_text())

    def test_bad_input(self):
        cases = ((("--tokens", 1), "tokens"), (("--rho", 1), "rho = 1"), (("--rho", -0.5), "rho"), (("--gamma", -1), "gamma"),
                 (("--residual", "nan"), "residual"), (("--simulate", "--tokens", 1e6), "tokens"),
                 (("--simulate", "--tokens", 100, "--dim", 2), "dim = 2"), (("--exact",), "exact has no effect without simulate"),
                 (("--advise", "--simulate"), "advise answers alone"), (("--layers", 0), "layers"),
                 (("--advise", "--trained-tokens", 1), "trained-tokens"))
        self.assert_refused(cases, "context")


if __name__ == "__main__":
    program.main()
