"""Are the errors that `attractor meanfield` reports true ones? Random starts, inverse temperatures, noises, numbers of modes,
tolerances and times against the independent references of density_references.py: at all outputs the order parameter, the energy,
the entropy and the density must be within the errors reported (at least 99 % of the runs, never ten times beyond), the reports
must be close (median of reported over true at most 100), and what the program cannot tell must end with status 3.
"""
import concurrent.futures
import math
import os
import pathlib
import sys

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import numpy as np

import density_references as references
import program

NAMES = ("order", "energy", "entropy", "density")
ROUNDING = 1e-14  # true errors below are not compared with reports: two correct programs differ by as much


# ---- Starts: arguments of the program, and the density as a function of the angle or of the height.

def kepler(angle, amplitude):
    turn = np.array(angle)
    for _ in range(200):
        turn -= np.clip((turn + amplitude * np.sin(turn) - angle) / (1 + amplitude * np.cos(turn)), -0.5, 0.5)
    return 1 / (1 + amplitude * np.cos(turn))


def bump(cosine, concentration, mean):
    return np.exp(concentration * (cosine - 1)) / mean


def circle_start(rng):
    kind = rng.choice(["perturbed", "perturbed", "vmf", "wrapped-cauchy", "map"])
    if kind == "perturbed":
        mode, amplitude = int(rng.integers(1, 9)), rng.uniform(-0.9, 0.9)
        return ["--mode", mode, "--amplitude", amplitude], lambda a: 1 + amplitude * np.cos(mode * a)
    if kind == "vmf":
        count = int(rng.integers(1, 4))
        centres, sharp = rng.uniform(-3, 3, count), rng.uniform(0.5, 40, count)
        fine = 2 * np.pi * np.arange(4096) / 4096
        means = [np.mean(np.exp(c * (np.cos(fine) - 1))) for c in sharp]
        return (["--start", "vmf", "--centres", ",".join(map(str, centres)), "--concentration", ",".join(map(str, sharp))],
                lambda a: sum(bump(np.cos(a - x), c, m) for x, c, m in zip(centres, sharp, means)) / count)
    if kind == "map":
        amplitude = rng.uniform(-0.7, 0.7)
        return ["--start", "map", "--amplitude", amplitude], lambda a: kepler(a, amplitude)
    order = rng.uniform(0.05, 0.6)
    return (["--start", "wrapped-cauchy", "--order", order],
            lambda a: (1 - order ** 2) / (1 - 2 * order * np.cos(a) + order ** 2))


def zonal_start(rng, dim):
    if rng.random() < 0.5:
        mode, amplitude = int(rng.integers(1, 6)), rng.uniform(-0.8, 0.8)

        def density(t):
            p = references.Zonal.polynomials
            one = type("basis", (), {"dim": dim})
            return 1 + amplitude * p(one, t, mode + 1)[:, mode] / p(one, np.array([1.0]), mode + 1)[0, mode]
        return ["--mode", mode, "--amplitude", amplitude], density
    sharp = rng.uniform(0.5, 12)
    t, weights = references.gauss(dim, 80)[:2]
    mean = weights @ np.exp(sharp * (t - 1))
    return ["--start", "vmf", "--concentration", sharp], lambda t: bump(t, sharp, mean)


# ---- Draws.

