"""One world whose bodies and joints are configuration: every scene runs in the same compiled program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import worldloom as wl
from worldloom import physics

MAX_BODIES, MAX_JOINTS = 20, 8
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
STILL: Quaternion = (0.0, 0.0, 0.0, 1.0)


class Part(physics.Body):
    push: wl.vec3  # N, constant force on the centre
    turn: wl.vec3  # N m, constant torque


class Lab(physics.World):
    num_bodies: wl.Config = 0
    num_joints: wl.Config = 0
    body_kinds: wl.Config = np.zeros((MAX_BODIES, 2), np.int32)  # shape, motion
    # position 3, rotation 4, velocity 3, spin 3, size 3, mass, inertia 3, friction, restitution, force 3, torque 3
    body_values: wl.Config = np.zeros((MAX_BODIES, 28), np.float32)
    joint_kinds: wl.Config = np.zeros((MAX_JOINTS, 3), np.int32)  # kind, bodies A and B
    # anchors 6, rotation 4, axis 3, limits 2, motor speed and force
    joint_values: wl.Config = np.zeros((MAX_JOINTS, 17), np.float32)


SHAPES = (physics.PLANE, physics.SPHERE, physics.CAPSULE, physics.BOX, physics.WEDGE)
SOLID = physics.systems(Lab, Part, SHAPES, mapping="worlds")


@wl.system
def build(world: Lab):
    for i in range(world.num_bodies):
        world.spawn(
            Part,
            shape=world.body_kinds[i, 0],
            motion=world.body_kinds[i, 1],
            position=wl.vec3(world.body_values[i, 0], world.body_values[i, 1], world.body_values[i, 2]),
            rotation=wl.quat(
                world.body_values[i, 3], world.body_values[i, 4], world.body_values[i, 5], world.body_values[i, 6]
            ),
            velocity=wl.vec3(world.body_values[i, 7], world.body_values[i, 8], world.body_values[i, 9]),
            spin=wl.vec3(world.body_values[i, 10], world.body_values[i, 11], world.body_values[i, 12]),
            size=wl.vec3(world.body_values[i, 13], world.body_values[i, 14], world.body_values[i, 15]),
            mass=world.body_values[i, 16],
            inertia=wl.mat33(
                world.body_values[i, 17], 0.0, 0.0,
                0.0, world.body_values[i, 18], 0.0,
                0.0, 0.0, world.body_values[i, 19],
            ),
            friction=world.body_values[i, 20],
            restitution=world.body_values[i, 21],
            push=wl.vec3(world.body_values[i, 22], world.body_values[i, 23], world.body_values[i, 24]),
            turn=wl.vec3(world.body_values[i, 25], world.body_values[i, 26], world.body_values[i, 27]),
        )  # fmt: skip


@wl.system
def connect(world: Lab):
    for i in range(world.num_joints):
        world.spawn(
            SOLID.Joint,
            kind=world.joint_kinds[i, 0],
            a=world.at(Part, world.joint_kinds[i, 1]).ref,
            b=world.at(Part, world.joint_kinds[i, 2]).ref,
            anchor_a=wl.vec3(world.joint_values[i, 0], world.joint_values[i, 1], world.joint_values[i, 2]),
            anchor_b=wl.vec3(world.joint_values[i, 3], world.joint_values[i, 4], world.joint_values[i, 5]),
            rotation=wl.quat(
                world.joint_values[i, 6], world.joint_values[i, 7], world.joint_values[i, 8], world.joint_values[i, 9]
            ),
            axis=wl.vec3(world.joint_values[i, 10], world.joint_values[i, 11], world.joint_values[i, 12]),
            lower=world.joint_values[i, 13],
            upper=world.joint_values[i, 14],
            motor_speed=world.joint_values[i, 15],
            motor_force=world.joint_values[i, 16],
        )


@wl.system
def push(part: Part):
    part.force = part.push
    part.torque = part.turn


LAB = wl.Definition(
    "PhysicsLab-v0",
    world=Lab,
    entities={Part: wl.UpTo(MAX_BODIES), **SOLID.entities(pairs=120, contacts=80, joints=MAX_JOINTS)},
    reset=[build, connect],
    step=[push, *SOLID.step],
)


@dataclass(frozen=True)
class BodySpec:
    """The start of a body. A mass of 0 is computed with 1000 kg/m³, an inertia of 0 from mass and shape."""

    shape: int = physics.BOX
    size: Vector = (0.5, 0.5, 0.5)
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = STILL
    velocity: Vector = (0.0, 0.0, 0.0)
    spin: Vector = (0.0, 0.0, 0.0)
    motion: int = physics.DYNAMIC
    mass: float = 0.0
    inertia: Vector = (0.0, 0.0, 0.0)
    friction: float = 0.5
    restitution: float = 0.0
    force: Vector = (0.0, 0.0, 0.0)
    torque: Vector = (0.0, 0.0, 0.0)

    def numbers(self) -> tuple[float, ...]:
        state = (*self.position, *self.rotation, *self.velocity, *self.spin, *self.size, self.mass, *self.inertia)
        return (*state, self.friction, self.restitution, *self.force, *self.torque)


@dataclass(frozen=True)
class JointSpec:
    """A joint between two bodies, by their numbers in the scene."""

    kind: int
    a: int
    b: int
    anchor_a: Vector = (0.0, 0.0, 0.0)
    anchor_b: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = STILL
    axis: Vector = (0.0, 0.0, 1.0)
    lower: float = -1e30
    upper: float = 1e30
    motor_speed: float = 0.0
    motor_force: float = 0.0

    def numbers(self) -> tuple[float, ...]:
        limits = (self.lower, self.upper, self.motor_speed, self.motor_force)
        return (*self.anchor_a, *self.anchor_b, *self.rotation, *self.axis, *limits)


@dataclass(frozen=True)
class Scene:
    """Bodies and joints of a world."""

    bodies: Sequence[BodySpec]
    joints: Sequence[JointSpec] = ()


@dataclass
class Motion:
    """What happened in a world: states after every step, and at the start, float64.

    Attributes:
        dt: s, of a step.
        position, velocity, spin: shape (steps + 1, bodies, 3).
        rotation: quaternions (x, y, z, w), shape (steps + 1, bodies, 4).
        mass, inertia: at the end, shapes (bodies,) and (bodies, 3).
        faults: what the simulation reported.
    """

    dt: float
    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    faults: list[str] = field(default_factory=list)

    @property
    def times(self) -> np.ndarray:
        """The time of every state, s."""
        return self.dt * np.arange(len(self.position))


def axis_angle(axis: Vector, angle: float) -> Quaternion:
    """The rotation about an axis of any length."""
    x, y, z = math.sin(0.5 * angle) * np.asarray(axis, float) / np.linalg.norm(axis)
    return float(x), float(y), float(z), math.cos(0.5 * angle)


def rotated(rotation: np.ndarray | Quaternion, vector: np.ndarray | Vector) -> np.ndarray:
    """Vectors (..., 3) turned by quaternions (..., 4)."""
    q, v = np.asarray(rotation, float), np.asarray(vector, float)
    u, w = q[..., :3], q[..., 3:]
    return v + 2.0 * np.cross(u, np.cross(u, v) + w * v)


def inverse(rotation: np.ndarray) -> np.ndarray:
    """The inverse rotations, quaternions (..., 4)."""
    return rotation * np.array([-1.0, -1.0, -1.0, 1.0])


def simulate(scenes: Sequence[Scene], configs: Sequence[dict[str, Any]], steps: int, device: str) -> list[Motion]:
    """Run one world per scene for a number of steps, each with its configuration."""
    worlds, most = len(scenes), max(len(scene.bodies) for scene in scenes)
    kinds, values = np.zeros((worlds, MAX_BODIES, 2), np.int32), np.zeros((worlds, MAX_BODIES, 28), np.float32)
    joint_kinds = np.zeros((worlds, MAX_JOINTS, 3), np.int32)
    joint_values = np.zeros((worlds, MAX_JOINTS, 17), np.float32)
    for i, scene in enumerate(scenes):
        kinds[i, : len(scene.bodies)] = [(body.shape, body.motion) for body in scene.bodies]
        values[i, : len(scene.bodies)] = [body.numbers() for body in scene.bodies]
        if scene.joints:
            joint_kinds[i, : len(scene.joints)] = [(joint.kind, joint.a, joint.b) for joint in scene.joints]
            joint_values[i, : len(scene.joints)] = [joint.numbers() for joint in scene.joints]
    arrays = {"body_kinds": kinds, "body_values": values, "joint_kinds": joint_kinds, "joint_values": joint_values}
    numbers = {
        "num_bodies": [len(scene.bodies) for scene in scenes],
        "num_joints": [len(scene.joints) for scene in scenes],
    }
    options: dict[str, Any] = {"threads": 1} if device == "cpu" else {}
    with wl.Simulation(LAB, num_worlds=worlds, device=device, seed=0, **options) as sim:
        for name, array in arrays.items():
            sim.set_config(name, array)
        for name, counts in numbers.items():
            sim.set_config(name, np.array(counts, np.int32))
        used = {name for config in configs for name in config}
        for name in sorted(used, key=lambda name: name not in ("dt", "substeps")):  # frequencies depend on these
            default = Lab.fields[name].default
            chosen = [config.get(name, default) for config in configs]
            sim.set_config(name, np.array([np.asarray(value, np.asarray(default).dtype) for value in chosen]))
        sim.reset()
        table = sim[Part]
        states = {name: np.empty((steps + 1, worlds, most, width)) for name, width in STATE.items()}
        for step in range(steps + 1):
            if step > 0:
                sim.step()
            for name, state in states.items():
                state[step] = table[name].numpy()[:, :most]
        mass = table.mass.numpy().astype(float)
        inertia = np.diagonal(table.inertia.numpy(), axis1=2, axis2=3).astype(float)
        faults = [str(error) for error in sim.errors()]
    motions = []
    for i, (scene, config) in enumerate(zip(scenes, configs, strict=True)):
        count = len(scene.bodies)
        own = {name: state[:, i, :count] for name, state in states.items()}
        motions.append(Motion(config.get("dt", 1.0 / 30.0), **own, mass=mass[i, :count], inertia=inertia[i, :count]))
        motions[-1].faults = [fault for fault in faults if f"world {i}," in fault]
    return motions


STATE = {"position": 3, "rotation": 4, "velocity": 3, "spin": 3}
