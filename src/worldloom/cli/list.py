"""``worldloom list``: the worlds there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from worldloom.cli import console
from worldloom.cli.settings import Json
from worldloom.core.fields import Field, type_name
from worldloom.core.population import UpTo
from worldloom.core.registry import Definition, registered, unavailable


@dataclass
class List:
    """List every world: what it is, its entities, its actions and its observations, or what it lacks."""

    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        worlds = [describe(made) for made in registered().values()]
        worlds += [_lacking(id, reason) for id, reason in unavailable().items()]
        if self.json:
            console.print_json(worlds)
            return 0
        console.out().print(_table([world for world in worlds if world["available"]]))
        for world in worlds:
            if not world["available"]:
                console.out().print(f"{world['id']}: {world['doc']}", soft_wrap=True, markup=False)
        return 0


def describe(made: Definition) -> dict[str, Any]:
    """One world in words."""
    return {
        "id": made.id,
        "doc": made.doc,
        "entities": {kind.__name__: str(count) if isinstance(count, UpTo) else count for kind, count in made.entities.items()},
        "actions": {name: repr(field.space) for name, (_, field) in made.actions().items()},
        "observations": {name: _shape(field) for name, (_, field) in made.observations().items()},
        "max_steps": made.max_steps,
        "available": True,
    }


def _lacking(id: str, reason: str) -> dict[str, Any]:
    """One world that cannot be made yet, in the same words; what it lacks stands in the place of what it is."""
    return {"id": id, "doc": f"not available: {reason}", "entities": {}, "actions": {}, "observations": {}, "max_steps": 0, "available": False}


def _shape(field: Field) -> str:
    """``float (4)``: the type and the shape of what one entity sees."""
    scalar = type_name(getattr(field.dtype, "_wp_scalar_type_", field.dtype))
    return f"{scalar} ({', '.join(map(str, field.value_shape))})" if field.value_shape else scalar


def _table(worlds: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("world", no_wrap=True)  # to be copied
    for heading in ("what it is", "entities per world", "actions", "observations"):
        table.add_column(heading, overflow="fold")
    for world in worlds:
        entities = "\n".join(f"{count} {kind}" for kind, count in world["entities"].items())
        table.add_row(world["id"], world["doc"], entities, _lines(world["actions"]), _lines(world["observations"]))
    return table


def _lines(named: dict[str, str]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in named.items())
