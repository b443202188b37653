"""A module imports only from lines below its own (STYLE: Layers)."""

import ast
from pathlib import Path

import pytest

import bagwise

LAYERS = """
cli
explorer papers testing
evaluation
grids coding matching cooccurrence embeddings
vocabulary transport features datasets
rounds pages
io
parallel devices callbacks plots
bags
arrays columns
checks results
kernels gpu
"""
HEIGHT = {
    room: -height
    for height, line in enumerate(LAYERS.strip().splitlines())
    for room in line.split()
}
SOURCE = Path(bagwise.__file__).parent


def rooms_imported(source, module):
    """The rooms of bagwise that a module's source imports, wherever in it and in any form."""
    package = module.split(".")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "bagwise" and len(parts) > 1 and parts[1] in HEIGHT:
                yield parts[1]


def imports_upward(source, module):
    room = module.split(".")[1]
    return [
        other
        for other in rooms_imported(source, module)
        if other != room and HEIGHT[other] >= HEIGHT[room]
    ]


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts != ("__init__",):
            yield ".".join(["bagwise", *parts]), path


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda value: str(value)[-30:])
def test_imports_go_downward(module, path):
    assert module.split(".")[1] in HEIGHT, "a room without a line among the layers"
    assert imports_upward(path.read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import bagwise.parallel", "bagwise.bags"),
        ("import numpy, bagwise.parallel as p", "bagwise.bags"),
        ("from bagwise import parallel", "bagwise.bags"),
        ("from bagwise import checks, parallel as p", "bagwise.bags"),
        ("from bagwise.parallel import blocks", "bagwise.bags"),
        ("from . import parallel", "bagwise.bags"),
        ("from .parallel import blocks", "bagwise.bags"),
        ("from ..parallel import blocks", "bagwise.kernels.points"),
        ("from .. import parallel", "bagwise.kernels.points"),
        ("def late():\n    from bagwise.io import read", "bagwise.bags"),
        ("class A:\n    if True:\n        import bagwise.io", "bagwise.bags"),
        (
            "try:\n    from ..io import read\nexcept ImportError:\n    pass",
            "bagwise.kernels.points",
        ),
        ("from bagwise.columns import same", "bagwise.arrays"),
        ("from bagwise.transport import emd", "bagwise.vocabulary.methods"),
    ],
)
def test_an_upward_import_is_seen_in_every_form(source, module):
    assert len(imports_upward(source, module)) == 1


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import bagwise.checks\nfrom bagwise import arrays", "bagwise.bags"),
        ("from bagwise.vocabulary.methods import cluster", "bagwise.vocabulary.__init__"),
        ("from .methods import cluster", "bagwise.vocabulary.__init__"),
        ("from bagwise import __version__", "bagwise.io.models"),
        ("import numpy.testing", "bagwise.checks"),
    ],
)
def test_a_downward_import_is_not(source, module):
    assert imports_upward(source, module) == []


def test_nothing_lies_deeper_than_a_file_of_a_room():
    assert max(len(path.relative_to(SOURCE).parts) for path in SOURCE.rglob("*.py")) <= 2
