#!/usr/bin/env python3
"""Pages in a browser, as readers see them: light, dark, and on a phone of 420 pixels. No sideways scroll, no text over text or cut,
contrast of at least 4.5, at most six tiles that each say what they are, no console error, nothing loaded; the moving picture
plays, its slider and the curves move together, and values stand under the pointer.

usage: pages.py PROGRAM   (ATTRACTOR_PAGES=all: every kind of page, not a few; ATTRACTOR_GALLERY: where `reproduce all --quick` has left its pages)
"""
import json
import os
import pathlib
import re
import shlex
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import MODES, Browser  # noqa: E402

import h5py
import numpy as np

EVERY = os.environ.get("ATTRACTOR_PAGES") == "all"

# Kinds of pages; those with a star are looked at in ./check too.
KINDS = {
    "*sphere": "flow --tokens 48 --dim 3 --beta 30 --log10-time 12 --seed 7",
    "circle": "flow --tokens 30 --dim 2 --beta 9 --time 20",
    "many dimensions": "flow --tokens 40 --dim 8 --beta 8 --time 40",
    "*plane": "flow --tokens 40 --dim 2 --space euclidean --beta 2 --time 6",
    "space": "flow --tokens 20 --dim 3 --dynamics radial --kernel laplace --space euclidean --time 1",
    "many tokens": "flow --tokens 2500 --dim 3 --beta 16 --time 2",
    "lengths": "flow --tokens 20 --dim 4 --norm pre --beta 2 --time 30",
    "one token": "flow --tokens 1 --time 1",
    "given weights": "flow --tokens 12 --dim 3 --query gaussian --key gaussian --heads 2 --mask causal --time 2",
    "hardmax": "flow --tokens 20 --dim 3 --dynamics hardmax --time 1",
    "*training": "select example:single-local --optimizer flow --log10-time 100 --local --basins --basins-side 15",
    "margin alone": "select example:single-local --choice 1 --exact --path 10,100,1000 --path-cone 0.05",
    "many inputs": "select example:multi --steps 300",
    "matrix": "select example:self-attention --train W --optimizer flow --log10-time 6",
    "head too": "select example:joint-relaxed --train v,p --optimizer flow --log10-time 4",
    "*bridge": "bridge example:authors-like --checkpoints 4 --tokens 24 --log10-time 8 --time 4",
    "bridge of a matrix": "bridge example:self-attention --train W --checkpoints 3 --time 4",
    "equiangular": "reduce equiangular --norm pre --tokens 1e12 --beta 8 --time 100",
    "layers": "reduce equiangular --tokens 64 --beta 4 --layers 48",
    "pair": "reduce pair --beta 100 --degrees 90 --time 5",
    "antipodal": "reduce pair --beta 1000 --degrees 180",
    "polygon": "reduce clusters --shape polygon --count 7 --beta 25",
    "simplex": "reduce clusters --shape simplex --count 4 --beta 9 --cosine 0.2",
    "ring": "reduce clusters --shape ring --count 5 --beta 9 --polar 1.2",
    "stability": "stability --dim 2 --beta 25",
    "observed": "stability --dim 2 --beta 25 --observe 500 --replicates 3",
    "noisy": "stability --dynamics usa --dim 3 --beta 9 --noise 0.5",
    "context": "context --tokens 1e6 --rho 0.5 --gamma 2 --layers 6",
    "*context map": "context --tokens 1e6 --rho 0.5 --gamma 2 --map",
    "simulated": "context --tokens 500 --rho 0.5 --gamma 2 --simulate",
    "advice": "context --advise --tokens 131072 --rho 0.6 --trained-tokens 8192",
    "*forecast": "forecast --depth 96 --norm pre --beta 8 --tokens 8192",
    "*density": "meanfield --dim 2 --beta 4 --start perturbed --mode 3 --time 4",
    "compared": "meanfield --beta 1 --start map --time 1 --compare-particles 32,64 --replicates 8",
    "axis": "meanfield --dim 3 --beta 4 --start vmf --time 1 --noise 0.05",
    "*stationary": "stationary --dynamics usa --beta 4 --noise-ratio 1.03",
    "diagram": "stationary --dynamics usa --beta 4 --diagram",
    "softmax noise": "stationary --dynamics sa --dim 3 --beta 2 --noise 0.2",
    "phase": "phase --dim 2 --beta 0.1:9:12 --replicates 8 --tokens 12 --time 8",
    "one temperature": "phase --dim 3 --beta 2 --replicates 4 --tokens 8 --time 1",
    "cluster": "cluster points.npy --bandwidth 0.5",
    "compare": "compare first second",
    "measure": "measure points.npy --beta 4",
    "model": f"inspect {program.DATA}/model.bin --text {program.DATA}/texts.txt",
    "architect": f"architect {program.DATA}/config.json",
    "one length": "architect --depth 96 --beta 8 --context 128k",
    "saved states": f"inspect --states {program.DATA}/states.npy --attention {program.DATA}/logits.npy",
    "states alone": f"inspect --states {program.DATA}/states.npy",
    "sweep": "sweep study.toml",
    "sweep of words": "sweep words.toml",
    "sweep map": "sweep map.toml",
}

