"""What must work through the command line: help, JSON, TOML, edge cases, agreement with NumPy, the
result file, and runs that are interrupted, killed and resumed."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import json
import os
import pty
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import h5py
import numpy as np

ISSUE_KEYS = ("command status time steps tokens dim beta mean_cosine clusters energy order_parameter "
              "effective_rank engine wall_seconds").split()
COLLAPSE = ("--tokens", 40, "--dim", 3, "--beta", 20, "--time", "inf")
SECONDS = ("--tokens", 500, "--dim", 8, "--beta", 4, "--time", 10, "--tolerance", 1e-10)


def start(*arguments, **options):
    """The running command."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([program.PROGRAM, "flow", *map(str, arguments)], **options)


def age(file):
    return file.stat().st_mtime_ns if file.exists() else 0


def wait_for_new(file, process, since=0):
    """Returns when the file is newer than `since`; the process must live to write it."""
    while age(file) <= since:
        if process.poll() is not None:
            raise AssertionError(f"ended before it wrote {file.name}: {process.communicate()}")
        time.sleep(0.001)


def limited(size):
    """Lets the command write files of at most `size` bytes, which stops a run at its checkpoint."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


def data(file):
    return (file / "result.h5").read_bytes()


class RunTest(program.ProgramTest):
    def final(self, *arguments):
        """Positions at the end of a run."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        self.answer(*arguments, "--out", out)
        with h5py.File(out / "result.h5") as file:
            return file["snapshots/positions"][-1]

    def save(self, name, array):
        np.save(self.directory / name, array)
        return self.directory / name

    def from_rows(self, *rows):
        return "--init", "file", "--tokens-file", self.save("rows.npy", np.array(rows, float))

    def assert_close(self, actual, expected, tolerance=1e-12):
        self.assertLess(np.abs(np.asarray(actual) - expected).max(), tolerance)

    def assert_same_data(self, one, other):
        self.assertTrue(data(one) == data(other), f"{one.name} and {other.name} differ in result.h5")


class Help(program.ProgramTest):
    def test_of_the_program_has_an_example_and_the_exit_status(self):
        run = program.attractor("--help")
        self.assertEqual((run.status, run.err), (0, ""))
        self.assertIn("attractor flow --", run.out)
        self.assertIn("Exit status", run.out)

    def test_of_flow_has_an_example(self):
        run = program.flow("--help")
        self.assertEqual((run.status, run.err), (0, ""))
        self.assertRegex(run.out, r"Examples?:\n  attractor flow --")

    def test_examples_run(self):
        for example in re.findall(r"^  attractor flow (.*)$", program.flow("--help").out, re.M):
            with self.subTest(example):
                self.answer(*[word for word in shlex.split(example) if word != "--json"], cwd=self.directory)

    def test_names_what_is_allowed_for_every_parameter(self):
        sections = re.split(r"^  (?=--)", program.flow("--help-all").out, flags=re.M)
        blocks = {re.match(r"--([a-z0-9-]+)", block)[1]: block for block in sections[1:]}
        parameters = self.answer("--time", 0)["parameters"]
        with_values = [name for name, value in parameters.items() if not isinstance(value, bool)]  # a flag takes none
        for name in [*with_values, "threads", "checkpoint-seconds"]:
            with self.subTest(name):
                self.assertRegex(blocks[name], r"\[[^\]]+")

    def test_version_is_the_version_of_a_result(self):
        run = program.attractor("--version")
        self.assertEqual((run.status, run.out), (0, f"attractor {self.answer('--time', 0)['version']}\n"))

    def test_is_pointed_to_without_arguments(self):
        run = program.attractor()
        self.assertEqual((run.status, run.out), (2, ""))
        self.assertIn("--help", run.err)


class Json(RunTest):
    def test_is_one_object_and_nothing_else(self):
        run = program.flow("--time", 1, "--json")
        value, end = json.JSONDecoder().raw_decode(run.out)
        self.assertEqual((run.status, run.err, run.out[end:]), (0, "", "\n"))
        self.assertIsInstance(value, dict)

    def test_has_every_key_of_the_issue(self):
        answer = self.answer("--tokens", 5, "--dim", 4, "--beta", 2.5, "--time", 1)
        self.assertEqual([key for key in ISSUE_KEYS if answer.get(key) is None], [])
        self.assertEqual([answer[key] for key in ("tokens", "dim", "beta", "time")], [5, 4, 2.5, 1])

    def test_equals_summary_json(self):
        answer = self.answer("--time", 1, "--out", self.directory / "run")
        self.assertEqual(answer, json.loads((self.directory / "run/summary.json").read_text()))

    def test_is_without_nan_when_time_is_inf(self):
        def refuse(word):
            self.fail(f"{word} is not JSON")
        json.loads(program.flow("--tokens", 2, "--time", "inf", "--json").out, parse_constant=refuse)


