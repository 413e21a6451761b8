"""Overlap queries of shapes with bodies, with MuJoCo's distances in float64 as the oracle."""

import numpy as np
from physics_scenes import SOLID, BodySpec, Scene, Thing
from test_contacts_mujoco import core_depth, exact_distance, random_body, support_points

import worldloom as wl
from worldloom import physics

CASES = 600
QUERIES = (physics.SPHERE, physics.CAPSULE, physics.BOX, physics.WEDGE)


class Probe(wl.Entity):
    shape: int
    size: wl.vec3
    position: wl.vec3
    rotation: wl.quat
    overlaps: bool


@wl.system
def probe_one(probe: Probe, world: Scene):
    thing = world.at(Thing, probe.id)
    probe.overlaps = SOLID.overlaps(world, thing, probe.shape, probe.size, probe.position, probe.rotation)


wl.register("PhysicsOverlap-v0", world=Scene, entities={Probe: CASES, Thing: CASES}, step=[probe_one])


def fill(table, bodies: list[BodySpec]) -> None:
    for name in ("shape", "hull", "size", "position", "rotation"):
        if name in table.all_columns:
            rows = np.array([getattr(body, name) for body in bodies])
            table[name].assign(rows[None].astype(np.int32 if rows.ndim == 1 else np.float32))


def test_overlaps_agree_with_distances_in_float64():
    generator = np.random.default_rng(2)
    shapes = (*QUERIES, physics.HULL)
    bodies = [random_body(shape, generator, 1.1) for shape in generator.choice(shapes, CASES)]
    probes = [random_body(shape, generator, 1.1) for shape in generator.choice(QUERIES, CASES)]
    sim = wl.Simulation("PhysicsOverlap-v0", 1, "cpu", seed=0)
    fill(sim[Thing], bodies)
    fill(sim[Probe], probes)
    sim.step()
    found = sim[Probe].overlaps.numpy()[0]
    exact = np.array([exact_distance(a, b) for a, b in zip(probes, bodies, strict=True)])
    wrong = [i for i in np.flatnonzero(found != (exact <= 0.0)) if abs(exact[i]) > 1e-5]
    for i in wrong:  # MuJoCo's iteration may stop early
        depth = core_depth(probes[i], bodies[i]) - support_points(probes[i])[1] - support_points(bodies[i])[1]
        assert found[i] == (depth <= 0.0)
    assert 0.2 * CASES < found.sum() < 0.8 * CASES
