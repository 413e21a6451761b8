"""The cache of compiled kernels on disk, with checksums. An unusable folder is replaced by a temporary one.

Warp stores the source, the binary and the metadata of each module in a folder of its cache, and loads them without a
check. This module adds a file of checksums to each folder, written before the folder appears in the cache, and compares
it before the files are loaded. It applies to all modules of the process, since ``wp.launch`` loads modules too.
A cache that another user may write is not used: its kernels would run in this process.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import warp as wp

from worldloom.core.base.caches import header_cache
from worldloom.core.base.caches.trusted_files import refuse_other_writers, untrusted_folder_reason, untrusted_reason
from worldloom.core.base.errors import CompileError
from worldloom.core.base.paths import printable_path
from worldloom.core.base.warp_private import Module, build, meta_file_name, output_file_name

CHECKSUM_FILE = "worldloom_sums.json"
"""The checksums of the files of a module's folder, by name."""

CACHE_VARIABLE = "WARP_CACHE_PATH"
"""The environment variable with the path of the cache."""

MIN_FREE_BYTES = 16 << 20
"""Free bytes that a compilation needs: LLVM ends the process if it cannot write its output."""

STALE_AFTER_S = 600.0
"""Seconds after which a build folder is stale."""

_UNUSABLE = {
    getattr(errno, name)
    for name in (
        "EACCES",
        "EPERM",
        "EROFS",
        "ENOSPC",
        "EDQUOT",
        "ENOTDIR",
        "EISDIR",
        "ENAMETOOLONG",
        "ELOOP",
        "EIO",
        "EFBIG",
    )
    if hasattr(errno, name)
}
_BUILD_FOLDER = re.compile(r"_p(\d+)_t\d+$")
"""The end of the name of a build folder, with the ids of the process and the thread."""

_LOCK = threading.RLock()
_MODULE_LOCKS: dict[str, threading.RLock] = {}
"""Held while a module is loaded, by its name."""
_temporary: Path | None = None

_load: Callable[..., Any] = Module.load
_rename: Callable[..., None] = build.safe_rename


def install() -> None:
    """Verify the modules that this process loads from now on, and remove stale folders.

    Call it before Warp is initialised.
    """
    if getattr(Module.load, "checked", False):
        return
    Module.load = load_verified
    build.safe_rename = rename_with_checksums
    umask = os.umask(0o022)
    try:
        os.umask(umask | 0o022)  # a new folder that only this user may write
        build.init_kernel_cache(wp.config.kernel_cache_dir)
    except (OSError, ValueError) as error:
        cache = wp.config.kernel_cache_dir or os.environ.get(CACHE_VARIABLE, "")
        use_temporary(cache, error.strerror or str(error) if isinstance(error, OSError) else str(error))
    finally:
        os.umask(umask)
    _refuse_untrusted(Path(wp.config.kernel_cache_dir))
    remove_stale(Path(wp.config.kernel_cache_dir))
    header_cache.install(Path(wp.config.kernel_cache_dir))


# -- loading ---------------------------------------------------------------------------------------------------------


@functools.wraps(_load)
def load_verified(module: Any, device: Any, block_dim: int | None = None, *rest: Any, **named: Any) -> Any:
    """Warp's ``Module.load``, which compiles what is missing, with a check of the cached files.

    Damaged files are recompiled. A second thread waits for the first.
    """
    if rest or named or module.options["strip_hash"]:  # a file named by the caller
        return _load(module, device, block_dim, *rest, **named)
    with _MODULE_LOCKS.setdefault(module.name, threading.RLock()):
        return _load_or_recompile(module, device, block_dim)


