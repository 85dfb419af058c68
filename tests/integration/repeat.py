#!/usr/bin/env python3
"""Every "Repeat it": the line of the page, typed into a shell as it stands, runs and gives the same numbers. Of every command that
the program lists, with names of files that a shell would stumble over.

usage: repeat.py PROGRAM
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import numpy as np

TOOLS = {"completion", "film", "manual", "merge", "problem"}  # make no page
ODD = "a b's $x.npy"

# One or more short calls of every command; in a directory with points.npy, its copy of an odd name, data.json and two flows.
CALLS = {
    "flow": [["flow", "--tokens", 6, "--dim", 2, "--beta", 0.1, "--time", 1], ["flow", "--init", "file", "--tokens-file", ODD, "--time", 1],
             ["flow", "--init", "angles", "--angles", "0,1.5,2", "--dim", 2, "--time", "inf", "--beta", 2]],
    "select": [["select", "data.json", "--steps", 20], ["select", "example:multi,inputs=2", "--optimizer", "flow", "--log10-time", 3],
               ["select", "data.json", "--choice", 1, "--path", "10,100"]],
    "bridge": [["bridge", "data.json", "--tokens", 6, "--checkpoints", 2, "--log10-time", 3, "--time", 1]],
    "reduce equiangular": [["reduce", "equiangular", "--tokens", "1e12", "--beta", 2, "--log10-time", 4]],
    "reduce pair": [["reduce", "pair", "--beta", 30, "--degrees", 80]],
    "reduce clusters": [["reduce", "clusters", "--shape", "simplex", "--count", 4, "--beta", 9, "--cosine", -0.1]],
    "stability": [["stability", "--dim", 2, "--beta", 12]],
    "context": [["context", "--tokens", 1000, "--rho", 0.4, "--layers", 3],
                ["context", "--advise", "--tokens", 131072, "--rho", 0.6, "--trained-tokens", 8192]],
    "forecast": [["forecast", "--depth", 12, "--levels", "0.5,0.9"]],
    "meanfield": [["meanfield", "--beta", 3, "--start", "vmf", "--centres=-1,1", "--time", 0.5]],
    "stationary": [["stationary", "--beta", 3]],
    "phase": [["phase", "--dim", 3, "--beta", "1:2:3", "--replicates", 4, "--tokens", 8, "--time", 1]],
    "cluster": [["cluster", "points.npy", "--space", "sphere", "--beta", 20, "--labels-out", "labels.npy"], ["cluster", ODD],
                ["cluster", "--", "-x.npy"]],
    "compare": [["compare", "first", "second run"]],
    "measure": [["measure", ODD, "--beta", 2]],
    "architect": [["architect", "config.json"], ["architect", "--depth", 24, "--beta", 9, "--context", "64k", "--trained-context", "8k"]],
    "inspect": [["inspect", "model.bin", "--text", "my texts.txt", "--nulls", 1, "--seed", 3], ["inspect", "--states", "states.npy"]],
    "sweep": [["sweep", "study.toml"]],
    "reproduce": [["reproduce", "pairing", "--quick"]],
}


def arrays(path):
    """All of a result but its version and the line that made it."""
    return program.arrays(path, without=("version", "command"))


class RepeatIt(program.ProgramTest):
    def setUp(self):
        super().setUp()
        rows = np.random.default_rng(3).normal(size=(20, 3))
        for name in ("points.npy", ODD, "-x.npy"):
            np.save(self.directory / name, rows)
        (self.directory / "study.toml").write_text('measure = ["clusters"]\n[fixed]\ntokens = 6\ntime = 1\n[grid]\nbeta = [1, 4]\n')
        for name, given in (("model.bin", "model.bin"), ("texts.txt", "my texts.txt"), ("states.npy", "states.npy"), ("config.json", "config.json")):
            shutil.copy(program.DATA / name, self.directory / given)
        self.typed("problem", "single-local", "--out", "data.json")
        for seed, name in enumerate(("first", "second run")):
            self.typed("flow", "--tokens", 6, "--time", 1, "--seed", seed, "--no-figures", "--out", name)
        (self.directory / "bin").mkdir()
        (self.directory / "bin" / "attractor").symlink_to(program.PROGRAM)

    def typed(self, *words):
        run = program.attractor(*words, cwd=self.directory)
        self.assertEqual(run.status, 0, f"{words}: {run.err}")

    def shell(self, line, directory=None):
        """What a user does with the line: into a shell, in the directory where the run was started."""
        environment = {**os.environ, "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", line], cwd=directory or self.directory, env=environment, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, f"{line}: {done.stderr}")

    def line_of(self, page):
        return html.unescape(re.search(r"<h2>Repeat it</h2>\n<pre class=\"wrap\">(.*?)</pre>", page.read_text(), re.S).group(1))

    def test_every_command_is_here(self):
        listed = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?:  |$)", program.attractor("--help").out, re.M)
        self.assertGreater(len(listed), 15)
        self.assertEqual({name for name in listed if name not in TOOLS}, set(CALLS))

    def test_every_page(self):
        for name, calls in CALLS.items():
            for k, words in enumerate(calls):
                with self.subTest(words):
                    out = f"{name.replace(' ', '_')}{k}"
                    at = words.index("--") if "--" in words else len(words)
                    self.typed(*words[:at], "--out", out, *words[at:])
                    result = self.directory / out / ("pairing" if name == "reproduce" else ".")
                    line = self.line_of(result / "index.html")
                    self.shell(line)
                    again = self.directory / f"{out}_again"
                    if name == "sweep":  # a sweep needs a directory: the line names one
                        self.assertEqual(arrays(result / "result.h5"), arrays(again / "result.h5"))
                        continue
                    self.shell(f"{line} --out {out}_again")
                    found = again / ("pairing" if name == "reproduce" else ".") / "result.h5"
                    self.assertEqual(arrays(result / "result.h5"), arrays(found), line)

    def test_files_of_a_configuration_elsewhere(self):
        place = self.directory / "else where"
        place.mkdir()
        shutil.copy(self.directory / "points.npy", place / "own.npy")
        first = program.attractor("cluster", "own.npy", "--space", "sphere", "--beta", 20, "--no-figures", "--out", "run", cwd=place)
        self.assertEqual(first.status, 0, first.err)
        self.typed("cluster", "--config", place / "run" / "run.toml", "--out", "configured")
        line = self.line_of(self.directory / "configured" / "index.html")
        self.shell(line)
        self.shell(f"{line} --out {self.directory / 'configured_again'}")
        self.assertEqual(arrays(self.directory / "configured" / "result.h5"), arrays(self.directory / "configured_again" / "result.h5"))


if __name__ == "__main__":
    program.main()
