"""Imports point one way: a package may import itself and what stands below it."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "worldloom"
BELOW = {
    "core": set(),
    "physics": {"core"},
    "atari": {"core"},
    "envs": {"physics", "atari", "core"},
    "vector": {"envs", "physics", "atari", "core"},
    "learn": {"vector", "envs", "physics", "atari", "core"},
    "view": {"vector", "envs", "physics", "atari", "core"},
    "testing": set(),
    "cli": {"view", "learn", "vector", "envs", "physics", "atari", "core"},
}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def imported_layers(text: str, package: str) -> set[str]:
    """The layers that a module of ``package`` (such as ``worldloom.core``) imports, anywhere in its text."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names.update([module, *(f"{module}.{alias.name}" for alias in node.names)])
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "worldloom" and len(part) > 1 and part[1] in BELOW}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path):
    parts = path.relative_to(PACKAGE).parts
    layer = parts[0]
    assert layer in BELOW, f"'{layer}' has no place among the layers: give it one in this test"
    package = ".".join(["worldloom", *parts[:-1]])
    upwards = imported_layers(path.read_text(), package) - BELOW[layer] - {layer}
    assert not upwards, f"{path.relative_to(PACKAGE)} imports {', '.join(sorted(upwards))}, which stands above or beside {layer}"


def test_core_never_imports_the_top_of_the_package():
    """The top imports the worlds, which import core."""
    for path in (PACKAGE / "core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) else []
            assert "worldloom" not in names, path


@pytest.mark.parametrize(
    ("text", "package", "layers"),
    [
        ("import worldloom.learn.ppo", "worldloom.core", {"learn"}),
        ("from worldloom.envs import cartpole", "worldloom.core", {"envs"}),
        ("from worldloom import cli", "worldloom.core", {"cli"}),
        ("def f():\n    from ..vector import pool", "worldloom.core", {"vector"}),
        ("from . import entity", "worldloom.core.rewrite", {"core"}),
        ("import warp, numpy", "worldloom.core", set()),
    ],
)
def test_every_form_of_import_is_seen(text: str, package: str, layers: set[str]):
    assert imported_layers(text, package) == layers
