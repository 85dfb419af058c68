"""A short call of every command, in a directory with what it reads. Options are put into them, threads, locales and limits around them."""
import shutil
import subprocess

import numpy

import seeds

POINTS, FLOWS = "points.npy", ("first", "second")
CALLS = {
    "flow": ["flow", "--tokens", "24", "--dim", "3", "--beta", "2", "--time", "2"],
    "select": ["select", "data.json", "--steps", "50"],
    "bridge": ["bridge", "data.json", "--tokens", "6", "--checkpoints", "2", "--log10-time", "3", "--time", "1"],
    "reduce equiangular": ["reduce", "equiangular", "--tokens", "1e12", "--beta", "2", "--log10-time", "4"],
    "reduce pair": ["reduce", "pair", "--beta", "30", "--degrees", "80"],
    "reduce clusters": ["reduce", "clusters", "--shape", "simplex", "--count", "4", "--beta", "9", "--cosine", "-0.1"],
    "stability": ["stability", "--dim", "2", "--beta", "12"],
    "context": ["context", "--tokens", "1000", "--rho", "0.4", "--layers", "3"],
    "forecast": ["forecast", "--depth", "12", "--levels", "0.5,0.9"],
    "meanfield": ["meanfield", "--beta", "3", "--start", "vmf", "--centres=-1,1", "--time", "0.5"],
    "stationary": ["stationary", "--beta", "3"],
    "phase": ["phase", "--dim", "3", "--beta", "1:2:3", "--replicates", "4", "--tokens", "8", "--time", "1"],
    "cluster": ["cluster", POINTS, "--space", "sphere", "--beta", "20"],
    "compare": ["compare", *FLOWS],
    "measure": ["measure", POINTS, "--beta", "2"],
    "architect": ["architect", "config.json"],
    "inspect": ["inspect", "model.bin", "--text", "texts.txt", "--nulls", "1"],
    "film": ["film", "first", "--out", "film.svg", "--seconds", "0.5"],
    "sweep": ["sweep", "study.toml"],
    "merge": ["merge", "swept"],
    "problem": ["problem", "single-local"],
    "reproduce": ["reproduce", "pairing", "--quick"],
    "completion": ["completion", "bash"],
    "manual": ["manual", "flow"],
}
NO_JSON = {"film", "problem", "completion", "manual"}
NEEDS_OUT = {"sweep", "merge"}
# Those that compute and keep a directory with result.h5.
KEPT = [name for name in CALLS if name not in NO_JSON | {"reproduce"}]


def words(name, *more, out=None):
    """The call with --json, and --out if it is wanted or must be."""
    given = CALLS[name] + list(more)
    if out or name in NEEDS_OUT:
        given = given + ["--out", out or "out"]
    return given + ([] if name in NO_JSON else ["--json"])


def prepare(program, place):
    """What the calls read."""
    place.mkdir(parents=True)
    numpy.save(place / POINTS, numpy.random.default_rng(3).normal(size=(20, 3)))
    (place / "study.toml").write_text(seeds.STUDY)
    for name in ("model.bin", "texts.txt", "config.json"):
        shutil.copy(seeds.DATA / name, place / name)
    made = [["problem", "single-local", "--out", "data.json"], ["sweep", "study.toml", "--out", "swept"]]
    made += [["flow", "--tokens", "6", "--time", "1", "--seed", str(k), "--no-figures", "--out", name] for k, name in enumerate(FLOWS)]
    for given in made:
        subprocess.run([program, *given], cwd=place, check=True, capture_output=True, timeout=120)
    return place


def copied(prepared, place):
    shutil.copytree(prepared, place)
    return place
