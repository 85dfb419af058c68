"""Commands in documents: found, run as they stand, and what they print compared with what is shown.

A block of code is indented by four columns or fenced. Blocks with lines like `attractor flow ...` are run line by line, Python blocks as a
whole, each document in a directory of its own which has what `examples/data` ships. In a fenced block `console` commands begin with `$ `, and
the lines below are what they print; numbers that depend on the machine (seconds) may differ. A comment before a block says what to expect:

    <!-- test: long -->            takes more than a few seconds: ./check --full
    <!-- test: skip, why -->       cannot be run here; its options must exist
    <!-- test: status 3 -->        ends with this status
"""
import dataclasses
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMENT = re.compile(r"^<!-- test: (.*?) -->\s*$")
FENCE = re.compile(r"^(```+)\s*([\w+-]*)\s*$")
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
