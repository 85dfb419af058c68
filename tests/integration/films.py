#!/usr/bin/env python3
"""Films: every token of an animated SVG is where result.h5 says, moment by moment, and grows with its cluster; videos of a flow, of
training, of the bridge and of a density have the size, rate and length asked for (ffprobe), and show what they should.

usage: films.py PROGRAM
"""
import base64
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import h5py
import numpy as np

SVG = "{http://www.w3.org/2000/svg}"

RUNS = {
    "flow": ["flow", "--tokens", 12, "--dim", 2, "--beta", 4, "--time", 40, "--snapshots", 7],
    "sphere": ["flow", "--tokens", 20, "--dim", 3, "--beta", 4, "--time", 8, "--snapshots", 6],
    "space": ["flow", "--tokens", 9, "--dim", 2, "--space", "euclidean", "--time", 1, "--snapshots", 4],
    "training": ["select", "example:single-local", "--optimizer", "flow", "--log10-time", 6],
    "rows": ["select", "example:self-attention", "--train", "W", "--optimizer", "flow", "--log10-time", 2],
    "bridge": ["bridge", "example:authors-like", "--checkpoints", 3, "--tokens", 12, "--log10-time", 6, "--time", 3],
    "density": ["meanfield", "--beta", 4, "--start", "perturbed", "--mode", 3, "--time", 3],
    "axis": ["meanfield", "--dim", 3, "--beta", 2, "--start", "vmf", "--time", 0.5],
}


def numbers(text):
    return [float(item) for item in text.split(";")]


