"""Noisy attention at rest (docs/theory), through `attractor stationary`. Truths: recorded values of an independent solver,
the closed forms of the circle by power series, a plain fixed point of the density on a grid, and n tokens with noise.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program
from harmonics import bessel


def fixed_point(rule, beta, kappa, start, rounds=4000, grid=128):
    """The order that the density on the circle itself settles at."""
    angles = [2 * math.pi * j / grid for j in range(grid)]
    kernel = [math.exp(beta * math.cos(a)) for a in angles]
    f = [math.exp(start * math.cos(a)) for a in angles]
    last = 0.0
    for _ in range(rounds):
        mass = sum(f)
        f = [x / mass for x in f]
        order = sum(x * math.cos(a) for x, a in zip(f, angles))
        if abs(order - last) < 1e-14:
            return order
        last = order
        field = [sum(kernel[(i - j) % grid] * f[j] for j in range(grid)) for i in range(grid)]
        logs = [(z if rule == "usa" else math.log(z)) / (beta * kappa) for z in field]
        top = max(logs)
        f = [math.exp(x - top) for x in logs]
    return last


class Noise(program.ProgramTest):
    def stationary(self, *arguments):
        run = program.attractor("stationary", *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json

    def orders(self, answer):
        return [row["order_parameter"] for row in self.rows(answer, "states")]

    def rows(self, answer, name):
        table = answer[name] if name in answer else answer["tables"][name]
        if isinstance(table, dict):  # columns and rows
            return [dict(zip(table["columns"], row)) for row in table["rows"]]
        return table

    def test_recorded_orders(self):
        for rule, beta, ratio, order in (("usa", 0, 0.6, 0.7731296253703), ("usa", 1, 0.5, 0.90497698810),
                                         ("usa", 1, 0.9, 0.51091255756), ("usa", 2, 0.8, 0.80332160877),
                                         ("sa", 1, 0.5, 0.82691850059), ("sa", 4, 0.5, 0.90108552665),
                                         ("sa", 4, 0.9, 0.59201807965)):
            answer = self.stationary("--dynamics", rule, "--beta", beta, "--noise-ratio", ratio)
            self.assertAlmostEqual(self.orders(answer)[-1], order, delta=1e-10)

    def test_plain_fixed_point(self):
        for rule, beta, ratio in (("usa", 1.5, 0.7), ("sa", 2.5, 0.6), ("usa", 4, 0.9)):
            answer = self.stationary("--dynamics", rule, "--beta", beta, "--noise-ratio", ratio)
            found = fixed_point(rule, beta, answer["noise"], 3)
            self.assertAlmostEqual(self.orders(answer)[-1], found, delta=1e-10)

    def test_first_order_region(self):
        for beta, transition, fold, jump in ((3, 1.008852, 1.011444, 0.481544), (4, 1.046959, 1.058877, 0.668806),
                                             (9, 1.269300, 1.325789, 0.858822)):
            answer = self.stationary("--beta", beta)
            self.assertEqual(answer["transition"], "discontinuous")
            self.assertAlmostEqual(answer["transition_noise_ratio"], transition, delta=6e-7)
            self.assertAlmostEqual(answer["fold_noise_ratio"], fold, delta=6e-7)
            self.assertAlmostEqual(answer["jump"], jump, delta=6e-7)

    def test_critical_noise_and_tricritical_beta_in_every_dimension(self):
        for dim in (2, 3, 4, 8, 16, 64):
            star = self.stationary("--dim", dim, "--beta", 1)["tricritical_beta"]
            self.assertAlmostEqual(bessel(dim / 2 + 1, star) / bessel(dim / 2, star) * dim, 1, delta=1e-10)
            for factor, kind in ((0.95, "continuous"), (1.05, "discontinuous")):
                beta = factor * star
                answer = self.stationary("--dim", dim, "--beta", repr(beta))
                self.assertEqual(answer["transition"], kind)
                self.assertEqual(answer["fold_noise"] is not None, kind == "discontinuous")
                critical = math.gamma(dim / 2) * (2 / beta) ** (dim / 2 - 1) * bessel(dim / 2, beta) / beta
                self.assertAlmostEqual(answer["critical_noise"] / critical, 1, delta=1e-11)

    def test_softmax_orders_continuously(self):
        for dim in (2, 5):
            for beta in (1, 4, 16):
                self.assertEqual(self.stationary("--dynamics", "sa", "--dim", dim, "--beta", beta)["transition"],
                                 "continuous")

    def test_particles_show_the_hysteresis(self):
        # Tokens hop between the states once in about e^{n dF/kappa}: at 1.163 kappa_# e^9 for a thousand of them.
        answer = self.stationary("--beta", 9, "--particles", 1000, "--sweep-steps", 5, "--settle", 5, "--average", 4)
        rows = self.rows(answer, "sweep")
        up, down = rows[2], rows[-3]
        self.assertEqual(up["noise_ratio"], down["noise_ratio"])
        self.assertTrue(1 < up["noise_ratio"] < answer["transition_noise_ratio"])
        self.assertGreater(up["order_parameter"], 0.85)
        self.assertLess(down["order_parameter"], 0.5)

    def test_bad_input(self):
        for arguments, named in ((("--dim", 1), "dim"), (("--beta", -1), "beta"), (("--noise", 0), "noise"),
                                 (("--noise", 1, "--noise-ratio", 1), "noise-ratio"),
                                 (("--dim", 3, "--particles", 10), "particles"), (("--dynamics", "x"), "dynamics")):
            with self.subTest(arguments):
                run = program.attractor("stationary", *arguments, "--json")
                self.assertEqual(run.status, 2, run.err)
                self.assertEqual(run.out, "")
                self.assertIn(named, run.err)


if __name__ == "__main__":
    program.main()
