"""What is no single command: sweeps over parameters, the papers' results run again, training problems of the papers."""
import json
import math
import os
import shutil
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from .commands import parameter_help, settings
from .progress import Progress, Reporter
from .results import Path, Result, finished, place_of

list_ = list  # sweep has a keyword of that name
_PROBLEM = json.loads(_core.problem_parameters())


# ---- Sweeps.

def _toml_value(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        x = float(value)
        return repr(x) if math.isfinite(x) else "inf" if x > 0 else "-inf" if x < 0 else "nan"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    raise ValueError(f"a study holds '{value}'; allowed: numbers, texts, lists and dicts of them")


def _toml(study: Mapping[str, Any]) -> str:
    """A study as the text of study.toml; keywords have the names of flags."""
    tables = ("fixed", "grid", "list", "latin", "stop")
    lines = [f"{k} = {_toml_value(v)}" for k, v in study.items() if k not in tables and k != "figure" and v is not None]
    for name in tables:
        if study.get(name) is not None:
            if not isinstance(study[name], Mapping):
                raise ValueError(f"{name} = '{study[name]}' is not allowed; allowed: a dict of parameters")
            lines += [f"[{name}]", *(f"{json.dumps(str(k).replace('_', '-') if name != 'stop' else str(k))} = {_toml_value(v)}"
                                     for k, v in study[name].items())]
    figures = study.get("figure")
    for figure in figures if figures is not None else []:
        if not isinstance(figure, Mapping):
            raise ValueError(f"figure holds '{figure!r:.60}'; allowed: dicts")
        lines += ["[[figure]]", *(f"{k} = {_toml_value(v)}" for k, v in figure.items())]
    return "\n".join(lines) + "\n"


def sweep(command: str = "flow", *, measure: Sequence[str] = (), fixed: Optional[Mapping[str, Any]] = None,
          grid: Optional[Mapping[str, Any]] = None, list: Optional[Mapping[str, Any]] = None, latin: Optional[Mapping[str, Any]] = None,
          replicates: int = 1, seed: int = 0, stop: Optional[Mapping[str, Any]] = None, figure: Sequence[Mapping[str, Any]] = (),
          study: Optional[Path] = None, out: Optional[Path] = None, resume: Optional[Path] = None, shard: str = "", workers: int = 0,
          progress: Progress = None, throw: bool = True, **more: Any) -> Result:
    """Any command over a grid, a list or a Latin hypercube of its parameters, with replicates and confidence intervals::

        r = attractor.sweep("flow", measure=["clusters"], fixed={"dim": 2, "time": 20}, grid={"beta": [1, 4, 9]}, replicates=8)
        r.points.beta, r.points["clusters"]

    Keywords are the keys of a study (docs/howto/sweeps.md); `study` names such a TOML file instead. `out` keeps the sweep in a
    directory, from which `resume` continues it after whatever ended it; `shard="3/8"` runs a part (see `merge`).
    """
    if not isinstance(shard, str):
        raise ValueError(f"shard = '{shard!r:.60}' is not allowed; allowed: I/K")
    if not isinstance(workers, (int, np.integer)) or not 0 <= workers <= 4096:
        raise ValueError(f"workers = '{workers!r:.60}' is not allowed; allowed: whole number, 0 to 4096")
    if resume is not None:
        text, place = "", place_of(resume, "resume")
    elif study is not None:
        with open(place_of(study, "study"), encoding="utf-8") as file:
            text = file.read()
    else:
        if not isinstance(measure, (list_, tuple)):
            raise ValueError(f"measure = '{measure!r:.60}' is not allowed; allowed: a list of names")
        keys = {"command": command, "measure": [*measure] or None, "replicates": replicates, "seed": seed, **more, "fixed": fixed,
                "grid": grid, "list": list, "latin": latin, "stop": stop, "figure": figure}
        text = _toml(keys)
    kept = resume is not None or out is not None
    if resume is None:
        place = place_of(out, "out") if out is not None else os.path.join(tempfile.mkdtemp(prefix="attractor-"), "sweep")
    try:
        with Reporter(progress) as tell:
            outcome = _core.sweep(text, place, shard, int(workers), tell)
        return finished(outcome, throw)
    finally:
        if not kept:
            shutil.rmtree(os.path.dirname(place), ignore_errors=True)


def merge(parts: Sequence[Path], out: Path) -> Result:
    """The whole sweep of all its shards."""
    if isinstance(parts, (str, bytes)) or not isinstance(parts, Sequence):
        raise ValueError(f"parts = '{parts!r:.60}' is not allowed; allowed: a list of directories")
    return finished(_core.merge([place_of(p, "parts") for p in parts], place_of(out, "out")), False)


# ---- Papers.

def _require_word(value: Any, name: str) -> None:
    if not isinstance(value, str) or not value.isascii():
        raise ValueError(f"{name} = '{value!r:.60}' is not allowed; allowed: a name")


def catalogue() -> List[Dict[str, str]]:
    """Every published figure and claim that `reproduce` runs again: id, title, source, what it shows."""
    entries: List[Dict[str, str]] = json.loads(_core.catalogue())
    return entries


def reproduce(id: str, *, quick: bool = False, progress: Progress = None, throw: bool = True) -> Union[Result, List[Result]]:
    """A published result, run again and compared: ``r.agrees``, ``r.verdict``, ``r.checks``. quick: smaller sizes. id "all": a
    list of all of them. A verdict that differs is a result, not an error."""
    _require_word(id, "id")
    if id == "all":
        return [r for e in catalogue() for r in [reproduce(e["id"], quick=quick, progress=progress, throw=throw)] if isinstance(r, Result)]
    with Reporter(progress) as tell:
        outcome, verdict = _core.reproduce(id, bool(quick), tell)
    facts = json.loads(verdict)
    return finished(outcome, throw, {k: facts[k] for k in ("id", "title", "source", "agrees", "failed", "state", "verdict")})


# ---- Training problems.

def problems() -> List[Dict[str, Any]]:
    """The training problems of the papers: name, what it is, usual numbers of inputs, tokens and dimensions."""
    entries: List[Dict[str, Any]] = json.loads(_core.problems())
    return entries


def problem(name: str, **keywords: Any) -> Dict[str, Any]:
    _require_word(name, "name")
    arrays, activation = _core.problem(name, settings(_PROBLEM, keywords, "problem"))
    made: Dict[str, Any] = {k: v for k, v in arrays.items() if not k.startswith("head/")}
    head = {k[5:]: v for k, v in arrays.items() if k.startswith("head/")}
    if head:
        made["head"] = {**head, "activation": activation}
    return made


problem.__doc__ = """A training problem of the papers as a dict of arrays: X (inputs, tokens, d), Y, v and what else it has (W, z, p0, K,
Q, head). `select` and `bridge` take it, changed or not, as `data`.
""" + parameter_help(_PROBLEM)