class Films(program.ProgramTest):
    def made(self, name):
        out = self.directory / name
        if not out.exists():
            run = program.attractor(*RUNS[name], "--no-figures", "--out", out)
            self.assertEqual(run.status, 0, run.err)
        return out

    def film(self, name, kind, *words):
        target = self.directory / f"{name}.{kind}"
        run = program.attractor("film", self.made(name), "--out", target, "--quiet", *words)
        self.assertEqual(run.status, 0, run.err)
        return target

    def test_every_token_is_where_the_result_says(self):
        film = self.film("flow", "svg", "--seconds", 3)
        with h5py.File(self.directory / "flow" / "result.h5") as file:
            positions, clusters = file["snapshots/positions"][:], file["snapshots/clusters"][:]
        tokens = [c for c in ElementTree.parse(film).iter(SVG + "circle") if c.find(SVG + "animate") is not None]
        self.assertEqual(len(tokens), 12)
        for i, token in enumerate(tokens):
            tracks = {a.get("attributeName"): a for a in token.findall(SVG + "animate")}
            times = numbers(tracks["cx"].get("keyTimes"))
            self.assertEqual((len(times), times[0], times[-1]), (len(positions) + 1, 0, 1))
            self.assertEqual(times, sorted(times))
            self.assertAlmostEqual(times[-2], 3 / 4, places=3)
            x, y, r = (numbers(tracks[name].get("values")) for name in ("cx", "cy", "r"))
            for k, frame in enumerate(positions):
                self.assertAlmostEqual(x[k], 240 + 206 * frame[i][0], delta=0.02)
                self.assertAlmostEqual(y[k], 232 - 206 * frame[i][1], delta=0.02)
        # The last radii: areas grow by equal amounts with every token of the cluster.
        sizes = np.bincount(clusters[-1])[clusters[-1]]
        least, most = 22 / 15 * 3.4, 22
        self.assertGreater(sizes.max(), 2)
        for token, size in zip(tokens, sizes):
            radius = numbers({a.get("attributeName"): a for a in token.findall(SVG + "animate")}["r"].get("values"))[-1]
            self.assertAlmostEqual(radius, math.sqrt(least**2 + (most**2 - least**2) * (size - 1) / 11), delta=0.02)

    def test_the_sphere_has_its_grid(self):
        paths = list(ElementTree.parse(self.film("sphere", "svg")).iter(SVG + "path"))
        self.assertEqual(len(paths), 2)

    def test_every_kind_of_run_has_every_kind_of_still_picture(self):
        for name in RUNS:
            for kind in ("svg", "html"):
                text = self.film(name, kind).read_text()
                if kind == "svg":
                    ElementTree.fromstring(text.encode())
                    self.assertFalse(re.search(r"[ =\"(]-?(nan|inf)", text), name)
                else:
                    self.assertNotIn("https://", text)
                    scene = json.loads(re.search(r'id="scene">(.*?)</script>', text, re.S).group(1))
                    self.assertGreater(len(scene["labels"]), 1, name)
                    self.assertIn("plane" if name in ("training", "rows", "density", "axis") else "tokens", scene)

    def test_training_shows_the_weights_of_the_result(self):
        scene = json.loads(re.search(r'id="scene">(.*?)</script>', self.film("rows", "html").read_text(), re.S).group(1))
        last = np.frombuffer(base64.b64decode(scene["plane"]["sizes"][-1]), "<i2") / 32000
        with h5py.File(self.directory / "rows" / "result.h5") as file:
            softmax, selected = file["final/softmax"][:], file["final/selected"][:]
        self.assertLess(np.abs(last.reshape(softmax.shape) - softmax).max(), 1e-4)
        ringed = np.array(scene["plane"]["ringed"]).reshape(softmax.shape)
        self.assertEqual(list(ringed.argmax(axis=1)), list(selected))

    def probe(self, file):
        done = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries",
                               "stream=codec_name,width,height,nb_read_frames,r_frame_rate,pix_fmt", "-of", "json", file],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["streams"][0]

    def test_videos(self):
        for name, kind, codec, rate in (("sphere", "mp4", "h264", 30), ("training", "webm", "vp9", 30), ("bridge", "mp4", "h264", 30),
                                        ("density", "gif", "gif", 15)):
            found = self.probe(self.film(name, kind, "--seconds", 1, "--size", 160))
            self.assertEqual((found["codec_name"], found["width"], found["height"]), (codec, 160, 160), name)
            frames = int(found["nb_read_frames"])
            self.assertEqual(frames, 2 * rate, name)  # a second of motion, a second of rest
            top, bottom = found["r_frame_rate"].split("/")
            self.assertAlmostEqual(int(top) / int(bottom), rate, delta=0.1)

    def picture(self, file, number):
        """One frame of a video as numbers: rows x columns x 3."""
        done = subprocess.run(["ffmpeg", "-v", "error", "-i", file, "-vf", f"select=eq(n\\,{number})", "-frames:v", "1", "-f", "rawvideo",
                               "-pix_fmt", "rgb24", "-"], capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.frombuffer(done.stdout, np.uint8).reshape(240, 240, 3).astype(int)

    def test_a_video_shows_the_tokens(self):
        """Two tokens that meet: at first two spots, at last one, where theory has it: halfway."""
        out = self.directory / "pair"
        run = program.attractor("flow", "--init", "angles", "--angles", "0,1.5", "--dim", 2, "--beta", 1, "--time", 20, "--snapshots", 9,
                                "--no-figures", "--out", out)
        self.assertEqual(run.status, 0, run.err)
        film = self.directory / "pair.mp4"
        run = program.attractor("film", out, "--out", film, "--quiet", "--seconds", 1, "--size", 240)
        self.assertEqual(run.status, 0, run.err)

        def spots(frame):  # pixels that are clearly coloured
            colour = frame.max(axis=2) - frame.min(axis=2) > 80
            rows, columns = np.nonzero(colour)
            return rows - 120, columns - 120
        rows, columns = spots(self.picture(film, 0))
        self.assertGreater(columns.max(), 85)             # the token at angle 0
        self.assertLess(rows.min(), -80)                  # the other one, near the top
        rows, columns = spots(self.picture(film, 59))
        self.assertAlmostEqual(math.atan2(-rows.mean(), columns.mean()), 0.75, delta=0.12)
        self.assertLess(max(np.ptp(rows), np.ptp(columns)), 40)

    def test_the_same_run_the_same_film(self):
        first = self.film("flow", "mp4", "--seconds", 0.5, "--size", 64).read_bytes()
        self.assertEqual(first, self.film("flow", "mp4", "--seconds", 0.5, "--size", 64).read_bytes())

    def test_refusals(self):
        run = self.made("flow")
        (self.directory / "empty").mkdir()
        given = self.directory / "given"
        made = program.attractor("select", "example:single-local", "--choice", 1, "--no-figures", "--out", given)
        self.assertEqual(made.status, 0, made.err)
        number = self.directory / "number"
        made = program.attractor("stability", "--no-figures", "--out", number)
        self.assertEqual(made.status, 0, made.err)
        for arguments, words in [
            ((), "a run is missing"),
            ((run,), "--out is missing"),
            ((run, "--out", self.directory / "film.avi"), "must end in .svg, .html, .mp4, .webm or .gif"),
            ((self.directory / "empty", "--out", self.directory / "x.svg"), "result.h5"),
            ((run, "--out", self.directory / "x.svg", "--seconds", 0), "seconds"),
            ((run, "--out", self.directory / "x.mp4", "--size", 10), "size"),
            ((given, "--out", self.directory / "x.svg"), "nothing moves"),
            ((number, "--out", self.directory / "x.svg"), "no snapshots"),
        ]:
            done = program.attractor("film", *arguments)
            self.assertEqual(done.status, 2, arguments)
            self.assertIn(words, done.err)
            self.assertFalse(list(self.directory.glob("x.*")))
        poor = program.attractor("film", run, "--out", self.directory / "x.mp4", env={"PATH": ""})
        self.assertEqual(poor.status, 2)
        self.assertIn("install ffmpeg", poor.err)

    def test_files_that_say_what_cannot_be(self):
        for source, place, value, words in (("flow", "snapshots/positions", math.nan, "position nan"),
                                            ("flow", "snapshots/clusters", 4e9, "allowed: 0 to 11"),
                                            ("bridge", "tokens/end", math.nan, "position nan"),
                                            ("bridge", "tokens/clusters", 4e9, "cluster 4"),
                                            ("density", "density/angle", math.inf, "density/angle")):
            file = self.directory / "hostile.h5"
            shutil.copy(self.made(source) / "result.h5", file)
            with h5py.File(file, "r+") as hostile:
                data = hostile[place][:].astype(float)
                data.flat[3] = value
                del hostile[place]
                hostile[place] = data
            done = program.attractor("film", file, "--out", self.directory / "x.svg")
            self.assertEqual(done.status, 2, (place, done.err))
            self.assertIn(words, done.err)
        for source, place in (("training", "series/steps"), ("bridge", "checkpoints/norm"), ("density", "density/density"),
                              ("training", "trajectory/weights"), ("training", "problem/X")):
            file = self.directory / "short.h5"
            shutil.copy(self.made(source) / "result.h5", file)
            with h5py.File(file, "r+") as hostile:
                data = hostile[place][:]
                del hostile[place]
                hostile[place] = data[:-1]
            done = program.attractor("film", file, "--out", self.directory / "x.svg")
            self.assertEqual(done.status, 2, (place, done.err))


if __name__ == "__main__":
    program.main()
