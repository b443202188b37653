"""Tables as text: CSV and JSON lines, read as printed."""

import csv
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from bagwise.bags import Bags
from bagwise.columns import as_column, as_names, is_missing
from bagwise.io.files import Budget, replacing
from bagwise.io.npy import check_column_name

LONGEST_CELL = 1 << 20
LONGEST_LINE = 1 << 26
ROWS, CHARACTERS = 4096, 1 << 20  # of a chunk; one row may be longer

# A number as programs print it: no 007, no 1_000, no blanks around.  Whole numbers keep all
# digits in int64; beside fractions they must keep them in float64.
_WHOLE = re.compile(r"(?:0|-?[1-9][0-9]{0,17})(?:\n(?:0|-?[1-9][0-9]{0,17}))*")
_REAL_CELL = (
    r"-?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+|0|[1-9][0-9]{0,14}"
    r"|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)"
)
_REAL = re.compile(rf"{_REAL_CELL}(?:\n{_REAL_CELL})*")


def read_csv(path: Path, budget: Budget, text: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Columns of a CSV file with a header; those named in ``text`` are text whatever they hold.

    Two passes: what each column is, then its values, so that numbers never exist as text all
    at once.
    """
    with _long_cells():
        header, n_rows, kinds = _survey(path, text, budget)
        columns = []
        for kind in kinds:
            budget.take(8 * n_rows)
            columns.append(
                np.empty(n_rows, {"whole": np.int64, "real": float, "text": object}[kind])
            )
        shared: dict[str, str] = {}
        start = 0
        for cells in _chunks(path, len(header), budget):
            stop = start + len(cells[0])
            for kind, column, values in zip(kinds, columns, cells, strict=True):
                if kind == "text":
                    column[start:stop] = [_share(cell, shared, budget) for cell in values]
                else:
                    column[start:stop] = list(map(int if kind == "whole" else float, values))
            start = stop
    return dict(zip(header, columns, strict=True))


def _survey(path: Path, text: tuple[str, ...], budget: Budget) -> tuple[list[str], int, list[str]]:
    header = next((row for row, _, _ in _rows(path, budget)), None)
    if not header:
        raise ValueError("is empty, expected a header and rows")
    if len(header) == 1 and re.search(r"[;\t|]", header[0]):
        raise ValueError(f"has one column, {header[0][:60]!r}; part the cells by commas")
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise ValueError(f"has two columns of the name {name!r}")
    kinds = ["text" if name in text else "whole" for name in header]
    long_whole, n_rows = [False] * len(header), 0
    for cells in _chunks(path, len(header), budget):
        n_rows += len(cells[0])
        for c, values in enumerate(cells):
            if kinds[c] != "text":
                kinds[c], long = _kind(values, kinds[c])
                long_whole[c] |= long
                if kinds[c] == "real" and long_whole[c]:
                    kinds[c] = "text"
    return header, n_rows, kinds if n_rows else ["text"] * len(header)


def _kind(cells: tuple[str, ...], kind: str) -> tuple[str, bool]:
    """What the cells are, at least as wide as ``kind``, and whether some are whole and long."""
    joined = "\n".join(cells)
    if joined.count("\n") != len(cells) - 1:
        return "text", False
    if kind == "whole" and _WHOLE.fullmatch(joined):
        return "whole", any(len(cell) > 15 for cell in cells)
    if _REAL.fullmatch(joined) and all(map(_is_held, cells)):
        return "real", False
    return "text", False


def _is_held(cell: str) -> bool:
    """Whether float64 holds the number: neither 1e400 nor 1e-400."""
    value = float(cell)
    return math.isfinite(value) and (value != 0.0 or not re.search("[1-9]", cell.split("e")[0]))


def _chunks(path: Path, n_columns: int, budget: Budget) -> Iterator[list[tuple[str, ...]]]:
    """The cells of some thousand rows at a time, of fewer where they are long, by column."""
    rows: list[list[str]] = []
    n_characters = 0
    for row, line, length in islice(_rows(path, budget), 1, None):
        if not row and n_columns > 1:
            continue  # a blank line; of one column, it is an empty cell
        row = row or [""]
        if len(row) != n_columns:
            raise ValueError(f"line {line} has {len(row)} cells, expected {n_columns}")
        rows.append(row)
        n_characters += length
        if len(rows) == ROWS or n_characters >= CHARACTERS:
            yield list(zip(*rows, strict=True))
            rows, n_characters = [], 0
    if rows:
        yield list(zip(*rows, strict=True))


def _rows(path: Path, budget: Budget) -> Iterator[tuple[list[str], int, int]]:
    """Every row of a CSV file, the line it ends in, and how many characters it takes."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = _Lines(file, budget)
        reader = csv.reader(lines, strict=True)
        try:
            for row in reader:
                length, lines.length = lines.length, 0
                yield row, reader.line_num, length
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num} is not CSV: {error}") from None


