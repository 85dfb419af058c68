"""Runs the program as several ranks, and reads the tokens of a result with the standard library."""
import array
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

MPIRUN = (shutil.which("mpirun") or "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "plm", "isolated")  # without ssh


def command(ranks, *arguments, grace=0):
    """The command line; no ranks: the program alone, without mpirun. `grace`: seconds that mpirun gives to ranks which
    it stops (and waits in any case when one ends with a status other than 0)."""
    patience = ("--mca", "odls_base_sigkill_timeout", str(grace)) if grace else ()
    mpirun = (*MPIRUN, *patience, "-n", str(ranks)) if ranks else ()
    return [*mpirun, program.PROGRAM, *map(str, arguments)]


def run(ranks, *arguments, timeout=600):
    return program.Run(subprocess.run(command(ranks, *arguments), capture_output=True, text=True, timeout=timeout))


def own_words(err):
    """What the program said, without mpirun's remarks on exit statuses."""
    return [line for line in err.splitlines() if line.startswith("attractor:")]


class RanksTest(program.ProgramTest):
    def start_file(self, tokens, dim, seed=1):
        """A .npy of random tokens after the first two unit vectors, which find_positions looks for."""
        draw = random.Random(seed)
        self.first = array.array("d", [1.0] + [0.0] * dim + [1.0] + [0.0] * (dim - 2))
        rows = array.array("d", self.first)
        for _ in range(tokens - 2):
            row = [draw.gauss(0, 1) for _ in range(dim)]
            length = math.sqrt(sum(x * x for x in row))
            rows.extend(x / length for x in row)
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({tokens}, {dim}), }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        file = self.directory / f"start-{tokens}-{dim}.npy"
        file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + rows.tobytes())
        self.size = tokens * dim
        return "--init", "file", "--tokens-file", file, "--snapshots", 2

    def ends(self, ranks, name, *arguments, timeout=600):
        """Runs to the end and returns the bytes of result.h5."""
        out = self.directory / name
        done = run(ranks, "flow", *arguments, "--out", out, "--quiet", "--json", timeout=timeout)
        self.assertEqual(done.status, 0, done.err)
        self.summary = done.json
        return (out / "result.h5").read_bytes()

    def positions(self, data):
        """The end state: the second of two contiguous snapshots, the first of which is the start."""
        begin = data.find(self.first.tobytes())
        self.assertGreater(begin, 0)
        self.assertEqual(data.count(self.first.tobytes()), 1)
        return array.array("d", data[begin + 8 * self.size:begin + 16 * self.size])

    def difference(self, one, other):
        a, b = self.positions(one), self.positions(other)
        self.assertEqual(len(a), self.size)
        self.assertTrue(all(map(math.isfinite, a)))
        return max(abs(x - y) for x, y in zip(a, b))

    def moved(self, data):
        """How far the end is from the start."""
        begin = data.find(self.first.tobytes())
        start = array.array("d", data[begin:begin + 8 * self.size])
        return max(abs(x - y) for x, y in zip(start, self.positions(data)))
