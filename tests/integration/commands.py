"""What every command has in common, whatever it computes: --config repeats it, --no-figures draws nothing, the command on its page
runs as it stands, and a sweep can call it."""
import html
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import numpy as np


# Short calls of all commands that compute; POINTS is a file of points, DATA a problem, MODEL a small model, CONFIG one's shape, TEXTS sentences for it.
CALLS = {
    "flow": "flow --tokens 6 --dim 2 --beta 3 --time 1 --outputs 5",
    "select": "select DATA --steps 20",
    "bridge": "bridge DATA --tokens 6 --checkpoints 2 --log10-time 3 --time 1",
    "reduce equiangular": "reduce equiangular --tokens 9 --beta 2 --time 1",
    "reduce pair": "reduce pair --beta 30 --degrees 80",
    "reduce clusters": "reduce clusters --shape polygon --count 5 --beta 9",
    "stability": "stability --dim 2 --beta 12",
    "context": "context --tokens 1000 --rho 0.4",
    "forecast": "forecast --depth 12",
    "meanfield": "meanfield --beta 3 --start perturbed --mode 2 --time 0.5",
    "stationary": "stationary --beta 3",
    "phase": "phase --dim 3 --beta 1,2 --replicates 4 --tokens 8 --time 1",
    "cluster": "cluster POINTS --space sphere --beta 20",
    "measure": "measure POINTS --beta 2",
    "architect": "architect CONFIG --depth 24 --context 64k",
    "inspect": "inspect MODEL --text TEXTS --nulls 1 --exponents 1",
}


