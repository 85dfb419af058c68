"""Bad input through the command line: exit status 2, one sentence that names the value and what is
allowed, nothing on standard output, and not a byte changed on disk."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import h5py
import numpy as np

NAN, INF = float("nan"), float("inf")
SLOW = ("--tokens", 200, "--dim", 4, "--beta", 4, "--tolerance", 1e-11)
HALF_A_SECOND = (*SLOW, "--time", 20)


def tree(directory):
    """Every path below a directory with its content."""
    return {str(p.relative_to(directory)): p.read_bytes() if p.is_file() else None for p in directory.rglob("*")}


def limited(size):
    """Keyword arguments that let the command write files of at most `size` bytes: a full disk."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


def killed_after_checkpoint(directory):
    """Leaves in `directory` what a run leaves that was killed after its first checkpoint."""
    arguments = map(str, (*SLOW, "--time", 2000, "--checkpoint-seconds", 0, "--out", directory))
    process = subprocess.Popen([program.PROGRAM, "flow", *arguments])
    while not (directory / "checkpoint.bin").exists() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()


class Refusal(program.ProgramTest):
    """`refused` runs in a directory of its own, so that relative paths are the messages' names."""

    def one_sentence(self, run, *says):
        self.assertEqual(run.status, 2, run.err)
        self.assertEqual(run.out, "")
        self.assertTrue(run.err.startswith("attractor: ") and run.err.endswith("\n"), run.err)
        self.assertEqual(run.err.count("\n"), 1, run.err)
        for words in says:
            self.assertIn(str(words), run.err)

    def refused(self, *arguments, says=(), out=("--out", "run"), **options):
        before = tree(self.directory)
        run = program.flow(*arguments, *out, "--json", cwd=self.directory, **options)
        self.one_sentence(run, *says)
        after = tree(self.directory)
        self.assertEqual(sorted(after), sorted(before), "files appeared or vanished")
        self.assertEqual(after, before, "a file was changed")

    def file(self, name, content):
        path = self.directory / name
        if isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name


def named_tests(prefix, cases):
    """Class decorator: one test method per case, so that a failure has a name."""

    def add(cls):
        for name, case in cases.items():

            def test(self, case=case):
                self.check(*case)

            setattr(cls, f"test_{prefix}_{name}", test)
        return cls

    return add


EQUIANGULAR = ["--init", "equiangular"]


