"""Columns: arrays of one length under names, as tables and files give them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, takewhile
from numbers import Real
from typing import Any

import numpy as np

from bagwise.checks import closest, describe


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, which is neither equal nor unequal to itself."""
    if value is None or isinstance(value, str | bytes | np.ndarray):
        return value is None
    unequal = value != value
    return bool(unequal) if isinstance(unequal, bool | np.bool_) else unequal is value


def as_column(values: Any) -> np.ndarray:
    """An array of the values: numbers as numbers, anything else as objects."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    if hasattr(values, "__array__"):
        return np.asarray(values)
    if not isinstance(values, Iterable):
        raise TypeError(f"found a {type(values).__name__}, expected a column of values")
    values = list(values)
    if values and all(isinstance(value, Real | np.bool_) for value in values):
        return np.asarray(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def as_names(column: np.ndarray) -> np.ndarray:
    """A column of bag names as text; a missing one is refused by its row."""
    for row, name in enumerate(column.tolist()):
        if is_missing(name) or name == "":
            raise ValueError(f"row {row} has no bag; fill it or drop the row")
    return as_column([str(name) for name in column.tolist()])


def join(columns: Sequence[np.ndarray]) -> np.ndarray:
    """The columns end to end; text and numbers together stay what they are, as objects."""
    if len({column.dtype.kind in "biuf" for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.concatenate(columns)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal shapes and values; missing equals missing."""
    kinds = a.dtype.kind + b.dtype.kind
    if "O" not in kinds:
        return bool(np.array_equal(a, b, equal_nan=kinds in ("ff", "cc", "MM", "mm")))
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=False)
    return a.shape == b.shape and all(_same_object(x, y) for x, y in pairs)


def _same_object(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return same(np.asarray(x), np.asarray(y))
    if is_missing(x) or is_missing(y):
        return is_missing(x) and is_missing(y)
    try:
        return bool(x == y)
    except (TypeError, ValueError):  # of cells that hold arrays or frames
        return False


def group(ids: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The different ids in order of first appearance, and the place of each id among them."""
    places: dict[Any, int] = {}
    for i, one in enumerate(ids):
        if is_missing(one):
            raise ValueError(f"point {i} has no bag id; fill it or drop the point")
        places.setdefault(one, len(places))
    return as_column(list(places)), np.fromiter((places[one] for one in ids), np.int64, len(ids))


def is_constant(column: np.ndarray, firsts: np.ndarray, bag_of_row: np.ndarray) -> bool:
    """Whether every row has what the first row of its bag has."""
    return same(column, column[firsts][bag_of_row])


def find_features(columns: Mapping[str, np.ndarray], bag: str, weight: str | None) -> list[str]:
    """feature_0, feature_1, ... if they are there; else the numbers that vary within a bag."""
    found = list(takewhile(columns.__contains__, (f"feature_{f}" for f in count())))
    if found:
        return found
    bag_of_row = group(columns[bag].tolist())[1]
    firsts = np.unique(bag_of_row, return_index=True)[1]
    for name, column in columns.items():
        if name in (bag, weight) or is_constant(column, firsts, bag_of_row):
            continue
        if column.dtype.kind in "iuf":
            found.append(name)
        elif column.dtype.kind == "O":
            _refuse_almost_numbers(name, column)
    if not found:
        raise ValueError(
            "no column of numbers varies within a bag, so features cannot be told from the table; "
            f"name them with features=[...]; found {', '.join(map(repr, columns))}"
        )
    return found


def _refuse_almost_numbers(name: str, column: np.ndarray) -> None:
    """Text that is mostly numbers is a feature with holes: nobody wants it dropped unseen."""
    odd = [row for row, cell in enumerate(column.tolist()) if not _looks_like_a_number(cell)]
    if 0 < len(odd) <= len(column) // 2:
        raise ValueError(
            f"column {name!r} has {_show(column[odd[0]])} in row {odd[0]} and numbers in most "
            "others; fill it, drop such rows, or name the features with features=[...]"
        )


def _looks_like_a_number(cell: Any) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except (TypeError, ValueError):
        return False


def check_name(argument: str, name: Any, known: Iterable[str], what: str = "column") -> None:
    """Refuse a name that is not among the known ones, and name the nearest."""
    known = list(known)
    if name not in known:
        raise ValueError(
            f"{argument} is {name!r}, but there is no such {what}; found "
            f"{', '.join(map(repr, known)) or 'none'}{closest(name, known)}"
        )


def stack(columns: Mapping[str, np.ndarray], features: Sequence[str]) -> np.ndarray:
    """The named columns side by side, (n_rows, n_features): float32 if all are, else float64."""
    if isinstance(features, str) or not len(features):
        raise TypeError(f"features is {features!r}, expected a list of one or more column names")
    for name in features:
        check_name("features", name, columns)
    arrays = [as_numbers(name, columns[name]) for name in features]
    single = all(array.dtype == np.float32 for array in arrays)
    points = np.empty((len(arrays[0]), len(arrays)), np.float32 if single else np.float64)
    for f, array in enumerate(arrays):
        points[:, f] = array
    return points


def as_numbers(name: str, column: np.ndarray) -> np.ndarray:
    """A column as numbers; a cell that is none is refused by its row."""
    if column.dtype.kind in "biuf":
        return column
    cells = column.tolist()
    if not all(isinstance(cell, Real) for cell in cells):
        odd = [row for row, cell in enumerate(cells) if not _looks_like_a_number(cell)]
        row = odd[0] if odd else 0
        raise ValueError(
            f"column {name!r} has {_show(cells[row])} in row {row}, expected a number in every row"
        )
    return column.astype(np.float64)


def _show(cell: Any) -> str:
    if is_missing(cell):
        return "nothing"
    text = describe(cell) if isinstance(cell, float) else repr(cell)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"
