"""Limit shapes of attention in R^d, by the spectrum of V (docs/theory/emergence.md, arXiv 2305.05465): z = e^{-tV} x gathers at
few points on the boundary of a polytope (V = I), on at most three hyperplanes (simple top eigenvalue), at a point (V = -I).
"""
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program

import h5py


BOX = 5  # tokens start uniform in [-BOX, BOX]^d, as in the paper


def box(n, dim, seed, size=BOX):
    draw = random.Random(seed)
    return [[draw.uniform(-size, size) for _ in range(dim)] for _ in range(n)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def distinct(points, radius):
    """Points farther than `radius` from all earlier ones of the list."""
    found = []
    for p in points:
        if all(math.dist(p, q) > radius for q in found):
            found.append(p)
    return found


def excess(points):
    """How far a point is from supporting the hull in its own direction: 0 if <p, q> <= <p, p> for all p, q, which puts
    every p on the boundary of the hull, as a vertex or as the point of a face nearest to the origin."""
    return max((max(dot(p, q) for q in points) - dot(p, p)) / math.hypot(*p) for p in points)


class Emergence(program.ProgramTest):
    def file(self, name, rows):
        with h5py.File(self.directory / f"{name}.h5", "w") as f:
            f["x"] = rows
        return f"{self.directory / name}.h5:/x"

    def limit(self, tokens, value, time, *more, space="rescaled"):
        """Positions at the end."""
        weights = ("--value", self.file("V", value)) if value else ()
        self.count = getattr(self, "count", 0) + 1
        out = self.directory / f"run{self.count}"
        self.answer("--space", space, "--init", "file", "--tokens-file", self.file("z", tokens), *weights, "--time", time,
                    "--outputs", 1, "--snapshots", 2, *more, "--out", out)
        with h5py.File(out / "result.h5") as f:
            return f["snapshots/positions"][-1].tolist()

    def test_polytope(self):
        # V = I: once attention selects single tokens, after a time 2 or less, distances to the limits fall like e^{-t}.
        for n, dim, size in ((20, 2, BOX), (20, 3, BOX), (40, 2, 1), (40, 3, 1)):
            for seed in (1, 2, 3):
                start = box(n, dim, seed, size)
                limit, still = self.limit(start, None, 15), 2 * math.sqrt(dim) * size * math.exp(-13)
                points = distinct(limit, 1e-4)
                self.assertGreater(excess(start), 0.1 * size)
                self.assertLess(excess(limit), still)
                self.assertLessEqual(len(points), n // 2)
                self.assertGreaterEqual(len(points), 2)
                spread = max(min(math.dist(p, q) for q in points) for p in limit)
                self.assertLess(spread, still)

    def test_a_crowd_near_the_origin_has_one_leader(self):
        # Weak attention averages first: what is left of a small cloud leaves in one direction.
        for seed in (1, 2, 3):
            self.assertEqual(len(distinct(self.limit(box(100, 2, seed, 0.3), None, 15), 1e-4)), 1)

    def test_hyperplanes(self):
        # A simple top eigenvalue 1: the coordinate w z, w V = w, takes at most three values. The others stay spread.
        cases = ((((1.0, 0.0), (0.0, 0.2)), (1.0, 0.0)), (((1.0, 0.0), (0.0, -0.5)), (1.0, 0.0)),
                 (((1.0, 0.3), (0.0, 0.2)), (1.0, 0.375)),
                 (((1.0, 0.0, 0.0), (0.0, 0.1, 0.4), (0.0, -0.4, 0.1)), (1.0, 0.0, 0.0)))
        for value, left in cases:
            for seed in (1, 2, 3):
                limit = self.limit(box(20, len(left), seed), value, 15)
                self.assertLessEqual(len(distinct([[dot(left, z)] for z in limit], 1e-4)), 3)
                self.assertGreater(len(distinct(limit, 1e-4)), 6)

    def test_polytope_times_a_space(self):
        # The top eigenvalue has multiplicity two and V is orthogonally split: the polytope appears in that plane.
        value = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -0.5))
        for seed in (1, 2, 3):
            limit = self.limit(box(20, 3, seed), value, 15)
            plane = [z[:2] for z in limit]
            self.assertLess(excess(plane), 1e-5)
            self.assertLessEqual(len(distinct(plane, 1e-4)), 8)
            self.assertGreater(len(distinct(limit, 1e-3)), 10)

    def test_one_point(self):
        # V = -I: near the origin the covariance obeys C' = -2 C^2, so C -> I/2t and t mean|x|^2 -> d/2.
        for dim in (2, 3):
            value = [[-1.0 if i == j else 0.0 for j in range(dim)] for i in range(dim)]
            gaps = []
            for time in (100, 1000, 10000):
                limit = self.limit(box(20, dim, 1), value, time, space="euclidean")
                gaps.append(abs(time * sum(dot(x, x) for x in limit) / len(limit) / (dim / 2) - 1))
            self.assertLess(gaps[0], 0.02)
            for coarse, fine in zip(gaps, gaps[1:]):
                self.assertAlmostEqual(coarse / fine, 10, delta=1.5)  # the correction is of order 1/t

    def test_attention_on_a_line_becomes_boolean(self):
        # Tokens with one coordinate: every row selects the largest or the smallest token, so the rank is at most 2.
        time = 9
        for seed in (1, 2, 3):
            start = [(z[0], 0.0) for z in box(12, 1, seed, 1)]
            limit = [z[0] for z in self.limit(start, None, time)]
            rows = []
            for a in limit:
                logits = [math.exp(2 * time) * a * b for b in limit]
                weights = [math.exp(x - max(logits)) for x in logits]
                rows.append([w / sum(weights) for w in weights])
            self.assertLess(max(abs(w - round(w)) for row in rows for w in row), 1e-6)
            chosen = {tuple(round(w) for w in row) for row in rows}
            self.assertLessEqual(len(chosen), 2)
            extremes = {limit.index(min(limit)), limit.index(max(limit))}
            self.assertLessEqual({row.index(1) for row in chosen}, extremes)

    def test_rescaling_is_a_change_of_coordinates(self):
        # x = e^{tV} z of the flow x' = sum_j P_ij V x_j.
        start, rates = box(10, 2, 4, 1), (0.7, -0.4)
        value = ((rates[0], 0.0), (0.0, rates[1]))
        z = self.limit(start, value, 1.5, "--tolerance", 1e-11)
        x = self.limit(start, value, 1.5, "--tolerance", 1e-11, space="euclidean")
        for a, b in zip(z, x):
            self.assertLess(math.dist([c * math.exp(1.5 * r) for c, r in zip(a, rates)], b), 1e-9)


if __name__ == "__main__":
    program.main()
