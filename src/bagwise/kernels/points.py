"""Points and codewords: the nearest codeword of every point."""

import math
from typing import NamedTuple

import numpy as np

from bagwise.kernels import kernel

# Points side by side in one tile.  A constant, so that loops over them have no remainder and
# their sums stay in registers.
LANES = 256


class Total(NamedTuple):
    """What k-means sums over points."""

    sums: np.ndarray  # (n_codewords, n_features), of weight times point
    weights: np.ndarray  # (n_codewords,)
    squares: float  # of weight times squared distance


@kernel
def nearest(points, codewords):
    """The codeword nearest to each point; a tie goes to the lowest.

        label[i] = the lowest argmin_k  sum_f (points[i, f] - codewords[k, f])^2

    as float64 gives it when features are added in order.  float32 scores find it for nearly
    every point, float64 settles the rest.  With x' and c' centred and scaled alike, so that
    C = max |c'| is near 1, the score of a codeword is

        s_k = |c'_k|^2 / 2 - x' . c'_k         2 s_k = distance_k - |x'|^2

    Rounding x', c' and the score to float32 (unit u = 2^-24), in any order of its d + 1 sums,
    moves s_k by less than (d + 8) u (|x'| C + C^2); float64 moves half a distance by less than
    (d + 8) 2^-53 (|x'| + C)^2.  Where the best two scores lie further apart than both moves of
    both codewords, the best is the answer.

    points (n, d) float32 or float64, codewords (n_codewords, d) -> (n,) int64.
    """
    n_points, n_features = points.shape
    center, scale = frame(codewords)
    words, halves, reach = round_codewords(codewords, center, scale)
    exact = np.ascontiguousarray(codewords.T)
    vanished = n_features * 2.0**-1074 * scale * scale  # by squares that underflow
    columns, squares = np.zeros((words.shape[1], LANES), np.float32), np.empty(LANES, np.float32)
    scores, distances = np.empty((4, LANES), np.float32), np.empty(len(codewords))
    best, second = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    place, labels = np.empty(LANES, np.int32), np.empty(n_points, np.int64)
    for start in range(0, n_points, LANES):
        tile = points[start : start + LANES]
        fill_columns(tile, center, scale, columns, squares)
        best_two(columns, words, halves, scores, best, second, place)
        for p in range(len(tile)):
            size = math.sqrt(squares[p])
            moves = 2.0**-24 * reach * (size + reach) + 2.0**-53 * (size + reach) ** 2 + vanished
            # NaN and infinity, from points beyond float32, compare false: they are in doubt.
            if second[p] - best[p] > 2.2 * (n_features + 8) * moves:
                labels[start + p] = place[p]
            else:
                labels[start + p] = settle(tile[p], exact, distances)
    return labels


@kernel
def frame(codewords):
    """Centre of the codewords, and the power of two that brings the farthest near 1."""
    center = np.zeros(codewords.shape[1])
    for k in range(len(codewords)):
        center += codewords[k] / len(codewords)
    reach = 0.0
    for k in range(len(codewords)):
        for f in range(len(center)):
            reach = max(reach, abs(codewords[k, f] - center[f]))
    exponent = math.frexp(reach)[1] if reach > 0.0 else 0
    return center, math.ldexp(1.0, -max(-500, min(500, exponent)))


