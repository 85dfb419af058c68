# Made by tools/python_stubs.py from the list of parameters that the program has; do not edit.
import os
from inspect import Signature
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

import numpy.typing as npt

from .progress import Progress
from .results import Result

File = Union[str, "os.PathLike[str]"]
Observe = Optional[Mapping[str, Callable[..., float]]]

REGISTRY: List[Dict[str, Any]]
OWN: Tuple[str, ...]
__all__: List[str]

def python_name(name: str) -> str: ...
def default(parameter: Dict[str, Any]) -> Any: ...
def settings(parameters: List[Dict[str, Any]], given: Dict[str, Any], what: str, more: Any = ...) -> Dict[str, Any]: ...
def convert(value: Any) -> Any: ...
def signature(parameters: List[Dict[str, Any]], more: Dict[str, Any]) -> Signature: ...
def parameter_help(parameters: List[Dict[str, Any]]) -> str: ...
def example(line: str) -> str: ...
def own_keywords(command: Dict[str, Any]) -> Dict[str, Any]: ...

def flow(
        *,
        dynamics: Literal["sa", "usa", "hardmax", "sinkhorn", "linear", "relu", "radial"] = ...,
        kernel: Literal["gaussian", "laplace", "cauchy", "epanechnikov", "indicator"] = ...,
        space: Literal["sphere", "euclidean", "attracted", "rescaled"] = ...,
        beta: float = ...,
        noise: float = ...,
        common_noise: float = ...,
        noise_kind: Literal["additive", "multiplicative"] = ...,
        noise_axes: Optional[Union[File, npt.ArrayLike]] = ...,
        noise_substeps: int = ...,
        query: Optional[Union[Literal["identity", "gaussian", "goe", "wigner", "orthogonal", "psd"], File, npt.ArrayLike]] = ...,
        key: Optional[Union[Literal["identity", "gaussian", "goe", "wigner", "orthogonal", "psd"], File, npt.ArrayLike]] = ...,
        value: Optional[Union[Literal["identity", "gaussian", "goe", "wigner", "orthogonal", "psd", "qk", "minus-qk"], File, npt.ArrayLike]] = ...,
        output: Optional[Union[Literal["identity", "gaussian", "goe", "wigner", "orthogonal", "psd"], File, npt.ArrayLike]] = ...,
        heads: int = ...,
        rank: int = ...,
        redraw: float = ...,
        mask: Literal["full", "causal"] = ...,
        window: int = ...,
        distance_bias: float = ...,
        self_: Literal["include", "exclude", "remove-own-value"] = ...,
        sink_mass: float = ...,
        sink_fixed: bool = ...,
        qk_norm: Literal["none", "l2", "rms"] = ...,
        query_gain: Optional[Union[File, npt.ArrayLike]] = ...,
        key_gain: Optional[Union[File, npt.ArrayLike]] = ...,
        rope: Literal["none", "pairs", "halves"] = ...,
        rope_base: float = ...,
        rope_frequency: float = ...,
        rope_scaling: Literal["none", "linear", "ntk", "dynamic", "llama3", "yarn"] = ...,
        rope_factor: float = ...,
        rope_trained: float = ...,
        norm: Literal["post", "pre", "mix", "peri", "sandwich", "ngpt", "ln-scaling", "damped-post", "deepnorm", "branch", "sqrt-scaling"] = ...,
        alpha: float = ...,
        alpha_power: float = ...,
        switch_time: float = ...,
        deepnorm_scale: float = ...,
        gain: Optional[Union[File, npt.ArrayLike]] = ...,
        feed_forward: Literal["none", "relu", "gelu"] = ...,
        feed_forward_in: Optional[Union[File, npt.ArrayLike]] = ...,
        feed_forward_bias: Optional[Union[File, npt.ArrayLike]] = ...,
        feed_forward_out: Optional[Union[File, npt.ArrayLike]] = ...,
        width: int = ...,
        strength: float = ...,
        init: Literal["uniform", "hemisphere", "cap", "equiangular", "clusters", "circle", "angles", "file"] = ...,
        tokens: Union[int, npt.ArrayLike] = ...,
        dim: int = ...,
        seed: int = ...,
        rho: float = ...,
        cap_angle: float = ...,
        centres: int = ...,
        spread: float = ...,
        mode: int = ...,
        amplitude: float = ...,
        phase: float = ...,
        angles: Optional[Union[str, float, Sequence[float], npt.ArrayLike]] = ...,
        tokens_file: Optional[Union[File, npt.ArrayLike]] = ...,
        time: float = ...,
        log10_time: Optional[float] = ...,
        stepper: Optional[Literal["adaptive", "adaptive3", "adaptive8", "layers", "euler", "rk4", "euler-maruyama"]] = ...,
        step: float = ...,
        tolerance: float = ...,
        max_steps: int = ...,
        engine: Optional[Literal["dense", "circle", "sphere", "moments", "clumps"]] = ...,
        accuracy: float = ...,
        precision: Literal["double", "single"] = ...,
        merge_radius: Optional[Union[float, Literal["off"]]] = ...,
        outputs: Optional[int] = ...,
        output_spacing: Optional[Literal["linear", "log", "steps"]] = ...,
        snapshots: Optional[int] = ...,
        cluster_cosine: Optional[float] = ...,
        pair_threshold: float = ...,
        exact_limit: Optional[int] = ...,
        verify: bool = ...,
        observe: Observe = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Tokens flowing through attention, on a sphere or in R^d."""
    ...

def select(
        *,
        data: Optional[Union[File, Mapping[str, Any]]] = ...,
        train: Literal["p", "W", "KQ", "v", "v,p", "v,W", "v,KQ"] = ...,
        loss: Literal["linear", "correlation", "logistic", "exponential", "squared"] = ...,
        rank: int = ...,
        init_scale: float = ...,
        seed: int = ...,
        optimizer: Literal["gd", "ngd", "published", "polyak", "flow", "adam", "sign", "muon"] = ...,
        step: float = ...,
        steps: int = ...,
        precision: Literal["double", "single"] = ...,
        decay: float = ...,
        momentum: float = ...,
        beta1: float = ...,
        beta2: float = ...,
        mirror: float = ...,
        epsilon: float = ...,
        epsilon_v: float = ...,
        log10_time: float = ...,
        tolerance: float = ...,
        outputs: int = ...,
        starts: Optional[Union[str, Sequence[Sequence[float]], npt.ArrayLike]] = ...,
        choice: Optional[Union[str, float, Sequence[float], npt.ArrayLike]] = ...,
        relaxed: Optional[Union[str, float, Sequence[float], npt.ArrayLike]] = ...,
        margins: Literal["own", "all"] = ...,
        margins_within: float = ...,
        local: bool = ...,
        local_limit: int = ...,
        basins: bool = ...,
        basins_side: int = ...,
        basins_samples: int = ...,
        basins_radius: float = ...,
        path: Optional[Union[str, float, Sequence[float], npt.ArrayLike]] = ...,
        path_ratio: float = ...,
        path_cone: float = ...,
        path_starts: int = ...,
        exact: bool = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Train attention: which tokens does it select, with which max-margin certificate."""
    ...

def bridge(
        *,
        data: Optional[Union[File, Mapping[str, Any]]] = ...,
        train: Literal["p", "W"] = ...,
        loss: Literal["linear", "logistic", "exponential"] = ...,
        log10_time: float = ...,
        train_tolerance: float = ...,
        checkpoints: int = ...,
        tokens_from: Literal["random", "problem"] = ...,
        tokens: int = ...,
        dim: int = ...,
        seed: int = ...,
        time: float = ...,
        tolerance: float = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Train attention, and let what it has learnt so far move tokens through depth."""
    ...

def stability(
        *,
        dynamics: Literal["sa", "usa"] = ...,
        dim: int = ...,
        beta: float = ...,
        noise: float = ...,
        modes: int = ...,
        observe: int = ...,
        replicates: int = ...,
        seed: int = ...,
        horizon: float = ...,
        time: float = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Growth of every mode of the uniform state; how many clusters to expect."""
    ...

def context(
        *,
        tokens: float = ...,
        rho: float = ...,
        gamma: float = ...,
        residual: float = ...,
        layers: int = ...,
        dim: float = ...,
        map: bool = ...,
        advise: bool = ...,
        trained_tokens: float = ...,
        trained_beta: Optional[float] = ...,
        simulate: bool = ...,
        exact: bool = ...,
        rows: int = ...,
        replicates: int = ...,
        seed: int = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """One attention layer on a long context: collapse, critical, identity."""
    ...

def forecast(
        *,
        depth: int = ...,
        norm: Literal["post", "pre", "mix", "peri", "sandwich", "ngpt", "ln-scaling", "damped-post", "deepnorm", "branch", "sqrt-scaling"] = ...,
        beta: float = ...,
        tokens: float = ...,
        rho0: float = ...,
        step: float = ...,
        levels: Union[str, float, Sequence[float], npt.ArrayLike] = ...,
        alpha: float = ...,
        switch_layer: int = ...,
        deepnorm_scale: float = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Collapse over depth for every normalisation scheme."""
    ...

def meanfield(
        *,
        dynamics: Literal["sa", "usa"] = ...,
        dim: int = ...,
        beta: float = ...,
        noise: float = ...,
        start: Union[Literal["perturbed", "vmf", "wrapped-cauchy", "map", "tokens"], npt.ArrayLike] = ...,
        mode: int = ...,
        amplitude: float = ...,
        concentration: Union[str, float, Sequence[float], npt.ArrayLike] = ...,
        centres: Optional[Union[str, float, Sequence[float], npt.ArrayLike]] = ...,
        weights: Optional[Union[str, float, Sequence[float], npt.ArrayLike]] = ...,
        order: float = ...,
        tokens_file: Optional[Union[File, npt.ArrayLike]] = ...,
        time: float = ...,
        outputs: int = ...,
        tolerance: float = ...,
        form: Optional[Literal["spectral", "labels"]] = ...,
        symmetry: Optional[Literal["zonal", "none"]] = ...,
        modes: int = ...,
        compare_particles: Optional[Union[str, float, Sequence[float], npt.ArrayLike]] = ...,
        replicates: int = ...,
        seed: int = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """The density that infinitely many tokens follow, and how far n tokens are from it."""
    ...

def stationary(
        *,
        dynamics: Literal["sa", "usa"] = ...,
        dim: int = ...,
        beta: float = ...,
        noise: Optional[float] = ...,
        noise_ratio: Optional[float] = ...,
        diagram: bool = ...,
        particles: int = ...,
        seed: int = ...,
        sweep_steps: int = ...,
        settle: float = ...,
        average: float = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Stationary states of noisy attention and their bifurcation diagram."""
    ...

def phase(
        *,
        dynamics: Literal["sa", "usa"] = ...,
        tokens: int = ...,
        dim: int = ...,
        beta: Union[str, float, Sequence[float], npt.ArrayLike] = ...,
        threshold: float = ...,
        time: float = ...,
        outputs: int = ...,
        scheme: Literal["layers", "euler", "rk4"] = ...,
        step: float = ...,
        replicates: int = ...,
        seed: int = ...,
        first_replicate: int = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Phase diagram of many small systems: which pairs have met, over beta and time."""
    ...

def cluster(
        *,
        points: Optional[Union[File, npt.ArrayLike]] = ...,
        space: Literal["euclidean", "sphere"] = ...,
        bandwidth: Optional[float] = ...,
        beta: Optional[float] = ...,
        seeds: Optional[int] = ...,
        seed: int = ...,
        tolerance: float = ...,
        merge: float = ...,
        iterations: int = ...,
        labels_out: Optional[str] = ...,
        modes_out: Optional[str] = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Cluster your own points by the modes of their kernel density."""
    ...

def compare(
        *,
        first: Optional[Union[File, Result]] = ...,
        second: Optional[Union[File, Result]] = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """How far two runs of attractor flow are apart, token by token."""
    ...

def measure(
        *,
        tokens: Optional[Union[File, npt.ArrayLike]] = ...,
        space: Literal["sphere", "euclidean"] = ...,
        beta: float = ...,
        cluster_cosine: Optional[float] = ...,
        pair_threshold: float = ...,
        exact_limit: int = ...,
        seed: int = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Observables of tokens from a file: energy, clusters, cosines, rank, entropy."""
    ...

def inspect(
        *,
        model: Optional[File] = ...,
        text: Optional[Union[File, Sequence[str]]] = ...,
        ids: bool = ...,
        texts: int = ...,
        length: int = ...,
        special: bool = ...,
        write: int = ...,
        states: Optional[Union[File, npt.ArrayLike]] = ...,
        attention: Optional[Union[File, npt.ArrayLike]] = ...,
        no_feed_forward: bool = ...,
        no_attention: bool = ...,
        identity_values: bool = ...,
        iterate: Optional[int] = ...,
        depth: int = ...,
        beta_scale: float = ...,
        mask: Literal["as-trained", "full", "causal"] = ...,
        baseline: Optional[Union[File, Sequence[str]]] = ...,
        baseline_sentences: int = ...,
        nulls: int = ...,
        null_texts: int = ...,
        cluster_cosine: float = ...,
        exponents: int = ...,
        level: float = ...,
        seed: int = ...,
        states_out: Optional[str] = ...,
        attention_out: Optional[str] = ...,
        keys_out: Optional[str] = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """A trained model on the theory's map: cosines, clusters, beta, effective times."""
    ...

def architect(
        *,
        model: Optional[File] = ...,
        depth: Optional[int] = ...,
        heads: Optional[int] = ...,
        norm: Optional[Literal["post", "pre", "mix", "peri", "sandwich", "ngpt", "ln-scaling", "damped-post", "deepnorm", "branch"]] = ...,
        head_dim: Optional[int] = ...,
        context: Optional[float] = ...,
        trained_context: Optional[float] = ...,
        window: Optional[int] = ...,
        beta: Optional[float] = ...,
        qk_norm: Optional[Literal["none", "l2", "rms"]] = ...,
        query_gain: float = ...,
        key_gain: float = ...,
        qk_norm_gain: Optional[float] = ...,
        query_length: Optional[float] = ...,
        key_length: Optional[float] = ...,
        temperature: float = ...,
        logit_factor: Optional[float] = ...,
        rho: float = ...,
        rho_error: float = ...,
        spread: Optional[float] = ...,
        beta_error: float = ...,
        level: float = ...,
        keys: Optional[Union[File, npt.ArrayLike]] = ...,
        seed: int = ...,
        progress: Progress = ...,
        throw: bool = ...,
) -> Result:
    """Will a model of this shape collapse, and which scaling helps?."""
    ...

class reduce:
    @staticmethod
    def equiangular(
            *,
            dynamics: Literal["sa", "usa"] = ...,
            tokens: float = ...,
            beta: float = ...,
            cosine0: float = ...,
            time: float = ...,
            log10_time: Optional[float] = ...,
            levels: Union[str, float, Sequence[float], npt.ArrayLike] = ...,
            layers: int = ...,
            step: float = ...,
            norm: Literal["post", "pre", "mix", "peri", "sandwich", "ngpt", "ln-scaling", "damped-post", "deepnorm", "branch", "sqrt-scaling"] = ...,
            alpha: float = ...,
            switch_time: float = ...,
            deepnorm_scale: float = ...,
            progress: Progress = ...,
            throw: bool = ...,
    ) -> Result:
        """n tokens with one common cosine, any n up to 1e30 and any normalisation."""
        ...

    @staticmethod
    def pair(
            *,
            dynamics: Literal["sa", "usa"] = ...,
            beta: float = ...,
            angle: Optional[float] = ...,
            degrees: Optional[float] = ...,
            mass1: float = ...,
            mass2: float = ...,
            merge_cosine: float = ...,
            time: Optional[float] = ...,
            log10_time: Optional[float] = ...,
            progress: Progress = ...,
            throw: bool = ...,
    ) -> Result:
        """Two clusters: when they merge, at any beta."""
        ...

    @staticmethod
    def clusters(
            *,
            dynamics: Literal["sa", "usa"] = ...,
            beta: float = ...,
            count: int = ...,
            shape: Literal["polygon", "simplex", "ring"] = ...,
            dim: int = ...,
            cosine: Optional[float] = ...,
            merge_cosine: float = ...,
            polar: float = ...,
            to_polar: float = ...,
            progress: Progress = ...,
            throw: bool = ...,
    ) -> Result:
        """k equal clusters on a regular polygon, a simplex or a ring."""
        ...
