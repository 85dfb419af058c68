"""Flows through the command line against exact reductions and the reference values of the theory (A1-A3, A6)."""
import math
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import h5py
import numpy as np

import equiangular
import program
from program import ProgramTest


def deterministic_tokens(n, d):
    i, a = np.arange(n)[:, None], np.arange(d)[None, :]
    x = np.sin(1 + 3 * i + 7 * a + i * a)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


class EquiangularReduction(ProgramTest):
    def agrees(self, dynamics, n, beta, time, rho=0.0, exact=None):
        answer = self.answer("--dynamics", dynamics, "--init", "equiangular", "--rho", rho, "--tokens", n, "--dim", n,
                             "--beta", beta, "--time", time, "--tolerance", 1e-12)
        exact = equiangular.cosine(n, beta, time, dynamics, rho) if exact is None else exact
        self.assertAlmostEqual(answer["mean_cosine"], exact, delta=1e-10)
        self.assertEqual(answer["status"], "complete")

    def test_integrated_reduction(self):
        for dynamics, time in (("sa", 3), ("usa", 0.4)):
            for n in (8, 64):
                for rho in (0.0, 0.3):
                    with self.subTest(dynamics=dynamics, n=n, rho=rho):
                        self.agrees(dynamics, n, 2, time, rho)

    def test_table_of_the_theory(self):
        table = [  # n, beta, SA (t, cosine), USA (t, cosine)
            (2, 1, (1, 0.579195336911065), (0.5, 0.588061883760116)),
            (4, 1, (1, 0.479486782185420), (1, 0.832087876468885)),
            (8, 1, (2, 0.816342358568763), (1, 0.600585065136073)),
            (8, 4, (5, 0.616837375839616), (0.5, 0.369686580077663)),
            (16, 2, (2, 0.599545694786993), (0.8, 0.277810074435709)),
            (32, 1, (3, 0.914207011654176), (2, 0.894673749151390)),
            (64, 4, (3, 0.424196498305890), (0.4, 0.0197298066987751)),
            (128, 0, (2, 0.295147004654848), (2, 0.295147004654848)),
        ]
        for n, beta, sa, usa in table:
            for dynamics, (time, exact) in (("sa", sa), ("usa", usa)):
                with self.subTest(dynamics=dynamics, n=n, beta=beta):
                    self.agrees(dynamics, n, beta, time, exact=exact)

    def test_time_to_collapse_of_32_tokens(self):
        # Phase-diagram curve: the time at which the cosine reaches 0.999.
        for beta, time in ((1, 5.270283907586), (5, 9.544329203520), (8, 73.44567591095)):
            self.agrees("sa", 32, beta, time, exact=0.999)


class ReferenceTokens(ProgramTest):
    """theory A1: 7 deterministic tokens in dimension 4 at beta = 1.5."""

    def run_to(self, time, dynamics):
        np.save(self.directory / "x.npy", deterministic_tokens(7, 4))
        out = self.directory / f"{dynamics}-{time}"
        answer = self.answer("--init", "file", "--tokens-file", self.directory / "x.npy", "--beta", 1.5, "--dynamics",
                             dynamics, "--time", time, "--tolerance", 1e-13, "--out", out)
        with h5py.File(out / "result.h5") as f:
            return answer, f["snapshots/positions"][-1]

    def test_energy_and_dissipation(self):
        for dynamics, slope, later in (("usa", 0.2702691737317, 1.428213012834), ("sa", 0.1564818428709, 0.8862425223753)):
            start, _ = self.run_to(0, dynamics)
            end, _ = self.run_to(1, dynamics)
            self.assertAlmostEqual(start["energy"], 0.6294726737737, delta=1e-12)
            self.assertAlmostEqual(start["dissipation"], slope, delta=1e-12)
            self.assertAlmostEqual(end["energy"], later, delta=1e-11)

    def test_positions(self):
        _, sa = self.run_to(1, "sa")
        self.assertAlmostEqual(sa[0, 0], 0.4823040650396, delta=1e-11)
        self.assertAlmostEqual(sa[6, 3], 0.7767913754471, delta=1e-11)
        _, usa = self.run_to(1, "usa")
        self.assertAlmostEqual(usa[0, 0], 0.2558500136989, delta=1e-11)


