"""Loops over neighbours in compiled systems: one flat loop over the rows of cells that a query touches, and the search for the nearest."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.fields import Field, vec
from worldloom.core.grid import VECTORS, Grid
from worldloom.core.rewrite import nodes
from worldloom.core.rewrite.values import this_world

if TYPE_CHECKING:
    from worldloom.core.rewrite.kernel_target import KernelTarget


class GridAccess:
    """The parts of a grid as a system's code spells them. ``label`` tells the variables of one loop from those of others."""

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
        return self.target.reach_world(self.grid.field(part))

    def row(self, slot: str) -> str:
        """The row of an entity."""
        return f"{ast.unparse(self.target.first_row(self.kind))} + {slot}"


def near_loop(access: GridAccess, name: str, point: ast.expr, radius: ast.expr, body: list[ast.stmt]) -> list[ast.stmt]:
    """``body`` for every entity within ``radius`` of ``point``.

    The cells of a query are some rows of cells; those of one row are one stretch in the order of the cells. The loop is a single one,
    so that ``break`` leaves it, and it moves on before ``body``, so that ``continue`` may go straight back to its head.
    """
    grid, w, cells = access.grid, access.label, access.grid.cells
    low, scale = access.read("low"), access.read("scale")
    lines = [f"{w}_reach = largest_square({w}_radius)"]
    for axis, letter in enumerate("xyz"[: grid.axes]):
        around = f"cells_around({w}_point[{axis}], {w}_radius, {low}[{axis}], {scale}[{axis}], {cells})"
        lines.append(f"{w}_{letter}0, {w}_{letter}1 = {around}")
    wide = f"({w}_y1 - {w}_y0 + 1)"
    lines.append(f"{w}_rows = {wide if grid.axes == 2 else f'{wide} * ({w}_z1 - {w}_z0 + 1)'}")
    line = f"{w}_y0 + {w}_row" if grid.axes == 2 else f"({w}_z0 + {w}_row / {wide}) * {cells} + {w}_y0 + {w}_row % {wide}"
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
    made = ast.parse("\n".join(lines)).body
    loop = made[-1]
    assert isinstance(loop, ast.While) and isinstance(loop.body[-1], ast.If) and isinstance(loop.body[-1].body[-1], ast.If)
    loop.body[-1].body[-1].body += body
    return [nodes.assign(f"{w}_point", point), nodes.assign(f"{w}_radius", radius), *made]


def nearest_loop(access: GridAccess, name: str, point: ast.expr, k: int, body: list[ast.stmt]) -> list[ast.stmt]:
    """``body`` for the ``k`` entities nearest to ``point``."""
    w, search = access.label, nearest_search(access.grid.axes, access.grid.cells, k)
    access.target.use_helper(search)
    columns = ", ".join(access.column(part) for part in ("starts", "slots", "places"))
    lines = [
        f"{w}_found = {search.function}({w}_point, {access.read('low')}, {access.read('scale')}, {columns}, world)",
        f"for {w}_i in range({k}):",
        f"    if {w}_found[{w}_i] < 0: break",
        f"    {name} = {access.row(f'{w}_found[{w}_i]')}",
    ]
    made = ast.parse("\n".join(lines)).body
    loop = made[-1]
    assert isinstance(loop, ast.For)
    loop.body += body
    return [nodes.assign(f"{w}_point", point), *made]


