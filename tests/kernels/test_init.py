import numba
import pytest

from bagwise import kernels


def test_a_kernel_holds_no_lock_and_keeps_a_cache():
    @kernels.kernel
    def double(x):
        return 2 * x

    assert double(3.0) == 6.0
    assert double.targetoptions["nogil"]
    assert "fastmath" not in double.targetoptions
    assert "parallel" not in double.targetoptions


def test_without_a_folder_to_write_kernels_run_uncached(monkeypatch):
    calls = []

    def njit(cache=False, **options):
        calls.append(cache)
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available for file")
        return numba.njit(**options)

    monkeypatch.setattr(kernels, "njit", njit)
    assert kernels.kernel(lambda x: 2 * x)(3.0) == 6.0
    assert calls == [True, False]


def test_a_division_by_zero_is_infinity_as_in_numpy():
    @kernels.kernel
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == float("inf")
    assert inverse(-0.0) == -float("inf")


def test_a_fault_in_a_kernel_comes_through():
    @kernels.kernel
    def broken(x):
        return x.no_such_attribute

    with pytest.raises(numba.TypingError, match="no_such_attribute"):
        broken(1.0)
