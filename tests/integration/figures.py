#!/usr/bin/env python3
"""What is drawn is what was computed: curves and maps of pages, read back pixel by pixel, against result.h5. And what --figures
writes, equal bytes for equal runs, and names that try to be code.

usage: figures.py PROGRAM
"""
import base64
import pathlib
import re
import struct
import sys
import xml.etree.ElementTree as ElementTree
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import h5py
import numpy as np

SVG = "{http://www.w3.org/2000/svg}"


def axis_values(plot, letter, shares):
    scale, low, high = plot.get(f"data-{letter}").split()
    low, high, shares = float(low), float(high), np.asarray(shares)
    return low * (high / low) ** shares if scale == "log" else low + (high - low) * shares


def curves(file):
    """Of every curve of a figure, by its name: x and y."""
    found = {}
    for plot in ElementTree.parse(file).iter(SVG + "g"):
        if plot.get("class") != "plot":
            continue
        width, height = float(plot.get("data-width")), float(plot.get("data-height"))
        for path in plot.iter(SVG + "path"):
            if path.get("class") not in ("line", "steps"):
                continue
            points, x, y = [], 0, 0
            for command, first, second in re.findall(r"([MLHV])([-\d.]+)(?: ([-\d.]+))?", path.get("d")):
                x, y = (float(first), y) if command == "H" else (x, float(first)) if command == "V" else (float(first), float(second))
                if command != "H":
                    points.append((x, y))
            points = np.array(points)
            found[path.get("data-name", "")] = (axis_values(plot, "x", points[:, 0] / width),
                                                axis_values(plot, "y", 1 - points[:, 1] / height))
    return found


def png_pixels(data):
    """Indices of an indexed PNG, by the standard."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body), kind
        chunks[kind] = chunks.get(kind, b"") + body
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 3)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


class Figures(program.ProgramTest):
    def made(self, *words):
        run = program.attractor(*words, "--quiet", "--out", self.directory / "run", cwd=self.directory)
        self.assertEqual(run.status, 0, run.err)
        return self.directory / "run"

    def test_curves_of_a_flow(self):
        run = self.made("flow", "--tokens", 24, "--dim", 3, "--beta", 20, "--log10-time", 6)
        with h5py.File(run / "result.h5") as file:
            series = {name: file[f"series/{name}"][:] for name in file["series"]}
        known = np.isfinite(series["log10_time"])
        for figure, curve, column in (("energy", "", "energy_ratio"), ("cosine", "mean cosine", "mean_cosine"),
                                      ("cosine", "share of pairs with cosine ≥ 0.999", "pair_fraction")):
            x, y = curves(run / "figures" / f"{figure}.svg")[curve]
            self.assertEqual(len(x), known.sum(), column)
            # A tenth of a pixel of about 250, and of about 450.
            self.assertLess(np.abs(x - series["log10_time"][known]).max(), 1e-3 * np.ptp(x), column)
            self.assertLess(np.abs(y - series[column][known]).max(), 1e-3, column)

    def test_cells_of_a_phase_diagram(self):
        run = self.made("phase", "--dim", 2, "--beta", "0.5:6:7", "--replicates", 16, "--tokens", 12, "--time", 8, "--outputs", 20)
        image = next(ElementTree.parse(run / "figures" / "phase.svg").iter(SVG + "image"))
        levels, low, high, columns, rows = (float(v) for v in image.get("data-levels").split())
        pixels = png_pixels(base64.b64decode(image.get("href").split(",")[1]))
        self.assertEqual(pixels.shape, (rows, columns))
        with h5py.File(run / "result.h5") as file:
            fraction = file["diagram/fraction"][:].reshape(7, 20).T[::-1]  # rows from above
        drawn = low + (pixels + 0.5) / levels * (high - low)
        self.assertLess(np.abs(drawn - fraction).max(), 0.5001 / levels * (high - low))

    def test_formats_on_request(self):
        run = self.made("stability", "--beta", 9, "--figures", "svg,pdf,png")
        page = (run / "index.html").read_text()
        for kind, magic in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
            self.assertTrue((run / "figures" / f"rates.{kind}").read_bytes().startswith(magic))
            self.assertIn(f'href="figures/rates.{kind}"', page)
        for words, named in (("bmp", "bmp"), ("", "figures"), ("svg,", "''")):
            refused = program.attractor("stability", "--figures", words, "--out", self.directory / "none", cwd=self.directory)
            self.assertEqual(refused.status, 2, words)
            self.assertIn(named, refused.err)
            self.assertFalse((self.directory / "none").exists())
        poor = program.attractor("stability", "--figures", "pdf", "--out", self.directory / "none", env={"PATH": ""}, cwd=self.directory)
        self.assertEqual(poor.status, 2)
        self.assertIn("librsvg2-bin", poor.err)

    def test_only_svg_unless_asked_for(self):
        run = self.made("stability", "--beta", 9)
        self.assertEqual({p.suffix for p in (run / "figures").iterdir()}, {".svg"})

    def test_equal_runs_equal_pages(self):
        pages = []
        for _ in range(2):
            run = self.made("meanfield", "--beta", 4, "--start", "perturbed", "--mode", 3, "--time", 2)
            pages.append((run / "index.html").read_bytes())
            for item in sorted(run.rglob("*"), reverse=True):
                item.rmdir() if item.is_dir() else item.unlink()
            run.rmdir()
        self.assertEqual(pages[0], pages[1])

    def test_names_that_try_to_be_code(self):
        for name in ("<script>alert(1)<!--.npy", "';alert(1)//.npy", "a&b\"onload=x.npy", "^{x}_{y}.npy", "é中😀.npy"):
            np.save(self.directory / name.replace("/", ""), np.eye(3))
            run = self.made("measure", name.replace("/", ""))
            page = (run / "index.html").read_bytes().decode("utf-8")
            self.assertNotIn("<script>alert", page)
            self.assertNotIn("\"onload", page)
            self.assertEqual(page.count("<script"), page.count("</script>"))
            for item in sorted(run.rglob("*"), reverse=True):
                item.rmdir() if item.is_dir() else item.unlink()
            run.rmdir()
        raw = self.directory.as_posix().encode() + b"/bad\xff.npy"
        with open(raw, "wb") as file:
            np.save(file, np.eye(3))
        run = program.attractor("measure", b"bad\xff.npy".decode("utf-8", "surrogateescape"), "--out", self.directory / "raw", cwd=self.directory)
        if run.status == 0:  # a page of a name that is no UTF-8 is UTF-8 all the same
            (self.directory / "raw" / "index.html").read_bytes().decode("utf-8")


if __name__ == "__main__":
    program.main()