STUDIES = {
    "study.toml": 'measure = ["clusters", "series.mean_cosine", "series.time"]\nreplicates = 2\n[fixed]\ntokens = 12\ndim = 2\ntime = 3\n'
                  '[grid]\nbeta = {from = 1, to = 64, count = 4, spacing = "log"}\ndynamics = ["sa", "usa"]\n',
    "words.toml": 'measure = ["clusters", "mean_cosine"]\nreplicates = 2\n[fixed]\ntokens = 12\ntime = 3\n[grid]\nnorm = ["post", "pre", "peri"]\n',
    "map.toml": 'command = "phase"\nmeasure = ["diagram.time", "diagram.fraction", "equiangular_time"]\n[fixed]\nreplicates = 4\ntokens = 8\n'
                '[grid]\nbeta = {from = 0.1, to = 9, count = 6}\n[[figure]]\nx = "beta"\ny = "diagram.time"\nz = "diagram.fraction"\n'
                'overlay = ["equiangular_time"]\n',
}

# What each fault looks like, and the word that must name it.
FAULTY = {
    "scrolls sideways": "<div style='width:3000px'>wide</div>",
    "lies over": "<svg class=panel viewBox='0 0 200 40' width=200><text x=5 y=20>first words</text><text x=30 y=22>second words</text></svg>",
    "reaches out": "<svg class=panel viewBox='0 0 200 40' width=200><text x=150 y=20>words that go on and on</text></svg>",
    "contrast": "<p style='color:#999;background:#fff'>grey on white</p>",
    "7 tiles": "<div class=tile><dt>a</dt><dd>1<small>b</small></dd></div>" * 7,
    "without small": "<div class=tile><dt>a</dt><dd>1</dd></div>",
    "identifier": "<h1>unstable_modes has no number</h1>",
    "too many digits": "<h1>beta is 3.9999999999999996</h1>",
    "no words": "<figcaption>the value is nan</figcaption>",
    "console": "<script>missing_function()</script>",
    "cut at the edge": "<p style='position:absolute;left:-40px'>cut away</p>",
}


