"""Stand-in for finding ROM files."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from worldloom.core.errors import InputError


@dataclass(frozen=True)
class Rom:
    """A ROM: its name, its bytes, their MD5 and where it was found."""

    name: str
    image: bytes
    md5: str
    source: Path


def find(name: str) -> Rom:
    """The ROM of a game, or of a file."""
    path = Path(name)
    if not path.suffix:
        spec = importlib.util.find_spec("ale_py")
        if spec is None or spec.origin is None:
            raise InputError(f"there is no ROM of {name}: pip install 'worldloom[atari]', or set ALE_ROMS_DIR to a folder that has it")
        path = Path(spec.origin).parent / "roms" / f"{name}.bin"
    image = path.read_bytes()
    return Rom(path.stem, image, hashlib.md5(image, usedforsecurity=False).hexdigest(), path)
