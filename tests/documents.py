"""Commands in documents: found, run as they stand, and what they print compared with what is shown.

A block of code is indented by four columns or fenced. Blocks with lines like `attractor flow ...` are run line by line, Python blocks as a
whole, blocks `pycon` as a session at Python's prompt whose answers are compared, each document in a directory of its own which has what `examples/data` ships. In a fenced block `console` commands begin with `$ `, and
the lines below are what they print; numbers that depend on the machine (seconds) may differ, and a line "..." stands for any number of
lines. A comment before a block says what to expect:

    <!-- test: long -->            takes more than a few seconds: ./check --full
    <!-- test: skip, why -->       cannot be run here; its options must exist
    <!-- test: status 3 -->        ends with this status
"""
import dataclasses
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMENT = re.compile(r"^<!-- test: (.*?) -->\s*$")
FENCE = re.compile(r"^(```+)\s*([^\s`]*)[^`]*$")
SECONDS = re.compile(r"(?<![\w.])\d[\d.]*(e[+-]?\d+)? s\b")


@dataclasses.dataclass
class Block:
    path: pathlib.Path
    line: int
    language: str  # "" for indented ones
    lines: list
    note: str = ""  # of the comment before it

    @property
    def long(self):
        return self.note == "long"

    @property
    def skipped(self):
        return self.note.startswith("skip")

    @property
    def status(self):
        found = re.fullmatch(r"status (\d+)", self.note)
        return int(found.group(1)) if found else 0

    @property
    def where(self):
        return f"{self.path.relative_to(ROOT)}:{self.line}"


@dataclasses.dataclass
class Command:
    """One command, and the lines it must print if any are shown."""
    block: Block
    text: str
    output: list = None


def documents():
    """All that a user reads, in the order of reading."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]


def blocks(path):
    """The blocks of code of a document."""
    found, lines = [], path.read_text(encoding="utf-8").split("\n")
    note, k, blank = "", 0, True
    while k < len(lines):
        line = lines[k]
        comment, fence = COMMENT.match(line), FENCE.match(line)
        if comment:
            note = comment.group(1)
        elif fence:
            end = next(j for j in range(k + 1, len(lines)) if lines[j].startswith(fence.group(1)))
            found.append(Block(path, k + 1, fence.group(2) or "text", lines[k + 1:end], note))
            note, k = "", end
        elif line.startswith("    ") and blank:
            end = k
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            found.append(Block(path, k + 1, "", [x[4:] for x in lines[k:end]], note))
            note, k = "", end - 1
        elif line.strip():
            note = ""
        blank = not lines[k].strip()
        k += 1
    return found


def joined(lines):
    """Lines that end in a backslash go on in the next one."""
    whole = ""
    for line in lines:
        if line.endswith("\\"):
            whole += line[:-1]
        else:
            yield whole + line
            whole = ""


def commands(block):
    """The commands of attractor in a block."""
    if block.language == "console":
        found = []
        for line in joined(block.lines):
            if line.startswith("$ "):
                found.append(Command(block, line[2:], []))
            elif found:
                found[-1].output.append(line)
        return found
    if block.language not in ("", "text", "sh", "bash"):
        return []
    return [Command(block, line.strip()) for line in joined(block.lines) if line.strip().startswith("attractor ")]


def words(command):
    """What a shell makes of a command, without its comment; `&&` and pipes stay words."""
    return shlex.split(command, comments=True)


def steady(lines):
    """What a command prints, without what depends on the machine."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return [SECONDS.sub("~ s", line.rstrip()) for line in lines]


