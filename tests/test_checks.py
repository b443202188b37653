import os
from types import SimpleNamespace

import numpy as np
import pytest

from bagwise import checks
from bagwise.checks import (
    LARGEST,
    available_memory,
    check_choice,
    check_learned,
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
        ([[LARGEST, -LARGEST, np.nan]], -LARGEST, (0, 2)),
        ([[0.0, -2 * LARGEST]], -LARGEST, (0, 1)),
        ([0.0, -0.5, np.nan], 0.0, (1,)),
        ([0.0, 0.5], 0.0, None),
    ],
)
def test_find_unfit(values, least, expected):
    assert find_unfit(np.array(values), least) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"SimpleNamespace.words_ is no float64 array of shape \(2, 1\)"),
        (np.zeros((2, 1), np.float32), "is no float64 array"),
        (np.zeros((1, 2)), "is no float64 array"),
        (np.array([[0.0], [np.inf]]), "SimpleNamespace.words_ holds NaN or infinity"),
    ],
)
def test_what_was_not_learned_so_is_refused(value, message):
    check_learned(SimpleNamespace(words_=np.zeros((2, 1))), words_=(2, 1))
    with pytest.raises(ValueError, match=message):
        check_learned(SimpleNamespace(words_=value), words_=(2, 1))
    with pytest.raises(ValueError, match="SimpleNamespace.words_ is no float64 array"):
        check_learned(SimpleNamespace(), words_=(2, 1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(float("nan"), "NaN"), (float("-inf"), "infinity"), (1e200, "1e+200"), (-2.0, "-2")],
)
def test_describe(value, expected):
    assert describe(value) == expected


@pytest.fixture
def proc(monkeypatch, tmp_path):
    """A folder that stands for /proc, and holds nothing yet."""
    (tmp_path / "self").mkdir()
    monkeypatch.setattr(checks, "Path", lambda name: tmp_path / name.removeprefix("/proc/"))
    return tmp_path


def test_available_memory_is_what_the_kernel_says(proc):
    (proc / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:  50 kB\n")
    assert available_memory() == 50 * 1024


def test_available_memory_is_at_most_the_limit_of_the_process(proc, monkeypatch):
    resource = pytest.importorskip("resource", reason="this system has no limits of processes")
    (proc / "meminfo").write_text("MemAvailable: 900000 kB\n")
    (proc / "self" / "statm").write_text("10 3 2")
    page = resource.getpagesize()
    for limit, expected in ((50, 40 * page), (5, 0), (None, 900000 * 1024)):
        limits = (resource.RLIM_INFINITY if limit is None else limit * page, limit)
        monkeypatch.setattr(resource, "getrlimit", {resource.RLIMIT_AS: limits}.get)
        assert available_memory() == expected


def test_available_memory_without_a_word_of_the_kernel(proc, monkeypatch):
    of = {"SC_PHYS_PAGES": 7, "SC_PAGE_SIZE": 100}
    monkeypatch.setattr(os, "sysconf", of.get, raising=False)
    assert available_memory() == 700
    monkeypatch.delattr(os, "sysconf")
    assert available_memory() == float("inf")
