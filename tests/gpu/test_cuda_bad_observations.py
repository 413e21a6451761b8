"""An observation that is not finite is named on a GPU too, where metrics reach the host late."""

from __future__ import annotations

from typing import Any

import pytest

import worldloom as wl
from worldloom.core.simulation import Simulation
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.divergence_check import DivergedError

DEVICE = "cuda:0"
COMMON: dict[str, Any] = {"num_envs": 64, "total_steps": 64 * 8 * 30, "device": DEVICE}
ROLLOUT: dict[str, Any] = {**COMMON, "num_steps": 8, "policy": PolicyConfig(hidden=(16,))}
TRAININGS: dict[str, tuple[Any, Any]] = {
    "ppo": (PPO, PPOConfig(**ROLLOUT)),
    "direct": (PPO, PPOConfig(**ROLLOUT, graphs=False)),
    "max_kl": (PPO, PPOConfig(**ROLLOUT, max_kl=0.02)),
    "overlap": (PPO, PPOConfig(**ROLLOUT, overlap=True, normalize_values=True)),
    "recurrent": (PPO, PPOConfig(**{**ROLLOUT, "policy": PolicyConfig(memory="gru", memory_size=8)})),
    "a2c": (A2C, A2CConfig(**ROLLOUT)),
    "vtrace": (VTrace, VTraceConfig(**ROLLOUT, steps_per_update=4, batches=1)),
    "dqn": (DQN, DQNConfig(**COMMON, learning_starts=640, batch_size=64)),
}


class Walker(wl.Entity):
    move: wl.Action(wl.Discrete(2))
    sight: wl.Observation(6)
    reward: wl.Reward


class Cliff(wl.World):
    edge: wl.Config = 1_000_000  # the step at which an observation is infinite


@wl.system
def look(walker: Walker, world: Cliff):
    walker.sight[4] = 1.0 / float(world.edge - world.step)
    walker.reward = 1.0


CLIFF = wl.Definition("Cliff-test", Cliff, {Walker: 1}, observe=(look,))


@pytest.mark.parametrize("steps", [43, 48])  # within a rollout; and after its last step, only in bootstrap values
@pytest.mark.parametrize("worlds", [(2,), tuple(range(64))])
@pytest.mark.parametrize("name", TRAININGS)
def test_world_agent_component_and_step_are_named(name: str, worlds: tuple[int, ...], steps: int) -> None:
    trainer_class, config = TRAININGS[name]
    edges = [steps if world in worlds else 1_000_000 for world in range(64)]
    simulation = Simulation(
        CLIFF, 64, DEVICE, seed=0, autoreset=trainer_class.autoreset, checks=False, config={"edge": edges}
    )
    named = rf"'sight\[4\]' of Walker 0 in world {worlds[0]} is inf after {steps} steps of each world"
    with pytest.raises(DivergedError, match=named):
        trainer_class(simulation, config).learn()
