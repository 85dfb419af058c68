#!/usr/bin/env python3
"""The catalogue's pages and gallery: pictures, headlines and words; an entry at full size that meets a stiff flow.

usage: reproduce.py PROGRAM
"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program


class Reproduce(program.ProgramTest):
    def reproduced(self, identifier, *arguments):
        out = self.directory / identifier
        run = program.attractor("reproduce", identifier, "--json", "--out", out, *arguments)
        self.assertEqual(run.status, 0, run.err)
        self.page = (out / identifier / "index.html").read_text()
        self.gallery = (out / "index.html").read_text()
        return run.json[0]

    def test_the_gallery_shows_the_first_figure_of_the_page(self):
        self.reproduced("critical-scaling", "--quick")
        first = re.search(r'href="figures/(\w+)\.svg"', self.page)[1]
        self.assertEqual(re.search(r'figures/(\w+)\.svg', self.gallery)[1], first)

    def test_overwrite_replaces_a_gallery_and_nothing_else(self):
        self.reproduced("kuramoto", "--quick")
        out = self.directory / "kuramoto"
        refused = program.attractor("reproduce", "kuramoto", "--quick", "--out", out)
        self.assertEqual(refused.status, 2)
        self.assertIn("choose another --out, or --overwrite it", refused.err)
        self.reproduced("kuramoto", "--quick", "--overwrite")
        (out / "thesis.tex").write_text("my life's work")
        refused = program.attractor("reproduce", "kuramoto", "--quick", "--overwrite", "--out", out)
        self.assertEqual(refused.status, 2)
        self.assertNotIn("--overwrite", refused.err)
        self.assertTrue((out / "thesis.tex").exists())
        self.assertTrue((out / "kuramoto" / "index.html").exists())

    def test_entries_without_their_data_are_skipped_by_name(self):
        empty = self.directory / "no-models"
        empty.mkdir()
        found = program.attractor("reproduce", "trained-cosines", "--quick", "--json", env=os.environ | {"ATTRACTOR_MODELS": str(empty)})
        self.assertEqual(found.status, 0, found.err)
        verdict = found.json[0]
        self.assertEqual(verdict["state"], "skipped")
        self.assertFalse(verdict["agrees"])
        self.assertFalse(verdict["checks"])
        self.assertIn("minilm, gte-small, stories15M are not in", verdict["verdict"])
        self.assertIn("tools/models minilm gte-small stories15M", verdict["verdict"])
        out = self.directory / "skipped"
        run = program.attractor("reproduce", "trained-cosines", "--quick", "--out", out, env=os.environ | {"ATTRACTOR_MODELS": str(empty)})
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("skipped", run.out)
        gallery = (out / "index.html").read_text()
        self.assertIn("Skipped, because data are missing: trained-cosines", gallery)
        self.assertNotIn('href="trained-cosines/index.html"', gallery)

    def test_planted_stacks_give_their_beta_back(self):
        found = self.reproduced("planted-beta", "--quick")
        self.assertTrue(found["agrees"], found["verdict"])

    def test_headlines_have_powers_of_ten(self):
        self.reproduced("prompt-weight-equivalence", "--quick")
        headline = re.search(r"<h1>(.*?)</h1>", self.page, re.S)[1]
        self.assertIn("·10<sup>−15</sup>", headline)
        self.assertNotRegex(headline, r"\de[+-]\d")

    def test_text_without_markup(self):
        self.reproduced("hardmax-cells", "--quick")
        self.assertIn("e^(-rate beta)", self.page)
        self.assertNotIn("^{", re.sub(r"<svg.*?</svg>|<script.*?</script>|<style.*?</style>", "", self.page, flags=re.S))

    def test_tokens_that_slide_along_a_tie_do_not_end_it(self):
        found = self.reproduced("emergence-shapes")
        self.assertFalse(found["failed"], found["verdict"])
        self.assertTrue(found["agrees"], found["verdict"])
        sliding = re.search(r"runs with sliding tokens</dt>\s*<dd[^>]*>(\d+)", self.page)
        self.assertGreater(int(sliding[1]), 0)


if __name__ == "__main__":
    program.main()
