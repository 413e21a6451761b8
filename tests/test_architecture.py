"""docs/architecture.md names files, functions and classes that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "worldloom"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
WALKS = {title: body for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)}
STEP = re.compile(r"^\d+\. \[([^\]]+)\]\(\.\./src/worldloom/([^)]+)\)((?:, `[^`]+`)*):", re.MULTILINE)
STEPS = [(path, names) for body in WALKS.values() for _, path, names in STEP.findall(body)]


def defined_names(path: Path) -> set[str]:
    """The functions, classes and methods of a file; of a C++ header, every word outside of comments."""
    text = path.read_text()
    if path.suffix != ".py":
        return set(re.findall(r"\w+", re.sub(r"//.*", "", text)))
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{method.name}" for method in node.body if isinstance(method, ast.FunctionDef)}
    return names


def test_the_four_walks_are_there():
    numbers = [len(re.findall(r"^\d+\. ", body, re.MULTILINE)) for body in WALKS.values()]
    assert len([number for number in numbers if number >= 8]) == 4
    assert len(STEPS) == sum(numbers), "a step is not of the form: 1. [file](../src/worldloom/file), `name`: text"
    assert [label for body in WALKS.values() for label, _, _ in STEP.findall(body)] == [path for path, _ in STEPS]


@pytest.mark.parametrize(("path", "names"), STEPS, ids=[path for path, _ in STEPS])
def test_a_step_names_what_is_in_its_file(path: str, names: str):
    file = SOURCE / path
    assert file.is_file()
    assert set(re.findall(r"`([^`]+)`", names)) <= defined_names(file)


def test_files_of_the_table_exist():
    table = WALKS["Where to find things"]
    paths = [
        path for row in re.findall(r"\| (`.+`) \|$", table, re.MULTILINE) for path in re.findall(r"`([^`]+)`", row)
    ]
    assert len(paths) >= 10
    assert [path for path in paths if not (SOURCE / path).is_file()] == []


def test_folders_have_at_most_20_files():
    folders = {file.parent for file in SOURCE.rglob("*.py")}
    sizes = {str(folder.relative_to(SOURCE)): sum(path.is_file() for path in folder.iterdir()) for folder in folders}
    assert {folder: size for folder, size in sizes.items() if size > 20} == {}


def test_the_picture_shows_every_package():
    picture = PAGE[PAGE.index("```mermaid") : PAGE.index("## A system")]
    for folder in (SOURCE, SOURCE / "core"):
        packages = {path.parent.name for path in folder.glob("*/__init__.py")} - {"testing"}
        assert {package for package in packages if f"{package}[" not in picture} == set()
