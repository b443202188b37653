"""Every example of the README runs."""

import re
from pathlib import Path

import numpy as np
import pytest

import bagwise

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_runs(code):
    exec(compile(code, str(README), "exec"), {})


def test_the_first_block_is_about_ten_lines_and_prints_a_good_score(capsys):
    assert len(BLOCKS[0].splitlines()) <= 11
    exec(BLOCKS[0], {})
    assert float(capsys.readouterr().out) > 0.8


def test_the_recipe_for_images_cuts_patches():
    recipe = re.search(r"as_bags\(images\..*?\)(?=` \|)", TEXT).group()
    images = np.arange(2 * 16 * 24).reshape(2, 16, 24)
    n, h, w = images.shape
    names = {"images": images, "n": n, "h": h, "w": w, "as_bags": bagwise.as_bags}
    bags = eval(recipe, names)
    assert bags.shape == (2, 64)
    np.testing.assert_array_equal(bags[1][1], images[1, :8, 8:16].ravel())
    np.testing.assert_array_equal(bags[1][5], images[1, 8:, 16:].ravel())


def test_the_tour_names_every_room():
    rooms = {path.stem for path in Path(bagwise.__file__).parent.iterdir() if path.name[0] != "_"}
    rooms -= {"py"}  # py.typed
    tour = TEXT.split("## A tour of the rooms")[1].split("##")[0]
    assert rooms <= set(re.findall(r"`(\w+)`", tour))


@pytest.mark.slow
@pytest.mark.guard
def test_the_demo_runs(capsys):
    import runpy

    runpy.run_path(str(README.parent / "examples" / "demo.py"), run_name="__main__")
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 4
    scores = [float(row.split()[-3]) for row in rows[1:]]
    guesses = [float(row.split()[-2]) for row in rows[1:]]
    assert scores[0] > 4 * guesses[0]
    assert scores[2] > 2 * guesses[2]
