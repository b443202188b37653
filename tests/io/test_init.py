"""Tests of read, write and read_table: what comes back is what was written."""

import datetime
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from bagwise import Bags, read, read_table, write

FORMATS = ["bags.npz", "bags.parquet", "bags.csv", "folder"]
TYPED = ["bags.npz", "bags.parquet", "folder"]


def draw_bags(seed=0, dtype=np.float64, n_bags=4, n_features=3, **more):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_bags)
    points = rng.normal(size=(sizes.sum(), n_features)).astype(dtype)
    return Bags(points, np.append(0, np.cumsum(sizes)), **more)


def roundtrip(bags, tmp_path, name, **how):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    write(bags, tmp_path / name)
    return read(tmp_path / name, **how)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_written_comes_back(tmp_path, name, dtype, weighted):
    n_points = len(draw_bags().points)
    bags = draw_bags(
        dtype=dtype,
        names=["p 1", "007", 'a "quoted", name', "Ünïcode\n雪"],
        weights=np.random.default_rng(1).random(n_points) if weighted else None,
        table={"label": ["yes", "no", "yes", ""], "age": [1, 2, 3, 4], "dose": [0.1, 2.5, 1e-9, 3]},
    )
    back = roundtrip(bags, tmp_path, name)
    assert back == bags
    assert back.points.dtype == (np.float64 if name == "bags.csv" else dtype)
    assert list(back.table) == list(bags.table)
    assert {column.dtype.kind for column in back.table.values()} <= set("OUif")


@pytest.mark.parametrize("name", TYPED)
def test_types_of_the_table_are_kept(tmp_path, name):
    table = {
        "bool": [True, False, True, True],
        "small": np.array([1, -2, 3, 4], np.int8),
        "unsigned": np.array([2**64 - 1, 0, 1, 2], np.uint64),
        "single": np.array([0.1, np.nan, np.inf, 3], np.float32),
        "day": np.array(["2020-01-01", "NaT", "2021-01-01", "1969-01-01"], "M8[s]"),
        "007": ["007", "1_000", "1e400", "NA"],
    }
    bags = draw_bags(names=[7, 8, 9, 10] if name != "bags.parquet" else None, table=table)
    back = roundtrip(bags, tmp_path, name)
    assert back == bags
    for column in ("bool", "small", "unsigned", "single"):
        assert back.table[column].dtype == bags.table[column].dtype


@pytest.mark.parametrize("name", TYPED)
def test_without_names_there_are_none(tmp_path, name):
    assert roundtrip(draw_bags(), tmp_path, name).names is None


def test_a_csv_names_bags_that_have_no_names(tmp_path):
    assert roundtrip(draw_bags(), tmp_path, "bags.csv").names.tolist() == ["0", "1", "2", "3"]


@pytest.mark.parametrize("name", ["bags.npz", "bags.parquet", "folder"])
def test_no_bags_come_back_as_none(tmp_path, name):
    none = draw_bags(names=list("abcd"))[[]]
    assert len(roundtrip(none, tmp_path, name)) == 0


@given(
    seed=st.integers(0, 2**32 - 1),
    names=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
        min_size=4,
        max_size=4,
        unique=True,
    ),
    cells=st.lists(
        st.one_of(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)),
        min_size=4,
        max_size=4,
    ),
)
@settings(deadline=None, max_examples=25)
@pytest.mark.parametrize("name", FORMATS)
def test_any_text_comes_back(tmp_path_factory, name, seed, names, cells):
    cells[0] = "is text: " + cells[0]  # else a CSV may take digits for numbers
    bags = draw_bags(seed, names=names, table={"text": cells})
    assert roundtrip(bags, tmp_path_factory.mktemp("io"), name) == bags


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [5e-324, 1e-310, 0.1, 1e149, -0.0])
def test_every_digit_comes_back(tmp_path, name, value):
    bags = Bags([[value], [1.0], [np.nextafter(value, 1)]], [0, 3], names=["a"])
    back = roundtrip(bags, tmp_path, name)
    assert back.points.tobytes() == bags.points.tobytes()


def test_times_with_a_zone_and_lists_come_back_from_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    zone = datetime.UTC
    times = [datetime.datetime(2020, 1, 1 + b, tzinfo=zone) for b in range(4)]
    lists = [np.arange(b, dtype=float) for b in range(4)]
    bags = draw_bags(table={"time": times, "curve": lists})
    assert roundtrip(bags, tmp_path, "bags.parquet") == bags


