"""Bags as a folder of .npy files, opened memory-mapped."""

import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.io.files import Budget, replacing, sync_folder
from bagwise.io.npy import arrays_of, read_array, read_header, write_array

FORMAT, VERSION = "bagwise bags", 1
OURS = re.compile(r"(points|offsets|weights|names|table)-[0-9a-f]{16}\.npy")
MANIFEST = "manifest.json"


def read_folder(path: Path, budget: Budget) -> Bags:
    """Bags of a folder; points and weights stay on disk and are read where they are used."""
    for _ in range(10):
        try:
            return _read(path, copy(budget))
        except FileNotFoundError:
            continue  # replaced by a writer since its manifest was read
    raise ValueError(f"{MANIFEST} names files that are not there")


def _read(path: Path, budget: Budget) -> Bags:
    manifest = read_manifest(path)
    parts = {name: _open(path, entry, budget) for name, entry in manifest["arrays"].items()}
    table = {name: _open(path, entry, budget) for name, entry in manifest["table"].items()}
    return Bags(parts.pop("points"), parts.pop("offsets"), **parts, table=table)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest, with every entry of the kind it should be."""
    file = path / MANIFEST
    if not file.exists():
        raise ValueError(f"is a folder without a {MANIFEST}, so not one of bags")
    if file.stat().st_size > 1 << 24:
        raise ValueError(f"{MANIFEST} is larger than 16 MiB")
    manifest = json.loads(file.read_bytes())
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{MANIFEST} is not one of bags")
    if manifest.get("version") != VERSION:
        raise ValueError(
            f"is of format version {manifest.get('version')!r}, this bagwise reads {VERSION}; "
            "update bagwise"
        )
    arrays, table = manifest.get("arrays"), manifest.get("table")
    if not isinstance(arrays, dict) or not isinstance(table, dict):
        raise ValueError(f"{MANIFEST} lists no arrays")
    if not {"points", "offsets"} <= set(arrays) <= {"points", "offsets", "weights", "names"}:
        raise ValueError(f"{MANIFEST} lists the arrays {sorted(arrays)}")
    for entry in [*arrays.values(), *table.values()]:
        if not isinstance(entry, str) or not OURS.fullmatch(entry):
            raise ValueError(f"{MANIFEST} names a file {entry!r}, which is none of ours")
    return manifest


def _open(path: Path, name: str, budget: Budget) -> np.ndarray:
    if not stat.S_ISREG((path / name).stat().st_mode):  # a pipe would be waited for
        raise ValueError(f"{name} is no file")
    with open(path / name, "rb") as file:
        header = read_header(name, file)
        size, start = os.fstat(file.fileno()).st_size, file.tell()
        if size != start + header.n_bytes:
            raise ValueError(f"{name} has {size:,} bytes, expected {start + header.n_bytes:,}")
        if not name.startswith(("points", "weights")) or not header.n_bytes:
            file.seek(0)
            return read_array(name, file, budget)
        if not header.dtype.isnative:
            raise ValueError(f"{name} is {header.dtype}, expected the byte order of this machine")
        return np.memmap(file, header.dtype, "r", start, shape=header.shape, order=header.order)


def write_folder(bags: Bags, path: Path) -> None:
    """Data under fresh names, then the manifest in one step, then the old data go.

    A file that some process still maps, where a system keeps such files, goes at the next write.
    """
    arrays = arrays_of(bags)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} in")
    path.mkdir(exist_ok=True)
    with _only_writer(path):
        strange = [one.name for one in path.iterdir() if not _is_ours(one.name)]
        if strange:
            raise ValueError(
                f"{path} holds other files ({strange[0]}), expected a new folder or one of bags"
            )
        manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "arrays": {}, "table": {}}
        try:
            for name, array in arrays.items():
                kind = "table" if name in bags.table else name
                fresh = f"{kind}-{secrets.token_hex(8)}.npy"
                manifest["table" if kind == "table" else "arrays"][name] = fresh
                with open(path / fresh, "xb") as file:
                    write_array(file, array)
                    file.flush()
                    os.fsync(file.fileno())
            sync_folder(path)
            with replacing(path / MANIFEST) as file:
                file.write(json.dumps(manifest, indent=1).encode())
        finally:
            _sweep(path)


def _is_ours(name: str) -> bool:
    draft = name.startswith(f".{MANIFEST}.") and name.endswith(".tmp")
    return name == MANIFEST or draft or OURS.fullmatch(name) is not None


def _sweep(path: Path) -> None:
    """Remove the files of ours that the manifest on disk does not name."""
    kept = {MANIFEST}
    if (path / MANIFEST).exists():
        manifest = read_manifest(path)
        kept |= {*manifest["arrays"].values(), *manifest["table"].values()}
    for file in path.iterdir():
        if file.name not in kept and _is_ours(file.name):
            with suppress(PermissionError):  # still mapped
                file.unlink()


@contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Let one process write the folder at a time, where the system can lock one."""
    if os.name != "posix":
        yield
        return
    import fcntl

    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
