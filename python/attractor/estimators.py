"""Estimators in scikit-learn's manner: clusters by mean shift, and token selection as a classifier."""
import numbers
import warnings
from typing import Any, Dict, Optional

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state

from . import _core
from .commands import cluster, select

Array = npt.NDArray[Any]

__all__ = ["AttentionSVC", "BlurringMeanShift", "MeanShift"]


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _points(estimator: Any, X: npt.ArrayLike, reset: bool = True) -> Array:
    """X as scikit-learn takes it; whole numbers that no double holds are refused like other numbers."""
    try:
        points: Array = estimator._validate_data(X, dtype=np.float64, reset=reset)
        return points
    except OverflowError:
        raise ValueError("X holds a number that no double holds") from None


class MeanShift(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of points by the modes of their Gaussian kernel density, in R^d or on the unit sphere.

    scikit-learn's own MeanShift has a flat kernel, a ball of radius `bandwidth`; here the kernel is
    exp(-|x - y|^2 / 2 bandwidth^2), or on the sphere that of von Mises and Fisher with beta = 1 / bandwidth^2.

    Parameters
    ----------
    bandwidth : None chooses one from the number, dimension and spread of the points.
    space : "euclidean", or "sphere" (rows are divided by their length).
    seeds : how many points climb, drawn at random; the others get the nearest mode. None: all climb.
    tolerance : distance left to a mode, in bandwidths.
    merge : ends closer than this, in bandwidths, are one mode.
    max_iter, random_state : as usual.

    Attributes
    ----------
    cluster_centers_ : modes, the largest cluster first.
    labels_, n_iter_, bandwidth_, n_features_in_ : as usual.
    """

    def __init__(self, bandwidth: Optional[float] = None, *, space: str = "euclidean", seeds: Optional[int] = 2000,
                 tolerance: float = 1e-6, merge: float = 0.1, max_iter: int = 10000, random_state: Any = None) -> None:
        self.bandwidth, self.space, self.seeds = bandwidth, space, seeds
        self.tolerance, self.merge = tolerance, merge
        self.max_iter, self.random_state = max_iter, random_state

    def fit(self, X: npt.ArrayLike, y: Any = None) -> "MeanShift":
        points = _points(self, X)
        seed = _seed(self.random_state)
        bandwidth = self.bandwidth
        if bandwidth is None and np.ptp(points, axis=0).max() == 0:
            bandwidth = 1.0  # all points are one: any will do
        words: Dict[str, Any] = {"space": self.space}
        flat = points.shape[1] == 1 and self.space == "euclidean"  # points of a line lie in a plane as well
        points = np.hstack([points, np.zeros_like(points)]) if flat else points
        found = cluster(points=points, bandwidth=bandwidth, seeds=self.seeds, seed=seed, tolerance=self.tolerance, merge=self.merge,
                        iterations=self.max_iter, throw=False, progress=False, **words)
        if found.not_delivered:
            warnings.warn(found.not_delivered, ConvergenceWarning, stacklevel=2)
        self.labels_ = found.labels.astype(np.int64)
        self.cluster_centers_ = found.centres[:, :1] if flat else found.centres
        self.bandwidth_ = float(found.bandwidth)
        self.n_iter_ = int(found.iterations)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """The nearest mode of each point."""
        check_is_fitted(self)
        points = _points(self, X, reset=False)
        return _core.nearest(points, self.cluster_centers_, self.space)


class BlurringMeanShift(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters by blurring mean shift: the points move in the density of themselves, x_i <- sum_j P_ij x_j with softmax weights
    P, which is a layer of attention, until they have gathered (no point moves farther than `tolerance` bandwidths).

    Parameters are those of `MeanShift`. Attributes: cluster_centers_ (where the points of a cluster ended, the largest cluster
    first), labels_, n_iter_, bandwidth_, n_features_in_.
    """

    def __init__(self, bandwidth: Optional[float] = None, *, space: str = "euclidean", tolerance: float = 1e-3, merge: float = 0.1,
                 max_iter: int = 1000) -> None:
        self.bandwidth, self.space = bandwidth, space
        self.tolerance, self.merge, self.max_iter = tolerance, merge, max_iter

    def fit(self, X: npt.ArrayLike, y: Any = None) -> "BlurringMeanShift":
        points = _points(self, X)
        centres, labels, iterations, gathered, bandwidth = _core.blurring(points, self.bandwidth, self.space, self.tolerance, self.merge,
                                                                          self.max_iter)
        if not gathered:
            warnings.warn(f"the points had not gathered after {iterations} iterations; raise max_iter or tolerance",
                          ConvergenceWarning, stacklevel=2)
        self.cluster_centers_, self.labels_ = centres, labels
        self.n_iter_, self.bandwidth_ = iterations, bandwidth
        return self


class AttentionSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Token selection as a classifier of two classes: f(X) = <v, X^T softmax(X p)> with prompt p and head v trained together, and
    the max-margin certificate of the tokens that training selects (arXiv 2306.13596).

    Inputs are sets of tokens, X (inputs, tokens, d).

    Parameters
    ----------
    optimizer : "flow", the gradient flow up to time 10^log10_time, or "ngd", "gd", "polyak" with `steps` of length `step`.
    loss : logistic, exponential, ...
    log10_time, steps, step, tolerance : as of `attractor.select`.
    head : v to keep fixed while p alone is trained; None: v is trained too.

    Attributes
    ----------
    classes_, prompt_ (p), head_ (v)
    attention_ : (inputs, tokens), the attention of the training inputs; selected_ : the token of largest weight in each.
    margin_ : of the max-margin prompt for these tokens, or nan if they cannot be separated; certificate_ : its status, bounds
        (lower, upper), duality gap, and whether it is locally optimal.
    result_ : all that `attractor.select` says of the run.
    """

    def __init__(self, *, optimizer: str = "ngd", loss: str = "logistic", log10_time: float = 6.0, steps: int = 1000, step: float = 0.1,
                 tolerance: float = 1e-8, head: Optional[npt.ArrayLike] = None) -> None:
        self.optimizer, self.loss, self.log10_time = optimizer, loss, log10_time
        self.steps, self.step, self.tolerance, self.head = steps, step, tolerance, head

    def _more_tags(self) -> Dict[str, Any]:
        return {"X_types": ["3darray"], "binary_only": True, "requires_fit": True}

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> "AttentionSVC":
        X = _core.numbers(X, "X")
        if X.ndim != 3:
            raise ValueError(f"X has the shape {X.shape}; allowed is (inputs, tokens, d)")
        check_classification_targets(y)
        self.classes_, index = np.unique(np.asarray(y), return_inverse=True)
        if len(index) != len(X):
            raise ValueError(f"y has {len(index)} labels; allowed is one for each of {len(X)} inputs")
        if len(self.classes_) != 2:
            raise ValueError(f"y has {len(self.classes_)} classes; allowed: two. Only binary classification is supported.")
        labels = 2.0 * index - 1
        v = np.asarray(self.head, dtype=float) if self.head is not None else np.zeros(X.shape[2])
        way: Dict[str, Any] = {"optimizer": self.optimizer, "loss": self.loss}
        way.update({"log10_time": self.log10_time, "tolerance": self.tolerance} if self.optimizer == "flow" else
                   {"steps": self.steps, "step": self.step})
        found = select(data={"X": X, "Y": labels, "v": v}, train="p" if self.head is not None else "v,p", throw=False, progress=False,
                       **way)
        self.n_features_in_ = X.shape[2]
        self.prompt_ = found["final/p"]
        self.head_ = found["final/v"] if self.head is None else v
        self.attention_, self.selected_ = found["final/softmax"], found["final/selected"].astype(np.int64)
        self.result_ = found
        facts = ("svm_status", "svm_norm", "svm_norm_lower", "svm_norm_upper", "duality_gap", "locally_optimal", "globally_optimal")
        self.certificate_ = {k.replace("svm_", ""): found.summary.get(k) for k in facts}
        margin = found.summary.get("margin")
        self.margin_ = float(margin) if margin is not None else np.nan
        return self

    def attention(self, X: npt.ArrayLike) -> Array:
        """Weights on the tokens of each input."""
        check_is_fitted(self)
        weights: Array = _core.attend_prompt(X, self.prompt_, self.head_)[0]
        return weights

    def decision_function(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        outputs: Array = _core.attend_prompt(X, self.prompt_, self.head_)[1]
        return outputs

    def predict(self, X: npt.ArrayLike) -> Array:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]  # type: ignore[no-any-return]