@kernel
def round_codewords(codewords, center, scale):
    """-c' as float32, |c'|^2 / 2 and max |c'|; rows and columns padded to fours.

    A row of padding has an infinite score.
    """
    n_codewords, n_features = codewords.shape
    shape = (-(-n_codewords // 4) * 4, -(-n_features // 4) * 4)
    words, halves = np.zeros(shape, np.float32), np.full(shape[0], np.inf, np.float32)
    reach = 0.0
    for k in range(n_codewords):
        square = 0.0
        for f in range(n_features):
            c = (codewords[k, f] - center[f]) * scale
            words[k, f] = -c
            square += c * c
        halves[k] = square / 2.0
        reach = max(reach, square)
    return words, halves, math.sqrt(reach)


@kernel
def fill_columns(points, center, scale, columns, squares):
    """columns[f, p] = x' of point p, squares[p] = |x'|^2; lanes beyond the points stay."""
    squares[:] = 0.0
    for f in range(points.shape[1]):
        for p in range(len(points)):
            columns[f, p] = (points[p, f] - center[f]) * scale
            squares[p] += columns[f, p] ** 2


@kernel
def best_two(columns, words, halves, scores, best, second, place):
    """The two least scores of every lane, and where the least stands.

    Four codewords by four features at a time: what is loaded once is used four times.
    """
    best[:] = np.inf
    second[:] = np.inf
    place[:] = 0
    s0, s1, s2, s3 = scores[0], scores[1], scores[2], scores[3]
    for k in range(0, len(words), 4):
        for j in range(4):
            scores[j, :] = halves[k + j]
        for f in range(0, len(columns), 4):
            w = words[k : k + 4, f : f + 4]
            a0, a1, a2, a3 = w[0, 0], w[0, 1], w[0, 2], w[0, 3]
            b0, b1, b2, b3 = w[1, 0], w[1, 1], w[1, 2], w[1, 3]
            c0, c1, c2, c3 = w[2, 0], w[2, 1], w[2, 2], w[2, 3]
            d0, d1, d2, d3 = w[3, 0], w[3, 1], w[3, 2], w[3, 3]
            x = columns[f : f + 4]
            for p in range(LANES):
                x0, x1, x2, x3 = x[0, p], x[1, p], x[2, p], x[3, p]
                s0[p] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                s1[p] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                s2[p] += c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                s3[p] += d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
        for j in range(4):
            for p in range(LANES):
                score = scores[j, p]
                loser = max(score, best[p])
                second[p] = loser if loser < second[p] else second[p]
                place[p] = k + j if score < best[p] else place[p]
                best[p] = score if score < best[p] else best[p]


@kernel
def settle(point, exact, distances):
    """The nearest codeword of one point in float64, by its definition."""
    distances[:] = 0.0
    for f in range(len(point)):
        # Codewords run innermost: their sums are independent, so the loop vectorizes without
        # reordering any of them.
        for k in range(len(distances)):
            distances[k] += (point[f] - exact[f, k]) ** 2
    return distances.argmin()


@kernel
def sum_by_label(points, weights, labels, codewords):
    """Weighted sums of the points of each label, and of squared distances to their codewords."""
    sums, of_label = np.zeros(codewords.shape), np.zeros(len(codewords))
    squares = 0.0
    for i in range(len(points)):
        k, square = labels[i], 0.0
        for f in range(points.shape[1]):
            sums[k, f] += weights[i] * points[i, f]
            square += (points[i, f] - codewords[k, f]) ** 2
        of_label[k] += weights[i]
        squares += weights[i] * square
    return Total(sums, of_label, squares)


@kernel
def count_labels(labels, bag_of_point, weights, counts):
    """Add the weight of every point to the count of its label in its bag."""
    for i in range(len(labels)):
        counts[bag_of_point[i], labels[i]] += weights[i]


@kernel
def try_centers(points, weights, closest, centers, shrunk):
    """What each centre would leave of the squared distances to the closest.

        shrunk[c, i] = min(closest[i], |points[i] - centers[c]|^2)

    Returns their weighted sums, (n_centers,).
    """
    n_centers, n_features = centers.shape
    columns, squares = np.zeros((n_features, LANES)), np.empty(LANES)
    sums = np.zeros(n_centers)
    for start in range(0, len(points), LANES):
        stop = min(start + LANES, len(points))
        columns[:, : stop - start] = points[start:stop].T
        for c in range(n_centers):
            squares[:] = 0.0
            for f in range(n_features):
                for p in range(LANES):
                    squares[p] += (columns[f, p] - centers[c, f]) ** 2
            for p in range(stop - start):
                square = min(squares[p], closest[start + p])
                shrunk[c, start + p] = square
                sums[c] += weights[start + p] * square
    return sums
