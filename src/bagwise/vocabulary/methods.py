"""The four vocabularies of [cope:13, section 3.1].

Each is a function(model, training, rng) -> Vocabulary.
"""

import warnings
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning

from bagwise.columns import as_column, is_missing
from bagwise.kernels.points import Total, nearest, sum_by_label, try_centers
from bagwise.parallel import check_values, cut_rows, map_threads


class Training(NamedTuple):
    """Training points of weight above zero, in memory."""

    points: np.ndarray  # (n_points, n_features) of float64
    weights: np.ndarray  # (n_points,)
    labels: np.ndarray | None  # of each point, as an index into classes
    classes: np.ndarray | None


class Vocabulary(NamedTuple):
    """Codewords, the share of the weight nearest each, the mean squared distance a round."""

    codewords: np.ndarray
    usage: np.ndarray
    objective: np.ndarray


def gather_points(bags, y):
    """The points of all bags, each with its bag's label; one of weight zero is left out."""
    check_values(bags)
    classes, labels = (None, None) if y is None else sort_labels(y, len(bags))
    points, weights = bags.points.astype(np.float64, copy=False), bags.point_weights()
    labels = None if labels is None else np.repeat(labels, bags.sizes)
    training = Training(points, weights, labels, classes)
    if not weights.any():
        raise ValueError("every point has weight zero, expected one above")
    return training if weights.all() else select(training, weights > 0.0)


def select(training, kept):
    """The training points of a mask."""
    labels = None if training.labels is None else training.labels[kept]
    return Training(training.points[kept], training.weights[kept], labels, training.classes)


def sort_labels(y, n_bags):
    """The classes in order, and the place of each bag's label among them."""
    y = as_column(y)
    if y.shape != (n_bags,):
        raise ValueError(f"y has shape {y.shape}, expected one label for each of {n_bags} bags")
    for b, label in enumerate(y.tolist()):
        if is_missing(label):
            raise ValueError(f"bag {b} has no label; fill y or drop the bag")
    try:
        return np.unique(y, return_inverse=True)
    except TypeError:
        raise TypeError("y mixes text and numbers, expected labels of one kind") from None


def sum_points(training, codewords, n_jobs=None):
    """Weighted sums of the points nearest each codeword; blocks are added in their order."""

    def gather(rows):
        points = training.points[rows]
        return sum_by_label(points, training.weights[rows], nearest(points, codewords), codewords)

    totals = map_threads(gather, cut_rows(*training.points.shape), n_jobs)
    return reduce(lambda a, b: Total(*(x + y for x, y in zip(a, b, strict=True))), totals)


def finish(training, codewords, objective, n_jobs):
    """The vocabulary of these codewords, after rounds of these objectives."""
    total, weight = sum_points(training, codewords, n_jobs), training.weights.sum()
    return Vocabulary(
        codewords, total.weights / weight, np.append(objective, total.squares / weight)
    )


def cluster(model, training, rng):
    """Centres of a clustering of all points."""
    start = start_clustering(model, training, slice(0, model.n_codewords), rng, model.n_jobs)
    return move_centers(training, start, model.max_iter, model.tol, model.n_jobs)


def cluster_classes(model, training, rng):
    """Centres of a clustering of each class, joined; the first classes have one more."""
    n_classes = len(training.classes)
    base, more = divmod(model.n_codewords, n_classes)
    if not base:
        raise ValueError(
            f"n_codewords is {model.n_codewords}, expected one or more for each of {n_classes} "
            "classes"
        )
    ends = np.cumsum([base + (c < more) for c in range(n_classes)]).tolist()
    seeds = rng.randint(2**31 - 1, size=n_classes)

    def of_class(c):
        of_label = select(training, training.labels == c)
        words = slice(ends[c - 1] if c else 0, ends[c])
        try:
            start = start_clustering(model, of_label, words, np.random.RandomState(seeds[c]))
        except ValueError as error:
            raise ValueError(f"of class {training.classes[c]!s}: {error}") from None
        words = move_centers(of_label, start, model.max_iter, model.tol)
        return words.codewords, words.objective * of_label.weights.sum()

    fits = map_threads(of_class, list(range(n_classes)), model.n_jobs)
    longest = max(len(objective) for _, objective in fits)
    rounds = sum(np.pad(each, (0, longest - len(each)), mode="edge") for _, each in fits)
    codewords = np.concatenate([codewords for codewords, _ in fits])
    return finish(training, codewords, rounds / training.weights.sum(), model.n_jobs)


def start_clustering(model, training, words, rng, n_jobs=None):
    """Where the chosen words start: as given, or far from each other."""
    if not isinstance(model.init, str):
        return np.array(model.init, dtype=np.float64)[words]
    return spread_start(training, words.stop - words.start, rng, n_jobs)


