"""Training problems through the command line: what `attractor problem` writes is what Python reads, in every format,
and a file that is no problem is refused by `attractor select` with exit status 2 and one sentence."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402

import json
import subprocess

import bad_input
import h5py
import numpy as np

NAMES = {
    # name: shape of X by default
    "single-equal": (1, 3, 3), "single-local": (1, 3, 3), "multi": (3, 7, 3), "authors-like": (3, 7, 3),
    "counterexample": (3, 4, 7), "joint-tight": (3, 2, 2), "joint-relaxed": (3, 2, 2), "losses": (2, 2, 3),
    "random": (6, 8, 10), "self-attention": (6, 8, 10), "contextual": (20, 10, 20), "multi-token": (6, 8, 10),
    "selectable": (20, 10, 20),
}  # fmt: skip
NAN, INF = float("nan"), float("inf")


def problem(*arguments, **options):
    return program.attractor("problem", *arguments, **options)


def read_json(path):
    return {name: np.array(value, dtype=float) for name, value in json.loads(path.read_text()).items()}


def read_hdf5(path):
    with h5py.File(path) as file:
        return {name: file[name][()] for name in file}


def read_npy(path):
    return {file.stem: np.load(file) for file in path.iterdir()}


class Writing(bad_input.Refusal):
    def written(self, *arguments, out):
        run = problem(*arguments, "--out", out, cwd=self.directory)
        self.assertEqual((run.status, run.out, run.err), (0, "", ""))
        return self.directory / out

    def test_lists_every_example_with_help_and_shape(self):
        run = problem("--list")
        self.assertEqual(run.status, 0, run.err)
        lines = {line.split()[0]: line for line in run.out.splitlines()}
        self.assertEqual(set(lines), set(NAMES))
        for name, shape in NAMES.items():
            self.assertTrue(lines[name].endswith(" x ".join(map(str, shape))), lines[name])
            self.assertGreater(len(lines[name].split()), 8, "no help")

    def test_every_example_is_the_same_in_every_format(self):
        for name, shape in NAMES.items():
            with self.subTest(name):
                arguments = (name, "--seed", 3, "--queries", "unit")
                run = problem(*arguments)
                self.assertEqual((run.status, run.err), (0, ""))
                by_json = read_json(self.written(*arguments, out=f"{name}.json"))
                self.assertEqual((self.directory / f"{name}.json").read_text(), run.out)
                by_hdf5 = read_hdf5(self.written(*arguments, out=f"{name}.h5"))
                by_npy = read_npy(self.written(*arguments, out=f"{name}/"))
                self.assertEqual(by_json["X"].shape, shape)
                self.assertEqual(set(by_json), set(by_hdf5))
                self.assertEqual(set(by_json), set(by_npy))
                for key, value in by_json.items():
                    self.assertEqual(value.tobytes(), by_hdf5[key].tobytes(), key)
                    self.assertEqual(value.tobytes(), by_npy[key].tobytes(), key)
        self.assertEqual([p for p in self.directory.rglob("*") if "partial" in p.name], [])

    def test_select_takes_every_format(self):
        answers = []
        for out in ("p.json", "p.h5", "p.hdf5", "p/"):
            self.written("single-local", out=out)
            run = program.attractor("select", out, "--json", cwd=self.directory)
            self.assertEqual(run.status, 0, run.err)
            answers.append({k: v for k, v in run.json.items() if not isinstance(v, (float, dict, str))})
        self.assertEqual(answers[1:], answers[:-1])

    def test_the_papers_single_input(self):
        p = problem("single-equal").json
        self.assertEqual(p["X"], [[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0.9]]])
        self.assertEqual((p["Y"], p["v"]), ([1], [0, 0, 1]))
        self.assertEqual(p["W"], [[1, 0, 0], [0, 1, 0], [0, 0, 0]])

    def test_seeds_decide(self):
        one, again, other = (problem("random", "--seed", seed).out for seed in (1, 1, 2))
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)

    def test_sizes_and_options(self):
        sizes = ("--inputs", 5, "--tokens", 4, "--dim", 6)
        x, y, v = (np.array(problem("contextual", *sizes, "--noise", 0, "--delta", 2).json[k]) for k in "XYv")
        self.assertEqual(x.shape, (5, 4, 6))
        gamma = y[:, None] * (x @ v)
        relevant = gamma > 0.5
        self.assertTrue((relevant.sum(axis=1) == 1).all())
        np.testing.assert_allclose(gamma, relevant, atol=1e-14)
        np.testing.assert_allclose(np.linalg.norm(x, axis=2), np.where(relevant, np.sqrt(2), 2), rtol=1e-14)
        self.assertEqual(problem("losses", "--score", 7).json["X"][0][1], [1, 1, 7])

    def test_full_disk_leaves_nothing(self):
        for out in ("p.json", "p.h5", "p/"):
            with self.subTest(out):
                run = problem("contextual", "--out", out, cwd=self.directory, **bad_input.limited(1000))
                self.one_sentence(run, "p")
                self.assertEqual(list(self.directory.iterdir()), [])

    def test_full_standard_output_is_an_error(self):
        for arguments in (["random"], ["random", "--inputs", "100"], ["--list"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                command = [program.PROGRAM, "problem", *arguments]
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, "^attractor: .*No space left on device.*\n$")


@bad_input.named_tests("refuses", {
    # name: (arguments, words the sentence must contain)
    "no_name": ([], ["name", "--list"]),
    "an_unknown_name": (["xor"], ["xor", "single-equal", "selectable"]),
    "two_names": (["multi", "random"], ["random"]),
    "inputs_it_cannot_have": (["single-equal", "--inputs", "2"], ["inputs", "2", "single-equal has 1"]),
    "tokens_it_cannot_have": (["multi", "--tokens", "8"], ["tokens", "8", "multi has 7"]),
    "one_token": (["random", "--tokens", "1"], ["tokens", "1", "at least 2"]),
    "two_dimensions": (["selectable", "--dim", "2"], ["dim", "2", "at least 3"]),
    "negative_inputs": (["random", "--inputs", "-1"], ["inputs", "-1", "0 to 268435456"]),
    "fractional_tokens": (["random", "--tokens", "2.5"], ["tokens", "2.5", "whole number"]),
    "too_large_a_dimension": (["random", "--dim", "16385"], ["dim", "16385", "0 to 16384"]),
    "too_many_numbers": (["random", "--inputs", "1e6", "--tokens", "1e6", "--dim", "100"],
                         ["1000000", "at most 268435456"]),
    "a_negative_seed": (["random", "--seed", "-1"], ["seed", "-1", "2^64 - 1"]),
    "negative_noise": (["multi", "--noise", "-0.1"], ["noise", "-0.1", "0 to 1000000"]),
    "noise_of_nan": (["multi", "--noise", "nan"], ["noise", "nan"]),
    "infinite_score": (["losses", "--score", "inf"], ["score", "inf"]),
    "a_fraction_above_1": (["contextual", "--relevant", "1.1"], ["relevant", "1.1", "0 to 1"]),
    "no_margin": (["selectable", "--margin", "0"], ["margin", "'0'", "1e-06"]),
    "unknown_queries": (["random", "--queries", "all"], ["queries", "all", "none, unit"]),
    "an_unknown_flag": (["random", "--heads", "2"], ["--heads"]),
    "out_without_a_value": (["random", "--out"], ["--out"]),
    "out_followed_by_a_flag": (["random", "--out", "--list"], ["--out", "--list"]),
    "an_empty_out": (["random", "--out", ""], ["out is empty; it needs a name"]),
    "an_unknown_ending": (["random", "--out", "p.txt"], ["p.txt", ".json", ".h5", ".npy"]),
    "a_directory_that_is_not": (["random", "--out", "none/p.json"], ["none/p.json", "No such file"]),
    "a_directory_in_use": (["random", "--out", "./"], ["exists", "new or empty"]),
    "a_file_as_directory": (["random", "--out", "kept/"], ["kept"]),
})  # fmt: skip
class Arguments(bad_input.Refusal):
    def check(self, arguments, says):
        self.file("kept", "not ours")
        self.one_sentence(problem(*arguments, cwd=self.directory), *says)
        self.assertEqual(bad_input.tree(self.directory), {"kept": b"not ours"})


GOOD = {"X": [[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]], [[2.0, 1.0], [1.0, 0.5], [0.0, 3.0]]], "Y": [1.0, -1.0],
        "v": [1.0, 0.5]}  # fmt: skip

# name: (what is changed; None: taken away, words the sentence must contain), in every format
MISFITS = {
    "without_X": ({"X": None}, ["X is missing"]),
    "without_Y": ({"Y": None}, ["Y is missing"]),
    "without_v": ({"v": None}, ["v is missing"]),
    "X_of_rank_2": ({"X": [[1.0, 2.0], [3.0, 4.0]]}, ["X", "(2, 2)", "(n, T, d)"]),
    "X_of_one_token": ({"X": [[[1.0, 2.0]], [[3.0, 4.0]]]}, ["1 token", "at least 2"]),
    "Y_too_long": ({"Y": [1.0, 1.0, 1.0]}, ["Y", "(3)", "(n) = (2)"]),
    "Y_of_rank_0": ({"Y": 1.0}, ["Y", "()", "(n) = (2)"]),
    "Y_of_rank_2": ({"Y": [[1.0], [1.0]]}, ["Y", "(2, 1)", "(n) = (2)"]),
    "v_too_short": ({"v": [1.0]}, ["v", "(1)", "(d) = (2)"]),
    "W_not_square": ({"W": [[1.0, 0.0]]}, ["W", "(1, 2)", "(d, d) = (2, 2)"]),
    "z_of_other_n": ({"z": [[1.0, 0.0]]}, ["z", "(1, 2)", "(n, d) = (2, 2)"]),
    "p0_too_long": ({"p0": [1.0, 2.0, 3.0]}, ["p0", "(3)", "(d) = (2)"]),
    "K_without_Q": ({"K": [[1.0], [2.0]]}, ["K and Q", "both or none"]),
    "K_and_Q_of_other_rank": ({"K": [[1.0], [2.0]], "Q": [[1.0, 2.0], [3.0, 4.0]]}, ["Q", "(2, 2)", "(d, r) = (2, 1)"]),
    "x_for_X": ({"X": None, "x": GOOD["X"]}, ["x", "unknown", "X"]),
    "P0_for_p0": ({"P0": [1.0, 2.0]}, ["P0", "unknown", "p0"]),
    "numbers_beyond_1e150": ({"v": [1e200, 0.0]}, ["1e150"]),
}
NOT_FINITE = {
    "nan_in_X": ({"X": [[[1.0, NAN], [3.0, 4.0]]] * 2}, ["X", "number 1", "nan", "finite"]),
    "inf_in_v": ({"v": [1.0, -INF]}, ["v", "number 1", "-inf", "finite"]),
}


class Reading(bad_input.Refusal):
    def select_refused(self, file, says):
        before = bad_input.tree(self.directory)
        self.one_sentence(program.attractor("select", file, "--json", cwd=self.directory), *says)
        self.assertEqual(bad_input.tree(self.directory), before)

    def changed(self, change):
        return {name: value for name, value in (GOOD | change).items() if value is not None}

    def accepted(self, file):
        run = program.attractor("select", file, "--json", cwd=self.directory)
        self.assertIn(run.status, (0, 3), run.err)  # read; whether training then settles is another matter


@bad_input.named_tests("refuses", MISFITS)
class Json(Reading):
    def check(self, change, says):
        self.select_refused(self.file("p.json", json.dumps(self.changed(change))), ["p.json", *says])

    def test_takes_what_the_others_change(self):
        self.accepted(self.file("p.json", json.dumps(GOOD | {"runs": [None, {"X": "what records carry"}]})))

    def test_refuses_tokens_that_nothing_tells_apart(self):
        same = GOOD | {"X": [[[1.0, 2.0], [1.0, 2.0]]] * 2}
        self.select_refused(self.file("p.json", json.dumps(same)), ["input 0", "tokens 0 and 1"])

    def test_refuses_text_that_is_no_problem(self):
        for name, (text, says) in {
            "empty": ("", ["not a JSON object"]),
            "list": ("[1]", ["not a JSON object"]),
            "binary": (b"\x00\xff\xfe\x93", ["not a JSON object", "byte"]),
            "nan": (json.dumps(GOOD).replace("4.0", "NaN"), ["byte"]),
            "overflow": (json.dumps(GOOD).replace("4.0", "1e999"), ["too large"]),
            "ragged": (json.dumps(GOOD).replace("[3.0, 4.0]", "[3.0]"), ["X", "1 entries", "2"]),
            "text": (json.dumps(GOOD).replace("4.0", '"four"'), ["X", "number", "four"]),
            "line_break": (json.dumps(GOOD).replace("4.0", '"a\\nb"'), ["X", "number"]),
            "twice": (json.dumps(GOOD)[:-1] + ', "v": [1, 2]}', ["v is there twice"]),
            "activation": (json.dumps(GOOD | {"head": {"activation": "cube"}}), ["cube", "relu"]),
            "head": (json.dumps(GOOD | {"head": {"bias": [1, 2]}}), ["head", "bias", "lambda"]),
            "deep": ('{"X": ' + "[" * 1_000_000, ["X", "3 levels"]),
            "deep_elsewhere": ('{"other": ' + "[" * 1_000_000, ["not a JSON object"]),
        }.items():
            with self.subTest(name):
                self.select_refused(self.file("p.json", text), ["p.json", *says])

    def test_refuses_every_truncation(self):
        text = json.dumps(GOOD)
        for size in range(0, len(text), 9):
            self.select_refused(self.file("p.json", text[:size]), ["p.json", "not a JSON object"])

    def test_refuses_what_is_no_file(self):
        self.select_refused("none.json", ["none.json", "no such file"])
        self.select_refused("/dev/null", ["/dev/null", "not a file"])


@bad_input.named_tests("refuses", MISFITS | NOT_FINITE)
class Npy(Reading):
    def check(self, change, says):
        self.write(self.changed(change))
        self.select_refused("data", ["data", *says])

    def write(self, arrays):
        (self.directory / "data").mkdir()
        for name, value in arrays.items():
            np.save(self.directory / "data" / f"{name}.npy", value)

    def test_takes_integers_column_major_arrays_and_other_files(self):
        self.write(GOOD | {"X": np.asfortranarray(GOOD["X"]), "Y": np.array([1, -1], dtype="i1")})
        self.file("data/notes.txt", "not read")
        self.accepted("data")

    def test_refuses_broken_arrays(self):
        self.write(GOOD)
        whole = (self.directory / "data" / "X.npy").read_bytes()
        for content, says in (
            (whole[:-1], ["truncated"]),
            (whole[:60], ["X.npy"]),
            (b"", ["signature"]),
            (bad_input.npy((1 << 32, 1 << 32, 4), b""), ["elements"]),
            (bad_input.npy((0, 3, 2), b""), ["X", "(0, 3, 2)", "(n, T, d)"]),
            (bad_input.npy((1, 1, 1), b"\0" * 8, "|O"), ["X.npy", "|O"]),
        ):
            self.file("data/X.npy", content)
            self.select_refused("data", ["data", *says])

    def test_refuses_an_empty_directory(self):
        self.write({})
        self.select_refused("data", ["data: X is missing"])


@bad_input.named_tests("refuses", MISFITS | NOT_FINITE)
class Hdf5(Reading):
    def check(self, change, says):
        self.write(self.changed(change))
        self.select_refused("p.h5", ["p.h5", *says])

    def write(self, arrays, **attributes):
        with h5py.File(self.directory / "p.h5", "w") as file:
            for name, value in arrays.items():
                file[name] = value
            for name, value in attributes.items():
                file["head"].attrs[name] = value

    def test_takes_heads_with_attributes(self):
        self.write(GOOD | {"head/b": [0.5, 0.5]}, activation="relu", **{"lambda": 0})
        self.accepted("p.h5")

    def test_refuses_heads_that_do_not_say_all(self):
        bias = GOOD | {"head/b": [0.5, 0.5]}
        for arrays, attributes, says in (
            (bias, {}, ["activation", "lambda"]),
            (bias, {"activation": "relu"}, ["activation", "lambda"]),
            (bias, {"activation": 1, "lambda": 0}, ["activation", "a text"]),
            (bias, {"activation": "relu", "lambda": "0"}, ["lambda", "a number"]),
            (bias, {"activation": "cube", "lambda": 0}, ["cube", "relu"]),
            (GOOD | {"head/b": [0.5]}, {"activation": "relu", "lambda": 0}, ["head/b", "(1)", "(h) = (2)"]),
            (GOOD | {"head/U": [[1.0, 2.0]]}, {"activation": "relu", "lambda": 0}, ["v", "(2)", "(h) = (1)"]),
            (GOOD | {"Head/b": [0.5, 0.5]}, {}, ["Head", "unknown", "head"]),
        ):
            self.write(arrays, **attributes)
            self.select_refused("p.h5", ["p.h5", *says])

    def test_refuses_what_is_not_numbers(self):
        self.write(GOOD | {"W": np.array([b"a", b"b"])})
        self.select_refused("p.h5", ["p.h5", "W", "neither floats nor integers"])
        self.write(GOOD | {"W/of": 1.0})
        self.select_refused("p.h5", ["p.h5", "W", "not a dataset"])

    def test_refuses_shapes_that_were_never_stored(self):
        with h5py.File(self.directory / "p.h5", "w") as file:
            file.create_dataset("X", (1 << 20, 16, 16), "f8", chunks=(1024, 16, 16))
        self.select_refused("p.h5", ["p.h5", "X"])

    def test_refuses_every_truncation(self):
        self.write(GOOD)
        whole = (self.directory / "p.h5").read_bytes()
        for size in (4, 100, len(whole) // 2, len(whole) - 1):
            self.select_refused(self.file("p.h5", whole[:size]), ["p.h5"])


if __name__ == "__main__":
    program.main()
