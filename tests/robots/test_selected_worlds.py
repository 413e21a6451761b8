"""Memory that functions of MuJoCo Warp allocate within conditional nodes of a graph."""

import itertools
from contextlib import nullcontext

import pytest
import warp as wp

from worldloom.robots.warp import selected_worlds
from worldloom.robots.warp.selected_worlds import ALIGNMENT, Arena


@pytest.fixture
def arena(monkeypatch):
    monkeypatch.setattr(selected_worlds.wp, "ScopedAllocator", lambda device, allocator: nullcontext())
    arena = Arena(wp.get_device("cpu"))
    arena.reserve(lambda: [arena.allocate(size) for size in (10, 300, 1000)])
    return arena


def test_arrays_of_a_scope_do_not_overlap(arena):
    with arena.scope():
        addresses = [arena.allocate(size) for size in (1000, 300, 10)]
    assert [b - a for a, b in itertools.pairwise(addresses)] == [4 * ALIGNMENT, 2 * ALIGNMENT]


def test_scopes_share_the_memory(arena):
    for _ in range(2):
        with arena.scope():
            first = arena.allocate(10)
            arena.deallocate(first, 10)
            assert arena.allocate(10) == first + ALIGNMENT
    with arena.scope():
        assert arena.allocate(10) == first


def test_more_than_was_reserved_is_an_error(arena):
    with arena.scope(), pytest.raises(RuntimeError, match="the reserved 1792 bytes are too few: 2048 are in use"):
        arena.allocate(2000)
