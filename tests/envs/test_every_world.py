"""What every world keeps to: spaces and limits of the original, the same on every device, and a picture."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from thorough import sample

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.tools.compare import Comparison

SIZES = {
    "Acrobot-v1": (500, 500),
    "Blackjack-v1": (376, 384),
    "CartPole-v0": (400, 600),
    "CartPole-v1": (400, 600),
    "Catch-v0": (400, 200),
    "CliffWalking-v1": (256, 768),
    "CliffWalkingSlippery-v1": (256, 768),
    "FrozenLake-v1": (256, 256),
    "FrozenLake8x8-v1": (512, 512),
    "MountainCar-v0": (400, 600),
    "MountainCarContinuous-v0": (400, 600),
    "NChain-v0": (120, 500),
    "Pendulum-v1": (500, 500),
    "Taxi-v3": (440, 440),
    "Taxi-v4": (440, 440),
}
"""Every world with the height and width of its picture."""
GYMNASIUMS = [id for id in SIZES if id not in ("Catch-v0", "NChain-v0", "Taxi-v3")]


@pytest.mark.parametrize("id", sample(SIZES, 6))
def test_plain_python_and_compiled_code_agree(id: str) -> None:
    comparison = Comparison(id, ["python", "cpu"], 3, seed=11)
    try:
        assert comparison.run(25) is None
        assert [simulation.errors() for simulation in comparison.simulations] == [[], []]
    finally:
        for simulation in comparison.simulations:
            simulation.close()


@pytest.mark.parametrize("id", SIZES)
def test_one_agent_with_one_of_each(id: str) -> None:
    """So that it is an environment of one action, one observation and one reward."""
    definition = wl.definition(id)
    assert list(definition.entities.values()) == [1]
    assert (len(definition.actions()), len(definition.observations()), len(definition.rewards())) == (1, 1, 1)
    assert definition.doc.split(":")[0] in id, "a sentence of its own"


def as_gymnasium(space: Discrete | MultiDiscrete | Box) -> gymnasium.Space:
    if isinstance(space, Discrete):
        return gymnasium.spaces.Discrete(space.n)
    if isinstance(space, MultiDiscrete):
        return gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(n) for n in space.choices])
    return gymnasium.spaces.Box(space.low, space.high, space.shape, np.float32)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("id", GYMNASIUMS)
def test_spaces_and_limits_are_gymnasiums(id: str) -> None:
    env, definition = gymnasium.make(id), wl.definition(id)
    assert definition.max_steps == (env.spec.max_episode_steps or 0)
    ((_, action),) = definition.actions().values()
    assert as_gymnasium(action.space) == env.action_space
    ((_, seen),) = definition.observations().values()
    if seen.space is not None:
        assert as_gymnasium(seen.space) == env.observation_space
    else:
        box = env.observation_space
        assert (seen.value_shape, np.dtype(np.float32)) == (box.shape, box.dtype)
        np.testing.assert_array_equal(np.broadcast_to(np.float32(seen.low), box.shape), box.low)
        np.testing.assert_array_equal(np.broadcast_to(np.float32(seen.high), box.shape), box.high)
    env.close()


def stepped(id: str, steps: int, seed: int = 2) -> wl.Simulation:
    sim = wl.Simulation(id, 4, "python", seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        sim.step(random_actions(sim, rng))
    return sim


@pytest.mark.parametrize(("id", "size"), sample(SIZES.items(), 6))
def test_a_picture_shows_the_world(id: str, size: tuple[int, int]) -> None:
    """It has the right size, it is the same for the same state, and it differs as the world goes on."""
    draw = wl.definition(id).render
    assert draw is not None
    sim = stepped(id, 0)
    first = draw(sim, 1)
    assert first.shape == (*size, 3) and first.dtype == np.uint8
    assert len(np.unique(first.reshape(-1, 3), axis=0)) >= 3
    np.testing.assert_array_equal(draw(sim, 1), first)
    assert any((draw(stepped(id, steps), 1) != first).any() for steps in (1, 2, 3, 5))


def test_the_picture_of_a_falling_pole_leans_as_it_does() -> None:
    sim = wl.Simulation("CartPole-v1", 2, "cpu", seed=0)
    sim["Cart"].x.numpy()[:] = 0.0
    sim["Cart"].angle.numpy()[:, 0] = (0.15, -0.15)
    wood = [np.argwhere((wl.definition("CartPole-v1").render(sim, k) == (202, 152, 101)).all(axis=2)) for k in (0, 1)]
    tops = [pixels[pixels[:, 0] == pixels[:, 0].min() + 4, 1].mean() for pixels in wood]
    assert tops[0] > 310 and tops[1] < 290


def test_the_picture_of_the_pendulum_turns_as_it_does() -> None:
    sim = wl.Simulation("Pendulum-v1", 2, "cpu", seed=0)
    sim["Rod"].angle.numpy()[:, 0] = (np.pi / 2.0, 0.0)  # to the left, and up
    red = [
        np.argwhere((wl.definition("Pendulum-v1").render(sim, k) == (204, 77, 77)).all(axis=2)).mean(axis=0)
        for k in (0, 1)
    ]
    assert red[0][1] < 220 and abs(red[0][0] - 250) < 5
    assert red[1][0] < 220 and abs(red[1][1] - 250) < 5


def test_the_pendulums_arrow_follows_the_torque() -> None:
    """There is none before the first step; it is black, and larger for a stronger torque."""
    draw = wl.definition("Pendulum-v1").render
    sim = wl.Simulation("Pendulum-v1", 3, "cpu", seed=0)

    def black(world: int) -> int:
        return int((draw(sim, world) == (0, 0, 0)).all(axis=2).sum())

    still = black(0)
    sim.step(np.float32([[0.0], [1.0], [-2.0]]))
    assert still == black(0) < black(1) < black(2)


def test_links_hang_and_stand_where_they_are() -> None:
    sim = wl.Simulation("Acrobot-v1", 2, "cpu", seed=0)
    sim["Links"].angles.numpy()[:, 0] = ((0.0, 0.0), (np.pi, 0.0))
    heights = [
        np.argwhere((wl.definition("Acrobot-v1").render(sim, k) == (0, 204, 204)).all(axis=2)).mean(axis=0)[0]
        for k in (0, 1)
    ]
    assert heights[0] > 330 and heights[1] < 170


def test_the_picture_of_the_taxi_shows_its_passenger() -> None:
    """The passenger is seen at their pad, and then in the cab."""
    draw = wl.definition("Taxi-v4").render
    sim = wl.Simulation("Taxi-v4", 1, "cpu", seed=0)
    cab = sim["Cab"]
    cab.cell.numpy()[:], cab.destination.numpy()[:] = 12, 3

    def where() -> np.ndarray:
        return np.argwhere((draw(sim, 0) == (90, 60, 140)).all(axis=2)).mean(axis=0)

    cab.passenger.numpy()[:] = 0
    assert (np.abs(where() - (66, 60)) < 15).all()
    cab.passenger.numpy()[:] = 4
    assert (np.abs(where() - (201, 220)) < 15).all()
