"""What may be given as an array, what is copied, and what is refused."""
import gc
import threading

import numpy as np
import pytest
from conftest import unit_rows

import attractor
from attractor import _core


@pytest.fixture
def x(rng):
    return unit_rows(rng, 10, 3)


def test_doubles_are_read_where_they_lie(x):
    assert _core.numbers(x, "x").ctypes.data == x.ctypes.data
    part = x[2:7]
    assert _core.numbers(part, "x").ctypes.data == part.ctypes.data
    readonly = x.copy()
    readonly.flags.writeable = False
    assert _core.numbers(readonly, "x").ctypes.data == readonly.ctypes.data
    for other in (x[::2], x.T, np.asfortranarray(x), x.astype("f4"), x.astype(">f8"), x.tolist()):
        copied = _core.numbers(other, "x")
        assert copied.ctypes.data != getattr(other, "ctypes", np.empty(1).ctypes).data and copied.flags.c_contiguous
        np.testing.assert_array_equal(copied, np.asarray(other, dtype=float))


def test_answers_are_written_where_they_are_wanted(x):
    out = np.empty_like(x)
    got = attractor.velocity(x, 2.0, out=out)
    assert got is out or got.ctypes.data == out.ctypes.data
    np.testing.assert_array_equal(out, attractor.velocity(x, 2.0))
    frozen = np.empty_like(x)
    frozen.flags.writeable = False
    for bad in (x, frozen, np.empty((3, 3)), np.empty((10, 3), "f4"), np.empty((10, 6))[:, ::2], [1, 2], "out"):
        with pytest.raises(ValueError, match="out must be another array"):
            attractor.velocity(x, 2.0, out=bad)


@pytest.mark.parametrize("change", [
    lambda x: x.tolist(), lambda x: tuple(map(tuple, x)), lambda x: np.asfortranarray(x), lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    lambda x: x.astype(">f8"), lambda x: x.astype(np.longdouble), lambda x: np.ma.masked_array(x), lambda x: memoryview(x),
    lambda x: x.view(type("Own", (np.ndarray,), {})),
], ids=["list", "tuple", "fortran", "strided", "big-endian", "longdouble", "masked", "memoryview", "subclass"])
def test_whatever_holds_real_numbers_is_taken(change, x):
    np.testing.assert_array_equal(attractor.velocity(change(x), 2.0), attractor.velocity(x, 2.0))
    np.testing.assert_array_equal(attractor.flow(tokens=change(x), time=1)["snapshots/positions"],
                                  attractor.flow(tokens=x, time=1)["snapshots/positions"])


def test_single_precision_stays(x):
    single = attractor.velocity(x.astype("f4"), 2.0)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, attractor.velocity(x, 2.0), atol=1e-6)
    assert attractor.attention(x.astype("f4")).out.dtype == np.float32
    assert attractor.velocity(np.eye(3, dtype="i8"), 1.0).dtype == np.float64


def test_tensors_are_taken(x):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(x)
    np.testing.assert_array_equal(attractor.velocity(tensor, 2.0), attractor.velocity(x, 2.0))
    assert _core.numbers(tensor, "x").ctypes.data == x.ctypes.data
    with pytest.raises(ValueError, match="x cannot be taken as an array: .*grad"):
        attractor.velocity(tensor.clone().requires_grad_(), 2.0)
    with pytest.raises(ValueError, match="x cannot be taken as an array"):
        attractor.velocity(tensor.to("meta"), 2.0)  # its numbers are nowhere this process can read, as on a GPU


def test_dlpack_alone_is_enough(x):
    class Foreign:
        def __dlpack__(self, stream=None):
            return x.__dlpack__()

        def __dlpack_device__(self):
            return x.__dlpack_device__()
    np.testing.assert_array_equal(attractor.velocity(Foreign(), 2.0), attractor.velocity(x, 2.0))


MASKED = np.ma.masked_array(np.eye(3), mask=np.eye(3))
BAD = [
    (np.eye(3) * 1j, "x holds complex128; allowed: real numbers"), (np.array([[object()] * 3]), "x holds object"),
    (np.array([["a", "b"]]), "x holds <U1"), (np.full((3, 3), np.nan), r"x: row 0, column 0 .* is nan; all entries must be finite"),
    (np.array([[1.0, np.inf]]), "row 0, column 1"), (np.empty((0, 3)), r"x is empty: its shape is \(0, 3\)"),
    (np.ones(3), r"x has the shape \(3\); allowed is \(n, d\)"), (np.ones((2, 2, 2)), r"allowed is \(n, d\)"), (MASKED, "x has masked entries"),
    ("text", "x must be an array of real numbers, not str"), (None, "not NoneType"), ({}, "not dict"), ([[1, 2], [3]], "x cannot be taken"),
    (np.broadcast_to(1.0, (10**12, 3)), "do not fit into memory"), (np.array([["2020-01-01"]], "M8"), "x holds datetime64"),
    (np.eye(3) * 2, r"x: row 0 .* has length 2; on the sphere tokens have length 1"), (3.5, r"x has the shape \(\); allowed is"),
    (np.zeros((2, 3), [("a", float)]), "allowed: real numbers"), (object(), "x holds object"),
]


@pytest.mark.parametrize("value,sentence", BAD, ids=[s[:30] for _, s in BAD])
def test_what_holds_none_is_refused_with_a_sentence(value, sentence):
    with pytest.raises(ValueError, match=sentence):
        attractor.velocity(value, 2.0)


@pytest.mark.parametrize("value", [v for v, _ in BAD[:14]], ids=[s[:30] for _, s in BAD[:14]])
def test_commands_refuse_it_too(value):
    if value is None:
        return
    with pytest.raises(ValueError):
        attractor.cluster(points=value)
    with pytest.raises(ValueError):
        attractor.flow(init="file", tokens_file=value, time=0)


def test_arrays_may_go_while_a_run_uses_them(x):
    big = np.tile(x, (30, 1))
    expected = attractor.flow(tokens=big, time=2, outputs=2)["snapshots/positions"][-1]
    results = []
    mine = big.copy()
    worker = threading.Thread(target=lambda a: results.append(attractor.flow(tokens=a, time=2, outputs=2)), args=(mine,))
    worker.start()
    mine[:] = 7  # a run has its own copy, or had not begun to read: either way nothing crashes
    del mine
    gc.collect()
    worker.join()
    assert results and expected.shape == results[0]["snapshots/positions"][-1].shape


def test_an_array_that_is_written_later_is_that_of_the_start(x):
    y = x.copy()
    r = attractor.flow(tokens=y, time=1)
    first = r["snapshots/positions"].copy()
    y[:] = 0
    np.testing.assert_array_equal(r["snapshots/positions"], first)
    held = attractor.velocity(x, 2.0)
    del r
    gc.collect()
    np.testing.assert_array_equal(held, attractor.velocity(x, 2.0))
