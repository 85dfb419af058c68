"""Building blocks: one evaluation each. Arrays are read where they lie (C-contiguous doubles; others are copied once), the
interpreter is free meanwhile, answers are in double precision, or in single where the question was."""
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import _core
from .commands import REGISTRY, settings
from .results import NotDelivered

Array = npt.NDArray[Any]

def velocity(x: npt.ArrayLike, beta: float = 1.0, *, masses: Optional[npt.ArrayLike] = None, engine: Optional[str] = None,
             dynamics: str = "sa", space: str = "sphere", accuracy: float = 1e-11, precision: str = "double", log_unit: float = 0.0,
             out: Optional[Array] = None) -> Array:
    """Velocities x_i' = P_i A_i(x) of tokens under softmax (sa) or unnormalised (usa) attention.

    x : (n, d); on the sphere rows have length 1
    beta : inverse temperature
    masses : (n), how many tokens each stands for
    engine : dense, or in O(n): circle (d = 2), sphere (d = 3), moments (d = 3 to 8, moderate beta); or clumps (groups of close tokens, any d); None: the fastest
    space : sphere, or euclidean: without the projection P
    accuracy : of the engines in O(n) and of clumps
    precision : single makes dense sums twice as fast
    log_unit : per unit of time e^log_unit; -beta for usa, whose velocities are of the size e^beta
    out : an array to write into
    """
    return _core.velocity(x, beta, masses, engine, dynamics, space, accuracy, precision, log_unit, out)


def set_threads(count: int) -> None:
    """Threads of all computations from now on; 0: one for each core. It never changes a result. With 1, calls from several
    threads of Python run side by side; with more they share the pool."""
    _core.set_threads(count)


def threads() -> int:
    return _core.threads()


class Attended(NamedTuple):
    """What `attention` gives."""
    out: Array                # (n, d): sum over heads, through `output`
    weights: Optional[Array]  # (heads, n, n), if asked for
    entropy: Array            # (n, heads), nats
    status: str               # complete, or what went wrong


def attention(x: npt.ArrayLike, query: Optional[npt.ArrayLike] = None, key: Optional[npt.ArrayLike] = None,
              value: Optional[npt.ArrayLike] = None, *, beta: float = 1.0, rule: str = "sa", mask: str = "full",
              window: Optional[int] = None, distance_bias: float = 0.0, output: Optional[npt.ArrayLike] = None,
              kernel: str = "gaussian", weights: bool = False, throw: bool = True) -> Attended:
    """One layer of attention: A_i = O sum_h sum_j P^h_ij V_h x_j with logits beta <Q_h x_i, K_h x_j> - distance_bias |i - j|.

    query, key (heads, rank, d) and value (heads, d, d), of one head without the first axis; None: the identity. rule: sa,
    usa, hardmax, sinkhorn, linear, relu or radial (with a kernel of the distance). mask: full or causal; window: token i
    sees |i - j| <= window. weights=True also gives P.
    """
    out, matrix, entropy, status = _core.attention(x, query, key, value, beta, rule, mask, window, distance_bias, output, kernel,
                                                   bool(weights))
    found = Attended(out, matrix if weights else None, entropy, status)
    if throw and status != "complete":
        raise NotDelivered(f"attention ended with {status}: lower beta or scale the tokens", found)
    return found


class Energy(NamedTuple):
    energy: float          # (1/2 beta n^2) sum_ij e^{beta <x_i, x_j>}; infinite where it overflows
    log_energy: float
    relative_error: float  # standard error of the energy over it; 0: exact
    dissipation: float     # dE/dt along the flow
    entropy: float         # mean entropy of the rows of attention, nats
    entropy_error: float


def energy(x: npt.ArrayLike, beta: float = 1.0, *, masses: Optional[npt.ArrayLike] = None, seed: int = 0,
           exact_limit: int = 4096) -> Energy:
    """Energy of tokens on the sphere, its dissipation and the entropy of attention; beyond `exact_limit` tokens estimates
    from random rows (drawn by `seed`) with their standard errors."""
    return Energy(*_core.energy(x, beta, masses, seed, exact_limit))


def clusters(x: npt.ArrayLike, *, cosine: Optional[float] = None, radius: Optional[float] = None) -> Array:
    """The cluster of each token, from 0: connected components of tokens with at least this cosine (0.999 unless given), or
    of points of R^d no farther apart than `radius`."""
    return _core.clusters(x, cosine, radius)


