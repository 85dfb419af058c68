"""Normalisation schemes (docs/theory/normalisation.md) through `attractor flow --norm`: equiangular tokens against their
closed system, tokens in general position against a plain integration, late laws, discrete layers.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

import program


SCHEMES = ("post", "pre", "mix", "peri", "sandwich", "ngpt", "ln-scaling", "damped-post", "deepnorm", "branch")
ALPHA, SWITCH, SCALE = 0.7, 1.0, 1.6


def norm(scheme, alpha=ALPHA, switch=SWITCH, scale=SCALE):
    """Its options; the program refuses those of another scheme."""
    own = {"ngpt": ("--alpha", alpha), "mix": ("--switch-time", switch), "deepnorm": ("--deepnorm-scale", scale)}
    return ("--norm", scheme, *own.get(scheme, ()))


def deterministic_tokens(n, d):
    i, a = np.arange(n)[:, None], np.arange(d)[None, :]
    x = np.sin(1 + 3 * i + 7 * a + i * a)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def velocity(scheme, t, x, beta):
    """x' of the layers of attention/normalisation.hpp as h -> 0, written for x itself."""
    theta = unit(x)
    seen = x if scheme == "branch" else theta
    logits = beta * seen @ seen.T
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    out = weights / weights.sum(axis=1, keepdims=True) @ seen
    if scheme in ("peri", "sandwich", "ngpt", "branch"):
        out = unit(out)
    if scheme in ("ln-scaling", "damped-post"):
        out = out / math.sqrt(1 + t)
    if scheme == "ngpt":
        out = ALPHA * (out - x)
    if scheme == "deepnorm":
        out = out / SCALE
    free = scheme in ("pre", "peri", "sandwich", "ln-scaling", "branch") or (scheme == "mix" and t > SWITCH)
    return out if free else out - (out * theta).sum(axis=1, keepdims=True) * theta


def integrate(scheme, x, beta, end, steps=960):
    """The classical Runge-Kutta method; stages lie strictly inside a step, so that mix may jump at its end."""
    h = end / steps
    for k in range(steps):
        early, middle, late = (h * (k + part) for part in (1e-9, 0.5, 1 - 1e-9))
        k1 = velocity(scheme, early, x, beta)
        k2 = velocity(scheme, middle, x + h / 2 * k1, beta)
        k3 = velocity(scheme, middle, x + h / 2 * k2, beta)
        k4 = velocity(scheme, late, x + h * k3, beta)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def slope(x, y):
    return float(np.polyfit(x, y, 1)[0])


