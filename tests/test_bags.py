import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, StratifiedGroupKFold, train_test_split

from bagwise import Bags, as_bags
from bagwise.bags import check_bags, from_columns
from bagwise.vocabulary import Codebook


def draw_bags(seed=0, n_bags=5, n_features=2, dtype=np.float64):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_bags)
    points = rng.normal(size=(sizes.sum(), n_features)).astype(dtype)
    return Bags(
        points,
        np.append(0, np.cumsum(sizes)),
        weights=rng.random(len(points)),
        names=[f"bag {b}" for b in range(n_bags)],
        table={"label": np.arange(n_bags) % 2, "text": list("abcdefghij"[:n_bags])},
    )


# What it holds.


def test_a_bag_is_a_run_of_points():
    bags = Bags([[0.0], [1.0], [2.0]], [0, 1, 3])
    assert len(bags) == 2
    assert bags.shape == (2, 1)
    assert bags.n_features == 1
    assert_array_equal(bags.sizes, [1, 2])
    assert_array_equal(bags[1], [[1.0], [2.0]])
    assert [bag.tolist() for bag in bags] == [[[0.0]], [[1.0], [2.0]]]
    assert bags.weights is None
    assert_array_equal(bags.point_weights(), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_not_copied(dtype):
    points = np.zeros((4, 2), dtype)
    assert Bags(points, [0, 4]).points is points
    assert as_bags(points).points is points
    cube = np.zeros((3, 4, 2), dtype)
    assert np.shares_memory(as_bags(cube).points, cube)
    bags = Bags(points, np.array([0, 2, 4]))
    assert np.shares_memory(bags[0:1].points, points)
    assert np.shares_memory(bags[1], points)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, ">f8", object])
def test_other_numbers_become_float64(dtype):
    points = np.array([[0, 1], [1, 1]]).astype(dtype)
    bags = Bags(points, [0, 2])
    assert bags.points.dtype == np.dtype("float64")
    assert bags.points.dtype.isnative
    assert_array_equal(bags.points, [[0, 1], [1, 1]])


def test_other_orders_become_rows_end_to_end():
    bags = Bags(np.asfortranarray(np.arange(6.0).reshape(3, 2)), [0, 3])
    assert bags.points.flags.c_contiguous
    assert_array_equal(bags.points, np.arange(6.0).reshape(3, 2))


def test_mapped_points_stay_mapped(tmp_path):
    np.save(tmp_path / "points.npy", np.arange(12.0, dtype=np.float32).reshape(6, 2))
    points = np.load(tmp_path / "points.npy", mmap_mode="r")
    bags = Bags(points, [0, 2, 6])
    assert bags.points is points
    assert isinstance(bags[1:].points, np.memmap)
    assert isinstance(bags[0], np.memmap)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_offsets_of_any_whole_numbers_become_int64(dtype):
    assert Bags(np.zeros((3, 1)), np.array([0, 1, 3], dtype)).offsets.dtype == np.int64


def test_offsets_pass_32_bits():
    sizes = np.full(3, 2**30, np.int32)
    from bagwise.arrays import cut

    assert_array_equal(cut(sizes), [0, 2**30, 2**31, 3 * 2**30])


# Ways in.


def test_from_list_keeps_float32_and_takes_weights_of_each_bag():
    arrays = [np.ones((2, 1), np.float32), np.zeros((1, 1), np.float32)]
    bags = Bags.from_list(arrays, weights=[[1, 2], [3]], names=["a", "b"], table={"y": [0, 1]})
    assert bags.points.dtype == np.float32
    assert_array_equal(bags.weights, [1, 2, 3])
    assert bags == Bags(
        [[1], [1], [0]], [0, 2, 3], weights=[1, 2, 3], names=["a", "b"], table={"y": [0, 1]}
    )


def test_from_ids_takes_bags_in_order_of_first_appearance():
    bags = Bags.from_ids(
        [[0.0], [1.0], [2.0], [3.0]],
        ["b", "a", "b", "a"],
        weights=[1, 2, 3, 4],
        table={"ill": [True, False, True, False], "age": [1, 2, 1, 3], "gone": [np.nan] * 4},
    )
    assert bags.names.tolist() == ["b", "a"]
    assert_array_equal(bags.points.ravel(), [0, 2, 1, 3])
    assert_array_equal(bags.weights, [1, 3, 2, 4])
    assert list(bags.table) == ["ill", "gone"]
    assert_array_equal(bags.table["ill"], [True, False])


