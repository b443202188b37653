"""Two tours through bagwise: texts as bags of words, images as bags of patches.

Everything is at hand: the texts are the docstrings of the Python that runs this, the images are
drawn here.  Run it with ``make demo``.
"""

from collections import Counter
from time import perf_counter

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from bagwise import Codebook
from bagwise.bags import as_bags
from bagwise.datasets import python_docstrings


def draw_textures(n_images=120, side=48, seed=0):
    """Grey images of stripes, dots and clouds under noise, and which is which."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    images, labels = [], []
    for i in range(n_images):
        turn, phase, step = rng.uniform(0, np.pi), rng.uniform(0, 6), rng.uniform(6, 10)
        u, v = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
        waves = [np.sin(2 * np.pi * side / step * along / side + phase) for along in (u, v)]
        cloud = np.cumsum(np.cumsum(rng.normal(size=(side, side)), axis=0), axis=1)
        kinds = [waves[0], waves[0] * waves[1], (cloud - cloud.mean()) / cloud.std()]
        images.append(kinds[i % 3] + rng.normal(scale=1.0, size=(side, side)))
        labels.append(["stripes", "dots", "clouds"][i % 3])
    return np.array(images), np.array(labels)


def cut_patches(images, side=6):
    """Each image as a bag of its patches, (n_images, n_patches, side * side)."""
    n, height, width = images.shape
    tiles = images.reshape(n, height // side, side, width // side, side)
    return tiles.swapaxes(2, 3).reshape(n, -1, side * side)


def main():
    """Cross-validate both and print one table."""
    rows = []

    def compare(what, X, y, model):
        began = perf_counter()
        scores = cross_val_score(model, X, y, cv=5)
        guess = cross_val_score(DummyClassifier(), np.zeros((len(y), 1)), y, cv=5).mean()
        rows.append((what, len(y), len(set(y)), scores.mean(), guess, perf_counter() - began))

    table = python_docstrings()
    many = [name for name, n in Counter(table["package"]).items() if n >= 30]
    kept = np.isin(table["package"], many)
    texts, packages = table["text"][kept], table["package"][kept]
    words = CountVectorizer(min_df=3, token_pattern=r"[a-z]{2,}", stop_words="english")
    compare(
        "docstrings by package: words, SVM",
        texts,
        packages,
        make_pipeline(words, TfidfTransformer(sublinear_tf=True), LinearSVC()),
    )

    images, kinds = draw_textures()
    bags = as_bags(cut_patches(images))
    means = bags.map(lambda points: points.mean(axis=0, keepdims=True))
    compare("textures by kind: mean patch, SVM", means.points, kinds, LinearSVC())
    codebook = Codebook(64, random_state=0)
    compare(
        "textures by kind: 64 words, SVM",
        bags,
        kinds,
        make_pipeline(codebook, Normalizer("l1"), LinearSVC(C=100.0)),
    )

    print(f"{'':<36}{'bags':>6}{'classes':>9}{'accuracy':>10}{'guessing':>10}{'seconds':>9}")
    for what, n_bags, n_classes, score, guess, seconds in rows:
        print(f"{what:<36}{n_bags:>6}{n_classes:>9}{score:>10.3f}{guess:>10.3f}{seconds:>9.1f}")


if __name__ == "__main__":
    main()
