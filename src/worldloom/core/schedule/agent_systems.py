"""The engine's systems for populations of agents: they connect entities with their agent rows.

A step copies the actions of agent rows to the entities, collects rewards before entities are removed, ends the agents
whose entities are gone, gives free rows to new entities, and copies observations and infos to the agent rows. The
reward and the flags of a row belong to the agent that acted in it; observations, infos and ``active`` to the agent that
is there after the step. See :mod:`worldloom.core.model.agent_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from worldloom.core.arithmetic.functions import FUNCTIONS, construct
from worldloom.core.frontend.row_copy import CopyComponents
from worldloom.core.frontend.system import System
from worldloom.core.model.agent_rows import ENTITY
from worldloom.core.model.dtypes import is_composite, shape_of
from worldloom.core.model.entity import World
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.population import AGENT_ROW
from worldloom.core.schedule.system_text import element_loops, make_system
from worldloom.core.schedule.table_views import EXPORTED_ROLES, TableView


@dataclass(frozen=True)
class AgentSystems:
    """The systems of one population of agents.

    Attributes:
        population: The table of its entities.
        rows: The table of its agent rows.
        count: Agent rows per world.
        world: The class of the world.
    """

    population: TableView
    rows: TableView
    count: int
    world: type[World]

    def take_actions(self) -> System:
        """Copy the actions of the agent rows to their entities."""
        lines = [f"a = world.at(Rows, clamp(e.{AGENT_ROW}, 0, {self.count - 1}))"]
        for field in self._fields(Role.ACTION):
            lines += element_loops(field.shape, f"e.{field.name}{{}} = a.{field.name}{{}}")
        return self._system("take_actions", lines, self.population, clamp=FUNCTIONS["clamp"])

    def collect_rewards(self) -> System | None:
        """Copy the rewards of all entities to their agent rows: before a compaction also of those it removes."""
        copies = self._copies(Role.REWARD)
        return self._system("collect_rewards", [f"if e.{ENTITY}.alive:", *copies], self.rows) if copies else None

    def end_removed(self) -> System:
        """Terminate the agents whose entities are gone, and collect the rewards of the others."""
        lines = [
            "if e.active:",
            f"    if e.{ENTITY}.alive:",
            *[f"    {line}" for line in self._copies(Role.REWARD) or ["    pass"]],
            "    else:",
            "        e.active = False",
            "        e.terminated = True",
            f"        e.{ENTITY} = None",
        ]
        return self._system("end_removed", lines, self.rows)

    def assign_rows(self, episode_begins: bool) -> System:
        """Give new entities, in spawn order, the first free rows.

        Rows whose agent ended in this step come last, so that few steps end one agent and begin another in one row.
        """
        lines = [
            "count = world.count(Kind)",
            "row = count",
            "for k in range(count):",  # new entities are the last ones
            f"    if world.at(Entities, count - 1 - k).{AGENT_ROW} >= 0:",
            "        break",
            "    row -= 1",
        ]
        for free in ("not a.active",) if episode_begins else ("not a.active and not a.terminated", "not a.active"):
            lines += [
                "if row < count:",
                "    for a in world.all(Rows):",
                f"        if row < count and {free}:",
                "            a.active = True",
                f"            a.{ENTITY} = world.at(Kind, row).ref",
                "            entity = world.at(Entities, row)",
                f"            entity.{AGENT_ROW} = a.id",
                "            row += 1",
            ]
        name = "assign_first_rows" if episode_begins else "assign_rows"
        return self._system(name, lines, None, Kind=self.population.kind, Entities=self.population)

    def publish(self) -> System | None:
        """Copy observations and infos of the entities to their agent rows, and clear those of free rows."""
        fields = self._fields(*EXPORTED_ROLES)
        if not fields:
            return None
        copies, clears = list[str](), list[str]()
        for field in fields:
            copies += element_loops(field.shape, f"e.{field.name}{{}} = entity.{field.name}{{}}", "share")
            clears += element_loops(field.shape, f"e.{field.name}{{}} = zero_{field.name}", "share")
        names = tuple(field.name for field in fields)
        lines = ["if e.active:", f"    entity = e.{ENTITY}.get()", "    copy(e, entity)", "else:", "    clear(e)"]
        zeros = {f"zero_{field.name}": _zero(field) for field in fields}
        copy, clear = CopyComponents(names, tuple(copies)), CopyComponents(names, tuple(clears))
        return self._system("publish", lines, self.rows, threads="auto", copy=copy, clear=clear, **zeros)

    def _copies(self, *roles: Role) -> list[str]:
        """Lines, indented once, that copy components of the entity to its agent row."""
        lines = [
            line
            for field in self._fields(*roles)
            for line in element_loops(field.shape, f"e.{field.name}{{}} = entity.{field.name}{{}}")
        ]
        return [f"    {line}" for line in [f"entity = e.{ENTITY}.get()", *lines]] if lines else []

    def _fields(self, *roles: Role) -> list[Field]:
        return [field for field in self.population.kind.fields.values() if field.role in roles]

    def _system(
        self,
        name: str,
        lines: list[str],
        over: TableView | None,
        threads: int | Literal["auto"] = 1,
        **names: Any,
    ) -> System:
        name = f"{name}_{self.population.__name__}"
        return make_system(name, lines, over, self.world, threads, **{"Rows": self.rows.kind, **names})


def _zero(field: Field) -> Any:
    """Zero, as a value of one element of a component."""
    if not is_composite(field.dtype):
        return False if field.dtype.__name__ == "bool" else 0
    size = 1
    for length in shape_of(field.dtype):
        size *= length
    return construct(field.dtype, [0] * size)
