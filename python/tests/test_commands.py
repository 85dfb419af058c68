"""Commands are those of the program: the same list, the same bits, the same sentences."""
import inspect
import json
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT, unit_rows

import attractor
from attractor import commands

# Every engine, space, rule, stepper and kind of weights at least once.
SETTINGS = [
    dict(tokens=24, dim=3, beta=9, time=math.inf),
    dict(tokens=40, dim=2, beta=4, time=5, engine="circle"),
    dict(tokens=40, dim=3, beta=4, time=3, engine="sphere", accuracy=1e-9),
    dict(tokens=60, dim=5, beta=1, time=2, engine="moments"),
    dict(tokens=40, dim=16, beta=2, time=1, engine="dense", precision="single", tolerance=1e-4),
    dict(tokens=16, dim=4, dynamics="usa", beta=3, time=0.5, stepper="adaptive8", tolerance=1e-10),
    dict(tokens=12, dim=4, heads=2, query="gaussian", key="gaussian", norm="pre", mask="causal", time=3),
    dict(tokens=12, dim=3, stepper="layers", step=0.1, beta=5, time=4),
    dict(tokens=16, dim=3, noise=0.1, step=0.05, time=1),
    dict(tokens=10, dim=3, space="euclidean", dynamics="radial", kernel="cauchy", time=2),
    dict(tokens=8, dim=3, dynamics="sinkhorn", feed_forward="gelu", width=5, stepper="rk4", step=0.1, time=1),
]


def words_of(settings):
    words = []
    for name, value in settings.items():
        words += ["--" + name.replace("_", "-")] + ([] if value is True else ["inf" if value == math.inf else str(value)])
    return words


def called(name):
    place = attractor
    for part in name.split():
        place = getattr(place, commands.python_name(part))
    return place


def test_every_command_of_the_program_is_there(program):
    listed = program("--help").stdout
    for command in commands.REGISTRY:
        assert f"  {command['name']}" in listed
        assert callable(called(command["name"]))
    for name in ("sweep", "reproduce", "merge", "problem"):
        assert f"  {name}" in listed
        assert callable(getattr(attractor, name))
    assert len(commands.REGISTRY) >= 15


@pytest.mark.parametrize("command", commands.REGISTRY, ids=lambda c: c["name"])
def test_parameters_are_those_of_the_help(command, program):
    text = program(*command["name"].split(), "--help-all").stdout or program(*command["name"].split(), "--help").stdout
    signature = inspect.signature(called(command["name"]))
    for p in command["parameters"]:
        name = commands.python_name(p["name"])
        assert p["positional"] or f"--{p['name']}" in text
        assert signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert name in called(command["name"]).__doc__
    assert command["about"] in called(command["name"]).__doc__
    for line in called(command["name"]).__doc__.splitlines():
        if line.startswith(">>> "):
            compile(line[4:], "example", "eval")


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: " ".join(words_of(s))[:40])
def test_flow_has_the_bits_of_the_program(settings, program, tmp_path):
    done = program("flow", *words_of(settings), "--out", tmp_path / "program", "--quiet", "--no-figures", "--json")
    assert done.returncode == 0, done.stderr
    result = attractor.flow(**settings)
    result.save(tmp_path / "python", figures=False)
    assert (tmp_path / "python/result.h5").read_bytes() == (tmp_path / "program/result.h5").read_bytes()
    ours, theirs = json.loads((tmp_path / "python/summary.json").read_text()), json.loads(done.stdout)
    for summary in (ours, theirs):
        summary.pop("wall_seconds")
    assert ours == theirs
    loaded = attractor.load(tmp_path / "program")
    for path, array in result.arrays.items():
        np.testing.assert_array_equal(loaded.arrays[path], array)


OTHERS = [
    ("select", dict(data="example:multi", steps=50, local=True)),
    ("reduce pair", dict(beta=9)),
    ("stability", dict(dim=2, beta=9)),
    ("forecast", dict(depth=12, norm="pre", beta=8, tokens=512)),
    ("context", dict(advise=True, tokens=4096, rho=0.6, trained_tokens=1024)),
    ("phase", dict(dim=2, beta="1:9:3", replicates=64, outputs=5)),
    ("meanfield", dict(beta=4, time=0.5, outputs=3)),
]


