"""What ``worldloom`` exports: explicit names, which type checkers and editors see."""

import ast
import builtins
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import worldloom as wl
from worldloom.core.arithmetic.functions import FUNCTIONS

SHADOWS = {"abs", "max", "min", "pow"}
"""Exports that a star import leaves out, since Python has functions of these names."""


def test_all_is_what_exists():
    public = {name for name, value in vars(wl).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    public.discard("annotations")  # from __future__
    assert set(wl.__all__) | SHADOWS == public
    assert len(wl.__all__) == len(set(wl.__all__)) and {name for name in wl.__all__ if hasattr(builtins, name)} == set()


def test_every_math_function_is_exported():
    assert {name: getattr(wl, name) for name in FUNCTIONS} == FUNCTIONS


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="Entitty"):
        wl.Entitty
    assert not hasattr(wl, "__getattr__")


def test_type_checkers_see_no_module_getattr():
    """With one, a type checker accepts every misspelled name of the module."""
    root = Path(wl.__file__).parent
    found = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
    ]
    assert found == []


def test_exports_are_written_in_the_source():
    tree = ast.parse(Path(wl.__file__).read_text())
    imported = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(wl.__all__) <= imported


def test_importing_worldloom_imports_no_world():
    code = "import sys, worldloom; print([n for n in sys.modules if n.startswith(('worldloom.envs.', 'mujoco'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    with_families = ("dm_suite", "hanabi", "mujoco", "overcooked")
    families = {f"worldloom.envs.{name}{part}" for name in with_families for part in ("", ".family")}
    registered = {"worldloom.envs.covid", "worldloom.envs.id_settings", "worldloom.envs.hanabi.settings", *families}
    assert set(ast.literal_eval(done.stdout)) == registered


def test_a_module_without_a_variable_for_its_world_is_an_error(monkeypatch):
    from worldloom import envs

    monkeypatch.setitem(envs.MODULES, "Nowhere-v0", "cartpole")
    with pytest.raises(wl.InputError, match=r"envs.cartpole .* write NAME = wl.register\('Nowhere-v0'"):
        envs.load("Nowhere-v0")


def test_bundled_worlds_are_loaded_from_their_modules():
    from worldloom.envs import MODULES, load

    assert {id: load(id).id for id in MODULES} == {id: id for id in MODULES} and set(MODULES) <= set(wl.registered())
