"""Memory of arrays that were copied from a GPU: used again, but never that of an array which still exists."""

import gc
import threading

import numpy as np
import pytest
import warp as wp

from worldloom.core.base.pinned_memory import PinnedMemory


@pytest.fixture
def memory() -> PinnedMemory:
    return PinnedMemory(max_bytes=4096, pinned=False)


def new_array(memory: PinnedMemory, shape: tuple[int, ...] = (16, 4), dtype: type = wp.vec3) -> np.ndarray | None:
    array = memory.empty_like(wp.zeros(shape, dtype=dtype, device="cpu"))
    return None if array is None else array.numpy()


def test_memory_is_used_again_once_an_array_and_its_views_are_gone(memory: PinnedMemory) -> None:
    first = new_array(memory)
    assert first.shape == (16, 4, 3) and first.dtype == np.float32
    view, address = first[3:, 1], first.ctypes.data
    del first
    gc.collect()
    second = new_array(memory)
    assert second.ctypes.data != address
    view[:] = 7.0
    second[:] = 1.0
    assert (view == 7.0).all()
    del view
    gc.collect()
    assert new_array(memory).ctypes.data == address


def test_arrays_beyond_the_limit_are_refused(memory: PinnedMemory) -> None:
    kept = [new_array(memory) for _ in range(6)]  # 768 bytes each
    assert [array is None for array in kept] == [False] * 5 + [True]
    del kept[2]
    gc.collect()
    assert new_array(memory) is not None


def test_unused_memory_of_other_sizes_is_freed_for_a_new_array(memory: PinnedMemory) -> None:
    for _ in range(5):
        kept = [new_array(memory) for _ in range(5)]
    del kept
    gc.collect()
    assert new_array(memory, (4096,), wp.uint8) is not None
    assert new_array(memory, (4096,), wp.uint8) is not None
    assert new_array(memory, (4097,), wp.uint8) is None


def test_arrays_of_a_thread_are_freed_by_another(memory: PinnedMemory) -> None:
    arrays = [new_array(memory) for _ in range(5)]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert [new_array(memory) is None for _ in range(5)] == [False] * 5
