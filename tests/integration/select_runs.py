"""Training runs through the command line: result files, interruption and resumption, threads, pages."""
import json
import json
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

import program

RUNS = {"gd": ("--optimizer", "gd", "--step", 0.5, "--steps", 1_500_000),
        "momentum": ("--optimizer", "ngd", "--momentum", 0.5, "--steps", 1_500_000),
        "flow": ("--optimizer", "flow", "--log10-time", 20_000)}


class SelectRuns(program.ProgramTest):
    def problem(self, *arguments):
        file = self.directory / "data.json"
        run = program.attractor("problem", *arguments, "--out", file)
        self.assertEqual(run.status, 0, run.err)
        return file

    def start(self, *arguments):
        command = [program.PROGRAM, "select", *map(str, arguments), "--checkpoint-seconds", "0.02", "--quiet"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def interrupt(self, process, checkpoint, how):
        """Waits until the checkpoint is new, then stops the run; false if it had ended before."""
        seen = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns > seen:
                process.send_signal(how)
                break
            time.sleep(0.001)
        process.communicate()
        return process.returncode in (130, -signal.SIGKILL)

    def test_interrupted_runs_end_with_the_same_bytes(self):
        data = self.problem("multi")
        for name, arguments in RUNS.items():
            with self.subTest(name):
                whole, pieces = self.directory / f"{name}-whole", self.directory / f"{name}-pieces"
                program.attractor("select", data, *arguments, "--out", whole)
                stopped = self.interrupt(self.start(data, *arguments, "--out", pieces), pieces / "checkpoint.bin",
                                         signal.SIGINT)
                self.assertTrue(stopped, "the run must be long enough to be interrupted")
                for _ in range(3):
                    self.interrupt(self.start("--resume", pieces), pieces / "checkpoint.bin", signal.SIGKILL)
                if not (pieces / "summary.json").exists():
                    run = program.attractor("select", "--resume", pieces)
                    self.assertEqual(run.status, 0, run.err)
                self.assertEqual((whole / "result.h5").read_bytes(), (pieces / "result.h5").read_bytes())
                self.assertFalse((pieces / "checkpoint.bin").exists())

    def test_threads_do_not_change_the_result(self):
        data = self.problem("random", "--inputs", 40, "--tokens", 64, "--dim", 48)
        results = []
        for threads in (1, 2, 4):
            out = self.directory / str(threads)
            program.attractor("select", data, "--steps", 50, "--threads", threads, "--out", out)
            results.append((out / "result.h5").read_bytes())
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_result_file_holds_the_run(self):
        data = self.problem("joint-relaxed")
        out = self.directory / "out"
        answer = program.attractor("select", data, "--train", "v,p", "--steps", 500, "--local", "--path", "1,10", "--out", out,
                                   "--json").json
        with h5py.File(out / "result.h5") as file:
            np.testing.assert_array_equal(file["final/p"][:].ravel(), answer["p"])
            np.testing.assert_array_equal(file["final/v"][:].ravel(), answer["v"])
            np.testing.assert_array_equal(file["final/selected"][:], answer["selected"])
            self.assertEqual(file["series/loss"][-1], answer["loss"])
            np.testing.assert_array_equal(file["svm/solution"][:].ravel(), answer["svm"])
            self.assertEqual(len(file["path/radius"]), 2)
        self.assertIn("Max-margin certificates", (out / "index.html").read_text())

    def test_a_solution_out_of_reach_is_named(self):
        # The nuclear solution is the identity; K Q^T with one column has a cosine of at most 1 / sqrt 2 to it.
        data = self.directory / "data.json"
        problem = {"X": [[g, [0, 0]] for g in ([1, 0], [0, 1], [1, -1], [1, 1])], "z": [[1, 0], [0, 1], [1, -1], [1, 1]],
                   "Y": [1, 1, 1, 1], "v": [1, 0.5]}
        for columns, start in ((1, [[1], [2]]), (2, [[1, 0], [0, 1]])):
            data.write_text(json.dumps({**problem, "K": start, "Q": start}))
            out = self.directory / f"columns{columns}"
            run = program.attractor("select", data, "--train", "KQ", "--steps", 20, "--out", out)
            self.assertEqual(run.status, 0, run.err)
            answer = json.loads((out / "summary.json").read_text())
            self.assertEqual((answer["selected"], answer["svm_rank"], answer["factor_rank"]), ([0, 0, 0, 0], 2, columns))
            self.assertEqual(answer["svm_in_reach"], columns == 2)
            self.assertLessEqual(answer["cosine_to_svm"], answer["largest_cosine_in_reach"] + 1e-9)
            page = (out / "index.html").read_text()
            for text, words in ((run.out, "no K Q^T points there"), (page, "out of reach")):
                self.assertEqual(words in text, columns == 1, text)
            with h5py.File(out / "result.h5") as file:
                self.assertEqual(file["svm"].attrs["largest_cosine_in_reach"], answer["largest_cosine_in_reach"])
                self.assertLessEqual(file["svm"].attrs["norm_lower"], 2)
                self.assertGreaterEqual(file["svm"].attrs["norm_upper"], 2)

    def test_directories_are_not_overwritten(self):
        data = self.problem("single-local")
        out = self.directory / "out"
        self.assertEqual(program.attractor("select", data, "--out", out).status, 0)
        again = program.attractor("select", data, "--out", out)
        self.assertEqual(again.status, 2)
        self.assertIn("finished run", again.err)
        resumed = program.attractor("select", "--resume", out)
        self.assertEqual((resumed.status, len(resumed.err.splitlines())), (2, 1))
        both = program.attractor("select", "--resume", out, "--steps", 3)
        self.assertIn("give no others", both.err)

    def test_other_data_is_not_mixed_in(self):
        data = self.problem("multi")
        out = self.directory / "out"
        self.assertTrue(self.interrupt(self.start(data, *RUNS["gd"], "--out", out), out / "checkpoint.bin", signal.SIGINT))
        self.problem("multi", "--seed", 1)
        run = program.attractor("select", "--resume", out)
        self.assertEqual((run.status, len(run.err.splitlines())), (2, 1))
        self.assertIn("data.json has changed since the run began", run.err)
        self.assertEqual(program.attractor("select", data, "--resume", out).status, 2)

    def test_every_part_of_a_problem_counts(self):
        """Before and after a checkpoint: other shapes of the same numbers, another penalty, another activation."""
        problem = {"X": [[[1, 0], [0, 1], [1, 1]], [[2, 1], [1, 3], [0, 2]]], "Y": [1, -1], "v": [1, 0.5],
                   "head": {"lambda": 0.125, "activation": "tanh"}}
        turned = problem | {"X": [[[1, 0], [0, 1]], [[1, 1], [2, 1]], [[1, 3], [0, 2]]], "Y": [1, -1, 1]}
        others = [turned, problem | {"head": {"lambda": 0.25, "activation": "tanh"}},
                  problem | {"head": {"lambda": 0.125, "activation": "gelu"}}, problem | {"Y": [1, 1]}]
        data, out = self.directory / "data.json", self.directory / "out"
        for checkpoint in (False, True):
            data.write_text(json.dumps(problem))
            if checkpoint:
                self.assertTrue(self.interrupt(self.start(data, *RUNS["gd"], "--out", out), out / "checkpoint.bin",
                                               signal.SIGINT))
            else:
                limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
                run = program.attractor("select", data, "--steps", 50, "--out", out, preexec_fn=limit)
                self.assertEqual(run.status, 2, run.err)
            for other in others:
                data.write_text(json.dumps(other))
                run = program.attractor("select", "--resume", out)
                self.assertEqual((run.status, len(run.err.splitlines())), (2, 1), run.err)
                self.assertIn("data.json has changed since the run began", run.err)
            shutil.rmtree(out)

    def test_lock_in_is_when_the_last_token_was_taken(self):
        # p0 leads to token 1; one large step turns to token 0. A start on the winner is locked from the start.
        data = self.directory / "data.json"
        data.write_text('{"X": [[[1, 1], [-1, 0]]], "Y": [1], "v": [0, 1], "p0": [-0.1, 0]}')
        one = program.attractor("select", data, "--optimizer", "ngd", "--step", 1, "--steps", 1, "--json").json
        self.assertEqual((one["selected"], one["lock_in_log10_time"]), ([0], [0]))
        data.write_text('{"X": [[[1, 1], [-1, 0]]], "Y": [1], "v": [0, 1], "p0": [3, 0]}')
        for optimizer in ("ngd", "flow"):
            answer = program.attractor("select", data, "--optimizer", optimizer, "--json").json
            self.assertEqual(answer["lock_in_log10_time"], [None])

    def test_a_relative_problem_is_found_again(self):
        data = self.problem("multi")
        out = self.directory / "out"
        command = [program.PROGRAM, "select", data.name, *map(str, RUNS["gd"]), "--out", str(out), "--checkpoint-seconds",
                   "0.02"]
        process = subprocess.Popen(command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertTrue(self.interrupt(process, out / "checkpoint.bin", signal.SIGINT))
        self.assertEqual(program.attractor("select", "--resume", out, cwd="/").status, 0)


if __name__ == "__main__":
    program.main()
