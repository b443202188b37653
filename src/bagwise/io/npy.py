"""Arrays in .npz and .npy files: plain numbers, dates and text, never pickled objects."""

import os
import warnings
import zipfile
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bagwise.bags import Bags
from bagwise.columns import same
from bagwise.io.files import Budget, replacing

PIECE = 1 << 24
PLAIN = "biufUSMm"  # kinds of dtype that hold no objects
LONGEST_NAME = 1000
LONGEST_HEADER = 10_000  # what NumPy parses at most


class Header(NamedTuple):
    """What the start of a .npy stream says follows."""

    shape: tuple[int, ...]
    dtype: np.dtype
    order: str
    n_bytes: int


def read_npz(path: Path, budget: Budget, weight: str | None) -> Bags:
    """Bags of an .npz file: points (or X) and offsets; arrays of one entry a bag are its table."""
    with zipfile.ZipFile(path) as archive:
        members = _members(archive)
        headers = {}
        for name, member in members.items():
            with archive.open(member) as stream:
                headers[name] = read_header(name, stream)

        def array(name: str) -> np.ndarray:
            with archive.open(members[name]) as stream:
                return read_array(name, stream, budget)

        points = "points" if "points" in members else "X"
        if points not in members or "offsets" not in members:
            held = ", ".join(f"{name} {header.shape}" for name, header in headers.items())
            raise ValueError(
                f"has no bags: expected arrays points (or X) and offsets, found {held or 'none'}"
            )
        if weight is not None and weight not in members:
            raise ValueError(f"has no array {weight!r} of weights; found {', '.join(members)}")
        weight = weight or ("weights" if "weights" in members else None)
        offsets = array("offsets")
        n_bags = max(len(offsets) - 1, 0) if offsets.ndim else 0
        table = {
            name: array(name)
            for name, header in headers.items()
            if name not in (points, "offsets", "names", weight) and header.shape[:1] == (n_bags,)
        }
        return Bags(
            array(points),
            offsets,
            weights=None if weight is None else array(weight),
            names=array("names") if "names" in members else None,
            table=table,
        )


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    _check_count(archive)
    for info in archive.infolist():
        if not info.filename.endswith(".npy"):
            archive.open(info).close()  # raises where the name before the data is another
            continue
        name = info.filename.removesuffix(".npy")
        if name in members:
            raise ValueError(f"holds two arrays of the name {name!r}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"array {name!r} is packed in a way NumPy does not use")
        members[name] = info
    return members


def _check_count(archive: zipfile.ZipFile) -> None:
    """Refuse a directory that ends early: zipfile does not count what it finds there."""
    archive.fp.seek(-22 - len(archive.comment), os.SEEK_END)
    stated, found = int.from_bytes(archive.fp.read(22)[10:12], "little"), len(archive.infolist())
    if stated not in (found, 0xFFFF):  # 0xFFFF: too many to be stated there
        raise ValueError(f"lists {found} arrays, expected {stated}: its directory is damaged")


class _Start:
    """The start of a stream, of which no header takes more than a header may have."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self.name, self.stream = name, stream

    def read(self, n_bytes: int) -> bytes:
        if n_bytes > LONGEST_HEADER:
            raise ValueError(
                f"array {self.name!r} has a header of {n_bytes:,} bytes, expected at most "
                f"{LONGEST_HEADER:,}"
            )
        return self.stream.read(n_bytes)


def read_header(name: str, stream: BinaryIO) -> Header:
    """The header of a .npy stream, if it speaks of a plain array."""
    start = _Start(name, stream)
    version = np.lib.format.read_magic(start)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"array {name!r} is of .npy version {version}, expected 1.0 or 2.0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers as Python 2 and older NumPy wrote them
        shape, fortran, dtype = readers[version](start)
    if dtype.hasobject:
        raise ValueError(
            f"array {name!r} holds pickled Python objects, which are never loaded; write it as "
            "numbers or plain text"
        )
    if dtype.kind not in PLAIN or not dtype.itemsize:
        raise ValueError(f"array {name!r} is {dtype}, expected numbers, dates or text")
    n_bytes = dtype.itemsize
    for length in shape:
        if length < 0:
            raise ValueError(f"array {name!r} has the shape {shape}")
        n_bytes *= int(length)
    return Header(shape, dtype, "F" if fortran else "C", n_bytes)


def read_array(name: str, stream: BinaryIO, budget: Budget) -> np.ndarray:
    """A whole .npy stream: counted before it is read, read piece by piece, and no byte more."""
    header = read_header(name, stream)
    budget.take(header.n_bytes)
    flat = np.empty(header.n_bytes, np.uint8)
    done = 0
    while done < header.n_bytes:
        read = stream.readinto(memoryview(flat)[done : done + PIECE])
        if not read:
            raise ValueError(f"array {name!r} ends after {done:,} of {header.n_bytes:,} bytes")
        done += read
    if stream.read(1):
        raise ValueError(f"array {name!r} goes on after its {header.n_bytes:,} bytes")
    array = flat.view(header.dtype).reshape(header.shape, order=header.order)
    array = array.astype(header.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and array.size:
        codes = np.ascontiguousarray(array).view(np.uint32)
        if codes.max() > 0x10FFFF:
            raise ValueError(f"array {name!r} holds text with characters that do not exist")
    return array


def arrays_of(bags: Bags) -> dict[str, np.ndarray]:
    """Every part of bags as a plain array, under the name it is written by."""
    arrays = {"points": bags.points, "offsets": bags.offsets}
    arrays |= {} if bags.weights is None else {"weights": bags.weights}
    arrays |= {} if bags.names is None else {"names": bags.names}
    for name, column in bags.table.items():
        check_column_name(name, {"points", "X", "offsets", "weights", "names"})
        arrays[name] = column
    return {name: as_plain(name, array) for name, array in arrays.items()}


def check_column_name(name: Any, reserved: Container[str]) -> None:
    """Refuse the name of a column that a file could not give back."""
    if not isinstance(name, str) or "\0" in name or len(name) > LONGEST_NAME:
        raise ValueError(
            f"the table has a column {str(name)[:60]!r}, expected a name of text, of at most "
            f"{LONGEST_NAME} characters and without NUL"
        )
    if name in reserved:
        raise ValueError(f"the table has a column {name!r}, a name the file keeps for itself")


def as_plain(name: str, array: np.ndarray) -> np.ndarray:
    """The array without Python objects: text as text, if it comes back as it was."""
    if array.dtype.kind in PLAIN:
        return array
    if array.dtype.kind != "O":
        raise ValueError(f"column {name!r} is {array.dtype}, expected numbers, dates or text")
    cells = array.ravel().tolist()
    longest = max((len(cell) for cell in cells if isinstance(cell, str | bytes)), default=0)
    if longest * len(cells) > 1 << 28:
        raise ValueError(
            f"column {name!r} has a text of {longest:,} characters, and an array takes as much for "
            "every cell; write Parquet"
        )
    alike = len({type(cell) for cell in cells}) == 1
    plain = np.asarray(array.tolist()) if alike else np.empty(array.shape, "U1")
    if plain.dtype.kind not in PLAIN or not same(plain, array):
        raise ValueError(
            f"column {name!r} holds Python objects that are not all text or all numbers; write "
            "Parquet, or drop the column"
        )
    return plain


def write_npz(arrays: Mapping[str, np.ndarray], path: str | os.PathLike) -> None:
    """An .npz file of the arrays, uncompressed: the same arrays give the same bytes."""
    with (
        replacing(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                write_array(member, array)


def write_array(file: Any, array: np.ndarray) -> None:
    """A .npy stream of the array."""
    np.lib.format.write_array(file, array, allow_pickle=False)
