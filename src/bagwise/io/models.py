"""Fitted models without pickle: a line that says what follows, then skops' archive."""

import copy
import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import SVC, NuSVC

import bagwise
from bagwise.checks import available_memory
from bagwise.io.files import Budget, reading, replacing
from bagwise.io.npy import read_array
from bagwise.io.trusted import TRUSTED

FORMAT, VERSION = "bagwise model", 1
OLDEST_PROTOCOL = 2  # of skops; older ones are read by code that checks less
LONGEST_HEADER = 1000


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model or pipeline, without pickle: all of it, or none.

    What ``load`` would refuse is refused here.  Callbacks are left out.
    """
    bare = _without_callbacks(model)
    payload = _pack(bare)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "bagwise": bagwise.__version__,
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    with replacing(path) as file:
        file.write(json.dumps(header).encode() + b"\n" + payload)


def load(path: str | os.PathLike) -> Any:
    """The model that ``save`` wrote; a file from a stranger runs no code.

    Only the types listed in ``bagwise.io.trusted`` are built.
    """
    with reading(path):
        size = Path(path).stat().st_size
        if size > available_memory() / 4:
            raise ValueError(f"has {size:,} bytes, more than memory can take")
        with open(path, "rb") as file:
            first = file.readline(LONGEST_HEADER)
            payload = file.read()
        _check_header(first, payload)
        return _unpack(payload)


def _check_header(first: bytes, payload: bytes) -> None:
    try:
        header = json.loads(first)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("is not a model that bagwise.save wrote; pickles are never loaded")
    if header.get("version") != VERSION:
        raise ValueError(
            f"is of format version {header.get('version')!r}, this bagwise reads {VERSION}; "
            "update bagwise"
        )
    if header.get("sha256") != hashlib.sha256(payload).hexdigest():
        raise ValueError("is cut or was changed since it was saved: its checksum differs")


def _pack(model: Any) -> bytes:
    import skops.io

    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model is a {type(model).__name__}, expected an estimator or pipeline")
    try:
        payload = skops.io.dumps(model)
        _unpack(payload)
    except Exception as error:
        step, reason = _blame(model, error)
        raise TypeError(f"{step} cannot be saved without pickle: {reason}") from None
    return payload


def _blame(model: Any, error: Exception) -> tuple[str, str]:
    """The innermost step that cannot be saved alone, and why."""
    import skops.io

    for name, part in model.get_params(deep=True).items():
        if isinstance(part, BaseEstimator) and "__" not in name:
            try:
                _unpack(skops.io.dumps(part))
            except Exception as deeper:
                step, reason = _blame(part, deeper)
                return f"step {name!r}, {step}", reason
    return type(model).__name__, " ".join(str(error).split())


def _unpack(payload: bytes) -> Any:
    """The model of an archive in which everything is as it says and of a trusted type."""
    import skops.io

    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        _check_packing(archive, len(payload))
        schema = json.loads(archive.read("schema.json"))
        if schema.get("protocol", 0) < OLDEST_PROTOCOL:
            raise ValueError(f"is of skops protocol {schema.get('protocol')!r}, which is not read")
        for loader, name in _types(schema):
            if name not in TRUSTED.get(loader, ()):
                raise ValueError(f"it holds a {name}, which is not among the types load trusts")
        _check_arrays(archive)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of skops on its dependencies
        model = skops.io.loads(payload, trusted=sorted(set().union(*TRUSTED.values())))
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"it holds a {type(model).__name__}, expected an estimator")
    for part in parts_of(model):
        _check_part(part)
    return model


def _check_packing(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Refuse an archive that could be larger than its file."""
    members = archive.infolist()
    if len({info.filename for info in members}) < len(members):
        raise ValueError("it holds two parts of one name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members):
        raise ValueError("its parts are packed, and save packs none")
    if sum(info.file_size for info in members) > n_bytes:
        raise ValueError("its parts say they are larger than the file")


def _check_arrays(archive: zipfile.ZipFile) -> None:
    """Refuse arrays that are not what their headers say."""
    budget = Budget(None)
    for info in archive.infolist():
        if info.filename.endswith(".npz"):
            with zipfile.ZipFile(io.BytesIO(archive.read(info))) as sparse:
                for part in sparse.infolist():
                    _check_array(sparse, part, budget)
        elif info.filename != "schema.json":
            _check_array(archive, info, budget)


def _check_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget) -> None:
    with archive.open(info) as stream:
        read_array(info.filename, stream, budget)


def _types(node: Any) -> Iterator[tuple[str, str]]:
    """Every (loader, type) that an archive's schema speaks of, however deep."""
    if isinstance(node, dict):
        if "__loader__" in node:
            yield str(node["__loader__"]), f"{node.get('__module__')}.{node.get('__class__')}"
        for child in node.values():
            yield from _types(child)
    elif isinstance(node, list):
        for child in node:
            yield from _types(child)


def parts_of(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The value and everything it holds, each once."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if isinstance(value, BaseEstimator):
        held = list(vars(value).values())
    elif isinstance(value, dict):
        held = list(value.values())
    elif isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        held = list(value)
    else:
        held = []
    for one in held:
        yield from parts_of(one, seen)


def _check_part(part: Any) -> None:
    """Refuse content that compiled code would follow out of its bounds, or that hides a method."""
    if issparse(part):
        part.check_format(full_check=True)
    if not isinstance(part, BaseEstimator):
        return
    for name in vars(part):
        if callable(getattr(type(part), name, None)):
            raise ValueError(f"it gives {type(part).__name__} a method {name!r} of its own")
    if hasattr(part, "check_learned"):
        part.check_learned()
    if isinstance(part, SVC | NuSVC) and hasattr(part, "support_"):
        _check_support(part)
    if isinstance(part, CountVectorizer) and hasattr(part, "vocabulary_"):
        places = part.vocabulary_.values()
        if sorted(places, key=str) != sorted(range(len(places)), key=str):
            raise ValueError("its vocabulary does not number its words from zero")
    if getattr(part, "memory", None) is not None:
        raise ValueError("it keeps a cache on disk, which would be read by pickle; set memory=None")


def _check_support(svm: Any) -> None:
    """Refuse an SVM whose arrays libsvm would read beyond their ends."""
    if callable(svm.kernel) or svm.kernel == "precomputed":
        raise ValueError(f"its kernel is {svm.kernel!r}, which is not among those load trusts")
    n_classes, n_vectors = len(svm.classes_), len(svm.support_)
    n_pairs = n_classes * (n_classes - 1) // 2
    shapes = {
        "_n_support": (n_classes,),
        "support_": (n_vectors,),
        "support_vectors_": (n_vectors, svm.n_features_in_),
        "_dual_coef_": (n_classes - 1, n_vectors),
        "_intercept_": (n_pairs,),
    }
    fit = all(
        isinstance(getattr(svm, name, None), np.ndarray) and getattr(svm, name).shape == shape
        for name, shape in shapes.items()
    )
    if (
        not fit
        or svm._n_support.min() < 0
        or svm._n_support.sum() != n_vectors
        or {len(svm._probA), len(svm._probB)} not in ({0}, {n_pairs})
    ):
        raise ValueError("its support vectors do not fit each other, or are sparse")


def _without_callbacks(model: Any) -> Any:
    """The model itself, or a copy without callbacks where it has some."""
    found = [part for part in parts_of(model) if hasattr(part, "_skl_callbacks")]
    if not found:
        return model
    model = copy.deepcopy(model, {id(part._skl_callbacks): [] for part in found})
    for part in parts_of(model):
        if hasattr(part, "_skl_callbacks"):
            del part._skl_callbacks
    return model
