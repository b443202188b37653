"""Codebook.fit beside KMeans: CPU time and inertia, three seeds a row (``--toy``: small)."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded

import argparse
from time import process_time

import numpy as np
from codebook import report
from sklearn.cluster import KMeans

from bagwise import Codebook

SIZES = [
    ("clustered", 100_000, 16, 64),
    ("structureless", 100_000, 16, 64),
    ("structureless", 50_000, 20, 256),
    ("clustered", 200_000, 32, 256),
]


def timed(model, points):
    """The fitted model and the CPU seconds its fit took."""
    began = process_time()
    return model.fit(points), process_time() - began


def compare(kind, n_points, n_features, n_codewords):
    """Median over seeds of time and inertia, ours as a share of KMeans (n_init=1, its own tol)."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n_points, n_features))
    if kind == "clustered":
        centers = 2.0 * rng.normal(size=(n_codewords, n_features))
        points += centers[rng.integers(n_codewords, size=n_points)]
    Codebook(2, random_state=0).fit(points[:100])  # compiles
    shares = []
    for seed in range(3):
        rival, rival_s = timed(KMeans(n_codewords, n_init=1, random_state=seed), points)
        ours, ours_s = timed(Codebook(n_codewords, random_state=seed), points)
        shares.append((ours_s / rival_s, ours.objective_[-1] * n_points / rival.inertia_))
    time, inertia = np.median(shares, axis=0)
    return {
        "data": kind,
        "size": (n_points, n_features, n_codewords),
        "time_share": float(time),
        "inertia_share": float(inertia),
        "largest_inertia_share": float(max(share for _, share in shares)),
    }


def main():
    """Measure, print, and write ``results/kmeans.json`` (not for toy sizes)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true", help="a small size; writes nothing")
    toy = parser.parse_args().toy
    rows = [compare(*size) for size in ([("clustered", 2000, 4, 16)] if toy else SIZES)]
    report("kmeans", "Codebook.fit; size is (points, features, words)", toy, rows=rows)


if __name__ == "__main__":
    main()
