"""The program in a real terminal, by tmux, at 60, 80 and 200 columns: the bar takes one line and leaves none, help and answers are not broken
by the terminal, and zsh completes (bash and fish are asked directly)."""
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

BAR = re.compile(r"^(\[=* *\] +\d+ %|\d+ (s|min) elapsed)")
WIDTHS = (60, 80, 200)
COUNT = itertools.count()


def gives_terminals():
    """Whether tmux can have a pseudo-terminal here; a root without /dev/pts has none."""
    try:
        for end in os.openpty():
            os.close(end)
    except OSError:
        return False
    return True


in_terminals = unittest.skipUnless(gives_terminals(), "this system gives no pseudo-terminal (is /dev/pts mounted?)")


class Terminal:
    """A shell in a terminal of a given width; it says READY and a number of its own when a command has ended."""

    def __init__(self, directory, width, shell="bash --norc --noprofile"):
        self.name = f"attractor-{os.getpid()}-{next(COUNT)}"  # a server that was just killed may still hold its name
        environment = {**os.environ, "PATH": f"{directory}/bin:{os.environ['PATH']}", "PS1": "$ ", "TERM": "screen", "LANG": "C.UTF-8"}
        environment.pop("COLUMNS", None)
        environment.pop("TMUX", None)
        subprocess.run(["tmux", "-L", self.name, "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", "50", "-c", directory,
                        shell], check=True, env=environment)
        self.tmux("set-option", "-g", "history-limit", "5000")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-L", self.name, *arguments], check=True, capture_output=True, text=True).stdout

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def press(self, key):
        self.tmux("send-keys", key)

    def lines(self, joined=False):
        """All that is and was on the screen; joined: lines that the terminal broke are one."""
        text = self.tmux("capture-pane", "-p", "-S", "-", *(["-J"] if joined else []))
        return [line.rstrip() for line in text.rstrip("\n").split("\n")]

    def until(self, wanted, seconds=120):
        """Looks again until `wanted(lines)` is true; every look is kept."""
        looks, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            looks.append(self.lines())
            if wanted(looks[-1]):
                return looks
            time.sleep(0.1)
        raise AssertionError(f"not seen after {seconds} s:\n" + "\n".join(looks[-1]))

    def run(self, command):
        ready = f"READY-{next(COUNT)}"  # what the last command said may still be on the screen
        self.type(f"clear; tmux -L {self.name} clear-history; {command}; echo {ready}\n")
        return self.until(lambda lines: ready in lines)

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True)


