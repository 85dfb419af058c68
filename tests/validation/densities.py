"""The density of infinitely many tokens (docs/theory: mean field), through `attractor meanfield`. Truths: Ott and Antonsen's
closed solution, the labelled mean field and the stationary states of theory A2 and A10, linear rates from Bessel functions
computed here, and an independent finite-volume solver.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program
from harmonics import eigenvalue, growth


def finite_volumes(beta, amplitude, time, cells, steps):
    """|m_1| of softmax attention from 1 + amplitude cos(theta): second-order volumes, extrapolated from two widths."""
    def end(n):
        width = 2 * math.pi / n
        angles = [width * (j + 0.5) for j in range(n)]
        # Cell i - j is seen from the face above cell i under the angle (j + 1/2) width behind it.
        weights = [math.exp(beta * math.cos(a)) for a in angles]
        pulls = [-math.sin(a) * w for a, w in zip(angles, weights)]

        def slope(rho):
            flux = []
            for i in range(n):
                behind = [rho[i - j] for j in range(n)]
                speed = sum(map(float.__mul__, behind, pulls)) / sum(map(float.__mul__, behind, weights))
                flux.append(speed * 0.5 * (rho[i] + rho[(i + 1) % n]))
            return [(flux[i - 1] - flux[i]) / width for i in range(n)]

        rho, h = [1 + amplitude * math.cos(a) for a in angles], time / steps
        for _ in range(steps):
            k1 = slope(rho)
            k2 = slope([r + h / 2 * k for r, k in zip(rho, k1)])
            k3 = slope([r + h / 2 * k for r, k in zip(rho, k2)])
            k4 = slope([r + h * k for r, k in zip(rho, k3)])
            rho = [r + h / 6 * (a + 2 * b + 2 * c + d) for r, a, b, c, d in zip(rho, k1, k2, k3, k4)]
        return sum(r * math.cos(a) for r, a in zip(rho, angles)) / n
    return (4 * end(2 * cells) - end(cells)) / 3


class Densities(program.ProgramTest):
    def density(self, *arguments):
        run = program.attractor("meanfield", *arguments, "--json")
        self.assertEqual(run.status, 0, run.err)
        return run.json

    # ---- Closed solutions and theory A2.

    def test_kuramoto_from_a_wrapped_cauchy_law(self):
        for form in ("spectral", "labels"):
            for time, order in ((1, 0.4603034049690), (3, 0.8155720884373)):
                answer = self.density("--beta", 0, "--start", "wrapped-cauchy", "--order", 0.3, "--time", time,
                                      "--form", form, "--tolerance", 1e-12)
                self.assertAlmostEqual(answer["order_parameter"], order, delta=1e-10)
                self.assertAlmostEqual(answer["mass"], 1, delta=1e-12)

    def test_labelled_mean_field(self):
        for dynamics, beta, time, order in (("sa", 0, 1, 0.3715773138682), ("sa", 1, 1, 0.3575110455509),
                                            ("usa", 1, 1, 0.3967536386277), ("sa", 4, 1, 0.2958528176843),
                                            ("usa", 4, 0.1, 0.3093931020249), ("sa", 4, 0, 0.2422684576749)):
            for form in ("spectral", "labels"):
                answer = self.density("--dynamics", dynamics, "--beta", beta, "--time", time, "--start", "map",
                                      "--amplitude", 0.5, "--form", form, "--tolerance", 1e-12)
                self.assertAlmostEqual(answer["order_parameter"], order, delta=1e-10)

    def test_an_independent_solver_agrees(self):
        answer = self.density("--beta", 2, "--amplitude", 0.4, "--time", 1)
        self.assertAlmostEqual(answer["order_parameter"], finite_volumes(2, 0.4, 1, 48, 40), delta=2e-6)
        self.assertGreater(answer["smallest_density"], 0)

    # ---- Linear growth, any dimension, with noise.

    def test_small_modes_grow_at_their_rate(self):
        for dim in (2, 3, 8):
            for dynamics in ("sa", "usa"):
                for noise in (0, 0.05):
                    answer = self.density("--dim", dim, "--dynamics", dynamics, "--beta", 4, "--noise", noise, "--mode", 3,
                                          "--amplitude", 1e-6, "--tolerance", 1e-14)
                    rate = growth(3, dim, 4, dynamics, noise)
                    self.assertAlmostEqual(answer["growth_linear"] / rate, 1, delta=1e-12)
                    self.assertAlmostEqual(answer["growth_measured"] / rate, 1, delta=2e-6)

    # ---- Noise.

    def test_noise_leads_to_the_stationary_states(self):
        for dynamics, beta, ratio, order, time in (("usa", 1, 0.5, 0.90497698810, 60), ("sa", 4, 0.9, 0.59201807965, 400)):
            noise = ratio * eigenvalue(1, 2, beta) / beta / (eigenvalue(0, 2, beta) if dynamics == "sa" else 1)
            answer = self.density("--dynamics", dynamics, "--beta", beta, "--noise", noise, "--amplitude", 0.4,
                                  "--time", time)
            self.assertAlmostEqual(answer["order_parameter"], order, delta=1e-8)
            if dynamics == "usa":
                energies = [row["free_energy"] for row in answer["history"]]
                self.assertTrue(all(b <= a + 1e-9 for a, b in zip(energies, energies[1:])))

    def test_free_energy_means_the_same_at_rest(self):
        for dim, beta, ratio, time in ((2, 1, 0.5, 60), (3, 1.5, 0.6, 30), (2, 2, 0.4, 60)):
            noise = ratio * eigenvalue(1, dim, beta) / beta
            answer = self.density("--dynamics", "usa", "--dim", dim, "--beta", beta, "--noise", noise, "--amplitude", 0.4,
                                  "--time", time, "--tolerance", 1e-8, "--outputs", 2)
            run = program.attractor("stationary", "--dynamics", "usa", "--dim", dim, "--beta", beta, "--noise", noise, "--json")
            self.assertEqual(run.status, 0, run.err)
            uniform, ordered = run.json["states"]
            self.assertAlmostEqual(answer["order_parameter"], ordered["order_parameter"], delta=1e-7)
            self.assertAlmostEqual(answer["free_energy"] / ordered["free_energy"], 1, delta=1e-8)
            self.assertAlmostEqual(uniform["free_energy"], -eigenvalue(0, dim, beta) / (2 * beta), delta=1e-12 * math.exp(beta))
            self.assertAlmostEqual((ordered["free_energy"] - uniform["free_energy"]) / (noise / ratio),
                                   ordered["free_energy_excess"], delta=1e-10)

    # ---- Tokens.

    def test_tokens_approach_the_density(self):
        answer = self.density("--beta", 1, "--start", "map", "--amplitude", 0.5, "--compare-particles", "64,256,1024",
                              "--replicates", 64)
        self.assertLess(answer["slope_error"], 0.05)
        self.assertAlmostEqual(answer["slope"], -0.5, delta=3 * answer["slope_error"])
        self.assertEqual([row["n"] for row in answer["particles"]], [64, 256, 1024])

    def test_threads_do_not_show(self):
        arguments = ("--beta", 9, "--form", "labels", "--compare-particles", "300", "--replicates", 4)
        one, two = (self.density(*arguments, "--threads", n) for n in (1, 2))
        self.assertEqual(one["order_parameter"], two["order_parameter"])
        self.assertEqual(one["particles"], two["particles"])

    # ---- What cannot be done is said.

    def test_too_sharp_a_density(self):
        run = program.attractor("meanfield", "--beta", 4, "--amplitude", 0.9, "--time", 20, "--modes", 32, "--json")
        self.assertEqual(run.status, 3)
        self.assertIsNone(run.json["order_parameter"])
        self.assertIn("form labels", run.err + run.out)
        labels = self.density("--beta", 4, "--amplitude", 0.9, "--time", 20, "--form", "labels")
        self.assertGreater(labels["order_parameter"], 0.99)

    def test_a_density_that_shrinks_to_points_is_not_told(self):
        for arguments in (("--beta", 9, "--mode", 4, "--amplitude", 0.5, "--time", 30),
                          ("--dynamics", "usa", "--beta", 5, "--amplitude", 0.5, "--time", 1),
                          ("--dim", 3, "--beta", 4, "--amplitude", 0.9, "--time", 12)):
            run = program.attractor("meanfield", *arguments, "--json")
            self.assertEqual(run.status, 3, arguments)
            self.assertIn("shorten time", run.err)
            self.assertIsNone(run.json["energy"])
            for row in run.json["history"]:
                self.assertLess(row["time"], arguments[-1])

    def test_a_start_too_sharp(self):
        for arguments in (("--concentration", 1e6, "--time", 0), ("--concentration", 1e5, "--dim", 3, "--symmetry", "none"),
                          ("--concentration", 2e4, "--dim", 3, "--centres", "0,1,0")):
            run = program.attractor("meanfield", "--start", "vmf", *arguments, "--json")
            self.assertEqual(run.status, 3, run.out)
            self.assertIn("too sharp", run.err)

    def test_refusals(self):
        for arguments in (("--dim", 3, "--start", "map"), ("--start", "tokens"), ("--noise", 0.1, "--form", "labels"),
                          ("--compare-particles", "x"), ("--amplitude", 2), ("--start", "vmf", "--concentration", "-1")):
            run = program.attractor("meanfield", *arguments)
            self.assertEqual(run.status, 2, arguments)
            self.assertTrue(run.err.strip())


if __name__ == "__main__":
    program.main()
