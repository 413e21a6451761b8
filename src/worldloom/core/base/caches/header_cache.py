"""Precompiled headers of CPU kernels, kept on disk between processes.

Warp precompiles its headers in every process that compiles a CPU kernel, which takes three seconds, and removes the
result with the process. This module keeps it beside the kernel cache. The name of a stored file is the checksum of its
content and Warp's name of it, which holds the compiler flags. The folder is named after the headers and the processor.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import warp as wp

from worldloom.core.base.caches.trusted_files import make_folder, refuse_other_writers, untrusted_reason
from worldloom.core.base.errors import InputError
from worldloom.core.base.files import read_file, write_file
from worldloom.core.base.warp_private import build, host_cpu

SUFFIX = ".pch"

_build: Callable[..., None] = build.build_cpu
_cache: Path | None = None
_FIRST_BUILD = threading.Lock()


def install(cache: Path) -> None:
    """Keep the precompiled headers of all modules that this process compiles in a folder of ``cache``."""
    global _cache
    _cache = cache
    build.build_cpu = build_with_stored_headers


@functools.wraps(_build)
def build_with_stored_headers(*arguments: Any, pch_dir: str | None = None, **named: Any) -> None:
    """Warp's ``build_cpu``, with the stored headers in ``pch_dir``, its temporary folder of the thread."""
    if pch_dir is None or _cache is None:
        _build(*arguments, pch_dir=pch_dir, **named)
        return
    with _FIRST_BUILD:  # one thread precompiles the headers, the others wait for it
        if not are_stored():
            _build_and_keep(_store(_cache), *arguments, pch_dir=pch_dir, **named)
            return
    _build_and_keep(_store(_cache), *arguments, pch_dir=pch_dir, **named)


def _build_and_keep(store: Path, *arguments: Any, pch_dir: str, **named: Any) -> None:
    folder = Path(pch_dir)
    _restore(store, folder)
    try:
        _build(*arguments, pch_dir=pch_dir, **named)
    finally:
        _keep(store, folder)


def are_stored() -> bool:
    """Whether the cache holds precompiled headers, of any compiler flags. Warp must be initialised."""
    return _cache is not None and any(_stored_files(_store(_cache)))


def _store(cache: Path) -> Path:
    return cache / f"worldloom_headers_{_inputs_digest()}"


def _restore(store: Path, folder: Path) -> None:
    """Copy what ``folder`` lacks from ``store``. A damaged file is removed: clang would crash on it.

    So is one that another user may have written.
    """
    for checksum, name, stored in _stored_files(store):
        if (folder / name).exists():
            continue
        with contextlib.suppress(OSError):
            content = read_file(stored)
            if _checksum(content) == checksum and not untrusted_reason(stored):
                (folder / name).write_bytes(content)
            else:
                stored.unlink()


def _keep(store: Path, folder: Path) -> None:
    """Copy what ``store`` lacks from ``folder``. A file that Warp removed from ``folder`` was refused by clang."""
    if untrusted_reason(store):
        shutil.rmtree(store, ignore_errors=True)
    stored_names = set()
    for _, name, stored in _stored_files(store):
        stored_names.add(name)
        if not (folder / name).exists():
            with contextlib.suppress(OSError):
                stored.unlink()
    for file in folder.glob(f"*{SUFFIX}"):
        if file.name not in stored_names:
            with contextlib.suppress(OSError, InputError):  # the next process precompiles them again
                content = file.read_bytes()
                make_folder(store)
                write_file(store / f"{_checksum(content)}_{file.name}", content)
                refuse_other_writers(store / f"{_checksum(content)}_{file.name}")


def _stored_files(store: Path) -> Iterator[tuple[str, str, Path]]:
    """The checksum, Warp's name and the path of every stored file."""
    try:
        names = [] if untrusted_reason(store) else sorted(os.listdir(store))
    except OSError:
        return
    for entry in names:
        checksum, _, name = entry.partition("_")
        if name.endswith(SUFFIX) and not entry.startswith("."):
            yield checksum, name, store / entry


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@functools.cache
def _inputs_digest() -> str:
    """A digest of what else a precompiled header depends on: Warp's headers and the processor."""
    native = Path(wp.__file__).parent / "native"
    stats = ((file, file.stat()) for file in sorted(native.rglob("*.h")))
    headers = [(str(file), stat.st_size, stat.st_mtime_ns) for file, stat in stats]
    return hashlib.blake2b(repr((wp.config.version, host_cpu(), headers)).encode(), digest_size=8).hexdigest()
