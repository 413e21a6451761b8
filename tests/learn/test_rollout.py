"""The roll-out: what is kept of every step, and the values of what was to come where an episode was cut off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from thorough import covering, sample
from torch import Tensor, nn
from worlds import CLOCK, CORRIDOR, KITCHEN, PARTY

import worldloom as wl
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.rollout.rollout_actor import max_truncations

GAMMA = 0.9
FOR_EVER = 1.0 / (1.0 - GAMMA)
COMMON = {
    "gamma": GAMMA,
    "learning_rate": 0.1,
    "schedule": "linear",
    "max_gradient_norm": 0.0,
    "value_weight": 1.0,
    "device": "cpu",
}
ALGORITHMS: dict[str, tuple[type[OnPolicyTrainer], RolloutConfig]] = {
    "ppo": (PPO, PPOConfig(num_steps=8, epochs=4, minibatches=1, **COMMON)),
    "a2c": (A2C, A2CConfig(num_steps=8, **COMMON)),
    "a2c, values before": (A2C, A2CConfig(num_steps=8, cut_values="before", **COMMON)),
    "a2c, 3 steps": (A2C, A2CConfig(num_steps=8, n_steps=3, **COMMON)),
    "vtrace": (VTrace, VTraceConfig(num_steps=8, steps_per_update=4, batches=2, **COMMON)),
}


class Linear(nn.Module):
    """Values and preferences as tables: a row for each of the first ``inputs`` numbers seen, one of which is 1."""

    def __init__(self, inputs: int, choices: int, start: float) -> None:
        super().__init__()
        self.inputs = inputs
        self.actor, self.critic = nn.Linear(inputs, choices, bias=False), nn.Linear(inputs, 1, bias=False)
        nn.init.zeros_(self.actor.weight)
        nn.init.constant_(self.critic.weight, start)

    def forward(self, sight: Tensor) -> tuple[Tensor, Tensor]:
        place = sight[:, : self.inputs]
        return self.actor(place), self.critic(place)


def values_learned(algorithm: str, simulation: wl.Simulation, start: float) -> Tensor:
    """The value of each number that is seen, after some 100 steps of the optimiser from ``start``."""
    kind, config = ALGORITHMS[algorithm]
    per_update = getattr(config, "steps_per_update", config.num_steps)
    updates = 100 // getattr(config, "epochs", 1)
    (entity,) = simulation.definition.entities
    network = Linear(3, 3, start) if entity.__name__ == "Guest" else Linear(6, 2, start)
    kind(simulation, replace(config, total_steps=updates * per_update * simulation.num_worlds), network=network).learn()
    return network.critic.weight.detach()[0]


@pytest.mark.parametrize("algorithm", sample(ALGORITHMS, 3))
def test_a_time_limit_takes_nothing_from_the_value(algorithm: str) -> None:
    """1 in every step for ever is worth 10, and is still so in the last step before the limit.

    Taken for an end, it would be worth 4 at most.
    """
    values = values_learned(algorithm, wl.Simulation(CLOCK, 4, seed=0), 8.0)
    np.testing.assert_allclose(values[:2], FOR_EVER, atol=0.2)


@pytest.mark.parametrize(("algorithm", "limit"), covering(sample(reversed(ALGORITHMS), 3), [0, 5]))
def test_an_end_by_the_rules_is_worth_nothing(algorithm: str, limit: int) -> None:
    simulation = wl.Simulation(CLOCK, 4, seed=0, config={"period": 6, "ends_at": 5, "max_steps": limit})
    values = values_learned(algorithm, simulation, 3.0)
    np.testing.assert_allclose(values[:5], [4.0951, 3.439, 2.71, 1.9, 1.0], atol=0.15)


@pytest.mark.parametrize(
    ("algorithm", "config"), covering(["ppo", "a2c", "vtrace"], [{"over_at": 3}, {"leaves_at": 2}])
)
def test_nothing_is_lost_where_systems_cut_episodes_off(algorithm: str, config: dict[str, int]) -> None:
    """Worlds that are cut off by a system, and agents that are taken out one by one while others go on."""
    values = values_learned(algorithm, wl.Simulation(PARTY, 4, seed=0, config=config), 8.0)
    np.testing.assert_allclose(values, FOR_EVER, atol=0.2)


# -- the same step by step ---------------------------------------------------------------------------------------------


def rolled(simulation: wl.Simulation, steps: int, memory: str = "none") -> PPO:
    """A trainer with policies that are not those of the start, after one roll-out."""
    config = PPOConfig(
        num_steps=steps,
        minibatches=1,
        epochs=1,
        gamma=GAMMA,
        seed=1,
        policy=PolicyConfig(hidden=(8,), memory=memory, memory_size=4),
    )
    trainer = PPO(simulation, config)
    for learner in trainer.learners.values():
        with torch.no_grad():
            learner.optimizer.flat += 0.5 * torch.randn(
                learner.optimizer.flat.shape, generator=torch.Generator().manual_seed(2)
            )
    trainer._roll_out()
    return trainer


def by_hand(simulation: wl.Simulation, trainer: PPO, steps: int) -> dict[str, list[np.ndarray]]:
    """The same steps without autoreset, with the actions that were kept: rewards with what was to come, and ends."""
    (learner,) = trainer.learners.values()
    kept, agent_group = learner.actor.storage, learner.agent_group
    table = next(iter(simulation.definition.entities)).__name__
    found: dict[str, list[np.ndarray]] = {"rewards": [], "dones": [], "weights": [], "observations": []}
    agents = agent_group.agents
    states = torch.zeros(agent_group.rows, learner.policy.state_size)
    for t in range(steps):
        sight = torch.tensor(simulation[table]["sight"].numpy()).reshape(agent_group.rows, -1)
        found["observations"].append(sight.numpy().copy())
        has_flags = "active" in simulation[table].all_columns
        active = (
            simulation[table]["active"].numpy().reshape(-1).copy() if has_flags else np.ones(agent_group.rows, bool)
        )
        found["weights"].append(active)
        states = learner.policy({"sight": sight}, states)[2].detach()
        column = simulation[table][agent_group._parts[0].actions[0].name]
        simulation.step({column.name: kept.actions[t].numpy().reshape(column.shape)})
        reward = simulation[table]["reward"].numpy().reshape(-1).astype(np.float64)
        ended = np.repeat(simulation.terminated.numpy() | simulation.truncated.numpy(), agents)
        terminated, truncated = (
            simulation[table][name].numpy().reshape(-1)
            if has_flags
            else np.repeat(getattr(simulation, name).numpy(), agents)
            for name in ("terminated", "truncated")
        )
        last = torch.tensor(simulation[table]["sight"].numpy()).reshape(agent_group.rows, -1)
        worth = learner.policy.value({"sight": last}, states).detach().numpy()
        found["rewards"].append(np.where(truncated & ~terminated & active, reward + GAMMA * worth, reward))
        done = terminated | truncated | ended
        found["dones"].append(done)
        states = states * torch.tensor(~done)[:, None]
        if ended.any():
            simulation.reset(simulation.terminated.numpy() | simulation.truncated.numpy())
    return found


CASES = {
    "several cuts": (CLOCK, {}, 17),
    "cuts of 1 step": (CLOCK, {"max_steps": 1}, 5),
    "limits that differ": (CLOCK, {"max_steps": np.array([0, 3, 7], np.int32)}, 16),
    "ends": (CLOCK, {"ends_at": 3, "max_steps": 0}, 8),
    "cut by a system": (PARTY, {"over_at": 2}, 9),
    "one by one": (PARTY, {"leaves_at": 2}, 13),
    "some die": (PARTY, {"dies_at": 2, "leaves_at": 3, "over_at": 4}, 13),
}


@pytest.mark.parametrize(("case", "memory"), covering(CASES, ["none", "lstm"]))
def test_a_roll_out_keeps_what_happened(case: str, memory: str) -> None:
    world, config, steps = CASES[case]
    trainer = rolled(wl.Simulation(world, 3, seed=5, config=config), steps, memory)
    (learner,) = trainer.learners.values()
    wanted = by_hand(wl.Simulation(world, 3, seed=5, config=config, autoreset="disabled"), trainer, steps)
    learner.finalize_rewards(learner.config.num_steps)
    kept = learner.actor.storage
    np.testing.assert_array_equal(kept.dones, wanted["dones"])
    np.testing.assert_array_equal(kept.observations["sight"], np.array(wanted["observations"]))
    here = np.array(wanted["weights"])
    if kept.weights is None:
        assert here.all()
    else:
        np.testing.assert_array_equal(kept.weights, here)
    np.testing.assert_allclose(kept.rewards.numpy()[here], np.array(wanted["rewards"])[here], atol=1e-5)


def test_the_memory_begins_anew_with_every_episode() -> None:
    trainer = rolled(wl.Simulation(CORRIDOR, 4, seed=0), 10, "gru")
    kept = trainer.learners["Walker"].actor.storage
    assert kept.dones.sum() == 8
    assert torch.equal(
        kept.states.abs().sum(-1) == 0.0, torch.cat([torch.ones(1, 4, dtype=torch.bool), kept.dones[:-1]])
    )


def test_the_worlds_get_the_actions_that_are_kept() -> None:
    simulation = wl.Simulation("Pendulum-v1", 8, seed=0)
    trainer = rolled(simulation, 3)
    (learner,) = trainer.learners.values()
    drawn = learner.actor.storage.actions[-1]
    assert drawn.abs().max() > 1.0
    np.testing.assert_allclose(learner.agent_group.action_view(), (2.0 * drawn).clamp(-2.0, 2.0), atol=1e-6)


def test_actions_are_drawn_anew_at_every_step_and_roll_out() -> None:
    trainer = rolled(wl.Simulation(KITCHEN, 64, seed=0, config={"everything": 1}), 4)
    kept = trainer.learners["Diner"].actor.storage
    seen = [kept.actions[t].clone() for t in range(4)]
    trainer._roll_out()
    seen += [kept.actions[t].clone() for t in range(4)]
    assert all(not torch.equal(a, b) for i, a in enumerate(seen) for b in seen[:i])


@pytest.mark.parametrize(
    ("world", "config", "steps", "cuts"),
    [
        (CLOCK, {}, 4, 1),
        (CLOCK, {}, 5, 1),
        (CLOCK, {}, 6, 2),
        (CLOCK, {"max_steps": 1}, 6, 6),
        (CLOCK, {"max_steps": 0}, 6, 0),
        (CLOCK, {"max_steps": np.array([0, 4], np.int32)}, 6, 2),
        (PARTY, {}, 6, 6),
    ],
)
def test_there_is_room_for_every_cut(world: wl.Definition, config: dict[str, object], steps: int, cuts: int) -> None:
    assert max_truncations(wl.Simulation(world, 2, seed=0, config=config), steps) == cuts
