"""Long commands that are killed, interrupted, or meet a full disk: what was finished is kept, and --resume ends with the
bytes of an undisturbed run.

usage: nothing_lost.py PROGRAM
"""
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program

# Each has pieces enough to be killed between them and takes a second or a few.
LONG = {
    "phase": ("phase", "--tokens", 32, "--dim", 32, "--beta", "1:9:6", "--replicates", 200, "--outputs", 20),
    "meanfield": ("meanfield", "--beta", 3, "--time", 3, "--outputs", 20, "--compare-particles", "64,128,256,512",
                  "--replicates", 64),
    "stationary": ("stationary", "--dynamics", "usa", "--beta", 4, "--noise-ratio", 1.03, "--diagram"),
    "particles": ("stationary", "--dynamics", "usa", "--beta", 4, "--particles", 400, "--sweep-steps", 6),
    "forecast": ("forecast", "--depth", 20000, "--beta", 4, "--levels", "0.5,0.9,0.99"),
    "bridge": ("bridge", "DATA", "--tokens", 200, "--checkpoints", 8),
    "inspect": ("inspect", program.DATA / "model.bin", "--text", program.DATA / "texts.txt", "--nulls", 3, "--exponents", 2),
    "basins": ("select", "DATA", "--optimizer", "flow", "--log10-time", 30, "--local", "--path", "1,2,4,8,16", "--basins"),
}
if "ATTRACTOR_LONG_TESTS" not in os.environ:  # a few always, all in ./check --full
    LONG = {name: LONG[name] for name in ("phase", "inspect", "basins")}


def age(file):
    return file.stat().st_mtime_ns if file.exists() else 0


def content(directory):
    """All numbers of a run; how long it took is nobody's business."""
    summary = json.loads((directory / "summary.json").read_text())
    summary.pop("wall_seconds", None)
    return (directory / "result.h5").read_bytes(), summary


