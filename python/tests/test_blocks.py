"""Building blocks against sums written out in NumPy, closed solutions and their own certificates."""
import numpy as np
import pytest
from conftest import unit_rows

import attractor


def textbook(x, beta, masses=None, rule="sa", sphere=True):
    m = np.ones(len(x)) if masses is None else np.asarray(masses, float)
    w = np.exp(beta * x @ x.T) * m
    a = w @ x / (w.sum(1, keepdims=True) if rule == "sa" else m.sum())
    return a - (a * x).sum(1, keepdims=True) * x if sphere else a


@pytest.mark.parametrize("engine,d,error", [("dense", 3, 1e-14), ("dense", 16, 1e-14), ("circle", 2, 1e-9), ("sphere", 3, 1e-9),
                                            ("moments", 4, 1e-9), (None, 3, 1e-14)])
@pytest.mark.parametrize("rule", ["sa", "usa"])
def test_velocities(engine, d, error, rule, rng):
    x, m = unit_rows(rng, 200, d), rng.integers(1, 4, 200)
    for masses in (None, m):
        truth = textbook(x, 2.0, masses, rule)
        got = attractor.velocity(x, 2.0, masses=masses, engine=engine, dynamics=rule)
        assert np.abs(got - truth).max() < error * max(1, np.abs(truth).max())


def test_velocities_elsewhere(rng):
    x = rng.normal(size=(20, 3))
    np.testing.assert_allclose(attractor.velocity(x, 0.5, space="euclidean"), textbook(x, 0.5, sphere=False), rtol=1e-12)
    y = unit_rows(rng, 20, 3)
    per_unit = attractor.velocity(y, 900.0, dynamics="usa", log_unit=-900.0)
    assert np.isfinite(per_unit).all() and np.abs(per_unit).max() > 0
    with pytest.raises(ValueError, match="engine circle cannot"):
        attractor.velocity(y, 1.0, engine="circle")
    with pytest.raises(ValueError, match="masses has 3 numbers"):
        attractor.velocity(y, 1.0, masses=[1, 2, 3])
    with pytest.raises(ValueError, match="masses holds 0"):
        attractor.velocity(y, 1.0, masses=np.zeros(20))
    for keyword, value in (("beta", -1), ("beta", "a"), ("engine", "fast"), ("dynamics", "hardmax"), ("space", "plane"),
                           ("accuracy", 1), ("precision", "half"), ("log_unit", np.nan)):
        with pytest.raises(ValueError, match=f"^{keyword} = '.*' is not allowed; allowed: "):
            attractor.velocity(y, **{"beta": 1.0, keyword: value})


def test_attention_of_heads_with_a_mask(rng):
    n, d, heads, rank = 12, 4, 3, 2
    x, q, k, v = rng.normal(size=(n, d)), *(rng.normal(size=s) for s in ((heads, rank, d), (heads, rank, d), (heads, d, d)))
    o = rng.normal(size=(d, d))
    far = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    for mask, window, slope in (("full", None, 0), ("causal", None, 0.3), ("causal", 3, 0), ("full", 2, 0.1)):
        out, weights = np.zeros((n, d)), []
        for h in range(heads):
            logits = 0.7 * (x @ q[h].T) @ (x @ k[h].T).T - slope * far
            hidden = (np.triu(np.ones((n, n)), 1) > 0 if mask == "causal" else False) | (far > (n if window is None else window))
            p = np.exp(np.where(hidden, -np.inf, logits))
            p /= p.sum(1, keepdims=True)
            weights.append(p)
            out += p @ x @ v[h].T
        got = attractor.attention(x, q, k, v, beta=0.7, mask=mask, window=window, distance_bias=slope, output=o, weights=True)
        np.testing.assert_allclose(got.weights, weights, atol=1e-13)
        np.testing.assert_allclose(got.out, out @ o.T, atol=1e-12)
        entropy = -np.nansum([p * np.log(np.where(p > 0, p, 1)) for p in weights], axis=2).T
        np.testing.assert_allclose(got.entropy, entropy, atol=1e-12)
    assert attractor.attention(x).weights is None
    with pytest.raises(ValueError, match=r"key: the weights have the shape \(2, 2, 4\)"):
        attractor.attention(x, q, k[:2], v)
    with pytest.raises(ValueError, match="rule = 'softest' is not allowed; allowed: sa"):
        attractor.attention(x, rule="softest")


def test_energy_is_the_double_sum(rng):
    x, m = unit_rows(rng, 50, 4), rng.integers(1, 5, 50)
    for masses in (None, m):
        w = np.ones(50) if masses is None else masses
        truth = (np.outer(w, w) * np.exp(3 * x @ x.T)).sum() / (2 * 3 * w.sum() ** 2)
        assert attractor.energy(x, 3.0, masses=masses).energy == pytest.approx(truth, rel=1e-12)
    e = attractor.energy(x, 3.0)
    speed = textbook(x, 3.0)
    z = np.exp(3 * x @ x.T).sum(1)
    assert e.dissipation == pytest.approx((z / 50 * (speed**2).sum(1)).sum() / 50, rel=1e-10)
    assert e.relative_error == 0 and np.isinf(attractor.energy(x, 2000.0).energy) and np.isfinite(attractor.energy(x, 2000.0).log_energy)


