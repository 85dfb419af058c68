"""Streams that are closed, a locale with a decimal comma, directories that cannot be written, names that are no UTF-8."""
import os
import pathlib
import shutil
import subprocess

import calls
import verdict
from resources import Prepared

CLOSED = {"<&-": (True, True), ">&-": (False, True), "2>&-": (True, False), "<&- >&- 2>&-": (False, False), ">/dev/full": (False, True),
          "| head -c 10 >/dev/null": (False, True)}


class Streams(Prepared):
    """What is kept must be the same bytes: with a stream closed, the first file that is opened gets its number."""
    name, cases_in_soak = "streams", 1

    def cases(self, count):
        return [(redirect, name) for name in calls.CALLS for redirect in ("", *CLOSED)]

    def case(self, given):
        redirect, name = given
        place = self.place(list(["", *CLOSED]).index(redirect), name)
        out_open, err_open = CLOSED.get(redirect, (True, True))
        words = calls.words(name, out="out" if name in calls.KEPT else None)
        if redirect.startswith("|"):
            outcome = self.piped(words, place)
        else:
            outcome = verdict.run([self.program, *words], place, redirect=redirect)
        result, kept = place / "out" / "result.h5", self.root / f"{name}.result"
        wrong = None
        if redirect == "" and result.exists():
            shutil.copy(result, place / "copy")
            os.replace(place / "copy", kept)  # whole, for who waits for it
        elif name in calls.KEPT and verdict.wait_for(kept.exists, 60):
            if outcome.status == 0 and (not result.exists() or result.read_bytes() != kept.read_bytes()):
                wrong = f"{name} {redirect}: other bytes are kept"
        found = self.judged(outcome, place, wrong, as_json="--json" in words, out_open=out_open, err_open=err_open)
        found.line += f" {redirect}"
        shutil.rmtree(place)
        return found

    def piped(self, words, place):
        """A reader that leaves before anything is written."""
        reader, writer = os.pipe()
        os.close(reader)
        with open(place / "said", "wb+") as said:
            process = subprocess.Popen([self.program, *words], cwd=place, stdin=subprocess.DEVNULL, stdout=writer, stderr=said)
            os.close(writer)
            try:
                process.wait(timeout=verdict.SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            said.seek(0)
            return verdict.Outcome(verdict.shell_line([self.program, *words], place, {}, ""), process.returncode, err=said.read())


def comma_locale(place):
    """The environment of a German: its locale, made into `place` where the system has none; None if it cannot be."""
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(place / "de_DE.UTF-8")], capture_output=True)
    if not (place / "de_DE.UTF-8" / "LC_NUMERIC").exists():
        raise RuntimeError(f"localedef made no locale with a comma: {done.stderr[-200:]!r}")
    return {"LOCPATH": str(place), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}


class Locale(Prepared):
    """The same bytes, printed and kept, where numbers have a decimal comma."""
    name, cases_in_soak = "locale", 1

    def __init__(self, program, root, seed):
        super().__init__(program, root, seed)
        self.german = comma_locale(self.root / "locales")

    def cases(self, count):
        return list(calls.CALLS)

    def case(self, name):
        found, trees = None, []
        for environment in ({"LC_ALL": "C"}, self.german):
            place = self.place(name)  # one after the other in the same place, so that paths are the same
            words = calls.words(name, out="out" if name in calls.KEPT else None)
            outcome = verdict.run([self.program, *words], place, environment=environment)
            found = self.judged(outcome, place, as_json="--json" in words)
            trees.append((verdict.without_clock(outcome.out), verdict.tree(place)))
            shutil.rmtree(place)
            if found.fault:
                return found
        if trees[0] != trees[1]:
            unequal = [k for k in trees[0][1] if trees[1][1].get(k) != trees[0][1][k]]
            found.fault = f"{name}: other bytes in the German locale: {unequal or 'printed'}"
        return found


def is_text(name):
    try:
        return name.decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False


class Names(Prepared):
    """File names and working directories that are no UTF-8 or hold quotes and line breaks; a directory that cannot be written."""
    name, cases_in_soak = "names", 1
    ODD = [b"\xff\xfe", b"caf\xe9", "数é".encode(), b"a b'c\"$x", b"line\nbreak", b"-x", b"<b>&amp;"]

    def cases(self, count):
        commands = ["flow", "cluster", "measure", "compare", "inspect", "select", "architect", "film", "problem", "sweep", "phase"]
        return [(name, odd) for name in commands for odd in range(len(self.ODD))] + [(name, None) for name in calls.KEPT]

    def case(self, given):
        name, odd = given
        place = self.place(name, odd)
        found = self.unwritable(name, place) if odd is None else self.odd(name, self.ODD[odd], place)
        shutil.rmtree(os.fsencode(place))
        return found

    def odd(self, name, odd, place):
        """The working directory, every file that is read and the directory that is written have the name. What is no text (not
        UTF-8, or with control characters) may be refused."""
        inside = os.path.join(os.fsencode(place), b"d" + odd)
        os.mkdir(inside)
        words = []
        for word in map(os.fsencode, calls.words(name, out="out" if name in calls.KEPT else None)):
            source = os.path.join(os.fsencode(place), word)
            if word in (b"out", b"film.svg"):
                word = b"./" + odd + word
            elif os.path.exists(source) and word not in (b"flow", b"select"):
                target = odd + word
                (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, os.path.join(inside, target))
                word = b"./" + target
            words.append(word)
        outcome = verdict.run([os.fsencode(self.program), *words], inside)
        wrong = f"{name}: not delivered with names {odd!r}: {outcome.err!r}" if is_text(odd) and outcome.status != 0 else None
        found = self.judged(outcome, place, wrong, as_json=b"--json" in words)
        return found if found.fault or name != "flow" else self.inside(inside, odd, place)

    def inside(self, inside, odd, place):
        """Only the working directory has the name: runs work there, and what they write can be read again. run.toml is UTF-8, and holds
        line breaks."""
        calls_inside = [["flow", "--tokens", "4", "--time", "1", "--json"]]
        if is_text(odd) or b"\n" in odd:
            calls_inside += [[*calls_inside[0], "--out", "plain"], ["flow", "--config", "plain/run.toml", "--json"]]
        for words in calls_inside:
            outcome = verdict.run([self.program, *words], inside)
            wrong = None if outcome.status == 0 else f"flow: not delivered in a directory {odd!r}: {outcome.err!r}"
            found = self.judged(outcome, place, wrong, as_json=True)
            if found.fault:
                break
        return found

    def unwritable(self, name, place):
        """Root may write where others may not: for root it is a disk mounted read-only, or /proc where nothing can be mounted."""
        closed = place / "closed"
        closed.mkdir()
        disk = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(closed)], capture_output=True).returncode == 0
        if not disk:
            closed.chmod(0o555)
        out = "closed/out" if disk or os.geteuid() != 0 else "/proc/closed/out"
        try:
            outcome = verdict.run([self.program, *calls.words(name, out=out)], place)
            wrong = None if outcome.status == 2 else f"{name}: status {outcome.status} in a directory that cannot be written"
            return self.judged(outcome, place, wrong, as_json=True)
        finally:
            if disk:
                subprocess.run(["umount", "-l", str(closed)], check=True)
            closed.chmod(0o755)