@in_terminals
class InATerminal(program.ProgramTest):
    def terminal(self, width, **options):
        (self.directory / "bin").mkdir(exist_ok=True)
        if not (self.directory / "bin/attractor").exists():
            (self.directory / "bin/attractor").symlink_to(program.PROGRAM)
        terminal = Terminal(self.directory, width, **options)
        self.addCleanup(terminal.close)
        return terminal

    def bars(self, lines):
        return [line for line in lines if BAR.match(line)]

    def test_the_bar_takes_one_line_and_leaves_none(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                terminal = self.terminal(width)
                # Long enough on any machine; ended by Ctrl-C.
                terminal.type("clear; attractor flow --tokens 3000 --dim 3 --beta 9 --time 20000 --merge-radius off --output-spacing linear\n")
                looks = terminal.until(lambda lines: self.bars(lines))
                for _ in range(8):
                    time.sleep(0.15)
                    looks.append(terminal.lines())
                terminal.press("C-c")
                looks += terminal.until(lambda lines: any("interrupted" in line for line in lines))
                for lines in looks:
                    self.assertLessEqual(len(self.bars(lines)), 1, "\n".join(lines))
                    self.assertTrue(all(len(line) < width for line in self.bars(lines)))
                seen = [line for lines in looks for line in self.bars(lines)]
                self.assertTrue(seen)
                if width == 200:
                    self.assertTrue(any("distinct tokens" in line for line in seen), seen)
                self.assertFalse(self.bars(looks[-1]), "\n".join(looks[-1]))
                self.assertTrue(any(line.startswith("attractor: interrupted") for line in looks[-1]))
                terminal.close()

    def test_the_bar_is_gone_when_a_run_has_ended(self):
        terminal = self.terminal(60)
        looks = terminal.run("attractor flow --tokens 1200 --dim 3 --beta 9 --time 8 --merge-radius off --engine dense")
        self.assertFalse(self.bars(looks[-1]), "\n".join(looks[-1]))
        self.assertTrue(any(line.startswith("Computed in") for line in looks[-1]))

    @unittest.skipUnless("ATTRACTOR_LONG_TESTS" in os.environ, "takes longer: ./check --full")
    def test_time_left_of_a_resumed_run_counts_what_this_process_did(self):
        terminal = self.terminal(80)
        terminal.type("clear; attractor flow --tokens 2500 --dim 3 --beta 9 --time 60 --merge-radius off --stepper rk4 --step 0.05 "
                      "--output-spacing linear --out run\n")

        def done(lines):
            found = [int(m.group(1)) for m in (re.match(r"^\[=* *\] +(\d+) %", line) for line in lines) if m]
            return found and found[0] >= 40

        terminal.until(done, seconds=300)
        terminal.press("C-c")
        terminal.until(lambda lines: any("interrupted" in line for line in lines))
        terminal.type("clear; attractor flow --resume run\n")
        looks = terminal.until(lambda lines: any(" left" in line for line in self.bars(lines)), seconds=300)
        bar = self.bars(looks[-1])[0]
        percent, left = (int(re.search(pattern, bar).group(1)) for pattern in (r"(\d+) %", r"(\d+) (?:s|min) left"))
        terminal.press("C-c")
        terminal.until(lambda lines: any("interrupted" in line for line in lines))
        # A bar that took the first 40 % for its own would promise the rest in less than a second.
        self.assertGreaterEqual(percent, 40)
        self.assertGreaterEqual(left, 2, bar)

    def test_help_and_answers_are_not_broken_by_the_terminal(self):
        for width in WIDTHS:
            terminal = self.terminal(width)
            for command in ("attractor --help", "attractor flow --help", "attractor select --help", "attractor forecast --help-all",
                            "attractor forecast", "attractor context --advise --tokens 128k --trained-tokens 8k --rho 0.6",
                            "attractor stability", "attractor reduce pair"):
                with self.subTest(width=width, command=command):
                    terminal.run(command)
                    broken = [line for line in terminal.lines(joined=True) if len(line) > width]
                    # Commands are to be copied whole.
                    self.assertFalse([line for line in broken if not line.startswith("  attractor ")], broken)
            terminal.close()


class Completion(program.ProgramTest):
    CASES = {
        "attractor fl": ["flow"],
        "attractor reduce ": ["equiangular", "pair", "clusters"],
        "attractor flow --dynam": ["--dynamics"],
        "attractor flow --dynamics u": ["usa"],
        "attractor reduce pair --merge-c": ["--merge-cosine"],
        "attractor problem single-": ["single-equal", "single-local"],
        "attractor completion z": ["zsh"],
        "attractor flow --out some": ["somewhere/"],
        "attractor cluster poi": ["points.npy"],
        "attractor flow --beta ": [],
    }

    def setUp(self):
        super().setUp()
        (self.directory / "somewhere").mkdir()
        (self.directory / "some.txt").touch()
        (self.directory / "points.npy").touch()
        for shell in ("bash", "zsh", "fish"):
            made = program.attractor("completion", shell)
            self.assertEqual(made.status, 0, made.err)
            (self.directory / shell).write_text(made.out)

    def shell(self, *command):
        return subprocess.run(command, capture_output=True, text=True, cwd=self.directory, check=True)

    def test_bash(self):
        for line, wanted in self.CASES.items():
            words = line.split(" ")
            script = (f"source ./bash; COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _attractor; "
                      "printf '%s\\n' \"${COMPREPLY[@]}\"")
            found = self.shell("bash", "-c", script).stdout.split()
            with self.subTest(line):
                self.assertLessEqual(set(w.rstrip("/") for w in wanted), set(found))
                if not line.endswith(" "):
                    self.assertEqual(len(found), len(wanted), found)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        for line, wanted in self.CASES.items():
            done = self.shell("fish", "--no-config", "-c", f"source fish; complete -C '{line}'")
            found = [w.split("\t")[0] for w in done.stdout.splitlines()]
            with self.subTest(line):
                self.assertEqual(done.stderr, "")
                self.assertLessEqual(set(wanted), set(found))
                if not line.endswith(" "):
                    self.assertEqual(len(found), len(wanted), found)

    @in_terminals
    @unittest.skipUnless(shutil.which("zsh") and shutil.which("tmux"), "zsh is not installed")
    def test_zsh(self):
        functions = self.directory / "functions"
        functions.mkdir()
        (self.directory / "zsh").rename(functions / "_attractor")
        terminal = Terminal(self.directory, 120, shell="zsh -f")
        self.addCleanup(terminal.close)
        terminal.type(f"PS1='> '; fpath=({functions} $fpath); autoload -U compinit; compinit -u -D; setopt no_beep; clear\n")
        terminal.until(lambda lines: lines[-1].strip() == ">")
        for line, wanted in self.CASES.items():
            with self.subTest(line):
                terminal.press("C-u")
                terminal.type("clear\n")
                terminal.until(lambda lines: [x.strip() for x in lines if x.strip()] == [">"])
                terminal.type(line)
                terminal.press("Tab")
                if len(wanted) == 1 and not line.endswith(" "):
                    terminal.until(lambda lines: any(x.startswith("> " + line[:line.rindex(" ") + 1] + wanted[0]) for x in lines), 120)
                else:
                    terminal.until(lambda lines: all(any(w in x for x in lines) for w in wanted), 120)


if __name__ == "__main__":
    program.main()
