"""Work over blocks of bags: cut by the data's size, never by who works."""

import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from bagwise.arrays import mapped
from bagwise.bags import Bags
from bagwise.checks import LARGEST, describe, find_unfit

VALUES_PER_BLOCK = 1 << 19  # 4 MB of float64: in cache with what a kernel keeps beside it


def map_blocks(
    function: Callable[[Bags, slice], Any], bags: Bags, n_jobs: int | None = None
) -> list:
    """function(block, where) for every ``block = bags[where]``, in order, on ``n_jobs`` threads.

    Values are checked on the way, and the pages of mapped points dropped, so that data larger
    than memory passes through.
    """

    def run(where: slice) -> Any:
        block = bags[where]
        check_values(block, where.start)
        result = function(block, where)
        release(block.points)
        return result

    return map_threads(run, blocks(bags), n_jobs)


def blocks(bags: Bags) -> list[slice]:
    """Runs of whole bags of about VALUES_PER_BLOCK numbers; a larger bag is its own run."""
    step = max(1, VALUES_PER_BLOCK // bags.n_features)
    marks = np.searchsorted(bags.offsets, np.arange(0, bags.offsets[-1], step))
    edges = np.unique(np.append(marks, len(bags)))
    return [slice(start, stop) for start, stop in pairwise(edges.tolist())]


def cut_rows(n_rows: int, n_features: int) -> list[slice]:
    """Runs of rows of about twice VALUES_PER_BLOCK numbers."""
    step = max(1, 2 * VALUES_PER_BLOCK // n_features)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def pieces(bags: Bags) -> Iterator[slice]:
    """Runs of rows that cover a block: one, unless a single bag makes it too large.

    Between them the pages of mapped points are dropped.
    """
    for rows in cut_rows(*bags.points.shape):
        yield rows
        if rows.stop < len(bags.points):
            release(bags.points[rows])


def check_values(bags: Bags, first: int = 0) -> None:
    """Refuse NaN, infinity and what cannot be squared; ``first`` is the number of bag 0."""
    for rows in pieces(bags):
        for values, least in ((bags.points, -LARGEST), (bags.weights, 0.0)):
            unfit = None if values is None else find_unfit(values[rows], least)
            if unfit is None:
                continue
            value, point = float(values[rows][unfit]), rows.start + unfit[0]
            b = int(np.searchsorted(bags.offsets, point, side="right")) - 1
            where = f"in feature {unfit[1]}" if len(unfit) > 1 else "as the weight"
            finite = f"finite numbers up to {LARGEST:g}, whose squares do not overflow"
            expected = finite if least else f"a number of zero or more, up to {LARGEST:g}"
            raise ValueError(
                f"bag {first + b} has {describe(value)} {where} of point "
                f"{point - bags.offsets[b]}, expected {expected}"
            )


def release(points: np.ndarray) -> None:
    """Drop the pages of mapped points from memory; the file still has them."""
    source = mapped(points)
    if source is None or source.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return  # what was written to a copy on write is nowhere else
    pages = source.base
    while not isinstance(pages, mmap.mmap):
        pages = pages.base
    start = points.ctypes.data - np.frombuffer(pages, np.uint8).ctypes.data
    edge = start - start % mmap.PAGESIZE
    pages.madvise(mmap.MADV_DONTNEED, edge, start + points.nbytes - edge)


def map_threads(function: Callable[[Any], Any], items: list, n_jobs: int | None = None) -> list:
    """function(item) for every item, in order, on ``n_jobs`` threads of one BLAS thread each."""
    from joblib import effective_n_jobs

    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs is {n_jobs!r}, expected a whole number or None")
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, expected 1 or more, None for one, or -1 for all processors")
    n_threads = min(effective_n_jobs(n_jobs), len(items))
    with one_thread():
        if n_threads <= 1:
            return [function(item) for item in items]
        # OpenMP's limit is each thread's own; these threads end with it.
        limit = partial(_pools().limit, limits=1, user_api="openmp")
        pool = ThreadPoolExecutor(n_threads, initializer=limit)
        try:
            return list(pool.map(function, items))
        finally:
            pool.shutdown(cancel_futures=True)


class _Blas:
    """The one limit on BLAS, which belongs to the process, and how many callers need it."""

    lock = threading.Lock()
    users = 0
    limit: Any = None

    @classmethod
    def forget(cls) -> None:
        """Start anew in a forked child, where those who held the lock do not exist."""
        cls.lock, cls.users = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Blas.forget)


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread: their number changes bits.

    BLAS is limited for the process, from the first caller to the last.  OpenMP is limited for
    the calling thread alone; scikit-learn's k-means adds in the order of its threads.
    """
    with _Blas.lock:
        if not _Blas.users:
            _Blas.limit = _pools().limit(limits=1, user_api="blas")
        _Blas.users += 1
    try:
        with _pools().limit(limits=1, user_api="openmp"):
            yield
    finally:
        with _Blas.lock:
            _Blas.users -= 1
            if not _Blas.users:
                _Blas.limit.restore_original_limits()


def _pools() -> Any:
    """The thread pools of the libraries loaded so far; looking for them takes milliseconds."""
    return _find_pools(len(sys.modules))


@lru_cache(maxsize=1)
def _find_pools(n_modules: int) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