@named_tests("refuses", {
    # name: (arguments, words the sentence must contain)
    "n_0": (["--tokens", "0"], ["tokens", "'0'", "1 to 10000000"]),
    "n_negative": (["--tokens", "-3"], ["tokens", "-3", "1 to 10000000"]),
    "n_fractional": (["--tokens", "2.5"], ["tokens", "2.5", "whole number"]),
    "n_overflowing": (["--tokens", "18446744073709551617"], ["tokens", "18446744073709551617"]),
    "d_1": (["--dim", "1"], ["dim", "'1'", "2 to 65536"]),
    "beta_negative": (["--beta", "-21"], ["beta", "-21", "-20 to 1000000"]),
    "beta_nan": (["--beta", "nan"], ["beta", "nan", "-20 to 1000000"]),
    "beta_inf": (["--beta", "inf"], ["beta", "inf", "-20 to 1000000"]),
    "beta_1e7": (["--beta", "1e7"], ["beta", "1e7", "-20 to 1000000"]),
    "beta_text": (["--beta", "hot"], ["beta", "hot", "-20 to 1000000"]),
    "beta_with_unit": (["--beta", "4K"], ["beta", "4K", "-20 to 1000000"]),
    "beta_empty": (["--beta", ""], ["beta", "''", "-20 to 1000000"]),
    "beta_twice": (["--beta", "1", "--beta", "2"], ["--beta"]),
    "beta_without_value": (["--beta"], ["--beta"]),
    "time_negative": (["--time", "-1"], ["time", "-1", "at least 0"]),
    "time_nan": (["--time", "nan"], ["time", "nan", "at least 0"]),
    "time_minus_inf": (["--time", "-inf"], ["time", "-inf", "at least 0"]),
    "tolerance_0": (["--tolerance", "0"], ["tolerance", "'0'", "1e-14 to 0.1"]),
    "tolerance_large": (["--tolerance", "1"], ["tolerance", "'1'", "1e-14 to 0.1"]),
    "step_0": (["--step", "0", "--stepper", "rk4"], ["step", "'0'", "above 0"]),
    "step_beyond_time": (["--step", "2", "--stepper", "rk4", "--time", "1"], ["step", "2", "time = 1"]),
    "steps_beyond_max_steps": (["--step", "1e-9", "--stepper", "euler"], ["1e+10", "max-steps = 10000000"]),
    "seed_negative": (["--seed", "-1"], ["seed", "-1", "0 to 2^64 - 1"]),
    "rho_above_1": ([*EQUIANGULAR, "--tokens", "3", "--rho", "1.5"], ["rho", "1.5", "-1 to 1"]),
    "rho_below_its_limit": ([*EQUIANGULAR, "--tokens", "3", "--rho", "-0.6"], ["rho", "-0.6", "-0.5 to 1"]),
    "equiangular_n_above_d": ([*EQUIANGULAR, "--tokens", "5"], ["5", "dimension 3", "tokens <= dim"]),
    "simplex_of_other_rho": ([*EQUIANGULAR, "--tokens", "4", "--rho", "-0.3"], ["4", "-0.3", "-1/dim"]),
    "more_centres_than_tokens": (["--init", "clusters", "--centres", "9", "--tokens", "4"], ["9", "4"]),
    "cap_angle_0": (["--init", "cap", "--cap-angle", "0"], ["cap-angle", "'0'", "above 0"]),
    "angles_of_text": (["--init", "angles", "--angles", "0,east"], ["angles", "east", "finite number"]),
    "angles_missing": (["--init", "angles"], ["init angles needs angles"]),
    "tokens_file_missing": (["--init", "file"], ["needs a tokens-file"]),
    "unknown_flag": (["--temperature", "3"], ["--temperature"]),
    "abbreviated_flag": (["--tok", "3"], ["--tok"]),
    "stray_word": (["sphere"], ["sphere"]),
    "unknown_init": (["--init", "cube"], ["init", "cube", "uniform", "hemisphere", "file"]),
    "unknown_dynamics": (["--dynamics", "SA"], ["dynamics", "SA", "sa, usa"]),
    "unknown_stepper": (["--stepper", "rk5"], ["stepper", "rk5", "adaptive, adaptive3, adaptive8, layers, euler, rk4"]),
    "unknown_space": (["--space", "torus"], ["space", "torus", "sphere, euclidean"]),
    "choice_with_line_break": (["--init", "a\nb"], ["init", "uniform"]),
    "cluster_cosine_1": (["--cluster-cosine", "1"], ["cluster-cosine", "'1'", "below 1"]),
    "merge_radius_1": (["--merge-radius", "1"], ["merge-radius", "'1'", "1e-12 to 0.01"]),
    "snapshots_1": (["--snapshots", "1"], ["snapshots", "'1'", "2 to 1000"]),
    "snapshots_fractional": (["--snapshots", "2.5"], ["snapshots", "2.5", "2 to 1000"]),
    "snapshots_beyond_outputs": (["--snapshots", "102"], ["snapshots = 102", "2 to 101", "outputs = 100"]),
    "snapshots_beyond_layers": (["--snapshots", "8", "--stepper", "layers", "--step", "1", "--time", "6"], ["snapshots = 8", "2 to 7"]),
    "beta_is_no_count": (["--beta", "1k"], ["beta", "1k"]),
    "tokens_in_milli": (["--tokens", "1m"], ["tokens", "1m"]),
    "one_dash": (["-tokens", "3"], ["-tokens is no option", "did you mean --tokens?"]),
    "inf_with_layers": (["--time", "inf", "--stepper", "layers"], ["inf", "layers", "adaptive"]),
    "inf_with_rk4": (["--time", "inf", "--stepper", "rk4"], ["inf", "rk4", "adaptive"]),
    "inf_in_euclidean": (["--time", "inf", "--space", "euclidean"], ["inf", "sphere"]),
    "inf_without_merging": (["--time", "inf", "--merge-radius", "off"], ["inf", "merge-radius"]),
    "inf_at_linear_times": (["--time", "inf", "--output-spacing", "linear"], ["linear", "finite"]),
    "cap_in_euclidean": (["--space", "euclidean", "--init", "cap"], ["cap", "uniform", "file"]),
    "usa_layers_that_overflow": (["--dynamics", "usa", "--beta", "1000", "--stepper", "layers"], ["1000", "adaptive"]),
    "absurd_sizes": (["--tokens", "1e7", "--dim", "65536"], ["10000000", "65536", "at most"]),
    "threads_negative": (["--threads", "-1"], ["threads", "-1", "0 to 4096"]),
    "threads_text": (["--threads", "many"], ["threads", "many"]),
    "checkpoint_seconds_negative": (["--checkpoint-seconds", "-1"], ["checkpoint-seconds", "-1"]),
    "checkpoint_seconds_nan": (["--checkpoint-seconds", "nan"], ["checkpoint-seconds", "nan"]),
})
class Flags(Refusal):
    def check(self, arguments, says):
        self.refused(*arguments, says=says)

    def test_allows_the_simplex(self):
        self.answer(*EQUIANGULAR, "--tokens", 4, "--dim", 3, "--rho", repr(-1 / 3), "--time", 1)

    def test_refuses_an_unknown_subcommand_by_name(self):
        self.one_sentence(program.attractor("flwo"), "flwo")

    def test_refuses_an_unknown_program_flag_by_name(self):
        self.one_sentence(program.attractor("--colour"), "--colour")