class Toml(RunTest):
    def setUp(self):
        super().setUp()
        self.config = self.directory / "flow.toml"
        self.config.write_text('# a comment\ntokens = 7\ndim = 4\nbeta = 3\ntime = 1.5\ninit = "hemisphere"\nseed = 1\n')

    def test_equals_the_same_flags(self):
        flags = ("--tokens", 7, "--dim", 4, "--beta", 3, "--time", 1.5, "--init", "hemisphere", "--seed", 1)
        one, other = self.answer("--config", self.config), self.answer(*flags)
        del one["wall_seconds"], other["wall_seconds"]
        self.assertEqual(one, other)

    def test_is_overridden_by_flags_on_either_side(self):
        self.assertEqual(self.answer("--config", self.config, "--beta", 2)["beta"], 2)
        self.assertEqual(self.answer("--beta", 2, "--config", self.config)["beta"], 2)

    def test_knows_infinity(self):
        self.config.write_text("tokens = 3\ntime = inf\n")
        self.assertEqual(self.answer("--config", self.config)["status"], "collapsed")


class Edges(RunTest):
    def test_one_token_stays(self):
        answer = self.answer("--tokens", 1, "--time", 5)
        self.assertEqual([answer[key] for key in ("status", "clusters", "time")], ["complete", 1, 5])

    def test_one_token_has_collapsed_at_once(self):
        answer = self.answer("--tokens", 1, "--time", "inf")
        self.assertEqual([answer[key] for key in ("status", "clusters", "time")], ["collapsed", 1, 0])

    def test_two_dimensions(self):
        self.assertEqual(self.answer("--tokens", 3, "--dim", 2, "--time", "inf")["clusters"], 1)

    def test_time_0_leaves_the_start(self):
        rows = np.array([[1.0, 0, 0], [0, 0.6, 0.8], [0, 0, -1]])
        for stepper in ("adaptive", "adaptive3", "adaptive8", "layers", "euler", "rk4"):
            with self.subTest(stepper):
                self.assert_close(self.final(*self.from_rows(*rows), "--stepper", stepper, "--time", 0), rows)
                self.assertEqual(self.answer("--stepper", stepper, "--time", 0)["steps"], 0)

    def test_beta_0_and_beta_1e6_stay_finite(self):
        for dynamics in ("sa", "usa"):
            for beta in (0, 1e6):
                with self.subTest(dynamics=dynamics, beta=beta):
                    run = program.flow("--dynamics", dynamics, "--beta", beta, "--max-steps", 2000, "--json")
                    self.assertIn(run.json["status"], ("complete", "too_many_steps"))
                    self.assertTrue(-1 <= run.json["mean_cosine"] <= 1)

    def test_identical_tokens_have_collapsed_at_once(self):
        answer = self.answer(*self.from_rows([0, 3, 4], [0, 3, 4]), "--time", "inf")
        self.assertEqual([answer[key] for key in ("status", "clusters", "time")], ["collapsed", 1, 0])

    def test_antipodal_tokens_end_with_a_reason(self):
        for dynamics in ("sa", "usa"):
            run = program.flow(*self.from_rows([0, 1], [0, -1]), "--time", "inf", "--dynamics", dynamics, "--json")
            self.assertEqual((run.status, run.json["status"], run.json["clusters"]), (3, "at_equilibrium", 2))
            self.assertEqual(run.err.count("\n"), 1)
            self.assertIn("balance", run.err)

    def test_a_tetrahedron_ends_with_the_rate_at_which_it_is_left(self):
        rows = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
        for beta, rate in ((1, 0.6542039607091671), (3, 0.13889334979329168)):  # reduce clusters --shape simplex
            run = program.flow(*self.from_rows(*rows), "--time", "inf", "--beta", beta, "--json")
            self.assertEqual((run.status, run.json["status"], run.json["clusters"]), (3, "at_equilibrium", 4))
            self.assertTrue(run.json["perturbation_grows"])
            self.assertAlmostEqual(10 ** run.json["log10_growth_rate"], rate, 6)
            self.assertEqual(run.err.count("\n"), 1)
            self.assertIn("grows e-fold", run.err)

    def test_log10_time_is_a_time_that_no_double_holds(self):
        pair = ("--init", "angles", "--angles", "0,1", "--dynamics", "usa", "--beta", 2000)
        answer = self.answer(*pair, "--log10-time", -474)
        self.assertEqual((answer["status"], answer["time"], answer["clusters"]), ("complete", 0, 2))
        self.assertAlmostEqual(answer["log10_time"], -474, 9)
        self.assertEqual(self.answer(*pair, "--log10-time", -471)["clusters"], 1)
        run = program.flow("--time", 10, "--log10-time", 1)
        self.assertEqual(run.status, 2)
        self.assertIn("log10-time", run.err)

    def test_a_blow_up_ends_with_a_reason(self):
        run = program.flow(*self.from_rows([2, 0], [0, 2]), "--space", "euclidean", "--dynamics", "usa", "--json",
                           "--max-steps", 100_000)
        self.assertEqual(run.status, 3)
        self.assertNotIn("max-steps", run.err)  # more steps never help

    def test_an_absurd_step_is_not_silently_wrong(self):
        for stepper in ("layers", "euler", "rk4"):
            run = program.flow("--stepper", stepper, "--step", 1e200, "--time", 1e200, "--json")
            self.assertNotEqual((run.status, run.json["order_parameter"] if run.out else None), (0, 0.0), stepper)

    def test_too_few_steps_is_status_3_and_says_what_to_raise(self):
        run = program.flow("--max-steps", 3, "--json")
        self.assertEqual((run.status, run.json["status"]), (3, "too_many_steps"))
        self.assertIn("raise max-steps", run.err)

    def test_a_file_is_scaled_to_unit_length_at_any_scale(self):
        rows = self.final(*self.from_rows([3e300, 4e300], [3e-300, -4e-300]), "--time", 0)
        self.assert_close(rows, [[0.6, 0.8], [0.6, -0.8]])

    def test_npy_of_any_order_and_type_is_the_same_start(self):
        rows = np.arange(1, 13).reshape(4, 3)
        expected = self.final(*self.from_rows(*rows), "--time", 1)
        for variant in (np.asfortranarray(rows), *(rows.astype(kind) for kind in (">f4", "<i2", "u1"))):
            file = self.save("variant.npy", variant)
            self.assertTrue((self.final("--init", "file", "--tokens-file", file, "--time", 1) == expected).all())


