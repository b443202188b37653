"""How many small faults in bags, checks and kernels the tests catch: ``make faults``.

Mutants, each the library with one fault, are drawn by a seed; the tests run on each in a copy of
the sources.  Those no test notices are listed with the reason; more than one of ten is a failure.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src", "bagwise")
FILES = ["bags.py", "arrays.py", "columns.py", "checks.py", "kernels/*.py"]
TESTS = ["bags.py", "checks.py", "columns.py", "parallel.py", "vocabulary.py"]
TESTS = [*(f"tests/test_{file}" for file in TESTS), "tests/kernels"]
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
RESULT = ROOT / "benchmarks" / "results" / "faults.json"
N_WORKERS = 2
PATIENCE = 12  # times as long as the tests take without a mutant; what takes longer hangs

# Where Python finds another bagwise than the mutant, all mutants would seem to survive.
CHILD = """
import sys, pathlib, bagwise, pytest
inside = pathlib.Path(sys.argv[1]) in pathlib.Path(bagwise.__file__).resolve().parents
sys.exit(pytest.main(sys.argv[2:]) if inside else 99)
"""

# Mutants that no test can catch, and why: "file: part of a line -> what it becomes -> or this".
REASONS = {
    "bags.py: __hash__ = None -> pass": "a class with __eq__ and no __hash__ has none either",
    "bags.py: parts[0].names -> parts[-1].names": "the parts are alike in what they have",
    'bags.py: "ndim", 2) -> "ndim", 1)': "any number but 3",
    "checks.py: n=1 -> n=2": "only the first of the nearest names is told",
    "columns.py: {column.dtype.kind in -> {column.dtype.kind not in": "two kinds are two kinds",
    "columns.py: if x is y: return True -> if x is y: pass": "faster where they are one object",
    "columns.py: zip(a.ravel().tolist(), b -> zip(b.ravel().tolist(), a": "same is symmetric",
    "columns.py: np.empty((len(arrays[0]) -> np.empty((len(arrays[-1])": "they are of one length",
    "kernels/points.py: LANES = 256 -> LANES = 255 -> LANES = 257": "faster or slower",
    "kernels/points.py: 2.0**-24 -> 2.0**-23 -> 2.0**-25": "a bound of the worst case is not tight",
    "kernels/points.py: 2.0**-53 -> 2.0**-52 -> 2.0**-54": "a bound of the worst case is not tight",
    "kernels/points.py: + 8) -> + 9) -> + 7)": "a bound of the worst case is not tight",
    "kernels/points.py: best[p] > 2.2 -> best[p] >= 2.2": "both zero: all codewords are one",
    "kernels/points.py: reach > 0.0 -> reach >= 0.0": "the exponent of 0.0 is 0 too",
    "kernels/points.py: n_codewords // 4 -> n_codewords // 3": "more padding",
    "kernels/points.py: n_features // 4 -> n_features // 3": "more padding",
    "kernels/points.py: np.empty((4 -> np.empty((5": "a row that nobody reads",
    "kernels/points.py: loser < second -> loser <= second": "equals are equal",
    "kernels/points.py: place[:] = 0 -> place[:] = 1 -> place[:] = -1 -> pass": "read once set",
    "kernels/points.py: k + 4 -> k + 5 -> k + 3": "views know no bounds, and nobody reads further",
    "kernels/points.py: f + 4 -> f + 5 -> f + 3": "views know no bounds, and nobody reads further",
    "kernels/points.py: j if score < best -> j if score <= best": "float64 settles ties",
    "kernels/points.py: = score if score < best -> = score if score <= best": "equals are equal",
}


class Mutant(NamedTuple):
    """One fault: some bytes of a file become others."""

    file: str  # below src/bagwise
    line: int
    kind: str
    where: slice
    new: bytes
    before: str  # the lines it touches, in one
    after: str


Edits = Iterator[tuple[slice, bytes]]
TURNED = {"<": "<=", ">": ">=", "==": "!=", "is": "is not", "in": "not in"}
TURNED |= {after: before for before, after in TURNED.items()}
OPERATOR = re.compile(rb"[<>=!]=|[<>]|\bis\s+not\b|\bnot\s+in\b|\bis\b|\bin\b")
# Swapping the arguments of these says the same, or is an error whatever they are.
UNSWAPPED = b"max min np.minimum np.array_equal same _same_object isinstance hasattr".split()
DROPPED = (ast.Assign, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)


def turn_comparisons(node: ast.AST, text: bytes, place: Callable) -> Edits:
    """Take a limit in or out, or say the contrary."""
    if isinstance(node, ast.Compare):
        for left, right in pairwise([node.left, *node.comparators]):
            found = OPERATOR.search(text, place(left).stop, place(right).start)
            yield slice(*found.span()), TURNED[" ".join(found[0].decode().split())].encode()


def shift_numbers(node: ast.AST, text: bytes, place: Callable) -> Edits:
    """A whole number plus one and minus one."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield place(node), b"%d" % (node.value + 1)
        yield place(node), b"%d" % (node.value - 1)


