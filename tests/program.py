"""Runs the built program as a user would; shared by the tests of tests/integration and tests/validation."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parents[1] / "examples" / "data"
PROGRAM = None  # path of the attractor program, the first argument of every test script


class Run:
    """The outcome of one command."""

    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)


def attractor(*arguments, timeout=600, **options):
    command = [PROGRAM, *map(str, arguments)]
    return Run(subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options))


def flow(*arguments, **options):
    return attractor("flow", *arguments, **options)


def arrays(path, without=()):
    """All attributes and data sets of an HDF5 file, but for these attributes."""
    import h5py
    import numpy as np

    found = {}

    def take(name, item):
        found.update((f"{name}@{key}", str(value)) for key, value in item.attrs.items() if key not in without)
        if isinstance(item, h5py.Dataset):
            found[name] = np.asarray(item[()]).tobytes()

    with h5py.File(path) as file:
        take("", file)
        file.visititems(take)
    return found


class ProgramTest(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        self._directory = tempfile.TemporaryDirectory(prefix="attractor-test-")
        self.directory = pathlib.Path(self._directory.name)
        self.addCleanup(self._directory.cleanup)

    def answer(self, *arguments, **options):
        """The JSON of a flow that must succeed."""
        run = flow(*arguments, "--json", **options)
        self.assertEqual(run.status, 0, run.err)
        return run.json

    def assert_refused(self, cases, *command):
        """Every (arguments, word) is bad input: status 2 and one sentence with the word."""
        for arguments, named in cases:
            with self.subTest(arguments):
                run = attractor(*command, *arguments, "--json")
                self.assertEqual(run.status, 2, run.err)
                self.assertEqual(run.out, "")
                self.assertEqual(run.err.count("\n"), 1)
                self.assertIn(named, run.err)


def main():
    global PROGRAM
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [unittest arguments]")
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    # The test scripts import this module by name; they must see the same PROGRAM.
    sys.modules["program"].PROGRAM = PROGRAM
    unittest.main(module="__main__", verbosity=2)
