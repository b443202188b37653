"""Writers that are killed, fail or meet: the old file or the new one is there, whole."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import count

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from bagwise import Bags, Codebook, load, read, save, write
from bagwise.io import folders

NAMES = ["bags.npz", "bags.parquet", "bags.csv", "folder", "model"]


def draw(seed, name="", n_points=60):
    """Bags, or a model, that differ from those of any other seed."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, 8))
    offsets = np.linspace(0, n_points, 11 + seed).astype(int)
    if name == "model":
        codebook = Codebook(n_points, method="random", random_state=seed)
        return make_pipeline(codebook, Normalizer()).fit([points])
    return Bags(points, offsets, names=[f"bag {seed} {b}" for b in range(10 + seed)])


def put(value, path):
    (write if isinstance(value, Bags) else save)(value, path)


def get(path):
    return load(path) if path.name == "model" else read(path)


def is_same(a, b):
    if isinstance(a, Bags):
        return a == b
    return np.array_equal(a[0].codewords_, b[0].codewords_)


def which(path, versions):
    """The place of what lies at the path among the versions; it is one of them, whole."""
    found = get(path)
    places = [v for v, version in enumerate(versions) if is_same(found, version)]
    assert len(places) == 1
    return places[0]


def listing(path):
    """Every file beside the path and in it."""
    return sorted(str(one.relative_to(path.parent)) for one in path.parent.rglob("*"))


def needs_pyarrow(name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")


# Errors in the middle.


def fail_at(monkeypatch, what, call, error):
    """Let one call of a function of os fail."""
    calls, real = count(), getattr(os, what)

    def failing(*arguments):
        if next(calls) == call:
            raise error
        return real(*arguments)

    monkeypatch.setattr(os, what, failing)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("what", ["fsync", "replace"])
@pytest.mark.parametrize("name", NAMES)
def test_an_error_leaves_the_old_file_or_the_new_and_no_other(
    tmp_path, monkeypatch, name, what, error
):
    needs_pyarrow(name)
    path, versions = tmp_path / name, [draw(0, name), draw(1, name)]
    put(versions[0], path)
    n_files, left = len(listing(path)), []
    for call in count():
        put(versions[0], path)
        with monkeypatch.context() as patch:
            fail_at(patch, what, call, error)
            try:
                put(versions[1], path)
            except type(error):
                left.append(which(path, versions))
            else:
                break
        assert len(listing(path)) == n_files
    assert which(path, versions) == 1
    # The last step makes the new name durable: all before it leave the old file.
    assert left == [0] * (len(left) - (what == "fsync")) + [1] * (what == "fsync")
    assert left


@pytest.mark.parametrize("name", NAMES)
def test_an_error_leaves_nothing_where_nothing_was(tmp_path, monkeypatch, name):
    needs_pyarrow(name)
    fail_at(monkeypatch, "fsync", 0, OSError(errno.ENOSPC, "No space left"))
    with pytest.raises(OSError, match="No space left"):
        put(draw(0, name), tmp_path / name)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []


def test_a_folder_is_swept_of_what_killed_writers_left(tmp_path):
    path = tmp_path / "folder"
    write(draw(0), path)
    good = len(listing(path))
    for name in ("points-0123456789abcdef.npy", ".manifest.json.0123456789abcdef.tmp"):
        (path / name).write_bytes(b"half")
    assert read(path) == draw(0)
    write(draw(1), path)
    assert read(path) == draw(1)
    assert len(listing(path)) == good


# Writers and readers that meet.


@pytest.mark.parametrize("name", NAMES)
def test_two_writers_at_once_leave_one_version_whole(tmp_path, name):
    needs_pyarrow(name)
    path, versions = tmp_path / name, [draw(0, name), draw(1, name)]
    put(versions[0], path)
    n_files = len(listing(path))
    for _ in range(3):
        gate, errors = threading.Barrier(2), []

        def run(version, gate=gate, errors=errors):
            gate.wait()
            try:
                put(version, path)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(version,)) for version in versions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        which(path, versions)
        assert len(listing(path)) == n_files


@pytest.mark.parametrize("name", ["folder", "bags.npz"])
def test_a_reader_sees_one_version_or_the_other(tmp_path, name):
    path, versions = tmp_path / name, [draw(0), draw(1)]
    write(versions[0], path)
    done = threading.Event()

    def replace():
        for turn in range(1, 41):
            write(versions[turn % 2], path)
        done.set()

    writer = threading.Thread(target=replace)
    writer.start()
    seen = []
    while not done.is_set():
        seen.append(which(path, versions))
    writer.join()
    assert len(seen) >= 10
    assert set(seen) == {0, 1}


def test_a_reader_overtaken_by_a_writer_reads_again(tmp_path, monkeypatch):
    path, real, turns = tmp_path / "folder", folders.read_manifest, count()
    write(draw(0), path)

    def overtaken(path):
        manifest = real(path)
        if not next(turns):
            write(draw(1), path)
        return manifest

    monkeypatch.setattr(folders, "read_manifest", overtaken)
    assert read(path) == draw(1)


