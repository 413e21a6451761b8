"""The compiled target: kernel text for the CPU and for CUDA alike."""

from __future__ import annotations

import ast
from typing import Any

from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets.kernel_neighbours import GridAccess, near_loop, nearest_loop
from worldloom.core.frontend.targets.kernel_rows import KernelRows
from worldloom.core.frontend.values import Value, WorldType, this_world
from worldloom.core.kernels.exact import PREFIX as EXACT
from worldloom.core.model.entity import AGENT_FIELDS, ENGINE_FIELDS
from worldloom.core.model.fields import SEED_HIGH, Field


class KernelTarget(KernelRows):
    """Builds the body of one Warp function: values in registers, elements of columns, random numbers and faults."""

    def loop_near(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, radius: ast.expr, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        return near_loop(GridAccess(self, kind, field, label), name, point, radius, body)

    def loop_nearest(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, k: int, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        return nearest_loop(self, label, name, kind, field, point, k, body)

    def random(self, function: str, draw: ast.expr, arguments: list[ast.expr]) -> ast.expr:
        self.draws = True
        self.scalars |= {"slot", "system"}
        world = this_world()
        names = ("seed", SEED_HIGH, "episode", "step")
        seed, high, episode, step = (self.read(world, ENGINE_FIELDS[name]) for name in names)
        counts = {"world_key": self.world_id(), "episode_key": episode, "step_key": step}
        keys = [nodes.call(key, count, high) for key, count in counts.items()]
        function = f"{EXACT}{function}" if self.exact and function == "normal" else function
        return nodes.call(function, seed, *keys, nodes.name("wl_stream"), draw, *arguments)

    def end(self, row: Value, what: str) -> list[ast.stmt]:
        if isinstance(row.type, WorldType):
            return self.write(row, ENGINE_FIELDS[what], nodes.constant(True))
        return [
            *self.write(row, AGENT_FIELDS[what], nodes.constant(True)),
            *self.write(row, AGENT_FIELDS["active"], nodes.constant(False)),
        ]

    def use_helper(self, helper: Any) -> None:
        if self.helpers.setdefault(helper.key, helper) is not helper:
            raise helper.source.error(f"another helper is called '{helper.name}' too", "give one of them another name")

    def debug(self, statement: ast.Expr) -> list[ast.stmt]:
        return []
