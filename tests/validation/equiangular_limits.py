"""Equiangular tokens (docs/theory/reductions.md) through `attractor reduce equiangular` and `attractor forecast`: every
value of theory A6 and A7, an independent integration of the reduced equations, tokens in `attractor flow`.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program

SCHEMES = ("post", "pre", "mix", "peri", "sandwich", "ngpt", "ln-scaling", "damped-post", "deepnorm",
           "branch")


def attention(g, n, beta):
    """p (each other token), <theta, A>, |A| of an equiangular family."""
    e = math.exp(beta * (g - 1))
    p0, p = 1 / (1 + (n - 1) * e), e / (1 + (n - 1) * e)
    size = p0 * p0 + (n - 1) * p * p + 2 * (n - 1) * p0 * p * g + (n - 1) * (n - 2) * p * p * g
    return p, p0 + (n - 1) * p * g, math.sqrt(size)


def clock(scheme, t, r, along, size, alpha, tau, a):
    """s and r' of theory A7."""
    root = math.sqrt(1 + t)
    return {"post": (1, 0), "pre": (r, along), "mix": (1, 0) if t < tau else (r, along),
            "peri": (r * size, along / size), "sandwich": (r * size, along / size), "ngpt": (size / alpha, 0),
            "ln-scaling": (r * root, along / root), "damped-post": (root, 0), "deepnorm": (a, 0),
            "branch": (r * size, along / size)}[scheme]


def integrate(scheme, n, beta, end, start=0.0, alpha=1.0, tau=1.0, a=1.0, steps=8000):
    """(cosine, norm) by the classical Runge-Kutta method; `tau` falls on a step."""
    def rate(t, g, r):
        p, along, size = attention(g, n, beta * r * r if scheme == "branch" else beta)
        s, growth = clock(scheme, t, r, along, size, alpha, tau, a)
        return 2 / s * p * (1 - g) * (1 + (n - 1) * g), growth

    g, r, h = start, 1.0, end / steps
    for k in range(steps):
        def at(part, dg, dr):
            # Times strictly inside the step: mix jumps at its end.
            return rate(h * (k + 0.5 + (part - 0.5) * (0.999 if scheme == "mix" else 1)), g + dg, r + dr)

        k1 = at(0, 0, 0)
        k2 = at(0.5, h / 2 * k1[0], h / 2 * k1[1])
        k3 = at(0.5, h / 2 * k2[0], h / 2 * k2[1])
        k4 = at(1, h * k3[0], h * k3[1])
        g += h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        r += h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    return g, r


def options(scheme, alpha, switch_time, deepnorm_scale):
    """Of the parameters of schemes the one that this scheme has; others are refused."""
    used = {"ngpt": ("--alpha", alpha), "mix": ("--switch-time", switch_time),
            "deepnorm": ("--deepnorm-scale", deepnorm_scale)}
    return used.get(scheme, ())