class _Lines:
    """The lines of a text; no row of one or more is endless, or longer than memory may take."""

    def __init__(self, file: TextIO, budget: Budget) -> None:
        self.file, self.number, self.length = file, 0, 0
        # A character takes up to four bytes, and a cell a few more than its characters.
        self.longest = int(min(LONGEST_LINE, max(CHARACTERS, budget.left // 8)))

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.file.readline(self.longest + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.length += len(line)  # of a row, whose end sets it to zero
        if self.length > self.longest:
            raise ValueError(f"line {self.number} has more than {self.longest:,} characters")
        if "\0" in line:
            raise ValueError(
                f"line {self.number} holds NUL characters: is it UTF-16? expected UTF-8"
            )
        return line


class _long_cells:
    """Let cells be as long as LONGEST_CELL; the limit of the csv module is the process's."""

    def __enter__(self) -> None:
        self.before = csv.field_size_limit(LONGEST_CELL)

    def __exit__(self, *error: Any) -> None:
        csv.field_size_limit(self.before)


def _share(cell: str, shared: dict[str, str], budget: Budget) -> str:
    """One object for equal cells: names and labels come once a point."""
    known = shared.get(cell)
    if known is None:
        budget.take(64 + len(cell))
        known = shared[cell] = cell
    return known


def read_jsonl(path: Path, budget: Budget) -> dict[str, np.ndarray]:
    """Columns of a file with one JSON object a line; what a line does not name is None."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    with open(path, encoding="utf-8-sig") as file:
        lines = _Lines(file, budget)
        for line in lines:
            number, lines.length = lines.number, 0
            if not line.strip():
                continue
            # What is held: a character of up to four bytes, an object of some 64, a place a column.
            n_objects = 1 + sum(map(line.count, ",[{"))
            budget.take(4 * len(line) + 64 * n_objects + 8 * len(columns))
            for name, value in _object(line, number).items():
                if name not in columns:
                    budget.take(64 + 8 * n_rows)
                    columns[name] = [None] * n_rows
                columns[name].append(value)
            n_rows += 1
            for values in columns.values():
                if len(values) < n_rows:
                    values.append(None)
    return {name: as_column(values) for name, values in columns.items()}


def _object(line: str, number: int) -> dict[str, Any]:
    def refuse(text: str) -> Any:
        raise ValueError(f"line {number} has {text[:40]}, expected a finite number")

    def real(text: str) -> float:
        return float(text) if math.isfinite(float(text)) else refuse(text)

    try:
        found = json.loads(line, parse_constant=refuse, parse_float=real)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number} is not JSON: {error.msg}") from None
    if not isinstance(found, dict):
        raise ValueError(f"line {number} is no JSON object, expected {{...}} with a name a column")
    return found


def write_csv(bags: Bags, path: str | os.PathLike) -> None:
    """One row a point: its bag, its features, its weight, the columns of its bag."""
    names = np.arange(len(bags)) if bags.names is None else bags.names
    names = as_names(names)
    if len(set(names)) < len(names):
        raise ValueError("two bags share a name, and a CSV tells them apart by it")
    header = ["bag", *(f"feature_{f}" for f in range(bags.n_features))]
    header += ["point_weight"] if bags.weights is not None else []
    for name in bags.table:
        check_column_name(name, {"bag", "point_weight"})
        if re.fullmatch(r"feature_[0-9]+", name):
            raise ValueError(f"the table has a column {name!r}, a name the file keeps for itself")
    cells = [_printed(name, column) for name, column in bags.table.items()]
    with replacing(path) as file:
        writer = csv.writer(_Encoder(file), lineterminator="\r\n")  # so that both are quoted
        writer.writerow([*header, *bags.table])
        for b, points in enumerate(bags):
            own = [column[b] for column in cells]
            rows = points.astype(np.float64).tolist()
            if bags.weights is not None:
                weights = bags.weights[bags.offsets[b] : bags.offsets[b + 1]].tolist()
                rows = [[*row, weight] for row, weight in zip(rows, weights, strict=True)]
            writer.writerows([names[b], *row, *own] for row in rows)


def _printed(name: str, column: np.ndarray) -> list[Any]:
    """The cells of a column as a CSV shows them; what is missing is empty."""
    if column.ndim != 1:
        raise ValueError(f"column {name!r} has {column.ndim} dimensions; .npz files keep such")
    if column.dtype.kind in "Mm":
        column = column.astype(str)
    cells = ["" if is_missing(cell) else cell for cell in column.tolist()]
    for cell in cells:
        if not isinstance(cell, str | Real):
            raise ValueError(f"column {name!r} has {cell!r:.60}, expected text or numbers")
    return cells


class _Encoder:
    """A text file's write for a file of bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, text: str) -> int:
        """Write the text as UTF-8; NUL and halves of characters are refused."""
        try:
            if "\0" not in text:
                return self.file.write(text.encode())
        except UnicodeEncodeError:
            pass
        raise ValueError(f"{text[:40]!r} holds NUL or half a character, which no text file keeps")