class Normalisation(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.runs = 0

    def result(self, *arguments):
        """(directions at the end, series, JSON) of a flow."""
        self.runs += 1
        out = self.directory / str(self.runs)
        answer = self.answer(*arguments, "--snapshots", 2, "--out", out)
        self.assertEqual(answer["status"], "complete")
        with h5py.File(out / "result.h5") as f:
            return f["snapshots/positions"][-1], {name: data[:] for name, data in f["series"].items()}, answer

    def reduce(self, *arguments):
        run = program.attractor("reduce", "equiangular", *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json

    def assert_relative(self, value, truth, tolerance, what=None):
        self.assertLessEqual(abs(value - truth), tolerance * abs(truth), f"{what}: {value!r}, not {truth!r}")


class Equiangular(Normalisation):
    def test_tokens_follow_the_closed_system(self):
        for n, d, beta, start in ((8, 8, 2, 0), (6, 9, 3.5, 0.3)):
            for scheme in SCHEMES:
                for time in (0.5, 3, 15):
                    shared = (*norm(scheme), "--tokens", n, "--beta", beta, "--time", time)
                    tokens = self.answer(*shared, "--init", "equiangular", "--dim", d, "--rho", start, "--tolerance", 1e-12)
                    exact = self.reduce(*shared, "--cosine0", start)
                    with self.subTest(scheme=scheme, n=n, time=time):
                        self.assertEqual(tokens["status"], "complete")
                        self.assertAlmostEqual(tokens["mean_cosine"], exact["cosine"], delta=1e-9)
                        self.assert_relative(tokens["mean_norm"], exact["norm"], 1e-9)

    def test_ten_unit_layers(self):
        # Theory A7: 4 post then 6 pre for mix, alpha = 0.5; deepnorm with a = 1 is post.
        table = {"post": (0.9999164938221, 1), "pre": (0.8936470599860, 7.969688094219),
                 "mix": (0.9941016294072, 6.741374451374), "peri": (0.9089241725947, 10.20877273393),
                 "sandwich": (0.9089241725947, 10.20877273393), "ngpt": (0.9999779391429, 1),
                 "ln-scaling": (0.6652828853167, 3.951703028439), "deepnorm": (0.9999164938221, 1)}
        for scheme, (cosine, length) in table.items():
            layers = self.answer(*norm(scheme, alpha=0.5, switch=4, scale=1), "--stepper", "layers", "--step", 1, "--time", 10,
                                 "--init", "equiangular", "--tokens", 8, "--dim", 8, "--beta", 2)
            self.assertEqual(layers["steps"], 10)
            self.assert_relative(layers["mean_cosine"], cosine, 1e-12, scheme)
            self.assert_relative(layers["mean_norm"], length, 1e-12, scheme)

    def test_layers_of_any_step_follow_the_closed_recursion(self):
        for scheme in SCHEMES:
            shared = (*norm(scheme), "--tokens", 5, "--beta", 3, "--step", 0.25)
            tokens = self.answer(*shared, "--stepper", "layers", "--time", 5, "--init", "equiangular", "--dim", 7, "--rho", 0.2)
            exact = self.reduce(*shared, "--layers", 20, "--cosine0", 0.2)
            self.assertAlmostEqual(tokens["mean_cosine"], exact["cosine"], delta=1e-12, msg=scheme)
            self.assert_relative(tokens["mean_norm"], exact["norm"], 1e-12, scheme)


class GeneralPosition(Normalisation):
    def test_tokens_follow_the_equation_of_their_scheme(self):
        start = deterministic_tokens(7, 4)
        np.save(self.directory / "tokens.npy", start)
        # Theory A7: |x_0| and cos(x_0, x_6).
        theory = {"pre": (3.034216782038, 0.9365553172835), "peri": (3.561360706266, 0.9539648173684)}
        for scheme in SCHEMES:
            truth = integrate(scheme, start, 1.5, 3)
            theta, _, answer = self.result(*norm(scheme), "--init", "file", "--tokens-file", self.directory / "tokens.npy",
                                           "--beta", 1.5, "--time", 3, "--tolerance", 1e-12)
            with self.subTest(scheme):
                self.assertLess(np.abs(theta - unit(truth)).max(), 1e-9)
                self.assert_relative(answer["mean_norm"], np.linalg.norm(truth, axis=1).mean(), 1e-9)
                if scheme in theory:
                    length, cosine = theory[scheme]
                    self.assert_relative(np.linalg.norm(truth[0]), length, 1e-9)
                    self.assert_relative(theta[0] @ theta[6], cosine, 1e-9)

    def test_one_flow_and_several_clocks(self):
        # Exact for any tokens: a time-dependent scheme is another one at the integral of its clock, here 4.
        pairs = ((("ln-scaling", 8), ("pre", 4)), (("damped-post", 8), ("post", 4)),
                 (("deepnorm", 4 * 1.6, "--deepnorm-scale", 1.6), ("post", 4)),
                 (("ngpt", 8, "--alpha", 0.5), ("ngpt", 4)),
                 (("ngpt", 24, "--alpha", 0.5, "--alpha-power", 0.5), ("ngpt", 4)),
                 (("ngpt", math.expm1(8), "--alpha", 0.5, "--alpha-power", 1), ("ngpt", 4)))
        for left, right in pairs:
            (x, _, a), (y, _, b) = (self.result("--norm", scheme, "--time", repr(time), *options, "--tokens", 20, "--dim", 5,
                                                "--beta", 3, "--seed", 4, "--tolerance", 1e-12)
                                    for scheme, time, *options in (left, right))
            with self.subTest(left):
                self.assertLess(np.abs(x - y).max(), 1e-9)
                self.assert_relative(a["mean_norm"], b["mean_norm"], 1e-9)

    def test_layers_converge_with_order_one(self):
        # Plain attention, and two causal heads with random values beside a feed-forward block. There errors of lengths have
        # both signs and nearly cancel in their mean, so its slope is taken for plain attention only.
        blocks = ((), ("--heads", 2, "--value", "gaussian", "--mask", "causal", "--feed-forward", "gelu"))
        for block in blocks:
            for scheme in SCHEMES:
                task = (*norm(scheme), *block, "--tokens", 10, "--dim", 4, "--beta", 2, "--seed", 3, "--time", 2,
                        "--outputs", 1)
                truth, _, exact = self.result(*task, "--tolerance", 1e-12)
                error = []
                for step in (2 ** -9, 2 ** -11):
                    theta, _, layers = self.result(*task, "--stepper", "layers", "--step", step)
                    error.append((np.abs(theta - truth).max(), abs(layers["mean_norm"] - exact["mean_norm"])))
                with self.subTest(scheme=scheme, block=block):
                    self.assertLess(error[1][0], 1e-2)
                    self.assertAlmostEqual(math.log(error[0][0] / error[1][0], 4), 1, delta=0.05)
                    if not block and exact["mean_norm"] > 1.01:
                        self.assertAlmostEqual(math.log(error[0][1] / error[1][1], 4), 1, delta=0.05)


class LateLaws(Normalisation):
    """Slopes fitted over at least three decades, from orthogonal and from random tokens (n = d = 8, beta = 2)."""
    STARTS = (("equiangular", 0), ("uniform", 0), ("uniform", 1))

    def series(self, start, *arguments):
        init, seed = start
        return self.result("--init", init, "--seed", seed, "--tokens", 8, "--dim", 8, "--beta", 2, "--tolerance", 1e-12,
                           "--merge-radius", "off", *arguments)[1]

    def test_polynomial(self):
        # scheme, exponent of 1 - cosine, first and last decade of the fit, relative tolerance. Late r = t - c, which puts
        # the exponent off by c/t: 0.16 % at 10^4 for the slowest start, c = 16; r = 2 sqrt(t) - c for ln-scaling: 0.9 % at
        # 10^6. The fit weighs all decades alike and is off by far less.
        table = (("pre", -2, 4, 8, 0.001), ("mix", -2, 4, 8, 0.001), ("peri", -2, 4, 8, 0.001),
                 ("sandwich", -2, 4, 8, 0.001), ("ln-scaling", -1, 6, 10, 0.005))
        for scheme, exponent, first, last, tolerance in table:
            for start in self.STARTS:
                s = self.series(start, *norm(scheme), "--time", f"1e{last}", "--output-spacing", "log")
                late = s["log10_time"] >= first
                t = s["log10_time"][late]
                with self.subTest(scheme=scheme, start=start):
                    self.assertGreater(t[-1] - t[0], 3)
                    self.assert_relative(slope(t, np.log10(s["one_minus_mean_cosine"][late])), exponent, tolerance)
                    self.assert_relative(slope(t, np.log10(s["largest_angle"][late])), exponent / 2, tolerance)
                    self.assert_relative(slope(t, np.log10(s["mean_norm"][late])), -exponent / 2, tolerance)

    def test_constants(self):
        # Theory A7: r^2 (1 - cosine) -> K on the curve that pre, peri and ln-scaling share; K_tau after mix has switched.
        k, k_mix = 3.734953426363, 0.001354925280
        table = (("pre", 1e8, k / 1e16, k, 1e-6), ("peri", 1e8, k / 1e16, k, 1e-6), ("ln-scaling", 1e12, k / 4e12, k, 1e-5),
                 ("mix", 1e8, k_mix / 1e16, k_mix, 1e-6))
        for scheme, time, gap, product, tolerance in table:
            s = self.series(("equiangular", 0), *norm(scheme, switch=5), "--time", time)
            self.assert_relative(s["one_minus_mean_cosine"][-1], gap, tolerance, scheme)
            self.assert_relative(s["one_minus_mean_cosine"][-1] * s["mean_norm"][-1] ** 2, product, 1e-6, scheme)

    def test_exponential(self):
        # scheme, end time, the clock that ln(1 - cosine) is linear in, its slope.
        def root(t):
            return np.sqrt(1 + t)

        table = (("post", 30, np.array, -2), ("ngpt", 30 / ALPHA, np.array, -2 * ALPHA),
                 ("deepnorm", 30 * SCALE, np.array, -2 / SCALE), ("damped-post", 16 ** 2 - 1, root, -4))
        for scheme, end, clock, rate in table:
            for start in self.STARTS:
                s = self.series(start, *norm(scheme), "--time", end, "--output-spacing", "linear", "--outputs", 500)
                gap = s["one_minus_mean_cosine"]
                late = (gap < 1e-4) & (gap > 1e-12)
                fit = slope(clock(s["time"][late]), np.log(gap[late]))
                with self.subTest(scheme=scheme, start=start):
                    self.assertGreater(math.log10(gap[late][0] / gap[late][-1]), 7)
                    self.assert_relative(fit, rate, 0.001)

    def test_alpha_of_ngpt_that_decays_like_one_over_depth(self):
        # alpha_t = alpha / (1 + t) makes the law a power, (1 + t)^{-2 alpha}.
        s = self.series(("uniform", 1), "--norm", "ngpt", "--alpha", 1.5, "--alpha-power", 1, "--time", 1e6)
        gap = s["one_minus_mean_cosine"]
        late = (gap < 1e-4) & (gap > 1e-12)
        self.assertGreater(math.log10(gap[late][0] / gap[late][-1]), 3)
        self.assert_relative(slope(np.log(1 + s["time"][late]), np.log(gap[late])), -3, 0.001)


if __name__ == "__main__":
    program.main()
