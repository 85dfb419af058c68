"""Convergence orders of every stepper and monotone energy, measured through the command line."""
import math
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import h5py
import numpy as np

import equiangular
import program
from program import ProgramTest

TASK = ("--init", "equiangular", "--tokens", 8, "--dim", 8, "--beta", 2, "--time", 2)


class Orders(ProgramTest):
    def slope(self, dynamics, stepper, coarse, fine):
        exact = equiangular.cosine(8, 2, 2, dynamics)
        error = [abs(self.answer(*TASK, "--dynamics", dynamics, "--stepper", stepper, "--step", step)["mean_cosine"] - exact)
                 for step in (coarse, fine)]
        return math.log(error[0] / error[1]) / math.log(coarse / fine)

    def test_first_order(self):
        for stepper in ("layers", "euler"):
            self.assertAlmostEqual(self.slope("sa", stepper, 1 / 256, 1 / 1024), 1, delta=0.1)
            self.assertAlmostEqual(self.slope("usa", stepper, 1 / 4096, 1 / 16384), 1, delta=0.1)

    def test_fourth_order(self):
        self.assertAlmostEqual(self.slope("sa", "rk4", 1 / 16, 1 / 64), 4, delta=0.1)
        self.assertAlmostEqual(self.slope("usa", "rk4", 1 / 64, 1 / 256), 4, delta=0.1)

    def test_fifth_order_of_the_adaptive_method(self):
        # The embedded error estimate is h^5; held at tolerance * h it gives h ~ tolerance^{1/4}, so a method of
        # order 5 shows errors ~ tolerance^{5/4}.
        for dynamics, beta, time in (("sa", 4, 2), ("usa", 2, 0.5)):
            error = [self.answer("--tokens", 40, "--dim", 5, "--beta", beta, "--time", time, "--dynamics", dynamics,
                                 "--tolerance", tolerance, "--merge-radius", "off", "--verify")["verified_error"]
                     for tolerance in (1e-8, 1e-10)]
            order = 4 * math.log(error[0] / error[1]) / math.log(100)
            self.assertAlmostEqual(order, 5, delta=0.1)

    def test_steps_follow_the_order_of_the_method(self):
        # An estimate ~ h^p held at tolerance * h gives h ~ tolerance^{1/(p-1)}.
        for stepper, order, tolerances in (("adaptive3", 3, (1e-4, 1e-6)), ("adaptive", 5, (1e-6, 1e-9)), ("adaptive8", 8, (1e-7, 1e-10))):
            for seed in (1, 2):
                answers = [self.answer("--tokens", 20, "--dim", 5, "--beta", 9, "--time", 12, "--stepper", stepper, "--seed", seed,
                                       "--tolerance", tolerance, "--merge-radius", "off", "--verify") for tolerance in tolerances]
                slope = math.log(answers[1]["steps"] / answers[0]["steps"]) / math.log(tolerances[0] / tolerances[1])
                self.assertAlmostEqual(slope * (order - 1), 1, delta=0.1)
                for tolerance, answer in zip(tolerances, answers):
                    self.assertLess(answer["verified_error"], 10 * tolerance)

    def test_error_is_proportional_to_the_tolerance(self):
        for dynamics in ("sa", "usa"):
            for tolerance in (1e-6, 1e-8, 1e-10):
                answer = self.answer("--tokens", 40, "--dim", 5, "--beta", 4, "--time", 2 if dynamics == "sa" else 0.1,
                                     "--dynamics", dynamics, "--tolerance", tolerance, "--merge-radius", "off", "--verify")
                self.assertLess(answer["verified_error"], 10 * tolerance)

    def test_the_same_with_coalescence(self):
        # Members of a coalesced group keep their offsets: what is left out is second order in the merge radius,
        # which is ~ sqrt(tolerance). The finer run of --verify coalesces nothing.
        for task in ("--tokens 24 --dim 3 --beta 6 --time 30 --seed 5", "--tokens 12 --dim 2 --beta 1 --time 14 --seed 1",
                     "--tokens 16 --dim 4 --beta 2 --time 3 --dynamics usa --seed 2"):
            tolerances = (1e-6, 1e-8, 1e-10)
            answers = [self.answer(*task.split(), "--tolerance", t, "--verify") for t in tolerances]
            for tolerance, answer in zip(tolerances, answers):
                self.assertLess(answer["distinct_tokens"], answer["tokens"])
                self.assertTrue(answer["verified_without_coalescence"])
                self.assertLess(answer["verified_error"], 10 * tolerance)
                self.assertLess(answer["merge_error"], tolerance)
            slope = math.log(answers[0]["verified_error"] / answers[-1]["verified_error"]) / math.log(1e4)
            self.assertGreater(slope, 0.85)
            if "--dim 2" not in task:  # there steps of displacement begin, whose errors fall faster: 1.7e-13 is left at 1e-10
                self.assertLess(slope, 1.35)

    def test_distances_in_a_collapsed_pair(self):
        # Two tokens, exact angles from D' = -2 sin D / (1 + e^{beta (1 - cos D)}).
        def exact(angle, beta, time, steps=20000):
            def rate(x):
                d = math.exp(x)
                return -2 * math.sin(d) / d / (1 + math.exp(2 * beta * math.sin(d / 2) ** 2))
            x, h = math.log(angle), time / steps
            for _ in range(steps):
                a = rate(x)
                b = rate(x + h / 2 * a)
                c = rate(x + h / 2 * b)
                x += h / 6 * (a + 2 * b + 2 * c + rate(x + h * c))
            return math.exp(x)

        for angle, beta, time in ((1, 1, 12.5), (0.7, 5, 60), (2.5, 0.3, 150)):
            for tolerance in (1e-6, 1e-8, 1e-10):
                answer = self.answer("--init", "angles", "--angles", f"0,{angle}", "--dim", 2, "--beta", beta, "--time", time,
                                     "--tolerance", tolerance)
                truth = exact(angle, beta, time)
                error = abs(answer["largest_angle"] / truth - 1)
                if answer["distinct_tokens"] == 2:  # not yet within the radius
                    self.assertEqual((angle, beta, time, tolerance), (1, 1, 12.5, 1e-10))
                    self.assertLess(error * truth, tolerance)
                    continue
                self.assertLess(error, answer["offset_error"])
                self.assertLess(answer["offset_error"], 100 * math.sqrt(tolerance))
                self.assertAlmostEqual(answer["one_minus_mean_cosine"] / (answer["largest_angle"] ** 2 / 2), 1, delta=1e-9)


class Energy(ProgramTest):
    def test_never_decreases(self):
        for dynamics, time in (("sa", 200), ("usa", 5)):
            for beta in (0.5, 4, 30):
                for d in (2, 3, 16):
                    out = self.directory / f"{dynamics}-{beta}-{d}"
                    self.answer("--dynamics", dynamics, "--tokens", 48, "--dim", d, "--beta", beta, "--time", time,
                                "--tolerance", 1e-10, "--out", out)
                    with h5py.File(out / "result.h5") as f:
                        log_energy = f["series/log_energy"][:]
                    self.assertGreater(len(log_energy), 50)
                    self.assertGreaterEqual(np.diff(log_energy).min(), -1e-12)
                    self.assertGreater(log_energy[-1], log_energy[0])


if __name__ == "__main__":
    program.main()