def spread_start(training, n_codewords, rng, n_jobs):
    """Points far from each other: k-means++, the best of some draws each [arthur:07].

    Squared distances are summed as differences, never as products, so that equal sums are equal
    whether a point has weight 2 or stands there twice.
    """
    points, weights, n_points = training.points, training.weights, len(training.points)
    blocks = cut_rows(*points.shape)

    def shrink(candidates, closest):
        shrunk = np.empty((len(candidates), n_points))

        def of_block(rows):
            out = shrunk[:, rows]
            return try_centers(points[rows], weights[rows], closest[rows], points[candidates], out)

        return shrunk, sum(map_threads(of_block, blocks, n_jobs))

    n_trials = 2 + int(np.log(n_codewords))
    chosen = [draw_by(np.cumsum(weights), rng.uniform(size=1))[0]]
    closest = shrink(chosen, np.full(n_points, np.inf))[0][0]
    while len(chosen) < n_codewords:
        reach = np.cumsum(weights * closest)
        if not reach[-1] > 0.0:
            raise ValueError(
                f"n_codewords is {n_codewords}, expected 1 to the {len(chosen)} distinct training "
                f"points (n_samples={n_points})"
            )
        candidates = draw_by(reach, rng.uniform(size=n_trials))
        shrunk, sums = shrink(candidates, closest)
        closest = shrunk[sums.argmin()].copy()
        chosen.append(candidates[sums.argmin()])
    return points[chosen]


def draw_by(cumulated, shares):
    """Places drawn in proportion to what they add to a cumulated sum."""
    places = np.searchsorted(cumulated, shares * cumulated[-1], side="right")
    return np.minimum(places, np.searchsorted(cumulated, cumulated[-1]))


def move_centers(training, codewords, max_iter, tol, n_jobs=None):
    """Lloyd's rounds: every codeword to the mean of its points, until the objective rests.

    A codeword without points stays where it is, so the objective never rises.
    """
    weight = training.weights.sum()
    center = np.average(training.points, axis=0, weights=training.weights)[np.newaxis]
    least_step = tol * sum_points(training, center, n_jobs).squares / weight
    objective = []
    while True:
        total = sum_points(training, codewords, n_jobs)
        objective.append(total.squares / weight)
        if len(objective) > 1 and objective[-2] - objective[-1] <= least_step:
            break
        if len(objective) == max_iter:
            warnings.warn(
                f"Codebook still moves after {max_iter} rounds; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
            break
        used = total.weights > 0.0
        codewords = codewords.copy()
        codewords[used] = total.sums[used] / total.weights[used, np.newaxis]
    return Vocabulary(codewords, total.weights / weight, np.array(objective))


def draw(model, training, rng):
    """Distinct training points, drawn in proportion to their weight."""
    _, first, same = np.unique(row_keys(training.points), return_index=True, return_inverse=True)
    if model.n_codewords > len(first):
        raise ValueError(
            f"n_codewords is {model.n_codewords}, expected 1 to the {len(first)} distinct "
            f"training points (n_samples={len(training.points)})"
        )
    # The smallest of exponentials over weights are a draw without replacement [efraimidis:06].
    keys = np.empty(len(first))
    keys[np.argsort(first)] = rng.exponential(size=len(first))
    chosen = np.argsort(keys / np.bincount(same, training.weights))[: model.n_codewords]
    return finish(training, training.points[first[chosen]], [], model.n_jobs)


def row_keys(points):
    """A 64-bit number of each row, the same for equal rows; -0.0 equals 0.0."""
    keys = np.zeros(len(points), np.uint64)
    for f in range(points.shape[1]):
        keys ^= (points[:, f] + 0.0).view(np.uint64)
        keys *= np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


def lay_grid(model, training, rng):
    """Points evenly over the bounding box: a lattice of cell centres, or Sobol's sequence."""
    n_codewords, n_features = model.n_codewords, training.points.shape[1]
    m = round(n_codewords ** (1.0 / n_features))
    if m**n_features == n_codewords:
        axis = (np.arange(m) + 0.5) / m
        cells = np.stack(np.meshgrid(*[axis] * n_features, indexing="ij"), axis=-1)
        unit = cells.reshape(n_codewords, n_features)
    elif n_features <= qmc.Sobol.MAXDIM:
        sequence = qmc.Sobol(n_features, rng=np.random.default_rng(rng.randint(2**31 - 1)))
        unit = sequence.random_base2((n_codewords - 1).bit_length())[:n_codewords]
    else:
        raise ValueError(
            f"points have {n_features} features, expected at most {qmc.Sobol.MAXDIM} for "
            "method='grid'"
        )
    low, high = training.points.min(axis=0), training.points.max(axis=0)
    return finish(training, low + unit * (high - low), [], model.n_jobs)


METHODS = {"kmeans": cluster, "random": draw, "grid": lay_grid, "per_class": cluster_classes}
