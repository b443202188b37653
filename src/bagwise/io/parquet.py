"""Parquet: one row a point, or one row a bag with lists."""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bagwise.bags import Bags
from bagwise.columns import as_column, as_names, check_name, join
from bagwise.io.files import Budget, replacing

BYTES_PER_BATCH = 1 << 24
# What a text may take while it is read, in a column of texts and in one of lists: there, texts
# that the file holds once are read as often as they are meant.
TEXT = 1 << 12, 1 << 16


def import_pyarrow() -> Any:
    """pyarrow, or the command that installs it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError('Parquet needs pyarrow: pip install "bagwise[table]"') from None
    return pyarrow


class Lists(NamedTuple):
    """A column of lists of numbers: all values end to end, cut by offsets."""

    values: np.ndarray  # (n_values,), or (n_values, width) for lists of lists
    offsets: np.ndarray  # (n_rows + 1,) of int64

    def as_objects(self) -> np.ndarray:
        """One array a row."""
        return as_column([self.values[a:b] for a, b in pairwise(self.offsets.tolist())])


def read_parquet(path: Path, budget: Budget) -> dict[str, Any]:
    """Columns of a Parquet file; lists of numbers as Lists.

    Sizes are counted twice: by the number of values before anything is read, since the sizes
    that a file states of itself may be of anything, and as batches come.
    """
    pa = import_pyarrow()
    with pa.parquet.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        if len(set(schema.names)) < len(schema.names):
            raise ValueError("has two columns of one name")
        _check_chunks(file)
        n_bytes, of_row = _count_bytes(schema, metadata)
        texts = [field.name for field in schema if _is_text(field.type)]
    budget.expect(n_bytes)
    n_rows = min(max(BYTES_PER_BATCH // max(of_row, 1), 16), 1 << 16)
    shared: dict[Any, Any] = {}
    parts = {
        field.name: [_convert(field.name, pa.array([], field.type), budget, shared)]
        for field in schema
    }
    checked = {"page_checksum_verification": True, "read_dictionary": texts}
    n_read = 0
    with pa.parquet.ParquetFile(path, **checked) as file:
        for batch in file.iter_batches(n_rows):
            for name, column in zip(schema.names, batch.columns, strict=True):
                parts[name].append(_convert(name, column, budget, shared))
            n_read += batch.num_rows
    if n_read != metadata.num_rows:
        raise ValueError(f"ends after {n_read:,} of {metadata.num_rows:,} rows")
    return {name: _end_to_end(of_column) for name, of_column in parts.items()}


def _check_chunks(file: Any) -> None:
    """Raise where metadata contradict each other: ``column`` of pyarrow would end the process."""
    for group in range(file.metadata.num_row_groups):
        list(file.reader.iter_batches(0, [group], range(file.metadata.num_columns)))


def _count_bytes(schema: Any, metadata: Any) -> tuple[int, int]:
    """Least bytes of all values, and bytes of a row while it is read.

    A text counts 8, since equal ones are shared, and one text what the texts of a chunk have in
    the mean: the longest is no shorter.
    """
    widths = {field.name: _width(field.type) for field in schema}
    n_bytes = of_row = longest = 0
    for chunks in map(metadata.row_group, range(metadata.num_row_groups)):
        of_rows, n_rows = 0, max(chunks.num_rows, 1)
        for chunk in map(chunks.column, range(metadata.num_columns)):
            name, *inner = chunk.path_in_schema.split(".")
            n_values = max(chunk.num_values, 0)
            n_bytes += n_values * widths.get(name, 8)
            of_rows += n_values * widths.get(name, 8)
            if chunk.physical_type == "BYTE_ARRAY":
                longest = max(longest, chunk.total_uncompressed_size // max(n_values, 1))
                of_rows += chunk.total_uncompressed_size + TEXT[bool(inner)] * n_rows
        of_row = max(of_row, of_rows // n_rows)
    return n_bytes + longest, of_row


def _width(kind: Any) -> int:
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    try:
        return max(kind.bit_width // 8, 1)
    except ValueError:  # of no fixed width
        return 8


def _is_text(kind: Any) -> bool:
    types = import_pyarrow().types
    return any(
        check(kind)
        for check in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
        )
    )


def _convert(name: str, column: Any, budget: Budget, shared: dict[Any, Any]) -> Any:
    types = import_pyarrow().types
    kind = column.type
    if types.is_dictionary(kind):
        return _texts(column, budget, shared)
    inner = kind
    while hasattr(inner, "value_type"):
        inner = inner.value_type
    numeric = types.is_integer(inner) or types.is_floating(inner) or types.is_boolean(inner)
    if inner is not kind and numeric:
        return _lists(name, column, budget)
    if numeric or types.is_temporal(inner):
        budget.take(8 * len(column))
        return column.to_numpy(zero_copy_only=False)
    budget.take(64 * len(column) + column.nbytes)
    return as_column(column.to_pylist())


def _texts(column: Any, budget: Budget, shared: dict[Any, Any]) -> np.ndarray:
    """Text whose equal values are one object, so that a page of repeats stays small."""
    budget.take(8 * len(column))
    places = column.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    used, inverse = np.unique(places, return_inverse=True)
    values = np.empty(len(used), dtype=object)
    known = used >= 0
    for i, value in zip(
        np.flatnonzero(known), column.dictionary.take(used[known]).to_pylist(), strict=True
    ):
        if value is not None and value not in shared:
            budget.take(64 + len(value))
            shared[value] = value
        values[i] = shared.get(value)
    return values[inverse]


def _lists(name: str, column: Any, budget: Budget) -> Lists:
    if column.null_count:
        raise ValueError(f"column {name!r} has no list in some rows; fill them or drop them")
    values, lengths = column.flatten(), _lengths(column)
    if hasattr(values.type, "value_type"):
        widths = _lengths(values)
        if values.null_count or len(set(widths.tolist())) > 1:
            raise ValueError(f"column {name!r} has points of unequal numbers of features")
        if hasattr(values.type.value_type, "value_type"):
            raise ValueError(f"column {name!r} has lists in lists in lists, expected points")
        flat = values.flatten()
        budget.take(8 * len(flat))
        width = len(flat) // len(values) if len(values) else getattr(values.type, "list_size", 1)
        numbers = flat.to_numpy(zero_copy_only=False).reshape(len(values), width)
    else:
        budget.take(8 * len(values))
        numbers = values.to_numpy(zero_copy_only=False)
    return Lists(numbers, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


def _lengths(column: Any) -> np.ndarray:
    if hasattr(column.type, "list_size"):
        return np.full(len(column), column.type.list_size)
    return np.diff(column.offsets.to_numpy())


def _end_to_end(parts: list[Any]) -> Any:
    if not isinstance(parts[0], Lists):
        return join(parts[1:] or parts)  # the first is empty and may be of another kind
    if len({part.values.shape[1:] for part in parts if len(part.values)}) > 1:
        raise ValueError("has points of unequal numbers of features")
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    filled = [part.values for part in parts if len(part.values)] or [parts[0].values]
    return Lists(np.concatenate(filled), np.concatenate([[0], np.cumsum(sizes)]))


def bags_of_lists(
    columns: dict[str, Any], bag: str, features: Sequence[str] | None, weight: str | None
) -> Bags:
    """Bags of columns with one row a bag."""
    lists = {name: column for name, column in columns.items() if isinstance(column, Lists)}
    if bag != "bag":
        check_name("bag", bag, columns)
    if weight is None and features is None and {"points", "weights"} <= set(lists):
        weight = "weights"
    if features is None:
        features = ["points"] if "points" in lists else [name for name in lists if name != weight]
    used = [*features] if weight is None else [*features, weight]
    for name in used:
        check_name("features" if name != weight else "weight", name, lists, "column of lists")
        if not np.array_equal(lists[name].offsets, lists[used[0]].offsets):
            raise ValueError(
                f"columns {used[0]!r} and {name!r} have lists of unequal lengths; name those that "
                "are features"
            )
    values = [lists[name].values for name in features]
    points = values[0] if values[0].ndim == 2 else np.stack(values, axis=1)
    return Bags(
        points,
        lists[used[0]].offsets,
        weights=None if weight is None else lists[weight].values,
        names=as_names(columns[bag]) if bag in columns else None,
        table={
            name: column
            for name, column in columns.items()
            if name != bag and not isinstance(column, Lists)
        },
    )


def write_parquet(bags: Bags, path: str | os.PathLike) -> None:
    """One row a bag: its name, its points as a list with 64-bit offsets, its table."""
    pa = import_pyarrow()
    points = pa.FixedSizeListArray.from_arrays(pa.array(bags.points.ravel()), bags.n_features)
    columns = {} if bags.names is None else {"bag": bags.names}
    columns["points"] = pa.LargeListArray.from_arrays(pa.array(bags.offsets), points)
    if bags.weights is not None:
        columns["weights"] = pa.LargeListArray.from_arrays(
            pa.array(bags.offsets), pa.array(bags.weights)
        )
    for name, column in bags.table.items():
        if name in {"bag", "points", "weights"} or not isinstance(name, str):
            raise ValueError(f"the table has a column {name!r}, a name the file keeps for itself")
        if column.ndim != 1:
            raise ValueError(f"column {name!r} has {column.ndim} dimensions; .npz files keep such")
        try:
            columns[name] = pa.array(column.tolist() if column.dtype.kind == "U" else column)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            raise ValueError(
                f"column {name!r} holds values of several kinds, expected one"
            ) from None
    n_rows = max(1, len(bags) * (1 << 26) // max(bags.points.nbytes, 1))
    with replacing(path) as file:
        pa.parquet.write_table(
            pa.table(columns),
            file,
            row_group_size=n_rows,
            compression="zstd",
            write_page_checksum=True,
        )