def test_clusters_are_connected_components(rng):
    sparse = pytest.importorskip("scipy.sparse.csgraph")
    x = unit_rows(rng, 300, 3)
    for cosine in (0.9, 0.98, 0.999):
        count, truth = sparse.connected_components(x @ x.T >= cosine)
        got = attractor.clusters(x, cosine=cosine)
        assert got.max() + 1 == count and len(set(zip(got, truth))) == count
    y = rng.normal(size=(200, 2))
    near = np.linalg.norm(y[:, None] - y[None], axis=2) <= 0.15
    assert attractor.clusters(y, radius=0.15).max() + 1 == sparse.connected_components(near)[0]
    with pytest.raises(ValueError, match="give one of them"):
        attractor.clusters(x, cosine=0.9, radius=1)


def test_hard_margin_proves_itself(rng):
    keys = rng.normal(size=(8, 5, 12))
    choice = rng.integers(0, 5, 8)
    m = attractor.hard_margin(keys, choice)
    assert m.status == "optimal" and m.lower <= m.norm <= m.upper * (1 + 1e-15) and m.relative_gap < 1e-12
    difference = keys[np.arange(8), choice][:, None] - keys
    slack = np.delete(difference @ m.p - 1, [], None)
    others = np.arange(5)[None] != choice[:, None]
    assert slack.reshape(8, 5)[others].min() > -1e-12
    # KKT: p is a positive combination of tight rows, so it is optimal whatever found it.
    p = sum(value * difference[i, t] for i, t, value in m.support)
    np.testing.assert_allclose(p, m.p, atol=1e-12)
    assert all(value > 0 and abs(difference[i, t] @ m.p - 1) < 1e-11 for i, t, value in m.support)
    assert sum(value for *_, value in m.support) / np.linalg.norm(p) == pytest.approx(m.norm, rel=1e-12)
    # Two tokens that ask for opposite directions.
    opposed = np.array([[[1.0, 0], [0, 0]], [[-1.0, 0], [0, 0]]])
    none = attractor.hard_margin(opposed, [0, 0])
    assert none.status == "infeasible" and np.isinf(none.upper) and {(i, t) for i, t, _ in none.farkas} == {(0, 1), (1, 1)}
    relaxed = attractor.hard_margin(np.array([[[1.0, 0], [0, 0]], [[0, 1.0], [0, 0]]]), [0, 0], relaxed=[1])
    np.testing.assert_allclose(relaxed.p, [1, 0], atol=1e-15)
    for bad in ([0, 1], [0] * 9, [5] + [0] * 7, [0.5] + [0] * 7, [-1] + [0] * 7, "a"):
        with pytest.raises(ValueError):
            attractor.hard_margin(keys, bad)


def test_nuclear_margin_proves_itself(rng):
    tokens, queries, choice = rng.normal(size=(5, 4, 6)), rng.normal(size=(5, 3)), rng.integers(0, 4, 5)
    m = attractor.nuclear_margin(tokens, queries, choice)
    assert m.status == "optimal" and m.W.shape == (6, 3)
    difference = tokens[np.arange(5), choice][:, None] - tokens
    margins = np.einsum("itd,de,ie->it", difference, m.W, queries)
    others = np.arange(4)[None] != choice[:, None]
    assert margins[others].min() > 1 - 1e-8
    assert np.linalg.norm(m.W, "nuc") == pytest.approx(m.norm, rel=1e-10) and m.lower <= m.upper
    # The dual bound, formed again: sum of multipliers over the operator norm of their rows.
    s = sum(value * np.outer(difference[i, t], queries[i]) for i, t, value in m.support)
    bound = sum(value for *_, value in m.support) / np.linalg.norm(s, 2)
    assert bound <= m.upper * (1 + 1e-9) and bound == pytest.approx(m.norm, rel=1e-8)
    with pytest.raises(ValueError, match="queries has 4 rows"):
        attractor.nuclear_margin(tokens, queries[:4], choice)


def test_equiangular_tokens_are_those_of_the_flow():
    exact = attractor.equiangular(tokens=6, beta=2)
    run = attractor.flow(init="equiangular", tokens=6, dim=8, beta=2, time=2, tolerance=1e-11)
    np.testing.assert_allclose(exact.cosine(run.series.time), run.series.mean_cosine, atol=1e-9)
    assert exact.cosine(0.0) == 0 and exact.cosine([[1.0, 2.0]]).shape == (1, 2)
    np.testing.assert_allclose(exact.cosine(np.exp(exact.log_time([0.3, 0.9]))), [0.3, 0.9], rtol=1e-10)
    assert np.isinf(exact.log_time(-0.1))
    huge = attractor.equiangular(tokens=1e12, beta=8, norm="pre")
    assert huge.log_norm(10.0) > 0 and huge.log_gap(1e6) < 0
    with pytest.raises(ValueError, match="tokens = '1'"):
        attractor.equiangular(tokens=1)
    with pytest.raises(ValueError, match="time = -1"):
        exact.cosine(-1)
    with pytest.raises(TypeError, match="no parameter 'level'"):
        attractor.equiangular(level=1)
