"""``worldloom new``: the files it writes run unchanged."""

import os
import subprocess
import sys

import pytest

from worldloom.cli.commands.new import module_and_class_names
from worldloom.core.base.errors import InputError


@pytest.mark.parametrize(
    ("name", "snake", "camel"),
    [
        ("pond", "pond", "Pond"),
        ("my-pond", "my_pond", "MyPond"),
        ("my_pond", "my_pond", "MyPond"),
        ("MyPond", "my_pond", "MyPond"),
        ("pond2", "pond2", "Pond2"),
        ("HTTPPond", "http_pond", "HttpPond"),
    ],
)
def test_names_become_modules_and_classes(name, snake, camel):
    assert module_and_class_names(name) == (snake, camel)


@pytest.mark.parametrize(
    "name", ["", "2pond", "my pond", "../pond", "class", "json", "numpy", "_", "Forager", "ünïcode"]
)
def test_names_that_cannot_be(name):
    with pytest.raises(InputError, match="name"):
        module_and_class_names(name)


def test_nothing_is_overwritten(worldloom, tmp_path):
    kept = tmp_path / "run_pond.py"
    kept.write_text("mine")
    code, _, err = worldloom("new", "pond", "--into", tmp_path)
    assert code == 2
    assert "exists already" in err
    assert [file.name for file in tmp_path.iterdir()] == ["run_pond.py"]
    assert kept.read_text() == "mine"


def test_a_folder_that_cannot_be_made(worldloom, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = worldloom("new", "pond", "--into", tmp_path / "file" / "inside")
    assert code == 2
    assert err.count("\n") == 1


def test_the_new_world_is_checked_runs_and_is_tested(worldloom, tmp_path):
    folder = tmp_path / "worlds"
    code, out, _ = worldloom("new", "my-pond", "--into", folder)
    assert code == 0
    assert sorted(file.name for file in folder.iterdir()) == ["my_pond.py", "run_my_pond.py", "test_my_pond.py"]
    assert "worldloom check" in out
    assert len((folder / "my_pond.py").read_text().splitlines()) < 80
    code, out, _ = worldloom("check", folder / "my_pond.py", "--steps", 20, "--num-worlds", 3)
    assert code == 0
    assert "MyPond-v0 on python and cpu: no difference" in out
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    ran = subprocess.run(
        [sys.executable, "run_my_pond.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert "world steps per second" in ran.stdout
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_my_pond.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