@pytest.mark.parametrize("name,settings", OTHERS, ids=[name for name, _ in OTHERS])
def test_other_commands_too(name, settings, program, tmp_path):
    flags = [w for k, v in settings.items() if k != "data" for w in words_of({k: v})]
    first = [settings["data"]] if "data" in settings else []
    done = program(*name.split(), *first, *flags, "--out", tmp_path / "program", "--quiet", "--no-figures")
    assert done.returncode == 0, done.stderr
    called(name)(**settings).save(tmp_path / "python", figures=False)
    assert (tmp_path / "python/result.h5").read_bytes() == (tmp_path / "program/result.h5").read_bytes()


BAD = [
    ("flow", dict(tokens=0)), ("flow", dict(beta=-21)), ("flow", dict(beta="much")), ("flow", dict(dynamics="softmax")),
    ("flow", dict(tokens=3.5)), ("flow", dict(seed=-1)), ("flow", dict(time=-1)), ("flow", dict(rho=0.5)),
    ("flow", dict(step=-1, stepper="rk4")), ("flow", dict(time=math.inf, space="euclidean")), ("flow", dict(query="random")),
    ("flow", dict(engine="circle", dim=3)), ("flow", dict(tokens=10**7, dim=60000)), ("flow", dict(angles="1,x", init="angles")),
    ("reduce equiangular", dict(tokens=1)), ("phase", dict(beta="0.1:9:1e9")), ("cluster", dict()), ("select", dict()),
]


@pytest.mark.parametrize("name,settings", BAD, ids=[f"{n} {s}"[:40] for n, s in BAD])
def test_bad_input_is_refused_with_the_sentence_of_the_program(name, settings, program):
    done = program(*name.split(), *words_of(settings))
    assert done.returncode == 2
    with pytest.raises(ValueError) as error:
        called(name)(**settings)
    assert f"attractor: {error.value}\n" == done.stderr


@pytest.mark.parametrize("value", [[1, 2], {}, None, 1 + 2j, np.nan, object(), "\ud800", b"4", True, np.complex64(1)])
def test_values_of_other_types_are_refused_too(value):
    if value is None:  # as if it were not given
        assert attractor.flow(tokens=4, time=0, beta=None).beta == 1
        return
    with pytest.raises(ValueError, match="^beta "):
        attractor.flow(tokens=4, time=0, beta=value)


def test_a_parameter_that_does_not_exist_is_no_keyword():
    with pytest.raises(TypeError, match="flow.. has no parameter 'tokns'; tokens is meant, perhaps"):
        attractor.flow(tokns=4)
    with pytest.raises(TypeError):
        attractor.flow(4)


def test_numbers_of_numpy_and_none_will_do():
    plain = attractor.flow(tokens=8, beta=2.5, time=1, seed=3)
    numpy = attractor.flow(tokens=np.int32(8), beta=np.float32(2.5), time=np.array(1), seed=np.uint8(3), merge_radius=None, engine=None)
    np.testing.assert_array_equal(plain["snapshots/positions"], numpy["snapshots/positions"])
    assert numpy.command == plain.command


