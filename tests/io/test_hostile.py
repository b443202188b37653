"""Hostile files: a good file of our own with one thing changed ends in one sentence."""

import io
import json
import os
import re
import subprocess
import sys
import tracemalloc
import zipfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import write_array

import bagwise
from bagwise import Bags, read, read_table, write

LIMIT, MORE = 64 << 20, "would take more than 67,108,864 bytes of memory"
PARQUET = ["bags.parquet", "points.parquet", "table.parquet"]
PACKAGE = Path(bagwise.__file__).parent


# The good files.


@lru_cache
def good_bags(seed=0, n_bags=12):
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *rng.integers(1, 7, n_bags)])
    return Bags(
        rng.normal(size=(offsets[-1], 3)),
        offsets,
        weights=rng.random(offsets[-1]),
        names=[f"bag {b} ä" for b in range(n_bags)],
        table={"label": [f"is {b % 3}" for b in range(n_bags)], "age": np.arange(n_bags)},
    )


def good_columns():
    """The same bags with one row a point."""
    bags = good_bags()
    columns = {"bag": np.repeat(bags.names, bags.sizes).tolist()}
    columns |= {f"feature_{f}": bags.points[:, f] for f in range(3)}
    columns |= {"point_weight": bags.weights}
    table = {name: np.repeat(column, bags.sizes) for name, column in bags.table.items()}
    return columns | {name: column.tolist() for name, column in table.items()}


def good_table(n_rows=20):
    return {"text": [f"text {i} ä" for i in range(n_rows)], "n": list(range(n_rows))}