def drop_lines(node: ast.AST, text: bytes, place: Callable) -> Edits:
    """A statement, or the body of an ``if`` without ``else``, becomes ``pass``."""
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if called or isinstance(node, DROPPED):
        yield place(node), b"pass"
    if isinstance(node, ast.If) and not node.orelse:
        yield slice(place(node.body[0]).start, place(node.body[-1]).stop), b"pass"


def swap_arguments(node: ast.AST, text: bytes, place: Callable) -> Edits:
    """Two positional arguments side by side change places."""
    if isinstance(node, ast.Call) and text[place(node.func)] not in UNSWAPPED:
        for left, right in pairwise(node.args):
            one, other = place(left), place(right)
            if text[one] != text[other] and ast.Starred not in (type(left), type(right)):
                between = text[one.stop : other.start]
                yield slice(one.start, other.stop), text[other] + between + text[one]


KINDS = {"comparison": turn_comparisons, "plus or minus one": shift_numbers}
KINDS |= {"dropped line": drop_lines, "swapped argument": swap_arguments}


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Every node but those of types and of f-strings, which Python 3.11 misplaces."""
    yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            hidden = for_types or name in ("annotation", "returns")
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr) and not hidden:
                yield from walk(child)


def find_mutants(file: str, text: bytes) -> list[Mutant]:
    """All mutants of one file, in the order of its tree; no two are alike."""
    starts = np.cumsum([0, *map(len, text.splitlines(keepends=True))]).tolist()

    def place(node: ast.AST) -> slice:
        first, last = starts[node.lineno - 1], starts[node.end_lineno - 1]
        return slice(first + node.col_offset, last + node.end_col_offset)

    found = {}
    for node in walk(ast.parse(text)):
        for kind, edits in KINDS.items():
            for where, new in edits(node, text, place):
                # The body of an `if` says little without its condition.
                first = place(node).start if isinstance(node, ast.If) else where.start
                mutated = text[: where.start] + new + text[where.stop :]
                before = _join_lines(text, first, where.stop)
                after = _join_lines(mutated, first, where.start + len(new))
                line = 1 + text.count(b"\n", 0, where.start)
                mutant = Mutant(file, line, kind, where, new, before, after)
                found.setdefault((where.start, where.stop, new), mutant)
    return list(found.values())


def _join_lines(text: bytes, start: int, end: int) -> str:
    return " ".join(text[text.rfind(b"\n", 0, start) + 1 : text.find(b"\n", end)].decode().split())


def find_all() -> list[Mutant]:
    """The mutants of every file."""
    package = ROOT / PACKAGE
    paths = [path for pattern in FILES for path in sorted(package.glob(pattern))]
    files = [path.relative_to(package).as_posix() for path in paths]
    return [one for file in files for one in find_mutants(file, (package / file).read_bytes())]


def draw(mutants: list[Mutant], n: int, seed: int) -> list[Mutant]:
    """``n`` mutants: one of each file, then as many of each kind, each place as likely."""
    order = np.random.default_rng(seed).permutation(len(mutants)).tolist()
    of_file = {mutants[i].file: i for i in reversed(order)}.values()
    turns = {}
    for i in dict.fromkeys([*of_file, *order]):
        turns[i] = i not in of_file, sum(mutants[i].kind == mutants[j].kind for j in turns)
    return [mutants[i] for i in sorted(sorted(turns, key=turns.get)[:n])]


class Worker:
    """A copy of the sources and the tests, in which one mutant at a time is tried.

    Numba knows what it compiled by the time stamp of one file, not of those a function calls.
    So mutants of kernels start from an empty cache; the others share one of the true kernels.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.limit, self.seconds, self.log = folder.resolve(), None, 0.0, ""
        for name in ("src", "tests"):
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, self.folder / name, ignore=unwanted)
        shutil.copy(ROOT / "pyproject.toml", self.folder)

    def run(self, mutant: Mutant) -> str | None:
        """Who catches the mutant: a test, the clock, or None."""
        path = self.folder / PACKAGE / mutant.file
        text, stamp = path.read_bytes(), path.stat()
        path.write_bytes(text[: mutant.where.start] + mutant.new + text[mutant.where.stop :])
        catcher = self.run_tests(mutant.file)
        path.write_bytes(text)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        return catcher

    def run_tests(self, file: str = "") -> str | None:
        """Run the tests up to the first that fails, those of the mutated file first; its name."""
        for name in (".hypothesis", "mutant"):  # left by another mutant
            shutil.rmtree(self.folder / name, ignore_errors=True)
        kernel = file.startswith("kernels/")
        tests = sorted(TESTS, key=("tests/kernels" if kernel else f"tests/test_{file}").__ne__)
        # -B: two texts of a file in one second would share their bytecode.
        command = [sys.executable, "-B", "-c", CHILD, str(self.folder), *OPTIONS, *tests]
        cache = str(self.folder / ("mutant" if kernel else "kernels"))
        paths = {"PYTHONPATH": str(self.folder / "src"), "NUMBA_CACHE_DIR": cache}
        how = {"cwd": self.folder, "env": os.environ | paths, "timeout": self.limit}
        start = time.perf_counter()
        try:
            child = subprocess.run(command, capture_output=True, **how)
        except subprocess.TimeoutExpired:
            return f"{self.limit:.0f} seconds"
        finally:
            self.seconds = time.perf_counter() - start
        self.log = (child.stdout + child.stderr).decode(errors="replace")
        return name_catcher(child.returncode, self.log)


