"""Stacks of boxes and cards, and dominoes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from physics_lab.scenario import Scenario, floor, threshold
from physics_lab.world import BodySpec, Motion, Scene, axis_angle, rotated

GROUP = "Stacks"
CARD_LENGTH, CARD_WIDTH, CARD_THICKNESS = 1.0, 0.7, 0.02  # m
CARD = BodySpec(size=(0.5 * CARD_THICKNESS, 0.5 * CARD_WIDTH, 0.5 * CARD_LENGTH), mass=2.0)
LEAN = math.radians(20.0)
DOMINO = (0.04, 0.12, 0.24)  # m, half extents
DOMINO_PITCH = 0.32  # m
DOMINO_FRICTION = 0.4
DOMINO_START = 0.25  # rad, of the first one
DOMINO_FALLEN = 0.35  # rad
DOMINO_SPEED = 2.208  # m/s, see mujoco_dominoes.py
DOMINO_SETTINGS = {"dt": 1.0 / 120.0}


def lean(side: float, middle: float, base: float, friction: float) -> BodySpec:
    """A card that leans inwards and touches the plane x = middle: the left one of a tent for the side -1.

    Its lower edge stands at the height ``base``.
    """
    reach = 0.5 * (CARD_LENGTH * math.sin(LEAN) + CARD_THICKNESS * math.cos(LEAN))
    rise = 0.5 * tent_height()
    turned = axis_angle((0.0, 1.0, 0.0), -side * LEAN)
    return replace(CARD, position=(middle + side * reach, 0.0, base + rise), rotation=turned, friction=friction)


def tent(middle: float, base: float, friction: float) -> list[BodySpec]:
    """Two cards that lean against each other."""
    return [lean(side, middle, base, friction) for side in (-1.0, 1.0)]


def tent_height() -> float:
    """Height of a tent, m."""
    return CARD_LENGTH * math.cos(LEAN) + CARD_THICKNESS * math.sin(LEAN)


def card_house(friction: float) -> Scene:
    """Two tents, a roof, and a tent on it: seven cards."""
    half_base = CARD_LENGTH * math.sin(LEAN) + CARD_THICKNESS + 0.01
    height = tent_height()
    roof = replace(
        CARD,
        position=(0.0, 0.0, height + 0.5 * CARD_THICKNESS),
        rotation=axis_angle((0.0, 1.0, 0.0), 0.5 * math.pi),
        friction=friction,
    )
    cards = [*tent(-half_base, 0.0, friction), *tent(half_base, 0.0, friction), roof]
    return Scene([floor(friction), *cards, *tent(0.0, height + CARD_THICKNESS, friction)])


def pyramid() -> Scene:
    """Boxes of 1 m in rows of 5, 4, 3, 2 and 1, with gaps of 2 cm in a row."""
    boxes = [
        BodySpec(position=((i - 0.5 * (count - 1)) * 1.02, 0.0, 0.5 + level))
        for level, count in enumerate((5, 4, 3, 2, 1))
        for i in range(count)
    ]
    return Scene([floor(), *boxes])


def largest_shift(motions: list[Motion]) -> float:
    """How far any centre is from its start at the end, m."""
    position = motions[0].position
    return float(np.linalg.norm(position[-1, 1:] - position[0, 1:], axis=1).max())


def late_shift(motions: list[Motion]) -> float:
    """How far any centre moved in the last half of the time, m: the stack has settled."""
    position = motions[0].position
    return float(np.linalg.norm(position[-1, 1:] - position[len(position) // 2, 1:], axis=1).max())


def collapsed(motion: Motion) -> bool:
    return bool(motion.position[-1, 1:, 2].max() < 0.6 * motion.position[0, 1:, 2].max())


def dominoes() -> Scene:
    """Ten dominoes along x, of which the first begins to fall."""
    thick, _wide, tall = DOMINO
    stones = []
    for i in range(10):
        stone = BodySpec(size=DOMINO, position=(i * DOMINO_PITCH, 0.0, tall), mass=1.0, friction=DOMINO_FRICTION)
        if i == 0:  # turned about its lower front edge
            turned = axis_angle((0.0, 1.0, 0.0), DOMINO_START)
            place = np.array((thick, 0.0, 0.0)) + rotated(turned, (-thick, 0.0, tall))
            stone = replace(stone, position=tuple(place.tolist()), rotation=turned)
        stones.append(stone)
    return Scene([floor(DOMINO_FRICTION), *stones])


def fall_times(motion: Motion) -> np.ndarray:
    """When each domino has tilted by DOMINO_FALLEN, s; infinite for those that stand."""
    axes = rotated(motion.rotation[:, 1:], (0.0, 0.0, 1.0))
    fallen = np.arccos(np.clip(axes[..., 2], -1.0, 1.0)) > DOMINO_FALLEN
    return np.where(fallen.any(axis=0), fallen.argmax(axis=0) * motion.dt, math.inf)


def in_order(motions: list[Motion]) -> float:
    """The number of dominoes that fall, each after the one before."""
    times = fall_times(motions[0])
    falls = np.isfinite(times) & np.concatenate([[True], np.diff(times) > 0.0])
    return float(falls.argmin() if not falls.all() else len(falls))


def front_speed(motions: list[Motion]) -> float:
    """Speed from the fourth domino to the last, m/s."""
    times = fall_times(motions[0])
    return float(6.0 * DOMINO_PITCH / (times[9] - times[3]))


def scenarios() -> list[Scenario]:
    frictions = np.arange(0.06, 0.40, 0.02)
    # Friction of a pair is the geometric mean: that of the cards is 1, so that their tops do not slip.
    leaning = [Scene([floor(friction**2), *tent(0.0, 0.0, 1.0)]) for friction in frictions]
    house, boxes, row = [card_house(0.7)], [pyramid()], [dominoes()]
    least = 0.5 * (math.tan(LEAN) - CARD_THICKNESS / CARD_LENGTH)
    return [
        Scenario(GROUP, "two cards at 20° stand: least friction of the floor", leaning, 3.0,
                 threshold(frictions.tolist(), lambda motion: not collapsed(motion)),
                 least, 0.03, "", "(tan θ - t / l) / 2"),
        Scenario(GROUP, "house of 7 cards, 20 s: largest shift", house, 20.0, largest_shift,
                 0.0, 0.02, "m", "stands"),
        Scenario(GROUP, "house of 7 cards: shift from 10 to 20 s", house, 20.0, late_shift,
                 0.0, 0.002, "m", "stands"),
        Scenario(GROUP, "pyramid of 15 boxes, 20 s: largest shift", boxes, 20.0, largest_shift,
                 0.0, 0.02, "m", "stands"),
        Scenario(GROUP, "pyramid of 15 boxes: shift from 10 to 20 s", boxes, 20.0, late_shift,
                 0.0, 0.001, "m", "stands"),
        Scenario(GROUP, "10 dominoes: fall in order", row, 4.0, in_order, 10.0, 0.0, "", "all", DOMINO_SETTINGS),
        Scenario(GROUP, "10 dominoes: speed of the front", row, 4.0, front_speed, DOMINO_SPEED,
                 0.05 * DOMINO_SPEED, "m/s", "MuJoCo 3.17, steps of 0.1 ms", DOMINO_SETTINGS),
    ]  # fmt: skip
