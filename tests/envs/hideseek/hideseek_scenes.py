"""Scenes of HideSeek: an arena without walls in which bodies stand where a test puts them."""

from __future__ import annotations

from typing import Any

import numpy as np

import worldloom as wl
from worldloom.envs.hideseek.entities import SOLID

ID = "HideSeek-v0"
NOTHING = (5, 5, 5, 0, 0)
FORWARD = (5, 10, 5, 0, 0)
GRAB = (5, 5, 5, 1, 0)
LOCK = (5, 5, 5, 0, 1)
FAR = 500.0  # m, where bodies are parked


class Scene:
    """Worlds whose walls, boxes, ramps and agents are parked far to the back and right, looking away from each other.

    Rows of bodies: ``boxes`` boxes, 2 ramps, the hiders, the seekers.
    """

    def __init__(self, sim: wl.Simulation, boxes: int = 3) -> None:
        self.sim, self.boxes = sim, boxes
        sim.set_config("min_boxes", boxes)
        sim.set_config("max_boxes", boxes)
        sim.reset(seeds=0)
        self.solids = sim["Solid"]
        self.first_agent = int(sim.world.first_agent.numpy()[0])
        self.hiders, self.agents = int(sim.world.hiders.numpy()[0]), int(sim.world.num_agents.numpy()[0])
        floor = self.first_agent + self.agents
        for row in range(self.solids.position.shape[1]):
            if row != floor:
                self.put(row, FAR + 30.0 * row, -FAR, np.pi)
        sim.world.num_walls.numpy()[:] = 0
        sim.world.num_doors.numpy()[:] = 0

    def put(
        self, row: int, x: float, y: float, yaw: float = 0.0, z: float | None = None, world: int | None = None
    ) -> None:
        """Place a body in a world, by default in all; the height stays unless it is given."""
        worlds = slice(None) if world is None else world
        self.solids.place.numpy()[worlds, row] = (x, y)
        self.solids.position.numpy()[worlds, row, :2] = (x, y)
        if z is not None:
            self.solids.position.numpy()[worlds, row, 2] = z
        self.solids.rotation.numpy()[worlds, row] = (0.0, 0.0, np.sin(yaw / 2.0), np.cos(yaw / 2.0))

    def put_agent(self, number: int, x: float, y: float, yaw: float = 0.0, **options: Any) -> int:
        """Place an agent, hiders first; its row."""
        self.put(self.first_agent + number, x, y, yaw, **options)
        kind, entity = ("Hider", number) if number < self.hiders else ("Seeker", number - self.hiders)
        self.sim[kind].place.numpy()[:, entity] = (x, y)
        return self.first_agent + number

    def skip_preparation(self) -> None:
        self.sim.set_config("preparation", 0)

    def step(self, *choices: tuple[int, ...]) -> None:
        """A step in which the first agents choose the given actions, and others nothing."""
        chosen = np.array([*choices, *[NOTHING] * (self.agents - len(choices))], np.int32)
        actions = {}
        for name, rows in (("Hider", chosen[: self.hiders]), ("Seeker", chosen[self.hiders :])):
            padded = np.full((self.sim.num_worlds, 3, 5), NOTHING, np.int32)
            padded[:, : len(rows)] = rows
            actions[f"{name}.choose"] = padded
        self.sim.step(actions)

    def position(self, row: int, world: int = 0) -> np.ndarray:
        return self.solids.position.numpy()[world, row].copy()

    def seen_from(self, observer: int, row: int, world: int = 0) -> np.ndarray:
        """Horizontal position of a body in the frame of another."""
        z, w = self.solids.rotation.numpy()[world, observer, 2:].astype(float)
        yaw = 2.0 * np.arctan2(z, w)
        offset = (self.position(row, world) - self.position(observer, world))[:2]
        return np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]]) @ offset

    def agent(self, number: int, name: str, world: int = 0) -> np.ndarray:
        """A component of an agent, hiders first."""
        kind, row = ("Hider", number) if number < self.hiders else ("Seeker", number - self.hiders)
        return self.sim[kind].agent_rows[name].numpy()[world, row].copy()

    def joints(self, world: int = 0) -> int:
        return int(self.sim[SOLID.Joint].counts.numpy()[world])


def make_scene(sim: wl.Simulation, boxes: int = 3, **config: Any) -> Scene:
    """A scene with the default configuration except ``config``."""
    defaults = {"hiders": 3, "seekers": 2, "preparation": 96, "reach": 2.5, "outside_penalty": 10.0, "packed": False}
    for name, value in {**defaults, **config}.items():
        sim.set_config(name, value)
    return Scene(sim, boxes)
