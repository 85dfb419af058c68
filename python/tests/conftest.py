"""The package is found as PYTHONPATH says (the build directory, or an installation); ATTRACTOR_PROGRAM is the built program."""
import os
import pathlib
import subprocess

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def program():
    found = os.environ.get("ATTRACTOR_PROGRAM") or str(ROOT / "build/release/attractor")
    if not os.path.exists(found):
        pytest.skip("ATTRACTOR_PROGRAM names no program")

    def run(*words, cwd=None):
        return subprocess.run([found, *map(str, words)], capture_output=True, text=True, timeout=300, cwd=cwd)
    return run


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def unit_rows(rng, n, d):
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)
