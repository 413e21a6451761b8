"""Systems of the engine that are made from generated lines of text."""

from __future__ import annotations

import ast
import textwrap
from typing import Any, Literal

from worldloom.core.arithmetic.functions import FUNCTIONS
from worldloom.core.base.source import Source
from worldloom.core.frontend.shared_loop import share
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import World
from worldloom.core.schedule.lifecycle import ENGINE_FILE
from worldloom.core.schedule.table_views import TableView


def make_system(
    name: str,
    lines: list[str],
    over: TableView | None,
    world: type[World],
    threads: int | Literal["auto"] = 1,
    **names: Any,
) -> System:
    """A system from its lines; ``e`` is the entity, ``world`` the world, ``names`` are constants."""
    head = f"def {name}(world: World):" if over is None else f"def {name}(e: Kind, world: World):"
    text = head + "\n" + textwrap.indent("\n".join(lines), "    ")
    namespace: dict[str, Any] = {
        "World": world,
        "Kind": over,
        "isfinite": FUNCTIONS["isfinite"],
        "dot": FUNCTIONS["dot"],
        "share": share,
        **names,
    }
    exec(text, namespace)  # noqa: S102 - the engine's own text
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return System(Source(namespace[name], tree, ENGINE_FILE), engine=True, threads=threads)


def element_loops(shape: tuple[int, ...], body: str, outer: str = "range") -> list[str]:
    """``body`` for every element of an array; ``{}`` in it is the index, ``outer`` the function of the first loop."""
    if not shape:
        return [body.replace("{}", "")]
    names = [f"i{d}" for d in range(len(shape))]
    loops = (outer, *["range"] * len(shape))
    lines = [f"{'    ' * d}for {names[d]} in {loops[d]}({size}):" for d, size in enumerate(shape)]
    return [*lines, "    " * len(shape) + body.replace("{}", "[" + ", ".join(names) + "]")]
