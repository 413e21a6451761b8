"""Learning from pictures of bytes: what is kept, lives, signs of rewards, episodes cut off, and that it learns."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from thorough import sample
from worlds import CINEMA

import worldloom as wl
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig

COMMON: dict[str, Any] = {"num_envs": 16, "device": "cpu", "learning_rate": 1e-3, "clip_rewards": True, "gamma": 0.5}
LEARNERS: dict[str, tuple[Any, Any, int]] = {
    "ppo": (PPO, PPOConfig(num_steps=8, minibatches=2, epochs=2, **COMMON), 10 * 128),
    "a2c": (A2C, A2CConfig(num_steps=4, **COMMON), 30 * 64),
    "vtrace": (VTrace, VTraceConfig(num_steps=4, steps_per_update=1, batches=2, **COMMON), 80 * 16),
    "dqn": (
        DQN,
        DQNConfig(
            stack=4,
            batch_size=32,
            updates=2,
            learning_starts=64,
            replay_capacity=2048,
            n_step=1,
            epsilon_fraction=0.5,
            **COMMON,
        ),
        50 * 16,
    ),
}


@pytest.mark.parametrize("name", sample(LEARNERS, 1))
def test_pictures_are_learned_from(name: str) -> None:
    kind, config, steps = LEARNERS[name]
    trainer = kind(CINEMA, config)
    trainer.learn(steps)
    assert trainer.score > 12.0  # of 36; random actions score 0


@pytest.mark.parametrize("name", ["ppo", "a2c", "vtrace"])
def test_pictures_are_kept_as_bytes_and_once(name: str) -> None:
    kind, config, _ = LEARNERS[name]
    trainer = kind(CINEMA, config)
    trainer.iterate()
    kept = trainer.learners["Watcher"].actor.storage
    assert (
        kept.observations["screen"].dtype == torch.uint8
        and kept.finals == 0
        and kept.final_observations["screen"].numel() == 0
    )
    assert torch.equal(kept.rewards.abs(), (kept.rewards != 0.0).float()), "signs, not sizes"


@pytest.mark.parametrize("heeded", [True, False])
def test_a_lost_life_ends_what_is_learned_and_not_the_episode(heeded: bool) -> None:
    worlds = wl.Simulation(CINEMA, 2, "cpu", seed=0, config={"a_life": 3, "max_steps": 0})
    trainer = PPO(worlds, PPOConfig(num_steps=12, minibatches=1, epochs=1, device="cpu", episodic_life=heeded))
    trainer.iterate()
    actor = trainer.learners["Watcher"].actor
    ends = actor.storage.dones[:, 0].nonzero().flatten().tolist()
    assert ends == ([2, 5, 8, 11] if heeded else [8])  # three lives, and the first of the next episode
    assert trainer.learners["Watcher"].summary[[0, 2]].tolist() == [2.0, 18.0]  # two episodes of 9 steps
    assert ("rows/lives" in trainer.learners["Watcher"].tensors()) == heeded


def test_a_replay_ends_with_a_life_and_its_frames_go_on() -> None:
    worlds = wl.Simulation(CINEMA, 1, "cpu", seed=0, autoreset="next_step", config={"a_life": 3, "max_steps": 0})
    trainer = DQN(
        worlds, DQNConfig(stack=4, replay_capacity=64, learning_starts=1000, device="cpu", episodic_life=True)
    )
    for _ in range(12):
        trainer.iterate()
    replay = trainer.learners["Watcher"].replay
    assert replay.terminated[:12, 0].nonzero().flatten().tolist() == [2, 5, 8]
    assert replay.valid[:12, 0].tolist() == [True] * 9 + [False] + [True] * 2  # the step after the last only resets


@pytest.mark.parametrize(("chosen", "finals"), [("auto", 0), ("before", 0), ("last", 1)])
def test_room_for_last_pictures_is_made_where_it_is_asked_for(chosen: Any, finals: int) -> None:
    trainer = A2C(CINEMA, A2CConfig(num_envs=2, num_steps=12, device="cpu", cut_values=chosen, gamma=0.9))
    trainer._roll_out()
    kept = trainer.learners["Watcher"].actor.storage
    assert kept.finals == finals
    if not finals:
        assert kept.truncations[:, 0].nonzero().flatten().tolist() == [11]
        rewards, values = kept.rewards.clone(), kept.values.clone()
        trainer._update()
        torch.testing.assert_close(kept.rewards[11], rewards[11] + 0.9 * values[11])
        assert torch.equal(kept.rewards[:11], rewards[:11])


def test_vtrace_goes_on_without_its_window() -> None:
    kind, config, _ = LEARNERS["vtrace"]
    whole, without = kind(CINEMA, config), kind(CINEMA, VTraceConfig(**{**vars(config), "save_window": False}))
    assert any(name.startswith("window/") for name in whole.tensors())
    without.learn(5 * 16)
    tensors, plain = without.state()
    assert not any(name.startswith("window/") for name in tensors)
    again = kind(CINEMA, without.config)
    again.load_state({name: tensor.clone() for name, tensor in tensors.items()}, plain)
    assert again.learners["Watcher"].actor.storage.weights.sum() == 0.0
    again.learn(10 * 16)
    assert again.steps == 160
