"""Rows picked and put away."""

import pytest
import torch

from worldloom.learn.device.gather import gather, scatter_rows


@pytest.mark.parametrize(
    ("shape", "dtype"), [((), torch.float32), ((4,), torch.float32), ((3, 2), torch.int32), ((5,), torch.uint8)]
)
def test_take_picks_what_indexing_picks(shape, dtype):
    values = torch.randint(0, 100, (6, 7, *shape)).to(dtype)
    places = torch.randperm(42)[:10]
    assert torch.equal(gather(values, places), values.flatten(0, 1)[places])


@pytest.mark.parametrize(
    ("shape", "dtype"), [((4,), torch.float32), ((), torch.int32), ((3,), torch.uint8), ((2, 6), torch.uint8)]
)
def test_put_writes_the_chosen_rows_and_no_others(shape, dtype):
    values = torch.randint(1, 100, (7, *shape)).to(dtype)
    slots = torch.tensor([0, -1, 2, 1, -1, 0, 2], dtype=torch.int32)
    target = torch.zeros((3, 7, *shape), dtype=dtype)
    scatter_rows(values, slots, target)
    wanted = torch.zeros_like(target)
    for row, slot in enumerate(slots.tolist()):
        if slot >= 0:
            wanted[slot, row] = values[row]
    assert torch.equal(target, wanted)
