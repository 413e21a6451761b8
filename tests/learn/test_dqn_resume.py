"""DQN: a stopped training resumes bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from dqn_worlds import CANTEEN, FLOCK, SMALL, only, worlds
from thorough import covering
from torch import Tensor
from worlds import PARTY

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.dqn import DQN
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

CASES: dict[str, tuple[object, dict[str, object]]] = {
    "plain": ("CartPole-v1", {}),
    "prioritized": ("CartPole-v1", {"prioritized": True, "target_update": 3, "updates": 2}),
    "dueling, normalised": (
        "CartPole-v1",
        {"policy": PolicyConfig(hidden=(8,), dueling=True, normalize_observations=True), "double": False},
    ),
    "masks": (CANTEEN, {"prioritized": True}),
    "leaving": (PARTY, {"steps_per_update": 2}),
    "several": (FLOCK, {}),
}


def copied(trainer: DQN) -> tuple[dict[str, Tensor], dict[str, object]]:
    """As it would come back from a file."""
    tensors, plain = trainer.state()
    return {k: v.clone() for k, v in tensors.items()}, json.loads(json.dumps(plain))


@pytest.mark.parametrize(("case", "stop_at"), covering(CASES, [120, 24]))
def test_a_training_that_was_stopped_goes_on_bit_for_bit(case: str, stop_at: int) -> None:
    """Stopped before the first update, or after many."""
    world, changes = CASES[case]
    config = replace(SMALL, **{"total_steps": 200, "updates": 1, **changes})
    settings = {"over_at": 5, "dies_at": 2, "leaves_at": 3} if world is PARTY else {}

    class Stop(Callback):
        def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
            if progress.steps == stop_at:
                trainer.stop()

    straight, stopped = (DQN(worlds(world, config, **settings), config) for _ in range(2))
    straight.learn()
    stopped.learn(callbacks=[Stop()])
    assert stopped.steps == stop_at
    resumed = DQN(worlds(world, replace(config, seed=9), **settings), config)
    resumed.load_state(*copied(stopped))
    resumed.learn()
    expected, found = straight.state(), resumed.state()
    assert (
        expected[0].keys() == found[0].keys()
        and any("/policy/" in k for k in found[0])
        and any("replay" in k for k in found[0])
    )
    for name, tensor in expected[0].items():
        assert torch.equal(tensor, found[0][name]), name
    assert {**expected[1], "seconds": 0.0} == {**found[1], "seconds": 0.0}


def test_a_replay_that_was_not_saved_is_filled_anew() -> None:
    config = replace(SMALL, save_replay=False)
    first = DQN("CartPole-v1", config)
    first.learn(200)
    tensors, plain = copied(first)
    assert not any("replay" in name for name in tensors)
    second = DQN("CartPole-v1", config)
    second.load_state(tensors, plain)
    before = only(second).optimizer.flat.clone()
    assert torch.equal(before, only(first).optimizer.flat)
    second.learn(200 + 36)
    assert not second.learning and torch.equal(before, only(second).optimizer.flat)
    second.learn(200 + 40)
    assert second.learning and not torch.equal(before, only(second).optimizer.flat)


def test_the_state_of_another_network_is_refused() -> None:
    state = copied(DQN("CartPole-v1", replace(SMALL, policy=PolicyConfig(hidden=(9,)))))
    with pytest.raises(InputError, match="does not fit"):
        DQN("CartPole-v1", SMALL).load_state(*state)
