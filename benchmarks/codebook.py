"""Codebook.transform beside its rivals: ``make bench`` (``ARGS=--toy`` for a small size).

One thread, one run, the same codewords: KMeans.predict and bincount of scikit-learn on float64 and
float32 points (the latter inexact), and faiss's flat index where it is installed.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
from sklearn.cluster import KMeans

from bagwise import Bags, Codebook

RESULTS = Path(__file__).parent / "results"


def seconds(calls, repeats):
    """The least time of each call; they take turns, so that a busy machine slows all alike."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            began = perf_counter()
            call()
            least[name] = min(least[name], perf_counter() - began)
    return least


def draw(kind, n_bags, n_points, n_features, n_codewords):
    """Ragged bags of points in clusters, or without any structure."""
    rng = np.random.default_rng(0)
    sizes = 1 + rng.multinomial(n_points - n_bags, rng.dirichlet(np.ones(n_bags)))
    points = rng.normal(size=(n_points, n_features))
    if kind == "clustered":
        centers = 4.0 * rng.normal(size=(n_codewords, n_features))
        points += centers[rng.integers(n_codewords, size=n_points)]
    return Bags(points, np.append(0, np.cumsum(sizes)))


def rival(bags, codewords):
    """KMeans of scikit-learn, then one bincount."""
    n_codewords = len(codewords)
    kmeans = KMeans(n_codewords, init=codewords, n_init=1, max_iter=1).fit(codewords)
    kmeans.cluster_centers_ = codewords.astype(bags.points.dtype)
    bag_of_point = np.repeat(np.arange(len(bags)), bags.sizes)

    def count():
        places = bag_of_point * n_codewords + kmeans.predict(bags.points)
        counts = np.bincount(places, minlength=len(bags) * n_codewords)
        return counts.reshape(len(bags), n_codewords).astype(np.float64)

    return count


def faiss_flat(bags, codewords):
    """faiss's exhaustive index, then one bincount; None where it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(codewords.shape[1])
    index.add(codewords.astype(np.float32))
    bag_of_point = np.repeat(np.arange(len(bags)), bags.sizes)

    def count():
        labels = index.search(bags.points.astype(np.float32, copy=False), 1)[1][:, 0]
        places = bag_of_point * len(codewords) + labels
        counts = np.bincount(places, minlength=len(bags) * len(codewords))
        return counts.reshape(len(bags), len(codewords)).astype(np.float64)

    return count


def growth(call):
    """How far the resident set rises during a call, in MiB, watched every millisecond."""
    page, peak, done = os.sysconf("SC_PAGE_SIZE"), [0], threading.Event()

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * page

    start = resident()

    def watch():
        while not done.is_set():
            peak[0] = max(peak[0], resident() - start)
            sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    call()
    done.set()
    watcher.join()
    return max(peak[0], resident() - start) / 2**20


def compare(kind, dtype, size, repeats):
    """One row: ours and the rivals on the same bags and codewords."""
    bags = draw(kind, *size)
    n_codewords = size[-1]
    model = Codebook(n_codewords, method="random", random_state=0).fit(bags[: len(bags) // 10])
    bags = Bags(bags.points.astype(dtype), bags.offsets)
    began = perf_counter()
    counts = model.transform(bags)
    first = perf_counter() - began
    row = {"data": kind, "points": np.dtype(dtype).name, "first_call_s": first}
    rise = growth(lambda: model.transform(bags)) - counts.nbytes / 2**20
    calls = {"bagwise": lambda: model.transform(bags), "kmeans": rival(bags, model.codewords_)}
    flat = faiss_flat(bags, model.codewords_)
    calls |= {} if flat is None else {"faiss": flat}
    row |= {f"{name}_s": least for name, least in seconds(calls, repeats).items()}
    for name in list(calls)[1:]:
        row[f"{name}_counts_that_differ"] = int((calls[name]() != counts).sum())
    row["times_kmeans"] = row["kmeans_s"] / row["bagwise_s"]
    row["memory_above_counts_mib"] = max(0.0, rise)
    return row


MAPPED = """
import sys
from pathlib import Path
import numpy as np
from bagwise import Codebook, read
def peak(): return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
bags = read(sys.argv[1])
model = Codebook(256, method="random", random_state=0).fit(bags[:100])
model.transform(bags[:100])
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
start = peak()
counts = model.transform(bags)
print(peak() - start, counts.sum())
"""

COMPILED = """
import numpy as np
from bagwise import Codebook
points = np.random.default_rng(0).normal(size=(1000, 8))
model = Codebook(8, init=points[:8]).fit(points)
model.transform(points)
model.transform(points.astype(np.float32))
"""


def map_large(n_bytes, n_features=32):
    """Peak resident set above its start, mapped pages included, of a file that is mapped."""
    n_points = n_bytes // (4 * n_features)
    offsets = np.linspace(0, n_points, 20001).astype(np.int64)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        from bagwise.io.folders import write_folder

        points = np.lib.format.open_memmap(
            Path(folder) / "draft.npy", "w+", np.float32, (n_points, n_features)
        )
        rng = np.random.default_rng(0)
        for start in range(0, n_points, 1 << 18):
            block = points[start : start + (1 << 18)]
            block[:] = rng.standard_normal(block.shape, np.float32)
        write_folder(Bags(points, offsets), Path(folder) / "bags")
        began = perf_counter()
        child = subprocess.run(
            [sys.executable, "-c", MAPPED, str(Path(folder) / "bags")],
            capture_output=True,
            text=True,
            check=True,
        )
    peak, total = map(float, child.stdout.split())
    assert total == n_points
    return {"file_bytes": n_bytes, "peak_above_start_mib": peak, "seconds": perf_counter() - began}


def compile_afresh():
    """Seconds of the first fit and transforms of a process without compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        began = perf_counter()
        subprocess.run(
            [sys.executable, "-c", COMPILED], env=environment, check=True, capture_output=True
        )
        cold = perf_counter() - began
        began = perf_counter()
        subprocess.run(
            [sys.executable, "-c", COMPILED], env=environment, check=True, capture_output=True
        )
    return {"process_without_cache_s": cold, "process_with_cache_s": perf_counter() - began}


def commit():
    """The commit that was measured."""
    call = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(call, capture_output=True, text=True, check=False).stdout.strip()


def report(name, what, toy, **parts):
    """Print all rows; write them to ``results/`` with machine and commit unless they are toys."""
    for part in parts.values():
        for row in part if isinstance(part, list) else [part]:
            print(row)
    if toy:
        return
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    found = {"what": what, "machine": machine, "python": platform.python_version()}
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({**found, "commit": commit(), **parts}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")


def main():
    """Measure, print, and write ``results/codebook.json`` (not for toy sizes)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true", help="small sizes; writes nothing")
    toy = parser.parse_args().toy
    size = (500, 20_000, 8, 32) if toy else (20_000, 1_000_000, 32, 256)
    rows = [
        compare(kind, dtype, size, 3 if toy else 12)
        for kind in ("clustered", "structureless")
        for dtype in (np.float64, np.float32)
    ]
    mapped = map_large(1 << 26 if toy else 4 << 30)
    compiled = compile_afresh()
    what = "Codebook.transform, one thread; size is (bags, points, features, words)"
    report("codebook", what, toy, size=size, rows=rows, mapped=mapped, compilation=compiled)


if __name__ == "__main__":
    main()
