"""Launches on the CPU that are repeated with the same memory are recorded, and compute the same."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import torch

from worldloom.learn.device import warp_launch
from worldloom.learn.device.gather_kernels import gather_words
from worldloom.learn.device.warp_launch import launch

CPU = torch.device("cpu")


def gathered(source: torch.Tensor, places: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    launch(gather_words, len(places), (source, places, target), CPU)
    return target.clone()


def test_a_repeated_launch_reads_the_current_values():
    source, places = torch.arange(6, dtype=torch.int32).view(3, 2), torch.tensor([2, 0])
    target = torch.zeros(2, 2, dtype=torch.int32)
    for _ in range(4):
        assert torch.equal(gathered(source, places, target), source[places])
        source += 10
        places.copy_(places.flip(0))


def test_the_same_address_with_another_shape_or_stride_is_another_launch():
    numbers, places = torch.arange(12, dtype=torch.int32), torch.tensor([1, 2])
    for _ in range(3):
        for source in (numbers.view(6, 2), numbers.view(4, 3), numbers.view(3, 4).T):
            target = torch.zeros(2, source.shape[1], dtype=torch.int32)
            assert torch.equal(gathered(source, places, target), source[places])


def test_a_recorded_launch_does_not_keep_its_tensors_alive():
    memory = np.zeros((3, 2), np.int32)  # alive as long as a tensor uses it
    source, places, target = torch.from_numpy(memory), torch.tensor([0]), torch.zeros(1, 2, dtype=torch.int32)
    for _ in range(3):
        gathered(source, places, target)
    kept = weakref.ref(memory)
    del memory
    assert kept() is not None
    del source
    gc.collect()
    assert kept() is None


def test_remembered_launches_are_bounded(monkeypatch):
    monkeypatch.setattr(warp_launch, "_repeated", {})
    monkeypatch.setattr(warp_launch, "MAX_REPEATED", 4)
    source, places = torch.ones(3, 2, dtype=torch.int32), torch.tensor([0])
    targets = [torch.zeros(1, 2, dtype=torch.int32) for _ in range(10)]
    for target in targets * 3:
        assert torch.equal(gathered(source, places, target), source[places])
    assert len(warp_launch._repeated) <= 4
