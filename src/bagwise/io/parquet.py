"""Parquet: one row a point, or one row a bag with lists."""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bagwise.bags import Bags
from bagwise.columns import as_column, as_names, check_name, join
from bagwise.io.files import Budget, replacing
from bagwise.io.npy import check_column_name

BYTES_PER_BATCH = 1 << 24
INNER_TEXT = 1 << 16  # of a row with texts in lists: one text of the file may be read many times


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
        n_bytes = _count_bytes(schema, metadata)
        texts = [field.name for field in schema if _is_text(field.type)]
        inner = any(leaf.physical_type == "BYTE_ARRAY" and "." in leaf.path for leaf in file.schema)
    budget.expect(n_bytes)
    of_row = n_bytes // max(metadata.num_rows, 1) + INNER_TEXT * inner
    n_rows = min(max(BYTES_PER_BATCH // max(of_row, 1), 16), 1 << 16)
    shared: dict[Any, Any] = {}
    parts = {
        field.name: [_convert(field.name, pa.array([], field.type), budget, shared)]
        for field in schema
    }
    checked = {"page_checksum_verification": True, "read_dictionary": texts}
    with pa.parquet.ParquetFile(path, **checked) as file:
        for name, column in _pieces(file, texts, n_rows):
            parts[name].append(_convert(name, column, budget, shared))
    columns = {name: _end_to_end(of_column) for name, of_column in parts.items()}
    for name, column in columns.items():
        n_read = len(column.offsets) - 1 if isinstance(column, Lists) else len(column)
        if n_read != metadata.num_rows:
            raise ValueError(f"column {name!r} has {n_read:,} of {metadata.num_rows:,} rows")
    return columns


def _pieces(file: Any, texts: list[str], n_rows: int) -> Iterator[tuple[str, Any]]:
    """Every column piece by piece.

    Texts come by row group: a piece of one brings every text of the pieces before it again.
    """
    for name in texts:
        for group in range(file.num_row_groups):
            for column in _read_texts(file, group, name).chunks:
                yield name, column
    others = [name for name in file.schema_arrow.names if name not in texts]
    if others:
        for batch in file.iter_batches(n_rows, columns=others):
            yield from zip(batch.schema.names, batch.columns, strict=True)


def _read_texts(file: Any, group: int, name: str) -> Any:
    try:
        return file.read_row_group(group, [name])[name]
    except import_pyarrow().lib.ArrowCapacityError:
        raise ValueError(
            f"column {name!r} has more than 2 GiB of text in row group {group}; write less in each"
        ) from None


def _check_chunks(file: Any) -> None:
    """Raise where metadata contradict each other: pyarrow's ``column`` would end the process."""
    for group in range(file.num_row_groups):
        list(file.reader.iter_batches(0, [group], range(file.metadata.num_columns)))


def _count_bytes(schema: Any, metadata: Any) -> int:
    """Least bytes of all values: 8 for a text, since equal ones are shared, and one chunk's texts.

    Those are unpacked at once.  Of numbers the file may hold few where it means many.
    """
    widths = {field.name: _width(field.type) for field in schema}
    n_bytes = texts = 0
    for chunks in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(chunks.column, range(metadata.num_columns)):
            width = widths.get(chunk.path_in_schema.split(".")[0], 8)
            n_bytes += max(chunk.num_values, 0) * width
            if chunk.physical_type == "BYTE_ARRAY":
                texts = max(texts, chunk.total_uncompressed_size)
    return n_bytes + texts


def _width(kind: Any) -> int:
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    try:
        return max(kind.bit_width // 8, 8)  # as numbers are held in the end
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
            types.is_dictionary,
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
    if numeric or (types.is_temporal(inner) and getattr(inner, "tz", None) is None):
        budget.take(8 * len(column))
        return column.to_numpy(zero_copy_only=False)
    budget.take(64 * len(column) + column.nbytes)
    return as_column(column.to_pylist())


def _texts(column: Any, budget: Budget, shared: dict[Any, Any]) -> np.ndarray:
    """Text whose equal values are one object, so that a page of repeats stays small."""
    budget.take(8 * len(column))
    budget.expect(column.dictionary.nbytes)
    values = np.empty(len(column.dictionary) + 1, dtype=object)  # the last: no text
    for i, value in enumerate(column.dictionary.to_pylist()):
        if value is not None and value not in shared:
            budget.take(64 + len(value))
            shared[value] = value
        values[i] = shared.get(value)
    return values[column.indices.cast("int64").fill_null(-1).to_numpy()]


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
    if features is None and "points" in columns and "points" not in lists:
        raise ValueError("column 'points' holds no lists of numbers; name the features=[...]")
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
    if len(values) > 1 and any(value.ndim == 2 for value in values):
        raise ValueError(f"columns {', '.join(features)} hold points and features; name one kind")
    points = values[0] if values[0].ndim == 2 else np.stack(values, axis=1)
    table = {name: column for name, column in columns.items() if name not in {bag, *used}}
    return Bags(
        points,
        lists[used[0]].offsets,
        weights=None if weight is None else lists[weight].values,
        names=as_names(columns[bag]) if bag in columns else None,
        table={
            name: column.as_objects() if isinstance(column, Lists) else column
            for name, column in table.items()
        },
    )


def write_parquet(bags: Bags, path: str | os.PathLike) -> None:
    """One row a bag: its name, its points as a list with 64-bit offsets, its table."""
    pa = import_pyarrow()
    points = pa.FixedSizeListArray.from_arrays(pa.array(bags.points.ravel()), bags.n_features)
    columns = {} if bags.names is None else {"bag": as_names(bags.names)}
    columns["points"] = pa.LargeListArray.from_arrays(pa.array(bags.offsets), points)
    if bags.weights is not None:
        columns["weights"] = pa.LargeListArray.from_arrays(
            pa.array(bags.offsets), pa.array(bags.weights)
        )
    for name, column in bags.table.items():
        check_column_name(name, {"bag", "points", "weights"})
        if column.ndim != 1:
            raise ValueError(f"column {name!r} has {column.ndim} dimensions; .npz files keep such")
        try:
            columns[name] = pa.array(column.tolist() if column.dtype.kind == "U" else column)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            raise ValueError(
                f"column {name!r} is not of one kind that Parquet keeps: "
                f"{' '.join(str(error).split())}"
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
