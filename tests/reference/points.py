"""kernels/points.py once more, slow and plain."""

import numpy as np


def nearest(points, codewords):
    """The lowest argmin of squared distances, features added in order, in float64."""
    points = np.asarray(points, dtype=np.float64)
    distances = np.zeros((len(points), len(codewords)))
    for f in range(points.shape[1]):
        distances += (points[:, f, np.newaxis] - codewords[:, f]) ** 2
    return distances.argmin(axis=1)


def sum_by_label(points, weights, labels, codewords):
    """Sums of weight times point, of weight, and of weight times squared distance."""
    sums, of_label, squares = np.zeros_like(codewords), np.zeros(len(codewords)), 0.0
    for point, weight, k in zip(points, weights, labels, strict=True):
        sums[k] += weight * point
        of_label[k] += weight
        squares += weight * ((point - codewords[k]) ** 2).sum()
    return sums, of_label, squares


def count_labels(labels, bag_of_point, weights, shape):
    """Weights of the points of each bag and label."""
    counts = np.zeros(shape)
    for k, b, weight in zip(labels, bag_of_point, weights, strict=True):
        counts[b, k] += weight
    return counts
