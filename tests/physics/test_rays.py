"""Rays against all shapes, with oracles in float64."""

import numpy as np
import pytest
from physics_scenes import HULLS, SOLID, Scene, Thing, matrix

import worldloom as wl
from worldloom import physics
from worldloom.physics.queries.rays import MISS

CASES = 4_000


class Ray(wl.Entity):
    origin: wl.vec3
    direction: wl.vec3
    distance: float
    normal: wl.vec3


@wl.system
def cast(ray: Ray, world: Scene):
    thing = world.at(Thing, ray.id)
    ray.distance, ray.normal = SOLID.ray_to(world, thing, ray.origin, ray.direction)


wl.register("PhysicsRays-v0", world=Scene, entities={Ray: CASES, Thing: CASES}, step=[cast])


def half_spaces(shape, size, hull):
    """Outward normals and offsets of a polytope in its body frame, float64."""
    if shape == physics.BOX:
        return np.concatenate([np.eye(3), -np.eye(3)]), np.concatenate([size, size])
    if shape == physics.WEDGE:
        x, y, z = size
        slope = np.array([0.0, -z, y]) / np.hypot(y, z)
        normals = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, -1], slope])
        return normals, np.array([x, x, 2 / 3 * y, 2 / 3 * z, slope @ [0.0, 2 / 3 * y, 4 / 3 * z]])
    points = HULLS.vertices[hull].reshape(8, 3)[: HULLS.counts[hull, 0]].astype(np.float64)
    faces = [[face >> 3 * k & 7 for k in range(face >> 21 & 7)] for face in HULLS.faces[hull] if face]
    normals = np.array([np.cross(points[f[1]] - points[f[0]], points[f[2]] - points[f[0]]) for f in faces])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals, np.array([n @ points[f[0]] for n, f in zip(normals, faces, strict=True)])


def march(distance_of, limit=20.0):
    """The first zero of a distance function along a ray, by sphere tracing."""
    t = 0.0
    for _ in range(20_000):
        gap = distance_of(t)
        if gap < 1e-10:
            return t
        t += gap
        if t > limit:
            return np.inf
    return t


def exact_distance(origin, direction, shape, size, hull):
    """Distance along a ray in the body frame, float64; infinite for a miss."""
    if shape == physics.PLANE:
        if origin[2] <= 0.0:
            return 0.0
        return -origin[2] / direction[2] if direction[2] < 0.0 else np.inf
    if shape in (physics.SPHERE, physics.CAPSULE):
        half = size[1] if shape == physics.CAPSULE else 0.0

        def gap(t):
            x = origin + t * direction
            return np.linalg.norm(x - [0.0, 0.0, np.clip(x[2], -half, half)]) - size[0]

        return march(gap)
    normals, offsets = half_spaces(shape, size, hull)
    heights, rises = normals @ origin - offsets, normals @ direction
    entry = max(np.max(-heights[rises < 0] / rises[rises < 0], initial=0.0), 0.0)
    exit = np.min(-heights[rises > 0] / rises[rises > 0], initial=np.inf)
    return entry if entry <= exit else np.inf


@pytest.fixture(scope="module")
def rays():
    generator = np.random.default_rng(5)
    sim = wl.Simulation("PhysicsRays-v0", 1, "cpu", seed=0)
    unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)  # noqa: E731
    values = {
        "position": generator.uniform(-1, 1, (CASES, 3)),
        "rotation": unit(generator.normal(size=(CASES, 4))),
        "size": generator.uniform(0.3, 1.0, (CASES, 3)),
        "shape": generator.integers(0, 6, CASES),
        "hull": generator.integers(0, 4, CASES),
        "origin": 2.5 * unit(generator.normal(size=(CASES, 3))),
    }
    values["direction"] = unit(values["position"] + 0.6 * generator.normal(size=(CASES, 3)) - values["origin"])
    for name, rows in values.items():
        sim[Ray if name in ("origin", "direction") else Thing][name].assign(
            rows[None].astype(np.int32 if rows.ndim == 1 else np.float32)
        )
    sim.step()
    rows = {name: x.astype(np.float32).astype(np.float64) if x.ndim > 1 else x for name, x in values.items()}
    return rows, sim[Ray].distance.numpy()[0], sim[Ray].normal.numpy()[0]


def test_rays_hit_at_the_exact_distance(rays):
    rows, distance, _ = rays
    axes = matrix(rows["rotation"])
    wrong = 0
    hits = 0
    for i in range(CASES):
        origin = axes[i].T @ (rows["origin"][i] - rows["position"][i])
        direction = axes[i].T @ rows["direction"][i]
        exact = exact_distance(origin, direction, rows["shape"][i], rows["size"][i], rows["hull"][i])
        hits += np.isfinite(exact)
        if np.isfinite(exact) != (distance[i] < MISS) or (np.isfinite(exact) and abs(distance[i] - exact) > 2e-5):
            wrong += 1
    assert 0.3 * CASES < hits < 0.95 * CASES
    assert wrong <= 0.002 * CASES  # rays that graze an edge or a cap


def test_normals_are_unit_vectors_against_the_ray(rays):
    rows, distance, normal = rays
    hit = distance < MISS
    assert np.allclose(np.linalg.norm(normal[hit], axis=1), 1.0, atol=1e-4)
    assert ((normal[hit] * rows["direction"][hit]).sum(axis=1) < 1e-3).all()
