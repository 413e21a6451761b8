"""The files with the worlds of this user's own runs.

A run's folder is data, and a file that its ``config.json`` names is a program. The file is found again without being
named only where this user trained in that folder with that file before. The record of this is in the user's cache
folder, so a folder from elsewhere cannot contain it. A record that another user may have written is ignored.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from worldloom.core.base.caches.trusted_files import (
    make_folder,
    refuse_other_writers,
    untrusted_folder_reason,
    untrusted_reason,
)
from worldloom.core.base.errors import WorldloomError
from worldloom.core.base.files import read_file, write_file

MAX_BYTES = 1 << 16
"""Maximum size of a record."""


def remember_world(folder: Path, file: str) -> None:
    """Record that this user trains in ``folder`` with the world in ``file``. Without a cache folder nothing is done."""
    record = _record(folder)
    try:
        make_folder(record.parent)
        write_file(record, file)
        refuse_other_writers(record)
    except (OSError, WorldloomError):
        return


def is_known_world(folder: Path, file: str) -> bool:
    """Whether this user trained in ``folder`` with the world in ``file``."""
    record = _record(folder)
    if untrusted_reason(record) or any(map(untrusted_folder_reason, record.parents[:2])):
        return False
    try:
        return read_file(record, MAX_BYTES) == file.encode("utf-8")
    except (OSError, ValueError, WorldloomError):
        return False


def _record(folder: Path) -> Path:
    """The file with the record about a run's folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    name = hashlib.sha256(os.fsencode(Path(folder).expanduser().resolve())).hexdigest()
    return cache / "worldloom" / "run_worlds" / name
