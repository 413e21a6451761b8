"""Loops over neighbours in kernels: over the cells within a radius, and over the result of a nearest search."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets.nearest_search import first_ring, nearest_search
from worldloom.core.frontend.values import this_world
from worldloom.core.model.fields import Field
from worldloom.core.model.grid import VECTORS, Grid, uses_brute_force

if TYPE_CHECKING:
    from worldloom.core.frontend.targets.kernel_target import KernelTarget


class GridAccess:
    """The parts of a grid as expressions of a system's code. ``label`` prefixes the variables of one loop."""

    def __init__(self, target: KernelTarget, kind: Any, field: Field, label: str) -> None:
        self.target, self.kind, self.label = target, kind, label
        population = target.counts.populations.get(kind.__name__)
        room = target.counts[kind.__name__] if population is None else population.limit.per_world
        self.grid = Grid(kind.__name__, field.name, VECTORS[field.dtype], room)
        target.scalars.add("world")

    def read(self, part: str) -> str:
        """A part that is one value per world."""
        return ast.unparse(self.target.read(this_world(), self.grid.field(part)))

    def at(self, part: str, index: str) -> str:
        """An element of a part that is an array."""
        return f"{self.column(part)}[world, {index}]"

    def column(self, part: str) -> str:
        return self.target.world_column(self.grid.field(part))

    def row(self, slot: str) -> str:
        """The row of an entity."""
        return f"{ast.unparse(self.target.first_row(self.kind))} + {slot}"


def near_loop(access: GridAccess, name: str, point: ast.expr, radius: ast.expr, body: list[ast.stmt]) -> list[ast.stmt]:
    """``body`` for every entity within ``radius`` of ``point``.

    A query covers some rows of cells; the entities of one row of cells are contiguous. A single loop runs over all of
    them, so that ``break`` leaves it. It advances before ``body``, so that ``continue`` works.
    """
    grid, w, cells = access.grid, access.label, access.grid.cells
    low, scale = access.read("low"), access.read("scale")
    lines = [f"{w}_reach = largest_square({w}_radius)"]
    for axis, letter in enumerate("xyz"[: grid.axes]):
        around = f"cells_around({w}_point[{axis}], {w}_radius, {low}[{axis}], {scale}[{axis}], {cells})"
        lines.append(f"{w}_{letter}0, {w}_{letter}1 = {around}")
    height = f"({w}_y1 - {w}_y0 + 1)"
    lines.append(f"{w}_rows = {height if grid.axes == 2 else f'{height} * ({w}_z1 - {w}_z0 + 1)'}")
    line = (
        f"{w}_y0 + {w}_row"
        if grid.axes == 2
        else f"({w}_z0 + {w}_row / {height}) * {cells} + {w}_y0 + {w}_row % {height}"
    )
    lines += [
        f"if {w}_reach < 0.0: {w}_rows = wp.int32(0)",
        f"{w}_row = wp.int32(0)",
        f"{w}_at = wp.int32(0)",
        f"{w}_end = wp.int32(0)",
        f"while {w}_row < {w}_rows or {w}_at < {w}_end:",
        f"    while {w}_row < {w}_rows and {w}_at >= {w}_end:",
        f"        {w}_line = ({line}) * {cells}",
        f"        {w}_at = {access.at('starts', f'{w}_line + {w}_x0')}",
        f"        {w}_end = {access.at('starts', f'{w}_line + {w}_x1 + 1')}",
        f"        {w}_row = {w}_row + 1",
        f"    if {w}_at < {w}_end:",
        f"        {w}_at = {w}_at + 1",
        f"        if square_apart_{grid.axes}({access.at('places', f'{w}_at - 1')}, {w}_point) <= {w}_reach:",
        f"            {name} = {access.row(access.at('slots', f'{w}_at - 1'))}",
    ]
    code = _parse_around(lines, body)
    return [nodes.assign(f"{w}_point", point), nodes.assign(f"{w}_radius", radius), *code]


def nearest_loop(
    target: KernelTarget, label: str, name: str, kind: Any, field: Field, point: ast.expr, k: int, body: list[ast.stmt]
) -> list[ast.stmt]:
    """``body`` for the ``k`` entities nearest to ``point``."""
    access = GridAccess(target, kind, field, label)
    grid = access.grid
    if uses_brute_force(grid.room):
        search = nearest_search(grid.axes, k)
        arguments = f"{target.other_rows_column(kind, field)}, {access.row('0')}, {ast.unparse(target.count(kind))}"
    else:
        search = nearest_search(grid.axes, k, grid.cells, first_ring(grid, k))
        arguments = ", ".join(
            [
                access.read("low"),
                access.read("scale"),
                *(access.column(part) for part in ("starts", "slots", "places")),
                "world",
            ]
        )
    target.use_helper(search)
    lines = [
        f"{label}_found = {search.function}({label}_point, {arguments})",
        f"for {label}_i in range({k}):",
        f"    if {label}_found[{label}_i] < 0: break",
        f"    {name} = {access.row(f'{label}_found[{label}_i]')}",
    ]
    return [nodes.assign(f"{label}_point", point), *_parse_around(lines, body)]


def _parse_around(lines: list[str], body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of ``lines``, with ``body`` at the end of the innermost block that their last line is in."""
    code = block = ast.parse("\n".join(lines)).body
    while isinstance(block[-1], ast.For | ast.While | ast.If):
        block = block[-1].body
    block += body
    return code