def test_from_ids_copies_nothing_where_points_lie_in_order():
    points = np.zeros((3, 1))
    bags = Bags.from_ids(points, np.array([7, 7, 3]))
    assert bags.points is points
    assert bags.names.tolist() == [7, 3]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_from_ids_keeps_every_point_in_its_bag_and_order(ids):
    bags = Bags.from_ids(np.arange(len(ids))[:, None], ids)
    assert bags.names.tolist() == list(dict.fromkeys(ids))
    for name, bag in zip(bags.names, bags, strict=True):
        assert bag.ravel().tolist() == [i for i, one in enumerate(ids) if one == name]


FRAME = {
    "patient": ["p2", "p1", "p2"],
    "a": np.array([1, 2, 3], np.float32),
    "b": np.array([4, 5, 6], np.float32),
    "w": [1.0, 0.5, 2.0],
    "ill": ["yes", "no", "yes"],
    "well": ["A1", "A2", "A3"],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, "arrow"])
def test_from_frame_takes_any_frame(make):
    if make == "arrow":
        make = pytest.importorskip("pyarrow", reason="pyarrow is not installed").table
    bags = Bags.from_frame(make(FRAME), bag="patient", features=["b", "a"], weight="w")
    assert bags.names.tolist() == ["p2", "p1"]
    assert bags.points.dtype == np.float32
    assert_array_equal(bags.points, [[4, 1], [6, 3], [5, 2]])
    assert_array_equal(bags.weights, [1, 2, 0.5])
    assert {name: column.tolist() for name, column in bags.table.items()} == {"ill": ["yes", "no"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bag": "patent"}, "bag is 'patent', but there is no such column.*did you mean 'patient'"),
        ({"features": ["a", "bb"]}, "features is 'bb', but there is no such column"),
        ({"features": ["ill"]}, "column 'ill' has 'yes' in row 0, expected a number"),
        ({"weight": "ww"}, "weight is 'ww', but there is no such column.*did you mean 'w'"),
    ],
)
def test_from_frame_refuses(change, message):
    arguments = {"bag": "patient", "features": ["a"], "weight": None} | change
    with pytest.raises(ValueError, match=message):
        Bags.from_frame(pd.DataFrame(FRAME), **arguments)


@pytest.mark.parametrize("features", ["a", []])
def test_from_frame_refuses_features_that_are_no_list(features):
    with pytest.raises(TypeError, match="expected a list of one or more column names"):
        Bags.from_frame(pd.DataFrame(FRAME), bag="patient", features=features)


def test_from_columns_finds_features_and_weights():
    columns = {
        "bag": np.array(["p", "p", "q"], object),
        "point_weight": np.array([1.0, 0.5, 2.0]),
        "x": np.array([1.0, 2.0, 3.0]),
        "age": np.array([30, 30, 40]),
    }
    expected = {"weights": columns["point_weight"], "names": ["p", "q"], "table": {"age": [30, 40]}}
    found = from_columns(columns, "bag", None, None)
    assert found == Bags([[1.0], [2.0], [3.0]], [0, 2, 3], **expected)
    assert found == from_columns(columns, "bag", ["x"], "point_weight")
    unweighted = from_columns(columns, "bag", ["x"], None)
    assert unweighted == Bags(found.points, found.offsets, **expected | {"weights": None})
    other = from_columns(columns, "bag", None, "x")  # a weight that is named is the weight
    assert other == Bags(
        columns["point_weight"][:, None], [0, 2, 3], **expected | {"weights": columns["x"]}
    )


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_id_is_refused(missing):
    with pytest.raises(ValueError, match="point 1 has no bag id; fill it or drop the point"):
        Bags.from_ids([[0.0], [1.0]], ["a", missing])


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT])
def test_a_missing_number_is_refused(missing):
    frame = pd.DataFrame({"bag": ["a", "a"], "f": [1, missing]}, dtype=object)
    with pytest.raises(ValueError, match="column 'f' has nothing in row 1, expected a number"):
        Bags.from_frame(frame, bag="bag", features=["f"])


