"""Files of tensors: safetensors with a digest of every byte, written atomically, and refused if a byte has changed.

The file is plain safetensors, which any program can read. Its metadata holds the kind of file, the version of that
kind, and the SHA-256 of the whole file with 64 zeros in place of the digest. Nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_file
from worldloom.core.base.paths import expand_home, printable_path

_BLANK = "0" * 64
_FIELD = b'"sha256":"'


@dataclass(frozen=True)
class Contents:
    """The content of a file: its tensors on the CPU by name, and its facts, which are JSON values."""

    tensors: dict[str, Any]
    facts: dict[str, Any]


def write(path: str | Path, kind: str, version: int, tensors: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Write PyTorch tensors from any device to ``path``. An existing file is replaced when the new one is complete."""
    write_file(_path(path), encode(kind, version, tensors, facts))


def encode(kind: str, version: int, tensors: Mapping[str, Any], facts: Mapping[str, Any]) -> bytearray:
    """The bytes of the file that :func:`write` writes."""
    import safetensors.torch

    metadata = {
        "kind": kind,
        "version": str(version),
        "worldloom": worldloom_version(),
        "facts": json.dumps(facts),
        "sha256": _BLANK,
    }
    plain = {name: _on_host(tensor.detach()) for name, tensor in tensors.items()}
    data = bytearray(safetensors.torch.save(plain, metadata))
    offset = _digest_offset(data)
    assert offset is not None
    data[offset : offset + 64] = hashlib.sha256(data).hexdigest().encode()
    return data


def read(path: str | Path, kind: str, version: int) -> Contents:
    """The content that :func:`write` wrote to ``path``.

    Raises InputError if the file is missing, of another kind, truncated or altered in any byte.
    """
    target = _path(path)
    return decode(_bytes(target), printable_path(target), kind, version)


def decode(data: bytearray, source: str, kind: str, version: int) -> Contents:
    """The content of the bytes of :func:`encode`; ``source`` names them in messages.

    Raises InputError if they are of another kind, truncated or altered in any byte.
    """
    import safetensors.torch

    metadata, offset = _metadata(data), _digest_offset(data)
    if metadata is None or offset is None:
        raise _bad(source, kind, "it is no whole safetensors file with a digest")
    digest = bytes(data[offset : offset + 64])
    data[offset : offset + 64] = _BLANK.encode()
    if hashlib.sha256(data).hexdigest().encode() != digest:
        raise _bad(source, kind, "it was cut short or altered")
    if metadata.get("kind") != kind:
        raise InputError(f"{source} holds a {str(metadata.get('kind'))[:40]}, not a {kind}")
    try:
        if int(metadata["version"]) > version:
            raise InputError(
                f"{source} has version {metadata['version']}, "
                f"and this worldloom reads up to {version}: use a later worldloom"
            )
        facts = json.loads(metadata["facts"])
        tensors = safetensors.torch.load(bytes(data))
    except InputError:
        raise
    except RecursionError:
        raise _bad(source, kind, "its facts are nested too deeply") from None
    except (
        safetensors.SafetensorError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        RuntimeError,
        MemoryError,
    ) as error:
        raise _bad(source, kind, f"it cannot be understood ({str(error)[:200]})") from None
    if not isinstance(facts, dict):
        raise _bad(source, kind, "its facts are not a JSON object")
    return Contents(tensors, facts)


def _on_host(tensor: Any) -> Any:
    """A copy on the CPU with the same bytes. PyTorch's own copy would turn every boolean into 0 or 1."""
    import torch

    if tensor.dtype == torch.bool:
        return tensor.view(torch.uint8).to("cpu", copy=True).contiguous().view(torch.bool)
    return tensor.to("cpu", copy=True).contiguous()


def is_int_in_range(value: Any, low: int, high: int) -> bool:
    """Whether a JSON value is a whole number, not a boolean, from ``low`` to ``high``."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _path(path: str | Path) -> Path:
    """``path`` as a Path. Raises InputError if it cannot be one."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"a path is a string or a pathlib.Path, not {type(path).__name__}")
    if "\0" in os.fsdecode(path):
        raise InputError(f"the path {printable_path(os.fsdecode(path))} holds a NUL character, which no file name has")
    return expand_home(Path(os.fsdecode(path)))


def _bytes(target: Path) -> bytearray:
    """The content of a regular file. Pipes and devices are refused, since a read of them can block."""
    try:
        if not stat.S_ISREG(os.stat(target).st_mode):
            raise InputError(f"{printable_path(target)} cannot be read (it is no plain file)")
        return bytearray(target.read_bytes())
    except OSError as error:
        raise InputError(f"{printable_path(target)} cannot be read ({error.strerror})") from None
    except MemoryError:
        raise InputError(f"{printable_path(target)} cannot be read (it is larger than the memory)") from None


def worldloom_version() -> str:
    """The version of the installed package; empty if it is not installed."""
    try:
        return importlib.metadata.version("worldloom")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _header(data: bytearray) -> bytes | None:
    """The JSON header of a safetensors file; None if it is incomplete."""
    size = int.from_bytes(data[:8], "little")
    return bytes(data[8 : 8 + size]) if 8 < 8 + size <= len(data) else None


def _metadata(data: bytearray) -> dict[str, str] | None:
    try:
        metadata = json.loads(_header(data) or b"")["__metadata__"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return metadata if isinstance(metadata, dict) else None


def _digest_offset(data: bytearray) -> int | None:
    """The offset of the digest. Other values in the header are escaped, so only the field itself matches."""
    start = (_header(data) or b"").find(_FIELD)
    end = 8 + start + len(_FIELD)
    return end if start >= 0 and len(data) >= end + 64 else None


def _bad(source: str, kind: str, problem: str) -> InputError:
    return InputError(f"{source} cannot be used as a {kind}, since {problem}: take another file")