def scores(x, beta, query=None, key=None):
    q = x if query is None else x @ query.T
    k = x if key is None else x @ key.T
    return np.exp(beta * q @ k.T)


def attention(x, beta, dynamics, query=None, key=None, value=None):
    weights = scores(x, beta, query, key)
    weights /= weights.sum(1, keepdims=True) if dynamics == "sa" else len(x)
    return weights @ (x if value is None else x @ value.T)


def normalise(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def tangent(x, v):
    return v - (v * x).sum(1, keepdims=True) * x


class AgainstNumpy(RunTest):
    """Thirty steps of 0.1 with beta = 2 of ten tokens in four dimensions."""

    def setUp(self):
        super().setUp()
        draw = np.random.default_rng(5)
        self.x = normalise(draw.standard_normal((10, 4)))
        self.matrices = {name: draw.standard_normal((4, 4)) / 2 for name in ("query", "key", "value")}

    def agrees(self, stepper, dynamics, step, *more, start=None):
        x = self.x if start is None else start
        actual = self.final(*self.from_rows(*x), "--stepper", stepper, "--dynamics", dynamics, "--beta", 2, "--step",
                            0.1, "--time", 3, *more)
        for _ in range(30):
            x = step(x)
        self.assert_close(actual, x)

    def test_layers_sa(self):
        self.agrees("layers", "sa", lambda x: normalise(x + 0.1 * attention(x, 2, "sa")))

    def test_layers_usa(self):
        self.agrees("layers", "usa", lambda x: normalise(x + 0.1 * attention(x, 2, "usa")))

    def test_layers_with_matrices(self):
        files = [word for name, m in self.matrices.items() for word in (f"--{name}", self.save(f"{name}.npy", m))]
        for dynamics in ("sa", "usa"):
            self.agrees("layers", dynamics,
                        lambda x: normalise(x + 0.1 * attention(x, 2, dynamics, **self.matrices)), *files)

    def test_euler(self):
        for dynamics in ("sa", "usa"):
            self.agrees("euler", dynamics, lambda x: normalise(x + 0.1 * tangent(x, attention(x, 2, dynamics))))

    def rk4(self, x, velocity, retract):
        k1 = velocity(x)
        k2 = velocity(retract(x + 0.05 * k1))
        k3 = velocity(retract(x + 0.05 * k2))
        k4 = velocity(retract(x + 0.1 * k3))
        return retract(x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

    def test_rk4(self):
        for dynamics in ("sa", "usa"):
            self.agrees("rk4", dynamics,
                        lambda x: self.rk4(x, lambda y: tangent(y, attention(y, 2, dynamics)), normalise))

    def test_rk4_in_euclidean_space(self):
        self.agrees("rk4", "sa", lambda x: self.rk4(x, lambda y: attention(y, 2, "sa"), lambda y: y), "--space",
                    "euclidean", start=self.x / 4)

    def test_adaptive_reaches_its_tolerance(self):
        flow = (*self.from_rows(*self.x), "--beta", 2, "--time", 3)
        fine = self.final(*flow, "--stepper", "rk4", "--step", 1e-3)
        self.assert_close(self.final(*flow, "--tolerance", 1e-9), fine, 1e-8)

    def test_identity_matrices_are_the_default(self):
        files = [word for name in self.matrices for word in (f"--{name}", self.save(f"{name}.npy", np.eye(4)))]
        flow = (*self.from_rows(*self.x), "--beta", 2, "--time", 3, "--tolerance", 1e-12)
        self.assert_close(self.final(*flow, *files), self.final(*flow))


class ResultFile(RunTest):
    @classmethod
    def setUpClass(cls):
        cls.out = pathlib.Path(tempfile.mkdtemp(prefix="attractor-test-")) / "run"
        cls.addClassCleanup(shutil.rmtree, cls.out.parent)
        cls.summary = program.flow(*COLLAPSE, "--out", cls.out, "--json").json
        cls.file = h5py.File(cls.out / "result.h5")
        cls.addClassCleanup(cls.file.close)
        cls.n = cls.summary["tokens"]

    def test_has_its_provenance(self):
        for name in ("command", "status", "engine", "version", "tokens", "dim", "steps", "log10_time", "merge_error"):
            self.assertEqual(self.file.attrs[name], self.summary[name], name)
        self.assertEqual(json.loads(self.file.attrs["parameters"]), self.summary["parameters"])
        self.assertEqual(self.file.attrs["seed"], self.summary["parameters"]["seed"])

    def test_series_end_with_the_summary(self):
        series = self.file["series"]
        self.assertEqual(len({column.shape for column in series.values()}), 1)
        for name, column in series.items():
            self.assertTrue(column.attrs["meaning"])
            # The last row is where the solver stopped, a little after the last merger.
            end = {"time": "solver_time", "log10_time": "log10_solver_time"}.get(name, name)
            if self.summary[end] is not None:
                self.assertEqual(column[-1], self.summary[end], name)
        if self.summary["status"] == "collapsed":
            self.assertEqual(self.file["merge_tree/log10_time"][-1], self.summary["log10_time"])
            self.assertLess(self.summary["log10_time"], self.summary["log10_solver_time"])

    def test_times_ascend_and_agree_with_their_logarithms(self):
        for group in ("series", "snapshots", "merge_tree"):
            t, log10 = self.file[group]["time"][:], self.file[group]["log10_time"][:]
            self.assertTrue((np.diff(t) >= 0).all(), group)
            positive = t > 0
            self.assert_close(log10[positive], np.log10(t[positive]), 1e-9)
            self.assertTrue(np.isneginf(log10[~positive]).all(), group)

    def test_snapshots_have_the_documented_shapes(self):
        snapshots, n, d = self.file["snapshots"], self.n, self.summary["dim"]
        k = len(snapshots["time"])
        self.assertGreaterEqual(k, 2)
        self.assertEqual(snapshots["positions"].shape, (k, n, d))
        self.assertEqual(snapshots["clusters"].shape, (k, n))
        self.assertEqual(len(set(snapshots["clusters"][-1])), self.summary["clusters"])

    def test_positions_have_unit_length(self):
        self.assert_close(np.linalg.norm(self.file["snapshots/positions"], axis=2), 1, 1e-14)

    def test_observables_are_those_of_the_positions(self):
        for k, t in enumerate(self.file["snapshots/time"]):
            x = self.file["snapshots/positions"][k]
            at = int(np.argmax(self.file["series/time"][:] >= t))
            cosine = (np.sum(x @ x.T) - self.n) / (self.n * (self.n - 1))
            self.assert_close(self.file["series/mean_cosine"][at], cosine, 1e-9)
            self.assert_close(self.file["series/order_parameter"][at], np.linalg.norm(x.mean(0)), 1e-9)
            energy = np.mean(scores(x, 20)) / 40
            self.assert_close(self.file["series/energy"][at] / energy, 1, 1e-9)

    def assert_valid_tree(self, tree, n):
        members = {leaf: {leaf} for leaf in range(n)}
        for k, (left, right, size) in enumerate(zip(tree["left"][:], tree["right"][:], tree["size"][:])):
            members[n + k] = members.pop(int(left)) | members.pop(int(right))  # KeyError: used twice or too early
            self.assertEqual(len(members[n + k]), size)
        return members

    def test_merge_tree_of_a_collapse_has_one_root(self):
        members = self.assert_valid_tree(self.file["merge_tree"], self.n)
        self.assertEqual(list(map(len, members.values())), [self.n])

    def test_merge_tree_of_an_unfinished_run_is_its_clusters(self):
        out = self.directory / "run"
        self.answer("--tokens", 60, "--beta", 9, "--time", 8, "--out", out)
        with h5py.File(out / "result.h5") as file:
            roots = self.assert_valid_tree(file["merge_tree"], 60)
            labels = file["snapshots/clusters"][-1]
        clusters = {frozenset(np.flatnonzero(labels == label)) for label in set(labels)}
        self.assertTrue(1 < len(clusters) < 60)
        self.assertEqual({frozenset(m) for m in roots.values()}, clusters)

    def test_coalescences_lead_to_the_final_owner(self):
        owner, coalescences = self.file["final/owner"][:], self.file["coalescences"]
        self.assertEqual(owner.shape, (self.n,))
        self.assertEqual(len(set(owner)), self.summary["distinct_tokens"])
        self.assertEqual(len(coalescences["into"]), self.n - self.summary["distinct_tokens"])
        self.assertLessEqual(coalescences["error"][:].max(), self.summary["merge_error"])


class SameBytes(RunTest):
    def test_from_the_command_in_the_summary_and_from_run_toml(self):
        rows = self.save("two words.npy", np.eye(3) + 0.1)
        file = ("--init", "file", "--tokens-file", rows, "--value", rows, "--time", 2)
        angles = ("--init", "angles", "--angles=-1.5,0,0.7", "--dim", 2, "--time", "inf", "--seed", 2**64 - 1)
        for k, arguments in enumerate([file, angles, ("--tokens", 9, "--tolerance", 1e-10, "--merge-radius", "off")]):
            one, other = self.directory / f"{k}", self.directory / f"{k} again"
            self.answer(*arguments, "--out", one)
            command = json.loads((one / "summary.json").read_text())["command"]
            name, *again = shlex.split(command)
            self.assertEqual(name, "attractor")
            self.assertEqual(program.attractor(*again, "--out", other).status, 0)
            self.assert_same_data(one, other)
            third = self.directory / f"{k} from a file"
            self.answer("--config", one / "run.toml", "--out", third)
            self.assert_same_data(one, third)

    def test_with_1_2_and_4_threads(self):
        outs = [self.directory / str(threads) for threads in (1, 2, 4)]
        for out in outs:
            self.answer("--tokens", 300, "--dim", 5, "--time", 5, "--threads", out.name, "--out", out)
        self.assert_same_data(outs[0], outs[1])
        self.assert_same_data(outs[0], outs[2])

    def test_not_from_another_seed(self):
        for seed in (1, 2):
            self.answer("--time", 1, "--seed", seed, "--out", self.directory / str(seed))
        self.assertNotEqual(data(self.directory / "1"), data(self.directory / "2"))


class Resumed(RunTest):
    """A run of seconds, stopped in the middle, ends with the bytes of an undisturbed one."""

    @classmethod
    def setUpClass(cls):
        cls.undisturbed = pathlib.Path(tempfile.mkdtemp(prefix="attractor-test-")) / "undisturbed"
        cls.addClassCleanup(shutil.rmtree, cls.undisturbed.parent)
        program.flow(*SECONDS, "--out", cls.undisturbed)

    def setUp(self):
        super().setUp()
        self.out = self.directory / "run"
        self.checkpoint = self.out / "checkpoint.bin"

    def stop_in_the_middle(self, number, *arguments):
        """Starts the run, waits for a new checkpoint, sends the signal."""
        since = age(self.checkpoint)
        arguments = arguments or (*SECONDS, "--out", self.out)
        process = start(*arguments, "--json", "--checkpoint-seconds", 0.05, "--threads", 1)
        wait_for_new(self.checkpoint, process, since)
        process.send_signal(number)
        out, err = process.communicate()
        return process.returncode, out, err

    def finishes_like(self, undisturbed):
        self.answer("--resume", self.out)
        self.assert_same_data(self.out, undisturbed)
        self.assertEqual({p.name for p in self.out.iterdir()}, {p.name for p in undisturbed.iterdir()})

    def test_after_interrupt_and_terminate(self):
        for number, arguments in ((signal.SIGINT, ()), (signal.SIGTERM, ("--resume", self.out))):
            status, out, err = self.stop_in_the_middle(number, *arguments)
            self.assertEqual((status, out, err.count("\n")), (130, "", 1))
            self.assertIn(f"--resume {self.out}", err)
        self.finishes_like(self.undisturbed)

    def test_after_a_terminal_was_closed(self):
        """The kernel and the shell both say so, and nobody reads what is printed any more."""
        reader, writer = os.pipe()
        process = start(*SECONDS, "--out", self.out, "--checkpoint-seconds", 0.05, "--threads", 1, stderr=writer)
        wait_for_new(self.checkpoint, process)
        os.close(writer)
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
        process.communicate()
        with open(reader) as said:
            self.assertIn(f"--resume {self.out}", said.read())
        self.assertEqual(process.returncode, 130)
        self.finishes_like(self.undisturbed)

    def test_a_run_that_ignores_closed_terminals_goes_on(self):
        ignored = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}  # as nohup does
        process = start(*SECONDS, "--out", self.out, "--checkpoint-seconds", 0.05, "--threads", 1, **ignored)
        wait_for_new(self.checkpoint, process)
        process.send_signal(signal.SIGHUP)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assert_same_data(self.out, self.undisturbed)

    def test_after_five_kills_at_random_moments(self):
        moment = random.Random(7)
        arguments = (*SECONDS, "--out", self.out)
        for _ in range(5):
            since = age(self.checkpoint)
            process = start(*arguments, "--checkpoint-seconds", 0.01, "--threads", 1)
            wait_for_new(self.checkpoint, process, since)
            time.sleep(moment.uniform(0, 0.05))  # any moment will do
            process.kill()
            process.communicate()
            self.assertEqual(process.returncode, -signal.SIGKILL)
            arguments = ("--resume", self.out)
        self.finishes_like(self.undisturbed)

    def test_after_a_kill_that_left_a_half_written_checkpoint(self):
        self.stop_in_the_middle(signal.SIGKILL)
        (self.out / "checkpoint.bin.partial").write_bytes(self.checkpoint.read_bytes()[:1000])
        self.finishes_like(self.undisturbed)

    def test_at_many_stages_of_a_collapse(self):
        reference = self.directory / "undisturbed"
        self.answer(*COLLAPSE, "--out", reference)
        arguments = (*COLLAPSE, "--out", self.out)
        for size in range(20_000, 200_000, 20_000):
            run = program.flow(*arguments, "--checkpoint-seconds", 0, **limited(size))
            self.assertEqual(run.status, 2, run.err)
            arguments = ("--resume", self.out)
        self.finishes_like(reference)

    def test_with_awkward_parameters_from_another_directory(self):
        cases = {"the largest seed": ("--seed", 2**64 - 1), "no time limit": ("--time", "inf")}
        for name in ("rows.npy", "it's \"two\" words.npy", "zwölf.npy"):
            self.save(name, np.eye(3) + 0.1)
            cases[name] = ("--init", "file", "--tokens-file", name)
        for k, (name, arguments) in enumerate(cases.items()):
            with self.subTest(name):
                out, reference = self.directory / f"run {k}", self.directory / f"reference {k}"
                program.flow(*arguments, "--out", reference, cwd=self.directory)
                stopped = program.flow(*arguments, "--out", out, cwd=self.directory, **limited(2000))
                self.assertEqual(stopped.status, 2)
                resumed = program.flow("--resume", out, cwd="/")
                self.assertEqual(resumed.status, 0, resumed.err)
                self.assert_same_data(out, reference)

    def test_only_by_one_process_at_a_time(self):
        process = start(*SECONDS, "--out", self.out, "--checkpoint-seconds", 0, "--threads", 1)
        wait_for_new(self.checkpoint, process)
        second, third = program.flow("--resume", self.out), program.flow("--out", self.out)
        self.assertIsNone(process.poll(), "the first run ended too early for this test")
        process.kill()
        process.communicate()
        self.assertEqual((second.status, third.status), (2, 2))
        self.assertIn("another process", second.err)

    def test_a_directory_is_given_to_one_of_many(self):
        for k in range(10):
            racers = [start("--tokens", 4, "--time", 1, "--out", self.directory / str(k)) for _ in range(8)]
            for racer in racers:
                racer.communicate()
            self.assertEqual(sorted(racer.returncode for racer in racers), [0] + 7 * [2])


class ChangedInput(RunTest):
    """A run that goes on reads its files again. What has changed is refused, and the same bytes come out when it is back."""

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(3)
        self.arrays = {name: rng.normal(size=shape) for name, shape in {
            "tokens-file": (40, 4), "query": (2, 3, 4), "key": (2, 3, 4), "value": (2, 4, 4), "output": (4, 4), "gain": (4,),
            "feed-forward-in": (6, 4), "feed-forward-bias": (6,), "feed-forward-out": (4, 6)}.items()}
        self.flags = ["--init", "file", "--heads", 2, "--rank", 3, "--feed-forward", "gelu", "--time", 4]
        for name, array in self.arrays.items():
            self.save(f"{name}.npy", array)
            self.flags += [f"--{name}", f"{name}.npy"]
        self.out, self.reference = self.directory / "run", self.directory / "reference"
        self.answer(*self.flags, "--out", self.reference, cwd=self.directory)

    def refused_until_it_is_back(self, names):
        for name in names:
            for changed in (self.arrays[name] * 1.001, self.arrays[name][:-1]):
                with self.subTest(name, shape=changed.shape):
                    self.save(f"{name}.npy", changed)
                    resumed = program.flow("--resume", self.out, cwd="/")
                    self.assertEqual((resumed.status, resumed.out, resumed.err.count("\n")), (2, "", 1), resumed.err)
                    self.assertIn(f"{name}.npy has changed since the run began", resumed.err)
            self.save(f"{name}.npy", self.arrays[name])
        self.answer("--resume", self.out, cwd="/")
        self.assert_same_data(self.out, self.reference)

    def test_before_the_first_checkpoint(self):
        stopped = program.flow(*self.flags, "--out", self.out, cwd=self.directory, **limited(5000))
        self.assertEqual(stopped.status, 2, stopped.err)
        self.assertFalse((self.out / "checkpoint.bin").exists())
        self.refused_until_it_is_back(self.arrays)

    def test_after_a_checkpoint(self):
        stopped = program.flow(*self.flags, "--checkpoint-seconds", 0, "--out", self.out, cwd=self.directory, **limited(40000))
        self.assertEqual(stopped.status, 2, stopped.err)
        self.assertTrue((self.out / "checkpoint.bin").exists())
        self.refused_until_it_is_back(self.arrays)

    def test_of_the_whole_hdf5_file(self):
        with h5py.File(self.directory / "rows.h5", "w") as file:
            file["a"], file["b"] = self.arrays["tokens-file"], np.eye(3)
        arguments = ("--init", "file", "--tokens-file", "rows.h5:/a", "--time", 2)
        stopped = program.flow(*arguments, "--out", self.out, cwd=self.directory, **limited(5000))
        self.assertEqual(stopped.status, 2, stopped.err)
        with h5py.File(self.directory / "rows.h5", "r+") as file:
            file["a"][0, 0] += 1
        resumed = program.flow("--resume", self.out)
        self.assertEqual(resumed.status, 2)
        self.assertIn("rows.h5:/a has changed", resumed.err)


class OtherCommand(RunTest):
    """A directory is continued by the command that began it and by no other."""

    def setUp(self):
        super().setUp()
        (self.directory / "study.toml").write_text("[fixed]\ntokens = 4\ntime = 1\n[grid]\nbeta = [1, 2]\n")
        for command, arguments in {"flow": ("flow", "--tokens", 4, "--time", 1),
                                   "select": ("select", "example:single-local", "--steps", 20),
                                   "sweep": ("sweep", "study.toml")}.items():
            run = program.attractor(*arguments, "--out", command, cwd=self.directory, **limited(5000))
            self.assertEqual(run.status, 2, run.err)

    def files(self, directory):
        return {str(p): p.read_bytes() for p in sorted((self.directory / directory).rglob("*")) if p.is_file()}

    def test_is_refused_and_changes_nothing(self):
        for own in ("flow", "select", "sweep"):
            before = self.files(own)
            for other in {"flow", "select", "sweep"} - {own}:
                with self.subTest(own=own, other=other):
                    run = program.attractor(other, "--resume", self.directory / own)
                    self.assertEqual((run.status, run.out, run.err.count("\n")), (2, "", 1))
                    self.assertIn(f"belongs to attractor {own}, not to attractor {other}", run.err)
                    self.assertEqual(self.files(own), before)
            run = program.attractor(own, "--resume", self.directory / own)
            self.assertEqual(run.status, 0, run.err)

    def test_config_of_another_command_is_refused(self):
        run = program.flow("--config", self.directory / "select/run.toml")
        self.assertEqual((run.status, run.err.count("\n")), (2, 1))
        self.assertIn("belongs to attractor select, not to attractor flow", run.err)

    def test_config_of_flow_repeats_the_run(self):
        one, other = self.directory / "flow", self.directory / "again"
        self.answer("--config", one / "run.toml", "--out", other)
        self.answer("--resume", one)
        self.assert_same_data(one, other)

    def test_of_an_older_version_is_refused(self):
        for command in ("flow", "select", "sweep"):
            file = self.directory / command / "run.toml"
            file.write_text(file.read_text().replace(f'command = "{command}"\n', ""))
            run = program.attractor(command, "--resume", self.directory / command)
            self.assertEqual((run.status, run.err.count("\n")), (2, 1))
            self.assertIn("does not name its command: an older version wrote it", run.err)


class Weights(RunTest):
    """Drawn weights are in result.h5; given again as files they make the same run, bit for bit."""

    NAMES = ("query", "key", "value", "output", "feed_forward_in", "feed_forward_bias", "feed_forward_out")

    def round_trip(self, arguments, drawn, as_npy):
        out, again = (pathlib.Path(tempfile.mkdtemp(dir=self.directory)) / name for name in ("drawn", "given"))
        self.answer(*arguments, *drawn, "--out", out)
        files = []
        with h5py.File(out / "result.h5") as file:
            for name in self.NAMES:
                if name in file["weights"]:
                    spec = f"{out}/result.h5:/weights/{name}"
                    if as_npy:
                        spec = self.save(f"{name}.npy", file["weights"][name][:])
                    files += [f"--{name.replace('_', '-')}", spec]
        self.answer(*arguments, *files, "--out", again)
        with h5py.File(out / "result.h5") as one, h5py.File(again / "result.h5") as other:
            self.assertGreaterEqual(len(files), 2)
            for name in ("snapshots/positions", "snapshots/clusters", "series/time", "series/mean_cosine", "final/owner"):
                self.assertTrue(np.array_equal(one[name], other[name]), name)
            for name in one["weights"]:
                self.assertTrue(np.array_equal(one["weights"][name], other["weights"][name]), name)

    def test_of_one_head(self):
        for as_npy in (False, True):
            self.round_trip(("--tokens", 12, "--dim", 5, "--beta", 3, "--time", 4),
                            ("--query", "gaussian", "--key", "gaussian", "--value", "goe"), as_npy)

    def test_of_a_whole_block(self):
        for as_npy in (False, True):
            self.round_trip(("--tokens", 9, "--dim", 6, "--heads", 3, "--rank", 2, "--norm", "pre", "--mask", "causal",
                             "--feed-forward", "gelu", "--seed", 5, "--time", 3, "--stepper", "layers"),
                            ("--query", "gaussian", "--key", "orthogonal", "--value", "minus-qk", "--output", "psd",
                             "--width", 10), as_npy)

    def test_move_tokens_as_numpy_says(self):
        rng = np.random.default_rng(1)
        heads, rank, d, width, n, beta, step = 3, 2, 4, 5, 7, 1.5, 0.25
        q, k = rng.normal(size=(2, heads, rank, d))
        v, o = rng.normal(size=(heads, d, d)), rng.normal(size=(d, d))
        w1, b, w2 = rng.normal(size=(width, d)), rng.normal(size=width), rng.normal(size=(d, width))
        x = normalise(rng.normal(size=(n, d)))
        files = {"query": q, "key": k, "value": v, "output": o, "feed-forward-in": w1, "feed-forward-bias": b,
                 "feed-forward-out": w2}
        flags = [word for name, array in files.items() for word in (f"--{name}", self.save(f"{name}.npy", array))]
        actual = self.final(*self.from_rows(*x), *flags, "--heads", heads, "--rank", rank, "--feed-forward", "relu",
                            "--strength", 0.5, "--beta", beta, "--stepper", "layers", "--step", step, "--time", 2)
        for _ in range(8):
            total = np.zeros((n, d))
            for h in range(heads):
                logits = np.exp(beta * (x @ q[h].T) @ (x @ k[h].T).T)
                total += logits / logits.sum(1, keepdims=True) @ (x @ v[h].T)
            x = normalise(x + step * (total @ o.T + 0.5 * np.maximum(0, x @ w1.T + b) @ w2.T))
        self.assert_close(actual, x, 1e-11)


class ProgressBar(program.ProgramTest):
    def interrupted_on_a_terminal(self, *arguments, when):
        """Interrupts a flow as soon as `when` holds of what it shows on a terminal, or never."""
        try:
            master, slave = pty.openpty()
        except OSError as error:  # a bare chroot has no /dev/pts
            self.skipTest(f"this machine has no pseudo-terminals: {error}")
        process = start(*arguments, stderr=slave)
        os.close(slave)
        shown = ""
        while True:
            try:
                shown += os.read(master, 4096).decode()
            except OSError:  # the program has closed the terminal
                break
            if when(shown):
                process.send_signal(signal.SIGINT)
                when = lambda _: False
        out, _ = process.communicate()
        os.close(master)
        return process.returncode, out, shown

    def test_is_on_a_terminal_with_the_time_left(self):
        status, _, shown = self.interrupted_on_a_terminal(*SECONDS, when=lambda shown: "left" in shown)
        self.assertEqual(status, 130)
        self.assertRegex(shown, r"\[=* *\] +\d+ %  .* left")

    def test_is_not_on_a_terminal_when_quiet(self):
        status, _, shown = self.interrupted_on_a_terminal(*SECONDS, "--quiet", when=lambda _: False)
        self.assertEqual((status, shown), (0, ""))

    def test_is_never_in_a_pipe(self):
        run = program.flow(*SECONDS)
        self.assertEqual((run.status, run.err), (0, ""))

    def test_tells_when_to_interrupt_a_verification_which_then_reports_no_error(self):
        def starts_again(shown):
            percent = list(map(int, re.findall(r"(\d+) %", shown)))
            return percent != sorted(percent)

        status, out, _ = self.interrupted_on_a_terminal(*SECONDS, "--verify", "--json", when=starts_again)
        self.assertNotIn("verified_error", out)
        self.assertEqual(status, 130)


if __name__ == "__main__":
    program.main()
