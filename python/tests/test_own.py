"""Drifts and observables of the user's own, and flows stepped by hand."""
import copy
import math
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import unit_rows

import attractor


def kuramoto(natural, coupling=3.0):
    """Oscillators with inertia: points (phase, velocity) of the plane."""
    def drift(x):
        z = np.exp(1j * x[:, 0]).mean()
        return np.column_stack([x[:, 1], natural - x[:, 1] + coupling * (z * np.exp(-1j * x[:, 0])).imag])
    return attractor.Flow(drift, space="euclidean")


def test_a_drift_of_ones_own_has_the_order_of_the_stepper(rng):
    flow = kuramoto(rng.normal(size=10))
    start = np.column_stack([rng.uniform(0, 6, 10), np.zeros(10)])
    fine = flow.run(start, time=2, tolerance=1e-13, stepper="adaptive8").positions[-1]
    for stepper, order in (("euler", 1), ("rk4", 4)):
        errors = [np.abs(flow.run(start, time=2, stepper=stepper, step=h).positions[-1] - fine).max() for h in (0.04, 0.02)]
        assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)
    errors = [np.abs(flow.run(start, time=2, tolerance=t).positions[-1] - fine).max() for t in (1e-5, 1e-8)]
    assert errors[1] < 1e-2 * errors[0] and errors[1] < 1e-7


def test_observables_and_outputs(rng):
    flow = kuramoto(rng.normal(size=10))
    start = rng.normal(size=(10, 2))
    r = flow.run(start, time=5, at=[0, 1, 5], observe={"order": lambda x: abs(np.exp(1j * x[:, 0]).mean())})
    np.testing.assert_array_equal(r.series.time, [0, 1, 5])
    np.testing.assert_allclose(r.series.order, np.abs(np.exp(1j * r.positions[:, :, 0]).mean(1)), rtol=1e-14)
    assert r.to_xarray().positions.dims == ("time", "token", "axis") and r.figures == ["observable-0"]
    log = flow.run(start, time=1e3, output_spacing="log", outputs=20)
    assert log.positions.shape == (21, 10, 2) and log.series.time[1] < 0.1


def test_on_the_sphere_against_the_matrix_exponential(rng):
    a, x = np.diag([1, 0.5, -1.0]), unit_rows(rng, 30, 3)
    r = attractor.Flow(lambda x: x @ a).run(x, time=4, tolerance=1e-10)
    exact = x @ np.diag(np.exp(4 * np.diag(a)))
    np.testing.assert_allclose(r.positions[-1], exact / np.linalg.norm(exact, axis=1, keepdims=True), atol=1e-9)
    rest = attractor.Flow(lambda x: x @ a).run(x, time=math.inf)
    assert rest.status == "at_equilibrium"
    np.testing.assert_allclose(np.abs(rest.positions[-1][:, 0]), 1, atol=1e-5)


def test_a_drift_may_depend_on_time_and_be_noisy():
    r = attractor.Flow(lambda x, t: np.full_like(x, math.cos(t)), space="euclidean").run([[0.0]], time=7, tolerance=1e-10)
    assert r.positions[-1, 0, 0] == pytest.approx(math.sin(7), abs=1e-8)
    still = attractor.Flow(lambda x: 0 * x, space="euclidean").run(np.zeros((4000, 1)), time=1, noise=0.5, step=0.1, seed=4)
    # Brownian motion of variance 2 kappa t = 1: the sample variance of 4000 draws is within 5 of its standard errors.
    assert still.positions[-1].var() == pytest.approx(1, abs=5 * math.sqrt(2 / 4000))


