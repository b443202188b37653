"""What comes in as points, offsets, weights or positions, checked; copied only where it must."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bagwise.checks import LARGEST, describe, find_unfit


def as_points(values: Any) -> np.ndarray:
    """A C-contiguous 2-D array of float32 or float64, copied only where it must be."""
    if hasattr(values, "toarray"):
        raise TypeError("points are sparse, expected dense: sparse counts are not bags of points")
    plain = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray)
    points = values if plain else as_array(values, "points")
    if points.ndim == 0:
        raise TypeError(f"found a {type(values).__name__}, expected bags or an array of points")
    if points.ndim != 2:
        raise ValueError(
            f"Reshape your data: points have shape {points.shape}, expected (n_points, n_features)"
        )
    if points.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={points.shape}) while a minimum of 1 is "
            "required."
        )
    return _as_floats(points)


def _as_floats(points: np.ndarray) -> np.ndarray:
    kind = points.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: points are {points.dtype}, expected reals")
    if kind == "O" and any(isinstance(value, str | bytes) for value in points.flat):
        raise TypeError("points hold text, expected numbers")
    if kind not in "biufO":
        raise TypeError(f"points are {points.dtype}, expected numbers")
    single = points.dtype.kind == "f" and points.dtype.itemsize == 4
    wanted = np.dtype(np.float32 if single else np.float64)
    if points.dtype == wanted and points.flags.c_contiguous:
        return points
    return np.ascontiguousarray(points, dtype=wanted)


def as_array(values: Any, what: str) -> np.ndarray:
    """An array of nested lists, or a sentence."""
    if np.ma.is_masked(values):
        raise ValueError(f"{what} is masked in places; fill or drop those points first")
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} is ragged, expected rows of equal length") from None


def as_list(arrays: Sequence[Any], may_be_empty: bool = False) -> list[np.ndarray]:
    """Points of each bag, all of one width."""
    if not isinstance(arrays, Iterable):
        raise TypeError(f"found a {type(arrays).__name__}, expected a list of 2-D arrays")
    arrays = [as_array(points, f"bag {b}") for b, points in enumerate(arrays)]
    if not arrays and not may_be_empty:
        raise ValueError("found no bags: the list is empty")
    width = next((points.shape[1] for points in arrays if points.ndim == 2), "n_features")
    for b, points in enumerate(arrays):
        if points.ndim != 2 or len(points) == 0:
            raise ValueError(f"bag {b} has shape {points.shape}, expected (1 or more, {width})")
        if points.shape[1] != width:
            raise ValueError(f"bag {b} has {points.shape[1]} features, expected {width}")
    return arrays


def as_offsets(offsets: Any, n_points: int) -> np.ndarray:
    """Offsets as int64 that start at 0, rise and end at ``n_points``."""
    offsets = as_array(offsets, "offsets")
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or not len(offsets):
        raise TypeError(
            f"offsets have shape {offsets.shape} of {offsets.dtype}, expected (n_bags + 1,) of "
            "whole numbers"
        )
    if offsets[0] != 0 or offsets[-1] != n_points:
        raise ValueError(
            f"offsets run from {offsets[0]} to {offsets[-1]}, expected 0 to the {n_points} points"
        )
    falls = np.flatnonzero(offsets[1:] <= offsets[:-1])
    if len(falls):
        b = falls[0]
        if offsets[b] == offsets[b + 1]:
            raise ValueError(f"bag {b} is empty, expected 1 or more points; leave it out")
        raise ValueError(f"offsets fall from {offsets[b]} to {offsets[b + 1]} at bag {b}")
    return offsets.astype(np.int64, copy=False)


def as_weights(weights: Any, points: np.ndarray) -> np.ndarray:
    """One finite weight of zero or more a point; mapped weights are not read."""
    weights = weights if isinstance(weights, np.memmap) else as_array(weights, "weights")
    if weights.shape != (len(points),) or weights.dtype.kind not in "biuf":
        raise ValueError(
            f"weights have shape {weights.shape} of {weights.dtype}, expected one number for each "
            f"of {len(points)} points"
        )
    weights = _as_floats(weights)
    if mapped(weights) is None and (unfit := find_unfit(weights, least=0.0)):
        raise ValueError(
            f"point {unfit[0]} has weight {describe(weights[unfit])}, expected a number of zero or "
            f"more, up to {LARGEST:g}"
        )
    return weights


def as_positions(key: np.ndarray, n_bags: int) -> np.ndarray:
    """An index array or mask as positions from zero."""
    if key.dtype == bool and key.ndim == 1:
        if len(key) != n_bags:
            raise IndexError(
                f"the mask has {len(key)} entries, expected one for each of {n_bags} bags"
            )
        return np.flatnonzero(key)
    if key.ndim != 1 or (key.dtype.kind not in "iu" and len(key)):
        raise TypeError(
            "bags are indexed by whole numbers, slices or masks, not by "
            f"{key.dtype} of shape {key.shape}"
        )
    key = key.astype(np.int64)
    outside = (key < -n_bags) | (key >= n_bags)
    if outside.any():
        raise IndexError(f"no bag {key[outside][0]}: there are {n_bags}")
    return key % n_bags if n_bags else key


def cut(sizes: Any) -> np.ndarray:
    """Offsets of bags of these sizes; int64, since 32 bits end at 2^31 points."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def mapped(array: np.ndarray) -> np.memmap | None:
    """The memory map that the array is a view of, if it is one."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return array
        array = array.base
    return None
