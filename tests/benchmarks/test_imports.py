"""What benchmarks import from worldloom exists, also in those that only run on a GPU."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_every_import_of_the_package_exists() -> None:
    missing = [
        f"{file.relative_to(BENCHMARKS)}:{node.lineno}: {node.module}.{alias.name}"
        for file in sorted(BENCHMARKS.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "worldloom"
        for alias in node.names
        if not _exists(str(node.module), alias.name)
    ]
    assert missing == []


def _exists(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.util.find_spec(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False