@named_tests("refuses", {
    # name: (content of the file, words the sentence must contain)
    "unknown_key": ("bta = 1", ["bta", "beta"]),
    "number_out_of_range": ("beta = -21", ["beta", "-21", "-20 to 1000000"]),
    "text_for_a_number": ('beta = "hot"', ["beta", "hot", "-20 to 1000000"]),
    "fraction_for_a_whole": ("tokens = 5.5", ["tokens", "5.5", "whole number"]),
    "boolean": ("beta = true", ["beta", "number or a text"]),
    "array": ("angles = [0, 1]", ["angles", "number or a text"]),
    "table": ("[flow]\nbeta = 1", ["flow"]),
    "line_break_in_a_text": ('init = "a\\nb"', ["init", "uniform"]),
    "syntax_error": ("tokens = 5\nbeta = = 1", ["c.toml", "line 2"]),
    "key_given_twice": ("beta = 1\nbeta = 2", ["c.toml", "line 2", "beta"]),
    "key_of_many_parts": ("a." * 100000 + "a = 1", ["c.toml", "line 1", "a key has more than 32 parts"]),
    "lists_within_lists": ("beta = " + "[" * 100000, ["c.toml", "line 1", "deeper than 32 levels"]),
    "binary_file": (b"\x93NUMPY\x01\x00\xff\xfe", ["c.toml"]),
})
class Toml(Refusal):
    def check(self, content, says):
        self.refused("--config", self.file("c.toml", content), says=says)

    def test_refuses_a_missing_file(self):
        self.refused("--config", "none.toml", says=["none.toml", "no such file"])

    def test_refuses_a_directory(self):
        self.refused("--config", ".", says=["not a file"])


