"""Runs that an older version wrote (tests/data/old_runs, by commit 1931e33, before setups were typed): one of flow and one of
select, interrupted, with what that version made of them in the end. Today's program resumes them, repeats them from run.toml,
and reads their result.h5."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import shutil

import h5py
import numpy as np

OLD = pathlib.Path(__file__).resolve().parents[1] / "data/old_runs"


def arrays(file):
    """Every dataset of numbers."""
    found = {}
    with h5py.File(file) as f:
        f.visititems(lambda name, o: found.update({name: o[()]}) if isinstance(o, h5py.Dataset) and o.dtype.kind in "fiu" else None)
    return found


class OldRuns(program.ProgramTest):
    def assert_agrees(self, command, out):
        old, new = arrays(OLD / command / "result_of_the_whole.h5"), arrays(out / "result.h5")
        self.assertGreater(len(old), 10)
        for name, values in old.items():
            self.assertIn(name, new)
            # Bits are those of the processor that wrote them; this one may sum in another order.
            np.testing.assert_allclose(new[name], values, rtol=1e-8, atol=1e-9, err_msg=f"{command} {name}")

    def test_resumed(self):
        for command in ("flow", "select"):
            out = self.directory / command
            out.mkdir()
            for name in ("run.toml", "checkpoint.bin"):
                shutil.copy(OLD / command / name, out / name)
            run = program.attractor(command, "--resume", out, "--quiet")
            self.assertEqual(run.status, 0, run.err)
            self.assert_agrees(command, out)

    def test_repeated(self):
        for command in ("flow", "select"):
            out = self.directory / f"{command} again"
            run = program.attractor(command, "--config", OLD / command / "run.toml", "--out", out, "--quiet")
            self.assertEqual(run.status, 0, run.err)
            self.assert_agrees(command, out)

    def test_read(self):
        run = self.directory / "run"
        run.mkdir()
        shutil.copy(OLD / "flow/result_of_the_whole.h5", run / "result.h5")
        shutil.copy(OLD / "flow/run.toml", run / "run.toml")
        self.assertEqual(program.attractor("film", run, "--out", self.directory / "film.svg").status, 0)
        compared = program.attractor("compare", run, run, "--json")
        self.assertEqual(compared.status, 0, compared.err)


if __name__ == "__main__":
    program.main()