def matches(printed, shown):
    """Whether lines are as shown; a line "..." stands for any number of them."""
    printed, shown = steady(printed), steady(shown)
    parts, part = [], []
    for line in shown:
        if line == "...":
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    if len(parts) == 1:
        return printed == parts[0]
    if printed[:len(parts[0])] != parts[0] or (parts[-1] and printed[-len(parts[-1]):] != parts[-1]):
        return False
    at, end = len(parts[0]), len(printed) - len(parts[-1])
    for middle in parts[1:-1]:
        found = [k for k in range(at, end - len(middle) + 1) if printed[k:k + len(middle)] == middle]
        if not found:
            return False
        at = found[0] + len(middle)
    return at <= end


class Place:
    """A directory with the program on PATH and what `examples/data` ships, both at hand and under its path."""

    def __init__(self, directory, program):
        self.directory = pathlib.Path(directory)
        (self.directory / "bin").mkdir()
        (self.directory / "bin/attractor").symlink_to(program)
        shutil.copytree(ROOT / "examples/data", self.directory / "examples/data")
        for file in (ROOT / "examples/data").iterdir():
            if file.is_file():
                shutil.copy(file, self.directory)
        self.environment = {"PATH": f"{self.directory}/bin:{os.environ['PATH']}", "HOME": str(self.directory), "LANG": "C.UTF-8", "COLUMNS": "80"}

    def run(self, text, timeout=1800):
        return subprocess.run(["/bin/bash", "-c", text], cwd=self.directory, env=self.environment, capture_output=True, text=True,
                              timeout=timeout)

    def fault(self, command):
        """What went wrong, or nothing."""
        done = self.run(command.text)
        if done.returncode != command.block.status:
            return f"{command.block.where}: {command.text}\n  status {done.returncode}: {done.stderr}"
        if command.output is not None and not matches(done.stdout.split("\n"), command.output):
            return f"{command.block.where}: {command.text}\n  prints\n{done.stdout}"
        return ""

    def python(self, blocks_):
        """Python blocks of a document go on where the one before ended."""
        text = "\n".join("\n".join(block.lines) for block in blocks_)
        return subprocess.run([sys.executable, "-c", text], cwd=self.directory, capture_output=True, text=True, timeout=300)

    def session(self, blocks_):
        """The faults of sessions at the prompt, which go on where the one before ended; "..." stands for anything."""
        (self.directory / "session.txt").write_text("\n\n".join("\n".join(block.lines) for block in blocks_) + "\n", encoding="utf-8")
        code = "import doctest; print(doctest.testfile('session.txt', False, optionflags=doctest.ELLIPSIS, encoding='utf-8').failed)"
        done = subprocess.run([sys.executable, "-c", code], cwd=self.directory, capture_output=True, text=True, timeout=300)
        return "" if done.stdout == "0\n" else done.stdout + done.stderr


def run_document(path, place, long=False):
    """Runs the blocks of a document in order, those that are long or those that are not; returns faults. What long ones need of short ones is
    there: these are run first."""
    faults, python, session = [], [], []
    for block in blocks(path):
        if block.skipped or (block.long and not long):
            continue
        if block.language == "python":
            python.append(block)
            done = place.python(python)
            if done.returncode != 0:
                faults.append(f"{block.where}: {done.stderr}")
        if block.language == "pycon":
            session.append(block)
        faults += filter(None, map(place.fault, commands(block)))
    if session and importlib.util.find_spec("attractor") is not None:  # else built without the package
        faults += [f"{session[0].where}: {fault}" for fault in [place.session(session)] if fault]
    return faults


def pictures(path):
    """Of a document: (picture in the repository, file that its commands make)."""
    found, lines = [], path.read_text(encoding="utf-8").split("\n")
    for k, line in enumerate(lines):
        if source := re.match(r"<!-- picture: (\S+) -->", line):
            image = re.search(r"\]\((\S+\.svg)\)", lines[k + 1])
            found.append(((path.parent / image.group(1)).resolve(), source.group(1)))
    return found


def inline_commands(path):
    """`attractor ...` in sentences."""
    text = re.sub(r"^(```+).*?^\1\s*$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.findall(r"`(attractor [^`\n]+)`", text)
