"""Files: bags, tables and fitted models, read safely and written whole."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bagwise.bags import Bags, as_bags, from_columns
from bagwise.columns import as_names, check_name
from bagwise.io.files import Budget, reading
from bagwise.io.folders import read_folder, write_folder
from bagwise.io.models import load, save
from bagwise.io.npy import arrays_of, read_npz, write_npz
from bagwise.io.parquet import Lists, bags_of_lists, read_parquet, write_parquet
from bagwise.io.texts import read_csv, read_jsonl, write_csv
from bagwise.parallel import check_values

__all__ = ["load", "read", "read_table", "save", "write"]


def read(
    path: str | os.PathLike,
    *,
    bag: str = "bag",
    features: Sequence[str] | None = None,
    weight: str | None = None,
    max_bytes: int | None = None,
) -> Bags:
    """Bags of a file or folder: ``.npz``, ``.parquet``, ``.csv``, or what ``write`` made.

    Parameters
    ----------
    path : path
        ``.npz``: arrays points (or X) and offsets; others of one entry a bag become the table.
        ``.parquet``: one row a point, or one row a bag with lists.  ``.csv``: one row a point.
        A folder: opened memory-mapped, nothing read before it is needed.
    bag : str, default="bag"
        Column of bag names, read as text, in files with columns.
    features : list of str, default=None
        Columns of features.  None: ``feature_0``, ``feature_1``, ... as ``write`` names them,
        else every numeric column that varies within some bag.  Other columns that are constant
        within every bag become the table.
    weight : str, default=None
        Column (in .npz files, array) of point weights.  None: where ``write`` puts them, unless
        ``features`` are named.
    max_bytes : int, default=None
        The most memory the bags may take; None is half of what is free.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "cells.csv").write_text("bag,size,ill\\np1,0.5,yes\\np1,0.7,yes\\np2,3,no\\n")
    >>> read(folder / "cells.csv", features=["size"])
    Bags: 2 bags, 3 points, 1 feature, named; table: ill
    """
    path, budget = Path(path), Budget(max_bytes)
    with reading(path):
        if path.is_dir() or path.suffix == ".npz":
            if bag != "bag" or features is not None or (path.is_dir() and weight is not None):
                raise ValueError("has no columns to choose from: leave bag, features, weight out")
            bags = read_folder(path, budget) if path.is_dir() else read_npz(path, budget, weight)
        elif path.suffix == ".parquet":
            columns = read_parquet(path, budget)
            if any(isinstance(column, Lists) for column in columns.values()):
                bags = bags_of_lists(columns, bag, features, weight)
            else:
                bags = _bags_of_points(columns, bag, features, weight)
        elif path.suffix == ".csv":
            bags = _bags_of_points(read_csv(path, budget, text=(bag,)), bag, features, weight)
        else:
            raise ValueError("has no ending that says its format: .npz, .parquet, .csv or a folder")
        if not path.is_dir():
            check_values(bags)
    return bags


def write(bags: Bags, path: str | os.PathLike) -> None:
    """Write bags to ``.npz``, ``.parquet``, ``.csv`` or a folder: all of it, or none.

    What ``read`` gives back is equal, and what it would refuse is refused here.  Names come back
    as text from ``.parquet`` and ``.csv``.  CSV keeps points and weights exactly, but knows no
    types: bags get names, text that looks like numbers comes back as numbers, numbers with holes
    and dates come back as text.
    """
    bags, path = as_bags(bags), Path(path)
    check_values(bags)
    if path.suffix == ".npz":
        write_npz(arrays_of(bags), path)
    elif path.suffix == ".parquet":
        write_parquet(bags, path)
    elif path.suffix == ".csv":
        write_csv(bags, path)
    elif path.is_dir() or (not path.suffix and not path.exists()):
        write_folder(bags, path)
    else:
        raise ValueError(
            f"{path} has no ending that says its format: .npz, .parquet, .csv or a folder"
        )


def read_table(path: str | os.PathLike, *, max_bytes: int | None = None) -> dict[str, np.ndarray]:
    """A dict of columns of a ``.csv``, ``.jsonl`` or ``.parquet`` file, for texts and labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "reviews.csv"
    >>> _ = file.write_text("text,stars\\nfine,5\\nshut,1\\n")
    >>> read_table(file)
    {'text': array(['fine', 'shut'], dtype=object), 'stars': array([5, 1])}
    """
    path, budget = Path(path), Budget(max_bytes)
    with reading(path):
        if path.suffix == ".csv":
            return read_csv(path, budget)
        if path.suffix in (".jsonl", ".ndjson"):
            return read_jsonl(path, budget)
        if path.suffix == ".parquet":
            columns = read_parquet(path, budget)
            return {
                name: column.as_objects() if isinstance(column, Lists) else column
                for name, column in columns.items()
            }
        raise ValueError("has no ending that says its format: .csv, .jsonl or .parquet")


def _bags_of_points(
    columns: dict[str, np.ndarray], bag: str, features: Sequence[str] | None, weight: str | None
) -> Bags:
    check_name("bag", bag, columns)
    columns[bag] = as_names(columns[bag])
    return from_columns(columns, bag, features, weight)
