"""Tests of Codebook, in the five kinds every estimator has."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.points import nearest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from bagwise import Bags, Codebook, parallel

METHODS = ["kmeans", "random", "grid", "per_class"]


def draw_bags(seed, n_bags=6, n_features=3, n_points=9):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(2, n_points), n_features)) for _ in range(n_bags)]


def labels_of(bags):
    return np.arange(len(bags)) % 2


@parametrize_with_checks([Codebook(n_codewords=4, method=m, random_state=0) for m in METHODS])
def test_keeps_the_contract(estimator, check):
    check(estimator)


# 1. By hand: small enough to check on paper.


def test_counts_by_hand():
    model = Codebook(2, init=np.array([[0.0], [5.0]])).fit([[[0.0], [1.0], [4.0]], [[6.0]]])
    assert_array_equal(model.codewords_, [[0.5], [5.0]])
    assert_array_equal(model.transform([[[0.0], [1.0], [4.0]], [[6.0]]]), [[2, 1], [0, 1]])
    assert_array_equal(model.assign([[[0.0], [1.0], [4.0]], [[6.0]]]), [0, 0, 1, 1])
    assert_array_equal(model.usage_, [0.5, 0.5])
    assert_allclose(model.objective_, [0.75, 0.625, 0.625], rtol=1e-15)
    assert_allclose(model.ground_distance(), [[0, 4.5], [4.5, 0]], rtol=1e-15)
    assert_allclose(model.ground_distance("sqeuclidean"), [[0, 20.25], [20.25, 0]], rtol=1e-15)
    assert model.get_feature_names_out().tolist() == ["codebook0", "codebook1"]


def test_weights_count_as_points():
    bags = Bags([[0.0], [1.0], [4.0]], [0, 3], weights=[2.0, 0.5, 0.25])
    model = Codebook(2, init=np.array([[0.0], [5.0]]), tol=1e9).fit(bags)
    assert_allclose(model.codewords_, [[0.2], [4.0]], rtol=1e-15)
    assert_array_equal(model.transform(bags), [[2.5, 0.25]])
    assert_allclose(model.usage_, [2.5 / 2.75, 0.25 / 2.75])


def test_the_grid_is_a_regular_lattice_of_the_box():
    model = Codebook(4, method="grid").fit([[[0.0, 0.0], [4.0, 8.0]]])
    assert_array_equal(model.codewords_, [[1, 2], [1, 6], [3, 2], [3, 6]])
    line = Codebook(5, method="grid").fit([[[0.0], [10.0]]])
    assert_array_equal(line.codewords_.ravel(), [1, 3, 5, 7, 9])


def test_the_grid_is_sobol_points_where_no_lattice_fits():
    points = np.random.default_rng(0).uniform(-3.0, 5.0, (500, 2))
    one, same, other = (
        Codebook(128, method="grid", random_state=seed).fit(points).codewords_ for seed in (0, 0, 1)
    )
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (one - low) / (high - low)
    # A net: every cell of an 8 by 16 (and a 16 by 8) cut of the box holds one of 128 points.
    for cut in ([8, 16], [16, 8]):
        cells = np.floor(unit * cut).astype(int)
        assert len(np.unique(cells, axis=0)) == 128
        assert ((cells >= 0) & (cells < cut)).all()
    assert_array_equal(one, same)
    assert (one != other).any()


def test_per_class_words_are_divided_evenly_and_first_classes_have_one_more():
    centers = {"a": 0.0, "b": 100.0, "c": 200.0}
    rng = np.random.default_rng(0)
    y = np.repeat(list(centers), 4)
    bags = [centers[label] + rng.normal(size=(5, 1)) for label in y]
    model = Codebook(8, method="per_class", random_state=0).fit(bags, y)
    assert np.round(model.codewords_.ravel() / 100).tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert (np.diff(model.objective_) <= 1e-12).all()


# 2. Against a slow reference: the definition, written once more without speed in mind.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_transform_matches_slow_counts(method, seed):
    bags = draw_bags(seed)
    model = Codebook(4, method=method, random_state=seed).fit(bags, labels_of(bags))
    expected = [np.bincount(nearest(bag, model.codewords_), minlength=4) for bag in bags]
    assert_array_equal(model.transform(bags), expected)
    assert_array_equal(model.assign(bags), nearest(np.concatenate(bags), model.codewords_))


@pytest.mark.parametrize("seed", range(5))
def test_kmeans_does_as_well_as_scikit_learn(seed):
    points, _ = make_blobs(3000, n_features=5, centers=30, cluster_std=2.0, random_state=seed)
    init = points[:30]
    rival = KMeans(30, init=init, n_init=1, tol=0.0).fit(points)
    model = Codebook(30, init=init, tol=0.0).fit(points)
    assert model.objective_[-1] * len(points) <= rival.inertia_ * (1 + 1e-9)


def test_kmeans_moves_as_lloyd_does():
    points, _ = make_blobs(500, n_features=3, centers=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Codebook(8, init=points[:8], max_iter=4, tol=0.0).fit(points)
    codewords = points[:8]
    for _ in range(3):
        labels = nearest(points, codewords)
        codewords = np.array([points[labels == k].mean(axis=0) for k in range(8)])
    assert_allclose(model.codewords_, codewords, rtol=1e-12)


# 3. By property: what must hold for any bags.


@given(seed=st.integers(0, 2**32 - 1), method=st.sampled_from(METHODS))
@settings(deadline=None, max_examples=40)
def test_order_of_points_in_a_bag_does_not_matter(seed, method):
    bags = draw_bags(seed)
    model = Codebook(3, method=method, random_state=0).fit(bags, labels_of(bags))
    shuffled = [np.random.default_rng(seed).permutation(bag) for bag in bags]
    assert_array_equal(model.transform(shuffled), model.transform(bags))


@given(seed=st.integers(0, 2**32 - 1), method=st.sampled_from(METHODS))
@settings(deadline=None, max_examples=40)
def test_whole_weights_equal_points_repeated_in_place(seed, method):
    rng = np.random.default_rng(seed)
    bags = draw_bags(seed)
    times = [rng.integers(0, 4, len(bag)) for bag in bags]
    for each in times:
        each[:2] += 1  # no bag may be empty once its points of weight zero are gone
    weighted = Bags.from_list(bags, weights=times)
    repeated = [np.repeat(bag, each, axis=0) for bag, each in zip(bags, times, strict=True)]
    fits = [
        Codebook(4, method=method, random_state=0).fit(X, labels_of(bags))
        for X in (weighted, repeated)
    ]
    for name in ("codewords_", "usage_", "objective_"):
        assert_allclose(*[getattr(fit, name) for fit in fits], rtol=1e-10, atol=1e-10)
    assert_allclose(fits[0].transform(weighted), fits[0].transform(repeated), rtol=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_whole_weights_equal_repeated_points_where_distances_tie(seed):
    rng = np.random.default_rng(seed)
    points, times = rng.integers(0, 5, (100, 2)), rng.integers(1, 4, 100)
    weighted = Codebook(8, random_state=seed).fit(Bags(points, [0, 100], weights=times))
    repeated = Codebook(8, random_state=seed).fit([np.repeat(points, times, axis=0)])
    assert_allclose(weighted.codewords_, repeated.codewords_, rtol=1e-12)


def test_an_outlier_far_away_does_not_blind_the_start():
    model = Codebook(4, random_state=0).fit([[[0.0], [1.0], [2.0], [1e9]]])
    assert sorted(model.codewords_.ravel()) == [0, 1, 2, 1e9]
    points = np.random.default_rng(0).normal(size=(1000, 2))
    points[0] = 9.96e36
    assert (Codebook(8, random_state=0).fit([points]).usage_ > 0).sum() == 8


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_random_codewords_are_distinct_training_points(seed):
    bags = draw_bags(seed)
    bags += bags  # every point twice
    model = Codebook(5, method="random", random_state=seed).fit(bags)
    points = {tuple(point) for point in np.concatenate(bags)}
    assert len({tuple(word) for word in model.codewords_} & points) == 5


def test_random_codewords_are_drawn_by_weight():
    bags = Bags([[0.0], [1.0], [2.0], [-0.0]], [0, 4], weights=[1.0, 3.0, 4.0, 2.0])
    drawn = [
        Codebook(1, method="random", random_state=s).fit(bags).codewords_[0, 0] for s in range(2000)
    ]
    shares = np.bincount(np.array(drawn, int)) / 2000
    assert_allclose(shares, [0.3, 0.3, 0.4], atol=4 * np.sqrt(0.25 / 2000))


@given(seed=st.integers(0, 2**32 - 1), method=st.sampled_from(["kmeans", "per_class"]))
@settings(deadline=None, max_examples=40)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises(seed, method):
    bags = draw_bags(seed, n_points=30)
    model = Codebook(6, method=method, tol=0.0, max_iter=8, random_state=0).fit(
        bags, labels_of(bags)
    )
    assert (np.diff(model.objective_) <= 1e-12).all()
    assert model.n_iter_ == len(model.objective_)
    points = np.concatenate(bags)
    squares = ((points - model.codewords_[model.assign(bags)]) ** 2).sum(axis=1)
    assert_allclose(model.objective_[-1], squares.mean(), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_bit(monkeypatch, method, n_jobs):
    monkeypatch.setattr(parallel, "VALUES_PER_BLOCK", 64)  # many blocks
    bags = draw_bags(0, n_bags=300)
    one, many = (
        Codebook(7, method=method, n_jobs=n, random_state=0).fit(bags, labels_of(bags))
        for n in (1, n_jobs)
    )
    for name in ("codewords_", "usage_", "objective_"):
        assert_array_equal(getattr(one, name), getattr(many, name))
    assert_array_equal(one.transform(bags), many.transform(bags))
    assert_array_equal(one.assign(bags), many.assign(bags))


@pytest.mark.parametrize("method", METHODS)
def test_float32_points_give_the_bits_of_the_same_numbers_as_float64(method):
    bags = [bag.astype(np.float32) for bag in draw_bags(0, n_bags=40)]
    wide = [bag.astype(np.float64) for bag in bags]
    single, double = (
        Codebook(6, method=method, random_state=0).fit(X, labels_of(bags)) for X in (bags, wide)
    )
    assert_array_equal(single.codewords_, double.codewords_)
    assert_array_equal(single.transform(bags), double.transform(wide))


@pytest.mark.parametrize("scale", [1e-140, 1e-20, 1e20, 1e100])
@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method, scale):
    scale = 2.0 ** round(np.log2(scale))  # exact
    bags = draw_bags(1)
    tame, wild = (
        Codebook(4, method=method, random_state=0).fit([bag * s for bag in bags], labels_of(bags))
        for s in (1.0, scale)
    )
    assert_allclose(wild.codewords_ / scale, tame.codewords_, rtol=1e-12)
    assert_array_equal(wild.transform([bag * scale for bag in bags]), tame.transform(bags))


def test_a_large_bag_passes_in_pieces(monkeypatch):
    bags = draw_bags(0, n_bags=2, n_points=1000)
    model = Codebook(4, random_state=0).fit(bags)
    expected = model.transform(bags), model.assign(bags)
    monkeypatch.setattr(parallel, "VALUES_PER_BLOCK", 30)
    assert_array_equal(model.transform(bags), expected[0])
    assert_array_equal(model.assign(bags), expected[1])


# 4. By theory: a claim the docstring makes.


def test_kmeans_finds_well_parted_clusters():
    points, _ = make_blobs(300, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    model = Codebook(3, random_state=0).fit(points)
    order = np.lexsort(np.round(model.codewords_ / 50).T)
    assert_allclose(model.codewords_[order], [[0, 0], [50, 0], [0, 50]], atol=0.5)
    assert_allclose(model.usage_, 1 / 3)


def test_codewords_without_points_stay():
    far = np.array([[0.0], [1.0], [1e6]])
    model = Codebook(3, init=far).fit([[[0.0], [1.0], [2.0]]])
    assert model.codewords_[2, 0] == 1e6
    assert model.usage_[2] == 0.0


def test_a_stop_before_the_tolerance_warns():
    with pytest.warns(ConvergenceWarning, match="still moves after 2 rounds; raise max_iter or"):
        Codebook(5, max_iter=2, tol=0.0, random_state=0).fit(draw_bags(0, n_points=40))


# 5. By refusal: every error, and the words a user reads.


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([[[0.0]], [1.0, 2.0]], r"bag 1 has shape \(2,\), expected \(1 or more, 1\)"),
        ([[[0.0]], [[np.nan]]], "bag 1 has NaN in feature 0 of point 0"),
        ([[[0.0], [1e200]]], "bag 0 has 1e.200 in feature 0 of point 1, expected finite numbers"),
        ([[[0.0], [1.0]]], r"n_codewords is 3, expected 1 to the 2 distinct training.*n_samples=2"),
        ([[[0.0], [1.0], [1.0]]], "n_codewords is 3, expected 1 to the 2 distinct training points"),
    ],
)
def test_fit_refuses(bags, message):
    with pytest.raises(ValueError, match=message):
        Codebook(3).fit(bags)


def test_random_refuses_more_words_than_distinct_points():
    with pytest.raises(ValueError, match="n_codewords is 3, expected 1 to the 2 distinct training"):
        Codebook(3, method="random").fit([[[0.0], [1.0], [1.0]]])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"method": "kmean"}, ValueError, "method is 'kmean', .*did you mean 'kmeans'"),
        ({"n_codewords": 0}, ValueError, "n_codewords is 0, expected a whole number of at least 1"),
        ({"n_codewords": 2.5}, TypeError, "n_codewords is 2.5, expected a whole number"),
        ({"max_iter": 0}, ValueError, "max_iter is 0"),
        ({"tol": -1.0}, ValueError, "tol is -1.0, expected a finite number of at least 0"),
        ({"tol": None}, TypeError, "tol is None"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0, expected 1 or more"),
        ({"n_jobs": "two"}, TypeError, "n_jobs is 'two', expected a whole number or None"),
        ({"random_state": "x"}, ValueError, "'x' cannot be used to seed"),
        ({"init": "kmeans++"}, ValueError, "init is 'kmeans.*did you mean"),
        ({"init": [[0.0]]}, ValueError, r"init has shape \(1, 1\) of float64, .* of shape \(2, 1"),
        ({"init": [["a"], ["b"]]}, ValueError, r"init has shape \(2, 1\) of <U1"),
        ({"init": [[0.0], [np.nan]]}, ValueError, "expected 'k-means.*' or an array of shape"),
        ({"init": [[0.0], [1.0]], "method": "grid"}, ValueError, "init is an array, but method="),
        ({"method": "per_class"}, ValueError, "requires y to be passed, but the target y is None"),
    ],
)
def test_fit_refuses_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        Codebook(**{"n_codewords": 2} | parameters).fit([[[0.0], [1.0], [2.0]]])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"], r"y has shape \(1,\), expected one label for each of 3 bags"),
        (["a", None, "b"], "bag 1 has no label; fill y or drop the bag"),
        ([0.0, 1.0, np.nan], "bag 2 has no label"),
        (["a", "b", "c"], "n_codewords is 2, expected one or more for each of 3 classes"),
    ],
)
def test_per_class_refuses(y, message):
    with pytest.raises(ValueError, match=message):
        Codebook(2, method="per_class").fit([[[0.0]], [[1.0]], [[2.0]]], y)


def test_per_class_refuses_a_class_of_too_few_points():
    with pytest.raises(
        ValueError, match="of class b: n_codewords is 2, expected 1 to the 1 distinct training"
    ):
        Codebook(4, method="per_class").fit([[[0.0], [1.0], [2.0]], [[3.0]]], ["a", "b"])


def test_the_grid_refuses_more_dimensions_than_sobol_has():
    with pytest.raises(ValueError, match="points have 21202 features, expected at most 21201"):
        Codebook(3, method="grid").fit(np.zeros((3, 21202)))


def test_an_unknown_metric_is_refused():
    model = Codebook(2, random_state=0).fit([[[0.0], [1.0]]])
    for metric in ("euclidian", 3):
        with pytest.raises(
            ValueError, match=f"metric is {metric!r}, expected one that pdist knows"
        ):
            model.ground_distance(metric)


@pytest.mark.parametrize("method", ["transform", "assign", "ground_distance"])
def test_what_is_not_fitted_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(Codebook(), method)(*[[[[0.0]]]] * (method != "ground_distance"))
