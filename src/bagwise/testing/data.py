"""The data of the checks, and how outputs are taken and compared."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bagwise.bags import Bags

OUTPUTS = [
    "transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
]
# Of sums in another order; what depends on a single bag may differ by no more.
ROUNDING = 1e-10


def draw_bags(seed: int = 0, n_bags: int = 24, sizes: tuple[int, int] = (3, 8)) -> list[np.ndarray]:
    """Bags of three features, of numbers that float32 holds exactly; two classes in turn."""
    rng = np.random.default_rng(seed)
    shift = np.array([[0.0, 0.0, 0.0], [1.5, 0.0, -1.0]])
    return [
        np.round(64 * (shift[b % 2] + rng.normal(size=(rng.integers(*sizes), 3)))) / 64
        for b in range(n_bags)
    ]


def draw_labels(n_bags: int = 24) -> np.ndarray:
    """Text labels of ``draw_bags``, as objects."""
    return np.array(["well", "ill"], dtype=object)[np.arange(n_bags) % 2]


def fit(estimator: Any, X: Any) -> Any:
    """A fitted clone; labels are given whether it wants them or not."""
    return clone(estimator).fit(X, draw_labels(len(X)))


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What each output method gives for X, as dense arrays."""
    found = {name: getattr(model, name)(X) for name in OUTPUTS if hasattr(model, name)}
    assert found, f"{type(model).__name__} has none of the methods {', '.join(OUTPUTS)}"
    for name, value in found.items():
        value = _summaries(value) if isinstance(value, Bags) else value
        found[name] = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
    return found


def _summaries(bags: Bags) -> np.ndarray:
    """Of each bag its size, and sums and sums of squares of its features: a row a bag."""
    rows = [np.r_[len(bag), bag.sum(axis=0), (bag**2).sum(axis=0)] for bag in bags]
    return np.array(rows, dtype=np.float64)


def assert_same(got: dict, expected: dict, what: str, rtol: float = 0.0) -> None:
    """Equal outputs; numbers to ``rtol`` of the largest, bits if it is zero."""
    for name, value in expected.items():
        if rtol and value.dtype.kind == "f":
            scale = np.abs(value[np.isfinite(value)]).max(initial=1e-300)
            assert_allclose(
                got[name], value, rtol=rtol, atol=rtol * scale, err_msg=f"{name}: {what}"
            )
        else:
            assert_array_equal(got[name], value, err_msg=f"{name}: {what}")


def classifier_with(estimator: Any) -> Any:
    """The estimator as the first step of a pipeline that predicts labels."""
    steps = [] if is_classifier(estimator) else [LogisticRegression(max_iter=1000)]
    return make_pipeline(clone(estimator), *steps)


def assert_refused(call: Callable[[], Any], words: str, what: str) -> None:
    """The call raises ValueError or TypeError, and the sentence holds the words."""
    message = None
    try:
        call()
    except (ValueError, TypeError) as error:
        message = str(error)
    assert message is not None, f"{what} is not refused"
    assert words in message, f"{what}: {words!r} is not in the message {message!r}"


def as_text(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs without objects: labels as plain text, which a file takes without pickle."""
    return {n: v.astype(str) if v.dtype == object else v for n, v in found.items()}
