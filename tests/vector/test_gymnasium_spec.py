"""Specs of Gymnasium's registry: step limits and reward thresholds, and episodes that end where they say."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation, TimeLimit

import worldloom as wl
from worldloom import envpool
from worldloom.vector import WorldEnv, list_all_envs
from worldloom.vector.registration import WorldSpec, register_with_gymnasium

SPECS = (
    "Acrobot-v1",
    "CartPole-v0",
    "CartPole-v1",
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "MountainCar-v0",
    "Pendulum-v1",
)


@pytest.mark.parametrize("id", SPECS)
def test_limit_and_threshold_are_those_of_gymnasium(id):
    theirs, ours = gymnasium.spec(id), gymnasium.spec(f"worldloom/{id}")
    assert ours.max_episode_steps == theirs.max_episode_steps
    assert ours.reward_threshold == theirs.reward_threshold == envpool.make_spec(id).reward_threshold
    assert ours.max_episode_steps == envpool.make_spec(id).config.max_episode_steps


def test_limits_of_other_worlds():
    limits = {
        "Pong-v5": 27_000,
        "HalfCheetah-v5": 1000,
        "CheetahRun-v1": 1000,
        "Overcooked-v0": 400,
        "Blackjack-v1": None,
    }
    assert {"Overcooked-v0", "CheetahRun-v1"} <= set(list_all_envs())
    for id, limit in limits.items():
        assert gymnasium.spec(f"worldloom/{id}").max_episode_steps == limit
    assert gymnasium.spec("worldloom/Taxi-v3").reward_threshold == gymnasium.spec("Taxi-v4").reward_threshold == 8
    assert gymnasium.spec("worldloom/Catch-v0").reward_threshold is None


def test_every_registered_world_has_its_spec():
    """No world is built before its limit is read."""
    specs = [spec for name, spec in gymnasium.registry.items() if name.startswith("worldloom/")]
    assert len(specs) > 150 and all(isinstance(spec, WorldSpec) for spec in specs)
    assert "max_episode_steps" not in vars(gymnasium.spec("worldloom/Skiing-v5"))


def test_a_batch_is_made_before_the_limit_has_been_read():
    """``gymnasium.make_vec`` reads the limit of a copy whose arguments it has taken away."""
    register_with_gymnasium("CartPole-v1")
    batch = gymnasium.make_vec("worldloom/CartPole-v1", num_envs=2, device="python")
    assert batch.spec.max_episode_steps == 500 and batch.spec.reward_threshold == 475.0
    assert batch.get_attr("max_steps") == (500, 500)


def test_specs_can_be_copied_and_changed():
    spec = copy.deepcopy(gymnasium.spec("worldloom/CartPole-v1"))
    assert pickle.loads(pickle.dumps(spec)).max_episode_steps == 500
    assert gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()).max_episode_steps == 500
    assert "max_episode_steps=500" in spec.pprint(disable_print=True)
    spec.max_episode_steps = 7
    assert gymnasium.make(spec, device="python").spec.max_episode_steps == 7
    spec.max_episode_steps = None
    assert not isinstance(gymnasium.make(spec, device="python"), TimeLimit)
    assert gymnasium.spec("worldloom/CartPole-v1").max_episode_steps == 500


def play(env, steps):
    """Flags of the episodes of ``steps`` steps with the action 0, or of those until the end."""
    env.reset(seed=3)
    flags = []
    while len(flags) < steps and not any(flags[-1:] and flags[-1]):
        flags.append(env.step(0)[2:4])
    return flags


def test_the_wrapper_changes_no_episode():
    """MountainCar never terminates with this action: world and wrapper truncate at the same step."""
    made = gymnasium.make("worldloom/MountainCar-v0", device="python")
    assert made.spec.max_episode_steps == 200 and made.spec.reward_threshold == -110.0
    flags = play(made, 300)
    assert flags == play(WorldEnv("MountainCar-v0", device="python"), 300)
    assert len(flags) == 200 and flags[-1] == (False, True)
    timed = TimeAwareObservation(made)
    assert timed.reset(seed=3)[0].shape == (3,) and timed.max_timesteps == 200


@pytest.mark.parametrize(
    ("limits", "steps"),
    [
        ({"max_episode_steps": 5}, 5),
        ({"max_episode_steps": 210}, 210),
        ({"max_steps": 5}, 5),
        ({"max_steps": 210}, 210),
        ({"max_steps": 210, "max_episode_steps": 210}, 210),
        ({"max_steps": 210, "max_episode_steps": -1}, 210),
        ({"max_steps": 210, "max_episode_steps": 5}, 5),
        ({"max_episode_steps": -1}, None),
        ({"max_steps": 0}, None),
    ],
)
def test_limits_of_the_caller(limits, steps):
    """World, wrapper and spec have the limit that was given; so has an environment that is made of the spec."""
    made = gymnasium.make("worldloom/MountainCar-v0", device="python", **limits)
    for env in (made, gymnasium.make(made.spec)):
        assert env.spec.max_episode_steps == steps
        assert env.unwrapped.simulation.get_config("max_steps") == (steps or 0)
        assert isinstance(env, TimeLimit) == (steps is not None)
        assert len(play(env, 300)) == (steps or 300)
    if steps:
        assert TimeAwareObservation(made).max_timesteps == steps


def test_limits_of_the_caller_of_a_batch():
    id = "worldloom/MountainCar-v0"
    for limits in ({"max_steps": 400}, {"max_episode_steps": 400}):
        batch = gymnasium.make_vec(id, num_envs=2, device="python", **limits)
        assert batch.spec.max_episode_steps == 400 and batch.get_attr("max_steps") == (400, 400)
        alone = gymnasium.make_vec(id, num_envs=1, vectorization_mode="sync", device="python", **limits)
        assert alone.envs[0].spec.max_episode_steps == 400
    batch = gymnasium.make_vec(id, num_envs=2, device="python", max_steps=np.array([3, 4]))
    assert batch.simulation.world["max_steps"].numpy().tolist() == [3, 4] and batch.spec.max_episode_steps is None
    assert gymnasium.spec(id).max_episode_steps == 200


def test_settings_of_a_family_keep_their_limit():
    batch = gymnasium.make_vec("worldloom/Pong-v5", num_envs=1, like="gymnasium")
    assert batch.simulation.definition.max_steps == 0 and batch.spec.max_episode_steps is None
    assert gymnasium.make("worldloom/Pong-v5", like="gymnasium").spec.max_episode_steps is None
    assert wl.definition("Pong-v5", like="gymnasium").max_steps == 0
