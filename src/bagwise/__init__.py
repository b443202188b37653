"""bagwise: bags of points to histograms, codes, distances, maps and decisions."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Each public name and the room it lives in; a room is loaded with the first of its names.
_ROOMS = {
    "Bags": "bags",
    "Codebook": "vocabulary",
    "as_bags": "bags",
    "load": "io",
    "read": "io",
    "read_table": "io",
    "save": "io",
    "write": "io",
}
_MODULES = ["datasets", "testing"]

__all__ = sorted([*_ROOMS, *_MODULES])

if TYPE_CHECKING:
    from bagwise import datasets, testing
    from bagwise.bags import Bags, as_bags
    from bagwise.io import load, read, read_table, save, write
    from bagwise.vocabulary import Codebook


def __getattr__(name):
    if name in _ROOMS:
        found = getattr(import_module(f"bagwise.{_ROOMS[name]}"), name)
    elif name in _MODULES:
        found = import_module(f"bagwise.{name}")
    else:
        raise AttributeError(f"module 'bagwise' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    return sorted([*globals(), *__all__])