def _load_or_recompile(module: Any, device: Any, block_dim: int | None) -> Any:
    device = wp.get_device(device)
    block = module.options["block_dim"] if block_dim is None else block_dim
    ready = module.execs.get((device.context, block))
    if ready is not None and ready.module_hash == module.get_module_hash(block):
        return ready
    while True:
        _refuse_untrusted(Path(wp.config.kernel_cache_dir))
        folder = Path(wp.config.kernel_cache_dir) / module.get_module_identifier(block)
        binary = folder / output_file_name(module, device, block)
        cached = False
        try:
            if is_corrupt(folder, (binary.name, meta_file_name(module, block))):
                evict(folder)
            cached = binary.exists()
            if not cached:
                _require_space(folder.parent)
            return _load(module, device, block)
        except Exception as error:
            _prepare_retry(error, folder, cached)
            module.mark_modified()  # clears the failure, which Warp would raise again


def _refuse_untrusted(cache: Path) -> None:
    """Use a temporary folder where another user may write ``cache``."""
    reason = untrusted_folder_reason(cache)
    if reason is not None:
        fix = f"remove it, or `chmod -R go-w` it if you know all its files, or set {CACHE_VARIABLE} to your own folder"
        use_temporary(str(cache), reason, fix=fix)


load_verified.checked = True  # type: ignore[attr-defined]


def _prepare_retry(error: Exception, folder: Path, cached: bool) -> None:
    """Remove the cause of a failed load, or raise ``error`` if the cause is not the cache."""
    _remove(folder.with_name(f"{folder.name}_p{os.getpid()}_t{threading.get_ident()}"))  # the build folder
    reason = unusable_reason(error, folder.parent)
    if reason is not None:
        use_temporary(str(folder.parent), reason, error)
    elif cached:
        try:
            evict(folder)  # it does not load although its checksums are correct
        except OSError as unusable:
            use_temporary(str(folder.parent), unusable.strerror or str(unusable), error)
    elif not isinstance(error, FileNotFoundError) or not _once(folder):  # another process may have removed the folder
        raise error


_RETRIED: set[Path] = set()


def _once(folder: Path) -> bool:
    """Whether this is the first call for ``folder``."""
    first = folder not in _RETRIED
    _RETRIED.add(folder)
    return first


def unusable_reason(error: BaseException, cache: Path) -> str | None:
    """Why the cache cannot be written, if that is the cause of ``error``; None otherwise."""
    if isinstance(error, OSError) and error.errno in _UNUSABLE:
        return error.strerror or str(error)
    if isinstance(error, ValueError) and "null" in str(error):
        return str(error)
    try:
        _require_space(cache)  # a compiler without space for its output reports no reason
    except OSError as unusable:
        return None if unusable.errno == errno.ENOENT else unusable.strerror
    return None


def _require_space(cache: Path) -> None:
    """Raise OSError if the disk of the cache is too full to compile."""
    os.makedirs(cache, exist_ok=True)
    if shutil.disk_usage(cache).free < MIN_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# -- checksums -------------------------------------------------------------------------------------------------------


def is_corrupt(folder: Path, needed: Iterable[str]) -> bool:
    """Whether a file of ``folder`` differs from its checksum or others may write it, or a ``needed`` one has none."""
    if not os.path.lexists(folder):
        return False
    if any(untrusted_reason(path) for path in (folder, folder / CHECKSUM_FILE)):
        return True
    sums = read_checksums(folder)
    if sums is None:
        return True
    if any(name not in sums and os.path.lexists(folder / name) for name in needed):
        return True
    for name, expected in sums.items():
        try:
            if untrusted_reason(folder / name) or _sum(folder / name) != expected:
                return True
        except FileNotFoundError:  # Warp compiles what is missing
            continue
    return False


