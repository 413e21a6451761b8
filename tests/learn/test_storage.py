"""The memory of a roll-out: picking steps and rows of it, windows that slide, and the last observations of episodes."""

from __future__ import annotations

import pytest
import torch

from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import RolloutBatch, Storage

STEPS, ROWS = 5, 4
SPEC = PolicySpec(
    {"sight": ObservationSpec((2,)), "map": ObservationSpec((3, 2), torch.uint8)},
    ActionSpec("categorical", sizes=(2, 3)),
)


@pytest.fixture
def kept() -> Storage:
    """A roll-out in which every number tells its step and row: 10 * step + row."""
    made = Storage(SPEC, ROWS, STEPS, torch.device("cpu"), state_size=3, masked=True, may_leave=True, finals=2)
    number = 10 * torch.arange(STEPS)[:, None] + torch.arange(ROWS)
    for tensor in (made.actions, made.log_probs, made.rewards, made.states, made.weights, *made.observations.values()):
        tensor.copy_(number.view(STEPS, ROWS, *[1] * (tensor.ndim - 2)).expand_as(tensor))
    made.values[:-1].copy_(number)
    made.masks[..., 0] = number % 2 == 0
    made.dones.copy_(number % 3 == 0)
    return made


def numbers(batch: RolloutBatch) -> torch.Tensor:
    """What each of the batch's steps is, after a check that all of its tensors say the same."""
    found = batch.log_probs
    for tensor in (
        batch.actions[..., 0],
        batch.values,
        batch.weights,
        batch.observations["sight"][..., 1],
        batch.observations["map"][..., 2, 1],
    ):
        assert torch.equal(tensor.float(), found)
    assert torch.equal(batch.advantages, 2 * found) and torch.equal(batch.returns, 3 * found)
    assert torch.equal(batch.masks[..., 0], found % 2 == 0)
    return found


def test_steps_are_picked_from_everywhere(kept: Storage) -> None:
    places = torch.tensor([0, 5, 19, 5])
    batch = kept.gather_steps(places, 2 * kept.rewards, 3 * kept.rewards)
    assert numbers(batch).tolist() == [0.0, 11.0, 43.0, 11.0]
    assert batch.resets is None and batch.observations["map"].dtype == torch.uint8


def test_rows_are_picked_whole_with_the_memory_they_began_with(kept: Storage) -> None:
    batch = kept.gather_rows(torch.tensor([2, 0]), 2 * kept.rewards, 3 * kept.rewards)
    assert numbers(batch).tolist() == [[2, 0], [12, 10], [22, 20], [32, 30], [42, 40]]
    assert torch.equal(batch.state, torch.tensor([[2.0] * 3, [0.0] * 3]))
    begun = kept.dones[:, [2, 0]]
    assert torch.equal(batch.resets[1:], begun[:-1])
    assert not batch.resets[0].any()  # the memory before the first step is that of its episode already


@pytest.mark.parametrize("state_size", [0, 3])
def test_everything_is_every_step_once(kept: Storage, state_size: int) -> None:
    kept.states = kept.states[..., :state_size]
    batch = kept.all_steps(2 * kept.rewards, 3 * kept.rewards)
    assert sorted(numbers(batch).flatten().tolist()) == sorted(kept.rewards.flatten().tolist())
    assert (batch.resets is None) == (state_size == 0)


@pytest.mark.parametrize("moves", [1, 2, 4])
def test_a_window_slides(kept: Storage, moves: int) -> None:
    kept.sliding = True
    before = {name: tensor.clone() for name, tensor in kept.tensors().items()}
    kept.drop_oldest(moves)
    for name, tensor in kept.tensors().items():
        if name != "first" and not name.startswith("observations/"):
            assert torch.equal(tensor[: STEPS - moves], before[name][moves:]), name
    for step in range(STEPS - moves, STEPS):
        kept.store_observations(
            step,
            {
                key: torch.full((ROWS, *part.shape), 100 + step, dtype=part.dtype)
                for key, part in SPEC.observations.items()
            },
        )
    wanted = [*(10.0 * step for step in range(moves, STEPS)), *(100.0 + step for step in range(STEPS - moves, STEPS))]
    batch = kept.gather_rows(torch.tensor([0]), kept.rewards, kept.rewards)
    assert batch.observations["sight"][:, 0, 1].tolist() == batch.observations["map"][:, 0, 2, 1].tolist() == wanted
    assert (
        kept.newest(STEPS)["map"][:, 0, 1, 1].tolist() == wanted
        and kept.newest(1)["sight"][0, 0].tolist() == [wanted[-1]] * 2
    )


def test_nothing_counts_until_it_is_written(kept: Storage) -> None:
    kept.invalidate_all()
    assert kept.weights.sum() == 0.0 and kept.dones.all()


def test_the_last_observations_go_to_their_places(kept: Storage) -> None:
    def seen(number: float) -> dict[str, torch.Tensor]:
        return {"sight": torch.full((ROWS, 2), number), "map": torch.full((ROWS, 3, 2), int(number), dtype=torch.uint8)}

    kept.final_slot.copy_(torch.tensor([0, -1, -1, 0]))
    kept.store_finals(seen(1.0), torch.full((ROWS, 3), 1.0))
    kept.final_slot.copy_(torch.tensor([1, -1, 0, -1]))
    kept.store_finals(seen(2.0), torch.full((ROWS, 3), 2.0))
    wanted = torch.tensor([[1.0, 0.0, 2.0, 1.0], [2.0, 0.0, 0.0, 0.0]])
    assert torch.equal(kept.final_observations["sight"][..., 0], wanted)
    assert torch.equal(kept.final_observations["map"][..., 2, 1].float(), wanted)
    assert torch.equal(kept.final_states[..., 2], wanted)


def test_a_batch_is_evaluated_alike_by_steps_and_by_rows(kept: Storage) -> None:
    kept.states = kept.states[..., :0]
    policy = Policy(SPEC, PolicyConfig(hidden=(4,)))
    nothing = torch.zeros(STEPS, ROWS)
    by_steps = kept.gather_steps(torch.arange(STEPS * ROWS), nothing, nothing).evaluate(policy)
    by_rows = kept.gather_rows(torch.arange(ROWS), nothing, nothing).evaluate(policy)
    for one, other in zip(by_steps, by_rows, strict=True):
        torch.testing.assert_close(one, other.flatten(0, 1))
