"""Native functions that find the ``k`` nearest entities: among all entities of a world, or in the cells of a grid.

The best candidates stay in registers: every index into them is a compile-time constant. Distances are squared, and
their bits are compared as integers, which gives the same order; NaN is farther than all numbers.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import warp as wp

from worldloom.core.frontend.targets.accessors import type_code
from worldloom.core.kernels.grid_kernels import SQUARE_APART
from worldloom.core.model.dtypes import vec
from worldloom.core.model.grid import Grid

_DISTANCE = """
    auto square_apart = [](const auto& a, const auto& b) -> float { SQUARE_APART };
    auto distance_of = [&](const auto* place) -> unsigned int {
#if defined(__CUDA_ARCH__) && AXES == 2
        const float2 held = *reinterpret_cast<const float2*>(place);
        return __float_as_uint(square_apart(wp::vec_t<2, float>(held.x, held.y), point));
#elif defined(__CUDA_ARCH__)
        return __float_as_uint(square_apart(*place, point));
#else
        const float square = square_apart(*place, point);
        unsigned int bits;
        __builtin_memcpy(&bits, &square, sizeof(bits));
        return bits;
#endif
    };
"""

# No entity is farther than infinity. A CPU compares distance and slot as one integer of 64 bits. A GPU would need two
# steps for that, and where slots are in order it need not compare them at all.
_BEST = """
    const unsigned int beyond = 0x7f800001u, nobody = 0xffffffffu;
#if defined(__CUDA_ARCH__)
    unsigned int far[K], who[K];
#pragma unroll
    for (int i = 0; i < K; ++i) { far[i] = beyond; who[i] = nobody; }
    auto worst = [&]() { return far[K - 1]; };
    auto slot_of = [&](int i) { return who[i]; };
    auto insert = [&](unsigned int distance, unsigned int slot) {
        auto nearer = [&](int i) { return distance < far[i] || (CELLS > 0 && distance == far[i] && slot < who[i]); };
        bool here = nearer(K - 1);
#pragma unroll
        for (int i = K - 1; i > 0; --i) {
            const bool before = nearer(i - 1);
            far[i] = before ? far[i - 1] : here ? distance : far[i];
            who[i] = before ? who[i - 1] : here ? slot : who[i];
            here = before;
        }
        if (here) { far[0] = distance; who[0] = slot; }
    };
#else
    unsigned long long best[K];
#pragma unroll
    for (int i = 0; i < K; ++i) best[i] = (unsigned long long)beyond << 32 | nobody;
    auto worst = [&]() { return (unsigned int)(best[K - 1] >> 32); };
    auto slot_of = [&](int i) { return (unsigned int)best[i]; };
    auto insert = [&](unsigned int distance, unsigned int slot) {
        const unsigned long long one = (unsigned long long)distance << 32 | slot;
#pragma unroll
        for (int i = K - 1; i > 0; --i) best[i] = one < best[i - 1] ? best[i - 1] : one < best[i] ? one : best[i];
        if (one < best[0]) best[0] = one;
    };
#endif
"""

# Entities are processed in groups of 32. A mask of those that may be near enough is computed without a branch; then
# these are inserted. So the threads of a warp insert at the same time, instead of diverging at nearly every entity.
_LOOK = """
    auto look_through = [&](const auto* from, int begin, int end, auto slot_at) {
        for (int start = begin; start < end; start += 32) {
            const int size = end - start < 32 ? end - start : 32;
            const unsigned int reach = worst();
            unsigned int near = 0u;
            if (size == 32) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
                for (int i = 0; i < 32; ++i) near |= (unsigned int)(distance_of(from + start + i) <= reach) << i;
            } else {
                for (int i = 0; i < size; ++i) near |= (unsigned int)(distance_of(from + start + i) <= reach) << i;
            }
            while (near) {
#if defined(__CUDA_ARCH__)
                const int at = start + __ffs(near) - 1;
#else
                const int at = start + __builtin_ctz(near);
#endif
                near &= near - 1u;
                insert(distance_of(from + at), (unsigned int)slot_at(at));
            }
        }
    };
"""

_FOUND = """
    wp::vec_t<K, int> found;
#pragma unroll
    for (int i = 0; i < K; ++i) found[i] = (int)slot_of(i);
    return found;
"""

_OF_ALL = """
    look_through(places.data + first, 0, count, [](int at) { return at; });
