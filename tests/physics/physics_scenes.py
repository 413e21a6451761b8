"""A world whose bodies come from arrays, so that all tests of physics share one compiled program."""

from dataclasses import dataclass, replace

import numpy as np

import worldloom as wl
from worldloom import physics

MAX_BODIES = 12
MAX_JOINTS = 4
CUBE = np.array([[x, y, z] for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.2, 0.0], [0.2, 0.1, 0.9]])
OCTAHEDRON = np.array([[0.6, 0, 0], [-0.6, 0, 0], [0, 0.5, 0], [0, -0.5, 0], [0, 0, 0.4], [0, 0, -0.4]])
RANDOM_POINTS = np.random.default_rng(3).normal(size=(8, 3))
RANDOM_HULL = 0.6 * RANDOM_POINTS / np.linalg.norm(RANDOM_POINTS, axis=1, keepdims=True)
HULLS = physics.hull_table(CUBE, TETRAHEDRON, OCTAHEDRON, RANDOM_HULL)
HULL_POINTS = [CUBE, TETRAHEDRON, OCTAHEDRON, RANDOM_HULL]


class Thing(physics.Body):
    pass


class Scene(physics.World):
    bodies: wl.Config = 0
    kinds: wl.Config = np.zeros((MAX_BODIES, 3), np.int32)  # shape, motion, hull
    values: wl.Config = np.zeros((MAX_BODIES, 20), np.float32)  # position, rotation, velocity, spin, size, 4 numbers
    joints: wl.Config = 0
    joint_kinds: wl.Config = np.zeros((MAX_JOINTS, 3), np.int32)  # kind, rows of the bodies
    joint_values: wl.Config = np.zeros((MAX_JOINTS, 17), np.float32)  # anchors, rotation, axis, limits, motor
    hull_vertices: wl.Config = HULLS.vertices
    hull_faces: wl.Config = HULLS.faces
    hull_edges: wl.Config = HULLS.edges
    hull_counts: wl.Config = HULLS.counts
    hull_volume: wl.Config = HULLS.volume
    hull_inertia: wl.Config = HULLS.inertia


@wl.function
def triple(x: float, y: float, z: float) -> wl.vec3:
    return wl.vec3(x, y, z)


@wl.system
def place(world: Scene):
    for i in range(world.bodies):
        world.spawn(
            Thing,
            shape=world.kinds[i, 0],
            motion=world.kinds[i, 1],
            hull=world.kinds[i, 2],
            position=triple(world.values[i, 0], world.values[i, 1], world.values[i, 2]),
            rotation=wl.quat(world.values[i, 3], world.values[i, 4], world.values[i, 5], world.values[i, 6]),
            velocity=triple(world.values[i, 7], world.values[i, 8], world.values[i, 9]),
            spin=triple(world.values[i, 10], world.values[i, 11], world.values[i, 12]),
            size=triple(world.values[i, 13], world.values[i, 14], world.values[i, 15]),
            density=world.values[i, 16],
            friction=world.values[i, 17],
            restitution=world.values[i, 18],
        )


SOLID = physics.systems(Scene, Thing)


@wl.system
def connect(world: Scene):
    for i in range(world.joints):
        world.spawn(
            SOLID.Joint,
            kind=world.joint_kinds[i, 0],
            a=world.at(Thing, world.joint_kinds[i, 1]).ref,
            b=world.at(Thing, world.joint_kinds[i, 2]).ref,
            anchor_a=triple(world.joint_values[i, 0], world.joint_values[i, 1], world.joint_values[i, 2]),
            anchor_b=triple(world.joint_values[i, 3], world.joint_values[i, 4], world.joint_values[i, 5]),
            rotation=wl.quat(
                world.joint_values[i, 6], world.joint_values[i, 7], world.joint_values[i, 8], world.joint_values[i, 9]
            ),
            axis=triple(world.joint_values[i, 10], world.joint_values[i, 11], world.joint_values[i, 12]),
            lower=world.joint_values[i, 13],
            upper=world.joint_values[i, 14],
            motor_speed=world.joint_values[i, 15],
            motor_force=world.joint_values[i, 16],
        )


