import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from bagwise.columns import (
    as_column,
    as_names,
    as_numbers,
    check_name,
    find_features,
    is_missing,
    join,
    same,
    stack,
)


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")]
)
def test_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize(
    "value", ["", "nan", b"", 0, 0.0, False, np.str_(""), np.datetime64(0, "s")]
)
def test_not_missing(value):
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "i"),
        ([True, False], "b"),
        ([1, 2.5], "f"),
        (["a", "b"], "O"),
        ([1, "a"], "O"),
        ([None, 1], "O"),
        ([], "O"),
        (pd.Series([1.0]), "f"),
        (pl.Series(["a"]), "O"),
        (np.array(["a"]), "U"),
        (range(3), "i"),
    ],
)
def test_a_column_keeps_its_kind(values, kind):
    column = as_column(values)
    assert column.dtype.kind == kind
    assert column.tolist() == list(values)


@pytest.mark.parametrize("method", ["to_numpy", "__array__"])
def test_what_makes_itself_an_array_is_asked_to(method):
    column = type("Column", (), {method: lambda self, *_, **__: np.array([1.5, 2.0])})()
    assert_array_equal(as_column(column), [1.5, 2.0])


def test_a_long_cell_does_not_widen_the_others():
    assert as_column(["a", "b" * 10**6] * 100).nbytes < 10**4


def test_join_keeps_text_and_numbers_apart():
    for text in (as_column(["1"]), np.array(["1"])):
        assert join([np.array([1]), text]).tolist() == [1, "1"]
    assert join([np.array([1]), np.array([2.5])]).dtype == float


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, np.nan], [np.nan, 1.0], False),
        ([1, 2], [1.0, 2.0], True),
        ([1, 2], [1, 2, 3], False),
        ([None, 1.0], [np.nan, 1.0], True),
        ([np.nan, 1.0], [None, 1.0], True),
        (["a", None], ["a", None], True),
        (["a", None], ["a", np.nan], True),
        (["a", None], ["a", "b"], False),
        (["a"], ["a", "b"], False),
        (np.array([["a"]], object), ["a"], False),
        (["a", "b"], np.array(["a", "b"]), True),
        ([np.zeros(2), np.ones(2)], [np.zeros(2), np.ones(2)], True),
        ([np.zeros(2), np.ones(2)], [np.zeros(2), np.zeros(2)], False),
        ([pd.NA], [pd.NA], True),
        ([pd.NA], ["a"], False),
    ],
)
def test_same(a, b, expected):
    assert same(as_column(a), as_column(b)) is expected


def test_names_become_text():
    assert as_names(np.array([7, 0])).tolist() == ["7", "0"]


@pytest.mark.parametrize("missing", [None, "", np.nan])
def test_a_missing_name_is_refused(missing):
    with pytest.raises(ValueError, match="row 1 has no bag; fill it or drop the row"):
        as_names(as_column(["a", missing]))


TABLE = {
    "bag": as_column(["p", "p", "q", "q"]),
    "age": np.array([30, 30, 40, 40]),
    "x": np.array([1.0, 2.0, 3.0, 3.0]),
    "well": as_column(["A1", "A2", "A3", "A4"]),
    "w": np.array([1.0, 2.0, 3.0, 4.0]),
    "y": np.array([1, 1, 2, 3]),
}


def test_features_are_the_numbers_that_vary_within_a_bag():
    assert find_features(TABLE, "bag", "w") == ["x", "y"]
    assert find_features(TABLE, "bag", None) == ["x", "w", "y"]


def test_features_named_by_number_are_taken_in_their_order():
    columns = TABLE | {"feature_1": TABLE["y"], "feature_0": TABLE["x"]}
    assert find_features(columns, "bag", None) == ["feature_0", "feature_1"]


def test_no_features_are_refused():
    columns = {name: TABLE[name] for name in ("bag", "age", "well")}
    with pytest.raises(ValueError, match="no column of numbers varies.*'bag', 'age', 'well'$"):
        find_features(columns, "bag", None)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, 2, 3, "?"], "column 'z' has '.' in row 3 and numbers in most others"),
        ([None, "2", 3.5, "?"], "column 'z' has nothing in row 0 and numbers in most"),
        (["?", "2", "?", np.inf], None),
        (["1", "2", "3", "4"], None),
    ],
)
def test_a_column_that_is_almost_numbers_is_refused(cells, message):
    columns = TABLE | {"z": as_column(cells)}
    if message is None:
        assert "z" not in find_features(columns, "bag", None)
        return
    with pytest.raises(ValueError, match=message):
        find_features(columns, "bag", None)


def test_stack_puts_columns_side_by_side():
    columns = {"a": np.array([1, 2]), "b": np.array([0.5, 1.5], np.float32)}
    assert_array_equal(stack(columns, ["b", "a"]), [[0.5, 1], [1.5, 2]])
    assert stack(columns, ["b", "a"]).dtype == np.float64
    assert stack(columns, ["b", "b"]).dtype == np.float32


def test_numbers_as_objects_are_numbers():
    assert as_numbers("a", as_column([1, 2.5])).dtype == float
    assert_array_equal(as_numbers("a", np.array([1, 2.5, True], object)), [1, 2.5, 1])
    with pytest.raises(
        ValueError, match=r"column 'a' has 'x{55}\.\.\.' in row 1, expected a number in"
    ):
        as_numbers("a", as_column([1, "x" * 100]))


def test_check_name_words_what_is_there():
    check_name("bag", "a", ["a"])
    with pytest.raises(ValueError, match="bag is 'b', but there is no such column; found none$"):
        check_name("bag", "b", [])
    with pytest.raises(ValueError, match="found 'bags'; did you mean 'bags'"):
        check_name("bag", "bag", iter(["bags"]))
