"""Rotation without contacts: energy and angular momentum stay, for a minute and with steps of any length."""

from __future__ import annotations

import numpy as np
import pytest
from physics_scenes import BodySpec, Thing, axis_angle, matrix, simulate

import worldloom as wl
from worldloom import physics

SUBSTEPS = (1, 4, 16)  # of steps of 1/30 s
MANY_SUBSTEPS = 128  # as many per second as 16 of steps of 1/240 s
MINUTE = 60 * 30
MOMENTS = (1.0, 2.0, 3.0)  # kg m²
FLIP = 5.026  # s, of a body with these moments that turns at (0.01, 5, 0.01) rad/s, from Euler's equations in float64
BODIES = [
    BodySpec(physics.BOX, (0.3, 0.2, 0.1), (0.0, 0.0, 0.0), spin=(5.0, 6.0, 7.0)),
    BodySpec(physics.BOX, (0.3, 0.2, 0.1), (5.0, 0.0, 0.0), axis_angle((0.6, 0.0, 0.8), 1.0), spin=(0.2, 30.0, 0.1)),
    BodySpec(physics.SPHERE, (0.3, 0.0, 0.0), (10.0, 0.0, 0.0), spin=(3.0, 5.0, 8.0)),
    BodySpec(physics.WEDGE, (0.3, 0.2, 0.1), (15.0, 0.0, 0.0), spin=(4.0, -3.0, 2.0)),
    BodySpec(physics.BOX, (0.3, 0.2, 0.1), (20.0, 0.0, 0.0), spin=(0.01, 5.0, 0.01)),
]


def values(sim: wl.Simulation, name: str) -> np.ndarray:
    """A component of the bodies in float64; all worlds have as many."""
    table = sim[Thing]
    return table[name].numpy()[:, : int(table.counts.numpy()[0])].astype(np.float64)


def axes(sim: wl.Simulation) -> np.ndarray:
    rotation = values(sim, "rotation")
    return matrix(rotation / np.linalg.norm(rotation, axis=-1, keepdims=True))


def seen_spins(sim: wl.Simulation) -> np.ndarray:
    """Spins in the axes of their bodies, shape (worlds, bodies, 3)."""
    return np.einsum("wbji,wbj->wbi", axes(sim), values(sim, "spin"))


def energies_and_momenta(sim: wl.Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Energy of rotation and angular momentum of all bodies."""
    spins = seen_spins(sim)
    momenta = np.einsum("wbij,wbj->wbi", values(sim, "inertia"), spins)
    return 0.5 * (spins * momenta).sum(-1), np.einsum("wbij,wbj->wbi", axes(sim), momenta)


def run(sim: wl.Simulation, steps: int) -> None:
    for _ in range(steps):
        sim.step()


def test_energy_and_momentum_stay_for_a_minute() -> None:
    """Without gravity, and in free fall."""
    sim = simulate(*[BODIES] * (2 * len(SUBSTEPS)))
    sim.set_config("gravity", np.repeat([(0.0, 0.0, 0.0), (0.0, 0.0, -9.8)], len(SUBSTEPS), axis=0).astype(np.float32))
    sim.set_config("substeps", np.array(SUBSTEPS * 2, np.int32))
    sim.reset()
    sim[Thing].inertia.numpy()[:, len(BODIES) - 1] = np.diag(MOMENTS)
    sim.step()  # computes the other inertias
    energy, momentum = energies_and_momenta(sim)
    signs, length = [], np.linalg.norm(momentum, axis=-1)
    for _ in range(MINUTE):
        sim.step()
        signs.append(np.sign(seen_spins(sim)[:, -1, 1]))
        new_energy, new_momentum = energies_and_momenta(sim)
        assert np.abs(new_energy / energy - 1.0).max() < 1e-4
        assert (np.linalg.norm(new_momentum - momentum, axis=-1) / length).max() < 1e-4
    for world in np.array(signs).T:
        flips = np.flatnonzero(np.diff(world)) / 30.0
        assert np.diff(flips) == pytest.approx(FLIP, rel=0.03)
    assert sim.errors() == []


def test_many_substeps_add_nothing() -> None:
    sim = simulate(BODIES, substeps=MANY_SUBSTEPS)
    sim.step()
    energy, momentum = energies_and_momenta(sim)
    for _ in range(5 * 30):
        sim.step()
    new_energy, new_momentum = energies_and_momenta(sim)
    assert new_energy == pytest.approx(energy, rel=2e-5)
    assert (np.linalg.norm(new_momentum - momentum, axis=-1) < 2e-5 * np.linalg.norm(momentum, axis=-1)).all()


def test_a_ball_keeps_the_bits_of_its_spin() -> None:
    sim = simulate([BODIES[2]])
    run(sim, 300)
    assert sim[Thing].spin.numpy()[0, 0].tolist() == [3.0, 5.0, 8.0]


@pytest.mark.parametrize("spin", [200.0, 2e3, 2e5])
def test_a_spin_of_any_speed_stays_bounded(spin: float) -> None:
    """Up to 960 rad/s a substep of 1/120 s is solved in pieces; beyond the iteration may fail, and spins stay."""
    sim = simulate([BodySpec(physics.BOX, (0.3, 0.2, 0.05), spin=(spin, 0.7 * spin, 0.3 * spin))])
    sim.step()
    energy, momentum = energies_and_momenta(sim)
    for _ in range(100):
        sim.step()
        new_energy, new_momentum = energies_and_momenta(sim)
        if spin < 960.0:
            assert new_energy == pytest.approx(energy, rel=1e-4)
            assert new_momentum == pytest.approx(momentum, abs=1e-4 * np.abs(momentum).max())
        assert np.linalg.norm(seen_spins(sim)) < 10.0 * spin
    assert sim.errors() == []


def test_angular_factors_neither_stop_nor_feed_a_spin() -> None:
    """Those of 0 remove the spin about their axes."""
    spin = (1.0, 2.0, 3.0)
    factors = [(0.5, 0.5, 0.5), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0)]
    sim = simulate(*[[BodySpec(physics.BOX, (0.5, 0.5, 0.5), spin=spin)]] * 3)
    sim[Thing].angular_factor.numpy()[:, 0] = factors
    run(sim, 60)
    for seen, factor in zip(seen_spins(sim)[:, 0], factors, strict=True):
        assert seen == pytest.approx(np.where(np.array(factor) > 0.0, spin, 0.0), abs=1e-5)


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_a_rotation_of_any_length_becomes_a_unit_quaternion(device: str) -> None:
    stretched = BodySpec(rotation=(0.0, 0.0, 0.0, 3.0))
    sim = simulate([stretched, BodySpec(position=(9.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0, 0.0))], device=device)
    sim.step()
    assert sim[Thing].rotation.numpy()[0, :2].tolist() == [[0.0, 0.0, 0.0, 1.0]] * 2
