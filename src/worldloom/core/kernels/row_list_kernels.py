"""The kernel that lists the rows of a table by the value of a component."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Ints
from worldloom.core.kernels.population_kernels import WARP_SIZE

WORLDS_PER_WARP = 8
"""Worlds whose rows a warp lists: enough for its threads, and few enough for many warps."""
MAX_VALUES = WARP_SIZE
"""Values of a component with a list: each has a thread of the warp, which counts its rows."""

# A warp counts the rows of its worlds for each value, takes as many places in the lists, and fills them in the order of
# rows. The order of warps within a list is that of their atomic additions: lists are for work in any order. A CPU has
# one thread, in whose lists all rows are in order.
_LIST = """
#if defined(__CUDA_ARCH__)
    const int lane = threadIdx.x & 31;
    const unsigned int all = 0xffffffffu, lower = (1u << lane) - 1u;
    const int first_list = start / tile_worlds * num_values;
    const int own = lane < num_values ? wanted.data[lane] : 0;
    int place = 0;
    for (int fill = 0; fill < 2; ++fill) {
        for (int place_of_world = start; place_of_world < end; ++place_of_world) {
            const int world = ordered ? order.data[place_of_world] : place_of_world;
            const int count = fixed ? capacity : min(counts.data[world], capacity);
            for (int slot = 0; slot < count; slot += 32) {
                const int row = world * capacity + slot + lane;
                const bool used = slot + lane < count;
                const int value = used ? values.data[row] : 0;
                for (int k = 0; k < num_values; ++k) {
                    const int wanted_here = __shfl_sync(all, own, k);  // by all threads of the warp
                    const bool fits = used && value == wanted_here;
                    const unsigned int votes = __ballot_sync(all, fits);
                    const int base = __shfl_sync(all, place, k);
                    if (fill && fits) rows.data[(size_t)(first_list + k) * stride + base + __popc(votes & lower)] = row;
                    if (lane == k) place += __popc(votes);
                }
            }
        }
        if (fill == 0) place = lane < num_values && place > 0 ? atomicAdd(&sizes.data[first_list + lane], place) : 0;
    }
#else
    for (int place_of_world = start; place_of_world < end; ++place_of_world) {
        const int world = ordered ? order.data[place_of_world] : place_of_world;
        const int count = fixed || counts.data[world] > capacity ? capacity : counts.data[world];
        for (int row = world * capacity; row < world * capacity + count; ++row)
            for (int k = 0; k < num_values; ++k) {
                const int list = place_of_world / tile_worlds * num_values + k;
                if (values.data[row] == wanted.data[k]) rows.data[(size_t)list * stride + sizes.data[list]++] = row;
            }
    }
#endif
"""


_USED_LISTS = """
    const int lane = threadIdx.x & 31;
    return (int)__ballot_sync(0xffffffffu, lane < count && sizes.data[first + lane] > 0);
"""


@wp.func_native(_USED_LISTS)
def used_lists(sizes: Ints, first: wp.int32, count: wp.int32) -> wp.int32:
    """Which of up to 32 lists from ``first`` on have rows, as bits; all threads of a warp take part."""


@wp.func_native(_LIST)
def _list_worlds(
    start: wp.int32,
    end: wp.int32,
    tile_worlds: wp.int32,
    counts: Ints,
    fixed: wp.bool,
    capacity: wp.int32,
    values: Ints,
    wanted: Ints,
    num_values: wp.int32,
    stride: wp.int32,
    ordered: wp.bool,
    order: Ints,
    sizes: Ints,
    rows: Ints,
):
    """List the rows of the worlds at the places ``start`` to ``end - 1``; see :func:`list_rows`."""


@wp.kernel(enable_backward=False, module="unique")
def clear(numbers: Ints):
    """Set all numbers to 0; a launch, unlike a fill, takes the stream of the others."""
    numbers[wp.tid()] = 0


@wp.kernel(enable_backward=False, module="unique")
def list_rows(
    num_worlds: wp.int32,
    worlds_per_run: wp.int32,
    tile_worlds: wp.int32,
    counts: Ints,
    fixed: wp.bool,
    capacity: wp.int32,
    values: Ints,
    wanted: Ints,
    ordered: wp.bool,
    order: Ints,
    sizes: Ints,
    rows: Ints,
):
    """List the rows whose component has one of some values; 32 threads per run on CUDA, one on the CPU.

    Args:
        num_worlds: Number of worlds.
        worlds_per_run: Worlds of each run.
        tile_worlds: Worlds whose rows share lists; a multiple of ``worlds_per_run``, or all.
        counts: Rows in use, by world; any array if ``fixed``.
        fixed: Whether all rows are in use.
        capacity: Rows per world in memory.
        values: The component, by row.
        wanted: The values, shape (num_values,).
        ordered: Whether tiles consist of worlds in an order, and not of adjacent ones.
        order: The worlds in this order, shape (num_worlds,); any array if not ``ordered``.
        sizes: The number of rows with each of them, shape (num_tiles * num_values,), 0 before.
        rows: Their rows, shape (num_tiles * num_values * tile_worlds * capacity,), those of the k-th value in a tile
            from ``(tile * num_values + k) * tile_worlds * capacity``.
    """
    run, _ = wp.tid()  # type: ignore[misc]
    start = run * worlds_per_run
    end = wp.min(start + worlds_per_run, num_worlds)
    _list_worlds(
        start,
        end,
        tile_worlds,
        counts,
        fixed,
        capacity,
        values,
        wanted,
        wanted.shape[0],
        tile_worlds * capacity,
        ordered,
        order,
        sizes,
        rows,
    )
