"""What is written is true: every command in README, docs and --help runs as it stands, outputs that are shown are what is printed, and three readers get
from the README to a picture or a number in at most three commands.

usage: documents.py PROGRAM     (with ATTRACTOR_LONG_TESTS in the environment also what takes long, and figures)
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import documents  # noqa: E402
import program  # noqa: E402

LONG = "ATTRACTOR_LONG_TESTS" in os.environ
README = documents.ROOT / "README.md"
# A reader, the section of the README, and what the last command must have left or printed.
WALKS = {
    "The theorist": ("collapse/figures/tokens.svg", r"agrees: \d+ of \d+ checks"),
    "The architect": (None, r"multiply the attention\s+logits by 1\.308"),
    "The teacher": ("lecture.svg", r"90 moments"),
}
# Examples that need what no test has, or that the test gallery runs.
ELSEWHERE = ("mpirun ", "attractor reproduce all --quick")


def section(heading):
    """The blocks of a section of the README."""
    lines = README.read_text(encoding="utf-8").split("\n")
    begin = lines.index(f"## {heading}")
    end = next((k for k in range(begin + 1, len(lines)) if lines[k].startswith("## ")), len(lines))
    return [b for b in documents.blocks(README) if begin < b.line <= end]


class Documents(program.ProgramTest):
    def place(self):
        return documents.Place(tempfile.mkdtemp(dir=self.directory), program.PROGRAM)

    def test_every_block_runs(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda path: documents.run_document(path, self.place(), long=LONG), documents.documents())
            faults = [fault for faults in found for fault in faults]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_examples_of_help_run(self):
        def run(tool):
            place = self.place()
            here = [text for text in tool["examples"] if not text.startswith(ELSEWHERE) and (LONG or not slow(text))]
            done = [(text, place.run(text)) for text in here]
            return [f"{tool['name']}: {text}\n  {run.stderr}" for text, run in done if run.returncode != 0]

        def slow(text):
            return any(word in text for word in ("--particles", "--observe", "phase --dim"))

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(run, program.attractor("manual", "--form", "json").json)
            faults = [fault for faults in found for fault in faults]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def known(self, text):
        """Nothing, or what the words of a command name that does not exist."""
        words = shlex.split(text.split("#")[0])[1:]
        while words and words[0] in ("help", "--help", "--version"):
            words = words[1:]
        if not words or words[0] == "COMMAND" or words[0].startswith("-"):
            return ""
        tools = {tool["name"]: tool for tool in self.tools}
        name = " ".join(words[:2]) if " ".join(words[:2]) in tools else words[0]
        family = [n for n in tools if n.startswith(name + " ")]
        if name not in tools and not family:
            return f"no command {name}"
        allowed = {p["name"] for n in (family or [name]) for p in tools[n]["parameters"]} | {"help", "help-all"}
        flags = {w[2:].split("=")[0] for w in words if w.startswith("--") and len(w) > 2}
        return f"no option {sorted(flags - allowed)} of {name}" if flags - allowed else ""

    def test_commands_that_are_not_run_exist(self):
        self.tools = program.attractor("manual", "--form", "json").json
        texts = []
        for path in documents.documents():
            texts += [(path.name, text) for text in documents.inline_commands(path)]
            texts += [(b.where, c.text) for b in documents.blocks(path) if b.skipped for c in documents.commands(b)]
        self.assertGreater(len(texts), 20)
        faults = [f"{where}: {text}: {fault}" for where, text in texts if (fault := self.known(text))]
        self.assertEqual(faults, [])

    def test_three_readers_arrive(self):
        for heading, (picture, number) in WALKS.items():
            with self.subTest(heading):
                place = self.place()
                found = [c for b in section(heading) for c in documents.commands(b)]
                self.assertTrue(1 <= len(found) <= 3, "at most three commands")
                printed = ""
                for command in found:
                    self.assertEqual(place.fault(command), "")
                    printed += "\n".join(command.output)
                self.assertRegex(printed, number)
                if picture:
                    self.assertIn("<svg", (place.directory / picture).read_text()[:1000])

    def test_the_first_command_makes_the_picture_above_it(self):
        (picture, made), = documents.pictures(README)
        first = documents.commands(section("The theorist")[0])[0]
        self.assertIn(f"--seed 7 --time inf --out {made.split('/')[0]}", first.text)
        place = self.place()
        self.assertEqual(place.fault(first), "")
        self.assertEqual((place.directory / made).read_bytes(), picture.read_bytes(), "tools/pictures draws it again")

    def test_the_figure_of_speed_is_that_of_the_measurements(self):
        text = README.read_text(encoding="utf-8")
        ours, theirs, ratio = re.search(r"core: ([\d.]+) ns a pair, against ([\d.]+) ns of PyTorch.*?\*\*([\d.]+) times", text, re.S).groups()
        table = (documents.ROOT / "docs/performance.md").read_text(encoding="utf-8")
        row = re.search(r"^\| f64 plain n=16384 d=3 \| (\S+) \| ns/pair \| (\S+) \| (\S+) \|", table, re.M).groups()
        self.assertEqual((ours, theirs), row[:2])
        self.assertEqual(ratio, f"{float(row[2]):.1f}")

    def test_what_is_asked_next_runs(self):
        place = self.place()
        for first in ("forecast --depth 6 --tokens 300 --norm mix", "forecast --tokens 1e9", "context --advise --tokens 64k"):
            asked = program.attractor(*first.split(), "--json").json["next"]
            for text in asked:
                done = place.run(text)
                self.assertEqual(done.returncode, 0, f"{text}: {done.stderr}")


if __name__ == "__main__":
    program.main()
