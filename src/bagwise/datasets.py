"""Small generated bags, for examples and tests; and the docstrings of your own Python."""

import ast
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from bagwise.bags import Bags
from bagwise.checks import check_real, check_whole


def make_mixture_bags(
    n_bags: int = 60,
    *,
    n_classes: int = 3,
    n_features: int = 2,
    n_points: tuple[int, int] = (20, 60),
    n_kinds: int = 6,
    overlap: float = 0.5,
    random_state: Any = None,
) -> Bags:
    """Bags whose classes mix the same kinds of points in different shares.

    Every kind of point is a Gaussian.  With ``overlap=0`` each class has kinds of its own, with
    ``overlap=1`` all classes mix all kinds alike and cannot be told apart; no single point ever
    tells the class between.  ``table["label"]`` is the class, ``table["group"]`` one of
    ``n_bags / 3`` groups, as if three bags came from one patient.

    Examples
    --------
    >>> make_mixture_bags(4, random_state=0)
    Bags: 4 bags, 183 points, 2 features; table: label, group
    """
    check_whole("n_bags", n_bags, 1)
    check_whole("n_classes", n_classes, 1)
    check_whole("n_kinds", n_kinds, n_classes)
    check_real("overlap", overlap, 0.0)
    if overlap > 1.0:
        raise ValueError(f"overlap is {overlap}, expected at most 1")
    if np.shape(n_points) != (2,) or not 1 <= n_points[0] <= n_points[1]:
        raise ValueError(f"n_points is {n_points}, expected the least and the most, 1 or above")
    rng = check_random_state(random_state)
    centers = rng.normal(scale=4.0, size=(n_kinds, n_features))
    own = np.arange(n_kinds) % n_classes == np.arange(n_classes)[:, np.newaxis]
    shares = (1.0 - overlap) * own / own.sum(axis=1, keepdims=True) + overlap / n_kinds
    labels = np.arange(n_bags) % n_classes
    sizes = rng.randint(n_points[0], n_points[1] + 1, size=n_bags)
    kinds = np.concatenate(
        [rng.choice(n_kinds, n, p=shares[c]) for n, c in zip(sizes, labels, strict=True)]
    )
    points = centers[kinds] + rng.normal(size=(len(kinds), n_features))
    names = np.array([f"class {c}" for c in range(n_classes)])
    table = {"label": names[labels], "group": np.arange(n_bags) // 3}
    return Bags(points, np.append(0, np.cumsum(sizes)), table=table)


class SparseHistograms(NamedTuple):
    """Histograms that are sparse combinations of known atoms on a line of bins."""

    histograms: np.ndarray  # (n_bags, n_bins), rows sum to one
    atoms: np.ndarray  # (n_atoms, n_bins), rows sum to one
    codes: np.ndarray  # (n_bags, n_atoms), rows sum to one, n_used entries above zero
    ground_distance: np.ndarray  # (n_bins, n_bins), the largest is one


def make_sparse_histograms(
    n_bags: int = 100,
    *,
    n_bins: int = 40,
    n_atoms: int = 6,
    n_used: int = 2,
    shift: float = 0.0,
    random_state: Any = None,
) -> SparseHistograms:
    """Histograms made of ``n_used`` of ``n_atoms`` bumps each, on ordered bins.

    ``shift`` moves every histogram along the line by a normal draw of so many bins: far by a
    distance of bins, near by an earth mover's distance.

    Examples
    --------
    >>> data = make_sparse_histograms(5, random_state=0)
    >>> data.histograms.shape, data.atoms.shape, (data.codes > 0).sum(axis=1)
    ((5, 40), (6, 40), array([2, 2, 2, 2, 2]))
    """
    check_whole("n_bags", n_bags, 1)
    check_whole("n_bins", n_bins, 2)
    check_whole("n_used", n_used, 1)
    check_whole("n_atoms", n_atoms, n_used)
    check_real("shift", shift, 0.0)
    rng = check_random_state(random_state)
    bins = np.arange(n_bins)

    def bumps(middles: np.ndarray) -> np.ndarray:
        heights = np.exp(-0.5 * (8.0 * n_atoms / n_bins * (bins - middles[..., np.newaxis])) ** 2)
        return heights / heights.sum(axis=-1, keepdims=True)

    middles = (np.arange(n_atoms) + 0.5) * n_bins / n_atoms - 0.5
    codes = np.zeros((n_bags, n_atoms))
    for code in codes:
        code[rng.choice(n_atoms, n_used, replace=False)] = rng.dirichlet(np.full(n_used, 2.0))
    moves = shift * rng.normal(size=(n_bags, 1))
    histograms = np.einsum("bk,bkj->bj", codes, bumps(middles + moves))
    distance = abs(bins[:, np.newaxis] - bins) / (n_bins - 1)
    return SparseHistograms(histograms, bumps(middles), codes, distance)


class TorusCounts(NamedTuple):
    """Bags of words drawn from windows of a known grid."""

    counts: np.ndarray  # (n_bags, n_words), whole numbers
    cells: np.ndarray  # (n_bags, 2), first row and column of each bag's window
    grid: np.ndarray  # (*shape, n_words), sums to one over the words of every cell


def make_torus_counts(
    n_bags: int = 200,
    *,
    shape: tuple[int, int] = (12, 12),
    window: tuple[int, int] = (3, 3),
    n_words: int = 60,
    n_tokens: int = 80,
    random_state: Any = None,
) -> TorusCounts:
    """Bags of words that drift over a torus: near windows share most of their words.

    Every word has a home on the torus and is frequent in the cells around it; a bag draws
    ``n_tokens`` words from the mean of the cells in its window.

    Examples
    --------
    >>> data = make_torus_counts(5, random_state=0)
    >>> data.counts.sum(axis=1), data.cells.shape, data.grid.shape
    (array([80., 80., 80., 80., 80.]), (5, 2), (12, 12, 60))
    """
    for name, value in (("n_bags", n_bags), ("n_words", n_words), ("n_tokens", n_tokens)):
        check_whole(name, value, 1)
    if any(wide > long for wide, long in zip(window, shape, strict=True)):
        raise ValueError(f"window is {window}, expected at most the grid's {shape}")
    rng = check_random_state(random_state)
    sides = np.array(shape)
    cells = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    apart = abs(cells[:, :, np.newaxis] - rng.uniform(0.0, sides, size=(n_words, 2)))
    apart = np.minimum(apart, sides - apart)  # the short way round the torus
    grid = np.exp(-0.5 * (apart**2).sum(axis=-1)) + 1e-4
    grid /= grid.sum(axis=-1, keepdims=True)
    starts = np.stack([rng.randint(side, size=n_bags) for side in shape], axis=1)
    counts = np.empty((n_bags, n_words))
    for b, (row, column) in enumerate(starts):
        rows = (row + np.arange(window[0])) % shape[0]
        columns = (column + np.arange(window[1])) % shape[1]
        share = grid[np.ix_(rows, columns)].mean(axis=(0, 1))
        counts[b] = rng.multinomial(n_tokens, share / share.sum())
    return TorusCounts(counts, starts, grid)


def hasler_toy() -> tuple[np.ndarray, np.ndarray]:
    """The ten unit vectors of [hasler:07, figure 2] and their two classes.

    The angles are read off the figure.

    Examples
    --------
    >>> X, y = hasler_toy()
    >>> X.shape, y
    ((10, 2), array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1]))
    """
    first, second = [14.3, 15.0, 16.4, 19.8], [25.5, 40.1, 43.4, 51.1, 62.4, 67.3]
    angles = np.deg2rad(first + second)
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.repeat([0, 1], [4, 6])


def python_docstrings(folder: Any = None) -> dict[str, np.ndarray]:
    """The docstrings of the running Python's standard library, as a table of texts.

    Files are parsed, nothing is imported or run; tests and installed packages are left out.
    Columns: ``text``, ``name`` (as ``json.decoder.JSONDecoder``), ``module``, ``package`` (the
    first part of the name).  ``folder`` reads the modules below another folder.

    Examples
    --------
    >>> import json, pathlib
    >>> table = python_docstrings(pathlib.Path(json.__file__).parent)
    >>> list(table), "decoder.JSONDecoder.decode" in table["name"]
    (['text', 'name', 'module', 'package'], True)
    """
    root = Path(sysconfig.get_path("stdlib") if folder is None else folder)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}")
    rows = [row for path in sorted(root.rglob("*.py")) for row in _docstrings(path, root)]
    columns = np.array(rows, dtype=object).reshape(len(rows), 4).T
    return dict(zip(["text", "name", "module", "package"], columns, strict=True))


def _docstrings(path: Path, root: Path) -> Iterator[tuple[str, str, str, str]]:
    parts = path.relative_to(root).with_suffix("").parts
    if {"site-packages", "dist-packages", "test", "tests", "idlelib"} & set(parts):
        return
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    if not parts:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler, on other people's code
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return  # written for another Python, or to fail
    module = ".".join(parts)
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    places: list[tuple[str, Any]] = [(module, tree)]
    while places:
        name, node = places.pop(0)
        text = ast.get_docstring(node)
        if text:
            yield text, name, module, parts[0]
        places += [
            (f"{name}.{child.name}", child) for child in node.body if isinstance(child, documented)
        ]