class HardMargin(NamedTuple):
    """p of least norm with <p, k_chosen - k_other> >= 1, and what proves it: the least norm lies between lower and upper."""
    status: str              # optimal, infeasible, precision_limit, iteration_limit
    p: Array                 # (d)
    norm: float              # of p; the margin is 1 / norm
    lower: float
    upper: float             # infinite if infeasible
    relative_gap: float
    upper_is_proved: bool
    slack: float             # least <p, k_chosen - k_other> - 1 of p as the doubles it is given in
    support: List[Tuple[int, int, float]]  # input, token, multiplier: p is their sum
    farkas: List[Tuple[int, int, float]]   # infeasible: no feasible p is shorter than `lower`
    farkas_residual: float
    iterations: int

    @property
    def margin(self) -> float:
        return 1 / self.norm if self.norm > 0 else np.inf


def _delivered(found: Any, throw: bool) -> Any:
    if throw and found.status.endswith("_limit"):
        raise NotDelivered(f"{found.status}: the relative gap is {found.relative_gap:.2g}; raise the tolerance", found)
    return found


def hard_margin(keys: npt.ArrayLike, choice: npt.ArrayLike, *, relaxed: Optional[npt.ArrayLike] = None, tolerance: float = 1e-12,
                throw: bool = True) -> HardMargin:
    """The max-margin solution of a choice of tokens, certified. keys (inputs, tokens, d), choice (inputs): the token that each
    input should select; relaxed: inputs whose bound is 0 instead of 1. An infeasible choice is an answer, not an error."""
    (status, norm, lower, upper, gap, residual, rounds), p, proved, slack, support, farkas = _core.hard_margin(
        keys, choice, relaxed, tolerance)
    found = HardMargin(status, p, norm, lower, upper, gap, proved, slack, support, farkas, residual, rounds)
    return _delivered(found, throw)  # type: ignore[no-any-return]


class NuclearMargin(NamedTuple):
    """W of least nuclear norm with <(x_chosen - x_other) z^T, W> >= 1 for every input with its query z."""
    status: str
    W: Array                 # (d, query d)
    norm: float
    lower: float
    upper: float
    relative_gap: float
    singular_values: Array
    rank: int
    support: List[Tuple[int, int, float]]
    farkas: List[Tuple[int, int, float]]
    farkas_residual: float
    iterations: int


def nuclear_margin(tokens: npt.ArrayLike, queries: npt.ArrayLike, choice: npt.ArrayLike, *, tolerance: float = 1e-10,
                   throw: bool = True) -> NuclearMargin:
    """The same in the nuclear norm, to which attention trained through W = K Q^T converges in direction. tokens (inputs,
    tokens, d), queries (inputs, query d)."""
    (status, norm, lower, upper, gap, residual, rounds), w, singular, rank, support, farkas = _core.nuclear_margin(
        tokens, queries, choice, tolerance)
    found = NuclearMargin(status, w, norm, lower, upper, gap, singular, rank, support, farkas, residual, rounds)
    return _delivered(found, throw)  # type: ignore[no-any-return]


_EQUIANGULAR = [p for c in REGISTRY if c["name"] == "reduce equiangular" for p in c["parameters"]
                if p["name"] in ("dynamics", "norm", "tokens", "beta", "cosine0", "alpha", "switch-time", "deepnorm-scale")]


class Equiangular:
    """Tokens with one common cosine, solved exactly. Times and cosines may be arrays."""

    def __init__(self, **keywords: Any) -> None:
        self._flow = _core.Equiangular(settings(_EQUIANGULAR, keywords, "equiangular"))

    def _at(self, time: npt.ArrayLike, part: int) -> Array:
        times = _core.numbers(time, "time")
        if np.any(times < 0):
            raise ValueError(f"time = {times.min()} is not allowed; allowed: at least 0")
        with np.errstate(divide="ignore"):
            logs = np.log(times)
        return np.array([self._flow.at(float(t))[part] for t in logs.ravel()]).reshape(times.shape)

    def cosine(self, time: npt.ArrayLike) -> Array:
        return self._at(time, 0)

    def log_gap(self, time: npt.ArrayLike) -> Array:
        """ln(1 - cosine), also where 1 - cosine underflows."""
        return self._at(time, 1)

    def log_norm(self, time: npt.ArrayLike) -> Array:
        """ln of the length of the tokens, where the normalisation lets them grow."""
        return self._at(time, 2)

    def log_time(self, cosine: npt.ArrayLike) -> Array:
        """ln of the time at which a cosine is reached; infinity: never."""
        levels = _core.numbers(cosine, "cosine")
        if np.any(np.abs(levels) > 1) or np.any(levels == 1):
            raise ValueError("cosine must lie from -1 to below 1")
        return np.array([self._flow.log_arrival(float(c)) for c in levels.ravel()]).reshape(levels.shape)


def equiangular(**keywords: Any) -> Equiangular:
    """Equiangular tokens, exactly, for any number of them: ``equiangular(tokens=1e12, beta=8, norm="pre").cosine([1, 10])``.
    Keywords as of ``reduce.equiangular``: tokens, beta, cosine0, dynamics, norm, alpha, switch_time, deepnorm_scale."""
    return Equiangular(**keywords)
