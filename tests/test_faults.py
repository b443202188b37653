import ast
import json
import shutil
from collections import Counter

import faults
import pytest
from faults import KINDS, Mutant, draw, find_all, find_mutants, find_reason, name_catcher

SOURCE = b'''def area(width: int, height: "Literal[1]" = 2) -> "Literal[3]":
    """Never 4 < 5."""
    if width < 0:
        raise ValueError(f"width is {width + 6}")
    return product(width, *height)  # not 7
'''


def mutate(text, mutant):
    return text[: mutant.where.start] + mutant.new + text[mutant.where.stop :]


def changed(line, kind):
    """What each mutant of a kind makes of one line that stands in a function."""
    text = f"def f():\n    'é'; {line}\n".encode()
    found = [mutant for mutant in find_mutants("a.py", text) if mutant.kind == kind]
    assert all(mutate(text, mutant).startswith("def f():\n    'é'; ".encode()) for mutant in found)
    return [mutate(text, mutant).decode().splitlines()[1][9:] for mutant in found]


@pytest.mark.parametrize(
    ("line", "kind", "expected"),
    [
        ("a < b <= c", "comparison", ["a <= b <= c", "a < b < c"]),
        ("a > b >= c", "comparison", ["a >= b >= c", "a > b > c"]),
        ("(a == b) != c", "comparison", ["(a == b) == c", "(a != b) != c"]),
        ("a is b", "comparison", ["a is not b"]),
        ("(a) is  not(b)", "comparison", ["(a) is(b)"]),
        ("inn in b", "comparison", ["inn not in b"]),
        ("a not in b", "comparison", ["a in b"]),
        ("a[0]", "plus or minus one", ["a[1]", "a[-1]"]),
        ("a[-3:]", "plus or minus one", ["a[-4:]", "a[-2:]"]),
        ("a = True, 2.5, '3', f'{4}'", "plus or minus one", []),
        ("a: Literal[3] = b", "plus or minus one", []),
        ("a = b; c += d", "dropped line", ["pass; c += d", "a = b; pass"]),
        ("call(); raise a", "dropped line", ["pass; raise a", "call(); pass"]),
        ("'text'; return a", "dropped line", []),
        ("f(a, g(b, c), d=1)", "swapped argument", ["f(g(b, c), a, d=1)", "f(a, g(c, b), d=1)"]),
        ("f(a, a)", "swapped argument", []),
        ("f(a, *b), max(a, b)", "swapped argument", []),
    ],
)
def test_mutants_by_hand(line, kind, expected):
    assert changed(line, kind) == expected


def test_the_body_of_an_if_is_dropped_unless_there_is_an_else():
    text = b"for a in b:\n    if a:\n        f(a)\n        break\n    elif b:\n        continue\n"
    found = [mutant for mutant in find_mutants("a.py", text) if mutant.kind == "dropped line"]
    texts = [mutate(text, mutant).decode().split() for mutant in found]
    whole = text.decode().split()
    for dropped in ("continue", "f(a)", "break"):
        expected = ["pass" if word == dropped else word for word in whole]
        assert expected in texts
    assert len(texts) == 3


def test_words_that_do_not_run_have_no_mutants():
    found = Counter((mutant.kind, mutant.line) for mutant in find_mutants("a.py", SOURCE))
    assert found == {
        ("comparison", 3): 1,
        ("plus or minus one", 1): 2,  # of the default
        ("plus or minus one", 3): 2,
        ("dropped line", 4): 1,  # the raise and the body of the if are one
    }
    typed = b"if TYPE_CHECKING:\n    a = 1\n"
    assert find_mutants("a.py", typed) == []


def test_a_mutant_shows_its_lines():
    text = b"if a < 1:\n    raise b\nc = f(\n    d,\n    e,\n)\n"
    shown = {(mutant.before, mutant.after) for mutant in find_mutants("a.py", text)}
    assert ("if a < 1:", "if a <= 1:") in shown
    assert ("if a < 1: raise b", "if a < 1: pass") in shown
    assert ("c = f( d, e, )", "pass") in shown


