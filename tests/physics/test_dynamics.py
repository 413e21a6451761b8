"""Motion of bodies against exact values, with the settings that physics ships."""

import math
from dataclasses import replace

import numpy as np
import pytest
from physics_scenes import FLOOR, BodySpec, Thing, axis_angle, matrix, simulate

from worldloom import physics

G = 9.8
DT = 1.0 / 30.0
BOX = BodySpec(physics.BOX)


def run(sim, steps):
    for _ in range(steps):
        sim.step()
    assert sim.errors() == []
    return sim[Thing]


def incline(degrees, friction):
    """A box at rest on a plane that rises along x."""
    angle = math.radians(degrees)
    tilt = axis_angle((0.0, 1.0, 0.0), -angle)
    up = (-math.sin(angle), 0.0, math.cos(angle))
    box = BodySpec(physics.BOX, (0.5, 0.5, 0.25), tuple(0.25 * x for x in up), tilt, friction=friction)
    return [BodySpec(physics.PLANE, rotation=tilt, motion=physics.STATIC, friction=friction), box]


@pytest.mark.parametrize("friction", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("sleep_speed", [0.01, 0.0])
def test_boxes_slide_on_inclines_at_the_exact_speed_or_rest(friction, sleep_speed):
    """Without sleep too, which would hide creep below 1 cm/s."""
    degrees = np.arange(20, 41)
    sim = simulate(*(incline(int(angle), friction) for angle in degrees), sleep_speed=sleep_speed)
    bodies = run(sim, 30)
    start = bodies.position.numpy()[:, 1].copy()
    velocity = bodies.velocity.numpy()[:, 1].copy()
    angles = np.radians(degrees)
    exact = np.maximum(G * (np.sin(angles) - friction * np.cos(angles)), 0.0) * 30 * DT
    speed = np.linalg.norm(velocity, axis=1)
    slides = exact > 0.08  # 0.4 degrees above the friction angle
    steady = np.tan(angles) < friction
    assert np.abs(speed[slides] / exact[slides] - 1.0).max() < 0.02
    assert np.abs(speed - exact)[~slides].max(initial=0.0) < 5e-3
    bodies = run(sim, 30)
    creep = np.linalg.norm(bodies.position.numpy()[:, 1] - start, axis=1)
    assert creep[steady].max(initial=0.0) < 1e-3  # m in a second


def test_the_stopping_distance_is_that_of_coulomb_friction():
    speeds = np.array([1.0, 2.0, 4.0, 8.0])
    box = BodySpec(physics.BOX, (0.5, 0.5, 0.1), (0.0, 0.0, 0.1), friction=0.5)
    sim = simulate(*([FLOOR, BodySpec(**{**vars(box), "velocity": (v, 0.0, 0.0)})] for v in speeds))
    bodies = run(sim, 90)
    exact = speeds**2 / (2.0 * 0.5 * G)
    stopped = bodies.position.numpy()[:, 1, 0]
    assert np.abs(stopped + 0.5 * speeds * DT / 4 - exact).max() < 2e-3  # v h / 2 is the error of the substep
    assert np.abs(stopped[2:] / exact[2:] - 1.0).max() < 0.02
    assert np.abs(bodies.velocity.numpy()[:, 1]).max() < 1e-3


def test_free_fall_is_that_of_the_substeps():
    sim = simulate([BOX.at(0.0, 0.0, 100.0)])
    bodies = run(sim, 60)
    time = 60 * DT
    assert bodies.velocity.numpy()[0, 0, 2] == pytest.approx(-G * time, rel=1e-5)
    fallen = 100.0 - bodies.position.numpy()[0, 0, 2]
    assert fallen == pytest.approx(0.5 * G * time * (time + DT / 4), rel=1e-5)  # semi-implicit Euler


def momenta(bodies):
    """Total momentum, angular momentum about the origin, and kinetic energy, float64."""
    mass = bodies.mass.numpy().astype(np.float64)
    x, v, w = (bodies[name].numpy().astype(np.float64) for name in ("position", "velocity", "spin"))
    axes = matrix(bodies.rotation.numpy())
    inertia = axes @ bodies.inertia.numpy().astype(np.float64) @ np.swapaxes(axes, -1, -2)
    spin_momentum = np.einsum("...ij,...j->...i", inertia, w)
    momentum = (mass[..., None] * v).sum(axis=1)
    angular = (np.cross(x, mass[..., None] * v) + spin_momentum).sum(axis=1)
    energy = 0.5 * ((mass * (v * v).sum(-1)) + (w * spin_momentum).sum(-1)).sum(axis=1)
    return momentum, angular, energy


def crowd(generator, count):
    """Bodies of all kinds that fly towards each other."""
    kinds = [physics.SPHERE, physics.CAPSULE, physics.BOX, physics.WEDGE, physics.HULL]
    scene = []
    for k in range(count):
        place = generator.normal(size=3)
        place *= (2.0 + k) / np.linalg.norm(place)
        rotation = generator.normal(size=4)
        size = tuple(generator.uniform(0.3, 0.6, 3))
        scene.append(
            BodySpec(
                kinds[k % 5],
                size,
                tuple(place),
                tuple(rotation / np.linalg.norm(rotation)),
                tuple(-1.5 * place / np.linalg.norm(place)),
                tuple(generator.normal(size=3)),
                hull=k % 4,
            )
        )
    return scene


def test_collisions_keep_momentum_and_never_add_energy():
    generator = np.random.default_rng(1)
    sim = simulate(*(crowd(generator, 8) for _ in range(50)), gravity=np.zeros(3, np.float32))
    run(sim, 1)
    momentum, angular, energy = momenta(Packed(sim))
    scale = np.abs(momentum).max()
    worst = 0.0
    for _ in range(90):
        sim.step()
        new_momentum, new_angular, new_energy = momenta(Packed(sim))
        assert np.abs(new_momentum - momentum).max() < 2e-5 * scale
        assert np.abs(new_angular - angular).max() < 2e-3 * np.abs(angular).max()
        worst = max(worst, float((new_energy / energy - 1.0).max()))
        energy = new_energy
    assert worst < 1e-6  # exact bounds: test_energy.py


class Packed:
    """The first 8 bodies of each world."""

    def __init__(self, sim, count=8):
        self.table, self.count = sim[Thing], count

    def __getitem__(self, name):
        return Rows(self.table[name].numpy()[:, : self.count])

    def __getattr__(self, name):
        return self[name]


class Rows:
    def __init__(self, values):
        self.values = values

    def numpy(self):
        return self.values


def test_free_rotation_keeps_angular_momentum_and_energy():
    body = BodySpec(physics.BOX, (0.2, 0.5, 0.9), spin=(0.1, 5.0, 0.1))  # about the unstable axis
    sim = simulate([body], gravity=np.zeros(3, np.float32))
    run(sim, 1)
    _, angular, energy = momenta(Packed(sim, 1))
    turned_over = False
    for _ in range(300):
        sim.step()
        _, new_angular, new_energy = momenta(Packed(sim, 1))
        assert np.abs(new_angular - angular).max() < 5e-6 * np.abs(angular).max()  # rounding
        assert abs(float(new_energy[0] / energy[0]) - 1.0) < 5e-6
        turned_over |= matrix(sim[Thing].rotation.numpy()[0, 0])[1, 1] < -0.9
    assert turned_over  # the intermediate axis theorem


@pytest.mark.parametrize("sleep_speed", [0.01, 0.0])
@pytest.mark.parametrize("height", [3, 5, 10])
def test_stacks_stand(height, sleep_speed):
    """For 10 s with one sweep, asleep and awake."""
    stack = [BOX.at(0.0, 0.0, 0.5 + k) for k in range(height)]
    sim = simulate([FLOOR, *stack], sleep_speed=sleep_speed)
    bodies = run(sim, 300)
    rows = slice(1, height + 1)
    place = bodies.position.numpy()[0, rows]
    assert np.abs(place[:, :2]).max() < 0.02
    assert np.abs(place[:, 2] - (0.5 + np.arange(height))).max() < 0.005 * height
    speed = np.abs(bodies.velocity.numpy()[0, rows]).max()
    assert speed < (0.02 if height < 10 else 0.12)  # ten sway, as rounding has it, until they sleep after half a minute


def test_settled_bodies_overlap_by_millimetres():
    generator = np.random.default_rng(2)
    scenes = []
    for _ in range(40):
        places = [(x, y) for x in (-1.6, 0.0, 1.6) for y in (-1.6, 0.0, 1.6)]
        boxes = [BOX.at(x, y, generator.uniform(0.6, 1.5)) for x, y in places[:8]]
        scenes.append([FLOOR, *boxes])
    sim = simulate(*scenes)
    bodies = run(sim, 120)
    depth = 0.5 - bodies.position.numpy()[:, 1:9, 2]
    assert np.quantile(depth, 0.99) < 0.003 and depth.mean() < 0.0015 and depth.min() > -0.02
    assert np.abs(bodies.velocity.numpy()[:, 1:9]).max() < 0.01


WALL = BodySpec(physics.BOX, (0.2, 5.0, 5.0), motion=physics.STATIC)


@pytest.mark.parametrize("angle", [0.0, 30.0])
def test_fast_bodies_do_not_pass_a_thin_wall(angle):
    way = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle)), 0.0])
    scenes = []
    for shift in np.linspace(0.0, 3.5, 36):
        start = tuple(way * (-4.0 - shift))
        scenes.append([WALL, BodySpec(physics.BOX, (0.5, 0.5, 0.5), start, velocity=tuple(60.0 * way))])
        scenes.append([WALL, BodySpec(physics.SPHERE, (0.05, 0.0, 0.0), start, velocity=tuple(100.0 * way))])
    sim = simulate(*scenes, gravity=np.zeros(3, np.float32))
    for _ in range(10):
        bodies = run(sim, 1)
        assert bodies.position.numpy()[:, 1, 0].max() < 0.0