def test_dates_are_text_in_a_csv(tmp_path):
    bags = draw_bags(names=list("abcd"), table={"day": np.array(["2020-01-01"] * 4, "M8[ns]")})
    assert roundtrip(bags, tmp_path, "bags.csv").table["day"][0] == "2020-01-01T00:00:00.000000000"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_what_read_would_refuse_is_not_written(tmp_path, name, value):
    with pytest.raises(ValueError, match="bag 0 has .* in feature 0 of point 1"):
        write(Bags([[1.0], [value]], [0, 2]), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_points_beside_features_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {"emb": [[[1.0, 2.0]]], "size": [[1.0]]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    for how in ({}, {"features": ["emb", "size"]}, {"features": ["size", "emb"]}):
        with pytest.raises(ValueError, match="hold points and features; name one kind"):
            read(tmp_path / "x.parquet", **how)
    assert read(tmp_path / "x.parquet", features=["emb"]).table["size"][0].tolist() == [1.0]


def test_a_blank_line_of_one_column_is_an_empty_cell(tmp_path):
    (tmp_path / "x.csv").write_text("text\na\n\nb\n")
    assert read_table(tmp_path / "x.csv")["text"].tolist() == ["a", "", "b"]


@pytest.mark.parametrize("name", FORMATS)
def test_writing_twice_leaves_the_new(tmp_path, name):
    for seed in range(3):
        bags = draw_bags(seed, names=list("abcd"))
        assert roundtrip(bags, tmp_path, name) == bags
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["bags.npz", "bags.parquet", "bags.csv"])
def test_the_same_bags_give_the_same_bytes(tmp_path, name):
    bags = draw_bags(names=list("abcd"))
    roundtrip(bags, tmp_path, name)
    before = (tmp_path / name).read_bytes()
    roundtrip(bags, tmp_path, name)
    assert (tmp_path / name).read_bytes() == before


def test_write_takes_whatever_an_estimator_takes(tmp_path):
    write([[[1.0]], [[2.0], [3.0]]], str(tmp_path / "bags.npz"))
    assert read(str(tmp_path / "bags.npz")) == Bags([[1], [2], [3]], [0, 1, 3])


# Columns of a table with one row a point.

CSV = "patient,a,b,w,ill,age,well\np2,1,4,1,yes,61,A1\np1,2,5,.5,no,7,A2\np2,3,6,2,yes,61,A3\n"


@pytest.fixture(params=["csv", "parquet"])
def cells_file(request, tmp_path):
    file = tmp_path / f"cells.{request.param}"
    if request.param == "csv":
        file.write_text(CSV)
    else:
        pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        rows = [line.split(",") for line in CSV.split()]
        columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
        for name, kind in {"a": int, "b": int, "w": float, "age": int}.items():
            columns[name] = list(map(kind, columns[name]))
        pa.parquet.write_table(pa.table({k: list(v) for k, v in columns.items()}), file)
    return file


def test_read_takes_one_row_a_point(cells_file):
    bags = read(cells_file, bag="patient", features=["b", "a"], weight="w")
    expected = Bags(
        [[4, 1], [6, 3], [5, 2]],
        [0, 2, 3],
        weights=[1, 2, 0.5],
        names=["p2", "p1"],
        table={"ill": ["yes", "no"], "age": [61, 7]},
    )
    assert bags == expected


def test_features_are_the_numbers_that_vary_within_a_bag(cells_file):
    bags = read(cells_file, bag="patient")
    assert_array_equal(bags.points, [[1, 4, 1], [3, 6, 2], [2, 5, 0.5]])
    assert list(bags.table) == ["ill", "age"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "bag is 'bag', but there is no such column; found 'patient', 'a'"),
        ({"bag": "patent"}, "did you mean 'patient'"),
        ({"bag": "patient", "features": ["A"]}, "features is 'A', but there is no such column"),
        ({"bag": "patient", "features": ["well"]}, "column 'well' has 'A1' in row 0, expected a"),
        ({"bag": "patient", "weight": "W"}, "weight is 'W', but there is no such column"),
        ({"bag": "well"}, "no column of numbers varies within a bag"),
        ({"bag": "patient", "features": "a"}, "features is 'a', expected a list"),
    ],
)
def test_read_names_the_file_the_column_and_the_nearest(cells_file, how, message):
    with pytest.raises(ValueError, match=f"cells.*: .*{message}"):
        read(cells_file, **how)


def test_a_feature_with_holes_is_not_dropped_unseen(tmp_path):
    file = tmp_path / "cells.csv"
    file.write_text("bag,a,b\n1,0.5,3\n1,,4\n1,0.7,5\n")
    with pytest.raises(ValueError, match=r"column 'a' has '' in row 1 and numbers in most others"):
        read(file)