class NothingLost(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="attractor-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.data, cls.seconds = cls.place / "data.json", {}
        program.attractor("problem", "single-local", "--out", cls.data)

    def words(self, name):
        return [self.data if word == "DATA" else word for word in LONG[name]]

    def undisturbed(self, name):
        out = self.place / name
        if not out.exists():
            since = time.monotonic()
            run = program.attractor(*self.words(name), "--out", out, "--no-figures", "--quiet")
            self.seconds[name] = time.monotonic() - since
            self.assertEqual(run.status, 0, run.err)
        return content(out)

    def start(self, *words):
        command = [program.PROGRAM, *map(str, words), "--checkpoint-seconds", "0", "--no-figures", "--quiet", "--threads", "1"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stopped(self, words, out, number, moment):
        """Starts, waits for a new checkpoint and a little more, sends the signal; the status, and what was said."""
        checkpoint = out / "checkpoint.bin"
        since = age(checkpoint)
        process = self.start(*words)
        while process.poll() is None and age(checkpoint) <= since:
            time.sleep(0.001)
        time.sleep(moment)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
        return process.returncode, said

    def finish(self, name, out, ended):
        if not ended:
            run = program.attractor(LONG[name][0], "--resume", out, "--no-figures", "--quiet")
            self.assertEqual(run.status, 0, run.err)
        self.assertTrue(content(out) == self.undisturbed(name), f"{name} differs")
        self.assertFalse((out / "checkpoint.bin").exists())

    def test_after_kills_at_random_moments(self):
        moments = random.Random(11)
        for name in LONG:
            with self.subTest(name):
                self.undisturbed(name)
                longest = min(0.1, 0.2 * self.seconds[name])  # a fast machine is through with the shortest in a tenth of a second
                out, words, kills = self.directory / name, [*self.words(name), "--out", self.directory / name], 0
                for _ in range(3):
                    status, said = self.stopped(words, out, signal.SIGKILL, moments.uniform(0, longest))
                    if status == 0:
                        break  # faster than the signal
                    self.assertEqual(status, -signal.SIGKILL, said)
                    kills, words = kills + 1, [LONG[name][0], "--resume", out]
                self.assertGreater(kills, 0, "ended before it was killed: no test")
                self.finish(name, out, status == 0)

    def test_after_interrupts(self):
        for name, number in zip(LONG, 4 * (signal.SIGINT, signal.SIGHUP)):
            with self.subTest(name):
                out = self.directory / name
                status, said = self.stopped([*self.words(name), "--out", out], out, number, 0)
                if status != 0:
                    self.assertEqual((status, said.count("\n")), (130, 1), said)
                    self.assertIn(f"continue with: attractor {LONG[name][0]} --resume {out}", said)
                self.finish(name, out, status == 0)

    def test_on_a_disk_that_fills_at_the_end(self):
        """No file may be longer than 2000 bytes: too little for any result."""
        for name in LONG:
            with self.subTest(name):
                out = self.directory / name
                run = program.attractor(*self.words(name), "--out", out, "--no-figures", "--quiet",
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
                self.assertEqual((run.status, run.err.count("\n")), (2, 1), run.err)
                self.assertIn(f"attractor {LONG[name][0]} --resume {out}", run.err)
                self.finish(name, out, False)

    def test_short_commands_too(self):
        words, out = ("reduce", "pair", "--beta", 4), self.directory / "run"
        run = program.attractor(*words, "--out", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900)))
        self.assertEqual(run.status, 2)
        self.assertIn(f"attractor reduce pair --resume {out}", run.err)
        self.assertEqual(program.attractor("reduce", "pair", "--resume", out).status, 0)
        program.attractor(*words, "--out", self.directory / "other")
        self.assertEqual(content(out), content(self.directory / "other"))

    def test_pieces_of_another_run_are_refused(self):
        for name, beta in (("one", 3), ("two", 4)):
            words = ("phase", "--beta", beta, "--replicates", 4000, "--tokens", 32, "--dim", 32, "--out", self.directory / name)
            self.stopped(words, self.directory / name, signal.SIGKILL, 0)
        shutil.copy(self.directory / "one" / "checkpoint.bin", self.directory / "two" / "checkpoint.bin")
        run = program.attractor("phase", "--resume", self.directory / "two")
        self.assertEqual((run.status, run.err.count("\n")), (2, 1))
        self.assertIn("belongs to another run", run.err)


class Gallery(program.ProgramTest):
    def verdicts(self, out):
        entries = json.loads((out / "summary.json").read_text())["entries"]
        return [{key: value for key, value in entry.items() if key != "seconds"} for entry in entries]

    def test_goes_on_after_a_kill(self):
        out, one = self.directory / "gallery", self.directory / "one"
        process = subprocess.Popen([program.PROGRAM, "reproduce", "all", "--quick", "--quiet", "--out", str(out)],
                                   stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline().split()[0]
        while process.poll() is None and not (out / "checkpoint.bin").exists():
            time.sleep(0.001)
        process.kill()
        process.communicate()
        page = out / first / "index.html"
        before = age(page)
        process = subprocess.Popen([program.PROGRAM, "reproduce", "--resume", str(out), "--quiet"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline().split()[0], first)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        self.assertEqual(process.returncode, 130)
        self.assertIn(f"continue with: attractor reproduce --resume {out}", said)
        self.assertEqual(age(page), before, "a finished entry was made again")
        refused = program.attractor("reproduce", "all", "--out", out)
        self.assertEqual(refused.status, 2)
        self.assertIn(f"attractor reproduce --resume {out}", refused.err)
        refused = program.attractor("reproduce", "kuramoto", "--resume", out)
        self.assertEqual(refused.status, 2)
        self.assertEqual(program.attractor("reproduce", "kuramoto", "--quick", "--out", one).status, 0)
        refused = program.attractor("reproduce", "--resume", one)
        self.assertEqual(refused.status, 2)
        self.assertIn("nothing to resume", refused.err)

    def test_of_one_entry_on_a_full_disk(self):
        out, good = self.directory / "full", self.directory / "good"
        run = program.attractor("reproduce", "kuramoto", "--quick", "--quiet", "--out", out,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
        self.assertEqual((run.status, run.err.count("\n")), (2, 1), run.err)
        self.assertIn(f"attractor reproduce --resume {out}", run.err)
        self.assertEqual(program.attractor("reproduce", "--resume", out, "--quiet").status, 0)
        program.attractor("reproduce", "kuramoto", "--quick", "--quiet", "--out", good)
        self.assertEqual(self.verdicts(out), self.verdicts(good))
        for name in ("result.h5",):
            self.assertEqual((out / "kuramoto" / name).read_bytes(), (good / "kuramoto" / name).read_bytes())


if __name__ == "__main__":
    program.main()
