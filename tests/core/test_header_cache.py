"""Precompiled headers of CPU kernels: kept for later processes, and removed when damaged or refused."""

import shutil
import threading
import time
from pathlib import Path

import pytest
import warp as wp

from worldloom.core.base import cpu_flags
from worldloom.core.base.caches import header_cache
from worldloom.core.base.warp_private import build

NAME = "builtin_bd1_o2.pch"


class Compiler:
    """Stands for Warp's compiler: precompiles headers that are missing, and counts how often."""

    def __init__(self):
        self.precompiled = 0
        self.refuses = b"nothing"
        self.seconds = 0.0

    def __call__(self, output, source, pch_dir=None, **options):
        headers = Path(pch_dir) / NAME
        if not headers.exists():
            time.sleep(self.seconds)
            headers.write_bytes(b"headers")
            self.precompiled += 1
        if headers.read_bytes() == self.refuses:
            headers.unlink()


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    compiler = Compiler()
    monkeypatch.setattr(header_cache, "_build", compiler)
    monkeypatch.setattr(header_cache, "_cache", tmp_path / "cache")
    return compiler


def _compile_in_a_new_process(tmp_path):
    """Compile with an empty folder of precompiled headers, as a new process has it."""
    folder = tmp_path / "of_this_process"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    header_cache.build_with_stored_headers("module.o", "module.cpp", pch_dir=str(folder))
    return folder


def _stored(tmp_path):
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_one_process_precompiles_headers_for_all(compiler, tmp_path):
    for _ in range(3):
        assert (_compile_in_a_new_process(tmp_path) / NAME).read_bytes() == b"headers"
    assert compiler.precompiled == 1
    assert len(_stored(tmp_path)) == 1


def test_one_thread_precompiles_headers_for_all(compiler, tmp_path):
    """They compile at the same time once the headers exist."""
    compiler.seconds = 0.1
    folders = [tmp_path / name for name in "abc"]
    threads = []
    for folder in folders:
        folder.mkdir()
        arguments, named = ("module.o", "module.cpp"), {"pch_dir": str(folder)}
        threads.append(threading.Thread(target=header_cache.build_with_stored_headers, args=arguments, kwargs=named))
    assert not header_cache.are_stored()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiler.precompiled == 1
    assert all((folder / NAME).read_bytes() == b"headers" for folder in folders)
    assert header_cache.are_stored()


@pytest.mark.parametrize("content", [b"", b"header", b"headerz"])
def test_damaged_headers_are_precompiled_again(compiler, tmp_path, content):
    _compile_in_a_new_process(tmp_path)
    (stored,) = _stored(tmp_path)
    stored.write_bytes(content)
    assert (_compile_in_a_new_process(tmp_path) / NAME).read_bytes() == b"headers"
    assert compiler.precompiled == 2
    assert stored.read_bytes() == b"headers"


def test_headers_that_the_compiler_refuses_are_removed(compiler, tmp_path):
    _compile_in_a_new_process(tmp_path)
    compiler.refuses = b"headers"
    _compile_in_a_new_process(tmp_path)
    assert _stored(tmp_path) == []


def test_a_cache_that_cannot_be_written_does_not_matter(compiler, tmp_path):
    (tmp_path / "cache").write_text("a file")
    for _ in range(2):
        assert (_compile_in_a_new_process(tmp_path) / NAME).read_bytes() == b"headers"
    assert compiler.precompiled == 2


def test_headers_of_another_processor_are_not_used(compiler, tmp_path, monkeypatch):
    _compile_in_a_new_process(tmp_path)
    monkeypatch.setattr(header_cache, "host_cpu", lambda: (b"another", b"processor", b""))
    header_cache._inputs_digest.cache_clear()
    _compile_in_a_new_process(tmp_path)
    header_cache._inputs_digest.cache_clear()
    assert compiler.precompiled == 2
    assert len(_stored(tmp_path)) == 2


def test_warp_compiles_the_same_with_stored_headers(tmp_path):
    source = tmp_path / "module.cpp"
    source.write_text('#define WP_TILE_BLOCK_DIM 1\n#include "builtin.h"\nextern "C" int next(int k) { return ++k; }\n')
    assert build.build_cpu is header_cache.build_with_stored_headers
    objects = []
    for process in ("first", "second"):
        folder = tmp_path / process
        folder.mkdir()
        build.build_cpu(
            str(folder / "module.o"),
            str(source),
            extra_flags=cpu_flags.complete(wp.config.cpu_compiler_flags),
            use_precompiled_headers=True,
            pch_dir=str(folder),
            block_dim=1,
        )
        assert any(file.suffix == header_cache.SUFFIX for file in folder.iterdir())
        objects.append((folder / "module.o").read_bytes())
    assert objects[0] == objects[1]
