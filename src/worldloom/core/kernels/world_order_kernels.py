"""The kernel that orders worlds by their workload."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Ints

ORDERING_THREADS = 1024
"""Threads of the kernel on CUDA, which are one block of 32 warps."""
MAX_WORKLOAD = 31
"""The largest workload: each has a thread of a warp, which counts its worlds."""

# A stable counting sort in which every warp has a part of the batch. Each warp counts the worlds of its part by
# workload in shared memory; threads with the same workload find each other by a vote. The places of a workload begin
# behind those of larger ones, the places of a warp within them behind those of the warps before it.
_ORDER = """
#if defined(__CUDA_ARCH__)
    __shared__ int counts[32][32], starts[32];
    const unsigned int all = 0xffffffffu;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned int lower = (1u << lane) - 1u;
    const int part = (num_worlds + 1023) / 1024 * 32, ahead = 16;
    const int begin = min(warp * part, num_worlds), end = min(begin + part, num_worlds);
    auto bin = [&](int world) { return 31 - min(max(workload.data[world], 0), 31); };
    counts[warp][lane] = 0;
    __syncwarp();
    for (int fill = 0; fill < 2; ++fill) {
        for (int first = begin; first < end; first += ahead * 32) {
            int bins[ahead];
            #pragma unroll
            for (int k = 0; k < ahead; ++k) {
                const int world = first + 32 * k + lane;
                bins[k] = world < end ? bin(world) : -1;
            }
            #pragma unroll
            for (int k = 0; k < ahead; ++k) {
                if (first + 32 * k >= end) break;
                const unsigned int same = __match_any_sync(all, bins[k]);
                const int place = bins[k] < 0 ? 0 : counts[warp][bins[k]];
                __syncwarp();
                if (bins[k] >= 0) {
                    if (fill) order.data[place + __popc(same & lower)] = first + 32 * k + lane;
                    if (!(same & lower)) counts[warp][bins[k]] = place + __popc(same);
                }
                __syncwarp();
            }
        }
        if (fill) return;
        __syncthreads();
        const int own = counts[lane][warp];
        int up_to = own;
        for (int apart = 1; apart < 32; apart *= 2) {
            const int other = __shfl_up_sync(all, up_to, apart);
            if (lane >= apart) up_to += other;
        }
        if (lane == 31) starts[warp] = up_to;
        __syncthreads();
        int before = lane < warp ? starts[lane] : 0;
        for (int apart = 16; apart > 0; apart /= 2) before += __shfl_xor_sync(all, before, apart);
        counts[lane][warp] = before + up_to - own;
        __syncthreads();
    }
#else
    int place = 0;
    for (int wanted = 31; wanted >= 0; --wanted)
        for (int world = 0; world < num_worlds; ++world) {
            const int own = workload.data[world] < 0 ? 0 : workload.data[world] > 31 ? 31 : workload.data[world];
            if (own == wanted) order.data[place++] = world;
        }
#endif
"""


@wp.func_native(_ORDER)
def _order_worlds(num_worlds: wp.int32, workload: Ints, order: Ints):
    """Order worlds; see :func:`order_worlds`."""


@wp.kernel(enable_backward=False, module="unique")
def order_worlds(num_worlds: wp.int32, workload: Ints, order: Ints):
    """Order worlds by their workload; :data:`ORDERING_THREADS` threads in one block on CUDA, one on the CPU.

    Args:
        num_worlds: Number of worlds.
        workload: Their workloads, shape (num_worlds,), from 0 to :data:`MAX_WORKLOAD`; others count as the nearest.
        order: Gets the worlds, shape (num_worlds,): those with the largest workload first, and of equal ones those with
            the lowest numbers.
    """
    _order_worlds(num_worlds, workload, order)
