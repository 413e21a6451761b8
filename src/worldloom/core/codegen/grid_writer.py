"""The text of the kernels that sort the entities of a world into the cells of a grid.

On the CPU a loop counts the entities of each cell and sorts them (counting sort). On CUDA the threads of a block share
a world: they count in shared memory, and the warps run in slot order, so that entities within a cell are in slot order.
"""

from __future__ import annotations

from typing import Any

from worldloom.core.codegen.column_access import ColumnParameters
from worldloom.core.frontend.targets.accessors import type_code
from worldloom.core.model.columns import WORLD
from worldloom.core.model.grid import PARTS, Grid
from worldloom.core.model.population import Population

_SHARED_BUILD = """
    const int threads = blockDim.x, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, warps = threads >> 5;
    __shared__ int cell_start[SIZE];
    __shared__ int box[2 * AXES];
    __shared__ int sums[32];
    const auto* from = places_of.data + base;
    int* to_starts = starts.data + (size_t)world * (SIZE + 1);
    int* to_slots = slots.data + (size_t)world * slots.shape[1];
    auto* to_places = places.data + (size_t)world * places.shape[1];

    // The box: floats as whole numbers in the same order, so that the least and the greatest can be taken atomically.
    const int above = 0x7f800000, below = -0x7f800001;
    for (int cell = thread; cell < SIZE; cell += threads) cell_start[cell] = 0;
    if (thread < AXES) { box[thread] = above; box[AXES + thread] = below; }
    __syncthreads();
    int least[AXES], most[AXES];
    for (int axis = 0; axis < AXES; ++axis) { least[axis] = above; most[axis] = below; }
    for (int slot = thread; slot < count; slot += threads) {
        for (int axis = 0; axis < AXES; ++axis) {
            const float x = from[slot][axis];
            const int bits = __float_as_int(x), key = bits >= 0 ? bits : bits ^ 0x7fffffff;
            if (x == x) { least[axis] = min(least[axis], key); most[axis] = max(most[axis], key); }
        }
    }
    for (int axis = 0; axis < AXES; ++axis) { atomicMin(&box[axis], least[axis]); atomicMax(&box[AXES + axis], most[axis]); }
    __syncthreads();
    float lower[AXES], factor[AXES];
    for (int axis = 0; axis < AXES; ++axis) {
        const int low_key = box[axis], high_key = box[AXES + axis];
        lower[axis] = __fadd_rn(__int_as_float(low_key >= 0 ? low_key : low_key ^ 0x7fffffff), 0.0f);
        const float upper = __int_as_float(high_key >= 0 ? high_key : high_key ^ 0x7fffffff);
        factor[axis] = upper > lower[axis] ? __fdiv_rn((float)CELLS, __fsub_rn(upper, lower[axis])) : 0.0f;
        if (thread == 0) { low.data[world][axis] = lower[axis]; scale.data[world][axis] = factor[axis]; }
    }
    auto cell_of = [&](int slot) {
        int cell = 0;
        for (int axis = AXES - 1; axis >= 0; --axis) {
            const float along = __fmul_rn(__fsub_rn(from[slot][axis], lower[axis]), factor[axis]);
            cell = cell * CELLS + (along > 0.0f ? (int)fminf(along, (float)(CELLS - 1)) : 0);
        }
        return cell;
    };

    // How many lie in each cell, and where it begins.
    for (int slot = thread; slot < count; slot += threads) atomicAdd(&cell_start[cell_of(slot)], 1);
    __syncthreads();
    int carried = 0;
    for (int first = 0; first < SIZE; first += threads) {
        const int cell = first + thread, mine = cell < SIZE ? cell_start[cell] : 0;
        int sum = mine;
        for (int step = 1; step < 32; step <<= 1) {
            const int other = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        int before = carried;
        for (int other = 0; other < warps; ++other) {
            if (other < warp) before += sums[other];
            carried += sums[other];
        }
        if (cell < SIZE) { cell_start[cell] = before + sum - mine; to_starts[cell] = before + sum - mine; }
        __syncthreads();
    }
    if (thread == 0) to_starts[SIZE] = carried;

    // Each to its place. Warps take turns, so that lower slots come first.
    for (int first = 0; first < count; first += threads) {
        const int slot = first + thread;
        const int cell = slot < count ? cell_of(slot) : -1;
        int at = 0;
        for (int turn = 0; turn < warps; ++turn) {
            if (turn == warp) {
                const unsigned int same = __match_any_sync(0xffffffffu, cell);
                const int rank = __popc(same & ((1u << lane) - 1u));
                if (cell >= 0) at = cell_start[cell] + rank;
                __syncwarp();
                if (cell >= 0 && rank == 0) cell_start[cell] = at + __popc(same);
            }
            __syncthreads();
        }
        if (cell >= 0) { to_slots[at] = slot; to_places[at] = from[slot]; }
    }
"""  # noqa: E501 - a change of this text changes compiled kernels