def name_catcher(code: int, log: str) -> str | None:
    """The test that failed; an error where the tests did not run at all."""
    if code in (4, 5, 99):  # wrong options, no tests, another bagwise
        raise RuntimeError(f"the tests did not run on the copied sources:\n{log[-2000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (?:\S*/)?(\S+)", log, re.MULTILINE)
    return None if code == 0 else failed[1] if failed else f"exit status {code}"


def try_all(mutants: list[Mutant]) -> Iterator[tuple[str | None, float]]:
    """Who catches each mutant, and after how many seconds; the tests pass without one first."""
    with tempfile.TemporaryDirectory() as folder, ThreadPool(N_WORKERS) as pool:
        idle = [Worker(Path(folder, str(w))) for w in range(N_WORKERS)]
        for worker, failed in zip(idle, pool.map(Worker.run_tests, idle), strict=True):
            if failed:
                sys.exit(f"the tests fail without a mutant:\n{worker.log[-4000:]}")
            worker.limit = PATIENCE * worker.seconds

        def run(mutant: Mutant) -> tuple[str | None, float]:
            worker = idle.pop()  # there are as many as threads
            fate = worker.run(mutant), worker.seconds
            idle.append(worker)
            return fate

        yield from pool.imap(run, mutants)


def find_reason(one: Mutant) -> str:
    """Why a survivor survives."""
    for change, reason in REASONS.items():
        before, *after = change.removeprefix(f"{one.file}: ").split(" -> ")
        if one.after in [one.before.replace(before, new, 1) for new in after]:
            return reason
    return "no reason given"


def tell(one: Mutant) -> str:
    """Where a mutant is, of which kind, what it was and what it became."""
    return f"{one.file}:{one.line}  {one.kind}  {one.before[:90]}  ->  {one.after[:90]}"


def main(arguments: list[str] | None = None) -> int:
    """Draw, run, tell; 1 where too few were caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    chosen = parser.parse_args(arguments)
    start, mutants = time.perf_counter(), draw(find_all(), chosen.n, chosen.seed)
    if chosen.list:
        print(*map(tell, mutants), sep="\n")
        return 0
    survivors = []
    for mutant, (catcher, seconds) in zip(mutants, try_all(mutants), strict=True):
        fate = f"caught by {catcher}" if catcher else "SURVIVED"
        print(f"{tell(mutant)}  {fate}  {seconds:.1f} s", flush=True)
        survivors += [] if catcher else [{"mutant": tell(mutant), "reason": find_reason(mutant)}]
    caught, seconds = len(mutants) - len(survivors), round(time.perf_counter() - start)
    print("", *(f"{one['mutant']}\n    {one['reason']}" for one in survivors), sep="\n")
    print(f"caught {caught} of {len(mutants)} in {seconds} s")
    if chosen == parser.parse_args([]):  # the record is of one draw
        told = {"seed": chosen.seed, "n": len(mutants), "caught": caught}
        text = json.dumps(told | {"survivors": survivors, "seconds": seconds}, indent=2)
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(f"{text}\n", encoding="utf-8")
    return int(caught < 0.9 * len(mutants))


if __name__ == "__main__":
    sys.exit(main())
