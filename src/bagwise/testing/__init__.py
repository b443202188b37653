"""What every estimator of bags must do: the battery for ours and for yours."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bagwise.columns import check_name
from bagwise.testing.bag_checks import CHECKS


def check_bag_estimator(
    estimator: Any, *, expected_failed_checks: Mapping[str, str] | None = None
) -> None:
    """Run every check on an estimator of bags; the first that fails raises.

    Parameters
    ----------
    estimator : estimator
        Takes bags of three features; 24 of them, of two classes, are enough for its fit.
    expected_failed_checks : dict, default=None
        Names of checks that are not meant to hold, each with the reason; they are left out.

    Examples
    --------
    >>> from bagwise import Codebook
    >>> from bagwise.testing import check_bag_estimator
    >>> check_bag_estimator(Codebook(4, method="random", random_state=0))
    """
    for check, reason in _with_reasons(expected_failed_checks):
        if reason is None:
            check(estimator)


def parametrize_with_bag_checks(
    estimators: Iterable[Any], *, expected_failed_checks: Mapping[str, str] | None = None
) -> Any:
    """A pytest mark that gives a test every (estimator, check); expected failures are xfail.

    Write ``def test_bags(estimator, check): check(estimator)`` below it.
    """
    import pytest

    cases = []
    for estimator in estimators:
        for check, reason in _with_reasons(expected_failed_checks):
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
            name = f"{estimator!r}-{check.__name__}".replace("\n", "")
            cases.append(pytest.param(estimator, check, marks=marks, id=name))
    return pytest.mark.parametrize(("estimator", "check"), cases)


def _with_reasons(expected: Mapping[str, str] | None) -> list[tuple[Callable, str | None]]:
    """Every check with the reason why it may fail, if there is one."""
    expected, names = dict(expected or {}), [check.__name__ for check in CHECKS]
    for name in expected:
        check_name("expected_failed_checks", name, names, "check")
    return [(check, expected.get(check.__name__)) for check in CHECKS]
