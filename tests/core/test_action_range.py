"""An action that does not fit into 32 bits is reported with the number that was given."""

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.runtime.action_range import narrowed
from worldloom.vector.world_pool import WorldPool


class Walker(wl.Entity):
    turn: wl.Action(wl.Discrete(3))
    moves: wl.Action(wl.MultiDiscrete(2, 4))
    seen: wl.Observation(1)


class Path(wl.World):
    pass


@wl.system
def walk(walker: Walker, world: Path):
    walker.seen[0] = float(walker.turn + walker.moves[0])


PATH = wl.Definition("ActionRangePath-v0", Path, {Walker: 1}, step=(walk,))


class Coin(wl.Entity):
    side: wl.Action(wl.Discrete(2))
    seen: wl.Observation(1)


@wl.system
def show(coin: Coin, world: Path):
    coin.seen[0] = float(coin.side)


COINS = wl.Definition("ActionRangeCoins-v0", Path, {Coin: 2}, step=(show,))
COIN = wl.Definition("ActionRangeCoin-v0", Path, {Coin: 1}, step=(show,))

BIG = 2**31 + 5


def messages(owner):
    return [(fault.world, fault.message) for fault in owner.errors()]


def out_of_range(name, number, most):
    return f"action {name} is {number}, which is not in 0 to {most}"


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_faults_name_the_numbers_given(device):
    simulation = wl.Simulation(PATH, 4, device, seed=0, world_offset=10)
    turn = np.array([[0], [BIG], [7], [-(2**40)]])
    moves = np.array([[[0, 2**33]], [[0, 0]], [[0, 0]], [[2**60, 3]]])
    simulation.step({"Walker.turn": turn, "Walker.moves": moves})
    expected = {
        (10, out_of_range("Walker.moves[1]", 2**33, 3)),
        (11, out_of_range("Walker.turn", BIG, 2)),
        (12, out_of_range("Walker.turn", 7, 2)),
        (13, out_of_range("Walker.turn", -(2**40), 2)),
        (13, out_of_range("Walker.moves[0]", 2**60, 1)),
    }
    assert set(messages(simulation)) == expected
    simulation.step({"Walker.turn": turn.astype(np.int32) * 0, "Walker.moves": moves.astype(np.int32) * 0})
    assert messages(simulation) == []


@pytest.mark.parametrize("device", ["python", "cpu"])
@pytest.mark.parametrize("wrap", [np.asarray, torch.as_tensor, list])
def test_several_entities_and_steps_are_not_mixed_up(device, wrap):
    simulation = wl.Simulation(COINS, 2, device, seed=0)
    simulation.step(np.array([[0, 2**31 - 1], [0, 0]], np.int32))
    simulation.step(wrap(np.array([[BIG, -BIG], [0, 9]])))
    assert sorted(messages(simulation)) == sorted(
        (world, out_of_range("Coin.side", number, 1)) for world, number in ((0, 2**31 - 1), (0, BIG), (0, -BIG), (1, 9))
    )


@pytest.mark.parametrize("env_type", ["gymnasium", "torch"])
def test_environments_name_them_too(env_type):
    env = wl.make(COIN, 3, seed=0, env_type=env_type)
    env.reset()
    actions = np.array([0, 2**40, 1])
    env.step(torch.as_tensor(actions) if env_type == "torch" else actions)
    assert messages(env) == [(1, out_of_range("Coin.side", 2**40, 1))]


def test_a_pool_does_not_wrap_them_into_range():
    with WorldPool(COIN, 2, 2, device="python", seed=0) as pool:
        pool.async_reset()
        pool.recv()
        pool.send(np.array([2**40, 1]), [0, 1])
        assert pool.recv()[3].tolist() == [True, False]
        assert messages(pool) == [(0, out_of_range("Coin.side", 2**40, 1))]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64])
def test_integers_are_narrowed_if_all_of_them_fit(dtype):
    values = np.array([[0, 1], [-128, 127]], dtype)
    narrow = narrowed(values, np.dtype(np.int32))
    assert narrow is not None and narrow.dtype == np.int32 and np.array_equal(narrow, values)
    for other in (2**31, -(2**31) - 1, 2**32, 2**32 + 1, -(2**63)):
        assert narrowed(np.array([1, other, 2]), np.dtype(np.int32)) is None
    assert narrowed(np.array([2**31 - 1, -(2**31)]), np.dtype(np.int32)) is not None
