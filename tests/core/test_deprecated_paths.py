"""Old module paths: each imports the module that replaced it, with one warning."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys

import pytest

from worldloom.core.base import deprecated_paths
from worldloom.core.base.deprecated_paths import MOVED_MODULES, RENAMED, new_path

PATHS = {f"{package}.{name}": new for package, names in MOVED_MODULES.items() for name, new in names.items()}

FORWARDED = {
    "worldloom.atari.games": ("game_table", {"Game": "Game", "bare": "base_name"}),
    "worldloom.core.registry": ("registry", {"Definition": "Definition", "announce": "register_lazily"}),
    "worldloom.learn.algorithms": ("registry", {"algorithm": "algorithm", "config_to_dict": "config_to_dict"}),
    "worldloom.learn.config": ("train_config", {"TrainConfig": "TrainConfig", "RolloutConfig": "RolloutConfig"}),
    "worldloom.learn.rollout": ("rollout_actor", {"Player": "RolloutActor", "roll_out": "roll_out"}),
    "worldloom.learn.runs": ("training_run", {"Request": "TrainingRequest", "run_training": "run_training"}),
    "worldloom.vector.process_pool": ("pool", {"Results": "StepResult", "MOST_ENVS": "MAX_ENVS"}),
}
"""Packages that took the path of a module: the module in them, and some of its names with their new names."""


def run_import(statement: str) -> None:
    """Run an import statement as if it stood in this file."""
    exec(compile(statement, __file__, "exec"), {})


@pytest.fixture
def forget():
    """Import old paths again: each warns at its first import."""

    def remove() -> None:
        for path in PATHS:
            sys.modules.pop(path, None)
            package, _, name = path.rpartition(".")
            if package in sys.modules:
                vars(sys.modules[package]).pop(name, None)

    remove()
    yield
    remove()


@pytest.mark.parametrize("path", PATHS)
def test_an_old_path_imports_the_new_module_with_a_warning(forget, path):
    try:
        new = importlib.import_module(PATHS[path])
    except ImportError as error:
        pytest.skip(f"needs a package that is not installed: {error}")
    with pytest.warns(DeprecationWarning, match=f"'{path}' is now '{PATHS[path]}'") as warned:
        run_import(f"import {path}")
    old = sys.modules[path]
    assert len(warned) == 1 and warned[0].filename == __file__
    if path not in RENAMED:
        assert old is new
    for name, renamed in RENAMED.get(path, {}).items():
        assert getattr(old, name) is getattr(new, renamed) and name in dir(old)
    public = [name for name in vars(new) if not name.startswith("_")]
    assert all(getattr(old, name) is getattr(new, name) for name in public)
    assert new.__name__ == new.__spec__.name == PATHS[path]


def test_an_old_path_warns_once(forget, recwarn):
    for _ in range(2):
        run_import("from worldloom.core import errors")
    assert [str(warning.message) for warning in recwarn] == [
        "'worldloom.core.errors' is now 'worldloom.core.base.errors'; the old path works until worldloom 0.2.0"
    ]


@pytest.mark.parametrize("path", RENAMED)
def test_an_old_path_with_renamed_names_is_like_a_module(forget, path):
    names = ", ".join(f"{name} is {new}" for name, new in RENAMED[path].items())
    imported: dict[str, object] = {}
    with pytest.warns(DeprecationWarning, match=f"', where {names}; the old path works") as warned:
        exec(compile(f"from {path} import *", __file__, "exec"), imported)
    assert len(warned) == 1
    new = importlib.import_module(PATHS[path])
    assert all(imported[name] is getattr(new, renamed) for name, renamed in RENAMED[path].items())
    public = getattr(new, "__all__", [name for name in vars(new) if not name.startswith("_")])
    assert {*public, *RENAMED[path]} <= imported.keys()
    assert importlib.util.find_spec(path).name == path


@pytest.mark.parametrize("package", FORWARDED)
def test_a_package_forwards_the_names_of_the_module_whose_path_it_took(package):
    module, names = FORWARDED[package]
    new = importlib.import_module(f"{package}.{module}")
    for name, renamed in names.items():
        message = f"'{package}.{name}' is now '{new.__name__}.{renamed}'"
        with pytest.warns(DeprecationWarning, match=message) as warned:
            assert getattr(importlib.import_module(package), name) is getattr(new, renamed)
        assert warned[0].filename == __file__
    for missing in ("no_such_name", "_private"):
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute '{missing}'"):
            getattr(importlib.import_module(package), missing)


def test_other_paths_are_not_affected():
    assert new_path("worldloom.core.no_such_module") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("worldloom.core.no_such_module")


def test_the_finder_is_installed_once():
    deprecated_paths.install()
    assert [type(finder).__name__ for finder in sys.meta_path].count("_Finder") == 1


def test_importing_worldloom_uses_no_old_path():
    code = f"import sys, worldloom, worldloom.learn; print([p for p in {list(PATHS)} if p in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"