@dataclass(frozen=True)
class NearestSearch:
    """The Warp function that finds the ``k`` nearest, ring by ring of cells around the cell of the query.

    It keeps the best so far in order, and stops when ``k`` are found and nothing outside the ring can be as near as the last of them.
    """

    axes: int
    cells: int
    k: int

    @property
    def name(self) -> str:
        """A name that no helper of a user's has."""
        return f"nearest({self.axes}, {self.cells}, {self.k})"

    @property
    def function(self) -> str:
        return f"wl_nearest_{self.axes}_{self.cells}_{self.k}"

    def kernel_code(self, types: dict[str, Any], exact: bool = False) -> tuple[str, dict[str, Any]]:
        """The text of the function, and the helpers it calls."""
        from worldloom.core.rewrite.accessors import type_code

        axes, cells, k = self.axes, self.cells, self.k
        vector = f"wp.vec{axes}f"
        letters = "xyz"[:axes]
        head = f"point: {vector}, low: {vector}, scale: {vector}, starts: wp.array2d(dtype=wp.int32), slots: wp.array2d(dtype=wp.int32)"
        lines = [
            f"found = {type_code(vec(k, wp.int32), types)}(-1)",
            f"squares = {type_code(vec(k, wp.float32), types)}(wp.inf)",
            "count = wp.int32(0)",
            f"everyone = starts[world, {cells**axes}]",
            *[f"c{x} = first_cell(point[{a}], low[{a}], scale[{a}], {cells})" for a, x in enumerate(letters)],
            "ring = wp.int32(0)",
            f"while ring < {cells}:",
            *[f"    {x}0 = wp.max(c{x} - ring, 0)" for x in letters],
            *[f"    {x}1 = wp.min(c{x} + ring, {cells - 1})" for x in letters],
            *[f"    {line}" for line in self._rows()],
            f"    far = {self._clearance()} * 0.9999",
            f"    if count == everyone or (count == {k} and far * far > squares[{k - 1}]): ring = wp.int32({cells})",
            "    ring = ring + 1",
            "return found",
        ]
        body = "\n".join(f"    {line}" for line in lines)
        return f"@wp.func\ndef {self.function}({head}, places: wp.array2d(dtype={vector}), world: wp.int32):\n{body}\n", {}

    def _rows(self) -> list[str]:
        """All rows of cells of a ring: whole ones at its faces, and the two ends of those between."""
        outer = ["for y in range(y0, y1 + 1):"] if self.axes == 2 else ["for z in range(z0, z1 + 1):", "    for y in range(y0, y1 + 1):"]
        face = "wp.abs(y - cy) == ring" + (" or wp.abs(z - cz) == ring" if self.axes == 3 else "")
        inner = [
            f"row = {'y' if self.axes == 2 else f'(z * {self.cells} + y)'} * {self.cells}",
            "for side in range(2):",
            "    at = wp.int32(0)",
            "    end = wp.int32(0)",
            f"    if {face}:",
            "        if side == 0:",
            "            at = starts[world, row + x0]",
            "            end = starts[world, row + x1 + 1]",
            "    else:",
            "        x = cx - ring + 2 * ring * side",
            f"        if x >= 0 and x < {self.cells}:",
            "            at = starts[world, row + x]",
            "            end = starts[world, row + x + 1]",
            "    for i in range(at, end):",
            *[f"        {line}" for line in self._insert()],
        ]
        pad = "    " * len(outer)
        return [*outer, *[pad + line for line in inner]]

    def _insert(self) -> list[str]:
        """Put an entity where it belongs among the best, if it does; one whose distance is no number never does."""
        last = self.k - 1
        return [
            f"square = square_apart_{self.axes}(places[world, i], point)",
            "slot = slots[world, i]",
            f"if square < squares[{last}] or (square == squares[{last}] and (count < {self.k} or slot < found[{last}])):",
            f"    place = wp.min(count, {last})",
            "    moving = place > 0",
            "    while moving:",
            "        moving = square < squares[place - 1] or (square == squares[place - 1] and slot < found[place - 1])",
            "        if moving:",
            "            squares[place] = squares[place - 1]",
            "            found[place] = found[place - 1]",
            "            place = place - 1",
            "            moving = place > 0",
            "    squares[place] = square",
            "    found[place] = slot",
            f"    count = wp.min(count + 1, {self.k})",
        ]

    def _clearance(self) -> str:
        each = [f"clearance(point[{a}], low[{a}], scale[{a}], c{x}, ring, {self.cells})" for a, x in enumerate("xyz"[: self.axes])]
        return functools.reduce(lambda one, two: f"wp.min({one}, {two})", each)


@functools.cache
def nearest_search(axes: int, cells: int, k: int) -> NearestSearch:
    """The one search for these numbers: programs tell functions of one name apart by identity."""
    return NearestSearch(axes, cells, k)