class Draw:
    def __init__(self, number):
        rng = np.random.default_rng([13, number])
        self.form = ("circle", "circle", "zonal", "circle-labels", "zonal-labels", "sphere")[number % 6]
        self.softmax = rng.random() < 0.6
        self.dim = 2 if "circle" in self.form else 3 if self.form == "sphere" else int(rng.choice([2, 3, 5, 8]))
        self.beta = math.exp(rng.uniform(math.log(0.3), math.log(20 if self.softmax else 5)))
        spectral = self.form in ("circle", "zonal")
        # A unit of time: of the fastest growth about uniform, 0.7 for softmax attention.
        kernel = references.gauss(self.dim, 60)
        mean = kernel[1] @ np.exp(self.beta * (kernel[0] - 1))
        self.unit = 1.0 if self.softmax else math.exp(-self.beta) / mean
        self.time = self.unit * rng.uniform(0.1, 3 if spectral else 2)
        self.noise = rng.choice([0, 0, 1]) * rng.uniform(0.02, 0.4) / self.unit if spectral else 0
        self.tolerance = 10 ** rng.uniform(-8, -4)
        arguments, self.density = (circle_start if "circle" in self.form else lambda r: zonal_start(r, self.dim))(rng)
        if self.form == "sphere" and "--concentration" in arguments:
            arguments = arguments + ["--centres", ",".join(map(str, rng.normal(size=3)))]
        if "circle" not in self.form:
            arguments = arguments + ["--symmetry", "none" if self.form == "sphere" else "zonal"]
        modes = {"circle": 0, "zonal": 0, "circle-labels": 512, "zonal-labels": 256, "sphere": 16}[self.form]
        if rng.random() < 0.4:
            modes = int(rng.integers(*{"circle": (12, 128), "zonal": (10, 96), "circle-labels": (64, 1024),
                                       "zonal-labels": (64, 400), "sphere": (10, 24)}[self.form]))
        self.arguments = ["--dynamics", "sa" if self.softmax else "usa", "--dim", self.dim, "--beta", self.beta,
                          "--noise", self.noise, "--time", self.time, "--outputs", 4, "--tolerance", self.tolerance,
                          "--modes", modes, "--form", "spectral" if spectral else "labels", *arguments]

    # ---- The truth.

    def times(self):
        return self.time * np.arange(5) / 4

    def system(self, size):
        if "circle" in self.form:
            return references.Circle(self.softmax, self.beta, self.noise, 8 * size)
        return references.Zonal(self.softmax, self.dim, self.beta, self.noise, 2 * size)

    def fastest(self):
        """A bound of speeds."""
        angles = np.linspace(0, np.pi, 400)
        return 1 if self.softmax else np.max(np.exp(self.beta * np.cos(angles)) * np.sin(angles))

    def quantities(self, system, states, heights):
        """One row for each output: order parameter, ln energy, entropy, and the density where the program tells it."""
        return [(system.order_parameter(state), math.log(system.energy(state)) + self.beta, system.entropy(state),
                 self.shown(system, state, heights)) for state in states]

    def shown(self, system, state, heights):
        if self.form == "circle":
            return system.values(state)[::system.points // 512]
        if self.form == "circle-labels":  # means over 512 parts: a sinc of every mode, exactly
            k = system.order
            means = state * np.sinc(k / 512) * np.exp(1j * np.pi * k / 512)
            return system.values(means)[::system.points // 512]
        if self.form == "zonal":
            return system.values(state, heights)
        return None

    def distances(self, ours, others):
        """The largest over outputs, one for each name; NaN: not known to one of them."""
        worst = dict.fromkeys(NAMES, 0.0)
        for (order, log_energy, entropy, density), (order2, log_energy2, entropy2, density2) in zip(ours, others):
            worst["order"] = max(worst["order"], abs(order - order2))
            worst["energy"] = max(worst["energy"], abs(math.expm1(log_energy - log_energy2)))
            worst["entropy"] = max(worst["entropy"], abs(entropy - entropy2)) if entropy is not None else math.nan
            known = density is not None and density2 is not None
            told = ~np.isnan(density) if known else None
            worst["density"] = max(worst["density"], np.max(np.abs(density - density2)[told]) / np.max(density2[told])) \
                if known else math.nan
        return worst

    def truth(self, reported):
        """Quantities from a run fine enough for the errors reported, and their own errors; nothing where it would take long."""
        heights = np.cos(np.pi * np.arange(257) / 256)
        size = max(64 if "circle" in self.form else 32, self.size)
        felt = 0.02 * max(1e-12, reported["density"] if self.form in ("circle", "zonal") else reported["energy"])
        for size in (size, 2 * size):
            if size > 512:
                break
            system = self.system(size)
            step = min(2 / (size * 3 * self.fastest()), 0.05 * self.unit)
            for step in (step, step / 2):
                best, fine = system.run(self.density, self.times(), step)
                truth = self.quantities(system, best, heights)
                errors = self.distances(truth, self.quantities(system, fine, heights))
                rounding = 4e-16 * self.time / step  # of a factor that every step takes
                errors = {name: max(error, rounding) if error == error else error for name, error in errors.items()}
                if self.form == "zonal":  # of all degrees together, at a pole
                    errors["density"] += 2e-16 * np.linalg.norm(system.at_pole)
                if all(math.isnan(errors[name]) or errors[name] <= max(0.2 * reported[name], ROUNDING)
                       for name in NAMES if reported[name] is not None):
                    break
            tail = np.max(np.abs(best[:, 3 * best.shape[1] // 5:2 * best.shape[1] // 3])) if "circle" in self.form else \
                np.max(np.abs(best[:, 3 * best.shape[1] // 4:] / system.at_pole[3 * best.shape[1] // 4:]))
            if tail <= felt:
                return truth, errors
        return None, None

    # ---- The verdict.

    def rows(self, answer):
        count = len(answer["history"])
        table = [None] * count
        if answer.get("density"):
            table = np.array([np.nan if row["density"] is None else row["density"]
                              for row in answer["density"]]).reshape(count, -1)
        return [(row["order_parameter"], row["log_energy"], row["entropy"], values)
                for row, values in zip(answer["history"], table)]

    def run(self):
        done = program.attractor("meanfield", *self.arguments, "--json", "--threads", 1)
        if done.status != 0:
            return {"status": done.status, "says": done.err}
        answer = done.json
        reported = {name: answer[name + "_error"] for name in NAMES}
        self.size = 2 ** math.ceil(math.log2(answer["modes"])) if self.form in ("circle", "zonal") else 64
        truth, errors = self.truth(reported)
        smallest = answer["smallest_density"]
        dip = -smallest / answer["largest_density"] if smallest is not None and smallest < 0 else 0
        result = {"status": 0, "unknown": truth is None, "dip": dip, "reported": reported}
        return result if truth is None else result | {"true": self.distances(self.rows(answer), truth), "reference": errors}


def verdict(number):
    return number, Draw(number).run()


class Errors(program.ProgramTest):
    def test_what_is_reported_is_what_is_wrong(self):
        draws = int(os.environ.get("DENSITY_DRAWS", 6))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            verdicts = dict(pool.map(verdict, range(draws)))
        delivered = {n: v for n, v in verdicts.items() if v["status"] == 0}
        self.assertTrue(all(v["status"] in (0, 3) for v in verdicts.values()), [v for v in verdicts.values() if v["status"] not in (0, 3)])
        unknown = [n for n, v in delivered.items() if v["unknown"]]
        known = {n: v for n, v in delivered.items() if not v["unknown"]}
        beyond, ratios, unsure = {}, {}, 0
        for number, v in known.items():
            for name in NAMES:
                reported, true, reference = v["reported"][name], v["true"][name], v["reference"][name]
                if reported is None or math.isnan(true):
                    continue
                close = reference <= max(0.2 * reported, ROUNDING)
                if not close and reference > 1e-11:
                    unsure += 1
                    continue
                if true > reported + reference:
                    beyond[number, name] = true / reported
                if close and true > ROUNDING:
                    ratios.setdefault(name, []).append(reported / true)
            self.assertLessEqual(v["dip"], v["reported"]["density"] or 0, Draw(number).arguments)
        print(f"{draws} draws, {len(delivered)} delivered, {len(unknown)} without reference and {unsure} "
              f"numbers with one too coarse, beyond the report: {beyond}")
        for name, values in ratios.items():
            print(f"  {name}: median of reported over true {np.median(values):.3g}, smallest {np.min(values):.3g}, "
                  f"largest {np.max(values):.3g} of {len(values)}")
        self.assertGreaterEqual(len(known), draws // 3)
        self.assertLessEqual(len(unknown), 0.05 * len(delivered))
        self.assertLessEqual(unsure, 0.1 * len(delivered))
        self.assertLessEqual(len({n for n, _ in beyond}), 0.01 * len(known))
        self.assertLess(max(beyond.values(), default=0), 10)
        for name, values in ratios.items():
            self.assertLessEqual(np.median(values), 100, name)


if __name__ == "__main__":
    program.main()
