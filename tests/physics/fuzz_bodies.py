"""Random worlds of extreme bodies, some with a number that is not finite: what spreads, and which faults are named.

    python tests/physics/fuzz_bodies.py --worlds 10000 --device cuda:0

Bodies have masses of 1e-6 to 1e6 kg, sizes of 1 mm to 100 m and speeds up to 1e4 m/s and 1e4 rad/s, overlap at the
start, and are joined at random. Two simulations run the same worlds; one gets NaN or infinity in some of them.
"""

import argparse
import math
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from physics_scenes import FLOOR, HULLS, MAX_JOINTS, BodySpec, JointSpec, Thing, simulate

import worldloom as wl
from worldloom import physics

STATE = ("position", "rotation", "velocity", "spin")
TARGETS = (*STATE, "force", "torque", "size", "mass", "inertia", "friction", "density")
VALUES = (np.nan, np.inf, -np.inf)


@dataclass(frozen=True)
class Report:
    """What a run found.

    Attributes:
        injected: worlds that got a number that is not finite.
        unnoticed: those of them in which a component of the state got it and that did not end their episode.
        changed: other worlds that differ from the run without injection.
        not_finite: worlds whose bodies were not finite after a step.
        overflown: worlds that ended with a fault without an injection: numbers beyond the range of float32.
        faults: faults by message, without numbers; at most 256 of a step are kept.
    """

    injected: set[int]
    unnoticed: set[int]
    changed: set[int]
    not_finite: set[int]
    overflown: set[int]
    faults: Counter


def between(generator: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform between powers of ten."""
    return float(10.0 ** generator.uniform(low, high))


def volume_of(shape: int, size: tuple[float, float, float]) -> float:
    """m³, of a shape that is no hull."""
    x, y, z = size
    if shape in (physics.SPHERE, physics.CAPSULE):
        return math.pi * x * x * (4.0 / 3.0 * x + (2.0 * y if shape == physics.CAPSULE else 0.0))
    return 8.0 * x * y * z * (0.5 if shape == physics.WEDGE else 1.0)


def random_body(generator: np.random.Generator) -> BodySpec:
    shape, hull = int(generator.integers(physics.SPHERE, physics.HULL + 1)), int(generator.integers(4))
    size = tuple(between(generator, -3, 2) for _ in range(3))
    volume = float(HULLS.volume[hull]) if shape == physics.HULL else volume_of(shape, size)
    rotation = generator.normal(size=4)
    return BodySpec(
        shape,
        size,
        tuple(generator.normal(size=3) * between(generator, -3, 1)),
        tuple(rotation / np.linalg.norm(rotation)),
        tuple(generator.normal(size=3) * between(generator, -3, 4)),
        tuple(generator.normal(size=3) * between(generator, -3, 4)),
        motion=int(generator.choice([physics.STATIC, physics.KINEMATIC, *[physics.DYNAMIC] * 4])),
        hull=hull,
        density=between(generator, -6, 6) / volume,
        friction=between(generator, -3, 2),
        restitution=float(generator.uniform()),
    )


def random_joint(generator: np.random.Generator) -> JointSpec:
    axis = generator.normal(size=3)
    anchors = [tuple(generator.normal(size=3) * between(generator, -2, 1)) for _ in range(2)]
    limits = np.sort(generator.normal(size=2))
    motor = {"motor_speed": between(generator, -2, 3), "motor_force": between(generator, -3, 5)}
    axis = tuple(axis / np.linalg.norm(axis))
    return JointSpec(int(generator.integers(5)), 0, 1, *anchors, axis=axis, lower=limits[0], upper=limits[1], **motor)


def fuzzed(worlds: int, seed: int, *devices: str) -> list[wl.Simulation]:
    """A simulation of the same random worlds on each device."""
    generator = np.random.default_rng(seed)
    floor = [FLOOR]
    scenes = [
        floor * int(generator.integers(2)) + [random_body(generator) for _ in range(generator.integers(2, 8))]
        for _ in range(worlds)
    ]
    joints = [random_joint(generator) for _ in range(worlds)]
    joined = generator.integers(0, 2, worlds).astype(np.int32)
    simulations = [simulate(*scenes, device=device) for device in devices]
    for sim in simulations:
        sim.set_config("joints", joined)
        sim.set_config("joint_kinds", np.array([[(j.kind, j.a, j.b)] * MAX_JOINTS for j in joints], np.int32))
        sim.set_config("joint_values", np.array([[j.numbers()] * MAX_JOINTS for j in joints], np.float32))
        sim.reset()
    return simulations


def inject(sim: wl.Simulation, generator: np.random.Generator, worlds: int) -> dict[int, str]:
    """A number that is not finite in one component of one body of some worlds: the components by world.

    Velocities of static bodies are left out, since a step clears them.
    """
    chosen = {}
    motion = sim[Thing].padded("motion").cpu().numpy()
    for world in generator.choice(worlds, max(worlds // 10, 1), replace=False):
        name = str(generator.choice(TARGETS))
        if name in ("velocity", "spin") and motion[world, 1] == physics.STATIC:
            name = "position"
        sim[Thing][name].torch()[int(world), 1] = float(generator.choice(VALUES))
        chosen[int(world)] = name
    return chosen


def live_rows(sim: wl.Simulation) -> list[np.ndarray]:
    """Numbers of the state of all bodies, zeros in empty rows, each of shape (worlds, bodies, numbers)."""
    return [sim[Thing].padded(name).cpu().numpy() for name in STATE]


def run(worlds: int, steps: int, seed: int = 0, device: str = "cpu") -> Report:
    """Compare worlds with and without an injection."""
    plain, broken = fuzzed(worlds, seed, device, device)
    generator = np.random.default_rng(seed + 1)
    injected: dict[int, str] = {}
    not_finite, changed, unnoticed, overflown = set[int](), set[int](), set[int](), set[int]()
    faults: Counter = Counter()
    for step in range(steps):
        if step == steps // 2:
            injected = inject(broken, generator, worlds)
        plain.step()
        broken.step()
        overflown |= set(np.flatnonzero(plain.truncated.numpy()).tolist())
        if step == steps // 2:
            ended = broken.truncated.numpy()
            unnoticed = {world for world, name in injected.items() if name in STATE and not ended[world]}
        faults.update(re.sub(r"\d+", "#", fault.message) for fault in broken.errors())
        for state, other in zip(live_rows(broken), live_rows(plain), strict=True):
            not_finite |= set(np.flatnonzero(~np.isfinite(state).all(axis=(1, 2))).tolist())
            differs = (state.view(np.int32) != other.view(np.int32)).any(axis=(1, 2))
            changed |= set(np.flatnonzero(differs).tolist())
    return Report(set(injected), unnoticed, changed - set(injected), not_finite, overflown, faults)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    report = run(**vars(parser.parse_args()))
    print(f"{len(report.injected)} worlds injected, {len(report.unnoticed)} without a fault")
    print(f"{len(report.changed)} other worlds changed, {len(report.not_finite)} not finite after a step")
    print(f"{len(report.overflown)} worlds ended with a fault of their own: their bodies are too extreme for float32")
    for message, number in report.faults.most_common():
        print(f"{number:8} {message}")
    raise SystemExit(bool(report.unnoticed or report.changed or report.not_finite))
