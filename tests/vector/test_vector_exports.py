"""The public names of worldloom.vector and worldloom.view."""

import subprocess
import sys

import pytest

import worldloom.vector
import worldloom.view
from worldloom.core.base.errors import InputError


@pytest.mark.parametrize("package", [worldloom.vector, worldloom.view])
def test_every_export_can_be_imported(package):
    for name in package.__all__:
        try:
            assert callable(getattr(package, name)), name
        except InputError as error:  # the adapter's library is not installed
            assert "pip install" in str(error)
        assert name in dir(package)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'worldloom\.vector' has no attribute 'WorldVektorEnv'"):
        worldloom.vector.WorldVektorEnv


def test_make_is_the_function_however_it_is_imported():
    program = "import worldloom.vector.make; from worldloom.vector import make; print(make.__name__, make.__module__)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["make", "worldloom.vector.make"]


def test_importing_worldloom_loads_no_adapter():
    program = (
        "import sys, worldloom.vector; print([m for m in sys.modules if m.startswith('worldloom.vector.adapters')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