def test_what_a_drift_does_wrong_is_said(rng):
    x = unit_rows(rng, 5, 3)
    with pytest.raises(ZeroDivisionError):
        attractor.Flow(lambda x: 1 / 0).run(x)
    for bad in (lambda x: x[:2], lambda x: None, lambda x: "text", lambda x: x[:, :2]):
        with pytest.raises(ValueError, match="the drift returned"):
            attractor.Flow(bad).run(x)
    with pytest.raises(attractor.NotDelivered, match="not_finite") as error:
        attractor.Flow(lambda x: x * np.nan).run(x)
    assert error.value.result.positions.shape == (1, 5, 3)
    with pytest.raises(attractor.NotDelivered):
        attractor.Flow(lambda x: x**2, space="euclidean").run([[1.0]], time=2)
    for keywords in (dict(time=-1), dict(stepper="fast"), dict(at=[2, 1]), dict(space="plane"), dict(outputs=0), dict(tolerance="a")):
        with pytest.raises(ValueError):
            attractor.Flow(lambda x: x, **({"space": keywords.pop("space")} if "space" in keywords else {})).run(x, **keywords)
    with pytest.raises(TypeError, match="no parameter 'tme'"):
        attractor.Flow(lambda x: x).run(x, tme=1)
    with pytest.raises(ValueError, match="drift = '3'"):
        attractor.Flow(3)
    for points in (np.zeros((2, 3)), np.ones(3), np.full((2, 3), np.nan), "a"):
        with pytest.raises(ValueError):
            attractor.Flow(lambda x: x).run(points)


def test_a_callable_may_keep_and_change_what_it_is_given(rng):
    x, kept = unit_rows(rng, 6, 3), []

    def drift(x):
        kept.append(x)
        v = x @ np.diag([1, 0, 0])
        x[:] = 7
        return v
    one = attractor.Flow(drift).run(x, time=1)
    two = attractor.Flow(lambda x: x @ np.diag([1, 0, 0])).run(x, time=1)
    np.testing.assert_array_equal(one.positions, two.positions)
    assert all((k == 7).all() for k in kept)


SIMULATIONS = [dict(tokens=24, beta=9), dict(tokens=20, dim=2, dynamics="usa", beta=3), dict(tokens=12, norm="pre", mask="causal"),
               dict(tokens=12, query="gaussian", redraw=0.5, stepper="rk4", step=0.1), dict(tokens=12, noise=0.1, step=0.05),
               dict(tokens=50, dim=2, engine="circle", beta=4)]


@pytest.mark.parametrize("keywords", SIMULATIONS, ids=lambda k: " ".join(k))
def test_a_simulation_goes_on_from_a_pickle_to_the_same_bits(keywords):
    s = attractor.Simulation(**keywords).step(7)
    assert s.steps == 7 and s.time > 0
    again = pickle.loads(pickle.dumps(s))
    for one in (s, again):
        one.run_until(3)
    np.testing.assert_array_equal(s.tokens, again.tokens)
    assert again.time == s.time == 3 and again.steps == s.steps
    np.testing.assert_array_equal(s.coalesced, again.coalesced)
    assert copy.deepcopy(s).steps == s.steps


def test_a_simulation_is_the_flow():
    keywords = dict(tokens=16, beta=3, stepper="rk4", step=0.1, seed=4)
    s = attractor.Simulation(**keywords)
    for _ in range(20):
        s.step()
    np.testing.assert_array_equal(s.tokens, attractor.flow(time=2, **keywords)["snapshots/positions"][-1])
    end = attractor.Simulation(tokens=16, beta=20).run_until(math.inf)
    assert end.status == "collapsed" and end.distinct == 1 and (end.coalesced == 0).all() and end.log10_time > 1
    given = unit_rows(np.random.default_rng(0), 5, 3)
    np.testing.assert_array_equal(attractor.Simulation(tokens=given).tokens, given)
    assert "24 tokens, 24 distinct" in repr(attractor.Simulation(tokens=24))


