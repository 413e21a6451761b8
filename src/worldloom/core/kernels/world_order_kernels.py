"""The kernels that order worlds by their workload: a counting sort."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Ints

ORDERING_THREADS = 1024
"""Threads of a block of the kernels on CUDA, 32 warps."""
WORLDS_PER_THREAD = 4
"""Worlds that a thread holds at once."""
BLOCK_WORLDS = WORLDS_PER_THREAD * ORDERING_THREADS
"""Worlds of a block."""
MAX_WORKLOAD = 31
"""The largest workload: each has a thread of a warp and a warp of a block, which count its worlds."""

# Every warp has a part of the worlds of its block, and counts them by workload in shared memory; threads with the same
# workload find each other by a vote. ``bins`` are workloads in descending order.
_COUNT = f"""
    __shared__ int counts[32][32];
    const unsigned int all = 0xffffffffu;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned int lower = (1u << lane) - 1u;
    const int first = blockIdx.x * {BLOCK_WORLDS} + warp * {32 * WORLDS_PER_THREAD};
    int bins[{WORLDS_PER_THREAD}];
    for (int k = 0; k < {WORLDS_PER_THREAD}; ++k) {{
        const int world = first + 32 * k + lane;
        bins[k] = world < num_worlds ? 31 - min(max(workload.data[world], 0), 31) : -1;
    }}
    counts[warp][lane] = 0;
    __syncwarp();
    for (int k = 0; k < {WORLDS_PER_THREAD}; ++k) {{
        const unsigned int same = __match_any_sync(all, bins[k]);
        if (bins[k] >= 0 && !(same & lower)) counts[warp][bins[k]] += __popc(same);
        __syncwarp();
    }}
    __syncthreads();
"""
_SUM = "for (int apart = 16; apart > 0; apart /= 2) {0} += __shfl_xor_sync(all, {0}, apart);"
_SCAN = """for (int apart = 1; apart < 32; apart *= 2) {{
        const int other = __shfl_up_sync(all, {0}, apart);
        if (lane >= apart) {0} += other;
    }}"""

_COUNT_WORLDS = f"""
#if defined(__CUDA_ARCH__)
    {_COUNT}
    int total = counts[lane][warp];
    {_SUM.format("total")}
    if (lane == 0) order.data[num_worlds + 32 * blockIdx.x + warp] = total;
#endif
"""
# The places of a workload begin behind those of larger ones, those of a block behind those of the blocks before it, and
# those of a warp behind those of the warps before it.
_PLACE_WORLDS = f"""
#if defined(__CUDA_ARCH__)
    __shared__ int totals[32];
    {_COUNT}
    const int* of_blocks = order.data + num_worlds;
    int total = 0, before = 0;
    for (int block = lane; block < gridDim.x; block += 32) {{
        const int count = of_blocks[32 * block + warp];
        total += count;
        if (block < blockIdx.x) before += count;
    }}
    {_SUM.format("total")}
    {_SUM.format("before")}
    if (lane == 0) totals[warp] = total;
    const int own = counts[lane][warp];
    int up_to = own;
    {_SCAN.format("up_to")}
    __syncthreads();
    int larger = lane < warp ? totals[lane] : 0;
    {_SUM.format("larger")}
    counts[lane][warp] = larger + before + up_to - own;
    __syncthreads();
    for (int k = 0; k < {WORLDS_PER_THREAD}; ++k) {{
        const unsigned int same = __match_any_sync(all, bins[k]);
        const int place = bins[k] < 0 ? 0 : counts[warp][bins[k]];
        __syncwarp();
        if (bins[k] >= 0) {{
            order.data[place + __popc(same & lower)] = first + 32 * k + lane;
            if (!(same & lower)) counts[warp][bins[k]] = place + __popc(same);
        }}
        __syncwarp();
    }}
#else
    int place = 0;
    for (int wanted = 31; wanted >= 0; --wanted)
        for (int world = 0; world < num_worlds; ++world) {{
            const int own = workload.data[world] < 0 ? 0 : workload.data[world] > 31 ? 31 : workload.data[world];
            if (own == wanted) order.data[place++] = world;
        }}
#endif
"""


def num_blocks(num_worlds: int) -> int:
    """Blocks of the kernels."""
    return -(-num_worlds // BLOCK_WORLDS)


def order_size(num_worlds: int) -> int:
    """Numbers of the order: the worlds, and behind them those of each workload in each block."""
    return num_worlds + (MAX_WORKLOAD + 1) * num_blocks(num_worlds)


@wp.func_native(_COUNT_WORLDS)
def _count_worlds(num_worlds: wp.int32, workload: Ints, order: Ints):
    """Count worlds; see :func:`count_worlds`."""


@wp.func_native(_PLACE_WORLDS)
def _place_worlds(num_worlds: wp.int32, workload: Ints, order: Ints):
    """Order worlds; see :func:`place_worlds`."""


@wp.kernel(enable_backward=False, module="unique")
def count_worlds(num_worlds: wp.int32, workload: Ints, order: Ints):
    """Count the worlds of each block by workload. A CPU, which has no blocks, does nothing.

    Args:
        num_worlds: Number of worlds.
        workload: Their workloads, shape (num_worlds,), from 0 to :data:`MAX_WORKLOAD`; others count as the nearest.
        order: Gets the counts, behind the places of the worlds; shape (order_size(num_worlds),).
    """
    _count_worlds(num_worlds, workload, order)


@wp.kernel(enable_backward=False, module="unique")
def place_worlds(num_worlds: wp.int32, workload: Ints, order: Ints):
    """Order worlds by their workload, after :func:`count_worlds`.

    Args:
        num_worlds: Number of worlds.
        workload: Their workloads, as before.
        order: Gets the worlds first: those with the largest workload first, and of equal ones those with the lowest
            numbers; shape (order_size(num_worlds),).
    """
    _place_worlds(num_worlds, workload, order)
