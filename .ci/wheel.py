"""Refuse a wheel that lacks a file of the package: ``python .ci/wheel.py FILE.whl``."""

import sys
import zipfile
from pathlib import Path

source = Path(__file__).resolve().parents[1] / "src"
wanted = {
    path.relative_to(source).as_posix()
    for path in (source / "bagwise").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}
with zipfile.ZipFile(sys.argv[1]) as wheel:
    missing = wanted - set(wheel.namelist())
if missing:
    sys.exit(f"the wheel lacks {', '.join(sorted(missing))}")
plain = [name for name in sorted(wanted) if not name.endswith(".py")]
print(f"the wheel holds all {len(wanted)} files, {', '.join(plain)} among them")