def test_every_mutant_is_another_program():
    for mutant in draw(find_all(), 20, 0):
        text = (faults.ROOT / faults.PACKAGE / mutant.file).read_bytes()
        assert ast.dump(ast.parse(mutate(text, mutant))) != ast.dump(ast.parse(text))


def test_a_seed_draws_the_same_mutants_of_every_kind_and_file():
    mutants = find_all()
    drawn = draw(mutants, 60, 0)
    assert drawn == draw(mutants, 60, 0)
    assert drawn != draw(mutants, 60, 1)
    assert len({(mutant.file, str(mutant.where), mutant.new) for mutant in drawn}) == 60
    counts = Counter(mutant.kind for mutant in drawn)
    assert counts.keys() == KINDS.keys()
    assert max(counts.values()) - min(counts.values()) <= 2
    package = faults.ROOT / faults.PACKAGE
    kernels = {path.relative_to(package).as_posix() for path in package.glob("kernels/*.py")}
    assert {mutant.file for mutant in drawn} == {*faults.FILES[:-1], *kernels}
    assert draw(mutants[:5], 60, 0) == mutants[:5]


def test_the_list_runs_nothing(capsys):
    assert faults.main(["--list", "--n", "7"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7


def test_a_reason_belongs_to_one_change(monkeypatch):
    monkeypatch.setattr(faults, "REASONS", {"a.py: b < c -> b <= c": "they never meet"})
    mutant = Mutant("a.py", 1, "comparison", slice(3, 4), b"<=", "if b < c:", "if b <= c:")
    assert find_reason(mutant) == "they never meet"
    for other in (mutant._replace(file="b.py"), mutant._replace(after="if b > c:")):
        assert find_reason(other) == "no reason given"


def test_the_log_names_who_caught_a_mutant():
    assert name_catcher(0, "3 passed") is None
    assert name_catcher(1, "FAILED tests/a/test_b.py::test_c[1-2] - AssertionError") == (
        "test_b.py::test_c[1-2]"
    )
    assert name_catcher(2, "ERROR tests/test_b.py - NameError") == "test_b.py"
    assert name_catcher(-11, "") == "exit status -11"
    for code in (4, 5, 99):
        with pytest.raises(RuntimeError, match="did not run on the copied sources:\nlog"):
            name_catcher(code, "log")


@pytest.mark.parametrize(("n_survivors", "status"), [(0, 0), (6, 0), (7, 1)])
def test_the_record_and_the_status_tell_how_many_survive(
    monkeypatch, tmp_path, capsys, n_survivors, status
):
    fates = [(None, 1.0)] * n_survivors + [("test_a.py", 1.0)] * (60 - n_survivors)
    monkeypatch.setattr(faults, "try_all", lambda mutants: iter(fates))
    monkeypatch.setattr(faults, "RESULT", tmp_path / "results" / "faults.json")
    assert faults.main([]) == status
    result = json.loads(faults.RESULT.read_text(encoding="utf-8"))
    assert (result["seed"], result["n"], result["caught"]) == (0, 60, 60 - n_survivors)
    assert len(result["survivors"]) == n_survivors
    assert f"caught {60 - n_survivors} of 60" in capsys.readouterr().out
    faults.RESULT.unlink()
    faults.main(["--seed", "1"])
    assert not faults.RESULT.exists()


@pytest.mark.slow
def test_a_worker_tries_a_mutant_and_takes_it_back(monkeypatch, tmp_path):
    monkeypatch.setattr(faults, "TESTS", ["tests/test_checks.py"])
    worker = faults.Worker(tmp_path / "worker")
    path = worker.folder / faults.PACKAGE / "checks.py"
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert worker.run_tests() is None
    where = slice(before[0].index(b"value < least"), before[0].index(b" < least"))
    mutant = Mutant("checks.py", 1, "comparison", where, b"-value", "", "")
    assert worker.run(mutant).startswith("test_checks.py::test_what_is_")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    shutil.rmtree(worker.folder / "src")  # now Python imports what is installed
    with pytest.raises(RuntimeError, match="did not run on the copied sources"):
        worker.run_tests()
