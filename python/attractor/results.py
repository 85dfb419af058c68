"""What a command gives: values, arrays with named dimensions, figures, and the directory the command line would leave."""
import json
import math
import os
import pathlib
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _core

if TYPE_CHECKING:
    import pandas
    import xarray

Array = npt.NDArray[Any]
Path = Union[str, "os.PathLike[str]"]

_FACTS = ("remarks", "not_delivered", "version", "command", "wall_seconds", "parameters")  # of a summary, beside values and tables


def place_of(path: Any, name: str) -> str:
    """A path as text that a file system can have."""
    try:
        text = os.fsdecode(path)
        text.encode()
    except (TypeError, UnicodeError):
        text = ""
    if not text or "\0" in text:
        raise ValueError(f"{name} = {path!r:.60} is not allowed; allowed: a path")
    return text


class NotDelivered(ArithmeticError):
    """The numerics could not deliver what was asked. `result` has what there is; the message is the remedy."""

    def __init__(self, remedy: str, result: Any = None) -> None:
        super().__init__(remedy)
        self.remedy = remedy
        self.result = result

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.remedy, self.result)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run. `result` has what there was at that moment."""

    def __init__(self, where: str, result: Any = None) -> None:
        super().__init__(where)
        self.result = result


class Group(Mapping[str, Any]):
    """Arrays of one kind by name, as attributes too: ``r.series.mean_cosine`` is ``r.series["mean_cosine"]``."""

    def __init__(self, name: str, items: Dict[str, Any]) -> None:
        self._name, self._items = name, items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_") or key not in self._items:
            raise AttributeError(f"{self._name} has no {key!r}; it has {', '.join(self._items)}")
        return self._items[key]

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._items]

    def __repr__(self) -> str:
        def shape(x: Any) -> str:
            return repr(x) if isinstance(x, Group) else f"{x.dtype} {x.shape}" if isinstance(x, np.ndarray) else f"{len(x)} texts"
        return f"Group({self._name}: " + ", ".join(f"{k} {shape(v)}" for k, v in self._items.items()) + ")"


def _tree(arrays: Mapping[str, Any]) -> Dict[str, Any]:
    """Paths ("/series/time") into groups within groups."""
    top: Dict[str, Any] = {}
    for path, array in arrays.items():
        *groups, last = path.strip("/").split("/")
        place = top
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = array

    def grouped(name: str, items: Dict[str, Any]) -> Dict[str, Any]:
        return {k: Group(k, grouped(k, v)) if isinstance(v, dict) else v for k, v in items.items()}
    return grouped("", top)


class _Kept:
    """A result without the run behind it: loaded from a directory, or from a pickle."""
    seconds: float
    interrupted = False
    where = ""

    def __init__(self, summary: str, arrays: Dict[str, Any], kind: str, view: str, words: str, directory: Optional[str]) -> None:
        self._summary, self._arrays, self.format, self._view, self._text = summary, arrays, kind, view, words
        self.directory = directory
        facts = json.loads(summary)
        self.not_delivered = facts.get("not_delivered", "")
        self.seconds = facts.get("wall_seconds") or 0.0
        self.name = " ".join(facts.get("command", "").split()[1:2])

    def summary(self) -> str:
        return self._summary

    def arrays(self) -> Dict[str, Any]:
        return self._arrays

    def view(self) -> str:
        return self._view

    def text(self) -> str:
        return self._text

    def svg(self, index: int) -> str:
        names = [f["id"] for f in json.loads(self._view)["figures"]]
        file = pathlib.Path(self.directory or "", "figures", f"{names[index]}.svg") if index < len(names) else None
        return file.read_text(encoding="utf-8") if self.directory and file and file.exists() else ""

    def save(self, directory: str, figures: bool) -> None:
        raise ValueError("a result that was loaded or unpickled is not saved again; its run has the files")


class Result(Mapping[str, Any]):
    """Values by name (``r.clusters``, ``r["clusters"]``), arrays in groups (``r.series.mean_cosine``,
    ``r["series/mean_cosine"]``), tables as groups of columns. ``list(r)`` names all there is."""

    _source: Any
    _made: Dict[str, Any]

    def __init__(self, source: Any, more: Optional[Dict[str, Any]] = None) -> None:
        self._source = source
        self._made = {"more": dict(more or {})}

    # ---- What there is, made when it is first asked for.

    def _once(self, name: str, make: Any) -> Any:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def summary(self) -> Dict[str, Any]:
        """The object that ``--json`` prints."""
        found: Dict[str, Any] = self._once("summary", lambda: json.loads(self._source.summary()))
        return found

    @property
    def arrays(self) -> Dict[str, Any]:
        """Every array (or list of texts) by its path in result.h5, "/series/time"."""
        found: Dict[str, Any] = self._once("arrays", self._source.arrays)
        return found

    @property
    def _values(self) -> Dict[str, Any]:
        """Named numbers and words; None where there is no such number."""
        tables = self._tree
        return {**{k: v for k, v in self.summary.items() if k not in _FACTS and not (k in tables and isinstance(v, list))},
                **self._made["more"]}

    @property
    def _tree(self) -> Dict[str, Any]:
        found: Dict[str, Any] = self._once("tree", lambda: _tree(self.arrays))
        return found

    @property
    def _view(self) -> Dict[str, Any]:
        found: Dict[str, Any] = self._once("view", lambda: json.loads(self._source.view()))
        return found

    @property
    def parameters(self) -> Dict[str, Any]:
        """What was asked: every parameter that the result depends on."""
        found: Dict[str, Any] = self.summary.get("parameters", {})
        return found

    @property
    def command(self) -> str:
        """The command line that repeats it."""
        return str(self.summary.get("command", ""))

    @property
    def remarks(self) -> List[str]:
        return list(self.summary.get("remarks", []))

    @property
    def seconds(self) -> float:
        return float(self._source.seconds)

    @property
    def delivered(self) -> bool:
        """The numerics gave what was asked, and nobody stopped them."""
        return not self.not_delivered and not self.interrupted

    @property
    def not_delivered(self) -> str:
        """What the numerics could not do, and the remedy; empty: nothing."""
        return str(self._source.not_delivered)

    @property
    def interrupted(self) -> bool:
        return bool(self._source.interrupted)

    # ---- Mapping and attributes.

    def __getitem__(self, key: str) -> Any:
        place: Any = self._tree
        try:
            for part in key.strip("/").split("/"):
                place = place[part]
            return place
        except (KeyError, TypeError, IndexError):
            pass
        try:
            return self._values[key]
        except KeyError:
            raise KeyError(f"{key!r} is not in this result; it has {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        yield from (k for k in self._values if k not in self._tree)
        yield from (path.strip("/") for path in self.arrays)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self[key]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values, *self._tree]

    def __reduce__(self) -> Tuple[Any, ...]:
        s = self._source
        kept = (s.summary(), self.arrays, s.format, s.view(), s.text(), getattr(s, "directory", None))
        return _unpickled, (kept, self._made["more"])

    # ---- As other tools want it.

    def dims(self, path: str) -> Tuple[str, ...]:
        """Names of the dimensions of an array."""
        return self._facts(path)[0]

    def _facts(self, path: str) -> Tuple[Tuple[str, ...], str, str]:
        full = "/" + path.strip("/")
        return _core.facts(self._source.format, full, np.ndim(self.arrays[full]))

    def _attributes(self) -> Dict[str, Any]:
        plain = {k: v for k, v in self._values.items() if isinstance(v, (str, int, float, bool))}
        return {**plain, "command": self.command, "version": self.summary.get("version", ""),
                "parameters": json.dumps(self.parameters)}

    def to_xarray(self) -> "xarray.Dataset":
        """A Dataset with named dimensions; variables have ``units`` and ``long_name`` where there are such."""
        import xarray
        last = [path.rsplit("/", 1)[-1] for path in self.arrays]
        variables: Dict[str, Any] = {}
        coordinates = []
        for path, array in self.arrays.items():
            dims, unit, meaning = self._facts(path)
            name = path.rsplit("/", 1)[-1]
            if dims and name in (dims[0], "time", "log10_time") and len(dims) == 1:
                name = name if path.startswith("/series/") or name == dims[0] else f"{dims[0]}_{name}"
                coordinates.append(name)
            elif last.count(name) > 1 and not path.startswith("/series/") or name in dims:
                name = path.strip("/").replace("/", "_")
            attributes = {k: v for k, v in (("units", unit), ("long_name", meaning)) if v}
            variables[name] = (dims, np.asarray(array), attributes)
        return xarray.Dataset(variables, attrs=self._attributes()).set_coords(coordinates)

    def to_pandas(self, group: Optional[str] = None) -> "pandas.DataFrame":
        """A DataFrame of one group of columns: that of the name, else the series over time (indexed by it), else the first
        group that has columns; without any, one row of the values."""
        import pandas
        tables = {k: v for k, v in self._tree.items() if isinstance(v, Group)}
        with_columns = (k for k, v in tables.items() if any(np.ndim(x) == 1 for x in v.values() if not isinstance(x, Group)))
        name = group if group is not None else "series" if "series" in tables else next(with_columns, "")
        if not name:
            return pandas.DataFrame([{k: v for k, v in self._values.items() if not isinstance(v, (list, dict))}])
        if name not in tables:
            raise ValueError(f"group = '{name}' is not allowed; allowed: {', '.join(tables)}")
        columns = {k: np.asarray(v) for k, v in tables[name].items() if not isinstance(v, Group) and np.ndim(v) == 1}
        length = max((len(v) for v in columns.values()), default=0)
        frame = pandas.DataFrame({k: v for k, v in columns.items() if len(v) == length})
        return frame.set_index("time") if name == "series" and "time" in frame else frame

    @property
    def linkage(self) -> Array:
        """The merge tree in SciPy's form: one row (left, right, time, size) for each merger. Clusters that have not merged
        join at infinity; where times leave the range of doubles, ``r.merge_tree.log10_time`` has them."""
        tree = self._tree.get("merge_tree")
        if tree is None:
            raise ValueError("this result has no merge tree; flow has one")
        rows = [list(row) for row in zip(tree.left, tree.right, tree.time, tree.size)]
        count = int(self._values["tokens"])
        sizes = {**{i: 1 for i in range(count)}, **{count + k: int(row[3]) for k, row in enumerate(rows)}}
        for left, right, *_ in list(rows):
            sizes.pop(int(left)), sizes.pop(int(right))
        alone = sorted(sizes)
        while len(alone) > 1:
            left, right, *alone = alone
            rows.append([left, right, math.inf, sizes[left] + sizes[right]])
            new = count + len(rows) - 1
            sizes[new] = rows[-1][3]
            alone.append(new)
        return np.array(rows, dtype=float).reshape(-1, 4)

    def save(self, directory: Path, *, figures: bool = True) -> "Result":
        """Leaves what ``attractor … --out directory`` leaves; result.h5 has the same bytes. The directory must be new or
        empty. Arrays that were given are kept in ``inputs/``."""
        self._source.save(place_of(directory, "directory"), bool(figures))
        return self

    # ---- To look at.

    @property
    def figures(self) -> List[str]:
        """Names of the figures that `plot` draws."""
        return [f["id"] for f in self._view["figures"]]

    def plot(self, name: Optional[str] = None, ax: Any = None) -> Any:
        """Draws a figure with matplotlib: that of the name, or the first. Returns matplotlib's figure; with `ax` a figure of
        one panel is drawn there."""
        from . import plotting
        figures = self._view["figures"]
        if not figures:
            raise ValueError("this result has no figures")
        if name is not None and name not in self.figures:
            raise ValueError(f"name = '{name}' is not allowed; allowed: {', '.join(self.figures)}")
        chosen = figures[self.figures.index(name) if name is not None else 0]
        if "panels" not in chosen:
            return plotting.picture(pathlib.Path(self._source.directory, "figures", chosen["id"] + ".svg"), ax)
        return plotting.draw(chosen, ax)

    def __str__(self) -> str:
        return str(self._source.text())

    def __repr__(self) -> str:
        state = "interrupted" if self.interrupted else "not delivered" if self.not_delivered else f"{self.seconds:.3g} s"
        return f"<attractor {self._source.name}: {self._view['title']} ({state})>"

    def _repr_html_(self) -> str:
        from . import plotting
        return plotting.html(self._view, self._source.svg(0), self.not_delivered, self.command)


def _unpickled(kept: Tuple[Any, ...], more: Dict[str, Any]) -> Result:
    return Result(_Kept(*kept), more)


def finished(outcome: Any, throw: bool, more: Optional[Dict[str, Any]] = None) -> Result:
    """The result of a run, or what it raises instead."""
    result = Result(outcome, more)
    if throw and outcome.interrupted:
        raise Interrupted(f"interrupted {outcome.where}".rstrip(), result)
    if throw and outcome.not_delivered:
        raise NotDelivered(outcome.not_delivered, result)
    return result


def load(directory: Path) -> Result:
    """A result that the command line or `Result.save` has left in a directory."""
    place = pathlib.Path(place_of(directory, "directory"))
    file = place / "summary.json"
    if not file.is_file():
        raise ValueError(f"{place} holds no summary.json: it is no run, or one that has not ended")
    summary = file.read_text(encoding="utf-8")
    kind, arrays = _core.read_arrays(os.fspath(place / "result.h5"))
    facts = json.loads(summary)
    for name, rows in facts.items():  # columns of words are not among the numbers
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            for column, value in rows[0].items():
                if isinstance(value, str) and f"/{name}/{column}" not in arrays:
                    arrays[f"/{name}/{column}"] = [row[column] for row in rows]
    tiles = [[k.replace("_", " "), f"{v:.6g}" if isinstance(v, float) else str(v), ""] for k, v in facts.items()
             if k not in _FACTS and isinstance(v, (str, int, float)) and not isinstance(v, bool)]
    figures = [{"id": f.stem} for f in sorted((place / "figures").glob("*.svg"))]
    view = {"title": f"{facts.get('command', place.name)}", "headline": place.name, "tiles": tiles, "figures": figures}
    words = "\n".join(f"  {name:<28} {value}" for name, value, _ in tiles)
    return Result(_Kept(summary, arrays, kind, json.dumps(view), words, os.fspath(place.resolve())))
