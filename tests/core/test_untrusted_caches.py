"""Caches that another user may write are not used: their kernels, headers and tuning would act in this process."""

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import warp as wp

from worldloom.core.base.caches import header_cache, kernel_cache, trusted_files
from worldloom.core.base.caches.trusted_files import make_folder, untrusted_folder_reason, untrusted_reason
from worldloom.core.runtime import tune_cache
from worldloom.core.runtime.tune_cache import TunedConfig
from worldloom.learn.runs.known_worlds import is_known_world, remember_world

OTHER = 54321
"""A user that is neither this one nor root."""


@pytest.fixture
def by_another(monkeypatch):
    """Let a file or folder belong to another user."""
    owners = {}
    real = os.stat

    def stat(path, *rest, **named):
        state = real(path, *rest, **named)
        if str(path) not in owners:
            return state
        return SimpleNamespace(st_mode=state.st_mode, st_gid=state.st_gid, st_uid=OTHER)

    monkeypatch.setattr(trusted_files.os, "stat", stat)
    return lambda path: owners.setdefault(str(path), True)


@pytest.mark.parametrize(
    ("mode", "reason"), [(0o755, None), (0o700, None), (0o777, "all users may write"), (0o757, "all users may write")]
)
def test_who_may_write_decides(tmp_path, mode, reason):
    os.chmod(tmp_path, mode)
    found = untrusted_reason(tmp_path)
    assert found is None if reason is None else reason in found and f"mode {mode:o}" in found
    assert untrusted_reason(tmp_path / "absent") is None


def test_the_owner_is_named(tmp_path, by_another):
    by_another(tmp_path)
    assert untrusted_reason(tmp_path) == f"{tmp_path} belongs to user {OTHER}, and not to you or root"


def test_files_of_root_are_trusted(tmp_path, monkeypatch):
    state = SimpleNamespace(st_mode=0o40755, st_gid=0, st_uid=0)
    monkeypatch.setattr(trusted_files.os, "stat", lambda path: state)
    assert untrusted_reason(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "members", "primary", "trusted"),
    [("me", [], 0, True), ("me", ["you"], 0, False), ("me", [], 1, False), ("us", [], 0, False)],
)
def test_only_the_private_group_of_the_owner_may_write(tmp_path, monkeypatch, name, members, primary, trusted):
    os.chmod(tmp_path, 0o775)
    owner = SimpleNamespace(pw_name="me", pw_uid=os.getuid(), pw_gid=tmp_path.stat().st_gid)
    others = [SimpleNamespace(pw_name="you", pw_uid=os.getuid() + 1, pw_gid=owner.pw_gid)] * primary
    monkeypatch.setattr(pwd, "getpwuid", lambda user: owner)
    monkeypatch.setattr(pwd, "getpwall", lambda: [owner, *others])
    monkeypatch.setattr(grp, "getgrgid", lambda group: SimpleNamespace(gr_name=name, gr_mem=members))
    assert (untrusted_reason(tmp_path) is None) is trusted


def test_the_parent_of_a_folder_counts_unless_it_is_sticky(tmp_path):
    (tmp_path / "kernels").mkdir(mode=0o755)
    os.chmod(tmp_path, 0o777)
    assert f"{tmp_path} has mode 777" in untrusted_folder_reason(tmp_path / "kernels")
    os.chmod(tmp_path, 0o1777)
    assert untrusted_folder_reason(tmp_path / "kernels") is None


def test_new_folders_are_private_under_any_umask(tmp_path):
    before = os.umask(0)
    try:
        make_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [os.stat(path).st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o755, 0o755]


PROGRAM = """
import sys, warp as wp
import worldloom as wl
wp.config.optimization_level = 0
s = wl.Simulation("CartPole-v1", 2, "cpu", seed=0)
print(wp.config.kernel_cache_dir)
"""