def test_arrays_stand_for_files(program, tmp_path, rng):
    x, q, v = unit_rows(rng, 12, 4), rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4, 4))
    for name, array in (("x", x), ("q", q), ("v", v)):
        np.save(tmp_path / f"{name}.npy", array)
    done = program("flow", "--init", "file", "--tokens-file", "x.npy", "--heads", 2, "--rank", 3, "--query", "q.npy", "--key", "q.npy",
                   "--value", "v.npy", "--norm", "pre", "--time", 2, "--out", "run", "--quiet", "--no-figures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = attractor.load(tmp_path / "run")
    arrays = attractor.flow(tokens=x, heads=2, rank=3, query=q, key=q, value=v, norm="pre", time=2)
    for path, array in files.arrays.items():
        np.testing.assert_array_equal(arrays.arrays[path], array)
    also = attractor.flow(init="file", tokens_file=str(tmp_path / "x.npy"), heads=2, rank=3, query=tmp_path / "q.npy", key=q, value=v,
                          norm="pre", time=2)
    np.testing.assert_array_equal(also["snapshots/positions"], arrays["snapshots/positions"])


def test_a_run_with_arrays_is_saved_so_that_the_program_repeats_it(program, tmp_path, rng):
    r = attractor.flow(tokens=unit_rows(rng, 9, 3), value=-np.eye(3), time=1)
    r.save(tmp_path / "python", figures=False)
    done = program("flow", "--config", tmp_path / "python/run.toml", "--out", tmp_path / "again", "--quiet", "--no-figures")
    assert done.returncode == 0, done.stderr
    again = attractor.load(tmp_path / "again")
    np.testing.assert_array_equal(again["snapshots/positions"], r["snapshots/positions"])
    problem = attractor.problem("single-local")
    attractor.select(data=problem, steps=20).save(tmp_path / "select", figures=False)
    assert program("select", "--config", tmp_path / "select/run.toml", "--quiet").returncode == 0


def test_a_list_of_texts_is_a_file_with_a_line_for_each(program, tmp_path):
    data = ROOT / "examples" / "data"
    file = attractor.inspect(model=data / "model.bin", text=data / "texts.txt", nulls=1)
    listed = attractor.inspect(model=data / "model.bin", text=(data / "texts.txt").read_text(encoding="utf-8").splitlines(), nulls=1)
    listed.save(tmp_path / "python", figures=False)
    done = program("inspect", "--config", tmp_path / "python/run.toml", "--out", tmp_path / "again", "--quiet", "--no-figures")
    assert done.returncode == 0, done.stderr
    again = attractor.load(tmp_path / "again")
    for path, array in file.arrays.items():
        np.testing.assert_array_equal(listed.arrays[path], array)
        if not isinstance(array, list):
            np.testing.assert_array_equal(again.arrays[path], array)
    assert file.dims("states/mean_cosine") == ("text", "state") and file.dims("heads/beta") == ("text", "layer", "head")
    assert list(file.to_pandas().layer) == [0, 1, 2, 3]
    for text in ([1, 2], {"a"}, ["a", None], ["\ud800"]):
        with pytest.raises(ValueError, match="text"):
            attractor.inspect(model=data / "model.bin", text=text)


def test_problems_go_in_as_arrays(rng):
    named = attractor.select(data="example:multi,seed=3", steps=100)
    given = attractor.select(data=attractor.problem("multi", seed=3), steps=100)
    np.testing.assert_array_equal(named["final/p"], given["final/p"])
    hidden = {"X": rng.normal(size=(3, 4, 2)), "Y": [1, -1, 1], "v": [1.0, -1.0, 0.5],
              "head": {"U": rng.normal(size=(3, 2)), "activation": "relu"}}
    assert attractor.select(data=hidden, steps=10, throw=False).inputs == 3
    with pytest.raises(ValueError, match="data: X has the shape"):
        attractor.select(data={**hidden, "X": [1.0]})
    with pytest.raises(ValueError, match="data: Z is unknown"):
        attractor.select(data={**hidden, "Z": [1.0]})


def test_runs_are_compared_as_results():
    one, two = (attractor.flow(tokens=8, time=2, tolerance=t, seed=1) for t in (1e-6, 1e-10))
    distance = attractor.compare(first=one, second=two)
    assert 0 < distance["largest_token_distance"] < 1e-4 if "largest_token_distance" in distance else len(distance) > 3


def test_what_could_not_be_delivered_is_raised_with_its_remedy():
    with pytest.raises(attractor.NotDelivered, match="too_many_steps at t = .*: raise max-steps") as error:
        attractor.flow(tokens=16, time=10, max_steps=3)
    assert error.value.result.steps == 3 and "raise max-steps" in error.value.remedy
    quiet = attractor.flow(tokens=16, time=10, max_steps=3, throw=False)
    assert not quiet.delivered and quiet.not_delivered == str(error.value)


def test_observables_of_the_caller_are_measured_and_stored(tmp_path):
    def height(x):
        """mean of the first coordinate"""
        return x[:, 0].mean()
    seen = []
    r = attractor.flow(tokens=20, beta=20, time=50, observe={"height": height, "mass": lambda x, masses: masses.sum(),
                                                          "shape": lambda x: seen.append(x.shape) or 0})
    assert set(seen) == {(20, 3)}  # though tokens coalesce
    assert r.distinct_tokens < 20
    np.testing.assert_allclose(r.series.mass, 20)
    np.testing.assert_allclose(r.series.height[-1], r["snapshots/positions"][-1][:, 0].mean(), rtol=1e-12)
    assert r.height == r.series.height[-1]
    r.save(tmp_path / "run", figures=False)
    np.testing.assert_array_equal(attractor.load(tmp_path / "run").series.height, r.series.height)
    with pytest.raises(ZeroDivisionError):
        attractor.flow(tokens=4, observe={"bad": lambda x: 1 / 0})
    with pytest.raises(ValueError, match="observable bad returned"):
        attractor.flow(tokens=4, observe={"bad": lambda x: "text"})
    with pytest.raises(ValueError, match="'clusters' exists already"):
        attractor.flow(tokens=4, observe={"clusters": len})


def test_sweeps_and_papers(tmp_path):
    grid = dict(measure=["clusters"], fixed={"dim": 2, "time": 3, "tokens": 12}, grid={"beta": [1.0, 9.0]}, replicates=3)
    one = attractor.sweep("flow", **grid)
    kept = attractor.sweep("flow", **grid, out=tmp_path / "study")
    np.testing.assert_array_equal(one.points.clusters_mean, kept.points.clusters_mean)
    np.testing.assert_array_equal(attractor.load(tmp_path / "study").points.beta, [1, 9])
    parts = [tmp_path / f"part{k}" for k in (1, 2)]
    for k, part in enumerate(parts):
        attractor.sweep("flow", **grid, out=part, shard=f"{k + 1}/2")
    whole = attractor.merge(parts, tmp_path / "whole")
    np.testing.assert_array_equal(whole.points.clusters_mean, one.points.clusters_mean)
    with pytest.raises(ValueError, match="beta"):
        attractor.sweep("flow", measure=["clusters"], grid={"beta": [-21]})
    with pytest.raises(ValueError, match="cannot be swept"):
        attractor.sweep("flaw", measure=["clusters"], grid={"beta": [1]})
    entry = attractor.reproduce("pairing", quick=True)
    assert entry.agrees and "agrees" in entry.verdict and len(entry.checks.ours) == len(entry.checks.check)
    assert "pairing" in [e["id"] for e in attractor.catalogue()]
    with pytest.raises(ValueError, match="paring"):
        attractor.reproduce("paring")


def test_progress_is_told():
    told = []
    attractor.sweep("flow", measure=["clusters"], fixed={"time": 30, "tokens": 200, "dim": 16}, grid={"beta": [1, 2, 3, 4]},
                    progress=lambda done, note: told.append((done, note)))
    assert told and all(0 <= done <= 1 and "units" in note for done, note in told)
    with pytest.raises(RuntimeError, match="enough"):
        def refuse(done, note):
            raise RuntimeError("enough")
        attractor.flow(tokens=2000, dim=8, time=1000, progress=refuse)
    with pytest.raises(ValueError, match="progress = '3'"):
        attractor.flow(tokens=4, progress=3)


def test_stubs_are_what_the_registry_says():
    done = subprocess.run([sys.executable, ROOT / "tools/python_stubs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_that_are_public_exist():
    for name in attractor.__all__:
        assert getattr(attractor, name) is not None
    assert isinstance(attractor.reduce, SimpleNamespace)
    with pytest.raises(AttributeError):
        attractor.nothing
