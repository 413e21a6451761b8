"""Worlds of custom size: lakes of any map, boards of any size, and configuration that changes the rules."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.core.tools.compare import Comparison
from worldloom.envs import catch, frozen_lake


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


DESC = ("SFS", "HFG")


def test_a_lake_of_any_map() -> None:
    definition = frozen_lake.lake(DESC, "Pond-v1", max_steps=7)
    assert wl.definition("Pond-v1") is definition and definition.max_steps == 7
    sim = wl.Simulation(definition, 400, "cpu", seed=0, autoreset="disabled", config={"is_slippery": False})
    starts = sim["Walker"].cell.numpy()[:, 0].copy()
    assert set(starts.tolist()) == {0, 2} and 150 < (starts == 0).sum() < 250, "each start is as likely"
    sim.step(np.ones(400, np.int32))  # down: into the hole, or to the goal
    np.testing.assert_array_equal(sim["Walker"].sight.numpy()[:, 0], starts + 3)
    np.testing.assert_array_equal(sim["Walker"].reward.numpy()[:, 0], np.where(starts == 2, 1.0, 0.0))
    assert sim.terminated.numpy().all()
    assert definition.render(sim, 0).shape == (128, 192, 3)


def test_a_lake_with_another_map_per_world() -> None:
    sim = wl.Simulation("FrozenLake-v1", 2, "cpu", seed=0, autoreset="disabled", config={"is_slippery": False})
    maps = np.tile(sim.world.tiles.numpy(), (2, 1))
    maps[1, 4] = frozen_lake.HOLE
    sim.set_config("tiles", maps)
    sim.step(np.ones(2, np.int32))
    assert sim.terminated.numpy().tolist() == [False, True]
    draw = wl.definition("FrozenLake-v1").render
    assert (draw(sim, 0)[64:128, :64] != draw(sim, 1)[64:128, :64]).any()


def test_a_large_generated_lake_runs_the_same_everywhere() -> None:
    desc = frozen_lake.generate(12, 0.9, seed=0)
    assert len(desc) == 12 and desc[0][0] == "S" and desc[-1][-1] == "G"
    comparison = Comparison(frozen_lake.lake(desc, "LargeLake-v1"), ["python", "cpu"], 3)
    assert comparison.run(20) is None


@pytest.mark.parametrize(
    "desc", [("SF", "F"), ("SX", "FG"), ("FF", "FG"), ()], ids=["ragged", "unknown letter", "no start", "nothing"]
)
def test_what_is_no_lake(desc: tuple[str, ...]) -> None:
    with pytest.raises(
        wl.InputError, match="a lake is made of rows of equal length of the letters SFHG with at least one S"
    ):
        frozen_lake.lake(desc)


def test_every_generated_lake_can_be_crossed() -> None:
    for seed in range(30):
        desc = frozen_lake.generate(5, 0.4, seed)
        reached, todo = set(), [(0, 0)]
        while todo:
            row, column = todo.pop()
            if (row, column) in reached or not (0 <= row < 5 and 0 <= column < 5) or desc[row][column] == "H":
                continue
            reached.add((row, column))
            todo += [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
        assert (4, 4) in reached, desc


def test_catch_on_another_board() -> None:
    definition = catch.board(4, 7, "WideCatch-v0")
    sim = wl.Simulation(definition, 50, "cpu", seed=0, autoreset="disabled")
    assert sim["Paddle"].sight.shape == (50, 1, 4, 7)
    aims = sim["Paddle"].ball_x.numpy()[:, 0].copy()
    for _ in range(3):
        sim.step((1 + np.sign(aims - sim["Paddle"].x.numpy()[:, 0])).astype(np.int32))
    assert sim.terminated.numpy().all() and (sim["Paddle"].reward.numpy() == 1.0).all(), (
        "three steps reach every column from the middle"
    )
    assert definition.render(sim, 0).shape == (160, 280, 3)


def test_the_start_of_classic_worlds_is_configuration() -> None:
    for id, kind, column in (
        ("CartPole-v1", "Cart", "spin"),
        ("Acrobot-v1", "Links", "spins"),
        ("MountainCar-v0", "GearCar", "x"),
    ):
        sim = wl.Simulation(id, 200, "cpu", seed=0, config={"low": 0.1, "high": 0.2})
        values = sim[kind][column].numpy()
        assert values.min() >= 0.1 and values.max() <= 0.2 and values.std() > 0.02, id
    sim = wl.Simulation("Pendulum-v1", 200, "cpu", seed=0, config={"x_init": 0.1, "y_init": 0.5})
    assert np.abs(sim["Rod"].angle.numpy()).max() <= 0.1 and 0.4 < np.abs(sim["Rod"].spin.numpy()).max() <= 0.5


def test_nchains_rewards_and_slips_are_configuration() -> None:
    sim = wl.Simulation("NChain-v0", 1, "cpu", seed=0, config={"slip": 0.0, "small": 3.0, "large": 7.0})
    rewards = []
    for act in (0, 0, 0, 0, 0, 1, 1):
        sim.step(np.int32([act]))
        rewards.append(float(sim["Walker"].reward.numpy()[0, 0]))
    assert rewards == [0.0, 0.0, 0.0, 0.0, 7.0, 3.0, 3.0]
