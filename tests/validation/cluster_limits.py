"""Metastable clusters (docs/theory/metastability.md), through `attractor reduce pair` and `attractor reduce clusters`: every
number of the theory's table, the large-beta formula, growth rates by their definition, and token flows as an independent witness.
"""
import cmath
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program

DIGITS = 5e-13  # the table has 13 digits

MERGE_TIMES = {  # (dynamics, degrees): {beta: time to cosine 0.999}
    ("sa", 90): {1: 4.271067680309, 4: 10.83120700999, 9: 466.7106529100, 16: 279981.1600994, 25: 1444799482.632,
                 49: 1.947901436997e+19},
    ("usa", 90): {1: 1.744460101128, 4: 0.3271578403645, 9: 0.1147243584000, 16: 0.06301502988347, 25: 0.04013058816908,
                  49: 0.02042524903535},
    ("sa", 60): {4: 4.339218886760, 9: 11.18525138108, 16: 142.4522232043, 25: 7637.242181796},
    ("sa", 120): {4: 61.32165130367, 9: 48744.78967230, 16: 1032076120.235, 25: 4.919974195931e+14},
}
LOG_TIMES = {  # (dynamics, degrees, beta): ln of the same, by mpmath
    ("sa", 60, 100): 45.003262020259181, ("sa", 90, 100): 94.701882854130534, ("sa", 120, 100): 144.97653877212063,
    ("sa", 60, 1000): 492.68811830786084, ("sa", 90, 1000): 992.39909954047992, ("sa", 120, 1000): 1492.6854515850907,
    ("usa", 60, 1000): -506.61873451157922, ("usa", 90, 1000): -6.9077532789601364, ("usa", 120, 1000): 493.37859876565061,
}


