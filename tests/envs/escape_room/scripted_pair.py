"""A scripted pair that opens the door of every kind of room of Escape Room, one world at a time."""

from dataclasses import dataclass

import numpy as np

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    CUBE_BLOCKING,
    CUBE_BUTTONS,
    FIRST_AGENT,
    FIRST_CUBE,
    MAX_CUBES,
    NUM_BUTTONS,
    SINGLE_BUTTON,
)

STAY = (0, 0, 2, 0)
STEP = 1.0  # m that the largest force moves a free agent in a step
TURN = 0.24  # rad that one choice of turn moves a free agent in a step


@dataclass
class View:
    """What the script reads of one world."""

    position: np.ndarray  # (bodies, 3)
    yaw: np.ndarray  # (agents,)
    grabbing: np.ndarray  # (agents,)
    buttons: np.ndarray  # (rooms, 2, 2)
    pressed: np.ndarray  # (rooms, 2)
    door_x: np.ndarray
    is_open: np.ndarray
    kind: np.ndarray
    room_length: float


def views(sim: wl.Simulation) -> list[View]:
    """A view of every world."""
    body, room, button = sim["Body"], sim["Room"], sim["Button"]
    z, w = body.rotation.numpy()[:, FIRST_AGENT : FIRST_AGENT + 2, 2:].transpose(2, 0, 1)
    position, yaw, holds = body.position.numpy(), 2.0 * np.arctan2(z, w), sim["Agent"].is_grabbing.numpy()
    places, pressed = button.position.numpy(), button.is_pressed.numpy()
    length = float(np.ravel(sim.world.room_length.numpy())[0])
    columns = (
        position,
        yaw,
        holds,
        places.reshape(len(places), -1, NUM_BUTTONS, 2),
        pressed.reshape(len(pressed), -1, NUM_BUTTONS),
        room.door_x.numpy(),
        room.is_open.numpy(),
        room.kind.numpy(),
    )
    return [View(*(column[k] for column in columns), length) for k in range(sim.num_worlds)]


def wrapped(angle: float) -> float:
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def go(view: View, agent: int, target: np.ndarray, *, near: float = 0.2, yaw: float | None = None, grab: int = 0):
    """The action that moves an agent towards a point (x, y), and turns it to a yaw."""
    offset = np.asarray(target) - view.position[FIRST_AGENT + agent, :2]
    heading = view.yaw[agent]
    right = np.cos(heading) * offset[0] + np.sin(heading) * offset[1]
    ahead = -np.sin(heading) * offset[0] + np.cos(heading) * offset[1]
    distance = float(np.hypot(right, ahead))
    amount = 0 if distance < near else int(np.clip(round(3.0 * distance / STEP), 1, 3))
    angle = round(np.arctan2(right, ahead) / (np.pi / 4.0)) % 8
    turn = 2 if yaw is None else 2 + int(np.clip(round(wrapped(yaw - heading) / TURN), -2, 2))
    return amount, angle, turn, grab


