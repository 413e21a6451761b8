"""The kernel that lists the worlds of a mask, in order."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Bools, Ints

LISTING_THREADS = 1024
"""Threads of the kernel on CUDA, which are one block: its warps need no atomic additions to share the list."""

# A thread loads the flags of 16 worlds at once, 0 or 1 in a byte each, and packs them into bits. Each warp counts the
# worlds of its part of the batch, and fills its part of the list, which follows those of the warps before it.
_LIST = """
#if defined(__CUDA_ARCH__)
    __shared__ int totals[32];
    const unsigned int all = 0xffffffffu;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, piece = 512;
    const int part = (num_worlds + 32 * piece - 1) / (32 * piece) * piece;
    const int begin = warp * part, end = min(begin + part, num_worlds);
    const bool aligned = reinterpret_cast<size_t>(mask.data) % 16 == 0;
    auto flags = [&](int world) {
        unsigned int found = 0u;
        if (aligned && world + 16 <= num_worlds) {
            const uint4 bytes = *reinterpret_cast<const uint4*>(mask.data + world);
            found = ((bytes.x & 0x01010101u) * 0x01020408u) >> 24;
            found |= ((bytes.y & 0x01010101u) * 0x01020408u) >> 24 << 4;
            found |= ((bytes.z & 0x01010101u) * 0x01020408u) >> 24 << 8;
            found |= ((bytes.w & 0x01010101u) * 0x01020408u) >> 24 << 12;
        } else {
            for (int k = 0; k < 16 && world + k < num_worlds; ++k) found |= (mask.data[world + k] ? 1u : 0u) << k;
        }
        return found;
    };
    int count = 0;
    #pragma unroll 4
    for (int world = begin + 16 * lane; world < end; world += piece) count += __popc(flags(world));
    for (int apart = 16; apart > 0; apart /= 2) count += __shfl_xor_sync(all, count, apart);
    if (lane == 0) totals[warp] = count;
    __syncthreads();
    int before = lane < warp ? totals[lane] : 0;
    for (int apart = 16; apart > 0; apart /= 2) before += __shfl_xor_sync(all, before, apart);
    if (warp == 31 && lane == 0) sizes.data[0] = before + count;
    for (int start = begin; start < end; start += piece) {
        const int world = start + 16 * lane;
        unsigned int found = world < end ? flags(world) : 0u;
        if (!__any_sync(all, found != 0u)) continue;
        int up_to = __popc(found);
        const int own = up_to;
        for (int apart = 1; apart < 32; apart *= 2) {
            const int other = __shfl_up_sync(all, up_to, apart);
            if (lane >= apart) up_to += other;
        }
        int place = before + up_to - own;
        for (; found; found &= found - 1u) worlds.data[place++] = world + __ffs(found) - 1;
        before += __shfl_sync(all, up_to, 31);
    }
#else
    int count = 0;
    for (int world = 0; world < num_worlds; ++world)
        if (mask.data[world]) worlds.data[count++] = world;
    sizes.data[0] = count;
#endif
"""


@wp.func_native(_LIST)
def _list_worlds(num_worlds: wp.int32, mask: Bools, sizes: Ints, worlds: Ints):
    """List the worlds of a mask; see :func:`list_worlds`."""


@wp.kernel(enable_backward=False, module="unique")
def list_worlds(num_worlds: wp.int32, mask: Bools, sizes: Ints, worlds: Ints):
    """List the worlds of a mask; :data:`LISTING_THREADS` threads in one block on CUDA, one on the CPU.

    Args:
        num_worlds: Number of worlds.
        mask: A truth value per world, shape (num_worlds,).
        sizes: Gets the number of worlds in the list, shape (1,).
        worlds: Gets their numbers in ascending order, shape (num_worlds,).
    """
    _list_worlds(num_worlds, mask, sizes, worlds)
