"""Action masks in the interfaces: samples of action spaces, ``action_masks``, and Gymnasium's checker."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import worldloom as wl
from worldloom.vector import WorldEnv, WorldParallelEnv, WorldVectorEnv
from worldloom.vector.choice_masks import draw_allowed

N = 16


class Lock(wl.Entity):
    dial: wl.Action(wl.Discrete(5))
    levers: wl.Action(wl.MultiDiscrete(2, 3))
    dial_mask: wl.Observation(5, dtype=bool)
    levers_mask: wl.Observation(5, dtype=wl.uint8)
    reward: wl.Reward


class Vault(wl.World):
    open: int


@wl.system
def turn(lock: Lock, world: Vault):
    """A forbidden choice is a fault."""
    if not lock.dial_mask[lock.dial]:
        world.fail("dial {value} is not allowed", lock.dial)
    if lock.levers_mask[lock.levers[0]] == 0 or lock.levers_mask[2 + lock.levers[1]] == 0:
        world.fail("levers {value} are not allowed", lock.levers[0])


@wl.system
def spin(world: Vault):
    world.open = world.integer(5)


@wl.system
def allow(lock: Lock, world: Vault):
    """Two numbers of the dial, one position of the first lever, and none of the second, which is free then."""
    for number in range(5):
        lock.dial_mask[number] = number == world.open or number == (world.open + 2) % 5
    lock.levers_mask[0] = wl.uint8(world.open % 2)
    lock.levers_mask[1] = wl.uint8(1 - world.open % 2)
    for position in range(3):
        lock.levers_mask[2 + position] = wl.uint8(1 if world.step % 2 == 0 else 0) * wl.uint8(position != 1)


LOCKS = wl.register("Locks-masks", world=Vault, entities={Lock: 2}, step=[turn, spin], observe=[allow], max_steps=30)


class Switch(wl.Entity):
    press: wl.Action(wl.Discrete(4))
    action_mask: wl.Observation(4, dtype=bool)
    reward: wl.Reward


class Panel(wl.World):
    pass


@wl.system
def press(switch: Switch, world: Panel):
    if not switch.action_mask[switch.press]:
        world.fail("switch {value} is not allowed", switch.press)


@wl.system
def light(switch: Switch, world: Panel):
    """The first state allows 0 and 1, the others 2 and 3."""
    for number in range(4):
        switch.action_mask[number] = (number < 2) == (world.step == 0)


SWITCH = wl.register("Switch-masks", world=Panel, entities={Switch: 1}, step=[press], observe=[light], max_steps=9)


def test_choices_are_drawn_with_equal_probability():
    rng, sizes = np.random.default_rng(0), (4, 2)
    allowed = np.tile(np.array([1, 0, 1, 1, 0, 1], bool), (30_000, 1))
    drawn = draw_allowed(allowed, sizes, rng)
    assert drawn.shape == (30_000, 2) and (drawn[:, 1] == 1).all()
    counts = np.bincount(drawn[:, 0], minlength=4)
    assert counts[1] == 0 and (np.abs(counts[[0, 2, 3]] - 10_000) < 500).all()


@pytest.mark.parametrize("world", [SWITCH, "HanabiVerySmall-v0"])
def test_samples_of_a_batch_are_allowed(world):
    with WorldVectorEnv(world, N, device="python", seed=0) as env:
        env.reset()
        env.action_space.seed(1)
        for _ in range(12):
            action = env.action_space.sample()
            assert env.action_space.contains(action)
            env.step(action)
        assert env.errors() == []


def test_each_component_has_its_mask():
    """Several entities with several actions, of which an element without an allowed choice is free."""
    with WorldVectorEnv(LOCKS, N, device="python", seed=0) as env:
        env.reset()
        free = set()
        for _ in range(4):
            action = env.action_space.sample()
            dials = env.simulation["Lock"].dial_mask.numpy()
            assert np.take_along_axis(dials, action["dial"][..., None], 2).all()
            if env.simulation.world["step"].numpy()[0] == 0:
                assert (action["levers"][..., 1] != 1).all()
            else:
                free |= set(action["levers"][..., 1].ravel().tolist())
            env.reset() if free == {0, 1, 2} else env.step(action)
        with pytest.raises(AttributeError, match="has several actions, dial, levers, and action_masks is for one"):
            _ = env.action_masks


def test_copies_sample_the_same_and_spaces_alone_are_plain():
    env = WorldVectorEnv(SWITCH, 3, device="cpu", seed=0)
    env.reset()
    twin, third = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    for _ in range(4):
        action = env.action_space.sample()
        assert (twin.action_space.sample() == action).all() and (third.action_space.sample() == action).all()
        for one in (env, twin, third):
            one.step(action)
    assert env.errors() == twin.errors() == third.errors() == []
    space = pickle.loads(pickle.dumps(env.action_space))
    assert type(space) is gymnasium.spaces.MultiDiscrete and space == env.action_space == copy.deepcopy(
        env.action_space
    )
    env.close()
    assert env.action_space.contains(env.action_space.sample()), "without worlds there is no mask"


@pytest.mark.parametrize("world", [SWITCH, "HanabiVerySmall-v0"])
def test_the_checker_of_gymnasium(world):
    """It samples before it resets and steps, and refuses episodes that end after one step."""
    env = WorldEnv(world, device="python")
    check_env(env, skip_render_check=True)
    assert env.simulation.errors() == []


def test_one_world_and_the_masks_of_its_observations():
    env = WorldEnv(SWITCH, device="python")
    observation, _ = env.reset(seed=0)
    assert type(env.action_space).__mro__[
        2
    ] is gymnasium.spaces.Discrete and env.action_space == gymnasium.spaces.Discrete(4)
    assert isinstance(env.action_space.sample(), np.int64)
    assert env.action_masks().tolist() == observation.tolist() == [True, True, False, False]
    assert {int(env.action_space.sample(mask=np.eye(4, dtype=bool)[3])) for _ in range(9)} == {3}
    assert {int(env.action_space.sample()) for _ in range(40)} == {0, 1}


def test_an_info_does_not_restrict_samples():
    """Taxi's mask marks the actions that change something, and samples are those of Gymnasium's environment."""
    ours, theirs = WorldEnv("Taxi-v4", device="python"), gymnasium.make("Taxi-v4")
    ours.action_space.seed(3), theirs.action_space.seed(3)
    assert [ours.action_space.sample() for _ in range(20)] == [theirs.action_space.sample() for _ in range(20)]
    _, infos = ours.reset(seed=0)
    assert ours.action_masks().tolist() == (infos["action_mask"] != 0).tolist()
    assert not hasattr(WorldEnv("CartPole-v1", device="python"), "action_masks")


def test_agents_of_pettingzoo_sample_by_their_own_masks():
    env = WorldParallelEnv("HanabiVerySmall-v0", device="python", seed=0)
    env.reset()
    for _ in range(10):
        assert env.agents, "no illegal move ended the game"
        observations, *_ = env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        if not env.agents:
            observations, _ = env.reset()
    assert env.simulation.errors() == []
    agent = env.agents[0]
    assert env.action_space(agent) is env.action_space(agent)
    assert observations[agent]["action_mask"][env.action_space(agent).sample(observations[agent]["action_mask"])]