class ScriptedPair:
    """Acts for both agents of one world; ``rng`` adds detours where an agent is stuck."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.last = np.zeros((2, 2))
        self.stuck = np.zeros(2, int)
        self.detour = np.zeros(2, int)
        self.way = np.zeros((2, 4), int)

    def act(self, view: View) -> list[tuple[int, int, int, int]]:
        actions = []
        for agent in range(2):
            here = view.position[FIRST_AGENT + agent, :2]
            action = self.plan(view, agent, here)
            moved = np.hypot(*(here - self.last[agent]))
            self.stuck[agent] = self.stuck[agent] + 1 if action[0] > 0 and moved < 0.05 else 0
            self.last[agent] = here
            if self.stuck[agent] > 4:
                self.detour[agent], self.stuck[agent] = 4, 0
                self.way[agent] = (3, self.rng.integers(8), self.rng.integers(5), 0)
            if self.detour[agent] > 0 and not view.grabbing[agent]:
                self.detour[agent] -= 1
                action = tuple(self.way[agent])
            actions.append(action)
        return actions

    def plan(self, view: View, agent: int, here: np.ndarray) -> tuple[int, int, int, int]:
        """Agent 0 acts on the right, agent 1 on the left; both leave once the door is open for good."""
        room = min(int(max(here[1], 0.0) / view.room_length), len(view.kind) - 1)
        side = 1 if agent == 0 else 0
        kind, buttons = view.kind[room], view.buttons[room]
        cubes = view.position[FIRST_CUBE + MAX_CUBES * room :][:MAX_CUBES, :2]
        if kind == CUBE_BUTTONS:
            return self.hold_with_cube(view, agent, room, cubes[side], buttons[side])
        if view.is_open[room]:
            if kind == CUBE_BLOCKING and here[1] < view.room_length * (room + 1) - 1.0:
                return self.push_through(view, agent, room, cubes[1])
            return self.leave(view, agent, room)
        if kind == SINGLE_BUTTON:
            return go(view, agent, buttons[0]) if agent == 0 else STAY
        return go(view, agent, buttons[side])

    def leave(self, view: View, agent: int, room: int) -> tuple[int, int, int, int]:
        """To the door, each agent on its side, and through it."""
        here = view.position[FIRST_AGENT + agent, :2]
        side = 0.0 if view.kind[room] == CUBE_BLOCKING else 1.3
        x = view.door_x[room] + (side if agent == 0 else -side)
        end = view.room_length * (room + 1)
        grab = int(view.grabbing[agent])
        if abs(here[0] - x) > 0.6 and here[1] < end - 2.2:
            return go(view, agent, np.array([x, min(end - 3.0, here[1] + 1.0)]), yaw=0.0, grab=grab)
        return go(view, agent, np.array([x, here[1] + 2.0]), yaw=0.0, grab=grab)

    def push_through(self, view: View, agent: int, room: int, cube: np.ndarray) -> tuple[int, int, int, int]:
        """Agent 0 pushes the middle cube through the door; the other follows in its lane."""
        here = view.position[FIRST_AGENT + agent, :2]
        x, wall = view.door_x[room], view.room_length * (room + 1) - 1.0
        if agent == 1 and view.position[FIRST_AGENT, 1] < wall + 1.0:
            return go(view, agent, np.array([x - 4.0 if x > 0.0 else x + 4.0, wall - 8.0]), yaw=0.0)
        if abs(here[0] - x) > 0.2 and here[1] < wall - 4.2:
            return go(view, agent, np.array([x, min(here[1], wall - 4.7)]), yaw=0.0, near=0.1)
        return go(view, agent, np.array([x, here[1] + 1.0]), yaw=0.0)

    def hold_with_cube(
        self, view: View, agent: int, room: int, cube: np.ndarray, button: np.ndarray
    ) -> tuple[int, int, int, int]:
        """Push the cube onto the button, first along x, then along y, and leave when the door is open."""
        offset = button - cube
        if view.is_open[room] and np.abs(offset).max() < 1.7:
            return self.leave(view, agent, room)
        start, end = view.room_length * room, view.room_length * (room + 1) - 1.0
        for axis in (0, 1):
            sign = float(np.sign(offset[axis]))
            if abs(offset[axis]) > 1.0:
                room_behind = axis == 0 or start + 3.7 < cube[1] < end - 3.7
                pull = view.grabbing[agent] or not room_behind
                return (self.pull if pull else self.push)(view, agent, room, cube, axis, sign, abs(offset[axis]))
        return (0, 0, 2, int(view.grabbing[agent]))

    def pull(self, view: View, agent: int, room: int, cube: np.ndarray, axis: int, sign: float, distance: float):
        """Grab the cube from the side it shall move to, and walk backwards."""
        here = view.position[FIRST_AGENT + agent, :2]
        target = cube.copy()
        target[axis] += 2.8 * sign
        if view.grabbing[agent]:
            target[axis] = here[axis] + sign * np.clip(distance - 0.8, 0.2, 0.7)
            return go(view, agent, target, yaw=0.0 if sign < 0.0 else np.pi)
        if sign * (here - cube)[axis] < 2.3:
            return self.walk_around(view, agent, room, cube, axis, -sign)
        yaw = 0.0 if sign < 0.0 else np.pi
        ready = abs(wrapped(yaw - view.yaw[agent])) < 0.3 and np.hypot(*(here - target)) < 0.5
        return go(view, agent, target, yaw=yaw, near=0.1, grab=int(ready))

    def push(self, view: View, agent: int, room: int, cube: np.ndarray, axis: int, sign: float, distance: float):
        """Push the cube from its far side."""
        here = view.position[FIRST_AGENT + agent, :2]
        ahead, across = sign * (here - cube)[axis], (here - cube)[1 - axis]
        if ahead < -2.3 and abs(across) < 0.4:
            target = here.copy()
            target[axis] += sign * np.clip(distance - 0.8, 0.2, 0.7)
            target[1 - axis] = cube[1 - axis]
            return go(view, agent, target, yaw=0.0, near=0.1)
        return self.walk_around(view, agent, room, cube, axis, sign)

    def walk_around(self, view: View, agent: int, room: int, cube: np.ndarray, axis: int, sign: float):
        """To the side of the cube from which it can be pushed along an axis."""
        here = view.position[FIRST_AGENT + agent, :2]
        target = cube.copy()
        target[axis] -= 2.9 * sign
        if sign * (here - cube)[axis] > -2.3:
            middle = 0.0 if axis == 1 else view.room_length * (room + 0.4)
            target[1 - axis] += 3.0 * (1.0 if middle > cube[1 - axis] else -1.0)
            if abs((here - cube)[1 - axis]) < 2.6:
                target[axis] = here[axis]
        return go(view, agent, target, yaw=0.0, near=0.1)


def play(sim: wl.Simulation, steps: int) -> np.ndarray:
    """The largest number of rooms that both agents of each world passed."""
    pairs = [ScriptedPair(k) for k in range(sim.num_worlds)]
    passed = np.zeros(sim.num_worlds)
    for _ in range(steps):
        actions = [pair.act(view) for pair, view in zip(pairs, views(sim), strict=True)]
        sim.step(np.array(actions, np.int32))
        passed = np.maximum(passed, sim["Agent"].rooms_passed.numpy()[:, 0])
    return passed
