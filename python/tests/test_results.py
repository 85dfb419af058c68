"""Results: names, dimensions, other tools' forms, files, pictures."""
import math
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import unit_rows

import attractor


@pytest.fixture(scope="module")
def collapse():
    return attractor.flow(tokens=16, dim=3, beta=9, time=math.inf, seed=2)


def test_values_groups_and_arrays_have_names(collapse):
    r = collapse
    assert r.clusters == r["clusters"] == 1 and isinstance(r.clusters, int)
    assert r.series.mean_cosine is r["series/mean_cosine"] is r["/series/mean_cosine"] is r.arrays["/series/mean_cosine"]
    assert set(r.series) >= {"time", "clusters", "energy"} and "series/time" in list(r) and "clusters" in r
    assert dict(r)["tokens"] == 16 and len(r) == len(list(r))
    assert r.parameters["beta"] == 9 and r.command == "attractor flow --beta 9 --tokens 16 --seed 2 --time inf"
    assert "series" in dir(r) and "mean_cosine" in dir(r.series) and "clusters" in dir(r)
    assert r.delivered and not r.interrupted and r.seconds > 0 and "clusters" in str(r) and "16 tokens" in repr(r)
    with pytest.raises(AttributeError, match="nothing"):
        r.nothing
    with pytest.raises(KeyError, match="nothing"):
        r["nothing"]
    with pytest.raises(AttributeError, match="series has no 'nothing'"):
        r.series.nothing


def test_xarray_has_dimensions_units_and_meanings(collapse):
    data = collapse.to_xarray()
    assert data.positions.dims == ("snapshot", "token", "axis") and data.positions.shape[1:] == (16, 3)
    assert data.mean_cosine.dims == ("time",) and data.attention_entropy.units == "nat"
    assert "mean" in data.mean_cosine.long_name
    np.testing.assert_array_equal(data.time, collapse.series.time)
    assert data.attrs["status"] == "collapsed" and data.attrs["beta"] == 9
    assert collapse.dims("snapshots/clusters") == ("snapshot", "token")
    assert set(data.coords) >= {"time", "log10_time", "snapshot_time"}


@pytest.mark.parametrize("make", [
    lambda: attractor.select(data="example:multi", steps=30, local=True, path=[1, 10], exact=True),
    lambda: attractor.bridge(data="example:authors-like", log10_time=3, tokens=8, time=1),
    lambda: attractor.stability(dim=2, beta=9), lambda: attractor.reduce.clusters(beta=25),
    lambda: attractor.cluster(points=np.random.default_rng(0).normal(size=(60, 2)), bandwidth=0.5),
    lambda: attractor.flow(tokens=8, heads=2, query="gaussian", key="gaussian", norm="pre", redraw=1, time=2),
    lambda: attractor.measure(tokens=np.eye(3)), lambda: attractor.context(tokens=4096, rho=0.5),
    lambda: attractor.inspect(states=np.random.default_rng(0).normal(size=(4, 9, 6))),
], ids=["select", "bridge", "stability", "clusters", "cluster", "weights", "measure", "context", "inspect"])
def test_every_result_is_a_dataset_a_table_and_a_picture(make):
    r = make()
    data = r.to_xarray()
    assert sum(np.size(a) for a in r.arrays.values()) == sum(v.size for v in data.variables.values())
    assert len(r.to_pandas()) >= 1
    for name in r.figures:
        plt.close(r.plot(name))
    html = r._repr_html_()
    assert "<div" in html and r.command.split()[0] in html
    again = pickle.loads(pickle.dumps(r))
    for path, array in r.arrays.items():
        np.testing.assert_array_equal(again.arrays[path], array)
    assert again.summary == r.summary and again.figures == r.figures


def test_pandas_has_the_series_or_a_table(collapse):
    frame = collapse.to_pandas()
    assert frame.index.name == "time" and frame.clusters.iloc[-1] == 1
    assert list(collapse.to_pandas("merge_tree").columns) == ["left", "right", "size", "time", "log10_time"]
    with pytest.raises(ValueError, match="group = 'nothing' is not allowed"):
        collapse.to_pandas("nothing")


def test_linkage_is_scipys(collapse):
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    z = collapse.linkage
    assert z.shape == (15, 4) and hierarchy.is_valid_linkage(z) and z[-1, 3] == 16
    # Cut between two mergers it gives the clusters of that time.
    for snapshot in range(len(collapse.snapshots.time)):
        cut = hierarchy.fcluster(z, collapse.snapshots.time[snapshot], "distance")
        labels = collapse.snapshots.clusters[snapshot]
        assert len(set(zip(cut, labels))) == len(set(cut)) == len(set(labels))
    early = attractor.flow(tokens=16, dim=3, beta=9, time=1, seed=2).linkage
    assert early.shape == (15, 4) and np.isinf(early[-1, 2])
    with pytest.raises(ValueError, match="no merge tree"):
        attractor.stability(dim=2, beta=4).linkage


def test_saved_runs_are_loaded(tmp_path, collapse):
    collapse.save(tmp_path / "run")
    again = attractor.load(tmp_path / "run")
    assert again.clusters == 1 and again.command == collapse.command
    np.testing.assert_array_equal(again.linkage, collapse.linkage)
    assert again.dims("snapshots/positions") == ("snapshot", "token", "axis")
    assert again.to_xarray().positions.dims == ("snapshot", "token", "axis")
    assert again.figures and "<svg" in again._repr_html_()
    plt.close(again.plot(again.figures[0]))
    with pytest.raises(ValueError, match="not saved again"):
        again.save(tmp_path / "other")
    with pytest.raises(ValueError, match="holds a finished run; choose another"):
        collapse.save(tmp_path / "run")
    with pytest.raises(ValueError, match="no summary.json"):
        attractor.load(tmp_path)


def test_tables_with_words_are_loaded_too(tmp_path):
    r = attractor.reproduce("pairing", quick=True)
    r.save(tmp_path / "pairing", figures=False)
    assert list(attractor.load(tmp_path / "pairing").checks.check) == list(r.checks.check)


def test_plots_are_drawn_where_asked(collapse):
    figure, ax = plt.subplots()
    name = next(n for n in collapse.figures if n == "energy")
    assert collapse.plot(name, ax=ax) is figure and ax.lines
    plt.close(figure)
    with pytest.raises(ValueError, match="name = 'nothing' is not allowed; allowed: tokens"):
        collapse.plot("nothing")


def test_a_cluster_run_has_labels_and_centres(rng):
    x = rng.normal(size=(90, 2)) + 10 * (np.arange(90) % 3)[:, None]
    r = attractor.cluster(points=x, bandwidth=1)
    assert r.labels.shape == (90,) and r.centres.shape == (r.clusters, 2)
    assert unit_rows(rng, 2, 2).shape == (2, 2)
