"""Science of your own: a drift and observables written in Python, run by Attractor's loop; and flows stepped by hand."""
import inspect
import json
from typing import Any, Callable, Dict, Mapping, Optional

import numpy as np
import numpy.typing as npt

from . import _core
from .commands import REGISTRY, parameter_help, settings
from .progress import Progress, Reporter
from .results import NotDelivered, Result, finished

Array = npt.NDArray[Any]

_RUN = json.loads(_core.flow_parameters())
_FLOW = next(c["parameters"] for c in REGISTRY if c["name"] == "flow")
# What says how long a flow is and what is measured: a simulation has none of it.
_LENGTH = ("time", "log10-time", "outputs", "output-spacing", "snapshots", "cluster-cosine", "pair-threshold", "exact-limit",
           "max-steps", "verify")
_SIMULATION = [p for p in _FLOW if p["name"] not in _LENGTH]


def takes_two(function: Callable[..., Any]) -> bool:
    """It needs more than the first argument."""
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in every) > 1


class Flow:
    """A flow x' = drift(x) of n points on the sphere or in R^d.

    drift is called with an array (n, d) and returns one of that shape; one that takes a second argument is given the time
    too. On the sphere (the default) it need not be tangent: it is projected. What it raises ends the run.

    >>> oja = attractor.Flow(lambda x: x @ A)
    >>> r = oja.run(x0, time=5, observe={"first": lambda x: abs(x[:, 0]).mean()})
    >>> r.series.time, r.series.first, r.positions          # positions: (times, n, d)
    """

    def __init__(self, drift: Callable[..., Any], space: str = "sphere") -> None:
        if not callable(drift):
            raise ValueError(f"drift = '{drift}' is not allowed; allowed: a callable")
        if space not in ("sphere", "euclidean"):
            raise ValueError(f"space = '{space}' is not allowed; allowed: sphere, euclidean")
        self.drift, self.space = drift, space

    def run(self, points: npt.ArrayLike, *, observe: Optional[Mapping[str, Callable[..., float]]] = None, progress: Progress = None,
            throw: bool = True, **keywords: Any) -> Result:
        given = settings(_RUN, {"space": self.space, **keywords}, "Flow.run", ("observe", "progress", "throw"))
        with Reporter(progress) as tell:
            outcome = _core.run_flow(self.drift, points, given, dict(observe or {}), tell)
        return finished(outcome, throw)

    run.__doc__ = ("""From these points (n, d) on: `positions` (times, n, d) and every observable over time.

observe: a dict of names and callables, each given the points (n, d). Further keywords:
""" + parameter_help([p for p in _RUN if p["name"] != "space"]))


class Simulation:
    """A flow of tokens that is stepped by hand. Keywords are those of `flow` without its length and its outputs::

        s = attractor.Simulation(tokens=64, dim=3, beta=9)
        s.step(10)                   # accepted steps, each as long as the stepper finds right
        s.run_until(5.0)             # exactly to a time
        s.tokens, s.time, s.coalesced

    It can be pickled, and goes on to the same bits; a pickle of another version of Attractor is refused.
    """

    def __init__(self, **keywords: Any) -> None:
        self._stepped = _core.Stepped(settings(_SIMULATION, keywords, "Simulation"))
        self._keywords = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in keywords.items()}  # a copy of what was taken
        self.status = "complete"  #: how the last step ended; collapsed: one cluster is left

    def _moved(self, status: str, throw: bool) -> "Simulation":
        self.status = status
        if throw and status not in ("complete", "collapsed", "at_equilibrium"):
            raise NotDelivered(f"{status} at t = {self.time:.6g}; loosen the tolerance or lower beta", self)
        return self

    def step(self, count: int = 1, *, throw: bool = True) -> "Simulation":
        """So many steps; fewer if nothing moves any more."""
        return self._moved(self._stepped.step(count), throw)

    def run_until(self, time: float, *, throw: bool = True) -> "Simulation":
        """To this time, or to the end of all motion (infinity)."""
        return self._moved(self._stepped.run_until(time), throw)

    @property
    def tokens(self) -> Array:
        """All tokens as they are now, (n, d): a copy."""
        tokens: Array = self._stepped.state()["tokens"]
        return tokens

    @property
    def time(self) -> float:
        return float(self._stepped.state()["time"])

    @property
    def log10_time(self) -> float:
        """Also where the time leaves the range of doubles."""
        return float(self._stepped.state()["log_time"] / np.log(10))

    @property
    def coalesced(self) -> Array:
        """The group of each token: tokens of one group have come so close that they are moved as one."""
        groups: Array = self._stepped.state()["coalesced"]
        return groups

    @property
    def distinct(self) -> int:
        """How many groups there are."""
        return int(self._stepped.state()["distinct"])

    @property
    def steps(self) -> int:
        return int(self._stepped.state()["steps"])

    @property
    def engine(self) -> str:
        return str(self._stepped.state()["engine"])

    def __getstate__(self) -> Dict[str, Any]:
        return {"version": _core.version, "keywords": self._keywords, "status": self.status, "bytes": self._stepped.bytes()}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        if not isinstance(state, dict) or state.get("version") != _core.version:
            found = state.get("version") if isinstance(state, dict) else None
            raise ValueError(f"the simulation was pickled by version {found} of attractor; this is {_core.version}")
        self.__init__(**state["keywords"])  # type: ignore[misc]
        self._stepped.restore(state["bytes"])
        self.status = state["status"]

    def __repr__(self) -> str:
        now = self._stepped.state()
        return f"<attractor.Simulation: {len(now['tokens'])} tokens, {now['distinct']} distinct, t = {now['time']:.6g}>"


Simulation.__doc__ = (Simulation.__doc__ or "") + parameter_help(_SIMULATION)
