"""Shuffles: fair, never twice the same, and the same however rows are shared by processes."""

from __future__ import annotations

import pytest
import torch

from worldloom.learn.rollout.minibatches import MinibatchShuffler

CPU = torch.device("cpu")


@pytest.mark.parametrize(("steps", "rows", "batches"), [(8, 5, 4), (6, 1, 1), (12, 7, 3), (4, 3, 4)])
def test_every_step_is_in_one_minibatch_and_every_row_in_all_equally(steps: int, rows: int, batches: int) -> None:
    places = MinibatchShuffler(rows, CPU, seed=3).steps(steps, batches)
    assert places.shape == (batches, steps * rows // batches)
    assert torch.equal(places.flatten().sort().values, torch.arange(steps * rows))
    for part in places:
        assert torch.bincount(part % rows, minlength=rows).tolist() == [steps // batches] * rows


@pytest.mark.parametrize(("rows", "batches"), [(12, 4), (5, 1), (6, 6)])
def test_every_row_is_in_one_minibatch(rows: int, batches: int) -> None:
    parts = MinibatchShuffler(rows, CPU, seed=3).whole_rows(batches)
    assert parts.shape == (batches, rows // batches)
    assert torch.equal(parts.flatten().sort().values, torch.arange(rows))


def test_orders_differ_by_tick_offset_and_seed_and_repeat_otherwise() -> None:
    def orders(seed: int) -> list[torch.Tensor]:
        shuffle = MinibatchShuffler(16, CPU, seed)
        found = [shuffle.steps(8, 2), shuffle.steps(8, 2, 1)]
        shuffle.advance(2)
        return [*found, shuffle.steps(8, 2), shuffle.whole_rows(4), shuffle.whole_rows(4, 1)]

    first, again, other = orders(1), orders(1), orders(2)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    assert (
        not torch.equal(first[0], first[1])
        and not torch.equal(first[1], first[2])
        and not torch.equal(first[3], first[4])
    )


def test_an_offset_is_as_good_as_a_tick() -> None:
    ahead, now = MinibatchShuffler(6, CPU, 1), MinibatchShuffler(6, CPU, 1)
    now.advance(3)
    assert torch.equal(ahead.steps(8, 2, 3), now.steps(8, 2))


def test_processes_that_share_the_rows_draw_what_one_would() -> None:
    whole, first, second = (
        MinibatchShuffler(12, CPU, 5),
        MinibatchShuffler(4, CPU, 5),
        MinibatchShuffler(8, CPU, 5, first_row=4),
    )
    everything = whole.steps(6, 3).view(6, 12)
    together = [shuffle.steps(6, 3).view(6, -1) for shuffle in (first, second)]
    steps = torch.cat([order // order.shape[1] for order in together], 1)
    assert torch.equal(steps, everything // 12)
    rows = torch.cat([first.whole_rows(4), 4 + second.whole_rows(4)], 1)
    assert torch.equal(rows, whole.whole_rows(4))


def test_every_step_comes_first_about_equally_often() -> None:
    shuffle = MinibatchShuffler(4000, CPU, 9)
    first = shuffle.steps(5, 5)[0] // 4000
    counts = torch.bincount(first, minlength=5).double()
    assert ((counts - 800.0) ** 2 / 800.0).sum() < 18.5  # chi-square of 4 degrees of freedom: once in a thousand
    rows = shuffle.whole_rows(5)[0] % 5
    counts = torch.bincount(rows, minlength=5).double()
    assert ((counts - 160.0) ** 2 / 160.0).sum() < 18.5


def test_steps_of_different_rows_are_not_shuffled_alike() -> None:
    order = MinibatchShuffler(64, CPU, 9).steps(16, 1).view(16, 64) // 64
    assert len({tuple(column.tolist()) for column in order.T}) == 64
