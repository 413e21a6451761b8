"""``worldloom list``: all worlds, or all Atari games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from worldloom.atari.cli.game_list import describe_games, games_summary, games_table
from worldloom.core.model.dtypes import type_name
from worldloom.core.model.fields import Field
from worldloom.core.model.population import UpTo
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import registered, unavailable
from worldloom.envs.dm_suite.family import suite_summary
from worldloom.envs.hanabi.family import games_summary as hanabi_summary
from worldloom.envs.mujoco.family import tasks_summary
from worldloom.envs.overcooked.family import layouts_summary
from worldloom.learn.runs.pretrained import FOLDER, SUFFIX, pretrained_worlds
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Switch


@dataclass
class List:
    """List every world with its entities, actions and observations, or the reason why it is not available."""

    atari: Switch = False
    """List the Atari 2600 games instead."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        if self.atari:
            return self._list_games()
        worlds = [describe(definition) for definition in registered().values()]
        worlds += [_describe_unavailable(id, reason) for id, reason in unavailable().items()]
        if self.json:
            console.print_json(worlds)
            return 0
        console.out().print(_table([world for world in worlds if world["available"]]))
        for world in worlds:
            if not world["available"]:
                console.out().print(f"{world['id']}: {world['doc']}", soft_wrap=True, markup=False)
        names = ", ".join(pretrained_worlds())
        console.out().print(f"With trained policies, for `worldloom play WORLD --pretrained`: {names}.", soft_wrap=True)
        console.out().print(suite_summary(), soft_wrap=True)
        console.out().print(tasks_summary(), soft_wrap=True)
        console.out().print(hanabi_summary(), soft_wrap=True)
        console.out().print(layouts_summary(), soft_wrap=True)
        console.out().print(games_summary(), soft_wrap=True)
        return 0

    def _list_games(self) -> int:
        games, problem = describe_games()
        if self.json:
            console.print_json(games)
            return 0
        console.out().print(games_table(games))
        if problem:
            console.out().print(problem, soft_wrap=True, markup=False)
        return 0


def describe(definition: Definition) -> dict[str, Any]:
    """The row of one world."""
    return {
        "id": definition.id,
        "doc": definition.doc,
        "entities": {
            kind.__name__: str(count) if isinstance(count, UpTo) else count
            for kind, count in definition.entities.items()
        },
        "actions": {name: repr(field.space) for name, (_, field) in definition.actions().items()},
        "observations": {name: _shape(field) for name, (_, field) in definition.observations().items()},
        "max_steps": definition.max_steps,
        "pretrained": (FOLDER / f"{definition.id}{SUFFIX}").is_file(),
        "available": True,
    }


def _describe_unavailable(id: str, reason: str) -> dict[str, Any]:
    """The row of a world that is not available; ``doc`` holds the reason."""
    return {
        "id": id,
        "doc": f"not available: {reason}",
        "entities": {},
        "actions": {},
        "observations": {},
        "max_steps": 0,
        "pretrained": False,
        "available": False,
    }


def _shape(field: Field) -> str:
    """The type and the shape of one entity's observation: ``float (4)``."""
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
