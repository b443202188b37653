import subprocess
import sys

import pytest

import bagwise

HEAVY = ["numpy", "scipy", "sklearn", "numba", "ot", "pandas", "torch", "pyarrow", "skops"]


def test_import_loads_nothing_heavy():
    code = (
        "import sys, bagwise; bagwise.__all__; dir(bagwise); bagwise.__version__; "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("name", bagwise.__all__)
def test_every_public_name_loads(name):
    vars(bagwise).pop(name, None)
    assert getattr(bagwise, name) is getattr(bagwise, name)
    assert name in dir(bagwise)


def test_names_for_editors_are_the_public_names():
    import ast
    from pathlib import Path

    tree = ast.parse(Path(bagwise.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    names = [alias.name for node in guarded.body for alias in node.names]
    assert sorted(names) == bagwise.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'bagwise' has no attribute 'Bag'"):
        bagwise.Bag  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from bagwise import nothing  # noqa: F401
