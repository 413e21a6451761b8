"""Contacts under load: heavy bodies on light ones, a grip, thin plates."""

from __future__ import annotations

import math

from physics_lab.scenario import Scenario, floor
from physics_lab.world import BodySpec, JointSpec, Motion, Scene
from worldloom import physics

GROUP = "Load"
RATIOS = (100, 300, 1000)
PLATE = 0.005  # m, thickness of each of ten
BLOCK, GRIP = 0.07, 30.0  # m, N


def heavy_on_light(ratio: float) -> Scene:
    """A cube of 0.5 m on one of 1 kg."""
    cubes = [(1.0, 0.25), (float(ratio), 0.75)]
    return Scene(
        [floor(), *(BodySpec(size=(0.25, 0.25, 0.25), position=(0.0, 0.0, z), mass=mass) for mass, z in cubes)]
    )


def height(body: int):
    """The height of a body at the end, m."""
    return lambda motions: float(motions[0].position[-1, body, 2])


def grip() -> Scene:
    """Two fingers of 0.5 kg on sliders press a block of 65 g with 30 N each, in the air."""
    frame = BodySpec(size=(0.01, 0.01, 0.01), position=(0.0, 1.0, 1.0), motion=physics.STATIC)
    block = BodySpec(size=(0.5 * BLOCK, 0.02, 0.02), position=(0.0, 0.0, 1.0), mass=0.065, friction=0.8)
    place = 0.5 * BLOCK + 0.01
    fingers = [
        BodySpec(size=(0.01, 0.02, 0.02), position=(side * place, 0.0, 1.0), mass=0.5, friction=0.8)
        for side in (-1.0, 1.0)
    ]
    joints = [
        JointSpec(
            physics.SLIDER, 0, row, (side * place, -1.0, 0.0), axis=(1.0, 0.0, 0.0), motor_speed=-side, motor_force=GRIP
        )
        for row, side in ((2, -1.0), (3, 1.0))
    ]
    return Scene([frame, block, *fingers], joints)


def opening(motions: list[Motion]) -> float:
    """Distance between the inner faces of the fingers, m."""
    x = motions[0].position[-1, :, 0]
    return float(x[3] - x[2] - 0.02)


def plates() -> Scene:
    stack = [BodySpec(size=(0.5, 0.5, 0.5 * PLATE), position=(0.0, 0.0, (i + 0.5) * PLATE)) for i in range(10)]
    return Scene([floor(), *stack])


def scenarios() -> list[Scenario]:
    rows = [
        Scenario(GROUP, f"1 : {ratio:,} kg, cubes of 0.5 m: height of the upper one", [heavy_on_light(ratio)],
                 10.0, height(2), 0.75, 0.002, "m", "geometry", settings)
        for settings in ({}, HEAVY_SETTINGS) for ratio in RATIOS
    ]  # fmt: skip
    rows += [
        Scenario(GROUP, "30 N grip on 65 g: opening", [grip()], 3.0, opening, BLOCK, 0.002, "m", "width of the block",
                 settings)
        for settings in ({}, HEAVY_SETTINGS)
    ]  # fmt: skip
    for settings in ({"max_depth": 1e30}, PLATE_SETTINGS):  # else, these plates are a fault with the defaults
        rows.append(Scenario(GROUP, "ten plates of 5 mm: height of the top", [plates()], 5.0, height(10), 9.5 * PLATE,
                             math.inf, "m", "geometry", settings))  # fmt: skip
    return rows


HEAVY_SETTINGS = {"contact_frequency": 120.0, "substeps": 16}
PLATE_SETTINGS = {"contact_frequency": 120.0, "substeps": 16}