def test_a_simulation_refuses_what_it_cannot_do():
    s = attractor.Simulation(tokens=8).run_until(1)
    for bad in (0.5, -1, math.nan, "a", None):
        with pytest.raises(ValueError):
            s.run_until(bad)
    for bad in (-1, 1.5, "a"):
        with pytest.raises(ValueError):
            s.step(bad)
    with pytest.raises(TypeError, match="Simulation.. has no parameter 'time'"):
        attractor.Simulation(time=3)
    with pytest.raises(ValueError, match="noise needs stepper"):
        attractor.Simulation(noise=1, stepper="rk4")
    state = s.__getstate__()
    for change, sentence in (({"version": "0.0.1"}, "pickled by version 0.0.1"), ({"bytes": state["bytes"][:-1]}, "simulation"),
                             ({"keywords": {"tokens": 9}}, "another one")):
        fresh = attractor.Simulation.__new__(attractor.Simulation)
        with pytest.raises(ValueError, match=sentence):
            fresh.__setstate__({**state, **change})


INTERRUPTED = '''
import os, signal, sys, threading, numpy as np, attractor
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    {call}
    print("nobody stopped it")
except attractor.Interrupted as error:
    r = error.result
    print("interrupted", r.interrupted, r.delivered, {look})
except KeyboardInterrupt:
    print("interrupted")
sys.exit(0)
'''


@pytest.mark.parametrize("call,look", [
    ("attractor.flow(tokens=100, stepper='rk4', step=1e-3, time=9e3, progress=False)", "r.status, len(r.series.time), 0 < r.time < 9e3"),
    ("attractor.select(data='example:multi', steps=10**9)", "r.status, len(r['final/p'])"),
    ("attractor.Flow(lambda x: x[:, ::-1] * [1, -1], 'euclidean').run(np.eye(2), time=9e5, stepper='rk4', step=0.1)", "r.status, len(r.positions)"),
    ("attractor.Simulation(tokens=300, stepper='rk4', step=1e-3).run_until(1e9)", "0"),
    ("attractor.sweep('flow', measure=['clusters'], fixed={'tokens': 300, 'time': 1e4}, grid={'beta': [1, 2]}, replicates=999)", "1"),
], ids=["flow", "select", "Flow", "Simulation", "sweep"])
def test_ctrl_c_ends_a_run_with_what_there_is(call, look):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED.format(call=call, look=look)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("interrupted"), done.stdout + done.stderr
    if call.startswith("attractor.flow"):
        assert done.stdout.startswith("interrupted True False interrupted ") and done.stdout.rstrip().endswith("True")


def test_interrupted_runs_are_returned_if_wanted():
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    r = attractor.flow(tokens=100, stepper="rk4", step=1e-3, time=9e3, throw=False)
    assert r.interrupted and not r.delivered and r.status == "interrupted"
    timer.join()


def test_threads_of_python_run_side_by_side_to_the_same_bits():
    before = attractor.threads()
    try:
        expected = [attractor.flow(tokens=64, dim=8, beta=b, time=2)["snapshots/positions"] for b in (1, 4)]
        for count in (1, 2):
            attractor.set_threads(count)
            assert attractor.threads() == count
            got = [None, None]

            def run(k):
                got[k] = attractor.flow(tokens=64, dim=8, beta=(1, 4)[k], time=2)["snapshots/positions"]
            workers = [threading.Thread(target=run, args=(k,)) for k in (0, 1)]
            for w in workers:
                w.start()
            for w in workers:
                w.join()
            for a, b in zip(got, expected):
                np.testing.assert_array_equal(a, b)
    finally:
        attractor.set_threads(before)
    for bad in (-1, 1.5, "a", None, 10**9):
        with pytest.raises(ValueError, match="^threads = "):
            attractor.set_threads(bad)


def child(beta):
    return attractor.flow(tokens=600, dim=16, beta=beta, time=1, outputs=2)


def test_a_forked_process_computes_and_sends_results_back():
    import multiprocessing
    here = child(2.0)["snapshots/positions"]  # the pool of threads is at work before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for r in pool.map(child, [2.0, 2.0]):
            np.testing.assert_array_equal(r["snapshots/positions"], here)
            assert r.tokens == 600
