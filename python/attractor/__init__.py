"""Attractor: a laboratory for the dynamics of attention, arrays in, arrays out.

Commands are those of the program ``attractor``, with the same names and values as keywords; where the command line
names a file, an array will do::

    import attractor
    r = attractor.flow(tokens=64, dim=3, beta=40, time=float("inf"))
    r.clusters, r.series.mean_cosine, r.linkage
    r.to_xarray(), r.plot(), r.save("collapse")

Building blocks (`velocity`, `attention`, `energy`, `clusters`, `hard_margin`, `nuclear_margin`, `equiangular`) read arrays
where they lie; `Flow` and `Simulation` are for science of your own; `MeanShift`, `BlurringMeanShift` and `AttentionSVC` are
scikit-learn's kind of estimators. Bad input raises ``ValueError`` with one sentence; numerics that could not deliver raise
`NotDelivered`, which has what there is and the remedy.
"""
from typing import TYPE_CHECKING, Any

from ._core import version as __version__
from .blocks import (Attended, Energy, Equiangular, HardMargin, NuclearMargin, attention, clusters, energy, equiangular,
                     hard_margin, nuclear_margin, set_threads, threads, velocity)
from .commands import *
from .commands import __all__ as _commands
from .own import Flow, Simulation
from .results import Group, Interrupted, NotDelivered, Result, load
from .studies import catalogue, merge, problem, problems, reproduce, sweep

if TYPE_CHECKING:
    from .estimators import AttentionSVC, BlurringMeanShift, MeanShift

__all__ = [*_commands, "AttentionSVC", "Attended", "BlurringMeanShift", "Energy", "Equiangular", "Flow", "Group", "HardMargin",
           "Interrupted", "MeanShift", "NotDelivered", "NuclearMargin", "Result", "Simulation", "attention", "catalogue",
           "clusters", "energy", "equiangular", "hard_margin", "load", "merge", "nuclear_margin", "problem", "problems",
           "reproduce", "set_threads", "sweep", "threads", "velocity"]


def __getattr__(name: str) -> Any:
    # scikit-learn is needed by the estimators alone, and takes a second to load.
    if name in ("AttentionSVC", "BlurringMeanShift", "MeanShift"):
        from . import estimators
        return getattr(estimators, name)
    raise AttributeError(f"module 'attractor' has no attribute {name!r}")