@pytest.mark.parametrize("backed", [False, True])
@pytest.mark.parametrize("rep", ["X_pca", "X"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.filterwarnings("ignore")  # of anndata's own imports
def test_from_anndata(tmp_path, backed, rep, sparse):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    from scipy.sparse import csr_matrix

    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    obs = pd.DataFrame(
        {"donor": ["d2", "d1", "d2"], "sex": ["f", "m", "f"], "type": ["T", "B", "B"]},
        index=["c0", "c1", "c2"],
    )
    adata = anndata.AnnData(csr_matrix(values) if sparse else values, obs=obs)
    adata.obsm["X_pca"] = values
    if backed:
        adata.write_h5ad(tmp_path / "cells.h5ad")
        adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    bags = Bags.from_anndata(adata, "donor", rep=rep)
    assert list(bags.names) == ["d2", "d1"]
    assert_array_equal(bags.points, [[0, 1], [4, 5], [2, 3]])
    assert list(bags.table) == ["sex"]
    with pytest.raises(ValueError, match="rep is 'X_umap', but there is no such entry of obsm"):
        Bags.from_anndata(adata, "donor", rep="X_umap")
    with pytest.raises(
        ValueError, match="sample_key is 'donr', but there is no such column of obs"
    ):
        Bags.from_anndata(adata, "donr", rep=rep)


def test_from_padded():
    array = np.arange(12.0).reshape(2, 3, 2)
    bags = Bags.from_padded(array, [[True, False, True], [False, True, False]])
    assert bags == Bags([[0, 1], [4, 5], [8, 9]], [0, 2, 3])
    with pytest.raises(ValueError, match=r"mask \(2, 2\) of bool"):
        Bags.from_padded(array, np.ones((2, 2), bool))
    with pytest.raises(ValueError, match="bag 1 is empty"):
        Bags.from_padded(array, [[True, True, True], [False, False, False]])


@pytest.mark.parametrize(
    "X",
    [
        [[[1, 2]], [[3, 4], [5, 6]]],
        ([[1, 2]], np.array([[3, 4], [5, 6]])),
        [pd.DataFrame([[1, 2]]), np.array([[3, 4], [5, 6]], np.float32)],
        Bags([[1, 2], [3, 4], [5, 6]], [0, 1, 3]),
    ],
)
def test_as_bags_takes_lists(X):
    assert as_bags(X) == Bags([[1, 2], [3, 4], [5, 6]], [0, 1, 3])


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=object),
        pd.DataFrame([[1, 2], [3, 4]]),
        pl.DataFrame([[1, 3], [2, 4]], orient="col"),
        np.array([[[1, 2]], [[3, 4]]]),
    ],
)
def test_as_bags_takes_rows_as_bags_of_one_point(X):
    assert as_bags(X) == Bags([[1, 2], [3, 4]], [0, 1, 2])


# Selecting.


def test_getitem_keeps_what_belongs_to_a_bag():
    bags = draw_bags()
    picked = bags[[3, 1]]
    assert_array_equal(picked[0], bags[3])
    assert_array_equal(picked[1], bags[1])
    assert picked.names.tolist() == ["bag 3", "bag 1"]
    assert picked.table["text"].tolist() == ["d", "b"]
    of_three = slice(bags.offsets[3], bags.offsets[4])
    assert_array_equal(picked.weights[: bags.sizes[3]], bags.weights[of_three])