def start(cache, umask=0o022):
    """A process that compiles a world; returns the cache that it used and its messages."""
    variables = {**os.environ, "WARP_CACHE_PATH": str(cache)}
    command = f"import os; os.umask({umask})\n{PROGRAM}"
    ended = subprocess.run([sys.executable, "-c", command], env=variables, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return Path(ended.stdout.strip()), ended.stderr


def test_a_process_uses_a_temporary_cache_instead_of_one_that_others_may_write(tmp_path):
    cache = tmp_path / "kernels"
    used, messages = start(cache, umask=0)
    assert used.parent == cache and "temporary" not in messages
    modes = {path: os.stat(path).st_mode & 0o022 for path in [cache, used, *used.rglob("*")] if path.name[0] != "."}
    assert len(modes) > 5 and not any(mode for path, mode in modes.items() if path.suffix not in (".py", ".lock"))
    os.chmod(used, 0o777)
    temporary, messages = start(cache)
    assert cache not in temporary.parents
    line = next(line for line in messages.splitlines() if "cannot be used" in line)
    assert f"{used} has mode 777, so that all users may write there" in line
    assert "chmod -R go-w" in line and "WARP_CACHE_PATH" in line


def test_a_module_that_others_may_write_is_compiled_again(tmp_path, monkeypatch):
    folder = tmp_path / "kernels" / "module"
    folder.mkdir(parents=True)
    (folder / "module.o").write_bytes(b"binary")
    kernel_cache._write(folder, {"module.o": kernel_cache._sum(folder / "module.o")})
    assert not kernel_cache.is_corrupt(folder, ["module.o"])
    for path in (folder / "module.o", folder / kernel_cache.CHECKSUM_FILE, folder):
        mode = os.stat(path).st_mode & 0o777
        os.chmod(path, mode | 0o002)
        assert kernel_cache.is_corrupt(folder, ["module.o"])
        os.chmod(path, mode)
    assert not kernel_cache.is_corrupt(folder, ["module.o"])


@pytest.mark.parametrize("part", ["folder", "file"])
def test_headers_that_others_may_write_are_precompiled_again(tmp_path, monkeypatch, part):
    compiled = []

    def compiler(output, source, pch_dir, **options):
        headers = Path(pch_dir) / "headers.pch"
        if not headers.exists():
            compiled.append(pch_dir)
            headers.write_bytes(b"headers")

    monkeypatch.setattr(header_cache, "_build", compiler)
    monkeypatch.setattr(header_cache, "_cache", tmp_path / "cache")

    def compile_in(name):
        (tmp_path / name).mkdir()
        header_cache.build_with_stored_headers("module.o", "module.cpp", pch_dir=str(tmp_path / name))

    compile_in("one")
    compile_in("two")
    assert len(compiled) == 1
    (stored,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    os.chmod(stored if part == "file" else stored.parent, 0o777)
    compile_in("three")
    assert len(compiled) == 2
    compile_in("four")
    assert len(compiled) == 2


@pytest.mark.parametrize("part", ["folder", "file"])
def test_tuning_that_others_may_write_is_ignored(tmp_path, monkeypatch, part):
    monkeypatch.setattr(tune_cache, "folder", lambda: tmp_path / "tuning")
    one = TunedConfig(1024, 64, None, 2e-6, 1e-6)
    tune_cache.store("a", one, {})
    assert tune_cache.load("a") == [one]
    os.chmod(tmp_path / "tuning" / "a.json" if part == "file" else tmp_path / "tuning", 0o777)
    with pytest.warns(UserWarning, match="mode 777"):
        assert tune_cache.load("a") == []


def test_a_cache_of_another_user_is_refused(tmp_path, monkeypatch, capfd, by_another):
    cache = tmp_path / "kernels"
    cache.mkdir()
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(cache))
    monkeypatch.setattr(kernel_cache, "_temporary", None)
    by_another(cache)
    kernel_cache._refuse_untrusted(cache)
    assert wp.config.kernel_cache_dir != str(cache)
    assert f"{cache} belongs to user {OTHER}, and not to you or root" in capfd.readouterr().err


@pytest.fixture
def record(tmp_path, monkeypatch):
    """The record of a run's world, written with a umask that lets everybody write."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = os.umask(0)
    remember_world(tmp_path / "run", "world.py")
    os.umask(before)
    [path] = (tmp_path / "worldloom" / "run_worlds").iterdir()
    return path


@pytest.mark.parametrize("part", range(3))
def test_records_of_worlds_that_others_may_write_are_ignored(tmp_path, record, by_another, part):
    """A world is a program: who writes its record has it imported."""
    assert is_known_world(tmp_path / "run", "world.py")
    path = [record, *record.parents][part]
    os.chmod(path, 0o777)
    assert not is_known_world(tmp_path / "run", "world.py")
    os.chmod(path, 0o755)
    by_another(path)
    assert not is_known_world(tmp_path / "run", "world.py")