KINDS = {Thing: wl.UpTo(MAX_BODIES), **SOLID.entities(pairs=66, contacts=66, joints=MAX_JOINTS)}
SCENE = wl.register("PhysicsScene-v0", world=Scene, entities=KINDS, reset=[place, connect], step=SOLID.step)
DETECTION = wl.register("PhysicsDetection-v0", world=Scene, entities=KINDS, reset=[place], step=SOLID.detection)


@dataclass(frozen=True)
class BodySpec:
    """The initial state of one body of a scene."""

    shape: int = physics.BOX
    size: tuple[float, float, float] = (0.5, 0.5, 0.5)
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    motion: int = physics.DYNAMIC
    hull: int = 0
    density: float = 1000.0
    friction: float = 0.5
    restitution: float = 0.0

    def kinds(self) -> tuple[int, ...]:
        return self.shape, self.motion, self.hull

    def numbers(self) -> tuple[float, ...]:
        state = (*self.position, *self.rotation, *self.velocity, *self.spin, *self.size)
        return (*state, self.density, self.friction, self.restitution, 0.0)

    def at(self, *position: float) -> "BodySpec":
        return replace(self, position=position)


@dataclass(frozen=True)
class JointSpec:
    """A joint between two bodies of a scene, by their rows."""

    kind: int
    a: int
    b: int
    anchor_a: tuple[float, float, float] = (0.0, 0.0, 0.0)
    anchor_b: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    lower: float = -1e30
    upper: float = 1e30
    motor_speed: float = 0.0
    motor_force: float = 0.0

    def numbers(self) -> tuple[float, ...]:
        frames = (*self.anchor_a, *self.anchor_b, *self.rotation, *self.axis)
        return (*frames, self.lower, self.upper, self.motor_speed, self.motor_force)


def simulate(
    *scenes: list[BodySpec],
    joints: tuple[JointSpec, ...] = (),
    world: str = "PhysicsScene-v0",
    device: str = "cpu",
    exact: bool = False,
    **config,
) -> wl.Simulation:
    """A simulation with one world per list of bodies, and the same joints in all of them."""
    sim = wl.Simulation(world, num_worlds=len(scenes), device=device, seed=0, exact=exact)
    kinds = np.zeros((len(scenes), MAX_BODIES, 3), np.int32)
    values = np.zeros((len(scenes), MAX_BODIES, 20), np.float32)
    for i, scene in enumerate(scenes):
        kinds[i, : len(scene)] = [body.kinds() for body in scene]
        values[i, : len(scene)] = [body.numbers() for body in scene]
    sim.set_config("bodies", np.array([len(scene) for scene in scenes], np.int32))
    sim.set_config("kinds", kinds)
    sim.set_config("values", values)
    if joints:
        joint_kinds = np.zeros((MAX_JOINTS, 3), np.int32)
        joint_values = np.zeros((MAX_JOINTS, 17), np.float32)
        joint_kinds[: len(joints)] = [(joint.kind, joint.a, joint.b) for joint in joints]
        joint_values[: len(joints)] = [joint.numbers() for joint in joints]
        sim.set_config("joints", len(joints))
        sim.set_config("joint_kinds", joint_kinds)
        sim.set_config("joint_values", joint_values)
    for name, value in config.items():
        sim.set_config(name, value)
    sim.reset()
    return sim


def axis_angle(axis: tuple[float, float, float], angle: float) -> tuple[float, float, float, float]:
    """A quaternion (x, y, z, w)."""
    x, y, z = np.sin(0.5 * angle) * np.asarray(axis, float) / np.linalg.norm(axis)
    return float(x), float(y), float(z), float(np.cos(0.5 * angle))


def matrix(rotation: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions (..., 4), float64."""
    x, y, z, w = np.moveaxis(np.asarray(rotation, np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


FLOOR = BodySpec(physics.PLANE, motion=physics.STATIC)