def test_bag_names_are_text_whatever_they_look_like(tmp_path):
    file = tmp_path / "cells.csv"
    file.write_text("bag,a\n007,1\n7,2\nNA,3\n7.0,4\n007,5\n")
    assert read(file, features=["a"]).names.tolist() == ["007", "7", "NA", "7.0"]


def test_whole_numbers_in_a_parquet_file_are_names_as_text(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pa.parquet.write_table(
        pa.table({"bag": [7, 7, 3], "a": [1.0, 2.0, 3.0]}), tmp_path / "x.parquet"
    )
    assert read(tmp_path / "x.parquet").names.tolist() == ["7", "3"]


def test_an_npz_of_a_stranger(tmp_path):
    np.savez(
        tmp_path / "mil.npz",
        X=np.asfortranarray(np.arange(6).reshape(3, 2)),
        offsets=np.array([0, 1, 3], ">i4"),
        y=[1, 0],
        channels=["a", "b", "c", "d"],
        pixels=np.zeros((2, 4, 4)),
        w=[1.0, 2.0, 3.0],
    )
    bags = read(tmp_path / "mil.npz", weight="w")
    assert bags == Bags(
        [[0, 1], [2, 3], [4, 5]],
        [0, 1, 3],
        weights=[1, 2, 3],
        table={"y": [1, 0], "pixels": np.zeros((2, 4, 4))},
    )
    np.savez_compressed(tmp_path / "packed.npz", points=[[1.0]], offsets=[0, 1])
    assert read(tmp_path / "packed.npz") == Bags([[1]], [0, 1])


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed"])
def test_a_parquet_file_with_one_row_a_bag_and_a_list_a_feature(tmp_path, kind):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    make = {"list": pa.list_, "large_list": pa.large_list, "fixed": lambda t: pa.list_(t, 2)}[kind]
    rows = [[1, 2], [3, 4]]
    columns = {
        "bag": ["u", "v"],
        "a": pa.array(rows, make(pa.float32())),
        "b": pa.array(rows, make(pa.float32())),
        "w": pa.array(rows, make(pa.int8())),
        "y": [0, 1],
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    bags = read(tmp_path / "x.parquet", weight="w")
    assert bags == Bags(
        [[1, 1], [2, 2], [3, 3], [4, 4]],
        [0, 2, 4],
        weights=[1, 2, 3, 4],
        names=["u", "v"],
        table={"y": [0, 1]},
    )
    assert bags.points.dtype == np.float32
    assert read(tmp_path / "x.parquet", features=["b"]).n_features == 1
    for how, message in [
        ({"bag": "bg"}, "bag is 'bg', .*did you mean 'bag'"),
        ({"features": ["y"]}, "features is 'y', but there is no such column of lists"),
        ({"weight": "y"}, "weight is 'y', but there is no such column of lists"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(tmp_path / "x.parquet", **how)


def test_lists_of_unequal_lengths_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pa.parquet.write_table(pa.table({"a": [[1.0]], "b": [[1.0, 2.0]]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="'a' and 'b' have lists of unequal lengths; name those"):
        read(tmp_path / "x.parquet")


# Tables.


def test_csv_cells_are_numbers_only_as_printed(tmp_path):
    file = tmp_path / "table.csv"
    rows = {
        "whole": ["1", "-20", "0"],
        "real": ["1", "2.50", "-1e-3"],
        "zeros": ["007", "8", "9"],
        "under": ["1_000", "2", "3"],
        "huge": ["1e400", "2", "3"],
        "dust": ["1e-400", "2", "3"],
        "blank": [" 1", "2", "3"],
        "empty": ["", "2", "3"],
        "plus": ["+1", "2", "3"],
        "nan": ["nan", "2", "3"],
        "arabic": ["٣", "2", "3"],
        "long": ["123456789012345678901", "2", "3"],
        "digits": ["123456789012345678", "2", "3"],
        "mixed": ["123456789012345678", "2.5", "3"],
        "lines": ["1\n2", "2", "3"],
        "minus": ["-0", "1", "2"],
    }
    import csv

    with open(file, "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    table = read_table(file)
    assert {
        name: column.dtype.kind for name, column in table.items() if column.dtype != object
    } == {"whole": "i", "real": "f", "digits": "i", "minus": "f"}
    assert table["digits"].tolist() == [123456789012345678, 2, 3]
    assert table["real"].tolist() == [1, 2.5, -0.001]
    for name, cells in rows.items():
        if table[name].dtype == object:
            assert table[name].tolist() == cells


def test_a_kind_holds_over_all_rows(tmp_path, monkeypatch):
    from bagwise.io import texts

    monkeypatch.setattr(texts, "ROWS", 2)
    file = tmp_path / "table.csv"
    file.write_text("a,b,c,d\n1,1,1,1\n2,2,2,12345678901234567\n3,3.5,3,3\n4,4,x,4.5\n5,5,5,5\n")
    table = read_table(file)
    assert [column.dtype.kind for column in table.values()] == ["i", "f", "O", "O"]
    assert table["c"].tolist() == ["1", "2", "3", "x", "5"]


def test_a_bom_and_dos_lines_and_blank_lines_are_no_matter(tmp_path):
    file = tmp_path / "table.csv"
    file.write_bytes("\ufefftext,n\r\nä,1\r\n\r\nb,2\r\n".encode())
    table = read_table(file)
    assert table["text"].tolist() == ["ä", "b"]
    assert_array_equal(table["n"], [1, 2])


def test_equal_cells_are_one_object(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("a\n" + "one label\n" * 10)
    assert len({id(cell) for cell in read_table(file)["a"]}) == 1


def test_jsonl(tmp_path):
    file = tmp_path / "table.jsonl"
    rows = [
        {"text": "a\n雪", "n": 1, "x": 1.5, "ok": True, "tags": ["u"]},
        {"text": None, "n": 2, "x": 2, "ok": False, "more": "z"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    table = read_table(file)
    assert {name: column.tolist() for name, column in table.items()} == {
        "text": ["a\n雪", None],
        "n": [1, 2],
        "x": [1.5, 2.0],
        "ok": [True, False],
        "tags": [["u"], None],
        "more": [None, "z"],
    }
    assert [column.dtype.kind for column in table.values()] == list("OifbOO")


def test_parquet_tables_keep_their_types(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {
        "text": ["a", None, "a"],
        "bytes": [b"\xff\0", b"", None],
        "n": pa.array([1, 2, 3], pa.int16()),
        "holes": pa.array([1, None, 3], pa.int16()),
        "flag": [True, False, True],
        "day": pa.array([datetime.date(2020, 1, 1)] * 3),
        "lists": pa.array([[1, 2], [], [3]], pa.list_(pa.int8())),
        "tags": [["u"], [], None],
        "category": pa.array(["x", "y", "x"]).dictionary_encode(),
        "large": pa.array(["p", "q", "r"], pa.large_string()),
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet")
    assert table["text"].tolist() == ["a", None, "a"]
    assert table["bytes"].tolist() == [b"\xff\0", b"", None]
    assert table["n"].dtype == np.int16
    assert_array_equal(table["holes"], [1, np.nan, 3])
    assert table["flag"].dtype == bool
    assert table["day"].dtype.kind == "M"
    assert [row.tolist() for row in table["lists"]] == [[1, 2], [], [3]]
    assert table["tags"].tolist() == [["u"], [], None]
    assert table["category"].tolist() == ["x", "y", "x"]
    assert table["large"].tolist() == ["p", "q", "r"]


def test_a_parquet_file_of_many_batches(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from bagwise.io import parquet

    monkeypatch.setattr(parquet, "BYTES_PER_BATCH", 1 << 14)
    texts = [f"text {i % 7}" for i in range(1000)]
    table = pa.table({"text": texts, "n": range(1000)})
    pa.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=300)
    back = read_table(tmp_path / "x.parquet")
    assert back["text"].tolist() == texts
    assert_array_equal(back["n"], range(1000))
    bags = draw_bags(n_bags=200, names=texts[:200])
    assert roundtrip(bags, tmp_path, "bags.parquet") == bags


# Refusals.


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("bags.txt", {}, "has no ending that says its format: .npz, .parquet, .csv or a folder"),
        ("bags.npz", {"features": ["a"]}, "has no columns to choose from"),
        ("bags.npz", {"bag": "b"}, "has no columns to choose from"),
        ("bags.npz", {"weight": "w"}, "has no array 'w' of weights; found points, offsets"),
        ("folder", {"weight": "w"}, "has no columns to choose from"),
        ("bags.npz", {"max_bytes": 10}, "would take more than 10 bytes of memory"),
        ("bags.csv", {"max_bytes": 10}, "would take more than 10 bytes"),
    ],
)
def test_read_refuses(tmp_path, name, how, message):
    if name == "bags.txt":
        (tmp_path / name).write_text("")
    else:
        write(draw_bags(), tmp_path / name)
    with pytest.raises(ValueError, match=f"{name}: .*{message}"):
        read(tmp_path / name, **how)


@pytest.mark.parametrize("max_bytes", [0, "1 GB"])
def test_a_limit_that_is_none_is_refused(tmp_path, max_bytes):
    write(draw_bags(), tmp_path / "bags.npz")
    with pytest.raises((ValueError, TypeError), match="max_bytes is .*, expected a whole number"):
        read(tmp_path / "bags.npz", max_bytes=max_bytes)


def test_a_missing_file_names_the_nearest(tmp_path):
    write(draw_bags(), tmp_path / "cells.npz")
    with pytest.raises(FileNotFoundError, match="there is no file .*cell.npz; did you mean 'cells"):
        read(tmp_path / "cell.npz")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path / "nowhere" / "cell.csv")


def test_read_table_refuses_other_files(tmp_path):
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"format: .csv, .jsonl or .parquet"):
        read_table(tmp_path / "table.xlsx")


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("bags.txt", {}, "has no ending that says its format"),
        ("bags.csv", {"names": list("abca")}, "two bags share a name"),
        ("bags.csv", {"names": ["a", "b", "c", ""]}, "row 3 has no bag"),
        ("bags.csv", {"names": ["a", "b", "c", "\0"]}, "holds NUL or half a character"),
        ("bags.csv", {"table": {"y": ["a", "b", "c", "\ud800"]}}, "holds NUL or half a character"),
        ("bags.csv", {"table": {"point_weight": range(4)}}, "a name the file keeps for itself"),
        ("bags.csv", {"table": {"feature_9": range(4)}}, "a name the file keeps for itself"),
        ("bags.csv", {"table": {"y": np.zeros((4, 2))}}, "column 'y' has 2 dimensions"),
        ("bags.csv", {"table": {"y": [b"a"] * 4}}, "column 'y' has b'a', expected text or numbers"),
        ("bags.npz", {"table": {"a\0b": range(4)}}, "expected a name of text, of at most 1000"),
        ("bags.npz", {"table": {"y": np.ones(4, complex)}}, "column 'y' is complex128, expected"),
        ("bags.parquet", {"names": ["a", "b", "c", None]}, "row 3 has no bag"),
        ("bags.parquet", {"table": {"y": [10**30] * 4}}, "column 'y' is not of one kind"),
        ("bags.csv", {"table": {"feature_0": range(4)}}, "has a column 'feature_0', a name the"),
        ("bags.npz", {"table": {"X": range(4)}}, "has a column 'X', a name the file keeps"),
        ("bags.npz", {"table": {0: range(4)}}, "has a column '0', expected a name of text"),
        ("bags.npz", {"table": {"y": ["a", None, 1, 2]}}, "column 'y' holds Python objects"),
        ("bags.npz", {"table": {"y": ["a\0"] * 4}}, "column 'y' holds Python objects"),
        (
            "bags.npz",
            {"names": ["a", "b", "c", "d" * (1 << 27)]},
            "a text of 134,217,728 characters",
        ),
        ("folder", {"table": {"y": [[], {}, 1, 2]}}, "column 'y' holds Python objects"),
        ("bags.parquet", {"table": {"bag": range(4)}}, "has a column 'bag', a name the file keeps"),
        ("bags.parquet", {"table": {"y": np.zeros((4, 2))}}, "column 'y' has 2 dimensions"),
        ("bags.parquet", {"table": {"y": ["a", 1, 2, 3]}}, "column 'y' is not of one kind"),
    ],
)
def test_write_refuses(tmp_path, name, more, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(ValueError, match=message):
        write(draw_bags(**more), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_write_says_where_no_folder_is(tmp_path):
    for name in ("nowhere/bags.npz", "nowhere/folder"):
        with pytest.raises(FileNotFoundError, match="there is no folder .*nowhere to write"):
            write(draw_bags(), tmp_path / name)


def test_a_file_that_cannot_be_opened_says_so(tmp_path):
    import os

    file = tmp_path / "bags.csv"
    write(draw_bags(), file)
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(PermissionError, match="bags.csv cannot be opened"):
        read(file)


def test_without_pyarrow_the_error_gives_the_command(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "x.parquet").write_bytes(b"")
    with pytest.raises(ImportError, match=r'pip install "bagwise\[table\]"'):
        read(tmp_path / "x.parquet")
    with pytest.raises(ImportError, match=r'pip install "bagwise\[table\]"'):
        write(draw_bags(), tmp_path / "x.parquet")