class Commands(program.ProgramTest):
    def setUp(self):
        super().setUp()
        rows = np.random.default_rng(3).normal(size=(40, 3))
        np.save(self.directory / "points.npy", rows)
        for name in ("model.bin", "texts.txt", "config.json"):
            shutil.copy(program.DATA / name, self.directory)
        made = self.run_words("problem single-local --out data.json")
        self.assertEqual(made.status, 0, made.err)

    def run_words(self, words, *more):
        words = words.replace("POINTS", "points.npy").replace("DATA", "data.json").replace("MODEL", "model.bin").replace("CONFIG", "config.json").replace("TEXTS", "texts.txt")
        return program.attractor(*shlex.split(words), *more, cwd=self.directory)

    def test_help_names_them_all(self):
        listed = program.attractor("--help").out
        for name in CALLS:
            self.assertIn(name.split()[0], listed)
            shown = program.attractor(*name.split(), "--help")
            self.assertEqual(shown.status, 0)
            for words in (f"attractor {name}", "--out", f"attractor {name} --help-all"):
                self.assertIn(words, shown.out)
            self.assertLessEqual(shown.out.count("\n"), 50, name)
            shown = program.attractor(*name.split(), "--help-all")
            for flag in ("--out", "--overwrite", "--config", "--threads", "--json", "--quiet", "--no-figures"):
                self.assertIn(flag, shown.out, name)

    def test_manual_pages_are_sound(self):
        pages = self.directory / "pages"
        self.assertEqual(program.attractor("manual", "--out", pages).status, 0)
        names = {p.name for p in pages.iterdir()}
        self.assertLessEqual({"attractor.1", *(f"attractor-{name.replace(' ', '-')}.1" for name in CALLS)}, names)
        groff = shutil.which("groff", path="/usr/bin")
        self.assertTrue(groff, "groff-base is in packages.txt")
        for page in pages.iterdir():
            done = subprocess.run([groff, "-man", "-ww", "-Tutf8", "-K", "utf8", "-z", page], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_the_manual_as_json_knows_every_option(self):
        listed = program.attractor("manual", "--form", "json").json
        self.assertLessEqual(set(CALLS), {tool["name"] for tool in listed})
        for tool in listed:
            shown = program.attractor(*tool["name"].split(), "--help-all").out
            for parameter in tool["parameters"]:
                self.assertIn(parameter["name"], shown, tool["name"])

    def test_counts_have_letters_and_the_answer_says_what_they_are(self):
        run = program.attractor("context", "--advise", "--tokens", "128k", "--trained-tokens", "8k")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("tokens 128k is 131072, trained-tokens 8k is 8192 (k = 1024", " ".join(run.out.split()))
        stored = program.attractor("context", "--advise", "--tokens", "128k", "--json").json["parameters"]
        self.assertEqual(stored["tokens"], 131072)

    def test_no_figures_leaves_numbers_only(self):
        for k, (name, words) in enumerate(CALLS.items()):
            out = self.directory / f"plain{k}"
            run = self.run_words(words, "--no-figures", "--out", out)
            self.assertEqual(run.status, 0, f"{name}: {run.err}")
            self.assertEqual(sorted(p.name for p in out.iterdir()), ["result.h5", "run.toml", "summary.json"], name)
            self.assertIn("result.h5", run.out)

    def test_config_repeats(self):
        for k, (name, words) in enumerate(CALLS.items()):
            first, second = self.directory / f"a{k}", self.directory / f"b{k}"
            run = self.run_words(words, "--no-figures", "--out", first)
            self.assertEqual(run.status, 0, f"{name}: {run.err}")
            again = program.attractor(*name.split(), "--config", first / "run.toml", "--no-figures", "--out", second, cwd="/")
            self.assertEqual(again.status, 0, f"{name}: {again.err}")
            self.assertEqual(program.arrays(first / "result.h5"), program.arrays(second / "result.h5"), name)

    def test_another_commands_configuration_is_refused(self):
        self.assertEqual(self.run_words(CALLS["stability"], "--out", self.directory / "s").status, 0)
        refused = program.attractor("phase", "--config", self.directory / "s" / "run.toml")
        self.assertEqual(refused.status, 2)
        self.assertIn("stability", refused.err)

    def test_the_page_says_what_repeats_it(self):
        for k, (name, words) in enumerate(CALLS.items()):
            out = self.directory / f"page{k}"
            run = self.run_words(words, "--out", out)
            self.assertEqual(run.status, 0, f"{name}: {run.err}")
            page = (out / "index.html").read_text()
            line = html.unescape(re.search(r"<h2>Repeat it</h2>\n<pre class=\"wrap\">(.*?)</pre>", page, re.S).group(1))
            self.assertTrue(line.startswith(f"attractor {name}"), line)
            again = self.run_words(line[len("attractor "):], "--no-figures", "--out", self.directory / f"again{k}")
            self.assertEqual(again.status, 0, f"{line}: {again.err}")
            self.assertEqual(program.arrays(out / "result.h5"), program.arrays(self.directory / f"again{k}" / "result.h5"), name)
            summary = json.loads((out / "summary.json").read_text())
            self.assertEqual(summary["command"], line)

    def test_compare_too(self):
        for name, seed in (("a", 1), ("b", 2)):
            self.assertEqual(self.run_words(CALLS["flow"], "--seed", seed, "--no-figures", "--out", name).status, 0)
        run = self.run_words("compare a b", "--out", "ab")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("attractor compare a b", (self.directory / "ab" / "index.html").read_text())

    def test_any_of_them_can_be_swept(self):
        for name, axis, measure in (("bridge", "tokens = [4, 6]", "slope"), ("cluster", "beta = [\"5\", \"50\"]", "clusters"),
                                    ("measure", "beta = [1, 9]", "participation_ratio")):
            fixed = 'data = "data.json"\ncheckpoints = 2\nlog10-time = 3\ntime = 1' if name == "bridge" else (
                'points = "points.npy"\nspace = "sphere"' if name == "cluster" else 'tokens = "points.npy"')
            study = f'command = "{name}"\nmeasure = ["{measure}"]\n[fixed]\n{fixed}\n[grid]\n{axis}\n'
            (self.directory / f"{name}.toml").write_text(study)
            run = self.run_words(f"sweep {name}.toml --json --out {name}")
            self.assertEqual(run.status, 0, f"{name}: {run.err}")
            self.assertEqual(len(run.json["points"]), 2, run.out)

    # An infeasible choice has no solution wherever it is asked for.
    def test_verdicts_are_the_same_in_a_sweep(self):
        problem = {"X": [[[0.0], [1.0], [2.0]]], "Y": [1], "v": [1]}
        (self.directory / "line.json").write_text(json.dumps(problem))
        alone = self.run_words("select line.json --choice 1")
        self.assertEqual(alone.status, 3)
        (self.directory / "line.toml").write_text('command = "select"\nmeasure = ["margin"]\n[fixed]\ndata = "line.json"\n'
                                                  '[grid]\nchoice = ["1", "2"]\n')
        swept = self.run_words("sweep line.toml --json --out swept")
        text = (self.directory / "swept" / "summary.json").read_text()
        sentence = alone.err.split("attractor: ", 1)[1].strip()
        self.assertIn(json.dumps(sentence)[1:-1], text)
        self.assertNotEqual(swept.status, 2)

    def test_measure_is_what_numpy_says(self):
        x = np.load(self.directory / "points.npy")
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        got = self.run_words("measure POINTS --beta 2", "--json").json
        gram = x @ x.T
        n = len(x)
        off = gram[~np.eye(n, dtype=bool)]
        eigenvalues = np.linalg.eigvalsh(gram)
        weights = eigenvalues / eigenvalues.sum()
        weights = weights[weights > 1e-15]
        self.assertAlmostEqual(got["mean_cosine"], off.mean(), places=13)
        self.assertAlmostEqual(got["energy"], np.exp(2 * gram).sum() / (4 * n * n), places=12)
        self.assertAlmostEqual(got["participation_ratio"], eigenvalues.sum() ** 2 / (eigenvalues**2).sum(), places=12)
        self.assertAlmostEqual(got["effective_rank"], np.exp(-(weights * np.log(weights)).sum()), places=10)
        self.assertEqual(got["tokens"], n)
        euclidean = self.run_words("measure POINTS --space euclidean --beta 0.5", "--json").json
        raw = np.load(self.directory / "points.npy")
        self.assertAlmostEqual(euclidean["mean_norm"], np.linalg.norm(raw, axis=1).mean(), places=12)


if __name__ == "__main__":
    program.main()