class Equiangular(program.ProgramTest):
    def reduce(self, *arguments):
        run = program.attractor("reduce", "equiangular", *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json

    def forecast(self, *arguments):
        run = program.attractor("forecast", *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json

    def assert_relative(self, value, truth, tolerance, what=None):
        self.assertLessEqual(abs(value - truth), tolerance * abs(truth), f"{what}: {value!r}, not {truth!r}")

    # ---- Theory A6

    def test_cosines(self):
        cases = ((2, 1, 0, 1, 0.579195336911065, 0.5, 0.588061883760116),
                 (4, 1, 0, 1, 0.479486782185420, 1, 0.832087876468885),
                 (8, 1, 0, 2, 0.816342358568763, 1, 0.600585065136073),
                 (8, 4, 0, 5, 0.616837375839616, 0.5, 0.369686580077663),
                 (16, 2, 0, 2, 0.599545694786993, 0.8, 0.277810074435709),
                 (32, 1, 0, 3, 0.914207011654176, 2, 0.894673749151390),
                 (64, 4, 0, 3, 0.424196498305890, 0.4, 0.0197298066987751),
                 (128, 0, 0, 2, 0.295147004654848, 2, 0.295147004654848),
                 (1000, 5, 0, 3, 0.169619520169067, 0.5, 0.00172512889526127),
                 (16, 2, 0.3, 1, 0.746782843645001, 0.25, 0.617803761876330),
                 (8, 4, -0.1, 2, -0.0816381448787526, 0.5, -0.0580262332002084))
        for n, beta, start, sa_time, sa, usa_time, usa in cases:
            for dynamics, time, truth in (("sa", sa_time, sa), ("usa", usa_time, usa)):
                with self.subTest(n=n, beta=beta, dynamics=dynamics):
                    answer = self.reduce("--dynamics", dynamics, "--tokens", n, "--beta", beta, f"--cosine0={start}",
                                         "--time", time)
                    self.assert_relative(answer["cosine"], truth, 1e-12)

    def test_terminal_constants(self):
        cases = ((4, 1, 1.909813788678), (8, 1, 1.533149777739), (8, 2, 3.734953426363), (8, 4, 2310.174914114),
                 (32, 2, 1.723449774766), (64, 4, 9.450025737555), (1000, 5, 2.086955375969))
        for n, beta, constant in cases:
            answer = self.reduce("--tokens", n, "--beta", beta, "--time", 300)
            self.assert_relative(answer["terminal_constant"], constant, 1e-12, (n, beta))
            self.assert_relative(answer["log_gap"], math.log(n * constant) - 600, 1e-13, (n, beta))
            answer = self.reduce("--dynamics", "usa", "--tokens", n, "--beta", beta, "--time", 40)
            late = math.log(n) + n * math.log(constant) - 80 * math.exp(beta)
            self.assert_relative(answer["log_gap"], late, 1e-12, (n, beta))

    def test_phase_diagram(self):
        sa = {0: 5.186260981120, 1: 5.270283907586, 2: 5.458393682898, 3: 5.897609345690, 4: 6.953501848808,
              5: 9.544329203520, 6: 15.99531354920, 8: 73.44567591095}
        usa = {0: 5.186260981120, 1: 2.897048622990, 2: 1.880417099555, 3: 1.391519119167, 4: 1.130770341296,
               5: 0.9746065980440, 6: 0.8702302582826, 8: 0.7344912435041}
        for dynamics, times in (("sa", sa), ("usa", usa)):
            for beta, time in times.items():
                answer = self.reduce("--dynamics", dynamics, "--tokens", 32, "--beta", beta, "--levels", 0.999)
                self.assert_relative(answer["levels"][0]["time"], time, 1e-12, (dynamics, beta))
                self.assert_relative(math.exp(answer["levels"][0]["log_time"]), time, 1e-12, (dynamics, beta))

    def test_tokens_on_the_sphere_agree(self):
        for dynamics, time in (("sa", 2), ("usa", 0.5)):
            flow = self.answer("--dynamics", dynamics, "--init", "equiangular", "--tokens", 6, "--dim", 9, "--rho", 0.3,
                               "--beta", 2, "--time", time, "--tolerance", 1e-12)
            exact = self.reduce("--dynamics", dynamics, "--tokens", 6, "--cosine0", 0.3, "--beta", 2, "--time", time)
            self.assertAlmostEqual(flow["mean_cosine"], exact["cosine"], delta=1e-9)
            self.assertAlmostEqual(flow["energy_ratio"], exact["energy_ratio"], delta=1e-9)

    def test_no_time_and_no_number_of_tokens_is_too_large(self):
        # T = ln n / 2 + ... while e^beta < n; then e^beta: mpmath, 80 digits.
        for n, beta, level, log_time in (("1e30", 5, 0.5, 3.5420826463501659), ("1e30", 75, 0.5, 9.3941247817187925),
                                         ("1e12", 30, 0.9, 4.9521591200287968), (8, 1000, 0.9, 992.39316422181426),
                                         (1000, 1e6, 0.9, 999985.49034575318)):
            answer = self.reduce("--tokens", n, "--beta", beta, "--levels", level)
            self.assertAlmostEqual(answer["levels"][0]["log_time"], log_time, delta=1e-12 + 4e-16 * float(beta))
        answer = self.reduce("--norm", "pre", "--tokens", 8, "--beta", 2, "--log10-time", 1e6)
        self.assert_relative(answer["log_gap"], math.log(3.734953426363) - 2e6 * math.log(10), 1e-13)

    # ---- Theory A7

    def test_schemes(self):
        cases = {"post": (0.230696012555, 0.998645534025, 1, 1, 1),
                 "pre": (0.168809527577, 0.803124142869, 4.22679448178, 0.989247041955, 18.6118240793),
                 "peri": (0.308871998858, 0.878872731884, 5.45905615669, 0.990905687044, 20.2422929440),
                 "ngpt": (0.487100263690, 0.999722339389, 1, 1, 1),
                 "ln-scaling": (0.136023113167, 0.550999425732, 2.62816126554, 0.903508257982, 6.13966882269),
                 "mix": (0.230696012555, 0.924102203332, 4.13072187503, 0.996306893154, 18.9093333728)}
        cases["sandwich"] = cases["peri"]
        for scheme, (at_1, at_5, norm_5, at_20, norm_20) in cases.items():
            for time, cosine, norm in ((1, at_1, None), (5, at_5, norm_5), (20, at_20, norm_20)):
                answer = self.reduce("--norm", scheme, "--tokens", 8, "--beta", 2, "--time", time)
                self.assert_relative(answer["cosine"], cosine, 5e-12, (scheme, time))
                if norm is not None:
                    self.assert_relative(answer["norm"], norm, 3e-12, (scheme, time))

    def test_unit_layers(self):
        cases = {"post": (0.9999164938221, 1), "pre": (0.8936470599860, 7.969688094219),
                 "peri": (0.9089241725947, 10.20877273393), "ngpt": (0.9999779391429, 1),
                 "ln-scaling": (0.6652828853167, 3.951703028439), "mix": (0.9941016294072, 6.741374451374)}
        for scheme, (cosine, norm) in cases.items():
            answers = (self.reduce("--norm", scheme, "--tokens", 8, "--beta", 2, "--layers", 10,
                                   *options(scheme, 0.5, 4, 1)),
                       self.forecast("--norm", scheme, "--tokens", 8, "--beta", 2, "--depth", 10, "--rho0", 0, "--alpha",
                                     0.5, "--switch-layer", 4))
            for answer in answers:
                self.assert_relative(answer["cosine"], cosine, 1e-12, scheme)
                self.assert_relative(answer["norm"], norm, 1e-12, scheme)

    def test_initial_speeds(self):
        cases = {(8, 2): (0.1389945237720, 0.2548274222271), (64, 4): (0.01700707025949, 0.03625022184140),
                 (1000, 5): (0.001743051301211, 0.01318031480844)}
        for (n, beta), (plain, unit) in cases.items():
            for scheme in SCHEMES:
                answer = self.reduce("--norm", scheme, "--tokens", n, "--beta", beta, "--time", 0)
                truth = unit if scheme in ("peri", "sandwich", "ngpt", "branch") else plain
                self.assert_relative(answer["speed"], truth, 1e-12, (scheme, n))

    def test_tails(self):
        for scheme, gap in (("pre", 3.736121717e-8), ("peri", 3.734832564e-8)):
            answer = self.reduce("--norm", scheme, "--tokens", 8, "--beta", 2, "--time", 1e4)
            self.assert_relative(answer["gap"], gap, 2e-10, scheme)
        for n, beta, constant in ((8, 2, 6.1170496819), (64, 4, 18.282352771)):
            answer = self.reduce("--norm", "ngpt", "--tokens", n, "--beta", beta, "--time", 100)
            self.assertAlmostEqual(answer["log_gap"], math.log(constant) - 200, delta=1e-10)
        answer = self.reduce("--norm", "mix", "--switch-time", 5, "--tokens", 8, "--beta", 2, "--time", 1e12)
        self.assert_relative(answer["gap"] * 1e24, 0.001354925280, 1e-9, "mix")
        answer = self.reduce("--norm", "damped-post", "--tokens", 8, "--beta", 2, "--time", 8)
        self.assert_relative(answer["cosine"], 0.990088255027, 1e-12, "damped-post")
        answer = self.reduce("--norm", "ln-scaling", "--tokens", 8, "--beta", 2, "--log10-time", 26)
        self.assert_relative(answer["gap"] * 4e26, 3.734953426363, 1e-11, "ln-scaling")

    def test_the_equations_themselves(self):
        n, beta, end, alpha, tau, a = 12, 3, 6, 0.3, 2, 1.7
        for scheme in SCHEMES:
            for start in (-0.05, 0.1):
                truth = integrate(scheme, n, beta, end, start, alpha, tau, a, steps=6000)
                answer = self.reduce("--norm", scheme, "--tokens", n, "--beta", beta, "--time", end, f"--cosine0={start}",
                                     *options(scheme, alpha, tau, a))
                self.assertAlmostEqual(answer["cosine"], truth[0], delta=1e-11, msg=scheme)
                self.assert_relative(answer["norm"], truth[1], 1e-11, scheme)

    def test_gaps_that_no_double_holds(self):
        usa = -2 * math.exp(700) * (1 - 0.04224723035155146)  # the way from 0 takes int e^{-beta g} dx / 2
        for arguments, log_gap in ((("--dynamics", "usa", "--beta", 700, "--time", 1), usa),
                                   (("--time", "5.1e299"), -1.02e300),
                                   (("--norm", "deepnorm", "--time", "1e300"), -2e300),
                                   (("--norm", "ngpt", "--alpha", "1e6", "--time", "1e300"), -2e306),
                                   (("--time", "1e308"), None),
                                   (("--dynamics", "usa", "--beta", 1000, "--time", 1), None)):
            answer = self.reduce(*arguments)
            self.assertEqual(answer["cosine"], 1, arguments)
            if log_gap is None:
                self.assertIsNone(answer["log_gap"], arguments)
            else:
                self.assert_relative(answer["log_gap"], log_gap, 1e-12, arguments)

    # ---- Questions derived from it

    def test_levels_passed_at_the_start(self):
        answer = self.reduce("--cosine0", "0.9999999999999999", "--levels", "0.5,0.9")
        self.assertEqual([row["time"] for row in answer["levels"]], [0, 0])
        forecast = self.forecast("--rho0", 0.6, "--levels", 0.5)
        self.assertEqual({row["flow_at_0.5"] for row in forecast["schemes"]}, {0})

    def test_sensitivities_are_derivatives(self):
        def cosine(beta, n):
            return self.reduce("--norm", "pre", "--tokens", repr(n), "--beta", repr(beta), "--time", 4)["cosine"]

        answer = self.reduce("--norm", "pre", "--tokens", 30, "--beta", 3, "--time", 4)
        h = 1e-4
        self.assert_relative(answer["cosine_by_beta"], (cosine(3 + h, 30) - cosine(3 - h, 30)) / (2 * h), 1e-6)
        by_tokens = (cosine(3, 30 * math.exp(h)) - cosine(3, 30 * math.exp(-h))) / (2 * h)
        self.assert_relative(answer["cosine_by_log_tokens"], by_tokens, 1e-6)

    def test_half_time(self):
        for start in (-0.01, 0, 0.7):
            answer = self.reduce("--tokens", 50, "--beta", 3, f"--cosine0={start}")
            at = self.reduce("--tokens", 50, "--beta", 3, f"--cosine0={start}", "--time", repr(answer["half_time"]))
            self.assert_relative(at["gap"], (1 - start) / 2, 1e-12)
            self.assert_relative(math.exp(answer["log_half_time"]), answer["half_time"], 1e-12)

    def test_forecast_table(self):
        answer = self.forecast("--depth", 96, "--norm", "pre", "--beta", 8, "--tokens", 8192)
        rows = {row["scheme"]: row for row in answer["schemes"]}
        self.assertEqual(tuple(rows), SCHEMES)
        self.assertEqual(len(answer["curves"]), 97)
        self.assertEqual(rows["pre"]["cosine"], answer["cosine"])
        for scheme, row in rows.items():
            key = scheme.replace("-", "_") + "_cosine"
            for level in (0.5, 0.9, 0.99):
                first = next((c["layer"] for c in answer["curves"] if c[key] >= level), None)
                self.assertEqual(row[f"layer_at_{level}"], first, (scheme, level))
            flow = self.reduce("--norm", scheme, "--tokens", 8192, "--beta", 8, "--cosine0", 0.1, "--time", 96,
                               *options(scheme, 0.25, 24, repr(192 ** 0.25)), "--levels", 0.9)
            self.assertAlmostEqual(row["flow_cosine"], flow["cosine"], delta=1e-14)
            if flow["levels"][0]["time"] is None:
                self.assertIsNone(row["flow_at_0.9"], scheme)
            else:
                self.assert_relative(row["flow_at_0.9"], flow["levels"][0]["time"], 1e-13, scheme)
        self.assertIsNone(self.forecast("--depth", 2, "--levels", 0.999)["schemes"][0]["layer_at_0.999"])

    def test_bad_input(self):
        cases = ((("reduce", "equiangular", "--tokens", 1), "tokens"),
                 (("reduce", "equiangular", "--tokens", "1e31"), "2 to 1e+30"),
                 (("reduce", "equiangular", "--tokens", 8, "--cosine0=-0.2"), "cosine0 = -0.2"),
                 (("reduce", "equiangular", "--cosine0", 1), "cosine0 = 1"),
                 (("reduce", "equiangular", "--norm", "middle"), "ln-scaling"),
                 (("reduce", "equiangular", "--dynamics", "usa", "--norm", "pre"), "usa"),
                 (("reduce", "equiangular", "--dynamics", "usa", "--layers", 3), "usa"),
                 (("reduce", "equiangular", "--time=-1"), "time"),
                 (("reduce", "equiangular", "--log10-time", "1,2"), "log10-time"),
                 (("reduce", "equiangular", "--levels", "0.5,1"), "levels holds '1'"),
                 (("forecast", "--depth", 0), "depth"), (("forecast", "--rho0", 1), "rho0 = 1"),
                 (("forecast", "--levels", "x"), "levels holds 'x'"))
        self.assert_refused(cases)


if __name__ == "__main__":
    program.main()
