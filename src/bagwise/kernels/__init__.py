"""Arrays in, arrays out: the inner loops, compiled on first use."""

from numba import njit


def kernel(function):
    """Compile with the settings of the house; keep no cache where no folder can be written."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds neither this folder nor the home writable
        return njit(**options)(function)
