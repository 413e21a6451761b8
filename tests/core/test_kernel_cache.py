"""The cache of compiled kernels: damaged entries are rebuilt, and an unusable folder is replaced by a temporary one."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import warp as wp
from thorough import covering

import worldloom as wl
from worldloom.core.base.caches import kernel_cache


class Coin(wl.Entity):
    side: int = 0
    high: wl.int64 = 0


class Table(wl.World):
    pass


LOWEST = wl.int64(-(2**63))


@wl.system
def flip(coin: Coin, world: Table):
    coin.side = 1 - coin.side
    coin.high = LOWEST  # clang warns of this number


FLIP = wl.Definition("KernelCacheCoin-v0", world=Table, entities={Coin: 1}, step=(flip,))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "kernels"))
    monkeypatch.setattr(kernel_cache, "_temporary", None)
    _forget()
    yield tmp_path / "kernels"
    _forget()


def _forget():
    """As if in a new process: nothing is loaded."""
    from worldloom.core.codegen.program import _CACHE

    for kernels in _CACHE.values():
        module = next(iter(kernels.values())).module
        if "worldloom_cpu" in module.name:
            module.unload()


def _flips():
    simulation = wl.Simulation(FLIP, 2, "cpu", seed=0)
    simulation.step()
    return simulation[Coin].side.numpy().ravel().tolist()


def _files(cache):
    return {
        file.name: file.read_bytes()
        for folder in cache.iterdir()
        for file in folder.iterdir()
        if file.suffix != ".json"
    }


def _flipped(data):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0x10]) + data[len(data) // 2 + 1 :]


DAMAGES = {"empty": lambda data: b"", "truncated": lambda data: data[: len(data) // 2], "bit flipped": _flipped}


@pytest.mark.parametrize(("suffix", "damage"), covering([".o", ".meta", ".cpp"], ["bit flipped", "truncated", "empty"]))
def test_a_damaged_file_is_compiled_anew(cache, suffix, damage):
    assert _flips() == [1, 1]
    before = _files(cache)
    (file,) = [file for folder in cache.iterdir() for file in folder.iterdir() if file.suffix == suffix]
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    _forget()
    assert _flips() == [1, 1]
    assert _files(cache) == before


def test_a_binary_without_checksums_is_compiled_anew(cache):
    _flips()
    (folder,) = cache.iterdir()
    (folder / kernel_cache.CHECKSUM_FILE).unlink()
    next(folder.glob("*.o")).write_bytes(b"\x7fELF no more")
    _forget()
    assert _flips() == [1, 1]


def test_what_is_intact_is_not_compiled_again(cache, monkeypatch):
    _flips()
    _forget()
    monkeypatch.setattr(wp._src.build, "build_cpu", lambda *_, **__: pytest.fail("compiled again"))
    assert _flips() == [1, 1]


def test_an_intact_binary_that_does_not_load_is_compiled_anew(cache):
    _flips()
    (folder,) = cache.iterdir()
    next(folder.glob("*.o")).write_bytes(b"no object file")
    sums = {file.name: kernel_cache._sum(file) for file in folder.iterdir() if file.name != kernel_cache.CHECKSUM_FILE}
    kernel_cache._write(folder, sums)
    _forget()
    assert _flips() == [1, 1]


def test_a_file_in_place_of_a_modules_folder_is_replaced(cache):
    _flips()
    (folder,) = cache.iterdir()
    kernel_cache.evict(folder)
    folder.write_text("in the way")
    _forget()
    assert _flips() == [1, 1]


def test_a_code_that_does_not_compile_is_compiled_once(cache, monkeypatch):
    tried = []

    def fail(*_, **__):
        tried.append(1)
        raise RuntimeError("CPU kernel build failed with error code 1")

    monkeypatch.setattr(wp._src.build, "build_cpu", fail)
    with pytest.raises(wl.CompileError, match="does not compile for cpu: CPU kernel build failed"):
        _flips()
    assert len(tried) == 1


@pytest.mark.parametrize("code", ["EROFS", "EACCES", "ENOSPC"])
def test_a_cache_that_refuses_files_is_named_once_and_replaced(cache, monkeypatch, capfd, code):
    mkdir = Path.mkdir

    def refuse(self, *arguments, **named):
        if str(self).startswith(str(cache)):
            raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)), str(self))
        mkdir(self, *arguments, **named)

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert _flips() == [1, 1]
    _forget()
    assert _flips() == [1, 1]
    messages = [line for line in capfd.readouterr().err.splitlines() if "cannot be used" in line]
    assert len(messages) == 1
    assert (
        str(cache) in messages[0]
        and "WARP_CACHE_PATH" in messages[0]
        and os.strerror(getattr(errno, code)) in messages[0]
    )


def test_nothing_is_compiled_into_a_full_disk(cache, monkeypatch, capfd):
    usage = kernel_cache.shutil.disk_usage

    def full(path):
        found = usage(path)
        return found._replace(free=1000) if str(path).startswith(str(cache)) else found

    monkeypatch.setattr(kernel_cache.shutil, "disk_usage", full)
    assert _flips() == [1, 1]
    assert f"{cache} cannot be used (No space left on device)" in capfd.readouterr().err
    assert not any(cache.iterdir())


def test_where_there_is_no_temporary_folder_either_one_error_says_so(cache, monkeypatch):
    monkeypatch.setattr(kernel_cache, "MIN_FREE_BYTES", 2**80)
    with pytest.raises(
        wl.CompileError,
        match=r"the kernel cache .*kernels cannot be used \(No space left on device\), "
        r"and neither .* set WARP_CACHE_PATH",
    ):
        _flips()


def test_warnings_of_the_compiler_are_not_shown(cache, capfd):
    _flips()
    assert "warning" not in capfd.readouterr().err


def _import(cache_path, tmp_path):
    script = "import worldloom, warp; print(warp.config.kernel_cache_dir)"
    environment = {**os.environ, "WARP_CACHE_PATH": str(cache_path), "TMPDIR": str(tmp_path)}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)


def test_a_path_that_is_a_file_is_named_and_a_temporary_cache_is_gone_at_the_end(tmp_path):
    (tmp_path / "file").write_text("")
    done = _import(tmp_path / "file" / "deeper", tmp_path)
    assert done.stderr.count("\n") == 1
    assert str(tmp_path / "file" / "deeper") in done.stderr and "WARP_CACHE_PATH" in done.stderr
    assert done.stdout.startswith(str(tmp_path / "worldloom_kernels_"))
    assert not list(tmp_path.glob("worldloom_kernels_*"))


def test_folders_of_killed_compilations_are_removed_at_the_start(tmp_path):
    cache = tmp_path / wp.config.version
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    ).stdout.strip()
    stale, alive, module = (
        cache / name for name in (f"wp_x_1234567_p{ended}_t140", f"wp_x_1234567_p{os.getpid()}_t140", "wp_x_1234567")
    )
    for folder in (stale, alive, module):
        folder.mkdir(parents=True)
        (folder / "wp_x_1234567.cpp").write_text("")
    fresh = cache / f"wp_x_7654321_p{ended}_t140"  # as another machine that shares the cache may be compiling in
    fresh.mkdir()
    for folder in (stale, alive, module):
        os.utime(folder, (time.time() - 2 * kernel_cache.STALE_AFTER_S,) * 2)
    _import(tmp_path, tmp_path)
    assert [stale.exists(), alive.exists(), module.exists(), fresh.exists()] == [False, True, True, True]


def test_a_name_with_a_null_is_refused_in_words(monkeypatch, capfd):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", "/tmp/a\0b")
    monkeypatch.setattr(kernel_cache, "_temporary", None)
    monkeypatch.setattr(kernel_cache.Module.load, "checked", False)
    kernel_cache.install()
    assert "'/tmp/a\\x00b' cannot be used" in capfd.readouterr().err
    assert Path(wp.config.kernel_cache_dir).is_dir()


class SlowModule:
    """Stands for a module of Warp whose compilation takes a while."""

    name = "SlowModule"
    options: ClassVar = {"strip_hash": False, "block_dim": 1}

    def __init__(self):
        self.execs, self.loads = {}, 0

    def load(self, device, block_dim):
        self.loads += 1
        time.sleep(0.1)
        loaded = self.execs[(device.context, block_dim)] = SimpleNamespace(module_hash=b"hash")
        return loaded

    def get_module_hash(self, block_dim):
        return b"hash"

    def get_module_identifier(self, block_dim):
        return "slow_module"

    def _get_compile_output_name(self, device, block_dim):
        return "slow_module.o"

    def _get_meta_name(self, block_dim):
        return "slow_module.meta"


def test_a_module_that_two_threads_need_is_compiled_once(cache, monkeypatch):
    monkeypatch.setattr(kernel_cache, "_load", SlowModule.load)
    module = SlowModule()
    threads = [threading.Thread(target=kernel_cache.load_verified, args=(module, "cpu", 1)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert module.loads == 1