def test_balls_bounce_by_their_restitution():
    ball = BodySpec(physics.SPHERE, (0.2, 0.0, 0.0), (0.0, 0.0, 2.2), restitution=0.5)
    sim = simulate([FLOOR, ball])
    heights = [float(run(sim, 1).position.numpy()[0, 1, 2]) for _ in range(60)]
    landed = int(np.argmax(np.diff(heights) > 0.0))
    assert max(heights[landed:]) - 0.2 == pytest.approx(0.25 * 2.0, abs=0.1)


def test_capsules_that_spin_on_the_floor_gain_no_energy():
    """Repeated impulses follow the points of contacts: with those of the start of a step, energy grows fortyfold."""
    flat = axis_angle((1.0, 0.0, 0.0), math.pi / 2.0)
    spins = [
        *((0.0, 0.0, spin) for spin in (15.0, 25.0, 40.0)),
        *((0.0, spin, 0.5 * spin) for spin in (5.0, 10.0, 20.0)),
    ]
    capsule = BodySpec(physics.CAPSULE, (0.2, 0.4, 0.0), (0.0, 0.0, 0.2), flat)
    sim = simulate(*([FLOOR, replace(capsule, spin=spin)] for spin in spins))

    def energies():
        bodies = {
            name: sim[Thing][name].numpy()[:, 1].astype(float) for name in ("velocity", "spin", "position", "mass")
        }
        turning = np.einsum("wji,wj->wi", matrix(sim[Thing].rotation.numpy()[:, 1]), bodies["spin"])
        rotation = np.einsum("wi,wij,wj->w", turning, sim[Thing].inertia.numpy()[:, 1], turning)
        motion = bodies["mass"] * (0.5 * (bodies["velocity"] ** 2).sum(1) + G * bodies["position"][:, 2])
        return motion + 0.5 * rotation

    run(sim, 1)
    first = energies()
    for _ in range(20):
        run(sim, 15)
        assert (energies() < 1.1 * first).all()
