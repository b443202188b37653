import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info

from bagwise import Bags, parallel
from bagwise.parallel import (
    blocks,
    check_values,
    cut_rows,
    map_blocks,
    map_threads,
    one_thread,
    pieces,
    release,
)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(parallel, "VALUES_PER_BLOCK", 8)


def make_bags(sizes, n_features=2):
    points = np.arange(float(sum(sizes) * n_features)).reshape(-1, n_features)
    return Bags(points, np.append(0, np.cumsum(sizes)))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=30))
def test_blocks_are_whole_bags_in_order(sizes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "VALUES_PER_BLOCK", 8)
        bags = make_bags(sizes)
        cuts = blocks(bags)
        assert [b for cut in cuts for b in range(len(sizes))[cut]] == list(range(len(sizes)))
        for cut in cuts:
            assert sum(sizes[cut]) - max(sizes[cut]) < 4
        covered = [
            i
            for cut in cuts
            for rows in pieces(bags[cut])
            for i in range(len(bags[cut].points))[rows]
        ]
        assert len(covered) == len(bags.points)


def test_rows_are_cut_by_their_width(small_blocks):
    assert cut_rows(10, 4) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert cut_rows(3, 1000) == [slice(0, 1), slice(1, 2), slice(2, 3)]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
def test_map_blocks_keeps_order_for_any_number_of_threads(small_blocks, n_jobs):
    bags = make_bags([3, 1, 9, 2, 2, 4])
    sums = map_blocks(lambda block, where: (where.start, block.points.sum()), bags, n_jobs)
    assert [start for start, _ in sums] == [cut.start for cut in blocks(bags)]
    assert sum(part for _, part in sums) == bags.points.sum()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(np.nan, np.float32), (np.nan, float), (np.inf, np.float32), (-np.inf, float), (1e200, float)],
)
def test_unfit_values_are_named_by_bag_point_and_feature(small_blocks, value, dtype):
    bags = make_bags([3, 1, 9])
    points = bags.points.astype(dtype)
    points[9, 1] = value
    name = {"nan": "NaN", "inf": "infinity", "-inf": "infinity"}.get(str(value), "1e")
    with pytest.raises(
        ValueError, match=f"bag 2 has {name}.* in feature 1 of point 5, expected fin"
    ):
        map_blocks(lambda block, where: None, Bags(points, bags.offsets), 2)


def test_mapped_weights_are_checked_when_used(tmp_path):
    np.save(tmp_path / "weights.npy", np.array([1.0, -1.0]))
    weights = np.load(tmp_path / "weights.npy", mmap_mode="r")
    bags = Bags([[1.0], [2.0]], [0, 1, 2], weights=weights)
    with pytest.raises(
        ValueError, match="bag 1 has -1 as the weight of point 0, expected a number of zero or"
    ):
        check_values(bags)


def test_an_error_of_the_function_comes_through(small_blocks):
    def fail(block, where):
        raise KeyError(where.start)

    with pytest.raises(KeyError, match="0"):
        map_blocks(fail, make_bags([3, 3, 3]), 2)


def test_after_an_error_no_further_work_starts():
    started = []

    def work(item):
        started.append(item)
        if item == 0:
            raise ValueError("first")
        time.sleep(0.01)

    with pytest.raises(ValueError, match="first"):
        map_threads(work, list(range(1000)), 2)
    assert len(started) < 100
    assert threading.active_count() < 10


def test_n_jobs_of_zero_is_refused():
    with pytest.raises(ValueError, match="n_jobs is 0, expected 1 or more"):
        map_threads(len, [[]], 0)


def limits():
    return {(pool["user_api"], pool["filepath"]): pool["num_threads"] for pool in threadpool_info()}


def test_blas_and_openmp_run_one_thread_inside_and_as_many_after():
    import sklearn.cluster  # noqa: F401  brings OpenMP

    before = limits()
    assert {api for api, _ in before} == {"blas", "openmp"}
    inside = map_threads(lambda item: limits(), [0, 1, 2], 2)
    assert all(n == 1 for each in inside for n in each.values())
    with one_thread(), one_thread():
        assert all(n == 1 for n in limits().values())
    assert limits() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork beside threads
def test_a_child_forked_inside_a_call_neither_hangs_nor_forgets_its_limit():
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with parallel._Blas.lock:  # as a thread does that enters or leaves
            inside.set()
            leave.wait()

    with one_thread():
        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()
        child = os.fork()
        if not child:
            with one_thread():
                os._exit(max(n for (api, _), n in limits().items() if api == "blas"))
        leave.set()
        thread.join()
    for _ in range(200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
    assert done
    assert os.waitstatus_to_exitcode(status) == 1


def test_blas_stays_limited_until_the_last_caller_is_done():
    before = limits()
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with one_thread():
            inside.set()
            leave.wait()
            seen.append({api: n for (api, _), n in limits().items()})

    thread = threading.Thread(target=other)
    with one_thread():
        thread.start()
        inside.wait()
    leave.set()
    thread.join()
    assert seen == [{"blas": 1, "openmp": 1}]
    assert limits() == before


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_released_pages_still_hold_their_values(tmp_path, mode):
    values = np.arange(3e5).reshape(-1, 3)
    np.save(tmp_path / "points.npy", values)
    points = np.load(tmp_path / "points.npy", mmap_mode=mode)
    if mode != "r":
        points[5] = values[5] = -1.0
    release(points[1000:90000])
    release(points[3:4])
    assert_array_equal(points, values)
    release(np.zeros(3))  # not mapped: nothing to do


def test_release_lowers_the_resident_set(tmp_path):
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system has no /proc/self/statm")

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1])

    np.save(tmp_path / "points.npy", np.ones((1 << 20, 4)))
    points = np.load(tmp_path / "points.npy", mmap_mode="r")
    assert points.sum() == 4 << 20
    full = resident()
    release(points[: 1 << 19])
    half = resident()
    release(np.asarray(points)[1 << 19 :])
    pages = (32 << 20) // 4096
    assert full - half > 0.45 * pages
    assert full - resident() > 0.95 * pages
