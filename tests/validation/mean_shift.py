"""`attractor cluster` against a mean shift of a few lines in plain Python, on the plane, in R^5 and on the sphere; and that
labels, modes and JSON agree with each other. The large comparison, beside scikit-learn, is bench/mean_shift_peer.py."""
import math
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program
from program import ProgramTest, attractor


def write_npy(path, rows):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    numbers = [x for row in rows for x in row]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(numbers)}d", *numbers))


def read_npy(path):
    """All numbers of a float64 array, in order."""
    content = path.read_bytes()
    begin = 10 + struct.unpack("<H", content[8:10])[0]
    return struct.unpack(f"<{(len(content) - begin) // 8}d", content[begin:])


def clouds(points, dim, count, spread, seed):
    draw = random.Random(seed)
    centres = [[spread * draw.gauss(0, 1) for _ in range(dim)] for _ in range(count)]
    return [[c + draw.gauss(0, 1) for c in centres[i % count]] for i in range(points)]


def unit(row):
    length = math.hypot(*row)
    return [x / length for x in row]


def mean_shift(rows, beta, on_sphere):
    """The mode of every point, by its own ascent."""
    modes, labels = [], []
    columns = list(zip(*rows))
    for x in rows:
        for _ in range(100_000):
            weights = [math.exp(-beta / 2 * math.dist(x, y) ** 2) for y in rows]
            total = sum(weights)
            new = [sum(w * v for w, v in zip(weights, c)) / total for c in columns]
            new = unit(new) if on_sphere else new
            step, x = math.dist(x, new), new
            if step < 1e-12 / math.sqrt(beta):
                break
        near = [m for m, mode in enumerate(modes) if math.dist(mode, x) < 0.1 / math.sqrt(beta)]
        labels.append(near[0] if near else len(modes))
        if not near:
            modes.append(x)
    return modes, labels


class Cluster(ProgramTest):
    def cluster(self, rows, *arguments):
        points, labels, modes = (self.directory / f"{name}.npy" for name in ("points", "labels", "modes"))
        write_npy(points, rows)
        run = attractor("cluster", points, "--labels-out", labels, "--modes-out", modes, "--json", *arguments)
        self.assertEqual(run.status, 0, run.err)
        flat, dim = read_npy(modes), len(rows[0])
        return run.json, [int(x) for x in read_npy(labels)], [flat[k : k + dim] for k in range(0, len(flat), dim)]

    def test_equals_plain_mean_shift(self):
        for dim, count, spread, beta, space in ((2, 3, 4, 2.0, "euclidean"), (5, 4, 3, 0.5, "euclidean"),
                                                (3, 4, 3, 30.0, "sphere")):
            with self.subTest(dim=dim, space=space):
                rows = clouds(70, dim, count, spread, seed=dim)
                rows = list(map(unit, rows)) if space == "sphere" else rows
                modes, labels = mean_shift(rows, beta, space == "sphere")
                answer, our_labels, our_modes = self.cluster(rows, "--beta", beta, "--space", space, "--tolerance", 1e-11)
                self.assertEqual(answer["clusters"], len(modes))
                self.assertGreater(len(modes), 1)
                self.assertEqual(len(set(zip(labels, our_labels))), len(modes))
                for theirs, ours in set(zip(labels, our_labels)):
                    self.assertLess(math.dist(modes[theirs], our_modes[ours]), 1e-9)
                self.assertEqual(answer["sizes"], [our_labels.count(m) for m in range(len(modes))])

    def test_many_points_by_seeds(self):
        """20,000 points in dimension 20: five clouds are five clusters at the bandwidth that the program chooses."""
        draw = random.Random(1)
        centres = [[4 * draw.gauss(0, 1) for _ in range(20)] for _ in range(5)]
        rows = [[c + draw.gauss(0, 1) for c in centres[i % 5]] for i in range(20_000)]
        answer, labels, modes = self.cluster(rows, "--seeds", 200)
        self.assertEqual([answer["converged"], answer["seeds"]], [True, 200])
        large = [m for m, size in enumerate(answer["sizes"]) if size > 2000]
        self.assertEqual(len(large), 5)
        for k in range(5):
            mode = max(range(len(modes)), key=labels[k::5].count)
            self.assertGreater(labels[k::5].count(mode), 3900)
            # 4000 points of deviation 1 in 20 directions
            self.assertLess(math.dist(modes[mode], centres[k]), 4 * math.sqrt(20 / 4000))


if __name__ == "__main__":
    program.main()
