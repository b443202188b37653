"""Check a parameter, word the error, know what memory there is."""

import difflib
import math
import os
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path

import numpy as np

# Squares of larger numbers overflow once some are added.
LARGEST = 1e150


def closest(name: object, known: Iterable[object]) -> str:
    """The hint that ends an error about an unknown name, or nothing if none is near."""
    near = difflib.get_close_matches(str(name), [str(one) for one in known], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is not one of the choices."""
    choices = sorted(choices)
    if not isinstance(value, str) or value not in choices:
        hint = closest(value, choices)
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(choices)}{hint}")


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {value!r}, expected a whole number of at least {least}")
    if value < least:
        raise ValueError(f"{name} is {value}, expected a whole number of at least {least}")


def check_real(name: str, value: object, least: float = -math.inf) -> None:
    """Refuse what is not a finite number of at least ``least``."""
    floor = f" of at least {least:g}" if least > -math.inf else ""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {value!r}, expected a finite number{floor}")
    if not math.isfinite(value) or value < least:
        raise ValueError(f"{name} is {value}, expected a finite number{floor}")


def check_learned(model: object, **shapes: tuple[int, ...]) -> None:
    """Refuse learned arrays that are not finite float64 of these shapes."""
    for name, shape in shapes.items():
        value = getattr(model, name, None)
        if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != shape:
            raise ValueError(f"{type(model).__name__}.{name} is no float64 array of shape {shape}")
        if find_unfit(value) is not None:
            raise ValueError(f"{type(model).__name__}.{name} holds NaN or infinity")


def find_unfit(values: np.ndarray, least: float = -LARGEST) -> tuple | None:
    """Index of the first value that is NaN or outside [least, LARGEST]; None if all are fit."""
    if not values.size or (float(values.min()) >= least and float(values.max()) <= LARGEST):
        return None  # NaN compares false
    values = values.astype(np.float64)  # float32 knows no LARGEST
    return tuple(np.argwhere(~((values >= least) & (values <= LARGEST)))[0].tolist())


def describe(value: float) -> str:
    """A number as errors print it: NaN, infinity or the number."""
    if math.isnan(value):
        return "NaN"
    return "infinity" if math.isinf(value) else f"{value:g}"


def available_memory() -> float:
    """Bytes this process can still take; infinity where the system does not say."""
    limits = [math.inf]
    meminfo, statm = Path("/proc/meminfo"), Path("/proc/self/statm")
    if meminfo.exists():
        fields = dict(line.split(":") for line in meminfo.read_text().splitlines())
        limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    elif hasattr(os, "sysconf"):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    if statm.exists():
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            limits.append(limit - int(statm.read_text().split()[0]) * resource.getpagesize())
    return max(0, min(limits))
