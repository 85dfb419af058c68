"""One flow shared by 1, 2, 3 and 4 ranks: equal to the serial one to rounding, the same bytes at the same number of
ranks, interrupted and resumed, and what is refused."""
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ranked  # noqa: E402
from ranked import program, run

OFF = ("--merge-radius", "off")


class Agreement(ranked.RanksTest):
    def agrees(self, tokens, dim, *arguments, ranks=(1, 2, 4)):
        arguments = (*self.start_file(tokens, dim), *arguments)
        serial = self.ends(None, "serial", *arguments)
        self.assertGreater(self.moved(serial), 1e-3)
        steps = self.summary["steps"]
        for count in ranks:
            with self.subTest(ranks=count):
                shared = self.ends(count, f"on-{count}", *arguments)
                self.assertLess(self.difference(shared, serial), 1e-12)
                self.assertEqual(self.summary["steps"], steps)

    def test_2000_tokens_adaptive(self):
        self.agrees(2000, 16, "--beta", 4, "--time", 1, "--outputs", 3, *OFF)

    def test_usa_layers(self):
        self.agrees(301, 3, "--beta", 2, "--dynamics", "usa", "--stepper", "layers", "--step", 0.05, "--time", 0.5,
                    ranks=(2, 3, 4))

    def test_random_weights(self):
        weights = ("--query", "gaussian", "--key", "gaussian", "--value", "goe")
        for dim in (3, 16):
            for dynamics in ("sa", "usa"):
                with self.subTest(dim=dim, dynamics=dynamics):
                    self.setUp()
                    self.agrees(150, dim, *weights, "--dynamics", dynamics, "--stepper", "rk4", "--step", 0.05,
                                "--time", 0.3, ranks=(2, 3))

    def test_values_alone_and_euclidean_space(self):
        rk4 = ("--stepper", "rk4", "--step", 0.1, "--time", 0.5)
        for arguments in (("--value", "orthogonal"), ("--space", "euclidean")):
            with self.subTest(arguments):
                self.setUp()
                self.agrees(100, 5, *arguments, *rk4, ranks=(3,))

    def test_a_token_for_each_rank(self):
        self.agrees(4, 3, "--time", 1, *OFF, ranks=(2, 3, 4))

    def test_slow_motion_at_large_beta(self):
        """Speeds of e^-400 call for another unit of time, which all ranks must choose alike."""
        self.agrees(2, 3, "--beta", 400, "--time", 5e170, "--outputs", 4, "--max-steps", 1000, *OFF, ranks=(2,))


class SameBytes(ranked.RanksTest):
    def test_twice_and_with_any_number_of_threads(self):
        arguments = (*self.start_file(700, 16), "--beta", 4, "--time", 1, *OFF)
        for ranks in (2, 4):
            first = self.ends(ranks, f"{ranks}-first", *arguments)
            self.assertEqual(first, self.ends(ranks, f"{ranks}-again", *arguments))
            self.assertEqual(first, self.ends(ranks, f"{ranks}-threads", *arguments, "--threads", 3))

    def test_the_summary_is_that_of_one_process(self):
        arguments = (*self.start_file(300, 5), "--beta", 4, "--time", 1, *OFF)
        self.ends(None, "serial", *arguments)
        serial = self.summary
        self.ends(3, "shared", *arguments)
        self.assertEqual(self.summary["command"], serial["command"])
        for key in ("mean_cosine", "order_parameter", "energy", "effective_rank", "attention_entropy"):
            self.assertAlmostEqual(self.summary[key], serial[key], delta=1e-11 * abs(serial[key]))
        self.assertTrue((self.directory / "shared/index.html").exists())


class Interrupted(ranked.RanksTest):
    def started(self, out, ranks, *arguments):
        """The running command, which has written a new checkpoint."""
        checkpoint = out / "checkpoint.bin"
        since = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(
            ranked.command(ranks, "flow", *arguments, "--quiet", "--checkpoint-seconds", 0.05, grace=2),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not checkpoint.exists() or checkpoint.stat().st_mtime_ns <= since:
            self.assertIsNone(process.poll(), "ended before it wrote a checkpoint")
            time.sleep(0.005)
        return process

    def stop(self, number, out, ranks, *arguments):
        """Starts, sends the signal to mpirun; what it says."""
        process = self.started(out, ranks, *arguments)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        return err

    def test_a_run_is_resumed_with_the_same_bytes(self):
        arguments = (*self.start_file(3000, 8), "--beta", 4, "--time", 60, "--tolerance", 1e-11, *OFF)  # seconds, also on a fast machine
        undisturbed = self.ends(2, "undisturbed", *arguments)
        out = self.directory / "run"
        self.assertIn(f"--resume {out}", self.stop(signal.SIGINT, out, 2, *arguments, "--out", out))
        self.assertIn(f"--resume {out}", self.stop(signal.SIGTERM, out, 2, "--resume", out))
        self.stop(signal.SIGKILL, out, 2, "--resume", out)
        self.wait_until_free(out)
        for other in (None, 3):
            with self.subTest(ranks=other):
                refused = run(other, "flow", "--resume", out)
                self.assertEqual(refused.status, 2)
                self.assertIn("ranks", refused.err)
        done = run(2, "flow", "--resume", out, "--quiet")
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual((out / "result.h5").read_bytes(), undisturbed)

    def test_a_rank_that_fails_alone_ends_the_others(self):
        out = self.directory / "run"
        process = self.started(out, 3, *self.start_file(1500, 8), "--time", 50, "--tolerance", 1e-10, *OFF, "--out", out)
        out.rename(self.directory / "moved")  # rank 0 cannot write its next checkpoint
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 2, err)
        self.assertEqual(len(ranked.own_words(err)), 1, err)
        self.assertIn("(rank 0)", err)

    def wait_until_free(self, out):
        """The ranks of a killed mpirun notice its end a moment later."""
        handle = os.open(out, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.close(handle)


class Refused(ranked.RanksTest):
    def refuses(self, ranks, sentence, *arguments):
        done = run(ranks, *arguments, timeout=60)
        words = ranked.own_words(done.err)
        self.assertEqual((done.status, done.out), (2, ""), done.err)
        self.assertEqual(len(words), 1, done.err)
        self.assertIn(sentence, words[0])

    def test_what_ranks_cannot_share(self):
        out = ("--out", self.directory / "never")
        for sentence, arguments in (
            ("merge-radius off", ()),
            ("one head", ("--heads", 2)),
            ("no noise", ("--noise", 0.1)),
            ("engine dense", ("--engine", "circle", "--dim", 2)),
            ("3 tokens cannot be shared by 4 ranks", ("--tokens", 3, *OFF)),
            ("beta", ("--beta", -21)),
            ("see attractor flow --help", ("--nonsense",)),
        ):
            with self.subTest(sentence):
                self.refuses(4, sentence, "flow", *arguments, *out)
                self.assertFalse(out[1].exists())

    def test_other_commands(self):
        self.refuses(2, "runs on one rank", "stability", "--beta", 2)

    def test_a_directory_in_use_is_refused_on_all_ranks(self):
        (self.directory / "full").mkdir()
        (self.directory / "full" / "file").write_text("mine")
        self.refuses(2, "not empty", "flow", *OFF, "--out", self.directory / "full")

class RanksHeader(ranked.RanksTest):
    def test_keeps_its_promises(self):
        check = str(pathlib.Path(program.PROGRAM).parent / "ranks_together")
        for count in (1, 2, 3, 4):
            done = subprocess.run([*ranked.MPIRUN, "-n", str(count), check, str(count)], capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    program.main()
