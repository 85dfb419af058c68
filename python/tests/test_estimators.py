"""Estimators pass scikit-learn's own checks, and find what plain loops find."""
import numpy as np
import pytest
from conftest import unit_rows

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import attractor
from attractor.estimators import AttentionSVC, BlurringMeanShift, MeanShift


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([MeanShift(), BlurringMeanShift()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def clouds(rng, n, d, spread):
    label = np.arange(n) % 3
    return rng.normal(size=(n, d)) + spread * np.eye(3, d)[label], label


def plain_mean_shift(x, h, sphere=False, steps=3000):
    y = x.copy()
    for _ in range(steps):
        w = np.exp(-((y[:, None] - x[None]) ** 2).sum(2) / (2 * h * h))
        y = w @ x / w.sum(1, keepdims=True)
        if sphere:
            y /= np.linalg.norm(y, axis=1, keepdims=True)
    return y


def same_partition(a, b):
    return len(set(zip(a, b))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("space", ["euclidean", "sphere"])
def test_mean_shift_ends_where_a_plain_loop_ends(space, rng):
    x, truth = clouds(rng, 90, 3, 7.0)
    h = 1.0
    if space == "sphere":
        x, h = x / np.linalg.norm(x, axis=1, keepdims=True), 0.25
    found = MeanShift(h, space=space, seeds=None).fit(x)
    ends = plain_mean_shift(x, h, space == "sphere")
    np.testing.assert_allclose(found.cluster_centers_[found.labels_], ends, atol=1e-4 * h)
    np.testing.assert_array_equal(found.predict(found.cluster_centers_), np.arange(len(found.cluster_centers_)))
    near = np.linalg.norm(x[:, None] - found.cluster_centers_[None], axis=2).argmin(1)
    np.testing.assert_array_equal(found.predict(x), near)
    assert np.bincount(found.labels_).tolist() == sorted(np.bincount(found.labels_), reverse=True)
    assert found.n_iter_ > 1 and found.bandwidth_ == h


def test_mean_shift_chooses_a_bandwidth_and_its_seeds(rng):
    x, truth = clouds(rng, 300, 2, 12.0)
    found = MeanShift(random_state=3, seeds=100).fit(x)
    assert found.bandwidth_ > 0 and len(found.labels_) == 300
    again = clone(found).fit(x)
    np.testing.assert_array_equal(found.labels_, again.labels_)
    assert len(set(make_pipeline(StandardScaler(), MeanShift(0.3)).fit_predict(x))) == 3
    with pytest.warns(Warning, match="had not arrived"):
        MeanShift(1.0, max_iter=1).fit(x)
    for bad in (dict(bandwidth=-1), dict(space="plane"), dict(tolerance=0), dict(seeds=0)):
        with pytest.raises(ValueError):
            MeanShift(**bad).fit(x)


def test_blurring_mean_shift_is_repeated_attention(rng):
    x, truth = clouds(rng, 120, 3, 8.0)
    found = BlurringMeanShift(1.0).fit(x)
    assert same_partition(found.labels_, truth)
    y = x.copy()
    for _ in range(found.n_iter_):  # a layer of softmax attention with the Gaussian kernel
        w = attractor.attention(y, beta=1.0, rule="radial", weights=True).weights[0]
        y = w @ y
    np.testing.assert_allclose(found.cluster_centers_[found.labels_], y, atol=1e-3)
    sphere = BlurringMeanShift(0.2, space="sphere").fit(unit_rows(rng, 50, 3))
    np.testing.assert_allclose(np.linalg.norm(sphere.cluster_centers_, axis=1), 1)
    with pytest.warns(Warning, match="had not gathered"):
        BlurringMeanShift(1.0, max_iter=1).fit(x)


def selectable(rng, n, tokens=5, d=6):
    """One relevant token in each input: along u, with the label along w."""
    x = 0.3 * rng.normal(size=(n, tokens, d))
    y = np.where(np.arange(n) % 2, "yes", "no")
    place = rng.integers(0, tokens, n)
    x[np.arange(n), place, 0] += 2
    x[np.arange(n), place, 1] += np.where(y == "yes", 1.5, -1.5)
    return x, y, place


def test_attention_svc_selects_and_classifies(rng):
    x, y, place = selectable(rng, 60)
    model = AttentionSVC().fit(x, y)
    assert list(model.classes_) == ["no", "yes"] and model.score(x, y) == 1
    assert (model.selected_ == place).mean() > 0.9
    np.testing.assert_allclose(model.attention_.sum(1), 1)
    np.testing.assert_allclose(model.attention(x), model.attention_, atol=1e-9)
    logits = x @ model.prompt_
    s = np.exp(logits - logits.max(1, keepdims=True))
    s /= s.sum(1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(x), np.einsum("nt,ntd,d->n", s, x, model.head_), rtol=1e-9)
    fresh, labels, _ = selectable(rng, 200)
    assert model.score(fresh, labels) > 0.95
    assert model.certificate_["status"] in ("optimal", "infeasible")
    if model.certificate_["status"] == "optimal":
        assert model.margin_ == pytest.approx(attractor.hard_margin(x, model.selected_).margin, rel=1e-9)


def test_attention_svc_refuses_what_it_cannot_learn(rng):
    x, y, _ = selectable(rng, 10)
    for bad in ((x[0], y), (x, y[:5]), (x, ["a"] * 10), (x, np.arange(10)), (x * np.nan, y)):
        with pytest.raises(ValueError):
            AttentionSVC().fit(*bad)
    fixed = AttentionSVC(head=np.eye(6)[1]).fit(x, y)
    np.testing.assert_array_equal(fixed.head_, np.eye(6)[1])
    with pytest.raises(ValueError, match="dimension"):
        fixed.predict(x[:, :, :3])
