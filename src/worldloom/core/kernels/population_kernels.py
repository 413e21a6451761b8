"""Functions of compiled systems that spawn entities and look them up."""

from __future__ import annotations

import warp as wp

from worldloom.core.model.population import SPAWN_INDEX_BITS, SYSTEM_BITS

_SYSTEM = wp.constant(wp.int64(SYSTEM_BITS))
_PLACE = wp.constant(wp.int64(SPAWN_INDEX_BITS))

WARP_SIZE = 32
"""Threads of a warp on CUDA."""


@wp.func
def serial_number(step: wp.int32, system: wp.int32, slot: wp.int32, share: wp.int32, nth: wp.int32):
    """The serial number of the ``nth`` entity, from 1, that one run of a system spawns."""
    return (((wp.int64(step) << _SYSTEM) | wp.int64(system)) << _PLACE) | (
        wp.int64(slot) * wp.int64(share) + wp.int64(nth - 1)
    )


@wp.func
def find_serial(serials: wp.array(dtype=wp.int64), first: wp.int32, count: wp.int32, serial: wp.int64):
    """The index of ``serial`` among ``count`` ascending numbers from row ``first``; -1 where it is missing."""
    low = wp.int32(0)
    high = count
    while low < high:
        middle = (low + high) / 2
        if serials[first + middle] < serial:
            low = middle + 1
        else:
            high = middle
    if serial >= wp.int64(0) and low < count and serials[first + low] == serial:
        return low
    return wp.int32(-1)


@wp.func
def count_below(serials: wp.array(dtype=wp.int64), begin: wp.int32, end: wp.int32, bound: wp.int64):
    """How many of the ascending numbers in the rows ``begin`` to ``end - 1`` are less than ``bound``."""
    low = wp.int32(begin)
    high = wp.int32(end)
    while low < high:
        middle = low + (high - low) / 2
        if serials[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low - begin


@wp.func
def pooled_row(first: wp.int32, count: wp.int32, slot: wp.int32, batch: wp.int32):
    """The row of a slot where all worlds share the rows; for an empty world, the unused row after all others."""
    if count == 0:
        return batch
    return first + slot


@wp.func_native(snippet="return __ballot_sync(0xffffffffu, flag);")
def warp_votes(flag: wp.bool) -> wp.uint32: ...


@wp.func_native(snippet="return __popc(votes & ((1u << lane) - 1u));")
def votes_before(votes: wp.uint32, lane: wp.int32) -> wp.int32: ...


@wp.func_native(snippet="return __popc(votes);")
def vote_count(votes: wp.uint32) -> wp.int32: ...


@wp.func_native(snippet="__syncwarp();")
def sync_warp(): ...


@wp.func_native(
    snippet="""
    int sum = value;
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
    }
    return sum;
    """
)
def sum_up_to(value: wp.int32, lane: wp.int32) -> wp.int32: ...


@wp.func_native(snippet="return __shfl_sync(0xffffffffu, value, 31);")
def of_last_lane(value: wp.int32) -> wp.int32: ...


# The threads of a warp that spawn into the same world reserve their slots with one atomic addition.
@wp.func_native(
    snippet="""
#if defined(__CUDA_ARCH__)
    unsigned int same = __match_any_sync(__activemask(), world);
    int lane = threadIdx.x & 31;
    int leader = __ffs(same) - 1;
    int first = 0;
    if (lane == leader) first = atomicAdd(pending.data + world, __popc(same));
    first = __shfl_sync(same, first, leader);
    return first + __popc(same & ((1u << lane) - 1u));
#else
    return pending.data[world]++;
#endif
    """
)
def count_birth(pending: wp.array(dtype=wp.int32), world: wp.int32) -> wp.int32: ...


# The active threads of a warp reserve their slots with one atomic addition: the whole batch shares one counter.
@wp.func_native(
    snippet="""
#if defined(__CUDA_ARCH__)
    unsigned int here = __activemask();
    int lane = threadIdx.x & 31;
    int leader = __ffs(here) - 1;
    int first = 0;
    if (lane == leader) first = atomicAdd(state.data, __popc(here));
    first = __shfl_sync(here, first, leader);
    return first + __popc(here & ((1u << lane) - 1u));
#else
    return state.data[0]++;
#endif
    """
)
def take_place(state: wp.array(dtype=wp.int32)) -> wp.int32: ...
