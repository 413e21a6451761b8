"""Prioritised draws: how often each place comes, the weights that correct for it, and order-independent updates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.rollout.prioritized_replay import BLOCK, ReplayPriorities

CPU = torch.device("cpu")


def opened(steps: int, rows: int, **settings: float) -> ReplayPriorities:
    """Priorities whose places are all open."""
    priorities = ReplayPriorities(steps, rows, CPU, **settings)
    for step in range(steps):
        priorities.enable(torch.tensor([step]), torch.ones(1, rows, dtype=torch.bool))
    return priorities


def surprised(steps: int, rows: int, seed: int = 0, **settings: float) -> tuple[ReplayPriorities, np.ndarray]:
    """Priorities after every place had a random surprise, and those surprises."""
    priorities = opened(steps, rows, **settings)
    errors = np.random.default_rng(seed).normal(size=steps * rows).astype(np.float32) * 3.0
    priorities.update(torch.arange(steps * rows), torch.tensor(errors))
    return priorities, errors


def probabilities(errors: np.ndarray, alpha: float, epsilon: float) -> np.ndarray:
    p = (np.abs(errors.astype(np.float64)) + epsilon) ** alpha
    return p / p.sum()


@pytest.mark.parametrize(("steps", "rows"), [(7, 3), (BLOCK, 3), (53, 11)])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_places_come_in_proportion_to_their_priority(steps: int, rows: int, alpha: float) -> None:
    priorities, errors = surprised(steps, rows, alpha=alpha, epsilon=0.1)
    drawn = torch.cat([priorities.sample(37)[0] for _ in range(600)]).numpy()
    expected = probabilities(errors, alpha, 0.1) * len(drawn)
    found = np.bincount(drawn, minlength=steps * rows)
    order = np.argsort(expected)
    groups = np.array_split(
        order, max(2, min(60, int(expected.sum() / 50), steps * rows))
    )  # rare places together: chi-square needs counts
    chi_square = sum((found[g].sum() - expected[g].sum()) ** 2 / expected[g].sum() for g in groups)
    freedom = len(groups) - 1
    assert chi_square < freedom + 4.0 * np.sqrt(2.0 * freedom)  # four standard deviations


def test_every_stratum_gives_one_place() -> None:
    """With equal priorities and as many strata as places every place comes exactly once, in order."""
    priorities = opened(50, 7)
    indices, weights = priorities.sample(350)
    assert indices.tolist() == list(range(350))
    assert (weights == 1.0).all()


def test_every_draw_falls_into_its_own_stratum() -> None:
    priorities, errors = surprised(41, 9, alpha=0.7, epsilon=0.01)
    upper = np.cumsum(probabilities(errors, 0.7, 0.01))
    for _ in range(20):
        indices = priorities.sample(101)[0].numpy()
        shares = np.arange(101) / 101
        assert (upper[indices] > shares - 1e-6).all()
        assert (upper[indices] - probabilities(errors, 0.7, 0.01)[indices] < shares + 1 / 101 + 1e-6).all()


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_weights_undo_the_bias(beta: float) -> None:
    priorities, errors = surprised(19, 5, alpha=0.6, beta=beta, epsilon=1e-3)
    indices, weights = priorities.sample(63)
    chances = probabilities(errors, 0.6, 1e-3)[indices.numpy()]
    expected = (chances * 95) ** -beta
    np.testing.assert_allclose(weights.numpy(), expected / expected.max(), rtol=1e-4)


def test_beta_rises_with_progress() -> None:
    priorities = ReplayPriorities(4, 1, CPU, beta=0.4)
    for progress, beta in ((0.0, 0.4), (0.5, 0.7), (1.0, 1.0), (2.0, 1.0)):
        priorities.anneal(torch.tensor([progress]))
        assert priorities.beta.item() == pytest.approx(beta)


def test_a_place_that_comes_twice_gets_its_greatest_surprise() -> None:
    priorities = opened(5, 2, alpha=1.0, epsilon=0.5)
    priorities.update(torch.tensor([3, 8, 3, 3]), torch.tensor([1.0, 0.0, -7.0, 2.0]))
    expected = [1.0, 1.0, 1.0, 7.5, 1.0, 1.0, 1.0, 1.0, 0.5, 1.0]
    assert priorities.values.flatten().tolist() == expected
    priorities.update(torch.tensor([3]), torch.tensor([0.25]))  # an update replaces, it does not only raise
    assert priorities.values[1, 1].item() == 0.75


def test_new_steps_get_the_greatest_priority_seen_so_far() -> None:
    priorities = ReplayPriorities(4, 3, CPU, alpha=0.5, epsilon=1.0)
    priorities.enable(torch.tensor([0]), torch.tensor([[True, False, True]]))
    assert priorities.values[0].tolist() == [1.0, 0.0, 1.0]
    priorities.update(torch.tensor([0, 2]), torch.tensor([-8.0, 3.0]))
    assert priorities.values[0].tolist() == [3.0, 0.0, 2.0]
    priorities.update(torch.tensor([0]), torch.tensor([0.0]))
    priorities.enable(torch.tensor([2]), torch.tensor([[True, True, False]]))
    assert priorities.values[2].tolist() == [3.0, 3.0, 0.0]


def test_closed_places_are_never_drawn_nor_updated() -> None:
    priorities, _ = surprised(60, 7, epsilon=0.01)
    closed = torch.tensor([0, 1, 17, 18, 19, 40, 59])
    for step in closed:
        priorities.disable(step.view(1))
    priorities.update(torch.arange(420), torch.ones(420))
    assert (priorities.values[closed] == 0.0).all()
    drawn = torch.cat([priorities.sample(211)[0] for _ in range(30)])
    assert not torch.isin(drawn // 7, closed).any()
    assert len(drawn.unique()) == 53 * 7


def test_one_open_place_among_many_is_always_drawn() -> None:
    priorities = ReplayPriorities(1000, 301, CPU)
    counts = torch.zeros(1, 301, dtype=torch.bool)
    counts[0, 77] = True
    priorities.enable(torch.tensor([613]), counts)
    indices, weights = priorities.sample(9)
    assert (indices == 613 * 301 + 77).all()
    assert (weights == 1.0).all()


def test_with_nothing_to_draw_all_weights_are_zero() -> None:
    priorities = ReplayPriorities(30, 7, CPU)
    indices, weights = priorities.sample(5)
    assert (weights == 0.0).all()
    assert ((indices >= 0) & (indices < 210)).all()
    priorities.update(indices, torch.ones(5))
    assert (priorities.values == 0.0).all() and priorities.greatest.item() == 1.0


def test_draws_depend_on_the_seed_and_the_tick_alone() -> None:
    first, second, other = (surprised(20, 5, seed=3)[0] for _ in range(3))
    other.seed = 1
    draws = [first.sample(40)[0] for _ in range(3)]
    assert not torch.equal(draws[0], draws[1])
    second.tick.fill_(2)
    assert torch.equal(second.sample(40)[0], draws[2])
    assert not torch.equal(other.sample(40)[0], draws[0])


def test_its_tensors_are_all_it_remembers() -> None:
    first, second = surprised(20, 5)[0], ReplayPriorities(20, 5, CPU)
    first.sample(11)
    first.anneal(torch.tensor([0.3]))
    for name, tensor in second.tensors().items():
        tensor.copy_(first.tensors()[name])
    for made, expected in zip(second.sample(13), first.sample(13), strict=True):
        assert torch.equal(made, expected)


@pytest.mark.parametrize("wrong", [{"alpha": -1.0}, {"beta": 1.5}, {"epsilon": 0.0}])
def test_settings_without_a_meaning_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="priorities need alpha >= 0"):
        ReplayPriorities(4, 2, CPU, **wrong)


def test_places_are_needed() -> None:
    with pytest.raises(InputError, match="at least one step of one row, not 0 of 2"):
        ReplayPriorities(0, 2, CPU)