KEYS = [
    slice(1, 3),
    slice(None),
    slice(4, 1),
    slice(None, None, -2),
    [0, 0, -1],
    [],
    np.array([2], np.uint8),
    [True, False, True, False, False],
    np.zeros(5, bool),
    pd.Series([1, 2]),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_getitem_agrees_with_numpy(key):
    bags = draw_bags()
    chosen = np.arange(5)[
        key if isinstance(key, slice) else np.asarray(key, dtype=None if len(key) else int)
    ]
    for picked in (bags[key], bags[key, ...]):
        assert picked.table["text"].tolist() == [bags.table["text"][b] for b in chosen]
        for p, b in enumerate(chosen):
            assert_array_equal(picked[p], bags[b])
        assert picked == Bags(
            picked.points,
            picked.offsets,
            weights=picked.weights,
            names=picked.names,
            table=picked.table,
        )


@pytest.mark.parametrize("b", [0, 4, -1, -5, np.int32(2)])
def test_getitem_of_a_number_is_an_array(b):
    bags = draw_bags()
    assert_array_equal(bags[b], list(bags)[b])
    assert_array_equal(bags[b, ...], list(bags)[b])


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (5, IndexError, "no bag 5: there are 5"),
        (-6, IndexError, "no bag -6"),
        ([0, 9], IndexError, "no bag 9"),
        ([True], IndexError, "the mask has 1 entries, expected one for each of 5 bags"),
        (1.0, TypeError, "indexed by whole numbers"),
        ("bag 1", TypeError, "indexed by whole numbers"),
        (None, TypeError, "indexed by whole numbers"),
        (True, TypeError, "indexed by whole numbers"),
        ([[0, 1]], TypeError, "indexed by whole numbers"),
        ((0, 1), TypeError, r"bags have one axis: use bags\[key\]"),
        ((..., 0), TypeError, "bags have one axis"),
        ((0, ..., 0), TypeError, "bags have one axis"),
    ],
)
def test_getitem_refuses(key, error, message):
    with pytest.raises(error, match=message):
        draw_bags()[key]


def test_scikit_learn_splits_bags():
    bags = draw_bags(n_bags=10)
    train, test = train_test_split(bags, random_state=0)
    assert sorted([*train.names, *test.names]) == sorted(bags.names)
    assert sum(len(test) for _, test in KFold(3).split(bags)) == 10
    folds = StratifiedGroupKFold(2).split(bags, bags.table["label"], groups=np.arange(10) // 2)
    assert len(list(folds)) == 2


def test_no_bags_can_exist():
    none = draw_bags()[[]]
    assert len(none) == 0
    assert none.shape == (0, 2)
    assert none == draw_bags()[5:]
    assert "no bags" in none._repr_html_()
    assert none.map(np.sqrt) == none
    with pytest.raises(ValueError, match="X holds no bags, expected at least one"):
        check_bags(Codebook(), none, reset=True)


# Changing.


def test_sample_draws_without_replacement_in_order():
    bags = Bags(np.arange(30.0)[:, None], [0, 20, 23, 30], weights=np.arange(30.0), names=[1, 2, 3])
    drawn = bags.sample(5, random_state=0)
    assert_array_equal(drawn.sizes, [5, 3, 5])
    assert_array_equal(drawn.points.ravel(), drawn.weights)
    for of_drawn, bag in zip(drawn, bags, strict=True):
        assert set(of_drawn.ravel()) <= set(bag.ravel())
        assert (np.diff(of_drawn.ravel()) > 0).all()
    assert drawn == bags.sample(5, random_state=0)
    assert drawn != bags.sample(5, random_state=1)
    assert bags.sample(20, random_state=0) == bags


def test_sample_draws_every_point_equally_often():
    bags = Bags(np.arange(14.0)[:, None], [0, 10, 14])
    hits = np.zeros(14)
    for seed in range(2000):
        hits[bags.sample(3, random_state=seed).points.ravel().astype(int)] += 1
    expected = np.repeat([0.3, 0.75], [10, 4])
    assert (abs(hits / 2000 - expected) < 4 * np.sqrt(expected * (1 - expected) / 2000)).all()


@pytest.mark.parametrize("n_points", [0, 1.5, True, "2"])
def test_sample_refuses(n_points):
    with pytest.raises((ValueError, TypeError), match="n_points is .* whole number of at least 1"):
        draw_bags().sample(n_points)


def test_map_changes_points_and_keeps_the_rest():
    bags = draw_bags()
    doubled = bags.map(lambda points: 2 * points)
    assert_array_equal(doubled.points, 2 * bags.points)
    assert doubled.names is bags.names
    bare = Bags(bags.points, bags.offsets, names=bags.names)
    means = bare.map(lambda points: points.mean(axis=0, keepdims=True))
    assert_array_equal(means.sizes, 1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda points: points[:1], r"bag \d has \d points with weights and 1 after the function"),
        (lambda points: points[:0], r"bag 0 has shape \(0, 2\), expected \(1 or more, 2\)"),
        (lambda points: points[0], r"bag 0 has shape \(2,\)"),
        (lambda points: points[:, : len(points)], r"bag \d has \d features, expected \d"),
    ],
)
def test_map_refuses(function, message):
    with pytest.raises(ValueError, match=message):
        draw_bags(seed=2).map(function)


