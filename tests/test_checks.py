import numpy as np
import pytest

from bagwise.checks import (
    LARGEST,
    check_choice,
    check_real,
    check_whole,
    closest,
    describe,
    find_unfit,
)


def test_closest_names_the_nearest():
    assert closest("labl", ["label", "text"]) == "; did you mean 'label'?"
    assert closest("zzz", ["label", "text"]) == ""


def test_what_is_right_passes():
    check_choice("method", "grid", {"grid": 1, "random": 2})
    check_whole("n", 1, 1)
    check_whole("n", np.int64(5), 1)
    check_real("tol", 0, 0.0)
    check_real("tol", np.float32(-3.5))


@pytest.mark.parametrize(
    ("check", "arguments", "error", "message"),
    [
        (
            check_choice,
            ("method", "gird", ["random", "grid"]),
            ValueError,
            "method is 'gird', expected one of grid, random; did you mean 'grid'?",
        ),
        (
            check_choice,
            ("method", None, ["grid"]),
            ValueError,
            "method is None, expected one of grid",
        ),
        (check_choice, ("method", ["grid"], ["grid"]), ValueError, r"method is \['grid'\]"),
        (check_whole, ("n", 0, 1), ValueError, "n is 0, expected a whole number of at least 1"),
        (check_whole, ("n", 1.0, 1), TypeError, "n is 1.0, expected a whole number of at least 1"),
        (check_whole, ("n", True, 1), TypeError, "n is True"),
        (check_whole, ("n", np.True_, 1), TypeError, "n is .*True"),
        (
            check_real,
            ("tol", -1, 0.0),
            ValueError,
            "tol is -1, expected a finite number of at least 0",
        ),
        (check_real, ("tol", float("nan")), ValueError, "tol is nan, expected a finite number$"),
        (check_real, ("tol", float("inf"), 0.0), ValueError, "tol is inf"),
        (
            check_real,
            ("tol", "1", 0.0),
            TypeError,
            "tol is '1', expected a finite number of at least 0",
        ),
        (check_real, ("tol", False), TypeError, "tol is False"),
        (check_real, ("tol", np.False_), TypeError, "tol is .*False"),
    ],
)
def test_what_is_wrong_is_refused(check, arguments, error, message):
    with pytest.raises(error, match=message):
        check(*arguments)


@pytest.mark.parametrize(
    ("values", "least", "expected"),
    [
        ([[1.0, 2.0]], -LARGEST, None),
        ([[LARGEST, -LARGEST]], -LARGEST, None),
        (np.empty((0, 2)), -LARGEST, None),
        ([[1.0, 2.0], [3.0, np.nan]], -LARGEST, (1, 1)),
        ([[1.0, np.inf]], -LARGEST, (0, 1)),
        ([[-np.inf, 0.0]], -LARGEST, (0, 0)),
        ([[0.0, 2 * LARGEST]], -LARGEST, (0, 1)),
        ([[0.0, -2 * LARGEST]], -LARGEST, (0, 1)),
        ([0.0, -0.5, np.nan], 0.0, (1,)),
        ([0.0, 0.5], 0.0, None),
    ],
)
def test_find_unfit(values, least, expected):
    assert find_unfit(np.array(values), least) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(float("nan"), "NaN"), (float("-inf"), "infinity"), (1e200, "1e+200"), (-2.0, "-2")],
)
def test_describe(value, expected):
    assert describe(value) == expected
