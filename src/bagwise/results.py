"""Results that carry their proof."""

import warnings
from typing import NamedTuple


class Certificate(NamedTuple):
    """How far a solution can be from the best, in the user's units.

    ``bound`` is proven: no solution of a minimum lies below it, none of a maximum above it.
    """

    value: float
    bound: float

    @property
    def gap(self) -> float:
        """Distance of the value to its bound; zero proves the optimum."""
        return abs(self.value - self.bound)


def warn_open_gap(certificate: Certificate, tolerance: float, solver: str, remedy: str) -> None:
    """Warn with ``ConvergenceWarning`` if the gap is wider than the tolerance, or not a number."""
    if certificate.gap <= tolerance:
        return
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"{solver} stopped at {certificate.value:g} with a gap of {certificate.gap:g}, "
        f"expected at most {tolerance:g}; {remedy}",
        ConvergenceWarning,
        stacklevel=3,
    )
