import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from bagwise import Codebook
from bagwise.datasets import (
    hasler_toy,
    make_mixture_bags,
    make_sparse_histograms,
    make_torus_counts,
    python_docstrings,
)


def test_seeds_repeat():
    assert make_mixture_bags(random_state=3) == make_mixture_bags(random_state=3)
    assert make_mixture_bags(random_state=3) != make_mixture_bags(random_state=4)
    for make in (make_sparse_histograms, make_torus_counts):
        for one, two in zip(make(random_state=3), make(random_state=3), strict=True):
            assert_array_equal(one, two)


def score(overlap):
    bags = make_mixture_bags(90, overlap=overlap, random_state=0)
    model = make_pipeline(Codebook(16, random_state=0), Normalizer("l1"), LinearSVC())
    return cross_val_score(model, bags, bags.table["label"], cv=3).mean()


def test_overlap_makes_classes_hard_to_tell():
    assert score(0.0) == 1.0
    assert score(1.0) < 0.6


def test_mixture_bags_have_the_sizes_and_columns_they_name():
    bags = make_mixture_bags(9, n_classes=2, n_features=5, n_points=(3, 4), random_state=0)
    assert bags.shape == (9, 5)
    assert set(bags.sizes) <= {3, 4}
    assert bags.table["label"].tolist() == ["class 0", "class 1"] * 4 + ["class 0"]
    assert bags.table["group"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_sparse_histograms_are_their_codes_times_atoms():
    data = make_sparse_histograms(20, random_state=0)
    assert_allclose(data.histograms, data.codes @ data.atoms, rtol=1e-12)
    for rows in data[:3]:
        assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12)
    assert ((data.codes > 0).sum(axis=1) == 2).all()
    assert data.ground_distance.max() == 1.0
    assert_array_equal(data.ground_distance, data.ground_distance.T)


def test_a_shift_moves_histograms_along_the_line():
    still = make_sparse_histograms(50, random_state=0)
    moved = make_sparse_histograms(50, shift=2.0, random_state=0)
    assert_array_equal(still.codes, moved.codes)
    bins = np.arange(40)
    apart = (moved.histograms - still.histograms) @ bins
    assert 1.0 < apart.std() < 3.0


def test_near_windows_of_the_torus_share_words():
    data = make_torus_counts(400, random_state=0)
    assert_allclose(data.grid.sum(axis=-1), 1.0, rtol=1e-12)
    assert (data.counts.sum(axis=1) == 80).all()
    apart = abs(data.cells[:, np.newaxis] - data.cells)
    apart = np.minimum(apart, 12 - apart).sum(axis=-1)
    shares = data.counts / 80
    common = np.minimum(shares[:, np.newaxis], shares).sum(axis=-1)
    assert common[(apart > 0) & (apart <= 1)].mean() > common[apart >= 8].mean() + 0.4


def test_the_toy_of_hasler_07():
    X, y = hasler_toy()
    assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-15)
    angles = np.rad2deg(np.arctan2(X[:, 1], X[:, 0]))
    assert_allclose(angles, [14.3, 15.0, 16.4, 19.8, 25.5, 40.1, 43.4, 51.1, 62.4, 67.3])
    assert_array_equal(y, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1])


def test_docstrings_are_parsed_and_nothing_is_run(tmp_path):
    package = tmp_path / "shelf"
    package.mkdir()
    (tmp_path / "plain.py").write_text('"""A module."""\nraise SystemExit\n')
    (package / "__init__.py").write_text('"""A package."""\n')
    (package / "deep.py").write_text(
        'class A:\n    """A class."""\n    def b(self):\n        """A method."""\n'
        '    async def c(self):\n        """\n        Two\n          lines\n        """\n'
        "def bare(): pass\n"
    )
    (package / "broken.py").write_text("def (:\n")
    (package / "odd.py").write_text('"""An escape \\d."""\n')
    (package / "binary.py").write_bytes(b"\0\xff")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "left_out.py").write_text('"""A test."""')
    table = python_docstrings(tmp_path)
    assert dict(zip(table["name"], table["text"], strict=True)) == {
        "plain": "A module.",
        "shelf": "A package.",
        "shelf.deep.A": "A class.",
        "shelf.deep.A.b": "A method.",
        "shelf.deep.A.c": "Two\n  lines",
        "shelf.odd": "An escape \\d.",
    }
    assert table["module"].tolist().count("shelf.deep") == 3
    assert set(table["package"]) == {"plain", "shelf"}
    assert "plain" not in sys.modules


def test_a_folder_without_docstrings_gives_an_empty_table(tmp_path):
    assert {name: len(column) for name, column in python_docstrings(tmp_path).items()} == {
        "text": 0,
        "name": 0,
        "module": 0,
        "package": 0,
    }


def test_the_running_python_has_docstrings():
    table = python_docstrings()
    assert len(table["text"]) > 1000
    assert {"json", "email", "asyncio"} <= set(table["package"])
    assert not any("site-packages" in name for name in table["module"])
    assert "json.loads" in table["name"]
    assert Path(__file__).exists()


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_mixture_bags, {"n_bags": 0}, "n_bags is 0"),
        (make_mixture_bags, {"n_kinds": 2}, "n_kinds is 2, expected a whole number of at least 3"),
        (make_mixture_bags, {"overlap": -0.1}, "overlap is -0.1"),
        (make_mixture_bags, {"overlap": 1.1}, "overlap is 1.1, expected at most 1"),
        (make_mixture_bags, {"n_points": 5}, "n_points is 5, expected the least and the most"),
        (python_docstrings, {"folder": "nowhere"}, "there is no folder nowhere"),
        (make_mixture_bags, {"n_points": (5, 3)}, r"n_points is \(5, 3\), expected the least and"),
        (make_sparse_histograms, {"n_used": 7}, "n_atoms is 6, expected a whole number of at"),
        (make_sparse_histograms, {"n_bins": 1}, "n_bins is 1"),
        (make_sparse_histograms, {"shift": -1}, "shift is -1"),
        (make_torus_counts, {"window": (13, 3)}, r"window is \(13, 3\), expected at most the grid"),
        (make_torus_counts, {"n_words": 0}, "n_words is 0"),
    ],
)
def test_refusals(make, arguments, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        make(**arguments)
