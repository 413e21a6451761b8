"""Atomic writes, and files that are opened without following symbolic links.

A folder may come from an untrusted source, so nothing in it may redirect a write. Temporary files have random names and
are created exclusively (``O_EXCL``), and a symbolic link in place of a file is refused.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worldloom.core.base.errors import InputError, StorageError

_NO_FOLLOW = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}\.writing(\..*)?", re.DOTALL)


@contextmanager
def atomic_write(target: Path, needed: int | None = None) -> Iterator[Path]:
    """A new, empty file in the folder of ``target`` with the same suffix.

    It replaces ``target`` at the end of the block.

    ``target`` is always the old file or the new one, also after a power failure. After an error the new file is
    removed. Raises InputError if ``target`` is a symbolic link or no regular file, or cannot be written.

    Args:
        target: The file to write.
        needed: Size of the new file in bytes, for the message about a full disk.
    """
    reject_symlink(target)
    suffix = target.suffix if len(target.suffix) <= 16 else ""
    writing = target.with_name(f".{target.stem[:40]}.{secrets.token_hex(8)}.writing{suffix}")
    try:
        os.close(os.open(writing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o666))
        try:
            yield writing
            fsync_path(writing)
            os.replace(writing, target)
        finally:
            writing.unlink(missing_ok=True)
        fsync_path(target.parent)
    except OSError as error:
        raise write_error(target, error, needed) from None


def write_file(target: Path, data: bytes | bytearray | str) -> None:
    """Replace ``target`` with ``data``, text as UTF-8; see :func:`atomic_write`."""
    content = data.encode() if isinstance(data, str) else data
    with atomic_write(target, len(content)) as writing, open(writing, "r+b") as file:
        file.write(content)


def read_file(path: Path, max_bytes: int | None = None) -> bytes:
    """The content of a regular file.

    Raises OSError for a symbolic link, another kind of file, or more than ``max_bytes`` bytes.
    """
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if max_bytes is not None and size > max_bytes:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {max_bytes:,} are read")
        return file.read()


def open_regular(path: Path, flags: int) -> int:
    """A descriptor of a regular file. Raises OSError for a symbolic link or another kind of file.

    The file is created where ``flags`` contain ``O_CREAT``.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name has a NUL character")
    try:
        if not getattr(os, "O_NOFOLLOW", 0) and os.path.islink(path):
            raise OSError(errno.ELOOP, "")
        handle = os.open(path, flags | _NO_FOLLOW, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link") from None
        if error.errno == errno.ENXIO:  # a socket, or a pipe without a reader
            raise OSError(errno.EINVAL, "it is no regular file") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file")
    return handle


def reject_symlink(target: Path) -> None:
    """Raise InputError if ``target`` exists and is a symbolic link, or anything else than a regular file."""
    if "\0" in str(target):
        raise InputError(f"the path {str(target)!a} has a NUL character: choose another name")
    try:
        mode = os.lstat(target).st_mode
    except OSError:  # missing, or reported by the write that follows
        return
    if stat.S_ISLNK(mode):
        raise InputError(
            f"{target} is a symbolic link, which is not written through: remove the link, or choose another place"
        )
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{target} is no regular file, so it cannot be replaced: move it away, or choose another place"
        )


def write_error(target: Path, error: OSError, needed: int | None = None) -> StorageError:
    """A StorageError with the reason why ``target`` cannot be written, and the free bytes if the disk is full."""
    reason = error.strerror or str(error)
    if error.errno not in _FULL:
        return StorageError(f"{target} cannot be written ({reason}): choose another place")
    return StorageError(
        f"{target} cannot be written ({reason}): {disk_space_text(target.parent, needed)}; "
        "make room there, or choose another place"
    )


def disk_space_text(folder: Path, needed: int | None) -> str:
    """The bytes that are needed, and free on the disk of ``folder``, as a part of a sentence."""
    try:
        free = f"{shutil.disk_usage(folder).free:,} bytes are free"
    except OSError:
        free = "it is unknown how many bytes are free"
    need = "" if needed is None else f"{needed:,} bytes are needed and "
    return f"{need}{free} on the disk of {folder}"


def is_temporary(name: str) -> bool:
    """Whether ``name`` is a temporary name of :func:`atomic_write`. A killed process leaves such files behind."""
    return _TEMPORARY.fullmatch(name) is not None


def fsync_path(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened on Windows
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