class ClusterLimits(program.ProgramTest):
    def reduce(self, what, *arguments):
        run = program.attractor("reduce", what, *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json

    def pair(self, *arguments):
        return self.reduce("pair", *arguments)

    def assert_relative(self, found, truth, tolerance=DIGITS):
        self.assertAlmostEqual(found / truth, 1, delta=tolerance)

    # ---- Two clusters

    def test_merge_times(self):
        for (dynamics, degrees), row in MERGE_TIMES.items():
            for beta, time in row.items():
                with self.subTest(dynamics=dynamics, degrees=degrees, beta=beta):
                    answer = self.pair("--dynamics", dynamics, "--beta", beta, "--degrees", degrees)
                    self.assert_relative(answer["merge_time"], time)
                    self.assertAlmostEqual(answer["log10_merge_time"], math.log10(time), delta=1e-12)

    def test_merge_times_beyond_doubles(self):
        for (dynamics, degrees, beta), log_time in LOG_TIMES.items():
            answer = self.pair("--dynamics", dynamics, "--beta", beta, "--degrees", degrees)
            self.assertAlmostEqual(answer["log_merge_time"], log_time, delta=1e-12)
        self.assertIsNone(self.pair("--beta", 1000)["merge_time"])

    def test_masses(self):
        self.assert_relative(self.pair("--beta", 4, "--mass1", 0.25, "--mass2", 0.75)["merge_time"], 8.148917897344)
        self.assert_relative(self.pair("--beta", 9, "--angle", 0.9, "--mass1", 1 / 3, "--mass2", 1 / 3)["merge_time"],
                             6.304034075256)
        self.assert_relative(self.pair("--beta", 9, "--angle", 1.75, "--mass1", 2 / 3, "--mass2", 1 / 3)["merge_time"],
                             1827.299962612)
        unequal, equal = (self.pair("--beta", 20, "--mass1", m, "--mass2", 1 - m)["merge_time"] for m in (0.1, 0.5))
        self.assertLess(unequal, equal, "under SA unequal pairs merge faster")

    def test_large_beta_formula(self):
        for beta, ratio in ((25, 1.003264706), (100, 1.000200241), (400, 1.000012501)):
            self.assertAlmostEqual(self.pair("--beta", beta)["ratio_to_asymptotic"], ratio, delta=1e-9)
        for dynamics in ("sa", "usa"):
            for degrees in (60, 90, 120):
                c = math.cos(math.radians(degrees))
                for beta in (100, 1000, 1e6):
                    answer = self.pair("--dynamics", dynamics, "--beta", beta, "--degrees", degrees)
                    exponent = 1 - c if dynamics == "sa" else -c
                    mass = 2 if dynamics == "sa" else 1
                    self.assertAlmostEqual(answer["lifetime_exponent"], exponent, delta=1e-15)
                    formula = beta * exponent - math.log(beta * math.sin(math.radians(degrees))**2 * mass)
                    self.assertAlmostEqual(answer["asymptotic_log_time"], formula, delta=1e-12 + 1e-15 * beta)
                    # 1 + 2c/(beta s^2) + ...: first order, but second order at 90 degrees
                    e = 1 / (beta * (1 - c * c))
                    series = 1 + 2 * c * e + (2 + 6 * c * c) * e**2 + 24 * c * (1 + c * c) * e**3
                    self.assertAlmostEqual(answer["ratio_to_asymptotic"], series, delta=150 * e**4 + 1e-13)
                    self.assertAlmostEqual(answer["log_merge_time"] - formula, math.log(answer["ratio_to_asymptotic"]),
                                           delta=1e-12 + 1e-15 * beta)

    def test_antipodal(self):
        for beta, sa, usa in ((1, 0.2384058440442, 0.3678794411714), (3, 0.004945246313270, 0.04978706836786)):
            for dynamics, rate in (("sa", sa), ("usa", usa)):
                answer = self.pair("--dynamics", dynamics, "--beta", beta, "--degrees", 180)
                self.assert_relative(answer["escape_rate"], rate)
                self.assertIsNone(answer["log_merge_time"])
                self.assertTrue(answer["remarks"])
                near = 180 - math.degrees(1e-8)
                later = self.pair("--dynamics", dynamics, "--beta", beta, "--degrees", near, "--time", 2 / rate)
                self.assert_relative(math.pi - later["angle"], 1e-8 * math.e**2, 1e-6)  # 180 - 6e-7 has 8 digits left

    def test_without_interaction(self):
        answer = self.pair("--beta", 0, "--angle", 2, "--time", 1.5)
        self.assert_relative(answer["angle"], 0.6689000994797)
        self.assert_relative(answer["angle"], 2 * math.atan(math.tan(1) * math.exp(-1.5)))

    def test_tokens_agree(self):
        # Two tokens on the circle, from theta_0 to the cosine after the time of the reduction.
        for dynamics, time in (("sa", 8), ("usa", 0.2)):
            angle = self.pair("--dynamics", dynamics, "--beta", 4, "--angle", 1.4, "--time", time)["angle"]
            flow = self.answer("--dynamics", dynamics, "--beta", 4, "--init", "angles", "--angles", "0,1.4", "--time", time,
                               "--tolerance", 1e-12, "--merge-radius", "off")
            # the mean over pairs of different tokens
            self.assertAlmostEqual(flow["mean_cosine"], math.cos(angle), delta=1e-9)

    # ---- Regular arrangements

    def growth(self, dynamics, beta, k, j):
        """sigma_j by its definition."""
        angles = [2 * math.pi * l / k for l in range(k)]
        total = k if dynamics == "usa" else sum(math.exp(beta * math.cos(x)) for x in angles)
        return sum(math.exp(beta * math.cos(x)) * (math.cos(x) - beta * math.sin(x)**2) * (cmath.exp(1j * j * x).real - 1)
                   for x in angles[1:]) / total

    def test_polygon(self):
        for dynamics in ("sa", "usa"):
            for k, beta in ((2, 3), (3, 1), (5, 9), (8, 9), (12, 25)):
                answer = self.reduce("clusters", "--dynamics", dynamics, "--count", k, "--beta", beta)
                rates = [self.growth(dynamics, beta, k, j) for j in range(k // 2 + 1)]
                for found, truth in zip(answer["growth_rates"], rates, strict=True):
                    self.assertAlmostEqual(found, truth, delta=1e-12 * max(rates))
                self.assertEqual(answer["fastest_mode"], rates.index(max(rates)))
                self.assertAlmostEqual(answer["log_efolding_time"], -math.log(max(rates)), delta=1e-12)

    def test_lifetime_of_a_polygon(self):
        for beta in (100, 1000):
            for k in (4, 6):
                answer = self.reduce("clusters", "--count", k, "--beta", beta)
                a = 2 * math.pi / k
                formula = beta * (1 - math.cos(a)) - math.log(2 * beta * math.sin(a)**2)
                self.assertAlmostEqual(answer["asymptotic_log_lifetime"], formula, delta=1e-11)
                self.assertAlmostEqual(answer["log_lifetime"], formula, delta=2 / beta)
                # The alternating deviation of even k grows e-fold in half that time.
                self.assertAlmostEqual(answer["log_efolding_time"], formula - math.log(2), delta=2 / beta)

    def test_simplex(self):
        for k, beta in ((3, 2), (4, 2), (6, 5)):
            w, x = math.exp(-beta / (k - 1)), beta * k / (k - 1)
            unit = w / (math.exp(beta) + (k - 1) * w)
            answer = self.reduce("clusters", "--shape", "simplex", "--count", k, "--beta", beta)
            for found, truth in zip(answer["growth_rates"], (0, k, k / (k - 1) * (k - 2 + x), 2 * x), strict=True):
                self.assertAlmostEqual(found, truth * unit, delta=1e-13 * k)
        answer = self.reduce("clusters", "--shape", "simplex", "--count", 32, "--beta", 8, "--cosine", 0)
        self.assert_relative(answer["time"], 73.44567591095)

    def test_ring(self):
        for beta in (1, 9):
            pair = self.pair("--beta", beta, "--angle", 2.4, "--merge-cosine", math.cos(0.2))
            ring = self.reduce("clusters", "--shape", "ring", "--count", 2, "--beta", beta, "--polar", 1.2, "--to-polar", 0.1)
            self.assert_relative(ring["time"], pair["merge_time"], 1e-12)

    # ---- The command

    def test_bad_input(self):
        cases = ((("pair", "--angle", 1, "--degrees", 60), "degrees"), (("pair", "--angle", 4), "angle = '4'"),
                 (("pair", "--beta", -21), "beta"), (("pair", "--beta", 2e6), "beta"), (("pair", "--mass1", 0), "mass1"),
                 (("pair", "--dynamics", "usa", "--mass1", 0.9), "masses"), (("pair", "--time", "nan"), "time"),
                 (("pair", "--merge-cosine", 1), "merge-cosine"), (("clusters", "--count", 1), "count"),
                 (("clusters", "--shape", "star"), "shape"), (("clusters", "--dim", 3), "simplex"),
                 (("clusters", "--shape", "simplex", "--count", 5, "--dim", 3), "dim = 3"),
                 (("clusters", "--shape", "ring", "--polar", 2), "polar"))
        self.assert_refused(cases, "reduce")


if __name__ == "__main__":
    program.main()
