"""Rows of a table with one value of a component, gathered into full warps on CUDA."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.population_kernels import WARP_SIZE

WORLDS_PER_WARP = 8
"""Worlds whose rows a warp gathers: enough to fill its threads, and few enough for many warps."""
THREADS_PER_WORLD = WARP_SIZE // WORLDS_PER_WARP
"""Threads of such a kernel per world."""

BEGIN, FIND, TAKE = 0, 1, 2
"""What :func:`gather` does: start with the first world, find up to 32 rows, return the one of this thread."""

# All threads of a warp call it together. Rows that were found wait in shared memory until 32 of them are there, or
# until no world is left. A block has at most 16 warps.
_GATHER = """
#if defined(__CUDA_ARCH__)
    __shared__ int waiting[16][64];
    __shared__ int taken[16][32];
    __shared__ int cursor[16][3];
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    int* rows = waiting[warp];
    int* at = cursor[warp];
    if (mode == 2) return taken[warp][lane];
    __syncwarp();
    if (mode == 0) {
        if (lane == 0) { at[0] = 0; at[1] = start; at[2] = 0; }
        __syncwarp();
        return 0;
    }
    int found = at[0], world = at[1], slot = at[2];
    int in_use = capacity;
    if (!fixed && start + lane < end) in_use = min(counts.data[start + lane], capacity);
    while (found < 32 && world < end) {
        const int count = __shfl_sync(0xffffffffu, in_use, world - start);
        const int row = world * capacity + slot + lane;
        bool fits = false;
        if (slot + lane < count) fits = values.data[row] == value;
        const unsigned int votes = __ballot_sync(0xffffffffu, fits);
        if (fits) rows[found + __popc(votes & ((1u << lane) - 1u))] = row;
        found += __popc(votes);
        slot += 32;
        if (slot >= count) { world += 1; slot = 0; }
    }
    __syncwarp();
    const int own = lane < found ? rows[lane] : -1;
    const int later = lane + 32 < found ? rows[lane + 32] : -1;
    __syncwarp();
    taken[warp][lane] = own;
    if (later >= 0) rows[lane] = later;
    if (lane == 0) { at[0] = found > 32 ? found - 32 : 0; at[1] = world; at[2] = slot; }
    __syncwarp();
    return found > 0;
#else
    return 0;
#endif
"""


@wp.func_native(_GATHER)
def gather(
    mode: wp.int32,
    counts: wp.array(dtype=wp.int32),
    values: wp.array(dtype=wp.int32),
    value: wp.int32,
    capacity: wp.int32,
    fixed: wp.bool,
    start: wp.int32,
    end: wp.int32,
) -> wp.int32:
    """Gather the rows of the worlds ``start`` to ``end - 1`` whose component is ``value``, 32 at a time.

    Args:
        mode: BEGIN; FIND, which returns whether there are more rows; or TAKE, the row of this thread, -1 for none.
        counts: Rows in use, by world; not used if ``fixed``.
        values: The component, by row.
        value: Its value in the rows that are gathered.
        capacity: Rows per world in memory.
        fixed: Whether all of them are in use.
        start, end: The worlds.
    """