def write_good(path):
    bags, name = good_bags(), path.name
    if name in ("bags.npz", "bags.parquet", "folder"):
        write(bags, path)
    elif name == "packed.npz":
        write(bags, path)
        members(lambda content: None, zipfile.ZIP_DEFLATED)(path)
    elif name == "bare":  # no table: its column names are no name of ours, and have no checksum
        write(Bags(bags.points, bags.offsets, weights=bags.weights, names=bags.names), path)
    elif name == "points.csv":
        write(bags, path)
    elif name == "points.parquet":
        write_rows(good_columns(), path)
    elif name == "table.parquet":
        write_rows(good_table(), path)
    elif name == "table.csv":
        rows = zip(*good_table().values(), strict=True)
        path.write_text("text,n\n" + "".join(f"{a},{b}\n" for a, b in rows), encoding="utf-8")
    else:
        texts = ({"text": a, "n": b} for a, b in zip(*good_table().values(), strict=True))
        lines = (json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
        path.write_text("".join(lines), encoding="utf-8")


def write_rows(columns, path, **how):
    import pyarrow as pa
    import pyarrow.parquet

    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pa.parquet.write_table(table, path, compression="zstd", write_page_checksum=True, **how)


@lru_cache
def good_bytes(name):
    """What lies under the name, made once: one file, or the files of a folder."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_good(Path(folder) / name)
        made = Path(folder) / name
        if made.is_dir():
            return {one.name: one.read_bytes() for one in made.iterdir()}
        return made.read_bytes()


def put_good(path):
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    content = good_bytes(path.name)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.mkdir(exist_ok=True)
        for name, data in content.items():
            (path / name).write_bytes(data)
    return path


def read_any(path, max_bytes=LIMIT):
    if path.name.startswith("table"):
        return read_table(path, max_bytes=max_bytes)
    weighted = path.suffix in (".csv", ".parquet") and path.name.startswith("points")
    return read(path, weight="point_weight" if weighted else None, max_bytes=max_bytes)


def is_good(path, found):
    if path.name.startswith("table"):
        return {name: column.tolist() for name, column in found.items()} == good_table()
    bags = good_bags()
    if path.name == "bare":
        bags = Bags(bags.points, bags.offsets, weights=bags.weights, names=bags.names)
    return found == bags


def find_faults(path, error):
    """What is wrong with a refusal: its type, its words, or where it was raised."""
    text, faults = str(error), []
    if type(error) is not ValueError:
        faults.append(f"is a {type(error).__name__}")
    if not text.startswith(f"{path}: "):
        faults.append("does not name the file first")
    if "\n" in text or len(text) - len(str(path)) > 500:
        faults.append("is no sentence of one line")
    frame = error.__traceback__
    while frame.tb_next:
        frame = frame.tb_next
    if not Path(frame.tb_frame.f_code.co_filename).is_relative_to(PACKAGE):
        faults.append(f"was raised in {frame.tb_frame.f_code.co_filename}")
    if error.__cause__ is not None or not error.__suppress_context__:
        faults.append("shows the error below it")
    return faults


# One thing changed: each of these makes a function that changes the good file in its place.


def data(change):
    """Of the bytes of a file."""
    return lambda path: path.write_bytes(change(path.read_bytes()))


def swap(old, new):
    """Of one place in a file."""
    old, new = (one.encode() if isinstance(one, str) else one for one in (old, new))

    def change(content):
        assert old in content
        return content.replace(old, new, 1)

    return data(change)


def npy(array, **how):
    file = io.BytesIO()
    write_array(file, np.asarray(array), **how)
    return file.getvalue()


def pickled(_):
    return npy(np.array([{}, print] * 6, dtype=object), allow_pickle=True)


def stream(header, body=b"", version=1):
    """A .npy stream of any header."""
    text = (header if isinstance(header, str) else repr(header)).encode()
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


def head(shape, descr="<f8", fortran_order=False):
    return {"descr": descr, "fortran_order": fortran_order, "shape": shape}


def as_python_2_wrote(points):
    n_points, n_features = points.shape
    header = repr(head((n_points, n_features))).replace(f"({n_points}, ", f"({n_points}L, ")
    return stream(header, points.tobytes())


def put(place, value):
    """A function that puts a value in one place of a list or array."""

    def change(values):
        values = values.copy()
        values[place] = value
        return values

    return change


def members(change, packing=zipfile.ZIP_STORED):
    """Of the arrays of an .npz file."""

    def change_file(path):
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        change(content)
        with zipfile.ZipFile(path, "w", packing, compresslevel=1) as archive:
            for name, data in content.items():
                archive.writestr(name, data)

    return change_file


def array(name, new):
    """Of one array of an .npz file or folder: an array, a stream, or a function of the good one."""

    def change(content):
        made = new(np.load(io.BytesIO(content))) if callable(new) else new
        return made if isinstance(made, bytes) else npy(made)

    def change_file(path):
        if path.is_dir():
            content = json.loads((path / "manifest.json").read_text())
            data(change)(path / (content["arrays"] | content["table"])[name])
        else:
            members(lambda held: held.update({f"{name}.npy": change(held[f"{name}.npy"])}))(path)

    return change_file


def manifest(change):
    """Of a folder's manifest: a function of it, or other bytes."""

    def change_file(path):
        file = path / "manifest.json"
        if isinstance(change, bytes):
            file.write_bytes(change)
        else:
            file.write_text(json.dumps(change(json.loads(file.read_text()))))

    return change_file


def instead(name, make):
    """Something else in the place of a file of a folder."""

    def change(path):
        content = json.loads((path / "manifest.json").read_text())
        file = path / (content["arrays"] | content["table"])[name]
        file.unlink()
        make(file)

    return change


def entry(of, **entries):
    return manifest(lambda content: content | {of: content[of] | entries})


def directory(place, value, width, member=-1):
    """Of one number in the directory of a zip file, ``place`` bytes after a member's start."""

    def change(content):
        content = bytearray(content)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            sizes = [46 + len(info.orig_filename) + len(info.extra) for info in archive.infolist()]
            at = archive.start_dir + sum(sizes[:member]) + place
        new = value(int.from_bytes(content[at : at + width], "little"))
        content[at : at + width] = new.to_bytes(width, "little")
        return bytes(content)

    return data(change)


def rows(**columns):
    """Of columns of a Parquet file: a function of the cells as a list, or None to drop one."""

    def change(path):
        import pyarrow as pa
        import pyarrow.parquet

        table = pa.parquet.read_table(path)
        for name, make in columns.items():
            cells = table[name].to_pylist()
            table = table.drop_columns([name])
            if make is not None:
                table = table.append_column(name, pa.array(make(cells)))
        write_rows(table, path)

    return change


def first(make):
    """A function of lists that changes the first of them."""
    return lambda cells: [make(cells[0]), *cells[1:]]


def required(name):
    """A Parquet schema that forbids the missing values that its statistics count."""
    mark = b"\x18" + bytes([len(name)]) + name
    return swap(b"%\2" + mark, b"%\0" + mark)


def line(number, text):
    """Of one line of a file of text; a long one is made when it is needed."""

    def change(content):
        new = text() if callable(text) else text
        return b"\n".join(put(number, new.encode())(content.split(b"\n")))

    return data(change)


def cell(row, column, value):
    """Of one cell of a CSV file without quotes."""

    def change(content):
        lines = content.split(b"\r\n")
        new = value() if callable(value) else value
        lines[row] = b",".join(put(column, new.encode())(lines[row].split(b",")))
        return b"\r\n".join(lines)

    return data(change)


# What is changed, and what the refusal says: first of arrays, in an .npz file and in a folder.

ARRAYS = [
    ("points", pickled, "holds pickled Python objects"),
    ("offsets", pickled, "holds pickled Python objects"),
    ("names", pickled, "holds pickled Python objects"),
    ("label", pickled, "holds pickled Python objects"),
    ("age", stream(head((12,), [("a", "O")])), "holds pickled Python objects"),
    ("age", np.zeros(12, "f8,i8"), "expected numbers, dates or text"),
    ("age", np.zeros(12, "V8"), "expected numbers, dates or text"),
    ("age", stream(head((12,), "<q9")), "descr is not a valid dtype"),
    ("age", stream(head((12,), None)), "descr is not a valid dtype"),
    ("label", stream(head((12, 1 << 40), "<U0")), "is <U0, expected numbers, dates or text"),
    ("label", stream(head((12, 1 << 40), "|S0")), "is .S0, expected numbers, dates or text"),
    ("label", stream(head((12,), "<U1"), b"\xff" * 48), "characters that do not exist"),
    ("names", lambda names: names[1:], "names"),
    ("points", lambda points: points + 1j, "is complex128, expected numbers"),
    ("points", lambda points: points.astype("U"), "points are <U32, expected numbers"),
    ("points", lambda points: points.astype("M8[s]"), "points are datetime64"),
    ("points", np.ravel, "points have shape"),
    ("points", lambda points: points[:, :, None], "points have shape"),
    ("points", lambda points: points[:, :0], "0 feature"),
    ("points", lambda points: points[:-1], "offsets run from 0 to"),
    ("offsets", put(3, 0), "offsets fall from"),
    ("offsets", put(3, 1 << 40), "offsets fall from 1099511627776"),
    ("offsets", put(-1, 1 << 40), "offsets run from 0 to 1099511627776"),
    ("offsets", lambda offsets: offsets[:-1], "offsets run from 0 to"),
    ("offsets", put(0, 1), "offsets run from 1 to"),
    ("offsets", put(1, -5), "offsets fall from 0 to -5 at bag 0"),
    ("offsets", lambda offsets: put(3, offsets[2])(offsets), "bag 2 is empty, expected 1 or more"),
    ("offsets", lambda offsets: put(6, 1 - 2**31)(offsets.astype("i4")), "offsets fall from"),
    ("offsets", lambda offsets: put(6, 2**32 - 1)(offsets.astype("u4")), "fall from 4294967295"),
    (
        "offsets",
        lambda offsets: put(6, 2**64 - 1)(offsets.astype("u8")),
        "from 18446744073709551615",
    ),
    ("offsets", lambda offsets: (100 * offsets).astype("i1"), "offsets (run|fall) from"),
    (
        "offsets",
        lambda offsets: offsets + 0.5,
        "of float64, expected .n_bags . 1,. of whole numbers",
    ),
    ("offsets", lambda offsets: offsets > 0, "of bool, expected .n_bags . 1,. of whole numbers"),
    ("offsets", lambda offsets: offsets.astype("U"), "expected .n_bags . 1,. of whole numbers"),
    ("offsets", lambda offsets: offsets[:, None], "offsets have shape .13, 1."),
    ("offsets", np.array(0), "offsets have shape .. of int64"),
    ("offsets", np.zeros(0, int), "offsets have shape .0,. of int64"),
    ("weights", lambda weights: weights[1:], "weights have shape"),
    ("weights", lambda weights: weights.astype("U"), "weights have shape"),
    ("points", lambda points: b"\x94" + npy(points)[1:], "magic string"),
    ("points", b"", "EOF: reading magic string"),
    ("points", stream(head((3,)), version=3), "is of .npy version .3, 0., expected 1.0 or 2.0"),
    ("points", lambda points: npy(points)[:40], "EOF: reading array header"),
    ("points", b"\x93NUMPY\2\0\xff\xff\xff\xff", "has a header of 4,294,967,295 bytes"),
    ("points", stream(" " * 60_000), "has a header of 60,000 bytes, expected at most 10,000"),
    ("points", stream("[1, 2]"), "Header is not a dictionary"),
    ("points", stream({"descr": "<f8"}), "Header does not contain"),
    ("points", stream("__import__('os').system('false')"), "malformed node"),
    ("points", stream("((("), "is cut, damaged or of another format"),
    ("points", stream("'''"), "is cut, damaged or of another format"),
    ("points", stream("(" * 9000), "is cut, damaged or of another format"),
    ("points", stream("-" * 9000 + "1"), "does not fit in memory|is cut, damaged"),
    ("points", stream("[\n]\n  x\n y\n"), "is cut, damaged or of another format"),
    ("points", stream("\0" * 100), "Cannot parse header|null bytes"),
    ("points", stream(head((-2, 3))), "has the shape .-2, 3."),
    ("points", stream(head((-2, -3))), "has the shape .-2, -3."),
    ("points", stream(head((2.5,))), "shape is not valid"),
    ("points", stream(head((1 << 40, 1 << 40))), "would take more than|bytes, expected"),
    ("age", stream(head((12, 1 << 70, 0))), "Maximum allowed dimension exceeded|age"),
    ("age", stream(head((12, *[1] * 64)), bytes(96)), "maximum supported dimension|ndim"),
    ("points", stream(head((3,), fortran_order=3)), "fortran_order is not a valid bool"),
    ("points", lambda points: npy(points)[:-1], "ends after|bytes, expected"),
    ("points", lambda points: npy(points) + b"\0", "goes on after|bytes, expected"),
]
NPZ = [
    (array("points", put((5, 1), np.nan)), "bag 0 has NaN in feature 1 of point 5"),
    (array("points", put((0, 2), -np.inf)), "bag 0 has infinity in feature 2 of point 0"),
    (array("points", put((0, 0), 1e200)), "bag 0 has 1e.200 in feature 0"),
    (array("points", put(np.s_[:, 1], np.nan)), "bag 0 has NaN in feature 1"),
    (array("weights", put(4, -1.0)), "point 4 has weight -1, expected"),
    (array("weights", put(4, np.nan)), "point 4 has weight NaN, expected"),
    (array("weights", put(4, np.inf)), "point 4 has weight infinity, expected"),
    (members(lambda held: held.pop("points.npy")), "has no bags: expected arrays points"),
    (members(lambda held: held.pop("offsets.npy")), "has no bags: expected arrays points"),
    (members(lambda held: None, zipfile.ZIP_BZIP2), "is packed in a way NumPy does not use"),
    (members(lambda held: None, zipfile.ZIP_LZMA), "is packed in a way NumPy does not use"),
    (directory(8, lambda flags: flags | 1, 2), "is encrypted"),
    (directory(10, lambda packing: 77, 2), "is packed in a way NumPy does not use"),
    (directory(16, lambda crc: crc ^ 1, 4, 0), "Bad CRC-32"),
    (directory(20, lambda n_bytes: n_bytes - 8, 4, 0), "is cut, damaged or of another|Bad CRC"),
    (directory(24, lambda n_bytes: n_bytes - 8, 4, 0), "Bad CRC-32"),
    (directory(28, lambda length: length - 1, 2), "is cut, damaged or of another format"),
    (directory(28, lambda length: length + 256, 2, 1), "lists 2 arrays, expected 6"),
    (directory(32, lambda length: 512, 2, 2), "lists 3 arrays, expected 6"),
    (directory(42, lambda place: 1 << 30, 4), "is cut, damaged or of another format"),
    (directory(42, lambda place: place + 4, 4), "is cut, damaged or of another format"),
    (directory(46, lambda letter: letter ^ 1, 1), "is cut, damaged or of another format"),
    (directory(52, lambda letter: letter ^ 1, 1, 2), "is cut, damaged or of another format"),
    (data(lambda content: content.replace(b"weights", b"offsets")), "two arrays of the name 'off"),
]
FOLDER = [
    (lambda path: (path / "manifest.json").unlink(), "is a folder without a manifest.json"),
    (manifest(b""), "Expecting value"),
    (manifest(b'{"format": "bagwise ba'), "Unterminated string"),
    (manifest(b"{}{}"), "Extra data"),
    (manifest(b"\xff\xfe\xfa"), "is not UTF-8"),
    (manifest(b"[]"), "manifest.json is not one of bags"),
    (manifest(b"[" * 100_000), "is cut, damaged or of another format"),
    (manifest(b" " * (17 << 20)), "manifest.json is larger than 16 MiB"),
    (manifest(lambda content: content | {"format": "x"}), "manifest.json is not one of bags"),
    (manifest(lambda content: content | {"version": 2}), "version 2, this bagwise reads 1; update"),
    (manifest(lambda content: content | {"version": "1"}), "is of format version '1'"),
    (manifest(lambda content: content | {"arrays": None}), "manifest.json lists no arrays"),
    (manifest(lambda content: content | {"arrays": ["points"]}), "manifest.json lists no arrays"),
    (manifest(lambda content: content | {"arrays": {}}), "manifest.json lists the arrays"),
    (manifest(lambda content: content | {"table": 1}), "manifest.json lists no arrays"),
    (entry("arrays", more="points-0123456789abcdef.npy"), "manifest.json lists the arrays"),
    (entry("arrays", points="../../etc/passwd"), "'../../etc/passwd', which is none of ours"),
    (entry("arrays", points="/etc/passwd"), "'/etc/passwd', which is none of ours"),
    (entry("table", age="../table-0123456789abcdef.npy"), "which is none of ours"),
    (entry("table", age="table-0123456789abcdef.npy\n"), "which is none of ours"),
    (entry("table", age="manifest.json"), "names a file 'manifest.json', which is none of ours"),
    (entry("arrays", points=3), "names a file 3, which is none of ours"),
    (entry("table", age=["a"]), "which is none of ours"),
    (entry("arrays", points="points-0123456789abcdef.npy"), "names files that are not there"),
    (instead("points", Path.mkdir), "is no file"),
    (instead("age", getattr(os, "mkfifo", Path.mkdir)), "is no file"),
    (manifest(lambda held: held | {"table": {"age": held["arrays"]["points"]}}), "age"),
    (array("age", lambda ages: ages[1:]), "age"),
    (array("points", lambda points: points.astype(">f8")), "the byte order of this machine"),
    (array("weights", lambda weights: weights.astype(">f8")), "the byte order of this machine"),
]
BAGS = [
    (rows(points=put(3, None)), "column 'points' has no list in some rows; fill them or drop them"),
    (rows(points=first(lambda bag: [])), "have lists of unequal lengths"),
    (rows(points=first(put(0, [np.nan] * 3))), "bag 0 has NaN in feature 0 of point 0"),
    (rows(points=first(put(0, [1.0, None, 2.0]))), "bag 0 has NaN in feature 1 of point 0"),
    (rows(points=first(put(0, [np.inf] * 3))), "bag 0 has infinity in feature 0"),
    (rows(points=first(put(0, None))), "column 'points' has points of unequal numbers of features"),
    (rows(points=first(put(0, [1.0]))), "column 'points' has points of unequal numbers"),
    (rows(points=lambda bags: [[[] for _ in bag] for bag in bags]), "holds no lists of numbers"),
    (rows(points=lambda bags: [[["a"]] for bag in bags]), "holds no lists of numbers; name the"),
    (rows(points=lambda bags: [[bag] for bag in bags]), "lists in lists in lists, expected points"),
    (rows(points=lambda bags: range(len(bags))), "column 'points' holds no lists of numbers"),
    (rows(weights=first(lambda bag: [*bag, 1.0])), "have lists of unequal lengths; name those"),
    (rows(weights=first(put(0, -1.0))), "point 0 has weight -1, expected"),
    (rows(weights=first(put(0, None))), "point 0 has weight NaN, expected"),
    (rows(bag=put(3, None)), "row 3 has no bag; fill it or drop the row"),
    (rows(bag=put(3, "")), "row 3 has no bag; fill it or drop the row"),
    (required(b"bag"), "is cut, damaged or of another format"),
    (data(lambda content: content[:-1] + b"2"), "magic bytes|is cut"),
    (data(lambda content: content[:-1] + b"E"), "encrypt|magic bytes|is cut"),
    (data(lambda content: content[:-8] + b"\xff\xff\xff\x7fPAR1"), "footer|is cut"),
    (data(lambda content: content[:-8] + b"\0\0\0\0PAR1"), "is cut"),
    (data(lambda content: content[:-8] + b"\1\0\0\0PAR1"), "is cut"),
    (data(lambda content: content[:-308] + bytes(300) + content[-8:]), ": "),
    (data(lambda content: content[:4] + bytes(600) + content[604:]), ": "),
]
POINTS = [
    (rows(bag=None), "bag is 'bag', but there is no such column; found 'feature_0'"),
    (rows(bag=put(7, None)), "row 7 has no bag; fill it or drop the row"),
    (rows(bag=lambda cells: [np.nan] * len(cells)), "row 0 has no bag; fill it or drop the row"),
    (rows(feature_1=put(7, np.nan)), "has NaN in feature 1"),
    (rows(feature_1=put(7, None)), "has NaN in feature 1"),
    (rows(feature_1=put(7, np.inf)), "has infinity in feature 1"),
    (rows(feature_1=lambda cells: [np.nan] * len(cells)), "bag 0 has NaN in feature 1 of point 0"),
    (rows(feature_1=lambda cells: ["a"] * len(cells)), "column 'feature_1' has 'a' in row 0"),
    (rows(feature_1=lambda cells: np.zeros(len(cells), "M8[s]")), "column 'feature_1' has"),
    (rows(point_weight=put(7, -1.0)), "point 7 has weight -1, expected"),
    (rows(point_weight=put(7, np.nan)), "point 7 has weight NaN, expected"),
    (rows(point_weight=lambda cells: ["a"] * len(cells)), "column 'point_weight' has 'a' in row 0"),
    (rows(point_weight=None), "weight is 'point_weight', but there is no such column"),
]
NUMBERS = [
    "nan",
    "",
    "inf",
    "1e400",
    "1_000",
    " 1",
    "+1",
    "007",
    "0x10",
    "1,5",
    "\u0663",
    "\u22121",
]
CSV = [
    *((cell(3, 2, f'"{number}"'), "column 'feature_1' has '.*' in row") for number in NUMBERS),
    (cell(3, 2, "9" * 2000), "column 'feature_1' has '.*' in row [0-9]+, expected a number"),
    (cell(3, 2, "1e200"), "has 1e.200 in feature 1"),
    (cell(3, 2, "1,5"), "line 4 has 8 cells, expected 7"),
    (cell(3, 2, '"1"x"'), "line 4 is not CSV: ',' expected after"),
    (cell(3, 4, "-1"), "point 2 has weight -1, expected"),
    (cell(3, 4, "heavy"), "column 'point_weight' has '.*' in row [0-9]+, expected a number"),
    (cell(3, 0, ""), "row 2 has no bag; fill it or drop the row"),
    (cell(3, 6, '1,"'), "is not CSV: unexpected end of data|cells, expected 7"),
    (line(3, "a,1,2\r"), "line 4 has 3 cells, expected 7"),
    (data(lambda content: content[:-20].rsplit(b",", 1)[0]), "cells, expected 7"),
    (data(lambda content: content + b'"open'), "is not CSV: unexpected end of data"),
    (swap("feature_1", "feature_0"), "has two columns of the name 'feature_0'"),
    (swap("bag,", "bags,"), "bag is 'bag', but there is no such column; .*did you mean 'bags'"),
    (data(lambda content: content.replace(b",", b";")), "part the cells by commas"),
    (data(lambda content: content.replace(b",", b"\t")), "part the cells by commas"),
    (data(lambda content: b"\n" + content), "is empty, expected a header and rows"),
    (cell(3, 0, lambda: "x" * 10_000_000), "line 4 has more than 8,388,608 characters"),
    (cell(3, 0, lambda: "x" * 2_000_000), "line 4 is not CSV: field larger than field limit"),
    (data(lambda content: content + b"x" * 20_000_000), "has more than 8,388,608 characters"),
    (data(lambda content: content + b"," * 20_000_000), "has more than 8,388,608 characters"),
    (data(lambda content: content + (b'"%b\n",' % (b"a" * 40)) * 200_000), "has more than 8,388,6"),
    (
        data(lambda content: ",".join(map(str, range(20_000))).encode()),
        "bag is 'bag', but there is",
    ),
]
TABLE = [
    (line(3, "a"), "line 4 has 1 cells, expected 2"),
    (line(3, "a,b,c"), "line 4 has 3 cells, expected 2"),
    (line(3, '"a,b'), "is not CSV: unexpected end of data"),
    (line(3, "a\rb,3"), "line 4 has 1 cells, expected 2"),
    (line(0, "n,n"), "has two columns of the name 'n'"),
    (line(3, lambda: "x" * 10_000_000 + ",3"), "line 4 has more than 8,388,608 characters"),
]
LINES = [
    (line(3, '{"n": NaN}'), "line 4 has NaN, expected a finite number"),
    (line(3, '{"n": -Infinity}'), "line 4 has -Infinity, expected a finite number"),
    (line(3, '{"n": 1e999}'), "line 4 has 1e999, expected a finite number"),
    (line(3, f'{{"n": {"9" * 5000}}}'), "Exceeds the limit"),
    (line(3, "[1, 2]"), "line 4 is no JSON object, expected {...} with a name a column"),
    (line(3, "17"), "line 4 is no JSON object, expected {...} with a name a column"),
    (line(3, '{"n": 3'), "line 4 is not JSON: Expecting ',' delimiter"),
    (line(3, '{"n": "3'), "line 4 is not JSON: "),
    (line(3, "{} {}"), "line 4 is not JSON: Extra data"),
    (line(3, '{"n": 3} // three'), "line 4 is not JSON: Extra data"),
    (line(3, '{"n": 3,}'), "line 4 is not JSON: "),
    (line(3, "{'n': 3}"), "line 4 is not JSON: Expecting property name"),
    (line(3, '{"text": "a\tb"}'), "line 4 is not JSON: Invalid control character"),
    (line(3, '{"n": 1_000}'), "line 4 is not JSON: Expecting ',' delimiter"),
    (line(3, '{"n": 007}'), "line 4 is not JSON: Expecting ',' delimiter"),
    (data(lambda content: content[:-10]), "line 20 is not JSON: "),
    (line(3, '{"n": ' + "[" * 100_000), "is cut, damaged or of another format"),
    (
        line(3, '{"n": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        "is cut, damaged or of another format",
    ),
    (line(3, '{"n": ' * 100_000 + "1" + "}" * 100_000), "is cut, damaged or of another format"),
    (line(3, lambda: f'{{"n": "{"x" * 10_000_000}"}}'), "line 4 has more than 8,388,608"),
    (line(3, lambda: '{"n": ' + " " * 20_000_000), "line 4 has more than 8,388,608 characters"),
    (line(3, "\n".join(f'{{"c{i}": 1}}' for i in range(4000))), MORE),
]
COLUMNS = [
    (required(b"text"), "is cut, damaged or of another format"),
    (swap(b"PAR1\x15\4", b"PAR1\x15\6"), "column 'text' has 0 of 20 rows"),  # a page of no kind
    (rows(n=lambda cells: [[[[1.0]]]] * len(cells)), "lists in lists in lists, expected points"),
    (rows(n=lambda cells: put(3, None)([[1.0]] * len(cells))), "has no list in some rows"),
    (rows(text=lambda cells: [["x" * (1 << 20)] * 4] * len(cells)), MORE),
]
TEXTS = [
    (data(lambda content: content.decode().encode("utf-16")), "is not UTF-8; save the text as"),
    (data(lambda content: content.decode().encode("utf-16-le")), "holds NUL characters|not UTF-8"),
    (data(lambda content: content.decode().encode("utf-32")), "is not UTF-8; save the text as"),
    (data(lambda content: content.decode().encode("latin-1")), "is not UTF-8; save the text as"),
    (swap("ä", b"\xc3"), "is not UTF-8; save the text as UTF-8"),
    (swap("ä", b"\xed\xa0\x80"), "is not UTF-8; save the text as UTF-8"),
    (swap("ä", b"\0"), "line [12] holds NUL characters: is it UTF-16"),
    (data(lambda content: b"\x80\x04cposix\nsystem\n."), "is not UTF-8; save the text as UTF-8"),
]
WHOLE = [
    (data(lambda content: b""), ": "),
    (data(lambda content: b"\x89PNG\r\n\x1a\n" + bytes(500)), "is cut, damaged|is not UTF-8|magic"),
    (data(lambda content: npy(np.eye(3))), "is cut, damaged|is not UTF-8|magic"),
    (data(lambda content: content[: len(content) // 2]), ": "),
    (data(lambda content: content[:4]), ": "),
    (data(lambda content: content[:-22]), ": "),
]
CASES = [
    *(
        (file, array(name, new), says)
        for file in ("bags.npz", "folder")
        for name, new, says in ARRAYS
    ),
    *(("bags.npz", *case) for case in NPZ),
    *(("folder", *case) for case in FOLDER),
    *(("bags.parquet", *case) for case in BAGS),
    *(("points.parquet", *case) for case in POINTS),
    *(("points.csv", *case) for case in CSV),
    *(("table.csv", *case) for case in TABLE),
    *(("table.jsonl", *case) for case in LINES),
    *(("table.parquet", *case) for case in COLUMNS),
    *((file, *case) for file in ("points.csv", "table.csv", "table.jsonl") for case in TEXTS),
    *((file, *case) for file in ("points.csv", "table.csv") for case in WHOLE[:3]),
    *((file, *case) for file in ("bags.npz", *PARQUET) for case in WHOLE),
]


@pytest.mark.parametrize(("file", "change", "says"), CASES, ids=[f"{c[0]} {c[2]}" for c in CASES])
def test_one_thing_changed_ends_in_one_sentence(tmp_path, file, change, says):
    path = put_good(tmp_path / file)
    assert is_good(path, read_any(path))
    change(path)
    with pytest.raises(Exception, match=says) as caught:
        read_any(path)
    assert find_faults(path, caught.value) == []


def test_there_are_two_hundred_hostile_files():
    assert len(CASES) >= 200


def test_a_traceback_from_below_is_found_out(tmp_path):
    with pytest.raises(zipfile.BadZipFile) as caught:
        zipfile.ZipFile(io.BytesIO(b""))
    faults = find_faults(tmp_path, caught.value)
    assert [fault.split()[0] for fault in faults] == ["is", "does", "was", "shows"]


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("bags.npz", members(lambda held: None)),
        ("bags.npz", members(lambda held: None, zipfile.ZIP_DEFLATED)),
        ("bags.npz", members(lambda held: held.update({"read me": b"text"}))),
        ("bags.npz", members(lambda held: held.update({"more.npy": npy(np.zeros(99))}))),
        ("bags.npz", directory(24, lambda n_bytes: n_bytes, 4)),
        ("bags.npz", directory(24, lambda n_bytes: n_bytes + (1 << 31), 4)),  # nobody believes it
        ("bags.npz", array("points", lambda points: points)),
        ("bags.npz", array("points", as_python_2_wrote)),
        ("folder", array("points", lambda points: points)),
        ("folder", manifest(lambda content: content)),
        ("bags.parquet", rows(points=list, weights=list, bag=list)),
        ("points.parquet", rows(feature_2=list)),
        ("points.csv", cell(0, 0, "bag")),
        ("table.jsonl", line(20, "")),
        ("table.parquet", rows(text=list, n=list)),
    ],
)
def test_what_changes_a_file_changes_nothing_else(tmp_path, file, change):
    path = put_good(tmp_path / file)
    change(path)
    assert is_good(path, read_any(path))


@pytest.mark.parametrize("name", ["bags.npz", "bags.parquet", "points.csv", "table.jsonl"])
def test_only_a_missing_file_is_not_found(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=f"there is no file .*{name}"):
        read_any(tmp_path / name)


# Bombs: small files that mean much.


def deflated(make):
    """An .npz file with packed arrays, each a stream, beside the good ones."""

    def change(path):
        more = {f"{name}.npy": stream for name, stream in make(bytes(BIG)).items()}
        members(lambda held: held.update(more), zipfile.ZIP_DEFLATED)(path)

    return change


def sparse(name, shape):
    """An array of a folder that has its size and takes no room."""

    def change(path):
        content = json.loads((path / "manifest.json").read_text())
        file = path / (content["arrays"] | content["table"])[name]
        start = stream(head(shape, "<i8"))
        file.write_bytes(start)
        os.truncate(file, len(start) + 8 * int(np.prod(shape)))

    return change


def of_table(make, **how):
    """Another table in the place of the good one."""

    def change(path):
        import pyarrow as pa

        write_rows(make(pa), path, **how)

    return change


def lists(n_rows, n_values):
    """A Parquet file of bags whose points are zeros."""

    def make(pa):
        offsets = np.arange(n_rows + 1) * n_values
        return {"points": pa.LargeListArray.from_arrays(offsets, np.zeros(n_rows * n_values))}

    return of_table(make)


BIG, TEXT = 2 * LIMIT, "x" * (1 << 20)
BOMBS = {
    "points of zeros": (
        "bags.npz",
        deflated(lambda zeros: {"points": stream(head((BIG // 24, 3)), zeros)}),
        MORE,
    ),
    "columns of zeros that add up": (
        "bags.npz",
        deflated(lambda zeros: dict.fromkeys("abcdef", npy(np.zeros((12, 1 << 18))))),
        MORE,
    ),
    "zeros after the end": (
        "bags.npz",
        deflated(lambda zeros: {"points": npy(good_bags().points) + zeros}),
        "goes on after",
    ),
    "offsets that take no room": ("folder", sparse("offsets", (BIG // 8,)), MORE),
    "a column that takes no room": ("folder", sparse("age", (12, BIG // 8)), MORE),
    "2^24 zeros in a list": ("bags.parquet", lists(1, 1 << 24), MORE),
    "2^26 zeros": ("table.parquet", of_table(lambda pa: {"n": np.zeros(1 << 26, np.int8)}), MORE),
    "500 columns": (
        "table.parquet",
        of_table(lambda pa: {f"{i}": np.zeros(1 << 15, np.int8) for i in range(500)}),
        MORE,
    ),
    "a text of 70 MB": ("table.parquet", of_table(lambda pa: {"text": [TEXT * 70]}), MORE),
    "empty objects": (
        "table.jsonl",
        line(3, lambda: '{"n": [' + "{}," * 2_000_000 + "{}]}"),
        MORE,
    ),
}
MORE_BOMBS = {
    "a column of zeros": (
        "bags.npz",
        deflated(lambda zeros: {"age": stream(head((12, BIG // 96)), zeros)}),
        MORE,
    ),
    "long names": (
        "bags.npz",
        deflated(lambda zeros: {"names": stream(head((12,), "<U2500000"), zeros)}),
        MORE,
    ),
    "a header of zeros": (
        "bags.npz",
        deflated(lambda zeros: {"age": b"\x93NUMPY\2\0\0\0\0\x08" + zeros}),
        "has a header of 134,217,728 bytes",
    ),
    "zeros in lists that add up": ("bags.parquet", lists(16, 1 << 20), MORE),
    "70 texts of 1 MB": (
        "table.parquet",
        of_table(lambda pa: {"text": [f"{TEXT}{i}" for i in range(70)]}),
        MORE,
    ),
    "70 texts of 1 MB in as many row groups": (
        "table.parquet",
        of_table(lambda pa: {"text": [f"{TEXT}{i}" for i in range(70)]}, row_group_size=1),
        MORE,
    ),
    "70 cells of 1 MB": (
        "table.csv",
        line(20, lambda: "".join(f"{TEXT[:-9]}{i},1\n" for i in range(70))),
        MORE,
    ),
}


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        *(pytest.param(*bomb, id=what) for what, bomb in BOMBS.items()),
        *(
            pytest.param(*bomb, id=what, marks=pytest.mark.slow)
            for what, bomb in MORE_BOMBS.items()
        ),
    ],
)
def test_a_bomb_is_refused_within_memory(tmp_path, file, change, says):
    path = put_good(tmp_path / file)
    assert is_good(path, read_any(path))
    change(path)
    error, peak = measure(lambda: refusal(path))
    assert re.search(says, str(error))
    assert find_faults(path, error) == []
    assert peak < 1.5 * LIMIT


def refusal(path):
    """The error that reading ends in, or None."""
    try:
        read_any(path)
    except Exception as error:
        return error


POOLS = []  # what came from a pool goes back to it, whenever that is


def measure(call):
    """What a call gives, and the most bytes it held in Python, NumPy and Arrow."""
    try:
        import pyarrow as pa
    except ImportError:
        pa = None
    else:
        before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
        pa.set_memory_pool(pool)
        POOLS.append(pool)
    tracemalloc.start()
    try:
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        if pa:
            pa.set_memory_pool(before)
    return result, peak + (pool.max_memory() if pa else 0)


@pytest.mark.parametrize("file", ["table.csv", "table.jsonl"])
def test_a_long_file_is_no_long_line(tmp_path, file):
    path, text = put_good(tmp_path / file), "x" * 90_000
    more = f"{text},0\n" if path.suffix == ".csv" else json.dumps({"text": text, "n": 0}) + "\n"
    data(lambda content: content + 100 * more.encode())(path)
    assert read_any(path)["text"].tolist()[20:] == [text] * 100


def test_a_long_text_that_is_repeated_is_held_once(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / "table.parquet"
    text = pa.DictionaryArray.from_arrays(np.zeros(1000, np.int32), [TEXT])
    write_rows({"text": text}, path)
    found, peak = measure(lambda: read_any(path))
    assert len(found["text"]) == 1000
    assert set(found["text"]) == {TEXT}
    assert peak < LIMIT


def test_more_text_than_arrow_takes_at_once_is_refused(tmp_path, monkeypatch):
    path = put_good(tmp_path / "table.parquet")
    import pyarrow as pa
    import pyarrow.parquet

    def overflow(*arguments):
        raise pa.lib.ArrowCapacityError("array cannot contain more than 2147483646 bytes")

    monkeypatch.setattr(pa.parquet.ParquetFile, "read_row_group", overflow)
    error = refusal(path)
    assert "column 'text' has more than 2 GiB of text in row group 0" in str(error)
    assert find_faults(path, error) == []


@pytest.mark.parametrize("kind", ["int8", "uint8", "uint32", "int64"])
def test_places_of_any_width_are_read(tmp_path, kind):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    places = pa.array([0, 1, None, 0], kind)
    text = pa.DictionaryArray.from_arrays(places, ["a", "b"])
    write_rows({"text": text}, tmp_path / "table.parquet")
    assert read_any(tmp_path / "table.parquet")["text"].tolist() == ["a", "b", None, "a"]


# Damage by chance, seen by the checksums of zip files and of Parquet pages and by a folder's sizes.


def flip(path, rng):
    """One bit of what a checksum or a header covers."""
    if path.is_dir():
        path = rng.choice(sorted(path.iterdir()))
    content = bytearray(path.read_bytes())
    start, stop = 0, len(content)
    if path.suffix == ".parquet":
        start, stop = 4, stop - 8 - int.from_bytes(content[-8:-4], "little")
    elif path.suffix == ".npy":
        stop = 10 + int.from_bytes(content[8:10], "little")
    byte, bit = rng.integers(start, stop), rng.integers(8)
    content[byte] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {byte} of {path.name}"


def cut(path, rng):
    if path.is_dir():
        path = rng.choice(sorted(path.iterdir()))
    n_bytes = rng.integers(path.stat().st_size)
    os.truncate(path, n_bytes)
    return f"{path.name} cut after {n_bytes} bytes"


CHANCE = ["bags.npz", "packed.npz", "bare", "bags.parquet", "points.parquet"]


@pytest.mark.parametrize("damage", [flip, cut])
@pytest.mark.parametrize("file", CHANCE)
@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 250), marks=pytest.mark.slow)])
def test_damage_by_chance_is_refused_or_does_no_harm(tmp_path, file, damage, seeds):
    refused = 0
    for seed in seeds:
        path = put_good(tmp_path / file)
        assert is_good(path, read_any(path))
        where = damage(path, np.random.default_rng(seed))
        if error := refusal(path):
            assert find_faults(path, error) == [], (seed, where)
            refused += 1
        else:
            assert is_good(path, read_any(path)), (seed, where)
    assert refused >= 0.8 * len(seeds)


# What could take the process with it is tried in another.

ALONE = """
import os, sys
import bagwise, pyarrow.parquet, resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
for path in sys.argv[1:]:
    try:
        print("read", bagwise.read(path))
    except ValueError as error:
        print(error)
"""


def run_alone(code, *arguments):
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # each maps memory of its own
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | threads,
    )


@pytest.mark.slow
@pytest.mark.guard
def test_what_expands_to_4_gib_is_refused_in_2_gib(tmp_path):
    pytest.importorskip("resource", reason="this system cannot limit the memory of a process")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    good = [put_good(tmp_path / name) for name in ("bags.npz", "bags.parquet")]
    npz, parquet = tmp_path / "bomb.npz", tmp_path / "bomb.parquet"
    n_rows = (4 << 30) // 24
    with zipfile.ZipFile(npz, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("offsets.npy", npy(np.array([0, n_rows])))
        with archive.open("points.npy", "w", force_zip64=True) as file:
            file.write(stream(head((n_rows, 3))))
            for _ in range(64):
                file.write(bytes(n_rows * 24 // 64))
    zeros_of_group = pa.table({"bag": ["a"], "points": pa.array([np.zeros(1 << 26)])})
    with pa.parquet.ParquetWriter(parquet, zeros_of_group.schema, compression="zstd") as writer:
        for _ in range(8):
            writer.write_table(zeros_of_group)
    assert max(npz.stat().st_size, parquet.stat().st_size) < 32 << 20
    run = run_alone(ALONE, *good, npz, parquet)
    assert (run.returncode, run.stderr) == (0, "")
    said = run.stdout.splitlines()
    assert said[:2] == [f"read {good_bags()}"] * 2
    for path, sentence in zip([npz, parquet], said[2:], strict=True):
        assert sentence.startswith(f"{path}: would take more than ")


FLIPS = """
import sys
import numpy as np
import bagwise
path, good = sys.argv[1], open(sys.argv[1], "rb").read()
stop = len(good) - 8
start = stop - int.from_bytes(good[-8:-4], "little")
for byte in range(start, stop):
    damaged = bytearray(good)
    damaged[byte] ^= 1 << np.random.default_rng(byte).integers(8)
    with open(path, "wb") as file:
        file.write(damaged)
    try:
        bagwise.read(path, max_bytes=1 << 26)
    except ValueError as error:
        assert str(error).startswith(f"{path}: ")
    print(byte)
"""


@pytest.mark.slow
@pytest.mark.guard
@pytest.mark.parametrize("name", ["bags.parquet", "points.parquet"])
def test_no_bit_of_parquet_metadata_ends_the_process(tmp_path, name):
    path = put_good(tmp_path / name)
    length = int.from_bytes(path.read_bytes()[-8:-4], "little")
    run = run_alone(FLIPS, path)
    assert (run.returncode, run.stderr) == (0, "")
    assert len(run.stdout.split()) == length
