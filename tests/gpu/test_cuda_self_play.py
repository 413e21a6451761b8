"""Pools of past selves on a GPU: the same with and without CUDA graphs, and no waits for the device."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.on_policy import _in_turn
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.device.side_streams import SideStreams

sys.path.insert(0, str(Path(__file__).parents[1] / "learn" / "opponents"))
from duel import DUEL

POOL = OpponentPool(every=2, size=3, share=0.25, simultaneous=2, swap_every=1, sampling="rating")
CONFIG = PPOConfig(
    num_envs=256, num_steps=8, seed=1, device="cuda:0", total_steps=10**9, policy=PolicyConfig(hidden=(16, 16))
)


def made(**changes: object) -> PPO:
    groups = {kind: PolicyGroup(kind, pool=POOL) for kind in ("Attacker", "Defender")}
    return PPO(DUEL, replace(CONFIG, **changes), policy_groups=groups)


def iterate(trainer: PPO, count: int) -> None:
    for _ in range(count):
        trainer.iterate()
        trainer.iteration += 1


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_graphs_change_nothing(memory: str) -> None:
    policy = PolicyConfig(hidden=(16,), memory=memory, memory_size=8, normalize_observations=True)
    graphed, plain = made(policy=policy), made(policy=policy, graphs=False)
    for _ in range(7):
        iterate(graphed, 1)
        iterate(plain, 1)
        for name in ("Attacker", "Defender"):
            ours, theirs = graphed.self_play.pools[name], plain.self_play.pools[name]
            assert torch.equal(ours.drawn, theirs.drawn)
            torch.testing.assert_close(ours.snapshots.ratings, theirs.snapshots.ratings)
            for past_self, other in zip(ours.past_selves, theirs.past_selves, strict=True):
                for value, expected in zip(
                    past_self.policy.state_dict().values(), other.policy.state_dict().values(), strict=True
                ):
                    torch.testing.assert_close(value, expected, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(graphed.self_play.ratings, plain.self_play.ratings)


def test_a_captured_rollout_acts_with_the_weights_that_were_swapped_in() -> None:
    trainer = made()
    iterate(trainer, 4)  # captured in the second iteration
    players = trainer.self_play.pools["Defender"]
    with torch.no_grad():
        for past_self in players.past_selves:
            for parameter in past_self.policy.parameters():
                parameter.zero_()
            past_self.policy.network.actor.bias[1] = 100.0
    trainer._roll()
    actions = trainer.learners["Defender"].actor.storage.actions[..., 0]
    for past_self in players.past_selves:
        assert bool((actions.index_select(1, past_self.rows) == 1).all())


def test_snapshots_draws_and_ratings_do_not_wait_for_the_device() -> None:
    trainer = made()
    iterate(trainer, 4)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        iterate(trainer, 4)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_resumed_training_has_the_same_pools() -> None:
    trainer = made()
    iterate(trainer, 5)
    tensors, plain = trainer.state()
    tensors = {name: value.clone() for name, value in tensors.items()}
    resumed = made()
    resumed.load_state(tensors, {**plain, "iteration": 5})
    found = resumed.state()[0]
    assert all(torch.equal(value, found[name]) for name, value in tensors.items() if name.startswith("self_play/"))


@pytest.mark.parametrize("overlap", [False, True])
def test_policies_that_update_side_by_side_learn_the_same(overlap: bool) -> None:
    together, in_turn = (
        PPO(DUEL, replace(CONFIG, overlap=overlap, policy=PolicyConfig(hidden=(64, 32), layer_norm=True)))
        for _ in range(2)
    )
    in_turn._side_streams = SideStreams(in_turn.device, overlap)
    in_turn._side_streams.start = lambda work: SideStreams.start(in_turn._side_streams, [partial(_in_turn, work)])
    for _ in range(5):
        iterate(together, 1)
        iterate(in_turn, 1)
    for name, learner in together.learners.items():
        for value, other in zip(learner.policy.parameters(), in_turn.learners[name].policy.parameters(), strict=True):
            assert torch.equal(value, other)


@pytest.mark.parametrize("overlap", [False, True])
def test_a_policy_may_stop_learning_beside_another(overlap: bool) -> None:
    trainer = PPO(DUEL, replace(CONFIG, overlap=overlap))
    iterate(trainer, 3)
    trainer.learners["Attacker"].train = False
    before = {name: learner.optimizer.flat.clone() for name, learner in trainer.learners.items()}
    iterate(trainer, 3)
    kept = {name: torch.equal(before[name], learner.optimizer.flat) for name, learner in trainer.learners.items()}
    assert kept == {"Attacker": True, "Defender": False}
