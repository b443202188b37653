"""Run bagwise where only its core dependencies are installed: ``python .ci/core_only.py``."""

import importlib.util
import pkgutil
import tempfile
from importlib import import_module
from pathlib import Path

import bagwise
from bagwise import Bags, Codebook, datasets, load, read, save, write

for name in ("pyarrow", "pandas", "torch", "dask", "pytest"):
    assert importlib.util.find_spec(name) is None, (
        f"{name} is installed: this is not the core alone"
    )
for module in pkgutil.walk_packages(bagwise.__path__, "bagwise."):
    import_module(module.name)

bags = datasets.make_mixture_bags(random_state=0)
model = Codebook(16, random_state=0).fit(bags)
with tempfile.TemporaryDirectory() as folder:
    for name in ("bags.npz", "bags.csv", "bags"):
        write(Bags(bags.points, bags.offsets, names=range(len(bags))), Path(folder) / name)
        assert (read(Path(folder) / name).points == bags.points).all()
    save(model, Path(folder) / "model")
    assert (load(Path(folder) / "model").transform(bags) == model.transform(bags)).all()
print(f"bagwise {bagwise.__version__} runs with the core dependencies alone")