class Circle(ProgramTest):
    """theory A2: Kuramoto and the mean field on the circle."""

    def test_kuramoto_from_the_wrapped_cauchy_density(self):
        # Its quantiles are a Moebius image of equispaced points: finite n is exact up to R^n.
        r, n = 0.3, 128
        u = (np.arange(n) + 0.5) / n
        theta = 2 * np.arctan((1 - r) / (1 + r) * np.tan(np.pi * (u - 0.5)))
        np.save(self.directory / "x.npy", np.stack([np.cos(theta), np.sin(theta)], axis=1))
        for dynamics in ("sa", "usa"):
            for time, exact in ((0, 0.3), (1, 0.4603034049690), (3, 0.8155720884373)):
                answer = self.answer("--dynamics", dynamics, "--init", "file", "--tokens-file", self.directory / "x.npy",
                                     "--beta", 0, "--time", time, "--tolerance", 1e-12)
                self.assertAlmostEqual(answer["order_parameter"], exact, delta=1e-11)

    def test_two_tokens(self):
        for dynamics in ("sa", "usa"):
            answer = self.answer("--dynamics", dynamics, "--init", "angles", "--angles", "0,2", "--dim", 2, "--beta", 0,
                                 "--time", 1.5, "--tolerance", 1e-12)
            self.assertAlmostEqual(answer["largest_angle"], 0.6689000994797, delta=1e-11)

    def test_mean_field_order_parameter(self):
        # theta(u) = 2 pi u + sin(2 pi u)/2: 256 tokens are the mean field to 1e-12.
        cases = [("sa", 0, 1, 0.3715773138682), ("sa", 1, 1, 0.3575110455509), ("usa", 1, 1, 0.3967536386277),
                 ("sa", 4, 1, 0.2958528176843), ("usa", 4, 0.1, 0.3093931020249), ("sa", 4, 0, 0.2422684576749)]
        for dynamics, beta, time, exact in cases:
            answer = self.answer("--dynamics", dynamics, "--init", "circle", "--tokens", 256, "--dim", 2, "--mode", 1,
                                 "--amplitude", 0.5, "--phase", math.pi / 2, "--beta", beta, "--time", time, "--tolerance",
                                 1e-12)
            self.assertAlmostEqual(answer["order_parameter"], exact, delta=1e-11)


class Rates(ProgramTest):
    """theory A3: near consensus distances fall like e^{-t} (SA) and e^{-e^beta t} (USA), for every n and d."""

    def test_contraction(self):
        for n, d, beta in ((5, 2, 1), (20, 7, 3)):
            for dynamics, unit in (("sa", 1.0), ("usa", math.exp(-beta))):
                angles = [self.answer("--dynamics", dynamics, "--init", "cap", "--cap-angle", 1e-4, "--tokens", n, "--dim", d,
                                      "--beta", beta, "--time", time * unit, "--tolerance", 1e-13,
                                      "--merge-radius", "off")["largest_angle"] for time in (0, 1, 4)]
                self.assertAlmostEqual(math.log(angles[0] / angles[1]), 1, delta=1e-6)
                self.assertAlmostEqual(math.log(angles[0] / angles[2]), 4, delta=1e-6)

    def test_every_start_ends_in_one_cluster(self):
        for d in (2, 3, 8):
            for dynamics in ("sa", "usa"):
                answer = self.answer("--tokens", 24, "--dim", d, "--beta", 3, "--dynamics", dynamics, "--time", "inf",
                                     "--seed", d)
                self.assertEqual((answer["status"], answer["clusters"], answer["largest_cluster"]), ("collapsed", 1, 24))

    def test_hemisphere_probability(self):
        # Wendel: 20 uniform tokens in dimension 10 lie in a hemisphere with probability exactly 1/2.
        inside = sum(self.answer("--tokens", 20, "--dim", 10, "--time", 0, "--seed", seed)["hemisphere"]
                     for seed in range(400))
        self.assertLess(abs(inside - 200), 4 * math.sqrt(400 / 4))


if __name__ == "__main__":
    program.main()
