"""The public names of worldloom.learn: every one is importable, and the lists of them agree."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import worldloom.learn
from worldloom.learn import _MODULE_OF


@pytest.mark.parametrize("name", worldloom.learn.__all__)
def test_a_public_name_is_importable(name):
    value = getattr(worldloom.learn, name)
    assert value is not None and name in dir(worldloom.learn)


def test_the_names_for_type_checkers_are_the_public_ones():
    tree = ast.parse(Path(worldloom.learn.__file__).read_text())
    imported = {
        alias.name: node.module.removeprefix("worldloom.learn.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("worldloom.learn.")
        for alias in node.names
    }
    assert imported == _MODULE_OF and set(imported) == set(worldloom.learn.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'PPOO'"):
        worldloom.learn.PPOO


def test_importing_the_package_loads_no_heavy_module():
    program = "import sys, worldloom.learn; print('torch' in sys.modules, 'ray' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[1] == "False"
