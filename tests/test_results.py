import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from bagwise.results import Certificate, warn_open_gap


def test_the_gap_is_the_distance_to_the_bound():
    assert Certificate(3.0, 2.5).gap == 0.5
    assert Certificate(-3.0, -2.5).gap == 0.5  # of a maximum
    assert Certificate(1.0, 1.0) == (1.0, 1.0)


def test_an_open_gap_warns_with_its_size_and_the_remedy():
    with pytest.warns(
        ConvergenceWarning,
        match=r"emd stopped at 3 with a gap of 0.5, expected at most 0.1; raise max_iter",
    ):
        warn_open_gap(Certificate(3.0, 2.5), 0.1, "emd", "raise max_iter")


def test_a_gap_that_is_no_number_warns():
    with pytest.warns(ConvergenceWarning, match="gap of nan"):
        warn_open_gap(Certificate(float("nan"), 0.0), 0.1, "emd", "raise max_iter")


def test_a_closed_gap_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_open_gap(Certificate(3.0, 2.9), 0.1 + 1e-12, "emd", "raise max_iter")