class PagesTest(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def run_words(self, words):
        run = program.attractor(*(shlex.split(words) if isinstance(words, str) else words), cwd=self.directory)
        self.assertEqual(run.status, 0, f"{words}: {run.err}")

    def made(self, words, name="page"):
        self.run_words(shlex.split(words) + ["--quiet", "--out", name])
        return self.directory / name / "index.html"


class Look(PagesTest):
    """The eye itself: each fault is seen, and a clean page has none."""

    def test_sees_every_fault(self):
        page = self.directory / "faulty.html"
        for word, body in FAULTY.items():
            page.write_text(f"<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><body>{body}")
            self.browser.open(page, "phone")
            found = self.browser.faults()
            self.assertTrue(any(word in fault for fault in found), f"{word}: {found}")
        page.write_text("<!doctype html><meta charset=utf-8><body><h1>All is well</h1><p>10<sup>12</sup> words.</p>")
        self.browser.open(page)
        self.assertEqual(self.browser.faults(), [])


class Kinds(PagesTest):
    def setUp(self):
        super().setUp()
        rows = np.random.default_rng(3).normal(size=(60, 3))
        np.save(self.directory / "points.npy", rows)
        for name, text in STUDIES.items():
            (self.directory / name).write_text(text)
        if EVERY:
            for seed, name in enumerate(("first", "second")):
                self.run_words(f"flow --tokens 12 --time 3 --snapshots 6 --seed {seed} --no-figures --out {name}")

    def test_every_kind(self):
        for k, (name, words) in enumerate(KINDS.items()):
            if not EVERY and not name.startswith("*"):
                continue
            page = self.made(words, f"page{k}")
            self.assertLess(page.stat().st_size, 1_500_000, name)
            for mode in MODES:
                self.browser.open(page, mode)
                self.assertEqual(self.browser.faults(), [], f"{name}, {mode}")
            columns = self.browser.run("return new Set([...document.querySelectorAll('.tile')].map(t => t.getBoundingClientRect().left)).size")
            self.assertEqual(columns, 2, f"{name}: columns of tiles on a phone")

    @unittest.skipUnless(EVERY, "with ATTRACTOR_PAGES=all")
    def test_every_command_is_among_them(self):
        listed = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?:  |$)", program.attractor("--help").out, re.M)
        shown = {" ".join(words.split()[:2]) for words in KINDS.values()} | {words.split()[0] for words in KINDS.values()}
        self.assertEqual({name for name in listed if name not in ("completion", "film", "manual", "merge", "problem", "reproduce")} - shown, set())

    @unittest.skipUnless(EVERY, "with ATTRACTOR_PAGES=all")
    def test_gallery(self):
        gallery = pathlib.Path(os.environ.get("ATTRACTOR_GALLERY") or self.directory / "gallery")
        if not gallery.exists():
            self.run_words("reproduce all --quick --quiet --out gallery")
        pages = sorted(gallery.glob("*/index.html"))
        self.assertGreater(len(pages), 30)
        # All are made alike: each is looked at in one mode, in turn.
        looks = [(gallery / "index.html", mode) for mode in MODES] + [(page, list(MODES)[k % len(MODES)]) for k, page in enumerate(pages)]
        for page, mode in looks:
            self.browser.open(page, mode)
            self.assertEqual(self.browser.faults(), [], f"{page.parent.name}, {mode}")
        self.browser.open(gallery / "index.html")
        shown = "return [...document.querySelectorAll('.entry')].filter(e => !e.hidden).length"
        every = self.browser.run(shown)
        self.browser.run("const i = document.querySelector('.filter input'); i.value = 'pair'; i.oninput()")
        some = self.browser.run(shown)
        self.assertTrue(0 < some < every, (some, every))
        self.browser.run("document.querySelector('.filter button[data-state=agrees]').click()")
        self.assertLessEqual(self.browser.run(shown), some)


