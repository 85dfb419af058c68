"""Too little of what a run needs: a full disk, little memory; and any number of threads."""
import os
import pathlib
import shutil
import subprocess

import calls
import verdict


class Prepared:
    """A part that puts something around the short calls of calls.py."""

    def __init__(self, program, root, seed):
        self.program, self.root, self.seed = program, pathlib.Path(root), seed
        self.prepared = calls.prepare(program, self.root / "prepared")

    def place(self, *words):
        return calls.copied(self.prepared, self.root / "_".join(map(str, words)).replace(" ", "_"))

    def judged(self, outcome, place, wrong=None, **how):
        """The finding; `wrong` is what was wrong beside how it ended. The command to repeat it runs in the prepared directory."""
        found = verdict.finding(outcome, place, **how)
        found.fault = found.fault or wrong
        found.line = found.line.replace(str(place), str(self.prepared))
        return found


def mounted(place, size):
    """A disk of `size` bytes at `place`, where root may mount one."""
    place.mkdir(parents=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True)
    return done.returncode == 0


class Disk(Prepared):
    """Files may have so many bytes only (prlimit), or the disk has."""
    name, cases_in_soak = "disk", 1

    def cases(self, count):
        kinds = ("file", "disk") if os.geteuid() == 0 else ("file",)
        return [(kind, size, name) for kind in kinds for size in (0, 4096, 20000, 65536) for name in [*calls.KEPT, "film", "problem"]
                if kind == "file" or size > 0]

    def case(self, given):
        kind, size, name = given
        place = self.place(kind, size, name)
        small = place / "small"
        disk = kind == "disk" and mounted(small, size)
        try:
            small.mkdir(exist_ok=True)
            out = {"film": "small/film.html", "problem": "small/p.json"}.get(name, "small/out")
            words = calls.words(name, out=out) if name != "film" else ["film", "first", "--seconds", "0.5", "--out", out]
            outcome = verdict.run([self.program, *words], place, limits=() if disk else (f"--fsize={size}",))
            return self.judged(outcome, place, self.half(small / "out", outcome), out_open=disk, err_open=disk or size > 0,
                               as_json="--json" in words)
        finally:
            if disk:
                subprocess.run(["umount", "-l", str(small)], check=True)
            shutil.rmtree(place, ignore_errors=True)

    @staticmethod
    def half(out, outcome):
        if outcome.status == 2 and (out / "summary.json").exists():
            return "refused, and yet a finished run is there"
        return None


class Threads(Prepared):
    """1 to 8 threads: the same bytes of result.h5 and of what is printed."""
    name, cases_in_soak = "threads", 1

    def cases(self, count):
        taken = [c for c in calls.KEPT if c not in ("merge",)]
        return [(threads, name) for name in taken for threads in range(1, 9)]

    def case(self, given):
        threads, name = given
        place = self.place(threads, name)
        outcome = verdict.run([self.program, *calls.words(name, "--threads", str(threads), out="out")], place)
        result = place / "out" / "result.h5"
        kept = self.root / f"{name}.result"
        wrong = None if result.exists() else f"{name}: no result.h5"
        if result.exists() and threads == 1:
            kept.write_bytes(result.read_bytes())
        elif result.exists() and verdict.wait_for(kept.exists, 60) and kept.read_bytes() != result.read_bytes():
            wrong = f"{name}: other bytes on {threads} threads"
        shutil.rmtree(place)
        return self.judged(outcome, place, wrong, as_json=True)


class Memory(Prepared):
    """Address space of 48 MB to 1 GB."""
    name, cases_in_soak = "memory", 1

    def cases(self, count):
        return [(mb, name) for mb in (32, 48, 64, 96, 128, 192, 256, 512) for name in calls.CALLS]

    def case(self, given):
        mb, name = given
        place = self.place(mb, name)
        more = ["--threads", "4"] if name in calls.KEPT and name != "merge" else []
        words = calls.words(name, *more, out="out" if name in calls.KEPT else None)
        outcome = verdict.run([self.program, *words], place, limits=(f"--as={mb << 20}",))
        loader = outcome.status == 127 and b"error while loading shared libraries" in outcome.err
        if loader:  # the system could not even start the program
            outcome.status, outcome.err, outcome.out = 2, b"attractor: not started\n", b""
        found = self.judged(outcome, place, as_json="--json" in words, bounded_memory=False)
        shutil.rmtree(place)
        return found
