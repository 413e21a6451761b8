"""Escape Room with bodies placed by a test."""

import functools

import numpy as np

import worldloom as wl
from worldloom.envs.escape_room.entities import FIRST_AGENT, FIRST_CUBE, NUM_BUTTONS
from worldloom.envs.escape_room.world import ESCAPE_ROOM

NOTHING = (0, 0, 2, 0)
LENGTH = 40.0 / 3.0


STILL = wl.register(
    "EscapeRoomStill-v0",
    world=ESCAPE_ROOM.world,
    entities=ESCAPE_ROOM.entities,
    reset=ESCAPE_ROOM.reset,
    observe=ESCAPE_ROOM.observe,
    doc="EscapeRoomStill: a step observes and changes nothing.",
)


@functools.cache
def simulation(id: str, worlds: int) -> wl.Simulation:
    """One simulation for all tests: to create one takes longer than most tests."""
    return wl.Simulation(id, num_worlds=worlds, device="cpu", seed=1)


CHANGED: dict[wl.Simulation, dict[str, object]] = {}
"""Configuration before the changes of an earlier test."""


def level(worlds: int = 1, id: str = "EscapeRoom-v0", **config: float) -> wl.Simulation:
    """A simulation with a configuration; agents stand upright and face the doors at x = 4 and x = -4, y = 5."""
    sim = simulation(id, worlds)
    for name, value in CHANGED.pop(sim, {}).items():
        sim.set_config(name, value)
    CHANGED[sim] = {name: sim.get_config(name) for name in config}
    for name, value in config.items():
        sim.set_config(name, value)
    sim.reset(seeds=1)
    for agent in range(2):
        for world in range(worlds):
            put_agent(sim, agent, (4.0 if agent == 0 else -4.0, 5.0), world=world)
    return sim


def put_agent(sim: wl.Simulation, agent: int, place: tuple[float, float], yaw: float = 0.0, world: int = 0) -> None:
    """Stand an agent at (x, y), facing along y and turned counter-clockwise by ``yaw``."""
    row = FIRST_AGENT + agent
    sim["Body"].position.numpy()[world, row] = (*place, 1.0)
    sim["Body"].rotation.numpy()[world, row] = (0.0, 0.0, np.sin(0.5 * yaw), np.cos(0.5 * yaw))
    sim["Agent"].max_y.numpy()[world, agent] = place[1]


def put_cube(sim: wl.Simulation, cube: int, place: tuple[float, float], world: int = 0) -> None:
    """Put a cube at (x, y), with the sides along x and y."""
    sim["Body"].position.numpy()[world, FIRST_CUBE + cube] = (*place, 1.5)
    sim["Body"].rotation.numpy()[world, FIRST_CUBE + cube] = (0.0, 0.0, 0.0, 1.0)


def put_buttons(sim: wl.Simulation, room: int, *places: tuple[float, float]) -> None:
    """Put the buttons of a room in all worlds."""
    sim["Button"].position.numpy()[:, NUM_BUTTONS * room : NUM_BUTTONS * room + len(places)] = places


def step(sim: wl.Simulation, *actions: tuple[int, int, int, int], times: int = 1) -> None:
    """Step all worlds with the actions of the two agents; an agent without one does nothing."""
    both = [*actions, *[NOTHING] * (2 - len(actions))]
    for _ in range(times):
        sim.step(np.broadcast_to(np.array(both, np.int32), (sim.num_worlds, 2, 4)).copy())


def agent_state(sim: wl.Simulation, agent: int = 0, world: int = 0) -> tuple[np.ndarray, float]:
    """Position of the centre, and yaw."""
    row = FIRST_AGENT + agent
    x, y, z, w = sim["Body"].rotation.numpy()[world, row].tolist()
    assert x == y == 0.0
    return sim["Body"].position.numpy()[world, row].copy(), 2.0 * float(np.arctan2(z, w))


def door_bottom(sim: wl.Simulation, room: int = 0, world: int = 0) -> float:
    """Height of the lower edge of a door."""
    row = 8 + 3 * room
    return float(sim["Body"].position.numpy()[world, row, 2] - sim["Body"].size.numpy()[world, row, 2])