"""

# A box of cells around the point grows until it holds k entities. The farthest of them bounds the cells that can hold
# a nearer one.
_IN_CELLS = """
    const int* begins = starts.data + (size_t)world * starts.shape[1];
    const int* order = slots.data + (size_t)world * slots.shape[1];
    const auto* from = places.data + (size_t)world * places.shape[1];
    auto first_cell = [](float along) -> int { return along > 0.0f ? (along < LAST.0f ? (int)along : LAST) : 0; };
    auto last_cell = [](float along) -> int { return along < LAST.0f ? (along > 0.0f ? (int)along : 0) : LAST; };

    auto square_of = [](unsigned int bits) -> float {
#if defined(__CUDA_ARCH__)
        return __uint_as_float(bits);
#else
        float square;
        __builtin_memcpy(&square, &bits, sizeof(square));
        return square;
#endif
    };

    int cell[3] = {}, low_cell[3] = {}, high_cell[3] = {}, seen_low[3] = {}, seen_high[3] = {-1, -1, -1};
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) cell[axis] = first_cell((point[axis] - low[axis]) * scale[axis]);
    bool last = false;
    for (int ring = RING;; ring += (ring + 1) / 2) {
        bool everything = true, within = true;
        const float radius = sqrtf(square_of(worst()));
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) {
            if (last) {
                const float reach = radius * 1.00001f + fabsf(point[axis]) * 1.0e-6f + 1.0e-18f;
                low_cell[axis] = first_cell((point[axis] - reach - low[axis]) * scale[axis]);
                high_cell[axis] = last_cell((point[axis] + reach - low[axis]) * scale[axis]);
            } else {
                low_cell[axis] = cell[axis] > ring ? cell[axis] - ring : 0;
                high_cell[axis] = cell[axis] + ring < LAST ? cell[axis] + ring : LAST;
            }
            within = within && low_cell[axis] >= seen_low[axis] && high_cell[axis] <= seen_high[axis];
            everything = everything && low_cell[axis] == 0 && high_cell[axis] == LAST;
        }
        if (last && within) break;
        for (int z = low_cell[2]; z <= high_cell[2]; ++z) {
            for (int y = low_cell[1]; y <= high_cell[1]; ++y) {
                const int* row = begins + (z * CELLS + y) * CELLS;
                const bool known = y >= seen_low[1] && y <= seen_high[1] && z >= seen_low[2] && z <= seen_high[2];
                for (int side = 0; side <= (int)known; ++side) {
                    const int begin = row[side == 0 ? low_cell[0] : seen_high[0] + 1];
                    const int end = row[known && side == 0 ? seen_low[0] : high_cell[0] + 1];
#if !defined(__CUDA_ARCH__)
                    if (end - begin <= 8) {
                        for (int at = begin; at < end; ++at) insert(distance_of(from + at), (unsigned int)order[at]);
                        continue;
                    }
#endif
                    look_through(from, begin, end, [&](int at) { return order[at]; });
                }
            }
        }
        if (last || everything) break;
        last = slot_of(K - 1) != nobody;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) { seen_low[axis] = low_cell[axis]; seen_high[axis] = high_cell[axis]; }
    }
"""


@dataclass(frozen=True)
class NearestSearch:
    """The native function that finds the ``k`` nearest entities of a world.

    It searches a grid of ``cells`` along each axis, or all entities where ``cells`` is 0. It returns their slots,
    nearest first, padded with -1. In a grid it starts with the cells at most ``ring`` away from the cell of the point.
    """

    axes: int
    k: int
    cells: int = 0
    ring: int = 0

    @property
    def key(self) -> str:
        """A name that no helper of a user can have."""
        return f"nearest({self.axes}, {self.k}, {self.cells}, {self.ring})"

    @property
    def function(self) -> str:
        return f"wl_nearest_{self.axes}_{self.k}_{self.cells}_{self.ring}"

    def kernel_code(
        self, types: dict[str, Any], exact: bool = False, narrow: bool = False
    ) -> tuple[str, dict[str, Any]]:
        """The text of the function, and the helpers it calls: none."""
        vector = f"wp.vec{self.axes}f"
        if self.cells:
            numbers = "wp.array2d(dtype=wp.int32)"
            head = f"point: {vector}, low: {vector}, scale: {vector}, starts: {numbers}, slots: {numbers}"
            head += f", places: wp.array2d(dtype={vector}), world: wp.int32"
        else:
            head = f"point: {vector}, places: wp.array(dtype={vector}), first: wp.int32, count: wp.int32"
        result = type_code(vec(self.k, wp.int32), types)
        return f"@wp.func_native(snippet={self._snippet!r})\ndef {self.function}({head}) -> {result}: ...\n", {}

    @property
    def _snippet(self) -> str:
        text = _DISTANCE + _BEST + _LOOK + (_IN_CELLS if self.cells else _OF_ALL) + _FOUND
        text = text.replace("{ SQUARE_APART }", "{" + SQUARE_APART[self.axes] + "}")
        constants = {"[K]": f"[{self.k}]", "K - 1": str(self.k - 1), "i < K": f"i < {self.k}", "<K,": f"<{self.k},"}
        constants |= {
            "AXES": str(self.axes),
            "CELLS": str(self.cells),
            "LAST": str(self.cells - 1),
            "RING": str(self.ring),
        }
        for name, value in constants.items():
            text = text.replace(name, value)
        return text


@functools.cache
def nearest_search(axes: int, k: int, cells: int = 0, ring: int = 0) -> NearestSearch:
    """The only search with these numbers: programs compare functions of one name by identity."""
    return NearestSearch(axes, k, cells, ring)


def first_ring(grid: Grid, k: int) -> int:
    """The smallest ring that holds 1.5 times ``k`` entities, at full capacity and uniform density."""
    ring = 1
    while 2 * (2 * ring + 1) ** grid.axes * grid.room < 3 * k * grid.size:
        ring += 1
    return ring