def test_map_names_the_first_bag_whose_weights_no_longer_fit():
    bags = Bags(np.zeros((5, 1)), [0, 1, 3, 5], weights=np.ones(5))
    with pytest.raises(ValueError, match="bag 1 has 2 points with weights and 1 after"):
        bags.map(lambda points: points[:1])


def test_concatenate_undoes_cutting():
    bags = draw_bags()
    assert Bags.concatenate([bags[:2], bags[2:4], bags[4:]]) == bags
    assert Bags.concatenate([bags]) == bags


def test_concatenate_gives_missing_weights_one():
    whole = Bags.concatenate([Bags([[1.0]], [0, 1]), Bags([[2.0]], [0, 1], weights=[0.5])])
    assert_array_equal(whole.weights, [1.0, 0.5])


def test_concatenate_keeps_labels_that_are_text_in_one_part():
    parts = [Bags([[1.0]], [0, 1], table={"y": [1]}), Bags([[1.0]], [0, 1], table={"y": ["1"]})]
    assert Bags.concatenate(parts).table["y"].tolist() == [1, "1"]


def test_concatenate_orders_columns_as_the_first_part_does():
    tables = [{"y": [0], "text": ["a"]}, {"text": ["b"], "y": [1]}]
    whole = Bags.concatenate([Bags([[1.0]], [0, 1], table=table) for table in tables])
    assert list(whole.table) == ["y", "text"]
    assert whole.table["text"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ([], TypeError, "takes a list of one or more Bags"),
        (3, TypeError, "takes a list of one or more Bags"),
        (Bags([[1]], [0, 1]), TypeError, "takes a list of one or more Bags"),
        ([[[1.0]]], TypeError, "takes a list of one or more Bags"),
        ([Bags([[1]], [0, 1]), Bags([[1, 2]], [0, 1])], ValueError, "part 1 has 2 features"),
        (
            [Bags([[1]], [0, 1]), Bags([[1]], [0, 1], names=["a"])],
            ValueError,
            "part 1 and part 0: one has names and the other has not",
        ),
        (
            [Bags([[1]], [0, 1], table={"y": [0]}), Bags([[1]], [0, 1])],
            ValueError,
            r"part 1 has the columns \[\], expected \['y'\]",
        ),
    ],
)
def test_concatenate_refuses(parts, error, message):
    with pytest.raises(error, match=message):
        Bags.concatenate(parts)


# Comparing and showing.


def test_equality_looks_at_everything():
    bags = draw_bags()
    assert bags == draw_bags()
    assert bags == pickle.loads(pickle.dumps(bags))
    others = [
        Bags(
            bags.points + 1, bags.offsets, weights=bags.weights, names=bags.names, table=bags.table
        ),
        Bags(
            bags.points, bags.offsets, weights=bags.weights + 1, names=bags.names, table=bags.table
        ),
        Bags(bags.points, bags.offsets, weights=bags.weights, names=range(5), table=bags.table),
        Bags(bags.points, bags.offsets, weights=bags.weights, names=bags.names),
        Bags(bags.points, bags.offsets, weights=bags.weights, table=bags.table),
        Bags(bags.points, bags.offsets, names=bags.names, table=bags.table),
        Bags(
            bags.points,
            bags.offsets,
            weights=bags.weights,
            names=bags.names,
            table=bags.table | {"text": list("abcdz")},
        ),
        Bags(bags.points, [0, len(bags.points)]),
        bags[:4],
        "bags",
    ]
    for other in others:
        assert bags != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(bags)


def test_float32_equals_the_same_numbers_as_float64():
    bags = draw_bags(dtype=np.float32)
    wide = Bags(
        bags.points.astype(float),
        bags.offsets,
        weights=bags.weights,
        names=bags.names,
        table=bags.table,
    )
    assert bags == wide


def test_missing_cells_of_a_table_equal_missing_cells():
    def make(cells):
        return Bags([[1.0], [2.0]], [0, 1, 2], table={"y": cells})

    assert make([np.nan, 1.0]) == make([np.nan, 1.0])
    assert make([None, "a"]) == make([None, "a"])
    assert make([None, "a"]) != make(["a", None])


