"""Bags: many bags end to end in one array, cut by offsets."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bagwise.arrays import as_array, as_list, as_offsets, as_points, as_positions, as_weights, cut
from bagwise.checks import check_whole
from bagwise.columns import (
    as_column,
    as_numbers,
    check_name,
    find_features,
    group,
    is_constant,
    join,
    same,
    stack,
)


class Bags:
    """Many bags of points, end to end in one array.

    Bag ``b`` is ``points[offsets[b]:offsets[b + 1]]``.  Nothing is copied where the source
    allows it, and memory-mapped points stay mapped.

    Parameters
    ----------
    points : (n_points, n_features) array
        float32 and float64 are kept, other numbers become float64.
    offsets : (n_bags + 1,) array of whole numbers
        Starts at 0, rises, ends at ``n_points``: no bag is empty.
    weights : (n_points,) array, default=None
        Of each point, zero or more; a weight of 2 counts as the point twice.
    names : (n_bags,) array, default=None
        What each bag is called.
    table : dict of (n_bags, ...) arrays, default=None
        Columns that travel with the bags: labels, groups, texts.

    Examples
    --------
    >>> bags = Bags([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [0, 2, 3], table={"ill": [True, False]})
    >>> bags[1]
    array([[4., 5.]])
    >>> bags[bags.table["ill"]]
    Bags: 1 bag, 2 points, 2 features; table: ill
    """

    points: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray | None
    names: np.ndarray | None
    table: dict[str, np.ndarray]

    def __init__(
        self,
        points: Any,
        offsets: Any,
        *,
        weights: Any = None,
        names: Any = None,
        table: Mapping[str, Any] | None = None,
    ) -> None:
        self.points = as_points(points)
        self.offsets = as_offsets(offsets, len(self.points))
        self.weights = None if weights is None else as_weights(weights, self.points)
        n_bags = len(self.offsets) - 1
        self.names = None if names is None else _as_column("names", names, n_bags, "bags")
        self.table = _as_columns(table, n_bags, "bags")

    # Ways in.

    @classmethod
    def from_list(
        cls, arrays: Sequence[Any], *, weights: Any = None, names: Any = None, table: Any = None
    ) -> Bags:
        """One bag from each (n_points, n_features) array; ``weights`` is a list alike."""
        arrays = as_list(arrays)
        sizes = [len(points) for points in arrays]
        if weights is not None:
            if [len(of_bag) for of_bag in weights] != sizes:
                raise ValueError("weights must be a list with one number for each point of a bag")
            weights = np.concatenate(weights)
        points = np.concatenate(arrays)
        return cls(points, cut(sizes), weights=weights, names=names, table=table)

    @classmethod
    def from_ids(
        cls, points: Any, bag_ids: Any, *, weights: Any = None, table: Mapping | None = None
    ) -> Bags:
        """Points that share an id share a bag; bags come in order of first appearance.

        The ids become ``names``.  Points keep their order within a bag.  Columns of ``table``
        have one entry a point; those that are constant within every bag are kept.
        """
        points = as_points(points)
        ids = as_column(bag_ids).tolist()
        if len(ids) != len(points):
            raise ValueError(f"found {len(ids)} bag ids for {len(points)} points")
        names, bag_of_point = group(ids)
        offsets = cut(np.bincount(bag_of_point, minlength=len(names)))
        columns = _as_columns(table, len(points), "points")
        weights = None if weights is None else as_weights(weights, points)
        if (np.diff(bag_of_point) < 0).any():
            order = np.argsort(bag_of_point, kind="stable")
            points, bag_of_point = points[order], bag_of_point[order]
            columns = {name: values[order] for name, values in columns.items()}
            weights = None if weights is None else weights[order]
        kept = {
            name: values[offsets[:-1]]
            for name, values in columns.items()
            if is_constant(values, offsets[:-1], bag_of_point)
        }
        return cls(points, offsets, weights=weights, names=names, table=kept)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        bag: str,
        features: Sequence[str] | None = None,
        weight: str | None = None,
    ) -> Bags:
        """Bags of a frame with one row a point: pandas, polars or Arrow.

        ``features=None`` takes every numeric column that varies within some bag.  Other columns
        that are constant within every bag become ``table``.
        """
        import narwhals as nw

        data = nw.from_native(frame)
        data = data.collect() if isinstance(data, nw.LazyFrame) else data
        columns = {name: data.get_column(name).to_numpy() for name in data.columns}
        return from_columns(columns, bag, features, weight)

    @classmethod
    def from_anndata(cls, adata: Any, sample_key: str, rep: str = "X_pca") -> Bags:
        """One bag of cells for each value of ``adata.obs[sample_key]``; backed data too.

        ``rep`` names an entry of ``adata.obsm``, or is ``"X"`` for the matrix itself.
        Columns of ``obs`` that are constant within every sample become ``table``.
        """
        columns = {name: adata.obs[name].to_numpy() for name in adata.obs.columns}
        check_name("sample_key", sample_key, columns, "column of obs")
        check_name("rep", rep, ["X", *adata.obsm.keys()], "entry of obsm")
        points = adata.X[:] if rep == "X" else adata.obsm[rep]
        points = points.toarray() if hasattr(points, "toarray") else np.asarray(points)
        return cls.from_ids(points, columns.pop(sample_key), table=columns)

    @classmethod
    def from_padded(cls, array: Any, mask: Any) -> Bags:
        """Bags of a (n_bags, n_slots, n_features) array; ``mask`` says which slots hold points."""
        array, mask = as_array(array, "array"), as_array(mask, "mask")
        if array.ndim != 3 or mask.shape != array.shape[:2] or mask.dtype != bool:
            raise ValueError(
                f"array has shape {array.shape} and mask {mask.shape} of {mask.dtype}, expected "
                "(n_bags, n_slots, n_features) and (n_bags, n_slots) of bool"
            )
        return cls(array[mask], cut(mask.sum(axis=1)))

    @classmethod
    def concatenate(cls, parts: Sequence[Bags]) -> Bags:
        """The bags of all parts, in order; where some parts have weights, others weigh one."""
        are_bags = isinstance(parts, list | tuple) and all(isinstance(one, Bags) for one in parts)
        if not are_bags or not parts:
            raise TypeError("concatenate takes a list of one or more Bags")
        for p, part in enumerate(parts):
            _check_alike(p, part, parts[0])
        weighted = any(part.weights is not None for part in parts)
        return cls(
            np.concatenate([part.points for part in parts]),
            cut(np.concatenate([part.sizes for part in parts])),
            weights=np.concatenate([part.point_weights() for part in parts]) if weighted else None,
            names=None if parts[0].names is None else join([part.names for part in parts]),
            table={name: join([part.table[name] for part in parts]) for name in parts[0].table},
        )

    # What it is.

    @property
    def sizes(self) -> np.ndarray:
        """Points in each bag, (n_bags,)."""
        return np.diff(self.offsets)

    @property
    def n_features(self) -> int:
        """Features of a point."""
        return self.points.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_bags, n_features), so that scikit-learn counts bags as samples."""
        return len(self), self.n_features

    def point_weights(self, rows: slice = slice(None)) -> np.ndarray:
        """The weights of a run of points as float64; ones where none are given."""
        if self.weights is None:
            return np.ones(len(range(len(self.points))[rows]))
        return self.weights[rows].astype(np.float64, copy=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[b] for b in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bags):
            return NotImplemented
        return (
            self.table.keys() == other.table.keys()
            and (self.weights is None) == (other.weights is None)
            and (self.names is None) == (other.names is None)
            and same(self.offsets, other.offsets)
            and same(self.points, other.points)
            and (self.weights is None or same(self.weights, other.weights))
            and (self.names is None or same(self.names, other.names))
            and all(same(self.table[name], other.table[name]) for name in self.table)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        n = [(len(self), "bag"), (len(self.points), "point"), (self.n_features, "feature")]
        text = "Bags: " + ", ".join(f"{k:,} {noun}{'s' * (k != 1)}" for k, noun in n)
        text += " of float32" if self.points.dtype == np.float32 else ""
        text += ", weighted" if self.weights is not None else ""
        text += ", named" if self.names is not None else ""
        return text + ("; table: " + ", ".join(map(str, self.table)) if self.table else "")

    def _repr_html_(self) -> str:
        shown = range(min(len(self), 8))
        columns: dict[str, Any] = {"bag": range(len(self)) if self.names is None else self.names}
        columns |= {"points": self.sizes, **self.table}
        rows = [[str(column[b]) for column in columns.values()] for b in shown]
        cells = [[html.escape(cell[:80]) for cell in row] for row in [list(columns), *rows]]
        body = "".join("<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in cells)
        sizes = self.sizes
        spread = (
            f"{sizes.min():,} to {sizes.max():,} points a bag, median {np.median(sizes):,.0f}"
            if len(self)
            else "no bags"
        )
        more = f"<p>and {len(self) - 8:,} more</p>" if len(self) > 8 else ""
        return f"<p>{html.escape(repr(self))}<br>{spread}</p><table>{body}</table>{more}"

    # Selecting and changing.

    def __getitem__(self, key: Any) -> Any:
        """``bags[3]`` is an array; a slice, mask or index array gives Bags."""
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise TypeError("bags have one axis: use bags[key] or bags[key, ...]")
            key = key[0]
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            b = as_positions(np.array([key]), len(self))[0]
            return self.points[self.offsets[b] : self.offsets[b + 1]]
        if isinstance(key, slice) and key.indices(len(self))[2] == 1:
            start, stop, _ = key.indices(len(self))
            return self._take(slice(start, max(start, stop)))
        if isinstance(key, slice):
            key = np.arange(*key.indices(len(self)))
        return self._take(as_positions(np.asarray(key), len(self)))

    def _take(self, bags: slice | np.ndarray) -> Bags:
        """The chosen bags, unchecked: a slice gives views, positions give copies."""
        if isinstance(bags, slice):
            edges = self.offsets[bags.start : bags.stop + 1]
            rows: slice | np.ndarray = slice(edges[0], edges[-1])
            offsets = edges - edges[0]
        else:
            sizes = self.sizes[bags]
            offsets = cut(sizes)
            rows = np.arange(offsets[-1]) + np.repeat(self.offsets[bags] - offsets[:-1], sizes)
        taken = object.__new__(Bags)
        taken.points, taken.offsets = self.points[rows], offsets
        taken.weights = None if self.weights is None else self.weights[rows]
        taken.names = None if self.names is None else self.names[bags]
        taken.table = {name: column[bags] for name, column in self.table.items()}
        return taken

    def sample(self, n_points: int, random_state: Any = None) -> Bags:
        """At most ``n_points`` of each bag, drawn without replacement, in their order."""
        from sklearn.utils import check_random_state

        check_whole("n_points", n_points, 1)
        keys = check_random_state(random_state).random_sample(len(self.points))
        bag_of_point = np.repeat(np.arange(len(self)), self.sizes)
        order = np.lexsort((keys, bag_of_point))
        rank = np.arange(len(order)) - self.offsets[bag_of_point]
        rows = np.sort(order[rank < n_points])
        weights = None if self.weights is None else self.weights[rows]
        offsets = cut(np.minimum(self.sizes, n_points))
        return Bags(self.points[rows], offsets, weights=weights, names=self.names, table=self.table)

    def map(self, function: Callable[[np.ndarray], Any]) -> Bags:
        """Bags of ``function(points of one bag)``, which returns a 2-D array."""
        arrays = as_list([function(points) for points in self], len(self) == 0)
        sizes = np.array([len(points) for points in arrays], dtype=np.int64)
        if self.weights is not None and (sizes != self.sizes).any():
            b = int(np.flatnonzero(sizes != self.sizes)[0])
            raise ValueError(
                f"bag {b} has {self.sizes[b]} points with weights and {sizes[b]} after the "
                "function; drop the weights first, with Bags(points, offsets)"
            )
        points = np.concatenate(arrays) if arrays else self.points
        return Bags(points, cut(sizes), weights=self.weights, names=self.names, table=self.table)


def as_bags(X: Any) -> Bags:
    """Bags of anything a bag estimator takes.

    ``X`` is Bags, a list of 2-D arrays, a 3-D array (bags of one size) or a 2-D array (bags of
    one point each).  Nothing is copied where the source allows it.
    """
    if isinstance(X, Bags):
        return X
    if isinstance(X, list | tuple):
        if not X:
            raise ValueError("found no bags: the list is empty")
        if any(np.ndim(one) == 2 for one in X if hasattr(one, "__len__")):
            return Bags.from_list(X)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        raise ValueError("X is an array of objects, expected a list of bags: pass list(X)")
    if getattr(X, "ndim", 2) == 3:
        n_bags, n_points, n_features = X.shape
        if n_points == 0:
            raise ValueError(f"bag 0 has shape {X.shape[1:]}, expected 1 or more points")
        points = X.reshape(n_bags * n_points, n_features)
        return Bags(points, np.arange(0, len(points) + 1, n_points))
    points = as_points(X)
    return Bags(points, np.arange(len(points) + 1))


def check_bags(estimator: Any, X: Any, *, reset: bool) -> Bags:
    """X as Bags of at least one bag: the first line of a fit.

    ``reset=True`` sets ``n_features_in_`` and the names of a frame's columns; ``False`` holds
    X to them.  Values are looked at later, block by block (``parallel.map_blocks``).
    """
    from sklearn.utils.validation import validate_data

    bags = as_bags(X)
    if not len(bags):
        raise ValueError("X holds no bags, expected at least one")
    validate_data(
        estimator, X if hasattr(X, "columns") else bags, reset=reset, skip_check_array=True
    )
    return bags


def from_columns(
    columns: Mapping[str, np.ndarray],
    bag: str,
    features: Sequence[str] | None,
    weight: str | None,
) -> Bags:
    """Bags of columns with one row a point; features that are None are found in the table."""
    check_name("bag", bag, columns)
    if features is None:
        if weight is None and "point_weight" in columns:
            weight = "point_weight"
        features = find_features(columns, bag, weight)
    if weight is not None:
        check_name("weight", weight, columns)
    used = {bag, weight, *features}
    return Bags.from_ids(
        stack(columns, features),
        columns[bag],
        weights=None if weight is None else as_numbers(weight, columns[weight]),
        table={name: column for name, column in columns.items() if name not in used},
    )


def _as_columns(table: Any, n_rows: int, of: str) -> dict[str, np.ndarray]:
    """Columns of a dict or frame, each of one entry a row."""
    if table is not None and not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise TypeError(f"table is a {type(table).__name__}, expected a dict of columns")
    names = [] if table is None else list(table) if isinstance(table, Mapping) else table.columns
    return {name: _as_column(name, table[name], n_rows, of) for name in names}


def _as_column(what: str, values: Any, n_rows: int, of: str) -> np.ndarray:
    column = as_column(values)
    if column.ndim == 0 or len(column) != n_rows:
        raise ValueError(
            f"{what} has shape {column.shape}, expected one entry for each of {n_rows} {of}"
        )
    return column


def _check_alike(p: int, part: Bags, first: Bags) -> None:
    if part.n_features != first.n_features:
        raise ValueError(f"part {p} has {part.n_features} features, expected {first.n_features}")
    if (part.names is None) != (first.names is None):
        raise ValueError(f"part {p} and part 0: one has names and the other has not")
    if part.table.keys() != first.table.keys():
        raise ValueError(
            f"part {p} has the columns {sorted(part.table)}, expected {sorted(first.table)}"
        )