class GridKernelWriter(ColumnParameters):
    """Writes the body of the kernel that builds one grid."""

    def __init__(
        self, grid: Grid, population: Population | None, mask: tuple[str, bool] | None, types: dict[str, Any]
    ) -> None:
        super().__init__()
        self.grid, self.population, self.mask = grid, population, mask
        self.vector = type_code(grid.vector, types)

    def body(self, cuda: bool) -> list[str]:
        """The lines for one world; on CUDA for one of the threads of a block."""
        head = ["world = first + thread / block_threads()" if cuda else "world = first + thread"]
        if self.mask is not None:
            name, value = self.mask
            head.append(
                f"if {'not ' if value else ''}{self._argument(WORLD, name)}[world]: {'return' if cuda else 'continue'}"
            )
        head += [f"base = {self._base()}", f"count = {self._count()}"]
        if not cuda:
            return [*head, *self._box(), *self._sort()]
        columns = ", ".join([self._argument(self.grid.table, self.grid.by), *map(self._part, PARTS)])
        return [*head, f"{self._function}(world, base, count, {columns})"]

    @property
    def block_build_text(self) -> str:
        """The text of the native function that the kernel calls on CUDA."""
        vectors, numbers = f"wp.array(dtype={self.vector})", "wp.array2d(dtype=wp.int32)"
        snippet = _SHARED_BUILD
        for name, value in (("SIZE", self.grid.size), ("AXES", self.grid.axes), ("CELLS", self.grid.cells)):
            snippet = snippet.replace(name, str(value))
        head = (
            f"world: wp.int32, base: wp.int32, count: wp.int32, places_of: {vectors}, low: {vectors}, scale: {vectors}"
        )
        head += f", starts: {numbers}, slots: {numbers}, places: wp.array2d(dtype={self.vector})"
        return f"@wp.func_native(snippet={snippet!r})\ndef {self._function}({head}): ...\n"

    # -- the loops of the CPU ----------------------------------------------------------------------------------------

    def _box(self) -> list[str]:
        """The box around all entities, and the cells per unit of length along each axis."""
        axes = range(self.grid.axes)
        lines = [f"low_{a} = wp.float32(wp.inf)" for a in axes] + [f"high_{a} = wp.float32(-wp.inf)" for a in axes]
        lines += [
            "for slot in range(count):",
            f"    place = {self._argument(self.grid.table, self.grid.by)}[base + slot]",
        ]
        for a in axes:
            lines += [
                f"    if place[{a}] < low_{a}: low_{a} = place[{a}]",
                f"    if place[{a}] > high_{a}: high_{a} = place[{a}]",
            ]
        for a in axes:
            lines += [f"low_{a} = low_{a} + 0.0", f"scale_{a} = wp.float32(0.0)"]
            lines += [f"if high_{a} > low_{a}: scale_{a} = wp.float32({self.grid.cells}) / (high_{a} - low_{a})"]
        lines += [f"{name} = {self.vector}({', '.join(f'{name}_{a}' for a in axes)})" for name in ("low", "scale")]
        return lines + [f"{self._part(name)}[world] = {name}" for name in ("low", "scale")]

    def _sort(self) -> list[str]:
        """Counting sort. The start of a cell is incremented to its end meanwhile, and restored."""
        starts, size = self._part("starts"), self.grid.size
        source = f"{self._argument(self.grid.table, self.grid.by)}[base + slot]"
        cell = f"cell_{self.grid.axes}({source}, low, scale, {self.grid.cells})"
        return [
            f"for c in range({size + 1}): {starts}[world, c] = 0",
            "for slot in range(count):",
            f"    cell = {cell} + 1",
            f"    {starts}[world, cell] = {starts}[world, cell] + 1",
            f"for c in range({size}): {starts}[world, c + 1] = {starts}[world, c + 1] + {starts}[world, c]",
            "for slot in range(count):",
            f"    cell = {cell}",
            f"    at = {starts}[world, cell]",
            f"    {self._part('slots')}[world, at] = slot",
            f"    {self._part('places')}[world, at] = {source}",
            f"    {starts}[world, cell] = at + 1",
            f"for c in range({size}): {starts}[world, {size} - c] = {starts}[world, {size - 1} - c]",
            f"{starts}[world, 0] = 0",
        ]

    # -- columns -----------------------------------------------------------------------------------------------------

    @property
    def _function(self) -> str:
        return f"build_grid_{self.grid.axes}_{self.grid.cells}"

    def _part(self, part: str) -> str:
        return self._argument(WORLD, self.grid.column(part))

    def _base(self) -> str:
        pooled = self.population is not None and self.population.pooled
        return f"{self._argument(WORLD, f'{self.grid.table}__first')}[world]" if pooled else f"world * {self.grid.room}"

    def _count(self) -> str:
        if self.population is None:
            return f"wp.int32({self.grid.room})"
        return f"wp.clamp({self._argument(WORLD, f'{self.grid.table}__count')}[world], 0, {self.grid.room})"