def read_checksums(folder: Path) -> dict[str, str] | None:
    """The checksums of ``folder``; None if they are missing or invalid."""
    try:
        sums = json.loads((folder / CHECKSUM_FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    valid = isinstance(sums, dict) and all(
        os.path.basename(name) == name and isinstance(value, str) for name, value in sums.items()
    )
    return sums if valid else None


def _sum(file: Path) -> str:
    return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()


def rename_with_checksums(source: str, target: str, *rest: Any, **named: Any) -> None:
    """Warp's ``safe_rename``, which moves a compiled module into the cache, with the checksums of its files."""
    if os.path.basename(target) == "lto" or os.path.dirname(os.path.normpath(target)) != os.path.normpath(
        wp.config.kernel_cache_dir
    ):
        _rename(source, target, *rest, **named)
        return
    files = [file for file in Path(source).iterdir() if file.is_file() and file.name != CHECKSUM_FILE]
    sums = {file.name: _sum(file) for file in files}
    for path in (Path(source), *files):
        refuse_other_writers(path)
    _write(Path(source), sums)
    _rename(source, target, *rest, **named)
    if os.path.isdir(source):  # the folder exists, for another device or from another process: Warp adds missing files
        added = {name: value for name, value in sums.items() if not os.path.lexists(os.path.join(target, name))}
        if added:
            _write(Path(target), {**(read_checksums(Path(target)) or {}), **added})


def _write(folder: Path, sums: dict[str, str]) -> None:
    new = folder / f"{CHECKSUM_FILE}.{secrets.token_hex(8)}"
    try:
        new.write_text(json.dumps(sums, sort_keys=True, indent=1))
        refuse_other_writers(new)
        os.replace(new, folder / CHECKSUM_FILE)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def evict(folder: Path) -> None:
    """Remove a module from the cache in one rename. Processes that have loaded it are not affected."""
    away = folder.with_name(f"{folder.name}_{secrets.token_hex(8)}_p{os.getpid()}_t{threading.get_ident()}")
    try:
        os.rename(folder, away)
    except FileNotFoundError:  # removed by another process
        return
    _remove(away)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


# -- folders ---------------------------------------------------------------------------------------------------------


def remove_stale(cache: Path) -> None:
    """Remove the build folders of processes that no longer exist."""
    try:
        names = [entry.name for entry in os.scandir(cache)]
    except (OSError, ValueError):
        return
    for name in names:
        build_folder = _BUILD_FOLDER.search(name)
        if build_folder and not _is_alive(int(build_folder[1])) and _is_old(cache / name):
            _remove(cache / name)


def _is_old(folder: Path) -> bool:
    """Whether a folder was not written to for a while.

    Process ids of other machines that share the cache are unknown.
    """
    try:
        return time.time() - folder.stat().st_mtime > STALE_AFTER_S
    except OSError:
        return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # a process of another user
        return True
    return True


def use_temporary(cache: str, reason: str, error: Exception | None = None, fix: str = "") -> None:
    """Use a temporary folder as the cache, with one message. Raises CompileError if there is no space for one.

    Args:
        cache: The cache that cannot be used.
        reason: Why.
        error: The error that showed it.
        fix: What the user can do about it; by default set :data:`CACHE_VARIABLE`.
    """
    global _temporary
    with _LOCK:
        if _temporary is not None and Path(cache) not in (_temporary, _temporary / wp.config.version):
            wp.config.kernel_cache_dir = str(_temporary)  # another thread has switched already
            return
        folder = None if _temporary is not None else _temporary_folder()
        what = f"the kernel cache {printable_path(cache)} cannot be used ({reason})"
        if folder is None:
            raise CompileError(
                f"{what}, and neither can a temporary folder: set {CACHE_VARIABLE} to a writable folder"
            ) from error
        _temporary = folder
        wp.config.kernel_cache_dir = str(folder)
        fix = fix or f"set {CACHE_VARIABLE} to a writable folder to keep them"
        print(
            f"worldloom: {what}; kernels go to a temporary folder for this run. Fix: {fix}.",
            file=sys.stderr,
            flush=True,
        )


def _temporary_folder() -> Path | None:
    """A new folder with enough free space, removed when this process ends; None if there is none."""
    for parent in (None, "/dev/shm"):  # noqa: S108 - mkdtemp creates a folder of its own
        try:
            folder = Path(tempfile.mkdtemp(prefix="worldloom_kernels_", dir=parent))
        except OSError:
            continue
        if shutil.disk_usage(folder).free >= MIN_FREE_BYTES:
            atexit.register(_remove_own, folder, os.getpid())
            return folder
        _remove(folder)
    return None


def _remove_own(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a forked process
        _remove(folder)
