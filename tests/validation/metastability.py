"""Long times: merge trees and energy staircases against the exact two-cluster dynamics (theory A5)."""
import math
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import h5py
import numpy as np

import program
import two_clusters
from program import ProgramTest

ANGLE_AT_0999 = math.acos(0.999)


class Metastability(ProgramTest):
    def collapse(self, *arguments, tolerance=1e-11, name="run"):
        """Runs to complete collapse; gives the answer, merge times and the series (log10 t, energy ratio)."""
        out = self.directory / name
        answer = self.answer(*arguments, "--time", "inf", "--tolerance", tolerance, "--out", out)
        self.assertEqual(answer["status"], "collapsed")
        with h5py.File(out / "result.h5") as f:
            tree = {key: f["merge_tree"][key][:] for key in f["merge_tree"]}
            return answer, tree, f["series/log10_time"][:], f["series/energy_ratio"][:]

    def test_two_clusters(self):
        # From 90, 60 and 120 degrees to cosine 0.999.
        table = [(90, 1, 4.271067680309), (90, 4, 10.83120700999), (90, 9, 466.7106529100), (90, 16, 279981.1600994),
                 (90, 25, 1444799482.632), (90, 49, 1.947901436997e19), (60, 4, 4.339218886760), (60, 9, 11.18525138108),
                 (60, 16, 142.4522232043), (60, 25, 7637.242181796), (120, 4, 61.32165130367), (120, 9, 48744.78967230),
                 (120, 16, 1032076120.235), (120, 25, 4.919974195931e14)]
        for degrees, beta, exact in table:
            _, tree, _, _ = self.collapse("--init", "angles", "--angles", f"0,{math.radians(degrees)}", "--dim", 2,
                                          "--beta", beta, tolerance=1e-12, name=f"{degrees}-{beta}")
            self.assertAlmostEqual(tree["time"][0] / exact, 1, delta=1e-9)

    def test_two_clusters_of_unequal_mass(self):
        # Masses 1/4 and 3/4 at 90 degrees; unnormalised: masses enter through their sum only.
        angles = f"0,{math.pi / 2},{math.pi / 2},{math.pi / 2}"
        _, tree, _, _ = self.collapse("--init", "angles", "--angles", angles, "--dim", 2, "--beta", 4)
        self.assertAlmostEqual(tree["time"][-1] / 8.148917897344, 1, delta=1e-9)
        for beta, exact in ((1, 1.744460101128), (9, 0.1147243584000), (49, 0.02042524903535)):
            _, tree, _, _ = self.collapse("--dynamics", "usa", "--init", "angles", "--angles", angles, "--dim", 2, "--beta",
                                          beta, name=f"usa-{beta}")
            self.assertAlmostEqual(tree["time"][-1] / exact, 1, delta=1e-9)

    def test_quadrature_agrees_with_the_closed_form(self):
        """The independent reference used below, against three values of the theory."""
        for degrees, beta, m1, m2, exact in ((90, 4, 1, 1, 10.83120700999), (60, 25, 1, 1, 7637.242181796),
                                             (90, 4, 1, 3, 8.148917897344)):
            time = two_clusters.merge_time(math.radians(degrees), ANGLE_AT_0999, beta, m1, m2)
            self.assertAlmostEqual(time / exact, 1, delta=1e-7)

    def test_three_clusters(self):
        _, tree, log_time, energy = self.collapse("--init", "angles", "--angles", "0,0.9,2.2", "--dim", 2, "--beta", 9)
        self.assertAlmostEqual(tree["time"][0], 6.339738372, delta=1e-7)
        self.assertAlmostEqual(tree["time"][1], 1760.983464, delta=1e-4)
        # Plateaus of the energy staircase.
        plateau = energy[np.searchsorted(log_time, math.log10(100))]
        self.assertAlmostEqual(plateau, 0.55557186, delta=2e-4)
        self.assertAlmostEqual(energy[-1], 1, delta=1e-9)

    def test_published_start(self):
        """Five tokens at angles (0, .5, 2, 4, 7)/2 log(beta)/sqrt(beta), beta = 2000: each merge at the time of its
        isolated pair, and the energy climbs through the cluster sums."""
        beta = 2000.0
        unit = math.log(beta) / math.sqrt(beta) / 2
        start = [unit * k for k in (0, 0.5, 2, 4, 7)]
        answer, tree, log_time, energy = self.collapse("--init", "angles", "--angles", ",".join(map(repr, start)), "--dim", 2,
                                                       "--beta", beta, tolerance=1e-10)
        near = math.acos(answer["cluster_cosine"])
        clusters = [(angle, 1, k) for k, angle in enumerate(start)]
        clock, expected = 0.0, []
        while len(clusters) > 1:  # the pair that would merge first, alone
            waits = [two_clusters.merge_time(b[0] - a[0], near, beta, a[1], b[1]) for a, b in zip(clusters, clusters[1:])]
            k = int(np.argmin(waits))
            (x, m1, _), (y, m2, _) = clusters[k], clusters[k + 1]
            clock += waits[k]
            moved = two_clusters.meeting_point(y - x, beta, m1, m2)
            clusters[k : k + 2] = [(x + moved, m1 + m2, 5 + len(expected))]
            expected.append((clock, {m1, m2}, sum((m / 5) ** 2 for _, m, _ in clusters)))
        self.assertEqual(len(tree["time"]), 4)
        sizes = {k: 1 for k in range(5)}
        for k, (time, masses, _) in enumerate(expected):
            with self.subTest(merge=k):
                # Neighbours pull with relative weight e^{-beta(gap difference)}: a few per cent (A5).
                self.assertAlmostEqual(tree["time"][k] / time, 1, delta=0.05)
                joined = {sizes[tree["left"][k]], sizes[tree["right"][k]]}
                self.assertEqual(joined, masses)
                sizes[5 + k] = tree["size"][k]
        times = [math.log10(t) for t, _, _ in expected]
        for k in range(len(expected) - 1):  # the middle of each plateau, in log time
            if times[k + 1] - times[k] < 1:
                continue
            at = np.searchsorted(log_time, (times[k] + times[k + 1]) / 2)
            self.assertAlmostEqual(energy[at], expected[k][2], delta=1e-3)
        self.assertGreaterEqual(np.diff(energy).min(), -1e-12)

    def test_published_start_at_small_beta(self):
        """The same start rule at n = 5, d = 2, beta = 4, T = 400: one cluster at the end, rising energy."""
        angles = [math.log(4) / 2 / 2 * k for k in (0, 0.5, 2, 4, 7)]
        answer = self.answer("--init", "angles", "--angles", ",".join(map(repr, angles)), "--dim", 2, "--beta", 4, "--time", 400)
        self.assertEqual(answer["clusters"], 1)

    def test_64_tokens_to_complete_collapse(self):
        """beta = 40 on the sphere: every merge time keeps its three leading digits at a ten times smaller tolerance."""
        for seed in (0, 7):
            times = []
            for tolerance in (1e-9, 1e-10):
                answer, tree, _, _ = self.collapse("--tokens", 64, "--dim", 3, "--beta", 40, "--seed", seed,
                                                   tolerance=tolerance, name=f"{seed}-{tolerance}")
                self.assertEqual(answer["largest_cluster"], 64)
                times.append(np.sort(tree["time"]))
            self.assertEqual([len(t) for t in times], [63, 63])
            together = times[1] == 0  # neighbours within the cluster angle from the start
            self.assertTrue(np.array_equal(together, times[0] == 0))
            self.assertLess(np.abs(times[0][~together] / times[1][~together] - 1).max(), 5e-4)
            self.assertGreater(np.count_nonzero(~together), 50)
            self.assertGreater(times[1][-1], 1e10)

    def test_lifetimes_beyond_the_range_of_doubles(self):
        """Two equal clusters at 90 degrees live for e^beta / (2 beta) (1 + 2/beta^2 + ...)."""
        for beta in (1000, 1e4, 1e5):
            _, tree, _, _ = self.collapse("--init", "angles", "--angles", f"0,{math.pi / 2}", "--dim", 2, "--beta", beta,
                                          tolerance=1e-9, name=f"{beta}")
            expected = beta / math.log(10) - math.log10(2 * beta)
            self.assertAlmostEqual(tree["log10_time"][0], expected, delta=1e-5)
            self.assertTrue(math.isinf(tree["time"][0]))

    def test_any_beta_up_to_a_million(self):
        """Unnormalised attention at beta = 10^6: the natural time e^{-beta} is reported in log form."""
        for beta in (700, 1e4, 1e6):
            answer = self.answer("--dynamics", "usa", "--init", "angles", "--angles", "0,1e-3", "--dim", 2, "--beta", beta,
                                 "--time", "inf", "--tolerance", 1e-9)
            self.assertEqual(answer["clusters"], 1)
            self.assertLess(answer["log10_solver_time"], -beta / math.log(10) * 0.9)
            self.assertTrue(math.isfinite(answer["log_energy"]))
        answer = self.answer("--tokens", 16, "--dim", 3, "--beta", 1e6, "--time", 1)  # frozen: nothing overflows
        self.assertEqual(answer["clusters"], 16)


if __name__ == "__main__":
    program.main()
