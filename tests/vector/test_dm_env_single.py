"""One world as a dm_env environment: dm_env's own tests, discounts, copies, and a loop of the kind of Acme's."""

import copy
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from meadow import MEADOW, SKY

from worldloom.core.base.errors import InputError

dm_env = pytest.importorskip("dm_env", reason="needs pip install dm-env")
tree = pytest.importorskip("tree", reason="needs pip install dm-env")

from absl.testing import absltest  # noqa: E402
from dm_env import specs, test_utils  # noqa: E402

from worldloom.vector.adapters.dm_env import WorldDmEnv  # noqa: E402

LONG_ENOUGH = 250
"""Steps in which an episode of each world below ends."""


class Conformance(test_utils.EnvironmentTestMixin):
    WORLD: Any

    def make_object_under_test(self):
        return WorldDmEnv(self.WORLD, seed=0, device="python")

    def make_action_sequence(self):
        for _ in range(LONG_ENOUGH):
            yield self.make_action()


class TestCartPole(Conformance, absltest.TestCase):
    WORLD = "CartPole-v1"


class TestFrozenLake(Conformance, absltest.TestCase):
    WORLD = "FrozenLake-v1"


class TestBlackjack(Conformance, absltest.TestCase):
    WORLD = "Blackjack-v1"


class TestPendulum(Conformance, absltest.TestCase):
    WORLD = "Pendulum-v1"


class TestMeadow(Conformance, absltest.TestCase):
    """Several observation and action components of all types."""

    WORLD = MEADOW


@dataclass
class EnvironmentSpec:
    """What an Acme agent is built from."""

    observations: Any
    actions: Any
    rewards: Any
    discounts: Any

    @classmethod
    def of(cls, env):
        return cls(env.observation_spec(), env.action_spec(), env.reward_spec(), env.discount_spec())


@dataclass
class QLearner:
    """An actor and learner of tabular action values, with Acme's methods. It checks everything it receives."""

    spec: EnvironmentSpec
    random: np.random.Generator
    step_size: float = 0.3
    exploration: float = 0.2
    values: np.ndarray = field(init=False)

    def __post_init__(self):
        assert isinstance(self.spec.observations, specs.DiscreteArray)
        self.values = np.zeros((self.spec.observations.num_values, self.spec.actions.num_values))

    def select_action(self, observation):
        self.spec.observations.validate(observation)
        if self.random.random() < self.exploration:
            choice = self.random.integers(self.spec.actions.num_values)
        else:
            choice = np.argmax(self.values[observation] + 1e-6 * self.random.random(self.values.shape[1]))
        return self.spec.actions.validate(np.asarray(choice, self.spec.actions.dtype))

    def observe_first(self, timestep):
        assert timestep.first() and timestep.reward is None and timestep.discount is None
        self.observation = timestep.observation

    def observe(self, action, next_timestep):
        self.spec.rewards.validate(next_timestep.reward)
        self.spec.discounts.validate(next_timestep.discount)
        following = self.values[next_timestep.observation].max()
        target = next_timestep.reward + 0.95 * next_timestep.discount * following
        self.values[self.observation, action] += self.step_size * (target - self.values[self.observation, action])
        self.observation = next_timestep.observation


def run_episode(env, actor) -> tuple[int, float]:
    """One episode as Acme's EnvironmentLoop runs it: its number of steps and its return."""
    steps, total = 0, tree.map_structure(lambda spec: np.zeros(spec.shape, spec.dtype), env.reward_spec())
    timestep = env.reset()
    actor.observe_first(timestep)
    while not timestep.last():
        action = actor.select_action(timestep.observation)
        timestep = env.step(action)
        actor.observe(action, next_timestep=timestep)
        steps, total = steps + 1, total + timestep.reward
    return steps, float(total)


def test_an_agent_learns_in_a_loop_of_the_kind_of_acme():
    env = WorldDmEnv("FrozenLake-v1", seed=0, is_slippery=False)
    actor = QLearner(EnvironmentSpec.of(env), np.random.default_rng(0))
    episodes = [run_episode(env, actor) for _ in range(500)]
    assert sum(total for _, total in episodes[:50]) < 10
    actor.exploration = 0.0
    assert run_episode(env, actor) == (6, 1.0)  # the shortest way
    env.close()


def test_the_discount_is_zero_at_a_termination_and_one_at_a_truncation():
    env = WorldDmEnv(SKY, seed=0, device="python")
    env.reset()
    fallen = env.step(np.array([-2.0], np.float32))
    assert fallen.last() and fallen.discount == 0.0 and fallen.reward < 0.0
    assert env.step(np.array([-2.0], np.float32)).first()  # the action is ignored
    steps = [env.step(np.array([0.5], np.float32)) for _ in range(8)]
    assert [step.last() for step in steps] == [False] * 7 + [True]
    assert all(step.discount == 1.0 for step in steps)


def test_seeds_repeat_episodes_and_copies_continue_them():
    env, same = (WorldDmEnv("CartPole-v1", seed=3, device="python") for _ in range(2))
    np.testing.assert_array_equal(env.reset().observation, same.reset().observation)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = same.step(1)
    for other in copies:
        timestep = other.step(1)
        assert timestep.mid() and timestep.reward == expected.reward
        np.testing.assert_array_equal(timestep.observation, expected.observation)


def test_an_unknown_configuration_is_refused():
    with pytest.raises(InputError, match="forze"):
        WorldDmEnv("CartPole-v1", forze=1.0)
