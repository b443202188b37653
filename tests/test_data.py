"""Every data set that BAGWISE_DATA holds opens."""

import io
import os
from pathlib import Path

import numpy as np
import pytest

from bagwise import as_bags, read, read_table

FOLDER = os.environ.get("BAGWISE_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOLDER is None, reason="BAGWISE_DATA names no folder of data sets"),
]

BAGS = {
    "mil_musk1.npz": (92, 476, 166),
    "mil_tiger.npz": (200, 1220, 230),
    "mil_corel2000.npz": (2000, 7947, 9),
    "mil_ucsb_breast_cancer.npz": (58, 2002, 708),
    "cytometry_aml20.npz": (20, 10000, 7),
}
TEXTS = {
    "acl_abstracts.parquet": (62270, "abstract"),
    "news_20_same.parquet": (2946, "text"),
    "recipes_allrecipes.parquet": (41825, "text"),
    "recipes_ingredient_categories.parquet": (1530, "ingredient"),
}
IMAGES = {
    "coil100_gray32.npz": 7168,
    "coil100_three_class.npz": 420,
    "flavia32x16_gray224.npz": 512,
    "inria_person_gray64x128.npz": 2426,
    "scenes8_gray128.npz": 2688,
}


@pytest.mark.parametrize("name", BAGS)
def test_bags_open(name):
    bags = read(Path(FOLDER, name))
    assert (len(bags), len(bags.points), bags.n_features) == BAGS[name]
    assert bags.points.dtype == np.float32
    assert len(bags.table["y"]) == len(bags)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_open(name):
    n_rows, column = TEXTS[name]
    texts = read_table(Path(FOLDER, name))[column]
    assert len(texts) == n_rows
    assert all(isinstance(text, str) for text in texts)
    assert np.mean([bool(text) for text in texts]) > 0.99


@pytest.mark.parametrize("name", IMAGES)
def test_images_are_bags_of_patches(name):
    images = np.load(Path(FOLDER, name))["X"][:50]
    n, h, w = images.shape
    patches = images.reshape(n, h // 8, 8, w // 8, 8).swapaxes(2, 3).reshape(n, -1, 64)
    assert as_bags(patches).shape == (50, 64)
    assert IMAGES[name] >= n


def test_images_in_a_table_open():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    table = read_table(Path(FOLDER, "histology_ucsb_breast.parquet"))
    pictures = [np.asarray(image.open(io.BytesIO(jpeg))) for jpeg in table["jpeg"]]
    assert {picture.shape for picture in pictures} == {(384, 448, 3)}
    assert len(pictures) == 58


def test_every_file_of_bags_texts_or_images_is_named_here():
    known = {*BAGS, *TEXTS, *IMAGES, "histology_ucsb_breast.parquet"}
    histograms = {"colon_alon.npz", "srbct_khan.npz", "leaves99_histograms.npz"}  # counts, not bags
    packed = {"leaves99_silhouettes.npz"}  # bits of silhouettes: np.unpackbits opens them
    found = {path.name for path in Path(FOLDER).iterdir() if path.suffix in (".npz", ".parquet")}
    assert found == known | histograms | packed
