"""Rolling, sliding and tipping on planes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from physics_lab.scenario import G, Measure, Scenario, floor, threshold
from physics_lab.world import BodySpec, Motion, Scene, axis_angle, rotated
from worldloom import physics

GROUP = "Rolling, sliding, tipping"
SLOPE = math.radians(20.0)
BALL, RADIUS, HALF_LENGTH = 0.2, 0.2, 0.4  # m: radius of balls, radius and half length of the capsule


def capsule_factor() -> float:
    """I / (m r²) of a solid capsule about its axis."""
    cylinder, ball = 2.0 * HALF_LENGTH * RADIUS**2, 4.0 / 3.0 * RADIUS**3
    return (0.5 * cylinder + 0.4 * ball) / (cylinder + ball)


def incline(angle: float, body: BodySpec, friction: float) -> Scene:
    """A body on a plane that falls along x, with its centre above the origin by size.z, or by its radius."""
    tilt = axis_angle((0.0, 1.0, 0.0), angle)
    height = body.size[2] if body.shape == physics.BOX else body.size[0]
    place = tuple(rotated(tilt, (0.0, 0.0, height)).tolist())
    turned = body.rotation if body.shape == physics.CAPSULE else tilt
    plane = replace(floor(friction), rotation=tilt)
    return Scene([plane, replace(body, position=place, rotation=turned, friction=friction)])  # type: ignore[arg-type]


def acceleration(angle: float) -> Measure:
    """Speed along the slope at the end, per second."""

    def measure(motions: list[Motion]) -> float:
        motion = motions[0]
        down = rotated(axis_angle((0.0, 1.0, 0.0), angle), (1.0, 0.0, 0.0))
        return float(motion.velocity[-1, 1] @ down / motion.times[-1])

    return measure


def tilt_of(motion: Motion, body: int = 1) -> float:
    """The angle between the vertical axes of a body at the start and at the end, rad."""
    start, end = (rotated(motion.rotation[step, body], (0.0, 0.0, 1.0)) for step in (0, -1))
    return math.acos(min(1.0, float(start @ end)))


def stop_distance(motions: list[Motion]) -> float:
    return float(motions[0].position[-1, 1, 0] - motions[0].position[0, 1, 0])


def forward_speed(motions: list[Motion]) -> float:
    return float(motions[0].velocity[-1, 1, 0])


def scenarios() -> list[Scenario]:
    ball = BodySpec(physics.SPHERE, (BALL, 0.0, 0.0), mass=1.0)
    across = axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi)  # the axis of the capsule along y
    capsule = BodySpec(physics.CAPSULE, (RADIUS, HALF_LENGTH, 0.0), rotation=across, mass=1.0)
    box = BodySpec(size=(0.3, 0.3, 0.2), mass=3.0)
    slide = [floor(0.4), replace(box, position=(0.0, 0.0, 0.2), velocity=(4.0, 0.0, 0.0), friction=0.4)]
    skid = [floor(0.3), replace(ball, position=(0.0, 0.0, BALL), velocity=(5.0, 0.0, 0.0), friction=0.3)]
    fall = G * math.sin(SLOPE)
    angles = [math.radians(angle) for angle in np.arange(20.5, 23.2, 0.2)]
    tall = BodySpec(size=(0.2, 0.2, 0.5), mass=4.0)  # w / h = 0.4
    heights = np.arange(0.56, 0.78, 0.02)
    weight = 10.0 * G
    pushed = [
        Scene(
            [
                floor(0.3),
                BodySpec(
                    size=(0.25, 0.25, 0.5),
                    position=(0.0, 0.0, 0.5),
                    mass=10.0,
                    friction=0.3,
                    force=(0.6 * weight, 0.0, 0.0),
                    torque=(0.0, 0.6 * weight * (height - 0.5), 0.0),
                ),
            ]
        )
        for height in heights
    ]
    return [
        Scenario(GROUP, "ball rolls down 20°: acceleration", [incline(SLOPE, ball, 0.6)], 2.0, acceleration(SLOPE),
                 5.0 / 7.0 * fall, 0.01 * fall, "m/s²", "5/7 g sin θ"),
        Scenario(GROUP, "capsule rolls down 20°: acceleration", [incline(SLOPE, capsule, 0.6)], 2.0,
                 acceleration(SLOPE), fall / (1.0 + capsule_factor()), 0.01 * fall, "m/s²", "g sin θ / (1 + I / m r²)"),
        Scenario(GROUP, "box slides down 20°, μ 0.2: acceleration", [incline(SLOPE, box, 0.2)], 2.0,
                 acceleration(SLOPE), fall - 0.2 * G * math.cos(SLOPE), 0.01 * fall, "m/s²", "g (sin θ - μ cos θ)"),
        Scenario(GROUP, "box rests on 20°, μ 0.5: speed after 10 s", [incline(SLOPE, box, 0.5)], 10.0,
                 lambda motions: float(np.linalg.norm(motions[0].velocity[-1, 1])), 0.0, 1e-4, "m/s", "tan θ < μ"),
        Scenario(GROUP, "ball skids at 5 m/s, then rolls: speed", [Scene(skid)], 2.0, forward_speed,
                 5.0 / 7.0 * 5.0, 0.02, "m/s", "5/7 v"),
        Scenario(GROUP, "box stops from 4 m/s, μ 0.4: distance", [Scene(slide)], 2.0, stop_distance,
                 16.0 / (2.0 * 0.4 * G), 0.03, "m", "v² / (2 μ g)"),
        Scenario(GROUP, "box of w/h = 0.4 tips: angle of the plane",
                 [incline(angle, tall, 1.0) for angle in angles], 4.0,
                 threshold(np.degrees(angles).tolist(), lambda motion: tilt_of(motion) > 0.5),
                 math.degrees(math.atan(0.4)), 0.5, "°", "tan θ = w / h"),
        Scenario(GROUP, "sliding box tips: height of a force of 0.6 m g", pushed, 3.0,
                 threshold(heights.tolist(), lambda motion: tilt_of(motion) > 0.5),
                 0.5 + (0.25 - 0.3 * 0.5) / 0.6, 0.02, "m", "h / 2 + (w / 2 - μ h / 2) m g / F"),
    ]  # fmt: skip
