import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import points as reference

from bagwise.kernels.points import LANES, count_labels, frame, nearest, sum_by_label


def test_nearest_by_hand():
    points = np.array([[0.0, 0.0], [4.0, 1.0], [9.0, 9.0]])
    assert_array_equal(nearest(points, np.array([[0.0, 1.0], [5.0, 0.0]])), [0, 1, 1])


def test_a_tie_goes_to_the_lowest_codeword():
    codewords = np.array([[1.0], [0.0], [1.0]])
    assert_array_equal(nearest(np.array([[0.5], [2.0], [-1.0]]), codewords), [0, 0, 1])


def test_one_codeword_takes_all():
    assert_array_equal(nearest(np.ones((3, 2)), np.zeros((1, 2))), [0, 0, 0])


KINDS = {
    "gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "far from zero": lambda rng, n, d: 1e8 + rng.normal(size=(n, d)),
    "whole numbers": lambda rng, n, d: rng.integers(-2, 3, (n, d)).astype(float),
    "heavy tails": lambda rng, n, d: np.exp(rng.normal(0.0, 20.0, (n, d))),
    "tiny": lambda rng, n, d: 1e-170 * rng.normal(size=(n, d)),
    "huge": lambda rng, n, d: 1e140 * rng.normal(size=(n, d)),
    "one outlier": lambda rng, n, d: np.where(
        np.arange(n)[:, None] == 3, 1e60, rng.normal(size=(n, d))
    ),
    "vanishing": lambda rng, n, d: 10.0 ** rng.uniform(-165, -150) * rng.normal(size=(n, d)),
    "wide range": lambda rng, n, d: (
        10.0 ** rng.integers(-160, 150, (n, 1)) * rng.normal(size=(n, d))
    ),
    "one dust": lambda rng, n, d: rng.normal(size=(n, d)) * np.where(np.arange(d) < 1, 1, 1e-30),
}


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(kind, np.float64) for kind in KINDS]
    + [
        (kind, np.float32)
        for kind in KINDS
        if kind in ("gaussian", "far from zero", "whole numbers")
    ],
)
@pytest.mark.parametrize(("n", "d", "k"), [(5, 1, 3), (LANES, 4, 4), (3 * LANES + 7, 9, 61)])
@pytest.mark.filterwarnings("ignore:overflow")  # of numbers beyond float32, cast to it
def test_nearest_matches_its_definition(kind, dtype, n, d, k):
    rng = np.random.default_rng(n + d + k)
    points = KINDS[kind](rng, n, d).astype(dtype)
    points = points[np.isfinite(points).all(axis=1)]
    assert len(points) > k
    codewords = points[rng.permutation(len(points))[:k]].astype(float)
    codewords = codewords * (1.0 + 1e-9 * rng.normal(size=codewords.shape))
    assert_array_equal(nearest(points, codewords), reference.nearest(points, codewords))


@given(seed=st.integers(0, 2**32 - 1), nudge=st.integers(-40, 0))
@settings(deadline=None)
def test_nearest_matches_its_definition_where_codewords_almost_tie(seed, nudge):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    points = rng.normal(size=(50, d))
    codewords = np.repeat(rng.normal(size=(6, d)), 2, axis=0)
    codewords[1::2] += 2.0**nudge * rng.normal(size=(6, d))
    assert_array_equal(nearest(points, codewords), reference.nearest(points, codewords))


@given(seed=st.integers(0, 2**32 - 1), far=st.integers(20, 80))
@settings(deadline=None)
def test_nearest_matches_its_definition_far_from_every_codeword(seed, far):
    # float64 itself rounds such distances until they tie; its answer counts, not the true one.
    rng = np.random.default_rng(seed)
    points, codewords = 2.0**far * rng.normal(size=(50, 3)), rng.normal(size=(6, 3))
    assert_array_equal(nearest(points, codewords), reference.nearest(points, codewords))


def test_float32_settles_nearly_every_point(monkeypatch):
    # Behind the speed: what float64 must settle is rare on data without structure.
    from bagwise.kernels import points as kernels

    calls = []
    settle = kernels.settle
    monkeypatch.setattr(kernels, "settle", lambda *a: calls.append(0) or settle(*a))
    rng = np.random.default_rng(0)
    points, codewords = rng.normal(size=(8 * LANES, 8)), rng.normal(size=(64, 8))
    kernels.nearest.py_func(points, codewords)
    assert len(calls) < 8
    kernels.nearest.py_func(points, np.repeat(codewords, 2, axis=0))
    assert len(calls) >= len(points)


@pytest.mark.parametrize(
    ("spread", "scale"),
    [(0.75, 1.0), (1.0, 0.5), (3.0, 0.25), (1e-200, 2.0**500), (1e200, 2.0**-500), (0.0, 1.0)],
)
def test_the_frame_brings_the_farthest_codeword_near_one(spread, scale):
    codewords = np.array([[0.0, spread], [0.0, -spread], [0.0, 0.0]])
    center, found = frame(codewords)
    assert_array_equal(center, [0.0, 0.0])
    assert found == scale
    assert_allclose(frame(np.array([[1.0, 2.0], [3.0, 6.0]]))[0], [2.0, 4.0], rtol=1e-15)


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_sums_match_slow_sums(seed):
    rng = np.random.default_rng(seed)
    points, codewords = rng.normal(size=(30, 3)), rng.normal(size=(5, 3))
    weights, labels = rng.random(30), rng.integers(0, 5, 30)
    total = sum_by_label(points, weights, labels, codewords)
    expected = reference.sum_by_label(points, weights, labels, codewords)
    for got, slow in zip(total, expected, strict=True):
        assert_allclose(got, slow, rtol=1e-12, atol=1e-14)


def test_counts_add_to_what_is_there():
    labels, bags = np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])
    weights = np.array([1.0, 2.0, 0.5, 4.0])
    counts = np.ones((2, 2))
    count_labels(labels, bags, weights, counts)
    expected = 1.0 + reference.count_labels(labels, bags, weights, (2, 2))
    assert_array_equal(counts, expected)
    assert_array_equal(expected, [[2.0, 3.0], [5.0, 1.5]])