class Moving(PagesTest):
    """The picture, its slider and the curves."""

    def where(self):
        return self.browser.run("return Number(document.querySelector('.viewer input').value)")

    def middle(self, selector, share=0.5):
        return self.browser.run("""
            const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});
            const r = (e.querySelector('.plot') ?? e).getBoundingClientRect();
            return [r.left + r.width * arguments[1], r.top + r.height / 2]""", selector, share)

    def cursor(self):
        return self.browser.run("return document.querySelector('#figure-energy .desk .cursor').getAttribute('d')")

    def test_slider_and_curves_move_together(self):
        page = self.made("flow --tokens 24 --dim 3 --beta 20 --log10-time 8 --seed 3")
        self.browser.open(page)
        rest, before = self.where(), self.cursor()
        self.browser.run("const s = document.querySelector('.viewer input'); s.value = 0; s.oninput()")
        time.sleep(0.3)
        self.assertNotEqual(self.cursor(), before)
        self.assertIn("t = 0", self.browser.run("return document.querySelector('.when').textContent"))
        # A press on a curve goes to that moment.
        x, y = self.middle("#figure-energy .desk", 0.8)
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.move(x, y, kind, button="left", clickCount=1)
        time.sleep(0.3)
        self.assertGreater(self.where(), 0)
        self.assertNotEqual(self.cursor(), before)
        self.assertIsNotNone(rest)
        self.assertEqual(self.browser.faults(), [])

    def test_values_under_the_pointer_are_those_of_the_result(self):
        page = self.made("flow --tokens 24 --dim 3 --beta 20 --log10-time 8 --seed 3")
        self.browser.open(page)
        x, y = self.middle("#figure-energy .desk", 0.6)
        self.browser.move(x, y)
        time.sleep(0.2)
        said = self.browser.run("return [...document.querySelectorAll('.tip.readings div')].map(d => d.textContent)")
        self.assertEqual(len(said), 2, said)
        plot = self.browser.run("return {...document.querySelector('#figure-energy .desk .plot').dataset}")
        low, high = (float(v) for v in plot["x"].split()[1:])
        box = self.browser.run("const r = document.querySelector('#figure-energy .desk .plot > svg').getBoundingClientRect(); return [r.left, r.width]")
        log10 = low + (high - low) * (x - box[0]) / box[1]
        with h5py.File(page.parent / "result.h5") as file:
            times, energy = file["series/log10_time"][:], file["series/energy_ratio"][:]
        known = np.isfinite(times)
        value = float(said[1].split()[-1].replace("−", "-"))
        self.assertAlmostEqual(value, np.interp(log10, times[known], energy[known]), delta=0.01)

    def test_values_of_a_map(self):
        page = self.made("phase --dim 2 --beta 0.5:6:7 --replicates 8 --tokens 12 --time 8 --outputs 20")
        self.browser.open(page)
        x, y = self.middle("#figure-phase .desk", 0.01)
        box = self.browser.run("const r = document.querySelector('#figure-phase .desk .heat').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]")
        with h5py.File(page.parent / "result.h5") as file:
            fraction = file["diagram/fraction"][:].reshape(7, 20)
        for column, row in ((0, 19), (3, 7), (6, 0)):
            self.browser.move(box[0] + box[2] * (column + 0.5) / 7, box[1] + box[3] * (1 - (row + 0.5) / 20))
            time.sleep(0.15)
            said = self.browser.run("return [...document.querySelectorAll('.tip.readings b')].map(d => d.textContent)")
            self.assertAlmostEqual(float(said[2].replace("≈", "")), fraction[column][row], delta=0.006)

    def test_plays_by_itself_unless_the_reader_wants_no_motion(self):
        page = self.made("flow --tokens 24 --dim 3 --beta 20 --log10-time 8 --seed 3")
        self.browser.open(page)
        rest = self.where()
        time.sleep(1.6)
        self.assertEqual(self.where(), rest)
        self.browser.open(page, motion=True)
        deadline = time.time() + 15
        while self.where() == rest and time.time() < deadline:
            time.sleep(0.2)
        self.assertNotEqual(self.where(), rest)

    def test_training_and_density_are_drawn(self):
        for words in ("select example:single-local --optimizer flow --log10-time 20", "meanfield --beta 4 --start perturbed --mode 3 --time 3"):
            page = self.made(words, words.split()[0])
            self.browser.open(page)
            picture = "return document.querySelector('.viewer canvas').toDataURL()"
            end = self.browser.run(picture)
            self.browser.run("const s = document.querySelector('.viewer input'); s.value = 0; s.oninput()")
            time.sleep(0.3)
            self.assertNotEqual(self.browser.run(picture), end)
            self.assertEqual(self.browser.faults(), [])

    def test_a_film_for_slides(self):
        page = self.made("flow --tokens 12 --dim 3 --time 3 --snapshots 9")
        self.run_words(["film", page.parent, "--out", self.directory / "film.html"])
        for mode in MODES:
            self.browser.open(self.directory / "film.html", mode)
            self.assertEqual(self.browser.faults(), [], mode)
            box = self.browser.run("const r = document.querySelector('canvas').getBoundingClientRect(); return [r.width, r.bottom, innerHeight]")
            self.assertGreater(box[0], 200)
            self.assertLess(box[1], box[2])


if __name__ == "__main__":
    program.main()