def npy(shape, data, descr="<f8"):
    """An .npy file whose header says what it likes."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


ROWS = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
EIGHT = np.ones(8).tobytes()


def with_row_1(*values):
    rows = ROWS.copy()
    rows[1] = values
    return rows


BAD_ROWS = {
    "nan": (with_row_1(0, NAN, 0), ["row 1", "column 1", "nan", "finite"]),
    "inf": (with_row_1(0, 0, -INF), ["row 1", "column 2", "-inf", "finite"]),
    "zero_row": (with_row_1(0, 0, 0), ["row 1", "zero"]),
    "rank_0": (np.array(1.0), ["()", "(n, d)"]),
    "rank_1": (np.ones(3), ["(3)", "(n, d)"]),
    "rank_3": (np.ones((2, 3, 3)), ["(2, 3, 3)", "(n, d)"]),
    "n_0": (np.ones((0, 3)), ["(0, 3)", "n >= 1"]),
    "d_1": (np.ones((3, 1)), ["(3, 1)", "d >= 2"]),
    "d_0": (np.ones((3, 0)), ["(3, 0)", "d >= 2"]),
    "complex": (ROWS.astype(complex), ["tokens"]),
    "text": (np.array([["a", "b"]], dtype="S1"), ["tokens"]),
}


@named_tests("refuses_npy", {name: (rows, says) for name, (rows, says) in BAD_ROWS.items()} | {
    "nan_in_float32": (with_row_1(0, NAN, 0).astype("f4"), ["row 1", "nan"]),
    "too_long": (npy((2, 3), EIGHT), ["(2, 3)", "48", "64"]),
    "too_short": (npy((3, 3), EIGHT), ["(3, 3)", "72", "64"]),
    "with_overflowing_product": (npy((1 << 32, 1 << 32), b""), ["(4294967296, 4294967296)"]),
    "with_product_that_wraps_to_its_size": (npy((1 << 61, 9), EIGHT), ["2305843009213693952"]),
    "with_huge_and_zero_dimension": (npy((0, 1 << 62), b""), ["4611686018427387904"]),
    "with_number_beyond_64_bits": (npy((1 << 70, 2), EIGHT), ["1180591620717411303424"]),
    "with_negative_dimension": (npy((-1, 3), EIGHT), ["-1"]),
    "truncated_in_header": (npy((2, 4), EIGHT)[:40], ["header"]),
    "truncated_in_preamble": (npy((2, 4), EIGHT)[:9], ["ends"]),
    "of_nonsense_header": (b"\x93NUMPY\x01\x00\x04\x00evil", ["header", "evil"]),
    "of_unknown_version": (b"\x93NUMPY\x09\x00\x04\x00{  }", ["version 9.0"]),
    "of_objects": (npy((2, 2), EIGHT[:32], "|O"), ["|O"]),
    "that_is_text": (b"1 0 0\n0 1 0\n", ["neither", ".npy", "HDF5"]),
    "that_is_empty": (b"", ["neither", ".npy", "HDF5"]),
})
class Npy(Refusal):
    def check(self, content, says):
        self.refused("--init", "file", "--tokens-file", self.file("tokens.npy", content), says=["tokens.npy", *says])

    def test_refuses_a_missing_file(self):
        self.refused("--init", "file", "--tokens-file", "none.npy", says=["none.npy", "no such file"])

    def test_refuses_a_directory(self):
        self.refused("--init", "file", "--tokens-file", ".", says=["not a file"])

    def test_refuses_a_dataset_name_after_npy(self):
        self.file("tokens.npy", ROWS)
        self.refused("--init", "file", "--tokens-file", "tokens.npy:/x", says=["tokens.npy", "/x"])

    def test_in_euclidean_space_a_zero_row_is_allowed_and_nan_is_not(self):
        euclidean = ["--init", "file", "--space", "euclidean", "--time", 1, "--tokens-file"]
        self.answer(*euclidean, self.file("zero.npy", with_row_1(0, 0, 0)), cwd=self.directory)
        self.refused(*euclidean, self.file("nan.npy", with_row_1(0, NAN, 0)), says=["row 1", "nan"])


@named_tests("refuses_hdf5", BAD_ROWS)
class Hdf5(Refusal):
    def check(self, rows, says):
        self.write(tokens=rows)
        self.read_refused("tokens.h5", says=["tokens.h5", *says])

    def write(self, **datasets):
        with h5py.File(self.directory / "tokens.h5", "w") as file:
            for name, rows in datasets.items():
                file[name] = rows

    def read_refused(self, spec, says):
        self.refused("--init", "file", "--tokens-file", spec, says=says)

    def test_refuses_several_datasets_without_a_name(self):
        self.write(first=ROWS, second=ROWS)
        self.read_refused("tokens.h5", ["tokens.h5", "/first", "/second"])

    def test_takes_the_dataset_that_is_named(self):
        self.write(first=with_row_1(0, 0, 0), second=ROWS)
        spec = f"{self.directory}/tokens.h5:/second"
        self.assertEqual(self.answer("--init", "file", "--tokens-file", spec, "--time", 1)["tokens"], 3)

    def test_refuses_an_unknown_dataset(self):
        self.write(first=ROWS)
        self.read_refused("tokens.h5:/third", ["/third", "/first"])

    def test_refuses_a_group(self):
        self.write(**{"group/first": ROWS})
        self.read_refused("tokens.h5:/group", ["/group"])

    def test_refuses_a_file_without_numbers(self):
        self.write()
        self.read_refused("tokens.h5", ["tokens.h5", "no array of numbers"])

    def test_refuses_a_truncated_file(self):
        self.write(tokens=np.tile(ROWS, (500, 1)))
        whole = (self.directory / "tokens.h5").read_bytes()
        for size in (100, len(whole) // 2, len(whole) - 1):
            self.file("tokens.h5", whole[:size])
            self.read_refused("tokens.h5", ["tokens.h5"])

    def test_refuses_a_shape_that_was_never_stored(self):
        with h5py.File(self.directory / "tokens.h5", "w") as file:
            file.create_dataset("tokens", (1 << 20, 64), "f8", chunks=(1024, 64))
        self.read_refused("tokens.h5", ["tokens.h5", str(8 << 26)])

    def test_refuses_more_elements_than_memory(self):
        with h5py.File(self.directory / "tokens.h5", "w") as file:
            file.create_dataset("tokens", (1 << 40, 1 << 20), "f8", chunks=(1024, 64))
        self.read_refused("tokens.h5", ["tokens.h5", "more than"])


@named_tests("refuses", {
    f"{name}_{fault}": (name, matrix, says)
    for name in ("query", "key", "value")
    for fault, matrix, says in (
        ("not_square", np.ones((3, 2)), ["(3, 2)", "(3, 3)"]),
        ("of_another_dimension", np.eye(4), ["(4, 4)", "(3, 3)"]),
        ("with_nan", with_row_1(0, NAN, 0), ["row 1", "column 1", "nan"]),
        ("of_text", b"identity", ["neither", ".npy", "HDF5"]),
    )
})
class Matrices(Refusal):
    def check(self, name, matrix, says):
        self.refused(f"--{name}", self.file(f"{name}.npy", matrix), says=[f"{name}.npy", *says])

    def test_refuses_a_missing_matrix(self):
        self.refused("--value", "none.npy", says=["none.npy", "no such file"])


class RunDirectory(Refusal):
    """--out and --resume on directories that are not theirs."""

    @classmethod
    def setUpClass(cls):
        cls.runs = pathlib.Path(tempfile.mkdtemp(prefix="attractor-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.runs)
        program.flow("--tokens", 2, "--time", 1, "--out", cls.runs / "finished")
        killed_after_checkpoint(cls.runs / "killed")

    def given(self, name):
        shutil.copytree(self.runs / name, self.directory / "run")
        return self.directory / "run"

    def resume_refused(self, *says):
        self.refused("--resume", "run", says=says, out=())

    def test_out_refuses_a_finished_run(self):
        self.given("finished")
        self.refused(says=["run", "finished"])

    def test_out_refuses_an_unfinished_run_and_says_resume(self):
        self.given("killed")
        self.refused(says=["unfinished", "--resume run"])

    def test_out_of_a_finished_run_says_overwrite(self):
        self.given("finished")
        self.refused(says=["run holds a finished run; choose another --out, or --overwrite it"])

    def test_overwrite_needs_out_and_a_run(self):
        self.refused("--overwrite", out=(), says=["--overwrite has no effect without --out"])
        (self.directory / "run").mkdir()
        self.file("run/thesis.tex", "my life's work")
        self.refused("--overwrite", says=["run", "is not empty"])
        self.refused("--resume", "run", "--overwrite", out=(), says=["--resume", "give no others"])

    def test_overwrite_spares_what_the_run_reads(self):
        self.answer("--tokens", 3, "--time", 1, "--query", "gaussian", "--out", self.directory / "run")
        self.refused("--query", "run/result.h5:/weights/query", "--overwrite",
                     says=["run/result.h5:/weights/query", "in the directory that --overwrite replaces"])

    def test_overwrite_of_bad_parameters_leaves_the_run(self):
        self.given("finished")
        self.refused("--overwrite", "--beta", "-21", says=["beta"])

    def test_overwrite_replaces_finished_and_unfinished_runs(self):
        for name in ("finished", "killed"):
            run = self.given(name)
            (run / "notes.txt").write_text("mine")
            self.answer("--tokens", 3, "--time", 1, "--out", run, "--overwrite")
            other = self.directory / f"other-{name}"
            self.answer("--tokens", 3, "--time", 1, "--out", other)
            self.assertEqual((run / "result.h5").read_bytes(), (other / "result.h5").read_bytes())
            self.assertEqual(sorted(p.name for p in run.iterdir()), sorted([*(p.name for p in other.iterdir()), "notes.txt"]))
            shutil.rmtree(run)

    def test_out_refuses_other_content(self):
        (self.directory / "run").mkdir()
        self.file("run/thesis.tex", "my life's work")
        self.refused(says=["run", "is not empty"])

    def test_out_refuses_a_file(self):
        self.file("run", "a file")
        self.refused(says=["run", "not a directory"])

    def test_out_refuses_a_path_below_a_file(self):
        self.file("file", "a file")
        self.refused(out=("--out", "file/run"), says=["file/run"])

    def test_out_refuses_a_place_where_nobody_may_write(self):
        self.refused(out=("--out", "/proc/attractor/run"), says=["/proc/attractor/run"])

    def test_out_refuses_a_name_too_long(self):
        self.refused(out=("--out", "x" * 300), says=["xxx"])
        for option in ("--out", "--resume"):  # longer than any path
            run = program.flow(option, "x" * 5000)
            self.one_sentence(run, "File name too long")
            self.assertNotIn("filesystem error", run.err)

    def test_out_refuses_an_empty_name(self):
        self.refused(out=("--out", ""), says=["out"])

    def test_resume_refuses_an_empty_name(self):
        self.refused("--resume", "", out=(), says=["resume"])

    def test_resume_refuses_nothing(self):
        self.resume_refused("run", "no run to resume")

    def test_resume_refuses_an_empty_directory(self):
        (self.directory / "run").mkdir()
        self.resume_refused("run", "no run to resume")

    def test_resume_refuses_a_finished_run(self):
        self.given("finished")
        self.resume_refused("run", "finished")

    def test_resume_refuses_other_parameters(self):
        self.given("killed")
        self.file("c.toml", "beta = 2")
        for others in (["--beta", "2"], ["--config", "c.toml"], ["--out", "other"]):
            self.refused("--resume", "run", *others, out=(), says=["--resume", "run"])

    def test_resume_refuses_a_checkpoint_with_any_byte_changed(self):
        checkpoint = self.given("killed") / "checkpoint.bin"
        whole = checkpoint.read_bytes()
        for at in [*range(0, len(whole), len(whole) // 12), len(whole) - 1]:
            checkpoint.write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1:])
            self.resume_refused("checkpoint.bin", "delete it")

    def test_resume_refuses_a_checkpoint_of_any_other_length(self):
        checkpoint = self.given("killed") / "checkpoint.bin"
        whole = checkpoint.read_bytes()
        for size in (0, 10, 30, len(whole) // 2, len(whole) - 8, len(whole) - 1):
            checkpoint.write_bytes(whole[:size])
            self.resume_refused("checkpoint.bin", "delete it")
        checkpoint.write_bytes(whole + b"more")
        self.resume_refused("checkpoint.bin", "delete it")

    def test_resume_refuses_a_run_toml_of_nonsense(self):
        settings = self.given("killed") / "run.toml"
        for content in ("][", "beta = -1", "nonsense = 1", "beta = [1]"):
            settings.write_text(content)
            self.resume_refused()

    def test_resume_refuses_a_run_toml_of_another_run(self):
        settings = self.given("killed") / "run.toml"
        settings.write_text(settings.read_text().replace("beta = 4.0", "beta = 5.0"))
        self.resume_refused("checkpoint.bin", "another run", "--beta 4")


class FullDisk(Refusal):
    def fails(self, *arguments, **options):
        self.one_sentence(program.flow(*arguments, "--json", cwd=self.directory, **options))

    def files(self):
        return sorted(p.name for p in (self.directory / "run").glob("*"))

    def finishes_like_an_undisturbed_run(self, arguments):
        self.answer("--resume", self.directory / "run")
        self.answer(*arguments, "--out", self.directory / "undisturbed")
        one, other = ((self.directory / d / "result.h5").read_bytes() for d in ("run", "undisturbed"))
        self.assertTrue(one == other, "result.h5 differs")
        self.assertFalse([name for name in self.files() if "partial" in name or "checkpoint" in name])

    def test_while_the_result_is_written_leaves_a_run_to_resume(self):
        arguments = ("--tokens", 50, "--time", 2)
        self.fails(*arguments, "--out", "run", **limited(8000))
        self.assertEqual(self.files(), ["run.toml"])
        self.finishes_like_an_undisturbed_run(arguments)

    def test_while_a_checkpoint_is_written_leaves_a_run_to_resume(self):
        self.fails(*HALF_A_SECOND, "--out", "run", "--checkpoint-seconds", 0, **limited(8000))
        self.assertEqual(self.files(), ["run.toml"])
        self.finishes_like_an_undisturbed_run(HALF_A_SECOND)

    def test_while_a_later_checkpoint_is_written_keeps_the_earlier_one(self):
        # A snapshot at every tenth of the time makes the checkpoint grow by 6400 bytes each.
        self.fails(*HALF_A_SECOND, "--out", "run", "--checkpoint-seconds", 0, **limited(35000))
        self.assertEqual(self.files(), ["checkpoint.bin", "run.toml"])
        self.finishes_like_an_undisturbed_run(HALF_A_SECOND)

    def test_at_the_first_write_leaves_no_file_and_a_rerun_works(self):
        self.fails("--time", 1, "--out", "run", **limited(100))
        self.assertEqual(self.files(), [])
        self.answer("--time", 1, "--out", self.directory / "run")

    def test_that_can_never_hold_the_result_is_refused_before_the_run(self):
        free = shutil.disk_usage(self.directory).free
        tokens = min(10**7, free // (1000 * 3 * 8) + 1)  # a thousand snapshots of three coordinates
        self.refused("--tokens", tokens, "--outputs", 1000, "--snapshots", 1000, says=["MB" if tokens < 10**7 else ""])

    def test_behind_standard_output_is_an_error(self):
        for arguments in (["--time", "1", "--json"], ["--time", "1"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                command = [program.PROGRAM, "flow", *arguments]
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, "^attractor: .*No space left on device.*\n$")

    def test_lost_standard_output_is_one_sentence(self):
        """More than a buffer of text, so that it is lost in the middle: behind a full disk, a closed stream, a reader that left."""
        for redirect, says in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor"), ("", "Broken pipe")):
            with self.subTest(redirect):
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run(["bash", "-c", f'"$0" manual --form json {redirect}', program.PROGRAM], stdout=writer, stderr=subprocess.PIPE, text=True)
                os.close(writer)
                self.assertEqual((done.returncode, done.stderr), (2, f"attractor: cannot write to standard output: {says}\n"))

    def test_closed_streams_do_not_become_files_of_the_run(self):
        command = f"{program.PROGRAM} flow --tokens 4 --time 1 --out run"
        for redirect in ("", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
            shutil.rmtree(self.directory / "run", ignore_errors=True)
            subprocess.run(["bash", "-c", f"{command} {redirect}"], cwd=self.directory, capture_output=True)
            kept = {p.name: p.read_bytes() for p in (self.directory / "run").iterdir() if p.name in ("result.h5", "run.toml", "index.html")}
            if redirect == "":
                whole = kept
            self.assertEqual(len(kept), 3)
            self.assertEqual(kept, whole, redirect)


class Places(program.ProgramTest):
    """Where the program cannot work it says so in one sentence of its own."""

    def test_a_working_directory_that_is_not_utf8(self):
        place = os.fsencode(self.directory) + b"/caf\xe9"
        os.mkdir(place)
        done = subprocess.run([program.PROGRAM, "reduce", "pair", "--beta", "4", "--out", "x"], cwd=place, capture_output=True)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
        self.assertIn(b"is not UTF-8", done.stderr)
        self.assertEqual(os.listdir(place), [])

    def test_a_full_standard_output(self):
        for words in (("flow", "--help-all"), ("reduce", "pair", "--beta", "4")):
            with open("/dev/full", "w") as full:
                done = subprocess.run([program.PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    program.main()
