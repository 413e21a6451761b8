"""Energy of rigid joints without friction: it oscillates with the substep and does not drift."""

import numpy as np
import pytest
from physics_scenes import BodySpec, JointSpec, Thing, simulate

from worldloom import physics

BASE = BodySpec(physics.SPHERE, (0.05, 0.0, 0.0), (0.0, 2.0, 0.0), motion=physics.STATIC)  # out of their way
INERTIA = np.array([0.005, 0.2525, 0.2525]) / 3.0  # m², body frame, of a rod of 1 m, per mass


def hanging(rods: int, kind: int, length: float = 1.0) -> tuple[list[BodySpec], tuple[JointSpec, ...]]:
    """Rods in a row, a tenth as thick as long, level at rest, the first of which hangs at a base."""
    half = 0.5 * length
    joints = [JointSpec(kind, 0, 1, (0.0, -2.0, 0.0), (-half, 0.0, 0.0), axis=(0.0, 1.0, 0.0))]
    joints += [
        JointSpec(kind, i, i + 1, (half, 0.0, 0.0), (-half, 0.0, 0.0), axis=(0.0, 1.0, 0.0)) for i in range(1, rods)
    ]
    size = (half, 0.1 * half, 0.1 * half)
    bodies = [BodySpec(physics.BOX, size, ((2 * i + 1) * half, 0.0, 0.0), density=1000.0) for i in range(rods)]
    return [BASE, *bodies], tuple(joints)


def energies(rods: int, kind: int, seconds: float, worlds: int = 1, length: float = 1.0, **config) -> np.ndarray:
    """Changes of the energy as fractions of the sum of m g l, three times per second, shape (times, worlds).

    Speeds are those half a substep earlier: there, the energy of a symplectic method differs in second order alone.
    """
    bodies, joints = hanging(rods, kind, length)
    sim = simulate(*[bodies] * worlds, joints=joints, **config)
    lag = 0.5 * np.reshape(sim.get_config("dt") / sim.get_config("substeps"), (-1, 1))
    values = []
    for step in range(round(30 * seconds)):
        sim.step()
        if step % 10 == 0:
            position, rotation, velocity, spin = (
                sim[Thing].padded(name).numpy()[:, 1 : rods + 1].astype(np.float64)
                for name in ("position", "rotation", "velocity", "spin")
            )
            u, w = -rotation[..., :3], rotation[..., 3:]
            seen = spin + 2.0 * np.cross(u, np.cross(u, spin) + w * spin)
            kinetic = 0.5 * (velocity**2).sum(-1) + 0.5 * length**2 * (INERTIA * seen**2).sum(-1)
            values.append((kinetic + 9.8 * (position[..., 2] - lag * velocity[..., 2])).sum(-1))
    assert sim.errors() == []
    return np.array(values) / (9.8 * length * rods)


@pytest.mark.parametrize("rods", [1, 2, 3])
@pytest.mark.parametrize("length", [1.0, 0.5, 0.3, 0.2, 0.1, 0.05])
def test_pendulums_of_any_length_gain_no_energy(length: float, rods: int) -> None:
    """Short ones turn by up to 0.3 rad in a substep of the default settings, where they may lose some."""
    changes = energies(rods, physics.HINGE, 20.0, worlds=3, length=length, substeps=np.array([4, 8, 16], np.int32))
    assert changes.max() < 0.02
    if rods < 3:
        assert changes[:, 2].min() > -0.01
    if rods == 1:
        assert changes.min() > -0.01


def test_a_double_pendulum_keeps_its_energy() -> None:
    """With 16 substeps, and nearly with the default of 4; test_scenarios.py runs it for a minute."""
    changes = energies(2, physics.HINGE, 12.0, worlds=2, substeps=np.array([16, 4], np.int32))
    assert np.abs(changes[:, 0]).max() < 0.01
    assert np.abs(changes[:, 1]).max() < 0.05


def test_more_sweeps_cost_no_energy() -> None:
    changes = energies(2, physics.HINGE, 6.0, worlds=2, sweeps=np.array([2, 6], np.int32))
    assert np.abs(changes).max() < 0.05


def test_a_single_pendulum_keeps_its_energy_with_long_substeps() -> None:
    changes = energies(1, physics.BALL, 20.0, worlds=2, substeps=np.array([1, 4], np.int32))
    assert np.abs(changes[:, 0]).max() < 0.15 and np.abs(changes[:, 1]).max() < 0.03


def test_a_chain_gains_no_energy() -> None:
    assert energies(4, physics.BALL, 10.0).max() < 0.05