def test_repr_says_what_is_there():
    assert (
        repr(draw_bags())
        == "Bags: 5 bags, 16 points, 2 features, weighted, named; table: label, text"
    )
    assert (
        repr(Bags(np.ones((1, 1), np.float32), [0, 1]))
        == "Bags: 1 bag, 1 point, 1 feature of float32"
    )


def test_html_repr_shows_sizes_and_table_as_text():
    bags = Bags(
        np.zeros((30, 1)), np.arange(31), names=["<b>" + "x" * 200] * 30, table={"&y": range(30)}
    )
    page = bags._repr_html_()
    assert "&lt;b&gt;x" in page
    assert "<b>" not in page
    assert "<tr><td>bag</td><td>points</td><td>&amp;y</td></tr>" in page
    assert "x" * 77 in page  # of 80 characters
    assert "x" * 78 not in page
    assert "1 to 1 points a bag, median 1" in page
    assert "and 22 more" in page
    assert page.count("<tr>") == 1 + 8
    assert "more</p>" not in bags[:8]._repr_html_()
    assert "and 1 more" in bags[:9]._repr_html_()


# Refusals, and the words a user reads.


@pytest.mark.parametrize(
    ("points", "offsets", "error", "message"),
    [
        ([1.0, 2.0], [0, 2], ValueError, r"points have shape \(2,\), expected \(n_points, n_feat"),
        (np.zeros((2, 0)), [0, 2], ValueError, r"0 feature\(s\)"),
        (
            [[1.0], [2.0, 3.0]],
            [0, 2],
            ValueError,
            "points is ragged, expected rows of equal length",
        ),
        ([["a"]], [0, 1], TypeError, "points are <U1, expected numbers"),
        (np.array([["1"]], object), [0, 1], TypeError, "points hold text, expected numbers"),
        ([[1j]], [0, 1], ValueError, "Complex data not supported: points are complex128"),
        (np.array([["2020"]], "M8[Y]"), [0, 1], TypeError, "points are datetime64.*expected numb"),
        (
            np.ma.masked_less([[1.0, -1.0]], 0),
            [0, 1],
            ValueError,
            "points is masked in places; fill or drop",
        ),
        ([[1.0]], [0.0, 1.0], TypeError, r"offsets have shape \(2,\) of float64"),
        ([[1.0]], [], TypeError, r"offsets have shape \(0,\)"),
        ([[1.0]], [[0, 1]], TypeError, r"offsets have shape \(1, 2\)"),
        ([[1.0]], [1, 1], ValueError, "offsets run from 1 to 1, expected 0 to the 1 points"),
        ([[1.0]], [0, 2], ValueError, "offsets run from 0 to 2, expected 0 to the 1 points"),
        ([[1.0]], [0, 0, 1], ValueError, "bag 0 is empty, expected 1 or more points"),
        ([[1.0], [1.0]], [0, 2, 1, 2], ValueError, "offsets fall from 2 to 1 at bag 1"),
    ],
)
def test_the_constructor_refuses(points, offsets, error, message):
    with pytest.raises(error, match=message):
        Bags(points, offsets)


def test_offsets_that_wrap_around_are_seen():
    with pytest.raises(ValueError, match="offsets fall from 2 to 1 at bag 1"):
        Bags(np.zeros((2, 1)), np.array([0, 2, 1, 2], np.uint8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1.0]}, r"weights have shape \(1,\) of float64, expected one number for each"),
        ({"weights": ["a", "b"]}, "weights have shape .* of <U1"),
        (
            {"weights": [1.0, -2.0]},
            "point 1 has weight -2, expected a number of zero or more, up to",
        ),
        ({"weights": [np.nan, 1.0]}, "point 0 has weight NaN, expected a number of zero or more"),
        ({"weights": [np.inf, 1.0]}, "point 0 has weight infinity"),
        ({"names": ["a", "b"]}, r"names has shape \(2,\), expected one entry for each of 1 bags"),
        ({"table": {"y": [0, 1]}}, r"y has shape \(2,\), expected one entry for each of 1 bags"),
        ({"table": {"y": np.array(3)}}, r"y has shape \(\)"),
    ],
)
def test_the_constructor_refuses_what_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        Bags([[1.0], [2.0]], [0, 2], **arguments)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([], ValueError, "found no bags: the list is empty"),
        ([[[0.0]], [1.0, 2.0]], ValueError, r"bag 1 has shape \(2,\), expected \(1 or more, 1\)"),
        ([[[0.0]], np.empty((0, 1))], ValueError, r"bag 1 has shape \(0, 1\)"),
        ([[[0.0]], [[1.0, 2.0]]], ValueError, "bag 1 has 2 features, expected 1"),
        ([[[0.0]], [[1.0], [2.0, 3.0]]], ValueError, "bag 1 is ragged"),
        ([[1.0], [1.0, 2.0]], ValueError, "points is ragged"),
        ([1.0, 2.0], ValueError, r"points have shape \(2,\)"),
        (3.0, TypeError, "found a float, expected bags or an array of points"),
        ("abc", TypeError, "found a str, expected bags"),
        (None, TypeError, "found a NoneType, expected bags"),
        (np.zeros((2, 0, 3)), ValueError, r"bag 0 has shape \(0, 3\), expected 1 or more points"),
        (np.zeros((2, 2, 2, 2)), ValueError, r"points have shape \(2, 2, 2, 2\)"),
        (np.array([np.zeros((1, 1)), np.zeros((2, 1))], object), ValueError, r"pass list\(X\)"),
    ],
)
def test_as_bags_refuses(X, error, message):
    with pytest.raises(error, match=message):
        as_bags(X)


