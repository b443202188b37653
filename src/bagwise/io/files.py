"""Files that are whole or absent, and one door for what a stranger's file may do."""

import csv
import os
import secrets
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bagwise.checks import available_memory, check_whole, closest

# What the readers below us raise on a file that is cut, damaged or made to harm.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    csv.Error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    KeyError,
    IndexError,
    AttributeError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    OSError,
)


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` once all of it is on disk, or never."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder, expected the name of a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} in")
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    except BaseException:
        with suppress(FileNotFoundError):
            draft.unlink()
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the folder's names durable, where the system lets a folder be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def reading(path: str | os.PathLike) -> Iterator[None]:
    """The one door of all readers: whatever goes wrong becomes one sentence with the path."""
    if not Path(path).exists():
        known = [one.name for one in Path(path).parent.glob("*")]
        raise FileNotFoundError(f"there is no file {path}{closest(Path(path).name, known)}")
    try:
        yield
    except MemoryError:
        raise ValueError(f"{path}: does not fit in memory") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: byte {error.start} is not UTF-8; save the text as UTF-8"
        ) from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {_line(error)}") from None
    except (PermissionError, IsADirectoryError) as error:
        raise type(error)(f"{path} cannot be opened: {error.strerror}") from None
    except _DAMAGE as error:
        raise ValueError(
            f"{path}: is cut, damaged or of another format ({type(error).__name__}: {_line(error)})"
        ) from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]


class Budget:
    """How many bytes a file may still take once it is read."""

    def __init__(self, max_bytes: int | None) -> None:
        if max_bytes is not None:
            check_whole("max_bytes", max_bytes, 1)
        # Half of what there is: a reader holds its data twice for a moment.
        self.limit = available_memory() / 2 if max_bytes is None else max_bytes
        self.left = self.limit

    def take(self, n_bytes: int) -> None:
        """Count bytes that are about to be read; refuse those beyond the limit."""
        self.expect(n_bytes)
        self.left -= n_bytes

    def expect(self, n_bytes: int) -> None:
        """Refuse bytes beyond the limit, before any of them is read."""
        if n_bytes > self.left:
            raise ValueError(
                f"would take more than {self.limit:,.0f} bytes of memory; read it in parts, or "
                "raise max_bytes if there is room"
            )
