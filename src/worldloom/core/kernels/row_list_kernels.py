"""The kernel that lists the rows of a table by the value of a component."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Ints
from worldloom.core.kernels.population_kernels import WARP_SIZE

WORLDS_PER_WARP = 8
"""Worlds whose rows a warp lists: enough for its threads, and few enough for many warps."""
ROUNDS = 8
"""Rows that a thread holds at once: as many loads are under way, and most worlds need no more."""
MAX_VALUES = WARP_SIZE
"""Values of a component with a list: each has a thread of the warp, which counts its rows."""

# A warp takes the rows of its worlds one after the other, ROUNDS for each of its threads at once: it counts them for
# each value, takes as many places in the lists, and fills them in the order of rows. A thread knows the number of the
# value of its row; the rows of a warp with the same number follow from one vote per bit of it. The order of warps
# within a list is that of their atomic additions: lists are for work in any order. A CPU has one thread, in whose lists
# all rows are in order.
_LIST = """
#if defined(__CUDA_ARCH__)
    const int lane = threadIdx.x & 31;
    const unsigned int all = 0xffffffffu, lower = (1u << lane) - 1u;
    const int first_list = start / tile_worlds * num_values;
    const int own = lane < num_values ? wanted.data[lane] : 0;
    const int bits = 32 - __clz(num_values - 1);
    const bool has_world = start + lane < end;
    const int world = !has_world ? 0 : ordered ? order.data[start + lane] : start + lane;
    const int count = !has_world ? 0 : fixed ? capacity : min(counts.data[world], capacity);
    int stop = count;  // the rows of this world and those before
    for (int step = 1; step < $WORLDS; step *= 2) {
        const int before = __shfl_up_sync(all, stop, step);
        stop += lane >= step ? before : 0;
    }
    const int shift = world * capacity - (stop - count);
    const int total = __shfl_sync(all, stop, $WORLDS - 1);
    int stops[$WORLDS - 1];
    #pragma unroll
    for (int k = 0; k < $WORLDS - 1; ++k) stops[k] = __shfl_sync(all, stop, k);
    for (int first = 0; first < total; first += 32 * $ROUNDS) {
        int row[$ROUNDS], value[$ROUNDS], number[$ROUNDS], place[$ROUNDS];
        #pragma unroll
        for (int r = 0; r < $ROUNDS; ++r) {
            const int item = first + 32 * r + lane;
            int from = 0;
            #pragma unroll
            for (int k = 0; k < $WORLDS - 1; ++k) from += item >= stops[k];
            row[r] = __shfl_sync(all, shift, from) + item;
            value[r] = item < total ? values.data[row[r]] : 0;
            if (choices > 0 && (unsigned int)value[r] >= (unsigned int)choices) value[r] = 0;
            number[r] = -1;
        }
        for (int k = 0; k < num_values; ++k) {
            const int wanted_here = __shfl_sync(all, own, k);
            #pragma unroll
            for (int r = 0; r < $ROUNDS; ++r) if (value[r] == wanted_here) number[r] = k;
        }
        int found = 0;  // rows with the value whose number is the lane
        #pragma unroll
        for (int r = 0; r < $ROUNDS; ++r) {
            if (first + 32 * r + lane >= total) number[r] = -1;
            if (first + 32 * r < total) {  // for all threads of the warp
                const bool fits = number[r] >= 0;
                const unsigned int votes = __ballot_sync(all, fits);
                unsigned int alike = votes, counted = lane < num_values ? votes : 0u;
                for (int bit = 0; bit < bits; ++bit) {
                    const bool set = number[r] >> bit & 1;
                    const unsigned int with = __ballot_sync(all, set);
                    alike &= set ? with : ~with;
                    counted &= lane >> bit & 1 ? with : ~with;
                }
                place[r] = __shfl_sync(all, found, number[r] & 31) + __popc(alike & lower);
                found += __popc(counted);
            }
        }
        const int begin = found > 0 ? atomicAdd(&sizes.data[first_list + lane], found) : 0;
        #pragma unroll
        for (int r = 0; r < $ROUNDS; ++r) {
            if (first + 32 * r < total) {
                const int base = __shfl_sync(all, begin, number[r] & 31);
                if (number[r] >= 0) rows.data[(size_t)(first_list + number[r]) * stride + base + place[r]] = row[r];
            }
        }
    }
#else
    for (int place_of_world = start; place_of_world < end; ++place_of_world) {
        const int world = ordered ? order.data[place_of_world] : place_of_world;
        const int count = fixed || counts.data[world] > capacity ? capacity : counts.data[world];
        for (int row = world * capacity; row < world * capacity + count; ++row) {
            const bool exists = choices == 0 || (unsigned int)values.data[row] < (unsigned int)choices;
            const int value = exists ? values.data[row] : 0;
            for (int k = 0; k < num_values; ++k) {
                const int list = place_of_world / tile_worlds * num_values + k;
                if (value == wanted.data[k]) rows.data[(size_t)list * stride + sizes.data[list]++] = row;
            }
        }
    }
#endif
""".replace("$WORLDS", str(WORLDS_PER_WARP)).replace("$ROUNDS", str(ROUNDS))


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
    choices: wp.int32,
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
    choices: wp.int32,
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
        choices: The number of choices of a discrete action, whose other values count as choice 0, as in systems; 0 for
            a component that may have any value.
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
        choices,
        wanted,
        wanted.shape[0],
        tile_worlds * capacity,
        ordered,
        order,
        sizes,
        rows,
    )