def test_as_bags_refuses_sparse():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match="points are sparse, expected dense"):
        as_bags(csr_array(np.eye(2)))


def test_from_list_refuses_weights_of_other_sizes():
    with pytest.raises(ValueError, match="one number for each point of a bag"):
        Bags.from_list([[[1.0], [2.0]]], weights=[[1.0]])


def test_what_is_no_list_is_refused():
    with pytest.raises(TypeError, match="found a int, expected a list of 2-D arrays"):
        Bags.from_list(3)
    with pytest.raises(
        ValueError, match=r"bag 0 has shape \(2,\), expected \(1 or more, n_features"
    ):
        Bags.from_list([[1, 2]])
    with pytest.raises(TypeError, match="found a int, expected a column of values"):
        Bags.from_ids([[1.0]], 3)
    with pytest.raises(TypeError, match="table is a list, expected a dict of columns"):
        Bags([[1.0]], [0, 1], table=["y"])


def test_masked_points_are_refused_and_a_mask_of_nothing_is_dropped():
    masked = np.ma.masked_greater([[1.0, 999.0]], 100)
    for make in (Bags.from_list, as_bags):
        with pytest.raises(ValueError, match="bag 0 is masked in places"):
            make([masked])
    with pytest.raises(ValueError, match="array is masked in places"):
        Bags.from_padded(masked[np.newaxis], [[True]])
    bags = Bags(np.ma.masked_greater([[1.0, 2.0]], 100), [0, 1])
    assert not isinstance(bags.points, np.ma.MaskedArray)


@pytest.mark.parametrize("ids", [["a", "a", "b", "b"], ["a", "b", "a", "b"]])
def test_from_ids_refuses_columns_and_weights_of_another_length(ids):
    points = np.zeros((4, 1))
    for n in (3, 5):
        with pytest.raises(
            ValueError, match=f"sex has shape .{n},., expected one entry for each of 4 p"
        ):
            Bags.from_ids(points, ids, table={"sex": ["m"] * n})
        with pytest.raises(ValueError, match=f"weights have shape .{n},."):
            Bags.from_ids(points, ids, weights=np.ones(n))


def test_a_table_may_be_a_frame():
    for frame in (pd.DataFrame({"y": [1, 2]}), pl.DataFrame({"y": [1, 2]})):
        assert Bags([[0], [1]], [0, 1, 2], table=frame).table["y"].tolist() == [1, 2]
        assert Bags.from_ids([[0], [1]], "ab", table=frame).table["y"].tolist() == [1, 2]


def test_cells_that_hold_frames_are_neither_missing_nor_alike():
    def make(cell):
        return Bags([[0.0]], [0, 1], table={"y": [cell]})

    assert make(pd.DataFrame({"a": [1, 2]})) != make(pd.DataFrame({"a": [1, 3]}))
    assert make([np.zeros(2)]) != make([np.ones(2)])


def test_from_ids_refuses_too_few_ids():
    with pytest.raises(ValueError, match="found 1 bag ids for 2 points"):
        Bags.from_ids([[1.0], [2.0]], ["a"])