@pytest.mark.skipif(os.name != "posix", reason="this system keeps files that are mapped")
def test_mapped_points_outlive_the_next_write(tmp_path):
    path = tmp_path / "folder"
    write(draw(0, n_points=100_000), path)
    mapped, old = read(path), listing(path)
    write(draw(1), path)
    assert mapped == draw(0, n_points=100_000)
    assert read(path) == draw(1)
    assert set(old) & set(listing(path)) == {"folder", "folder/manifest.json"}
    assert len(listing(path)) == len(old)


# Killed writers.

# For each line "name version n_points" it forks a writer, says its number, and then how it ended.
# That process starts no threads, which a fork would lose; the disk is made a little slower, so
# that a kill can fall between the last byte and the rename.
WRITERS = """
import os, pathlib, sys, time
sys.path.insert(0, sys.argv[1])
import test_kills

made, sync = {}, os.fsync

def slow_sync(handle):
    time.sleep(0.04)
    sync(handle)

for line in sys.stdin:
    name, version, n_points = line.split()
    if line not in made:
        made[line] = test_kills.draw(int(version), name, int(n_points))
        # So that a fork finds every module loaded.
        test_kills.put(test_kills.draw(0, name), pathlib.Path(sys.argv[2], name))
    print("ready", flush=True)
    child = os.fork()
    if not child:
        os.fsync = slow_sync
        test_kills.put(made[line], pathlib.Path(sys.argv[3], name))
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
SIZES = {
    "bags.npz": 400_000,
    "bags.parquet": 400_000,
    "bags.csv": 20_000,
    "folder": 400_000,
    "model": 50_000,
}


class Writers:
    """A process whose children write a version of a file, one after the other."""

    def __init__(self, spare, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITERS, os.path.dirname(__file__), str(spare), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.communicate()

    def start(self, name, version=1):
        """The number of a new process that writes the version."""
        self.process.stdin.write(f"{name} {version} {SIZES[name]}\n")
        self.process.stdin.flush()
        assert self.hear() == "ready"
        return int(self.hear())

    def hear(self):
        return self.process.stdout.readline().strip()


def find_strays(path):
    """The files that writers have begun or left, but for empty ones."""
    try:
        if path.is_dir():
            held = json.loads((path / "manifest.json").read_text())
            kept = {"manifest.json", *held["arrays"].values(), *held["table"].values()}
            found = [one for one in path.iterdir() if one.name not in kept]
        else:
            found = list(path.parent.glob(f".{path.name}.*.tmp"))
        return [one for one in found if one.stat().st_size]
    except FileNotFoundError:  # renamed as we look
        return find_strays(path)


def wait_for(condition):
    while not condition():
        time.sleep(0.0005)


@pytest.mark.slow
@pytest.mark.guard
@pytest.mark.skipif(os.name != "posix", reason="this system has no kill -9")
def test_thirty_killed_writers_leave_the_old_file_or_the_new(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "spare").mkdir()
    (tmp_path / "here").mkdir()
    rng, n_kills, n_within = np.random.default_rng(0), 0, 0
    with Writers(tmp_path / "spare", tmp_path / "here") as writers:
        for name in NAMES:
            path = tmp_path / "here" / name
            versions = [draw(version, name, SIZES[name]) for version in range(2)]
            put(versions[0], path)
            of_name = 0
            duration = time_write(writers, path, versions)
            for turn in range(12):
                if of_name == 6:
                    break
                child = writers.start(name)
                if turn:  # the first may fall before the first byte
                    wait_for(lambda path=path: find_strays(path))
                time.sleep(rng.uniform(0, 0.8 * duration))
                os.kill(child, signal.SIGKILL)
                of_name += int(writers.hear()) == signal.SIGKILL
                left = which(path, versions)
                strays = find_strays(path)
                n_within += left == 0 and bool(strays)
                put(versions[0], path)
                assert which(path, versions) == 0
                # A folder's next writer takes the rest away; what lies beside a file stays.
                assert find_strays(path) == ([] if path.is_dir() else strays)
                for stray in find_strays(path):
                    stray.unlink()
            n_kills += of_name
    assert n_kills == 30
    assert n_within >= 20


def time_write(writers, path, versions):
    """Seconds from the first byte to the rename, of the quicker of two writers."""
    seconds = []
    for _ in range(2):
        writers.start(path.name)
        wait_for(lambda: find_strays(path))
        start = time.perf_counter()
        wait_for(lambda: not find_strays(path))
        seconds.append(time.perf_counter() - start)
        assert int(writers.hear()) == 0
        assert which(path, versions) == 1
        put(versions[0], path)
    return min(seconds)


@pytest.mark.slow
@pytest.mark.guard
@pytest.mark.skipif(os.name != "posix", reason="this system does not fork")
@pytest.mark.parametrize("name", ["folder", "bags.npz"])
def test_two_processes_at_once_leave_one_version_whole(tmp_path, name):
    (tmp_path / "spare").mkdir()
    (tmp_path / "here").mkdir()
    path = tmp_path / "here" / name
    versions = [draw(version, name, SIZES[name]) for version in range(3)]
    put(versions[0], path)
    spare, here = tmp_path / "spare", tmp_path / "here"
    with Writers(spare, here) as first, Writers(spare, here) as second:
        for _ in range(5):
            first.start(name, 1)
            second.start(name, 2)
            assert (first.hear(), second.hear()) == ("0", "0")
            assert which(path, versions) in (1, 2)
            assert find_strays(path) == []
